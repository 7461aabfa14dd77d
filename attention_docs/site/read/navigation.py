"""The order of reading: parts, chapters and their numbers, as `mkdocs.yml` lists them.

A chapter is a page of the navigation that has a listing, in a part whose first page has one.
Nothing else says where it stands: its number, the cards, "Builds on" and "Next" are all made from
this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.syntax import MINUTES

MACHINE = ("text", "tokens", "vectors", "attention", "feed_forward", "logits", "next")
"""The parts of a language model in the order in which a text passes them: `part_of_machine`."""
REPEATED = ("attention", "feed_forward")
"""Those that a block holds, and a model many times."""


@dataclass(frozen=True)
class Part:
    """A section of the navigation: its name in the language of the originals, and its pages."""

    title: str
    slugs: tuple[str, ...]


@dataclass(frozen=True)
class Navigation:
    """The pages of the navigation in their order, its parts, and which pages are chapters."""

    order: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    listed: frozenset[str] = field(default_factory=frozenset)

    @cached_property
    def chapters(self) -> dict[str, int]:
        """The numbers of the chapters by their slugs, in the order of reading."""
        others = {
            one for part in self.parts if part.slugs[0] not in self.listed for one in part.slugs
        }
        others.add("index")
        found = [slug for slug in self.order if slug in self.listed and slug not in others]
        return {slug: number for number, slug in enumerate(found, start=1)}

    @cached_property
    def ids(self) -> dict[str, Part]:
        """The parts by their ids: "part-1" if it holds chapters, else its name ("reference")."""
        found, count = {}, 0
        for part in self.parts:
            holds_chapters = any(slug in self.chapters for slug in part.slugs)
            count += holds_chapters
            name = re.sub(r"[^a-z0-9]+", "-", part.title.lower()).strip("-")
            found[f"part-{count}" if holds_chapters else name] = part
        return found

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The chapters of the first part: the path that every reader takes."""
        first = self.ids.get("part-1")
        return tuple(slug for slug in first.slugs if slug in self.chapters) if first else ()

    def find_part(self, slug: str) -> Part | None:
        return next((part for part in self.parts if slug in part.slugs), None)

    def find_next(self, slug: str) -> str | None:
        """The page to read after one of the parts that hold chapters; None after the last one."""
        parts = [part for part in self.parts if any(one in self.chapters for one in part.slugs)]
        pages = [one for part in parts for one in part.slugs]
        return dict(pairwise(pages)).get(slug)


def read_navigation(nav: Any, listed: frozenset[str] = frozenset()) -> Navigation:
    """The navigation of `mkdocs.yml`; `listed` are the pages that have a listing.

    Examples:
        >>> nav = ["index.md", {"Part 1: Begin": ["a.md", "b.md"]}]
        >>> found = read_navigation(nav, frozenset("a"))
        >>> found.order, found.chapters, found.find_part("a").title, found.path
        (('index', 'a', 'b'), {'a': 1}, 'Part 1: Begin', ('a',))
    """
    entries = [one for one in nav if isinstance(one, dict)] if isinstance(nav, list) else []
    parts = tuple(
        Part(title, tuple(_read_slugs(inner)))
        for entry in entries
        for title, inner in entry.items()
        if isinstance(inner, list)
    )
    return Navigation(tuple(_read_slugs(nav)), parts, listed)


def _read_slugs(nav: Any) -> Iterator[str]:
    """The names of the pages in a part of the navigation."""
    if isinstance(nav, str):
        yield nav.removesuffix(".md")
    for inner in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _read_slugs(inner)


def find_faults(
    navigation: Navigation,
    originals: Mapping[str, Page],
    translations: Sequence[Mapping[str, Page]],
) -> Iterator[Failure]:
    """What the front matter of pages in the navigation lacks or contradicts."""
    slugs = [slug for part in navigation.parts for slug in part.slugs]
    for pages in (originals, *translations):
        for page in (pages[slug] for slug in slugs if slug in pages):
            if not page.question:
                message = "the front matter has no question: the card of the page asks it"
                yield Failure(page.path, 1, message)
        for page in pages.values():
            yield from _find_unknown_chapters(navigation, page)
    for slug, page in originals.items():
        if unknown := [name for name in page.part_of_machine if name not in MACHINE]:
            message = f"part_of_machine: wanted some of {', '.join(MACHINE)}, got {unknown[0]}"
            yield Failure(page.path, page.find_line("part_of_machine"), message)
        for name in page.builds_on:
            yield from _find_order_faults(navigation, slug, page, name)
    for pages in translations:
        for page in pages.values():
            for name in ("builds_on", "part_of_machine"):
                if page.meta.get(name):
                    message = f"{name} stands in the original alone: delete it here"
                    yield Failure(page.path, page.find_line(name), message)


def _find_unknown_chapters(navigation: Navigation, page: Page) -> Iterator[Failure]:
    """Minutes of a page that is no chapter."""
    for value in page.values:
        asked = MINUTES.fullmatch(value.expression)
        if asked and asked["slug"] not in navigation.chapters:
            message = f"site.minutes: {asked['slug']} is not a chapter of the navigation"
            yield Failure(page.path, value.line, message)


def _find_order_faults(
    navigation: Navigation, slug: str, page: Page, name: str
) -> Iterator[Failure]:
    """A chapter builds on earlier ones; on the path that means on chapters of the path alone."""
    chapters, line = navigation.chapters, page.find_line("builds_on")
    if name not in chapters:
        yield Failure(page.path, line, f"builds_on: {name} is not a chapter of the navigation")
    elif slug not in chapters:
        yield Failure(page.path, line, f"builds_on: {slug} is not a chapter of the navigation")
    elif chapters[name] >= chapters[slug]:
        message = (
            f"builds_on: {name} is chapter {chapters[name]} and this one is {chapters[slug]}: "
            "a chapter builds on earlier ones"
        )
        yield Failure(page.path, line, message)
