"""Numbers that a page types where only results stand, or results and choices.

A percentage, a whole number of 100 and more, and a decimal in a heading, in the front matter or in
a code span is either a choice, which the code of the page or of its module holds as well, or given
by an exercise; or the front matter says why it is typed:

    typed:
      65504: the largest number of float16

Decimals in sentences need the results to be judged: `pasted`. Outside of this stand years, what
follows a # or §, names such as 001.4, the level of an interval, and links to other sites.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block, Box, End, Fence
from attention_docs.site.read.syntax import CODE_SPAN, VALUE

NUMERAL = re.compile(
    r"(?<![\w.#§])(?<![A-Za-z]-)(?!0\d)\d+(?:[.,]\d+)*(?:e[-+]?\d+)?(?P<percent> ?\\?%)?"
)
INTERVAL, YEARS = ("interval", "区间"), "年"
OUTSIDE = re.compile(
    r"\[[^]]*\]\(https?:[^)]*\)|\]\([^)]*\)|<[^>]*>|\{[^{}]*#[^{}]*\}|arXiv:\S+|https?://\S+"
    rf"|95 ?%(?=[^,，。.]{{0,14}}(?:{'|'.join(INTERVAL)}))"
)
YEAR = re.compile(
    r"(?:(?<=[(（|])|(?<=[,，])|(?<=[,，] )|(?<=\bin )|(?<=\bof )|(?<=\bfrom )|(?<=\bsince ))\s*"
    r"(?:1[89]|20)\d\d(?=\s*[),.;，）|]| \(| that\b|$)|(?:1[89]|20)\d\d(?= ?" + YEARS + ")"
)
DIGIT = re.compile(r"\d")
LEAST = 100  # from here on a whole number is seldom a plain word


def find_hardcoded_numbers(page: Page, module: str) -> Iterator[Failure]:
    """The numbers of a page that are neither in code nor in an exercise and have no stated reason.

    `module` is the text of the module that is named after the page, or "".
    """
    reasons = {_strip_separators(str(number)): why for number, why in _read_reasons(page).items()}
    known, used = _find_numerals(f"{page.code}\n{module}"), set()
    for line, text, plain in _select_lines(page):
        for number, shown in _find_numbers(text, plain):
            if number in reasons:
                used.add(number)
            elif number not in known:
                message = (
                    f"{shown} is typed: compute it ({{{{ … }}}}), or say why it is typed in the "
                    f"front matter, under typed: ({number}: the reason)"
                )
                yield Failure(page.path, line, message)
    for number, why in reasons.items():
        if not str(why or "").strip() or number not in used:
            message = f"typed: {number} needs a reason, and to stand on the page, got {why!r}"
            yield Failure(page.path, 1, message)


def find_hardcoded_in_comments(listing: Path) -> list[Failure]:
    """Results in the comments of a listing: decimals and large numbers that its code has not."""
    name, text = f"docs/listings/{listing.name}", listing.read_text(encoding="utf-8")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):  # reported where the listing is included
        return []
    known = _find_numerals(" ".join(t.string for t in tokens if t.type != tokenize.COMMENT))
    message = "{} is typed in a comment: print it, or say why (# typed: …)"
    return [
        Failure(name, token.start[0], message.format(shown))
        for token in tokens
        if token.type == tokenize.COMMENT and "typed:" not in token.string
        for number, shown in _find_numbers(token.string, plain=False)
        if number not in known
    ]


def _read_reasons(page: Page) -> dict[object, object]:
    """What the front matter says under `find_hardcoded_numbers`."""
    found = page.meta.get("typed", {})
    return found if isinstance(found, dict) else {found: None}


def _find_numerals(code: str) -> set[str]:
    found = re.findall(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?", code)
    return {number.replace("_", "") for number in found}


def _select_lines(page: Page) -> Iterator[tuple[int, str, bool]]:
    """The lines that hold text, and whether decimals are checked elsewhere: all but heads."""
    for name in ("description", "question"):
        yield page.find_line(f"{name}: "), str(page.meta.get(name, "")), False
    kinds: list[str] = []
    for piece in page.pieces:
        line = page.lines[piece.line - 1]
        if isinstance(piece, Box):
            kinds.append(piece.kind)
            yield piece.line, piece.title, False
        elif isinstance(piece, End):
            kinds[-1:] = []
        elif not isinstance(piece, Block | Fence) and kinds != ["exercise"]:
            yield piece.line, line, not line.startswith("#")


def _find_numbers(text: str, plain: bool) -> Iterator[tuple[str, str]]:
    """The numbers of a line that are checked here: bare, and as written."""
    if not DIGIT.search(text):
        return
    text = OUTSIDE.sub(" ", VALUE.sub(" ", text.replace("{,}", "")))
    spans = " ".join(span[0] for span in CODE_SPAN.finditer(text))
    for part, decimals in ((YEAR.sub(" ", CODE_SPAN.sub(" ", text)), not plain), (spans, True)):
        for found in NUMERAL.finditer(part):
            number = _strip_separators(found[0])
            if "." in number or "e" in number:
                judged = decimals or found["percent"]
            else:
                judged = found["percent"] or int(number) >= LEAST
            if judged:
                yield number, found[0].strip()


def _strip_separators(number: str) -> str:
    """Without separators and per cent."""
    return re.sub(r"[,\s\\%]", "", number)
