"""What only a browser can tell, in the system's Chromium: silence, weight, calm, access, search."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.conftest import BROWSER, LANGUAGES, ROOT

pytestmark = pytest.mark.site

SLUGS = sorted(path.stem for path in (ROOT / "docs" / "en").glob("*.md"))
URLS = [
    ("" if lang == "en" else f"{lang}/") + ("" if slug == "index" else f"{slug}/")
    for lang in LANGUAGES
    for slug in SLUGS
]
WIDTHS = (1280, 390)
WEIGHT = 350_000  # bytes of a first view, compressed
SHIFT = 0.002  # layout shift score: a glyph of a formula, never a line
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast", "link-in-text-block"]  # all that depends on the colour scheme
RUN_AXE = """
async ([key, values]) => {
  // The visible half of a formula is hidden from assistive technology; its colour is the text's.
  const found = await axe.run({ exclude: [".katex-html"] },
    { resultTypes: ["violations"], runOnly: { type: key, values } });
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
}"""
WATCH_SHIFTS = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
STILL = "* { transition: none !important; animation: none !important; }"
SLANTED = """
() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = new Set();
  while (texts.nextNode()) {
    const { parentElement: box, data } = texts.currentNode;
    const slanted = getComputedStyle(box).fontStyle !== "normal";
    if (slanted && /\\p{Script=Han}/u.test(data)) found.add(data);
  }
  return [...found];
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the site and says nothing."""

    def log_message(self, *args: Any) -> None:
        """Not a word."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    handler = functools.partial(Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's browser, started once."""
    if not BROWSER:
        pytest.fail("no chromium, chromium-browser or google-chrome was found", pytrace=False)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """`visit(url, width)`: a page in a browser of its own, with options of `new_context`."""
    contexts: list[BrowserContext] = []

    def go(url: str, width: int = 1280, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.goto(address + url)
        return page

    yield go
    for context in contexts:
        context.close()


# --- every page ---------------------------------------------------------------------------------


@dataclass
class Survey:
    """What one visit to a page brought to light."""

    problems: list[str] = field(default_factory=list)
    weight: int = 0
    shift: float = 0.0
    slanted: list[str] = field(default_factory=list)
    too_wide: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def survey(browser: Browser, address: str) -> Callable[[str], Survey]:
    """`survey(url)`: each page is visited once."""

    @functools.cache
    def sizes(url: str, body: Callable[[], bytes]) -> int:
        content = body()
        packed = url.endswith((".woff2", ".png"))
        return len(content) if packed else len(gzip.compress(content, 6, mtime=0))

    @functools.cache
    def look(url: str) -> Survey:
        seen = Survey()
        context = browser.new_context(viewport={"width": WIDTHS[0], "height": 900})
        page = context.new_page()
        page.add_init_script(WATCH_SHIFTS)
        responses: list[Any] = []
        page.on("response", responses.append)
        page.on("pageerror", lambda error: seen.problems.append(f"error: {error}"))
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and seen.problems.append(said.text),
        )
        page.on(
            "request",
            lambda request: (
                request.url.startswith((address, "data:", "blob:"))
                or seen.problems.append(f"foreign: {request.url}")
            ),
        )
        page.goto(address + url)
        page.evaluate("document.fonts.ready")
        page.wait_for_timeout(200)
        seen.shift = page.evaluate("window.shift")
        for response in responses:
            if response.status == 200:
                seen.weight += sizes(response.url, response.body)
            else:
                seen.problems.append(f"{response.status}: {response.url}")
        _examine(page, seen)
        context.close()
        return seen

    return look


def _examine(page: Page, seen: Survey) -> None:
    """At both widths and in both schemes: axe, slanted Chinese, a page wider than the screen."""
    page.add_style_tag(content=STILL)
    # What is folded is examined too; of the many origins of numbers, one.
    page.evaluate(
        "document.querySelectorAll('details:not(.origin)').forEach((one) => { one.open = true; });"
        "document.querySelectorAll('details.origin')[0]?.setAttribute('open', '')"
    )
    seen.slanted = page.evaluate(SLANTED)
    page.evaluate(AXE)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            seen.too_wide.append(f"wider than {width} px")
        for scheme, key, values in (("light", "tag", RULES), ("dark", "rule", COLOURS)):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_selector(
                f"body[data-md-color-scheme={'default' if scheme == 'light' else 'slate'}]"
            )
            found = page.evaluate(RUN_AXE, [key, values])
            seen.violations += [f"{width} {scheme}: {one}" for one in found]


@pytest.mark.parametrize("url", URLS)
def test_a_page_loads_in_silence(url: str, survey: Callable[[str], Survey]) -> None:
    """Nothing in the console, nothing missing, nothing from elsewhere."""
    assert survey(url).problems == []


