"""SVG as text: colours, paths, lines of text and their widths. Nothing here knows a language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from math import ceil
from string import ascii_lowercase

from attention_docs.colours import NAMES, ROLES

WIDTHS = BESIDE_TEXT, COLUMN, PAGE = 376, 560, 640
"""How wide figures stand on a page, in px: each takes the first one in which it has room."""
BROAD = 580  # px: a wider drawing needs the whole width of a page of paper, for labels of 6 pt
TEXT, LARGE = 14, 20  # font sizes: of all text; of signs between matrices and of words to tap

INK = "currentColor"
HALO = {
    "stroke": "var(--figure-page)",
    "stroke-width": "4",
    "stroke-linejoin": "round",
    "style": "paint-order:stroke",
}
"""An outline in the page's colour, which keeps a label legible over lines."""


def css_colour(name: str) -> str:
    """The CSS colour of a name in `colours.NAMES`; KeyError for any other name."""
    if name not in NAMES:
        raise KeyError(name)
    return f"var(--{name})"


def check_role(role: str) -> str:
    """The role, or ValueError."""
    if role not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
    return role


@lru_cache(maxsize=8192)
def format_decimal(number: float) -> str:
    """A number in SVG units, rounded to 1/100.

    Examples:
        >>> format_decimal(12.3456), format_decimal(-0.001), format_decimal(300.0)
        ('12.35', '0', '300')
    """
    return f"{round(number, 2) + 0.0:.7g}"


@lru_cache(maxsize=8192)  # the frames of a stepper, and of a knob, have the same boxes
def outline(*parts: str | float) -> str:
    """Commands and numbers as the outline of a path.

    Examples:
        >>> outline("M", 1.5, 2, "h", 3.004, "z")
        'M1.5 2h3z'
    """
    texts = [part if isinstance(part, str) else format_decimal(part) for part in parts]
    return re.sub(r" ?([A-Za-z]) ?", r"\1", " ".join(texts))


def polyline(points: Iterable[tuple[float, float]]) -> str:
    """The outline of a line through points.

    Examples:
        >>> polyline([(1, 2), (3, 4.5), (5, 6)])
        'M1 2L3 4.5L5 6'
    """
    start, *rest = points
    return outline("M", *start, *(part for point in rest for part in ("L", *point)))


def rectangle(x: float, y: float, width: float, height: float) -> str:
    """The outline of a rectangle by its upper left corner."""
    return outline("M", x, y, "h", width, "v", height, "h", -width, "z")


def rectangles(corners: Sequence[tuple[float, float]], width: float, height: float) -> str:
    """Rectangles of one size: each begins where the one before it does, which is short for a grid.

    Examples:
        >>> rectangles([(5, 2), (9, 2), (5, 4.5)], 4, 2)
        'M5 2h4v2h-4zm4 0h4v2h-4zm-4 2.5h4v2h-4z'
    """
    x, y = (round(one, 2) for one in corners[0])
    moves = [outline("M", x, y)]
    for next_x, next_y in corners[1:]:
        across, down = round(next_x - x, 2), round(next_y - y, 2)
        moves.append(outline("m", across, down))
        x, y = x + across, y + down  # as it is written: errors do not add up
    shape = outline("h", width, "v", height, "h", -width, "z")
    return "".join(move + shape for move in moves)


def element(name: str, body: str = "", /, **attributes: str | float | None) -> str:
    """An SVG element; attributes that are None are left out.

    Examples:
        >>> element("path", d="M0 0h9", stroke_width=0.5, fill=None)
        '<path d="M0 0h9" stroke-width="0.5"/>'
    """
    names = {key: key.rstrip("_").replace("_", "-") for key in attributes}
    texts = "".join(
        f' {names[key]}="{one if isinstance(one, str) else format_decimal(one)}"'
        for key, one in attributes.items()
        if one is not None
    )
    return f"<{name}{texts}>{body}</{name}>" if body else f"<{name}{texts}/>"


