/* The literal that a line `name = …` of a block sets, so that a knob can turn it. */
const NUMBER = /\bTrue\b|\bFalse\b|[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?/gi;

const VALUE = /^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\s#]+)?/;

/* Where it stands in the code, its text, its numbers with their rows and columns; null for none. */
export function literal(code, name) {
  const head = new RegExp(`^${name}[ \\t]*=[ \\t]*`, "m").exec(code);
  if (!head) return null;
  const start = head.index + head[0].length;
  const rest = code.slice(start);
  const list = /^[\w.]*\(?\s*(?=\[)/.exec(rest);
  const end = list ? findClosing(rest, list[0].length) : VALUE.exec(rest)[0].length;
  if (!end) return null;
  const from = start + (list ? list[0].length : 0);
  const text = code.slice(from, start + end);
  const found = { from, to: start + end, text, rows: /^\[\s*\[/.test(text), numbers: [] };
  if (/^["']/.test(text)) return found;
  let [row, column, last] = [0, 0, 0];
  for (const match of text.matchAll(NUMBER)) {
    const between = text.slice(last, match.index);
    if (found.rows && /\]\s*,?\s*\[/.test(between)) [row, column] = [row + 1, 0];
    found.numbers.push({ text: match[0], at: from + match.index, row, column });
    column += 1;
    last = match.index + match[0].length;
  }
  return found.numbers.length ? found : null;
}

/* Where the bracket that opens at `open` is closed, or 0. */
function findClosing(text, open) {
  let depth = 0;
  for (let n = open; n < text.length; n += 1) {
    if (text[n] === "[") depth += 1;
    else if (text[n] === "]" && !--depth) return n + 1;
  }
  return 0;
}

/* The code with another number at place `n` of the literal, or null. */
export function withNumber(code, name, n, text) {
  const one = literal(code, name)?.numbers[n];
  return one ? code.slice(0, one.at) + text + code.slice(one.at + one.text.length) : null;
}

/* What a literal of a string says; Python's own escapes stay as they are written. */
export function textOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1, -1);
  }
}

/* The code with another string, or null. */
export function withText(code, name, text) {
  const found = literal(code, name);
  return found ? code.slice(0, found.from) + JSON.stringify(text) + code.slice(found.to) : null;
}
