/* Python as the site holds it: Pyodide, NumPy, the package. Loaded by worker.js. */
export async function load(folder, starting = () => {}) {
  const pack = fetch(`${folder}package.zip`).then((answer) => answer.arrayBuffer());
  pack.catch(() => {}); // told below, where it is waited for
  const { loadPyodide } = await import(`${folder}pyodide.mjs`);
  const options = { indexURL: folder, packages: ["numpy"], stdout: () => {}, stderr: () => {} };
  const python = await loadPyodide(options).finally(starting);
  python.unpackArchive(await pack, "zip", { extractDir: "/lib/attention" });
  python.runPython("import sys; sys.path.insert(0, '/lib/attention')");
  return python;
}
