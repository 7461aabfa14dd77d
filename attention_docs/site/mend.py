"""What the theme's HTML lacks, put right once a page is rendered.

The theme's templates are not copied: a copy hides what differs and goes stale. Each entry is a
piece of the theme's HTML and what takes its place. A piece of `ALWAYS` that is no longer there
fails the build, so a new version of the theme cannot undo a mend unnoticed.
"""

from __future__ import annotations

import re

from mkdocs.utils import get_relative_url

WORDS = {
    "en": {"search": "Search", "permalink": "Link to this section"},
    "zh": {"search": "搜索", "permalink": "本节链接"},
}

ALWAYS = (
    # HTML: `autocomplete` is for text fields, `tabindex` is a number.
    (r'( type="checkbox" id="__(?:drawer|search)") autocomplete="off"', r"\1"),
    # A dialog has a name; how many results there are is spoken when it changes.
    (r'(data-md-component="search" role="dialog")', r'\1 aria-label="{search}"'),
    (r'(<div class="md-search-result__meta")', r'\1 role="status"'),
)
WHERE_PRESENT = (
    # The search worker is ours: docs/assets/search.js.
    (r'("search": "[./]*/?)assets/javascripts/workers/[^"]*', r"\1assets/search.js"),
    (r'(<label class="md-nav__link"[^>]*) tabindex=""', r"\1"),
    # The parts of a table of contents are lists, not landmarks.
    (r'<nav class="md-nav" aria-label="[^"]*">', '<nav class="md-nav" role="none">'),
    # The theme's script wraps a table, which moves what follows: wrapped from the start, the second
    # wrapping shows nothing (docs/assets/site.css).
    (
        r"(?s)(<table>.*?</table>)",
        r'<div class="md-typeset__scrollwrap"><div class="md-typeset__table">\1</div></div>',
    ),
    # A plain name or a blank in code looks like no span at all: a tenth of a chapter's elements.
    (r'<span class="[nw]">([^<]*)</span>', r"\1"),
    # The corner of a table that heads nothing is no heading.
    (r"<th([^>]*)></th>", r"<td\1></td>"),
    # The theme speaks English here.
    (r'title="Permanent link"', 'title="{permalink}"'),
)
BASE = re.compile(r'(?<="base": ")[^"]*(?=")')
DOCSTRING = re.compile(r"<div (?=class=\"doc doc-object)")


def mended(html: str, url: str) -> tuple[str, list[str]]:
    """The page at this address with every piece replaced, and the pieces that were not found."""
    lang = "zh" if url.startswith("zh/") else "en"
    missing = []
    for old, new in ALWAYS + WHERE_PRESENT:
        html, count = re.subn(old, new.format(**WORDS[lang]), html)
        if not count and (old, new) in ALWAYS:
            missing.append(old)
    if 'id="__toc"' not in html:  # the navigation does not hold this page
        html = html.replace(' for="__toc"', "")
    if lang != "en":
        # The index of a language lies beside its first page. Docstrings are English.
        html = BASE.sub(get_relative_url(f"{lang}/", url), html, count=1)
        html = DOCSTRING.sub('<div lang="en" ', html)
    return html, missing
