"""The address of each page and its copies, and the line that offers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from attention_docs.locales import Locale
from attention_docs.site.addresses import BANKS, Addresses, make_relative
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Box
from attention_docs.site.run.imports import Modules

MARKDOWN = "index.html.md"  # the name that llmstxt.org gives to the copy of a page at ".../"
ZIP = "attention-docs.zip"
SLIDE_WORDS = ("before", "after", "full", "close", "uncover", "caption")
GAP = ' <span aria-hidden="true">·</span> '


@dataclass(frozen=True)
class PublishedPage:
    """A page, its address, and the addresses of its copies."""

    page: Page
    url: str
    locale: Locale
    site_name: str
    own_listing: bool
    translated: bool = False  # not in the language of the listings
    text_url: str = ""  # the address of the page whose text it shows: its own, or the original's
    book: str = ""  # the path of the book that holds it; empty if there is none

    @property
    def description(self) -> str:
        return str(self.page.meta.get("description", ""))

    @property
    def markdown(self) -> str:
        return self.text_url + MARKDOWN

    @property
    def notebook(self) -> str:
        """The path of the notebook, without answers; empty if there is none.

        The questions of the inventory stand on their page with what is right.
        """
        offers = self.own_listing and not self.page.asks_for("inventory")
        return f"notebooks/{self.page.text_lang}/{self.page.slug}.ipynb" if offers else ""

    @property
    def answers(self) -> str:
        """The path of the notebook with answers; empty if there are none."""
        has_answers = self.notebook and self.has_exercises
        return self.notebook.replace(".ipynb", "-answers.ipynb") if has_answers else ""

    @property
    def bank(self) -> str:
        """The path of its questions for Moodle; empty if it asks nothing."""
        kinds = {one.kind for one in self.page.pieces if isinstance(one, Box)}
        asks = kinds & {"exercise", "guess", "recall"}
        return f"{BANKS}/{self.page.text_lang}/{self.page.slug}.xml" if asks else ""

    @property
    def assessment(self) -> str:
        """The path of the same in QTI; empty if it asks nothing."""
        return self.bank and self.bank.replace(".xml", ".qti.xml")

    @property
    def panel(self) -> str:
        """The path of what its panel of the model that writes says; empty if it has none."""
        asks = self.page.asks_for("model")
        return f"live/panels/{self.page.lang}/{self.page.slug}.json" if asks else ""

    @property
    def has_exercises(self) -> bool:
        """Whether the page asks something that has an answer."""
        return any(isinstance(one, Box) and one.kind == "exercise" for one in self.page.pieces)

    @property
    def listing(self) -> str:
        """The path of the listing; empty if there is none."""
        folder = f"listings/{self.page.text_lang}" if self.translated else "listings"
        return f"{folder}/{self.page.slug}.py" if self.own_listing else ""

    def render_copies_line(self, offers_zip: bool) -> str:
        locale = self.locale["site"]["copies"]
        name = PurePosixPath(self.page.slug).name
        offers = [
            (self.notebook, f"{name}.ipynb", locale["notebook"]),
            (self.answers, f"{name}-answers.ipynb", locale["answers"]),
            (self.listing, f"{name}.py", locale["listing"]),
            (self.markdown, f"{name}.md", locale["markdown"]),
            (self.bank, f"attention-{name}.xml", self.locale["site"]["banks"]["file"]),
            (self.book, f"attention-{PurePosixPath(self.book).name}", locale["book"]),
            (ZIP if offers_zip else "", ZIP, locale["zip"]),
        ]
        links = [
            f'<a href="{make_relative(path, self.url)}" download="{name}">{text}</a>'
            for path, name, text in offers
            if path
        ]
        if self.has_exercises:
            links.append(f'<a href="?print=answers">{locale["paper"]}</a>')
            links.append(f'<a href="?print=exercises">{locale["sheet"]}</a>')
        if self.own_listing:  # slides.js reads what its buttons are called
            names = [locale[f"slide_{one}"] for one in SLIDE_WORDS]
            shown = locale["slides"]
            links.append(f'<a href="?slides" data-slides="{"|".join(names)}">{shown}</a>')
        return f'<p class="takeaway"><small>{locale["take"]}{GAP.join(links)}</small></p>'


@dataclass(frozen=True)
class Catalogue:
    """All pages with their places, in the order of the navigation, and what their links need.

    Attributes:
        tags: what HTML calls each language.
        locales: what those call it that show where a page is shared.
        partial: the languages of which some pages show the English text.
    """

    pages: Sequence[PublishedPage]
    root: Path
    addresses: Addresses
    tags: Mapping[str, str]
    locales: Mapping[str, str]
    site_url: str
    repository: str
    partial: frozenset[str] = frozenset()

    @cached_property
    def modules(self) -> Modules:
        """The modules of the project, to find what a notebook needs."""
        return Modules(self.root)

    @cached_property
    def complete(self) -> list[str]:
        """The languages in which every page is translated, or made."""
        return [lang for lang in self.tags if lang not in self.partial]

    def find_translations(self, slug: str) -> dict[str, str]:
        """The addresses of a page in every language that has a text of its own for it."""
        return {
            one.page.lang: one.url
            for one in self.pages
            if one.page.slug == slug and not one.page.untranslated
        }

    def make_linker(
        self, start: str, name_page: Callable[[PublishedPage], str], base: str = ""
    ) -> Callable[[str], str]:
        """How links are written in a copy in folder `start`; with `base` they are absolute.

        `name_page` says what stands for a page of `docs/` that the copy links to.
        """
        pages: Mapping[str, str] = {
            one.page.path.removeprefix("docs/"): name_page(one) for one in self.pages
        }

        def link(path: str) -> str:
            target = pages.get(path, path)
            return base + target if base else make_relative(target, start)

        return link

    def render_llms(self) -> str:
        """llms.txt, in the form of llmstxt.org: what the site is, and its pages as Markdown."""
        base = self.site_url
        first = self.pages[0]
        by_lang: dict[str, list[PublishedPage]] = {}
        for one in self.pages:
            if one.page.lang in self.complete:
                by_lang.setdefault(one.page.lang, []).append(one)
        names = [ones[0].locale["name"] for ones in by_lang.values()]
        lines = [f"# {first.site_name}", "", f"> {first.description}", ""]
        lines += [
            f"Each page exists in {', '.join(names[:-1])} and {names[-1]}, with the same code and "
            "the same outputs. Every output and every number in a sentence, with the code that "
            f"computed it, is also in [numbers.json]({base}numbers.json)."
        ]
        for ones in by_lang.values():
            lines += ["", f"## {ones[0].locale['name']}", ""]
            lines += [
                f"- [{one.page.title}]({base}{one.markdown}): {one.description}" for one in ones
            ]
        return "\n".join(lines) + "\n"
