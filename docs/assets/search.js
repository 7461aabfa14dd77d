/* The search: finds what a reader typed, as it stands, in titles and text. A web worker that speaks
   the theme's protocol. The texts are not cut into words, so a Chinese phrase from the middle of a
   sentence is found like any other; the query is. The index is written by attention_docs/site/publish/search.py. */
"use strict";

const [SETUP, READY, QUERY, RESULT] = [0, 1, 2, 3];
const HAN = /\p{Script=Han}/u;
const BORDER = /(?<=\p{Script=Han}) +(?=\S)|(?<=\S) +(?=\p{Script=Han})/gu;
const BETWEEN = /(?<=\p{Script=Han})(?!\p{Script=Han}|$)|(?<!\p{Script=Han}|^)(?=\p{Script=Han})/gu;
const PIECE = /\p{Script=Han}+|[^\s\p{Script=Han}，。？！：；、（）《》]+/gu;
const OTHER = 0.7; // what another name counts for
const IN_PASSING = 0.6; // what a word counts for that no title has: it is seldom what is asked for
const HEAD = 2; // what a title counts for, beside the text
const SHOWN = 150; // characters of a paragraph around a match
let typical = 1; // characters of a section
let docs = [];
let corpus = ""; // all that can be found, to see whether a word occurs at all
let common = new Map(); // of a Latin word that occurs: how often
let heads = ""; // all titles
let kin = new Map(); // of a word, without its ending: the rows of near words that it stands in
let rows = []; // titles and questions, each with its features
let posts = new Map(); // of a feature: the rows that have it
let pages = new Map(); // of a page: what its titles and questions are made of
let sections = new Map(); // the same of a section
const FIRST = 3; // as many sections come first, on whichever pages
const PAGE = 0.2; // what it counts for that the titles and questions of a whole page are near
const SECTION = 1; // the same of a whole section
const ASKED = 4; // what it counts for that a section is asked just this
const ABOVE = 0.3; // what a word of the title of a page counts for in the lines of its sections
const QUOTED = 8; // what it counts for that a text has the query word for word
const UNSEEN = 0.8; // what a question counts for in a section that has no word of the query
const LONG = 0.6; // how far a long line is held against it
let names = new Map(); // of a name: what else the thing is called, and the page that defines it
let empty = new Set(); // words of a question that say nothing of its subject
let scripts = new Map(); // of a character that has several forms: the one that stands for all

addEventListener("message", ({ data: { type, data } }) => {
  if (type === SETUP) {
    setUp(data);
    postMessage({ type: READY });
  } else if (type === QUERY) {
    postMessage({ type: RESULT, data: search(data) });
  }
});

function setUp({ config, docs: entries }) {
  counts.clear();
  scripts = new Map(config.forms.flatMap((forms) => [...forms].map((one) => [one, forms[0]])));
  empty = new Set(config.empty.map(fold));
  names = new Map();
  config.names.forEach(([page, ...all], group) => {
    const folded = [...new Set(all.map(fold))];
    for (const name of folded) {
      const known = names.get(name) ?? { page: "", others: new Set(), groups: [] };
      known.page ||= page;
      known.groups.push(group);
      for (const other of folded) if (other !== name) known.others.add(other);
      names.set(name, known);
    }
  });
  kin = new Map();
  config.near.forEach((all, group) => {
    for (const word of all.map((one) => trim(fold(one))))
      kin.set(word, [...(kin.get(word) ?? []), `near ${group}`]);
  });
  docs = entries.map((doc) => {
    const lines = [doc.title, doc.title.split(/[:：]/)[0]].filter(Boolean).map(fold);
    const asked = (config.asked[doc.location] ?? "").split("\n").filter(Boolean).map(fold);
    const body = fold([doc.text, ...(doc.code ?? [])].join("\n"));
    return { ...doc, page: doc.location.split("#")[0], body, lines: [...new Set(lines)], asked };
  });
  const pages = new Map(docs.map(({ location, lines }) => [location, lines[0]]));
  for (const doc of docs) {
    doc.head = pages.get(doc.page) ?? "";
    doc.sizes = doc.lines.map(measure);
  }
  typical = docs.reduce((sum, { body }) => sum + body.length, 0) / docs.length;
  heads = docs.flatMap(({ lines }) => lines).join("\n");
  const questions = docs.flatMap(({ asked }) => asked);
  corpus = [...docs.map(({ body }) => body), heads, ...questions].join("\n");
  common = new Map();
  for (const [word] of corpus.matchAll(/[a-z]{3,}/g)) common.set(word, (common.get(word) ?? 0) + 1);
  compareLines();
}

