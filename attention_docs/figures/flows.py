"""The flow of numbers from inputs to outputs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from attention_docs.figures import words
from attention_docs.figures.boxes import SMALL, Box, draw, make_box, text
from attention_docs.figures.parts import LANGUAGES, Figure, Label, both, colour, label_width, svg

Link = tuple[int, int, dict[str, str]]  # from a box, to a box, with a label
BESIDE, BETWEEN = 28, 48  # between boxes of a stage; between stages


def flow(
    stages: Sequence[Any],
    *,
    arrows: Sequence[Any] | None = None,
    title: Label | None = None,
) -> Figure:
    """Boxes of numbers from top to bottom, with arrows: from inputs to outputs.

    Args:
        stages: from top to bottom; a stage is one box or a list of boxes side by side, and a box
            is (name, role, matrix, spec) or (name, role, matrix, spec, labels of the rows).
        arrows: (from, to) or (from, to, label), the boxes counted from 0 in reading order;
            without them every box points to every box of the next stage.
        title: what flows, for the alternative text.

    Raises:
        ValueError: no stage, an arrow that does not point down, an unknown role.
    """
    levels = [stage if isinstance(stage, list) else [stage] for stage in stages]
    if not levels or not all(levels):
        raise ValueError(f"flow must have stages with boxes, got {len(levels)} stages")
    boxes, level = [], []
    for depth, stage in enumerate(levels):
        for name, role, matrix, spec, *rows in stage:
            boxes.append(make_box(matrix, role, spec, name, *rows))
            level.append(depth)
    links = _links(arrows, level)
    places, size = _places(boxes, level, links)
    return _drawn(boxes, level, places, links, size, both(title))


def _places(
    boxes: list[Box], level: list[int], links: list[Link]
) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """Where the boxes stand, every stage in the middle of the drawing; and its size."""
    wide = [0.0] * len(boxes)  # of the labels at the arrows into each box
    for _, end, label in links:
        wide[end] = max(wide[end], label_width([label], SMALL))
    rows = [[i for i, at in enumerate(level) if at == depth] for depth in range(max(level) + 1)]
    lefts = []
    for row in rows:
        xs = [0.0]
        for i, j in pairwise(row):
            # Boxes stand so far apart that labels at their arrows do not meet.
            room = (boxes[i].width + boxes[j].width) / 2 + BESIDE
            apart = max(room, wide[i] + wide[j] + 34) if wide[i] and wide[j] else room
            xs.append(xs[-1] + (boxes[i].width - boxes[j].width) / 2 + apart)
        lefts.append(xs)
    widths = [xs[-1] + boxes[row[-1]].width for row, xs in zip(rows, lefts, strict=True)]
    places, y = [], 10.0
    for row, xs, across in zip(rows, lefts, widths, strict=True):
        places += [(12 + (max(widths) - across) / 2 + x, y) for x in xs]
        y += max(boxes[i].height for i in row) + BETWEEN
    return places, (max(widths) + 24, y - BETWEEN + 12)


def _links(arrows: Sequence[Any] | None, level: list[int]) -> list[Link]:
    """The arrows as (from, to, label), checked."""
    if arrows is None:
        pairs = [(i, j) for i, a in enumerate(level) for j, b in enumerate(level) if b == a + 1]
        return [(i, j, both(None)) for i, j in pairs]
    links = [(arrow[0], arrow[1], both(arrow[2] if len(arrow) > 2 else None)) for arrow in arrows]
    for start, end, _ in links:
        inside = all(0 <= i < len(level) for i in (start, end))
        if not inside or level[start] >= level[end]:
            raise ValueError(
                f"an arrow must point from one of {len(level)} boxes to a later stage, "
                f"got {start} to {end}"
            )
    return links


def _drawn(
    boxes: list[Box],
    level: list[int],
    places: list[tuple[float, float]],
    links: list[Link],
    size: tuple[float, float],
    title: dict[str, str],
) -> Figure:
    """The boxes at their places, and the arrows between them."""
    width, height = size
    curves: list[tuple[str, float, float, str, dict[str, str]]] = []
    lanes: list[float] = []
    left = 0.0
    for start, end, label in links:
        wide = label_width([label], SMALL)
        if level[end] == level[start] + 1:
            members = [i for i, at in enumerate(level) if at == level[start]]
            below = max(places[i][1] + boxes[i].height for i in members) + 3
            path, x, y, anchor = _down(boxes, places, start, end, below)
        else:
            passed = [i for i, at in enumerate(level) if level[start] < at <= level[end]]
            lane = max(places[i][0] + boxes[i].width for i in passed) + 24
            lane = max(lane, _middle(boxes[start], places[start]))
            while any(abs(lane - other) < 16 for other in lanes):
                lane += 16
            lanes.append(lane)
            path, x, y, anchor = _past(boxes, places, start, end, lane)
        if anchor == "start":
            width = max(width, x + wide + 12)
        elif wide:
            left = max(left, wide + 12 - x)
        curves.append((path, x, y, anchor, label))
    width += left
    drawn, alt = {}, {}
    for lang in LANGUAGES:
        body = f'<g transform="translate({left:g})">' if left else "<g>"
        body += "".join(draw(box, *at, lang) for box, at in zip(boxes, places, strict=True))
        body += '<g stroke="currentColor" stroke-width="1.5">'
        body += "".join(path for path, *_ in curves) + "</g>"
        # An outline in the page's colour keeps a label legible where a line passes under it.
        body += f'<g stroke="{colour("figure-page")}" stroke-width="4" style="paint-order:stroke">'
        body += "".join(text(x, y, label[lang], anchor) for _, x, y, anchor, label in curves)
        body += "</g></g>"
        alt[lang] = words.flow(boxes, links, title[lang], lang)
        drawn[lang] = svg(width, height, body, alt[lang])
    return Figure(drawn, alt)


def _middle(box: Box, at: tuple[float, float]) -> float:
    """Where arrows start and end: the middle of the cells."""
    return at[0] + box.indent + box.grid[0] / 2


def _down(
    boxes: list[Box], places: list[tuple[float, float]], start: int, end: int, below: float
) -> tuple[str, float, float, str]:
    """A curve to the next stage, and the place of its label."""
    x, y = _middle(boxes[start], places[start]), places[start][1] + boxes[start].height + 3
    to_x, to_y = _middle(boxes[end], places[end]), places[end][1] - 2
    bend = (below + to_y - 8) / 2
    path = (
        f'<path d="M{x:g} {y:g}V{below:g}C{x:g} {bend:g} {to_x:g} {bend:g} {to_x:g} {to_y - 8:g}" '
        f'fill="none"/><path d="M{to_x:g} {to_y:g}l-5 -9h10z" stroke="none"/>'
    )
    return path, to_x + (8 if x <= to_x else -8), to_y - 8, "start" if x <= to_x else "end"


def _past(
    boxes: list[Box], places: list[tuple[float, float]], start: int, end: int, lane: float
) -> tuple[str, float, float, str]:
    """A line past the stages between, in its own lane on the right, and the place of its label."""
    box, (left, top) = boxes[start], places[start]
    last, (end_left, end_top) = boxes[end], places[end]
    to_x = end_left + last.indent + last.grid[0] + 3
    to_y = end_top + last.top + last.grid[1] / 2
    if lane == _middle(box, places[start]):
        begin = f"M{lane:g} {top + box.height + 3:g}"
    else:
        begin = f"M{left + box.indent + box.grid[0] + 3:g} {top + box.height - 12:g}H{lane:g}"
    path = (
        f'<path d="{begin}V{to_y:g}H{to_x + 8:g}" fill="none"/>'
        f'<path d="M{to_x:g} {to_y:g}l9 -5v10z" stroke="none"/>'
    )
    return path, lane + 6, to_y - 8, "start"
