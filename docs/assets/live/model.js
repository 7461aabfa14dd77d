/* The model that writes: one for all panels of a page, loaded once on a press, asked one question after
   another, and stopped. What it computes is in attention_docs/next_word.py. */
import { resolveUrl } from "./dom.js";
import { Guest } from "./guest.js";
import { keepForLater } from "./offline.js";
import { canKeep, countKept, openShelf, removeKept } from "./pieces.js";

const LEAST = 4; // GB: a device that says it has less is not asked for 0.8 of them
const SILENT = 10_000; // ms after which a frame that does not answer is taken for dead
const NO_MEMORY = /MemoryError|out of memory|could not allocate|allocation failed/i;

let model; // of this page

/* Why the model is not even tried: "", or the name of a sentence. */
function findObstacle() {
  if (!("WebAssembly" in window && "Worker" in window)) return "unable";
  return navigator.deviceMemory < LEAST ? "small" : "";
}

function nameFault(message, isLost = false) {
  if (isLost) return "lost";
  if (!message) return "unable";
  return NO_MEMORY.test(message) ? "crowded" : "broken";
}

/* `words` are those of any panel: each has the folders and the names of the pieces. */
export function getModel(words) {
  model ??= new Model(words);
  return model;
}

/* Tells "state" when its state changes: "idle", "loading", "starting", "opening", "ready". Tells
   "progress" while `done` of `all` bytes have come, and "kept" when what stays in the browser changes. */
class Model extends EventTarget {
  constructor({ folder, model, parts }) {
    super();
    Object.assign(this, { folder: resolveUrl(folder), address: resolveUrl(model), parts });
    Object.assign(this, { state: "idle", reason: "", detail: "", turn: 0, waiting: [] });
  }

  /* --- its life */

  /* `keep`: whether its files are to stay in the browser. Those that have stayed are used. */
  load(keep = false) {
    if (this.state !== "idle") return;
    const reason = findObstacle();
    if (reason) {
      this.stop(reason, String(navigator.deviceMemory ?? ""));
      return;
    }
    Object.assign(this, { done: 0, all: 0, since: performance.now(), isFull: false });
    const listeners = {
      message: (data) => this.receive(data),
      loading: (done, all) => this.count(done, all),
      broken: (message, isLost) => this.stop(nameFault(message, isLost), message),
    };
    this.guest = new Guest(this.folder, listeners, this.address, this.openShelf(keep));
    this.tell("loading");
    this.guest.post({ type: "open", parts: this.parts, turn: this.turn });
    this.watching = setInterval(() => this.watch(), SILENT);
  }

  /* Back to the beginning, for a `reason` that has a sentence among the words of a panel; `detail` says
     more of it. Whoever still waits for an answer gets null. */
  stop(reason, detail = "") {
    clearInterval(this.watching);
    this.guest?.end();
    this.guest = null;
    const left = [this.asked, ...this.waiting];
    Object.assign(this, { asked: null, waiting: [] });
    const lines = detail.split("\n").filter((line) => line.trim() && !/^\s+at |@blob:/.test(line));
    this.tell("idle", reason, lines.at(-1) ?? "");
    for (const one of left) one?.resolve(null);
  }

  /* A browser that is short of memory, or that has slept, may have ended the frame without a word. */
  async watch() {
    const { guest } = this;
    if (!guest?.here || (await guest.isAlive(SILENT)) || guest !== this.guest) return;
    this.stop("killed");
  }

  tell(state, reason = "", detail = "") {
    Object.assign(this, { state, reason, detail });
    this.dispatchEvent(new Event("state"));
  }

  count(done, all) {
    Object.assign(this, { done, all, seconds: (performance.now() - this.since) / 1000 });
    this.dispatchEvent(new Event("progress"));
    if (done < all || this.state !== "loading") return;
    this.loaded = performance.now();
    this.tell("starting");
  }

  receive({ type, message, turn, said, seconds, memory }) {
    if (type === "broken") this.stop(nameFault(message), message);
    else if (type === "opening") this.tell("opening");
    else if (type === "opened") {
      if (this.guest.shelf && !this.isFull)
        keepForLater(new URL("..", this.folder).href, this.address);
      this.tell("ready");
      this.dispatchEvent(new Event("kept"));
      this.askNext();
    } else if (type === "written" && turn === this.turn) {
      const { resolve } = this.asked;
      this.asked = null;
      resolve({ said: JSON.parse(said), seconds, memory });
      this.askNext();
    }
  }

  /* --- what stays in the browser */

  async openShelf(keep) {
    if (!canKeep() || !(keep || (await this.countKept()))) return null;
    if (keep) await navigator.storage?.persist?.();
    return openShelf(this.address, () => {
      this.isFull = true;
      this.dispatchEvent(new Event("kept"));
    });
  }

  countKept() {
    return countKept(this.address);
  }

  async removeKept() {
    await removeKept(this.address);
    this.dispatchEvent(new Event("kept"));
  }

  /* --- questions */

  /* Each panel has a text of its own, under its name. A question that still waits under the same
     `view` of the panel is given up for this one, and is answered by null. The answer has what was
     `said`, the `seconds` that it took, and the `memory` of Python in bytes. */
  ask(panel, request, view = "") {
    return new Promise((resolve) => {
      if (view) {
        const isOld = (one) => one.panel === panel && one.view === view;
        for (const one of this.waiting.filter(isOld)) one.resolve(null);
        this.waiting = this.waiting.filter((one) => !isOld(one));
      }
      this.waiting.push({ panel, request, view, resolve });
      this.askNext();
    });
  }

  askNext() {
    if (this.state !== "ready" || this.asked || !this.waiting.length) return;
    this.asked = this.waiting.shift();
    this.turn += 1;
    const { panel, request } = this.asked;
    const message = { type: "write", panel, request: JSON.stringify(request), turn: this.turn };
    this.guest.post(message);
  }
}
