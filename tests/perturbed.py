"""A result that does not come from the function that a block calls: perturb it and look.

Each public function of the package that a section of a listing calls by name has its result made
larger by a thousandth, or a comparison turned around; what the section prints, or draws in words,
must change, or the listing must fail. Where a thousandth is less than the printed digits show, or
both sides of a comparison grow alike, a change of another size in every entry must be seen; where
a section shows shapes alone, another shape.

    python -m tests.perturbed softmax positions      (or all of them: no names, a few minutes)
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import io
import sys
import types
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from attention_docs.site.read.listing import read_listing

ROOT = Path(__file__).parents[1]
THOUSANDTH, UNEVEN, LONGER = "a thousandth", "uneven", "longer"
WAYS = (THOUSANDTH, UNEVEN, LONGER)

CACHE_FILE = {  # sections that rightly show the same: why
    ("positions", "exercise-before", "sinusoids"): "products with themselves are symmetric",
    ("masking", "empty-gradient", "attention"): "it counts NaN alone",
    ("masking", "exercise-2", "attention"): "which outputs move does not depend on their size",
    ("masking", "no-leak", "attention"): "the same: bits that differ are counted",
    ("masking", "empty-row", "apply_mask"): "a row of −∞ stays one",
    ("masking", "underflow", "apply_mask"): "one score is left, and has all the weight",
    ("matrix-form", "exercise-longer", "angles"): "compared with itself",
    ("matrix-form", "longer-key", "angles"): "compared with itself",
    ("matrix-form", "exercise-brackets", "softmax"): "two results that differ still differ",
    ("cross-attention", "written", "causal_mask"): "the mask is the alternative that is not taken",
    ("generation", "waste", "sinusoids"): "how many keys are made again is counted, not which",
    ("generation", "waste", "layer_norm"): "the same",
    ("generation", "latent-cost", "latent_attention"): "its operations are counted",
    ("sequences", "whole-sentence", "attention_parameters"): "a sentence shows it",
    ("transformer-block", "hand-parameters", "multi_head_attention"): "later sections call it",
    ("transformer-block", "hand-parameters", "feed_forward"): "the same",
    ("transformer-block", "too-long", "embed"): "it refuses",
}


def perturb_result(result: Any, way: str) -> Any:
    """A result with other numbers, or a row more; a truth turned around; parts of a tuple each."""
    if isinstance(result, bool):
        return not result
    if isinstance(result, tuple | list):
        return type(result)(perturb_result(one, way) for one in result)
    if isinstance(result, dict):
        return {name: perturb_result(one, way) for name, one in result.items()}
    if isinstance(result, int | Fraction):
        return 2 * result + 1 if way == UNEVEN else result * Fraction(1001, 1000)
    if way == LONGER and getattr(result, "ndim", 0):
        return result[[0, *range(len(result))]]
    kind = str(getattr(result, "dtype", type(result).__name__))
    if "bool" in kind:
        return ~result
    if "int" in kind:
        return result + 1
    if "float" not in kind:
        return result
    if way == THOUSANDTH or not hasattr(result, "shape"):
        return result * (1.001 if way == THOUSANDTH else 1.5)
    places = np.arange(int(np.prod(result.shape)))
    uneven = (0.1 * (places % 7) + 0.05 * (places % 5)).reshape(tuple(result.shape))
    uneven = result.new_tensor(uneven) if is_torch(result) else uneven
    return result * (1.2 + uneven) + uneven


def is_torch(result: Any) -> bool:
    """Whether an array is PyTorch's."""
    return hasattr(result, "numel")


def list_functions(code: str) -> Iterator[Callable[..., Any]]:
    """The public functions of the mathematical modules that a listing imports."""
    for node in ast.walk(ast.parse(code)):
        module = getattr(node, "module", None) or ""
        if isinstance(node, ast.ImportFrom) and module.startswith("attention_docs."):
            if module.split(".")[1] in ("figures", "text", "nn", "locales", "checks"):
                continue
            for alias in node.names:
                found = getattr(importlib.import_module(module), alias.name)
                if inspect.isfunction(found):
                    yield found


@contextlib.contextmanager
def replace_function(function: Callable[..., Any], way: str) -> Iterator[None]:
    """The package with a perturbed function, wherever a module has imported it."""

    @functools.wraps(function)
    def other(*args: Any, **options: Any) -> Any:
        return perturb_result(function(*args, **options), way)

    held = [
        (module, name)
        for path, module in list(sys.modules.items())
        if path.startswith("attention_docs") and isinstance(module, types.ModuleType)
        for name, one in list(vars(module).items())
        if one is function
    ]
    for module, name in held:
        setattr(module, name, other)
    try:
        yield
    finally:
        for module, name in held:
            setattr(module, name, function)


def run_sections(sections: dict[str, str], last: str = "") -> dict[str, str]:
    """What each section shows: its text, and its figure in words; of one that fails, the error."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = {}
    for name, code in sections.items():
        tree = ast.parse(code)
        drawn = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        text = io.StringIO()
        try:
            with contextlib.redirect_stdout(text):
                exec(compile(tree, name, "exec"), names)
                value = drawn and eval(compile(ast.Expression(drawn.value), name, "eval"), names)
        except Exception as error:
            return shown | dict.fromkeys([one for one in sections if one not in shown], repr(error))
        shown[name] = text.getvalue() + (value.alt("en") if hasattr(value, "alt") else "")
        if name == last:
            break
    return shown


def find_unchanged_sections(listing: Path) -> list[str]:
    """The sections that show the same whatever a function that they call gives."""
    sections = {name: one.code for name, one in read_listing(listing).items()}
    whole = run_sections(sections)
    found = []
    for function in dict.fromkeys(list_functions("\n".join(sections.values()))):
        calls = [
            name
            for name, code in sections.items()
            if any(
                isinstance(node, ast.Call) and ast.unparse(node.func) == function.__name__
                for node in ast.walk(ast.parse(code))
            )
            and any(character.isdigit() for character in whole[name])
        ]
        left = set(calls)
        for way in WAYS:
            if left:
                with replace_function(function, way):
                    moved = run_sections(sections, max(left, key=list(sections).index))
                left = {name for name in left if moved.get(name) == whole[name]}
        found += [
            f"docs/listings/{listing.name}: section {name} calls {function.__name__}, and shows "
            "the same whatever it gives"
            for name in sorted(left)
            if (listing.stem, name, function.__name__) not in CACHE_FILE
        ]
    return found


if __name__ == "__main__":
    chosen = sys.argv[1:] or sorted(path.stem for path in (ROOT / "docs/listings").glob("*.py"))
    faults = [
        one
        for name in chosen
        for one in find_unchanged_sections(ROOT / "docs/listings" / f"{name}.py")
    ]
    print("\n".join(faults) or "every section moves with the functions that it calls")
    sys.exit(bool(faults))
