"""Write the files beside the pages, and publish the site if it has no faults."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig

from attention_docs.site import proofs, record
from attention_docs.site.adapter.log import log
from attention_docs.site.adapter.state import BuildState
from attention_docs.site.addresses import HOME
from attention_docs.site.build import Build
from attention_docs.site.publish import (
    anki,
    discovery,
    epub,
    moodle,
    proof_goals,
    qti,
    redirects,
    share_card,
    site,
    styles,
    wheel,
)
from attention_docs.site.publish import live as live_pages
from attention_docs.site.publish.notebook import make_lab
from attention_docs.site.publish.staging import write_text
from attention_docs.site.read.failure import Failure
from attention_docs.site.render.assembled_page import FILES
from attention_docs.site.render.cite import FILE as CITATION
from attention_docs.site.render.cite import read_citation
from attention_docs.site.render.teaching import LAB, find_lab


def finish_build(state: BuildState, config: MkDocsConfig) -> None:
    """Stop on all that is wrong; otherwise the new site takes the place of the old one."""
    build, executor, stage = state.build, state.build.executor, state.place.stage
    faults = state.find_faults()
    log.info("Numbers: %d blocks ran, %d reused", executor.ran, executor.reused)
    state.stop_on(faults)
    by_path = {page.source.path: page for page in state.pages.values()}
    pages = [
        site.FinishedPage(published, page.rendered)
        for published in build.catalogue.pages
        if (page := by_path.get(published.page.path)) and page.rendered
    ]
    record.write_record(build, stage)
    site.write_site_files(stage, build.catalogue, pages, build.search_vocabulary)
    proof_goals.write_goals(stage, build.root / proofs.STEPS)
    redirects.write_redirects(stage, build.moved, build.addresses, build.pages, build.tags)
    for lang in build.catalogue.complete:
        folder, base = build.addresses.find_folder(lang), build.target.site_url
        own = [one for one in build.catalogue.pages if one.page.lang == lang]
        moodle.write_whole_bank(stage, own)
        qti.write_package(stage, own)
        home = build.published[build.pages[lang][HOME].path]
        _write_lab(build, lang, stage)
        discovery.write_files(stage, home, build.catalogue, build.chapters[lang])
        anki.write_deck(stage / folder, build.chapters[lang], base and f"{base}{folder}")
    styles.write_styles(stage, Path(config.docs_dir), state.tools.sheets)
    if build.target.live:
        live_pages.write_live_files(stage, build.root, build.cache, executor.locales)
    if build.target.minilm:
        live_pages.write_model_files(stage, build.root, build.cache)
    live_pages.write_beginnings(stage)
    live_pages.write_neurons(stage)
    if build.target.smollm2:
        live_pages.write_writer_files(stage, build.root, build.cache)
    if state.session.served:
        _refresh(state)
    else:
        _publish(state, pages)
    _report_partial_languages(state)
    config.site_dir = str(state.place.target)
    _tidy_caches(state)


def _write_lab(build: Build, lang: str, stage: Path) -> None:
    """The exercises that the lab of a plan names, as a notebook."""
    names = find_lab(build.chapters[lang])
    pages = [build.pages[lang][slug] for slug, _ in names]
    exercises = [
        (build.assemble(page), build.published[page.path], name)
        for page, (_, name) in zip(pages, names, strict=True)
    ]
    if exercises:
        text = make_lab(exercises, build.catalogue)
        write_text(stage / LAB.format(lang=lang), text)


def _report_partial_languages(state: BuildState) -> None:
    """Say of each language that has begun how far it is."""
    for lang in state.build.partial:
        pages = state.build.pages[lang].values()
        done = sum(not page.untranslated for page in pages)
        how = f"`make language CODE={lang}` lists what is missing"
        log.info(f"{lang}: {done} of {len(pages)} pages translated; {how}")


def _publish(state: BuildState, pages: list[site.FinishedPage]) -> None:
    """Put the whole new site in place of the old one, unless a page is missing."""
    place, target = state.place, state.build.target
    lost = place.find_missing(f"{one.published.url}index.html" for one in pages)
    message = "wanted the page that was written, got no file"
    state.stop_on(Failure(f"site/{name}", 1, message) for name in lost)
    if target.live:
        live_pages.list_for_offline(place.stage)
    wheel.write_wheel(state.build.root, place.stage, state.page_cache.store)
    books = _list_books(state.build)
    citation, store = read_citation(state.build.root), state.page_cache.store
    if citation:
        shutil.copyfile(state.build.root / CITATION, place.stage / CITATION)
    epub.write_books(place.stage, books, citation, target.site_url, store)
    if state.card:
        numbers, root = state.build.numbered, state.build.root
        share_card.write_chapter_cards(place.stage, state.build.catalogue, numbers, root, store)
    base = urlsplit(target.site_url).path or "/"
    site.write_archive(place.stage, state.card, base, state.page_cache.store)
    site.write_sums(place.stage)
    place.publish()


def _list_books(build: Build) -> list[epub.Book]:
    found: list[epub.Book] = []
    for lang in build.catalogue.complete:
        pages = [one for one in build.catalogue.pages if one.page.lang == lang]
        names = build.settings.sections[lang]
        titles = {
            name: names.get(part.title, part.title)
            for name, part in build.settings.navigation.ids.items()
        }
        found += epub.list_books(pages, titles, build.tags[lang])
    return found


def _refresh(state: BuildState) -> None:
    """Under `serve`: copy new files into the served site."""
    unchanged = set()
    for page in state.pages.values():
        if state.is_shown(page):
            published = state.build.published[page.source.path]
            unchanged |= {f"{published.url}index.html", published.markdown}
            unchanged |= {published.notebook, published.answers, published.listing, published.bank}
            unchanged |= {published.assessment, published.panel}
            unchanged.add(live_pages.make_path(page.source))
    target = state.place.target
    unchanged |= {path.relative_to(target).as_posix() for path in (target / FILES).glob("*")}
    state.place.refresh(unchanged)
    pages = state.pages.values()
    state.session.shown = {page.source.path: page.key for page in pages if page.is_clean}


def _tidy_caches(state: BuildState) -> None:
    """Delete what no build has used for a day."""
    for page in state.pages.values():
        state.page_cache.mark_used(page.key)
    state.page_cache.store.remove_unused()
    state.build.executor.mark_used()
    state.build.executor.store.remove_unused()
