"""Publishing is one step: builds side by side, killed at any moment, leave a whole site."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attention_docs.site.publish import staging
from attention_docs.site.publish.staging import StagingFolder
from tests.fixture_project import FixtureProject, read_files, start_command

Process = subprocess.Popen[bytes]

pytestmark = pytest.mark.long
PAGES = ("index.html", "weights/index.html", "zh/index.html", "zh/weights/index.html")


def start_build(project: FixtureProject) -> Process:
    return start_command(project.root, "mkdocs", "build", "-q", "-d", str(project.root / "site"))


def count_missing_pages(project: FixtureProject, builds: list[Process]) -> int:
    """Wait for builds; how often a page of the site was found missing meanwhile."""
    missing = 0
    while any(build.poll() is None for build in builds):
        missing += sum(not (project.root / "site" / page).is_file() for page in PAGES)
        time.sleep(0.002)
    return missing


def test_builds_into_one_folder_leave_a_whole_site(built: FixtureProject) -> None:
    whole = read_files(built.root / "site")
    builds = []
    for offset in (0, 0.1, 0.15, 0.05):
        time.sleep(offset)
        builds.append(start_build(built))
    assert count_missing_pages(built, builds) == 0
    assert [build.returncode for build in builds] == [0] * 4
    assert read_files(built.root / "site") == whole
    assert not [*built.root.glob("site.*")]


def test_a_build_killed_at_any_moment_leaves_the_old_site_or_the_new(built: FixtureProject) -> None:
    began = time.monotonic()
    assert start_build(built).wait() == 0
    takes = time.monotonic() - began
    whole = read_files(built.root / "site")
    draws = random.Random(0)
    for _ in range(3):
        build = start_build(built)
        time.sleep(draws.uniform(0.3, 1) * takes)
        build.send_signal(signal.SIGKILL)
        assert count_missing_pages(built, [build]) == 0
        assert read_files(built.root / "site") == whole
    assert built.build().returncode == 0
    assert not [*built.root.glob("site.*")]  # what they left is gone


def stage_page(folder: Path, text: str) -> StagingFolder:
    one = StagingFolder(folder / "site", folder / "cache")
    one.stage.mkdir()
    (one.stage / "index.html").write_text(text)
    return one


@pytest.mark.parametrize("single", [True, False])
def test_the_new_site_takes_the_place_of_the_old(
    single: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not single:
        monkeypatch.setattr(staging, "_exchange_folders", lambda one, other: False)
    elif sys.platform == "linux":  # whoever looks between two steps finds no site
        monkeypatch.delattr(StagingFolder, "_swap")
    for text in ("one", "two"):
        stage_page(tmp_path, text).publish()
        assert (tmp_path / "site" / "index.html").read_text() == text
        assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "site"]


def test_a_site_that_a_killed_build_had_put_aside_comes_back(tmp_path: Path) -> None:
    stage_page(tmp_path, "one").publish()
    (tmp_path / "site").rename(tmp_path / "site.999999999.old")
    (tmp_path / "site.999999998.part").mkdir()
    StagingFolder(tmp_path / "site", tmp_path / "cache")
    assert (tmp_path / "site" / "index.html").read_text() == "one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "site"]


def test_a_page_that_is_lost_on_the_way_stops_the_build(project: FixtureProject) -> None:
    """Another process, or a full disk, may take a file of the stage."""
    hook = """
import glob, os

def on_post_build(config):
    for path in glob.glob(config.site_dir + "/weights/index.html"):
        os.remove(path)
"""
    project.write("hook.py", hook)
    project.edit("mkdocs.yml", "plugins:\n", "hooks: [hook.py]\n\nplugins:\n")
    done = project.build("-q")
    assert done.returncode
    assert "site/weights/index.html:1: wanted the page that was written, got no file" in done.stderr
    assert not (project.root / "site").exists()


def test_a_block_publishes_a_file(project: FixtureProject) -> None:
    """The text of a block, as a file that both languages link to; from the cache too."""
    project.edit(
        "docs/listings/weights.py",
        'name = "weights"\n',
        "from attention_docs.text import TextFile\n\n"
        'name = "weights"\nfile = TextFile("two-rows.csv", "1,é\\n" * 600)\n',
    )
    for _ in range(2):  # the second build makes no page
        assert project.build().returncode == 0
        assert project.read("site/files/two-rows.csv") == "1,é\n" * 600
        assert '<a href="../files/two-rows.csv" download' in project.read_html("weights")
        assert '<a href="../../files/two-rows.csv" download' in project.read_html("zh/weights")
        assert "two-rows.csv</a> (3 kB)" in project.read_html("weights")
        assert "files/two-rows.csv)" in project.read("site/weights/index.html.md")
    project.edit("docs/listings/weights.py", "two-rows.csv", "../two-rows.csv")
    done = project.build("-q")
    assert done.returncode
    assert "name must be like some-words.json" in done.stderr
