"""Live pages in a browser: all blocks as published, edits, what follows, bad input, keyboard."""

from __future__ import annotations

import http.server
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from attention_docs.site.publish import runtime
from attention_docs.site.run.live import Session
from attention_docs.words import words
from tests.conftest import ROOT, SLUGS, Handler, each_language, in_browser
from tests.test_browser import CHAPTERS, path_of

Visit = Callable[..., Any]
MINUTE = 60_000  # a loaded machine takes its time

pytestmark = pytest.mark.skipif(
    bool(runtime.missing(ROOT / ".cache")) and not os.environ.get("REQUIRE_LIVE"),
    reason="Python for the browser was not brought",
)

KNOWN: dict[str, str] = {}
"""Blocks that give another digit in the browser, as "language/page#block", with the reason."""

RUN = """([folder, source, codes, script]) => new Promise((resolve) => {
  const worker = new Worker(script, { type: "module" });
  const results = [];
  const end = (fault) => { worker.terminate(); resolve({ results, fault }); };
  worker.onerror = (event) => end(event.message);
  worker.onmessage = ({ data }) => {
    if (data.type === "ready") {
      worker.postMessage({ type: "run", codes, turn: 1, until: codes.length });
    } else if (data.type === "result") results.push(data.result);
    else if (data.type === "done") end("");
    else if (data.type === "broken") end(data.message);
  };
  worker.postMessage({ type: "start", folder, page: source, turn: 0 });
})"""


def source_of(site: Path, lang: str, slug: str) -> dict[str, Any]:
    """What the site holds of a page's blocks."""
    document: dict[str, Any] = json.loads((site / "live" / lang / f"{slug}.json").read_text())
    return document


@in_browser
@each_language
@pytest.mark.parametrize("slug", CHAPTERS)
def test_every_block_gives_what_was_published(
    lang: str, slug: str, visit: Visit, address: str, site: Path
) -> None:
    """Text, figure and inline values, byte for byte."""
    document = source_of(site, lang, slug)
    cells = document["cells"]
    tab = visit(path_of(lang, "numbers"))
    tab.set_default_timeout(10 * MINUTE)
    given = [f"{address}/live/", json.dumps(document), [cell["code"] for cell in cells]]
    answer = tab.evaluate(RUN, [*given, f"{address}/assets/live/worker.js"])
    results = {result["id"]: result for result in answer["results"]}
    faults = [answer["fault"]] if answer["fault"] else []
    for cell in cells:
        result, name = results.get(cell["id"], {}), f"{lang}/{slug}#{cell['id']}"
        if cell["torch"] or name in KNOWN:
            continue
        if not result or result.get("error"):
            faults.append(f"{name}: {result.get('error')}")
        elif any(result["changed"]):
            faults.append(f"{name}: {result.get('text')!r}, published {cell['text']!r}")
        else:
            seen = {place: result["values"].get(str(place)) for place, *_ in cell["values"]}
            faults += [
                f"{name}: {expression} = {seen[place]}, published {published}"
                for place, expression, _, published in cell["values"]
                if seen[place] != published
            ]
    assert not faults, "\n".join(faults)


# --- one page -------------------------------------------------------------------------------------


class Live:
    """A page in a tab, with what a reader does."""

    def __init__(self, tab: Any, lang: str = "en") -> None:
        self.tab = tab
        self.words = words(lang)["site"]["live"]
        tab.set_default_timeout(2 * MINUTE)

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

    def run(self) -> str:
        """Press Run and wait; what the bar says then."""
        self.tab.locator(".live-bar").get_by_text(self.words["run"], exact=True).click()
        return self.settled()

    def settled(self) -> str:
        """Wait until nothing runs; what the bar says."""
        ends = [self.words[name].split("{")[0] for name in ("done", "failed", "ready")]
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
        return str(self.tab.locator(f"#out-{block} pre > code").text_content())

    def value(self, number: int) -> str:
        return str(self.tab.locator(f"#value-{number}").text_content())

    def seen(self) -> str:
        """All that a reader sees of the text."""
        text: str = self.tab.evaluate(
            """() => [...document.querySelectorAll(
              "article .output pre > code, article .drawing, article .value, article [data-value]"
            )].map((one) => one.innerHTML).join("\\n")"""
        )
        return text


@pytest.fixture
def live(visit: Visit) -> Callable[..., Live]:
    """`live("softmax")`: a page that can be edited."""

    def open_page(slug: str, lang: str = "en", **options: Any) -> Live:
        return Live(visit(path_of(lang, slug), **options), lang)

    return open_page


