"""Exercises judge what a reader answers: numbers as people write them, known mistakes, choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree.ElementTree import fromstring, tostring

import pytest

from attention_docs.site.read.page import Page
from attention_docs.site.render.asks import lay_out_asks
from tests.conftest import BUILT, needs_browser
from tests.judged import read_chapters
from tests.quotas import find_unjudged
from tests.test_browser import make_path

NUMBERS = [
    ("0.25", 0.25),
    ("1/4", 0.25),
    ("−3", -3),
    ("2√3", 12**0.5),
    ("sqrt(2)/2", 0.5**0.5),
    ("e^-2", 0.1353352832366127),
    ("e^2/(e^2+e^4)", 0.11920292202211755),
    ("ln 2", 0.6931471805599453),
    ("25 %", 0.25),
    ("6×10^-3", 0.006),
    ("6·10⁻³", 0.006),
    ("1e-3", 0.001),
    ("2(3+1)", 8),
    ("-2^2", -4),
    ("1/2/2", 0.25),
    ("3+", None),
    ("1/0", None),
    ("a lot", None),
    ("alert(1)", None),
    ("", None),
]
JUDGED = [  # answer, what is wanted, verdict
    ("2/7", "0.2857", "right"),
    ("0.28571", "0.2857", "right"),
    ("0.29", "0.2857", "rounded"),
    ("-2/7", "0.2857", "sign"),
    ("28.57", "0.2857", "percent"),
    ("0.5", "0.2857", "wrong"),
    ("some", "0.2857", "unread"),
    ("[2/7, 0, 5/7]", "[0.2857, 0.0000, 0.7143]", "right"),
    ("2/7, 0, 5/7", "[0.2857, 0.0000, 0.7143]", "right"),
    ("2/7, 5/7", "[0.2857, 0.0000, 0.7143]", "count"),
    ("[[1, 2], [3, 4]]", "[[1.0, 2.0],\n [3.0, 4.0]]", "right"),
    ("1, 2; 3, 4", "[[1.0, 2.0],\n [3.0, 4.0]]", "right"),
    ("1, 3; 2, 4", "[[1.0, 2.0],\n [3.0, 4.0]]", "transposed"),
    ("128,000", "128000", "right"),
    ("−128,000", "−128000", "right"),
    ("-1/2, 0", "[−0.5, 0.0]", "right"),
    ("7", "7", "right"),
    ("7.4", "7", "wrong"),
]


@needs_browser
def test_numbers_are_read_and_judged(visit: Callable[..., Any]) -> None:
    tab = visit(make_path("en", "masking"))
    found = tab.evaluate(
        """async ([numbers, judged]) => {
          const { parseNumber, judge } = await import("/assets/exercises.js");
          const verdicts = judged.map(([answer, wanted]) => judge(answer, wanted));
          return [numbers.map(parseNumber), verdicts];
        }""",
        [[text for text, _ in NUMBERS], [[answer, wanted] for answer, wanted, _ in JUDGED]],
    )
    for (text, wanted), number in zip(NUMBERS, found[0], strict=True):
        assert number == (None if wanted is None else pytest.approx(wanted)), text
    for (answer, wanted, verdict), got in zip(JUDGED, found[1], strict=True):
        assert got == verdict, (answer, wanted)


@needs_browser
@pytest.mark.parametrize("lang", BUILT)
def test_an_answer_is_judged_and_kept(lang: str, visit: Callable[..., Any]) -> None:
    """A known mistake has its own sentence; what was solved is counted, and erased with a press."""
    tab = visit(make_path(lang, "masking"))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    exercise = tab.locator("#exercise-pencil")
    fields = exercise.locator("form.asks input")
    verdicts = exercise.locator("output")
    check = exercise.get_by_role("button")
    fields.nth(0).fill("1/5, 0, 1/2")
    fields.nth(1).fill("7/10")
    check.last.click()
    tab.wait_for_function("document.querySelector('#exercise-pencil output.wrong')")
    known = {"en": "These were masked after", "zh": "之后才屏蔽", "zh-hant": "之後才遮蔽"}[lang]
    assert known in str(verdicts.nth(0).text_content())
    assert verdicts.nth(1).get_attribute("class") == "right"
    assert not tab.locator(".solved-count").count()
    fields.nth(0).fill("2/7, 0, 5/7")
    fields.nth(0).press("Enter")
    tab.wait_for_selector(".exercise.solved#exercise-pencil")
    choice = tab.locator("#exercise-side form.asks")
    choice.get_by_role("radio").nth(0).check()
    choice.get_by_role("button").click()
    tab.wait_for_selector("#exercise-side output.wrong")
    assert tab.locator("#exercise-side details.answer").get_attribute("open") is not None
    tab.reload()
    tab.wait_for_selector(".exercise.solved#exercise-pencil")
    tab.locator(".solved-count button").last.click()
    assert not tab.locator(".exercise.solved").count()
    assert tab.evaluate("localStorage.getItem('solved exercises')") is None
    assert all(one.startswith(tab.url.split("/masking")[0].rsplit("/zh", 1)[0]) for one in asked)


LIST = """<div><div id="e"><p>Task.</p><details class="answer" /><div class="asks"><ul>
<li>Share: <span class="value">0.5</span><ul><li><span class="value">2.0</span> — upside down</li>
</ul></li><li>Which?<ul><li>[ ] a — no</li><li>[x] b</li></ul></li></ul></div></div></div>"""


def test_a_list_becomes_a_form_before_the_answer() -> None:
    root = fromstring(LIST)
    assert not lay_out_asks(root, "Check")
    (exercise,) = root
    assert [one.tag for one in exercise] == ["p", "form", "details"]
    field, choice, button = exercise[1]
    assert tostring(field[0], encoding="unicode") == '<label for="e-1">Share</label>'
    assert "".join(field.find("span[@class='trap']").itertext()) == "2.0 — upside down"  # type: ignore[union-attr]
    radios = choice.findall("label/input")
    assert [one.get("value") for one in radios] == ["wrong", "right"]
    assert [one.findtext("span") for one in choice.findall("label")] == ["a", "b"]
    assert button.text == "Check"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("<li>Which?</li>", "wanted a value, or options"),
        ("<li>Which?<ul><li>[ ] a</li><li>[ ] b</li></ul></li>", "wanted a value, or options"),
        ("<li>Which?<ul><li>[x] a</li></ul></li>", "wanted a value, or options"),
        ("", "wanted a list"),
    ],
)
def test_a_list_that_asks_nothing_is_a_fault(items: str, message: str) -> None:
    root = fromstring(f'<div><div id="e"><div class="asks"><ul>{items}</ul></div></div></div>')
    (fault,) = lay_out_asks(root, "Check")
    assert message in fault


@pytest.mark.parametrize("page", [*read_chapters()], ids=lambda page: page.slug)
def test_every_exercise_is_judged_and_a_hard_one_has_two_hints(page: Page) -> None:
    if found := [*find_unjudged(page)]:
        pytest.fail("\n  ".join([f"{page.path}:", *found]), pytrace=False)


WRITTEN = """<div><div data-kind="write"><p>Task.</p><div class="block">start</div>
<details class="hint" /><details class="answer" /><div class="block">checks</div></div></div>"""


def test_the_verdict_on_a_function_stands_before_hints_and_answer() -> None:
    root = fromstring(WRITTEN)
    assert not lay_out_asks(root, "Check")
    (exercise,) = root
    assert [one.get("class") or one.tag for one in exercise] == [
        *("p", "block", "block", "hint", "answer")
    ]
    assert exercise[2].text == "checks"
