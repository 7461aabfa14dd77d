"""`mkdocs serve`: a save shows its numbers, a fault shows in place, the server lives on."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator

import pytest

from tests.conftest import LANGUAGES
from tests.fixture_project import WEIGHTS, FixtureProject, start_command

pytestmark = pytest.mark.long
MODULE = "attention_docs/constants.py"
PATIENCE = 60  # seconds before a test gives up; nothing is asserted of the time that it takes


class Server:
    """A running `mkdocs serve` of the small project."""

    def __init__(self, project: FixtureProject) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.project = project
        self.log = project.root / "serve.log"
        command = ("mkdocs", "serve", "-a", f"127.0.0.1:{self.port}")
        with self.log.open("a") as log:
            self.process = start_command(project.root, *command, log=log)

    def wait_for(self, page: str, wanted: str) -> str:
        """The page's HTML as soon as it holds the text."""
        html, end = "", time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            try:
                address = f"http://127.0.0.1:{self.port}/{page}"
                with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                    html = answer.read().decode()
            except OSError:
                html = ""
            if wanted in html:
                return html
            time.sleep(0.2)
        pytest.fail(f"{wanted!r} never came:\n{html}\n{self.log.read_text()}")

    def wait_for_log(self, wanted: str, start: int = 0) -> str:
        """The log from a place on, as soon as it holds the pattern there."""
        end = time.monotonic() + PATIENCE
        while not re.search(wanted, self.log.read_text()[start:]) and time.monotonic() < end:
            time.sleep(0.1)
        return self.log.read_text()[start:]

    def list_editable(self) -> dict[str, str]:
        """What a test may write to, by path."""
        docs = self.project.root / "docs"
        files = [path for path in docs.rglob("*") if path.suffix in (".md", ".py")]
        names = [path.relative_to(self.project.root).as_posix() for path in files]
        return {name: self.project.read(name) for name in (*names, MODULE)}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(FixtureProject(tmp_path_factory.mktemp("served")))
    server.wait_for("weights/", "0.0634")
    log = server.wait_for_log("Serving on")
    assert read_counts(log) == [("3", "0")]
    time.sleep(1)  # the watcher starts a moment after the server answers
    yield server
    server.process.send_signal(signal.SIGTERM)
    server.process.wait()


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    """One for all tests: each leaves the project as it was, and all shows as it did."""
    before = running.list_editable()
    pages = {page: running.wait_for(page, "<article") for page in ("", "weights/", "zh/weights/")}
    yield running
    for path in running.list_editable().keys() - before.keys():
        (running.project.root / path).unlink()
    for path, text in before.items():
        if running.project.read(path) != text:
            running.project.write(path, text)
    for page, html in pages.items():
        running.wait_for(page, find_article(html))


def find_article(html: str) -> str:
    return html.split("<article")[1].split("</article")[0]


def read_counts(log: str) -> list[tuple[str, str]]:
    return re.findall(r"Numbers: (\d+) blocks ran, (\d+) reused", log)


def test_a_saved_module_listing_or_page_shows_at_once(server: Server) -> None:
    project, start = server.project, len(server.log.read_text())
    project.edit(MODULE, "7", "8")
    server.wait_for("", "constants 8")
    server.wait_for("zh/", "constants 8")
    project.edit(WEIGHTS, "[2.0, 4.0, 4.0]", "[1.0, 1.0, 5.0]")
    server.wait_for("weights/", "[0.0177, 0.0177, 0.9647]")
    project.edit("docs/en/weights.md", "The first weight is", "Now the first weight is")
    server.wait_for("weights/", "Now the first weight is")
    found = read_counts(server.wait_for_log(r"(?s)Numbers: 1 .*(Numbers.*){2}", start))
    first = found.index(("1", "2"))  # the test before may have left a build in which nothing ran
    assert found[first : first + 3] == [("1", "2"), ("2", "1"), ("0", "3")]


def test_a_page_that_a_save_leaves_alone_stays_whole(server: Server) -> None:
    addresses = ["zh/weights/", "search/search_index.json", "numbers.json", "weights/index.html.md"]
    before = [server.wait_for(address, "0.0634") for address in addresses]
    server.project.edit("docs/en/index.md", "The constant is", "Now the constant is", both=True)
    server.wait_for("zh/", "Now the constant is")
    server.wait_for("search/search_index.json", "Now the constant is")
    after = [server.wait_for(address, "0.0634") for address in addresses]
    stamped = re.compile(r"livereload\(\d+, \d+\)")
    assert stamped.sub("", after[0]) == stamped.sub("", before[0])
    assert after[1] == before[1].replace("The constant is", "Now the constant is") != before[1]
    records = [json.loads(one[2]) for one in (before, after)]
    stamps = [one.pop("sections") for one in records]  # which sections have another text
    assert records[0] == records[1]
    assert stamps[0]["weights"] == stamps[1]["weights"]
    assert stamps[0]["index"] != stamps[1]["index"]
    assert after[3] == before[3]


def test_a_page_shows_what_changed_elsewhere(server: Server) -> None:
    row = "| weight | 权重 | What a key counts. |"
    page = f"""---
description: A test page.
defines: terms
---

# Glossary {{ #glossary }}

| term | 中文 | meaning |
|---|---|---|
{row}
"""
    for lang in LANGUAGES:
        server.project.write(f"docs/{lang}/glossary.md", page)
    server.wait_for("weights/", 'title="What a key counts."')
    server.project.edit("docs/en/glossary.md", "What a key counts.", "After softmax.")
    server.wait_for("weights/", 'title="After softmax."')


@pytest.mark.parametrize(
    ("path", "old", "new", "shown"),
    [
        (WEIGHTS, "softmax(scores)\n", "softmax(scores, axis=3)\n", "ValueError: axis must name"),
        ("docs/en/weights.md", "weights[0]:.4f", "wieghts[0]:.4f", "NameError"),
        ("docs/en/weights.md", ":weights", ":weight", "no section"),
        ("docs/en/weights.md", "$w = ", "$\\frac{w = ", "formula: Unexpected end of input"),
    ],
)
def test_a_fault_shows_in_place_and_the_next_save_recovers(
    server: Server, path: str, old: str, new: str, shown: str
) -> None:
    server.project.edit(path, old, new)
    html = server.wait_for("weights/", shown)
    assert "admonition failure" in html
    server.project.edit(path, new, old)
    end = time.monotonic() + PATIENCE
    while "admonition failure" in html and time.monotonic() < end:
        html = server.wait_for("weights/", "<article")
    assert "admonition failure" not in html
    assert "0.0634" in html
    assert server.process.poll() is None
