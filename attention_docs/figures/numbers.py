"""Tensors as lists of numbers, and numbers as the text that a figure shows."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import Any

from attention_docs.text import number, step

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Coarse(float):
    """A float from an array of fewer bits: its text is checked for digits that might not hold."""

    dtype: str


def as_lists(values: Any) -> Any:
    """Arrays and tensors as nested lists of plain numbers."""
    if hasattr(values, "tolist"):
        nested = values.tolist()
        return _coarse(nested, str(values.dtype)) if step(values) > step(None) else nested
    return [as_lists(one) for one in values] if isinstance(values, list | tuple) else values


def _coarse(nested: Any, dtype: str) -> Any:
    if isinstance(nested, list):
        return [_coarse(one, dtype) for one in nested]
    value = Coarse(nested)
    value.dtype = dtype
    return value


def finite(what: str, values: Any) -> list[float]:
    """A list of finite floats, or ValueError."""
    nested = as_lists(values)
    if not isinstance(nested, list) or not nested or isinstance(nested[0], list):
        raise ValueError(f"{what} must have one axis and a number, got {nested!r}")
    numbers = [value if isinstance(value, float) else float(value) for value in nested]
    bad = [number for number in numbers if not isfinite(number)]
    if bad:
        raise ValueError(f"{what} must be finite, got {bad[0]}")
    return numbers


def shown(value: Any, spec: str) -> str:
    """A number in a cell; "d" also takes floats that hold an integer, "e" gives a power of ten.

    Examples:
        >>> shown(2.0, "d"), shown(2 / 3, ".2f"), shown(float("-inf"), ".2f")
        ('2', '0.67', '−∞')
        >>> shown(6.0337e-6, ".2e")
        '6.03 × 10⁻⁶'
    """
    if isinstance(value, float) and spec.endswith("d"):
        if not value.is_integer():
            raise ValueError(f"spec {spec!r} must have integers, got {value!r}")
        value = int(value)
    formatted = number(value, spec)
    return {"inf": "∞", "-inf": "−∞", "nan": "NaN"}.get(formatted) or scientific(formatted)


def scientific(number: str) -> str:
    """A number as text with a power of ten in place of e-notation.

    Examples:
        >>> scientific("6.30e-06"), scientific("1e+15"), scientific("0.25")
        ('6.30 × 10⁻⁶', '10¹⁵', '0.25')
    """
    digits, _, exponent = number.partition("e")
    if not exponent:
        return number
    power = str(int(exponent)).translate(SUPERSCRIPTS)
    return f"10{power}" if digits == "1" else f"{digits} × 10{power}"


def fixed(value: float, decimals: int) -> str:
    """A number with a fixed count of decimals, or as a power of ten where it needs more.

    Examples:
        >>> fixed(0.063379, 4), fixed(6.0337e-6, 4), fixed(0.0, 4)
        ('0.0634', '6.03 × 10⁻⁶', '0.0000')
    """
    small = 0 < abs(value) < 10.0 ** (1 - decimals)
    return shown(value, ".2e" if small else f".{decimals}f")


def charted(value: float, spec: str) -> str:
    """A number in a chart: "g" without an e, integers without a point.

    Examples:
        >>> charted(64.0, ".3g"), charted(1022.7, ".3g"), charted(0.0033, ".3g")
        ('64', '1020', '0.0033')
        >>> charted(6.0337e-6, ".3g"), charted(1e-5, "g")
        ('6.03 × 10⁻⁶', '10⁻⁵')
    """
    if value == int(value) and abs(value) < 1e6 and spec.endswith("g"):
        return shown(value, "d")
    if not spec.endswith("g"):
        return shown(value, spec)
    formatted = number(value, spec)
    exponent = formatted.partition("e")[2]
    if exponent and -4 <= int(exponent) <= 5:
        return format(Decimal(formatted), "f")
    return scientific(formatted)
