/* Python in a worker of its own: loads what the site holds, runs blocks, says what they gave.
   Whoever wants it to stop ends the worker. Speaks with docs/assets/live/page.js. */
const say = (message) => postMessage(message);

/* Files with the bytes that have come so far: [name, size], from a folder of the site. */
async function fetched(folder, names) {
  const parts = names.map(() => [0, 0]);
  return Promise.all(names.map(async (name, index) => {
    const answer = await fetch(folder + name);
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    parts[index][1] = Number(answer.headers.get("content-length")) || 0;
    const reader = answer.body.getReader();
    const chunks = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      parts[index][0] += value.length;
      const sum = (at) => parts.reduce((all, part) => all + part[at], 0);
      say({ type: "loading", done: sum(0), all: Math.max(sum(0), sum(1)) });
    }
    return new Uint8Array(await new Blob(chunks).arrayBuffer());
  }));
}

let session;

async function start({ folder, page }) {
  const [pack] = await fetched(folder, ["package.zip", "pyodide.asm.wasm", "python_stdlib.zip"]);
  say({ type: "starting" });
  const { loadPyodide } = await import(`${folder}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: folder });
  await python.loadPackage("numpy", { messageCallback: () => {} });
  python.unpackArchive(pack, "zip", { extractDir: "/lib/attention" });
  python.runPython("import sys; sys.path.insert(0, '/lib/attention')");
  const document = await (await fetch(page)).text();
  session = python.pyimport("attention_docs.site.run.live").Session(document);
  say({ type: "ready", page: JSON.parse(document) });
}

function run({ codes, turn }) {
  const first = session.begin(JSON.stringify(codes));
  for (let number = first; number < codes.length; number += 1) {
    const result = JSON.parse(session.step(number));
    say({ type: "result", number, result, turn });
    if (result.error) break;
  }
  say({ type: "done", first, turn });
}

addEventListener("message", async ({ data }) => {
  try {
    if (data.type === "start") await start(data);
    else run(data);
  } catch (error) {
    say({ type: "broken", message: String(error.message ?? error).split("\n").slice(-2).join(" ") });
  }
});
