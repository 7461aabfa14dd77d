"""Exercises judge what a reader answers, say what was wrong, and keep what was solved.

How numbers are read and judged: test_answers.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring, tostring

import pytest
from markdown.util import HTML_PLACEHOLDER

from attention_docs.site.render.asks import lay_out_asks
from tests.conftest import BUILT
from tests.test_browser import Visit, make_path


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
    wrong = choice.locator("input[value=wrong]")
    answer = tab.locator("#exercise-side details.answer")
    said = choice.locator("output")
    for n, is_open in ((0, False), (0, False), (1, True)):  # the same option again is no new try
        wrong.nth(n).check()
        choice.get_by_role("button").click()
        tab.wait_for_selector("#exercise-side output.wrong")
        reason = choice.locator("label:has(:checked) .why").text_content()
        assert (reason.strip()[1:] in said.text_content()) == is_open
        assert (answer.get_attribute("open") is not None) == is_open
    tab.reload()
    tab.wait_for_selector(".exercise.solved#exercise-pencil")
    tab.locator(".solved-count button").last.click()
    assert not tab.locator(".exercise.solved").count()
    assert tab.evaluate("localStorage.getItem('solved exercises')") is None
    assert all(one.startswith(tab.url.split("/masking")[0].rsplit("/zh", 1)[0]) for one in asked)


LIST = """<div><div id="e"><p>Task.</p><details class="answer" /><div class="asks"><ul>
<li>Share: <span class="value" id="v-1">0.5</span><ul>
<li><span class="value" id="v-2">2.0</span> — upside down</li></ul></li>
<li>Which?<ul><li>[ ] a — no</li><li>[x] b</li><li>[ ] c</li></ul></li></ul></div></div></div>"""
WORDS = {"judge": "Check", "digits": " (3)", "about_proof": {"choose": "Choose.", "compute": ""}}
WORDS |= {"rows": " (;)", "write_here": "Edit."}


def lay_out(root: Element, slug: str = "page") -> list[str]:
    """Lay out the questions of a page on which every field wants a third."""
    return lay_out_asks(root, WORDS, slug, lambda name: (f"exact-{name}", "0.3333333333"))


def test_a_list_becomes_a_form_before_the_answer() -> None:
    root = fromstring(LIST)
    assert not lay_out(root)
    (exercise,) = root
    assert [one.tag for one in exercise] == ["p", "form", "details"]
    field, choice, button = exercise[1]
    label = '<label for="e-1">Share<small> (3)</small></label>'
    assert tostring(field[0], encoding="unicode") == label
    assert field.findtext("span[@id='exact-v-1']") == "0.3333333333"
    trap = field.find("span[@class='trap']")
    assert trap is not None
    assert [one.text for one in trap] == ["2.0", "0.3333333333"]
    assert trap[1].tail == " — upside down"
    radios = choice.findall("label/input")
    options = {
        one.findtext("span"): one.find("input").get("value") for one in choice.findall("label")
    }  # type: ignore[union-attr]
    assert options == {"a": "wrong", "b": "right", "c": "wrong"}
    assert len(radios) == 3
    assert button.text == "Check"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("<li>Which?</li>", "wanted a value, or 3 options"),
        ("<li>Which?<ul><li>[ ] a</li><li>[ ] b</li></ul></li>", "wanted a value, or 3 options"),
        ("<li>Which?<ul><li>[x] a</li><li>[ ] b</li></ul></li>", "wanted a value, or 3 options"),
        ("", "wanted a list"),
    ],
)
def test_a_list_that_asks_nothing_is_a_fault(items: str, message: str) -> None:
    root = fromstring(f'<div><div id="e"><div class="asks"><ul>{items}</ul></div></div></div>')
    (fault,) = lay_out(root)
    assert message in fault


def test_a_question_keeps_the_space_before_its_inner_elements() -> None:
    options = "<ul><li>[x] a</li><li>[ ] b</li><li>[ ] c</li></ul>"
    items = f"<li>\n  Why is <em>saw</em> one? {options}</li>"
    root = fromstring(f'<div><div id="e"><div class="asks"><ul>{items}</ul></div></div></div>')
    assert lay_out(root) == []
    (legend,) = root.iter("legend")
    assert "".join(legend.itertext()).rstrip() == "Why is saw one?"


def test_the_order_of_options_depends_on_page_and_question_alone() -> None:
    orders = {}
    for slug in ("softmax", "masking", "scaling", "learning"):
        found = []
        for _ in range(2):
            root = fromstring(LIST)
            lay_out(root, slug)
            found.append([one.findtext("span") for one in root.iterfind(".//fieldset/label")])
        assert found[0] == found[1]
        orders[slug] = tuple(found[0])
    assert len({*orders.values()}) > 1


def test_a_question_about_a_proof_is_called_one() -> None:
    root = fromstring(LIST.replace('id="e"', 'id="e" data-kind="proof"'))
    assert not lay_out(root)
    assert root.findtext(".//form/p[@class='about-proof']") == "Choose."


WRITTEN = """<div><div data-kind="write"><p>Task.</p><div class="block">start</div>
<details class="hint" /><details class="answer" /><div class="block">checks</div></div></div>"""


def test_the_verdict_on_a_function_stands_before_hints_and_answer() -> None:
    root = fromstring(WRITTEN)
    assert not lay_out(root)
    (exercise,) = root
    assert [one.get("class") or one.tag for one in exercise] == [
        *("p", "write-here", "block", "block", "hint", "answer")
    ]
    assert exercise[3].text == "checks"


def test_the_page_says_before_the_code_how_to_change_it() -> None:
    """The task may have several paragraphs; a paragraph of a mark alone stands for a block."""
    mark = HTML_PLACEHOLDER % "3"
    written = '<div><div data-kind="write"><p/><p>Task.</p><p>More.</p><p>@</p></div></div>'
    root = fromstring(written)
    root[0][-1].text = mark
    assert not lay_out(root)
    assert [one.text for one in root[0]] == [None, "Task.", "More.", "Edit.", mark]


def test_the_label_of_a_table_says_how_rows_are_written() -> None:
    root = fromstring(LIST)
    lay_out_asks(root, WORDS, "page", lambda name: (f"exact-{name}", "[[1, 2], [0, 5]]"))
    assert [one.text for one in root.iterfind(".//label/small")] == [" (;)"]


# --- in the browser


def test_what_is_said_is_true(visit: Visit) -> None:
    """Formulas stay formulas, a hint is offered where one is, and a long answer is told so."""
    tab = visit(make_path("en", "softmax"))
    answer(tab, "exercise-jacobian", 0, "1/2, 0, 0")
    assert tab.locator("#exercise-jacobian output.wrong math").count() >= 2
    assert not tab.locator("#exercise-jacobian output [id]").count()
    for name in ("exercise-jacobian", "exercise-gap"):
        answer(tab, name, 0, "77")
        has_hint = tab.locator(f"#{name} details.hint").count() > 0
        assert ("hint" in tab.locator(f"#{name} output").first.text_content()) == has_hint
    answer(tab, "exercise-gap", 0, "1" * 500)
    assert "400" in tab.locator("#exercise-gap output").first.text_content()
    answer(tab, "exercise-gap", 0, "6.5")
    assert tab.locator("#exercise-gap output").first.get_attribute("class") == "digits"


def answer(tab: Any, exercise: str, field: int, text: str) -> None:
    form = tab.locator(f"#{exercise} form.asks")
    form.locator("input").nth(field).fill(text)
    for output in form.locator("output").all():
        output.evaluate("one => { one.className = '' }")
    form.locator("button").click()
    tab.wait_for_function(f"document.querySelector('#{exercise} output').className")


def test_a_question_about_a_proof_is_counted_apart(visit: Visit) -> None:
    tab = visit(make_path("en", "softmax"))
    form = tab.locator("#exercise-gibbs form.asks")
    assert "not judged" in form.locator(".about-proof").text_content()
    form.locator("input[value=right]").check()
    form.locator("button").click()
    count = tab.locator(".solved-count")
    count.wait_for()
    assert "0 of" in count.text_content()
    assert "proofs: 1 of 1" in count.text_content()
    assert tab.locator("#exercise-gibbs.answered:not(.solved)").count() == 1


def test_two_tabs_lose_nothing_and_show_the_same(visit: Visit) -> None:
    one = visit(make_path("en", "masking"))
    two = one.context.new_page()
    two.goto(one.url + "index.html")
    answer(two, "exercise-window-2", 0, "9")
    fields = two.locator("#exercise-window-2 form.asks")
    fields.locator("input[value=right]").check()
    fields.locator("button").click()
    two.wait_for_selector(".exercise.solved#exercise-window-2")
    answer(one, "exercise-pencil", 0, "2/7, 0, 5/7")
    answer(one, "exercise-pencil", 1, "0.7")
    one.wait_for_selector(".exercise.solved#exercise-pencil")
    one.wait_for_selector(".exercise.solved#exercise-window-2")
    two.wait_for_selector(".exercise.solved#exercise-pencil")
    kept = json.loads(one.evaluate("localStorage.getItem('solved exercises')"))
    assert kept == {"masking": ["exercise-window-2", "exercise-pencil"]}


def test_a_saved_file_is_read_back(visit: Visit, tmp_path: Path) -> None:
    tab = visit(make_path("en", "masking"))
    solved = {"masking": ["exercise-pencil"], "softmax": 7, "scaling": ["exercise-three"]}
    solved["constructor"] = ["a member of every object"]
    saved = {"solved exercises": solved, "review cards": {"a": [1, 5], "b": [1, 10**9], "c": "x"}}
    before = json.dumps({"masking": ["x", "exercise-side"], "softmax": 7})
    tab.evaluate("before => localStorage.setItem('solved exercises', before)", before)
    tab.reload()
    for text, is_ours in (("{", False), ("[]", False), (json.dumps(saved), True)):
        file = tmp_path / "progress.json"
        file.write_text(text)
        with tab.expect_file_chooser() as chooser:
            tab.locator(".solved-count button").nth(1).click()
        chooser.value.set_files(file)
        if is_ours:
            tab.wait_for_selector(".exercise.solved#exercise-pencil")
        else:
            tab.wait_for_function(
                "document.querySelector('.solved-count [role=status]').textContent"
            )
    kept = [tab.evaluate(f"localStorage.getItem('{one}')") for one in saved]
    masking = ["x", "exercise-side", "exercise-pencil"]
    del solved["softmax"]
    assert json.loads(kept[0]) == solved | {"masking": masking}
    assert json.loads(kept[1]) == {"a": [1, 5]}


def test_what_is_not_stored_is_said(visit: Visit) -> None:
    tab = visit(make_path("en", "masking"))
    tab.evaluate("void (Storage.prototype.setItem = () => { throw new Error('full'); })")
    answer(tab, "exercise-pencil", 0, "2/7, 0, 5/7")
    answer(tab, "exercise-pencil", 1, "0.7")
    tab.wait_for_selector(".exercise.solved#exercise-pencil")
    assert "stores no more" in tab.locator(".solved-count").text_content()
