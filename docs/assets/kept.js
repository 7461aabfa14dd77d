/* What this browser alone keeps of a reader: solved exercises, and cards that come back. */

import { MOST } from "./fsrs.js";

export const SOLVED = "solved exercises";
export const CARDS = "review cards";

const unstored = new Map(); // what the storage did not take: it lasts as long as the page

/* Days from 1970 where the reader is. */
export function countDays() {
  const now = new Date();
  return Math.floor((now.getTime() - now.getTimezoneOffset() * 60_000) / 86_400_000);
}

/* What each name holds: of a page, its exercises; of a card, what fsrs.js says of it, or, from before,
   how often it was known in a row and the day it is due. The day comes last. */
const IS_KEPT = {
  [SOLVED]: (ids) => Array.isArray(ids) && ids.every((id) => typeof id === "string"),
  [CARDS]: (card) =>
    Array.isArray(card) &&
    (card.length === 2 || (card.length === 4 && card[0] > 0 && card[1] >= 1 && card[1] <= 10)) &&
    card.every(Number.isFinite) &&
    card.at(-1) < countDays() + 2 * MOST, // clocks are set back, but not by decades
};

/* Only what may be kept; no page of a file written by hand finds the members of every object. */
function clean(name, found) {
  const entries = Object.entries(found && typeof found === "object" ? found : {});
  const kept = Object.fromEntries(entries.filter(([, one]) => IS_KEPT[name](one)));
  return Object.setPrototypeOf(kept, null);
}

/* What is kept under a name; nothing where a browser stores nothing, or holds something else there. */
export function read(name) {
  if (unstored.has(name)) return clean(name, unstored.get(name));
  try {
    return clean(name, JSON.parse(localStorage.getItem(name)));
  } catch {
    return {};
  }
}

/* Change what is kept. It is read anew: another tab may have changed it. */
export function update(name, change) {
  const value = change(read(name));
  try {
    if (Object.keys(value).length) localStorage.setItem(name, JSON.stringify(value));
    else localStorage.removeItem(name);
    unstored.delete(name);
  } catch {
    unstored.set(name, value); // a browser that stores nothing, or no more
  }
}

/* Call when another tab has changed something. */
export const watch = (changed) =>
  addEventListener("storage", ({ key }) => (key === null || key in IS_KEPT) && changed());

/* Three buttons: all of it as a file, such a file read back, and all of it gone. */
export function offerTools(words, changed) {
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  if (unstored.size) said.textContent = words.unstored;
  const erase = () => {
    for (const name of Object.keys(IS_KEPT)) update(name, () => ({}));
    changed();
  };
  const take = async () => {
    const text = await choose();
    if (readBack(text)) changed();
    else said.textContent = words.foreign;
  };
  const buttons = [
    offer(words.export, download),
    offer(words.import, take),
    offer(words.erase, erase),
  ];
  return [...buttons.flatMap((button) => [button, " "]), said];
}

export function offer(text, press) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", press);
  return button;
}

function download() {
  const link = document.createElement("a");
  const all = { [SOLVED]: read(SOLVED), [CARDS]: read(CARDS) };
  const file = new Blob([JSON.stringify(all, null, 2)], { type: "application/json" });
  link.href = URL.createObjectURL(file);
  link.download = "attention-progress.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function choose() {
  const field = Object.assign(document.createElement("input"), { type: "file", accept: ".json" });
  return new Promise((resolve) => {
    field.addEventListener("change", () => resolve(field.files[0].text()));
    field.click();
  });
}

/* Add what a file holds to what is kept; false if it is none of ours. */
function readBack(text) {
  let all;
  try {
    all = JSON.parse(text);
  } catch {
    return false;
  }
  if (!all || ![SOLVED, CARDS].some((name) => name in Object(all))) return false;
  const solved = clean(SOLVED, all[SOLVED]);
  update(SOLVED, (kept) => {
    const added = Object.entries(solved).map(([page, ids]) => [
      page,
      [...new Set([...(kept[page] ?? []), ...ids])],
    ]);
    return { ...kept, ...Object.fromEntries(added) };
  });
  // Of a card that both hold, what was learned last: it is due later.
  const cards = Object.entries(clean(CARDS, all[CARDS]));
  update(CARDS, (kept) => {
    const later = cards.filter(([id, card]) => !(kept[id]?.at(-1) >= card.at(-1)));
    return { ...kept, ...Object.fromEntries(later) };
  });
  return true;
}
