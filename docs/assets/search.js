/* The search: finds what a reader typed, as it stands, in titles and text. A web worker that speaks
   the theme's protocol. It cuts nothing into words, so a Chinese phrase from the middle of a
   sentence is found like any other. The index is written by attention_docs/site/publish/search.py. */
"use strict";

const [SETUP, READY, QUERY, RESULT] = [0, 1, 2, 3];
const HAN = "\\p{Script=Han}";
const SHOWN = 150; // characters of a paragraph around a match
let docs = [];
let names = []; // of each thing: the page that defines it, then what it is called
let scripts = new Map(); // of a character that has several forms: all of them

addEventListener("message", ({ data: { type, data } }) => {
  if (type === SETUP) {
    const { asked } = data.config;
    docs = data.docs.map((doc) => {
      const { [doc.location]: question = "" } = asked;
      const text = [doc.text, ...(doc.code ?? [])].join("\n").toLowerCase();
      return { ...doc, asked: question, lower: [text, `${doc.title}\n${question}`.toLowerCase()] };
    });
    counts.clear();
    scripts = new Map(data.config.forms.flatMap((forms) => [...forms].map((one) => [one, forms])));
    names = data.config.names.map(([page, ...all]) => [page, all.map((one) => one.toLowerCase())]);
    postMessage({ type: READY });
  } else if (type === QUERY) {
    postMessage({ type: RESULT, data: search(data) });
  }
});

/* A term as a pattern: at the start of a word, spaces between Chinese and Latin as you like, Chinese
   in either script; the index k as typed or as set. */
function pattern(term) {
  const escaped = term
    .replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")
    .replace(/_k|ₖ/g, "(?:_k|ₖ)")
    .replace(/\\\^t$|ᵀ/giu, "(?:ᵀ|\\^t)");
  const loose = escaped.replace(
    new RegExp(`(?<=${HAN})(?!${HAN}|\\s)|(?<!${HAN}|\\s|^)(?=${HAN})`, "gu"),
    "\\s*",
  );
  const either = [...loose]
    .map((one) => (scripts.has(one) ? `[${scripts.get(one)}]` : one))
    .join("");
  const start = /^[\p{L}\d]/u.test(term) && !new RegExp(`^${HAN}`, "u").test(term);
  return new RegExp((start ? "(?<![\\p{L}\\d])(?<!\\d\\.)" : "") + either, "giu");
}

/* How a question begins and ends: what stands between is what is looked for. */
const ASKING =
  /^(?:什[么麼](?:是|叫)|何[谓謂]|what (?:is|are) (?:an? |the )?)|(?:(?:分[别別])?是什[么麼](?:意思)?|的[区區][别別])?[?？]?$/giu;

/* Whether two names are one, in whatever script. */
function isSameName(one, other) {
  const [a, b] = [[...one], [...other]];
  return a.length === b.length && a.every((c, i) => c === b[i] || scripts.get(c)?.includes(b[i]));
}

/* The same, but for a part of a compound: "attention" in scaled_dot_product_attention. */
const alone = (term) => new RegExp(`(?<![_-])${pattern(term).source}`, "giu");

/* A function that counts a term in a text of small letters. WebKit is slow at patterns that look
   behind themselves, so a plain term is looked for without one. */
function makeCounter(term) {
  const wanted = term.toLowerCase();
  if (!/^[a-z\d](?!.*(?:_k|\^t$))[ -~]*$/.test(wanted)) {
    const one = pattern(term);
    return (text) => text.match(one)?.length ?? 0;
  }
  return (text) => {
    let times = 0;
    for (let at = text.indexOf(wanted); at >= 0; ) {
      const isStart = !/(?:[\p{L}\d]|\d\.)$/u.test(text.slice(Math.max(0, at - 2), at));
      times += Number(isStart);
      at = text.indexOf(wanted, at + (isStart ? wanted.length : 1));
    }
    return times;
  };
}

/* How often a term stands in the text and in the title of each section, and what it weighs: a word
   of few sections says more. The ways to ask share most of their terms, and so do a query and what
   was typed before. */
const counts = new Map();
function countTerm(term) {
  if (!counts.has(term)) {
    if (counts.size > 500) counts.clear();
    const count = makeCounter(term);
    const found = docs.map(({ lower }) => lower.map(count));
    const among = found.filter(([inText, inTitle]) => inText + inTitle).length;
    counts.set(term, { found, among, weight: Math.log(1 + docs.length / (1 + among)) / 3 });
  }
  return counts.get(term);
}

const occurs = (term) => countTerm(term).among > 0;

/* The terms of a query. One that occurs nowhere gives way to its parts: Chinese in pairs of
   characters, a Latin word without its ending. */
function terms(query) {
  const found = query
    .split(/\s+/)
    .filter(Boolean)
    .flatMap((term) => {
      if (occurs(term)) return [term];
      const parts = term.match(new RegExp(`${HAN}+|[^\\p{Script=Han}]+`, "gu"));
      return parts.flatMap((part) => {
        if (occurs(part)) return [part];
        const letters = [...part];
        if (new RegExp(HAN, "u").test(part)) return letters.slice(1).map((b, i) => letters[i] + b);
        for (let end = letters.length - 1; end >= Math.max(5, letters.length - 3); end--) {
          if (occurs(part.slice(0, end))) return [part.slice(0, end)];
        }
        return [part];
      });
    });
  return [...new Set(found.map((term) => term.toLowerCase()))];
}

/* What is asked under other names: the query with what it names called otherwise, and the page that
   defines a thing that is all of the query. Another name is one term: its words stand together. */
