/* A reader's own sentence: loads Python and MiniLM once, and shows where its heads look. The form is
   made in ../site.js, the numbers come from worker.js; words are only ever set as text. The sentence and the
   open map stand in the address. */
import { readAddress, writeAddress } from "./address.js";
import { addStyles, element, fillMegabytes, fillTemplate, makeButton, resolveUrl } from "./dom.js";
import { Guest } from "./guest.js";
import { keepForLater } from "./offline.js";
import { SentenceMaps } from "./sentence-maps.js";
// What the others import, asked for at once.
import "./pieces.js";

const words = JSON.parse(document.getElementById("__words").textContent).sentence;
const LONGEST = 20_000; // characters that are handed on; far fewer are read

let view; // of the only form of the page

/* Read a text: what the form does on a press. */
export function read(form, text) {
  view ??= new View(form);
  view.read(text);
}

class View {
  constructor(form) {
    this.form = form;
    this.status = form.querySelector(".sentence-status");
    this.progress = element("progress", { "aria-label": words.loading, hidden: true });
    const stop = () => this.stop(words.cancelled);
    this.cancel = makeButton("md-button", words.cancel, stop, { hidden: true });
    form.querySelector(".sentence-buttons").append(this.cancel);
    this.detail = element("span", { class: "sentence-detail" }); // changes too often to be read out
    this.status.after(this.progress, this.detail);
    this.turn = 0;
    addStyles("sentence.css");
    addEventListener("hashchange", () => {
      const text = readAddress().get("sentence");
      if (text && this.guest) this.read(text); // the form shows it
    });
  }

  read(text) {
    if (!text.trim()) {
      this.turn += 1; // what is on its way is not shown either
      this.maps?.element.remove();
      this.say(words.empty);
      this.form.querySelector("input").focus();
      return;
    }
    if (!("WebAssembly" in window && "Worker" in window)) {
      this.say(words.unable);
      return;
    }
    this.turn += 1;
    this.text = text.slice(0, LONGEST);
    if (!this.guest) this.load();
    this.guest.post({ type: "sentence", text: this.text, turn: this.turn });
  }

  say(text) {
    this.status.textContent = text;
  }

  /* --- Python and the model */

  load() {
    const listeners = {
      message: (data) => this.receive(data),
      loading: (done, all) => this.count(done, all),
      broken: (message) => this.stop(message ? fillTemplate(words.broken, message) : words.unable),
    };
    this.guest = new Guest(resolveUrl(words.folder), listeners, resolveUrl(words.model));
    this.say(words.loading);
    this.progress.hidden = this.cancel.hidden = false;
    this.progress.removeAttribute("value");
  }

  count(done, all) {
    if (this.progress.hidden) return;
    this.progress.value = Math.min(done / all, 1);
    this.detail.textContent = fillMegabytes(words.amount, done, all);
    if (done < all) return;
    this.say(words.starting);
    this.progress.removeAttribute("value");
  }

  /* Loading has ended, in one way or the other. */
  endLoading() {
    const focused = document.activeElement === this.cancel;
    this.progress.hidden = this.cancel.hidden = true;
    this.detail.textContent = "";
    if (focused) this.form.querySelector("[type=submit]").focus();
  }

  stop(message) {
    this.guest?.end();
    this.guest = null;
    this.endLoading();
    this.say(message);
  }

  receive(data) {
    if (data.type === "broken")
      this.stop(fillTemplate(words.broken, data.message.trim().split("\n").at(-1)));
    if (data.turn !== this.turn) return; // a newer sentence is on its way
    if (data.type === "reading") {
      this.endLoading();
      this.say(words.reading);
    } else if (data.type === "sentence") {
      this.show(data);
      if (!this.kept) keepForLater(resolveUrl(`${words.folder}../`), resolveUrl(words.model));
      this.kept = true;
    }
  }

  /* --- what came of it */

  show({ tokens, weights, shape, isCut }) {
    this.maps?.element.remove();
    if (tokens.length < 3) {
      this.say(words.empty); // nothing but characters that the model drops
      return;
    }
    const told = readAddress();
    const given = told.get("sentence") === this.text ? told : new URLSearchParams();
    const chosen = { head: given.get("head") ?? "", row: Number(given.get("row") ?? Number.NaN) };
    const remember = (head, row) =>
      writeAddress(`#${new URLSearchParams({ sentence: this.text, head, row })}`);
    const width = this.form.clientWidth;
    this.maps = new SentenceMaps(words, tokens, weights, shape, width, chosen, remember);
    this.form.after(this.maps.element);
    this.maps.draw();
    const said = [fillTemplate(words.done, { tokens: tokens.length, maps: shape[0] * shape[1] })];
    if (isCut) said.push(fillTemplate(words.cut, tokens.length));
    if (tokens.includes("[UNK]")) said.push(words.unknown);
    this.say(said.join(" "));
  }
}
