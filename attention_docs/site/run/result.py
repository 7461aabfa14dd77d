"""What a block gave: one typed thing, from the process that ran it to page, store and copies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Drawing:
    """A figure in one language, and the text that says the same without it."""

    svg: str
    alt: str


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
    """A page to run: its blocks, and after each of them the inline values (expression, spec)."""

    blocks: list[list[Code]]
    values: list[list[tuple[str, str]]]
    languages: tuple[str, ...]
    torch: bool = False


@dataclass(frozen=True)
class Result:
    """What a block printed and drew, who took part, and the inline values that follow it.

    Attributes:
        text: what it printed.
        figure: what its last line drew, by language; empty where it drew nothing.
        files: what it publishes.
        functions: public functions of the package that were called.
        seeds: random generators that were seeded.
        fragile: printed digits that another machine might not print.
        values: inline values as text, by expression and format.
        error: what stopped the block, with the traceback from the listing inwards; "" if nothing.
        value_errors: what stopped an inline value.
    """

    text: str = ""
    figure: Mapping[str, Drawing] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    functions: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    fragile: tuple[str, ...] = ()
    values: Mapping[tuple[str, str], str] = field(default_factory=dict)
    error: str = ""
    value_errors: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def shows(self) -> bool:
        """Whether there is an output: many blocks only prepare what later ones use."""
        return bool(self.text or self.figure or self.files)

    def stored(self) -> dict[str, Any]:
        """As it is kept on disk; one that failed is not kept."""
        kept = asdict(self)
        del kept["error"], kept["value_errors"]
        kept["values"] = [[*formatted, text] for formatted, text in self.values.items()]
        return kept

    @classmethod
    def loaded(cls, kept: Mapping[str, Any]) -> Result:
        """A result from disk."""
        return cls(
            text=kept["text"],
            figure={lang: Drawing(**drawing) for lang, drawing in kept["figure"].items()},
            files=tuple(File(**file) for file in kept["files"]),
            functions=tuple(kept["functions"]),
            seeds=tuple(kept["seeds"]),
            fragile=tuple(kept["fragile"]),
            values={(expression, spec): text for expression, spec, text in kept["values"]},
        )


def digest(text: str) -> str:
    """A figure, as one word."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
