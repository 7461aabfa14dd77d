"""Ribbons from words to the word that asks: what they hold, and their use in a browser."""

from __future__ import annotations

import re
from math import inf
from typing import Any

import pytest
from bs4 import BeautifulSoup
from lxml import etree

from attention_docs.figures import Figure, ribbons
from attention_docs.figures.figure import Language
from tests.drawings import assert_text_fits, parse_subpaths

WORDS = ["he", "locks", "the", "big", "lock"]
WEIGHTS = [
    [1.0, 0.0, 0.0, 0.0, 0.0],
    [0.75, 0.25, 0.0, 0.0, 0.0],
    [0.25, 0.25, 0.5, 0.0, 0.0],
    [0.25, 0.25, 0.25, 0.25, 0.0],
    [0.0625, 0.125, 0.6875, 0.0625, 0.0625],
]
SCORES = [[2.5 * j - i if j <= i else -inf for j in range(5)] for i in range(5)]
VALUES = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.5], [0.0, 0.0]]
OUTPUTS = [[row[0], row[2] + row[3] / 2] for row in WEIGHTS]
EN = Language("en")
ZH = Language(
    "zh",
    {"he": "他", "locks": "锁上", "the": "那把", "big": "大", "lock": "锁"}
    | {"verb": "动词", "noun": "名词"},
)
BOTH = pytest.mark.parametrize("lang", [EN, ZH], ids=["en", "zh"])


def make_figure(**changed: Any) -> Figure:
    """The example; what is changed to None is left out."""
    settings = {
        "scores": SCORES,
        "values": VALUES,
        "outputs": OUTPUTS,
        "names": ["verb", "noun"],
        "first": 4,
    }
    kept = {name: one for name, one in (settings | changed).items() if one is not None}
    return ribbons(WORDS, kept.pop("weights", WEIGHTS), **kept)


def read(figure: Figure, lang: Language = EN) -> Any:
    return BeautifulSoup(figure.svg(lang), "lxml")


def draw(figure: Figure, lang: Language = EN) -> list[Any]:
    """The drawing of each word that asks."""
    found = re.findall(r"<svg.*?</svg>", figure.svg(lang), re.S)
    return [etree.fromstring(one) for one in found]


def fixed(numbers: list[float]) -> list[str]:
    return ["−∞" if one == -inf else f"{one:.2f}".replace("-", "−") for one in numbers]


def list_texts(root: Any, name: str) -> list[str]:
    return ["".join(one.itertext()) for one in root.iterfind(f".//*[@class='{name}']//{{*}}text")]


@BOTH
def test_every_number_is_in_the_drawing_and_in_the_text(lang: Language) -> None:
    figure = make_figure()
    for i, root in enumerate(draw(figure, lang)):
        assert_text_fits(root, 14)
        assert list_texts(root, "weighted") == fixed(WEIGHTS[i])
        assert list_texts(root, "scored") == fixed(SCORES[i])
        names = [lang.translate_label(one) for one in ("verb", "noun")]
        pairs = zip(names, fixed(OUTPUTS[i]), strict=True)
        assert list_texts(root, "summed") == [text for pair in pairs for text in pair]
        label = root.get("aria-label")
        words = [lang.translate_label(one) for one in WORDS]
        for numbers in (WEIGHTS[i], SCORES[i]):
            pairs = zip(words, fixed(numbers), strict=True)
            assert {"en": ", ", "zh": "、"}[lang.name].join(map(" ".join, pairs)) in label
        assert figure.alt(lang).splitlines()[i] == label


def test_a_language_draws_its_own_words() -> None:
    words = re.compile("|".join([*WORDS, "verb", "noun", "Who"]))
    drawn = read(make_figure(), ZH).get_text() + make_figure().alt(ZH)
    assert not words.search(drawn)
    assert "支持名词 0.5" in drawn
    assert "支持动词" in drawn


