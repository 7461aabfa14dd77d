"""Reviewed outputs: what each chapter prints, draws and claims, as text to read in a diff."""

from __future__ import annotations

import difflib
from typing import Any

import pytest

from attention_docs.site.snapshots import format_chapters, write_reviews
from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "outputs"


def find_differences(document: dict[str, Any]) -> str:
    wanted = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.txt")}
    got = format_chapters(document)
    lines: list[str] = []
    for slug in sorted(wanted.keys() | got.keys()):
        lines += difflib.unified_diff(
            wanted.get(slug, "").splitlines(),
            got.get(slug, "").splitlines(),
            f"tests/outputs/{slug}.txt",
            f"what {slug} prints now",
            lineterm="",
        )
    return "\n".join(lines)


def test_every_chapter_prints_what_was_reviewed(numbers_json: dict[str, Any]) -> None:
    difference = find_differences(numbers_json)
    if difference:
        pytest.fail(
            f"{difference}\nIf this is meant, run `make update` and commit the files.",
            pytrace=False,
        )


def test_update_writes_the_files_and_removes_old_ones(
    numbers_json: dict[str, Any], tmp_path: Any
) -> None:
    (tmp_path / "gone.txt").write_text("a chapter that is gone")
    write_reviews(numbers_json, tmp_path)
    assert {
        p.stem: p.read_text(encoding="utf-8") for p in tmp_path.glob("*.txt")
    } == format_chapters(numbers_json)
