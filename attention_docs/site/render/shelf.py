"""Pages that were made, kept on disk for the next build, and remembered for the next refresh.

A page is kept twice: as Markdown made it, and as the theme's template, with its copies, made that.
The key of a page is everything that it depends on: see `made_key` and `printed_key` in `build`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from attention_docs.site.store import Store, key_of


@dataclass(frozen=True)
class Made:
    """A page between Markdown and the theme's template.

    Attributes:
        content: its HTML.
        contents: its headings as [title, id, level, headings below].
        anchors: the ids that a link may lead to.
        links: the anchors on other pages that it links to, by page.
        searched: its lines in the search index.
        numbered: its lines in numbers.json.
    """

    content: str
    contents: list[Any] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    searched: str = ""
    numbered: str = ""


class Shelf:
    """The pages that were made before."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.remembered: dict[str, Made] = {}  # without content

    def made(self, key: str, whole: bool) -> Made | None:
        """A page as Markdown made it; one that is not wanted whole comes without its content."""
        if key not in self.remembered:
            record = self.store.get(key)
            if record is None:
                return None
            self.remembered[key] = Made(content="", **record)
        if not whole:
            return self.remembered[key]
        content = self.store.get(_content(key))
        return replace(self.remembered[key], **content) if content else None

    def keep(self, key: str, made: Made) -> None:
        """Keep a page that is as it should be."""
        record = asdict(made)
        self.store.put(_content(key), {"content": record.pop("content")})
        self.store.put(key, record)
        self.remembered[key] = replace(made, content="")

    def use(self, made_key: str, printed_key: str) -> None:
        """Say that a page is still wanted, though it was not looked up."""
        self.store.used |= {made_key, _content(made_key), printed_key}

    def printed(self, key: str) -> dict[str, str] | None:
        """The files of a finished page by their places."""
        return self.store.get(key)

    def has_printed(self, key: str) -> bool:
        """Whether a finished page is there, whole."""
        return self.store.has(key)

    def keep_printed(self, key: str, files: dict[str, str]) -> None:
        """Keep a finished page."""
        self.store.put(key, files)


def _content(key: str) -> str:
    return key_of(key, "content")
