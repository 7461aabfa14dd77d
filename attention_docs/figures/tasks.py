"""A function that a reader writes: judged on inputs, from the smallest on, with known mistakes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_docs.figures.figure import Figure, Wording, make_phrase
from attention_docs.figures.tables import Table
from attention_docs.text import text

CLOSE = 1e-6  # a difference that rounding may leave


@dataclass(frozen=True)
class Task:
    """What a written function has to do.

    Attributes:
        answer: a function that does it, the model answer.
        inputs: the arguments of each call, the smallest first.
        mistakes: functions that do it wrong, each by the sentence that says what went wrong.
    """

    answer: Callable[..., Any]
    inputs: Sequence[tuple[Any, ...]]
    mistakes: Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Failure:
    """The first input on which a function is wrong.

    Attributes:
        arguments: what the function was given, by the names of its parameters.
        wanted: what the model answer gives.
        got: what the function gave, or the words of its error.
        mistake: the sentence of the known mistake that gives the same where it is wrong, or None.
    """

    arguments: Mapping[str, Any]
    wanted: Any
    got: Any
    mistake: str | None


def find_failure(written: Callable[..., Any], task: Task) -> Failure | None:
    """The first of the task's inputs on which a function is wrong, None if there is none.

    Examples:
        >>> task = Task(lambda x: x * x, [(1.0,), (3.0,)], {"doubled": lambda x: 2 * x})
        >>> find_failure(lambda x: x**2, task) is None
        True
        >>> found = find_failure(lambda x: x + x, task)
        >>> found.wanted, found.got, found.mistake
        (1.0, 2.0, 'doubled')
    """
    for arguments in task.inputs:
        wanted, got = task.answer(*_copy(arguments)), _call(written, arguments)
        if _agree(got, wanted):
            continue
        named = dict(zip(inspect.signature(task.answer).parameters, arguments, strict=True))
        return Failure(named, wanted, got, _find_mistake(written, task))
    return None


def judge(written: Callable[..., Any], task: Task) -> Figure:
    """A table that says whether a function is right, or on which input it is wrong and how.

    Examples:
        >>> task = Task(lambda x: x * x, [(1.0,), (3.0,)], {"doubled": lambda x: 2 * x})
        >>> judge(lambda x: x**2, task)
        ✓ Right on all 2 inputs
        It gives what the model answer gives.
        >>> judge(lambda x: 2 * x, task)
                         ✗ Not yet: the smallest input that breaks it
        x                1
        wanted           1
        got              2
        what went wrong  doubled
    """
    failure = find_failure(written, task)
    if failure is None:
        head = make_phrase("tasks", "right", n=len(task.inputs))
        return Table((head,), None, ((make_phrase("tasks", "same"),),), (False,), None)
    rows: list[tuple[Wording, Wording]] = [
        (_verbatim(name), _show(one)) for name, one in failure.arguments.items()
    ]
    rows.append((make_phrase("tasks", "wanted"), _show(failure.wanted)))
    rows.append((make_phrase("tasks", "got"), _show(failure.got)))
    if failure.mistake:
        rows.append((make_phrase("tasks", "mistake"), failure.mistake))
    index, cells = zip(*rows, strict=True)
    head = make_phrase("tasks", "failed")
    return Table((head,), index, tuple((one,) for one in cells), (False,), None)


def _copy(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments that a function may change."""
    return tuple(np.array(one) if isinstance(one, np.ndarray) else one for one in arguments)


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What a function gives, or the words of its error."""
    try:
        with np.errstate(all="ignore"):
            return function(*_copy(arguments))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _agree(got: Any, wanted: Any) -> bool:
    """Whether two results are the same up to rounding."""
    if got is None or isinstance(got, str):
        return False
    try:
        first, second = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
    except (TypeError, ValueError):
        return False
    same = first.shape == second.shape
    return same and np.allclose(first, second, rtol=CLOSE, atol=CLOSE, equal_nan=True)


def _find_mistake(written: Callable[..., Any], task: Task) -> str | None:
    """The mistake that gives what is wrong here, on more than two thirds of what is wrong."""
    calls = [(one, _call(written, one)) for one in task.inputs]
    wrong = [(one, got) for one, got in calls if not _agree(got, task.answer(*_copy(one)))]
    if isinstance(wrong[0][1], str):
        return None
    shares = {}
    for why, mistake in task.mistakes.items():
        alike = [_agree(got, _call(mistake, one)) for one, got in wrong]
        shares[why] = sum(alike) / len(alike) if alike[0] else 0
    best = max(shares, key=lambda why: shares[why])
    return best if shares[best] > 2 / 3 else None


def _verbatim(code: str) -> Wording:
    """A name or a message of Python: the same in all languages."""
    return make_phrase("tasks", "error", message=code)


def _show(value: Any) -> Wording:
    """An argument or a result in a cell: numbers with four digits, in one line."""
    if value is None:
        return make_phrase("tasks", "nothing")
    if isinstance(value, str):
        return _verbatim(value)
    try:
        numbers = np.asarray(value).astype(float)
        is_whole = bool((numbers == numbers.round()).all())
        shown = text(numbers, ".0f" if is_whole else ".4f")
    except (TypeError, ValueError):
        return _verbatim(type(value).__name__)
    return re.sub(r"(?<=\[) +|\n *", "", re.sub(r",\s+", ", ", shown))
