"""Lines over a parameter, and their bands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    check_series,
    describe_axis,
    describe_kind,
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
    get_english,
    make_phrase,
)
from attention_docs.figures.numbers import check_finite, format_chart_value
from attention_docs.figures.scale import Scale, choose_ticks, spread, widen_range
from attention_docs.figures.svg import (
    COLUMN,
    INK,
    css_colour,
    group,
    measure_text,
    measure_widest,
    outline,
    path,
    polyline,
    rectangle,
    text,
    wrap_label,
)

Point = tuple[float, float]

PLOT = 230  # height
NAME, NAMES = 8, 120  # between a line and its name; the widest line of a name beside the plot
ROW, APART = 16, 18  # from one line of a name to the next, of which there are two; between names
SHORT = 8  # with at most so many points, all of them are described
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
    """The low and the high ends of a band, and the facts for its description."""

    low: list[float]
    high: list[float]
    facts: dict[str, str]


@dataclass(frozen=True)
class Line:
    """A series, its band, which of the looks it has, and whether it is points alone."""

    series: Series
    band: Band | None
    look: int
    dots: bool = False
    plain: bool = False  # beside dots markers would look like some of them

    @property
    def list_values(self) -> list[float]:
        """All values that the axis must hold."""
        band = self.band
        return self.series.values + (band.low + band.high if band else [])

    def draw_band(self, xs: list[float], x: Scale, y: Scale) -> str:
        """The band, under all lines."""
        if not self.band:
            return ""
        low, high = (list(zip(xs, end, strict=True)) for end in (self.band.low, self.band.high))
        around = [(x(a), y(b)) for a, b in low + high[::-1]]
        return path(polyline(around) + "z", fill=css_colour(self.series.colour), fill_opacity=0.2)

    def draw(self, xs: list[float], x: Scale, y: Scale) -> str:
        """The edges of the band, which show in print; the line and at most 12 markers."""
        edges = [self.band.low, self.band.high] if self.band else []
        *outlines, points = (
            [(x(a), y(b)) for a, b in zip(xs, values, strict=True)]
            for values in [*edges, self.series.values]
        )
        thin = {"fill": "none", "stroke": css_colour(self.series.colour), "stroke-width": "0.75"}
        every = 1 if self.dots else -(-len(points) // 12)
        if self.is_constant:
            return self._draw_styled(points[:1] + points[-1:], [], 1.25)
        return path("".join(map(polyline, outlines)), **thin) + self._draw_styled(
            points, points[::every]
        )

    def draw_sample(self, x: float, y: float) -> str:
        """The line in the legend."""
        ends = [(x, y), (x + SAMPLE, y)]
        if self.is_constant:
            return self._draw_styled(ends, [], 1.25)
        return self._draw_styled(ends, [(x + SAMPLE / 2, y)])

    def draw_leader(self, end: Point, name: Point) -> str:
        """A hairline from the line's end to its name, where that had to move away from it."""
        if abs(end[1] - name[1]) < 6:
            return ""
        ends = polyline([end, (name[0] - 2, name[1])])
        return path(ends, fill="none", stroke=css_colour(self.series.colour), stroke_width=0.75)

    @property
    def is_constant(self) -> bool:
        """Whether it is a level that others are compared with: thin, without markers."""
        return not self.dots and not self.band and len(set(self.series.values)) == 1

    def _draw_styled(self, points: list[Point], marked: list[Point], width: float = 2) -> str:
        """Points joined in colour and dashes, and markers: every second line has hollow ones."""
        look, tint = self.look, css_colour(self.series.colour)
        dashes = None if self.is_constant else DASHES[look]
        line = path(
            polyline(points), fill="none", stroke=tint, stroke_width=width, stroke_dasharray=dashes
        )
        line = "" if self.dots else line
        shown = [] if self.plain else marked
        markers = "".join(outline("M", x, y) + MARKERS[look] for x, y in shown)
        fill = css_colour("figure-page") if look % 2 else tint
        return line + path(markers, fill=fill, stroke=tint, stroke_width=1.5)

    def tell(self, lang: Language, xlabel: Wording, x_texts: list[str]) -> str:
        """All of the points, or the ends and extremes; then the band."""
        name = self.series.quote_name(lang) or lang.format_phrase("line_charts", "without_name")
        if self.dots:
            name = lang.format_phrase("line_charts", "dots", name=name)
        pairs = list(zip(x_texts, self.series.texts, strict=True))
        if len(pairs) <= SHORT:
            points = [lang.format_phrase("line_charts", "point", x=x, y=y) for x, y in pairs]
            sentence = lang.format_phrase(
                "line_charts", "points", name=name, points=lang.join_texts("clauses", points)
            )
        else:
            values = self.series.values
            at = {
                "first": 0,
                "last": -1,
                "lowest": values.index(min(values)),
                "highest": values.index(max(values)),
            }
            ys = {which: pairs[i][1] for which, i in at.items()}
            xs = {f"x_{which}": pairs[i][0] for which, i in at.items()}
            sentence = lang.format_phrase(
                "line_charts", "ends", name=name, x=lang.translate_label(xlabel), **xs, **ys
            )
        band = lang.format_phrase("line_charts", "band", **self.band.facts) if self.band else ""
        return lang.join_texts("paragraph", [sentence, band])


