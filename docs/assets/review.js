/* Brings the cards of all chapters back after growing intervals, one at a time.
   The page holds them as folds (attention_docs/site/render/recall.py); without this script it is a list. */

import { fromLevel, schedule } from "./fsrs.js";
import { CARDS, countDays, offer, offerTools, read, update, watch } from "./kept.js";
import { printStatement } from "./statement.js";

const words = JSON.parse(document.getElementById("__words").textContent).review;
const ALL = "";
const cards = listCards();

function formatDay(day) {
  return new Date(day * 86_400_000).toLocaleDateString(document.documentElement.lang, {
    timeZone: "UTC",
  });
}

/* --- the cards of the page, each with the heading that it stands under */

function listCards() {
  const found = [];
  let chapter;
  for (const one of document.querySelectorAll("article h2[id], article details.recall")) {
    if (one.localName === "h2") {
      const title = one.cloneNode(true);
      title.querySelector(".headerlink")?.remove();
      chapter = { id: one.id, title: title.textContent };
    } else {
      const [summary, inside] = one.children;
      found.push({ id: inside.id, chapter, summary, inside });
    }
  }
  return found;
}

/* What is due, what was seen longest ago first, then what is new in the order of the page. */
function listDue(chapter) {
  const progress = read(CARDS);
  const day = countDays();
  const due = cards.filter(
    ({ id, chapter: own }) =>
      (chapter === ALL || own.id === chapter) && (progress[id]?.at(-1) ?? day) <= day,
  );
  const rank = ({ id }) => progress[id]?.at(-1) ?? Number.POSITIVE_INFINITY;
  return due.sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
}

/* --- one card at a time */

function make(tag, name, ...inner) {
  const element = Object.assign(document.createElement(tag), { className: name });
  element.append(...inner);
  return element;
}

function copy(element) {
  const held = make("div", "");
  held.append(...[...element.childNodes].map((one) => one.cloneNode(true)));
  for (const one of held.querySelectorAll("[id]")) one.removeAttribute("id");
  return [...held.childNodes];
}

export function begin(place) {
  const choice = make("select", "", new Option(words.chapters, ALL));
  const chapters = new Map(cards.map(({ chapter }) => [chapter.id, chapter.title]));
  for (const [id, title] of chapters) choice.append(new Option(title, id));
  const status = make("p", "review-status");
  status.setAttribute("role", "status");
  const card = make("div", "review-card");
  const kept = make("p", "review-kept");
  const panel = make(
    "section",
    "review",
    make("label", "", `${words.from} `, choice),
    status,
    card,
    kept,
  );
  panel.setAttribute("aria-label", words.title);
  let queue = [];

  function count() {
    const all = choice.value === ALL ? cards.length : cards.filter(isChosen).length;
    status.textContent = words.due.replace("{n}", queue.length).replace("{all}", all);
  }
  function isChosen({ chapter }) {
    return choice.value === ALL || chapter.id === choice.value;
  }

  /* The next question; `moves` says whether a reader was at the last one. */
  function ask(moves) {
    count();
    const [next] = queue;
    if (!next) {
      finish(moves);
      return;
    }
    const question = make("p", "review-question", ...copy(next.summary));
    const show = offer(words.show, () => answer(next, question));
    show.className = "md-button";
    card.replaceChildren(make("p", "review-from", next.chapter.title), question, show);
    if (moves) reach(question);
  }

  function answer(shown, question) {
    const stored = read(CARDS)[shown.id];
    const before = stored?.length === 2 ? fromLevel(stored) : stored;
    const known = schedule(before, true, countDays());
    const days = known.at(-1) - countDays();
    const knew = offer(days === 1 ? words.knewOne : words.knew.replace("{n}", days), () =>
      grade(shown, known),
    );
    const notYet = offer(words.notYet, () => grade(shown, schedule(before, false, countDays())));
    for (const button of [knew, notYet]) button.className = "md-button";
    const said = make("div", "review-answer", ...copy(shown.inside));
    card.replaceChildren(
      card.firstChild,
      question,
      said,
      make("p", "review-buttons", knew, notYet),
    );
    reach(said);
  }

  function grade(shown, graded) {
    update(CARDS, (progress) => ({ ...progress, [shown.id]: graded }));
    showTools();
    const isDue = graded.at(-1) <= countDays();
    queue = [...queue.slice(1), ...(isDue ? [shown] : [])];
    ask(true);
  }

  function finish(moves) {
    const progress = read(CARDS);
    const dates = cards.filter(isChosen).map(({ id }) => progress[id]?.at(-1) ?? 0);
    const back = words.back.replace("{date}", formatDay(Math.min(...dates)));
    const done = make("p", "review-done", `${words.done} ${back}`);
    card.replaceChildren(done);
    if (moves) reach(done);
  }

  function reach(element) {
    element.tabIndex = -1;
    element.focus();
  }

  function restart() {
    showTools();
    queue = listDue(choice.value);
    ask(false);
  }

  function showTools() {
    const statement = offer(words.statement.offer, () =>
      printStatement(words.statement, JSON.parse(place.dataset.exercises)),
    );
    kept.replaceChildren(`${words.kept} `, ...offerTools(words, restart), " ", statement);
  }

  choice.addEventListener("change", restart);
  // What another tab has graded is not asked again; the card at hand stays.
  watch(() => {
    const [current] = queue;
    queue = listDue(choice.value);
    if (!queue.includes(current)) restart();
    else queue = [current, ...queue.filter((card) => card !== current)];
    count();
  });
  restart();
  place.replaceChildren(panel);
}
