"""Each part of a built site as a PDF: one page with all chapters, printed by Chromium."""

from __future__ import annotations

import re
from pathlib import Path

import lxml.html
import pytest

from attention_docs.site.publish.pdf import PrintedPart, join_chapters, offer_part, print_part
from tests.conftest import BROWSER

PAGE = """<!doctype html><html><head><title>{slug}</title></head><body><header>no</header>
<article class="md-content__inner md-typeset"><h1 id="{slug}">The {slug}
<a class="headerlink" href="#{slug}">¶</a></h1>
<p>See <a href="#deep">below</a>, <a href="../{other}/#deep">there</a>,
<a href="../glossary/#entry-key">a term</a>, <a href="https://example.org/#x">outside</a>.</p>
<div class="tools"><details><summary>source</summary></details></div>
<h2 id="deep">Deep</h2><label for="field">x</label><input id="field" name="field">
<p class="takeaway"><small>Take it with you: <a href="a.md">Markdown</a></small></p>
</article><script>no()</script></body></html>"""


@pytest.fixture
def part(tmp_path: Path) -> PrintedPart:
    """A part of two chapters."""
    for slug, other in (("one", "two"), ("two", "one")):
        (tmp_path / slug).mkdir()
        text = PAGE.format(slug=slug, other=other)
        (tmp_path / slug / "index.html").write_text(text, encoding="utf-8")
    return PrintedPart("part-1", tmp_path, ["one", "two"])


def test_chapters_lead_to_each_other_and_nothing_to_pages_that_are_not_there(
    part: PrintedPart,
) -> None:
    tree = lxml.html.document_fromstring(join_chapters(part))
    ids = [one.get("id") for one in tree.iter("*") if one.get("id")]
    assert len(ids) == len(set(ids))
    targets = [link.get("href") for link in tree.iterfind(".//a")]
    assert targets == [
        *("#one--deep", "#two--deep", None, "https://example.org/#x"),
        *("#two--deep", "#one--deep", None, "https://example.org/#x"),
    ]
    assert {one[1:] for one in targets if one and one.startswith("#")} <= set(ids)
    assert [one.get("for") for one in tree.iterfind(".//label")] == ["one--field", "two--field"]


def test_what_paper_does_not_need_is_left_out(part: PrintedPart) -> None:
    text = lxml.html.document_fromstring(join_chapters(part)).text_content()
    assert not re.search(r"no\(\)|¶|source|Take it with you", text)
    assert [title.strip() for title in re.findall(r"The \w+", text)] == ["The one", "The two"]


def test_the_link_is_offered_once(part: PrintedPart) -> None:
    for _ in range(2):
        offer_part(part)
    tree = lxml.html.parse(part.find_page("two"))
    links = [link.get("href") for link in tree.iterfind(".//p[@class='takeaway']//a")]
    assert links == ["a.md", "../pdf/part-1.pdf"]


@pytest.mark.needs("browser")
def test_the_browser_writes_a_pdf_with_a_page_for_each_chapter(part: PrintedPart) -> None:
    assert BROWSER
    print_part(part, BROWSER)
    content = part.target.read_bytes()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) == 2
    assert not list(part.folder.rglob("__part.html"))


def test_a_browser_that_writes_nothing_is_named(part: PrintedPart) -> None:
    with pytest.raises(RuntimeError, match=r"^/bin/false must write .*part-1\.pdf, it said: "):
        print_part(part, "/bin/false")
