"""Drawings side by side: masks or maps that a reader compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attention_docs.figures.figure import Drawing, DrawnFigure, Figure, Language
from attention_docs.figures.matrix import Matrix, find_scales
from attention_docs.figures.svg import PAGE, group


@dataclass(frozen=True, repr=False)
class Beside(DrawnFigure):
    """Drawings from left to right, their upper edges at one height.

    Where a page is too narrow for that, they stand below each other.
    """

    drawings: tuple[DrawnFigure, ...]

    def draw(self, lang: Language) -> Drawing:
        """Each drawing where the one before it ends."""
        drawings = [one.draw(lang) for one in self.drawings]
        widths, heights = [one.width for one in drawings], [one.height for one in drawings]
        below = sum(widths) > PAGE
        body, x, y = "", 0.0, 0.0
        for one in drawings:
            shift = f"translate({x:g}" + (f" {y:g})" if y else ")") if x or y else None
            body += group(one.body, transform=shift)
            x, y = (0.0, y + one.height) if below else (round(x + one.width, 2), 0.0)
        return Drawing(x or max(widths), y or max(heights), body)

    def list_matrices(self) -> list[Matrix]:
        """Those of all drawings."""
        return [matrix for one in self.drawings for matrix in one.list_matrices()]

    def rescale(self, scales: Mapping[str, tuple[float, float]]) -> Beside:
        """All drawings on other scales."""
        return Beside(tuple(one.rescale(scales) for one in self.drawings))

    def describe(self, lang: Language) -> str:
        """One after another."""
        return lang.join_texts("paragraph", [one.describe(lang) for one in self.drawings])

    def label(self, lang: Language) -> str:
        """What a screen reader says of each."""
        return lang.join_texts("paragraph", [one.label(lang) for one in self.drawings])


@dataclass(frozen=True, repr=False)
class Stacked(Figure):
    """Rows of drawings from top to bottom, between which a page of paper can end."""

    rows: tuple[Beside, ...]

    def render(self, lang: Language) -> str:
        """Each row as a drawing of its own."""
        return f"<div>{''.join(row.render(lang) for row in self.rows)}</div>"

    def list_labels(self, lang: Language) -> tuple[str, ...]:
        """Row by row."""
        return tuple(row.label(lang) for row in self.rows)

    def describe(self, lang: Language) -> str:
        """Row by row."""
        return lang.join_texts("paragraph", [row.describe(lang) for row in self.rows])

    def list_matrices(self) -> list[Matrix]:
        """Those of all rows."""
        return [matrix for row in self.rows for matrix in row.list_matrices()]

    def rescale(self, scales: Mapping[str, tuple[float, float]]) -> Stacked:
        """All rows on other scales."""
        return Stacked(tuple(row.rescale(scales) for row in self.rows))


def beside(*figures: Figure, columns: int | None = None) -> Figure:
    """Figures that are one drawing each, from left to right.

    Args:
        figures: what stands side by side.
        columns: how many of them a row holds; without it, all.

    Raises:
        TypeError: no figure, or one with controls.
        ValueError: no column.

    Examples:
        >>> from attention_docs.figures import heatmap
        >>> beside(heatmap([1.0], name="a"), heatmap([2.0], name="b"))
        Vector a: 1.00. Vector b: 2.00.
    """
    drawings = tuple(one for one in figures if isinstance(one, DrawnFigure))
    if not figures or len(drawings) != len(figures):
        got = ", ".join(type(one).__name__ for one in figures) or "none"
        raise TypeError(f"beside must have figures that are one drawing each, got {got}")
    if columns is not None and columns < 1:
        raise ValueError(f"columns must be at least 1, got {columns}")
    size = columns or len(drawings)
    rows = [Beside(drawings[i : i + size]) for i in range(0, len(drawings), size)]
    together = rows[0] if len(rows) == 1 else Stacked(tuple(rows))
    return together.rescale(find_scales([together]))
