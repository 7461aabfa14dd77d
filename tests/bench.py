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
from tests.conftest import LANGUAGES  # noqa: E402

RUNS = int(os.environ.get("RUNS", "3"))
PAGE, LISTING, MARK = "docs/en/scaling.md", "docs/listings/scaling.py", "attention_docs/mark.py"
NEVER = float("inf")
GROWTH = 4


# --- variants of the project ----------------------------------------------------------------


def copy_project(target: Path, made: bool = False) -> Path:
    """The project with one more output, which shows a listing's and a module's edit.

    Without the language that is `made` from another one: nothing else could make it.
    """
    skip = shutil.ignore_patterns(".git", ".venv", ".cache", "site.part", "__pycache__")
    shutil.copytree(ROOT, target, ignore=skip)
    shutil.rmtree(target / "site", ignore_errors=True)
    if not made:
        config = (target / "mkdocs.yml").read_text(encoding="utf-8")
        config = re.sub(r"^ +- locale: zh-hant.*?(?=^  -)", "", config, flags=re.S | re.M)
        (target / "mkdocs.yml").write_text(config, encoding="utf-8")
    (target / MARK).write_text("MARK = 0\n")
    start = find_first_section((target / LISTING).read_text(encoding="utf-8"))
    mark = f'{start}from attention_docs.mark import MARK\n\nprint("mark", MARK, "listing", 0)\n\n'
    replace_text(target / LISTING, start, mark)
    translations = (target / LISTING).with_suffix(".zh.toml")
    replace_text(translations, "[strings]\n", '[strings]\nmark = "mark"\nlisting = "listing"\n')
    return target


def find_first_section(code: str) -> str:
    """The line that begins the first section of a listing."""
    return re.findall(r"# --8<-- \[start:.*\]\n", code)[0]


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
    for listing in (target / LISTING).parent.glob("*.py"):
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


def use_stock_executor(target: Path) -> Path:
    """The pages as markdown-exec and snippets run them: a session per page and language."""
    copy_project(target)
    remove_plugin(target)
    config = (target / "mkdocs.yml").read_text(encoding="utf-8")
    config = config.replace(
        "plugins:\n", "plugins:\n  - markdown-exec:\n      languages: [python]\n"
    )
    snippets = "markdown_extensions:\n  - pymdownx.snippets:\n      base_path: [docs/listings]\n"
    (target / "mkdocs.yml").write_text(config.replace("markdown_extensions:\n", snippets))
    for path in (target / "docs").glob("*/*.md"):
        session = f'exec="1" source="above" result="text" session="{path.parent.name}-{path.stem}"'
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"\{\{ .+? \}\}", "a value", text)
        path.write_text(text.replace('exec="1"', session), encoding="utf-8")
    return target


def multiply_chapters(target: Path, times: int) -> Path:
    """The project with every chapter that runs code there `times` times."""
    copy_project(target)
    nav = ""
    for listing in sorted((target / "docs" / "listings").glob("*.py")):
        for number in range(1, times):
            slug = f"{listing.stem}-{number}"
            code = listing.read_text(encoding="utf-8")
            start = find_first_section(code)  # other code, so that no copy reuses another's result
            code = code.replace(start, f"{start}copy = {number}\n", 1)
            listing.with_name(f"{slug}.py").write_text(code, encoding="utf-8")
            for table in listing.parent.glob(f"{listing.stem}.*.toml"):
                shutil.copy(table, table.with_name(f"{slug}{table.name[len(listing.stem) :]}"))
            module = target / "attention_docs" / f"{listing.stem.replace('-', '_')}.py"
            if module.is_file():  # whose numbers the page may name
                shutil.copy(module, module.with_name(f"{slug.replace('-', '_')}.py"))
            for lang in LANGUAGES:
                page = target / "docs" / lang / f"{listing.stem}.md"
                text = page.read_text(encoding="utf-8").replace(f'"{listing.name}:', f'"{slug}.py:')
                page.with_name(f"{slug}.md").write_text(text, encoding="utf-8")
            nav += f"  - {slug}.md\n"
    # Behind the chapters on which they build.
    replace_text(target / "mkdocs.yml", "\nnot_in_nav:", f"{nav}\nnot_in_nav:")
    stamp_pages(target)
    return target


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

    def measure_edits(self, path: str, pattern: str, new: str, shown: str) -> float:
        """The median over saves that replace the pattern; `{}` is the number of the edit."""
        seconds = []
        for number in range(1, RUNS + 1):
            file = self.project / path
            text = re.sub(pattern, new.format(number), file.read_text(encoding="utf-8"), count=1)
            file.write_text(text, encoding="utf-8")
            seconds.append(self.wait(shown.format(number), 120))
            if seconds[-1] == NEVER:
                return NEVER
        return statistics.median(seconds)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


SAVES = {
    "prose": (PAGE, r"(\{ #scaling \}\n\n)(?:Edit x\d+\. )?", r"\1Edit x{}. ", "Edit x{}."),
    "listing": (LISTING, r'"listing", \d+', '"listing", {}', "listing {}"),
    "package": (MARK, r"MARK = \d+", "MARK = {}", "mark {}"),
}


def measure_saves(project: Path, names: list[str]) -> dict[str, float]:
    """Seconds until the server answers, and from each kind of save to the page."""
    files = [project / SAVES[name][0] for name in names]
    texts = [file.read_text(encoding="utf-8") for file in files]
    with Server(project) as server:
        found = {"up": server.up} | {name: server.measure_edits(*SAVES[name]) for name in names}
    for file, text in zip(
        files, texts, strict=True
    ):  # `measure_build` refuses a page without its twin
        file.write_text(text, encoding="utf-8")
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
    mine = measure_saves(ours, list(SAVES))
    theirs = measure_saves(bare, ["prose"])
    yield "`serve` up / stock without execution", compare_times(mine["up"], theirs["up"])
    prose = compare_times(mine["prose"], theirs["prose"])
    yield "prose edit to page / stock without execution", prose
    large = multiply_chapters(base / "grown", GROWTH)
    grown = f"{GROWTH} × the chapters / 1 ×"
    yield f"cold build, {grown}", build_both_cold(large, ours)
    yield f"warm build, {grown}", build_both_warm(large, ours)
    again = measure_saves(large, ["prose"])["prose"]
    yield f"prose edit to page, {grown}", compare_times(again, mine["prose"])
    shutil.rmtree(large)
    # It builds all again after each save; an edit of the package it cannot show at all.
    executed = measure_saves(use_stock_executor(base / "executed"), [])["up"]
    for name in ("prose", "listing"):
        yield (
            f"{name} edit to page / a build by stock markdown-exec",
            compare_times(mine[name], executed),
        )


def build_both_warm(large: Path, small: Path) -> tuple[str, str]:
    a, b = measure_build(large)[0], measure_build(small)[0]
    return f"{a / b:.2f}", f"{a:.1f} s / {b:.1f} s"


def build_both_cold(large: Path, small: Path) -> tuple[str, str]:
    clear_cache(large, 0)
    clear_cache(small, 0)
    a, b = measure_build(large)[0], measure_build(small)[0]
    return f"{a / b:.2f}", f"{a:.1f} s / {b:.1f} s"


if __name__ == "__main__":
    write_results_into_pages(Path.cwd(), "stock" in sys.argv) if "flatten" in sys.argv else main()
