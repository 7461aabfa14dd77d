"""What a page needs to run in a reader's browser: Python, the package, the page's own blocks."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import files
from pathlib import Path
from typing import Any

from attention_docs.data import list_ids, load_beginnings, load_neurons
from attention_docs.running.names import find_names
from attention_docs.running.result import Result, hash_figure
from attention_docs.site.publish import bytecode, models, runtime
from attention_docs.site.publish.archive import add_entry
from attention_docs.site.publish.staging import write_text
from attention_docs.site.read.listing import read_string_translations
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Value
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.run.dependencies import find_uses
from attention_docs.site.run.execute import FIGURE_TABLES
from attention_docs.site.run.imports import PACKAGE

FOLDER = "live"
MODEL_FOLDER = "live/minilm"  # loaded on a press of its own, so no live page brings it
WRITER_FOLDER = "live/smollm2"
PART = 25_000_000  # bytes: hosts limit the size of a file
BEGINNINGS = "assets/beginnings/{}.json"
"""What was measured on the model that writes, in each language."""

NEURONS = "assets/neurons.json"
"""The same of its neurons, in all languages."""

PACKAGE_FILE, LOCK = "package.zip", "pyodide-lock.json"
PACKED = 0.9e6  # bytes of the first, about: it is written after the pages that say so
MANIFEST = "files.json"  # sizes, to show how much is still to come, and hashes
OFFLINE_SCRIPT = "live-offline.js"
OFFLINE = re.compile(
    r"\.html$|^(assets|live)/(?!smollm2/(?!files\.json$)|.*\.map$)"
    r"|(^|/)search/search_index\.json$"
)
"""What may be read without network: pages and what they load, but for the model that writes.

Of that a reader may keep the pieces: docs/assets/live/pieces.js.
"""

LISTED = re.compile(r"^const LISTED = \{\};", re.MULTILINE)
SCRATCH = "scratch"  # the cell at the end of a page
LIBRARIES = ("array-api-compat",)  # in pure Python
SHAPES = "site/run/shapes.py"  # goes along as jaxtyping
SESSION = (
    "site/__init__.py",
    "site/run/__init__.py",
    *(
        f"site/run/{name}.py"
        for name in (
            *("dependencies", "finite", "interactive", "live", "live_errors", "live_state"),
            *("reach", "snapshot"),
        )
    ),
)


def make_path(page: Page) -> str:
    """The path of the file with the blocks of a page."""
    return f"{FOLDER}/{page.text_lang}/{page.slug}.json"


def make_document(assembled: AssembledPage) -> dict[str, Any]:
    """The blocks of a page for `run/live.py`, and what they have given in the build."""
    page = assembled.page
    cells = [_make_cell(assembled, number) for number in range(1, len(page.blocks) + 1)]
    texts = ["\n".join([cell["code"], *(one[1] for one in cell["values"])]) for cell in cells]
    for cell, statements in zip(cells, find_uses(texts), strict=True):
        cell["statements"] = statements
    names = _find_reader_names(assembled)
    scratch = {
        "id": SCRATCH,
        "code": "",
        "example": _find_example(assembled, set(names)),
        "names": names,
        "origin": "",
        "listing": f"{SCRATCH}.py",
        "line": 1,
        "torch": False,
        "slow": False,
    }
    scratch |= {"files": [], "values": [], "text": "", "figure": "", "knobs": [], "statements": []}
    cells.append(scratch)
    return {"lang": page.text_lang, "words": _collect_strings(page), "cells": cells}


def _find_reader_names(assembled: AssembledPage) -> list[str]:
    """The names that a reader's own code can use: those that blocks without torch have set."""
    names: set[str] = set()
    for block in assembled.page.blocks:
        _, bound = find_names(block.code, sure=True)
        names = names - bound if block.id in assembled.torch_blocks else names | bound
    public = (name for name in names if not name.startswith("_"))
    return sorted(public, key=lambda name: (name.lower(), name))


def _find_example(assembled: AssembledPage, names: set[str]) -> str:
    """A line for the reader's own cell that works: the first number of the text, as it is made."""
    for value in assembled.page.values:
        used, _ = find_names(value.expression)
        if used and used <= names and not value.is_site_count:
            return value.expression
    return ""


