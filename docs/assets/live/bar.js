/* What a live page is doing, and what a reader can do about it: a bar at the foot of the window. */
import { element, makeButton } from "./dom.js";

export class Bar {
  constructor(words, { run, stop, reset, share, compare }) {
    this.words = words;
    this.status = element("p", { class: "live-status", role: "status" });
    this.detail = element("span", { class: "live-detail" });
    this.progress = element("progress", { "aria-label": words.loadingPython, hidden: true });
    const peek = () => {
      this.shown = !this.shown;
      this.updateCompare();
      compare(this.shown);
    };
    const presses = { stop, run, was: peek, share, reset };
    const buttons = Object.entries(presses).map(([name, press]) =>
      makeButton("md-button", words[name], press, { hidden: true }),
    );
    [this.stop, this.run, this.compare, this.share, this.reset] = buttons;
    this.element = element(
      "section",
      { class: "live-bar", "aria-label": words.bar },
      ...[this.status, this.detail, this.progress],
      element("p", { class: "live-buttons" }, ...buttons),
    );
  }

  /* What the page does. It waits while an answer stands. */
  showStatus(text) {
    this.upcoming = text;
    if (!this.answering) this.status.textContent = text;
  }

  /* Answer a press. A run that ends meanwhile must not take the answer away before it is read. */
  showAnswer(text) {
    clearTimeout(this.answering);
    this.status.textContent = this.upcoming = text;
    this.answering = setTimeout(() => {
      this.answering = null;
      this.status.textContent = this.upcoming;
    }, 4000);
  }

  /* How much has come: a share, NaN where that is not known, or null where nothing loads. */
  showProgress(share, text = "") {
    this.progress.hidden = share === null;
    if (Number.isNaN(share)) this.progress.removeAttribute("value");
    else if (share !== null) this.progress.value = share;
    this.detail.textContent = text;
  }

  setRunning(on) {
    const focused = document.activeElement === this.stop;
    this.stop.hidden = !on;
    if (focused && !on) this.run.focus();
  }

  /* Whether something is edited, and whether something looks otherwise than published. */
  setEdited(any) {
    this.edited = any;
    this.run.hidden = false; // an edit that is taken back wants to run, too
    this.updateButtons();
  }

  setDifferent(any) {
    this.different = any;
    this.shown = false;
    this.updateCompare();
    this.updateButtons();
  }

  updateButtons() {
    this.share.hidden = !this.edited;
    this.compare.hidden = !this.different;
    this.reset.hidden = !this.edited && !this.different;
  }

  updateCompare() {
    this.compare.textContent = this.shown ? this.words.now : this.words.was;
    this.compare.setAttribute("aria-pressed", String(Boolean(this.shown)));
  }
}
