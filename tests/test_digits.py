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

from attention_docs.site.execute import Executor, Results
from attention_docs.site.run import Code, Job, run_page
from attention_docs.site.source import Source, read_page
from tests.conftest import ROOT

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
def pages() -> list[Source]:
    return [read_page(path, ROOT) for path in sorted((ROOT / "docs").glob("*/*.md"))]


@pytest.fixture(scope="module")
def results(pages: list[Source], site: Path) -> Results:
    """What the site's build kept."""
    return Executor(ROOT, ROOT / ".cache" / "results", print).run(pages)


@pytest.mark.site
def test_no_published_digit_sits_on_a_rounding_edge(pages: list[Source], results: Results) -> None:
    fragile = [
        f"{page.path}:{block.line}: {block.id}: {digits}"
        for page in pages
        for block, record in zip(page.blocks, results.records[page.path][1:], strict=True)
        for digits in record["fragile"]
    ]
    assert not fragile


def job(listing: Path, pages: list[Source]) -> dict[str, Any]:
    """A listing with the inline values that its pages ask for after each of its sections."""
    blocks = pages[0].blocks
    asked: list[set[tuple[str, str]]] = [set() for _ in range(len(blocks) + 1)]
    for page in pages:
        for value in page.values:
            if not value.expression.startswith("site."):
                asked[value.after].add((value.expression, value.spec))
    assert not asked[0], "a value before any block"
    return {
        "listing": str(listing),
        "sections": [(s.code, s.first_line) for block in blocks for s in block.sections],
        "values": [sorted(values) for values in asked[1:]],
    }


@pytest.mark.site
def test_a_listing_run_as_a_script_elsewhere_gives_what_the_pages_show(
    pages: list[Source], results: Results
) -> None:
    """Outputs, inline values and alternative texts, without the build's own runner."""
    own = {listing: [page for page in pages if page.slug == listing.stem] for listing in LISTINGS}
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
            for block, ours, other in zip(
                page.blocks, results.records[page.path][1:], elsewhere, strict=True
            ):
                place = f"{page.path}:{block.line}: {block.id}"
                assert (place, ours["text"]) == (place, other["text"])
                assert ours["values"] == ours["values"] | other["values"], place
                assert (ours["figure"] or {"alt": {}})["alt"] == other["alt"], place


@pytest.fixture
def run() -> Iterator[Any]:
    """Run one piece of code as a block, here in this process, and give its outcome."""
    import warnings

    import numpy as np

    from attention_docs import text

    make = np.random.default_rng

    def block(code: str, *values: tuple[str, str]) -> dict[str, Any]:
        job = Job([[Code(code, os.devnull, 1)]], {1: list(values)})
        return run_page(job)[1]

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
    assert not outcome["errors"]
    assert len(outcome["fragile"]) == 1
    assert " or " in outcome["fragile"][0]


def test_an_inline_value_on_a_rounding_edge_is_noted(run: Any) -> None:
    assert run("x = 0.375", ("x", ".2f"))["fragile"] == ["0.375 as .2f: 0.37 or 0.38"]


def test_a_digit_away_from_the_edge_is_not_noted(run: Any) -> None:
    code = 'x = 0.1234\nprint(f"{x:.2f} {0.0:.2f} {2.0:.1f} {1e-9:.1e} {7} {x > 0}")'
    assert run(code)["fragile"] == []
