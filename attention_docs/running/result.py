"""The typed result of a block, from the process that ran it to page, cache and copies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

STEPS = 16
"""A digit must survive a change of its value by this many rounding steps of its dtype."""


@dataclass(frozen=True)
class Frame:
    """What a figure says at one setting of its controls.

    Attributes:
        at: the values of the controls, such as "2 5".
        caption: below its pictures.
        pictures: how many it shows.
    """

    at: str
    caption: str
    pictures: int


@dataclass(frozen=True)
class Drawing:
    """A figure or a table in one language, and the text that says the same without it.

    Attributes:
        svg: what stands on the page: inline SVG, or HTML.
        alt: the same as text.
        cells: the rows of a table as text, its head first; empty for a figure.
        labels: what a screen reader says of each picture; of a large matrix it is less than `alt`.
        roles: whose colours each picture has.
        frames: the settings of its controls, in the order of its pictures.
    """

    svg: str
    alt: str
    cells: tuple[tuple[str, ...], ...] = ()
    labels: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Check:
    """A statement that a block has checked, by language, and whether it holds."""

    statement: Mapping[str, str]
    holds: bool


@dataclass(frozen=True)
class File:
    """What a block gives the reader as a file of the site.

    Attributes:
        name: of the file.
        text: what it holds.
        variable: the block's name for it, for code that runs where the block did not.
    """

    name: str
    text: str
    variable: str


@dataclass(frozen=True)
class Code:
    """One section to run: code, listing, first line."""

    code: str
    listing: str
    first_line: int


@dataclass(frozen=True)
class Job:
    """A page to run: its blocks, and after each of them the inline values (expression, spec).

    `strings` are those of its listings in the other languages, `locales` the locale strings of
    languages that have no file of them.
    """

    blocks: list[list[Code]]
    values: list[list[tuple[str, str]]]
    languages: tuple[str, ...]
    torch: bool = False
    strings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    locales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What a block printed and drew, who took part, and the inline values that follow it.

    Attributes:
        text: what it printed, in the language of the code.
        translations: the same in the languages in which it reads otherwise.
        figure: what its last line drew, by language; empty where it drew nothing.
        files: what it publishes.
        functions: public functions of the package that were called.
        seeds: random generators that were seeded.
        fragile: printed digits that another machine might not print.
        checks: statements that it checked.
        values: inline values as text, by expression and format.
        translated_values: those that read otherwise in another language, by language.
        untranslated: strings without a translation, with the language that lacks it.
        error: what stopped the block, with the traceback from the listing inwards; "" if nothing.
        value_errors: what stopped an inline value.
    """

    text: str = ""
    translations: Mapping[str, str] = field(default_factory=dict)
    figure: Mapping[str, Drawing] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    functions: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    fragile: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    values: Mapping[tuple[str, str], str] = field(default_factory=dict)
    translated_values: Mapping[str, Mapping[tuple[str, str], str]] = field(default_factory=dict)
    untranslated: tuple[tuple[str, str], ...] = ()
    error: str = ""
    value_errors: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def has_output(self) -> bool:
        """Whether there is an output: many blocks only prepare what later ones use."""
        return bool(self.text or self.figure or self.files)

    def get_text(self, lang: str) -> str:
        """What it printed, in a language."""
        return self.translations.get(lang, self.text)

    def get_values(self, lang: str) -> Mapping[tuple[str, str], str]:
        """The inline values in a language."""
        return {**self.values, **self.translated_values.get(lang, {})}

    def to_record(self) -> dict[str, Any]:
        """The record for the cache; failed results are not cached."""
        record = asdict(self)
        del record["error"], record["value_errors"]
        record["values"] = _as_rows(self.values)
        record["translated_values"] = {
            lang: _as_rows(values) for lang, values in self.translated_values.items()
        }
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Result:
        """A result from disk."""
        return cls(
            text=record["text"],
            translations=record["translations"],
            figure={lang: _read_drawing(one) for lang, one in record["figure"].items()},
            files=tuple(File(**file) for file in record["files"]),
            functions=tuple(record["functions"]),
            seeds=tuple(record["seeds"]),
            fragile=tuple(record["fragile"]),
            checks=tuple(Check(**check) for check in record["checks"]),
            values=_from_rows(record["values"]),
            translated_values={
                lang: _from_rows(rows) for lang, rows in record["translated_values"].items()
            },
            untranslated=tuple((lang, text) for lang, text in record["untranslated"]),
        )


def _read_drawing(record: Mapping[str, Any]) -> Drawing:
    cells = tuple(map(tuple, record["cells"]))
    about = tuple(record["labels"]), tuple(record["roles"])
    frames = tuple(Frame(**frame) for frame in record["frames"])
    return Drawing(record["svg"], record["alt"], cells, *about, frames)


def _as_rows(values: Mapping[tuple[str, str], str]) -> list[list[str]]:
    return [[*formatted, text] for formatted, text in values.items()]


def _from_rows(rows: list[list[str]]) -> dict[tuple[str, str], str]:
    return {(expression, spec): text for expression, spec, text in rows}


def hash_figure(text: str) -> str:
    """A figure, as one word."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
