/* A live page: editors and knobs for its blocks, and whatever follows from them put in its place.
   Loaded by ../site.js when a reader asks for it. What a run means is defined in site/run/live.py. */
import { Bar } from "./bar.js";
import { cleanHtml } from "./clean.js";
import { Guest } from "./guest.js";
import { edits, link, listEntries, selectFitting } from "./link.js";
import { showCode } from "./listing.js";
import { literal, textOf, withNumber, withText } from "./literals.js";
import { keepForLater } from "./offline.js";
import { StaleText } from "./stale.js";

const words = JSON.parse(document.getElementById("__words").textContent).live;
const at = (path) => new URL(path, location.href).href;
const element = (tag, attributes = {}, ...inner) => {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) created.addEventListener(name.slice(2), value);
    else if (value !== false) created.setAttribute(name, value === true ? "" : value);
  }
  created.append(...inner);
  return created;
};
const fillTemplate = (text, parts = {}) =>
  text.replace(/\{(\w*)\}/g, (_, name) => (name ? parts[name] : parts));

let cells = [];
let byId = new Map();
let source = ""; // the page's blocks as the site holds them
let lang = ""; // of their code
let opened; // once they are here
let staleText; // what speaks of published numbers only
let used = null; // the block whose field or editor the reader has used last

const bar = new Bar(words, {
  run: () => run(),
  stop: () => stop(),
  reset: () => reset(),
  share: () => share(),
  compare: (shown) => compare(shown),
});

/* --- what the page is created of */

async function open() {
  document.head.append(
    element("link", { rel: "stylesheet", href: new URL("live.css", import.meta.url).href }),
  );
  const answer = await fetch(at(words.page));
  if (!answer.ok) throw new Error(`${answer.status} ${words.page}`);
  source = await answer.text();
  const published = JSON.parse(source);
  lang = published.lang;
  cells = published.cells.map((cell, index) => new Cell(cell, index));
  byId = new Map(cells.map((cell) => [cell.id, cell]));
  findPlaces();
  staleText = new StaleText(document.querySelector("article"), words, cells, lang, askFor);
}

class Cell {
  constructor(published, index) {
    Object.assign(this, published);
    this.index = index;
    this.base = published.code; // what the site holds; `code` is the reader's
    this.block = document.querySelector(`.block[data-block="${CSS.escape(this.id)}"]`);
    this.frame = document.getElementById(`out-${this.id}`);
    this.shownCode = this.block?.querySelector(".highlight pre > code");
    this.shownHtml = this.shownCode?.innerHTML;
    this.changed = [false, false];
    this.now = { text: published.text, figure: null };
    this.later = false; // whether it waits until the reader asks for it
    this.askedFor = null; // the code of all blocks up to it, when they did
    this.seen = new Map(); // of its inline values, by their numbers on the page
    this.look();
  }

  /* What stands on the page now is what was published. */
  look() {
    const texts = [...(this.frame?.querySelectorAll("pre > code") ?? [])];
    this.pre = texts.find((text) => !text.closest(".block")); // the code may stand folded in it
    this.drawing = this.frame?.querySelector(".drawing, .table-frame");
    this.checkMark = this.frame?.querySelector("details.checks");
    this.was = { text: this.pre?.innerHTML ?? "", checks: this.checkMark?.innerHTML ?? "" };
  }

  get edited() {
    return this.code !== this.base;
  }

  /* Above what a reader sees of the block: code, the fold that holds it, or its output alone. */
  get place() {
    const fold = this.block?.parentElement.closest("details.code");
    return fold ?? this.block ?? this.frame;
  }

  /* Whether a reader sees its output, or may soon; with a hand on a knob, only what is in sight. */
  near(hurry) {
    const far = hurry ? 0 : innerHeight;
    return [this.frame, this.copy].some((one) => {
      const place = one?.getBoundingClientRect();
      return Boolean(place?.height && place.bottom > -far && place.top < innerHeight + far);
    });
  }

  /* --- output */

  get changedValues() {
    const shown = this.values.filter(([number]) => places.has(number));
    return shown.filter(([number]) => this.isValueChanged(number)).length;
  }

  isValueChanged(number) {
    const [, , , published] = this.values.find((value) => value[0] === number);
    return (this.seen.get(number) ?? published) !== published;
  }

  take(result) {
    if (result.later) {
      this.changed = [false, false];
      this.failing = null;
      this.seen.clear();
      return;
    }
    if ("text" in result) this.now.text = result.text;
    if ("figure" in result) this.now.figure = result.figure;
    this.changed = result.changed;
    this.failing = (result.checks ?? []).some(([, holds]) => !holds) ? result.checks : null;
    for (const [number, text] of Object.entries(result.values)) this.seen.set(Number(number), text);
  }

