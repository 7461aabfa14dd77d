"""What holds for the whole package: light to import, shapes that hold, typed."""

from __future__ import annotations

import ast
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


# The engine: each layer imports only those before it. What stands in one line does not meet.
LAYERS = (
    {"addresses", "proof_steps", "store", "target"},
    {"read"},
    {"run"},
    {"render"},
    {"publish"},
    {"proofs"},
    {"content"},
    {"fingerprints", "reading"},
    {"build"},
    {"record"},
    {"editions", "snapshots"},
    {"adapter", "export", "scaffold"},
    {"plugin"},
)
ENGINE = ROOT / "attention_docs" / "site"


def layer(parts: tuple[str, ...]) -> tuple[int, str]:
    """The place of a module of the engine among the layers, and its layer."""
    name = parts[0].removesuffix(".py")
    return next(place for place, names in enumerate(LAYERS) if name in names), name


def test_each_layer_of_the_engine_imports_only_those_before_it() -> None:
    wrong = []
    files = [path for path in sorted(ENGINE.rglob("*.py")) if path != ENGINE / "__init__.py"]
    for path in files:
        place, name = layer(path.relative_to(ENGINE).parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            for alias in node.names:
                parts = (*node.module.split("."), alias.name)
                if parts[:2] == ("attention_docs", "site"):
                    other, imported = layer(parts[2:])
                    if not (other < place or imported == name):
                        wrong.append(f"{path.relative_to(ENGINE)} imports {'.'.join(parts)}")
    assert not wrong
    assert len(files) > 60
