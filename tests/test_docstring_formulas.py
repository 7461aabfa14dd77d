"""The formulas in docstrings are computed against the functions that they document.

tests/docstring_names.py says what their symbols stand for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from attention_docs.site.read.syntax import DISPLAY
from tests.conftest import ROOT
from tests.docstring_names import DISPLAYS, SENTENCES, UNREAD
from tests.test_result_formulas import check_formulas
from tests.tex import check_display

SEEDS = range(4)
PACKAGE = ROOT / "attention_docs"


@cache
def documented() -> dict[str, str]:
    """The docstrings that hold a display or are read otherwise, by `module.function`."""
    files = [*PACKAGE.glob("*.py"), *(PACKAGE / "nn").glob("*.py")]
    found = {name: text for file in sorted(files) for name, text in _docstrings(file)}
    return {name: text for name, text in found.items() if "$$" in text or name in SENTENCES}


def _docstrings(file: Path) -> Iterator[tuple[str, str]]:
    module = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield f"{module}.{node.name}", ast.get_docstring(node) or ""


@pytest.mark.parametrize("name", documented())
def test_the_formulas_of_a_docstring_hold(name: str) -> None:
    displays = DISPLAY.findall(documented()[name])
    for seed in SEEDS:
        computed = False
        for display in displays:
            names = DISPLAYS[name](np.random.default_rng(seed)) if name in DISPLAYS else {}
            lines, wrong = check_display(display, names)
            assert not wrong
            computed = computed or any(known for _, known in lines)
        if displays:
            described = (
                f"give {name} its names or a reason in tests/docstring_names.py, and not both"
            )
            assert computed is (name not in UNREAD), described
        if name in SENTENCES:
            names = SENTENCES[name](np.random.default_rng(seed))
            assert check_formulas(documented()[name], names) == ([], [])


def test_most_lines_are_computed() -> None:
    rng = np.random.default_rng(0)
    lines = [
        computed
        for name, draw in DISPLAYS.items()
        for display in DISPLAY.findall(documented()[name])
        for _, computed in check_display(display, draw(rng))[0]
    ]
    assert sum(lines) > 0.95 * len(lines) > 80


def test_names_belong_to_docstrings() -> None:
    assert {*DISPLAYS, *SENTENCES, *UNREAD} == {*documented()}
