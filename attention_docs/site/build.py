"""Pages in, pages with their results out: what a build does without a site generator.

Nothing is global: two builds in one process do not meet. `plugin` calls this at the events of
mkdocs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path

from attention_docs.running.result import STEPS, Result
from attention_docs.site.addresses import BOOKS, HOME, make_relative
from attention_docs.site.content import Content
from attention_docs.site.fingerprints import Fingerprints
from attention_docs.site.publish.catalogue import Catalogue, PublishedPage
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.navigation import MACHINE
from attention_docs.site.read.page import Page, find_asking, find_defining
from attention_docs.site.read.pieces import Reference, Request
from attention_docs.site.read.reader import Reader
from attention_docs.site.read.syntax import NAVIGATED
from attention_docs.site.read.typed_numbers import find_typed_numbers
from attention_docs.site.render.assembled_page import FILES, AssembledPage, Links
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.navigation import describe_chapter
from attention_docs.site.render.reading_time import ReadingTimes
from attention_docs.site.render.requests import expand_request
from attention_docs.site.render.terms import SYMBOLS, TERMS
from attention_docs.site.run.execute import Executor, read_public_versions
from attention_docs.site.store import find_cache_folder
from attention_docs.site.target import Target

Parts = dict[tuple[str, str, str], str | None]
"""Expanded requests, by kind, name, and the fingerprint of the language."""


def _table_text(result: Result, lang: str) -> str:
    """The table that a block shows, as text, or ""; what a figure draws is no source of a digit."""
    drawing = result.figure.get(lang)
    return drawing.alt if drawing and drawing.cells else ""


class Build(Content):
    """One build. The next one starts afresh, but for results that are looked up."""

    def __init__(
        self,
        root: Path,
        warn: Callable[[str], None],
        target: Target | None = None,
        reader: Reader | None = None,
        makers: Iterable[str] = (),
        config: str = "mkdocs.yml",
        before: Build | None = None,
    ) -> None:
        super().__init__(root, reader, makers, config)
        self.target = target or Target()
        self.cache = find_cache_folder(root)
        before = before if before and before.root == root else None
        self.executor: Executor = Executor(
            root,
            self.languages,
            self.cache / "results",
            warn,
            before.executor if before else None,
            self.read_strings,
            {lang: self.read_locale(lang).table for lang in self.scripts},
            self.partial,
        )
        self.parts: Parts = {}
        self._parts_before: Parts = before.parts if before else {}

    def read(self) -> None:
        """Read all pages, compare translations, find out what each block depends on."""
        self.read_content(self.executor.store)
        self.executor.plan(self.all)

    def read_pages(self, slugs: Iterable[str]) -> list[Page]:
        """Read some pages in all languages, without comparing these; what each depends on."""
        pages = self.add_pages(slugs)
        self.executor.plan(pages)
        for name in ("counts", "reading"):  # of the pages before
            self.__dict__.pop(name, None)
        return pages

    # --- results

    @cached_property
    def counts(self) -> dict[str, int]:
        """What the site holds, counted in one language: `{{ site.outputs }}` and so on."""
        pages = self.pages[self.languages[0]].values()
        claimed = [one for page in pages for one in page.passages if one.kind == "result"]
        return {
            "pages": len(pages),
            "blocks": sum(len(page.blocks) for page in pages),
            "outputs": sum(result.has_output for page in pages for result in self.results(page)),
            "values": sum(len(page.values) for page in pages),
            "steps": STEPS,
            "results": len(claimed),
            "computed": sum("uncomputed" not in dict(one.options) for one in claimed),
            "proved": sum("proved" in dict(one.options) for one in claimed),
        }

    def find_counts(self, page: Page) -> dict[str, int]:
        """What `{{ site.… }}` stands for on a page; empty where it does not ask."""
        if not any(value.is_site_count for value in page.values):
            return {}
        return {**self.counts, **self.reading.values(page.text_lang)}

    def results(self, page: Page) -> Sequence[Result]:
        """What the blocks of a page gave, as soon as they have run."""
        return self.executor.wait_for_results(page)

    def find_page_failures(self, page: Page) -> list[Failure]:
        """What is wrong with a page so far."""
        found = [failure for failure in self.failures if failure.path == page.path]
        return found + self.executor.wait_for_failures(page)

    def find_typed_numbers(self, page: Page) -> Iterable[Failure]:
        """Results that a page types instead of printing them, once all of it has run."""
        results = self.results(page)
        if page.origin or len(results) < len(page.blocks):
            return []
        printed = [f"{one.get_text(page.lang)} {_table_text(one, page.lang)}" for one in results]
        for value in page.values:
            if value.after and not value.is_site_count:
                texts = results[value.after - 1].get_values(page.lang)
                printed.append(texts.get((value.expression, value.spec), ""))
        return find_typed_numbers(page, " ".join(printed), self.module_text(page))

    @cached_property
    def reading(self) -> ReadingTimes:
        """How long the chapters take to read."""
        return ReadingTimes(self.pages, self.settings.navigation)

    @cached_property
    def chapters(self) -> dict[str, Chapters]:
        """The pages of each language, for parts that are made from several of them."""
        docs = self.root / "docs"
        return {
            lang: Chapters(
                lang,
                self.read_locale(lang),
                docs,
                pages,
                self.numbered,
                self.results,
                self.settings.navigation,
                self.pages[self.written[0]],
                self.settings.sections[lang],
                partial(self.reading.minutes, lang),
                self.scripts.get(lang),
                self.written[0],
                lang in self.partial,
                self.target.minilm,
                self.target.smollm2,
                self.target.site_url,
            )
            for lang, pages in self.pages.items()
        }

    def assemble(self, page: Page) -> AssembledPage:
        entries = self.entries[page.text_lang]
        return AssembledPage(
            page,
            self.results(page),
            self.read_locale(page.text_lang),
            counts=self.find_counts(page),
            failures=self.find_page_failures(page),
            expand=lambda request: self._expand(page, request),
            glossary=entries.get(TERMS, ()),
            notation=entries.get(SYMBOLS, ()),
            links=self.find_links(page),
            versions=read_public_versions(),
            numbered=self.numbered,
            titles={slug: one.title for slug, one in self.pages[page.lang].items()},
            opening=self._describe_chapter(page),
            machine=self.pages[self.written[0]][page.slug].part_of_machine,
        )

    def _describe_chapter(self, page: Page) -> str:
        """The line above the title of a chapter."""
        if page.slug not in self.numbered:
            return ""
        minutes = self.reading.minutes(page.lang)[page.slug]
        return describe_chapter(page.slug, minutes, self.chapters[page.text_lang])

    def _expand(self, page: Page, request: Request) -> str | None:
        """The part that a comment asks for, as it was while all that it is made of is the same.

        A fault in it is one of the build.
        """
        lang = page.text_lang
        key = (request.kind, request.name, self.fingerprints.of_languages[lang])
        if key in self._parts_before:
            return self.parts.setdefault(key, self._parts_before[key])
        try:
            part = expand_request(request, self.chapters[lang], page.slug)
        except Failure as failure:
            own = failure.path or page.path  # else the fault is that of the comment
            line = failure.line if failure.path else request.line
            self.failures.append(Failure(own, line, failure.message))
            return None
        # With what runs another time it may be another.
        if not self.executor.failed and request.kind not in NAVIGATED:
            self.parts[key] = part
        return part

    # --- places

    def address(self, page: Page) -> str:
        """Where a page stands on the site."""
        return self.addresses.find_address(page.lang, page.slug)

    def find_links(self, page: Page) -> Links:
        here = self.address(page)
        originals = self.pages[self.written[0]]
        chapters = {
            slug: make_relative(self.addresses.find_address(page.lang, slug), here)
            for slug in self.numbered
        }
        pages = self.pages[page.lang]

        def link(other: Page | None) -> str:
            """The path of a page, which the generator makes an address; "" for none."""
            return make_relative(f"{other.slug}.md", page.slug) if other else ""

        whole = (one for one in chapters if {*originals[one].part_of_machine} == {*MACHINE})
        return Links(
            modules={
                piece.name: make_relative(self.address(other), here)
                for other in pages.values()
                if other.is_reference
                for piece in other.pieces
                if isinstance(piece, Reference)
            },
            listings=make_relative("listings/", here),
            files=make_relative(f"{FILES}/", here),
            glossary=link(find_defining(pages, TERMS)),
            notation=link(find_defining(pages, SYMBOLS)),
            review=link(find_asking(pages, "review")),
            proofs=link(find_asking(pages, "proofs")),
            repository=self.target.repository,
            chapters=chapters,
            machine=chapters.get(next(whole, ""), ""),
        )

    @cached_property
    def catalogue(self) -> Catalogue:
        """All pages in the order of the navigation; what it leaves out comes last."""
        places = {name: number for number, name in enumerate(self.settings.order)}
        with_listing = {path.stem for path in self.listings}
        published = []
        for lang, pages in self.pages.items():
            listed = sorted(pages, key=lambda slug: (places.get(slug, len(places)), slug))
            for page in map(pages.__getitem__, listed):
                published.append(
                    PublishedPage(
                        page,
                        self.address(page),
                        self.read_locale(page.text_lang),
                        self.settings.names[lang],
                        own_listing=page.slug in with_listing,
                        translated=page.text_lang != self.written[0],
                        text_url=self.addresses.find_address(page.text_lang, page.slug),
                        book=self._find_book(page),
                    )
                )
        locales = {lang: self.read_locale(lang)["site"]["locale"] for lang in self.languages}
        address = (self.target.site_url, self.target.repository)
        about = (self.root, self.addresses, self.tags, locales, *address)
        return Catalogue(published, *about, frozenset(self.partial))

    def _find_book(self, page: Page) -> str:
        """The path of the book that holds a chapter; "" for none, and where none is made."""
        navigation = self.settings.navigation
        if self.target.served or page.lang in self.partial or page.slug not in navigation.chapters:
            return ""
        parts = (name for name, part in navigation.ids.items() if page.slug in part.slugs)
        return next((f"{BOOKS}/{page.lang}/{name}.epub" for name in parts), "")

    @cached_property
    def published(self) -> dict[str, PublishedPage]:
        """The same by the paths of the pages."""
        return {one.page.path: one for one in self.catalogue.pages}

    def offers_archive(self, page: Page) -> bool:
        """Whether a page offers the archive, which a refresh does not wait for."""
        return page.slug == HOME and not self.target.served

    # --- what a page depends on

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """What each page depends on, once everything has been read."""
        return Fingerprints(self, self.executor, self.catalogue, self.target)

    def page_key(self, page: Page, assembled: AssembledPage | None) -> str:
        """What a finished page with its copies depends on, as one word."""
        return self.fingerprints.of_page(page, assembled, self.offers_archive(page))
