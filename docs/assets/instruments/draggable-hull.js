/* Three values as corners, and their average to drag: the weights follow, and it will not leave the
   triangle (attention_docs/figures/draggable_hull.py). */
import * as kit from "./instrument.js";

const { clamp, fillTemplate, format, set } = kit;

export function begin(instrument) {
  const { numbers, words } = instrument;
  const [a, b, c] = numbers.corners;
  const minus = (p, q) => [p[0] - q[0], p[1] - q[1]];
  const cross = (p, q) => p[0] * q[1] - p[1] * q[0];
  const whole = cross(minus(b, a), minus(c, a));

  // The only numbers with sum 1 that mix the corners to a point: areas of the parts of the triangle.
  const weigh = (point) => {
    const area = (p, q) => cross(minus(p, point), minus(q, point)) / whole;
    return [area(b, c), area(c, a), area(a, b)];
  };
  // The point of a side that is nearest to a point.
  const onSide = (point, p, q) => {
    const way = minus(q, p);
    const t = clamp(kit.dot(minus(point, p), way) / kit.dot(way, way), 0, 1);
    return [p[0] + t * way[0], p[1] + t * way[1]];
  };
  const far = (p, q) => Math.hypot(...minus(p, q));
  const hold = (point) => {
    if (Math.min(...weigh(point)) >= 0) return point;
    const sides = [
      [a, b],
      [b, c],
      [c, a],
    ].map((side) => onSide(point, ...side));
    return sides.reduce((best, one) => (far(one, point) < far(best, point) ? one : best));
  };

  const compute = ({ x, y, wish }) => {
    const weights = weigh([x, y]).map((one) => Math.max(0, one));
    return { weights, output: [x, y], isOut: Boolean(wish) && far(wish, [x, y]) > 0.01 };
  };
  const place = ({ origin, unit }, [x, y]) => [origin[0] + unit * x, origin[1] - unit * y];

  const draw = (stage, { wish }, { weights, output, isOut }) => {
    const { places } = stage;
    const { bars, thick, tip } = places;
    const at = place(places, output);
    weights.forEach((weight, i) => {
      const d = kit.line(place(places, numbers.corners[i]), at);
      set(stage.all("pull")[i], { d, "stroke-width": 1 + thick * weight });
      const wide = bars[3] * weight;
      const top = bars[1] + i * bars[2];
      set(stage.all("bar")[i], { d: `M${bars[0]} ${top}h${wide}v${bars[4]}H${bars[0]}z` });
      const amount = stage.all("amount")[i].firstChild;
      set(amount, { x: bars[0] + wide + 6 });
      amount.textContent = format(weight, 2);
    });
    const [x, y] = at;
    set(stage.one("tip"), { d: `M${x} ${y - tip}l${tip} ${tip}l${-tip} ${tip}l${-tip} ${-tip}z` });
    set(stage.one("wish"), { opacity: isOut ? 0.7 : 0 });
    if (!isOut) return;
    const finger = place(places, wish);
    set(stage.one("elastic"), { d: kit.line(at, finger) });
    set(stage.one("finger"), { cx: finger[0], cy: finger[1] });
  };
  const sayWeights = (weights) =>
    weights.map((one, i) => `${words.names[i]} ${format(one, 2)}`).join(words.comma);
  const sayPoint = (point) => `[${point.map((one) => format(one, 2)).join(", ")}]`;
  const tell = (_, { weights, output, isOut }) => {
    const parts = { weights: sayWeights(weights), output: sayPoint(output) };
    return fillTemplate(words.state, parts) + (isOut ? ` ${words.stays}` : "");
  };
  const [x, y] = numbers.output;
  instrument.begin({ start: { x, y, wish: null }, compute, draw, tell, smooth: ["x", "y"] });

  const moveTo = (point) => {
    const [x, y] = hold(point);
    return { x, y, wish: point };
  };
  instrument.addHandle({
    label: words.handle,
    place: ({ places }, { x, y }) => place(places, [x, y]),
    drag: ({ places: { origin, unit } }, [x, y]) =>
      moveTo([(x - origin[0]) / unit, (origin[1] - y) / unit]),
    step: ([right, up], { x, y }) => moveTo([x + 0.02 * right, y + 0.02 * up]),
    value: ({ x, y }) => [x, 0, 1, sayPoint([x, y])],
  });
  const write = ({ x, y }) => [x.toFixed(3), y.toFixed(3)].join(",");
  const read = (text) => {
    const [x, y, ...rest] = text.split(",").map(Number);
    if (rest.length || ![x, y].every(Number.isFinite)) return undefined;
    return { ...moveTo([x, y]), wish: null };
  };
  instrument.keepInAddress("hull", write, read);
  instrument.addTools();
}
