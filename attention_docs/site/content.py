"""The pages of all languages as they stand on disk, compared, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

from attention_docs.site.addresses import Addresses
from attention_docs.site.publish.search import Names
from attention_docs.site.read import (
    honest,
    isolation,
    navigation,
    relations,
    remade,
    translations,
    typed,
)
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.fallback import make_fallback
from attention_docs.site.read.listing import find_translation_faults, strings, table
from attention_docs.site.read.missing import find_missing_words
from attention_docs.site.read.page import Page
from attention_docs.site.read.reader import Reader
from attention_docs.site.read.script import Script, read_script
from attention_docs.site.read.settings import settings
from attention_docs.site.render import terms
from attention_docs.site.run.execute import public_versions
from attention_docs.site.store import Store, key_of
from attention_docs.words import Words, words
from attention_docs.words import table as words_table


class Content:
    """What was read for a build.

    Attributes:
        written: the languages whose pages somebody writes, and which are complete.
        partial: those of which some pages still show the English text.
        scripts: the tables of the others, which are made from those.
        pages: of each language, by name.
        failures: of reading, of comparing and of rendering; those of running are the executor's.
        makers: what else makes the HTML: this package's code, names and versions of libraries.
    """

    def __init__(
        self, root: Path, reader: Reader | None, makers: Iterable[str], config: str
    ) -> None:
        self.root = root
        self.settings = settings(root, config)
        self.languages, self.written = self.settings.languages, self.settings.written
        self.partial = self.settings.partial
        self.scripts = {lang: read_script(root, lang) for lang in self.settings.made}
        self.addresses = Addresses(self.languages)
        self.reader = reader or Reader(root)
        self.makers = list(makers)
        self.pages: dict[str, dict[str, Page]] = {}
        self.failures: list[Failure] = []
        self._words: dict[str, Words] = {}

    @property
    def all(self) -> list[Page]:
        """The pages of all languages."""
        return [page for pages in self.pages.values() for page in pages.values()]

    def words(self, lang: str) -> Words:
        """The words of a language that no page holds."""
        if (script := self.scripts.get(lang)) is None:
            return words(lang)
        if lang not in self._words:
            converted = remade.words(script, words(script.origin), words(self.written[0]))
            self._words[lang] = Words(converted, lang)
        return self._words[lang]

    @cached_property
    def tags(self) -> dict[str, str]:
        """What HTML calls each language: where it differs from the code, its words say so."""
        return {lang: self.words(lang)["site"].get("tag", lang) for lang in self.languages}

    @property
    def numbered(self) -> dict[str, int]:
        """The chapters with their numbers, in the order of reading."""
        return self.settings.navigation.chapters

    @property
    def listings(self) -> list[Path]:
        """The scripts of `docs/listings`."""
        return sorted((self.root / "docs" / "listings").glob("*.py"))

    @cached_property
    def entries(self) -> dict[str, dict[str, list[terms.Term]]]:
        """The entries of glossary and notation of each language."""
        first = self.languages[0]
        return {
            lang: {
                # Ids come from the English term, which stands second in another language.
                slug: terms.entries(
                    pages[slug], int(slug == "glossary" and pages[slug].text_lang != first)
                )
                for slug in ("glossary", "notation")
                if slug in pages
            }
            for lang, pages in self.pages.items()
        }

    @cached_property
    def names(self) -> list[Names]:
        """What each term is called in all languages, and the page that defines it."""
        found: dict[str, Names] = {}
        for pages in self.entries.values():
            for term in pages.get("glossary", ()):
                names = found.setdefault(term.id, Names([], term.chapter))
                names.names += [one for one in (term.term, *term.names) if one not in names.names]
        return list(found.values())

    def search_vocabulary(self, lang: str) -> tuple[list[Names], list[str]]:
        """What the search of a language knows: names, and characters that count as one.

        Who asks in one script finds what is written in the other.
        """
        names, forms = list(self.names), []
        for script in self.scripts.values():
            if lang in (script.lang, script.origin):
                text = "".join(page.text for page in self.pages[script.lang].values())
                forms += remade.forms(text)
                names += [Names(list(pair), "") for pair in script.renamed()]
        return names, forms

    def strings_of(self, listing: Path, lang: str) -> Mapping[str, str] | None:
        """The strings of a listing in a language, converted for one that is made from another."""
        script = self.scripts.get(lang)
        if script is None:
            return strings(listing, lang)
        found = strings(listing, script.origin)
        return found and {english: script(text, english) for english, text in found.items()}

    def point_to_origin(self, failure: Failure) -> Failure:
        """A fault of a page that is made from another one, as one of that page."""
        origin = next((page.origin for page in self.all if page.path == failure.path), "")
        return Failure(origin, failure.line, failure.message) if origin else failure

    # --- reading

    def read_content(self, store: Store) -> None:
        """Read all pages and compare translations; `store` knows the listings without a fault."""
        for lang in (*self.written, *self.partial):
            folder = self.root / "docs" / lang
            found = [self.reader.page(path) for path in sorted(folder.rglob("*.md"))]
            self.pages[lang] = {page.slug: page for page in found}
        for page in self.all:
            self._check_page(page)
        functions = sorted(isolation.public_functions(self.root))
        for listing in self.listings:
            self.failures += self._find_listing_faults(listing, functions, store)
        for lang in self.written[1:]:
            self.failures += find_missing_words(self.root, lang)
        self._compare_pages()
        originals, *others = (self.pages[lang] for lang in self.written)
        self.failures += navigation.find_faults(self.settings.navigation, originals, others)
        for lang in self.partial:
            self._fill_language(lang)
        for script in self.scripts.values():
            self._convert_language(script)
        self._compare_entries()

    def module_text(self, page: Page) -> str:
        """The text of the module that is named after a page, or ""."""
        module = self.root / "attention_docs" / f"{page.slug.replace('-', '_')}.py"
        return module.read_text(encoding="utf-8") if module.is_file() else ""

    def _check_page(self, page: Page) -> None:
        self.failures += [*page.failures, *translations.find_headings_without_id(page)]
        self.failures += self.reader.once(typed.typed, page, beside=self.module_text(page))

    def _find_listing_faults(
        self, listing: Path, functions: Sequence[str], store: Store
    ) -> list[Failure]:
        """What a listing may not hold; that it has no fault is stored, because asking is slow.

        `functions` are those of the package, which no listing defines anew.
        """
        tables = [table(listing, lang) for lang in self.written[1:]]
        texts = [one.read_text("utf-8") if one.is_file() else "" for one in (listing, *tables)]
        around = (public_versions()["python"], *self.makers, *functions)
        key = key_of("sound", *around, listing.name, *texts)
        if self.makers and store.has(key):
            return []
        others = (find_translation_faults(listing, lang) for lang in self.written[1:])
        found = [*honest.faults(listing), *isolation.faults(listing, functions)]
        found += [*typed.comments(listing), *chain.from_iterable(others)]
        if self.makers and not found:
            store.put(key, {})
        return found

    def _compare_pages(self) -> None:
        """Every page exists in all languages, and says the same in each."""
        first, *others = self.written
        originals = self.pages[first]
        for lang in (*others, *self.partial):
            pages = self.pages[lang]
            tables = [
                words_table(name, one)
                for one in (first, lang)
                for name in ("formulas", "relations")
            ]
            for slug in sorted(originals.keys() | pages.keys()):
                here, there = originals.get(slug), pages.get(slug)
                if here and there:
                    self.failures += self.reader.once(_find_differences, here, there, beside=tables)
                elif (one := here or there) and (there or lang not in self.partial):
                    wanted = f"docs/{lang if here else first}/{slug}.md"
                    self.failures.append(Failure(one.path, 1, f"has no translation {wanted}"))

    def _fill_language(self, lang: str) -> None:
        """The pages that a partial language lacks show the text of their originals."""
        pages = self.pages[lang]
        for slug, original in self.pages[self.written[0]].items():
            if slug not in pages:
                pages[slug] = make_fallback(original, lang)

    def _convert_language(self, script: Script) -> None:
        """The pages of a language that is made from another one; nobody can mend these alone."""
        first = self.written[0]
        pages = self.pages[script.lang] = {}
        for slug, origin in self.pages[script.origin].items():
            english = self.pages[first].get(slug, origin)
            pages[slug], faults = remade.page(script, origin, english, self.root)
            self.failures += faults
        if glossary := self.pages[script.origin].get("glossary"):
            self.failures += remade.terms(script, glossary)
        self.failures += self._find_open_words(script)

    def _find_open_words(self, script: Script) -> Iterator[Failure]:
        """The words that no page holds and that the table of a language does not answer."""
        first, docs = self.written[0], self.root / "docs"
        path = self.root / "attention_docs" / "words" / f"{script.origin}.toml"
        ours = words(script.origin).items()
        read = {name: one for name, one in ours if name not in remade.COMPARED}
        for fault in remade.open_words(script, path, read, words(first)):
            yield Failure(f"attention_docs/words/{fault.path}", fault.line, fault.message)
        for listing in self.listings:
            yield from remade.listing_words(script, listing)
        for path in (docs / "mistakes.toml", docs / "notes.toml"):
            if path.is_file():
                yield from remade.entries(script, path, first)

    def _compare_entries(self) -> None:
        """Glossary and notation hold the same entries in all languages."""
        first, *others = self.written
        for lang in (*others, *self.partial):
            for slug, entries in self.entries[lang].items():
                ours = {one.id for one in entries}
                theirs = {one.id for one in self.entries[first].get(slug, ())}
                if ours != theirs:
                    missing, extra = sorted(theirs - ours), sorted(ours - theirs)
                    message = f"entries: missing {missing}, too many {extra} (as in docs/{first})"
                    self.failures.append(Failure(self.pages[lang][slug].path, 1, message))


def _find_differences(original: Page, page: Page, _: object) -> Iterable[Failure]:
    """In what a translation differs from its original; if nothing, what its results leave out."""
    return translations.compare(original, page) or relations.faults(original, page)
