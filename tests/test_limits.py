"""A test that hangs fails by its name and says where it stood, and the others go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

HANGS = """import time
import pytest
from tests.conftest import LIMITS

LIMITS.update(setup=2, call=2)

@pytest.fixture
def never_made():
    time.sleep(60)

def test_waits(never_made):
    pass

def test_never_ends():
    time.sleep(60)

def test_goes_on():
    pass
"""


@pytest.mark.long
def test_what_hangs_is_named_with_its_stacks_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "test_hanging.py").write_text(HANGS, encoding="utf-8")
    options = ("-n", "2", "-p", "tests.conftest", "-c", str(ROOT / "pyproject.toml"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout
    assert "2 failed, 1 passed" in said, said + done.stderr
    for name, place in (("test_waits", "in never_made"), ("test_never_ends", "in test_never_ends")):
        assert "crashed while running" in said
        assert name in said
        assert place in said
    assert said.count("Timeout (0:00:02)!") == 2
