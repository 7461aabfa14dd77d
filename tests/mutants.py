"""Mutants: small faults put into the modules that compute, one by one, and which test finds each.

    python -m tests.mutants [--module NAME … | --changed COMMIT] [--sample N --seed N] [--jobs N]
                            [--again]

A mutant is tried against the examples of its module, then the tests that need no site, the nearest
first, then those that compare the package with itself (marked `itself`), then its chapters: their
code runs with the fault, and where something else is printed their tests compare it with sources of
their own; last, the reviewed outputs. What was found out is kept in `.cache/mutants.jsonl` by what
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

from tests.faults import PACKAGE, ROOT, Mutant, modules, mutants

KEPT = ROOT / ".cache" / "mutants.jsonl"
EQUIVALENT = ROOT / "tests" / "equivalent.toml"
INDEPENDENT = ("example", "test", "chapter")
STAGES = (*INDEPENDENT, "itself", "outputs")
SHARED = ("tests/test_refusals.py",)
LIMIT = 300  # seconds until a stage of a mutant that hangs counts as the one that found it
PATIENCE = {"example": 30, "test": LIMIT, "itself": LIMIT, "chapter": 2 * LIMIT}


# --- in a process of its own: the package with the fault


class Faulty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module of the package from a text instead of its file."""

    def __init__(self, module: str, source: str) -> None:
        self.name = dotted(module)
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


def dotted(module: str) -> str:
    """The name that a module is imported by."""
    return "attention_docs." + module.removesuffix(".py").replace("/", ".")


class First:
    """A pytest plugin: which test was the first to fail."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the name of a test that failed."""
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        """A module that cannot even be imported counts by its name."""
        if report.failed:
            self.failed.append(report.nodeid)


def failed(*arguments: str, plugins: Sequence[object] = ()) -> list[str]:
    """The tests that fail in this process."""
    import pytest

    first = First()
    fixed = ["-q", "-p", "no:xdist", "-p", "no:playwright", "--hypothesis-profile=check"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = pytest.main([*fixed, *arguments], plugins=[first, *plugins])
    if bool(first.failed) != (code in (1, 2)) or code not in (0, 1, 2, 5):  # 5: no test is asked
        raise RuntimeError(f"pytest ended with {code} and {first.failed}: {arguments}")
    return first.failed


def example(mutant: Mutant) -> str:
    """Which example of the module fails, or ""; a module that cannot be imported fails too."""
    import doctest

    try:
        module = importlib.import_module(dotted(mutant.module))
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


def definition(mutant: Mutant) -> str:
    """The module and the function that hold the fault."""
    return mutant.name.partition(":")[0]


def near(mutant: Mutant, tell: Callable[[str], None]) -> tuple[str, str]:
    """The stages that need no site: the one that finds a mutant, and the test."""
    tell("example")
    if by := example(mutant):
        return "example", by
    tell("test")
    if (likely := NEIGHBOURS.get(definition(mutant))) and (by := failed("-x", likely)):
        return "test", by[0]
    for stage, marked in (("test", "not site and not itself"), ("itself", "itself and not site")):
        tell(stage)
        for file in tests_of(mutant.module):
            own = ["-k", Path(mutant.module).stem] if file in SHARED else []  # its own rows alone
            if by := failed("-x", "-m", marked, *own, file):
                return stage, by[0]
    return "", ""


def far(mutant: Mutant, tell: Callable[[str], None]) -> tuple[str, str]:
    """The stages that need chapters."""
    from tests.chapter_pages import Site, built, printed

    tell("chapter")
    build, seen = built(), ""
    for slug in chapters(mutant.module):
        page = build.pages["en"][slug]
        before, after = build.results(page), printed(build, slug)
        stopped = after[-1:] and (after[-1].error or after[-1].value_errors)
        if stopped:
            return "chapter", f"the code of {slug}"
        if [_shown(one) for one in before] == [_shown(one) for one in after]:
            continue
        if [(one.text, one.values) for one in before] != [(one.text, one.values) for one in after]:
            seen = seen or slug
        if by := chapter_failed(Site(build, slug, after), slug):
            return "chapter", by[0]
    return ("outputs", seen) if seen else ("", "")


def _shown(result: Any) -> Any:
    return result.text, dict(result.values), dict(result.figure)


def chapter_failed(site: Any, slug: str) -> list[str]:
    """The tests of a chapter that fail, in English, but those that need more than its page."""
    file = test_file(slug)
    if not (ROOT / file).is_file():
        return []
    skipped = [f"--deselect={name}" for name in known_failures(slug)]
    return failed("-x", "-m", "site and not itself", "-k", "not zh", file, *skipped, plugins=[site])


def whole(slug: str) -> list[str]:
    """The tests of a chapter that fail without a fault: what they need is not there."""
    from tests.chapter_pages import Site, built, printed

    build = built()
    site = Site(build, slug, printed(build, slug))
    return failed("-m", "site", "-k", "not zh", test_file(slug), plugins=[site])


# --- which tests


def test_file(name: str) -> str:
    """The tests of a module or a chapter."""
    return f"tests/test_{Path(name).stem.replace('-', '_')}.py"


@cache
def tests_of(module: str) -> list[str]:
    """The tests of a module that need no site, the nearest first."""
    name = dotted(module)
    using = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").glob("test_*.py"))
        if name in imported(path) and "mini import" not in path.read_text("utf-8")
    ]
    found = dict.fromkeys([test_file(module), *SHARED, *using])
    return [path for path in found if (ROOT / path).is_file()]


