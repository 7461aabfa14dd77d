/* How a token and a probability are shown, by panels of the model and by its drawing. */
const SIGNS = { " ": "␣", "\t": "⇥", "\n": "↵" };
const UNSEEN = /⟨[0-9A-F ]+⟩|[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu;
const LEAST = 0.0005; // which a tenth of a percent rounds down to 0

/* A token so that no two look alike: a space as ␣, a tab as ⇥, the end of a line as ↵, and what else
   cannot be seen by its bytes, as the package writes those that are no whole character. */
export const showToken = (text) =>
  text
    .replace(UNSEEN, (one) => SIGNS[one] ?? (one[0] === "⟨" ? one : `⟨${toBytes(one)}⟩`))
    .replace(/^\p{M}/u, (mark) => `◌${mark}`);

const toBytes = (text) =>
  [...new TextEncoder().encode(text)]
    .map((byte) => byte.toString(16).padStart(2, "0").toUpperCase())
    .join(" ");

/* What ⟨…⟩ stands for, where one of the tokens has it. */
export const explainBytes = (words, texts) =>
  texts.some((text) => showToken(text).includes("⟨")) ? words.bytes : "";

/* A probability: – for 0, which only what was cut away has. */
export function toShare(p) {
  if (p === 0) return "–";
  return p < LEAST ? "<0.1%" : `${(100 * p).toFixed(1)}%`;
}
