"""Charts of amounts: bars for a few values, histograms for many samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from attention_docs.figures import chart_words
from attention_docs.figures.boxes import text
from attention_docs.figures.canvas import canvas, stand_in
from attention_docs.figures.frame import (
    SAMPLE,
    SIZE,
    WIDTH,
    Head,
    Pairs,
    apart,
    charted,
    checked_series,
    each_language,
    finite,
    ticks,
    wrapped,
)
from attention_docs.figures.parts import (
    LANGUAGES,
    Figure,
    Label,
    both,
    label_width,
    svg,
    text_width,
)

BAR, PANEL = 20, 92  # height of a bar; of a panel of a histogram
FILLS = (1.0, 0.0, 0.45)  # how strongly the bars of a series are filled: their edge is always there


def bar_chart(
    labels: Sequence[Label],
    series: Pairs,
    *,
    ylabel: Label,
    xlabel: Label | None = None,
    title: Label | None = None,
    roles: Sequence[str] | None = None,
    spec: str = ".3g",
) -> Figure:
    """Lying bars, every value written at its bar.

    Args:
        labels: of the groups, from top to bottom.
        series: label to values, one for each group; or pairs of a label and its values. A single
            series with the label "" has no legend.
        ylabel: what the values are.
        xlabel: what the groups are. (The bars lie, so that long labels and every value have room.)
        title: stands above.
        roles: a role for every series, for their colours; without it, colours of no role.
        spec: the format of the values.

    Raises:
        ValueError: a series of another length than the labels, numbers that are not finite, an
            unknown role.
    """
    groups = [both(label) for label in labels]
    bars = checked_series(series, len(groups), roles, "the labels")
    values = [value for one in bars for value in one.values]
    low, high = min([0.0, *values]), max([0.0, *values]) or 1.0
    left = 18 + min(label_width(groups, SIZE), 150.0)
    lines = [{lang: wrapped(one[lang], 150) for lang in LANGUAGES} for one in groups]
    deep = max(len(bars) * BAR, *(17 * len(one[lang]) for one in lines for lang in LANGUAGES)) + 12
    head = Head(title, [one.label for one in bars if one.label["en"]], xlabel)
    bottom = head.height + deep * len(groups)
    room = 10 + max(text_width(charted(value, spec), SIZE) for value in values)
    left_end = left + room * (low < 0)
    with canvas(WIDTH, bottom + 30) as sheet:
        axes = sheet.axes(left_end, head.height, WIDTH - left_end - room - 8, bottom - head.height)
        axes.set_xlim(low, high)
        axes.set_ylim(bottom, head.height)  # SVG units, downwards
        axes.spines["bottom"].set_visible(False)
        tips = []
        for k, one in enumerate(bars):
            style = _fill(k, one.colour)
            for g, value in enumerate(one.values):
                top = head.height + g * deep + (deep - len(bars) * BAR) / 2 + k * BAR
                axes.barh(top + BAR / 2, value, BAR - 4, **style)
                x, y = sheet.place(axes, value, top + BAR / 2)
                tips.append(
                    text(
                        x + (5 if value >= 0 else -5),
                        y + 5,
                        charted(value, spec),
                        "start" if value >= 0 else "end",
                    )
                )
        zero = sheet.place(axes, 0, 0)[0]
        sheet.line([zero, zero], [head.height, bottom], color=stand_in("figure-ink"), linewidth=1)
        shown = [(k, one) for k, one in enumerate(bars) if one.label["en"]]
        for (k, one), (x, y) in zip(shown, head.samples, strict=True):
            sheet.rectangle(x + 6, y - 6, SAMPLE - 8, 12, **_fill(k, one.colour))
        marks = sheet.body()
    names = both(ylabel)

    def body(lang: str) -> str:
        parts = [marks, head.texts(lang), *tips]
        for g, one in enumerate(lines):
            middle = head.height + (g + 0.5) * deep - 17 * (len(one[lang]) - 1) / 2
            parts += [
                text(left - 8, middle + 5 + 17 * i, line, "end") for i, line in enumerate(one[lang])
            ]
        parts.append(text(zero, bottom + 19, f"{names[lang]} →"))
        return "".join(parts)

    alt = each_language(
        lambda lang: chart_words.bars(groups, bars, names, both(xlabel), both(title), spec, lang)
    )
    return Figure(
        each_language(lambda lang: svg(WIDTH, bottom + 30, body(lang), alt[lang], 520)), alt
    )


def _fill(k: int, tint: str) -> dict[str, Any]:
    """How the bars of a series look: full, empty or half full, then the same with dashed edges."""
    from matplotlib.colors import to_rgba

    return {
        "facecolor": to_rgba(stand_in(tint), FILLS[k % 3]) if FILLS[k % 3] else "none",
        "edgecolor": stand_in(tint),
        "linewidth": 1.75,
        "linestyle": "-" if k < 3 else (0, (3, 2)),
    }


def histogram(
    samples: Pairs,
    edges: Any,
    *,
    xlabel: Label,
    ylabel: Label | None = None,
    title: Label | None = None,
    roles: Sequence[str] | None = None,
    counts: bool = False,
    same_scale: bool = False,
    spec: str = ".3g",
) -> Figure:
    """How samples spread over bins: a panel for every series, over one horizontal axis.

    Args:
        samples: label to samples; or pairs of a label and its samples.
        edges: of the bins, rising; a bin has its lower edge and the last one both.
        xlabel: what a sample is.
        ylabel: what the height of a bar is; without it, "share of the samples".
        title: stands above.
        roles: a role for every series, for their colours; without it, colours of no role.
        counts: the samples are counted already: one number for each bin.
        same_scale: every panel reaches as high as the highest.
        spec: the format of the numbers in the alternative text.

    Raises:
        ValueError: edges that do not rise, a wrong number of counts, no sample inside the edges.
    """
    import numpy as np

    ends = finite("edges", edges)
    if len(ends) < 2 or any(b <= a for a, b in pairwise(ends)):
        raise ValueError(f"edges must be at least 2 and rise, got {ends}")
    panels = checked_series(samples, len(ends) - 1 if counts else None, roles, "the bins")
    tallies = [
        one.values if counts else np.histogram(one.values, ends)[0].tolist() for one in panels
    ]
    outside = [
        0 if counts else len(p.values) - sum(t) for p, t in zip(panels, tallies, strict=True)
    ]
    totals = [sum(t) + out for t, out in zip(tallies, outside, strict=True)]
    for panel, tally in zip(panels, tallies, strict=True):
        if sum(tally) <= 0 or min(tally) < 0:
            raise ValueError(
                f"series {panel.label['en']!r} must have samples between {ends[0]} and {ends[-1]}, "
                f"got {sum(tally)}"
            )
    shares = [[n / total for n in tally] for tally, total in zip(tallies, totals, strict=True)]
    highest = [max(max(one) for one in shares) if same_scale else max(share) for share in shares]
    marked = [ticks(0, top * 1.05, False, 3) for top in highest]
    left = 18 + max(text_width(charted(t, "g"), SIZE) for one in marked for t in one)
    axis = both(ylabel or {"en": "share of the samples", "zh": "占样本的比例"})
    head = Head(title, [], axis)
    deep = PANEL + 34
    bottom = head.height + deep * len(panels) - 6
    own: list[str] = []
    with canvas(WIDTH, bottom + 46) as sheet:
        for k, (panel, share) in enumerate(zip(panels, shares, strict=True)):
            top = head.height + k * deep + 28
            axes = sheet.axes(left, top, WIDTH - left - 18, PANEL)
            axes.set_xlim(ends[0], ends[-1])
            axes.set_ylim(0, highest[k] * 1.05)
            for tick in marked[k]:
                y = sheet.place(axes, ends[0], tick)[1]
                sheet.rule([left, WIDTH - 18], [y, y])
                own.append(text(left - 8, y + 5, charted(tick, "g"), "end"))
            axes.stairs(share, ends, fill=True, color=stand_in(panel.colour), alpha=0.35)
            axes.stairs(share, ends, color=stand_in(panel.colour), linewidth=1.75)
        wanted = ticks(ends[0], ends[-1], False, 6)
        x_ticks = apart(
            [sheet.place(axes, t, 0)[0] for t in wanted], [charted(t, "g") for t in wanted]
        )
        for at, label in x_ticks:
            sheet.tick(at, bottom)
            own.append(text(at, bottom + 20, label, "middle"))
        marks = sheet.body()
    names = both(xlabel)
    alt = each_language(
        lambda lang: chart_words.histograms(
            names, axis, both(title), panels, ends, shares, totals, outside, spec, lang
        )
    )

    def body(lang: str) -> str:
        titles = "".join(
            text(left, head.height + k * deep + 19, panel.label[lang], bold=True)
            for k, panel in enumerate(panels)
        )
        below = text((left + WIDTH - 18) / 2, bottom + 40, names[lang], "middle")
        return marks + head.texts(lang) + titles + "".join(own) + below

    return Figure(
        each_language(lambda lang: svg(WIDTH, bottom + 46, body(lang), alt[lang], 520)), alt
    )
