"""What a reader sees of the built pages in a browser: figures, controls, tools and columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attention_docs.figures import Frame, heatmap, stepper
from tests.conftest import LANGUAGES, SETTINGS, find_page_folder, parse_html
from tests.test_browser import CHAPTERS, NEAR, WHOLE, make_path
from tests.test_live_pages import needs_live

Visit = Callable[..., Any]

each_chapter = pytest.mark.parametrize("slug", CHAPTERS)


def open_whole(visit: Visit, slug: str, width: int = 1280, **options: Any) -> Any:
    """A page on which everything is laid out, far from the window too."""
    tab = visit(make_path("en", slug), width=width, **options)
    tab.add_style_tag(content=WHOLE)
    tab.evaluate(NEAR)
    return tab


# --- steppers


# Of each stepper with buttons: the widths of what fades and of the frame in whose place it fades.
FADING = """async () => {
  const found = [];
  for (const box of document.querySelectorAll(".stepper:not(.ribbons)")) {
    const next = box.querySelector("input[type=radio]:not(:checked)");
    if (!next || !box.checkVisibility()) continue;
    next.click();
    const width = (part) => Math.round(part.getBoundingClientRect().width);
    const copy = box.querySelector(".fading"); // none where both frames are drawn alike
    if (copy)
      found.push([box.parentElement.closest("[id]").id, width(copy),
        width(box.querySelector(".frame.shown"))]);
    await new Promise((done) => setTimeout(done, 300));
  }
  return found;
}"""


@each_chapter
def test_what_fades_is_as_wide_as_its_frame(slug: str, visit: Visit) -> None:
    tab = open_whole(visit, slug, reduced_motion="no-preference")
    for name, fading, frame in tab.evaluate(FADING):
        assert fading == frame, name


@pytest.mark.parametrize("lang", LANGUAGES)
@each_chapter
def test_a_button_carries_the_value_that_its_caption_names(
    lang: str, slug: str, site: Path
) -> None:
    """No index: a number on a button is said again where the frame says its setting."""
    page = parse_html(find_page_folder(site, lang, slug) / "index.html")
    for box in page.find_class("stepper"):
        if "ribbons" in box.get("class"):
            continue
        for n, group in enumerate(box.iterfind(".//fieldset")):
            choices = group.findall("label")
            for i, choice in enumerate(choices, start=1):
                (last, *_) = reversed(choice.find("span").findall("span"))
                value = last.text_content().removeprefix(" · ")
                if not value.isdecimal():
                    continue
                captions = [
                    one.find(".//strong").text_content()
                    for one in box.find_class("frame")
                    if one.get("data-at").split()[n] == str(i)
                ]
                assert captions
                said = [one for one in captions if re.search(rf"(?<!\d){value}(?!\d)", one)]
                assert said == captions, (value, captions)


def test_a_choice_without_a_label_is_refused() -> None:
    frame = Frame(("1",), "a", (heatmap([[1]], spec="d"),), "b")
    with pytest.raises(ValueError, match=r"every choice must have a label, got \[None\]"):
        stepper("x", [("key", [None])], [frame])


def make_stepper(*sizes: int, roles: bool = False) -> str:
    """A stepper with so many choices of each control, as HTML."""
    places: list[tuple[str, ...]] = [()]
    for size in sizes:
        places = [(*one, str(i + 1)) for one in places for i in range(size)]
    frames = [Frame(at, " ".join(at), (heatmap([[1]], spec="d"),), "b") for at in places]
    controls = [(f"c{n}", list("abcdefgh"[:size])) for n, size in enumerate(sizes)]
    stages = [["key"]] * sizes[-1] if roles else []
    return stepper("x", controls, frames, stages).svg("en")


@pytest.mark.parametrize(
    ("sizes", "roles", "printed"),
    [
        ((3,), False, ["1", "2", "3"]),
        ((3, 3, 4), False, ["1 1 1", "1 1 4", "1 3 1", "3 1 1"]),
        ((2, 3), True, ["1 1", "1 2", "1 3"]),
    ],
)
def test_paper_shows_a_few_frames_of_many(
    sizes: tuple[int, ...], roles: bool, printed: list[str]
) -> None:
    shown = re.findall(
        r'class="frame(?: shown)?" data-at="([^"]*)"',
        make_stepper(*sizes, roles=roles),
    )
    assert shown == printed


def test_the_printed_softmax_has_four_charts(visit: Visit) -> None:
    tab = visit(make_path("en", "softmax"))
    tab.emulate_media(media="print")
    shown = tab.locator("#out-control .frame").evaluate_all(
        "all => all.filter((one) => one.checkVisibility()).map((one) => one.dataset.at)"
    )
    assert shown == ["1 1 1", "1 1 4", "1 3 1", "3 1 1"]


def test_back_and_next_belong_to_one_control() -> None:
    assert "data-by" in make_stepper(3)
    assert "data-by" in make_stepper(2, 3, roles=True)
    assert "data-by" not in make_stepper(2, 3)


@each_chapter
def test_weights_are_yellow_in_every_chart(slug: str, site: Path) -> None:
    page = parse_html(find_page_folder(site, "en", slug) / "index.html")
    for chart in page.iterfind(".//svg[@aria-label]"):
        if re.search(r"Bars: (largest )?weight\b", chart.get("aria-label")):
            drawn = str(chart.text_content()) + str([dict(one.attrib) for one in chart.iter()])
            assert "--role-weight-fill" in drawn
            assert "--series-" not in drawn


# At each setting of each stepper: drawings that are wider than their box.
WIDE = """() => {
  const found = new Set();
  for (const fold of document.querySelectorAll("article details")) fold.open = true;
  for (const box of document.querySelectorAll("article .drawing")) {
    const look = () => {
      for (const one of box.querySelectorAll("svg.attention-figure"))
        if (one.checkVisibility() && one.clientWidth > box.clientWidth + 1)
          found.add(`${one.closest("[id]").id}: ${one.clientWidth} px of ${box.clientWidth}`);
    };
    look();
    for (const one of box.querySelectorAll(".stepper-bar input")) {
      for (let at = 0; at <= Number(one.max || 0); at++) {
        if (one.type === "range") one.value = at;
        else one.checked = true;
        one.dispatchEvent(new Event("input", { bubbles: true }));
        look();
      }
    }
  }
  return [...found];
}"""


@pytest.mark.parametrize("slug", SETTINGS.navigation.path)
def test_drawings_fit_a_phone(slug: str, visit: Visit) -> None:
    assert open_whole(visit, slug, 390).evaluate(WIDE) == []


# --- what lies over what


# Words that a mouse brings out, and the texts that they lie on.
COVERED = """() => {
  const tools = [...document.querySelectorAll(
    ".output > .tools summary, .result > details.checks > summary")]
    .filter((one) => one.checkVisibility());
  const article = document.querySelector("article");
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const rects = [];
  const range = document.createRange();
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const holder = text.parentElement;
    if (!text.data.trim() || holder.closest(".tools, .checks, .unseen, script")) continue;
    if (!holder.checkVisibility({ visibilityProperty: true })) continue;
    range.selectNodeContents(text);
    for (const one of range.getClientRects()) if (one.width > 1) rects.push([one, text.data]);
  }
  const found = [];
  for (const tool of tools) {
    const at = tool.getBoundingClientRect();
    for (const [one, text] of rects) {
      const x = Math.min(at.right, one.right) - Math.max(at.left, one.left);
      const y = Math.min(at.bottom, one.bottom) - Math.max(at.top, one.top);
      if (x > 1 && y > 4) found.push(`${tool.textContent} lies on ${text.trim().slice(0, 40)}`);
    }
  }
  return [tools.length, found];
}"""


@each_chapter
def test_tools_lie_on_no_text(slug: str, visit: Visit) -> None:
    tab = open_whole(visit, slug)
    tab.add_style_tag(content="article details:not(.tools *) { display: block }")
    count, covered = tab.evaluate(COVERED)
    assert count
    assert covered == []


def test_the_tint_lies_on_its_word(visit: Visit) -> None:
    tab = visit("/positions/", reduced_motion="reduce")
    boxes = tab.locator("#out-saw-weights .frame.shown svg path").evaluate_all(
        """all => all.filter((one) => /role-(neutral|query)/.test(one.getAttribute("stroke")))
          .map((one) => one.getBoundingClientRect()).map((r) => [r.x, r.y, r.width, r.height])"""
    )
    tints = tab.locator("#out-saw-weights .ribbons-words label").evaluate_all(
        """all => all.map((one) => {
          const box = one.getBoundingClientRect(), tint = getComputedStyle(one, "::after");
          const [left, right, height] = [tint.left, tint.right, tint.height].map(parseFloat);
          return [box.x + left, box.bottom - height, box.width - left - right, height];
        })"""
    )
    assert len(boxes) == len(tints) == 4
    for box, tint in zip(boxes, tints, strict=True):
        assert tint == pytest.approx(box, abs=4)


# --- buttons


# Of each button how it looks: its edge, its corners, whether it is filled or underlined.
LOOKS = """() => [...document.querySelectorAll(
    "article :is(button, a.md-button, .stepper fieldset label > span)")]
  .filter((one) => one.checkVisibility() && !one.matches(
    ".md-code__nav *, .ribbons-stages *, .ribbons-words *, .next-bars *, .spot, .unseen, " +
    ".md-content__button"))
  .map((one) => {
    const style = getComputedStyle(one);
    const paper = ["rgba(0, 0, 0, 0)", getComputedStyle(document.body).backgroundColor];
    const filled = !paper.includes(style.backgroundColor);
    return [style.borderTopWidth, style.borderTopLeftRadius, style.textDecorationLine,
      filled ? "filled" : style.borderTopColor].join(" ");
  })"""


@pytest.mark.parametrize("slug", ["index", "softmax", "eight-steps", "sequences", "review"])
def test_buttons_have_two_looks(slug: str, visit: Visit) -> None:
    """A quiet one, and a filled one: the way on, and what is chosen."""
    tab = visit(make_path("en", slug))
    tab.wait_for_timeout(500)
    looks = set(tab.evaluate(LOOKS))
    assert looks
    assert len({one for one in looks if not one.endswith("filled")}) <= 1, looks
    assert len({one.split()[1] for one in looks}) == 1, looks
    assert all(" none " in one for one in looks), looks


# --- columns


SIDES = """() => [
    ...document.querySelectorAll("article > :is(p, .block, .output, .guess, .result)")]
  .filter((one) => one.checkVisibility() && !one.matches(".opening"))
  .map((one) => one.getBoundingClientRect())
  .map((r) => [Math.round(r.left), Math.round(r.right)])"""


@pytest.mark.parametrize("slug", ["softmax", "sequences"])
def test_on_a_tablet_the_column_is_in_the_middle_and_ends_at_one_edge(
    slug: str, visit: Visit
) -> None:
    tab = open_whole(visit, slug, width=820)
    left, right = tab.evaluate("""() => {
      const r = document.querySelector("article").getBoundingClientRect();
      return [r.left, document.documentElement.clientWidth - r.right];
    }""")
    assert left == pytest.approx(right, abs=1)
    assert left >= 60
    assert len({one for _, one in tab.evaluate(SIDES)}) == 1


def test_the_first_page_uses_its_width(visit: Visit) -> None:
    """Below the picture text stands beside its heading; nothing stands at its sides."""
    tab = visit("/")
    tab.wait_for_load_state("networkidle")  # the model's panel takes a little more room then
    assert not any(one.is_visible() for one in tab.locator(".md-sidebar").all())
    heading, text = (tab.locator(one).bounding_box() for one in ("#reading", "#reading + p"))
    assert text["x"] >= heading["x"] + heading["width"]
    assert abs(text["y"] - heading["y"]) < 40
    assert text["x"] + text["width"] > 0.8 * 1280


@pytest.mark.parametrize("slug", ["eight-steps", "softmax"])
def test_the_contents_mark_the_section_that_was_chosen(slug: str, visit: Visit) -> None:
    tab = visit(make_path("en", slug))
    links = tab.locator(".md-sidebar--secondary a.md-nav__link")
    for n in range(0, links.count() - 1, 3):
        links.nth(n).click()
        wanted = links.nth(n).get_attribute("href")
        tab.wait_for_function(
            """wanted => [...document.querySelectorAll(".md-sidebar--secondary a")]
              .findLast((one) => one.matches(".md-nav__link--active"))
              ?.getAttribute("href") === wanted""",
            arg=wanted,
        )


@pytest.mark.parametrize("lang", LANGUAGES)
@each_chapter
def test_only_wide_tables_without_formulas_above_become_cards(
    lang: str, slug: str, site: Path
) -> None:
    page = parse_html(find_page_folder(site, lang, slug) / "index.html")
    for table in page.xpath("//*[contains(@class, 'table-cards')]/table"):
        (head,) = table.iterfind(".//thead/tr")
        assert len(head) >= 5
        assert not list(head.iter("math"))


@pytest.mark.parametrize("width", [390, 1280])
def test_what_a_fold_names_has_two_lines(width: int, visit: Visit) -> None:
    tab = visit(make_path("en", "scaling"), width=width)
    lines = tab.locator("details.further:not([open]) > summary").evaluate_all(
        "all => all.map((one) => one.offsetHeight / parseFloat(getComputedStyle(one).lineHeight))"
    )
    assert len(lines) > 1
    assert max(lines) < 2.9


# --- guesses


BLUR = "one => getComputedStyle(one).filter"
# Of an output its frame stays, and nothing in it can be read through a blur.
IS_HIDDEN = """one => one.matches("p") ? getComputedStyle(one).filter.startsWith("blur(")
  : [...one.querySelectorAll("svg, table, pre")]
      .every((part) => getComputedStyle(part).opacity === "0")"""
PLACE = """one => [one, one.nextElementSibling ?? one.parentElement].map((part) =>
  [part.offsetLeft, part.offsetTop, part.offsetHeight])"""
OFFER = "one => one.previousElementSibling.querySelector(':scope > .uncover')"
HALF = "#guess-half + .output + p"


def show_covered(visit: Visit, slug: str, guess: str, answer: str, **options: Any) -> Any:
    """A page that a reader has scrolled to a guess, whose answer is blurred."""
    tab = visit(make_path("en", slug), reduced_motion="reduce", **options)
    tab.locator(f"#{guess}").scroll_into_view_if_needed()
    tab.wait_for_selector(f"{answer}.covered")
    assert tab.locator(answer).evaluate(IS_HIDDEN)
    assert tab.locator(".uncover").count()
    return tab


def wait_until_clear(tab: Any, answer: str) -> None:
    """Until it can be read, and nothing before it offers to show it."""
    tab.wait_for_selector(f"{answer}:not(.covered)")
    assert not tab.locator(answer).evaluate(IS_HIDDEN)
    assert not tab.locator(answer).evaluate(OFFER)


def test_what_gives_a_guess_away_waits_for_it(visit: Visit) -> None:
    tab = show_covered(visit, "sequences", "guess-half", HALF)
    tab.locator("#guess-half input").first.press("Space")
    tab.locator("#guess-half button").click()
    wait_until_clear(tab, HALF)
    # Whoever moves the control has looked.
    other = show_covered(visit, "sequences", "guess-half", HALF)
    other.locator("#out-turn .handle").press("ArrowLeft")
    wait_until_clear(other, HALF)
    plain = visit(make_path("en", "sequences"), java_script_enabled=False)
    assert plain.locator(HALF).evaluate(BLUR) == "none"
    assert not plain.locator(".uncover").count()


def test_a_second_figure_that_gives_a_guess_away_waits_too(visit: Visit) -> None:
    """Below the merges stand chips that end in the answer; a covered figure takes little room."""
    tab = show_covered(visit, "tokens", "guess-merges", "#out-merges")
    assert tab.locator("#out-chips").evaluate(IS_HIDDEN)
    boxes = [tab.locator(one).bounding_box() for one in ("#out-merges", "#out-chips")]
    assert all(box["height"] <= 100 for box in boxes)
    button = tab.locator(".uncover").bounding_box()
    assert boxes[0]["y"] < button["y"] < boxes[0]["y"] + boxes[0]["height"] - button["height"]
    tab.locator(".uncover").click()
    wait_until_clear(tab, "#out-merges")
    assert not tab.locator("#out-chips").evaluate(IS_HIDDEN)


def test_the_answer_to_a_guess_is_printed_at_the_end(visit: Visit) -> None:
    paper = show_covered(visit, "sequences", "guess-half", HALF)
    paper.emulate_media(media="print")
    assert paper.locator(HALF).evaluate(BLUR) == "none"
    assert not paper.locator(".uncover").is_visible()
    right = paper.locator("#guess-half .right")
    assert not right.is_visible()
    paper.evaluate("dispatchEvent(new Event('beforeprint'))")
    last = paper.locator("article > .answers-last")
    assert right.text_content() in last.text_content()
    assert last.bounding_box()["y"] > paper.locator("#exercises").bounding_box()["y"]


@pytest.mark.parametrize(
    ("slug", "guess", "at"), [("softmax", "guess-lead", "1 1 4"), ("maps", "guess-late", "8")]
)
def test_after_a_guess_the_figure_shows_its_answer(
    slug: str, guess: str, at: str, visit: Visit
) -> None:
    """By radio buttons and by a slider; the options say which of them was right."""
    tab = visit(make_path("en", slug))
    box = tab.locator(f"#{guess}")
    figure = tab.locator(f"#{guess} ~ .output .stepper").first
    assert figure.locator(".frame.shown").get_attribute("data-at") != at
    box.locator("input[value=wrong]").first.press("Space")
    box.locator("button").click()
    figure.locator(f".frame.shown[data-at='{at}']").wait_for()
    chosen = figure.locator(".stepper-bar input").evaluate_all(
        "all => all.filter((one) => one.type === 'range' || one.checked).map((one) => one.value)"
    )
    assert " ".join(chosen) == at
    marks = box.locator("label").evaluate_all("all => all.map((one) => one.dataset.judged)")
    assert sorted(marks) == ["", "right", "wrong"]


@pytest.mark.parametrize("width", [390, 1280])
def test_what_is_blurred_says_why_and_clears_at_a_press(width: int, visit: Visit) -> None:
    tab = show_covered(visit, "sequences", "guess-half", HALF, width=width)
    answer, button = tab.locator(HALF), tab.get_by_role("button", name="Guess first, or press")
    over, under = button.bounding_box(), answer.bounding_box()
    assert under["x"] <= over["x"]
    assert over["x"] + over["width"] <= under["x"] + under["width"]
    assert under["y"] <= over["y"]
    assert over["y"] + over["height"] <= under["y"] + under["height"]  # it lies over the answer
    before = answer.evaluate(PLACE)
    button.press("Enter")
    wait_until_clear(tab, HALF)
    assert answer.evaluate("one => one === document.activeElement")  # it is read next
    assert answer.evaluate(PLACE) == before  # nothing has moved


@pytest.mark.parametrize(
    ("slug", "guess", "output"),
    [
        ("transformer-block", "guess-neuron", "out-neuron"),  # right below the guess
        ("tokens", "guess-merges", "out-merges"),  # below the code that prints it
        ("masking", "guess-share", "out-minus-infinity"),  # below a place for a live page
        ("generation", "guess-beam", "out-beam"),  # below a paragraph
    ],
)
def test_a_table_that_gives_a_guess_away_waits_for_it(
    slug: str, guess: str, output: str, visit: Visit
) -> None:
    answer = f"#{output}"
    tab = show_covered(visit, slug, guess, answer)
    tab.locator(f"#{guess} input").first.press("Space")  # moves nothing
    tab.locator(f"#{guess} form button").click()
    wait_until_clear(tab, answer)
    # A finger on it clears it.
    touched = show_covered(visit, slug, guess, answer, has_touch=True, width=390)
    touched.locator(answer).tap(position={"x": 12, "y": 12})  # beside the button
    wait_until_clear(touched, answer)


# --- the first page


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_first_chapter_is_one_press_away(lang: str, width: int, visit: Visit) -> None:
    tab = visit(make_path(lang, "index"), width=width)
    link = tab.locator("article a[href*='next-word']").first.bounding_box()
    assert link["y"] + link["height"] < 400


# --- words of another language


@pytest.mark.parametrize("lang", ["zh", "zh-hant"])
def test_english_words_in_chinese_are_slanted_and_not_bold(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "tokens"))
    styles = tab.locator("article p > em").evaluate_all(
        "all => all.map((one) => ((css) => [css.fontStyle, css.fontWeight])(getComputedStyle(one)))"
    )
    assert len(styles) > 5
    assert {*map(tuple, styles)} == {("italic", "400")}


@pytest.mark.parametrize("lang", ["zh", "zh-hant"])
def test_chinese_words_are_never_slanted(lang: str, site: Path) -> None:
    """An `em` of a Chinese page holds words of another language; Chinese ones are `strong`.

    The labels of a card and of a result have styles of their own.
    """
    labels = "self::em[not(@class = 'minutes') and not(parent::summary)]"
    slanted = [
        f"{path.parent.name}: {text}"
        for path in sorted((site / lang).rglob("index.html"))
        for one in parse_html(path).iter("em")
        if one.xpath(labels) and re.search("[\u3400-\u9fff]", text := "".join(one.itertext()))
    ]
    assert not slanted


# --- a live page under a finger


@needs_live
def test_under_a_finger_the_bar_leaves_the_picture_in_sight(visit: Visit) -> None:
    """What it says and one line of buttons; fields stand below the picture that they change."""
    tab = visit("/softmax/", width=390, has_touch=True, is_mobile=True)
    tab.locator("#knobs-control .live-turn").click()
    tab.wait_for_selector("#knobs-control input")
    tab.locator("#knobs-control input").first.fill("3")
    bar = tab.locator(".live-bar")
    for name in ("Run", "Show as published", "Copy link", "Reset the page"):
        bar.get_by_role("button", name=name, exact=True).wait_for()
    bar.get_by_role("button", name="Stop").wait_for(state="hidden")
    assert bar.bounding_box()["height"] <= 76  # two lines of 14 px, one of buttons
    buttons = [one.bounding_box() for one in bar.locator("button:visible").all()]
    assert max(one["x"] + one["width"] for one in buttons) <= 390
    picture = tab.locator("#out-control .frame.shown svg").bounding_box()
    slider = tab.locator("#knobs-control input").first.bounding_box()
    assert slider["y"] >= picture["y"] + picture["height"]
    assert "Ctrl" not in bar.text_content()
