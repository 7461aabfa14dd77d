"""What readers of Firefox and WebKit get. Chromium, the third engine, runs all other tests.

The engines speak WebDriver (tests/engines.py). It tells nothing of the console, so the server puts
a script into each page that notes errors; the same one refuses storage where a test asks for it.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attention_docs.data import load_beginnings
from attention_docs.locales import read_locale
from attention_docs.minilm import load_minilm, read_sentence
from tests.conftest import ROOT, Handler, serve
from tests.engines import launch_firefox, launch_webkit

LAUNCH = {"firefox": launch_firefox, "webkit": launch_webkit}
PATIENCE = 300  # seconds, of a busy machine
ASSETS = ROOT / "docs" / "assets"
MODEL = ROOT / ".cache" / "models" / "minilm"

RECORDER = b"""<script>
  window.faults = [];
  addEventListener("error", ({ message }) => faults.push(String(message)));
  addEventListener("unhandledrejection", ({ reason }) => faults.push(String(reason)));
  const { error } = console;
  console.error = (...all) => { faults.push(all.join(" ")); error.apply(console, all); };
</script>"""
REFUSED = b"""<script>
  for (const name of ["localStorage", "sessionStorage"]) {
    const get = () => { throw new DOMException("The operation is insecure.", "SecurityError"); };
    Object.defineProperty(window, name, { get });
  }
</script>"""


class Recording(Handler):
    """The built site with the recorder in every page; with `?refused` a page has no storage, with
    `?plain` it runs no scripts."""

    records = True
    is_down = False

    def send_head(self) -> Any:
        """What is sent of a file."""
        if Recording.is_down:  # to a browser, an answer of nothing is no network
            self.close_connection = True
            return None
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if path.suffix != ".html" or not path.is_file() or not Recording.records:
            return super().send_head()
        first = RECORDER + (REFUSED if "?refused" in self.path else b"")
        page = path.read_bytes().replace(b"<head>", b"<head>" + first, 1)
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if "?plain" in self.path:
            self.send_header("Content-Security-Policy", "sandbox allow-same-origin")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        return io.BytesIO(page)


class Reader(NamedTuple):
    """A browser and the site; paths begin with a slash."""

    name: str
    driver: Any
    address: str

    def open(self, path: str) -> None:
        self.driver.get(self.address + path)

    def ask(self, script: str, *arguments: Any) -> Any:
        """What a script gives in the page."""
        return self.driver.execute_script(script, *arguments)

    def find(self, selector: str) -> Any:
        """The first such element, in the middle of the window."""
        self.wait(f"return document.querySelector({selector!r}) !== null")
        script = "const one = document.querySelector(arguments[0]);"
        script += 'one.scrollIntoView({ block: "center", behavior: "instant" }); return one;'
        return self.ask(script, selector)

    def wait(self, script: str, *arguments: Any) -> Any:
        """What a script gives once that is something; in vain, it fails with the page's errors."""
        end = time.monotonic() + PATIENCE
        while not (found := self.ask(script, *arguments)):
            if time.monotonic() > end:
                bar = "document.querySelector('.live-status')?.textContent"
                pytest.fail(f"in vain: {script}; {self.ask(f'return [window.faults, {bar}]')}")
            time.sleep(0.1)
        return found

    def press(self, selector: str) -> None:
        """Press an element; again while the page still moves beneath it."""
        from selenium.common.exceptions import ElementNotInteractableException

        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.find(selector).click()  # type: ignore[no-any-return]
            except ElementNotInteractableException:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def list_faults(self) -> list[str]:
        """What went wrong in the page that is open."""
        time.sleep(0.2)
        faults = self.ask("return faults")
        return [one for one in faults if one not in HARMLESS]


HARMLESS = {
    # Firefox says so where a box is measured again in the next frame, as is meant.
    "ResizeObserver loop completed with undelivered notifications."
}


@pytest.fixture(
    scope="session", params=[pytest.param(name, marks=pytest.mark.needs(name)) for name in LAUNCH]
)
def reader(
    request: pytest.FixtureRequest, site: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reader]:
    """A reader with each engine."""
    folder = tmp_path_factory.mktemp(request.param)
    with serve(site, Recording) as address, LAUNCH[request.param](folder) as driver:
        driver.set_script_timeout(PATIENCE)
        yield Reader(request.param, driver, address)


def test_no_style_says_what_an_engine_refuses() -> None:
    """WebKit has text-decoration with one word; a rule with more is lost, and with var() it also
    takes away what another rule says."""
    for path in sorted(ASSETS.rglob("*.css")):
        for value in re.findall(r"text-decoration:\s*([^;}]+)", path.read_text(encoding="utf-8")):
            assert len(value.replace("!important", "").split()) == 1, f"{path.name}: {value}"


