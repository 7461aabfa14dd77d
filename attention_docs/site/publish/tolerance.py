"""How near an answer must be in a learning platform, which knows a number and a tolerance alone."""

from __future__ import annotations

import math

from attention_docs.site.render.judged import Ask, Number

DIGITS = 3  # significant ones of a number that is not whole, as docs/assets/answers.js wants them


def find_slack(number: Number, largest: float = 0) -> float:
    """How far an answer may be away: as far as rounding to three digits leads, or to those printed.

    What is whole is wanted as it is. Beside a `largest` entry a smaller one may have a digit
    less.

    Examples:
        >>> find_slack(Number("2.7183", 2.718281828)), find_slack(Number("4", 4))
        (0.00505, 0.0)
        >>> find_slack(Number("", 0.3125), largest=48)
        0.00505
    """
    exact = number.exact
    if float(exact).is_integer():
        return 0.0
    size = max(abs(exact), min(largest, 10 * abs(exact)))
    place = math.floor(math.log10(size)) + 1 - DIGITS
    slack = max(10.0**place / 2, _find_rounding(number))
    return float(f"{1.01 * slack:.3g}")


def list_distinct(ask: Ask) -> list[Number]:
    """The mistakes that no right answer is as near to: rounding tells them from what is wanted.

    Examples:
        >>> traps = [Number("5.4167", 5.41672), Number("10.8315", 10.83149)]
        >>> [one.printed for one in list_distinct(Ask("", "", "", Number("", 5.41574), traps))]
        ['10.8315']
    """
    if ask.wanted is None or isinstance(ask.wanted.exact, list):
        return [*ask.traps]
    exact, slack = ask.wanted.exact, find_slack(ask.wanted)
    return [one for one in ask.traps if abs(one.exact - exact) > slack]


def _find_rounding(number: Number) -> float:
    """How far a number is from what is printed; 0 where that is no plain number."""
    try:
        return float(abs(float(number.printed.replace(",", "")) - number.exact))
    except (ValueError, TypeError):
        return 0.0
