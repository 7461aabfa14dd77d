"""Where a page lets a reader's own sentence be read: a line that the page's script replaces."""

from __future__ import annotations

from attention_docs.site.render.chapters import Chapters

MARK = "own-sentence"
"""The class by which docs/assets/site.js finds the place."""

EXAMPLES = (
    "The trophy doesn't fit in the suitcase because it is too big.",
    "The trophy doesn't fit in the suitcase because it is too small.",
    "I saw a saw.",
)
"""In English in all languages, as the model reads it."""


def offer_sentence(chapters: Chapters) -> str:
    """What stands there without a script, or that the model is missing, as Markdown."""
    words = chapters.locale["site"]["sentence"]
    if not chapters.offers_sentence:
        missing: str = words["missing"]
        return missing
    return f"{words['script']}\n{{ .{MARK} }}"
