"""Numbers as text: rounding steps by torch and Python, layouts by hand."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch

from attention_docs import text as package
from attention_docs.text import check, find_rounding_step, number, text

DTYPES = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("name", DTYPES)
def test_the_step_of_a_dtype_is_that_of_torch(name: str) -> None:
    dtype = getattr(torch, name)
    assert find_rounding_step(torch.ones(2, dtype=dtype)) == torch.finfo(dtype).eps
    if name != "bfloat16":
        assert find_rounding_step(np.ones(2, name)) == torch.finfo(dtype).eps


@pytest.mark.parametrize("other", [1.5, 3, [0.5], np.ones(2, int), "x"])
def test_the_step_of_anything_else_is_that_of_python(other: Any) -> None:
    assert find_rounding_step(other) == sys.float_info.epsilon


def test_whoever_watches_sees_every_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its format and its step: a text that nobody watches could hold digits of chance."""
    seen: list[tuple[Any, str, float]] = []
    monkeypatch.setattr(package, "observers", [lambda *one: seen.append(one)])
    number(0.25, ".1f")
    text(np.array([[0.5], [2.0]], np.float16), ".2f")
    eps = torch.finfo(torch.float16).eps
    assert seen == [(0.25, ".1f", sys.float_info.epsilon), (0.5, ".2f", eps), (2.0, ".2f", eps)]


def test_whoever_watches_hears_every_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that fails then raises nothing: whoever watches decides."""
    heard: list[tuple[str, bool]] = []
    monkeypatch.setattr(package, "check_observers", [lambda *one: heard.append(one)])
    check("one is one", True)
    check("one is two", False)
    assert heard == [("one is one", True), ("one is two", False)]


LAYOUTS = [
    (1.25, ".1f", "1.2"),
    ([1.0], ".0f", "[1]"),
    ([1.0, -20.0, 3.0], ".0f", "[1, -20, 3]"),
    ([[7]], "d", "[[7]]"),
    ([[1, 20]], "d", "[[1, 20]]"),
    ([[1, 20], [-300, 4]], "d", "[[   1, 20],\n [-300,  4]]"),
    (
        [[[1, 2], [3, 4]], [[5, 66], [7, 8]]],
        "d",
        "[[[1,  2],\n  [3,  4]],\n\n [[5, 66],\n  [7,  8]]]",
    ),
    ([[[[1], [2]]], [[[3], [44]]]], "d", "[[[[ 1],\n   [ 2]]],\n\n [[[ 3],\n   [44]]]]"),
]


@pytest.mark.parametrize(("values", "spec", "wanted"), LAYOUTS)
def test_layout(values: Any, spec: str, wanted: str) -> None:
    """Columns are aligned through all matrices of a stack, and a blank line parts two of them."""
    assert text(values, spec) == wanted
    if spec != "d":
        assert text(np.array(values), spec) == text(torch.tensor(values), spec) == wanted


def test_rows_must_be_alike() -> None:
    with pytest.raises(ValueError, match="shorter"):
        text([[1, 2], [3]], "d")


@pytest.mark.parametrize(
    ("formatted", "wanted"),
    [("-0.00", "0.00"), ("-0%", "0%"), ("-0.0e-05", "0.0e-05"), ("-0.10", "-0.10"), ("0.0", "0.0")],
)
def test_zero_has_no_sign(formatted: str, wanted: str) -> None:
    assert package.unsigned_zero(formatted) == wanted
