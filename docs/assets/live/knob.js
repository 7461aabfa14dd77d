/* A knob: fields, a slider or a choice for the literal that a line `name = …` of a block sets. */
import { element, fillTemplate, makeButton } from "./dom.js";

const STEPS = 1000; // of a slider
const NUMBER = /\bTrue\b|\bFalse\b|[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?/gi;
const VALUE = /^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\s#]+)?/;

export class Knob {
  /* `knob` as attention_docs/site/read/knobs.py describes it. */
  constructor(knob, cell, words) {
    Object.assign(this, knob); // name, kind, low, high, log, names, answer
    this.cell = cell;
    this.words = words;
    this.isWhole = this.takesWholeNumbers();
    this.limit = element("span", { class: "live-limit", role: "status" });
    const name = element("code", {}, this.name);
    this.element = element("div", { class: `live-knob ${this.kind}` }, name, this.limit);
    const found = findLiteral(cell.code, this.name);
    if (found) this.element.append(...this.makeControls(found));
  }

  takesWholeNumbers() {
    const { kind, low, high } = this;
    const first = findLiteral(this.cell.base, this.name)?.numbers[0]?.text;
    return kind === "number" && low !== null && high - low > 2 && /^[-+]?\d+$/.test(first);
  }

  makeControls(found) {
    if (this.kind === "text") return this.makeTextField();
    if (this.kind === "choice") return [this.makeChoice()];
    if (this.low === null || found.numbers.length > 1) return [this.makeRows(found)];
    return [this.makeSlider(), this.makeNumber(0, this.name, "", 8)];
  }

  /* --- a text */

  makeTextField() {
    const words = this.names;
    const field = element("input", {
      type: "text",
      spellcheck: "false",
      autocapitalize: "off",
      "aria-label": this.name,
      required: true,
      oninput: () => {
        this.showLimit();
        if (field.value) this.setText(field.value);
      },
    });
    return words.length ? [field, this.makeChips(field)] : [field];
  }

  setText(text) {
    this.cell.turn(replaceText(this.cell.code, this.name, text));
  }

  /* Words that a text takes, each a press away; a full stop and what comes after it, too. */
  makeChips(field) {
    const makeChip = (text, name, change) => {
      const press = () => {
        field.value = change(field.value);
        field.dispatchEvent(new Event("input"));
      };
      return makeButton("live-chip", text, press, { "aria-label": name });
    };
    const chips = this.names.map((word) =>
      makeChip(word, fillTemplate(this.words.chip, word), (text) =>
        `${text.trimEnd()} ${word}`.trimStart(),
      ),
    );
    chips.push(makeChip("⌫", this.words.unchip, (text) => text.trim().replace(/\s*\S+$/, "")));
    const group = { class: "live-chips", role: "group", "aria-label": this.words.chips };
    return element("div", group, ...chips);
  }

  makeChoice() {
    const onchange = ({ target }) => this.setText(target.value);
    const options = this.names.map((name) => element("option", {}, name));
    return element("select", { "aria-label": this.name, onchange }, ...options);
  }

  /* --- numbers */

  setNumber(n, text) {
    this.cell.turn(replaceNumber(this.cell.code, this.name, n, text));
  }

  makeSlider() {
    return element("input", {
      type: "range",
      min: "0",
      max: String(STEPS),
      step: "1",
      "aria-label": this.name,
      oninput: ({ target }) => this.setNumber(0, this.valueAt(Number(target.value) / STEPS)),
    });
  }

  /* The field of the number at place `n`. */
  makeNumber(n, name, value, size) {
    if (/[TF]/.test(value)) return this.makeCheckbox(n, name, value);
    return element("input", {
      type: "number",
      required: true,
      min: this.low ?? false,
      max: this.high ?? false,
      step: this.isWhole ? "1" : "any",
      value,
      "aria-label": name,
      "data-n": n,
      style: `width: ${size}ch`,
      oninput: ({ target }) => {
        this.showLimit();
        if (target.validity.valid) this.setNumber(n, target.value);
      },
    });
  }

  makeCheckbox(n, name, value) {
    return element("input", {
      type: "checkbox",
      checked: value === "True",
      "aria-label": name,
      "data-n": n,
      onchange: ({ target }) => this.setNumber(n, target.checked ? "True" : "False"),
    });
  }

  makeRows({ numbers, rows: isMatrix }) {
    const rows = element("div", { class: "live-rows" });
    const size = Math.max(5, ...numbers.map((one) => one.text.length + 3));
    numbers.forEach(({ text, row, column }, n) => {
      if (column === 0) rows.append(element("div"));
      const index = isMatrix ? `${row + 1}, ${column + 1}` : String(column + 1);
      const name = numbers.length > 1 ? `${this.name}[${index}]` : this.name;
      const field = this.makeNumber(n, name, text, size);
      const isBare = field.type !== "checkbox" || numbers.length === 1;
      rows.lastChild.append(isBare ? field : element("label", {}, index, field));
    });
    return rows;
  }

  /* Where the slider stands for a value between low and high, and the other way round. */
  shareOf(value) {
    const { low, high } = this;
    return this.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  }

  valueAt(share) {
    const { low, high } = this;
    const value = this.log ? low * (high / low) ** share : low + (high - low) * share;
    return String(this.isWhole ? Math.round(value) : Number(value.toPrecision(3)));
  }

  /* --- what the code says */

  /* What a field takes, where it holds something else. */
  showLimit() {
    const isWrong = Boolean(this.element.querySelector("input:invalid"));
    for (const field of this.element.querySelectorAll("input[type=number], input[type=text]")) {
      field.setAttribute("aria-invalid", String(field.matches(":invalid")));
    }
    const ofNumbers = this.low === null ? "anyNumber" : this.isWhole ? "wholeNumber" : "number";
    const text = this.words[this.kind === "text" ? "anyText" : ofNumbers];
    this.limit.textContent = isWrong ? fillTemplate(text, this) : "";
  }

  /* Show what the code says. */
  update() {
    const found = findLiteral(this.cell.code, this.name);
    for (const control of this.element.querySelectorAll("input, select")) {
      control.disabled = !found;
      if (found && control !== document.activeElement) this.updateControl(control, found);
    }
    this.showLimit();
    // Whoever moves the slider sees the number, and the other way round.
    const range = this.element.querySelector("input[type=range]");
    if (found && range) range.setAttribute("aria-valuetext", found.numbers[0].text);
  }

  updateControl(control, { numbers, text }) {
    const number = numbers[control.dataset.n]?.text;
    if (control.type === "range")
      control.value = Math.round(STEPS * this.shareOf(Number(numbers[0].text)));
    else if (control.type === "checkbox") control.checked = number === "True";
    else if (control.type === "number") control.value = number ?? "";
    else control.value = readText(text);
  }
}

/* --- the literal in the code */

/* Where a literal stands in the code, its text, its numbers with their rows and columns; null for none. */
function findLiteral(code, name) {
  const head = new RegExp(`^${name}[ \\t]*=[ \\t]*`, "m").exec(code);
  if (!head) return null;
  const start = head.index + head[0].length;
  const rest = code.slice(start);
  const list = /^[\w.]*\(?\s*(?=\[)/.exec(rest);
  const end = list ? findClosing(rest, list[0].length) : VALUE.exec(rest)[0].length;
  if (!end) return null;
  const from = start + (list ? list[0].length : 0);
  const text = code.slice(from, start + end);
  const found = { from, to: start + end, text, rows: /^\[\s*\[/.test(text), numbers: [] };
  if (/^["']/.test(text)) return found;
  let [row, column, last] = [0, 0, 0];
  for (const match of text.matchAll(NUMBER)) {
    const between = text.slice(last, match.index);
    if (found.rows && /\]\s*,?\s*\[/.test(between)) [row, column] = [row + 1, 0];
    found.numbers.push({ text: match[0], at: from + match.index, row, column });
    column += 1;
    last = match.index + match[0].length;
  }
  return found.numbers.length ? found : null;
}

/* Where the bracket that opens at `open` is closed, or 0. */
function findClosing(text, open) {
  let depth = 0;
  for (let n = open; n < text.length; n += 1) {
    if (text[n] === "[") depth += 1;
    else if (text[n] === "]" && !--depth) return n + 1;
  }
  return 0;
}

/* The code with another number at place `n` of the literal, or null. */
function replaceNumber(code, name, n, text) {
  const one = findLiteral(code, name)?.numbers[n];
  return one ? code.slice(0, one.at) + text + code.slice(one.at + one.text.length) : null;
}

/* What a literal of a string says; Python's own escapes stay as they are written. */
function readText(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1, -1);
  }
}

/* The code with another string, or null. */
function replaceText(code, name, text) {
  const found = findLiteral(code, name);
  return found ? code.slice(0, found.from) + JSON.stringify(text) + code.slice(found.to) : null;
}
