"""Vectors with two components as arrows from the origin, and their shadows on one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2, cos, hypot, sin
from typing import Any

from attention_docs.figures.figure import (
    Drawing,
    DrawnFigure,
    Figure,
    Language,
    Wording,
    check_label,
)
from attention_docs.figures.numbers import check_finite, format_value
from attention_docs.figures.svg import (
    HALO,
    check_role,
    css_colour,
    group,
    measure_text,
    outline,
    path,
    text,
)

SIDE, MARGIN = 300.0, 8.0  # of the square; around it
STEPS = 40  # points of a line from which names keep away
HEAD = 10.0  # length of the tip of an arrow
SPEC = ".2f"  # of the numbers in the alternative text


@dataclass(frozen=True)
class Arrow:
    """A vector, its name, and its numbers as text for the description."""

    label: Wording
    role: str
    x: float
    y: float
    texts: tuple[str, str]


@dataclass(frozen=True, repr=False)
class Plane(DrawnFigure):
    """Arrows; the line through one of them; how far along it the others reach."""

    arrows: list[Arrow]
    reach: float
    onto: int | None
    shadows: list[str]

    def draw(self, lang: Language) -> Drawing:
        """The axes, the line with the perpendiculars on it, the arrows, their names."""
        body = [self._draw_axes(), self._draw_shadows()]
        body += [self._draw_arrow(one) for one in self.arrows]
        body.append(group(self._draw_names(lang), **HALO))
        return Drawing(SIDE + 2 * MARGIN, SIDE + 2 * MARGIN, "".join(body))

    def _find_place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies in the drawing."""
        unit = SIDE / 2 / self.reach
        return MARGIN + SIDE / 2 + unit * x, MARGIN + SIDE / 2 - unit * y

    def _draw_axes(self) -> str:
        middle, end = MARGIN + SIDE / 2, MARGIN + SIDE
        d = outline("M", MARGIN, middle, "H", end) + outline("M", middle, MARGIN, "V", end)
        return path(d, fill="none", stroke=css_colour("role-neutral-fill"), stroke_width=1)

    def _draw_shadows(self) -> str:
        """The line through the arrow `onto`, and from every other tip the way to it."""
        if self.onto is None:
            return ""
        one = self.arrows[self.onto]
        long = hypot(one.x, one.y)
        across, up = one.x / long, one.y / long
        far = self.reach / max(abs(across), abs(up))
        line = outline("M", *self._find_place(-far * across, -far * up))
        line += outline("L", *self._find_place(far * across, far * up))
        tint = css_colour(f"role-{one.role}")
        body = path(line, fill="none", stroke=tint, stroke_width=1, stroke_dasharray="6 4")
        for other in self.arrows[: self.onto] + self.arrows[self.onto + 1 :]:
            length = other.x * across + other.y * up
            foot = self._find_place(length * across, length * up)
            way = outline("M", *self._find_place(other.x, other.y)) + outline("L", *foot)
            tint = css_colour(f"role-{other.role}")
            body += path(way, fill="none", stroke=tint, stroke_width=1.25, stroke_dasharray="2 3")
            dot = outline("M", *foot) + "m-3 0a3 3 0 0 1 6 0a3 3 0 0 1-6 0z"
            body += path(dot, fill=tint)
        return body

    def _draw_arrow(self, one: Arrow) -> str:
        """From the origin to the tip."""
        x, y = self._find_place(one.x, one.y)
        turn = atan2(-one.y, one.x)
        back_x, back_y = x - HEAD * cos(turn), y - HEAD * sin(turn)
        side_x, side_y = 4.5 * sin(turn), -4.5 * cos(turn)
        shaft = outline("M", *self._find_place(0, 0)) + outline("L", back_x, back_y)
        tip = outline("M", x, y) + outline("L", back_x + side_x, back_y + side_y)
        tip += outline("L", back_x - side_x, back_y - side_y) + "z"
        tint = css_colour(f"role-{one.role}")
        return path(shaft, fill="none", stroke=tint, stroke_width=2.25) + path(tip, fill=tint)

    def _draw_names(self, lang: Language) -> str:
        """The name of each arrow, beside its tip, where it is farthest from lines and names."""
        lines = [(self._find_place(0, 0), self._find_place(one.x, one.y)) for one in self.arrows]
        if self.onto is not None:
            one = self.arrows[self.onto]
            far = self.reach / (max(abs(one.x), abs(one.y)) or 1.0)
            ends = [self._find_place(sign * far * one.x, sign * far * one.y) for sign in (-1, 1)]
            lines.append((ends[0], ends[1]))
        taken = [
            (x0 + (x1 - x0) * k / STEPS, y0 + (y1 - y0) * k / STEPS)
            for (x0, y0), (x1, y1) in lines
            for k in range(STEPS + 1)
        ]
        names = []
        for one in self.arrows:
            name = lang.translate_label(one.label)
            half = measure_text(name) / 2
            places = [self._keep_inside(x, y, half) for x, y in self._find_name_places(one, half)]
            distances = [_measure_room(x, y, half, taken) for x, y in places]
            room = max(distances)
            # The first place, beyond the tip, is left only where another is much freer.
            best = next(k for k, free in enumerate(distances) if free >= min(room, 14.0))
            x, y = places[best]
            taken += [(x + half * share, y - 5) for share in (-1.0, -0.5, 0.0, 0.5, 1.0)]
            names.append(text(x, y, name, "middle"))
        return "".join(names)

    def _find_name_places(self, one: Arrow, half: float) -> list[tuple[float, float]]:
        """Beyond the tip; then on both sides of it, at right angles to the arrow."""
        x, y = self._find_place(one.x, one.y)
        long = hypot(one.x, one.y) or 1.0
        across, up = one.x / long, one.y / long
        return [
            (x + (half + 8) * a, y + 5 - 14 * b)
            for a, b in ((across, up), (-up, across), (up, -across))
        ]

    def _keep_inside(self, x: float, y: float, half: float) -> tuple[float, float]:
        """A place of a name, moved into the drawing."""
        end = SIDE + 2 * MARGIN
        return min(max(x, half + 2), end - half - 2), min(max(y, 16.0), end - 4)

    def describe(self, lang: Language) -> str:
        """Every arrow's tip; how far along the line the others reach."""
        names = [lang.translate_label(one.label) for one in self.arrows]
        tips = [
            lang.format_phrase("planes", "arrow", name=name, x=one.texts[0], y=one.texts[1])
            for name, one in zip(names, self.arrows, strict=True)
        ]
        sentences = [
            lang.format_phrase("planes", "arrows", arrows=lang.join_texts("clauses", tips))
        ]
        if self.onto is not None:
            onto = names.pop(self.onto)
            feet = [
                lang.format_phrase("planes", "shadow", name=name, length=length)
                for name, length in zip(names, self.shadows, strict=True)
            ]
            shadows = lang.join_texts("clauses", feet)
            sentences.append(lang.format_phrase("planes", "shadows", name=onto, shadows=shadows))
        return lang.join_texts("paragraph", sentences)