# --- formulas and words


# Formulas of a sentence that stand in more than one line, as [TeX, lines].
TORN = """
  const found = [];
  for (const one of document.querySelectorAll("article math:not([display=block])")) {
    if (!one.checkVisibility() || one.querySelector("mtable")) continue;
    const tops = [...one.children].map((part) => part.getBoundingClientRect())
      .filter(({ width }) => width).map(({ top, bottom }) => (top + bottom) / 2);
    const size = parseFloat(getComputedStyle(one).fontSize);
    if (Math.max(...tops) - Math.min(...tops) > 1.1 * size) found.push(one.textContent);
  }
  return found;"""
# Words that a colour belongs to, and are not underlined in it.
PLAIN = """
  return [...document.querySelectorAll('article a.term[class*="of-"]')].filter((one) => {
    const { textDecorationLine, textDecorationColor, color } = getComputedStyle(one);
    return textDecorationLine !== "underline" || textDecorationColor === color;
  }).map((one) => one.textContent)"""
# Formulas of a sentence that are far higher than a line, or wider than in Chromium.
ACCENTS = """
  return [...document.querySelectorAll("p > math > mover[accent]")]
    .filter((one) => one.checkVisibility() && one.children[0].localName === "mi")
    .map((one) => [one.textContent, one.getBoundingClientRect().height /
      parseFloat(getComputedStyle(one).fontSize)])"""
FRACTIONS = """
  return [...document.querySelectorAll("p > math > mfrac")].filter((one) => one.checkVisibility())
    .map((one) => parseFloat(getComputedStyle(one.children[0]).fontSize) /
      parseFloat(getComputedStyle(one.closest("math")).fontSize))"""
NARROW = """
  const [address, done] = arguments;
  const frame = document.createElement("iframe");
  frame.style = "position: fixed; inset: 0 auto auto 0; width: 390px; height: 844px; border: 0";
  frame.onload = () => {
    const { contentWindow: window, contentDocument: { documentElement: root } } = frame;
    const torn = window.Function(`TORN`)();
    done([root.scrollWidth, window.innerWidth, torn, window.faults]);
  };
  frame.src = address;
  document.body.append(frame);""".replace("TORN", TORN)


