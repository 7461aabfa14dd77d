"""What a listing imports: modules that give the same everywhere.

A line that needs another one says so in a comment: `# needs: the reason`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import parse_listing

PACKAGE = "attention_docs"
MODULES = {"__future__", "ast", "collections", "dataclasses", "decimal", "enum", "fractions"}
MODULES |= {"functools", "inspect", "itertools", "math", "numpy", "operator", "re", "statistics"}
MODULES |= {"string", "textwrap", "torch", "typing", "warnings", PACKAGE}
"""All that a listing imports: no clock, no files, no network, no other processes."""
NEEDS = re.compile(r"#\s*needs:\s*\S")


def find_isolation_faults(listing: Path) -> Iterator[Failure]:
    """The modules that a listing imports and may not, at their lines."""
    tree, lines = parse_listing(listing)
    for node in ast.walk(tree):
        for _, origin in imported_names(node):
            module = origin.split(".")[0]
            line: int = node.lineno  # type: ignore[attr-defined]
            if module not in MODULES and not NEEDS.search(lines[line - 1]):
                message = (
                    f"a listing gives the same everywhere: it does not import {module}; "
                    "a line that needs it says why (# needs: …)"
                )
                yield Failure(f"docs/listings/{listing.name}", line, message)


def imported_names(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that a statement imports, and what each stands for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.split(".")[0]
            yield alias.asname or name, name
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"
