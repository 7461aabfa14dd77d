/* Python in a worker of its own: runs blocks and says what they gave. guest.js puts it together with
   confine.js, Pyodide and python.js into one script, starts it, and ends it. Speaks with runs.js,
   sentence.js and model.js. */
let say; // a message to the page

/* The files of Python come from the page, each when it is there; there is no other network. */
const FOLDER = "https://python.invalid/"; // no request ever goes there
const TYPES = { json: "application/json", wasm: "application/wasm" };
const files = new Map();

function fileNamed(name) {
  if (!files.has(name)) {
    const file = {}; // Promise.withResolvers, which older browsers lack
    file.promise = new Promise((resolve) => {
      file.resolve = resolve;
    });
    files.set(name, file);
  }
  return files.get(name);
}

async function fileAt(address) {
  const name = String(address).split("/").at(-1);
  const headers = { "Content-Type": TYPES[name.split(".").at(-1)] ?? "application/octet-stream" };
  return new Response(await fileNamed(name).promise, { headers });
}

let python; // once here, it serves one page after another
let session;

async function begin() {
  self.fetch = fileAt;
  const archives = ["numpy.zip", "package.zip"].map((name) => fileNamed(name).promise);
  const options = { indexURL: FOLDER, createPyodideModule };
  const started = await startPython(loadPyodide, options, archives);
  for (const name of [...files.keys()]) {
    if (!name.startsWith("model/")) files.delete(name);
  }
  delete self.fetch;
  return started;
}

async function start({ page }) {
  python ??= await begin();
  session?.destroy();
  session = python.pyimport("attention_docs.site.run.live").Session(page);
  say({ type: "ready" });
}

/* A model that the page hands in, and what it makes of a reader's sentence: see sentence.js. */
const MODEL = ["model.onnx", "tokenizer.json"];
let minilm;
let model;

async function openModel() {
  const coming = MODEL.map((name) => fileNamed(`model/${name}`).promise);
  python ??= await begin();
  const contents = await Promise.all(coming);
  files.clear();
  python.FS.mkdirTree("/model");
  contents.forEach((bytes, n) => {
    python.FS.writeFile(`/model/${MODEL[n]}`, new Uint8Array(bytes));
  });
  minilm = python.pyimport("attention_docs.minilm");
  const opened = minilm.load_minilm("/model");
  for (const name of MODEL) python.FS.unlink(`/model/${name}`);
  return opened;
}

async function readSentence({ text, turn }) {
  model ??= await openModel();
  if (turn !== wanted) return;
  say({ type: "reading", turn });
  const sentence = minilm.read_sentence(text, model);
  const tokens = sentence.tokens.toJs();
  const buffer = sentence.weights.getBuffer("f32"); // (layers, heads, n, n)
  const [weights, shape, isCut] = [buffer.data.slice(), [...buffer.shape], sentence.is_cut];
  buffer.release();
  sentence.destroy();
  say({ type: "sentence", tokens, weights, shape, isCut, turn });
}

/* SmolLM2, in pieces, for model.js: what is asked goes to Python as JSON, and so comes back. */
let nextWord;
let smollm2;
const writers = new Map(); // of each panel of the page

async function open({ parts }) {
  python ??= await begin();
  nextWord = python.pyimport("attention_docs.next_word"); // while the pieces come
  python.FS.mkdirTree("/model");
  const path = `/model/${parts[0].replace(/\.\d+$/, "")}`;
  const file = python.FS.open(path, "w");
  for (const name of parts) {
    const bytes = await fileNamed(`model/${name}`).promise;
    files.delete(`model/${name}`);
    python.FS.write(file, new Uint8Array(bytes), 0, bytes.byteLength);
  }
  python.FS.close(file);
  say({ type: "opening" });
  smollm2 = nextWord.open_model(path);
  say({ type: "opened" });
}

function write({ panel, request, turn }) {
  if (!writers.has(panel)) writers.set(panel, nextWord.Writer(smollm2));
  const since = performance.now();
  const said = nextWord.answer(writers.get(panel), request);
  const seconds = (performance.now() - since) / 1000;
  say({ type: "written", said, seconds, memory: python._module.HEAP8.length, turn });
}

/* Lets messages in. A timer would wait for four milliseconds each time. */
const channel = new MessageChannel();
const pause = () =>
  new Promise((resolve) => {
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(null);
  });

let wanted = 0; // the turn that was asked for last

async function run({ codes, asked, turn, until, near, hurry, frames }) {
  const all = JSON.stringify(codes);
  if (session.is_spent(all)) {
    say({ type: "spent", turn });
    return;
  }
  const first = session.begin(all, JSON.stringify(asked ?? []));
  let found = []; // in a hurry several are sent at once: each time, the page is laid out anew
  let sent = performance.now();
  let paused = sent;
  const send = () => {
    if (found.length) say({ type: "results", results: found, turn });
    found = [];
    sent = performance.now();
  };
  for (let number = first; number < until; number += 1) {
    if (!hurry || performance.now() - sent > 200) {
      send();
      say({ type: "running", number, turn });
    }
    const draws = !near || near.includes(number);
    const result = JSON.parse(session.step(number, draws, frames?.[number] ?? ""));
    found.push({ number, result });
    if (!hurry || number === first) send();
    if (result.error) break;
    if (performance.now() - paused > 100) {
      // lets a newer request in
      await pause();
      paused = performance.now();
    }
    if (turn !== wanted) break;
  }
  send();
  if (turn !== wanted) return;
  const later = session.list_later();
  say({ type: "done", first, turn, later: later.toJs() });
  later.destroy();
  // Figures out of sight, when nothing else is to be done.
  const waiting = session.waiting();
  for (const number of waiting.toJs()) {
    await pause();
    if (turn !== wanted) break;
    say({ type: "results", results: [{ number, result: JSON.parse(session.draw(number)) }], turn });
  }
  waiting.destroy();
  if (turn === wanted) python.pyimport("attention_docs.figures").destroy(); // a second, once: while a reader writes
}

let last = Promise.resolve(); // one after the other
connected.then((port) => {
  say = (message) => port.postMessage(message);
  port.onmessage = ({ data }) => {
    if (data.type === "file") {
      fileNamed(data.name).resolve(data.bytes);
      return;
    }
    wanted = data.turn;
    last = last.then(() => {
      if (data.type === "start") return start(data);
      const jobs = { sentence: readSentence, open, write };
      return data.turn === wanted && (jobs[data.type] ?? run)(data);
    });
    last = last.catch((error) => say({ type: "broken", message: String(error?.stack ?? error) }));
  };
  say({ type: "here" });
});