@pytest.mark.parametrize("i", range(5))
def test_ribbons_are_as_wide_as_their_weights_and_fill_the_word(i: int) -> None:
    """Above they lie in the middle of their words, below side by side."""
    root = draw(make_figure())[i]
    shapes = [parse_subpaths(one.get("d"))[0] for one in root.iterfind(".//*[@class='ribbon']")]
    boxes = [
        one for one in root.iterfind(".//{*}path") if "--role-query" in (one.get("stroke") or "")
    ]
    (asking,) = ([x for x, _ in parse_subpaths(one.get("d"))[0]] for one in boxes)
    wide = max(asking) - min(asking)
    end = min(asking)
    words = [one for one in root.iterfind(".//{*}text[@font-weight='600']") if one.text in WORDS]
    for shape, weight, word in zip(shapes, WEIGHTS[i], words, strict=False):
        (left, top), *_ = shape
        right = shape[-1][0]
        bottoms = [x for x, y in shape if y > top + 100]
        assert (left + right) / 2 == pytest.approx(float(word.get("x")), abs=0.02)
        if weight == 0:
            assert right - left == max(bottoms) - min(bottoms) == 0
            continue
        assert right - left == pytest.approx(weight * wide, abs=0.02)
        assert min(bottoms) == pytest.approx(end, abs=0.02)
        end += weight * wide
        assert max(bottoms) == pytest.approx(end, abs=0.02)
    assert end == pytest.approx(max(asking), abs=0.05)


def test_a_word_that_may_not_look_has_no_line() -> None:
    """With a score of −∞ a word is out of reach; the others have a line each."""
    for i, root in enumerate(draw(make_figure())):
        lines = root.findall(".//*[@class='scored']//{*}path")
        assert len(lines) == i + 1


def test_a_weight_of_zero_has_no_ribbon() -> None:
    drawn = ribbons(["a", "b"], [[1.0, 0.0], [0.5, 0.5]]).svg("en")
    first, second = re.findall("<svg.*?</svg>", drawn)
    assert (first.count('stroke="none"'), second.count('stroke="none"')) == (1, 0)


def test_bars_are_as_long_as_the_output() -> None:
    for root, output in zip(draw(make_figure()), OUTPUTS, strict=True):
        shapes = [parse_subpaths(one.get("d"))[0] for one in root.iterfind(".//*[@class='bar']")]
        long = [max(x for x, _ in shape) - min(x for x, _ in shape) for shape in shapes]
        whole = sum(long) / sum(max(one, 0.005) for one in output)
        assert long == pytest.approx([whole * one for one in output], abs=3)


def test_captions_say_where_most_goes() -> None:
    captions = [one.get_text() for one in read(make_figure()).select("figcaption")]
    assert captions[1] == (
        "“locks” (word 2). It gives “he” (word 1) the largest weight, 0.75. "
        "The average with these weights is 0.75 for verb and 0.00 for noun."
    )
    tied = "It gives “he” (word 1), “locks” (word 2), “the” (word 3) and “big” (word 4) the largest"
    assert f"{tied} weights, 0.25 each." in captions[3]
    even = ribbons(["a", "b"], [[0.5, 0.5], [1.0, 0.0]])
    first, second = (one.get_text() for one in read(even).select("figcaption"))
    assert first == "“a” (word 1). It gives every word the same weight, 0.50."
    assert second == "“b” (word 2). It gives “a” (word 1) the largest weight, 1.00."


