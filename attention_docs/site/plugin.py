"""The plugin for mkdocs: which step of a build happens at which event.

Everything is read and compared before mkdocs writes its first file, and blocks run while pages are
made. mkdocs writes beside the old site; only a whole new one without a fault takes its place,
whatever the flags. Under `mkdocs serve` nothing stops: a page shows what is wrong with it.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import jinja2
import mkdocs
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort, BuildError
from mkdocs.plugins import BasePlugin, CombinedEvent, event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from mkdocs.theme import Theme
from mkdocs.utils.templates import TemplateContext

from attention_docs.site.addresses import relative
from attention_docs.site.build import Build, Target, code_of
from attention_docs.site.mkdocs_page import made, reuse
from attention_docs.site.publish import card, runtime, site, styles
from attention_docs.site.publish import live as live_pages
from attention_docs.site.publish.catalogue import Placed
from attention_docs.site.publish.guard import survivors
from attention_docs.site.publish.head import head, sitemap
from attention_docs.site.publish.listings import translated_listing
from attention_docs.site.publish.markdown import markdown as markdown_copy
from attention_docs.site.publish.notebook import notebook
from attention_docs.site.publish.place import Place, write
from attention_docs.site.read import remade
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page as Source
from attention_docs.site.read.reader import Reader
from attention_docs.site.read.settings import Settings, settings
from attention_docs.site.render import blocks, theme
from attention_docs.site.render.cards import glyph
from attention_docs.site.render.documentation import Documentation
from attention_docs.site.render.extension import SiteExtension
from attention_docs.site.render.shelf import Made, Shelf
from attention_docs.site.render.weave import FILES, Woven
from attention_docs.site.store import Store, cache_folder
from attention_docs.words import words

log = logging.getLogger("mkdocs.attention_docs")
LINK_WARNING = re.compile(r"Doc file '(?P<page>[^']+)' contains an? .*?link '(?P<link>[^']+)'")
UNCHANGED = "Generated empty output"  # what mkdocs says of a page that stays as it was
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


class Listener(logging.Handler):
    """Keeps what mkdocs and its plugins warn about: a warning is a fault of the site."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message, unless it is one of ours."""
        if record.name != log.name:
            self.messages.append(record.getMessage())


@dataclass
class Turn:
    """A page in this build: what it depends on, and what has become of it so far."""

    source: Source
    key: str
    made: Made | None = None
    woven: Woven | None = None
    fresh: bool = False  # made in this build
    warnings: int = 0  # that had come before it
    clean: bool = True


