"""TeX to HTML at build time, by KaTeX in V8: no Node, no script in the reader's browser."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

KATEX = Path(__file__).parents[1] / "katex" / "katex.min.js"
NEQ = r"\html@mathml{\mathrel{{=}\mathllap{/\mskip2.5mu}}}{\mathrel{\char`≠}}"
INVISIBLE = re.compile("<mo>\u2061</mo>(?=</msu[bp]>)")  # a_{\min} has two parts, not three
OPERATOR = re.compile(r"<mo\b[^>]*>(?P<inner>(?=<m))?|</mo>")  # <mo> holds text: elements are a row


@lru_cache(maxsize=1)
def _context() -> Any:
    from py_mini_racer import MiniRacer

    context = MiniRacer()
    context.eval(KATEX.read_text(encoding="utf-8"))
    # KaTeX's own \neq is a character of no public meaning; this is an equals sign and a slash.
    context.eval(f"const NEQ = {json.dumps(NEQ)}")
    # An error comes back as a value: its text is for the reader, not for a stack trace.
    context.eval("""
        function render(tex, display) {
          try {
            return ["", katex.renderToString(tex, {
              displayMode: display, throwOnError: true, strict: "error", output: "htmlAndMathml",
              macros: {"\\\\neq": NEQ}})];
          } catch (error) { return [error.message, ""]; }
        }""")
    return context


@lru_cache(maxsize=8192)
def render(tex: str, display: bool) -> str:
    """One formula as HTML with MathML inside, or ValueError with KaTeX's message."""
    error, rendered = _context().call("render", tex, display)
    if error:
        raise ValueError(error)
    return _valid(rendered)


def _valid(rendered: str) -> str:
    """KaTeX's MathML as the standard has it."""
    rows: list[bool] = []

    def row(tag: re.Match[str]) -> str:
        if tag[0] == "</mo>":
            return "</mrow>" if rows.pop() else tag[0]
        rows.append(tag["inner"] is not None)
        return "<mrow>" if rows[-1] else tag[0]

    return OPERATOR.sub(row, INVISIBLE.sub("", rendered))
