"""Mutants: small faults put into the modules that compute, one by one, and which test finds each.

    python -m tests.mutants [--module NAME … | --changed COMMIT] [--sample N --seed N] [--jobs N]
                            [--again]

A mutant is tried against the examples of its module, then the tests that need no site, the nearest
first, then those that compare the package with itself (marked `itself`), then its chapters: their
code runs with the fault, and where something else is printed their tests compare it with sources of
their own; last, the reviewed outputs. Findings are cached in `.cache/mutants.jsonl` by what
it depends on, so a run can stop and go on. What no test can tell from the original stands in
`tests/equivalent.toml`, reviewed, with the reason. Ends with 1 if a mutant is found by nothing.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import importlib.abc
import importlib.util
import io
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.faults import PACKAGE, ROOT, Mutant, list_modules, make_mutants

FINDINGS_FILE = ROOT / ".cache" / "mutants.jsonl"
EQUIVALENT = ROOT / "tests" / "equivalent.toml"
INDEPENDENT = ("example", "test", "chapter")
STAGES = (*INDEPENDENT, "itself", "outputs")
SHARED = ("tests/test_refusals.py",)
LIMIT = 300  # seconds until a stage of a mutant that hangs counts as the one that found it
PATIENCE = {"example": 30, "test": LIMIT, "itself": LIMIT, "chapter": 2 * LIMIT}


# --- in a process of its own: the package with the fault


class FaultyLoader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module of the package from a text instead of its file."""

    def __init__(self, module: str, source: str) -> None:
        self.name = find_module_name(module)
        self.path, self.source = str(PACKAGE / module), source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The module, if it is the one with the fault."""
        if name != self.name:
            return None
        return importlib.util.spec_from_loader(name, self, origin=self.path)

    def exec_module(self, module: Any) -> None:
        """Run its text, under the name of its file."""
        module.__file__ = self.path
        exec(compile(self.source, self.path, "exec"), module.__dict__)


def find_module_name(module: str) -> str:
    """The name that a module is imported by."""
    return "attention_docs." + module.removesuffix(".py").replace("/", ".")


class FirstFailure:
    """A pytest plugin: which test was the first to fail."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the name of a test that failed."""
        if report.failed:
            self.failed.append(report.nodeid)

    @staticmethod
    def pytest_collection_modifyitems(items: list[Any]) -> None:
        """Slow checks come last: a quick test finds most faults."""
        items.sort(key=lambda item: "passed" in item.fixturenames)

    def pytest_collectreport(self, report: Any) -> None:
        """A module that cannot even be imported counts by its name."""
        if report.failed:
            self.failed.append(report.nodeid)


class PassedTests:
    """A pytest plugin: which tests have passed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the name of a test that passed."""
        if report.when == "call" and report.passed:
            self.names.append(report.nodeid)


def run_tests(*arguments: str, plugins: Sequence[object] = ()) -> list[str]:
    """The tests that fail in this process."""
    import pytest

    first = FirstFailure()
    fixed = ["-q", "--again", "-p", "no:xdist", "-p", "no:playwright", "--hypothesis-profile=check"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = pytest.main([*fixed, *arguments], plugins=[first, *plugins])
    if bool(first.failed) != (code in (1, 2)) or code not in (0, 1, 2, 5):  # 5: no test is asked
        raise RuntimeError(f"pytest ended with {code} and {first.failed}: {arguments}")
    return first.failed


def find_failing_example(mutant: Mutant) -> str:
    """Which example of the module fails, or ""; a module that cannot be imported fails too."""
    import doctest

    try:
        module = importlib.import_module(find_module_name(mutant.module))
        tests = doctest.DocTestFinder().find(module)
    except Exception:
        return mutant.module
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.FAIL_FAST)
    for test in tests:
        if runner.run(test, out=lambda text: None).failed:
            return test.name
    return ""


NEIGHBOURS: dict[str, str] = {}
"""The test that found the last fault in a definition: it is asked first about the next."""


def find_definition(mutant: Mutant) -> str:
    """The module and the function that hold the fault."""
    return mutant.name.partition(":")[0]


