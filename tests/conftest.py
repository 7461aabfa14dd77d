"""The built site, and what a test reads from it."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bs4 import BeautifulSoup, Tag
from filelock import FileLock
from hypothesis import settings

from attention_docs.site.publish.numbers import NUMBER

ROOT = Path(__file__).parents[1]
LANGUAGES = ("en", "zh")
PAGES = ROOT / "docs" / "en"
SLUGS = sorted(path.relative_to(PAGES).with_suffix("").as_posix() for path in PAGES.rglob("*.md"))

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
        for formula in copy.select("math"):
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


def rows(page: Any, block: str) -> list[str]:
    """The lines of an output."""
    lines: list[str] = page.output(block).splitlines()
    return lines


def row(line: str) -> list[float]:
    """The numbers of the bracketed vector in a line."""
    found = re.search(r"\[([^\[\]]*)\]", line)
    assert found, line
    return [float(x) for x in found[1].split(",")]


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


# --- in a browser ---------------------------------------------------------------------------------


def in_browser(test: Callable[..., None]) -> Callable[..., None] | None:
    """Leave the test out where there is no browser; with REQUIRE_BROWSER it fails there."""
    return pytest.mark.site(test) if BROWSER or os.environ.get("REQUIRE_BROWSER") else None


class Handler(http.server.SimpleHTTPRequestHandler):
    """The built site, with its page for 404, and no log."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The address of the built site on a local server."""
    handler = partial(Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    assert BROWSER, "REQUIRE_BROWSER is set, and no browser was found"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any, address: str) -> Iterator[Callable[..., Any]]:
    """`visit(path, width=1280, **context)`: a page, or none yet, in a context of its own."""
    contexts = []

    def open_page(path: str = "", width: int = 1280, **options: Any) -> Any:
        contexts.append(chromium.new_context(viewport={"width": width, "height": 900}, **options))
        tab = contexts[-1].new_page()
        if path:
            tab.goto(address + path)
        return tab

    yield open_page
    for context in contexts:
        context.close()
