"""The plugin for mkdocs: which step of a build happens at which event.

Everything is read and compared before mkdocs writes its first file, and blocks run while pages are
made. mkdocs writes beside the old site; only a whole new one without a fault takes its place,
whatever the flags. Under `mkdocs serve` nothing stops: a page shows what is wrong with it.
"""

from __future__ import annotations

import gc
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import jinja2
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import BasePlugin, CombinedEvent, event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from mkdocs.utils.templates import TemplateContext

from attention_docs.site.adapter.config import (
    create_tools,
    current_language,
    find_theme_asset,
    hide_icons,
    is_nested,
    prepare_language,
)
from attention_docs.site.adapter.finish import finish_build
from attention_docs.site.adapter.page import SitePage
from attention_docs.site.adapter.rendering import begin_page, describe_page, finish_html, write_page
from attention_docs.site.adapter.state import BuildState, Session, start_build
from attention_docs.site.publish.head import list_sitemap
from attention_docs.site.read.failure import Failure
from attention_docs.site.render.complete import set_symbols, shorten_title


class SitePlugin(BasePlugin):  # type: ignore[type-arg, no-untyped-call]  # it has no settings
    """One build at a time; what outlives it is known by what it was made of."""

    def __init__(self) -> None:
        self.session = Session()
        self.current: BuildState | None = None

    @property
    def state(self) -> BuildState:
        """What the build that is going on knows."""
        if self.current is None:
            raise RuntimeError("no build has started: mkdocs calls on_config first")
        return self.current

    # --- before anything is written

    def on_startup(self, *, command: str, dirty: bool) -> None:
        """Listen to warnings even where -q would silence them."""
        self.session.served = command == "serve"
        self.session.listener.attach()
        gc.set_threshold(20_000, 20, 50)  # pages stay: to look for garbage in them is a twelfth

    @event_priority(100)
    def _name_language(self, config: MkDocsConfig) -> None:
        """Tell mkdocstrings the language: it asks before i18n sets it, and would take the last."""
        if is_nested(config) and (documenting := config.plugins.get("mkdocstrings")):
            script = self.state.build.scripts.get(lang := current_language(config))
            documenting.config.locale = script.origin if script else lang

    @event_priority(-200)  # after the language is set
    def _start(self, config: MkDocsConfig) -> None:
        """Start a build; offer "edit this page" only where there is a repository."""
        if not config.repo_url:
            config.edit_uri = None
        if not is_nested(config):
            before = self.current.build if self.current else None
            tools = create_tools(config)
            self.current = start_build(self.session, config, tools, before)
        prepare_language(config, self.state.tools, self.state.build.read_locale)

    on_config = CombinedEvent(_name_language, _start)

    def on_pre_build(self, *, config: MkDocsConfig) -> None:
        """Read all languages before the first one is built."""
        if is_nested(config):
            return
        self.session.listener.messages.clear()
        self.state.read_sources()
        config.site_dir = str(self.state.place.stage)
        hide_icons(config.theme)

    @event_priority(0)  # before the languages are taken apart
    def _add_made_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Pages that are made from others lie in no folder. Style sheets become one."""
        for name in self.state.tools.sheets:
            if sheet := files.get_file_from_path(name):
                files.remove(sheet)
        for page in self.state.build.all:
            if page.origin:
                name = page.path.removeprefix("docs/")
                files.append(
                    File(name, config.docs_dir, config.site_dir, config.use_directory_urls)
                )
        return files

    @event_priority(-200)  # after that
    def _sort_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Pages come in the order of their results, and last what needs those of other pages."""
        state = self.state

        def turn(file: File) -> tuple[bool, int]:
            source = state.find_source(file)
            return (
                (source.uses_other_pages, state.build.executor.find_position(source))
                if source
                else (False, 0)
            )

        for file in sorted(files.documentation_pages(), key=turn):
            source = state.find_source(file)
            if source and source.origin:
                file.edit_uri = source.origin.removeprefix("docs/")
            if source:
                file.page = SitePage(None, file, config)
            files.remove(file)
            files.append(file)
        return files

    on_files = CombinedEvent(_add_made_files, _sort_files)

    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        """Every page has its place; mkdocs asks this only of pages that it has made itself."""
        for file in files.documentation_pages():
            source = self.state.find_source(file)
            listed = file.inclusion.is_in_nav()  # type: ignore[no-untyped-call]
            if source and listed and file.page not in nav.pages:
                message = (
                    "is in no part of the navigation: mkdocs.yml names it in nav or not_in_nav"
                )
                self.state.failures.append(Failure(source.origin or source.path, 1, message))
        return nav

    def on_page_read_source(self, *, page: Page, config: MkDocsConfig) -> str | None:
        """Nothing: the pages of the languages have been read, and some lie in no folder."""
        return None if self.state.find_source(page.file) is None else ""

    # --- a page

    def on_page_markdown(
        self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files
    ) -> str:
        """Take a page as it was, or have it rendered from its Markdown and its results."""
        source = self.state.find_source(page.file)
        if source is None:
            return markdown
        if self.state.is_stopped:
            return ""
        return begin_page(self.state, cast("SitePage", page), source)

    def on_page_content(self, html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Note what was rendered, until its files are written."""
        return finish_html(self.state, page, html)

    def on_env(
        self, env: jinja2.Environment, *, config: MkDocsConfig, files: Files
    ) -> jinja2.Environment:
        """Stop before anything is written if something is wrong."""
        state = self.state
        if state.is_stopped:  # what runs is waited for: all that failed is reported at once
            state.stop_on(state.find_faults())
        # Chinese is a third as long as its escapes.
        env.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": True}
        env.bytecode_cache = state.tools.templates
        env.filters |= {"symbols": set_symbols, "shorten": shorten_title}
        env.globals["theme_asset"] = partial(find_theme_asset, config.theme)
        return env

    def on_page_context(
        self, context: TemplateContext, *, page: Page, config: MkDocsConfig, nav: Navigation
    ) -> TemplateContext:
        """What the templates in theme/ say of a page."""
        known = self.state.pages.get(page.file.src_uri)
        if known and not self.state.is_shown(known):
            cast("dict[str, Any]", context).update(describe_page(self.state, page, known))
        return context

    @event_priority(100)
    def on_post_page(self, output: str, *, page: Page, config: MkDocsConfig) -> str:
        """Write what stands beside a page; a stored one has not gone through the theme."""
        known = self.state.pages.get(page.file.src_uri)
        if known is None:
            return output
        return write_page(self.state, page, known, output, Path(config.site_dir))

    def on_template_context(
        self, context: TemplateContext, *, template_name: str, config: MkDocsConfig
    ) -> TemplateContext:
        """What the templates in theme/ say of the site: the sitemap, the page for 404."""
        build = self.state.build
        base = urlsplit(build.target.site_url).path or "/"
        extra = cast("dict[str, Any]", context)
        extra["sitemap"] = list_sitemap(build.catalogue)
        extra["language_tags"] = build.tags
        extra["script"] = dict(build.read_locale(current_language(config))["site"]["script"])
        extra["lost"] = [
            (
                build.tags[lang],
                build.read_locale(lang)["site"]["lost"],
                base + build.addresses.find_folder(lang),
            )
            for lang in build.languages
        ]
        return context

    def on_post_template(
        self, output_content: str, *, template_name: str, config: MkDocsConfig
    ) -> str:
        """Once for all languages; without an address there is nothing to list."""
        build = self.state.build
        if is_nested(config) or (template_name == "sitemap.xml" and not build.target.site_url):
            return ""
        return output_content

    # --- after the last page

    @event_priority(-200)  # after the last language is built
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write what stands beside the pages, and publish if nothing is wrong."""
        if not is_nested(config):
            finish_build(self.state, config)

    def on_serve(self, server: Any, **_: Any) -> None:
        """Leave what stands now out of the search for garbage, which would grow with every page."""
        gc.collect()
        gc.freeze()

    def on_build_error(self, *, error: Exception) -> None:
        """Delete the staging folder."""
        self.on_shutdown()

    def on_shutdown(self) -> None:
        """Leave nothing behind, whatever ended the build."""
        if self.current:
            self.current.build.executor.close()
            self.current.place.discard()
