"""Steppers and sliders: what they hold, and their use in a browser."""

import itertools
import json
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from attention_docs.figures import Frame, heatmap, slider, stepper
from attention_docs.figures.figure import Language
from attention_docs.locales import read_locale
from tests.conftest import LANGUAGES

PAGE = "real-models"
STEPPER = "#out-follow .stepper"
SLIDER = ".stepper:has([type=range])"
SITE_PLACES = [f"{i} {step}" for i in (1, 2) for step in range(1, 9)]

each_language = pytest.mark.parametrize("lang", LANGUAGES)


def example_stepper(roles=()):
    """A stepper with two inputs and three steps."""
    shown = [
        Frame((str(i), str(k)), f"input {i}, step {k}", (heatmap([[i * k]], spec="d"),), "a")
        for i, k in itertools.product((1, 2), (1, 2, 3))
    ]
    controls = [("Input", ["1", "2"]), ("Step", ["input", "scores", "weights"])]
    return stepper("steps", controls, shown, roles)


STAGES = [["input"], ["score"], ["key", "query", "value"]]
STEPS = example_stepper(STAGES)
PLACES = ["1 1", "1 2", "1 3", "2 1", "2 2", "2 3"]


def frames(figure, lang):
    """Every frame by its place."""
    soup = BeautifulSoup(figure.svg(lang), "lxml")
    return {one["data-at"]: one for one in soup.select(".frame")}


def test_each_setting_has_a_frame():
    found = frames(STEPS, "en")
    assert list(found) == PLACES
    assert [place for place in found if "shown" in found[place]["class"]] == ["1 1"]
    said = [found[place].svg["aria-label"] for place in PLACES]
    assert [re.findall(r": (\d)", one) for one in said] == [[n] for n in "123246"]
    assert all(one in STEPS.alt("en") for one in said)


def example_slider():
    shown = [
        Frame((f"{i}",), f"d_k = {d}", (heatmap([[d]], spec="d"),), "a < b & c", f'largest "{d}"')
        for i, d in enumerate((4, 8, 16))
    ]
    return shown, slider("d_k", shown, start=1)


@each_language
@pytest.mark.parametrize("kind", ["steps", "slider"])
def test_markup_holds_no_ids_and_no_scripts_and_every_control_has_a_label(kind, lang):
    """That it is well nested tests/test_html.py sees on the pages."""
    figure = {"steps": STEPS, "slider": example_slider()[1]}[kind]
    soup = BeautifulSoup(figure.svg(lang), "lxml")
    assert not soup.find_all(id=True)
    assert not soup.find_all("script")
    assert soup.select_one(".stepper-bar").has_attr("hidden")
    for control in soup.select("input"):
        assert control.find_parent("label").get_text(strip=True)


def test_controls_lead_to_every_frame():
    soup = BeautifulSoup(STEPS.svg("en"), "lxml")
    groups = {}
    for radio in soup.select("input[type=radio]"):
        groups.setdefault(radio["name"], []).append(radio)
    assert [len(group) for group in groups.values()] == [2, 3]
    values = [[one["value"] for one in group] for group in groups.values()]
    assert [" ".join(pair) for pair in itertools.product(*values)] == PLACES
    for group in groups.values():
        assert [one.has_attr("checked") for one in group] == [True] + [False] * (len(group) - 1)
    names = [one.find_parent("label").get_text() for one in soup.select("input")]
    assert names[:3] == ["1", "2", "1 · input"]
    assert soup.select_one(".stepper-buttons .stepper-now").get_text() == "1 · input"
    assert [one.get_text() for one in soup.select("legend")] == ["Input", "Step"]


def test_a_stage_has_the_colours_of_what_it_makes():
    soup = BeautifulSoup(STEPS.svg("en"), "lxml")
    inputs, steps = soup.select("fieldset")
    assert steps["class"] == ["pipeline"]
    assert not inputs.select(".inks")
    inks = [
        [re.search(r"--role-([\w-]+)", ink["style"])[1] for ink in label.select(".inks i")]
        for label in steps.select("label")
    ]
    assert inks == STAGES


def ticks(labels):
    frames = [
        Frame((str(i),), label, (heatmap([[i]], spec="d"),), "a") for i, label in enumerate(labels)
    ]
    found = BeautifulSoup(slider("x", frames).svg("en"), "lxml").select(".stepper-ticks span")
    return [(one["style"], one.get_text()) for one in found]


