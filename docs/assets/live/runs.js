/* The runs of a live page: Python, what it is asked for, and what it answers. What a run means is
   defined in attention_docs/site/run/live.py. */
import { fillMegabytes, fillTemplate, resolveUrl } from "./dom.js";
import { Guest } from "./guest.js";

export class Runs {
  constructor(page) {
    Object.assign(this, { page, bar: page.bar, words: page.words });
    this.turn = 0; // the number of the run; answers to earlier ones do not count
    this.sight = { from: 0, hurry: null, blocks: [] };
    this.failed = false; // by an error, in this run
    this.asked = null; // what a reader has asked for last, if it is still wanted
    this.clear();
  }

  clear() {
    this.guest = null;
    this.isReady = this.isBusy = false;
    this.again = false; // something changed while a run was on its way
    this.waiting = null; // what to run as soon as Python is there
  }

  /* --- Python */

  /* Start Python and tell the reader. */
  load() {
    this.start();
    if (this.isReady) return;
    this.bar.showStatus(this.words.loadingPython);
    this.bar.setRunning(true);
  }

  /* Start Python where it has not been: perhaps before a reader asks for it. */
  start() {
    if (this.guest) return;
    this.guest = new Guest(resolveUrl(this.words.folder), {
      message: (message) => this.receive(message),
      loading: (done, all) => this.showLoading(done, all),
      broken: (text) => this.handleBroken(text),
    });
    this.guest.post({ type: "start", page: this.page.source, turn: this.turn });
  }

  showLoading(done, all) {
    this.bar.showProgress(Math.min(done / all, 1), fillMegabytes(this.words.loading, done, all));
    if (done < all) return;
    this.bar.showStatus(this.words.starting);
    this.bar.showProgress(Number.NaN);
  }

  handleReady() {
    this.isReady = true;
    this.bar.showProgress(null);
    this.bar.setRunning(false);
    this.bar.showStatus(this.words.ready);
    this.page.sharing.warnOfForeign();
    rememberLive();
    const folder = resolveUrl(this.words.page).replace(/[^/]+$/, "");
    import("./offline.js")
      .then(({ keepForLater }) => keepForLater(resolveUrl(`${this.words.folder}../`), folder))
      .catch(() => {}); // a connection that is lost: only this visit is live
    if (this.waiting !== null) this.ask(...this.waiting);
  }

  handleBroken(text) {
    this.end();
    this.bar.run.hidden = false;
    if (!text) {
      this.bar.showStatus(this.words.unable);
      return;
    }
    const lines = text.trim().split("\n");
    const ofPython = lines.findLast(
      (line) => /^\w+Error:/.test(line) && !line.startsWith("PythonError"),
    );
    const isTrace = /^\s*at |^\S*@/.test(lines.at(-1));
    const last = (ofPython ?? (isTrace ? lines[0] : lines.at(-1))).slice(0, 200);
    const isMemory = /memory|allocation|RangeError/i.test(text);
    this.bar.showStatus(isMemory ? this.words.memory : fillTemplate(this.words.broken, last));
  }

  end() {
    clearTimeout(this.deadline);
    this.guest?.end();
    this.clear();
    this.turn += 1;
    this.bar.setRunning(false);
    this.bar.showProgress(null, "");
  }

  stop() {
    this.end();
    this.bar.showStatus(this.words.stopped);
  }

