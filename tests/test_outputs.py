"""Reviewed outputs: what each chapter prints, draws and claims, as text to read in a diff."""

from __future__ import annotations

import difflib
from typing import Any

import pytest

from attention_docs.colours import list_roles
from attention_docs.figures import Figure, line_chart
from attention_docs.site.snapshots import HEAD, format_chapters, write_reviews
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


def test_one_changed_digit_is_a_difference(numbers_json: dict[str, Any]) -> None:
    record = next(r for r in numbers_json["records"] if "0.4683" in r["text"])
    whole = record["text"]
    record["text"] = whole.replace("0.4683", "0.4684", 1)
    try:
        assert "+" in find_differences(numbers_json)
        assert "0.4684" in find_differences(numbers_json)
    finally:
        record["text"] = whole


def test_update_writes_the_files_and_removes_old_ones(
    numbers_json: dict[str, Any], tmp_path: Any
) -> None:
    (tmp_path / "gone.txt").write_text("a chapter that is gone")
    write_reviews(numbers_json, tmp_path)
    assert {
        p.stem: p.read_text(encoding="utf-8") for p in tmp_path.glob("*.txt")
    } == format_chapters(numbers_json)


# --- what a careless edit changes in a figure stands in the text


def reviewed(figure: Figure) -> list[str]:
    """The lines that a chapter with this one figure gets."""
    record = {"lang": "en", "slug": "small", "kind": "output", "id": "out-figure", "text": ""}
    described = {"figure": figure.alt("en"), "roles": list_roles(figure.svg("en")), "table": ()}
    document = {
        "languages": ["en"],
        "records": [record | described | {"checks": []}],
        "results": [],
        "texts": {"small": {}},
    }
    return format_chapters(document)["small"].removeprefix(HEAD).splitlines()


def test_a_figure_as_it_is_reviewed() -> None:
    series = {"loss": [3.0, 1.0], "entropy": [0.5, 0.25]}
    band = {"loss": ([2.0, 0.5], [4.0, 1.5])}
    options = {"xlabel": "size", "ylabel": "value", "title": "Rising", "log_x": True}
    figure = line_chart([1, 10], series, band=band, roles=["score", "weight"], **options)
    assert reviewed(figure) == [
        "",
        "== figure",
        "Line chart: Rising.",
        "Horizontal axis: size (logarithmic), from 1 to 10.",
        "Vertical axis: value, from 0.25 to 3.",
        "loss: 3 at 1; 1 at 10.",
        "Its band: from 2 to 4 at the first point, from 0.5 to 1.5 at the last.",
        "entropy: 0.5 at 1; 0.25 at 10.",
        "Roles: neutral, score, weight, score, weight, neutral.",
    ]


def test_a_condition_removed_from_a_result_is_a_difference(numbers_json: dict[str, Any]) -> None:
    result = numbers_json["results"][0]
    whole = result["statement"]
    result["statement"] = whole.partition(" ")[2]
    try:
        assert f"-{whole[:20]}" in find_differences(numbers_json)
    finally:
        result["statement"] = whole