def _make_cell(assembled: AssembledPage, number: int) -> dict[str, Any]:
    """A block and what follows from it, by its number on the page."""
    page = assembled.page
    block = page.blocks[number - 1]
    section, result = block.sections[0], assembled.get_result(block) or Result()
    is_heavy = block.id in assembled.torch_blocks
    figure = result.figure.get(page.text_lang)
    values = [
        (place, block.translate(value.expression), value.spec, assembled.get_value(place))
        for place, value in enumerate(page.evaluated, start=1)
        if _find_owner(assembled, value) == number and not value.is_site_count
    ]
    return {
        "id": block.id,
        "code": block.displayed_code,
        "origin": hash_figure(block.code)[:12],  # the same in all languages
        "listing": section.listing.name,
        "line": section.first_line,
        "torch": is_heavy,
        "slow": not is_heavy and any(section.is_slow for section in block.sections),
        "files": [(one.variable, one.name, one.text) for one in result.files if is_heavy],
        "values": values,
        "text": result.get_text(page.text_lang),
        "figure": hash_figure(figure.svg) if figure else "",
        "knobs": [knob.as_dict() for knob in block.knobs],
    }


def _find_owner(assembled: AssembledPage, value: Value) -> int:
    """The block after which a browser computes a value, an earlier one if this one needs torch."""
    used, _ = find_names(value.expression)
    above = assembled.page.blocks[: value.after]
    if any(used & find_names(one.code)[1] for one in above if one.id in assembled.torch_blocks):
        return value.after  # what a block with torch sets is unknown in a browser
    return next(
        (n for n in range(value.after, 0, -1) if above[n - 1].id not in assembled.torch_blocks),
        value.after,
    )


def _collect_strings(page: Page) -> dict[str, str]:
    """The strings of the page's listings in its language: the package has some of them, too."""
    found: dict[str, str] = {}
    for block in page.blocks:
        for section in block.sections:
            own = read_string_translations(section.listing, block.lang) or {}
            found |= {english: block.convert(text, english) for english, text in own.items()}
    return found


def pack_package(root: Path, locales: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The package and what it needs besides NumPy, as one archive, the same on every day.

    `locales` are the locale strings of languages that have no file of them.
    """
    package = root / PACKAGE
    own = [path for path in package.glob("*.py") if path.name != "verify.py"]  # a command
    own += [
        file
        for name in ("colours", "data", "figures", "running")
        for file in package.glob(f"{name}/*.py")
    ]
    data = (one for one in package.glob("data/*/*") if one.parent.name != "__pycache__")
    own += [*data, *package.glob("locales/*")]
    own += [*(package / name for name in SESSION)]
    contents = {f"{PACKAGE}/{path.relative_to(package).as_posix()}": path for path in own}
    contents |= dict(_list_library_files())
    texts = {name: path.read_bytes() for name, path in contents.items() if path.is_file()}
    for name in texts:
        if name.endswith(".toml"):
            texts[name] = _remove_site_strings(texts[name].decode()).encode()
    for lang, table in locales.items():
        used = {name: table.get(name, {}) for name in FIGURE_TABLES}
        texts[f"{PACKAGE}/locales/{lang}.toml"] = format_toml(used).encode()
    texts["jaxtyping.py"] = (package / SHAPES).read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(texts.items()):
            add_entry(archive, name, text)
    return buffer.getvalue()


def _remove_site_strings(text: str) -> str:
    """The words of a language without those of the pages: reading them takes a browser a second."""
    head, *tables = re.split(r"(?m)^(?=\[)", text)
    return head + "".join(one for one in tables if not re.match(r"\[site\b", one))


def _list_library_files() -> Iterator[tuple[str, Path]]:
    """The files of the libraries; what belongs to other arrays than NumPy's stays at home."""
    skipped = ("torch/", "cupy/", "dask/", "__pycache__", "_test", "tests/")
    for library in LIBRARIES:
        for file in files(library) or ():
            name = file.as_posix()
            wanted = name.endswith(".py") or name.endswith(("METADATA", "LICENSE"))
            if wanted and not any(part in name for part in skipped) and ".." not in name:
                yield name, Path(str(file.locate()))


def format_toml(table: Mapping[str, Any], path: str = "") -> str:
    """Nested tables of strings as TOML.

    Examples:
        >>> print(format_toml({"terms": {"key": "鍵"}}))
        [terms]
        "key" = "鍵"
    """
    own = {name: value for name, value in table.items() if not isinstance(value, Mapping)}
    lines = [f"[{path}]"] if path and own else []
    lines += [
        f"{json.dumps(name)} = {json.dumps(one, ensure_ascii=False)}" for name, one in own.items()
    ]
    for name, value in table.items():
        if isinstance(value, Mapping):
            lines.append(format_toml(value, f"{path}.{json.dumps(name)}" if path else name))
    return "\n".join(line for line in lines if line)


def write_live_files(
    stage: Path, root: Path, cache: Path, locales: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write what live pages load on a reader's press."""
    folder = stage / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in runtime.list_served_files(cache).items():
        shutil.copyfile(path, folder / name)
    write_text(folder / runtime.SERVED_SCRIPT, runtime.make_script(cache))
    (folder / PACKAGE_FILE).write_bytes(pack_package(root, locales))
    write_text(folder / LOCK, json.dumps({"info": bytecode.INFO, "packages": {}}))
    paths = [path for path in sorted(folder.iterdir()) if path.is_file()]
    write_text(folder / MANIFEST, json.dumps({path.name: _describe_file(path) for path in paths}))


def write_model_files(stage: Path, root: Path, cache: Path) -> None:
    """Write the model that reads a reader's own sentence, with its licence and its origin."""
    folder = stage / MODEL_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for file in models.MINILM:
        shutil.copyfile(models.find_folder(cache) / file.path, stage / FOLDER / file.path)
    described = {Path(file.path).name: folder / Path(file.path).name for file in models.MINILM}
    manifest = {name: _describe_file(path) for name, path in described.items()}
    write_text(folder / MANIFEST, json.dumps(manifest))
    for name in ("LICENSE", "README.md"):
        shutil.copyfile(root / PACKAGE / "data" / "minilm" / name, folder / name)


def write_beginnings(stage: Path) -> None:
    """Write what was measured on the model that writes: for each language its own beginnings."""
    kept = load_beginnings()
    for lang in {one["lang"] for one in kept["beginnings"]}:
        chosen = [one for one in kept["beginnings"] if one["lang"] == lang]
        used = {str(i) for one in chosen for i in list_ids(one)}
        tokens = {i: text for i, text in kept["tokens"].items() if i in used}
        document = {**kept, "tokens": tokens, "beginnings": chosen}
        path = stage / BEGINNINGS.format(lang)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(document, ensure_ascii=False, separators=(",", ":")))


def write_neurons(stage: Path) -> None:
    """Write what was measured on neurons of the model that writes."""
    path = stage / NEURONS
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(load_neurons(), ensure_ascii=False, separators=(",", ":")))