@pytest.mark.parametrize("url", URLS)
def test_a_first_view_is_light_and_nothing_shifts(
    url: str, survey: Callable[[str], Survey]
) -> None:
    assert survey(url).weight <= WEIGHT
    assert survey(url).shift <= SHIFT


@pytest.mark.parametrize("url", URLS)
def test_axe_finds_nothing(url: str, survey: Callable[[str], Survey]) -> None:
    assert survey(url).violations == []


@pytest.mark.parametrize("url", URLS)
def test_no_page_is_wider_than_the_screen_and_no_chinese_is_slanted(
    url: str, survey: Callable[[str], Survey]
) -> None:
    assert survey(url).too_wide == []
    assert survey(url).slanted == []


# --- moving about -------------------------------------------------------------------------------


def test_the_language_switch_keeps_the_page(visit: Callable[..., Page], address: str) -> None:
    page = visit("scaling/")
    for name, url, lang in (("中文", "zh/scaling/", "zh"), ("English", "scaling/", "en")):
        page.locator(".md-select > button").hover()
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_url(address + url)
        assert page.locator("html").get_attribute("lang") == lang


def test_the_colour_scheme_toggles_and_stays(visit: Callable[..., Page], address: str) -> None:
    page = visit("", color_scheme="light")
    scheme = page.locator("body")
    assert scheme.get_attribute("data-md-color-scheme") == "default"
    page.get_by_title("Switch to dark mode").click()
    assert scheme.get_attribute("data-md-color-scheme") == "slate"
    page.goto(address + "zh/scaling/")
    assert scheme.get_attribute("data-md-color-scheme") == "slate"
    page.locator("#__palette_0").focus()
    page.keyboard.press("Enter")
    assert scheme.get_attribute("data-md-color-scheme") == "default"


def test_without_javascript_everything_to_read_is_there(visit: Callable[..., Page]) -> None:
    page = visit("zh/scaling/", java_script_enabled=False)
    assert page.get_by_role("heading", level=1).is_visible()
    for what in (".katex-html", ".formula", ".output pre", "figure svg", "pre > code"):
        shown = page.locator(f"article > {what}, article > * {what}")
        visible = sum(box.is_visible() for box in shown.all()[:10])
        assert visible == min(10, shown.count()) > 0, what
    fold = page.locator("article details:not(.origin)").first
    fold.locator("> summary").click()
    assert fold.locator("> p").first.is_visible()


# --- search -------------------------------------------------------------------------------------


