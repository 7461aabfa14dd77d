/* What the theme's script lacks. Runs before it: see attention_docs/site/theme/main.html. */
"use strict";

// the table [site.script] of the locale
const words = JSON.parse(document.getElementById("__words").textContent);
const all = (selector) => document.querySelectorAll(selector);
const query = document.querySelector(".md-search__input");
const own = document.currentScript.src;
const isFile = location.protocol === "file:"; // from there no module comes

const toggle = (name) => document.getElementById(`__${name}`);
const isOpen = (name) => toggle(name)?.checked;

const make = (tag, name, ...inner) => {
  const element = Object.assign(document.createElement(tag), { className: name });
  element.append(...inner);
  return element;
};

function offer(name, text, press) {
  const button = Object.assign(make("button", name, text), { type: "button" });
  if (press) button.addEventListener("click", press);
  return button;
}

// Now, and whenever the part of the address behind # changes.
function followHash(follow) {
  follow();
  addEventListener("hashchange", follow);
}

// Calls `seen` once with each of these elements that comes near.
function whenNear(elements, rootMargin, seen) {
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        seen(target);
      }
    },
    { rootMargin },
  );
  for (const one of elements) near.observe(one);
}

// What the browser has stored; a browser that stores nothing has none.
function stored(kind, key) {
  try {
    return window[kind].getItem(key);
  } catch {
    return null;
  }
}

// The search loads once a reader turns to it: its index weighs more than a chapter.
function loadSearchWhenNeeded() {
  if (isFile && query) document.querySelector(".md-search-result__meta").textContent = words.disk;
  query?.addEventListener("focus", () => {
    if (!isOpen("search")) toggle("search").click();
    if (!isFile) import(new URL("search-box.js", own));
  });
  toggle("search")?.addEventListener("change", () => isOpen("search") && query.focus());
}

// What was found is marked on the page that a result leads to.
function markWhatWasFound() {
  const found = new URLSearchParams(location.search).get("h")?.trim();
  if (found && CSS.highlights) {
    const words = found.split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    const any = new RegExp(`(?<![a-z\\d])(?:${words.join("|")})[a-z]*`, "giu");
    const texts = document.createTreeWalker(document.querySelector("article"), 4); // text nodes
    const ranges = [];
    while (texts.nextNode()) {
      for (const { index, 0: match } of texts.currentNode.data.matchAll(any)) {
        const range = new Range();
        range.setStart(texts.currentNode, index);
        range.setEnd(texts.currentNode, index + match.length);
        ranges.push(range);
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }
}

// The field says how it is reached.
function setShortcuts() {
  const mac = /Mac|iP(hone|ad)/.test(navigator.platform);
  query?.setAttribute("aria-keyshortcuts", mac ? "Meta+K" : "Control+K");
  query?.closest("form").setAttribute("data-keys", mac ? "⌘K" : "Ctrl K");

  // Single letters are no shortcuts (WCAG 2.1.4); Ctrl+K opens the search.
  addEventListener(
    "keydown",
    (event) => {
      const modified = event.ctrlKey || event.metaKey;
      if (modified && event.key === "k" && query) {
        event.preventDefault();
        if (!isOpen("search")) toggle("search").click();
        query.focus();
      } else if (!modified && "pn,.fs/".includes(event.key) && !isOpen("search")) {
        if (!event.target.closest?.("input, textarea, select, [contenteditable]")) {
          event.stopImmediatePropagation();
        }
      }
    },
    true,
  );
}

// Labels that open the drawer and the search become buttons, so that the keyboard reaches them.
function makeButtonsOfLabels() {
  for (const name of ["drawer", "search"]) {
    const label = document.querySelector(`label.md-header__button[for=__${name}]`);
    if (!label) continue;
    const button = offer(label.className, "", () => toggle(name).click());
    // the theme's styles and script know it by this
    button.setAttribute("for", label.htmlFor);
    button.setAttribute("aria-label", words[name]);
    button.setAttribute("aria-expanded", "false");
    button.append(...label.childNodes);
    toggle(name).addEventListener("change", () => {
      button.setAttribute("aria-expanded", String(isOpen(name)));
    });
    label.replaceWith(button);
  }
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isOpen("drawer")) {
      toggle("drawer").click();
      document.querySelector("button[for=__drawer]").focus();
    }
  });
}

