"""Typed results are not published; what runs too long or is left alone ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attention_docs.site.read.reader import read_page
from attention_docs.site.read.typed_numbers import find_typed_numbers
from tests.fixture_project import WEIGHTS, FixtureProject, make_environment, read_files

PAGE = """---
description: DESCRIPTION
---

# A page { #page }

TEXT

//// exercise | Given
    id: exercise-given
    stars: 1
    kind: pencil

Take 0.75.

/// answer
HIDDEN
///
////
"""
PRINTED = "w [[0.0634, 0.4683], [1., 2.]] 1.5e-05"
# A text and what of it is refused: "" if nothing is.
TYPED = {
    "The weight is 0.0635.": "0.0635",
    "The weight is `0.0635`.": "0.0635",
    "## The weight 0.0635 { #more }": "0.0635",
    "| a cell | −0.0635 |": "0.0635",
    "It is $w = 0.0635$.": "0.0635",
    "The vector is [0.0634, 3].": "[0.0634, 3]",
    "It printed tensor([w]).": "tensor([",
    "$$\n\\begin{bmatrix} 1 & 9 \\\\ 2 & 1 \\end{bmatrix}\n$$": "[1 , 9]",
    "The weight is 0.0634, the row [0.0634, 0.4683] or [1, 2], and 1.5e-05.": "",
    "$\\begin{bmatrix} 1 & 2 \\end{bmatrix}$ and {{ w:0.0635 }}": "",
    "Python 3.11 and §3.2 of [it](https://a.org/0.0635), `001.4`, arXiv:1706.03762.": "",
    "The exercise gives 0.75, the module 0.125.": "",
    "```text\n0.0635\n```": "",  # tests/test_pages.py looks at plain fences
}


def list_typed(folder: Path, text: str) -> list[str]:
    path = folder / "docs" / "en" / "page.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    page = read_page(path, folder)
    return [str(fault) for fault in find_typed_numbers(page, PRINTED, "HALF = 0.125")]


@pytest.mark.parametrize("text", TYPED)
def test_a_result_that_nothing_prints_is_refused(text: str, tmp_path: Path) -> None:
    found = list_typed(tmp_path, PAGE.replace("TEXT", text))
    typed = TYPED[text]
    line = 8 if text.startswith("$$") else 7
    begin = f"docs/en/page.md:{line}: {typed} was typed, and no block of this page prints it: write"
    assert [fault[: len(begin)] for fault in found[:1]] == [begin] * bool(typed)
    assert len(found) <= 2  # of the matrix, both rows


def test_what_an_exercise_hides_is_no_source(tmp_path: Path) -> None:
    (fault,) = list_typed(tmp_path, PAGE.replace("HIDDEN", "It is 0.0635."))
    assert fault.startswith("docs/en/page.md:17: 0.0635 was typed")
    (fault,) = list_typed(tmp_path, PAGE.replace("DESCRIPTION", "It is 0.0635."))
    assert fault.startswith("docs/en/page.md:2: 0.0635 was typed")


def test_a_build_tells_all_of_it_and_publishes_nothing(built: FixtureProject) -> None:
    """Of a listing too that was without a fault in the build before."""
    published = read_files(built.root / "site")
    built.edit("docs/en/weights.md", "{{ weights[0]:.2f }}", "{{ 0.06:.2f }}", both=True)
    built.edit("docs/listings/constants.py", "print(name", 'print("new", name')
    report = built.build("-q").stderr
    assert "docs/en/weights.md:23: {{ 0.06 }} depends on nothing that a block above" in report
    assert "docs/listings/constants.zh.toml" in report
    assert read_files(built.root / "site") == published


def test_a_block_that_never_ends_is_a_fault_at_its_line(project: FixtureProject) -> None:
    project.edit(WEIGHTS, 'name = "weights"', 'name = "weights"\nwhile True:\n    pass')
    done = project.build("-q", ATTENTION_DOCS_LIMIT="1")
    assert done.returncode
    assert "TimeoutError: the page took more than 1 s" in done.stderr
    assert re.search(r'weights\.py", line 1[45]', done.stderr)


def test_what_runs_ends_with_a_build_that_is_killed(project: FixtureProject) -> None:
    mark, begun = f"of-{project.root.name}-{os.getpid()}", project.root / "begun"
    loop = f"open({str(begun)!r}, 'w').close()\nwhile True:\n    pass"
    project.edit(WEIGHTS, 'name = "weights"', f'name = "weights"\n{loop}')
    project.write("docs/listings/weights.zh.toml", f'[strings]\n"{begun}" = "{begun}"\n')
    build = subprocess.Popen(
        [sys.executable, "-m", "mkdocs", "build", "-q"],
        cwd=project.root,
        env=make_environment(project.root, MARK=mark),
    )
    assert wait_until(begun.exists, 60)
    assert len(find_processes(mark)) > 2  # the build, the server of processes, a page
    build.send_signal(signal.SIGKILL)
    build.wait()
    assert wait_until(lambda: not find_processes(mark), 30), find_processes(mark)


def find_processes(mark: str) -> list[int]:
    """The processes that were started with this mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"MARK={mark}\0".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def wait_until(holds, seconds: float) -> bool:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while not (done := holds()) and time.monotonic() < end:
        time.sleep(0.05)
    return bool(done)
