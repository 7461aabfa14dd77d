"""Find which statements of a page use what an earlier one has set: they change with it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from attention_docs.running.names import NameReader

Statement = tuple[int, int, list[int]]
"""Its first and last line, counted from 1, and the numbers of the statements that it uses."""

CHANGING = re.compile(
    r"\b(\w+)(?:(?:\[[^=\n]*\])+ *[-+*/@]?=(?!=)|\.(?:append|extend|update|sort|pop)\()"
)
"""Where code changes what it has not set itself: `x[0] = 1`, `rows.append(…)`."""


def find_uses(codes: Sequence[str]) -> list[list[Statement]]:
    r"""For each piece of code its statements, which are numbered through all pieces from 0.

    A function uses what its names stand for when it is called.

    Examples:
        >>> find_uses(["x = 1\ndef f(): return x + y", "y = 2\nz = f()", "z[0] = 3", "x = z"])
        [[(1, 1, []), (2, 2, [0])], [(1, 1, []), (2, 2, [1, 2])], [(1, 1, [3])], [(1, 1, [3, 4])]]
    """
    found: list[list[Statement]] = []
    setters: dict[str, set[int]] = {}  # of each name, the statements that it comes from
    callers: dict[str, set[str]] = defaultdict(set)  # of each name, the functions that use it
    number = 0
    for code in codes:
        found.append([])
        for first, last, function, used, bound, surely_bound in _read_statements(code):
            source = {one for name in used for one in setters.get(name, ())}
            found[-1].append((first, last, sorted(source)))
            for name in bound:
                before = set() if name in surely_bound else setters.get(name, set())
                setters[name] = before | {number}
                for caller in callers[name] - bound:
                    setters[caller] = setters[caller] | {number}
            if function:
                for name in used:
                    callers[name].add(function)
            number += 1
    return found


def find_block_uses(codes: Sequence[str]) -> list[set[int]]:
    r"""For each piece of code the numbers of the pieces before it that it uses.

    Examples:
        >>> find_block_uses(["x = 1", "y = 2", "z = x\nz = z + x", "z + y"])
        [set(), set(), {0}, {1, 2}]
    """
    found = find_uses(codes)
    homes = [number for number, statements in enumerate(found) for _ in statements]
    return [
        {homes[one] for _, _, uses in statements for one in uses} - {number}
        for number, statements in enumerate(found)
    ]


@lru_cache(maxsize=512)
def _read_statements(code: str) -> list[tuple[int, int, str, set[str], set[str], set[str]]]:
    """Of each statement its lines, the name of the function that it is or "", and its names."""
    try:
        nodes = ast.parse(code).body
    except SyntaxError:  # reported where the code runs
        return []
    return [
        (
            node.lineno,
            node.end_lineno or node.lineno,
            node.name if isinstance(node, ast.FunctionDef) else "",
            *_read(node, code),
        )
        for node in nodes
    ]


def _read(node: ast.stmt, code: str) -> tuple[set[str], set[str], set[str]]:
    """The names that a statement uses, those that it may set or change, and those that it sets."""
    sure, unsure = NameReader(sure=True), NameReader()
    sure.visit(node)
    unsure.visit(node)
    changed = set(CHANGING.findall(ast.get_source_segment(code, node) or ""))
    # To draw from a generator changes it.
    changed |= {name for name in sure.used if name.startswith("rng")}
    changed = set() if isinstance(node, ast.FunctionDef) else changed & sure.used
    return sure.used, unsure.bound | changed, sure.bound
