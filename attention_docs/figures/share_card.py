"""What shows where a page is shared: "I saw a saw", its ribbons and the formula; or a chapter.

PNGs, because such places draw no SVG. They need Pillow, and the fonts of the site's formulas.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from attention_docs.colours import read_palette
from attention_docs.softmax import softmax
from attention_docs.text import number

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

Piece = tuple[str, float, float]
"""A text, its size, and how high above the line it stands."""

SIZE = (1200, 630)
SCALE = 3  # drawn so much larger and then shrunk, for smooth edges
WORDS, ASKING, NAMES = ("I", "saw", "a", "saw"), 3, ("verb", "noun")
TITLE = ("I saw a saw.", "Which one cuts?")
FORMULA = 270, 480  # its middle
EM = 50  # font size of the formula
LEFT, PITCH, BOX = 655, 140, (112, 66)  # of the words: first column, columns, size of a box
UPPER, LOWER = 70, 370  # tops of the two rows
BARS, BAR = (725, 480), 52  # upper left corner of the output, height of its rows
LONGEST = 370  # a bar of 1
SQUARE = 30  # of the paper
# Of the card of a chapter:
GLYPH, PER_UNIT = (672, 81), 30  # upper left corner of its matrix; px for a unit of its drawing
TITLES, TITLE_END = 60, 640  # font size; where its lines end
INDEX, COLOURS = "ₖ", 16  # which the font of formulas has not; of the picture, for a small file


class Pen:
    """Draws in pixels of the card: texts in the font of the formulas, boxes and areas."""

    def __init__(self, draw: ImageDraw.ImageDraw, font: Path, ink: str, scale: int = SCALE) -> None:
        self.draw, self.path, self.ink, self.scale = draw, font, ink, scale

    def font(self, size: float) -> ImageFont.FreeTypeFont:
        """The font in a size, as large as it is drawn."""
        from PIL import ImageFont

        # Pillow's other engine is not on every machine and sets letters a little differently.
        basic = ImageFont.Layout.BASIC
        return ImageFont.truetype(self.path, self.scale * size, layout_engine=basic)

    def width(self, pieces: Sequence[Piece]) -> float:
        """How wide pieces of text are together."""
        return sum(self.font(size).getlength(text) for text, size, _ in pieces) / self.scale

    def write(self, x: float, y: float, pieces: Sequence[Piece]) -> float:
        """The pieces one after another on a line at y; where they end."""
        for text, size, up in pieces:
            face = self.font(size)
            place = self.scale * x, self.scale * (y - up)
            self.draw.text(place, text, fill=self.ink, font=face, anchor="ls")
            x += face.getlength(text) / self.scale
        return x

    def centre(self, x: float, y: float, pieces: Sequence[Piece]) -> None:
        """The pieces in the middle around x."""
        self.write(x - self.width(pieces) / 2, y, pieces)

    def rule(self, x: float, y: float, end: float) -> None:
        """The line of a fraction or of a root."""
        self.draw.rectangle([self.scale * one for one in (x, y, end, y + 2)], fill=self.ink)

    def box(
        self, corners: Sequence[float], fill: str, edge: str, width: float, radius: float = 10
    ) -> None:
        """A box with round corners: left, top, right, bottom."""
        self.draw.rounded_rectangle(
            [self.scale * one for one in corners],
            self.scale * radius,
            fill,
            edge,
            round(self.scale * width),
        )

    def polygon(self, points: Sequence[tuple[float, float]], fill: str, edge: str) -> None:
        """An area with a thin edge."""
        self.draw.polygon(
            [(self.scale * x, self.scale * y) for x, y in points], fill, edge, self.scale
        )


def compute_card_weights() -> list[float]:
    """The weights of the second saw on the first page: it looks for the word before it."""
    steps = np.arange(len(WORDS)) - (ASKING - 1)  # from the word that it asks for, 60° each
    found: list[float] = softmax(6 * np.cos(np.pi / 3 * steps)).tolist()
    return found


def draw_card(weights: Sequence[float], font: Path) -> bytes:
    """The card with the weights of the last word; `font` is the file of the formulas' font."""
    from PIL import Image, ImageDraw

    colours = read_palette("light")
    whole = SIZE[0] * SCALE, SIZE[1] * SCALE
    image = Image.new("RGB", whole, colours["figure-page"])
    draw = ImageDraw.Draw(image)
    _draw_squares(draw, _mix_colours(colours, "role-score", 0.07), SCALE)
    pen = Pen(draw, font, colours["figure-ink"])
    for line, y in zip(TITLE, (150, 245), strict=True):
        pen.write(60, y, [(line, 66, 0)])
    _draw_formula(pen)
    _draw_ribbons(pen, weights, colours)
    _draw_words(pen, colours)
    _draw_output(pen, (weights[0], weights[2]), colours)
    png = io.BytesIO()
    image.resize(SIZE, Image.Resampling.LANCZOS).save(png, "PNG", optimize=True)
    return png.getvalue()


def draw_chapter_card(number: str, title: str, glyph: str, font: Path) -> bytes:
    """The card of a chapter: its number, its title and, in large, its glyph, an SVG of squares.

    Without a title, which has to be in the font, the number is larger.
    """
    from PIL import Image, ImageDraw

    colours = read_palette("light")
    image = Image.new("RGB", SIZE, colours["figure-page"])
    draw = ImageDraw.Draw(image)
    _draw_squares(draw, _mix_colours(colours, "role-score", 0.07), 1)
    pen = Pen(draw, font, colours["figure-ink"], 1)
    for x, y, side, share in read_squares(glyph):
        left, top, wide = (round(PER_UNIT * one) for one in (x, y, side))
        left, top = left + GLYPH[0], top + GLYPH[1]
        fill = _mix_colours(colours, "role-weight-fill", share)
        draw.rectangle((left, top, left + wide - 1, top + wide - 1), fill)
    words = [_split_symbol(word) for word in title.split()]
    if words:
        pen.write(60, 160, [(number, 96, 0)])
        _write_title(pen, words)
    else:
        pen.centre(330, 430, [(number, 330, 0)])
    png = io.BytesIO()
    image.quantize(COLOURS).save(png, "PNG", optimize=True)
    return png.getvalue()


