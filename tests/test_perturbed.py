"""A section that shows the same whatever the package gives is seen; see tests/perturbed.py.

Here one listing runs, the others by its command: a hard-coded result passes every test that
compares it with the truth.
"""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import ROOT
from tests.perturbed import LONGER, THOUSANDTH, UNEVEN, find_unchanged_sections, perturb_result

LISTING = """# --8<-- [start:computed]
import numpy as np

from attention_docs.softmax import softmax

weights = softmax(np.array([2.0, 4.0, 4.0]))
print(f"{weights[0]:.4f}")
# --8<-- [end:computed]

# --8<-- [start:faked]
weights = softmax(np.array([2.0, 4.0, 4.0]))
shown = 0.0634
print(f"{shown:.4f}")
# --8<-- [end:faked]

# --8<-- [start:true]
print(1, softmax(np.array([2.0, 4.0]))[0] < 0.13)
# --8<-- [end:true]
"""


@pytest.mark.long
def test_the_first_example_moves_with_the_package() -> None:
    """In a process of its own: it changes modules that other tests hold."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.perturbed", "eight-steps"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_result_that_was_typed_does_not_move(tmp_path: Path) -> None:
    path = tmp_path / "faked.py"
    path.write_text(LISTING, encoding="utf-8")
    assert find_unchanged_sections(path) == [
        "docs/listings/faked.py: section faked calls softmax, and shows the same whatever it gives"
    ]


def test_what_is_perturbed() -> None:
    assert perturb_result((True, Fraction(2), {"a": 1.0}), THOUSANDTH) == (
        False,
        Fraction(2002, 1000),
        {"a": 1.001},
    )
    assert perturb_result(3, UNEVEN) == 7
    for array in (np.ones((2, 3)), torch.ones(2, 3)):
        moved = perturb_result(array, UNEVEN)
        assert moved.shape == (2, 3)
        assert len({float(one) for one in moved.reshape(-1)}) == 6
        assert perturb_result(array, LONGER).shape == (3, 3)
    assert perturb_result(np.array([True]), UNEVEN).tolist() == [False]
