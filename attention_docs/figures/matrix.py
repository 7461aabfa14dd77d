"""A matrix as a box of shaded cells: its checks, its sizes, its drawing and its words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from attention_docs.figures.figure import (
    Figure,
    Language,
    Wording,
    check_label,
    check_labels,
    get_english,
)
from attention_docs.figures.numbers import as_lists, format_value
from attention_docs.figures.svg import (
    INK,
    check_role,
    css_colour,
    element,
    group,
    measure_text,
    measure_widest,
    outline,
    path,
    polyline,
    rectangle,
    rectangles,
    set_type,
    text,
    write,
)

HEIGHT = 32  # of a cell with a number
HATCH = 8  # between the lines of a hatched cell, along an edge
NAME, HEADER = 22, 20  # height of the name above a matrix; of the labels of its columns
Cell = tuple[int | None, int | None]
"""Row and column from 0; None is the whole row or column."""


@dataclass(frozen=True)
class Matrix:
    """A matrix that can be drawn in any language."""

    name: Wording
    role: str
    values: list[list[Any]]  # None leaves a cell empty
    texts: list[list[str]]  # of the numbers; empty where only shades show them
    rows: tuple[Wording, ...]
    columns: tuple[Wording, ...]
    scale: tuple[float, float]  # the values of the lightest and of the strongest shade
    fixed: bool = False  # the scale was asked for
    forbidden: frozenset[tuple[int, int]] = frozenset()  # hatched, and without a number

    @property
    def get_size(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.values), len(self.values[0])

    @property
    def signed(self) -> bool:
        """Whether numbers below 0 have a colour of their own."""
        return self.scale[0] < 0

    @property
    def tint(self) -> str:
        """The colour of numbers above 0: one that leaves their text legible where they have any.

        Numbers below 0 are grey, so those above are not, even where they have no role.
        """
        if self.texts:  # a sign stands before them
            return css_colour(f"role-{self.role}-fill")
        return css_colour(
            "series-1" if self.signed and self.role == "neutral" else f"role-{self.role}"
        )

    def find_shade(self, i: int, j: int) -> float:
        """From −1 to 1 in steps of 1/20, with the sign of the number; 0 where it is not finite."""
        value, (low, high) = self.values[i][j], self.scale
        if value is None or not isfinite(value) or (i, j) in self.forbidden:
            return 0
        if self.signed:
            share = float(value) / max(-low, high)
        else:
            share = max(0.0, (float(value) - low) / ((high - low) or 1.0))
        return round(20 * min(1.0, max(-1.0, share))) / 20

    def rescale(self, scales: Mapping[str, tuple[float, float]]) -> Matrix:
        """The matrix on the scale of its role, unless it has one that was asked for."""
        return self if self.fixed else replace(self, scale=scales.get(self.role, self.scale))

    def check_cells(self, cells: Iterable[Cell]) -> tuple[Cell, ...]:
        """Cells to outline, or ValueError where the matrix has no such cell."""
        marked = tuple(cells)
        for cell in marked:
            if any(
                i is not None and not 0 <= i < n for i, n in zip(cell, self.get_size, strict=True)
            ):
                raise ValueError(f"highlight must lie inside {self.get_size}, got {cell}")
        return marked


def check_matrix(
    matrix: Any,
    role: str,
    spec: str,
    name: Wording = None,
    rows: Sequence[Wording] | None = None,
    columns: Sequence[Wording] | None = None,
    scale: tuple[float, float] | None = None,
    numbers: bool = True,
    allowed: Any = None,
) -> Matrix:
    """A matrix, or a vector as one row, with its numbers as text; or ValueError."""
    what = get_english(check_label(name)) or "matrix"
    values = as_lists(matrix)
    if not isinstance(values, list) or not values:
        raise ValueError(f"{what} must be a matrix or a vector, got {values!r}")
    values = values if isinstance(values[0], list) else [values]
    sizes = [len(row) if isinstance(row, list) else 0 for row in values]
    if 0 in sizes or len(set(sizes)) != 1:
        raise ValueError(f"{what} must have rows of one length, got lengths {sizes}")
    if any(isinstance(value, list) for row in values for value in row):
        raise ValueError(f"{what} must have at most 2 axes, got more")
    for labels, wanted, axis in ((rows, len(values), "rows"), (columns, sizes[0], "columns")):
        if labels is not None and len(labels) != wanted:
            raise ValueError(f"{what} must have {wanted} labels for its {axis}, got {len(labels)}")
    forbidden = _find_forbidden(allowed, what, (len(values), sizes[0]))
    known = [value for row in values for value in row if value is not None]
    finite = [float(value) for value in known if isfinite(value)]
    return Matrix(
        check_label(name),
        check_role(role),
        values,
        [
            [
                "" if value is None or (i, j) in forbidden else format_value(value, spec)
                for j, value in enumerate(row)
            ]
            for i, row in enumerate(values)
        ]
        if numbers
        else [],
        check_labels(rows),
        check_labels(columns),
        scale or _choose_scale(role, min([0.0, *finite]), max([0.0, *finite]), numbers),
        scale is not None,
        forbidden,
    )


def _choose_scale(role: str, low: float, high: float, numbers: bool) -> tuple[float, float]:
    """From 0 up; as far below 0 as above it; for weights that stand in their cells, 0 to 1."""
    if low < 0:
        return -max(-low, high), max(-low, high)
    return 0.0, 1.0 if role == "weight" and numbers and high <= 1 + 1e-9 else high


def share_scales(matrices: Iterable[Matrix]) -> list[Matrix]:
    """Matrices on one scale for each role, so that a number has one shade in a figure."""
    found = [*matrices]
    scales = _merge_scales(found)
    return [one.rescale(scales) for one in found]


def find_scales(figures: Iterable[Figure]) -> dict[str, tuple[float, float]]:
    """The scale of each role that holds for all matrices of some figures."""
    return _merge_scales(matrix for figure in figures for matrix in figure.list_matrices())


def _merge_scales(matrices: Iterable[Matrix]) -> dict[str, tuple[float, float]]:
    scales: dict[str, tuple[float, float]] = {}
    for one in matrices:
        if one.fixed or one.role == "neutral":  # grey is of many kinds
            continue
        low, high = scales.get(one.role, one.scale)
        low, high = min(low, one.scale[0]), max(high, one.scale[1])
        scales[one.role] = (-max(-low, high), max(-low, high)) if low < 0 else (low, high)
    return scales


def _find_forbidden(allowed: Any, what: str, size: tuple[int, int]) -> frozenset[tuple[int, int]]:
    """The cells where a mask is False, or ValueError where it has another size."""
    if allowed is None:
        return frozenset()
    marks = as_lists(allowed)
    if [len(row) for row in marks] != [size[1]] * size[0]:
        raise ValueError(f"{what} must have an allowed of its size {size}, got {marks}")
    return frozenset(
        (i, j) for i, row in enumerate(marks) for j, takes_part in enumerate(row) if not takes_part
    )


class Box:
    """A matrix in one language: how large it is, how it looks, what it says.

    Its cells start at `indent` from the left and at `top`, and are `grid` wide and high.
    """

    def __init__(self, matrix: Matrix, lang: Language, head: float = 0) -> None:
        self.matrix, self.lang = matrix, lang
        self.name = lang.translate_label(matrix.name)
        self.rows = [lang.translate_label(label) for label in matrix.rows]
        self.columns = [lang.translate_label(label) for label in matrix.columns]
        n, m = matrix.get_size
        if matrix.texts:
            number = max(measure_widest(row) for row in matrix.texts)
            self.cell = max(HEIGHT, number + 12, measure_widest(self.columns) + 8), float(HEIGHT)
        else:
            side = float(min(24, max(5, 416 // m)))
            self.cell = side, side
        self.grid = m * self.cell[0], n * self.cell[1]
        self.top = head + NAME * bool(self.name) + HEADER * bool(self.columns)
        self.height = self.top + self.grid[1]
        # A name that is longer than the cells sticks out on both sides.
        wide = measure_text(self.name)
        self.indent = max(
            measure_widest(self.rows) + 8 * bool(self.rows), (wide - self.grid[0]) / 2
        )
        self.width = self.indent + max(self.grid[0], (wide + self.grid[0]) / 2)

    def draw(self, x: float, y: float, marked: Iterable[Cell] = ()) -> str:
        """The box with its upper left corner at (x, y)."""
        left, top = x + self.indent, y + self.top
        (wide, _), (w, h) = self.grid, self.cell
        numbers = "".join(
            write(left + (j + 0.5) * w, top + (i + 0.5) * h + 5.3, one)
            for i, row in enumerate(self.matrix.texts)
            for j, one in enumerate(row)
        )
        columns = "".join(
            write(left + (j + 0.5) * w, top - 6, label) for j, label in enumerate(self.columns)
        )
        rows = "".join(
            write(left - 8, top + (i + 0.5) * h + 5, label) for i, label in enumerate(self.rows)
        )
        return "".join(
            [
                self._draw_shades(left, top),
                self._draw_hatching(left, top),
                self._draw_edges(left, top),
                *(self._draw_outline(left, top, cell) for cell in marked),
                text(left + wide / 2, y + 15, self.name, "middle", bold=True),
                set_type(columns, "middle"),
                set_type(rows, "end"),
                set_type(numbers, "middle"),
            ]
        )

    def _draw_shades(self, left: float, top: float) -> str:
        """The shaded cells: one path for each shade."""
        (n, m), (w, h) = self.matrix.get_size, self.cell
        corners: dict[float, list[tuple[float, float]]] = {}
        for i in range(n):
            for j in range(m):
                place = left + j * w, top + i * h
                corners.setdefault(self.matrix.find_shade(i, j), []).append(place)
        cells = {shade: rectangles(places, w, h) for shade, places in corners.items()}
        if self.matrix.signed:
            cells.pop(0, None)  # the colour of the page
        above, below = (
            "".join(
                path(d, fill_opacity=find_opacity(abs(shade)))
                for shade, d in sorted(cells.items())
                if (shade < 0) == negative
            )
            for negative in (False, True)
        )
        # A colour that leaves numbers legible; without numbers, one with more distinct shades.
        kind = "-fill" * bool(self.matrix.texts)
        tints = self.matrix.tint, css_colour(f"role-neutral{kind}")
        return "".join(
            group(d, fill=tint) for d, tint in zip((above, below), tints, strict=True) if d
        )

    def _draw_hatching(self, left: float, top: float) -> str:
        """Slanted lines over forbidden cells, which are recognisable without colour."""
        w, h = self.cell
        lines = []
        for i, j in sorted(self.matrix.forbidden):
            x, y = left + j * w, top + i * h
            # Lines x + y = c, each from the left or lower edge to the upper or right one.
            for step in range(1, round((w + h) / HATCH)):
                c = step * HATCH
                y_low, y_high = min(c, h), max(0.0, c - w)
                start, end = (x + c - y_low, y + y_low), (x + c - y_high, y + y_high)
                lines.append(polyline([start, end]))
        return path("".join(lines), stroke=css_colour("role-neutral"), stroke_width=1)

    def _draw_edges(self, left: float, top: float) -> str:
        """The frame in the colour of the role, and lines between cells that hold numbers."""
        (n, m), (wide, high), (w, h) = self.matrix.get_size, self.grid, self.cell
        lines = [outline("M", left + j * w, top, "v", high) for j in range(1, m)]
        lines += [outline("M", left, top + i * h, "h", wide) for i in range(1, n)]
        inner = path("".join(lines), stroke_width=0.5) if self.matrix.texts else ""
        frame = path(rectangle(left, top, wide, high), stroke_width=2)
        return group(inner + frame, fill="none", stroke=css_colour(f"role-{self.matrix.role}"))

    def _draw_outline(self, left: float, top: float, cell: Cell) -> str:
        (row, column), (wide, high), (w, h) = cell, self.grid, self.cell
        x, width = (left, wide) if column is None else (left + column * w, w)
        y, height = (top, high) if row is None else (top + row * h, h)
        return element(
            "rect",
            x=x,
            y=y,
            width=width,
            height=height,
            rx=3,
            fill="none",
            stroke=INK,
            stroke_width=3.5,
        )

    def describe(self) -> str:
        """Every number, row by row."""
        lang = self.lang
        no, nothing = (lang.format_phrase("matrix", key) for key in ("forbidden", "empty"))
        texts = [
            [
                one or (no if (i, j) in self.matrix.forbidden else nothing)
                for j, one in enumerate(row)
            ]
            for i, row in enumerate(self.matrix.texts)
        ]
        if len(texts) == 1 and not self.rows and not self.columns:
            return self._name_matrix("vector", numbers=lang.join_texts("list", texts[0]))
        sentences = [self.describe_size()]
        if self.columns:
            columns = [self.label_column(j) for j in range(len(self.columns))]
            sentences.append(
                lang.format_phrase("matrix", "columns", columns=lang.join_texts("list", columns))
            )
        for i, row in enumerate(texts):
            start = (
                self.label_row(i)
                if self.rows
                else lang.format_phrase("matrix", "row_first", n=i + 1)
            )
            sentences.append(
                lang.format_phrase(
                    "matrix", "numbers", row=start, numbers=lang.join_texts("list", row)
                )
            )
        return lang.join_texts("paragraph", sentences)

    def describe_size(self) -> str:
        """Name and size."""
        n, m = self.matrix.get_size
        rows = self.lang.format_phrase("matrix", "rows", n=n)
        return self._name_matrix(
            "matrix", rows=rows, columns=self.lang.format_phrase("matrix", "of_columns", n=m)
        )

    def _name_matrix(self, what: str, **parts: str) -> str:
        key = what if self.name else f"{what}_without_name"
        return self.lang.format_phrase("matrix", key, name=self.lang.quote(self.name), **parts)

    def describe_outlined(self, marked: Iterable[Cell], labels: bool = True) -> str:
        """The cells that are outlined, by the labels of their rows or by their numbers."""
        places = []
        for i, j in marked:
            row = "" if i is None else self.label_row(i, labels)
            column = "" if j is None else self.label_column(j)
            both = self.lang.format_phrase("matrix", "cell", row=row, column=column)
            places.append(both if row and column else row or column)
        clauses = self.lang.join_texts("clauses", places)
        return clauses and self.lang.format_phrase("matrix", "outlined", places=clauses)

    def label_row(self, i: int, labels: bool = True) -> str:
        """The label of a row, or its number."""
        label = self.rows[i] if self.rows and labels else ""
        return label or self.lang.format_phrase("matrix", "row", n=i + 1)

    def label_column(self, j: int) -> str:
        """The label of a column, or its number."""
        label = self.columns[j] if self.columns else ""
        return label or self.lang.format_phrase("matrix", "column", n=j + 1)


def find_opacity(shade: float) -> float:
    """A shade from 0 to 1 as an opacity; even the smallest value shows its role's colour."""
    return 0.06 + 0.94 * shade
