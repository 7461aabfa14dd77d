"""Figures of matrices: one matrix, and a product of two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from attention_docs.figures import words
from attention_docs.figures.boxes import (
    SMALL,
    TEXT,
    Box,
    Highlight,
    checked_highlight,
    draw,
    make_box,
    opacity,
    text,
)
from attention_docs.figures.parts import (
    LANGUAGES,
    Figure,
    Label,
    both,
    colour,
    label_width,
    shown,
    svg,
    text_width,
)


def heatmap(
    matrix: Any,
    *,
    rows: Sequence[Label] | None = None,
    columns: Sequence[Label] | None = None,
    role: str = "weight",
    spec: str = ".2f",
    name: Label | None = None,
    row_axis: Label | None = None,
    column_axis: Label | None = None,
    scale: tuple[float, float] | None = None,
    highlight: Iterable[Highlight] = (),
    numbers: bool = True,
) -> Figure:
    """A matrix with its numbers, shaded by value: the larger, the stronger.

    Args:
        matrix: numbers with one or two axes; a vector is one row.
        rows: a label for every row.
        columns: a label for every column.
        role: whose colour it gets, one of `parts.ROLES`.
        spec: the format of a number.
        name: stands above the matrix.
        row_axis: what the rows are, for a matrix whose rows have no labels.
        column_axis: what the columns are.
        scale: the values of the lightest and the strongest shade; without it, the smallest value
            (at most 0) and the largest (at least 0).
        highlight: cells to outline, as (row, column) from 0; None is the whole row or column.
        numbers: False leaves the numbers out and adds a scale: for large matrices.

    Raises:
        ValueError: rows of different lengths, a wrong number of labels, an unknown role.
    """
    head = 20 * bool(row_axis or column_axis)
    box = make_box(matrix, role, spec, name, rows, columns, scale, numbers, head)
    marked = checked_highlight(box, highlight)
    row_title, column_title = both(row_axis), both(column_axis)
    ends = [] if numbers else _extremes(box, spec)
    left = 12 + max(0.0, label_width([row_title], SMALL) + 24 - box.indent if row_axis else 0.0)
    right = max(box.width, box.indent + label_width([column_title], SMALL) + 24)
    bar = [] if numbers else [shown(float(end), spec) for end in box.scale]
    if bar:
        right = max(right, box.indent + text_width("".join(bar), SMALL) + 130)
    height = box.height + 22 + 30 * bool(bar)
    drawn, alt = {}, {}
    for lang in LANGUAGES:
        start, top = left + box.indent, 10
        body = draw(box, left, top, lang, marked)
        if row_axis:
            body += text(start - 8, top + box.top - 7, f"{row_title[lang]} ↓", "end")
        if column_axis:
            body += text(start, top + 15 + 22 * bool(name), f"{column_title[lang]} →")
        if bar:
            body += _scale(start, height - 26, role, *bar)
        sentences = [
            words.matrix(box, lang) if numbers else words.shades(box, ends, lang),
            words.axes(row_title[lang], column_title[lang], lang),
            words.marked(box, marked, lang),
        ]
        alt[lang] = words.joined(sentences, lang)
        drawn[lang] = svg(left + right + 12, height, body, alt[lang])
    return Figure(drawn, alt)


def _extremes(box: Box, spec: str) -> list[tuple[str, int, int]]:
    """The smallest and the largest value, and where they first stand.

    Values that differ by rounding alone count as equal: which of them is the largest would depend
    on the processor.
    """
    cells = [(value, i, j) for i, row in enumerate(box.values) for j, value in enumerate(row)]
    low, high = min(cells)[0], max(cells)[0]
    near = 1e-9 * max(1.0, abs(low), abs(high))
    smallest = next(cell for cell in cells if cell[0] <= low + near)
    largest = next(cell for cell in cells if cell[0] >= high - near)
    return [(shown(value, spec), i, j) for value, i, j in (smallest, largest)]


def _scale(x: float, y: float, role: str, low: str, high: str) -> str:
    """Which shade is which value: the smallest on the left, the largest on the right."""
    start = x + text_width(low, SMALL) + 8
    steps = "".join(
        f'<path fill-opacity="{opacity(i / 8):.2f}" d="M{start + 12 * i:g} {y:g}h12v14h-12z"/>'
        for i in range(9)
    )
    frame = (
        f'<path d="M{start:g} {y:g}h108v14h-108z" fill="none" stroke="{colour(f"role-{role}")}"/>'
    )
    return (
        text(x, y + 12, low)
        + f'<g fill="{colour(f"role-{role}")}">{steps}</g>{frame}'
        + text(start + 116, y + 12, high)
    )


def product(
    a: Any,
    b: Any,
    c: Any,
    *,
    names: Sequence[Label] = ("A", "B", "C"),
    roles: Sequence[str] = ("neutral", "neutral", "neutral"),
    row: int | None = None,
    column: int | None = None,
    spec: str | Sequence[str] = ".0f",
    rows: Sequence[Label] | None = None,
    columns: Sequence[Label] | None = None,
) -> Figure:
    """A × B = C, the row and the column in play outlined, their cell worked out below.

    Args:
        a: (n, m), or a vector as one row.
        b: (m, p).
        c: (n, p); must be the product of the two.
        names: of the three matrices.
        roles: of the three matrices, for their colours.
        row: the row of A in play, from 0.
        column: the column of B in play, from 0.
        spec: the format of the numbers, one for all or one for each matrix.
        rows: labels for the rows of A and C.
        columns: labels for the columns of B and C.

    Raises:
        ValueError: shapes or values that do not make a product, a row or column that does not
            exist, an unknown role.
    """
    specs = [spec] * 3 if isinstance(spec, str) else list(spec)
    for what, given in (("names", names), ("roles", roles), ("specs", specs)):
        if len(given) != 3:
            raise ValueError(f"{what} must be 3, one a matrix, got {len(given)}")
    labels = ((rows, None), (None, columns), (rows, columns))
    boxes = [
        make_box(matrix, roles[i], specs[i], names[i], *labels[i])
        for i, matrix in enumerate((a, b, c))
    ]
    sizes = [(len(box.values), len(box.values[0])) for box in boxes]
    (n, m), (m_b, p), got = sizes
    if m != m_b or got != (n, p):
        raise ValueError(f"shapes must be (n, m), (m, p) and (n, p), got {sizes}")
    _check_product(*(box.values for box in boxes))
    marked = [
        checked_highlight(box, [cell] if cell != (None, None) else [])
        for box, cell in zip(boxes, [(row, None), (None, column), (row, column)], strict=True)
    ]
    tall = max(box.grid[1] for box in boxes)
    head = max(box.top for box in boxes)
    gap = 34
    total = sum(box.width for box in boxes) + 2 * gap
    worked = _worked(boxes, row, column, max(total, 380.0))
    width = max(total, *(text_width(line, TEXT) for line in worked), 0) + 24
    height = head + tall + 24 + (12 + 24 * len(worked) if worked else 0)
    drawn, alt = {}, {}
    for lang in LANGUAGES:
        body, x = [], (width - total) / 2
        for box, sign, cells in zip(boxes, ("×", "=", ""), marked, strict=True):
            body.append(draw(box, x, 10 + head - box.top + (tall - box.grid[1]) / 2, lang, cells))
            x += box.width + gap
            body.append(text(x - gap / 2, 10 + head + tall / 2 + 7, sign, "middle", 20))
        for i, line in enumerate(worked):
            body.append(text(width / 2, head + tall + 42 + 24 * i, line, "middle", TEXT))
        alt[lang] = words.product(boxes, row, column, " ".join(worked), lang)
        drawn[lang] = svg(width, height, "".join(body), alt[lang])
    return Figure(drawn, alt)


def _check_product(a: list[list[Any]], b: list[list[Any]], c: list[list[Any]]) -> None:
    """ValueError unless c is a × b, with room for float16."""
    for i, left in enumerate(a):
        for j, right in enumerate(zip(*b, strict=True)):
            terms = [x * y for x, y in zip(left, right, strict=True)]
            bound = 1e-2 * sum(abs(term) for term in terms)
            if abs(sum(terms) - c[i][j]) > bound:
                raise ValueError(
                    f"c must be a × b, got {c[i][j]} at row {i}, column {j}, wanted {sum(terms)}"
                )


def _worked(boxes: Sequence[Box], row: int | None, column: int | None, width: float) -> list[str]:
    """The cell in play as a sum, in lines of at most a width; nothing for a long sum."""
    a, b, c = boxes
    if row is None or column is None or len(b.values) > 8:
        return []
    factors = [
        (a.texts[row][k], b.texts[k][column], a.values[row][k], b.values[k][column])
        for k in range(len(b.values))
    ]
    terms = [f"{_signed(x)} × {_signed(y)}" for x, y, _, _ in factors]
    values = [(c.texts[row][column], c.values[row][column])]
    values += [pair for x, y, p, q in factors for pair in ((x, p), (y, q))]
    exact = all(isfinite(value) and float(shown_) == value for shown_, value in values)
    lines = [terms[0]]
    for term in [*(f"+ {term}" for term in terms[1:]), f"{'=' if exact else '≈'} {values[0][0]}"]:
        longer = f"{lines[-1]} {term}"
        if text_width(longer, TEXT) <= width:
            lines[-1] = longer
        else:
            lines.append(term)
    return lines


def _signed(number: str) -> str:
    """A factor: a negative one in parentheses."""
    return f"({number})" if number[0] in "-−" else number
