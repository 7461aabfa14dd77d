"""Exercises with other numbers, as `docs/variants.toml` lists them.

An entry says of an exercise which of its numerals change, and to what: in its text, in what it
asks, and in its code.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCE = "docs/variants.toml"
NUMERAL = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")


@dataclass(frozen=True)
class Variant:
    """An exercise with other numbers.

    Attributes:
        exercise: the id of the exercise.
        number: counted from 1.
        change: the numerals that change, and to what.
        asks: which of its questions come along, counted from 1; all, if it is empty.
    """

    exercise: str
    number: int
    change: Mapping[float, str]
    asks: tuple[int, ...] = ()

    def holds(self, name: str) -> bool:
        """Whether a question comes along, by its name.

        Examples:
            >>> Variant("exercise-gap", 1, {}, (2,)).holds("exercise-gap-2")
            True
        """
        exercise, _, number = name.rpartition("-")
        return exercise == self.exercise and (not self.asks or int(number) in self.asks)

    def rewrite(self, text: str) -> str:
        """A text or some code with the other numbers.

        Examples:
            >>> Variant("", 1, {3: "5", 1000: "2000"}).rewrite(r"ln 3, x_3, 3.0, 33, 1,000")
            'ln 5, x_3, 5.0, 33, 2,000'
        """
        return NUMERAL.sub(self._rewrite_numeral, text)

    def changes_all(self, numerals: Iterable[str]) -> bool:
        """Whether each of these numerals becomes another one."""
        return all(float(one) in self.change for one in numerals)

    def _rewrite_numeral(self, found: re.Match[str]) -> str:
        said = found[0]
        new = self.change.get(float(said.replace(",", "")))
        if new is None:
            return said
        if "," in said and float(new) >= 1000:
            new = f"{int(new):,}"
        return f"{new}.0" if said.endswith(".0") else new


def read_variants(root: Path, slug: str) -> Iterator[Variant]:
    path = root / SOURCE
    entries = tomllib.loads(path.read_text("utf-8")).get("entry", []) if path.is_file() else []
    for entry in entries:
        chapter, _, name = entry["exercise"].partition("#")
        if chapter == slug:
            lists = {float(key): entry[key] for key in entry if key not in ("exercise", "asks")}
            for number in range(min(map(len, lists.values()))):
                change = {old: values[number] for old, values in lists.items()}
                yield Variant(name, number + 1, change, tuple(entry.get("asks", ())))
