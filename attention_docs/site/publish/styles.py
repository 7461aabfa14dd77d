"""One style sheet for every page: a browser waits for each that it must ask for."""

from __future__ import annotations

import re
from pathlib import Path

NAME = "assets/styles.css"
DOCUMENTATION = "assets/_mkdocstrings.css"
"""What pages of modules need besides; the template asks for it there."""

COMMENT = re.compile(r"/\*.*?\*/", re.S)
INDENT = re.compile(r"\s*\n\s*")


def apart(docs: Path, sheets: list[str]) -> tuple[list[str], list[str]]:
    """Those that become one, and what every page asks for: that one, after what is no file here."""
    ours = [sheet for sheet in sheets if (docs / sheet).is_file()]
    others = [sheet for sheet in sheets if sheet not in (*ours, DOCUMENTATION)]
    return ours, [*others, NAME] if ours else others


def joined(docs: Path, sheets: list[str]) -> str:
    """The sheets in their order, in one folder with it, without comments and indents."""
    texts = [(docs / sheet).read_text(encoding="utf-8") for sheet in sheets]
    return INDENT.sub("\n", COMMENT.sub("", "\n".join(texts))).strip() + "\n"
