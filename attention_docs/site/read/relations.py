"""What a result claims: at least or at most, grows or falls, in words that every language has.

Numbers and formulas do not see “at least” become “at most” in one language. The option `relation`
of a result says what it claims; its statement must say it in a formula or in words, and the words
of the languages must agree on bounds. [relations] in the words of each language says which words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.passage import Passage
from attention_docs.site.read.syntax import DISPLAY, INLINE, VALUE
from attention_docs.words import table

SIGNS = {"≤": ("\\le", "≤"), "≥": ("\\ge", "≥")}
MOVES = ("grows", "falls")
SHARED = ("≤", "≥", "iff")
"""Relations that both languages state in words, or neither does."""
Table = Mapping[str, Sequence[str]]


def said(text: str, table: Table) -> set[str]:
    """The relations that a text states in words.

    Examples:
        >>> table = {"≤": ["at most"], "≥": ["at least"], "not": ["no"]}
        >>> sorted(said("No weight, at most $a$; none knows.", table))
        ['not', '≤']
        >>> said("权重不大于 $a$。", {"≤": ["不大于"], "≥": ["不小于"]})
        {'≤'}
        >>> table = {"also ≤": ["does not grow"], "grows": ["grow"]}
        >>> said("The norm does not grow.", table), said("The norms grow.", table)
        ({'also ≤'}, {'grows'})
    """
    prose = INLINE.sub(" ", DISPLAY.sub(" ", VALUE.sub(" ", text)))
    found = {
        relation for relation in table if relation not in MOVES and _has(prose, table[relation])
    }
    bounds = [
        one for bound in SIGNS for one in (*table.get(bound, ()), *table.get(f"also {bound}", ()))
    ]
    moving = _pattern(bounds).sub(" ", prose) if bounds else prose  # "does not grow" is a bound
    return found | {one for one in MOVES if _has(moving, table.get(one, ()))}


def _has(prose: str, phrases: Sequence[str]) -> bool:
    return bool(phrases and _pattern(phrases).search(prose))


def _pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Any of the phrases as whole words; the longest first."""
    longest = sorted(phrases, key=len, reverse=True)
    return re.compile(rf"(?<![A-Za-z])(?:{'|'.join(longest)})(?![A-Za-z])", re.I)


def faults(original: Page, page: Page) -> Iterator[Failure]:
    """Results that do not say what they claim, or say another thing than their original."""
    tables = [table("relations", one.lang) for one in (original, page)]
    if not all(tables):
        return
    for theirs, ours in zip(original.passages, page.passages, strict=True):
        if ours.kind == "result":
            sets = [
                said(f"{one.title} {one.text}", known)
                for one, known in zip((theirs, ours), tables, strict=True)
            ]
            yield from _of(original, theirs, sets[0], tables[0])
            yield from _of(page, ours, sets[1], tables[1])
            for relation in SHARED:
                if (relation in sets[0]) != (relation in sets[1]):
                    message = (
                        f"{ours.id} says {relation} in one language alone: one of "
                        f"{', '.join(tables[0][relation])} and one of "
                        f"{', '.join(tables[1][relation])}, or neither"
                    )
                    yield Failure(page.path, ours.line, message)


def _of(page: Page, result: Passage, found: set[str], table: Table) -> Iterator[Failure]:
    """Whether a result says its own relation."""
    relation = dict(result.options).get("relation", "")
    signs = SIGNS.get(relation, ())
    phrases = [*table.get(relation, ()), *table.get(f"also {relation}", ())]
    said_so = {relation, f"also {relation}"} & found or any(sign in result.text for sign in signs)
    if relation in table and not said_so:
        wanted = ", ".join([*signs, *phrases])
        message = f"{result.id} has the relation {relation}: wanted one of {wanted} in it"
        yield Failure(page.path, result.line, message)
