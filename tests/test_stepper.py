"""The stepper of the eight steps and the slider of the widths: content, and use in a browser."""

import itertools
import json
import re

import mpmath
import numpy as np
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from attention_docs.figures import Frame, eight_steps, heatmap, slider, stepper
from attention_docs.figures.figure import Language
from attention_docs.locales import read_locale
from tests.conftest import LANGUAGES, needs_browser, scale_examples
from tests.drawings import assert_text_fits, parse_subpaths
from tests.exact import W_KEY, W_QUERY, W_VALUE, X, product, softmax, transpose

PLACES = [f"{i} {step}" for i in (1, 2, 3) for step in range(1, 9)]
HAN = re.compile("[\u4e00-\u9fff]")
STEPPER = ".stepper:not(.ribbons)"  # ribbons have a test of their own

each_language = pytest.mark.parametrize("lang", LANGUAGES)


def shares(weights):
    """Weights as read: four decimals, or a power of ten below a thousandth."""
    powers = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    found = []
    for weight in map(float, weights):
        digits, power = f"{weight:.2e}".split("e")
        small = f"{digits} × 10{str(int(power)).translate(powers)}"
        found.append(small if weight < 0.001 else f"{weight:.4f}")
    return found


def compute_by_hand(x, w_k, w_q, w_v):
    """All tensors: integers up to the scores, then 40 digits."""
    keys, queries, values = (product(x, w) for w in (w_k, w_q, w_v))
    scores = product(queries, transpose(keys))
    weights = [softmax(row) for row in scores]
    return {
        **{"keys": keys, "queries": queries, "values": values, "scores": scores},
        "powers": [[mpmath.exp(s) for s in row] for row in scores],
        "weights": weights,
        "weighted": [
            [[a * v for v in value] for a, value in zip(row, values, strict=True)]
            for row in weights
        ],
        "outputs": product(weights, values),
    }


TENSORS = compute_by_hand(X, W_KEY, W_QUERY, W_VALUE)


def floats(nested):
    return np.array(nested, dtype=float)


def figure_of(x=X, parameters=(W_KEY, W_QUERY, W_VALUE), **changed):
    tensors = compute_by_hand(x, *parameters) | changed
    del tensors["powers"]
    return eight_steps(
        inputs=floats(x),
        parameters=[floats(w) for w in parameters],
        **{name: floats(tensor) for name, tensor in tensors.items()},
    )


STEPS = figure_of()
SENTENCE = figure_of(  # typed from the text of the page: living, human, action, painful
    [[1, 0, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]],
    (
        [[1, 0], [0, 0], [0, 1], [0, 0]],
        [[0, 3], [0, 0], [3, 0], [0, 0]],
        [[0, 0], [1, 0], [0, 0], [0, 1]],
    ),
)


def frames(figure, lang):
    """Every frame by its place."""
    soup = BeautifulSoup(figure.svg(lang), "lxml")
    return {one["data-at"]: one for one in soup.select(".frame")}


def alts(frame):
    return " ".join(svg["aria-label"] for svg in frame.select("svg"))


def fixed(values, spec):
    return [format(float(value), spec) for value in values]


def flat(nested):
    return [one for row in nested for one in row]


# What the stepper holds.


@each_language
def test_every_step_of_every_input_has_a_figure_and_a_caption(lang):
    found, described = frames(STEPS, lang), STEPS.alt(lang)
    assert list(found) == PLACES
    titles = set()
    for place, frame in found.items():
        i, step = place.split()
        title = frame.figcaption.strong.get_text()
        wanted = {"en": f"Input {i}, step {step}: ", "zh": f"输入 {i}，第 {step} 步："}[lang]
        assert title.startswith(wanted)
        titles.add(title.removeprefix(wanted))
        assert len(frame.figcaption.get_text()) > len(title) + 10
        (svg,) = frame.select("svg")
        assert svg["role"] == "img"
        assert alts(frame) in described
    assert len(titles) == 8
    assert len({frame.figcaption.get_text() for frame in found.values()}) == 24
    assert [place for place in found if "shown" in found[place]["class"]] == ["1 1"]


