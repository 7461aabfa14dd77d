/* A language model whose parts open (attention_docs/figures/machine.py): by press and by keys, one at each
   depth. It follows the beginning that a reader chooses (../live/next.js). */
import { fillTemplate, set } from "./instrument.js";
import { drawHead, drawTokens, fillLines, showToken } from "./machine-beginning.js";
import { lay, readDrawing } from "./machine-parts.js";

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const ADDRESS = "#machine-";

export function begin({ root, stages, words, numbers, told }) {
  const drawings = stages.map(readDrawing);
  const { all } = drawings[0];
  const find = (key) => all.findIndex((one) => one.key === key);
  const [TOKENS, HEADS, closed] = [find("tokens"), find("heads"), told.textContent];
  const trace = (i) => (i < 0 ? [] : [...trace(all.indexOf(all[i].above)), i]);
  let { beginning, tokens } = numbers;
  let path = []; // the open parts by their places, each in the one before it
  let [head, asker, frame] = [0, beginning.prompt.length - 1, 0];
  let texts, title;

  function drawBeginning() {
    const [layer, number] = numbers.heads[head];
    texts = beginning.prompt.map((id) => showToken(tokens[id]));
    title = fillTemplate(words.head, { layer, head: number });
    const known = { title, tokens: texts, weights: beginning.weights[head], asker, words };
    for (const { all: parts, places } of drawings) {
      drawTokens(parts[TOKENS], places, texts, beginning.prompt);
      drawHead(parts[HEADS], known);
    }
  }

  function follow({ kept, number }) {
    beginning = kept.beginnings[number];
    tokens = kept.tokens;
    asker = beginning.prompt.length - 1;
    for (const { all: parts } of drawings)
      fillLines(parts, beginning, tokens[beginning.ids[0]], numbers.sizes, words);
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
      const isHead = [undefined, `${numbers.heads[head][1]}`].includes(button.dataset.head);
      set(button, { "aria-expanded": path.includes(Number(button.dataset.opens)) && isHead });
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
    const nameOf = (one) => one.head.querySelector("text").textContent;
    const say = (name, some) =>
      fillTemplate(words.opened, { part: name, parts: some.join(words.comma) });
    if (part.key !== "heads")
      return say(nameOf(part), part.key === "tokens" ? texts : part.parts.map(nameOf));
    const row = beginning.weights[head].slice((asker * (asker + 1)) / 2).slice(0, asker + 1);
    const most = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, 3);
    const weights = most.map((n) => `${texts[n]} ${(row[n] / 1000).toFixed(3)}`);
    weights[0] = fillTemplate(words.weights, { token: texts[asker], weights: weights[0] });
    return say(title, weights);
  }

  function go(next) {
    path = next;
    show();
    told.textContent = tell();
  }

  function openHead(number) {
    head = Math.max(
      0,
      numbers.heads.findIndex((one) => one[1] === Number(number)),
    );
    drawBeginning();
    go(trace(HEADS));
  }

  /* What a reader opens or asks stands in the address. */
  function press({ dataset }, stage) {
    const { opens, head: number, row } = dataset;
    const isOpen =
      path.includes(Number(opens)) && [undefined, `${numbers.heads[head][1]}`].includes(number);
    if (row) {
      asker = Number(row);
      drawBeginning();
      go(path);
      stage.querySelector(`[data-row="${row}"]`).focus();
    } else if (isOpen) go(trace(Number(opens)).slice(0, -1));
    else if (number) openHead(number);
    else go(trace(Number(opens)));
    const last = all[path.at(-1)]?.key;
    const said = last && ADDRESS + last + (last === "heads" ? `.${numbers.heads[head][1]}` : "");
    history.replaceState(history.state, "", said ?? location.pathname + location.search);
  }

  root.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-opens], [data-row]");
    if (pressed) press(pressed, pressed.closest(".stage"));
  });
  root.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const stage = target.closest(".stage");
    if (event.altKey || event.ctrlKey || event.metaKey || !stage) return;
    const way = { ArrowUp: -1, ArrowDown: 1 }[key];
    const shown = [...stage.querySelectorAll("[tabindex], a")].filter(
      (one) => getComputedStyle(one).visibility === "visible",
    );
    if (way) shown[shown.indexOf(target) + way]?.focus();
    else if ((key === "Enter" || key === " ") && target.tabIndex === 0 && target.role)
      press(target, stage);
    else if (key === "ArrowRight" && target.ariaExpanded === "false") press(target, stage);
    else if (key === "Escape" || key === "ArrowLeft") {
      // The innermost open part around it.
      const around = [...stage.querySelectorAll('[aria-expanded="true"]')].filter((one) =>
        one.closest(".part").contains(target),
      );
      if (!around.length) return;
      around.at(-1).focus();
      press(around.at(-1), stage);
    } else return;
    event.preventDefault();
  });

  for (const { svg, all: parts } of drawings) {
    svg.removeAttribute("aria-hidden");
    const makeButton = (node, i) => set(node, { role: "button", tabindex: 0, "data-opens": i });
    parts.forEach((part, i) => {
      if (part.inside && i !== HEADS) makeButton(part.head, i);
    });
    for (const square of svg.querySelectorAll(".square:not(.closed)")) makeButton(square, HEADS);
  }
  const readAddress = () => {
    if (!location.hash.startsWith(ADDRESS)) return;
    const [key, number] = location.hash.slice(ADDRESS.length).split(".");
    const i = find(key);
    if (i === HEADS) openHead(number);
    else if (i >= 0) go(all[i].inside ? trace(i) : trace(i).slice(0, -1));
    root.scrollIntoView({ block: "nearest" });
  };
  drawBeginning();
  const panel = document.querySelector("section.next-token")?.panel;
  if (panel) follow(panel);
  else show();
  document.addEventListener("beginning", ({ detail }) => follow(detail));
  readAddress();
  addEventListener("hashchange", readAddress);
}
