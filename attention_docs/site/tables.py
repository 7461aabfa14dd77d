"""Parts of pages that are made from the chapters: the mistakes gallery and the table of the seeds.

A page asks for one with a comment on a line of its own, `<!-- gallery -->` or `<!-- seeds -->`.
What goes in stands in `docs/mistakes.toml` and `docs/seeds.toml`; code and output come from the
chapters' own blocks, so nothing is written twice.
"""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_docs.site.failure import Failure
from attention_docs.site.source import Source
from attention_docs.site.store import Record

Pages = Callable[[str], tuple[Source, list[Record]]]

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "wrong": "Wrong: do not copy",
        "both": "Wrong beside right: do not copy the wrong part",
        "right": "Right",
        "chapter": "In the chapter",
        "check": "What catches it",
        "common": "How common",
        "own": "seen in one of the notes that this site replaces",
        "note": "Row",
        "left": "In the notes",
        "now": "Where it is now",
        "corrected": "put right",
    },
    "zh": {
        "wrong": "错误写法，请勿照抄",
        "both": "对错并列，错的部分请勿照抄",
        "right": "正确写法",
        "chapter": "所在章节",
        "check": "怎样发现",
        "common": "有多常见",
        "own": "出自本站所取代的笔记",
        "note": "编号",
        "left": "笔记里的内容",
        "now": "现在的位置",
        "corrected": "已更正",
    },
}


def expand(markdown: str, lang: str, docs: Path, pages: Pages) -> str:
    """Put the parts that the page asks for in place of their comments."""
    if "<!-- gallery -->" in markdown:
        markdown = markdown.replace("<!-- gallery -->", gallery(lang, docs, pages))
    if "<!-- seeds -->" in markdown:
        markdown = markdown.replace("<!-- seeds -->", seeds(lang, docs))
    return markdown


def load(path: Path) -> list[dict[str, Any]]:
    """The entries of a TOML file of [[entry]] tables."""
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["entry"]
    return entries


def gallery(lang: str, docs: Path, pages: Pages) -> str:
    """Every mistake: why it is one, wrong and right code with their outputs, what catches it."""
    return "\n\n".join(_mistake(entry, lang, pages) for entry in load(docs / "mistakes.toml"))


def _mistake(entry: dict[str, Any], lang: str, pages: Pages) -> str:
    words = WORDS[lang]
    chapter, heading = entry["place"].split("#")
    parts = [f"### {entry[lang]} {{ #{entry['id']} }}", entry[f"why_{lang}"]]
    same = entry["wrong"] == entry.get("right", entry["wrong"])
    title = words["both"] if same else words["wrong"]
    parts.append(_box("failure", title, chapter, entry["wrong"], pages))
    if not same:
        parts.append(_box("success", words["right"], chapter, entry["right"], pages))
    common = entry.get("report", words["own"])
    parts.append(
        f"- {words['chapter']}: [{pages(chapter)[0].title}]({chapter}.md#{heading})\n"
        f"- {words['check']}: `{entry['test']}`\n"
        f"- {words['common']}: {common}"
    )
    return "\n\n".join(parts)


def _box(kind: str, title: str, chapter: str, block_id: str, pages: Pages) -> str:
    source, records = pages(chapter)
    ids = [block.id for block in source.blocks]
    if block_id not in ids:
        raise Failure("docs/mistakes.toml", 1, f'{chapter} has no block "{block_id}"')
    number = ids.index(block_id)
    text = records[number + 1]["text"] if number + 1 < len(records) else ""
    inner = f"```python\n{source.blocks[number].code}\n```"
    inner += f"\n\n```text\n{text}\n```" if text else ""
    return f'!!! {kind} "{title}"\n\n' + textwrap.indent(inner, "    ")


def seeds(lang: str, docs: Path) -> str:
    """Every row of the notes, with the pages and headings that took it over."""
    words = WORDS[lang]
    rows = [f"| {words['note']} | {words['left']} | {words['now']} |", "|---|---|---|"]
    for entry in load(docs / "seeds.toml"):
        links = ", ".join(f"[{place}]({place.replace('#', '.md#')})" for place in entry["places"])
        mark = f" ({words['corrected']})" if entry.get("wrong") else ""
        rows.append(f"| {entry['id']} | {entry[lang]}{mark} | {links} |")
    return "\n".join(rows)
