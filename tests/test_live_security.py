"""Attacks on the site by code that came with a link, in Chromium: a reader's code is a guest."""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LANGUAGES, ROOT, Handler, find_page_folder, in_one_language, serve
from tests.test_browser import make_path
from tests.test_live_pages import (
    BLOCK,
    IS_CACHED,
    PATIENCE,
    RUNNING,
    Live,
    needs_live,
    read_source,
    read_words,
)

Visit = Callable[..., Any]
SECRET = "/stolen"


class Watched(Handler):
    """The built site, with a note of each path that is asked for."""

    asked: list[str]

    def do_GET(self) -> None:  # noqa: N802
        """Note it; what only an attacker asks for is there."""
        self.asked.append(self.path)
        if SECRET in self.path:
            self.path = "/assets/live/python.js"
        super().do_GET()


@pytest.fixture
def watched(site: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of the site on a server of its own, and the paths that were asked for."""
    asked: list[str] = []
    with serve(site, type("Noting", (Watched,), {"asked": asked})) as found:
        yield found, asked


def open_attacked_page(visit: Visit, address: str, fragment: str, block: str = BLOCK) -> Live:
    """The page of a reader who has opened a link and pressed Run."""
    tab = visit()
    tab.goto(address + make_path("en", "eight-steps") + fragment)
    reader = Live(tab)
    reader.tab.set_default_timeout(PATIENCE)
    if block == "scratch":
        tab.locator(".live-scratch textarea").wait_for()
    else:
        reader.field(block)
    reader.run()
    assert tab.locator("iframe").count() == 1
    return reader


POISON = """
from pyodide.code import run_js
try:
    run_js('''(async () => {
      const answer = () => new Response(
        "<title>POISONED</title><script>window.poisoned = 1</script>",
        { headers: { "content-type": "text/html" } });
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const { url } of await cache.keys()) {
          if (!url.includes("/live/")) await cache.put(url, answer());
        }
        await cache.put("ORIGIN/softmax/", answer());
      }
    })()''')
except Exception as error:
    print(type(error).__name__)
"""
"""Put a page of the attacker's in the place of every page that is kept to be read offline."""


@needs_live
def test_no_page_is_replaced_by_the_code_of_a_link(visit: Visit, address: str, site: Path) -> None:
    fragment = make_link(site, POISON.replace("ORIGIN", address))
    tab = open_attacked_page(visit, address, fragment).tab
    tab.evaluate(IS_CACHED, "/softmax/index.html")
    tab.context.set_offline(True)
    for slug in ("softmax", "eight-steps"):
        tab.goto(address + make_path("en", slug))
        assert not tab.evaluate("window.poisoned"), slug
        assert tab.locator("h1").count() == 1


REPLACE = """async () => {
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const { url } of await cache.keys()) {
      const headers = { "content-type": "text/html" };
      await cache.put(url, new Response("<title>POISONED</title>", { headers }));
    }
  }
}"""


@needs_live
def test_what_the_build_did_not_list_is_not_served(visit: Visit, address: str) -> None:
    """Where other scripts of the origin have written into the cache, no network is no page."""
    tab = visit(make_path("en", "eight-steps"))
    page = Live(tab)
    page.edit(BLOCK)
    page.wait_until_settled()
    tab.evaluate(IS_CACHED, "/softmax/index.html")
    tab.context.set_offline(True)
    tab.goto(address + make_path("en", "softmax"))
    assert tab.locator("h1").count() == 1
    tab.evaluate(REPLACE)
    tab.context.new_cdp_session(tab).send("Network.clearBrowserCache")  # it would answer first
    with pytest.raises(Exception, match="ERR_"):
        tab.goto(address + make_path("en", "softmax"))


FORGED = """
class Forged:
    alt = ""
    def svg(self, lang):
        return '''DRAWING'''
Forged()
"""
DRAWING = """<svg onload="window.poisoned = 1"><a href="javascript:alert(1)"><text>link</text></a>
<a href="//stolen-host/x"><text>away</text></a><a href="/stolen-page"><text>up</text></a>
<image href="/stolen-image" /><script>window.poisoned = 1</script><style>* { color: red }</style>
<path d="M0 0" fill="url(/stolen-fill)" style="width:50%;background:url(/stolen-style)" /></svg>
<img src="/stolen-source" onerror="window.poisoned = 1"><iframe srcdoc="x"></iframe>
<div class="md-search live-bar" style="position:fixed;inset:0" id="__words">over the page</div>
<form action="/stolen-form"><button type="submit" formaction="x">press</button></form>"""
HARMLESS = (
    '<svg><path d="M0 0" fill-opacity="1"></path></svg>',
    '<div class="frame" style="--at:0.5;color:var(--figure-ink,#23272d)">text</div>',
)


@needs_live
def test_a_figure_is_no_script(visit: Visit, watched: tuple[str, list[str]]) -> None:
    address, asked = watched
    fragment = pack_fragment([["scratch", "", 0, 1, FORGED.replace("DRAWING", DRAWING), True]])
    tab = open_attacked_page(visit, address, fragment, block="scratch").tab
    drawing = tab.locator("#out-scratch .drawing")
    drawing.get_by_text("over the page").wait_for()
    assert (
        drawing.locator("a[href], image, script, style, img, iframe, form, [id], [onload]").count()
        == 0
    )
    assert drawing.locator("path").get_attribute("fill") is None
    assert drawing.locator("[style], [class]").count() == 0
    tab.wait_for_timeout(300)
    assert not tab.evaluate("window.poisoned")
    assert not [path for path in asked if SECRET in path]


CLEAN = """async (drawings) => {
  const { cleanHtml } = await import("/assets/live/clean.js");
  return drawings.filter((html) => {
    const [wanted, found] = [document.createElement("div"), document.createElement("div")];
    wanted.innerHTML = html;
    found.append(cleanHtml(html));
    return !found.isEqualNode(wanted);
  });
}"""
DRAWN = """() => [...document.querySelectorAll(".drawing")].map((one) => one.innerHTML)"""


@needs_live
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_published_figure_passes_whole(lang: str, visit: Visit, site: Path) -> None:
    tab = visit(make_path(lang, "index"))
    for slug in RUNNING:
        html = (find_page_folder(site, lang, slug) / "index.html").read_text(encoding="utf-8")
        drawings = tab.evaluate(
            """(html) => {
              const page = new DOMParser().parseFromString(html, "text/html");
              return [...page.querySelectorAll(".drawing")].map((one) => one.innerHTML);
            }""",
            html,
        )
        assert tab.evaluate(CLEAN, [*drawings, *HARMLESS]) == [], slug
    assert tab.evaluate(CLEAN, [DRAWING]) == [DRAWING]


def test_the_copy_of_dompurify_is_the_one_that_is_named() -> None:
    folder = ROOT / "docs" / "assets" / "live"
    digest = hashlib.sha256((folder / "purify" / "purify.min.js").read_bytes()).hexdigest()
    assert digest in (folder / "clean.js").read_text(encoding="utf-8")


NAMES = [
    "caches",
    "indexedDB",
    "fetch",
    "XMLHttpRequest",
    "WebSocket",
    "WebSocketStream",
    "EventSource",
    "WebTransport",
    "importScripts",
    "Worker",
    "SharedWorker",
    "BroadcastChannel",
    "storage",
    "sendBeacon",
    "eval",
    "postMessage",
    "close",
    "FontFace",
    "fonts",
    "Request",
    "FileSystemHandle",
    "webkitRequestFileSystem",
    "onmessage",
    "Notification",
    "Blob",
    "cookieStore",
    "locks",
    "serviceWorker",
    "scheduler",
    "trustedTypes",
    "requestAnimationFrame",
    "OffscreenCanvas",
]
"""What no reader's code finds, at the worker or anywhere behind it."""

REACH = """
import js, json, asyncio
from pyodide.code import run_js
got = []

def attempt(name, job):
    try:
        result = job()
    except BaseException:
        return
    got.append(f"{name}: {result!r}"[:80])

for name in NAMES:
    attempt(name, lambda: getattr(js, name))
    attempt(f"globalThis.{name}", lambda: getattr(js.globalThis, name))
    attempt(f"navigator.{name}", lambda: getattr(js.navigator, name))
    place = js.globalThis
    while place:  # null is false, and no None
        if js.Object.getOwnPropertyDescriptor(place, name) is not None:
            got.append(f"{name} of {place}")
        place = js.Object.getPrototypeOf(place)
text = "globalThis.got = 1"
attempt("run_js", lambda: run_js(text))
attempt("Function", lambda: js.Function.new(text)())
attempt("constructor", lambda: js.Object.constructor.new(text)())
attempt("of a prototype", lambda: js.Function.prototype.constructor.new(text)())
attempt("construct", lambda: js.Reflect.construct(js.Object.constructor, [text])())
attempt("setTimeout", lambda: js.setTimeout(text, 0))
try:  # it answers with a promise, whatever becomes of it: what was asked for says more
    js.WebAssembly.compileStreaming("ORIGIN/stolen-wasm")
except Exception:
    pass
attempt("a worker's scope", lambda: js.WorkerGlobalScope.new())
attempt("createObjectURL", lambda: js.URL.createObjectURL)

import pyodide_js
import pyodide.http
attempt("open_url", lambda: pyodide.http.open_url("ORIGIN/stolen-open"))
for job in (
    lambda: pyodide.http.pyfetch("ORIGIN/stolen-fetch"),
    lambda: pyodide_js.loadPackage("ORIGIN/stolen-1.0-py3-none-any.whl"),
    lambda: pyodide_js.loadPackage("stolen"),
):
    attempt("a promise", lambda: asyncio.ensure_future(job()) and None)
got = [one for one in got if not one.startswith("a promise")]
attempt("IDBFS", lambda: pyodide_js.FS.mount(pyodide_js.FS.filesystems.IDBFS, {}, "/mnt"))
import urllib.request
attempt("urllib", lambda: urllib.request.urlopen("ORIGIN/stolen-urllib", timeout=1))
print(json.dumps(got))
"""


@needs_live
def test_python_reaches_nothing_outside(visit: Visit, watched: tuple[str, list[str]]) -> None:
    """Not through its module `js`, not through prototypes, text that becomes code, or Pyodide."""
    address, asked = watched
    code = REACH.replace("NAMES", repr(NAMES)).replace("ORIGIN", address)
    fragment = pack_fragment([["scratch", "", 0, 1, code, True]])
    reader = open_attacked_page(visit, address, fragment, block="scratch")
    errors = reader.tab.locator(".live-error").all_text_contents()
    assert not errors
    assert json.loads(reader.output("scratch")) == []
    reader.tab.wait_for_timeout(500)
    assert not [path for path in asked if SECRET in path]


WALLS = """async (address) => {
  const { POLICY } = await import("/assets/live/guest.js");
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.srcdoc = `<meta http-equiv="Content-Security-Policy" content="${POLICY}"><script>
    onmessage = ({ data }) => {
      const worker = new Worker(URL.createObjectURL(new Blob([data])));
      worker.onmessage = (event) => parent.postMessage(event.data, "*");
    };
  </scr` + "ipt>";
  const script = `(async () => {
    const attempts = {
      caches: () => caches.open("x"),
      indexedDB: () => new Promise((yes, no) => {
        const request = indexedDB.open("x");
        Object.assign(request, { onsuccess: yes, onerror: no });
      }),
      fetch: () => fetch("${address}/stolen-fetch", { mode: "no-cors" }),
      request: () => {
        const request = new XMLHttpRequest();
        request.open("GET", "${address}/stolen-request", false);
        request.send();
      },
      socket: () => new Promise((yes, no) => {
        const socket = new WebSocket("${address}/stolen-socket".replace("http", "ws"));
        Object.assign(socket, { onopen: yes, onerror: no });
      }),
      events: () => new Promise((yes, no) => {
        Object.assign(new EventSource("${address}/stolen-events"), { onopen: yes, onerror: no });
      }),
      scripts: () => importScripts("${address}/stolen-scripts"),
      module: () => import("${address}/stolen-module"),
      data: () => import("data:text/javascript,"),
      font: () => new FontFace("x", "url(${address}/stolen-font)").load(),
      files: () => navigator.storage.getDirectory(),
      text: () => eval("1"),
      function: () => Function("return 1")(),
    };
    const got = [];
    for (const [name, attempt] of Object.entries(attempts)) {
      try { await attempt(); got.push(name); } catch {}
    }
    postMessage(got);
  })()`;
  const answer = new Promise((resolve) => addEventListener("message", ({ data, source }) => {
    if (source === frame.contentWindow) resolve(data);
  }));
  frame.addEventListener("load", () => frame.contentWindow.postMessage(script, "*"));
  document.body.append(frame);
  return answer;
}"""


@needs_live
def test_the_frame_holds_alone(visit: Visit, watched: tuple[str, list[str]]) -> None:
    """Should a script find again what was taken from the worker, the browser still refuses it."""
    address, asked = watched
    tab = visit()
    tab.goto(address + make_path("en", "index"))
    assert tab.evaluate(WALLS, address) == []
    assert not [path for path in asked if SECRET in path]


# A browser that refuses a worker in the frame.
ALONE = """Object.defineProperty(HTMLIFrameElement.prototype, "srcdoc", {
  set(text) { this.setAttribute("srcdoc", text.replace("worker-src blob:", "worker-src 'none'")); },
});"""


@needs_live
@in_one_language
def test_without_a_worker_in_the_frame_nothing_runs(
    lang: str, visit: Visit, address: str, site: Path
) -> None:
    """There is no other place for a reader's code: a worker of the page has the site's origin."""
    tab = visit()
    tab.add_init_script(ALONE)
    tab.goto(address + make_path(lang, "eight-steps") + make_link(site, "print('it ran')"))
    page = Live(tab, lang)
    page.field(BLOCK)
    tab.locator(".live-bar").get_by_role("button", name=page.words["run"]).click()
    tab.wait_for_function(
        "(text) => document.querySelector('.live-status').textContent === text",
        arg=page.words["unable"],
    )
    assert tab.locator("iframe").count() == 0
    assert len(tab.workers) == 0
    assert "it ran" not in page.output(BLOCK)


TAKE_AWAY = """(address) => {
  const reader = window.open(address);
  const break_ = () => {
    for (let n = 0; n < reader.length; n += 1) {
      const { port1: port } = new MessageChannel();
      reader[n].postMessage({ script: "throw new Error('no worker here')", port }, "*", [port]);
      reader[n].postMessage({ failed: "" }, "*");
    }
    reader.postMessage({ failed: "" }, "*");
  };
  setInterval(break_, 5);
}"""
"""A page of another origin opens a reader's page and sends its frames what the page sends them."""


@needs_live
def test_no_other_window_takes_the_frame_away(
    visit: Visit, address: str, watched: tuple[str, list[str]], site: Path
) -> None:
    attacker = visit()
    attacker.goto(watched[0] + make_path("en", "numbers"))
    fragment = make_link(site, "import js\nprint(js.location.href)")
    with attacker.expect_popup() as opened:
        attacker.evaluate(TAKE_AWAY, address + make_path("en", "eight-steps") + fragment)
    tab = opened.value
    page = Live(tab)
    page.tab.set_default_timeout(PATIENCE)
    page.field(BLOCK)
    page.run()
    assert page.output(BLOCK).startswith("blob:null/")
    assert tab.locator("iframe").count() == 1


# --- links ----------------------------------------------------------------------------------------


def pack_fragment(entries: list[Any]) -> str:
    """The fragment of a link that holds this, as RFC 1951 and 4648 say."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    content = packer.compress(json.dumps(entries).encode()) + packer.flush()
    return "#live=" + base64.urlsafe_b64encode(content).decode().rstrip("=")


def make_link(site: Path, code: str) -> str:
    """The fragment of a link to the eight steps with this code in place of a block's."""
    cells = read_source(site, "en", "eight-steps")["cells"]
    (cell,) = (cell for cell in cells if cell["id"] == BLOCK)
    lines = len(cell["code"].split("\n"))
    return pack_fragment([[BLOCK, cell["origin"], 0, lines, code, True]])


@needs_live
@in_one_language
@pytest.mark.parametrize("size", [101_000, 1_000_000, 30_000_000])
def test_a_link_that_holds_too_much_is_refused_at_once(
    size: int, lang: str, visit: Visit, site: Path
) -> None:
    code = ("x = 1\n" * (size // 6 + 1))[:size]
    tab = visit(make_path(lang, "eight-steps") + make_link(site, code))
    tab.wait_for_function('document.querySelector(".live-status")?.textContent', timeout=10_000)
    assert tab.locator(".live-status").text_content() == read_words(lang)["tooLarge"]
    assert tab.locator(".live-editor").count() == 0


@needs_live
@pytest.mark.parametrize("count", [2_001, 99_000])
def test_a_link_of_many_lines_is_refused_at_once(count: int, visit: Visit, site: Path) -> None:
    """A line costs the editor far more than a character does: 99,000 held the page up for 29 s."""
    tab = visit(make_path("en", "eight-steps") + make_link(site, "\n" * (count - 1)))
    tab.wait_for_function('document.querySelector(".live-status")?.textContent', timeout=10_000)
    assert tab.locator(".live-status").text_content() == read_words("en")["tooLarge"]
    assert tab.locator(".live-editor").count() == 0


@needs_live
def test_a_link_of_100_kilobytes_is_taken(visit: Visit, site: Path) -> None:
    code = "\n".join(["x = 1; " * 7] * 1_980)
    assert 98_000 < len(code) < 100_000
    tab = visit(make_path("en", "eight-steps") + make_link(site, code))
    assert Live(tab).field(BLOCK).input_value() == code


@needs_live
def test_edits_too_long_for_a_link_stay_here(visit: Visit) -> None:
    tab = visit(make_path("en", "eight-steps"), service_workers="block")
    page = Live(tab)
    page.edit(BLOCK).fill("y = 2; " * 13_000)  # one line: many lines take long to lay out
    page.edit("stepper").fill("z = 3; " * 13_000)
    page.press("share")
    tab.wait_for_function(
        "(text) => document.querySelector('.live-status').textContent === text",
        arg=page.words["tooLong"],
    )
    assert not tab.evaluate("location.hash")


@needs_live
def test_five_lost_blocks_are_named(visit: Visit) -> None:
    lost = [[f"<b>gone {n}</b>", "x", 0, 1, "print(1)", True] for n in range(1000)]
    tab = visit(make_path("en", "eight-steps") + pack_fragment(lost))
    tab.wait_for_function('document.querySelector(".live-status")?.textContent')
    says = tab.locator(".live-status").text_content()
    assert "<b>gone 4</b> …" in says
    assert "gone 5" not in says
    assert not tab.locator(".live-status b").count()


@needs_live
@pytest.mark.parametrize(
    ("slug", "block"),
    [("eight-steps", "writing-checks"), ("eight-steps", "stepper"), ("generation", "setup")],
)
def test_what_a_link_changes_is_shown_before_it_runs(
    slug: str, block: str, visit: Visit, site: Path
) -> None:
    """Of a block too whose code the page shows nowhere, with an output or without one."""
    (cell,) = (cell for cell in read_source(site, "en", slug)["cells"] if cell["id"] == block)
    code = f"{cell['code']}\nprint('a stranger wrote this')\n"
    lines = len(cell["code"].split("\n"))
    fragment = pack_fragment([[block, cell["origin"], 0, lines, code, True]])
    tab = visit(make_path("en", slug) + fragment, service_workers="block")
    tab.set_default_timeout(PATIENCE)
    editor = tab.locator(".live-editor")
    editor.wait_for()
    assert editor.count() == 1
    assert "a stranger wrote this" in editor.locator("textarea").input_value()
    assert editor.locator(".live-foreign").is_visible()
    assert editor.is_visible()


HIDING = """y = 2SPACES; print("HIDDEN")
s = "\u202e )'olleh'(tnirp \u2066"  # \u202e } \u2066
t = "\u200b\ufeff\u00a0\U000e0041\r\u3164"; u = "אב"; v = "גד"
print(ascii(s + t))""".replace("SPACES", 600 * " ")
# Of each line on the screen: do its characters stand from left to right, and within the box?
TURNED = """(box) => {
  const found = [];
  const right = box.getBoundingClientRect().right;
  for (const line of box.querySelectorAll(".pce-line")) {
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    let last = null;
    while (walker.nextNode()) for (let at = 0; at < walker.currentNode.length; at += 1) {
      const range = document.createRange();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + 1);
      const place = range.getBoundingClientRect();
      const isTurned = last && Math.abs(place.top - last.top) < 2 && place.left < last.left;
      const isSeen = range.toString().trim();
      if (isTurned || (isSeen && place.right > right)) found.push(line.textContent.slice(at));
      last = place;
    }
  }
  return found;
}"""


@needs_live
@pytest.mark.parametrize("width", [1280, 390])
def test_no_code_of_a_link_is_hidden(width: int, visit: Visit, site: Path) -> None:
    """By a long line, marks that do not show, or letters that turn what is around them."""
    path = make_path("en", "eight-steps")
    path += make_link(site, HIDING + 60 * "\n" + "print('END')")
    tab = visit(path, service_workers="block")
    tab.set_viewport_size({"width": width, "height": 700})
    page = Live(tab)
    shown = page.field(BLOCK).input_value()
    left = [one for one in shown if unicodedata.category(one)[0] in "CZ" and one not in " \n"]
    assert left == []
    assert r'"\u202e )' in shown
    assert r'"\u200b\ufeff\u00a0\U000e0041\u000d\u3164"' in shown
    box = tab.locator(f'.block[data-block="{BLOCK}"] .prism-code-editor')
    assert box.evaluate("(one) => one.scrollHeight <= one.clientHeight + 1")
    assert box.evaluate(TURNED) == []
    assert box.locator("textarea").evaluate("(one) => getComputedStyle(one).unicodeBidi") == (
        "bidi-override"
    )
    page.run()
    hidden, said, end = page.output(BLOCK).split("\n")[:3]
    assert (hidden, end) == ("HIDDEN", "END")
    assert said == ascii("\u202e )'olleh'(tnirp \u2066\u200b\ufeff\u00a0\U000e0041\r\u3164")


@needs_live
@in_one_language
def test_a_link_on_an_open_page_asks(lang: str, visit: Visit, site: Path) -> None:
    """What a reader has written or is reading makes way if they agree; Back brings it again."""
    asked: list[str] = []
    answers = iter([False, True, True, False])

    def answer(dialog: Any) -> None:
        asked.append(dialog.message)
        dialog.accept() if next(answers) else dialog.dismiss()

    tab = visit(make_path(lang, "eight-steps"), service_workers="block")
    tab.on("dialog", answer)
    page = Live(tab, lang)
    first, second = (make_link(site, f"print('{name}')") for name in ("first", "second"))

    def follow(hash_: str) -> None:
        tab.evaluate("(hash) => { location.hash = hash; }", hash_)

    def wait_for(code: str) -> None:
        tab.wait_for_function(
            f"(code) => document.querySelector('[data-block={BLOCK}] textarea').value === code",
            arg=code,
        )

    field = page.edit(BLOCK)
    page.wait_until_settled()
    field.fill("print('mine')")
    follow(first)
    tab.wait_for_function("!location.hash")
    wait_for("print('mine')")
    follow(first)
    wait_for("print('first')")
    box = tab.locator(f'.block[data-block="{BLOCK}"] .live-foreign')
    assert box.is_visible()
    follow(second)
    wait_for("print('second')")
    tab.go_back()  # refused: it is a stranger's again
    tab.wait_for_function("(hash) => location.hash === hash", arg=second)
    wait_for("print('second')")
    assert asked == 4 * [page.words["replace"]]
    tab.reload()
    page.field(BLOCK)
    wait_for("print('second')")
    follow("#")
    wait_for("print('mine')")
    assert box.count() == 0 or not box.is_visible()
    assert len(asked) == 4


@needs_live
@in_one_language
def test_the_code_of_a_link_waits_for_run(lang: str, visit: Visit, site: Path) -> None:
    """Editing another block, a knob or the scratch cell does not run it; it says whose it is."""
    path = make_path(lang, "eight-steps") + make_link(site, "print('from afar')")
    tab = visit(path, service_workers="block")
    page = Live(tab, lang)
    page.tab.set_default_timeout(PATIENCE)
    page.field(BLOCK)
    box = tab.locator(f'.block[data-block="{BLOCK}"] .live-foreign')
    whose = page.words["linked"].replace("{}", "1")
    assert box.inner_text() == page.words["foreign"]
    assert page.status() == whose
    page.edit("stepper")
    tab.get_by_role("button", name=page.words["scratch"]).click()
    tab.wait_for_function(
        """(text) => document.querySelector(".live-bar button").hidden &&
          document.querySelector(".live-status").textContent === text""",
        arg=whose,
    )
    tab.wait_for_timeout(500)
    assert "from afar" not in page.output(BLOCK)
    page.run()
    assert "from afar" in page.output(BLOCK)
