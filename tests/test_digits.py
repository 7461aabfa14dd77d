"""Digits hold elsewhere: none that is printed sits on an edge.

That threads, processors and folders change none is shown by test_pages.py: the site is built
elsewhere (conftest.py) and publishes the same record; and by browsers, which run the code again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attention_docs.running.result import Code, Job, Result
from attention_docs.site.build import Build
from attention_docs.site.run.worker import run_page
from tests.conftest import CACHE_ELSEWHERE, ROOT, read_project


@pytest.fixture(scope="module")
def build(site: Path) -> Build:
    """What the site's build kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTENTION_DOCS_CACHE", str(ROOT / CACHE_ELSEWHERE))
        found = Build(ROOT, print)
    found.pages = read_project().pages
    found.executor.plan(found.all)
    return found


def test_no_published_digit_sits_on_a_rounding_edge(build: Build) -> None:
    fragile = [
        f"{page.path}:{block.line}: {block.id}: {digits}"
        for page in build.all
        for block, result in zip(page.blocks, build.results(page), strict=True)
        for digits in result.fragile
    ]
    assert not fragile


@pytest.fixture
def run() -> Iterator[Any]:
    """Run one piece of code as a block, here in this process, and give its outcome."""
    import warnings

    import numpy as np

    from attention_docs import text

    make = np.random.default_rng

    def block(code: str, *values: tuple[str, str]) -> Result:
        return run_page(Job([[Code(code, os.devnull, 1)]], [list(values)], ("en",)))[0]

    with warnings.catch_warnings():
        yield block
    text.observers.clear()
    np.random.default_rng = make


@pytest.mark.parametrize(
    "code",
    [
        'x = 0.125\nprint(f"{x:.2f}")',
        'from attention_docs.text import text\nprint(text([0.3, 2.5], ".0f"))',
        'from attention_docs.text import number\nprint(number(-1e-17, ".2f"), f"{-1e-17:.1f}")',
        'error = 3.3e-16\nprint(f"{error:.1e}")',
        'import numpy as np\nx = np.float32(0.12345)\nprint(f"{x:.4f}")',
    ],
)
def test_a_digit_on_a_rounding_edge_is_noted(run: Any, code: str) -> None:
    outcome = run(code)
    assert not outcome.error
    assert len(outcome.fragile) == 1
    assert " or " in outcome.fragile[0]


def test_an_inline_value_on_a_rounding_edge_is_noted(run: Any) -> None:
    assert run("x = 0.375", ("x", ".2f")).fragile == ("0.375 as .2f: 0.37 or 0.38",)


def test_a_digit_away_from_the_edge_is_not_noted(run: Any) -> None:
    code = 'x = 0.1234\nprint(f"{x:.2f} {0.0:.2f} {2.0:.1f} {1e-9:.1e} {7} {x > 0}")'
    assert run(code).fragile == ()
