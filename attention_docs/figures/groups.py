"""Drawings side by side: masks or maps that a reader compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attention_docs.figures.figure import Drawing, DrawnFigure, Figure, Language
from attention_docs.figures.matrix import Matrix, find_scales
from attention_docs.figures.svg import group


@dataclass(frozen=True, repr=False)
class Beside(DrawnFigure):
    """Drawings from left to right, their upper edges at one height."""

    drawings: tuple[DrawnFigure, ...]

    def draw(self, lang: Language) -> Drawing:
        """Each drawing where the one before it ends."""
        body, x, height = [], 0.0, 0.0
        for one in self.drawings:
            drawing = one.draw(lang)
            shift = f"translate({x:g})" if x else None
            body.append(group(drawing.body, transform=shift))
            x, height = round(x + drawing.width, 2), max(height, drawing.height)
        return Drawing(x, height, "".join(body))

    def list_matrices(self) -> list[Matrix]:
        """Those of all drawings."""
        return [matrix for one in self.drawings for matrix in one.list_matrices()]

    def rescale(self, scales: Mapping[str, tuple[float, float]]) -> Beside:
        """All drawings on other scales."""
        return Beside(tuple(one.rescale(scales) for one in self.drawings))

    def describe(self, lang: Language) -> str:
        """One after another."""
        return lang.join_texts("paragraph", [one.describe(lang) for one in self.drawings])


def beside(*figures: Figure) -> Figure:
    """Figures that are one drawing each, from left to right.

    Raises:
        TypeError: no figure, or one with controls.

    Examples:
        >>> from attention_docs.figures import heatmap
        >>> beside(heatmap([1.0], name="a"), heatmap([2.0], name="b"))
        Vector a: 1.00. Vector b: 2.00.
    """
    drawings = tuple(one for one in figures if isinstance(one, DrawnFigure))
    if not figures or len(drawings) != len(figures):
        got = ", ".join(type(one).__name__ for one in figures) or "none"
        raise TypeError(f"beside must have figures that are one drawing each, got {got}")
    together = Beside(drawings)
    return together.rescale(find_scales([together]))
