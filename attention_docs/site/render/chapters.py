"""The pages of one language, for parts that are made from several of them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from attention_docs.running.result import Result
from attention_docs.site.read import remade
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.navigation import Navigation
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block
from attention_docs.site.read.script import Script
from attention_docs.words import Words

Record = dict[str, Any]
"""An entry of a list in `docs/`, as TOML has it."""


@dataclass(frozen=True)
class Chapters:
    """Pages by their names, and what their blocks gave, as soon as somebody asks."""

    lang: str
    words: Words
    docs: Path
    pages: Mapping[str, Page]
    numbered: Mapping[str, int]
    results: Callable[[Page], Sequence[Result]]
    navigation: Navigation = field(default_factory=Navigation)
    originals: Mapping[str, Page] = field(default_factory=dict)  # in the first language
    part_titles: Mapping[str, str] = field(default_factory=dict)  # by those of the originals
    minutes: Callable[[], Mapping[str, int]] = dict  # of reading, by chapter
    script: Script | None = None  # of a language that is made from another one
    first: str = "en"
    partial: bool = False
    lists: dict[str, list[Record]] = field(default_factory=dict)

    def page(self, slug: str) -> Page:
        """A page by its name."""
        if slug not in self.pages:
            raise Failure("", 1, f"there is no page {slug}")
        return self.pages[slug]

    def block(self, slug: str, name: str) -> tuple[Block, list[str]]:
        """A block of a page, and the lines of what it printed; the head of a table comes first."""
        page = self.page(slug)
        numbers = {block.id: number for number, block in enumerate(page.blocks)}
        if name not in numbers:
            raise Failure("", 1, f'{page.path} has no block "{name}"')
        results = self.results(page)
        result = results[numbers[name]] if numbers[name] < len(results) else Result()
        lines = result.text_in(page.text_lang).splitlines()
        drawing = result.figure.get(page.text_lang)
        if drawing and drawing.cells:
            lines += drawing.alt.splitlines()
        return page.blocks[numbers[name]], lines

    def link(self, place: str) -> str:
        """A link to a heading, "scaling#proof", with the titles of its page and of itself."""
        slug, _, heading = place.partition("#")
        page = self.page(slug)
        titles = page.titles
        if slug == "mistakes":  # the headings of the gallery come from its entries
            entries = self.records("mistakes")
            titles = {**titles, **{one["id"]: self.told("mistakes", one) for one in entries}}
        if heading not in titles:
            raise Failure("", 1, f"{page.path} has no heading #{heading}")
        return f"[{titled(page.title, titles[heading], self.words)}]({slug}.md#{heading})"

    def records(self, name: str) -> list[Record]:
        """The entries of `docs/<name>.toml`."""
        if name not in self.lists:
            path = self.docs / f"{name}.toml"
            entries = _entries(f"docs/{path.name}", path.read_text(encoding="utf-8"))
            if script := self.script:
                entries = [remade.entry(script, entry, self.first) for entry in entries]
            self.lists[name] = entries
        return self.lists[name]

    def told(self, name: str, entry: Record, field: str = "") -> str:
        """A field of an entry of `docs/<name>.toml` in the language of the pages."""
        key = f"{field}_{self.lang}" if field else self.lang
        if self.partial and key not in entry:
            key = f"{field}_{self.first}" if field else self.first
        if key not in entry:
            raise self.located(name, entry, Failure("", 1, f'has no "{key}"'))
        text: str = entry[key]
        return text

    def located(self, name: str, entry: Record, failure: Failure) -> Failure:
        """A fault of an entry, at the line of `docs/<name>.toml` that names it."""
        if failure.path:  # located already
            return failure
        lines = (self.docs / f"{name}.toml").read_text(encoding="utf-8").splitlines()
        line = next((n for n, text in enumerate(lines, 1) if text == f'id = "{entry["id"]}"'), 1)
        return Failure(f"docs/{name}.toml", line, f"{entry['id']}: {failure.message}")


@lru_cache(maxsize=8)  # each language of each build asks for the same
def _entries(file: str, text: str) -> list[Record]:
    try:
        entries: list[Record] = tomllib.loads(text)["entry"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise Failure(file, 1, f"must hold [[entry]] tables: {error}") from None
    return entries


def titled(page: str, heading: str, words: Words) -> str:
    """A heading with the title of its page before it.

    Examples:
        >>> from attention_docs.words import words
        >>> titled("Why?", "The idea", words("en")), titled("Softmax", "The idea", words("en"))
        ('Why? The idea', 'Softmax: The idea')
    """
    marks = words["site"]["marks"]
    between = marks["space"] if page.endswith(("?", "？")) else marks["colon"]
    return f"{page}{between}{heading}"


def listed(value: str | list[str] | None) -> list[str]:
    """A field that holds nothing, one name or several."""
    return [value] if isinstance(value, str) else value or []
