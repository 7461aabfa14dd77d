"""A listing, a script of `docs/listings/`, as its named sections."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from attention_docs.site.read.failure import Failure

MARKER = re.compile(r"^# --8<-- \[(?P<kind>start|end):(?P<name>[\w-]+)\]$")


@dataclass(frozen=True)
class Section:
    """A piece of a listing: its name, the file, its first line there, and its code."""

    name: str
    listing: Path
    first_line: int
    code: str


def sections(path: Path, text: str) -> dict[str, Section]:
    """The sections of a listing by name, in the order of the file."""
    found: dict[str, Section] = {}
    open_name, first = "", 0
    code: list[str] = []
    file = f"docs/listings/{path.name}"
    for number, line in enumerate(text.splitlines(), start=1):
        if marker := MARKER.match(line):
            kind, name = marker["kind"], marker["name"]
            if (kind == "start") == bool(open_name) or (kind == "end" and name != open_name):
                raise Failure(file, number, f"[{kind}:{name}] does not pair up")
            if kind == "start":
                if name in found:
                    raise Failure(file, number, f'section "{name}" is there already')
                open_name, first, code = name, number + 1, []
            else:
                found[name] = Section(name, path, first, "\n".join(code))
                open_name = ""
        elif "--8<--" in line:
            raise Failure(file, number, f"not a section marker: {line!r}")
        elif open_name:
            code.append(line)
    if open_name:
        raise Failure(file, first - 1, f"[start:{open_name}] is never ended")
    return found


def read_listing(path: Path) -> dict[str, Section]:
    """The sections of a listing on disk."""
    if not path.is_file():
        raise Failure(path.name, 1, f"there is no listing docs/listings/{path.name}")
    return sections(path, path.read_text(encoding="utf-8"))