def wanted_numbers(i, step):
    """What the alternative text of a step must hold, from the tensors by hand."""
    t = TENSORS
    dots = [
        " + ".join(f"{a} × {b}" for a, b in zip(t["queries"][i], key, strict=True))
        + f" = {t['scores'][i][j]}"
        for j, key in enumerate(t["keys"])
    ]
    return [
        map(str, flat(X)),
        map(str, flat(W_KEY + W_QUERY + W_VALUE)),
        map(str, [*X[i], *t["keys"][i], *t["queries"][i], *t["values"][i]]),
        [*map(str, [*t["queries"][i], *t["scores"][i]]), *dots],
        [
            *fixed([*t["powers"][i], sum(t["powers"][i])], ".4f"),
            *shares(t["weights"][i]),
        ],
        [*fixed(t["weights"][i] + flat(t["weighted"][i]), ".4f"), *map(str, flat(t["values"]))],
        fixed(flat(t["weighted"][i]) + t["outputs"][i], ".4f"),
        fixed(flat(t["weights"][: i + 1] + t["outputs"][: i + 1]), ".4f"),
    ][step]


@each_language
def test_alternative_texts_hold_their_numbers(lang):
    found = frames(STEPS, lang)
    for i, step in itertools.product(range(3), range(8)):
        described = alts(found[f"{i + 1} {step + 1}"])
        for number in wanted_numbers(i, step):
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.]*\d)", described), (
                i,
                step,
                number,
            )


@each_language
def test_what_is_drawn_is_told(lang):
    for place, frame in frames(STEPS, lang).items():
        texts = frame.select("text:not(.past *)")  # what stays was told before
        drawn = " ".join(one.get_text() for one in texts)
        numbers = set(re.findall(r"\d+(?:\.\d+)?(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", drawn))
        assert numbers
        assert numbers <= set(re.findall(r"\d+(?:\.\d+)?(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", alts(frame))), (
            place
        )


@each_language
def test_captions_hold_the_results(lang):
    def vector(values, spec="d"):
        shown = [format(v if spec == "d" else float(v), spec) for v in values]
        return f"[{', '.join(shown)}]"

    found, t = frames(STEPS, lang), TENSORS
    for i in range(3):
        results = [
            [vector(X[i])],
            [vector(X[i])],
            [vector(t[name][i]) for name in ("keys", "queries", "values")],
            [vector(t["scores"][i])],
            [f"[{', '.join(shares(t['weights'][i]))}]"],
            fixed([max(t["weights"][i])], ".4f"),
            [vector(t["outputs"][i], ".4f")],
            [],
        ]
        for step, wanted in enumerate(results, start=1):
            caption = found[f"{i + 1} {step}"].figcaption.get_text()
            assert all(result in caption for result in wanted), caption
    sixth = [found[f"{i} 6"].figcaption.get_text() for i in (1, 2, 3)]
    both = {"en": "Value 2 and value 3 get the most", "zh": "值 2 和值 3 的权重并列最大"}[lang]
    one = {"en": "Value 2 gets the most", "zh": "值 2 的权重最大"}[lang]
    assert [both in sixth[0], one in sixth[1], one in sixth[2]] == [True] * 3


def test_step_8_leaves_open_what_is_still_to_come():
    for i in range(3):
        described = alts(frames(STEPS, "en")[f"{i + 1} 8"])
        later = set(fixed(flat(TENSORS["outputs"][i + 1 :]), ".4f"))
        assert not later & set(re.findall(r"\d\.\d{4}", described)) - {"0.0000"}
    captions = [frames(STEPS, "en")[f"{i} 8"].figcaption.get_text() for i in (1, 2, 3)]
    assert "Inputs 2 and 3 still go" in captions[0]
    assert "Input 3 still goes" in captions[1]
    assert "All 3 rows are done" in captions[2]


