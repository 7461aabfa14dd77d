/* Starts Python: Pyodide, NumPy, then the package, each out of its archive. */
const PLACES = ["/lib/python3.14/site-packages", "/lib/attention"];

export async function startPython(loadPyodide, options, archives) {
  const silent = { stdout: () => {}, stderr: () => {} };
  const python = await loadPyodide({ ...silent, ...options });
  for (const [n, archive] of archives.entries()) {
    python.unpackArchive(await archive, "zip", { extractDir: PLACES[n] });
  }
  python.runPython("import sys; sys.path.insert(0, '/lib/attention'); import numpy");
  return python;
}
