"""What a reader is told of an error in the code of a live page."""

from __future__ import annotations

import re
import sys
from importlib.abc import MetaPathFinder
from typing import Any

LONGEST = 10_000
"""Characters of a message or a line that are shown: more would hold up the page."""
REFUSED = {"_ctypes", "ctypes"}
"""Modules that end Python in a browser when they are loaded."""


class RefusingFinder(MetaPathFinder):
    """Says why a module cannot be loaded, instead of loading it."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Nothing for any other module; ModuleNotFoundError for one of these."""
        if fullname in REFUSED:
            message = f"{fullname} calls libraries of the machine, and a browser lets no page do so"
            raise ModuleNotFoundError(message, name=fullname)


def refuse_modules() -> None:
    """Let the import of such a module be an error like any other."""
    if not any(isinstance(one, RefusingFinder) for one in sys.meta_path):
        sys.meta_path.insert(0, RefusingFinder())


def describe_error(error: str, listing: str, first_line: int, code: str) -> dict[str, Any]:
    """Python's message, with the reader's own line, counted from 1.

    `code` is that of a block, and begins at `first_line` of its listing.
    """
    head = error.partition("\n")[0]
    place = re.compile(rf'File "{re.escape(listing)}", line (\d+)')
    found = [int(line) - first_line + 1 for line in place.findall(error)]
    own = [line for line in found if 0 < line <= len(code.split("\n"))]
    message = head
    if place.match(head):  # a syntax error: its message is the last line
        message = [line for line in error.split("\n") if re.match(r"\w+Error: ", line)][-1]
    return locate_error(message, own[-1] if own else 0, code)


def locate_error(message: str, line: int, code: str) -> dict[str, Any]:
    """A message with a line of a block, counted from 1; 0 is none."""
    return {
        "message": _cut(message),
        "line": line,
        "code": _cut(code.split("\n")[line - 1].strip() if line else ""),
    }


def _cut(text: str) -> str:
    """A text, or its beginning and how long it is."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text):,} characters)"
