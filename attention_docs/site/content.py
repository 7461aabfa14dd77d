"""The pages of all languages as they stand on disk, compared, and what is wrong with them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

from attention_docs.locales import Locale, read_locale
from attention_docs.locales import read_locale_table as words_table
from attention_docs.site import proofs
from attention_docs.site.addresses import Addresses
from attention_docs.site.publish.search import Names, Vocabulary
from attention_docs.site.read import conversion, editions, moved, navigation, translations
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.fallback import make_fallback
from attention_docs.site.read.listing import (
    find_table_path,
    find_translation_faults,
    read_string_translations,
)
from attention_docs.site.read.missing import LISTS, find_missing_words
from attention_docs.site.read.modules import make_module_pages
from attention_docs.site.read.page import Page, find_defining
from attention_docs.site.read.reader import Reader
from attention_docs.site.read.script_converter import ScriptConverter, read_converter
from attention_docs.site.read.settings import read_settings
from attention_docs.site.read.stamps import find_stale
from attention_docs.site.render import terms
from attention_docs.site.render.chapters import read_entries
from attention_docs.site.run.execute import read_public_versions
from attention_docs.site.store import Store, make_key


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
        self.settings = read_settings(root, config)
        self.languages, self.written = self.settings.languages, self.settings.source_languages
        self.partial = self.settings.partial
        self.scripts = {lang: read_converter(root, lang) for lang in self.settings.converted}
        self.addresses = Addresses(self.languages)
        self.moved = moved.read_moved(root)
        self.reader = reader or Reader(root)
        self.makers = list(makers)
        self.pages: dict[str, dict[str, Page]] = {}
        self.failures: list[Failure] = []
        self._words: dict[str, Locale] = {}

    @property
    def all(self) -> list[Page]:
        return [page for pages in self.pages.values() for page in pages.values()]

    def read_locale(self, lang: str) -> Locale:
        """The words of a language that no page holds."""
        if (converter := self.scripts.get(lang)) is None:
            return read_locale(lang)
        if lang not in self._words:
            converted = conversion.convert_locale(
                converter, read_locale(converter.origin), read_locale(self.written[0])
            )
            self._words[lang] = Locale(converted, lang)
        return self._words[lang]

    @cached_property
    def tags(self) -> dict[str, str]:
        """What HTML calls each language: where it differs from the code, its words say so."""
        return {lang: self.read_locale(lang)["site"].get("tag", lang) for lang in self.languages}

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
        """The terms and the symbols of each language, by what the page that holds them defines."""
        first = self.languages[0]
        return {
            lang: {
                # Ids come from the English term, which stands second in another language.
                kind: terms.read_entries(
                    page, int(kind == terms.TERMS and page.text_lang != first), self.numbered
                )
                for kind in (terms.TERMS, terms.SYMBOLS)
                if (page := find_defining(pages, kind))
            }
            for lang, pages in self.pages.items()
        }

    @cached_property
    def names(self) -> list[Names]:
        """What each term is called in all languages, and the page that defines it."""
        found: dict[str, Names] = {}
        for pages in self.entries.values():
            for term in pages.get(terms.TERMS, ()):
                names = found.setdefault(term.id, Names([], term.chapter))
                names.names += [one for one in (term.term, *term.names) if one not in names.names]
        return list(found.values())

    def search_vocabulary(self, lang: str) -> Vocabulary:
        """What the search of a language knows: names, and characters that count as one.

        Who asks in one script finds what is written in the other.
        """
        names, forms = list(self.names), []
        for converter in self.scripts.values():
            if lang in (converter.lang, converter.origin):
                text = "".join(page.text for page in self.pages[converter.lang].values())
                forms += conversion.find_variants(text)
                forms += [one + other for one, other in converter.forms.items()]
                pairs = [*converter.find_renamed(), *converter.aliases.items()]
                names += [Names(list(pair), "") for pair in pairs]
        path = self.root / "docs" / "search.toml"
        words = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        names += [Names(same, "") for same in words.get("same", ())]
        merged = conversion.merge_forms(forms)
        asked = self._find_asked(lang, words.get("asked", {}))
        return Vocabulary(names, merged, asked, words.get("near", ()), words.get("empty", ()))

    def _find_asked(self, lang: str, more: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """What people ask a section for, by its address: the first place has all of their words."""
        path, script = self.root / "docs" / "questions.toml", self.scripts.get(lang)
        found: dict[str, list[str]] = {}
        for entry in read_entries(path) if path.is_file() else ():
            question = entry.get(script.origin if script else lang, "")
            for number, place in enumerate(entry["places"]):
                text = "\n".join([question, *(() if number else entry["words"])])
                found.setdefault(place, []).append(text)
        for place, words in more.items():
            found.setdefault(place, []).extend(words)
        return {
            _find_address(place): "\n".join(filter(None, texts)) for place, texts in found.items()
        }

    def read_strings(self, listing: Path, lang: str) -> Mapping[str, str] | None:
        converter = self.scripts.get(lang)
        if converter is None:
            return read_string_translations(listing, lang)
        found = read_string_translations(listing, converter.origin)
        return found and {english: converter(text, english) for english, text in found.items()}

    def point_to_origin(self, failure: Failure) -> Failure:
        """A fault of a converted page, as a fault of its original."""
        origin = next((page.origin for page in self.all if page.path == failure.path), "")
        return Failure(origin, failure.line, failure.message) if origin else failure

    # --- reading

    def read_content(self, store: Store) -> None:
        """Read all pages and compare translations; `store` knows the listings without a fault."""
        for lang in (*self.written, *self.partial):
            folder = self.root / "docs" / lang
            found = [self.reader.read(path) for path in sorted(folder.rglob("*.md"))]
            self.pages[lang] = {page.slug: page for page in found}
        for page in self.all:
            self._check_page(page)
        for listing in self.listings:
            self.failures += self._find_listing_faults(listing, store)
        for lang in self.written[1:]:
            self.failures += find_missing_words(self.root, lang)
        self._compare_pages()
        for lang in (*self.written, *self.partial):
            self._add_module_pages(lang)
        originals, *others = (self.pages[lang] for lang in self.written)
        self.failures += navigation.find_faults(self.settings.navigation, originals, others)
        self.failures += moved.find_faults(self.moved, originals)
        for lang in self.partial:
            self._fill_language(lang)
        for converter in self.scripts.values():
            self._convert_language(converter)
        self._compare_entries()
        self.failures += proofs.find_faults(self.root, list(self.pages[self.written[0]].values()))
        theorems = proofs.read_certificate(self.root)["theorems"]
        lines = proofs.read_lines(self.root)
        kept = editions.read_kept_places(self.root)
        self.failures += editions.find_faults(self.root, self.numbered)
        for page in self.all:
            page.kept_places = kept.get(page.slug, {})
            page.theorems, page.proof_lines = theorems, lines.get(page.slug, {})
            if page.asks_for("proofs"):
                page.proof_steps = proofs.read_steps(self.root)

    def add_pages(self, slugs: Iterable[str]) -> list[Page]:
        """Read some pages in all languages; what is wrong with each stands in it alone."""
        before = dict(self.pages.get(self.written[0], {}))
        for lang in (*self.written, *self.partial):
            pages = self.pages.setdefault(lang, {})
            paths = (self.root / "docs" / lang / f"{slug}.md" for slug in slugs)
            found = (self.reader.read(path) for path in paths if path.is_file())
            pages |= {page.slug: page for page in found}
            self._add_module_pages(lang)
        for lang in self.partial:
            self._fill_language(lang)
        originals = self.pages[self.written[0]]
        added = [slug for slug, page in originals.items() if page is not before.get(slug)]
        for converter in self.scripts.values():
            pages = self.pages.setdefault(converter.lang, {})
            for slug in added:
                origin = self.pages[converter.origin][slug]
                pages[slug], _ = conversion.convert_page(
                    converter, origin, originals[slug], self.root
                )
        new = [pages[slug] for slug in added for pages in self.pages.values()]
        kept = editions.read_kept_places(self.root)
        for page in new:
            page.kept_places = kept.get(page.slug, {})
        return new

    def module_text(self, page: Page) -> str:
        """The text of the module that is named after a page, or ""."""
        module = self.root / "attention_docs" / f"{page.slug.replace('-', '_')}.py"
        return module.read_text(encoding="utf-8") if module.is_file() else ""

    def _check_page(self, page: Page) -> None:
        self.failures += [*page.failures, *translations.find_headings_without_id(page)]

    def _find_listing_faults(self, listing: Path, store: Store) -> list[Failure]:
        """What a listing may not hold; that it has no fault is stored, because asking is slow."""
        tables = [find_table_path(listing, lang) for lang in self.written[1:]]
        texts = [one.read_text("utf-8") if one.is_file() else "" for one in (listing, *tables)]
        around = (read_public_versions()["python"], *self.makers)
        key = make_key("sound", *around, listing.name, *texts)
        if self.makers and store.has(key):
            return []
        found = [
            fault for lang in self.written[1:] for fault in find_translation_faults(listing, lang)
        ]
        if self.makers and not found:
            store.put(key, {})
        return found

    def _compare_pages(self) -> None:
        """Every page exists in all languages, and says the same in each."""
        first, *others = self.written
        originals = self.pages[first]
        for lang in (*others, *self.partial):
            pages = self.pages[lang]
            tables = [words_table("formulas", one) for one in (first, lang)]
            for slug in sorted(originals.keys() | pages.keys()):
                here, there = originals.get(slug), pages.get(slug)
                if here and there:
                    self.failures += self.reader.find_faults(
                        _find_differences, here, there, beside=tables
                    )
                elif (one := here or there) and (there or lang not in self.partial):
                    wanted = f"docs/{lang if here else first}/{slug}.md"
                    self.failures.append(Failure(one.path, 1, f"has no translation {wanted}"))

    def _add_module_pages(self, lang: str) -> None:
        """The pages of the modules that a page of a language lists, unless somebody writes them."""
        pages = self.pages[lang]
        lists = [page for page in pages.values() if not page.origin and page.meta.get("modules")]
        for page in chain.from_iterable(make_module_pages(one, pages, self.root) for one in lists):
            known = pages.get(page.slug)
            if known is None or (known.origin and known.text != page.text):
                pages[page.slug] = page

    def _fill_language(self, lang: str) -> None:
        """The pages that a partial language lacks show the text of their originals."""
        pages = self.pages[lang]
        for slug, original in self.pages[self.written[0]].items():
            if slug not in pages:
                pages[slug] = make_fallback(original, lang)

    def _convert_language(self, converter: ScriptConverter) -> None:
        """The pages of a converted language, which cannot be corrected by themselves."""
        first = self.written[0]
        pages = self.pages[converter.lang] = {}
        for slug, origin in self.pages[converter.origin].items():
            english = self.pages[first].get(slug, origin)
            pages[slug], faults = conversion.convert_page(converter, origin, english, self.root)
            if not find_stale(english, origin):  # else the English is that of another text
                self.failures += faults
        if glossary := find_defining(self.pages[converter.origin], terms.TERMS):
            self.failures += conversion.find_missing_terms(converter, glossary)
        self.failures += self._find_unconverted(converter)

    def _find_unconverted(self, converter: ScriptConverter) -> Iterator[Failure]:
        """The words that no page holds and that the table of a language does not answer."""
        first = self.written[0]
        path = self.root / "attention_docs" / "locales" / f"{converter.origin}.toml"
        ours = read_locale(converter.origin).items()
        read = {name: one for name, one in ours if name not in conversion.COMPARED}
        for fault in conversion.find_unconverted(converter, path, read, read_locale(first)):
            yield Failure(f"attention_docs/locales/{fault.path}", fault.line, fault.message)
        for listing in self.listings:
            yield from conversion.find_unconverted_in_listing(converter, listing)
        for path in map(self.root.joinpath, LISTS):
            if path.is_file():
                yield from conversion.find_unconverted_in_entries(converter, path, first)

    def _compare_entries(self) -> None:
        """Glossary and notation hold the same entries in all languages."""
        first, *others = self.written
        for lang in (*others, *self.partial):
            for kind, entries in self.entries[lang].items():
                message = _compare_terms(self.entries[first].get(kind, []), entries, first)
                if message and (page := find_defining(self.pages[lang], kind)):
                    self.failures.append(Failure(page.path, 1, message))


def _find_address(place: str) -> str:
    """Where the search has a place, slug#section."""
    slug, _, section = place.partition("#")
    folder = Addresses.find_place(slug)
    return f"{folder}#{section}" if section else folder


def _compare_terms(theirs: Sequence[terms.Term], ours: Sequence[terms.Term], first: str) -> str:
    """The rows that one of two glossaries lacks, and where they go; "" if both have the same."""
    known, wanted = {one.id for one in ours}, {one.id for one in theirs}
    rows = zip(
        ["the head of the table", *(f"“{one.term}”" for one in theirs)], theirs, strict=False
    )
    missing = [f"“{one.term}” after {before}" for before, one in rows if one.id not in known]
    extra = [f"“{one.term}”" for one in ours if one.id not in wanted]
    parts = [f"missing {', '.join(missing)}"] if missing else []
    parts += [f"too many {', '.join(extra)}"] if extra else []
    return f"rows: {'; '.join(parts)} (as in docs/{first})" if parts else ""


def _find_differences(original: Page, page: Page, _: object) -> Iterable[Failure]:
    return translations.compare_pages(original, page)
