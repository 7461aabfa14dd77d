"""What a listing may use: modules that give the same everywhere, and the package as it is.

A line that needs more says so in a comment: `# needs: the reason`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import parse_listing

PACKAGE = "attention_docs"
MODULES = {"__future__", "ast", "collections", "dataclasses", "decimal", "enum", "fractions"}
MODULES |= {"functools", "inspect", "itertools", "math", "numpy", "operator", "re", "statistics"}
MODULES |= {"string", "textwrap", "torch", "typing", "warnings", PACKAGE}
"""All that a listing imports: no clock, no files, no network, no other processes."""
OUTSIDE = {"builtins", "ctypes", "importlib", "io", "os", "pathlib", "shutil", "socket"}
OUTSIDE |= {"subprocess", "sys", "threading", "time", "urllib"}
"""What those modules have imported themselves, and expose: `inspect.os`."""
REFUSED = {"__builtins__", "__import__", "breakpoint", "compile", "delattr", "globals", "hash"}
REFUSED |= {"id", "input", "locals", "open", "setattr", "vars"}
REFUSED |= {f"numpy.{name}" for name in ("fromfile", "genfromtxt", "load", "loadtxt", "memmap")}
REFUSED |= {f"numpy.{name}" for name in ("save", "savetxt", "savez", "savez_compressed")}
REFUSED |= {"torch.from_file", "torch.hub", "torch.load", "torch.save"}
REFUSED |= {f"{PACKAGE}.{name}" for name in ("running", "site", "verify")}
"""Names for files and for the insides of Python and of the engine, with all that is below them."""
NEEDS = re.compile(r"#\s*needs:\s*\S")
PUBLIC = re.compile(r"^def ([a-z]\w*)", re.M)
SERVING = {"checks.py", "signatures.py", "text.py", "verify.py"}
"""Modules whose functions have everyday names, such as `shape` and `step`."""


def list_public_functions(root: Path) -> set[str]:
    """The functions of the modules that compute: their names mean them in every listing."""
    files = (path for path in (root / PACKAGE).glob("*.py") if path.name not in SERVING)
    return {name for path in files for name in PUBLIC.findall(path.read_text(encoding="utf-8"))}


def find_isolation_faults(listing: Path, functions: Collection[str] = ()) -> list[Failure]:
    """What a listing uses and may not, at its lines; `functions` are those of the package."""
    tree, lines = parse_listing(listing)
    return [
        Failure(f"docs/listings/{listing.name}", line, message)
        for line, message in sorted(set(_found(tree, Names(tree), functions)))
        if not NEEDS.search(lines[line - 1])
    ]


def find_expression_faults(expression: str, code: str) -> list[str]:
    """What an inline value uses and may not, after the code of its page."""
    found = _found(ast.parse(expression, mode="eval"), _parse_names(code))
    return [message for _, message in found]


@lru_cache(maxsize=1024)  # many values follow the same blocks, on the pages of all languages
def _parse_names(code: str) -> Names:
    return Names(ast.parse(code))


def _found(tree: ast.AST, names: Names, functions: Collection[str] = ()) -> list[tuple[int, str]]:
    uses = Uses(names, functions)
    uses.visit(tree)
    return uses.found


class Names:
    """What the names of some code stand for.

    Attributes:
        imports: those that it imports: "np" is "numpy".
        aliases: those that it sets once, to something imported: `r = np.random`.
        bound: all that it sets itself, and how often.
    """

    def __init__(self, tree: ast.AST) -> None:
        nodes = [*ast.walk(tree)]
        imports = [one for node in nodes for one in imported_names(node)]
        self.imports = dict(reversed(imports))  # of a name that two of them set, the first
        self.bound = Counter(name for node in nodes if (name := _name_set(node)))
        self.aliases: dict[str, str] = {}
        for node in nodes:
            if isinstance(node, ast.Assign | ast.NamedExpr):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name) and self.bound[target.id] == 1:
                    self._alias(target.id, node.value)

    def _alias(self, name: str, value: ast.AST) -> None:
        first, *rest = _dotted(value).split(".")
        if origin := {**self.imports, **self.aliases}.get(first):
            self.aliases[name] = ".".join([origin, *rest])

    def origin(self, node: ast.AST) -> str:
        """What a dotted name stands for: something imported, or what nothing here has set."""
        first, *rest = _dotted(node).split(".")
        if origin := {**self.aliases, **self.imports}.get(first):
            return ".".join([origin, *rest])
        return "" if first in self.bound else ".".join([first, *rest])


def imported_names(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that a statement imports, and what each stands for."""
    if isinstance(node, ast.Import):
        for one in node.names:
            name = one.name if one.asname else one.name.split(".")[0]
            yield one.asname or name, name
    elif isinstance(node, ast.ImportFrom):
        for one in node.names:
            yield one.asname or one.name, f"{node.module}.{one.name}"


