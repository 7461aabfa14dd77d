/* The model in the reader's hands: it reads the reader's text and writes on. Heads are in next-heads.js; what
   it computes is in attention_docs/next_word.py. All that is shown has an address. */
import { showToken, toShare } from "../show.js";
import { element, fillTemplate, makeButton } from "./dom.js";
import { ModelOffer } from "./model-offer.js";
import { explain, readText } from "./model-parts.js";
import { Bars } from "./next-bars.js";
import { Heads } from "./next-heads.js";
import { MANY, Times } from "./next-times.js";

const SURPRISED = 12; // bits, from which on a token has the whole colour
const NEAR_END = 40; // px: whoever has scrolled up farther is left there
const PANEL = "next";

export class Live {
  constructor(words, panel) {
    Object.assign(this, { words, panel, shown: [], turn: 0, readings: 0 });
    this.element = element("div", { class: "next-own" });
    const gone = () => this.element.replaceChildren();
    this.offer = new ModelOffer(words, () => this.begin(), gone);
    this.model = this.offer.model;
    const oninput = () => this.compareBox();
    this.field = element("textarea", { rows: 2, spellcheck: "false", oninput });
    this.status = element("p", { class: "next-note", role: "status" });
    this.tokens = element("div", { class: "next-read", translate: "no" });
    this.told = element("p", { class: "next-note" });
    this.hint = element("p", { class: "next-note" });
    const choose = (n) => this.append(this.node.ids[n]);
    const remember = () => this.remember();
    this.bars = new Bars(words, panel.kept.powers, choose, remember);
    this.cached = element("input", { type: "checkbox", checked: true, onchange: remember });
    this.halt = makeButton("md-button", words.stop, () => this.halted(), { hidden: true });
    this.times = new Times(words);
    this.heads = new Heads(words, this);
    this.guesses = this.makeGuesses();
    const { own } = words;
    this.parts = [
      element("label", { class: "next-choose" }, element("span", {}, own), this.field),
      this.makeButtons(),
      this.status,
      this.times.element,
      this.tokens,
      this.told,
      this.hint,
      this.bars.element,
      this.heads.element,
      this.guesses,
    ];
  }

  makeButtons() {
    const { words } = this;
    this.first = makeButton("md-button", words.read, () => this.read());
    return element(
      "p",
      { class: "next-buttons" },
      this.first,
      makeButton("md-button", words.writeOne, () => this.write(1)),
      makeButton("md-button", words.writeMany, () => this.write(MANY)),
      element("label", {}, this.cached, " ", words.cache),
      this.halt, // last, so that nothing moves when it comes
    );
  }

  async ask(request, view = "") {
    const answer = await this.model.ask(PANEL, request, view);
    if (!answer) return null;
    Object.assign(this, { seconds: answer.seconds, memory: answer.memory });
    return answer.said;
  }

  /* --- from the address, and into it */

  /* The model is here: read what the address has brought along. */
  async begin() {
    this.element.replaceChildren(...this.parts);
    if (!(await this.follow())) return;
    const seconds = ((performance.now() - this.model.loaded) / 1000).toFixed(1);
    const memory = Math.round(this.memory / 1e6);
    this.say(fillTemplate(this.words.opened, { seconds, memory }));
    Object.assign(this.element.dataset, { opened: seconds, memory });
  }

  async follow() {
    const own = new URLSearchParams(this.panel.own);
    this.field.value = own.get("text") || this.panel.text;
    this.cached.checked = own.get("cache") !== "off";
    const [temperature, topK, topP] = (own.get("draw") ?? "").split(",").map(Number);
    this.bars.settings = own.has("draw") ? { temperature, topK, topP } : this.panel.bars.settings;
    this.heads.follow(own);
    if (!(await this.readField())) return false;
    if (own.get("row")) this.select(Number(own.get("row")));
    this.guesses.open = own.get("view") === "layers";
    if (own.get("out")) await this.heads.compare(Number(own.get("control") ?? Number.NaN));
    this.say("");
    return true;
  }

