"""The state of a build while mkdocs renders the pages, and the session of `mkdocs serve`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

import mkdocs
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort
from mkdocs.structure.files import File

from attention_docs.locales import read_locale
from attention_docs.site.adapter.config import RenderingTools, config_file
from attention_docs.site.adapter.log import Listener, locate_warning, log
from attention_docs.site.build import Build
from attention_docs.site.fingerprints import fingerprint_code
from attention_docs.site.publish import models, runtime, share_card
from attention_docs.site.publish.staging import StagingFolder
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page as Source
from attention_docs.site.read.reader import Reader
from attention_docs.site.read.settings import Settings, read_settings
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.page_cache import RenderedPage, RenderedPageCache
from attention_docs.site.store import Store, find_cache_folder
from attention_docs.site.target import Target

MAKERS = (
    "Markdown",
    "Pygments",
    "griffelib",
    "markdown-exec",
    "mkdocs-autorefs",
    "mkdocs-material",
    "mkdocs-static-i18n",
    "mkdocstrings",
    "mkdocstrings-python",
    "nbformat",
    "pymdown-extensions",
)
"""The distributions that have a say in what a page looks like."""


@dataclass
class Session:
    """What outlives a build, from one refresh of `mkdocs serve` to the next.

    Attributes:
        code: the fingerprint of the engine's code that this process has loaded, by project.
        shown: the keys of the pages that stand where the site is served.
    """

    served: bool = False
    listener: Listener = field(default_factory=Listener)
    reader: Reader | None = None
    page_cache: RenderedPageCache | None = None
    code: dict[Path, str] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)


@dataclass
class PageState:
    """A page in this build: what it depends on, and what has become of it so far.

    Attributes:
        is_new: it is rendered in this build.
        warnings: how many there were before it.
        is_clean: nothing is wrong with it, so it may be cached.
    """

    source: Source
    key: str
    rendered: RenderedPage | None = None
    assembled: AssembledPage | None = None
    is_new: bool = False
    warnings: int = 0
    is_clean: bool = True


@dataclass
class BuildState:
    """What a build knows, created when it starts.

    Attributes:
        pages: by the names that mkdocs has for their files.
        sources: the pages by their paths on this machine.
        documented: the languages of which all pages of modules are finished.
        failures: of rendering; those of reading and running are the build's.
        is_stopped: a block or a list failed, so no further page is rendered.
    """

    session: Session
    tools: RenderingTools
    build: Build
    place: StagingFolder
    page_cache: RenderedPageCache
    card: share_card.Card | None = None
    pages: dict[str, PageState] = field(default_factory=dict)
    sources: dict[Path, Source] = field(default_factory=dict)
    documented: set[str] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    is_stopped: bool = False

    def read_sources(self) -> None:
        """Read and compare all pages, and begin to run what is not finished."""
        build = self.build
        try:
            build.read()
        except Failure as failure:  # a table that cannot be read at all
            build.failures.append(failure)
        self.stop_on(build.failures)
        self.sources = {build.root / page.path: page for page in build.all}
        build.executor.start(
            page
            for page in build.all
            if page.uses_other_pages or not self.is_finished(page, build.page_key(page, None))
        )
        self.documented = {lang for lang in build.languages if self._is_documented(lang)}

    def find_source(self, file: File) -> Source | None:
        """The page behind a file, or None for one that lies in no folder of a language."""
        return self.sources.get(Path(file.abs_src_path or ""))

    def is_finished(self, source: Source, key: str) -> bool:
        """Whether the current version of a page is served already, or in the cache."""
        return self.session.shown.get(source.path) == key or self.page_cache.has(key)

    def is_shown(self, page: PageState) -> bool:
        """Whether the current version of the page is served already."""
        return not page.is_new and self.session.shown.get(page.source.path) == page.key

    def find_faults(self) -> list[Failure]:
        """All that is wrong, once everything has run."""
        messages = self.session.listener.messages
        warned = [locate_warning(text, self.build.all) for text in messages]
        return self.failures + self.build.failures + self.build.executor.finish() + warned

    def stop_on(self, failures: Iterable[Failure]) -> None:
        """Report every fault; stop the build, but not the server."""
        found = sorted({self.build.point_to_origin(failure) for failure in failures})
        for failure in found:
            log.error(str(failure))
        if found and not self.session.served:
            count = "1 fault" if len(found) == 1 else f"{len(found)} faults"
            raise Abort(f"{count}; nothing was published")

    def _is_documented(self, lang: str) -> bool:
        return all(
            self.is_finished(page, self.build.page_key(page, None))
            for page in self.build.pages[lang].values()
            if page.is_reference
        )


def start_build(
    session: Session, config: MkDocsConfig, tools: RenderingTools, before: Build | None
) -> BuildState:
    """What is known when a build starts; `before` is the last one of this process."""
    path = config_file(config)
    root, known = path.parent, _read_settings(path)
    config.site_url = known.site_url  # under `serve` mkdocs has put its own there
    if session.reader is None or session.reader.root != root:
        session.reader = Reader(root)
    store = Store(find_cache_folder(root) / "pages", log.warning)
    if session.page_cache is None or session.page_cache.store.folder != store.folder:
        session.page_cache = RenderedPageCache(store)
    session.page_cache.store = store
    target = _create_target(session, config, known)
    makers = [
        session.code.setdefault(root, fingerprint_code(root)),
        f"{mkdocs.__name__} {mkdocs.__version__}",
        *(f"{name} {version(name)}" for name in MAKERS),
    ]
    build = Build(root, log.warning, target, session.reader, makers, path.name, before)
    drawn = (
        share_card.make_card(build.languages, build.read_locale, root, store)
        if known.site_url
        else None
    )
    build.target = replace(target, shared=repr(drawn.alt) if drawn else "")
    for language in config.plugins["i18n"].config.languages:
        for name, text in known.converted.get(language.locale, {}).items():
            language[name] = text if language[name] is None else language[name]
    place = StagingFolder(Path(config.site_dir), build.cache)
    return BuildState(session, tools, build, place, session.page_cache, drawn)


def _read_settings(path: Path) -> Settings:
    """What `mkdocs.yml` says, with a table that cannot be read as a fault of its own."""
    read_locale.cache_clear()
    try:
        return read_settings(path.parent, path.name)
    except Failure as failure:
        log.error(str(failure))
        raise Abort("1 fault; nothing was published") from None


def _create_target(session: Session, config: MkDocsConfig, known: Settings) -> Target:
    is_live = not runtime.find_missing(find_cache_folder(config_file(config).parent))
    if not is_live:
        log.info("No live pages: Python for the browser is missing; see docs/project/live-pages.md")
    cache = find_cache_folder(config_file(config).parent)
    has_model = is_live and not models.is_missing(cache, *models.MINILM)
    if is_live and not has_model:
        guide = "docs/project/development.md"
        log.info(f"No sentences of readers: set-up has not brought MiniLM; see {guide}")
    return Target(
        known.site_url,
        known.repo_url,
        str(config.edit_uri),
        served=session.served,
        live=is_live,
        minilm=has_model,
        smollm2=is_live and not models.is_missing(cache),
    )