/* What is written in several ways, in one: small letters, one script, no space between Chinese and
   Latin, no hyphen between letters, no apostrophe, indices, powers and roots as they are typed. */
function fold(text) {
  const plain = text
    .toLowerCase()
    .replace(/['’‘`]/g, "")
    .replace(/[ₖ²ᵀ−]/g, (sign) => ({ ₖ: "_k", "²": "^2", ᵀ: "^t", "−": "-" })[sign])
    .replace(/(?<=\p{L})[-–](?=\p{L})/gu, " ")
    .replace(/(?<![\p{Script=Latin}\d_])d(?=[kv](?![\p{L}\d_]))/gu, "d_")
    .replace(/(?:(?<![a-z])sqrt|根号|square root of) ?\(?(?=d(?:_|$| ))/gu, "√");
  const one = scripts.size ? plain.replace(/\p{Script=Han}/gu, (c) => scripts.get(c) ?? c) : plain;
  return one.replace(BORDER, "").trim();
}

/* How many words a line has that say something. */
function measure(line) {
  const latin = (line.match(/[^\s\p{Script=Han}]+/gu) ?? []).filter((word) => !empty.has(word));
  return latin.length + (line.match(/\p{Script=Han}/gu) ?? []).length / 2;
}

/* --- what is looked for */

const ENDING = /^(?:(.)?(?:ing|ed|er|ers))$|^(?:e|es|s|d|ed|ing|y|ies|ied|er|ers|ar)?$/;

/* The part of an English word that its forms share: mask of masking, queri of queries. */
function stem(word) {
  if (!/^[a-z]{4,}$/.test(word)) return word;
  const bare = word
    .replace(/(?<=[a-z]{3})ies$/, "y")
    .replace(/(?<=[a-z]{3})i[sz](?:ations?|ed|es?|ing|ers?)$/, "i")
    .replace(/(?<=[a-z]{3})ing$|(?<=[a-z]{4})ed$|(?<=at)ions?$/, "")
    .replace(/(?<=[a-z]{3}(?:s|x|ch))es$|(?<=[a-z]{3})(?<![aius])s$/, "");
  if (bare !== word && /([^aeiouls])\1$/.test(bare)) return bare.slice(0, -1);
  return bare.replace(/(?<=[a-z]{4})[ey]$|(?<=[a-z]{4})iv$/, "");
}

/* Whether what follows a term in a word is no more than an ending. A long term may begin a longer
   word, and so may the last one, which is still being typed. */
function isWhole(text, end, term) {
  if (term.length > 4 || !/[a-z]$/.test(term)) return true;
  let last = end;
  while (last < end + 5 && /[a-z]/.test(text[last] ?? "")) last++;
  const [matched, doubled] = ENDING.exec(text.slice(end, last)) ?? [null];
  return matched !== null && (!doubled || doubled === term.at(-1));
}

/* Whether a place is inside a word or a number with a point. */
function isInside(text, place) {
  const before = text[place - 1];
  if (before === ".") return /\d/.test(text[place - 2] ?? "");
  return /[\p{L}\d]/u.test(before) && !HAN.test(before);
}

/* How often a term begins a word of a text; Chinese has no words to begin. */
function count(text, term, open, most = Infinity) {
  const isWord = /^[\p{L}\d]/u.test(term) && !HAN.test(term[0]);
  let times = 0;
  for (let at = text.indexOf(term); at >= 0 && times < most; ) {
    const here = at;
    at = text.indexOf(term, here + term.length);
    if (isWord && here && isInside(text, here)) continue;
    times += Number(open || !isWord || isWhole(text, here + term.length, term));
  }
  return times;
}

/* Where a term stands: in which sections, how often, and in which lines of their heads. */
const counts = new Map();
function countTerm(term, open) {
  const key = `${term}\n${open}`;
  if (!counts.has(key)) {
    if (counts.size > 2000) counts.clear();
    const found = new Map();
    docs.forEach(({ body, lines, head }, place) => {
      const times = body.includes(term) ? count(body, term, open) : 0;
      const hits = lines.map((line) => line.includes(term) && count(line, term, open, 1) > 0);
      const above = head.includes(term) && count(head, term, open, 1) > 0;
      if (times || above || hits.includes(true)) found.set(place, { times, hits, above });
    });
    counts.set(key, found);
  }
  return counts.get(key);
}

const occurs = (term) => corpus.includes(term) && count(corpus, term, true, 1) > 0;

/* What a word costs in a cut: a word that occurs nowhere more than one that does. */
function price(word) {
  if (empty.has(word)) return 0.3;
  if (names.has(word) || kin.has(word)) return 0.9;
  if (word.length < 2) return 1.6;
  // A word of three or more does not begin or end with one that says nothing.
  const isEmpty = (_, end) => empty.has(word.slice(0, end)) || empty.has(word.slice(end));
  if (word.length > 2 && [...word].some(isEmpty)) return Infinity;
  const isPadded = word.length > 3 && (names.has(word.slice(1)) || names.has(word.slice(0, -1)));
  const isNamed = (_, end) => names.has(word.slice(0, end)) && names.has(word.slice(end));
  if (isPadded || [...word].some(isNamed)) return Infinity;
  if (word.length < 5 && heads.includes(word)) return 1.1;
  if (word.length < 5 && corpus.includes(word)) return 1.1 + (word.length - 1) * 0.4;
  return word.length < 3 ? 2.2 : Infinity;
}

/* Chinese cut into names and words that occur, as few as possible. */
function cutHan(text) {
  const best = [{ cost: 0, words: [] }];
  for (let end = 1; end <= text.length; end++) {
    for (let start = Math.max(0, end - 8); start < end; start++) {
      const word = text.slice(start, end);
      const cost = best[start].cost + price(word);
      if (cost >= (best[end]?.cost ?? Infinity)) continue;
      best[end] = { cost, words: [...best[start].words, word] };
    }
  }
  return best[text.length].words;
}

/* The words of a query. One that occurs nowhere gives way to its parts or to its beginning. */
function cut(query) {
  const pieces = query.match(PIECE) ?? [];
  return pieces.flatMap((piece) => {
    if (HAN.test(piece)) return cutHan(piece);
    const word = piece.replace(/^["“”(]+(?=[^()]*$)|(?<=^[^(]*)\)+$|[?!.,;:"“”]+$/g, "");
    if (!word || names.has(word) || occurs(stem(word))) return word || [];
    const parts = word.match(/[\p{L}\d]+(?:_[\p{L}\d]+)*/gu) ?? [];
    return (parts.length > 1 ? parts : (word.match(/[\p{L}\d]+/gu) ?? [])).flatMap(findKnown);
  });
}

/* What a word that occurs nowhere stands for: the unit of a number, two words written as one, one
   with a slip, or the beginning of one. */
function findKnown(word) {
  if (empty.has(word) || occurs(stem(word))) return word;
  const unit = /^\d+([a-z]+)$/.exec(word)?.[1]; // 8gb, 32k: a letter alone says nothing
  if (unit) return unit.length > 1 ? unit : [];
  const cuts = [...word].map((_, end) => [word.slice(0, end), word.slice(end)]).slice(2, -1);
  const named = cuts.find((pair) => names.has(pair.join(" ")));
  const rarer = (pair) =>
    Math.min(...pair.map((one) => common.get(one) ?? common.get(stem(one)) ?? 0));
  const joined = named ?? cuts.sort((one, other) => rarer(other) - rarer(one))[0];
  if (joined && (named || rarer(joined) > 2)) return joined;
  const near =
    word.length < 5 ? [] : [...common].filter(([one, times]) => times > 2 && isSlip(one, word));
  if (near.length) return near.reduce((one, other) => (other[1] > one[1] ? other : one))[0];
  for (let end = word.length - 1; end >= Math.max(5, word.length - 3); end--) {
    if (occurs(word.slice(0, end))) return word.slice(0, end);
  }
  return word;
}

/* Whether a letter too many, too few or another one, or two that changed places, is all that differs. */
function isSlip(one, other) {
  if (Math.abs(one.length - other.length) > 1) return false;
  let start = 0;
  while (start < one.length && one[start] === other[start]) start++;
  const [left, right] = [one.slice(start), other.slice(start)];
  if (left.slice(1) === right.slice(1) || left.slice(1) === right || left === right.slice(1))
    return true;
  return left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2);
}

/* The terms of a query: names of several words first, then words; not those that say nothing, unless
   there are no others. */
function readTerms(query) {
  const words = cut(query);
  const found = [];
  for (let start = 0; start < words.length; ) {
    let end = Math.min(words.length, start + 5);
    const join = () => fold(words.slice(start, end).join(" "));
    while (end > start + 1 && !names.has(join())) end--;
    found.push(makeTerm(join(), end - start, end === words.length));
    if (isCompound(words.slice(start, start + 2))) {
      const pair = words.slice(start, start + 2).join(" ");
      if (end < start + 2) found.push({ ...makeTerm(pair, 2, false), isExtra: true });
    }
    start = end;
  }
  const telling = found.filter(
    ({ name }) => !empty.has(name) && !/^[\d\p{P}\p{S}]{1,2}$/u.test(name),
  );
  const terms = telling.length ? telling : found;
  return [...new Map(terms.map((term) => [term.name, term])).values()];
}

/* Whether two words are also written as one: batch norm, flash attention. */
function isCompound([one, other = ""]) {
  const isLatin = !HAN.test(one + other);
  return isLatin && one.length > 2 && other.length > 2 && occurs(one + other);
}

/* A term with its other names, where it stands, and what it weighs: a rare one says more. */
function makeTerm(name, size, isLast) {
  const others = [...(names.get(name)?.others ?? [])].filter((other) => other.length > 1);
  if (size > 1) others.push(name.replaceAll(" ", ""));
  if (/[a-z]\.[a-z]/.test(name)) others.push(name.slice(name.lastIndexOf(".") + 1));
  const spoken = name.replaceAll("_", " ");
  if (spoken !== name) others.push(spoken, ...(names.get(spoken)?.others ?? []));
  const own = stem(name);
  const found = new Map(countTerm(own, isLast));
  for (const other of others) {
    for (const [place, { times, hits, above }] of countTerm(other, false)) {
      const known = found.get(place) ?? { times: 0, hits: hits.map(() => false), above: false };
      found.set(place, {
        times: known.times + times * OTHER,
        hits: hits.map((hit, line) => known.hits[line] || (hit && OTHER)),
        above: known.above || above,
      });
    }
  }
  const among = [...found.values()].filter(({ times, hits }) => times || hits.some(Boolean)).length;
  const words = Math.max(size, HAN.test(name) ? name.length / 2 : 1);
  const share =
    heads.includes(own) || others.some((other) => heads.includes(other)) ? 1 : IN_PASSING;
  const weight = share * Math.log(1 + docs.length / (1 + among)) * (1 + (words - 1) / 3);
  const pages = new Set([...found.keys()].map((place) => docs[place].page));
  return { name, own, others, found, among, weight, words, pages };
}

/* --- what people ask */

const PARTS = /\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\d_√^])+/gu;
const GLUE = /[的了吗嗎呢吧啊么麼呀得地着著]/u; // what joins words, in both scripts
const SHARED = 0.7; // what a word itself counts for, beside what it names
const NEAR = 0.4; // what a near word counts for
const NAMED = 0.6; // what it counts for that two lines name the same thing, beside its words

