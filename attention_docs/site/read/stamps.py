"""Say which sections of a translation are out of date: it holds a stamp of each original section.

The front matter of a translation ends in them, in the order of the page:

    translated:
      weights:
        3f2a
      why-soft:
        91bc

A stamp stands on the line below its section's id: git merges changes of two neighbouring sections
only if a line that neither branch changed stands between them.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.reader import read_page
from attention_docs.site.read.syntax import FRONT_MATTER

OPENING = "(opening)"  # what stands before the first heading, if anything does
STAMPS = re.compile(r"^translated:[^\n]*\n(?:[ \t]+[^\n]*\n)*", re.M)
STAMP = re.compile(r"^ +(?P<id>\S+):\s+(?P<stamp>[0-9a-f]{4})$", re.M)


@dataclass(frozen=True)
class PageSection:
    """A heading and what stands under it up to the next heading, boxes and blocks included."""

    id: str
    line: int
    text: str

    @property
    def stamp(self) -> str:
        """Four hex digits of its text; white space does not count."""
        return hashlib.sha256(" ".join(self.text.split()).encode()).hexdigest()[:4]


def read_sections(page: Page) -> dict[str, PageSection]:
    """The sections of a page by their ids, in its order."""
    heads = [passage for passage in page.passages if not passage.kind]
    ends = [head.line for head in heads[1:]] + [len(page.lines) + 1]
    found = [
        PageSection(head.id or OPENING, head.line, "\n".join(page.lines[head.line - 1 : end - 1]))
        for head, end in zip(heads, ends, strict=True)
    ]
    return {section.id: section for section in found if section.text.strip()}


def read_stamps(translation: Page) -> dict[str, str]:
    front = FRONT_MATTER.match(translation.text)
    block = STAMPS.search(front["yaml"]) if front else None
    return {match["id"]: match["stamp"] for match in STAMP.finditer(block[0])} if block else {}


def find_stale(original: Page, translation: Page) -> list[str]:
    """The sections that changed since the translation was stamped, and those that are gone."""
    wanted = {section.id: section.stamp for section in read_sections(original).values()}
    got = read_stamps(translation)
    changed = [name for name, stamp in wanted.items() if got.get(name) != stamp]
    return changed + [name for name in got if name not in wanted]


def report_stale(original: Page, translation: Page) -> list[Failure]:
    """One failure for a translation of which a section is out of date."""
    stale = find_stale(original, translation)
    if not stale:
        return []
    names = ", ".join(name if name == OPENING else f"#{name}" for name in stale)
    lines = [section.line for name, section in read_sections(translation).items() if name in stale]
    message = (
        f"the English text changed in {names}: bring this page up to date, then run "
        f"`make translated PAGE={translation.lang}/{translation.slug}`; "
        "or, if it needs no change, stamp it: `make translated`"
    )
    return [Failure(translation.path, min(lines, default=1), message)]


def set_stamps(text: str, stamps: dict[str, str]) -> str:
    """The text of a page with these stamps at the end of its front matter."""
    lines = itertools.chain.from_iterable((f"  {name}:", f"    {s}") for name, s in stamps.items())
    block = "\n".join(["translated:", *lines, ""])
    front = FRONT_MATTER.match(text)
    if not front:
        return f"---\n{block}---\n\n{text}"
    return f"---\n{STAMPS.sub('', front['yaml'])}{block}---\n{text[front.end() :]}"


def stamp_sections(root: Path, original: Page, translation: Page, names: Iterable[str]) -> None:
    """Declare sections of a translation up to date, and remove stamps of those that are gone."""
    confirmed, before = set(names), read_stamps(translation)
    stamps = {
        name: section.stamp if name in confirmed else before[name]
        for name, section in read_sections(original).items()
        if name in confirmed or name in before
    }
    path = root / translation.path
    path.write_text(set_stamps(translation.text, stamps), encoding="utf-8")


def stamp_page(root: Path, original: Path, translation: Path) -> list[str]:
    """Declare a whole translation up to date, and return the sections that were not."""
    pages = read_page(original, root), read_page(translation, root)
    stale = find_stale(*pages)
    if stale:
        stamp_sections(root, *pages, read_sections(pages[0]))
    return stale
