/* What a live page is doing, and what a reader can do about it: a bar at the foot of the window. */
export class Bar {
  constructor(words, { run, stop, reset, share, compare }) {
    const make = (tag, name) => Object.assign(document.createElement(tag), { className: name });
    this.words = words;
    this.element = make("section", "live-bar");
    this.element.setAttribute("aria-label", words.bar);
    this.status = make("p", "live-status");
    this.status.setAttribute("role", "status");
    this.detail = make("span", "live-detail");
    this.progress = make("progress", "");
    this.progress.setAttribute("aria-label", words.loadingPython);
    this.progress.hidden = true;
    const button = (name, press) => {
      const element = make("button", "md-button");
      element.type = "button";
      element.textContent = words[name];
      element.hidden = true;
      element.addEventListener("click", press);
      return element;
    };
    this.stop = button("stop", stop);
    this.run = button("run", run);
    this.compare = button("was", () => {
      this.shown = !this.shown;
      this.showsPublished();
      compare(this.shown);
    });
    this.share = button("share", share);
    this.reset = button("reset", reset);
    const buttons = make("p", "live-buttons");
    buttons.append(this.stop, this.run, this.compare, this.share, this.reset);
    this.element.append(this.status, this.detail, this.progress, buttons);
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
    this.offerRun(); // an edit that is taken back wants to run, too
    this.updateButtons();
  }

  offerRun() {
    this.run.hidden = false;
  }

  setDifferent(any) {
    this.different = any;
    this.shown = false;
    this.showsPublished();
    this.updateButtons();
  }

  updateButtons() {
    this.share.hidden = !this.edited;
    this.compare.hidden = !this.different;
    this.reset.hidden = !this.edited && !this.different;
  }

  showsPublished() {
    this.compare.textContent = this.shown ? this.words.now : this.words.was;
    this.compare.setAttribute("aria-pressed", String(Boolean(this.shown)));
  }
}
