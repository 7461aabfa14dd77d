"""What stands beside the pages of a site: numbers.json, the search, llms.txt, card and archive."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_docs.site.publish import card, numbers, offline, search
from attention_docs.site.publish.catalogue import ZIP, Catalogue, Placed
from attention_docs.site.publish.place import compress, write
from attention_docs.site.render.shelf import Made
from attention_docs.site.run.execute import Executor, public_versions
from attention_docs.site.run.imports import Modules
from attention_docs.site.store import Store, key_of


@dataclass(frozen=True)
class Finished:
    """A page that is whole."""

    placed: Placed
    made: Made


def beside(
    built: Path,
    catalogue: Catalogue,
    pages: Sequence[Finished],
    executor: Executor,
    known: Callable[[str], tuple[Sequence[search.Names], Sequence[str]]],
    reading: Mapping[str, Any],
) -> None:
    """Write what machines and searches read.

    `pages` are in the order of the navigation; `executor` has run them; `known` gives what the
    search of a language knows; `reading` says how long chapters are.
    """
    languages = catalogue.complete  # numbers.json has those of pages that all of these have
    by_url = sorted(
        (page for page in pages if page.placed.page.lang in languages),
        key=lambda page: page.placed.url,
    )
    lines = (page.made.numbered for page in by_url)
    sources = [page.placed.page for page in by_url]
    strings = {
        page.slug: {
            lang: found
            for lang, found in executor.by_path[page.path].strings.items()
            if lang in languages
        }
        for page in sources
        if page.lang == languages[0] and page.blocks
    }
    about = (languages, strings, executor.locales, public_versions())
    write(built / "numbers.json", numbers.document(catalogue.root, *about, sources, lines, reading))
    for number, lang in enumerate(catalogue.tags):
        found = (page.made.searched for page in pages if page.placed.page.lang == lang)
        folder = built / lang if number else built
        write(folder / "search" / "search_index.json", search.index(lang, found, *known(lang)))
    write(built / "llms.txt", catalogue.llms())
    if catalogue.site_url:
        compress(built / "sitemap.xml")


def archive(built: Path, drawn: card.Card | None, base: str, store: Store) -> None:
    """Write what takes long: the card, and the site as one zip, taken again where it is known."""
    if drawn:
        (built / card.NAME).write_bytes(drawn.png)
    names = offline.files(built)
    digests = (hashlib.sha256((built / name).read_bytes()).hexdigest() for name in names)
    code = Modules(Path(__file__).parents[3]).digest(["attention_docs.site.publish.offline"])
    key = key_of("archive", code, base, *names, *digests)
    kept = store.folder / "zip" / f"{key}.zip"
    store.used.add(key)
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f"{key}.{os.getpid()}.part")
        offline.pack(built, part, base)
        part.replace(kept)
    shutil.copyfile(kept, built / ZIP)
