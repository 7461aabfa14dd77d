/* Starts Python: Pyodide, NumPy, then the package out of its archive. */
export async function startPython(loadPyodide, options, archive) {
  const silent = { stdout: () => {}, stderr: () => {} };
  const python = await loadPyodide({ packages: ["numpy"], ...silent, ...options });
  python.unpackArchive(await archive, "zip", { extractDir: "/lib/attention" });
  python.runPython("import sys; sys.path.insert(0, '/lib/attention')");
  return python;
}
