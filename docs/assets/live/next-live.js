/* The model in the reader's hands: it reads the reader's text, writes on, shows where its heads look, and
   has parts taken out. What it computes is in attention_docs/next_word.py. */
import { element, fillTemplate, makeButton } from "./dom.js";
import { ModelOffer } from "./model-offer.js";
import { Bars, showToken } from "./next-bars.js";

const LAYERS = 30;
const HEADS = 9;
const LONGEST = 20_000; // characters that are handed on; far fewer are read
const LINKED = 2_000; // characters of it that an address takes
const MANY = 20; // tokens of one press
const SURPRISED = 12; // bits, from which on a token has the whole colour
const PANEL = "next";

export class Live {
  constructor(words, panel) {
    Object.assign(this, { words, panel, powers: panel.kept.powers });
    this.element = element("div", { class: "next-own" });
    this.offer = new ModelOffer(
      words,
      () => this.begin(),
      () => this.element.replaceChildren(),
    );
    this.model = this.offer.model;
  }

  async begin() {
    const own = new URLSearchParams(this.panel.own); // what the address brought along
    this.first = own.get("text") || this.panel.text;
    this.at = (own.get("head") ?? "").split(".");
    const said = await this.ask({ do: "read", text: this.first.slice(0, LONGEST) });
    if (said) this.open(said);
  }

  async ask(request, view = "") {
    const answer = await this.model.ask(PANEL, request, view);
    if (!answer) return null;
    Object.assign(this, { seconds: answer.seconds, memory: answer.memory });
    return answer.said;
  }

  /* --- what can be done with it */

  open(said) {
    const { words } = this;
    this.field = element("textarea", { rows: 2, spellcheck: "false" });
    this.field.value = this.first;
    this.status = element("p", { class: "next-note", role: "status" });
    this.tokens = element("div", { class: "next-read", translate: "no" });
    this.told = element("p", { class: "next-note" });
    this.bars = new Bars(
      words,
      this.powers,
      (n) => this.append(this.node.ids[n]),
      () => {},
    );
    this.cached = element("input", { type: "checkbox", checked: true });
    this.times = element("canvas", { class: "next-times", width: 256, height: 64, hidden: true });
    this.halt = makeButton("md-button", words.stop, () => this.halted(), { hidden: true });
    const buttons = [
      makeButton("md-button", words.read, () => this.read()),
      makeButton("md-button", words.writeOne, () => this.write(1)),
      makeButton("md-button", words.writeMany, () => this.write(MANY)),
      this.halt,
      element("label", {}, this.cached, " ", words.cache),
    ];
    this.element.replaceChildren(
      element("label", { class: "next-choose" }, element("span", {}, words.own), this.field),
      element("p", { class: "next-buttons" }, ...buttons),
      this.status,
      this.times,
      this.tokens,
      this.told,
      this.bars.element,
      this.makeHeads(),
      this.makeGuesses(),
    );
    this.show(said);
    const parts = { seconds: ((performance.now() - this.model.loaded) / 1000).toFixed(1) };
    const memory = Math.round(this.memory / 1e6);
    this.status.textContent = fillTemplate(words.opened, { ...parts, memory });
    this.element.dataset.opened = parts.seconds;
    this.element.dataset.memory = memory;
  }

  /* The text as it now stands; `said` has what is new of it. */
  show(said) {
    if (!said) return; // the model was stopped
    const { words } = this;
    this.node = said.next;
    if (said.known === 0) this.shown = [];
    this.shown.splice(said.known, Number.POSITIVE_INFINITY, ...said.tokens);
    if (said.known === 0) this.tokens.replaceChildren();
    this.tokens.append(...said.tokens.map((token, n) => this.makeToken(token, said.known + n)));
    this.bars.show(said.next);
    this.remember();
    this.told.textContent = said.isCut
      ? fillTemplate(words.cut, this.shown.length)
      : words.surprise;
    this.drawMap();
    this.guesses.open = false;
  }

  remember() {
    const text = this.shown.slice(1).map((token) => token[1]);
    const { layer, head } = this.chosen;
    this.panel.keepOwn({ text: text.join("").slice(0, LINKED), head: `${layer}.${head}` });
  }

