"""The gallery of mistakes: entries of `docs/mistakes.toml`, code and outputs of the chapters.

An entry names blocks of a chapter. Its `marks` hold a string for each block, with a sign for each
line of its output: x for wrong, + for right, a dot for neither. Its `bad` and `good` hold the
beginnings of wrong and right lines of code. The reader sees ✗ and ✓.
"""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attention_docs.site import works
from attention_docs.site.failure import Failure
from attention_docs.site.source import Source
from attention_docs.site.store import Record
from attention_docs.site.twins import HEADING, parts

Pages = Callable[[str], tuple[Source, list[Record]]]
Entry = dict[str, Any]

SIGNS = {"x": "✗", "+": "✓", ".": " "}
DEFAULT = {"wrong": "x", "right": "+", "claim": "."}
# Material puts a copy button on no code inside "no-copy".
STYLE = {"right": "success", "claim": "example"}
MARKED = "failure wrong no-copy"

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "wrong": "Wrong: do not copy",
        "both": "Wrong ✗ beside right ✓: do not copy",
        "right": "Right",
        "claim": "The claim, put to the test",
        "check": "**What catches it.** {}",
        "common": "**Where it was seen.** {}",
        "own": "One of the five notes has it: row [{}](sources.md#seed-{}).",
        "chapter": "**In the chapter.** {}. Its numbers: {}, tested by `{}`.",
        "and": "; ",
        "comma": ", ",
        "space": " ",
    },
    "zh": {
        "wrong": "错误写法，请勿照抄",
        "both": "对错并列：✗ 错，✓ 对，请勿照抄",
        "right": "正确写法",
        "claim": "把这个说法拿来检验",
        "check": "**怎样发现。** {}",
        "common": "**在哪里出现过。** {}",
        "own": "五份笔记之一有这个问题：第 [{}](sources.md#seed-{}) 行。",
        "chapter": "**所在章节。** {}。数字出自 {}，测试是 `{}`。",
        "and": "；",
        "comma": "、",
        "space": "",
    },
}


def load(path: Path) -> list[Entry]:
    """The entries of a TOML file of [[entry]] tables."""
    entries: list[Entry] = tomllib.loads(path.read_text(encoding="utf-8"))["entry"]
    return entries


def mistakes(docs: Path) -> list[Entry]:
    """The entries of the gallery."""
    return load(docs / "mistakes.toml")


def gallery(group: str, lang: str, docs: Path, pages: Pages) -> str:
    """The mistakes of one group: why, wrong and right code with outputs, what catches it."""
    entries = [entry for entry in mistakes(docs) if entry["group"] == group]
    if not entries:
        raise Failure("docs/mistakes.toml", 1, f'no entry has the group "{group}"')
    shown = []
    for entry in entries:
        try:
            shown.append(_mistake(entry, lang, docs, pages))
        except Failure as failure:
            raise located(docs / "mistakes.toml", entry, failure) from None
    return "\n\n".join(shown)


def _mistake(entry: Entry, lang: str, docs: Path, pages: Pages) -> str:
    words = WORDS[lang]
    chapter = entry["place"].split("#")[0]
    source, records = page(chapter, pages)
    places = [entry["place"], *listed(entry.get("also"))]
    links = [link(place, lang, docs, pages) for place in places]
    facts = [words["check"].format(entry[f"check_{lang}"])]
    common = [words["own"].format(row, row.replace(".", "-")) for row in listed(entry.get("seed"))]
    common += listed(entry.get(f"report_{lang}"))
    if common:
        facts.append(words["common"].format(words["space"].join(common)))
    outputs = [
        f'<a href="../{chapter}/index.html#out-{name}"><code>{name}</code></a>'
        for _, name in _blocks(entry)
        if _block(name, source, records)[1]
    ]
    test = entry["test"].removeprefix("tests/")
    facts.append(
        words["chapter"].format(words["and"].join(links), words["comma"].join(outputs), test)
    )
    heading = f"### {entry[lang]} {{ #{entry['id']} }}"
    boxes = _boxes(entry, lang, source, records)
    return "\n\n".join([heading, entry[f"why_{lang}"], *boxes, "- " + "\n- ".join(facts)])