// The address of a page and the day on which it is read belong to its entry for BibTeX.
function completeEntry() {
  const code = document.querySelector(".cite-page code");
  if (!code || isFile) return;
  const day = new Date().toISOString().slice(0, 10);
  const address = document.querySelector(".cite-page .cite > a").href;
  const url = /^ {2}url =/m.test(code.textContent) ? "" : `  url = {${address}},\n`;
  code.textContent = code.textContent.replace(/}$/, `${url}  urldate = {${day}},\n}`);
}

// Code can be copied. The theme's script does the copying; where it sets the buttons too, between
// one measurement and the next, the page is laid out anew for each of them.
function addCopyButtons() {
  const isOutput = (code) => code.closest(".output") && !code.closest(".block");
  for (const code of all("article pre > code")) {
    if (code.closest(".no-copy") || isOutput(code)) continue;
    const copy = Object.assign(offer("md-code__button", ""), { title: words.copy });
    copy.dataset.mdType = "copy";
    copy.dataset.clipboardText = code.textContent.trimEnd();
    code.before(make("div", "md-code__nav", copy));
  }
}

// A citation is copied with the address that its link leads to.
function addCiteButtons() {
  if (!navigator.clipboard) return; // over plain http there is none
  for (const line of all("p.cite")) {
    const copy = offer("md-button", words.copy, () => {
      const link = line.querySelector("a:last-of-type"); // terms before it lead to the glossary
      const said = line.textContent
        .replace(copy.textContent, "")
        .replace(link.textContent, link.href);
      navigator.clipboard.writeText(said.trim());
    });
    line.append(" ", copy);
  }
}

// A page can run in the browser: what that takes is loaded when a reader asks for it.
const { live } = words;

async function withLivePage(job) {
  try {
    if (isFile) alert(words.disk);
    else await job(await import(new URL("live/page.js", own)));
  } catch (error) {
    // nothing of the page has changed
    alert(live.broken.replace("{}", error.message));
  }
}

// Python starts before it is asked for where a reader has been live before, so that its files are
// stored, and opens a fold with code or comes near a field.
function prepareEarly() {
  if (!stored("localStorage", "attention-live") || navigator.connection?.saveData) return;
  let begun = false;
  const begin = () => {
    if (!begun)
      import(new URL("live/page.js", own)).then(
        (page) => page.prepare(),
        () => {},
      );
    begun = true;
  };
  for (const fold of all("details")) {
    if (fold.querySelector(".live-edit"))
      fold.addEventListener("toggle", () => fold.open && begin());
  }
  whenNear(all(".live-turn"), "0px", begin);
}

// The buttons of a page that can run.
function offerLivePage() {
  for (const block of all(".block[data-block]:not([data-torch])")) {
    const { block: id } = block.dataset;
    const edit = offer("md-code__button live-edit", live.edit, () =>
      withLivePage((page) => page.edit(id)),
    );
    edit.setAttribute("aria-label", live.editBlock.replace("{}", id));
    block.querySelector(".md-code__nav")?.prepend(edit);
  }
  for (const id of live.knobs) {
    const turn = offer("md-button live-turn", live.turn, () => {
      withLivePage((page) => {
        turn.remove();
        return page.turnKnobs(id);
      });
    });
    document.getElementById(`knobs-${id}`).append(turn);
  }
  const scratch = offer("md-button live-turn", live.scratch, () => {
    withLivePage((page) => {
      scratch.hidden = true;
      return page.scratch();
    });
  });
  const last = document.querySelector("article .takeaway");
  if (last) last.before(scratch);
}

// The links "print with answers" and "print the exercises alone"; "&only=" names some of these.
function printAsAsked() {
  const asked = new URLSearchParams(location.search);
  const kind = asked.get("print");
  if (kind !== "answers" && kind !== "exercises") return;
  document.documentElement.dataset.print = kind;
  const only = asked.get("only")?.split(",");
  if (only) for (const one of all(".exercise")) if (!only.includes(one.id)) one.remove();
  addEventListener("load", () => print());
}

