/* What a panel shows before the model is here: the text that an address holds, a press that loads it, how
   far that is, a way to cancel, and whether it is to stay in the browser, or does. */
import { element, fillMegabytes, fillTemplate, makeButton } from "./dom.js";
import { getModel } from "./model.js";
import { canKeep } from "./pieces.js";

const MOST = 300; // characters of a text that is only announced

export class ModelOffer {
  /* `ready()` is called once the model is here, whichever panel of the page has loaded it, and again
     if it was stopped and loaded anew; `gone()` when it was stopped. */
  constructor(words, ready, gone = () => {}) {
    Object.assign(this, { words, ready, gone, model: getModel(words) });
    this.keep = element("input", { type: "checkbox" });
    this.status = element("p", { class: "next-note", role: "status" });
    this.kept = element("p", { class: "next-note" });
    this.offered = this.makeOffer();
    this.loading = this.makeLoading();
    this.held = element("p", {});
    this.part = element("div", {}, ...this.offered, this.status);
    this.element = element("div", {}, this.held, this.part, this.kept);
    this.model.addEventListener("state", () => this.update());
    this.model.addEventListener("progress", () => this.count());
    this.model.addEventListener("kept", () => this.showKept());
    this.showKept();
    if (this.model.state !== "idle") this.update();
  }

  makeOffer() {
    const { words } = this;
    const load = () => this.model.load(this.keep.checked);
    this.button = makeButton("md-button", fillTemplate(words.load, words.megabytes), load);
    const note = fillTemplate(words.loadNote, words.megabytes);
    const label = element("label", {}, this.keep, " ", fillTemplate(words.keep, words.kept));
    return [
      element("p", { class: "next-buttons" }, this.button, ...(canKeep() ? [label] : [])),
      element("p", { class: "next-note" }, note),
    ];
  }

  makeLoading() {
    const { words } = this;
    this.progress = element("progress", { "aria-label": words.loading });
    this.detail = element("span", { class: "next-note" }); // changes too often to be read out
    const cancel = makeButton("md-button", words.cancel, () => this.model.stop("cancelled"));
    return element("p", { class: "next-buttons" }, this.progress, this.detail, cancel);
  }

  /* The text that is read once the model is here. */
  hold(text) {
    const letters = [...(text ?? "").trim()];
    const start = letters.slice(0, MOST).join("").trimEnd();
    const shown = letters.length > MOST ? `${start} …` : start;
    this.held.textContent = shown && fillTemplate(this.words.held, shown);
  }

  /* What stays in the browser, or why nothing does. */
  async showKept() {
    const { words, model } = this;
    const count = await model.countKept();
    const remove = makeButton("md-button", words.remove, () => model.removeKept());
    const isWhole = count >= words.parts.length;
    const text = fillTemplate(isWhole ? words.keptAll : words.keptSome, words.kept);
    if (count) this.kept.replaceChildren(text, " ", remove);
    else this.kept.textContent = model.isFull ? words.full : "";
  }

  update() {
    const { words, model } = this;
    const { state } = model;
    const held = this.part.contains(document.activeElement);
    this.held.hidden = this.part.hidden = state === "ready";
    if (state === "idle") {
      this.part.replaceChildren(...this.offered, this.status);
      this.status.textContent = fillTemplate(words[model.reason], model.detail);
      if (held) this.button.focus();
      this.showKept();
      this.gone();
      return;
    }
    if (!this.loading.isConnected) this.part.replaceChildren(this.loading, this.status);
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
