"""Reviewed outputs: what each chapter prints, as a text file that a reviewer reads in a diff."""

from __future__ import annotations

import difflib
from typing import Any

import pytest

from attention_docs.site.publish.review import chapters, write
from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "outputs"


def differences(document: dict[str, Any]) -> str:
    wanted = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.txt")}
    got = chapters(document)
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


@pytest.mark.site
def test_every_chapter_prints_what_was_reviewed(numbers_json: dict[str, Any]) -> None:
    difference = differences(numbers_json)
    if difference:
        pytest.fail(
            f"{difference}\nIf this is meant, run `make update` and commit the files.",
            pytrace=False,
        )


@pytest.mark.site
def test_one_changed_digit_is_a_difference(numbers_json: dict[str, Any]) -> None:
    record = next(r for r in numbers_json["records"] if "0.4683" in r["text"])
    whole = record["text"]
    record["text"] = whole.replace("0.4683", "0.4684", 1)
    try:
        assert "+" in differences(numbers_json)
        assert "0.4684" in differences(numbers_json)
    finally:
        record["text"] = whole


@pytest.mark.site
def test_update_writes_the_files_and_removes_old_ones(
    numbers_json: dict[str, Any], tmp_path: Any
) -> None:
    (tmp_path / "gone.txt").write_text("a chapter that is gone")
    write(numbers_json, tmp_path)
    assert {p.stem: p.read_text(encoding="utf-8") for p in tmp_path.glob("*.txt")} == chapters(
        numbers_json
    )
