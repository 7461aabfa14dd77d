"""Parts of pages that are made from the chapters: the gallery of mistakes, the table of the notes.

A page asks for one with a comment on a line of its own: `<!-- gallery: masks -->`,
`<!-- seeds -->`, `<!-- works: papers -->` or `<!-- reports -->`. What the chapters do not hold
stands in `docs/mistakes.toml` and `docs/seeds.toml`; code, outputs, titles and sources come from
the chapters, so nothing is written twice.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_docs.site import works
from attention_docs.site.failure import Failure
from attention_docs.site.source import Source
from attention_docs.site.store import Record
from attention_docs.site.twins import HEADING, parts

Pages = Callable[[str], tuple[Source, list[Record]]]
Entry = dict[str, Any]

REQUEST = re.compile(r"^<!-- (gallery|works|reports|seeds)(?:: ([\w-]+))? -->$", re.M)
SIGNS = {"x": "✗", "+": "✓", ".": " "}

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "wrong": "Wrong: do not copy",
        "both": "Wrong ✗ beside right ✓: do not copy",
        "right": "Right",
        "claim": "The claim, put to the test",
        "check": "What catches it",
        "common": "How common",
        "chapter": "In the chapter",
        "numbers": "Its numbers:",
        "tested": "tested by",
        "own": "It stands in one of the five notes: row [{}](sources.md#seed-{}).",
        "stop": ". ",
        "note": "Row",
        "left": "In the notes",
        "now": "Where it is now",
        "corrected": "✗ put right",
    },
    "zh": {
        "wrong": "错误写法，请勿照抄",
        "both": "对错并列：✗ 错，✓ 对，请勿照抄",
        "right": "正确写法",
        "claim": "把这个说法拿来检验",
        "check": "怎样发现",
        "common": "有多常见",
        "chapter": "所在章节",
        "numbers": "数字出自",
        "tested": "测试是",
        "own": "五份笔记之一就是这样写的：第 [{}](sources.md#seed-{}) 行。",
        "stop": "。",
        "note": "编号",
        "left": "笔记里的内容",
        "now": "现在的位置",
        "corrected": "✗ 已更正",
    },
}


def expand(markdown: str, lang: str, docs: Path, pages: Pages) -> str:
    """Put the parts that the page asks for in place of their comments."""

    def part(request: re.Match[str]) -> str:
        kind, name = request.groups()
        if kind == "gallery":
            return gallery(name, lang, docs, pages)
        if kind == "seeds":
            return seeds(lang, docs, pages)
        slugs = sorted(path.stem for path in (docs / lang).glob("*.md"))
        sources = [(slug, pages(slug)[0]) for slug in slugs]
        if kind == "works":
            return works.table(name, lang, sources)
        return works.reports(lang, sources, mistakes(docs))

    return REQUEST.sub(part, markdown)


def load(path: Path) -> list[Entry]:
    """The entries of a TOML file of [[entry]] tables."""
    entries: list[Entry] = tomllib.loads(path.read_text(encoding="utf-8"))["entry"]
    return entries


def mistakes(docs: Path) -> list[Entry]:
    """The entries of the gallery."""
    return load(docs / "mistakes.toml")


def listed(value: str | list[str] | None) -> list[str]:
    """A field that holds nothing, one name or several."""
    return [value] if isinstance(value, str) else value or []


def headings(source: Source) -> dict[str, str]:
    """The titles of a page's headings by their ids."""
    found = (HEADING.match(source.lines[part.line - 1]) for part in parts(source) if part.level)
    return {match["id"]: match["title"] for match in found if match and match["id"]}


def gallery(group: str, lang: str, docs: Path, pages: Pages) -> str:
    """The mistakes of one group: why, wrong and right code with outputs, what catches it."""
    entries = [entry for entry in mistakes(docs) if entry["group"] == group]
    if not entries:
        raise Failure("docs/mistakes.toml", 1, f'no entry has the group "{group}"')
    return "\n\n".join(_mistake(entry, lang, docs, pages) for entry in entries)


def _mistake(entry: Entry, lang: str, docs: Path, pages: Pages) -> str:
    words = WORDS[lang]
    chapter = entry["place"].split("#")[0]
    try:
        source, records = pages(chapter)
        boxes = [
            _box(shown, lang, source, records) for shown in shown_blocks(entry, source, records)
        ]
        links = [_link(place, lang, docs, pages) for place in places(entry)]
    except Failure as failure:
        raise _located(docs / "mistakes.toml", entry, failure.message) from None
    facts = [f"**{words['check']}{words['stop'].strip()}** {entry[f'check_{lang}']}"]
    common = [words["own"].format(row, row.replace(".", "-")) for row in listed(entry.get("seed"))]
    common += listed(entry.get(f"report_{lang}"))
    if common:
        facts.append(f"**{words['common']}{words['stop'].strip()}** {' '.join(common)}")
    chapters = "；".join(links) if lang == "zh" else "; ".join(links)
    outputs = ", ".join(
        f'<a href="../{chapter}/#out-{name}"><code>{name}</code></a>'
        for name in blocks_of(entry)
        if _text(name, source, records)
    )
    end = f"{words['tested']} `{entry['test'].removeprefix('tests/')}`{words['stop'].strip()}"
    facts.append(
        f"**{words['chapter']}{words['stop'].strip()}** {chapters}{words['stop']}"
        f"{words['numbers']} {outputs}{'，' if lang == 'zh' else ', '}{end}"
    )
    heading = f"### {entry[lang]} {{ #{entry['id']} }}"
    bullets = "\n".join(f"- {fact}" for fact in facts)
    return "\n\n".join([heading, entry[f"why_{lang}"], *boxes, bullets])


