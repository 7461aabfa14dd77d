"""Lines over a parameter, and their bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from attention_docs.figures.chart import (
    EDGE,
    SAMPLE,
    WIDTH,
    Head,
    Pairs,
    Series,
    across,
    baseline,
    checked_series,
    rules,
    tell_axis,
    tell_kind,
)
from attention_docs.figures.figure import (
    Drawing,
    Drawn,
    Figure,
    Label,
    Language,
    Wording,
    checked_label,
    english,
    phrase,
)
from attention_docs.figures.numbers import charted, finite
from attention_docs.figures.scale import Scale, ticks, widened
from attention_docs.figures.svg import (
    colour,
    outline,
    path,
    polyline,
    rectangle,
    text,
    text_width,
    widest,
)

PLOT = 230  # height
SHORT = 8  # with at most so many points, all of them are told
DASHES = (None, "14 6", "4 5", "18 6 4 6", "8 3", "24 8")
MARKERS = (  # from the middle: circle, square, triangle, diamond, triangle, cross
    "m-3.25 0a3.25 3.25 0 0 1 6.5 0a3.25 3.25 0 0 1-6.5 0z",
    "m-3.25-3.25h6.5v6.5h-6.5z",
    "m0-3.25l3.25 6.5h-6.5z",
    "m0-4.6l4.6 4.6l-4.6 4.6l-4.6-4.6z",
    "m0 3.25l3.25-6.5h-6.5z",
    "m-1.08-3.25h2.16v2.17h2.17v2.16h-2.17v2.17h-2.16v-2.17h-2.17v-2.16h2.17z",
)


@dataclass(frozen=True)
class Band:
    """The low and the high ends of a band, and how the outermost ones are told."""

    low: list[float]
    high: list[float]
    told: dict[str, str]


@dataclass(frozen=True, repr=False)
class LineChart(Drawn):
    """Lines over one x, some with a band; `bands` has a place for each line."""

    xs: list[float]
    x_texts: list[str]
    lines: list[Series]
    bands: list[Band | None]
    band_name: Wording
    names: tuple[Wording, Wording]  # of the axes: across, up
    title: Wording
    logs: tuple[bool, bool]

    def draw(self, lang: Language) -> Drawing:
        """Rules, bands, lines, axis, legend."""
        values = [value for line in self.lines for value in line.values]
        values += [end for band in self.bands if band for end in band.low + band.high]
        low, high = widened(values, self.logs[1])
        if not self.logs[1] and 0 <= min(values) <= max(values) / 2:
            low = 0
        up = ticks(low, high, self.logs[1])
        labels = [charted(tick, "g") for tick in up]
        left = 18 + widest(labels)
        shaded = self.band_name if any(self.bands) else None
        legend = [*(line.label for line in self.lines), shaded]
        head = Head(lang, self.title, legend, self.names[1])
        bottom = head.height + PLOT
        x = Scale(*widened(self.xs, self.logs[0]), left, WIDTH - EDGE, self.logs[0])
        y = Scale(low, high, bottom, head.height, self.logs[1])
        ruled, y_labels = rules([y(tick) for tick in up], labels, left)
        own = self.xs
        if len(own) > 9:
            own = ticks(own[0], own[-1], self.logs[0], 6)
        axis, x_labels = across([x(n) for n in own], [charted(n, "g") for n in own], bottom)
        name = lang.label(self.names[0])
        # It stands under the middle of the axis, but a long one must not stick out.
        middle = min((left + WIDTH - EDGE) / 2, WIDTH - 8 - text_width(name) / 2)
        body = [
            ruled,
            *(_band(self.xs, one, x, y, line.colour) for one, line in self._banded()),
            *(self._line(i, x, y) for i in range(len(self.lines))),
            baseline(left, bottom),
            axis,
            self._legend(head, lang),
            y_labels,
            x_labels,
            head.draw(),
            text(middle, bottom + 41, name, "middle"),
        ]
        return Drawing(WIDTH, bottom + 48, "".join(body), 520)

    def _banded(self) -> list[tuple[Band, Series]]:
        return [(b, line) for b, line in zip(self.bands, self.lines, strict=True) if b]

    def _line(self, i: int, x: Scale, y: Scale) -> str:
        line, band = self.lines[i], self.bands[i]
        points = [(x(a), y(b)) for a, b in zip(self.xs, line.values, strict=True)]
        edges = [] if band is None else [band.low, band.high]
        drawn = "".join(  # the edges of a band show in print
            polyline((x(a), y(b)) for a, b in zip(self.xs, edge, strict=True)) for edge in edges
        )
        drawn = path(drawn, fill="none", stroke=colour(line.colour), stroke_width=0.75)
        return drawn + _styled(i, line.colour, points, points[:: max(1, -(-len(points) // 12))])

    def _legend(self, head: Head, lang: Language) -> str:
        """A sample of every line, and of the bands."""
        named = [(i, line.colour) for i, line in enumerate(self.lines) if lang.label(line.label)]
        samples = [
            _styled(i, tint, [(x, y), (x + SAMPLE, y)], [(x + SAMPLE / 2, y)])
            for (i, tint), (x, y) in zip(named, head.samples, strict=False)
        ]
        if any(self.bands):
            x, y = head.samples[-1]
            shape = rectangle(x, y - 6, SAMPLE, 12)
            samples.append(path(shape, fill=colour("role-neutral"), fill_opacity=0.3))
        return "".join(samples)

    def tell(self, lang: Language) -> str:
        """The axes, then every line: all of its points, or its ends and extremes."""
        ends = [one for line in self.lines for one in zip(line.values, line.texts, strict=True)]
        across_, up = self.names
        sentences = [
            tell_kind(lang, "line_charts", self.title),
            tell_axis(lang, "across", across_, self.x_texts[0], self.x_texts[-1], self.logs[0]),
            tell_axis(lang, "up", up, min(ends)[1], max(ends)[1], self.logs[1]),
        ]
        for line, band in zip(self.lines, self.bands, strict=True):
            sentences.append(self._tell_line(line, lang))
            sentences.append(lang.say("line_charts", "band", **band.told) if band else "")
        return lang.join("paragraph", sentences)

    def _tell_line(self, line: Series, lang: Language) -> str:
        name = line.named(lang) or lang.say("line_charts", "without_name")
        pairs = list(zip(self.x_texts, line.texts, strict=True))
        if len(pairs) <= SHORT:
            points = [lang.say("line_charts", "point", x=x, y=y) for x, y in pairs]
            return lang.say("line_charts", "points", name=name, points=lang.join("clauses", points))
        low, high = (line.values.index(end(line.values)) for end in (min, max))
        (x_first, first), (x_last, last) = pairs[0], pairs[-1]
        (x_low, lowest), (x_high, highest) = pairs[low], pairs[high]
        return lang.say(
            "line_charts",
            "ends",
            name=name,
            x=lang.label(self.names[0]),
            x_first=x_first,
            first=first,
            x_last=x_last,
            last=last,
            x_low=x_low,
            lowest=lowest,
            x_high=x_high,
            highest=highest,
        )


def _styled(
    i: int, tint: str, points: list[tuple[float, float]], marked: list[tuple[float, float]]
) -> str:
    """A line in its colour and dashes, and its markers: every second line has hollow ones."""
    line = path(
        polyline(points),
        fill="none",
        stroke=colour(tint),
        stroke_width=2,
        stroke_dasharray=DASHES[i],
    )
    markers = "".join(outline("M", x, y) + MARKERS[i] for x, y in marked)
    fill = colour("figure-page" if i % 2 else tint)
    return line + path(markers, fill=fill, stroke=colour(tint), stroke_width=1.5)


def _band(xs: list[float], band: Band, x: Scale, y: Scale, tint: str) -> str:
    low, high = (list(zip(xs, end, strict=True)) for end in (band.low, band.high))
    around = [(x(a), y(b)) for a, b in low + high[::-1]]
    return path(polyline(around) + "z", fill=colour(tint), fill_opacity=0.2)


def line_chart(
    x: Any,
    series: Pairs,
    *,
    xlabel: Label,
    ylabel: Label,
    title: Label | None = None,
    band: Mapping[str, tuple[Any, Any]] | None = None,
    band_name: Label | None = None,
    roles: Sequence[str] | None = None,
    log_x: bool = False,
    log_y: bool = False,
    spec: str = ".3g",
) -> Figure:
    """Lines over a parameter, told apart by dashes and markers.

    Args:
        x: where the lines have their points, rising.
        series: label to values, one for each x; or pairs of a label and its values.
        xlabel: what x is.
        ylabel: what the values are.
        title: stands above.
        band: the (English) label of a series to the low and the high end of its band.
        band_name: what the band is, for the legend.
        roles: a role for every series, for their colours; without it, colours of no role.
        log_x: a logarithmic axis for x.
        log_y: a logarithmic axis for the values.
        spec: the format of the numbers in the alternative text.

    Raises:
        ValueError: a series or band of another length than x, numbers that are not finite, or not
            positive on a logarithmic axis, an unknown role, a band of an unknown series.

    Examples:
        >>> line_chart([1, 2], {"theory": [0.5, 4]}, xlabel="d_k", ylabel="variance")
        Line chart. Horizontal axis: d_k, from 1 to 2. Vertical axis: variance, from 0.5 to 4.
        theory: 0.5 at 1; 4 at 2.
    """
    xs = finite("x", x)
    if any(b <= a for a, b in pairwise(xs)):
        raise ValueError(f"x must rise, got {xs}")
    lines = checked_series(series, len(xs), roles, spec, "x")
    bands = _checked_bands(band or {}, lines, spec)
    values = [value for line in lines for value in line.values]
    values += [end for one in bands if one for end in one.low + one.high]
    for name, numbers, log in (("x", xs, log_x), ("values", values, log_y)):
        if log and min(numbers) <= 0:
            raise ValueError(f"{name} must be positive on a logarithmic axis, got {min(numbers)}")
    x_spec = "d" if all(value.is_integer() for value in xs) else spec
    return LineChart(
        xs,
        [charted(value, x_spec) for value in xs],
        lines,
        bands,
        checked_label(band_name or phrase("line_charts", "range")),
        (checked_label(xlabel), checked_label(ylabel)),
        checked_label(title),
        (log_x, log_y),
    )


def _checked_bands(
    given: Mapping[str, tuple[Any, Any]], lines: list[Series], spec: str
) -> list[Band | None]:
    """The band of every line, or ValueError."""
    known = [english(line.label) for line in lines]
    bands: list[Band | None] = [None] * len(lines)
    for label, ends in given.items():
        if label not in known:
            raise ValueError(f"band must be of one of the series {known}, got {label!r}")
        low, high = (finite(f"band of {label!r}", end) for end in ends)
        length = len(lines[0].values)
        if (len(low), len(high)) != (length, length):
            raise ValueError(
                f"band of {label!r} must have {length} low and high ends, "
                f"got {len(low)} and {len(high)}"
            )
        if any(a > b for a, b in zip(low, high, strict=True)):
            raise ValueError(f"band of {label!r} must have its low end below its high end")
        told = {"low": low[0], "high": high[0], "last_low": low[-1], "last_high": high[-1]}
        texts = {name: charted(value, spec) for name, value in told.items()}
        bands[known.index(label)] = Band(low, high, texts)
    return bands
