"""Find results that a page types: decimals, vectors and matrices that its blocks should print.

Each stands in the code of the page or of its module, in what its blocks print, or is given by an
exercise; hints and answers take theirs from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block, Box, End, Fence
from attention_docs.site.read.syntax import VALUE

DECIMAL = re.compile(r"(?<![\w.§])(?<!Python )(?!0\d)\d+\.\d+(?:e-?\d+)?(?![\w.]*\.\d)")
VECTOR = re.compile(r"\[(?=[^]]*\d)[-+\d.e\s]+(?:,[-+\d.e\s]+)+\]")
TENSOR = re.compile(r"(?:tensor|array)\(\[")
MATRIX = re.compile(r"\\begin\{[bp]matrix\}([-\s\d.&\\]+)\\end")
ROW = re.compile(r"\\\\(?:\[\dpt\])?")
NOT_TEXT = re.compile(rf"\]\([^)\n]*\)|<[^>\n]*>|arXiv:\S+|{VALUE.pattern}")
COMPUTE = "write {{ expression:.4f }} with what the blocks above it have made"


def find_typed_numbers(page: Page, printed: str, module: str = "") -> Iterator[Failure]:
    """What a page types that its blocks should print.

    `printed` is what its outputs and inline values show, `module` the text of its module, or "".
    """
    lines, exercises = _read_lines(page)
    known = f"{page.code} {module} {exercises} {printed}"
    decimals, rows = set(re.findall(r"\d+\.\d+(?:e-?\d+)?", known)), _close_up(known)
    text = NOT_TEXT.sub(lambda found: " " * len(found[0]), "\n".join(lines))
    found = [(one.start(), one[0]) for one in DECIMAL.finditer(text) if one[0] not in decimals]
    found += [(one.start(), one[0]) for one in TENSOR.finditer(text)]
    vectors = [(one.start(), one[0]) for one in VECTOR.finditer(text)]
    for matrix in MATRIX.finditer(text):
        matrix_rows = (row.replace("&", ",").strip() for row in ROW.split(matrix[1]))
        vectors += [(matrix.start(), f"[{row}]") for row in matrix_rows if "," in row]
    found += [(start, vector) for start, vector in vectors if _close_up(vector) not in rows]
    for start, typed in sorted(found):
        message = f"{typed} was typed, and no block of this page prints it: {COMPUTE}"
        yield Failure(page.path, text.count("\n", 0, start) + 1, message)


def _read_lines(page: Page) -> tuple[list[str], str]:
    """The lines of a page, those of fences empty, and what its exercises give."""
    lines, given, boxes = list(page.lines), "", list[str]()
    for piece in page.pieces:
        if isinstance(piece, Block | Fence):
            lines[piece.line - 1 : piece.last_line] = [""] * (piece.last_line - piece.line + 1)
        elif isinstance(piece, Box):
            boxes.append(piece.kind)
        elif isinstance(piece, End):
            boxes[-1:] = []
        elif boxes == ["exercise"]:
            given += f" {page.lines[piece.line - 1]}"
    return lines, given


def _close_up(text: str) -> str:
    """Rows of numbers without white space and without the dots of whole floats."""
    return re.sub(r"\s|(?<=\d)\.0*(?=[],\s])", "", text)
