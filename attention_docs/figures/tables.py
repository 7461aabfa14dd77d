"""A table with named columns: numbers in stated formats, words in the reader's language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from attention_docs.figures.figure import Figure, Language, Wording, check_label
from attention_docs.figures.numbers import as_lists, format_value, format_vector
from attention_docs.figures.svg import escape_html_label

Cell = Wording | bool
COLUMNS, WORDS, TITLES = 3, 20, 90
"""A table with more columns, and longer texts or titles, becomes cards on a phone."""
ROOM, NAMES = 40, 18  # characters in a line on a phone, and those that the name of a row asks for
DOT = re.compile(r"(?<=\w\.)(?=[^\W\d]{2})")  # in the name of a tensor, such as blk.0.attn_q.weight
SHAPE = re.compile(r"[\d,]+( × [\d,]+)+")
WORD = re.compile(r"[^\s\u2e80-\uffff]+|[\u2e80-\uffff]")  # what no line breaks


@dataclass(frozen=True, repr=False)
class Table(Figure):
    """Rows of numbers and words under named columns."""

    columns: tuple[Wording, ...]
    index: tuple[Wording, ...] | None
    rows: tuple[tuple[Cell, ...], ...]
    numeric: tuple[bool, ...]
    name: Wording

    def render(self, lang: Language) -> str:
        """An HTML table; every cell knows its column, for screens that are too narrow for rows."""
        head, *rows = self.cells(lang)
        indexed = self.index is not None
        titles = "".join(map(_render_head, head, self._find_numeric_columns))
        body = "".join(f"<tr>{self._render_row(row, head, indexed)}</tr>" for row in rows)
        kind = "data-table"
        if self._has_sentences(head, rows):
            kind += " as-cards"
        elif indexed and self._has_long_names(head, rows):
            kind += " names-above"
        name = lang.translate_label(self.name)
        caption = f"<caption>{escape_html_label(name)}</caption>" if name else ""
        head_and_body = f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody>"
        return f'<table class="{kind}"{self._measure_names(rows)}>{caption}{head_and_body}</table>'

    def _has_long_names(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Whether names of rows would take more than two lines on a phone, and one above."""
        left = float(ROOM)
        for title, *cells in list(zip(head, *rows, strict=True))[1:]:
            words = [word for text in (title, *cells) for word in WORD.findall(text)]
            left -= 1.2 + max(map(_count_columns, words), default=0)
        names = [_count_columns(row[0]) for row in rows]
        return 2 * left < max(names) <= ROOM

    def _measure_names(self, rows: Sequence[Sequence[str]]) -> str:
        """How much room the names of rows ask for on a phone, before titles of columns get more."""
        if self.index is None:
            return ""
        return f' style="--names:{min(NAMES, max(_count_columns(row[0]) for row in rows))}"'

    def _has_sentences(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Whether a narrow screen has no room for its columns: numbers and names stay in theirs."""
        inner = [row[1:] if self.index is not None else row for row in rows]
        wide = max(map(len, rows)) > COLUMNS
        sentences = any(_count_columns(cell) > WORDS for row in inner for cell in row)
        return wide and (sentences or sum(map(_count_columns, head)) > TITLES)

    def _render_row(self, row: Sequence[str], head: Sequence[str], indexed: bool) -> str:
        name = DOT.sub("<wbr>", escape_html_label(row[0])) if indexed else ""
        cells = [f'<th scope="row">{name}</th>'] if indexed else []
        columns = zip(head, row, self._find_numeric_columns, strict=True)
        for title, cell, is_number in list(columns)[len(cells) :]:
            kind = ' class="number"' if is_number else ""
            kind = ' class="held"' if SHAPE.fullmatch(cell) else kind
            cells.append(f'<td{kind} data-column="{escape(title)}">{escape_html_label(cell)}</td>')
        return "".join(cells)

    @property
    def _find_numeric_columns(self) -> tuple[bool, ...]:
        """Which columns hold numbers; row names do not count."""
        return self.numeric if self.index is None else (False, *self.numeric)

    def cells(self, lang: str | Language) -> tuple[tuple[str, ...], ...]:
        """The names of the columns, then the rows, as text."""
        own = Language.get(lang)
        names = tuple(own.translate_label(title) for title in self.columns)
        rows = [tuple(_translate_cell(cell, own) for cell in row) for row in self.rows]
        if self.index is None:
            return (names, *rows)
        labels = [own.translate_label(label) for label in self.index]
        found = [(label, *row) for label, row in zip(labels, rows, strict=True)]
        return (("", *names), *found)

    def describe(self, lang: Language) -> str:
        """The table as aligned text; numbers stand to the right."""
        rows = self.cells(lang)
        widths = [
            max(_count_columns(cell) for cell in column) for column in zip(*rows, strict=True)
        ]
        lines = [
            "  ".join(map(_align_cell, row, widths, self._find_numeric_columns)).rstrip()
            for row in rows
        ]
        return "\n".join([lang.translate_label(self.name), *lines] if self.name else lines)


def table(
    rows: Any,
    *,
    columns: Sequence[str],
    index: Sequence[str] | None = None,
    spec: str | Sequence[str] = "",
    name: str | None = None,
) -> Figure:
    """A table with named columns.

    Args:
        rows: for each row its cells: numbers, vectors, labels, True or False as the answer to the
            question that the column asks, None for nothing. A matrix has one number per cell.
        columns: the name of each column, without that of the index.
        index: the name of each row.
        spec: the format of all numbers, or one for each column; integers and fractions need
            none. Numbers in an "e" format read as 6.3 × 10⁻⁶.
        name: stands above the table.

    Raises:
        ValueError: rows of different lengths, a wrong number of columns, names or formats.
        TypeError: a float without a format.

    Examples:
        >>> table([[1, 0.5], [10, 6.3e-6]], columns=["keys", "weight"], spec=["", ".1e"])
        keys      weight
           1  5.0 × 10⁻¹
          10  6.3 × 10⁻⁶
        >>> table([[True, [1.0, 0.25]]], columns=["sums to 1?", "row"], index=["a"], spec=".2f")
           sums to 1?  row
        a  ✓           [1.00, 0.25]
    """
    nested = [list(row) for row in as_lists(rows)]
    titles = tuple(map(check_label, columns))
    specs = [spec] * len(titles) if isinstance(spec, str) else list(spec)
    if not nested or not titles:
        raise ValueError(f"a table must have rows and columns, got {len(nested)} and {len(titles)}")
    if len(specs) != len(titles):
        raise ValueError(f"spec must be one format or {len(titles)}, got {len(specs)}")
    for row in nested:
        if len(row) != len(titles):
            raise ValueError(f"every row must have {len(titles)} cells, got {len(row)}")
    if index is not None and len(index) != len(nested):
        raise ValueError(f"index must name {len(nested)} rows, got {len(index)}")
    return Table(
        titles,
        None if index is None else tuple(map(check_label, index)),
        tuple(tuple(map(_format_cell, row, specs)) for row in nested),
        tuple(all(_is_number(row[i]) for row in nested) for i in range(len(titles))),
        check_label(name),
    )


def _is_number(value: Any) -> bool:
    numeric = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    return value is None or numeric


def _format_cell(value: Any, spec: str) -> Cell:
    """A cell as text; labels and truth values wait for the language."""
    if isinstance(value, bool):
        return value
    if value is None or isinstance(value, str):
        return check_label(value)
    if isinstance(value, list | tuple):
        return format_vector(value, spec)
    if isinstance(value, float) and not spec:
        raise TypeError(f'a float in a table needs a format, such as spec=".4f", got {value!r}')
    return format_value(value, spec or "d")


def _translate_cell(cell: Cell, lang: Language) -> str:
    if isinstance(cell, bool):
        return "✓" if cell else "✗"
    return lang.translate_label(cell)


def _render_head(title: str, numeric: bool) -> str:
    if not title:
        return "<td></td>"
    kind = ' class="number"' if numeric else ""
    return f'<th scope="col"{kind}>{escape_html_label(title)}</th>'


def _count_columns(cell: str) -> int:
    """How many columns of a terminal a text takes: a Chinese character takes two."""
    return sum(2 if ord(character) >= 0x2E80 else 1 for character in cell)


def _align_cell(cell: str, width: int, numeric: bool) -> str:
    space = " " * (width - _count_columns(cell))
    return space + cell if numeric else cell + space
