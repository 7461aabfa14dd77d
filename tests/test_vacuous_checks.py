"""A check of a listing that cannot fail is refused, and an honest one is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from attention_docs.running.block import BlockRunner
from attention_docs.running.result import Code
from attention_docs.site.run.vacuous_checks import refuse_vacuous_check
from tests.conftest import ROOT, report
from tests.page import parse_number

LISTING = """import numpy as np
import torch
from attention_docs.text import check

def agree(x, y):
    return np.abs(x - y).max() < 1e-12

a = np.arange(6.0).reshape(2, 3)
b, c, costs = a + 1e-14, a + 1, np.array([1.0, 2.0])
best, flags, numbers, t = 100 + costs.sum(), a >= 0, [1, 2], torch.ones(2)
gap = np.abs(a - b).max()
near = np.abs(a - b).min() < 1e-12
same = agree(a, b)
always = True
for one in (1,):
    check("it holds", {condition})
"""
HONEST = [
    *("gap < 1e-12", "1e-12 > gap", "np.abs(a - b).max() < 1e-12", "agree(a, b)", "same"),
    *("not agree(a, c)", "np.abs(a - c).max() > 0.5", "costs.max() < best", "flags.all()"),
    *("[1, 2] == numbers", "sorted(numbers) == numbers", "numbers[0] < numbers[1]"),
    *("all(agree(a, x) for x in (b, b))", "torch.allclose(t, torch.ones(2))"),
    *(
        "np.linalg.matrix_rank(c - a) == 1",
        "agree(a, b) and gap < 1e-12",
        "(a @ a.T).argmax() == 3",
    ),
]
VACUOUS = [
    *("True", "always", "gap == gap", "1e3 > gap", "gap < 1000", "not gap > 1e3", "gap >= 0"),
    *("round(gap, 2) == 0", "np.abs(a - b).min() < 1e-12", "near", "np.isclose(a, b).any()"),
    *("np.allclose(a, a)", "np.abs(a - a).max() < 1e-12", "np.allclose(a, b, atol=10)"),
    *("all(abs(x) < 1e3 for x in [gap])", "max(abs(x - x).max() for x in (a, b)) < 1e-12"),
    *("all(agree(x, x) for x in (a, b))", "[gap < 1e3][0]", "(lambda x: x < 1e3)(gap)"),
    *("agree(a, a)", "a.shape == a.shape", "len(a) > 0", "all([])", "np.abs(a - b).mean() < 1"),
]


@pytest.mark.parametrize("condition", HONEST + VACUOUS)
def test_a_check_must_be_able_to_fail(condition: str, tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    path.write_text(code := LISTING.format(condition=condition), encoding="utf-8")
    running = BlockRunner(["en"])
    running.check_observers.append(refuse_vacuous_check)
    error = running.run([Code(code, str(path), 1)]).error
    if condition in HONEST:
        assert not error
    else:
        assert error.startswith("AssertionError: the check 'it holds' cannot fail, it holds what")
        assert f'File "{path}", line 16' in error


def list_checks() -> Iterator[tuple[str, str, list[ast.expr]]]:
    """Where each check of a listing stands, what it says, and what it compares: its condition, and
    how sides of it that are names were last computed."""
    for path in sorted((ROOT / "docs" / "listings").glob("*.py")):
        made: dict[str, ast.expr] = {}
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        for node in sorted(nodes, key=lambda one: getattr(one, "lineno", 0)):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    made[name] = value
                case ast.Call(func=ast.Name(id="check"), args=[said, condition]):
                    is_compared = isinstance(condition, ast.Compare)
                    sides = [condition.left, *condition.comparators] if is_compared else [condition]
                    names = [side.id for side in sides if isinstance(side, ast.Name)]
                    compared = [condition, *(made[name] for name in names if name in made)]
                    yield f"{path.name}:{node.lineno}", ast.unparse(said), compared


def test_a_check_compares_what_it_says() -> None:
    """Within its bound, and entry by entry: errors of different signs cancel in a sum."""
    faults = []
    for place, said, compared in list_checks():
        parts = [part for one in compared for part in ast.walk(one)]
        bounds = {one.value for one in parts if isinstance(getattr(one, "value", None), float)}
        stated = re.search("10⁻[⁰¹²³⁴⁵⁶⁷⁸⁹]+", said)
        if stated and bounds and parse_number(stated[0]) not in bounds:
            faults.append(f"{place}: {said}: wanted the bound {stated[0]}, got {bounds}")
        adds = {one.attr for one in parts if isinstance(one, ast.Attribute)} & {"sum", "mean"}
        if adds and not re.search(r"sum|add|mean", said):
            faults.append(f"{place}: {said}: wanted every entry compared, got the {adds}")
        gaps = [(one.left, one.right) for one in parts if isinstance(one, ast.BinOp)]
        picked = [pair for pair in gaps if all("[" in ast.unparse(side) for side in pair)]
        if picked and re.search(r"\ball\b", said):
            got = " and ".join(map(ast.unparse, picked[0]))
            faults.append(f"{place}: {said}: wanted all of one side at least, got {got}")
    report(faults)