def natively(document: dict[str, Any], edits: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """What a build with these edits would publish, by its own Python and NumPy."""
    codes = []
    for cell in document["cells"]:
        old, new = edits.get(cell["id"], ("", ""))
        assert old in cell["code"]
        codes.append(cell["code"].replace(old, new, 1))
    session = Session(json.dumps(document))
    found: dict[str, Any] = {}
    for number in range(session.begin(json.dumps(codes)), len(codes)):
        result = json.loads(session.step(number))
        found[result["id"]] = result
    return found


FIRST = {"slug": "eight-steps", "block": "search"}  # a block of a main line without torch


@in_browser
def test_nothing_is_loaded_before_the_press(visit: Visit, address: str) -> None:
    """Afterwards from the site alone."""
    tab = visit()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(address + path_of("en", FIRST["slug"]))
    tab.wait_for_load_state("networkidle")
    assert not [one for one in asked if "/live" in one]
    page = Live(tab)
    page.edit(FIRST["block"])
    page.settled()
    assert [one for one in asked if one.endswith(".wasm")]
    assert all(one.startswith(address) for one in asked)


EDITS = [
    (FIRST["slug"], FIRST["block"], "onion cake", "carrot cake"),
    ("eight-steps", "stepper", "[0, 2, 0, 2]", "[0, 3, 0, 2]"),
    ("softmax", "control", "[1.0, 1.0, 1.0, 5.0]", "[1.0, 1.0, 2.0, 5.0]"),
    ("scaling", "example", "d_k = 64", "d_k = 100"),
    ("masking", "minus-infinity", "True, True, False", "True, False, True"),
    ("positions", "shift", "offset = 3", "offset = 5"),
    ("language-model", "hook", "bob sleeps and", "bob swims and"),
]


@in_browser
@each_language
@pytest.mark.parametrize(("slug", "block", "old", "new"), EDITS)
def test_everything_follows_and_comes_back(
    lang: str,
    slug: str,
    block: str,
    old: str,
    new: str,
    live: Callable[..., Live],
    site: Path,
) -> None:
    """Outputs and values after an edit are a build's; what was published is one press away."""
    page = live(slug, lang)
    page.tab.set_default_timeout(10 * MINUTE)
    before = page.seen()
    page.edit(block)
    page.settled()
    assert page.seen() == before
    page.write(block, old, new)
    page.run()
    document = source_of(site, lang, slug)
    wanted = natively(document, {block: (old, new)})
    moved = []
    for cell in document["cells"]:
        result = wanted.get(cell["id"], {})
        if cell["torch"] or "changed" not in result:
            continue
        if result["changed"][0]:
            assert page.output(cell["id"]).rstrip("\n") == result["text"]
        moved += [what for what, one in zip("tf", result["changed"], strict=True) if one]
        for number, *_, published in cell["values"]:
            shown = result["values"].get(str(number), published)
            place = page.tab.locator(f"#value-{number}")
            if place.count():
                assert page.value(number) == shown, (cell["id"], number)
                assert ("live-value" in place.get_attribute("class")) == (shown != published)
    assert moved
    after = page.seen()
    compare = page.tab.locator(".live-bar button[aria-pressed]")
    compare.click()
    assert page.tab.locator(".output mark").count() == 0
    compare.click()
    assert page.seen() == after
    page.tab.locator(".live-bar").get_by_text(page.words["reset"]).click()
    assert page.seen() == before
    assert page.status() == page.words["published"]


@in_browser
def test_knobs_of_the_eight_steps(live: Callable[..., Live], site: Path) -> None:
    """The reader's own second input goes through all steps."""
    page = live("eight-steps")
    page.tab.get_by_role("button", name=page.words["turn"]).first.click()
    page.tab.locator(".live-knobs").wait_for()
    page.settled()
    page.tab.get_by_label("x[2, 2]", exact=True).fill("3")
    page.tab.wait_for_function("document.querySelector('#out-inputs mark')")
    page.settled()
    wanted = natively(
        source_of(site, "en", "eight-steps"), {"stepper": ("[0, 2, 0, 2]", "[0, 3, 0, 2]")}
    )
    assert page.output("inputs").rstrip("\n") == wanted["inputs"]["text"]
    assert page.tab.locator("#out-stepper.live-changed").count() == 1


@in_browser
def test_a_trained_model_reads_what_is_typed(live: Callable[..., Live]) -> None:
    """By keyboard, letter by letter: no torch, and parameters that a block has published."""
    page = live("language-model")
    page.tab.get_by_role("button", name=page.words["turn"]).nth(1).press("Enter")
    field = page.tab.get_by_label("letters", exact=True)
    field.wait_for()
    page.settled()
    field.press("ControlOrMeta+a")
    field.press_sequentially("tigertig")
    figure = page.tab.locator("#out-look")
    page.tab.wait_for_function("document.querySelectorAll('#out-look figure.frame').length === 8")
    page.settled()
    last = figure.locator("figure.frame figcaption").last
    assert re.search(r"tigertig …\W+The model expects e", last.text_content())
    field.press("4")
    page.tab.locator(".live-error").wait_for()
    assert "wanted words out of: a b c" in page.tab.locator(".live-error").inner_text()


@in_browser
def test_an_error_is_told_and_the_last_output_stays(live: Callable[..., Live]) -> None:
    page = live(FIRST["slug"])
    field = page.edit(FIRST["block"])
    page.settled()
    output = page.output(FIRST["block"])
    good = field.input_value()
    field.fill(good + "\nprint(nobody)")
    assert page.run() == page.words["failed"]
    error = page.tab.locator(".live-error")
    assert "NameError: name 'nobody' is not defined" in error.inner_text()
    assert "print(nobody)" in error.inner_text()
    assert str(good.count("\n") + 2) in error.inner_text()
    assert "/site/run" not in error.inner_text()
    assert page.output(FIRST["block"]) == output
    field.fill(good)
    page.run()
    assert error.count() == 0


@in_browser
def test_an_endless_loop_is_stopped(live: Callable[..., Live]) -> None:
    page = live(FIRST["slug"])
    field = page.edit(FIRST["block"])
    page.settled()
    good = field.input_value()
    field.fill("while True:\n    pass")
    bar = page.tab.locator(".live-bar")
    bar.get_by_text(page.words["run"], exact=True).click()
    bar.get_by_text(page.words["stop"], exact=True).click()
    assert page.status() == page.words["stopped"]
    assert field.input_value().startswith("while")
    field.fill(good.replace("onion cake", "soup"))
    page.run()
    assert "[1, 1, 0]" in page.output(FIRST["block"])


@in_browser
def test_a_link_brings_edits_and_runs_nothing(
    live: Callable[..., Live], visit: Visit, address: str
) -> None:
    page = live(FIRST["slug"])
    page.edit(FIRST["block"])
    page.settled()
    page.write(FIRST["block"], "onion cake", "carrot 胡萝卜 cake")
    page.tab.locator(".live-bar").get_by_text(page.words["share"]).click()
    page.tab.wait_for_function('location.hash.startsWith("#live=")')
    shared = page.tab.evaluate("location.hash")
    other = visit()
    asked: list[str] = []
    other.on("request", lambda request: asked.append(request.url))
    other.goto(address + path_of("en", FIRST["slug"]) + shared)
    follower = Live(other)
    assert "胡萝卜" in follower.field(FIRST["block"]).input_value()
    other.wait_for_timeout(500)
    assert not [one for one in asked if one.endswith((".wasm", "worker.js"))]
    assert follower.status().startswith(follower.words["linked"].split("{")[0])
    follower.run()
    assert other.locator(f"#out-{FIRST['block']} mark").count()


@in_browser
@each_language
@pytest.mark.parametrize("kind", ["broken", "gone"])
def test_a_link_that_does_not_fit_changes_nothing(
    lang: str, kind: str, visit: Visit, address: str
) -> None:
    tab = visit()
    fragments = {"broken": "#live=abc"}
    if kind == "gone":  # [["gone", "0", "print(1)"]], deflated
        tab.goto(address + path_of(lang, "numbers"))
        fragments["gone"] = tab.evaluate(
            """async () => (await import("/assets/live/link.js")).link(
              [{ id: "gone", base: "x", code: "print(1)", edited: true }])"""
        )
    tab.goto(address + path_of(lang, FIRST["slug"]) + fragments[kind])
    page = Live(tab, lang)
    tab.wait_for_function('document.querySelector(".live-status")?.textContent')
    wanted = page.words["unreadable"] if kind == "broken" else page.words["lost"].format("gone")
    assert page.status().strip() == wanted
    assert tab.locator(".live-editor").count() == 0


@in_browser
def test_the_scratch_cell_knows_the_page(live: Callable[..., Live]) -> None:
    page = live(FIRST["slug"])
    page.tab.get_by_role("button", name=page.words["scratch"]).click()
    field = page.tab.locator(".live-scratch textarea")
    field.wait_for()
    page.settled()
    field.fill("print(text(2 * card_values, '.0f'))")
    page.run()
    assert page.output("scratch").startswith("[[100,  0],")


@in_browser
def test_by_keyboard_alone(live: Callable[..., Live]) -> None:
    """Tab to Edit, Enter, write, indent, run, leave."""
    page = live(FIRST["slug"])
    tab = page.tab
    tab.locator(f'.block[data-block="{FIRST["block"]}"] .live-edit').focus()
    tab.keyboard.press("Enter")
    field = page.field(FIRST["block"])
    tab.wait_for_function("document.activeElement.localName === 'textarea'")
    assert FIRST["block"] in field.get_attribute("aria-label")
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
    page.settled()
    tab.keyboard.press("Control+Enter")
    tab.wait_for_function(
        f"document.querySelector('#out-{FIRST['block']} pre').textContent.includes('own 3')"
    )
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.activeElement.textContent") == page.words["run"]


@in_browser
@each_language
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_with_an_editor_open(
    lang: str, width: int, scheme: str, live: Callable[..., Live]
) -> None:
    page = live(FIRST["slug"], lang, width=width, color_scheme=scheme)
    page.edit(FIRST["block"])
    page.settled()
    page.write(FIRST["block"], "onion cake", "carrot cake")
    page.run()
    page.tab.evaluate(AXE_SCRIPT)
    found = page.tab.evaluate(
        """async () => {
          const inside = [".live-editor", ".live-bar", ".output.live-changed", "article p"];
          const { violations } = await axe.run({ include: inside.map((one) => [one]) });
          return violations.map(({ id, nodes }) =>
            id + ": " + nodes.map((node) => node.html.slice(0, 200)).join("; "));
        }"""
    )
    assert not found, "\n".join(found)
    assert page.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


# --- bad input and hard places -------------------------------------------------------------------


@in_browser
@each_language
def test_without_webassembly_it_says_so(lang: str, visit: Visit, address: str) -> None:
    tab = visit()
    tab.add_init_script("delete window.WebAssembly")
    tab.goto(address + path_of(lang, FIRST["slug"]))
    page = Live(tab, lang)
    tab.locator(f'.block[data-block="{FIRST["block"]}"] .live-edit').click(force=True)
    tab.wait_for_function('document.querySelector(".live-status")?.textContent')
    assert page.status() == page.words["unable"]
    assert tab.locator(".live-editor").count() == 0


@in_browser
@each_language
@pytest.mark.parametrize("fault", ["lost", "foreign", "package"])
def test_a_file_that_does_not_come_is_told(
    lang: str, fault: str, visit: Visit, address: str
) -> None:
    """The connection is lost halfway; NumPy is another file; the package is none."""
    # What a service worker asks for, no test can answer.
    tab = visit(path_of(lang, FIRST["slug"]), service_workers="block")
    page = Live(tab, lang)
    before = page.seen()
    routes = {"lost": "**/python_stdlib.zip", "foreign": "**/*.whl", "package": "**/package.zip"}
    answers = {
        "lost": lambda route: route.abort(),
        "foreign": lambda route: route.fulfill(body=b"another wheel"),
        "package": lambda route: route.fulfill(body=b"no archive"),
    }
    tab.route(routes[fault], answers[fault])
    page.edit(FIRST["block"])
    start = page.words["broken"].split("{")[0]
    tab.wait_for_function(
        "(start) => document.querySelector('.live-status')?.textContent.startsWith(start)",
        arg=start,
    )
    assert page.seen() == before
    tab.unroute(routes[fault])
    page.tab.keyboard.press("Control+Enter")
    page.settled()  # the connection is back


class Strict(Handler):
    """A site whose content policy allows itself alone."""

    def end_headers(self) -> None:
        """The policy that README names."""
        policy = (
            "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; "
            "style-src 'self' 'unsafe-inline'; img-src 'self' data:"
        )
        self.send_header("Content-Security-Policy", policy)
        super().end_headers()


@pytest.fixture
def strict(site: Path) -> Iterator[str]:
    handler = partial(Strict, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@in_browser
def test_a_content_policy_of_the_site_alone(strict: str, visit: Visit) -> None:
    tab = visit()
    tab.goto(strict + path_of("en", FIRST["slug"]))
    tab.locator(f'.block[data-block="{FIRST["block"]}"] .live-edit').click(force=True)
    ready = tab.locator(".live-status", has_text=words("en")["site"]["live"]["done"].split("{")[0])
    ready.wait_for(timeout=2 * MINUTE)


@in_browser
def test_what_was_loaded_once_works_without_network(live: Callable[..., Live]) -> None:
    page = live(FIRST["slug"])
    page.edit(FIRST["block"])
    page.settled()
    files = [*runtime.FILES, "package.zip", "sizes.json"]
    page.tab.wait_for_function(
        """async (files) => {
          const kept = await (await caches.open("attention-live")).keys();
          return files.every((file) => kept.some((one) => one.url.endsWith(file)));
        }""",
        arg=files,
    )
    page.tab.context.set_offline(True)
    page.tab.reload()
    page.edit(FIRST["block"])
    page.settled()
    page.write(FIRST["block"], "onion cake", "soup")
    page.run()
    assert "[1, 1, 0]" in page.output(FIRST["block"])


def test_pages_that_run_are_listed() -> None:
    """A page with blocks is one of the site."""
    assert set(CHAPTERS) <= set(SLUGS)
