/* Judges what a reader answers to an exercise, and keeps in this browser what was solved.
   Loaded by site.js when a reader turns to an answer. attention_docs/site/render/asks.py has the forms. */

import { judge, LIMIT, want } from "./answers.js";
import { offerTools, read, SOLVED, update, watch } from "./kept.js";
import { judgeLines } from "./lines.js";

const words = JSON.parse(document.getElementById("__words").textContent).exercises;
const tried = new WeakMap(); // of a question or a form, its different answers so far

function countTries(asked, answer) {
  const answers = tried.get(asked) ?? new Set();
  tried.set(asked, answers.add(answer));
  return answers.size;
}

/* A sentence of the page, its formulas included, with a capital letter. */
function copySentence(nodes) {
  const copies = nodes.map((node) => node.cloneNode(true));
  for (const one of copies) {
    one.removeAttribute?.("id");
    for (const inner of one.querySelectorAll?.("[id]") ?? []) inner.removeAttribute("id");
  }
  if (copies[0]?.nodeType === Node.TEXT_NODE) {
    const text = copies[0].data.replace(/^\s*[:：—]?\s*/, "");
    copies[0].data = text.charAt(0).toUpperCase() + text.slice(1);
  }
  return copies;
}

const wantOf = (place) =>
  want(
    place.querySelector(".exact")?.textContent,
    place.querySelector(".value").textContent,
    place.closest(".ask").querySelector("label").textContent,
  );

function judgeField(ask) {
  const field = ask.querySelector("input");
  if (!field.value.trim()) return ["empty", words.empty];
  const [own, ...others] = [ask, ...ask.querySelectorAll(".trap")];
  const verdict = judge(field.value, wantOf(own));
  if (["right", "digits", "unread"].includes(verdict)) return [verdict, words[verdict]];
  if (verdict === "long") return ["unread", words.long.replace("{limit}", LIMIT)];
  const trap = others.find((one) => ["right", "digits"].includes(judge(field.value, wantOf(one))));
  if (trap) {
    const nodes = [...trap.childNodes];
    const value = trap.querySelector(".exact") ?? trap.querySelector(".value");
    return ["wrong", ...copySentence(nodes.slice(nodes.indexOf(value) + 1))];
  }
  const hasHint = verdict === "wrong" && ask.closest(".exercise").querySelector("details.hint");
  return ["wrong", words[hasHint ? "hint" : verdict]];
}

/* What an answer was judged by, on a page that a reader has changed: a number follows the edit, and
   what is right among choices does not. */
function sayByWhat(ask) {
  if (ask.querySelector(".value.live-value")) return ` ${words.edited}`;
  const changed = "article :is(.live-changed, .live-value, .live-old)";
  const isChoice = ask.querySelector("input[type=radio]");
  return isChoice && document.querySelector(changed) ? ` ${words.published}` : "";
}

function judgeChoice(ask) {
  const chosen = ask.querySelector("input:checked");
  if (!chosen) return ["empty", words.empty];
  const isRight = chosen.value === "right";
  if (!isRight && countTries(ask, chosen) < 2) return ["wrong", words.again];
  const why = chosen.parentElement.querySelector(".why");
  const said = words[isRight ? "right" : "not"];
  return [chosen.value, said, ...(why ? [" ", ...copySentence([...why.childNodes])] : [])];
}

function judgeProof(ask) {
  const order = [...ask.querySelectorAll("ol > li")].map((line) => line.textContent).join("\n");
  return judgeLines(ask, countTries(ask, order) > 1);
}