def search_near(mutant: Mutant, tell: Callable[[str], None]) -> tuple[str, str]:
    """The stages that need no site: the one that finds a mutant, and the test."""
    tell("example")
    if by := find_failing_example(mutant):
        return "example", by
    tell("test")
    if (likely := NEIGHBOURS.get(find_definition(mutant))) and (by := run_tests("-x", likely)):
        return "test", by[0]
    for stage, marked in (("test", "not site and not itself"), ("itself", "itself and not site")):
        tell(stage)
        for file in list_tests(mutant.module):
            own = ["-k", Path(mutant.module).stem] if file in SHARED else []  # its own rows alone
            if by := run_tests("-x", "-m", marked, *own, file):
                return stage, by[0]
    return "", ""


def search_far(mutant: Mutant, tell: Callable[[str], None]) -> tuple[str, str]:
    """The stages that need chapters."""
    from tests.chapter_pages import Site, read_build, run_blocks

    tell("chapter")
    build, seen = read_build(), ""
    for slug in list_chapters(mutant.module):
        page = build.pages["en"][slug]
        before, after = build.results(page), run_blocks(build, slug)
        stopped = after[-1:] and (after[-1].error or after[-1].value_errors)
        if stopped:
            return "chapter", f"the code of {slug}"
        if [_shown(one) for one in before] == [_shown(one) for one in after]:
            continue
        if [(one.text, one.values) for one in before] != [(one.text, one.values) for one in after]:
            seen = seen or slug
        if by := run_chapter_tests(Site(build, slug, after), slug):
            return "chapter", by[0]
    return ("outputs", seen) if seen else ("", "")


def _shown(result: Any) -> Any:
    return result.text, dict(result.values), dict(result.figure)


def run_chapter_tests(site: Any, slug: str) -> list[str]:
    """The tests of a chapter that fail, in English, but those that need more than its page."""
    file = test_file(slug)
    if not (ROOT / file).is_file():
        return []
    skipped = [f"--deselect={name}" for name in read_baseline_failures(slug)]
    return run_tests(
        "-x", "-m", "site and not itself", "-k", "not zh", file, *skipped, plugins=[site]
    )


def find_baseline_failures(slug: str) -> list[str]:
    """The tests of a chapter that fail without a fault: what they need is not there."""
    from tests.chapter_pages import Site, read_build, run_blocks

    build = read_build()
    site = Site(build, slug, run_blocks(build, slug))
    chosen = ("-m", "site", "-k", "not zh", test_file(slug))
    passed = PassedTests()
    failed = run_tests(*chosen, plugins=[site, passed])
    if failed and not passed.names:
        raise RuntimeError(f"no test of {slug} passes without a fault: {failed}")
    return failed


# --- which tests


def test_file(name: str) -> str:
    """The tests of a module or a chapter."""
    return f"tests/test_{Path(name).stem.replace('-', '_')}.py"


@cache
def list_tests(module: str) -> list[str]:
    """The tests of a module that need no site, the nearest first."""
    name = find_module_name(module)
    using = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").glob("test_*.py"))
        if name in find_imports(path)
    ]
    found = dict.fromkeys([test_file(module), *SHARED, *using])
    return [path for path in found if (ROOT / path).is_file()]


