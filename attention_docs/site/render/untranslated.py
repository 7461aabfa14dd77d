"""A page that shows the English text, because nobody has translated it: the note at its head."""

from __future__ import annotations

import posixpath
import re
from html import escape

from attention_docs.locales import Locale
from attention_docs.site.addresses import make_relative

GUIDE = "blob/main/CONTRIBUTING.md#what-is-asked-of-a-translation"
GAP = ' <span aria-hidden="true">·</span> '
FILE_LINK = re.compile(r'\bhref="([\w./-]+\.\w+)"')


def make_note(locale: Locale, tag: str, original: str, repository: str) -> str:
    """The note in the words of a language, which HTML calls `tag`; `original` is a link."""
    said = locale["site"]["untranslated"]
    links = [f'<a href="{escape(original)}">{said["original"]}</a>']
    if repository:
        links.append(f'<a href="{escape(repository)}/{GUIDE}">{said["help"]}</a>')
    line = GAP.join(links)
    return f'<aside class="untranslated md-typeset" lang="{tag}">{said["note"]} {line}</aside>'


def redirect_files(html: str, markdown: str, original: str, here: str) -> str:
    """HTML in which the files that the Markdown links in HTML of its own are found from `here`.

    They are named from the address of the original; links to pages stay in the language.

    Examples:
        >>> link = '<a href="../numbers.json">'
        >>> redirect_files(f"<p>{link}</a></p>", link, "numbers/", "fr/numbers/")
        '<p><a href="../../numbers.json"></a></p>'
    """
    for link in set(FILE_LINK.findall(markdown)):
        target = posixpath.normpath(posixpath.join(original, link))
        html = html.replace(f'href="{link}"', f'href="{make_relative(target, here)}"')
    return html
