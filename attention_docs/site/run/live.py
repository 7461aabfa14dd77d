"""A page in a reader's browser: its blocks with the reader's edits, from the top.

What a run means is that all blocks run in order. Where nothing before an edit has changed, the run
goes on from the last copy of the state before it. To copy a state takes longer than most blocks
run, so it is copied at the edit, and then whenever blocks have run for a while.
"""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from json import dumps, loads  # not the names in the module, which code of a reader may set
from time import perf_counter
from typing import Any

from attention_docs.running.names import find_names
from attention_docs.running.result import Code, Result, hash_figure
from attention_docs.site.run.dependencies import find_block_uses
from attention_docs.site.run.finite import FiniteCheck
from attention_docs.site.run.interactive import InteractiveRunner, replace_questions
from attention_docs.site.run.live_errors import describe_error, locate_error, refuse_modules
from attention_docs.site.run.live_state import LiveState
from attention_docs.site.run.reach import reaches_out
from attention_docs.text import TextFile

RERUN_SECONDS = 0.05
"""How long blocks that have not changed may run again, rather than that the state is copied."""
LARGEST_DRAWING = {"characters": 3_000_000, "tags": 60_000, "tags in each other": 200}
"""Of a drawing: one that is larger would hold up the page, where nobody can stop it."""

TAG = re.compile(r"""<(/?)([a-zA-Z][\w-]*)(?:[^<>"']|"[^"]*"|'[^']*')*?(/?)>""")
VOID = {"br", "hr", "img", "input", "wbr"}
"""Tags of HTML that hold nothing."""
JUDGE = "from attention_docs.figures.tasks import"
"""What a block begins with that judges a function of the reader's."""
DYNAMIC_NAMES = {"exec", "eval", "globals", "locals", "vars", "dir", "__import__", "sys", "listing"}
"""Code that uses one of these may read names that its syntax does not show."""
Published = tuple[str, str]
"""What the site shows of a block: its text, and a hash of its figure."""


@dataclass(frozen=True)
class Cell:
    """A block as the site publishes it: code, where it stands, the values that follow it."""

    id: str
    code: str
    listing: str
    line: int
    torch: bool
    slow: bool  # it waits until a reader asks for it
    files: list[tuple[str, str, str]]  # its name for what it publishes, name of the file, text
    values: list[tuple[int, str, str, str]]  # number on the page, expression, format, text
    text: str  # that it printed
    figure: str  # the hash of what it drew

    @property
    def published(self) -> Published:
        return self.text, self.figure