  paint(whole = true) {
    const [text, figure] = this.changed;
    if ((text || figure) && !this.frame) this.makeFrame();
    if (this.frame) {
      if (text && !this.pre) this.makeText();
      if (figure && !this.drawing) this.makeDrawing();
      const peeks = this.peeks;
      if (this.pre) {
        const html = text && !peeks ? marked(this.now.text, this.text) : this.was.text;
        if (this.pre.innerHTML !== html) this.pre.innerHTML = html;
        this.pre.closest(".highlight").hidden = !this.pre.textContent;
      }
      if (this.drawing && whole) this.paintFigure(figure && !peeks);
      this.updateCopy();
      this.paintChecks(!peeks);
      this.frame.classList.toggle("live-changed", text || figure);
      this.offerPublished(text || figure);
    }
    for (const [number, , , published] of this.values) {
      showValue(number, this.seen.get(number) ?? published, published);
    }
  }

  paintFigure(changed) {
    const shown = changed ? this.now.figure : null;
    if (this.painted === shown) return;
    const controls = [...this.drawing.querySelectorAll("input")];
    const moved = this.drawing.querySelector(".stepper")?.classList.contains("moved");
    this.was.figure ??= this.drawing.cloneNode(true);
    const wanted = this.was.figure.cloneNode(shown === null);
    if (shown !== null) {
      wanted.replaceChildren(cleanHtml(shown));
      markCells(wanted, this.was.figure);
    }
    become(this.drawing, wanted);
    this.drawing.dispatchEvent(new Event("contentvisibilityautostatechange", { bubbles: true })); // ../site.js
    this.drawing.parentElement.hidden = !this.drawing.childNodes.length;
    this.painted = shown;
    // A stepper stays where the reader has put it.
    const fresh = [...this.drawing.querySelectorAll("input")];
    if (!fresh.length) return;
    const same = fresh.length === controls.length;
    if (same) {
      fresh.forEach((one, n) => {
        if (one.type === "range") one.value = controls[n].value;
        else one.checked = controls[n].checked;
      });
    }
    fresh[0].dispatchEvent(new Event("input", { bubbles: true })); // ../stepper.js
    this.drawing.querySelector(".stepper")?.classList.toggle("moved", Boolean(moved));
  }

  /* What the block has checked may not hold with the reader's edits. */
  paintChecks(live) {
    if (!this.checkMark) return;
    const failing = live ? this.failing : null;
    this.checkMark.classList.toggle("live-failing", Boolean(failing));
    this.checkMark.innerHTML = this.was.checks;
    if (!failing) return;
    this.checkMark.querySelector("summary").textContent = words.unchecked;
    const items = failing.map(([statement, holds]) =>
      element("li", {}, `${holds ? "✓" : "✗"} ${statement}`),
    );
    this.checkMark.querySelector("ul").replaceChildren(...items);
  }

  /* Of a stepper, the frame that a reader sees, while a hand is on a knob; the others follow. */
  paintFrame(html) {
    const [now, wanted] = [this.shownFrame, element("div")];
    wanted.append(cleanHtml(html));
    if (!now || !wanted.firstChild) return;
    this.was.figure ??= this.drawing.cloneNode(true);
    wanted.firstChild.className = now.className;
    become(now, wanted.firstChild);
    this.painted = undefined;
  }

  get shownFrame() {
    return this.drawing?.querySelector(".stepper .frame.shown");
  }

  makeFrame() {
    this.frame = element("div", { class: "output", id: `out-${this.id}` });
    this.place.after(this.frame);
  }

  makeText() {
    this.pre = element("code");
    this.frame.prepend(element("div", { class: "highlight" }, element("pre", {}, this.pre)));
    this.was.text = "";
  }

  makeDrawing() {
    this.drawing = element("div", { class: "drawing" });
    this.frame.append(element("figure", {}, this.drawing));
    this.painted = null;
  }

  /* What was published is one press away. */
  offerPublished(changed) {
    if (!changed) {
      this.peeks = false;
      this.switch?.remove();
      this.switch = null;
    } else if (!this.switch) {
      const press = () => this.peek(!this.peeks);
      this.switch = element("button", { type: "button", class: "live-was", onclick: press });
      this.frame.prepend(this.switch);
    }
    if (this.switch) {
      this.switch.textContent = this.peeks ? words.now : words.was;
      this.switch.setAttribute("aria-pressed", String(Boolean(this.peeks)));
    }
  }

  peek(shown) {
    this.peeks = shown && (this.changed[0] || this.changed[1]);
    this.paint();
  }

  note() {
    const place = this.frame ?? this.place;
    place?.append(element("p", { class: "live-note" }, words.torch));
  }

  /* --- errors: Python's message and the reader's line */

