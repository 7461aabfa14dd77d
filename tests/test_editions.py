"""Editions: results keep their numbers, and a program says what moved from one to the next."""

from __future__ import annotations

import json
import tomllib

import pytest
import yaml

from attention_docs.site import editions
from attention_docs.site.read.editions import LIST
from attention_docs.site.record import Record
from tests.conftest import ROOT
from tests.fixture_project import WEIGHTS, FixtureProject, run_command

RESULT = """
/// result | {title}
    id: {name}
    relation: "="
    proof: the-weights
    check: weights
    test: tests/test_weights.py::test_weights
    unproved: open
    uncomputed: words

{statement}
///
"""
CITATION = """authors:
  - name: The contributors
version: "{}"
date-released: "2026-12-01"
"""
PAGE = "---\nquestion: Q?\ndescription: D.\n---\n\n# Editions { #editions }\n\n<!-- editions -->\n"


def add_result(project: FixtureProject, name: str, statement: str, before: str) -> None:
    """Put a result before a text of the page, in both languages."""
    box = RESULT.format(title=f"Title of {name}", name=name, statement=statement)
    project.edit("docs/en/weights.md", before, f"{box.lstrip()}\n{before}", both=True)


def read_record(project: FixtureProject) -> Record:
    """The record of a project, as its numbers.json has it."""
    done = run_command(project.root, "attention_docs.site.record")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def add_edition(project: FixtureProject, name: str, before: Record | None = None) -> str:
    """Add an edition to the list of the project; what the command says, or its error."""
    project.write("CITATION.cff", CITATION.format(name))
    project.write("before.json", json.dumps(before))
    files = ["before.json"] if before else []
    done = run_command(project.root, "attention_docs.site.editions", *files)
    return done.stdout or done.stderr


def read_numbers(project: FixtureProject) -> dict[str, str]:
    """The numbers of the results of a project by their ids."""
    return {one["id"]: one["number"] for one in read_record(project)["results"]}


@pytest.fixture
def first(project: FixtureProject) -> tuple[FixtureProject, Record]:
    """A project with two results and its first edition."""
    add_result(project, "sum", "The weights sum to one.", "The first weight is")
    add_result(project, "order", "Greater scores have greater weights.", "| name | weight |")
    project.write(LIST, f"# The editions.\n{editions.NONE}")
    for lang in ("en", "zh"):
        project.write(f"docs/{lang}/editions.md", PAGE)
    project.edit("mkdocs.yml", "  - weights.md\n", "  - weights.md\n  - editions.md\n")
    project.stamp()
    said = add_edition(project, "2026.1")
    assert said == f"{LIST}: edition 2026.1, 2 results, 0 changes\n"
    return project, read_record(project)


Case = tuple[FixtureProject, Record]


def read_entries(project: FixtureProject) -> list[Record]:
    """The editions of a project."""
    return list(tomllib.loads(project.read(LIST))["entry"])


def test_a_result_keeps_its_number(first: Case) -> None:
    project, _ = first
    assert read_entries(project)[0]["numbers"] == {"weights#sum": "1.1", "weights#order": "1.2"}
    add_result(project, "new", "A new one.", "/// result | Title of sum")
    assert read_numbers(project) == {"new": "1.3", "sum": "1.1", "order": "1.2"}
    text = project.read("docs/en/weights.md")
    gone = text[text.index("/// result | Title of order") : text.index("| name | weight |")]
    project.edit("docs/en/weights.md", gone, "", both=True)
    assert read_numbers(project) == {"new": "1.3", "sum": "1.1"}  # 1.2 is not given again


def test_a_chapter_with_results_keeps_its_number(first: Case) -> None:
    project, _ = first
    assert not project.find_faults()
    project.write(LIST, project.read(LIST).replace('"1.', '"3.'))
    assert project.find_faults() == [
        f"{LIST}:1: weights is chapter 1, and edition 2026.1 numbers its results 3.1 and so on: "
        "let it stay chapter 3"
    ]


def test_what_moved_is_found(first: Case) -> None:
    project, before = first
    project.edit(WEIGHTS, "2.0, 4.0, 4.0", "2.0, 4.0, 5.0")
    project.edit("docs/en/weights.md", "weights sum to", "positive weights sum to", both=True)
    project.edit("docs/en/index.md", "The constant is", "The one constant is", both=True)
    add_result(project, "new", "A new one.", "The first weight is")
    add_edition(project, "2026.2", before)
    # softmax(2, 4, 5) by hand: e^-3, e^-1 and 1 over their sum 1.41767
    moved = [
        {"place": "weights#new", "kind": "result", "now": "1.3"},
        {
            "place": "weights#sum",
            "kind": "statement",
            "was": "The weights sum to one.",
            "now": "The positive weights sum to one.",
        },
        {
            "place": "weights#the-weights",
            "kind": "output",
            "was": "weights [0.0634, 0.4683, 0.4683]",
            "now": "weights [0.0351, 0.2595, 0.7054]",
        },
        *(
            {"place": place, "kind": "inline", "was": was, "now": now}
            for place, was, now in [
                ("weights#the-weights", "0.0634", "0.0351"),
                ("weights#the-weights", "0.47", "0.26"),
                ("weights#the-weights", "0.468", "0.705"),
                ("weights#the-weights", "0.06", "0.04"),
            ]
        ),
        {"place": "index#index", "kind": "text"},
    ]
    found = read_entries(project)[1]["moved"]
    assert sorted(found, key=str) == sorted(moved, key=str)


def test_an_edition_is_added_once_and_after_the_one_before(first: Case) -> None:
    project, before = first
    named = f"{LIST} has edition 2026.1: name the next one in CITATION.cff"
    assert named in add_edition(project, "2026.1")
    assert "wanted the numbers.json of edition 2026.1" in add_edition(project, "2026.2")
    other = {**before, "edition": "2025.9"}
    assert "wanted the record of 2026.1, got that of 2025.9" in add_edition(
        project, "2026.2", other
    )
    assert len(read_entries(project)) == 1


@pytest.mark.long
def test_the_page_tells_of_each_edition(first: Case) -> None:
    project, before = first
    project.edit(WEIGHTS, "2.0, 4.0, 4.0", "2.0, 4.0, 5.0")
    add_edition(project, "2026.2", before)
    errata = 'errata = ["weights#sum"]\nwrong = ["2026.1"]\nerrata_en = ["It said less."]\n'
    added = f'id = "2026.2"\n{errata}errata_zh = ["少说了。"]\n'
    project.write(LIST, project.read(LIST).replace('id = "2026.2"\n', added))
    done = project.build()
    assert done.returncode == 0, done.stderr
    shown = project.read_html("editions")
    assert shown.index('id="edition-2026-2"') < shown.index('id="edition-2026-1"')
    assert "<code>0.0634</code> → <code>0.0351</code>" in shown
    assert "It said less. (first wrong in 2026.1, right since 2026.2)" in shown
    shown = project.read_html("zh/editions")
    assert "少说了。（2026.1 版起有误，2026.2 版起改正）" in shown
    page = project.read_html("weights")
    assert '<meta name="edition" content="2026.2">' in page
    assert '<a href="../editions/">Edition 2026.2</a>' in page
    assert "edition = 2026.2" not in page
    assert "note = {edition 2026.2}" in page
    project.write("CITATION.cff", CITATION.format("2026.3"))
    assert project.build().returncode == 0
    assert "Edition 2026.3, in preparation" in project.read_html("weights")


def test_the_edition_has_one_name() -> None:
    name = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == name
    assert f"## {name}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