def listed(value: str | list[str] | None) -> list[str]:
    """A field that holds nothing, one name or several."""
    return [value] if isinstance(value, str) else value or []


def _blocks(entry: Entry) -> list[tuple[str, str]]:
    """Kind and name of every block that an entry shows."""
    kinds = ("claim", "wrong", "right")
    return [(kind, name) for kind in kinds for name in listed(entry.get(kind))]


def _block(name: str, source: Source, records: list[Record]) -> tuple[str, str]:
    """The code of a block and what it printed."""
    ids = [block.id for block in source.blocks]
    if name not in ids:
        raise Failure("", 1, f'{source.path} has no block "{name}"')
    number = ids.index(name)
    text = records[number + 1]["text"] if number + 1 < len(records) else ""
    return source.blocks[number].code.strip("\n"), text


def _boxes(entry: Entry, lang: str, source: Source, records: list[Record]) -> Iterator[str]:
    marks = listed(entry.get("marks"))
    starts = {sign: listed(entry.get(name)) for sign, name in (("✗", "bad"), ("✓", "good"))}
    unused = {start for found in starts.values() for start in found}
    for number, (kind, name) in enumerate(_blocks(entry)):
        code, text = _block(name, source, records)
        lines = text.splitlines()
        signs = marks[number] if number < len(marks) else ""
        signs = signs or DEFAULT[kind] * len(lines)
        if len(signs) != len(lines):
            raise Failure("", 1, f'"{name}" prints {len(lines)} lines, got {len(signs)} marks')
        marked = []
        for line in code.split("\n"):
            hit = [
                (s, x) for s, found in starts.items() for x in found if line.strip().startswith(x)
            ]
            unused -= {start for _, start in hit}
            marked.append(f"{line}  # {hit[0][0]}" if hit else line)
        if kind != "right" and set(signs) != {"."}:
            pairs = zip(signs, lines, strict=True)
            lines = [f"{SIGNS[sign]} {line}".rstrip() for sign, line in pairs]
        both = kind == "wrong" and ("+" in signs or "both" in entry)
        inner = _fence("python", marked) + (f"\n\n{_fence('text', lines)}" if lines else "")
        title = WORDS[lang]["both" if both else kind]
        yield f'!!! {STYLE.get(kind, MARKED)} "{title}"\n\n' + textwrap.indent(inner, "    ")
    if unused:
        raise Failure("", 1, f"no line of its blocks begins with {min(unused)!r}")


def _fence(language: str, lines: list[str]) -> str:
    return "\n".join([f"```{language}", *lines, "```"])


def page(slug: str, pages: Pages) -> tuple[Source, list[Record]]:
    """A page by its name."""
    try:
        return pages(slug)
    except KeyError:
        raise Failure("", 1, f"there is no page {slug}") from None


def headings(source: Source) -> dict[str, str]:
    """The titles of a page's headings by their ids."""
    found = (HEADING.match(source.lines[part.line - 1]) for part in parts(source) if part.level)
    return {match["id"]: match["title"] for match in found if match and match["id"]}


def link(place: str, lang: str, docs: Path, pages: Pages) -> str:
    """A link to a heading, with its title; the headings of the gallery come from its entries."""
    slug, _, heading = place.partition("#")
    source, _ = page(slug, pages)
    titles = headings(source)
    if slug == "mistakes":
        titles |= {entry["id"]: entry[lang] for entry in mistakes(docs)}
    if heading not in titles:
        raise Failure("", 1, f"{source.path} has no heading #{heading}")
    return f"[{works.titled(source.title, titles[heading], lang)}]({slug}.md#{heading})"


def located(path: Path, entry: Entry, failure: Failure) -> Failure:
    """A fault of an entry, at the line of the file that names it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    line = next((n for n, text in enumerate(lines, 1) if text == f'id = "{entry["id"]}"'), 1)
    return Failure(f"docs/{path.name}", line, f"{entry['id']}: {failure.message}")
