"""Which modules of this project a piece of code imports, directly or not, and a hash of them.

The imports are read from the syntax, so nothing is run and torch is never loaded to find out.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

PACKAGE = "attention_docs"


@lru_cache(maxsize=4096)
def imported(code: str, module: str = "") -> frozenset[str]:
    """Dotted names that the code may import; `module` is where relative imports start."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")[: -node.level]
                base = ".".join([*parents, *filter(None, [node.module])])
            names.add(base)
            # `from package import x`: x may be a module of its own.
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return frozenset(names)


def file_of(module: str, root: Path) -> Path | None:
    """The file of a module of this project, or None where there is none."""
    path = root.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def modules(names: Iterable[str], root: Path) -> dict[str, Path]:
    """All project modules behind the imported names, with their files; parents included."""
    found: dict[str, Path] = {}
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        if name in found or name.split(".")[0] != PACKAGE or not (path := file_of(name, root)):
            continue
        found[name] = path
        waiting.update(name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1))
        # Relative imports of a package start one level lower than those of a module.
        inner = f"{name}.__init__" if path.name == "__init__.py" else name
        waiting.update(imported(path.read_text(encoding="utf-8"), inner))
    return found


def digest(names: Iterable[str], root: Path) -> str:
    """A hash of the content of all project modules behind the imported names."""
    total = hashlib.sha256()
    for name, path in sorted(modules(names, root).items()):
        total.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def third_party(code: str, root: Path, wanted: tuple[str, ...]) -> set[str]:
    """Which of the wanted top-level packages the code imports, directly or through this project."""
    names = set(imported(code))
    for path in modules(names, root).values():
        names |= imported(path.read_text(encoding="utf-8"))
    return {name.split(".")[0] for name in names} & set(wanted)
