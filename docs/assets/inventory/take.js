/* Twelve questions in one of two forms, and at the end a profile, a way through the book, and one line
   to hand in. Nothing is sent; of a reader only the code is kept. */
import { element, fillTemplate, makeButton } from "../live/dom.js";
import { drawCode, isCode, writeLine } from "./lines.js";
import { readCodes, scoreCodes } from "./statistics.js";

const KEPT = "inventory code";

export function begin(place, known) {
  new Inventory(place, known).begin();
}

class Inventory {
  constructor(place, { items, beliefs, chapters, words }) {
    Object.assign(this, { place, items, beliefs, chapters, words });
    this.boxes = items.map(({ id }) => document.getElementById(id));
  }

  begin() {
    const { words } = this;
    const choose = (options, change) =>
      element(
        "select",
        { onchange: change },
        ...options.map(([value, text]) => element("option", { value }, text)),
      );
    const forms = ["A", "B"].map((form) => [form, form]);
    this.form = choose(forms, () => this.showForm());
    this.form.value = crypto.getRandomValues(new Uint8Array(1))[0] % 2 ? "A" : "B";
    this.stage = choose(
      [
        ["pre", words.pre],
        ["post", words.post],
      ],
      () => this.showCode(),
    );
    this.code = element("input", { type: "text", maxlength: 5, size: 6, autocomplete: "off" });
    this.about = element("small", {});
    this.place.replaceChildren(
      element("label", {}, words.form, " ", this.form),
      element("label", {}, words.stage, " ", this.stage),
      element("label", {}, words.code, " ", this.code),
      this.about,
    );
    this.said = element("p", { role: "status" });
    const button = makeButton("md-button", words.finish, () => this.finish());
    this.profile = element("div", { class: "inventory-profile", tabindex: -1 });
    this.boxes.at(-1).after(element("p", {}, button), this.said, this.profile);
    for (const box of this.boxes) {
      box.addEventListener("change", () => {
        this.since ??= Date.now();
      });
    }
    this.showForm();
    this.showCode();
  }

  showForm() {
    for (const section of document.querySelectorAll(".item > .form")) {
      section.hidden = section.dataset.form !== this.form.value;
    }
  }

  showCode() {
    const isFirst = this.stage.value === "pre";
    this.code.value = isFirst ? keepCode() : readCode();
    this.code.readOnly = isFirst;
    this.about.textContent = isFirst ? this.words.codeNew : this.words.codeOld;
  }

  /* A letter and a digit for each question. */
  readAnswers() {
    const form = this.form.value.toLowerCase();
    return this.items.map(({ id }, n) => {
      const chosen = ["answer", "reason"].map((kind) => {
        const fields = [...this.boxes[n].querySelectorAll(`[name="${id}-${form}-${kind}"]`)];
        return fields.findIndex((field) => field.checked);
      });
      return ("abcd"[chosen[0]] ?? "_") + ("1234"[chosen[1]] ?? "_");
    });
  }

  finish() {
    const { words, items } = this;
    const answers = this.readAnswers();
    const empty = answers.filter((one) => one.includes("_")).length;
    const code = this.code.value.trim().toUpperCase();
    if (code && !isCode(code)) {
      this.said.textContent = words.codeWrong;
      this.code.focus();
      return;
    }
    if (empty && this.warned !== empty) {
      this.warned = empty;
      this.said.textContent = fillTemplate(words.unanswered, { n: empty, all: items.length });
      return;
    }
    this.said.textContent = "";
    const minutes = Math.min(9999, Math.round((Date.now() - (this.since ?? Date.now())) / 60_000));
    const lang = document.documentElement.lang.toLowerCase().replace(/[^a-z]/g, "");
    const stage = this.stage.value;
    const line = writeLine({ form: this.form.value, lang, stage, code, answers, minutes });
    this.showProfile(readCodes({ form: this.form.value, answers }, items), line);
  }

