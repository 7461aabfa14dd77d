"""Which modules of this project stand behind the imports of some code, and a hash of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from attention_docs.running.imports import find_imports

PACKAGE = "attention_docs"
DATA = f"{PACKAGE}.data"  # the module whose functions read the files beside it


def find_module_file(module: str, root: Path) -> Path | None:
    """The file of a module of this project, or None where there is none."""
    path = root.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def list_data(root: Path) -> list[Path]:
    """The files that a project's functions read: what was measured, and weights."""
    folder = root.joinpath(*DATA.split("."))
    files = (path for path in folder.glob("*/*") if path.is_file() and path.suffix != ".pyc")
    return sorted(path.relative_to(root) for path in files)


class Modules:
    """The modules of a project as they are now; each is read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cached_codes: dict[str, str | None] = {}
        self.cached_needed: dict[frozenset[str], dict[str, str]] = {}
        self.cached_hashes: dict[frozenset[str], str] = {}

    def find_needed(self, names: Iterable[str]) -> dict[str, str]:
        """All project modules behind the imported names, with their code; parents included."""
        wanted = frozenset(name for name in names if name.split(".")[0] == PACKAGE)
        if wanted not in self.cached_needed:
            found: dict[str, str] = {}
            waiting = set(wanted)
            while waiting:
                name = waiting.pop()
                if name in found or (code := self._read_code(name)) is None:
                    continue
                found[name] = code
                waiting.update(name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1))
                waiting.update(self._find_imports(name, code))
            self.cached_needed[wanted] = found
        return self.cached_needed[wanted]

    def hash_needed(self, names: Iterable[str]) -> str:
        """A hash of all project modules behind the imported names, and of the data they read."""
        needed = self.find_needed(names)
        which = frozenset(needed)
        if which not in self.cached_hashes:
            total = hashlib.sha256()
            for name, code in sorted(needed.items()):
                total.update(name.encode() + b"\0" + code.encode() + b"\0")
            for path in list_data(self.root) if DATA in needed else ():
                total.update(str(path).encode() + b"\0" + (self.root / path).read_bytes())
            self.cached_hashes[which] = total.hexdigest()
        return self.cached_hashes[which]

    @cached_property
    def hash_of_all(self) -> str:
        files = sorted((self.root / PACKAGE).rglob("*.py"))
        total = hashlib.sha256()
        for path in files:
            total.update(str(path.relative_to(self.root)).encode() + b"\0" + path.read_bytes())
        return total.hexdigest()

    def find_third_party(self, code: str, wanted: tuple[str, ...]) -> set[str]:
        """Which of the wanted top-level packages the code imports, directly or through them."""
        names = set(find_imports(code))
        for name, inner in self.find_needed(names).items():
            names |= self._find_imports(name, inner)
        return {name.split(".")[0] for name in names} & set(wanted)

    def _read_code(self, name: str) -> str | None:
        if name not in self.cached_codes:
            path = find_module_file(name, self.root) if name.split(".")[0] == PACKAGE else None
            self.cached_codes[name] = path.read_text(encoding="utf-8") if path else None
        return self.cached_codes[name]

    def _find_imports(self, name: str, code: str) -> frozenset[str]:
        """What a module imports; the relative imports of a package start one level lower."""
        is_package = self.root.joinpath(*name.split("."), "__init__.py").is_file()
        return find_imports(code, f"{name}.__init__" if is_package else name)
