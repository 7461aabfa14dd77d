"""Live pages in a browser: all blocks as published, edits, what follows, bad input, keyboard.

Python takes seconds to load. What only looks at a page's blocks runs them in the tab itself; pages
that a reader turns over are opened by one tab, whose worker serves them one after another.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from attention_docs.running.result import Result
from attention_docs.running.sections import find_slow_sections
from attention_docs.site.build import Build
from attention_docs.site.publish import runtime
from attention_docs.site.run.live import Session
from attention_docs.verify import printed
from tests.conftest import (
    PAGES,
    ROOT,
    WRITTEN,
    Handler,
    each_language,
    find_page_folder,
    in_one_language,
    read_project,
    serve,
)
from tests.test_browser import AXE, SETTLED, WHOLE, find_colour_faults, make_path
from tests.test_script import find_simplified

Visit = Callable[..., Any]
PATIENCE = 60_000  # milliseconds: a loaded machine takes its time, and nothing waits for ever


needs_live = pytest.mark.needs("runtime")


@contextmanager
def keep_python(chromium: Any, address: str) -> Iterator[Any]:
    """A tab that keeps Python while other pages come and go."""
    # What a service worker asks for, no test can see.
    context = chromium.new_context(service_workers="block")
    context.set_default_timeout(PATIENCE)
    script = {"content_type": "text/javascript", "body": SHARED}
    context.route(re.compile(r"/live/guest\.js$"), lambda route: route.fulfill(**script))
    tab = context.new_page()
    tab.goto(address + make_path("en", "numbers"))
    yield tab
    context.close()


@pytest.fixture(scope="module")
def keeper(chromium: Any, address: str) -> Iterator[Any]:
    """Such a tab."""
    with keep_python(chromium, address) as tab:
        yield tab


# A page that this tab opens takes its Python; where that was ended, one of its own follows.
SHARED = """
const { Guest: Own } = await import("./guest.js?own");
export class Guest {
  constructor(folder, listeners) {
    const { guest } = window.opener ?? {};
    if (!guest) return new Own(folder, listeners);
    guest.listeners = listeners;
    return {
      post: (message) => guest.post(message),
      end: () => { guest.end(); window.opener.guest = null; },
    };
  }
}"""
# While it is in front: what a tab behind another one loads may wait.
KEEP = """async (folder) => {
  if (self.guest) return;
  const { Guest } = await import("/assets/live/guest.js?own");
  await new Promise((resolve, reject) => {
    const message = ({ type, message }) => {
      if (type === "ready") resolve();
      if (type === "broken") reject(new Error(message));
    };
    const broken = (message) => reject(new Error(message));
    self.guest = new Guest(folder, { message, broken, loading() {} });
    guest.post({ type: "start", page: '{"lang": "en", "words": {}, "cells": []}', turn: 0 });
  });
}"""


# --- every block ----------------------------------------------------------------------------------

RUNNING = [slug for slug in WRITTEN if 'exec="1"' in (PAGES / f"{slug}.md").read_text()]
FAR = (
    "steps of gradient descent that are too far: they never settle, and rounding to the 16th digit "
    "in another order grows to the third; of 120 digits of the figure 2 (0.845 and 0.835) differ"
)
KNOWN = {"learning/zh#no-scale-figure": FAR}
"""Blocks that give another digit in the browser, as "page/language#block", with the reason."""

EVERY = """async ([folder, source, check]) => {
  const { startPython } = await import("/assets/live/python.js");
  const script = await (await fetch(`${folder}pyodide.js`)).text();
  const [loadPyodide, createPyodideModule] = new Function(
    `${script}; return [loadPyodide, createPyodideModule];`)();
  const archives = ["numpy.zip", "package.zip"].map(async (name) =>
    (await fetch(folder + name)).arrayBuffer());
  const options = { indexURL: folder, createPyodideModule };
  self.python ??= await startPython(loadPyodide, options, archives);
  python.globals.set("source", source);
  return JSON.parse(python.runPython(check));
}"""


def faults_of(source: str) -> list[Any]:
    """How many blocks of a page have run, and what they give that was not published. It runs in the
    browser as it stands here."""
    page = json.loads(source)
    session = Session(source)
    every = [json.dumps([cell[key] for cell in page["cells"]]) for key in ("code", "id")]
    session.begin(*every)  # the slow ones, too
    ran, faults = 0, []
    for number, own in enumerate(page["cells"]):
        name = f"{page['lang']}#{own['id']}"
        result = json.loads(session.step(number))
        if own["torch"]:
            continue
        ran += 1
        if "error" in result:
            faults.append(f"{name}: {result['error']}")
            break
        text, figure = session.displayed[number]
        if text != own["text"]:
            faults.append(f"{name}: {text!r}, published {own['text']!r}")
        if figure != own["figure"]:
            faults.append(f"{name}: another figure")
        for _, expression, spec, published in own["values"]:
            found = session.runner.add_values(Result(), [(expression, spec)])
            value = found.values.get((expression, spec), found.value_errors)
            if value != published:
                faults.append(f"{name}: {expression} = {value}, published {published}")
    return [ran, faults]


CHECK = f"""
import json
from attention_docs.running.result import Result
from attention_docs.running.sections import find_slow_sections
from attention_docs.site.run.live import Session
Any = object
{inspect.getsource(faults_of)}
json.dumps(faults_of(source))
"""


def read_source(site: Path, lang: str, slug: str) -> dict[str, Any]:
    """What the site holds of a page's blocks."""
    document: dict[str, Any] = json.loads((site / "live" / lang / f"{slug}.json").read_text())
    return document


