"""One matrix, shaded by value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from attention_docs.figures.figure import (
    Drawing,
    Drawn,
    Figure,
    Language,
    Wording,
    checked_label,
)
from attention_docs.figures.matrix import (
    HEADER,
    NAME,
    Box,
    Cell,
    Matrix,
    checked_matrix,
    opacity,
)
from attention_docs.figures.numbers import shown
from attention_docs.figures.svg import colour, group, path, rectangle, text, text_width

SHADES = 9  # in the scale below a matrix without numbers


@dataclass(frozen=True, repr=False)
class Heatmap(Drawn):
    """A matrix, what its axes are, and the cells to outline."""

    matrix: Matrix
    row_axis: Wording
    column_axis: Wording
    marked: tuple[Cell, ...]
    ends: tuple[str, str]  # of the scale; empty where the numbers are written
    extremes: list[tuple[str, int, int]]

    def draw(self, lang: Language) -> Drawing:
        """The matrix, the names of its axes, its scale."""
        row_axis, column_axis = lang.label(self.row_axis), lang.label(self.column_axis)
        box = Box(self.matrix, lang, HEADER * bool(row_axis or column_axis))
        left, top = 12.0, 10
        if row_axis:  # it ends where the cells begin
            left += max(0.0, text_width(row_axis) + 24 - box.indent)
        start = left + box.indent
        right = max(left + box.width, start + text_width(column_axis) + 24)
        body = box.draw(left, top, self.marked)
        if row_axis:
            body += text(start - 8, top + box.top - 7, f"{row_axis} ↓", "end")
        if column_axis:
            body += text(start, top + 15 + NAME * bool(box.name), f"{column_axis} →")
        height = box.height + 22
        if any(self.ends):
            right = max(right, start + text_width("".join(self.ends)) + 130)
            body += _scale(start, height + 4, self.matrix.role, *self.ends)
            height += 30
        return Drawing(right + 12, height, body)

    def tell(self, lang: Language) -> str:
        """Its numbers, or the smallest and the largest; its axes; what is outlined."""
        box = Box(self.matrix, lang)
        rows, columns = lang.label(self.row_axis), lang.label(self.column_axis)
        return lang.join(
            "paragraph",
            [
                self._tell_extremes(box, lang) if self.extremes else box.tell(),
                rows and lang.say("heatmaps", "rows", name=rows),
                columns and lang.say("heatmaps", "columns", name=columns),
                box.tell_outlined(self.marked),
            ],
        )

    def _tell_extremes(self, box: Box, lang: Language) -> str:
        places = {
            f"{end}{what}": told
            for end, (number, i, j) in zip(("low", "high"), self.extremes, strict=True)
            for what, told in (("", number), ("_row", box.row(i)), ("_column", box.column(j)))
        }
        return lang.join("paragraph", [box.tell_size(), lang.say("heatmaps", "shades", **places)])


def heatmap(
    matrix: Any,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    role: str = "weight",
    spec: str = ".2f",
    name: str | None = None,
    row_axis: str | None = None,
    column_axis: str | None = None,
    scale: tuple[float, float] | None = None,
    highlight: Iterable[Cell] = (),
    numbers: bool = True,
    allowed: Any = None,
) -> Figure:
    """A matrix with its numbers, shaded by value: the larger, the stronger.

    Args:
        matrix: numbers with one or two axes; a vector is one row.
        rows: a label for every row.
        columns: a label for every column.
        role: whose colour it gets, one of `colours.ROLES`.
        spec: the format of a number.
        name: stands above the matrix.
        row_axis: what the rows are, for a matrix whose rows have no labels.
        column_axis: what the columns are.
        scale: the values of the lightest and the strongest shade; without it, the smallest value
            (at most 0) and the largest (at least 0).
        highlight: cells to outline, as (row, column) from 0; None is the whole row or column.
        numbers: False leaves the numbers out and adds a scale: for large matrices.
        allowed: a mask of the matrix' shape; where it is False, a cell is hatched and its number
            left out.

    Raises:
        ValueError: rows of different lengths, a wrong number of labels, an unknown role, a mask of
            another shape.

    Examples:
        >>> heatmap([[0.25, 0.75]], rows=["query 1"], columns=["key 1", "key 2"], name="weights")
        Matrix weights, 1 row and 2 columns. Columns: key 1, key 2. query 1: 0.25, 0.75.
        >>> heatmap([[1.0, 0.0], [0.5, 0.5]], allowed=[[True, False], [True, True]])
        Matrix, 2 rows and 2 columns. Row 1: 1.00, forbidden. Row 2: 0.50, 0.50.
    """
    checked = checked_matrix(
        matrix, role, spec, name, rows, columns, scale, numbers, allowed=allowed
    )
    low, high = ("", "") if numbers else (shown(float(end), spec) for end in checked.scale)
    return Heatmap(
        checked,
        checked_label(row_axis),
        checked_label(column_axis),
        checked.checked_cells(highlight),
        (low, high),
        [] if numbers else _extremes(checked, spec),
    )


def _extremes(matrix: Matrix, spec: str) -> list[tuple[str, int, int]]:
    """The smallest and the largest value, and where they first stand.

    Values that differ by rounding alone count as equal: which of them is the largest would depend
    on the processor.
    """
    cells = [(value, i, j) for i, row in enumerate(matrix.values) for j, value in enumerate(row)]
    low, high = min(cells)[0], max(cells)[0]
    near = 1e-9 * max(1.0, abs(low), abs(high))
    smallest = next(cell for cell in cells if cell[0] <= low + near)
    largest = next(cell for cell in cells if cell[0] >= high - near)
    return [(shown(value, spec), i, j) for value, i, j in (smallest, largest)]


def _scale(x: float, y: float, role: str, low: str, high: str) -> str:
    """Which shade is which value: the smallest on the left, the largest on the right."""
    start, tint = x + text_width(low) + 8, colour(f"role-{role}")
    shades = [
        path(rectangle(start + 12 * i, y, 12, 14), fill_opacity=opacity(i / (SHADES - 1)))
        for i in range(SHADES)
    ]
    frame = path(rectangle(start, y, 12 * SHADES, 14), fill="none", stroke=tint)
    end = start + 12 * SHADES + 8
    return (
        text(x, y + 12, low) + group("".join(shades), fill=tint) + frame + text(end, y + 12, high)
    )
