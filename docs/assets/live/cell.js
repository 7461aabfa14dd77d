/* A block of a live page: the reader's code with its editor, its knobs and its errors. */
import { element, fillTemplate, makeButton, openFolds } from "./dom.js";
import { Knob } from "./knob.js";
import { Output } from "./output.js";

export class Cell {
  /* `published` as attention_docs/site/publish/live.py describes a block. */
  constructor(published, index, page) {
    Object.assign(this, published);
    this.index = index;
    this.page = page;
    this.base = published.code; // what the site holds; `code` is the reader's
    this.block = document.querySelector(`.block[data-block="${CSS.escape(this.id)}"]`);
    this.shownCode = this.block?.querySelector(".highlight pre > code");
    this.shownHtml = this.shownCode?.innerHTML;
    this.output = new Output(this);
    this.controls = []; // of its knobs, once a reader turns them
    this.later = false; // whether it waits until the reader asks for it
    this.resetRun();
  }

  resetRun() {
    this.askedFor = null; // the code of all blocks up to it, when the reader asked for it
    this.foreign = false; // whether its code came with a link and has not run
    this.unrun = false; // whether an error kept it from running
  }

  get edited() {
    return this.code !== this.base;
  }

  /* Above what a reader sees of the block: code, the fold that holds it, or its output alone. */
  get place() {
    return this.home ?? this.codeFold ?? this.block ?? this.output.frame;
  }

  get codeFold() {
    return this.block?.parentElement.closest("details.code");
  }

  /* The code of all blocks up to this one. */
  get codeUntil() {
    return JSON.stringify(this.page.cells.slice(0, this.index + 1).map((cell) => cell.code));
  }

  set(code) {
    this.code = code;
    this.editor?.set(code);
    if (this.box) this.box.querySelector(".live-foreign").hidden = !this.foreign;
    this.updateKnobs();
    this.updateListing();
    this.page.sharing.noteEdits();
  }

  reset() {
    this.resetRun();
    this.set(this.base);
    this.output.reset();
    this.showError(null);
    this.output.paint();
  }

  /* The page's listing shows the code as it is now. */
  updateListing() {
    if (!this.shownCode || this.editor) return;
    showCode(this.shownCode, this.shownHtml, this.base, this.code);
    this.block.classList.toggle("live-edited", this.edited);
  }

  /* --- the editor */

  async edit() {
    const { makeEditor } = await import("./editor.js");
    if (!this.editor) this.openEditor(makeEditor);
    this.editor.focus();
  }

  openEditor(makeEditor) {
    this.editor = makeEditor(this.code, fillTemplate(this.page.words.editor, this.id), {
      change: (code) => {
        this.page.used = this;
        this.code = code;
        this.updateKnobs();
        this.page.sharing.noteEdits();
      },
      run: () => this.page.runs.run(),
      leave: () => this.box.querySelector("button").focus(),
    });
    this.box = this.makeBox();
    if (this.block) this.block.querySelector(".highlight").hidden = true;
    (this.block ?? this.place ?? document.querySelector("article")).append(this.box);
  }

  /* The editor with its buttons, and where its code is from. */
  makeBox() {
    const { words, runs } = this.page;
    const undo = () => {
      this.set(this.base);
      runs.ask();
    };
    const presses = { run: () => runs.run(), undo, close: () => this.close() };
    if (!this.block) delete presses.close;
    const buttons = Object.entries(presses).map(([name, press]) =>
      makeButton("md-button", words[name], press),
    );
    return element(
      "div",
      { class: "live-editor" },
      element("p", { class: "live-note live-foreign", hidden: !this.foreign }, words.foreign),
      this.editor.element,
      element("p", { class: "live-buttons" }, ...buttons),
    );
  }

  /* Put the code away; an edit stays, and the code of the page says so. */
  close() {
    this.box.remove();
    this.box = this.editor = null;
    this.block.querySelector(".highlight").hidden = false;
    this.updateListing();
    (this.block.querySelector(".live-edit") ?? this.block).focus();
  }

  /* --- knobs */

  showKnobs() {
    if (this.knobBox || !this.knobs.length) return;
    const { page } = this;
    this.controls = this.knobs.map((knob) => new Knob(knob, this, page.words));
    this.knobBox = element(
      "div",
      { class: "live-knobs", role: "group", "aria-label": page.words.knobs },
      ...this.controls.map((knob) => knob.element),
    );
    const answers = this.knobs.filter((knob) => knob.answer);
    const copies = answers.map((knob) => page.find(knob.answer).output.makeCopy());
    document.getElementById(`knobs-${this.id}`).append(this.knobBox, ...copies);
    this.updateKnobs();
  }