@needs_live
@pytest.mark.parametrize("slug", RUNNING)
def test_every_block_gives_what_was_published(
    slug: str, keeper: Any, address: str, site: Path
) -> None:
    """Text, figures and inline values, byte for byte, in the browser and in Chinese: the English
    code is what the build has run."""
    page = read_source(site, "zh", slug)
    ran, found = keeper.evaluate(EVERY, [f"{address}/live/", json.dumps(page), CHECK])
    assert not [one for one in found if f"{slug}/{one.partition(':')[0]}" not in KNOWN]
    assert ran == sum(not cell["torch"] for cell in page["cells"])
    for lang in ("en", "zh"):
        codes = [cell["code"] for cell in read_source(site, lang, slug)["cells"]][
            :-1
        ]  # the reader's
        assert codes == [one.displayed_code for one in read_project().pages[lang][slug].blocks]


# --- one page -------------------------------------------------------------------------------------


@cache
def read_words(lang: str) -> Any:
    """What the scripts of live pages say in a language."""
    return Build(ROOT, print).read_locale(lang)["site"]["live"]


class Live:
    """A page in a tab, with what a reader does."""

    def __init__(self, tab: Any, lang: str = "en") -> None:
        self.tab = tab
        self.words = read_words(lang)
        tab.set_default_timeout(PATIENCE)

    def edit(self, block: str) -> Any:
        """Ask for the editor of a block; the field in which its code is."""
        self.tab.evaluate(
            """(id) => {
              const block = document.querySelector(`.block[data-block="${id}"]`);
              for (let one = block.closest("details"); one;
                one = one.parentElement.closest("details")) one.open = true;
              block.querySelector(".live-edit").click();
            }""",
            block,
        )
        return self.field(block)

    def field(self, block: str) -> Any:
        field = self.tab.locator(f'.block[data-block="{block}"] textarea')
        field.wait_for()
        return field

    def write(self, block: str, old: str, new: str) -> None:
        """Change the code of a block whose editor is open."""
        field = self.field(block)
        code = field.input_value()
        assert old in code, code
        field.fill(code.replace(old, new, 1))

    def press(self, name: str) -> None:
        """Press a button of the bar."""
        self.tab.locator(".live-bar").get_by_text(self.words[name], exact=True).click()

    def run(self) -> str:
        """Press Run and wait; what the bar says then."""
        self.press("run")
        return self.wait_until_settled()

    def wait_until_settled(self) -> str:
        """Wait until nothing runs; what the bar says."""
        names = ("done", "failed", "ready", "published")
        ends = [self.words[name].split("{")[0] for name in names]
        self.tab.wait_for_function(
            """(ends) => {
              const bar = document.querySelector(".live-bar");
              const says = bar?.querySelector("[role=status]").textContent ?? "";
              const stop = bar?.querySelector("button");
              return stop?.hidden && ends.some((end) => says.startsWith(end));
            }""",
            arg=ends,
        )
        return self.status()

    def status(self) -> str:
        return str(self.tab.locator(".live-status").text_content())

    def output(self, block: str) -> str:
        """What a block has printed, or the cells of its table."""
        shown = self.tab.locator(f"#out-{block} :is(pre > code, table):not(.block *)").first
        return str(shown.text_content())

    def value(self, number: int) -> str:
        return printed(str(self.tab.locator(f"#value-{number}").text_content()))

    def read_all(self) -> str:
        """All that a reader sees of the text; how far ribbons have played is none of it, nor what
        an instrument adds to its numbers once it is near."""
        text: str = self.tab.evaluate(
            """() => [...document.querySelectorAll(
              "article .output pre > code:not(.block *), article .output figure > div, " +
              "article .value, article [data-value]"
            )].map((one) => {
              const copy = one.cloneNode(true);
              for (const ribbons of copy.querySelectorAll(".ribbons")) delete ribbons.dataset.stage;
              for (const stage of copy.querySelectorAll(".ribbons [aria-current]"))
                stage.removeAttribute("aria-current");
              for (const one of copy.querySelectorAll(".instrument"))
                one.replaceWith(one.dataset.numbers);
              return copy.innerHTML;
            }).join("\\n")"""
        )
        return text

    def wait_for_figure(self, block: str, figure: str) -> None:
        """Wait until the figure of a block is this one; steppers stay where a reader put them."""
        self.tab.wait_for_function(
            """([block, figure]) => {
              const wanted = document.createElement("div");
              wanted.innerHTML = figure;
              const labels = (inside) =>
                [...inside.querySelectorAll("svg")].map((one) => one.getAttribute("aria-label"));
              const shown = document.querySelector(`#out-${block} figure > div`);
              const [given, drawn] = [wanted, shown].map((one) => one.querySelector(".instrument"));
              if (given) return given.dataset.numbers === drawn.dataset.numbers;
              if (wanted.querySelector("table")) return wanted.textContent === shown.textContent;
              return wanted.querySelector("input")
                ? `${labels(wanted)}` === `${labels(shown)}` : wanted.innerHTML === shown.innerHTML;
            }""",
            arg=[block, figure],
        )