def test_each_language_is_its_own():
    assert not HAN.search(STEPS.svg("en") + STEPS.alt("en"))
    soup = BeautifulSoup(STEPS.svg("zh"), "lxml")
    seen = soup.get_text() + STEPS.alt("zh")
    assert not re.search(r"\b(query|key|value|weights?|input|output|step|row|sum)\b", seen)
    for text in [one.figcaption.get_text() for one in frames(STEPS, "zh").values()]:
        assert not re.search(r"[\u4e00-\u9fff][0-9A-Za-z\[]|[0-9A-Za-z\]][\u4e00-\u9fff]", text)


@each_language
def test_all_drawings_have_one_size_and_hold_their_text(lang):
    drawings = [etree.fromstring(svg) for svg in re.findall("<svg.*?</svg>", STEPS.svg(lang))]
    assert len(drawings) == 24
    for drawing in drawings:
        assert_text_fits(drawing, 14)
    (box,) = {drawing.get("viewBox") for drawing in drawings}
    # At 390 px an output is 339 px wide; a drawing shrinks to 3/4.
    assert 0.75 * float(box.split()[2]) <= 339


@pytest.mark.long
@scale_examples(10)
@given(st.data())
def test_other_sizes(data):
    n, d_model, d_k, d_v = (data.draw(st.integers(2, 4)) for _ in range(4))
    small = st.integers(0, 2)

    def draw(rows, columns):
        row = st.lists(small, min_size=columns, max_size=columns)
        return data.draw(st.lists(row, min_size=rows, max_size=rows))

    x, parameters = draw(n, d_model), [draw(d_model, d) for d in (d_k, d_k, d_v)]
    figure = figure_of(x, parameters)
    assert len(frames(figure, "zh")) == 8 * n
    outputs = compute_by_hand(x, *parameters)["outputs"]
    last = alts(frames(figure, "en")[f"{n} 7"]).partition(f"Vector output {n}:")[2]
    described = [float(number) for number in re.findall(r"\d+\.\d{4}", last)]
    np.testing.assert_allclose(described, floats(outputs[-1]), rtol=0, atol=5.01e-5)


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
    assert [len(group) for group in groups.values()] == [3, 8]
    values = [[one["value"] for one in group] for group in groups.values()]
    assert [" ".join(pair) for pair in itertools.product(*values)] == PLACES
    for group in groups.values():
        assert [one.has_attr("checked") for one in group] == [True] + [False] * (len(group) - 1)
    names = [one.find_parent("label").get_text() for one in soup.select("input")]
    assert names[:4] == ["1", "2", "3", "1 · input"]
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
    assert inks == [
        ["input"],
        ["neutral"],
        ["key", "query", "value"],
        ["score"],
        ["weight"],
        ["weighted-value"],
        ["output"],
        ["neutral"],
    ]


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
        assert "d<sub>k</sub> = 8" in figure.svg(lang)
    assert "a &lt; b &amp; c" in figure.svg("en")


def change_tensor(name):
    """The tensors with one number of one of them moved a little."""
    moved = floats(TENSORS[name])
    moved.flat[-1] += 0.01
    return {name: moved}


@pytest.mark.parametrize(
    "name", ["keys", "queries", "values", "scores", "weights", "weighted", "outputs"]
)
def test_a_tensor_that_does_not_follow_is_refused(name):
    with pytest.raises(ValueError, match=rf"^{name} must be \[\[.*\]\], got \[\["):
        figure_of(**change_tensor(name))


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
    whole = soup(lang, "eight-steps")
    (box,) = whole.article.select(STEPPER)
    assert box.find_parent(id="out-stepper")
    assert [one["data-at"] for one in box.select(".frame")] == PLACES
    assert [svg["aria-label"] for svg in box.select("svg")] == [
        alts(one) for one in frames(SENTENCE, lang).values()
    ]
    ids = [one["id"] for one in whole.find_all(id=True)]
    assert len(ids) == len(set(ids))
    (script,) = whole.select('script[src$="assets/stepper.js"]')
    assert script.has_attr("defer")