  fails(error) {
    for (const box of this.failed ?? []) box.remove();
    this.failed = null;
    this.editor?.line(error?.line ?? 0);
    if (!error) return;
    const here = used && used !== this && used.control ? [used.control] : [];
    const own = this.control ?? this.place;
    this.failed = [...here, own].filter(Boolean).map((before, n) => {
      const box = this.describe(error, before);
      if (!n) box.setAttribute("role", "alert");
      if (before === own && !this.control && this.block?.parentElement.closest("details.code"))
        before.before(box);
      else before.after(box);
      return box;
    });
  }

  /* What a reader has in hand: the editor, or the fields. */
  get control() {
    return this.box ?? (this.knobBox?.isConnected ? this.knobBox : null);
  }

  /* An error, with a way to the line where it is; `before` is what the reader sees above it. */
  describe(error, before) {
    const elsewhere = before !== (this.control ?? this.place);
    const text = error.line ? fillTemplate(words.line, { line: error.line }) : "";
    const go = async () => {
      for (let one = this.place; one; one = one.parentElement.closest("details")) one.open = true;
      await this.edit();
      this.editor.line(error.line);
      this.editor.go(error.line);
    };
    const way = element("button", { type: "button", class: "live-way", onclick: go }, text);
    const where = elsewhere ? fillTemplate(words.elsewhere, this.id) : words.error;
    const shown = [error.code, explain(error.message)].filter(Boolean).join("\n");
    return element(
      "div",
      { class: "live-error" },
      element("p", {}, where, " ", ...(text && this.place ? [way] : [text])),
      element("pre", {}, element("code", {}, shown)),
    );
  }

  /* --- the editor */

  async edit() {
    if (this.editor) return this.editor.focus();
    const { makeEditor } = await import("./editor.js");
    if (this.editor) return undefined;
    this.editor = makeEditor(this.code, fillTemplate(words.editor, this.id), {
      change: (code) => {
        used = this;
        this.code = code;
        this.knobsFollow();
        noteEdits();
      },
      run,
      leave: () => this.box.querySelector("button").focus(),
    });
    const button = (name, press) =>
      element("button", { type: "button", class: "md-button", onclick: press }, words[name]);
    const note = element(
      "p",
      { class: "live-note live-foreign", hidden: !this.foreign },
      words.foreign,
    );
    this.box = element(
      "div",
      { class: "live-editor" },
      note,
      this.editor.element,
      element(
        "p",
        { class: "live-buttons" },
        button("run", run),
        button("undo", () => {
          this.set(this.base);
          ask();
        }),
        ...(this.block ? [button("close", () => this.close())] : []),
      ),
    );
    if (this.block) {
      this.block.querySelector(".highlight").hidden = true;
      this.block.append(this.box);
    } else this.place.append(this.box);
    this.editor.focus();
    return undefined;
  }

  /* Put the code away; an edit stays, and the code of the page says so. */
  close() {
    this.box.remove();
    this.box = this.editor = null;
    this.block.querySelector(".highlight").hidden = false;
    this.list();
    (this.block.querySelector(".live-edit") ?? this.block).focus();
  }

  set(code) {
    this.code = code;
    this.editor?.set(code);
    this.knobsFollow();
    this.list();
    noteEdits();
  }

  /* The page's listing shows the code as it is now. */
  list() {
    if (!this.shownCode || this.editor) return;
    showCode(this.shownCode, this.shownHtml, this.base, this.code);
    this.block.classList.toggle("live-edited", this.edited);
  }

  /* --- knobs */

  turnable() {
    if (this.knobBox || !this.knobs.length) return;
    this.knobBox = element(
      "div",
      { class: "live-knobs", role: "group", "aria-label": words.knobs },
      ...this.knobs.map((knob) => this.knob(knob)),
    );
    const place = document.getElementById(`knobs-${this.id}`);
    place.append(this.knobBox);
    for (const knob of this.knobs) {
      if (knob.answer) place.append(byId.get(knob.answer).makeCopy());
    }
    this.knobsFollow();
  }

  /* Words that a text takes, each a press away; a full stop and what comes after it, too. */
  chips(knob, field) {
    const put = (word) => {
      field.value = `${field.value.trimEnd()} ${word}`.trimStart();
      field.dispatchEvent(new Event("input"));
    };
    const chip = (text, name, press) =>
      element(
        "button",
        { type: "button", class: "live-chip", "aria-label": name, onclick: press },
        text,
      );
    return element(
      "div",
      { class: "live-chips", role: "group", "aria-label": words.chips },
      ...knob.names.map((word) => chip(word, fillTemplate(words.chip, word), () => put(word))),
      chip("⌫", words.unchip, () => {
        field.value = field.value.trim().replace(/\s*\S+$/, "");
        field.dispatchEvent(new Event("input"));
      }),
    );
  }

