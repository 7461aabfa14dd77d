/* Reads numbers as people write them, and compares them with the exact ones that a page publishes.
   Knows nothing of pages: exercises.js calls it, and tests/test_answers.py runs it alone. */

export const LIMIT = 400; // characters of an answer
const DIGITS = 3; // significant ones that are enough
const NEAR = 0.02; // of a small entry beside larger ones

/* --- one way of writing */

const SUPERSCRIPT = /[⁺⁻⁰¹²³⁴-⁹]+/g;
const FRACTION = /[¼-¾⅐-⅞]/g;
const WRAPPERS = "array|asarray|tensor|size|list|tuple|float(?:16|32|64)?|int(?:32|64)?";
const RULES = [
  // signs
  [/[−–—‐‑‒]/g, "-"],
  [/[×·⋅∙•∗✕]/g, "*"],
  [/[÷∕⁄]/g, "/"],
  [/\*\*/g, "^"],
  [/[【〔]/g, "["],
  [/[】〕]/g, "]"],
  [/、/g, ", "],
  [/[。．]/g, "."],
  [/\.{3,}/g, "…"],
  // TeX
  [/\\\\/g, ";"],
  [/&/g, ","],
  [/\$|\\[()[\],;:! ]|\\(?:left|right|[bB]ig+|quad|displaystyle)(?![a-z])/g, " "],
  [/\\begin\s*\{[a-z]*\}/gi, "["],
  [/\\end\s*\{[a-z]*\}/gi, "]"],
  [/\\[dt]?frac\s*(\d)\s*(\d)/g, "frac{$1}{$2}"],
  [/\\[dt]frac/g, "frac"],
  [/\\(?:mathrm|mathit|text|operatorname)\s*\{([^{}]*)\}/g, "$1"],
  [/\\(?:times|cdot)(?![a-z])/g, "*"],
  [/\\approx(?![a-z])/g, "≈"],
  [/\\(?=[a-z%{}])/gi, ""],
  // Python
  [/,\s*(?:dtype|device)\s*=\s*['\w.:]+/g, ""],
  [/(?<![a-z])(?:np|numpy|math|torch|fractions)\./gi, ""],
  [new RegExp(`(?<![a-z])(?:${WRAPPERS})(?=\\s*\\()`, "gi"), ""],
  [/(?<=\d)_(?=\d)/g, ""],
  // words around it: "x = 3", "a_1 = 2, a_2 = 3", "shape: 2, 3", "about 3", "7 and 9", "[1, 2]."
  [/(?<=^|[,;])\s*\p{L}[\p{L}\d_]*\s*=/gu, " "],
  [/^(?!\s*[-+]?[\d.]+\s*[=≈≃∼~])(?:.*[^!<>])?[=≈≃∼~]/s, ""], // "6 = 8" is no answer
  [/^[\p{L}\s]*:/u, ""],
  [/^\s*(?:about|approx(?:imately)?\.?|ca\.?|roughly|大?约|大?約)(?=[\s\d-])/i, ""],
  [/(?<=[\d\])%]\s*),?\s*(?:and|和)(?=\s*[\d[(])/gi, ", "],
  [/(?:minus|负|負)(?=\s*\d)/gi, "-"],
  [/(?<=\])\s*\^?\s*\{?T(?:op)?\}?\s*$/i, ""],
  [/per ?cent/gi, "%"],
  [/\s*\.?\s*$/, ""],
];

function simplify(text) {
  const plain = text
    .replace(SUPERSCRIPT, (signs) => `^(${signs.normalize("NFKC")})`)
    .replace(FRACTION, (sign) => ` ${sign.normalize("NFKC")}`)
    .normalize("NFKC");
  return RULES.reduce((changed, [from, to]) => changed.replace(from, to), plain);
}

/* What a text may mean besides: a comma between digits, a cross between sizes, "cos 1/5". */
const OTHERWISE = [
  (text) => text.replace(THOUSANDS, (digits) => digits.replace(/\D/g, "")),
  (text) => (mayBeDecimal(text) ? text.replace(/(?<=\d),(?=\d)/g, ".") : text),
  (text) => (/^[\d\s()[\]*x]*\d[\s()[\]]*$/i.test(text) ? text.replace(/[*x]/gi, ",") : text),
  (text) => text.replace(/(ln|log|exp|cos|sin|tan)\s+([\d.]+\/[\d.]+)/g, "$1($2)"),
];
const THOUSANDS = /(?<![\d.,])[1-9]\d{0,2}([,'’ ])\d{3}(?:\1\d{3})*(?!\d)/g;
/* "[1,4]" holds two numbers, and so does "1/4,-1/6"; "1,400" is one, of whole thousands or not. */
const mayBeDecimal = (text) =>
  (text.search(THOUSANDS) < 0 || !/[,;].*[,;]|,000/.test(text)) &&
  /^[^[({]*$|;|\s/.test(text) &&
  !/,[^\d\s]|[^\d\s],/.test(text);

/* --- tokens */

const CONSTANTS = { e: Math.E, π: Math.PI, pi: Math.PI };
const FUNCTIONS = {
  ...{ sqrt: Math.sqrt, "√": Math.sqrt, ln: Math.log, log: Math.log, lg: Math.log10 },
  ...{ log2: Math.log2, log10: Math.log10, exp: Math.exp, abs: Math.abs },
  ...{ cos: Math.cos, sin: Math.sin, tan: Math.tan, tanh: Math.tanh },
};
const QUOTIENTS = new Set(["frac", "fraction"]); // of two arguments
const SCALES = {
  ...{ "%": 0.01, thousand: 1e3, million: 1e6, billion: 1e9, 千: 1e3, 万: 1e4, 萬: 1e4 },
  ...{ 亿: 1e8, 億: 1e8, kb: 1e3, mb: 1e6, gb: 1e9 },
};
const NAMES = [CONSTANTS, FUNCTIONS, SCALES].flatMap(Object.keys).concat(...QUOTIENTS);
const NAME = NAMES.sort((a, b) => b.length - a.length).join("|");
const NUMERAL = String.raw`(?:\d+(?:\.\d*)?|\.\d+)`;
const TOKEN = new RegExp(
  String.raw`(\s*)(?:(${NUMERAL})(e[-+]?\d+)?(…?)|(${NAME})(?![a-z])|(\p{L}+)|([-+*/^()[\]{},;]))`,
  "iuy",
);
// One word behind all the rest, which is no number of its own.
const UNIT =
  /^(?!.*[百十分负])(?!hundred|trillion|dozen|squared|cubed|minus|plus|ppm|hal[fv]|third|quarter|tenth)(?:[a-z]{2,}|\p{Script=Han}+)$/iu;
const PLAIN = new RegExp(String.raw`(?<![\w.)])[-+]?${NUMERAL}(?:e[-+]?\d+)?`, "gi");

/* Whether what stands between commas and brackets around a place are numerals alone. */
function isNumeral(text, place) {
  const ends = text.slice(place).search(/[,;[\]]/);
  const run = text
    .slice(0, ends < 0 ? text.length : place + ends)
    .split(/[,;[\]]/)
    .at(-1);
  return !/[^\s(){}%]/.test(run.replace(PLAIN, ""));
}

function tokenize(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) return null;
    const [, space, digits, power = "", open, name, word, sign] = match;
    const token = { gap: Boolean(space && at), text: (name ?? sign ?? word ?? "").toLowerCase() };
    if (digits) {
      // In an expression the e of "3e+5" is a number, in a numeral it is a power of ten.
      const mayBeE = /^e[-+]\d$/.test(power) && !digits.includes(".");
      const exponent = mayBeE && !isNumeral(text, at + space.length) ? "" : power;
      if (exponent !== power) TOKEN.lastIndex -= power.length + open.length;
      tokens.push({ ...token, ...readNumeral(digits, Number(exponent.slice(1)), open) });
    } else if (word) {
      if (/^x$/i.test(word)) tokens.push({ ...token, text: "*" });
      else if (TOKEN.lastIndex < text.length || !UNIT.test(word)) return null;
    } else tokens.push(token);
  }
  return tokens;
}

/* A numeral with the unit of its last digit and the number of those that count. */
function readNumeral(digits, exponent, open) {
  const [whole, decimals = ""] = digits.split(".");
  return {
    text: "number",
    digits,
    value: Number(`${digits}e${exponent}`),
    unit: 10 ** (exponent - decimals.length),
    cut: Boolean(open), // "0.333…"
    significant: (whole + decimals).replace(/^0+/, "").length,
    decimal: digits.includes(".") || exponent < 0,
  };
}

/* --- grammar: lists of sums of products of powers */

const CLOSING = { "(": ")", "{": "}", "[": "]" };

class Parser {
  constructor(tokens, spaced) {
    Object.assign(this, { tokens, spaced, at: 0 });
  }
  get next() {
    return this.tokens[this.at] ?? { text: "end" };
  }
  takes(...signs) {
    const { text } = this.next;
    if (!signs.includes(text)) return "";
    this.at += 1;
    return text;
  }
  list(closing) {
    const rows = [[]];
    let end = ","; // what stood behind the last value
    while (!this.takes(closing)) {
      const isSum = /^[-+]$/.test(this.next.text) && this.tokens[this.at + 1]?.gap;
      if (!end && (isSum || (!this.next.gap && this.next.text !== "[")))
        throw new Error("two values side by side");
      rows.at(-1).push(this.element());
      end = this.takes(",", ";");
      if (end === ";") rows.push([]);
    }
    if (!rows.at(-1).length) rows.pop();
    if (!rows.length) throw new Error("no value");
    if (rows.length > 1) return rows;
    return rows[0].length === 1 && end !== "," && closing !== "]" ? rows[0][0] : rows[0];
  }
  element() {
    if (this.takes("[")) return this.list("]");
    return this.mixed() ?? this.sum();
  }
  /* "1 1/2" */
  mixed() {
    const begin = this.at;
    const sign = this.takes("+", "-") === "-" ? -1 : 1;
    const [whole, above, slash, below, then] = this.tokens.slice(this.at, this.at + 5);
    const isWhole = (one) => one?.text === "number" && /^\d+$/.test(one.digits);
    const isMixed =
      [whole, above, below].every(isWhole) && above.gap && slash?.text === "/" && !slash.gap;
    if (this.spaced || !isMixed || ![undefined, ",", ";", ")", "]", "}"].includes(then?.text)) {
      this.at = begin;
      return null;
    }
    this.at += 4;
    return exact(sign * (whole.value + above.value / below.value));
  }
  sum() {
    let value = this.product();
    for (;;) {
      if (this.spaced && this.next.gap && !this.tokens[this.at + 1]?.gap) return value;
      const sign = this.takes("+", "-");
      if (!sign) return value;
      value = combine(value, this.product(), (a, b) => (sign === "+" ? a + b : a - b));
    }
  }
  product() {
    let value = this.signed();
    while (!Array.isArray(value)) {
      if (this.takes("*")) value = times(value, this.signed());
      else if (this.takes("/")) value = combine(value, this.signed(), (a, b) => a / b);
      else if (this.begins && !(this.spaced && this.next.gap)) value = times(value, this.power());
      else break;
    }
    return value;
  }
  /* Whether a factor begins here without a sign before it. */
  get begins() {
    const { text } = this.next;
    return "({".includes(text) || text in FUNCTIONS || text in CONSTANTS || QUOTIENTS.has(text);
  }
  signed() {
    if (this.takes("-")) return multiplied(this.signed(), -1);
    this.takes("+");
    return this.power();
  }
  power() {
    let base = this.atom();
    if (this.takes("^")) {
      const ten = base.digits === "10";
      base = { ...combine(base, this.signed(), (a, b) => a ** b), ten };
    }
    while (this.next.text in SCALES) base = multiplied(base, SCALES[this.tokens[this.at++].text]);
    return base;
  }
  atom() {
    const token = this.next;
    this.at += 1;
    if (token.text === "number") return token;
    if (token.text in CONSTANTS) return exact(CONSTANTS[token.text]);
    if (QUOTIENTS.has(token.text)) return this.quotient();
    if (token.text in FUNCTIONS) {
      const [degree] = this.takes("[") ? this.list("]") : []; // TeX: \sqrt[3]{2}
      const inner = this.signed();
      const compute = degree ? (a) => a ** (1 / degree.value) : FUNCTIONS[token.text];
      return combine(inner, inner, compute);
    }
    if (token.text === "(" || token.text === "{") return this.list(CLOSING[token.text]);
    throw new Error(`no number: ${token.text}`);
  }
  quotient() {
    const isTex = this.takes("{");
    const [above, below] = isTex ? [this.list("}"), this.atom()] : this.atom();
    return combine(above, below, (a, b) => a / b);
  }
}

function exact(value, decimal = false) {
  return { value, unit: 0, decimal };
}

function combine(one, other, compute) {
  if (Array.isArray(one) || Array.isArray(other)) throw new Error("a list is no number");
  return exact(compute(one.value, other.value), one.decimal || other.decimal);
}

/* A numeral stays one when its sign changes, or its unit. */
function multiplied(one, factor) {
  if (Array.isArray(one)) throw new Error("a list is no number");
  return { ...one, digits: "", value: one.value * factor, unit: one.unit * Math.abs(factor) };
}

function times(one, other) {
  return one.unit && other.ten
    ? multiplied(one, other.value)
    : combine(one, other, (a, b) => a * b);
}

/* --- readings: rows of numbers */

function parse(text, spaced) {
  const tokens = tokenize(text);
  if (!tokens?.length) return null;
  try {
    const rows = toRows(new Parser(tokens, spaced).list("end"));
    return rows.flat().every((one) => Number.isFinite(one.value)) ? rows : null;
  } catch {
    return null;
  }
}

function toRows(found) {
  if (!Array.isArray(found)) return [[found]];
  return found.some(Array.isArray) ? found.flatMap(toRows) : [found];
}

/* All that a text may mean, the most likely first. */
export function read(text) {
  if (text.length > LIMIT) return [];
  const plain = simplify(text);
  const texts = new Set([plain, ...OTHERWISE.map((change) => change(plain))]);
  const found = [...texts].flatMap((one) => [parse(one, false), parse(one, true)]);
  return found.filter(Boolean);
}

/* --- judging */

const isWhole = (value) => Math.abs(value - Math.round(value)) < 1e-9;
const tolerance = (value) =>
  isWhole(value) ? 1e-11 + 1e-14 * Math.abs(value) : 1e-6 * Math.abs(value);

/* "right", "digits" where too few are given, "rounded" or "wrong". */
function compare(one, wanted, printed, largest) {
  const away = Math.abs(one.value - wanted);
  if (away <= tolerance(wanted)) return "right";
  if (Math.abs(one.value - printed) <= 1e-12 * Math.max(1, Math.abs(printed))) return "right";
  if (isWhole(wanted)) return "wrong";
  if (away <= one.unit * (one.cut ? 1 : 0.5) + tolerance(wanted)) {
    // Beside larger entries an entry needs no more decimals than they do.
    const enough = 10 ** (Math.floor(Math.log10(largest)) + 1 - DIGITS) * 1.000001;
    const isNear = one.unit <= enough && away <= NEAR * Math.abs(wanted);
    if (one.significant >= DIGITS || isNear) return "right";
    if (one.significant > (one.decimal ? 0 : 1)) return "digits";
  }
  return one.decimal && away <= 0.01 * Math.abs(wanted) ? "rounded" : "wrong";
}

function judgeRows(rows, wanted) {
  const found = rows.flat();
  const flat = wanted.rows.flat();
  if (found.length !== flat.length) return "count";
  const isShaped = rows.length > 1 && rows[0].length > 1 && wanted.rows.length > 1;
  if (isShaped && rows.some((row, n) => row.length !== wanted.rows[n]?.length)) return "wrong";
  const largest = Math.max(...flat.map(Math.abs));
  const verdicts = found.map((one, n) => compare(one, flat[n], wanted.printed[n], largest));
  return ORDER.find((verdict) => verdicts.includes(verdict));
}

const ORDER = ["wrong", "rounded", "digits", "right"]; // the worst entry decides
const RANK = ["right", "digits", "rounded", "sign", "transposed", "percent", "wrong", "count"];

/* What the page wants: exact numbers (JSON), and the text that it prints. */
export function want(exactly, printed) {
  const rows = exactly ? toRows(JSON.parse(exactly.replaceAll("−", "-"))) : null;
  const size = rows?.flat().length ?? (printed.startsWith("[") ? 0 : 1);
  const readings = read(printed);
  const shown = readings.find((one) => one.flat().length === size) ?? readings[0] ?? [];
  const values = shown.map((row) => row.map((one) => one.value));
  return { rows: rows ?? values, printed: values.flat() };
}

function nameMistake(rows, wanted) {
  const isRight = (changed) => judgeRows(changed, wanted) === "right";
  const change = (factor) => rows.map((row) => row.map((one) => multiplied(one, factor)));
  const flat = wanted.rows.flat();
  if (isRight(change(-1))) return "sign";
  const isMatrix = wanted.rows.length > 1 && wanted.rows[0].length > 1;
  const isRagged = rows.some((row) => row.length !== rows[0].length);
  if (isMatrix && !isRagged && isRight(rows[0].map((_, n) => rows.map((row) => row[n]))))
    return "transposed";
  const isShare = flat.every((one) => Math.abs(one) <= 1) && !flat.every(isWhole);
  return isShare && isRight(change(0.01)) ? "percent" : "wrong";
}

/* "right", or the name of a slip that many make, or "wrong"; "unread" or "long". */
export function judge(answer, wanted) {
  if (answer.length > LIMIT) return "long";
  const verdicts = read(answer).map((rows) => {
    const verdict = judgeRows(rows, wanted);
    return verdict === "wrong" ? nameMistake(rows, wanted) : verdict;
  });
  return RANK.find((verdict) => verdicts.includes(verdict)) ?? "unread";
}
