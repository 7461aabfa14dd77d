"""Finished pages, cached on disk for the next build, and remembered for the next refresh.

The key of a page is everything that it depends on: see `page_key` in `build`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from attention_docs.site.store import Store, key_of


@dataclass(frozen=True)
class Made:
    """What else is known of a page whose HTML has been made.

    Attributes:
        contents: its headings as [title, id, level, headings below].
        anchors: the ids that a link may lead to.
        links: the anchors on other pages that it links to, by page.
        searched: its lines in the search index.
        numbered: its lines in numbers.json.
    """

    contents: list[Any] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    searched: str = ""
    numbered: str = ""


class Shelf:
    """The pages that earlier builds finished."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.remembered: dict[str, Made] = {}

    def made(self, key: str) -> Made | None:
        """What is known of a page besides its files."""
        if key not in self.remembered:
            record = self.store.get(key)
            if record is None:
                return None
            self.remembered[key] = Made(**record)
        return self.remembered[key]

    def files(self, key: str) -> dict[str, str] | None:
        """The files of a page by their places: its HTML and its copies."""
        return self.store.get(_files(key))

    def has(self, key: str) -> bool:
        """Whether a page is there, whole."""
        return self.made(key) is not None and self.store.has(_files(key))

    def keep(self, key: str, made: Made, files: dict[str, str]) -> None:
        """Keep a page that is as it should be."""
        self.store.put(_files(key), files)
        self.store.put(key, asdict(made))
        self.remembered[key] = made

    def use(self, key: str) -> None:
        """Say that a page is still wanted, though it was not looked up."""
        self.store.used |= {key, _files(key)}


def _files(key: str) -> str:
    return key_of(key, "files")