  /* What this block shows, once more beside the knob that asks for it. */
  makeCopy() {
    this.copy = element("div", { class: "live-answer" });
    this.updateCopy();
    return element(
      "figure",
      { class: "live-copy" },
      element("figcaption", {}, element("a", { href: `#out-${this.id}` }, words.answer)),
      this.copy,
    );
  }

  updateCopy() {
    const drawing = this.drawing?.cloneNode(true);
    for (const one of drawing?.querySelectorAll("[id]") ?? []) one.removeAttribute("id");
    const said = this.unrun ? [element("p", { class: "live-old-note" }, words.unrun)] : [];
    if (drawing) this.copy?.replaceChildren(...said, drawing);
    this.copy?.classList.toggle("live-old", Boolean(this.unrun));
  }

  knob(knob) {
    const limit = element("span", { class: "live-limit", role: "status" });
    const box = element(
      "div",
      { class: `live-knob ${knob.kind}` },
      element("code", {}, knob.name),
      limit,
    );
    const turned = (code) => {
      if (code === null || code === this.code) return;
      used = this;
      this.set(code);
      ask(undefined, true);
    };
    const truth = (n, name, value) =>
      element("input", {
        type: "checkbox",
        checked: value === "True",
        "aria-label": name,
        "data-n": n,
        onchange: ({ target }) =>
          turned(withNumber(this.code, knob.name, n, target.checked ? "True" : "False")),
      });
    const whole = isWhole(knob, this.base);
    const number = (n, name, value, size) =>
      /[TF]/.test(value)
        ? truth(n, name, value)
        : element("input", {
            type: "number",
            required: true,
            min: knob.low ?? false,
            max: knob.high ?? false,
            step: whole ? "1" : "any",
            value,
            "aria-label": name,
            "data-n": n,
            style: `width: ${size}ch`,
            oninput: ({ target }) => {
              this.showLimit(knob, box);
              if (target.validity.valid) turned(withNumber(this.code, knob.name, n, target.value));
            },
          });
    const found = literal(this.code, knob.name);
    if (!found) return box;
    if (knob.kind === "text") {
      const field = element("input", {
        type: "text",
        spellcheck: "false",
        autocapitalize: "off",
        "aria-label": knob.name,
        required: true,
        oninput: ({ target }) => {
          this.showLimit(knob, box);
          if (target.value) turned(withText(this.code, knob.name, target.value));
        },
      });
      box.append(field);
      if (knob.names.length) {
        field.classList.add("wide");
        box.append(this.chips(knob, field));
      }
    } else if (knob.kind === "choice") {
      box.append(
        element(
          "select",
          {
            "aria-label": knob.name,
            onchange: ({ target }) => turned(withText(this.code, knob.name, target.value)),
          },
          ...knob.names.map((name) => element("option", {}, name)),
        ),
      );
    } else if (knob.low !== null && found.numbers.length === 1) {
      const slider = element("input", {
        type: "range",
        min: "0",
        max: "1000",
        step: "1",
        "aria-label": knob.name,
        oninput: ({ target }) => {
          const value = valueAt(knob, Number(target.value) / 1000, whole);
          turned(withNumber(this.code, knob.name, 0, value));
        },
      });
      box.append(slider, number(0, knob.name, "", 8));
    } else {
      const rows = element("div", { class: "live-rows" });
      const size = Math.max(5, ...found.numbers.map((one) => one.text.length + 3));
      for (const { text, row, column } of found.numbers) {
        const n = found.numbers.findIndex((one) => one.row === row && one.column === column);
        if (column === 0) rows.append(element("div"));
        const place = found.rows ? `[${row + 1}, ${column + 1}]` : `[${column + 1}]`;
        const field = number(n, knob.name + (found.numbers.length > 1 ? place : ""), text, size);
        const bare = field.type !== "checkbox" || found.numbers.length === 1;
        const index = found.rows ? `${row + 1}, ${column + 1}` : String(column + 1);
        rows.lastChild.append(bare ? field : element("label", {}, index, field));
      }
      box.append(rows);
    }
    return box;
  }

  /* What a field takes, where it holds something else. */
  showLimit(knob, box) {
    const wrong = box.querySelector("input:invalid");
    for (const field of box.querySelectorAll("input[type=number], input[type=text]")) {
      field.setAttribute("aria-invalid", String(field.matches(":invalid")));
    }
    const { low, high } = knob;
    const name =
      knob.kind === "text"
        ? "anyText"
        : low === null
          ? "anyNumber"
          : isWhole(knob, this.base)
            ? "wholeNumber"
            : "number";
    box.querySelector(".live-limit").textContent = wrong
      ? fillTemplate(words[name], { low, high })
      : "";
  }