@pytest.mark.parametrize("path", ["/transformer-block/", "/zh-hant/multi-head/", "/zh/positions/"])
def test_a_page_is_readable(reader: Reader, path: str) -> None:
    """Nothing is said on the console, formulas are whole, words are marked, nothing sticks out."""
    reader.open(path)
    reader.ask("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert reader.ask("return document.querySelectorAll('article math').length") > 100
    assert reader.ask("return document.querySelectorAll('article a.term').length") > 5
    assert reader.ask(TORN) == []
    assert reader.ask(PLAIN) == []
    assert not [one for one in reader.ask(ACCENTS) if one[1] > 1.2]
    assert not [one for one in reader.ask(FRACTIONS) if one > 0.8]
    assert reader.list_faults() == []
    width, window, torn, faults = reader.driver.execute_async_script(NARROW, reader.address + path)
    assert (window, torn, set(faults) - HARMLESS) == (390, [], set())
    assert width <= 390


# --- what moves and answers


def test_a_page_answers(reader: Reader) -> None:
    """A figure is taken in hand, a stepper goes on, an exercise is judged, the search finds."""
    reader.open("/softmax/")
    reader.find(".instrument")
    reader.wait("return document.querySelector('.instrument').instrument")
    state = "return document.querySelector('.instrument .state').textContent"
    before = reader.ask(state)
    handle = reader.find(".instrument [role=slider], .instrument input[type=range]")
    handle.send_keys("\ue014")  # an arrow to the right
    reader.wait(f"{state} !== arguments[0]", before)

    exercise = "#exercise-weights"
    verdict = f"return document.querySelector('{exercise} output').className"
    field = reader.find(f"{exercise} form.asks input")
    for answer, wanted in (("1, 1, 1", "wrong"), (read_answer(reader, exercise), "right")):
        reader.ask("arguments[0].value = ''", field)
        field.send_keys(answer)
        reader.press(f"{exercise} form.asks button")
        reader.wait(f"{verdict} === arguments[0]", wanted)

    reader.open("/real-models/")
    shown = "return document.querySelector('#out-follow .frame.shown')?.dataset.at"
    reader.find("#out-follow .stepper-bar button:last-of-type")
    first = reader.ask(shown)
    reader.ask(
        "[...document.querySelectorAll('#out-follow .stepper-bar button')]"
        ".find((one) => one.textContent.includes('›')).click()"
    )
    assert (
        reader.wait(
            f"{shown} !== arguments[0] && document.querySelector("
            "'#out-follow .frame.shown').dataset.at",
            first,
        )
        == "1 2"
    )

    reader.open("/eight-steps/")
    reader.wait("return document.querySelector('.film').film")
    reader.ask("document.querySelector('.film').film.goTo(3)")
    scenes = "[...document.querySelectorAll('.film .scene')]"
    assert reader.wait(f"return {scenes}.findIndex((one) => one.matches('.read')) === 3")
    assert reader.list_faults() == []


def read_answer(reader: Reader, exercise: str) -> str:
    """The value that the page holds."""
    return str(reader.ask(f"return document.querySelector('{exercise} .ask .value').textContent"))


def test_the_search_answers_what_was_typed_last(reader: Reader) -> None:
    reader.open("/zh/numbers/")
    find_by_search(reader)
    assert reader.list_faults() == []


def find_by_search(reader: Reader) -> None:
    reader.ask("document.querySelector('label[for=__search]').click()")
    field = reader.find(".md-search__input")
    field.send_keys("softmax")
    first = "return document.querySelector('a.md-search-result__link')?.pathname"
    assert reader.wait(f"const found = (() => {{ {first} }})(); return found?.includes('softmax')")


# --- Python


@pytest.mark.needs("runtime")
def test_what_a_reader_writes_runs(reader: Reader) -> None:
    """Python starts, an edit gives its output, and its link is copied."""
    words = read_locale("en")["site"]["live"]
    reader.open("/numbers/")
    edit(reader, "map", "print(6 * 7)")
    press(reader, words["run"])
    reader.wait("return document.querySelector('#out-map').textContent.includes('42')")
    # An answer stands for four seconds; a busy machine may look later.
    reader.ask(
        "const status = document.querySelector('.live-status'); window.heard = [];"
        "new MutationObserver(() => heard.push(status.textContent))"
        ".observe(status, { childList: true })"
    )
    press(reader, words["share"])
    answers = [words["copied"], words["addressed"]]
    said = reader.wait("return heard.find((one) => arguments[0].includes(one))", answers)
    assert said == words["copied"]
    assert reader.list_faults() == []


@pytest.mark.needs("runtime")
def test_what_was_live_once_works_without_network(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search, and a chapter that was not open before; its file is kept only as it was built."""
    words = read_locale("en")["site"]["live"]
    monkeypatch.setattr(Recording, "records", False)
    reader.open("/numbers/")
    edit(reader, "map", "print(6 * 7)")
    press(reader, words["run"])
    python = [f"live/{name}" for name in ("package.zip", "numpy.zip", "pyodide.asm.wasm")]
    chapter = ["masking/index.html", "live/en/masking.json", "assets/live/worker.js"]
    for path in (*chapter, *python, "live/python_stdlib.zip", "search/search_index.json"):
        reader.wait("return caches.match(arguments[0]).then(Boolean)", f"{reader.address}/{path}")
    monkeypatch.setattr(Recording, "is_down", True)
    reader.open("/masking/")
    edit(reader, "coins", "print(6 * 7)")
    press(reader, words["run"])
    reader.wait("return document.querySelector('#out-coins').textContent.includes('42')")
    find_by_search(reader)
    reader.wait(FORGET)  # the next test wants pages with the recorder


FORGET = """return navigator.serviceWorker.getRegistrations()
  .then((all) => Promise.all(all.map((one) => one.unregister())))
  .then(() => caches.keys())
  .then((names) => Promise.all(names.map((name) => caches.delete(name))))
  .then(() => true)"""


# Open all folds that hold an element, once it is there; whether it can be seen.
UNFOLD = """const one = document.querySelector(arguments[0]);
  for (let at = one; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  return Boolean(one?.checkVisibility());"""


def edit(reader: Reader, block: str, line: str) -> None:
    """Add a line to a block."""
    button = f'.block[data-block="{block}"] .live-edit'
    reader.wait(UNFOLD, button)
    reader.press(button)
    field = reader.find(f'.block[data-block="{block}"] textarea')
    reader.ask(
        "const [field, line] = arguments; field.value += `\\n${line}`;"
        "field.dispatchEvent(new Event('input', { bubbles: true }))",
        field,
        line,
    )


def press(reader: Reader, name: str) -> None:
    """Press a button of the bar."""
    button = (
        "return [...document.querySelectorAll('.live-bar button')]"
        ".find((one) => !one.hidden && one.textContent === arguments[0])"
    )
    reader.wait(button, name).click()


# --- where storage is refused


def test_a_page_without_storage_is_whole(reader: Reader) -> None:
    reader.open("/softmax/?refused")
    shown = (
        "return [...document.querySelectorAll('button[data-scheme]')].filter((one) => !one.hidden)"
    )
    (button,) = reader.ask(shown)
    before = reader.ask("return document.body.dataset.mdColorScheme")
    button.click()
    assert reader.ask("return document.body.dataset.mdColorScheme") != before
    reader.find(".instrument")
    reader.wait("return document.querySelector('.instrument').instrument")
    assert reader.list_faults() == []


# --- where scripts are off, or colours are the system's


def test_a_page_without_scripts_is_whole(reader: Reader) -> None:
    """All frames of a stepper, all drawings of a film above their texts, and all answers are there,
    and no control that would do nothing."""
    reader.open("/real-models/?plain")
    shown = reader.driver.find_elements("css selector", "#out-follow .frame")
    assert len(shown) == 16
    assert all(one.is_displayed() for one in shown)
    reader.open("/eight-steps/?plain")
    places = ".film figure, .film .said"
    parts = reader.driver.find_elements("css selector", places)
    assert [one.tag_name for one in parts] == ["figure", "div"] * 8
    assert all(one.is_displayed() for one in parts)
    opacity = f"return [...document.querySelectorAll({places!r})].map((one) => "
    assert reader.ask(f"{opacity}getComputedStyle(one).opacity)") == ["1"] * 16
    for above, below in pairwise(one.rect for one in parts):
        assert above["height"] > 20
        assert above["y"] + above["height"] <= below["y"] + 1
    for gone in (".stepper-bar", ".live-edit", ".live-turn", "label[for=__search]"):
        assert not [
            one for one in reader.driver.find_elements("css selector", gone) if one.is_displayed()
        ], gone
    answer = reader.driver.find_element("css selector", "#exercise-fourth details.answer > summary")
    assert answer.rect["height"] > 10


@pytest.mark.needs("firefox")
def test_in_forced_colours_the_chosen_step_is_seen(site: Path, tmp_path: Path) -> None:
    """Firefox alone: WebKitGTK has no such colours."""
    forced = {"browser.display.document_color_use": 2}
    with serve(site) as address, launch_firefox(tmp_path, forced) as driver:
        driver.get(address + "/real-models/")
        assert driver.execute_script("return matchMedia('(forced-colors: active)').matches")
        colours = driver.execute_script(
            "return [...document.querySelectorAll("
            "'#out-follow fieldset:not(.pipeline) input')].map((one) => [one.checked,"
            "getComputedStyle(one.nextElementSibling).backgroundColor])"
        )
    chosen = {colour for is_checked, colour in colours if is_checked}
    assert len(chosen) == 1
    assert not chosen & {colour for is_checked, colour in colours if not is_checked}


# --- a reader's own sentence


@pytest.mark.needs("runtime", "minilm")
def test_an_own_sentence_is_read(reader: Reader) -> None:
    """Its tokens and the 72 maps of its heads, as the model of the build has them."""
    reader.open("/encoders/?sentence")  # not as a browser has kept it, without the recorder
    field = reader.find("form.own-sentence input")
    reader.ask("arguments[0].value = 'Dogs bite, cats do not.'", field)
    reader.press("form.own-sentence [type=submit]")
    words = "return [...document.querySelectorAll('.sentence-words button')]"
    tokens = reader.wait(
        f"const all = (() => {{ {words}.map((one) => one.textContent); }})();"
        "return all.length && all"
    )
    wanted = read_sentence("Dogs bite, cats do not.", load_minilm(MODEL))
    assert tokens == wanted.tokens
    maps = "return document.querySelectorAll('.sentence-grid button').length"
    assert reader.ask(maps) == 72
    assert reader.list_faults() == []


@pytest.mark.needs("runtime", "smollm2")
def test_the_model_writes(reader: Reader) -> None:
    """What comes next is what was measured beforehand; the likeliest token is written."""
    reader.open("/next-word/?writes#next=0,,1,1,1")  # of the likeliest alone
    reader.press(".next-live summary")
    reader.press(".next-live button")
    read = "return document.querySelectorAll('.next-own .next-read button').length"
    count = reader.wait(read)
    beginning = next(one for one in load_beginnings()["beginnings"] if one["lang"] == "en")
    assert count == len(beginning["prompt"])
    reader.press(".next-own .next-buttons button:nth-of-type(2)")
    reader.wait(f"return (() => {{ {read} }})() > arguments[0]", count)
    texts = "return [...document.querySelectorAll('.next-own .next-read button')].at(-1).title"
    assert str(beginning["ids"][0]) in reader.ask(texts)
    assert reader.list_faults() == []
