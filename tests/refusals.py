"""Rows of the table of refusals: a function, what it takes, and what it refuses."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

DRAWN = np.random.default_rng(20)


def a(*size: int) -> np.ndarray:
    """Floats that differ from each other."""
    return DRAWN.normal(size=size)


def whole(*values: int) -> np.ndarray:
    return np.array(values)


MASKED = "mask must hold booleans or float64 like the scores, got "
Wrong = tuple[dict[str, Any], type[Exception], str]


def value(message: str, **changes: Any) -> Wrong:
    return changes, ValueError, message


def at_least_one(**good: int) -> Iterator[Wrong]:
    """Each of these sizes as 0, refused with all of them."""
    for name in good:
        names, given = _join_words(good), _join_words((good | {name: 0}).values())
        yield value(f"{names} must be at least 1, got {given}", **{name: 0})


def _join_words(words: Iterable[object]) -> str:
    """One, two and three."""
    *first, last = map(str, words)
    return f"{', '.join(first)} and {last}" if first else last


def kind(message: str, **changes: Any) -> Wrong:
    return changes, TypeError, message


@dataclass(frozen=True)
class Row:
    """A function and what it is given.

    Attributes:
        good: arguments that are right; the floats among them must share library and dtype.
        matrices: those that need two axes, none of them empty.
        wrong: what else it refuses: a message, and the arguments that change.
        called: what messages call an argument, where that is not its name.
        alone: arguments whose dtype or library is their own affair.
        shared: whether the kinds of bad input that most functions share are made from the row; not
            where it takes what the standard library or NumPy takes, and says what those say.
    """

    name: str
    good: dict[str, Any]
    wrong: list[Wrong] = field(default_factory=list)
    matrices: tuple[str, ...] = ()
    called: dict[str, str] = field(default_factory=dict)
    alone: tuple[str, ...] = ()
    shared: bool = True

    @property
    def function(self) -> Callable[..., Any]:
        module, _, name = self.name.rpartition(".")
        found: Callable[..., Any] = getattr(
            importlib.import_module(f"attention_docs.{module}"), name
        )
        return found

    def cases(self) -> Iterator[Wrong]:
        """Every kind of bad input."""
        yield from self.wrong
        if not self.shared:
            return
        names = [name for name, one in self.good.items() if _floats(one)]
        for name in names:
            shown_name, array = self.called.get(name, name), self.good[name]
            yield (
                {name: array.tolist()},
                TypeError,
                f"{shown_name} must be a NumPy array or a torch tensor, got list",
            )
            yield (
                {name: array.astype(int)},
                TypeError,
                f"{shown_name} must hold real floats, got int64",
            )
        for name in self.matrices:
            shown_name, array = self.called.get(name, name), self.good[name]
            flat, empty = np.ones(array.shape[-1]), array[..., :0]
            axes, size = f"at least 2 axes (..., n, d), got shape {flat.shape}", str(empty.shape)
            yield {name: flat}, ValueError, f"{shown_name} must have {axes}"
            yield {name: empty}, ValueError, f"{shown_name} must not be empty, got shape {size}"
        first, *others = [one for one in names if one not in self.alone] or [""]
        for name in others:
            pair = f"{self.called.get(first, first)} and {self.called.get(name, name)}"
            array = self.good[name]
            dtype = f"{pair} must share a dtype, got float64 and float32"
            yield {name: array.astype(np.float32)}, TypeError, dtype
            library = f"{pair} must be of one library, got ndarray and Tensor"
            yield {name: torch.tensor(array)}, TypeError, library


def _floats(one: Any) -> bool:
    return isinstance(one, np.ndarray) and one.dtype == np.float64