  remember() {
    const { temperature, topK, topP } = this.bars.settings;
    const draw = [temperature, topK, topP].join(",");
    const own = { text: this.text, draw, ...this.heads.address };
    if (this.row !== undefined) own.row = this.row;
    if (!this.cached.checked) own.cache = "off";
    if (this.guesses.open) own.view = "layers";
    this.panel.keepOwn(own);
  }

  say(text) {
    this.status.textContent = text;
  }

  /* Another text, which the reader has not typed. */
  take(text) {
    this.field.value = text;
    this.read();
  }

  /* --- the text */

  /* What is new of it, after reading or writing. */
  show(said) {
    const { words } = this;
    Object.assign(this, { node: said.next, text: said.text, row: undefined });
    this.shown.splice(said.known, Number.POSITIVE_INFINITY, ...said.tokens);
    if (said.known === 0) this.tokens.replaceChildren();
    this.tokens.append(...said.tokens.map((token, n) => this.makeToken(token, said.known + n)));
    this.bars.show(said.next);
    const isCut = said.isCut && said.known === 0;
    this.told.textContent = isCut ? fillTemplate(words.cut, this.shown.length) : words.surprise;
    const seen = [...this.shown.map(([, text]) => text), ...said.next.texts];
    const unfinished = said.unfinished && fillTemplate(words.unfinished, said.unfinished);
    this.hint.replaceChildren(unfinished, " ", ...explain(words, said.text, seen));
    this.guesses.open = false;
    this.heads.clear();
    this.remember();
  }

  makeToken([id, text, bits], n) {
    const select = () => this.select(n);
    const button = element("button", { type: "button", onclick: select }, showToken(text));
    button.title = fillTemplate(this.words.id, id);
    this.colour(button, bits);
    return button;
  }

  /* By how surprising it was, where that is known. */
  colour(button, bits) {
    if (bits === null) return;
    button.style.setProperty("--bits", `${Math.min(100, (100 * bits) / SURPRISED)}%`);
    button.title += ` · ${fillTemplate(this.words.bits, bits.toFixed(1))}`;
  }

  /* How surprising the tokens of a text were comes after the bars, which need the last token's logits alone. */
  async colourText() {
    const tokens = [...this.tokens.children];
    const bits = await this.ask({ do: "bits" }, "bits");
    if (!bits) return;
    for (const [n, button] of tokens.entries()) this.colour(button, bits[n]);
    if (tokens[this.row]?.isConnected) this.tell(tokens[this.row]); // or it is another text by now
  }

  select(n) {
    const buttons = [...this.tokens.children];
    if (!buttons[n]) return;
    this.row = n;
    for (const [i, one] of buttons.entries()) one.classList.toggle("chosen", i === n);
    this.tell(buttons[n]);
    this.heads.draw();
    this.remember();
  }

  tell(button) {
    this.told.textContent = `${button.textContent} · ${button.title}`;
  }

  /* Whether the box holds another text than the one that was read. */
  get isNew() {
    return this.field.value !== this.known;
  }

  /* What belongs to the text before is out of use until the new one is read; writing stops. */
  compareBox() {
    const { isNew } = this;
    const { map, looks, compared } = this.heads;
    const { list, rest } = this.bars;
    for (const one of [this.tokens, list, rest, map, looks, compared, this.guesses])
      one.inert = isNew;
    if (isNew) this.halted();
    this.say(isNew ? this.words.changed : "");
  }

  /* Before anything is done with the text: read what stands in the box, unless that is known. */
  catchUp() {
    return this.isNew ? this.read() : true;
  }

  /* The whole text, or what was read until the reader stopped; whether it was the whole. */
  async readField() {
    const { words } = this;
    const [text, since] = [this.field.value, performance.now()];
    const isWanted = this.busy();
    this.readings += 1;
    const { readings } = this;
    this.say(words.reading);
    this.times.clear();
    const said = await readText(
      (request) => this.ask(request),
      { text },
      isWanted,
      (count) => isWanted() && this.say(fillTemplate(words.readSome, count)),
    );
    if (!said || readings !== this.readings) return false; // the model was stopped, or reads another text
    const isWhole = isWanted();
    if (isWhole) this.halted();
    this.seconds = (performance.now() - since) / 1000;
    this.known = text;
    this.show(said);
    this.compareBox();
    this.heads.draw();
    this.colourText();
    this.drawMachine();
    return isWhole;
  }

