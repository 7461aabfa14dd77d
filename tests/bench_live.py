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
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests import engines  # noqa: E402
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


# Speaks with the model as a panel does: a script of the page, which all three engines run.
STEPS = """
const { getModel } = await import("/assets/live/model.js");
const page = await (await fetch("/next-word/")).text(); // on another one no panel asks it too
const there = new DOMParser().parseFromString(page, "text/html").getElementById("__words");
const model = getModel(JSON.parse(there.textContent).next);
const ready = new Promise((resolve, reject) => model.addEventListener("state", () => {
  if (model.state === "ready") resolve();
  if (model.state === "idle") reject(new Error(model.reason + model.detail));
}));
let memory = 0;
const ask = async (request) => {
  const answer = await model.ask("bench", request);
  memory = answer.memory / 1e6;
  return answer.seconds;
};
const text = "The old man walked down to the harbour and looked at"; // 11 tokens and the mark
const read = () => ask({ do: "read", text });
const more = async (count, cached) => {
  const took = [];
  for (let n = 0; n < count; n += 1) took.push(await ask({ do: "append", id: 260, cached }));
  return took;
};
const steps = {
  first: async () => {
    model.load();
    await ready;
    await read();
    return (performance.now() - model.loaded) / 1000;
  },
  short: read,
  cached: async () => (await more(20, true)).sort((a, b) => a - b)[10],
  wait: async () => {
    let [longest, last] = [0, performance.now()];
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last - 10);
      last = performance.now();
    }, 10);
    await more(20, true);
    clearInterval(timer);
    return longest / 1000;
  },
  again: read,
  whole: async () => (await more(1, false))[0],
  later: async () => (await more(19, true), await more(1, false))[0],
  long: () => ask({ do: "read", text: " word".repeat(99) }),
  memory: () => memory,
};
"""
ROWS = {
    "first": "all loaded to the first bars of 12 tokens",
    "short": "a prompt of 12 tokens",
    "cached": "a token with the cache",
    "wait": "longest wait of the page while it writes",
    "whole": "a token without the cache, after 12",
    "later": "a token without the cache, after 32",
    "long": "a prompt of 100 tokens",
    "memory": "memory of Python",
}
COUNTS = {"cached": 20}
"""How many tokens a step writes whose time is that of one."""


def measure_writer(base: str) -> Iterator[tuple[str, str]]:
    """The rows of the model that writes: in Chromium medians, in the two others once each."""
    from playwright.sync_api import sync_playwright

    runs = []
    with sync_playwright() as driver:
        for _ in range(RUNS):
            browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
            tab = browser.new_context(service_workers="block").new_page()
            tab.set_default_timeout(600_000)
            tab.goto(base + "/numbers/")
            tab.evaluate(f"async () => {{ {STEPS} window.steps = steps; }}")
            runs.append(_take_steps(lambda name: tab.evaluate(f"steps.{name}()")))  # noqa: B023
            browser.close()
    yield from _describe_runs("Chromium", runs)
    for name, launch, missing in (
        ("Firefox", engines.launch_firefox, engines.find_missing_firefox()),
        ("WebKit", engines.launch_webkit, engines.find_missing_webkit()),
    ):
        if missing:
            yield f"model that writes, {name}", missing
            continue
        with tempfile.TemporaryDirectory() as folder, launch(Path(folder)) as browser:
            browser.set_script_timeout(600)
            browser.get(base + "/numbers/")

            def take(script: str, browser: Any = browser) -> Any:
                called = "const done = arguments[0]; (async () => {%s})().then(done, done)"
                return browser.execute_async_script(called % script)

            take(f"{STEPS} window.steps = steps;")
            yield from _describe_runs(
                name, [_take_steps(lambda one: take(f"return steps.{one}()"))]
            )


def _take_steps(take: Callable[[str], Any]) -> dict[str, tuple[float, float]]:
    """For each step what it gives, and the processor's seconds of it."""
    found = {}
    for name in ("first", "short", "cached", "wait", "again", "whole", "later", "long", "memory"):
        since = _cpu_seconds()
        value = take(name)
        found[name] = value, (_cpu_seconds() - since) / COUNTS.get(name, 1)
    return found


def _describe_runs(
    engine: str, runs: list[dict[str, tuple[float, float]]]
) -> Iterator[tuple[str, str]]:
    for name, what in ROWS.items():
        value, used = (statistics.median(run[name][n] for run in runs) for n in (0, 1))
        text = f"{value:.0f} MB" if name == "memory" else f"{value:.3f} s"
        if name not in ("memory", "wait", "later"):
            text += f", {used:.2f} s of the processor"
        yield f"model that writes, {engine}: {what}", text


def _cpu_seconds() -> float:
    """What this process and all below it have used: less than the clock, it shows other work."""
    ticks = os.sysconf("SC_CLK_TCK")
    used: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
            used[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / ticks
    ours = {os.getpid()}
    while more := {pid for pid, (parent, _) in used.items() if parent in ours} - ours:
        ours |= more
    return sum(seconds for pid, (_, seconds) in used.items() if pid in ours)


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
        for measure in (measure_page, measure_sentences, measure_writer, measure_blocks):
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
