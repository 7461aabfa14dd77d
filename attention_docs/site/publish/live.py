"""What a page needs to run in a reader's browser: Python, the package, the page's own blocks."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Any

from attention_docs.site.publish import runtime
from attention_docs.site.publish.place import write
from attention_docs.site.read.page import Page
from attention_docs.site.run.imports import PACKAGE, with_torch

FOLDER = "live"
LIBRARIES = ("array-api-compat", "jaxtyping", "wadler_lindig")  # in pure Python
RUNNER = [f"site/run/{name}.py" for name in ("__init__", "block", "live", "result")]


def document(page: Page) -> dict[str, Any]:
    """The blocks of a page for `run/live.py`."""
    heavy = with_torch([block.code for block in page.blocks])
    cells = []
    for number, block in enumerate(page.blocks, start=1):
        section = block.sections[0]
        values = [
            (place, value.expression, value.spec)
            for place, value in enumerate(page.values, start=1)
            if value.after == number and not value.counted
        ]
        cells.append(
            {
                "id": block.id,
                "code": block.shown,
                "listing": section.listing.name,
                "line": section.first_line,
                "torch": heavy[number - 1],
                "values": values,
            }
        )
    return {"lang": page.lang, "cells": cells}


def pack(root: Path) -> bytes:
    """The package and what it needs besides NumPy, as one archive, the same on every day."""
    package = root / PACKAGE
    own = list(package.glob("*.py"))
    own += [*package.glob("figures/*.py"), *package.glob("words/*")]
    own += [package / name for name in ("site/__init__.py", *RUNNER)]
    contents = {f"{PACKAGE}/{path.relative_to(package).as_posix()}": path for path in own}
    contents |= dict(_libraries())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            if contents[name].is_file():
                info = zipfile.ZipInfo(name)
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, contents[name].read_bytes())
    return buffer.getvalue()


def _libraries() -> Iterator[tuple[str, Path]]:
    """The files of the libraries; what belongs to other arrays than NumPy's stays at home."""
    skipped = ("torch/", "cupy/", "dask/", "__pycache__", "_test", "tests/")
    for library in LIBRARIES:
        for file in files(library) or ():
            name = file.as_posix()
            wanted = name.endswith(".py") or name.endswith(("METADATA", "LICENSE"))
            if wanted and not any(part in name for part in skipped) and ".." not in name:
                yield name, Path(str(file.locate()))


def beside(stage: Path, root: Path, cache: Path, pages: Iterable[Page]) -> None:
    """Write what live pages load on a reader's press."""
    folder = stage / FOLDER
    folder.mkdir(parents=True)
    for name in runtime.FILES:
        shutil.copyfile(runtime.folder(cache) / name, folder / name)
    (folder / "package.zip").write_bytes(pack(root))
    write(folder / "pyodide-lock.json", json.dumps(_lock()))
    for page in pages:
        if page.blocks:
            path = folder / page.lang / f"{page.slug}.json"
            write(path, json.dumps(document(page), ensure_ascii=False))


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
    info = {
        "abi_version": "2026_0",
        "arch": "wasm32",
        "platform": "emscripten_5_0_3",
        "python": "3.14.0",
    }
    return {"info": info, "packages": {"numpy": numpy}}
