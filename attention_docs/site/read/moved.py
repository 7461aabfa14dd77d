"""What moved: `docs/moved.toml` says where the content of an old address is now."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page

LIST = "docs/moved.toml"
Moved = Mapping[str, Mapping[str, str]]
"""Of each page its old anchors, "" for a page that is gone, each with a page and an anchor."""


def read_moved(root: Path) -> Moved:
    """The table; empty where a project has none."""
    path = root / LIST
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def find_faults(moved: Moved, pages: Mapping[str, Page]) -> Iterator[Failure]:
    """Targets that are not there, and old anchors that still are."""
    ids = {slug: {passage.id for passage in page.passages} for slug, page in pages.items()}
    for slug, anchors in moved.items():
        if slug not in pages and "" not in anchors:
            yield Failure(LIST, 1, f'{slug} is gone and has no row "" for the page itself')
        for old, place in anchors.items():
            target, _, anchor = place.partition("#")
            if anchor not in ids.get(target, ()):
                yield Failure(LIST, 1, f"{slug}#{old}: there is no {place}")
            if slug in pages and (not old or old in ids[slug]):
                yield Failure(LIST, 1, f"{slug}#{old} has not moved: it is still there")
