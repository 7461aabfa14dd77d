"""Results: whose state they come from, when they are reused, and that they never change alone."""

from __future__ import annotations

import re
import shutil
import threading
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from attention_docs.site.build import Build
from attention_docs.site.run import execute
from tests.fixture_project import (
    CONSTANTS,
    LOG,
    WEIGHTS,
    FixtureProject,
    count_blocks,
    read_files,
    start_command,
)

pytestmark = pytest.mark.long


def test_a_block_of_both_languages_runs_once_and_is_then_reused(built: FixtureProject) -> None:
    assert count_blocks(built.read(LOG)) == (3, 0)
    assert count_blocks(built.build()) == (0, 3)
    assert "weights [0.0634, 0.4683, 0.4683]" in built.read_html("weights")
    assert "权重 [0.0634, 0.4683, 0.4683]" in built.read_html("zh/weights")


def test_prose_reruns_nothing_and_a_module_only_what_depends_on_it(built: FixtureProject) -> None:
    built.edit("docs/en/weights.md", "The first weight is", "So the first weight is", both=True)
    built.edit("attention_docs/constants.py", "7", "8")
    assert count_blocks(built.build()) == (1, 2)  # of the page whose prose is another, none
    assert "So the first weight is" in built.read_html("zh/weights")
    assert "The constant is" in built.read_html("zh")
    assert 'id="value-1">8</span>' in built.read_html("zh")
    built.edit("attention_docs/checks.py", '"""What a', '"""All that a')  # behind softmax
    assert count_blocks(built.build()) == (2, 1)


def test_a_block_depends_on_the_blocks_before_it(built: FixtureProject) -> None:
    built.edit(WEIGHTS, "2.0, 4.0, 4.0", "2.0, 4.0, 5.0")
    assert count_blocks(built.build()) == (2, 1)
    assert "0.0634" not in built.read_html("weights")
    built.edit(WEIGHTS, 'name = "weights"', 'name = "values"')
    assert count_blocks(built.build()) == (1, 2)


def test_a_refresh_asks_no_record_again_until_something_changed(built: FixtureProject) -> None:
    def build(before: Build | None = None) -> tuple[Build, list[str]]:
        now = Build(built.root, print, before=before)
        now.read()
        texts = [one.text for one in now.results(now.pages["en"]["weights"])]
        assert not now.executor.finish()
        return now, texts

    first, texts = build()
    assert "weights [0.0634, 0.4683, 0.4683]" in texts[-1]
    shutil.rmtree(first.executor.store.folder)
    second, again = build(first)
    assert (second.executor.ran, again) == (0, texts)
    built.edit("attention_docs/checks.py", '"""What a', '"""All that a')  # behind softmax
    third, _ = build(second)
    assert third.executor.ran == len(texts)
    built.edit(WEIGHTS, 'name = "weights"', 'name = "values"')
    fourth, after = build(third)
    assert (fourth.executor.ran, after[-1]) == (1, texts[-1].replace("weights", "values"))


