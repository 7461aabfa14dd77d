"""A figure that stays while the text scrolls: its drawings, and in a browser what they become."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import mpmath
import numpy as np
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from lxml import etree

from attention_docs.figures import film_inputs, film_search
from attention_docs.figures.search_film import WIDTH, spread
from attention_docs.site.render.films import lay_out_films
from attention_docs.softmax import softmax as package_softmax
from tests.conftest import ROOT, each_language
from tests.drawings import assert_text_fits
from tests.exact import product, softmax, transpose
from tests.test_browser import AXE, NEAR, SETTLED, WHOLE, Visit, make_path

SCRIPT = ROOT / "docs" / "assets" / "film.js"
STEPS = 8

# Typed from the text of the page: living, human, action, painful.
X = [[1, 0, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]]
W_K = [[1, 0], [0, 0], [0, 1], [0, 0]]
W_Q = [[0, 3], [0, 0], [3, 0], [0, 0]]
W_V = [[0, 0], [1, 0], [0, 0], [0, 1]]
WORDS, COMPONENTS = ["dog", "bites", "man"], ["living", "human", "action", "painful"]
ASKER = 1


def compute_by_hand() -> dict[str, Any]:
    """All tensors: whole numbers up to the scores, then 40 digits."""
    keys, queries, values = (product(X, w) for w in (W_K, W_Q, W_V))
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


BY_HAND = compute_by_hand()


def make_film(kinds: Any = ("human", "painful"), **changed: Any) -> list[Any]:
    tensors = {name: np.array(one, float) for name, one in (BY_HAND | changed).items()}
    del tensors["powers"]
    parameters = [np.array(one, float) for one in (W_K, W_Q, W_V)]
    return film_search(
        WORDS, COMPONENTS, list(kinds), ASKER, inputs=X, parameters=parameters, **tensors
    )


FILM = [film_inputs(WORDS, COMPONENTS, X, ASKER), *make_film()]


def fixed(numbers: Any) -> list[str]:
    return [f"{float(one):.4f}" for one in numbers]


def flat(rows: Any) -> list[Any]:
    return [one for row in rows for one in row]


def whole(rows: Any) -> list[str]:
    return [str(one) for one in flat(rows)]


def list_by_key(n: int, lang: str = "en") -> dict[str, Any]:
    root = etree.fromstring(FILM[n].svg(lang))
    keyed = [one for one in root.iter() if one.get("data-key")]
    found = {one.get("data-key"): one for one in keyed}
    assert len(found) == len(keyed)  # a key names one part
    return found


def read_numbers(n: int, pattern: str) -> list[str]:
    """What stands in the cells whose keys fit, in their order."""
    found = list_by_key(n)
    keys = sorted(key for key in found if re.fullmatch(pattern, key))
    return ["".join(found[key].itertext()) for key in keys]


def test_numbers_are_those_by_hand() -> None:
    t, i = BY_HAND, ASKER
    assert read_numbers(0, r"x\d\dt") == whole(X)
    assert read_numbers(1, r"[kqv]w\d\dt") == whole([*W_K, *W_Q, *W_V])
    assert read_numbers(1, r"[kqv]1\dt") == whole([t["keys"][i], t["queries"][i], t["values"][i]])
    for letter, name in (("k", "keys"), ("q", "queries"), ("v", "values")):
        assert read_numbers(2, rf"{letter}\d\dt") == whole(t[name])
    assert read_numbers(3, r"over\d\dt") == whole([t["queries"][i]] * 3)
    assert read_numbers(3, r"s\dt") == whole([t["scores"][i]]) == ["3", "0", "3"]
    terms = ["3 × 1 + 0 × 0 =", "3 × 0 + 0 × 1 =", "3 × 1 + 0 × 0 ="]
    assert read_numbers(3, r"product\d") == terms
    assert read_numbers(4, r"p\dt") == fixed(t["powers"][i])
    assert f"{float(sum(t['powers'][i])):.4f}" in read_numbers(4, "divided")[0]
    for n in (4, 5, 6):
        assert read_numbers(n, r"a\dt") == fixed(t["weights"][i])
    for n in (5, 6):
        assert read_numbers(n, r"v\d\dt") == fixed(flat(t["weighted"][i]))
    assert read_numbers(6, r"o\dt") == fixed(t["outputs"][i])
    others = [0, 2]
    assert read_numbers(7, r"a\d\dt") == fixed(flat(t["weights"][j] for j in others))
    assert read_numbers(7, r"o\d\dt") == fixed(flat(t["outputs"][j] for j in others))


def test_lengths_are_those_by_hand() -> None:
    """Exponentials are as long as they are large, weights fill one bar, values are as thick."""
    weights = [float(one) for one in BY_HAND["weights"][ASKER]]
    powers = [float(one) for one in BY_HAND["powers"][ASKER]]

    def measure(n: int, key: str, name: str) -> float:
        return float(list_by_key(n)[key].get(name))

    long = [measure(4, f"p{j}", "width") for j in range(3)]
    assert long[1] / long[0] == pytest.approx(powers[1] / powers[0], rel=0.01)
    parts = [measure(4, f"a{j}", "width") for j in range(3)]
    assert np.array(parts) / sum(parts) == pytest.approx(weights, abs=2e-4)
    assert sum(parts) == pytest.approx(WIDTH - 16, abs=0.05)
    for n in (5, 6):
        high = {key: measure(n, key, "height") for key in ("a0", "a1", "a2", "v00", "v10", "v20")}
        layers = [high[f"v{j}0"] for j in range(3)]
        assert np.array(layers) / sum(layers) == pytest.approx(weights, abs=2e-4)
        assert layers == [high[f"a{j}"] for j in range(3)]
        tops = [measure(n, f"v{j}1", "y") for j in range(3)]
        assert np.diff(tops) == pytest.approx(layers[:2], abs=0.02)


def test_parts_come_from_parts_that_are_there() -> None:
    for n in range(1, STEPS):
        before, after = list_by_key(n - 1), list_by_key(n)
        assert set(before) & set(after), n
        for key, one in after.items():
            for source in (one.get("data-from") or "").split():
                assert source in before or source in after, (n, key, source)
        named = [one for one in after.values() if one.get("data-from")]
        assert all(one.get("data-key") not in before for one in named)
    assert list_by_key(6)["o0"].get("data-from") == "v00 v10 v20"
    assert list_by_key(3)["over20"].get("data-from") == "q10"


def test_a_number_has_a_halo_where_it_is_larger_than_its_cell() -> None:
    """On a dark cell an outline in the colour of the page would blur it."""
    for n in range(STEPS):
        parts = list_by_key(n)
        for key, one in parts.items():
            cell = parts.get(key.removesuffix("t"))
            if key.endswith("t") and cell is not None and cell.tag.endswith("rect"):
                x, wide, high = (float(cell.get(name)) for name in ("x", "width", "height"))
                fits = x < float(one.get("x")) < x + wide and high > 14
                plain = one.get("stroke") is None
                assert plain == fits or one.get("text-anchor") == "start", (n, key)
                assert plain or one.get("opacity") is None, (n, key)  # no line shows through
    assert list_by_key(5)["v10t"].get("stroke")  # 0.0243, pressed almost flat


@each_language
def test_all_drawings_have_one_size_and_hold_their_text(lang: str) -> None:
    drawings = [etree.fromstring(one.svg(lang)) for one in FILM]
    for drawing in drawings:
        assert_text_fits(drawing, 14)
    assert len({drawing.get("viewBox") for drawing in drawings}) == 1


@each_language
def test_what_is_drawn_is_told(lang: str) -> None:
    for n, figure in enumerate(FILM):
        shown = {key: one for key, one in list_by_key(n, lang).items() if not one.get("opacity")}
        drawn = " ".join("".join(one.itertext()) for one in shown.values())
        numbers = set(re.findall(r"\d+(?:\.\d+)?", drawn))
        told = set(re.findall(r"\d+(?:\.\d+)?", figure.alt(lang)))
        assert numbers
        assert numbers <= told, (n, numbers - told)


@pytest.mark.parametrize(
    "name", ["keys", "queries", "values", "scores", "weights", "weighted", "outputs"]
)
def test_a_tensor_that_does_not_follow_is_refused(name: str) -> None:
    moved = np.array(BY_HAND[name], float)
    moved.flat[-1] += 0.01
    with pytest.raises(ValueError, match=rf"^{name} must be \[\[.*\]\], got \[\["):
        make_film(**{name: moved})


def test_what_has_no_room_is_refused() -> None:
    with pytest.raises(ValueError, match=r"inputs must be at most \(3, 4\).*got \(4, 4\)"):
        film_inputs("abcd", COMPONENTS, np.ones((4, 4)), 0)
    with pytest.raises(ValueError, match=r"with a name for each row and column, got \(3, 4\)"):
        film_inputs(WORDS, COMPONENTS[:3], X, 0)
    with pytest.raises(ValueError, match="asker must be one of 3 words, got 3"):
        film_inputs(WORDS, COMPONENTS, X, 3)
    with pytest.raises(ValueError, match=r"values the 1 that have names, got \(2, 2\)"):
        make_film(kinds=["human"])


def test_labels_are_spread() -> None:
    assert spread([10, 90], 20, 0, 100) == [10, 90]
    assert np.diff(spread([50, 50, 50, 50], 20, 0, 100)).min() >= 20
    assert spread([99, 99], 30, 0, 100) == [70, 100]


def test_the_text_of_a_step_stands_with_its_drawing() -> None:
    root = Element("div")
    film = SubElement(root, "div", {"class": "film"})
    for tag, name in [("div", "output"), ("p", ""), ("div", "guess"), ("div", "output"), ("p", "")]:
        SubElement(film, tag, {"class": name})
    assert lay_out_films(root) == []
    assert [[one.get("class") for one in step] for step in film] == [["output", "said"]] * 2
    assert [one.tag for one in film[0][1]] == ["p", "div"]
    for wrong in ("p", "div"):
        root = Element("div")
        film = SubElement(root, "div", {"class": "film"})
        SubElement(film, wrong, {"class": "output"})
        (fault,) = lay_out_films(root)
        assert fault.startswith("a film begins" if wrong == "p" else "each drawing")


def test_the_script_is_short_and_holds_no_number_of_a_page() -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    assert not re.search(r"\d\.\d{4}|exp|softmax", text)


# --- in a browser -------------------------------------------------------------------------------

# Where the film stands when neither the page nor the film has moved for a while.
REST = """async () => {
  const film = document.querySelector(".film").film;
  for (let n = 0, still = 0, last; n < 600 && still < 12; n += 1) {
    await new Promise((done) => requestAnimationFrame(done));
    const now = `${scrollY} ${film.place}`;
    still = now === last ? still + 1 : 0;
    last = now;
  }
  return film.place;
}"""
# What a reader sees of the parts of a kind: text, and place and size in units of the drawing.
SEEN = """(pattern) => {
  const film = document.querySelector(".film").film;
  const svg = film.drawing(Math.ceil(film.place));
  const { left, top, width } = svg.getBoundingClientRect();
  const unit = width / svg.viewBox.baseVal.width;
  return [...svg.querySelectorAll("[data-key]")]
    .filter((one) => new RegExp(`^${pattern}$`).test(one.dataset.key))
    .map((one) => {
      const box = one.getBoundingClientRect();
      const sizes = [box.left - left, box.top - top, box.width, box.height];
      return [one.textContent, ...sizes.map((size) => size / unit)];
    });
}"""


SCROLL = """([n, height]) => {
  const film = document.querySelector(".film").film;
  const { top } = film.steps[n].querySelector(".said > *").getBoundingClientRect();
  scrollBy({ top: top - height * innerHeight, behavior: "instant" });
}"""
ARRIVED = """(n) => {
  const top = document.querySelector(".film").film.findTop(n);
  return top > 0 && top < 0.64 * innerHeight;
}"""


def open_film(visit: Visit, lang: str = "en", **options: Any) -> Any:
    tab = visit(make_path(lang, "eight-steps"), **options)
    tab.wait_for_function("document.querySelector('.film').film")
    return tab


def go(tab: Any, step: int) -> float:
    """Scroll so far that a step, from 0, is read."""
    tab.evaluate("n => document.querySelector('.film').film.goTo(n)", step)
    tab.wait_for_function(ARRIVED, arg=step, timeout=5000)
    return float(tab.evaluate(REST))


@each_language
def test_three_states_are_those_of_the_package(lang: str, visit: Visit) -> None:
    """At the scores, the weights and the output; by `attention`'s own softmax, not by this film."""
    tab = open_film(visit, lang, reduced_motion="reduce")
    keys, query = np.array(X) @ np.array(W_K), (np.array(X) @ np.array(W_Q))[ASKER]
    scores = keys @ query
    weights = package_softmax(scores.astype(float))
    output = weights @ (np.array(X) @ np.array(W_V))
    assert go(tab, 3) == 3
    assert [float(one[0]) for one in tab.evaluate(SEEN, r"s\dt")] == scores.tolist()
    assert go(tab, 4) == 4
    assert [one[0] for one in tab.evaluate(SEEN, r"a\dt")] == fixed(weights)
    wide = np.array([one[3] for one in tab.evaluate(SEEN, r"a\d")])
    assert wide / wide.sum() == pytest.approx(weights, abs=3e-3)
    assert go(tab, 5) == 5
    high = np.array([one[4] for one in tab.evaluate(SEEN, r"v\d0")])
    assert high / high.sum() == pytest.approx(weights, abs=5e-3)
    assert go(tab, 6) == 6
    assert [one[0] for one in tab.evaluate(SEEN, r"o\dt")] == fixed(output)


