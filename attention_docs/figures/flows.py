"""The flow of numbers from inputs to outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from attention_docs.figures.figure import (
    Drawing,
    DrawnFigure,
    Figure,
    Language,
    Wording,
    check_label,
)
from attention_docs.figures.matrix import Box, Matrix, check_matrix, share_scales
from attention_docs.figures.svg import HALO, INK, group, measure_text, outline, path, text

BESIDE, BETWEEN = 28, 48  # between boxes of a stage; between stages
LANE = 16  # between two lines that pass stages
EDGE = 12


class Link(NamedTuple):
    """An arrow from a box to a box of a later stage."""

    start: int
    end: int
    label: Wording = None


class Curve(NamedTuple):
    """An arrow to draw, and the position of its label."""

    arrow: str
    x: float
    y: float
    anchor: str
    label: str


class PlacedBox:
    """A box at its place."""

    def __init__(self, box: Box, x: float, y: float) -> None:
        self.box, self.x, self.y = box, x, y
        self.cells = x + box.indent, x + box.indent + box.grid[0]  # their left and right edge
        self.middle = x + box.indent + box.grid[0] / 2  # where arrows start and end
        self.bottom = y + box.height


@dataclass(frozen=True, repr=False)
class Flow(DrawnFigure):
    """Matrices in stages from top to bottom, and the arrows between them."""

    matrices: list[Matrix]
    stage: list[int]  # of each matrix
    links: list[Link]
    title: Wording

    def draw(self, lang: Language) -> Drawing:
        """The boxes, the arrows, then their labels over both."""
        boxes = self._place_boxes(lang)
        curves: list[Curve] = []
        lanes: list[float] = []
        for link in self.links:
            if self.stage[link.end] == self.stage[link.start] + 1:
                curves.append(self._make_curve(boxes, link, lang))
            else:
                lane = self._choose_lane(boxes, link, lanes)
                lanes.append(lane)
                curves.append(
                    _make_lane_curve(boxes[link.start], boxes[link.end], lane, lang, link)
                )
        spans = [(0.0, max(one.x + one.box.width for one in boxes) + EDGE)]
        for curve in curves:
            wide = measure_text(curve.label)
            if curve.anchor == "start":
                spans.append((0, curve.x + wide + EDGE))
            elif wide:
                spans.append((curve.x - wide - EDGE, 0))
        left, right = min(span[0] for span in spans), max(span[1] for span in spans)
        arrows = group("".join(one.arrow for one in curves), stroke=INK, stroke_width=1.5)
        labels = group("".join(text(c.x, c.y, c.label, c.anchor) for c in curves), **HALO)
        body = "".join(one.box.draw(one.x, one.y) for one in boxes) + arrows + labels
        shift = f"translate({-left:g})" if left else None
        height = max(one.bottom for one in boxes) + EDGE
        return Drawing(right - left, height, group(body, transform=shift))

    def _place_boxes(self, lang: Language) -> list[PlacedBox]:
        """The boxes at their places, every stage in the middle of the drawing."""
        boxes = [Box(matrix, lang) for matrix in self.matrices]
        wide = [0.0] * len(boxes)  # of the labels at the arrows into each box
        for link in self.links:
            wide[link.end] = max(wide[link.end], measure_text(lang.translate_label(link.label)))
        stages = [self._list_members(stage) for stage in range(self.stage[-1] + 1)]
        lefts = []
        for members in stages:
            xs = [0.0]
            for i, j in pairwise(members):
                # Boxes stand so far apart that labels at their arrows do not meet.
                apart = (boxes[i].width + boxes[j].width) / 2 + BESIDE
                if wide[i] and wide[j]:
                    apart = max(apart, wide[i] + wide[j] + 34)
                xs.append(xs[-1] + (boxes[i].width - boxes[j].width) / 2 + apart)
            lefts.append(xs)
        widths = [xs[-1] + boxes[m[-1]].width for m, xs in zip(stages, lefts, strict=True)]
        placed, y = [], 10.0
        for members, xs, across in zip(stages, lefts, widths, strict=True):
            start = EDGE + (max(widths) - across) / 2
            placed += [PlacedBox(boxes[i], start + x, y) for i, x in zip(members, xs, strict=True)]
            y += max(boxes[i].height for i in members) + BETWEEN
        return placed

    def _list_members(self, stage: int) -> list[int]:
        return [i for i, at in enumerate(self.stage) if at == stage]

    def _make_curve(self, boxes: list[PlacedBox], link: Link, lang: Language) -> Curve:
        """A curve to the next stage."""
        start, end = boxes[link.start], boxes[link.end]
        below = max(boxes[i].bottom for i in self._list_members(self.stage[link.start])) + 3
        x, to_x, to_y = start.middle, end.middle, end.y - 2
        bend = (below + to_y - 8) / 2
        line = outline("M", x, start.bottom + 3, "V", below)
        line += outline("C", x, bend, to_x, bend, to_x, to_y - 8)
        arrow = path(line, fill="none")
        arrow += path(outline("M", to_x, to_y, "l", -5, -9, "h", 10, "z"), stroke="none")
        place = (to_x + 8, to_y - 8, "start") if x <= to_x else (to_x - 8, to_y - 8, "end")
        return Curve(arrow, *place, lang.translate_label(link.label))

    def _choose_lane(self, boxes: list[PlacedBox], link: Link, taken: list[float]) -> float:
        """Where a line passes the stages between: right of them, and beside other lines."""
        first, last = self.stage[link.start], self.stage[link.end]
        passed = [one for one, at in zip(boxes, self.stage, strict=True) if first < at <= last]
        lane = max(one.x + one.box.width for one in passed) + 24
        lane = max(lane, boxes[link.start].middle)
        while any(abs(lane - other) < LANE for other in taken):
            lane += LANE
        return lane

    def describe(self, lang: Language) -> str:
        """The title, every box, every arrow."""
        title = lang.translate_label(self.title)
        boxes = [Box(matrix, lang) for matrix in self.matrices]
        arrows = []
        for link in self.links:
            ends = {"start": boxes[link.start].name, "end": boxes[link.end].name}
            label = lang.translate_label(link.label)
            arrow = lang.format_phrase(
                "flows", "arrow", **{k: lang.quote(one) for k, one in ends.items()}
            )
            arrows.append(arrow + (label and lang.format_phrase("flows", "over", label=label)))
        return lang.join_texts(
            "paragraph",
            [
                title and lang.format_phrase("flows", "title", title=title),
                *(box.describe() for box in boxes),
                lang.format_phrase("flows", "arrows", arrows=lang.join_texts("clauses", arrows))
                if arrows
                else "",
            ],
        )


def _make_lane_curve(
    start: PlacedBox, end: PlacedBox, lane: float, lang: Language, link: Link
) -> Curve:
    """A line past the stages between, in its own lane on the right."""
    to_x = end.cells[1] + 3
    to_y = end.y + end.box.top + end.box.grid[1] / 2
    if lane == start.middle:
        line = outline("M", lane, start.bottom + 3)
    else:
        line = outline("M", start.cells[1] + 3, start.bottom - 12, "H", lane)
    arrow = path(line + outline("V", to_y, "H", to_x + 8), fill="none")
    arrow += path(outline("M", to_x, to_y, "l", 9, -5, "v", 10, "z"), stroke="none")
    return Curve(arrow, lane + 6, to_y - 8, "start", lang.translate_label(link.label))


def flow(
    stages: Sequence[Any], *, arrows: Sequence[Any] | None = None, title: str | None = None
) -> Figure:
    """Boxes of numbers from top to bottom, with arrows: from inputs to outputs.

    Args:
        stages: from top to bottom; a stage is one box or a list of boxes side by side, and a box
            is (name, role, matrix, spec), then, if wanted, labels of the rows or None, then a mask
            of the matrix' shape: where it is False a cell is hatched.
        arrows: (from, to) or (from, to, label), the boxes counted from 0 in reading order;
            without them every box points to every box of the next stage.
        title: what flows, for the alternative text.

    Raises:
        ValueError: no stage, an arrow that does not point down, an unknown role.

    Examples:
        >>> flow([("scores", "score", [1, 3], "d"), ("weights", "weight", [0.12, 0.88], ".2f")])
        Vector scores: 1, 3. Vector weights: 0.12, 0.88. Arrows: from scores to weights.
    """
    levels = [stage if isinstance(stage, list) else [stage] for stage in stages]
    if not levels or not all(levels):
        raise ValueError(f"flow must have stages with boxes, got {len(levels)} stages")
    matrices, at = [], []
    for i, level in enumerate(levels):
        for name, role, matrix, spec, *more in level:
            rows, allowed = [*more, None, None][:2]
            matrices.append(check_matrix(matrix, role, spec, name, rows, allowed=allowed))
            at.append(i)
    return Flow(share_scales(matrices), at, _check_links(arrows, at), check_label(title))


def _check_links(arrows: Sequence[Any] | None, stage: list[int]) -> list[Link]:
    """The arrows, or ValueError."""
    if arrows is None:
        return [Link(i, j) for i, a in enumerate(stage) for j, b in enumerate(stage) if b == a + 1]
    links = [Link(start, end, check_label(*label)) for start, end, *label in arrows]
    for start, end, _ in links:
        inside = all(0 <= i < len(stage) for i in (start, end))
        if not inside or stage[start] >= stage[end]:
            raise ValueError(
                f"an arrow must point from one of {len(stage)} boxes to a later stage, "
                f"got {start} to {end}"
            )
    return links