def list_parts() -> list[str]:
    """The names of the pieces in which the model that writes is served, in their order."""
    return [f"{models.FILE}.{n}" for n in range(-(-models.BYTES // PART))]


def write_writer_files(stage: Path, root: Path, cache: Path) -> None:
    """Write the model that writes, in pieces, with its licence and its origin."""
    folder = stage / WRITER_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    parts = {name: folder / name for name in list_parts()}
    with (models.find_folder(cache) / models.FILE).open("rb") as file:
        for path in parts.values():
            path.write_bytes(file.read(PART))
    manifest = {name: _describe_file(path) for name, path in parts.items()}
    write_text(folder / MANIFEST, json.dumps(manifest))
    for name in ("LICENSE", "README.md"):
        shutil.copyfile(root / PACKAGE / "data" / "smollm2" / name, folder / name)


def count_megabytes(cache: Path, *files: models.ModelFile) -> int:
    """What Python, the package, and a model, MiniLM if none is named, take together."""
    paths = [*runtime.list_served_files(cache).values()]
    paths += [runtime.find_folder(cache) / name for name in runtime.MODULES.values()]
    paths += [models.find_folder(cache) / file.path for file in files or models.MINILM]
    return round((sum(path.stat().st_size for path in paths) + PACKED) / 1e6)


def _describe_file(path: Path) -> dict[str, Any]:
    """What a browser compares a file with."""
    content = path.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def list_for_offline(stage: Path) -> None:
    """Write the hashes of a finished site's files into its service worker.

    Without network it serves nothing else.
    """
    paths = [path for path in sorted(stage.rglob("*")) if path.is_file()]
    names = {path.relative_to(stage).as_posix(): path for path in paths}
    listed = {name: _hash_as_base64(path) for name, path in names.items() if OFFLINE.search(name)}
    script = stage / OFFLINE_SCRIPT
    text, count = LISTED.subn(f"const LISTED = {json.dumps(listed)};", script.read_text("utf-8"))
    if count != 1:
        raise ValueError(f"wanted one line {LISTED.pattern!r} in {OFFLINE_SCRIPT}, got {count}")
    write_text(script, text)


def _hash_as_base64(path: Path) -> str:
    return base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
