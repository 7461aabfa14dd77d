"""Panels of chapters in which the real model reads the reader's own text.

What they show is what the package computes, nothing is loaded before the press, and what is missing
is said.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from attention_docs.data import load_neurons
from attention_docs.locales import read_locale
from attention_docs.next_word import Writer, answer
from attention_docs.site.read.failure import Failure
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.model_panel import describe_panel, offer_panel
from attention_docs.smollm2 import load_smollm2
from tests.conftest import LANGUAGES, ROOT, each_language, find_page_folder, parse_html
from tests.test_browser import assert_everyone_can_use, make_path
from tests.test_heads import FILE
from tests.test_live_pages import PATIENCE

Visit = Callable[..., Any]
LIVE = ROOT / "docs" / "assets" / "live"
VIEWS = [
    name for name, text in read_locale("en")["site"]["model"].items() if not isinstance(text, str)
]
needs_model = pytest.mark.needs("runtime", "smollm2")


def words(view: str, lang: str = "en") -> dict[str, Any]:
    return describe_panel(view, read_locale(lang)["site"])


# --- pages and words ------------------------------------------------------------------------------


@each_language
@pytest.mark.parametrize("view", VIEWS)
def test_each_chapter_has_its_panel(view: str, lang: str, site: Any) -> None:
    """Once, with the words of its language and the size; a sentence stands there until a script."""
    folder = find_page_folder(site, lang, view)
    tree = parse_html(folder / "index.html")
    (place,) = tree.find_class("model-panel")
    assert place.text_content() == read_locale(lang)["site"]["model"]["script"]
    file = json.loads(tree.get_element_by_id("__words").text_content())["model"]["file"]
    given = json.loads((folder / file).read_text(encoding="utf-8"))
    assert given["view"] == view
    assert given["megabytes"] > 98
    assert {name: given[name] for name in words(view, lang)} == words(view, lang)


def test_every_word_is_used_and_every_used_word_is_there() -> None:
    """By the scripts of the panels, as `words.name` or as a name in quotes or of a field."""
    names = ("model-panel", "model-offer", "model-parts", "model", "neurons", "../show")
    text = "\n".join((LIVE / f"{one}.js").read_text(encoding="utf-8") for one in names)
    asked = {*re.findall(r"\bwords\.(\w+)", text), *re.findall(r'\bsay\("(\w+)"', text)}
    for lang in LANGUAGES:
        given = {name for view in VIEWS for name in words(view, lang)}
        unused = [name for name in given if not re.search(rf'[."]{name}\b|\b{name}: \[', text)]
        assert sorted(unused) == ["script"]  # which stands in the page itself
        assert asked - given == {"data", "kept", "megabytes", "parts"}, lang  # of the files


def test_what_stands_there_without_the_model() -> None:
    """The sentence that the first panel says, and no place for a script."""
    locale = read_locale("en")
    none: Any = {}
    chapters = Chapters("en", locale, ROOT / "docs", none, none, lambda _: ())
    assert offer_panel("masking", chapters) == locale["site"]["next"]["missing"]
    with pytest.raises(Failure, match=r'model: wanted one of .*, got "masks"'):
        offer_panel("masks", chapters)


# --- before the press, and what goes wrong --------------------------------------------------------


def open_panel(visit: Visit, view: str, lang: str = "en", **options: Any) -> Any:
    tab = visit(make_path(lang, view), **options)
    tab.set_default_timeout(PATIENCE)
    tab.evaluate("document.querySelector('.model-panel').scrollIntoView()")
    tab.wait_for_selector("section[data-view] .md-button")
    return tab


@each_language
def test_nothing_is_loaded_before_the_press(lang: str, visit: Visit) -> None:
    """The size is said, and what is the matter when a part of the model is not to be had."""
    tab = open_panel(visit, "masking", lang)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.wait_for_load_state("networkidle")
    assert not [url for url in asked if "/live/" in url and "/assets/" not in url]
    button = tab.locator("section[data-view] .md-button")
    assert re.search(r"\d+ MB", button.text_content())
    for width in (1280, 390):  # no room is kept for what a press brings
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.locator("section[data-view]").bounding_box()["height"] < 340, width
    tab.route("**/live/smollm2/*.1", lambda route: route.fulfill(status=404))
    button.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("section[data-view] progress")
    start = words("masking", lang)["broken"].split("{")[0]
    tab.wait_for_function(
        "(start) => document.querySelector('section[data-view] [role=status]')"
        ".textContent.startsWith(start)",
        arg=start,
    )
    assert button.is_visible()
    assert_everyone_can_use(tab)


# --- neurons, without the model -------------------------------------------------------------------


def check_neuron(one: Any, shown: Any, given: dict[str, Any]) -> None:
    """What a neuron raises, its five texts, their most active tokens, and the two shares."""
    text = shown.text_content()
    tokens = [name.replace(" ", "␣").replace("\n", "↵") for name in one["raised"]]
    assert given["comma"].join(tokens) in text
    for kept, place in zip(one["strongest"], shown.locator(".next-looks").all(), strict=True):
        chips = place.locator(".next-look")
        assert chips.count() == len(kept["tokens"])
        peak = f"{abs(kept['activity'][kept['at']]):.2f}"  # above 0, whatever its sign in the file
        assert chips.nth(kept["at"]).locator("small").text_content() == peak
        assert place.locator("small").count() == 1
        whole, cut, *_ = (f"{100 * share:.2f}%" for share in kept["next"])
        assert given["after"].split("{whole}")[1].format(cut=cut) in text
        assert whole in text


@each_language
def test_neurons_are_chosen_before_the_press(lang: str, visit: Visit) -> None:
    """All that were measured; the address brings the choice back, and nothing is loaded for it."""
    kept, given = load_neurons()["neurons"], words("transformer-block", lang)
    tab = open_panel(visit, "transformer-block", lang)
    chips = tab.locator(".next-looks").first.locator(".next-look")
    heights = chips.evaluate_all(
        "(all) => all.map((one) => [one.children.length, one.offsetHeight])"
    )
    (plain,), (tall,) = ({high for n, high in heights if n == count} for count in (0, 1))
    assert plain < 0.75 * tall  # only the one with a number is as high
    select = tab.locator(".next-measured select")
    for name in reversed(kept):
        select.select_option(name)
        check_neuron(kept[name], tab.locator(".next-measured .next-shown"), given)
    select.select_option([*kept][2])
    tab.wait_for_timeout(500)
    other = tab.context.new_page()
    other.goto(tab.url)
    chosen = other.locator(".next-measured select")
    chosen.wait_for()
    assert chosen.input_value() == [*kept][2]
    check_neuron(kept[[*kept][2]], other.locator(".next-measured .next-shown"), given)
    assert other.locator("section[data-view] .md-button").is_visible()
    assert_everyone_can_use(tab)


# --- what the model computes ----------------------------------------------------------------------


@cache
def writer() -> Writer:
    return Writer(load_smollm2(FILE))


def ask(do: str, **more: Any) -> Any:
    return json.loads(answer(writer(), json.dumps({"do": do, **more})))


def shares(node: Any) -> list[float]:
    return [100 * math.exp(-nats) for nats in node["nats"]]


def column(tab: Any, n: int) -> list[float]:
    """Column n of the table in percent."""
    cells = tab.locator(f"section[data-view] tbody td:nth-child({n + 2})").all_text_contents()
    return [float(one.strip("<%")) for one in cells]


def check_table(tab: Any, *changes: dict[str, Any]) -> None:
    """The whole model's ten and the five of the first change, by the package in each column."""
    logits = []
    for change in ({}, *changes):
        writer().change(**change)
        logits.append(writer().last.astype(float))
    writer().change()
    ten, five = np.argsort(-logits[0])[:10], np.argsort(-logits[1])[:5]
    listed = [*ten, *(i for i in five if i not in ten)]
    for n, one in enumerate(logits):
        p = np.exp(one - one.max())
        assert column(tab, n) == pytest.approx((100 * p / p.sum())[listed].tolist(), abs=0.2)