class Finder:
    """The search of one language, used as a reader uses it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def results(self, query: str) -> list[str]:
        """The addresses of the pages that were found, best first."""
        box = self.page.locator(".md-search__input")
        for text, state in (("", "detached"), (query, "attached")):
            box.fill("")
            self.page.keyboard.type(text)
            self.page.keyboard.press("End")  # an input method ends with a key, too
            self.page.locator(".md-search-result__item").first.wait_for(state=state)
        links = self.page.locator(".md-search-result__item > a:first-child")
        found = links.evaluate_all("(all) => all.map((link) => new URL(link.href).pathname)")
        return [path.removeprefix("/") for path in found]


QUERIES = {
    "softmax": {"softmax/"},
    "variance": {"scaling/"},
    "√d_k": {"scaling/"},
    "weighted average": {"glossary/"},
    "causal mask": {"masking/"},
    "positional encoding": {"positions/", "glossary/"},
    "mask all but the last": {"masking/"},
    "缩放点积": {"zh/score-functions/", "zh/scaling/", "zh/attention-function/"},
    "加权平均": {"zh/glossary/"},
    "方差": {"zh/scaling/"},
    "因果掩码": {"zh/masking/"},
    "位置编码": {"zh/positions/"},
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_query_finds_its_page_first(lang: str, visit: Callable[..., Page], address: str) -> None:
    home = "" if lang == "en" else f"{lang}/"
    finder = Finder(visit(f"{home}numbers/"))
    chinese = re.compile("[\u4e00-\u9fff]")
    for query, wanted in QUERIES.items():
        if bool(chinese.search(query)) == (lang == "zh"):
            found = finder.results(query)
            assert found[0] in wanted, (query, found)
            assert all(url.startswith("zh/") == (lang == "zh") for url in found), found
    for query, slug in (("softmax", "softmax"), ("√d_k", "scaling")):
        assert finder.results(query)[0] == f"{home}{slug}/"
    finder.page.keyboard.press("Enter")
    finder.page.wait_for_url(re.compile(rf"^{address}{home}scaling/"))


def test_a_phrase_from_the_middle_of_a_sentence_finds_its_page(
    visit: Callable[..., Page], site: Path
) -> None:
    """On every Chinese page: ten characters between two others."""
    index = json.loads((site / "zh/search/search_index.json").read_text(encoding="utf-8"))["docs"]
    texts: dict[str, str] = {}
    for entry in index:
        page = f"zh/{entry['location'].split('#')[0]}"
        texts[page] = texts.get(page, "") + "\n" + entry["text"]
    finder = Finder(visit("zh/numbers/"))
    asked = 0
    for page, text in texts.items():
        runs = re.findall("[\u4e00-\u9fff]{14,}", text)
        phrases = (run[2:12] for run in sorted(runs, key=len, reverse=True))
        phrase = next((p for p in phrases if sum(p in other for other in texts.values()) == 1), "")
        if phrase:
            assert finder.results(phrase)[0] == page, phrase
            asked += 1
    assert asked >= len(SLUGS) - 3


def test_the_index_waits_until_it_is_wanted(visit: Callable[..., Page]) -> None:
    page = visit("")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(300)
    assert not [url for url in asked if "search_index" in url]
    with page.expect_request("**/search/search_index.json"):
        page.keyboard.press("Control+k")


# --- keyboard -----------------------------------------------------------------------------------

FOCUS = """
() => {
  const box = document.activeElement;
  if (box === document.body) return null;
  box.dataset.visited = "";
  const label = box.type === "radio" ? box.nextElementSibling : box; // the sign for a hidden input
  const { width, height, top, bottom } = label.getBoundingClientRect();
  const style = getComputedStyle(label), ring = parseFloat(style.outlineWidth);
  const faults = [];
  const seen = label.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  if (!seen || !width || !height) faults.push("cannot be seen");
  if (bottom <= 0 || top >= innerHeight) faults.push("is out of sight");
  if (style.outlineStyle === "none" || !ring) faults.push("shows no focus");
  return { faults, what: `${box.outerHTML.slice(0, 120)}` };
}"""
MISSED = """
() => [...document.querySelectorAll("a[href], button, summary, input, select, [tabindex='0']")]
  .filter((box) => !("visited" in box.dataset) && box.tabIndex >= 0 && !box.disabled)
  .filter((box) => box.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
  .filter((box) => !(box.type === "radio" && !box.checked))
  .map((box) => box.outerHTML.slice(0, 120))"""


def walk(page: Page) -> list[str]:
    """Press Tab until the page begins again; everything that is wrong on the way."""
    faults = []
    for _ in range(1500):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUS)
        if stop and stop["faults"]:
            page.wait_for_timeout(100)  # what opens on focus
            stop = page.evaluate(FOCUS)
        if stop is None:
            return faults + [f"never reached: {what}" for what in page.evaluate(MISSED)]
        faults += [f"{fault}: {stop['what']}" for fault in stop["faults"]]
    return [*faults, "the way never ends"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("url", ["", "zh/eight-steps/"])
def test_the_keyboard_reaches_everything_and_shows_where_it_is(
    url: str, width: int, visit: Callable[..., Page]
) -> None:
    page = visit(url, width)
    page.add_style_tag(content=STILL)
    page.wait_for_timeout(300)
    assert walk(page) == []


def test_what_scrolls_takes_the_keyboard_and_has_a_name(visit: Callable[..., Page]) -> None:
    page = visit("zh/eight-steps/", 390)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_for_timeout(300)
    scrolling = page.evaluate(
        """() => [...document.querySelectorAll("article *")]
          .filter((box) => /auto|scroll/.test(getComputedStyle(box).overflowX)
            && box.scrollWidth > box.clientWidth + 1)
          .map((box) => [
            box.tabIndex, box.getAttribute("aria-label"), box.outerHTML.slice(0, 90)])"""
    )
    assert len(scrolling) > 5
    assert not [html for index, name, html in scrolling if index or not name]
    formula = page.locator(".formula[tabindex]").first
    formula.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.activeElement.scrollLeft > 0")


def test_the_drawer_opens_by_keyboard_and_gives_the_focus_back(visit: Callable[..., Page]) -> None:
    page = visit("", 390)
    page.add_style_tag(content=STILL)
    link = page.locator(".md-nav--primary a[href='scaling/']")
    assert not link.is_visible()
    button = page.get_by_role("button", name="Navigation")
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    assert link.is_visible()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('href')") == "scaling/":
            break
    assert link.evaluate("(box) => box === document.activeElement")
    page.keyboard.press("Escape")
    assert button.evaluate("(box) => box === document.activeElement")
    assert not link.is_visible()


def test_single_letters_do_nothing_and_control_k_searches(
    visit: Callable[..., Page], address: str
) -> None:
    page = visit("scaling/")
    for key in "pn,.fs/":
        page.keyboard.press(key)
    page.wait_for_timeout(200)
    assert page.url == f"{address}scaling/"
    assert not page.locator("#__search").is_checked()
    page.keyboard.press("Control+k")
    page.keyboard.type("spin")
    assert page.locator(".md-search__input").input_value() == "spin"
