"""A page as slides: its own parts one at a time, by keys, from a disk, and on paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import needs_browser
from tests.test_browser import SETTINGS, Visit, make_path

LARGEST = 25
CHAPTERS = sorted(SETTINGS.navigation.chapters)


def read_slides(tab: Any) -> list[str]:
    """The kinds of all slides."""
    return list(
        tab.locator(".slides > .slide").evaluate_all(
            "all => all.map((one) => one.className.match(/slide-(\\w+)/)[1])"
        )
    )


@needs_browser
@pytest.mark.parametrize("path", [*(("en", one) for one in CHAPTERS), ("zh", "eight-steps")])
def test_each_chapter_has_slides(path: tuple[str, str], visit: Visit) -> None:
    tab = visit(f"{make_path(*path)}?slides")
    tab.locator(".slides > .shown").wait_for()
    kinds = read_slides(tab)
    assert 3 <= len(kinds) <= LARGEST
    assert kinds[0] == "title"
    assert kinds[-1] == "cite"
    heights = []
    for number in range(1, len(kinds) + 1):
        assert tab.locator(".slides-bar [role=status]").inner_text() == f"{number} / {len(kinds)}"
        assert tab.locator(".slides > .shown").count() == 1
        heights.append(tab.locator(".slides > .shown").evaluate("one => one.scrollHeight"))
        tab.keyboard.press("PageDown")
    # A slide that no zoom makes low enough can still be scrolled.
    assert sum(one > 901 for one in heights) <= 1


@needs_browser
def test_a_film_is_shown_scene_by_scene(visit: Visit) -> None:
    tab = visit(f"{make_path('en', 'eight-steps')}?slides")
    tab.locator(".slides > .shown").wait_for()
    for shown in ("guess-smallest", "out-stepper"):
        assert tab.locator(f".slides > .slide #{shown}").count() == 1


@needs_browser
def test_slides_are_the_live_parts_of_the_page(visit: Visit) -> None:
    tab = visit(f"{make_path('en', 'softmax')}?slides=2")
    tab.wait_for_function("document.querySelector('.slides > .shown .instrument').instrument")
    handle = tab.locator(".slides > .shown .handle").first
    before = handle.get_attribute("aria-valuetext")
    handle.press("ArrowUp")
    selector = ".slides > .shown .handle"
    changed = f"document.querySelector('{selector}').getAttribute('aria-valuetext') !== '{before}'"
    tab.wait_for_function(changed)
    assert (
        tab.locator(".slides-bar [role=status]").inner_text().startswith("2 /")
    )  # the key is its own
    tab.locator(".slides-bar button").nth(1).click()
    assert "slides=3" in tab.url
    guess = tab.locator(".slides > .shown .guess label > span").first
    assert "upper-alpha" in guess.evaluate("one => getComputedStyle(one, '::before').content")
    tab.locator(".slides-bar button").last.click()
    tab.locator("article h1").wait_for()
    assert "slides" not in tab.url
    assert not tab.locator(".slides").count()


@needs_browser
def test_slides_work_from_a_disk_and_on_paper(site: Path, chromium: Any) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    tab = context.new_page()
    tab.goto(f"{(site / 'scaling' / 'index.html').as_uri()}?slides")
    tab.locator(".slides > .shown").wait_for()
    tab.keyboard.press("End")
    count = len(read_slides(tab))
    assert tab.locator(".slides-bar [role=status]").inner_text() == f"{count} / {count}"
    pages = re.findall(rb"/Type\s*/Page\b", tab.pdf(prefer_css_page_size=True))
    assert count <= len(pages) <= 2 * count  # of a figure with settings several are printed
    context.close()
