"""The panel in which a real model goes on: bars, sliders, branches, address, and the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from attention_docs.data import load_beginnings
from attention_docs.language_model import token_distribution
from attention_docs.locales import read_locale
from attention_docs.next_word import MAX_TOKENS, next_tokens
from attention_docs.site.publish import live, models
from tests.conftest import each_language
from tests.test_browser import assert_everyone_can_use, make_path
from tests.test_live_pages import PATIENCE

Visit = Callable[..., Any]
needs_browser = pytest.mark.needs("browser")
needs_model = pytest.mark.needs("browser", "runtime", "smollm2")
PAGE = make_path("en", "next-word")
KEPT = load_beginnings()
SHARES = """(place) => [...document.querySelectorAll(`${place ?? ""} .next-bars b`)]
  .map((one) => parseFloat(one.textContent))"""
SET = """([name, value]) => {
  const input = document.querySelectorAll(".next-sliders input")[name];
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}"""


def words(lang: str) -> Any:
    return read_locale(lang)["site"]["next"]


def open_panel(visit: Visit, path: str = PAGE, **options: Any) -> Any:
    tab = visit(path, **options)
    tab.set_default_timeout(PATIENCE)
    tab.evaluate("document.querySelector('.next-token').scrollIntoView()")
    tab.wait_for_selector(".next-bars li")
    return tab


def first(lang: str) -> Any:
    return next(one for one in KEPT["beginnings"] if one["lang"] == lang)


def shares_of(node: Any) -> list[float]:
    return [100 * math.exp(-nats / 1000) for nats in node["nats"]]


@needs_browser
@each_language
def test_tokens_are_pressed_and_appended(lang: str, visit: Visit) -> None:
    """Without Python; each place shows the ten that were measured there, and the way back."""
    tab = open_panel(visit, make_path(lang, "next-word"))
    node = first(lang)
    for place in (1, 0, 0):
        assert tab.evaluate(SHARES) == pytest.approx(shares_of(node), abs=0.12)
        tab.locator(".next-bars button").nth(place).click()
        node = node["then"][place]
    assert tab.evaluate(SHARES) == pytest.approx(shares_of(node), abs=0.12)
    assert tab.locator(".next-chip").count() == 3
    assert tab.locator(".next-bars button:enabled").count() == 0
    tab.get_by_text(words(lang)["back"], exact=True).click()
    tab.get_by_text(words(lang)["again"], exact=True).click()
    assert tab.evaluate(SHARES) == pytest.approx(shares_of(first(lang)), abs=0.12)


SETTINGS = [(0.2, 11, 1), (0.65, 11, 1), (1.6, 11, 1), (2, 4, 1), (1, 3, 0.6), (0.5, 11, 0.3)]


@needs_browser
def test_sliders_do_what_the_package_does(visit: Visit, address: str) -> None:
    """From made-up logits, of which the panel knows ten and six sums: within 0.3 of a hundredth."""
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 2.5, 49152)
    logits[:30] += np.linspace(12, 2, 30)
    kept = next_tokens(logits)
    node = {
        "ids": [*range(10)],
        "nats": [round(1000 * one) for one in kept["nats"]],
        "rest": [round(1000 * one) for one in kept["rest"]],
    }
    document = {
        "powers": KEPT["powers"],
        "heads": [],
        "tokens": {str(i): str(i) for i in range(10)},
        "beginnings": [
            {"text": "x", "prompt": [0], "layers": [[0], [1]], "weights": [], **node, "then": []}
        ],
    }
    tab = visit()
    tab.route("**/assets/beginnings/en.json", lambda route: route.fulfill(json=document))
    tab.goto(address + PAGE)
    tab.evaluate("document.querySelector('.next-token').scrollIntoView()")
    tab.wait_for_selector(".next-bars li")
    for temperature, top_k, top_p in SETTINGS:
        for name, value in enumerate((temperature, top_k, top_p)):
            tab.evaluate(SET, [name, value])
        wanted = token_distribution(
            logits, temperature, None if top_k == 11 else top_k, None if top_p == 1 else top_p
        )
        ten = 100 * wanted[np.array(kept["ids"])]
        assert tab.evaluate(SHARES) == pytest.approx(ten.tolist(), abs=0.3), temperature


@needs_browser
def test_an_address_brings_the_place_back(visit: Visit) -> None:
    tab = open_panel(visit)
    tab.locator(".next-choose select").select_option("2")
    tab.locator(".next-bars button").nth(0).click()
    tab.evaluate(SET, [0, 0.5])
    shown, address = tab.evaluate(SHARES), tab.url
    assert "#next=2,0,0.5,11,1" in address
    again = visit()
    again.goto(address)
    again.wait_for_selector(".next-bars li")
    assert again.evaluate(SHARES) == shown
    for nonsense in ("#next=99,7.7.x,1e9,-3,q", "#next=", "#next=<b>,,"):
        again.goto("about:blank")
        again.goto(address.split("#")[0] + nonsense)
        again.wait_for_selector(".next-bars li")
        assert again.locator(".next-bars li").count() == 10


@needs_browser
def test_axe_finds_nothing(visit: Visit) -> None:
    """With its folds open, wide and narrow, light and dark."""
    tab = open_panel(visit)
    tab.evaluate("document.querySelectorAll('.next-token details').forEach((one) => one.open = 1)")
    assert_everyone_can_use(tab)


# --- the model itself -----------------------------------------------------------------------------


def test_the_pieces_of_the_model(tmp_path: Any) -> None:
    """Each at most 25 MB, in order, and none left over."""
    names = live.list_parts()
    assert names == [f"{models.FILE}.{n}" for n in range(4)]
    assert live.PART <= 25_000_000
    assert 3 * live.PART < models.BYTES <= 4 * live.PART


@pytest.fixture(scope="module")
def loaded(chromium: Any, address: str) -> Iterator[Any]:
    """A tab in which the model is."""
    context = chromium.new_context(service_workers="block")
    tab = context.new_page()
    tab.set_default_timeout(10 * PATIENCE)
    tab.goto(address + PAGE + "#next=0,,1,11,1")
    tab.wait_for_selector(".next-own button")
    tab.locator(".next-own button").click()
    tab.wait_for_selector(".next-own textarea")
    yield tab
    context.close()


def read(tab: Any, text: str) -> list[str]:
    tab.locator(".next-own textarea").fill(text)
    tab.evaluate("document.querySelector('.next-own [role=status]').textContent = ''")
    tab.get_by_text(words("en")["read"], exact=True).click()
    tab.wait_for_function(
        "/^Read in|^Write a/.test(document.querySelector('.next-own [role=status]').textContent)"
    )
    return [str(one) for one in tab.locator(".next-read button").all_text_contents()]


@needs_model
def test_the_browser_says_what_was_measured(loaded: Any) -> None:
    shown = loaded.evaluate(SHARES, ".next-own")
    assert shown == pytest.approx(shares_of(first("en")), abs=0.12)


@needs_model
@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("🙂 今天 <b>x</b>", 5, 20),
        ("word " * 2000, MAX_TOKENS, MAX_TOKENS),
        ("a\ud800b", 4, 6),
        ("x" * 3000, MAX_TOKENS, MAX_TOKENS),
    ],
)
def test_bad_input_does_no_harm(text: str, least: int, most: int, loaded: Any) -> None:
    read(loaded, "Hello.")
    code = [ord(one) for one in text]  # half of a surrogate pair is no text for the driver
    loaded.evaluate(
        "(code) => { document.querySelector('.next-own textarea').value ="
        " code.map((one) => one > 65535 ? String.fromCodePoint(one)"
        " : String.fromCharCode(one)).join('') }",
        code,
    )
    loaded.get_by_text(words("en")["read"], exact=True).click()
    loaded.wait_for_function(
        "(least) => document.querySelectorAll('.next-read button').length >= least", arg=least
    )
    assert least <= loaded.locator(".next-read button").count() <= most
    assert loaded.locator(".next-own b:has-text('x')").count() == 0


@needs_model
def test_it_writes_and_stops(loaded: Any) -> None:
    before = len(read(loaded, "Once upon a time"))
    loaded.get_by_text(words("en")["writeMany"], exact=True).click()
    loaded.wait_for_function(
        "(n) => document.querySelectorAll('.next-read button').length >= n", arg=before + 2
    )
    loaded.get_by_text(words("en")["stop"], exact=True).click()
    loaded.wait_for_timeout(1500)
    count = loaded.locator(".next-read button").count()
    assert before + 2 <= count < before + 20
    loaded.wait_for_timeout(1500)
    assert loaded.locator(".next-read button").count() == count
