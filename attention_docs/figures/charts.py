"""A plot over a parameter: lines and their bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from attention_docs.figures import chart_words
from attention_docs.figures.boxes import text
from attention_docs.figures.canvas import Canvas, canvas, stand_in
from attention_docs.figures.frame import (
    SAMPLE,
    SIZE,
    WIDTH,
    Head,
    Pairs,
    Series,
    apart,
    charted,
    checked_series,
    each_language,
    finite,
    ticks,
    widened,
)
from attention_docs.figures.parts import Figure, Label, both, label_width, svg, text_width

DASHES: tuple[Any, ...] = (
    "-",
    (0, (7, 3)),
    (0, (2, 2.5)),
    (0, (9, 3, 2, 3)),
    (0, (4, 1.5)),
    (0, (12, 4)),
)
MARKERS = "os^DvP"
PLOT = 230  # height


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
    """
    xs = finite("x", x)
    if any(b <= a for a, b in pairwise(xs)):
        raise ValueError(f"x must rise, got {xs}")
    lines = checked_series(series, len(xs), roles)
    bands = _checked_bands(band or {}, lines, len(xs))
    ys = [value for line in lines for value in line.values]
    ys += [value for ends in bands.values() for end in ends for value in end]
    for name, values, log in (("x", xs, log_x), ("values", ys, log_y)):
        if log and min(values) <= 0:
            raise ValueError(f"{name} must be positive on a logarithmic axis, got {min(values)}")
    low, high = widened(ys, log_y)
    low = 0 if not log_y and 0 <= min(ys) <= max(ys) / 2 else low
    y_ticks = [(tick, charted(tick, "g")) for tick in ticks(low, high, log_y)]
    left = 18 + max(text_width(label, SIZE) for _, label in y_ticks)
    shading = [both(band_name or {"en": "shaded: range", "zh": "阴影：范围"})] if bands else []
    legend = [line.label for line in lines if line.label["en"]]
    head = Head(title, legend + shading, ylabel)
    bottom = head.height + PLOT
    with canvas(WIDTH, bottom + 48) as sheet:
        axes = sheet.axes(left, head.height, WIDTH - left - 18, PLOT)
        axes.set_xscale("log" if log_x else "linear")
        axes.set_yscale("log" if log_y else "linear")
        axes.set_xlim(*widened(xs, log_x))
        axes.set_ylim(low, high)
        places = [sheet.place(axes, xs[0], tick)[1] for tick, _ in y_ticks]
        for y in places:
            sheet.rule([left, WIDTH - 18], [y, y])
        for i, line in enumerate(lines):
            if line.label["en"] in bands:
                _draw_band(axes, xs, *bands[line.label["en"]], line.colour)
            every = max(1, -(-len(xs) // 12))
            axes.plot(xs, line.values, markevery=every, **_style(i, line))
        own = xs if len(xs) <= 9 else ticks(xs[0], xs[-1], log_x, 6)
        x_ticks = apart(
            [sheet.place(axes, t, ys[0])[0] for t in own], [charted(t, "g") for t in own]
        )
        for at, _ in x_ticks:
            sheet.tick(at, bottom)
        _draw_legend(sheet, head, lines, bool(bands))
        marks = sheet.body()
    labels = "".join(
        text(left - 8, y + 5, label, "end") for y, (_, label) in zip(places, y_ticks, strict=True)
    ) + "".join(text(at, bottom + 20, label, "middle") for at, label in x_ticks)
    names = both(xlabel)
    # The name of the axis stands under its middle, but for a long one, which must not stick out.
    middle = max(min((left + WIDTH - 18) / 2, WIDTH - 8 - label_width([names], SIZE) / 2), 10)
    alt = each_language(
        lambda lang: chart_words.lines(
            names, both(ylabel), both(title), xs, lines, bands, (log_x, log_y), spec, lang
        )
    )
    return Figure(
        each_language(
            lambda lang: svg(
                WIDTH,
                bottom + 48,
                marks
                + labels
                + head.texts(lang)
                + text(middle, bottom + 41, names[lang], "middle"),
                alt[lang],
                520,
            )
        ),
        alt,
    )


def _checked_bands(
    band: Mapping[str, tuple[Any, Any]], lines: list[Series], length: int
) -> dict[str, tuple[list[float], list[float]]]:
    """The bands by English label, or ValueError."""
    known = [line.label["en"] for line in lines]
    found = {}
    for label, ends in band.items():
        if label not in known:
            raise ValueError(f"band must be of one of the series {known}, got {label!r}")
        low, high = (finite(f"band of {label!r}", end) for end in ends)
        if (len(low), len(high)) != (length, length):
            raise ValueError(
                f"band of {label!r} must have {length} low and high ends, "
                f"got {len(low)} and {len(high)}"
            )
        if any(a > b for a, b in zip(low, high, strict=True)):
            raise ValueError(f"band of {label!r} must have its low end below its high end")
        found[label] = low, high
    return found


def _style(i: int, line: Series) -> dict[str, Any]:
    """How a line looks: its colour, dashes and marker."""
    tint = stand_in(line.colour)
    hollow = stand_in("figure-page") if i % 2 else tint
    return {
        "color": tint,
        "linestyle": DASHES[i],
        "linewidth": 2,
        "marker": MARKERS[i],
        "markersize": 6.5,
        "markerfacecolor": hollow,
        "markeredgewidth": 1.5,
    }


def _draw_band(axes: Any, xs: list[float], low: list[float], high: list[float], tint: str) -> None:
    """A band and its edges, which show in print."""
    axes.fill_between(xs, low, high, color=stand_in(tint), alpha=0.2, linewidth=0)
    for edge in (low, high):
        axes.plot(xs, edge, color=stand_in(tint), linewidth=0.75)


def _draw_legend(sheet: Canvas, head: Head, lines: list[Series], banded: bool) -> None:
    """A sample of every line, and of the band."""
    named = [(i, line) for i, line in enumerate(lines) if line.label["en"]]
    for (i, line), (x, y) in zip(named, head.samples, strict=False):
        sheet.line([x, x + SAMPLE / 2, x + SAMPLE], [y] * 3, markevery=[1], **_style(i, line))
    if banded:
        x, y = head.samples[-1]
        tint = stand_in("role-neutral")
        sheet.rectangle(x, y - 6, SAMPLE, 12, facecolor=tint, edgecolor="none", alpha=0.3)