// "?embed=out-control" in a frame of another site: that part alone, with a line that leads back. Its
// height is told in the words that learning platforms listen to.
function showOnePart() {
  const name = new URLSearchParams(location.search).get("embed");
  const part = name && document.getElementById(name);
  if (!part) return;
  const link = make("a", "", document.title);
  Object.assign(link, { href: `${location.pathname}#${name}`, target: "_blank", rel: "noopener" });
  const credit = make("p", "credit", link, " · CC BY 4.0");
  const frame = make("main", "embed md-typeset", part, credit);
  document.body.prepend(frame);
  document.documentElement.dataset.embed = name;
  new ResizeObserver(() => {
    const height = Math.ceil(frame.getBoundingClientRect().height);
    parent.postMessage({ subject: "lti.frameResize", height }, "*");
  }).observe(frame);
}

// "?slides": the page as slides. No module, so that it works from a disk.
function showSlides() {
  const isAsked = new URLSearchParams(location.search).has("slides");
  if (!isAsked || !document.querySelector("a[data-slides]")) return;
  const script = Object.assign(make("script", ""), { src: new URL("slides.js", own) });
  const style = Object.assign(make("link", ""), { rel: "stylesheet" });
  style.href = new URL("slides.css", own);
  style.onload = () => document.head.append(script);
  document.head.append(style);
}

// Paper shows no answer below its question: they end the page.
function printAnswersLast() {
  const guesses = [...all(".guess:has(> details.answer)")];
  if (!guesses.length) return;
  const title = guesses[0].querySelector("summary").textContent;
  printLast("answers-last", title, guesses, ".guess-question", "details.answer > .inside");
}

// A sheet without answers ends with its hints, on a page that can be held back.
function printHintsLast() {
  const exercises = [...all(".exercise")].filter((one) => one.querySelector("details.hint"));
  if (!exercises.length || document.documentElement.dataset.print === "answers") return;
  printLast(
    "hints-last",
    words.exercises.hints,
    exercises,
    ".exercise-title > .number",
    "details.hint > .inside",
  );
}

// A sheet at the end of the printed page: of each box its name, and what stands in some of its parts.
function printLast(kind, title, boxes, named, parts) {
  const sheet = make("section", kind, make("h2", "", title));
  for (const box of boxes) {
    const list = make("ol", "");
    for (const { childNodes } of box.querySelectorAll(parts))
      list.append(make("li", "", ...[...childNodes].map((one) => one.cloneNode(true))));
    for (const { attributes } of list.querySelectorAll("[id]")) attributes.removeNamedItem("id");
    sheet.append(make("strong", "", box.querySelector(named).textContent), list);
  }
  addEventListener("beforeprint", () => document.querySelector("article .takeaway").before(sheet));
  addEventListener("afterprint", () => sheet.remove());
}

// A link, or earlier edits in this tab, begin without a press.
function followLinks() {
  const isLink = () => location.hash.startsWith("#live=");
  addEventListener("hashchange", ({ oldURL }) => {
    const isOpen = document.documentElement.classList.contains("live-open");
    if (isLink() || isOpen) withLivePage((page) => page.moves(new URL(oldURL).hash));
  });
  const hasEdits = stored("sessionStorage", `live ${location.pathname}`); // earlier in this tab
  if (hasEdits || isLink()) withLivePage((page) => page.begin());
  else prepareEarly();
}

