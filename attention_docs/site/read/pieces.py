"""What the lines of a page are: headings, blocks, boxes, fences, and the inline values in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from attention_docs.site.read.knobs import Knob
from attention_docs.site.read.listing import Section, keep_text, translate_code


@dataclass(frozen=True)
class Heading:
    """A heading; one without an id has the id ""."""

    line: int
    level: int
    title: str
    id: str


@dataclass(frozen=True)
class Block:
    """An executable fence: lines `line` to `last_line` of the page."""

    id: str
    line: int
    last_line: int
    indent: str
    source: str  # where the reader finds the code: "above" the output, "folded" there, or "none"
    sections: tuple[Section, ...]
    lang: str  # of the comments that the reader sees
    text: str = "above"  # what it prints: "above" the figure, or "folded" below it
    convert: Callable[[str, str], str] = keep_text  # and what makes them those of another language

    @property
    def code(self) -> str:
        return "\n".join(section.code for section in self.sections)

    @cached_property
    def displayed_code(self) -> str:
        """The code as the reader sees it: comments and strings in the language of the page."""
        return "\n".join(section.translate(self.lang, self.convert) for section in self.sections)

    @property
    def knobs(self) -> tuple[Knob, ...]:
        """The knobs of its sections, with choices and words in the language of the page."""
        return tuple(  # a string that stands alone would be a docstring
            replace(knob, names=tuple(self.translate(f'["{name}"]')[2:-2] for name in knob.names))
            for section in self.sections
            for knob in section.knobs
        )

    def translate(self, code: str) -> str:
        """Code that uses what the block has made, with strings in the language of the page."""
        return translate_code(code, self.sections[0].listing, self.lang, self.convert)


@dataclass(frozen=True)
class Fence:
    """A fence that shows what it holds: lines `line` to `last_line` of the page."""

    line: int
    last_line: int


@dataclass(frozen=True)
class Note:
    """The head of a note; its content is indented below it."""

    line: int
    indent: str
    title: str


@dataclass(frozen=True)
class Box:
    """The head of a box, with its options: lines `line` to `last_line`; an `End` closes it."""

    line: int
    last_line: int
    slashes: str
    kind: str
    title: str
    options: dict[str, str]

    @property
    def id(self) -> str:
        """The address of the box on its page; hints and answers have none."""
        return self.options.get("id", "")


@dataclass(frozen=True)
class End:
    """The line that closes a box."""

    line: int
    slashes: str


@dataclass(frozen=True)
class Reference:
    """A line that requests the documentation of a module."""

    line: int
    name: str


@dataclass(frozen=True)
class Request:
    """A comment that requests a generated part: `<!-- gallery: masks -->`."""

    line: int
    kind: str
    name: str


@dataclass(frozen=True)
class Attributes:
    """A line of attributes alone: `{ .caption }`."""

    line: int


@dataclass(frozen=True)
class Text:
    """Any other line."""

    line: int


Piece = Heading | Block | Fence | Box | End | Note | Reference | Request | Attributes | Text


@dataclass(frozen=True)
class Value:
    """An inline value: where it stands, and how many blocks come before it."""

    line: int
    start: int
    end: int
    expression: str
    spec: str
    after: int

    @property
    def is_site_count(self) -> bool:
        """Whether the site itself answers it: `site.pages` and so on."""
        return self.expression.startswith("site.")
