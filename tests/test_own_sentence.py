"""A reader's own sentence in a browser: what is loaded, the maps, bad input, keyboard, faults.

Python and the model take seconds to load, so most tests share one tab.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from attention_docs.locales import read_locale
from attention_docs.minilm import KEPT, MAX_TOKENS, MiniLM, load_minilm, read_sentence
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.sentence import EXAMPLES, offer_sentence
from tests.conftest import ROOT, each_language
from tests.test_browser import assert_everyone_can_use, make_path
from tests.test_live_pages import IS_CACHED, PATIENCE

Visit = Callable[..., Any]
PAGE = make_path("en", "encoders")
MODEL = "/live/minilm/model.onnx"


needs_model = pytest.mark.needs("runtime", "minilm")


@cache
def model() -> MiniLM:
    return load_minilm(ROOT / ".cache" / "models" / "minilm")


def words(lang: str) -> Any:
    return read_locale(lang)["site"]["sentence"]


class Form:
    """The form of a page in a tab."""

    def __init__(self, tab: Any) -> None:
        self.tab = tab
        self.form = tab.locator("form.own-sentence")
        tab.set_default_timeout(PATIENCE)

    def press(self, text: str | None = None) -> None:
        if text is not None:
            self.form.locator("input").fill(text)
        # By a key: a page that still moves can take a button away from under the pointer.
        self.form.locator("[type=submit]").press("Enter")

    def status(self) -> str:
        return str(self.form.locator("[role=status]").text_content())

    def wait(self, start: str) -> str:
        """Wait until the status begins like this."""
        self.tab.wait_for_function(
            "(start) => document.querySelector('.sentence-status').textContent.startsWith(start)",
            arg=start,
        )
        return self.status()

    def read(self, text: str) -> list[str]:
        """The tokens of a sentence whose maps have come."""
        self.tab.evaluate("document.querySelector('.sentence-status').textContent = ''")
        self.press(text)
        self.tab.wait_for_function(
            "/[0-9]|^Write/.test(document.querySelector('.sentence-status').textContent)"
        )
        return [str(one) for one in self.tab.locator(".sentence-words button").all_text_contents()]


@pytest.fixture(scope="module")
def loaded(chromium: Any, address: str) -> Iterator[Form]:
    """A tab in which Python and the model are."""
    context = chromium.new_context(service_workers="block")
    form = Form(context.new_page())
    form.tab.goto(address + PAGE)
    form.read(EXAMPLES[0])
    yield form
    context.close()


@needs_model
def test_nothing_before_the_press_and_nothing_from_elsewhere(visit: Visit, address: str) -> None:
    """And without network afterwards."""
    tab = visit()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(address + PAGE)
    tab.wait_for_load_state("networkidle")
    form = Form(tab)
    form.form.locator("input").fill("Nothing yet.")
    form.form.locator(".example").first.click()
    assert not [url for url in asked if "/live/" in url]
    form.read(EXAMPLES[0])
    assert any(url.endswith(MODEL) for url in asked)
    assert not [url for url in asked if not url.startswith((address, "blob:"))]
    tab.evaluate(IS_CACHED, MODEL)
    tab.evaluate(IS_CACHED, "/assets/live/sentence-maps.js")
    tab.evaluate(IS_CACHED, "/live/package.zip")
    tab.context.set_offline(True)
    tab.reload()
    assert "small" in Form(tab).read(EXAMPLES[1])


TABLES = """() => [...document.querySelectorAll(".sentence-grid button")].map((button) => {
  button.click();
  const fold = document.querySelector(".sentence-open details");
  fold.open = true;
  fold.dispatchEvent(new Event("toggle"));
  const rows = [...fold.querySelectorAll("tbody tr")];
  return rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent));
})"""


@needs_model
@pytest.mark.parametrize("text", [*EXAMPLES, "Naïve cafés, 你好 🙂 <b>!"])
def test_the_browser_gives_the_numbers_of_the_build(text: str, loaded: Form) -> None:
    """Each printed weight of all heads, within half of its last digit and the error of float32."""
    tokens = loaded.read(text)
    native = read_sentence(text, model())
    assert tokens == native.tokens
    n = len(tokens)
    shown = np.array(loaded.tab.evaluate(TABLES), dtype=float).reshape(6, 12, n, n)
    np.testing.assert_allclose(shown, native.weights, rtol=0, atol=0.005 + 5e-6)


@needs_model
def test_a_word_says_where_it_looks(loaded: Form) -> None:
    """The numbers of the text beside, which the package keeps."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    for text, looks in zip(EXAMPLES[:2], kept["looks"], strict=True):
        loaded.read(text)
        trophy, suitcase = (f"{one:.2f}" for one in looks[3][1])
        said = loaded.tab.locator(".sentence-looks").text_content()
        assert f"trophy {trophy}, suitcase {suitcase}" in said