def test_versions_belong_to_the_key(
    project: FixtureProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key() -> str:
        execute.read_versions.cache_clear()
        build = Build(project.root, print)
        build.read()
        return build.executor.find_key(build.pages["en"]["weights"])

    before = key()
    assert key() == before
    monkeypatch.setattr(execute, "version", lambda name: f"{name} of tomorrow")
    assert key() != before
    monkeypatch.undo()
    assert key() == before


def test_measured_data_belong_to_the_key(project: FixtureProject) -> None:
    def keys() -> tuple[str, str]:
        build = Build(project.root, print)
        build.read()
        return tuple(
            build.executor.find_key(build.pages["en"][one]) for one in ("weights", "index")
        )  # type: ignore[return-value]

    project.edit(
        "attention_docs/constants.py", "CONSTANT", "from attention_docs import data\n\nCONSTANT"
    )
    weights, constants = keys()
    path = "attention_docs/data/smollm2/neuron.json"
    project.write(path, project.read(path) + "\n")
    assert keys()[0] == weights
    assert keys()[1] != constants


def test_pages_that_use_one_name_differently_do_not_meet(built: FixtureProject) -> None:
    """Nor does the state of a library pass from one to the other."""
    assert "constants 7" in built.read_html("")
    assert "<td><span" in built.read_html("weights")
    assert ">weights</span></td>" in built.read_html("weights")
    # What takes longer, the page with more blocks, runs first.
    seen = "'scores' in dir(), np.get_printoptions()['precision']"
    built.edit(CONSTANTS, "print(name, CONSTANT)", f"import numpy as np\n\nprint(name, {seen})")
    built.edit(WEIGHTS, "scores = ", "np.set_printoptions(precision=1)\nscores = ")
    table = "docs/listings/constants.zh.toml"
    built.edit(table, "[strings]\n", '[strings]\n"precision" = "precision"\n')
    assert count_blocks(built.build()) == (3, 0)
    assert "constants False 8" in built.read_html("")


def test_any_order_of_pages_gives_the_same_pages(built: FixtureProject) -> None:
    nav = "  - index.md\n  - weights.md\n"
    built.edit("mkdocs.yml", nav, "  - weights.md\n  - index.md\n")
    done = built.build(site="other", ATTENTION_DOCS_CACHE=str(built.root / "empty"))
    assert count_blocks(done) == (3, 0)
    article = [
        built.read_html("weights", site).split("<article")[1].split("</article")[0]
        for site in ("site", "other")
    ]
    assert article[0] == article[1]


def test_cold_warm_and_any_hash_seed_give_the_same_bytes(project: FixtureProject) -> None:
    project.build(site="cold", PYTHONHASHSEED="1")
    assert count_blocks(project.build(site="warm", PYTHONHASHSEED="2")) == (0, 3)
    project.build(
        site="other", PYTHONHASHSEED="3", ATTENTION_DOCS_CACHE=str(project.root / "empty")
    )
    cold = read_files(project.root / "cold")
    assert cold == read_files(project.root / "warm")
    assert cold == read_files(project.root / "other")


def test_a_failure_is_not_cached(project: FixtureProject) -> None:
    project.edit(
        "attention_docs/constants.py",
        "CONSTANT = 7",
        "import os\n\nCONSTANT = int(os.environ['N'])",
    )
    assert project.build().returncode
    assert count_blocks(project.build(N="5")) == (1, 2)


def test_truncated_records_give_a_warning_and_are_recomputed(built: FixtureProject) -> None:
    """Of results, of pages and of their files, each cut at a place of its own."""
    records = sorted((built.root / ".cache").rglob("*.json"))
    assert len(records) == 3 + 2 + 2 * 4  # three blocks, two listings without a fault, four pages
    for number, record in enumerate(records):
        whole = record.read_bytes()
        record.write_bytes(whole[: len(whole) * number // len(records)])
    done = built.build(site="again")
    assert done.returncode == 0, done.stderr
    damaged = set(re.findall(r"(\S+\.json) is damaged", done.stderr))
    assert {record.parts[-3] for record in map(Path, damaged)} == {"results", "pages"}
    assert count_blocks(done) == (3, 0)
    assert read_files(built.root / "site") == read_files(built.root / "again")
    assert not any("is damaged" in line for line in built.build().stderr.splitlines())


def test_every_length_of_a_truncated_record_is_refused(tmp_path: Path) -> None:
    from attention_docs.site.store import Store

    warnings: list[str] = []
    store = Store(tmp_path, warnings.append)
    store.put("ab" * 32, {"text": "0.0634", "values": {}})
    (path,) = tmp_path.rglob("*.json")
    whole = path.read_bytes()
    assert store.get("ab" * 32) == {"text": "0.0634", "values": {}}
    assert store.has("ab" * 32)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert store.get("ab" * 32) is None
        assert not store.has("ab" * 32)
    path.write_bytes(whole.replace(b"0.0634", b"0.0635"))
    assert store.get("ab" * 32) is None
    assert len(warnings) == 2 * len(whole) + 1


def test_two_builds_at_once_do_not_hurt_each_other(project: FixtureProject) -> None:
    builds = [
        start_command(project.root, "mkdocs", "build", "-q", "-d", str(project.root / name))
        for name in ("one", "two")
    ]
    assert [build.wait() for build in builds] == [0, 0]
    assert read_files(project.root / "one") == read_files(project.root / "two")
    assert not list((project.root / ".cache").rglob("*.part"))


def test_a_page_that_ends_before_its_process_is_written_down_is_not_lost(
    project: FixtureProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = BaseProcess.start

    def late(process: BaseProcess) -> None:
        start(process)
        time.sleep(1)  # a busy machine

    monkeypatch.setattr(BaseProcess, "start", late)
    build = Build(project.root, print)
    build.read()
    build.executor.start(build.all)
    waiting = threading.Thread(target=build.executor.finish, daemon=True)
    waiting.start()
    waiting.join(60)
    assert not waiting.is_alive()
    texts = [one.text for one in build.results(build.pages["en"]["weights"])]
    assert "weights [0.0634, 0.4683, 0.4683]" in texts[-1]


def test_a_result_that_changes_though_nothing_did_is_a_fault(project: FixtureProject) -> None:
    # Block 2 reads a file, which no key can know of; block 3 is new, so block 2 runs again.
    secret = str(project.root / "secret")
    Path(secret).write_text("1")
    reads = f"print(open({secret!r}).read())"
    project.edit(WEIGHTS, "print(name, text", f"{reads}\nprint(name, text")
    project.write("docs/listings/weights.zh.toml", f'[strings]\n"{secret}" = "{secret}"\n')
    assert project.build().returncode == 0
    Path(secret).write_text("2")
    project.edit("docs/en/weights.md", "{{ weights[0]:.2f }}", "{{ weights[0]:.1f }}", both=True)
    done = project.build()
    assert done.returncode
    assert 'docs/en/weights.md:14: block "weights" printed something else' in done.stderr
