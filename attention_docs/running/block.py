"""Run a block: the same code for the build and for a reader's browser.

The code is compiled under its listing's name and line numbers, so a traceback shows real lines.
Whatever is rounded for the reader is watched: a digit that a tiny change would alter is reported.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import sys
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from attention_docs.colours import list_roles
from attention_docs.locales import Locale
from attention_docs.running.exact import EXACT, format_exact
from attention_docs.running.result import Check, Code, Drawing, File, Frame, Result
from attention_docs.running.watch import FormatStringTransformer, PrintedTexts, Watch, refuse_floats
from attention_docs.text import TextFile, check_observers, observers, text

if TYPE_CHECKING:
    from attention_docs.figures.figure import Language

RUNNERS = ("attention_docs/running/", "attention_docs/site/run/")  # left out of tracebacks
PROVIDED = ("print", "__formatted__")
"""Names that every block finds, and that each run sets anew."""


class BlockRunner:
    """The blocks of a page, one after another, in one namespace."""

    def __init__(
        self,
        languages: Sequence[str],
        *,
        live: bool = False,
        strings: Mapping[str, Mapping[str, str]] | None = None,
        locales: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """A reader's browser needs neither alternative texts of their own nor doubtful digits.

        `languages` begins with that of the code; `strings` are those of the listing in the others,
        `locales` the locale strings of languages that have no file of them.
        """
        # Figures load NumPy, which a build that runs nothing does without.
        from attention_docs.figures.figure import Language

        self.languages = {
            lang: Language(
                lang,
                (strings or {}).get(lang),
                Locale(locales[lang], lang) if locales and lang in locales else None,
            )
            for lang in languages
        }
        self.first = languages[0]
        self.live = live
        self.check_observers: list[Callable[[str, bool], None]] = []  # others than its own
        self.value: Any = None  # of the last block's last line
        self.shown: Any = None  # the same if it is a figure
        module = types.ModuleType("listing")
        sys.modules["listing"] = module  # dataclasses and pickles of a listing look themselves up
        self.namespace: dict[str, Any] = module.__dict__

    def run(self, block: Sequence[Code], *, draws: bool = True) -> Result:
        """Run a block; return what it printed and drew, or the error that stopped it."""
        watch = self._install_watch(Watch(self.live))
        printed = PrintedTexts(self.languages)
        self.namespace.update(print=watch.make_print(printed), __formatted__=watch.format_string)
        figure: dict[str, Drawing] = {}
        files: tuple[File, ...] = ()
        known = list(self.namespace.values())
        error = ""
        self.value = self.shown = None
        try:
            with contextlib.redirect_stdout(printed.first):
                for code in block:
                    self.value = _run_section(code, self.namespace)
            if hasattr(self.value, "svg") and hasattr(self.value, "alt"):
                self.shown = self.value
            if draws:
                figure = self.draw_figure(self.shown)
            files = self._find_files(known)
        except BaseException as raised:
            error = describe_error(raised)
        finally:
            check_observers.clear()
        texts = printed.texts
        text = texts.pop(self.first)
        return Result(
            text=text,
            translations={lang: other for lang, other in texts.items() if other != text},
            figure=figure,
            files=files,
            checks=self._translate_checks(watch.checks),
            error=error,
            fragile=tuple(watch.fragile),
            untranslated=self._collect_untranslated(),
        )

    def _translate_checks(self, checks: Sequence[tuple[str, bool]]) -> tuple[Check, ...]:
        return tuple(
            Check(
                {lang: own.translate_label(statement) for lang, own in self.languages.items()},
                holds,
            )
            for statement, holds in checks
        )

    def _collect_untranslated(self) -> tuple[tuple[str, str], ...]:
        """The strings that had no translation, by language; each is named once."""
        found = []
        for lang, own in self.languages.items():
            found += [(lang, missing) for missing in own.translator.untranslated]
            own.translator.untranslated.clear()
        return tuple(found)

    def _find_files(self, known: list[Any]) -> tuple[File, ...]:
        """The texts for the reader that were not there before."""
        return tuple(
            File(one.name, one.text, variable)
            for variable, one in self.namespace.items()
            if isinstance(one, TextFile) and not any(one is old for old in known)
        )

    def add_values(self, result: Result, values: Sequence[tuple[str, str]]) -> Result:
        """The result with the inline values that follow its block."""
        watch = self._install_watch(Watch(self.live, list(result.fragile)))
        shown, errors = _evaluate_values(values, self.namespace)
        translated = {
            lang: changed
            for lang, own in self.languages.items()
            if lang != self.first and (changed := _translate_values(shown, own))
        }
        return replace(
            result,
            values={formatted: str(value) for formatted, value in shown.items()},
            translated_values=translated,
            value_errors=errors,
            fragile=tuple(watch.fragile),
            untranslated=(*result.untranslated, *self._collect_untranslated()),
        )

    def draw_figure(self, shown: Any) -> dict[str, Drawing]:
        """A figure in each language; its text is a part of the drawing too."""
        if shown is None:
            return {}
        return {lang: self._draw_in_language(shown, own) for lang, own in self.languages.items()}

    def _draw_in_language(self, shown: Any, lang: Language) -> Drawing:
        cells, svg = shown.cells(lang) if hasattr(shown, "cells") else (), shown.svg(lang)
        if self.live:
            return Drawing(svg, shown.alt(lang) if cells else "", cells)
        about = tuple(shown.list_labels(lang)), tuple(list_roles(svg))
        frames = tuple(
            Frame(frame.at, frame.caption, len(frame.labels)) for frame in shown.list_frames(lang)
        )
        return Drawing(svg, shown.alt(lang), cells, *about, frames)

    def _install_watch(self, watch: Watch) -> Watch:
        observers[:] = [] if self.live else [watch.observe]
        check_observers[:] = [watch.observe_check, *self.check_observers]
        return watch


def _run_section(code: Code, namespace: dict[str, Any]) -> Any:
    """Execute a section; the value of its last line where that is an expression."""
    linecache.checkcache(code.listing)
    statements, last = _compile_section(code)
    exec(statements, namespace)
    return eval(last, namespace) if last else None


@lru_cache(maxsize=256)  # a reader who turns a knob runs the same blocks again and again
def _compile_section(code: Code) -> tuple[types.CodeType, types.CodeType | None]:
    """A section, and its last line apart where that is an expression."""
    # Blank lines in front give every statement the line number that it has in the listing.
    tree = ast.parse("\n" * (code.first_line - 1) + code.code, code.listing)
    tree = ast.fix_missing_locations(FormatStringTransformer().visit(tree))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    statements = compile(tree, code.listing, "exec")
    if last is None:
        return statements, None
    assert isinstance(last, ast.Expr)
    return statements, compile(ast.Expression(last.value), code.listing, "eval")


@lru_cache(maxsize=1024)
def _compile_expression(expression: str) -> types.CodeType:
    return compile(expression, "<inline value>", "eval")


def _translate_values(
    values: Mapping[tuple[str, str], str], lang: Language
) -> dict[tuple[str, str], str]:
    """The inline values that are strings of the listing, where they read otherwise."""
    texts = {formatted: lang.translator.translate(value) for formatted, value in values.items()}
    return {formatted: text for formatted, text in texts.items() if text != values[formatted]}


def _evaluate_values(
    values: Sequence[tuple[str, str]], namespace: dict[str, Any]
) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    """Inline values as text, and what went wrong, by expression and format."""
    shown, errors = {}, {}
    for expression, spec in values:
        try:
            value = eval(_compile_expression(expression), namespace)
            if spec == EXACT:
                shown[expression, spec] = format_exact(value)
                continue
            if not spec:
                refuse_floats(value)
            shown[expression, spec] = text(value, spec) if spec else _format_unspecified(value)
        except BaseException as error:
            errors[expression, spec] = describe_error(error)
    return shown, errors


def describe_error(error: BaseException) -> str:
    """The error in one line, then the traceback from the listing inwards."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not any(folder in frame.filename for folder in RUNNERS)
    ]
    head = "".join(traceback.format_exception_only(error)).strip()
    return head + "\n" + "".join(traceback.format_list(frames)).rstrip()


def _format_unspecified(value: Any) -> str:
    """A value without a format; a string keeps the template that it was made of."""
    return value if isinstance(value, str) else str(value)