def test_search_does_not_hold_every_number_of_every_frame(site):
    for folder in (site, site / "zh"):  # each language has its own index
        path = folder / "search" / "search_index.json"
        index = json.loads(path.read_text(encoding="utf-8"))
        sections = {one["location"]: one["text"].replace("\u200b", "") for one in index["docs"]}
        steps, widths = sections["eight-steps/#stepper"], sections["scaling/"]
        assert len(steps) > 50
        assert "8886110" not in steps
        assert not re.search("step 8|第 8 步|Next ›|下一步 ›", steps)
        assert not re.search("占样本的比例|share of the samples", widths)
        assert re.search("ordered for each query|再取平均", widths)
        assert re.search(r"dark green|输出深绿", steps)


# In a browser.


def list_visible_frames(tab):
    """The places of the frames that show."""
    return tab.locator(f"{STEPPER} .frame").evaluate_all(
        "all => all.filter(one => one.checkVisibility({visibilityProperty: true}))"
        ".map(one => one.dataset.at)"
    )


def status(tab):
    return tab.locator(".stepper [role=status]").text_content()


@needs_browser
def test_buttons_go_through_all_steps_of_all_inputs(visit):
    tab = visit("/eight-steps/")
    assert list_visible_frames(tab) == ["1 1"]
    back, on = (tab.get_by_role("button", name=name) for name in ("‹ Back", "Next ›"))
    for place in PLACES[1:]:
        on.click()
        assert list_visible_frames(tab) == [place]
        i, step = place.split()
        assert status(tab).startswith(f"Input {i}, step {step}: ")
        chosen = tab.locator(f'label:has([name="steps-2"][value="{step}"])')
        assert tab.locator(".stepper-now").text_content() == chosen.text_content()
        assert tab.locator(f'input[name="steps-2"][value="{step}"]').is_checked()
        assert tab.locator(f'input[name="steps-1"][value="{i}"]').is_checked()
        assert back.get_attribute("aria-disabled") == "false"
    assert on.get_attribute("aria-disabled") == "true"
    on.click(force=True)  # playwright itself waits for aria-disabled to end
    assert list_visible_frames(tab) == ["3 8"]
    back.click()
    assert list_visible_frames(tab) == ["3 7"]


@needs_browser
def test_keys_alone_are_enough(visit):
    tab = visit("/zh/eight-steps/")
    tab.locator('input[name="steps-1"][value="1"]').focus()
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
    assert status(tab) == "输入 2，第 6 步：加权后的值"
    assert tab.evaluate("document.activeElement.textContent") == "下一步 ›"
    tab.keyboard.press("Alt+ArrowDown")
    assert list_visible_frames(tab) == ["2 6"]


@needs_browser
def test_without_javascript_everything_shows(visit):
    tab = visit("/zh/eight-steps/", java_script_enabled=False)
    bar = tab.locator(f"{STEPPER} .stepper-bar")
    assert tab.locator(f"{STEPPER} .frame >> visible=true").count() == 24
    assert not bar.is_visible()
    boxes = [one.bounding_box() for one in tab.locator(f"{STEPPER} .frame").all()]
    assert all(a["y"] + a["height"] <= b["y"] for a, b in itertools.pairwise(boxes))
    tab.goto(tab.url.replace("eight-steps", "scaling"))
    assert tab.locator(f"{STEPPER} .frame >> visible=true").count() == 9
    assert not bar.is_visible()


@needs_browser
def test_the_chosen_step_is_seen_where_the_system_has_its_own_colours(visit):
    tab = visit("/eight-steps/", forced_colors="active")
    colours = tab.locator(f"{STEPPER} fieldset:not(.pipeline) input").evaluate_all(
        "all => all.map((one) => [one.checked,"
        " getComputedStyle(one.nextElementSibling).backgroundColor])"
    )
    chosen = {colour for is_checked, colour in colours if is_checked}
    assert len(chosen) == 1
    assert not chosen & {colour for is_checked, colour in colours if not is_checked}