@cache
def imported(path: Path) -> frozenset[str]:
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
def chapters(module: str) -> list[str]:
    """The chapters whose code imports a module, its own first, those that do so directly next."""
    from attention_docs.site.run.imports import Modules

    name, known = dotted(module), Modules(ROOT)
    found = []
    for path in sorted((ROOT / "docs" / "listings").glob("*.py")):
        names = imported(path)
        if name in known.needed(names):
            own = path.stem.replace("-", "_") == Path(module).stem
            found.append((not own, name not in names, path.stem))
    return [slug for *_, slug in sorted(found)]


def known_failures(slug: str) -> list[str]:
    """What `whole` has found in a process without a fault, as it is kept."""
    texts = [digest(test_file(slug)), digest("tests/chapter_pages.py"), digest("tests/conftest.py")]
    path = KEPT.with_name("mutants") / f"{slug}-{'-'.join(texts)}.json"
    if not path.is_file():
        code = f"import json; from tests.mutants import whole; print(json.dumps(whole({slug!r})))"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(done.stdout)
    found: list[str] = json.loads(path.read_text())
    return found


@cache
def digest(file: str) -> str:
    """A file, as one word."""
    path = ROOT / file
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""


# --- one after another, each in a process of its own


def warm(files: Iterable[str]) -> None:
    """Load what tests load before the processes part, and forget what is of this project."""
    failed("--collect-only", *files)
    for name in [name for name in sys.modules if name.split(".")[0] in ("attention_docs", "tests")]:
        if name not in (__name__, "tests", "tests.faults"):
            del sys.modules[name]
    gc.collect()
    gc.freeze()  # what is shared stays shared


def _forked(run: Callable[[], Any]) -> Any:
    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    return process


def try_one(mutant: Mutant, search: Callable[..., tuple[str, str]], to: Connection) -> None:
    """Look for what finds a mutant, in a fresh process, and tell each stage that begins."""
    sys.meta_path.insert(0, Faulty(mutant.module, mutant.source))

    def tell(stage: str) -> None:
        to.send((stage, ""))
        signal.alarm(PATIENCE[stage])  # whoever hangs is ended

    to.send(search(mutant, tell))
    to.send(None)
    os._exit(0)  # whatever threads are left


def each(
    todo: Sequence[Mutant], search: Callable[..., tuple[str, str]], jobs: int
) -> Iterator[tuple[Mutant, str, str]]:
    """Try mutants side by side: each with the stage that found it, and the test, or "" twice."""
    waiting, running = list(reversed(todo)), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            here, there = multiprocessing.Pipe(duplex=False)
            process = _forked(lambda m=mutant, to=there: try_one(m, search, to))
            there.close()
            running[here] = (mutant, process, [("", "")])
        for pipe in wait(list(running)):
            mutant, process, told = running[pipe]  # type: ignore[index]
            try:
                answer = pipe.recv()  # type: ignore[union-attr]
            except EOFError:  # it died or was ended: the stage that it was in has found it
                answer = None
                told.append((told[-1][0], "ended"))
            if answer is not None:
                told.append(answer)
                continue
            process.join()
            del running[pipe]  # type: ignore[arg-type]
            yield mutant, *told[-1]


# --- what is known already


