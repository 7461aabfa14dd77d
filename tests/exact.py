"""Exact arithmetic, which printed digits are compared with. Nothing of it is the package's.

Whole numbers and fractions stay exact; exponentials and roots have 40 digits. A matrix is a list of
rows, as it is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

mpmath.mp.dps = 40

Vector = Sequence[Any]
Matrix = Sequence[Vector]

# Typed from Karim's article. That the keys, queries, values and scores follow from the inputs and
# the parameters is worked out in tests/test_eight_steps.py.
X = [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]
W_KEY = [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]]
W_QUERY = [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]]
W_VALUE = [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]]
KEYS = [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
QUERIES = [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
VALUES = [[1, 2, 3], [2, 8, 0], [2, 6, 3]]
SCORES = [[2, 4, 4], [4, 16, 12], [4, 12, 10]]

# --- vectors and matrices ------------------------------------------------------------------------


def dot(a: Vector, b: Vector) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))


def norm(vector: Vector) -> Any:
    return mpmath.sqrt(dot(vector, vector))


def transpose(a: Matrix) -> list[list[Any]]:
    return [list(column) for column in zip(*a, strict=True)]


def product(a: Matrix, b: Matrix) -> list[list[Any]]:
    columns = transpose(b)
    return [[dot(row, column) for column in columns] for row in a]


def add(a: Matrix, b: Matrix) -> list[list[Any]]:
    return [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]


def rank(matrix: Matrix) -> int:
    """By elimination in fractions."""
    rows = [[Fraction(x) for x in row] for row in matrix]
    found = 0
    for column in range(len(rows[0])):
        pivot = next((row for row in rows[found:] if row[column]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows.insert(found, pivot)
        found += 1
        rows[found:] = [
            [x - row[column] / pivot[column] * p for x, p in zip(row, pivot, strict=True)]
            for row in rows[found:]
        ]
    return found


# --- attention -----------------------------------------------------------------------------------


def softmax(scores: Vector, divisor: Any = 1, keep: Vector | None = None) -> list[Any]:
    """By the definition, over what is kept alone; where nothing is, the weights are 0."""
    powers = [
        mpmath.exp(mpmath.mpmathify(score) / divisor) if is_kept else mpmath.mpf(0)
        for score, is_kept in zip(scores, [1] * len(scores) if keep is None else keep, strict=True)
    ]
    total = mpmath.fsum(powers) or mpmath.mpf(1)
    return [power / total for power in powers]


def attention_weights(
    queries: Matrix, keys: Matrix, divisor: Any = 1, keep: Matrix | None = None
) -> list[list[Any]]:
    """A row for each query."""
    scores = product(queries, transpose(keys))
    kept = [None] * len(scores) if keep is None else keep
    return [softmax(row, divisor, one) for row, one in zip(scores, kept, strict=True)]


def jacobian(weights: Vector) -> list[list[Any]]:
    """Of softmax, by the two cases i = j and i ≠ j."""
    return [
        [a * (1 - a) if i == j else -a * b for j, b in enumerate(weights)]
        for i, a in enumerate(weights)
    ]


# --- what is printed -----------------------------------------------------------------------------


def assert_printed(got: Any, wanted: Any, decimals: int = 4) -> None:
    """Every printed digit is the exact number's own."""
    got, wanted = np.array(got, dtype=float), np.array(wanted, dtype=float)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=0, atol=0.5001 * 10.0**-decimals)


def assert_printed_e(got: Any, wanted: Any, decimals: int = 2) -> None:
    """The same for numbers such as 4.77e-07."""
    got, wanted = np.array(got, dtype=float), np.array(wanted, dtype=float)
    assert got.shape == wanted.shape
    unit = 10.0 ** (np.floor(np.log10(wanted)) - decimals)
    assert (np.abs(got - wanted) <= 0.5001 * unit).all()


def parse_plus_minus(text: str) -> list[tuple[float, float]]:
    """Every `value ± error` in a text."""
    number = r"(-?\d+(?:\.\d+)?)"
    found = re.findall(rf"{number} ± {number}", text.replace("−", "-"))
    return [(float(a), float(b)) for a, b in found]


def agrees_within_error(interval: tuple[float, float], truth: Any, widths: float = 2.5) -> bool:
    """The truth is no further off than 2.5 half widths, about 5 standard errors."""
    estimate, error = interval
    return bool(abs(estimate - truth) <= widths * error)


def make_test_of_asked(asked: Mapping[str, list[Any]]) -> Callable[[Any, str], None]:
    """A test of what the exercises of a chapter ask, which are their last inline values: of each
    exercise what is wanted and the mistakes that it knows. Each digit is the exact number's own."""

    @pytest.mark.parametrize("exercise", asked)
    def test(chapter: Any, exercise: str) -> None:
        wanted = asked[exercise]
        for text, numbers in zip(chapter.values(exercise)[-len(wanted) :], wanted, strict=True):
            plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.replace("−", "-"))
            found = re.findall(r"-?\d+(?:\.\d+)?(?:/\d+)?", plain)
            decimals = max(len(one.partition(".")[2]) for one in found)
            got = [float(Fraction(one)) for one in found]
            assert_printed(got, np.ravel(numbers).astype(float), decimals or 6)

    return test
