/* Python in a worker of its own: loads what the site holds, runs blocks, says what they gave.
   Whoever wants it to stop ends the worker. Speaks with page.js. */
import { load } from "./python.js";

const say = (message) => postMessage(message);

/* What is fetched is counted on its way, whoever asks for it. */
const plain = self.fetch.bind(self);
const count = { done: 0, all: 0 };
self.fetch = async (address, options) => {
  const answer = await plain(address, options);
  if (!answer.ok) throw new Error(`${answer.status} ${String(address.url ?? address)}`);
  const counter = new TransformStream({
    transform(chunk, to) {
      count.done += chunk.length;
      if (count.all) say({ type: "loading", ...count });
      to.enqueue(chunk);
    },
  });
  const { status, headers } = answer;
  return new Response(answer.body.pipeThrough(counter), { status, headers });
};

let python; // once here, it serves one page after another
let session;
let wanted = 0; // the turn that was asked for last

async function begin(folder) {
  const sizes = await (await fetch(`${folder}sizes.json`)).json();
  count.all = Object.values(sizes).reduce((sum, size) => sum + size, 0);
  return load(folder, () => say({ type: "starting" }));
}

async function start({ folder, page }) {
  python ??= await begin(folder);
  session?.destroy();
  session = python.pyimport("attention_docs.site.run.live").Session(page);
  say({ type: "ready" });
}

/* Lets messages in. A timer would wait for four milliseconds each time. */
const channel = new MessageChannel();
const pause = () => new Promise((resolve) => {
  channel.port1.onmessage = resolve;
  channel.port2.postMessage(null);
});

async function run({ codes, turn, until, near, hurry, frames }) {
  const first = session.begin(JSON.stringify(codes));
  let found = []; // in a hurry several are told at once: each time, the page is laid out anew
  let told = performance.now();
  const tell = () => {
    if (found.length) say({ type: "results", results: found, turn });
    found = [];
    told = performance.now();
  };
  for (let number = first; number < until; number += 1) {
    if (!hurry || performance.now() - told > 200) {
      tell();
      say({ type: "running", number, turn });
    }
    const draws = !near || near.includes(number);
    const result = JSON.parse(session.step(number, draws, Boolean(hurry), frames?.[number] ?? ""));
    if (result.same) break; // all that follows is as it was
    found.push({ number, result });
    if (!hurry || number === first) tell();
    if (result.error) break;
    if ((number - first) % 4 === 3) await pause(); // whoever asks for something else is heard
    if (turn !== wanted) break;
  }
  tell();
  if (turn !== wanted) return;
  say({ type: "done", first, turn });
  // Figures that nobody sees at the moment, when nothing else is to be done.
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
addEventListener("message", ({ data }) => {
  wanted = data.turn;
  last = last.then(() => (data.type === "start" ? start(data) : data.turn === wanted && run(data)));
  last = last.catch((error) => say({ type: "broken", message: String(error?.message ?? error) }));
});
