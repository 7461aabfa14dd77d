"""A page as slides: its own parts one at a time, by keys, from a disk, and on paper."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.test_browser import SETTINGS, Visit, make_path

LARGEST = 25
Soup = Callable[[str, str], Any]
CHAPTERS = sorted(SETTINGS.navigation.chapters)


def read_slides(tab: Any) -> list[str]:
    """The kinds of all slides."""
    return list(
        tab.locator(".slides > .slide").evaluate_all(
            "all => all.map((one) => one.className.match(/slide-(\\w+)/)[1])"
        )
    )


@pytest.mark.parametrize("path", [*(("en", one) for one in CHAPTERS), ("zh", "eight-steps")])
def test_each_chapter_has_slides(path: tuple[str, str], visit: Visit, soup: Soup) -> None:
    tab = visit(f"{make_path(*path)}?slides")
    tab.locator(".slides > .shown").wait_for()
    kinds = read_slides(tab)
    folded = len(soup(*path).article.select("details .result"))
    assert 3 <= len(kinds) <= LARGEST + folded
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


ENTRIES = tomllib.loads((ROOT / "docs/teaching.toml").read_text("utf-8"))["entry"]


def list_planned() -> dict[str, list[str]]:
    """The figures, guesses and results that the plans name, by page."""
    found = defaultdict[str, list[str]](list)
    for place in (place for one in ENTRIES if "plan" in one for place in one["show"]):
        slug, _, name = place.partition("#")
        if re.match("(out|guess|result)-", name):
            found[slug].append(name)
    return found


PLANNED = list_planned()


@pytest.mark.parametrize("slug", PLANNED)
def test_what_a_plan_names_is_on_a_slide(slug: str, visit: Visit, address: str) -> None:
    """In a room nobody reads letters of less than eleven pixels; a guess says what it stands on."""
    tab = visit()
    tab.set_viewport_size({"width": 1280, "height": 720})
    for name in PLANNED[slug]:
        tab.goto(f"{address}{make_path('en', slug)}?slides={name}")
        shown = tab.locator(".slides > .shown")
        assert shown.locator(f"#{name}").count() == 1
        assert shown.evaluate("one => one.scrollHeight") <= 721
        if name.startswith("guess-"):
            assert shown.locator(".premise").is_visible()
        sizes = shown.evaluate(SIZES)
        assert not sizes or min(sizes) >= 11, name


SIZES = """slide => [...slide.querySelectorAll("svg text, td, th")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.textContent.trim())
  .map((one) => one.ownerSVGElement
    ? parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a
    : parseFloat(getComputedStyle(one).fontSize) * one.currentCSSZoom)"""


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_plan_is_one_deck_over_its_pages(lang: str, visit: Visit) -> None:
    """Every part in its order, exercises too, forwards by key and back by a button."""
    tab = visit(make_path(lang, "teaching"))
    tab.locator("h2#lecture ~ p a[href*='plan=']").first.click()
    shows = [one["show"] for one in ENTRIES if one.get("plan") == "lecture"]
    places = [place.split("#") for show in shows for place in show if "#" in place]
    assert len({slug for slug, _ in places}) > 3
    count = tab.locator(".slides-bar [role=status]")
    for number, (slug, name) in enumerate(places, start=1):
        tab.locator(f".slides > .shown #{name}").wait_for(state="attached")
        assert tab.url.split("?")[0].endswith(f"{make_path(lang, slug)}index.html")
        assert count.inner_text() == f"{number} / {len(places)}"
        if tab.locator(".slides > .shown .cover").count():
            tab.keyboard.press("PageDown")  # uncovers
        tab.keyboard.press("PageDown")
    tab.locator(".slides-bar button").first.click()
    tab.locator(f".slides > .shown #{places[-2][1]}").wait_for(state="attached")


def test_the_opening_waits_until_the_class_has_answered(visit: Visit) -> None:
    """The words stand there; weights and verdict come with a press, or with the next key."""
    tab = visit(f"{make_path('en', 'index')}?slides=out-map")
    shown = tab.locator(".slides > .shown")
    verdict = shown.locator("svg .verdict >> visible=true")
    assert shown.locator("svg .word >> visible=true").count() == 4
    assert verdict.count() == shown.locator("svg .arc >> visible=true").count() == 0
    number = tab.locator(".slides-bar [role=status]").inner_text()
    tab.keyboard.press("PageDown")
    assert verdict.count() == 1
    assert shown.locator("svg .arc >> visible=true").count() == 4
    assert tab.locator(".slides-bar [role=status]").inner_text() == number
    tab.keyboard.press("PageDown")
    assert tab.locator(".slides-bar [role=status]").inner_text() != number


def test_a_clicker_turns_the_page_after_a_press_on_an_option(visit: Visit) -> None:
    """Its keys are PageUp and PageDown; the arrows choose among the options."""
    tab = visit(f"{make_path('en', 'softmax')}?slides=guess-lead")
    number = tab.locator(".slides-bar [role=status]").inner_text()
    tab.locator(".slides > .shown .guess input").first.check()
    tab.keyboard.press("ArrowDown")
    assert tab.locator(".slides-bar [role=status]").inner_text() == number
    tab.keyboard.press("PageDown")
    assert tab.locator(".slides-bar [role=status]").inner_text() != number


def test_results_in_folds_come_last(visit: Visit) -> None:
    tab = visit(make_path("en", "softmax"))
    folded = tab.locator("article details .result").evaluate_all("all => all.map((one) => one.id)")
    assert len(folded) > 2
    tab.goto(f"{tab.url}?slides")
    results = ".slides > .slide-result .result"
    shown = tab.locator(results).evaluate_all("all => all.map((one) => one.id)")
    assert shown[-len(folded) :] == folded
    assert tab.locator(results).count() == tab.locator(".slides .result").count()


def test_slides_are_the_live_parts_of_the_page(visit: Visit) -> None:
    tab = visit(f"{make_path('en', 'softmax')}?slides=out-pull")
    count = tab.locator(".slides-bar [role=status]")
    number = count.inner_text()
    tab.wait_for_function("document.querySelector('.slides > .shown .instrument').instrument")
    handle = tab.locator(".slides > .shown .handle").first
    before = handle.get_attribute("aria-valuetext")
    handle.press("ArrowUp")
    selector = ".slides > .shown .handle"
    changed = f"document.querySelector('{selector}').getAttribute('aria-valuetext') !== '{before}'"
    tab.wait_for_function(changed)
    assert count.inner_text() == number  # the key is its own
    tab.locator(".slides-bar button").first.click()
    assert count.inner_text() != number
    tab.goto(tab.url.split("?")[0] + "?slides=guess-lead")
    guess = tab.locator(".slides > .shown .guess label > span").first
    assert "upper-alpha" in guess.evaluate("one => getComputedStyle(one, '::before').content")
    tab.locator(".slides-bar button").last.click()
    tab.locator("article h1").wait_for()
    assert "slides" not in tab.url
    assert not tab.locator(".slides").count()


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
