"""A slow check is left out only where it has passed for exactly the same inputs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests import passed


def make_item(again: bool = False, name: str = "test_one", path: str = __file__) -> Any:
    """As much of a test as `ask` looks at."""
    option = SimpleNamespace(again=again)
    return SimpleNamespace(
        path=path, nodeid=name, user_properties=[], config=SimpleNamespace(option=option)
    )


def find_key(*parts: str, **of: str) -> str:
    """The key that a test reports."""
    item = make_item(**cast("Any", of))
    passed.ask(item, *parts)
    ((_, (_, key, _)),) = item.user_properties
    return cast("str", key)


def test_the_same_inputs_need_no_second_run(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"test_one": find_key("a", "b")}
    for kept in (({}, keys), (keys, {})):  # for everybody, and on this machine
        monkeypatch.setattr(passed, "read_kept", lambda kept=kept: kept)
        assert passed.ask(make_item(), "a", "b")
        assert not passed.ask(make_item(again=True), "a", "b")
        assert not passed.ask(make_item(), "a", "c")
        assert not passed.ask(make_item(), "ab")
        assert not passed.ask(make_item(name="test_two"), "a", "b")
        assert not passed.ask(make_item(path=passed.__file__), "a", "b")  # another module


def test_what_passes_is_kept_and_what_is_recorded_replaces_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, recorded = tmp_path / "here.json", tmp_path / "recorded.json"
    monkeypatch.setattr(passed, "HERE", here)
    monkeypatch.setattr(passed, "RECORDED", recorded)
    recorded.write_text(json.dumps({"a.py::gone": "1", "b.py::stays": "2"}))
    here.write_text("{ damaged")
    passed.keep({"a.py::one": "3"}, record=False)
    passed.keep({"a.py::two": "4"}, record=True)
    assert passed.read_keys(here) == {"a.py::one": "3", "a.py::two": "4"}
    assert passed.read_keys(recorded) == {"a.py::two": "4", "b.py::stays": "2"}
    assert [path.name for path in tmp_path.rglob("*.part")] == []


def test_every_file_of_the_engine_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed, "ROOT", tmp_path)
    names = ["mkdocs.yml", "docs/zh-hant.toml", "docs/assets/live/a.js", "tests/fixture_project.py"]
    names += ["attention_docs/site/theme/main.html", "attention_docs/softmax.py"]
    for name in names:
        (path := tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    hash_engine = passed.hash_engine.__wrapped__  # each time anew
    found = {hash_engine()}
    for name in names:
        (tmp_path / name).write_text("2")
        found.add(hash_engine())
    assert len(found) == 1 + len(names)
    for name in ("docs/en.md", "attention_docs/softmax.pyc"):  # neither pages nor compiled modules
        (tmp_path / name).write_text("3")
    assert hash_engine() in found


def test_the_record_names_tests_that_exist() -> None:
    for name in passed.read_keys(passed.RECORDED):
        path, _, test = name.partition("::")
        text = (passed.ROOT / path).read_text(encoding="utf-8")
        assert f"def {test.partition('[')[0]}(" in text, name
