"""Reads the Markdown of a page, once: headings, blocks, boxes, inline values, all lines between.

A block is a fence that holds include lines alone. An inline value is `{{ expression:spec }}`.
What a line of a page is, its pieces say; no other module reads Markdown a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from attention_docs.site.read.blocks import read_block
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.inline_values import read_values
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import (
    Attributes,
    Block,
    Box,
    End,
    Fence,
    Heading,
    Note,
    Piece,
    Reference,
    Request,
    Text,
)
from attention_docs.site.read.syntax import (
    ATTRIBUTES,
    BOX,
    COUNTS,
    END,
    FENCE,
    FRONT_MATTER,
    HEADING,
    MINUTES,
    NOTE,
    OPTIONAL,
    OPTIONS,
    REFERENCE,
    REQUEST,
    REQUESTED,
    SETTING,
    VALUE,
)


class Reader:
    """Reads the pages of a project, each again only when it or a listing of it has changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cached_pages: dict[Path, tuple[str, dict[Path, str], Page]] = {}
        self.cached_faults: dict[
            tuple[object, ...], tuple[Sequence[Page], object, list[Failure]]
        ] = {}

    def find_faults(
        self, find: Callable[..., Iterable[Failure]], *pages: Page, beside: object = ""
    ) -> list[Failure]:
        """The faults of pages, found again when one was read again or what is beside it changed."""
        key = find, *(page.path for page in pages)
        before, around, found = self.cached_faults.get(key, ((), None, []))
        if [*map(id, before)] != [*map(id, pages)] or around != beside:
            found = list(find(*pages, beside))
            self.cached_faults[key] = pages, beside, found
        return found

    def read(self, path: Path) -> Page:
        text = path.read_text(encoding="utf-8")
        if path in self.cached_pages:
            before, listings, page = self.cached_pages[path]
            if before == text and all(
                _read_text(one) == content for one, content in listings.items()
            ):
                return page
        page = read_page(path, self.root)
        names = {section.listing for block in page.blocks for section in block.sections}
        self.cached_pages[path] = text, {one: _read_text(one) for one in names}, page
        if page.failures:  # which file mends it cannot be said
            del self.cached_pages[path]
        return page


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def classify_lines(markdown: str) -> Iterator[tuple[str, Piece]]:
    lines = markdown.split("\n")
    number = 0
    while number < len(lines):
        number += 1
        if fence := FENCE.match(lines[number - 1]):
            end = _find_fence_end(lines, number, fence["ticks"])
            piece = Fence(number, end)
            yield from ((line, piece) for line in lines[number - 1 : end])
            number = end
        elif head := BOX.match(lines[number - 1]):
            box = _parse_box(Page("", markdown), head, number)
            yield lines[number - 1], box
            number = box.last_line
        else:
            yield lines[number - 1], _classify_line(lines[number - 1], number)


