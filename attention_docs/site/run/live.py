"""A page in a reader's browser: its blocks with the reader's edits, from the top.

What a run means is that all blocks run in order. Where nothing before an edit has changed, the run
goes on from a copy of the state that was there; where such a copy might not be whole, from the top.
"""

from __future__ import annotations

import hashlib
import io
import json
import linecache
import pickle
import re
import sys
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from attention_docs.site.run.block import Running
from attention_docs.site.run.result import Code, Result
from attention_docs.text import TextFile

OWN = "attention_docs"
WATCHED = ("numpy", "numpy.linalg", "numpy.random")
MOST = 200_000_000  # bytes of copies that a page may keep
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
    files: list[tuple[str, str, str]]  # its name for what it publishes, name of the file, text
    values: list[tuple[int, str, str]]  # number on the page, expression, format
    shown: Published


class Session:
    """The blocks of one page and what is known of the last run."""

    def __init__(self, page: str) -> None:
        """`page` is the JSON that `publish/live.py` writes."""
        document = json.loads(page)
        self.lang: str = document["lang"]
        self.cells = [
            Cell(
                cell["id"],
                cell["code"],
                cell["listing"],
                cell["line"],
                cell["torch"],
                cell["files"],
                [(number, expression, spec) for number, expression, spec, _ in cell["values"]],
                (cell["text"], cell["figure"]),
            )
            for cell in document["cells"]
        ]
        warnings.simplefilter("error")
        self.running = Running([self.lang], live=True)
        self.ran: list[str | None] = []  # the code of each block that stands in the namespace
        self.states: list[bytes | None] = []  # what was there before each of them
        self.fixed: Fixed = {}
        self.kept = 0
        self.package = Package()
        self.pending: dict[int, Any] = {}  # figures that are drawn when there is time
        self.told = [cell.shown for cell in self.cells]  # what the reader sees of each

    def begin(self, codes: str) -> int:
        """Take the code of all blocks (JSON); the number of the first one that must run."""
        self.codes: list[str] = json.loads(codes)
        if not self.package.untouched():  # by the last run: what it left behind is not whole
            self.states = [None for _ in self.states]
            self.ran = [None for _ in self.ran]
        same = 0
        while same < len(self.ran) and self.ran[same] == self.codes[same]:
            same += 1
        self.pending = {number: shown for number, shown in self.pending.items() if number < same}
        if same < len(self.ran):  # something after it has changed
            if self.states[same] is None:
                same = 0
            self._restore(self.states[same])
            self.kept -= sum(len(state or b"") for state in self.states[same:])
            del self.ran[same:], self.states[same:]
        return same

    def step(self, number: int, draws: bool = True) -> str:
        """Run a block; its result as JSON. One that needs torch is left as it was built.

        The files that such a block has published are there. A figure that a reader does not see can
        wait: `draw` brings it.
        """
        self.pending.pop(number, None)
        cell, code = self.cells[number], self.codes[number]
        self.package.look()
        self.states.append(self._state())
        self.ran.append(code)
        if cell.torch:
            for variable, name, content in cell.files:
                self.running.namespace[variable] = TextFile(name, content)
            return json.dumps({"id": cell.id, "torch": True})
        lines = code.splitlines(keepends=True)
        self._lines(cell.listing, ["\n"] * (cell.line - 1) + lines, len(code))
        result = self.running.run([Code(code, cell.listing, cell.line)], draws=draws)
        if result.error:  # nothing that follows it has a meaning
            self.ran[-1] = None
            return json.dumps({"id": cell.id, "error": self._error(cell, code, result.error)})
        wanted = [(expression, spec) for _, expression, spec in cell.values]
        result = self.running.evaluated(result, wanted)
        if not draws and self.running.shown is not None:
            self.pending[number] = self.running.shown
        return json.dumps(self._new(number, result))

    def waiting(self) -> list[int]:
        """The blocks whose figures are still to be drawn."""
        return sorted(self.pending)

    def draw(self, number: int) -> str:
        """A figure that could wait, as JSON."""
        figure = self.running.drawn(self.pending.pop(number))
        return json.dumps(self._new(number, Result(text=self.told[number][0], figure=figure)))

    def _new(self, number: int, result: Result) -> dict[str, Any]:
        """What a reader does not see yet, and whether it is what the site has published."""
        cell, figure = self.cells[number], result.figure.get(self.lang)
        now = (result.text, digest(figure.svg) if figure else "")
        if number in self.pending:
            now = (result.text, self.told[number][1])
        before, self.told[number] = self.told[number], now
        told: dict[str, Any] = {
            "id": cell.id,
            "changed": [one != other for one, other in zip(now, cell.shown, strict=True)],
            "values": {
                place: result.values[expression, spec]
                for place, expression, spec in cell.values
                if (expression, spec) in result.values
            },
        }
        if now[0] != before[0]:
            told["text"] = result.text
        if now[1] != before[1]:
            told["figure"] = figure.svg if figure else ""
        return told

    @staticmethod
    def _lines(listing: str, lines: list[str], size: int) -> None:
        """Let a traceback find the lines of what runs."""
        linecache.cache[listing] = (size, None, lines, listing)

    def _error(self, cell: Cell, code: str, error: str) -> dict[str, Any]:
        """Python's message, with the reader's own line, counted from 1."""
        head = error.partition("\n")[0]
        lines = code.split("\n")
        place = re.compile(rf'File "{re.escape(cell.listing)}", line (\d+)')
        found = [int(line) - cell.line + 1 for line in place.findall(error)]
        own = [line for line in found if 0 < line <= len(lines)]
        message = head
        if place.match(head):  # a syntax error: its message is the last line
            message = [line for line in error.split("\n") if re.match(r"\w+Error: ", line)][-1]
        line = own[-1] if own else 0
        return {"message": message, "line": line, "code": lines[line - 1].strip() if line else ""}

    # --- the state between two blocks

    def _state(self) -> bytes | None:
        """A copy of the namespace, or None where it would not be whole."""
        if self.kept > MOST:
            return None
        space = {k: v for k, v in self.running.namespace.items() if k != "__builtins__"}
        try:
            state = copied(space, self.fixed)
        except Exception:  # a closure, a generator, an open file
            return None
        self.kept += len(state)
        return state

    def _restore(self, state: bytes | None) -> None:
        """Put a copy of a state in place; functions keep the namespace that they know."""
        self.package.mend()
        space = restored(state, self.fixed) if state else {"__name__": "listing"}
        builtins = self.running.namespace.get("__builtins__")
        self.running.namespace.clear()
        self.running.namespace.update(space)
        if builtins is not None:
            self.running.namespace["__builtins__"] = builtins


