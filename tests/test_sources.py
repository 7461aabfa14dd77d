"""The page of sources: every work and report that the site names, and where the notes went."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from attention_docs.locales import read_locale
from attention_docs.site.read.failure import Failure
from attention_docs.site.render import citations
from attention_docs.site.render.chapters import Chapters
from tests.conftest import BUILT, LANGUAGES, ROOT, each_language, find_page_folder, parse_html

NOTES: list[dict[str, Any]] = tomllib.loads((ROOT / "docs/notes.toml").read_text("utf-8"))["entry"]
MISTAKES = tomllib.loads((ROOT / "docs/mistakes.toml").read_text("utf-8"))["entry"]
ROWS = {"000": 11, "001": 9, "002": 2, "003": 9, "004": 4}  # what the notes hold, counted by hand
ISSUE = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+")
WORKS = ("papers", "lectures", "documentation")


def read_text(lang: str, slug: str) -> str:
    return (ROOT / "docs" / lang / f"{slug}.md").read_text(encoding="utf-8")


def list_slugs(lang: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / "docs" / lang).glob("*.md"))


def section(lang: str, slug: str, name: str) -> str:
    """The text below a heading or in a box, cut without the package's own reader."""
    start = re.search(rf"\{{ #{name} \}}\n|^    id: {name}\n", read_text(lang, slug), re.M)
    rest = read_text(lang, slug)[start.end() :] if start else ""
    return re.split(r"^#+ |^/// *$", rest, maxsplit=1, flags=re.M)[0]


@each_language
def test_every_question_is_on_the_page_of_questions(
    lang: str, soup: Callable[[str, str], BeautifulSoup]
) -> None:
    entries = tomllib.loads((ROOT / "docs/questions.toml").read_text("utf-8"))["entry"]
    page = soup(lang, "questions")
    listed = [anchor["id"] for anchor in page.select("td > a[id^=question-]")]
    assert sorted(listed) == sorted(f"question-{one['id']}" for one in entries)
    for one in entries:
        row = page.find(id=f"question-{one['id']}").find_parent("tr")
        assert len(row.select("td a[href]")) == len(one["places"]) + len(one.get("asked", []))


def rows(soup: BeautifulSoup, heading: str) -> list[Any]:
    """The rows of the table below a heading of the built page."""
    found = soup.article.find(id=heading)
    assert found
    return list(found.find_next("table").find("tbody").find_all("tr"))


def list_works(soup: BeautifulSoup) -> list[tuple[str, str]]:
    """Kind and address (or citation) of every work listed."""
    found = []
    for kind in WORKS:
        for row in rows(soup, kind):
            cell = row.find("td")
            link = cell.find("a")
            found.append((kind, link["href"] if link else cell.get_text()))
    return found


# --- works and reports ---------------------------------------------------------------------------


@each_language
def test_every_source_of_a_chapter_is_listed(
    lang: str, soup: Callable[[str, str], BeautifulSoup]
) -> None:
    listed = Counter(address for _, address in list_works(soup(lang, "sources")))
    assert len(listed) > 50
    assert max(listed.values()) == 1
    chapters = 0
    for slug in list_slugs(lang):
        items = re.findall(r"^- (.+)$", section(lang, slug, "sources"), re.M)
        chapters += bool(items)
        for item in items:
            address = re.search(r"\]\((https?://[^)]+)\)", item)
            if address and ISSUE.match(address[1]):
                continue
            if address:
                assert address[1] in listed, item
            else:
                citation = re.split("[:：]", item)[0]
                assert citation in listed, item
    assert chapters > 10


def test_all_languages_list_the_same(soup: Callable[[str, str], BeautifulSoup]) -> None:
    english, *others = (soup(lang, "sources") for lang in BUILT)
    listed = [
        sorted(entry for entry in list_works(one) if entry[1].startswith("http"))
        for one in (english, *others)
    ]
    assert listed == [listed[0]] * len(BUILT)
    for kind in (*WORKS, "reports", "places"):
        assert [len(rows(one, kind)) for one in others] == [len(rows(english, kind))] * len(others)
        assert len(rows(english, kind)) > 2


def test_a_title_has_one_address() -> None:
    """Short texts, such as "issue 30", are no titles."""
    texts = "".join(read_text(lang, slug) for lang in LANGUAGES for slug in list_slugs(lang))
    links = set(re.findall(r"\[([^\]\n]{15,})\]\((https?://[^)\s]+)\)", texts))
    assert len(links) > 200
    assert [title for title, many in Counter(one for one, _ in links).items() if many > 1] == []