const trim = (words) => words.split(" ").map(stem).join(" "); // of their endings

/* What a title or a question is made of: English words without their endings, pairs of Chinese
   characters, and the things that it names, in whatever words. */
function listFeatures(line) {
  const found = new Map();
  const add = (feature, share) => found.set(feature, Math.max(share, found.get(feature) ?? 0));
  const name = (text, bare = text) => {
    for (const group of names.get(text)?.groups ?? []) add(group, NAMED);
    for (const group of kin.get(bare) ?? []) add(group, NEAR);
    return names.has(text) || kin.has(bare);
  };
  const words = line.match(PARTS) ?? [];
  const bare = words.map(stem);
  words.forEach((word, at) => {
    if (HAN.test(word)) {
      for (let start = 0; start < word.length; start++) {
        let end = Math.min(word.length, start + 7);
        while (end > start + 1 && !name(word.slice(start, end))) end--;
        const pair = word.slice(start, start + 2);
        const says = pair.length > 1 && !empty.has(pair) && !GLUE.test(pair);
        if (says) add(pair, [...pair].every((one) => empty.has(one)) ? 0.2 : 0.6);
      }
      return;
    }
    // A word that names something is not counted twice.
    const isNamed = name(word, bare[at]);
    if (!empty.has(word)) add(bare[at], isNamed ? SHARED : 1);
    for (let end = at + 2; end <= Math.min(words.length, at + 4); end++) {
      name(words.slice(at, end).join(" "), bare.slice(at, end).join(" "));
    }
  });
  return found;
}