def read_squares(glyph: str) -> list[tuple[float, float, float, float]]:
    """Left, top, side and opacity of each square of a chapter's glyph.

    Examples:
        >>> read_squares('<svg><path d="M4 0h3.6v3.6h-3.6z" fill-opacity=".5"/></svg>')
        [(4.0, 0.0, 3.6, 0.5)]
    """
    found = []
    for part in ElementTree.fromstring(glyph).iter():
        share = float(part.get("fill-opacity", "1"))
        for x, y, side in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v", part.get("d", "")):
            found.append((float(x), float(y), float(side), share))
    return found


def _split_symbol(word: str) -> list[Piece]:
    """A word of a title as pieces; √dₖ as formulas have it."""
    before, symbol, after = word.partition("√d" + INDEX)
    if not symbol:
        return [(word, TITLES, 0)]
    root: Piece = ("√", TITLES, 0.77 * TITLES)
    return [
        *([(before, TITLES, 0.0)] if before else []),
        root,
        *_set_indexed("d", "k", TITLES),
        *([(after, TITLES, 0.0)] if after else []),
    ]


def _write_title(pen: Pen, words: Sequence[list[Piece]]) -> None:
    """Words in lines, with the line of a root over what stands under it."""
    space = pen.width([(" ", TITLES, 0)])
    x, y = 60.0, 260.0
    for word in words:
        if x > 60 and x + pen.width(word) > TITLE_END:
            x, y = 60.0, y + 1.25 * TITLES
        for piece in word:
            x = pen.write(x, y, [piece])
            if piece[0] == "√":
                pen.rule(x, y - 0.8 * TITLES, x + pen.width(_set_indexed("d", "k", TITLES)))
        x += space


def _draw_ribbons(pen: Pen, weights: Sequence[float], colours: Mapping[str, str]) -> None:
    """From each word to the one that asks; side by side they are as wide as its box."""
    end = LEFT + ASKING * PITCH - BOX[0] / 2
    for j, weight in enumerate(weights):
        x, share = LEFT + j * PITCH, weight * BOX[0]
        to, end = end + share / 2, end + share
        sides = [_trace_fall(x + side, to + side) for side in (-share / 2, share / 2)]
        shape = [*sides[0], *sides[1][::-1]]
        pen.polygon(shape, colours["role-weight-fill"], colours["role-weight"])
        label = number(weight, ".2f")
        y = UPPER + BOX[1] + 36
        if share > pen.width([(label, 30, 0)]):
            pen.centre(x, y, [(label, 30, 0)])
        else:
            pen.write(x - share / 2 - 8 - pen.width([(label, 30, 0)]), y, [(label, 30, 0)])


def _trace_fall(x: float, to: float) -> list[tuple[float, float]]:
    """Points of the curve from the upper row to the lower one, which leaves both upright."""
    start, end = UPPER + BOX[1], LOWER
    found = []
    for t in np.linspace(0, 1, 60):
        slow = 3 * t**2 - 2 * t**3  # across: both inner points lie as far as the outer ones
        down = 1.5 * t * (1 - t) + t**3
        found.append((x + slow * (to - x), start + down * (end - start)))
    return found


def _draw_words(pen: Pen, colours: Mapping[str, str]) -> None:
    """Both rows; the word that asks has the frame of queries."""
    for row, top in enumerate((UPPER, LOWER)):
        for j, word in enumerate(WORDS):
            x = LEFT + j * PITCH
            asks = row == 1 and j == ASKING
            edge = colours["role-key" if row == 0 else "role-query" if asks else "role-neutral"]
            box = x - BOX[0] / 2, top, x + BOX[0] / 2, top + BOX[1]
            pen.box(box, colours["figure-page"], edge, 5 if asks else 2)
            pen.centre(x, top + BOX[1] / 2 + 12, [(word, 40, 0)])


def _draw_output(pen: Pen, outputs: Sequence[float], colours: Mapping[str, str]) -> None:
    """A bar for verb and one for noun."""
    x, top = BARS
    for k, (name, value) in enumerate(zip(NAMES, outputs, strict=True)):
        y = top + k * BAR
        pen.write(x - 14 - pen.width([(name, 32, 0)]), y + 27, [(name, 32, 0)])
        end = x + LONGEST * value
        pen.box((x, y, end, y + 34), colours["role-output-fill"], colours["role-output"], 2, 0)
        pen.write(end + 12, y + 27, [(number(value, ".2f"), 32, 0)])


def _draw_squares(draw: ImageDraw.ImageDraw, line: tuple[int, int, int], scale: int) -> None:
    """The lines of squared paper."""
    width, height = (scale * one for one in SIZE)
    for x in range(0, width, scale * SQUARE):
        draw.line((x, 0, x, height), line, scale)
    for y in range(0, height, scale * SQUARE):
        draw.line((0, y, width, y), line, scale)


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
    axis = FORMULA[1]
    x = FORMULA[0] - (pen.width(name + opening + closing + value) + across) / 2
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
