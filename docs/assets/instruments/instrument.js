/* What instruments share (attention_docs/figures/instruments.py): the numbers and words that the build
   has put into the page, handles for pointer and keys, the state in a sentence and in the address, and
   the picture to keep. What one of them draws is in a file of its own. */

/* --- numbers and words */

export const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
export const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
export const dot = (a, b) => sum(a.map((one, i) => one * b[i]));
export const radians = (degrees) => (degrees * Math.PI) / 180;

/* Weights from scores, as attention_docs/softmax.py has it: of −∞ nothing is left. */
export function softmax(scores) {
  const most = Math.max(...scores);
  const powers = scores.map((one) => Math.exp(one - most));
  const total = sum(powers);
  return powers.map((one) => one / total);
}

/* The average of rows with these weights. */
export const average = (weights, rows) =>
  rows[0].map((_, c) =>
    dot(
      weights,
      rows.map((row) => row[c]),
    ),
  );

/* A dial has its centre, its radius, and degrees from the right as angles are counted. */
export const onDial = ({ centre, radius }, degrees, share) => [
  centre[0] + radius * share * Math.cos(radians(degrees)),
  centre[1] - radius * share * Math.sin(radians(degrees)),
];
export const circle = (degrees) => ((degrees % 360) + 360) % 360;
export function readDial({ centre, radius }, [x, y]) {
  const [right, up] = [x - centre[0], centre[1] - y];
  const degrees = circle((Math.atan2(up, right) * 180) / Math.PI);
  return [degrees, Math.min(1, Math.hypot(right, up) / radius)];
}
export const boxOfDial = ({ centre, radius }) => [
  centre[0] - radius,
  centre[1] - radius,
  2 * radius,
  2 * radius,
];

/* With a minus sign, and never −0. */
export function format(number, digits) {
  const text = number.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace("-", "−");
}

export const percent = (share) => `${format(100 * share, 0)}%`;

export const fillTemplate = (text, parts) => text.replace(/\{(\w+)\}/g, (_, name) => parts[name]);

/* --- elements */

export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

export function make(tag, attributes = {}, ...inner) {
  const node = document.createElement(tag);
  set(node, attributes);
  node.append(...inner);
  return node;
}

/* Colours of the two kinds of a word. */
export const KINDS = ["var(--series-2)", "var(--series-1)"];

/* A band that rises from a place of a line, falls on another, and is as wide there. */
export function band(top, x, to, wide, high) {
  const ends = [
    [x, to + wide],
    [x + wide, to],
  ]; // the outer side, the inner one
  const [[a, b], [c, d]] = x > to ? ends.reverse() : ends;
  const up = high - 0.9 * wide;
  return `M${a} ${top}C${a} ${up} ${b} ${up} ${b} ${top}L${d} ${top}C${d} ${high} ${c} ${high} ${c} ${top}z`;
}

export const line = (...points) => `M${points.map((point) => point.join(" ")).join("L")}`;

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const ease = (t) => t * t * (3 - 2 * t);

/* A drawing of the build, and the places in it from which a script goes on. */
class Stage {
  constructor(element) {
    this.element = element;
    this.svg = element.querySelector("svg");
    this.svg.setAttribute("aria-hidden", "true"); // its handles and its sentence say it
    this.places = JSON.parse(element.dataset.places);
    this.size = [this.svg.viewBox.baseVal.width, this.svg.viewBox.baseVal.height];
    this.parts = {};
  }

  /* The parts of a class, in the order of the drawing. */
  all(name) {
    this.parts[name] ??= [...this.svg.querySelectorAll(`.${name}`)];
    return this.parts[name];
  }

  one(name) {
    return this.all(name)[0];
  }

  /* Where a pointer is, in units of the drawing. */
  locate(event) {
    const { left, top, width } = this.svg.getBoundingClientRect();
    const unit = this.size[0] / width;
    return [(event.clientX - left) * unit, (event.clientY - top) * unit];
  }

