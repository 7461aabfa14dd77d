"""How near an answer must be in a learning platform, which knows a number and a tolerance alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attention_docs.site.render.judged import Number

DIGITS = 3  # significant ones of a number that is not whole, as docs/assets/answers.js wants them


def find_slack(number: Number, others: Sequence[float] = (), largest: float = 0) -> float:
    """How far an answer may be away: as far as rounding to three digits leads, or to those printed.

    What is whole is wanted as it is. Beside a `largest` entry a smaller one may have a digit
    less. An answer that is as near to one of `others` is none.

    Examples:
        >>> find_slack(Number("2.7183", 2.718281828)), find_slack(Number("4", 4))
        (0.00505, 0.0)
        >>> find_slack(Number("0.05", 0.0507), [0.0509])
        0.0001
        >>> find_slack(Number("", 0.3125), largest=48)
        0.00505
    """
    exact = number.exact
    if float(exact).is_integer():
        return 0.0
    size = max(abs(exact), min(largest, 10 * abs(exact)))
    place = math.floor(math.log10(size)) + 1 - DIGITS
    slack = max(10.0**place / 2, _find_rounding(number))
    near = [abs(exact - one) / 2 for one in others if one != exact]
    return float(f"{min([1.01 * slack, *near]):.3g}")


def _find_rounding(number: Number) -> float:
    """How far a number is from what is printed; 0 where that is no plain number."""
    try:
        return float(abs(float(number.printed.replace(",", "")) - number.exact))
    except (ValueError, TypeError):
        return 0.0
