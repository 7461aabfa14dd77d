/* A sentence whose words are hands of a dial (attention_docs/figures/sentence_dial.py): the red query is
   turned and lengthened, the weights are arcs, and the word that comes out changes its kind. */
import * as kit from "./instrument.js";

const { clamp, fillTemplate, format, KINDS, set } = kit;

export function begin(instrument) {
  const { numbers, words } = instrument;
  const { keys, values, queries, askers, longest, decided } = numbers;
  const pose = (word) => ({ word, turn: queries[word][0], length: queries[word][1] });

  const compute = ({ turn, length }) => {
    const scores = keys.map((key) => length * Math.cos(kit.radians(turn - key)));
    const weights = kit.softmax(scores);
    const output = kit.average(weights, values);
    const best = Math.max(...output);
    const kind = best < decided ? -1 : output.indexOf(best);
    return { scores, weights, output, best, kind };
  };
  // Bands lie side by side at the word that asks, the nearest outside.
  const bandOf = ({ xs, size, top, rise, slope, thick }, asking, weights, j) => {
    const all = [...xs.keys()];
    const order = [...all.slice(0, asking).reverse(), asking, ...all.slice(asking + 1).reverse()];
    const before = order.slice(0, order.indexOf(j)).map((i) => weights[i]);
    const wide = thick * weights[j];
    const to = xs[asking] - thick / 2 + thick * kit.sum(before);
    const x = xs[j] - wide / 2 + (j === asking ? 0.8 * size : 0);
    return kit.band(top, x, to, wide, top - rise - slope * Math.abs(xs[asking] - xs[j]));
  };

  const drawSentence = (stage, { word }, { weights }) => {
    weights.forEach((weight, j) => {
      set(stage.all("arc").at(-1 - j), { d: bandOf(stage.places, word, weights, j) });
      stage.all("weight")[j].textContent = kit.percent(weight);
      set(stage.all("word")[j], { fill: j === word ? "var(--role-query)" : "currentColor" });
    });
  };
  const drawDial = (stage, { turn, length }, { scores }) => {
    const { places } = stage;
    const tip = kit.onDial(places, turn, length / longest);
    set(stage.one("hand"), { d: kit.line(places.centre, tip) });
    set(stage.one("tip"), { cx: tip[0], cy: tip[1] });
    scores.forEach((score, j) => {
      const foot = kit.onDial(places, keys[j], Math.max(0, score) / longest);
      set(stage.all("shadow")[j], { d: kit.line(places.centre, foot) });
      set(stage.all("drop")[j], { d: kit.line(tip, foot), opacity: score <= 0 ? 0 : 0.8 });
      stage.all("score")[j].textContent = format(score, 1);
    });
    const isMoved = instrument.root.matches(".moved");
    stage.one("length").firstChild.textContent = isMoved ? sayLength(length) : words.hint;
  };
  const sayLength = (length) => fillTemplate(words.length, { length: format(length, 1) });

  const drawOutput = (stage, { word }, { output, best, kind }) => {
    const { bars, label } = stage.places;
    const share = Math.round((100 * output[0]) / kit.sum(output));
    const mixed = `color-mix(in oklab,${KINDS[0]} ${share}%,${KINDS[1]})`;
    const fill = kind < 0 ? "currentColor" : mixed;
    set(stage.one("out"), { fill, "fill-opacity": 0.2 + 0.8 * best });
    stage.one("out").textContent = words.plain[word];
    output.forEach((value, k) => {
      const [at, long] = [bars[1] + k * bars[2], bars[3] * value];
      const d = `M${bars[0]} ${at - 0.8 * label}h${long}v${label}H${bars[0]}z`;
      const amount = stage.all("amount")[k].firstChild;
      set(stage.all("picture")[k], { opacity: Number(value >= decided) });
      set(stage.all("bar")[k], { d });
      set(amount, { x: bars[0] + long + 6 });
      amount.textContent = format(value, 2);
    });
    set(stage.one("doubt"), { opacity: Number(best < decided) });
    stage.one("verdict").firstChild.textContent = words.kinds[kind] ?? words.cannot;
    set(stage.one("verdict"), { fill: KINDS[kind] ?? "currentColor" });
  };

  const draw = (...all) => [drawSentence, drawDial, drawOutput].forEach((part) => part(...all));
  const tell = ({ word }, { weights, kind }) => {
    const weight = kit.percent(Math.max(...weights));
    const most = words.words.filter((_, j) => kit.percent(weights[j]) === weight);
    const pairs = most.map((one) => fillTemplate(words.pair, { word: one, number: weight }));
    const [asker, said] = [words.words[word], words.kinds[kind] ?? words.cannot];
    const parts = { asker, best: most[0], weight, pairs: pairs.join(words.comma), kind: said };
    return fillTemplate(most.length > 1 ? words.tied : words.state, parts);
  };
  const ways = { smooth: ["turn", "length"], round: ["turn"] };
  instrument.begin({ start: pose(numbers.first), compute, draw, tell, ...ways });

  for (const word of askers)
    instrument.addButton({
      label: fillTemplate(words.ask, { word: words.words[word] }),
      area: ({ places: { xs, size, base, span, under } }) => {
        const wide = Math.max(1.9 * size, span / 8);
        return [xs[word] - wide / 2, base - 0.8 * size, wide, (0.8 + under) * size];
      },
      press: () => instrument.glide(pose(word)),
      isOn: (state) => state.word === word,
    });
  instrument.addHandle({
    label: words.handle,
    area: ({ places }) => kit.boxOfDial(places),
    place: ({ places }, { turn, length }) => kit.onDial(places, turn, length / longest),
    drag: ({ places }, point) => {
      const [turn, share] = kit.readDial(places, point);
      return { turn, length: share * longest };
    },
    step: ([right, up], { turn, length }) => ({
      turn: kit.circle(turn - 5 * right),
      length: clamp(length + 0.5 * up, 0, longest),
    }),
    value: ({ turn, length }) => [turn, 0, 360, `${format(turn, 0)}°, ${sayLength(length)}`],
  });
  const write = ({ word, turn, length }) =>
    [word + 1, turn.toFixed(1), length.toFixed(2)].join(",");
  const read = (text) => {
    const [word, turn, length] = text.split(",").map(Number);
    if (!askers.includes(word - 1) || ![turn, length].every(Number.isFinite)) return undefined;
    return { word: word - 1, turn: kit.circle(turn), length: clamp(length, 0, longest) };
  };
  instrument.keepInAddress("q", write, read);
  instrument.addTools({ canSave: true });
}
