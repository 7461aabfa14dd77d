"""Minus signs and ∞ in what Python prints. Loads no NumPy: pages need this where nothing runs."""

from __future__ import annotations

import re

MINUS = re.compile(r"(?<![\w)\]])(?<!\w=)-(?=[\d.])(?!\d+e\d)")  # axis=-1 and 1e9 are code
INFINITE = re.compile(r"(?<!\w)(-?)inf(?!\w)")


def set_minus(text: str) -> str:
    """Text in which numbers have minus signs and not hyphens.

    Examples:
        >>> set_minus("D = -0.9"), set_minus("[-1, -.5]"), set_minus("axis=-1, -1e9")
        ('D = −0.9', '[−1, −.5]', 'axis=-1, -1e9')
    """
    return MINUS.sub("−", text)


def typeset_printed(text: str) -> str:
    """What Python prints, as a sentence has it: minus signs and ∞.

    Examples:
        >>> typeset_printed("[-0.5, 1.0]"), typeset_printed("-inf"), typeset_printed("information")
        ('[−0.5, 1.0]', '−∞', 'information')
    """
    return set_minus(INFINITE.sub(lambda found: "−" * len(found[1]) + "∞", text))
