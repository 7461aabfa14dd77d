"""Hover explanations: the first use of a term or a symbol on a page links to its entry.

The entries are the table rows of `glossary` and `notation` in the page's language: the first cell
holds the term or the formula, the last one says what it means.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

CELL = re.compile(r"(?<!\\)\|")
HAN = "\u4e00-\u9fff"
TOKEN = re.compile(r"<!--.*?-->|<(?P<close>/?)(?P<tag>[a-zA-Z][\w-]*)[^>]*>|[^<]+", re.S)
MATH, DISPLAY = '<span class="arithmatex">', '<div class="arithmatex">'
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
SKIPPED = {"a", "button", "code", "figure", "h1", "h2", "h3", "h4", "math", "pre", "script"}
SKIPPED |= {"summary", "svg", "table"}


@dataclass(frozen=True)
class Entry:
    """A row: the term or the TeX of a symbol, its explanation as plain text, the id of its row."""

    term: str
    meaning: str
    id: str


def read(path: Path, id_column: int) -> list[Entry]:
    """The rows of all tables of a page; ids come from one column, the same in both languages."""
    entries = []
    lines = path.read_text(encoding="utf-8").split("\n")
    for line, below in itertools.pairwise(lines):
        if not line.startswith("| ") or below.startswith("|--"):  # the second is a table's head
            continue
        cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
        entries.append(Entry(cells[0].strip("$"), _plain(cells[-1]), _slug(cells[id_column])))
    return entries


def _plain(markdown: str) -> str:
    """Text for a tooltip: no links, no code marks, no TeX."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    text = re.sub(r"\\(?:text|mathrm|operatorname)\{([^{}]*)\}|\\([a-zA-Z]+)", r"\1\2", text)
    return re.sub(r"[`$*{}\\]", "", text)


def _slug(text: str) -> str:
    """An id from a term or from TeX."""
    return "entry-" + re.sub(r"[^\w]+", "-", text).strip("-")


def name_rows(content: str, entries: Iterable[Entry]) -> str:
    """Give the rows of a glossary's tables their ids."""
    ids = (entry.id for entry in entries)
    rows = re.compile(r"<tr>(?=\s*<td)")
    return rows.sub(lambda row: f'<tr id="{next(ids)}">', content)


@lru_cache(maxsize=8)
def _pattern(terms: tuple[str, ...]) -> re.Pattern[str]:
    """All terms, the longest first; a single Han character only where its English follows."""
    parts = []
    for term in sorted(terms, key=len, reverse=True):
        if re.fullmatch(f"[{HAN}]", term):
            parts.append(rf"{term}(?=（[a-z])|\A{term}\Z")
        elif re.search(f"[{HAN}]", term):
            parts.append(re.escape(term))
        else:
            parts.append(rf"(?<![\w-]){re.escape(term)}(?:e?s)?(?![\w-])")
    return re.compile("|".join(f"(?:{part})" for part in parts) or r"(?!)", re.I)


def link(
    content: str, terms: list[Entry], symbols: list[Entry], target: Callable[[str], str]
) -> str:
    """Link the first use of every term and symbol in running text.

    `target("glossary")` and `target("notation")` are the addresses of the two pages. Formulas are
    still TeX here.
    """
    by_term = {entry.term.lower(): entry for entry in terms}
    by_symbol = {entry.term: entry for entry in symbols}
    pattern = _pattern(tuple(by_term))
    used: set[str] = set()

    def anchor(page: str, entry: Entry, text: str) -> str:
        used.add(entry.id)
        href = f"{target(page)}#{entry.id}"
        return f'<a class="term" href="{href}" title="{html.escape(entry.meaning)}">{text}</a>'

    def one(match: re.Match[str]) -> str:
        word = match[0].lower()
        names = (word, word.removesuffix("s"), word.removesuffix("es"))
        entry = next((by_term[name] for name in names if name in by_term), None)
        if entry is None or entry.id in used:
            return match[0]
        return anchor("glossary", entry, match[0])

    out: list[str] = []
    open_tags: list[str] = []
    skipping = 0  # how many of them are skipped
    for token in TOKEN.finditer(content):
        tag = (token["tag"] or "").lower()
        if tag and token["close"]:
            while open_tags:
                closed = open_tags.pop()
                skipping -= closed in SKIPPED
                if closed == tag:
                    break
        elif tag and tag not in VOID and not token[0].endswith("/>"):
            open_tags.append(tag)
            skipping += tag in SKIPPED
        elif not tag and not skipping and not token[0].startswith("<!--"):
            if out and out[-1] == MATH:
                entry = by_symbol.get(
                    html.unescape(token[0]).removeprefix(r"\(").removesuffix(r"\)")
                )
                if entry and entry.id not in used:
                    # Closed by the placeholder below: the link goes around the whole formula.
                    out[-1] = anchor("notation", entry, MATH + token[0] + "</span>")
                    out.append("\0")
                    continue
            elif not out or out[-1] != DISPLAY:
                out.append(pattern.sub(one, token[0]))
                continue
        if out and out[-1] == "\0":  # the end of a formula that is linked already
            out.pop()
            continue
        out.append(token[0])
    return "".join(out)
