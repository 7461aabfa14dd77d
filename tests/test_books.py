"""The parts of the site as books: what they hold of the pages; EPUBCheck finds no fault."""

from __future__ import annotations

import json
import os
import posixpath
import re
import subprocess
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import lxml.etree
import pytest

from attention_docs.site.publish.book_text import Chapter, read_chapter
from tests.conftest import ACE, BROWSER, BUILT, EPUBCHECK, SETTINGS, parse_html

PARTS = ["part-1", "part-2", "part-3"]
X = "{http://www.w3.org/1999/xhtml}"
NAMES = {"x": X[1:-1], "m": "http://www.w3.org/1998/Math/MathML", "s": "http://www.w3.org/2000/svg"}
PAGE = """<html><head></head><body><header>no</header><article><h1 id="one">One
<a class="headerlink" href="#one">¶</a></h1><p class="you-are-here">no</p>
<p>See <a href="#deep">below</a>, <a href="../two/#far">there</a>, <a href="../glossary/#k">a
term</a>, <a href="https://example.org/">outside</a>,
<math data-tex="a" intent="b"><mi>a</mi></math>,
<a href="#out-inner">a table in an answer</a>.</p>
<h2 id="deep">Deep</h2><details class="deeper"><summary>More</summary><p>open</p></details>
<svg viewbox="0 0 1 1" aria-label="a line"><path d="M0 0h1" fill="var(--figure-page)"></path>
<path class="drawn later"></path><a href="../two/"><text>two</text></a></svg>
<div class="exercise" id="exercise-a"><p class="exercise-title">
<span class="number">Exercise 1.1</span>
<span class="title">Add</span></p><p>1 + 1?</p><form class="asks"><p class="ask"><label>Sum</label>
<input><span class="value" hidden="">2</span></p><fieldset class="ask"><legend>Which?</legend>
<label><input><span>this</span><span class="why" hidden="">never</span></label></fieldset>
<button>no</button></form><details class="answer"><summary>Answer</summary>
<p id="out-inner">Two.</p>
</details></div><script>no()</script></article></body></html>"""


def read(tmp_path: Path) -> Chapter:
    """The chapter of PAGE; every link leads to where it says."""
    path = tmp_path / "index.html"
    path.write_text(PAGE, encoding="utf-8")
    return read_chapter(path, "one", 7, lambda href: "" if "glossary" in href else href, WORDS)


WORDS = {"answer": "Answer", "answers": "Answers", "summary": "What is left out."}


def test_a_page_becomes_a_chapter_without_its_answers(tmp_path: Path) -> None:
    chapter = read(tmp_path)
    text = " ".join("".join(chapter.body.itertext()).split())
    assert not re.search(r"no|¶|Two\.|never", text.replace("One", ""))
    assert [*chapter.body.xpath(".//x:li/text()", namespaces=NAMES)] == ["Sum", "Which?"]
    assert "Moreopen" in text
    (answer,) = chapter.answers
    assert "".join(answer.itertext()).split() == ["Exercise", "1.1", "AddAnswer", "Two."]
    links = chapter.body.xpath(".//@href")
    assert links == [
        *("#deep", "../two/#far", "https://example.org/", "#out-inner"),
        "answers.xhtml#one-exercise-a",
    ]
    assert chapter.sections == [("deep", "Deep")]
    assert chapter.title == "7 One"
    assert "".join(chapter.body.find(f"{X}h1").itertext()).split() == ["7", "One"]


def test_formulas_and_drawings_are_what_a_book_can_show(tmp_path: Path) -> None:
    body = read(tmp_path).body
    (formula,) = body.iterfind(".//m:math", NAMES)
    assert dict(formula.attrib) == {"alttext": "a"}
    (drawing,) = body.iterfind(".//s:svg", NAMES)
    assert drawing.get("viewBox") == "0 0 1 1"
    assert drawing.findtext("s:title", namespaces=NAMES) == "a line"
    (path,) = drawing.iterfind("s:path", NAMES)
    assert re.fullmatch("#[0-9a-f]{6}", path.get("fill"))
    assert not drawing.xpath(".//@href")


# --- the books of the site


@cache
def read_book(site: Path, lang: str, part: str) -> dict[str, Any]:
    with zipfile.ZipFile(site / "books" / lang / f"{part}.epub") as packed:
        names = [one for one in packed.namelist() if one.endswith((".xhtml", ".opf"))]
        return {posixpath.basename(one): lxml.etree.fromstring(packed.read(one)) for one in names}


def list_chapters(part: str) -> list[str]:
    chapters = SETTINGS.navigation.chapters
    return [one for one in SETTINGS.navigation.ids[part].slugs if one in chapters]


