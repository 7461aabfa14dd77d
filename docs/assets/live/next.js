/* A real model goes on with a beginning that the reader chooses: its ten likeliest next tokens, one
   pressed, appended, again. All this was measured beforehand, so neither Python nor the model is needed;
   what needs them is in next-live.js, and takes the place of what was measured once it is here. The choice
   stands in the address. */
import { showToken } from "../show.js";
import { writeAddress } from "./address.js";
import { addStyles, element, fillTemplate, makeButton, resolveUrl } from "./dom.js";
import { Bars } from "./next-bars.js";
import { Live } from "./next-live.js";

const words = JSON.parse(document.getElementById("__words").textContent).next;
const HEAD = "#next=";
const ONE = /^#L(\d+)\.H(\d+)$/; // a head of the model

/* Put the panel in place of a paragraph. */
export async function start(place) {
  const [answer] = await Promise.all([fetch(resolveUrl(words.data)), addStyles("next.css")]);
  if (!answer.ok) throw new Error(`${answer.status} ${answer.url}`);
  const panel = new Panel(await answer.json());
  place.replaceWith(panel.element);
  panel.follow();
  addEventListener("hashchange", () => panel.follow());
}

class Panel {
  constructor(kept) {
    Object.assign(this, { kept, own: "", number: 0, path: [] }); // `own`: what the address says of the model
    const options = kept.beginnings.map(({ text }, n) =>
      element("option", { value: n }, `${text} …`),
    );
    const onchange = () => {
      this.begin(Number(this.select.value));
      if (this.isHere) this.model.take(this.text);
    };
    this.select = element("select", { onchange }, ...options);
    this.line = element("p", { class: "next-line", "aria-live": "polite", translate: "no" });
    const choose = (n) => this.go([...this.path, n]);
    this.bars = new Bars(words, kept.powers, choose, () => this.keep());
    this.back = makeButton("md-button", words.back, () => this.go(this.path.slice(0, -1)));
    this.again = makeButton("md-button", words.again, () => this.begin(this.number));
    this.note = element("p", { class: "next-note" });
    this.details = element("div", { class: "next-details" });
    const buttons = element("p", { class: "next-buttons" }, this.back, this.again);
    this.bars.rest.after(this.note);
    const measured = [this.line, this.bars.element, buttons, this.details];
    this.measured = element("div", {}, ...measured);
    this.here = element("p", { class: "next-note", hidden: true }, words.here);
    this.live = this.offerLive();
    this.element = element(
      "section",
      { class: "next-token", "aria-label": words.title },
      element("label", { class: "next-choose" }, element("span", {}, words.choose), this.select),
      this.here,
      this.measured,
      this.live,
    );
    this.element.panel = this;
  }

  /* --- the beginning and what was pressed */

  get beginning() {
    return { ...this.kept.beginnings[this.number], tokens: this.kept.tokens };
  }

  /* The drawing of the whole model (../instruments/machine.js) shows this text: a beginning with what was
     measured, or the reader's own with what the model itself says. */
  drawMachine(text) {
    this.drawn = text;
    document.dispatchEvent(new CustomEvent("beginning", { detail: text }));
  }

  begin(number) {
    this.number = number;
    this.select.value = number;
    this.showDetails();
    this.drawMachine(this.beginning);
    this.go([]);
  }

  /* Go to the place that these bars lead to, one after the other. */
  go(path) {
    const beginning = this.kept.beginnings[this.number];
    let node = beginning;
    const pressed = [];
    for (const n of path) {
      if (!node.then?.[n]) break;
      pressed.push(node.ids[n]);
      node = node.then[n];
    }
    this.path = path.slice(0, pressed.length);
    const texts = pressed.map((id) => this.token(id));
    const chips = texts.map((text, n) => {
      const cut = () => this.go(this.path.slice(0, n + 1));
      return makeButton("next-chip", showToken(text), cut);
    });
    this.line.replaceChildren(beginning.text, ...chips, element("span", {}, " …"));
    this.text = beginning.text + texts.join("");
    const can = (n) => Boolean(node.then?.[n]);
    this.bars.show(
      {
        ...node,
        texts: node.ids.map((id) => this.token(id)),
        nats: scaled(node.nats),
        rest: scaled(node.rest),
      },
      can,
    );
    this.back.disabled = this.again.disabled = this.path.length === 0;
    const ways = node.then?.length ?? 0;
    this.note.textContent = ways >= node.ids.length ? "" : ways ? words.few : words.end;
    this.keep();
  }

  token(id) {
    return this.kept.tokens[id];
  }

