/* The answers of one person as one line, without a name:
   "ATT2-A-en-pre-7K2QX-d3.b2.__.(…)-24-9F" is the draft, the form, the language, before or after the
   course, a code that only this person knows, an answer and a reason for each question, the minutes,
   and a check sum, which finds slips of copying and protects nothing. */

export const DRAFT = "ATT2";
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"; // no I, L, O, U, which are misread
const CODE_LENGTH = 4;
const LINE =
  /^(?<draft>ATT\d+)-(?<form>[AB])-(?<lang>[a-z]+)-(?<stage>pre|post)-(?<code>[0-9A-Z]{5}|_)-(?<answers>[a-d_][1-4_](?:\.[a-d_][1-4_])*)-(?<minutes>\d{1,4})-(?<sum>[0-9A-F]{2})$/;

/* CRC-8 with the polynomial x⁸ + x² + x + 1, as two hexadecimal digits. */
function sumUp(text) {
  let sum = 0;
  for (const byte of new TextEncoder().encode(text)) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 0x80 ? ((sum << 1) ^ 0x07) & 0xff : sum << 1;
  }
  return sum.toString(16).toUpperCase().padStart(2, "0");
}

/* Four characters that are drawn, and a fifth that any other one of them would change. */
export function drawCode() {
  const drawn = crypto.getRandomValues(new Uint8Array(CODE_LENGTH));
  const code = Array.from(drawn, (byte) => DIGITS[byte % DIGITS.length]).join("");
  return code + findLast(code);
}

function findLast(code) {
  const sum = [...code].reduce((all, one, n) => all + (2 * n + 1) * DIGITS.indexOf(one), 0);
  return DIGITS[sum % DIGITS.length];
}

export const isCode = (code) =>
  code.length === CODE_LENGTH + 1 &&
  [...code].every((one) => DIGITS.includes(one)) &&
  findLast(code.slice(0, -1)) === code.at(-1);

/* `answers` has a letter and a digit for each question, "_" for what was left empty. */
export function writeLine({ form, lang, stage, code, answers, minutes }) {
  const parts = [DRAFT, form, lang, stage, code || "_", answers.join("."), minutes];
  return `${parts.join("-")}-${sumUp(parts.join("-"))}`;
}

/* What a line says, or { fault }: "form" or "sum". */
export function readLine(text, questions) {
  const found = LINE.exec(text.trim());
  if (found?.groups.draft !== DRAFT) return { fault: "form" };
  const { form, lang, stage, code, answers, minutes, sum } = found.groups;
  const listed = answers.split(".");
  if (listed.length !== questions) return { fault: "form" };
  if (sumUp(text.trim().slice(0, -3)) !== sum) return { fault: "sum" };
  return { form, lang, stage, code, answers: listed, minutes: Number(minutes) };
}
