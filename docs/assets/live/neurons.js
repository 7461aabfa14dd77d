/* Neurons of the model that writes, as they were measured beforehand (attention_docs/site/publish/neurons.py):
   what each of them writes, which texts make it most active, and what it costs to cut it there. */

import { showToken } from "../show.js";
import { element, fillTemplate, resolveUrl } from "./dom.js";

const NAMED = 3; // tokens that name a neuron in the list

const percent = (p) => `${(100 * p).toFixed(2)}%`;
const signed = (number) => number.toFixed(2).replace("-", "−");

/* The part of a panel, or null where its numbers are not to be had; `choose({ layer, neuron })` is called
   for a choice. */
export async function loadNeurons(words, choose) {
  try {
    const answer = await fetch(resolveUrl(words.data));
    return answer.ok ? new Neurons(words, await answer.json(), choose) : null;
  } catch {
    return null; // the connection was lost
  }
}

class Neurons {
  constructor(words, { texts, tokens, neurons }, choose) {
    const [all, together] = [texts, tokens].map((count) => count.toLocaleString("en"));
    Object.assign(this, { words, neurons, size: { texts: all, tokens: together } });
    const options = Object.entries(neurons).map(([name, one]) => {
      const list = this.list(one.raised.slice(0, NAMED));
      const text = fillTemplate(one.drawn ? words.drawn : words.named, { name, list });
      return element("option", { value: name }, text);
    });
    const onchange = () => {
      const [layer, neuron] = this.select.value.split(".");
      choose({ layer, neuron });
      this.draw();
    };
    this.select = element("select", { onchange, translate: "no" }, ...options);
    this.shown = element("div", { class: "next-shown", "aria-live": "polite" });
    const label = element("span", {}, words.chooseNeuron);
    const summary = element("summary", {}, words.measured);
    this.texts = element("details", { class: "fold", open: true }, summary, this.shown);
    this.element = element(
      "div",
      { class: "next-measured" },
      element("label", { class: "next-choose" }, label, this.select),
      this.texts,
    );
    this.draw();
  }

  /* What was measured makes room for the reader's own text. */
  fold() {
    this.texts.open = false;
  }

  /* The largest activity of a neuron in the dictionary; the middle one of all, if it was not measured. */
  findMost(layer, neuron) {
    const most = ({ strongest }) =>
      Math.max(...strongest.flatMap(({ activity }) => activity.map(Math.abs)));
    const measured = this.neurons[`${layer}.${neuron}`];
    if (measured) return most(measured);
    const all = Object.values(this.neurons).map(most);
    return all.sort((a, b) => a - b)[all.length >> 1];
  }

  /* -1 where activity and row are shown with their signs turned round, so that the peaks are above 0. */
  findSign(layer, neuron) {
    return this.neurons[`${layer}.${neuron}`]?.sign ?? 1;
  }

  /* Another one, if it was measured. */
  show(layer, neuron) {
    const name = `${layer}.${neuron}`;
    if (!(Object.hasOwn(this.neurons, name) && name !== this.select.value)) return;
    this.select.value = name;
    this.draw();
  }

  list(tokens) {
    return tokens.map((one) => showToken(one)).join(this.words.comma);
  }

  draw() {
    const { words, size } = this;
    const { sign, raised, active, strongest } = this.neurons[this.select.value];
    const list = this.list(raised);
    const most = this.findMost(...this.select.value.split("."));
    const moved = strongest.flatMap(({ next: [whole, , ...others] }) =>
      others.map((p) => Math.abs(p - whole)),
    );
    this.shown.replaceChildren(
      element("p", {}, fillTemplate(sign > 0 ? words.positive : words.negative, list)),
      element("p", {}, fillTemplate(words.strongest, { ...size, active })),
      ...strongest.flatMap((one) => this.makeText(one, most, sign)),
      element("p", {}, fillTemplate(words.others, (100 * Math.max(...moved)).toFixed(2))),
      element("p", { class: "next-note" }, words.source),
    );
  }

  /* A text in the colours of the neuron's activity, its peak as a number, and what comes next there. */
  makeText({ tokens, activity: given, at, next: [whole, cut] }, most, sign) {
    const activity = given.map((one) => sign * one);
    const chips = tokens.map((token, n) => {
      const chip = element("span", { class: "next-look", translate: "no" }, showToken(token));
      chip.style.setProperty("--weight", `${(100 * Math.abs(activity[n])) / most}%`);
      chip.title = signed(activity[n]);
      if (n === at) chip.append(element("small", {}, signed(activity[n])));
      return chip;
    });
    const shares = { word: showToken(tokens[at]), whole: percent(whole), cut: percent(cut) };
    return [
      element("p", { class: "next-looks", lang: "en" }, ...chips),
      element("p", { class: "next-note" }, fillTemplate(this.words.after, shares)),
    ];
  }
}
