"""The built site, and what a test reads from it."""

from __future__ import annotations

import gc
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import lxml.html
import pytest
from bs4 import BeautifulSoup
from filelock import FileLock
from hypothesis import settings as hypothesis_settings
from xdist import get_xdist_worker_id

from attention_docs.site.build import Build
from attention_docs.site.publish import models, runtime
from attention_docs.site.publish.questions import Question, list_questions
from attention_docs.site.read.modules import list_slugs
from attention_docs.site.read.settings import read_settings
from attention_docs.site.record import Recorder, format_document
from attention_docs.site.run.imports import Modules
from attention_docs.site.store import Store
from tests import engines
from tests.page import PLACES, READ, Page, Read, find_unread, name_test_file

ROOT = Path(__file__).parents[1]
SETTINGS = read_settings(ROOT)
PARTIAL = SETTINGS.partial  # these have their own tests: test_site_partial.py
BUILT = tuple(one for one in SETTINGS.languages if one not in PARTIAL)
# What is converted from these has its own tests: test_script.py.
LANGUAGES = SETTINGS.source_languages
TAGS = {"en": "en", "zh": "zh-Hans", "zh-hant": "zh-Hant"}  # what HTML calls them
PAGES = ROOT / "docs" / "en"
SLUGS = list_slugs(PAGES)
WRITTEN = [slug for slug in SLUGS if (PAGES / f"{slug}.md").is_file()]  # not made from a list

each_language = pytest.mark.parametrize("lang", LANGUAGES)
# What scripts and styles do is the same in every language. Chinese has other letters than code.
in_one_language = pytest.mark.parametrize("lang", ["zh"])

# Chromium without windows draws the same with two thirds of the work.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
VNU_JAR = os.environ.get("VNU_JAR", "")
ACE = ROOT / ".cache" / "ace" / "node_modules" / ".bin" / "ace-puppeteer"
EPUBCHECK = os.environ.get("EPUBCHECK_JAR", "/usr/share/java/epubcheck.jar")  # Debian's

UNREAD = pytest.StashKey[list[str]]()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say last of all what no test looks at: it is why the run has failed."""
    unread = config.stash.get(UNREAD, [])
    if unread and (reporter := config.pluginmanager.get_plugin("terminalreporter")):
        reporter.section("parts of the record that no test of their chapter reads", red=True)
        for message in unread:
            reporter.write_line(message)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were skipped; the last line counts them."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} × {reason}")


# --- what not every machine has -------------------------------------------------------------------


class Tool(NamedTuple):
    """Something that a test may need, and the environment variable that forbids to go without."""

    required_by: str
    find_fault: Callable[[], str]  # why it cannot be used, or nothing


@cache
def find_missing_model(name: str, *files: models.ModelFile) -> str:
    """What to say where set-up has not brought a language model."""
    missing = models.is_missing(ROOT / ".cache", *files)
    return f"set-up has not brought {name}" if missing else ""


@cache
def find_missing_runtime() -> str:
    """What to say where set-up has not brought the files of live pages."""
    missing = runtime.find_missing(ROOT / ".cache")
    return f"set-up has not brought Python for the browser: {missing}" if missing else ""


@cache
def find_missing_epubcheck() -> str:
    """What to say where no EPUBCheck can run."""
    found = shutil.which("java") and Path(EPUBCHECK).is_file()
    return "" if found else f"EPUBCheck or Java is missing: there is no {EPUBCHECK}"


@cache
def find_missing_coq() -> str:
    """What stands in the way of checking proofs, if anything does."""
    if shutil.which("coqc"):
        return ""
    return "Coq is missing: apt-get install coq libcoq-coquelicot"


@cache
def find_missing_speech() -> str:
    """What to say where set-up has not brought Speech Rule Engine."""
    found = shutil.which("node") and (ROOT / "node_modules" / "speech-rule-engine").is_dir()
    return "" if found else "set-up has not brought Speech Rule Engine: npm is missing"


TOOLS = {
    "browser": Tool(
        "REQUIRE_BROWSER", lambda: "" if BROWSER else f"none of {', '.join(BROWSERS)} was found"
    ),
    "runtime": Tool("REQUIRE_LIVE", find_missing_runtime),
    "smollm2": Tool("REQUIRE_MODELS", lambda: find_missing_model("SmolLM2")),
    "minilm": Tool("REQUIRE_MODELS", lambda: find_missing_model("MiniLM", *models.MINILM)),
    "firefox": Tool("REQUIRE_ENGINES", engines.find_missing_firefox),
    "webkit": Tool("REQUIRE_ENGINES", engines.find_missing_webkit),
    "speech": Tool("REQUIRE_SPEECH", find_missing_speech),
    "node": Tool("REQUIRE_SPEECH", lambda: "" if shutil.which("node") else "Node.js is missing"),
    "coq": Tool("REQUIRE_COQ", find_missing_coq),
    "epubcheck": Tool("REQUIRE_EPUBCHECK", find_missing_epubcheck),
    "ace": Tool("REQUIRE_ACE", lambda: "" if ACE.is_file() else f"there is no {ACE}"),
    "vnu": Tool("REQUIRE_VNU", lambda: "" if VNU_JAR else "VNU_JAR names no HTML checker"),
}


def list_tools(item: pytest.Item) -> list[str]:
    """The tools that a test is marked with, and the browser that its fixtures open."""
    opened = ["browser"] if "chromium" in getattr(item, "fixturenames", ()) else []
    return opened + [name for mark in item.iter_markers("needs") for name in mark.args]


@pytest.hookimpl(tryfirst=True)  # before its fixtures are set up
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test where a tool is missing; fail it where the tool is required."""
    for name in list_tools(item):
        tool = TOOLS[name]
        if fault := tool.find_fault():
            if os.environ.get(tool.required_by):
                pytest.fail(f"{tool.required_by} is set, and {fault}", pytrace=False)
            pytest.skip(fault)


