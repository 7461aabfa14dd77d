"""How a block runs: the same code for the build and for a reader's browser.

The code is compiled under its listing's name and line numbers, so a traceback shows real lines.
Whatever is rounded for the reader is watched: a digit that a tiny change would alter is reported.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import linecache
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from attention_docs.site.run.result import Code, Drawing, File, Result
from attention_docs.text import TextFile, observers, step, text, unsigned_zero

STEPS = 16
"""A digit must survive a change of its value by this many rounding steps of its dtype."""


class Running:
    """The blocks of a page, one after another, in one namespace."""

    def __init__(self, languages: Sequence[str], *, live: bool = False) -> None:
        """A reader's browser needs neither alternative texts of their own nor doubtful digits."""
        self.languages = languages
        self.live = live
        self.shown: Any = None  # what the last block draws
        module = types.ModuleType("listing")
        sys.modules["listing"] = module  # dataclasses and pickles of a listing look themselves up
        self.namespace: dict[str, Any] = module.__dict__

    def run(self, block: Sequence[Code], *, draws: bool = True) -> Result:
        """Run a block: what it printed and drew, or what stopped it."""
        watch = self._watch([])
        self.namespace.update(print=watch.print, __observed__=watch.formatted)
        printed = io.StringIO()
        figure: dict[str, Drawing] = {}
        files: tuple[File, ...] = ()
        known = list(self.namespace.values())
        error = ""
        shown: Any = None
        try:
            with contextlib.redirect_stdout(printed):
                for code in block:
                    shown = _run_section(code, self.namespace)
            self.shown = shown if hasattr(shown, "svg") and hasattr(shown, "alt") else None
            if draws:
                figure = self.drawn(self.shown)
            files = self._files(known)
        except BaseException as raised:
            error = describe(raised)
        text = printed.getvalue().rstrip("\n")
        fragile = tuple(watch.fragile)
        return Result(text=text, figure=figure, files=files, error=error, fragile=fragile)

    def _files(self, known: list[Any]) -> tuple[File, ...]:
        """The texts for the reader that were not there before."""
        return tuple(
            File(one.name, one.text, variable)
            for variable, one in self.namespace.items()
            if isinstance(one, TextFile) and not any(one is old for old in known)
        )

    def evaluated(self, result: Result, values: Sequence[tuple[str, str]]) -> Result:
        """The result with the inline values that follow its block."""
        watch = self._watch(result.fragile)
        shown, errors = _evaluated(values, self.namespace)
        return replace(result, values=shown, value_errors=errors, fragile=tuple(watch.fragile))

    def drawn(self, shown: Any) -> dict[str, Drawing]:
        """A figure in each language; its text is a part of the drawing too."""
        if shown is None:
            return {}
        return {
            lang: Drawing(shown.svg(lang), "" if self.live else shown.alt(lang))
            for lang in self.languages
        }

    def _watch(self, fragile: Sequence[str]) -> Watch:
        watch = Watch(list(fragile))
        observers[:] = [] if self.live else [watch.observe]
        return watch


def _run_section(code: Code, namespace: dict[str, Any]) -> Any:
    """Execute a section; the value of its last line where that is an expression."""
    linecache.checkcache(code.listing)
    statements, last = _compiled(code)
    exec(statements, namespace)
    return eval(last, namespace) if last else None


@lru_cache(maxsize=256)  # a reader who turns a knob runs the same blocks again and again
def _compiled(code: Code) -> tuple[types.CodeType, types.CodeType | None]:
    """A section, and its last line apart where that is an expression."""
    # Blank lines in front give every statement the line number that it has in the listing.
    tree = ast.parse("\n" * (code.first_line - 1) + code.code, code.listing)
    tree = ast.fix_missing_locations(Observe().visit(tree))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    statements = compile(tree, code.listing, "exec")
    if last is None:
        return statements, None
    assert isinstance(last, ast.Expr)
    return statements, compile(ast.Expression(last.value), code.listing, "eval")


@lru_cache(maxsize=1024)
def _expression(expression: str) -> types.CodeType:
    return compile(expression, "<inline value>", "eval")


def _evaluated(
    values: Sequence[tuple[str, str]], namespace: dict[str, Any]
) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    """Inline values as text, and what went wrong, by expression and format."""
    shown, errors = {}, {}
    for expression, spec in values:
        try:
            value = eval(_expression(expression), namespace)
            if not spec:
                _refuse_floats(value)
            shown[expression, spec] = text(value, spec) if spec else str(value)
        except BaseException as error:
            errors[expression, spec] = describe(error)
    return shown, errors


def describe(error: BaseException) -> str:
    """The error in one line, then the traceback from the listing inwards."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/site/run/" not in frame.filename
    ]
    head = "".join(traceback.format_exception_only(error)).strip()
    return head + "\n" + "".join(traceback.format_list(frames)).rstrip()


class Observe(ast.NodeTransformer):
    """Let every number that an f-string formats pass through `Watch.formatted`."""

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        """Wrap the value; the format spec stays what it was."""
        self.generic_visit(node)
        if node.conversion == -1:
            spec = node.format_spec or ast.Constant("")
            call = ast.Call(ast.Name("__observed__", ast.Load()), [node.value, spec], [])
            node.value = ast.copy_location(call, node.value)
        return node


class Watch:
    """Sees what is rounded for the reader; notes each digit that might not hold elsewhere."""

    def __init__(self, fragile: list[str]) -> None:
        self.fragile = fragile

    def observe(
        self,
        value: Any,
        spec: str,
        rounding_step: float,
        show: Callable[[str], str] = unsigned_zero,
    ) -> None:
        """Note the value if a change by a few rounding steps would print something else."""
        if not _is_float(value) or value in (float("inf"), -float("inf")) or value == 0:
            return
        value, slack = float(value), STEPS * rounding_step * max(1.0, abs(float(value)))
        shown = {show(format(near, spec)) for near in (value - slack, value, value + slack)}
        if len(shown) > 1:
            self.fragile.append(f"{value!r} as {spec}: {' or '.join(sorted(shown))}")

    def formatted(self, value: Any, spec: str) -> Any:
        """What an f-string formats: a float needs a format spec."""
        if not spec:
            _refuse_floats(value)
        elif _is_float(value):
            self.observe(value, spec, step(value), show=str)  # an f-string keeps the sign of zero
        return value

    def print(self, *values: Any, **options: Any) -> None:
        """The `print` of a block: a float needs a stated number of digits."""
        for value in values:
            _refuse_floats(value)
        builtins.print(*values, **options)


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or "float" in str(getattr(value, "dtype", ""))


def _refuse_floats(value: Any) -> None:
    if isinstance(value, list | tuple | set):
        for one in value:
            _refuse_floats(one)
    elif isinstance(value, dict):
        _refuse_floats([*value, *value.values()])
    elif _is_float(value):
        raise TypeError(
            "floats are printed with a stated number of digits: "
            f'text(x, ".4f") or f"{{x:.4f}}"; got {type(value).__name__}'
        )
