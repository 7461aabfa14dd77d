"""What may import what: data goes one way, and the mathematics knows nothing of the site."""

from __future__ import annotations

from pathlib import Path

from attention_docs.running.imports import find_imports
from tests.conftest import ROOT

PACKAGE = ROOT / "attention_docs"
ENGINE = "attention_docs.site"


def list_imports(path: Path) -> set[str]:
    """The modules of this project that a module imports, at its top or inside of a function."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    found = find_imports(path.read_text(encoding="utf-8"), module)
    return {name for name in found if name.startswith("attention_docs.")}


def test_the_engine_knows_no_chapter() -> None:
    chapters = {path.stem.replace("-", "_") for path in (ROOT / "docs/listings").glob("*.py")}
    scaffold = PACKAGE / "site" / "scaffold" / "chapter"  # what a new chapter begins with
    publish = PACKAGE / "site" / "publish"  # three measure, by hand, what the package keeps
    measures = {
        publish / f"{one}.py" for one in ("measurements", "beginnings", "neurons", "patching")
    }
    for path in sorted({*(PACKAGE / "site").rglob("*.py")} - {*scaffold.glob("*.py")} - measures):
        parts = {name.split(".")[1] for name in list_imports(path)}
        assert not parts & chapters, path


def test_the_mathematics_and_the_figures_know_nothing_of_the_engine() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        if "site" not in path.relative_to(PACKAGE).parts:
            assert not [name for name in list_imports(path) if name.startswith(ENGINE)], path
