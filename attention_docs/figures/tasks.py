"""A function that a reader writes: judged on inputs, from the smallest on, with known mistakes."""

from __future__ import annotations

import builtins
import copy
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

# These stay, whatever a reader makes of np.allclose.
from inspect import signature, unwrap
from numbers import Real
from secrets import randbits
from sys import gettrace, settrace
from time import perf_counter
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

import numpy as np
from numpy import allclose, array, asarray

from attention_docs.figures.figure import Figure, Wording, make_phrase
from attention_docs.figures.tables import Table
from attention_docs.signatures import checked
from attention_docs.softmax import softmax
from attention_docs.text import text

CLOSE, CLOSE_SINGLE = 1e-6, 1e-5  # a difference that rounding may leave; in single precision
SECONDS = 10.0  # that a written function may take for all inputs
DRAWN = 3  # inputs of a run that no reader knows
MOST_NUMBERS = 60  # of an array that is shown in a cell
SPECS = (".4f", ".6f", ".9f", ".15f")  # as many digits as tell two results apart
GIVEN = {"np": np, "softmax": softmax}
"""What model answers use besides each other. A page's own names may hold something else."""
HELPERS = ("checks", "signatures", "text")  # modules of the package that do no chapter's work
LIBRARIES = {"numpy", "attention_docs", *sys.stdlib_module_names} - {"__main__"}
AROUND = {"settrace", "setprofile", "_getframe", "__code__", "__globals__", "f_back"}
AROUND |= {"__import__", "addaudithook", "callbacks", "compile", "eval", "exec", "gc"}
"""Names by which a function would look at its judge instead of its arguments."""
_get_class_name: Callable[[type], str] = vars(type)["__name__"].__get__
"""The name of a class, whatever its metaclass makes of it."""
restorers: list[Callable[[], None]] = []
"""What puts modules back after each call of a written function; a live page says how."""


@dataclass(frozen=True)
class Task:
    """What a written function has to do.

    Attributes:
        answer: a function that does it, the model answer.
        inputs: the arguments of each call, the smallest first.
        mistakes: functions that do it wrong, each by the sentence that says what went wrong.
        draw: the arguments of another call, from a generator that is new in each run.
    """

    answer: Callable[..., Any]
    inputs: Sequence[tuple[Any, ...]]
    mistakes: Mapping[str, Callable[..., Any]]
    draw: Callable[[np.random.Generator], tuple[Any, ...]]

    def draw_inputs(self) -> list[tuple[Any, ...]]:
        """The inputs of one run."""
        rng = np.random.Generator(np.random.PCG64(randbits(64)))
        return [*self.inputs, *(self.draw(rng) for _ in range(DRAWN))]


@dataclass(frozen=True)
class NoResult:
    """Stands for the result of a call that has none: `says` why, `reason` what to do about it."""

    says: Wording
    reason: Wording | None = None


@dataclass(frozen=True)
class Failure:
    """The first input on which a function is wrong.

    Attributes:
        arguments: what the function was given, by the names of its parameters.
        wanted: what the model answer gives.
        got: what the function gave, or why it gave nothing.
        mistake: what went wrong, where that is known: the sentence of the known mistake that gives
            the same where it is wrong.
    """

    arguments: Mapping[str, Any]
    wanted: Any
    got: Any
    mistake: Wording | None