def open_live(keeper: Any, slug: str, lang: str, fragment: str = "", width: int = 1280) -> Live:
    """A page that can be edited, in a tab that shares the Python of `keeper`."""
    keeper.bring_to_front()
    keeper.evaluate(KEEP, "../live/")
    with keeper.expect_popup() as opened:
        keeper.evaluate("(path) => { window.open(path); }", make_path(lang, slug) + fragment)
    tab = opened.value
    tab.set_viewport_size({"width": width, "height": 900})
    tab.wait_for_load_state()
    tab.bring_to_front()  # behind another one a tab draws once a second
    return Live(tab, lang)


@pytest.fixture
def live(keeper: Any) -> Iterator[Callable[..., Live]]:
    """`live("softmax")`: such a page."""
    pages = []

    def open_page(slug: str, lang: str = "en", fragment: str = "", width: int = 1280) -> Live:
        pages.append(open_live(keeper, slug, lang, fragment, width))
        return pages[-1]

    yield open_page
    for page in pages:
        page.tab.close()


def run_natively(
    document: dict[str, Any],
    edits: dict[str, tuple[str, str]],
    locales: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What a build with these edits would publish, by its own Python and NumPy."""
    codes = []
    for cell in document["cells"]:
        old, new = edits.get(cell["id"], ("", ""))
        assert old in cell["code"]
        codes.append(cell["code"].replace(old, new, 1))
    session = Session(json.dumps(document), locales)
    found: dict[str, Any] = {}
    for number in range(session.begin(json.dumps(codes)), len(codes)):
        result = json.loads(session.step(number))
        found[result["id"]] = result
    return found


BLOCK = "search"  # of the eight steps, on the main line


EIGHT_STEPS = re.compile(r"/live/\w+/eight-steps\.json$")


EDITS = [
    (
        "eight-steps",
        "stepper",
        "[[0, 3], [0, 0], [3, 0], [0, 0]]",
        "[[0, 4], [0, 0], [3, 0], [0, 0]]",
    ),
    ("softmax", "pull", "[1.0, 1.0, 1.0, 5.0]", "[1.0, 1.0, 2.0, 5.0]"),
    ("scaling", "example", "d_k = 64", "d_k = 100"),
    ("masking", "minus-infinity", "True, True, False", "True, False, True"),
    ("positions", "shift", "offset = 3", "offset = 5"),
    ("language-model", "hook", "bob sleeps and", "bob swims and"),
]
EVERYWHERE = [("en", *edit) for edit in EDITS]
# What runs is the same in every language, and what a chapter's figures say in it is compared above;
# here are a page with a stepper and one with outputs, and one in words that a table makes.
EVERYWHERE += [("zh", *edit) for edit in EDITS if edit[0] in ("eight-steps", "masking")]
EVERYWHERE += [("zh-hant", *edit) for edit in EDITS if edit[0] == "masking"]


@needs_live
@pytest.mark.parametrize(("lang", "slug", "block", "old", "new"), EVERYWHERE)
def test_everything_follows_and_comes_back(
    lang: str, slug: str, block: str, old: str, new: str, live: Callable[..., Live], site: Path
) -> None:
    """Outputs, figures, what they say and values are a build's; the published is a press away."""
    document = read_source(site, lang, slug)
    locales = json.loads((site / "numbers.json").read_text())["locales"]
    page = live(slug, lang)
    before = page.read_all()
    page.edit(block)
    page.wait_until_settled()
    assert page.read_all() == before
    page.write(block, old, new)
    page.run()
    wanted = run_natively(document, {block: (old, new)}, locales)
    moved = []
    for cell in document["cells"]:
        result = wanted[cell["id"]]
        if cell["torch"] or result.get("later"):
            continue
        if result["changed"][0]:
            assert page.output(cell["id"]).rstrip("\n") == result["text"]
        if result["changed"][1]:
            page.wait_for_figure(cell["id"], result["figure"])
        moved += [what for what, one in zip("tf", result["changed"], strict=True) if one]
        for number, *_, published in cell["values"]:
            shown = result["values"].get(str(number), published)
            place = page.tab.locator(f"#value-{number}")
            if place.count():
                assert page.value(number) == shown, (cell["id"], number)
                assert ("live-value" in place.get_attribute("class")) == (shown != published)
    assert moved
    after = page.read_all()
    assert lang != "zh-hant" or not find_simplified(after + "".join(page.words.values()))
    compare = page.tab.locator(".live-bar button[aria-pressed]")
    compare.click()
    assert page.tab.locator(".output mark").count() == 0
    compare.click()
    assert page.read_all() == after
    page.press("reset")
    assert page.read_all() == before
    assert page.status() == page.words["published"]


PATCH = """
import gc
for one in gc.get_objects():
    if isinstance(one, dict) and one.get("green", "green") != "green":
        one["green"] = "red"
"""
"""An edit that no copy of names and modules can undo: tables that have no name, too. Not Python's
own table of its strings, in which each stands for itself: that is a crash, now or later."""


@needs_live
@in_one_language
def test_what_an_edit_leaves_in_python_ends_with_it(lang: str, live: Callable[..., Live]) -> None:
    """Undone, the page is as published, and another edit runs in another Python."""
    page = live("eight-steps", lang)
    before = page.read_all()
    field = page.edit(BLOCK)
    page.wait_until_settled()
    published = field.input_value()
    field.fill(published + PATCH)
    page.run()
    assert page.read_all() != before
    page.tab.locator(".live-editor").get_by_text(page.words["undo"], exact=True).click()
    page.tab.wait_for_function(
        "(text) => document.querySelector('.live-status').textContent === text",
        arg=page.words["published"],
    )
    assert page.read_all() == before
    field.fill("'green'\n" + published)
    assert page.words["failed"] not in page.run()
    assert page.read_all() == before


LISTINGS = sorted((ROOT / "docs" / "listings").glob("*.py"))
SLOW = [path.stem for path in LISTINGS if find_slow_sections(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("slug", SLOW)
def test_without_its_slow_blocks_a_page_is_as_published(slug: str, site: Path) -> None:
    """What does not wait finds all that it needs."""
    document = read_source(site, "en", slug)
    slow = [cell["id"] for cell in document["cells"] if cell["slow"]]
    assert slow
    session = Session(json.dumps(document))
    session.begin(json.dumps([cell["code"] for cell in document["cells"]]))
    assert {session.cells[number].id for number in session.later} >= {*slow}
    for number, cell in enumerate(document["cells"]):
        result = json.loads(session.step(number, draws=False))
        assert "error" not in result, (cell["id"], result)
        if not cell["torch"]:
            assert session.displayed[number][0] == cell["text"], cell["id"]


@needs_live
@in_one_language
def test_a_slow_experiment_waits_until_it_is_asked_for(
    lang: str, live: Callable[..., Live], keeper: Any, site: Path
) -> None:
    """Where an edit reaches it, it stays as published and says so, with what uses it; a press runs
    it, and the next edit makes it wait again. What uses torch stays old: no browser runs it."""
    document = read_source(site, lang, "eight-steps")
    wanted = run_natively(document, {"inputs": ("[0, 2, 0, 2]", "[0, 3, 0, 2]")})
    for cell in document["cells"]:
        cell["slow"] = cell["id"] == "scores-1"
    keeper.context.route(EIGHT_STEPS, lambda route: route.fulfill(json=document))
    page = live("eight-steps", lang)
    page.tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.edit("inputs")
    page.wait_until_settled()
    slow, user = (page.tab.locator(f"#out-{one}") for one in ("scores-1", "weights-1"))
    assert not page.tab.locator(".live-old").count()
    page.write("inputs", "[0, 2, 0, 2]", "[0, 3, 0, 2]")
    page.run()
    number = next(iter(wanted["weights-1"]["values"]))
    assert page.tab.locator(f"#value-{number}.live-old-value").count()
    for one in (slow, user):
        assert page.words["slow"] in str(one.locator(".live-old-note").text_content())
        assert not one.locator("mark, .live-was").count()
    user.get_by_role("button", name=page.words["runSlow"]).press("Enter")
    page.wait_until_settled()
    for block in ("scores-1", "weights-1", "output-1"):
        page.wait_for_figure(block, wanted[block]["figure"])
    assert page.value(int(number)) == wanted["weights-1"]["values"][number]
    torch = [cell for cell in document["cells"] if cell["torch"]]
    unrun = [f"#out-{cell['id']}" for cell in torch]
    unrun += [f"#value-{value[0]}" for cell in torch for value in cell["values"]]
    old = f":is(.live-old, .live-old-value):not({', '.join(unrun)})"
    assert not page.tab.locator(old).count()
    page.write("inputs", "[0, 3, 0, 2]", "[0, 1, 0, 2]")
    page.run()
    assert slow.locator(".live-old-note").count()
    page.press("reset")
    assert not page.tab.locator(".live-old, .live-changed, .live-old-value").count()
    keeper.context.unroute(EIGHT_STEPS)


def check_knobs_go_through_all_steps(page: Live, document: dict[str, Any]) -> None:
    """The reader's own entry of W_Q goes through all steps, the stepper included."""
    page.tab.get_by_role("button", name=page.words["turn"]).first.click()
    page.tab.locator(".live-knobs").wait_for()
    page.wait_until_settled()
    page.tab.get_by_label("W_Q[1, 2]", exact=True).fill("4")
    page.tab.wait_for_selector("#out-stepper.live-changed", state="attached")
    page.wait_until_settled()
    wanted = run_natively(
        document,
        {"stepper": ("[[0, 3], [0, 0], [3, 0], [0, 0]]", "[[0, 4], [0, 0], [3, 0], [0, 0]]")},
    )
    page.wait_for_figure("sentence-map", wanted["sentence-map"]["figure"])
    page.wait_for_figure("stepper", wanted["stepper"]["figure"])


@needs_live
@pytest.mark.parametrize("width", [390, 1280])
def test_a_text_is_cut_where_the_reader_sees_it(width: int, live: Callable[..., Live]) -> None:
    """The field shows the whole text; a token that is a part of a character shows its bytes."""
    page = live("tokens", width=width)
    page.tab.locator("#knobs-cut .live-turn").press("Enter")
    field = page.tab.get_by_label("own_text", exact=True)
    field.wait_for()
    page.wait_until_settled()
    assert field.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    field.fill("Pizza 🍕")
    page.wait_until_settled()
    page.tab.wait_for_selector("#out-cut :has-text('⟨')")
    tokens = page.tab.locator("#out-cut tbody td:first-of-type").all_text_contents()
    parts = re.findall(r"⟨([0-9A-F ]+)⟩", "".join(tokens))
    assert bytes.fromhex(" ".join(parts)).decode().strip() == "🍕"
    assert "�" not in "".join(tokens)


@needs_live
def test_a_trained_model_reads_what_is_typed(live: Callable[..., Live]) -> None:
    """By keyboard, letter by letter: no torch, and parameters that a block has published."""
    page = live("language-model")
    page.tab.evaluate(
        """() => {
          let place = document.querySelector("#knobs-look");
          for (; place; place = place.parentElement.closest("details")) place.open = true;
        }"""
    )
    page.tab.locator("#knobs-look .live-turn").press("Enter")
    field = page.tab.get_by_label("letters", exact=True)
    field.wait_for()
    page.wait_until_settled()
    field.press("ControlOrMeta+a")
    field.press_sequentially("tigertig")
    figure = page.tab.locator("#out-look")
    page.tab.wait_for_function("document.querySelectorAll('#out-look figure.frame').length === 8")
    page.wait_until_settled()
    last = figure.locator("figure.frame figcaption").last
    assert re.search(r"tigertig …\W+The model expects e", last.text_content())
    for letter in ("4", '"'):
        field.press(letter)
        page.tab.locator(".live-error").wait_for()
        assert "wanted words out of: a b c" in page.tab.locator(".live-error").inner_text()
        field.press("Backspace")
        page.wait_until_settled()
        assert not page.tab.locator(".live-error").count()


@needs_live
@in_one_language
def test_a_field_says_which_numbers_it_takes(lang: str, live: Callable[..., Live]) -> None:
    """One that it does not take changes nothing."""
    page = live("positions", lang)
    page.tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.tab.locator("#knobs-shift .live-turn").click()
    field = page.tab.get_by_label("offset", exact=True).last
    field.wait_for()
    page.wait_until_settled()
    before = page.read_all()
    limit = page.tab.locator("#knobs-shift .live-limit")
    for outside in ("41", "0", "2.5", ""):
        field.fill(outside)
        assert limit.text_content() == page.words["wholeNumber"].format(low=1, high=40)
        assert page.read_all() == before
    field.fill("5")
    assert limit.text_content() == ""
    page.tab.wait_for_selector("#out-shift.live-changed")


def check_error_is_shown_and_last_output_stays(page: Live) -> None:
    field = page.edit(BLOCK)
    page.wait_until_settled()
    output, good = page.output(BLOCK), field.input_value()
    field.fill(good + "\nprint(nobody)")
    assert page.run().startswith(page.words["failed"])
    error = page.tab.locator(".live-error")
    assert "NameError: name 'nobody' is not defined" in error.inner_text()
    assert "print(nobody)" in error.inner_text()
    assert str(good.count("\n") + 2) in error.inner_text()
    assert "/site/run" not in error.inner_text()
    assert "/running/" not in error.inner_text()
    assert page.output(BLOCK) == output
    field.fill(good)
    page.run()
    assert error.count() == 0


def check_scratch_cell_knows_the_page(page: Live) -> None:
    page.tab.get_by_role("button", name=page.words["scratch"]).click()
    field = page.tab.locator(".live-scratch textarea")
    field.wait_for()
    page.wait_until_settled()
    assert page.output("scratch").strip()  # of the example that stands there
    field.fill("print(text(2 * card_values, '.0f'))")
    page.run()
    assert page.output("scratch").startswith("[[100,  0],")
    field.fill("card_values / 3")
    page.run()
    assert "16.6667" in page.output("scratch")
    field.fill("import matplotlib.pyplot as plt")
    assert page.run().startswith(page.words["failed"])
    assert page.words["noMatplotlib"] in page.tab.locator(".live-error").inner_text()
    field.fill("card_values?")
    page.run()
    names = page.tab.locator(".live-scratch details code").all_text_contents()
    assert "card_values" in names


def check_edits_survive_another_page(page: Live) -> None:
    """In this tab; what was edited stands in its editor again, and has not run."""
    field = page.edit(BLOCK)
    good = field.input_value()
    page.write(BLOCK, "onion cake", "soup")
    here = page.tab.url
    page.tab.goto(here.replace("eight-steps", "softmax"))
    page.tab.goto(here)
    assert "soup" in page.field(BLOCK).input_value()
    assert page.status() == page.words["restored"]
    page.field(BLOCK).fill(good)
    page.run()


def check_endless_loop_is_ended_by_reset(page: Live) -> None:
    page.field(BLOCK).fill("while True:\n    pass")
    page.press("run")
    page.press("reset")
    assert page.status() == page.words["published"]
    assert "while" not in page.field(BLOCK).input_value()
    page.run()


def check_endless_loop_is_stopped(page: Live) -> None:
    field = page.field(BLOCK)
    good = field.input_value()
    field.fill("while True:\n    pass")
    page.press("run")
    page.press("stop")
    assert page.status() == page.words["stopped"]
    assert field.input_value().startswith("while")
    field.fill(good.replace("onion cake", "soup"))
    page.run()
    assert "carrot soup10.4223" in page.output(BLOCK)  # score and weight, as those of onion soup


@needs_live
def test_a_link_brings_edits_and_runs_nothing(live: Callable[..., Live]) -> None:
    page = live("eight-steps")
    page.edit(BLOCK)
    page.wait_until_settled()
    page.write(BLOCK, '"onion cake"', '"carrot 胡萝卜 cake" or "onion cake"')
    page.press("share")
    page.tab.wait_for_function('location.hash.startsWith("#live=")')
    follower = live("eight-steps", fragment=page.tab.evaluate("location.hash"))
    assert "胡萝卜" in follower.field(BLOCK).input_value()
    follower.tab.wait_for_timeout(300)
    assert not follower.tab.locator(".output mark").count()
    assert follower.status().startswith(follower.words["linked"].split("{")[0])
    follower.run()
    assert follower.tab.locator(f"#out-{BLOCK} mark").count()
    other = live("eight-steps", "zh", fragment=page.tab.evaluate("location.hash"))
    code = other.field(BLOCK).input_value()
    (line,) = (line for line in code.splitlines() if "胡萝卜" in line)
    assert '"carrot 胡萝卜 cake" or "番茄 炖肉"' in line  # words of the page are in its language


@needs_live
@in_one_language
def test_a_link_that_does_not_fit_changes_nothing(lang: str, live: Callable[..., Live]) -> None:
    """One that is cut, and one whose block is gone."""
    page = live("eight-steps", lang, fragment="#live=abc")
    wait = 'document.querySelector(".live-status")?.textContent'
    page.tab.wait_for_function(wait)
    assert page.status() == page.words["unreadable"]
    page.tab.evaluate(
        """async () => {
          const { link } = await import("/assets/live/link.js");
          const gone = { id: "gone", base: "x", origin: "y", code: "print(1)", edited: true };
          location.hash = await link([gone]);
        }"""
    )
    lost = page.words["lost"].format("gone")
    page.tab.wait_for_function(
        "(lost) => document.querySelector('.live-status').textContent.trim() === lost", arg=lost
    )
    assert page.tab.locator(".live-editor").count() == 0


@needs_live
def test_by_keyboard_alone(live: Callable[..., Live]) -> None:
    """Tab to Edit, Enter, write, indent, run, leave."""
    page = live("eight-steps")
    tab = page.tab
    tab.locator(f'.block[data-block="{BLOCK}"] .live-edit').focus()
    tab.keyboard.press("Enter")
    field = page.field(BLOCK)
    tab.wait_for_function("document.activeElement.localName === 'textarea'")
    assert BLOCK in field.get_attribute("aria-label")
    tab.keyboard.press("Control+End")
    tab.keyboard.press("Enter")
    tab.keyboard.type("if True:")
    tab.keyboard.press("Enter")
    tab.keyboard.type("print('own', 3)")
    assert field.input_value().endswith("\nif True:\n    print('own', 3)")
    tab.keyboard.press("Shift+Tab")
    assert "\nprint('own', 3)" in field.input_value()
    tab.keyboard.press("Home")
    tab.keyboard.press("Tab")
    assert "\n    print('own', 3)" in field.input_value()
    page.wait_until_settled()
    tab.keyboard.press("Control+Enter")
    tab.wait_for_function(
        f"document.querySelector('#out-{BLOCK} pre')?.textContent.includes('own 3')"
    )
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.activeElement.textContent") == page.words["run"]


@needs_live
@each_language
def test_axe_finds_nothing_with_an_editor_open(lang: str, live: Callable[..., Live]) -> None:
    """With an edit, an error and knobs, light and dark. The languages have the same parts: axe sees
    one of them wide, the other narrow, as it does of pages."""
    page = live("eight-steps", lang)
    page.edit("stepper")
    page.wait_until_settled()
    page.write("stepper", "[[0, 3], [0, 0], [3, 0], [0, 0]]", "[[0, 4], [0, 0], [3, 0], [0, 0]]")
    page.run()
    page.edit(BLOCK)
    page.write(BLOCK, {"en": '"onion cake"', "zh": '"番茄 炖肉"'}[lang], "nobody")
    assert page.run().startswith(page.words["failed"])
    page.tab.add_style_tag(content=WHOLE)
    page.tab.evaluate(AXE_SCRIPT)
    seen, other = {"en": (1280, 390), "zh": (390, 1280)}[lang]
    for width in (other, seen):
        page.tab.set_viewport_size({"width": width, "height": 900})
        page.tab.evaluate(SETTLED)
        assert page.tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    assert not page.tab.evaluate(AXE)
    for scheme in ("light", "dark"):
        page.tab.emulate_media(color_scheme=scheme)
        assert not find_colour_faults(page.tab, scheme), scheme


@needs_live
def test_what_a_reader_does(live: Callable[..., Live], site: Path) -> None:
    """One page: the knobs, an error, a stop, the scratch cell; each from the published page.

    It is the last that shares Python: whoever came after the stop would have to load it.
    """
    page = live("eight-steps")
    check_knobs_go_through_all_steps(page, read_source(site, "en", "eight-steps"))
    page.press("reset")
    check_error_is_shown_and_last_output_stays(page)
    check_scratch_cell_knows_the_page(page)
    page.press("reset")
    check_edits_survive_another_page(page)
    check_endless_loop_is_ended_by_reset(page)
    check_endless_loop_is_stopped(page)


# --- a browser that comes for the first time, bad input and hard places ---------------------------


@needs_live
@in_one_language
def test_from_a_file_it_says_what_is_needed(lang: str, visit: Visit, site: Path) -> None:
    tab, said = visit(), []
    tab.on("dialog", lambda dialog: (said.append(dialog.message), dialog.accept()))
    tab.goto((find_page_folder(site, lang, "softmax") / "index.html").as_uri())
    for offer in (".live-edit", ".live-turn", ".live-turn"):  # they stay
        tab.locator(f"{offer}:visible").first.click()
    disk = Build(ROOT, print).read_locale(lang)["site"]["script"]["disk"]
    assert said == 3 * [disk]
    tab.locator(".exercise form.asks button[type=submit]").first.click()
    assert tab.locator(".exercise form.asks output").first.text_content() == disk
    assert tab.locator(".md-search-result__meta").text_content() == disk


@needs_live
@in_one_language
def test_without_webassembly_it_says_so(lang: str, visit: Visit, address: str) -> None:
    tab = visit()
    tab.add_init_script("delete window.WebAssembly")
    tab.goto(address + make_path(lang, "eight-steps"))
    page = Live(tab, lang)
    tab.locator(f'.block[data-block="{BLOCK}"] .live-edit').click(force=True)
    tab.wait_for_function('document.querySelector(".live-status")?.textContent')
    assert page.status() == page.words["unable"]
    assert tab.locator(".live-editor").count() == 0


FAULTS: dict[str, list[tuple[str, Callable[[Any], None]]]] = {
    "en": [
        ("**/numpy.zip", lambda route: route.fulfill(body=b"another NumPy")),
        ("**/package.zip", lambda route: route.fulfill(body=b"no archive")),
    ],
    "zh": [("**/python_stdlib.zip", lambda route: route.abort())],
}


@needs_live
@each_language
def test_a_file_that_does_not_come_is_reported(lang: str, visit: Visit) -> None:
    """NumPy is another file, the package is none, the connection is lost; then it is back."""
    for routes, answer in FAULTS[lang]:
        # Each on a page of its own: what has arrived is not asked for again. What a service worker
        # asks for, no test can answer.
        tab = visit(make_path(lang, "eight-steps"), service_workers="block")
        page = Live(tab, lang)
        before = page.read_all()
        start = page.words["broken"].split("{")[0]
        tab.route(routes, answer)
        page.edit(BLOCK)
        tab.wait_for_function(
            "(start) => document.querySelector('.live-status')?.textContent.startsWith(start)",
            arg=start,
        )
        assert page.read_all() == before
        tab.unroute(routes)
    if lang == "zh":
        tab.keyboard.press("Control+Enter")
        page.wait_until_settled()


class Strict(Handler):
    """A site whose content policy allows itself alone."""

    def end_headers(self) -> None:
        """The policy that docs/project/live-pages.md names."""
        policy = (
            "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; "
            "style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src 'self' blob:"
        )
        self.send_header("Content-Security-Policy", policy)
        super().end_headers()


@pytest.fixture
def strict(site: Path) -> Iterator[str]:
    with serve(site, Strict) as found:
        yield found


IS_CACHED = """(path) => new Promise((resolve) => {
  const timer = setInterval(async () => {
    for (const name of await caches.keys()) {
      for (const { url } of await (await caches.open(name)).keys()) {
        if (!url.endsWith(path)) continue;
        clearInterval(timer);
        resolve();
      }
    }
  }, 50);
})"""
"""Wait until the offline cache holds a path."""


@needs_live
def test_a_first_visit(strict: str, visit: Visit) -> None:
    """Nothing is loaded before the press, and afterwards from the site alone, by its own policy;
    what was loaded once works without network."""
    tab = visit()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(strict + make_path("en", "eight-steps"))
    tab.wait_for_load_state("networkidle")
    assert not [one for one in asked if "/live" in one]
    page = Live(tab)
    page.edit(BLOCK)
    page.wait_until_settled()
    assert [one for one in asked if one.endswith(".wasm")]
    own = re.compile(rf"{re.escape(strict)}/|blob:null/|about:srcdoc")  # what the tab itself holds
    assert all(own.match(one) for one in asked), asked
    own_page = ["/eight-steps/index.html", "/live/en/eight-steps.json", "/live/package.zip"]
    own_page += [f"/live/{runtime.SERVED_SCRIPT}", "/files.json"]
    for file in (*runtime.list_served_files(ROOT / ".cache"), *own_page):
        tab.evaluate(IS_CACHED, file)
    for file in ("/live/en/softmax.json", "/softmax/index.html", "/assets/live/worker.js"):
        tab.evaluate(IS_CACHED, file)
    asked.clear()
    tab.goto(strict + make_path("en", "masking"))
    tab.wait_for_load_state("networkidle")
    assert not [one for one in asked if one.endswith(".wasm")]
    with tab.expect_request("**/*.wasm"):  # who has been live before need not press
        tab.locator(".live-turn").first.scroll_into_view_if_needed()
    assert not tab.locator(".live-status").count()
    tab.goto(strict + make_path("en", "eight-steps"))
    tab.context.set_offline(True)
    tab.reload()
    page.edit(BLOCK)
    page.wait_until_settled()
    page.write(BLOCK, "onion cake", "soup")
    page.run()
    assert "carrot soup10.4223" in page.output(BLOCK)  # score and weight, as those of onion soup
    tab.goto(strict + make_path("en", "softmax"))  # for the first time
    page.edit("control")
    page.wait_until_settled()
