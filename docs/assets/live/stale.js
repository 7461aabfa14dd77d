/* What the text of a live page says of published numbers only, and no run updates: marked where what
   it stands beside has changed. A scope is a heading's section or a box; its text speaks of its blocks. */
import { element, makeButton } from "./dom.js";
import { numberOf, VALUES } from "./values.js";

const BOXES = "details:not(.hint, .answer, .code, .origin, .checks), .result, .exercise";
const SKIPPED = // a guess is asked before anything moves
  ".guess-question, .guess form, .tools, .opening, .cards, .result-links, .live-place, .live-scratch, .takeaway, nav, summary, button, script, p > .number, [hidden]";
const TEXTS = "p, li, table, dt, dd, figcaption, legend, label, .formula";
const WIDE = "table, ul, ol, dl, form, .formula"; // a line of words stands before them, not in them
const NUMBER = /(?<![\w.])\d+(?:[.,]\d+)*(?![\w])/;
const SPELLED = {
  en: /\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen|twenty|thirty|fifty|hundreds?|thousands?|millions?|half|thirds|quarters?|twice)\b/i,
  zh: /[两兩二三四五六七八九十百千万萬半]+\s*(?:个|個|次|种|種|行|列|步|层|層|头|頭|倍|项|項|位|组|組|条|條|份|张|張|维|維|对|對|词|詞|点|點|成|段|句|块|塊)|一半|分之/,
};
const OTHER = // numbers that name no result: of chapters, and what weights always sum to
  /\bchapters? \d+(?:(?:, \d+)* and \d+)?|第 ?\d+ ?章|\b(?:sum|add up) to [01]\b|和[为為是] ?[01](?!\d|\.\d)/gi;
const LISTED = /\[[^\]]*\b(?:True|False)\b/; // a vector of truth values
const SHAPE = /\([^()]*[a-z][^()]*\)/g; // in a comment: (n, 1)
const CONSTANTS = new Set(["e", "π", "exp", "ln", "log", "max", "softmax"]);

export class StaleText {
  constructor(article, { words, cells, lang, runs }) {
    Object.assign(this, { article, words, cells, runs });
    this.spelled = SPELLED[lang.slice(0, 2)] ?? SPELLED.en;
    this.scopes = [];
    this.cellOf = new Map();
    this.owner = new Map(); // of the number of an inline value, its block
    for (const cell of cells) {
      for (const place of [cell.output.frame, cell.block]) if (place) this.cellOf.set(place, cell);
      for (const [number] of cell.values) this.owner.set(number, cell);
    }
    this.walk(article, this.makeScope(null));
  }

  makeScope(parent) {
    const scope = { parent, boxes: [], cells: new Set(), numbers: [], texts: [] };
    parent?.boxes.push(scope);
    this.scopes.push(scope);
    return scope;
  }

  walk(node, scope) {
    let here = scope;
    const above = []; // the scopes of the headings that this one stands under, by their level
    for (const child of node.children) {
      if (/^H[1-6]$/.test(child.tagName)) {
        above.splice(Number(child.tagName[1]));
        here = above[child.tagName[1]] = this.makeScope(above.slice(2).findLast(Boolean) ?? null);
      } else if (child.matches(SKIPPED)) continue;
      else if (this.cellOf.has(child)) this.register(child, here);
      else if (child.matches(BOXES)) this.walk(child, this.makeScope(here));
      else {
        if (child.matches(TEXTS)) this.addText(child, here);
        if (!child.matches(".formula")) this.walk(child, here);
      }
    }
  }

  /* The block or the output of a cell, with its captions. */
  register(place, scope) {
    scope.cells.add(this.cellOf.get(place));
    for (const caption of place.querySelectorAll("figcaption")) {
      if (!caption.closest(".drawing, .table-frame")) this.addText(caption, scope);
    }
  }

  addText(text, scope) {
    scope.texts.push(text);
    for (const place of text.querySelectorAll(VALUES)) {
      const number = numberOf(place);
      if (this.owner.has(number)) scope.numbers.push(number);
    }
  }

  /* --- which scopes follow from what the reader has changed */

