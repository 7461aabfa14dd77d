/* What panels of the model that writes share: how a text is read, choices of a layer and a head, a map, a
   row of it in words, and a table that compares next tokens. */
import { explainBytes, showToken, toShare } from "../show.js";
import { element, fillTemplate } from "./dom.js";

export const LAYERS = 30;
export const HEADS = 9;
const LONGEST = 20_000; // characters that are handed on; far fewer are read
const PIECE = 16; // tokens, after which a reader can stop
const MARK = /<\|(?:im_start|im_end|endoftext)\|>/;

/* Read a text a piece at a time while `isWanted()`; `tell(count)` hears how many tokens were read. What the
   model says of all of them, as if it had been one question, or null where it was stopped. */
export async function readText(ask, { text, ...request }, isWanted, tell) {
  const first = { do: "read", text: text.slice(0, LONGEST), count: PIECE, ...request };
  const tokens = [];
  for (let said = await ask(first); said; said = await ask({ do: "read_on", count: PIECE })) {
    tokens.push(...said.tokens);
    if (!said.left || !isWanted())
      return { ...said, known: 0, tokens, isCut: said.isCut || said.left > 0 };
    tell(tokens.length);
  }
  return null;
}

/* What needs a word in a text and its tokens: a mark of a chat, which is one only where the template writes
   it, and bytes. */
export function explain(words, text, tokens) {
  const bytes = explainBytes(words, tokens);
  if (!MARK.test(text)) return [bytes];
  const chapter = document.querySelector('nav a[href$="assistant/"]'); // not in that chapter itself
  const link = chapter ? element("a", { href: chapter.href }, words.chat) : words.chat;
  const [before, after] = words.marks.split("{}");
  return [before, link, after, " ", bytes];
}

/* A choice of a number below `size`. */
export function chooseBelow(size, onchange) {
  const options = Array.from({ length: size }, (_, n) => element("option", {}, n));
  return element("select", { onchange }, ...options);
}

/* Another head of nine, at random. */
export const drawOther = (head) => (head + 1 + Math.floor(Math.random() * (HEADS - 1))) % HEADS;

/* The weights as shades, a row for each token that asks; the chosen `row` is marked. */
export function paintMap(canvas, map, row) {
  const n = map.length;
  canvas.style.setProperty("--from", `${(100 * row) / n}%`);
  canvas.style.setProperty("--to", `${(100 * (row + 1)) / n}%`);
  Object.assign(canvas, { width: n, height: n });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.fillStyle = getComputedStyle(canvas).color;
  pen.fillRect(0, 0, n, n);
  const image = pen.getImageData(0, 0, n, n);
  map.flat().forEach((weight, place) => {
    image.data[4 * place + 3] = 255 * weight;
  });
  pen.putImageData(image, 0, 0);
}

/* The largest weights of a row with their tokens. */
export function listLooks(row, tokens, most, comma) {
  const order = row.map((_, j) => j).sort((a, b) => row[b] - row[a]);
  const named = order.slice(0, most).filter((j) => row[j] >= 0.005);
  return named.map((j) => `${showToken(tokens[j][1])} ${row[j].toFixed(2)}`).join(comma);
}

/* What each model of `names` gives to the tokens that were compared. */
export function compareTable(words, names, { texts, shares }) {
  const rows = texts.map((text, n) => {
    const cells = shares.map((column) => element("td", {}, toShare(column[n])));
    const name = element("th", { scope: "row", translate: "no" }, showToken(text));
    return element("tr", {}, name, ...cells);
  });
  const heads = [words.token, ...names].map((one) => element("th", { scope: "col" }, one));
  const first = element("tr", {}, ...heads);
  return element("table", {}, element("thead", {}, first), element("tbody", {}, ...rows));
}

/* The same for the whole model, without the part `out`, and without `other`, drawn as a control. */
export function compareWithControl(words, [out, other], found) {
  const names = [words.whole, fillTemplate(words.without, out), fillTemplate(words.control, other)];
  return [
    compareTable(words, names, found),
    element("p", { class: "next-note" }, words.controlNote),
  ];
}
