"""Complete the HTML that Markdown made of a page, and the titles that the templates show."""

from __future__ import annotations

import re

# A plain name or a blank in code looks like no span at all: a tenth of a chapter's elements.
PLAIN_SPAN = re.compile(r'<span class="[nw]">([^<]*)</span>')
DOCSTRING = re.compile(r"<div (?=class=\"doc doc-object)")
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


def complete_html(html: str, foreign_docstrings: bool) -> str:
    """The text of a page with its symbols; docstrings may be in another language than the page."""
    html = PLAIN_SPAN.sub(r"\1", html)
    if foreign_docstrings:
        html = DOCSTRING.sub('<div lang="en" ', html)
    return set_symbols(html)


def set_symbols(html: str) -> str:
    """HTML with the symbols of titles as formulas, and short names with a hyphen in one piece.

    Examples:
        >>> set_symbols("the top-k of <code>d-k</code>")
        'the <span class="held">top-k</span> of <code class="held">d-k</code>'
    """
    return SYMBOL.sub(_set_symbol, html)


def shorten_title(title: str) -> str:
    """A title in the bar at the top: what follows its colon shows where there is room.

    Examples:
        >>> shorten_title("Softmax: why"), shorten_title("Masks")
        ('Softmax<span class="rest">: why</span>', 'Masks')
    """
    return REST.sub(r'<span class="rest">\g<0></span>', title)


def _set_symbol(found: re.Match[str]) -> str:
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
