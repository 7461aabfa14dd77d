"""Which modules of this project a piece of code imports, directly or not, and a hash of them.

The imports are read from the syntax, so nothing is run and torch is never loaded to find out.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import zip_longest
from pathlib import Path

from attention_docs.site.run.names import names_of

PACKAGE = "attention_docs"
INNER = re.compile(r"\b(?:import|from) torch\b")
HEAVY = ("torch", f"{PACKAGE}.nn")

_names = lru_cache(maxsize=2048)(names_of)  # the same code stands on the pages of all languages


@lru_cache(maxsize=8192)
def imported(code: str, module: str = "") -> frozenset[str]:
    """Dotted names that the code may import; `module` is where relative imports start."""
    names: set[str] = set()
    if "import" not in code:  # most blocks: nothing to parse
        return frozenset()
    try:
        tree = ast.parse(code)
    except SyntaxError:  # told where the code runs, with its file and line
        return frozenset()
    for node in _statements(tree.body):
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


def _statements(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All statements, at any depth; expressions, of which there are far more, import nothing."""
    for node in nodes:
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, part, ())
            yield from _statements(inner if isinstance(inner, list) else ())


def file_of(module: str, root: Path) -> Path | None:
    """The file of a module of this project, or None where there is none."""
    path = root.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


class Modules:
    """The modules of a project as they are now; each is read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.codes: dict[str, str | None] = {}
        self.behind: dict[frozenset[str], dict[str, str]] = {}
        self.digests: dict[frozenset[str], str] = {}

    def needed(self, names: Iterable[str]) -> dict[str, str]:
        """All project modules behind the imported names, with their code; parents included."""
        wanted = frozenset(name for name in names if name.split(".")[0] == PACKAGE)
        if wanted not in self.behind:
            found: dict[str, str] = {}
            waiting = set(wanted)
            while waiting:
                name = waiting.pop()
                if name in found or (code := self._code(name)) is None:
                    continue
                found[name] = code
                waiting.update(name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1))
                waiting.update(self._next(name, code))
            self.behind[wanted] = found
        return self.behind[wanted]

    def digest(self, names: Iterable[str]) -> str:
        """A hash of the content of all project modules behind the imported names."""
        needed = self.needed(names)
        which = frozenset(needed)
        if which not in self.digests:
            total = hashlib.sha256()
            for name, code in sorted(needed.items()):
                total.update(name.encode() + b"\0" + code.encode() + b"\0")
            self.digests[which] = total.hexdigest()
        return self.digests[which]

    @cached_property
    def everything(self) -> str:
        """A hash of all modules of the project."""
        files = sorted((self.root / PACKAGE).rglob("*.py"))
        total = hashlib.sha256()
        for path in files:
            total.update(str(path.relative_to(self.root)).encode() + b"\0" + path.read_bytes())
        return total.hexdigest()

    def third_party(self, code: str, wanted: tuple[str, ...]) -> set[str]:
        """Which of the wanted top-level packages the code imports, directly or through them."""
        names = set(imported(code))
        for name, inner in self.needed(names).items():
            names |= self._next(name, inner)
        return {name.split(".")[0] for name in names} & set(wanted)

    def _code(self, name: str) -> str | None:
        if name not in self.codes:
            path = file_of(name, self.root) if name.split(".")[0] == PACKAGE else None
            self.codes[name] = path.read_text(encoding="utf-8") if path else None
        return self.codes[name]

    def _next(self, name: str, code: str) -> frozenset[str]:
        """What a module imports; the relative imports of a package start one level lower."""
        is_package = self.root.joinpath(*name.split("."), "__init__.py").is_file()
        return imported(code, f"{name}.__init__" if is_package else name)


def with_torch(codes: Iterable[str], files: Iterable[Collection[str]] = ()) -> list[bool]:
    r"""Which blocks need torch: they import it, or use a name that only such a block has set.

    What a block publishes as a file is there without it: `files` are the names of each block.

    Examples:
        >>> with_torch(["import torch", "x = 1", "y = torch.ones(x)", "print(y)", "print(x)"])
        [True, False, True, True, False]
        >>> with_torch(["import torch; y = z = 1", "print(y)", "print(z)"], [{"y"}])
        [True, False, True]
        >>> with_torch(["import torch\nx = 0", "for x in [1, 2]:\n    print(x)", "print(x)"])
        [True, False, False]
    """
    tainted: set[str] = set()
    found = []
    for code, published in zip_longest(codes, files, fillvalue=""):
        names = imported(code)
        used, bound = _names(code)
        heavy = any(name.startswith(HEAVY) for name in names) or bool(used & tainted)
        heavy = heavy or bool(INNER.search(code))  # handed to `exec`
        tainted = tainted | bound if heavy else tainted - bound
        tainted -= set(published)
        found.append(heavy)
    return found