def test_a_slider_has_a_tick_at_each_value():
    assert ticks(["d_k = 4", "d_k = 16", "d_k = 1024"]) == [
        ("--at:0", "4"),
        ("--at:0.5", "16"),
        ("--at:1", "1024"),
    ]
    # A short label stands for itself, a long one is numbered; many leave room between each other.
    assert [text for _, text in ticks(["0°", "45°"])] == ["0°", "45°"]
    assert [text for _, text in ticks(["all of the first", "x = 1"])] == ["1", "2"]
    written = [i for i, (_, text) in enumerate(ticks([f"x = {i}" for i in range(41)])) if text]
    assert written == list(range(0, 41, 4))


def test_ticks_are_the_numbers_of_long_labels():
    """ "layer 18" has no room: a tick "6" there would say another layer."""
    shown = [text for _, text in ticks(["layer 3", "layer 18", "layer 30"])]
    assert shown == ["3", "18", "30"]
    shown = [text for _, text in ticks(["3 of 10 layers", "after 5 of them"])]
    assert shown == ["1", "2"]


def test_the_setting_that_answers_a_guess_is_one_of_them():
    shown, _ = example_slider()
    assert 'data-answer="2"' in slider("d_k", shown, answer="2").svg("en")
    assert "data-answer" not in slider("d_k", shown).svg("en")
    with pytest.raises(ValueError, match=r"answer must be one of \['0', '1', '2'\], got '3'"):
        slider("d_k", shown, answer="3")


def test_slider_says_where_it_stands():
    shown, figure = example_slider()
    german = {f'largest "{d}"': f"größte „{d}“" for d in (4, 8, 16)}
    for lang in (Language("en"), Language("de", german, read_locale("en"))):
        said = [lang.translate_label(one.says) for one in shown]
        assert said[1] == {"en": 'largest "8"', "de": "größte „8“"}[lang.name]
        soup = BeautifulSoup(figure.svg(lang), "lxml")
        control = soup.select_one("input[type=range]")
        assert (control["min"], control["max"], control["value"]) == ("0", "2", "1")
        assert control["aria-valuetext"] == said[1]
        assert [one["data-says"] for one in soup.select(".frame")] == said
        assert [one["data-at"] for one in soup.select(".frame.shown")] == ["1"]
        assert "<i>d</i><sub><i>k</i></sub> = 8" in figure.svg(lang)
    assert "a &lt; b &amp; c" in figure.svg("en")


def test_errors_say_wanted_and_got():
    shown, _ = example_slider()
    with pytest.raises(ValueError, match=r"frames must be at \[\('0',\)\], got \[\('2',\)\]"):
        slider("d_k", shown[2:])
    with pytest.raises(ValueError, match="start must be one of 3 frames, got 3"):
        slider("d_k", shown, start=3)
    with pytest.raises(ValueError, match=r"frames must be at \[\('1',\), \('2',\)\], got"):
        stepper("a", [("key", ["b", "c"])], shown)
    with pytest.raises(TypeError, match="a label must be a string, got 0"):
        Frame(("0",), 0, shown[0].drawings, "")
    with pytest.raises(TypeError, match="a label must be a string, got 4"):
        stepper("a", [("key", [4])], shown)
    both = [("key", ["b"])], [Frame(("1",), "a", shown[0].drawings, "")]
    with pytest.raises(ValueError, match="roles must be of 1 choices, got 2"):
        stepper("a", *both, roles=[["key"], ["query"]])
    with pytest.raises(ValueError, match=r"role must be one of input, .*, got 'b'"):
        stepper("a", *both, roles=[["b"]])


def test_a_choice_that_is_a_number_stands_on_its_button():
    drawings = example_slider()[0][0].drawings
    shown = [Frame((str(i),), "a", drawings, "") for i in (1, 2, 3)]
    figure = stepper("a", [("n", ["0.5", "1,024", "key"])], shown)
    soup = BeautifulSoup(figure.render(Language("en")), "lxml")
    buttons = [one.get_text() for one in soup.select("label")]
    assert buttons == ["0.5", "1,024", "3 · key"]