@needs_browser
def test_on_paper_everything_shows(visit):
    tab = visit("/eight-steps/")
    tab.emulate_media(media="print")
    assert list_visible_frames(tab) == [one for one in PLACES if one.startswith("1 ")]  # one row
    assert not tab.locator(f"{STEPPER} .stepper-bar").is_visible()


@needs_browser
@pytest.mark.parametrize(("motion", "name"), [("reduce", "none"), ("no-preference", "turn")])
def test_reduced_motion_is_respected(visit, motion, name):
    tab = visit("/eight-steps/", reduced_motion=motion)
    animation = "getComputedStyle(document.querySelector('.shown .turn')).animationName"
    tab.locator('input[name="steps-2"][value="4"]').check()
    assert list_visible_frames(tab) == ["1 4"]
    assert tab.evaluate(animation) == name
    moving = tab.evaluate("document.getAnimations().length")
    assert (moving > 0) == (motion != "reduce")


@needs_browser
@pytest.mark.parametrize(
    ("path", "width"),
    [
        ("/eight-steps/", 1280),
        ("/zh/eight-steps/", 390),
        ("/scaling/", 390),
        ("/zh/scaling/", 1280),
    ],
)
def test_nothing_shifts_and_nothing_sticks_out(visit, path, width):
    tab = visit(path, color_scheme="dark" if width == 390 else "light")
    tab.set_viewport_size({"width": width, "height": 900})
    frames_box = tab.locator(f"{STEPPER} .stepper-frames")
    controls = tab.locator(f"{STEPPER} .stepper-bar :is(input, button)")
    before = frames_box.bounding_box()
    for value in ("2", "3", "6"):
        if "scaling" in path:
            tab.locator("input[type=range]").fill(value)
        else:
            tab.locator(f'input[name="steps-2"][value="{value}"]').check()
        after = frames_box.bounding_box()
        assert after["height"] == pytest.approx(before["height"], abs=0.1)  # pixels
        assert after["width"] == pytest.approx(before["width"], abs=0.1)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    drawing = tab.locator(f".drawing:has({STEPPER})")
    assert drawing.evaluate("one => one.scrollWidth - one.clientWidth") == 0
    for control in controls.all():
        size = control.bounding_box()
        assert size["width"] >= 24
        assert size["height"] >= 24


@needs_browser
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


@needs_browser
def test_steps_are_named_on_a_wide_window_and_between_the_arrows_on_a_phone(visit):
    tab = visit("/zh/eight-steps/")
    names = tab.locator(".pipeline .choice")
    now = tab.locator(".stepper-now")
    named = "all => all.filter(one => one.getBoundingClientRect().width > 9).length"
    assert (names.evaluate_all(named), now.is_visible()) == (8, False)
    tab.set_viewport_size({"width": 390, "height": 900})
    assert (names.evaluate_all(named), now.is_visible()) == (0, True)
    tab.locator('input[name="steps-2"][value="4"]').check()
    assert now.inner_text() == "4 · 分数"


@needs_browser
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


@needs_browser
def test_the_slider_is_moved_by_keys(visit):
    tab = visit("/zh/scaling/")
    control = tab.locator("input[type=range]")
    assert list_visible_frames(tab) == ["4"]
    control.focus()
    for key, place, d_k in (
        ("ArrowRight", "5", 128),
        ("End", "8", 1024),
        ("ArrowLeft", "7", 512),
        ("Home", "0", 4),
    ):
        tab.keyboard.press(key)
        assert list_visible_frames(tab) == [place]
        assert tab.locator(".stepper-now").text_content() == f"dk = {d_k}"
        described = control.get_attribute("aria-valuetext")
        assert described.startswith(f"d_k = {d_k}")
        assert "最大权重" in described
        assert described == tab.locator(".frame.shown").get_attribute("data-says")


@needs_browser
def test_controls_that_the_browser_kept_and_the_frame_agree(visit):
    tab = visit("/eight-steps/")
    tab.evaluate("document.querySelector('[name=steps-2][value=\"5\"]').checked = true")
    tab.evaluate("dispatchEvent(new PageTransitionEvent('pageshow'))")
    assert list_visible_frames(tab) == ["1 5"]