def test_each_word_can_be_chosen_and_each_stage_that_there_is() -> None:
    soup = read(make_figure())
    words = soup.select("input[type=radio]")
    assert [one["value"] for one in words] == ["1", "2", "3", "4", "5"]
    assert [one["value"] for one in words if one.has_attr("checked")] == ["5"]
    assert len({one["name"] for one in words}) == 1
    labels = [one.get_text() for one in soup.select("fieldset label")]
    assert labels == [f"“{word}” (word {i})" for i, word in enumerate(WORDS, 1)]
    assert soup.fieldset.legend.get_text() == "Which word asks?"
    assert [one["data-at"] for one in soup.select(".frame.shown")] == ["5"]
    stages = [(one["data-stage"], one.get_text()) for one in soup.select("button")]
    assert stages == [("1", "query"), ("2", "scores"), ("3", "weights"), ("4", "output")]
    bare = ribbons(WORDS, WEIGHTS)
    assert [one.get_text() for one in read(bare).select("button")] == ["query", "weights"]
    other = read(make_figure(scores=None)).select_one("input")
    assert other["name"] != words[0]["name"]
    assert make_figure().frame("en", "2") in make_figure(first=0).svg("en")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": WEIGHTS[:4]}, r"weights must be \(5, 5\), got"),
        ({"weights": [[0.5] * 5] * 5}, "weights must be at least 0, with sum 1 in each row"),
        ({"scores": SCORES[:3]}, r"scores must be \(5, 5\), got"),
        ({"values": None}, "values, outputs and names must come together"),
        ({"values": [[1.0]] * 5}, r"values must be \(5, 2\), got"),
        ({"outputs": VALUES}, "outputs must be weights times values, not negative, got"),
        ({"first": 5}, "first must be one of 5 words, got 5"),
    ],
)
def test_errors_say_wanted_and_got(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_figure(**changed)


# In a browser, on a page that has no other ribbons.
PAGE = "/positions/"


def find_visible(tab: Any) -> list[str]:
    """The places of the drawings that show."""
    return tab.locator("#out-saw-weights .frame").evaluate_all(
        "all => all.filter(one => one.checkVisibility({visibilityProperty: true}))"
        ".map(one => one.dataset.at)"
    )


def find_stage(tab: Any) -> str | None:
    return tab.locator("#out-saw-weights .ribbons").get_attribute("data-stage")


def test_words_are_chosen_by_mouse_touch_and_keyboard(visit: Any) -> None:
    tab = visit(PAGE, reduced_motion="reduce")
    assert find_visible(tab) == ["4"]
    tab.locator("#out-saw-weights").scroll_into_view_if_needed()
    tab.wait_for_load_state("networkidle")
    tab.evaluate("document.fonts.ready")
    box = tab.locator("#out-saw-weights .frame.shown svg").bounding_box()
    tab.mouse.click(box["x"] + 0.37 * box["width"], box["y"] + 0.7 * box["height"])
    assert find_visible(tab) == ["2"]
    tab.keyboard.press("ArrowLeft")
    assert find_visible(tab) == ["1"]
    caption = tab.locator("#out-saw-weights .frame.shown figcaption").text_content()
    assert caption.startswith("“I” (word 1).")


def test_a_chosen_word_gets_the_ribbons_of_its_own(visit: Any) -> None:
    """They move there and end where the HTML has them."""
    tab = visit(PAGE, reduced_motion="no-preference")
    outlines = "all => all.map(one => one.getAttribute('d'))"
    wanted = tab.locator("#out-saw-weights [data-at='2'] .ribbon").evaluate_all(outlines)
    tab.locator("#out-saw-weights input[value='2']").check()
    ribbon = tab.locator("#out-saw-weights [data-at='2'] .ribbon")
    tab.wait_for_function(
        "wanted => [...document.querySelectorAll(\"#out-saw-weights [data-at='2'] .ribbon\")]"
        ".every((one, i) => one.getAttribute('d') === wanted[i])",
        arg=wanted,
    )
    assert ribbon.evaluate_all(outlines) == wanted
    assert find_stage(tab) == "3"


def test_what_is_drawn_anew_meanwhile_stays(visit: Any) -> None:
    """A live page draws the same word with other weights, and says so by an event of its own."""
    tab = visit(PAGE, reduced_motion="no-preference")
    tab.locator("#out-saw-weights input[value='2']").check()
    drawn = """async () => {
      const ribbons = [...document.querySelectorAll("#out-saw-weights [data-at='2'] .ribbon")];
      const wanted = "M 1 2 C 3 4 5 6 7 8 L 9 10 C 11 12 13 14 15 16 Z";
      for (const one of ribbons) one.setAttribute("d", wanted);
      const input = document.querySelector("#out-saw-weights input");
      input.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((done) => setTimeout(done, 700));
      return ribbons.map((one) => one.getAttribute("d") === wanted);
    }"""
    assert tab.evaluate(drawn) == [True] * 4


def test_the_picture_is_complete_until_a_stage_is_chosen(visit: Any) -> None:
    tab = visit(PAGE, reduced_motion="reduce")
    assert find_stage(tab) == "3"
    assert tab.locator("#out-saw-weights [aria-current]").get_attribute("data-stage") == "3"
    opacity = "one => Number(getComputedStyle(one).opacity)"

    def read_opacities() -> list[float]:
        names = ("scored", "ribbon", "weighted")
        return [
            tab.locator(f"#out-saw-weights .shown .{one}").first.evaluate(opacity) for one in names
        ]

    # What is still to come shows its place.
    stages = {"1": [0, 0.15, 0], "2": [1, 0.15, 0], "3": [0, 1, 1]}
    assert read_opacities() == [0, 1, 1]
    for stage, wanted in stages.items():
        tab.locator(f"#out-saw-weights button[data-stage='{stage}']").click()
        assert read_opacities() == wanted


def test_without_scripts_the_first_drawing_stands_there_complete(visit: Any) -> None:
    tab = visit(PAGE, java_script_enabled=False)
    tab.locator("#out-saw-weights").scroll_into_view_if_needed()
    frames = tab.locator("#out-saw-weights .frame")
    frames.nth(3).wait_for(state="visible")
    shown = [frames.nth(n).is_visible() for n in range(4)]
    assert shown == [False, False, False, True]
    assert not tab.locator("#out-saw-weights fieldset").is_visible()
    assert not tab.locator("#out-saw-weights button[data-stage]").first.is_visible()