  /* The blocks that the reader has changed, and those that use what has changed in them; and the
     inline values that follow from it and that no browser computes, or none has yet. */
  findDependents() {
    const dependents = new Set();
    const old = new Set();
    const changed = []; // of each statement of the page; a block's inline values are its last ones
    const waits = []; // for a slow block
    for (const cell of this.cells) {
      const edited = findEdited(cell);
      const own = cell.statements.length - cell.values.length;
      cell.statements.forEach(([, , uses], n) => {
        changed.push(edited[n] || uses.some((number) => changed[number]));
        waits.push(cell.later || uses.some((number) => waits[number]));
        if (!changed.at(-1)) return;
        if (n < own) dependents.add(cell);
        else if (cell.torch || waits.at(-1)) old.add(cell.values[n - own][0]);
      });
    }
    return [dependents, old];
  }

  isTouched(cell, dependents) {
    if (cell.output.isChanged || cell.output.failing || cell.failed) return true;
    const shows = cell.text || cell.figure || cell.values.length;
    const { edited, torch, later, unrun } = cell;
    return dependents.has(cell) && (edited || torch || later || unrun || !shows);
  }

  isAffected(scope, touched, old) {
    const follows = (n) => old.has(n) || this.owner.get(n).output.isValueChanged(n);
    const holds = (box) => [...box.cells].some((cell) => touched.has(cell));
    if (holds(scope) || scope.numbers.some(follows)) return true;
    if (scope.cells.size) return false;
    const within = (box) => box.boxes.some((one) => holds(one) || within(one));
    const around = (box) =>
      box?.parent && !box.cells.size ? around(box.parent) : box && holds(box);
    return within(scope) || Boolean(around(scope.parent));
  }

  /* --- which of their text holds something published */

  isPublished(text, old) {
    if (!this.known.has(text)) this.known.set(text, this.readPublished(text, old));
    return this.known.get(text);
  }

  readPublished(text, old) {
    const parts = [];
    let specific = false;
    const read = (node) => {
      for (const child of node.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) parts.push(child.data);
        else if (child.nodeType !== Node.ELEMENT_NODE) continue;
        else if (child.matches(VALUES)) {
          specific ||= old.has(numberOf(child));
          parts.push("·");
        } else if (child.localName === "math") {
          specific ||= isNumeric(child, old);
          parts.push("·");
        } else if (!child.matches(`a, ${TEXTS}, ${SKIPPED}, .output, .block, [class^=live-]`)) {
          read(child);
        }
      }
    };
    read(text);
    return specific || this.says(parts.join(""));
  }

  says(text) {
    const own = text.replace(OTHER, "");
    if (NUMBER.test(own) || this.spelled.test(own) || LISTED.test(own)) return true;
    return this.inputs.some((word) => own.toLowerCase().includes(word));
  }

  /* The words of strings that the reader has replaced. */
  findInputs() {
    const found = new Set();
    const strings = (code) =>
      [...code.matchAll(/"([^"\n]+)"|'([^'\n]+)'/g)].map((one) => one[1] ?? one[2]);
    for (const cell of this.cells.filter((one) => one.edited && one.id !== "scratch")) {
      const kept = new Set(strings(cell.code));
      const gone = strings(cell.base).filter((one) => !kept.has(one));
      for (const word of gone.flatMap((one) => one.toLowerCase().split(/[\s.,|]+/))) {
        if (word.length > 2 || /[\u3400-\u9fff]{2}/.test(word)) found.add(word);
      }
    }
    return [...found];
  }

  /* --- the marks */

  /* Mark what is stale and nothing else; how many passages that are. */
  update() {
    const [dependents, old] = this.findDependents();
    const touched = new Set(this.cells.filter((cell) => this.isTouched(cell, dependents)));
    const torch = new Set([...touched].filter((cell) => cell.torch));
    this.inputs = this.findInputs();
    const key = JSON.stringify([this.inputs, [...old]]); // with a hand on a knob it stays
    if (key !== this.key) [this.key, this.known] = [key, new Map()];
    const stale = new Set();
    const notes = new Set();
    for (const scope of this.scopes.filter((one) => this.isAffected(one, touched, old))) {
      const found = scope.texts.filter((text) => this.isPublished(text, old));
      const comments = [...scope.cells].flatMap((cell) => this.findComments(cell));
      for (const one of [...found, ...comments]) stale.add(one);
      const first = found[0] ?? comments[0]?.closest(".block");
      if (first) notes.add(outermost(first));
    }
    this.show(stale, notes);
    this.markOutputs(torch, touched, old);
    const outputs = [...touched].filter((cell) => cell.output.frame && (cell.torch || cell.later));
    return [...stale].filter((one) => one.localName !== "span").length + outputs.length;
  }

  findComments(cell) {
    const code = cell.editor ? null : cell.block?.querySelector("pre > code");
    const comments = [...(code?.querySelectorAll(".c1, .sd") ?? [])];
    return comments.filter((one) => this.says(one.textContent.replace(SHAPE, "")));
  }

  show(stale, notes) {
    for (const one of this.shown ?? []) if (!stale.has(one)) one.classList.remove("live-stale");
    for (const one of stale) one.classList.add("live-stale");
    this.shown = stale;
    for (const note of this.article.querySelectorAll(".live-stale-note")) {
      if (!notes.delete(note.nextElementSibling)) note.remove();
    }
    for (const before of notes)
      before.before(element("p", { class: "live-stale-note" }, this.words.stale));
  }

  /* Outputs and values that no browser computes or none has yet, and those that an error kept from being computed. */
  markOutputs(torch, touched, old) {
    for (const cell of this.cells) {
      let says = "";
      if (torch.has(cell)) says = this.words.stale;
      else if (touched.has(cell) && cell.unrun) says = this.words.unrun;
      else if (touched.has(cell) && cell.later) says = this.words.slow;
      const { frame } = cell.output;
      frame?.classList.toggle("live-old", Boolean(says));
      const note = frame?.querySelector(":scope > .live-old-note");
      if (!says) note?.remove();
      else if (note?.dataset.says !== says) {
        note?.remove();
        const fresh = element("p", { class: "live-old-note", "data-says": says }, says);
        const run = () => this.runs.askFor(cell);
        if (cell.later) fresh.append(" ", makeButton("live-way", this.words.runSlow, run));
        frame?.prepend(fresh);
      }
    }
    for (const place of this.article.querySelectorAll(VALUES)) {
      place.classList.toggle("live-old-value", old.has(numberOf(place)));
    }
  }
}

