"""What `make chapter` writes, and where it lists the new chapter."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

from attention_docs.site.read.reader import read_page
from attention_docs.site.scaffold.new_chapter import ScaffoldError, write_chapter
from tests.conftest import LANGUAGES, ROOT

ICONS = "attention_docs/site/theme/.icons/chapter"
COMPARED = "tests/test_write_it.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """What the command reads of this repository."""
    for folder in ("docs/listings", "tests", "attention_docs/locales", ICONS):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for lang in LANGUAGES:
        (tmp_path / "docs" / lang).mkdir()
    for name in ("mkdocs.yml", "README.md", "docs/zh-hant.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_a_new_chapter_stands_before_the_gallery(root: Path) -> None:
    """In the navigation and in the README, and with all that a chapter must have."""
    written = {path.relative_to(root).as_posix() for path in write_chapter(root, "low", "Low rank")}
    assert written == {
        *("docs/listings/low.py", "docs/listings/low.zh.toml", "tests/test_low.py"),
        *("docs/en/low.md", "docs/zh/low.md", f"{ICONS}/low.svg", "mkdocs.yml", "README.md"),
        COMPARED,
    }
    navigation = (root / "mkdocs.yml").read_text("utf-8").split("\n")
    at = navigation.index("      - mistakes.md")
    assert navigation[at - 1] == "      - low.md"
    rows = (root / "README.md").read_text("utf-8").split("\n")
    at = next(i for i, row in enumerate(rows) if "(docs/en/mistakes.md)" in row)
    page = read_page(root / "docs/en/low.md", root)
    assert rows[at - 1] == f"| [Low rank](docs/en/low.md) | {page.meta['question']} |"
    runpy.run_path(str(root / "docs/listings/low.py"))


@pytest.mark.parametrize(("name", "before"), [("abacus", "assistant"), ("zen", None)])
def test_what_pytorch_calls_the_same_stands_in_alphabetical_order(
    name: str, before: str | None, root: Path
) -> None:
    """Whatever row it comes before, and after the last one as well."""
    old = (root / COMPARED).read_text("utf-8")
    write_chapter(root, name, "Title")
    head, row, rest = (root / COMPARED).read_text("utf-8").partition(f'    "{name}": lambda ')
    assert row
    own, _, rest = rest.partition("\n")
    assert len(row + own) <= 100
    assert head + rest == old
    assert rest.startswith(f'    "{before}": ' if before else "}\n")


def test_a_chapter_that_is_there_stays(root: Path) -> None:
    before = (root / "mkdocs.yml").read_text("utf-8")
    with pytest.raises(ScaffoldError, match="the navigation has a page kernels already"):
        write_chapter(root, "kernels", "Kernels")
    assert (root / "mkdocs.yml").read_text("utf-8") == before
