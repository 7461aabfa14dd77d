/* A panel of a chapter, in which the model that writes does on the reader's own text what the chapter has
   derived. All panels are one: a text, its tokens, a few fields, and what a view of VIEWS asks of the
   model and draws of the answers. What is computed is in attention_docs/next_word.py. All that a reader
   has chosen stands in the address. */
import { showToken, toShare } from "../show.js";
import { readAddress, writeAddress } from "./address.js";
import { addStyles, element, fillTemplate, makeButton } from "./dom.js";
import { ModelOffer } from "./model-offer.js";
import {
  chooseBelow,
  compareTable,
  compareWithControl,
  drawOther,
  explain,
  HEADS,
  LAYERS,
  listLooks,
  paintMap,
  readText,
} from "./model-parts.js";
import { loadNeurons } from "./neurons.js";
import { MANY, Times } from "./next-times.js";

let words; // of this panel, from a file of its own
const TROPHY = "The trophy doesn't fit into the brown suitcase because it";
const NEURONS = 1536; // of a layer
const SILENT = 0.1; // of the largest activity, below which a neuron does next to nothing
const END = "<|im_end|>"; // of an answer
const LONG = 200; // tokens of an answer that a link brings back
const POSITIONS = { min: -1e6, max: 1e6, step: "any" }; // float32 tells all of them apart

/* Put the panel in place of a paragraph. */
export async function start(place) {
  const { file } = JSON.parse(document.getElementById("__words").textContent).model;
  words = await (await fetch(file)).json();
  await addStyles("next.css");
  const panel = new Panel(VIEWS[words.view]);
  await panel.view.prepare?.(panel);
  place.replaceWith(panel.element);
  panel.follow();
  addEventListener("hashchange", () => panel.follow());
}

class Panel {
  constructor(view) {
    this.view = view;
    this.turn = 0;
    this.status = element("p", { class: "next-note", role: "status" });
    this.own = element("div", { class: "next-own" });
    this.offer = new ModelOffer(
      words,
      () => this.begin(),
      () => this.own.replaceChildren(),
    );
    const name = {
      class: "next-token model-panel",
      "aria-label": words.title,
      "data-view": words.view,
    };
    const title = element("p", {}, element("strong", {}, words.title));
    this.element = element("section", name, title, this.offer.element, this.own);
  }

  /* --- the address */

  /* What it says of this panel. */
  get given() {
    const given = Object.fromEntries(readAddress());
    return given.model === words.view ? given : {};
  }

  /* Shown at once if the model is here, and once it is, which may be again. */
  follow() {
    if (!this.given.model) return;
    this.offer.hold(this.given.text);
    this.neurons?.show(this.given.layer, this.given.neuron);
    this.scroll();
    if (this.offer.model.state === "ready") this.begin();
  }

  /* To what the address is about: the box, or the text above the press that brings it. */
  scroll() {
    const box = this.own.firstChild;
    if (box) box.scrollIntoView();
    else if (this.given.text) this.offer.element.scrollIntoView({ block: "center" });
    else this.element.scrollIntoView({ block: "nearest" });
  }

  /* The text, the fields, the pressed token, and what the view `keeps` besides. */
  remember() {
    const fields = Object.entries(this.values).map(([name, { value }]) => [name, value]);
    const { text, row, kept } = this;
    const shown = { model: words.view, text, row, ...Object.fromEntries(fields), ...kept };
    writeAddress(`#${new URLSearchParams(shown)}`);
    this.offer.hold(text);
  }

  /* Other numbers for the fields, which may not be here yet. */
  choose(numbers) {
    if (this.offer.model.state !== "ready") {
      writeAddress(`#${new URLSearchParams({ ...this.given, model: words.view, ...numbers })}`);
      return;
    }
    for (const [name, number] of Object.entries(numbers)) this.values[name].value = number;
    this.kept = {};
    this.update();
  }

  /* --- the model is here */

