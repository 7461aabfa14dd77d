"""Pages of a partial language that nobody has translated yet: they show the English text."""

from __future__ import annotations

from dataclasses import replace

from attention_docs.site.read.page import Page


def make_fallback(original: Page, lang: str) -> Page:
    """A page of a language with the text, the blocks and the results of its original.

    It keeps the original's path as its origin: what is wrong with one is mended there.
    """
    path = f"docs/{lang}/{original.slug}.md"
    return replace(original, path=path, origin=original.path, untranslated=True, failures=[])