# The canvas of the eight steps.


def place_rows(frame):
    """The upper left corner and the width of each row of cells that has a key."""
    found = {}
    for row in frame.select("g[data-key]"):
        cells = [
            point
            for one in row.select("path")
            for part in parse_subpaths(one["d"])
            for point in part
        ]
        xs, ys = zip(*cells, strict=True)
        found[row["data-key"]] = (min(xs), min(ys), round(max(xs) - min(xs), 2))
    return found


@each_language
def test_what_is_on_the_canvas_keeps_its_place(lang):
    places = [place_rows(frame) for frame in frames(STEPS, lang).values()]
    union = {key: place for one in places for key, place in one.items()}
    assert all(one[key] == union[key] for one in places for key in one)
    assert {f"{letter}{i}" for letter in "xkqvspauro" for i in (1, 2, 3)} <= set(union)
    for letters in ("xkqv", "spa", "uo", "ro"):  # word by word at one height
        for i in (1, 2, 3):
            assert len({union[f"{letter}{i}"][1] for letter in letters}) == 1
    for letter in "xkqvspauro":  # key 1 stands above key 2, and in cells of one width
        rows = [union[f"{letter}{i}"] for i in (1, 2, 3)]
        assert len({(left, wide) for left, _, wide in rows}) == 1
        assert rows == sorted(rows, key=lambda row: row[1])
    for letter in "kqv":  # below the columns of its parameters
        assert union[f"{letter}1"][::2] == union[f"{letter}w1"][::2]


def move_aside(frame):
    """The place of each row in a wide window, where groups of the canvas are moved."""
    found = place_rows(frame)
    for group in frame.select("g.aside"):
        right, down = (float(one) for one in re.findall(r"(-?[\d.]+)px", group["style"]))
        for row in group.select("g[data-key]"):
            x, y, wide = found[row["data-key"]]
            found[row["data-key"]] = (x + right, y + down, wide)
    return found


@each_language
def test_in_a_wide_window_a_row_stands_beside_the_one_that_it_comes_from(lang):
    found = frames(STEPS, lang)
    places = {key: place for one in found.values() for key, place in move_aside(one).items()}
    for i in (1, 2, 3):
        for letter in "ur":
            assert places[f"{letter}{i}"][1] == pytest.approx(places[f"v{i}"][1], abs=0.02)
        assert places[f"u{i}"][0] > places[f"v{i}"][0] + places[f"v{i}"][2] + 25  # the name of u
        assert places[f"o{i}"][0] == pytest.approx(places[f"u{i}"][0], abs=0.02)
        assert places[f"o{i}"][0] > places[f"a{i}"][0] + places[f"a{i}"][2]
    assert places["o1"][1] > places["u3"][1] + 26 + 40  # a line of text and a name
    sizes = {one["style"] for one in BeautifulSoup(STEPS.svg(lang), "lxml").select(".canvas")}
    (more, tall), *others = ([float(n) for n in re.findall(r"([\d.]+)px", one)] for one in sizes)
    assert not others
    svg = found["1 1"].svg
    wide = float(svg["viewbox"].split()[2]) + more
    assert max(x + width for x, _, width in places.values()) <= wide <= 664
    assert max(y for _, y, _ in places.values()) + 26 <= tall


def test_a_canvas_that_has_no_room_beside_itself_keeps_its_layout():
    figure = figure_of(parameters=(W_KEY, W_QUERY, [[9, 8, 7, 6, 5]] * 4))  # five values each
    assert not BeautifulSoup(figure.svg("en"), "lxml").select(".canvas, .aside")


