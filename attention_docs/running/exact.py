"""Write down a value as it is, not as it is printed: answers of readers are compared with it."""

from __future__ import annotations

import json
import math
from numbers import Rational, Real
from typing import Any

EXACT = "exact"
"""Stands where the format of an inline value does."""
DIGITS = 10  # of a float: those behind them are noise of the processor


def format_exact(value: Any) -> str:
    """A number, or numbers in lists, as JSON; "" for anything else.

    Examples:
        >>> from fractions import Fraction
        >>> format_exact(0.1 + 0.2), format_exact([1, Fraction(1, 3)]), format_exact("a")
        ('0.3', '[1, 0.3333333333]', '')
        >>> format_exact([0.25, 1e-17]), format_exact(float("inf"))
        ('[0.25, 0]', '')
    """
    nested = value.tolist() if hasattr(value, "tolist") else value
    flat = list(_flatten(nested))
    if not all(isinstance(one, Real) and math.isfinite(one) for one in flat):
        return ""
    least = max((abs(one) for one in flat), default=0) / 10**DIGITS
    return json.dumps(_map_nested(nested, least))


def _flatten(nested: Any) -> Any:
    if isinstance(nested, list | tuple):
        for one in nested:
            yield from _flatten(one)
    else:
        yield nested


def _map_nested(nested: Any, least: Real | float) -> Any:
    if isinstance(nested, list | tuple):
        return [_map_nested(one, least) for one in nested]
    if isinstance(nested, Rational) and nested.denominator == 1:
        return int(nested.numerator)
    rounded = float(f"{float(nested):.{DIGITS}g}") if abs(nested) > least else 0.0
    return int(rounded) if rounded.is_integer() else rounded
