"""What slow blocks of a page have given: one that finds the same again need not run again.

An edit far above an experiment would otherwise run it for seconds, though it takes nothing from
there. A block's outcome is kept where a copy says all of it: the names that it has set, what it has
printed and drawn. It must have left what it found as it was, and share no object with it.
"""

from __future__ import annotations

import io
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_docs.running.names import find_names
from attention_docs.running.result import Result
from attention_docs.site.run.snapshot import Copier, Fixed, Keyer

SLOW_SECONDS = 0.3
CONSTANT = (str, bytes, int, float, complex, type(None), tuple, frozenset, range, type)
SHARED = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, np.ufunc, np.dtype)


@dataclass
class Outcome:
    """What a block has given for what it found: `key` says that."""

    key: str
    names: bytes  # a copy of what it has set
    result: Result
    shown: Any  # its figure, which is drawn where a reader sees it


class OutcomeMemo:
    """The last outcome of each slow block, by its code."""

    def __init__(self, fixed: Fixed) -> None:
        """`fixed` is what all copies of the page's namespace share."""
        self.fixed = fixed
        self.fast: set[str] = set()
        self.outcomes: dict[str, Outcome] = {}

    def find(self, code: str, key: str) -> Outcome | None:
        """The outcome of a block that finds what `key` says."""
        outcome = self.outcomes.get(code)
        return outcome if outcome and key and outcome.key == key else None

    def copy_names(
        self, code: str, found: Mapping[str, Any], now: Mapping[str, Any]
    ) -> bytes | None:
        """A copy of what a block has set; None where it says less than all of it.

        `found` is the namespace before the block, `now` the one after it. A name that the block may
        have set, and that holds what it held before, could be either.
        """
        changed = {name for name, value in now.items() if found.get(name, self) is not value}
        certain, possible = (find_names(code, sure=sure)[1] & now.keys() for sure in (True, False))
        if found.keys() - now.keys() or possible - certain - changed:
            return None
        try:
            return _copy_apart({name: now[name] for name in changed | certain}, found, self.fixed)
        except Exception:  # a closure, a generator, a shared object
            return None


def _copy_apart(own: Mapping[str, Any], found: Mapping[str, Any], fixed: Fixed) -> bytes:
    """A copy of names, or a ValueError where they hold an object that was there before."""
    before = ObjectCollector(io.BytesIO(), {})
    before.dump(dict(found))
    copier = SeparateCopier(io.BytesIO(), fixed, before.objects)
    copier.dump(dict(own))
    return copier.file.getvalue()


class ObjectCollector(Keyer):
    """Collects all that can change in a namespace, by identity."""

    def __init__(self, file: io.BytesIO, fixed: Fixed) -> None:
        super().__init__(file, fixed)
        self.objects: dict[int, Any] = {}

    def persistent_id(self, obj: Any) -> Any:
        """Note what is not a constant."""
        if not isinstance(obj, (*CONSTANT, *SHARED, np.generic)):
            self.objects[id(obj)] = obj
        return super().persistent_id(obj)


class SeparateCopier(Copier):
    """Refuses to copy one of these objects."""

    def __init__(self, file: io.BytesIO, fixed: Fixed, refused: Mapping[int, Any]) -> None:
        super().__init__(file, fixed)
        self.file = file
        self.refused = refused

    def persistent_id(self, obj: Any) -> Any:
        """Refuse an object that was there before the block."""
        if id(obj) in self.refused:
            raise ValueError(f"{type(obj).__name__} is also part of what the block found")
        return None
