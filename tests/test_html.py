"""The HTML of every page is valid.

Held against the rules that the theme or a formula once broke, and parsed strictly: by the full
checker of the W3C (vnu), which needs Java, where VNU_JAR names its jar, and by html5lib elsewhere.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Container, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import html5lib
import lxml.html
import pytest
from lxml import etree

from tests.conftest import (
    BUILT,
    LANGUAGES,
    PARTIAL,
    ROOT,
    SLUGS,
    VNU_JAR,
    find_page_folder,
    parse_html,
)

pytestmark = pytest.mark.site

TYPED = {"email", "number", "password", "range", "search", "tel", "text", "url"}
REFERENCES = ("aria-controls", "aria-describedby", "aria-labelledby", "for")
PARTS = {"mfrac": 2, "mover": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2}
PARTS |= {"msubsup": 3, "munderover": 3}
TEXT_ONLY = dict.fromkeys(["mi", "mn", "mo", "ms", "mtext"], 0)
CORE = {*PARTS, *TEXT_ONLY, "mrow", "mspace", "msqrt", "mstyle", "mtable", "mtd", "mtr"}
ASKED = ("tabindex", "autocomplete", *REFERENCES)
ASKING = etree.XPath(" | ".join(["//img", *(f"//@{name}/.." for name in ASKED)]))


def find_parse_errors(html: str) -> list[str]:
    """What a parser of HTML stumbles over in a page."""
    parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"))
    parser.parse(html)
    return [f"line {line}: {error} {data}" for (line, _), error, data in parser.errors]


def find_faults(html: str, page: Any = None) -> list[str]:
    """What else is wrong with it; it may have been read by lxml before."""
    found = []
    page = lxml.html.document_fromstring(html) if page is None else page
    ids = Counter(page.xpath("//@id"))
    found += [f"id {name} stands twice" for name, count in ids.items() if count > 1]
    # The elements with which something may be wrong: a page has thousands of others.
    parts = PARTS | TEXT_ONLY
    odd = [one for one in page.iter(*parts) if len(one) != parts[one.tag]]
    odd += [comment.getparent() for comment in page.iter(etree.Comment)]  # which len counts
    for tag in [*ASKING(page), *odd]:
        for fault in find_element_faults(tag, ids):
            where = etree.tostring(tag, encoding="unicode", with_tail=False)[:120]
            found.append(f"{fault}: {where}")
    found += [
        f"<{tag.tag}> is not in MathML Core"
        for math in page.iter("math")
        for tag in math.iterdescendants(etree.Element)
        if tag.tag not in CORE
    ]
    found += [f"U+{ord(c):X} is private" for c in set(re.findall("[\ue000-\uf8ff]", html))]
    return found


def find_element_faults(tag: Any, ids: Container[str]) -> Iterator[str]:
    """What is wrong with one element of a page that has these ids."""
    if not re.fullmatch(r"-?\d+", tag.get("tabindex", "0")):
        yield "tabindex is no number"
    if tag.tag == "input" and "autocomplete" in tag.attrib and tag.get("type") not in TYPED:
        yield "autocomplete is for text"
    for name in REFERENCES:
        lost = [i for i in tag.get(name, "").split() if i not in ids]
        yield from (f"{name}={i} leads nowhere" for i in lost)
    parts = len(tag.xpath("*"))
    if tag.tag in PARTS and parts != PARTS[tag.tag]:
        yield f"{tag.tag} has {PARTS[tag.tag]} parts"
    if tag.tag in TEXT_ONLY and parts:
        yield f"{tag.tag} holds text alone"
    if tag.tag == "img" and "alt" not in tag.attrib:
        yield "a picture without words"


@pytest.mark.parametrize("lang", BUILT)
@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_is_valid(lang: str, slug: str, site: Path) -> None:
    path = find_page_folder(site, lang, slug) / "index.html"
    html = path.read_text(encoding="utf-8")
    # Where the checker of the W3C runs, it parses every page itself.
    found = find_faults(html, parse_html(path)) + ([] if VNU_JAR else find_parse_errors(html))
    assert not found, "\n".join(found)


def test_the_page_for_404_is_valid_and_no_page_is_left_out(site: Path) -> None:
    lost = (site / "404.html").read_text(encoding="utf-8")
    assert not find_faults(lost) + find_parse_errors(lost)
    gone = tomllib.loads((ROOT / "docs/moved.toml").read_text("utf-8")).keys() - set(SLUGS)
    languages = len((*BUILT, *PARTIAL))
    assert len(list(site.rglob("*.html"))) == languages * (len(SLUGS) + len(gone)) + 1


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
        ("<math><msub><mi>a</mi><!-- no part --></msub></math>", "2 parts"),
        ("<math><mo><mi>a</mi></mo></math>", "text alone"),
        ("<math><menclose><mi>a</mi></menclose></math>", "not in MathML Core"),
        ("<img src='a.png'>", "without words"),
        ("<p>\ue020</p>", "private"),
    ],
)
def test_what_is_wrong_is_found(body: str, fault: str) -> None:
    page = "<!doctype html><html lang='en'><head><title>x</title></head><body>{}</body></html>"
    right, wrong = page.format("<p>right</p>"), page.format(body)
    assert find_faults(right) + find_parse_errors(right) == []
    assert [one for one in find_faults(wrong) + find_parse_errors(wrong) if fault in one]


@pytest.mark.needs("vnu")
def test_vnu_finds_nothing(site: Path) -> None:
    # A page that is made from another one has its elements: two stand for the rest.
    seen = [*product(LANGUAGES, SLUGS), ("zh-hant", "index"), ("zh-hant", "masking")]
    pages = [find_page_folder(site, lang, slug) / "index.html" for lang, slug in seen]
    pages.append(site / "404.html")
    command = [
        "java",
        "-Xss4m",
        "-XX:+UseSerialGC",  # one core, and no second compiler for a run of twenty seconds
        "-XX:TieredStopAtLevel=1",
        "-jar",
        VNU_JAR,
        "--format",
        "gnu",
        # It guesses the language by letters, and a table of results is half names of tests. Of
        # MathML 4 it knows nothing: tests/test_spoken.py looks at intents.
        "--filterpattern",
        ".*appears to be written in English.*zh.*"
        "|.*Attribute “(?:intent|arg)” not allowed on element “m[a-z]+” at this point.*",
        *map(str, pages),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
