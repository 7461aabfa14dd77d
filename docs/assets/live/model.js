/* The model that writes: one for all panels of a page, loaded once on a press, asked one question after
   another, and stopped. What it computes is in attention_docs/next_word.py. */
import { resolveUrl } from "./dom.js";
import { Guest } from "./guest.js";

let model; // of this page

/* `words` are those of any panel: each has the folders and the names of the pieces. */
export function getModel(words) {
  model ??= new Model(words);
  return model;
}

/* Tells "state" when its state changes: "idle", "loading", "starting", "opening", "ready". Tells
   "progress" while `done` of `all` bytes have come. */
class Model extends EventTarget {
  constructor({ folder, model, parts }) {
    super();
    Object.assign(this, { folder: resolveUrl(folder), address: resolveUrl(model), parts });
    Object.assign(this, { state: "idle", reason: "", detail: "", turn: 0, waiting: [] });
  }

  /* --- its life */

  load() {
    if (this.state !== "idle") return;
    if (!("WebAssembly" in window && "Worker" in window)) {
      this.stop("unable");
      return;
    }
    Object.assign(this, { done: 0, all: 0, since: performance.now() });
    const listeners = {
      message: (data) => this.receive(data),
      loading: (done, all) => this.count(done, all),
      broken: (message) => this.stop(message ? "broken" : "unable", message),
    };
    this.guest = new Guest(this.folder, listeners, this.address);
    this.tell("loading");
    this.guest.post({ type: "open", parts: this.parts, turn: this.turn });
  }

  /* Back to the beginning: `reason` is "cancelled", "unable" or "broken", of which `detail` says more.
     Whoever still waits for an answer gets null. */
  stop(reason, detail = "") {
    this.guest?.end();
    this.guest = null;
    const left = [this.asked, ...this.waiting];
    Object.assign(this, { asked: null, waiting: [] });
    this.tell("idle", reason, detail.trim().split("\n").at(-1));
    for (const one of left) one?.resolve(null);
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
    if (type === "broken") this.stop("broken", message);
    else if (type === "opening") this.tell("opening");
    else if (type === "opened") {
      this.tell("ready");
      this.askNext();
    } else if (type === "written" && turn === this.turn) {
      const { resolve } = this.asked;
      this.asked = null;
      resolve({ said: JSON.parse(said), seconds, memory });
      this.askNext();
    }
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
