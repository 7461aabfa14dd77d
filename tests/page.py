"""A page as its tests see it: what its blocks gave, from the record; which of it they have read.

A chapter's tests together read every output and every inline value of it: `find_unread`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, overload

import numpy as np

from attention_docs.running.record import NUMBER
from attention_docs.site.read.page import Page as Source

POWER = re.compile(r"(?:(?P<digits>[-−]?[\d.]+) × )?10(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
PLAIN = str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789", ",") | {ord("∞"): "inf"}

Note = Callable[[str], None]
Read = tuple[str, str]  # a page's name and an id of its record
JUDGED = "writing-checks"  # what readers see of their functions; of all chapters: test_write_it.py
# By the test that is running, since it was last emptied, the last one last; and where each stands.
READ: dict[Read, None] = {}
PLACES: dict[Read, str] = {}


@dataclass(frozen=True)
class Frame:
    """One setting of a figure: its controls, its caption, what its drawings say."""

    at: str
    caption: str
    labels: list[str]


class Noted(dict[str, Any]):
    """Parts of the record by id, which notes the ids that are looked up."""

    def __init__(self, parts: Iterable[tuple[str, Any]], note: Note) -> None:
        super().__init__(parts)
        self.note = note

    def __getitem__(self, name: str) -> Any:
        self.note(name)
        return super().__getitem__(name)


class Values(Sequence[str]):
    """Inline values as (id, text), which notes those that are looked at."""

    def __init__(self, values: Sequence[tuple[str, str]], note: Note) -> None:
        self.known = values
        self.note = note

    def __len__(self) -> int:
        return len(self.known)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        chosen = self.known[index] if isinstance(index, slice) else [self.known[index]]
        for name, _ in chosen:
            self.note(name)
        texts = [text for _, text in chosen]
        return texts if isinstance(index, slice) else texts[0]

    def __eq__(self, other: object) -> bool:
        return self[:] == (other[:] if isinstance(other, Values) else other)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Sequence[str]) -> list[str]:
        return [*self[:], *other]

    def __repr__(self) -> str:
        return repr([text for _, text in self.known])


class Page:
    """One page: what stands in its record, and its Markdown."""

    def __init__(
        self, source: Source, records: list[dict[str, Any]], files: dict[str, str]
    ) -> None:
        self.source = source
        self.files = files
        self.records = records
        for one in records:
            shown = str(one["text"] or one.get("figure", "") or one.get("table", ""))
            block = f"{one.get('listing', one.get('source'))}:{one['line']}: {one['id']}"
            PLACES[source.slug, one["id"]] = f"{block} shows {shown}"
        self.inline = [
            (r["line"], r["id"], str(r["text"])) for r in records if r["kind"] == "inline"
        ]
        self.outputs = self._by_id("text")
        self.tables = self._by_id("table")
        self.figures = self._by_id("figure")
        self.labels = self._by_id("labels")
        self.settings = self._by_id("frames")

    def _by_id(self, name: str) -> Noted:
        outputs = (r for r in self.records if r["kind"] == "output")
        return Noted(((r["id"], r[name]) for r in outputs), self.note)

    def note(self, name: str) -> None:
        """Note that a test has read a part of the record."""
        READ.pop(place := (self.source.slug, name), None)
        READ[place] = None

    def output(self, block: str) -> str:
        """The text that a block printed."""
        return str(self.outputs[f"out-{block}"])

    def figure(self, block: str) -> str:
        """What the figure of a block says in words."""
        return str(self.figures[f"out-{block}"])

    def frames(self, block: str) -> list[Frame]:
        """What the figure of a block says at each setting of its controls."""
        settings, labels = self.settings[f"out-{block}"], iter(self.labels[f"out-{block}"])
        assert settings, f"{block} has no controls"
        return [Frame(at, caption, [*islice(labels, n)]) for at, caption, n in settings]

    def table(self, block: str) -> list[dict[str, str]]:
        """The rows of the table that a block shows, by the names of its columns; that of the names
        of the rows is ""."""
        head, *rows = self.tables[f"out-{block}"]
        return [dict(zip(head, row, strict=True)) for row in rows]

    def column(self, block: str, name: str) -> list[float]:
        """The numbers in a column of the table that a block shows."""
        return [parse_number(row[name]) for row in self.table(block)]

    def vectors(self, block: str, name: str) -> list[list[float]]:
        """The vectors in such a column."""
        return [vector_of(cells[name]) for cells in self.table(block)]

    def grid(self, block: str) -> list[list[float]]:
        """All numbers of the table that a block shows, without the names of its rows."""
        return [
            [parse_number(cell) for name, cell in cells.items() if name]
            for cells in self.table(block)
        ]

    def names(self, block: str) -> list[str]:
        """The names of the rows of that table."""
        return [cells[""] for cells in self.table(block)]

    def matrix(self, block: str, name: str) -> list[list[float]]:
        """The matrix with this name in the figure that a block draws, as its description has it;
        a forbidden entry is NaN."""
        figure = self.figure(block)
        head = " ".join(filter(None, ("Matrix", re.escape(name))))
        described = re.search(rf"{head}, \d+ rows?.*?(?= Matrix | Vector |$)", figure)
        assert described, figure
        cell = r"(?:−?\d+(?:\.\d+)?|forbidden)"
        rows = re.findall(rf": ({cell}(?:, {cell})*)\.(?= |$)", described[0])
        return [[parse_number(x.replace("forbidden", "nan")) for x in r.split(", ")] for r in rows]

    def bars(self, block: str) -> dict[str, list[float]]:
        """The values of each series in the bar chart that a block draws."""
        series = re.findall(r"([^.;:]+): (−?[\d.]+ for .*?)(?=\. |\.$)", self.figure(block))
        return {
            name.strip(): [parse_number(one.partition(" for ")[0]) for one in bars.split("; ")]
            for name, bars in series
        }

    def numbers(self, block: str) -> list[float]:
        """Every number that a block printed."""
        return [float(number) for number in NUMBER.findall(self.output(block))]

    def array(self, block: str, number: int = 0) -> np.ndarray:
        """The bracketed array with this number, counted from 0, that a block printed."""
        arrays, depth, start = [], 0, 0
        text = self.output(block)
        for position, character in enumerate(text):
            if character == "[":
                start = start if depth else position
                depth += 1
            elif character == "]" and depth:
                depth -= 1
                if not depth:
                    arrays.append(text[start : position + 1])
        return np.array(json.loads(arrays[number]), dtype=float)

    def values(self, section: str) -> Values:
        """The inline values under the heading or in the box with this id, in order."""
        (one,) = [passage for passage in self.source.passages if passage.id == section]
        inside = [
            (name, text) for line, name, text in self.inline if one.line < line <= one.last_line
        ]
        return Values(inside, self.note)


def parse_number(cell: str) -> float:
    """The number in a cell of a table, such as "6.3 × 10⁻⁶" or "1,024"."""
    if "/" in cell:
        return float(Fraction(cell.translate(PLAIN)))
    if power := POWER.fullmatch(cell):
        return float(f"{power['digits'] or 1}e{power['power']}".translate(PLAIN))
    return float(cell.translate(PLAIN))


def read_rows(page: Page, block: str) -> list[str]:
    """The lines of an output."""
    return page.output(block).splitlines()


def vector_of(line: str) -> list[float]:
    """The numbers of the bracketed vector in a line."""
    found = re.search(r"\[([^\[\]]*)\]", line)
    assert found, line
    return [parse_number(x.strip()) for x in found[1].split(",")]


# --- what no test has read ------------------------------------------------------------------------


def name_test_file(slug: str) -> str:
    """Where the numbers of a page are asserted."""
    return f"tests/test_{slug.replace('-', '_')}.py"


def find_unread(page: Page, read: Iterable[Read], excused: Sequence[str] = ()) -> Iterator[str]:
    """The parts of a page's record that no test has read, and how a test would.

    `excused` are figures that need not be read; one that is read is named too.
    """
    known = {name for slug, name in read if slug == page.source.slug}
    for record in page.records:
        name, block = record["id"], record["id"].removeprefix("out-")
        if block in excused:
            if name in known:
                yield f"tests/unread.toml: a test reads {page.source.slug}: {block}"
        elif name in known or block == JUDGED or record.get("expression", "").startswith("site."):
            continue
        elif record["kind"] == "inline":
            section = record["section"]
            place = [one for one, _ in page.values(section).known].index(name)
            what = f"{{{{ {record['expression']} }}}} = {record['text']}"
            line = f"{record['source']}:{record['line']}"
            yield f'{line}: no test reads {what}: chapter.values("{section}")[{place}]'
        else:
            how = "frames" if record["frames"] else "table" if record["table"] else "figure"
            how = "output" if record["text"] else how
            line = f"{record['listing']}:{record['line']}"
            yield f'{line}: no test reads what this block gave: chapter.{how}("{block}")'
