"""Hands on clock faces: where they stand, and how far they have turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, degrees, pi, sin
from typing import Any

from attention_docs.figures.figure import (
    Drawing,
    DrawnFigure,
    Figure,
    Language,
    Wording,
    check_labels,
)
from attention_docs.figures.numbers import as_lists
from attention_docs.figures.svg import INK, css_colour, group, measure_widest, outline, path, text

RADIUS, ACROSS, DOWN = 32, 96, 84  # of a dial; from dial to dial
HEAD, FOOT, EDGE = 26, 22, 10


@dataclass(frozen=True, repr=False)
class Dials(DrawnFigure):
    """A grid of dials with two hands each."""

    starts: list[list[float]]  # in radians, clockwise from the top
    ends: list[list[float]]
    rows: tuple[Wording, ...]
    columns: tuple[Wording, ...]
    below: tuple[Wording, ...]

    def draw(self, lang: Language) -> Drawing:
        """The names of the columns, the dials of each row, what stands below."""
        rows, columns, below = (
            [lang.translate_label(one) for one in labels]
            for labels in (self.rows, self.columns, self.below)
        )
        seen = [one.replace("_", "") for one in [*columns, *below]]
        across = max(ACROSS, measure_widest(seen) + 4)
        left = EDGE + (measure_widest(rows) + 10 if rows else 0.0)
        middles = [left + across * (i + 0.5) for i in range(len(self.starts[0]))]
        body = [text(x, 18, one, "middle") for x, one in zip(middles, columns, strict=False)]
        top = float(HEAD)
        for r, (starts, ends) in enumerate(zip(self.starts, self.ends, strict=True)):
            y = top + DOWN / 2
            if rows:
                body.append(text(left - 10, y + 5, rows[r], "end"))
            for x, start, end in zip(middles, starts, ends, strict=True):
                body.append(self._draw_dial(x, y, start, end))
            top += DOWN
        body += [text(x, top + 14, one, "middle") for x, one in zip(middles, below, strict=False)]
        width = left + across * len(middles) + EDGE
        return Drawing(width, top + FOOT * bool(below) + 4, "".join(body))

    def _draw_dial(self, x: float, y: float, start: float, end: float) -> str:
        """The face, the part turned through, the hand at the start and the hand at the end."""
        tint = css_colour("role-input")
        face = path(_outline_ring(x, y, RADIUS), fill="none", stroke=INK, stroke_opacity=0.35)
        turned = path(
            _outline_sector(x, y, start, end), fill=tint, fill_opacity=0.18, stroke="none"
        )
        before = path(
            _outline_hand(x, y, start), stroke=INK, stroke_width=1.5, stroke_dasharray="4 3"
        )
        after = path(_outline_hand(x, y, end), stroke=tint, stroke_width=3.5)
        tip = path(_outline_ring(*_find_hand_end(x, y, end), 4), fill=tint, stroke="none")
        return group(face + turned + before + after + tip, fill="none")

    def describe(self, lang: Language) -> str:
        """For every dial from where to where its hand turns, in degrees from the top."""
        columns = [lang.translate_label(one) for one in self.columns]
        below = [lang.translate_label(one) for one in self.below]
        sentences = [lang.format_phrase("clocks", "kind")]
        for r, (starts, ends) in enumerate(zip(self.starts, self.ends, strict=True)):
            clauses = [
                lang.format_phrase(
                    "clocks", "dial", name=name, start=_format_angle(start), end=_format_angle(end)
                )
                for name, start, end in zip(columns, starts, ends, strict=True)
            ]
            name = lang.translate_label(self.rows[r]) if self.rows else ""
            hands = lang.join_texts("clauses", clauses)
            sentences.append(
                lang.format_phrase("clocks", "row" if name else "only", name=name, hands=hands)
            )
        if below:
            sentences.append(
                lang.format_phrase("clocks", "below", notes=lang.join_texts("clauses", below))
            )
        return lang.join_texts("paragraph", sentences)


def _find_hand_end(x: float, y: float, angle: float) -> tuple[float, float]:
    """Where a hand ends: sine to the right, cosine upwards."""
    return x + RADIUS * sin(angle), y - RADIUS * cos(angle)


def _outline_hand(x: float, y: float, angle: float) -> str:
    return outline("M", x, y, "L", *_find_hand_end(x, y, angle))


def _outline_ring(x: float, y: float, radius: float) -> str:
    parts = [radius, radius, 0, 1, 1]
    return outline("M", x, y - radius, "a", *parts, 0, 2 * radius, "a", *parts, 0, -2 * radius, "z")


def _outline_sector(x: float, y: float, start: float, end: float) -> str:
    """What the hand passes over, less whole turns; nothing where it has not moved."""
    turned = (end - start) % (2 * pi)
    if turned < 1e-6 or 2 * pi - turned < 1e-6:
        return ""
    first, last = _find_hand_end(x, y, start), _find_hand_end(x, y, end)
    arc = [RADIUS, RADIUS, 0, int(turned > pi), 1, last[0] - first[0], last[1] - first[1]]
    return outline("M", x, y, "L", *first, "a", *arc, "z")


def _format_angle(radians: float) -> str:
    """Whole degrees from 0 to 359."""
    return f"{round(degrees(radians)) % 360:d}"


def dials(
    starts: Any,
    ends: Any,
    *,
    columns: Sequence[str],
    rows: Sequence[str] | None = None,
    below: Sequence[str] | None = None,
) -> Figure:
    """Clock faces in rows: a dashed hand where it starts, a strong one where it ends.

    Args:
        starts: (rows, columns), angles in radians, clockwise from the top: the sine of an angle is
            to the right, its cosine upwards.
        ends: the same shape; what lies between is tinted, less whole turns.
        columns: a label for every column.
        rows: a label for every row.
        below: a line below every column.

    Raises:
        ValueError: two shapes, a wrong number of labels.

    Examples:
        >>> dials([[0.0]], [[3.141592653589793]], columns=["hand"])
        Hands of clocks, in degrees clockwise from the top. hand from 0° to 180°.
    """
    first, last = as_lists(starts), as_lists(ends)
    sizes = [[len(row) for row in matrix] for matrix in (first, last)]
    if sizes[0] != sizes[1] or not first or len(set(sizes[0])) != 1:
        raise ValueError(f"starts and ends must be matrices of one shape, got rows of {sizes}")
    for what, labels, wanted in (
        ("columns", columns, sizes[0][0]),
        ("rows", rows, len(first)),
        ("lines below", below, sizes[0][0]),
    ):
        if labels is not None and len(labels) != wanted:
            raise ValueError(f"there must be {wanted} {what}, got {len(labels)}")
    return Dials(first, last, check_labels(rows), check_labels(columns), check_labels(below))