  /* --- in the address */

  get address() {
    const { temperature, topK, topP } = this.bars.settings;
    const parts = [this.number, this.path.join("."), temperature, topK, topP];
    return [HEAD + parts.join(","), ...(this.own ? [this.own] : [])].join("&");
  }

  keep() {
    if (this.followed) writeAddress(this.address);
  }

  /* Each head has an address of its own, such as #L3.H1: on the text and with the settings that are here. */
  readHash() {
    const [, ...head] = location.hash.match(ONE) ?? [];
    if (!head.length) return location.hash;
    const own = new URLSearchParams(this.own);
    own.set("head", head.join("."));
    this.own = own.toString();
    return this.address;
  }

  /* What a reader has given to the model itself stands there too, behind the rest. */
  keepOwn(own) {
    this.own = new URLSearchParams(own).toString();
    this.model.offer.hold(own.text);
    this.select.value = own.text === this.text && this.path.length === 0 ? this.number : ""; // or it is another
    this.keep();
  }

  /* What the address says, as far as it makes sense. */
  follow() {
    const hash = this.readHash();
    const isOurs = hash.startsWith(HEAD);
    const [list, ...own] = hash.slice(HEAD.length).split("&");
    const given = isOurs ? list.split(",") : [];
    const [number, path = "", temperature, topK, topP] = given;
    if (isOurs) {
      const numbers = { temperature, topK, topP };
      for (const [name, text] of Object.entries(numbers)) {
        if (text) this.bars.settings = { [name]: Number(text) };
      }
      this.own = own.join("&");
      if (this.own) this.live.open = true;
      this.model?.offer.hold(new URLSearchParams(this.own).get("text"));
    } else if (this.followed) return;
    this.followed = false;
    this.begin(this.kept.beginnings[Number(number)] ? Number(number) : 0);
    this.go(path ? path.split(".").map(Number) : []);
    this.followed = true;
    if (this.model?.element.hasChildNodes()) this.model.follow();
    if (isOurs) (this.own && !this.isHere ? this.live : this.element).scrollIntoView();
  }

  /* The model has come, and what was measured gives way to it, or it has gone. */
  giveWay() {
    const { top, bottom } = this.element.getBoundingClientRect();
    const isSeen = top < innerHeight && bottom > 0;
    if (this.measured.hidden && !this.isHere) this.drawMachine(this.beginning);
    this.live.open = true;
    this.live.querySelector("summary").hidden = this.isHere;
    this.measured.hidden = this.isHere;
    this.here.hidden = !this.isHere;
    if (!this.isHere) this.select.value = this.number;
    else if (isSeen) this.element.scrollIntoView();
  }

  get isHere() {
    return this.model?.model.state === "ready";
  }

  /* --- what each layer would say, and where a few heads look */

  showDetails() {
    const { layers, weights, prompt, text } = this.kept.beginnings[this.number];
    const rows = layers[0].map((id, layer) => {
      const share = `${(layers[1][layer] / 10).toFixed(1)}%`;
      return element("li", {}, element("b", {}, showToken(this.token(id))), ` ${share}`);
    });
    const list = element("ol", { class: "next-layers", start: 0, translate: "no" }, ...rows);
    const guesses = element("details", { class: "fold" }, element("summary", {}, words.layers));
    guesses.append(element("p", {}, words.layersNote), list);
    const looks = element("details", { class: "fold" }, element("summary", {}, words.heads));
    looks.append(element("p", {}, fillTemplate(words.headsNote, text)));
    this.kept.heads.forEach(([layer, head], n) => {
      const row = weights[n].slice(-prompt.length);
      const chips = prompt.map((id, i) => {
        const chip = element("span", { class: "next-look" }, showToken(this.token(id)));
        chip.style.setProperty("--weight", `${row[i] / 10}%`);
        chip.title = (row[i] / 1000).toFixed(2);
        return chip;
      });
      const name = fillTemplate(words.head, { layer, head });
      looks.append(element("p", { class: "next-looks" }, element("strong", {}, name), ...chips));
    });
    this.details.replaceChildren(guesses, looks);
  }

  /* --- the model itself */

  offerLive() {
    if (!words.parts) return element("p", { class: "next-note" }, words.missing);
    this.model = new Live(words, this);
    const parts = [this.model.offer.element, this.model.element];
    const summary = element("summary", {}, words.live);
    const fold = element("details", { class: "fold next-live" }, summary, ...parts);
    this.model.model.addEventListener("state", () => this.giveWay());
    return fold;
  }
}

const scaled = (thousandths) => thousandths.map((one) => one / 1000);
