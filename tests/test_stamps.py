"""Stamps of translations: two branches merge, and `make translated` shows and asks."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from attention_docs.site.read.confirm import confirm, find_translations, stamp
from attention_docs.site.read.reader import read_page
from attention_docs.site.read.stamps import find_stale, read_stamps, set_stamps
from tests.conftest import ROOT
from tests.fixture_project import FixtureProject

ENGLISH, CHINESE = "docs/en/weights.md", "docs/zh/weights.md"
AUTHOR = {
    f"GIT_{who}_{what}": "test@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


def git(project: FixtureProject, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-c", "core.hooksPath=/dev/null", *arguments],
        cwd=project.root,
        env={**os.environ, **AUTHOR},
        capture_output=True,
        text=True,
        check=False,
    )


def branch(project: FixtureProject, name: str, old: str, new: str) -> None:
    """A branch that changes a text in both languages and stamps it."""
    assert not git(project, "checkout", "-q", "-b", name, "main").returncode
    project.edit(ENGLISH, old, new, both=True)
    assert not git(project, "commit", "-q", "-a", "-m", name).returncode


def merge(project: FixtureProject, *changes: tuple[str, str]) -> subprocess.CompletedProcess[str]:
    """The second of two branches merged into the first."""
    for arguments in (["init", "-q", "-b", "main"], ["add", "docs"], ["commit", "-q", "-m", "all"]):
        assert not git(project, *arguments).returncode
    for number, change in enumerate(changes):
        branch(project, f"branch-{number}", *change)
    return git(project, "merge", "-q", "--no-edit", "branch-0")


TITLE = "# Weights { #weights }\n", "# Weights { #weights }\n\nThey add up to one.\n"
FIRST = "The first weight is", "Now the first weight is"


def test_branches_that_change_neighbouring_sections_merge(project: FixtureProject) -> None:
    done = merge(project, TITLE, FIRST)
    assert done.returncode == 0, done.stdout
    merged = project.read(CHINESE)
    assert TITLE[1] in merged
    assert FIRST[1] in merged
    assert project.find_faults() == []


def test_branches_that_change_one_section_conflict_at_its_stamp(project: FixtureProject) -> None:
    done = merge(project, FIRST, ("## The weights {", "## All weights {"))
    assert done.returncode == 1
    assert f"CONFLICT (content): Merge conflict in {CHINESE}" in done.stdout
    assert f"conflict in {ENGLISH}" not in done.stdout  # its changed lines do not touch
    assert any(
        fault.startswith(f"{CHINESE}:1: the front matter") for fault in project.find_faults()
    )


def test_a_change_without_its_translation_is_stale_after_a_merge(project: FixtureProject) -> None:
    """One branch stamps a section, the other changes its English text alone."""
    for arguments in (["init", "-q", "-b", "main"], ["add", "docs"], ["commit", "-q", "-m", "all"]):
        git(project, *arguments)
    git(project, "checkout", "-q", "-b", "english")
    project.edit(ENGLISH, "## The weights {", "## All weights {")
    git(project, "commit", "-q", "-a", "-m", "English alone")
    branch(project, "both", *FIRST)
    assert git(project, "merge", "-q", "--no-edit", "english").returncode == 0
    (fault,) = project.find_faults()
    assert "the English text changed in #the-weights: bring this page up to date" in fault
    assert fault.endswith("; or, if it needs no change, stamp it: `make translated`")


def test_a_stamp_is_the_hash_of_one_section(project: FixtureProject) -> None:
    page = project.root / CHINESE
    text = (project.root / ENGLISH).read_text(encoding="utf-8")
    head, body = text[text.index("# Weights") :].split("## The weights")
    assert read_stamps(read_page(page, project.root)) == {
        name: hashlib.sha256(" ".join(part.split()).encode()).hexdigest()[:4]
        for name, part in (("weights", head), ("the-weights", f"## The weights{body}"))
    }


def test_stamps_stand_on_lines_of_their_own_and_replace_the_old_ones() -> None:
    text = "---\ndescription: x\ntranslated:\n  old:\n    0000\ntyped:\n  3: three\n---\n\n# x\n"
    wanted = "---\ndescription: x\ntyped:\n  3: three\ntranslated:\n  a:\n    0b01\n---\n\n# x\n"
    assert set_stamps(text, {"a": "0b01"}) == wanted
    assert set_stamps(wanted, {"a": "0b01"}) == wanted
    assert set_stamps("# x\n", {"a": "12e4"}) == ("---\ntranslated:\n  a:\n    12e4\n---\n\n# x\n")


def test_a_stamp_of_a_section_that_is_gone_is_stale_until_it_is_removed(
    project: FixtureProject,
) -> None:
    project.edit(CHINESE, "translated:\n", "translated:\n  gone:\n    1234\n")
    pages = [read_page(project.root / path, project.root) for path in (ENGLISH, CHINESE)]
    assert find_stale(*pages) == ["gone"]
    project.stamp()
    assert "gone" not in project.read(CHINESE)
    assert project.find_faults() == []


# --- make translated ---------------------------------------------------------------------------


def answers(*keys: str) -> Callable[[], str]:
    given: Iterator[str] = iter(keys)
    return lambda: next(given)


def test_what_changed_is_shown_beside_its_translation(project: FixtureProject, capsys: Any) -> None:
    project.edit(ENGLISH, *FIRST)
    project.edit(CHINESE, "The first weight is", "第一个权重是")
    assert confirm(project.root, answers("n")) == 1
    shown = capsys.readouterr().out
    assert "=== weights #the-weights (1 of 1)" in shown
    english, chinese = shown.split("--- docs/zh/weights.md:17\n")
    assert "--- docs/en/weights.md:12\n" in english
    assert "Now the first weight is {{ weights[0]:.4f }}" in english
    assert "第一个权重是 {{ weights[0]:.4f }}" in chinese
    assert "# Weights { #weights }" not in shown  # what did not change
    assert len(project.find_faults()) == 1


def test_only_what_is_confirmed_is_stamped(project: FixtureProject) -> None:
    project.edit(ENGLISH, *TITLE)
    project.edit(ENGLISH, *FIRST)
    project.edit("docs/en/index.md", "The constant is", "Our constant is")
    assert confirm(project.root, answers("y", "n", "y")) == 1
    (fault,) = project.find_faults()
    assert "changed in #weights:" in fault
    assert confirm(project.root, answers("q")) == 1
    assert confirm(project.root, answers("y")) == 0
    assert project.find_faults() == []


def test_a_section_without_a_translation_is_named(project: FixtureProject, capsys: Any) -> None:
    project.edit(ENGLISH, "| name |", "## More { #more }\n\n| name |")
    confirm(project.root, answers("n", "q"))
    assert "--- docs/zh/weights.md: no such section" in capsys.readouterr().out


def test_one_page_or_all_are_stamped_without_a_question(
    project: FixtureProject, capsys: Any
) -> None:
    project.edit(ENGLISH, *FIRST)
    project.edit("docs/en/index.md", "The constant is", "Our constant is")
    stamp(project.root, "zh/weights")
    assert capsys.readouterr().out == "docs/zh/weights.md: stamped the-weights\n"
    stamp(project.root)
    assert capsys.readouterr().out == "docs/zh/index.md: stamped index\n"
    stamp(project.root, "weights")
    assert capsys.readouterr().out == "docs/zh/weights.md: up to date already\n"
    assert project.find_faults() == []


def test_a_misspelt_page_is_named_with_the_nearest(project: FixtureProject) -> None:
    with pytest.raises(SystemExit) as error:
        stamp(project.root, "wieghts")
    assert str(error.value) == (
        "wanted the name of a page, got wieghts: no docs/en/wieghts.md; did you mean weights?"
    )
    project.write("docs/en/alone.md", "# x { #alone }\n")
    with pytest.raises(SystemExit, match=r"docs/zh/alone\.md does not exist: write it"):
        stamp(project.root, "alone")


def test_every_page_has_its_translation_stamped() -> None:
    pages = [[read_page(path, ROOT) for path in pair] for pair in find_translations(ROOT)]
    assert len(pages) > 40
    assert [b.path for a, b in pages if find_stale(a, b)] == []
