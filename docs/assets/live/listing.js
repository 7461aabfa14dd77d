/* The code that a page shows, with what a knob or a closed editor has changed in it. */
import { element } from "./dom.js";

/* Show `code` in the place of `base`, whose HTML is `published`: what is the same keeps its colours. */
export function showCode(place, published, base, code) {
  place.innerHTML = published;
  const copy = place.parentElement.querySelector("[data-clipboard-text]");
  if (copy) copy.dataset.clipboardText = code.trimEnd();
  if (code === base) return;
  const [then, now] = [base, code].map((text) => text.trimEnd().split("\n"));
  if (then.length !== now.length || place.textContent.trimEnd() !== base.trimEnd()) {
    place.textContent = `${code.trimEnd()}\n`;
    return;
  }
  let end = then.join("\n").length;
  for (let n = then.length - 1; n >= 0; n -= 1) {
    const start = end - then[n].length;
    if (now[n] !== then[n]) replaceIn(place, start, then[n], now[n]);
    end = start - 1;
  }
}

/* Replace what two lines do not share, whole words of it. */
function replaceIn(place, start, old, line) {
  const isPart = (text, at) => /[\w.]/.test(text[at] ?? " ");
  let first = 0;
  while (first < old.length && old[first] === line[first]) first += 1;
  while (first && isPart(old, first - 1)) first -= 1;
  let last = 0;
  const shorter = Math.min(old.length, line.length) - first;
  while (last < shorter && old.at(-1 - last) === line.at(-1 - last)) last += 1;
  while (last && isPart(old, old.length - last)) last -= 1;
  const range = document.createRange();
  range.setStart(...findPlace(place, start + first));
  range.setEnd(...findPlace(place, start + old.length - last));
  range.deleteContents();
  range.insertNode(element("mark", {}, line.slice(first, line.length - last)));
}

/* The text node that holds a character, and where in it. */
function findPlace(place, offset) {
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  let before = 0;
  while (walker.nextNode()) {
    const { data } = walker.currentNode;
    if (offset <= before + data.length) return [walker.currentNode, offset - before];
    before += data.length;
  }
  return [place, place.childNodes.length];
}
