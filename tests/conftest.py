"""The built site, and what a test reads from it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bs4 import BeautifulSoup, Tag
from filelock import FileLock
from hypothesis import settings

from attention_docs.site.numbers import NUMBER

ROOT = Path(__file__).parents[1]
LANGUAGES = ("en", "zh")

# What not every machine has. A run that goes on without it says so at its end.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
VNU_JAR = os.environ.get("VNU_JAR", "")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what did not run."""
    if not BROWSER and not os.environ.get("REQUIRE_BROWSER"):
        terminalreporter.write_line(
            f"Browser tests did not run: none of {', '.join(BROWSERS)} was found."
        )
    if not VNU_JAR:
        terminalreporter.write_line(
            "The HTML checker of the W3C did not run: VNU_JAR does not name its jar."
        )


# The same examples every time, and no deadline: a loaded machine is no fault.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")


def mkdocs_build(
    root: Path, target: Path, *flags: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `mkdocs build` as a user would, in a project folder, with that folder's package."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-d", str(target), *flags],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "NO_MKDOCS_2_WARNING": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of the whole site, built once for all tests and all their processes."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    target, log = shared / "site", shared / "site.log"
    with FileLock(shared / "site.lock"):
        if not log.is_file():
            log.write_text(mkdocs_build(ROOT, target).stderr, encoding="utf-8")
    if not target.is_dir():
        errors = [line for line in log.read_text().splitlines() if not line.startswith("INFO")]
        pytest.fail("mkdocs build failed:\n" + "\n".join(errors), pytrace=False)
    return target


class Page:
    """One built page."""

    def __init__(self, path: Path) -> None:
        self.soup = BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")
        article = self.soup.find("article")
        assert isinstance(article, Tag), path
        self.article = article

    def output(self, block: str) -> str:
        """The text that a block printed."""
        frame = self.article.find(id=f"out-{block}")
        assert isinstance(frame, Tag), f"no output out-{block}"
        return "\n".join(pre.get_text().rstrip("\n") for pre in frame.find_all("pre"))

    def numbers(self, block: str) -> list[float]:
        """Every number that a block printed."""
        return [float(number) for number in NUMBER.findall(self.output(block))]

    def array(self, block: str, number: int = 0) -> np.ndarray:
        """The bracketed array with this number, counted from 0, that a block printed."""
        arrays, depth, start = [], 0, 0
        text = self.output(block)
        for position, character in enumerate(text):
            if character == "[":
                start = start if depth else position
                depth += 1
            elif character == "]" and depth:
                depth -= 1
                if not depth:
                    arrays.append(text[start : position + 1])
        return np.array(json.loads(arrays[number]), dtype=float)

    @property
    def text(self) -> str:
        """What a reader sees, without formulas."""
        copy = BeautifulSoup(str(self.article), "lxml")
        for formula in copy.select(".katex"):
            formula.decompose()
        return copy.get_text()

    def values(self, section: str) -> list[str]:
        """The inline values of the section with this heading id, in order."""
        heading = self.article.find(id=section)
        assert isinstance(heading, Tag), f"no heading #{section}"
        found = []
        for element in heading.find_all_next():
            if element.name in {f"h{n}" for n in range(1, int(heading.name[1]) + 1)}:
                break
            if "value" in (element.get("class") or []):
                found.append(element.get_text())
        return found


@pytest.fixture(scope="session")
def page(site: Path) -> Callable[[str, str], Page]:
    """`page(lang, slug)`: a page of the built site."""
    pages: dict[tuple[str, str], Page] = {}

    def read(lang: str, slug: str) -> Page:
        if (lang, slug) not in pages:
            folder = site / ("" if lang == "en" else lang) / ("" if slug == "index" else slug)
            pages[lang, slug] = Page(folder / "index.html")
        return pages[lang, slug]

    return read


@pytest.fixture(scope="session")
def numbers_json(site: Path) -> dict[str, Any]:
    """What the site says of its numbers to machines."""
    document: dict[str, Any] = json.loads((site / "numbers.json").read_text(encoding="utf-8"))
    return document


@pytest.fixture
def project(tmp_path: Path) -> Any:
    """A small project of two pages that a test may break."""
    from tests.mini import Project

    return Project(tmp_path)
