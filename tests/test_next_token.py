"""The panel in which a real model goes on: bars, sliders, branches, address, and the model."""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote_plus, urlencode

import brotli
import numpy as np
import pytest
import torch

from attention_docs.data import load_beginnings
from attention_docs.language_model import token_distribution
from attention_docs.locales import read_locale
from attention_docs.next_word import MAX_TOKENS, REFERENCE, next_tokens
from attention_docs.site.publish import live, models
from attention_docs.smollm2 import encode_text, load_smollm2, mean_outputs
from attention_docs.tokens import byte_characters, load_vocabulary
from tests.conftest import each_language, find_page_folder, parse_html
from tests.test_browser import assert_everyone_can_use, make_path
from tests.test_heads import FILE, read_in_torch, run_in_torch
from tests.test_live_pages import PATIENCE
from tests.test_machine import SHOWN
from tests.test_own_sentence import IS_CACHED

Visit = Callable[..., Any]
needs_model = pytest.mark.needs("runtime", "smollm2")
PAGE = make_path("en", "next-word")
KEPT = load_beginnings()
SHARES = """(place) => [...document.querySelectorAll(`${place ?? ""} .next-bars b`)]
  .map((one) => parseFloat(one.textContent.replace("–", "0").replace("<", "")))"""
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