// Figures that are taken in hand, and what covers the answer to a guess: loaded when they come near,
// or where the address may hold the state of a figure, which then moves into view.
function loadInstruments() {
  if (isFile) return;
  const waiting = new Set(all(".instrument, .guess"));
  const load = (target) => {
    if (!waiting.delete(target)) return;
    const script = target.matches(".guess") ? "guess.js" : "instruments/instrument.js";
    import(new URL(script, own)).then(({ start }) => start(target));
  };
  whenNear(waiting, "600px", load);
  followHash(() => {
    if (/^#[a-z]+=/.test(location.hash)) for (const one of all(".instrument")) load(one);
    // A link to a part of the drawing that is not open yet.
    if (location.hash.startsWith("#machine-"))
      document.querySelector(".instrument.machine")?.scrollIntoView();
  });
}

// A figure that stays while the text scrolls; no module, so that it works from a folder too.
function loadFilms() {
  if (!document.querySelector(".film")) return;
  document.head.append(Object.assign(make("script", ""), { src: new URL("film.js", own) }));
}

// Places for a real model: what shows it is loaded when one comes near, or when the address asks for it.
function loadPanels() {
  if (isFile) return;
  for (const [name, mark, script, asked] of [
    ["next", "next-token", "next.js", /^#(next=|L\d+\.H\d+$)/],
    ["model", "model-panel", "model-panel.js", /^#model=/],
  ]) {
    const place = document.querySelector(`p.${mark}`);
    if (!words[name] || !place) continue;
    const margin = document.getElementById("index") ? "0px" : "400px"; // the first view is light
    whenNear([place], margin, async () => {
      try {
        const { start } = await import(new URL(`live/${script}`, own));
        await start(place);
      } catch {
        /* a sentence stands there as text */
      }
    });
    followHash(() => asked.test(location.hash) && place.scrollIntoView());
  }
}

// A sentence of the reader's own: the form. What reads it is loaded at the first press.
function makeSentenceForm() {
  const { sentence } = words;
  const field = Object.assign(make("input", ""), {
    type: "text",
    lang: "en",
    autocomplete: "off",
  });
  field.spellcheck = false;
  field.value = sentence.examples[0];
  const examples = sentence.examples.map((text) => {
    const choose = offer("example", text, () => {
      field.value = text;
      field.focus();
    });
    choose.lang = "en";
    return choose;
  });
  const show = Object.assign(offer("md-button", sentence.show), { type: "submit" });
  const status = make("p", "sentence-status");
  status.setAttribute("role", "status");
  const form = make(
    "form",
    "own-sentence",
    make("label", "", sentence.label, field),
    make("p", "examples", sentence.choose, " ", ...examples),
    make("p", "sentence-buttons", show),
    status,
    make("p", "sentence-note", sentence.note.replace("{}", sentence.megabytes)),
  );
  form.setAttribute("aria-label", sentence.title);
  return { form, field, status };
}

function offerSentence() {
  const place = document.querySelector("p.own-sentence");
  if (!words.sentence || !place) return;
  const { sentence } = words;
  const { form, field, status } = makeSentenceForm();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isFile) {
      status.textContent = words.disk;
      return;
    }
    try {
      const { read } = await import(new URL("live/sentence.js", own));
      read(form, field.value);
    } catch (error) {
      status.textContent = sentence.broken.replace("{}", error.message);
    }
  });
  place.replaceWith(form);
  // A sentence that an address brings along waits for the press.
  followHash(() => {
    const text = new URLSearchParams(location.hash.slice(1)).get("sentence");
    if (!text) return;
    field.value = text;
    form.scrollIntoView();
  });
}

// Answers are judged by a script that loads when a reader turns to one, or has solved some.
function judgeAnswers() {
  const load = (script) => import(new URL(script, own));
  const judge = () => load("exercises.js").then((one) => one.showCount());
  const judged = all("form.asks, .exercise[data-kind=write]");
  for (const one of judged) {
    if (isFile) {
      const say = (event) => {
        event.preventDefault();
        one.querySelector("output").textContent = words.disk;
      };
      if (one.matches("form")) one.addEventListener("submit", say);
      continue;
    }
    one.addEventListener("focusin", judge, { once: true });
    one.addEventListener("click", ({ target }) => {
      const button = target.closest(".proof-lines button");
      if (button) load("lines.js").then((lines) => lines.moveLine(button));
    });
    one.addEventListener("submit", (event) => {
      event.preventDefault();
      if (one.matches("form.asks")) load("exercises.js").then((judging) => judging.judgeForm(one));
    });
  }
  if (!isFile && judged.length && stored("localStorage", "solved exercises")) judge();
}

