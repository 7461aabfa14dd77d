"""Boxes: folded depth, numbered results, exercises; and code that folds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import lxml.html
import pytest

from attention_docs.site.publish import search
from attention_docs.site.read.reader import read_page
from tests.conftest import LANGUAGES, ROOT
from tests.fixture_project import WEIGHTS, FixtureProject

pytestmark = pytest.mark.long

BOXES = """
/// result | The weights sum to 1
    id: result-sum
    relation: "="
    proof: why
    check: weights
    test: test_sum
    uncomputed: random

For {{ len(weights) }} finite scores.
///

Between the boxes {{ weights[1]:.3f }}.

/// deeper | Why they do
    id: why

Folded {{ weights[2]:.2f }}.
///

Between two folds.

/// deeper | How large is $s$
    id: how

One.
///

/// fold | Sources
    id: sources

Two.
///

//// exercise | Another row
    id: exercise-row
    stars: 2
    kind: pencil

Do it.

/// answer

The answer.
///
////

After all of them.
"""


@pytest.fixture(scope="module")
def boxed(tmp_path_factory: pytest.TempPathFactory) -> FixtureProject:
    """The small project with boxes on a page, built."""
    project = FixtureProject(tmp_path_factory.mktemp("boxes"))
    folded = ('exec="1"\n--8<-- "weights.py:weights"', 'exec="1" source="folded"\n')
    project.edit("docs/en/weights.md", folded[0], folded[1] + folded[0].split("\n")[1], both=True)
    project.edit(
        "docs/en/weights.md", "| name | weight |", BOXES + "\n| name | weight |", both=True
    )
    head = "---\ndescription: All.\n---\n\n# Results { #results }"
    counts = "{{ site.computed }} of {{ site.results }}"
    for lang in LANGUAGES:
        project.write(f"docs/{lang}/results.md", f"{head}\n\n{counts}\n\n<!-- results -->\n")
    project.edit("mkdocs.yml", "  - weights.md\n", "  - weights.md\n  - results.md\n")
    project.write("docs/listings/weights.zh.toml", '[comments]\n"one row" = "一行"\n')
    project.edit(WEIGHTS, "weights = softmax(scores)", "weights = softmax(scores)  # one row")
    project.stamp()
    done = project.build()
    assert done.returncode == 0, done.stderr
    return project


def article(project: FixtureProject, page: str) -> Any:
    return lxml.html.document_fromstring(project.read_html(page)).find(".//article")


def test_a_fold_is_closed_and_its_address_is_inside(boxed: FixtureProject) -> None:
    """A browser opens a fold for a link whose target it holds, and not for its own address."""
    fold = article(boxed, "weights").find_class("deeper")[0]
    assert fold.tag == "details"
    assert "open" not in fold.attrib
    summary, inside = fold
    assert summary.text_content() == "Why they do"
    assert inside.get("id") == "why"
    assert inside.text_content().split() == ["Folded", "0.47."]


def test_folds_that_follow_each_other_are_one_which_names_them(boxed: FixtureProject) -> None:
    page = article(boxed, "weights")
    (group,) = page.find_class("further")
    assert group.getparent() is page  # the fold before stands alone
    summary, inside = group
    assert [one.text_content() for one in summary] == ["Go further", "How large is s", "Sources"]
    assert [(one.tag, one.get("class")) for one in inside] == [
        ("details", "deeper"),
        ("details", "fold"),
    ]
    assert [one[1].get("id") for one in inside] == ["how", "sources"]
    assert article(boxed, "zh/weights").find_class("further")[0][0][0].text == "选读"


def test_a_result_says_what_proves_runs_and_tests_it(boxed: FixtureProject) -> None:
    (box,) = article(boxed, "weights").find_class("result")
    assert box.get("id") == "result-sum"
    assert [one.text for one in box.find_class("result-title")[0]] == [
        "Result 1.1",
        "The weights sum to 1",
    ]
    links = [link.get("href") for link in box.find_class("result-links")[0].iter("a")]
    assert links == ["#why", "#out-weights"]
    assert "test_sum" in box.text_content()


def test_the_page_of_results_has_a_line_for_each_which_opens(boxed: FixtureProject) -> None:
    (fold,) = article(boxed, "results").find_class("fold")
    summary, inside = fold
    assert "open" not in fold.attrib
    assert inside.get("id") == "weights-result-sum"
    assert not [*summary.iter("a")]  # nothing to press within what is pressed
    assert summary.text_content() == "1.1 The weights sum to 1\u00a0equation"
    assert inside.text_content().strip().startswith("For 3 finite scores.")
    (support,) = inside.find_class("result-links")
    assert support.text_content().endswith("measured, and its formulas are not computed")
    links = [link.get("href") for link in support.iter("a")]
    assert links == ["../weights/#result-sum", "../weights/#why", "../weights/#out-weights"]


def test_a_result_says_why_it_is_not_computed_and_is_counted(boxed: FixtureProject) -> None:
    for page in ("weights", "results"):
        assert "About random matrices: measured" in article(boxed, page).text_content()
    assert "关于随机矩阵" in article(boxed, "zh/weights").text_content()
    assert "0 of 1" in article(boxed, "results").text_content()


def test_an_exercise_tells_its_stars_and_folds_its_answer(boxed: FixtureProject) -> None:
    (box,) = article(boxed, "weights").find_class("exercise")
    assert box.find_class("stars")[0].get("aria-label") == "difficulty 2 of 3"
    assert [one.tag for one in box.find_class("answer")] == ["details"]


def test_code_folds_below_its_output(boxed: FixtureProject) -> None:
    (fold,) = article(boxed, "weights").find_class("code")
    assert "weights = softmax(scores)" in fold.text_content()
    tools = fold.getparent()
    assert [one.get("class") for one in tools] == ["code", "origin"]
    assert [one.get("class") for one in tools.getparent()] == ["highlight", "tools"]


def test_comments_are_in_the_language_of_the_page_and_statements_are_the_same(
    boxed: FixtureProject,
) -> None:
    english, chinese = (article(boxed, page).text_content() for page in ("weights", "zh/weights"))
    assert "weights = softmax(scores)  # one row" in english
    assert "weights = softmax(scores)  # 一行" in chinese
    cells = json.loads(boxed.read("site/notebooks/zh/weights.ipynb"))["cells"]
    assert any("# 一行" in "".join(cell["source"]) for cell in cells)


def test_a_box_is_found_under_its_own_address(boxed: FixtureProject) -> None:
    index = json.loads(boxed.read("site/search/search_index.json"))["docs"]
    found = {one["location"]: one for one in index}
    assert found["weights/#why"]["title"] == "Why they do"
    assert found["weights/#why"]["text"] == "Folded 0.47."
    around = found["weights/#the-weights"]["text"]
    (exercise,) = (one for one in index if "Exercise 1.1" in one["title"])
    assert re.fullmatch(r"Exercise 1\.1 \w[\w ]* \w.*", exercise["title"])
    assert "★" not in exercise["title"]
    assert "Between the boxes" in around
    assert "After all of them." in around
    assert "Folded" not in around


def test_a_title_of_a_box_keeps_its_formula() -> None:
    html = (
        '<div class="result" id="r"><p>Of <math data-tex="d_k"><mi>d</mi></math></p><p>x</p></div>'
    )
    assert search.find_entries("a/", f"<h1 id='a'>A</h1>{html}")[1]["title"] == "Of d_k"


def test_a_copy_holds_every_box(boxed: FixtureProject) -> None:
    copy = boxed.read("site/weights/index.html.md")
    assert "Result 1.1 The weights sum to 1" in copy
    assert "Why they do" in copy
    assert "///" not in copy
    assert "relation" not in copy


FAULTS = {
    "/// deeper | A\n    id: a\n\nText.\n": "this box is never closed",
    "///\n": "this closes no box",
    "/// deeper | A\n    id: a\n\n## B { #b }\n\n///\n": "a heading within the box a",
    "/// deeper | A\n\nText.\n///\n": "wanted a title and the options id, got ",
    "/// depth | A\n    id: a\n///\n": "a box is one of deeper, fold, result",
    "/// deeper | A {{ x }}\n    id: a\n///\n": "the title of a box holds no inline value",
    "/// hint\n\n/// answer\n///\n///\n": "the outer box takes more slashes",
    "//// exercise | A\n    id: a\n    stars: 4\n    kind: bug\n////\n": "stars is one of 1 2 3",
    "/// deeper | A\n    id: t\n\n///\n": 'id "t" is on line 6 already',
    "/// result | A\n    uncomputed: because\n///\n": "uncomputed is one of words random, got",
    "/// deeper | A\n    id: a\n    uncomputed: words\n///\n": "the options id, got id, uncomputed",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_box_that_is_wrong_is_a_fault_with_its_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "docs" / "en" / "t.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nquestion: T?\ndescription: T\n---\n\n# T {{ #t }}\n\n{text}")
    found = [str(failure) for failure in read_page(path, tmp_path).failures]
    assert any(FAULTS[text] in one for one in found), found
    assert all(one.startswith("docs/en/t.md:") for one in found)


def test_twins_have_the_same_boxes(project: FixtureProject) -> None:
    project.edit(
        "docs/en/weights.md", "| name | weight |", BOXES + "\n| name | weight |", both=True
    )
    project.edit("docs/zh/weights.md", 'relation: "="', 'relation: "≤"')
    wanted = "heading or box: wanted #result-sum (result, id: result-sum, relation: ="
    assert wanted in "\n".join(project.find_faults())


def test_a_comment_without_words_is_a_fault(project: FixtureProject) -> None:
    project.edit(WEIGHTS, "weights = softmax(scores)", "weights = softmax(scores)  # one row")
    project.write("docs/listings/weights.zh.toml", '[comments]\n"gone" = "没有了"\n')
    found = "\n".join(project.find_faults())
    assert "docs/listings/weights.py:14: docs/listings/weights.zh.toml has no translation" in found
    assert "'gone' under [comments] is not in docs/listings/weights.py" in found


def test_a_listing_with_words_needs_a_table(project: FixtureProject) -> None:
    project.edit(WEIGHTS, "weights = softmax(scores)", "weights = softmax(scores)  # one row")
    found = "\n".join(project.find_faults())
    wanted = "docs/listings/weights.py:14: has comments or strings to translate: create"
    assert f"{wanted} docs/listings/weights.zh.toml" in found
    assert "such as [comments] 'one row'" in found


def test_a_broken_listing_without_a_table_is_a_fault_and_no_traceback(
    project: FixtureProject,
) -> None:
    project.edit(WEIGHTS, "# --8<-- [end:setup]\n", "")
    assert "[start:weights] does not pair" in "\n".join(project.find_faults())


def test_every_result_names_tests_that_exist() -> None:
    """That its proof and its block exist, the build sees: they are links."""
    for path in sorted((ROOT / "docs" / "en").glob("*.md")):
        source = read_page(path, ROOT)
        tests = ROOT / "tests" / f"test_{source.slug.replace('-', '_')}.py"
        for one in source.passages:
            if one.kind == "result":
                known = tests.read_text(encoding="utf-8")
                for name in dict(one.options)["test"].split():
                    assert f"def {name}(" in known, (source.path, one.line, name)