  /* Put an element over the drawing: around a point, or over a box. */
  put(node, [x, y, width, height]) {
    const share = (value, axis) => `${(100 * value) / this.size[axis]}%`;
    Object.assign(node.style, { left: share(x, 0), top: share(y, 1) });
    if (width) Object.assign(node.style, { width: share(width, 0), height: share(height, 1) });
  }
}

export class Instrument {
  constructor(root) {
    this.root = root;
    for (const one of root.querySelectorAll(".handle, .field, .spot, .instrument-tools"))
      one.remove();
    this.numbers = JSON.parse(root.dataset.numbers);
    this.words = JSON.parse(root.dataset.words);
    this.stages = [...root.querySelectorAll(".stage")].map((one) => new Stage(one));
    this.told = root.querySelector(".state");
    this.told.setAttribute("aria-live", "polite");
    this.followers = []; // what goes along with every state
    root.classList.add("working");
  }

  /* `start` is the published state; `compute(state)` gives what `draw(stage, state, results)` shows and
     `tell(state, results)` says. */
  begin({ start, compute, draw, tell, smooth = [], round = [] }) {
    Object.assign(this, { start, compute, draw, tell, smooth, round });
    this.state = { ...start };
    this.show();
  }

  /* --- states */

  /* Another state; the next frame draws it, and its sentence says it: it never contradicts the drawing. */
  change(patch) {
    Object.assign(this.state, patch);
    this.root.classList.add("moved");
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.show();
      this.say("off");
    });
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.settle(), 200);
  }

  show() {
    this.results = this.compute(this.state);
    for (const stage of this.stages) this.draw(stage, this.state, this.results);
    for (const follow of this.followers) follow(this.state, this.results);
  }

  /* The sentence of the state; it is read aloud at rest alone (`live`). */
  say(live) {
    this.told.setAttribute("aria-live", live);
    this.told.textContent = this.tell(this.state, this.results);
  }

  /* At rest the address holds the state. */
  settle() {
    this.say("polite");
    if (this.address) {
      const { name, write } = this.address;
      history.replaceState(history.state, "", `#${name}=${write(this.state)}`);
    }
  }

  /* The `smooth` numbers of the state move to others, degrees (`round`) the shorter way; where motion is
     not welcome they are there at once, as all else is. */
  glide(patch, milliseconds = 500) {
    cancelAnimationFrame(this.gliding);
    const smooth = calm.matches ? [] : this.smooth.filter((name) => name in patch);
    const moves = smooth.map((name) => {
      const way = patch[name] - this.state[name];
      const short = circle(way + 180) - 180;
      return [name, this.state[name], this.round.includes(name) ? short : way];
    });
    const begun = performance.now();
    const at = (t) => moves.map(([name, from, way]) => [name, from + ease(t) * way]);
    const step = (now) => {
      const t = smooth.length ? clamp((now - begun) / milliseconds, 0, 1) : 1;
      this.change(t < 1 ? { ...patch, ...Object.fromEntries(at(t)) } : patch);
      if (t < 1) this.gliding = requestAnimationFrame(step);
    };
    step(begun);
  }

  /* --- in the reader's hand */

  /* A handle of the drawing. `place(stage, state)` is where it stands, `drag(stage, [x, y], state)` and
     `step([right, up], state)` what a pointer and the arrow keys make of the state; `area(stage)` is a box
     in which a press brings the handle there. `value(state)` is [now, least, most, in words]. */
  addHandle({ label, place, drag, step, value, area }) {
    for (const stage of this.stages) {
      const [, least, most] = value(this.state);
      const names = { role: "slider", tabindex: "0", "aria-label": label };
      const handle = make("div", { ...names, class: "handle" });
      set(handle, { "aria-valuemin": least, "aria-valuemax": most });
      const field = area && make("div", { class: "field" });
      if (field) stage.put(field, area(stage));
      stage.element.append(...(field ? [field] : []), handle);
      const follow = (state) => {
        stage.put(handle, place(stage, state));
        const [now, , , words] = value(state);
        set(handle, { "aria-valuenow": Math.round(1000 * now) / 1000, "aria-valuetext": words });
      };
      handle.addEventListener("blur", () => handle.classList.remove("pointed"));
      this.followers.push(follow);
      follow(this.state);
      const move = (point) => this.change(drag(stage, point, this.state));
      for (const one of field ? [handle, field] : [handle])
        this.listen(one, handle, stage, move, place);
      handle.addEventListener("keydown", (event) => {
        const way = KEYS[event.key];
        if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        handle.classList.remove("pointed");
        const far = event.shiftKey ? 5 : 1;
        cancelAnimationFrame(this.gliding);
        this.change(step([way[0] * far, way[1] * far], this.state));
      });
    }
  }

  listen(pressed, handle, stage, move, place) {
    let held; // from the finger to the middle of the handle
    pressed.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      event.preventDefault();
      cancelAnimationFrame(this.gliding);
      pressed.setPointerCapture(event.pointerId);
      handle.classList.add("pointed"); // no ring around it: the pointer is there
      handle.focus({ preventScroll: true });
      this.root.classList.add("held");
      const [x, y] = stage.locate(event);
      const [atX, atY] = place(stage, this.state);
      held = pressed === handle ? [atX - x, atY - y] : [0, 0];
      if (pressed !== handle) move([x, y]);
    });
    pressed.addEventListener("pointermove", (event) => {
      if (!held) return;
      const [x, y] = stage.locate(event);
      move([x + held[0], y + held[1]]);
    });
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"])
      pressed.addEventListener(name, () => {
        held = undefined;
        this.root.classList.remove("held");
      });
  }

  /* A button over a part of the drawing; `isOn(state)` says whether it is chosen. */
  addButton({ label, area, press, isOn }) {
    for (const stage of this.stages) {
      const button = make("button", { type: "button", class: "spot", "aria-label": label });
      stage.put(button, area(stage));
      stage.element.append(button);
      button.addEventListener("click", () => press());
      const follow = (state) => button.setAttribute("aria-pressed", isOn(state));
      this.followers.push(follow);
      follow(this.state);
    }
  }

  /* --- to keep and to send */

  /* The state in the address: `write(state)` as text, `read(text)` back as a state or nothing. */
  keepInAddress(name, write, read) {
    const follow = () => {
      const head = `#${name}=`;
      const found = location.hash.startsWith(head) && read(location.hash.slice(head.length));
      if (!found) return;
      this.change(found);
      this.root.scrollIntoView({ block: "center" });
    };
    follow();
    this.address = { name, write };
    addEventListener("hashchange", follow);
  }

  /* Below the drawing: back to the published state, the picture, the link. */
  addTools({ canSave = false } = {}) {
    const { reset, save, link, copied } = this.words;
    const button = (text, press) => {
      const made = make("button", { type: "button", class: "md-button" }, text);
      made.addEventListener("click", press);
      return made;
    };
    const tools = make("div", { class: "instrument-tools" });
    tools.append(button(reset, () => this.glide(this.start)));
    if (canSave) tools.append(button(save, () => this.savePicture()));
    const told = make("span", { role: "status" });
    if (this.address && navigator.clipboard)
      tools.append(
        button(link, async () => {
          this.settle();
          await navigator.clipboard.writeText(location.href);
          told.textContent = copied;
        }),
        told,
      );
    this.followers.push(() => {
      told.textContent = "";
    });
    this.root.append(tools);
  }

  /* The widest drawing as a PNG of the size that other sites show, with title and address. */
  async savePicture() {
    const { makePicture } = await import("./picture.js");
    this.root.classList.add("moved"); // nothing in it asks to be moved
    this.show();
    this.settle();
    const blob = await makePicture(this.stages[0].svg, this.told.textContent);
    const url = URL.createObjectURL(blob);
    make("a", { href: url, download: `${this.root.dataset.instrument}.png` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}

const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/* Let a figure of the page be taken in hand. */
export async function start(root) {
  const name = root.dataset.instrument;
  if (!/^[a-z-]+$/.test(name)) return; // of this folder
  const { begin } = await import(`./${name}.js`);
  const instrument = new Instrument(root);
  begin(instrument);
  root.instrument = instrument; // for whoever asks what it shows
}
