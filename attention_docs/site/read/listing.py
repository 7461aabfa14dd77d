"""A listing, a script of `docs/listings/`, as its named sections.

Its comments and strings are English. What they are in another language stands beside it, by the
English words: `docs/listings/scaling.zh.toml`. Statements are never translated.
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

from attention_docs.locales import read_locale_table as locale_table
from attention_docs.locales.strings import Translator, has_words
from attention_docs.running.sections import SectionError, find_slow_sections, split_sections
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.knobs import Knob, extract_knobs
from attention_docs.site.read.literals import find_literals, translate_literals


def keep_text(text: str, english: str) -> str:
    """Return the text unchanged: for a language that is not converted."""
    return text


@dataclass(frozen=True)
class Section:
    """A piece of a listing: its name, the file, its first line there, and its code."""

    name: str
    listing: Path
    first_line: int
    code: str
    knobs: tuple[Knob, ...] = ()
    is_slow: bool = False  # in a browser, which runs it when a reader asks for it

    def translate(self, lang: str, convert: Callable[[str, str], str] = keep_text) -> str:
        """The code with its comments and strings in a language, or in another script."""
        return translate_code(self.code, self.listing, lang, convert)


@lru_cache(maxsize=1024)  # a page asks for the same listing once for each of its blocks
def parse_sections(path: Path, text: str) -> dict[str, Section]:
    """The sections of a listing by name, in the order of the file."""
    found: dict[str, Section] = {}
    file = f"docs/listings/{path.name}"
    slow = find_slow_sections(text)
    try:
        for name, (first, code) in split_sections(text).items():
            found[name] = Section(name, path, first, *extract_knobs(code), name in slow)
    except SectionError as error:
        raise Failure(file, error.line, str(error)) from None
    except ValueError as error:
        raise Failure(file, first, str(error)) from None
    return found


def read_listing(path: Path) -> dict[str, Section]:
    if not path.is_file():
        raise Failure(path.name, 1, f"there is no listing docs/listings/{path.name}")
    return parse_sections(path, path.read_text(encoding="utf-8"))


# --- comments in another language

SHAPE = re.compile(r"\([^()]*\)|`[^`]*`")
WORD = re.compile(r"[^\W\d_]{3,}")


def find_table_path(listing: Path, lang: str) -> Path:
    return listing.with_suffix(f".{lang}.toml")


def read_comment_translations(listing: Path, lang: str) -> Mapping[str, str]:
    """The comments of a listing in a language, by the English ones; none in English itself."""
    path = find_table_path(listing, lang)
    if not path.is_file():
        return {}
    return _parse_tables(path, path.read_text(encoding="utf-8")).get("comments", {})


def read_string_translations(listing: Path, lang: str) -> Mapping[str, str] | None:
    """The strings of a listing in a language, by the English ones; None without a table.

    `[words]` are strings that no literal holds: words of the package, and what a run puts together.
    """
    path = find_table_path(listing, lang)
    if not path.is_file():
        return None
    tables = _parse_tables(path, path.read_text(encoding="utf-8"))
    return {**tables.get("words", {}), **tables.get("strings", {})}


def read_tables(listing: Path, lang: str) -> Mapping[str, Mapping[str, str]]:
    """All that the table of a listing holds in a language; nothing where there is no table."""
    path = find_table_path(listing, lang)
    return _parse_tables(path, path.read_text(encoding="utf-8")) if path.is_file() else {}


@lru_cache(maxsize=256)
def _parse_tables(path: Path, text: str) -> Mapping[str, Mapping[str, str]]:
    file = f"docs/listings/{path.name}"
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Failure(file, 1, f"must be TOML: {error}") from None
    known = set(found) <= {"comments", "strings", "words"}
    if not known or not all(isinstance(entries, dict) for entries in found.values()):
        message = 'must hold [comments], [strings] and [words] and nothing else: "english" = "…"'
        raise Failure(file, 1, message)
    return found


@lru_cache(maxsize=4096)
def find_comments(code: str) -> Sequence[tuple[str, int, int, int]]:
    """Comments and docstrings: what they say, their line, and where they begin and end in it."""
    return list(_iterate_comments(code))


def _iterate_comments(code: str) -> Iterator[tuple[str, int, int, int]]:
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


def has_prose(comment: str) -> bool:
    """Whether a comment holds words, and not only shapes or symbols.

    Examples:
        >>> [has_prose(text) for text in ("(batch, heads, n, d_k)", "Q Kᵀ", "raw scores, `scores`")]
        [False, False, True]
    """
    return bool(WORD.search(SHAPE.sub("", comment)))


def translate_code(
    code: str, listing: Path, lang: str, convert: Callable[[str, str], str] = keep_text
) -> str:
    """Code with its comments, docstrings and strings in a language, as its tables have them."""
    comments, texts = (
        read_comment_translations(listing, lang),
        read_string_translations(listing, lang),
    )
    if texts is None:
        return code
    replacements = [
        (line, start, end, " " * _is_comment(code, line, start) + convert(comments[text], text))
        for text, line, start, end in find_comments(code)
        if text in comments
    ]
    translator = Translator(locale_table("terms", lang), texts)
    found = {literal.text: translator.find(literal.text) for literal in find_literals(code)}
    changed = {
        english: convert(other, english) for english, other in found.items() if other is not None
    }
    return translate_literals(code, changed, replacements)


def _is_comment(code: str, line: int, start: int) -> bool:
    return code.split("\n")[line - 1][start - 1] == "#"


Texts = Mapping[str, Mapping[str, int]]
"""The comments and the strings of a listing that a language translates, with their lines."""


def find_texts(listing: Path, lang: str) -> Texts:
    """What a table of the language must translate: comments and strings."""
    sections = read_listing(listing).values()
    said = {
        text: section.first_line + line - 1
        for section in sections
        for text, line, *_ in find_comments(section.code)
        if has_prose(text)
    }
    literals = {
        literal.text: section.first_line + literal.line - 1
        for section in sections
        for literal in find_literals(section.code)
    }
    own = read_tables(listing, lang).get("strings", {})
    translator = Translator(locale_table("terms", lang), own)
    wanted = {
        text: line
        for text, line in literals.items()
        if text in own or (has_words(text) and translator.find(text) is None)
    }
    return {"comments": said, "strings": wanted}


def find_untranslated(listing: Path, lang: str) -> dict[str, list[str]]:
    """The comments and the strings of a listing that a language does not translate yet."""
    tables = read_tables(listing, lang)
    return {
        name: [text for text in lines if text not in tables.get(name, {})]
        for name, lines in find_texts(listing, lang).items()
    }


def find_translation_faults(listing: Path, lang: str) -> Iterator[Failure]:
    """Comments and strings without a translation, and translations of what is not there."""
    path = find_table_path(listing, lang)
    try:
        texts = find_texts(listing, lang)
    except Failure:  # reported where the listing is included
        return
    if not path.is_file() and any(texts.values()):
        yield _report_missing_table(listing, path, texts)
        return
    tables = read_tables(listing, lang)
    for name, lines in texts.items():
        yield from _compare_table(listing, path, name, tables.get(name, {}), lines)


def _report_missing_table(listing: Path, path: Path, texts: Texts) -> Failure:
    """A listing with words, and no file that says what they are called in a language."""
    line, first, name = min(
        (line, text, name) for name, lines in texts.items() for text, line in lines.items()
    )
    message = (
        "has comments or strings to translate: create "
        f"docs/listings/{path.name} with [comments] and [strings], such as "
        f'[{name}] {first.splitlines()[0]!r} = "…"'
    )
    return Failure(f"docs/listings/{listing.name}", line, message)


def _compare_table(
    listing: Path, path: Path, name: str, entries: Mapping[str, str], lines: Mapping[str, int]
) -> Iterator[Failure]:
    """What a table lacks, at its line in the listing, and what it has too many, at its own."""
    for text in lines.keys() - entries.keys():
        message = f"docs/listings/{path.name} has no translation under [{name}] of {text!r}"
        yield Failure(f"docs/listings/{listing.name}", lines[text], message)
    for text in entries.keys() - lines.keys():
        message = f"{text!r} under [{name}] is not in docs/listings/{listing.name}"
        yield Failure(f"docs/listings/{path.name}", _find_line(path, text), message)


def _find_line(path: Path, text: str) -> int:
    """The line of a table that holds an entry."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = text.split("\n")[0].replace("\\", "\\\\").replace('"', '\\"')
    return next((number for number, line in enumerate(lines, 1) if start in line), 1)
