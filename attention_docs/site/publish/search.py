"""The search index of each language: titles and running text, as docs/assets/search.js reads them.

An entry is a section, or a row of the glossary or of the notation, under its own address.

The theme would put all languages into one file, with every formula three times and every printed
tensor, and would have Chinese cut into words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lxml.html import HtmlElement, fragment_fromstring

BLOCKS = {"article", "dd", "dt", "figcaption", "li", "p", "summary", "tr"}
BOXES = {"deeper", "fold", "result", "exercise"}
FORMULAS = {"math", "span"}  # in a sentence, in one piece or in several
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
SKIPPED_TAGS = {"button", "form", "pre", "script", "style", "svg"}
SKIPPED_CLASSES = {
    "checks",
    "code",
    "coq",
    "coq-switch",
    "doc-labels",
    "drawing",
    "headerlink",
    "machine",
    "next",
    "origin",
    "premise",
    "proof-steps",
    "result-links",
    "stars",
    "write-here",
}
BEHIND = {"in-short", "short", "sources"}  # sections that repeat what others explain
CALLED = re.compile(r"(?<=\.)[A-Za-z]\w{2,}|[A-Za-z]\w{2,}(?=\()|[A-Za-z]\w*_\w+")
"""What code calls or names in several words: by that people look for code."""
CELLS = {"td", "th"}
APART = {"kind", "title"}  # parts of the head of a box
ROOT = re.compile(r"\\sqrt\{([^{}]*)\}")
FONT = re.compile(r"\\(?:text|mathrm|operatorname|mathbf|hat|bar)\b|\\[,;!:]|[{}$]")
COMMAND = re.compile(r"\\([a-zA-Z]+) ?")
BEFORE_CLOSING = re.compile(r" (?=[)\]/,|]|$)")
SIGNS = {"approx": "≈", "cdot": "·", "ge": "≥", "infty": "∞", "le": "≤", "mu": "μ", "ne": "≠"}
SIGNS |= {"sigma": "σ", "sum": "Σ", "times": "×", "top": "ᵀ"}

SearchEntry = dict[str, Any]


@dataclass
class Names:
    """What a thing is called, in all languages, and the page that defines it."""

    names: list[str]
    page: str


@dataclass(frozen=True)
class Vocabulary:
    """What the search of a language knows beside its pages.

    Attributes:
        names: known in all languages.
        forms: characters that count as one: the same in two scripts.
        asked: what people ask a section for, by its address.
        near: rows of words that are not the same and may mean it.
        empty: words of a question that say nothing of its subject.
    """

    names: Sequence[Names]
    forms: Sequence[str] = ()
    asked: Mapping[str, str] = field(default_factory=dict)
    near: Sequence[Sequence[str]] = ()
    empty: Sequence[str] = ()


class _Sections:
    """Cuts a page at its headings; every paragraph, list item or row is a line of text."""

    def __init__(self, url: str, is_chapter: bool) -> None:
        self.url = url
        self.is_chapter = is_chapter
        self.entries: list[SearchEntry] = []
        self.text: list[str] = []
        self.current = -1  # the entry that text belongs to

    def walk(self, element: HtmlElement) -> None:
        """Read an element, from its first word to its last."""
        tag = element.tag
        name = element.get("id")
        heads = bool(name) and (tag in HEADINGS or tag == "tr")
        if tag == "pre" and self.entries:
            names = self.entries[self.current].setdefault("code", [])
            names += sorted(set(CALLED.findall(element.text_content())) - set(names))
        if not isinstance(tag, str) or tag in SKIPPED_TAGS or self._is_skipped(element):
            return
        if element.get("class") == "further":  # its head repeats what is in it
            self.read(element[-1])
            return
        if tag == "span" and element.get("class") in APART:
            self.text.append(" ")
        if "data-tex" in element.attrib:  # a formula, in one piece or in several
            if element.tag in FORMULAS and element.get("display") != "block":
                self.text.append(format_tex(element.get("data-tex")))
            return
        if BOXES & set(element.get("class", "").split()):
            self.read_box(element)
            return
        if heads:
            self.begin_section(tag, name)
        elif tag in BLOCKS:
            self.end_line()
        elif tag in CELLS:
            self.text.append(" ")
        self.read(element, term=heads and tag == "tr")
        if heads and tag != "tr":
            self.end_title()
        elif tag in BLOCKS:
            self.end_line()

    def read(self, element: HtmlElement, term: bool = False) -> None:
        """What stands in an element; in a row that explains a term, its first cell is a title."""
        self.text.append(element.text or "")
        for number, child in enumerate(element):
            self.walk(child)
            if term and not number:
                self.end_title()
            self.text.append(child.tail or "")

    def read_box(self, element: HtmlElement) -> None:
        """A box with an address: what it stands in goes on after it."""
        self.end_line()
        around = self.current
        inside = element.find("div[@id]") if element.tag == "details" else None
        holder = element if inside is None else inside
        self.begin_section("div", holder.get("id"))
        title, *rest = element if inside is None else (element.find("summary"), *inside)
        self.read(title)
        self.end_title()
        for child in rest:
            self.walk(child)
        self.end_line()
        self.current = around

    def _is_skipped(self, element: HtmlElement) -> bool:
        return not SKIPPED_CLASSES.isdisjoint(element.get("class", "").split())

    def begin_section(self, tag: str, name: str) -> None:
        self.end_line()
        anchor = "" if tag == "h1" else f"#{name}"
        self.entries.append({"location": self.url + anchor, "title": "", "text": ""})
        self.current = len(self.entries) - 1
        if boost := self._find_boost(tag, name):
            self.entries[-1]["boost"] = boost

    def _find_boost(self, tag: str, name: str) -> float | None:
        """What looks up, lists or repeats comes after what explains."""
        if not self.is_chapter:
            return 0.25 if tag == "tr" else 0.2
        if name in BEHIND:
            return 0.2
        return 0.6 if name.startswith("exercise") else None

    def end_title(self) -> None:
        """What was read is the section's title."""
        self.entries[self.current]["title"] = " ".join("".join(self.text).split())
        self.text = []

    def end_line(self) -> None:
        """End a line: what was read since the last one belongs to the last heading."""
        text = " ".join("".join(self.text).split())
        if text and self.entries:
            entry = self.entries[self.current]
            entry["text"] += f"\n{text}" if entry["text"] else text
        self.text = []


