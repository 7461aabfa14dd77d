"""One style sheet for every page: a browser waits for each that it must ask for.

It begins with the colours of roles; the logo, which no style sheet reaches, holds its own.
"""

from __future__ import annotations

import re
from pathlib import Path

from attention_docs.colours import make_style_sheet, resolve_colours
from attention_docs.site.publish.staging import write_text

NAME = "assets/styles.css"
DOCUMENTATION = "assets/_mkdocstrings.css"
"""What pages of modules need besides; the template asks for it there."""

COMMENT = re.compile(r"/\*.*?\*/", re.S)
REMARK = re.compile(r"^ *//[^\n]*\n|^ */\*.*?\*/\n", re.M | re.S)  # of a script, in own lines
BESIDE = re.compile(r" +// [^\n\"'`]*$|^ +", re.M)  # a remark beside a line, and what is before one
JOINT = re.compile(r" ?([{;}])\n")  # where a sheet needs no line of its own
INDENT = re.compile(r"\s*\n\s*")
SPACE = re.compile(r"(?<=[:;{]) | (?=[{}])")  # no string of ours holds such a one


def split_sheets(docs: Path, sheets: list[str]) -> tuple[list[str], list[str]]:
    """Those that become one, and what every page asks for: that one, after what is no file here."""
    ours = [sheet for sheet in sheets if (docs / sheet).is_file()]
    others = [sheet for sheet in sheets if sheet not in (*ours, DOCUMENTATION)]
    return ours, [*others, NAME] if ours else others


def write_styles(stage: Path, docs: Path, sheets: list[str]) -> None:
    """Write the one style sheet, and the scripts without their remarks.

    The pictures of the assets get the colours of the table.
    """
    if sheets:
        write_text(stage / NAME, join_sheets(docs, sheets))
    scripts = [*(stage / "assets").glob("*.js"), *(stage / "assets" / "instruments").glob("*.js")]
    for script in sorted(scripts):
        write_text(script, BESIDE.sub("", REMARK.sub("", script.read_text("utf-8"))))
    for picture in sorted((docs / "assets").glob("*.svg")):
        write_text(stage / "assets" / picture.name, resolve_colours(picture.read_text("utf-8")))


def join_sheets(docs: Path, sheets: list[str]) -> str:
    """The colours, then the sheets in their order, without comments and most of the spaces."""
    texts = [make_style_sheet(), *((docs / sheet).read_text(encoding="utf-8") for sheet in sheets)]
    lines = INDENT.sub("\n", COMMENT.sub("", "\n".join(texts))).strip() + "\n"
    return SPACE.sub("", JOINT.sub(r"\1", lines))