  async begin() {
    const { given } = this;
    this.neurons?.fold();
    this.field = element("textarea", { rows: 2, spellcheck: "false" });
    this.field.value = given.text?.trim() ? given.text : this.view.text;
    this.tokens = element("div", { class: "next-read", translate: "no" });
    this.values = {};
    const fields = Object.entries(this.view.fields ?? {}).map(([name, [first, range]]) =>
      this.makeField(name, given[name], first, range),
    );
    const actions = (this.view.actions ?? []).map(([word, press]) =>
      makeButton("md-button", words[word], () => press(this)),
    );
    this.halt = makeButton("md-button", words.stop, () => this.stop(), { hidden: true });
    this.first = makeButton("md-button", words.read, () => this.read());
    this.hint = element("p", { class: "next-note" });
    this.shown = element("div", { class: "next-shown" });
    this.own.replaceChildren(
      element("label", { class: "next-choose" }, element("span", {}, words.own), this.field),
      element("p", { class: "next-buttons" }, this.first),
      this.tokens,
      element("p", { class: "next-tools" }, ...fields, ...actions, this.halt),
      this.status,
      this.hint,
      this.shown,
    );
    const names = (this.view.keeps ?? []).filter((name) => name in given);
    const kept = Object.fromEntries(names.map((name) => [name, given[name]]));
    this.kept = kept;
    if (given.model) this.scroll();
    await this.read(given.row);
    if (names.length && this.list) this.view.resume?.(this, kept);
  }

  /* A number that the reader chooses, below `range` or as its bounds say: at the beginning the `given`
     one, or `first`. */
  makeField(name, given, first, range) {
    const change = () => {
      if (this.view.actions) return this.remember(); // until something is pressed
      this.kept = {}; // it was about another choice
      return this.update();
    };
    const input = range.max
      ? element("input", { type: "number", required: true, ...range, onchange: change })
      : chooseBelow(range, change);
    input.value = given ?? "";
    if (!input.value) input.value = first; // nothing that can be chosen was given
    this.values[name] = input;
    return element("label", {}, words[name], " ", input);
  }

  get(name) {
    return Number(this.values[name].value);
  }

  async ask(request, view = "") {
    const answer = await this.offer.model.ask(words.view, request, view);
    this.seconds = answer?.seconds;
    return answer?.said ?? null;
  }

  /* The map of the chosen head. */
  map(head = this.get("headNumber")) {
    return this.ask({ do: "map", layer: this.get("layer"), head });
  }

  /* --- the text */

  async read(row) {
    if (!(await this.readField(row))) return;
    if (!this.view.waits) return this.update();
    this.stop();
    this.remember();
  }

  /* The text in the box, its tokens, and nothing yet of what the view makes of it. */
  async readField(row = this.view.row) {
    const box = this.field.value;
    if (!box.trim()) {
      this.status.textContent = words.empty;
      this.field.focus();
      return false;
    }
    const isWanted = this.start();
    this.box = null; // until the whole of it is read
    const said = await this.readText({ text: box }, isWanted);
    if (!said || !isWanted()) return false;
    const { tokens: list, next: node, isCut, text } = said;
    Object.assign(this, { list, node, isCut, text, box });
    this.row = list[Number(row)] ? Number(row) : list.length - 1;
    this.tokens.replaceChildren(...this.list.map((token, n) => this.makeToken(token, n)));
    this.mark();
    const texts = [...list.map(([, token]) => token), ...node.texts];
    this.hint.replaceChildren(...explain(words, text, texts));
    this.data = null;
    this.shown.replaceChildren();
    if (this.view.resume) this.kept = {};
    return true;
  }

  readText(request, isWanted) {
    const tell = (count) => {
      if (isWanted()) this.status.textContent = fillTemplate(words.readSome, count);
    };
    return readText((one) => this.ask(one), request, isWanted, tell);
  }

  /* Something begins that a reader can stop; whether it is still wanted. */
  start() {
    this.stop();
    this.status.textContent = words.reading;
    this.halt.hidden = false;
    const { turn } = this;
    return () => turn === this.turn;
  }

  /* What is being made of the text is left as it is. */
  stop() {
    this.turn += 1;
    if (document.activeElement === this.halt) this.first.focus();
    this.halt.hidden = true;
    this.status.textContent = this.isCut ? fillTemplate(words.cut, this.list.length) : "";
  }

  makeToken([id, text], n) {
    const select = () => {
      this.row = n;
      this.mark();
      if (this.data) this.draw();
      this.remember();
    };
    const title = fillTemplate(words.id, id);
    return element("button", { type: "button", onclick: select, title }, showToken(text));
  }

  mark() {
    [...this.tokens.children].forEach((one, n) => {
      one.classList.toggle("chosen", n === this.row);
      one.setAttribute("aria-pressed", n === this.row);
    });
  }

  word(n = this.row) {
    return showToken(this.list[n][1]);
  }