/* The words of a query, with what is meant by those that no title and no question has. */
const mend = (query) =>
  query.replace(PARTS, (word) => {
    if (HAN.test(word) || empty.has(word) || posts.has(stem(word))) return word;
    if (/[a-z]_[a-z]/.test(word)) return mend(word.replaceAll("_", " "));
    return [findKnown(word)].flat().join(" ");
  });

/* Each feature of a line weighs more the fewer lines have it. */
function compareLines() {
  rows = [];
  docs.forEach(({ lines, asked, page, head }, place) => {
    const around = head && page !== docs[place].location ? listFeatures(head) : new Map();
    for (const line of new Set([lines[0] ?? "", ...asked])) {
      const features = listFeatures(line);
      for (const [one, share] of around) if (!features.has(one)) features.set(one, share * ABOVE);
      rows.push({ place, features });
    }
  });
  posts = new Map();
  rows.forEach(({ features }, row) => {
    for (const [one, share] of features) {
      if (!posts.has(one)) posts.set(one, []);
      posts.get(one).push([row, share]);
    }
  });
  for (const row of rows) row.length = measureFeatures(row.features);
  pages = gather(({ place }) => docs[place].page);
  sections = gather(({ place }) => place);
}

/* How often the rows of one page, or of one section, have each feature. */
function gather(keyOf) {
  const found = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    if (!found.has(key)) found.set(key, new Map());
    const times = found.get(key);
    for (const [one, share] of row.features) times.set(one, (times.get(one) ?? 0) + share);
  }
  return found;
}

