/* The parts of a machine (machine.js) in one drawing of the build, their heights while they open, and the
   keys that open them. */
import { set } from "./instrument.js";

/* A part and those in it; `share` is how far it is open, `drawn` how high what a script has drawn in it. */
function read(node, above) {
  const find = (name) => node.querySelector(`:scope > .box${name}`);
  const list = (name) => [...node.querySelectorAll(`:scope > .box > .inside > ${name}`)];
  const part = { node, above, box: find(""), inside: find(" > .inside"), head: find(" > .head") };
  const { part: key, head } = node.dataset;
  Object.assign(part, { key, closed: Number(head), drawn: 0, share: 0, skips: list("g > .skip") });
  part.x = Number(node.getAttribute("transform").match(/[\d.]+/)[0]);
  part.width = Number(part.box.getAttribute("width"));
  part.parts = list(".part").map((one) => read(one, part));
  return part;
}

export function readDrawing({ svg, places }) {
  const parts = [...svg.querySelectorAll(":scope > g > .part")].map((one) => read(one));
  const list = (some) => some.flatMap((one) => [one, ...list(one.parts)]);
  return { svg, places, parts, all: list(parts) };
}

/* Everything at its place. */
export function lay({ svg, places, parts }) {
  const high = stack(parts, 2 - places.gap, places).at(-1)[1] + 2;
  set(svg, { viewBox: `0 0 ${svg.viewBox.baseVal.width} ${high}` });
}

/* Parts below a height, one under the other; where each begins and ends. */
function stack(parts, from, places) {
  let y = from;
  return parts.map((part) => {
    const top = y + places.gap;
    set(part.node, { transform: `translate(${part.x} ${top})` });
    y = top + open(part, places);
    set(part.box, { height: y - top });
    return [top, y];
  });
}

/* How high a part is. */
function open({ inside, share, closed, drawn, parts, skips }, places) {
  const visibility = share ? "inherit" : "hidden";
  if (inside) Object.assign(inside.style, { opacity: share, visibility });
  if (!inside || !share) return closed;
  const ends = stack(parts, closed + drawn, places);
  for (const skip of skips) {
    const [at, lane] = skip.dataset.lane.split(" ").map(Number);
    const [from, to] = [ends[skip.dataset.from][0] - places.gap / 2, ends[skip.dataset.to][0] + 13];
    set(skip, { d: `M${at} ${from}H${lane}V${to}H${at + 13}m7 -4l-7 4 7 4` });
  }
  return closed + share * ((ends.at(-1)?.[1] ?? closed + drawn) + places.pad - closed);
}

/* What opens a part, and the squares that open a head. */
export function makeButtons({ svg, all }, heads) {
  svg.removeAttribute("aria-hidden");
  const make = (node, i) => set(node, { role: "button", tabindex: 0, "data-opens": i });
  all.forEach((part, i) => {
    if (part.inside && i !== heads) make(part.head, i);
  });
  for (const square of svg.querySelectorAll(".square:not(.closed)")) make(square, heads);
}

/* A pointer presses; up and down go on, Enter and Space press, right opens, left and Escape close. */
export function listen(root, press) {
  root.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-opens], [data-row]");
    if (pressed) press(pressed, pressed.closest(".stage"));
  });
  root.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const stage = target.closest(".stage");
    if (event.altKey || event.ctrlKey || event.metaKey || !stage) return;
    const way = { ArrowUp: -1, ArrowDown: 1 }[key];
    if (way) {
      const shown = [...stage.querySelectorAll("[tabindex], a")].filter(
        (one) => getComputedStyle(one).visibility === "visible",
      );
      shown[shown.indexOf(target) + way]?.focus();
    } else if (key === "Escape" || key === "ArrowLeft") {
      // The innermost open part around it.
      const around = [...stage.querySelectorAll('[aria-expanded="true"]')];
      const last = around.filter((one) => one.closest(".part").contains(target)).at(-1);
      if (!last) return;
      last.focus();
      press(last, stage);
    } else if (
      (target.matches("[role]") && (key === "Enter" || key === " ")) ||
      (key === "ArrowRight" && target.ariaExpanded === "false")
    )
      press(target, stage);
    else return;
    event.preventDefault();
  });
}
