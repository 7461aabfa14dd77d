/* The search box: asks search.js, a worker, what a reader types, and lists what it finds. Loaded by
   site.js once a reader turns to the search. The index weighs more than a chapter. */
const box = document.querySelector(".md-search");
const words = JSON.parse(box.dataset.words);
const base = new URL(box.dataset.base.replace(/\/*$/, "/"), location.href);
const query = box.querySelector(".md-search__input");
const meta = box.querySelector(".md-search-result__meta");
const list = box.querySelector(".md-search-result__list");
const toggle = document.getElementById("__search");
const [SETUP, QUERY, RESULT] = [0, 2, 3]; // search.js

let asked = ""; // what was sent last
let isBusy = true; // the worker has not answered yet: of what is typed meanwhile only the last counts
let unknown = []; // words of the query that are on no page
const worker = new Worker(new URL("search.js", import.meta.url));
worker.addEventListener("message", ({ data: { type, data } }) => {
  isBusy = false;
  if (type === RESULT && asked === query.value.trim()) show(data);
  else ask();
});
const answer = await fetch(new URL("search/search_index.json", base));
worker.postMessage({ type: SETUP, data: await answer.json() });

function ask() {
  if (isBusy || query.value.trim() === asked) return;
  asked = query.value.trim();
  isBusy = asked !== "";
  if (isBusy) worker.postMessage({ type: QUERY, data: asked });
  else show({ items: [], unknown: [] });
}

function fill(one, other, count) {
  return (count === 1 ? one : other).replace("#", String(count));
}

function show({ items, unknown: lacking }) {
  unknown = lacking;
  if (!asked) meta.textContent = words.placeholder;
  else if (!items.length) meta.textContent = words.none;
  else meta.textContent = fill(words.one, words.other, items.length);
  if (unknown.length)
    meta.textContent = `${words.missing}: ${unknown.join(" ")}. ${meta.textContent}`;
  list.replaceChildren(...items.map(listPage));
  list.closest(".md-search__scrollwrap").scrollTop = 0;
}

/* A page: its title, the sections that answer as well as the best one, the others in a fold. */
function listPage(results) {
  const item = make("li", "md-search-result__item");
  const page = results.find(({ location: place }) => !place.includes("#")) ?? results[0];
  const sections = results.filter((one) => one !== page);
  const isBest = (one) => one.score >= results[0].score;
  const more = sections.filter((one) => !isBest(one));
  item.append(
    link(page, true, isBest(page)),
    ...sections.filter(isBest).map((one) => link(one, false, true)),
  );
  if (more.length) {
    const fold = make("details", "md-search-result__more");
    const summary = make("summary", "");
    summary.tabIndex = -1;
    summary.append(make("div", "", fill(words.more_one, words.more_other, more.length)));
    fold.append(summary, ...more.map((one) => link(one, false, false)));
    item.append(fold);
  }
  return item;
}

function link(result, isPage, isShown) {
  const anchor = make("a", "md-search-result__link");
  const url = new URL(result.location, base);
  const terms = Object.entries(result.terms ?? {});
  const found = terms.filter(([, hit]) => hit).map(([term]) => term);
  if (found.length) url.searchParams.set("h", found.join(" "));
  anchor.href = url;
  anchor.tabIndex = -1;
  const article = make("article", "md-search-result__article md-typeset");
  if (isPage) article.append(make("div", "md-search-result__icon md-icon"));
  const title = make(isPage ? "h1" : "h2", "");
  title.innerHTML = result.title; // escaped and marked by search.js
  article.append(title);
  if (result.text && isShown) article.insertAdjacentHTML("beforeend", result.text);
  const lacks = terms.filter(([term, hit]) => !hit && !unknown.includes(term));
  const missing = lacks.map(([term]) => make("del", "", term));
  if (isShown && missing.length) {
    const line = make("p", "md-search-result__terms", `${words.missing}: `);
    line.append(...missing.flatMap((term) => [term, " "]));
    article.append(line);
  }
  anchor.append(article);
  return anchor;
}

function make(tag, name, text = "") {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.textContent = text;
  return element;
}

/* --- by keys */

function close() {
  if (toggle.checked) toggle.click();
  query.blur();
}

box.addEventListener("keydown", (event) => {
  const stops = [query, ...list.querySelectorAll(":not(details) > a, summary, details[open] a")];
  const at = stops.indexOf(document.activeElement);
  if (event.key === "Escape") close();
  else if (event.key === "Enter" && at === 0) stops[1]?.click();
  else if (event.key === "ArrowDown") stops[(at + 1) % stops.length].focus();
  else if (event.key === "ArrowUp") stops[(at + stops.length - 1) % stops.length].focus();
  else return;
  if (event.key !== "Enter" || at === 0) event.preventDefault();
});
box.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
box.querySelector("form").addEventListener("reset", () => {
  setTimeout(ask); // the field is empty only then
  query.focus();
});
list.addEventListener("click", (event) => {
  if (event.target.closest("a") && toggle.checked) toggle.click();
});
query.addEventListener("input", ask);
meta.textContent = words.placeholder;