# On the site.


@each_language
def test_the_page_holds_the_stepper(soup, lang):
    whole = soup(lang, PAGE)
    (box,) = whole.article.select(STEPPER)
    assert box.find_parent(id="out-follow")
    places = [one["data-at"] for one in box.select(".frame")]
    assert places == SITE_PLACES
    ids = [one["id"] for one in whole.find_all(id=True)]
    assert len(ids) == len(set(ids))
    (script,) = whole.select('script[src$="assets/stepper.js"]')
    assert script.has_attr("defer")


def test_search_does_not_hold_every_number_of_every_frame(site):
    for folder in (site, site / "zh"):  # each language has its own index
        path = folder / "search" / "search_index.json"
        index = json.loads(path.read_text(encoding="utf-8"))
        sections = {one["location"]: one["text"].replace("\u200b", "") for one in index["docs"]}
        film, widths = sections["eight-steps/#stepper"], sections["scaling/"]
        assert len(film) > 50
        assert not re.search("0.0243|20.0855", film)
        assert not re.search("占样本的比例|share of the samples", widths)
        assert re.search("ordered for each query|再取平均", widths)


# In a browser.


def list_visible_frames(tab, box=STEPPER):
    """The places of the frames that show."""
    return tab.locator(f"{box} .frame").evaluate_all(
        "all => all.filter(one => one.checkVisibility({visibilityProperty: true}))"
        ".map(one => one.dataset.at)"
    )


def status(tab):
    return tab.locator(f"{STEPPER} [role=status]").text_content()


def test_buttons_go_through_all_steps_of_all_inputs(visit):
    tab = visit(f"/{PAGE}/")
    assert list_visible_frames(tab) == ["1 1"]
    box = tab.locator(STEPPER)
    back, on = (box.get_by_role("button", name=name) for name in ("‹ Back", "Next ›"))
    labels = box.locator(".frame strong").all_text_contents()
    for place, label in zip(SITE_PLACES[1:], labels[1:], strict=True):
        on.click()
        assert list_visible_frames(tab) == [place]
        i, step = place.split()
        assert status(tab) == label
        chosen = box.locator(f'label:has([name="follow-2"][value="{step}"])')
        assert box.locator(".stepper-now").text_content() == chosen.text_content()
        assert tab.locator(f'input[name="follow-2"][value="{step}"]').is_checked()
        assert tab.locator(f'input[name="follow-1"][value="{i}"]').is_checked()
        assert back.get_attribute("aria-disabled") == "false"
    assert on.get_attribute("aria-disabled") == "true"
    on.click(force=True)  # playwright itself waits for aria-disabled to end
    assert list_visible_frames(tab) == ["2 8"]
    back.click()
    assert list_visible_frames(tab) == ["2 7"]


def test_keys_alone_are_enough(visit):
    tab = visit(f"/zh/{PAGE}/")
    tab.locator('input[name="follow-1"][value="1"]').focus()
    tab.keyboard.press("ArrowRight")
    assert list_visible_frames(tab) == ["2 1"]
    assert status(tab) == ""  # a radio button speaks for itself
    tab.keyboard.press("Tab")
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    assert list_visible_frames(tab) == ["2 4"]
    tab.keyboard.press("Tab")
    tab.keyboard.press("ArrowLeft")  # on the button "back"
    assert list_visible_frames(tab) == ["2 3"]
    tab.keyboard.press("Tab")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Space")
    assert list_visible_frames(tab) == ["2 6"]
    assert status(tab) == tab.locator(f"{STEPPER} .frame.shown strong").text_content()
    assert tab.evaluate("document.activeElement.textContent") == "下一步 ›"
    tab.keyboard.press("Alt+ArrowDown")
    assert list_visible_frames(tab) == ["2 6"]


def test_without_javascript_everything_shows(visit):
    tab = visit(f"/zh/{PAGE}/", java_script_enabled=False)
    bar = tab.locator(f"{STEPPER} .stepper-bar")
    assert tab.locator(f"{STEPPER} .frame >> visible=true").count() == 16
    assert not bar.is_visible()
    boxes = [one.bounding_box() for one in tab.locator(f"{STEPPER} .frame").all()]
    assert all(a["y"] + a["height"] <= b["y"] for a, b in itertools.pairwise(boxes))
    tab.goto(tab.url.replace(PAGE, "scaling"))
    assert tab.locator(f"{SLIDER} .frame >> visible=true").count() == 9
    assert not tab.locator(f"{SLIDER} .stepper-bar").is_visible()


