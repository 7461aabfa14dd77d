"""Run code that a reader has written: it prints and shows values as an interactive session does.

What the site publishes states the digits of each number. A reader who tries something has not
learnt that rule, so floats have four digits, the value of the last line is shown, and
`softmax?` shows the documentation of `softmax`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from attention_docs.locales.strings import FormattedString
from attention_docs.running.block import BlockRunner
from attention_docs.running.result import Code, Result
from attention_docs.running.watch import PrintedTexts, Watch, refuse_floats
from attention_docs.text import text

QUESTION = re.compile(r"(?m)^([ \t]*)([A-Za-z_][\w.]*)\?+[ \t]*$")  # softmax?
MOST_NUMBERS = 1000  # of an array that is shown whole
SMALL, LARGE = 1e-3, 1e6  # between them four decimals say enough


def replace_questions(code: str) -> str:
    r"""Code in which `softmax?` is a call of `help`.

    Examples:
        >>> replace_questions("x = 1\nsoftmax?")
        'x = 1\nhelp(softmax)'
    """
    return QUESTION.sub(r"\1help(\2)", code)


class LiveWatch(Watch):
    """Lets floats be printed without a stated number of digits, and leaves all else as it is.

    A block as published has no such float. A function that a reader has edited may have one,
    whatever block calls it.
    """

    def format_string(self, template: str, *parts: tuple[Any, str]) -> FormattedString:
        """An f-string, in which a float without a format spec has four digits."""
        shown = ((value, spec) if spec else (self.format_value(value), "") for value, spec in parts)
        return FormattedString(template, *shown)

    def make_print(self, printed: PrintedTexts) -> Callable[..., None]:
        """The `print` of a block."""

        def print_values(*values: Any, **options: Any) -> None:
            printed.print(*map(self.format_value, values), **options)

        return print_values

    def format_value(self, value: Any) -> Any:
        """The value, or its text where it holds a float."""
        try:
            refuse_floats(value)
        except TypeError:
            return format_value(value)
        return value


class ReadersWatch(LiveWatch):
    """Prints every value of a block that a reader has edited as an interactive session does."""

    def format_value(self, value: Any) -> str:
        return format_value(value)


class InteractiveRunner(BlockRunner):
    """Runs the blocks of a page; those that a reader has edited as in an interactive session."""

    is_readers = False  # whether the block that runs is the reader's

    def run_readers(self, block: Code, published: str, *, draws: bool) -> Result:
        """Run a block that a reader has edited; a last line that was not published is shown."""
        self.is_readers = True
        self.namespace["help"] = lambda thing: self.namespace["print"](describe(thing))
        shows = _find_last_expression(block.code) != _find_last_expression(published)
        try:
            result = self.run([block], draws=draws)
        finally:
            self.is_readers = False
        if not shows or result.error or self.shown is not None or self.value is None:
            return result
        is_text = isinstance(self.value, str)
        shown = repr(self.value) if is_text else format_value(self.value)
        return replace(result, text="\n".join(filter(None, [result.text, shown])))

    def _install_watch(self, watch: Watch) -> Watch:
        kind = ReadersWatch if self.is_readers else LiveWatch
        return super()._install_watch(kind(watch.live))


def _find_last_expression(code: str) -> str:
    """The last line of code if it is an expression, else ""; as its syntax, without spaces."""
    try:
        body = ast.parse(code).body
    except SyntaxError:  # reported where the code runs
        return ""
    return ast.dump(body[-1]) if body and isinstance(body[-1], ast.Expr) else ""


def format_value(value: Any) -> str:
    """A value as text: floats, arrays and collections of them with four digits.

    Examples:
        >>> print(format_value(0.5), format_value([0.1, 2]), format_value("a"), format_value(True))
        0.5000 [0.1000, 2] a True
        >>> format_value({"a": (0.25,)}), format_value(1e-7), format_value(0.0)
        ("{'a': (0.2500,)}", '1.000e-07', '0.0000')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | set | frozenset | dict):
        return _format_collection(value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return _format_array(value)
    if isinstance(value, float):
        return text(value, _choose_spec([value]))
    return str(value)


def _format_collection(values: Any) -> str:
    def format_inner(one: Any) -> str:
        return repr(one) if isinstance(one, str) else format_value(one)

    if isinstance(values, Mapping):
        pairs = (f"{format_inner(key)}: {format_inner(one)}" for key, one in values.items())
        return f"{{{', '.join(pairs)}}}"
    if not values:
        return repr(values)
    inner = ", ".join(map(format_inner, values))
    if isinstance(values, list):
        return f"[{inner}]"
    if isinstance(values, tuple):
        return f"({inner}{',' * (len(values) == 1)})"
    return f"{{{inner}}}"


def _format_array(array: Any) -> str:
    """An array as the page prints its own, or its ends where it is long."""
    kind = array.dtype.kind
    if kind not in "fiub" or array.size == 0:
        return str(array)
    if array.size > MOST_NUMBERS:
        return f"{array}\nshape {array.shape}"
    numbers = [float(one) for one in array.ravel()]
    return text(array, _choose_spec(numbers) if kind == "f" else "" if kind == "b" else "d")


def _choose_spec(numbers: list[float]) -> str:
    """Four decimals, or four digits and a power of ten where all are small or one is large."""
    sizes = [abs(one) for one in numbers if one and abs(one) != float("inf")]
    return ".4f" if not sizes or SMALL <= max(sizes) < LARGE else ".3e"


def describe(thing: Any) -> str:
    """The signature and the documentation of something, as `help` shows them.

    Examples:
        >>> def double(x):
        ...     "Twice x."
        >>> print(describe(double))
        double(x)
        Twice x.
    """
    name = getattr(thing, "__name__", type(thing).__name__)
    try:
        head = f"{name}{inspect.signature(thing)}"
    except (TypeError, ValueError):  # no function, or one without a signature
        head = name
    return f"{head}\n{inspect.getdoc(thing) or ''}".rstrip()