  makeToken([id, text, bits], n) {
    const select = () => this.select(n);
    const button = element("button", { type: "button", onclick: select }, showToken(text));
    if (bits !== null)
      button.style.setProperty("--bits", `${Math.min(100, (100 * bits) / SURPRISED)}%`);
    const known = bits === null ? "" : ` · ${fillTemplate(this.words.bits, bits.toFixed(1))}`;
    button.title = `${fillTemplate(this.words.id, id)}${known}`;
    return button;
  }

  select(n) {
    this.row = n;
    [...this.tokens.children].forEach((one, i) => {
      one.classList.toggle("chosen", i === n);
    });
    const button = this.tokens.children[n];
    if (button) this.told.textContent = `${button.textContent} · ${button.title}`;
    this.drawMap();
  }

  async read() {
    const text = this.field.value;
    if (!text.trim()) {
      this.status.textContent = this.words.empty;
      this.field.focus();
      return;
    }
    this.halting = true;
    this.status.textContent = this.words.reading;
    this.show(await this.ask({ do: "read", text: text.slice(0, LONGEST) }));
    this.status.textContent = fillTemplate(this.words.done, this.seconds.toFixed(2));
  }

  async append(id) {
    this.halted();
    this.show(await this.ask({ do: "append", id, cached: this.cached.checked }));
  }

  /* Write tokens, one question each, and draw the seconds that each took. */
  async write(count) {
    const took = [];
    this.halting = false;
    this.halt.hidden = false;
    for (let n = 0; n < count && !this.halting; n += 1) {
      const { temperature, topK, topP } = this.bars.settings;
      const request = {
        do: "draw",
        uniform: Math.random(),
        temperature,
        top_k: topK > 10 ? null : topK,
        top_p: topP < 1 ? topP : null,
        cached: this.cached.checked,
      };
      const said = await this.ask(request);
      if (!said) return;
      this.show(said);
      took.push(this.seconds);
      this.drawTimes(took);
      const rate = took.length / took.reduce((sum, one) => sum + one, 0);
      this.status.textContent = fillTemplate(this.words.rate, rate.toFixed(1));
      this.element.dataset.rate = rate.toFixed(2);
    }
    this.halt.hidden = true;
    this.field.value = this.shown
      .slice(1)
      .map(([, text]) => text)
      .join("");
  }

  halted() {
    this.halting = true;
    this.halt.hidden = true;
  }

  drawTimes(took) {
    this.times.hidden = took.length < 2;
    const pen = this.times.getContext("2d");
    pen.clearRect(0, 0, 256, 64);
    pen.fillStyle = getComputedStyle(this.times).color;
    const most = Math.max(...took);
    took.forEach((one, n) => {
      const height = (60 * one) / most;
      pen.fillRect((n * 256) / MANY, 64 - height, 256 / MANY - 2, height);
    });
  }

  /* --- heads */

  makeHeads() {
    const { words } = this;
    const draw = () => {
      this.remember();
      this.drawMap();
    };
    const choose = (size) =>
      element(
        "select",
        { onchange: draw },
        ...Array.from({ length: size }, (_, n) => element("option", {}, n)),
      );
    this.layer = choose(LAYERS);
    this.head = choose(HEADS);
    for (const [n, field] of [this.layer, this.head].entries()) {
      if (field.options[this.at[n]]) field.value = this.at[n];
    }
    const kinds = ["zero", "mean", "attention", "feed-forward"];
    this.kind = element(
      "select",
      {},
      ...kinds.map((one) => element("option", { value: one }, words.kinds[one])),
    );
    this.map = element("canvas", { class: "next-map", role: "img" });
    this.looks = element("p", { class: "next-note", "aria-live": "polite" });
    this.compared = element("div", {});
    const fold = element(
      "details",
      { class: "fold", open: true },
      element("summary", {}, words.inside),
    );
    fold.append(
      element(
        "p",
        { class: "next-tools" },
        element("label", {}, words.layer, " ", this.layer),
        element("label", {}, words.headNumber, " ", this.head),
      ),
      this.map,
      this.looks,
      element(
        "p",
        { class: "next-tools" },
        element("label", {}, words.takeOut, " ", this.kind),
        makeButton("md-button", words.compare, () => this.compare()),
      ),
      this.compared,
    );
    return fold;
  }