def check_masking(tab: Any) -> None:
    """A row of the chosen head, and nothing after the pressed token."""
    text = tab.locator("section[data-view] textarea").input_value()
    count = len(ask("read", text=text)["tokens"])
    row = ask("map", layer=13, head=8)[9]
    tab.locator(".next-read button").nth(9).click()
    shown = tab.locator(".next-looks small").all_text_contents()
    np.testing.assert_allclose([float(one) for one in shown[:10]], row[:10], atol=0.011)
    assert shown[10:] == ["–"] * (count - 10)
    assert row[10:] == [0] * (count - 10)
    stop_reading(tab)


PRESS_WHEN_SAID = """([said, name]) => {
  const place = document.querySelector(".next-own");
  if (!place.querySelector(":scope > [role=status]").textContent.includes(said)) return false;
  [...place.querySelectorAll("button")].find((one) => one.textContent === name).click();
  return true;
}"""
"""In the page itself: what is read in pieces may be read to its end before a test can press."""


def stop_reading(tab: Any) -> None:
    """Nothing changes then, and the next press reads the whole text."""
    before = tab.locator(".next-read button").all_text_contents()
    text = "word " * 60
    tab.locator("section[data-view] textarea").fill(text)
    tab.get_by_text(words("masking")["read"], exact=True).click()
    some = words("masking")["readSome"].split("{}")[1]
    tab.wait_for_function(PRESS_WHEN_SAID, arg=[some, words("masking")["stop"]])
    assert tab.locator(".next-own > [role=status]").text_content() == ""
    tab.wait_for_timeout(2000)
    assert tab.locator(".next-read button").all_text_contents() == before
    tab.locator("section[data-view] select").first.select_option("2")
    count = len(ask("read", text=text)["tokens"])
    tab.wait_for_function(
        "(n) => document.querySelectorAll('.next-looks small').length === n", arg=count
    )


