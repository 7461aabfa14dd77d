"""Slow checks that need no second run: that each has passed, by a hash of all that it depends on.

A test that takes seconds, and whose inputs are files, asks for `passed` and hands it what they
hold. Where it has passed for exactly these, here or (tests/passed.json) for everybody, it returns.

    make test WITH=--record    writes tests/passed.json, after what it holds has changed
    make test WITH=--again     repeats every check, as CI does each night
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

from attention_docs.running.imports import find_imports
from attention_docs.site.run.imports import Modules
from attention_docs.site.store import make_key

ROOT = Path(__file__).parents[1]
MODULES = Modules(ROOT)
RECORDED = ROOT / "tests" / "passed.json"
HERE = ROOT / ".cache" / "passed.json"
PROPERTY = "passed"  # under which a test reports to the process that collects

Passed = Callable[..., bool]


def read_keys(path: Path) -> dict[str, str]:
    """The keys that are kept in a file, by the names of the tests."""
    try:
        keys: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}  # a damaged file costs time and nothing else
    return keys


@cache
def read_kept() -> tuple[dict[str, str], dict[str, str]]:
    """What is recorded, and what has passed on this machine."""
    return read_keys(RECORDED), read_keys(HERE)


@cache
def find_surroundings(module: str) -> str:
    """What every check depends on: the module of the test, Python and the pinned versions."""
    locks = (ROOT / name for name in ("requirements.lock", "requirements-torch.lock"))
    texts = [path.read_text(encoding="utf-8") for path in (Path(module), *locks)]
    return make_key(*texts, str(sys.version_info[:2]))


@cache
def hash_folder(folder: Path, pattern: str = "**/*") -> str:
    """The files of a folder, by their names and what they hold."""
    return hash_files(folder, folder.glob(pattern))


def hash_files(folder: Path, files: Iterable[Path]) -> str:
    """Files by their names within a folder and what they hold; compiled modules are left out."""
    found = sorted(path for path in files if path.is_file() and path.suffix != ".pyc")
    return make_key(
        *(
            f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
            for path in found
        )
    )


@cache
def hash_engine() -> str:
    """All that a build of the fixture project depends on: the package, the assets, the settings."""
    single = ("mkdocs.yml", "docs/zh-hant.toml", "tests/fixture_project.py")
    files = [ROOT / name for name in single]
    for name in ("attention_docs", "docs/assets"):
        files += (ROOT / name).rglob("*")
    return hash_files(ROOT, files)


def hash_modules(code: str) -> str:
    """The modules of the package that code imports, with all that these import."""
    return MODULES.hash_needed(find_imports(code))


def ask(item: pytest.Item, *parts: str) -> bool:
    """Whether a test has passed for these inputs; if not, it runs, and that it passes is kept."""
    key = make_key(find_surroundings(str(item.path)), *parts)
    found = any(kept.get(item.nodeid) == key for kept in read_kept())
    repeat = item.config.option.again or not found
    item.user_properties.append((PROPERTY, [item.nodeid, key, repeat]))
    return not repeat


def keep(keys: dict[str, str], record: bool) -> None:
    """Add the keys of tests that pass to those of this machine, and where asked for to the record:
    there they replace those of their modules, so what is no longer tested goes."""
    if not keys:
        return
    write_keys(HERE, read_keys(HERE) | keys)
    if record:
        ran = {name.partition("::")[0] for name in keys}
        others = {k: v for k, v in read_keys(RECORDED).items() if k.partition("::")[0] not in ran}
        write_keys(RECORDED, others | keys)


def write_keys(path: Path, keys: dict[str, str]) -> None:
    """Write the file beside its place and move it there."""
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(dict(sorted(keys.items())), indent=0) + "\n", encoding="utf-8")
    part.replace(path)
