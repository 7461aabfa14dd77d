"""Convert pages, lists and locale strings into another script, and find unanswered words.

A converted page has the lines of its origin, so every fault is reported at a line that a
contributor can correct.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from attention_docs.site.addresses import HOME
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import (
    find_table_path,
    read_comment_translations,
    read_string_translations,
)
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block, Fence
from attention_docs.site.read.reader import parse_page
from attention_docs.site.read.script_converter import HAN, ScriptConverter, load_opencc
from attention_docs.site.read.syntax import CODE_SPAN

HTML_TEXT = re.compile(r'(?<=[>"])[^<>"]*[\u2018-\u201d\u3400-\u9fff][^<>"]*(?=[<"])')
COMPARED = ("formulas",)
"""The words by which pages are compared; no reader sees them."""


def convert_page(
    converter: ScriptConverter, origin: Page, english: Page, root: Path
) -> tuple[Page, list[Failure]]:
    """A page in another script, and the words of its origin that have no answer.

    It is converted again only when one of the two pages was read again.
    """
    known = converter.cached_pages.get(origin.path)
    if known is None or known[0] is not origin or known[1] is not english:
        known = origin, english, _convert_page(converter, origin, english, root)
        converter.cached_pages[origin.path] = known
    return known[2]


def _convert_page(
    converter: ScriptConverter, origin: Page, english: Page, root: Path
) -> tuple[Page, list[Failure]]:
    lines, found = list(origin.lines), []
    english_lines = _find_english(origin, english)
    code = {
        number
        for piece in origin.pieces
        if isinstance(piece, Block | Fence)
        for number in range(piece.line, piece.last_line + 1)
    }
    for number, line in enumerate(lines, start=1):
        if number not in code:
            lines[number - 1], open_ = converter.convert_line(line, english_lines.get(number, ""))
            found += [Failure(origin.path, number, message) for message in open_]
    path = f"docs/{converter.lang}/{origin.slug}.md"
    converted = Page(path, "\n".join(lines), origin=origin.path, convert=converter)
    return parse_page(converted, root), found


def _find_english(origin: Page, english: Page) -> dict[int, str]:
    """The English that says what each line of a page says: its line, or else its passage."""
    ours, theirs = _group_by_passage(origin), _group_by_passage(english)
    found = {
        number: str(english.meta.get(name, ""))
        for name, number in _find_front_matter_lines(origin).items()
    }
    for passage, lines in ours.items():
        texts = [CODE_SPAN.sub("", text) for _, text in theirs[passage]]
        pairs = texts if len(texts) == len(lines) else ["\n".join(texts)] * len(lines)
        found |= {number: text for (number, _), text in zip(lines, pairs, strict=True)}
    return found


def _find_front_matter_lines(page: Page) -> dict[str, int]:
    lines = enumerate(page.lines[: page.body_line], start=1)
    return {line.partition(":")[0]: number for number, line in lines}


def _group_by_passage(page: Page) -> Mapping[int, list[tuple[int, str]]]:
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for piece, passage in page.owners:
        text = page.lines[piece.line - 1]
        if text and not isinstance(piece, Block | Fence):
            found[passage].append((piece.line, text))
    return found


def find_missing_terms(converter: ScriptConverter, glossary: Page) -> Iterator[Failure]:
    """The terms of a glossary that the table does not name."""
    for line, cells in glossary.numbered_rows():
        if cells[0] not in converter.answers["terms"]:
            message = (
                f"“{cells[0]}”: what is it called? Add a line to docs/{converter.lang}.toml under "
                f'[terms], such as "{cells[0]}" = "{converter(cells[0])}"'
            )
            yield Failure(glossary.path, line, message)


def find_unconverted_in_listing(converter: ScriptConverter, listing: Path) -> Iterator[Failure]:
    """The words in the comments and strings of a listing that have no answer."""
    path = find_table_path(listing, converter.origin)
    texts = [*read_comment_translations(listing, converter.origin).items()]
    texts += (read_string_translations(listing, converter.origin) or {}).items()
    for english, text in texts:
        for message in converter.find_unconverted(text, english):
            yield Failure(f"docs/listings/{path.name}", _find_line(path, text), message)


def convert_entry(
    converter: ScriptConverter, record: Mapping[str, Any], english: str
) -> dict[str, Any]:
    """An entry of a list in `docs/`, with its fields in the new language: `why_zh-hant`."""
    found = dict(record)
    for name, value in record.items():
        field, _, lang = name.rpartition("_")
        if lang == converter.origin:
            beside = record.get(f"{field}_{english}" if field else english, "")
            converted = [
                converter.convert_line(text, one)[0] for text, one in _pair_texts(value, beside)
            ]
            own = f"{field}_{converter.lang}" if field else converter.lang
            found[own] = converted if isinstance(value, list) else converted[0]
    return found


def _pair_texts(value: str | list[str], beside: str | list[str]) -> list[tuple[str, str]]:
    if isinstance(value, list) and isinstance(beside, list):
        return list(zip(value, beside, strict=True))
    return [(str(value), str(beside))]


def find_unconverted_in_entries(
    converter: ScriptConverter, path: Path, english: str
) -> Iterator[Failure]:
    """The words of a list that have no answer; its other faults are reported elsewhere."""
    try:
        records = tomllib.loads(path.read_text(encoding="utf-8")).get("entry", [])
    except tomllib.TOMLDecodeError:
        return
    for record in records:
        for name, value in record.items():
            field, _, lang = name.rpartition("_")
            if lang == converter.origin:
                beside = record.get(f"{field}_{english}" if field else english, "")
                for text, one in _pair_texts(value, beside):
                    for message in converter.convert_line(text, one)[1]:
                        yield Failure(f"docs/{path.name}", _find_line(path, text), message)


def find_unconverted(
    converter: ScriptConverter, file: Path, value: Any, english: Any = ""
) -> Iterator[Failure]:
    """The words without an answer in what a file says, words or settings."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            beside = english.get(name, "") if isinstance(english, Mapping) else ""
            yield from find_unconverted(converter, file, one, beside)
    elif isinstance(value, list):
        for one in value:
            yield from find_unconverted(converter, file, one)
    elif isinstance(value, str):
        for message in converter.find_unconverted(value, str(english)):
            yield Failure(file.name, _find_line(file, value), message)


