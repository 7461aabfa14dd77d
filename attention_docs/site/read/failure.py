"""What went wrong, and where: every check of the build speaks in these."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(order=True, unsafe_hash=True)
class Failure(Exception):  # noqa: N818 - a fault of a page, not of this program
    """A fault in a page: its path, the line in that file, and what was wanted and got."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"