@cache
def find_imports(path: Path) -> frozenset[str]:
    """What a file imports, by dotted names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


@cache
def list_chapters(module: str) -> list[str]:
    """The chapters whose code imports a module, its own first, those that do so directly next."""
    from attention_docs.site.run.imports import Modules

    name, known = find_module_name(module), Modules(ROOT)
    found = []
    for path in sorted((ROOT / "docs" / "listings").glob("*.py")):
        names = find_imports(path)
        if name in known.find_needed(names):
            own = path.stem.replace("-", "_") == Path(module).stem
            found.append((not own, name not in names, path.stem))
    return [slug for *_, slug in sorted(found)]


def read_baseline_failures(slug: str) -> list[str]:
    """The cached failures of a process without a fault: see `find_baseline_failures`."""
    texts = [
        hash_file(test_file(slug)),
        hash_file("tests/chapter_pages.py"),
        hash_file("tests/conftest.py"),
    ]
    path = FINDINGS_FILE.with_name("mutants") / f"{slug}-{'-'.join(texts)}.json"
    if not path.is_file():
        call = f"find_baseline_failures({slug!r})"
        code = f"import json; from tests.mutants import *; print(json.dumps({call}))"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(done.stdout)
    found: list[str] = json.loads(path.read_text())
    return found


@cache
def hash_file(file: str) -> str:
    """A file, as one word."""
    path = ROOT / file
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""


# --- one after another, each in a process of its own


def preload_modules(files: Iterable[str]) -> None:
    """Load what tests load before the processes part, and forget what a fault may reach."""
    from attention_docs.site.run.imports import Modules

    run_tests("--collect-only", *files)
    importlib.import_module("torch.distributed.tensor")  # by the first `assert_close` otherwise
    known, faulty = Modules(ROOT), {find_module_name(module) for module in list_modules()}
    for name in list(sys.modules):
        of_tests = name.startswith("tests.") and name not in (__name__, "tests.faults")
        if of_tests or faulty & known.find_needed([name]).keys():
            del sys.modules[name]
            package, _, own = name.rpartition(".")
            if package in sys.modules:  # `from package import` would find it there
                vars(sys.modules[package]).pop(own, None)
    gc.collect()
    gc.freeze()  # what is shared stays shared


def _run_forked(run: Callable[[], Any]) -> Any:
    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    return process


def try_one(mutant: Mutant, search: Callable[..., tuple[str, str]], to: Connection) -> None:
    """Look for what finds a mutant, in a fresh process, and tell each stage that begins."""
    sys.meta_path.insert(0, FaultyLoader(mutant.module, mutant.source))

    def tell(stage: str) -> None:
        to.send((stage, ""))
        signal.alarm(PATIENCE[stage])  # whoever hangs is ended

    to.send(search(mutant, tell))
    to.send(None)
    os._exit(0)  # whatever threads are left


def try_side_by_side(
    todo: Sequence[Mutant], search: Callable[..., tuple[str, str]], jobs: int
) -> Iterator[tuple[Mutant, str, str]]:
    """Try mutants side by side: each with the stage that found it, and the test, or "" twice."""
    waiting, running = list(reversed(todo)), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            here, there = multiprocessing.Pipe(duplex=False)
            process = _run_forked(lambda m=mutant, to=there: try_one(m, search, to))
            there.close()
            running[here] = (mutant, process, [("", "")])
        for pipe in wait(list(running)):
            mutant, process, stages = running[pipe]  # type: ignore[index]
            try:
                answer = pipe.recv()  # type: ignore[union-attr]
            except EOFError:  # it died or was ended: the stage that it was in has found it
                answer = None
                stages.append((stages[-1][0], "ended"))
            if answer is not None:
                stages.append(answer)
                continue
            process.join()
            del running[pipe]  # type: ignore[arg-type]
            yield mutant, *stages[-1]


# --- what is known already


def make_key(mutant: Mutant, stage: str, by: str) -> str:
    """What a finding depends on: the module with the fault, and the tests that were asked."""
    files = list_tests(mutant.module)
    if stage in ("test", "itself", "chapter") and "::" in by:
        files = [by.split("::")[0]]
    elif stage == "example":
        files = []
    else:
        listings = [f"docs/listings/{slug}.py" for slug in list_chapters(mutant.module)]
        files = [*files, *map(test_file, list_chapters(mutant.module)), *listings]
    texts = [mutant.name, mutant.text, *map(hash_file, files)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def read_findings() -> dict[str, list[dict[str, str]]]:
    """The findings of earlier runs, by the mutant's name, the last one first."""
    found: dict[str, list[dict[str, str]]] = {}
    for line in FINDINGS_FILE.read_text("utf-8").splitlines() if FINDINGS_FILE.is_file() else ():
        record = json.loads(line)
        found.setdefault(record["name"], []).insert(0, record)
    return found


def save_finding(mutant: Mutant, stage: str, by: str) -> None:
    """Keep a finding."""
    FINDINGS_FILE.parent.mkdir(exist_ok=True)
    record = {"name": mutant.name, "stage": stage, "by": by, "key": make_key(mutant, stage, by)}
    with FINDINGS_FILE.open("a", encoding="utf-8") as kept:
        kept.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_equivalents() -> dict[str, str]:
    """The reviewed mutants that nothing can tell from the original, each with its reason."""
    table = tomllib.loads(EQUIVALENT.read_text("utf-8"))
    return {entry["mutant"]: entry["why"] for entry in table.get("equivalent", [])}


