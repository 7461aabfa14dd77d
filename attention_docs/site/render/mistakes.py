"""The gallery of mistakes: entries of `docs/mistakes.toml`, code and outputs of the chapters.

An entry names blocks of a chapter. Its `marks` hold a string for each block, with a sign for each
line of its output: x for wrong, + for right, a dot for neither. Its `bad` and `good` hold the
beginnings of wrong and right lines of code. The reader sees ✗ and ✓. An entry that sets a wrong
block against a right one has at least one of the two, so that they cannot be swapped.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from attention_docs.site.read.failure import Failure
from attention_docs.site.render.chapters import Chapters, Record, listed

SIGNS = {"x": "✗", "+": "✓", ".": " "}
DEFAULT = {"wrong": "x", "right": "+", "claim": "."}
# No copy button on code inside "no-copy".
STYLE = {"right": "success", "claim": "example"}
MARKED = "failure wrong no-copy"


def gallery(group: str, chapters: Chapters) -> str:
    """The mistakes of one group: why, wrong and right code with outputs, what catches it."""
    entries = [entry for entry in chapters.records("mistakes") if entry["group"] == group]
    if not entries:
        raise Failure("docs/mistakes.toml", 1, f'no entry has the group "{group}"')
    shown = []
    for entry in entries:
        try:
            shown.append(_mistake(entry, chapters))
        except Failure as failure:
            raise chapters.located("mistakes", entry, failure) from None
    return "\n\n".join(shown)


def filter_field(chapters: Chapters) -> str:
    """A field that leaves, of the table after it, the rows that hold what is typed (site.js)."""
    label = chapters.words["site"]["mistakes"]["filter"]
    return (
        f'<div class="filter"><label>{label} <input type="search" autocomplete="off"></label> '
        '<span role="status"></span></div>'
    )


def _mistake(entry: Record, chapters: Chapters) -> str:
    """An entry as a fold; a link to it opens it."""
    head = f"/// fold | {chapters.told('mistakes', entry)}\n    id: {entry['id']}"
    facts = "- " + "\n- ".join(_facts(entry, chapters))
    why = chapters.told("mistakes", entry, "why")
    return "\n\n".join([head, why, *_boxes(entry, chapters), facts, "///"])


def _facts(entry: Record, chapters: Chapters) -> Iterator[str]:
    """What catches it, where it was seen, where it is explained and tested."""
    words, lang = chapters.words["site"]["mistakes"], chapters.lang
    marks = chapters.words["site"]["marks"]
    yield words["check"].format(chapters.told("mistakes", entry, "check"))
    rows = listed(entry.get("note"))
    common = [words["own"].format(row, row.replace(".", "-")) for row in rows]
    common += listed(entry.get(f"report_{lang}"))
    if common:
        yield words["common"].format(marks["space"].join(common))
    places = [entry["place"], *listed(entry.get("also"))]
    links = [chapters.link(place) for place in places]
    chapter = _chapter(entry)
    outputs = [
        f'<a href="../{chapter}/index.html#out-{name}"><code>{name}</code></a>'
        for _, name in _blocks(entry)
        if chapters.block(chapter, name)[1]
    ]
    test = entry["test"].removeprefix("tests/")
    yield words["chapter"].format(marks["and"].join(links), marks["comma"].join(outputs), test)


def _chapter(entry: Record) -> str:
    chapter: str = entry["place"].split("#")[0]
    return chapter


def _blocks(entry: Record) -> list[tuple[str, str]]:
    """Kind and name of every block that an entry shows."""
    kinds = ("claim", "wrong", "right")
    return [(kind, name) for kind in kinds for name in listed(entry.get(kind))]


def _boxes(entry: Record, chapters: Chapters) -> Iterator[str]:
    """The blocks of an entry, each in a box with its title."""
    words = chapters.words["site"]["mistakes"]
    marks = listed(entry.get("marks"))
    starts = [("✗", start) for start in listed(entry.get("bad"))]
    starts += [("✓", start) for start in listed(entry.get("good"))]
    if entry.get("right") and not starts:
        raise Failure("", 1, "a wrong and a right block: wanted bad or good, how their lines begin")
    unused = {start for _, start in starts}
    for number, (kind, name) in enumerate(_blocks(entry)):
        block, lines = chapters.block(_chapter(entry), name)
        code = []
        english, translated = (text.strip("\n").split("\n") for text in (block.code, block.shown))
        for line, shown in zip(english, translated, strict=True):
            hits = [(sign, x) for sign, x in starts if line.strip().startswith(x)]
            unused -= {start for _, start in hits}
            other = {"right": "✗", "wrong": "✓"}.get(kind) if entry.get("right") else None
            if any(sign == other for sign, _ in hits):
                message = f'"{name}" is {kind}, and has a line that is not: {line.strip()!r}'
                raise Failure("", 1, message)
            code.append(f"{shown}  # {hits[0][0]}" if hits else shown)
        signs = marks[number] if number < len(marks) else ""
        lines, signs = _signed(name, kind, lines, signs)
        inner = _fence("python", code) + (f"\n\n{_fence('text', lines)}" if lines else "")
        both = kind == "wrong" and ("+" in signs or "both" in entry)
        title = words["both" if both else kind]
        yield f'!!! {STYLE.get(kind, MARKED)} "{title}"\n\n' + textwrap.indent(inner, "    ")
    if unused:
        raise Failure("", 1, f"no line of its blocks begins with {min(unused)!r}")


def _signed(name: str, kind: str, lines: list[str], signs: str) -> tuple[list[str], str]:
    """The lines of an output with their signs, and the signs."""
    signs = signs or DEFAULT[kind] * len(lines)
    if len(signs) != len(lines):
        raise Failure("", 1, f'"{name}" prints {len(lines)} lines, got {len(signs)} marks')
    if kind == "right" or set(signs) == {"."}:
        return lines, signs
    pairs = zip(signs, lines, strict=True)
    return [f"{SIGNS[sign]} {line}".rstrip() for sign, line in pairs], signs


def _fence(language: str, lines: list[str]) -> str:
    return "\n".join([f"```{language}", *lines, "```"])
