"""A page's Markdown as blocks and inline values; a listing as named sections.

A block is a fence that holds include lines alone. An inline value is `{{ expression:spec }}`.
Both are found here, with the line that they stand on, and nowhere else.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from attention_docs.site.failure import Failure

FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")
INCLUDE = re.compile(r'^\s*--8<-- "(?P<listing>[\w./-]+):(?P<section>[\w-]+)"\s*$')
MARKER = re.compile(r"^# --8<-- \[(?P<kind>start|end):(?P<name>[\w-]+)\]$")
OPTION = re.compile(r'(\w+)="([^"]*)"')
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
VALUE = re.compile(r"\{\{ (?P<inner>(?:(?!\{\{).)+?) \}\}")
FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.S | re.M)
ALLOWED = {"exec": {"1"}, "source": {"above", "none"}}


@dataclass(frozen=True)
class Section:
    """A piece of a listing: its name, the file, its first line there, and its code."""

    name: str
    listing: Path
    first_line: int
    code: str


@dataclass(frozen=True)
class Block:
    """An executable fence: lines `line` to `last_line` of the page."""

    id: str
    line: int
    last_line: int
    indent: str
    show_source: bool
    sections: tuple[Section, ...]

    @property
    def code(self) -> str:
        """The code as the reader sees it."""
        return "\n".join(section.code for section in self.sections)


@dataclass(frozen=True)
class Value:
    """An inline value: where it stands, and how many blocks come before it."""

    line: int
    start: int
    end: int
    expression: str
    spec: str
    after: int


@dataclass
class Source:
    """A page as it stands on disk."""

    path: str
    text: str
    blocks: list[Block] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the file, front matter included: line n is `lines[n - 1]`."""
        return self.text.split("\n")

    @property
    def slug(self) -> str:
        """The page's name, the same in both languages: "scaling", "api/scaling"."""
        return self.path.split("/", 2)[2].removesuffix(".md")

    @cached_property
    def title(self) -> str:
        """The title in the front matter."""
        found = re.search(r"^title: *(.+)$", self.text, re.M)
        return found[1].strip("\"'") if found else self.slug

    @cached_property
    def body_line(self) -> int:
        """The number of lines that the front matter takes."""
        front = FRONT_MATTER.match(self.text)
        return front[0].count("\n") if front else 0


def read_page(path: Path, root: Path) -> Source:
    """Parse a page. What is wrong with it is in `failures`; nothing is raised."""
    page = Source(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    listings = root / "docs" / "listings"
    number = page.body_line
    while number < len(page.lines):
        line = page.lines[number]
        number += 1
        if fence := FENCE.match(line):
            end = _end_of_fence(page.lines, number, fence["ticks"])
            if end > len(page.lines):
                page.failures.append(Failure(page.path, number, "this fence is never closed"))
            if "exec=" in fence["info"]:
                try:
                    page.blocks.append(_block(page, fence, number, end, listings))
                except Failure as failure:
                    page.failures.append(failure)
            number = end
        else:
            _values(page, number, line)
    seen: dict[str, int] = {}
    for block in page.blocks:
        if block.id in seen:
            first = seen[block.id]
            page.failures.append(
                Failure(page.path, block.line, f'block "{block.id}" is on line {first} already')
            )
        seen.setdefault(block.id, block.line)
    return page


def _end_of_fence(lines: list[str], number: int, ticks: str) -> int:
    """The number of the closing line of the fence that opens on line `number`."""
    for end in range(number, len(lines)):
        closing = lines[end].strip()
        if closing.startswith(ticks) and not closing.strip(ticks[0]):
            return end + 1
    return len(lines) + 1


def _block(page: Source, fence: re.Match[str], line: int, end: int, listings: Path) -> Block:
    info = fence["info"].strip()
    options = dict(OPTION.findall(info))
    left_over = OPTION.sub("", info).split()
    if left_over != ["python"]:
        raise Failure(page.path, line, f'wanted ```python exec="1", got ```{info}')
    for key, value in options.items():
        if value not in ALLOWED.get(key, ()):
            wanted = ", ".join(f'{k}="{v}"' for k, vs in ALLOWED.items() for v in sorted(vs))
            raise Failure(page.path, line, f'option {key}="{value}" is none of {wanted}')
    sections = []
    for offset, content in enumerate(page.lines[line : end - 1], start=line + 1):
        include = INCLUDE.match(content)
        if not include:
            raise Failure(
                page.path,
                offset,
                f'a block holds include lines alone (--8<-- "listing.py:section"), got {content!r}',
            )
        try:
            sections.append(read_listing(listings / include["listing"])[include["section"]])
        except Failure as failure:
            raise Failure(page.path, offset, str(failure)) from None
        except KeyError:
            raise Failure(
                page.path,
                offset,
                f'docs/listings/{include["listing"]} has no section "{include["section"]}"',
            ) from None
    if not sections:
        raise Failure(page.path, line, "a block without an include line")
    return Block(
        id=sections[0].name,
        line=line,
        last_line=end,
        indent=fence["indent"],
        show_source=options.get("source", "above") == "above",
        sections=tuple(sections),
    )


def _values(page: Source, number: int, line: str) -> None:
    masked = CODE_SPAN.sub(lambda span: " " * len(span[0]), line)
    if line.startswith("#") and VALUE.search(masked):
        message = "a heading holds no inline value: it is also a title, an address, a search result"
        page.failures.append(Failure(page.path, number, message))
    for match in VALUE.finditer(masked):
        try:
            expression, spec = split_spec(match["inner"])
        except ValueError as error:
            page.failures.append(Failure(page.path, number, str(error)))
            continue
        after = len(page.blocks)
        page.values.append(Value(number, match.start(), match.end(), expression, spec, after))
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


def read_listing(path: Path) -> dict[str, Section]:
    """The sections of a listing by name, in the order of the file."""
    if not path.is_file():
        raise Failure(path.name, 1, f"there is no listing docs/listings/{path.name}")
    sections: dict[str, Section] = {}
    open_name, first = "", 0
    code: list[str] = []
    name = f"docs/listings/{path.name}"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if marker := MARKER.match(line):
            kind, section = marker["kind"], marker["name"]
            if (kind == "start") == bool(open_name) or (kind == "end" and section != open_name):
                raise Failure(name, number, f"[{kind}:{section}] does not pair up")
            if kind == "start":
                if section in sections:
                    raise Failure(name, number, f'section "{section}" is there already')
                open_name, first, code = section, number + 1, []
            else:
                sections[section] = Section(section, path, first, "\n".join(code))
                open_name = ""
        elif "--8<--" in line:
            raise Failure(name, number, f"not a section marker: {line!r}")
        elif open_name:
            code.append(line)
    if open_name:
        raise Failure(name, first - 1, f"[start:{open_name}] is never ended")
    return sections
