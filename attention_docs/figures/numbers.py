"""Tensors as lists of numbers, and numbers as the text that a figure shows."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

from attention_docs.text import find_rounding_step, number, text

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Coarse(float):
    """A float from an array of fewer bits: its text is checked for digits that might not hold."""

    dtype: str


def as_lists(values: Any) -> Any:
    """Arrays and tensors as nested lists of plain numbers."""
    if hasattr(values, "tolist"):
        nested = values.tolist()
        return (
            _mark_coarse(nested, str(values.dtype))
            if find_rounding_step(values) > find_rounding_step(None)
            else nested
        )
    return [as_lists(one) for one in values] if isinstance(values, list | tuple) else values


def _mark_coarse(nested: Any, dtype: str) -> Any:
    if isinstance(nested, list):
        return [_mark_coarse(one, dtype) for one in nested]
    value = Coarse(nested)
    value.dtype = dtype
    return value


def check_finite(what: str, values: Any) -> list[float]:
    """A list of finite floats, or ValueError."""
    nested = as_lists(values)
    if not isinstance(nested, list) or not nested or isinstance(nested[0], list):
        raise ValueError(f"{what} must have one axis and a number, got {nested!r}")
    numbers = [value if isinstance(value, float) else float(value) for value in nested]
    bad = [number for number in numbers if not isfinite(number)]
    if bad:
        raise ValueError(f"{what} must be finite, got {bad[0]}")
    return numbers


def format_value(value: Any, spec: str) -> str:
    """A number in a cell; "d" also takes floats that hold an integer, "e" gives a power of ten.

    Examples:
        >>> format_value(2.0, "d"), format_value(-2 / 3, ".2f"), format_value(float("-inf"), ".2f")
        ('2', '−0.67', '−∞')
        >>> format_value(6.0337e-6, ".2e"), format_value(Fraction(-1, 6), "d")
        ('6.03 × 10⁻⁶', '−1/6')
    """
    if isinstance(value, Fraction):
        return typeset(str(value))
    if isinstance(value, float) and spec.endswith("d"):
        if not value.is_integer():
            raise ValueError(f"spec {spec!r} must have integers, got {value!r}")
        value = int(value)
    return typeset(number(value, spec))


def format_vector(values: Any, spec: str) -> str:
    """Numbers in brackets, each as it is shown in a cell.

    Examples:
        >>> format_vector([2, -1.5, float("-inf"), float("nan")], ".1f")
        '[2.0, −1.5, −∞, NaN]'
    """
    return re.sub(r"-?\w[\w.,]*\b(?:[+-]\d+)?", lambda found: typeset(found[0]), text(values, spec))


def typeset(formatted: str) -> str:
    """A number as a reader expects it: a minus sign, and a power of ten in place of e-notation.

    Examples:
        >>> typeset("6.30e-06"), typeset("-1e+15"), typeset("-0.25"), typeset("-inf")
        ('6.30 × 10⁻⁶', '−10¹⁵', '−0.25', '−∞')
    """
    sign = "−" * formatted.startswith("-")
    plain = formatted.removeprefix("-")
    digits, _, exponent = plain.partition("e")
    if not exponent:
        return sign + {"inf": "∞", "nan": "NaN"}.get(plain, plain)
    power = "10" + str(int(exponent)).translate(SUPERSCRIPTS)
    return sign + (power if digits == "1" else f"{digits} × {power}")


def parse_number(formatted: str) -> float:
    """The number of a text without a power of ten.

    Examples:
        >>> parse_number("−0.25"), parse_number("−∞")
        (-0.25, -inf)
    """
    return float(formatted.replace("−", "-").replace("∞", "inf"))


def format_fixed(value: float, decimals: int) -> str:
    """A number with a fixed count of decimals, or as a power of ten where it needs more.

    Examples:
        >>> format_fixed(0.063379, 4), format_fixed(6.0337e-6, 4), format_fixed(0.0, 4)
        ('0.0634', '6.03 × 10⁻⁶', '0.0000')
    """
    small = 0 < abs(value) < 10.0 ** (1 - decimals)
    return format_value(value, ".2e" if small else f".{decimals}f")


def format_chart_value(value: float, spec: str) -> str:
    """A number in a chart: "g" without an e, integers without a point.

    Examples:
        >>> [format_chart_value(value, ".3g") for value in (64.0, 1022.7, -0.0033)]
        ['64', '1020', '−0.0033']
        >>> format_chart_value(6.0337e-6, ".3g"), format_chart_value(1e-5, "g")
        ('6.03 × 10⁻⁶', '10⁻⁵')
    """
    if value == int(value) and abs(value) < 1e6 and spec.endswith("g"):
        return format_value(value, "d")
    if not spec.endswith("g"):
        return format_value(value, spec)
    return typeset_short(number(value, spec))


def typeset_short(formatted: str) -> str:
    """A number as a reader expects it; a power of ten only where zeros would have to be counted.

    Examples:
        >>> typeset_short("-9e-01"), typeset_short("5.32e-05"), typeset_short("1.02e+03")
        ('−0.9', '5.32 × 10⁻⁵', '1020')
    """
    exponent = formatted.partition("e")[2]
    if exponent and -4 <= int(exponent) <= 5:
        return typeset(format(Decimal(formatted), "f"))
    return typeset(formatted)
