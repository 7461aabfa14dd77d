/* Where a head of the model looks on the reader's text, and what the next tokens are without it: the bars
   before and after, with another head of the same layer as control. */
import { element, fillTemplate, makeButton } from "./dom.js";
import { showToken } from "./next-bars.js";

const LAYERS = 30;
const HEADS = 9;
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
    this.paint(map);
    const { shown } = this.live;
    const i = this.live.row ?? map.length - 1;
    const order = map[i].map((_, j) => j).sort((a, b) => map[i][b] - map[i][a]);
    const named = order.slice(0, 4).filter((j) => map[i][j] >= 0.005);
    const list = named.map((j) => `${showToken(shown[j][1])} ${map[i][j].toFixed(2)}`);
    const parts = { layer, head, word: showToken(shown[i][1]), list: list.join(this.words.comma) };
    this.looks.textContent = fillTemplate(this.words.looks, parts);
    this.map.setAttribute("aria-label", this.looks.textContent);
  }

  paint(map) {
    const n = map.length;
    Object.assign(this.map, { width: n, height: n });
    const pen = this.map.getContext("2d", { willReadFrequently: true });
    pen.fillStyle = getComputedStyle(this.map).color;
    pen.fillRect(0, 0, n, n);
    const image = pen.getImageData(0, 0, n, n);
    map.flat().forEach((weight, place) => {
      image.data[4 * place + 3] = 255 * weight;
    });
    pen.putImageData(image, 0, 0);
  }

  /* --- without it */

  /* `control` is another head of the layer: by chance, unless an address names it. */
  async compare(control = Number.NaN) {
    const { words, live } = this;
    const { layer, head } = this.chosen;
    const kind = this.kind.value;
    const isHead = kind === "zero" || kind === "mean";
    const isOther = control !== head && control >= 0 && control < HEADS;
    const chance = (head + 1 + Math.floor(Math.random() * (HEADS - 1))) % HEADS;
    const other = isOther ? Math.floor(control) : chance;
    const take = (which) =>
      isHead ? { heads: [[layer, which]], by_mean: kind === "mean" } : { skip: [[layer, kind]] };
    const changes = isHead ? [take(head), take(other)] : [take(head)];
    live.halted();
    live.say(words.reading);
    const before = live.node;
    const asked = [...changes, {}].map((one) => live.ask({ do: "change", ...one }));
    const said = await Promise.all(asked); // the last brings the whole model back
    if (said.includes(null) || live.node !== before) return;
    const names = isHead ? [`${layer}.${head}`, `${layer}.${other}`] : [layer];
    const nodes = said.slice(0, -1).map((one) => one.next);
    this.compared.replaceChildren(makeTable(words, before, nodes, names));
    this.out = isHead ? { out: kind, control: other } : { out: kind };
    live.say("");
    live.remember();
  }
}

function makeSelect(options, onchange) {
  const list = options.map(([value, text]) => element("option", { value }, text));
  return element("select", { onchange }, ...list);
}

function makeTable(words, before, nodes, names) {
  const share = (node, id) => {
    const n = node.ids.indexOf(id);
    return n < 0 ? words.below : `${(100 * Math.exp(-node.nats[n])).toFixed(1)}%`;
  };
  const [name, control] = names;
  const heads = [words.token, words.whole, fillTemplate(words.without, name)];
  if (nodes.length > 1) heads.push(fillTemplate(words.control, control));
  const rows = before.ids.map((id, n) => {
    const cells = [before, ...nodes].map((node) => element("td", {}, share(node, id)));
    const token = element("th", { scope: "row", translate: "no" }, showToken(before.texts[n]));
    return element("tr", {}, token, ...cells);
  });
  const first = element("tr", {}, ...heads.map((one) => element("th", { scope: "col" }, one)));
  return element("table", {}, element("thead", {}, first), element("tbody", {}, ...rows));
}
