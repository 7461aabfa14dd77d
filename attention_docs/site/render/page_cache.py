"""The cache of rendered pages: on disk for the next build, in memory for the next refresh.

The key of a page is everything that it depends on: see `fingerprints.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from attention_docs.site.store import Store, make_key


@dataclass(frozen=True)
class RenderedPage:
    """What the build knows about a rendered page besides its HTML.

    Attributes:
        contents: its headings as [title, id, level, headings below].
        anchors: the ids that a link may lead to.
        links: the anchors on other pages that it links to, by page.
        search_entries: its lines in the search index.
    """

    contents: list[Any] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    search_entries: str = ""


class RenderedPageCache:
    """The pages that earlier builds rendered."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.remembered: dict[str, RenderedPage] = {}

    def get(self, key: str) -> RenderedPage | None:
        """The record of a page, without its files."""
        if key not in self.remembered:
            record = self.store.get(key)
            if record is None:
                return None
            self.remembered[key] = RenderedPage(**record)
        return self.remembered[key]

    def get_files(self, key: str) -> dict[str, str] | None:
        """The files of a page by their places: its HTML and its copies."""
        return self.store.get(_make_files_key(key))

    def has(self, key: str) -> bool:
        """Whether the cache holds the whole page."""
        return self.get(key) is not None and self.store.has(_make_files_key(key))

    def put(self, key: str, rendered: RenderedPage, files: dict[str, str]) -> None:
        """Cache a page without faults."""
        self.store.put(_make_files_key(key), files)
        self.store.put(key, asdict(rendered))
        self.remembered[key] = rendered

    def mark_used(self, key: str) -> None:
        """Mark a page as used, though it was not looked up."""
        self.store.used |= {key, _make_files_key(key)}


def _make_files_key(key: str) -> str:
    return make_key(key, "files")
