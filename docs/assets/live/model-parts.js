/* What panels of the model that writes share: choices of a layer and a head, a map, a row of it in words,
   and a table that compares next tokens. */
import { element } from "./dom.js";
import { showToken } from "./next-bars.js";

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

/* The weights as shades, a row for each token that asks. */
export function paintMap(canvas, map) {
  const n = map.length;
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

export const toShare = (nats) => `${(100 * Math.exp(-nats)).toFixed(1)}%`;

/* The ten of the first of `columns`, pairs of a name and next tokens, and what the others give them. */
export function compareTable(words, columns) {
  const [, before] = columns[0];
  const share = (node, id) => {
    const n = node.ids.indexOf(id);
    return n < 0 ? words.below : toShare(node.nats[n]);
  };
  const rows = before.ids.map((id, n) => {
    const cells = columns.map(([, node]) => element("td", {}, share(node, id)));
    const name = element("th", { scope: "row", translate: "no" }, showToken(before.texts[n]));
    return element("tr", {}, name, ...cells);
  });
  const names = [words.token, ...columns.map(([name]) => name)];
  const first = element("tr", {}, ...names.map((one) => element("th", { scope: "col" }, one)));
  return element("table", {}, element("thead", {}, first), element("tbody", {}, ...rows));
}

/* The seconds that tokens took: a bar each, `series` by `series` side by side. */
export function drawTimes(canvas, series, count) {
  const pen = canvas.getContext("2d");
  const { width, height } = canvas;
  pen.clearRect(0, 0, width, height);
  const most = Math.max(...series.flat());
  const each = width / count;
  series.forEach((took, k) => {
    const colour = getComputedStyle(canvas).getPropertyValue(`--series-${k}`);
    pen.fillStyle = colour || getComputedStyle(canvas).color;
    took.forEach((one, n) => {
      const high = ((height - 4) * one) / most;
      const wide = (each - 2) / series.length;
      pen.fillRect(n * each + k * wide, height - high, wide, high);
    });
  });
}
