"""Compare a translation with its original.

The same in both: headings and their ids, blocks, display formulas, and in every passage the
numerals, the inline values and the inline formulas; words in formulas as `[formulas]` of the
language's words translates them. Whether it is up to date: see stamps.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from attention_docs.locales import read_locale_table
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.passage import Passage
from attention_docs.site.read.pieces import Reference, Request
from attention_docs.site.read.stamps import report_stale

SYMBOL = re.compile(
    r"(?:\\?[A-Za-z]+|\\text\{[^{}]*\})(?:[_^](?:\w|\{[^{}]*\}|\\\w+(?:\{[^{}]*\})?))*|\\sqrt\{[^{}]*\}"
)
SPOKEN = "words in formulas ([formulas] in the words of the language says which are alike)"


def compare_pages(original: Page, page: Page) -> list[Failure]:
    """Everything in which a translation differs from its original."""
    heads = [[(p.level, p.id, p.kind, p.options) for p in one.passages] for one in (original, page)]
    if heads[0] != heads[1]:
        number = next(
            (n for n, (a, b) in enumerate(zip(*heads, strict=False)) if a != b),
            min(map(len, heads)),
        )
        wanted, got = (_describe_heads(one.passages[number:]) for one in (original, page))
        line = page.passages[min(number, len(page.passages) - 1)].line
        message = f"heading or box: wanted {wanted}, got {got}"
        return [Failure(page.path, line, message + _describe_missing_sections(original, page))]
    faults = _compare_blocks(original, page) + _compare_parts(original, page)
    translations = read_locale_table("formulas", page.lang)
    for their, our in zip(original.passages, page.passages, strict=True):
        faults += _compare_passages(original.path, page.path, their, our, translations)
    return faults + report_stale(original, page)


def _describe_missing_sections(original: Page, page: Page) -> str:
    """All sections that a translation lacks, and what to do about them; "" if it has all."""
    there = {one.id for one in page.passages}
    missing = [f"#{one.id}" for one in original.passages if one.level and one.id not in there]
    if not missing:
        return ""
    return (
        f"; missing sections: {', '.join(missing)}: a page has all sections; "
        "copy the English text of those that are not translated"
    )


def _describe_heads(passages: list[Passage]) -> str:
    if not passages:
        return "none"
    options = ", ".join(f"{name}: {value}" for name, value in passages[0].options)
    return f"#{passages[0].id}" + (f" ({passages[0].kind}, {options})" if options else "")


def find_headings_without_id(page: Page) -> list[Failure]:
    """Headings without an id: it is an address, the same in every language."""
    return [
        Failure(page.path, passage.line, "this heading has no { #id }")
        for passage in page.passages
        if passage.level and not passage.id
    ]


def _compare_blocks(original: Page, page: Page) -> list[Failure]:
    def placed(one: Page) -> list[tuple[str, str, str, list[str]]]:
        return [
            (
                one.find_section(block.line),
                block.id,
                block.source,
                [f"{s.listing.name}:{s.name}" for s in block.sections],
            )
            for block in one.blocks
        ]

    wanted, got = placed(original), placed(page)
    for number, (a, b) in enumerate(zip(wanted, got, strict=False)):
        if a != b:
            there = f"{original.path}:{original.blocks[number].line}"
            message = f'block: wanted "{a[1]}" in #{a[0]} as in {there}, got "{b[1]}" in #{b[0]}'
            return [Failure(page.path, page.blocks[number].line, message)]
    if len(wanted) != len(got):
        longer, other = (original, page) if len(wanted) > len(got) else (page, original)
        block = longer.blocks[min(len(wanted), len(got))]
        return [Failure(longer.path, block.line, f'block "{block.id}" is not in {other.path}')]
    return []


def _compare_parts(original: Page, page: Page) -> list[Failure]:
    """Generated parts must be the same in the same places."""

    def placed(one: Page) -> list[tuple[str, str]]:
        return [
            (one.find_section(piece.line), one.lines[piece.line - 1].strip())
            for piece in one.pieces
            if isinstance(piece, Request | Reference)
        ]

    wanted, got = placed(original), placed(page)
    if wanted == got:
        return []
    return [Failure(page.path, 1, f"parts: wanted {wanted} as in {original.path}, got {got}")]


def _compare_passages(
    original: str, path: str, their: Passage, our: Passage, translations: Mapping[str, str]
) -> list[Failure]:
    faults = []
    place = f"as in {original}:{their.line}"
    theirs, ours = their.find_displays(), our.find_displays()
    if theirs != ours:
        a, b = next(
            (pair for pair in zip(theirs, ours, strict=False) if pair[0] != pair[1]),
            (f"{len(theirs)} formulas", f"{len(ours)} formulas"),
        )
        faults.append(Failure(path, our.line, f"formula in #{our.id}: wanted {a} {place}, got {b}"))
    for what, wanted, got in (
        ("inline values", their.count_values(), our.count_values()),
        ("numbers", *_count_numerals(their, our)),
        (SPOKEN, their.count_formula_words(translations), our.count_formula_words({})),
        ("names in reasons", their.count_names_in_reasons(), our.count_names_in_reasons()),
    ):
        if wanted != got:
            missing, extra = sorted((wanted - got).elements()), sorted((got - wanted).elements())
            message = f"{what} in #{our.id}: missing {missing}, too many {extra} ({place})"
            faults.append(Failure(path, our.line, message))
    return faults + _compare_inline_formulas(path, their, our, translations, place)


def _count_numerals(their: Passage, our: Passage) -> tuple[Counter[str], Counter[str]]:
    """The numerals of both; those that the original spells may be digits in the translation."""
    wanted, got = their.count_numerals(), our.count_numerals()
    return wanted + ((got - wanted) & their.count_spelled_numerals()), got


def _compare_inline_formulas(
    path: str, their: Passage, our: Passage, translations: Mapping[str, str], place: str
) -> list[Failure]:
    """Inline formulas, side by side: a bare symbol that the other page has may be repeated."""
    wanted, got = their.find_formulas(translations), our.find_formulas({})
    theirs, ours = (
        " ".join([*found, *passage.find_displays()])
        for found, passage in ((wanted, their), (got, our))
    )
    missing = [one for one in wanted if one not in got and not _is_repeated_symbol(one, ours)]
    extra = [one for one in got if one not in wanted and not _is_repeated_symbol(one, theirs)]
    if not missing and not extra:
        return []
    message = f"inline formulas in #{our.id}: missing {missing}, too many {extra} ({place})"
    return [Failure(path, our.line, message)]


def _is_repeated_symbol(formula: str, others: str) -> bool:
    """Whether a formula is no more than a symbol that the other language has, too.

    Examples:
        >>> pairs = ("d_k", "q_id_k"), ("W_Q", "XW_K"), ("h/g", "h/g+1")
        >>> [_is_repeated_symbol(formula, others) for formula, others in pairs]
        [True, False, False]
    """
    return bool(SYMBOL.fullmatch(formula)) and formula in others