def test_what_is_computed_comes_from_what_stands_there():
    found = list(frames(STEPS, "en").items())
    for (place, frame), (_, before) in zip(found, [found[0], *found], strict=False):
        known = {one["data-key"] for one in frame.select("[data-key]")}
        known |= {one["data-key"] for one in before.select("[data-key]")}
        for row in frame.select("[data-from]"):
            assert set(re.split("[ >]", row["data-from"])) <= known, place
    routes = {
        one["data-key"]: one["data-from"]
        for one in frames(STEPS, "en")["2 4"].select("[data-from]")
    }
    assert routes == {f"s{j}": f"q2>k{j}" for j in (1, 2, 3)}
    (output,) = frames(STEPS, "en")["2 7"].select("[data-from]")
    assert (output["data-key"], output["data-from"]) == ("o2", "u1 u2 u3")


@needs_browser
def test_the_query_slides_onto_the_keys(visit):
    tab = visit("/eight-steps/")
    tab.locator('input[name="steps-2"][value="3"]').check()
    tab.locator(".stepper-buttons [data-by='1']").click()
    assert tab.locator(".shown .flight").count() == 3
    tab.wait_for_function("() => !document.querySelector('.flight')")
    tab.locator(".stepper-buttons [data-by='-1']").click()
    assert tab.locator(".flight").count() == 0  # nothing is computed on the way back


@needs_browser
@pytest.mark.parametrize(("width", "beside"), [(390, False), (1280, True)])
def test_outputs_stand_beside_the_weights_where_there_is_room(visit, width, beside):
    tab = visit("/eight-steps/", width=width)
    tab.locator('input[name="steps-2"][value="8"]').check()
    weights, outputs = (
        tab.locator(f'.frame.shown [data-key="{key}"]').bounding_box() for key in ("a1", "o1")
    )
    assert (outputs["x"] > weights["x"] + weights["width"]) == beside
    drawing = tab.locator(f".drawing:has({STEPPER})").bounding_box()
    assert outputs["x"] + outputs["width"] <= drawing["x"] + drawing["width"]


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_a_frame_that_a_reader_steps_to_has_its_own_height(visit, width):
    tab = visit("/real-models/", width=width, reduced_motion="reduce")
    area = tab.locator(f"#out-follow {STEPPER} .stepper-frames")
    button = tab.locator("#out-follow [data-by='1']")
    button.scroll_into_view_if_needed()
    button.hover()  # once nothing moves any more
    top, heights = button.bounding_box()["y"], set()
    for _ in range(8):
        box = area.bounding_box()
        end = area.locator(".frame.shown figcaption").bounding_box()
        assert box["y"] + box["height"] - end["y"] - end["height"] < 2
        heights.add(round(box["height"]))
        button.click()
        assert abs(button.bounding_box()["y"] - top) < 1
    assert max(heights) - min(heights) > 100


@needs_browser
@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_the_steps_are_played_until_the_last_or_until_a_click(visit, motion):
    tab = visit("/eight-steps/", reduced_motion=motion)
    tab.clock.install()
    play = tab.locator("[data-play]")
    play.click()
    assert (play.get_attribute("aria-pressed"), list_visible_frames(tab)) == ("true", ["1 2"])
    tab.clock.run_for(3000)
    assert list_visible_frames(tab) == ["1 3"]
    tab.get_by_role("button", name="Next ›").click()
    assert play.get_attribute("aria-pressed") == "false"
    tab.clock.run_for(9000)
    assert list_visible_frames(tab) == ["1 4"]
    play.click()
    tab.clock.run_for(60_000)
    assert (play.get_attribute("aria-pressed"), list_visible_frames(tab)) == ("false", ["1 8"])


@needs_browser
def test_on_a_phone_the_buttons_stay_at_hand(visit):
    tab = visit("/zh/eight-steps/", width=390)
    tab.evaluate("document.querySelector('.stepper fieldset').scrollIntoView()")
    for button in tab.locator(".stepper-buttons button").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 44
        assert box["y"] + box["height"] <= 900
    tab.set_viewport_size({"width": 390, "height": 500})  # the drawing ends below the window
    tab.evaluate("document.querySelector('.stepper fieldset').scrollIntoView()")
    box = tab.locator(".stepper-buttons").bounding_box()
    assert 450 < box["y"] + box["height"] <= 500