def key(mutant: Mutant, stage: str, by: str) -> str:
    """What a finding depends on: the module with the fault, and the tests that were asked."""
    files = tests_of(mutant.module)
    if stage in ("test", "itself", "chapter") and "::" in by:
        files = [by.split("::")[0]]
    elif stage == "example":
        files = []
    else:
        listings = [f"docs/listings/{slug}.py" for slug in chapters(mutant.module)]
        files = [*files, *map(test_file, chapters(mutant.module)), *listings]
    texts = [mutant.name, mutant.text, *map(digest, files)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def remembered() -> dict[str, list[dict[str, str]]]:
    """The findings of earlier runs, by the mutant's name, the last one first."""
    found: dict[str, list[dict[str, str]]] = {}
    for line in KEPT.read_text("utf-8").splitlines() if KEPT.is_file() else ():
        record = json.loads(line)
        found.setdefault(record["name"], []).insert(0, record)
    return found


def remember(mutant: Mutant, stage: str, by: str) -> None:
    """Keep a finding."""
    KEPT.parent.mkdir(exist_ok=True)
    record = {"name": mutant.name, "stage": stage, "by": by, "key": key(mutant, stage, by)}
    with KEPT.open("a", encoding="utf-8") as kept:
        kept.write(json.dumps(record, ensure_ascii=False) + "\n")


def equivalents() -> dict[str, str]:
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
        return modules()
    paths = set(done.stdout.split("\0"))
    return [name for name in modules() if {f"attention_docs/{name}", test_file(name)} & paths]


def tried(chosen: Sequence[Mutant], jobs: int, again: bool) -> dict[str, tuple[str, str]]:
    """Stage and test by the names of mutants; what is known is not tried again."""
    known = {} if again else remembered()
    found: dict[str, tuple[str, str]] = {}
    for mutant in chosen:
        for record in known.get(mutant.name, ()):
            if record["key"] == key(mutant, record["stage"], record["by"]):
                found[mutant.name] = (record["stage"], record["by"])
                break
    same = equivalents()
    todo = [one for one in chosen if one.name not in found and one.name not in same]
    left = []
    for mutant, stage, by in each(todo, near, jobs):
        if stage in ("", "itself"):
            print(f"needs its chapters: {mutant.name}", file=sys.stderr)
            left.append((mutant, stage, by))
        else:
            found[mutant.name] = (stage, by)
            remember(mutant, stage, by)
            if stage == "test" and "::" in by and not by.startswith(SHARED):
                NEIGHBOURS[definition(mutant)] = by.partition("[")[0]
    before = {mutant.name: (stage, by) for mutant, stage, by in left}
    for mutant, stage, by in each([mutant for mutant, *_ in left], far, jobs):
        nearer = before[mutant.name]
        found[mutant.name] = nearer if nearer[0] and stage != "chapter" else (stage, by)
        remember(mutant, *found[mutant.name])
    return found


def report(chosen: Sequence[Mutant], found: dict[str, tuple[str, str]]) -> Iterator[str]:
    """A row for each module, then what is found by nothing, or not by an independent source."""
    same = equivalents()
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
            told = f"only {stage} ({by})" if stage else "found by nothing"
            yield f"attention_docs/{one.module}:{one.line}: {told}: {one.name}"


def main() -> int:
    """The command; 1 if a mutant is found by nothing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--module", action="append", choices=modules(), help="all, if left out")
    scope.add_argument(
        "--changed", metavar="COMMIT", help="the modules that differ from this commit"
    )
    parser.add_argument("--sample", type=int, help="so many mutants, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--again", action="store_true", help="forget what was found out")
    options = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NO_MKDOCS_2_WARNING="1")
    names = options.module or modules()
    if options.changed:
        names = find_changed_modules(options.changed)
    chosen = [one for module in names for one in mutants(module)]
    if options.sample and options.sample < len(chosen):
        chosen = random.Random(options.seed).sample(chosen, options.sample)
        chosen.sort(key=lambda one: (one.module, one.line))
    warm({file for module in modules() for file in tests_of(module)})
    start = time.monotonic()
    found = tried(chosen, options.jobs, options.again)
    for line in report(chosen, found):
        print(line)
    print(f"{len(chosen)} mutants, {time.monotonic() - start:.0f} s")
    lost = [one for one in chosen if one.name not in equivalents() and not found[one.name][0]]
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
