/* Judges what a reader answers to an exercise, and keeps in this browser what was solved.
   Loaded by site.js when a reader turns to an answer. attention_docs/site/render/asks.py has the forms. */

import { keep, offerTools, read, SOLVED } from "./kept.js";

const words = JSON.parse(document.getElementById("__words").textContent).exercises;

/* --- numbers as people write them: 0.25, 1/4, 2√3, sqrt(2)/2, e^-2, ln 2, 25 %, 6×10^-3 */

const CONSTANTS = { e: Math.E, π: Math.PI, pi: Math.PI };
const FUNCTIONS = { sqrt: Math.sqrt, "√": Math.sqrt, ln: Math.log, log: Math.log, exp: Math.exp };
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻";
const TOKEN = /\d+(?:\.\d+)?(?:e[-+]?\d+)?|\.\d+|sqrt|ln|log|exp|pi|[eπ√()+\-*/^%]/y;

function splitTokens(text) {
  const plain = text
    .replace(/[−–]/g, "-")
    .replace(/[×·⋅]/g, "*")
    .replace(/÷/g, "/")
    .replace(/\*\*/g, "^")
    .replace(
      /[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+/g,
      (all) => `^${[...all].map((one) => "0123456789-"[SUPERSCRIPTS.indexOf(one)]).join("")}`,
    )
    .replace(/\s+/g, "");
  const found = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < plain.length) {
    const match = TOKEN.exec(plain);
    if (!match) return null;
    found.push(match[0]);
  }
  return found;
}

/* The number that a text stands for, or null. */
export function parseNumber(text) {
  const tokens = splitTokens(text);
  if (!tokens?.length) return null;
  let at = 0;
  const takes = (...signs) => (signs.includes(tokens[at]) ? tokens[at++] : "");

  function sum() {
    let value = product();
    for (let sign = takes("+", "-"); sign; sign = takes("+", "-")) {
      const next = product();
      value = sign === "+" ? value + next : value - next;
    }
    return value;
  }
  function product() {
    let value = signed();
    for (;;) {
      if (takes("*")) value *= signed();
      else if (takes("/")) value /= signed();
      else if (at < tokens.length && !/^[)+\-%^]$/.test(tokens[at])) value *= power();
      else return takes("%") ? value / 100 : value;
    }
  }
  function signed() {
    if (takes("-")) return -signed();
    takes("+");
    return power();
  }
  function power() {
    const base = atom();
    return takes("^") ? base ** signed() : base;
  }
  function atom() {
    const token = tokens[at++];
    if (token === "(") {
      const value = sum();
      if (!takes(")")) throw new Error("open");
      return value;
    }
    if (token in FUNCTIONS) return FUNCTIONS[token](signed());
    if (token in CONSTANTS) return CONSTANTS[token];
    if (/^[\d.]/.test(token ?? "")) return Number(token);
    throw new Error("no number");
  }

  try {
    const value = sum();
    return at === tokens.length && Number.isFinite(value) ? value : null;
  } catch {
    return null;
  }
}

/* The numbers of "[1/2, 0.5]" or "1/2, 0.5; 0, 1" row by row, or null. */
export function parseNumbers(text) {
  if (/^\s*[-−]?\d{1,3}(,\d{3})+\s*$/.test(text)) return [[parseNumber(text.replaceAll(",", ""))]];
  const rows = text
    .trim()
    .replace(/^[[(（]+|[\])）]+$/g, (all) =>
      all.length > 1 || /[[\],;，；]/.test(text) ? "" : all,
    )
    .split(/\]\s*[,，]?\s*\[|[;；\n]/)
    .map((row) => row.split(/[,，]/).map(parseNumber));
  return rows.flat().includes(null) ? null : rows;
}

/* --- judging */

/* Half a unit of the last digit that is shown: no answer within it is wrong. */
function slackOf(text) {
  const [, decimals = ""] = /\.(\d+)/.exec(text) ?? [];
  const exponent = Number(/(?:e|×10\^?)([-+−]?\d+)/i.exec(text)?.[1].replace("−", "-") ?? 0);
  return 0.5000001 * 10 ** (exponent - decimals.length) * (/[.e]/.test(text) ? 1 : 2e-6);
}

const isWithin = (found, wanted, slack) =>
  found.length === wanted.length &&
  found.every(
    (row, i) =>
      row.length === wanted[i].length &&
      row.every((one, j) => Math.abs(one - wanted[i][j]) <= slack),
  );
const flip = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));
const scale = (rows, factor) => rows.map((row) => row.map((one) => factor * one));
const largest = (rows) => Math.max(...rows.flat().map(Math.abs));

