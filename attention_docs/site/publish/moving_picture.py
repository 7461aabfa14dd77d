"""The ribbons of a chapter as one SVG that moves by itself, for places that run no script.

`python -m attention_docs.site.publish.moving_picture SITE FILE` takes the drawings of two words
from a built site. README shows the file: GitHub draws SVG with style sheets, and no scripts in it.
"""

from __future__ import annotations

import re
import sys
from html import escape, unescape
from pathlib import Path

from attention_docs.colours import VARIABLE, read_palette

PAGE = "sequences/index.html"
WORDS = ("4", "2")  # that ask: the second saw, then the first one
SECONDS = 14
FRAME = re.compile(
    r'data-at="(\d+)">\s*<svg[^>]*?viewBox="0 0 (\d+) (\d+)"([^>]*)>(.*?)</svg>', re.S
)
ALT = re.compile(r'aria-label="([^"]*)"')
INK = "var(--figure-ink)"
# When a part comes and goes, in hundredths of the whole; the second word is half of it behind.
PARTS = {
    "word": (0, 2, 48, 50),
    "scored": (11, 13, 22, 24),
    "weighted": (22, 25, 99, 100),
    "summed": (31, 34, 99, 100),
}
RULES = f"""
.word {{ animation: word {SECONDS}s infinite }}
.scored {{ animation: scored {SECONDS}s infinite }}
.weighted {{ animation: weighted {SECONDS}s infinite }}
.summed {{ animation: summed {SECONDS}s infinite }}
.ribbon {{ animation: ribbon {SECONDS}s infinite ease-in-out }}
.later, .later * {{ animation-delay: -{SECONDS / 2:g}s }}
.later {{ opacity: 0 }}
@keyframes ribbon {{
0%, 22% {{ clip-path: inset(-2px -2px 100%) }} 28%, to {{ clip-path: inset(-2px) }}
}}
@media (prefers-reduced-motion: reduce) {{ * {{ animation: none !important }} }}
"""


def make_moving_picture(page: str) -> str:
    """The SVG, from the first ribbons in the HTML of a page."""
    ribbons = page[max(0, page.find('class="stepper ribbons"')) :]
    frames: dict[str, re.Match[str]] = {}
    for found in FRAME.finditer(ribbons):
        frames.setdefault(found[1], found)
    missing = [at for at in WORDS if at not in frames]
    if missing:
        raise ValueError(f"the page must hold drawings of the words {WORDS}, {missing} are missing")
    _, width, height, attributes, _ = frames[WORDS[0]].groups()
    alt = ALT.search(attributes)
    groups = "".join(
        f'<g class="word{" later" * n}">{frames[at][5]}</g>' for n, at in enumerate(WORDS)
    )
    paper = f'<rect width="{width}" height="{height}" rx="8" fill="var(--figure-page)"/>'
    style = _list_colours(paper + groups + INK) + _list_keyframes() + RULES
    text = escape(unescape(alt[1]), quote=False) if alt else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="560" '
        f'role="img" fill="{INK}" font-family="system-ui, sans-serif">\n'
        f"<title>{text}</title>\n<style>{style}</style>\n{paper}\n{groups}\n</svg>\n"
    )


def _list_colours(drawn: str) -> str:
    """The colours that a drawing uses, for a light page and for a dark one."""
    used = set(VARIABLE.findall(drawn))
    light, dark = (
        "".join(f"--{one}:{colour};" for one, colour in read_palette(scheme).items() if one in used)
        for scheme in ("light", "dark")
    )
    return f"\nsvg {{{light}}}\n@media (prefers-color-scheme: dark) {{ svg {{{dark}}} }}"


def _list_keyframes() -> str:
    """Each part is out of sight, comes, stays and goes."""
    return "".join(
        f"\n@keyframes {name} {{ 0%, {begins}% {{ opacity: 0 }} "
        f"{comes}%, {stays}% {{ opacity: 1 }} {goes}%, to {{ opacity: 0 }} }}"
        for name, (begins, comes, stays, goes) in PARTS.items()
    )


if __name__ == "__main__":
    site, file = map(Path, sys.argv[1:])
    file.write_text(make_moving_picture((site / PAGE).read_text("utf-8")), "utf-8")