# Of each bar: its length, and what its number stands behind it; of the longest room for one.
BARS = """[...document.querySelectorAll(".next-bars li")].map((row) => {
  const [bar, share, track] = ["i", "b", ".next-track"]
    .map((name) => row.querySelector(name).getBoundingClientRect());
  return [bar.width, share.left - bar.right, track.right - share.right];
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_a_number_stands_behind_its_bar(width: int, visit: Visit) -> None:
    tab = open_panel(visit, width=width)
    measured = tab.evaluate(BARS)
    shares = shares_of(first("en"))
    for (long, behind, room), share in zip(measured, shares, strict=True):
        assert long / measured[0][0] == pytest.approx(share / shares[0], abs=0.01)
        assert 2 < behind < 10
        assert room >= 0
    if width == 390:
        assert measured[0][0] > 50
    tab.locator(".next-sliders input").first.fill("0.2")  # now one is nearly certain
    assert tab.evaluate(BARS)[0][2] >= 0


LOOK = """(selector) => {
  const found = getComputedStyle(document.querySelector(selector));
  return [found.appearance, found.height, found.backgroundImage.slice(0, 15)];
}"""


def test_all_sliders_look_alike(visit: Visit) -> None:
    looks = [
        open_panel(visit).evaluate(LOOK, ".next-sliders input"),
        visit(make_path("en", "scaling")).evaluate(LOOK, ".stepper-range input"),
    ]
    assert looks[0] == looks[1]
    assert looks[0][0] == "none"


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


def test_what_is_cut_away_is_not_called_rare(visit: Visit) -> None:
    """With top-k 3 seven of the ten have no share, and no other token has; a rare one has some."""
    tab = open_panel(visit)
    tab.evaluate(SET, [1, 3])
    shown = tab.locator(".next-bars b").all_text_contents()
    assert [one == "–" for one in shown] == [False] * 3 + [True] * 7
    assert tab.locator(".next-rest").text_content() == words("en")["rest"].format("–")
    tab.evaluate(SET, [1, 11])
    tab.evaluate(SET, [0, 0.2])  # shares to the fifth power, and their sum is 100 again
    shares = np.array(shares_of(first("en"))) ** 5
    shares *= 100 / shares.sum()
    shown = tab.locator(".next-bars b").all_text_contents()
    assert [one == "<0.1%" for one in shown] == [share < 0.05 for share in shares]
    assert "<0.1%" in shown


def all_texts() -> list[str]:
    """Each token of the vocabulary, bytes that are no whole characters as ⟨E9 94⟩."""
    bytes_of = {character: byte for byte, character in byte_characters().items()}
    texts = []
    for token in load_vocabulary()[0]:
        content = bytes(bytes_of[one] for one in token)
        try:
            texts.append(content.decode())
        except UnicodeDecodeError:
            texts.append(f"⟨{content.hex(' ').upper()}⟩")
    return texts


def test_no_two_tokens_look_alike(visit: Visit) -> None:
    """In all of the vocabulary, and nothing of them is invisible."""
    texts = [*all_texts(), "\n   ", "\t", "return ", "\ufe0f", "⟨F0 9F⟩"]
    shown = visit(PAGE).evaluate(
        """async (texts) => {
          const { showToken } = await import("/assets/show.js");
          return texts.map(showToken);
        }""",
        texts,
    )
    assert shown[-5:] == ["↵␣␣␣", "⇥", "return␣", "⟨EF B8 8F⟩", "⟨F0 9F⟩"]
    assert len(set(shown)) == len(set(texts)) > 49_000
    unseen = re.compile(r"⟨[0-9A-F ]+⟩")
    assert all(
        unseen.sub("", one).isprintable() and " " not in unseen.sub("", one) for one in shown
    )


def test_the_times_are_medians(visit: Visit) -> None:
    """Of the first five and the last five: a single slow token says nothing."""
    seconds = [9, 0.1, 0.2, 0.3, 0.4, 5, 5, 0.8, 0.6, 0.9, 0.7, 0.01]
    told = visit(PAGE).evaluate(
        """async (seconds) => {
          const { Times } = await import("/assets/live/next-times.js");
          const { next } = JSON.parse(document.getElementById("__words").textContent);
          const times = new Times(next);
          seconds.forEach((one, n) => {
            times.add(true, one, 31 + n);
            times.add(false, 2 * one, 51 + n);
          });
          return [...times.told.querySelectorAll("p")].map((one) => one.textContent);
        }""",
        seconds,
    )
    cached = {"first": "0.30", "before": 30, "last": "0.70", "after": 41}
    whole = {"first": "0.60", "before": 50, "last": "1.40", "after": 61}
    given = words("en")["times"]  # each in a line of its own
    assert told == [given["cached"].format(**cached), given["whole"].format(**whole)]


def test_an_address_brings_the_place_back(visit: Visit) -> None:
    tab = open_panel(visit)
    tab.locator(".next-choose select").select_option("2")
    tab.locator(".next-bars button").nth(0).click()
    tab.evaluate(SET, [0, 0.5])
    tab.wait_for_timeout(500)  # addresses are written a few times a second
    shown, address = tab.evaluate(SHARES), tab.url
    assert "#next=2,0,0.5,11,1" in address
    again = visit()
    again.goto(address)
    again.wait_for_selector(".next-bars li")
    assert again.evaluate(SHARES) == shown
    for nonsense in ("#next=99,7.7.x,1e9,-3,q", "#next=", "#next=<b>,,", "#next=length"):
        again.goto("about:blank")
        again.goto(address.split("#")[0] + nonsense)
        again.wait_for_selector(".next-bars li")
        assert again.locator(".next-bars li").count() == 10


def test_a_slider_that_is_dragged_writes_the_last_address(visit: Visit) -> None:
    """Though a browser refuses more than a hundred addresses in ten seconds."""
    tab = open_panel(visit)
    tab.evaluate(
        """() => {
          const replace = history.replaceState.bind(history);
          window.written = 0;
          history.replaceState = (...given) => {
            window.written += 1;
            if (window.written > 100) throw new DOMException("", "SecurityError");
            replace(...given);
          };
        }"""
    )
    for n in range(150):
        tab.evaluate(SET, [0, 0.2 + n / 100])
    tab.wait_for_function("location.hash.includes(',1.7,11,1')")  # of steps of 0.05
    assert tab.evaluate("window.written") < 100


def test_no_button_looks_pressed_after_a_tap(visit: Visit) -> None:
    """On a touch screen the last one that was tapped stays hovered and focused."""
    tab = open_panel(visit, width=390, has_touch=True, is_mobile=True)
    tab.locator(".next-bars button").first.tap()
    again = tab.get_by_text(words("en")["back"], exact=True)
    before = again.evaluate("(one) => getComputedStyle(one).color")
    again.evaluate("(one) => one.focus()")
    assert again.evaluate("(one) => one.matches(':focus')")
    assert again.evaluate("(one) => getComputedStyle(one).color") == before


def test_axe_finds_nothing(visit: Visit) -> None:
    """With its folds open, wide and narrow, light and dark."""
    tab = open_panel(visit)
    tab.evaluate("document.querySelectorAll('.next-token details').forEach((one) => one.open = 1)")
    assert_everyone_can_use(tab)


HELD = ".next-token .next-live p:has-text('“')"
GRANDMOTHER = "My grandmother kept a jar of buttons because <b>she</b>"


@pytest.mark.parametrize(("lang", "width"), [("en", 1280), ("zh", 390)])
def test_a_link_says_which_text_it_holds(lang: str, width: int, visit: Visit, address: str) -> None:
    """Above the press that loads the model, where the reader sees it, and nothing is loaded yet."""
    tab = visit(width=width)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    for text in (GRANDMOTHER, "long " * 200):
        given = urlencode({"text": text, "draw": "1,11,1"})
        tab.goto("about:blank")
        tab.goto(f"{address}{make_path(lang, 'next-word')}#next=0,,1,11,1&{given}")
        held = tab.locator(HELD)
        held.wait_for()
        shown = text if len(text) < 300 else text[:300].strip() + " …"
        assert held.text_content() == words(lang)["held"].format(shown)
        tab.wait_for_timeout(500)
        for one in (held, tab.locator(".next-live .md-button").first):
            box = one.bounding_box()
            assert 48 <= box["y"] <= 900 - box["height"], box
    assert not [url for url in asked if re.search(r"smollm2|pyodide|package", url)]
    tab.goto("about:blank")
    tab.goto(f"{address}{make_path(lang, 'next-word')}#next=1,,1,11,1")
    tab.wait_for_selector(".next-bars li")
    assert tab.locator(HELD).count() == 0


def test_another_language_keeps_the_text(visit: Visit) -> None:
    """With its settings; on the first panel and on one of a chapter."""
    for slug, given in (
        ("next-word", "#next=0,,0.7,11,1&"),
        ("masking", "#model=masking&layer=3&headNumber=4&"),
    ):
        state = given + urlencode({"text": GRANDMOTHER})
        tab = visit(make_path("en", slug) + state)
        tab.get_by_text(words("en")["held"].format(GRANDMOTHER), exact=True).wait_for()
        link = tab.locator(".md-header a[hreflang=zh-Hans]")
        link.focus()
        tab.keyboard.press("Enter")
        tab.wait_for_url(f"**{make_path('zh', slug)}#*")
        tab.get_by_text(words("zh")["held"].format(GRANDMOTHER), exact=True).wait_for()
        assert tab.evaluate("location.hash") == state


# --- the model itself -----------------------------------------------------------------------------


def test_the_pieces_of_the_model(tmp_path: Any) -> None:
    """Each at most 25 MB, in order, and none left over."""
    names = live.list_parts()
    assert names == [f"{models.FILE}.{n}" for n in range(4)]
    assert live.PART <= 25_000_000
    assert 3 * live.PART < models.BYTES <= 4 * live.PART


def test_what_is_there_before_the_press_is_light(site: Any) -> None:
    """What was measured, as servers send it; the archive of the site leaves the model out."""
    for lang in ("en", "zh"):
        measured = (site / "assets" / "beginnings" / f"{lang}.json").read_bytes()
        assert len(brotli.compress(measured)) <= 300_000
    (archive,) = site.glob("attention-docs.zip")
    names = zipfile.ZipFile(archive).namelist()
    assert not [name for name in names if ".gguf." in name]


def test_the_size_that_is_said_is_that_of_the_files(site: Any) -> None:
    """All that a press loads: Python, NumPy, the package, and the pieces of the model."""
    tree = parse_html(find_page_folder(site, "en", "next-word") / "index.html")
    given = json.loads(tree.get_element_by_id("__words").text_content())["next"]
    files = [one for one in (site / "live").iterdir() if one.is_file()]
    files += [site / "live" / "smollm2" / one for one in given["parts"]]
    assert given["megabytes"] == round(sum(one.stat().st_size for one in files) / 1e6)


@pytest.fixture(scope="module")
def loaded(chromium: Any, address: str) -> Iterator[Any]:
    """A tab in which the model is."""
    context = chromium.new_context(service_workers="block")
    tab = context.new_page()
    tab.set_default_timeout(10 * PATIENCE)
    tab.goto(address + PAGE + "#next=0,,1,11,1")
    tab.locator(".next-live summary").first.click()
    tab.locator(".next-live button").click()
    tab.wait_for_selector(".next-own .next-bars li")
    yield tab
    context.close()


def read(tab: Any, text: str) -> list[str]:
    tab.locator(".next-own textarea").fill(text)
    tab.evaluate("document.querySelector('.next-own [role=status]').textContent = ''")
    tab.get_by_text(words("en")["read"], exact=True).click()
    wait_until_read(tab)
    return [str(one) for one in tab.locator(".next-read button").all_text_contents()]


def wait_until_read(tab: Any) -> None:
    tab.wait_for_function(
        "/^Read in|^Write a/.test(document.querySelector('.next-own [role=status]').textContent)"
    )


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
        ("مرحبا بالعالم", 5, 30),
        ("\N{ZERO WIDTH SPACE}\N{ZERO WIDTH JOINER}", 2, 10),
        ('<img src=x onerror="window.hurt = 1"><script>window.hurt = 1</script>', 10, 50),
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
    wait_until_read(loaded)
    assert least <= loaded.locator(".next-read button").count() <= most
    assert loaded.locator(".next-own :is(b:has-text('x'), img, script)").count() == 0
    assert not loaded.evaluate("window.hurt")
    if most == MAX_TOKENS:
        said = words("en")["cut"].format(MAX_TOKENS)
        assert loaded.locator(".next-own").get_by_text(said).count() == 1


@needs_model
def test_there_is_one_machine(loaded: Any) -> None:
    """What was measured is put away; a beginning from the list is read, and may be chosen again."""
    panel = loaded.locator(".next-token")
    assert panel.get_by_text(words("en")["here"], exact=True).is_visible()
    assert panel.locator(".next-bars:visible, .next-sliders:visible").count() == 2
    assert panel.locator("summary:visible", has_text=words("en")["layers"]).count() == 1
    choice = panel.locator(".next-choose select")
    for number in (3, 5, 3):
        one = KEPT["beginnings"][number]
        choice.select_option(str(number))
        wait_until_read(loaded)
        assert (box(loaded), choice.input_value()) == (one["text"], str(number))
        assert loaded.evaluate(SHARES, ".next-own") == pytest.approx(shares_of(one), abs=0.12)
        read(loaded, "Hello.")
        assert choice.input_value() == ""


DRAWN = """(text) => document.querySelector(".machine [data-part=text] .size").textContent === text
  && document.querySelectorAll(".machine .row").length > 0"""
STARTS = "(text) => document.querySelector('.machine .state').textContent.startsWith(text)"


@needs_model
def test_the_drawing_shows_what_the_model_reads(loaded: Any, parameters: Any) -> None:
    """Tokens, the likeliest next one, and weights of its heads, by torch; a token later, too."""
    drawing = loaded.locator(".instrument.machine")
    drawing.scroll_into_view_if_needed()
    loaded.wait_for_function("document.querySelector('.instrument.machine').instrument")
    read(loaded, "The dog 🐶 sat on the")
    for _ in range(2):
        text = box(loaded)
        loaded.wait_for_function(DRAWN, arg=text)
        ids = [0, *encode_text(text, load_smollm2(FILE))]
        logits, weights = run_in_torch(torch.tensor(ids), parameters)
        size = drawing.locator('.stage:visible [data-part="next"] .size').text_content()
        likeliest = float(size.split()[-1])
        assert likeliest == pytest.approx(logits[-1].softmax(-1).max().item(), abs=0.0011)
        numbers = drawing.locator('.stage:visible [data-part="tokens"] .number').all_text_contents()
        assert [int(one) for one in numbers] == ids
        for layer, head in KEPT["heads"]:
            loaded.evaluate("(hash) => { location.hash = hash }", f"#machine-heads.{head}")
            said = f"Head {head} of layer {layer} on “{text}” is open: "
            loaded.wait_for_function(STARTS, arg=said)
            shown = [float(share) for _, share in loaded.evaluate(SHOWN)]
            assert shown == pytest.approx(weights[layer, head][-1].tolist(), abs=0.0011)
        loaded.locator(".next-own .next-bars button").first.click()
        count = len(ids) + 1
        loaded.wait_for_function(
            "(count) => document.querySelectorAll('.next-read button').length === count", arg=count
        )


@needs_model
def test_the_drawing_of_a_long_text(loaded: Any) -> None:
    """As many tokens as are read; what is said of it names only the end of the text."""
    loaded.locator(".instrument.machine").scroll_into_view_if_needed()
    loaded.wait_for_function("document.querySelector('.instrument.machine').instrument")
    read(loaded, "word " * 2000)
    rows = "document.querySelector('.machine .stage').querySelectorAll('.row')"
    loaded.wait_for_function(f"{rows}.length === {MAX_TOKENS}")
    layer, head = KEPT["heads"][0]
    loaded.evaluate("(hash) => { location.hash = hash }", f"#machine-heads.{head}")
    loaded.wait_for_function(STARTS, arg=f"Head {head} of layer {layer} on “…")
    assert len(loaded.locator(".machine .state").text_content()) < 200


TOLD = ".next-own > .next-note"


@needs_model
def test_reading_stops(loaded: Any) -> None:
    """What was read until then stays, and is said; after writing nothing is said to be left out."""
    read(loaded, "Hello.")
    text = "word " * 2000
    loaded.locator(".next-own textarea").fill(text)
    loaded.get_by_text(words("en")["read"], exact=True).click()
    start, end = words("en")["readSome"].split("{}")
    status = ".next-own > [role=status]"
    loaded.wait_for_selector(f"{status}:has-text('{start}'):has-text('{end}')")
    loaded.get_by_text(words("en")["stop"], exact=True).click()
    loaded.wait_for_function(
        "() => document.querySelectorAll('.next-read button').length > 3", timeout=60_000
    )
    count = loaded.locator(".next-read button").count()
    assert 16 <= count < MAX_TOKENS
    assert count % 16 == 0
    assert box(loaded) == text
    said = words("en")["cut"].format(count)
    assert said in loaded.locator(TOLD).all_text_contents()
    loaded.wait_for_timeout(1500)
    assert loaded.locator(".next-read button").count() == count
    assert loaded.get_by_text(words("en")["stop"], exact=True).is_hidden()
    loaded.get_by_text(words("en")["writeOne"], exact=True).click()
    loaded.wait_for_function(
        "(n) => document.querySelectorAll('.next-read button').length > n", arg=count
    )
    told = loaded.locator(TOLD).all_text_contents()
    assert words("en")["surprise"] in told
    assert not [one for one in told if words("en")["cut"].split("{}")[1] in one]


@needs_model
def test_typed_marks_of_a_chat_are_explained(loaded: Any) -> None:
    """They are plain characters; a sentence says so, with the chapter in which they are marks."""
    tokens = read(loaded, "<|im_start|>user\nWhich animal is the tallest?<|im_end|>")
    assert "<|im_start|>" not in tokens
    before, after = words("en")["marks"].split("{}")
    hint = loaded.locator(TOLD, has_text=before)
    assert hint.text_content().strip() == before + words("en")["chat"] + after
    assert hint.locator("a").get_attribute("href").endswith("/assistant/")
    read(loaded, "a < b | c > d")
    assert loaded.locator(TOLD, has_text=before).count() == 0


@needs_model
def test_nothing_to_read(loaded: Any) -> None:
    before = read(loaded, "Hello.")
    assert read(loaded, " \u3000 ") == before
    assert loaded.locator(".next-own [role=status]").text_content() == words("en")["empty"]


@needs_model
def test_characters_of_several_tokens_stay_whole(loaded: Any) -> None:
    """A Chinese character takes up to three tokens; the text and the address have it as it was."""
    text = "他锁了锁，🙂"
    tokens = read(loaded, text)
    count = len(tokens)
    assert any("⟨" in token for token in tokens)
    loaded.get_by_text(words("en")["writeOne"], exact=True).click()
    loaded.wait_for_function(
        "(n) => document.querySelectorAll('.next-read button').length > n", arg=count
    )
    assert loaded.locator(".next-own textarea").input_value().startswith(text)
    loaded.wait_for_function(
        "(part) => location.hash.includes(part)", arg=f"&text={quote_plus(text)}"
    )


def box(tab: Any) -> str:
    return str(tab.locator(".next-own textarea").input_value())


@needs_model
@pytest.mark.parametrize("press", ["writeOne", "writeMany", "compare"])
def test_what_is_typed_is_read_first(press: str, loaded: Any) -> None:
    """Whatever is pressed, the text in the box is the one that is meant; the old bars are out."""
    read(loaded, "The moon is")
    typed = "Blue cheese goes well with"
    loaded.locator(".next-own textarea").fill(typed)
    bars = loaded.locator(".next-own .next-bars")
    assert bars.evaluate("(one) => one.inert")
    assert loaded.locator(".next-own [role=status]").text_content() == words("en")["changed"]
    loaded.get_by_text(words("en")[press], exact=True).click()
    if press == "compare":
        loaded.wait_for_selector(".next-compared table")
        assert box(loaded) == typed
    else:
        loaded.wait_for_function(
            "(n) => document.querySelector('.next-own textarea').value.length > n", arg=len(typed)
        )
        assert box(loaded).startswith(typed)
    assert not bars.evaluate("(one) => one.inert")
    if press == "writeMany":  # what is typed while it writes is kept, and ends the writing
        loaded.locator(".next-own textarea").fill("Once more")
        after = box(loaded)  # a token may come between the driver's selection and its typing
        assert after.endswith("Once more")
        loaded.wait_for_timeout(3000)
        assert box(loaded) == after
        assert bars.evaluate("(one) => one.inert")
    loaded.wait_for_function("(part) => location.hash.includes(part)", arg=quote_plus(typed))


@needs_model
def test_nothing_is_written_on_an_empty_box(loaded: Any) -> None:
    before = read(loaded, "Hello.")
    loaded.locator(".next-own textarea").fill("")
    loaded.get_by_text(words("en")["writeOne"], exact=True).click()
    assert loaded.locator(".next-own [role=status]").text_content() == words("en")["empty"]
    loaded.wait_for_timeout(1500)
    assert loaded.locator(".next-read button").all_text_contents() == before
    assert box(loaded) == ""


@needs_model
def test_half_a_character_stays_out_of_the_box(loaded: Any) -> None:
    """After 🍕🍕 the likeliest are the bytes of a third, four in three tokens or two."""
    text = "I love pizza 🍕🍕"
    count = len(read(loaded, text))
    loaded.locator(".next-own .next-bars button").first.click()
    loaded.wait_for_function(
        "(n) => document.querySelectorAll('.next-read button').length === n", arg=count + 1
    )
    assert loaded.locator(".next-read button").last.text_content() == "⟨F0 9F⟩"
    assert box(loaded) == text
    said = words("en")["unfinished"].format("F0 9F")
    assert loaded.locator(".next-own").get_by_text(said).count() == 1
    loaded.wait_for_timeout(500)
    assert "%EF%BF%BD" not in loaded.evaluate("location.hash")
    for n in (2, 3):
        loaded.locator(".next-own .next-bars button").first.click()
        loaded.wait_for_function(
            "(n) => document.querySelectorAll('.next-read button').length === n", arg=count + n
        )
    assert box(loaded) == text + "🍕"


@needs_model
def test_the_box_shows_what_is_written(loaded: Any) -> None:
    """It scrolls to its end, unless the reader has scrolled up."""
    read(loaded, "A line of a long list.\n" * 14)
    measure = """() => {
      const box = document.querySelector(".next-own textarea");
      return [box.scrollTop, box.scrollHeight - box.clientHeight];
    }"""
    for _ in range(2):
        loaded.get_by_text(words("en")["writeOne"], exact=True).click()
        loaded.wait_for_selector(".next-own [role=status]:has-text('per second')")
        top, most = loaded.evaluate(measure)
        assert top == pytest.approx(most, abs=2)
        assert most > 50
        loaded.evaluate("document.querySelector('.next-own textarea').scrollTop = 0")
        loaded.evaluate("document.querySelector('.next-own [role=status]').textContent = ''")
    loaded.locator(".next-own .next-bars button").first.click()
    loaded.wait_for_timeout(3000)
    assert loaded.evaluate(measure)[0] == 0


@needs_model
def test_a_row_of_the_map_is_chosen(loaded: Any) -> None:
    count = len(read(loaded, "The cat sat on the"))
    loaded.wait_for_function("(n) => document.querySelector('.next-map').width === n", arg=count)
    area = loaded.locator(".next-map").bounding_box()
    at = {"x": 5, "y": area["height"] * 2.5 / count}
    loaded.locator(".next-map").click(position=at)
    assert loaded.locator(".next-read .chosen").text_content() == "␣cat"
    loaded.wait_for_selector(".next-looks-at:has-text('“␣cat”')")


@each_language
def test_how_much_is_read_is_said_before(lang: str) -> None:
    assert str(MAX_TOKENS) in words(lang)["own"]


@needs_model
def test_it_writes_and_stops(loaded: Any) -> None:
    """Without the cache too; how long that takes is drawn and said."""
    for cached in (True, False):
        before = len(read(loaded, "Once upon a time"))
        loaded.locator(".next-own [type=checkbox]").set_checked(cached)
        loaded.get_by_text(words("en")["writeMany"], exact=True).click()
        loaded.wait_for_function(
            "(n) => document.querySelectorAll('.next-read button').length >= n", arg=before + 2
        )
        loaded.get_by_text(words("en")["stop"], exact=True).click()
        loaded.wait_for_timeout(3000)
        count = loaded.locator(".next-read button").count()
        assert before + 2 <= count < before + 20
        loaded.wait_for_timeout(1500)
        assert loaded.locator(".next-read button").count() == count
        kind = "cached" if cached else "whole"
        pattern = re.escape(words("en")["times"][kind])
        pattern = re.sub(r"\\{(first|last)\\}", r"\\d+\\.\\d\\d", pattern)
        pattern = pattern.replace(r"\{before\}", str(before)).replace(r"\{after\}", str(count - 1))
        assert re.search(pattern, str(loaded.locator(".next-own").text_content()))
        drawn = loaded.evaluate(
            "(kind) => [...document.querySelectorAll(`.next-times .${kind}`)]"
            ".filter((one) => one.offsetHeight > 0).length",
            kind,
        )
        assert drawn == count - before
    loaded.locator(".next-own [type=checkbox]").check()


@needs_model
def test_how_surprising_each_token_was(loaded: Any, parameters: Any) -> None:
    """Of the text, after its bars, and of a token that is written; by torch."""
    read(loaded, "The cat sat on the")
    loaded.locator(".next-own .next-bars button").nth(1).click()
    loaded.wait_for_function(
        "() => [...document.querySelectorAll('.next-read button')].length === 7 && "
        "[...document.querySelectorAll('.next-read button')].slice(1).every("
        "(one) => / bits$/.test(one.title))"
    )
    titles = loaded.locator(".next-read button").evaluate_all("(all) => all.map((a) => a.title)")
    first = torch.tensor([0, 504, 2644, 2643, 335, 260])  # by Hugging Face's tokenizers
    second = run_in_torch(first, parameters)[0][-1].topk(2).indices[1:]
    ids = torch.cat([first, second])
    logits = run_in_torch(ids, parameters)[0]
    losses = torch.nn.functional.cross_entropy(logits[:-1], ids[1:], reduction="none")
    before, after = words("en")["bits"].split("{}")
    shown = [title.partition(before)[2].removesuffix(after) for title in titles]
    assert shown[0] == ""
    wanted = losses / math.log(2)
    assert [float(one) for one in shown[1:]] == pytest.approx(wanted.tolist(), abs=0.07)


@needs_model
def test_nothing_is_wider_than_a_phone(loaded: Any) -> None:
    """The names of what can be taken out are long."""
    before = loaded.viewport_size
    loaded.set_viewport_size({"width": 390, "height": 900})
    loaded.locator(".next-own .next-tools select").last.wait_for()
    assert loaded.evaluate("document.documentElement.scrollWidth") == 390
    loaded.set_viewport_size(before)


COMPARED = """() => [...document.querySelectorAll(".next-compared tr")]
  .map((row) => [...row.children].map((cell) => cell.textContent))"""


@needs_model
@pytest.mark.parametrize("kind", ["zero", "mean", "attention", "feed-forward", "layer"])
def test_a_part_is_taken_out(kind: str, loaded: Any, parameters: Any) -> None:
    """The first and the last of 270 heads, and another of the same layer; by torch."""
    read(loaded, "The cat sat on the")
    found: list[list[str]]
    ids = torch.tensor([0, 504, 2644, 2643, 335, 260])  # by Hugging Face's tokenizers
    for layer, head in ((0, 0), (29, 8)):
        fields = loaded.locator(".next-own .next-tools select")
        for n, value in enumerate((str(layer), str(head), kind)):
            fields.nth(n).select_option(value)
        loaded.evaluate("document.querySelector('.next-compared').replaceChildren()")
        loaded.get_by_text(words("en")["compare"], exact=True).click()
        loaded.wait_for_selector(".next-compared table")
        heading, *found = loaded.evaluate(COMPARED)
        if kind not in ("zero", "mean"):
            parts = ["attention", "feed-forward"] if kind == "layer" else [kind]
            runs: list[Any] = [{"skip": [(layer, one) for one in parts]}]
            named = words("en")["out"][kind].format(layer)
            assert heading[2] == words("en")["without"].format(named)
        else:
            named = words("en")["out"]["head"].format(f"{layer}.{head}")
            assert heading[2] == words("en")["without"].format(named)
            other = int(re.findall(r"\d+\.(\d)", heading[3])[0])
            assert other != head
            runs = [{"cut": take(layer, one, kind)} for one in (head, other)]
        assert len(heading) == 2 + len(runs)
        assert words("en")["plain"] in loaded.locator(".next-compared").text_content()
        columns = [
            run_in_torch(ids, parameters, **options)[0][-1].softmax(-1) for options in ({}, *runs)
        ]
        listed = columns[0].topk(10).indices.tolist()  # then what the changed model says instead
        listed += [i for i in columns[1].topk(5).indices.tolist() if i not in listed]
        for n, probabilities in enumerate(columns):
            for i, row in zip(listed, found, strict=True):
                share = float(row[1 + n].strip("<%"))
                assert share == pytest.approx(100 * probabilities[i].item(), abs=0.12)


def take(layer: int, head: int, kind: str) -> Any:
    """What `run_in_torch` takes out: a head by 0 or by its mean over the reference text."""
    if kind == "zero":
        return [(layer, head)]
    model = load_smollm2(FILE)
    means = mean_outputs(np.array([0, *encode_text(REFERENCE, model)]), model)
    return {(layer, head): torch.tensor(means[layer, head])}


@pytest.fixture(scope="module")
def parameters() -> Any:
    return read_in_torch(FILE.read_bytes())[1]


STATE = """() => [
  ...[".next-read .chosen", ".next-looks-at", ".next-compared", ".next-layers"].map(
    (one) => document.querySelector(`.next-own ${one}`)?.textContent),
  ...[...document.querySelectorAll(".next-own :is(select, textarea, [type=range])")].map(
    (one) => one.value),
  document.querySelector(".next-own [type=checkbox]").checked,
]"""


@needs_model
def test_a_link_brings_everything_back(loaded: Any) -> None:
    """Text, sliders, head, row, what is out with its control, view; and nothing is asked for."""
    asked: list[str] = []
    loaded.on("request", lambda request: asked.append(request.url))
    read(loaded, "The trophy doesn't fit in the suitcase because it is too")
    fields = loaded.locator(".next-own .next-tools select")
    for n, value in enumerate(("12", "4", "mean")):
        fields.nth(n).select_option(value)
    loaded.locator(".next-read button").nth(7).click()
    loaded.get_by_text(words("en")["compare"], exact=True).click()
    loaded.wait_for_selector(".next-compared table")
    loaded.locator(".next-own summary").last.click()
    loaded.wait_for_selector(".next-own .next-layers li")
    loaded.locator(".next-own [type=checkbox]").uncheck()
    loaded.locator(".next-own [type=range]").first.fill("0.5")
    loaded.wait_for_timeout(500)
    state, hash_ = loaded.evaluate(STATE), loaded.evaluate("location.hash")
    assert None not in state
    loaded.evaluate("location.hash = '#next=1,,1,11,1&text=Something+else'")
    loaded.wait_for_function("document.querySelectorAll('.next-read button').length === 3")
    loaded.wait_for_function("!document.querySelector('.next-compared table')")
    loaded.evaluate("(hash) => { location.hash = hash }", hash_)
    loaded.wait_for_selector(".next-compared table")
    loaded.wait_for_selector(".next-own .next-layers li")
    loaded.wait_for_function(f"(state) => String(({STATE})()) === String(state)", arg=state)
    loaded.wait_for_timeout(500)
    assert loaded.evaluate("location.hash") == hash_
    assert asked == []
    loaded.locator(".next-own [type=checkbox]").check()


def test_the_address_of_a_head_opens_the_model(visit: Visit) -> None:
    """With the offer to load it, below the header."""
    tab = visit(PAGE + "#L3.H1")
    button = tab.locator(".next-live .md-button").first
    button.wait_for()
    tab.wait_for_function("location.hash === '#L3.H1' && scrollY > 0")
    tab.wait_for_timeout(500)
    area = button.bounding_box()
    assert 48 <= area["y"] <= 900 - area["height"]


@needs_model
def test_a_head_has_an_address(loaded: Any) -> None:
    """On the text that is there; one that the model lacks changes nothing."""
    text = "The cat sat on the"
    read(loaded, text)
    fields = loaded.locator(".next-own .next-tools select")
    for given, layer, head in (("L3.H1", "3", "1"), ("L29.H8", "29", "8"), ("L30.H9", "29", "8")):
        loaded.evaluate("(hash) => { location.hash = hash }", f"#{given}")
        loaded.wait_for_function("location.hash.startsWith('#next=')")  # with text and settings
        assert [fields.nth(n).input_value() for n in (0, 1)] == [layer, head]
        assert box(loaded) == text
        where = f"head={layer}.{head}&|head={layer}.{head}$"
        loaded.wait_for_function("(one) => RegExp(one).test(location.hash)", arg=where)


@needs_model
def test_kept_and_removed(visit: Visit) -> None:
    """Without a network afterwards, until the reader removes it."""
    tab = open_panel(visit)
    tab.set_default_timeout(10 * PATIENCE)
    tab.locator(".next-live summary").first.click()
    tab.locator(".next-live [type=checkbox]").first.check()
    tab.locator(".next-live button").first.click()
    tab.wait_for_selector(".next-own textarea")
    said = words("en")["keptAll"].format(98)
    tab.locator(".next-live").get_by_text(said).wait_for()
    for path in ("/live/smollm2/files.json", "/live/pyodide.asm.wasm", PAGE + "index.html"):
        tab.evaluate(IS_CACHED, path)
    tab.context.set_offline(True)
    tab.reload()
    tab.wait_for_selector(".next-live button")  # the address has opened the fold
    tab.locator(".next-live").get_by_text(said).wait_for()
    held = words("en")["held"].format(first("en")["text"])
    assert tab.locator(".next-live").get_by_text(held).is_visible()
    tab.locator(".next-live button").first.click()
    tab.wait_for_selector(".next-own .next-bars li")
    assert tab.evaluate(SHARES, ".next-own") == pytest.approx(shares_of(first("en")), abs=0.12)
    field = tab.locator(".next-own textarea").bounding_box()
    assert 48 <= field["y"] <= 900 - field["height"]  # what the link holds is in view
    assert tab.locator(".next-live").get_by_text(held).is_hidden()
    tab.get_by_text(words("en")["remove"], exact=True).click()
    tab.wait_for_function("caches.keys().then((all) => !all.some((one) => /-model/.test(one)))")
    assert tab.locator(".next-live").get_by_text(said).count() == 0
