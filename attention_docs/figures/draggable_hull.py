"""Three values as corners, and their weighted average to drag: it stays in the triangle.

Its script is docs/assets/instruments/draggable-hull.js, which draws as this does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attention_docs.figures.figure import (
    Drawing,
    Figure,
    Language,
    Wording,
    check_label,
    check_labels,
)
from attention_docs.figures.instruments import LABEL, WIDTH, Instrument, Layout
from attention_docs.figures.numbers import as_lists, check_finite, format_value, format_vector
from attention_docs.figures.svg import (
    COLUMN,
    HALO,
    INK,
    css_colour,
    element,
    group,
    outline,
    path,
    polyline,
    text,
)

HEIGHT = 344
ORIGIN, UNIT = (58, 288), 240  # of the plane
THICK = 16  # of a line whose weight is 1
BARS = (356, 96, 40, 72, 20)  # left, first top, line height, length of 1, height
DIAMOND = 11

Point = tuple[float, float]


@dataclass(frozen=True, repr=False)
class DraggableHull(Instrument):
    """The corners, the weights and the output at first."""

    corners: list[list[float]]
    weights: list[float]
    output: list[float]
    names: tuple[Wording, ...]
    axes: tuple[Wording, Wording]

    name = "draggable-hull"

    def list_numbers(self) -> Mapping[str, Any]:
        """The corners, and where the output stands."""
        return {"corners": self.corners, "output": self.output}

    def list_words(self, lang: Language) -> Mapping[str, Any]:
        """Templates and the names of the corners."""
        return {**lang.locale["figures"]["draggable_hull"], "names": self._name_corners(lang)}

    def _name_corners(self, lang: Language) -> list[str]:
        return [lang.translate_label(one) for one in self.names]

    def list_layouts(self, lang: Language) -> list[Layout]:
        """One drawing for all windows."""
        places = {"origin": ORIGIN, "unit": UNIT, "thick": THICK, "bars": BARS, "tip": DIAMOND}
        return [Layout("single", Drawing(WIDTH, HEIGHT, self._draw(lang), COLUMN), places)]

    def _draw(self, lang: Language) -> str:
        value, edge = css_colour("role-value"), css_colour("role-weight")
        points = [_place(one) for one in self.corners]
        at = _place(self.output)
        hull = path(polyline(points) + "z", fill=css_colour("role-value-fill"), fill_opacity=0.3)
        lines = "".join(
            path(polyline([one, at]), stroke_width=1 + THICK * weight, **{"class": "pull"})
            for one, weight in zip(points, self.weights, strict=True)
        )
        names = self._name_corners(lang)
        labels = ""
        for (x, y), name in zip(points, names, strict=True):
            labels += element("circle", cx=x, cy=y, r=7, fill=value)
            up = y - 10 if y > ORIGIN[1] - 1 else y + 6  # no name stands over an axis
            labels += group(text(x + 12, up, name, size=LABEL, bold=True), **HALO)
        wish = path("M0 0", stroke=INK, stroke_dasharray="3 4", **{"class": "elastic"})
        wish += element("circle", cx=0, cy=0, r=6, fill="none", stroke=INK, **{"class": "finger"})
        tip = path(
            _outline_diamond(*at),
            fill=css_colour("role-output"),
            stroke=css_colour("figure-page"),
            stroke_width=2,
            **{"class": "tip"},
        )
        body = self._draw_axes(lang) + hull + group(lines, stroke=edge, stroke_linecap="round")
        return (
            body
            + labels
            + group(wish, opacity=0, **{"class": "wish"})
            + tip
            + self._draw_bars(names)
        )

    def _draw_axes(self, lang: Language) -> str:
        """The plane from 0 to 1, with a line at one half."""
        x, y = ORIGIN
        rules = "".join(
            outline("M", x, y - UNIT * t, "h", UNIT) + outline("M", x + UNIT * t, y, "v", -UNIT)
            for t in (0, 0.5, 1)
        )
        body = path(rules, stroke=INK, stroke_opacity=0.18, fill="none")
        for t, label in ((0, "0"), (0.5, "½"), (1, "1")):
            body += text(x + UNIT * t, y + 20, label, "middle", LABEL)
            body += text(x - 9, y - UNIT * t + 5, label, "end", LABEL)
        names = [lang.translate_label(one) for one in self.axes]
        body += text(x + UNIT / 2, y + 42, names[0], "middle", LABEL)
        return body + text(x - 40, y - UNIT - 24, names[1], "start", LABEL)

    def _draw_bars(self, names: Sequence[str]) -> str:
        """The weights, which sum to 1."""
        left, top, step, long, high = BARS
        style = {"fill": css_colour("role-weight-fill"), "stroke": css_colour("role-weight")}
        bars = labels = ""
        for k, (name, weight) in enumerate(zip(names, self.weights, strict=True)):
            y, wide = top + k * step, long * weight
            bar = outline("M", left, y, "h", wide, "v", high, "H", left) + "z"
            bars += path(bar, **{"class": "bar"})
            labels += text(left - 6, y + high - 4, name, "end", LABEL)
            shown = element("text", format_value(weight, ".2f"), x=left + wide + 6, y=y + high - 4)
            labels += group(shown, font_size=LABEL, text_anchor="start", **{"class": "amount"})
        return group(bars, **style) + labels

    def state(self, lang: Language) -> str:
        """The weights and the output."""
        return lang.format_phrase("draggable_hull", "state", **self._say_numbers(lang))

    def _say_numbers(self, lang: Language) -> dict[str, str]:
        pairs = zip(self._name_corners(lang), self.weights, strict=True)
        weights = lang.join_texts("list", [f"{n} {format_value(w, '.2f')}" for n, w in pairs])
        return {"weights": weights, "output": format_vector(self.output, ".2f")}

    def describe(self, lang: Language) -> str:
        """The corners, the weights and the output."""
        pairs = zip(self._name_corners(lang), self.corners, strict=True)
        corners = lang.join_texts("list", [f"{n} {format_vector(c, 'g')}" for n, c in pairs])
        return lang.format_phrase(
            "draggable_hull", "alt", corners=corners, **self._say_numbers(lang)
        )


def draggable_hull(
    corners: Any, weights: Any, output: Any, *, names: Sequence[str], xlabel: str, ylabel: str
) -> Figure:
    """Three points of the unit square, and an average of them that a reader drags.

    Args:
        corners: (3, 2), from 0 to 1, not on a line.
        weights: (3,) with sum 1.
        output: (2,), the average.
        names: of the corners.
        xlabel: of the first component.
        ylabel: of the second.

    Raises:
        ValueError: another number of corners, or an output that is not their average.

    Examples:
        >>> corners = [[1, 0], [0, 0], [0, 1]]
        >>> print(draggable_hull(
        ...     corners, [0.5, 0, 0.5], [0.5, 0.5], names="abc", xlabel="x", ylabel="y"
        ... ).alt("en"))
        The corners a [1, 0], b [0, 0], c [0, 1] and their average in the triangle between them. \
Weights: a 0.50, b 0.00, c 0.50. Output [0.50, 0.50].
    """
    points = [check_finite("corners", row) for row in as_lists(corners)]
    if [len(row) for row in points] != [2] * 3:
        raise ValueError(f"corners must be (3, 2), got {points}")
    shares = check_finite("weights", as_lists(weights))
    at = check_finite("output", as_lists(output))
    mixed = [sum(a * p[c] for a, p in zip(shares, points, strict=True)) for c in (0, 1)]
    if (
        abs(sum(shares) - 1) > 1e-9
        or max(abs(a - b) for a, b in zip(mixed, at, strict=True)) > 1e-9
    ):
        raise ValueError(f"output must be the average {mixed} with weights of sum 1, got {at}")
    axes = check_label(xlabel), check_label(ylabel)
    return DraggableHull(points, shares, at, check_labels(names), axes)


def _place(point: Sequence[float]) -> Point:
    return ORIGIN[0] + UNIT * point[0], ORIGIN[1] - UNIT * point[1]


def _outline_diamond(x: float, y: float) -> str:
    d = DIAMOND
    return outline("M", x, y - d, "l", d, d, "l", -d, d, "l", -d, -d) + "z"
