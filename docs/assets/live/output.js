/* What a block gives: put in the place of what was published, which is one press away. */
import { cleanHtml } from "./clean.js";
import { element, makeButton } from "./dom.js";

export class Output {
  constructor(cell) {
    this.cell = cell;
    this.words = cell.page.words;
    this.frame = document.getElementById(`out-${cell.id}`);
    const texts = [...(this.frame?.querySelectorAll("pre > code") ?? [])];
    this.pre = texts.find((text) => !text.closest(".block")); // the code may stand folded in it
    this.drawing = this.frame?.querySelector(".drawing, .table-frame");
    this.checks = this.frame?.querySelector("details.checks");
    this.published = { text: this.pre?.innerHTML ?? "", checks: this.checks?.innerHTML ?? "" };
    this.now = { text: cell.text, figure: null };
    this.copy = null; // beside the knob that asks for it
    this.reset();
  }

  /* As published; `paint` shows it. */
  reset() {
    this.changed = [false, false]; // the text, the figure
    this.failing = null; // checks of the block, where one does not hold
    this.seen = new Map(); // of its inline values, by their numbers on the page
    this.peeks = false; // whether the reader looks at what was published
  }

  /* Whether a reader sees it, or may soon; with a hand on a knob, only what is in sight. */
  isNear(hurry) {
    const far = hurry ? 0 : innerHeight;
    return [this.frame, this.copy].some((one) => {
      const place = one?.getBoundingClientRect();
      return Boolean(place?.height && place.bottom > -far && place.top < innerHeight + far);
    });
  }

  get isChanged() {
    return this.changed.some(Boolean);
  }

  isValueChanged(number) {
    const [, , , published] = this.cell.values.find((value) => value[0] === number);
    return (this.seen.get(number) ?? published) !== published;
  }

  countChangedValues() {
    const { places } = this.cell.page.values;
    return this.cell.values.filter(([number]) => places.has(number) && this.isValueChanged(number))
      .length;
  }

  take(result) {
    if (result.later) {
      this.reset();
      return;
    }
    if ("text" in result) this.now.text = result.text;
    if ("figure" in result) this.now.figure = result.figure;
    this.changed = result.changed;
    this.failing = (result.checks ?? []).some(([, holds]) => !holds) ? result.checks : null;
    for (const [number, text] of Object.entries(result.values)) this.seen.set(Number(number), text);
  }

  /* --- on the page */

  paint(whole = true) {
    const [text, figure] = this.changed;
    if (this.isChanged && !this.frame) this.makeFrame();
    if (this.frame) {
      if (text && !this.pre) this.makeText();
      if (figure && !this.drawing) this.makeDrawing();
      if (this.pre) this.paintText(text && !this.peeks);
      if (this.drawing && whole) this.paintFigure(figure && !this.peeks);
      this.updateCopy();
      this.paintChecks(this.peeks ? null : this.failing);
      this.frame.classList.toggle("live-changed", this.isChanged);
      this.offerPublished();
    }
    for (const [number, , , published] of this.cell.values) {
      this.cell.page.values.show(number, this.seen.get(number) ?? published, published);
    }
  }

  makeFrame() {
    this.frame = element("div", { class: "output", id: `out-${this.cell.id}` });
    this.cell.place.after(this.frame);
  }

  makeText() {
    this.pre = element("code");
    this.frame.prepend(element("div", { class: "highlight" }, element("pre", {}, this.pre)));
  }

  makeDrawing() {
    this.drawing = element("div", { class: "drawing" });
    this.frame.append(element("figure", {}, this.drawing));
    this.painted = null;
  }

  paintText(changed) {
    const html = changed ? markText(this.now.text, this.cell.text) : this.published.text;
    if (this.pre.innerHTML !== html) this.pre.innerHTML = html;
    this.pre.closest(".highlight").hidden = !this.pre.textContent;
  }

  paintFigure(changed) {
    const shown = changed ? this.now.figure : null;
    if (this.painted === shown) return;
    const controls = [...this.drawing.querySelectorAll("input")];
    const moved = this.drawing.querySelector(".stepper")?.classList.contains("moved");
    this.published.figure ??= this.drawing.cloneNode(true);
    const wanted = this.published.figure.cloneNode(shown === null);
    if (shown !== null) {
      wanted.replaceChildren(cleanHtml(shown));
      markCells(wanted, this.published.figure);
    }
    updateNode(this.drawing, wanted);
    this.drawing.dispatchEvent(new Event("contentvisibilityautostatechange", { bubbles: true })); // ../site.js
    this.drawing.parentElement.hidden = !this.drawing.childNodes.length;
    this.painted = shown;
    this.restoreControls(controls, Boolean(moved));
    for (const root of this.drawing.querySelectorAll(".instrument"))
      import("../instruments/instrument.js").then(({ start }) => start(root));
  }