@needs_model
@pytest.mark.parametrize(
    ("text", "tokens", "said"),
    [
        ("", 0, "empty"),
        (" \u3000 ", 0, "empty"),
        ("\N{ZERO WIDTH SPACE}", 0, "empty"),
        ("🙂", 3, "unknown"),
        ("你好", 4, "done"),
        ("مرحبا بالعالم", 14, "done"),
        ("word " * 2000, MAX_TOKENS, "cut"),
        ("x" * 10_000, 3, "unknown"),
        ('<img src=x onerror="window.hurt = 1"><script>window.hurt = 1</script>', 33, "done"),
    ],
)
def test_bad_input_does_no_harm(text: str, tokens: int, said: str, loaded: Form) -> None:
    loaded.read("I saw a saw.")
    shown = loaded.read(text)
    expected = words("en")[said].split("{")[0]
    assert expected in loaded.status() or said == "done"
    if tokens:
        assert len(shown) == tokens
    assert not loaded.tab.evaluate("window.hurt")
    assert (
        loaded.tab.locator(":is(.sentence-maps, form.own-sentence) :is(img, script)").count() == 0
    )


@needs_model
def test_half_of_a_character_is_left_out(loaded: Form) -> None:
    """A lone surrogate, which no driver types and no UTF-8 holds."""
    loaded.read("I saw a saw.")
    loaded.tab.evaluate("document.querySelector('.sentence-status').textContent = ''")
    loaded.form.locator("input").evaluate("(one) => { one.value = 'a\\ud800b sleeps.' }")
    loaded.press()
    loaded.tab.wait_for_function(
        "/[0-9]/.test(document.querySelector('.sentence-status').textContent)"
    )
    shown = loaded.tab.locator(".sentence-words button").all_text_contents()
    assert shown == read_sentence("ab sleeps.", model()).tokens


@needs_model
def test_an_address_brings_sentence_and_map_back(loaded: Form) -> None:
    """At once where the model is, and after the press in another tab; nothing is asked for."""
    tab, text = loaded.tab, "The cat & the dog, 50% asleep."
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    loaded.read(text)
    tab.locator(".sentence-grid button").nth(4 * 12 + 7).click()
    tab.locator(".sentence-words button").nth(2).click()
    said = tab.locator(".sentence-looks").text_content()
    tab.wait_for_timeout(500)  # addresses are written a few times a second
    address = tab.url
    assert asked == []
    loaded.read(EXAMPLES[1])
    tab.evaluate("(url) => { location.href = url }", address)
    tab.wait_for_function(
        "(said) => document.querySelector('.sentence-looks').textContent === said", arg=said
    )
    assert str(tab.locator(".sentence-title").text_content()).startswith("Layer 4, head 7")
    other = tab.context.new_page()
    other.goto(address)
    form = Form(other)
    assert form.form.locator("input").input_value() == text
    assert form.form.bounding_box()["y"] < 900
    form.press()
    other.wait_for_selector(".sentence-looks")
    assert other.locator(".sentence-looks").text_content() == said
    other.close()


@needs_model
def test_by_keyboard_alone(loaded: Form) -> None:
    """Arrows move among the maps and the words; Enter opens a map."""
    loaded.read(EXAMPLES[0])
    tab = loaded.tab
    tab.locator(".sentence-grid button").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        tab.keyboard.press(key)
    assert str(tab.locator(".sentence-title").text_content()).startswith("Layer 2, head 1")
    assert tab.locator(".sentence-grid [aria-pressed=true]").count() == 1
    tab.locator(".sentence-words button").first.focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert str(tab.locator(".sentence-looks").text_content()).startswith("“trophy”")


@needs_model
def test_axe_finds_nothing_with_a_map_open(loaded: Form) -> None:
    """With its table, wide and narrow, light and dark."""
    tab = loaded.tab
    loaded.read(EXAMPLES[0])
    tab.locator(".sentence-open summary").click()
    assert_everyone_can_use(tab)


@needs_model
@each_language
def test_a_fault_is_said_and_a_press_tries_again(lang: str, visit: Visit) -> None:
    """Another file, a lost connection, a reader who cancels."""
    form = Form(visit(make_path(lang, "index"), service_workers="block"))
    said = words(lang)
    answers = [lambda route: route.fulfill(body=b"another"), lambda route: route.abort()]
    broken = read_locale(lang)["site"]["live"]["broken"].split("{")[0]
    for answer in answers:
        form.tab.route("**/model.onnx", answer)
        form.press(EXAMPLES[2])
        form.wait(broken)
        form.tab.unroute("**/model.onnx")
        form.tab.evaluate("document.querySelector('.sentence-status').textContent = ''")
    form.tab.route("**/model.onnx", lambda route: None)  # it never comes
    form.press()
    form.form.get_by_text(said["cancel"], exact=True).click()
    assert form.wait(said["cancelled"]) == said["cancelled"]
    assert form.tab.locator("iframe, progress:visible, .sentence-maps").count() == 0


@needs_model
@each_language
def test_from_a_file_it_says_what_is_needed(lang: str, visit: Visit, site: Any) -> None:
    tab = visit()
    folder = {"en": "", "zh": "zh/"}[lang]
    tab.goto((site / f"{folder}encoders/index.html").as_uri())
    form = Form(tab)
    form.press()
    said = read_locale(lang)["site"]["script"]["disk"]
    assert form.wait(said) == said


def test_without_the_model_the_page_says_so() -> None:
    for lang in ("en", "zh"):
        said = words(lang)
        chapters = Chapters(lang, read_locale(lang), ROOT / "docs", {}, {}, lambda _: [])
        assert offer_sentence(chapters) == said["missing"]
