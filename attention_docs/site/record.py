"""The record: what each block and each inline value gave, in every language, and where it stands.

    python -m attention_docs.site.record [SLUG …]

prints it for some pages, or for all. It is made of pages and results before anything is rendered;
listings run where their results are not cached. The site publishes it as numbers.json, tests and
tests/outputs read it, and `attention_docs.verify` runs it all again where nothing but NumPy may be
installed.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from attention_docs.running.imports import find_imports
from attention_docs.running.record import describe_text
from attention_docs.running.result import Drawing, Result
from attention_docs.site.build import Build
from attention_docs.site.read.modules import list_slugs
from attention_docs.site.read.page import Page
from attention_docs.site.read.stamps import read_sections
from attention_docs.site.read.syntax import DISPLAY, REASON
from attention_docs.site.render.cite import read_citation
from attention_docs.site.run.execute import read_public_versions
from attention_docs.site.run.imports import DATA, PACKAGE, Modules, find_module_file, list_data
from attention_docs.site.run.values import find_value_text

RUNNER = ("attention_docs.running.block", "attention_docs.locales")
"""What takes part in every block."""

ITEM = re.compile(r"^ *- .*$", re.M)
Record = dict[str, Any]


class RecordError(Exception):
    """Pages have no record: what is wrong with them, a line for each fault."""


class Recorder:
    """Makes the records of the pages that are asked for, and reads and runs no others.

    Of several processes, those that share a lock run nothing twice.
    """

    def __init__(
        self,
        root: Path,
        warn: Callable[[str], None] = print,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.build = Build(root, warn)
        self.lock = lock or nullcontext()
        self.slugs = list_slugs(root / "docs" / self.build.languages[0])

    def read(self, slugs: Iterable[str]) -> None:
        """Read pages; one that counts what the whole site holds needs all of them."""
        build, wanted = self.build, set(slugs)
        if unknown := sorted(wanted.difference(self.slugs)):
            raise RecordError(f"there is no page {', '.join(unknown)} in {build.languages[0]}")
        while new := wanted - build.pages.get(build.languages[0], {}).keys():
            pages = build.read_pages(sorted(new))
            if any(value.is_site_count for page in pages for value in page.values):
                wanted = set(self.slugs)

    def make_records(self, lang: str, slug: str) -> list[Record]:
        self.read([slug])
        page = self.build.pages[lang][slug]
        with self.lock:
            records = make_records(self.build, page)
        faults = [*page.failures, *self.build.executor.wait_for_failures(page)]
        if faults:
            raise RecordError("\n".join(map(str, sorted(faults))))
        return records

    def read_files(self, slug: str) -> dict[str, str]:
        """The files that the blocks of a page give its readers, by name."""
        self.read([slug])
        results = self.build.results(self.build.pages[self.build.languages[0]][slug])
        return {file.name: file.text for result in results for file in result.files}

    def make_document(self, slugs: Iterable[str] = ()) -> Record:
        """The record of some pages, or of all."""
        names = {*slugs} or {*self.slugs}
        self.read(names)
        build = self.build
        pages = [page for page in list_pages(build) if page.slug in names]
        faults = {fault for page in pages for fault in page.failures}
        with self.lock:
            build.executor.start(pages)
            faults |= {*build.executor.finish()}
        if faults:
            raise RecordError("\n".join(map(str, sorted(faults))))
        return make_document(build, pages)


def list_pages(build: Build) -> list[Page]:
    """The pages of all languages that are whole, in the order of their addresses."""
    languages = [lang for lang in build.languages if lang not in build.partial]
    pages = [page for lang in languages for page in build.pages[lang].values()]
    return sorted(pages, key=build.address)


def make_document(build: Build, pages: Sequence[Page]) -> Record:
    """The record of pages, the same for the same sources.

    `edition` is the one in preparation or published, `sections` has a stamp of each section's text,
    `strings` are those of the listings of each page in the other languages, `locales` the locale
    strings of languages that the package has no file of, `reading` how long chapters are, `texts`
    hashes, by language, of what stands in no record.
    """
    languages = [lang for lang in build.languages if lang not in build.partial]
    locales = build.executor.locales
    first = [page for page in pages if page.lang == languages[0]]  # the others run the same blocks
    strings = {page.slug: build.executor.by_path[page.path].strings for page in first}
    return {
        "languages": languages,
        "strings": {
            page.slug: {
                lang: table for lang, table in strings[page.slug].items() if lang in languages
            }
            for page in first
            if page.blocks
        },
        "locales": locales,
        "versions": read_public_versions(),
        "sha256": hash_sources(build.root, [x for x in languages if x not in locales], first),
        "pages": list_blocks(first),
        "edition": citation.version if (citation := read_citation(build.root)) else "",
        "results": list_results(first, build.numbered),
        "sections": {
            page.slug: {name: section.stamp for name, section in read_sections(page).items()}
            for page in first
        },
        "texts": {
            lang: {page.slug: hash_passages(page) for page in pages if page.lang == lang}
            for lang in languages
        },
        "reading": build.reading.document(languages),
        "records": [record for page in pages for record in make_records(build, page)],
    }


def format_document(document: Record) -> str:
    """It as JSON, one record per line."""
    head = {name: part for name, part in document.items() if name != "records"}
    opened = json.dumps(head, ensure_ascii=False)[:-1]
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in document["records"])
    return f'{opened}, "records": [\n{lines}\n]}}\n'


def write_record(build: Build, folder: Path) -> None:
    """Write what the site says of its numbers to machines."""
    document = make_document(build, list_pages(build))
    (folder / "numbers.json").write_text(format_document(document), encoding="utf-8")


def make_records(build: Build, page: Page) -> list[Record]:
    """One record per output and per inline value of a page, in the order of the page.

    `block` counts from 1: the block that printed it, or the one that an inline value follows.
    """
    if page.untranslated:  # its original has them
        return []
    url, results = build.address(page), build.results(page)
    values = _make_value_records(url, page, results, build.find_counts(page))
    return [*_make_output_records(url, page, results), *values]


def _make_output_records(url: str, page: Page, results: Sequence[Result]) -> Iterator[Record]:
    blocks = zip(page.blocks, results, strict=False)  # those after a failed one have none
    for position, (block, result) in enumerate(blocks, start=1):
        if not result.has_output:
            continue
        first, figure = block.sections[0], result.figure.get(page.lang, Drawing("", ""))
        yield {
            **_locate(url, page, block.line),
            "id": f"out-{block.id}",
            "kind": "output",
            "block": position,
            "listing": f"docs/listings/{first.listing.name}",
            "line": first.first_line,
            "functions": list(result.functions),
            "seeds": list(result.seeds),
            "figure": figure.alt,
            "labels": list(figure.labels),
            "roles": list(figure.roles),
            "frames": [[one.at, one.caption, one.pictures] for one in figure.frames],
            "table": [list(row) for row in figure.cells],
            "checks": [check.statement[page.lang] for check in result.checks],
            "files": {one.name: hash_text(one.text) for one in result.files},
            **describe_text(result.get_text(page.lang)),
        }


def _make_value_records(
    url: str, page: Page, results: Sequence[Result], counts: Mapping[str, int]
) -> Iterator[Record]:
    for number, value in enumerate(page.values, start=1):
        yield {
            **_locate(url, page, value.line),
            "id": f"value-{number}",
            "kind": "inline",
            "block": value.after,
            "source": page.path,
            "line": value.line,
            "expression": value.expression,
            "format": value.spec,
            **describe_text(find_value_text(value, results, page.text_lang, counts)),
        }


def _locate(url: str, page: Page, line: int) -> Record:
    section = page.find_section(line)
    return {"page": f"/{url}", "lang": page.lang, "slug": page.slug, "section": section}


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def hash_sources(root: Path, languages: Iterable[str], pages: Iterable[Page]) -> dict[str, str]:
    """The hashes of all files behind the numbers: lock, package, words of figures, listings."""
    sections = [section for page in pages for block in page.blocks for section in block.sections]
    names = {*RUNNER}.union(*(find_imports(section.code) for section in sections))
    modules = (find_module_file(name, root) for name in Modules(root).find_needed(names))
    files = {root / "requirements.lock", *filter(None, modules)}
    files |= {root / path for path in list_data(root)} if DATA in names else set()
    files |= {root / PACKAGE / "locales" / f"{lang}.toml" for lang in languages}
    files |= {section.listing for section in sections}
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(files)
        if path.is_file()
    }


def list_results(pages: Iterable[Page], numbered: Mapping[str, int]) -> list[dict[str, str]]:
    """The numbered results of pages as Markdown, with what proves, runs and tests each of them."""
    return [
        {
            "slug": page.slug,
            "number": f"{numbered.get(page.slug, 0)}.{page.places[box.id]}",
            "title": box.title,
            "statement": box.text.strip(),
            **dict(box.options),
        }
        for page in pages
        for box in page.passages
        if box.kind == "result"
    ]


def hash_passages(page: Page) -> dict[str, str]:
    """Of each section or box its reasons of derivations, or its choices and options, as a hash."""
    found = {}
    for passage in page.passages:
        parts = [one for tex in DISPLAY.findall(passage.text) for one in REASON.findall(tex)]
        if passage.kind in ("exercise", "guess", "recall"):
            parts += [*map(" ".join, passage.options), *ITEM.findall(passage.text)]
        if parts:
            found[passage.id] = hash_text("\n".join(parts))[:4]
    return found


def list_blocks(pages: Iterable[Page]) -> dict[str, list[list[str]]]:
    """The blocks of each page, each as its sections: "scaling.py:setup"."""
    return {
        page.slug: [
            [f"{section.listing.name}:{section.name}" for section in block.sections]
            for block in page.blocks
        ]
        for page in pages
    }


def main() -> int:
    """Print the record; 1 if there is none."""
    recorder = Recorder(Path.cwd(), lambda warning: print(warning, file=sys.stderr))
    try:
        sys.stdout.write(format_document(recorder.make_document(sys.argv[1:])))
    except RecordError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