def check_multi_head(tab: Any) -> None:
    """Nine maps, and in each the token that gets most, as the package says."""
    read = ask("read", text=tab.locator("section[data-view] textarea").input_value())
    captions = tab.locator("section[data-view] figcaption").all_text_contents()
    assert len(captions) == 9
    for head, caption in enumerate(captions):
        row = ask("map", layer=13, head=head)[-1]
        best = read["tokens"][int(np.argmax(row))][1].replace(" ", "␣")
        assert caption.startswith(f"13.{head} ")
        assert f" {best} {max(row):.2f}"[:-1] in caption


def check_positions(tab: Any) -> None:
    """A shift by 1,000 changes nothing; without positions the bars are others."""
    text = tab.locator("section[data-view] textarea").input_value()
    ask("read", text=text)
    check_table(tab, {})
    with_step(tab, 0)
    check_table(tab, {"spacing": (1000, 0)})
    assert column(tab, 0) != column(tab, 1)
    said = words("positions")["noNumber"].format(min="−1000000", max="1000000")
    for bad in ("1e300", ""):
        tab.locator("section[data-view] input").nth(1).fill(bad)
        tab.locator("section[data-view] input").nth(1).press("Tab")
        assert tab.locator(".next-own > [role=status]").text_content() == said
    tab.locator("section[data-view] input").nth(1).fill("0")
    tab.locator("section[data-view] input").nth(1).press("Tab")
    tab.wait_for_selector("section[data-view] table")


def with_step(tab: Any, step: int) -> None:
    field = tab.locator("section[data-view] input").nth(1)
    before = tab.locator("section[data-view] table").element_handle()
    field.fill(str(step))
    field.press("Tab")
    tab.wait_for_function("(one) => !one.isConnected", arg=before)
    tab.wait_for_selector("section[data-view] table")


def check_real_models(tab: Any) -> None:
    """The head that is out, and the random one of its layer that the page names."""
    ask("read", text=tab.locator("section[data-view] textarea").input_value())
    control = tab.locator("section[data-view] th").nth(3).text_content()
    layer, other = map(int, re.findall(r"\d+", control))
    assert layer == 18
    assert other != 6
    check_table(tab, {"heads": [(18, 6)]}, {"heads": [(18, other)]})
    given = words("real-models")
    assert tab.locator("section[data-view] th").nth(2).text_content() == given["without"].format(
        given["out"]["head"].format("18.6")
    )
    assert tab.locator("section[data-view]").get_by_text(given["controlNote"]).count() == 1


