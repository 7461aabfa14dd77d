"""How fast the site builds and refreshes, as ratios measured in one run. Run by `make bench`.

    RUNS=5 python tests/bench.py

Nothing is asserted: the table goes into docs/project/speed.md with its date. Every figure is the
median of several runs; the two commands of a ratio run in turn, on the same machine.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from attention_docs.site import export  # noqa: E402
from attention_docs.site.build import Build  # noqa: E402
from attention_docs.site.read.pieces import Box  # noqa: E402
from attention_docs.site.render.assembled_page import AssembledPage  # noqa: E402

RUNS = int(os.environ.get("RUNS", "3"))
PAGE = "docs/en/scaling.md"
NEVER = float("inf")


# --- variants of the project ----------------------------------------------------------------


def copy_project(target: Path, made: bool = False) -> Path:
    """The project, without the language that is made from another one unless it is asked for."""
    skip = shutil.ignore_patterns(".git", ".venv", ".cache", "site.part", "__pycache__")
    shutil.copytree(ROOT, target, ignore=skip)
    shutil.rmtree(target / "site", ignore_errors=True)
    if not made:
        config = (target / "mkdocs.yml").read_text(encoding="utf-8")
        config = re.sub(r"^ +- locale: zh-hant.*?(?=^  -)", "", config, flags=re.S | re.M)
        (target / "mkdocs.yml").write_text(config, encoding="utf-8")
    return target


def replace_text(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    if old not in text:
        sys.exit(f"{old!r} is not in {path}")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def remove_execution(target: Path, stock: bool = False) -> Path:
    """The same pages with code, outputs, figures and numbers as text: nothing is left to run.

    In stock pages, boxes are those of Markdown's own extension too.
    """
    copy_project(target)
    command = [sys.executable, "tests/bench.py", "flatten", *["stock"][:stock]]
    subprocess.run(
        command, cwd=target, check=True, env=make_environment(target)
    )  # the copy's package
    replace_text(target / "mkdocs.yml", "anchors: warn", "anchors: ignore")  # outputs are text now
    if stock:
        remove_plugin(target)
        return target
    # All checks are made as ever, and refuse nothing: such pages are what they should refuse.
    plugin = target / "attention_docs" / "site" / "plugin.py"
    replace_text(plugin, 'self.session.served = command == "serve"', "self.session.served = True")
    for listing in (target / "docs" / "listings").glob("*.py"):
        listing.unlink()
    stamp_pages(target)
    return target


def write_results_into_pages(project: Path, stock: bool) -> None:
    """Put what the blocks of a project print into its pages."""
    build = Build(project, print)
    build.read()
    build.executor.start(build.all)
    failures = build.failures + build.executor.finish()
    if failures:
        sys.exit("\n".join(map(str, failures)))
    if not stock:
        export._export_box = write_box
    for page in build.all:
        assembled = build.assemble(page)
        if page.slug != "mistakes":  # the gallery holds outputs; other lists are of titles
            assembled.expand = lambda request: None
        front = "\n".join(page.lines[: page.body_line])
        (project / page.path).write_text(
            f"{front}\n{export.export_markdown(assembled)}", encoding="utf-8"
        )


def write_box(box: Box, _: AssembledPage) -> list[str]:
    """A box's head in the words of this site, which the gallery makes for each box too."""
    head = f"{box.slashes} {box.kind} | {box.title}".rstrip(" |")
    return [head, *(f"    {name}: {json.dumps(said)}" for name, said in box.options.items())]


def remove_plugin(target: Path) -> None:
    config = (target / "mkdocs.yml").read_text(encoding="utf-8")
    ours = re.compile(r"^  (?:- attention-docs|custom_dir:).*\n", re.M)
    (target / "mkdocs.yml").write_text(ours.sub("", config))


def stamp_pages(project: Path) -> None:
    """Declare the Chinese pages of a changed copy up to date."""
    command = [sys.executable, "-m", "attention_docs.site.read.confirm", "--all"]
    subprocess.run(command, cwd=project, check=True, env=make_environment(project))


# --- builds ---------------------------------------------------------------------------------


def make_environment(project: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(project), "NO_MKDOCS_2_WARNING": "1"}


def measure_build(project: Path) -> tuple[float, float]:
    """Seconds, and megabytes of the largest process, of one `mkdocs build`."""
    measure = (
        "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024); sys.exit(code)"
    )
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(project / "site")]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", measure, *command],
        cwd=project, env=make_environment(project), capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"the build in {project} failed:\n{done.stderr}")
    return seconds, float(done.stdout.split()[-1])


def keep_project(_: Path, __: int) -> None:
    """Leave the project as it is: a warm build."""


def clear_cache(project: Path, _: int) -> None:
    """Throw all results away: a cold build."""
    shutil.rmtree(project / ".cache", ignore_errors=True)


def edit_package(project: Path, number: int) -> None:
    """Change one module of the package, which one chapter uses."""
    path = project / "attention_docs" / "scaling.py"
    text = path.read_text(encoding="utf-8").split("\n# edit")[0]
    path.write_text(f"{text}\n# edit {time.time()} {number}\n", encoding="utf-8")


