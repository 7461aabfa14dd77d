/* What the answers of a class say. Nothing here knows of a page; tests/test_inventory.py computes the
   same in another way. A question counts 1 if its answer and its reason are right. */

const Z = 1.959963984540054; // 95 of 100 standard normal numbers lie within ± Z
const DRAWS = 2000;
export const FEWEST = 5; // people of whom anything is shown
export const FEWEST_FOR_TIES = 30;
const RIGHT = "x";

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
export const mean = (numbers) => sum(numbers) / numbers.length;

/* With n − 1, or with n. */
function variance(numbers, less = 1) {
  const middle = mean(numbers);
  return sum(numbers.map((one) => (one - middle) ** 2)) / (numbers.length - less);
}

/* The codes that a person has chosen: for each question those of the answer and of the reason, RIGHT
   or a belief, null for nothing. */
export function readCodes({ form, answers }, items) {
  return items.map((item, n) => {
    const [letter, digit] = answers[n];
    const [listed, reasons] = item[form];
    return [listed["abcd".indexOf(letter)] ?? null, reasons["1234".indexOf(digit)] ?? null];
  });
}

export const scoreCodes = (codes) =>
  codes.map((both) => Number(both.every((one) => one === RIGHT)));

/* Wilson's interval of a share. */
function boundShare(right, n) {
  const p = right / n;
  const middle = (p + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
  const half = (Z / (1 + Z ** 2 / n)) * Math.sqrt((p * (1 - p)) / n + Z ** 2 / (4 * n ** 2));
  return [middle - half, middle + half];
}

/* Pearson's correlation, with Fisher's interval; null where one of the two does not vary. */
function correlate(one, other) {
  const [a, b] = [mean(one), mean(other)];
  const both = sum(one.map((x, n) => (x - a) * (other[n] - b)));
  const size = Math.sqrt(sum(one.map((x) => (x - a) ** 2)) * sum(other.map((y) => (y - b) ** 2)));
  if (size === 0) return null;
  const r = Math.max(-1, Math.min(1, both / size));
  const reach = Z / Math.sqrt(one.length - 3);
  const [low, high] = [-reach, reach].map((shift) => Math.tanh(Math.atanh(r) + shift));
  return { r, low, high };
}

/* Kuder and Richardson's formula 20: how much of the variance of the totals the questions share. */
function findReliability(scores) {
  const totals = scores.map(sum);
  const spread = variance(totals, 0);
  if (spread === 0) return null;
  const questions = scores[0].length;
  const within = sum(
    scores[0].map((_, n) =>
      variance(
        scores.map((row) => row[n]),
        0,
      ),
    ),
  );
  return (questions / (questions - 1)) * (1 - within / spread);
}

/* Numbers from 0 to 1, the same each time: mulberry32. */
function* drawNumbers(seed) {
  let state = seed;
  while (true) {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    yield ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
}

/* The gain of the class, (after − before) / (1 − before) of its means; people are drawn again for
   its interval. `pairs` has the shares of each person, before and after. */
export function findGain(pairs) {
  const gain = (some) => {
    const [before, after] = [0, 1].map((n) => mean(some.map((pair) => pair[n])));
    return before === 1 ? 0 : (after - before) / (1 - before);
  };
  const numbers = drawNumbers(2017);
  const drawn = Array.from({ length: DRAWS }, () =>
    gain(pairs.map(() => pairs[Math.floor(numbers.next().value * pairs.length)])),
  ).sort((a, b) => a - b);
  const differences = pairs.map(([before, after]) => after - before);
  const spread = Math.sqrt(variance(differences));
  return {
    g: gain(pairs),
    low: drawn[Math.floor(0.025 * DRAWS)],
    high: drawn[Math.ceil(0.975 * DRAWS) - 1],
    effect: spread === 0 ? null : mean(differences) / spread,
  };
}

/* By how much the means of two groups differ, with a normal interval. */
export function compareMeans(one, other) {
  const difference = mean(one) - mean(other);
  const half = Z * Math.sqrt(variance(one) / one.length + variance(other) / other.length);
  return { difference, low: difference - half, high: difference + half };
}

/* How many hold each belief: by answer and reason, and by one of the two at least. */
function countBeliefs(people) {
  const counts = new Map();
  for (const codes of people) {
    for (const pair of codes) {
      for (const code of new Set(pair)) {
        if (code === RIGHT || code === null) continue;
        const found = counts.get(code) ?? { code, both: 0, either: 0 };
        found.either += 1;
        if (pair[0] === pair[1]) found.both += 1;
        counts.set(code, found);
      }
    }
  }
  return [...counts.values()].sort((a, b) => b.both - a.both || b.either - a.either);
}

/* Everything about one stage, before or after: `people` has the codes of each. */
export function describeStage(people) {
  const scores = people.map(scoreCodes);
  const totals = scores.map(sum);
  const questions = scores[0].map((_, n) => {
    const own = scores.map((row) => row[n]);
    const right = sum(own);
    const [low, high] = boundShare(right, people.length);
    const rest = totals.map((total, i) => total - own[i]);
    const tie = people.length < FEWEST_FOR_TIES ? null : correlate(own, rest);
    const lucky = people.filter((codes) => codes[n][0] === RIGHT && codes[n][1] !== RIGHT);
    return { share: right / people.length, low, high, tie, lucky: lucky.length / people.length };
  });
  return { questions, reliability: findReliability(scores), beliefs: countBeliefs(people) };
}
