"""What holds for the whole package: light to import, errors that help, shapes that hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_docs.checks import broadcastable, floats, matrices
from tests.conftest import ROOT


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )


def modules() -> list[str]:
    """Every module that a reader may import with NumPy alone."""
    files = sorted((ROOT / "attention_docs").rglob("*.py"))
    names = [path.relative_to(ROOT).with_suffix("") for path in files]
    return [
        ".".join(name.parts).removesuffix(".__init__")
        for name in names
        if not {"site", "nn"} & set(name.parts)
    ]


def test_importing_the_package_imports_nothing_else() -> None:
    done = python("-c", "import sys, attention_docs; print(*sys.modules)")
    without = python("-c", "import sys; print(*sys.modules)")
    assert set(done.stdout.split()) - set(without.stdout.split()) == {"attention_docs"}


IMPORT_EACH = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    print(name, "torch" in sys.modules)
    for new in [one for one in sys.modules if one.startswith("attention_docs")]:
        del sys.modules[new]  # the next one finds nothing of the package imported
"""


def test_no_module_but_nn_imports_torch() -> None:
    done = python("-c", IMPORT_EACH, *modules())
    assert done.stdout.splitlines() == [f"{name} False" for name in modules()], done.stderr


def test_shapes_in_signatures_hold_for_every_example() -> None:
    """The doctests run once more with jaxtyping and beartype checking every annotation."""
    topics = [str(p) for p in sorted((ROOT / "attention_docs").glob("*.py"))]
    topics.append(str(ROOT / "attention_docs" / "nn"))
    done = python("-m", "pytest", "-q", "--jaxtyping-packages=attention_docs,tests.check", *topics)
    assert done.returncode == 0, done.stdout


def test_the_type_checker_sees_the_package_as_typed() -> None:
    assert (ROOT / "attention_docs" / "py.typed").is_file()


WRONG = [
    ([[1.0]], "q must be a NumPy array or a torch tensor, got list"),
    (np.array([[1, 2]]), "q must hold real floats, got int64"),
    (np.array([[1j]]), "q must hold real floats, got complex128"),
    (np.array([[True]]), "q must hold real floats, got bool"),
    (torch.tensor([[1]]), r"q must hold real floats, got torch.int64"),
]


@pytest.mark.parametrize(("array", "message"), WRONG, ids=[message for _, message in WRONG])
def test_floats_says_wanted_and_got(array: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        floats(q=array)


def test_floats_wants_one_dtype_and_one_library() -> None:
    with pytest.raises(TypeError, match="q and k must share a dtype, got float64 and float32"):
        floats(q=np.ones((1, 1)), k=np.ones((1, 1), dtype=np.float32))
    with pytest.raises(TypeError, match="q and k must be of one library, got ndarray and Tensor"):
        floats(q=np.ones((1, 1)), k=torch.ones((1, 1)))


def test_parameters_of_a_torch_module_are_tensors() -> None:
    floats(q=torch.nn.Parameter(torch.ones(2)), k=torch.ones(2))


def test_matrices_says_wanted_and_got() -> None:
    with pytest.raises(ValueError, match=r"q must have at least 2 axes .*, got shape \(3,\)"):
        matrices(q=np.ones(3))
    with pytest.raises(ValueError, match=r"q must not be empty, got shape \(0, 3\)"):
        matrices(q=np.ones((0, 3)))


SHAPES = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@given(SHAPES, SHAPES)
def test_broadcastable_agrees_with_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        wanted = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="a and b must broadcast together, got"):
            broadcastable(a=a, b=b)
    else:
        assert broadcastable(a=a, b=b) == wanted


def test_ci_runs_the_test_command_of_the_readme() -> None:
    readme = Path(ROOT / "README.md").read_text(encoding="utf-8")
    assert "make test" in readme
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