def plane(
    arrows: Sequence[tuple[str, str, Any]], *, reach: float, onto: int | None = None
) -> Figure:
    """Vectors with two components as arrows from the origin.

    Args:
        arrows: (name, role, vector), the vector with two components.
        reach: where the axes end, in each direction.
        onto: which arrow the others are projected on, from 0: the line through it is drawn, and
            from every other tip the perpendicular to that line.

    Raises:
        ValueError: no arrow, a vector that has not two components or leaves the square, an
            unknown role, a projection on no arrow or on one of length 0.

    Examples:
        >>> plane(  # doctest: +NORMALIZE_WHITESPACE
        ...     [("q", "query", [2, 0]), ("k", "key", [1, -1])], reach=3, onto=0
        ... )
        Arrows from the origin: q to (2.00, 0.00); k to (1.00, −1.00). On the line through q: k at
        1.00.
    """
    checked = []
    for label, role, vector in arrows:
        numbers = check_finite("an arrow", vector)
        if len(numbers) != 2:
            raise ValueError(f"an arrow must have 2 components, got {len(numbers)}")
        if max(map(abs, numbers)) > reach:
            raise ValueError(f"an arrow must end within {reach} of 0, got {numbers}")
        x, y = numbers
        texts = (format_value(x, SPEC), format_value(y, SPEC))
        checked.append(Arrow(check_label(label), check_role(role), x, y, texts))
    if not checked:
        raise ValueError("plane must have an arrow, got none")
    if onto is None:
        return Plane(checked, reach, None, [])
    if not 0 <= onto < len(checked) or not (checked[onto].x or checked[onto].y):
        raise ValueError(f"onto must be one of {len(checked)} arrows and not 0, got {onto}")
    one = checked[onto]
    long = hypot(one.x, one.y)
    others = checked[:onto] + checked[onto + 1 :]
    shadows = [format_value((other.x * one.x + other.y * one.y) / long, SPEC) for other in others]
    return Plane(checked, reach, onto, shadows)


def _measure_room(x: float, y: float, half: float, taken: Sequence[tuple[float, float]]) -> float:
    """How far a name at (x, y) is from the nearest of some points."""
    beside = ((max(0.0, abs(px - x) - half), max(0.0, abs(py - y + 5) - 6)) for px, py in taken)
    return min(hypot(*apart) for apart in beside)
