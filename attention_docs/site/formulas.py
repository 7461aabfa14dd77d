"""TeX to HTML at build time, by KaTeX in V8: no Node, no script in the reader's browser."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

KATEX = Path(__file__).parent / "katex" / "katex.min.js"
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>', re.S
)


@lru_cache(maxsize=1)
def _context() -> Any:
    from py_mini_racer import MiniRacer

    context = MiniRacer()
    context.eval(KATEX.read_text(encoding="utf-8"))
    # An error comes back as a value: its text is for the reader, not for a stack trace.
    context.eval("""
        function render(tex, display) {
          try {
            return ["", katex.renderToString(tex, {
              displayMode: display, throwOnError: true, strict: "error", output: "htmlAndMathml"})];
          } catch (error) { return [error.message, ""]; }
        }""")
    return context


@lru_cache(maxsize=8192)
def render(tex: str, display: bool) -> str:
    """One formula as HTML with MathML inside, or ValueError with KaTeX's message."""
    error, rendered = _context().call("render", tex, display)
    if error:
        raise ValueError(error)
    return str(rendered)


def replace(content: str, bare: Callable[[str], str], fail: Callable[[str, str], None]) -> str:
    """Render every formula of a page.

    `bare` takes the marks of inline values off; `fail(tex, message)` hears of each formula that
    does not parse.
    """

    def one(match: re.Match[str]) -> str:
        tex, display = bare(html.unescape(match["tex"])), match["open"] == "["
        try:
            rendered = render(tex.strip(), display)
        except ValueError as error:
            fail(tex, str(error))
            return f'<code class="failure">{match["tex"]}</code>'
        if display:  # a long derivation scrolls in its box, also by keyboard
            return f'<div class="formula" tabindex="0" role="group">{rendered}</div>'
        return rendered

    return FORMULA.sub(one, content)
