"""Refuse a check that cannot fail: each operand of its condition is moved, which must break it.

`np.abs(a - b).min() < eps` holds although one entry of `a` is wrong, `1e3 > gap` holds for any gap
that could come out, and `a == a` whatever `a` is.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import lru_cache
from numbers import Number, Rational
from pathlib import Path
from types import CodeType, FrameType, GeneratorType
from typing import Any

import numpy as np

STEP = 1e-3
"""How far a number or an entry is moved, or a 100,000th of it where that is more."""
THROUGH = {"abs", "all", "any", "bool", "float", "int", "len", "max", "min", "round", "sum"}
"""Functions that are no operands, but what they are given is."""
Names = dict[str, Any]
Assigned = tuple[int, ast.expr | None]
"""The column of an assignment, and what is assigned where one name is."""


def refuse_vacuous_check(statement: str, holds: bool) -> None:
    """AssertionError for a check that holds however an operand is moved; it observes `check`."""
    frame = sys._getframe(2)  # of the listing that has called `check`
    condition = _find_condition(frame)
    if not holds or condition is None:
        return
    split = _Split(frame, condition.lineno)
    skeleton = ast.fix_missing_locations(ast.Expression(split.visit(deepcopy(condition))))
    differs = any(isinstance(n, ast.Not | ast.NotEq | ast.Gt) for n in ast.walk(skeleton))
    code, operands = compile(skeleton, "<check>", "eval"), split.operands
    stuck = [
        text
        for text, (name, value) in operands.items()
        if not any(
            _fails(code, split.names | {name: moved})
            for moved in [*_move_within(text, split.names)]
            or _move(value, [v for n, v in operands.values() if n != name], differs)
        )
    ]
    if stuck or not operands:
        what = f"{' and '.join(stuck)} may be" if stuck else "was computed"
        raise AssertionError(
            f"the check {statement!r} cannot fail, it holds whatever {what}: compare every entry "
            f"of what was computed, with a bound below {STEP}"
        )


@lru_cache
def _parse(path: str) -> tuple[dict[tuple[int, int], ast.expr], dict[str, dict[int, Assigned]]]:
    """The conditions of a listing by the places of their checks, and its names by line."""
    conditions: dict[tuple[int, int], ast.expr] = {}
    assigned: dict[str, dict[int, Assigned]] = {}
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="check"), args=[_, condition]):
                conditions[node.lineno, node.col_offset] = condition
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                assigned.setdefault(name, {})[node.lineno] = (node.col_offset, value)
            case ast.Name(id=name, ctx=ast.Store(), lineno=line):  # of a loop, for example
                assigned.setdefault(name, {}).setdefault(line, (0, None))
    return conditions, assigned


def _find_condition(frame: FrameType) -> ast.expr | None:
    code = frame.f_code
    if not Path(code.co_filename).is_file():  # a test's own code
        return None
    line, _, column, _ = list(code.co_positions())[frame.f_lasti // 2]
    return _parse(code.co_filename)[0].get((line or 0, column or 0))


class _Split(ast.NodeTransformer):
    """Puts names in the place of the operands of a condition.

    Attributes:
        operands: by their source, the name that stands for each, and its value.
        names: those with which the condition can be evaluated.
    """

    def __init__(self, frame: FrameType, line: int) -> None:
        self.names: Names = {**frame.f_globals, **frame.f_locals}
        self.assigned = _parse(frame.f_code.co_filename)[1]
        self.line = line
        self.operands: dict[str, tuple[str, Any]] = {}

    def visit(self, node: ast.AST) -> Any:
        """What stands in the place of a part of the condition."""
        match node:
            case ast.Constant() | ast.keyword():
                return node
            case ast.Call(func=ast.Attribute()) if "int" in _name_kind(self._evaluate(node)):
                return self._replace(node)  # such as argmax, which a small move need not change
            case ast.Call(func=ast.Attribute() as function, args=given):
                function.value, node.args = self.visit(function.value), [*map(self.visit, given)]
                return node
            case ast.Call(func=ast.Name(id=name), args=given) if name in THROUGH or isinstance(
                self._evaluate(node), bool | np.bool_
            ):
                node.args = [*map(self.visit, given)]
                return node
            case ast.Name(id=name) if definition := self._find_definition(name):
                before, self.line = self.line, definition[0]
                found = self.visit(deepcopy(definition[1]))
                self.line = before
                return found
            case ast.BinOp(op=ast.MatMult()):  # one operand: a factor may meet zeros
                return self._replace(node)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.BinOp():
                return self.generic_visit(node)
            case ast.expr():
                return self._replace(node)
        return node

    def _find_definition(self, name: str) -> tuple[int, ast.expr] | None:
        """Where a truth value or a number was last assigned, unless that gives something else."""
        lines = [line for line in self.assigned.get(name, ()) if line < self.line]
        column, value = self.assigned[name][max(lines)] if lines else (0, None)
        if column or value is None or np.ndim(self.names[name]):
            return None
        with contextlib.suppress(Exception):
            if self._evaluate(value) == self.names[name]:
                return max(lines), value
        return None

    def _replace(self, node: ast.expr) -> ast.expr:
        """A name for an operand; functions, modules and what else cannot be moved stay."""
        text = ast.unparse(node)
        if text not in self.operands:
            value = self._evaluate(node)
            value = list(value) if isinstance(value, GeneratorType) else value
            if not any(True for _ in _move(value)):
                return node
            name = f"operand {len(self.operands)}"
            self.operands[text], self.names[name] = (name, value), value
        return ast.Name(self.operands[text][0], ast.Load())

    def _evaluate(self, node: ast.expr) -> Any:
        expression = ast.fix_missing_locations(ast.Expression(deepcopy(node)))
        return eval(compile(expression, "<check>", "eval"), self.names)


def _name_kind(value: Any) -> str:
    """The dtype of an array, or else the type of a value."""
    return str(getattr(value, "dtype", type(value).__name__))


def _fails(code: CodeType, names: Names) -> bool:
    with contextlib.suppress(Exception):
        return not eval(code, names)
    return False


def _move_within(text: str, names: Names) -> Iterator[Any]:
    """What an operand comes to that compares, or loops, if a name in it is moved."""
    tree = ast.parse(text, mode="eval")
    if any(
        isinstance(node, ast.Compare | ast.comprehension | ast.Lambda) for node in ast.walk(tree)
    ):
        code = compile(tree, "<check>", "eval")
        found = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        bound = {node.id for node in found if isinstance(node.ctx, ast.Store)}
        for name in ({node.id for node in found} - bound) & {*names}:
            for moved in _move(names[name]):
                with contextlib.suppress(Exception):
                    value = eval(code, names | {name: moved})
                    yield list(value) if isinstance(value, GeneratorType) else value


def _move(value: Any, others: Iterable[Any] = (), differs: bool = False) -> Iterator[Any]:
    """Values beside that of an operand, and those of other operands in its place."""
    match value:
        case str():
            yield value + "?"
        case bool() | np.bool_():
            yield not value
        case Number():
            step = 1 if isinstance(value, Rational) else STEP * max(1, abs(value) / 100)  # type: ignore[arg-type]
            yield from (value + step, value - step, *[0 * value][:differs])  # type: ignore[operator]
            for one in others:
                if isinstance(one, Number):
                    yield one
                elif hasattr(one, "shape"):
                    yield from (one.min(), one.max())
        case list() | tuple():
            yield from [value[1:]][: len(value)]
            for place in {0, len(value) - 1} if value else ():
                make = getattr(value, "_make", type(value))  # of a named tuple
                for moved in _move(value[place]):
                    yield make([*value[:place], moved, *value[place + 1 :]])
        case _ if isinstance(getattr(value, "shape", 0), tuple) and 0 not in value.shape:
            if differs:
                yield from (one for one in others if np.shape(one) == value.shape)
            entries = value.reshape(-1)
            numbers = [one for one in others if isinstance(one, Number)]
            for place in (0, -1):
                for moved in (*_move(entries.tolist()[place]), *numbers):
                    copied = entries.clone() if hasattr(entries, "clone") else entries.copy()
                    copied[place] = moved
                    yield copied.reshape(value.shape)
