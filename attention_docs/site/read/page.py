"""A page as read from disk: its front matter, its pieces, and the passages they form."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, pairwise
from typing import Any

import yaml

from attention_docs.colours import ROLES
from attention_docs.running.exact import EXACT
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import keep_text
from attention_docs.site.read.passage import Passage
from attention_docs.site.read.pieces import (
    Block,
    Box,
    End,
    Fence,
    Heading,
    Piece,
    Reference,
    Request,
    Text,
    Value,
)
from attention_docs.site.read.syntax import CELL, COLOUR, FRONT_MATTER, NAVIGATED


@dataclass
class Page:
    """A page as read from disk. Its faults are in `failures`; nothing is raised.

    A page that takes its lines from another language has the path of the original as its `origin`:
    converted into another script (`read/script_converter.py`), or unchanged, for a page that is
    not yet translated.
    """

    path: str
    text: str
    pieces: list[Piece] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    origin: str = ""
    convert: Callable[[str, str], str] = keep_text
    untranslated: bool = False
    theorems: Mapping[str, Any] = field(default_factory=dict)  # those that a kernel has checked
    proof_lines: Mapping[str, list[str]] = field(default_factory=dict)  # beside its derivations
    proof_steps: Mapping[str, Any] = field(default_factory=dict)  # if it shows them
    kept_places: Mapping[str, int] = field(default_factory=dict)  # of results, by an edition

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the file, front matter included: line n is `lines[n - 1]`."""
        return self.text.split("\n")

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def lang(self) -> str:
        """The language: the folder of `docs/` that it lies in."""
        return self.path.split("/")[1]

    @property
    def text_lang(self) -> str:
        """The language of its text: that of its origin where it is not yet translated."""
        return self.origin.split("/")[1] if self.untranslated else self.lang

    @property
    def slug(self) -> str:
        """The page's name, the same in all languages: "scaling", "api/scaling"."""
        return self.path.split("/", 2)[2].removesuffix(".md")

    @cached_property
    def meta(self) -> dict[str, Any]:
        front = FRONT_MATTER.match(self.text)
        try:
            found = yaml.safe_load(front["yaml"]) if front else None
        except yaml.YAMLError:  # a failure of the page: see read_page
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def colours(self) -> list[str]:
        """The roles whose colours the page names: `{{ site.colours["value"] }}`."""
        found = (match["role"] for match in COLOUR.finditer(self.text))
        return [role for role in found if role in ROLES]

    @cached_property
    def title(self) -> str:
        """The title: the page's heading of the first level."""
        heads = (one.title for one in self.pieces if isinstance(one, Heading) and one.level == 1)
        return next(heads, self.slug)

    @property
    def question(self) -> str:
        """The question that the page answers, in one sentence: `question` in the front matter."""
        return str(self.meta.get("question", ""))

    @property
    def builds_on(self) -> list[str]:
        """The chapters that a reader needs before this one: `builds_on` in the front matter."""
        return [str(name) for name in self.meta.get("builds_on") or ()]

    @property
    def part_of_machine(self) -> list[str]:
        """The parts of a language model that a chapter is about: `part_of_machine`."""
        return [str(name) for name in self.meta.get("part_of_machine") or ()]

    @cached_property
    def body_line(self) -> int:
        """The number of lines that the front matter takes."""
        front = FRONT_MATTER.match(self.text)
        return front[0].count("\n") if front else 0

    @cached_property
    def code(self) -> str:
        return "\n".join(block.code for block in self.blocks)

    @cached_property
    def evaluated(self) -> list[Value]:
        """The inline values, then those of the exercises' fields again, as exact as they are."""
        exact = (replace(self.values[number], spec=EXACT) for number in self._asked)
        return [*self.values, *exact]

    def find_exact(self, number: int) -> int:
        """The number of the exact version of an inline value, both counted from 1; or 0."""
        places = {asked: place for place, asked in enumerate(self._asked, len(self.values))}
        return places.get(number - 1, -1) + 1

    @cached_property
    def _asked(self) -> list[int]:
        """The inline values in lists of what an exercise asks, counted from 0."""
        heads = [one for one in self.pieces if isinstance(one, Box | End)]
        asked = [
            range(box.line, end.line)
            for box, end in pairwise(heads)
            if isinstance(box, Box) and box.kind == "asks"
        ]
        return [
            number
            for number, value in enumerate(self.values)
            if not value.is_site_count and any(value.line in lines for lines in asked)
        ]

    @cached_property
    def is_reference(self) -> bool:
        """Whether the page shows the documentation of a module."""
        return any(isinstance(piece, Reference) for piece in self.pieces)

    @cached_property
    def uses_other_pages(self) -> bool:
        """Whether the page shows or counts what other pages print."""
        requests = (piece.kind for piece in self.pieces if isinstance(piece, Request))
        counted = any(value.is_site_count for value in self.values)
        return counted or not {*requests} <= NAVIGATED

    @property
    def defines(self) -> str:
        """What the rows of its tables are, terms or symbols: `defines` in the front matter."""
        return str(self.meta.get("defines", ""))

    def asks_for(self, kind: str) -> bool:
        """Whether the page asks for a part of this kind."""
        return self.find_request(kind) is not None

    def find_request(self, kind: str) -> Request | None:
        """The first part of this kind that the page asks for."""
        return self._requests.get(kind)

    @cached_property
    def _requests(self) -> dict[str, Request]:
        asked = [piece for piece in self.pieces if isinstance(piece, Request)]
        return {one.kind: one for one in reversed(asked)}

    @property
    def passages(self) -> list[Passage]:
        """The page cut at its headings and boxes, in the order in which they begin."""
        return self._split[0]

    @cached_property
    def _split(self) -> tuple[list[Passage], list[tuple[int, int]]]:
        """The passages, and from which line on which of them goes on."""
        found = [Passage(self.body_line + 1, 0, "", "", "")]
        texts: list[list[str]] = [[]]
        open_ = [0]  # the heading that is read, then the boxes in it
        owners = []
        for piece in self.pieces:
            if isinstance(piece, Heading):
                found.append(Passage(piece.line, piece.level, piece.title, piece.id, ""))
                open_ = [len(found) - 1]
            elif isinstance(piece, Box):
                if piece.id:
                    level, options = found[open_[-1]].level + 1, tuple(piece.options.items())
                    found.append(
                        Passage(piece.line, level, piece.title, piece.id, "", piece.kind, options)
                    )
                open_.append(len(found) - 1 if piece.id else open_[-1])
            elif isinstance(piece, End) and len(open_) > 1:
                last = open_.pop()
                if last != open_[-1]:
                    found[last] = replace(found[last], last_line=piece.line)
            elif not isinstance(piece, Block | Fence):
                texts[open_[-1]].append(self.lines[piece.line - 1])
            texts += [[] for _ in found[len(texts) :]]
            owners.append((piece.line, open_[-1]))
        whole = [
            replace(
                one,
                text="".join(f"{line}\n" for line in lines),
                last_line=one.last_line or self._find_end(found, number),
            )
            for number, (one, lines) in enumerate(zip(found, texts, strict=True))
        ]
        return whole, owners

    def _find_end(self, found: list[Passage], number: int) -> int:
        """The last line of what stands under a heading, lower headings included."""
        level = found[number].level
        after = (one for one in found[number + 1 :] if not one.kind and one.level <= level)
        return next((one.line - 1 for one in after), len(self.lines))

    @property
    def owners(self) -> list[tuple[Piece, int]]:
        """Every piece with the number of the passage that it belongs to."""
        return [(piece, own) for piece, (_, own) in zip(self.pieces, self._split[1], strict=True)]

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The titles of headings and boxes by their ids."""
        return {one.id: one.title for one in self.passages if one.id}

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each box among those of its kind; a result keeps that of its edition."""
        found: dict[str, int] = {}
        for kind in dict.fromkeys(one.kind for one in self.passages if one.kind):
            names = [one.id for one in self.passages if one.kind == kind]
            kept = self.kept_places if kind == "result" else {}
            new = count(max(kept.values(), default=0) + 1)
            found |= {name: kept[name] if name in kept else next(new) for name in names}
        return found

    def find_section(self, line: int) -> str:
        """The id of the heading or the box that a line stands under."""
        passages, owners = self._split
        at = [number for begins, number in owners if begins <= line]
        return passages[at[-1]].id if at else ""

    def rows(self) -> Iterator[list[str]]:
        """The cells of every row of every table, heads left out."""
        yield from (cells for _, cells in self.numbered_rows())

    def numbered_rows(self) -> Iterator[tuple[int, list[str]]]:
        """The same with their lines."""
        texts = [piece.line for piece in self.pieces if isinstance(piece, Text)]
        for number in texts:
            below = self.lines[number] if number < len(self.lines) else ""
            line = self.lines[number - 1]
            if line.startswith("| ") and not below.startswith("|--"):
                yield number, [cell.strip() for cell in CELL.split(line)[1:-1]]

    def find_line(self, text: str) -> int:
        """The first line that holds the text, or 0."""
        return next((n for n, line in enumerate(self.lines, start=1) if text in line), 0)


def find_asking(pages: Mapping[str, Page], kind: str) -> Page | None:
    """The first page that asks for a part of a kind, such as the gallery or the proofs."""
    return next((page for page in pages.values() if page.asks_for(kind)), None)


def find_defining(pages: Mapping[str, Page], kind: str) -> Page | None:
    """The page that defines the terms or the symbols of a language."""
    return next((page for page in pages.values() if page.defines == kind), None)