@dataclass(frozen=True, repr=False)
class LineChart(DrawnFigure):
    """Lines over one x."""

    xs: list[float]
    x_texts: list[str]
    lines: list[Line]
    band_name: Wording
    names: tuple[Wording, Wording]  # of the axes: across, up
    logs: tuple[bool, bool]
    mark: float | None

    def draw(self, lang: Language) -> Drawing:
        """Rules, bands, the mark, lines, axis, legend."""
        low, high = self._find_range()
        up = choose_ticks(low, high, self.logs[1])
        labels = [format_chart_value(tick, "g") for tick in up]
        left = 18 + measure_widest(labels)
        head = Head(lang, [self.band_name], self.names[1])
        ends = self._place_names(
            lang, Scale(low, high, head.height + PLOT, head.height, self.logs[1])
        )
        right: float = WIDTH - EDGE
        if ends:
            right = WIDTH - NAME - 4 - measure_widest(one for rows, _ in ends for one in rows)
        else:
            legend = [*(line.series.label for line in self.lines), self.band_name]
            head = Head(lang, legend, self.names[1])
        # The same ticks in all languages, however wide the names are.
        narrowest = WIDTH - NAME - 4 - NAMES if len(self.lines) > 1 else right
        shrink = (narrowest - left) / (right - left)
        bottom = head.height + PLOT
        x = Scale(*widen_range(self.xs, self.logs[0]), left, right, self.logs[0])
        y = Scale(low, high, bottom, head.height, self.logs[1])
        own = self._list_ticks()
        name = lang.translate_label(self.names[0])
        # It stands under the middle of the axis, but a long one must not stick out.
        middle = min((left + right) / 2, WIDTH - 8 - measure_text(name) / 2)
        body = [
            *draw_rules([y(tick) for tick in up], labels, left, right),
            *(line.draw_band(self.xs, x, y) for line in self.lines),
            self._draw_mark(x, head.height, bottom),
            *(line.draw(self.xs, x, y) for line in self.lines),
            draw_baseline(left, bottom, right),
            *draw_ticks(
                [x(n) for n in own], [format_chart_value(n, "g") for n in own], bottom, shrink
            ),
            *(
                line.draw_leader((x(self.xs[-1]), y(line.series.values[-1])), (right + NAME, at))
                + group(_write_name(right + NAME, at, rows), fill=css_colour(line.series.colour))
                for (rows, at), line in zip(ends, self.lines, strict=bool(ends))
            ),
            self._draw_samples(head, lang, [] if ends else self.lines),
            head.draw(),
            text(middle, bottom + 41, name, "middle"),
        ]
        return Drawing(WIDTH, bottom + 48, "".join(body), COLUMN)

    def _list_ticks(self) -> list[float]:
        """All x, or some where they are many."""
        few = len(self.xs) <= 9
        return self.xs if few else choose_ticks(self.xs[0], self.xs[-1], self.logs[0], 6)

    def _place_names(self, lang: Language, y: Scale) -> list[tuple[list[str], float]]:
        """The name of each line at its right end, where there is room and names do not touch."""
        names = [wrap_label(lang.translate_label(line.series.label), NAMES) for line in self.lines]
        deep = max(map(len, names))
        wide = measure_widest(one for rows in names for one in rows)
        if not all(names) or len(names) < 2 or wide > NAMES or deep > 2:
            return []
        ends = [y(line.series.values[-1]) for line in self.lines]
        half = (deep - 1) * ROW / 2
        least = 2 * half + APART + 6 * (deep > 1)
        places = spread(ends, least, y.end - 4 + half, y.start + 4 - half)
        return list(zip(names, places, strict=True)) if places else []

    def _find_range(self) -> tuple[float, float]:
        """The ends of the vertical axis: 0 is on it where that costs at most half of it."""
        values = [value for line in self.lines for value in line.list_values]
        low, high = widen_range(values, self.logs[1])
        from_zero = not self.logs[1] and 0 <= min(values) <= max(values) / 2
        return (0.0 if from_zero else low), high

    def _draw_mark(self, x: Scale, top: float, bottom: float) -> str:
        """The upright line at the mark."""
        if self.mark is None:
            return ""
        at = x(self.mark)
        return path(polyline([(at, top), (at, bottom)]), stroke=INK, stroke_width=1)

    def _draw_samples(self, head: Head, lang: Language, lines: list[Line]) -> str:
        """A sample of each of these lines that has a name, and of the bands."""
        named = [line for line in lines if lang.translate_label(line.series.label)]
        samples = [line.draw_sample(*at) for line, at in zip(named, head.samples, strict=False)]
        if self.band_name:
            x, y = head.samples[-1]
            shape = rectangle(x, y - 6, SAMPLE, 12)
            samples.append(path(shape, fill=css_colour("role-neutral"), fill_opacity=0.3))
        return "".join(samples)

    def describe(self, lang: Language) -> str:
        """The axes, then every line."""
        xlabel, ylabel = self.names
        extremes = [
            end
            for line in self.lines
            for end in zip(line.series.values, line.series.texts, strict=True)
        ]
        sentences = [
            describe_kind(lang, "line_charts"),
            describe_axis(lang, "across", xlabel, self.x_texts[0], self.x_texts[-1], self.logs[0]),
            describe_axis(lang, "up", ylabel, min(extremes)[1], max(extremes)[1], self.logs[1]),
            *(line.tell(lang, xlabel, self.x_texts) for line in self.lines),
        ]
        if self.mark is not None:
            at = format_chart_value(self.mark, "g")
            sentences.append(
                lang.format_phrase("line_charts", "mark", name=lang.translate_label(xlabel), at=at)
            )
        return lang.join_texts("paragraph", sentences)