class SitePlugin(BasePlugin):  # type: ignore[type-arg, no-untyped-call]  # it has no settings
    """One build at a time; what outlives it is known by what it was made of."""

    def __init__(self) -> None:
        self.served = False
        self.listener = Listener()
        self.reader: Reader | None = None
        self.shelf: Shelf | None = None
        self.code: dict[Path, str] = {}  # what this process has loaded
        self.shown: dict[str, str] = {}  # under `serve`: the keys of the pages that stand there

    # --- before anything is written

    def on_startup(self, *, command: str, dirty: bool) -> None:
        """Listen to warnings even where -q would silence them."""
        self.served = command == "serve"
        for name in {"mkdocs", mkdocs.__name__}:  # a successor goes by its own name
            root = logging.getLogger(name)
            root.addHandler(self.listener)
            if root.level > logging.WARNING:  # -q
                for handler in root.handlers:
                    if handler is not self.listener:
                        handler.setLevel(root.level)
                root.setLevel(logging.WARNING)
            logging.getLogger(f"{name}.commands.build").addFilter(
                lambda record: UNCHANGED not in record.getMessage()
            )

    @event_priority(100)
    def _name_language(self, config: MkDocsConfig) -> None:
        """Tell mkdocstrings the language: it asks before i18n sets it, and would take the last."""
        if _nested(config) and (documenting := config.plugins.get("mkdocstrings")):
            script = self.build.scripts.get(lang := _language(config))
            documenting.config.locale = script.origin if script else lang

    @event_priority(-200)  # after the language is set
    def _take_part(self, config: MkDocsConfig) -> None:
        """Take part in Markdown; offer "edit this page" only where there is a repository."""
        if not config.repo_url:
            config.edit_uri = None
        toc = config.mdx_configs.setdefault("toc", {})
        said = self.build.words if _nested(config) else words
        toc["permalink_title"] = said(_language(config))["site"]["theme"]["permalink"]
        sheets, config.extra_css = styles.apart(Path(config.docs_dir), config.extra_css)
        if not _nested(config):
            compiled = cache_folder(_file(config).parent) / "templates"
            compiled.mkdir(parents=True, exist_ok=True)
            self.compiled = jinja2.FileSystemBytecodeCache(str(compiled))
            self.documentation = Documentation(self.compiled)
        if documenting := config.plugins.get("mkdocstrings"):
            self.documentation.share(documenting.get_handler("python"))
        if _nested(config):
            return
        self.sheets = sheets
        self.extension = SiteExtension()
        config.markdown_extensions.append(self.extension)  # type: ignore[arg-type]
        superfences = config.mdx_configs.setdefault("pymdownx.superfences", {})
        fence = {"name": "python", "class": "python"}
        ours = {"validator": self.extension.fences, "format": self.extension.lay_out}
        superfences["custom_fences"] = [*superfences.get("custom_fences", []), fence | ours]

    on_config = CombinedEvent(_name_language, _take_part)

    def on_pre_build(self, *, config: MkDocsConfig) -> None:
        """Prepare all languages before the first one is built."""
        if _nested(config):
            return
        self.listener.messages.clear()
        words.cache_clear()
        path = _file(config)
        root, known = path.parent, self._settings(path)
        config.site_url = known.site_url  # under `serve` mkdocs has put its own there
        if self.reader is None or self.reader.root != root:
            self.reader = Reader(root)
        self.store = Store(cache_folder(root) / "pages", log.warning)
        live = not runtime.missing(cache_folder(root))
        if not live:
            log.info(
                "No live pages: Python for the browser is missing; see docs/project/live-pages.md"
            )
        edit = str(config.edit_uri)
        target = Target(known.site_url, known.repo_url, edit, served=self.served, live=live)
        makers = [
            self.code.setdefault(root, code_of(root)),
            f"{mkdocs.__name__} {mkdocs.__version__}",
            *(f"{name} {version(name)}" for name in MAKERS),
        ]
        before = getattr(self, "build", None)
        build = Build(root, log.warning, target, self.reader, makers, path.name, before)
        self.build = build
        self.card = (
            card.card(build.languages, build.words, root, self.store) if known.site_url else None
        )
        build.target = replace(target, shared=repr(self.card.alt) if self.card else "")
        self.turns: dict[str, Turn] = {}  # by the path of the page's file
        self.failures: list[Failure] = []
        self.stopped = False  # a block or a list failed: no further page is made
        self.unmended = False  # the theme is not the one that this package knows
        self.place = Place(Path(config.site_dir), build.cache)
        if self.shelf is None or self.shelf.store.folder != self.store.folder:
            self.shelf = Shelf(self.store)
        self.shelf.store = self.store
        for language in config.plugins["i18n"].config.languages:
            for name, said in known.made.get(language.locale, {}).items():
                language[name] = said if language[name] is None else language[name]
        build.read()
        self._stop_on(build.failures)
        self.by_path = {root / page.path: page for page in build.all}
        build.executor.start(
            page
            for page in build.all
            if page.waits or not self._finished(page, build.page_key(page, None))
        )
        self.documented = {lang: self._documented(lang) for lang in build.languages}
        config.site_dir = str(self.place.stage)
        _list_without_icons(config.theme)

    @event_priority(0)  # before the languages are taken apart
    def _with_made(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Pages that are made from others lie in no folder. Style sheets become one."""
        for name in self.sheets:
            if sheet := files.get_file_from_path(name):
                files.remove(sheet)
        for page in self.build.all:
            if page.origin:
                name = page.path.removeprefix("docs/")
                files.append(
                    File(name, config.docs_dir, config.site_dir, config.use_directory_urls)
                )
        return files

    @event_priority(-200)  # after that
    def _ordered(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Pages come in the order of their results, and last what needs those of other pages."""

        def turn(file: File) -> tuple[bool, int]:
            source = self._source(file)
            return (source.waits, self.build.executor.turn(source)) if source else (False, 0)

        for file in sorted(files.documentation_pages(), key=turn):
            source = self._source(file)
            if source and source.origin:
                file.edit_uri = source.origin.removeprefix("docs/")
            files.remove(file)
            files.append(file)
        return files

    on_files = CombinedEvent(_with_made, _ordered)

    def on_page_read_source(self, *, page: Page, config: MkDocsConfig) -> str | None:
        """Nothing: the pages of the languages have been read, and some lie in no folder."""
        return None if self._source(page.file) is None else ""

    # --- a page

    def on_page_markdown(
        self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files
    ) -> str:
        """Take a page as it was, or have it made from its Markdown and its results."""
        source = self._source(page.file)
        if source is None or self.shelf is None:
            return markdown
        if self.stopped:
            return ""
        page.meta = {**source.meta, "search": {"exclude": True}}  # from the theme's own index
        if glyph(source.slug):
            page.meta["icon"] = f"chapter/{source.slug}"  # in the navigation
        turn = self.turns[page.file.src_uri] = self._turn(source)
        finished = self._finished(source, turn.key)
        if source.documents:  # their links to each other are found while they are made
            finished = self.documented[source.lang]
        if finished:
            turn.made = self.shelf.made(turn.key)
        if turn.made:
            page.render = partial(reuse, page, turn.made)  # type: ignore[method-assign]
            return ""
        turn.fresh = True
        turn.woven = self.extension.woven = turn.woven or self.build.weave(source)
        # A fault of a list such as docs/mistakes.toml is none of this page: `build` has it.
        wrong = bool(turn.woven.failures or self.build.failures)
        self.stopped = wrong and not self.served
        turn.warnings = len(self.listener.messages)
        return turn.woven.markdown()

    def on_page_content(self, html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Note what was made, until its files are written."""
        self.extension.woven = None
        turn = self.turns.get(page.file.src_uri)
        if turn is None or turn.woven is None or not turn.fresh:
            return html
        woven, folder = turn.woven, self.build.addresses.folder(turn.source.lang)
        if turn.source.origin and turn.source.documents:
            html = remade.documentation(self.build.scripts[turn.source.lang], html)
        html = blocks.faults(woven) + html
        turn.made = made(page, html, woven, folder)
        self.failures += woven.failures
        # What was wrong before anything ran is part of the page's key.
        known = {fault for fault in self.build.failures if fault.path == turn.source.path}
        turn.clean = known >= set(woven.failures) and turn.warnings == len(self.listener.messages)
        return html

    @event_priority(-200)
    def on_env(
        self, env: jinja2.Environment, *, config: MkDocsConfig, files: Files
    ) -> jinja2.Environment:
        """Have pages go through the theme's templates only where that gives something new."""
        if self.stopped:  # what runs is waited for, so that all that failed is told at once
            self._stop_on(self._faults())

        def render(template: jinja2.Template, context: Mapping[str, Any]) -> str:
            page = context.get("page")
            fresh = partial(jinja2.Template.render, template, context)
            turn = self.turns.get(page.file.src_uri) if isinstance(page, Page) else None
            return self._printed(page, turn, fresh, config) if page and turn else fresh()

        env.bytecode_cache = self.compiled
        env.template_class = type("KeptTemplate", (jinja2.Template,), {"render": render})
        return env

    def on_page_context(
        self, context: TemplateContext, *, page: Page, config: MkDocsConfig, nav: Navigation
    ) -> TemplateContext:
        """What the templates in theme/ say of a page."""
        turn = self.turns.get(page.file.src_uri)
        if turn and not self._stands(turn):
            placed, build = self.build.placed[turn.source.path], self.build
            extra = cast("dict[str, Any]", context)
            extra["language_tags"] = build.tags
            extra["about"] = head(placed, build.catalogue, self.card)
            extra["script"] = self._script(placed)
            extra["takeaway"] = placed.line(build.zipped(turn.source))
        return context

    def _script(self, placed: Placed) -> dict[str, Any]:
        """What the page's script is told: its words, and where a live page finds what it loads."""
        said = self.build.words(placed.page.lang)["site"]
        told: dict[str, Any] = dict(said["script"])
        if self.build.target.live and placed.page.blocks:
            folder = relative(f"{live_pages.FOLDER}/", placed.url)
            page = relative(live_pages.place(placed.page), placed.url)
            knobs = [b.id for b in placed.page.blocks if any(s.knobs for s in b.sections)]
            found = {"folder": folder, "page": page, "knobs": knobs}
            told["live"] = {**said["live"], **found}
        return told

    def on_template_context(
        self, context: TemplateContext, *, template_name: str, config: MkDocsConfig
    ) -> TemplateContext:
        """What the templates in theme/ say of the site: the sitemap, the page for 404."""
        build = self.build
        url = build.target.site_url
        extra = cast("dict[str, Any]", context)
        extra["sitemap"] = sitemap(build.catalogue)
        extra["language_tags"] = build.tags
        base = urlsplit(url).path or "/"
        extra["script"] = dict(build.words(_language(config))["site"]["script"])
        extra["lost"] = [
            (
                build.tags[lang],
                build.words(lang)["site"]["lost"],
                base + build.addresses.folder(lang),
            )
            for lang in build.languages
        ]
        return context

    def on_post_template(
        self, output_content: str, *, template_name: str, config: MkDocsConfig
    ) -> str:
        """Once for all languages; without an address there is nothing to list."""
        if _nested(config) or (template_name == "sitemap.xml" and not self.build.target.site_url):
            return ""
        if template_name == "404.html":
            return self._mended(output_content, self.build.languages[0], "")
        return output_content

    # --- after the last page

    @event_priority(-200)  # after the last language is built
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write what stands beside the pages, and publish if nothing is wrong."""
        if _nested(config) or self.shelf is None:
            return
        build, executor = self.build, self.build.executor
        faults = self._faults()
        log.info("Numbers: %d blocks ran, %d reused", executor.ran, executor.reused)
        self._stop_on(faults)
        by_path = {turn.source.path: turn for turn in self.turns.values()}
        pages = [
            site.Finished(placed, turn.made)
            for placed in build.catalogue.pages
            if (turn := by_path.get(placed.page.path)) and turn.made
        ]
        site.beside(self.place.stage, build.catalogue, pages, executor, build.known)
        styles.write_styles(self.place.stage, Path(config.docs_dir), self.sheets)
        if build.target.live:
            live_pages.beside(self.place.stage, build.root, build.cache, build.executor.locales)
        if self.served:
            self._refresh()
        else:
            lost = self.place.missing(f"{one.placed.url}index.html" for one in pages)
            self._stop_on(
                [Failure(f"site/{name}", 1, "was made and is not there") for name in lost]
            )
            if build.target.live:
                live_pages.list_for_offline(self.place.stage)
            base = urlsplit(build.target.site_url).path or "/"
            site.archive(self.place.stage, self.card, base, self.store)
            self.place.publish()
        config.site_dir = str(self.place.target)
        for turn in self.turns.values():
            self.shelf.use(turn.key)
        self.store.tidy()
        executor.use()
        executor.store.tidy()

    def on_serve(self, server: Any, **_: Any) -> None:
        """Leave what stands now out of the search for garbage, which would grow with every page."""
        gc.collect()
        gc.freeze()

    def on_build_error(self, *, error: Exception) -> None:
        """Leave nothing behind."""
        self.on_shutdown()

    def on_shutdown(self) -> None:
        """Leave nothing behind, whatever ended the build."""
        if hasattr(self, "build"):
            self.build.executor.close()
        if hasattr(self, "place"):
            self.place.discard()

    # --- how

    def _settings(self, path: Path) -> Settings:
        """What `mkdocs.yml` says, with a table that cannot be read as a fault of its own."""
        try:
            return settings(path.parent, path.name)
        except Failure as failure:
            log.error(str(failure))
            raise Abort("1 fault; nothing was published") from None

    def _source(self, file: File) -> Source | None:
        """The page behind a file, or None for one that lies in no folder of a language."""
        return self.by_path.get(Path(file.abs_src_path or ""))

    def _turn(self, source: Source) -> Turn:
        woven = self.build.weave(source) if source.waits else None
        return Turn(source, self.build.page_key(source, woven), woven=woven)

    def _finished(self, source: Source, key: str) -> bool:
        """Whether a page stands where it is served, or is there to be written, as it would be."""
        stands = self.shown.get(source.path) == key
        return stands or (self.shelf is not None and self.shelf.has(key))

    def _documented(self, lang: str) -> bool:
        """Whether all pages of modules are finished."""
        build, pages = self.build, self.build.pages[lang].values()
        return all(
            self._finished(page, build.page_key(page, None)) for page in pages if page.documents
        )

    def _stands(self, turn: Turn) -> bool:
        """Whether the page stands where it is served, as it would be made now."""
        return not turn.fresh and self.shown.get(turn.source.path) == turn.key

    def _faults(self) -> list[Failure]:
        """All that is wrong, once everything has run."""
        messages = [self._located(text) for text in self.listener.messages]
        return self.failures + self.build.failures + self.build.executor.finish() + messages

    def _printed(
        self, page: Page, turn: Turn, fresh: Callable[[], str], config: MkDocsConfig
    ) -> str:
        """A page as readers get it, and its copies; "" for one that stands there already."""
        if self._stands(turn) or self.shelf is None:
            return ""
        files = None if turn.fresh else self.shelf.files(turn.key)
        if files is None:
            if not turn.fresh:  # another process threw it away since it was looked up
                raise BuildError(f"what was kept of {turn.source.path} is gone: build again")
            html = self._mended(fresh(), turn.source.lang, page.url)
            left = {text for _, text in survivors(html)}
            self.failures += [
                Failure(turn.source.path, turn.source.line_of(text), f"left in the page: {text}")
                for text in left
            ]
            told = any(page.file.src_uri in message for message in self.listener.messages)
            turn.clean = turn.clean and not left and not told and not self.unmended
            try:
                files = {page.file.dest_uri: html} | self._copies(turn)
            except Failure as failure:
                self.failures.append(failure)
                return html
            if turn.clean and turn.made:
                self.shelf.keep(turn.key, turn.made, files)
        for name, content in files.items():
            write(Path(config.site_dir) / name, content)
        return files[page.file.dest_uri]

    def _copies(self, turn: Turn) -> dict[str, str]:
        """The Markdown copy and the notebook of a page, by their places."""
        woven = turn.woven or self.build.weave(turn.source)
        placed = self.build.placed[turn.source.path]
        about = (woven, placed, self.build.catalogue)
        found = {placed.markdown: markdown_copy(*about)}
        if placed.notebook:
            found[placed.notebook] = notebook(*about)
        if placed.listing and placed.translated:
            found[placed.listing] = translated_listing(woven.page)
        if self.build.target.live and woven.page.blocks:
            document = live_pages.document(woven)
            found[live_pages.place(woven.page)] = json.dumps(document, ensure_ascii=False)
        return found | woven.files

    def _mended(self, html: str, lang: str, url: str) -> str:
        folder = self.build.addresses.folder(lang)
        index = relative(folder, url) if folder else ""
        said, tag = self.build.words(lang), self.build.tags[lang]
        html, missing = theme.mended(html, said, index, tag, lang != self.build.languages[0])
        for piece in missing:
            failure = Failure("attention_docs/site/render/theme.py", 1, f"not in the HTML: {piece}")
            self.failures.append(failure)
        self.unmended = self.unmended or bool(missing)
        return html

    def _refresh(self) -> None:
        """Under `serve`: what is new joins what stands there."""
        kept = set()
        for turn in self.turns.values():
            if self._stands(turn):
                placed = self.build.placed[turn.source.path]
                kept |= {f"{placed.url}index.html", placed.markdown}
                kept |= {placed.notebook, placed.listing}
                kept.add(live_pages.place(turn.source))
        target = self.place.target
        kept |= {path.relative_to(target).as_posix() for path in (target / FILES).glob("*")}
        self.place.refresh(kept)
        turns = self.turns.values()
        self.shown = {turn.source.path: turn.key for turn in turns if turn.clean}

    def _stop_on(self, failures: list[Failure]) -> None:
        """Report every fault; stop the build, but not the server."""
        found = sorted({self.build.told(failure) for failure in failures})
        for failure in found:
            log.error(str(failure))
        if found and not self.served:
            raise Abort(f"{len(found)} faults; nothing was published")

    def _located(self, message: str) -> Failure:
        """A warning of mkdocs as a fault of the line that holds the link."""
        match = LINK_WARNING.search(message)
        for source in self.build.all:
            if match and source.path == f"docs/{match['page']}":
                return Failure(source.path, source.line_of(f"({match['link']}"), message)
        return Failure("mkdocs.yml", 1, message)


def _file(config: MkDocsConfig) -> Path:
    """The file that says what is built; the project lies around it."""
    return Path(config.config_file_path or "mkdocs.yml").resolve()


def _nested(config: MkDocsConfig) -> bool:
    """Whether this is the inner build of a further language."""
    return bool(getattr(config.plugins.get("i18n"), "building", False))


def _language(config: MkDocsConfig) -> str:
    """The language that is being built."""
    code: str = config.plugins["i18n"].current_language  # type: ignore[attr-defined]
    return code


def _list_without_icons(theme: Theme) -> None:
    """Keep mkdocs from listing the theme's fourteen thousand icons, none of which is published."""
    fresh = theme.get_env

    def get_env() -> jinja2.Environment:
        env = fresh()

        def listed(filter_func: Callable[[str], bool]) -> list[str]:
            return sorted({name for name in _files(theme.dirs) if filter_func(name)})

        env.list_templates = listed  # type: ignore[method-assign, assignment]
        return env

    theme.get_env = get_env  # type: ignore[method-assign]


def _files(folders: Iterable[str]) -> Iterator[str]:
    """The files in folders, by their names there; what begins with a dot is left out."""
    for folder in folders:
        for path, inner, names in os.walk(folder):
            inner[:] = [name for name in inner if not name.startswith(".")]
            for name in names:
                yield Path(path, name).relative_to(folder).as_posix()