def read_page(path: Path, root: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    return parse_page(Page(path.relative_to(root).as_posix(), text), root)


def parse_page(page: Page, root: Path) -> Page:
    listings = root / "docs" / "listings"
    number = page.body_line
    while number < len(page.lines):
        line = page.lines[number]
        number += 1
        if fence := FENCE.match(line):
            end = _find_fence_end(page.lines, number, fence["ticks"])
            if end > len(page.lines):
                page.failures.append(Failure(page.path, number, "this fence is never closed"))
            piece: Piece = Fence(number, end)
            if "exec=" in fence["info"]:
                try:
                    piece = read_block(page, fence, number, end, listings)
                    page.blocks.append(piece)
                except Failure as failure:
                    page.failures.append(failure)
            page.pieces.append(piece)
            number = end
        elif head := BOX.match(line):
            box = _parse_box(page, head, number)
            page.pieces.append(box)
            number = box.last_line
        else:
            page.pieces.append(_classify_line(line, number))
            read_values(page, number, line)
    page.failures += [
        *_find_duplicates(page),
        *_find_unknown_requests(page),
        *_find_unpaired_boxes(page),
        *_crowded(page),
    ]
    return page


def _parse_box(page: Page, head: re.Match[str], number: int) -> Box:
    """A box with its options; what is wrong with them is noted."""
    options, last = {}, number
    while last < len(page.lines) and (option := SETTING.match(page.lines[last])):
        options[option["name"]] = option["value"].strip("\"'")
        last += 1
    kind, title = head["kind"], head["title"] or ""
    if VALUE.search(title):
        message = "the title of a box holds no inline value: it is also a search result"
        page.failures.append(Failure(page.path, number, message))
    if kind not in OPTIONS:
        message = f"a box is one of {', '.join(OPTIONS)}, got {kind}"
        page.failures.append(Failure(page.path, number, message))
    elif options.keys() - OPTIONAL.get(kind, {}) != OPTIONS[kind].keys() or (
        bool(options) != bool(title)
    ):
        wanted = ", ".join(OPTIONS[kind]) or "none"
        message = f"{kind}: wanted a title and the options {wanted}, got {', '.join(options)}"
        page.failures.append(Failure(page.path, number, message))
    for name, value in options.items():
        allowed = (OPTIONS.get(kind, {}) | OPTIONAL.get(kind, {})).get(name, "*")
        if not value or (allowed != "*" and value not in allowed.split()):
            message = f"{kind}: {name} is one of {allowed}, got {value!r}"
            page.failures.append(Failure(page.path, number, message))
    return Box(number, last, head["slashes"], kind, title, options)


def _find_unpaired_boxes(page: Page) -> Iterator[Failure]:
    """Boxes that are not closed, not open, or not within each other."""
    open_: list[Box] = []
    for piece in page.pieces:
        match piece:
            case Box():
                if open_ and len(piece.slashes) >= len(open_[-1].slashes):
                    message = "the outer box takes more slashes than the one inside"
                    yield Failure(page.path, piece.line, message)
                open_.append(piece)
            case End():
                if not open_ or open_.pop().slashes != piece.slashes:
                    yield Failure(page.path, piece.line, "this closes no box")
            case Heading() if open_:
                yield Failure(page.path, piece.line, f"a heading within the box {open_[-1].id}")
    for box in open_:
        yield Failure(page.path, box.line, "this box is never closed")


def _crowded(page: Page) -> Iterator[Failure]:
    """Fences next to a line of text: Markdown would take both for one paragraph."""
    for before, after in pairwise(page.pieces):
        for fence, other, where in ((after, before, "before"), (before, after, "after")):
            fenced = isinstance(fence, Block | Fence)
            if fenced and isinstance(other, Text) and page.lines[other.line - 1].strip():
                yield Failure(page.path, fence.line, f"a fence needs a blank line {where} it")


def _find_fence_end(lines: list[str], number: int, ticks: str) -> int:
    """The number of the closing line of the fence that opens on line `number`."""
    for end in range(number, len(lines)):
        closing = lines[end].strip()
        if closing.startswith(ticks) and not closing.strip(ticks[0]):
            return end + 1
    return len(lines) + 1


def _classify_line(line: str, number: int) -> Piece:
    if heading := HEADING.match(line):
        return Heading(number, len(heading["level"]), heading["title"], heading["id"] or "")
    if end := END.match(line):
        return End(number, end["slashes"])
    if note := NOTE.match(line):
        return Note(number, note["indent"], note["title"] or "")
    if reference := REFERENCE.match(line):
        return Reference(number, reference["name"])
    if (request := REQUEST.match(line)) and request["kind"] in REQUESTED:
        return Request(number, request["kind"], request["name"] or "")
    return Attributes(number) if ATTRIBUTES.match(line) else Text(number)


def _find_duplicates(page: Page) -> Iterator[Failure]:
    named = [("block", block.id, block.line) for block in page.blocks]
    named += [("id", one.id, one.line) for one in page.passages if one.id]
    seen: dict[tuple[str, str], int] = {}
    for what, name, line in named:
        if (what, name) in seen:
            message = f'{what} "{name}" is on line {seen[what, name]} already'
            yield Failure(page.path, line, message)
        seen.setdefault((what, name), line)


def _find_unknown_requests(page: Page) -> Iterator[Failure]:
    if FRONT_MATTER.match(page.text) and not page.meta:
        yield Failure(page.path, 1, "the front matter must be YAML with names and values")
    if "title" in page.meta:
        message = "the title of a page is its heading: delete title from the front matter"
        yield Failure(page.path, page.find_line("title:"), message)
    if not any(isinstance(one, Heading) and one.level == 1 for one in page.pieces):
        message = "wanted a heading of the first level, `# Title { #id }`: it is the page's title"
        yield Failure(page.path, page.body_line + 1, message)
    for number, line in enumerate(page.lines, start=1):
        request = REQUEST.match(line)
        if request and request["named"] and request["kind"] not in REQUESTED:
            message = f"a comment asks for one of {', '.join(REQUESTED)}, got {request['kind']}"
            yield Failure(page.path, number, message)
    for value in page.values:
        known = value.expression[5:] in COUNTS or MINUTES.fullmatch(value.expression)
        if value.is_site_count and (not known or value.spec):
            message = f'site. counts {", ".join(COUNTS)}, minutes["<chapter>"], without a format'
            yield Failure(page.path, value.line, f"{message}, got {value.expression}:{value.spec}")
