"""Calls that are refused, as a table: `softmax.softmax(scores=ones(2, 0)) → what is said of it`.

A row that is too long goes on in indented lines; … stands for anything.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Refusal(NamedTuple):
    """A call, the name of its function and its arguments in brackets, and what is said of it."""

    call: str
    name: str
    given: str
    pattern: str


def read_refusals(table: str) -> list[Refusal]:
    rows = (" ".join(re.split(r"\n +", row)) for row in re.split(r"\n(?! )", table.strip("\n")))
    found = []
    for row in rows:
        call, _, message = row.partition(" → ")
        name, _, given = call.partition("(")
        found.append(Refusal(call, name, f"({given}", re.escape(message).replace("…", ".*")))
    return found
