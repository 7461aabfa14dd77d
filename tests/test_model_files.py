"""How the model's files get into a reader's browser: resumed, checked, kept, removed.

And the sentences that are said where the model cannot be had.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from attention_docs.locales import read_locale
from tests.conftest import Handler, each_language
from tests.test_browser import make_path
from tests.test_live_pages import PATIENCE

Visit = Callable[..., Any]
pytestmark = pytest.mark.needs("runtime", "smollm2")
PIECE = bytes(range(251)) * 4000
LISTED = {"bytes": len(PIECE), "sha256": hashlib.sha256(PIECE).hexdigest()}


class Breaking(Handler):
    """Sends half of PIECE and breaks off, `breaks` times; `ranges` is what was asked for."""

    breaks = 0
    has_ranges = True
    ranges: list[str]
    content = PIECE

    def do_GET(self) -> None:  # noqa: N802
        if not self.path.startswith("/model/piece"):
            return super().do_GET()
        asked = self.headers["Range"] or ""
        self.ranges.append(asked)
        begin = int(asked.removeprefix("bytes=").rstrip("-") or 0) if self.has_ranges else 0
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(PIECE) - 1}/{len(PIECE)}")
        rest = self.content[begin:]
        self.send_header("Content-Length", str(len(rest)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        is_broken = type(self).breaks > 0
        type(self).breaks -= 1
        self.wfile.write(rest[: len(rest) // 2] if is_broken else rest)
        if is_broken:
            self.wfile.flush()
            time.sleep(0.5)  # what a browser has not read when the connection breaks is lost
        self.close_connection = True
        return None


@pytest.fixture
def breaking(site: Any) -> Iterator[type[Breaking]]:
    """A server of the built site and of a piece, as a class whose attributes a test sets."""
    kind = type("Own", (Breaking,), {"ranges": []})
    handler = partial(kind, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        kind.address = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
        yield kind  # type: ignore[misc]
        server.shutdown()


LOAD = """async ([listed, options]) => {
  const { loadPiece, openShelf, countKept } = await import("/assets/live/pieces.js");
  const base = `${location.origin}/model/`;
  const ending = new AbortController();
  const shelf = options.keep ? await openShelf(base, () => { window.failed = true; }) : null;
  let sum = 0;
  const count = (bytes) => {
    sum += bytes;
    if (options.until && sum > options.until) ending.abort();
  };
  try {
    const given = { signal: ending.signal, count, shelf };
    const bytes = await loadPiece(`${base}piece`, listed, given);
    const hash = await crypto.subtle.digest("SHA-256", bytes);
    const sha256 = [...new Uint8Array(hash)].map((n) => n.toString(16).padStart(2, "0")).join("");
    return { sha256, sum, kept: await countKept(base) };
  } catch (error) {
    return { error: error.name === "AbortError" ? "aborted" : `${error.constructor.name}` };
  }
}"""


def open_tab(visit: Visit, breaking: Any) -> Any:
    tab = visit(service_workers="block")
    tab.goto(f"{breaking.address}/about/")
    return tab


def load(tab: Any, **options: Any) -> Any:
    return tab.evaluate(LOAD, [LISTED, options])


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_broken_piece_goes_on_where_it_broke_off(
    has_ranges: bool, visit: Visit, breaking: Any
) -> None:
    """Twice broken; counted once. What has arrived is not asked for again."""
    breaking.breaks, breaking.has_ranges = 2, has_ranges
    tab = open_tab(visit, breaking)
    found = load(tab)
    assert found == {"sha256": LISTED["sha256"], "sum": len(PIECE), "kept": 0}
    assert len(breaking.ranges) == 3
    assert breaking.ranges[0] == ""
    assert all(one.startswith("bytes=") for one in breaking.ranges[1:])
    assert load(tab) == found
    assert len(breaking.ranges) == 3


def test_what_a_reader_cancelled_goes_on(visit: Visit, breaking: Any) -> None:
    tab = open_tab(visit, breaking)
    breaking.breaks = 1  # so that a part stays, however fast the rest would be
    assert load(tab, until=1) == {"error": "aborted"}
    assert load(tab)["sha256"] == LISTED["sha256"]


def test_a_connection_that_stays_away_is_said(visit: Visit, breaking: Any) -> None:
    tab = open_tab(visit, breaking)
    tab.route("**/model/piece", lambda route: route.abort())
    assert load(tab) == {"error": "LostConnection"}
    tab.unroute("**/model/piece")
    assert load(tab)["sha256"] == LISTED["sha256"]


def test_another_file_is_not_taken(visit: Visit, breaking: Any) -> None:
    breaking.content = PIECE[::-1]
    assert load(open_tab(visit, breaking)) == {"error": "Error"}
    assert len(breaking.ranges) == 2  # the second past the browser's own cache


KEEP_ANOTHER = """async (name) => {
  const base = `${location.origin}/model/`;
  const cache = await caches.open(`attention-model ${base}`);
  await cache.put(base + name, new Response("another"));
}"""
REMOVE = """async () => {
  const { removeKept, countKept } = await import("/assets/live/pieces.js");
  await removeKept(`${location.origin}/model/`);
  return countKept(`${location.origin}/model/`);
}"""


def test_a_kept_piece_outlives_the_page_and_is_checked(visit: Visit, breaking: Any) -> None:
    tab = open_tab(visit, breaking)
    assert load(tab, keep=True)["kept"] == 1
    tab.reload()
    assert load(tab, keep=True) == {"sha256": LISTED["sha256"], "sum": len(PIECE), "kept": 1}
    assert len(breaking.ranges) == 1
    tab.evaluate(KEEP_ANOTHER, "piece")
    for _ in range(2):  # what was kept instead is replaced
        tab.reload()
        assert load(tab, keep=True)["sha256"] == LISTED["sha256"]
        assert len(breaking.ranges) == 2
    assert tab.evaluate(REMOVE) == 0
    tab.reload()
    assert load(tab)["kept"] == 0
    assert len(breaking.ranges) == 3


def test_a_tab_closed_while_loading_harms_no_other(visit: Visit, breaking: Any) -> None:
    """Two tabs keep the same piece; the first is closed in the midst of it."""
    tab = open_tab(visit, breaking)
    other = tab.context.new_page()
    other.goto(tab.url)
    tab.route("**/model/piece", lambda route: None)
    tab.evaluate(f"(given) => {{ ({LOAD})(given) }}", [LISTED, {"keep": True}])
    tab.close()
    assert load(other, keep=True) == {"sha256": LISTED["sha256"], "sum": len(PIECE), "kept": 1}


def test_a_full_storage_loses_nothing(visit: Visit, breaking: Any) -> None:
    """Nor does a part of a model take room."""
    tab = open_tab(visit, breaking)
    tab.evaluate(KEEP_ANOTHER, "piece before")
    session = tab.context.new_cdp_session(tab)
    quota = {"origin": breaking.address, "quotaSize": 1000}
    session.send("Storage.overrideQuotaForOrigin", quota)
    found = load(tab, keep=True)
    assert found == {"sha256": LISTED["sha256"], "sum": len(PIECE), "kept": 0}
    assert tab.evaluate("window.failed")


# --- where the model cannot be had ----------------------------------------------------------------


def words(lang: str) -> Any:
    return read_locale(lang)["site"]["next"]


def press(tab: Any, lang: str) -> list[str]:
    """Press on the button that loads the model; what is asked for from then on."""
    tab.set_default_timeout(PATIENCE)
    tab.goto(tab.url.split("#")[0] + "#next=0,,1,11,1")
    tab.locator(".next-live summary").first.click()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.locator(".next-live button").first.click()
    return asked


def wait_for(tab: Any, sentence: str) -> None:
    """Until a sentence stands there whose gaps may be filled, with the button to try again."""
    begun = json.dumps(sentence.split("{")[0])
    tab.wait_for_function(
        f"document.querySelector('.next-live [role=status]').textContent.startsWith({begun})"
    )
    assert tab.locator(".next-live .md-button").first.is_visible()
    assert tab.locator(".next-bars li").count() == 10  # what was measured beforehand stays


@each_language
def test_a_small_device_is_not_asked_for_memory(lang: str, visit: Visit, address: str) -> None:
    tab = visit()
    tab.add_init_script("Object.defineProperty(navigator, 'deviceMemory', { value: 2 })")
    tab.goto(address + make_path(lang, "next-word"))
    asked = press(tab, lang)
    wait_for(tab, words(lang)["small"])
    assert "2 GB" in tab.locator(".next-live [role=status]").text_content()
    assert not [url for url in asked if "/live/" in url]


STUB = """connected.then((port) => {
  port.onmessage = ({ data }) => { if (data.type === "open") port.postMessage(%s); };
  port.postMessage({ type: "here" });
});"""


def open_with_stub(visit: Visit, lang: str, answer: Any) -> Any:
    """The page with a worker that has one answer, and no model on its way."""
    tab = visit(make_path(lang, "next-word"), service_workers="block")
    script = {"body": STUB % json.dumps(answer), "content_type": "text/javascript"}
    tab.route("**/live/worker.js", lambda route: route.fulfill(**script))
    tab.route("**/smollm2/*.gguf.*", lambda route: None)
    press(tab, lang)
    return tab


@each_language
@pytest.mark.parametrize(
    "message",
    [
        "Traceback\nnumpy._ArrayMemoryError: Unable to allocate 108 MiB",
        "RangeError: WebAssembly.Memory(): could not allocate memory",
    ],
)
def test_refused_memory_is_said_in_a_sentence(message: str, lang: str, visit: Visit) -> None:
    tab = open_with_stub(visit, lang, {"type": "broken", "message": message})
    wait_for(tab, words(lang)["crowded"])
    assert tab.locator(".next-live").get_by_text("Error").count() == 0
    assert tab.locator("iframe").count() == 0


def test_a_worker_that_is_gone_is_noticed(visit: Visit) -> None:
    """Its frame no longer answers; nobody has said a word. The drawing shows what was measured."""
    tab = open_with_stub(visit, "en", {"type": "opened"})
    tab.wait_for_selector(".next-own textarea")
    assert tab.locator(".next-live [role=status]").first.text_content() == ""
    drawn = "document.querySelector('.next-token').panel.drawn.text"
    measured = tab.evaluate(drawn)
    tab.evaluate("document.querySelector('.next-token').panel.drawMachine({ text: 'mine' })")
    tab.evaluate("document.querySelector('iframe').remove()")
    wait_for(tab, words("en")["killed"])
    assert tab.locator(".next-own textarea").count() == 0
    assert tab.evaluate(drawn) == measured


@each_language
def test_where_there_is_no_room_nothing_is_kept(lang: str, visit: Visit, address: str) -> None:
    """The model is loaded all the same; the worker waits for ever."""
    tab = visit(make_path(lang, "next-word"), service_workers="block")
    tab.set_default_timeout(PATIENCE)
    quota = {"origin": "/".join(address.split("/")[:3]), "quotaSize": 1_000_000}
    tab.context.new_cdp_session(tab).send("Storage.overrideQuotaForOrigin", quota)
    script = {"body": STUB % "{}", "content_type": "text/javascript"}
    tab.route("**/live/worker.js", lambda route: route.fulfill(**script))
    tab.evaluate("document.querySelector('.next-token').scrollIntoView()")
    tab.locator(".next-live summary").first.click()
    tab.locator(".next-live [type=checkbox]").check()
    tab.locator(".next-live button").first.click()
    tab.locator(".next-live").get_by_text(words(lang)["full"]).wait_for()
    assert tab.locator(".next-live progress").count() == 1
    assert not tab.evaluate("caches.keys()")
