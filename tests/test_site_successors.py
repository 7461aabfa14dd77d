"""Where the site can live when mkdocs and its theme are no longer kept up."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from attention_docs.site.publish.html_checks import find_forbidden, find_unrendered
from tests.conftest import LANGUAGES, ROOT
from tests.fixture_project import FixtureProject, read_files, run_command

GENERATOR = re.compile(rb'(<meta name="generator" content=")[^"]*')


def run(project: FixtureProject, *command: str) -> subprocess.CompletedProcess[str]:
    return run_command(project.root, *command)


def properdocs(project: FixtureProject, *command: str) -> subprocess.CompletedProcess[str]:
    return run(project, "properdocs", "build", "-f", "mkdocs.yml", *command)


def test_properdocs_builds_the_same_site(built: FixtureProject) -> None:
    """And makes every page itself: none that mkdocs left is taken."""
    done = properdocs(built, "-d", "properdocs")
    assert done.returncode == 0, done.stderr
    theirs, ours = read_files(built.root / "properdocs"), read_files(built.root / "site")
    assert theirs.keys() == ours.keys()
    for whole in ("attention-docs.zip", "SHA256SUMS"):  # pages are compared below, one by one
        theirs.pop(whole)
        ours.pop(whole)
    named = {name for name in ours if ours[name] != theirs[name]}
    assert named == {name for name in ours if name.endswith(".html")}
    for name in named:
        assert GENERATOR.sub(rb"\1", ours[name]) == GENERATOR.sub(rb"\1", theirs[name])


def test_properdocs_fails_on_what_mkdocs_fails_on(project: FixtureProject) -> None:
    project.edit("docs/en/weights.md", "(#weights ", "(#nowhere ", both=True)
    done = properdocs(project, "-q")
    assert done.returncode == 1
    assert (
        "docs/en/weights.md:18: Doc file 'en/weights.md' contains a link '#nowhere'" in done.stderr
    )
    assert not (project.root / "site").exists()


def test_the_exported_markdown_builds_without_this_engine(project: FixtureProject) -> None:
    """What is published without our plugin shows the same numbers, and the guard finds nothing."""
    project.add_gallery("weights")
    done = run(project, "attention_docs.site.export", "exported")
    assert done.returncode == 0, done.stderr
    for lang in LANGUAGES:
        folder = project.root / "exported" / lang
        assert "plugins" not in yaml.safe_load((folder / "mkdocs.yml").read_text(encoding="utf-8"))
        text = (folder / "docs" / "weights.md").read_text(encoding="utf-8")
        front = yaml.safe_load(text.split("---\n")[1])
        assert set(front) == {"title", "description"}  # nothing of our own
        command = ["mkdocs", "build", "-q", "-f", str(folder / "mkdocs.yml")]
        assert run(project, *command).returncode == 0
        html = (folder / "site" / "weights" / "index.html").read_text(encoding="utf-8")
        assert find_unrendered(html) == []
        article = BeautifulSoup(html, "lxml").article
        assert article
        text = " ".join(article.get_text(" ").split())
        name = {"en": "weights", "zh": "权重"}[lang]
        assert f"{name} [0.0634, 0.4683, 0.4683]" in text
        assert "The first weight is 0.0634" in text
        assert article.find("a", string="the next")["title"] == "0.47"  # type: ignore[index]
        assert [cell.get_text() for cell in article.find_all("td")] == [name, "0.06"]
        math = article.find("math")
        assert math
        assert "0.468" in math.get_text()
        gallery = (folder / "site" / "mistakes" / "index.html").read_text(encoding="utf-8")
        assert '<details id="an-entry">' in gallery
        assert "#out-weights" in gallery
        assert '<div id="out-weights"></div>' in html
    assert run(project, "attention_docs.site.publish.html_checks", "exported").returncode == 0


def test_nothing_is_exported_where_something_is_wrong(project: FixtureProject) -> None:
    project.edit("docs/listings/weights.py", "softmax(scores)\n", "1 / 0\n")
    done = run(project, "attention_docs.site.export", "exported")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert not (project.root / "exported").exists()


PAGE = "<!doctype html><html><head><title>x</title></head><body>{}</body></html>"


BODIES = [
    ("<p>It is {{ x:.2f }}.</p>", ["{{ x:.2f }}"]),
    ("<p>It is {{x}}.</p>", ["{{x}}"]),
    ('<a title="{{ x }}">x</a>', ["{{ x }}"]),
    ("<p>\ue0007\ue001</p>", ["\ue000", "\ue001"]),
    ('<p>--8<-- "a.py:b"</p>', ["--8<--"]),
    ('<pre><code>--8&lt;-- "a.py:b"</code></pre>', ["--8<--"]),
    ("<!-- gallery: masks -->", ["<!-- gallery"]),
    ("<p>::: attention_docs.softmax</p>", ["::: "]),
    ("<p>/// fold | More</p>", ["/// fold |"]),
    ("<p>//// answer | Two</p>", ["//// answer |"]),
    ("<pre><code>/// fold | More</code></pre>", []),
    ("<p>A value is written <code>{{ x }}</code>.</p>", []),
    ('<script>const x = {"a": {}};{{}}</script>', []),
]


@pytest.mark.parametrize(("body", "left"), BODIES)
def test_what_survives_into_html_is_found(body: str, left: list[str]) -> None:
    assert [text for _, text in find_unrendered(PAGE.format(body))] == left


REFUSED = {
    "<script>f()</script>": ["<script"],
    "<p><SCRIPT src=a.js></SCRIPT></p>": ["<script"],
    "<svg><script>f()</script></svg>": ["<script"],
    "<svg><foreignObject></foreignObject></svg>": ["<foreignobject"],
    "<img src=x onerror=f()>": ["onerror"],
    "<svg onload=f()></svg>": ["onload"],
    '<a href="java&#10;script:f()">x</a>': ["javascript:"],
    '<a href=" JavaScript:f()">x</a>': ["JavaScript:"],
    '<a href="&#106;avascript:f()">x</a>': ["javascript:"],
    '<img src="data:image/png;base64,aa">': ["data:"],
    '<svg><a xlink:href="javascript:f()"></a></svg>': ["javascript:"],
    '<iframe srcdoc="x"></iframe>': ["<iframe"],
    '<div style="position:fixed;inset:0"></div>': ["position", "inset"],
    '<div style="color:url(//b.org)"></div>': ["color"],
    "<style>p { color: red }</style>": ["<style"],
    '<a href="https://b.org/#a:b">x</a><a href="../a/#b:c">y</a><a href="mailto:a@b.org">z</a>': [],
    '<svg style="width:100%;max-width:40px;color:var(--a);--at:1"></svg>': [],
    "<p>onclick= and javascript: in words, <code>&lt;script&gt;</code></p>": [],
}


@pytest.mark.parametrize("body", REFUSED)
def test_an_article_holds_nothing_that_runs_or_covers(body: str) -> None:
    page = PAGE.format(f"<script>f()</script><article>{body}</article><p onclick=f()>x</p>")
    assert [text for text, _ in find_forbidden(page)] == REFUSED[body]


def test_a_folder_with_what_survives_is_find_forbidden_in(tmp_path: Path) -> None:
    """It names what each page has left; without these pages the folder is good."""
    command = [sys.executable, "-m", "attention_docs.site.publish.html_checks", str(tmp_path)]
    guard = partial(subprocess.run, command, capture_output=True, text=True, check=False, cwd=ROOT)
    wanted = []
    for number, (body, left) in enumerate(BODIES):
        page = tmp_path / f"{number:02}.html"
        page.write_text(PAGE.format(body), encoding="utf-8")
        wanted += [f"{page}:1: left in the page: {one}" for one in left]
    done = guard()
    assert (done.returncode, done.stderr.splitlines()) == (1, wanted)
    for number, (_, left) in enumerate(BODIES):
        if left:
            (tmp_path / f"{number:02}.html").unlink()
    done = guard()
    assert (done.returncode, done.stderr) == (0, "")
