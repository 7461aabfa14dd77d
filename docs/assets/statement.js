/* A sheet to print: which exercises were solved in this browser. It says itself that it proves nothing.
   The names of the exercises come with the page of cards (attention_docs/site/render/recall.py). */

import { read, SOLVED } from "./kept.js";

function make(tag, text, ...inner) {
  const element = Object.assign(document.createElement(tag), { textContent: text });
  element.append(...inner);
  return element;
}

/* The solved exercises by chapter, in the order of the site; one that it does not have is left out. */
function listSolved(chapters) {
  const solved = read(SOLVED);
  return chapters
    .map(([slug, title, exercises]) => ({
      title,
      all: Object.keys(exercises).length,
      names: Object.entries(exercises)
        .filter(([id]) => solved[slug]?.includes(id))
        .map(([, name]) => name),
    }))
    .filter(({ names }) => names.length);
}

function makeSheet(words, exercises) {
  const chapters = listSolved(exercises);
  const date = new Date().toLocaleDateString(document.documentElement.lang);
  const sheet = document.createElement("section");
  sheet.className = "solved-sheet md-typeset";
  sheet.append(
    make("h1", words.title),
    make("p", `${words.name} ____________________`),
    make("p", words.printed.replace("{date}", date)),
    make("p", words.proves),
  );
  if (!chapters.length) sheet.append(make("p", words.none));
  for (const { title, all, names } of chapters) {
    sheet.append(
      make("h2", `${title} (${names.length}/${all})`),
      make("ul", "", ...names.map((name) => make("li", name))),
    );
  }
  return sheet;
}

/* `exercises` has each chapter with its name, its title and its exercises by their ids. */
export function printStatement(words, exercises) {
  const sheet = makeSheet(words, exercises);
  const root = document.documentElement;
  root.dataset.print = "solved";
  document.body.append(sheet);
  addEventListener(
    "afterprint",
    () => {
      sheet.remove();
      delete root.dataset.print;
    },
    { once: true },
  );
  print();
}