function expandQuery(query) {
  const typed = query.trim().replace(/\s+/g, " ").toLowerCase();
  const asked = (!occurs(typed) && typed.replace(ASKING, "").trim()) || typed;
  const ways = new Map([[asked, terms(asked)]]);
  let home = "";
  for (const [page, all] of names) {
    const name =
      all.find((one) => isSameName(asked, one)) ??
      all.find((one) => one.length > 2 && asked.search(alone(one)) >= 0);
    if (!name) continue;
    if (isSameName(asked, name)) home ||= page;
    for (const other of all) {
      const way = asked.replace(alone(name), () => other);
      if (other === name || ways.has(way)) continue;
      const around = asked.split(alone(name)).flatMap(terms);
      if (occurs(other)) ways.set(way, [...new Set([other, ...around])]);
    }
  }
  const named = `${asked.replaceAll(" ", "-")}/`; // a page that has the query for its name
  if (docs.some(({ location }) => location === named)) home = named;
  return [[...ways].slice(0, 12), home];
}

/* The best of all ways to ask; what was typed counts most. What answers far worse than the best page
   is left out, and nearly all where a word of the query is on no page: that is said instead. */
function search(query) {
  const [ways, home] = expandQuery(query);
  const best = new Map();
  ways.forEach(([way, wanted], index) => {
    for (const group of rank(way, wanted)) {
      const page = group.results[0].location.split("#")[0];
      const score = group.score * (index ? 0.8 : 1) * (page === home ? 2 : 1);
      if (score > (best.get(page)?.score ?? 0)) best.set(page, { ...group, score });
    }
  });
  const found = [...best.values()].sort((a, b) => b.score - a.score);
  const unknown = [...ways.values()][0][1].filter((term) => !occurs(term));
  const least = (found[0]?.score ?? 0) / 20;
  const shown = found.filter(({ score }) => score >= least).slice(0, unknown.length ? 3 : Infinity);
  return { items: shown.map(markResults), unknown: found.length ? unknown : [] };
}

function rank(query, wanted) {
  if (!wanted.length) return [];
  const patterns = wanted.map(pattern);
  const together = pattern(query.trim().replace(/\s+/g, " "));
  const phrase = new RegExp(together.source.replace(/ /g, "[\\s\\p{P}]+"), "giu");
  const groups = new Map();
  const counted = wanted.map(countTerm);
  const weights = counted.map(({ weight }) => weight);
  for (const [place, doc] of docs.entries()) {
    const page = doc.location.split("#")[0];
    const result = rate(
      doc,
      wanted,
      counted.map(({ found }) => found[place]),
      weights,
      phrase,
    );
    if (!groups.has(page)) groups.set(page, { first: doc, results: [], score: 0 });
    if (result) groups.get(page).results.push(result);
  }
  const any = new RegExp(patterns.map(({ source }) => `(?:${source})`).join("|"), "giu");
  const answers = [...groups.values()].filter(({ results }) => results.length);
  for (const group of answers) {
    group.results.sort((a, b) => b.score - a.score);
    // The best section decides; what else the page says of it decides between equals.
    group.any = any;
    const rest = group.results.slice(1).reduce((sum, { score }) => sum + score, 0);
    group.score = group.results[0].score + rest / 10;
    if (!group.results.some(({ location }) => location === group.first.location)) {
      group.results.push({ ...group.first, text: "", score: 0, terms: {} });
    }
  }
  return answers;
}

/* How well a section answers in which each term stands so many times, and what of it is shown; null
   where none does. */
function rate(doc, wanted, times, weights, phrase) {
  let score = 0;
  const own = !doc.location.includes("#"); // the heading of a page says more than one of a section
  const hit = {};
  times.forEach(([inText, inTitle], index) => {
    hit[wanted[index]] = inText + inTitle > 0;
    const length = Math.min(1, wanted[index].length / doc.title.length);
    score += weights[index] * Math.log2(1 + inText);
    if (inTitle) score += weights[index] * (6 + 6 * length) * (own ? 1.5 : 1);
  });
  if (!score) return null;
  const sum = (all) => all.reduce((one, other) => one + other, 0);
  const share = sum(weights.filter((_, index) => hit[wanted[index]])) / sum(weights);
  score *= share ** 2;
  if (wanted.length > 1) {
    // The longer a phrase, the less it stands there by chance.
    score += (`${doc.title}\n${doc.asked ?? ""}`.search(phrase) >= 0 ? 6 : 0) * wanted.length;
    score += (doc.text.search(phrase) >= 0 ? 3 : 0) * wanted.length;
  }
  score *= doc.boost ?? 1;
  return { ...doc, score, terms: hit };
}

/* The sections of a page as they are shown. */
function markResults({ results, any }) {
  return results.map(({ lower, text, ...one }) => ({
    ...one,
    title: markMatches(one.title, any),
    text: one.score ? excerpt(text, any) : "",
  }));
}

/* The first two paragraphs with a match, cut around it. */
function excerpt(text, any) {
  const found = text
    .split("\n")
    .filter((line) => line.search(any) >= 0)
    .slice(0, 2);
  return found
    .map((line) => {
      const start = Math.max(0, line.search(any) - SHOWN / 3);
      const cut = line.slice(start, start + SHOWN);
      const before = start > 0 ? "…" : "";
      const after = start + SHOWN < line.length ? "…" : "";
      return `<p>${before}${markMatches(cut, any)}${after}</p>`;
    })
    .join("");
}

function markMatches(text, any) {
  const escapeHtml = (part) =>
    part.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  let out = "",
    end = 0;
  for (const match of text.matchAll(any)) {
    out += `${escapeHtml(text.slice(end, match.index))}<mark>${escapeHtml(match[0])}</mark>`;
    end = match.index + match[0].length;
  }
  return out + escapeHtml(text.slice(end));
}
