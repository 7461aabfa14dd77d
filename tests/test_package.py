"""What holds for the whole package: light to import, shapes that hold, typed."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


@pytest.mark.long
def test_no_module_but_nn_imports_torch() -> None:
    done = python("-c", IMPORT_EACH, *modules())
    assert done.stdout.splitlines() == [f"{name} False" for name in modules()], done.stderr


@pytest.mark.long
def test_shapes_in_signatures_hold_for_every_example() -> None:
    """The doctests run once more with jaxtyping and beartype checking every annotation."""
    topics = [str(p) for p in sorted((ROOT / "attention_docs").glob("*.py"))]
    topics.append(str(ROOT / "attention_docs" / "nn"))
    checked = "--jaxtyping-packages=attention_docs,tests.check"
    # Doctests hold no assertion to rewrite and nothing of hypothesis, which pytest would import.
    needless = ("--assert=plain", "-p", "no:hypothesispytest")
    done = python("-m", "pytest", "-q", checked, *needless, *topics)
    assert done.returncode == 0, done.stdout


def test_the_type_checker_sees_the_package_as_typed() -> None:
    assert (ROOT / "attention_docs" / "py.typed").is_file()
