"""Digits hold elsewhere: no printed digit sits on an edge; threads and processors change none.

The second needs every listing to run once more. It runs as a script does, so that the same run
shows that a reader who downloads a listing gets what the page shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attention_docs.site.build import Build
from attention_docs.site.read.page import Page
from attention_docs.site.run.result import Code, Job, Result
from attention_docs.site.run.worker import run_page
from tests.conftest import LANGUAGES, ROOT

LISTINGS = sorted((ROOT / "docs" / "listings").glob("*.py"))

# Another machine, as far as this one can stand in for it: an older processor with three threads.
ELSEWHERE = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "3"),
    "OMP_WAIT_POLICY": "PASSIVE",  # threads that wait take no time from others
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
}


@pytest.fixture(scope="module")
def build(site: Path) -> Build:
    """What the site's build kept."""
    found = Build(ROOT, print)
    found.read()
    return found


@pytest.mark.site
def test_no_published_digit_sits_on_a_rounding_edge(build: Build) -> None:
    fragile = [
        f"{page.path}:{block.line}: {block.id}: {digits}"
        for page in build.all
        for block, result in zip(page.blocks, build.results(page), strict=True)
        for digits in result.fragile
    ]
    assert not fragile


def job(listing: Path, pages: list[Page]) -> dict[str, Any]:
    """A listing with the inline values that its pages ask for after each of its blocks."""
    blocks = pages[0].blocks
    asked: list[set[tuple[str, str]]] = [set() for _ in blocks]
    for page in pages:
        for value in page.values:
            if not value.counted:
                asked[value.after - 1].add((value.expression, value.spec))
    return {
        "listing": str(listing),
        "blocks": [
            ([(section.code, section.first_line) for section in block.sections], sorted(values))
            for block, values in zip(blocks, asked, strict=True)
        ],
    }


@pytest.mark.site
def test_a_listing_run_as_a_script_elsewhere_gives_what_the_pages_show(build: Build) -> None:
    """Outputs, inline values, files, alternative texts, without the build's own runner."""
    own = {
        listing: [page for page in build.all if page.slug == listing.stem] for listing in LISTINGS
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.plain"],
        input=json.dumps([job(listing, twins) for listing, twins in own.items()]),
        cwd=ROOT,
        env=os.environ | ELSEWHERE | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for twins, elsewhere in zip(own.values(), json.loads(done.stdout), strict=True):
        for page in twins:
            for block, ours, other in zip(page.blocks, build.results(page), elsewhere, strict=True):
                place = f"{page.path}:{block.line}: {block.id}"
                values = {f"{name}:{spec}": text for (name, spec), text in ours.values.items()}
                assert (place, ours.text) == (place, other["text"])
                assert values == values | other["values"], place
                files = {file.name: file.text for file in ours.files}
                assert files == {name: other["files"][name] for name in files}, place
                alt = {lang: one.alt for lang, one in ours.figure.items() if lang in LANGUAGES}
                assert alt == other["alt"], place


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