export function judgeForm(form) {
  const guess = form.closest(".guess");
  if (guess) {
    judgeGuess(form, guess.querySelector("details.answer"));
    return;
  }
  const verdicts = [...form.querySelectorAll(".ask")].map((ask) => {
    const isLines = ask.matches(".proof-lines");
    const judgeAsk = isLines ? judgeProof : ask.matches("fieldset") ? judgeChoice : judgeField;
    const [verdict, ...said] = judgeAsk(ask);
    const output = ask.querySelector("output");
    output.className = verdict;
    output.replaceChildren(...said, verdict === "empty" ? "" : sayByWhat(ask));
    return verdict;
  });
  const exercise = form.closest(".exercise");
  const isRight = verdicts.every((one) => one === "right");
  if (isRight) note(exercise.id);
  else
    form.querySelector("output:not(.right)").closest(".ask").querySelector("input, button").focus();
  if (exercise.dataset.kind !== "predict" || verdicts.includes("empty")) return;
  // A prediction is compared with the run, whatever it is, but not before a second thought.
  const fields = [...form.querySelectorAll("input")];
  const answers = fields.map((one) => (one.type === "radio" ? one.checked : one.value));
  if (isRight || countTries(form, answers.join("\n")) > 1)
    exercise.querySelector("details.answer").open = true;
}

/* Right or wrong, a guess gets the reason, and is not counted. */
function judgeGuess(form, answer) {
  const chosen = form.querySelector("input:checked");
  const output = form.querySelector("output");
  output.className = chosen?.value ?? "empty";
  if (!chosen) {
    output.textContent = words.empty;
    return;
  }
  output.textContent = words[chosen.value === "right" ? "right" : "other"] + sayByWhat(form);
  for (const { value, checked, parentElement } of form.querySelectorAll("input"))
    parentElement.dataset.judged = value === "right" || checked ? value : "";
  answer.open = true;
  findStepper(form.closest(".guess"))?.dispatchEvent(new Event("guessed", { bubbles: true }));
  // The button waits until the reader chooses something else.
  const button = form.querySelector("button");
  button.setAttribute("aria-disabled", "true"); // it keeps the focus
  form.addEventListener("change", () => button.removeAttribute("aria-disabled"), { once: true });
}

/* The figure below a guess that has a setting for its answer. */
function findStepper(guess) {
  let one = guess.nextElementSibling;
  while (one?.matches(".block, .live-place, p")) one = one.nextElementSibling;
  return one?.querySelector(".stepper[data-answer]");
}

/* --- what was solved, in this browser alone */

// the same in all languages, and with index.html in the address
const page = location.pathname
  .replace(/index\.html$/, "")
  .split("/")
  .filter(Boolean)
  .at(-1);

function note(id) {
  update(SOLVED, (solved) => ({
    ...solved,
    [page]: [...new Set([...(solved[page] ?? []), id])],
  }));
  showCount();
}

const written = [...document.querySelectorAll(".exercise[data-kind=write]")];
const asked = [...document.querySelectorAll(".exercise")].filter(
  (one) => written.includes(one) || one.querySelector("form.asks"),
);
// The page judges a question about a proof, and not the proof, unless its lines are put in order.
const questions = asked.filter(
  (one) => one.dataset.kind === "proof" && !one.querySelector(".proof-lines"),
);
const judged = asked.filter((one) => !questions.includes(one));

export function showCount() {
  const done = new Set(read(SOLVED)[page]);
  for (const one of judged) one.classList.toggle("solved", done.has(one.id));
  for (const one of questions) one.classList.toggle("answered", done.has(one.id));
  let line = document.querySelector(".solved-count");
  if (!asked.some((one) => done.has(one.id))) {
    line?.remove();
    return;
  }
  if (!line) {
    line = document.createElement("p");
    line.className = "solved-count";
    line.setAttribute("role", "status");
    asked[0].before(line);
  }
  const fill = (template, all) =>
    template
      .replace("{done}", all.filter(({ id }) => done.has(id)).length)
      .replace("{all}", all.length);
  const said = [fill(words.solved, judged), " "];
  if (questions.length) said.push(fill(words.questions, questions), " ");
  line.replaceChildren(...said, ...offerTools(words, showCount));
}
watch(showCount);

/* A function that a reader writes is judged by a block of the page, in Python: see live/page.js. */
for (const exercise of written) {
  const look = () => {
    // the judge's own table: a block of the reader's may draw one like it
    const isRight = exercise.querySelector("#out-writing-checks th")?.textContent.startsWith("✓");
    if (isRight && !exercise.classList.contains("solved")) note(exercise.id);
  };
  new MutationObserver(look).observe(exercise, {
    childList: true,
    characterData: true,
    subtree: true,
  });
}
