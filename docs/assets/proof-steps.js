/* A proof that opens sentence by sentence: below each, what is then left to prove. Loaded by site.js
   when a reader opens a proof; the goals are written by attention_docs/site/publish/proof_goals.py.
   Where they cannot be had, the proof stays as it stands on the page. */
const RULER = "  ===="; // below it begins what is to be proved
const files = new Map();

function load(chapter) {
  if (!files.has(chapter)) {
    const address = new URL(`proofs/${chapter}.json`, import.meta.url);
    files.set(
      chapter,
      fetch(address).then((answer) => {
        if (!answer.ok) throw new Error(`${answer.status} ${address}`);
        return answer.json();
      }),
    );
  }
  return files.get(chapter);
}

/* Put the sentences of a proof, each a fold with its goals, in place of its text. */
export async function layOut(place) {
  if (place.querySelector("details")) return;
  const [chapter, name] = place.dataset.proof.split(".");
  try {
    const { lines, proofs } = await load(chapter);
    let known = new Set();
    const steps = proofs[name].map(([sentence, numbers]) => {
      const goals = numbers.map((number) => lines[number]);
      const step = makeStep(sentence, leaveOutKnown(goals, known));
      known = new Set(goals);
      return step;
    });
    place.replaceChildren(...steps);
  } catch {
    files.delete(chapter);
  }
}

function makeStep(sentence, goals) {
  const step = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = sentence;
  const shown = document.createElement("pre");
  shown.textContent = goals.join("\n");
  step.append(summary, shown);
  return step;
}

/* Goals with "…" for what is given as it was before the sentence. */
function leaveOutKnown(goals, known) {
  const end = goals.findIndex((line) => line.startsWith(RULER));
  if (end < 0) return goals;
  const given = goals.slice(0, end);
  const kept = given.filter((line) => !known.has(line));
  const dots = kept.length < end ? ["  …"] : [];
  return [...dots, ...kept, ...goals.slice(end)];
}
