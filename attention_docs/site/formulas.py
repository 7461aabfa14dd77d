"""TeX to HTML at build time, by KaTeX in V8: no Node, no script in the reader's browser."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

KATEX = Path(__file__).parent / "katex" / "katex.min.js"
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>', re.S
)
NEQ = r"\html@mathml{\mathrel{{=}\mathllap{/\mskip2.5mu}}}{\mathrel{\char`≠}}"
INVISIBLE = re.compile("<mo>\u2061</mo>(?=</msu[bp]>)")  # a_{\min} has two parts, not three
# The fonts of KaTeX's style sheet, and the classes that ask for them.
FONTS = {
    "Main-Regular": "katex",
    "Math-Italic": "mathnormal",
    "Main-Bold": "mathbf",
    "Main-Italic": "mathit",
    "Math-BoldItalic": "boldsymbol",
    "AMS-Regular": "amsrm|mathbb",
    "Caligraphic-Regular": "mathcal",
    "Script-Regular": "mathscr",
    "SansSerif-Regular": "mathsf|textsf",
    "Typewriter-Regular": "mathtt|texttt",
    "Size1-Regular": "delimsizing size1|delim-size1|small-op",
    "Size2-Regular": "delimsizing size2|large-op",
    "Size3-Regular": "delimsizing size3",
    "Size4-Regular": "delimsizing size4|delim-size4",
}
WAIT = """<script>{
  const { classList } = document.documentElement;
  const show = () => classList.remove("waits"); // see site.css
  classList.add("waits");
  Promise.all(FONTS.map((font) => document.fonts.load(font))).then(show, show);
  setTimeout(show, 1000);
}</script>"""
FOLDED = re.compile(r"<details\b(?! open).*?</details>", re.S)  # moves nothing: not shown yet

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


def each(content: str, change: Callable[[str], str]) -> str:
    """The page with every formula changed, which is still TeX."""
    return FORMULA.sub(lambda match: change(match[0]), content)


def replace(content: str, fail: Callable[[str, str], None]) -> str:
    """Render every formula of a page; `fail(tex, message)` hears of each that does not parse."""

    def one(match: re.Match[str]) -> str:
        tex, display = html.unescape(match["tex"]), match["open"] == "["
        try:
            rendered = render(tex.strip(), display)
        except ValueError as error:
            fail(tex, str(error))
            return f'<code class="failure">{match["tex"]}</code>'
        if display:  # a long derivation scrolls in its box
            return f'<div class="formula">{rendered}</div>'
        return rendered

    return FORMULA.sub(one, content)


def preload(html: str, folder: str) -> str:
    """Ask for the page's fonts in its head, and show the text once they are there.

    A font that comes late moves the lines it is used in. After a second the text waits no longer.
    """
    seen = FOLDED.sub("", html)
    used = [
        name
        for name, classes in FONTS.items()
        if re.search(rf'class="(?:[^"]* )?(?:{classes})[" ]', seen)
    ]
    if not used:
        return html
    links = "".join(
        f'<link rel="preload" href="{folder}KaTeX_{name}.woff2" as="font" type="font/woff2" '
        "crossorigin>"
        for name in used
    )
    wait = WAIT.replace("FONTS", json.dumps([*map(_css, used)]))
    return html.replace("</head>", f"{links}{wait}</head>", 1)


def _css(name: str) -> str:
    """A font as CSS writes it: `italic 1em KaTeX_Math`."""
    family, face = name.split("-")
    style = [word for word in ("italic", "bold") if word in face.lower()]
    return " ".join([*style, "1em", f"KaTeX_{family}"])
