"""The note at the head of a page that shows the English text, because nobody has translated it."""

from __future__ import annotations

from html import escape

from attention_docs.words import Words

GUIDE = "blob/main/CONTRIBUTING.md#what-is-asked-of-a-translation"


def make_note(words: Words, tag: str, original: str, original_tag: str, repository: str) -> str:
    """The note in the words of the page's language; `tag` is what HTML calls it.

    `original` leads to the page in its own language.
    """
    said = words["site"]["untranslated"]
    link = f'<a href="{escape(original)}" hreflang="{original_tag}">{said["original"]}</a>'
    parts = [said["note"], link]
    if repository:
        parts.append(f'<a href="{escape(repository)}/{GUIDE}">{said["help"]}</a>')
    gap = words["site"]["marks"]["space"]
    return f'<p class="untranslated" lang="{tag}">{gap.join(parts)}</p>\n'
