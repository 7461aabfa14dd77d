"""Record which of the package's public functions a block calls: each records its own calls.

A profiler would watch torch's own calls too, which are a thousand times as many.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any, ClassVar

SUPPORT = tuple(
    f"attention_docs.{name}."
    for name in ("site", "running", "figures", "text", "checks", "signatures", "locales", "colours")
)
"""Modules that take part in everything and explain nothing."""


def start_recording() -> None:
    """Record the calls of all modules of the package that are loaded from now on."""
    sys.meta_path.insert(0, RecordingLoader)


def clear_calls() -> None:
    RecordingLoader.calls.clear()


def list_calls() -> tuple[str, ...]:
    """What was called since then, by the names that the API pages document."""
    return tuple(sorted({_public_name(*call) for call in RecordingLoader.calls} - {""}))


class RecordingLoader(SourceFileLoader):
    """Loads a module whose public functions note that they are called."""

    calls: ClassVar[set[tuple[str, str]]] = set()  # modules, and names of functions in them

    def get_code(self, fullname: str) -> types.CodeType:
        """Compile the instrumented module; the bytecode on disk stays that of the module itself."""
        tree = ast.parse(self.get_data(self.path), self.path)
        for name, function in _find_functions(tree):
            documented = ast.get_docstring(function, clean=False) is not None
            note = ast.parse(f"__called__.add(({fullname!r}, {name!r}))").body[0]
            for node in ast.walk(note):
                ast.copy_location(node, function.body[0])
            function.body.insert(documented, note)
        code: types.CodeType = compile(tree, self.path, "exec", dont_inherit=True)
        return code

    def exec_module(self, module: types.ModuleType) -> None:
        """Run it, with the place for its notes."""
        module.__dict__["__called__"] = self.calls
        super().exec_module(module)

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None, _target: object = None
    ) -> ModuleSpec | None:
        """Load the package's modules this way, but for those that explain nothing."""
        if not name.startswith("attention_docs.") or f"{name}.".startswith(SUPPORT):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader = cls(name, spec.loader.path)
        return spec


def _find_functions(tree: ast.Module | ast.ClassDef, within: str = "") -> Iterator[Any]:
    """The public functions and methods of a module, by their qualified names."""
    for node in tree.body:
        name = getattr(node, "name", "_")
        if name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _find_functions(node, f"{within}{name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield within + name, node


def _public_name(module: str, qualname: str) -> str:
    """The name that the API page documents, or "" for what it does not.

    A module of a package inside this one (figures, nn) is documented by what the package exports.
    """
    package = module.rsplit(".", 1)[0]
    if "." not in package:
        return f"{module}.{qualname}"
    exported = getattr(sys.modules.get(package), "__all__", ())
    return f"{package}.{qualname}" if qualname.split(".")[0] in exported else ""
