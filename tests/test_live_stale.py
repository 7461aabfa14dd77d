"""A live page does not contradict itself: what speaks of the published numbers alone is marked."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attention_docs.locales import read_locale
from tests.conftest import LANGUAGES, ROOT, each_language, in_one_language
from tests.test_live_pages import BLOCK, Live, keeper, live, needs_live, read_source

__all__ = ["keeper", "live"]  # fixtures

TURNABLE = sorted(
    path.stem
    for path in (ROOT / "docs" / "listings").glob("*.py")
    if re.search(r"# knob\b", path.read_text(encoding="utf-8"))
)
# The number words of a language are its own; the rest is the same everywhere.
EVERYWHERE = [("en", slug) for slug in TURNABLE]
EVERYWHERE += [(lang, slug) for lang in LANGUAGES[1:] for slug in ("eight-steps", "masking")]
TEXTS = {  # that a field takes
    "letters": "horsehorsehor",
    "task": "8-3=",
    "head": "16.0",
    "first_question": "What is the capital of France? And of Spain?",
}

# The sections and boxes in which an output or a value has changed, and no line says so.
# What a section is, it finds in its own way.
UNSAID = r"""() => {
  const article = document.querySelector("article");
  const boxes = "details:not(.hint, .answer, .code, .origin, .checks, .further), " +
    ".result, .exercise";
  const headings = [...article.querySelectorAll("h1, h2, h3, h4")];
  const section = (one) => one.closest(boxes) ?? headings.findLast(
    (heading) => heading.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
  const changed = ".output.live-changed, .live-value, .live-old-value, .live-old";
  const own = '.exercise[data-kind="write"], .guess, .cards, .takeaway, .live-place, nav, ' +
    ".live-knobs, .opening, .result-links, .tools, summary, .live-scratch";
  const moved = [...article.querySelectorAll(changed)].filter((one) => !one.closest(own));
  const said = new Set([...article.querySelectorAll(".live-stale-note")].map(section));
  const texts = new Set([...article.querySelectorAll("p, li, figcaption")]
    .filter((one) => !one.closest(`${own}, .output, .live-stale-note, .checks`)).map(section));
  return [...new Set(moved.map((one) => section(one.closest(".output") ?? one)))]
    .filter((one) => texts.has(one) && !said.has(one)).map((one) => one.textContent.slice(0, 60));
}"""

# What is marked in a section in which nothing has changed, by its blocks.
OUT_OF_PLACE = r"""() => {
  const article = document.querySelector("article");
  const headings = [...article.querySelectorAll("h2")];
  const of = (one) => headings.findLast(
    (heading) => heading.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
  const changed = ".live-changed, .live-value, .live-old, .live-old-value, .live-edited";
  const live = new Set([...article.querySelectorAll(changed)].map(of));
  return [...article.querySelectorAll(".live-stale")].filter((one) => !live.has(of(one)))
    .map((one) => one.textContent.trim().slice(0, 200));
}"""

COUNTED = """() => [
  document.querySelectorAll(".live-stale:not(span)").length,
  document.querySelector(".live-status").textContent,
]"""

OPEN_ALL = """() => {
  for (const fold of document.querySelectorAll("article details")) fold.open = true;
  for (const turn of document.querySelectorAll(".live-place .live-turn")) turn.click();
}"""


def turn(page: Live, block: str, knob: dict[str, Any]) -> None:
    """Turn a knob to another value that it takes."""
    fields = page.tab.locator(f"#knobs-{block} .live-knob").filter(
        has=page.tab.locator("code", has_text=re.compile(f"^{knob['name']}$"))
    )
    field = fields.locator("select, input:not([type=range])").first
    if knob["kind"] == "choice":
        value = field.input_value()
        field.select_option(next(name for name in knob["names"] if name != value))
    elif knob["kind"] == "text":
        first, *words = field.input_value().split(" ")
        field.fill(TEXTS.get(knob["name"]) or " ".join([first, *words[:-1], first]))
    elif field.get_attribute("type") == "checkbox":
        field.set_checked(not field.is_checked())
    else:
        value = float(field.input_value())
        high = knob["high"]
        field.fill(f"{value + 1 if high is None or value + 1 <= high else value - 1:g}")


@needs_live
@pytest.mark.parametrize(("lang", "slug"), EVERYWHERE)
def test_a_line_says_where_the_text_is_of_the_published_run(
    lang: str, slug: str, live: Callable[..., Live], site: Path
) -> None:
    """The knobs of each block are turned, as a reader may; then the page is as published again."""
    page = live(slug, lang)
    page.tab.evaluate(OPEN_ALL)
    page.wait_until_settled()
    faults, changed = [], 0
    for cell in read_source(site, lang, slug)["cells"]:
        for knob in cell["knobs"]:
            turn(page, cell["id"], knob)
        if not cell["knobs"]:
            continue
        page.tab.wait_for_selector(".live-changed", state="attached")
        said = page.wait_until_settled()
        assert said != page.words["ready"]
        assert said.startswith(page.words["done"].split("{")[0]), said
        changed += page.tab.locator(".live-changed").count()
        for text in page.tab.evaluate(UNSAID):
            faults.append(
                f"{cell['id']}: nothing says that the text is of the published run: {text}"
            )
        for text in page.tab.evaluate(OUT_OF_PLACE):
            faults.append(f"{cell['id']}: marked, where nothing has changed: {text}")
        marked, said = page.tab.evaluate(COUNTED)  # at one moment: a later run may follow
        counted = page.words["passages"].format(marked)
        assert said == " ".join([page.words["done"], counted][: 1 + (marked > 0)])
        page.press("reset")
        left = page.tab.locator(".live-stale, .live-stale-note, .live-old")
        assert left.all_text_contents() == []
    assert changed
    assert not faults, "\n".join(faults)


# Of each page an edit, and a part of each passage that it makes untrue, as a person has read the
# pages: all else either stays true or stands under the line which says that it speaks of the
# published example.
DOG = """
    Take dog bites man; dog would score with bites; A dog and a man are living; Bites has two;
    half each to dog and man; Lay the query of bites; The value of bites itself; Bites gives 0.49;
    Dog gives 0.91; no component in common with dog or man; man asks the same question;
    Bites has no use for itself; of bites the middle weight; the vector of dog has a 1;
    The row of dog times; For dog alone; the key of dog turn out; The query of dog now meets;
    So dog matches; The query of dog times; So dog keeps only; the output of dog"""
EDITS: dict[str, list[tuple[str, str, str, str]]] = {
    "scaling": [
        ("example", "d_k = 64", "d_k = 64 + 0", ""),
        ("example", "d_k = 64", "d_k = 1", ""),
        ("pairs", 'f"expectation: {mean}, variance: {variance}"', "mean, variance", ""),
    ],
    "masking": [
        ("coins", "SEED = 0", "SEED = 7", ""),
        ("writing", '"""The causal mask', '"""What each query may see', ""),
        ("minus-infinity", "[2.0, 4.0, 4.0]", "[1.0, 4.0, 3.0]", "the scores 2, 4 and 4"),
    ],
    "sequences": [
        ("inputs", "[2, 2]]", "[-2, -2]]", ""),
        ("own-length", "is good", "was bad",
         "This is good → positive; This is good, with two components"),
    ],
    "kernels": [("three", "[3]]", "[-3]]", "")],
    "in-pieces": [("halves", "[8], [2]]", "[8], [20]]", "")],
    "score-functions": [("choose", "[0, -2, 1, 2]", "[0, 2, 1, -2]", "")],
    "positions": [("shift", "offset = 3", "offset = 7", "")],
    "softmax": [
        ("pull", "[1.0, 1.0, 1.0, 5.0]", "[2.0, 0.0, 1.0, 2.0]", "times the scores 1, 1, 1, 5"),
        ("definition", "2.0, 5.0]", "2.0, 6.0]",
         "their exponentials are 1, 2 and 5; the exponentials 1, 2 and 5 are squared"),
        ("definition", '("score", s)', '("s", s)', ""),
        ("exercise-weights", "6.0]", "4.0]", "The scores are; so the weights are 3/10"),
    ],
    "memory": [
        ("linear-work", "f = 64", "f = 32", "the more the state saves"),
        ("linear-work", "(64, 1024, 16_384)", "(128, 512, 16_384)", ""),
    ],
    "eight-steps": [
        ("inputs", "[1, 1, 1, 1]]", "[1, 1, 1, 3]]", "a11="),
        ("inputs", "[1, 0, 1, 0]", "[1, 0, 2, 0]", "k1=; a11="),
        ("components", '["dog", "bites", "man"]', '["cat", "eats", "fish"]', DOG),
    ],
}  # fmt: skip


@needs_live
@pytest.mark.parametrize("slug", EDITS)
def test_what_an_edit_makes_untrue_is_marked_and_nothing_else(
    slug: str, live: Callable[..., Live]
) -> None:
    page = live(slug, "en")
    page.tab.evaluate(OPEN_ALL)
    for block, old, new, parts in EDITS[slug]:
        page.edit(block)
        page.wait_until_settled()
        page.write(block, old, new)
        page.run()
        marked = page.tab.locator(".live-stale").all_text_contents()
        untrue = [part.strip() for part in parts.split(";") if part]
        assert len(marked) == len(untrue), (block, *marked)
        for part, text in zip(untrue, marked, strict=True):
            assert part in text
        page.press("reset")
        page.wait_until_settled()


@needs_live
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_result_about_the_example_says_that_it_is(lang: str, live: Callable[..., Live]) -> None:
    """With other inputs the largest weight of input 3 may be its own; a theorem stays one."""
    page = live("eight-steps", lang)
    page.tab.evaluate(OPEN_ALL)
    page.edit("inputs")
    page.wait_until_settled()
    page.write("inputs", "[0, 2, 0, 2]", "[0, 1, 0, 2]")
    page.run()
    assert page.tab.locator("#out-itself.live-changed, #out-outputs.live-changed").count() == 2
    notes = page.tab.locator("#result-itself .live-stale-note").all_text_contents()
    assert notes == [page.words["stale"]]
    assert page.tab.locator(".result .live-stale-note").count() == 1


@needs_live
@in_one_language
def test_an_answer_says_what_it_was_judged_by(lang: str, live: Callable[..., Live]) -> None:
    """Numbers follow the edit, [1, 1, 1, 3] times each input; what is right of choices does not."""
    words = read_locale(lang)["site"]["exercises"]
    page = live("eight-steps", lang)
    form = page.tab.locator("#exercise-own form")
    page.tab.evaluate(OPEN_ALL)
    page.edit("exercise-own")
    page.wait_until_settled()
    last = "x + np.outer([0, 0, 1], [0, 0, 0, 2])"
    page.write("exercise-own", "x @ x.T", f"({last}) @ ({last}).T")
    page.run()
    page.wait_until_settled()
    first, third = form.locator("input[type=text]").all()
    first.fill("2, 0, 2")
    third.fill("2, 8, 12")
    form.locator("input[value=right]").check()
    form.locator("button").click()
    said = [words["right"], f"{words['right']} {words['edited']}"]
    said.append(f"{words['right']} {words['published']}")
    says = (
        "([form, texts]) => [...form.querySelectorAll('output')].slice(-texts.length)"
        ".every((one, i) => one.textContent === texts[i])"
    )
    page.tab.wait_for_function(says, arg=[form.element_handle(), said])
    page.press("reset")
    page.wait_until_settled()
    form.locator("button").click()
    page.tab.wait_for_function(says, arg=[form.element_handle(), said[:1]])


@needs_live
def test_a_task_is_not_marked_while_it_is_solved(live: Callable[..., Live]) -> None:
    page = live("masking", "en")
    page.tab.evaluate(OPEN_ALL)
    task = page.tab.locator('.exercise[data-kind="write"]')
    field = page.edit(task.locator(".block").first.get_attribute("data-block"))
    page.wait_until_settled()
    field.fill(field.input_value() + "\n1 / 0")
    page.run()
    assert page.tab.locator(".live-error").count()
    assert not task.locator(".live-stale, .live-stale-note").count()
    own_table = 'from attention_docs.figures import table\ntable([["x"]], columns=["✓ Right"])'
    field.fill(field.input_value().replace("1 / 0", own_table))
    page.run()
    assert "✓ Right" in task.inner_text()
    assert not page.tab.locator(".exercise.solved").count()


@needs_live
@in_one_language
def test_the_listing_shows_what_its_fields_say(lang: str, live: Callable[..., Live]) -> None:
    page = live("eight-steps", lang)
    code = page.tab.locator('.block[data-block="stepper"] .highlight pre > code')
    published = code.inner_html()
    page.tab.evaluate(OPEN_ALL)
    page.wait_until_settled()
    page.tab.get_by_label("W_Q[1, 2]", exact=True).fill("4")
    assert "[[0, 4], [0, 0], [3, 0], [0, 0]]" in code.text_content()
    assert code.locator("mark").all_text_contents() == ["4"]
    assert code.locator("span").count() > 2  # its colours
    page.tab.wait_for_selector("#out-stepper.live-changed", state="attached")
    page.press("reset")
    assert code.inner_html() == published


@needs_live
@in_one_language
def test_an_error_is_told_where_the_reader_is(lang: str, live: Callable[..., Live]) -> None:
    """By the editor that was used, with the way to the line; what did not run says so."""
    page = live("eight-steps", lang)
    field = page.edit(BLOCK)
    page.wait_until_settled()
    good = field.input_value()
    field.fill(good + "\ndel card_values")
    assert page.run().startswith(page.words["failed"])
    here, there = page.tab.locator(".live-error").all()
    assert "card_values" in here.inner_text()
    assert here.evaluate(
        "(one) => one.previousElementSibling.matches('.live-editor') && "
        f"one.closest('.block').dataset.block === '{BLOCK}'"
    )
    old = page.tab.locator(".live-old")
    assert old.count()
    assert page.words["unrun"] in old.first.text_content()
    line = int(re.findall(r"\d+", here.locator(".live-way").text_content())[0])
    here.locator(".live-way").click()
    page.tab.wait_for_function("document.activeElement.closest('.live-editor')")
    marked = page.tab.locator(".live-line")
    assert marked.count() == 1
    assert "card_values" in marked.inner_text()
    assert there.count() == 1
    assert line > 0
    for code, failed in ((good, False), (good + "\ndel card_values", True), (good, False)):
        field.fill(code)
        page.run()
        assert bool(page.tab.locator(".live-error").count()) is failed
        assert bool(page.tab.locator(".live-old").count()) is failed


@needs_live
@each_language
def test_a_text_is_made_of_words_that_are_a_press_away(
    lang: str, live: Callable[..., Live], site: Path
) -> None:
    """With the model's answer beside them; capitals and full stops are read as they are written."""
    cells = {cell["id"]: cell for cell in read_source(site, lang, "language-model")["cells"]}
    (knob,) = cells["hook"]["knobs"]
    page = live("language-model", lang)
    page.tab.locator("#knobs-hook .live-turn").click()
    page.wait_until_settled()
    answer = page.tab.locator("#knobs-hook .live-answer")
    drawn = page.tab.locator(f"#out-{knob['answer']} .drawing")
    assert answer.locator("svg").count() == drawn.locator("svg").count() == 1
    field = page.tab.locator("#knobs-hook input")
    stop = knob["names"][16]
    first, verb, second = knob["names"][0], knob["names"][10], knob["names"][3]
    field.fill(f"{first.upper()} {verb}{stop}")
    page.wait_until_settled()
    for word in (second, verb, stop, first):
        page.tab.locator("#knobs-hook .live-chip").get_by_text(word, exact=True).click()
    assert field.input_value() == f"{first.upper()} {verb}{stop} {second} {verb} {stop} {first}"
    page.wait_until_settled()
    assert not page.tab.locator(".live-error").count()
    page.tab.wait_for_selector(f"#out-{knob['answer']}.live-changed")
    page.tab.wait_for_function(
        """([one, other]) => document.querySelector(one).textContent
          === document.querySelector(other).textContent""",
        arg=["#knobs-hook .live-answer", f"#out-{knob['answer']} .drawing"],
    )
    rows = [row for row in answer.locator("svg").first.text_content().split() if row]
    assert verb in " ".join(rows)
    page.tab.locator("#knobs-hook .live-chip").last.click()
    assert field.input_value().endswith(stop)
    field.fill(f"{first} nobody")
    page.tab.locator(".live-error").wait_for()
    page.tab.wait_for_selector("#knobs-hook .live-answer.live-old")
    assert page.words["unrun"] in answer.text_content()
    field.fill("")
    limit = page.tab.locator("#knobs-hook .live-limit")
    assert limit.text_content() == page.words["anyText"]
    page.tab.locator("#knobs-hook .live-chip").first.click()
    assert not limit.text_content()
    assert field.input_value() == first
