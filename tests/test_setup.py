"""What set-up promises: the lock is what pyproject allows and what is installed."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import version
from typing import Any

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.conftest import ROOT


def parse_lock(text: str) -> list[Requirement]:
    """The pins of a lock; the hashes of each stand below it, indented."""
    lines = [line.rstrip("\\ ") for line in text.splitlines()]
    return [Requirement(line) for line in lines if line and line[0] not in "# "]


def list_requirements(project: dict[str, Any]) -> list[Requirement]:
    """Every requirement of the project, its extras taken apart."""
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    found = [Requirement(text) for group in groups for text in group]
    return [one for one in found if one.name != project["name"]]


def evaluate_marker(marker: Marker | None) -> bool:
    return marker is None or marker.evaluate()


def find_lock_faults(text: str, project: dict[str, Any]) -> list[str]:
    """What the lock lacks, forbids or leaves open."""
    faults = []
    locked: dict[str, list[Version]] = {}
    for one in parse_lock(text):
        (pin,) = one.specifier
        if pin.operator != "==" or Version(pin.version).is_prerelease:
            faults.append(f"{one} is no pin of a release")
        locked.setdefault(canonicalize_name(one.name), []).append(Version(pin.version))
    for one in list_requirements(project):
        versions = locked.get(canonicalize_name(one.name), [])
        if not versions:
            faults.append(f"{one.name} is not locked")
        faults += [f"{one} forbids {v}" for v in versions if v not in one.specifier]
    return faults


def read_metadata() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


HASHED = (ROOT / "requirements.lock").read_text(encoding="utf-8")
TORCH = (ROOT / "requirements-torch.lock").read_text(encoding="utf-8")
LOCK = HASHED + TORCH


def without_hash(text: str) -> list[str]:
    """The pins of a lock that have no hash; in one file with others pip would refuse them."""
    return re.findall(r"^(?![ #])(\S+)(?!.*\\\n    --hash=sha256:[0-9a-f]{64}\b)", text, re.M)


def test_every_pin_has_hashes_but_that_of_torch() -> None:
    assert without_hash(HASHED) == []
    assert [one.name for one in parse_lock(TORCH)] == ["torch"]
    assert "torch" not in [one.name for one in parse_lock(HASHED)]


def test_the_lock_pins_what_the_project_allows() -> None:
    assert not find_lock_faults(LOCK, read_metadata())
    assert len(parse_lock(LOCK)) > 50


def test_the_tools_from_npm_are_known_by_their_hashes() -> None:
    wanted = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    locked = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert locked.pop("")["devDependencies"] == wanted
    for name, version_ in wanted.items():
        assert locked[f"node_modules/{name}"]["version"] == version_
    assert not [name for name, one in locked.items() if not one["integrity"].startswith("sha512-")]
    rules = (ROOT / "biome.jsonc").read_text(encoding="utf-8")
    assert f"schemas/{wanted['@biomejs/biome']}/schema.json" in rules


def test_what_is_installed_is_what_is_locked() -> None:
    """A build of torch for the processor alone says so behind a plus sign."""
    differing = {
        one.name: version(one.name)
        for one in parse_lock(LOCK)
        if evaluate_marker(one.marker) and Version(version(one.name)).public not in one.specifier
    }
    assert not differing
