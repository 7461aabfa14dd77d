"""How fast live pages are, in Chromium over localhost. Run by `make bench`; nothing is asserted.

python tests/bench_live.py [folder of a built site]
"""

from __future__ import annotations

import http.server
import os
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.conftest import BROWSER, Handler, mkdocs_build  # noqa: E402

RUNS = int(os.environ.get("RUNS", "3"))
SLOW_SECONDS = 3  # a block that takes longer has a row of its own
PAGE, BLOCK, OLD, NEW = "/eight-steps/", "search", "onion cake", "carrot cake"

SETTLED = """() => new Promise((resolve) => {
  const status = document.querySelector(".live-status");
  const settled = () => /^(Recomputed|Python is ready)/.test(status.textContent);
  new MutationObserver(() => settled() && resolve(performance.now()))
    .observe(status, { childList: true, characterData: true, subtree: true });
})"""

DONE = "/^Recomputed/.test(document.querySelector('.live-status').textContent)"

PRESS = """([block, old, next]) => new Promise((resolve) => {
  const start = performance.now();
  const code = document.querySelector(`.block[data-block="${block}"]`);
  code.querySelector(".live-edit").click();
  const timer = setInterval(() => {
    const field = code.querySelector("textarea");
    if (field && field.value.includes(old)) {
      field.value = field.value.replace(old, next);
      field.dispatchEvent(new Event("input", { bubbles: true }));
      const key = { key: "Enter", ctrlKey: true, bubbles: true };
      field.dispatchEvent(new KeyboardEvent("keydown", key));
    }
    if (document.querySelector(`#out-${block} mark`)) {
      clearInterval(timer);
      resolve(performance.now() - start);
    }
  }, 5);
})"""

EDIT = """([block, n]) => new Promise((resolve) => {
  const field = document.querySelector(`.block[data-block="${block}"] textarea`);
  field.value = field.value.replace(/\\n*# \\d+$|$/, "") + `\\nprint(${n})`;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  const output = document.getElementById(`out-${block}`);
  const start = performance.now();
  new MutationObserver(() => {
    if (output.textContent.includes(n)) resolve(performance.now() - start);
  }).observe(output, { childList: true, characterData: true, subtree: true });
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
})"""

DRAG = """async (n) => {
  const settled = SETTLED;
  const field = document.querySelector(".live-knobs input[type=number]");
  const start = performance.now();
  const end = settled();
  field.value = String(n);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  return (await end) - start;
}""".replace("SETTLED", SETTLED)


def measure_page(base: str) -> Iterator[tuple[str, str]]:
    """The rows: what, and its figures."""
    from playwright.sync_api import sync_playwright

    cold, warm, edits, drags, sizes, asked = [], [], [], [], [], []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        for _ in range(RUNS):
            context = browser.new_context()
            context.set_default_timeout(300_000)
            tab, requests = _open_page(context, base)
            before = len(requests)
            cold.append(tab.evaluate(PRESS, [BLOCK, OLD, NEW]) / 1000)
            asked.append(len(requests) - before)
            sizes.append(sum(_size(one) for one in requests[before:]) / 1e6)
            tab.wait_for_function(DONE)
            for n in range(10):
                edits.append(tab.evaluate(EDIT, [BLOCK, 1000 + n]))
                tab.wait_for_function(DONE)
            tab.locator(".live-turn").first.click()
            tab.locator(".live-knobs input").first.wait_for()
            tab.wait_for_timeout(3000)  # figures out of sight
            for n in range(12):
                drags.append(tab.evaluate(DRAG, n % 5 + 2))
            tab.close()
            tab, _requests = _open_page(context, base)
            warm.append(tab.evaluate(PRESS, [BLOCK, OLD, NEW]) / 1000)
            context.close()
        browser.close()
    yield "press to first result, cold", f"{statistics.median(cold):.1f} s"
    yield "press to first result, warm cache", f"{statistics.median(warm):.1f} s"
    yield "edit to its output", f"{statistics.median(edits):.0f} ms"
    drag = statistics.median(drags)
    yield (
        "a knob of the eight steps to the whole page",
        f"{drag:.0f} ms, {1000 / drag:.1f} a second",
    )
    yield (
        "loaded after the press",
        f"{statistics.median(sizes):.1f} MB, {statistics.median(asked):.0f} requests",
    )


