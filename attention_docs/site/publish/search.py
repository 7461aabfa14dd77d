"""The search index of each language: titles and running text, as docs/assets/search.js reads them.

An entry is a section, or a row of the glossary or of the notation, under its own address.

The theme would put both languages into one file, with every formula three times and every printed
tensor, and would have Chinese cut into words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html.parser import HTMLParser
from typing import Any

BLOCKS = {"article", "dd", "dt", "figcaption", "li", "p", "summary", "tr"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
SKIPPED_TAGS = {"button", "pre", "script", "style", "svg"}
SKIPPED_CLASSES = {"doc-labels", "drawing", "headerlink", "origin"}
REFERENCE = ("api/", "glossary/", "notation/", "numbers/", "sources/")
VOID = {"br", "col", "hr", "img", "input", "wbr"}
ROOT = re.compile(r"\\sqrt\{([^{}]*)\}")
FONT = re.compile(r"\\(?:text|mathrm|operatorname|mathbf|hat|bar)\b|\\[,;!:]|[{}$]")
COMMAND = re.compile(r"\\([a-zA-Z]+) ?")
SIGNS = {"approx": "≈", "cdot": "·", "ge": "≥", "infty": "∞", "le": "≤", "mu": "μ", "ne": "≠"}
SIGNS |= {"sigma": "σ", "sum": "Σ", "times": "×", "top": "ᵀ"}

Entry = dict[str, Any]


class Sections(HTMLParser):
    """Cuts a page at its headings; every paragraph, list item or row is a line of text."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.entries: list[Entry] = []
        self.open: list[tuple[str, bool]] = []  # tag, and whether its text is skipped
        self.text: list[str] = []
        self.heading = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Start a section or a line, or skip what nobody searches for."""
        if tag in VOID:
            return
        given = {key: value or "" for key, value in attrs}
        classes = set(given.get("class", "").split())
        skipped = self.skipping or tag in SKIPPED_TAGS or bool(classes & SKIPPED_CLASSES)
        if tag == "math" and not skipped and given.get("display") != "block":
            self.text.append(plain(given.get("data-tex", "")))
        if "id" in given and (tag in HEADINGS or tag == "tr"):
            self.flush()
            anchor = "" if tag == "h1" else f"#{given['id']}"
            self.entries.append({"location": self.url + anchor, "title": "", "text": ""})
            if self.url.startswith(REFERENCE):  # what looks up comes after what explains
                self.entries[-1]["boost"] = 0.5 if tag == "tr" else 0.2
            self.heading = "td" if tag == "tr" else tag
        elif tag in BLOCKS and not skipped:
            self.flush()
        elif tag in {"td", "th"}:
            self.text.append(" ")
        self.open.append((tag, skipped or tag == "math"))

    def handle_endtag(self, tag: str) -> None:
        """End what is open."""
        if tag in VOID or not self.open:
            return
        _, skipped = self.open.pop()
        if tag == self.heading:
            self.entries[-1]["title"] = " ".join("".join(self.text).split())
            self.text, self.heading = [], ""
        elif tag in BLOCKS and not skipped:
            self.flush()

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        if not self.skipping:
            self.text.append(data)

    @property
    def skipping(self) -> bool:
        """Whether what comes is inside of something that is left out."""
        return bool(self.open) and self.open[-1][1]

    def flush(self) -> None:
        """End a line: what was read since the last one belongs to the last heading."""
        text = " ".join("".join(self.text).split())
        if text and self.entries:
            self.entries[-1]["text"] += f"\n{text}" if self.entries[-1]["text"] else text
        self.text = []


def plain(tex: str) -> str:
    r"""A short formula as a reader would type it.

    Examples:
        >>> plain(r"\sqrt{d_k}"), plain(r"d_\text{model} \times n")
        ('√d_k', 'd_model × n')
    """
    bare = FONT.sub("", ROOT.sub(r"√\1", tex))
    return COMMAND.sub(lambda name: SIGNS.get(name[1], name[1]) + " ", bare)


def entries(url: str, content: str) -> list[Entry]:
    r"""The sections of a page, each with its address, title and text.

    Examples:
        >>> entries("a/", '<h1 id="a">Why √d_k</h1><p>Scores <b>grow</b>.</p><p>So do sums.</p>')
        [{'location': 'a/', 'title': 'Why √d_k', 'text': 'Scores grow.\nSo do sums.'}]
    """
    sections = Sections(url)
    sections.feed(content)
    sections.close()
    sections.flush()
    return sections.entries


def as_lines(found: Iterable[Entry]) -> str:
    """Entries as JSON, one a line."""
    return ",\n".join(
        json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in found
    )


def index(lang: str, pages: Iterable[str]) -> str:
    """The index of a language from the lines of its pages."""
    # The theme marks what was found on the page that a result leads to, word by word.
    config = json.dumps({"lang": [lang], "separator": r"\s+"})
    return f'{{"config":{config},"docs":[\n' + ",\n".join(filter(None, pages)) + "\n]}\n"
