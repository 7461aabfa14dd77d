/* What panels of the model that writes share: choices of a layer and a head, a map, a row of it in words,
   and a table that compares next tokens. */
import { element, fillTemplate } from "./dom.js";
import { showToken, toShare } from "./show.js";

export const LAYERS = 30;
export const HEADS = 9;
export const LONGEST = 20_000; // characters that are handed on; far fewer are read

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
