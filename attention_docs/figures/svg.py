"""SVG as text: colours, paths, lines of text and their widths. Nothing here knows a language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape

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


SYMBOL = re.compile(r"(√?)(?<![^\Wᵀ])(?<!\.)([^\W\d_])(?:_([^\W_ᵀ]+)|ₖ)(.?)")
"""A letter with an index, such as d_k, d_model or dₖ; a root before it, and what follows."""


@lru_cache(maxsize=2048)
def escape_label(label: str) -> str:
    """Escape a label for SVG; "√d_k" gets its k as a subscript.

    A line above it would be one of each piece of text, at two heights.
    """
    return SYMBOL.sub(_set_symbol, escape(label, quote=False))


def escape_html_label(label: str) -> str:
    """The same for HTML."""
    return SYMBOL.sub(_mark_symbol, escape(label, quote=False))


def _mark_symbol(found: re.Match[str]) -> str:
    root, letter, index, after = found.groups(default="k")
    below = f"<i>{index}</i>" if _is_slanted(index) else index
    return f"{root}<i>{letter}</i><sub>{below}</sub>{after}"


def _is_slanted(index: str) -> bool:
    return len(index) == 1 and index.isalpha()


def _set_symbol(found: re.Match[str]) -> str:
    """A letter with an index, as formulas have it: slanted, and so is an index of one letter."""
    root, letter, index, after = found.groups(default="k")
    slant = ' font-style="italic"'
    below = f'{slant * _is_slanted(index)} dy=".25em" font-size=".75em"'
    inside = f"{root}<tspan{slant}>{letter}</tspan><tspan{below}>{index}</tspan>"
    return f'{inside}<tspan dy="-.19em">{after}</tspan>'


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
    width: float,
    height: float,
    body: str,
    largest: float | None,
    alt: str,
    fit: str | None = None,
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