def _write_name(x: float, middle: float, rows: Sequence[str]) -> str:
    """The lines of a name, around a height."""
    top = middle + 5 - ROW * (len(rows) - 1) / 2
    return "".join(text(x, top + i * ROW, one) for i, one in enumerate(rows))


def line_chart(
    x: Any,
    series: Pairs,
    *,
    xlabel: str,
    ylabel: str,
    band: Mapping[str, tuple[Any, Any]] | None = None,
    band_name: str | None = None,
    dots: Collection[str] = (),
    roles: Sequence[str] | None = None,
    log_x: bool = False,
    log_y: bool = False,
    mark: float | None = None,
    spec: str = ".3g",
) -> Figure:
    """Lines over a parameter, distinguished by dashes and markers.

    Args:
        x: where the lines have their points, rising.
        series: label to values, one for each x; or pairs of a label and its values.
        xlabel: what x is.
        ylabel: what the values are.
        band: the (English) label of a series to the low and the high end of its band.
        band_name: what the band is, for the legend.
        dots: the (English) labels of series that are points, without a line through them.
        roles: a role for every series, for their colours; without it, colours of no role.
        log_x: a logarithmic axis for x.
        log_y: a logarithmic axis for the values.
        mark: an x with an upright line, such as where a slider stands.
        spec: the format of the numbers in the alternative text.

    Raises:
        ValueError: a series or band of another length than x, numbers that are not finite, or not
            positive on a logarithmic axis, an unknown role, a band or dots of an unknown series,
            a mark that lies outside x.

    Examples:
        >>> line_chart(  # doctest: +NORMALIZE_WHITESPACE
        ...     [1, 2], {"theory": [0.5, 4]}, xlabel="d_k", ylabel="variance"
        ... )
        Line chart. Horizontal axis: d_k, from 1 to 2. Vertical axis: variance, from 0.5 to 4.
        theory: 0.5 at 1; 4 at 2.
    """
    xs = check_finite("x", x)
    if any(b <= a for a, b in pairwise(xs)):
        raise ValueError(f"x must rise, got {xs}")
    all_series = check_series(series, len(xs), roles, spec, "x")
    bands = _check_bands(band or {}, all_series, spec)
    names = [get_english(one.label) for one in all_series]
    if unknown := {*dots} - {*names}:
        raise ValueError(f"dots must be of a series in {names}, got {sorted(unknown)}")
    lines = [
        Line(one, its_band, look, name in dots, bool(dots) and name not in dots)
        for look, (name, one, its_band) in enumerate(zip(names, all_series, bands, strict=True))
    ]
    values = [value for line in lines for value in line.list_values]
    for name, numbers, log in (("x", xs, log_x), ("values", values, log_y)):
        if log and min(numbers) <= 0:
            raise ValueError(f"{name} must be positive on a logarithmic axis, got {min(numbers)}")
    if mark is not None and not xs[0] <= mark <= xs[-1]:
        raise ValueError(f"mark must lie between {xs[0]} and {xs[-1]}, got {mark}")
    x_spec = "d" if all(value.is_integer() for value in xs) else spec
    return LineChart(
        xs,
        [format_chart_value(value, x_spec) for value in xs],
        lines,
        check_label(band_name or make_phrase("line_charts", "range")) if band else None,
        (check_label(xlabel), check_label(ylabel)),
        (log_x, log_y),
        mark,
    )


def _check_bands(
    ends_by_label: Mapping[str, tuple[Any, Any]], series: list[Series], spec: str
) -> list[Band | None]:
    """The band of every series, or ValueError."""
    known = [get_english(one.label) for one in series]
    length = len(series[0].values)
    bands: list[Band | None] = [None] * len(series)
    for label, ends in ends_by_label.items():
        if label not in known:
            raise ValueError(f"band must be of one of the series {known}, got {label!r}")
        low, high = (check_finite(f"band of {label!r}", end) for end in ends)
        if (len(low), len(high)) != (length, length):
            raise ValueError(
                f"band of {label!r} must have {length} low and high ends, "
                f"got {len(low)} and {len(high)}"
            )
        if any(a > b for a, b in zip(low, high, strict=True)):
            raise ValueError(f"band of {label!r} must have its low end below its high end")
        facts = {"low": low[0], "high": high[0], "last_low": low[-1], "last_high": high[-1]}
        texts = {name: format_chart_value(value, spec) for name, value in facts.items()}
        bands[known.index(label)] = Band(low, high, texts)
    return bands
