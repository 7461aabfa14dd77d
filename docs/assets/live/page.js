/* A live page: what a reader can ask for. Loaded by ../site.js at the first press. */
import { Bar } from "./bar.js";
import { Cell } from "./cell.js";
import { addStyles, element, fillTemplate, resolveUrl } from "./dom.js";
import { isLink } from "./link.js";
import { Runs } from "./runs.js";
import { Sharing } from "./sharing.js";
import { StaleText } from "./stale.js";
import { peekValue, Values } from "./values.js";

/* What the modules above import is named here, too: a browser then asks for all at once. */
import "./clean.js";
import "./guest.js";
import "./knob.js";
import "./output.js";
import "./pieces.js";

/* The state of the page, which all parts of it share. */
class LivePage {
  constructor() {
    this.words = JSON.parse(document.getElementById("__words").textContent).live;
    this.source = ""; // the blocks as the site holds them
    this.lang = ""; // of their code
    this.cells = []; // of class Cell, in the order of the page; the last is the reader's own
    this.used = null; // the cell whose field or editor the reader has used last
    this.values = null; // of class Values
    this.staleText = null; // what speaks of published numbers only
    this.opened = null; // a promise, of all these
    this.hasNotes = false; // beside blocks that no browser runs
    this.bar = new Bar(this.words, {
      run: () => this.runs.run(),
      stop: () => this.runs.stop(),
      reset: () => this.reset(),
      share: () => this.sharing.share(),
      compare: (shown) => this.compare(shown),
    });
    this.runs = new Runs(this);
    this.sharing = new Sharing(this);
  }

  /* --- opening */

  get trouble() {
    return window.WebAssembly && window.Worker ? "" : this.words.unable;
  }

  open() {
    this.opened ??= this.fetchCells().catch((error) => {
      this.opened = null;
      throw error;
    });
    return this.opened;
  }

  async fetchCells() {
    addStyles("live.css");
    const answer = await fetch(resolveUrl(this.words.page));
    if (!answer.ok) throw new Error(`${answer.status} ${this.words.page}`);
    this.source = await answer.text();
    const published = JSON.parse(this.source);
    this.lang = published.lang;
    this.values = new Values(this.words);
    this.cells = published.cells.map((cell, index) => new Cell(cell, index, this));
    this.staleText = new StaleText(document.querySelector("article"), this);
  }

  find(id) {
    return this.cells.find((cell) => cell.id === id);
  }

  /* Do what a reader has asked for, once the page is open; say what is in its way. */
  async run(job) {
    document.body.append(this.bar.element);
    document.documentElement.classList.add("live-open");
    if (this.trouble) {
      this.bar.showStatus(this.trouble);
      return;
    }
    try {
      await this.open();
      this.showNotes();
      await job();
    } catch (error) {
      this.bar.showStatus(fillTemplate(this.words.broken, String(error.message ?? error)));
    }
  }

  showNotes() {
    for (const cell of this.hasNotes ? [] : this.cells.filter((one) => one.torch)) {
      const note = element("p", { class: "live-note" }, this.words.torch);
      (cell.output.frame ?? cell.place)?.append(note);
    }
    this.hasNotes = true;
  }

  /* Everything as it was published, or as it is now. */
  compare(shown) {
    for (const cell of this.cells) cell.output.peek(shown);
    for (const place of document.querySelectorAll(".live-value")) peekValue(place, shown);
    document.documentElement.classList.toggle("live-peeks", shown); // nothing is stale beside it
  }

  reset() {
    this.runs.reset();
    this.sharing.hash = "";
    if (isLink(location.hash)) history.replaceState(null, "", location.pathname + location.search);
  }

  /* The reader's own cell, at the end of the page. */
  placeScratch() {
    const cell = this.find("scratch");
    if (cell.home) return cell;
    const { words } = this;
    const names = cell.names.flatMap((name) => [element("code", {}, name), " "]);
    cell.home = element(
      "section",
      { class: "live-scratch", "aria-label": words.scratch },
      element("p", {}, words.scratchSays),
      element("details", {}, element("summary", {}, words.names), element("p", {}, ...names)),
    );
    const last = document.querySelector("article .takeaway");
    if (last) last.before(cell.home);
    else document.querySelector("article").append(cell.home);
    return cell;
  }
}

const page = new LivePage();

/* --- what ../site.js calls */

/* Start Python before a reader asks for it: where they have been live before, its files are stored. */
export async function prepare() {
  if (page.trouble) return;
  await page.open();
  page.runs.start();
}

export const begin = () => page.run(() => page.sharing.begin());

export const moves = (from) => page.run(() => page.sharing.move(from, location.hash));

export const edit = (id) =>
  page.run(async () => {
    const cell = page.find(id);
    page.runs.runUntil(cell);
    await cell.edit();
    cell.showKnobs();
  });

export const turnKnobs = (id) =>
  page.run(() => {
    const cell = page.find(id);
    page.runs.runUntil(cell);
    cell.showKnobs();
    cell.knobBox.querySelector("input, select")?.focus();
  });

export const scratch = () =>
  page.run(async () => {
    const cell = page.placeScratch();
    if (!cell.code) cell.set(cell.example);
    await cell.edit();
    page.runs.ask();
  });