class Session:
    """The blocks of one page and what is known of the last run."""

    def __init__(self, page: str, locales: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """`page` is the JSON that `publish/live.py` writes; `locales` those without a file."""
        document = loads(page)
        self.lang: str = document["lang"]  # of the code, of what it prints and draws
        names = [one.name for one in fields(Cell)]
        self.cells = [Cell(*(cell[name] for name in names)) for cell in document["cells"]]
        warnings.simplefilter("error")
        refuse_modules()
        strings = document["words"]
        stay = {text: text for text in strings.values()}  # the code holds them already
        strings = {self.lang: strings | stay} if strings else None
        self.runner = InteractiveRunner([self.lang], live=True, strings=strings, locales=locales)
        self.codes_run: list[str | None] = []  # the code of each block that stands in the namespace
        codes = [cell.code for cell in self.cells if not cell.torch]
        self.state = LiveState(self.runner.namespace, codes)
        self.pending: dict[int, Any] = {}  # figures that are drawn when there is time
        self.displayed = [cell.published for cell in self.cells]  # what the reader sees of each
        self.later: set[int] = set()  # the blocks that wait until a reader asks for them
        self.copied = 0.0  # when the last state was copied
        self.edits: set[str] = set()  # code of the reader's that has run
        self.lasting: set[str] = set()  # the same, where it may have changed more than its page

    def is_spent(self, codes: str) -> bool:
        """Whether this Python may still hold what an edit has changed that is gone from `codes`.

        What runs again with the same edits is restored as far as a copy goes; a page on which
        they are undone gets a Python of its own.
        """
        kept = {*map(replace_questions, loads(codes))}
        if self.lasting <= kept and not self.state.package.is_unchanged():
            self.lasting |= self.edits
        return not self.lasting <= kept

    def begin(self, codes: str, asked: str = "[]") -> int:
        """Take the code of all blocks (JSON); the number of the first one that must run.

        `asked` are the ids of slow blocks, or of what uses them, that are to run all the same.
        """
        self.codes = [replace_questions(code) for code in loads(codes)]
        self.later = find_waiting(self.cells, self.codes, set(loads(asked)))
        for number in self.later:
            self.codes[number] = ""
        state = self.state
        if not state.package.is_unchanged():  # by the last run: what it left behind is not whole
            state.copies = [None for _ in state.copies]
            self.codes_run = [None for _ in self.codes_run]
        state.restored = None
        same = self._count_unchanged()
        if same < len(self.codes_run):  # something after it has changed
            state.edited = same
            while same and state.copies[same] is None:
                same -= 1
            state.go_back(same)
            del self.codes_run[same:]
        self.pending = {number: shown for number, shown in self.pending.items() if number < same}
        return same

    def _count_unchanged(self) -> int:
        """How many of the first blocks stand in the namespace as they are to run."""
        same = 0
        while same < len(self.codes_run) and self.codes_run[same] == self.codes[same]:
            same += 1
        return same

    def step(self, number: int, draws: bool = True, at: str = "") -> str:
        """Run a block; its result as JSON. One that needs torch is left as it was built.

        The files that such a block has published are there. A figure that a reader does not see can
        wait: `draw` brings it; so can all of its frames but the one that shows, which is `at` this
        place.
        """
        self.pending.pop(number, None)
        cell = self.cells[number]
        self._note_state(number)
        self.codes_run.append(self.codes[number])
        if number in self.later:
            self.displayed[number] = cell.published
            return dumps({"id": cell.id, "later": True})
        if cell.torch:
            for variable, name, content in cell.files:
                self.runner.namespace[variable] = TextFile(name, content)
            return dumps({"id": cell.id, "torch": True})
        try:
            return dumps(self._run(number, draws and not at, at))
        except BaseException as error:  # what a block leaves may be as hostile as what it does
            from attention_docs.figures.tasks import name_error

            self.codes_run[-1] = None
            return dumps({"id": cell.id, "error": locate_error(name_error(error), 0, "")})

    def _note_state(self, number: int) -> None:
        """Copy what is there before a block, at an edit and where blocks have run for a while."""
        self.state.package.note_loaded_modules()
        is_copied = number == self.state.edited or self.state.restored is not None
        if is_copied or perf_counter() - self.copied > RERUN_SECONDS:
            self.state.add_copy()
            self.copied = perf_counter()
        else:
            self.state.copies.append(None)
        self.state.restored = None

    def _run(self, number: int, draws: bool, at: str) -> dict[str, Any]:
        cell, code = self.cells[number], self.codes[number]
        lines = code.splitlines(keepends=True)
        self._register_lines(cell.listing, ["\n"] * (cell.line - 1) + lines, len(code))
        result, error = self._execute(cell, code, draws)
        if error:  # nothing that follows it has a meaning
            self.codes_run[-1] = None
            return {"id": cell.id, "error": error}
        wanted = [(expression, spec) for _, expression, spec, _ in cell.values]
        result = self.runner.add_values(result, wanted)
        if not draws and self.runner.shown is not None:
            self.pending[number] = self.runner.shown
        update = self._make_update(number, result)
        if at and number in self.pending:
            update["frame"] = self.pending[number].frame(self.runner.languages[self.lang], at)
        return update

    def _execute(self, cell: Cell, code: str, draws: bool) -> tuple[Result, dict[str, Any]]:
        """The result of a block, and what a reader is told of an error, if there is one."""
        check = FiniteCheck(code, self.runner.namespace)
        block = Code(code, cell.listing, cell.line)
        if code == cell.code:
            with self._judge_apart() if JUDGE in code else nullcontext():
                result = self.runner.run([block], draws=draws)
        else:
            self.edits.add(code)
            if reaches_out(code, cell.code):
                self.lasting.add(code)
            result = self.runner.run_readers(block, cell.code, draws=draws)
        if result.error:
            return result, describe_error(result.error, cell.listing, cell.line, code)
        # Documentation may speak of what is not finite.
        if message := check.error("" if "help(" in code else result.text):
            return result, locate_error(message, check.line(), code)
        return result, {}

    @contextmanager
    def _judge_apart(self) -> Iterator[None]:
        """What a reader's code has changed, or changes while it is judged, does not judge it."""
        from attention_docs.figures import tasks

        with self.state.package.as_loaded():
            tasks.restorers[:] = [self.state.package.restore]
            yield

    def list_later(self) -> list[int]:
        """The blocks that wait until a reader asks for them."""
        return sorted(self.later)

    def waiting(self) -> list[int]:
        """The blocks whose figures are still to be drawn."""
        return sorted(self.pending)

    def draw(self, number: int) -> str:
        """A figure that could wait, as JSON."""
        figure = self.runner.draw_figure(self.pending.pop(number))
        return dumps(
            self._make_update(number, Result(text=self.displayed[number][0], figure=figure))
        )

    def _make_update(self, number: int, result: Result) -> dict[str, Any]:
        """What a reader does not see yet, and whether it is what the site has published."""
        cell, figure = self.cells[number], result.figure.get(self.lang)
        now = (result.text, hash_figure(figure.svg) if figure else "")
        if number in self.pending:
            now = (result.text, self.displayed[number][1])
        before, self.displayed[number] = self.displayed[number], now
        found = {
            place: result.values[expression, spec]
            for place, expression, spec, _ in cell.values
            if (expression, spec) in result.values
        }
        update: dict[str, Any] = {
            "id": cell.id,
            "changed": [one != other for one, other in zip(now, cell.published, strict=True)],
            "values": found,
        }
        if result.checks:
            update["checks"] = [[one.statement[self.lang], one.holds] for one in result.checks]
        if now[0] != before[0]:
            update["text"] = result.text
        if now[1] != before[1]:
            update["figure"] = _limit_drawing(figure.svg) if figure else ""
        return update

    @staticmethod
    def _register_lines(listing: str, lines: list[str], size: int) -> None:
        """Let a traceback find the lines of what runs."""
        linecache.cache[listing] = (size, None, lines, listing)


def find_waiting(blocks: Sequence[Cell], codes: Sequence[str], asked: set[str]) -> set[int]:
    """Slow blocks and what uses them, except where a reader's edits or wishes need them.

    `codes` are the blocks as the reader has them, `asked` the ids of those that are to run.
    """
    if not any(block.slow for block in blocks):
        return set()
    uses = find_block_uses([*codes])
    wanted, waiting = set[int](), set[int]()
    for number, (block, code) in reversed([*enumerate(zip(blocks, codes, strict=True))]):
        is_edited = code != replace_questions(block.code)
        if is_edited and find_names(code, sure=True)[0] & DYNAMIC_NAMES:
            return set()
        if is_edited or block.id in asked or number in wanted:
            wanted |= {number} | uses[number]
    for number, block in enumerate(blocks):
        if number not in wanted and (block.slow or uses[number] & waiting):
            waiting.add(number)
    return waiting


def _measure_depth(svg: str) -> int:
    """How many tags stand in each other at most; what is never closed holds all that follows."""
    depth = deepest = drawings = 0
    for closes, name, ends_itself in TAG.findall(svg):
        step = -1 if closes else 1
        drawings += step * (name == "svg")
        if name in VOID or (
            ends_itself and drawings > 0
        ):  # a slash at the end says nothing in HTML
            continue
        depth = max(depth + step, 0)
        deepest = max(deepest, depth)
    return deepest


def _limit_drawing(svg: str) -> str:
    """A drawing, or in its place why it is not shown."""
    measures: list[Callable[[str], int]] = [len, lambda svg: svg.count("<"), _measure_depth]
    for (name, most), measure in zip(LARGEST_DRAWING.items(), measures, strict=True):
        size = measure(svg)
        if size > most:
            return f"<p>ValueError: a drawing has at most {most:,} {name}, got {size:,}</p>"
    return svg
