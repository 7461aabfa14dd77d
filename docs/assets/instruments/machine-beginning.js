/* What a machine (machine.js) shows of a beginning: its tokens with their numbers, and how a head looks at them. */
import { showToken } from "../show.js";
import { fillTemplate, set } from "./instrument.js";

const [ROW, FIRST, SIZE] = [26, 40, 14]; // from token to token; below the titles; letters

function draw(tag, attributes, ...inner) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(node, attributes);
  node.append(...inner);
  return node;
}

/* A character of Chinese is a square, as attention_docs/figures/svg.py measures it. */
const measure = (characters) =>
  SIZE * characters.reduce((all, one) => all + (one.codePointAt() >= 0x2e80 ? 1 : 0.6), 0);

/* A text; the end of one that is too long, or its beginning. */
export function fit(text, room, cutsEnd = false) {
  const characters = [...text];
  while (measure(characters) > room) characters.splice(...(cutsEnd ? [-2, 2, "…"] : [0, 2, "…"]));
  return characters.join("");
}

/* The lines that say something of the beginning. */
export function fillLines(parts, { prompt, text, nats, ids, tokens }, sizes, words) {
  const known = {
    n: prompt.length,
    text,
    token: showToken(tokens[ids[0]]),
    p: Math.exp(-nats[0] / 1000).toFixed(3),
  };
  for (const [name, size] of Object.entries(sizes)) known[name] = size.toLocaleString("en");
  for (const { key, head } of parts.filter((one) =>
    ["text", "tokens", "vectors", "next"].includes(one.key),
  )) {
    const line = head.querySelector(".size");
    line.textContent = fit(fillTemplate(words[`${key}_size`], known), line.dataset.room);
  }
}

/* The tokens with their numbers, in columns. */
export function drawTokens(part, { columns }, tokens, ids) {
  const wide = (part.width - 34) / columns;
  const cells = tokens.map((token, n) => {
    const [x, y] = [34 + wide * (n % columns), part.closed + 14 + ROW * Math.floor(n / columns)];
    const number = draw("tspan", { class: "number", dx: 6 }, ids[n]);
    return draw("text", { x, y }, fit(token, wide - 66, true), number);
  });
  part.inside.replaceChildren(...cells);
  part.drawn = ROW * Math.ceil(tokens.length / columns);
}

/* One query, all keys, and between them lines as thick as the weights. */
export function drawHead(part, { title, tokens, weights, asker, words }) {
  const [top, high, wide] = [part.closed + 20, ROW - 4, (part.width - 70) * 0.36];
  const [left, keys, right] = [12, 12 + 1.5 * wide, part.width - 12];
  const line = (n) => top + FIRST + ROW * n;
  const shares = weights.slice((asker * (asker + 1)) / 2).slice(0, asker + 1);
  const write = (x, y, text, more = {}) => draw("text", { x, y, ...more }, text);
  const end = { "text-anchor": "end" };
  const box = (x, n, role) => [
    draw("rect", { x, y: line(n), width: wide, height: high, rx: 3, class: `hit ${role}` }),
    write(x + 6, line(n) + 16, fit(tokens[n], wide - 10, true)),
  ];
  const looks = shares.map((share, n) => {
    const [from, to, far] = [line(asker) + high / 2, line(n) + high / 2, wide / 4];
    const bend = `C${keys - far} ${from} ${left + wide + far} ${to} ${keys} ${to}`;
    const thick = Math.max(0.5, (high * share) / 1000);
    return draw("path", {
      d: `M${left + wide} ${from}${bend}`,
      class: "look",
      "stroke-width": thick,
    });
  });
  const rows = tokens.map((token, n) => {
    const share = n <= asker ? (shares[n] / 1000).toFixed(3) : "–";
    const names = { class: `row${n > asker ? " masked" : ""}`, "data-row": n, role: "button" };
    const state = {
      tabindex: 0,
      "aria-pressed": n === asker,
      "aria-label": `${fillTemplate(words.ask, { token })}, ${share}`,
    };
    return draw(
      "g",
      { ...names, ...state },
      ...box(keys, n, "key"),
      write(right, line(n) + 16, share, end),
    );
  });
  const heads = [
    write(left, top, fit(title, right - left, true), { "font-weight": 600 }),
    ...[
      [left, words.query],
      [keys, words.keys],
    ].map(([x, text]) => write(x, top + 27, text)),
    write(right, top + 27, words.weight, end),
  ];
  part.inside.replaceChildren(...heads, ...looks, ...box(left, asker, "query"), ...rows);
  part.drawn = 20 + FIRST + ROW * tokens.length;
}

/* Where the one that asks looks most. */
export function listMost({ tokens, weights, asker, words }) {
  const row = weights.slice((asker * (asker + 1)) / 2).slice(0, asker + 1);
  const most = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, 3);
  const list = most.map((n) => `${tokens[n]} ${(row[n] / 1000).toFixed(3)}`);
  return [
    fillTemplate(words.weights, { token: tokens[asker], weights: list[0] }),
    ...list.slice(1),
  ];
}
