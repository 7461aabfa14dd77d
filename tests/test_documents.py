"""Documents for contributors: the files, commands and chapters that they name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from attention_docs.site.read.reader import read_page
from tests.conftest import ROOT, SETTINGS

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/project/*.md", "attention_docs/*/README.md", ".github/**/*.md")
    for path in ROOT.glob(pattern)
)
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:attention_docs|docs|tests|\.github)/[\w<>/.*-]*")
LINE = re.compile(r"(?m)^ *(?:(?:- )?run: )?(make .*)$")
COMMAND = re.compile(r"\bmake ([a-z]+)\b")


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def list_anchors(text: str) -> set[str]:
    """The ids that a code host gives to the headings of a document."""
    titles = re.findall(r"(?m)^#+ (.+)$", text)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def find_broken_links(document: str) -> Iterator[str]:
    for link in LINK.findall(read(document)):
        name, _, anchor = unquote(link).partition("#")
        target = (ROOT / document).parent / name if name else ROOT / document
        if not target.exists() or (
            anchor and anchor not in list_anchors(target.read_text("utf-8"))
        ):
            yield link


def find_lost_paths(document: str) -> Iterator[str]:
    """The paths of the repository in code spans; `<chapter>` stands for any name."""
    for path in (path for code in CODE.findall(read(document)) for path in PATH.findall(code)):
        if not any(ROOT.glob(re.sub(r"<\w+>", "*", path.rstrip("/")))):
            yield path


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_paths_lead_to_files(document: str) -> None:
    assert [*find_broken_links(document), *find_lost_paths(document)] == []


@pytest.mark.parametrize(
    "document", [*DOCUMENTS, ".github/workflows/site.yml", ".github/workflows/mutants.yml"]
)
def test_every_command_is_one_of_the_makefile(document: str) -> None:
    (phony,) = re.findall(r"(?m)^\.PHONY: (.+)$", read("Makefile"))
    code = [*CODE.findall(read(document)), *LINE.findall(read(document))]
    assert {name for text in code for name in COMMAND.findall(text)} <= {*phony.split()}


def test_the_readme_lists_the_chapters_as_the_navigation_and_the_pages_have_them() -> None:
    navigation = SETTINGS.navigation
    rows = re.findall(r"(?m)^\| \[(.+?)\]\(docs/en/([\w-]+)\.md\) \| (.+) \|$", read("README.md"))
    pages = [read_page(ROOT / "docs" / "en" / f"{slug}.md", ROOT) for slug in navigation.chapters]
    assert rows == [(page.title, page.slug, page.question) for page in pages]
    heads = re.findall(r"(?m)^\| (Part .+?) \|", read("README.md"))
    parts = [part for name, part in navigation.ids.items() if name.startswith("part-")]
    assert heads == [part.title for part in parts]


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/**/*.yml")), ids=lambda path: path.stem)
def test_forms_and_workflows_are_yaml(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(form, dict)
    ids = [field["id"] for field in form.get("body", ())]
    assert len(ids) == len(set(ids))


def list_jobs() -> list[Any]:
    """By name, with the permissions of the workflow where a job has none of its own."""
    flows = {
        path.stem: yaml.safe_load(read(str(path))) for path in ROOT.glob(".github/workflows/*")
    }
    return [
        pytest.param({"permissions": flow["permissions"]} | job, id=f"{name}-{key}")
        for name, flow in flows.items()
        for key, job in flow["jobs"].items()
    ]


@pytest.mark.parametrize("job", list_jobs())
def test_a_job_ends_is_pinned_and_writes_only_where_it_runs_nothing_of_ours(job: Any) -> None:
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert job["timeout-minutes"] <= 90
    assert [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one)] == []
    if "write" in job["permissions"].values():
        assert not any("actions/checkout@" in one for one in used)
