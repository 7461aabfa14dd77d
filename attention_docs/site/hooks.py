"""The events of mkdocs, in the order in which they come.

Everything is parsed, compared and run before mkdocs writes its first file, so that a fault in a
page leaves the old site alone. What later steps find is gathered too; the build fails at its end,
whatever its flags. Under `mkdocs serve` nothing stops: the page shows what is wrong.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from attention_docs.site import (
    formulas,
    found,
    mend,
    numbers,
    offline,
    refresh,
    search,
    tables,
    terms,
    twins,
)
from attention_docs.site.execute import Executor, Results, public_versions
from attention_docs.site.failure import Failure
from attention_docs.site.run import STEPS
from attention_docs.site.source import Source, read_page
from attention_docs.site.store import Record, Store
from attention_docs.site.takeaway import ZIP, Copy, Kit
from attention_docs.site.weave import Woven, shows

log = logging.getLogger("mkdocs.attention_docs")
LANGUAGES = ("en", "zh")
LINK_WARNING = re.compile(r"Doc file '(?P<page>[^']+)' contains an? .*?link '(?P<link>[^']+)'")


class Collector(logging.Handler):
    """Keeps what mkdocs and its plugins warn about: a warning is a fault of the site."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message, unless it is one of ours."""
        if record.name != log.name:
            self.messages.append(record.getMessage())


class Build:
    """What one build knows; the next one starts afresh."""

    def __init__(self, root: Path, site: Path) -> None:
        self.root = root
        self.site = site  # where the finished site goes
        self.pages: dict[Path, Source] = {}
        self.results = Results()
        self.failures: list[Failure] = []
        self.woven: dict[str, Woven] = {}
        self.records: dict[str, list[dict[str, Any]]] = {}
        self.searchable: dict[str, list[search.Entry]] = {lang: [] for lang in LANGUAGES}
        self.order: list[str] = []  # the pages as the navigation has them
        self.copies: dict[str, Copy] = {}
        self.keys: dict[str, tuple[str, int]] = {}  # of `rendered`, and the warnings before
        self.cache = Path(os.environ.get("ATTENTION_DOCS_CACHE", root / ".cache" / "results"))

    def prepare(self) -> None:
        """Read all pages, compare the twins, run what must run."""
        for lang in LANGUAGES:
            for path in sorted((self.root / "docs" / lang).rglob("*.md")):
                self.pages[path] = read_page(path, self.root)
                self.failures += self.pages[path].failures
        self._compare()
        executor = Executor(self.root, self.cache, log.warning)
        self.results = executor.run(list(self.pages.values()))
        self.failures += self.results.failures
        for page in self.pages.values():
            page.failures += [f for f in self.results.failures if f.path == page.path]

    def _compare(self) -> None:
        english, chinese = (self.root / "docs" / lang for lang in LANGUAGES)
        for path, page in self.pages.items():
            ours = path.is_relative_to(english)
            here, there = (english, chinese) if ours else (chinese, english)
            twin = self.pages.get(there / path.relative_to(here))
            if twin is None:
                wanted = (there / path.relative_to(here)).relative_to(self.root).as_posix()
                self.failures.append(Failure(page.path, 1, f"has no twin {wanted}"))
            elif ours:
                faults = twins.compare(page, twin)
                self.failures += faults
                for fault in faults:
                    (page if fault.path == page.path else twin).failures.append(fault)

    @property
    def counts(self) -> dict[str, int]:
        """What the site holds, counted once for both languages: `{{ site.outputs }}` and so on."""
        english = [p for p in self.pages.values() if p.path.startswith("docs/en/")]
        records = [r for page in english for r in self.results.records[page.path][1:]]
        return {
            "pages": len(english),
            "blocks": sum(len(page.blocks) for page in english),
            "outputs": sum(map(shows, records)),
            "values": sum(len(page.values) for page in english),
            "steps": STEPS,
        }

    def results_of(self, lang: str) -> tables.Pages:
        """Look a page of this language up by its name, with what its blocks printed."""

        def page(slug: str) -> tuple[Source, list[Record]]:
            source = self.pages[self.root / "docs" / lang / f"{slug}.md"]
            return source, self.results.records[source.path]

        return page

    def expand(self, markdown: str, lang: str) -> str:
        """Put in the parts that the page asks for."""
        return tables.expand(markdown, lang, self.root / "docs", self.results_of(lang))

    @cached_property
    def card(self) -> found.Card | None:
        """The picture shown where a page is shared; none under `mkdocs serve`."""
        return found.card(self.root, Store(self.cache, log.warning)) if command == "build" else None

    def copy(self, page: Page, woven: Woven, config: MkDocsConfig) -> Copy:
        """What the copies of a page are made from."""
        return Copy(
            woven,
            lambda line: self.expand(line, woven.lang),
            page.url,
            title=str(page.meta.get("title", page.title)),
            description=str(page.meta.get("description", config.site_description)),
            site_name=config.site_name,
            own_listing=(self.root / "docs" / "listings" / f"{woven.source.slug}.py").is_file(),
        )

    def weave(self, page: Page, config: MkDocsConfig) -> Woven | None:
        """The woven form of a page, or None for a page that is not in a language folder."""
        source = self.pages.get(Path(page.file.abs_src_path or ""))
        if source is None:
            return None
        lang = source.path.split("/")[1]
        prefix = "" if lang == LANGUAGES[0] else f"{lang}/"
        return Woven(
            source,
            lang,
            self.results.records[source.path],
            self.counts,
            api=get_relative_url(f"{prefix}api/", page.url),
            listings=get_relative_url("listings/", page.url),
            repository=(config.repo_url or "").rstrip("/"),
            versions=public_versions(),
        )


