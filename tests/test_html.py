"""The HTML of every page is valid.

Parsed strictly by html5lib, and held against the rules that the theme or a formula once broke. The
full checker of the W3C (vnu) needs Java: where VNU_JAR names its jar, it runs too.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import html5lib
import pytest
from bs4 import BeautifulSoup, Tag

from tests.conftest import LANGUAGES, SLUGS, VNU_JAR

pytestmark = pytest.mark.site

TYPED = {"email", "number", "password", "range", "search", "tel", "text", "url"}
REFERENCES = ("aria-controls", "aria-describedby", "aria-labelledby", "for")
PARTS = {"mfrac": 2, "mover": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2}
PARTS |= {"msubsup": 3, "munderover": 3}
TEXT_ONLY = ["mi", "mn", "mo", "ms", "mtext"]
CORE = {*PARTS, *TEXT_ONLY, "mrow", "mspace", "msqrt", "mstyle", "mtable", "mtd", "mtr"}


def children(tag: Tag) -> list[Tag]:
    return [child for child in tag.children if isinstance(child, Tag)]


def faults(html: str) -> list[str]:
    """What is wrong with a page."""
    parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"))
    parser.parse(html)
    found = [f"line {line}: {error} {data}" for (line, _), error, data in parser.errors]
    soup = BeautifulSoup(html, "lxml")
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    found += [f"id {name} stands twice" for name in {i for i in ids if ids.count(i) > 1}]
    for tag in soup.find_all(True):
        where = str(tag)[:120]
        if not re.fullmatch(r"-?\d+", str(tag.get("tabindex", "0"))):
            found.append(f"tabindex is no number: {where}")
        if tag.name == "input" and tag.has_attr("autocomplete") and tag.get("type") not in TYPED:
            found.append(f"autocomplete is for text: {where}")
        for name in REFERENCES:
            lost = [i for i in str(tag.get(name, "")).split() if i not in ids]
            found += [f"{name}={i} leads nowhere: {where}" for i in lost]
        if tag.name in PARTS and len(children(tag)) != PARTS[tag.name]:
            found.append(f"{tag.name} has {PARTS[tag.name]} parts: {where}")
        if tag.name in TEXT_ONLY and children(tag):
            found.append(f"{tag.name} holds text alone: {where}")
        if tag.find_parent("math") and tag.name not in CORE:
            found.append(f"not in MathML Core: {where}")
        if tag.name == "img" and not tag.has_attr("alt"):
            found.append(f"a picture without words: {where}")
    found += [f"U+{ord(c):X} is private" for c in set(re.findall("[\ue000-\uf8ff]", html))]
    return found


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_is_valid(lang: str, slug: str, site: Path) -> None:
    folder = site / ("" if lang == "en" else lang) / ("" if slug == "index" else slug)
    found = faults((folder / "index.html").read_text(encoding="utf-8"))
    assert not found, "\n".join(found)


def test_the_page_for_404_is_valid_and_no_page_is_left_out(site: Path) -> None:
    assert not faults((site / "404.html").read_text(encoding="utf-8"))
    assert len(list(site.rglob("*.html"))) == len(LANGUAGES) * len(SLUGS) + 1


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("<p><div></div></p>", "unexpected-end-tag"),
        ("<a href='/' href='/'>x</a>", "duplicate-attribute"),
        ("<p id='a'></p><p id='a'></p>", "stands twice"),
        ("<label tabindex=''>x</label>", "tabindex"),
        ("<input type='checkbox' autocomplete='off'>", "autocomplete"),
        ("<label for='b'>x</label>", "leads nowhere"),
        ("<math><msub><mi>a</mi><mi>b</mi><mo>c</mo></msub></math>", "2 parts"),
        ("<math><mo><mi>a</mi></mo></math>", "text alone"),
        ("<math><menclose><mi>a</mi></menclose></math>", "not in MathML Core"),
        ("<img src='a.png'>", "without words"),
        ("<p>\ue020</p>", "private"),
    ],
)
def test_what_is_wrong_is_found(body: str, fault: str) -> None:
    page = "<!doctype html><html lang='en'><head><title>x</title></head><body>{}</body></html>"
    assert faults(page.format("<p>right</p>")) == []
    assert [one for one in faults(page.format(body)) if fault in one]


if VNU_JAR:

    def test_vnu_finds_nothing(site: Path) -> None:
        command = [
            "java",
            "-Xss4m",
            "-jar",
            VNU_JAR,
            "--format",
            "gnu",
            "--skip-non-html",
            str(site),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        assert done.returncode == 0
