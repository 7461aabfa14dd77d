"""numbers.json: for machines, every output and inline value of the site and where it comes from.

`attention_docs.verify` runs it all again, where nothing but NumPy may be installed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_docs.colours import list_roles
from attention_docs.running.imports import find_imports
from attention_docs.running.record import describe_text
from attention_docs.site.run.imports import PACKAGE, Modules, find_module_file

if TYPE_CHECKING:
    from attention_docs.site.read.page import Page
    from attention_docs.site.render.assembled_page import AssembledPage

RUNNER = ("attention_docs.running.block", "attention_docs.locales")
"""What takes part in every block."""


def make_records(url: str, assembled: AssembledPage) -> list[dict[str, Any]]:
    """One record per output and per inline value of a page, in the order of the page.

    `block` counts from 1: the block that printed it, or the one that an inline value follows.
    """
    if assembled.page.untranslated:  # its original has them
        return []
    return [*_make_output_records(url, assembled), *_make_value_records(url, assembled)]


def _make_output_records(url: str, assembled: AssembledPage) -> Iterator[dict[str, Any]]:
    page = assembled.page
    for position, block in enumerate(page.blocks, start=1):
        result = assembled.get_result(block)
        if result is None or not result.has_output:
            continue
        first, figure = block.sections[0], result.figure.get(page.lang)
        yield {
            **_locate(url, page, block.line),
            "id": f"out-{block.id}",
            "kind": "output",
            "block": position,
            "listing": f"docs/listings/{first.listing.name}",
            "line": first.first_line,
            "functions": result.functions,
            "seeds": result.seeds,
            "figure": figure.alt if figure else "",
            "labels": figure.labels if figure else (),
            "roles": list_roles(figure.svg) if figure else (),
            "table": figure.cells if figure else (),
            "checks": [check.statement[page.lang] for check in result.checks],
            **describe_text(result.get_text(page.lang)),
        }


def _make_value_records(url: str, assembled: AssembledPage) -> Iterator[dict[str, Any]]:
    for number, value in enumerate(assembled.page.values, start=1):
        yield {
            **_locate(url, assembled.page, value.line),
            "id": f"value-{number}",
            "kind": "inline",
            "block": value.after,
            "source": assembled.page.path,
            "line": value.line,
            "expression": value.expression,
            "format": value.spec,
            **describe_text(assembled.get_value(number)),
        }


def _locate(url: str, page: Page, line: int) -> dict[str, Any]:
    """Where a line of a page is."""
    section = page.find_section(line)
    return {"page": f"/{url}", "lang": page.lang, "slug": page.slug, "section": section}


def format_lines(found: Iterable[dict[str, Any]]) -> str:
    """Records as JSON, one per line."""
    return ",\n".join(json.dumps(record, ensure_ascii=False) for record in found)


def hash_sources(root: Path, languages: Iterable[str], pages: Iterable[Page]) -> dict[str, str]:
    """The hashes of all files behind the numbers: lock, package, words of figures, listings."""
    sections = [section for page in pages for block in page.blocks for section in block.sections]
    names = {*RUNNER}.union(*(find_imports(section.code) for section in sections))
    modules = (find_module_file(name, root) for name in Modules(root).find_needed(names))
    files = {root / "requirements.lock", *filter(None, modules)}
    files |= {root / PACKAGE / "locales" / f"{lang}.toml" for lang in languages}
    files |= {section.listing for section in sections}
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(files)
        if path.is_file()
    }


def results(pages: Iterable[Page]) -> list[dict[str, str]]:
    """The numbered results of pages as Markdown, with what proves, runs and tests each of them."""
    return [
        {
            "slug": page.slug,
            "title": box.title,
            "statement": box.text.strip(),
            **dict(box.options),
        }
        for page in pages
        for box in page.passages
        if box.kind == "result"
    ]


def list_blocks(pages: Iterable[Page]) -> dict[str, list[list[str]]]:
    """The blocks of each page, each as its sections: "scaling.py:setup"."""
    return {
        page.slug: [
            [f"{section.listing.name}:{section.name}" for section in block.sections]
            for block in page.blocks
        ]
        for page in pages
    }


def format_document(
    root: Path,
    languages: Sequence[str],
    strings: Mapping[str, Mapping[str, Mapping[str, str]]],
    locales: Mapping[str, Mapping[str, Any]],
    versions: Mapping[str, str],
    pages: Sequence[Page],
    lines: Iterable[str],
    reading: Mapping[str, Any],
) -> str:
    """The file's content from the lines of all pages, the same for the same site.

    `strings` are those of the listings of each page in the other languages, `locales` the locale
    strings of languages that the package has no file of, `reading` how long chapters are.
    """
    first = [page for page in pages if page.lang == languages[0]]  # the others run the same blocks
    head = {
        "languages": languages,
        "strings": strings,
        "locales": locales,
        "versions": versions,
        "sha256": hash_sources(root, [lang for lang in languages if lang not in locales], first),
        "pages": list_blocks(first),
        "results": results(first),
        "reading": reading,
    }
    opened = json.dumps(head, ensure_ascii=False)[:-1]
    return f'{opened}, "records": [\n' + ",\n".join(filter(None, lines)) + "\n]}\n"
