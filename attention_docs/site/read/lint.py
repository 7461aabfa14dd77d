"""Lint listings: find results that are hard-coded.

Chance without a seed cannot be seen in code; the worker watches the generators themselves.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import parse_listing

FORMATTING_FUNCTIONS = {"print", "text", "number", "str", "repr", "format", "bool", "list", "tuple"}
"""Functions that show what they are given."""
RESULT = re.compile(r"\d|\bTrue\b|\bFalse\b")
HARDCODED_REASON = re.compile(r"#\s*typed:\s*\S")
CHECKED_NODES = ast.Call | ast.FormattedValue


def find_listing_faults(listing: Path) -> list[Failure]:
    """Find everything that a listing must not contain, with its lines."""
    tree, lines = parse_listing(listing)
    return [
        Failure(f"docs/listings/{listing.name}", node.lineno, message)
        for node in ast.walk(tree)
        if isinstance(node, CHECKED_NODES) and not HARDCODED_REASON.search(lines[node.lineno - 1])
        for message in _find_hardcoded_results(node)
    ]


def is_constant(expression: str) -> bool:
    """Whether an expression is its own result.

    Examples:
        >>> is_constant("2.8921"), is_constant("text([1.0, 2])"), is_constant("weights[0, 0]")
        (True, True, False)
        >>> [is_constant(f"{x} + 0.99") for x in ("0 * weights[0]", "x - x", "x - y")]
        [True, True, False]
    """
    return _computes_nothing(ast.parse(expression, mode="eval").body)


def _find_hardcoded_results(node: ast.AST) -> Iterator[str]:
    """A print of nothing but literals, or a literal within an f-string."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
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
    """Whether it is the same whatever its names stand for: it shows literals, or names cancel."""
    match node:
        case ast.Name():
            return node.id in FORMATTING_FUNCTIONS
        case ast.BinOp(left, ast.Pow(), right) if _is_zero(right):
            return True
        case ast.BinOp(left, ast.Div() | ast.FloorDiv(), right) if _equal(left, right):
            return True
    return _is_zero(node) or all(map(_computes_nothing, ast.iter_child_nodes(node)))


def _is_zero(node: ast.AST) -> bool:
    """Whether it can be seen to be zero: `0`, `0 * x`, `x - x`."""
    match node:
        case ast.Constant(value):
            return isinstance(value, int | float) and value == 0
        case ast.UnaryOp(ast.USub() | ast.UAdd(), inner):
            return _is_zero(inner)
        case ast.BinOp(left, ast.Mult(), right):
            return _is_zero(left) or _is_zero(right)
        case ast.BinOp(left, ast.Div() | ast.FloorDiv(), right):
            return _is_zero(left)
        case ast.BinOp(left, ast.Sub() | ast.Mod(), right):
            return _equal(left, right)
    return False


def _equal(one: ast.AST, other: ast.AST) -> bool:
    return ast.dump(one) == ast.dump(other)


def _holds_result(shown: ast.AST) -> bool:
    """Whether what is shown holds a digit or a truth value."""
    if isinstance(shown, ast.FormattedValue):
        return _holds_result(shown.value)  # and not the width in its format
    if isinstance(shown, ast.Constant):
        value = shown.value
        return bool(RESULT.search(value)) if isinstance(value, str) else value is not None
    return any(map(_holds_result, ast.iter_child_nodes(shown)))