  async read() {
    if (!this.field.value.trim()) {
      this.say(this.words.empty);
      this.field.focus();
      return false;
    }
    if (!(await this.readField())) return false;
    if (!this.isNew) this.say(fillTemplate(this.words.done, this.seconds.toFixed(2)));
    return true;
  }

  /* The drawing of the whole model follows: the heads that it opens, on this text. A text that comes
     meanwhile takes the place of this one. */
  async drawMachine() {
    const { text, node, panel } = this;
    const shown = [...this.shown];
    const weights = [];
    for (const [layer, head] of panel.kept.heads) {
      const map = await this.ask({ do: "map", layer, head }, "machine");
      if (map?.length !== shown.length || text !== this.text) return;
      weights.push(map.flatMap((row, i) => row.slice(0, i + 1).map((weight) => 1000 * weight)));
    }
    const tokens = Object.fromEntries([...shown, [node.ids[0], node.texts[0]]]);
    const [prompt, nats] = [shown.map(([id]) => id), node.nats.map((one) => 1000 * one)];
    panel.drawMachine({ text, prompt, weights, tokens, ids: node.ids, nats });
  }

  /* --- writing */

  async append(id) {
    this.halted();
    if (!(await this.grow({ do: "append", id }))) return;
    this.heads.draw();
    this.drawMachine();
  }

  /* One token more; false where the model was stopped. */
  async grow(request) {
    const isCached = this.cached.checked;
    const said = await this.ask({ ...request, cached: isCached });
    if (!said) return false;
    this.show(said);
    this.times.add(isCached, this.seconds, this.shown.length);
    this.putText();
    return true;
  }

  /* The box gets what was written, unless the reader has typed meanwhile, and shows its end. */
  putText() {
    const { field, isNew } = this;
    const isAtEnd = field.scrollHeight - field.scrollTop - field.clientHeight < NEAR_END;
    if (isNew) return;
    field.value = this.text;
    this.known = field.value; // which has its own ends of lines
    if (isAtEnd) field.scrollTop = field.scrollHeight;
  }

  /* One question each, so that the bars move and the reader can stop. */
  async write(count) {
    if (!(await this.catchUp())) return;
    const isWanted = this.busy();
    this.field.scrollTop = this.field.scrollHeight;
    this.times.begin(this.cached.checked);
    for (let n = 0; n < count && isWanted(); n += 1) {
      if (!(await this.grow({ do: "draw", uniform: Math.random(), ...this.settings }))) return;
      if (this.isNew) break;
      const rate = this.times.rateOf(this.cached.checked).toPrecision(2);
      this.say(fillTemplate(this.words.rate, rate));
      this.element.dataset.rate = rate;
    }
    if (isWanted()) this.halted();
    this.heads.draw();
    this.drawMachine();
  }

  get settings() {
    const { temperature, topK, topP } = this.bars.settings;
    return { temperature, top_k: topK > 10 ? null : topK, top_p: topP < 1 ? topP : null };
  }

  /* Something begins that a reader can stop; whether it is still wanted. */
  busy() {
    this.halted();
    this.halt.hidden = false;
    const { turn } = this;
    return () => turn === this.turn;
  }

  /* Whatever reads or writes ends with the token that it is at. */
  halted() {
    this.turn += 1;
    if (document.activeElement === this.halt) this.first.focus();
    this.halt.hidden = true;
  }

  /* --- layer by layer */

  makeGuesses() {
    const { words } = this;
    const fold = element("details", { class: "fold" }, element("summary", {}, words.layers));
    const list = element("ol", { class: "next-layers", start: 0, translate: "no" });
    fold.append(element("p", {}, `${words.layersNote} ${words.plain}`), list);
    fold.addEventListener("toggle", async () => {
      this.remember();
      if (!fold.open) return;
      const found = await this.ask({ do: "guesses" }, "guesses");
      const rows = (found ?? []).map(([text, p]) =>
        element("li", {}, element("b", {}, showToken(text)), ` ${toShare(p)}`),
      );
      if (found) list.replaceChildren(...rows);
    });
    return fold;
  }
}
