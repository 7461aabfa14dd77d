"""The moving picture of README is that of a chapter, and moves without a script."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from attention_docs.figures import ribbons
from attention_docs.site.publish.moving_picture import PAGE as PICTURED
from attention_docs.site.publish.moving_picture import make_moving_picture
from tests.conftest import ROOT

FILE = ROOT / "docs" / "project" / "attention.svg"
WEIGHTS = [[0.25] * 4, [0.75, 0.25, 0, 0], [0.5, 0.5, 0, 0], [0.125, 0.125, 0.5, 0.25]]
PAGE = ribbons(["a", "b", "c & d", "e"], WEIGHTS, first=3).svg("en")


def assert_shown(kept: str, wanted: str) -> None:
    if kept != wanted:
        name = FILE.relative_to(ROOT).as_posix()
        pytest.fail(f"{name} is not what the site shows now: run `make picture`", pytrace=False)


def test_readme_shows_the_present_site(site: Path) -> None:
    page = (site / PICTURED).read_text(encoding="utf-8")
    assert_shown(FILE.read_text(encoding="utf-8"), make_moving_picture(page))
    assert "docs/project/attention.svg" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_holds_the_drawings_of_two_words_and_what_the_first_one_says() -> None:
    root = etree.fromstring(make_moving_picture(PAGE))
    texts = ["".join(one.itertext()) for one in root.iterfind(".//*[@class='weighted']//{*}text")]
    assert texts == [f"{one:.2f}" for one in (*WEIGHTS[3], *WEIGHTS[1])]
    assert "“e” (word 4)" in root.findtext("{*}title")
    assert "c & d 0.50" in root.findtext("{*}title")


def test_it_stands_still_where_motion_is_not_welcome(chromium: object) -> None:
    tab = chromium.new_page(reduced_motion="reduce")  # type: ignore[attr-defined]
    tab.goto(FILE.as_uri())
    opacity = "all => all.map(one => Number(getComputedStyle(one).opacity))"
    assert tab.locator(".word").evaluate_all(opacity) == [1, 0]
    assert tab.locator(".word:first-of-type .weighted").evaluate_all(opacity) == [1]
    tab.emulate_media(reduced_motion="no-preference")
    assert tab.evaluate("document.getAnimations().length") > 8
    tab.close()
