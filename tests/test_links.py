"""Links to other sites are found where they stand, and asked: see tests/links.py."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import links


def test_links_are_found_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "# Links\n\nSee [a](https://a.org/x), <https://b.org/>, `http://localhost:8000/`\n"
        "and https://a.org/z. Or [c](c.md).\n"
    )
    assert links.places(tmp_path) == {
        "https://a.org/x": ["README.md:3"],
        "https://a.org/z": ["README.md:4"],
        "https://b.org/": ["README.md:3"],
    }


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        code = int(self.path.strip("/"))
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "/200")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


def test_a_link_that_leads_nowhere_is_told(
    server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(links, "PAUSE", 0)
    found = {f"{server}/{code}#part": [f"a.md:{code}"] for code in (200, 302, 404, 429)}
    found["http://127.0.0.1:1/"] = ["a.md:1", "b.md:1"]
    monkeypatch.setattr(links, "places", lambda: found)
    assert links.main() == 1
    *described, last = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in described] == [
        "a.md:404",
        "a.md:429",
        "a.md:1",
        "b.md:1",
    ]
    assert described[0].endswith("#part: 404 Not Found")
    assert described[1].endswith("#part: ?429 Too Many Requests")
    assert last == "5 links: 2 lead nowhere, 1 to look at by hand (?)"
    del found[f"{server}/404#part"], found["http://127.0.0.1:1/"]
    assert links.main() == 0