# --- what tests have read of the record: see tests/page.py

READ_IN: dict[str, set[Read]] = defaultdict(set)  # by the tests of a file, in all processes
FILES: set[str] = set()  # that ran


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """What a test has read goes with its report to the process that collects the reports."""
    try:
        return (yield)
    finally:
        if READ:
            item.user_properties.append(("read", [*READ]))
            READ.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """A failure names the blocks that the test has read, the last one first, and what they show."""
    made = yield
    read = dict(item.user_properties).get("read", ())
    if made.failed and read:
        lines = [PLACES.get(one, f"{one[0]} has no {one[1]}") for one in reversed(read[-3:])]
        made.sections.append(("read by this test, the last one first", "\n".join(lines)))
    return made


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """What came of it, in the process that collects the reports."""
    file = report.nodeid.split("::")[0]
    FILES.add(file)
    if report.when == "call":
        for name, found in report.user_properties:
            if name == "read":
                READ_IN[file].update(map(tuple, found))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run fails where no test of a chapter reads a part of the chapter's record."""
    config = session.config
    if hasattr(config, "workerinput"):
        return
    chosen = config.option.keyword or config.option.markexpr or "::" in "".join(config.args)
    if chosen or session.exitstatus:
        return  # a test that did not run, or failed, may have read it
    recorder = Recorder(ROOT)
    excused = tomllib.loads((ROOT / "tests" / "unread.toml").read_text(encoding="utf-8"))
    files = {slug: name_test_file(slug) for slug in recorder.slugs}
    config.stash[UNREAD] = unread = [
        message
        for slug, file in files.items()
        if file in FILES
        for message in find_unread(
            make_page(recorder, "en", slug), READ_IN[file], excused.get(slug, ())
        )
    ]
    if unread:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures and tools, and order them: first come those that need no site,
    for it is built meanwhile; of the others those of security and those in a browser."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        tools = set(list_tools(item))
        if {"project", "built"} & fixtures or {"smollm2", "minilm"} & tools:
            item.add_marker("long")
        if "browser" in tools:
            item.add_marker("site")
        for name in ("record", "site"):
            if name in fixtures:
                item.add_marker(name)

    def find_order(item: pytest.Item) -> tuple[bool, bool, bool]:
        needs_site = "site" in getattr(item, "fixturenames", ())
        is_security = item.path.name == "test_live_security.py"
        return needs_site, not is_security, "browser" not in list_tools(item)

    items.sort(key=find_order)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """Look for no garbage: what is imported and collected stays, and looking takes a sixth. Look
    seldom in what tests make: of reading a page it takes a fifth."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()
    return found


def pytest_collection_finish(session: pytest.Session) -> None:
    """The first of several processes begins to build the site, if a test asks for it. One that runs
    alone has nothing to do meanwhile."""
    wanted = any("site" in getattr(item, "fixturenames", ()) for item in session.items)
    if wanted and get_xdist_worker_id(session) == "gw0":
        threading.Thread(
            target=build_elsewhere, args=[find_shared_folder(session)], daemon=True
        ).start()
    if wanted and get_xdist_worker_id(session) != "master":
        os.nice(10)  # of this thread: the site comes first, most tests wait for it


def report(faults: Iterable[str]) -> None:
    """Fail with these words alone, a line each."""
    if text := "\n".join(faults):
        pytest.fail(text, pytrace=False)


def find_shared_folder(asks: pytest.Session | pytest.FixtureRequest) -> Path:
    """The temporary folder of all processes of a test run."""
    base: Path = asks.config._tmp_path_factory.getbasetemp()
    return base if get_xdist_worker_id(asks) == "master" else base.parent


# The same examples every time, and no deadline: a loaded machine is no fault. `make check`, which
# is for in between, tries a fifth as many.
hypothesis_settings.register_profile("project", deadline=None, derandomize=True)
hypothesis_settings.register_profile("check", deadline=None, derandomize=True, max_examples=20)
hypothesis_settings.load_profile("project")


def scale_examples(number: int) -> hypothesis_settings:
    """How many examples a test takes whose examples are slow; in `make check` a fifth of them."""
    usual = hypothesis_settings().max_examples
    return hypothesis_settings(max_examples=max(1, number * usual // 100))


@cache
def read_project() -> Build:
    """The project's pages, read and checked; no block has run."""
    build = Build(ROOT, print, makers=[Modules(ROOT).hash_of_all])
    build.read()
    return build