def test_the_chosen_step_is_seen_where_the_system_has_its_own_colours(visit):
    tab = visit(f"/{PAGE}/", forced_colors="active")
    colours = tab.locator(f"{STEPPER} fieldset:not(.pipeline) input").evaluate_all(
        "all => all.map((one) => [one.checked,"
        " getComputedStyle(one.nextElementSibling).backgroundColor])"
    )
    chosen = {colour for is_checked, colour in colours if is_checked}
    assert len(chosen) == 1
    assert not chosen & {colour for is_checked, colour in colours if not is_checked}


def test_on_paper_everything_shows(visit):
    tab = visit(f"/{PAGE}/")
    tab.emulate_media(media="print")
    assert list_visible_frames(tab) == [one for one in SITE_PLACES if one.startswith("1 ")]
    assert not tab.locator(f"{STEPPER} .stepper-bar").is_visible()


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_reduced_motion_is_respected(visit, motion):
    tab = visit(f"/{PAGE}/", reduced_motion=motion)
    tab.evaluate(NOTE_FADING, STEPPER)
    tab.locator('input[name="follow-2"][value="4"]').check()
    assert list_visible_frames(tab) == ["1 4"]
    assert tab.evaluate("faded") == (motion != "reduce")


NOTE_MOVES = """() => {
  window.moves = [];
  const { animate } = Element.prototype;
  Element.prototype.animate = function (frames, ...rest) {
    window.moves.push([this.localName, this.getAttribute("d"), frames.d ?? []]);
    return animate.call(this, frames, ...rest);
  };
}"""


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_what_two_frames_have_alike_moves_from_one_to_the_other(visit, motion):
    """Bars grow: two charts that fade into each other would lie on each other."""
    tab = visit("/softmax/", reduced_motion=motion)
    tab.evaluate(NOTE_MOVES)
    shown = tab.locator("#out-control .frame.shown path[fill^='var(--role-weight-fill']")
    before = shown.get_attribute("d")
    tab.locator("#out-control label").filter(has_text="1,024").locator("input").check()
    after = shown.get_attribute("d")
    assert before != after
    moves = [one[1:] for one in tab.evaluate("window.moves") if one[0] == "path"]
    wanted = [after, [f'path("{before}")', f'path("{after}")']]
    assert (wanted in moves) == (motion != "reduce")
    assert not tab.locator("#out-control .fading").count()


# It lasts a quarter of a second: a busy machine may look later.
NOTE_FADING = """(box) => {
  window.faded = false;
  const note = (all) => all.forEach(({ addedNodes }) => addedNodes.forEach((one) => {
    window.faded ||= one.matches?.(".fading") ?? false;
  }));
  const options = { childList: true, subtree: true };
  new MutationObserver(note).observe(document.querySelector(box), options);
}"""


@pytest.mark.parametrize(
    ("path", "width"),
    [(f"/{PAGE}/", 1280), (f"/zh/{PAGE}/", 390), ("/scaling/", 390), ("/zh/scaling/", 1280)],
)
def test_nothing_shifts_and_nothing_sticks_out(visit, path, width):
    tab = visit(path, color_scheme="dark" if width == 390 else "light")
    tab.set_viewport_size({"width": width, "height": 900})
    box = SLIDER if "scaling" in path else STEPPER
    frames_box = tab.locator(f"{box} .stepper-frames")
    controls = tab.locator(f"{box} .stepper-bar :is(input, button)")
    before = frames_box.bounding_box()
    for value in ("2", "3", "6"):
        if "scaling" in path:
            tab.locator("input[type=range]").fill(value)
        else:
            tab.locator(f'input[name="follow-2"][value="{value}"]').check()
        after = frames_box.bounding_box()
        if box == SLIDER:
            assert after["height"] == pytest.approx(before["height"], abs=0.1)  # pixels
        assert after["width"] == pytest.approx(before["width"], abs=0.1)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    drawing = tab.locator(box).locator("xpath=..")
    assert drawing.evaluate("one => one.scrollWidth - one.clientWidth") == 0
    for control in controls.all():
        size = control.bounding_box()
        assert size["width"] >= 24
        assert size["height"] >= 24


