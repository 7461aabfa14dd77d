"""Run one page's code, in a process of its own, and catch what it prints.

The code is compiled under its listing's name and line numbers, so a traceback shows real lines.
Whatever is rounded for the reader is watched: a digit that a tiny change would alter is reported.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import cProfile
import inspect
import io
import linecache
import multiprocessing
import os
import signal
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from attention_docs.site.run.result import Code, Drawing, Job, Result
from attention_docs.text import observers, step, text, unsigned_zero

PACKAGE_FOLDER = str(Path(__file__).parents[2])
SUPPORT = tuple(f"attention_docs.{name}." for name in ("site", "text", "checks", "words"))
"""Modules that take part in everything and explain nothing."""

STEPS = 16
"""A digit must survive a change of its value by this many rounding steps of its dtype."""


LIMIT = 600
"""Seconds that a page may take, on a slow machine too: an endless loop is a fault, not a wait."""


def end_with_parent() -> None:
    """A process that is asked by nobody ends: the build may be killed without a word."""
    parent = multiprocessing.parent_process()
    assert parent

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Stop what takes too long at the line where it is, on systems that can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"the page took more than {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run_page(job: Job) -> list[Result]:
    """Run the blocks in order; the list ends with the first one that fails."""
    with _limited(int(os.environ.get("ATTENTION_DOCS_LIMIT", LIMIT))):
        return _run_blocks(job)


def _run_blocks(job: Job) -> list[Result]:
    warnings.simplefilter("error")  # a warning in a published block is a fault in it
    module = types.ModuleType("listing")
    sys.modules["listing"] = module  # dataclasses and pickles of a listing look themselves up there
    seeds: list[str] = []
    _record_seeds(seeds, with_torch=job.torch)
    chance = _Chance(job.torch)
    results: list[Result] = []
    for block, values in zip(job.blocks, job.values, strict=True):
        seeds.clear()
        fragile: list[str] = []
        watch = Watch(fragile)
        observers[:] = [watch.observe]
        module.__dict__.update(print=watch.print, __observed__=watch.formatted)
        result = _run_block(block, module.__dict__, job.languages)
        result = replace(result, seeds=tuple(seeds))
        result = replace(result, error=result.error or chance.drawn(seeds))
        if not result.error:
            shown, errors = _evaluated(values, module.__dict__)
            result = replace(result, values=shown, value_errors=errors)
        results.append(replace(result, fragile=tuple(fragile)))
        if result.error:
            break
    return results


def _run_block(block: list[Code], namespace: dict[str, Any], languages: tuple[str, ...]) -> Result:
    printed = io.StringIO()
    functions: set[str] = set()
    figure: dict[str, Drawing] = {}
    error = ""
    shown: Any = None
    try:
        with contextlib.redirect_stdout(printed), _tracing(functions):
            for code in block:
                shown = _run_section(code, namespace)
        if hasattr(shown, "svg") and hasattr(shown, "alt"):
            figure = {lang: Drawing(shown.svg(lang), shown.alt(lang)) for lang in languages}
    except BaseException as raised:
        error = describe(raised)
    text = printed.getvalue().rstrip("\n")
    return Result(text=text, figure=figure, functions=tuple(sorted(functions)), error=error)


def _run_section(code: Code, namespace: dict[str, Any]) -> Any:
    """Execute a section; the value of its last line where that is an expression."""
    # Blank lines in front give every statement the line number that it has in the listing.
    tree = ast.parse("\n" * (code.first_line - 1) + code.code, code.listing)
    linecache.checkcache(code.listing)
    tree = ast.fix_missing_locations(Observe().visit(tree))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, code.listing, "exec"), namespace)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), code.listing, "eval"), namespace)


def _evaluated(
    values: list[tuple[str, str]], namespace: dict[str, Any]
) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    """Inline values as text, and what went wrong, by expression and format."""
    shown, errors = {}, {}
    for expression, spec in values:
        try:
            value = eval(compile(expression, "<inline value>", "eval"), namespace)
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
        if frame.filename != __file__ and "/site/run/worker.py" not in frame.filename
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


@contextlib.contextmanager
def _tracing(functions: set[str]) -> Iterator[None]:
    """Collect the package's public functions that are called."""
    # In C: a profile function in Python would take as long as the code that it watches.
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        for entry in profile.getstats():
            code = entry.code
            # Without CO_OPTIMIZED it is the body of a module or a class.
            if isinstance(code, types.CodeType) and code.co_flags & inspect.CO_OPTIMIZED:
                module = _module_of(code.co_filename)
                name = _public_name(module, code.co_qualname) if module else ""
                if name and not name.startswith(SUPPORT):
                    functions.add(name)


def _module_of(file: str) -> str:
    """The name of the package's module in this file, or "" for any other file."""
    if not file.startswith(PACKAGE_FOLDER + os.sep):
        return ""
    path = Path(file).relative_to(Path(PACKAGE_FOLDER).parent).with_suffix("")
    return ".".join(path.parts).removesuffix(".__init__")


def _public_name(module: str, qualname: str) -> str:
    """The name that the API page documents, or "" for what it does not.

    A module of a package inside this one (figures, nn) is documented by what the package exports.
    """
    if any(part.startswith(("_", "<")) for part in qualname.split(".")):
        return ""
    package = module.rsplit(".", 1)[0]
    if "." not in package:
        return f"{module}.{qualname}"
    exported = getattr(sys.modules.get(package), "__all__", ())
    return f"{package}.{qualname}" if qualname.split(".")[0] in exported else ""


class _Chance:
    """Watches the generators that are shared by everything in a process."""

    def __init__(self, with_torch: bool) -> None:
        self.with_torch = with_torch
        self.seeded = False  # torch's, by a block of this page
        self.before = self._states()

    def _states(self) -> tuple[bytes, ...]:
        import random

        import numpy as np

        states = [repr(random.getstate()).encode(), repr(np.random.get_state()).encode()]
        if self.with_torch:
            import torch

            states.append(torch.get_rng_state().numpy().tobytes())
        return tuple(states)

    def drawn(self, seeds: list[str]) -> str:
        """What is wrong if a block has drawn from one of them without a seed, or ""."""
        self.seeded = self.seeded or any(seed.startswith("torch.manual_seed") for seed in seeds)
        before, self.before = self.before, self._states()
        names = ("random", "np.random", "torch")
        for name, old, new in zip(names, before, self.before, strict=False):
            if old != new and not (name == "torch" and self.seeded):
                return f"ValueError: a published block states its seed, got draws from {name}"
        return ""


def _record_seeds(seeds: list[str], with_torch: bool) -> None:
    """Note every seed that is set, and refuse a generator without one."""
    import numpy as np

    make: Callable[..., Any] = np.random.default_rng

    def default_rng(seed: Any = None) -> Any:
        if seed is None:
            raise ValueError("a published block states its seed: default_rng(0), got default_rng()")
        seeds.append(f"numpy.random.default_rng({seed})")
        return make(seed)

    np.random.default_rng = default_rng
    if with_torch:
        import torch

        seed_all, plain = torch.manual_seed, torch.Generator

        def manual_seed(seed: int) -> Any:
            seeds.append(f"torch.manual_seed({seed})")
            return seed_all(seed)

        class Generator(plain):  # type: ignore[misc]
            def manual_seed(self, seed: int) -> Any:
                seeds.append(f"torch.Generator().manual_seed({seed})")
                return super().manual_seed(seed)

        torch.manual_seed = manual_seed
        torch.Generator = Generator  # type: ignore[misc]
