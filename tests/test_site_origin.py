"""Where does this number come from? For a reader who asks, and for machines."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag

from tests.fixture_project import WEIGHTS, FixtureProject

pytestmark = pytest.mark.long


def origin(project: FixtureProject, page: str, block: str) -> Tag:
    frame = BeautifulSoup(project.read_html(page), "lxml").find(id=f"out-{block}")
    assert isinstance(frame, Tag)
    details = frame.find("details", class_="origin")
    assert isinstance(details, Tag)  # a details element opens by click and by keyboard, no script
    assert details.summary
    return details


def test_an_output_names_its_listing_functions_versions_and_seed(project: FixtureProject) -> None:
    drawn = "\n".join(
        [
            "softmax(np.random.default_rng(42).random(3))",
            "from attention_docs.figures import heatmap",
            "",
            "heatmap(weights)",
            "",
        ]
    )
    project.edit(WEIGHTS, "softmax(scores)\n", drawn)
    project.document("attention_docs.softmax")
    assert project.build(REPO_URL="https://example.org/a/b").returncode == 0
    details = origin(project, "weights", "weights")
    first_line = project.read(WEIGHTS).splitlines().index('name = "weights"') + 1
    links = {a.get_text(): a["href"] for a in details.find_all("a")}
    listing = f"https://example.org/a/b/blob/main/{WEIGHTS}#L{first_line}"
    assert links == {
        f"weights.py:{first_line}": listing,
        "softmax.softmax": "../api/softmax/#attention_docs.softmax.softmax",
    }
    text = details.get_text(" ")
    for wanted in ("numpy.random.default_rng(42)", "python 3.", "numpy 2.", "torch 2.13.0"):
        assert wanted in text
    summary = origin(project, "zh/weights", "weights").summary
    assert summary
    assert (summary.get_text(), summary["title"]) == ("来源", "这些数字从哪里来？")


def test_without_a_repository_the_listing_is_on_the_site(built: FixtureProject) -> None:
    link = origin(built, "zh/weights", "weights").find("a")
    assert isinstance(link, Tag)
    assert link["href"] == "../../listings/weights.py"
    assert (built.root / "site" / "listings" / "weights.py").is_file()


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> FixtureProject:
    """The small project, built, with a block that seeds torch and calls nothing of the package."""
    project = FixtureProject(tmp_path_factory.mktemp("seeded"))
    code = "import torch\n\ntorch.manual_seed(7)\ntorch.Generator().manual_seed(8)\n"
    code += "weights = [0.5] * 3\n"
    project.edit(WEIGHTS, "weights = softmax(scores)\n", code)
    project.edit(WEIGHTS, 'print(name, text(weights, ".4f"))', "print(name)")
    assert project.build().returncode == 0
    return project


def test_a_block_without_package_code_and_a_torch_seed(seeded: FixtureProject) -> None:
    text = origin(seeded, "weights", "weights").get_text(" ")
    assert "none of this package" in text
    assert "torch.manual_seed(7)" in text
    assert "torch.Generator().manual_seed(8)" in text


def test_torch_and_numpy_are_not_imported_when_nothing_runs(seeded: FixtureProject) -> None:
    """In a process of its own, which nothing has prepared."""
    code = (
        "import sys; from mkdocs.__main__ import cli\n"
        "try: cli(['build', '-q'])\n"
        "except SystemExit as stop: assert not stop.code\n"
        "print([name for name in ('torch', 'numpy') if name in sys.modules])"
    )
    root = str(seeded.root)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env={"PYTHONPATH": root, "PATH": "/usr/bin:/bin", "HOME": root},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_inline_values_work_in_prose_tables_attributes_and_formulas(built: FixtureProject) -> None:
    for page, name in (("weights", "weights"), ("zh/weights", "权重")):
        soup = BeautifulSoup(built.read_html(page), "lxml")
        link = soup.find("a", string="the next")
        assert isinstance(link, Tag)
        assert soup.find(id="value-1").get_text() == "0.0634"  # type: ignore[union-attr]
        assert link["title"] == "0.47"
        assert "0.468" in [number.get_text() for number in soup.find_all("mn")]
        assert [cell.get_text() for cell in soup.find_all("td")] == [name, "0.06"]


def test_numbers_json_has_one_record_per_output_and_value(built: FixtureProject) -> None:
    document: dict[str, Any] = json.loads(built.read("site/numbers.json"))
    records = {(r["page"], r["id"]): r for r in document["records"]}
    assert len(records) == len(document["records"]) == 2 * (2 + 6)
    output = records["/zh/weights/", "out-weights"]
    assert output["text"] == "权重 [0.0634, 0.4683, 0.4683]"
    assert output["values"] == [0.0634, 0.4683, 0.4683]
    assert output["sha256"] == hashlib.sha256(output["text"].encode()).hexdigest()
    assert output["listing"] == WEIGHTS
    assert output["functions"] == ["attention_docs.softmax.softmax"]
    value = records["/weights/", "value-1"]
    assert (value["text"], value["values"]) == ("0.0634", [0.0634])
    assert (value["source"], value["line"]) == ("docs/en/weights.md", 18)
    assert (value["expression"], value["format"]) == ("weights[0]", ".4f")
