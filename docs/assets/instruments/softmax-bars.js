/* Scores as columns to pull, and the weights that softmax makes of them: parts of one bar that is always
   full (attention_docs/figures/softmax_bars.py). */
import * as kit from "./instrument.js";

const { clamp, fillTemplate, format, set } = kit;

export function begin(instrument) {
  const { numbers, words } = instrument;
  const { low, high, hottest } = numbers;
  const keys = [...numbers.scores.keys()];
  const name = (i) => `s${i}`;
  const start = { tau: 1 };
  for (const i of keys) start[name(i)] = numbers.scores[i];

  const compute = (state) => {
    const scores = keys.map((i) => state[name(i)]);
    return { scores, weights: kit.softmax(scores.map((one) => one / state.tau)) };
  };

  const heightOf = ({ top, bottom }, score) =>
    bottom - ((score - low) / (high - low)) * (bottom - top);
  const heightOfTau = ({ rule }, tau) =>
    rule[2] - (0.5 + Math.log2(tau) / (2 * Math.log2(hottest))) * (rule[2] - rule[1]);

  const drawKey = (stage, i, score, weight, at) => {
    const { columns, column, bottom, bar, narrow } = stage.places;
    const [x, y, zero] = [columns[i], heightOf(stage.places, score), heightOf(stage.places, 0)];
    const half = column / 2;
    set(stage.all("column")[i], { d: `M${x - half} ${zero}V${y}h${column}V${zero}z` });
    set(stage.all("knob")[i], { cy: y });
    set(stage.all("score")[i], { y: y - 15 });
    stage.all("score")[i].textContent = format(score, 1);
    const share = bar[2] * weight;
    const d = `M${x - half} ${bottom + 28}h${column}L${at + share} ${bar[1]}H${at}z`;
    set(stage.all("flow")[i], { d });
    set(stage.all("part")[i], { d: `M${at} ${bar[1]}h${share}v${bar[3]}H${at}z` });
    set(stage.all("share")[i], { x: at + share / 2 });
    stage.all("share")[i].textContent = share > narrow ? kit.percent(weight) : "";
    return at + share;
  };
  const draw = (stage, { tau }, { scores, weights }) => {
    keys.reduce((at, i) => drawKey(stage, i, scores[i], weights[i], at), stage.places.bar[0]);
    set(stage.one("tau"), { cy: heightOfTau(stage.places, tau) });
    stage.one("tau-text").firstChild.textContent = sayTau(tau);
  };
  const sayTau = (tau) => fillTemplate(words.tau, { tau: format(tau, 2) });
  const tell = (_, { weights }) =>
    fillTemplate(words.state, {
      weights: weights.map((one, i) => `${words.keys[i]} ${format(one, 3)}`).join(words.comma),
    });
  instrument.begin({ start, compute, draw, tell, smooth: Object.keys(start) });

  for (const i of keys)
    instrument.addHandle({
      label: fillTemplate(words.handle, { key: words.keys[i] }),
      place: ({ places }, state) => [places.columns[i], heightOf(places, state[name(i)])],
      drag: ({ places: { top, bottom } }, [, y]) => ({
        [name(i)]: clamp(low + ((bottom - y) / (bottom - top)) * (high - low), low, high),
      }),
      step: ([right, up], state) => ({
        [name(i)]: clamp(state[name(i)] + 0.1 * (right + up), low, high),
      }),
      value: (state) => [state[name(i)], low, high, format(state[name(i)], 1)],
    });
  instrument.addHandle({
    label: words.temperature,
    place: ({ places }, { tau }) => [places.rule[0], heightOfTau(places, tau)],
    drag: ({ places: { rule } }, [, y]) => ({
      tau: hottest ** clamp((2 * (rule[2] - y)) / (rule[2] - rule[1]) - 1, -1, 1),
    }),
    step: ([right, up], { tau }) => ({
      tau: clamp(tau * hottest ** ((right + up) / 20), 1 / hottest, hottest),
    }),
    value: ({ tau }) => [tau, 1 / hottest, hottest, sayTau(tau)],
  });
  const write = (state) =>
    [...keys.map(name), "tau"].map((one) => +state[one].toFixed(3)).join(",");
  const read = (text) => {
    const given = text.split(",").map(Number);
    if (given.length !== keys.length + 1 || !given.every(Number.isFinite)) return undefined;
    const found = { tau: clamp(given.at(-1), 1 / hottest, hottest) };
    for (const i of keys) found[name(i)] = clamp(given[i], low, high);
    return found;
  };
  instrument.keepInAddress("softmax", write, read);
  instrument.addTools();
}
