"""Which names a block of a live page takes, and what must therefore run or may wait."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Protocol

from attention_docs.running.names import find_names
from attention_docs.site.run.dependencies import find_block_uses
from attention_docs.site.run.interactive import replace_questions

DYNAMIC_NAMES = {"exec", "eval", "globals", "locals", "vars", "dir", "__import__", "sys", "listing"}
"""Code that uses one of these may read names that its syntax does not show."""


class Block(Protocol):
    """What is asked of a block as the site publishes it."""

    @property
    def id(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def slow(self) -> bool: ...


def find_needed_names(
    codes: Sequence[str], values: Sequence[Sequence[tuple[int, str, str]]]
) -> list[set[str] | None]:
    """For each block the names that it and all that follow it take; None where that is not sure."""
    found: list[set[str] | None] = []
    after: set[str] | None = set()
    for code, shown in zip(reversed(codes), reversed(values), strict=True):
        used, bound = _find_names(code)
        for _, expression, _ in shown:
            used = used | _find_names(expression)[0] - bound
        unsure = (
            used & DYNAMIC_NAMES or "global" in code or "import *" in code or "nonlocal" in code
        )
        after = None if after is None or unsure else used | after - bound
        found.append(after)
    return found[::-1]


def find_waiting(blocks: Sequence[Block], codes: Sequence[str], asked: set[str]) -> set[int]:
    """Slow blocks and what uses them, except where a reader's edits or wishes need them.

    `codes` are the blocks as the reader has them, `asked` the ids of those that are to run.
    """
    if not any(block.slow for block in blocks):
        return set()
    uses = find_block_uses([*codes])
    wanted, waiting = set[int](), set[int]()
    for number, (block, code) in reversed([*enumerate(zip(blocks, codes, strict=True))]):
        is_edited = code != replace_questions(block.code)
        if is_edited and _find_names(code)[0] & DYNAMIC_NAMES:
            return set()
        if is_edited or block.id in asked or number in wanted:
            wanted |= {number} | uses[number]
    for number, block in enumerate(blocks):
        if number not in wanted and (block.slow or uses[number] & waiting):
            waiting.add(number)
    return waiting


_find_names = lru_cache(maxsize=512)(partial(find_names, sure=True))
