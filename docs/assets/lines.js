/* A proof whose lines a reader puts in order: pressed, a line goes to the end of the proof, or back.
   Judged by what each line needs, so every order that is a proof is right. Loaded by site.js; the lists
   are written by attention_docs/site/render/asks.py. */
const words = JSON.parse(document.getElementById("__words").textContent).exercises;

/* Put a line into the proof, or take it out. */
export function moveLine(button) {
  const line = button.closest("li");
  const ask = button.closest(".proof-lines");
  const [proof, pool] = [ask.querySelector("ol"), ask.querySelector("ul")];
  if (button.classList.contains("up")) {
    line.previousElementSibling?.before(line);
  } else if (line.parentElement === pool) {
    proof.append(line);
    line.append(makeUp());
  } else {
    line.querySelector(".up").remove();
    pool.append(line);
  }
  button.focus();
  say(ask, line.parentElement === proof ? place(line) : words.out);
}

const place = (line) =>
  words.place.replace("{}", [...line.parentElement.children].indexOf(line) + 1);

function makeUp() {
  const up = document.createElement("button");
  Object.assign(up, { type: "button", className: "up", textContent: "↑", title: words.up });
  up.setAttribute("aria-label", words.up);
  return up;
}

function say(ask, text) {
  const output = ask.querySelector("output");
  output.className = "";
  output.textContent = text;
}

/* What the lines of a proof come to, and what is said of it: first whether, and at a second try why. */
export function judgeLines(ask, isSecond) {
  const lines = [...ask.querySelectorAll("ol > li")];
  if (!lines.length) return ["empty", words.noLines];
  const stranger = lines.find((line) => !line.dataset.line);
  if (stranger) {
    const why = isSecond ? [" ", ...stranger.querySelector(".why").cloneNode(true).childNodes] : [];
    return ["wrong", words.stranger.replace("{}", lines.indexOf(stranger) + 1), ...why];
  }
  const known = new Set();
  for (const [n, { dataset }] of lines.entries()) {
    if (dataset.needs.split(" ").some((one) => one && !known.has(one)))
      return ["wrong", words.early.replace("{}", n + 1)];
    known.add(dataset.line);
  }
  if (ask.querySelector("ul > [data-line]")) return ["wrong", words.unfinished];
  return ["right", words.right];
}