  updateKnobs() {
    for (const knob of this.controls) knob.update();
  }

  /* Take the code that a knob gives, if it gives another one, and run it. */
  turn(code) {
    if (code === null || code === this.code) return;
    this.page.used = this;
    this.set(code);
    this.page.runs.ask(undefined, true);
  }

  /* --- errors: Python's message and the reader's line */

  /* What a reader has in hand: the editor, or the fields. */
  get hold() {
    return this.box ?? (this.knobBox?.isConnected ? this.knobBox : null);
  }

  /* Show an error at the block, and where the reader has changed another one; null for none. */
  showError(error) {
    for (const box of this.failed ?? []) box.remove();
    this.failed = null;
    this.editor?.line(error?.line ?? 0);
    if (!error) return;
    const { used } = this.page;
    const own = this.hold ?? this.place;
    const places = [used !== this && used?.hold, own].filter(Boolean);
    this.failed = places.map((place, n) => {
      const box = this.describeError(error, place !== own);
      if (!n) box.setAttribute("role", "alert");
      if (place === own && !this.hold && this.codeFold) place.before(box);
      else place.after(box);
      return box;
    });
  }

  /* An error, with a way to the line where it is. */
  describeError(error, elsewhere) {
    const { words } = this.page;
    const text = error.line ? fillTemplate(words.line, { line: error.line }) : "";
    const go = async () => {
      openFolds(this.place);
      await this.edit();
      this.editor.line(error.line);
      this.editor.go(error.line);
    };
    const way = text && this.place ? makeButton("live-way", text, go) : text;
    const where = elsewhere ? fillTemplate(words.elsewhere, this.id) : words.error;
    const shown = [error.code, explainError(error.message, words)].filter(Boolean).join("\n");
    return element(
      "div",
      { class: "live-error" },
      element("p", {}, where, " ", way),
      element("pre", {}, element("code", {}, shown)),
    );
  }
}

/* Python's message, or a sentence where it would not help. */
function explainError(message, words) {
  if (message.includes("MemoryError")) return words.memory;
  const [, library] =
    /ModuleNotFoundError: No module named '(torch|matplotlib)\b/.exec(message) ?? [];
  return { torch: words.noTorch, matplotlib: words.noMatplotlib }[library] ?? message;
}

/* --- the listing, with what a knob or a closed editor has changed in it */

/* Show `code` in the place of `base`, whose HTML is `published`: what is the same keeps its colours. */
function showCode(place, published, base, code) {
  place.innerHTML = published;
  const copy = place.parentElement.querySelector("[data-clipboard-text]");
  if (copy) copy.dataset.clipboardText = code.trimEnd();
  if (code === base) return;
  const [then, now] = [base, code].map((text) => text.trimEnd().split("\n"));
  if (then.length !== now.length || place.textContent.trimEnd() !== base.trimEnd()) {
    place.textContent = `${code.trimEnd()}\n`;
    return;
  }
  let end = then.join("\n").length;
  for (let n = then.length - 1; n >= 0; n -= 1) {
    const start = end - then[n].length;
    if (now[n] !== then[n]) replaceIn(place, start, then[n], now[n]);
    end = start - 1;
  }
}

/* Replace what two lines do not share, whole words of it. */
function replaceIn(place, start, old, line) {
  const isPart = (text, at) => /[\w.]/.test(text[at] ?? " ");
  let first = 0;
  while (first < old.length && old[first] === line[first]) first += 1;
  while (first && isPart(old, first - 1)) first -= 1;
  let last = 0;
  const shorter = Math.min(old.length, line.length) - first;
  while (last < shorter && old.at(-1 - last) === line.at(-1 - last)) last += 1;
  while (last && isPart(old, old.length - last)) last -= 1;
  const range = document.createRange();
  range.setStart(...findPlace(place, start + first));
  range.setEnd(...findPlace(place, start + old.length - last));
  range.deleteContents();
  range.insertNode(element("mark", {}, line.slice(first, line.length - last)));
}

/* The text node that holds a character, and where in it. */
function findPlace(place, offset) {
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  let before = 0;
  while (walker.nextNode()) {
    const { data } = walker.currentNode;
    if (offset <= before + data.length) return [walker.currentNode, offset - before];
    before += data.length;
  }
  return [place, place.childNodes.length];
}