def test_between_two_steps_a_number_is_on_its_way(visit: Visit) -> None:
    """The values, from the right to where they are pressed; back is the same way."""
    tab = open_film(visit)
    go(tab, 4)
    assert tab.evaluate("document.querySelector('.film').film.place") == pytest.approx(4, abs=0.01)
    start = tab.evaluate(SEEN, r"v20")[0]
    go(tab, 5)
    end = tab.evaluate(SEEN, r"v20")[0]
    low, high = sorted([start[4], end[4]])
    shares = []
    for share in (0.4, 0.5, 0.6):
        tab.evaluate(
            "place => Object.assign(document.querySelector('.film').film, { place }).show()",
            4 + share,
        )
        now = tab.evaluate(SEEN, r"v20")[0]
        shares.append((now[1] - start[1]) / (end[1] - start[1]))
        assert low - 1 <= now[4] <= high + 1
    assert 0 < shares[0] < shares[1] < shares[2] < 1


def test_the_film_comes_to_rest_in_whole_scenes(visit: Visit) -> None:
    """Wherever the reader stops: between two steps the parts of both would lie on each other."""
    tab = open_film(visit)
    go(tab, 4)
    places = []
    for height in (0.8, 0.7, 0.65, 0.55, 0.5):  # where the text of step 6 has come to
        tab.evaluate(SCROLL, [5, height])
        tab.wait_for_function("document.querySelector('.film').film.rests")
        places.append(tab.evaluate(REST))
    assert {*places} == {4, 5}
    assert places == sorted(places)
    assert tab.evaluate("document.querySelectorAll('.film > .scene.now').length") == 1
    go(tab, 4)
    assert tab.evaluate("document.getAnimations().length") == 0
    assert tab.evaluate("document.querySelectorAll('.film svg > :not([data-key])').length") == 0