// Cards come back after growing intervals; where no module comes from, they stay a list.
function beginReview() {
  const review = document.querySelector(".review-place");
  if (review)
    import(new URL("review.js", own)).then((one) => one.begin(review)).catch(() => review.remove());
}

// Questions in two forms, and the page that counts the answers of a class.
function beginInventory() {
  const place = document.querySelector(".inventory");
  if (!place) return;
  const begin = (one) => one.begin(place, JSON.parse(place.dataset.known));
  import(new URL(`inventory/${place.dataset.kind}.js`, own)).then(begin, () => {});
}

// What is left to prove after each sentence of a proof comes when a reader opens the proof.
function openProofs() {
  for (const place of all(".proof-steps")) {
    const fold = place.closest("details");
    const load = () => {
      if (!fold.open) return;
      import(new URL("proof-steps.js", own)).then(
        (steps) => steps.layOut(place),
        () => {},
      );
    };
    fold.addEventListener("toggle", load);
    load();
  }
}

// Another language goes on where this one is read: parts have one name in all of them. A text that the
// reader has given to the model goes along, with its settings.
function keepPlaceInLanguages() {
  const holdsText = /^#(next|model)=.*&text=./;
  const keepPlace = ({ target }) => {
    const link = target.closest("a[hreflang]");
    const passed = [...all("article > [id]")].filter(
      (one) => one.getBoundingClientRect().top < innerHeight / 3,
    );
    const place = scrollY ? (passed.at(-1)?.id ?? "") : "";
    if (link) link.hash = holdsText.test(location.hash) ? location.hash : place;
  };
  document.querySelector(".md-header")?.addEventListener("click", keepPlace);
}

// A link opens the fold that holds its target; browsers of before 2025 do so only in part. What
// moved to another page is looked up there.
function unfoldTarget() {
  followHash(() => {
    let name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch {
      /* no address of this site */
    }
    const target = document.getElementById(name);
    if (!target && Object.hasOwn(words.moved ?? {}, name)) location.replace(words.moved[name]);
    const folds = [];
    for (let one = target?.closest("details"); one; one = one.parentElement.closest("details")) {
      if (!one.open) folds.push(one);
    }
    folds.forEach((one) => {
      one.open = true;
    });
    if (folds.length) target.scrollIntoView();
  });
}

// A list that filters: the rows of the table after the field, or the folds, that hold every word
// that is typed, in text or addresses. A heading goes with the last of its folds, and so does the
// paragraph below it.
function filterLists() {
  for (const input of all(".filter input")) {
    const field = input.closest(".filter");
    const table = [...field.nextElementSibling.querySelectorAll("tbody tr")];
    const rows = table.length ? table : [...all(".filter ~ details.fold")];
    const texts = rows.map((row) =>
      [row.textContent, ...[...row.querySelectorAll("a")].map((a) => a.getAttribute("href"))]
        .join(" ")
        .toLowerCase(),
    );
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase().split(/\s+/);
      let left = 0;
      rows.forEach((row, i) => {
        row.hidden = !wanted.every((word) => texts[i].includes(word));
        left += !row.hidden;
      });
      for (const heading of table.length ? [] : all(".filter ~ h2")) {
        const below = [];
        let next = heading.nextElementSibling;
        for (; next && !next.matches("h2"); next = next.nextElementSibling) below.push(next);
        heading.hidden = below.every((one) => one.hidden || !one.matches("details.fold"));
        for (const one of below) if (one.matches("p")) one.hidden = heading.hidden;
      }
      const found = words.filtered.replace("{}", left).replace("{}", rows.length);
      field.querySelector("[role=status]").textContent = input.value.trim() ? found : "";
    });
  }
}