command = "build"
collector = Collector()
rendered: dict[str, refresh.Rendered] = {}  # by page; only `mkdocs serve` lives long enough
current = Build(Path(), Path())


def on_startup(command: str, dirty: bool) -> None:
    """Listen to warnings even where -q would silence them."""
    globals()["command"] = command
    mkdocs_log = logging.getLogger("mkdocs")
    if collector not in mkdocs_log.handlers:
        mkdocs_log.addHandler(collector)
    if mkdocs_log.level > logging.WARNING:  # -q
        for handler in mkdocs_log.handlers:
            if handler is not collector:
                handler.setLevel(mkdocs_log.level)
        mkdocs_log.setLevel(logging.WARNING)


def on_config(config: MkDocsConfig) -> None:
    """Offer "edit this page" only where there is a repository."""
    if not config.repo_url:
        config.edit_uri = None


def on_pre_build(config: MkDocsConfig) -> None:
    """Prepare all languages before the first one is built."""
    if _nested(config):
        return
    collector.messages.clear()
    root = Path(config.config_file_path or "mkdocs.yml").resolve().parent
    globals()["current"] = Build(root, Path(config.site_dir))
    current.prepare()
    _stop_on(current.failures)
    if command == "build":
        # mkdocs writes beside the old site; only a whole new one takes its place.
        config.site_dir = f"{config.site_dir}.part"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put code, outputs and values into the Markdown."""
    woven = current.weave(page, config)
    if woven is None:
        return markdown
    current.woven[page.file.src_uri] = woven
    page.meta["search"] = {"exclude": True}  # from the theme's own index
    current.records[page.url] = numbers.records("/" + page.url, woven)
    try:
        markdown = current.expand(woven.markdown(), woven.lang)
    except Failure as failure:
        current.failures.append(failure)
        return woven.markdown()
    if command == "serve":
        key = refresh.key(markdown, woven, (file.src_uri for file in files), current.root)
        current.keys[page.file.src_uri] = key, len(collector.messages)
        known = rendered.get(page.file.src_uri)
        if known and known.key == key:
            refresh.reuse(page, known)
    return markdown


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Render formulas and put in what is HTML."""
    woven = current.woven.get(page.file.src_uri)
    if woven is None:
        return content

    copy = current.copies[page.file.src_uri] = current.copy(page, woven, config)
    home = copy.url in found.addresses("").values() and command == "build"
    key, messages = current.keys.get(page.file.src_uri, ("", 0))
    known = rendered.get(page.file.src_uri)
    if not known or known.key != key:
        known = _rendered(content, page, woven, key)
        if key and not woven.source.failures and messages == len(collector.messages):
            rendered[page.file.src_uri] = known
    current.searchable[woven.lang] += known.entries
    return known.content + copy.line(zipped=home)


