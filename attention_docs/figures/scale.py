"""From numbers to places in a drawing, and the round numbers that are written along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor, log10

ROOM = 0.04  # of an axis, beyond the outermost values
STEPS = [Decimal(step) for step in ("1", "2", "2.5", "5", "10")]


@dataclass(frozen=True)
class Scale:
    """The places of the numbers from low to high, between two ends of the drawing.

    Examples:
        >>> Scale(0, 8, 100, 300)(2)
        150.0
        >>> Scale(1, 100, 300, 100, log=True)(10)
        200.0
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a number."""
        if self.log:
            share = log10(value / self.low) / log10(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def choose_ticks(low: float, high: float, log: bool = False, count: int = 5) -> list[float]:
    """Round numbers between two ends: about `count`, two at least.

    Examples:
        >>> choose_ticks(-0.3, 0.7)
        [-0.2, 0.0, 0.2, 0.4, 0.6]
        >>> choose_ticks(3, 2000, log=True)
        [10.0, 100.0, 1000.0]
    """
    if log:
        decades = range(ceil(log10(low)), floor(log10(high)) + 1)
        powers = [10.0**n for n in decades if low <= 10.0**n <= high]
        if len(powers) > 1:
            return powers[:: -(-len(powers) // (count + 1))]
    near = 1e-9 * (high - low)  # what rounding may move, on one machine or another
    least = (high - low) / count - near
    power = floor(log10(least))
    steps = [step.scaleb(power + shift) for shift in (-1, 0) for step in STEPS]
    wide = next(i for i, step in enumerate(steps) if step >= least)
    for step in reversed(steps[: wide + 1]):
        first, last = ceil((low - near) / float(step)), floor((high + near) / float(step))
        if last > first:
            break
    return [float(n * step) for n in range(first, last + 1)]


def widen_range(values: Sequence[float], log: bool) -> tuple[float, float]:
    """The ends of an axis, a little apart from the outermost values."""
    low, high = min(values), max(values)
    if log:
        room = (high / low) ** ROOM if high > low else 2.0
        return low / room, high * room
    room = (high - low) * ROOM or abs(high) * 0.1 or 1.0
    return low - room, high + room


def spread(places: Sequence[float], least: float, low: float, high: float) -> list[float] | None:
    """Places moved apart to a least distance, in their order, or None where they would leave.

    Each moves by at most one such distance.

    Examples:
        >>> spread([10, 12, 40], 8, 0, 50), spread([1, 2, 3], 8, 0, 50)
        ([7.0, 15.0, 40.0], None)
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    groups: list[list[int]] = []  # neighbours that touch share the middle of their places
    for i in order:
        groups.append([i])
        while len(groups) > 1 and _place(groups[-1], places, least)[0] < (
            _place(groups[-2], places, least)[-1] + least
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    found = [0.0] * len(places)
    for group in groups:
        for i, at in zip(group, _place(group, places, least), strict=True):
            found[i] = at
    moved = max(abs(a - b) for a, b in zip(found, places, strict=True))
    return found if moved <= least and low <= min(found) and max(found) <= high else None


def _place(group: list[int], places: Sequence[float], least: float) -> list[float]:
    """Where a group of neighbours stands: around the middle of its places."""
    middle = sum(places[i] for i in group) / len(group)
    return [middle + (k - (len(group) - 1) / 2) * least for k in range(len(group))]
