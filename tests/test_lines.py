"""Proofs whose lines a reader puts in order: how they are read, judged and moved."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from attention_docs.site.render.asks import lay_out_asks
from tests.conftest import BUILT
from tests.test_browser import make_path

WORDS = {"judge": "Check", "digits": "", "about_proof": {"order": "Order.", "choose": ""}}
LINES = ["[a] one", "[b] two", "[c: a b] three", "[d: c] four", "[-] five — no"]
# What needs what, read off the proofs by hand; of each page the exercise.
PROOFS = {
    "scaling": ("exercise-unit", {"b": "a", "e": "cd", "f": "be"}, "abcdef"),
    "softmax": ("exercise-half", {"c": "ab", "e": "cd", "f": "e", "g": "f"}, "abcdefg"),
    "learning": ("exercise-shorter", {"b": "a", "d": "bc"}, "abcd"),
}


def lay_out(lines: list[str], slug: str = "page") -> tuple[Any, list[str]]:
    items = "".join(f"<li>{line}</li>" for line in lines)
    asks = f'<div class="asks"><ul><li>Prove it.<ul>{items}</ul></li></ul></div>'
    root = fromstring(f'<div><div id="e" data-kind="proof"><p>Task.</p>{asks}</div></div>')
    return root, lay_out_asks(root, WORDS, slug, lambda name: ("", ""))


def test_lines_are_shuffled_and_say_what_they_need() -> None:
    root, faults = lay_out(LINES)
    assert not faults
    assert root.findtext(".//p[@class='about-proof']") == "Order."
    parts = root.findall(".//fieldset[@class='ask proof-lines']/ul/li")
    needs = {one.findtext("button"): (one.get("data-line"), one.get("data-needs")) for one in parts}
    assert needs == {
        "one": ("a", ""),
        "two": ("b", ""),
        "three": ("c", "a b"),
        "four": ("d", "c"),
        "five": (None, None),
    }
    assert [one.findtext("span[@class='why']") for one in parts if len(one) > 1] == ["no"]
    assert not [one for one in root.iter() if one.get("data-place")]
    orders = {tuple(needs)}
    for slug in ("one", "two", "three"):
        found = lay_out(LINES, slug)[0].findall(".//fieldset/ul/li/button")
        orders.add(tuple(one.text for one in found))
    assert len(orders) > 1


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({2: "[c: d] three"}, "line c needs d before it"),
        ({1: "[a] two"}, "two lines are called a"),
        ({4: "[-] five"}, "needs a reason"),
        ({4: "[e] five"}, "one that does not belong"),
        ({3: "[-] four — no"}, "wanted 4 lines"),
    ],
)
def test_lines_that_are_no_proof_are_a_fault(change: dict[int, str], fault: str) -> None:
    _, faults = lay_out([change.get(n, line) for n, line in enumerate(LINES)])
    (said,) = faults
    assert fault in said


JUDGED = """async ([exercise, orders]) => {
  const { judgeLines } = await import(new URL("assets/lines.js", document.baseURI.replace(
    /(zh(-hant)?\\/)?[^/]+\\/$/, "")));
  const ask = document.querySelector(`#${exercise} .proof-lines`);
  const [proof, pool] = [ask.querySelector("ol"), ask.querySelector("ul")];
  return orders.map((order) => {
    pool.append(...proof.children);
    for (const name of order) proof.append(pool.querySelector(`[data-line=${name}]`));
    return judgeLines(ask, false)[0];
  });
}"""


@pytest.mark.parametrize("slug", PROOFS)
def test_every_order_that_is_a_proof_is_right_and_no_other(
    slug: str, visit: Callable[..., Any]
) -> None:
    exercise, needs, names = PROOFS[slug]
    orders = ["".join(one) for one in permutations(names)] + [names[:-1], names[1:]]
    tab = visit(make_path("en", slug))
    verdicts = tab.evaluate(JUDGED, [exercise, orders])

    def holds(order: str) -> bool:
        before = {name: order[:n] for n, name in enumerate(order)}
        return len(order) == len(names) and all(
            {*needs.get(name, "")} <= {*before[name]} for name in order
        )

    right = [order for order, verdict in zip(orders, verdicts, strict=True) if verdict == "right"]
    assert right == [order for order in orders if holds(order)]
    assert 3 <= len(right) < len(orders) / 2


@pytest.mark.parametrize("lang", BUILT)
def test_lines_are_moved_by_touch_and_by_keys(lang: str, visit: Callable[..., Any]) -> None:
    tab = visit(make_path(lang, "learning"), width=390, has_touch=True)
    ask = tab.locator("#exercise-shorter .proof-lines")
    check = tab.locator("#exercise-shorter form.asks > button")
    verdict = ask.locator("output")
    ask.scroll_into_view_if_needed()
    for name in "abc":
        ask.locator(f"[data-line={name}] button").first.tap()
        ask.locator(f"ol [data-line={name}]").wait_for()
    assert "3" in verdict.text_content()
    ask.locator("ul > li:not([data-line]) button").first.tap()  # a wrong line
    ask.locator("ol > li:not([data-line])").wait_for()
    check.tap()
    tab.wait_for_selector("#exercise-shorter .proof-lines output.wrong")
    assert "4" in verdict.text_content()
    why = ask.locator("ol .why").text_content().strip()
    assert why not in verdict.text_content()  # the reason comes after a second try
    ask.locator("ol > li:not([data-line]) button").first.press("Enter")
    ask.locator("ul > li:not([data-line])").nth(1).wait_for()
    line = ask.locator("[data-line=d] button").first
    line.press("Enter")
    for place in (4, 3, 2, 1):
        ask.locator(f"ol > [data-line=d]:nth-child({place})").wait_for()
        if place > 1:
            ask.locator("[data-line=d] .up").press("Enter")
    places = "all => all.map((one) => one.dataset.line)"
    assert ask.locator("ol > li").evaluate_all(places) == [*"dabc"]
    check.press("Enter")
    tab.wait_for_function(
        "document.querySelector('#exercise-shorter .proof-lines output').className === 'wrong'"
    )
    assert "1" in verdict.text_content()
    line.press("Enter")
    ask.locator("ul > [data-line=d]").wait_for()
    line.press("Enter")
    ask.locator("ol > [data-line=d]").wait_for()
    check.press("Enter")
    tab.wait_for_selector("#exercise-shorter .proof-lines output.right")


def test_without_a_script_the_lines_are_there(visit: Callable[..., Any]) -> None:
    tab = visit("/learning/", java_script_enabled=False)
    assert tab.locator("#exercise-shorter .proof-lines ul > li").count() == 6
    assert tab.locator("#exercise-shorter .proof-lines ul > li").first.is_visible()
    assert not tab.locator("#exercise-shorter form.asks > button").is_visible()
