"""Find pasted results: decimals, vectors and matrices that the blocks should have printed.

A decimal in a sentence stands where the code of the page or of its module holds it, where an
exercise gives it, or where a block under the same heading (of level 2) prints it: one that another
section happens to print is no source. A vector or a row of a matrix may come from the whole page.
Other numbers are checked without results: `hardcoded`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.passage import Passage
from attention_docs.site.read.pieces import Block, Box, End, Fence
from attention_docs.site.read.syntax import CODE_SPAN, VALUE

TENSOR = re.compile(r"tensor\(\[|array\(\[")
VECTOR = re.compile(r"\[[\s\d.,e+-]*\d[\s\d.,e+-]*,[\s\d.,e+-]*\d[\s\d.,e+-]*\]")
MATRIX = re.compile(r"\\begin\{[bp]matrix\}([-\s\d.&\\]+)\\end")
ROW = re.compile(r"\\\\(?:\[\dpt\])?")
DECIMAL = re.compile(r"(?<![\w.§])(?<!Python )-?\d+\.\d+(?:e-?\d+)?(?![\w.]*\.\d)")
PRINTED = re.compile(r"\d+\.\d+(?:e-?\d+)?")
TARGET = re.compile(r"\]\([^)]*\)|<[^>]*>|arXiv:\S+")
COMPUTE = "write {{ expression:.4f }} with what the blocks above it have made"


def find_pasted(
    page: Page, shown: Iterable[tuple[int, str]], module: str = ""
) -> Iterator[Failure]:
    """What a page types that its blocks should print.

    Args:
        page: the page, read.
        shown: the texts of its outputs and inline values, with the lines where they stand.
        module: the text of the module that is named after the page, or "".
    """
    allowed = f"{page.code} {module} {_read_exercises(page)}"
    printed: dict[int, str] = defaultdict(lambda: allowed)
    for line, text in shown:
        printed[_find_heading_line(page, line)] += f" {text}"
    everything = _strip_numbers(f"{allowed} {' '.join(printed.values())}")
    for part in page.passages:
        decimals = set(PRINTED.findall(printed[_find_heading_line(page, part.line)]))
        for text, message in _check_passage(part, decimals, everything):
            yield Failure(page.path, _find_line(page, part, text), message)


def _check_passage(part: Passage, decimals: set[str], known: str) -> Iterator[tuple[str, str]]:
    """The lines of a passage that hold a result, and what to do about it."""
    for line in part.text.split("\n"):
        typed = TARGET.sub(" ", VALUE.sub(" ", line))
        if TENSOR.search(typed):
            yield line, "a tensor was typed: have a block of this page print it"
        for vector in VECTOR.findall(typed):
            if _strip_numbers(vector) not in known:
                message = f"{vector} was typed, and no block of this page prints it: {COMPUTE}"
                yield line, message
        for decimal in DECIMAL.findall(CODE_SPAN.sub(" ", typed)):
            if decimal.lstrip("-") not in decimals:
                message = f"{decimal} was typed, and no block of this section prints it: {COMPUTE}"
                yield line, message
    for matrix in MATRIX.finditer(part.text):
        for row in ROW.split(matrix[1]):
            vector = f"[{row.replace('&', ',').strip()}]"
            if "," in vector and _strip_numbers(vector) not in known:
                first = matrix[0].split("\n")[0]
                yield first, f"the row {vector} was typed, and no block of this page prints it"


def _find_line(page: Page, part: Passage, text: str) -> int:
    """The line of a passage that holds a text."""
    lines = page.lines[part.line - 1 : part.last_line]
    return next((n for n, line in enumerate(lines, start=part.line) if text in line), part.line)


def _read_exercises(page: Page) -> str:
    """The text of the exercises without their hints and answers."""
    kinds: list[str] = []
    found = []
    for piece in page.pieces:
        if isinstance(piece, Box):
            kinds.append(piece.kind)
        elif isinstance(piece, End):
            kinds[-1:] = []
        elif kinds == ["exercise"] and not isinstance(piece, Block | Fence):
            found.append(page.lines[piece.line - 1])
    return "\n".join(found)


def _find_heading_line(page: Page, line: int) -> int:
    """The line of the heading of level 2, or above, that a line stands under."""
    heads = (one.line for one in page.passages if one.level <= 2 and not one.kind)
    return max((head for head in heads if head <= line), default=0)


def _strip_numbers(text: str) -> str:
    """Rows of numbers without white space and without the dots of whole floats."""
    return re.sub(r"\s|(?<=\d)\.0*(?=[],\s])", "", text)
