/* What the text of a live page says of the published example, and no run updates. Where an output of a
   section or a box has changed, a line above its text says so; a sentence that holds an input that the
   reader has replaced, or a number that no output beside it shows any more, is marked. */
import { element, makeButton } from "./dom.js";
import { numberOf, VALUES } from "./values.js";

const BOXES = "details:not(.hint, .answer, .code, .origin, .checks), .result, .exercise";
const SKIPPED = // a guess is asked before anything moves
  ".guess-question, .guess form, .tools, .opening, .cards, .result-links, .live-place, .live-scratch, .takeaway, nav, summary, button, script, p > .number, [hidden]";
const TEXTS = "p, li, table, dt, dd, figcaption, legend, label, .formula";
const WIDE = "table, ul, ol, dl, form, .formula"; // a line of words stands before them, not in them
const WORD = /[a-z_]{3,}|[\u3400-\u9fff]{2,}/gi;
const ROW = /[[(]\s*-?[\d.]+(?:[,\s]+-?[\d.]+)+\s*[\])]/g; // [1, 0, 2]
const LISTED =
  /(?<![\w.,])-?\d+(?:\.\d+)?(?:(?:,? (?:and )?|、|， ?| ?[和与與] ?)-?\d+(?:\.\d+)?){2,}/g; // 1, 0 and 2
const NUMBER = /(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)/g;
const INDEX = ":is(msub, msup, msubsup, munder, munderover) > :not(:first-child)";
const NAMING = "em, strong, code"; // as good as quotation marks
const SMALL = 10; // a whole number below it counts many things
const STRING = /"""[\s\S]*?"""|"([^"\n]*)"|'([^'\n]*)'/g;
const LONGEST = 3; // words of a string that a text repeats: a longer one is a title or a message

export class StaleText {
  constructor(article, { words, cells, runs }) {
    Object.assign(this, { article, words, cells, runs });
    this.scopes = [];
    this.cellOf = new Map();
    this.owner = new Map(); // of the number of an inline value, its block
    this.figures = new Map(); // of each cell, the numbers of its published figure
    this.data = findData(cells);
    for (const cell of cells) {
      this.figures.set(cell, listNumbers(cell.output.drawing?.textContent ?? ""));
      cell.isTask = Boolean(cell.place?.closest('.exercise[data-kind="write"]'));
      for (const place of [cell.output.frame, cell.block]) if (place) this.cellOf.set(place, cell);
      for (const [number] of cell.values) this.owner.set(number, cell);
    }
    this.walk(article, this.makeScope());
  }

  makeScope() {
    const scope = { folds: [], cells: new Set(), numbers: [], texts: [] };
    this.scopes.push(scope);
    return scope;
  }

  walk(node, scope) {
    let here = scope;
    for (const child of node.children) {
      if (/^H[1-6]$/.test(child.tagName)) here = this.makeScope();
      else if (child.matches(SKIPPED)) continue;
      else if (this.cellOf.has(child)) this.register(child, here);
      else if (child.matches(BOXES)) {
        const box = this.makeScope();
        box.isExercise = child.matches(".exercise");
        if (child.matches("details")) here.folds.push(box);
        if (child.matches(".result")) this.registerExample(child, box);
        this.walk(child, box);
      } else {
        if (child.matches(TEXTS)) this.addText(child, here);
        if (!child.matches(".formula")) this.walk(child, here);
      }
    }
  }

  /* The block or the output of a cell, with its captions; what judges the reader says nothing. */
  register(place, scope) {
    const cell = this.cellOf.get(place);
    if (cell.isTask) return;
    scope.cells.add(cell);
    for (const caption of place.querySelectorAll("figcaption")) {
      if (!caption.closest(".drawing, .table-frame")) this.addText(caption, scope);
    }
  }

