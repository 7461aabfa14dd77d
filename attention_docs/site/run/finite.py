"""Find what a block has made infinite or undefined: NumPy in WebAssembly cannot warn of it.

A processor reports a division by zero or an overflow to NumPy, and a build stops there. A browser
reports nothing, so a block is at fault if it makes inf or nan out of finite numbers and its code
does not speak of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from inspect import unwrap
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from attention_docs.running.names import find_names

SPOKEN = re.compile(r"\b(?:inf|nan|NaN|errstate|isfinite|isinf|isnan|RuntimeWarning)\b")
PRINTED = re.compile(r"(?<!\w)(?:inf|nan)(?!\w)")
DEPTH = 3  # of lists within lists


class FiniteCheck:
    """Looks at the names that a block touches, before it runs and after."""

    def __init__(self, code: str, namespace: Mapping[str, Any]) -> None:
        self.code, self.namespace = code, namespace
        self.names = _names(code)
        functions = (namespace.get(name) for name in self.names)
        self.expected = bool(
            SPOKEN.search(code)
            or any(_speaks(unwrap(f).__code__) for f in functions if isinstance(f, FunctionType))
            or self._not_finite()  # and what follows from it is no new fault
        )

    def error(self, shown: str) -> str:
        """What is wrong after the block has run and printed this, or ""."""
        if self.expected:
            return ""
        found = self._not_finite()
        if not found and not PRINTED.search(shown):
            return ""
        what = found[0] if found else "what it prints"
        return (
            f"RuntimeWarning: {what} must be finite, got inf or nan: "
            "divided by zero, overflowed, or had no value"
        )

    def line(self) -> int:
        """The first line that sets one of these names, or 0."""
        found = set(self._not_finite())
        nodes = (node for node in ast.walk(ast.parse(self.code)) if isinstance(node, ast.Name))
        return min((node.lineno for node in nodes if node.id in found), default=0)

    def _not_finite(self) -> list[str]:
        known = (name for name in self.names if name in self.namespace)
        return [name for name in known if not is_finite(self.namespace[name])]


@lru_cache(maxsize=512)
def _names(code: str) -> list[str]:
    used, bound = find_names(code)
    return sorted(used | bound)


def _speaks(code: CodeType) -> bool:
    """Whether a function has to do with what is not finite."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return bool(SPOKEN.search(" ".join(code.co_names))) or any(map(_speaks, inner))


def is_finite(value: Any, depth: int = DEPTH) -> bool:
    """Whether each number of a value is, as far as it is one, an array, or a collection of them.

    Examples:
        >>> is_finite([1.0, np.array([2, np.inf])]), is_finite({"a": "nan"})
        (False, True)
    """
    if isinstance(value, float | np.floating | np.ndarray):
        return np.asarray(value).dtype.kind not in "fc" or bool(np.isfinite(value).all())
    inner: Iterable[Any] = ()
    if isinstance(value, list | tuple | set):
        inner = value
    elif isinstance(value, dict):
        inner = value.values()
    return not depth or all(is_finite(one, depth - 1) for one in inner)
