"""Reviewed outputs: what each chapter prints, draws and claims, as text to read in a diff."""

from __future__ import annotations

import difflib
import re
from typing import Any

import pytest

from attention_docs.colours import list_roles
from attention_docs.figures import Figure, heatmap, histogram, line_chart
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
    }
    return format_chapters(document)["small"].removeprefix(HEAD).splitlines()


def lines(**changed: Any) -> Figure:
    series = {"loss": [3.0, 1.0], "entropy": [0.5, 0.25]}
    options = {"xlabel": "size", "ylabel": "value", "title": "Rising", "log_x": True}
    options |= {"band": {"loss": ([2.0, 0.5], [4.0, 1.5])}, "roles": ["score", "weight"]}
    options |= changed
    return line_chart([1, 10], options.pop("series", series), **options)  # type: ignore[arg-type]


def heat(**changed: Any) -> Figure:
    options = {"row_axis": "asks", "column_axis": "is read", "name": "E[qk]", "role": "weight"}
    return heatmap([[0.25, 0.75], [0.5, 0.5]], **(options | changed))  # type: ignore[arg-type]


FIGURES = {
    "axis labels exchanged": (heat(), heat(row_axis="is read", column_axis="asks")),
    "title of a matrix": (heat(), heat(name="E[kq]")),
    "role of a matrix": (heat(), heat(role="value")),
    "axes of a chart exchanged": (lines(), lines(xlabel="value", ylabel="size")),
    "title of a chart": (lines(), lines(title="Falling")),
    "series exchanged": (lines(), lines(series={"entropy": [3.0, 1.0], "loss": [0.5, 0.25]})),
    "half the interval": (lines(), lines(band={"loss": ([2.5, 0.75], [3.5, 1.25])})),
    "no logarithmic axis": (lines(), lines(log_x=False)),
    "roles exchanged": (lines(), lines(roles=["weight", "score"])),
    "role of a histogram": tuple(
        histogram({"q": [0.5, 1.5]}, [0, 1, 2], xlabel="score", roles=[one])
        for one in ("score", "value")
    ),
}


@pytest.mark.parametrize("change", FIGURES)
def test_a_change_of_a_figure_is_a_difference(change: str) -> None:
    before, after = (reviewed(figure) for figure in FIGURES[change])
    assert before != after
    assert len(before) > 5


def test_a_figure_as_it_is_reviewed() -> None:
    assert reviewed(lines()) == [
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


# Numbers have names in the output itself, not in a sentence above it.

ONE = r"[-−+]?\d[\d.,/]*(?:e[-+]?\d+)?(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?|nan|NaN|-?inf|∞|True|False"
CELL = rf"(?<![\w.])(?:{ONE})(?: ± (?:{ONE}))?(?![\w])"
COLUMNS = re.compile(rf"{CELL}\s{{2,}}{CELL}")


def bare_lines(text: str) -> list[str]:
    """The lines of an output in which numbers stand without names.

    Those are columns of numbers, whether the row has a name or not, and lines of nothing else,
    unless they belong to an array below its name, such as "weights:".
    """
    bare, named = [], False
    for line in text.splitlines():
        outside = re.sub(r"\[.*?\]", "", line)
        if COLUMNS.search(outside):
            bare.append(line)
        elif re.search(r"\w| = ", re.sub(CELL, "", line)):  # words, or an equation
            named = line.rstrip().endswith((":", "：", "="))
        elif not named and re.search(CELL, line):
            bare.append(line)
    alone = bare == [text] and len(re.findall(CELL, text)) == 1
    return [] if alone and text not in ("True", "False") else bare


@pytest.mark.parametrize(
    "text",
    [
        "1 2",
        "[0.5, 0.25]",
        "[[1, 2],\n [3, 4]]",
        "True",
        "sum: 1\n0.5 0.5",
        "Adam      0.0141  0.1132",
        "d_k =    4     1  0.5285 ± 0.0013  1.2849 ± 0.0029",
        "   τ   max a       H\n 0.5    0.9990    0.0090",
        "  7/64  -1/32\n -1/32   3/16",
        "weights: [1, 0]\n[0.5, nan]",
    ],
)
def test_numbers_without_names_are_found(text: str) -> None:
    assert bare_lines(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "256",
        "0.795 ± 0.007",
        "None",
        "[[ma, mb]]",
        "weights: [1, 0]",
        "scores =\n[[1, 2],\n [3, 4]]",
        "Weights, a row for each query:\n[[1, 2],\n [3, 4]]",
        "q1·k1 = 1·0 + 0·1 + 2·1 = 2\nq1·k2 = 1·4 + 0·4 + 2·0 = 4",
        "def f(x):\n    return x  # (2, 3)",
        "0.0634 · [1, 2] = [0.0634, 0.1268]",
        "8 / 2 = 4\n5 / 2 = 5/2",
        "1000 of 1000 outputs lie between 1 and 2.",
    ],
)
def test_numbers_with_names_are_let_through(text: str) -> None:
    assert bare_lines(text) == []


def test_no_output_is_bare_columns_of_numbers(numbers_json: dict[str, Any]) -> None:
    outputs = [one for one in numbers_json["records"] if one["kind"] == "output"]
    bare = [
        f"{one['listing']}:{one['line']}: {line!r}: name the numbers, as a table does"
        for one in outputs
        if one["lang"] == "en"
        for line in bare_lines(one["text"])
    ]
    assert len(outputs) > 1000
    assert not bare