def find_failure(written: Callable[..., Any], task: Task) -> Failure | None:
    """The first of the task's inputs on which a function is wrong, None if there is none.

    Examples:
        >>> draw = lambda rng: (rng.normal(),)
        >>> task = Task(lambda x: x * x, [(1.0,), (3.0,)], {"doubled": lambda x: 2 * x}, draw)
        >>> find_failure(lambda x: x**2, task) is None
        True
        >>> found = find_failure(lambda x: x + x, task)
        >>> found.wanted, float(found.got), found.mistake
        (1.0, 2.0, 'doubled')
    """
    own = (*globals().items(),)
    answer, inputs = detach(task.answer), task.draw_inputs()
    asks_for_softmax = _agree(_try(softmax, inputs[-1]), answer(*_copy(inputs[-1])))
    run = _Run(task, perf_counter() + SECONDS, not asks_for_softmax, tuple(restorers), own)
    got = [_call(written, one, run) for one in inputs]
    # Only now: nothing of the reader's runs any more that could look for what is wanted.
    wanted = [answer(*_copy(one)) for one in inputs]
    wrong = [n for n, one in enumerate(got) if not _agree(one, wanted[n])]
    first = wrong[0] if wrong else 0
    changes = not _is_same(_call(written, inputs[first], run), got[first])
    if not wrong and not changes:
        return None
    names = signature(task.answer).parameters
    reason = _find_reason(got[first], wanted[first], changes)
    if reason is None:
        reason = _find_mistake([(inputs[n], got[n]) for n in wrong], task)
    if reason is None:
        reason = _compare_axes(got[first], wanted[first])
    arguments = dict(zip(names, inputs[first], strict=True))
    return Failure(arguments, wanted[first], got[first], reason)


def judge(written: Callable[..., Any], task: Task) -> Figure:
    """A table that says whether a function is right, or on which input it is wrong and how.

    Examples:
        >>> draw = lambda rng: (rng.normal(),)
        >>> task = Task(lambda x: x * x, [(1.0,), (3.0,)], {"doubled": lambda x: 2 * x}, draw)
        >>> judge(lambda x: x**2, task)
        ✓ Right on all 5 inputs
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
        head = make_phrase("tasks", "right", n=len(task.inputs) + DRAWN)
        return Table((head,), None, ((make_phrase("tasks", "same"),),), (False,), None)
    rows: list[tuple[Wording, Wording]] = [
        (_verbatim(name), _show(one)) for name, one in failure.arguments.items()
    ]
    wanted, got = _show_apart(failure.wanted, failure.got)
    rows.append((make_phrase("tasks", "wanted"), wanted))
    rows.append((make_phrase("tasks", "got"), got))
    if failure.mistake:
        rows.append((make_phrase("tasks", "mistake"), failure.mistake))
    index, cells = zip(*rows, strict=True)
    head = make_phrase("tasks", "failed")
    return Table((head,), index, tuple((one,) for one in cells), (False,), None)


def halves(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Whole and half numbers from -2 to 2, which a reader can follow by hand.

    Examples:
        >>> sorted({*halves(np.random.default_rng(0), 9, 9).ravel().tolist()})
        [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0]
    """
    return np.asarray(rng.integers(-4, 5, size=shape) / 2)


# --- what the judge holds itself


