"""Nothing is used before it is defined: the chapters in reading order, beside the two tables.

A passage may look ahead to a term if a sentence says so: it names a later chapter by its number, or
says "ahead" (“后面”). A link leads to where a word is defined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from attention_docs.site.read.page import Page
from attention_docs.site.read.syntax import CHAPTER, CODE_SPAN, DISPLAY, INLINE, VALUE
from attention_docs.site.render.terms import Term
from tests.conftest import LANGUAGES, each_language, read_project, report

LATER = "\N{BLACK RIGHT-POINTING DOUBLE TRIANGLE}"  # what the number of a later chapter becomes
AHEAD = {"en": re.compile(rf"\bahead\b|{LATER}"), "zh": re.compile(f"后面|{LATER}")}
HAN = "\u4e00-\u9fff"
LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")
# A full stop within a number or a name ends no sentence; a cell of a table is one.
SENTENCE = re.compile(r"(?:[^.?!。？！|\n]++|[.?!](?=\w))+")
WORDS = re.compile(r"\\text\w*\{([^{}]*)\}")
# In a formula: what is no symbol, and what is one, with its bar and its index.
NOTHING = re.compile(rf"\\\\\[[^\]]*\]|\\(?:begin|end|tag)\{{[^{{}}]*\}}|(?<!_){WORDS.pattern}")
INDEX = r"_(?:\\text\{[^{}]*\}|\{[^{}]*\}|\w)"
NAME = r"d[AKMOQSVWX]|\\(?:operatorname|mathrm|mathbf)\{[^{}]*\}|\\[a-zA-Z]+|[a-zA-Z]"
SYMBOL = re.compile(rf"(?:\\(?:bar|hat|tilde)\s*)?(?:{NAME})(?:{INDEX})?")
RUNNING = re.compile(r"_\{?[ij]+\}?$")
LETTER = re.compile(
    r"[A-Za-z]|\\(?:[a-z]*eta|alpha|gamma|delta|varepsilon|lambda|mu|pi|sigma|tau|Delta|Pi)"
)
# What a reader knows before the first chapter.
KNOWN = {"dimension", "dot-product", "linear-combination", "matrix-product", "mean", "transpose"}
# A Chinese character is also a part of other words; these are the words that it is not.
CHARACTER = {
    "加性": "加性(?!掩码)",
    "值": "(?<![数均取最大小])(?<!绝对)(?<!特征)值(?!得)",
    "头": "(?<![开从回到里两源外尽手])头(?!来)",
    "熵": "(?<!交叉)熵",
    "秩": "秩(?!序)",
    "种子": "种子(?!层)",
    "键": "(?<!关)键(?!盘)",
}


@cache
def pattern(term: str) -> re.Pattern[str]:
    """A term in running text, in the plural too."""
    if re.search(f"[{HAN}]", term):
        return re.compile(CHARACTER.get(term, re.escape(term.partition("（")[0])))
    for end, plural in (("matrix", "matri(?:x|ces)"), ("y", "(?:ys?|ies)"), ("", "(?:e?s)?")):
        if term.endswith(end):
            stem = re.escape(term.removesuffix(end))
            return re.compile(rf"(?<![\w-]){stem}{plural}(?![\w-])", re.I)
    raise AssertionError(term)


def words_of(page: Page, text: str) -> str:
    """A text without code and values, in which the number of a later chapter is marked."""
    numbered = read_project().numbered
    here = numbered.get(page.slug, 0)

    def mark(found: re.Match[str]) -> str:
        return LATER if numbered[found["slug"]] > here else " "

    return VALUE.sub(" ", CHAPTER.sub(mark, CODE_SPAN.sub(" ", text)))


def passages(page: Page) -> Iterator[tuple[str, str]]:
    """Title and text of what stands under each heading and in each box, without code."""
    for passage in page.passages:
        if passage.id != "sources":
            yield passage.title, words_of(page, passage.text)


def sentences(title: str, text: str) -> list[str]:
    """The sentences of a passage in its words, those beside formulas too."""
    formulas = DISPLAY.findall(text) + INLINE.findall(DISPLAY.sub(" ", text))
    beside = [words for tex in formulas for words in WORDS.findall(tex)]
    prose = INLINE.sub(" ", DISPLAY.sub("\n", text))
    found = [title, *beside, *SENTENCE.findall(prose)]
    return [sentence.replace("*", "").strip() for sentence in found]


def used(page: Page, terms: list[Term]) -> list[tuple[str, str]]:
    """The terms that a page uses, each with its sentence.

    A passage that looks ahead to a term in one sentence may use it in the others.
    """
    found = []
    for passage in passages(page):
        described = [
            (LINK.sub(" ", words), bool(AHEAD[page.lang].search(words)))
            for words in sentences(*passage)
        ]
        every, later = (
            " ".join(words for words, ahead in described if ahead >= at) for at in (0, 1)
        )
        for one in terms:
            if pattern(one.term).search(every) and not pattern(one.term).search(later):
                found += [
                    (one.term, words) for words, _ in described if pattern(one.term).search(words)
                ]
    return found


def symbols(page: Page, main: bool = False) -> set[str]:
    """The symbols in the formulas of a page, or of its main line, but those that look ahead."""
    found = set()
    for passage in page.passages:
        if passage.id == "sources" or (main and passage.kind not in ("", "result")):
            continue
        text = words_of(page, passage.text)
        formulas = DISPLAY.findall(text)
        for sentence in SENTENCE.findall(DISPLAY.sub("\n", text)):
            if not AHEAD[page.lang].search(sentence):
                formulas += INLINE.findall(sentence)
        found |= {symbol for tex in formulas for symbol in SYMBOL.findall(NOTHING.sub(" ", tex))}
    return found


def row(symbol: str, rows: set[str]) -> str:
    """The row that a symbol has in the notation, or itself.

    >>> [row(one, {"d_k", "k_j", "s_{ij}", "dM"}) for one in ("d_k", "k_1", "s_{im}", "dQ", "R")]
    ['d_k', 'k_j', 's_{ij}', 'dM', 'R']
    """
    if symbol in rows:
        return symbol
    if re.fullmatch("d[A-Z]", symbol):
        return "dM"
    return next((one for one in rows if RUNNING.search(one) and like(one) == like(symbol)), symbol)


@cache
def like(symbol: str) -> str:
    """A symbol with its running index replaced: the same for one and for another element."""
    return re.sub(r"_\{?([a-z0-9]+)\}?$", lambda index: f"_{len(index[1])}", symbol)


@cache
def notation(lang: str) -> dict[str, int]:
    """The chapter of each symbol in the notation."""
    found = {}
    for one in read_project().entries[lang]["symbols"]:
        found[SYMBOL.findall(one.term)[0]] = read_project().numbered[one.chapter]
    return found


@cache
def rows_used(lang: str, slug: str, main: bool = False) -> set[str]:
    rows = set(notation(lang))
    return {row(symbol, rows) for symbol in symbols(read_project().pages[lang][slug], main)}


OVERVIEW = "next-word"  # names every part of the machine, with the chapter that explains it


@each_language
def test_no_term_is_used_before_the_chapter_that_defines_it(lang: str) -> None:
    numbered, early = read_project().numbered, []
    for slug, number in numbered.items():
        if slug == OVERVIEW:
            continue
        rows = read_project().entries[lang]["terms"]
        later = [one for one in rows if numbered.get(one.chapter, 0) > number]
        early += [
            f"docs/{lang}/{slug}.md: “{term}” stands before the chapter that its row in the "
            f"glossary names; use another word, or say that it comes later "
            f"(by its chapter's number, or {AHEAD[lang].pattern}): {words}"
            for term, words in used(read_project().pages[lang][slug], later)
        ]
    report(early)


@each_language
def test_a_term_stands_in_the_chapter_that_its_row_names(lang: str) -> None:
    missing = []
    for one in read_project().entries[lang]["terms"]:
        if one.chapter:
            text = read_project().pages[lang][one.chapter].text.replace("*", "")
            if not any(pattern(name).search(text) for name in (one.term, *one.names)):
                missing.append(
                    f"docs/{lang}/{one.chapter}.md: “{one.term}” does not stand here, where its "
                    "row in the glossary sends readers: use it in a sentence, or let the row name "
                    "another chapter"
                )
    report(missing)


@each_language
def test_no_symbol_is_used_before_the_chapter_that_its_row_names(lang: str) -> None:
    rows, early = notation(lang), []
    for slug, number in read_project().numbered.items():
        early += [
            f"docs/{lang}/{slug}.md: ${one}$ stands before chapter {rows[one]}, which its row in "
            "the notation names: let the row name this chapter, or use another symbol"
            for one in rows_used(lang, slug)
            if rows.get(one, 0) > number
        ]
    report(early)


@each_language
def test_a_symbol_stands_in_the_chapter_that_its_row_names(lang: str) -> None:
    missing = []
    for slug, number in read_project().numbered.items():
        named = {symbol for symbol, chapter in notation(lang).items() if chapter == number}
        missing += [
            f"docs/{lang}/{slug}.md: ${one}$ does not stand here, where its row in the notation "
            "sends readers: let the row name another chapter"
            for one in sorted(named - rows_used(lang, slug))
        ]
    report(missing)


@each_language
def test_every_letter_of_a_main_line_is_declared(lang: str) -> None:
    rows, missing = notation(lang), []
    for slug in read_project().numbered:
        letters = {one for one in rows_used(lang, slug, main=True) if LETTER.fullmatch(one)}
        missing += [
            f"docs/{lang}/{slug}.md: ${one}$ has no row in the notation: add one to "
            "docs/<language>/notation.md"
            for one in sorted(letters - set(rows))
        ]
    report(missing)


@pytest.mark.parametrize("kind", ["terms", "symbols"])
def test_the_languages_name_the_same_chapters(kind: str) -> None:
    entries = read_project().entries
    chapters = [{one.id: one.chapter for one in entries[lang][kind]} for lang in LANGUAGES]
    assert all(one == chapters[0] for one in chapters)
    unknown = {
        name for name, chapter in chapters[0].items() if chapter not in read_project().numbered
    }
    assert unknown == ({f"entry-{name}" for name in KNOWN} if kind == "terms" else set())
