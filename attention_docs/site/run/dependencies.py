"""Find which statements of a page use what an earlier one has set: they change with it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from attention_docs.running.names import NameReader

Statement = tuple[int, int, list[int]]
"""Its first and last line, counted from 1, and the numbers of the statements that it uses."""
Generator = tuple[int, str]
"""The number of the statement that made it, and its name there."""

CHANGING = re.compile(
    r"\b(\w+)(?:(?:\[[^=\n]*\])+ *[-+*/@]?=(?!=)|\.(?:append|extend|update|sort|pop)\()"
)
"""Where code changes what it has not set itself: `x[0] = 1`, `rows.append(…)`."""
GENERATORS = {"default_rng", "Generator", "RandomState", "Random"}
"""What makes a generator of random numbers; to draw from one changes it."""
SEEDING = {"manual_seed"}
"""Its methods that return the generator itself."""


class _Names(NamedTuple):
    """What a statement does with names."""

    first: int
    last: int
    function: str  # the name of the function that it is, or ""
    imports: bool  # modules
    used: set[str]
    bound: set[str]  # set or changed, or perhaps so
    surely_bound: set[str]
    generators: set[str]  # set to a new generator of random numbers
    aliases: dict[str, set[str]]  # set to what other names stand for


def find_uses(codes: Sequence[str]) -> list[list[Statement]]:
    r"""For each piece of code its statements, which are numbered through all pieces from 0.

    A function uses what its names stand for when it is called. Who draws from a generator of random
    numbers changes it, whatever it is called there.

    Examples:
        >>> find_uses(["x = 1\ndef f(): return x + y", "y = 2\nz = f()", "z[0] = 3", "x = z"])
        [[(1, 1, []), (2, 2, [0])], [(1, 1, []), (2, 2, [1, 2])], [(1, 1, [3])], [(1, 1, [3, 4])]]
        >>> find_uses(["g = default_rng(0)", "h = g", "x = g.random()", "y = h.random()"])
        [[(1, 1, [])], [(1, 1, [0])], [(1, 1, [0, 1])], [(1, 1, [1, 2])]]
        >>> find_uses(["import numpy as np", "x = np.sort([1])", "np.ones(2)"])  # np stays
        [[(1, 1, [])], [(1, 1, [0])], [(1, 1, [0])]]
    """
    found: list[list[Statement]] = []
    setters: dict[str, set[int]] = {}  # of each name, the statements that it comes from
    callers: dict[str, set[str]] = defaultdict(set)  # of each name, the functions that use it
    held: dict[str, set[Generator]] = {}  # of each name, the generators that it reaches
    modules: set[str] = set()  # names of modules, which nothing changes
    number = 0
    for code in codes:
        found.append([])
        for one in _read_statements(code):
            source = {setter for name in one.used for setter in setters.get(name, ())}
            found[-1].append((one.first, one.last, sorted(source)))
            reached = {generator for name in one.used for generator in held.get(name, ())}
            drawn = {name for name, own in held.items() if own & reached and not one.function}
            bound = (one.bound | drawn) - (modules - one.surely_bound)
            modules = modules | one.bound if one.imports else modules - one.surely_bound
            for name in bound:
                before = set() if name in one.surely_bound else setters.get(name, set())
                setters[name] = before | {number}
                for caller in callers[name] - bound:
                    setters[caller] = setters[caller] | {number}
            aliases = {
                name: {generator for other in others for generator in held.get(other, ())}
                for name, others in one.aliases.items()
            }
            held = {name: own for name, own in held.items() if name not in one.surely_bound}
            held |= aliases | {name: {(number, name)} for name in one.generators}
            if one.function:
                held[one.function] = reached
                for name in one.used:
                    callers[name].add(one.function)
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


def find_all_uses(uses: Sequence[set[int]], last: Iterable[int]) -> set[int]:
    """The numbers of all pieces that some of them need, directly or not, without their own.

    Examples:
        >>> find_all_uses([set(), {0}, set(), {1}, {3}], [3, 4])
        {0, 1}
    """
    asked = {*last}
    needed, waiting = set[int](), [*asked]
    while waiting:
        new = uses[waiting.pop()] - needed - asked
        needed |= new
        waiting += new
    return needed


@lru_cache(maxsize=512)
def _read_statements(code: str) -> list[_Names]:
    try:
        nodes = ast.parse(code).body
    except SyntaxError:  # reported where the code runs
        return []
    return [_read(node, code) for node in nodes]


def _read(node: ast.stmt, code: str) -> _Names:
    """The names that a statement uses, those that it may set or change, and those that it sets."""
    sure, unsure = NameReader(sure=True), NameReader()
    sure.visit(node)
    unsure.visit(node)
    lines = node.lineno, node.end_lineno or node.lineno
    if isinstance(node, ast.FunctionDef):
        return _Names(*lines, node.name, False, sure.used, unsure.bound, sure.bound, set(), {})
    changed = set(CHANGING.findall(ast.get_source_segment(code, node) or "")) & sure.used
    values = dict(_list_values(node))
    return _Names(
        *lines,
        "",
        isinstance(node, ast.Import),
        sure.used,
        unsure.bound | changed,
        sure.bound,
        {name for name, value in values.items() if any(map(_is_generator, _list_parts(value)))},
        {
            name: {part.id for part in _list_parts(value) if isinstance(part, ast.Name)}
            for name, value in values.items()
        },
    )


def _list_values(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement and those within it set, each with its value."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                else:
                    pairs = [(target, node.value)]
                yield from ((one.id, value) for one, value in pairs if isinstance(one, ast.Name))


def _list_parts(value: ast.expr) -> list[ast.expr]:
    """A value, or the values that a list, a tuple or a table of them holds."""
    match value:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return [part for one in parts for part in _list_parts(one)]
        case ast.Dict(values=parts):
            return [part for one in parts for part in _list_parts(one)]
        case ast.ListComp(elt=part) | ast.DictComp(value=part) | ast.Subscript(value=part):
            return _list_parts(part)
    return [value]


def _is_generator(value: ast.expr) -> bool:
    """Whether an expression makes a generator of random numbers."""
    if not isinstance(value, ast.Call):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    if name in SEEDING and isinstance(value.func, ast.Attribute):
        return _is_generator(value.func.value)
    return (name or getattr(value.func, "id", "")) in GENERATORS
