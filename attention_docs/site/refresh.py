"""What a page was rendered to, kept between two refreshes of `mkdocs serve`.

Rendering is most of the time of a refresh, and a save changes few pages. A page is rendered again
when its Markdown or a result on it changed, when a page came or went, or when a file changed that
all pages depend on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from attention_docs.site.search import Entry
from attention_docs.site.weave import Woven

# What mkdocs finds out while it renders a page.
FOUND = ("toc", "_title_from_render", "present_anchor_ids", "links_to_anchors")
COMMON = ("mkdocs.yml", "docs/{}/glossary.md", "docs/{}/notation.md")


@dataclass(frozen=True)
class Rendered:
    """A page as it was, with its part of the search index."""

    key: str
    content: str
    entries: list[Entry]
    found: dict[str, Any]


def key(markdown: str, woven: Woven, pages: Iterable[str], root: Path) -> str:
    """What a page's HTML depends on, as one word; empty where that cannot be said."""
    if woven.source.failures or "\n::: " in markdown:  # docstrings come from elsewhere
        return ""
    paths = [root / name.format(woven.lang) for name in COMMON]
    files = [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
    known = json.dumps([markdown, woven.records, sorted(pages), files])
    return hashlib.sha256(known.encode()).hexdigest()


def keep(key: str, page: Page, content: str, entries: list[Entry]) -> Rendered:
    """What is to be remembered of a page whose content is whole."""
    return Rendered(key, content, entries, {name: getattr(page, name) for name in FOUND})


def reuse(page: Page, rendered: Rendered) -> None:
    """Have mkdocs take what is known where it would render the page."""

    def render(config: MkDocsConfig, files: Files) -> None:
        page.content = rendered.content
        for name, value in rendered.found.items():
            setattr(page, name, value)

    page.render = render  # type: ignore[method-assign]  # of this page alone
