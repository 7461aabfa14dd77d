"""A text in pieces, row by row: what one row cuts and the next has joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from attention_docs.figures.figure import (
    Drawing,
    DrawnFigure,
    Figure,
    Language,
    Wording,
    check_label,
)
from attention_docs.figures.svg import css_colour, element, measure_widest, set_type, write

LETTER, TALL = 26, 26  # room for a letter; height of a chip
ROW, GAP, MARGIN = 36, 4, 10  # from row to row; between chips; around the drawing
ROUND = 6  # of the corners


@dataclass(frozen=True, repr=False)
class Chips(DrawnFigure):
    """Rows of pieces of one text, and what each row is."""

    labels: tuple[Wording, ...]
    rows: tuple[tuple[str, ...], ...]

    def list_joined(self, i: int) -> list[int]:
        """Which pieces of a row the row before it does not have, from 0."""
        before = set(_find_spans(self.rows[max(i - 1, 0)]))  # the first row joins nothing
        return [j for j, span in enumerate(_find_spans(self.rows[i])) if span not in before]

    def draw(self, lang: Language) -> Drawing:
        """Each piece as a box as wide as its letters, so that letters stand below each other."""
        labels = [lang.translate_label(label) for label in self.labels]
        left = MARGIN + measure_widest(labels) + 12
        body, names = [], ""
        for i, row in enumerate(self.rows):
            top = MARGIN + i * ROW
            names += write(left - 12, top + TALL / 2 + 5, labels[i])
            joined, texts = self.list_joined(i), ""
            for j, (start, end) in enumerate(_find_spans(row)):
                x, width = left + start * LETTER, (end - start) * LETTER - GAP
                body.append(draw_chip(x, top, width, j in joined))
                texts += write(x + width / 2, top + TALL / 2 + 5, row[j])
            body.append(set_type(texts, "middle"))
        wide = left + LETTER * len("".join(self.rows[0])) + MARGIN
        body.append(set_type(names, "end"))
        return Drawing(wide, MARGIN + len(self.rows) * ROW, "".join(body))

    def describe(self, lang: Language) -> str:
        """The pieces of each row, and which are new."""
        sentences = []
        for i, row in enumerate(self.rows):
            pieces, label = " · ".join(row), lang.translate_label(self.labels[i])
            joined = tuple(dict.fromkeys(row[j] for j in self.list_joined(i)))
            key = "joined" if joined else "row"
            parts = {"joined": joined} if joined else {}
            sentences.append(lang.format_phrase("chips", key, label=label, pieces=pieces, **parts))
        return lang.join_texts("paragraph", sentences)


def _find_spans(row: Sequence[str]) -> list[tuple[int, int]]:
    """Where each piece begins and ends in the text, in letters."""
    ends = list(accumulate(map(len, row)))
    return list(zip([0, *ends], ends, strict=False))


def draw_chip(x: float, top: float, width: float, filled: bool) -> str:
    """A box around a piece; filled, or empty with a thin edge."""
    return element(
        "rect",
        x=x,
        y=top,
        width=width,
        height=TALL,
        rx=ROUND,
        fill=css_colour("role-key-fill" if filled else "figure-page"),
        stroke=css_colour("role-key" if filled else "role-neutral"),
        stroke_width=2 if filled else 1,
    )


def chips(rows: Sequence[tuple[str, Sequence[str]]]) -> Figure:
    """A text in pieces, a row for each way to cut it; pieces that a row has joined stand out.

    Args:
        rows: (label, pieces), from top to bottom; the pieces of each row make the same text.

    Raises:
        ValueError: no row, an empty piece, or rows of different texts.

    Examples:
        >>> chips([("letters", ["s", "e", "a"]), ("merge 1", ["s", "ea"])])
        letters: s · e · a. merge 1: s · ea (new: ea).
    """
    texts = {"".join(pieces) for _, pieces in rows}
    if len(texts) != 1 or not all(piece for _, pieces in rows for piece in pieces):
        raise ValueError(f"the rows must cut one text into pieces, got {sorted(texts)}")
    return Chips(
        tuple(check_label(label) for label, _ in rows), tuple(tuple(pieces) for _, pieces in rows)
    )