/* "right", or the name of a slip that many make, or "wrong". */
export function judge(answer, wantedText) {
  const found = parseNumbers(answer);
  if (!found) return "unread";
  const wanted = parseNumbers(wantedText);
  const slack = slackOf(wantedText);
  if (isWithin(found, wanted, slack)) return "right";
  if (isWithin(scale(found, -1), wanted, slack)) return "sign";
  if (wanted.length > 1 && isWithin(flip(found), wanted, slack)) return "transposed";
  if (isWithin(scale(found, 0.01), wanted, slack)) return "percent";
  if (found.flat().length !== wanted.flat().length) return "count";
  if (isWithin(found, wanted, 0.02 * largest(wanted))) return "rounded";
  return "wrong";
}

const capitalize = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function judgeField(ask) {
  const field = ask.querySelector("input");
  if (!field.value.trim()) return ["empty", words.empty];
  const verdict = judge(field.value, ask.querySelector(".value").textContent);
  if (verdict === "right" || verdict === "unread") return [verdict, words[verdict]];
  for (const trap of ask.querySelectorAll(".trap")) {
    const value = trap.querySelector(".value");
    if (judge(field.value, value.textContent) !== "right") continue;
    const why = trap.textContent.slice(value.textContent.length).replace(/^\s*[:：—]\s*/, "");
    return ["wrong", capitalize(why)];
  }
  return ["wrong", words[verdict]];
}

function judgeChoice(ask) {
  const chosen = ask.querySelector("input:checked");
  if (!chosen) return ["empty", words.empty];
  const why = chosen.parentElement.querySelector(".why")?.textContent.trim();
  const verdict = chosen.value;
  const said = words[verdict === "right" || !why ? verdict : "not"];
  return [verdict, why ? `${said} ${capitalize(why)}` : said];
}

export function judgeForm(form) {
  const verdicts = [...form.querySelectorAll(".ask")].map((ask) => {
    const [verdict, text] = ask.localName === "fieldset" ? judgeChoice(ask) : judgeField(ask);
    const output = ask.querySelector("output");
    output.className = verdict;
    output.textContent = text;
    return verdict;
  });
  const guess = form.closest(".guess");
  if (guess) {
    // Right or wrong, a guess gets the reason, and is not counted.
    if (verdicts.includes("empty")) return;
    if (verdicts.includes("wrong")) form.querySelector("output").textContent = words.other;
    guess.querySelector("details.answer").open = true;
    rest(form);
    return;
  }
  const exercise = form.closest(".exercise");
  if (verdicts.every((one) => one === "right")) note(exercise.id);
  else form.querySelector("output:not(.right)").closest(".ask").querySelector("input").focus();
  // A prediction is compared with the run, whatever it is.
  if (exercise.dataset.kind === "predict" && !verdicts.includes("empty"))
    exercise.querySelector("details.answer").open = true;
}

/* A guess is made: its button waits until the reader chooses something else. */
function rest(form) {
  const button = form.querySelector("button");
  button.setAttribute("aria-disabled", "true"); // it keeps the focus
  form.addEventListener("change", () => button.removeAttribute("aria-disabled"), { once: true });
}

/* --- what was solved, in this browser alone */

const page = location.pathname.split("/").filter(Boolean).at(-1); // the same in all languages
const readSolved = () => read(SOLVED);

function note(id) {
  const solved = readSolved();
  solved[page] = [...new Set([...(solved[page] ?? []), id])];
  keep(SOLVED, solved);
  showCount(solved);
}

const written = [...document.querySelectorAll(".exercise[data-kind=write]")];
const judged = [...document.querySelectorAll(".exercise")].filter(
  (one) => written.includes(one) || one.querySelector("form.asks"),
);

export function showCount(solved = readSolved()) {
  const done = new Set(solved[page] ?? []);
  for (const exercise of judged) exercise.classList.toggle("solved", done.has(exercise.id));
  const count = judged.filter((exercise) => done.has(exercise.id)).length;
  let line = document.querySelector(".solved-count");
  if (!count) {
    line?.remove();
    return;
  }
  if (!line) {
    line = document.createElement("p");
    line.className = "solved-count";
    line.setAttribute("role", "status");
    judged[0].before(line);
  }
  const text = words.solved.replace("{done}", count).replace("{all}", judged.length);
  line.replaceChildren(text, " ", ...offerTools(words, () => showCount({})));
}

/* A function that a reader writes is judged by a block of the page, in Python: see live/page.js. */
for (const exercise of written) {
  const look = () => {
    const isRight = exercise.querySelector(".output th")?.textContent.startsWith("✓");
    if (isRight && !exercise.classList.contains("solved")) note(exercise.id);
  };
  new MutationObserver(look).observe(exercise, {
    childList: true,
    characterData: true,
    subtree: true,
  });
}
