"""Record what a block prints, rounds and checks while it runs."""

from __future__ import annotations

import ast
import builtins
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attention_docs.locales.strings import FormattedString
from attention_docs.running.result import STEPS
from attention_docs.text import find_rounding_step, unsigned_zero

if TYPE_CHECKING:
    from attention_docs.figures.figure import Language


LARGEST = 64 * 1024
"""Bytes that a block prints at most: a page holds all of it, and a reader looks at it."""


class Buffer(io.StringIO):
    """What was printed, which ends with an error before it is too large for a page."""

    size = 0

    def write(self, text: str, /) -> int:
        """Take one more piece."""
        self.size += len(text.encode(errors="surrogatepass"))
        if self.size > LARGEST:
            raise ValueError(
                f"a block prints at most {LARGEST:,} bytes, got more: "
                "show a part of it, or publish it as a TextFile"
            )
        return super().write(text)


class PrintedTexts:
    """What a block prints, in each language: its strings are translated, its numbers are not."""

    def __init__(self, languages: Mapping[str, Language]) -> None:
        self.languages = languages
        self.buffers = {lang: Buffer() for lang in languages}
        self.first = next(iter(self.buffers.values()))

    def print(self, *values: Any, **options: Any) -> None:
        """The `print` of a block."""
        if options.get("file") is not None:
            builtins.print(*values, **options)
            return
        for lang, buffer in self.buffers.items():
            translate = self.languages[lang].translator.translate_value
            texts = values if buffer is self.first else map(translate, values)
            builtins.print(*texts, **{**options, "file": buffer})

    @property
    def texts(self) -> dict[str, str]:
        """What was printed, by language."""
        return {lang: buffer.getvalue().rstrip("\n") for lang, buffer in self.buffers.items()}


class FormatStringTransformer(ast.NodeTransformer):
    """Let every f-string pass through `Watch.format_string`, with its template and its parts."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """A call with the template, then a value and its format spec for each place."""
        self.generic_visit(node)
        template, parts = "", []
        for piece in node.values:
            if isinstance(piece, ast.Constant):
                template += str(piece.value).replace("{", "{{").replace("}", "}}")
                continue
            template += "{}"
            parts.append(ast.Tuple(list(_value_and_spec(piece)), ast.Load()))
        call = ast.Call(ast.Name("__formatted__", ast.Load()), [ast.Constant(template), *parts], [])
        return ast.copy_location(call, node)


def _value_and_spec(piece: ast.expr) -> tuple[ast.expr, ast.expr]:
    """The value and the format spec of a place; a conversion such as `!r` is done first."""
    assert isinstance(piece, ast.FormattedValue)
    spec = piece.format_spec or ast.Constant("")
    if piece.conversion == -1:
        return piece.value, spec
    function = ast.Name({"r": "repr", "s": "str", "a": "ascii"}[chr(piece.conversion)], ast.Load())
    return ast.Call(function, [piece.value], []), spec


@dataclass
class Watch:
    """Observe rounding for the reader; record each digit that may differ on another machine.

    Attributes:
        live: whether a reader's own code runs, in which nothing is doubtful.
        fragile: the digits that a tiny change of a value would alter.
        checks: statements that the block checked, and whether they hold.
    """

    live: bool = False
    fragile: list[str] = field(default_factory=list)
    checks: list[tuple[str, bool]] = field(default_factory=list)

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

    def observe_check(self, statement: str, holds: bool) -> None:
        """Note a check; one that fails stops the build, and is shown to a reader who edits."""
        if not holds and not self.live:
            raise AssertionError(f"check failed: {statement}")
        self.checks.append((statement, holds))

    def format_string(self, template: str, *parts: tuple[Any, str]) -> FormattedString:
        """An f-string: a float in it needs a format spec."""
        for value, spec in parts:
            if not spec:
                refuse_floats(value)
            elif not self.live and _is_float(value):
                # An f-string keeps the sign of zero.
                self.observe(value, spec, find_rounding_step(value), show=str)
        return FormattedString(template, *parts)

    def make_print(self, printed: PrintedTexts) -> Callable[..., None]:
        """The `print` of a block: a float needs a stated number of digits."""

        def print_values(*values: Any, **options: Any) -> None:
            for value in values:
                refuse_floats(value)
            printed.print(*values, **options)

        return print_values


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or "float" in str(getattr(value, "dtype", ""))


def refuse_floats(value: Any) -> None:
    """TypeError for a float, or for a collection that holds one."""
    if isinstance(value, list | tuple | set):
        for one in value:
            refuse_floats(one)
    elif isinstance(value, dict):
        refuse_floats([*value, *value.values()])
    elif _is_float(value):
        raise TypeError(
            "floats are printed with a stated number of digits: "
            f'text(x, ".4f") or f"{{x:.4f}}"; got {type(value).__name__}'
        )
