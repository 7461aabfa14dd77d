"""Drawings of matrices, signs and lines of text in rows; several of them in one size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from attention_docs.figures import words
from attention_docs.figures.boxes import TEXT, Box, Highlight, draw, text
from attention_docs.figures.parts import LANGUAGES, Figure, label_width, svg

LINE, GAP, EDGE = 24, 7, 8  # height of a line of text; beside a sign; around the drawing


@dataclass(frozen=True)
class Part:
    """A matrix of a drawing, or a sign or a line of text; and when it appears."""

    what: Box | dict[str, str]
    turn: int = 0
    marked: tuple[Highlight, ...] = ()
    room: float = 0  # at least; a sign over a box is as wide as the box

    @property
    def width(self) -> float:
        """Room from left to right."""
        wide = self.what.width if isinstance(self.what, Box) else label_width([self.what], TEXT)
        return max(wide, self.room)

    @property
    def above(self) -> float:
        """From the top to the middle of the cells."""
        return self.what.top + self.below if isinstance(self.what, Box) else LINE / 2

    @property
    def below(self) -> float:
        """From the middle of the cells to the bottom."""
        return self.what.grid[1] / 2 if isinstance(self.what, Box) else LINE / 2


@dataclass(frozen=True)
class Drawing:
    """Rows of parts from top to bottom, and the caption."""

    rows: list[list[Part]]
    caption: dict[str, str]


def size_of(drawings: Iterable[Drawing]) -> tuple[float, float]:
    """Width and height in which every one of the drawings has room."""
    rows = [drawing.rows for drawing in drawings]
    width = max(_width(row) for of_one in rows for row in of_one)
    return width + 2 * EDGE, max(sum(map(_height, of_one)) for of_one in rows) + 2 * EDGE


def _gap(row: Sequence[Part]) -> float:
    """Signs stand close to what they join; boxes next to each other and their arrows do not."""
    joined = any(isinstance(part.what, Box) for part in row) and any(
        not isinstance(part.what, Box) for part in row
    )
    return GAP if joined else 20


def _width(row: Sequence[Part]) -> float:
    return sum(part.width for part in row) + _gap(row) * (len(row) - 1)


def _height(row: Sequence[Part]) -> float:
    return max(part.above for part in row) + max(part.below for part in row) + 6


def drawn(drawing: Drawing, size: tuple[float, float]) -> Figure:
    """The drawing in the middle of a size, and its matrices and numbers in words."""
    heights = [_height(row) for row in drawing.rows]
    tops = accumulate(heights[:-1], initial=(size[1] - sum(heights)) / 2)
    placed = list(zip(drawing.rows, tops, strict=True))
    svgs, alts = {}, {}
    for lang in LANGUAGES:
        body = "".join(_row(row, size[0] / 2, top, lang) for row, top in placed)
        parts = [part for row in drawing.rows for part in row]
        alts[lang] = words.joined([_told(part, lang) for part in parts], lang)
        svgs[lang] = svg(*size, body, alts[lang], 520)
    return Figure(svgs, alts)


def _row(row: Sequence[Part], middle: float, top: float, lang: str) -> str:
    x = middle - _width(row) / 2
    centre = top + max(part.above for part in row)
    body = []
    for part in row:
        if isinstance(part.what, Box):
            one = draw(part.what, x, centre - part.above, lang, part.marked)
        else:
            one = text(x + part.width / 2, centre + 5.3, part.what[lang], "middle", TEXT)
        body.append(f'<g class="turn" style="--turn:{part.turn}">{one}</g>' if part.turn else one)
        x += part.width + _gap(row)
    return "".join(body)


def _told(part: Part, lang: str) -> str:
    """A part in words: matrices, and lines of text that hold a number."""
    if isinstance(part.what, Box):
        texts = [row for row in part.what.texts if any(row)]
        box = replace(part.what, texts=texts, values=part.what.values[: len(texts)])
        outlined = words.marked(replace(box, rows=[]), part.marked, lang)
        told = words.joined([words.matrix(box, lang), outlined], lang)
    else:
        line = part.what[lang].removeprefix("↓ ")
        line = line if "=" in line else line[:1].upper() + line[1:]
        told = line + {"en": ".", "zh": "。"}[lang] if any(map(str.isdigit, line)) else ""
    return re.sub(r"\b([a-z])_(?=\d)", r"\1", told)