/* What text stands in, where a line can stand before it. */
function outermost(text) {
  let found = text;
  for (let wide = text.closest(WIDE); wide; wide = wide.parentElement.closest(WIDE)) found = wide;
  return found.closest(".md-typeset__scrollwrap") ?? found;
}

/* Which statements of a block are not as published: all where the reader has added some. */
function findEdited({ id, base, code, statements }) {
  if (base === code || id === "scratch") return [];
  const lines = base.split("\n");
  const now = withoutComments(code);
  const gone = statements.map(([first, last]) => {
    const was = withoutComments(lines.slice(first - 1, last).join("\n"));
    return !`\n${now}\n`.includes(`\n${was}\n`);
  });
  const added = now.split("\n").length !== withoutComments(base).split("\n").length;
  return added ? statements.map(() => true) : gone;
}

/* Code as it runs, nearly: only a comment with a quotation mark stays. */
function withoutComments(code) {
  return code
    .split("\n")
    .map((line) => line.replace(/\s*#[^"']*$/, "").trimEnd())
    .filter(Boolean)
    .join("\n");
}

/* Whether a formula speaks of an example: of other numbers than 0, 1 and 2, of a row of numbers, or
   of numbers alone. Indices name things. */
function isNumeric(math, old) {
  const numbers = [...math.querySelectorAll("mn")].filter((one) => !isIndex(one, math));
  if (numbers.some((one) => old.has(Number(one.dataset.value)))) return true;
  const typed = numbers.filter((one) => !one.dataset.value).map((one) => one.textContent);
  if (!typed.length) return false;
  if (typed.some((one) => !["0", "1", "2"].includes(one))) return true;
  const names = [...math.querySelectorAll("mi")].filter((one) => !CONSTANTS.has(one.textContent));
  const rows =
    math.querySelector("mtable, mtr") ??
    [...math.querySelectorAll("mo")].find((one) => /[,[]/.test(one.textContent));
  return !names.length || (typed.length > 2 && Boolean(rows));
}

function isIndex(number, math) {
  for (let one = number; one !== math; one = one.parentElement) {
    const place = [...one.parentElement.children].indexOf(one);
    if (/^m(sub|subsup|under|underover)$/.test(one.parentElement.localName) && place === 1)
      return true;
  }
  return false;
}