def measure_ratio(
    project: Path, other: Path, before: Callable[[Path, int], None], runs: int = RUNS
) -> tuple[str, str]:
    """The median of the pairs' ratios, and the median seconds of both.

    The other project has an empty cache: all of its pages are rendered.
    """
    pairs = []
    for number in range(runs):
        before(project, number)
        clear_cache(other, number)
        pairs.append((measure_build(project)[0], measure_build(other)[0]))
    a, b = (statistics.median(column) for column in zip(*pairs, strict=True))
    return f"{statistics.median(a / b for a, b in pairs):.2f}", f"{a:.1f} s / {b:.1f} s"


# --- serve ----------------------------------------------------------------------------------


class Server:
    """A running `mkdocs serve`, and the time from a save to the page that shows it."""

    def __init__(self, project: Path) -> None:
        self.project = project
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        command = [sys.executable, "-m", "mkdocs", "serve", "-q", "-a", self.address]
        self.process = subprocess.Popen(
            command, cwd=project, env=make_environment(project), stderr=subprocess.DEVNULL
        )
        self.up = self.wait("<article", 3600)
        time.sleep(3)  # the watcher starts after the server answers

    def wait(self, shown: str, patience: float) -> float:
        """Seconds until the page shows the text; infinity where it does not."""
        start = time.perf_counter()
        while time.perf_counter() - start < patience and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://{self.address}/scaling/") as answer:
                    if shown in answer.read().decode():
                        return time.perf_counter() - start
            except OSError:
                pass
            time.sleep(0.01)
        return NEVER

    def measure_edits(self, file: Path) -> float:
        """The median over saves of a page with another first sentence."""
        seconds = []
        for number in range(1, RUNS + 1):
            pattern, new = r"(\{ #scaling \}\n\n)(?:Edit x\d+\. )?", rf"\1Edit x{number}. "
            text = re.sub(pattern, new, file.read_text(encoding="utf-8"), count=1)
            file.write_text(text, encoding="utf-8")
            seconds.append(self.wait(f"Edit x{number}.", 120))
            if seconds[-1] == NEVER:
                return NEVER
        return statistics.median(seconds)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def measure_saves(project: Path) -> dict[str, float]:
    """Seconds until the server answers, and from a saved sentence to the page."""
    file = project / PAGE
    text = file.read_text(encoding="utf-8")
    with Server(project) as server:
        found = {"up": server.up, "prose": server.measure_edits(file)}
    file.write_text(text, encoding="utf-8")  # `measure_build` refuses a page without its twin
    return found


def compare_times(ours: float, theirs: float) -> tuple[str, str]:
    if theirs == NEVER:
        return "–", f"{ours:.2f} s / never"
    return f"{ours / theirs:.2f}", f"{ours:.2f} s / {theirs:.2f} s"


# --- the table ------------------------------------------------------------------------------


def main() -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()},", end=" ")
    print(f"{os.cpu_count()} cores, medians of {RUNS} runs\n")
    print("| what | ratio | seconds or megabytes |\n|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for what, (share, figures) in measure_rows(Path(folder)):
            print(f"| {what} | {share} | {figures} |", flush=True)


def measure_rows(base: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """What is measured, one row after the other: its name, the ratio, the figures."""
    ours, plain = copy_project(base / "ours"), remove_execution(base / "plain")
    bare = remove_execution(base / "stock", stock=True)
    memory = {
        "cold": measure_build(ours)[1],
        "warm": measure_build(ours)[1],
        "plain": measure_build(plain)[1],
    }
    yield "cold build / no execution", measure_ratio(ours, plain, clear_cache)
    yield "warm build / no execution", measure_ratio(ours, plain, keep_project)
    yield "warm build / stock without execution", measure_ratio(ours, bare, keep_project)
    yield (
        "cold build / without Traditional Chinese",
        build_both_cold(copy_project(base / "all", True), ours),
    )
    yield "build after a package edit / no execution", measure_ratio(ours, plain, edit_package)
    for kind in ("cold", "warm"):
        figures = f"{memory[kind]:.0f} MB / {memory['plain']:.0f} MB"
        yield (
            f"peak memory, {kind} / no execution",
            (f"{memory[kind] / memory['plain']:.2f}", figures),
        )
    mine, theirs = measure_saves(ours), measure_saves(bare)
    yield "`serve` up / stock without execution", compare_times(mine["up"], theirs["up"])
    prose = compare_times(mine["prose"], theirs["prose"])
    yield "prose edit to page / stock without execution", prose


def build_both_cold(large: Path, small: Path) -> tuple[str, str]:
    clear_cache(large, 0)
    clear_cache(small, 0)
    a, b = measure_build(large)[0], measure_build(small)[0]
    return f"{a / b:.2f}", f"{a:.1f} s / {b:.1f} s"


if __name__ == "__main__":
    write_results_into_pages(Path.cwd(), "stock" in sys.argv) if "flatten" in sys.argv else main()
