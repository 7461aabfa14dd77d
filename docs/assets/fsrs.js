/* When a card comes back: FSRS-6 with the parameters that its authors give, for an answer that was
   known or not. It estimates the stability of a memory, the days after which a card is still known
   with probability 0.9, and how difficult the card is, from 1 to 10. It counts in whole days.
   Method and parameters: open-spaced-repetition, py-fsrs 6.3 (MIT), with which tests/test_review.py
   compares it. */

const W = [
  0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796, 1.4835,
  0.0614, 0.2629, 1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542,
];
const RETENTION = 0.9;
const DECAY = -W[20];
const FACTOR = RETENTION ** (1 / DECAY) - 1;
const AGAIN = 1;
const GOOD = 3;
const EASY = 4;
const LEAST = 0.001; // days
export const MOST = 3650; // days until a card comes back

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

/* How likely a card is still known so many days after its last answer. */
const recall = (days, stability) => (1 + (FACTOR * days) / stability) ** DECAY;

const firstDifficulty = (grade) => W[4] - Math.exp(W[5] * (grade - 1)) + 1;

/* An unknown answer makes a card more difficult, the less so the more difficult it is; all cards are
   drawn a little towards an easy one. */
function nextDifficulty(difficulty, grade) {
  const change = (-W[6] * (grade - GOOD) * (10 - difficulty)) / 9;
  const next = W[7] * firstDifficulty(EASY) + (1 - W[7]) * (difficulty + change);
  return clamp(next, 1, 10);
}

/* Twice on one day says little. */
function sameDay(stability, grade) {
  const growth = Math.exp(W[17] * (grade - GOOD + W[18])) * stability ** -W[19];
  return stability * (grade === GOOD ? Math.max(growth, 1) : growth);
}

/* What was known grows the more, the less likely that was. */
function remembered(stability, difficulty, chance) {
  const growth = Math.exp(W[8]) * (11 - difficulty) * stability ** -W[9];
  return stability * (1 + growth * (Math.exp((1 - chance) * W[10]) - 1));
}

function forgotten(stability, difficulty, chance) {
  const left = W[11] * difficulty ** -W[12] * ((stability + 1) ** W[13] - 1);
  return Math.min(left * Math.exp((1 - chance) * W[14]), stability / Math.exp(W[17] * W[18]));
}

/* Days until a card of this stability comes back. */
const wait = (stability) =>
  clamp(Math.round((stability / FACTOR) * (RETENTION ** (1 / DECAY) - 1)), 1, MOST);

/* A card after an answer: stability, difficulty, the day of the answer, and the day it is due; what
   was not known is due on the same day. `card` is undefined for one that was never asked. */
export function schedule(card, knew, today) {
  const grade = knew ? GOOD : AGAIN;
  let [stability, difficulty, last] = card ?? [];
  if (card) {
    const days = Math.max(today - last, 0);
    const chance = recall(days, stability);
    const next = knew ? remembered : forgotten;
    const grown = days < 1 ? sameDay(stability, grade) : next(stability, difficulty, chance);
    stability = Math.max(grown, LEAST);
    difficulty = nextDifficulty(difficulty, grade);
  } else {
    stability = W[grade - 1];
    difficulty = clamp(firstDifficulty(grade), 1, 10);
  }
  return [stability, difficulty, today, today + (knew ? wait(stability) : 0)];
}

/* A card as it was kept before: how often it was known in a row, and the day it is due. */
export function fromLevel([level, due]) {
  const days = level ? [1, 3, 7, 16, 35][Math.min(level, 5) - 1] : 0;
  const [stability, difficulty] = schedule(undefined, level > 0, 0);
  return [Math.max(days, stability), difficulty, due - days, due];
}
