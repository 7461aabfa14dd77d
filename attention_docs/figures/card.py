"""The picture that shows where a page is shared: the formula and a map of weights.

A PNG, because such places draw no SVG. It needs Pillow, and the fonts of the site's formulas.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attention_docs.attention_function import attention
from attention_docs.colours import read_palette
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures.matrix import find_opacity
from attention_docs.text import number

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

Piece = tuple[str, float, float]
"""A text, its size, and how high above the line it stands."""

SIZE = (1200, 630)
MIDDLE = 310, 325  # of the formula
EM = 62  # font size of the formula
CELL, LEFT, TOP = 150, 695, 115  # of the map
SQUARE = CELL // 5  # of the paper


class Pen:
    """Draws texts in the font of the formulas, in pixels."""

    def __init__(self, draw: ImageDraw.ImageDraw, font: Path, ink: str) -> None:
        self.draw, self.path, self.ink = draw, font, ink

    def font(self, size: float) -> ImageFont.FreeTypeFont:
        """The font in a size."""
        from PIL import ImageFont

        # Pillow's other engine is not on every machine and sets letters a little differently.
        basic = ImageFont.Layout.BASIC
        return ImageFont.truetype(self.path, size, layout_engine=basic)

    def width(self, pieces: Sequence[Piece]) -> float:
        """How wide pieces of text are together."""
        return sum(self.font(size).getlength(text) for text, size, _ in pieces)

    def write(self, x: float, y: float, pieces: Sequence[Piece]) -> float:
        """The pieces one after another on a line at y; where they end."""
        for text, size, up in pieces:
            face = self.font(size)
            self.draw.text((x, y - up), text, fill=self.ink, font=face, anchor="ls")
            x += face.getlength(text)
        return x

    def centre(self, x: float, y: float, pieces: Sequence[Piece]) -> None:
        """The pieces in the middle around x."""
        self.write(x - self.width(pieces) / 2, y, pieces)

    def rule(self, x: float, y: float, end: float) -> None:
        """The line of a fraction or of a root."""
        self.draw.rectangle((round(x), round(y), round(end), round(y) + 2), fill=self.ink)


def compute_card_weights() -> list[list[float]]:
    """The weights that the card shows: those of the three tokens of the worked example."""
    weights = attention(INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE)[1]
    found: list[list[float]] = weights.tolist()
    return found


def draw_card(weights: Sequence[Sequence[float]], font: Path) -> bytes:
    """The card with these weights, (3, 3); `font` is the file of the formulas' font."""
    from PIL import Image, ImageDraw

    colours = read_palette("light")
    image = Image.new("RGB", SIZE, colours["figure-page"])
    draw = ImageDraw.Draw(image)
    _draw_squares(draw, _mix_colours(colours, "role-score", 0.07))
    pen = Pen(draw, font, colours["figure-ink"])
    _draw_formula(pen)
    for i, row in enumerate(weights):
        along = (i + 0.5) * CELL
        pen.centre(LEFT - 45, TOP + along + 10, _set_indexed("q", i + 1, 44))
        pen.centre(LEFT + along, TOP - 28, _set_indexed("k", i + 1, 44))
        for j, weight in enumerate(row):
            x, y = LEFT + j * CELL, TOP + i * CELL
            shade = _mix_colours(colours, "role-weight-fill", find_opacity(weight))
            edge = colours["role-weight"]
            draw.rectangle((x, y, x + CELL, y + CELL), shade, edge, width=2)
            weight_text = number(weight, ".4f")
            pen.centre(x + CELL / 2, y + CELL / 2 + 12, [(weight_text, 36, 0)])
    png = io.BytesIO()
    image.save(png, "PNG", optimize=True)
    return png.getvalue()


def _draw_squares(draw: ImageDraw.ImageDraw, line: tuple[int, int, int]) -> None:
    """The lines of squared paper, on which the map's own lines lie."""
    for x in range(LEFT % SQUARE, SIZE[0], SQUARE):
        draw.line((x, 0, x, SIZE[1]), line)
    for y in range(TOP % SQUARE, SIZE[1], SQUARE):
        draw.line((0, y, SIZE[0], y), line)


def _set_italic(letters: str) -> str:
    """Letters as variables are set."""
    starts = {True: 0x1D434 - ord("A"), False: 0x1D44E - ord("a")}  # capitals, small letters
    return "".join(chr(starts[letter.isupper()] + ord(letter)) for letter in letters)


def _set_indexed(letter: str, index: int | str, size: float) -> list[Piece]:
    """A letter with an index."""
    below = str(index) if isinstance(index, int) else _set_italic(index)
    return [(_set_italic(letter), size, 0), (below, 0.7 * size, -0.15 * size)]


def _draw_formula(pen: Pen) -> None:
    """softmax(QKᵀ / √d_k) V."""
    name: list[Piece] = [("softmax", EM, 0)]
    opening: list[Piece] = [("(", 2.4 * EM, -0.35 * EM)]
    closing: list[Piece] = [(")", 2.4 * EM, -0.35 * EM)]
    above: list[Piece] = [(_set_italic("QK"), EM, 0), ("⊤", 0.7 * EM, 0.4 * EM)]
    root: list[Piece] = [("√", EM, 0.77 * EM)]
    below = _set_indexed("d", "k", EM)
    value: list[Piece] = [(_set_italic("V"), EM, 0)]
    across = max(pen.width(above), pen.width(root + below)) + 0.1 * EM
    axis = MIDDLE[1]
    x = MIDDLE[0] - (pen.width(name + opening + closing + value) + across) / 2
    x = pen.write(x, axis + 0.25 * EM, name)
    x = pen.write(x, axis + 0.25 * EM, opening)
    pen.rule(x, axis, x + across)
    pen.centre(x + across / 2, axis - 0.3 * EM, above)
    start = pen.write(x + (across - pen.width(root + below)) / 2, axis + EM, root)
    pen.rule(start, axis + 0.2 * EM, pen.write(start, axis + EM, below))
    x = pen.write(x + across, axis + 0.25 * EM, closing)
    pen.write(x + 0.1 * EM, axis + 0.25 * EM, value)


def _mix_colours(colours: Mapping[str, str], name: str, share: float) -> tuple[int, int, int]:
    """A share of a colour over that of the page."""
    over, page = (colours[one] for one in (name, "figure-page"))
    pairs = [(int(over[i : i + 2], 16), int(page[i : i + 2], 16)) for i in (1, 3, 5)]
    red, green, blue = (round(b + share * (a - b)) for a, b in pairs)
    return red, green, blue
