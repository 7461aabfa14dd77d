"""Common parts of charts: series, legend and axes, drawn and described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attention_docs.colours import SERIES
from attention_docs.figures.figure import Language, Wording, check_label, get_english
from attention_docs.figures.numbers import check_finite, format_chart_value
from attention_docs.figures.svg import (
    INK,
    check_role,
    css_colour,
    measure_text,
    outline,
    path,
    text,
    wrap_label,
)

WIDTH, EDGE = 440, 18  # of a chart; between the axes and its right edge
SAMPLE = 34  # width of a sample in the legend

Pairs = Mapping[str, Any] | Sequence[tuple[str, Any]]
"""Values by label: a mapping, or pairs, where a label may be a mapping of languages."""


@dataclass(frozen=True)
class Series:
    """A label, its values, the texts of those that are described, and the name of its colour."""

    label: Wording
    values: list[float]
    texts: list[str]
    colour: str

    def quote_name(self, lang: Language) -> str:
        """Its name in a sentence."""
        return lang.quote(lang.translate_label(self.label))


def check_series(
    series: Pairs,
    length: int | None,
    roles: Sequence[str] | None,
    spec: str | None,
    one_for_each: str,
) -> list[Series]:
    """The series with their colours, or ValueError; without a spec no value is described."""
    pairs = list(series.items()) if isinstance(series, Mapping) else list(series)
    if not 1 <= len(pairs) <= SERIES:
        raise ValueError(f"a chart must have 1 to {SERIES} series, got {len(pairs)}")
    if roles is not None and len(roles) != len(pairs):
        raise ValueError(f"roles must be {len(pairs)}, one a series, got {len(roles)}")
    checked = []
    for i, (label, values) in enumerate(pairs):
        name = get_english(check_label(label))
        numbers = check_finite(f"series {name!r}", values)
        if length is not None and len(numbers) != length:
            raise ValueError(
                f"series {name!r} must have {length} values, one for each of {one_for_each}, "
                f"got {len(numbers)}"
            )
        tint = f"role-{check_role(roles[i])}" if roles else f"series-{i + 1}"
        texts = [format_chart_value(value, spec) for value in numbers] if spec is not None else []
        checked.append(Series(check_label(label), numbers, texts, tint))
    return checked


class Head:
    """Legend and the name of the vertical axis, from the top; the axes start at `height`."""

    def __init__(self, lang: Language, legend: Sequence[Wording], axis: Wording) -> None:
        self.legend = [label for one in legend if (label := lang.translate_label(one))]
        self.axis = wrap_label(lang.translate_label(axis), WIDTH - 20)
        y = 10.0
        self.samples: list[tuple[float, float]] = []  # where each sample of the legend starts
        x = 10.0
        for label in self.legend:
            wide = SAMPLE + 6 + measure_text(label) + 16
            if x > 10 and x + wide > WIDTH:
                x, y = 10.0, y + 21
            self.samples.append((x, y + 10))
            x += wide
        y += 27 * bool(self.legend)
        self.axis_top = y
        self.height = y + 19 * len(self.axis) + 10

    def draw(self) -> str:
        """Its text."""
        lines = [
            text(x + SAMPLE + 6, y + 5, label)
            for (x, y), label in zip(self.samples, self.legend, strict=True)
        ]
        lines += [text(10, self.axis_top + 14 + 19 * i, line) for i, line in enumerate(self.axis)]
        return "".join(lines)


def draw_rules(
    places: Sequence[float], labels: Sequence[str], left: float, right: float = WIDTH - EDGE
) -> tuple[str, str]:
    """Lines to read values by, at heights, and their labels on the left."""
    lines = "".join(outline("M", left, y, "H", right) for y in places)
    texts = (text(left - 8, y + 5, one, "end") for y, one in zip(places, labels, strict=True))
    drawing = path(lines, fill="none", stroke=css_colour("role-neutral"), stroke_width=0.5)
    return drawing, "".join(texts)


def draw_baseline(left: float, y: float, right: float = WIDTH - EDGE) -> str:
    """The line on which a plot stands."""
    return path(outline("M", left, y, "H", right), stroke=INK, stroke_width=1)


def draw_ticks(
    places: Sequence[float], labels: Sequence[str], bottom: float, shrink: float = 1.0
) -> tuple[str, str]:
    """Ticks below a baseline, where their labels do not touch, and the labels.

    `shrink` times as wide, no label would touch another one either.
    """
    fitting: list[tuple[float, str]] = []
    pairs = list(zip(places, labels, strict=True))
    for x, label in pairs[-1:] + pairs[:-1]:  # the last one stays
        wide = measure_text(label)
        if all(shrink * abs(x - at) >= (wide + measure_text(one)) / 2 + 10 for at, one in fitting):
            fitting.append((x, label))
    fitting.sort()
    ticks = "".join(outline("M", x, bottom, "v", 5) for x, _ in fitting)
    texts = (text(x, bottom + 20, label, "middle") for x, label in fitting)
    return path(ticks, stroke=INK, stroke_width=1), "".join(texts)


def describe_kind(lang: Language, table: str) -> str:
    """What kind of chart it is."""
    return lang.format_phrase("chart", "kind", kind=lang.format_phrase(table, "kind"))


def describe_axis(
    lang: Language, which: str, name: Wording, low: str, high: str, log: bool = False
) -> str:
    """An axis and its range; `which` is "across" or "up"."""
    key = f"{which}_log" if log else which
    return lang.format_phrase("chart", key, name=lang.translate_label(name), low=low, high=high)