# --- the command


def find_changed_modules(commit: str, root: Path = ROOT) -> list[str]:
    """The modules that differ from a commit, or whose own tests do; all if git lacks the commit."""
    command = ["git", "diff", "--name-only", "-z", commit, "--", "attention_docs", "tests"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"git has no commit {commit!r}: all modules count as changed", file=sys.stderr)
        return list_modules()
    paths = set(done.stdout.split("\0"))
    return [name for name in list_modules() if {f"attention_docs/{name}", test_file(name)} & paths]


def try_mutants(chosen: Sequence[Mutant], jobs: int, again: bool) -> dict[str, tuple[str, str]]:
    """Stage and test by the names of mutants; what is known is not tried again."""
    known = {} if again else read_findings()
    found: dict[str, tuple[str, str]] = {}
    for mutant in chosen:
        for record in known.get(mutant.name, ()):
            if record["key"] == make_key(mutant, record["stage"], record["by"]):
                found[mutant.name] = (record["stage"], record["by"])
                break
    same = read_equivalents()
    todo = [one for one in chosen if one.name not in found and one.name not in same]
    left = []
    for mutant, stage, by in try_side_by_side(todo, search_near, jobs):
        if stage in ("", "itself"):
            print(f"needs its chapters: {mutant.name}", file=sys.stderr)
            left.append((mutant, stage, by))
        else:
            found[mutant.name] = (stage, by)
            save_finding(mutant, stage, by)
            if stage == "test" and "::" in by and not by.startswith(SHARED):
                NEIGHBOURS[find_definition(mutant)] = by.partition("[")[0]
    before = {mutant.name: (stage, by) for mutant, stage, by in left}
    for mutant, stage, by in try_side_by_side([mutant for mutant, *_ in left], search_far, jobs):
        nearer = before[mutant.name]
        found[mutant.name] = nearer if nearer[0] and stage != "chapter" else (stage, by)
        save_finding(mutant, *found[mutant.name])
    return found


def report(chosen: Sequence[Mutant], found: dict[str, tuple[str, str]]) -> Iterator[str]:
    """A row for each module, then what is found by nothing, or not by an independent source."""
    same = read_equivalents()
    yield f"{'module':24}{'mutants':>8}" + "".join(
        f"{name:>11}" for name in (*STAGES, "equivalent", "nothing")
    )
    rows = Counter[tuple[str, str]]()
    for one in chosen:
        stage = "equivalent" if one.name in same else found[one.name][0] or "nothing"
        rows[one.module, stage] += 1
        rows["all", stage] += 1
    for module in [*sorted({one.module for one in chosen}), "all"]:
        counts = [rows[module, name] for name in (*STAGES, "equivalent", "nothing")]
        yield f"{module:24}{sum(counts):8}" + "".join(f"{count:11}" for count in counts)
    for one in chosen:
        stage, by = found.get(one.name, ("", ""))
        if one.name not in same and stage not in INDEPENDENT:
            finding = f"only {stage} ({by})" if stage else "found by nothing"
            yield f"attention_docs/{one.module}:{one.line}: {finding}: {one.name}"


def main() -> int:
    """The command; 1 if a mutant is found by nothing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--module", action="append", choices=list_modules(), help="all, if left out")
    scope.add_argument(
        "--changed", metavar="COMMIT", help="the modules that differ from this commit"
    )
    parser.add_argument("--sample", type=int, help="so many mutants, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--again", action="store_true", help="forget what was found out")
    options = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NO_MKDOCS_2_WARNING="1")
    names = options.module or list_modules()
    if options.changed:
        names = find_changed_modules(options.changed)
    chosen = [one for module in names for one in make_mutants(module)]
    if options.sample and options.sample < len(chosen):
        chosen = random.Random(options.seed).sample(chosen, options.sample)
        chosen.sort(key=lambda one: (one.module, one.line))
    preload_modules({file for module in list_modules() for file in list_tests(module)})
    start = time.monotonic()
    found = try_mutants(chosen, options.jobs, options.again)
    for line in report(chosen, found):
        print(line)
    print(f"{len(chosen)} mutants, {time.monotonic() - start:.0f} s")
    lost = [one for one in chosen if one.name not in read_equivalents() and not found[one.name][0]]
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
