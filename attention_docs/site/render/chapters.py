"""The pages of one language, for parts that are made from several of them."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from attention_docs.locales import Locale
from attention_docs.running.result import Result
from attention_docs.site.read import conversion
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.navigation import Navigation
from attention_docs.site.read.page import Page, find_asking
from attention_docs.site.read.pieces import Block
from attention_docs.site.read.script_converter import ScriptConverter

Record = dict[str, Any]
"""An entry of a list in `docs/`, as TOML has it."""


@dataclass(frozen=True)
class Chapters:
    """Pages by their names, and the results of their blocks, on demand."""

    lang: str
    locale: Locale
    docs: Path
    pages: Mapping[str, Page]
    numbered: Mapping[str, int]
    results: Callable[[Page], Sequence[Result]]
    navigation: Navigation = field(default_factory=Navigation)
    originals: Mapping[str, Page] = field(default_factory=dict)  # in the first language
    part_titles: Mapping[str, str] = field(default_factory=dict)  # by those of the originals
    minutes: Callable[[], Mapping[str, int]] = dict  # of reading, by chapter
    converter: ScriptConverter | None = None  # of a language that is made from another one
    first: str = "en"
    partial: bool = False
    offers_sentence: bool = False  # whether the site serves the model that reads one
    offers_model: bool = False  # whether it serves the model that writes
    site_url: str = ""  # the address of the site, if it has one
    lists: dict[str, list[Record]] = field(default_factory=dict)

    @property
    def site_root(self) -> str:
        """The way from a page in the folder of a language to the root of the site."""
        return "../" if self.lang == self.first else "../../"

    def find_page(self, slug: str) -> Page:
        if slug not in self.pages:
            raise Failure("", 1, f"there is no page {slug}")
        return self.pages[slug]

    def find_asking(self, kind: str) -> Page:
        """The page that asks for a part of a kind."""
        if (page := find_asking(self.pages, kind)) is None:
            raise Failure("", 1, f"no page asks for <!-- {kind} -->")
        return page

    def find_block(self, slug: str, name: str) -> tuple[Block, list[str]]:
        """A block of a page, and the lines of what it printed; the head of a table comes first."""
        page = self.find_page(slug)
        numbers = {block.id: number for number, block in enumerate(page.blocks)}
        if name not in numbers:
            raise Failure("", 1, f'{page.path} has no block "{name}"')
        results = self.results(page)
        result = results[numbers[name]] if numbers[name] < len(results) else Result()
        lines = result.get_text(page.text_lang).splitlines()
        drawing = result.figure.get(page.text_lang)
        if drawing and drawing.cells:
            lines += drawing.alt.splitlines()
        return page.blocks[numbers[name]], lines

    def make_link(self, place: str) -> str:
        """A link to a heading, "scaling#proof", with the titles of its page and of itself."""
        slug, _, heading = place.partition("#")
        page = self.find_page(slug)
        titles = page.titles
        if page.asks_for("gallery"):  # the headings of the gallery come from its entries
            entries = self.read_records("mistakes")
            titles = {
                **titles,
                **{one["id"]: self.translate_field("mistakes", one) for one in entries},
            }
        if heading not in titles:
            raise Failure("", 1, f"{page.path} has no heading #{heading}")
        return f"[{join_titles(page.title, titles[heading], self.locale)}]({slug}.md#{heading})"

    def read_records(self, name: str) -> list[Record]:
        """The entries of `docs/<name>.toml`."""
        if name not in self.lists:
            path = self.docs / f"{name}.toml"
            entries = read_entries(path)
            if script := self.converter:
                entries = [conversion.convert_entry(script, entry, self.first) for entry in entries]
            self.lists[name] = entries
        return self.lists[name]

    def select_records(self, name: str, field: str, value: str) -> list[Record]:
        """The entries of `docs/<name>.toml` that have this value; none has a fault."""
        records = [one for one in self.read_records(name) if field in one]
        if found := [one for one in records if one[field] == value]:
            return found
        known = ", ".join(dict.fromkeys(one[field] for one in records))
        raise Failure("", 1, f'{field} of docs/{name}.toml: wanted one of {known}, got "{value}"')

    def translate_field(self, name: str, entry: Record, field: str = "") -> str:
        """A field of an entry of `docs/<name>.toml` in the language of the pages."""
        key = f"{field}_{self.lang}" if field else self.lang
        if self.partial and key not in entry:
            key = f"{field}_{self.first}" if field else self.first
        if key not in entry:
            raise self.locate_failure(name, entry, Failure("", 1, f'has no "{key}"'))
        text: str = entry[key]
        return text

    def locate_failure(self, name: str, entry: Record, failure: Failure) -> Failure:
        """A fault of an entry, at the line of `docs/<name>.toml` that names it."""
        if failure.path:  # located already
            return failure
        lines = (self.docs / f"{name}.toml").read_text(encoding="utf-8").splitlines()
        line = next((n for n, text in enumerate(lines, 1) if text == f'id = "{entry["id"]}"'), 1)
        return Failure(f"docs/{name}.toml", line, f"{entry['id']}: {failure.message}")


def read_entries(path: Path) -> list[Record]:
    """The entries of a list such as `docs/mistakes.toml`."""
    return _parse_entries(f"docs/{path.name}", path.read_text(encoding="utf-8"))


@lru_cache(maxsize=8)  # each language of each build asks for the same
def _parse_entries(file: str, text: str) -> list[Record]:
    try:
        entries: list[Record] = tomllib.loads(text)["entry"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise Failure(file, 1, f"must hold [[entry]] tables: {error}") from None
    ids = Counter(one["id"] for one in entries if "id" in one)
    for name in (one for one, count in ids.items() if count > 1):
        line = text.splitlines().index(f'id = "{name}"') + 1
        raise Failure(file, line, f'wanted an id of its own for each entry, got "{name}" twice')
    return entries


def join_titles(page: str, heading: str, locale: Locale) -> str:
    """A heading with the title of its page before it.

    Examples:
        >>> from attention_docs.locales import read_locale
        >>> [join_titles(page, "The idea", read_locale("en")) for page in ("Why?", "Softmax")]
        ['Why? The idea', 'Softmax: The idea']
    """
    marks = locale["site"]["marks"]
    between = marks["space"] if page.endswith(("?", "？")) else marks["colon"]
    return f"{page}{between}{heading}"


def as_list(value: str | list[str] | None) -> list[str]:
    """A field that holds nothing, one name or several."""
    return [value] if isinstance(value, str) else value or []
