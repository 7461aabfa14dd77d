// Compiles an archive of modules for the browser's Python, in that very Python: see bytecode.py.
// node bytecode.mjs FOLDER ARCHIVE PLACE OUT: PLACE is where the archive's modules will stand.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, archive, place, out] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`).href);
const env = { HOME: "/home/pyodide", PYTHONHASHSEED: "0" }; // the same bytes each time
const python = await loadPyodide({ indexURL: `${folder}/`, env });
python.FS.writeFile("/in.zip", fs.readFileSync(`${folder}/${archive}`));
python.globals.set("place", place);
python.runPython(`
import importlib._bootstrap_external as external
import importlib.util
import re
import zipfile

UNUSED = re.compile(r"/tests/(test_|data/)|\\.(pyi|h|a|c|f|f90|src)$")  # in a wheel, by a reader

with zipfile.ZipFile("/in.zip") as source, zipfile.ZipFile("/out.zip", "w") as made:
    for one in source.infolist():
        if UNUSED.search(one.filename):
            continue
        name, content = one.filename, source.read(one)
        if name.endswith(".py"):
            code = compile(content, f"{place}/{name}", "exec", dont_inherit=True)
            content = external._code_to_hash_pyc(code, importlib.util.source_hash(content), False)
            name += "c"
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        made.writestr(info, bytes(content))
`);
fs.writeFileSync(out, python.FS.readFile("/out.zip"));
