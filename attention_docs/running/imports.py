"""Find what a piece of code imports, and which blocks of a page need torch.

It is read from the syntax, so nothing is run and torch is never loaded to find out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import zip_longest

from attention_docs.running.names import find_names

INNER = re.compile(r"\b(?:import|from) torch\b")
HEAVY = ("torch", "attention_docs.nn")

_find_names = lru_cache(maxsize=2048)(
    find_names
)  # the same code stands on the pages of all languages


@lru_cache(maxsize=8192)
def find_imports(code: str, module: str = "") -> frozenset[str]:
    """Dotted names that the code may import; `module` is where relative imports start."""
    names: set[str] = set()
    if "import" not in code:  # most blocks: nothing to parse
        return frozenset()
    try:
        tree = ast.parse(code)
    except SyntaxError:  # reported where the code runs, with its file and line
        return frozenset()
    for node in _walk_statements(tree.body):
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


def _walk_statements(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All statements, at any depth; expressions, of which there are far more, import nothing."""
    for node in nodes:
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, part, ())
            yield from _walk_statements(inner if isinstance(inner, list) else ())


def find_torch_blocks(codes: Iterable[str], files: Iterable[Collection[str]] = ()) -> list[bool]:
    r"""Which blocks need torch: they import it, or use a name that only such a block has set.

    What a block publishes as a file is there without it: `files` are the names of each block.

    Examples:
        >>> find_torch_blocks(["import torch", "x = 1", "y = torch.ones(x)", "y", "x"])
        [True, False, True, True, False]
        >>> find_torch_blocks(["import torch; y = z = 1", "print(y)", "print(z)"], [{"y"}])
        [True, False, True]
        >>> find_torch_blocks(["import torch\nx = 0", "for x in [1, 2]:\n    print(x)", "print(x)"])
        [True, False, False]
    """
    tainted: set[str] = set()
    found = []
    for code, published in zip_longest(codes, files, fillvalue=""):
        names = find_imports(code)
        used, bound = _find_names(code)
        heavy = any(name.startswith(HEAVY) for name in names) or bool(used & tainted)
        heavy = heavy or bool(INNER.search(code))  # handed to `exec`
        tainted = tainted | bound if heavy else tainted - bound
        tainted -= set(published)
        found.append(heavy)
    return found
