"""How samples spread over bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from attention_docs.figures.chart import (
    EDGE,
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
from attention_docs.figures.scale import Scale, choose_ticks
from attention_docs.figures.svg import COLUMN, css_colour, measure_widest, outline, path, text

PANEL, ABOVE = 92, 28  # height of a panel; of its name above it
DEEP = PANEL + ABOVE + 6
SPEC = ".3g"  # of the numbers in the alternative text


@dataclass(frozen=True)
class Panel:
    """One series: the share of each bin, and the facts for its description."""

    label: Wording
    colour: str
    shares: list[float]
    facts: dict[str, Any]  # first, last, low, high, most, n
    outside: int


@dataclass(frozen=True, repr=False)
class Histogram(DrawnFigure):
    """A panel for every series, over one horizontal axis."""

    edges: list[float]
    ends: tuple[str, str, str]  # lowest and highest edge, highest bar
    panels: list[Panel]
    names: tuple[Wording, Wording]  # of the axes: across, up
    same_scale: bool

    def draw(self, lang: Language) -> Drawing:
        """The panels from top to bottom, then the axis."""
        tops = [max(panel.shares) * 1.05 for panel in self.panels]
        if self.same_scale:
            tops = [max(tops)] * len(tops)
        up = [choose_ticks(0, top, count=3) for top in tops]
        left = 18 + measure_widest(format_chart_value(tick, "g") for one in up for tick in one)
        head = Head(lang, [], self.names[1])
        x = Scale(self.edges[0], self.edges[-1], left, WIDTH - EDGE)
        body: list[str] = []
        bottom = head.height
        for panel, top, heights in zip(self.panels, tops, up, strict=True):
            bottom += DEEP
            y = Scale(0, top, bottom - 6, bottom - 6 - PANEL)
            labels = [format_chart_value(tick, "g") for tick in heights]
            body += draw_rules([y(tick) for tick in heights], labels, left)
            body += [
                _draw_stairs(self.edges, panel, x, y),
                draw_baseline(left, y(0)),
                text(left, bottom - DEEP + 19, lang.translate_label(panel.label), bold=True),
            ]
        bottom -= 6
        wanted = choose_ticks(self.edges[0], self.edges[-1], count=6)
        body += draw_ticks(
            [x(n) for n in wanted], [format_chart_value(n, "g") for n in wanted], bottom
        )
        below = lang.translate_label(self.names[0])
        body += [head.draw(), text((left + WIDTH - EDGE) / 2, bottom + 40, below, "middle")]
        return Drawing(WIDTH, bottom + 46, "".join(body), COLUMN)

    def describe(self, lang: Language) -> str:
        """The axes, then for every panel its number of samples, its fullest bin and its ends."""
        low, high, most = self.ends
        sentences = [
            describe_kind(lang, "histograms"),
            describe_axis(lang, "across", self.names[0], low, high),
            describe_axis(lang, "up", self.names[1], "0", most),
        ]
        for panel in self.panels:
            out = (
                lang.format_phrase("histograms", "outside", n=panel.outside)
                if panel.outside
                else ""
            )
            samples = lang.format_phrase("histograms", "samples", n=panel.facts["n"])
            name = lang.quote(lang.translate_label(panel.label))
            parts = panel.facts | {"name": name, "samples": samples, "outside": out}
            sentences.append(lang.format_phrase("histograms", "panel", **parts))
        return lang.join_texts("paragraph", sentences)


def _draw_stairs(edges: list[float], panel: Panel, x: Scale, y: Scale) -> str:
    """The outline of all bars together, and a light fill."""
    steps: list[str | float] = ["M", x(edges[0]), y(0)]
    for share, end in zip(panel.shares, edges[1:], strict=True):
        steps += ["V", y(share), "H", x(end)]
    d, tint = outline(*steps, "V", y(0)), css_colour(panel.colour)
    return path(d, fill=tint, fill_opacity=0.35, stroke=tint, stroke_width=1.75)


def histogram(
    samples: Pairs,
    edges: Any,
    *,
    xlabel: str,
    roles: Sequence[str] | None = None,
    same_scale: bool = False,
) -> Figure:
    """How samples spread over bins: a panel for every series, over one horizontal axis.

    Args:
        samples: label to samples; or pairs of a label and its samples.
        edges: of the bins, rising; a bin has its lower edge and the last one both.
        xlabel: what a sample is.
        roles: a role for every series, for their colours; without it, colours of no role.
        same_scale: every panel reaches as high as the highest.

    Raises:
        ValueError: edges that do not rise, no sample inside the edges.

    Examples:
        >>> histogram(  # doctest: +NORMALIZE_WHITESPACE
        ...     {"raw": [0.5, 0.7, 1.5, 7]}, [0, 1, 2, 3], xlabel="score"
        ... )
        Histogram. Horizontal axis: score, from 0 to 3. Vertical axis: share of the samples, from 0
        to 0.5. raw: 4 samples, spread from 0 to 2, the fullest bin from 0 to 1 with a share of 0.5;
        1 sample lies outside the axis.
    """
    ends = check_finite("edges", edges)
    if len(ends) < 2 or any(b <= a for a, b in pairwise(ends)):
        raise ValueError(f"edges must be at least 2 and rise, got {ends}")
    series = check_series(samples, None, roles, None, "")
    panels = [_make_panel(one, ends) for one in series]
    highest = max(max(panel.shares) for panel in panels)
    return Histogram(
        ends,
        (
            format_chart_value(ends[0], SPEC),
            format_chart_value(ends[-1], SPEC),
            format_chart_value(highest, SPEC),
        ),
        panels,
        (check_label(xlabel), make_phrase("histograms", "share")),
        same_scale,
    )


def _make_panel(series: Series, edges: list[float]) -> Panel:
    """The share of each bin, or ValueError where no sample is in any."""
    tally = np.histogram(series.values, edges)[0].tolist()
    if not sum(tally):
        raise ValueError(
            f"series {get_english(series.label)!r} must have samples between {edges[0]} and "
            f"{edges[-1]}, got {sum(tally)}"
        )
    total = len(series.values)
    shares = [n / total for n in tally]
    best = shares.index(max(shares))
    filled = [i for i, share in enumerate(shares) if share > 0]
    facts = {
        "first": edges[filled[0]],
        "last": edges[filled[-1] + 1],
        "low": edges[best],
        "high": edges[best + 1],
        "most": max(shares),
    }
    texts: dict[str, Any] = {name: format_chart_value(value, SPEC) for name, value in facts.items()}
    return Panel(series.label, series.colour, shares, texts | {"n": total}, total - sum(tally))