@pytest.mark.parametrize(("width", "height"), [(390, 844), (390, 600), (820, 1180), (1280, 800)])
def test_the_drawing_stays_in_sight_and_leaves_room(width: int, height: int, visit: Visit) -> None:
    tab = open_film(visit, width=width)
    tab.set_viewport_size({"width": width, "height": height})
    for step in range(STEPS):
        go(tab, step)
        drawing = tab.locator(".film > .scene.read > .output svg").bounding_box()
        text = tab.locator(".film > .scene.read > .said > *").first.bounding_box()
        assert drawing["y"] >= 0
        assert drawing["y"] + drawing["height"] <= height
        assert drawing["x"] + drawing["width"] <= width
        if width < 960:
            # At the first step it may not have reached the top yet.
            assert not step or drawing["y"] + drawing["height"] <= 0.45 * height + 1
            assert text["y"] >= drawing["y"] + drawing["height"]
        else:
            assert text["x"] + text["width"] <= drawing["x"]
        assert 0 <= text["y"] < height - 20, step
    assert tab.evaluate("document.documentElement.scrollWidth") == width


def test_less_motion_means_jumps(visit: Visit) -> None:
    tab = open_film(visit, reduced_motion="reduce")
    go(tab, 2)
    places = set()
    for _ in range(40):
        tab.mouse.wheel(0, 40)
        places.add(tab.evaluate(REST))
        assert tab.evaluate("document.querySelector('.film').film.change") is None
    assert len(places) > 1
    assert all(place == int(place) for place in places)


