/* The maps of all heads for one sentence: small ones to choose from, and one of them open, with words
   at its edges, a line of words that say where they look, and a table. */
import { element, fillTemplate, svg } from "./dom.js";

const FIRST = [3, 1]; // the layer and head that the text beside speaks of
const SHOWN = 0.005; // below it a cell would print 0.00
const NAMED = 4; // how many words are named of those that a word looks at
const CHARACTER = 7; // pixels, of the words at the edges

const digits = (weight) => weight.toFixed(2);

/* Arrow keys move among buttons, of which one is reached by Tab. */
function rove(buttons, columns) {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  buttons.forEach((button, n) => {
    button.tabIndex = n ? -1 : 0;
    button.addEventListener("keydown", (event) => {
      const ends = { Home: 0, End: buttons.length - 1 };
      const next = buttons[ends[event.key] ?? n + (steps[event.key] ?? Number.NaN)];
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
    button.addEventListener("focus", () => {
      for (const other of buttons) other.tabIndex = other === button ? 0 : -1;
    });
  });
}

export class SentenceMaps {
  /* `width` is that of the place, in pixels. `chosen` has the `head` and the `row` to begin with, where
     they are there; `changed(head, row)` is called when others are chosen. */
  constructor(words, tokens, weights, shape, width, chosen, changed) {
    Object.assign(this, { words, tokens, weights, shape, width, changed, row: chosen.row });
    this.small = [];
    this.grid = this.makeGrid();
    this.open = element("div", { class: "sentence-open" });
    this.element = element("div", { class: "sentence-maps" }, this.grid, this.open);
    const named = this.small.find(({ layer, head }) => chosen.head === `${layer}.${head}`);
    this.openMap(...(named ? [named.layer, named.head] : FIRST));
    // Small maps are pixels: they do not follow the colours of the page by themselves.
    this.scheme = new MutationObserver(() => this.draw());
    this.scheme.observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
  }

  get size() {
    return this.tokens.length;
  }

  weight(layer, head, i, j) {
    const n = this.size;
    return this.weights[((layer * this.shape[1] + head) * n + i) * n + j];
  }

  /* --- all heads */

  makeGrid() {
    const [layers, heads] = this.shape;
    const names = { class: "sentence-grid", role: "group", "aria-label": this.words.maps };
    const grid = element("div", names);
    for (let layer = 0; layer < layers; layer += 1) {
      const label = fillTemplate(this.words.layer, layer);
      grid.append(element("span", { class: "sentence-layer", "aria-hidden": "true" }, label));
      for (let head = 0; head < heads; head += 1) grid.append(this.makeSmall(layer, head));
    }
    const buttons = this.small.map(({ button }) => button);
    rove(buttons, heads);
    return grid;
  }

  makeSmall(layer, head) {
    const canvas = element("canvas", { width: this.size, height: this.size });
    const name = fillTemplate(this.words.head, { layer, head });
    const names = { "aria-label": name, title: name, "aria-pressed": "false" };
    const onclick = () => this.openMap(layer, head);
    const button = element("button", { type: "button", ...names, onclick }, canvas);
    this.small.push({ button, canvas, layer, head });
    return button;
  }

  /* Once it is part of the page, since the colour is that of the page. */
  draw() {
    if (!this.element.isConnected) {
      this.scheme.disconnect();
      return;
    }
    const { color } = getComputedStyle(this.grid);
    for (const { canvas, layer, head } of this.small) {
      const pen = canvas.getContext("2d");
      pen.clearRect(0, 0, this.size, this.size);
      pen.fillStyle = color;
      for (let i = 0; i < this.size; i += 1) {
        for (let j = 0; j < this.size; j += 1) {
          pen.globalAlpha = this.weight(layer, head, i, j);
          pen.fillRect(j, i, 1, 1);
        }
      }
    }
  }

  /* --- one head */

  openMap(layer, head) {
    this.current = [layer, head];
    for (const one of this.small) {
      const pressed = one.layer === layer && one.head === head;
      one.button.setAttribute("aria-pressed", String(pressed));
    }
    this.line = this.tokens.map((token, i) => this.makeWord(token, i));
    rove(this.line, Number.NaN);
    this.looks = element("p", { class: "sentence-looks", "aria-live": "polite" });
    this.map = this.makeMap();
    const title = element("strong", {}, fillTemplate(this.words.opened, { layer, head }));
    this.open.replaceChildren(
      element("p", { class: "sentence-title" }, title, " ", this.words.tokens),
      element("div", { class: "sentence-words", lang: "en" }, ...this.line),
      this.looks,
      element("div", { class: "sentence-map" }, this.map),
      this.makeTable(),
    );
    const wanted = Math.max(this.tokens.indexOf("it"), 1);
    this.select(this.tokens[this.row] ? this.row : wanted);
  }

  makeWord(token, i) {
    const select = () => this.select(i);
    const events = { onfocus: select, onclick: select, onpointerenter: select };
    return element("button", { type: "button", ...events }, token);
  }

  /* Show where token i looks. */
  select(i) {
    this.row = i;
    const row = this.tokens.map((_, j) => this.weight(...this.current, i, j));
    this.line.forEach((word, j) => {
      word.style.setProperty("--weight", `${100 * row[j]}%`);
      word.classList.toggle("chosen", j === i);
    });
    const order = row.map((_, j) => j).sort((a, b) => row[b] - row[a]);
    const named = order.slice(0, NAMED).map((j) => `${this.tokens[j]} ${digits(row[j])}`);
    const list = named.join(document.documentElement.lang.startsWith("zh") ? "，" : ", ");
    this.looks.textContent = fillTemplate(this.words.looks, { word: this.tokens[i], list });
    this.frame.setAttribute("y", this.top + i * this.cell);
    this.changed(this.current.join("."), i);
  }

  makeMap() {
    const n = this.size;
    const longest = Math.max(...this.tokens.map((token) => token.length));
    const edge = Math.min(longest, 14) * CHARACTER + 10;
    this.cell = Math.max(14, Math.min(26, Math.floor((this.width - edge) / n)));
    this.top = edge;
    const side = n * this.cell;
    const whole = edge + side;
    const [layer, head] = this.current;
    const list = this.words.tokens;
    const name = fillTemplate(this.words.mapSays, { layer, head, list });
    const size = { viewBox: `0 0 ${whole} ${whole}`, width: whole, height: whole };
    const map = svg("svg", { ...size, role: "img", "aria-label": name });
    const ground = { x: edge, y: edge, width: side, height: side };
    map.append(svg("rect", { class: "ground", ...ground }));
    this.tokens.forEach((token, i) => {
      const text = token.length > 14 ? `${token.slice(0, 13)}…` : token;
      const middle = edge + (i + 0.5) * this.cell;
      map.append(svg("text", { x: edge - 5, y: middle, "text-anchor": "end" }, text));
      const turned = { x: 0, y: 0, transform: `translate(${middle} ${edge - 5}) rotate(-90)` };
      map.append(svg("text", turned, text));
      for (let j = 0; j < n; j += 1) {
        const weight = this.weight(layer, head, i, j);
        if (weight < SHOWN) continue;
        const place = { x: edge + j * this.cell, y: edge + i * this.cell, "fill-opacity": weight };
        map.append(svg("rect", { class: "cell", ...place, width: this.cell, height: this.cell }));
      }
    });
    this.frame = svg("rect", { class: "frame", ...ground, height: this.cell });
    map.append(this.frame);
    map.addEventListener("pointermove", (event) => {
      const scale = whole / map.getBoundingClientRect().height;
      const y = (event.clientY - map.getBoundingClientRect().top) * scale - edge;
      const i = Math.floor(y / this.cell);
      if (i >= 0 && i < n && i !== this.row) this.select(i);
    });
    return map;
  }

  /* Made when it is opened: it has a cell for each pair of tokens. */
  makeTable() {
    const map = this.current;
    const fold = element("details", { class: "fold" }, element("summary", {}, this.words.table));
    fold.addEventListener("toggle", () => fold.append(this.fillTable(...map)), { once: true });
    return fold;
  }

  fillTable(layer, head) {
    const columns = this.tokens.map((token) => element("th", { scope: "col" }, token));
    const rows = this.tokens.map((token, i) => {
      const weights = this.tokens.map((_, j) => digits(this.weight(layer, head, i, j)));
      const cells = weights.map((weight) => element("td", {}, weight));
      return element("tr", {}, element("th", { scope: "row" }, token), ...cells);
    });
    const name = fillTemplate(this.words.opened, { layer, head });
    const table = element("table", { class: "sentence-numbers" }, element("caption", {}, name));
    const first = element("tr", {}, element("td", {}, this.words.corner), ...columns);
    table.append(element("thead", {}, first), element("tbody", {}, ...rows));
    const names = { tabindex: "0", role: "region", "aria-label": name };
    return element("div", { class: "sentence-table", ...names }, table);
  }
}