def path(d: str, **attributes: str | float | None) -> str:
    """A path; nothing where its outline is empty."""
    return d and element("path", d=d, **attributes)


def group(body: str, /, **attributes: str | float | None) -> str:
    """A group that gives its attributes to everything in it."""
    return element("g", body, **attributes)


def text(
    x: float, y: float, label: str, anchor: str = "start", size: float = TEXT, bold: bool = False
) -> str:
    """A line of text, or nothing for an empty label."""
    weight = "600" if bold else None
    return label and element(
        "text",
        escape_label(label),
        x=x,
        y=y,
        font_size=size,
        text_anchor=anchor,
        font_weight=weight,
    )


def write(x: float, y: float, label: str) -> str:
    """A line of text with the type of the group around it, or nothing for an empty label."""
    return label and element("text", escape_label(label), x=x, y=y)


def set_type(body: str, anchor: str) -> str:
    """A group that gives its type to the lines of text in it; nothing where there are none."""
    return body and element("g", body, font_size=TEXT, text_anchor=anchor)


INDEXED = r"(?<![^\Wᵀ])(?<!\.)([^\W\d_]|KV)(?:_([^\W_ᵀ]+)|ₖ)"
SYMBOL = re.compile(rf"√(?:(\d+|[^\W\d_](?!\w))|{INDEXED})(.?)|{INDEXED}(.?)")
"""A root of a number, of a letter or of one with an index, or a letter with an index, such as d_k,
d_model, KV_1 or dₖ; and what follows."""
MATH = "Attention Math"  # the font of the formulas, whose sizes in em these are:
RISE = 0.76  # of √, whose top lies on the line of text, to the height of the sign ‾
BAR, EDGE, SPACE = 0.568, 0.056, 0.68  # the ink of ‾, where it begins, and how wide the sign is
DIGIT, LETTER, SMALL = 0.5, 0.52, 0.75  # width of a digit, and of a letter; size of an index
AROUND = 0.03  # from the argument to each end of the line above it


@lru_cache(maxsize=2048)
def escape_label(label: str) -> str:
    """Escape a label for SVG; "√d_k" gets its k as a subscript, and a line above both."""
    return SYMBOL.sub(_set_symbol, escape(label, quote=False))


def escape_html_label(label: str) -> str:
    """The same for HTML; figures.css draws the root."""
    return SYMBOL.sub(_mark_symbol, escape(label, quote=False))


def _mark_symbol(found: re.Match[str]) -> str:
    plain, letter, index, after = _read_symbol(found)
    below = f"<i>{index}</i>" if _is_slanted(index) else index
    inside = plain if plain.isdigit() else f"<i>{plain or letter}</i>"
    inside += below and f"<sub>{below}</sub>"
    if found[0].startswith("√"):
        inside = f'<span class="root"><span>√</span><span>{inside}</span></span>'
    return inside + after


def _read_symbol(found: re.Match[str]) -> tuple[str, str, str, str]:
    """What stands alone under a root; or a letter and its index; and what follows."""
    plain, rooted, root_index, after_root, letter, index, after = found.groups(default="")
    letter = rooted or letter
    return plain, letter, letter and (root_index or index or "k"), after_root or after


def _is_slanted(index: str) -> bool:
    return len(index) == 1 and index.isalpha()


def _set_symbol(found: re.Match[str]) -> str:
    """A letter with an index, as formulas have it: slanted, and so is an index of one letter."""
    plain, letter, index, after = _read_symbol(found)
    if found[0].startswith("√"):
        return _set_root(plain or letter, index) + _return_to_line(index, after)
    slant = ' font-style="italic"'
    below = f'{slant * _is_slanted(index)} dy=".25em" font-size=".75em"'
    inside = f"<tspan{slant}>{letter}</tspan><tspan{below}>{index}</tspan>"
    return inside + _return_to_line(index, after)


