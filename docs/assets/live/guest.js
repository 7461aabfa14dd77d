/* Where a reader's code runs: a worker in a frame that the browser gives no origin, so that it has no
   cookies, no storage, no caches and no service worker of this site, and a policy without network.
   Python's files are loaded here, by the page, and handed in. Ended with its frame. A browser that
   refuses such a worker runs no reader's code at all. */
import { forget, LostConnection, loadPiece } from "./pieces.js";

export const POLICY =
  "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:";
/* It takes messages of the page only: any window that knows the page can send it others. To each after
   the first it answers that it is alive. */
const FRAME = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${POLICY}">
<script>
  onmessage = ({ source, data: { script, port } }) => {
    if (source !== parent) return;
    onmessage = ({ source }) => source === parent && parent.postMessage({ isAlive: true }, "*");
    const fail = (event) => parent.postMessage({ failed: String(event.message ?? "") }, "*");
    try {
      const worker = new Worker(URL.createObjectURL(new Blob([script])));
      worker.onerror = fail;
      worker.postMessage(null, [port]);
    } catch (error) {
      fail(error);
    }
  };
</script>`;
const OWN = ["confine.js", "python.js", "worker.js"];
const PYODIDE = "pyodide.js";

/* One script out of several, since a worker in such a frame can load no other. */
function joinScripts([confine, python, worker], pyodide) {
  return [
    "(() => {", // its own names are none of the worker's
    confine,
    pyodide,
    python.replace("export async function", "async function"),
    worker,
    "})();",
  ].join("\n");
}

export class Guest {
  /* `listeners` has three functions: message(data), loading(bytes, of all), broken(message, isLost),
     whose message is empty where the browser refuses the worker, and which says whether it was the
     network. `model` is a folder of further files, which the worker gets as model/<name>, or "";
     `shelf` a promise of where they are kept, or null. */
  constructor(folder, listeners, model = "", shelf = null) {
    Object.assign(this, { folder, listeners, model, shelf });
    this.ending = new AbortController();
    this.posted = []; // before the worker is there
    this.open().catch((error) => this.reportBroken(error));
  }

  post(message, transfer = []) {
    if (this.port) this.port.postMessage(message, transfer);
    else this.posted.push([message, transfer]);
  }

  end() {
    this.ended = true;
    this.ending.abort();
    this.frame?.remove();
    this.port?.close();
  }

  reportBroken(error) {
    if (this.ended) return;
    this.end();
    this.listeners.broken(String(error?.message ?? error), error instanceof LostConnection);
  }

  async open() {
    this.shelf = await this.shelf;
    const answer = await this.fetchFile(`${this.folder}files.json`, "no-cache");
    this.files = await answer.json();
    if (this.model) await this.listModel();
    const all = Object.values(this.files).reduce((sum, file) => sum + file.bytes, 0);
    this.count = { done: 0, all };
    const own = OWN.map(async (name) => {
      return (await this.fetchFile(new URL(name, import.meta.url).href)).text();
    });
    const pyodide = this.loadFile(PYODIDE);
    const others = Object.keys(this.files).filter((name) => name !== PYODIDE);
    const rest = others.map(async (name) => {
      const bytes = await this.loadFile(name);
      this.post({ type: "file", name, bytes }, [bytes]);
    });
    this.script = joinScripts(await Promise.all(own), new TextDecoder().decode(await pyodide));
    if (!this.ended) this.createFrame();
    await Promise.all(rest);
  }

  async listModel() {
    const answer = await this.fetchFile(`${this.model}files.json`, "no-cache");
    for (const [name, file] of Object.entries(await answer.json())) {
      this.files[`model/${name}`] = { ...file, address: this.model + name };
    }
  }

  /* --- the worker */

  createFrame() {
    this.frame = document.createElement("iframe");
    this.frame.setAttribute("sandbox", "allow-scripts");
    this.frame.hidden = true;
    this.frame.srcdoc = FRAME;
    const start = () => {
      const port = this.openChannel();
      this.frame.contentWindow.postMessage({ script: this.script, port }, "*", [port]);
    };
    this.frame.addEventListener("load", start, { once: true });
    const receive = ({ source, data }) => {
      if (source !== this.frame?.contentWindow) return;
      if (data.isAlive) this.answered?.(true);
      else this.reportBroken(data.failed);
    };
    addEventListener("message", receive, { signal: this.ending.signal });
    document.body.append(this.frame);
  }

  /* Whether the frame answers within some milliseconds. Time that the page itself has slept is no time. */
  isAlive(patience) {
    return new Promise((resolve) => {
      this.answered = resolve;
      this.frame.contentWindow?.postMessage(null, "*");
      setTimeout(() => setTimeout(() => resolve(false), patience / 2), patience / 2);
    });
  }

  openChannel() {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => {
      if (this.ended) return;
      if (!this.here) this.connect(port1);
      else {
        if (data.type !== "opening") this.forget(); // Python has all that it needs
        this.listeners.message(data);
      }
    };
    return port2;
  }

  connect(port) {
    this.here = true;
    this.port = port;
    for (const message of this.posted) port.postMessage(...message);
    this.posted = [];
  }

  forget() {
    if (this.isFed) return;
    this.isFed = true;
    forget(Object.keys(this.files).map((name) => this.addressOf(name)));
  }

  /* --- files */

  async fetchFile(address, cache = "default") {
    const answer = await fetch(address, { cache, signal: this.ending.signal }).catch((error) => {
      throw error instanceof TypeError ? new LostConnection(error.message) : error;
    });
    if (!answer.ok) throw new Error(`${answer.status} ${address}`);
    return answer;
  }

  addressOf(name) {
    return this.files[name].address ?? this.folder + name;
  }

  /* Counted on its way. */
  loadFile(name) {
    const count = (bytes) => {
      this.count.done += bytes;
      this.listeners.loading(this.count.done, this.count.all);
    };
    const { signal } = this.ending;
    return loadPiece(this.addressOf(name), this.files[name], { signal, count, shelf: this.shelf });
  }
}