  /* The controls show what the code says. */
  knobsFollow() {
    if (!this.knobBox) return;
    this.knobs.forEach((knob, k) => {
      const found = literal(this.code, knob.name);
      const box = this.knobBox.children[k];
      for (const control of box.querySelectorAll("input, select")) {
        control.disabled = !found;
        if (!found || control === document.activeElement) continue;
        if (control.type === "range")
          control.value = Math.round(1000 * shareOf(knob, Number(found.numbers[0].text)));
        else if (control.type === "checkbox")
          control.checked = found.numbers[control.dataset.n]?.text === "True";
        else if (control.type === "number")
          control.value = found.numbers[control.dataset.n]?.text ?? "";
        else control.value = textOf(found.text);
      }
      this.showLimit(knob, box);
      // Whoever moves the slider sees the number, and the other way round.
      const range = box.querySelector("input[type=range]");
      if (found && range) range.setAttribute("aria-valuetext", found.numbers[0].text);
    });
  }
}

/* Python's message, or a sentence where it would not help. */
function explain(message) {
  if (message.includes("MemoryError")) return words.memory;
  const [, library] =
    /ModuleNotFoundError: No module named '(torch|matplotlib)\b/.exec(message) ?? [];
  return { torch: words.noTorch, matplotlib: words.noMatplotlib }[library] ?? message;
}

/* Whether a knob takes whole numbers only. */
function isWhole({ name, kind, low, high }, code) {
  const found = literal(code, name);
  return (
    kind === "number" && low !== null && high - low > 2 && /^[-+]?\d+$/.test(found?.numbers[0].text)
  );
}

/* Where a slider stands for a value between low and high, and the other way round. */
function shareOf({ low, high, log }, value) {
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}
function valueAt({ low, high, log }, share, whole) {
  const value = log ? low * (high / low) ** share : low + (high - low) * share;
  return whole ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/* A drawing becomes another one by what differs: a stepper has thousands of elements. */
function become(node, wanted) {
  if (node.isEqualNode(wanted)) return;
  if (node.nodeType === Node.TEXT_NODE) {
    node.data = wanted.data;
    return;
  }
  for (const { name, value } of wanted.attributes ?? []) {
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
  for (const { name } of [...(node.attributes ?? [])]) {
    if (!wanted.hasAttribute(name)) node.removeAttribute(name);
  }
  const [now, then] = [[...node.childNodes], [...wanted.childNodes]];
  if (now.length !== then.length || now.some((one, n) => one.nodeName !== then[n].nodeName)) {
    node.replaceChildren(...then);
  } else now.forEach((one, n) => become(one, then[n]));
}

/* --- what has changed is marked */

const escaped = (text) =>
  text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);

function marked(text, published) {
  const cut = (whole) => whole.split(/([\s,[\]()]+)/);
  const [now, was] = [cut(text), cut(published)];
  const alike = now.length === was.length;
  return (
    now
      .map((piece, n) => {
        const same = piece === was[n] || !piece.trim() || n % 2;
        return alike && !same ? `<mark>${escaped(piece)}</mark>` : escaped(piece);
      })
      .join("") + (text ? "\n" : "")
  );
}

/* The cells of a table that are not as published. */
function markCells(shown, published) {
  const [now, was] = [shown, published].map((inside) => [...inside.querySelectorAll("td")]);
  if (now.length !== was.length) return;
  now.forEach((cell, n) => {
    if (cell.textContent === was[n].textContent) return;
    cell.replaceChildren(element("mark", {}, ...cell.childNodes));
  });
}

const places = new Map(); // of each inline value

function findPlaces() {
  for (const place of document.querySelectorAll("[id^=value-], [data-value]")) {
    const number = Number(place.dataset.value ?? place.id.slice("value-".length));
    places.set(number, [...(places.get(number) ?? []), place]);
  }
}

function showValue(number, text, published) {
  for (const place of places.get(number) ?? []) {
    const changed = text !== published;
    if (!changed && !place.classList.contains("live-value")) continue;
    place.classList.toggle("live-value", changed);
    Object.assign(place.dataset, { now: text, was: published });
    put(place, text);
    if (changed) {
      const name = `${typeset(text)} (${fillTemplate(words.changed, typeset(published))})`;
      const attributes = {
        tabindex: "0",
        role: "button",
        "aria-pressed": "false",
        "aria-label": name,
        title: name,
      };
      for (const [key, value] of Object.entries(attributes)) place.setAttribute(key, value);
    } else
      for (const key of ["tabindex", "role", "aria-pressed", "aria-label", "title"])
        place.removeAttribute(key);
  }
}

/* What Python prints, as a sentence has it; see attention_docs/running/signs.py. */
function typeset(text) {
  return text
    .replace(/(?<!\w)(-?)inf(?!\w)/g, (_, sign) => `${sign && "−"}∞`)
    .replace(/(?<![\w)\]])-(?=[\d.])(?!\d+e\d)/g, "−");
}

