/* Where a head of the model looks on the reader's text, and what the next tokens are without it: the bars
   before and after, with another head of the same layer as control. */

import { showToken } from "../show.js";
import { element, fillTemplate, makeButton } from "./dom.js";
import {
  compareTable,
  compareWithControl,
  drawOther,
  HEADS,
  LAYERS,
  listLooks,
  paintMap,
} from "./model-parts.js";

const PARTS = ["attention", "feed-forward"];
const KINDS = ["zero", "mean", ...PARTS, "layer"];

export class Heads {
  /* `live` asks the model, and has the tokens that are `shown`, the chosen `row`, and the next ones. */
  constructor(words, live) {
    Object.assign(this, { words, live });
    const redraw = () => {
      this.draw();
      this.live.remember();
    };
    const numbers = (size) => Array.from({ length: size }, (_, n) => [n, n]);
    this.layer = makeSelect(numbers(LAYERS), redraw);
    this.head = makeSelect(numbers(HEADS), redraw);
    this.kind = makeSelect(
      KINDS.map((one) => [one, words.kinds[one]]),
      () => this.showNote(),
    );
    const onclick = ({ offsetY }) => this.choose(offsetY / this.map.clientHeight);
    this.map = element("canvas", { class: "next-map", role: "img", onclick });
    const note = fillTemplate(words.meanNote, words.reference);
    this.note = element("p", { class: "next-note", hidden: true }, note);
    this.looks = element("p", { class: "next-note next-looks-at", "aria-live": "polite" });
    this.compared = element("div", { class: "next-compared" });
    this.element = this.makeFold();
  }

  makeFold() {
    const { words } = this;
    const summary = element("summary", {}, words.inside);
    const fold = element("details", { class: "fold", open: true }, summary);
    const label = (text, field) => element("label", {}, text, " ", field);
    const compare = makeButton("md-button", words.compare, () => this.compare());
    fold.append(
      element(
        "p",
        { class: "next-tools" },
        label(words.layer, this.layer),
        label(words.headNumber, this.head),
      ),
      this.map,
      element("p", { class: "next-note" }, `${words.map} ${words.rows}`),
      this.looks,
      element("p", { class: "next-tools" }, label(words.takeOut, this.kind), compare),
      this.note,
      this.compared,
    );
    return fold;
  }

  /* --- the address */

  get chosen() {
    return { layer: Number(this.layer.value), head: Number(this.head.value) };
  }

  get address() {
    const { layer, head } = this.chosen;
    return { head: `${layer}.${head}`, ...this.out };
  }

  follow(own) {
    const [layer, head] = (own.get("head") ?? "").split(".");
    const given = [
      [this.layer, layer],
      [this.head, head],
      [this.kind, own.get("out")],
    ];
    for (const [field, value] of given) {
      if ([...field.options].some((one) => one.value === value)) field.value = value;
    }
    this.showNote();
  }

  /* What the mean of a head is, where it is asked for. */
  showNote() {
    this.note.hidden = this.kind.value !== "mean";
  }

  /* Of an earlier text nothing is left. */
  clear() {
    this.out = {};
    this.compared.replaceChildren();
  }

  /* --- where a head looks */

  async draw() {
    const { layer, head } = this.chosen;
    const map = await this.live.ask({ do: "map", layer, head }, "map");
    if (!map || map.length !== this.live.shown.length) return; // another is on its way
    const { shown } = this.live;
    const i = this.live.row ?? map.length - 1;
    paintMap(this.map, map, i);
    const list = listLooks(map[i], shown, 4, this.words.comma);
    const parts = { layer, head, word: showToken(shown[i][1]), list };
    this.looks.textContent = fillTemplate(this.words.looks, parts);
    this.map.setAttribute("aria-label", this.looks.textContent);
  }

  /* The row at a part of the map's height. */
  choose(part) {
    this.live.select(Math.floor(part * this.map.height));
  }

  /* --- without it */

  /* `control` is another head of the layer: by chance, unless an address names it. */
  async compare(control = Number.NaN) {
    const { words, live } = this;
    if (!(await live.catchUp())) return;
    const { layer, head } = this.chosen;
    const kind = this.kind.value;
    const isHead = kind === "zero" || kind === "mean";
    const isOther = control !== head && control >= 0 && control < HEADS;
    const other = isOther ? Math.floor(control) : drawOther(head);
    const by_mean = kind === "mean";
    const parts = kind === "layer" ? PARTS : [kind];
    const changes = isHead
      ? [head, other].map((one) => ({ heads: [[layer, one]], by_mean }))
      : [{ skip: parts.map((part) => [layer, part]) }];
    live.halted();
    live.say(words.reading);
    const before = live.node;
    const found = await live.ask({ do: "compare", changes });
    if (!found || live.node !== before) return;
    const name = (which) => fillTemplate(words.out[isHead ? "head" : kind], which);
    const names = isHead ? [head, other].map((one) => name(`${layer}.${one}`)) : [name(layer)];
    const shown = isHead
      ? compareWithControl(words, names, found)
      : [compareTable(words, [words.whole, fillTemplate(words.without, names[0])], found)];
    this.compared.replaceChildren(...shown, element("p", { class: "next-note" }, words.plain));
    this.out = isHead ? { out: kind, control: other } : { out: kind };
    live.say("");
    live.remember();
  }
}

function makeSelect(options, onchange) {
  const list = options.map(([value, text]) => element("option", { value }, text));
  return element("select", { onchange }, ...list);
}
