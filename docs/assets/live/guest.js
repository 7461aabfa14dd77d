/* Where a reader's code runs: a worker in a frame that the browser gives no origin, so that it has no
   cookies, no storage, no caches and no service worker of this site, and a policy without network.
   Python's files are loaded here, by the page, and handed in. Ended with its frame. A browser that
   refuses such a worker runs no reader's code at all. */
export const POLICY =
  "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:";
/* It takes one message, and only the page's: any window that knows the page can send it others. */
const FRAME = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${POLICY}">
<script>
  onmessage = ({ source, data: { script, port } }) => {
    if (source !== parent) return;
    onmessage = null;
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

const hexadecimal = (bytes) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

export class Guest {
  /* `listeners` has three functions: message(data), loading(bytes, of all), broken(message), whose
     message is empty where the browser refuses the worker. `model` is a folder of further files, which
     the worker gets as model/<name>, or "". */
  constructor(folder, listeners, model = "") {
    Object.assign(this, { folder, listeners, model });
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
    this.listeners.broken(String(error?.message ?? error));
  }

  async open() {
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
      if (source === this.frame?.contentWindow) this.reportBroken(data.failed);
    };
    addEventListener("message", receive, { signal: this.ending.signal });
    document.body.append(this.frame);
  }

  openChannel() {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => {
      if (this.ended) return;
      if (this.here) this.listeners.message(data);
      else this.connect(port1);
    };
    return port2;
  }

  connect(port) {
    this.here = true;
    this.port = port;
    for (const message of this.posted) port.postMessage(...message);
    this.posted = [];
  }

  /* --- files */

  async fetchFile(address, cache = "default") {
    const answer = await fetch(address, { cache, signal: this.ending.signal });
    if (!answer.ok) throw new Error(`${answer.status} ${address}`);
    return answer;
  }

  /* The bytes of a file as the build listed it; the browser may have cached one of an earlier site. */
  async loadFile(name) {
    for (const cache of ["default", "reload"]) {
      const bytes = await this.bytes(name, cache);
      if (await this.checkListed(name, bytes)) return bytes;
    }
    throw new Error(`${name} is not the file that was published`);
  }

  async checkListed(name, bytes) {
    if (bytes.byteLength !== this.files[name].bytes) return false;
    const { subtle } = globalThis.crypto; // not over plain http, where anything may have been changed
    return (
      !subtle || hexadecimal(await subtle.digest("SHA-256", bytes)) === this.files[name].sha256
    );
  }

  /* Counted on their way. */
  async bytes(name, cache) {
    const answer = await this.fetchFile(this.files[name].address ?? this.folder + name, cache);
    const all = new Uint8Array(this.files[name].bytes);
    let size = 0;
    for (const reader = answer.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      if (size + value.length > all.length) return new ArrayBuffer(0);
      all.set(value, size);
      size += value.length;
      this.count.done += value.length;
      this.listeners.loading(this.count.done, this.count.all);
    }
    return all.buffer.slice(0, size);
  }
}
