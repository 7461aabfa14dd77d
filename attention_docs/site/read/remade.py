"""What is made from another language in another script: pages, lists, words; with their open words.

The lines of a page that is made stand where those of its origin stand, so that whatever is wrong
with one is told at the line that somebody can mend.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import comments, strings, table
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block, Fence
from attention_docs.site.read.reader import parsed
from attention_docs.site.read.script import HAN, Script, opencc
from attention_docs.site.read.syntax import CODE_SPAN

HTML_TEXT = re.compile(r'(?<=[>"])[^<>"]*[\u2018-\u201d\u3400-\u9fff][^<>"]*(?=[<"])')
COMPARED = ("formulas", "relations")
"""The words by which pages are compared; no reader sees them."""


def page(script: Script, origin: Page, english: Page, root: Path) -> tuple[Page, list[Failure]]:
    """A page in another script, and the words of its origin that have no answer.

    It is made again only when one of the two pages was read again.
    """
    known = script.pages.get(origin.path)
    if known is None or known[0] is not origin or known[1] is not english:
        known = origin, english, _page(script, origin, english, root)
        script.pages[origin.path] = known
    return known[2]


def _page(script: Script, origin: Page, english: Page, root: Path) -> tuple[Page, list[Failure]]:
    lines, found = list(origin.lines), []
    beside = _beside(origin, english)
    code = {
        number
        for piece in origin.pieces
        if isinstance(piece, Block | Fence)
        for number in range(piece.line, piece.last_line + 1)
    }
    for number, line in enumerate(lines, start=1):
        if number not in code:
            lines[number - 1], open_ = script.line(line, beside.get(number, ""))
            found += [Failure(origin.path, number, message) for message in open_]
    path = f"docs/{script.lang}/{origin.slug}.md"
    made = Page(path, "\n".join(lines), origin=origin.path, script=script)
    return parsed(made, root), found


def _beside(origin: Page, english: Page) -> dict[int, str]:
    """The English that says what each line of a page says: its line, or else its passage."""
    ours, theirs = _by_passage(origin), _by_passage(english)
    found = {number: str(english.meta.get(name, "")) for name, number in _front(origin).items()}
    for passage, lines in ours.items():
        texts = [CODE_SPAN.sub("", text) for _, text in theirs[passage]]
        pairs = texts if len(texts) == len(lines) else ["\n".join(texts)] * len(lines)
        found |= {number: text for (number, _), text in zip(lines, pairs, strict=True)}
    return found


def _front(page: Page) -> dict[str, int]:
    """The lines of the front matter by what they say."""
    lines = enumerate(page.lines[: page.body_line], start=1)
    return {line.partition(":")[0]: number for number, line in lines}


def _by_passage(page: Page) -> Mapping[int, list[tuple[int, str]]]:
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for piece, passage in page.owners:
        text = page.lines[piece.line - 1]
        if text and not isinstance(piece, Block | Fence):
            found[passage].append((piece.line, text))
    return found


def terms(script: Script, glossary: Page) -> Iterator[Failure]:
    """The terms of a glossary that the table does not name."""
    for line, cells in glossary.numbered_rows():
        if cells[0] not in script.answers["terms"]:
            message = (
                f"“{cells[0]}”: what is it called? Add a line to docs/{script.lang}.toml under "
                f'[terms], such as "{cells[0]}" = "{script(cells[0])}"'
            )
            yield Failure(glossary.path, line, message)


def listing_words(script: Script, listing: Path) -> Iterator[Failure]:
    """The words in the comments and strings of a listing that have no answer."""
    path = table(listing, script.origin)
    texts = [*comments(listing, script.origin).items()]
    texts += (strings(listing, script.origin) or {}).items()
    for english, text in texts:
        for message in script.open(text, english):
            yield Failure(f"docs/listings/{path.name}", _line(path, text), message)


def entry(script: Script, record: Mapping[str, Any], english: str) -> dict[str, Any]:
    """An entry of a list in `docs/`, with its fields in the new language: `why_zh-hant`."""
    found = dict(record)
    for name, value in record.items():
        field, _, lang = name.rpartition("_")
        if lang == script.origin:
            beside = record.get(f"{field}_{english}" if field else english, "")
            made = [script.line(text, one)[0] for text, one in _paired(value, beside)]
            own = f"{field}_{script.lang}" if field else script.lang
            found[own] = made if isinstance(value, list) else made[0]
    return found


def _paired(value: str | list[str], beside: str | list[str]) -> list[tuple[str, str]]:
    if isinstance(value, list) and isinstance(beside, list):
        return list(zip(value, beside, strict=True))
    return [(str(value), str(beside))]


def entries(script: Script, path: Path, english: str) -> Iterator[Failure]:
    """The words of a list that have no answer; what else is wrong with it is told elsewhere."""
    try:
        records = tomllib.loads(path.read_text(encoding="utf-8")).get("entry", [])
    except tomllib.TOMLDecodeError:
        return
    for record in records:
        for name, value in record.items():
            field, _, lang = name.rpartition("_")
            if lang == script.origin:
                beside = record.get(f"{field}_{english}" if field else english, "")
                for text, one in _paired(value, beside):
                    for message in script.line(text, one)[1]:
                        yield Failure(f"docs/{path.name}", _line(path, text), message)


def open_words(script: Script, file: Path, value: Any, english: Any = "") -> Iterator[Failure]:
    """The words without an answer in what a file says, words or settings."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            beside = english.get(name, "") if isinstance(english, Mapping) else ""
            yield from open_words(script, file, one, beside)
    elif isinstance(value, list):
        for one in value:
            yield from open_words(script, file, one)
    elif isinstance(value, str):
        for message in script.open(value, str(english)):
            yield Failure(file.name, _line(file, value), message)


def _line(path: Path, text: str) -> int:
    """The line of a file of TOML that holds a text."""
    start = text.split("\n")[0].replace("\\", "\\\\").replace('"', '\\"')
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(
        (number for number, line in enumerate(lines, 1) if start in line or text in line), 1
    )


def words(script: Script, table: Mapping[str, Any], english: Mapping[str, Any]) -> dict[str, Any]:
    """The words of a language in another script, but for those that the table says otherwise."""
    found: dict[str, Any] = told(script, table, english)
    for place, word in script.own.items():
        *path, name = place.split(".")
        inner = found
        for one in path:
            inner = inner.setdefault(one, {})
        inner[name] = word
    return found


def told(script: Script, value: Any, english: Any = "row") -> Any:
    """A value of TOML or YAML in a script, by the English one at the same place."""
    if isinstance(value, Mapping):
        beside = english if isinstance(english, Mapping) else {}
        return {name: told(script, one, beside.get(name, "")) for name, one in value.items()}
    if isinstance(value, list):
        return [told(script, one) for one in value]
    return script(value, str(english)) if isinstance(value, str) else value


def forms(text: str) -> list[str]:
    """The characters of a text that look otherwise in the first script: both forms of each."""
    found: dict[str, str] = {}
    for char in sorted(set(re.findall(HAN, text))):
        simple = opencc("t2s")(char)
        if simple != char:
            found[simple] = found.get(simple, simple) + char
    return list(found.values())


def documentation(script: Script, html: str) -> str:
    """A page with the documentation of a module, whose labels come in the first script."""
    before, head, labels = html.partition('<div class="doc doc-object')
    return before + head + HTML_TEXT.sub(lambda text: script(text[0]), labels)