PRESS_WHEN_WRITTEN = """(name) => {
  if (!document.querySelector(".next-shown .next-line")) return false;
  const isStop = (one) => !one.hidden && one.textContent === name;
  [...document.querySelectorAll(".next-own button")].find(isStop).click();
  return true;
}"""


def check_assistant(tab: Any) -> None:
    """Two lists of ten, of the bare text and of the chat."""
    given = words("assistant")
    text = tab.locator("section[data-view] textarea").input_value()
    tab.get_by_text(given["writeOn"], exact=True).click()
    tab.wait_for_function(PRESS_WHEN_WRITTEN, arg=given["stop"])  # before the answer ends
    stopped = tab.locator(".next-shown .next-line").text_content()
    tab.wait_for_timeout(2000)
    assert tab.locator(".next-shown .next-line").text_content().startswith(stopped)
    ended = given["ended"].format("<|im_end|>")
    for _ in range(9):  # until the answer ends
        tab.get_by_text(given["writeOn"], exact=True).click()
        tab.locator(".next-own").get_by_text(given["stop"], exact=True).wait_for(state="hidden")
        if tab.get_by_text(ended, exact=True).count():
            break
    said = chat = ask("read", text=text, as_chat=True)
    count = 0
    while said["tokens"][-1][1] != "<|im_end|>" or not count:
        said, count = ask("draw", uniform=0.0, top_k=1), count + 1
    answer = said["text"][len(chat["text"]) :].removesuffix("<|im_end|>")
    assert "Paris" in answer
    assert tab.locator(".next-shown .next-line").text_content() == answer
    assert tab.get_by_text(given["answer"].format(count), exact=True).count() == 1
    tab.wait_for_timeout(500)
    assert f"&answer={count}" in tab.evaluate("location.hash")
    found = [
        [float(one.rstrip("%")) for one in bars.locator("b").all_text_contents()]
        for bars in tab.locator("section[data-view] .next-bars").all()
    ]
    for bars, as_chat in zip(found, (False, True), strict=True):
        wanted = shares(ask("read", text=text, as_chat=as_chat)["next"])
        assert bars == pytest.approx(wanted, abs=0.2)


def check_transformer_block(tab: Any) -> None:
    """The activity at each token, what the row raises there, and the cut.

    What was measured is folded, so that the text stands right below the choice.
    """
    choice, field = (
        tab.locator(f"section[data-view] {one}") for one in (".next-measured select", "textarea")
    )
    assert 0 < field.bounding_box()["y"] - choice.bounding_box()["y"] < 250
    chips = tab.locator(".next-own .next-look").evaluate_all(
        "(all) => all.map((one) => [one.offsetHeight, one.children.length])"
    )
    assert len({height for height, _ in chips}) == 1
    ask("read", text=tab.locator("section[data-view] textarea").input_value())
    check_activity(tab)
    assert "␣November, ␣December, ␣October" in tab.locator(".next-own .next-shown").inner_text()
    heading = tab.locator("section[data-view] .next-own th").nth(3).text_content()
    check_table(
        tab,
        {"neurons": [(19, 209)]},
        {"neurons": [tuple(map(int, re.findall(r"\d+", heading)))]},
    )
    read_instead(tab, "She was born in")
    assert max(check_activity(tab)) < 20  # nothing here looks excited
    tab.locator(".next-own .next-read button").nth(2).click()
    given = words("transformer-block")["silent"].split("{activity}")[1]
    assert tab.locator(".next-own .next-shown").get_by_text(given).count() == 1


