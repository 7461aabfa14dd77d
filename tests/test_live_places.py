"""Live pages in hard places: two tabs, a way back, a full storage, a connection that is lost.

Python need not come for this: what a reader has written must stay without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from graphlib import TopologicalSorter
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.test_browser import make_path
from tests.test_live_pages import BLOCK, Live, needs_live
from tests.test_recall import FORBID

Visit = Callable[..., Any]
FULL = """Storage.prototype.setItem = () => {
  throw new DOMException("full", "QuotaExceededError");
};"""
NO_STORAGE = [FULL, FORBID, FORBID.replace("localStorage", "sessionStorage")]


def list_imports(script: str) -> set[str]:
    """The modules beside it that a script of live pages loads before it runs."""
    text = (ROOT / "docs" / "assets" / "live" / script).read_text(encoding="utf-8")
    return set(re.findall(r'^(?:import\b|\}).*"\./([\w-]+\.js)";$', text, re.MULTILINE))


@pytest.mark.parametrize("entry", ["page.js", "sentence.js"])
def test_a_browser_asks_for_all_modules_at_once(entry: str) -> None:
    """The first script names what the others import, so that nothing is found out late; and no
    module waits for itself."""
    graph: dict[str, set[str]] = {}
    coming = [entry]
    while coming:
        script = coming.pop()
        graph[script] = list_imports(script)
        coming += graph[script] - graph.keys()
    assert graph[entry] == graph.keys() - {entry}
    TopologicalSorter(graph).prepare()  # refuses a cycle


def open_without_python(tab: Any) -> Live:
    tab.route("**/live/files.json", lambda route: route.abort())
    return Live(tab)


def open_eight_steps(visit: Visit) -> Live:
    return open_without_python(visit(make_path("en", "eight-steps"), service_workers="block"))


@needs_live
def test_two_tabs_keep_their_own_edits(visit: Visit) -> None:
    """Of the same page, also where one is opened from the other; a way back brings them."""
    one = open_eight_steps(visit)
    one.edit(BLOCK)
    one.write(BLOCK, "onion cake", "soup")
    with one.tab.context.expect_page() as opened:
        one.tab.evaluate("window.open(location.href)")  # with a copy of what the tab has stored
    other = open_without_python(opened.value)
    other.tab.wait_for_load_state()
    other.edit(BLOCK)
    other.field(BLOCK).fill("print(1)")
    one.tab.goto(one.tab.url.replace("eight-steps", "softmax"))
    one.tab.go_back()
    assert "soup" in one.field(BLOCK).input_value()
    one.press("reset")
    other.tab.reload()
    assert other.field(BLOCK).input_value() == "print(1)"


@needs_live
@pytest.mark.parametrize("script", NO_STORAGE)
def test_where_nothing_is_stored_a_page_is_live_all_the_same(
    script: str, visit: Visit, address: str
) -> None:
    tab, faults = visit(service_workers="block"), []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.add_init_script(script)
    tab.goto(address + make_path("en", "eight-steps"))
    page = open_without_python(tab)
    page.edit(BLOCK)
    page.write(BLOCK, "onion cake", "soup")
    page.press("share")
    tab.wait_for_function('location.hash.startsWith("#live=")')
    page.press("reset")
    assert "onion cake" in page.field(BLOCK).input_value()
    assert not [one for one in faults if "denied" not in one]  # of the theme


@pytest.mark.parametrize("script", NO_STORAGE[:2])
def test_where_nothing_is_stored_this_visit_counts(script: str, visit: Visit, address: str) -> None:
    tab = visit()
    tab.add_init_script(script)
    tab.goto(address + make_path("en", "masking"))
    solve_pencil(tab)
    solve_choice(tab)
    assert tab.locator(".exercise.solved").count() == 2
    tab.locator(".solved-count button").last.click()
    assert not tab.locator(".exercise.solved").count()


def test_two_tabs_count_together(visit: Visit) -> None:
    tab = visit(make_path("en", "masking"))
    other = tab.context.new_page()
    other.goto(tab.url)
    solve_pencil(tab)
    solve_choice(other)
    tab.reload()
    tab.wait_for_selector(".solved-count")
    assert tab.locator(".exercise.solved").count() == 2


def solve_pencil(tab: Any) -> None:
    fields = tab.locator("#exercise-pencil form.asks input")
    fields.nth(0).fill("2/7, 0, 5/7")
    fields.nth(1).fill("7/10")
    fields.nth(1).press("Enter")
    tab.wait_for_selector(".exercise.solved#exercise-pencil")


def solve_choice(tab: Any) -> None:
    choice = tab.locator("#exercise-side form.asks")
    choice.locator("input[value=right]").check()
    choice.get_by_role("button").click()
    tab.wait_for_selector(".exercise.solved#exercise-side")


@needs_live
def test_a_connection_that_is_lost_and_comes_back(visit: Visit) -> None:
    """Before the press, after the page's own script, and in the middle of Python's files."""
    tab, said = visit(make_path("en", "eight-steps"), service_workers="block"), []
    tab.on("dialog", lambda dialog: (said.append(dialog.message), dialog.accept()))
    page = Live(tab)
    before = page.read_all()
    start = page.words["broken"].split("{")[0]
    edit = tab.locator(f'.block[data-block="{BLOCK}"] .live-edit')
    tab.context.set_offline(True)
    edit.click(force=True)
    tab.wait_for_timeout(200)
    assert said[0].startswith(start)
    assert page.read_all() == before
    tab.context.set_offline(False)

    def lose(route: Any) -> None:
        tab.context.set_offline(True)
        route.continue_()

    for place in ("**/live/en/eight-steps.json", "**/live/numpy.zip"):
        tab.route(place, lose)
        edit.click(force=True)
        tab.wait_for_function(
            "(start) => document.querySelector('.live-status')?.textContent.startsWith(start)",
            arg=start,
        )
        assert page.read_all() == before
        tab.unroute(place)
        tab.context.set_offline(False)
        tab.evaluate("document.querySelector('.live-status').textContent = ''")
    page.edit(BLOCK)
    page.wait_until_settled()
    assert page.read_all() == before