@cache
def make_questions(lang: str, slug: str) -> dict[str, Question]:
    """The questions of a chapter as the banks have them; what it needs runs if it has not."""
    build = read_project()
    page = build.pages[lang][slug]
    store = Store(ROOT / ".cache" / "pages", print)
    about = (build.assemble(page), build.published[page.path], build.catalogue, store)
    return {one.name: one for one in list_questions(*about)}


QUIET = {"NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
# The tested site is built for these addresses; what else a test builds has none unless it asks.
ADDRESSES = {name: os.environ.get(name, "") for name in ("SITE_URL", "REPO_URL")}
QUIET |= dict.fromkeys(ADDRESSES, "")
BASE = urlsplit(ADDRESSES["SITE_URL"]).path.rstrip("/")


def mkdocs_build(
    root: Path, target: Path, *flags: str, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `mkdocs build` as a user would, in a project's folder or another, with its package."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-d", str(target), *flags],
        cwd=folder or root,
        env={**os.environ, "PYTHONPATH": str(root), **QUIET, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest) -> Path:
    """The folder of the whole site, built once for all tests and all their processes."""
    shared = find_shared_folder(request)
    target = build_elsewhere(shared)
    if not target.is_dir():
        # Nothing that is left can pass: each would say the same again.
        request.session.shouldfail = "the site was not built"
        pytest.fail(read_build_error(shared), pytrace=False)
    return target


# Another machine, as far as this one can stand in for it: an older processor with three threads.
# The reviewed outputs come from a usual build, whose cache is not used here.
CACHE_ELSEWHERE = ".cache/elsewhere"
ELSEWHERE = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "3"),
    "OMP_WAIT_POLICY": "PASSIVE",  # threads that wait take no time from others
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
}


def build_elsewhere(shared: Path, root: Path = ROOT) -> Path:
    """The folder of the site, built elsewhere: on another machine, in another folder, from another
    home. It is not there where it could not be built."""
    target, log, home = shared / "site", shared / "site.log", shared / "elsewhere"
    with FileLock(shared / "site.lock"):
        if log.is_file():
            return target
        home.mkdir(exist_ok=True)  # a process that was ended may have begun
        cache = root / CACHE_ELSEWHERE
        cache.mkdir(parents=True, exist_ok=True)
        for brought in ("live", "models"):  # by set-up: they are the same
            if not (cache / brought).is_symlink():
                (cache / brought).symlink_to(f"../{brought}")
        flags = ("--config-file", str(root / "mkdocs.yml"))
        surroundings = ELSEWHERE | ADDRESSES
        surroundings |= {"HOME": str(home), "ATTENTION_DOCS_CACHE": str(cache)}
        done = mkdocs_build(root, target, *flags, folder=home, **surroundings)
        log.write_text(done.stderr, encoding="utf-8")
    return target


