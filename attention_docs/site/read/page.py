"""A page's Markdown, read once: front matter, headings, blocks, inline values, everything between.

A block is a fence that holds include lines alone. An inline value is `{{ expression:spec }}`.
Whoever needs to know what a line of a page is asks the page; nobody reads Markdown a second time.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from attention_docs.colours import ROLES
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.honest import constant
from attention_docs.site.read.knobs import Knob
from attention_docs.site.read.listing import Section, read_listing, same, translate_code

FRONT_MATTER = re.compile(r"\A---\n(?P<yaml>.*?)^---\n", re.S | re.M)
FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")
HEADING = re.compile(r"^(?P<level>#{1,6}) (?P<title>.*?)(?:\s*\{[^}]*#(?P<id>[\w-]+)[^}]*\})?\s*$")
NOTE = re.compile(r'^(?P<indent> *)!!! +[\w -]+?(?: +"(?P<title>.*)")?\s*$')
BOX = re.compile(r"^(?P<slashes>/{3,}) *(?P<kind>[\w-]+) *(?:\| *(?P<title>.*?) *)?$")
END = re.compile(r"^(?P<slashes>/{3,}) *$")
SETTING = re.compile(r"^ {4,}(?P<name>\w+): *(?P<value>.*?) *$")
ATTRIBUTES = re.compile(r"^\s*\{:? ?[.#][^{}]*\}\s*$")
REFERENCE = re.compile(r"^::: (?P<name>[\w.]+)\s*$")
REQUESTED = ("filter", "gallery", "works", "reports", "results", "notes")
REQUEST = re.compile(r"^<!-- (?P<kind>[\w-]+)(?P<named>: (?P<name>[\w-]+))? -->$")
COUNTS = ("pages", "blocks", "outputs", "values", "steps")
INCLUDE = re.compile(r'^\s*--8<-- "(?P<listing>[\w./-]+):(?P<section>[\w-]+)"\s*$')
OPTION = re.compile(r'(\w+)="([^"]*)"')
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
VALUE = re.compile(r"\{\{ (?P<inner>(?:(?!\{\{).)+?) \}\}")
COLOUR = re.compile(r'\{\{ site\.colours\["(?P<role>[\w-]*)"\] \}\}')  # a word, no value
CELL = re.compile(r"(?<!\\)\|")
DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.S)
INLINE = re.compile(r"(?<![\\$])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)")
TEX_WORDS = re.compile(r"\\(?:text|textbf|textrm|operatorname|tag)\{[^{}]*\}")
SPOKEN = re.compile(r"\\(?:text|textbf|textrm|textit)\{([^{}]*)\}")
REASON = re.compile(r"(?:&&|\\qquad|\\quad|&)?\s*\\text\{\s*[(（].*")
ROW = re.compile(r"\\\\(?:\[\d+pt\])?")
SIDES = re.compile(r"[=,、](?![^(\[{]*[)\]}])")  # of an equation, or of a list without brackets
SPACING = re.compile(r"\\[,;! ]|\s|[.,，。]$")
LIST_MARKER = re.compile(r"^\s*\d+[.)]\s", re.M)
LINK_TARGET = re.compile(r"\]\([^)]*\)|<[^>]*>|\{[^}]*\}")
NUMERAL = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
OPTIONS = {  # of each kind of box, all of them; `*` stands for anything
    "deeper": {"id": "*"},
    "fold": {"id": "*"},
    "result": {
        "id": "*",
        "relation": "= ≤ ≥ < > ≈ grows falls iff implies not",
        "proof": "*",
        "check": "*",
        "test": "*",
    },
    "exercise": {"id": "*", "stars": "1 2 3", "kind": "pencil predict proof bug"},
    "hint": {},
    "answer": {},
}
ALLOWED = {"exec": {"1"}, "source": {"above", "folded", "none"}, "text": {"above", "folded"}}


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
    script: Callable[[str, str], str] = same  # and what makes them those of another language

    @property
    def code(self) -> str:
        """The code as it runs."""
        return "\n".join(section.code for section in self.sections)

    @cached_property
    def shown(self) -> str:
        """The code as the reader sees it: comments and strings in the language of the page."""
        return "\n".join(section.translated(self.lang, self.script) for section in self.sections)

    @property
    def knobs(self) -> tuple[Knob, ...]:
        """The knobs of its sections, with choices in the language of the page."""
        return tuple(
            replace(knob, names=tuple(self.translated(f'"{name}"')[1:-1] for name in knob.names))
            for section in self.sections
            for knob in section.knobs
        )

    def translated(self, code: str) -> str:
        """Code that uses what the block has made, with strings in the language of the page."""
        return translate_code(code, self.sections[0].listing, self.lang, self.script)


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
    """A line that stands for the documentation of a module."""

    line: int
    name: str


@dataclass(frozen=True)
class Request:
    """A comment that asks for a part that is made elsewhere: `<!-- gallery: masks -->`."""

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
    def counted(self) -> bool:
        """Whether the site itself answers it: `site.pages` and so on."""
        return self.expression.startswith("site.")


@dataclass(frozen=True)
class Passage:
    """A heading and what stands under it up to the next one, without fences; or a box and its text.

    What stands before the first heading has level 0 and no id; a box is a level deeper than what it
    stands in, which goes on after it.
    """

    line: int
    level: int
    title: str
    id: str
    text: str
    kind: str = ""  # of a box
    options: tuple[tuple[str, str], ...] = ()
    last_line: int = 0  # of what belongs to it, boxes and lower headings included

    def displays(self) -> list[str]:
        """Display formulas, without the words in them and without white space."""
        return [re.sub(r"\s|&&", "", SPOKEN.sub("", tex)) for tex in DISPLAY.findall(self.text)]

    def formulas(self, told: Mapping[str, str]) -> list[str]:
        """The sides of inline formulas, with the words in them as `told` translates them."""

        def translated(match: re.Match[str]) -> str:
            return f"\\text{{{told.get(match[1].strip(), match[1].strip())}}}"

        found = INLINE.findall(DISPLAY.sub(" ", CODE_SPAN.sub(" ", VALUE.sub("{v}", self.text))))
        sides = (side for tex in found for side in SIDES.split(SPOKEN.sub(translated, tex)))
        return [side for side in (SPACING.sub("", side) for side in sides) if side]

    def spoken(self, told: Mapping[str, str]) -> Counter[str]:
        """The words in each line of display formulas but for its reason, as `told` has them.

        It translates what stands between formulas, or all of a line: "if / else"; "" stands for
        words that the other language says in the reason.
        """
        found: Counter[str] = Counter()
        for row in (row for tex in DISPLAY.findall(self.text) for row in ROW.split(tex)):
            words = [word.strip() for word in SPOKEN.findall(REASON.sub("", row))]
            line = " / ".join(filter(None, words))
            apart = " / ".join(told.get(word, word) for word in filter(None, words))
            found[told.get(line, apart)] += 1
        del found[""]
        return found

    def names_in_reasons(self) -> Counter[str]:
        """What a reason calls alike in every language: "A1" and whole numbers."""
        rows = (row for tex in DISPLAY.findall(self.text) for row in ROW.split(tex))
        reasons = (
            word for row in rows for one in REASON.findall(row) for word in SPOKEN.findall(one)
        )
        return Counter(name for one in reasons for name in re.findall(r"[A-Z]?\d+", one))

    def values(self) -> Counter[str]:
        """Inline values as written."""
        return Counter(match["inner"].strip() for match in VALUE.finditer(self.text))

    def numerals(self) -> Counter[str]:
        """Numbers that the reader sees typed: in prose and in inline formulas."""
        prose = DISPLAY.sub(" ", CODE_SPAN.sub(" ", VALUE.sub(" ", self.text)))
        prose = TEX_WORDS.sub(" ", LINK_TARGET.sub("]", prose.replace("{,}", "")))
        prose = LIST_MARKER.sub("", prose)
        return Counter(n.replace(",", "") for n in NUMERAL.findall(prose))


@dataclass
class Page:
    """A page as it stands on disk. What is wrong with it is in `failures`; nothing is raised.

    A page that is made from one in another language (`read/script.py`) has that one's path as its
    `origin`, and line by line what stands there.
    """

    path: str
    text: str
    pieces: list[Piece] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    origin: str = ""
    script: Callable[[str, str], str] = same

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the file, front matter included: line n is `lines[n - 1]`."""
        return self.text.split("\n")

    @cached_property
    def digest(self) -> str:
        """A hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def lang(self) -> str:
        """The language: the folder of `docs/` that it lies in."""
        return self.path.split("/")[1]

    @property
    def slug(self) -> str:
        """The page's name, the same in all languages: "scaling", "api/scaling"."""
        return self.path.split("/", 2)[2].removesuffix(".md")

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The front matter."""
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

    @property
    def title(self) -> str:
        """The title in the front matter."""
        return str(self.meta.get("title", self.slug))

    @cached_property
    def body_line(self) -> int:
        """The number of lines that the front matter takes."""
        front = FRONT_MATTER.match(self.text)
        return front[0].count("\n") if front else 0

    @cached_property
    def code(self) -> str:
        """All blocks as one script."""
        return "\n".join(block.code for block in self.blocks)

    @cached_property
    def documents(self) -> bool:
        """Whether the page shows the documentation of a module."""
        return any(isinstance(piece, Reference) for piece in self.pieces)

    @cached_property
    def waits(self) -> bool:
        """Whether the page shows or counts what other pages print."""
        requests = any(isinstance(piece, Request) for piece in self.pieces)
        return requests or any(value.counted for value in self.values)

    @property
    def passages(self) -> list[Passage]:
        """The page cut at its headings and boxes, in the order in which they begin."""
        return self._cut[0]

    @cached_property
    def _cut(self) -> tuple[list[Passage], list[tuple[int, int]]]:
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
                last_line=one.last_line or self._end(found, number),
            )
            for number, (one, lines) in enumerate(zip(found, texts, strict=True))
        ]
        return whole, owners

    def _end(self, found: list[Passage], number: int) -> int:
        """The last line of what stands under a heading, lower headings included."""
        level = found[number].level
        after = (one for one in found[number + 1 :] if not one.kind and one.level <= level)
        return next((one.line - 1 for one in after), len(self.lines))

    @property
    def owners(self) -> list[tuple[Piece, int]]:
        """Every piece with the number of the passage that it belongs to."""
        return [(piece, own) for piece, (_, own) in zip(self.pieces, self._cut[1], strict=True)]

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The titles of headings and boxes by their ids."""
        return {one.id: one.title for one in self.passages if one.id}

    def section(self, line: int) -> str:
        """The id of the heading or the box that a line stands under."""
        passages, owners = self._cut
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

    def line_of(self, text: str) -> int:
        """The first line that holds the text, or 0."""
        return next((n for n, line in enumerate(self.lines, start=1) if text in line), 0)