  showProfile(codes, line) {
    const { words, items } = this;
    const scores = scoreCodes(codes);
    const right = scores.reduce((all, one) => all + one, 0);
    const wrong = items.filter((_, n) => !scores[n]);
    const list = element("ol", {});
    items.forEach((item, n) => {
      if (!scores[n]) list.append(element("li", { value: n + 1 }, ...this.explain(item, codes[n])));
    });
    this.profile.replaceChildren(
      element(
        "p",
        {},
        element("strong", {}, fillTemplate(words.right, { n: right, all: items.length })),
      ),
      element("p", {}, words.draft),
      ...(wrong.length ? [list] : []),
      element("h3", {}, words.route),
      this.makeRoute(new Set(wrong.map(({ chapter }) => chapter)), scores),
      element("p", {}, words.line),
      ...this.offerLine(line),
    );
    this.profile.focus();
    this.profile.scrollIntoView({ block: "nearest" });
  }

  /* What is so, and what somebody says who answers like this. */
  *explain({ concept }, [answer, reason]) {
    const { words } = this;
    yield element("strong", {}, concept);
    yield " ";
    const chosen = new Set([answer, reason].filter((one) => one && one !== "x"));
    if (answer === "x" && reason && reason !== "x") yield `${words.lucky} `;
    if (reason === "x" && answer && answer !== "x") yield `${words.slip} `;
    if (!answer || !reason) yield `${answer || reason ? words.half : words.empty} `;
    if (!chosen.size) return;
    yield words.holds;
    for (const code of chosen) {
      const href = `../teaching/index.html#belief-${code}`;
      yield " ";
      yield element("a", { href }, this.beliefs[code]);
    }
  }

  /* The chapters of what is not right, after those that they build on and that nothing here has
     shown to be known. One right answer may be luck: it takes two of a chapter, or one and all of
     the chapters that build on it directly. */
  makeRoute(wrong, scores) {
    const score = (isAsked) => scores.filter((_, n) => isAsked(this.items[n].chapter));
    const isKnown = (slug) => {
      const own = score((chapter) => chapter === slug);
      const above = score((chapter) => this.chapters[chapter].builds.includes(slug));
      const counted = own.length > 1 ? own : [...own, ...above];
      return own.length > 0 && counted.length > 1 && counted.every(Boolean);
    };
    const needed = new Set();
    const visit = (slug) => {
      if (needed.has(slug) || isKnown(slug)) return;
      needed.add(slug);
      for (const one of this.chapters[slug].builds) visit(one);
    };
    for (const slug of wrong) visit(slug);
    if (!needed.size) return element("p", {}, this.words.none);
    const order = Object.keys(this.chapters).filter((slug) => needed.has(slug));
    return element(
      "ul",
      { class: "inventory-route" },
      ...order.map((slug) => {
        const { number, title } = this.chapters[slug];
        const link = element("a", { href: `../${slug}/index.html` }, `${number}. ${title}`);
        return element("li", {}, wrong.has(slug) ? element("strong", {}, link) : link);
      }),
    );
  }

  *offerLine(line) {
    const { words } = this;
    const parts = { type: "text", readonly: true, value: line, class: "inventory-line" };
    const field = element("input", { ...parts, "aria-label": words.line });
    const said = element("span", { role: "status" });
    const copy = makeButton("md-button", words.copy, async () => {
      field.select();
      try {
        await navigator.clipboard.writeText(line);
      } catch {
        document.execCommand("copy"); // from a file, or without permission
      }
      said.textContent = words.copied;
    });
    const href = `data:text/plain;charset=utf-8,${encodeURIComponent(`${line}\n`)}`;
    const save = element("a", { href, download: "attention-answers.txt" }, words.save);
    yield field;
    yield element("p", {}, copy, " ", save, " ", said);
  }
}

function readCode() {
  try {
    const kept = localStorage.getItem(KEPT) ?? "";
    return isCode(kept) ? kept : "";
  } catch {
    return "";
  }
}

function keepCode() {
  const code = readCode() || drawCode();
  try {
    localStorage.setItem(KEPT, code);
  } catch {
    /* a browser that stores nothing: it is written down */
  }
  return code;
}
