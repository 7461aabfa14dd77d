"""Points in a plane, their convex hull, and a weighted average of them inside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attention_docs.figures.chart import (
    EDGE,
    WIDTH,
    describe_axis,
    draw_baseline,
    draw_rules,
    draw_ticks,
)
from attention_docs.figures.figure import (
    Drawing,
    DrawnFigure,
    Figure,
    Language,
    Wording,
    check_label,
    check_labels,
)
from attention_docs.figures.numbers import (
    as_lists,
    check_finite,
    format_chart_value,
    format_value,
    format_vector,
)
from attention_docs.figures.scale import Scale, choose_ticks
from attention_docs.figures.svg import (
    HALO,
    css_colour,
    group,
    measure_text,
    measure_widest,
    outline,
    path,
    polyline,
    text,
    wrap_label,
)

Point = tuple[float, float]

PLOT, ROOM = 260, 0.1  # height; share of the range that is left around the points
ROUND = "m-5 0a5 5 0 0 1 10 0a5 5 0 0 1-10 0z"
DIAMOND = "m0-8l8 8l-8 8l-8-8z"


@dataclass(frozen=True, repr=False)
class Hull(DrawnFigure):
    """The points with their weights, and where the average lies."""

    points: list[Point]
    weights: list[float]
    output: Point
    names: tuple[Wording, ...]
    axes: tuple[Wording, Wording]
    spec: str

    def draw(self, lang: Language) -> Drawing:
        """Rules, the hull, a line from every point to the average: the thicker, the heavier."""
        xs, ys = ([point[c] for point in self.points] for c in (0, 1))
        (x_low, x_high), (y_low, y_high) = _find_range(xs), _find_range(ys)
        up = choose_ticks(y_low, y_high)
        labels = [format_chart_value(tick, "g") for tick in up]
        left = 18 + measure_widest(labels)
        names = [wrap_label(lang.translate_label(name), WIDTH - 20) for name in self.axes]
        top = 10.0 + 19 * len(names[1]) + 10
        unit = min(PLOT / (y_high - y_low), (WIDTH - EDGE - left) / (x_high - x_low))
        bottom = top + unit * (y_high - y_low)
        x = Scale(x_low, x_high, left, left + unit * (x_high - x_low))
        y = Scale(y_low, y_high, bottom, top)
        places = [(x(a), y(b)) for a, b in self.points]
        at = x(self.output[0]), y(self.output[1])
        value, result = css_colour("role-value"), css_colour("role-output")
        fill = css_colour("role-value-fill")
        body = [
            *draw_rules([y(tick) for tick in up], labels, left),
            path(polyline(_find_corners(places)) + "z", fill=fill, fill_opacity=0.35),
            *(
                path(polyline([one, at]), stroke=value, stroke_width=0.5 + 9 * weight)
                for one, weight in zip(places, self.weights, strict=True)
            ),
            path("".join(outline("M", *one) + ROUND for one in places), fill=value),
            path(outline("M", *at) + DIAMOND, fill=result, stroke=css_colour("figure-page")),
            draw_baseline(left, bottom),
            *draw_ticks(
                [x(tick) for tick in choose_ticks(x_low, x_high)],
                [format_chart_value(tick, "g") for tick in choose_ticks(x_low, x_high)],
                bottom,
            ),
            group("".join(self._draw_labels(lang, places, at)), **HALO),
            *(text(10, 24 + 19 * i, line) for i, line in enumerate(names[1])),
            *(
                text((left + WIDTH - EDGE) / 2, bottom + 41 + 19 * i, line, "middle")
                for i, line in enumerate(names[0])
            ),
        ]
        return Drawing(WIDTH, bottom + 29 + 19 * len(names[0]), "".join(body), 520)

    def _draw_labels(self, lang: Language, places: list[Point], at: Point) -> list[str]:
        """Beside every point, away from the average, its name and its weight."""
        labels = []
        for (x, y), name, weight in zip(places, self.names, self.weights, strict=True):
            label = f"{lang.translate_label(name)} {format_value(weight, self.spec)}"
            wide = measure_text(label) + 12
            right = (x >= at[0] and x + wide < WIDTH) or x - wide < 0
            up = -9 if y <= at[1] else 19
            labels.append(
                text(x + 10 if right else x - 10, y + up, label, "start" if right else "end")
            )
        return labels

    def describe(self, lang: Language) -> str:
        """The axes, every point with its weight, and their average."""
        axes = [
            describe_axis(
                lang,
                which,
                name,
                format_chart_value(min(along), "g"),
                format_chart_value(max(along), "g"),
            )
            for which, name, along in zip(
                ("across", "up"), self.axes, zip(*self.points, strict=True), strict=True
            )
        ]
        points = [
            lang.format_phrase(
                "hulls",
                "point",
                name=lang.translate_label(name),
                place=format_vector(list(point), "g"),
                weight=format_value(weight, self.spec),
            )
            for name, point, weight in zip(self.names, self.points, self.weights, strict=True)
        ]
        sentence = lang.format_phrase(
            "hulls",
            "points_and_output",
            points=lang.join_texts("clauses", points),
            output=format_vector(list(self.output), self.spec),
        )
        return lang.join_texts("paragraph", [*axes, sentence])


def hull(
    points: Any,
    weights: Any,
    output: Any,
    *,
    names: Sequence[str],
    xlabel: str,
    ylabel: str,
    spec: str = ".2f",
) -> Figure:
    """Points in a plane with their weights, their convex hull, and their weighted average.

    Args:
        points: (n, 2), not all on one horizontal or vertical line.
        weights: (n,), not negative, with sum 1.
        output: (2,), the sum of weights times points.
        names: a label for every point.
        xlabel: what the first component is.
        ylabel: what the second component is.
        spec: the format of the weights and of the output.

    Raises:
        ValueError: other shapes, weights of another kind, an output that is not their average.

    Examples:
        >>> hull(  # doctest: +NORMALIZE_WHITESPACE
        ...     [[0, 0], [4, 0], [0, 4]], [0.5, 0.25, 0.25], [1, 1],
        ...     names=["a", "b", "c"], xlabel="x", ylabel="y"
        ... )
        Horizontal axis: x, from 0 to 4. Vertical axis: y, from 0 to 4. Points: a at [0, 0] with
        weight 0.50; b at [4, 0] with weight 0.25; c at [0, 4] with weight 0.25. The area between
        them is shaded. Their weighted average, marked inside: [1.00, 1.00].
    """
    rows = as_lists(points)
    if not rows or any(len(row) != 2 for row in rows):
        raise ValueError(f"points must be (n, 2), got {rows}")
    checked = [(float(a), float(b)) for a, b in rows]
    if any(min(along) == max(along) for along in zip(*checked, strict=True)):
        raise ValueError(f"points must spread along both axes, got {rows}")
    shares, at = check_finite("weights", weights), check_finite("output", output)
    if len(shares) != len(checked) or min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
        raise ValueError(f"weights must be {len(checked)}, at least 0, with sum 1, got {shares}")
    wanted = [
        sum(weight * one for weight, one in zip(shares, along, strict=True))
        for along in zip(*checked, strict=True)
    ]
    if len(at) != 2 or any(abs(a - b) > 1e-9 for a, b in zip(at, wanted, strict=True)):
        raise ValueError(f"output must be {wanted}, got {at}")
    if len(names) != len(checked):
        raise ValueError(f"names must be {len(checked)}, one a point, got {len(names)}")
    axes = check_label(xlabel), check_label(ylabel)
    return Hull(checked, shares, (at[0], at[1]), check_labels(names), axes, spec)


def _find_range(along: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis, a little apart from the outermost points."""
    low, high = min(along), max(along)
    return low - ROOM * (high - low), high + ROOM * (high - low)


def _find_corners(points: Sequence[Point]) -> list[Point]:
    """The corners of the convex hull, in order: from left to right below, then back above."""
    ordered = sorted(set(points))

    def find_chain(run: Sequence[Point]) -> list[Point]:
        corners: list[Point] = []
        for point in run:
            while len(corners) > 1 and _measure_turn(corners[-2], corners[-1], point) <= 0:
                corners.pop()
            corners.append(point)
        return corners[:-1]

    return find_chain(ordered) + find_chain(ordered[::-1])


def _measure_turn(a: Point, b: Point, c: Point) -> float:
    """Above 0 where the way from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
