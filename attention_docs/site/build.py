"""Pages in, woven pages out: everything that a build knows and does without a site generator.

Nothing is global: two builds in one process do not meet. `plugin` calls this at the events of
mkdocs; `export` writes the woven Markdown for a generator that knows nothing of this project.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

from attention_docs.colours import name_colour, read_palette
from attention_docs.running.result import STEPS, Result
from attention_docs.site.addresses import Addresses, relative
from attention_docs.site.publish.catalogue import Catalogue, Placed
from attention_docs.site.publish.search import Names
from attention_docs.site.read import honest, navigation, relations, remade, translations, typed
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import find_translation_faults, strings, table
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Request
from attention_docs.site.read.reader import Reader
from attention_docs.site.read.script import Script, read_script
from attention_docs.site.read.settings import settings
from attention_docs.site.read.syntax import NAVIGATED
from attention_docs.site.render import reading_time, terms
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.navigation import describe_chapter
from attention_docs.site.render.requests import expand
from attention_docs.site.render.weave import FILES, Links, Woven
from attention_docs.site.run.execute import Executor, public_versions
from attention_docs.site.store import cache_folder, key_of
from attention_docs.words import Words, words
from attention_docs.words import table as words_table


def _differences(original: Page, page: Page, _: object) -> Iterable[Failure]:
    """In what a translation differs from its original; if nothing, what its results leave out."""
    return translations.compare(original, page) or relations.faults(original, page)


def code_of(root: Path) -> str:
    """A hash of the code that makes pages: what a process has loaded does not change under it."""
    folders = [root / "attention_docs" / name for name in ("colours", "running", "site")]
    files = sorted(
        file for one in folders for end in ("py", "js") for file in one.rglob(f"*.{end}")
    )
    return key_of(*(f"{path.relative_to(root)} {_digest(path)}" for path in files))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _listings(page: Page) -> list[tuple[Path, str]]:
    """The listings that a page shows, with the languages of their comments, each once."""
    shown = ((section.listing, block.lang) for block in page.blocks for section in block.sections)
    return list(dict.fromkeys(shown))


@dataclass(frozen=True)
class Target:
    """Where a site will be.

    Attributes:
        site_url: its own address, or "".
        repository: that of its repository, or "".
        edit: what "edit this page" leads to.
        shared: what is shown where a page is shared, in words.
        served: whether it is only served while somebody writes.
        live: whether its pages can run in a reader's browser.
    """

    site_url: str = ""
    repository: str = ""
    edit: str = ""
    shared: str = ""
    served: bool = False
    live: bool = False


class Build:
    """What one build knows. The next one starts afresh, but for results that are looked up.

    Attributes:
        written: the languages whose pages somebody writes.
        scripts: the tables of the others, which are made from those.
        pages: of each language, by name.
        failures: of reading, of comparing and of making; those of running are `executor`'s.
        makers: what else makes the HTML: this package's code, names and versions of libraries.
    """

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
        self.root = root
        self.target = target or Target()
        self.settings = settings(root, config)
        self.languages, self.written = self.settings.languages, self.settings.written
        self.scripts = {lang: read_script(root, lang) for lang in self.settings.made}
        self.addresses = Addresses(self.languages)
        self.reader = reader or Reader(root)
        self.makers = list(makers)
        self.cache = cache_folder(root)
        self._words: dict[str, Words] = {}
        self.executor: Executor = Executor(
            root,
            self.languages,
            self.cache / "results",
            warn,
            before.executor if before and before.root == root else None,
            self.strings_of,
            {lang: self.words(lang).table for lang in self.scripts},
        )
        self.pages: dict[str, dict[str, Page]] = {}
        self.failures: list[Failure] = []
        self._read: dict[str, str] = {}  # what was read of a page, as one word, by its path
        self.parts: dict[tuple[str, str, str], str | None] = {}  # that comments have asked for
        self._lengths: dict[str, reading_time.Length] = {}
        self._parts_before = before.parts if before and before.root == root else {}

    def read(self) -> None:
        """Read all pages, compare translations, find out what each block depends on."""
        for lang in self.written:
            folder = self.root / "docs" / lang
            found = [self.reader.page(path) for path in sorted(folder.rglob("*.md"))]
            self.pages[lang] = {page.slug: page for page in found}
        for page in self.all:
            module = self.root / "attention_docs" / f"{page.slug.replace('-', '_')}.py"
            text = module.read_text(encoding="utf-8") if module.is_file() else ""
            self.failures += [*page.failures, *translations.find_headings_without_id(page)]
            self.failures += self.reader.once(typed.typed, page, beside=text)
        for listing in sorted((self.root / "docs" / "listings").glob("*.py")):
            self.failures += self._faults_of(listing)
        self._compare()
        originals, *others = (self.pages[lang] for lang in self.written)
        self.failures += navigation.find_faults(self.settings.navigation, originals, others)
        for script in self.scripts.values():
            self._make(script)
        self._compare_entries()
        self.executor.plan(self.all)

    @property
    def all(self) -> list[Page]:
        """The pages of all languages."""
        return [page for pages in self.pages.values() for page in pages.values()]

    def _faults_of(self, listing: Path) -> list[Failure]:
        """What a listing may not hold; one without a fault is kept as such: asking takes long."""
        texts = [
            _text_of(path)
            for path in (listing, *(table(listing, lang) for lang in self.written[1:]))
        ]
        key = key_of("sound", public_versions()["python"], *self.makers, listing.name, *texts)
        if self.makers and self.executor.store.has(key):
            return []
        others = (find_translation_faults(listing, lang) for lang in self.written[1:])
        found = [*honest.faults(listing), *typed.comments(listing), *chain.from_iterable(others)]
        if self.makers and not found:
            self.executor.store.put(key, {})
        return found

    def _compare(self) -> None:
        first, *others = self.written
        for lang in others:
            originals, pages = self.pages[first], self.pages[lang]
            tables = [
                words_table(name, one)
                for one in (first, lang)
                for name in ("formulas", "relations")
            ]
            for slug in sorted(originals.keys() | pages.keys()):
                here, there = originals.get(slug), pages.get(slug)
                if here and there:
                    self.failures += self.reader.once(_differences, here, there, beside=tables)
                elif one := here or there:
                    wanted = f"docs/{lang if here else first}/{slug}.md"
                    self.failures.append(Failure(one.path, 1, f"has no translation {wanted}"))

    def _compare_entries(self) -> None:
        """Glossary and notation hold the same entries in all languages."""
        first, *others = self.written
        for lang in others:
            for slug, entries in self.entries[lang].items():
                ours = {one.id for one in entries}
                theirs = {one.id for one in self.entries[first].get(slug, ())}
                if ours != theirs:
                    missing, extra = sorted(theirs - ours), sorted(ours - theirs)
                    message = f"entries: missing {missing}, too many {extra} (as in docs/{first})"
                    self.failures.append(Failure(self.pages[lang][slug].path, 1, message))

    def _make(self, script: Script) -> None:
        """The pages of a language that is made from another one; nobody can mend these alone."""
        first = self.written[0]
        pages = self.pages[script.lang] = {}
        for slug, origin in self.pages[script.origin].items():
            english = self.pages[first].get(slug, origin)
            pages[slug], faults = remade.page(script, origin, english, self.root)
            self.failures += faults
        if glossary := self.pages[script.origin].get("glossary"):
            self.failures += remade.terms(script, glossary)
        said = self.root / "attention_docs" / "words" / f"{script.origin}.toml"
        ours = words(script.origin).items()
        read = {name: one for name, one in ours if name not in remade.COMPARED}
        for fault in remade.open_words(script, said, read, words(first)):
            place = f"attention_docs/words/{fault.path}"
            self.failures.append(Failure(place, fault.line, fault.message))
        docs = self.root / "docs"
        for listing in sorted((docs / "listings").glob("*.py")):
            self.failures += remade.listing_words(script, listing)
        for path in (docs / "mistakes.toml", docs / "notes.toml"):
            if path.is_file():
                self.failures += remade.entries(script, path, first)

    def words(self, lang: str) -> Words:
        """The words of a language that no page holds."""
        if (script := self.scripts.get(lang)) is None:
            return words(lang)
        if lang not in self._words:
            said = remade.words(script, words(script.origin), words(self.written[0]))
            self._words[lang] = Words(said, lang)
        return self._words[lang]

    @cached_property
    def tags(self) -> dict[str, str]:
        """What HTML calls each language: where it differs from the code, its words say so."""
        return {lang: self.words(lang)["site"].get("tag", lang) for lang in self.languages}

    def measure(self, page: Page) -> reading_time.Length:
        """How long the main line of a page is, and how long it takes to read."""
        if page.path not in self._lengths:
            self._lengths[page.path] = reading_time.measure(page, self.results(page))
        return self._lengths[page.path]

    def minutes(self, lang: str) -> dict[str, int]:
        """The minutes that each chapter takes to read, in a language."""
        pages = self.pages[lang]
        return {slug: self.measure(pages[slug]).minutes for slug in self.numbered if slug in pages}

    def measure_chapters(self) -> dict[str, Any]:
        """How long each chapter is in each language, and which chapters are the path."""
        chapters = {
            lang: {
                slug: asdict(self.measure(pages[slug])) for slug in self.numbered if slug in pages
            }
            for lang, pages in self.pages.items()
        }
        return {"path": self.settings.navigation.path, "chapters": chapters}

    def answers(self, lang: str) -> dict[str, int]:
        """What `{{ site.… }}` stands for on a page in a language."""
        minutes = self.minutes(lang)
        path = (minutes[slug] for slug in self.settings.navigation.path if slug in minutes)
        by_chapter = {f'minutes["{slug}"]': number for slug, number in minutes.items()}
        return {**self.counts, **by_chapter, "path_minutes": sum(path)}

    @cached_property
    def counts(self) -> dict[str, int]:
        """What the site holds, counted in one language: `{{ site.outputs }}` and so on."""
        pages = self.pages[self.languages[0]].values()
        return {
            "pages": len(pages),
            "blocks": sum(len(page.blocks) for page in pages),
            "outputs": sum(result.shows for page in pages for result in self.results(page)),
            "values": sum(len(page.values) for page in pages),
            "steps": STEPS,
        }

    def results(self, page: Page) -> Sequence[Result]:
        """What the blocks of a page gave, as soon as they have run."""
        return self.executor.results(page)

    def strings_of(self, listing: Path, lang: str) -> Mapping[str, str] | None:
        """The strings of a listing in a language, converted for one that is made from another."""
        script = self.scripts.get(lang)
        if script is None:
            return strings(listing, lang)
        found = strings(listing, script.origin)
        return found and {english: script(text, english) for english, text in found.items()}

    def told(self, failure: Failure) -> Failure:
        """A fault of a page that is made from another one, as one of that page."""
        pages = (page for script in self.scripts for page in self.pages.get(script, {}).values())
        origin = next((page.origin for page in pages if page.path == failure.path), "")
        return Failure(origin, failure.line, failure.message) if origin else failure

    def failures_of(self, page: Page) -> list[Failure]:
        """What is wrong with a page so far."""
        found = [failure for failure in self.failures if failure.path == page.path]
        return found + self.executor.failures(page)

    @cached_property
    def chapters(self) -> dict[str, Chapters]:
        """The pages of each language, for parts that are made from several of them."""
        docs = self.root / "docs"
        return {
            lang: Chapters(
                lang,
                self.words(lang),
                docs,
                pages,
                self.numbered,
                self.results,
                self.settings.navigation,
                self.pages[self.written[0]],
                self.settings.sections[lang],
                partial(self.minutes, lang),
                self.scripts.get(lang),
                self.written[0],
            )
            for lang, pages in self.pages.items()
        }

    @property
    def numbered(self) -> dict[str, int]:
        """The chapters with their numbers, in the order of reading."""
        return self.settings.navigation.chapters

    @cached_property
    def entries(self) -> dict[str, dict[str, list[terms.Term]]]:
        """The entries of glossary and notation of each language."""
        first = self.languages[0]
        return {
            lang: {
                # Ids come from the English term, which stands second in another language.
                slug: terms.entries(pages[slug], int(slug == "glossary" and lang != first))
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

    def known(self, lang: str) -> tuple[list[Names], list[str]]:
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

    def weave(self, page: Page) -> Woven:
        """A page with its results."""
        counted = any(value.counted for value in page.values)
        entries = self.entries[page.lang]
        return Woven(
            page,
            self.results(page),
            self.words(page.lang),
            counts=self.answers(page.lang) if counted else {},
            failures=self.failures_of(page),
            expand=lambda request: self._expand(page, request),
            glossary=entries.get("glossary", ()),
            notation=entries.get("notation", ()),
            links=self.links(page),
            versions=public_versions(),
            numbered=self.numbered,
            titles={slug: one.title for slug, one in self.pages[page.lang].items()},
            opening=self._opening(page),
        )

    def _opening(self, page: Page) -> str:
        """The line above the title of a chapter."""
        if page.slug not in self.numbered:
            return ""
        minutes = self.measure(page).minutes
        return describe_chapter(page.slug, minutes, self.chapters[page.lang])

    def _expand(self, page: Page, request: Request) -> str | None:
        """The part that a comment asks for, as it was while all that it is made of is the same.

        A fault in it is one of the build.
        """
        key = (request.kind, request.name, self._together[page.lang])
        if key in self._parts_before:
            return self.parts.setdefault(key, self._parts_before[key])
        try:
            part = expand(request, self.chapters[page.lang], page.slug)
        except Failure as failure:
            self.failures.append(failure)
            return None
        # With what runs another time it may be another.
        if not self.executor.failed and request.kind not in NAVIGATED:
            self.parts[key] = part
        return part

    def address(self, page: Page) -> str:
        """Where a page stands on the site."""
        return self.addresses.page(page.lang, page.slug)

    def links(self, page: Page) -> Links:
        """Where a page finds what it links to."""
        here, folder = self.address(page), self.addresses.folder(page.lang)
        return Links(
            api=relative(f"{folder}api/", here),
            listings=relative("listings/", here),
            files=relative(f"{FILES}/", here),
            glossary=relative("glossary.md", page.slug),
            notation=relative("notation.md", page.slug),
            repository=self.target.repository,
        )

    @cached_property
    def catalogue(self) -> Catalogue:
        """All pages in the order of the navigation; what it leaves out comes last."""
        places = {name: number for number, name in enumerate(self.settings.order)}
        placed = []
        for lang, pages in self.pages.items():
            listed = sorted(pages, key=lambda slug: (places.get(slug, len(places)), slug))
            for page in map(pages.__getitem__, listed):
                own = (self.root / "docs" / "listings" / f"{page.slug}.py").is_file()
                name = self.settings.names[lang]
                translated = lang != self.written[0]
                about = (page, self.address(page), self.words(lang), name, own, translated)
                placed.append(Placed(*about))
        locales = {lang: self.words(lang)["site"]["locale"] for lang in self.languages}
        address = (self.target.site_url, self.target.repository)
        return Catalogue(placed, self.root, self.addresses, self.tags, locales, *address)

    @cached_property
    def placed(self) -> dict[str, Placed]:
        """The same by the paths of the pages."""
        return {one.page.path: one for one in self.catalogue.pages}

    def zipped(self, page: Page) -> bool:
        """Whether a page offers the archive, which a refresh does not wait for."""
        return page.slug == "index" and not self.target.served

    # --- what a page depends on

    def page_key(self, page: Page, woven: Woven | None) -> str:
        """What a finished page with its copies depends on, as one word.

        A page that is made from others, or counts them, is woven before that can be said.
        """
        target = self.target
        return key_of(
            self._read_key(page),
            *(woven.requested.values() if woven else ()),
            json.dumps(woven.counts if woven else {}),
            *(str(failure) for failure in self.failures if failure.path == page.path),
            self._around[page.lang],
            *(target.site_url, target.edit, target.shared, str(target.live)),
            "zip" if self.zipped(page) else "",
            str(read_palette("light")) if page.blocks else "",  # of figures in its notebook
        )

    def _read_key(self, page: Page) -> str:
        """What was read for a page and what its results depend on, as one word."""
        if page.path not in self._read:
            self._read[page.path] = key_of(
                self._environment,
                page.path,
                page.digest,
                self.executor.key(page),
                self._explained[page.lang],
                self._documented[page.lang] if page.documents else "",
                *(f"{s.listing.name}:{s.first_line}" for b in page.blocks for s in b.sections),
                *(_text_of(table(*listing)) for listing in _listings(page)),
                self.scripts[page.lang].key if page.origin else "",
                *(name_colour(role, words("en")) for role in page.colours),
            )
        return self._read[page.path]

    @cached_property
    def _environment(self) -> str:
        """What every page depends on: words, templates, settings, makers, which files there are."""
        folders = (self.root / "attention_docs" / name for name in ("site/theme", "words"))
        read = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        contents = [f"{path.relative_to(self.root)} {_digest(path)}" for path in read]
        versions = [f"{name} {number}" for name, number in public_versions().items()]
        docs = self.root / "docs"
        names = sorted(str(path.relative_to(docs)) for path in docs.rglob("*") if path.is_file())
        repository = self.target.repository
        return key_of(repository, self.settings.text, *self.makers, *versions, *contents, *names)

    @cached_property
    def _documented(self) -> dict[str, str]:
        """What the pages of modules depend on: the package, and each other, for their links."""
        everything = self.executor.modules.everything
        return {
            lang: key_of(everything, *(page.digest for page in pages.values() if page.documents))
            for lang, pages in self.pages.items()
        }

    @cached_property
    def _together(self) -> dict[str, str]:
        """What the parts depend on that are made from all pages of a language, and from lists."""
        lists = [_digest(path) for path in sorted((self.root / "docs").glob("*.toml"))]
        return {
            lang: key_of(*lists, *map(self._read_key, pages.values()))
            for lang, pages in self.pages.items()
        }

    @cached_property
    def _explained(self) -> dict[str, str]:
        return {lang: key_of(repr(entries)) for lang, entries in self.entries.items()}

    @cached_property
    def _around(self) -> dict[str, str]:
        """What the pages of a language show of each other: titles, marks, which have notebooks."""
        shown = ("icon", "status", "subtitle", "question")
        builds_on = [str(page.builds_on) for page in self.pages[self.written[0]].values()]
        listings = [one.listing for one in self.catalogue.pages]
        return {
            lang: key_of(
                *(
                    str([page.title, *(page.meta.get(name) for name in shown)])
                    for page in pages.values()
                ),
                *listings,
                *builds_on,
            )
            for lang, pages in self.pages.items()
        }