def _name_set(node: ast.AST) -> str:
    """The name that a node sets other than by an import, or ""."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return name
        case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
    return ""


def _dotted(node: ast.AST) -> str:
    """A dotted name, or "" for anything else."""
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


class Uses(ast.NodeVisitor):
    """Goes through code, and notes with its line what it uses or replaces and may not.

    `functions` are those of the package, which the code may not define anew.
    """

    def __init__(self, names: Names, functions: Collection[str] = ()) -> None:
        self.names = names
        self.functions = functions
        self.found: list[tuple[int, str]] = []

    def visit(self, node: ast.AST) -> None:
        """Each node: the name that it sets, then what it uses."""
        if name := _name_set(node):
            anew = isinstance(node, ast.FunctionDef | ast.ClassDef)
            self._define(node.lineno, name, anew=anew)  # type: ignore[attr-defined]
        super().visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        """Each module."""
        for one in node.names:
            self._import(node, one.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Each name of a module, which may be a module itself."""
        for one in node.names:
            self._import(node, f"{node.module}.{one.name}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """A dotted name is looked at as a whole."""
        if name := self.names.origin(node):
            self._use(node.lineno, name)
            self._change(node, name)
        else:
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """An element of what is imported is a part of it."""
        self._change(node, self.names.origin(node.value))
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """A name that is used."""
        if isinstance(node.ctx, ast.Load):
            self._use(node.lineno, self.names.origin(node))

    def visit_Assign(self, node: ast.Assign) -> None:
        """A function can be defined in a line."""
        if isinstance(node.value, ast.Lambda):
            for target in node.targets:
                self._define(target.lineno, _dotted(target), anew=True)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """What `exec` and `eval` are given is code of the listing like any other."""
        name = self.names.origin(node.func)
        if name in {"exec", "eval"}:
            code = node.args[0] if node.args else None
            if isinstance(code, ast.Constant) and isinstance(code.value, str):
                tree = ast.parse(code.value)
                inner = _found(tree, Names(tree), self.functions)
                self.found += [(node.lineno, message) for _, message in inner]
            else:
                message = f"{name} takes code as a string, got {ast.unparse(node)}"
                self.found.append((node.lineno, message))
        self.generic_visit(node)

    def _import(self, node: ast.Import | ast.ImportFrom, name: str) -> None:
        if (module := name.split(".")[0]) in MODULES:
            self._use(node.lineno, name)
        else:
            message = (
                f"a listing gives the same everywhere: it does not import {module}; "
                "a line that needs it says why (# needs: …)"
            )
            self.found.append((node.lineno, message))
        for here, origin in imported_names(node):
            if self.names.imports[here] != origin:
                self._define(node.lineno, here)

    def _use(self, line: int, name: str) -> None:
        parts = name.split(".")
        below = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
        if refused := below & REFUSED:
            self.found.append((line, f"a listing does not use {min(refused)}, got {name}"))
        elif parts[0] in MODULES and (outside := OUTSIDE.intersection(parts[1:])):
            self.found.append((line, f"a listing does not use {min(outside)}, got {name}"))
        elif re.fullmatch(r"numpy\.random(?!\.default_rng$|\.Generator$)\b.*", name):
            self.found.append((line, f"draws come from np.random.default_rng(seed), got {name}"))

    def _define(self, line: int, name: str, *, anew: bool = False) -> None:
        if origin := self.names.imports.get(name):
            self.found.append((line, f"{name} is {origin} here: choose another name"))
        elif anew and name in self.functions:
            message = f"{name} is a function of {PACKAGE}: import it, or choose another name"
            self.found.append((line, message))

    def _change(self, node: ast.Attribute | ast.Subscript, name: str) -> None:
        if not isinstance(node.ctx, ast.Load) and name.split(".")[0] in MODULES:
            self.found.append((node.lineno, f"a listing does not change what it imports: {name}"))
