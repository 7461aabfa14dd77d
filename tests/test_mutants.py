"""`make mutants`: which faults it makes, that it finds them, and the list of equivalent ones."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chapter_pages import run_blocks
from tests.conftest import ROOT, read_project
from tests.faults import list_modules, make_mutants
from tests.mutants import find_changed_modules, read_equivalents

SOURCE = '''"""A module."""

def f(x: "int | float", n: int = 3) -> "int | None":
    """f(1) is not 2."""
    if x < 0 and n:
        check(x)
    return -x + 1 if x == n else x @ n
'''
FAULTS = {
    "f: 3 → 4",
    "f: if x < 0 and n → if not (x < 0 and n)",
    "f: x < 0 and n → x < 0 or n",
    "f: x < 0 → x <= 0",
    "f: 0 → 1",
    "f: check(x) → None",
    "f: -x + 1 if x == n else x @ n → x @ n if x == n else -x + 1",
    "f: x == n → x != n",
    "f: -x + 1 → -x - 1",
    "f: -x → +x",
    "f: 1 → 2",
    "f: x @ n → x + n",
}


def test_faults_of_a_module() -> None:
    """By hand: every operator once, and none in annotations, docstrings and names."""
    found = list(make_mutants("m.py", SOURCE))
    assert {one.name.removeprefix("m.py ") for one in found} == FAULTS
    assert len({one.source for one in found}) == len(found) == len(FAULTS)
    same = ast.dump(ast.parse(SOURCE))
    assert all(ast.dump(ast.parse(one.source)) != same for one in found)


def test_equal_faults_have_names_of_their_own() -> None:
    names = [one.name for one in make_mutants("m.py", "x = 1\ny = 1\n")]
    assert names == ["m.py module: 1 → 2", "m.py module: 1 → 2 #2"]


def test_modules_that_compute_are_found_by_themselves() -> None:
    """Every module that a chapter's listing imports and that is no figure, text of it or not."""
    assert {"softmax.py", "text.py", "checks.py", "nn/multi_head.py"} <= set(list_modules())
    assert not {"verify.py", "__init__.py", "nn/__init__.py"} & set(list_modules())


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_changed_modules_are_those_with_another_text_or_other_tests(tmp_path: Path) -> None:
    """One module is edited, one has an edited test, one an edit that is not committed yet."""
    names = ["softmax", "scaling", "masking", "positions"]
    files = {name: tmp_path / "attention_docs" / f"{name}.py" for name in names}
    files |= {"test": tmp_path / "tests" / "test_scaling.py", "page": tmp_path / "docs" / "page.md"}
    for path in files.values():
        path.parent.mkdir(exist_ok=True)
        path.write_text("1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "One")
    for name in ("softmax", "test", "page"):
        files[name].write_text("2\n")
    git(tmp_path, "commit", "-qam", "Two")
    files["masking"].write_text("2\n")
    assert find_changed_modules("HEAD^", tmp_path) == ["masking.py", "scaling.py", "softmax.py"]
    assert find_changed_modules("HEAD", tmp_path) == ["masking.py"]


def test_an_unknown_commit_counts_all_modules_as_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What GitHub calls the commit before the first push of a branch."""
    git(tmp_path, "init", "-q")
    assert find_changed_modules("0" * 40, tmp_path) == list_modules()
    assert "all modules count as changed" in capsys.readouterr().err


@pytest.mark.long
def test_the_code_of_a_chapter_runs_to_its_end_without_a_fault() -> None:
    """Where it stops, that counts as the fault's doing."""
    outputs = [one.text for one in run_blocks(read_project(), "eight-steps")]
    reviewed = (ROOT / "tests/outputs/eight-steps.txt").read_text("utf-8")
    assert len(outputs) == len(read_project().pages["en"]["eight-steps"].blocks)
    assert all(text.strip() in reviewed for text in outputs)


def test_every_equivalent_mutant_exists_and_has_a_reason() -> None:
    """One that is gone, or moved to another function, is looked at again."""
    known = {one.name for module in list_modules() for one in make_mutants(module)}
    assert read_equivalents().keys() <= known
    assert all(len(why.split()) > 3 for why in read_equivalents().values())


FOUND = """
import os, sys
from tests.faults import make_mutants
from tests.mutants import search_near, try_side_by_side
wanted = sys.argv[1:]
ones = [one for name in wanted for one in make_mutants(name.split()[0]) if one.name == name]
found = {one.name: stage for one, stage, _ in try_side_by_side(ones, search_near, 1)}
print(*(found[name] for name in wanted), flush=True)
os._exit(0)
"""


@pytest.mark.long
def test_faults_are_found() -> None:
    """One that an example finds, and one that only a test finds."""
    names = [
        "softmax.py entropy: weights > 0 → weights >= 0",
        "text.py find_rounding_step: 52 → 53",
    ]
    done = subprocess.run(
        [sys.executable, "-c", FOUND, *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["example", "test"], done.stderr
