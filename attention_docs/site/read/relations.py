"""What a result claims: at least or at most, grows or falls, in words that every language has.

Numbers and formulas do not see “at least” become “at most” in one language. The option `relation`
of a result says what it claims; its statement must say it in a formula or in words, and the words
of the languages must agree on bounds. [relations] in the words of each language says which words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from attention_docs.locales import read_locale_table
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.passage import Passage
from attention_docs.site.read.syntax import DISPLAY, INLINE, VALUE

SIGNS = {"≤": ("\\le", "≤"), "≥": ("\\ge", "≥")}
TRENDS = ("grows", "falls")
SHARED = ("≤", "≥", "iff")
"""Relations that both languages state in words, or neither does."""
NEGATED = {"also ≤": ("grows", "above"), "also ≥": ("falls", "below")}
"""What a negation makes of words: what does not grow, and what never exceeds, has a bound."""
NEGATIONS, SUBJECTS = "negations", "negated subjects"
"""What denies a verb right before it ("does not"), and what denies one as its subject ("no")."""
HELPERS = {"above", "below", NEGATIONS, SUBJECTS, *TRENDS}
BETWEEN = r"[^,.;:，。；：]{0,40}?"
"""What may stand between such a subject and its verb."""
Table = Mapping[str, Sequence[str]]


def find_stated_relations(text: str, table: Table) -> set[str]:
    """The relations that a text states in words.

    Examples:
        >>> table = {"≤": ["at most"], "≥": ["at least"], "not": ["no"]}
        >>> sorted(find_stated_relations("No weight, at most $a$; none knows.", table))
        ['not', '≤']
        >>> find_stated_relations("权重不大于 $a$。", {"≤": ["不大于"], "≥": ["不小于"]})
        {'≤'}
        >>> table = {"grows": ["grow", "grows"], "above": ["exceeds"], "below": ["falls below"]}
        >>> table |= {"negations": ["not", "never"], "negated subjects": ["no"]}
        >>> [find_stated_relations(text, table) for text in ("It does not grow.", "They grow.")]
        [{'also ≤'}, {'grows'}]
        >>> find_stated_relations("No weight exceeds 1.", table)
        {'also ≤'}
        >>> find_stated_relations("It never falls below 0.", table)
        {'also ≥'}
    """
    prose = INLINE.sub(" ", DISPLAY.sub(" ", VALUE.sub(" ", text)))
    found = {one for one in table.keys() - HELPERS if _has_phrase(prose, table[one])}
    moving = prose  # without what denies a move: "does not grow" is a bound
    for bound, names in NEGATED.items():
        if denied := _denied(table, [word for name in names for word in table.get(name, ())]):
            found |= {bound} if denied.search(prose) else set()
            moving = denied.sub(" ", moving)
    return found | {one for one in TRENDS if _has_phrase(moving, table.get(one, ()))}


def _denied(table: Table, words: Sequence[str]) -> re.Pattern[str] | None:
    """Any of the words behind a negation, or behind a subject such as "no weight"."""
    verbs, subjects = table.get(NEGATIONS, ()), table.get(SUBJECTS, ())
    before = [rf"(?:{_any(verbs)})\s*"] if verbs else []
    before += [rf"(?:{_any(subjects)})(?![A-Za-z]){BETWEEN}(?<![A-Za-z])"] if subjects else []
    if not before or not words:
        return None
    return re.compile(rf"(?<![A-Za-z])(?:{'|'.join(before)})(?:{_any(words)})(?![A-Za-z])", re.I)


def _has_phrase(prose: str, phrases: Sequence[str]) -> bool:
    return bool(phrases and _compile_phrases(phrases).search(prose))


def _compile_phrases(phrases: Sequence[str]) -> re.Pattern[str]:
    """Any of the phrases as whole words; the longest first."""
    return re.compile(rf"(?<![A-Za-z])(?:{_any(phrases)})(?![A-Za-z])", re.I)


def _any(phrases: Sequence[str]) -> str:
    """Any of the phrases, as a pattern; the longest first."""
    return "|".join(sorted(phrases, key=len, reverse=True))


def find_relation_faults(original: Page, page: Page) -> Iterator[Failure]:
    """Results that do not say what they claim, or say another thing than their original."""
    tables = [read_locale_table("relations", one.lang) for one in (original, page)]
    if not all(tables):
        return
    for theirs, ours in zip(original.passages, page.passages, strict=True):
        if ours.kind == "result":
            sets = [
                find_stated_relations(f"{one.title} {one.text}", known)
                for one, known in zip((theirs, ours), tables, strict=True)
            ]
            yield from _check_relation(original, theirs, sets[0], tables[0])
            yield from _check_relation(page, ours, sets[1], tables[1])
            for relation in SHARED:
                if _alone(relation, *sets) or _alone(relation, *reversed(sets)):
                    message = (
                        f"{ours.id} says {relation} in one language alone: one of "
                        f"{', '.join(tables[0][relation])} and one of "
                        f"{', '.join(tables[1][relation])}, or neither"
                    )
                    yield Failure(page.path, ours.line, message)


def _alone(relation: str, here: set[str], there: set[str]) -> bool:
    """Whether a relation is stated here and nothing like it there."""
    return relation in here and not {relation, f"also {relation}"} & there


def _check_relation(
    page: Page, result: Passage, found: set[str], table: Table
) -> Iterator[Failure]:
    """Whether a result says its own relation."""
    relation = dict(result.options).get("relation", "")
    signs = SIGNS.get(relation, ())
    phrases = [*table.get(relation, ()), *table.get(f"also {relation}", ())]
    phrases += [
        f"{table[NEGATIONS][0]} {table[name][0]}"
        for name in NEGATED.get(f"also {relation}", ())
        if table.get(NEGATIONS) and table.get(name)
    ]
    is_stated = {relation, f"also {relation}"} & found or any(sign in result.text for sign in signs)
    if relation in table and not is_stated:
        wanted = ", ".join([*signs, *phrases])
        message = f"{result.id} has the relation {relation}: wanted one of {wanted} in it"
        yield Failure(page.path, result.line, message)
