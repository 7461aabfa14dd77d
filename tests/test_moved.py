"""Old addresses lead to where their content is now: `docs/moved.toml`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from attention_docs.site.read.moved import find_faults
from attention_docs.site.read.page import Page
from attention_docs.site.read.reader import classify_lines
from tests.conftest import BUILT, ROOT, SLUGS, find_page_folder, parse_html

MOVED: dict[str, dict[str, str]] = tomllib.loads((ROOT / "docs/moved.toml").read_text("utf-8"))
GONE = sorted(MOVED.keys() - set(SLUGS))
HERE = sorted(MOVED.keys() & set(SLUGS))


def make_page(slug: str, text: str) -> Page:
    return Page(f"docs/en/{slug}.md", text, [piece for _, piece in classify_lines(text)])


@pytest.mark.parametrize(
    ("moved", "fault"),
    [
        ({"b": {"": "a#one", "old": "a#two"}, "a": {"gone": "a#one"}}, ""),
        ({"b": {"old": "a#one"}}, 'b is gone and has no row "" for the page itself'),
        ({"b": {"": "a#three"}}, "b#: there is no a#three"),
        ({"b": {"": "c#one"}}, "b#: there is no c#one"),
        ({"a": {"two": "a#one"}}, "a#two has not moved: it is still there"),
        ({"a": {"": "a#one"}}, "a# has not moved: it is still there"),
    ],
)
def test_a_row_that_leads_nowhere_is_a_fault(moved: Any, fault: str) -> None:
    text = "# A { #one }\n\nText.\n\n/// deeper | B\n    id: two\n\nText.\n///\n"
    found = [one.message for one in find_faults(moved, {"a": make_page("a", text)})]
    assert found == ([fault] if fault else [])


def find_target(site: Path, path: Path, link: str) -> tuple[Path, str]:
    """The file that a link of a page leads to, and its anchor."""
    address = urlsplit(urljoin(f"/{path.relative_to(site).as_posix()}", link))
    return site / address.path.lstrip("/") / "index.html", address.fragment


@pytest.mark.site
@pytest.mark.parametrize("lang", BUILT)
def test_every_old_address_has_a_link_to_the_new_one(lang: str, site: Path) -> None:
    for slug in GONE:
        path = find_page_folder(site, lang, slug) / "index.html"
        links = {
            one.get("id") or "": one.find("a").get("href") for one in parse_html(path).iter("li")
        }
        links[""] = parse_html(path).find(".//h1/a").get("href")
        check_links(site, path, lang, MOVED[slug], links)
    for slug in HERE:
        path = find_page_folder(site, lang, slug) / "index.html"
        words = json.loads(parse_html(path).get_element_by_id("__words").text)
        check_links(site, path, lang, MOVED[slug], words["moved"])


def check_links(
    site: Path, path: Path, lang: str, wanted: dict[str, str], links: dict[str, str]
) -> None:
    assert links.keys() == wanted.keys()
    for old, place in wanted.items():
        slug, _, anchor = place.partition("#")
        target, fragment = find_target(site, path, links[old])
        assert target == find_page_folder(site, lang, slug) / "index.html"
        assert fragment == anchor
        assert parse_html(target).get_element_by_id(anchor) is not None


@pytest.mark.parametrize("folder", ["/", "/zh/", "/zh-hant/"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("matrix-form/", "eight-steps/#matrix"),
        ("matrix-form/#result-order", "positions/#result-order"),
        ("matrix-form/#columns", "eight-steps/#columns"),
        ("matrix-form/#no-such-place", "eight-steps/#matrix"),
        ("eight-steps/#other-letters", "eight-steps/#one-column"),
    ],
)
def test_a_browser_follows_an_old_address(
    folder: str, old: str, new: str, visit: Callable[..., Any], address: str
) -> None:
    tab = visit(folder + old)
    tab.wait_for_url(address + folder + new)
    anchor = new.partition("#")[2]
    assert tab.evaluate(f"document.getElementById('{anchor}').checkVisibility()")