def check_activity(tab: Any) -> list[float]:
    """The numbers by the package; the colours in percent of the largest in the dictionary."""
    activity = -np.array(ask("neuron", layer=19, neuron=209)["activity"])  # signs of the table
    chips = tab.locator(".next-own .next-looks .next-look")
    shown = chips.locator("small").all_text_contents()
    found = [float(one.replace("−", "-")) for one in shown]
    np.testing.assert_allclose(found, activity, atol=0.02)
    kept = load_neurons()["neurons"]["19.209"]["strongest"]
    most = max(abs(one) for text in kept for one in text["activity"])
    colours = [
        float(one)
        for one in chips.evaluate_all(
            "(all) => all.map((one) => parseFloat(one.style.getPropertyValue('--weight')))"
        )
    ]
    np.testing.assert_allclose(colours, np.minimum(100, 100 * abs(activity) / most), atol=0.5)
    return colours


def read_instead(tab: Any, text: str) -> Any:
    """Another text is read, here and there."""
    before = tab.locator(".next-own .next-shown > *").first.element_handle()
    tab.locator("section[data-view] textarea").fill(text)
    tab.get_by_text(words("masking")["read"], exact=True).click()
    tab.wait_for_function("(one) => !one.isConnected", arg=before)
    tab.wait_for_selector(".next-own .next-shown table")
    return ask("read", text=text)


def check_generation(tab: Any) -> None:
    """Both ways write what the package writes; the page has drawn the times."""
    given = words("generation")
    stop = tab.get_by_text(given["stop"], exact=True)
    assert stop.is_hidden()
    text = "Yesterday a fox crossed the road"
    tab.locator("section[data-view] textarea").fill(text)  # and Read it is not pressed
    tab.get_by_text(given["race"], exact=True).click()
    tab.wait_for_selector(".next-times")
    assert stop.is_visible()
    tab.get_by_text(given["same"], exact=True).wait_for()
    assert stop.is_hidden()
    said = ask("read", text=text)
    tokens = tab.locator(".next-read button").all_text_contents()
    assert tokens == [one.replace(" ", "␣") for _, one, _ in said["tokens"]]
    tab.wait_for_function(
        "(part) => location.hash.includes(part)", arg=f"&{urlencode({'text': text})}&"
    )
    bars, marks = (
        tab.locator(f".next-shown {place}").evaluate_all(COLOUR)
        for place in (".next-times span:first-child i", ".next-mark")
    )
    assert bars == marks  # of the legend
    assert bars[0] != bars[1]
    for _ in range(20):
        said = ask("draw", uniform=0.0, top_k=1)
    written = "".join(token for _, token, _ in said["tokens"])
    assert tab.locator(".next-shown p").first.text_content().endswith(written)
    times = re.findall(r"\d+\.\d\d", tab.locator(".next-shown").inner_text())
    assert len(times) >= 2


COLOUR = "(all) => all.map((one) => getComputedStyle(one).backgroundColor)"
CHECKS = {
    "masking": check_masking,
    "multi-head": check_multi_head,
    "positions": check_positions,
    "real-models": check_real_models,
    "generation": check_generation,
    "assistant": check_assistant,
    "transformer-block": check_transformer_block,
}
READY = {"generation": ".next-read button"}  # the others show something without a further press

OTHERS = {"positions": ["500", "0.5"], "transformer-block": ["300"]}  # for fields with a number
STATE = """() => {
  const all = (selector) => [...document.querySelectorAll(`section[data-view] ${selector}`)];
  const shown = all(".next-shown").map((one) => one.innerText).join();
  const isRace = all(".next-times").length > 0; // it takes another time
  return [
    ...all(":is(textarea, select, input)").map((one) => one.value),
    all(".next-read button").findIndex((one) => one.classList.contains("chosen")),
    isRace ? shown.replace(/\\d+\\.\\d\\d/g, "") : shown,
  ];
}"""


IS_QUIET = "document.querySelector('.next-own > [role=status]').textContent === ''"
TEXT = "He paid 4 dollars & left;\nhe said <b>今天</b> 🙂 50% \N{ZERO WIDTH SPACE} مرحبا."


