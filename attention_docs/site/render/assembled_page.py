"""A page assembled with its results: its Markdown, the results, and the targets of its links.

Where an inline value belongs, the Markdown gets a short mark with its number, which no page holds:
private-use characters. `extension` puts the value there once Markdown knows what surrounds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from attention_docs.colours import name_colour
from attention_docs.locales import Locale
from attention_docs.running.imports import find_torch_blocks
from attention_docs.running.result import Result
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block, Request
from attention_docs.site.read.syntax import CHAPTER, COLOUR, EMPTY_LINK
from attention_docs.site.render.terms import Term
from attention_docs.site.run.values import LOST, find_value_text

OPEN, CLOSE = "\ue000", "\ue001"
MARK = re.compile(f"{OPEN}(\\d+){CLOSE}")
FILES = "files"  # the folder of the site for what blocks publish


@dataclass(frozen=True)
class Links:
    """The targets of the links of a page.

    Attributes:
        modules: addresses of the pages of modules by their full names, relative to the page's.
        listings: address of the listings, relative to the page's.
        files: address of what blocks publish, relative to the page's.
        glossary: path of the page that defines the terms, relative to this one's; the generator
            makes it an address; "" where there is none.
        notation: the same for the symbols.
        review: the same for the cards of all chapters.
        proofs: the same for the sentences of all proofs.
        repository: address of the repository, or "".
        chapters: addresses of the chapters by their names, relative to the page's.
        machine: that of the first chapter about the whole machine, which draws it, or "".
    """

    modules: Mapping[str, str] = field(default_factory=dict)
    listings: str = "listings/"
    files: str = "files/"
    glossary: str = ""
    notation: str = ""
    review: str = ""
    proofs: str = ""
    repository: str = ""
    chapters: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""


@dataclass
class AssembledPage:
    """A page and its results.

    Attributes:
        failures: what is wrong with it; rendering adds to them.
        counts: what `{{ site.… }}` stands for.
        expand: what a comment asks for, as Markdown; None for a comment that asks for nothing.
        glossary: its terms in the page's language.
        notation: its symbols in the page's language.
        versions: of Python and the libraries, as a reader needs them.
        numbered: the numbers of the chapters by their names.
        titles: of all pages of the language by their names.
        opening: the line above the title, with part, chapter and minutes; "" where there is none.
        machine: the parts of a language model that the strip above it marks.
    """

    page: Page
    results: Sequence[Result]
    locale: Locale
    counts: Mapping[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    expand: Callable[[Request], str | None] = lambda request: None
    glossary: Sequence[Term] = ()
    notation: Sequence[Term] = ()
    links: Links = field(default_factory=Links)
    versions: Mapping[str, str] = field(default_factory=dict)
    numbered: Mapping[str, int] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    opening: str = ""
    machine: Sequence[str] = ()

    def render_markdown(self) -> str:
        """The page's Markdown with marks for values and with the parts that it asks for."""
        lines = self.fill_values(lambda number: f"{OPEN}{number}{CLOSE}")
        for piece in self.page.pieces:
            if isinstance(piece, Request):
                lines[piece.line - 1] = self.requested_parts.get(piece.line, lines[piece.line - 1])
        return "\n".join(lines[self.page.body_line :])

    def fill_values(self, shown: Callable[[int], str]) -> list[str]:
        """The lines of the file with what is shown for each inline value, counted from 1."""
        lines = list(self.page.lines)
        for number, value in reversed(list(enumerate(self.page.values, start=1))):
            line = lines[value.line - 1]
            lines[value.line - 1] = line[: value.start] + shown(number) + line[value.end :]
        if self.page.colours:
            lines = [COLOUR.sub(self._name_colour, line) for line in lines]
        return [self._refer(line) for line in lines]

    def _refer(self, line: str) -> str:
        """A line with the numbers of chapters and the titles of pages that it asks for."""
        if "site.chapter" in line:
            line = CHAPTER.sub(self._chapter, line)
        return EMPTY_LINK.sub(self._titled, line) if "[](" in line else line

    def _chapter(self, found: re.Match[str]) -> str:
        if found["slug"] not in self.numbered:
            self.add_failure(found[0], f"{found['slug']} is not a chapter of the navigation")
            return LOST
        return str(self.numbered[found["slug"]])

    def _titled(self, found: re.Match[str]) -> str:
        """A link without a text, with the title of the page that it leads to."""
        if found["slug"] not in self.titles:
            self.add_failure(found[0], f"there is no page {found['slug']}")
            return found[0]
        return found[0].replace("[]", f"[{self.titles[found['slug']]}]", 1)

    def _name_colour(self, found: re.Match[str]) -> str:
        """What the page's language calls the colour of a role."""
        try:
            return name_colour(found["role"], self.locale)
        except KeyError as error:
            self.add_failure(found[0], str(error.args[0]))
            return LOST

    def find_number(self, box: str) -> str:
        """The number of a result or an exercise: "4.2" for the second one of chapter 4."""
        return f"{self.numbered.get(self.page.slug, 0)}.{self.page.places[box]}"

    @cached_property
    def torch_blocks(self) -> set[str]:
        """The blocks that need torch, which no browser has."""
        files = [{file.variable for file in result.files} for result in self.results]
        needs = find_torch_blocks([block.code for block in self.page.blocks], files)
        return {block.id for block, one in zip(self.page.blocks, needs, strict=True) if one}

    @cached_property
    def requested_parts(self) -> dict[int, str]:
        """The parts that the page asks for, by the line that asks."""
        parts = {
            piece.line: self.expand(piece)
            for piece in self.page.pieces
            if isinstance(piece, Request)
        }
        return {line: part for line, part in parts.items() if part is not None}

    def get_value(self, number: int) -> str:
        """The text of inline value `number`, counted from 1."""
        value = self.page.evaluated[number - 1]
        return find_value_text(value, self.results, self.page.text_lang, self.counts)

    def find_exact(self, name: str) -> tuple[str, str]:
        """The id and the text of the exact version of an inline value, by the id of its span."""
        number = self.page.find_exact(int(name.removeprefix("value-")))
        return f"value-{number}", self.get_value(number) if number else ""

    def replace_marks(self, text: str) -> str:
        """Text in which every mark is replaced by the text of its value."""
        return MARK.sub(lambda mark: self.get_value(int(mark[1])), text)

    @property
    def files(self) -> dict[str, str]:
        """What its blocks publish, by place on the site."""
        files = (file for result in self.results for file in result.files)
        return {f"{FILES}/{file.name}": file.text for file in files}

    def get_result(self, block: Block) -> Result | None:
        """What a block gave; None for one that failed or never ran."""
        number = self.page.blocks.index(block)
        return self.results[number] if number < len(self.results) else None

    def describe_error(self, block: Block) -> str:
        """What to show in place of the output of a block that failed."""
        failures = [f.message for f in self.failures if f.line == block.line]
        return "\n".join([self.locale["site"]["blocks"]["error"], *failures])

    def add_failure(self, text: str, message: str) -> None:
        """Record a fault of rendering, at the line that holds the text."""
        # Inline values are filled in by now, so its first line may match in part only.
        start = text.strip().split("\n")[0]
        candidates = (self.page.find_line(start[: -i or None]) for i in range(len(start)))
        line = next(filter(None, candidates), 0)
        self.failures.append(Failure(self.page.path, line, message))