def detach(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a listing that finds NumPy and the package, whatever the page's names hold.

    Examples:
        >>> print(detach(eval("lambda x: np.sqrt(x)", {"np": None}))(4.0))
        2.0
    """
    if not isinstance(function, FunctionType):
        return function
    around = function.__globals__
    space: dict[str, Any] = {"__builtins__": builtins}
    for name in _list_names(function.__code__):
        if name in GIVEN:
            space[name] = GIVEN[name]
        elif name in around and not hasattr(builtins, name):  # a reader may have set one
            value = around[name]
            is_own = isinstance(value, FunctionType) and value.__globals__ is around
            space[name] = detach(value) if is_own and value is not function else value
    cells = tuple(CellType(detach(cell.cell_contents)) for cell in function.__closure__ or ())
    made = FunctionType(  # its code is a copy, so that calls of the original are told apart
        function.__code__.replace(), space, function.__name__, function.__defaults__, cells
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _list_names(code: CodeType) -> set[str]:
    """The names that a function and the functions in it take from outside."""
    inner = (_list_names(one) for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*inner)


def _copy(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments that a function may change."""
    return copy.deepcopy(arguments)


# --- a call of what the reader has written


class _Stopped(BaseException):
    """Ends a written function; `except Exception` does not catch it."""


@dataclass
class _Run:
    """Watches the calls of a written function: how long they take, and what they call."""

    task: Task
    deadline: float
    lends_softmax: bool  # unless it is asked for
    restorers: Sequence[Callable[[], None]]
    own: Sequence[tuple[str, Any]]  # what this module held before the first call
    called: str = ""  # a function that does the work in the place of the reader's
    late: bool = False

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """Python calls it for every call, and for every line of what is no library."""
        if event == "call":
            module = frame.f_globals.get("__name__", "")
            if self._does_the_work(frame, module):
                self.called = frame.f_code.co_name
                raise _Stopped
            if module.split(".")[0] in LIBRARIES:
                return None
            if around := AROUND.intersection(frame.f_code.co_names):
                self.called = min(around)
                raise _Stopped
        if perf_counter() > self.deadline:
            self.late = True
            raise _Stopped
        return self.trace

    def find_lost_trace(self) -> None:
        """Refuse a function that has ended its watching and gives a result all the same."""
        if gettrace() != self.trace and not (self.called or self.late):
            self.called = "settrace"

    def _does_the_work(self, frame: FrameType, module: str) -> bool:
        """Whether the model answer is called, or a chapter's function by what is no such one.

        A call passes through the check of the signature, whose conditions are lambdas.
        """
        code, before = frame.f_code, frame.f_back
        if code is self.task.answer.__code__:
            return True
        if not _is_chapter(module) or code.co_name in ("<module>", "<lambda>"):
            return False
        while before and before.f_globals.get("__name__") == checked.__module__:
            before = before.f_back
        if before and _is_chapter(before.f_globals.get("__name__", "")):
            return False
        return not (self.lends_softmax and code is unwrap(softmax).__code__)


def _is_chapter(module: str) -> bool:
    """Whether a module holds the functions of a chapter."""
    package, _, name = module.partition(".")
    return package == "attention_docs" and "." not in name and name not in ("", *HELPERS)


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], run: _Run) -> Any:
    """What a function gives, or why it gives nothing. What it sets in this module ends with it."""
    traced = gettrace()
    result, raised = None, ""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            settrace(run.trace)
            try:
                result = function(*_copy(arguments))
                globals().update(run.own)
                result = _settle(result)
                run.find_lost_trace()
            except BaseException as error:
                globals().update(run.own)
                raised = name_error(error)[:200]
    finally:
        settrace(traced)
        globals().update(run.own)
        for restore in run.restorers:
            restore()
    if run.called:
        said = make_phrase("tasks", "called", name=run.called)
        return NoResult(said, make_phrase("tasks", "forbidden", name=run.called))
    if run.late:
        said = make_phrase("tasks", "late", seconds=int(SECONDS))
        return NoResult(said, make_phrase("tasks", "endless"))
    if raised:
        return NoResult(_verbatim(raised))
    if result is None:
        return NoResult(make_phrase("tasks", "nothing"), make_phrase("tasks", "return"))
    return result


def name_error(error: BaseException) -> str:
    """An exception in a line, whatever its own code makes of its name and its text."""
    name = _get_class_name(type(error))
    try:
        return f"{name}: {error}"
    except BaseException:
        return f"{name}: <exception str() failed>"  # as a traceback has it


# --- what it gives, and what is wanted


def _settle(result: Any) -> Any:
    """A result as an array, which no code of the reader's makes any more, or why it is none."""
    if result is None or isinstance(result, str):
        return result
    if isinstance(result, Iterator):
        return NoResult(_verbatim(type(result).__name__), make_phrase("tasks", "iterator"))
    try:
        found = array(result)
        plain = array(found.tolist()) if found.dtype.kind == "O" else found
        if plain.dtype.kind == "O" and all(isinstance(one, Real | Decimal) for one in plain.flat):
            plain = plain.astype(float)
    except (TypeError, ValueError):
        is_ragged = isinstance(result, list | tuple)
        says = _verbatim(type(result).__name__)
        return NoResult(says, make_phrase("tasks", "ragged") if is_ragged else None)
    if plain.dtype.kind == "O":
        return NoResult(_verbatim(type(result).__name__))
    return found if plain.dtype.kind == "b" else plain  # np.frompyfunc makes objects of numbers