def places(entry: Entry) -> list[str]:
    """The headings of the chapters that treat this mistake."""
    return [entry["place"], *listed(entry.get("also"))]


def blocks_of(entry: Entry) -> list[str]:
    """The names of the blocks that an entry shows."""
    return [name for kind in ("claim", "wrong", "right") for name in listed(entry.get(kind))]


Shown = tuple[str, str, list[tuple[str, str]], list[tuple[str, str]]]


def shown_blocks(entry: Entry, source: Source, records: list[Record]) -> list[Shown]:
    """What the gallery shows of each block: its kind, name, code and output, each line with a sign.

    `marks` holds a string for each block, with a sign for each line of its output: x for wrong, +
    for right, a dot for neither. `bad` and `good` hold the beginnings of wrong and right lines of
    code.
    """
    kinds = [kind for kind in ("claim", "wrong", "right") for _ in listed(entry.get(kind))]
    names, marks = blocks_of(entry), listed(entry.get("marks"))
    shown: list[Shown] = []
    found: set[str] = set()
    for number, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        lines = _text(name, source, records).splitlines()
        default = {"wrong": "x", "right": "+", "claim": "."}[kind] * len(lines)
        signs = marks[number] if number < len(marks) and marks[number] else default
        if len(signs) != len(lines):
            raise Failure("", 1, f'"{name}" prints {len(lines)} lines, got {len(signs)} marks')
        output = [(SIGNS[sign], line) for sign, line in zip(signs, lines, strict=True)]
        code = []
        for line in _code(name, source).splitlines():
            begins = {
                sign: start
                for sign in ("bad", "good")
                for start in listed(entry.get(sign))
                if line.strip().startswith(start)
            }
            found.update(begins.values())
            code.append(("✗" if "bad" in begins else "✓" if "good" in begins else " ", line))
        if kind == "wrong" and any(sign == "✓" for sign, _ in output):
            kind = "both"
        shown.append(
            ("both" if kind == "wrong" and entry.get("both") else kind, name, code, output)
        )
    if lost := {*listed(entry.get("bad")), *listed(entry.get("good"))} - found:
        raise Failure("", 1, f"no line of {', '.join(names)} begins with {min(lost)!r}")
    return shown


def _box(shown: Shown, lang: str, source: Source, records: list[Record]) -> str:
    kind, _, code, output = shown
    # Material puts a copy button on no code inside "no-copy".
    style = {"right": "success", "claim": "example"}.get(kind, "failure wrong no-copy")
    marked = [f"{line}  # {sign}" if sign.strip() else line for sign, line in code]
    if any(sign.strip() for sign, _ in output) and kind != "right":
        printed = [f"{sign} {line}".rstrip() for sign, line in output]
    else:
        printed = [line for _, line in output]
    inner = "```python\n" + "\n".join(marked).strip("\n") + "\n```"
    inner += "\n\n```text\n" + "\n".join(printed) + "\n```" if printed else ""
    return f'!!! {style} "{WORDS[lang][kind]}"\n\n' + textwrap.indent(inner, "    ")


def _number(name: str, source: Source) -> int:
    ids = [block.id for block in source.blocks]
    if name not in ids:
        raise Failure("", 1, f'{source.path} has no block "{name}"')
    return ids.index(name)


def _code(name: str, source: Source) -> str:
    return source.blocks[_number(name, source)].code


def _text(name: str, source: Source, records: list[Record]) -> str:
    number = _number(name, source) + 1
    return str(records[number]["text"]) if number < len(records) else ""


def _link(place: str, lang: str, docs: Path, pages: Pages) -> str:
    """A link to a heading, with its title; the headings of the gallery come from its entries."""
    slug, _, heading = place.partition("#")
    try:
        source, _ = pages(slug)
    except KeyError:
        raise Failure("", 1, f"there is no page {slug}") from None
    titles = headings(source)
    if slug == "mistakes":
        titles |= {entry["id"]: entry[lang] for entry in mistakes(docs)}
    if heading not in titles:
        raise Failure("", 1, f"{source.path} has no heading #{heading}")
    title = source.title if heading == slug else f"{source.title}: {titles[heading]}"
    title = title.replace(": ", "：") if lang == "zh" else title
    return f"[{title}]({slug}.md#{heading})"


def seeds(lang: str, docs: Path, pages: Pages) -> str:
    """Every row of the notes, with the pages and headings that took it over."""
    words = WORDS[lang]
    rows = [f"| {words['note']} | {words['left']} | {words['now']} |", "|---|---|---|"]
    for entry in load(docs / "seeds.toml"):
        try:
            links = [f"✓ {_link(p, lang, docs, pages)} `{p}`" for p in entry["places"]]
        except Failure as failure:
            raise _located(docs / "seeds.toml", entry, failure.message) from None
        wrong = f"<br>**{words['corrected']}**" if entry.get("wrong") else ""
        row = f"`{entry['id']}`{{ #seed-{entry['id'].replace('.', '-')} }}"
        rows.append(f"| {row} | {entry[lang]}{wrong} | {'<br>'.join(links)} |")
    return "\n".join(rows)


def _located(path: Path, entry: Entry, message: str) -> Failure:
    """A fault of an entry, at the line of the file that names it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    line = next((n for n, text in enumerate(lines, 1) if text == f'id = "{entry["id"]}"'), 1)
    return Failure(f"docs/{path.name}", line, f"{entry['id']}: {message}")
