"""What a page needs to run in a reader's browser: Python, the package, the page's own blocks."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Any

from attention_docs.site.publish import bytecode, runtime
from attention_docs.site.publish.place import write
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.script import Script
from attention_docs.site.render.weave import Woven
from attention_docs.site.run.imports import PACKAGE
from attention_docs.site.run.result import Result, digest
from attention_docs.words import words
from attention_docs.words.drawn import TEXT, table

FOLDER = "live"
PACKAGE_FILE, LOCK = "package.zip", "pyodide-lock.json"
MANIFEST = "files.json"  # sizes, to show how much is still to come, and hashes
OFFLINE_SCRIPT = "live-offline.js"
OFFLINE = re.compile(r"\.html$|^(assets|live)/(?!.*\.map$)|(^|/)search/search_index\.json$")
"""What may be read without network: pages and what they load."""

LISTED = re.compile(r"^const LISTED = \{\};", re.MULTILINE)
SCRATCH = "scratch"  # the cell at the end of a page
LIBRARIES = ("array-api-compat",)  # in pure Python
SHAPES = "site/run/shapes.py"  # goes along as jaxtyping
RUNNER = [f"site/run/{name}.py" for name in ("__init__", "block", "live", "names", "result")]


def place(page: Page) -> str:
    """Where the blocks of a page stand on the site."""
    return f"{FOLDER}/{page.lang}/{page.slug}.json"


def document(woven: Woven) -> dict[str, Any]:
    """The blocks of a page for `run/live.py`, and what they have given in the build."""
    page, cells = woven.page, []
    lang = page.script.origin if isinstance(page.script, Script) else page.lang
    for number, block in enumerate(page.blocks, start=1):
        section, result = block.sections[0], woven.result(block) or Result()
        heavy = block.id in woven.heavy
        files = result.files if heavy else ()
        figure = result.figure.get(lang)
        values = [
            (place, value.expression, value.spec, woven.value(place))
            for place, value in enumerate(page.values, start=1)
            if value.after == number and not value.counted
        ]
        cells.append(
            {
                "id": block.id,
                "code": block.shown,
                "origin": digest(block.code)[:12],
                "listing": section.listing.name,
                "line": section.first_line,
                "torch": heavy,
                "files": [(file.variable, file.name, file.text) for file in files],
                "values": values,
                "text": result.text,
                "figure": digest(figure.svg) if figure else "",
                "knobs": [knob.told() for one in block.sections for knob in one.knobs],
            }
        )
    scratch = {
        "id": SCRATCH,
        "code": "",
        "origin": "",
        "listing": f"{SCRATCH}.py",
        "line": 1,
        "torch": False,
    }
    cells.append(scratch | {"files": [], "values": [], "text": "", "figure": "", "knobs": []})
    return {"lang": lang, "script": _reworded(woven), "cells": cells}


def _reworded(woven: Woven) -> dict[str, str]:
    """What the words of a page's figures become in a script in which nothing is drawn."""
    page = woven.page
    if not isinstance(page.script, Script):
        return {}
    said, results = words(page.script.origin), map(woven.result, page.blocks)
    drawn = [one.figure[page.script.origin].svg for one in results if one and one.figure]
    texts = [text for svg in drawn for text in TEXT.findall(svg)]
    for name in ("terms", "labels", "figures") if drawn else ():  # what an edit may bring
        texts += _texts(said.table.get(name, {}))
    try:
        return table(texts, page.script)
    except ValueError as error:
        message = f"a live page would say it wrong: {error}; say in docs/{page.lang}.toml which"
        raise Failure(page.origin, 1, message) from None


def _texts(value: Any) -> list[str]:
    """All texts of a table of words."""
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]
    return [value] if isinstance(value, str) else []


def pack(root: Path) -> bytes:
    """The package and what it needs besides NumPy, as one archive, the same on every day."""
    package = root / PACKAGE
    own = [path for path in package.glob("*.py") if path.name != "verify.py"]  # a command
    own += [*package.glob("figures/*.py"), *package.glob("words/*")]
    own += [package / name for name in ("site/__init__.py", *RUNNER)]
    contents = {f"{PACKAGE}/{path.relative_to(package).as_posix()}": path for path in own}
    contents |= dict(_libraries())
    texts = {name: path.read_bytes() for name, path in contents.items() if path.is_file()}
    for name in texts:
        if name.endswith(".toml"):
            texts[name] = _figure_words(texts[name].decode()).encode()
    texts["jaxtyping.py"] = (package / SHAPES).read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(texts.items()):
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, text)
    return buffer.getvalue()


def _figure_words(text: str) -> str:
    """The words of a language without those of the pages: reading them takes a browser a second."""
    head, *tables = re.split(r"(?m)^(?=\[)", text)
    return head + "".join(one for one in tables if not re.match(r"\[site\b", one))


def _libraries() -> Iterator[tuple[str, Path]]:
    """The files of the libraries; what belongs to other arrays than NumPy's stays at home."""
    skipped = ("torch/", "cupy/", "dask/", "__pycache__", "_test", "tests/")
    for library in LIBRARIES:
        for file in files(library) or ():
            name = file.as_posix()
            wanted = name.endswith(".py") or name.endswith(("METADATA", "LICENSE"))
            if wanted and not any(part in name for part in skipped) and ".." not in name:
                yield name, Path(str(file.locate()))


def beside(stage: Path, root: Path, cache: Path) -> None:
    """Write what live pages load on a reader's press."""
    folder = stage / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in runtime.served(cache).items():
        shutil.copyfile(path, folder / name)
    (folder / PACKAGE_FILE).write_bytes(pack(root))
    write(folder / LOCK, json.dumps(_lock()))
    paths = [path for path in sorted(folder.iterdir()) if path.is_file()]
    write(folder / MANIFEST, json.dumps({path.name: _listed(path) for path in paths}))


def _listed(path: Path) -> dict[str, Any]:
    """What a browser compares a file with."""
    content = path.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def list_for_offline(stage: Path) -> None:
    """Write the hashes of a finished site's files into its service worker.

    Without network it serves nothing else.
    """
    paths = [path for path in sorted(stage.rglob("*")) if path.is_file()]
    names = {path.relative_to(stage).as_posix(): path for path in paths}
    listed = {name: _base64(path) for name, path in names.items() if OFFLINE.search(name)}
    script = stage / OFFLINE_SCRIPT
    text, count = LISTED.subn(f"const LISTED = {json.dumps(listed)};", script.read_text("utf-8"))
    if count != 1:
        raise ValueError(f"wanted one line {LISTED.pattern!r} in {OFFLINE_SCRIPT}, got {count}")
    write(script, text)


def _base64(path: Path) -> str:
    return base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()


def _lock() -> dict[str, Any]:
    """What Pyodide needs to know of NumPy, the one package that it loads itself."""
    numpy = {
        "name": "numpy",
        "version": runtime.NUMPY.split("-")[1],
        "file_name": runtime.NUMPY,
        "sha256": runtime.FILES[runtime.NUMPY],
        "imports": ["numpy"],
        "depends": [],
        "install_dir": "site",
        "package_type": "package",
        "unvendored_tests": False,
    }
    return {"info": bytecode.INFO, "packages": {"numpy": numpy}}
