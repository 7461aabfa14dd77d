"""A page in a reader's browser: its blocks with the reader's edits, from the top.

What a run means is that all blocks run in order. Where nothing before an edit has changed, the run
goes on from a copy of the state that was there; where such a copy might not be whole, from the top.
"""

from __future__ import annotations

import copy
import json
import types
import warnings
from dataclasses import asdict, dataclass
from typing import Any

from attention_docs.site.run.block import Running
from attention_docs.site.run.result import Code, Result


@dataclass(frozen=True)
class Cell:
    """A block as the site publishes it: code, where it stands, the values that follow it."""

    id: str
    code: str
    listing: str
    line: int
    torch: bool
    values: list[tuple[int, str, str]]  # number on the page, expression, format


class Session:
    """The blocks of one page and what is known of the last run."""

    def __init__(self, page: str) -> None:
        """`page` is the JSON that `publish/live.py` writes."""
        document = json.loads(page)
        self.lang: str = document["lang"]
        self.cells = [
            Cell(**{**cell, "values": [tuple(value) for value in cell["values"]]})
            for cell in document["cells"]
        ]
        warnings.simplefilter("error")
        self.running = Running([self.lang])
        self.ran: list[str] = []  # the code of each block that stands in the namespace
        self.states: list[dict[str, Any] | None] = []  # what was there before each of them

    def begin(self, codes: str) -> int:
        """Take the code of all blocks (JSON); the number of the first one that must run."""
        self.codes: list[str] = json.loads(codes)
        same = 0
        while same < len(self.ran) and self.ran[same] == self.codes[same]:
            same += 1
        if same < len(self.ran):  # something after it has changed
            if self.states[same] is None:
                same = 0
            self._restore(self.states[same] or {})
            del self.ran[same:], self.states[same:]
        return same

    def step(self, number: int) -> str:
        """Run a block; its result as JSON. One that needs torch is left as it was built."""
        cell = self.cells[number]
        self.states.append(self._state())
        self.ran.append(self.codes[number])
        if cell.torch:
            return json.dumps({"id": cell.id, "torch": True})
        result = self.running.run([Code(self.codes[number], cell.listing, cell.line)])
        if not result.error:
            wanted = [(expression, spec) for _, expression, spec in cell.values]
            result = self.running.evaluated(result, wanted)
        else:  # nothing that follows it has a meaning
            self.ran[-1] = ""
        return json.dumps(self._told(cell, result))

    def _told(self, cell: Cell, result: Result) -> dict[str, Any]:
        """A result as the page shows it."""
        figure = result.figure.get(self.lang)
        values = {
            number: result.values[expression, spec]
            for number, expression, spec in cell.values
            if (expression, spec) in result.values
        }
        return {
            "id": cell.id,
            "text": result.text,
            "figure": asdict(figure) if figure else None,
            "values": values,
            "error": result.error,
            "value_errors": [*result.value_errors.values()],
        }

    # --- the state between two blocks

    def _state(self) -> dict[str, Any] | None:
        """A copy of the namespace, or None where a copy would share something with it."""
        space = {k: v for k, v in self.running.namespace.items() if k not in ("__builtins__",)}
        memo: dict[int, Any] = {}
        for value in space.values():
            if isinstance(value, types.ModuleType):
                memo[id(value)] = value
            elif isinstance(value, types.FunctionType) and not _stateless(value):
                return None
        try:
            return copy.deepcopy(space, memo)
        except Exception:  # a generator, an open file
            return None

    def _restore(self, state: dict[str, Any]) -> None:
        """Put a copy of a state in place; functions keep the namespace that they know."""
        modules = {id(v): v for v in state.values() if isinstance(v, types.ModuleType)}
        space = copy.deepcopy(state, modules)
        builtins = self.running.namespace.get("__builtins__")
        self.running.namespace.clear()
        self.running.namespace.update(space)
        if builtins is not None:
            self.running.namespace["__builtins__"] = builtins


def _stateless(function: types.FunctionType) -> bool:
    """Whether a function holds nothing that could change: no closure, no attributes."""
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    plain = all(isinstance(one, int | float | str | tuple | type(None)) for one in defaults)
    return not function.__closure__ and not vars(function) and plain
