/* A language model whose parts open (attention_docs/figures/machine.py): by press and by keys, one at each
   depth. It follows the beginning that a reader chooses, or the text that the model reads (next.js). */
import { showToken } from "../show.js";
import { fillTemplate, set } from "./instrument.js";
import { drawHead, drawTokens, fillLines, fit, listMost } from "./machine-beginning.js";
import { lay, listen, makeButtons, readDrawing } from "./machine-parts.js";

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const ADDRESS = "#machine-";
const TOLD = 500; // of a text, as wide as the longest beginning

export function begin({ root, stages, words, numbers, told }) {
  const drawings = stages.map(readDrawing);
  const { all } = drawings[0];
  const find = (key) => all.findIndex((one) => one.key === key);
  const [TOKENS, HEADS, closed] = [find("tokens"), find("heads"), told.textContent];
  const measured = numbers.heads.map((one) => one[1]);
  const trace = (i) => (i < 0 ? [] : [...trace(all.indexOf(all[i].above)), i]);
  let beginning = { ...numbers.beginning, tokens: numbers.tokens };
  let path = []; // the open parts by their places, each in the one before it
  let [head, asker, frame] = [0, beginning.prompt.length - 1, 0];
  let [title, known] = [];

  function drawBeginning() {
    const [layer, number] = numbers.heads[head];
    const texts = beginning.prompt.map((id) => showToken(beginning.tokens[id]));
    title = fillTemplate(words.head, { layer, head: number, text: fit(beginning.text, TOLD) });
    known = { title, tokens: texts, weights: beginning.weights[head], asker, words };
    for (const { all: parts, places } of drawings) {
      drawTokens(parts[TOKENS], places, texts, beginning.prompt);
      drawHead(parts[HEADS], known);
    }
  }

  function follow(text) {
    beginning = text;
    asker = beginning.prompt.length - 1;
    for (const { all: parts } of drawings) fillLines(parts, beginning, numbers.sizes, words);
    drawBeginning();
    go(path);
  }

  /* Parts open and close for a quarter of a second. */
  function show() {
    cancelAnimationFrame(frame);
    const begun = performance.now();
    const moves = drawings.flatMap((one) =>
      one.all.map((part, i) => [part, part.share, Number(path.includes(i))]),
    );
    for (const [part, , to] of moves) part.node.classList.toggle("open", to);
    for (const button of root.querySelectorAll("[data-opens]")) {
      const { opens, head: number = measured[head] } = button.dataset;
      const isOpen = path.includes(Number(opens)) && Number(number) === measured[head];
      set(button, { "aria-expanded": isOpen });
    }
    const step = (now) => {
      const t = calm.matches ? 1 : Math.min(1, Math.max(0, (now - begun) / 260));
      for (const [part, from, to] of moves) part.share = from + (to - from) * t * (2 - t);
      drawings.forEach(lay);
      if (t < 1) frame = requestAnimationFrame(step);
    };
    step(begun);
  }

  function tell() {
    const part = all[path.at(-1)];
    if (!part) return closed;
    const say = (name, some) => fillTemplate(words.opened, { part: name, parts: some.join(" · ") });
    if (part.key === "heads") return say(title, listMost(known));
    const nameOf = (one) => one.head.querySelector("text").textContent;
    return say(nameOf(part), part.key === "tokens" ? known.tokens : part.parts.map(nameOf));
  }

  function go(next) {
    path = next;
    show();
    told.textContent = tell();
  }

  function openHead(number) {
    head = Math.max(0, measured.indexOf(Number(number)));
    drawBeginning();
    go(trace(HEADS));
  }

  /* What a reader opens stands in the address. */
  function press(button, stage) {
    const { opens, head: number, row } = button.dataset;
    if (row) {
      asker = Number(row);
      drawBeginning();
      go(path);
      stage.querySelector(`[data-row="${row}"]`).focus();
    } else if (button.ariaExpanded === "true") go(trace(Number(opens)).slice(0, -1));
    else if (number) openHead(number);
    else go(trace(Number(opens)));
    const last = all[path.at(-1)]?.key;
    const said = last && ADDRESS + last + (last === "heads" ? `.${measured[head]}` : "");
    history.replaceState(history.state, "", said ?? location.pathname + location.search);
  }

  listen(root, press);
  for (const drawing of drawings) makeButtons(drawing, HEADS);
  const readAddress = () => {
    if (!location.hash.startsWith(ADDRESS)) return;
    const [key, number] = location.hash.slice(ADDRESS.length).split(".");
    const i = find(key);
    if (i === HEADS) openHead(number);
    else if (i >= 0) go(all[i].inside ? trace(i) : trace(i).slice(0, -1));
    root.scrollIntoView({ block: "nearest" });
  };
  drawBeginning();
  const drawn = document.querySelector("section.next-token")?.panel.drawn;
  if (drawn) follow(drawn);
  else show();
  document.addEventListener("beginning", ({ detail }) => follow(detail));
  readAddress();
  addEventListener("hashchange", readAddress);
}