  /* --- what the view makes of it */

  async update() {
    if (!this.list) return;
    if (this.field.value !== this.box && !(await this.readField())) return; // another text by now
    this.stop();
    this.data = null;
    const wrong = Object.values(this.values).find((one) => !one.checkValidity());
    if (wrong) {
      this.status.textContent = fillTemplate(words.noNumber, wrong).replace("-", "−");
      return;
    }
    const isWanted = this.start();
    const data = await this.view.load(this, isWanted);
    if (!data || !isWanted()) return;
    this.data = data;
    this.stop();
    this.draw();
    this.remember();
  }

  draw() {
    this.shown.replaceChildren(...this.view.draw(this, this.data));
    for (const canvas of this.shown.querySelectorAll("canvas")) canvas.paint?.();
  }

  /* What comes next, and where a head looks, in the whole model and after each change, or null. */
  compare(changes, head = null) {
    return this.ask({ do: "compare", changes, head }, "compare");
  }
}

/* --- what several views draw */

const say = (word, parts) => element("p", {}, fillTemplate(words[word], parts));

/* A map, painted once it stands on the page and has its colour. */
function makeMap(map, row, label) {
  const canvas = element("canvas", { class: "next-map", role: "img", "aria-label": label });
  canvas.paint = () => paintMap(canvas, map, row);
  return canvas;
}

/* A map with its name above and, in words, where the pressed token looks. */
function makeNamedMap(panel, name, map) {
  const looks = fillTemplate(words.looks, {
    word: panel.word(),
    list: listLooks(map[panel.row], panel.list, 2, words.comma),
  });
  const caption = element("figcaption", {}, element("b", {}, name), ` ${looks}`);
  return element(
    "figure",
    { class: "next-named" },
    makeMap(map, panel.row, `${name} ${looks}`),
    caption,
  );
}

/* Tokens with a number each, and a colour as strong as the number is large. */
function makeChips(panel, numbers, most, text) {
  const chips = numbers.map((number, n) => {
    const chip = element("span", { class: "next-look", translate: "no" }, panel.word(n));
    chip.append(element("small", {}, text(number, n)));
    chip.style.setProperty("--weight", `${Math.min(100, (100 * Math.abs(number)) / most)}%`);
    return chip;
  });
  return element("p", { class: "next-looks" }, ...chips);
}

/* The ten likeliest as bars. */
function makeBars(name, node) {
  const items = node.texts.map((text, n) => {
    const bar = element("i", {});
    const p = Math.exp(-node.nats[n]);
    bar.style.width = `${100 * p}%`;
    return element(
      "li",
      {},
      element("span", { class: "next-token-text", translate: "no" }, showToken(text)),
      element("span", { class: "next-track" }, bar),
      element("b", {}, toShare(p)),
    );
  });
  const list = element("ol", { class: "next-bars" }, ...items);
  return element("div", {}, element("p", {}, element("strong", {}, name)), list);
}

const signed = (number) => number.toFixed(2).replace("-", "−");

const sideBySide = (...inner) => element("div", { class: "next-sides" }, ...inner);

/* The largest difference of two arrays of arrays. */
const farthest = (one, two) =>
  Math.max(...one.flatMap((row, i) => row.map((number, j) => Math.abs(number - two[i][j]))));

/* --- the views */

