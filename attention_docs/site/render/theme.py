"""Patch the theme's HTML once a page is rendered.

These are patterns over HTML because the HTML is the theme's, and its templates are not copied: a
copy hides what differs and goes stale. Each entry is a piece of the theme's HTML and what takes its
place. A piece of `ALWAYS` that is no longer there fails the build, so a new version of the theme
cannot undo a patch unnoticed.
"""

from __future__ import annotations

import re
from functools import partial

from attention_docs.locales import Locale

ALWAYS = (
    # The theme has one code for Chinese, in whatever script.
    (r'(<html) lang="[^"]*"', r'\1 lang="{tag}"'),
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
    # A plain name or a blank in code looks like no span at all: a tenth of a chapter's elements.
    (r'<span class="[nw]">([^<]*)</span>', r"\1"),
)
# What the bar at the top says: the name of the site, and once a page's title has gone, that title
# with the number of a chapter. What follows a colon shows where there is room.
TOPIC = re.compile(r'(<div class="md-header__topic"[^>]*>\s*<span class="md-ellipsis">)([^<]*)')
REST = re.compile(r"[:：].*", re.S)
# Titles hold "√dₖ" as text, since navigation and search do too. On a page it is a formula, as it is
# in sentences: a Chinese font tears the root off its letter.
SYMBOL = re.compile(
    r"<code>(?P<code>[^<\s]{1,16})</code>|(?P<word>\btop-[kp]\b)"
    r"|<(title|script|style|svg|math|pre|code|figure)\b.*?</\3>"
    r"|<table class=\"data-table.*?</table>|<[^>]*>|(?P<root>√?)dₖ(?P<end>[?.,，。？：；、）]?)",
    re.S,
)
LETTERS = "<msub><mi>d</mi><mi>k</mi></msub>"
BASE = re.compile(r'(?<="base": ")[^"]*(?=")')
SPACE = re.compile(r"\s*\n\s*")
DOCSTRING = re.compile(r"<div (?=class=\"doc doc-object)")


def patch_html(
    html: str, locale: Locale, index: str, tag: str, foreign_docstrings: bool, number: int | None
) -> tuple[str, list[str]]:
    """Replace every piece; return the page and the pieces that were not found.

    `index` leads to the folder that holds the search index of the page's language, where that is
    not the root of the site; `tag` is what HTML calls the language. Docstrings are in that of the
    originals; `number` is that of a chapter.
    """
    html, count = TOPIC.subn(partial(_shorten_topic, number), html)
    missing = [] if count == 2 else [TOPIC.pattern]
    for old, new in ALWAYS + WHERE_PRESENT:
        new = new.format(search=locale["site"]["theme"]["search"], tag=tag)
        html, count = re.subn(old, new, html)
        if not count and old in dict(ALWAYS):
            missing.append(old)
    if 'id="__toc"' not in html:  # the navigation does not hold this page
        html = html.replace(' for="__toc"', "")
    if index:
        html = BASE.sub(index, html, count=1)
    if foreign_docstrings:
        html = DOCSTRING.sub('<div lang="en" ', html)
    return SYMBOL.sub(_set_symbol, _close_up(html)), missing


def _close_up(html: str) -> str:
    """A page without the blank lines and indentation that templates leave around its article."""
    before, start, rest = html.partition("<article")
    article, end, after = rest.partition("</article>")
    return SPACE.sub("\n", before) + start + article + end + SPACE.sub("\n", after)


def _shorten_topic(number: int | None, found: re.Match[str]) -> str:
    """A title in the bar: on a phone it ends at its colon."""
    start, title = found[1], found[2].strip()
    chapter = f"{number} · " if number and "header-topic" in start else ""
    return start + chapter + REST.sub(r'<span class="rest">\g<0></span>', title)


def _set_symbol(found: re.Match[str]) -> str:
    """A symbol of a title as a formula, short names with a hyphen in one piece; else as it is."""
    if found["word"]:
        return f'<span class="held">{found[0]}</span>'
    if "-" in (found["code"] or ""):
        return f'<code class="held">{found["code"]}</code>'
    if found["root"] is None:
        return found[0]
    letters = f"<msqrt>{LETTERS}</msqrt>" if found["root"] else LETTERS
    formula = f"<math>{letters}</math>"
    # No line begins with the punctuation that follows.
    return f'<span class="held">{formula}{found["end"]}</span>' if found["end"] else formula