READ = """(text) => new Promise((resolve) => {
  const form = document.querySelector("form.own-sentence");
  const status = form.querySelector("[role=status]");
  form.querySelector("input").value = text;
  const start = performance.now();
  let loaded = start;
  new MutationObserver(() => {
    const now = performance.now();
    if (/^Starting/.test(status.textContent)) loaded = now;
    if (/^\\d+ tokens/.test(status.textContent)) resolve([now - start, now - loaded]);
  }).observe(status, { childList: true });
  form.querySelector("[type=submit]").click();
})"""


def measure_sentences(base: str) -> Iterator[tuple[str, str]]:
    """The rows of a reader's own sentence of 17 tokens."""
    from playwright.sync_api import sync_playwright

    firsts, loaded, later = [], [], []
    sentence = "The trophy doesn't fit in the suitcase because it is too"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        for _ in range(RUNS):
            context = browser.new_context()
            context.set_default_timeout(300_000)
            tab = context.new_page()
            tab.goto(base + "/encoders/")
            tab.wait_for_load_state("networkidle")
            whole, since = tab.evaluate(READ, f"{sentence} big.")
            firsts.append(whole / 1000)
            loaded.append(since / 1000)
            for word in ("small", "large", "heavy", "wide", "long"):
                later.append(tab.evaluate(READ, f"{sentence} {word}.")[0])
            context.close()
        browser.close()
    yield "own sentence: press to the first maps, cold", f"{statistics.median(firsts):.1f} s"
    yield "own sentence: all loaded to the first maps", f"{statistics.median(loaded):.1f} s"
    yield "own sentence: a later one to its maps", f"{statistics.median(later):.0f} ms"


SECONDS = """
import json
from time import perf_counter
from attention_docs.site.run.live import Session
cells, session = json.loads(source)["cells"], Session(source)
session.begin(*(json.dumps([cell[key] for cell in cells]) for key in ("code", "id")))
found = []
for number, cell in enumerate(cells):
    begun = perf_counter()
    session.step(number)
    found.append([cell["id"], cell["slow"], perf_counter() - begun])
json.dumps(found)
"""


def measure_blocks(base: str) -> Iterator[tuple[str, str]]:
    """The rows of the blocks that take longest. A section that takes more than 5 s is to be marked
    as slow."""
    from playwright.sync_api import sync_playwright

    from tests.test_live_pages import EVERY

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        tab = browser.new_context(service_workers="block").new_page()
        tab.set_default_timeout(600_000)
        tab.goto(f"{base}/numbers/")
        for path in sorted((ROOT / "docs" / "en").glob("*.md")):
            answer = tab.request.get(f"{base}/live/en/{path.stem}.json")
            if not answer.ok:
                continue
            for name, slow, seconds in tab.evaluate(
                EVERY, [f"{base}/live/", answer.text(), SECONDS]
            ):
                if slow or seconds > SLOW_SECONDS:
                    waits = ", waits until it is asked for" if slow else ""
                    yield f"block {path.stem}#{name}", f"{seconds:.1f} s{waits}"
        browser.close()


def _open_page(context: Any, base: str) -> tuple[Any, list[Any]]:
    tab = context.new_page()
    requests: list[Any] = []
    tab.on("requestfinished", lambda request: requests.append(request))
    tab.goto(base + PAGE)
    tab.wait_for_load_state("networkidle")
    return tab, requests


def _size(request: Any) -> int:
    return int(request.response().header_value("content-length") or 0)


def main(site: Path) -> None:
    handler = partial(Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print("\n| live pages | median |\n|---|---|", flush=True)
        address = f"http://127.0.0.1:{server.server_port}"
        for measure in (measure_page, measure_sentences, measure_blocks):
            for what, figures in measure(address):
                print(f"| {what} | {figures} |", flush=True)
        server.shutdown()


if __name__ == "__main__":
    if sys.argv[1:]:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            done = mkdocs_build(ROOT, Path(folder) / "site")
            if done.returncode:
                sys.exit(done.stderr)
            main(Path(folder) / "site")