  /* Python answers a new run between two blocks. Where one runs on and on, Python is ended. */
  endUnlessAnswered(next) {
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => {
      this.end();
      next?.();
    }, 3000);
  }

  /* Python holds what an edit has left in it that is gone: another one takes its place. */
  renew() {
    this.end();
    if (!this.page.cells.some((cell) => cell.edited)) this.reset();
    else if (this.asked) this.ask(...this.asked);
  }

  /* --- what a reader asks for */

  /* The press on Run, which agrees to code that came with a link. */
  run() {
    for (const cell of this.page.cells) cell.foreign = false;
    this.page.sharing.noteEdits();
    this.ask();
  }

  /* Run the page with what the reader has written. `patient` does not break off what runs. */
  ask(until = this.page.cells.length, patient = false) {
    if (this.page.sharing.warnOfForeign()) {
      this.waiting = null;
      return;
    }
    if (!this.isReady) {
      this.waiting = [until, patient];
      this.load();
      return;
    }
    this.again = this.isBusy && patient;
    if (this.again) return;
    if (this.isBusy) this.endUnlessAnswered(() => this.ask(until));
    this.waiting = null;
    this.asked = [until, patient];
    this.isBusy = true;
    this.failed = false;
    this.turn += 1;
    this.bar.showStatus(this.words.running);
    this.bar.setRunning(true);
    this.post(until, patient);
  }

  post(until, hurry) {
    const { cells } = this.page;
    const near = this.findNear(hurry);
    const frames = {}; // of steppers in sight, the one that shows
    for (const n of hurry ? near : []) frames[n] = cells[n].output.shownFrame?.dataset.at ?? "";
    const asked = cells.filter((cell) => cell.askedFor && cell.askedFor === cell.codeUntil);
    this.guest.post({
      type: "run",
      codes: cells.map((cell) => cell.code),
      asked: asked.map((cell) => cell.id),
      turn: this.turn,
      until,
      near,
      hurry,
      frames,
    });
  }

  /* Run what comes before a block as soon as Python is there. */
  runUntil(cell) {
    this.load();
    if (!this.isReady && this.waiting === null) this.waiting = [cell.index, true];
  }

  /* Run a slow block. Once the code changes up to it, it waits again. */
  askFor(cell) {
    cell.askedFor = cell.codeUntil;
    this.ask();
  }

  /* The blocks that a reader sees. To ask lets the browser lay out the page: not at each turn of a knob. */
  findNear(hurry) {
    const from = performance.now();
    if (hurry !== this.sight.hurry || from - this.sight.from > 500) {
      const near = this.page.cells.filter((cell) => cell.output.isNear(hurry));
      this.sight = { from, hurry, blocks: near.map((cell) => cell.index) };
    }
    return this.sight.blocks;
  }

  /* Go back to the published page: what is still on its way no longer counts. */
  reset() {
    const { cells } = this.page;
    this.turn += 1;
    this.asked = null;
    if (this.isBusy) {
      const codes = cells.map((cell) => cell.base);
      this.guest.post({ type: "run", codes, turn: this.turn, until: 0 });
      this.endUnlessAnswered();
    }
    for (const cell of cells) cell.reset();
    this.failed = false;
    this.page.staleText?.update();
    if (!this.isBusy) this.bar.setRunning(false);
    this.bar.setDifferent(false);
    this.bar.showStatus(this.words.published);
  }

  /* --- what Python answers */

  receive(message) {
    const isCurrent = message.turn === this.turn;
    if (isCurrent) clearTimeout(this.deadline);
    if (message.type === "ready") this.handleReady();
    else if (message.type === "broken") this.handleBroken(message.message);
    else if (message.type === "spent") {
      if (isCurrent) this.renew();
    } else if (message.type === "running") this.showBlock(message.number);
    else if (message.type === "results") {
      for (const { number, result } of message.results)
        this.showResult(this.page.cells[number], result, isCurrent);
      if (!this.isBusy && isCurrent) this.showCount(); // a figure out of sight
    } else if (message.type === "done" && isCurrent) this.finish(message.later);
  }

  showBlock(number) {
    const { cells } = this.page;
    const all = cells.length - Number(!cells.at(-1).code); // the scratch cell is one once it holds something
    const n = Math.min(number + 1, all);
    this.bar.showProgress(null, fillTemplate(this.words.block, { n, all }));
  }

  showResult(cell, result, isCurrent) {
    if (result.torch) return;
    if (result.error) {
      if (isCurrent) this.showError(cell, result.error);
      return;
    }
    cell.output.take(result);
    if (!isCurrent) return;
    cell.unrun = false;
    cell.showError(null);
    if (result.frame && !cell.output.peeks) cell.output.paintFrame(result.frame);
    cell.output.paint(!("frame" in result));
  }

  showError(cell, error) {
    this.failed = true;
    for (const other of this.page.cells) {
      other.showError(null); // of earlier runs
      other.unrun ||= other.index >= cell.index;
    }
    cell.showError(error);
  }

  finish(later) {
    this.isBusy = false;
    for (const cell of this.page.cells) cell.later = later.includes(cell.index);
    if (this.again) {
      this.ask(undefined, true); // the hand is still on the knob
      return;
    }
    this.bar.setRunning(false);
    this.bar.showProgress(null, "");
    this.showCount();
  }

  /* Say what a run has changed. */
  showCount() {
    const { cells } = this.page;
    const values = cells.reduce((sum, cell) => sum + cell.output.countChangedValues(), 0);
    const outputs = cells.filter((cell) => cell.output.isChanged).length;
    for (const cell of this.failed ? [] : cells) {
      cell.showError(null); // what is as it was before the error does not run again
      cell.unrun = false;
    }
    const [stale, old] = this.page.staleText.update();
    for (const cell of cells) cell.output.updateCopy();
    const all = outputs + values + stale + old;
    const isPlain = !all && !cells.some((cell) => cell.edited);
    const { failed, ready, done } = this.words;
    const texts = [this.failed ? failed : isPlain ? ready : done];
    if (stale) texts.push(fillTemplate(this.words.passages, stale));
    this.bar.showStatus(texts.join(" "));
    this.bar.setDifferent(all > 0);
  }
}

/* Where this is set, ../site.js asks for Python early. */
function rememberLive() {
  try {
    localStorage.setItem("attention-live", "1");
  } catch {
    /* a browser that stores nothing */
  }
}