const VIEWS = {
  masking: {
    text: `${TROPHY} is too large.`,
    row: 12, // of “it”
    fields: { layer: [13, LAYERS], headNumber: [8, HEADS] },
    load: (panel) => panel.map(),
    draw(panel, map) {
      const { row, list } = panel;
      const hidden = list.length - 1 - row;
      return [
        say("sees", { word: panel.word(), n: row + 1, all: list.length, hidden }),
        makeChips(panel, map[row], 1, (weight, j) => (j > row ? "–" : weight.toFixed(2))),
        makeMap(map, row, listLooks(map[row], list, 4, words.comma)),
        say("map"),
      ];
    },
  },

  "multi-head": {
    text: TROPHY,
    fields: { layer: [13, LAYERS] },
    async load(panel, isWanted) {
      const maps = [];
      for (let head = 0; head < HEADS && isWanted(); head += 1) maps.push(await panel.map(head));
      return maps.includes(null) ? null : maps;
    },
    draw(panel, maps) {
      const layer = panel.get("layer");
      const figures = maps.map((map, head) => makeNamedMap(panel, `${layer}.${head}`, map));
      const row = (map) => map[panel.row];
      const mean = row(maps[0]).map((_, j) => {
        return maps.reduce((sum, map) => sum + row(map)[j], 0) / HEADS;
      });
      return [
        element("div", { class: "next-nine" }, ...figures),
        say("average", { word: panel.word(), list: listLooks(mean, panel.list, 4, words.comma) }),
      ];
    },
  },

  positions: {
    text: "The dog bit the man. The man bit the dog. The dog bit the",
    fields: {
      layer: [16, LAYERS],
      headNumber: [0, HEADS],
      firstPosition: [1000, POSITIONS],
      step: [1, POSITIONS],
    },
    load(panel) {
      const spacing = [panel.get("firstPosition"), panel.get("step")];
      return panel.compare([{ spacing }], [panel.get("layer"), panel.get("headNumber")]);
    },
    draw(panel, found) {
      const names = [words.asRead, words.moved];
      const figures = found.maps.map((map, n) => makeNamedMap(panel, names[n], map));
      return [
        sideBySide(...figures),
        say("apart", farthest(...found.maps).toFixed(4)),
        compareTable(words, names, found),
      ];
    },
  },

  "real-models": {
    text: "moon seven chair blue river glass moon seven chair blue river",
    fields: { layer: [18, LAYERS], headNumber: [6, HEADS] },
    actions: [
      ["takeOut", (panel) => takeOut(panel)],
      ["putBack", (panel) => putBack(panel)],
    ],
    keeps: ["out", "control"],
    load(panel) {
      const out = readHeads(panel.kept.out) ?? [[18, 6]];
      const others = readHeads(panel.kept.control) ?? drawControls(out);
      panel.kept = { out: writeHeads(out), control: writeHeads(others) };
      return panel.compare([{ heads: out }, { heads: others }]);
    },
    draw(panel, found) {
      const name = (heads) => heads.split(",").map((one) => fillTemplate(words.out.head, one));
      const names = [panel.kept.out, panel.kept.control].map((heads) =>
        heads ? name(heads).join(words.comma) : "–",
      );
      return compareWithControl(words, names, found);
    },
  },

  generation: {
    text: "Once upon a time",
    waits: true, // until a press asks for it
    keeps: ["race"],
    actions: [["race", (panel) => panel.update()]],
    resume: (panel) => panel.update(),
    async load(panel, isWanted) {
      const data = { times: new Times(words), written: [[], []] };
      for (const [k, cached] of [true, false].entries()) {
        let said = await panel.readText({ text: panel.box }, isWanted);
        for (let n = 0; n < MANY && said && isWanted(); n += 1) {
          said = await panel.ask({ do: "draw", uniform: 0.5, top_k: 1, cached });
          if (!said) return null;
          data.times.add(cached, panel.seconds, said.known + 1);
          data.written[k].push(said.tokens[0]);
          panel.shown.replaceChildren(...this.draw(panel, data));
        }
        if (!said || !isWanted()) return null;
      }
      panel.kept = { race: MANY };
      return data;
    },
    draw(panel, { times, written: [cached, whole] }) {
      const text = cached.map(([, token]) => token).join("");
      const same = whole.every(([id], n) => id === cached[n]?.[0]);
      const ends = whole.length === MANY ? [say(same ? "same" : "different")] : [];
      return [element("p", { translate: "no" }, `${panel.text}${text}`), times.element, ...ends];
    },
  },

  assistant: {
    text: "What is the capital of France?",
    keeps: ["answer"], // how many tokens of it were written
    actions: [["writeOn", (panel) => writeAnswer(panel, MANY)]],
    resume: (panel, { answer }) => writeAnswer(panel, Math.min(answer, LONG)),
    async load(panel, isWanted) {
      const chat = await panel.readText({ text: panel.box, as_chat: true }, isWanted);
      return chat && { chat, count: 0, answer: "" };
    },
    draw(panel, { chat, count, answer, isWhole }) {
      const text = chat.tokens.map(([, token]) => token).join("");
      const written = element("p", { class: "next-line", translate: "no" }, answer);
      return [
        ...(count ? [say("answer", count), written] : []),
        ...(isWhole ? [say("ended", END)] : []),
        sideBySide(makeBars(words.asText, panel.node), makeBars(words.asChat, chat.next)),
        element("p", {}, fillTemplate(words.template, chat.tokens.length)),
        element("pre", { translate: "no", tabindex: 0 }, text),
      ];
    },
  },

  "transformer-block": {
    text: "The conference will be held on",
    fields: { layer: [19, LAYERS], neuron: [209, { min: 0, max: NEURONS - 1, step: 1 }] },
    keeps: ["control"],
    async prepare(panel) {
      panel.neurons = await loadNeurons(words, (numbers) => panel.choose(numbers));
      if (panel.neurons) panel.offer.element.before(panel.neurons.element);
    },
    async load(panel) {
      const [layer, neuron] = [panel.get("layer"), panel.get("neuron")];
      const given = Number(panel.kept.control ?? neuron);
      const drawn = (neuron + 1 + Math.floor(Math.random() * (NEURONS - 1))) % NEURONS;
      const other = isBelow(given, NEURONS) && given !== neuron ? given : drawn;
      panel.kept = { control: other };
      panel.neurons?.show(layer, neuron);
      const changes = [neuron, other].map((one) => ({ neurons: [[layer, one]] }));
      const found = await panel.compare(changes);
      const said = found && (await panel.ask({ do: "neuron", layer, neuron }));
      if (!said) return said;
      const most = panel.neurons?.findMost(layer, neuron);
      const sign = panel.neurons?.findSign(layer, neuron) ?? 1;
      const activity = said.activity.map((one) => sign * one);
      const raised = sign < 0 ? said.raised.toReversed() : said.raised;
      const names = [neuron, other].map((one) => `${layer}.${one}`);
      return { activity, raised, most, found, names };
    },
    draw(panel, { activity, raised, most, found, names }) {
      const full = most ?? Math.max(...activity.map(Math.abs));
      const now = activity[panel.row];
      const list = raised[now < 0 ? 1 : 0].map(showToken).join(words.comma);
      const parts = { word: panel.word(), activity: signed(now), list, most: full.toFixed(2) };
      return [
        makeChips(panel, activity, full, signed),
        say("scale", parts),
        say(Math.abs(now) < SILENT * full ? "silent" : "raises", parts),
        ...compareWithControl(
          words,
          names.map((one) => fillTemplate(words.out.neuron, one)),
          found,
        ),
      ];
    },
  },
};

