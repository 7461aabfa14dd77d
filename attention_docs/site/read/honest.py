"""What a listing may not hold: results that were typed, and what another machine has otherwise.

Chance without a seed cannot be seen in code; the worker watches the generators themselves.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import sections

SHOWING = {"print", "text", "number", "str", "repr", "format", "bool", "list", "tuple"}
"""Functions that show what they are given."""
RESULT = re.compile(r"\d|\bTrue\b|\bFalse\b")
SURROUNDINGS = {"datetime", "getpass", "locale", "platform", "random", "secrets", "socket"}
SURROUNDINGS |= {"subprocess", "tempfile", "time", "uuid"}
"""Modules whose answers differ from run to run or from machine to machine."""
PLACES = {"os.environ", "os.getcwd", "os.getenv", "os.listdir", "os.times", "os.urandom"}
PLACES |= {"Path.cwd", "Path.home", "sys.argv", "sys.platform"}
TYPED = re.compile(r"#\s*typed:\s*\S")
JUDGED = ast.Call | ast.FormattedValue | ast.Import | ast.ImportFrom | ast.Attribute


def faults(listing: Path) -> list[Failure]:
    """Everything that a listing may not hold, at its lines."""
    text = listing.read_text(encoding="utf-8")
    try:
        sections(listing, text)
        tree = ast.parse(text)
    except (Failure, SyntaxError):  # told where the listing is included
        return []
    lines = text.split("\n")
    return [
        Failure(f"docs/listings/{listing.name}", node.lineno, message)
        for node in ast.walk(tree)
        if isinstance(node, JUDGED) and not TYPED.search(lines[node.lineno - 1])
        for message in (*_typed(node), *_elsewhere(node))
    ]


def constant(expression: str) -> bool:
    """Whether an expression is its own result.

    Examples:
        >>> constant("2.8921"), constant("text([1.0, 2])"), constant("weights[0, 0]")
        (True, True, False)
    """
    return _computes_nothing(ast.parse(expression, mode="eval").body)


def _typed(node: ast.AST) -> Iterator[str]:
    """A print of nothing but literals, or a literal within an f-string."""
    if isinstance(node, ast.Call) and _name(node.func) == "print":
        shown = node.args
        if shown and all(map(_computes_nothing, shown)) and any(map(_holds_result, shown)):
            yield (
                "a print of typed values: print what the code computes, "
                'or say why it is typed in a comment on this line ("# typed: …")'
            )
    elif isinstance(node, ast.FormattedValue) and (
        _computes_nothing(node.value) and _holds_result(node.value)
    ):
        yield f"a typed value in an f-string: {ast.unparse(node.value)}"


def _computes_nothing(node: ast.AST) -> bool:
    """Literals, and functions that only show them."""
    names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return names <= SHOWING


def _holds_result(shown: ast.AST) -> bool:
    """Whether what is shown holds a digit or a truth value."""
    if isinstance(shown, ast.FormattedValue):
        return _holds_result(shown.value)  # and not the width in its format
    if isinstance(shown, ast.Constant):
        value = shown.value
        return bool(RESULT.search(value)) if isinstance(value, str) else value is not None
    return any(map(_holds_result, ast.iter_child_nodes(shown)))


def _elsewhere(node: ast.AST) -> Iterator[str]:
    """What another machine, folder or moment has otherwise."""
    modules = []
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [node.module or ""]
        if f"{node.module}" == "os":
            modules += [f"os.{alias.name}" for alias in node.names]
    for module in modules:
        if module.split(".")[0] in SURROUNDINGS or module in PLACES:
            yield f"a listing gives the same everywhere: it does not import {module}"
    if isinstance(node, ast.Attribute) and _name(node) in PLACES:
        yield f"a listing gives the same everywhere: it does not use {_name(node)}"
    if isinstance(node, ast.Attribute):
        name = _name(node)
        if re.fullmatch(r"(np|numpy)\.random\.(?!default_rng$|Generator$).+", name):
            yield f"draws come from np.random.default_rng(seed), got {name}"


def _name(node: ast.AST) -> str:
    """A dotted name, or "" for anything else."""
    if isinstance(node, ast.Attribute):
        before = _name(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""
