"""What a chart says to someone who does not see it, in every language of the site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attention_docs.figures.frame import Series, charted
from attention_docs.figures.words import counted, joined, quoted

Names = Mapping[str, str]
SHORT = 8  # with at most so many points, all of them are told


def lines(
    xlabel: Names,
    ylabel: Names,
    title: Names,
    xs: Sequence[float],
    series: Sequence[Series],
    bands: Mapping[str, tuple[list[float], list[float]]],
    logs: tuple[bool, bool],
    spec: str,
    lang: str,
) -> str:
    """The axes, then every line: all of its points, or its ends and extremes."""
    ys = [value for one in series for value in one.values]
    parts = [kind({"en": "Line chart", "zh": "折线图"}, title, lang)]
    across = (charted(xs[0], spec_of(xs, spec)), charted(xs[-1], spec_of(xs, spec)))
    parts.append(axis("across", xlabel, across, logs[0], lang))
    parts.append(
        axis("up", ylabel, (charted(min(ys), spec), charted(max(ys), spec)), logs[1], lang)
    )
    for one in series:
        parts.append(_line(one, xlabel, xs, spec, lang))
        if one.label["en"] in bands:
            low, high = bands[one.label["en"]]
            parts.append(_band(low, high, spec, lang))
    return joined(parts, lang)


def spec_of(values: Sequence[float], spec: str) -> str:
    """Integers are told in full."""
    return "d" if all(value.is_integer() for value in values) else spec


def kind(what: Names, title: Names, lang: str) -> str:
    """What kind of chart it is, and its title."""
    if lang == "en":
        return f"{what[lang]}: {title[lang]}." if title[lang] else f"{what[lang]}."
    return f"{what[lang]}：{title[lang]}。" if title[lang] else f"{what[lang]}。"


def axis(which: str, name: Names, ends: tuple[str, str], log: bool, lang: str) -> str:
    """An axis and its range."""
    low, high = ends
    if lang == "en":
        start = {"across": "Horizontal axis", "up": "Vertical axis"}[which]
        return f"{start}: {name[lang]}{' (logarithmic)' * log}, from {low} to {high}."
    start = {"across": "横轴", "up": "纵轴"}[which]
    return f"{start}：{name[lang]}{'（对数刻度）' * log}，从 {low} 到 {high}。"


def _line(one: Series, xlabel: Names, xs: Sequence[float], spec: str, lang: str) -> str:
    name, x_name = quoted(one.label[lang], lang), xlabel[lang]
    x_texts = [charted(x, spec_of(xs, spec)) for x in xs]
    texts = [charted(value, spec) for value in one.values]
    if len(xs) <= SHORT:
        if lang == "en":
            points = "; ".join(f"{y} at {x}" for x, y in zip(x_texts, texts, strict=True))
            return f"{name or 'Values'}: {points}."
        points = "；".join(f"{x} 对应 {y}" for x, y in zip(x_texts, texts, strict=True))
        return f"{name or '各点'}：{points}。"
    low, high = (charted(end, spec) for end in (min(one.values), max(one.values)))
    low_at = x_texts[one.values.index(min(one.values))]
    high_at = x_texts[one.values.index(max(one.values))]
    if lang == "en":
        return (
            f"{name or 'Values'}: {texts[0]} at {x_name} = {x_texts[0]}, {texts[-1]} at {x_name} = "
            f"{x_texts[-1]}; smallest {low} (at {low_at}), largest {high} (at {high_at})."
        )
    return (
        f"{name or '各点'}：{x_name} = {x_texts[0]} 时为 {texts[0]}，{x_name} = {x_texts[-1]} 时为 "
        f"{texts[-1]}；最小 {low}（在 {low_at} 处），最大 {high}（在 {high_at} 处）。"
    )


def _band(low: Sequence[float], high: Sequence[float], spec: str, lang: str) -> str:
    (a, b), (c, d) = ((charted(low[i], spec), charted(high[i], spec)) for i in (0, -1))
    if lang == "en":
        return f"Its band: from {a} to {b} at the first point, from {c} to {d} at the last."
    return f"其范围：首点处从 {a} 到 {b}，末点处从 {c} 到 {d}。"


def bars(
    groups: Sequence[Names],
    series: Sequence[Series],
    values: Names,
    xlabel: Names,
    title: Names,
    spec: str,
    lang: str,
) -> str:
    """Every bar."""
    parts = [kind({"en": "Bar chart", "zh": "条形图"}, title, lang)]
    parts.append({"en": f"Bars: {values[lang]}.", "zh": f"条的长度：{values[lang]}。"}[lang])
    if xlabel[lang]:
        parts.append({"en": f"Groups: {xlabel[lang]}.", "zh": f"分组：{xlabel[lang]}。"}[lang])
    for one in series:
        texts = [charted(value, spec) for value in one.values]
        pairs = list(zip(groups, texts, strict=True))
        name = quoted(one.label[lang], lang)
        if lang == "en":
            told = "; ".join(f"{value} for {group[lang]}" for group, value in pairs)
            parts.append(f"{name}: {told}." if name else f"{told}.")
        else:
            told = "；".join(f"{group[lang]} 为 {value}" for group, value in pairs)
            parts.append(f"{name}：{told}。" if name else f"{told}。")
    return joined(parts, lang)


def histograms(
    xlabel: Names,
    ylabel: Names,
    title: Names,
    panels: Sequence[Series],
    edges: Sequence[float],
    shares: Sequence[Sequence[float]],
    totals: Sequence[float],
    outside: Sequence[int],
    spec: str,
    lang: str,
) -> str:
    """The axes, then for every panel its number of samples, its fullest bin and its ends."""
    parts = [kind({"en": "Histogram", "zh": "直方图"}, title, lang)]
    ends = charted(edges[0], spec), charted(edges[-1], spec)
    parts.append(axis("across", xlabel, ends, False, lang))
    top = charted(max(max(one) for one in shares), spec)
    parts.append(axis("up", ylabel, ("0", top), False, lang))
    for panel, share, total, out in zip(panels, shares, totals, outside, strict=True):
        best = share.index(max(share))
        low, high = charted(edges[best], spec), charted(edges[best + 1], spec)
        filled = [i for i, one in enumerate(share) if one > 0]
        first, last = charted(edges[filled[0]], spec), charted(edges[filled[-1] + 1], spec)
        name, most, n = quoted(panel.label[lang], lang), charted(max(share), spec), int(total)
        if lang == "en":
            left_out = f"; {_lie(out)} outside the axis" if out else ""
            parts.append(
                f"{name}: {counted(n, 'sample')}, spread from {first} to {last}, the fullest bin "
                f"from {low} to {high} with a share of {most}{left_out}."
            )
        else:
            left_out = f"；{out} 个样本落在坐标轴之外" if out else ""
            parts.append(
                f"{name}：{n} 个样本，分布在 {first} 到 {last} 之间，"
                f"最高的一格从 {low} 到 {high}，占 {most}{left_out}。"
            )
    return joined(parts, lang)


def _lie(n: int) -> str:
    return f"{counted(n, 'sample')} {'lies' if n == 1 else 'lie'}"