def format_tex(tex: str) -> str:
    r"""A short formula as a reader would type it.

    Examples:
        >>> format_tex(r"\sqrt{d_k}"), format_tex(r"d_\text{model} \times n/\tau")
        ('√d_k', 'd_model × n/tau')
    """
    bare = FONT.sub("", ROOT.sub(r"√\1", tex))
    spaced = COMMAND.sub(lambda name: SIGNS.get(name[1], name[1]) + " ", bare)
    return BEFORE_CLOSING.sub("", spaced)


def find_entries(url: str, content: str, is_chapter: bool = True) -> list[SearchEntry]:
    r"""The sections of a page, each with its address, title and text.

    Sections of a page that is no chapter come after those of chapters, which explain.

    Examples:
        >>> html = '<h1 id="a">Why √d_k</h1><p>Scores <b>grow</b>.</p><p>So do sums.</p>'
        >>> find_entries("a/", html)
        [{'location': 'a/', 'title': 'Why √d_k', 'text': 'Scores grow.\nSo do sums.'}]
    """
    sections = _Sections(url, is_chapter)
    sections.walk(fragment_fromstring(content, create_parent="article"))
    sections.end_line()
    return sections.entries


def format_lines(found: Iterable[SearchEntry]) -> str:
    """Entries as JSON, one per line."""
    return ",\n".join(
        json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in found
    )


def build_index(lang: str, pages: Iterable[str], known: Vocabulary) -> str:
    names = [[f"{one.page}/" if one.page else "", *one.names] for one in known.names]
    # The theme marks what was found on the page that a result leads to, word by word.
    config: dict[str, Any] = {
        "lang": [lang],
        "separator": r"\s+",
        "names": names,
        "forms": known.forms,
    }
    config |= {"asked": dict(known.asked), "near": known.near, "empty": known.empty}
    docs = ",\n".join(filter(None, pages))
    return f'{{"config":{json.dumps(config, ensure_ascii=False)},"docs":[\n{docs}\n]}}\n'