/* In a formula the sign of a number is an element of its own. */
function put(place, text) {
  if (place.localName !== "mn") {
    place.textContent = typeset(text);
    return;
  }
  const sign = place.previousElementSibling;
  const own = place.dataset.was.startsWith("-") && sign?.localName === "mo";
  if (own) sign.textContent = text.startsWith("-") ? "−" : "";
  place.textContent = own ? text.replace("-", "") : text.replace("-", "−");
}

function peekValue(place, shown = place.getAttribute("aria-pressed") !== "true") {
  place.setAttribute("aria-pressed", String(shown));
  put(place, shown ? place.dataset.was : place.dataset.now);
}

document.addEventListener("click", (event) => {
  const place = event.target.closest?.(".live-value");
  if (place) peekValue(place);
});
document.addEventListener("keydown", (event) => {
  const place = event.target.closest?.(".live-value");
  if (place && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    peekValue(place);
  }
});

/* Everything as it was published, or as it is now. */
function compare(shown) {
  cells.forEach((cell) => cell.peek(shown));
  document.querySelectorAll(".live-value").forEach((place) => peekValue(place, shown));
  document.documentElement.classList.toggle("live-peeks", shown); // nothing is stale beside it
}

/* --- Python */

let guest = null;
let ready = false;
let turn = 0;
let busy = false;
let stopped = false; // by an error, in this run
let again = false; // something changed while a run was on its way
let waiting = null; // what to run as soon as Python is there

/* ../site.js asks for Python early where this is set. */
function rememberLive() {
  try {
    localStorage.setItem("attention-live", "1");
  } catch {
    /* a browser that stores nothing */
  }
}

function load() {
  if (guest) {
    if (!ready) sayLoading();
    return;
  }
  startGuest();
  sayLoading();
}

function startGuest() {
  guest = new Guest(at(words.folder), { message: receive, loading, broken: handleBroken });
  guest.post({ type: "start", page: source, turn });
}

function sayLoading() {
  bar.showStatus(words.loadingPython);
  bar.setRunning(true);
}

/* Start Python before a reader asks for it: where they have been live before, its files are stored. */
export async function prepare() {
  if (findTrouble()) return;
  await setUp();
  if (!guest) startGuest();
}

function loading(done, all) {
  const size = (bytes) => (bytes / 1e6).toFixed(1);
  bar.showProgress(
    Math.min(done / all, 1),
    fillTemplate(words.loading, { done: size(done), all: size(all) }),
  );
  if (done < all) return;
  bar.showStatus(words.starting);
  bar.showProgress(NaN);
}

function receive(message) {
  if (message.turn === turn) clearTimeout(deadline);
  if (message.type === "ready") {
    ready = true;
    bar.showProgress(null);
    bar.setRunning(false);
    bar.showStatus(words.ready);
    if (awaitsConsent()) warn();
    rememberLive();
    keepForLater(at(`${words.folder}../`), at(words.page).replace(/[^/]+$/, ""));
    if (waiting !== null) ask(...waiting);
  } else if (message.type === "running") {
    const all = cells.length - Number(!cells.at(-1).code); // the scratch cell is one once it holds something
    bar.showProgress(
      null,
      fillTemplate(words.block, { n: Math.min(message.number + 1, all), all }),
    );
  } else if (message.type === "results") {
    for (const { number, result } of message.results)
      showResult(cells[number], result, message.turn === turn);
    if (!busy && message.turn === turn) count(); // a figure out of sight
  } else if (message.type === "done" && message.turn === turn) {
    busy = false;
    for (const cell of cells) cell.later = message.later.includes(cell.index);
    if (again)
      ask(undefined, true); // the hand is still on the knob
    else done();
  } else if (message.type === "broken") handleBroken(message.message);
}

function showResult(cell, result, current) {
  if (result.torch) return;
  if (result.error) {
    if (!current) return;
    stopped = true;
    for (const other of cells) other.fails(null); // of earlier runs
    cell.fails(result.error);
    for (const other of cells) other.unrun ||= other.index >= cell.index;
    return;
  }
  cell.take(result);
  if (!current) return;
  cell.unrun = false;
  cell.fails(null);
  if (result.frame && !cell.peeks) cell.paintFrame(result.frame);
  cell.paint(!("frame" in result));
}

function done() {
  bar.setRunning(false);
  bar.showProgress(null, "");
  count();
}