in_each_book = pytest.mark.parametrize(
    ("lang", "part"), [(lang, part) for lang in BUILT for part in PARTS]
)


@in_each_book
def test_a_book_holds_the_chapters_and_at_its_end_their_answers(
    lang: str, part: str, site: Path
) -> None:
    book = read_book(site, lang, part)
    spine = [one.get("idref") for one in book["book.opf"].iter("{*}itemref")]
    assert spine == ["nav", *list_chapters(part), "answers"]
    about = {"en": "is done on the website", "zh": "要在网站上做", "zh-hant": "要在網站上做"}
    assert about[lang] in "".join(book["nav.xhtml"].itertext())
    wanted = Counter[str]()
    for slug in list_chapters(part):
        page = parse_html(site / ("" if lang == "en" else lang) / slug / "index.html")
        names = page.xpath("//div[@class='exercise' or @class='guess']/@id")
        wanted.update(f"{slug}-{name}" for name in names)
        chapter = book[f"{slug}.xhtml"]
        assert {*names} <= {*chapter.xpath("//@id")}
        assert not chapter.xpath("//x:section[@class='answer' or @class='hint']", namespaces=NAMES)
        texts = [" ".join(one.text_content().split()) for one in page.xpath("//article/p")]
        whole = " ".join("".join(chapter.itertext()).split())
        plain = [one for one in texts if re.fullmatch(r"[\w ,.]{60,}", one)]
        assert all(one in whole for one in plain)
        number = SETTINGS.navigation.chapters[slug]
        (entry,) = book["nav.xhtml"].xpath(f"//x:a[@href='{slug}.xhtml']/text()", namespaces=NAMES)
        assert entry.split()[0] == str(number)
        assert not chapter.xpath("//*[@class='model-panel']")
    answers = book["answers.xhtml"].xpath("//x:body/x:section/@id", namespaces=NAMES)
    assert Counter(answers) == wanted


@in_each_book
def test_links_of_a_book_lead_to_what_is_there(lang: str, part: str, site: Path) -> None:
    book = read_book(site, lang, part)
    ids = {name: {*tree.xpath("//@id")} for name, tree in book.items()}
    count = 0
    for name, tree in book.items():
        for target in tree.xpath("//x:a/@href", namespaces=NAMES):
            if not re.match("https?:", target):
                file, _, place = target.partition("#")
                assert file in ids
                assert not place or place in ids[file], (name, target)
                count += 1
        assert not tree.xpath("//x:form|//x:input|//x:button|//x:script", namespaces=NAMES)
    assert count > 100


@in_each_book
def test_each_chapter_offers_its_book(lang: str, part: str, site: Path) -> None:
    for slug in list_chapters(part):
        page = parse_html(site / ("" if lang == "en" else lang) / slug / "index.html")
        links = page.xpath("//p[@class='takeaway']//a[contains(@href, '.epub')]/@href")
        up = "../" if lang == "en" else "../../"
        assert links == [f"{up}books/{lang}/{part}.epub"]


@pytest.mark.needs("epubcheck")
@in_each_book
def test_epubcheck_finds_no_fault(lang: str, part: str, site: Path) -> None:
    assert check(site / "books" / lang / f"{part}.epub") == ""


@pytest.mark.needs("epubcheck")
def test_epubcheck_finds_a_fault(site: Path, tmp_path: Path) -> None:
    """The same command on a book that has lost a chapter."""
    book = tmp_path / "lost.epub"
    with (
        zipfile.ZipFile(site / "books" / "en" / "part-3.epub") as whole,
        zipfile.ZipFile(book, "w") as packed,
    ):
        for name in whole.namelist():
            if not name.endswith("maps.xhtml"):
                packed.writestr(name, whole.read(name))
    assert "maps.xhtml" in check(book)


@pytest.mark.needs("ace", "browser")
@pytest.mark.parametrize("lang", ["en", "zh", "zh-hant"])
def test_ace_finds_no_fault(lang: str, site: Path, tmp_path: Path) -> None:
    """DAISY's checker of accessibility, on one part in each language: all are made alike."""
    book = site / "books" / lang / "part-3.epub"
    environment = {**os.environ, "PUPPETEER_EXECUTABLE_PATH": BROWSER}
    subprocess.run([ACE, "--silent", "--outdir", tmp_path, book], env=environment, check=True)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [one["assertions"] for one in report["assertions"] if one["assertions"]] == []
    assert report["earl:result"]["earl:outcome"] == "pass"


def check(book: Path) -> str:
    """What EPUBCheck says against a book."""
    quick = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # half of the time of a short run
    command = ["java", *quick, "-jar", EPUBCHECK, "--failonwarnings", str(book)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "EPUBCheck completed" in done.stdout + done.stderr
    return "" if done.returncode == 0 else done.stdout + done.stderr
