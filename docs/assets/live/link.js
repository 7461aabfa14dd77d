/* Edits within an address: compressed, behind the #, so that no server sees them. An edit is stored as
   the lines that replace others of the published block, so that it fits in every language. */
const HEAD = "#live=";
export const isLink = (hash) => hash.startsWith(HEAD);
const MOST_JSON = 1_000_000; // bytes, once inflated
export const MOST_CODE = 100_000; // characters, of all edits together
const MOST_LINES = 2_000; // of all edits together: the editor lays out each of them

async function collectBytes(stream, most = Number.POSITIVE_INFINITY) {
  const chunks = [];
  let size = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    size += value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      throw new RangeError(`more than ${most} bytes`);
    }
    chunks.push(value);
  }
}

const through = (stream, bytes) => new Blob([bytes]).stream().pipeThrough(stream);

/* Which lines of a block's published code an edit replaces, from the first to before the last, and by what. */
function findDifference(base, code) {
  const [was, now] = [base.split("\n"), code.split("\n")];
  const least = Math.min(was.length, now.length);
  let first = 0;
  while (first < least && was[first] === now[first]) first += 1;
  let end = 0;
  while (end < least - first && was.at(-1 - end) === now.at(-1 - end)) end += 1;
  const lines = now.slice(first, now.length - end);
  return [first, was.length - end, lines.join("\n"), lines.length > 0];
}

function applyDifference(base, [first, last, text, any]) {
  const lines = base.split("\n");
  if (!(first >= 0 && first <= last && last <= lines.length)) throw new Error("no such lines");
  return [...lines.slice(0, first), ...(any ? [text] : []), ...lines.slice(last)].join("\n");
}

/* The edits of a page as plain data, and the language of their strings. */
export function listEntries(cells, lang) {
  const edited = cells.filter((cell) => cell.edited);
  return edited.map(({ id, origin, base, code }) => {
    return [id, origin, ...findDifference(base, code), lang];
  });
}

/* Comments and strings; the code of a block holds as many of them in every language. */
const TEXT = /#[^\n]*|[a-z]?(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/gi;

/* What the texts of a page in one language are in another, by its cells in both. */
function dictionary(theirs, ours) {
  const found = new Map();
  for (const cell of theirs) {
    const code = ours.find(({ id }) => id === cell.id)?.base ?? "";
    const [from, to] = [cell.code.match(TEXT) ?? [], code.match(TEXT) ?? []];
    if (from.length === to.length) from.forEach((text, n) => found.set(text, to[n]));
  }
  return found;
}

/* Entries of a page in another language with this one's strings, where the page has them. */
async function translated(entries, cells, lang, cellsIn) {
  const other = entries.find((entry) => entry[6] !== lang)?.[6];
  if (!/^[a-z]{2}(-[a-z]+)?$/.test(other)) return entries;
  const words = dictionary(await cellsIn(other).catch(() => []), cells);
  const translate = (text) => String(text).replace(TEXT, (one) => words.get(one) ?? one);
  return entries.map((entry) => entry.map((part, n) => (n === 4 ? translate(part) : part)));
}

/* What does not show, or moves what does. As Python writes it in a string, it reads as it runs. */
const UNSEEN = /[^\P{C}\t\n]|[^\P{Z} \u3000]|\p{Default_Ignorable_Code_Point}/gu;

function escapeCharacter(one) {
  const hex = one.codePointAt(0).toString(16);
  return hex.length > 4 ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`;
}

function refuseTooMuch(codes) {
  const code = codes.join("\n");
  if (code.length > MOST_CODE) throw new RangeError(`more than ${MOST_CODE} characters`);
  const lines = code.split("\n").length;
  if (lines > MOST_LINES) throw new RangeError(`more than ${MOST_LINES} lines`);
}

/* What of such data fits the page as [cell, code], and the blocks that have changed since. */
export function selectFitting(entries, cells) {
  const found = new Map();
  const lost = [];
  for (const [id, origin, ...edit] of entries) {
    if (typeof id !== "string" || typeof edit[2] !== "string") throw new Error("not an edit");
    const cell = cells.find((one) => one.id === id && !one.torch);
    if (cell && cell.origin === origin) found.set(cell, applyDifference(cell.base, edit));
    else lost.push(id.slice(0, 60));
  }
  return { fitting: [...found], lost };
}

/* The fragment of an address that holds the edits; a RangeError where they are too long for one. */
export async function link(cells, lang) {
  refuseTooMuch(cells.filter((cell) => cell.edited).map((cell) => cell.code));
  const json = new TextEncoder().encode(JSON.stringify(listEntries(cells, lang)));
  const packed = await collectBytes(through(new CompressionStream("deflate-raw"), json));
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return HEAD + letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/* The edits of a fragment that fit the page; a RangeError where it holds too much. `cellsIn` fetches
   the cells in another language. */
export async function edits(fragment, cells, lang, cellsIn) {
  if (fragment.length > 2 * MOST_JSON) throw new RangeError(`more than ${MOST_JSON} bytes`);
  const letters = fragment.slice(HEAD.length).replaceAll("-", "+").replaceAll("_", "/");
  const packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const inflated = through(new DecompressionStream("deflate-raw"), packed);
  const json = await collectBytes(inflated, MOST_JSON);
  const entries = JSON.parse(new TextDecoder().decode(json));
  const { fitting, lost } = selectFitting(await translated(entries, cells, lang, cellsIn), cells);
  const shown = fitting.map(([cell, code]) => [cell, code.replace(UNSEEN, escapeCharacter)]);
  refuseTooMuch(shown.map(([, code]) => code));
  return { fitting: shown, lost };
}