def choose_everything(tab: Any, view: str) -> None:
    """Another text, another choice for each field, and a head taken out where there is a button."""
    panel = tab.locator("section[data-view]")
    own = panel.locator(".next-own")
    own.locator("textarea").fill(TEXT)
    own.get_by_text(words(view)["read"], exact=True).click()
    tab.wait_for_function(IS_QUIET)
    for select in own.locator("select").all():
        select.select_option("4")
    for field, value in zip(own.locator("input").all(), OTHERS.get(view, ()), strict=True):
        field.fill(value)
        field.press("Tab")
    if "takeOut" in words(view):
        own.get_by_text(words(view)["takeOut"], exact=True).click()
        tab.wait_for_timeout(100)
    tab.wait_for_function(IS_QUIET)
    assert own.locator(":is(b:has-text('今天'), img)").count() == 0


def check_address(tab: Any, view: str) -> None:
    """It brings text, fields, token, and what was drawn at random back; nothing is asked for."""
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    if view not in ("generation", "assistant"):  # what these have written is on the page already
        choose_everything(tab, view)
    tab.locator(".next-read button").nth(3).click()
    tab.wait_for_timeout(500)  # addresses are written a few times a second
    state, address = tab.evaluate(STATE), tab.evaluate("location.hash")
    assert address.startswith(f"#model={view}&text=")
    tab.evaluate(f"location.hash = '#model={view}&text=Something+else&row=99&layer=x&out=7&step='")
    tab.wait_for_function("document.querySelectorAll('.next-read button').length === 3")
    tab.wait_for_function(IS_QUIET)
    assert tab.evaluate(STATE) != state
    tab.evaluate("(hash) => { location.hash = hash }", address)
    tab.wait_for_function(f"(state) => String(({STATE})()) === String(state)", arg=state)
    tab.wait_for_timeout(500)
    assert tab.evaluate("location.hash") == address
    # An instrument of the page that comes into sight may be fetched, and nothing else.
    assert not [url for url in asked if "/assets/instruments/" not in url]


@needs_model
@pytest.mark.parametrize("view", VIEWS)
def test_a_panel_shows_what_the_package_computes(view: str, visit: Visit) -> None:
    """In a browser, against the package; the tests of its chapter compare that with PyTorch.

    A link brings back what is shown.
    """
    tab = open_panel(visit, view)
    tab.set_default_timeout(10 * PATIENCE)
    tab.locator("section[data-view] .md-button").click()
    tab.wait_for_selector(f".next-own {READY.get(view, '.next-shown > *')}")
    CHECKS[view](tab)
    check_address(tab, view)
    tab.locator("section[data-view] textarea").fill(" ")
    tab.get_by_text(words(view)["read"], exact=True).click()
    assert tab.locator(".next-own [role=status]").text_content() == words(view)["empty"]
    assert_everyone_can_use(tab)


@needs_model
def test_a_link_waits_for_the_press(visit: Visit) -> None:
    """It leads to the panel, loads nothing, and is followed once the model is here."""
    given = {"text": "The cats sleep.", "layer": "0", "headNumber": "4", "row": "2"}
    tab = visit(f"{make_path('en', 'masking')}#{urlencode({'model': 'masking', **given})}")
    tab.set_default_timeout(10 * PATIENCE)
    button = tab.locator("section[data-view] .md-button")
    button.wait_for()
    tab.wait_for_timeout(1000)
    asked = tab.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert not [url for url in asked if "/live/" in url and url.endswith((".zip", ".0"))]
    held = tab.get_by_text(words("masking")["held"].format(given["text"]), exact=True)
    for one in (held, button):
        box = one.bounding_box()
        assert 48 <= box["y"] <= 900 - box["height"]  # not behind the header
    button.click()
    tab.wait_for_selector(".next-shown canvas")
    box = tab.locator("section[data-view] textarea").bounding_box()
    assert 48 <= box["y"] <= 900 - box["height"]
    assert held.is_hidden()
    row = (ask("read", text=given["text"]), ask("map", layer=0, head=4)[2])[1]
    shown = tab.locator(".next-looks small").all_text_contents()
    np.testing.assert_allclose([float(one) for one in shown[:3]], row[:3], atol=0.011)
    assert tab.locator("section[data-view] textarea").input_value() == given["text"]
