"""A page without the answers of its exercises: what is asked, room for an answer, hints at the end.

Code of an answer is left out. Where later code needs it, as a judge needs the model answer, it
stays in a form that nobody reads by accident.
"""

from __future__ import annotations

import ast
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator, Sequence

from attention_docs.locales import Locale
from attention_docs.site.publish.markdown import expand_lines
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block, Box, End, Heading, Text
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.judged import Ask, list_asks
from attention_docs.site.run.dependencies import find_block_uses

BLANK = "________"
Line = tuple[str, object]


def hide_answers(assembled: AssembledPage, only: str = "") -> Iterator[Line]:
    """The lines of a page with what each is, without answers; the blocks of answers remain.

    `only` is the id of an exercise: the lines are then those of it and of its hints.
    """
    title = assembled.locale["site"]["exercises"]["hints"]
    asks = defaultdict[str, list[Ask]](list)
    for ask in list_asks(assembled):
        asks[ask.box].append(ask)
    hints: list[Line] = []
    open_: list[Box] = []
    for line, piece in expand_lines(assembled):
        if isinstance(piece, Box):
            open_.append(piece)
        if only and (not open_ or open_[0].id != only):
            if isinstance(piece, End):
                open_.pop()
            continue
        kinds = [one.kind for one in open_]
        is_edge = isinstance(piece, Box | End)
        if "hint" in kinds:
            if isinstance(piece, Box):
                hints.append((_name_exercise(assembled, open_[0]), Text(0)))
            elif not is_edge:
                hints.append((line, piece))
        elif isinstance(piece, Block) or not {"answer", "asks", "guess"} & {*kinds}:
            yield line, piece
        elif is_edge and "answer" not in kinds:
            if "asks" not in kinds:
                yield line, piece
            elif isinstance(piece, Box):  # nothing checks it here
                yield f"\n**{assembled.locale['site']['copies']['yours']}**", Text(0)
            if isinstance(piece, Box):
                yield from _write_asks(asks[open_[0].id])
        if isinstance(piece, End):
            open_.pop()
    if hints:
        yield "", Heading(0, 2, title, "hints")
        yield from hints


def _name_exercise(assembled: AssembledPage, box: Box) -> str:
    name = assembled.locale["site"]["boxes"]["exercise"].format(assembled.find_number(box.id))
    return f"\n**{name} {box.title}**\n"


def _write_asks(asks: Sequence[Ask]) -> Iterator[Line]:
    """What is asked, with a place for each number and no sign at what is right."""
    yield "", Text(0)
    for ask in asks:
        if ask.premise:
            yield f"{ask.premise}\n", Text(0)
        if ask.name != ask.box:  # the title of a guess is its question
            yield f"- {ask.prompt}{f' {BLANK}' if ask.wanted else ''}", Text(0)
        indent = "" if ask.name == ask.box else "    "
        yield from ((f"{indent}- {one.text}", Text(0)) for one in ask.options)
    yield "", Text(0)


def pack_answers(page: Page, locale: Locale) -> dict[str, str]:
    """The code of what no reader should see yet, by block: packed, or "" where nothing needs it.

    Of a block that judges, the last statement stays readable: it is the call.
    """
    hidden = _list_hidden(page)
    uses = find_block_uses([block.code for block in page.blocks])
    wanted: set[int] = set()
    for number, block in reversed([*enumerate(page.blocks)]):
        if block.id not in hidden or hidden[block.id] or number in wanted:
            wanted |= uses[number]
    return {
        block.id: _pack(block.displayed_code, judges, locale) if judges or number in wanted else ""
        for number, block in enumerate(page.blocks)
        if (judges := hidden.get(block.id)) is not None
    }


def _list_hidden(page: Page) -> dict[str, bool]:
    """The blocks in answers, and those that judge written code; whether each of them judges."""
    found: dict[str, bool] = {}
    open_: list[Box] = []
    for piece in page.pieces:
        if isinstance(piece, Box):
            open_.append(piece)
        elif isinstance(piece, End):
            open_.pop()
        elif isinstance(piece, Block):
            is_written = any(one.options.get("kind") == "write" for one in open_)
            judges = is_written and bool(re.search(r"^judge\(", piece.code, re.M))
            if judges or any(one.kind == "answer" for one in open_):
                found[piece.id] = judges
    return found


def _pack(code: str, judges: bool, locale: Locale) -> str:
    """Code that runs code without showing it, nor what it prints."""
    shown = ""
    if judges:
        last = ast.parse(code).body[-1]
        lines = code.rstrip("\n").split("\n")
        code, shown = "\n".join(lines[: last.lineno - 1]), "\n".join(lines[last.lineno - 1 :])
    packed = b64encode(code.strip("\n").encode()).decode()
    note: str = locale["site"]["copies"]["packed"]
    return (
        f"# {note}\nimport base64\nimport contextlib\n\n"
        f'with contextlib.redirect_stdout(None):\n    exec(base64.b64decode("{packed}"))\n{shown}'
    ).rstrip("\n")