def _return_to_line(index: str, after: str) -> str:
    """What follows a symbol: below it after an index, unless it is brought back."""
    return f'<tspan dy="-.19em">{after}</tspan>' if index else after


def _set_root(argument: str, index: str) -> str:
    """A root in the font of the formulas, whose widths are known, so that its line ends right.

    The sign, then the line of several ‾ over each other, then the argument below it.
    """
    wide = sum(DIGIT if one.isdigit() else LETTER for one in argument)
    wide += sum(DIGIT if one.isdigit() else LETTER for one in index) * SMALL
    rest = max(wide + 2 * AROUND - BAR, 0.0)  # that one ‾ does not reach over
    pieces = ceil(rest / BAR)
    steps = " ".join(format_decimal(rest / pieces - SPACE) + "em" for _ in range(pieces))
    line = f"{format_decimal(-EDGE)}em {steps}".rstrip()
    back = format_decimal(EDGE + AROUND - rest - SPACE)
    body = (
        f'<tspan dy="-{RISE}em">√</tspan><tspan dx="{line}" dy="{RISE}em">{"‾" * (1 + pieces)}'
        f'</tspan><tspan dx="{back}em">{_slant(argument)}</tspan>'
    )
    below = index and f'<tspan dy=".25em" font-size=".75em">{_slant(index)}</tspan>'
    kind = f'class="root" font-family="{MATH}" font-weight="400"'
    return f"<tspan {kind}>{body}{below}</tspan>"


def _slant(symbol: str) -> str:
    """A small letter as formulas have it; anything else as it is."""
    if _is_slanted(symbol) and symbol in ascii_lowercase:
        return "ℎ" if symbol == "h" else chr(0x1D44E + ord(symbol) - ord("a"))
    return symbol


@lru_cache(maxsize=8192)
def measure_text(label: str, size: float = TEXT) -> float:
    """A generous guess at the width of a text: a Chinese character is a square."""
    return size * sum(1.0 if ord(c) >= 0x2E80 else 0.6 for c in label)


def measure_widest(labels: Iterable[str], size: float = TEXT) -> float:
    """The width of the widest of some labels."""
    return max((measure_text(label, size) for label in labels), default=0.0)


def wrap_label(label: str, width: float) -> list[str]:
    """A label in lines: broken at spaces, and between Chinese characters."""
    lines = [""]
    for i, character in enumerate(label):
        lines[-1] += character
        if measure_text(lines[-1]) > width and i + 1 < len(label):
            line = lines[-1]
            cut = line.rfind(" ") + 1 or (len(line) if ord(line[-1]) >= 0x2E80 else 0)
            if cut:
                lines[-1:] = [line[:cut].rstrip(), line[cut:]]
    return [line for line in lines if line]


def svg_document(
    width: float, height: float, body: str, largest: float | None, alt: str, fit: str | None = None
) -> str:
    """The SVG element around a body; how far it shrinks in a narrow box says figures.css.

    It stands in one of WIDTHS: at the left in its own size, or `largest` where it grows.
    `fit` is the attribute preserveAspectRatio of one whose height a style sheet sets.
    """
    box = largest or next((one for one in WIDTHS if width <= one), PAGE)
    width = round(width, 2)  # Python 3.12 adds floats in another way: half a pixel is a tie
    style = (
        f"width:100%;max-width:{(largest or width):.0f}px;--wide:{width:.0f};--box:{box:.0f};"
        f"color:{css_colour('figure-ink')};background:{css_colour('figure-page')};"
        "font-family:var(--figure-font,sans-serif);font-style:normal"
    )
    aspect = f'preserveAspectRatio="{fit}" ' if fit else ""
    name = "attention-figure" + " broad" * (width > BROAD) + " grown" * (largest == COLUMN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(alt)}" '
        f"{aspect}"
        f'style="{style}" fill="currentColor">{body}</svg>'
    )
