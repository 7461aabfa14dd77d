"""What charts share: their series, the head with title and legend, ticks, and numbers as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import floor, isfinite, log10
from typing import Any

from attention_docs.figures.boxes import text
from attention_docs.figures.parts import (
    LANGUAGES,
    Label,
    both,
    label_width,
    plain,
    role_checked,
    shown,
    text_width,
)

WIDTH, SIZE, SAMPLE = 440, 14, 34  # of a chart; of its text; of a line in the legend
COLOURS = 6  # series-1 to series-6 in parts.COLOURS

Pairs = Mapping[str, Any] | Sequence[tuple[Label, Any]]
"""Values by label: a mapping, or pairs where a label is a dict of languages."""


@dataclass(frozen=True)
class Series:
    """A label, its values, and the name of its colour."""

    label: dict[str, str]
    values: list[float]
    colour: str


def checked_series(
    series: Pairs, length: int | None, roles: Sequence[str] | None, what: str = "x"
) -> list[Series]:
    """The series with their colours, or ValueError."""
    pairs = list(series.items()) if isinstance(series, Mapping) else list(series)
    if not 1 <= len(pairs) <= COLOURS:
        raise ValueError(f"a chart must have 1 to {COLOURS} series, got {len(pairs)}")
    if roles is not None and len(roles) != len(pairs):
        raise ValueError(f"roles must be {len(pairs)}, one a series, got {len(roles)}")
    found = []
    for i, (label, values) in enumerate(pairs):
        name = both(label)
        numbers = finite(f"series {name['en']!r}", values)
        if length is not None and len(numbers) != length:
            raise ValueError(
                f"series {name['en']!r} must have {length} values, one for each of {what}, "
                f"got {len(numbers)}"
            )
        colour = f"role-{role_checked(roles[i])}" if roles else f"series-{i + 1}"
        found.append(Series(name, numbers, colour))
    return found


def finite(what: str, values: Any) -> list[float]:
    """A list of finite floats, or ValueError."""
    nested = plain(values)
    if not isinstance(nested, list) or not nested or isinstance(nested[0], list):
        raise ValueError(f"{what} must have one axis and a number, got {nested!r}")
    numbers = [value if isinstance(value, float) else float(value) for value in nested]
    bad = [number for number in numbers if not isfinite(number)]
    if bad:
        raise ValueError(f"{what} must be finite, got {bad[0]}")
    return numbers


def charted(value: float, spec: str) -> str:
    """A number in a chart or its text: "g" without an e, integers without a point."""
    if value == int(value) and abs(value) < 1e6 and spec.endswith("g"):
        return shown(value, "d")
    formatted = shown(value, spec)
    if not spec.endswith("g") or "e" not in formatted:
        return formatted
    digits, _, exponent = formatted.partition("e")
    if -4 <= int(exponent) <= 5:
        return format(Decimal(formatted), "f")
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{power}" if digits == "1" else f"{digits} × 10{power}"


def ticks(low: float, high: float, log: bool, count: int = 5) -> list[float]:
    """Round numbers between two ends."""
    from matplotlib.ticker import MaxNLocator

    if log:
        decades = range(floor(log10(low)), floor(log10(high)) + 1)
        found = [10.0**n for n in decades if low <= 10.0**n <= high]
        if len(found) > 1:
            return found[:: -(-len(found) // (count + 1))]
    steps = MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(tick) for tick in steps if low <= tick <= high]


def widened(values: Sequence[float], log: bool, share: float = 0.04) -> tuple[float, float]:
    """The ends of an axis, a little apart from the outermost values."""
    low, high = min(values), max(values)
    if log:
        room = (high / low) ** share if high > low else 2.0
        return low / room, high * room
    room = (high - low) * share or abs(high) * 0.1 or 1.0
    return low - room, high + room


def wrapped(label: str, width: float, size: float = SIZE) -> list[str]:
    """A label in lines: broken at spaces, and between Chinese characters."""
    lines = [""]
    for i, character in enumerate(label):
        lines[-1] += character
        if text_width(lines[-1], size) > width and i + 1 < len(label):
            line = lines[-1]
            cut = line.rfind(" ") + 1 or (len(line) if ord(line[-1]) >= 0x2E80 else 0)
            if cut:
                lines[-1:] = [line[:cut].rstrip(), line[cut:]]
    return [line for line in lines if line]


class Head:
    """Title, legend and the name of the vertical axis, from the top; both languages fit."""

    def __init__(
        self, title: Label | None, legend: Sequence[dict[str, str]], axis: Label | None
    ) -> None:
        room = WIDTH - 20
        self.title = {lang: wrapped(one, room, SIZE + 1) for lang, one in both(title).items()}
        self.axis = {lang: wrapped(one, room) for lang, one in both(axis).items()}
        self.legend = legend
        y = 10.0 + 21 * max(map(len, self.title.values()))
        self.samples: list[tuple[float, float]] = []  # where each sample of the legend starts
        x = 10.0
        for label in legend:
            wide = SAMPLE + 6 + label_width([label], SIZE) + 16
            if x > 10 and x + wide > WIDTH:
                x, y = 10.0, y + 21
            self.samples.append((x, y + 10))
            x += wide
        y += 21 * bool(legend) + 6 * bool(legend or title)
        self.axis_top = y
        self.height = y + 19 * max(map(len, self.axis.values())) + 6

    def texts(self, lang: str) -> str:
        """Its text in a language."""
        parts = [
            text(10, 25 + 21 * i, line, "start", SIZE + 1, bold=True)
            for i, line in enumerate(self.title[lang])
        ]
        parts += [
            text(x + SAMPLE + 6, y + 5, label[lang])
            for (x, y), label in zip(self.samples, self.legend, strict=True)
        ]
        parts += [
            text(10, self.axis_top + 14 + 19 * i, line) for i, line in enumerate(self.axis[lang])
        ]
        return "".join(parts)


def apart(
    places: Sequence[float], labels: Sequence[str], gap: float = 10
) -> list[tuple[float, str]]:
    """The labels along a horizontal axis that do not touch, from the left; the last one stays."""
    kept: list[tuple[float, str]] = []

    def free(x: float, label: str, others: Sequence[tuple[float, str]]) -> bool:
        def half(one: str) -> float:
            return text_width(one, SIZE) / 2

        return all(abs(x - at) >= half(label) + half(one) + gap for at, one in others)

    pairs = list(zip(places, labels, strict=True))
    for x, label in pairs[-1:] + pairs[:-1]:
        if free(x, label, kept):
            kept.append((x, label))
    return sorted(kept)


def each_language(draw: Callable[[str], str]) -> dict[str, str]:
    """One text for every language."""
    return {lang: draw(lang) for lang in LANGUAGES}
