/* How long each token took, with the cache and without it, as bars beside each other and in words. */
import { element, fillTemplate } from "./dom.js";

export const MANY = 20; // tokens of one press
const FEW = 5; // of the first and of the last of them the median is said

export class Times {
  constructor(words) {
    this.words = words;
    this.chart = element("div", { class: "next-times", role: "img" });
    this.told = element("div", { class: "next-note" });
    this.element = element("div", { hidden: true }, this.chart, this.told);
    this.clear();
  }

  clear() {
    this.runs = { cached: [], whole: [] };
    this.draw();
  }

  /* A new press: what the other way took stays, to be compared with. */
  begin(isCached) {
    this.runs[nameOf(isCached)] = [];
  }

  /* A token took some seconds, and made the text `count` tokens long. */
  add(isCached, seconds, count) {
    const run = this.runs[nameOf(isCached)];
    if (run.length === MANY) run.shift();
    run.push({ seconds, before: count - 1 });
    this.draw();
  }

  rateOf(isCached) {
    const run = this.runs[nameOf(isCached)];
    return run.length / run.reduce((sum, { seconds }) => sum + seconds, 0);
  }

  draw() {
    const { words, runs } = this;
    const lists = Object.values(runs);
    const most = Math.max(...lists.flat().map(({ seconds }) => seconds));
    const longest = Math.max(...lists.map((run) => run.length));
    const columns = Array.from({ length: MANY }, (_, n) => {
      const bars = Object.entries(runs).map(([name, run]) => {
        const bar = element("i", { class: name });
        bar.style.height = `${run[n] ? (100 * run[n].seconds) / most : 0}%`;
        return bar;
      });
      return element("span", {}, ...bars);
    });
    this.chart.replaceChildren(...columns);
    this.element.hidden = longest < 2;
    const told = Object.entries(runs).filter(([, run]) => run.length > 0);
    this.told.replaceChildren(...told.map(([name, run]) => describe(words, name, run)));
    this.chart.setAttribute("aria-label", this.told.textContent);
  }
}

const nameOf = (isCached) => (isCached ? "cached" : "whole");

function median(run) {
  const sorted = run.map(({ seconds }) => seconds).sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function describe(words, name, run) {
  const few = Math.min(FEW, Math.ceil(run.length / 2));
  const parts = {
    first: median(run.slice(0, few)).toFixed(2),
    before: run[0].before,
    last: median(run.slice(-few)).toFixed(2),
    after: run.at(-1).before,
  };
  const mark = element("i", { class: `next-mark ${name}` });
  return element("p", {}, mark, fillTemplate(words.times[name], parts));
}
