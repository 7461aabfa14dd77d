"""A matrix as a box of cells: its size, its shades, its outlines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from attention_docs.figures.parts import (
    Label,
    both,
    colour,
    label_width,
    markup,
    plain,
    role_checked,
    shown,
    text_width,
)

HEIGHT, TEXT, SMALL = 32, 15, 14  # of a cell; of its number; of a label
Highlight = tuple[int | None, int | None]


@dataclass(frozen=True)
class Box:
    """A matrix as it is drawn: its numbers as text, its shades, its labels, its place."""

    name: dict[str, str]
    role: str
    values: list[list[Any]]
    texts: list[list[str]]
    shades: list[list[float]]
    rows: list[dict[str, str]]
    columns: list[dict[str, str]]
    cell: tuple[float, float]
    scale: tuple[float, float]
    numbers: bool
    head: float = 0

    @property
    def left(self) -> float:
        """Room for the labels of the rows."""
        return label_width(self.rows, SMALL) + 8 if self.rows else 0

    @property
    def top(self) -> float:
        """Room for the name, a line under it, and the labels of the columns."""
        return self.head + 22 * bool(self.name["en"]) + 20 * bool(self.columns)

    @property
    def grid(self) -> tuple[float, float]:
        """Width and height of the cells together."""
        return len(self.values[0]) * self.cell[0], len(self.values) * self.cell[1]

    @property
    def indent(self) -> float:
        """From the left edge to the cells: they stand in the middle under a longer name."""
        return max(self.left, (label_width([self.name], SMALL) - self.grid[0]) / 2)

    @property
    def width(self) -> float:
        """All of it; a name that is longer than the cells sticks out on both sides."""
        return self.indent + max(self.grid[0], (label_width([self.name], SMALL) + self.grid[0]) / 2)

    @property
    def height(self) -> float:
        """All of it."""
        return self.top + self.grid[1]


def make_box(
    matrix: Any,
    role: str,
    spec: str,
    name: Label | None = None,
    rows: Sequence[Label] | None = None,
    columns: Sequence[Label] | None = None,
    scale: tuple[float, float] | None = None,
    numbers: bool = True,
    head: float = 0,
) -> Box:
    """Check a matrix and its labels, and measure its box."""
    role_checked(role)
    title = both(name)
    what = title["en"] or "matrix"
    values = plain(matrix)
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
    row_labels, column_labels = ([both(label) for label in ls or ()] for ls in (rows, columns))
    texts = [[shown(value, spec) for value in row] for row in values] if numbers else []
    finite = [float(value) for row in values for value in row if isfinite(value)]
    low, high = scale or (min([0.0, *finite]), max([0.0, *finite]))
    span = (high - low) or 1.0
    shades = [[_shade(value, low, span) for value in row] for row in values]
    if numbers:
        longest = max(text_width(text, TEXT) for row in texts for text in row) + 12
        cell = (max(HEIGHT, longest, label_width(column_labels, SMALL) + 8), HEIGHT)
    else:
        side = min(24, max(5, 416 // sizes[0]))
        cell = (side, side)
    ends = (low, high)
    return Box(
        title, role, values, texts, shades, row_labels, column_labels, cell, ends, numbers, head
    )


def _shade(value: float, low: float, span: float) -> float:
    """From 0 to 1 in steps of 1/20; what is not finite stays blank."""
    return round(20 * min(1, max(0, (value - low) / span))) / 20 if isfinite(value) else 0


def draw(box: Box, x: float, y: float, lang: str, highlight: Iterable[Highlight] = ()) -> str:
    """The box with its upper left corner at (x, y)."""
    left, top = x + box.indent, y + box.top
    (wide, high), (w, h) = box.grid, box.cell
    body = [_cells(box, left, top), _edges(box, left, top)]
    for row, column in highlight:
        rx, rw = (left, wide) if column is None else (left + column * w, w)
        ry, rh = (top, high) if row is None else (top + row * h, h)
        body.append(
            f'<rect x="{rx:g}" y="{ry:g}" width="{rw:g}" height="{rh:g}" rx="3" fill="none" '
            'stroke="currentColor" stroke-width="3.5"/>'
        )
    body.append(text(left + wide / 2, y + 15, box.name[lang], "middle", bold=True))
    for j, label in enumerate(box.columns):
        body.append(text(left + (j + 0.5) * w, top - 6, label[lang], "middle"))
    for i, label in enumerate(box.rows):
        body.append(text(left - 8, top + (i + 0.5) * h + 5, label[lang], "end"))
    for i, line in enumerate(box.texts):
        for j, one in enumerate(line):
            body.append(text(left + (j + 0.5) * w, top + (i + 0.5) * h + 5.3, one, "middle", TEXT))
    return "".join(body)


def _cells(box: Box, left: float, top: float) -> str:
    """The shaded squares: one path for each shade."""
    w, h = box.cell
    by_shade: dict[float, list[str]] = {}
    for i, row in enumerate(box.shades):
        for j, shade in enumerate(row):
            by_shade.setdefault(shade, []).append(
                f"M{left + j * w:g} {top + i * h:g}h{w:g}v{h:g}h-{w:g}z"
            )
    paths = "".join(
        f'<path fill-opacity="{opacity(shade):.2f}" d="{"".join(squares)}"/>'
        for shade, squares in sorted(by_shade.items())
    )
    # A colour that leaves numbers legible; where there are none, one that tells more shades apart.
    name = f"role-{box.role}{'-fill' * box.numbers}"
    return f'<g fill="{colour(name)}">{paths}</g>'


def opacity(shade: float) -> float:
    """A shade from 0 to 1 as an opacity; even the smallest value shows its role's colour."""
    return 0.06 + 0.94 * shade


def _edges(box: Box, left: float, top: float) -> str:
    """The frame in the colour of the role, and lines between cells that hold numbers."""
    (wide, high), (w, h) = box.grid, box.cell
    lines = [f"M{left + j * w:g} {top:g}v{high:g}" for j in range(1, len(box.values[0]))]
    lines += [f"M{left:g} {top + i * h:g}h{wide:g}" for i in range(1, len(box.values))]
    inner = f'<path d="{"".join(lines)}" stroke-width=".5"/>' if box.numbers and lines else ""
    frame = f'<path d="M{left:g} {top:g}h{wide:g}v{high:g}h-{wide:g}z" stroke-width="2"/>'
    return f'<g fill="none" stroke="{colour(f"role-{box.role}")}">{inner}{frame}</g>'


def text(
    x: float, y: float, label: str, anchor: str = "start", size: float = SMALL, bold: bool = False
) -> str:
    """A text element, or nothing for an empty label."""
    weight = ' font-weight="600"' if bold else ""
    return label and (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{weight}>'
        f"{markup(label)}</text>"
    )


def checked_highlight(box: Box, highlight: Iterable[Highlight]) -> list[Highlight]:
    """The cells to outline, or ValueError where the matrix has no such cell."""
    size = len(box.values), len(box.values[0])
    marked = list(highlight)
    for cell in marked:
        if any(i is not None and not 0 <= i < n for i, n in zip(cell, size, strict=True)):
            raise ValueError(f"highlight must lie inside {size}, got {cell}")
    return marked