def _rendered(content: str, page: Page, woven: Woven, key: str) -> refresh.Rendered:
    """The page's HTML, whole, and what of it is searched."""

    def fail(tex: str, message: str) -> None:
        # Inline values in the formula are filled in, so its first line may match in part only.
        start = tex.strip().split("\n")[0]
        line = next(
            (n for i in range(len(start)) if (n := _line_of(woven.source, start[: -i or None]))), 0
        )
        failure = Failure(woven.source.path, line, f"formula: {message}")
        current.failures.append(failure)
        woven.source.failures.append(failure)

    content = woven.content(formulas.each(_explained(content, page, woven), woven.bare))
    # The addresses in an index are relative to the first page of its language.
    entries = search.entries(page.url.removeprefix(f"{woven.lang}/"), content)
    content = formulas.replace(content, fail)
    return refresh.keep(key, page, woven.faults() + content, entries)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Put right what the theme lacks; say in the head what the page is, and in which languages."""
    output = _mended(output, page.url)
    copy = current.copies.get(page.file.src_uri)
    if copy is None:
        return output
    card = current.card if config.site_url else None
    return found.head(output, copy, config.site_url or "", card)


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """One page for 404, for both languages."""
    if template_name == "404.html":
        output = _mended(output, "")
        return "" if _nested(config) else found.not_found(output, config.site_url or "")
    return output


@event_priority(-200)  # after the languages are taken apart
def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    """Remember the order of the pages; those that are not in the navigation come last."""
    listed = [page.file.src_uri for page in nav.pages]
    others = {file.src_uri for file in files.documentation_pages()} - {*listed}
    current.order += listed + sorted(others)


@event_priority(-200)  # after the last language is built
def on_post_build(config: MkDocsConfig) -> None:
    """Write numbers.json, say what ran, and publish if nothing is wrong."""
    if _nested(config):
        return
    shown = (record for url in sorted(current.records) for record in current.records[url])
    built = Path(config.site_dir)
    (built / "numbers.json").write_text(
        numbers.document(shown, public_versions()), encoding="utf-8"
    )
    search.write(built, current.searchable)
    if not current.failures:
        _copies(built, config)
    log.info("Numbers: %d blocks ran, %d reused", current.results.ran, current.results.reused)
    config.site_dir = str(current.site)
    try:
        _stop_on(current.failures + [_located(message) for message in collector.messages])
    except Abort:
        shutil.rmtree(built)
        raise
    if built != current.site:
        shutil.rmtree(current.site, ignore_errors=True)
        built.rename(current.site)


def _explained(content: str, page: Page, woven: Woven) -> str:
    """Link terms and symbols; on the pages that hold their entries, name the rows."""
    folder = current.root / "docs" / woven.lang
    slug = woven.source.slug
    entries = {
        name: terms.read(path, int(name == "glossary" and woven.lang == "zh"))
        for name in ("glossary", "notation")
        if (path := folder / f"{name}.md").is_file()
    }
    if slug in entries:
        return terms.name_rows(content, entries[slug])
    if slug.startswith("api/"):  # docstrings are English and name what they explain
        return content
    prefix = "" if woven.lang == LANGUAGES[0] else f"{woven.lang}/"
    return terms.link(
        content,
        entries.get("glossary", []),
        entries.get("notation", []),
        lambda name: get_relative_url(f"{prefix}{name}/", page.url),
    )


def _copies(built: Path, config: MkDocsConfig) -> None:
    """Write what can be taken away, and what others find the site by."""
    site_url, repository = config.site_url or "", (config.repo_url or "").rstrip("/")
    copies = [current.copies[name] for name in current.order if name in current.copies]
    Kit(copies, current.root, site_url, repository).write(built)
    found.sitemap(built, site_url, [copy.url for copy in copies])
    if command == "build":  # a refresh under `mkdocs serve` does not wait for these
        if site_url and current.card:
            (built / found.CARD).write_bytes(current.card.png)
        offline.pack(built, built / ZIP, urlsplit(site_url).path or "/")


def _mended(output: str, url: str) -> str:
    output, missing = mend.mended(output, url)
    for piece in missing:
        failure = Failure("attention_docs/site/mend.py", 1, f"not in the theme's HTML: {piece}")
        current.failures.append(failure)
    return output


def _nested(config: MkDocsConfig) -> bool:
    """Whether this is the inner build of a further language."""
    return bool(getattr(config.plugins.get("i18n"), "building", False))


def _stop_on(failures: list[Failure]) -> None:
    """Report every fault; stop the build, but not the server."""
    for failure in sorted(set(failures)):
        log.error(str(failure))
    if failures and command == "build":
        raise Abort(f"{len(set(failures))} faults; nothing was published")


def _located(message: str) -> Failure:
    """A warning of mkdocs as a fault of the line that holds the link."""
    match = LINK_WARNING.search(message)
    for source in current.pages.values():
        if match and source.path == f"docs/{match['page']}":
            return Failure(source.path, _line_of(source, f"({match['link']}"), message)
    return Failure("mkdocs.yml", 1, message)


def _line_of(source: Source, text: str) -> int:
    return next((n for n, line in enumerate(source.lines, start=1) if text in line), 0)
