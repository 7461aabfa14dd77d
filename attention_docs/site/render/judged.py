"""What a page asks and can judge, as data: the lists of its boxes `asks` and `guess`.

asks.py makes forms of the same lists and says how they are written; notebooks and question banks
(publish/) need them as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from attention_docs.site.read.pieces import Box, End
from attention_docs.site.render.asks import LINE, OPTION, WHY, draw_order
from attention_docs.site.render.assembled_page import CLOSE, MARK, OPEN, AssembledPage

ITEM = re.compile(r"^(?P<indent> *)- +(?P<text>.*?)\s*$")


@dataclass(frozen=True)
class Option:
    """A choice, or a line that may belong to a proof: Markdown, and why it is wrong."""

    text: str
    is_right: bool
    why: str = ""


@dataclass(frozen=True)
class Number:
    """A number or numbers in lists, as printed and as they are; of a wrong one, what is wrong.

    `exact` is a number, a list of numbers or a list of rows, `source` the expression that gives it.
    """

    printed: str
    exact: Any
    why: str = ""
    source: str = ""


@dataclass(frozen=True)
class Ask:
    """A question that is judged.

    Attributes:
        name: its address on the page: "exercise-gap-1", or that of a guess.
        box: the exercise or the guess that it stands in.
        prompt: Markdown, without a colon at its end.
        wanted: the numbers that are wanted; None for a choice or a proof.
        traps: wrong numbers that the page recognises.
        options: the choices, or the lines of a proof, in the order in which a page shows them.
        is_proof: whether the options are lines of a proof.
        why: what a guess says afterwards.
        premise: what a reader of the page knows before a guess; "" where nothing is needed.
    """

    name: str
    box: str
    prompt: str
    wanted: Number | None = None
    traps: Sequence[Number] = ()
    options: Sequence[Option] = ()
    is_proof: bool = False
    why: str = ""
    premise: str = ""


def list_asks(assembled: AssembledPage) -> Iterator[Ask]:
    """All that a page judges, in its order."""
    lines = assembled.fill_values(lambda number: f"{OPEN}{number}{CLOSE}")
    open_: list[Box] = []
    for piece in assembled.page.pieces:
        if isinstance(piece, Box):
            open_.append(piece)
        elif isinstance(piece, End):
            box = open_.pop()
            if box.kind == "asks":
                items = _group(lines[box.last_line : piece.line - 1])
                for number, (head, inner) in enumerate(items, start=1):
                    name = f"{open_[-1].id}-{number}"
                    yield _read_ask(assembled, name, open_[-1].id, head, inner)
            elif box.kind == "guess":
                yield _read_guess(assembled, box, lines[box.last_line : piece.line - 1])


def _group(lines: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The items of a list, each with those within it."""
    groups: list[tuple[str, list[str]]] = []
    for item in filter(None, map(ITEM.match, lines)):
        if item["indent"]:
            groups[-1][1].append(item["text"])
        else:
            groups.append((item["text"], []))
    return groups


def _read_ask(
    assembled: AssembledPage, name: str, box: str, head: str, inner: Sequence[str]
) -> Ask:
    prompt, mark, _ = head.partition(OPEN)
    if mark:
        prompt = prompt.rstrip().rstrip(":：")
        traps = [_read_number(assembled, one) for one in inner]
        return Ask(name, box, prompt, _read_number(assembled, head), traps)
    prompt, texts = assembled.replace_marks(head), [*map(assembled.replace_marks, inner)]
    is_proof = all(map(LINE.match, texts))
    read = _read_line if is_proof else _read_option
    return Ask(
        name, box, prompt, options=_shuffle(assembled, name, map(read, texts)), is_proof=is_proof
    )


def _read_guess(assembled: AssembledPage, box: Box, lines: Sequence[str]) -> Ask:
    """The question is the title of the box; before the list what is known, after it why."""
    runs = [
        (is_item, [assembled.replace_marks(line) for line in run])
        for is_item, run in groupby(lines, key=lambda line: bool(ITEM.match(line)))
    ]
    place = next(n for n, (is_item, _) in enumerate(runs) if is_item)
    texts = [text for text, _ in _group(runs[place][1])]
    before, after = (
        "\n".join(line for _, run in part for line in run).strip()
        for part in (runs[:place], runs[place + 1 :])
    )
    options = _shuffle(assembled, box.id, map(_read_option, texts))
    return Ask(box.id, box.id, box.title, options=options, why=after, premise=before)


def _shuffle(assembled: AssembledPage, name: str, options: Iterator[Option]) -> list[Option]:
    """In the order of the page: no place says what is right."""
    listed = [*options]
    return [listed[n] for n in draw_order(len(listed), f"{assembled.page.slug} {name}")]


def _read_number(assembled: AssembledPage, item: str) -> Number:
    """The first value of an item, and what is said after it."""
    mark = MARK.search(item)
    assert mark
    printed = assembled.get_value(int(mark[1]))
    _, exact = assembled.find_exact(f"value-{mark[1]}")
    why = assembled.replace_marks(item[mark.end() :]).partition(WHY)[2]
    source = assembled.page.values[int(mark[1]) - 1].expression
    return Number(printed, parse_exact(exact, printed), why, source)


def parse_exact(exact: str, printed: str) -> Any:
    """The numbers of a value; 0 for one that its block never gave, which is a fault of the build.

    Examples:
        >>> parse_exact("[0.5, 1]", "[0.50, 1.00]"), parse_exact("", "8/25"), parse_exact("?", "?")
        ([0.5, 1], 0.32, 0)
    """
    try:
        return json.loads(exact) if exact else float(Fraction(printed))
    except ValueError:
        return 0


def _read_option(text: str) -> Option:
    mark = OPTION.match(text)
    assert mark
    said, _, why = text[mark.end() :].partition(WHY)
    return Option(said, mark["mark"] == "x", why)


def _read_line(text: str) -> Option:
    mark = LINE.match(text)
    assert mark
    if mark["name"]:
        return Option(text[mark.end() :], True)
    said, _, why = text[mark.end() :].partition(WHY)
    return Option(said, False, why)
