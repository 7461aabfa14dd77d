"""One matrix, shaded by value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from attention_docs.figures.figure import (
    Drawing,
    DrawnFigure,
    Figure,
    Language,
    Wording,
    check_label,
)
from attention_docs.figures.matrix import (
    HEADER,
    NAME,
    Box,
    Cell,
    Matrix,
    check_matrix,
    find_opacity,
)
from attention_docs.figures.numbers import format_value
from attention_docs.figures.svg import css_colour, measure_text, path, rectangle, text

SHADES = 9  # in the scale below a matrix without numbers
SPOKEN = 100  # numbers in a row that a screen reader says; it cannot go back in a label


@dataclass(frozen=True, repr=False)
class Heatmap(DrawnFigure):
    """A matrix, what its axes are, and the cells to outline."""

    matrix: Matrix
    row_axis: Wording
    column_axis: Wording
    marked_cells: tuple[Cell, ...]
    ends: tuple[str, str]  # of the scale; empty where the numbers are written
    spec: str
    ticks: int = 0  # so many lines from one with a number to the next

    def draw(self, lang: Language) -> Drawing:
        """The matrix, the names of its axes, its scale."""
        row_axis, column_axis = (
            lang.translate_label(self.row_axis),
            lang.translate_label(self.column_axis),
        )
        box = Box(self._number_lines(), lang, HEADER * bool(row_axis or column_axis))
        left, top = 12.0, 10
        start = left + box.indent
        # One line holds both names: in a narrow window no room is lost beside the cells.
        across = max(start, left + measure_text(row_axis) + 36) if row_axis else start
        right = max(left + box.width, across + measure_text(column_axis) + 24)
        body = box.draw(left, top, self.marked_cells)
        for x, axis, arrow in ((left, row_axis, "↓"), (across, column_axis, "→")):
            body += text(x, top + 15 + NAME * bool(box.name), f"{axis} {arrow}" if axis else "")
        height = box.height + 22
        if any(self.ends):
            right = max(right, start + measure_text("".join(self.ends)) + 130)
            body += _draw_scale(start, height + 4, self.matrix, *self.ends)
            height += 30
        return Drawing(right + 12, height, body)

    def _number_lines(self) -> Matrix:
        """The matrix as drawn: some rows and columns, and the last ones, with numbers from 0."""
        if not self.ticks:
            return self.matrix
        rows, columns = (
            tuple("" if i % self.ticks and i < n - 1 else str(i) for i in range(n))
            for n in self.matrix.get_size
        )
        return replace(self.matrix, rows=rows, columns=columns)

    def list_matrices(self) -> list[Matrix]:
        """Its matrix."""
        return [self.matrix]

    def rescale(self, scales: Mapping[str, tuple[float, float]]) -> Heatmap:
        """Its matrix on another scale, which stands below one without numbers."""
        matrix = self.matrix.rescale(scales)
        ends = _format_ends(matrix, self.spec) if any(self.ends) else self.ends
        return replace(self, matrix=matrix, ends=ends)

    def describe(self, lang: Language) -> str:
        """Its numbers, or the smallest and the largest; its axes; what is outlined."""
        return self._describe(lang)

    def label(self, lang: Language) -> str:
        """The same; of many numbers only the smallest and the largest."""
        return self._describe(lang, most=SPOKEN)

    def _describe(self, lang: Language, most: float = inf) -> str:
        shown = len(self._list_cells())
        brief = shown > most or (shown > 0 and any(self.ends))
        box = Box(self.matrix, lang)
        rows, columns = lang.translate_label(self.row_axis), lang.translate_label(self.column_axis)
        return lang.join_texts(
            "paragraph",
            [
                self._describe_extremes(box, lang) if brief else box.describe(),
                rows and lang.format_phrase("heatmaps", "rows", name=rows),
                columns and lang.format_phrase("heatmaps", "columns", name=columns),
                box.describe_outlined(self.marked_cells),
            ],
        )

    def _list_cells(self) -> list[tuple[float, int, int]]:
        """The values that are neither forbidden nor empty, and where they stand."""
        return [
            (value, i, j)
            for i, row in enumerate(self.matrix.values)
            for j, value in enumerate(row)
            if value is not None and (i, j) not in self.matrix.forbidden
        ]

    def _describe_extremes(self, box: Box, lang: Language) -> str:
        phrase = "shades" if any(self.ends) else "ends"
        extremes = _find_extremes(self._list_cells(), self.spec)
        places = {
            f"{end}{what}": text
            for end, (number, i, j) in zip(("low", "high"), extremes, strict=True)
            for what, text in (
                ("", number),
                ("_row", box.label_row(i)),
                ("_column", box.label_column(j)),
            )
        }
        return lang.join_texts(
            "paragraph", [box.describe_size(), lang.format_phrase("heatmaps", phrase, **places)]
        )


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
    ticks: int = 0,
) -> Figure:
    """A matrix with its numbers, shaded by value: the larger, the stronger.

    Args:
        matrix: numbers with one or two axes; a vector is one row. None leaves a cell empty.
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
        ticks: the last row and column and every so many have their number, from 0, instead of a
            label.

    Raises:
        ValueError: rows of different lengths, a wrong number of labels, an unknown role, a mask of
            another shape.

    Examples:
        >>> heatmap([[0.25, 0.75]], rows=["query 1"], columns=["key 1", "key 2"], name="weights")
        Matrix weights, 1 row and 2 columns. Columns: key 1, key 2. query 1: 0.25, 0.75.
        >>> heatmap([[1.0, 0.0], [0.5, 0.5]], allowed=[[True, False], [True, True]])
        Matrix, 2 rows and 2 columns. Row 1: 1.00, forbidden. Row 2: 0.50, 0.50.
        >>> heatmap([[None, 0.5]], columns=["key 1", "key 2"])
        Matrix, 1 row and 2 columns. Columns: key 1, key 2. Row 1: empty, 0.50.
    """
    checked = check_matrix(matrix, role, spec, name, rows, columns, scale, numbers, allowed=allowed)
    return Heatmap(
        checked,
        check_label(row_axis),
        check_label(column_axis),
        checked.check_cells(highlight),
        ("", "") if numbers else _format_ends(checked, spec),
        spec,
        ticks,
    )


def _format_ends(matrix: Matrix, spec: str) -> tuple[str, str]:
    low, high = (format_value(float(end), spec) for end in matrix.scale)
    return low, high


def _find_extremes(cells: list[tuple[float, int, int]], spec: str) -> list[tuple[str, int, int]]:
    """The smallest and the largest value, and where they first stand.

    Values that differ by rounding alone count as equal: which of them is the largest would depend
    on the processor.
    """
    low, high = min(cells)[0], max(cells)[0]
    near = 1e-9 * max(1.0, abs(low), abs(high))
    smallest = next(cell for cell in cells if cell[0] <= low + near)
    largest = next(cell for cell in cells if cell[0] >= high - near)
    return [(format_value(value, spec), i, j) for value, i, j in (smallest, largest)]


def _draw_scale(x: float, y: float, matrix: Matrix, low: str, high: str) -> str:
    """Which shade is which value: the smallest on the left, the largest on the right."""
    start, tint = x + measure_text(low) + 8, matrix.tint
    shades = ""
    for i in range(SHADES):
        share = i / (SHADES - 1)
        share = 2 * share - 1 if matrix.signed else share
        if share or not matrix.signed:
            fill = tint if share >= 0 else css_colour("role-neutral")
            cell = rectangle(start + 12 * i, y, 12, 14)
            shades += path(cell, fill=fill, fill_opacity=find_opacity(abs(share)))
    frame = path(
        rectangle(start, y, 12 * SHADES, 14), fill="none", stroke=css_colour(f"role-{matrix.role}")
    )
    end = start + 12 * SHADES + 8
    return text(x, y + 12, low) + shades + frame + text(end, y + 12, high)