/* What a run has changed. */
function count() {
  const values = cells.reduce((sum, cell) => sum + cell.changedValues, 0);
  const outputs = cells.filter((cell) => cell.changed[0] || cell.changed[1]).length;
  if (!stopped) {
    for (const cell of cells) {
      cell.fails(null); // what is as it was before the error does not run again
      cell.unrun = false;
    }
  }
  const stale = staleText.update();
  for (const cell of cells) cell.updateCopy();
  const plain = outputs + values + stale === 0 && !cells.some((cell) => cell.edited);
  const done = fillTemplate(words.done, { outputs, values });
  const says = [stopped ? words.failed : plain ? words.ready : done];
  if (stale) says.push(fillTemplate(words.passages, stale));
  bar.showStatus(says.join(" "));
  bar.setDifferent(outputs + values + stale > 0);
}

function handleBroken(message) {
  const text = String(message);
  const memory = /memory|allocation|RangeError/i.test(text);
  end();
  bar.offerRun();
  bar.showStatus(
    memory
      ? words.memory
      : fillTemplate(words.broken, text.split("\n").at(-1).slice(0, 200) || "?"),
  );
}

function end() {
  clearTimeout(deadline);
  guest?.end();
  guest = null;
  ready = busy = again = false;
  waiting = null;
  turn += 1;
  bar.setRunning(false);
  bar.showProgress(null, "");
}

function stop() {
  end();
  bar.showStatus(words.stopped);
}

/* Whether code that came with a link waits for the reader to read it and press Run. */
const awaitsConsent = () => cells.some((cell) => cell.foreign && cell.edited);

function run() {
  for (const cell of cells) cell.foreign = false;
  noteEdits();
  ask();
}

/* Python answers a new run between two blocks. Where one runs on and on, Python is ended. */
let deadline;
function endUnlessAnswered(next = () => {}) {
  clearTimeout(deadline);
  deadline = setTimeout(() => {
    end();
    next();
  }, 3000);
}

/* Run the page with what the reader has written. `patient` does not break off what runs. */
function ask(until = cells.length, patient = false) {
  if (awaitsConsent()) {
    waiting = null;
    warn();
    return;
  }
  if (!ready) {
    waiting = [until, patient];
    load();
    return;
  }
  again = busy && patient;
  if (again) return;
  if (busy) endUnlessAnswered(() => ask(until));
  waiting = null;
  busy = true;
  stopped = false;
  turn += 1;
  bar.showStatus(words.running);
  bar.setRunning(true);
  const near = inSight(patient);
  const frames = {}; // of steppers in sight, the one that shows
  for (const n of patient ? near : []) frames[n] = cells[n].shownFrame?.dataset.at ?? "";
  guest.post({
    type: "run",
    codes: cells.map((cell) => cell.code),
    asked: cells.filter((cell) => cell.askedFor === codesUntil(cell)).map((cell) => cell.id),
    turn,
    until,
    near,
    hurry: patient,
    frames,
  });
}

/* What a slow block waits with until a reader asks for it; another edit above it, and it waits again. */
const codesUntil = (cell) => JSON.stringify(cells.slice(0, cell.index + 1).map((one) => one.code));

function askFor(cell) {
  cell.askedFor = codesUntil(cell);
  ask();
}

/* The blocks that a reader sees. To ask lets the browser lay out the page: not at each turn of a knob. */
let sight = { from: 0, hurry: null, blocks: [] };
function inSight(hurry) {
  const now = performance.now();
  if (hurry !== sight.hurry || now - sight.from > 500) {
    sight = {
      from: now,
      hurry,
      blocks: cells.filter((cell) => cell.near(hurry)).map((cell) => cell.index),
    };
  }
  return sight.blocks;
}

function reset() {
  turn += 1; // what is still on its way no longer counts
  if (busy) {
    guest.post({ type: "run", codes: cells.map((cell) => cell.base), turn, until: 0 });
    endUnlessAnswered();
  }
  for (const cell of cells) {
    cell.set(cell.base);
    cell.changed = [false, false];
    cell.failing = cell.askedFor = null;
    cell.peeks = cell.foreign = cell.unrun = false;
    cell.seen.clear();
    cell.fails(null);
    cell.paint();
  }
  staleText?.update();
  stopped = false;
  if (!busy) bar.setRunning(false);
  bar.setDifferent(false);
  bar.showStatus(words.published);
  if (isLink(location.hash)) history.replaceState(null, "", location.pathname + location.search);
}

/* --- links */

async function share() {
  try {
    history.replaceState(null, "", await link(cells, lang));
  } catch {
    bar.showAnswer(words.tooLong);
    return;
  }
  noteEdits(); // this address is theirs
  try {
    await navigator.clipboard.writeText(location.href);
    bar.showAnswer(words.copied);
  } catch {
    bar.showAnswer(words.addressed); // a page that may not copy
  }
}

/* Whose code it is, before it runs. */
function warn() {
  bar.showStatus(
    fillTemplate(words.linked, cells.filter((cell) => cell.foreign && cell.edited).length),
  );
}