def _agree(got: Any, wanted: Any) -> bool:
    """Whether two results are the same up to rounding; truth values agree with no numbers."""
    if isinstance(got, NoResult | str) or isinstance(wanted, NoResult | str):
        return False
    try:
        first, second = asarray(got), asarray(wanted)
        if first.shape != second.shape or first.dtype.kind not in "biuf":
            return False
        if (first.dtype.kind == "b") != (second.dtype.kind == "b"):
            return False
        slack = CLOSE_SINGLE if first.dtype == np.float32 else CLOSE
        first, second = first.astype(float), second.astype(float)
        return bool(allclose(first, second, rtol=slack, atol=slack, equal_nan=True))
    except (TypeError, ValueError):
        return False


def _is_same(got: Any, before: Any) -> bool:
    """Whether a function gave the same again."""
    if isinstance(got, NoResult) or isinstance(before, NoResult):
        return isinstance(got, NoResult) == isinstance(before, NoResult)
    return _agree(got, before) or not _agree(before, before)  # what is no array is not compared


def _find_reason(got: Any, wanted: Any, changes: bool) -> Wording | None:
    """What is wrong with a result, whatever the task."""
    if isinstance(got, NoResult):
        return got.reason
    if changes:
        return make_phrase("tasks", "changes")
    first, second = asarray(got), asarray(wanted)
    if first.dtype.kind == "c":
        return make_phrase("tasks", "complex")
    if first.shape == second.shape and first.dtype.kind != "b" and second.dtype.kind == "b":
        return make_phrase("tasks", "truth")
    return None


def _compare_axes(got: Any, wanted: Any) -> Wording | None:
    """The shape of a result that has not as many axes as is wanted: its numbers may look alike."""
    if isinstance(got, NoResult | str) or asarray(got).ndim == asarray(wanted).ndim:
        return None
    shapes = {"got": str(asarray(got).shape), "wanted": str(asarray(wanted).shape)}
    return make_phrase("tasks", "axes", **shapes)


def _find_mistake(wrong: Sequence[tuple[tuple[Any, ...], Any]], task: Task) -> str | None:
    """The mistake that gives what is wrong here, on a third of what is wrong or more."""
    shares = {}
    for why, mistake in task.mistakes.items():
        function = detach(mistake)
        alike = [_agree(got, _try(function, arguments)) for arguments, got in wrong]
        shares[why] = sum(alike) / len(alike) if alike[0] else 0
    best = max(shares, key=lambda why: shares[why])
    return best if shares[best] >= 1 / 3 else None


def _try(mistake: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What a known mistake gives."""
    try:
        with np.errstate(all="ignore"):
            return mistake(*_copy(arguments))
    except Exception as error:
        return NoResult(_verbatim(str(error)))


# --- cells


def _verbatim(code: str) -> Wording:
    """A name or a message of Python: the same in all languages."""
    return make_phrase("tasks", "error", message=code)


def _show_apart(wanted: Any, got: Any) -> tuple[Wording, Wording]:
    """Both results, with as many digits as tell them apart."""
    for spec in SPECS:
        shown = _show(wanted, spec), _show(got, spec)
        if shown[0] != shown[1]:
            break
    return shown


def _show(value: Any, spec: str = SPECS[0]) -> Wording:
    """An argument or a result in a cell: its numbers in one line, or its shape if it is large."""
    if isinstance(value, NoResult):
        return value.says
    if isinstance(value, str):
        return _verbatim(value[:200])
    shown = asarray(value)
    if shown.size > MOST_NUMBERS:
        return make_phrase("tasks", "large", shape=str(shown.shape))
    if shown.dtype.kind not in "bOiuf" or not shown.size:
        return _verbatim(re.sub(r"\s+", " ", str(shown)))
    numbers = shown.astype(float)
    is_whole = bool((numbers == numbers.round()).all())
    printed = text(numbers, ".0f" if is_whole else spec)
    return re.sub(r"(?<=\[) +|\n *", "", re.sub(r",\s+", ", ", printed))