@each_language
def test_each_step_is_said_before_its_text(lang: str, visit: Visit) -> None:
    """In the order of the page, each drawing with its own words, whichever of them shows."""
    tab = open_film(visit, lang)
    told = tab.locator(".film").aria_snapshot()
    drawings = [one.get_attribute("aria-label") for one in tab.locator(".film svg").all()]
    places = [told.replace('\\"', '"').find(one[:40]) for one in drawings]
    assert len(places) == STEPS
    assert all(place >= 0 for place in places)
    assert places == sorted(places)


def test_keys_lead_from_step_to_step(visit: Visit) -> None:
    tab = open_film(visit, reduced_motion="reduce")
    rail = tab.locator(".film > .rail input")
    rail.focus()
    for _ in range(4):
        tab.keyboard.press("ArrowRight")
        tab.evaluate(REST)
    assert tab.evaluate(REST) == 4
    assert rail.input_value() == "4"
    assert rail.get_attribute("aria-valuetext").startswith("Step 5")
    assert rail.get_attribute("aria-label") == "The eight steps for one word"
    tab.locator(".film > .scene.read > .said").click()
    for _ in range(30):
        tab.keyboard.press("ArrowDown")
        if tab.evaluate(REST) > 4:
            break
    assert tab.evaluate(REST) == 5


