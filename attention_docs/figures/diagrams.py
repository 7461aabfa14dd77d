"""A model as a diagram: its parts in columns from top to bottom, joined by arrows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from attention_docs.figures.figure import (
    Drawing,
    DrawnFigure,
    Figure,
    Language,
    Wording,
    check_label,
    make_phrase,
)
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
    rectangle,
    text,
    wrap_label,
)

WRAP = 120  # longest line in a box
LINE, PAD = 18, 8  # between lines of text; around them
BETWEEN = 28  # between the parts of a column, for an arrow
LANE = 16  # from a box to the line that leads past it
RADIUS = 10  # of a sum
FRAME = 8  # around what is framed
EDGE = 12
SUM = "+"


class Part(NamedTuple):
    """A box with a role, a sum, or, without a role, a line of text."""

    name: Wording
    role: str | None
    column: int

    @property
    def is_sum(self) -> bool:
        """Whether it adds what a line leads past other parts."""
        return self.name == SUM and self.role is None

    def get_name(self) -> Wording:
        """What a description calls it."""
        return make_phrase("diagrams", "sum") if self.is_sum else self.name


class Link(NamedTuple):
    """An arrow from a part to a part of a column further right."""

    start: int
    end: int
    label: Wording


class Border(NamedTuple):
    """A border around parts of one column that follow each other."""

    first: int
    last: int
    label: Wording


class PlacedPart:
    """A part at its place: the middle of its lower edge is at (x, y)."""

    def __init__(self, part: Part, lang: Language) -> None:
        self.part = part
        self.lines = wrap_label(lang.translate_label(part.name), WRAP)
        self.wide = measure_widest(self.lines) + 2 * PAD * bool(part.role)
        self.high = LINE * len(self.lines) + (PAD if part.role else 0)
        if part.is_sum:
            self.wide = self.high = 2 * RADIUS
        self.x = self.y = 0.0

    @property
    def top(self) -> float:
        """Its upper edge."""
        return self.y - self.high

    @property
    def middle(self) -> float:
        """Half way between its edges."""
        return self.y - self.high / 2

    def draw(self) -> str:
        """The part."""
        if self.part.is_sum:
            x, y, r = self.x, self.middle, RADIUS
            ring = element(
                "rect", x=x - r, y=y - r, width=2 * r, height=2 * r, rx=r, fill="none", stroke=INK
            )
            cross = outline("M", x - 5, y, "h", 10, "M", x, y - 5, "v", 10)
            return ring + path(cross, stroke=INK, stroke_width=1.5)
        first = self.middle + 5 - LINE * (len(self.lines) - 1) / 2
        lines = "".join(
            text(self.x, first + i * LINE, line, "middle") for i, line in enumerate(self.lines)
        )
        if self.part.role is None:
            return lines
        box = rectangle(self.x - self.wide / 2, self.top, self.wide, self.high)
        fill, stroke = (css_colour(f"role-{self.part.role}{kind}") for kind in ("-fill", ""))
        return path(box, fill=fill, stroke=stroke, stroke_width=2) + lines


@dataclass(frozen=True, repr=False)
class Diagram(DrawnFigure):
    """Parts in columns, and the arrows between them."""

    parts: list[Part]
    skips: list[int]
    links: list[Link]
    borders: list[Border]
    title: Wording

    def draw(self, lang: Language) -> Drawing:
        """The borders, the arrows, the parts, then the labels."""
        placed = [PlacedPart(part, lang) for part in self.parts]
        width, height = self._place(placed, lang)
        arrows, labels, borders = [], [], []
        for i, one in enumerate(placed[1:], start=1):
            above = placed[i - 1]
            if above.part.column == one.part.column:
                arrows.append(_draw_arrow_down(one.x, above.y + 3, one.top - 2))
        arrows += [self._draw_skip(placed, start) for start in self.skips]
        for i, link in enumerate(self.links):
            arrow, label = self._draw_link(placed, link, 8 * i, lang)
            arrows.append(arrow)
            labels.append(label)
        for border in self.borders:
            left, right, top, low = self._measure_border(placed, border)
            outlined = rectangle(left, top, right - left, low - top)
            borders.append(path(outlined, fill="none", stroke=INK, stroke_dasharray="5 4"))
            name, outer = lang.translate_label(border.label), self._is_left(border.first)
            x, anchor = (left - 6, "end") if outer else (right + 6, "start")
            labels.append(text(x, (top + low) / 2 + 5, name, anchor, bold=True))
        body = "".join([*borders, group("".join(arrows), stroke=INK, stroke_width=1.5)])
        body += "".join(one.draw() for one in placed) + "".join(labels)
        return Drawing(width, height, body)

    def _list_column(self, column: int) -> list[int]:
        return [i for i, part in enumerate(self.parts) if part.column == column]

    def _is_left(self, i: int) -> bool:
        """Whether lines past the parts of this column run on its left."""
        return self.parts[i].column < self.parts[-1].column

    def _place(self, placed: list[PlacedPart], lang: Language) -> tuple[float, float]:
        """Put each part at its place; the width and height of all."""
        columns = [self._list_column(c) for c in range(self.parts[-1].column + 1)]
        highs = [
            sum(placed[i].high for i in column) + BETWEEN * (len(column) - 1) for column in columns
        ]
        x = float(EDGE)
        for c, column in enumerate(columns):
            for i in column:  # boxes of a column are equally wide
                if self.parts[i].role:
                    placed[i].wide = max(placed[j].wide for j in column)
            wide = max(placed[i].wide for i in column)
            outside = self._measure_outside(column, lang)
            x += outside if self._is_left(column[0]) else 0
            y = float(EDGE)
            for i in column:
                placed[i].x, placed[i].y = x + wide / 2, y + placed[i].high
                y += placed[i].high + BETWEEN
            x += wide + (0 if self._is_left(column[0]) else outside)
            if c + 1 < len(columns):
                into = [link for link in self.links if self.parts[link.end].column == c + 1]
                names = [lang.translate_label(link.label) for link in into]
                x += 32 + 8 * len(self.links) + max([measure_text(one) + 14 for one in names] + [0])
        return x + EDGE, max(highs) + 2 * EDGE

    def _measure_outside(self, column: list[int], lang: Language) -> float:
        """How far lines, borders and their labels reach beyond a column."""
        room = LANE + 4.0 if any(i in column for i in self.skips) else 0.0
        for border in self.borders:
            if border.first in column:
                label = lang.translate_label(border.label)
                room = max(room, LANE + FRAME + 6 + measure_text(label))
        return room

    def _draw_skip(self, placed: list[PlacedPart], start: int) -> str:
        """The line past some parts to the next sum."""
        end = self._find_sum(start)
        column = self._list_column(self.parts[start].column)
        half = max(placed[i].wide for i in column) / 2 + LANE
        sign = -1 if self._is_left(start) else 1
        x, lane = placed[start].x, placed[start].x + sign * half
        y, to_x = placed[start].top - BETWEEN / 2, x + sign * (RADIUS + 3)
        line = outline("M", x, y, "H", lane, "V", placed[end].middle, "H", to_x + sign * 8)
        head = outline("M", to_x, placed[end].middle, "l", sign * 9, -5, "v", 10, "z")
        return path(line, fill="none") + path(head, stroke="none")

    def _find_sum(self, start: int) -> int:
        return next(i for i in range(start, len(self.parts)) if self.parts[i].is_sum)

    def _draw_link(
        self, placed: list[PlacedPart], link: Link, aside: float, lang: Language
    ) -> tuple[str, str]:
        """An arrow to a column further right, and its label."""
        start, end = placed[link.start], placed[link.end]
        column = self._list_column(start.part.column)
        lane = start.x + max(placed[i].wide for i in column) / 2 + FRAME + 8 + aside
        x, to_x = start.x + start.wide / 2 + 4, end.x - end.wide / 2 - 2
        line = outline("M", x, start.middle, "H", lane, "V", end.middle, "H", to_x - 8)
        head = outline("M", to_x, end.middle, "l", -9, -5, "v", 10, "z")
        label = text(to_x - 12, end.middle - 7, lang.translate_label(link.label), "end")
        return path(line, fill="none") + path(head, stroke="none"), label

    def _measure_border(
        self, placed: list[PlacedPart], border: Border
    ) -> tuple[float, float, float, float]:
        """Left, right, upper and lower edge; lines past the parts lie inside."""
        column = self._list_column(self.parts[border.first].column)
        half = max(placed[i].wide for i in column) / 2
        x, outside = placed[border.first].x, LANE if any(i in column for i in self.skips) else 0
        lefts = (outside, 0) if self._is_left(border.first) else (0, outside)
        left, right = x - half - FRAME - lefts[0], x + half + FRAME + lefts[1]
        return left, right, placed[border.first].top - 19, placed[border.last].y + FRAME

    def describe(self, lang: Language) -> str:
        """The title, the parts of each column, then the lines between other parts."""

        def name(i: int) -> str:
            label = self.parts[i].get_name()
            return lang.translate_label(label)

        def say(key: str, **parts: Any) -> str:
            return lang.format_phrase("diagrams", key, **parts)

        title = lang.translate_label(self.title)
        columns = [self._list_column(c) for c in range(self.parts[-1].column + 1)]
        key = "column" if len(columns) > 1 else "only_column"
        sentences = [
            say(key, n=n, parts=lang.join_texts("list", map(name, column)))
            for n, column in enumerate(columns, start=1)
        ]
        past = [say("skip", part=lang.quote(name(i))) for i in self.skips]
        for start, end, wording in self.links:
            ends = {"start": lang.quote(name(start)), "end": lang.quote(name(end))}
            label = lang.translate_label(wording)
            past.append(say("link", **ends) + (label and say("over", label=label)))
        framed = [
            say("border", first=lang.quote(name(b.first)), last=lang.quote(name(b.last)))
            + say("over", label=lang.translate_label(b.label))
            for b in self.borders
        ]
        return lang.join_texts(
            "paragraph",
            [
                say("title", title=title) if title else "",
                *sentences,
                say("past", arrows=lang.join_texts("clauses", past)) if past else "",
                say("framed", borders=lang.join_texts("clauses", framed)) if framed else "",
            ],
        )


def _draw_arrow_down(x: float, high: float, low: float) -> str:
    head = outline("M", x, low, "l", -5, -9, "h", 10, "z")
    return path(outline("M", x, high, "V", low - 8), fill="none") + path(head, stroke="none")


def diagram(
    *columns: Sequence[str],
    roles: Sequence[str | None],
    skips: Sequence[int] = (),
    links: Sequence[tuple[int, int, str]] = (),
    borders: Sequence[tuple[int, int, str]] = (),
    title: str | None = None,
) -> Figure:
    """Parts of a model in columns, each from top to bottom, with arrows from part to part.

    Parts are counted from 0 in reading order, column by column.

    Args:
        columns: the names of the parts of each; "+" is a sum.
        roles: of each part in reading order; a part with a role is a box, one with None a line of
            text or a sum.
        skips: the parts that a line leads past: what enters the part is added at the next sum.
        links: (from, to, label), arrows from a part to a part of a column further right.
        borders: (first, last, label), borders around parts of one column, such as a block that
            is repeated.
        title: what the diagram shows, for the alternative text.

    Raises:
        ValueError: an empty column, too few or too many roles, an unknown role, a part that does
            not exist, a skip without a sum below it, a link that does not lead to the right, a
            border across columns.

    Examples:
        >>> diagram(["x", "a layer", "+", "y"], roles=[None, "output", None, None], skips=[1])
        From top to bottom: x, a layer, sum, y. Past other parts: from the input of a layer to \
