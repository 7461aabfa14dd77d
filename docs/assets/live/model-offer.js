/* What a panel shows before the model is here: a press that loads it, how far that is, and a way to
   cancel. */
import { element, fillMegabytes, fillTemplate, makeButton } from "./dom.js";
import { getModel } from "./model.js";

export class ModelOffer {
  /* `ready()` is called once the model is here, whichever panel of the page has loaded it, and again
     if it was stopped and loaded anew; `gone()` when it was stopped. */
  constructor(words, ready, gone = () => {}) {
    Object.assign(this, { words, ready, gone, model: getModel(words) });
    const load = () => this.model.load();
    this.button = makeButton("md-button", fillTemplate(words.load, words.megabytes), load);
    const note = fillTemplate(words.loadNote, words.megabytes);
    this.offered = [
      element("p", { class: "next-buttons" }, this.button),
      element("p", { class: "next-note" }, note),
    ];
    this.progress = element("progress", { "aria-label": words.loading });
    this.detail = element("span", { class: "next-note" }); // changes too often to be read out
    const cancel = makeButton("md-button", words.cancel, () => this.model.stop("cancelled"));
    this.loading = element("p", { class: "next-buttons" }, this.progress, this.detail, cancel);
    this.status = element("p", { class: "next-note", role: "status" });
    this.element = element("div", {}, ...this.offered, this.status);
    this.model.addEventListener("state", () => this.update());
    this.model.addEventListener("progress", () => this.count());
    if (this.model.state !== "idle") this.update();
  }

  update() {
    const { words, model } = this;
    const { state } = model;
    const held = this.element.contains(document.activeElement);
    this.element.hidden = state === "ready";
    if (state === "idle") {
      this.element.replaceChildren(...this.offered, this.status);
      this.status.textContent = fillTemplate(words[model.reason], model.detail);
      if (held) this.button.focus();
      this.gone();
      return;
    }
    if (!this.loading.isConnected) this.element.replaceChildren(this.loading, this.status);
    this.status.textContent = state === "ready" ? "" : words[state];
    if (state !== "loading") this.progress.removeAttribute("value");
    if (state === "ready") this.ready();
  }

  count() {
    const { done, all, seconds } = this.model;
    if (this.model.state === "loading") this.progress.value = Math.min(done / all, 1);
    const time = fillTemplate(this.words.seconds, seconds.toFixed(0));
    this.detail.textContent = `${fillMegabytes(this.words.amount, done, all)} · ${time}`;
  }
}