@pytest.mark.parametrize("width", [820, 1280])
def test_the_slider_stays_below_the_drawing(width: int, visit: Visit) -> None:
    """While the film comes, while it stays and while it goes."""
    tab = open_film(visit, width=width, reduced_motion="reduce")
    apart = tab.evaluate("""async () => {
      const film = document.querySelector(".film");
      const top = film.getBoundingClientRect().top + scrollY;
      const found = [];
      for (let y = top - 600; y < top + film.offsetHeight; y += 150) {
        scrollTo({ top: y, behavior: "instant" });
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const drawn = film.querySelector(".scene.now > .output svg").getBoundingClientRect();
        found.push(film.querySelector(".rail").getBoundingClientRect().top - drawn.bottom);
      }
      return found;
    }""")
    assert len(apart) > 20
    assert min(apart) > -2
    assert max(apart) < 300


@pytest.mark.parametrize("width", [390, 1280])
def test_opened_tools_lie_over_nothing_and_change_no_drawing(width: int, visit: Visit) -> None:
    """They scroll with the text of their step, however many are open."""
    tab = open_film(visit, width=width, reduced_motion="reduce")
    go(tab, 4)
    summary = tab.locator(".film > .scene.read .tools summary").first
    before = summary.bounding_box()
    summary.click()
    assert tab.evaluate(REST) == 4
    assert summary.bounding_box() == before
    tab.evaluate("for (const one of document.querySelectorAll('.film details')) one.open = true")
    for step in range(STEPS):
        tab.evaluate("n => document.querySelector('.film').film.goTo(n)", step)
        assert tab.evaluate(REST) == step
    parts = [one.bounding_box() for one in tab.locator(".film .tools, .film .said").all()]
    assert len(parts) == 2 * STEPS
    assert all(a["y"] + a["height"] <= b["y"] + 1 for a, b in pairwise(parts))
    drawing = tab.locator(".film > .scene.read figure").bounding_box()
    assert width == 390 or all(a["x"] + a["width"] <= drawing["x"] for a in parts)


# Where the focus is: in the film, and whether something lies over it.
FOCUSED = """() => {
  const one = document.activeElement;
  const { left, top, width, height } = one.getBoundingClientRect();
  const seen = document.elementFromPoint(left + width / 2, top + height / 2);
  const film = document.querySelector(".film");
  const html = one.outerHTML.slice(0, 120);
  return [film.contains(one), Boolean(seen) && (one.contains(seen) || seen.contains(one)), html];
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_lies_over_what_keys_reach(width: int, visit: Visit) -> None:
    tab = open_film(visit, width=width)
    for key, first in (("Tab", "first"), ("Shift+Tab", "last")):
        stops = tab.locator(":is(.film > .scene) :is(summary, a[href])")
        getattr(stops.filter(visible=True), first).focus()
        reached = 0
        while True:
            tab.evaluate(REST)
            inside, seen, html = tab.evaluate(FOCUSED)
            if not inside:
                break
            assert seen, (key, html)
            reached += 1
            tab.keyboard.press(key)
        assert reached > STEPS


@each_language
@pytest.mark.parametrize("media", ["script", "print"])
def test_without_scripts_and_on_paper_drawings_and_texts_follow_each_other(
    media: str, lang: str, visit: Visit
) -> None:
    tab = visit(make_path(lang, "eight-steps"), java_script_enabled=media == "print")
    if media == "print":
        tab.emulate_media(media="print")
        tab.set_viewport_size({"width": 695, "height": 900})
    parts = tab.locator(".film > .scene > .output, .film > .scene > .said").all()
    assert len(parts) == 2 * STEPS
    boxes = [one.bounding_box() for one in parts]
    if media == "script":
        assert all(a["y"] + a["height"] <= b["y"] + 1 for a, b in pairwise(boxes))
    opacity = "one => getComputedStyle(one).opacity"
    assert all(one.evaluate(opacity) == "1" for one in parts)
    assert all(box["height"] > 20 for box in boxes)


@each_language
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_everyone_can_read_it(width: int, scheme: str, lang: str, visit: Visit) -> None:
    tab = open_film(visit, lang, width=width, color_scheme=scheme)
    tab.add_style_tag(content=WHOLE)
    tab.evaluate(NEAR)
    go(tab, 4)
    tab.evaluate(SETTLED)
    tab.evaluate(AXE_SCRIPT)
    assert tab.evaluate(AXE) == []
