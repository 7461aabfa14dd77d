"""Every small fault that `mutants.py` puts into the modules that compute."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "attention_docs"
COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
COMPARED |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In}
COMPARED |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is}
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMPUTED |= {ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult}
COMPUTED |= {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Add}


@dataclass(frozen=True)
class Mutant:
    """One fault: the module with it, where it is, what stands there, and what stood there.

    Attributes:
        module: its path in the package.
        place: the function that holds it.
        turn: which of several equal ones in that function, counted from 1.
        text: the module without it.
        node: the number of the node that changes, in the order of `_find_nodes`.
        way: which of its changes.
    """

    module: str
    place: str
    line: int
    before: str
    after: str
    turn: int
    text: str
    node: int
    way: int

    @property
    def name(self) -> str:
        """What a reviewer reads; it does not move with the lines."""
        again = f" #{self.turn}" if self.turn > 1 else ""
        return f"{self.module} {self.place}: {self.before} → {self.after}{again}"

    @property
    def source(self) -> str:
        """The whole module with the fault."""
        tree = ast.parse(self.text)
        node, _ = next(islice(_find_nodes(tree), self.node, None))
        _change_node(node, self.way)
        return ast.unparse(ast.fix_missing_locations(tree))


def list_modules() -> list[str]:
    """The modules that compute, by their paths in the package."""
    found = [*PACKAGE.glob("*.py"), *PACKAGE.glob("nn/*.py")]
    return sorted(
        path.relative_to(PACKAGE).as_posix()
        for path in found
        if path.stem not in ("__init__", "verify")
    )


def make_mutants(module: str, text: str | None = None) -> Iterator[Mutant]:
    """Every fault of a module, in the order of its lines."""
    text = (PACKAGE / module).read_text("utf-8") if text is None else text
    seen: Counter[tuple[str, str, str]] = Counter()
    for number, (node, place) in enumerate(_find_nodes(ast.parse(text))):
        for way in range(_count_ways(node)):
            twin = copy.deepcopy(node)
            _change_node(twin, way)
            before, after = _describe(node), _describe(twin)
            if before != after:
                seen[place, before, after] += 1
                turn = seen[place, before, after]
                yield Mutant(module, place, node.lineno, before, after, turn, text, number, way)


def _find_nodes(tree: ast.AST, place: str = "") -> Iterator[tuple[Any, str]]:
    """The nodes that run, with the function that they are in: no annotations, no docstrings."""
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns"):
            continue
        for node in field if isinstance(field, list) else [field]:
            if isinstance(node, ast.AST):
                named = isinstance(node, ast.FunctionDef | ast.ClassDef)
                inner = f"{place}.{node.name}".lstrip(".") if named else place
                yield node, place or "module"
                yield from _find_nodes(node, inner)


def _count_ways(node: ast.AST) -> int:
    """In how many ways a node can be changed."""
    match node:
        case ast.Compare():
            return len(node.ops)
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            return int(type(op) in COMPUTED)
        case ast.BoolOp() | ast.IfExp() | ast.If() | ast.While() | ast.Expr(value=ast.Call()):
            return 1
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            return 1
        case ast.Constant(value=bool() | int() | float()):
            return 1
    return 0


def _change_node(node: Any, way: int) -> None:
    match node:
        case ast.Compare():
            node.ops[way] = COMPARED[type(node.ops[way])]()
        case ast.BinOp() | ast.AugAssign():
            node.op = COMPUTED[type(node.op)]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.IfExp():
            node.body, node.orelse = node.orelse, node.body
        case ast.UnaryOp(op=ast.USub()):
            node.op = ast.UAdd()
        case ast.UnaryOp() as negated:
            negated.operand = ast.UnaryOp(ast.Not(), negated.operand)
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant():
            node.value = node.value + 1
        case ast.If() | ast.While():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Expr():
            node.value = ast.Constant(None)


def _describe(node: Any) -> str:
    """A node in words; of a statement that holds others, its head."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
    return ast.unparse(node)
