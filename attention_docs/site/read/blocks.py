"""Executable fences: their options, and the sections of listings that they include."""

from __future__ import annotations

import re
from pathlib import Path

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import Section, read_listing
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block
from attention_docs.site.read.syntax import ALLOWED, INCLUDE, OPTION


def read_block(page: Page, fence: re.Match[str], line: int, end: int, listings: Path) -> Block:
    info = fence["info"].strip()
    options = dict(OPTION.findall(info))
    left_over = OPTION.sub("", info).split()
    if left_over != ["python"]:
        raise Failure(page.path, line, f'wanted ```python exec="1", got ```{info}')
    for key, value in options.items():
        if value not in ALLOWED.get(key, ()):
            wanted = ", ".join(f'{k}="{v}"' for k, vs in ALLOWED.items() for v in sorted(vs))
            raise Failure(page.path, line, f'option {key}="{value}" is none of {wanted}')
    included = [
        _read_included_section(page, number, content, listings)
        for number, content in enumerate(page.lines[line : end - 1], start=line + 1)
    ]
    if not included:
        raise Failure(page.path, line, "a block without an include line")
    return Block(
        id=included[0].name,
        line=line,
        last_line=end,
        indent=fence["indent"],
        source=options.get("source", "above"),
        sections=tuple(included),
        lang=page.origin.split("/")[1] if page.origin else page.lang,
        text=options.get("text", "above"),
        convert=page.convert,
    )


def _read_included_section(page: Page, number: int, content: str, listings: Path) -> Section:
    include = INCLUDE.match(content)
    if not include:
        message = 'a block holds include lines alone (--8<-- "listing.py:section")'
        raise Failure(page.path, number, f"{message}, got {content!r}")
    try:
        sections = read_listing(listings / include["listing"])
    except Failure as failure:
        raise Failure(page.path, number, str(failure)) from None
    if include["section"] not in sections:
        message = f'docs/listings/{include["listing"]} has no section "{include["section"]}"'
        raise Failure(page.path, number, message)
    return sections[include["section"]]