def _find_line(path: Path, text: str) -> int:
    """The line of a file of TOML that holds a text."""
    start = text.split("\n")[0].replace("\\", "\\\\").replace('"', '\\"')
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(
        (number for number, line in enumerate(lines, 1) if start in line or text in line), 1
    )


def convert_locale(
    converter: ScriptConverter, table: Mapping[str, Any], english: Mapping[str, Any]
) -> dict[str, Any]:
    """The words of a language in another script, but for those that the table says otherwise."""
    found: dict[str, Any] = convert_value(converter, table, english)
    for place, word in converter.own.items():
        *path, name = place.split(".")
        inner = found
        for one in path:
            inner = inner.setdefault(one, {})
        inner[name] = word
    return found


def convert_value(converter: ScriptConverter, value: Any, english: Any = "row") -> Any:
    """A value of TOML or YAML in a script, by the English one at the same place."""
    if isinstance(value, Mapping):
        beside = english if isinstance(english, Mapping) else {}
        return {
            name: convert_value(converter, one, beside.get(name, "")) for name, one in value.items()
        }
    if isinstance(value, list):
        return [convert_value(converter, one) for one in value]
    return converter(value, str(english)) if isinstance(value, str) else value


def find_variants(text: str) -> list[str]:
    """The characters of a text that look otherwise in the first script: both forms of each."""
    found: dict[str, str] = {}
    for char in sorted(set(re.findall(HAN, text))):
        simple = load_opencc("t2s")(char)
        if simple != char:
            found[simple] = found.get(simple, simple) + char
    return list(found.values())


def merge_forms(forms: Iterable[str]) -> list[str]:
    """Groups of characters that count as one, of which no two share a character.

    Examples:
        >>> merge_forms(["里裡", "布佈", "里裏"])
        ['布佈', '里裡裏']
    """
    merged: list[str] = []
    for form in forms:
        touched = [one for one in merged if set(one) & set(form)]
        merged = [one for one in merged if one not in touched]
        merged.append("".join(dict.fromkeys("".join([*touched, form]))))
    return merged


def convert_documentation(converter: ScriptConverter, html: str) -> str:
    """A page with the documentation of a module, whose labels come in the first script."""
    before, head, labels = html.partition('<div class="doc doc-object')
    return before + head + HTML_TEXT.sub(lambda text: converter(text[0]), labels)


def add_notes(converter: ScriptConverter, slug: str, html: str, table: str) -> str:
    """A page with the sentences that readers of the converted language need.

    `table` is where the table can be edited, or "" for a site without a repository.
    """
    note, foot = converter.notes.get(slug, ""), converter.notes["foot"]
    if note:
        said = f'\n<p class="script-note">{note}</p>\n'
        if slug == HOME:  # its title stands beside a figure, and its maps in its last section
            before, head, after = html.rpartition("<h2")
            html = before + said + head + after
        else:
            html = html.replace("</h1>", "</h1>" + said, 1)
    links = f'<a href="{escape(table)}">', "</a>"
    return f'{html}\n<p class="script-note">{foot.format(*links)}</p>' if table else html
