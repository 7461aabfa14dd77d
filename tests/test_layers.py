"""What may import what: data goes one way, and the mathematics knows nothing of the site."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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


PAGES = {path.stem for path in (ROOT / "docs" / "en").glob("*.md")}
ASKS = {"find_page", "find_address", "find_translations"}
NAMED = re.compile(rf"(?:{'|'.join(sorted(PAGES))})(?:\.md|/index\.html)(?:#|$)")


def find_named_pages(path: Path) -> Iterator[str]:
    """Where a module knows a page by its name: it compares a slug with it, asks for it or links to
    it. The name of the first page stands in `addresses` alone."""

    def list_strings(node: ast.AST | None) -> set[str]:
        found = ast.walk(node) if node else ()
        return {one.value for one in found if isinstance(one, ast.Constant)} & PAGES

    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        named: set[str] = set()
        if isinstance(node, ast.Compare) and "slug" in ast.unparse(node):
            named = list_strings(node)
        elif isinstance(node, ast.Subscript | ast.Call):
            what = ast.unparse(node.value if isinstance(node, ast.Subscript) else node.func)
            asked = what.split(".")[-1] in ASKS or "pages" in what
            keys = [node.slice] if isinstance(node, ast.Subscript) else node.args
            named = set().union(*map(list_strings, keys)) if asked else set()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = {node.value} if NAMED.match(node.value) else set()
        yield from (f"{path.name}:{node.lineno}: {one}" for one in named)


def test_the_engine_knows_no_page_by_its_name() -> None:
    """What is special about a page stands in its front matter, or in what it asks for."""
    site = PACKAGE / "site"
    written = {*(site / "scaffold").rglob("*.py"), site / "publish" / "moving_picture.py"}
    found = [
        place
        for path in sorted({*site.rglob("*.py")} - written)
        for place in find_named_pages(path)
    ]
    assert not found, "\n".join(found)


def test_the_mathematics_and_the_figures_know_nothing_of_the_engine() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        if "site" not in path.relative_to(PACKAGE).parts:
            assert not [name for name in list_imports(path) if name.startswith(ENGINE)], path