/* How near pages or sections as wholes are to the features of a query: a question that no line asks
   in its words may still be of their subject. */
function findAround(groups, features) {
  const all = [...groups.values()];
  const weights = [...features].map(([one, share]) => {
    const having = all.filter((times) => times.has(one)).length;
    return [one, share * Math.log(1 + all.length / having)];
  });
  const whole = weights.reduce((sum, [, weight]) => sum + weight, 0);
  return (key) => {
    const times = groups.get(key);
    const parts = weights.map(([one, weight]) => {
      const often = times.get(one) ?? 0;
      return (weight * often * 2.2) / (often + 1.2);
    });
    return parts.reduce((sum, part) => sum + part, 0) / whole;
  };
}

const weigh = (feature) => Math.log(1 + rows.length / (posts.get(feature)?.length ?? rows.length));
const measureFeatures = (features) =>
  Math.sqrt([...features].reduce((sum, [one, share]) => sum + (share * weigh(one)) ** 2, 0));

/* How near the nearest question or title of each section is to a query, from 0 to 1, and more where
   all its questions are near, and those of its page. */
function findNearest(query) {
  const features = new Map([...listFeatures(query)].filter(([one]) => posts.has(one)));
  const length = measureFeatures(features);
  const sums = new Map();
  for (const [one, share] of features) {
    const weight = share * weigh(one) ** 2;
    for (const [row, other] of posts.get(one)) sums.set(row, (sums.get(row) ?? 0) + weight * other);
  }
  const nearest = new Map();
  for (const [row, sum] of sums) {
    const { place, length: own } = rows[row];
    const near = sum / (length * own ** LONG * length ** (1 - LONG));
    nearest.set(place, Math.max(near, nearest.get(place) ?? 0));
  }
  const [ofPage, ofSection] = [pages, sections].map((groups) => findAround(groups, features));
  for (const [place, near] of nearest)
    nearest.set(place, near + PAGE * ofPage(docs[place].page) + SECTION * ofSection(place));
  return nearest;
}

