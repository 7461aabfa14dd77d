"""How long the chapters take to read, as pages, `numbers.json` and the home page say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from attention_docs.running.result import Result
from attention_docs.site.read.navigation import Navigation
from attention_docs.site.read.page import Page
from attention_docs.site.render.reading_time import Length, measure


class ReadingTimes:
    """Lengths and minutes of the chapters of a build, each measured once.

    Attributes:
        pages: of each language, by name.
        navigation: parts and chapters in the order of reading.
        results: gives what the blocks of a page printed.
    """

    def __init__(
        self,
        pages: Mapping[str, Mapping[str, Page]],
        navigation: Navigation,
        results: Callable[[Page], Sequence[Result]],
    ) -> None:
        self.pages = pages
        self.navigation = navigation
        self.results = results
        self._lengths: dict[str, Length] = {}

    def measure_page(self, page: Page) -> Length:
        """How long the main line of a page is, and how long it takes to read."""
        if page.path not in self._lengths:
            self._lengths[page.path] = measure(page, self.results(page))
        return self._lengths[page.path]

    def measure_chapters(self, lang: str) -> dict[str, Length]:
        """The lengths of the chapters of a language."""
        pages, chapters = self.pages[lang], self.navigation.chapters
        return {slug: self.measure_page(pages[slug]) for slug in chapters if slug in pages}

    def minutes(self, lang: str) -> dict[str, int]:
        """The minutes that each chapter takes to read, in a language."""
        return {slug: one.minutes for slug, one in self.measure_chapters(lang).items()}

    def values(self, lang: str) -> dict[str, int]:
        """What `{{ site.minutes["…"] }}`, `{{ site.path_hours }}` and so on stand for."""
        minutes = self.minutes(lang)
        path = sum(minutes[slug] for slug in self.navigation.path if slug in minutes)
        by_chapter = {f'minutes["{slug}"]': number for slug, number in minutes.items()}
        return {**by_chapter, "path_minutes": path, "path_hours": max(1, round(path / 60))}

    def document(self, languages: Sequence[str]) -> dict[str, Any]:
        """What `numbers.json` says of it: the path, and the lengths of all chapters."""
        chapters = {
            lang: {slug: asdict(one) for slug, one in self.measure_chapters(lang).items()}
            for lang in languages
        }
        return {"path": self.navigation.path, "chapters": chapters}