# --- copies of a namespace

Fixed = dict[int, Any]
"""What every copy shares, by its identity: modules, functions and classes without a state."""


class _Copier(pickle.Pickler):
    """Copies what has a state, and refuses what would be shared; views stay views."""

    def __init__(self, file: io.BytesIO, fixed: Fixed) -> None:
        super().__init__(file, protocol=5)
        self.fixed = fixed

    def reducer_override(self, obj: Any) -> Any:
        """How one object is copied."""
        if obj is _Shared or obj is _view:
            return NotImplemented
        if isinstance(obj, types.ModuleType | types.BuiltinFunctionType | np.ufunc):
            return self._share(obj)
        if isinstance(obj, types.FunctionType | type):
            if not stateless(obj):
                raise ValueError(f"{obj} has a state")
            return self._share(obj)
        if type(obj) is np.ndarray and type(obj.base) is np.ndarray and obj.base.flags.forc:
            start = obj.__array_interface__["data"][0] - obj.base.__array_interface__["data"][0]
            flat = (obj.dtype, obj.shape, start, obj.strides, obj.flags.writeable)
            return _view, (obj.base, *flat)
        return NotImplemented

    def _share(self, obj: Any) -> Any:
        self.fixed[id(obj)] = obj
        return _Shared, (id(obj),)


class _Shared:
    """Stands in a copy for what all copies share."""

    fixed: ClassVar[Fixed] = {}

    def __new__(cls, number: int) -> Any:
        """The thing itself."""
        return cls.fixed[number]


def _view(base: Any, dtype: Any, shape: Any, start: int, strides: Any, writable: bool) -> Any:
    """A view of a copied array, as it was of the array."""
    owner = base if base.flags.c_contiguous else base.T
    view = np.ndarray(shape, dtype, owner, start, strides)
    view.flags.writeable = writable
    return view


def copied(space: dict[str, Any], fixed: Fixed) -> bytes:
    """A copy of a namespace; an error where the copy would share a state with it."""
    file = io.BytesIO()
    _Copier(file, fixed).dump(space)
    return file.getvalue()


def restored(state: bytes, fixed: Fixed) -> dict[str, Any]:
    """A namespace as it was."""
    _Shared.fixed = fixed
    space: dict[str, Any] = pickle.loads(state)
    return space


def stateless(obj: types.FunctionType | type) -> bool:
    """Whether a function or a class holds nothing that could change."""
    if isinstance(obj, type):
        if obj.__module__ != "listing":
            return True
        return all(
            stateless(one) if isinstance(one, types.FunctionType) else _fixed(one)
            for one in vars(obj).values()
        )
    defaults = [*(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()]
    if obj.__module__ != "listing" and not obj.__closure__:
        return True  # of a library
    return not obj.__closure__ and not vars(obj) and all(map(_fixed, defaults))


def _fixed(value: Any) -> bool:
    plain = int | float | str | bytes | type(None) | type | property | staticmethod | classmethod
    descriptors = types.GetSetDescriptorType | types.MemberDescriptorType
    if isinstance(value, tuple | frozenset):
        return all(map(_fixed, value))
    return isinstance(value, plain | descriptors)


class Package:
    """The modules of the package and of NumPy as they were: a reader's code may change them."""

    def __init__(self) -> None:
        self.loaded = 0
        self.seen: dict[str, dict[str, Any]] = {}
        self.arrays: dict[int, tuple[Any, Any]] = {}

    def look(self) -> None:
        """Note what has been loaded since."""
        if len(sys.modules) == self.loaded:
            return
        self.loaded = len(sys.modules)
        for name in [name for name in sys.modules if name in WATCHED or name.startswith(OWN)]:
            if name in self.seen or name.startswith(f"{OWN}.site"):
                continue
            space = self.seen[name] = dict(vars(sys.modules[name]))
            if name.startswith(OWN):
                arrays = [one for one in space.values() if isinstance(one, np.ndarray)]
                self.arrays.update({id(one): (one, one.copy()) for one in arrays})

    def untouched(self) -> bool:
        """Whether nothing has been changed."""
        return not any(self._changes()) and all(
            np.array_equal(now, then, equal_nan=True) for now, then in self.arrays.values()
        )

    def mend(self) -> None:
        """Make good what has been changed."""
        for name, key, value in list(self._changes()):
            setattr(sys.modules[name], key, value)
        for now, then in self.arrays.values():
            if not np.array_equal(now, then, equal_nan=True):
                now[...] = then

    def _changes(self) -> Iterator[tuple[str, str, Any]]:
        for name, before in self.seen.items():
            now = vars(sys.modules[name])
            for key, value in before.items():
                if now.get(key, self) is not value:
                    yield name, key, value


def digest(text: str) -> str:
    """A figure, as one word."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
