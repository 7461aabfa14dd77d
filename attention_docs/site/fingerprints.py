"""What a finished page depends on, as one word: the key under which it is cached."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path

from attention_docs.colours import name_colour, read_palette
from attention_docs.locales import read_locale
from attention_docs.site.content import Content
from attention_docs.site.proofs import STEPS
from attention_docs.site.publish.catalogue import Catalogue
from attention_docs.site.read.editions import LIST as EDITIONS
from attention_docs.site.read.listing import find_table_path
from attention_docs.site.read.page import Page
from attention_docs.site.read.variants import read_variants
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.cite import FILE as CITATION
from attention_docs.site.run.execute import Executor, read_public_versions
from attention_docs.site.store import make_key
from attention_docs.site.target import Target


def fingerprint_code(root: Path) -> str:
    """A hash of the code that makes pages: what a process has loaded does not change under it."""
    folders = [root / "attention_docs" / name for name in ("colours", "running", "site")]
    files = sorted(
        file for one in folders for end in ("py", "js") for file in one.rglob(f"*.{end}")
    )
    return make_key(*(f"{path.relative_to(root)} {_hash_file(path)}" for path in files))


class Fingerprints:
    """The keys of the pages of a build, once everything has been read."""

    def __init__(
        self, content: Content, executor: Executor, catalogue: Catalogue, target: Target
    ) -> None:
        self.content = content
        self.executor = executor
        self.catalogue = catalogue
        self.target = target
        self._sources: dict[str, str] = {}  # by the paths of the pages

    def of_page(self, page: Page, assembled: AssembledPage | None, offers_archive: bool) -> str:
        """What a finished page with its copies depends on.

        A page that shows others, or counts them, is assembled before that can be said.
        """
        target, failures = self.target, self.content.failures
        return make_key(
            self.of_source(page),
            *(assembled.requested_parts.values() if assembled else ()),
            json.dumps(assembled.counts if assembled else {}),
            *(str(failure) for failure in failures if failure.path == page.path),
            self._navigation[page.lang],
            *(target.site_url, target.edit, target.shared, str(target.live)),
            *(str(target.minilm), str(target.smollm2)),
            json.dumps(self.content.moved.get(page.slug, {})),
            "zip" if offers_archive else "",
            str([*read_variants(self.content.root, page.slug)]),
            "book" if page.slug in self.content.numbered and not target.served else "",
            str(read_palette("light")) if page.blocks else "",  # of figures in its notebook
        )

    def of_source(self, page: Page) -> str:
        """What was read for a page, and what its results depend on."""
        if page.path not in self._sources:
            self._sources[page.path] = make_key(
                self._environment,
                page.path,
                page.digest,
                self.executor.find_key(page),
                self._vocabulary[page.text_lang],
                self._documentation[page.lang] if page.is_reference else "",
                *(f"{s.listing.name}:{s.first_line}" for b in page.blocks for s in b.sections),
                *(_read_text(find_table_path(*listing)) for listing in _find_listings(page)),
                script.key if (script := self.content.scripts.get(page.lang)) else "",
                json.dumps([page.theorems.get(one) for one in _find_theorems(page)]),
                json.dumps(page.proof_lines if page.asks_for("coq") else {}),
                _hash_file(self.content.root / STEPS) if page.asks_for("proofs") else "",
                *(name_colour(role, read_locale("en")) for role in page.colours),
            )
        return self._sources[page.path]

    @cached_property
    def of_languages(self) -> dict[str, str]:
        """What the parts depend on that are made from all pages of a language, and from lists."""
        lists = [_hash_file(path) for path in sorted((self.content.root / "docs").glob("*.toml"))]
        return {
            lang: make_key(*lists, *map(self.of_source, pages.values()))
            for lang, pages in self.content.pages.items()
        }

    @cached_property
    def _environment(self) -> str:
        """What every page depends on: words, templates, settings, makers, which files there are."""
        root, settings = self.content.root, self.content.settings
        folders = (root / "attention_docs" / name for name in ("site/theme", "locales", "data"))
        read = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        contents = [f"{path.relative_to(root)} {_hash_file(path)}" for path in read]
        versions = [f"{name} {number}" for name, number in read_public_versions().items()]
        docs, makers = root / "docs", self.content.makers
        names = sorted(str(path.relative_to(docs)) for path in docs.rglob("*") if path.is_file())
        return make_key(
            *(
                self.target.repository,
                settings.text,
                *(_read_text(root / one) for one in (CITATION, EDITIONS)),
            ),
            *(*makers, *versions, *contents, *names),
        )

    @cached_property
    def _documentation(self) -> dict[str, str]:
        """What the pages of modules depend on: the package, and each other, for their links."""
        everything = self.executor.modules.hash_of_all
        return {
            lang: make_key(
                everything, *(page.digest for page in pages.values() if page.is_reference)
            )
            for lang, pages in self.content.pages.items()
        }

    @cached_property
    def _vocabulary(self) -> dict[str, str]:
        return {lang: make_key(repr(entries)) for lang, entries in self.content.entries.items()}

    @cached_property
    def _navigation(self) -> dict[str, str]:
        """What the pages of a language show of each other: titles, marks, which have notebooks."""
        shown = ("icon", "status", "subtitle", "question")
        originals = self.content.pages[self.content.written[0]].values()
        builds_on = [str([page.builds_on, page.part_of_machine]) for page in originals]
        listings = [one.listing for one in self.catalogue.pages]
        return {
            lang: make_key(
                *(
                    str([page.title, *(page.meta.get(name) for name in shown)])
                    for page in pages.values()
                ),
                *listings,
                *builds_on,
            )
            for lang, pages in self.content.pages.items()
        }


def _find_theorems(page: Page) -> list[str]:
    return [one for box in page.passages for one in dict(box.options).get("proved", "").split()]


def _hash_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _find_listings(page: Page) -> list[tuple[Path, str]]:
    """The listings that a page shows, with the languages of their comments, each once."""
    shown = ((section.listing, block.lang) for block in page.blocks for section in block.sections)
    return list(dict.fromkeys(shown))
