/* Two words of a sentence to scrub, and the hands that say where they stand: both turn, and the angle
   between them stays (attention_docs/figures/word_clocks.py). */
import * as kit from "./instrument.js";

const { clamp, fillTemplate, format, set } = kit;

export function begin(instrument) {
  const { numbers, words } = instrument;
  const { omega, count } = numbers;
  const last = count - 1;
  const [t, u] = numbers.places;

  const compute = ({ t, apart }) => {
    const hands = omega.map((one) => [one * t, one * (t + apart)]);
    const cosines = hands.map(([start, end]) => Math.cos(end - start));
    return { hands, cosines, product: kit.sum(cosines) };
  };

  const endOf = ({ row, radius }, x, turned) => [
    x + radius * Math.sin(turned),
    row - radius * Math.cos(turned),
  ];
  const at = ({ first, pitch }, place) => first + pitch * place;

  const drawDial = (stage, i, [start, end], cosine) => {
    const { middles, row, radius } = stage.places;
    const x = middles[i];
    const [a, b] = [start, end].map((turned) => endOf(stage.places, x, turned));
    const turn = 2 * Math.PI;
    const way = ((((end - start + Math.PI) % turn) + turn) % turn) - Math.PI;
    const arc = `A${radius} ${radius} 0 0 ${way > 0 ? 1 : 0} ${b.join(" ")}z`;
    set(stage.all("sector")[i], { d: `M${x} ${row}L${a.join(" ")}${arc}` });
    [a, b].forEach((point, k) => {
      set(stage.all("hand")[2 * i + k], { d: kit.line([x, row], point) });
    });
    stage.all("cosine")[i].firstChild.textContent = format(cosine, 2);
  };
  const draw = (stage, { t, apart }, { hands, cosines, product }) => {
    const { track } = stage.places;
    const ends = [t, t + apart].map((place) => at(stage.places, place));
    set(stage.one("between"), { d: `M${ends[0]} ${track}H${ends[1]}` });
    ends.forEach((x, k) => {
      set(stage.all("knob")[k], { cx: x });
    });
    hands.forEach((both, i) => {
      drawDial(stage, i, both, cosines[i]);
    });
    stage.one("sum").firstChild.textContent = fillTemplate(words.sum, { sum: format(product, 2) });
  };
  const tell = ({ t, apart }, { product }) =>
    fillTemplate(words.state, {
      first: words.words[Math.round(t)],
      second: words.words[Math.round(t + apart)],
      t: format(t, 1),
      u: format(t + apart, 1),
      apart: format(apart, 1),
      sum: format(product, 2),
    });
  const start = { t, apart: u - t };
  instrument.begin({ start, compute, draw, tell, smooth: ["t", "apart"] });

  const placeOf = ({ first, pitch }, x) => (x - first) / pitch;
  const both = (t, { apart }) => ({ t: clamp(t, 0, last - apart) });
  const second = (u, { t }) => ({ apart: clamp(u - t, 0, last - t) });
  instrument.addHandle({
    label: words.both,
    place: ({ places }, { t }) => [at(places, t), places.track],
    drag: ({ places }, [x], state) => both(placeOf(places, x), state),
    step: ([right, up], state) => both(state.t + 0.1 * (right + up), state),
    value: ({ t, apart }) => [t, 0, last - apart, format(t, 1)],
  });
  instrument.addHandle({
    label: words.second,
    place: ({ places }, { t, apart }) => [at(places, t + apart), places.track],
    drag: ({ places }, [x], state) => second(placeOf(places, x), state),
    step: ([right, up], state) => second(state.t + state.apart + 0.1 * (right + up), state),
    value: ({ t, apart }) => [t + apart, 0, last, format(t + apart, 1)],
  });
  const write = ({ t, apart }) => [t.toFixed(2), apart.toFixed(2)].join(",");
  const read = (text) => {
    const [t, apart, ...rest] = text.split(",").map(Number);
    if (rest.length || ![t, apart].every(Number.isFinite)) return undefined;
    const from = clamp(t, 0, last);
    return { t: from, apart: clamp(apart, 0, last - from) };
  };
  instrument.keepInAddress("clocks", write, read);
  instrument.addTools();
}
