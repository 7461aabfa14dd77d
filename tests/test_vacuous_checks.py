"""A check of a listing that cannot fail is refused, and an honest one is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_docs.running.block import BlockRunner
from attention_docs.running.result import Code
from attention_docs.site.run.vacuous_checks import refuse_vacuous_check

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
