"""What `pip install .` brings: mathematics, figures, `verify`, and not the engine of the site."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from attention_docs.site.addresses import name_wheel
from tests.conftest import ADDRESSES, ROOT

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "attention_docs")


def run_python(*arguments: str, cwd: Path, **environment: str) -> str:
    """What Python prints; the test fails where it does."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is built from: building leaves files beside it."""
    copy = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def installed(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds."""
    target = tmp_path_factory.mktemp("installed")
    run_python("-m", "attention_docs.site.publish.wheel", str(target), cwd=sources)
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


@pytest.mark.long
def test_the_wheel_holds_the_package_without_the_engine(installed: Path) -> None:
    package = installed / "attention_docs"
    assert not (package / "site").exists()
    paths = (ROOT / "attention_docs").rglob("*")
    own = {path.relative_to(ROOT) for path in paths if "__pycache__" not in path.parts}
    wanted = {path for path in own if path.suffix in (".py", ".toml") and path.parts[1] != "site"}
    wanted |= {path for path in own if path.parts[1] == "data" and (ROOT / path).is_file()}
    assert {path.relative_to(installed) for path in package.rglob("*") if path.is_file()} == {
        *wanted,
        Path("attention_docs/py.typed"),
    }


@pytest.mark.long
def test_the_same_sources_make_the_same_wheel(installed: Path, sources: Path) -> None:
    again = sources / "again"
    run_python("-m", "attention_docs.site.publish.wheel", str(again), cwd=sources)
    (first,), (second,) = installed.glob("*.whl"), again.glob("*.whl")
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_the_site_offers_the_wheel(site: Path) -> None:
    (wheel,) = site.glob("*.whl")
    assert wheel.name == name_wheel(ROOT)
    notebook = json.loads((site / "notebooks/en/softmax.ipynb").read_text(encoding="utf-8"))
    command = "".join(notebook["cells"][0]["source"]).split("```")[1]
    url = ADDRESSES["SITE_URL"]
    assert f"{url}{wheel.name}" in command


@pytest.mark.long
def test_figures_are_drawn_without_the_engine(installed: Path) -> None:
    code = (
        "from attention_docs.figures import heatmap; print(heatmap([[0.5]], role='key').svg('zh'))"
    )
    drawn = run_python("-P", "-c", code, cwd=installed, PYTHONPATH=str(installed))
    assert drawn.startswith("<svg ")
    assert ">0.50<" in drawn


def test_a_chapter_is_verified_without_the_engine(
    installed: Path, site: Path, numbers_json: dict[str, Any], tmp_path: Path
) -> None:
    """By the command that a reader types; all chapters are verified before a site is published."""
    own = [record for record in numbers_json["records"] if record["slug"] == "eight-steps"]
    blocks = {"eight-steps": numbers_json["pages"]["eight-steps"]}
    part = json.dumps(numbers_json | {"records": own, "pages": blocks})
    (tmp_path / "numbers.json").write_text(part, encoding="utf-8")
    shutil.copytree(site / "listings", tmp_path / "listings")
    for page in {record["page"].strip("/") for record in own}:
        shutil.copytree(site / page, tmp_path / page)
    sums = (site / "SHA256SUMS").read_text(encoding="utf-8").splitlines(keepends=True)
    copied = [one for one in sums if (tmp_path / one.split()[1]).exists()]
    kept = [one for one in copied if not one.endswith(" numbers.json\n")]  # a part of it
    (tmp_path / "SHA256SUMS").write_text("".join(kept), encoding="utf-8")
    command = ("-P", "-m", "attention_docs.verify", str(tmp_path), "--run")
    said = run_python(*command, cwd=installed, PYTHONPATH=str(installed))
    assert f"{len(own)} equal" in said


EDITABLE = "from setuptools import build_meta; build_meta.build_editable('built')"
FIND = """
import importlib.metadata, importlib.util, site, sys
site.addsitedir(sys.argv[1])
(entry,) = importlib.metadata.entry_points(group="mkdocs.plugins")
print(importlib.util.find_spec(entry.module).origin)
"""


@pytest.mark.long
def test_an_editable_install_finds_the_engine(sources: Path) -> None:
    run_python("-c", EDITABLE, cwd=sources)
    (wheel,) = (sources / "built").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(sources / "built")
    found = run_python("-I", "-S", "-c", FIND, str(sources / "built"), cwd=sources)
    assert found.strip() == str(sources / "attention_docs/site/plugin.py")
