"""The sections of a listing, a script of `docs/listings/`, between its markers."""

from __future__ import annotations

import re

MARKER = re.compile(r"^# --8<-- \[(?P<kind>start|end):(?P<name>[\w-]+)\]$")
SLOW = re.compile(r"^(# --8<-- \[start:(?P<name>[\w-]+)\]) slow$", re.MULTILINE)
"""The marker of a section that takes a browser more than some seconds."""


class SectionError(ValueError):
    """A marker that is wrong, and its line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def find_slow_sections(text: str) -> set[str]:
    r"""The names of the sections that are marked as slow.

    Examples:
        >>> find_slow_sections("# --8<-- [start:a] slow\nx = 1\n# --8<-- [end:a]")
        {'a'}
    """
    return {found["name"] for found in SLOW.finditer(text)}


def split_sections(text: str) -> dict[str, tuple[int, str]]:
    r"""The first line and the code of each section, by name in the order of the file.

    Examples:
        >>> split_sections("# --8<-- [start:a]\nx = 1\n# --8<-- [end:a]")
        {'a': (2, 'x = 1')}
    """
    found: dict[str, tuple[int, str]] = {}
    open_name, first = "", 0
    code: list[str] = []
    for number, line in enumerate(SLOW.sub(r"\1", text).splitlines(), start=1):
        if marker := MARKER.match(line):
            kind, name = marker["kind"], marker["name"]
            if (kind == "start") == bool(open_name) or (kind == "end" and name != open_name):
                raise SectionError(number, f"[{kind}:{name}] does not pair up")
            if name in found:
                raise SectionError(number, f'section "{name}" is there already')
            if kind == "start":
                open_name, first, code = name, number + 1, []
            else:
                found[name] = first, "\n".join(code)
                open_name = ""
        elif "--8<--" in line:
            raise SectionError(number, f"not a section marker: {line!r}")
        elif open_name:
            code.append(line)
    if open_name:
        raise SectionError(first - 1, f"[start:{open_name}] is never ended")
    return found
