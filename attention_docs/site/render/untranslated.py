"""A page that shows the English text, because nobody has translated it: the note at its head."""

from __future__ import annotations

import re
from html import escape

from attention_docs.locales import Locale

GUIDE = "blob/main/CONTRIBUTING.md#what-is-asked-of-a-translation"
GAP = ' <span aria-hidden="true">·</span> '
ARTICLE = re.compile(r'<article class="md-content__inner md-typeset"')


def make_note(locale: Locale, tag: str, original: str, repository: str) -> str:
    """The note in the words of a language, which HTML calls `tag`; `original` is a link."""
    said = locale["site"]["untranslated"]
    links = [f'<a href="{escape(original)}">{said["original"]}</a>']
    if repository:
        links.append(f'<a href="{escape(repository)}/{GUIDE}">{said["help"]}</a>')
    line = GAP.join(links)
    return f'<aside class="untranslated md-typeset" lang="{tag}">{said["note"]} {line}</aside>'


def mark_untranslated(html: str, note: str, tag: str) -> tuple[str, list[str]]:
    """A page of the theme with the note before its text, and the pieces that were not found.

    `tag` is what HTML calls the language of the text.
    """
    html, count = ARTICLE.subn(rf'{note}\g<0> lang="{tag}"', html)
    return html, [] if count else [ARTICLE.pattern]
