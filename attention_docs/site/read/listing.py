"""A listing, a script of `docs/listings/`, as its named sections.

Its comments are English. What they say in another language stands beside it, by the English words:
`docs/listings/scaling.zh.toml`. Statements are never translated.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.knobs import Knob, taken

MARKER = re.compile(r"^# --8<-- \[(?P<kind>start|end):(?P<name>[\w-]+)\]$")


def same(text: str, english: str) -> str:
    """The text as it is: that of a language that is made from no other."""
    return text


@dataclass(frozen=True)
class Section:
    """A piece of a listing: its name, the file, its first line there, and its code."""

    name: str
    listing: Path
    first_line: int
    code: str
    knobs: tuple[Knob, ...] = ()

    def told(self, lang: str, script: Callable[[str, str], str] = same) -> str:
        """The code with comments in a language, or in what a script makes of it."""
        words = comments(self.listing, lang)
        own = {text for text, *_ in remarks(self.code)} if words else set()
        return told(self.code, {text: script(words[text], text) for text in own & words.keys()})


@lru_cache(maxsize=1024)  # a page asks for the same listing once for each of its blocks
def sections(path: Path, text: str) -> dict[str, Section]:
    """The sections of a listing by name, in the order of the file."""
    found: dict[str, Section] = {}
    open_name, first = "", 0
    code: list[str] = []
    file = f"docs/listings/{path.name}"
    for number, line in enumerate(text.splitlines(), start=1):
        if marker := MARKER.match(line):
            kind, name = marker["kind"], marker["name"]
            if (kind == "start") == bool(open_name) or (kind == "end" and name != open_name):
                raise Failure(file, number, f"[{kind}:{name}] does not pair up")
            if kind == "start":
                if name in found:
                    raise Failure(file, number, f'section "{name}" is there already')
                open_name, first, code = name, number + 1, []
            else:
                try:
                    found[name] = Section(name, path, first, *taken("\n".join(code)))
                except ValueError as error:
                    raise Failure(file, first, str(error)) from None
                open_name = ""
        elif "--8<--" in line:
            raise Failure(file, number, f"not a section marker: {line!r}")
        elif open_name:
            code.append(line)
    if open_name:
        raise Failure(file, first - 1, f"[start:{open_name}] is never ended")
    return found


def read_listing(path: Path) -> dict[str, Section]:
    """The sections of a listing on disk."""
    if not path.is_file():
        raise Failure(path.name, 1, f"there is no listing docs/listings/{path.name}")
    return sections(path, path.read_text(encoding="utf-8"))


# --- comments in another language

SHAPE = re.compile(r"\([^()]*\)|`[^`]*`")
WORD = re.compile(r"[^\W\d_]{3,}")


def table(listing: Path, lang: str) -> Path:
    """Where the comments of a listing stand in a language."""
    return listing.with_suffix(f".{lang}.toml")


def comments(listing: Path, lang: str) -> Mapping[str, str]:
    """The comments of a listing in a language, by the English ones; none in English itself."""
    path = table(listing, lang)
    return _comments(path, path.read_text(encoding="utf-8")) if path.is_file() else {}


@lru_cache(maxsize=256)
def _comments(path: Path, text: str) -> Mapping[str, str]:
    file = f"docs/listings/{path.name}"
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Failure(file, 1, f"must be TOML: {error}") from None
    entries = found.get("comments")
    if set(found) != {"comments"} or not isinstance(entries, dict):
        raise Failure(file, 1, 'must hold [comments] and nothing else: "english" = "…"')
    return entries


@lru_cache(maxsize=4096)
def remarks(code: str) -> Sequence[tuple[str, int, int, int]]:
    """Comments and docstrings: what they say, their line, and where they begin and end in it."""
    return list(_remarks(code))


def _remarks(code: str) -> Iterator[tuple[str, int, int, int]]:
    lines = code.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            (line, start), (_, end) = token.start, token.end
            yield token.string[1:].strip(), line, start + 1, end
    for node in ast.walk(ast.parse(code)) if '"""' in code else ():
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (text := ast.get_docstring(node)):
            line = node.body[0].lineno
            if "\n" not in text:
                start = lines[line - 1].index('"""') + 3
                yield text, line, start, start + len(text)


def speaks(remark: str) -> bool:
    """Whether a comment holds words, and not only shapes or symbols.

    Examples:
        >>> speaks("(batch, heads, n, d_k)"), speaks("Q Kᵀ"), speaks("raw scores, `scores`")
        (False, False, True)
    """
    return bool(WORD.search(SHAPE.sub("", remark)))


def told(code: str, words: Mapping[str, str]) -> str:
    """Code with its comments and docstrings replaced by what a table says for them.

    Examples:
        >>> told("x = 1  # one", {"one": "一"})
        'x = 1  # 一'
    """
    if not words:
        return code
    lines = code.split("\n")
    for text, line, start, end in sorted(remarks(code), key=lambda one: one[1:], reverse=True):
        if text in words:
            before = lines[line - 1]
            space = " " if before[start - 1] == "#" else ""
            lines[line - 1] = before[:start] + space + words[text] + before[end:]
    return "\n".join(lines)


def untold(listing: Path, lang: str) -> Iterator[Failure]:
    """Comments without their words in a language, and words for comments that are not there."""
    words, path = comments(listing, lang), table(listing, lang)
    if not path.is_file():
        return
    said = {
        text: section.first_line + line - 1
        for section in read_listing(listing).values()
        for text, line, *_ in remarks(section.code)
        if speaks(text)
    }
    for text in said.keys() - words.keys():
        message = f'docs/listings/{path.name} has no words for the comment "{text}"'
        yield Failure(f"docs/listings/{listing.name}", said[text], message)
    for text in words.keys() - said.keys():
        message = f'"{text}" is no comment of docs/listings/{listing.name}'
        yield Failure(f"docs/listings/{path.name}", 1, message)