the next sum.
    """
    if not columns or not all(columns):
        raise ValueError(f"diagram must have columns with parts, got {len(columns)} columns")
    names = [(name, c) for c, column in enumerate(columns) for name in column]
    if len(roles) != len(names):
        raise ValueError(f"roles must be {len(names)}, one per part, got {len(roles)}")
    parts = [
        Part(check_label(name), None if role is None else check_role(role), c)
        for (name, c), role in zip(names, roles, strict=True)
    ]
    for i in (*skips, *(i for link in (*links, *borders) for i in link[:2])):
        if i not in range(len(parts)):
            raise ValueError(f"a part must be one of {len(parts)}, got {i}")
    for start in skips:
        if not any(one.is_sum and one.column == parts[start].column for one in parts[start:]):
            raise ValueError(f"a skip must end at a sum below it, got none below part {start}")
    for start, end, _ in links:
        if parts[start].column >= parts[end].column:
            raise ValueError(f"a link must lead to the right, got {start} to {end}")
    for first, last, _ in borders:
        if first > last or parts[first].column != parts[last].column:
            raise ValueError(f"a border must hold parts of one column, got {first} to {last}")
    return Diagram(
        parts,
        list(skips),
        [Link(start, end, check_label(label)) for start, end, label in links],
        [Border(first, last, check_label(label)) for first, last, label in borders],
        check_label(title),
    )