/* The answer to a chat, the likeliest token each time, until the model ends it. */
async function writeAnswer(panel, most) {
  if (!panel.data || panel.field.value !== panel.box) await panel.read();
  const { data } = panel;
  if (!data) return; // the reader has stopped it
  const isWanted = panel.start();
  for (let n = 0; n < most && isWanted() && !data.isWhole; n += 1) {
    const said = await panel.ask({ do: "draw", uniform: 0.5, top_k: 1 });
    if (!said || data !== panel.data) return;
    data.count += 1;
    data.isWhole = said.tokens[0][1] === END;
    data.answer = said.text.slice(data.chat.text.length).replace(END, "");
    panel.draw();
    panel.kept = { answer: data.count };
    panel.remember();
  }
  if (isWanted()) panel.stop();
}

const isBelow = (n, size) => Number.isInteger(n) && n >= 0 && n < size;

/* --- heads taken out */

const writeHeads = (heads) => heads.map((head) => head.join(".")).join(",");

/* "18.6,3.0" as [[18, 6], [3, 0]]; null for what names no heads. */
function readHeads(text) {
  if (text === undefined) return null;
  const heads = text ? text.split(",").map((one) => one.split(".").map(Number)) : [];
  const areHeads = heads.every(([layer, head]) => isBelow(layer, LAYERS) && isBelow(head, HEADS));
  return areHeads ? heads.map(([layer, head]) => [layer, head]) : null;
}

/* For each head that is out another one of its layer that is not. */
function drawControls(out) {
  const taken = new Set(out.map(String));
  return out.flatMap(([layer, head]) => {
    for (let n = 0, other = drawOther(head); n < HEADS; n += 1, other = (other + 1) % HEADS) {
      if (taken.has(`${layer},${other}`)) continue;
      taken.add(`${layer},${other}`);
      return [[layer, other]];
    }
    return []; // more than half of the layer is out
  });
}

function takeOut(panel) {
  const head = `${panel.get("layer")}.${panel.get("headNumber")}`;
  const out = panel.kept.out ? panel.kept.out.split(",") : [];
  panel.kept = { out: [...new Set([...out, head])].join(",") };
  panel.update();
}

function putBack(panel) {
  panel.kept = { out: "" };
  panel.update();
}