/* --- what answers */

/* The best pages with their sections. What answers far worse than the best page is left out, and
   nearly all where a word of the query is on no page: that is said instead. */
function search(query) {
  const asked = fold(query);
  const terms = readTerms(asked);
  if (!terms.length) return { items: [], unknown: [] };
  const known = terms.filter(({ among }) => among > 0);
  const unknown = terms.filter(({ among }) => !among).map(({ name }) => name);
  const home = findHome(terms);
  const nearest = findNearest(mend(asked));
  // Words that hardly any other section has in this order are a quotation.
  const quoted = docs.filter(({ body }) => body.includes(asked)).length > 3 ? 1 : QUOTED;
  const groups = new Map();
  docs.forEach((doc, place) => {
    const { page } = doc;
    if (!groups.has(page)) groups.set(page, { first: doc, results: [], score: 0 });
    const result = rate(doc, place, terms, { asked, quoted, near: nearest.get(place) ?? 0 });
    if (result) groups.get(page).results.push(result);
  });
  const any = makePattern(known);
  const found = [...groups.entries()].filter(([, { results }]) => results.length);
  for (const [page, group] of found) {
    group.results.sort((a, b) => b.score - a.score);
    // The best section decides; what else the page says of it decides between equals.
    const rest = group.results.slice(1).reduce((sum, { score }) => sum + score, 0);
    group.any = any;
    group.score = (group.results[0].score + rest / 30) * (page === home ? 2 : 1);
    if (!group.results.some(({ location }) => location === group.first.location)) {
      group.results.push({ ...group.first, text: "", score: 0, terms: {} });
    }
  }
  bringForward(found.map(([, { results }]) => results));
  const best = found.map(([, group]) => group).sort((a, b) => b.score - a.score);
  const least = (best[0]?.score ?? 0) / 20;
  const shown = best.filter(({ score }) => score >= least).slice(0, unknown.length ? 3 : Infinity);
  return { items: shown.map(markResults), unknown: best.length ? unknown : [] };
}

/* The theme shows the sections of a page that have its best score, and folds the others. What comes
   first of all pages is shown, and where a page itself does, the section that answers best. */
function bringForward(groups) {
  const all = groups.flat().sort((a, b) => b.score - a.score);
  const first = new Set(all.slice(0, FIRST));
  for (const results of groups) {
    const isPage = !results[0].location.includes("#");
    results.forEach((one, number) => {
      if (first.has(one) || (number === 1 && isPage)) one.score = results[0].score;
    });
  }
}