def read_build_error(shared: Path) -> str:
    """The message of the failed build; only the first caller gets it."""
    with FileLock(shared / "site.lock"):
        marker = shared / "site.reported"
        if marker.exists():
            return "the site was not built: another test says why"
        marker.touch()
    lines = (shared / "site.log").read_text(encoding="utf-8").splitlines()
    wrong = [line for line in lines if not line.startswith("INFO")]
    return "\n".join(["mkdocs build failed:", *wrong])


@cache
def parse_html(path: Path) -> Any:
    """A built page as lxml reads it; no test changes it."""
    return lxml.html.document_fromstring(path.read_text(encoding="utf-8"))


def read_heading(tree: Any) -> str:
    """The words of a page's heading, formulas included, without the link to itself."""
    heading = tree.find(".//h1")
    links = {text for link in heading.find_class("headerlink") for text in link.itertext()}
    return " ".join("".join(one for one in heading.itertext() if one not in links).split())


def list_classes(tag: Any) -> set[str]:
    """The classes of an element of such a tree."""
    return set(tag.get("class", "").split())


@pytest.fixture(scope="session")
def record(request: pytest.FixtureRequest) -> Iterator[Recorder]:
    """The record of the pages that tests ask for; no site is built for it.

    What one process runs the others find in the cache.
    """
    lock = FileLock(find_shared_folder(request) / "record.lock")
    recorder = Recorder(ROOT, lock=lock)
    yield recorder
    recorder.build.executor.close()


@pytest.fixture(scope="session")
def numbers_json(record: Recorder) -> dict[str, Any]:
    """The record of all pages, which the site publishes as numbers.json."""
    document: dict[str, Any] = json.loads(format_document(record.make_document()))
    return document


@pytest.fixture(scope="session")
def page(record: Recorder) -> Callable[[str, str], Page]:
    """`page(lang, slug)`: what the record says of a page."""
    return cache(partial(make_page, record))


@pytest.fixture
def chapter(request: pytest.FixtureRequest, page: Callable[[str, str], Page]) -> Page:
    """The English page that a file of tests is named after: `tests/test_softmax.py`."""
    name = request.path.stem.removeprefix("test_")
    return page("en", name.replace("_", "-"))


def make_page(recorder: Recorder, lang: str, slug: str) -> Page:
    """A page with its record."""
    records = recorder.make_records(lang, slug)
    return Page(recorder.build.pages[lang][slug], records, recorder.read_files(slug))


def find_page_folder(site: Path, lang: str, slug: str) -> Path:
    """Where a page of the built site lies."""
    return site / ("" if lang == "en" else lang) / ("" if slug == "index" else slug)


@pytest.fixture(scope="session")
def soup(site: Path) -> Callable[[str, str], BeautifulSoup]:
    """`soup(lang, slug)`: the HTML of a page of the built site; no test changes it."""

    @cache
    def read(lang: str, slug: str) -> BeautifulSoup:
        text = (find_page_folder(site, lang, slug) / "index.html").read_text(encoding="utf-8")
        return BeautifulSoup(text, "lxml")

    return read


@pytest.fixture
def project(tmp_path: Path) -> Any:
    """A small project of two pages that a test may break."""
    from tests.fixture_project import FixtureProject

    return FixtureProject(tmp_path)


@pytest.fixture
def built(tmp_path: Path) -> Any:
    """The same after its first build."""
    from tests.fixture_project import FixtureProject

    return FixtureProject(tmp_path, built=True)


# --- in a browser ---------------------------------------------------------------------------------


class Handler(http.server.SimpleHTTPRequestHandler):
    """The built site under the path of its own address, with its page for 404, and no log."""

    def translate_path(self, path: str) -> str:
        """The file behind a path."""
        return super().translate_path(path.removeprefix(f"{BASE}/"))

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def serve(site: Path, handler: type[Handler] = Handler) -> Iterator[str]:
    """The address of a built site on a local server."""
    answer = partial(handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{BASE}"
        server.shutdown()


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The same of the site of this run."""
    with serve(site) as found:
        yield found


@contextmanager
def launch() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The same for all tests of this run."""
    with launch() as browser:
        yield browser


@pytest.fixture
def visit(chromium: Any, address: str) -> Iterator[Callable[..., Any]]:
    """`visit(path, width=1280, **context)`: a page, or none yet, in a context of its own."""
    contexts = []

    def open_page(path: str = "", width: int = 1280, **options: Any) -> Any:
        contexts.append(chromium.new_context(viewport={"width": width, "height": 900}, **options))
        tab = contexts[-1].new_page()
        if path:
            tab.goto(address + path)
        return tab

    yield open_page
    for context in contexts:
        context.close()
