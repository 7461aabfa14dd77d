"""Rows of matrices, signs and lines of text; several drawings of them in one size."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from attention_docs.figures.figure import Drawing, DrawnFigure, Language, Wording
from attention_docs.figures.matrix import Box, Cell, Matrix
from attention_docs.figures.svg import measure_text, text

LINE, EDGE = 24, 8  # height of a line of text; around the drawing
BESIDE, JOINED = 20, 7  # between matrices; between a matrix and a sign
UNDER = 6  # below a row


@dataclass(frozen=True)
class Part:
    """A matrix, a sign or a line of text.

    Attributes:
        what: the matrix or the text.
        turn: when it appears after the reader has moved; 0 is at once.
        marked: cells of the matrix to outline.
        over: a matrix that a text is as wide as.
        sentence: the text in the description; nothing for a sign.
    """

    what: Matrix | Wording
    turn: int = 0
    marked: Sequence[Cell] = ()
    over: Matrix | None = None
    sentence: Wording = None

    def describe(self, lang: Language) -> str:
        """The numbers of a matrix, or the sentence."""
        if not isinstance(self.what, Matrix):
            return lang.translate_label(self.sentence)
        box = Box(self.what, lang)
        return lang.join_texts(
            "paragraph", [box.describe(), box.describe_outlined(self.marked, labels=False)]
        )


class PlacedPart:
    """A part in one language: its width, and its room above and below the middle of a row."""

    def __init__(self, part: Part, lang: Language) -> None:
        self.part = part
        self.box = Box(part.what, lang) if isinstance(part.what, Matrix) else None
        if self.box:
            self.width, self.below = self.box.width, self.box.grid[1] / 2
            self.above = self.box.top + self.below
        else:
            self.label = "" if isinstance(part.what, Matrix) else lang.translate_label(part.what)
            least = Box(part.over, lang).width if part.over else 0.0
            self.width = max(measure_text(self.label), least)
            self.above = self.below = LINE / 2

    def draw(self, x: float, middle: float) -> str:
        """The part from x on."""
        if self.box:
            body = self.box.draw(x, middle - self.above, self.part.marked)
        else:
            body = text(x + self.width / 2, middle + 5.3, self.label, "middle")
        turn = self.part.turn
        return f'<g class="turn" style="--turn:{turn}">{body}</g>' if turn else body


class Row:
    """Parts side by side in one language."""

    def __init__(self, parts: Sequence[Part], lang: Language) -> None:
        self.parts = [PlacedPart(part, lang) for part in parts]
        # Signs stand close to what they join; matrices, and arrows, do not.
        self.gap = JOINED if len({bool(part.box) for part in self.parts}) == 2 else BESIDE
        self.width = sum(part.width for part in self.parts) + self.gap * (len(parts) - 1)
        self.above = max(part.above for part in self.parts)
        self.height = self.above + max(part.below for part in self.parts) + UNDER

    def draw(self, middle: float, top: float) -> str:
        """The parts around a vertical line, below a height."""
        body, x = [], middle - self.width / 2
        for part in self.parts:
            body.append(part.draw(x, top + self.above))
            x += part.width + self.gap
        return "".join(body)


class Sheet:
    """The size in which each of several drawings has room."""

    def __init__(self, drawings: Sequence[Sequence[Sequence[Part]]]) -> None:
        self.drawings = drawings
        self.sizes: dict[str, tuple[float, float]] = {}

    def measure(self, lang: Language) -> tuple[float, float]:
        """Width and height in a language, measured once."""
        if lang.name not in self.sizes:
            drawings = [[Row(parts, lang) for parts in drawing] for drawing in self.drawings]
            width = max(row.width for rows in drawings for row in rows)
            height = max(sum(row.height for row in rows) for rows in drawings)
            self.sizes[lang.name] = width + 2 * EDGE, height + 2 * EDGE
        return self.sizes[lang.name]


@dataclass(frozen=True, repr=False)
class Rows(DrawnFigure):
    """Rows of parts from top to bottom, in the middle of a sheet."""

    rows: Sequence[Sequence[Part]]
    sheet: Sheet

    def draw(self, lang: Language) -> Drawing:
        """Row by row."""
        width, height = self.sheet.measure(lang)
        rows = [Row(parts, lang) for parts in self.rows]
        body, top = [], (height - sum(row.height for row in rows)) / 2
        for row in rows:
            body.append(row.draw(width / 2, top))
            top += row.height
        return Drawing(width, height, "".join(body))

    def list_matrices(self) -> list[Matrix]:
        """Those of its parts."""
        return [part.what for row in self.rows for part in row if isinstance(part.what, Matrix)]

    def rescale(self, scales: Mapping[str, tuple[float, float]]) -> Rows:
        """Its parts on other scales."""
        rows = [
            [
                replace(part, what=part.what.rescale(scales))
                if isinstance(part.what, Matrix)
                else part
                for part in row
            ]
            for row in self.rows
        ]
        return Rows(rows, self.sheet)

    def describe(self, lang: Language) -> str:
        """Part by part; "k_1" is described as "k1"."""
        description = lang.join_texts(
            "paragraph", [part.describe(lang) for row in self.rows for part in row]
        )
        return re.sub(r"\b([a-z])_(?=\d)", r"\1", description)