class Reader:
    """Reads the pages of a project, each again only when it or a listing of it has changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.known: dict[Path, tuple[str, dict[Path, str], Page]] = {}
        self.asked: dict[tuple[object, ...], tuple[Sequence[Page], object, list[Failure]]] = {}

    def once(
        self, find: Callable[..., Iterable[Failure]], *pages: Page, beside: object = ""
    ) -> list[Failure]:
        """The faults of pages, found again when one was read again or what is beside it changed."""
        key = find, *(page.path for page in pages)
        before, around, found = self.asked.get(key, ((), None, []))
        if [*map(id, before)] != [*map(id, pages)] or around != beside:
            found = list(find(*pages, beside))
            self.asked[key] = pages, beside, found
        return found

    def page(self, path: Path) -> Page:
        """The page at a path."""
        text = path.read_text(encoding="utf-8")
        if path in self.known:
            before, listings, page = self.known[path]
            if before == text and all(_text(one) == content for one, content in listings.items()):
                return page
        page = read_page(path, self.root)
        names = {section.listing for block in page.blocks for section in block.sections}
        self.known[path] = text, {one: _text(one) for one in names}, page
        if page.failures:  # which file mends it cannot be said
            del self.known[path]
        return page


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def lines_as_pieces(markdown: str) -> Iterator[tuple[str, Piece]]:
    """The lines of Markdown that stands on no page, each with what it is."""
    lines = markdown.split("\n")
    number = 0
    while number < len(lines):
        number += 1
        if fence := FENCE.match(lines[number - 1]):
            end = _end_of_fence(lines, number, fence["ticks"])
            piece = Fence(number, end)
            yield from ((line, piece) for line in lines[number - 1 : end])
            number = end
        elif head := BOX.match(lines[number - 1]):
            box = _box(Page("", markdown), head, number)
            yield lines[number - 1], box
            number = box.last_line
        else:
            yield lines[number - 1], _piece(lines[number - 1], number)


def read_page(path: Path, root: Path) -> Page:
    """Read a page."""
    text = path.read_text(encoding="utf-8")
    return parsed(Page(path.relative_to(root).as_posix(), text), root)


def parsed(page: Page, root: Path) -> Page:
    """A page with all that its text holds."""
    listings = root / "docs" / "listings"
    number = page.body_line
    while number < len(page.lines):
        line = page.lines[number]
        number += 1
        if fence := FENCE.match(line):
            end = _end_of_fence(page.lines, number, fence["ticks"])
            if end > len(page.lines):
                page.failures.append(Failure(page.path, number, "this fence is never closed"))
            piece: Piece = Fence(number, end)
            if "exec=" in fence["info"]:
                try:
                    piece = _block(page, fence, number, end, listings)
                    page.blocks.append(piece)
                except Failure as failure:
                    page.failures.append(failure)
            page.pieces.append(piece)
            number = end
        elif head := BOX.match(line):
            box = _box(page, head, number)
            page.pieces.append(box)
            number = box.last_line
        else:
            page.pieces.append(_piece(line, number))
            _values(page, number, line)
    page.failures += [*_twice(page), *_unknown(page), *_unpaired(page)]
    return page


def _box(page: Page, head: re.Match[str], number: int) -> Box:
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
    elif options.keys() != OPTIONS[kind].keys() or bool(options) != bool(title):
        wanted = ", ".join(OPTIONS[kind]) or "none"
        message = f"{kind}: wanted a title and the options {wanted}, got {', '.join(options)}"
        page.failures.append(Failure(page.path, number, message))
    for name, value in options.items():
        allowed = OPTIONS.get(kind, {}).get(name, "*")
        if not value or (allowed != "*" and value not in allowed.split()):
            message = f"{kind}: {name} is one of {allowed}, got {value!r}"
            page.failures.append(Failure(page.path, number, message))
    return Box(number, last, head["slashes"], kind, title, options)


def _unpaired(page: Page) -> Iterator[Failure]:
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


def _end_of_fence(lines: list[str], number: int, ticks: str) -> int:
    """The number of the closing line of the fence that opens on line `number`."""
    for end in range(number, len(lines)):
        closing = lines[end].strip()
        if closing.startswith(ticks) and not closing.strip(ticks[0]):
            return end + 1
    return len(lines) + 1


def _piece(line: str, number: int) -> Piece:
    """What a line outside of fences is."""
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


def _twice(page: Page) -> Iterator[Failure]:
    named = [("block", block.id, block.line) for block in page.blocks]
    named += [("id", one.id, one.line) for one in page.passages if one.id]
    seen: dict[tuple[str, str], int] = {}
    for what, name, line in named:
        if (what, name) in seen:
            message = f'{what} "{name}" is on line {seen[what, name]} already'
            yield Failure(page.path, line, message)
        seen.setdefault((what, name), line)


def _unknown(page: Page) -> Iterator[Failure]:
    """What the page asks for and nobody knows."""
    if not page.meta.get("title"):
        yield Failure(page.path, 1, "the front matter must be YAML with a title")
    for number, line in enumerate(page.lines, start=1):
        request = REQUEST.match(line)
        if request and request["named"] and request["kind"] not in REQUESTED:
            message = f"a comment asks for one of {', '.join(REQUESTED)}, got {request['kind']}"
            yield Failure(page.path, number, message)
    for value in page.values:
        if value.counted and (value.expression[5:] not in COUNTS or value.spec):
            message = f"site. counts {', '.join(COUNTS)}, without a format"
            yield Failure(page.path, value.line, f"{message}, got {value.expression}:{value.spec}")


def _block(page: Page, fence: re.Match[str], line: int, end: int, listings: Path) -> Block:
    info = fence["info"].strip()
    options = dict(OPTION.findall(info))
    left_over = OPTION.sub("", info).split()
    if left_over != ["python"]:
        raise Failure(page.path, line, f'wanted ```python exec="1", got ```{info}')
    for key, value in options.items():
        if value not in ALLOWED.get(key, ()):
            wanted = ", ".join(f'{k}="{v}"' for k, vs in ALLOWED.items() for v in sorted(vs))
            raise Failure(page.path, line, f'option {key}="{value}" is none of {wanted}')
    included = [
        _included(page, number, content, listings)
        for number, content in enumerate(page.lines[line : end - 1], start=line + 1)
    ]
    if not included:
        raise Failure(page.path, line, "a block without an include line")
    return Block(
        id=included[0].name,
        line=line,
        last_line=end,
        indent=fence["indent"],
        source=options.get("source", "above"),
        sections=tuple(included),
        lang=page.origin.split("/")[1] if page.origin else page.lang,
        text=options.get("text", "above"),
        script=page.script,
    )


def _included(page: Page, number: int, content: str, listings: Path) -> Section:
    """The section that an include line names."""
    include = INCLUDE.match(content)
    if not include:
        message = 'a block holds include lines alone (--8<-- "listing.py:section")'
        raise Failure(page.path, number, f"{message}, got {content!r}")
    try:
        sections = read_listing(listings / include["listing"])
    except Failure as failure:
        raise Failure(page.path, number, str(failure)) from None
    if include["section"] not in sections:
        message = f'docs/listings/{include["listing"]} has no section "{include["section"]}"'
        raise Failure(page.path, number, message)
    return sections[include["section"]]


def _values(page: Page, number: int, line: str) -> None:
    if "{{" not in line:
        return
    masked = CODE_SPAN.sub(lambda span: " " * len(span[0]), line)
    if line.startswith("#") and VALUE.search(masked):
        message = "a heading holds no inline value: it is also a title, an address, a search result"
        page.failures.append(Failure(page.path, number, message))
    for match in VALUE.finditer(masked):
        if colour := COLOUR.fullmatch(match[0]):
            if colour["role"] not in ROLES:
                message = f"site.colours has {', '.join(ROLES)}, got {colour['role']}"
                page.failures.append(Failure(page.path, number, message))
            continue
        try:
            expression, spec = split_spec(match["inner"])
        except ValueError as error:
            page.failures.append(Failure(page.path, number, str(error)))
            continue
        if constant(expression):
            message = f"{{{{ {expression} }}}} computes nothing: type it, or name what a block has"
            page.failures.append(Failure(page.path, number, message))
        after = len(page.blocks)
        value = Value(number, match.start(), match.end(), expression, spec, after)
        if not after and not value.counted:
            message = f"{{{{ {expression} }}}} stands before any block: nothing has run yet"
            page.failures.append(Failure(page.path, number, message))
        page.values.append(value)
    if "{{ " in VALUE.sub("", masked):
        page.failures.append(Failure(page.path, number, "an inline value {{ … }} is not closed"))


def split_spec(inner: str) -> tuple[str, str]:
    """Split "weights[0, 0]:.4f" into expression and format spec.

    Examples:
        >>> split_spec("weights[0, 0]:.4f"), split_spec("x[0:2]"), split_spec("x[0:2]:.1f")
        (('weights[0, 0]', '.4f'), ('x[0:2]', ''), ('x[0:2]', '.1f'))
    """
    candidates = [(inner, "")]
    candidates += [(inner[:i], inner[i + 1 :]) for i, c in enumerate(inner) if c == ":"]
    for expression, spec in candidates:
        try:
            ast.parse(expression.strip(), mode="eval")
        except SyntaxError:
            continue
        return expression.strip(), spec.strip()
    raise ValueError(f"wanted {{{{ expression:spec }}}}, got {{{{ {inner} }}}}")
