"""Terms: the first use of a term or a symbol on a page links to its entry, and opens a card.

The entries are the table rows of `glossary` and `notation` in the page's language: the first cell
holds the term or the formula, the last one says what it means, the one before names the chapter
that defines it ("–": known before the first). In the glossary the second cell is the term in the
other language, the third holds what else it is called, by which the search finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement

from attention_docs.site.read.page import Page
from attention_docs.site.read.syntax import CHAPTER

TERMS, SYMBOLS = "terms", "symbols"
"""What a page may define: see `Page.defines`."""
ROLES = ("input", "key", "query", "value", "score", "weight", "output")
HAN = "\u4e00-\u9fff"
NAMES = re.compile(r"[,，、] *")
OTHER = re.compile(
    r"百分[数數]|[输輸]入一|\bplace values?\b|\bshares? (?:no|the)\b|\btype in\b.{0,20}\binputs\b"
)
"""What holds the word of a term, and means something else."""


@dataclass(frozen=True)
class Term:
    """A row of the glossary or of the notation.

    Attributes:
        term: the term, or the TeX of a symbol.
        meaning: its explanation as plain text.
        id: of the row.
        names: what else the term is called, in all languages of its row.
        chapter: the page that defines it, or "".
        other: its name in the other language, or "".
    """

    term: str
    meaning: str
    id: str
    names: tuple[str, ...] = ()
    chapter: str = ""
    other: str = ""


def read_entries(
    page: Page, id_column: int, numbered: Mapping[str, int] | None = None
) -> list[Term]:
    """The rows of all tables of a page; ids come from one column, the same in all languages.

    `numbered` holds the numbers of the chapters, which a meaning may name.
    """
    numbers = numbered or {}
    return [
        Term(
            cells[0].strip("$"),
            _strip_markup(CHAPTER.sub(lambda one: str(numbers.get(one["slug"])), cells[-1])),
            _make_id(cells[id_column]),
            names=_split_names(cells[1:3]) if len(cells) == 5 else (),
            chapter=cells[-2].strip("–") if len(cells) > 3 else "",
            other=cells[1].strip("–") if len(cells) == 5 else "",
        )
        for cells in page.rows()
    ]


def _split_names(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for cell in cells for name in NAMES.split(cell) if name.strip("–"))


def _strip_markup(markdown: str) -> str:
    """Text for a tooltip: no links, no code marks, no TeX."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    text = re.sub(r"\\(?:text|mathrm|operatorname)\{([^{}]*)\}|\\([a-zA-Z]+)", r"\1\2", text)
    return re.sub(r"[`$*{}\\]", "", text)


def _make_id(text: str) -> str:
    return "entry-" + re.sub(r"[^\w]+", "-", text).strip("-")


def name_rows(root: Element, found: Iterable[Term], numbered: Mapping[str, int]) -> None:
    """Give the rows of a table their ids, and make the names of chapters links with numbers."""
    rows = (row for body in root.iter("tbody") for row in body.iter("tr"))
    for row, entry in zip(rows, found, strict=False):
        row.set("id", entry.id)
        if len(row) == 5 and row[2].text == "–":
            row[2].text = None  # no other name: no line for it
        if entry.chapter in numbered:
            cell = row[-2]
            cell.text = None
            link = SubElement(cell, "a", {"href": f"{entry.chapter}.md"})
            link.text = str(numbered[entry.chapter])


@lru_cache(maxsize=8)
def _compile_terms(terms: tuple[str, ...]) -> re.Pattern[str]:
    """All terms, the longest first; a single Han character only where its English follows."""
    longest_first = sorted(terms, key=len, reverse=True)
    parts = []
    for han, alike in groupby(longest_first, lambda term: bool(re.search(f"[{HAN}]", term))):
        if han:
            parts += [
                rf"{term}(?=（[a-z])|\A{term}\Z" if len(term) == 1 else re.escape(term)
                for term in alike
            ]
        else:  # together: within a word none is tried
            either = "|".join(map(re.escape, alike))
            parts.append(rf"(?<![\w-])(?:{either})(?:e?s)?(?![\w-])")
    return re.compile("|".join(f"(?:{part})" for part in parts) or r"(?!)", re.I)


class Explainer:
    """Links the first use of every term and symbol of one page, and no later one.

    `glossary` and `notation` are the addresses of the two pages.
    """

    def __init__(
        self, terms: Sequence[Term], symbols: Sequence[Term], glossary: str, notation: str
    ) -> None:
        self.terms = {entry.term.lower(): entry for entry in terms}
        self.symbols = {entry.term: entry for entry in symbols}
        self.glossary, self.notation = glossary, notation
        self.pattern = _compile_terms(tuple(self.terms))
        self.used: set[str] = set()

    def explain_text(self, text: str) -> list[str | Element]:
        """The text, with a link in place of each term that comes for the first time."""
        pieces: list[str | Element] = []
        start = 0
        others = [other.span() for other in OTHER.finditer(text)]
        for match in self.pattern.finditer(text):
            if any(first <= match.start() < end for first, end in others):
                continue
            word = match[0].lower()
            names = (word, word.removesuffix("s"), word.removesuffix("es"))
            entry = next((self.terms[name] for name in names if name in self.terms), None)
            if entry and entry.id not in self.used:
                link = self._make_link(self.glossary, entry)
                link.text = match[0]
                pieces += [text[start : match.start()], link]
                start = match.end()
        return [*pieces, text[start:]]

    def link_symbol(self, tex: str) -> Element | None:
        """A link to put around a formula, if it is a symbol that comes for the first time."""
        entry = self.symbols.get(tex)
        if entry is None or entry.id in self.used:
            return None
        return self._make_link(self.notation, entry)

    def _make_link(self, page: str, entry: Term) -> Element:
        self.used.add(entry.id)
        href = f"{page}#{entry.id}"
        role = entry.id.removeprefix("entry-").removeprefix("attention-")
        kind = f"term of-{role}" if page == self.glossary and role in ROLES else "term"
        link = Element("a", {"class": kind, "href": href, "title": entry.meaning})
        if entry.other:
            link.set("data-other", entry.other)
        return link