  /* The blocks that a result names, where it speaks of the page's example. */
  registerExample(result, scope) {
    if (!result.textContent.includes(this.words.example)) return;
    for (const { hash } of result.querySelectorAll('.result-links a[href^="#out-"]')) {
      const cell = this.cells.find(({ id }) => `#out-${id}` === hash);
      if (cell) scope.cells.add(cell);
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

  /* The cells whose outputs are not what was published, or may not be. Nothing is, where all that the
     browser has computed came out as published. */
  findTouched(dependents) {
    const cells = this.cells.filter((cell) => !cell.isTask);
    const differs = ({ output, failed }) =>
      output.isChanged || output.failing || failed || output.countChangedValues();
    if (!cells.some(differs) && !cells.some(({ unrun }) => unrun)) return new Set();
    const waits = (cell) => dependents.has(cell) && (cell.torch || cell.later || cell.unrun);
    return new Set(cells.filter((cell) => differs(cell) || waits(cell)));
  }

  isAffected(scope, touched, old) {
    const follows = (n) => old.has(n) || this.owner.get(n).output.isValueChanged(n);
    return [...scope.cells].some((cell) => touched.has(cell)) || scope.numbers.some(follows);
  }

  /* --- which of their text holds something published */

  /* The numbers and words that outputs no longer show, and those of the inputs that the reader has
     replaced. */
  findGone(touched, edited) {
    const shown = [...touched].filter(({ output }) => output.changed[0]);
    const outputs = shown.flatMap(({ output, text, base }) => {
      const labels = new Set(base.toLowerCase().match(WORD)); // of what is printed
      return findLost(text, output.now.text).filter((token) => !labels.has(token));
    });
    return new Set([...outputs, ...edited.flatMap((cell) => findLostLiterals(cell))]);
  }

  /* Of an exercise whose own block the reader has edited: its task repeats even small numbers. */
  findSmall(scope, edited) {
    const own = edited.filter((cell) => scope.isExercise && scope.cells.has(cell));
    return own.flatMap((cell) => findLostLiterals(cell, 2));
  }

  /* The strings that the reader has replaced, as patterns: what speaks of them is of the published
     example wherever it stands. The name of a choice has a meaning of its own. What no other block
     uses may be any word, and counts where a text quotes it; a heading or a message, which nothing
     uses, only where numbers have changed. */
  findWords(touched, edited) {
    const choices = edited.flatMap(({ knobs }) => knobs.flatMap(({ names = [] }) => names));
    const differ = [...touched].some((cell) => this.hasOtherNumbers(cell));
    return edited.flatMap((cell) => {
      const left = [...listStrings(cell.code), ...choices];
      const { shared, used } = this.data.get(cell);
      const lost = (code) => listStrings(code).filter((one) => !left.includes(one));
      const quoted = lost(differ ? cell.base : used);
      return [
        ...lost(shared).map((one) => makePattern(one)),
        ...quoted.map((one) => makePattern(one, true)),
      ];
    });
  }

  hasOtherNumbers(cell) {
    const { output, text, failed } = cell;
    if (failed || output.failing || output.countChangedValues()) return true;
    const { figure } = output.now;
    const shown = figure && new DOMParser().parseFromString(figure, "text/html").body.textContent;
    return (
      listNumbers(text) !== listNumbers(output.now.text) ||
      (output.changed[1] && listNumbers(shown ?? "") !== this.figures.get(cell))
    );
  }

  /* Whether a text holds one of them; what follows from a run by itself does not count. */
  holdsGone(text, gone, words, old) {
    const parts = [];
    let shows = false;
    const read = (node) => {
      for (const child of node.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) parts.push(child.data);
        else if (child.nodeType !== Node.ELEMENT_NODE) continue;
        else if (child.matches(VALUES)) shows ||= old.has(numberOf(child));
        else if (child.localName === "mn") parts.push(separate(child, parts.at(-1)));
        else if (child.matches(NAMING)) quote(child);
        else if (!child.matches(`${TEXTS}, ${SKIPPED}, .output, .block, [class^=live-]`))
          read(child);
      }
    };
    const quote = (child) => {
      parts.push("“");
      read(child);
      parts.push("”");
    };
    read(text);
    const whole = parts.join("");
    const isGone = (token) => gone.has(token);
    const says = [...findTokens(whole, 2)].some(isGone) || words.some((one) => one.test(whole));
    return shows || says || mixes(text);
  }

  /* --- the marks */

  /* Mark what is stale and nothing else; how many passages that are, and how many outputs. */
  update() {
    const [dependents, old] = this.findDependents();
    const touched = this.findTouched(dependents);
    if (!touched.size) old.clear();
    const edits = this.cells.filter((one) => one.edited && !one.isTask && one.id !== "scratch");
    const edited = touched.size ? edits : [];
    const [gone, words] = [this.findGone(touched, edited), this.findWords(touched, edited)];
    const stale = new Set();
    const notes = new Set();
    for (const scope of this.scopes) {
      const isAffected = this.isAffected(scope, touched, old);
      const isSaid = isAffected || scope.folds.some((one) => this.isAffected(one, touched, old));
      if (!isSaid && !words.length) continue;
      const lost = new Set(isAffected ? [...gone, ...this.findSmall(scope, edited)] : []);
      const found = scope.texts.filter((text) => this.holdsGone(text, lost, words, old));
      for (const text of found) stale.add(text);
      const first = isSaid ? scope.texts[0] : found[0];
      if (first) notes.add(outermost(first));
    }
    this.show(stale, notes);
    this.markOutputs(touched, old);
    const outputs = [...touched].filter((cell) => cell.output.frame && (cell.torch || cell.later));
    return [stale.size, outputs.length];
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
  markOutputs(touched, old) {
    for (const cell of this.cells) {
      let says = "";
      if (touched.has(cell) && cell.torch) says = this.words.old;
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

/* Whether a displayed formula holds a value that has changed beside numbers that stay. */
function mixes(text) {
  if (!text.matches(".formula") || !text.querySelector(".live-value")) return false;
  return [...text.querySelectorAll("mn")].some((one) => !one.closest(`${VALUES}, ${INDEX}`));
}

/* A number of a formula, apart from a name before it, as in ln 6; an index is none. */
function separate(number, before = "") {
  if (number.closest(INDEX)) return "";
  return /\p{L}$/u.test(before) ? ` ${number.textContent}` : number.textContent;
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

/* Numbers, rows of numbers and words, each in one form. */
function findTokens(text, least = SMALL) {
  const typed = text.replaceAll("−", "-");
  const plain = (number) => String(Number(number));
  const rows = [...(typed.match(ROW) ?? []), ...(typed.match(LISTED) ?? [])].map((row) =>
    row
      .match(/-?\d+(?:\.\d*)?/g)
      .map(plain)
      .join(" "),
  );
  const numbers = typed.match(NUMBER)?.map(plain) ?? [];
  const named = numbers.filter((one) => one.includes(".") || Math.abs(one) >= least);
  return new Set([...rows, ...named, ...(typed.toLowerCase().match(WORD) ?? [])]);
}

/* What a text held that another does not. */
function findLost(then, now, least = SMALL) {
  const left = findTokens(now, least);
  return [...findTokens(then, least)].filter((token) => !left.has(token));
}

/* The short strings of code, without its documentation. */
function listStrings(code) {
  const strings = [...code.matchAll(STRING)].map(([, one, other]) => (one ?? other ?? "").trim());
  return strings.filter((one) => /\p{L}/u.test(one) && one.split(" ").length <= LONGEST);
}

/* Of each block, the code of the statements that those of other blocks use, which is the page's
   example, and the code of those that any uses. */
function findData(cells) {
  const owners = cells.flatMap((cell) => cell.statements.map(() => cell));
  const uses = cells.flatMap((cell) => cell.statements.map(([, , used]) => used));
  const any = new Set(uses.flat());
  const others = new Set(
    uses.flatMap((used, n) => used.filter((one) => owners[one] !== owners[n])),
  );
  const found = new Map();
  let at = 0;
  for (const cell of cells) {
    const lines = cell.base.split("\n");
    const begin = at;
    at += cell.statements.length;
    const select = (used) =>
      cell.statements
        .filter((_, n) => used.has(begin + n))
        .map(([first, last]) => lines.slice(first - 1, last).join("\n"))
        .join("\n");
    found.set(cell, { shared: select(others), used: select(any) });
  }
  return found;
}

const listNumbers = (text) => (text.replaceAll("−", "-").match(NUMBER) ?? []).join(" ");

/* Finds a string as words of a text; a single character of Chinese, and what may be any word, only
   in quotation marks. */
function makePattern(string, quoted = false) {
  const escaped = string.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const isHan = /\p{Script=Han}/u.test(string);
  const whole = isHan ? escaped : `(?<![\\p{L}\\d])${escaped}(?![\\p{L}\\d])`;
  if (quoted || /^\p{Script=Han}$/u.test(string)) return new RegExp(`[“「][^”」]*${whole}`, "iu");
  return new RegExp(whole, "iu");
}

/* The numbers that code does not hold any more, and those that a name had and has not: `f = 64`, where
   another 64 may stand beside it. */
function findLostLiterals({ base, code }, least) {
  const [then, now] = [base, code].map((one) =>
    withoutComments(one).replace(STRING, "").split("\n"),
  );
  const literals = (lines) =>
    (lines.join("\n").match(/\[[\d\s,.-]*\]|\b\d+(?:\.\d+)?\b/g) ?? []).join("\n");
  const named = (lines, others) => {
    const same = new Set(others);
    return lines.filter((line) => /^\s*[\w, ]+ = /.test(line) && !same.has(line));
  };
  const lost = (one, other) => findLost(literals(one), literals(other), least);
  return [...lost(then, now), ...lost(named(then, now), named(now, then))];
}