@each_language
def test_a_wide_drawing_scrolls_and_its_controls_stay(visit, lang):
    tab = visit(("" if lang == "en" else f"/{lang}") + "/real-models/", width=340)
    output = tab.locator("#out-follow")
    output.scroll_into_view_if_needed()
    column = output.bounding_box()
    edge = column["x"] + column["width"]
    keys = output.locator(".frame.shown .drawing").first
    keys.and_(tab.locator("[tabindex='0'][data-cut=after]")).wait_for()
    for part in output.locator(".stepper-bar :is(label, button), .stepper figcaption").all():
        box = part.bounding_box()
        if box:
            assert box["x"] + box["width"] <= edge + 1
    assert output.locator("> figure > .drawing").get_attribute("data-cut") is None
    keys.focus()
    for _ in range(9):
        tab.keyboard.press("ArrowRight")
    output.locator(".frame.shown .drawing[data-cut=before]").first.wait_for()
    scrolled = keys.evaluate("one => one.scrollLeft")
    before = output.locator("[data-by='1']").bounding_box()
    output.locator("[data-by='1']").click()
    assert output.locator("[data-by='1']").bounding_box() == before
    assert "2 · " in output.locator(".stepper-now").inner_text()
    left = "all => all.map((one) => [one.scrollLeft, one.scrollWidth - one.clientWidth])"
    follows = output.locator(".frame.shown .drawing").evaluate_all(left)
    assert scrolled > 9
    assert follows[0][0] == min(scrolled, follows[0][1])


def test_steps_are_named_on_a_wide_window_and_between_the_arrows_on_a_phone(visit):
    tab = visit(f"/zh/{PAGE}/")
    names = tab.locator(f"{STEPPER} .pipeline .choice")
    now = tab.locator(f"{STEPPER} .stepper-now")
    named = "all => all.filter(one => one.getBoundingClientRect().width > 9).length"
    assert (names.evaluate_all(named), now.is_visible()) == (8, False)
    tab.set_viewport_size({"width": 390, "height": 900})
    assert (names.evaluate_all(named), now.is_visible()) == (0, True)
    tab.locator('input[name="follow-2"][value="4"]').check()
    assert now.inner_text() == "4 · 分数"


def test_ticks_stand_below_the_thumb(visit):
    tab = visit("/zh/scaling/", width=390)
    track = tab.locator("input[type=range]").bounding_box()
    marks = [one.bounding_box() for one in tab.locator(".stepper-ticks span").all()]
    middles = [mark["x"] + mark["width"] / 2 for mark in marks]
    thumb = 20  # px
    step = (track["width"] - thumb) / (len(marks) - 1)
    wanted = [track["x"] + thumb / 2 + i * step for i in range(len(marks))]
    np.testing.assert_allclose(middles, wanted, atol=1)
    assert all(a["x"] + a["width"] <= b["x"] for a, b in itertools.pairwise(marks))


def test_the_slider_is_moved_by_keys(visit):
    tab = visit("/zh/scaling/")
    control = tab.locator("input[type=range]")
    assert list_visible_frames(tab, SLIDER) == ["4"]
    control.focus()
    for key, place, d_k in (
        ("ArrowRight", "5", 128),
        ("End", "8", 1024),
        ("ArrowLeft", "7", 512),
        ("Home", "0", 4),
    ):
        tab.keyboard.press(key)
        assert list_visible_frames(tab, SLIDER) == [place]
        assert tab.locator(".stepper-now").text_content() == f"dk = {d_k}"
        described = control.get_attribute("aria-valuetext")
        assert described.startswith(f"d_k = {d_k}")
        assert "最大权重" in described
        assert described == tab.locator(".frame.shown").get_attribute("data-says")


def test_controls_that_the_browser_kept_and_the_frame_agree(visit):
    tab = visit(f"/{PAGE}/")
    tab.evaluate("document.querySelector('[name=follow-2][value=\"5\"]').checked = true")
    tab.evaluate("dispatchEvent(new PageTransitionEvent('pageshow'))")
    assert list_visible_frames(tab) == ["1 5"]
