"""Figures that are taken in hand, in a browser: what they show is what the package computes."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from lxml import etree
from PIL import Image

from attention_docs.figures import draggable_hull, sentence_dial, softmax_bars, word_clocks
from attention_docs.positions import sinusoids
from attention_docs.sequences import weights_of
from attention_docs.softmax import softmax, tempered_softmax
from tests.conftest import ROOT, each_language
from tests.drawings import assert_text_fits
from tests.test_browser import (
    AXE,
    NEAR,
    SETTLED,
    WHOLE,
    Visit,
    find_colour_faults,
    make_path,
    measure_compressed,
)

FOLDER = ROOT / "docs" / "assets" / "instruments"
MOST_LINES = {"instrument": 400}  # of what all share; the others have 120
FIRST_VIEW = 200 * 1024
AT_REST = """async () => {
  await new Promise((done) => setTimeout(done, 400));
  const { state, results } = document.querySelector(".instrument").instrument;
  return [state, results, document.querySelector(".instrument:not(.machine) .state").textContent];
}"""


def open_instrument(visit: Visit, path: str = "/", **options: Any) -> Any:
    tab = visit(path, reduced_motion="reduce", **options)
    tab.locator(".instrument").first.scroll_into_view_if_needed()
    tab.wait_for_function("document.querySelector('.instrument').instrument")
    return tab


def find_visible(tab: Any, name: str) -> Any:
    return tab.locator(f".instrument:not(.machine) .{name}:visible")


def find_middle(tab: Any, name: str = "handle", n: int = 0) -> tuple[float, float]:
    box = find_visible(tab, name).nth(n).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(tab: Any, across: float, down: float, n: int = 0) -> None:
    x, y = find_middle(tab, n=n)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + across / 2, y + down / 2)
    tab.mouse.move(x + across, y + down)
    tab.mouse.up()


def test_scripts_are_short_and_load_nothing_of_python() -> None:
    scripts = sorted(FOLDER.glob("*.js"))
    assert {"instrument", "sentence-dial", "word-clocks"} <= {one.stem for one in scripts}
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= MOST_LINES.get(script.stem, 120), script.name
        assert not re.search(r"pyodide|live/|https?://(?!www\.w3\.org)", text), script.name


# --- the sentence of the first page ---------------------------------------------------------------

TURNS = np.deg2rad([180.0, 120, 60, 0])
KEYS = np.stack([np.cos(TURNS), np.sin(TURNS)], axis=1)
VALUES = np.array([[1.0, 0], [0, 0], [0, 1], [0, 0]])
# Words that ask, with a direction in degrees and a length: that of the build and nine others.
STATES = [(4, 60, 6), (2, 180, 6), (4, 0, 0), (4, 61.5, 8), (2, 90, 3.25)]
STATES += [(4, 240, 6), (2, 359.9, 0.4), (4, 120, 7.9), (2, 12.3, 5), (4, 200, 1.75)]


def attend(turn: float, length: float) -> tuple[Any, Any]:
    query = length * np.array([np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))])
    weights = softmax(KEYS @ query)
    return weights, weights @ VALUES


def test_ten_states_are_those_of_the_package(visit: Visit) -> None:
    """Each comes with its address, and stands there again after it."""
    tab = open_instrument(visit)
    state, results, _ = tab.evaluate(AT_REST)
    assert state == {"word": 3, "turn": 60, "length": 6}
    for word, turn, length in STATES:
        tab.evaluate("hash => { location.hash = hash; }", f"#q={word},{turn},{length}")
        state, results, told = tab.evaluate(AT_REST)
        weights, output = attend(turn, length)
        assert state["word"] == word - 1
        np.testing.assert_allclose(results["weights"], weights, atol=1e-12, rtol=0)
        np.testing.assert_allclose(results["output"], output, atol=1e-12, rtol=0)
        shown = find_visible(tab, "stage .weight").all_text_contents()
        assert shown == [f"{100 * one:.0f}%" for one in weights]
        assert tab.url.endswith(f"#q={word},{turn:.1f},{length:.2f}")
        decided = max(output) >= 0.5
        kind = ["a verb", "a noun"][int(np.argmax(output))] if decided else "it cannot tell"
        assert kind in told
    for nonsense in ("#q=1,60,6", "#q=4,x,6", "#q=", "#q=4"):
        tab.evaluate("hash => { location.hash = hash; }", nonsense)
        assert tab.evaluate(AT_REST)[0]["word"] == 3


def test_a_tie_names_both_words_and_decides_nothing(visit: Visit) -> None:
    """Half way between “saw 2” and “a”, whose keys stand at 120° and 60°."""
    tab = open_instrument(visit)
    tab.evaluate("location.hash = '#q=4,90,6'")
    told = tab.evaluate(AT_REST)[2]
    assert "“saw 2” 50%, “a” 50%; it cannot tell" in told
    assert find_visible(tab, "stage .out").get_attribute("fill") == "currentColor"
    tab.evaluate("location.hash = '#q=4,60,6'")
    assert "91% of its attention to “a”" in tab.evaluate(AT_REST)[2]
    assert "color-mix" in find_visible(tab, "stage .out").get_attribute("fill")


SHAPES = """() => [...document.querySelectorAll(".instrument:not(.machine) .stage svg *")]
  .filter((one) => !one.closest(".length"))
  .map((one) => [one.tagName, one.children.length ? "" : one.textContent,
    ...["d", "x", "y", "cx", "cy", "opacity", "fill-opacity", "fill"]
      .map((name) => one.getAttribute(name) ?? "")].join(" "))"""


PAGES = ["index", "sequences", "softmax", "positions"]


@each_language
@pytest.mark.parametrize("slug", PAGES)
def test_the_script_begins_where_the_build_has_drawn(slug: str, lang: str, visit: Visit) -> None:
    plain = visit(make_path(lang, slug), java_script_enabled=False)
    assert plain.locator(".instrument:not(.machine) .stage:visible svg").count() == 1
    assert plain.locator(".instrument:not(.machine) .state").is_visible()
    tab = open_instrument(visit, make_path(lang, slug))
    drawn = tab.evaluate(SHAPES)
    tab.evaluate(
        "fetch(location.href).then((answer) => answer.text()).then((text) => {"
        "window.published = new DOMParser().parseFromString(text, 'text/html'); })"
    )
    wanted = tab.evaluate(SHAPES.replace("document.query", "window.published.query"))
    assert len(drawn) == len(wanted) > 20
    for got, want in zip(drawn, wanted, strict=True):
        numbers = [[float(n) for n in re.findall(r"-?\d*\.?\d+", one)] for one in (got, want)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.02), (got, want)
        assert re.sub(r"[-\d. ]", "", got) == re.sub(r"[-\d. ]", "", want)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_query_follows_pointer_and_keys(width: int, visit: Visit) -> None:
    tab = open_instrument(visit, width=width)
    x, y = find_middle(tab)
    drag(tab, -60, -10)
    state, results, told = tab.evaluate(AT_REST)
    moved = find_middle(tab)
    # It is where the pointer is, or on the rim in its direction.
    (cx, cy), radius = tab.evaluate("""() => {
      const stage = [...document.querySelectorAll(".stage")].find((one) => one.checkVisibility());
      const { centre, radius } = JSON.parse(stage.dataset.places);
      const box = stage.querySelector("svg").getBoundingClientRect();
      const unit = box.width / stage.querySelector("svg").viewBox.baseVal.width;
      return [[box.x + unit * centre[0], box.y + unit * centre[1]], unit * radius];
    }""")
    aim = np.array([x - 60 - cx, y - 10 - cy])
    aim *= min(1, radius / np.hypot(*aim))
    assert moved == pytest.approx((cx + aim[0], cy + aim[1]), abs=1.5)
    np.testing.assert_allclose(results["weights"], attend(state["turn"], state["length"])[0])
    assert "#q=4," in tab.url
    turn, length = state["turn"], min(state["length"], 8)
    find_visible(tab, "handle").focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowDown")
    state, _, again = tab.evaluate(AT_REST)
    assert state["turn"] == pytest.approx(turn - 5)
    assert state["length"] == pytest.approx(length - 0.5)
    said = find_visible(tab, "handle").get_attribute("aria-valuetext")
    assert said == f"{state['turn']:.0f}°, length {state['length']:.1f}"
    line = tab.locator(".instrument:not(.machine) .state")
    assert line.get_attribute("aria-live") == "polite"
    assert told != again or "cannot" in told
    find_visible(tab, "spot").first.click()
    state, _, told = tab.evaluate(AT_REST)
    assert state == {"word": 1, "turn": 180, "length": 6}
    assert told == "“saw 2” gives 95% of its attention to “I”: a verb, it sees."
    assert [one.get_attribute("aria-pressed") for one in find_visible(tab, "spot").all()] == [
        "true",
        "false",
    ]


def test_a_finger_turns_it_and_scrolls_beside_it(visit: Visit) -> None:
    tab = open_instrument(visit, width=390, has_touch=True, is_mobile=True)
    sizes = [one.bounding_box() for one in find_visible(tab, "handle").all()]
    sizes += [one.bounding_box() for one in find_visible(tab, "spot").all()]
    sizes += [one.bounding_box() for one in tab.locator(".instrument-tools button").all()]
    assert min(min(box["width"], box["height"]) for box in sizes) >= 40
    action = "one => getComputedStyle(one).touchAction"
    assert find_visible(tab, "handle").evaluate(action) == "none"
    assert tab.locator(".instrument:not(.machine) > .stage.narrow").evaluate(action) == "auto"
    x, y = find_middle(tab, "field")
    tab.touchscreen.tap(x - 40, y)
    assert tab.evaluate(AT_REST)[0]["turn"] == pytest.approx(180, abs=3)


def test_the_hand_glides_where_motion_is_welcome(visit: Visit) -> None:
    moves = {}
    for motion in ("reduce", "no-preference"):
        tab = visit("/", reduced_motion=motion)
        tab.wait_for_function("document.querySelector('.instrument').instrument")
        find_visible(tab, "spot").first.click()
        moves[motion] = tab.evaluate("""async () => {
          const seen = new Set();
          for (let n = 0; n < 12; n += 1) {
            await new Promise((done) => requestAnimationFrame(done));
            seen.add(document.querySelector(".instrument").instrument.state.turn);
          }
          return [...seen];
        }""")
        tab.wait_for_timeout(700)
        assert tab.evaluate(AT_REST)[0]["turn"] == 180
    assert set(moves["reduce"]) <= {60, 180}
    assert len(moves["no-preference"]) > 2
    assert all(60 <= turn <= 180 for turn in moves["no-preference"])


@each_language
def test_a_picture_is_saved(lang: str, visit: Visit) -> None:
    tab = open_instrument(visit, make_path(lang, "index"))
    drag(tab, -30, 5)
    with tab.expect_download() as waiting:
        tab.locator(".instrument-tools button").nth(1).click()
    assert waiting.value.suggested_filename == "sentence-dial.png"
    image = Image.open(io.BytesIO(waiting.value.path().read_bytes())).convert("RGB")
    assert image.size == (1200, 630)
    pixels = np.asarray(image).astype(int)
    red = (np.abs(pixels - [0xC6, 0x28, 0x28]) <= 3).all(axis=2)
    yellow = (np.abs(pixels - [0xF7, 0xD0, 0x46]) <= 3).all(axis=2)
    assert min(red.sum(), yellow.sum()) > 500
    dark = pixels.sum(axis=2) < 300
    for words in (dark[20:60], dark[600:]):  # title and address
        assert words.sum() > 200
    assert dark[60:400].sum() > 5000  # the words of the sentence, also in the first picture


@each_language
@pytest.mark.parametrize(
    "place",
    [
        ("index", "#q=2,75,2.5"),
        ("sequences", "#hull=0.1,0.7"),
        ("softmax", "#softmax=2,-1,7.5,3,2.5"),
        ("positions", "#clocks=1.5,4"),
    ],
)
def test_everyone_can_use_it_in_any_state(place: tuple[str, str], lang: str, visit: Visit) -> None:
    slug, state = place
    tab = open_instrument(visit, make_path(lang, slug) + state)
    tab.add_style_tag(content=WHOLE)
    tab.evaluate(NEAR)
    tab.evaluate(SETTLED)
    tab.evaluate(AXE_SCRIPT)
    for width, scheme in ((1280, "light"), (390, "dark")):
        tab.set_viewport_size({"width": width, "height": 800})
        tab.emulate_media(color_scheme=scheme)
        tab.evaluate(AT_REST)
        tab.evaluate(SETTLED)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert tab.evaluate(AXE) == []
        assert not find_colour_faults(tab, scheme)


@each_language
def test_the_first_view_is_light_and_the_model_is_near(
    lang: str, visit: Visit, address: str
) -> None:
    tab = visit()
    answers: list[Any] = []
    tab.on("response", lambda answer: answers.append(answer))
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.goto(address + make_path(lang, "index"), wait_until="networkidle")
    weight = sum(map(measure_compressed, answers))
    assert weight <= FIRST_VIEW, weight
    assert not [one.url for one in answers if re.search("pyodide|live/smollm2|package", one.url)]
    assert tab.locator("#model").bounding_box()["y"] < 800
    tab.locator(".next-token").scroll_into_view_if_needed()
    tab.wait_for_selector(".next-bars li")


@pytest.mark.parametrize(
    ("slug", "state", "says"),
    [
        ("sequences", "#hull=0.1,0.7", "[0.10, 0.70]"),
        ("softmax", "#softmax=2,-1,7.5,3,2.5", "0.764"),
        ("positions", "#clocks=1.5,4", "at 1.5"),
    ],
)
def test_a_link_to_a_state_leads_to_its_figure(
    slug: str, state: str, says: str, visit: Visit
) -> None:
    """Far below the first view; 0.764 is 1 / (e^-2.2 + e^-3.4 + 1 + e^-1.8), by hand."""
    tab = visit(make_path("en", slug) + state)
    tab.wait_for_function(
        """(says) => {
          const figure = document.querySelector(".instrument");
          const { top, bottom } = figure.getBoundingClientRect();
          const shown = figure.querySelector(".state").textContent;
          return top < innerHeight && bottom > 0 && shown.includes(says);
        }""",
        arg=says,
    )


# --- those of chapters ----------------------------------------------------------------------------


def visit_states(tab: Any, name: str, states: Any) -> Any:
    """What it shows at rest, first as it was published, then at each state from an address."""
    yield tab.evaluate(AT_REST)
    for state in states:
        tab.evaluate("hash => { location.hash = hash; }", f"#{name}={','.join(map(str, state))}")
        yield tab.evaluate(AT_REST)


CORNERS = np.array([[1.0, 0], [0, 0], [0, 1]])


def test_the_output_stays_in_the_triangle(visit: Visit) -> None:
    tab = open_instrument(visit, make_path("en", "sequences"))
    points = [[0.25, 0.5], [0.1, 0.15], [0.6, 0.4], [0.333, 0.5]]
    shown = list(visit_states(tab, "hull", points[1:]))
    for point, (_, results, told) in zip(points, shown, strict=True):
        wanted = weights_of(np.array(point), CORNERS)
        np.testing.assert_allclose(results["weights"], wanted, atol=1e-12, rtol=0)
        np.testing.assert_allclose(results["output"], point, atol=1e-12, rtol=0)
        assert f"Output [{point[0]:.2f}, {point[1]:.2f}]." in told
    drag(tab, 160, -120)  # far beyond the longest side
    state, results, told = tab.evaluate(AT_REST)
    assert min(results["weights"]) == 0
    assert sum(results["weights"]) == pytest.approx(1, abs=1e-12)
    assert state["x"] + state["y"] == pytest.approx(1, abs=1e-12)
    assert told.endswith("It cannot leave the triangle.")
    way = np.array(state["wish"]) - [state["x"], state["y"]]
    assert way[0] == pytest.approx(way[1])  # the nearest point of the side
    find_visible(tab, "handle").focus()
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate(AT_REST)[0]["x"] == pytest.approx(state["x"] - 0.02)


def test_the_bar_of_weights_is_always_full(visit: Visit) -> None:
    tab = open_instrument(visit, make_path("en", "softmax"))
    states: list[list[float]] = [
        [1, 1, 1, 5, 1],
        [8, 7.5, -2, 0, 4],
        [0, 0, 0, 0, 0.25],
        [3.5, 2, -1, 3.25, 0.7],
    ]
    shown = list(visit_states(tab, "softmax", states[1:]))
    for (*scores, tau), (_, results, told) in zip(states, shown, strict=True):
        wanted = tempered_softmax(np.array(scores, float), tau)
        np.testing.assert_allclose(results["weights"], wanted, atol=1e-12, rtol=0)
        assert told.startswith(f"key 1 {wanted[0]:.3f}, key 2 {wanted[1]:.3f}")
    ends = tab.locator(".part").evaluate_all(
        "all => all.map((one) => one.getBBox()).map((box) => [box.x, box.x + box.width])"
    )
    left, _, width, _ = tab.evaluate(
        "document.querySelector('.instrument').instrument.stages[0].places.bar"
    )
    assert [one[0] for one in ends] == pytest.approx([left, *[one[1] for one in ends[:-1]]])
    assert ends[-1][1] == pytest.approx(left + width)
    before = tab.evaluate(AT_REST)[0]
    drag(tab, 0, -20, n=1)
    after = tab.evaluate(AT_REST)[0]
    assert after["s1"] > before["s1"]
    assert {name for name in after if after[name] != before[name]} == {"s1"}
    drag(tab, 0, -15, n=4)
    assert tab.evaluate(AT_REST)[0]["tau"] > after["tau"]
    find_visible(tab, "handle").nth(0).focus()
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate(AT_REST)[0]["s0"] == pytest.approx(3.4)


TOLD = ["dog", "bites", "man", "and", "man", "bites", "dog", "back"]


def test_the_dot_product_stays_while_both_words_move(visit: Visit) -> None:
    tab = open_instrument(visit, make_path("en", "positions"))
    states: list[list[float]] = [[0, 2], [3.7, 2], [1.3, 5.5], [1, 6]]
    shown = list(visit_states(tab, "clocks", states[1:]))
    for (t, apart), (_, results, told) in zip(states, shown, strict=True):
        first, second = sinusoids(np.array([t, t + apart], float), d=8, base=100.0)
        assert results["product"] == pytest.approx(first @ second, abs=1e-12)
        words = [f"“{TOLD[round(at)]}” at {at:.1f}" for at in (t, t + apart)]
        said = f"{' and '.join(words)}, {apart:.1f} apart: the dot product is {first @ second:.2f}."
        assert told == said.replace("-", "−")
    handles = find_visible(tab, "handle").evaluate_all("all => all.map((one) => one.ariaValueText)")
    assert handles == ["1.0", "7.0"]
    tab.evaluate("location.hash = '#clocks=0,2'")
    before = tab.evaluate(AT_REST)[1]
    drag(tab, 150, 0)
    state, results, _ = tab.evaluate(AT_REST)
    assert state["t"] > 1
    assert state["apart"] == 2
    assert results["product"] == pytest.approx(before["product"], abs=1e-12)
    assert results["hands"][0][0] == pytest.approx(state["t"])
    drag(tab, 60, 0, n=1)
    after = tab.evaluate(AT_REST)[0]
    assert after["t"] == state["t"]
    assert after["apart"] > 2
    drag(tab, 2000, 0)  # not beyond the last word
    assert tab.evaluate(AT_REST)[0]["t"] == pytest.approx(7 - after["apart"])


def test_the_sentence_says_what_is_drawn_before_the_hand_rests(visit: Visit) -> None:
    tab = open_instrument(visit, make_path("en", "softmax"))
    told, live = tab.evaluate("""() => new Promise((done) => {
      const { instrument } = document.querySelector(".instrument");
      instrument.change({ s0: 8, s1: 1, s2: 1, s3: 5 });
      const line = instrument.told;
      requestAnimationFrame(() => done([line.textContent, line.getAttribute("aria-live")]));
    })""")
    wanted = tempered_softmax(np.array([8.0, 1, 1, 5]), 1)
    assert told.startswith(f"key 1 {wanted[0]:.3f}, key 2 {wanted[1]:.3f}")
    assert live == "off"  # a screen reader hears the sentence at rest
    tab.evaluate(AT_REST)
    assert tab.locator(".instrument .state").get_attribute("aria-live") == "polite"


@pytest.mark.parametrize("slug", PAGES[1:])
def test_handles_are_large_enough_for_a_finger(slug: str, visit: Visit) -> None:
    tab = open_instrument(visit, make_path("en", slug), width=390, has_touch=True, is_mobile=True)
    boxes = [one.bounding_box() for one in find_visible(tab, "handle").all()]
    assert boxes
    assert min(min(box["width"], box["height"]) for box in boxes) >= 40
    centres = [box["x"] + box["width"] / 2 for box in boxes]
    assert all(0 <= one <= 390 for one in centres)


def test_drawings_of_chapters_are_checked() -> None:
    good = [
        softmax_bars([1, -2, 3, 8], softmax(np.array([1.0, -2, 3, 8]))),
        draggable_hull(
            CORNERS, [0.2, 0.3, 0.5], [0.2, 0.5], names=["I", "saw", "a"], xlabel="x", ylabel="y"
        ),
        word_clocks(["dog", "bites", "man"], [1.0, 0.1], (0.5, 2)),
    ]
    for figure in good:
        (svg,) = re.findall("<svg.*?</svg>", figure.svg("en"), re.S)
        assert_text_fits(etree.fromstring(svg), 14)
    with pytest.raises(ValueError, match="weights must be 2 with sum 1, got"):
        softmax_bars([0, 0], [0.5, 0.6])
    with pytest.raises(ValueError, match="scores must be up to 4 from -2 to 8"):
        softmax_bars([9], [1])
    with pytest.raises(ValueError, match=r"output must be the average"):
        draggable_hull(CORNERS, [0.2, 0.3, 0.5], [0.2, 0.4], names="abc", xlabel="x", ylabel="y")
    with pytest.raises(ValueError, match="places must be two of 2 in order"):
        word_clocks(["a", "b"], [1.0], (1, 0))


def test_shapes_that_do_not_fit_are_refused() -> None:
    good = {
        "keys": [[1, 0], [0, 1]],
        "queries": [[0, 1], [1, 0]],
        "values": [[1, 0], [0, 1]],
        "weights": [[0.5, 0.5]] * 2,
        "outputs": [[0.5, 0.5]] * 2,
    }
    names: Any = {"names": ["verb", "noun"], "kinds": ["a verb", "a noun"], "unsure": "?"}
    names["pictures"] = ["eye", "handsaw"]

    def make(**changed: Any) -> Any:
        return sentence_dial(["I", "saw"], **{**good, **changed}, **names, askers=[1], first=1)

    for svg in re.findall("<svg.*?</svg>", make().svg("en"), re.S):
        root = etree.fromstring(svg)
        (mark,) = root.iterfind(".//{*}g[@class='doubt']")
        mark.getparent().remove(mark)  # moved as a whole
        assert_text_fits(root, 14)
    with pytest.raises(ValueError, match=r"keys must be unit vectors, got"):
        make(keys=[[2, 0], [0, 1]])
    with pytest.raises(ValueError, match=r"values must be \(2, 2\), got"):
        make(values=[[1, 0]])
    with pytest.raises(ValueError, match=r"weights must be \(2, 2\), got"):
        make(weights=[[1, 0]])