// A formula is copied as its TeX, between dollars.
function copyFormulasAsTex() {
  addEventListener("copy", (event) => {
    const selection = getSelection();
    const copied = document.createElement("div");
    for (let i = 0; i < selection.rangeCount; i += 1) {
      const range = selection.getRangeAt(i).cloneRange();
      const [first, last] = [range.startContainer, range.endContainer].map((node) =>
        (node.closest ? node : node.parentElement)?.closest("[data-tex]"),
      );
      // half a formula is the whole
      if (first) range.setStartBefore(first);
      if (last) range.setEndAfter(last);
      copied.append(range.cloneContents());
    }
    const formulas = copied.querySelectorAll("[data-tex]");
    if (!formulas.length) return;
    for (const formula of formulas) {
      const { tex, tail = "" } = formula.dataset;
      const dollars = formula.matches("div, [display=block]") ? "$$" : "$";
      formula.replaceWith(dollars + tex + dollars + tail);
    }
    // on the page, out of sight, its text has its lines
    copied.className = "md-typeset";
    copied.style.cssText = "position: fixed; opacity: 0; pointer-events: none";
    document.body.append(copied);
    // biome-ignore lint/performance/useDomNodeTextContent: its lines are those that the reader sees
    event.clipboardData.setData("text/plain", copied.innerText);
    event.clipboardData.setData("text/html", copied.innerHTML);
    copied.remove();
    event.preventDefault();
  });
}

// What scrolls sideways takes keyboard focus and has a name; what fits stays out of the way.
const SCROLLING = {
  ".block pre > code": words.code,
  ".output pre > code": words.output,
  "pre > code": words.code,
  ".formula": words.formula,
  ".drawing": words.figure,
  ".table-frame": words.table,
  ".md-typeset__scrollwrap": words.table,
};
const names = new Map();
// Measuring lays a box out: a few at a time, when nothing else is to be done.
const waiting = new Set();
const watch = new ResizeObserver((entries) => wait(entries.map(({ target }) => target)));
function wait(boxes) {
  if (!waiting.size && boxes.length) idle(work);
  boxes.forEach((box) => waiting.add(box));
}

function idle(job) {
  (window.requestIdleCallback ?? setTimeout)(job);
}

function work(deadline) {
  for (const box of waiting) {
    mark(box);
    waiting.delete(box);
    if (deadline?.timeRemaining?.() < 2) break;
  }
  if (waiting.size) idle(work);
}

function mark(box) {
  // What is far has no size of its own yet: it is asked again when it comes near.
  if (box.firstElementChild?.checkVisibility?.({ contentVisibilityAuto: true }) === false) return;
  const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
  const wanted = { tabindex: "0", role: "group", "aria-label": names.get(box) };
  for (const [key, value] of Object.entries(wanted)) {
    if (scrolls) box.setAttribute(key, value);
    else box.removeAttribute(key);
  }
  markEdges(box);
}

// At which of its edges it goes on (math.css).
function markEdges(box) {
  const cut = [
    ...(box.scrollLeft > 1 ? ["before"] : []),
    ...(box.scrollLeft + box.clientWidth < box.scrollWidth - 1 ? ["after"] : []),
  ];
  if (cut.length) box.dataset.cut = cut.join(" ");
  else delete box.dataset.cut;
}

function nameWhatScrolls() {
  addEventListener("scroll", ({ target }) => names.has(target) && markEdges(target), true);
  addEventListener("load", () => {
    for (const [selector, name] of Object.entries(SCROLLING)) {
      for (const box of all(`article ${selector}`)) {
        if (names.has(box)) continue;
        names.set(box, name);
        watch.observe(box);
      }
    }
  });
  // What was far is laid out only now (site.css), perhaps in a box that keeps its size.
  addEventListener("contentvisibilityautostatechange", ({ target, skipped }) => {
    if (!skipped) wait([...names.keys()].filter((box) => target.contains(box)));
  });
}

loadSearchWhenNeeded();
markWhatWasFound();
setShortcuts();
makeButtonsOfLabels();
completeEntry();
addCopyButtons();
addCiteButtons();
if (live) {
  offerLivePage();
  followLinks();
}
loadInstruments();
loadFilms();
loadPanels();
offerSentence();
judgeAnswers();
beginReview();
beginInventory();
openProofs();
keepPlaceInLanguages();
unfoldTarget();
filterLists();
copyFormulasAsTex();
nameWhatScrolls();
printAsAsked();
printHintsLast();
printAnswersLast();
showOnePart();
showSlides();