  /* A stepper stays where the reader has put it. */
  restoreControls(before, moved) {
    const controls = [...this.drawing.querySelectorAll("input")];
    if (!controls.length) return;
    if (controls.length === before.length) {
      controls.forEach((one, n) => {
        if (one.type === "range") one.value = before[n].value;
        else one.checked = before[n].checked;
      });
    }
    controls[0].dispatchEvent(new Event("input", { bubbles: true })); // ../stepper.js
    this.drawing.querySelector(".stepper")?.classList.toggle("moved", moved);
  }

  get shownFrame() {
    return this.drawing?.querySelector(".stepper .frame.shown");
  }

  /* Of a stepper, the frame that a reader sees, while a hand is on a knob; the others follow. */
  paintFrame(html) {
    const [now, wanted] = [this.shownFrame, element("div", {}, cleanHtml(html)).firstChild];
    if (!now || !wanted) return;
    this.published.figure ??= this.drawing.cloneNode(true);
    wanted.className = now.className;
    updateNode(now, wanted);
    this.painted = undefined;
  }

  /* What the block has checked may not hold with the reader's edits. */
  paintChecks(failing) {
    if (!this.checks) return;
    this.checks.classList.toggle("live-failing", Boolean(failing));
    this.checks.innerHTML = this.published.checks;
    if (!failing) return;
    this.checks.querySelector("summary").textContent = this.words.unchecked;
    const items = failing.map(([statement, holds]) =>
      element("li", {}, `${holds ? "✓" : "✗"} ${statement}`),
    );
    this.checks.querySelector("ul").replaceChildren(...items);
  }

  offerPublished() {
    if (!this.isChanged) {
      this.peeks = false;
      this.switch?.remove();
      this.switch = null;
      return;
    }
    if (!this.switch) {
      this.switch = makeButton("live-was", "", () => this.peek(!this.peeks));
      this.frame.prepend(this.switch);
    }
    this.switch.textContent = this.peeks ? this.words.now : this.words.was;
    this.switch.setAttribute("aria-pressed", String(this.peeks));
  }

  /* Show what was published, or what it is now. */
  peek(shown) {
    this.peeks = shown && this.isChanged;
    this.paint();
  }

  /* --- once more beside the knob that asks for it */

  makeCopy() {
    this.copy = element("div", { class: "live-answer" });
    this.updateCopy();
    const link = element("a", { href: `#out-${this.cell.id}` }, this.words.answer);
    return element("figure", { class: "live-copy" }, element("figcaption", {}, link), this.copy);
  }

  updateCopy() {
    if (!this.copy) return;
    const { unrun } = this.cell;
    const drawing = this.drawing?.cloneNode(true);
    for (const one of drawing?.querySelectorAll("[id]") ?? []) one.removeAttribute("id");
    const note = unrun ? [element("p", { class: "live-old-note" }, this.words.unrun)] : [];
    if (drawing) this.copy.replaceChildren(...note, drawing);
    this.copy.classList.toggle("live-old", unrun);
  }
}

/* --- what differs from what was published */

const escapeHtml = (text) =>
  text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);

/* What a block prints, as HTML with what has changed marked. */
function markText(text, published) {
  const split = (whole) => whole.split(/([\s,[\]()]+)/);
  const [now, was] = [split(text), split(published)];
  const pieces = now.map((piece, n) => {
    const same = now.length !== was.length || piece === was[n] || !piece.trim() || n % 2;
    return same ? escapeHtml(piece) : `<mark>${escapeHtml(piece)}</mark>`;
  });
  return pieces.join("") + (text ? "\n" : "");
}

/* Mark the cells of a table that are not as published. */
function markCells(shown, published) {
  const [now, was] = [shown, published].map((inside) => [...inside.querySelectorAll("td")]);
  if (now.length !== was.length) return;
  now.forEach((cell, n) => {
    if (cell.textContent !== was[n].textContent)
      cell.replaceChildren(element("mark", {}, ...cell.childNodes));
  });
}

/* Turn a drawing into another one by what differs: a stepper has thousands of elements. */
function updateNode(node, wanted) {
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
  } else now.forEach((one, n) => updateNode(one, then[n]));
}