/* The edits of a link are shown, and run when the reader asks for it. */
async function follow(fragment) {
  await setUp();
  let found;
  try {
    found = await edits(fragment, cells, lang, cellsIn);
  } catch (error) {
    bar.showStatus(error instanceof RangeError ? words.tooLarge : words.unreadable);
    return;
  }
  await show(found, () => true);
  found.fitting[0]?.[0].place?.scrollIntoView({ block: "center" });
  if (awaitsConsent()) warn();
  sayLost(found);
}

/* The blocks of this page in another language. */
async function cellsIn(other) {
  const answer = await fetch(at(words.page).replace(`/${lang}/`, `/${other}/`));
  return (await answer.json()).cells;
}

/* Edits in their editors; `isForeign` says of which cells they came with a link. */
async function show({ fitting: found }, isForeign) {
  for (const [cell, code] of found) {
    cell.foreign = isForeign(cell);
    cell.set(code);
    if (cell.id === "scratch") placeScratch();
    const fold = cell.block?.closest("details");
    for (let one = fold; one; one = one.parentElement.closest("details")) one.open = true;
    if (cell.block || cell.id === "scratch") await cell.edit();
    else cell.turnable();
  }
  noteEdits();
}

function sayLost({ lost }) {
  if (!lost.length) return;
  const more = lost.length > 5 ? " …" : "";
  const text = fillTemplate(words.lost, lost.slice(0, 5).join(", ") + more);
  bar.showStatus([awaitsConsent() && bar.status.textContent, text].filter(Boolean).join(" "));
}

/* --- edits outlast the page, in this tab: see ../site.js */

const STORED = `live ${location.pathname}`;
const isLink = (hash) => hash.startsWith("#live=");

function noteEdits() {
  const entries = listEntries(cells, lang);
  bar.setEdited(entries.length > 0);
  const foreign = cells.filter((cell) => cell.foreign).map((cell) => cell.id);
  try {
    if (entries.length)
      sessionStorage.setItem(STORED, JSON.stringify({ entries, foreign, hash: location.hash }));
    else sessionStorage.removeItem(STORED);
  } catch {
    /* a browser that stores nothing, or no more */
  }
}

async function restore({ entries, foreign }) {
  const found = selectFitting(entries, cells);
  await show(found, (cell) => foreign.includes(cell.id));
  if (awaitsConsent()) warn();
  else bar.showStatus(words.restored);
  sayLost(found);
}

/* What this tab has stored, but where a link has other edits. */
export const begin = () =>
  runGuarded(() => {
    const stored = JSON.parse(sessionStorage.getItem(STORED) ?? "null");
    const { hash } = location;
    return stored && (!isLink(hash) || hash === stored.hash) ? restore(stored) : follow(hash);
  });

/* --- what a reader can ask for */

let noted = false;
function showNotes() {
  if (!noted) for (const cell of cells) if (cell.torch) cell.note();
  noted = true;
}

function setUp() {
  opened ??= open().catch((error) => {
    opened = null;
    throw error;
  });
  return opened;
}

function findTrouble() {
  return window.WebAssembly && window.Worker ? "" : words.unable;
}

async function runGuarded(job) {
  document.body.append(bar.element);
  document.documentElement.classList.add("live-open");
  const trouble = findTrouble();
  if (trouble) {
    bar.showStatus(trouble);
    return;
  }
  try {
    await setUp();
    showNotes();
    await job();
  } catch (error) {
    bar.showStatus(fillTemplate(words.broken, String(error.message ?? error)));
  }
}

export const edit = (id) =>
  runGuarded(async () => {
    const cell = byId.get(id);
    load();
    if (!ready && waiting === null) waiting = [cell.index, true]; // what comes before it, meanwhile
    await cell.edit();
    cell.turnable();
  });

export const turnKnobs = (id) =>
  runGuarded(async () => {
    const cell = byId.get(id);
    load();
    cell.turnable();
    cell.knobBox.querySelector("input, select")?.focus();
    if (!ready && waiting === null) waiting = [cell.index, true];
  });

function placeScratch() {
  const cell = byId.get("scratch");
  if (cell.home) return;
  cell.home = element(
    "section",
    { class: "live-scratch", "aria-label": words.scratch },
    element("p", {}, words.scratchSays),
    element(
      "details",
      {},
      element("summary", {}, words.names),
      element("p", {}, ...cell.names.flatMap((name) => [element("code", {}, name), " "])),
    ),
  );
  const last = document.querySelector("article .takeaway");
  if (last) last.before(cell.home);
  else document.querySelector("article").append(cell.home);
  Object.defineProperty(cell, "place", { get: () => cell.home });
}

export const scratch = () =>
  runGuarded(async () => {
    placeScratch();
    const cell = byId.get("scratch");
    if (!cell.code) cell.set(cell.example);
    await cell.edit();
    ask();
  });

export const follows = (fragment) => runGuarded(() => follow(fragment));
