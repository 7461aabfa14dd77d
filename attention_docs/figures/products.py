"""A product of two matrices, and how one of its numbers comes about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from attention_docs.figures.figure import Drawing, DrawnFigure, Figure, Language
from attention_docs.figures.matrix import Box, Cell, Matrix, check_matrix, share_scales
from attention_docs.figures.numbers import parse_number
from attention_docs.figures.svg import LARGE, measure_text, measure_widest, text

GAP, LINE = 34, 24  # between the matrices; height of a line below them
LONGEST = 8  # a sum of more terms is not worked out


@dataclass(frozen=True, repr=False)
class Product(DrawnFigure):
    """A × B = C, the row of A and the column of B in play, and the terms of their dot product."""

    matrices: tuple[Matrix, Matrix, Matrix]
    row: int | None
    column: int | None
    terms: list[str]

    @property
    def marked_cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The cells in play, matrix by matrix."""
        cells = (self.row, None), (None, self.column), (self.row, self.column)
        return tuple(() if cell == (None, None) else (cell,) for cell in cells)

    def draw(self, lang: Language) -> Drawing:
        """The three matrices side by side, their cells at one height; the sum below."""
        boxes = [Box(matrix, lang) for matrix in self.matrices]
        tall, head = max(box.grid[1] for box in boxes), max(box.top for box in boxes)
        total = sum(box.width for box in boxes) + 2 * GAP
        lines = _fill_lines(self.terms, max(total, 380.0))
        width = max(total, measure_widest(lines)) + 24
        body, x = [], (width - total) / 2
        for box, sign, cells in zip(boxes, ("×", "=", ""), self.marked_cells, strict=True):
            body.append(box.draw(x, 10 + head - box.top + (tall - box.grid[1]) / 2, cells))
            x += box.width + GAP
            body.append(text(x - GAP / 2, 10 + head + tall / 2 + 7, sign, "middle", LARGE))
        height = 10 + head + tall
        for i, line in enumerate(lines):
            body.append(text(width / 2, height + 32 + LINE * i, line, "middle"))
        below = 12 + LINE * len(lines) if lines else 0
        return Drawing(width, height + 14 + below, "".join(body))

    def describe(self, lang: Language) -> str:
        """The three matrices, and what is picked out of them."""
        boxes = [Box(matrix, lang) for matrix in self.matrices]
        names = dict(zip("abc", (lang.quote(box.name) for box in boxes), strict=True))
        sentences = [
            lang.format_phrase("products", "product", **names),
            *(box.describe() for box in boxes),
        ]
        where: dict[str, Any] = dict(names)
        if self.row is not None:
            where |= {"row": boxes[0].label_row(self.row), "i": self.row + 1}
        if self.column is not None:
            where |= {"column": boxes[1].label_column(self.column), "j": self.column + 1}
        play = "_".join(key for key in ("row", "column") if key in where)
        if self.terms:
            where["sum"] = " ".join(self.terms)
            play = "sum"
        return lang.join_texts(
            "paragraph", [*sentences, play and lang.format_phrase("products", play, **where)]
        )


def product(
    a: Any,
    b: Any,
    c: Any,
    *,
    names: Sequence[str] = ("A", "B", "C"),
    roles: Sequence[str] = ("neutral", "neutral", "neutral"),
    row: int | None = None,
    column: int | None = None,
    spec: str | Sequence[str] = ".0f",
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
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

    Examples:
        >>> product([[1, 2]], [[3], [4]], [[11]])
        A × B = C. Vector A: 1, 2. Matrix B, 2 rows and 1 column. Row 1: 3. Row 2: 4. Vector C: 11.
    """
    specs = [spec] * 3 if isinstance(spec, str) else list(spec)
    for what, texts in (("names", names), ("roles", roles), ("specs", specs)):
        if len(texts) != 3:
            raise ValueError(f"{what} must be 3, one a matrix, got {len(texts)}")
    left = check_matrix(a, roles[0], specs[0], names[0], rows=rows)
    right = check_matrix(b, roles[1], specs[1], names[1], columns=columns)
    result = check_matrix(c, roles[2], specs[2], names[2], rows=rows, columns=columns)
    sizes = [left.get_size, right.get_size, result.get_size]
    if left.get_size[1] != right.get_size[0] or result.get_size != (
        left.get_size[0],
        right.get_size[1],
    ):
        raise ValueError(f"shapes must be (n, m), (m, p) and (n, p), got {sizes}")
    _check_product(left.values, right.values, result.values)
    left.check_cells([(row, None)])
    right.check_cells([(None, column)])
    terms = [] if row is None or column is None else _list_terms(left, right, result, row, column)
    left, right, result = share_scales((left, right, result))
    return Product((left, right, result), row, column, terms)


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


def _list_terms(a: Matrix, b: Matrix, c: Matrix, row: int, column: int) -> list[str]:
    """The cell in play as a sum, in pieces between which a line may end."""
    inner = range(b.get_size[0])
    if len(inner) > LONGEST:
        return []
    factors = [(a.texts[row][k], b.texts[k][column]) for k in inner]
    products = [f"{_format_factor(x)} × {_format_factor(y)}" for x, y in factors]
    rounded = [(c.texts[row][column], c.values[row][column])]
    rounded += [(a.texts[row][k], a.values[row][k]) for k in inner]
    rounded += [(b.texts[k][column], b.values[k][column]) for k in inner]
    exact = all(isfinite(value) and parse_number(text) == value for text, value in rounded)
    sum_ = [products[0], *(f"+ {term}" for term in products[1:])]
    return [*sum_, f"{'=' if exact else '≈'} {c.texts[row][column]}"]


def _format_factor(number: str) -> str:
    """A factor: a negative one in parentheses."""
    return f"({number})" if number[0] == "−" else number


def _fill_lines(pieces: Sequence[str], width: float) -> list[str]:
    """Pieces in lines of at most a width."""
    lines: list[str] = []
    for piece in pieces:
        longer = f"{lines[-1]} {piece}" if lines else piece
        if lines and measure_text(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(piece)
    return lines
