/* The lines of a class, pasted: what it believes, before and after. Nothing leaves the page. */
import { element, fillTemplate, makeButton } from "../live/dom.js";
import { isCode, readLine } from "./lines.js";
import {
  compareMeans,
  describeStage,
  FEWEST,
  FEWEST_FOR_TIES,
  findGain,
  mean,
  readCodes,
  scoreCodes,
} from "./statistics.js";

const two = (number) => (number === null ? "–" : number.toFixed(2).replace("-", "−"));
const percent = (share) => `${Math.round(100 * share)}%`;
const total = (codes) => scoreCodes(codes).reduce((all, one) => all + one, 0);

export function begin(place, known) {
  const { words } = known;
  const field = element("textarea", { rows: 8, spellcheck: "false" });
  const found = element("div", { class: "inventory-found", "aria-live": "polite" });
  const show = () => found.replaceChildren(...showClass(field.value, known));
  field.addEventListener("input", show);
  const forget = makeButton("md-button", words.forget, () => {
    field.value = "";
    show();
    field.focus();
  });
  place.replaceChildren(element("label", {}, words.paste, field), element("p", {}, forget), found);
}

/* The lines that count, and what is wrong with the others. */
function readLines(text, { items, words }) {
  const people = new Map();
  const faults = [];
  text.split(/\r?\n/).forEach((line, index) => {
    if (!line.trim()) return;
    const n = index + 1;
    const said = readLine(line, items.length);
    if (said.fault) {
      faults.push(fillTemplate(said.fault === "sum" ? words.faultSum : words.faultForm, { n }));
      return;
    }
    const hasCode = said.code !== "_";
    if (hasCode && !isCode(said.code)) faults.push(fillTemplate(words.faultCode, { n }));
    const key = hasCode ? `${said.stage} ${said.code}` : `line ${n}`;
    if (people.has(key)) faults.push(fillTemplate(words.faultTwice, { n }));
    people.set(key, { ...said, codes: readCodes(said, items) });
  });
  return { people: [...people.values()], faults };
}

function matchPeople(people) {
  const before = new Map(
    people
      .filter(({ stage, code }) => stage === "pre" && code !== "_")
      .map((one) => [one.code, one]),
  );
  return people
    .filter(({ stage, code }) => stage === "post" && before.has(code))
    .map((one) => [before.get(one.code), one]);
}

function* showClass(text, known) {
  const { words, items } = known;
  const { people, faults } = readLines(text, known);
  if (!people.length && !faults.length) return;
  const [pre, post] = ["pre", "post"].map((name) => people.filter(({ stage }) => stage === name));
  const pairs = matchPeople(people);
  const counts = { pre: pre.length, post: post.length, matched: pairs.length };
  yield element("p", {}, fillTemplate(words.count, counts));
  if (faults.length) {
    yield element("p", {}, words.faults);
    yield element("ul", {}, ...faults.map((fault) => element("li", {}, fault)));
  }
  yield* showGain(pairs, known);
  yield* compareForms(pre, words);
  const shown = post.length >= FEWEST ? post : pre;
  if (shown.length < FEWEST) {
    yield element("p", {}, words.few);
    return;
  }
  const stage = shown === post ? words.stagePost : words.stagePre;
  yield element("p", {}, fillTemplate(words.shown, { stage }));
  const described = describeStage(shown.map(({ codes }) => codes));
  yield* showBeliefs(described.beliefs, shown.length, known);
  yield* showQuestions(described, shown.length, known);
  yield offerFile([pre, post].filter((some) => some.length >= FEWEST).flat(), items, words);
}

function* showGain(pairs, { items, words }) {
  yield element("h3", {}, words.gain);
  if (pairs.length < FEWEST) {
    yield element("p", {}, words.unmatched);
    return;
  }
  const totals = pairs.map((both) => both.map(({ codes }) => total(codes)));
  const { g, low, high, effect } = findGain(
    totals.map((both) => both.map((one) => one / items.length)),
  );
  const [before, after] = [0, 1].map((n) => mean(totals.map((both) => both[n])).toFixed(1));
  const parts = { pre: before, post: after, g: two(g), low: two(low), high: two(high) };
  const text = pairs.length < FEWEST_FOR_TIES ? words.gainFew : words.gainText;
  yield element("p", {}, fillTemplate(text, { ...parts, d: two(effect) }));
}

function* compareForms(pre, words) {
  const [a, b] = ["A", "B"].map((name) =>
    pre.filter(({ form }) => form === name).map(({ codes }) => total(codes)),
  );
  if (Math.min(a.length, b.length) < FEWEST_FOR_TIES) return;
  const { difference, low, high } = compareMeans(a, b);
  const parts = { difference: two(difference), low: two(low), high: two(high) };
  yield element("p", {}, fillTemplate(words.forms, parts));
}

function makeTable(heads, rows) {
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
  return element(
    "table",
    {},
    element("thead", {}, head),
    element(
      "tbody",
      {},
      ...rows.map((cells) => element("tr", {}, ...cells.map((one) => element("td", {}, one)))),
    ),
  );
}

/* A belief that only an answer names, or only a reason, cannot be chosen as both. */
function* showBeliefs(beliefs, n, { items, beliefs: texts, words }) {
  const paired = new Set(
    items.flatMap(({ A: [answers, reasons] }) => answers.filter((code) => reasons.includes(code))),
  );
  yield element("h3", {}, words.beliefs);
  const rows = beliefs.map(({ code, both, either }) => [
    element("a", { href: `../teaching/index.html#belief-${code}` }, texts[code]),
    paired.has(code) ? percent(both / n) : "–",
    percent(either / n),
  ]);
  yield makeTable([words.belief, words.both, words.either], rows);
}

function* showQuestions({ questions, reliability }, n, { items, words }) {
  yield element("h3", {}, words.questions);
  const hasTies = n >= FEWEST_FOR_TIES;
  const heads = [words.question, words.difficulty, words.interval, words.lucky];
  const rows = questions.map(({ share, low, high, tie, lucky }, i) => [
    `${i + 1}. ${items[i].concept}`,
    percent(share),
    `${percent(low)}–${percent(high)}`,
    percent(lucky),
    ...(hasTies ? [tie ? `${two(tie.r)} (${two(tie.low)}–${two(tie.high)})` : "–"] : []),
  ]);
  yield makeTable([...heads, ...(hasTies ? [words.tie] : [])], rows);
  if (!hasTies) yield element("p", {}, words.tooFew);
  else if (reliability !== null)
    yield element("p", {}, fillTemplate(words.reliability, { k: two(reliability) }));
}

/* A row for each person, in an order that says nothing of who came when. */
function offerFile(people, items, words) {
  const heads = ["form", "language", "stage", "minutes", ...items.map(({ id }) => id)];
  const rows = people.map(({ form, lang, stage, minutes, answers }) =>
    [form, lang, stage, minutes, ...answers].join(","),
  );
  const text = [heads.join(","), ...rows.sort()].join("\n");
  const href = `data:text/csv;charset=utf-8,${encodeURIComponent(`${text}\n`)}`;
  return element("p", {}, element("a", { href, download: "attention-class.csv" }, words.csv));
}