@each_language
def test_every_report_is_listed(lang: str, soup: Callable[[str, str], BeautifulSoup]) -> None:
    links = [a["href"] for row in rows(soup(lang, "sources"), "reports") for a in row.find_all("a")]
    listed = [link for link in links if ISSUE.match(link)]
    described = {
        found for slug in list_slugs(lang) for found in ISSUE.findall(read_text(lang, slug))
    }
    described |= {found for m in MISTAKES for found in ISSUE.findall(m.get(f"report_{lang}", ""))}
    assert Counter(listed) == dict.fromkeys(described, 1)
    assert len(described) > 50


@each_language
def test_the_oldest_work_comes_first(lang: str, soup: Callable[[str, str], BeautifulSoup]) -> None:
    cited = [row.find("td").get_text() for row in rows(soup(lang, "sources"), "papers")]
    years = [int(found[1]) for one in cited if (found := re.search(r"(\d{4})[)）]", one))]
    assert len(cited) - len(years) <= 4, cited  # processors and documentation have no year
    assert years == sorted(years)
    assert years[0] < 1900


def read_place(page: BeautifulSoup, anchor: str) -> str:
    """What stands below a heading or in a box of a built page, with what its figures say."""
    start = page.find(id=anchor)
    assert start
    parts = [start]
    if re.fullmatch("h[1-6]", start.name):
        below = start.find_next_siblings(True)
        parts = list(takewhile(lambda one: not re.fullmatch("h[1-6]", one.name), below))
    labels = [
        one["aria-label"] for part in parts for one in part.find_all(attrs={"aria-label": True})
    ]
    return " ".join([*(part.get_text() for part in parts), *labels])


@each_language
def test_what_a_note_held_stands_in_the_place_that_is_named(
    lang: str, soup: Callable[[str, str], BeautifulSoup]
) -> None:
    missing = []
    for entry in NOTES:
        places = (place.partition("#") for place in entry["places"])
        text = " ".join(read_place(soup(lang, slug), anchor) for slug, _, anchor in places)
        assert entry["markers"]
        missing += [f"{entry['id']}: {one}" for one in entry["markers"] if one not in text]
    assert not missing


def test_an_unknown_kind_of_work_is_a_fault() -> None:
    with pytest.raises(Failure, match='wanted one of papers, lectures, documentation, got "books"'):
        citations.render_works(
            "books", Chapters("en", read_locale("en"), ROOT / "docs", {}, {}, lambda page: [])
        )


# --- the notes -----------------------------------------------------------------------------------


def test_no_row_of_the_notes_is_missing() -> None:
    wanted = [f"{note}.{row}" for note, count in ROWS.items() for row in range(1, count + 1)]
    assert [entry["id"] for entry in NOTES] == wanted


@pytest.mark.parametrize("entry", NOTES, ids=[entry["id"] for entry in NOTES])
def test_every_place_of_the_notes_exists(entry: dict[str, Any]) -> None:
    mistakes = {m["id"] for m in MISTAKES}
    assert entry["places"]
    for place in entry["places"]:
        slug, heading = place.split("#")
        for lang in LANGUAGES:
            text = read_text(lang, slug)
            known = re.findall(r"^#{1,6} .*\{ #([\w-]+) \}$|^    id: ([\w-]+)$", text, re.M)
            assert any(heading in names for names in known) or (
                slug == "mistakes" and heading in mistakes
            )


@each_language
def test_the_table_of_the_notes(
    lang: str, site: Path, soup: Callable[[str, str], BeautifulSoup]
) -> None:
    """Each row is ticked with links to headings that the built pages have in this language."""
    for row, entry in zip(rows(soup(lang, "sources"), "places"), NOTES, strict=True):
        name, left, now = row.find_all("td")
        assert name.get_text() == entry["id"]
        assert name.find(id=f"note-{entry['id'].replace('.', '-')}")
        assert ("✗" in left.get_text()) == entry.get("wrong", False)
        assert now.get_text().count("✓") == len(entry["places"])
        links = [a["href"] for a in now.find_all("a")]
        assert links == ["../{}/#{}".format(*place.split("#")) for place in entry["places"]]
        for place in entry["places"]:
            slug, heading = place.split("#")
            tree = parse_html(find_page_folder(site, lang, slug) / "index.html")
            assert re.fullmatch("h[1-6]|div", tree.get_element_by_id(heading).tag)
            assert f" {place}" in now.get_text()
