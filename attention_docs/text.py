"""Numbers as text: the one place where this package rounds for a reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

observers: list[Callable[[Any, str, float], None]] = []
"""Called with every number, its spec and the rounding step of its dtype.

The site uses it to find digits that might not hold on another machine.
"""

check_observers: list[Callable[[str, bool], None]] = []
"""Called with every statement that is checked, and whether it holds."""

_STEPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23}


def find_rounding_step(array: Any) -> float:
    """The rounding step at 1 of an array's dtype; that of float64 for anything else."""
    return _STEPS.get(str(getattr(array, "dtype", "")).removeprefix("torch."), 2.0**-52)


def number(value: Any, spec: str) -> str:
    """One number in a format spec, such as ".4f" or ".4e", without a sign on zero.

    Examples:
        >>> number(2 / 3, ".4f"), number(-1e-9, ".2f"), number(6.0337e-06, ".2e")
        ('0.6667', '0.00', '6.03e-06')
    """
    return _number(value, spec, find_rounding_step(value))


def _number(value: Any, spec: str, rounding_step: float) -> str:
    for observe in observers:
        observe(value, spec, rounding_step)
    return unsigned_zero(format(value, spec))


def unsigned_zero(formatted: str) -> str:
    """The text of a number; "-0.00" becomes "0.00": its sign is noise of a rounding.

    Examples:
        >>> unsigned_zero("-0.00"), unsigned_zero("-0.01"), unsigned_zero("-0.0e+00")
        ('0.00', '-0.01', '0.0e+00')
    """
    is_zero = formatted.startswith("-") and not formatted.split("e")[0].strip("-0.%")
    return formatted[1:] if is_zero else formatted


def text(values: Any, spec: str) -> str:
    """A number, vector, matrix or stack of matrices as text, the columns aligned.

    Args:
        values: a number, an array, a tensor, or nested sequences of numbers.
        spec: the format of one number, such as ".4f".

    Examples:
        >>> print(text([[2, 4, 4], [4, 16, 12]], "d"))
        [[2,  4,  4],
         [4, 16, 12]]
        >>> text([0.5, 0.25], ".2f")
        '[0.50, 0.25]'
    """
    nested = values.tolist() if hasattr(values, "tolist") else values
    rounding_step = find_rounding_step(values)
    cells = _map_nested(nested, lambda value: _number(value, spec, rounding_step))
    if isinstance(cells, str):
        return cells
    widths = [max(len(cell) for cell in column) for column in zip(*_list_rows(cells), strict=True)]
    return _format_rows(cells, widths, indent=1)


def _map_nested(nested: Any, function: Callable[[Any], str]) -> Any:
    if isinstance(nested, list | tuple):
        return [_map_nested(one, function) for one in nested]
    return function(nested)


def _list_rows(cells: list[Any]) -> list[list[str]]:
    if isinstance(cells[0], str):
        return [cells]
    return [row for block in cells for row in _list_rows(block)]


def _format_rows(cells: list[Any], widths: list[int], indent: int) -> str:
    if isinstance(cells[0], str):
        padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        return f"[{', '.join(padded)}]"
    deeper = [_format_rows(block, widths, indent + 1) for block in cells]
    # A blank line between matrices, none between rows.
    gap = ",\n" + "\n" * (not isinstance(cells[0][0], str)) + " " * indent
    return f"[{gap.join(deeper)}]"


def check(statement: str, holds: Any) -> None:
    """Check a statement about what has been computed.

    On the site it stands behind the mark "checked" of the output; a check that fails stops the
    build. Elsewhere it raises.

    Args:
        statement: what is checked, in words: "the weights of each row add up to 1".
        holds: whether it is true, one truth value.

    Raises:
        AssertionError: it is not.
        ValueError: `holds` has more than one truth value.

    Examples:
        >>> check("one half and one half is 1", 0.5 + 0.5 == 1)
        >>> check("1 is 2", 1 == 2)
        Traceback (most recent call last):
        AssertionError: check failed: 1 is 2
    """
    truth = bool(holds)
    for observe in check_observers:
        observe(statement, truth)
    if not truth and not check_observers:
        raise AssertionError(f"check failed: {statement}")


@dataclass(frozen=True)
class TextFile:
    r"""A text for the reader to take along; the site publishes it as a file.

    Attributes:
        name: small letters, digits and hyphens, then .json, .csv or .txt.
        text: at most 300,000 bytes.

    Raises:
        ValueError: another name, or a longer text.

    Examples:
        >>> TextFile("squares.csv", "1,1\n2,4\n").name
        'squares.csv'
    """

    name: str
    text: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.(json|csv|txt)", self.name):
            raise ValueError(f"name must be like some-words.json, got {self.name!r}")
        size = len(self.text.encode())
        if size > 300_000:
            raise ValueError(f"text must be at most 300,000 bytes, got {size:,}")