/* The page that defines a thing that is all of the query, or has the query for its name. */
function findHome(terms) {
  if (terms.length > 1) return "";
  const named = `${terms[0].name.replaceAll(" ", "-")}/`;
  if (docs.some(({ location }) => location === named)) return named;
  return names.get(terms[0].name)?.page ?? "";
}

/* How well a section answers, and what of it is shown; null where it does not. A head that says just
   what is asked weighs most: the title, or a question that people ask the section. */
function rate(doc, place, terms, { asked, quoted, near }) {
  const hit = {};
  let score = 0;
  let covered = 0;
  let whole = 0;
  const lines = doc.lines.map(() => ({ weight: 0, words: 0 }));
  const length = 0.4 + (0.6 * doc.body.length) / typical;
  for (const { name, found, weight, words, pages, isExtra } of terms) {
    const { times = 0, hits = [], above = false } = found.get(place) ?? {};
    const isHere = times > 0 || hits.some(Boolean);
    if (times) score += (weight * times * 2.2) / (times + 1.2 * length);
    if (above) score += weight * 0.8;
    hits.forEach((share, line) => {
      lines[line].weight += weight * Number(share);
      lines[line].words += share && !isExtra ? words : 0;
    });
    if (isExtra) continue;
    hit[name] = isHere;
    whole += weight;
    covered += weight * (isHere ? 1 : above ? 0.6 : pages.has(doc.page) ? 0.3 : 0);
  }
  if (!near && !Object.values(hit).some(Boolean)) return null;
  const heads = lines.map(({ weight, words }, line) => {
    return weight * (0.4 + 0.6 * Math.min(1, words / Math.max(1, doc.sizes[line])));
  });
  score += HEAD * Math.max(...heads) * (doc.location.includes("#") ? 1 : 1.2);
  score *= (covered / whole) ** 1.5;
  if (terms.length > 1 || terms[0].words > 1) {
    if ([...doc.lines, ...doc.asked].some((line) => line.includes(asked))) score += whole * 2;
    else if (doc.body.includes(asked)) score += whole * quoted;
  }
  const boost = doc.boost ?? 1;
  const seen = Object.values(hit).some(Boolean) ? 1 : UNSEEN;
  score = score * boost + ASKED * whole * near * seen * (doc.asked.length ? 1 : boost);
  return { ...doc, score, terms: hit };
}

/* --- what is shown */

/* What was looked for as a pattern: at the start of a word, spaces as you like, Chinese in any
   script. */
function makePattern(terms) {
  const sources = terms
    .flatMap(({ own, others }) => [own, ...others])
    .map((term) => {
      const escaped = term.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/ /g, "[\\s-]*");
      const loose = escaped
        .replace(/_k/g, "(?:_k|ₖ)")
        .replace(/\\\^t/g, "(?:ᵀ|\\^t)")
        .replace(/\\\^2/g, "(?:²|\\^2)")
        .replace(BETWEEN, "\\s*")
        .replace(/\p{Script=Han}/gu, (one) => `[${variants(one)}]`);
      const ending = /[a-z]$/.test(term) ? "[a-z]*" : ""; // a word is marked whole
      return /^[a-z\d]/.test(term) ? `(?<![a-z\\d])${loose}${ending}` : loose;
    });
  return new RegExp(sources.join("|") || "(?!)", "giu");
}

const variants = (one) => [...scripts].reduce((all, [c, f]) => (f === one ? all + c : all), one);

/* The sections of a page as they are shown. */
function markResults({ results, any }) {
  return results.map(({ body, lines, sizes, asked, head, page, text, ...one }) => ({
    ...one,
    title: markMatches(one.title, any),
    text: one.score ? excerpt(text, any) : "",
  }));
}

/* The first two paragraphs with a match, cut around it. */
function excerpt(text, any) {
  const lines = text.split("\n").filter(Boolean);
  const matching = lines.filter((line) => line.search(any) >= 0);
  const found = matching.length ? matching.slice(0, 2) : lines.slice(0, 1);
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
