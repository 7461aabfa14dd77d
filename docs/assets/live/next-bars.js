/* The ten likeliest next tokens as bars that can be pressed, and three sliders that change how one of
   them is drawn: temperature, top-k, top-p, in the order of `token_distribution` of the package. */

import { showToken, toShare } from "../show.js";
import { element, fillTemplate } from "./dom.js";

const COUNT = 10;
const ROUNDING = 1e-9;
const RANGES = {
  temperature: { min: 0.2, max: 2, step: 0.05, value: 1 },
  topK: { min: 1, max: COUNT + 1, step: 1, value: COUNT + 1 }, // one more stands for all
  topP: { min: 0.05, max: 1, step: 0.01, value: 1 },
};

/* The logarithm of the sum of all other tokens' probabilities to the power `beta`, between those that
   are known: a polynomial in ln(beta) through all of them. */
function restAt(beta, powers, rest) {
  const x = Math.log(beta);
  const places = powers.map(Math.log);
  return rest.reduce((sum, value, i) => {
    const factors = places.filter((_, j) => j !== i).map((at) => (x - at) / (places[i] - at));
    return sum + factors.reduce((product, factor) => product * factor, value);
  }, 0);
}

/* The probabilities of the ten, from -ln p of each and what is known of the others. Where top-p keeps
   more than the ten, what it keeps in all is known to within one token: it is taken as top-p itself. */
export function distribution({ nats, rest }, powers, { temperature, topK, topP }) {
  const beta = 1 / temperature;
  const terms = nats.map((one) => Math.exp(beta * (nats[0] - one)));
  const sum = terms.reduce((total, one) => total + one, 0);
  const others = topK > COUNT ? Math.exp(restAt(beta, powers, rest) + beta * nats[0]) : 0;
  const all = topK > COUNT ? sum + others : terms.slice(0, topK).reduce((a, b) => a + b, 0);
  let before = 0;
  const kept = terms.map((one, n) => {
    const p = n < topK ? one / all : 0;
    const is = before < topP;
    before += p;
    return is ? p : 0;
  });
  const mass = kept.reduce((total, one) => total + one, 0);
  const isBeyond = topK > COUNT && mass < topP;
  const whole = topP === 1 ? 1 : isBeyond ? topP : mass;
  return kept.map((p) => p / whole);
}

export class Bars {
  /* `choose(n)` is called with the place of the bar that is pressed, `changed()` after a slider. */
  constructor(words, powers, choose, changed) {
    Object.assign(this, { words, powers, choose, changed });
    this.list = element("ol", { class: "next-bars" });
    this.inputs = {};
    const sliders = Object.keys(RANGES).map((name) => this.makeSlider(name));
    this.rest = element("p", { class: "next-rest" });
    const group = { class: "next-sliders", role: "group", "aria-label": words.sliders };
    this.element = element(
      "div",
      { class: "next-panel" },
      this.list,
      this.rest,
      element("div", group, ...sliders),
    );
  }

  makeSlider(name) {
    const output = element("output", {});
    const oninput = () => {
      this.draw();
      this.changed();
    };
    const input = element("input", { type: "range", ...RANGES[name], oninput });
    this.inputs[name] = { input, output };
    return element("label", {}, element("span", {}, this.words[name], " ", output), input);
  }

  get settings() {
    const number = (name) => Number(this.inputs[name].input.value);
    return { temperature: number("temperature"), topK: number("topK"), topP: number("topP") };
  }

  set settings(settings) {
    for (const [name, value] of Object.entries(settings)) {
      if (this.inputs[name] && Number.isFinite(value)) this.inputs[name].input.value = value;
    }
  }

  /* `node` has `texts`, `nats` and `rest`; `can(n)` says whether bar n leads on. */
  show(node, can = () => true) {
    Object.assign(this, { node, can });
    const lengths = this.rows?.map(({ bar }) => bar.style.getPropertyValue("--share"));
    this.rows = node.texts.map((text, n) => this.makeRow(text, n));
    // A bar grows from the length of the one that stood in its place.
    this.rows.forEach(({ bar }, n) => {
      bar.style.setProperty("--share", lengths?.[n] ?? 0);
    });
    this.list.replaceChildren(...this.rows.map(({ item }) => item));
    this.list.getBoundingClientRect(); // laid out with these, they move from there
    this.draw();
  }

  makeRow(text, n) {
    const [bar, share] = [element("i", {}), element("b", {})];
    const [, spaces, letters] = /^(␣*)(.+)$/su.exec(showToken(text)); // one of spaces alone has a line
    const mark = spaces && element("span", { class: "next-space" }, spaces);
    const token = element("span", { class: "next-token-text", translate: "no" }, mark, letters);
    const content = [token, element("span", { class: "next-track" }, bar, share)];
    const onclick = () => this.choose(n);
    const disabled = !this.can(n);
    const button = element("button", { type: "button", onclick, disabled }, ...content);
    return { item: element("li", {}, button), bar, share, button, text };
  }

  draw() {
    const { settings } = this;
    const shown = {
      temperature: settings.temperature.toFixed(2),
      topK: settings.topK > COUNT ? this.words.all : settings.topK,
      topP: settings.topP.toFixed(2),
    };
    for (const [name, { output }] of Object.entries(this.inputs)) output.value = shown[name];
    if (!this.node) return;
    const found = distribution(this.node, this.powers, settings);
    this.rows.forEach(({ bar, share, button, text }, n) => {
      bar.style.setProperty("--share", found[n]);
      share.textContent = toShare(found[n]);
      button.classList.toggle("out", found[n] === 0);
      button.setAttribute("aria-label", `${showToken(text)} ${share.textContent}`);
    });
    const left = 1 - found.reduce((sum, p) => sum + p, 0);
    this.rest.textContent = fillTemplate(this.words.rest, toShare(left > ROUNDING ? left : 0));
  }
}
