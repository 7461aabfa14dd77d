"""Write the files beside the pages: the search, llms.txt, card and archive."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attention_docs.site.publish import archive, search, share_card
from attention_docs.site.publish.catalogue import ZIP, Catalogue, PublishedPage
from attention_docs.site.publish.staging import compress_file, write_text
from attention_docs.site.render.page_cache import RenderedPage
from attention_docs.site.run.imports import Modules
from attention_docs.site.store import Store, make_key


@dataclass(frozen=True)
class FinishedPage:
    """A page that is whole."""

    published: PublishedPage
    rendered: RenderedPage


def write_site_files(
    built: Path,
    catalogue: Catalogue,
    pages: Sequence[FinishedPage],
    known: Callable[[str], search.Vocabulary],
) -> None:
    """Write what machines and searches read.

    `pages` are in the order of the navigation; `known` gives what the search of a language knows.
    """
    for number, lang in enumerate(catalogue.tags):
        found = (page.rendered.search_entries for page in pages if page.published.page.lang == lang)
        folder = built / lang if number else built
        write_text(
            folder / "search" / "search_index.json", search.build_index(lang, found, known(lang))
        )
    write_text(built / "llms.txt", catalogue.render_llms())
    if catalogue.site_url:
        compress_file(built / "sitemap.xml")


def write_archive(built: Path, drawn: share_card.Card | None, base: str, store: Store) -> None:
    """Write what takes long: the card, and the site as one zip, taken again where it is known."""
    if drawn:
        (built / share_card.NAME).write_bytes(drawn.png)
    names = archive.list_files(built)
    digests = (hashlib.sha256((built / name).read_bytes()).hexdigest() for name in names)
    code = Modules(Path(__file__).parents[3]).hash_needed(["attention_docs.site.publish.archive"])
    key = make_key("archive", code, base, *names, *digests)
    kept = store.folder / "zip" / f"{key}.zip"
    store.used.add(key)
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f"{key}.{os.getpid()}.part")
        archive.pack_site(built, part, base)
        part.replace(kept)
    shutil.copyfile(kept, built / ZIP)


def write_sums(built: Path) -> None:
    """Write the hash of each file of the site, which `verify` compares."""
    (built / archive.SUMS).unlink(missing_ok=True)
    files = sorted(path for path in built.rglob("*") if path.is_file())
    sums = (
        archive.format_sum(one.relative_to(built).as_posix(), one.read_bytes()) for one in files
    )
    write_text(built / archive.SUMS, "".join(sums))
