"""How many words a chapter's main line has, and how many minutes they take to read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attention_docs.site.read.navigation import Navigation
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Attributes, Block, Box, End, Fence, Heading, Request
from attention_docs.site.read.syntax import CODE_SPAN, DISPLAY, INLINE, LINK_TARGET, VALUE
from attention_docs.site.render.boxes import FOLDED_KINDS

WORD = re.compile(r"[A-Za-z][\w'’-]*")
CHARACTER = re.compile(r"[\u3400-\u9fff]")  # a Chinese one
PER_MINUTE = {WORD: 150, CHARACTER: 260}  # formulas, code and tables take their time uncounted
NOT_READ = (*FOLDED_KINDS, "exercise", "guess")
LEFT_OUT = [re.compile(r"<!--.*?-->"), VALUE, DISPLAY, CODE_SPAN, INLINE]


def count_words(page: Page) -> tuple[int, int]:
    """The words of a page's main line, in Chinese the characters, and the minutes they take."""
    lines = []
    for piece in walk_main_line(page):
        if isinstance(piece, Box):
            lines.append(piece.title)
        elif not isinstance(piece, Block | Fence | Attributes | Request | End):
            lines.append(page.lines[piece.line - 1])  # type: ignore[attr-defined]
    text = "\n".join(lines)
    for pattern in LEFT_OUT:
        text = pattern.sub(" ", text)
    text = LINK_TARGET.sub("]", text)
    unit = max(PER_MINUTE, key=lambda unit: len(unit.findall(text)))
    words = len(unit.findall(text))
    return words, max(1, round(words / PER_MINUTE[unit]))


def walk_main_line(page: Page) -> Iterator[object]:
    """The pieces of what stands open: no folds, exercises, guesses, and no list of sources."""
    boxes: list[str] = []
    sources = False
    for piece in page.pieces:
        if isinstance(piece, Heading):
            sources = piece.id == "sources"
        if isinstance(piece, Box):
            boxes.append(piece.kind)
        if not sources and not set(boxes) & set(NOT_READ):
            yield piece
        if isinstance(piece, End) and boxes:
            boxes.pop()


class ReadingTimes:
    """Words and minutes of the chapters of a build, as pages and `numbers.json` say them.

    Attributes:
        pages: of each language, by name.
        navigation: parts and chapters in the order of reading.
    """

    def __init__(self, pages: Mapping[str, Mapping[str, Page]], navigation: Navigation) -> None:
        self.pages = pages
        self.navigation = navigation
        self._known: dict[str, dict[str, tuple[int, int]]] = {}

    def count_chapters(self, lang: str) -> dict[str, tuple[int, int]]:
        """Words and minutes of each chapter of a language."""
        if lang not in self._known:
            pages, chapters = self.pages[lang], self.navigation.chapters
            self._known[lang] = {
                slug: count_words(pages[slug]) for slug in chapters if slug in pages
            }
        return self._known[lang]

    def minutes(self, lang: str) -> dict[str, int]:
        """The minutes that each chapter takes to read, in a language."""
        return {slug: minutes for slug, (_, minutes) in self.count_chapters(lang).items()}

    def values(self, lang: str) -> dict[str, int]:
        """What `{{ site.minutes["…"] }}`, `{{ site.path_minutes }}` and so on stand for."""
        minutes = self.minutes(lang)
        path = sum(minutes[slug] for slug in self.navigation.path if slug in minutes)
        by_chapter = {f'minutes["{slug}"]': number for slug, number in minutes.items()}
        return {**by_chapter, "path_minutes": path}

    def document(self, languages: Sequence[str]) -> dict[str, Any]:
        """What `numbers.json` says of it: the path, and the lengths of all chapters."""
        chapters = {
            lang: {
                slug: {"words": words, "minutes": minutes}
                for slug, (words, minutes) in self.count_chapters(lang).items()
            }
            for lang in languages
        }
        return {"path": self.navigation.path, "chapters": chapters}
