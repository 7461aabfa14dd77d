"""A page in a reader's browser: its blocks with the reader's edits, from the top.

What a run means is that all blocks run in order. Where nothing before an edit has changed, the run
goes on from a copy of the state that was there, or from the last one that is whole. To copy a state
and to recognise it takes longer than most blocks run: while a knob is dragged, it is
done at fewer places.
"""

from __future__ import annotations

import hashlib
import io
import json
import linecache
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from time import perf_counter
from typing import Any

from attention_docs.running.block import PROVIDED
from attention_docs.running.names import find_names
from attention_docs.running.result import Code, Result, hash_figure
from attention_docs.site.run.dependencies import find_block_uses
from attention_docs.site.run.finite import FiniteCheck
from attention_docs.site.run.interactive import InteractiveRunner, replace_questions
from attention_docs.site.run.memo import SLOW_SECONDS, Outcome, OutcomeMemo
from attention_docs.site.run.snapshot import (
    Fixed,
    Keyer,
    PackageState,
    copy_namespace,
    read_ambient_state,
    restore_ambient_state,
    restore_namespace,
)
from attention_docs.text import TextFile

DYNAMIC_NAMES = {"exec", "eval", "globals", "locals", "vars", "dir", "__import__", "sys", "listing"}
"""Code that uses one of these may read names that its syntax does not show."""
PROVIDED_NAMES = {"__builtins__", "help", *PROVIDED}  # names that no block sets
MAX_COPIED_BYTES = 200_000_000  # bytes of copies that a page may keep
RERUN_SECONDS = 0.05  # seconds that a dragged knob lets run again, rather than copy the state
COPY_DISTANCES = {1, 4, 16, 64, 256}  # blocks behind the knob where it is copied all the same
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
    values: list[tuple[int, str, str]]  # number on the page, expression, format
    published: Published


@dataclass(frozen=True)
class FinishedRun:
    """A run to the end: code of the blocks, what was there before each, and what a reader saw."""

    codes: list[str | None]
    states: list[bytes | None]
    keys: list[str]
    displayed: list[tuple[Published, dict[int, str]]]


