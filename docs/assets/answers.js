/* Reads numbers as people write them, and compares them with the exact ones that a page publishes.
   Knows nothing of pages: exercises.js calls it, and tests/test_answers.py runs it alone. */

export const LIMIT = 400; // characters of an answer
const DIGITS = 3; // significant ones that are enough
const NEAR = 0.02; // of a small entry beside larger ones

/* --- one way of writing */

const SUPERSCRIPT = /[⁺⁻⁰¹²³⁴-⁹]+/g;
const FRACTION = /[¼-¾⅐-⅞]/g;
const FRACTION_ABOVE = /(?<=(?:\^|\*\*|√)\s*[-−–]?)[¼-¾⅐-⅞]/g; // "2^½": all of it
const WRAPPERS = "array|asarray|tensor|size|list|tuple|float(?:16|32|64)?|int(?:32|64)?";
/* "0.1(6)": the digits in brackets come again and again. */
const repeat = (_, whole, once, again) => {
  const nines = `${"9".repeat(again.length)}${"0".repeat(once.length)}`;
  return `((${whole}${once}${again}-${whole}${once})/${nines})`;
};
const RULES = [
  [/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, ""], // of no width, or of a direction
  [/^\s*(["'“`「]|\*\*?)(.*?)(?:["'”`」]|\*\*?)\s*$/s, "$2"],
  [/(?<=\d)["'”]\s*,\s*["'“](?=[-\d.])/g, ", "],
  // signs
  [/[−–—‐‑‒]|ー(?=\s*[\d.])/g, "-"],
  [/[×·⋅∙•∗✕]/g, "*"],
  [/[÷∕⁄]/g, "/"],
  [/\*\*/g, "^"],
  [/[【〔⟨〈]/g, "["],
  [/[】〕⟩〉]/g, "]"],
  [/^\s*<([^<>]*[,;][^<>]*)>/, "[$1]"],
  [/(?<=\d)\s*\|\s*(?=[-\d.√])/g, ", "],
  [/、/g, ", "],
  [/[。．]/g, "."],
  [/\.{3,}/g, "…"],
  // TeX
  [/\\\\/g, ";"],
  [/&(?=.*\\end)/gs, ","],
  [/\$|\\[()[\],;:! ]|\\(?:left|right|[bB]ig+|quad|displaystyle)(?![a-z])/g, " "],
  [/\\begin\s*\{[a-z]*\}/gi, "["],
  [/\\end\s*\{[a-z]*\}/gi, "]"],
  [/\\[dt]?frac\s*(\d)\s*(\d)/g, "frac{$1}{$2}"],
  [/\\[dt]frac/g, "frac"],
  [/\{([^{}]+)\\over(?![a-z])([^{}]+)\}/g, "frac{$1}{$2}"],
  [/\\(overline|bar|dot)\s*(\d)/g, "\\$1{$2}"],
  [/(\d+)\.(\d*)\\(?:overline|bar|dot)\s*\{(\d{1,9})\}/g, repeat],
  [/\\(?:mathrm|mathit|text|operatorname|boxed)\s*\{([^{}]*)\}/g, "$1"],
  [/\\(?:times|cdot)(?![a-z])/g, "*"],
  [/\\approx(?![a-z])/g, "≈"],
  [/\\(?=[a-z%{}])/gi, ""],
  // Python
  [/,\s*(?:dtype|device)\s*=\s*['\w.:]+/g, ""],
  [/(?<![a-z])(?:np|numpy|math|torch|fractions)\./gi, ""],
  [new RegExp(`(?<![a-z])(?:${WRAPPERS})(?=\\s*\\()`, "gi"), ""],
  [/(?<=\d)_(?=\d)/g, ""],
  [/(?<![\w.])0x[\da-f]+(?!\w)/gi, Number],
  // words that stand for signs
  [/^\s*(?:=>|->|[→⇒∴])/, ""],
  [/^\s*(?:yes|no|对|對|是的)\s*[,:]/i, ""],
  [/==|[≈≃≅∼~≒]/g, "="],
  [/(?<![a-z])or so[\s.]*$|差不多/gi, " about "],
  [/(?<=(?<![a-z])(?:approx|ca|resp))\./gi, ""],
  [/(?<=\p{L})\.(?:shape|size)(?![a-z])/gu, ""],
  [/,?\s*(?<![a-z])(?:or|i\.?e\.?|that is|namely)(?![a-z])[,:]?/gi, " = "],
  [/,?\s*(?:或者?|也?即|也就)是?/g, " = "],
  [/(?<=[(])\s*=/g, ""],
  [/(?<=[\d\])}%]\s*),?\s*(?:(?:and|&)(?![a-z])|[和与與])/gi, ", "],
  [/(?:minus|negative|[负負]的?)(?=\s*[\d.])/gi, "-"],
  [/(?<=\d)\s*(?:point|[点點])\s*(?=\d)/gi, "."],
  [/根[号號]|根(?=\s*[\d(])/g, "√"],
  [/(?<=[\d)]\s*)乘以?(?=\s*[\d(√])/g, "*"],
  [/(?<=[\d)]\s*)除以(?=\s*[\d(√])/g, "/"],
  [/的\s*(-?\d+)\s*次[方幂冪]/g, "^($1)"],
  [
    /\d[\d.]*(?:[万萬亿億]\d[\d.]*)+[万萬亿億]?/g,
    (run) => `(${run.replace(/[万萬亿億](?=\d)/g, "$&+")})`,
  ],
  [/第\s*([1-4])\s*(?=[个個行][^\d,;]*\d)/g, (_, n) => `第${"一二三四"[n - 1]}`],
  [/(?<![\w.])([1-4])(?:st|nd|rd|th)(?=[^,;\d]*\d)/gi, (_, n) => ORDINALS[n - 1]],
  [/(?<=\d)\s+(?:by|times)\s+(?=\d)/gi, " * "],
  [/^(\s*[\d.]+\s*):(?=\s*[\d.]+\s*$)/, "$1/"],
  [/per ?cent(?![a-z])/gi, "%"],
  [/百分之\s*([\d.]+)/g, "$1%"],
  [/\s*\.?\s*$/, ""],
];

/* Behind a list: of one row it says only how that is meant. */
const TRANSPOSED = /(?<=[\])])\s*(?:[.^]?\s*\{?(?:T(?:op)?|⊤)\}?|['′])\s*$/i;
const transpose = (rows) => rows[0].map((_, n) => rows.map((row) => row[n]));
const isRagged = (rows) => rows.some((row) => row.length !== rows[0].length);

function simplify(text) {
  const plain = text
    .replace(SUPERSCRIPT, (signs) => `^(${signs.normalize("NFKC")})`)
    .replace(FRACTION_ABOVE, (sign) => `(${sign.normalize("NFKC")})`)
    .replace(FRACTION, (sign) => ` ${sign.normalize("NFKC")}`)
    .normalize("NFKC");
  return RULES.reduce((changed, [from, to]) => changed.replace(from, to), plain);
}

/* What a text may mean besides: a comma between digits, a cross between sizes, a MB of 1024 KB,
   "2/3, about 0.667", "cos 1/5", "0.1(6)", a number in words. */
const OTHERWISE = [
  (text) => text.replace(THOUSANDS, (digits) => digits.replace(/\D/g, "")),
  (text) =>
    text.replace(/(?<![\d.])[1-9]\d{0,2}(?:\.\d{3}){2,}(?![\d.])/g, (digits) =>
      digits.replace(/\./g, ""),
    ),
  (text) => (mayBeDecimal(text) ? text.replace(/(?<=\d),(?=\d)/g, ".") : text),
  (text) => (/[-+/^%√.]/.test(text) ? text : text.replace(/(?<=\d\s*)[*x](?=\s*\d)/gi, ",")),
  (text) => text.replace(/(?<=\d\s*)w(?![a-z])/gi, "万"),
  (text) => text.replace(/(?<=\d\s*)(?:[kmg]b|[KMG]B)(?![A-Za-z])/g, (unit) => `${unit[0]}iB`),
  (text) => text.replace(/,\s*(?==|about|approx|roughly|大?[约約])/gi, " = "),
  (text) => text.replace(/(ln|log|exp|cos|sin|tan)\s+([\d.]+\/[\d.]+)/g, "$1($2)"),
  (text) => text.replace(/(\d+)\.(\d*)\((\d{1,9})\)/g, repeat),
  (text) => (/\d/.test(text) ? text.replace(HAN_FRACTION, readWords) : simplify(readWords(text))),
];
const HAN_FRACTION = /[零一二三四五六七八九十百]+分之[零一二三四五六七八九十百]+/g;
const THOUSANDS = /(?<![\d.,])[1-9]\d{0,2}([,'’ ])\d{3}(?:\1\d{3})*(?!\d)/g;
/* "[1,4]" holds two numbers, and so does "1/4,-1/6"; "1,400" is one, of whole thousands or not. */
const mayBeDecimal = (text) =>
  (text.search(THOUSANDS) < 0 || !/[,;].*[,;]|,000/.test(text)) &&
  /^[^[({]*$|;|\s/.test(text) &&
  !/,[^\d\s]|[^\d\s],/.test(text);

/* --- numbers in words: "twenty-four", "two thirds", "三分之二", "十二" */

const NUMBER_WORDS = new Map([
  ..."zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
    .split(" ")
    .map((word, n) => [word, n]),
  ..."twenty thirty forty fifty sixty seventy eighty ninety"
    .split(" ")
    .map((word, n) => [word, 10 * (n + 2)]),
  ...[..."零一二三四五六七八九十"].map((sign, n) => [sign, n]),
  ...Object.entries({ hundred: 100, thousand: 1e3, million: 1e6, billion: 1e9 }),
  ...Object.entries({ 〇: 0, 两: 2, 兩: 2, 百: 100, 千: 1e3, 万: 1e4, 萬: 1e4, 亿: 1e8, 億: 1e8 }),
]);
const NUMBER_WORD = [...NUMBER_WORDS.keys()].sort((a, b) => b.length - a.length).join("|");
const NUMBER_RUN = new RegExp(
  `(?<![a-z])(?:${NUMBER_WORD})(?:(?:[\\s-]|and)*(?:${NUMBER_WORD}))*(?![a-z])`,
  "gi",
);
const PARTS =
  `hal(?:f|ves) thirds? (?:quarter|fourth)s? fifths? sixths? sevenths? eighths? ninths? tenths?
   elevenths? twelfths? thirteenths? fourteenths? fifteenths? sixteenths? seventeenths? eighteenths?
   nineteenths? twentieths?`
    .split(/\s+/)
    .map((part) => new RegExp(`(?:(\\d+)|(?<![a-z])an?)[\\s-]+${part}(?![a-z])`, "gi"));

const replaceWords = (run) =>
  run.replace(new RegExp(NUMBER_WORD, "gi"), (word) => ` ${NUMBER_WORDS.get(word.toLowerCase())} `);

/* Of "two hundred and fifty-six": a scale multiplies what is smaller, and the rest adds up. */
function count(run) {
  const terms = [];
  for (const [word] of run.toLowerCase().matchAll(new RegExp(NUMBER_WORD, "g"))) {
    const value = NUMBER_WORDS.get(word);
    let factor = 0;
    if (value >= 100 || word === "十")
      while (terms.length && terms.at(-1) < value) factor += terms.pop();
    terms.push((factor || 1) * value);
  }
  // "twenty-four" is one number, and "one two" is none.
  const [last = 0, ...rest] = terms.toReversed().filter(Boolean);
  const fits = (one, n) => one >= 10 && String(one).endsWith("0") && one > (rest[n - 1] ?? last);
  return rest.every(fits) ? ` ${rest.reduce((sum, one) => sum + one, last)} ` : replaceWords(run);
}

function readWords(text) {
  const spelled = text
    .replace(/一(?=[共样樣定般起直])/g, "")
    .replace(/一半/g, "1/2")
    .replace(NUMBER_RUN, count)
    .replace(/(\d+)\s*分之\s*(\d+)/g, "($2/$1)")
    .replace(/(?<=\d)\s+and\s+a\s+half(?![a-z])/gi, " 1/2")
    .replace(/^\s*half(?![a-z])/i, "1/2");
  const divide = (found, part, n) => found.replace(part, (_, above = "1") => `${above}/${n + 2} `);
  return PARTS.reduce(divide, spelled).trim();
}

/* --- tokens */

const CONSTANTS = { e: Math.E, π: Math.PI, pi: Math.PI };
const FUNCTIONS = {
  ...{ sqrt: Math.sqrt, "√": Math.sqrt, ln: Math.log, log: Math.log, lg: Math.log10 },
  ...{ log2: Math.log2, log10: Math.log10, exp: Math.exp, abs: Math.abs },
  ...{ cos: Math.cos, sin: Math.sin, tan: Math.tan, tanh: Math.tanh },
};
const QUOTIENTS = new Set(["frac", "fraction"]); // of two arguments
const SCALES = {
  ...{
    "%": 0.01,
    "‰": 0.001,
    thousand: 1e3,
    million: 1e6,
    billion: 1e9,
    千: 1e3,
    万: 1e4,
    萬: 1e4,
  },
  ...{ 亿: 1e8, 億: 1e8 },
};
const TENTHS = { 成: 0.1, 折: 0.1 }; // behind a number alone: other words begin with them
const FACTORS = { ...SCALES, ...TENTHS };
const NAMES = [CONSTANTS, FUNCTIONS, SCALES].flatMap(Object.keys).concat(...QUOTIENTS);
const NAME = NAMES.sort((a, b) => b.length - a.length).join("|");
const TENTH = String.raw`(?<=\d\s*)[成折](?!\p{Script=Han})`;
const LATIN = String.raw`(?:(?!\p{Script=Han})\p{L})`;
const NUMERAL = String.raw`(?:\d+(?:\.\d*)?|\.\d+)`;
const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s*)(?:(?<digits>${NUMERAL})(?<power>e[-+]?\d+)?(?<open>…?)`,
    `(?<name>${NAME}|${TENTH})(?![a-z]|_)`,
    String.raw`(?<word>\p{Script=Han}+|${LATIN}+(?:['’-]${LATIN}+)*(?:_?\d+|_\{[^{}]*\}|_${LATIN}+)?)`,
    "(?<sign>[-+*/^()[\\]{},;=:|‖]))",
  ].join("|"),
  "iuy",
);
const PLAIN = new RegExp(String.raw`(?<![\w.)])[-+]?${NUMERAL}(?:e[-+]?\d+)?`, "gi");

/* Whether what stands between commas and brackets around a place are numerals and words alone. */
function isNumeral(text, place) {
  const ends = text.slice(place).search(/[,;=:[\]]/);
  const run = text
    .slice(0, ends < 0 ? text.length : place + ends)
    .split(/[,;=:[\]]/)
    .at(-1);
  return !/[^\s(){}%\p{L}]/u.test(run.replace(PLAIN, ""));
}

function tokenize(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) return null;
    const { space, digits, power = "", open, name, word, sign } = match.groups;
    const token = { gap: Boolean(space && at), text: (name ?? sign ?? "").toLowerCase() };
    if (digits) {
      // In an expression the e of "3e+5" is a number, in a numeral it is a power of ten.
      const mayBeE = /^e[-+]\d$/.test(power) && !digits.includes(".");
      const exponent = mayBeE && !isNumeral(text, at + space.length) ? "" : power;
      if (exponent !== power) TOKEN.lastIndex -= power.length + open.length;
      tokens.push({ ...token, ...readNumeral(digits, Number(exponent.slice(1)), open) });
    } else if (/^x\d*$/i.test(word) && endsValue(tokens.at(-1)) && CROSS.test(text.slice(at))) {
      TOKEN.lastIndex = at + space.length + 1;
      tokens.push({ ...token, text: "*" });
    } else if (word) tokens.push({ ...token, text: "word", word });
    else tokens.push(token);
  }
  return tokens;
}

const CROSS = /^\s*x\s*[\d(√]/i;
const endsValue = (token) => /^(?:number|[)\]}])$/.test(token?.text);

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
      this.separated ||= !end && rows.at(-1).length > 0;
      rows.at(-1).push(this.element());
      end = this.takes(",", ";");
      if (end === ";") rows.push([]);
    }
    if (this.separated && this.mayBeTwo) throw new Error("0 -1 is two values between spaces");
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
    const ends = [undefined, ",", ";", ")", "]", "}", ...Object.keys(FACTORS)];
    if (this.spaced || !isMixed || !ends.includes(then?.text)) {
      this.at = begin;
      return null;
    }
    this.at += 4;
    return this.scaled(exact(sign * (whole.value + above.value / below.value)));
  }
  sum() {
    let value = this.product();
    for (;;) {
      const isNext = this.next.gap && !this.tokens[this.at + 1]?.gap; // "0 -1"
      if (this.spaced && isNext) return value;
      const sign = this.takes("+", "-");
      if (!sign) return value;
      this.mayBeTwo ||= isNext;
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
    return this.scaled(base);
  }
  /* "%" and "million" behind a number. */
  scaled(value) {
    return this.next.text in FACTORS
      ? this.scaled(multiplied(value, FACTORS[this.tokens[this.at++].text]))
      : value;
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

/* --- phrases: words may stand around a number where they leave it as it is */

const words = (text) => new Set(text.split(/\s+/));
const ABOUT = "about approx approximately roughly around circa ca exactly precisely";
const BEFORE = words(
  `${ABOUT} only just always simply all so thus hence therefore then to a an the of by in at it
   its i we you think there this that should must would could my our final both they`,
);
const NAMED = words(
  `answer ans result value probability weight weights share score scores factor rank total sum
   position index token tokens key keys query queries batch head heads row column shape size first
   second third fourth order error 答案 结果 結果 概率 权重 權重 分数 位置 秩 形状 占比 答`,
);
const VERB = words(
  `is are was be been equals equal gives give get gets got becomes makes make has have need needs
   takes take it's it’s that's falls drops rises grows goes comes amounts leaves contains`,
);
const REFUSED = words(
  `not no never nor neither none without except than unless wrong false incorrect instead rather
   versus vs least most more less fewer greater smaller larger bigger higher lower above below over
   under between up beyond within too almost nearly slightly anything cannot doubt fails ceases
   reverse reversed swapped transpose transposed`,
);
// Before a number or behind it these make another one of it.
const ALTERS =
  /^(?:doubl|tripl|twice|hal[fv]|squared?$|cubed?$|minus|plus|negat|opposite|invers|reciproc|complement|factorial|logarithm|roots?$|mistake|binary|divided|mod(?:ulo)?$|再?[加乘](?!法)|[两兩加翻]倍|翻|一半|[平立]方|[取相]反|[取是为為]?[负負]|倒[数數]|[对對][数數]|[阶階]乘|[开開]方|[它其]的一半)/i;
const CHANGES =
  /^(?:hundreds?|trillion|dozen|lakh|crore|myriad|gross|score$|tens$|orders?$|ppm|perc|permil|basis|[bp]ps?$|pct|[bm]n$|mil$|dB$|degrees?$|recurring|repeating|third|quarter|kilo|mega|meg|giga|gig|tera|peta|milli|micro|nano|percentage)|(?:t|four|fif|six|seven|eigh|nin|t(?:en|welf)|teen|eleven|tie|hundred|thousand|million|billion)ths?$/i;
const UNIT = /^(?:[sBJWVkKMG]|.{2,})$/u;
const REASON = /^(?:because|since|因为|因為|由于|由於)/i;
const HAN = {
  refused:
    /[不非没沒未错錯减減除超]|比(?![例率重])|[大小多少高低][于於]|至少|[最至][多少]|起码|反过来|反過來|颠倒|交[换換]|[转轉]置|[难難]道|以[上下内外]|之[间間外]|介[于於]/u,
  verb: /(?:[是为為得到有占佔比需共]|等[于於]|得出|需要)$/u,
  before:
    /(?:大?[约約]|大概|近似|正好|恰好|刚好|就|只|仅|僅|都|各|第|第[一二三四][个個行]?|一?共|总共|總共|每\p{Script=Han}*|所以|因此|故|应该?)$/u,
  changes:
    /^[的多余餘几幾来成折毛前后後之打起]|^分(?![钟鐘])|[多半吗嗎]$|次[方幂冪]|[少里]|往上|开外|倍数|[二两兩三四五六七八九十百千万萬亿億]|一(?![起共样樣定般直])|分之/u,
};
const ORDINALS = ["first", "second", "third", "fourth"];

const alters = ({ word }) => Boolean(word && ALTERS.test(word));
const isHan = (word) => /^\p{Script=Han}/u.test(word);
const isWord = (token) => token.text === "word";
const isRefused = ({ word }) =>
  word &&
  (isHan(word) ? HAN.refused.test(word) : REFUSED.has(word.toLowerCase()) || /n['’]t$/.test(word));

/* "about", "the answer is", "n 是": whatever ends in a verb, or a few words that may do without. */
function leads(tokens) {
  const isVerb = ({ word }) => (isHan(word) ? HAN.verb.test(word) : VERB.has(word.toLowerCase()));
  const isBefore = ({ word }) =>
    isHan(word) ? HAN.before.test(word) : BEFORE.has(word.toLowerCase());
  const isNamed = ({ word }) => NAMED.has(word.toLowerCase().replace(/_?\d+$/, ""));
  const verb = tokens.findLastIndex(isVerb);
  const rest = tokens.slice(verb + 1);
  return !tokens.some(alters) && rest.every((one) => isBefore(one) || (verb < 0 && isNamed(one)));
}

/* "tokens", "个参数", "of the total": a unit, and no word that changes the number. */
function follows(tokens) {
  const leaves = (word) =>
    isHan(word)
      ? !HAN.changes.test(word)
      : UNIT.test(word) &&
        !CHANGES.test(word) &&
        !VERB.has(word.toLowerCase()) &&
        !NUMBER_WORDS.has(word.toLowerCase());
  const isUnit = (word) => UNIT.test(word) && findUnit(word);
  return !tokens.some(alters) && tokens.every(({ word }) => isUnit(word) || leaves(word));
}

/* Units of one quantity, by their factors; a word that names none leaves a number as it is. */
const UNITS = new Map(
  [
    ...["kilo", "mega", "giga", "tera", "peta"].flatMap(([first, ...rest], n) => [
      [
        new RegExp(
          `^(?:${first.toUpperCase()}b|[${first}${first.toUpperCase()}](?:${rest.join("")})?bits?)$`,
        ),
        "bit",
        1e3 ** (n + 1),
      ],
      [
        new RegExp(`^(?:${first}b|${first}${rest.join("")}bytes?|${"千兆吉太拍"[n]}字节)$`, "i"),
        "byte",
        1e3 ** (n + 1),
      ],
      [new RegExp(`^${first}ib$`, "i"), "byte", 1024 ** (n + 1)],
    ]),
    [/^(?:b|bytes?|字节|位元組)$/i, "byte", 1],
    [/^(?:bits?|比特|位元)$/i, "bit", 1],
    [/^(?:s|sec|seconds?|秒)$/, "second", 1],
    [/^(?:ms|milliseconds?|毫秒)$/, "second", 1e-3],
    [/^(?:[µμu]s|microseconds?|微秒)$/, "second", 1e-6],
    [/^(?:ns|nanoseconds?|纳秒)$/, "second", 1e-9],
    [/^(?:min|minutes?|分钟|分鐘)$/, "second", 60],
    [/^[kK]$/, undefined, 1e3],
    [/^M$/, undefined, 1e6],
    [/^G$/, undefined, 1e9],
  ].map(([name, measure, factor]) => [name, { measure, factor }]),
);
const findUnit = (word = "") => [...UNITS].find(([name]) => name.test(word))?.[1];

/* A number in the unit of the field, if that has one; not of the field's kind is no number of it. */
function convert(one, wanted) {
  if (!wanted || !one.measure) return one;
  const inBytes = one.measure === "bit" && wanted.measure === "byte" ? 1 / 8 : Number.NaN;
  const factor = one.measure === wanted.measure ? 1 : inBytes;
  return multiplied(one, factor / wanted.factor);
}

function split(tokens, signs) {
  const parts = [[]];
  let depth = 0;
  for (const token of tokens) {
    depth += "([{".includes(token.text) ? 1 : ")]}".includes(token.text) ? -1 : 0;
    if (depth === 0 && signs.includes(token.text)) parts.push([]);
    else parts.at(-1).push(token);
  }
  return parts;
}

/* "x", "P(A)", "‖x‖"; not "2x", "-x", "[a, b]". */
const isName = (tokens) =>
  tokens.some(isWord) && (isWord(tokens[0]) || /[|‖]/.test(tokens[0].text));

/* The rows of one form, such as "about 0.25" or "3 个参数"; null where it is a name, as in "p = 1". */
function readForm(tokens, spaced) {
  const begin = tokens.findIndex((one) => !isWord(one));
  const end = tokens.findLastIndex((one) => !isWord(one)) + 1;
  const inner = tokens.slice(begin, end);
  const isValue = end && !inner.some(isWord) && leads(tokens.slice(0, begin));
  try {
    if (isValue && follows(tokens.slice(end))) {
      const rows = toRows(new Parser(inner, spaced).list("end"));
      const unit = findUnit(tokens[end]?.word);
      const measured = (one) => ({ ...multiplied(one, unit.factor), measure: unit.measure });
      return unit ? rows.map((row) => row.map(measured)) : rows;
    }
  } catch {
    // no value: perhaps a name
  }
  if (isName(tokens) || (tokens.length === 1 && tokens[0].text in CONSTANTS)) return null;
  throw new Error("neither a value nor a name");
}

/* "x = 1/4 = 0.25": forms of one value; the most exact of them is the answer. */
function readEqual(tokens, spaced) {
  const [value, ...names] = split(tokens, [":"]).reverse();
  const forms = split(value, ["="]);
  if (!forms[0].length) forms.shift();
  if (names.some((name) => !isName(name) || split(name, [",", ";"]).length > 1))
    throw new Error("no name before the colon");
  const read = forms.map((form) => readForm(form, spaced));
  // A name may stand before its value, and a remark behind it: "1/4 (a quarter)", not "3 or 5x".
  const first = read.findIndex(Boolean);
  if (forms.some((form, n) => n > first && !read[n] && form.some((one) => one.digits)))
    throw new Error("another number behind the value");
  if ([...names, ...forms.slice(0, first)].flat().some(alters))
    throw new Error("the name of another value");
  const values = read.filter(Boolean);
  const unit = (rows) => Math.max(...rows.flat().map((one) => one.unit));
  const best = values.toSorted((one, other) => unit(one) - unit(other))[0];
  if (!best || !values.every((rows) => agree(rows, best))) throw new Error("not one value");
  return best;
}

function agree(rows, best) {
  const [found, other] = [rows.flat(), best.flat()];
  return (
    found.length === other.length &&
    found.every((one, n) => {
      const away = Math.abs(one.value - other[n].value);
      const isNear = one.unit <= 0.001 || away <= NEAR * Math.abs(other[n].value);
      return isNear && away <= one.unit * (one.cut ? 1 : 0.5000001) + 1e-12 * Math.abs(one.value);
    })
  );
}

/* "w1 = 0.2, w2 = 0.8", "first 0.2, second 0.8": in the order of the names' numbers. */
function readNamed(tokens, spaced) {
  const elements = split(tokens, [",", ";"]).filter((one) => one.length);
  const isNamed = (one) => one.some((token) => isWord(token) || token.text === "=");
  if (elements.length < 2 || !elements.some(isNamed)) return null;
  const named = elements.map((one) => ({ rows: readEqual(one, spaced), place: placeOf(one) }));
  if (named.every(({ place }) => place)) named.sort((one, other) => one.place - other.place);
  const all = named.flatMap(({ rows }) => rows);
  return all.every((row) => row.length === 1) ? [all.flat()] : all;
}

function placeOf(tokens) {
  const ends = tokens.findIndex(({ text }) => /^[:=]$/.test(text));
  const [name, number] = tokens.slice(Math.max(ends - 2, 0), Math.max(ends, 0));
  if (name && isWord(name) && number?.digits) return number.value; // "key 2: 0.75"
  const found = tokens.filter(isWord).map(({ word }) => {
    const han = "一二三四".indexOf(word.match(/^第(.)/)?.[1] ?? " ");
    const ordinal = Math.max(ORDINALS.indexOf(word.toLowerCase()), han);
    const letter = /^[a-d]$/i.test(word) ? word.toLowerCase().charCodeAt() : 0;
    return ordinal < 0 ? Number(word.replace(/\D/g, "")) || letter : ordinal + 1;
  });
  return found.find(Boolean);
}

/* "0.25 (25%)", "1/4 (a quarter)": another form, or a remark; not the argument of "f(3)". */
function unwrap(tokens) {
  let open = tokens.length;
  let depth = 0;
  do depth += { ")": 1, "(": -1 }[tokens[--open]?.text] ?? 0;
  while (depth > 0 && open > 0);
  const before = tokens[open - 1];
  const isCall = before?.word
    ? !tokens[open].gap && !isHan(before.word)
    : before?.text in FUNCTIONS;
  const isBehind = depth === 0 && tokens.slice(0, open).some((one) => one.digits);
  if (tokens.at(-1)?.text !== ")" || isCall || !isBehind) return null;
  return [...tokens.slice(0, open), { text: "=" }, ...tokens.slice(open + 1, -1)];
}

/* The same of each entry: "0.5 (1/2), 0.25 (1/4)". */
function unwrapEach(tokens) {
  const entries = split(tokens, [",", ";"]);
  if (entries.length < 2 || !entries.some(unwrap)) return null;
  let at = -1; // the sign before an entry
  return entries.flatMap((one) => {
    const sign = tokens.slice(Math.max(at, 0), at + 1);
    at += one.length + 1;
    return [...sign, ...(unwrap(one) ?? one)];
  });
}

/* --- readings: rows of numbers */

function parse(text) {
  let tokens = tokenize(text) ?? [];
  const reason = tokens.findIndex(
    ({ word }, n) => word && REASON.test(word) && tokens.slice(0, n).some((one) => one.digits),
  );
  if (reason > 0) tokens = tokens.slice(0, reason - (tokens[reason - 1].text === "," ? 1 : 0));
  if (!tokens.length || tokens.some(isRefused)) return [];
  const found = [];
  for (const one of [tokens, unwrap(tokens), unwrapEach(tokens)].filter(Boolean))
    for (const read of [readEqual, readNamed])
      for (const spaced of [false, true])
        try {
          const rows = read(one, spaced);
          if (rows?.flat().every((entry) => Number.isFinite(entry.value))) found.push(rows);
        } catch {
          // This is not what it means.
        }
  return found;
}

function toRows(found) {
  if (!Array.isArray(found)) return [[found]];
  return found.some(Array.isArray) ? found.flatMap(toRows) : [found];
}

/* All that a text may mean, the most likely first. */
export function read(text) {
  if (text.length > LIMIT) return [];
  const plain = simplify(text);
  const upright = plain.replace(TRANSPOSED, "");
  const texts = new Set([upright, ...OTHERWISE.map((change) => change(upright))]);
  const readings = [...texts].flatMap(parse);
  const stays = (rows) => upright === plain || rows.length === 1 || isRagged(rows);
  return readings.map((rows) => (stays(rows) ? rows : transpose(rows)));
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
  const found = rows.flat().map((one) => convert(one, wanted.unit));
  const flat = wanted.rows.flat();
  if (found.length !== flat.length) return "count";
  const isShaped = rows.length > 1 && rows.some((row) => row.length > 1) && wanted.rows.length > 1;
  if (isShaped && rows.some((row, n) => row.length !== wanted.rows[n]?.length)) return "wrong";
  const largest = Math.max(...flat.map(Math.abs));
  const verdicts = found.map((one, n) => compare(one, flat[n], wanted.printed[n], largest));
  return ORDER.find((verdict) => verdicts.includes(verdict));
}

const ORDER = ["wrong", "rounded", "digits", "right"]; // the worst entry decides
const RANK = ["right", "digits", "rounded", "sign", "transposed", "percent", "wrong", "count"];

/* What the page wants: exact numbers (JSON), the text that it prints, and the unit that the label
   of the field names, as in "Size in MB". */
export function want(exactly, printed, label = "") {
  const rows = exactly ? toRows(JSON.parse(exactly.replaceAll("−", "-"))) : null;
  const size = rows?.flat().length ?? (printed.startsWith("[") ? 0 : 1);
  const readings = read(printed);
  const shown = readings.find((one) => one.flat().length === size) ?? readings[0] ?? [];
  const values = shown.map((row) => row.map((one) => one.value));
  const unit = (label.match(/\p{Script=Han}+|[a-zµμ]{2,}/giu) ?? []).map(findUnit).find(Boolean);
  return { rows: rows ?? values, printed: values.flat(), unit };
}

function nameMistake(rows, wanted) {
  const isRight = (changed) => judgeRows(changed, wanted) === "right";
  const change = (factor) => rows.map((row) => row.map((one) => multiplied(one, factor)));
  const flat = wanted.rows.flat();
  if (isRight(change(-1))) return "sign";
  const isMatrix = wanted.rows.length > 1 && wanted.rows[0].length > 1;
  if (isMatrix && !isRagged(rows) && isRight(transpose(rows))) return "transposed";
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
