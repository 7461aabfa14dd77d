/* Where a head of the model looks on the reader's text, and what the next tokens are without it: the bars
   before and after, with another head of the same layer as control. */
import { element, fillTemplate, makeButton } from "./dom.js";
import { compareTable, drawOther, HEADS, LAYERS, listLooks, paintMap } from "./model-parts.js";
import { showToken } from "./next-bars.js";

const KINDS = ["zero", "mean", "attention", "feed-forward"];

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
      () => {},
    );
    this.map = element("canvas", { class: "next-map", role: "img" });
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
      this.looks,
      element("p", { class: "next-tools" }, label(words.takeOut, this.kind), compare),
      element("p", { class: "next-note" }, fillTemplate(words.meanNote, words.reference)),
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
    paintMap(this.map, map);
    const { shown } = this.live;
    const i = this.live.row ?? map.length - 1;
    const list = listLooks(map[i], shown, 4, this.words.comma);
    const parts = { layer, head, word: showToken(shown[i][1]), list };
    this.looks.textContent = fillTemplate(this.words.looks, parts);
    this.map.setAttribute("aria-label", this.looks.textContent);
  }

  /* --- without it */

  /* `control` is another head of the layer: by chance, unless an address names it. */
  async compare(control = Number.NaN) {
    const { words, live } = this;
    const { layer, head } = this.chosen;
    const kind = this.kind.value;
    const isHead = kind === "zero" || kind === "mean";
    const isOther = control !== head && control >= 0 && control < HEADS;
    const other = isOther ? Math.floor(control) : drawOther(head);
    const take = (which) =>
      isHead ? { heads: [[layer, which]], by_mean: kind === "mean" } : { skip: [[layer, kind]] };
    const changes = isHead ? [take(head), take(other)] : [take(head)];
    live.halted();
    live.say(words.reading);
    const before = live.node;
    const asked = [...changes, {}].map((one) => live.ask({ do: "change", ...one }));
    const said = await Promise.all(asked); // the last brings the whole model back
    if (said.includes(null) || live.node !== before) return;
    const names = [words.whole, fillTemplate(words.without, isHead ? `${layer}.${head}` : layer)];
    if (isHead) names.push(fillTemplate(words.control, `${layer}.${other}`));
    const nodes = [before, ...said.slice(0, -1).map((one) => one.next)];
    const columns = nodes.map((node, n) => [names[n], node]);
    this.compared.replaceChildren(compareTable(words, columns));
    this.out = isHead ? { out: kind, control: other } : { out: kind };
    live.say("");
    live.remember();
  }
}

function makeSelect(options, onchange) {
  const list = options.map(([value, text]) => element("option", { value }, text));
  return element("select", { onchange }, ...list);
}
