"""Lying bars for a few values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from attention_docs.figures.chart import (
    SAMPLE,
    WIDTH,
    Head,
    Pairs,
    Series,
    check_series,
    describe_kind,
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
from attention_docs.figures.scale import Scale
from attention_docs.figures.svg import (
    COLUMN,
    INK,
    css_colour,
    measure_text,
    measure_widest,
    outline,
    path,
    rectangle,
    text,
    wrap_label,
)

BAR, LINE = 20, 17  # height of a bar with its gap; of a line of a label
APART, MANY = 12, 8  # between groups; half of that where there are more than so many
LABELS = 150.0  # the most room for labels
FILLS = (1.0, 0.0, 0.45)  # how strongly the bars of a series are filled: their edge is always there


@dataclass(frozen=True, repr=False)
class BarChart(DrawnFigure):
    """Bars in groups, one of each series."""

    groups: tuple[Wording, ...]
    series: list[Series]
    ylabel: Wording
    xlabel: Wording
    ends: tuple[float, float] | None

    def draw(self, lang: Language) -> Drawing:
        """The bars of each series, their values, the labels of the groups."""
        values = [value for one in self.series for value in one.values]
        low, high = self.ends or (min([0.0, *values]), max([0.0, *values]))
        labels = [lang.translate_label(group) for group in self.groups]
        lines = [wrap_label(label, LABELS) for label in labels]
        deep = max(len(self.series) * BAR, *(LINE * len(one) for one in lines))
        deep += APART if len(labels) <= MANY else APART // 2
        head = Head(lang, [one.label for one in self.series], self.xlabel)
        bottom = head.height + deep * len(labels)
        left = 18 + min(measure_widest(labels), LABELS)
        room = 10 + measure_widest(value_text for one in self.series for value_text in one.texts)
        x = Scale(low, high or 1.0, left + room * (low < 0), WIDTH - room - 8)
        body = []
        for k in range(len(self.series)):
            top = head.height + (deep - len(self.series) * BAR) / 2 + k * BAR
            body.append(self._draw_bars(k, x, [top + g * deep for g in range(len(labels))]))
        body.append(path(outline("M", x(0), head.height, "V", bottom), stroke=INK, stroke_width=1))
        named = [k for k, one in enumerate(self.series) if lang.translate_label(one.label)]
        for k, (start, y) in zip(named, head.samples, strict=True):
            body.append(_fill_bars(rectangle(start + 6, y - 6, SAMPLE - 8, 12), k, self.series[k]))
        body.append(head.draw())
        ends = [self._find_label_end(g, x) for g in range(len(labels))]
        for g, one_label in enumerate(lines):
            middle = head.height + (g + 0.5) * deep - LINE * (len(one_label) - 1) / 2
            for i, line in enumerate(one_label):
                body.append(text(ends[g], middle + 5 + LINE * i, line, "end"))
        body.append(text(x(0), bottom + 19, f"{lang.translate_label(self.ylabel)} →"))
        return Drawing(WIDTH, bottom + 30, "".join(body), COLUMN)

    def _find_label_end(self, g: int, x: Scale) -> float:
        """Where the label of a group ends: at the axis, or left of its bars below 0."""
        tips = [
            x(value) - 5 - measure_text(label)
            for one in self.series
            for value, label in [(one.values[g], one.texts[g])]
            if value < 0
        ]
        return min([x(0), *tips]) - 8

    def _draw_bars(self, k: int, x: Scale, tops: list[float]) -> str:
        """The bars of a series and the values at their tips."""
        series = self.series[k]
        bars, tips = "", ""
        for value, label, top in zip(series.values, series.texts, tops, strict=True):
            bars += rectangle(x(0), top + 2, x(value) - x(0), BAR - 4)
            right = value >= 0
            tips += text(
                x(value) + (5 if right else -5), top + 15, label, "start" if right else "end"
            )
        return _fill_bars(bars, k, series) + tips

    def describe(self, lang: Language) -> str:
        """Every bar."""
        groups = lang.translate_label(self.xlabel)
        sentences = [
            describe_kind(lang, "bar_charts"),
            lang.format_phrase("bar_charts", "bars", name=lang.translate_label(self.ylabel)),
            groups and lang.format_phrase("bar_charts", "groups", name=groups),
        ]
        for one in self.series:
            bars = [
                lang.format_phrase(
                    "bar_charts", "bar", group=lang.translate_label(group), value=value
                )
                for group, value in zip(self.groups, one.texts, strict=True)
            ]
            name = one.quote_name(lang)
            key = "series" if name else "series_without_name"
            clauses = lang.join_texts("clauses", bars)
            sentences.append(lang.format_phrase("bar_charts", key, name=name, bars=clauses))
        return lang.join_texts("paragraph", sentences)


def _fill_bars(shape: str, k: int, series: Series) -> str:
    """Bars of a series: full, empty or half full, then the same with dashed edges."""
    fill, tint = FILLS[k % 3], css_colour(series.colour)
    area = f"{series.colour}-fill" if series.colour.startswith("role-") else series.colour
    return path(
        shape,
        fill=css_colour(area) if fill else "none",
        fill_opacity=fill if 0 < fill < 1 else None,
        stroke=tint,
        stroke_width=1.75,
        stroke_dasharray=None if k < 3 else "5.25 3.5",
    )


def bar_chart(
    labels: Sequence[str],
    series: Pairs,
    *,
    ylabel: str,
    xlabel: str | None = None,
    roles: Sequence[str] | None = None,
    scale: tuple[float, float] | None = None,
    spec: str = ".3g",
    names: Sequence[Sequence[str]] = (),
) -> Figure:
    """Lying bars, every value written at its bar.

    Args:
        labels: of the groups, from top to bottom.
        series: label to values, one for each group; or pairs of a label and its values. A single
            series with the label "" has no legend.
        ylabel: what the values are.
        xlabel: what the groups are. (The bars lie, so that long labels and every value have room.)
        roles: a role for every series, for their colours; without it, colours of no role.
        scale: the least and the greatest value that bars have room for, so that charts can be
            compared; without it, those of this chart.
        spec: the format of the values.
        names: of every series, what its bars stand for, where each bar is of something else; a
            name stands in front of the value.

    Raises:
        ValueError: a series of another length than the labels, numbers that are not finite or not
            on the scale, a scale without 0, an unknown role.

    Examples:
        >>> bar_chart(["key 1", "key 2"], {"": [0.25, 0.75]}, ylabel="weight")
        Bar chart. Bars: weight. 0.25 for key 1; 0.75 for key 2.
    """
    all_series = check_series(series, len(labels), roles, spec, "the labels")
    for k, own in enumerate(names):
        texts = [" ".join(pair) for pair in zip(own, all_series[k].texts, strict=True)]
        all_series[k] = replace(all_series[k], texts=texts)
    if scale is not None:
        low, high = scale
        values = [0.0, *(value for one in all_series for value in one.values)]
        if not low < high or min(values) < low or max(values) > high:
            raise ValueError(f"scale must hold 0 and every value, got {scale}")
    return BarChart(
        check_labels(labels), all_series, check_label(ylabel), check_label(xlabel), scale
    )