  get chosen() {
    return { layer: Number(this.layer.value), head: Number(this.head.value) };
  }

  async drawMap() {
    const { layer, head } = this.chosen;
    const map = await this.ask({ do: "map", layer, head }, "map");
    if (!map) return; // another is on its way
    const n = map.length;
    Object.assign(this.map, { width: n, height: n });
    const pen = this.map.getContext("2d");
    pen.fillStyle = getComputedStyle(this.map).color;
    map.forEach((row, i) => {
      row.forEach((weight, j) => {
        pen.globalAlpha = weight;
        pen.fillRect(j, i, 1, 1);
      });
    });
    const i = Math.min(this.row ?? n - 1, n - 1);
    const order = map[i].map((_, j) => j).sort((a, b) => map[i][b] - map[i][a]);
    const named = order.slice(0, 4).filter((j) => map[i][j] >= 0.005);
    const list = named.map((j) => `${showToken(this.shown[j][1])} ${map[i][j].toFixed(2)}`);
    const parts = { layer, head, word: showToken(this.shown[i][1]) };
    this.looks.textContent = fillTemplate(this.words.looks, { ...parts, list: list.join(", ") });
    this.map.setAttribute("aria-label", this.looks.textContent);
  }

  /* Bars before and after, with a random head of the same layer as control. */
  async compare() {
    const { words } = this;
    const { layer, head } = this.chosen;
    const kind = this.kind.value;
    const isHead = kind === "zero" || kind === "mean";
    const taken = (which) =>
      isHead ? { heads: [[layer, which]], by_mean: kind === "mean" } : { skip: [[layer, kind]] };
    const other = (head + 1 + Math.floor(Math.random() * (HEADS - 1))) % HEADS;
    this.status.textContent = words.reading;
    const before = this.node;
    const changes = isHead ? [taken(head), taken(other)] : [taken(head)];
    const asked = [...changes, {}].map((one) => this.ask({ do: "change", ...one }));
    const said = await Promise.all(asked);
    if (said.includes(null)) return;
    this.show(said.pop());
    const columns = said.map((one) => one.next);
    const share = (node, id) => {
      const n = node.ids.indexOf(id);
      return n < 0 ? words.below : `${(100 * Math.exp(-node.nats[n])).toFixed(1)}%`;
    };
    const heads = [
      words.token,
      words.whole,
      fillTemplate(words.without, isHead ? `${layer}.${head}` : layer),
    ];
    if (isHead) heads.push(fillTemplate(words.control, `${layer}.${other}`));
    const rows = before.ids.map((id, n) => {
      const cells = [before, ...columns].map((node) => element("td", {}, share(node, id)));
      const name = element("th", { scope: "row", translate: "no" }, showToken(before.texts[n]));
      return element("tr", {}, name, ...cells);
    });
    const first = element("tr", {}, ...heads.map((one) => element("th", { scope: "col" }, one)));
    const table = element("table", {}, element("thead", {}, first), element("tbody", {}, ...rows));
    this.compared.replaceChildren(table);
    this.status.textContent = "";
  }

  /* --- layer by layer */

  makeGuesses() {
    const { words } = this;
    this.guesses = element("details", { class: "fold" }, element("summary", {}, words.layers));
    const list = element("ol", { class: "next-layers", start: 0, translate: "no" });
    this.guesses.append(element("p", {}, words.layersNote), list);
    this.guesses.addEventListener("toggle", async () => {
      if (!this.guesses.open) return;
      const found = await this.ask({ do: "guesses" }, "guesses");
      if (!found) return;
      const rows = found.map(([text, p]) =>
        element("li", {}, element("b", {}, showToken(text)), ` ${(100 * p).toFixed(1)}%`),
      );
      list.replaceChildren(...rows);
    });
    return this.guesses;
  }
}