class Session:
    """The blocks of one page and what is known of the last run."""

    def __init__(self, page: str, locales: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """`page` is the JSON that `publish/live.py` writes; `locales` those without a file."""
        document = json.loads(page)
        self.lang: str = document["lang"]  # of the code, of what it prints and draws
        self.cells = [
            Cell(
                cell["id"],
                cell["code"],
                cell["listing"],
                cell["line"],
                cell["torch"],
                cell["slow"],
                cell["files"],
                [(number, expression, spec) for number, expression, spec, _ in cell["values"]],
                (cell["text"], cell["figure"]),
            )
            for cell in document["cells"]
        ]
        warnings.simplefilter("error")
        strings = document["words"]
        stay = {text: text for text in strings.values()}  # the code holds them already
        strings = {self.lang: strings | stay} if strings else None
        self.runner = InteractiveRunner([self.lang], live=True, strings=strings, locales=locales)
        self.codes_run: list[str | None] = []  # the code of each block that stands in the namespace
        self.states: list[bytes | None] = []  # what was there before each of them
        self.fixed: Fixed = {}
        self.memo = OutcomeMemo(self.fixed)
        self.copied_bytes = 0
        self.keys: list[str] = []  # what each block and all that follow it have found, as a word
        self.last: FinishedRun | None = None
        self.skipped: list[tuple[int, set[str]]] = []  # where a run ended, and by which names
        self.package = PackageState()
        self.pending: dict[int, Any] = {}  # figures that are drawn when there is time
        self.displayed = [cell.published for cell in self.cells]  # what the reader sees of each
        self.values: list[dict[int, str]] = [{} for _ in self.cells]
        self.start = read_ambient_state()
        self.later: set[int] = set()  # the blocks that wait until a reader asks for them
        self.first, self.copied = 0, 0.0  # where the run began, and when the last state was copied
        self.restored: bytes | None = None  # the state that it began with

    def begin(self, codes: str, asked: str = "[]") -> int:
        """Take the code of all blocks (JSON); the number of the first one that must run.

        `asked` are the ids of slow blocks, or of what uses them, that are to run all the same.
        """
        self.codes = [replace_questions(code) for code in json.loads(codes)]
        self.later = self._find_later(set(json.loads(asked)))
        for number in self.later:
            self.codes[number] = ""
        if not self.package.is_unchanged():  # by the last run: what it left behind is not whole
            self.states = [None for _ in self.states]
            self.codes_run = [None for _ in self.codes_run]
        self.needed = find_needed_names(
            self.codes,
            [[] if n in self.later else cell.values for n, cell in enumerate(self.cells)],
        )
        same, self.restored = 0, None
        while same < len(self.codes_run) and self.codes_run[same] == self.codes[same]:
            same += 1
        for number, names in self.skipped:  # behind it stands what these names had before
            new = self.needed[number]
            if same > number and (new is None or not new <= names):
                same = number
        self.skipped = [one for one in self.skipped if one[0] < same]
        if same < len(self.codes_run):  # something after it has changed
            if (
                len(self.codes_run) == len(self.cells)
                and None not in self.codes_run
                and not self.pending
            ):
                displayed = [
                    (one, {**two}) for one, two in zip(self.displayed, self.values, strict=True)
                ]
                self.last = FinishedRun([*self.codes_run], [*self.states], [*self.keys], displayed)
            while same and self.states[same] is None:
                same -= 1
            self.restored = self.states[same]
            self._restore_state(self.restored)
            self.copied_bytes -= sum(len(state or b"") for state in self.states[same:])
            del self.codes_run[same:], self.states[same:], self.keys[same:]
            self.skipped = [one for one in self.skipped if one[0] < same]
        self.pending = {number: shown for number, shown in self.pending.items() if number < same}
        self.first, self.copied = same, perf_counter()
        return same

    def step(self, number: int, draws: bool = True, hurry: bool = False, at: str = "") -> str:
        """Run a block; its result as JSON. One that needs torch is left as it was built.

        The files that such a block has published are there. A figure that a reader does not see can
        wait: `draw` brings it; so can all of its frames but the one that shows, which is `at` this
        place. In a hurry the state is copied at `COPY_DISTANCES` only, and where blocks are slow.
        """
        self.pending.pop(number, None)
        cell, code = self.cells[number], self.codes[number]
        self.package.note_loaded_modules()
        past = number - self.first
        if hurry and past not in COPY_DISTANCES and perf_counter() - self.copied < RERUN_SECONDS:
            self.states.append(None if past else self._copy_state())
            self.keys.append("")
        else:
            self.states.append(self._copy_state())
            self.keys.append(self._make_key(self.needed[number]))
            self.copied = perf_counter()
        self.restored = None
        if self._reuse_last_run(number):
            return json.dumps({"id": cell.id, "same": True})
        self.codes_run.append(code)
        if number in self.later:
            self.displayed[number], self.values[number] = cell.published, {}
            return json.dumps({"id": cell.id, "later": True})
        if cell.torch:
            for variable, name, content in cell.files:
                self.runner.namespace[variable] = TextFile(name, content)
            return json.dumps({"id": cell.id, "torch": True})
        lines = code.splitlines(keepends=True)
        self._register_lines(cell.listing, ["\n"] * (cell.line - 1) + lines, len(code))
        draws = draws and not at
        key = self._make_own_key(number)
        if outcome := self.memo.find(code, key):
            return json.dumps(self._reuse_outcome(number, outcome, draws, at))
        found, begun = self._own_space(), perf_counter()
        check = FiniteCheck(code, self.runner.namespace)
        block = Code(code, cell.listing, cell.line)
        if code == cell.code:
            result = self.runner.run([block], draws=draws)
        else:
            result = self.runner.run_readers(block, cell.code, draws=draws)
        error: dict[str, Any] = {}
        if result.error:
            error = self._describe_error(cell, code, result.error)
        # Documentation may speak of what is not finite.
        elif message := check.error("" if "help(" in code else result.text):
            error = _at_line(message, check.line(), code)
        if error:  # nothing that follows it has a meaning
            self.codes_run[-1] = None
            return json.dumps({"id": cell.id, "error": error})
        wanted = [(expression, spec) for _, expression, spec in cell.values]
        result = self.runner.add_values(result, wanted)
        self._note_outcome(number, key, found, perf_counter() - begun, result)
        return json.dumps(self._show(number, result, self.runner.shown, draws, at))

    def _show(
        self, number: int, result: Result, shown: Any, draws: bool, at: str
    ) -> dict[str, Any]:
        """What a reader does not see yet; a figure may wait, or all of its frames but one."""
        if not draws and shown is not None:
            self.pending[number] = shown
        update = self._make_update(number, result)
        if at and number in self.pending:
            update["frame"] = self.pending[number].frame(self.runner.languages[self.lang], at)
        return update

    def _make_own_key(self, number: int) -> str:
        """What this block finds, as one word; "" where that is not sure, or where it is fast."""
        code = self.codes[number]
        if code in self.memo.fast:
            return ""
        return self._make_key(find_needed_names([code], [self.cells[number].values])[0])

    def _note_outcome(
        self, number: int, key: str, found: dict[str, Any], seconds: float, result: Result
    ) -> None:
        """Keep what a slow block has given, if it has left what it found as it was."""
        code = self.codes[number]
        if seconds < SLOW_SECONDS:
            self.memo.fast.add(code)
        elif key and key == self._make_own_key(number):
            names = self.memo.copy_names(code, found, self._own_space())
            if names is not None:
                self.memo.outcomes[code] = Outcome(key, names, result, self.runner.shown)

    def _reuse_outcome(self, number: int, outcome: Outcome, draws: bool, at: str) -> dict[str, Any]:
        """Put what a block has given in its place, without running it."""
        self.runner.namespace.update(restore_namespace(outcome.names, self.fixed))
        if draws and outcome.shown is not None and not outcome.result.figure:
            figure = self.runner.draw_figure(outcome.shown)
            outcome.result = replace(outcome.result, figure=figure)
        result = outcome.result if draws else replace(outcome.result, figure={})
        return self._show(number, result, outcome.shown, draws, at)

    def _find_later(self, asked: set[str]) -> set[int]:
        """Slow blocks and what uses them, except where a reader's edits or wishes need them."""
        if not any(cell.slow for cell in self.cells):
            return set()
        uses = find_block_uses(self.codes)
        wanted, later = set[int](), set[int]()
        for number in reversed(range(len(self.cells))):
            cell, code = self.cells[number], self.codes[number]
            is_edited = code != replace_questions(cell.code)
            if is_edited and _find_names(code)[0] & DYNAMIC_NAMES:
                return set()
            if is_edited or cell.id in asked or number in wanted:
                wanted |= {number} | uses[number]
        for number, cell in enumerate(self.cells):
            if number not in wanted and (cell.slow or uses[number] & later):
                later.add(number)
        return later

    def list_later(self) -> list[int]:
        """The blocks that wait until a reader asks for them."""
        return sorted(self.later)

    def waiting(self) -> list[int]:
        """The blocks whose figures are still to be drawn."""
        return sorted(self.pending)

    def draw(self, number: int) -> str:
        """A figure that could wait, as JSON."""
        figure = self.runner.draw_figure(self.pending.pop(number))
        return json.dumps(
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
            for place, expression, spec in cell.values
            if (expression, spec) in result.values
        }
        self.values[number].update(found)
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
            update["figure"] = figure.svg if figure else ""
        return update

    @staticmethod
    def _register_lines(listing: str, lines: list[str], size: int) -> None:
        """Let a traceback find the lines of what runs."""
        linecache.cache[listing] = (size, None, lines, listing)

    def _describe_error(self, cell: Cell, code: str, error: str) -> dict[str, Any]:
        """Python's message, with the reader's own line, counted from 1."""
        head = error.partition("\n")[0]
        lines = code.split("\n")
        place = re.compile(rf'File "{re.escape(cell.listing)}", line (\d+)')
        found = [int(line) - cell.line + 1 for line in place.findall(error)]
        own = [line for line in found if 0 < line <= len(lines)]
        message = head
        if place.match(head):  # a syntax error: its message is the last line
            message = [line for line in error.split("\n") if re.match(r"\w+Error: ", line)][-1]
        return _at_line(message, own[-1] if own else 0, code)

    # --- the state between two blocks

    def _copy_state(self) -> bytes | None:
        """A copy of the namespace, or None where it would not be whole."""
        if self.copied_bytes > MAX_COPIED_BYTES:
            self._drop_copies()
        if self.copied_bytes > MAX_COPIED_BYTES:
            return None
        if self.restored:  # nothing has run since
            self.copied_bytes += len(self.restored)
            return self.restored
        try:
            state = copy_namespace((self._own_space(), read_ambient_state()), self.fixed)
        except Exception:  # a closure, a generator, an open file
            return None
        self.copied_bytes += len(state)
        return state

    def _drop_copies(self) -> None:
        """Drop every other copy, except the first and the last one: edits come close together."""
        for number in [n for n, state in enumerate(self.states) if state][1:-1:2]:
            self.copied_bytes -= len(self.states[number] or b"")
            self.states[number] = None

    def _own_space(self) -> dict[str, Any]:
        """The names that blocks have set."""
        return {k: v for k, v in self.runner.namespace.items() if k not in PROVIDED_NAMES}

    def _make_key(self, wanted: set[str] | None) -> str:
        """What these names hold, as one word; "" where that is not sure."""
        if wanted is None or not self.package.is_unchanged():
            return ""
        space = self._own_space()
        try:
            while True:
                keyer = Keyer(io.BytesIO(), {})
                keyer.dump(
                    ({k: space[k] for k in sorted(wanted) if k in space}, read_ambient_state())
                )
                if keyer.names & set(space) <= wanted:  # what functions take from outside
                    return hashlib.sha256(keyer.file.getvalue()).hexdigest()
                wanted = wanted | keyer.names
        except Exception:
            return ""

    def _reuse_last_run(self, number: int) -> bool:
        """Whether all that follows finds what it found in the last whole run; then it stands."""
        last, key, displayed = (
            self.last,
            self.keys[-1],
            [*zip(self.displayed, self.values, strict=True)],
        )
        wanted = self.needed[number]
        if not (last and key and wanted is not None and number and key == last.keys[number]):
            return False
        if (
            self.codes[number:] != last.codes[number:]
            or displayed[number:] != last.displayed[number:]
        ):
            return False
        self.codes_run += last.codes[number:]
        self.states += last.states[number + 1 :]
        self.keys += last.keys[number + 1 :]
        self.skipped.append((number, wanted))
        return True

    def _restore_state(self, state: bytes | None) -> None:
        """Restore a copy of a state; functions keep their namespace."""
        self.package.restore()
        space, around = (
            restore_namespace(state, self.fixed) if state else ({"__name__": "listing"}, self.start)
        )
        restore_ambient_state(around)
        builtins = self.runner.namespace.get("__builtins__")
        self.runner.namespace.clear()
        self.runner.namespace.update(space)
        if builtins is not None:
            self.runner.namespace["__builtins__"] = builtins


def _at_line(message: str, line: int, code: str) -> dict[str, Any]:
    """What a reader is told of an error, with the line of the block, or 0."""
    return {
        "message": message,
        "line": line,
        "code": code.split("\n")[line - 1].strip() if line else "",
    }


def find_needed_names(
    codes: list[str], values: list[list[tuple[int, str, str]]]
) -> list[set[str] | None]:
    """For each block the names that it and all that follow it take; None where that is not sure."""
    found: list[set[str] | None] = []
    after: set[str] | None = set()
    for code, shown in zip(reversed(codes), reversed(values), strict=True):
        used, bound = _find_names(code)
        for _, expression, _ in shown:
            used = used | _find_names(expression)[0] - bound
        unsure = (
            used & DYNAMIC_NAMES or "global" in code or "import *" in code or "nonlocal" in code
        )
        after = None if after is None or unsure else used | after - bound
        found.append(after)
    return found[::-1]


_find_names = lru_cache(maxsize=512)(partial(find_names, sure=True))
