"""Render a page or take it from the cache, and write it with its copies."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import BuildError
from mkdocs.structure.pages import Page

from attention_docs.data import REFERENCE
from attention_docs.site.adapter.page import SitePage, record_page
from attention_docs.site.adapter.state import BuildState, PageState
from attention_docs.site.addresses import HOME, make_relative
from attention_docs.site.build import Build
from attention_docs.site.publish import live as live_pages
from attention_docs.site.publish import models
from attention_docs.site.publish.catalogue import PublishedPage
from attention_docs.site.publish.discovery import describe_resource
from attention_docs.site.publish.head import make_head
from attention_docs.site.publish.html_checks import find_forbidden, find_unrendered
from attention_docs.site.publish.listings import translate_listing
from attention_docs.site.publish.markdown import render_copy as markdown_copy
from attention_docs.site.publish.moodle import write_bank
from attention_docs.site.publish.notebook import make_notebook
from attention_docs.site.publish.qti import write_assessment
from attention_docs.site.publish.questions import list_questions
from attention_docs.site.publish.redirects import find_addresses
from attention_docs.site.publish.staging import write_text
from attention_docs.site.publish.styles import INDENT
from attention_docs.site.read import conversion
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page as Source
from attention_docs.site.read.page import find_asking
from attention_docs.site.read.script_converter import ScriptConverter
from attention_docs.site.render import blocks, untranslated
from attention_docs.site.render.cards import read_glyph
from attention_docs.site.render.cite import read_citation, render_cite_fold
from attention_docs.site.render.complete import complete_html
from attention_docs.site.render.model_panel import describe_panel
from attention_docs.site.render.sentence import EXAMPLES


def begin_page(state: BuildState, page: SitePage, source: Source) -> str:
    """The Markdown of a page with its results; "" for one that is taken as it was."""
    excluded = {"exclude": True}  # from the theme's own index
    page.meta = {**source.meta, "title": source.title, "search": excluded}
    number = state.build.numbered.get(source.slug)
    page.title = f"{number}. {source.title}" if number else source.title  # in the navigation
    if source.slug == HOME:
        page.title = state.build.read_locale(source.lang)["site"]["theme"]["home"]
    if read_glyph(source.slug):
        page.meta["icon"] = f"chapter/{source.slug}"  # in the navigation
    known = state.pages[page.file.src_uri] = _create_page_state(state, source)
    is_finished = state.is_finished(source, known.key)
    if source.is_reference:  # their links to each other are found while they are rendered
        is_finished = source.lang in state.documented
    if is_finished:
        known.rendered = state.page_cache.get(known.key)
    if known.rendered:
        page.record = known.rendered
        page.meta["template"] = "stored.html"
        return ""
    known.is_new = True
    known.assembled = known.assembled or state.build.assemble(source)
    state.tools.extension.assembled = known.assembled
    # A fault of a list such as docs/mistakes.toml is none of this page: `build` has it.
    has_failed = bool(known.assembled.failures or state.build.failures)
    state.is_stopped = has_failed and not state.session.served
    known.warnings = len(state.session.listener.messages)
    return known.assembled.render_markdown()


def _create_page_state(state: BuildState, source: Source) -> PageState:
    """A page that shows what others print is assembled before its key can be said."""
    assembled = state.build.assemble(source) if source.uses_other_pages else None
    return PageState(source, state.build.page_key(source, assembled), assembled=assembled)


def finish_html(state: BuildState, page: Page, html: str) -> str:
    """The HTML that Markdown made of a page; what is known of it is noted."""
    state.tools.extension.assembled = None
    known = state.pages.get(page.file.src_uri)
    if known is None or known.assembled is None or not known.is_new:
        return html
    source, assembled, build = known.source, known.assembled, state.build
    if (script := build.scripts.get(source.lang)) and source.is_reference:
        html = conversion.convert_documentation(script, html)
    if script:
        html = conversion.add_notes(script, source.slug, html, _locate_script_table(build, script))
    if source.untranslated:
        published = build.published[source.path]
        html = untranslated.redirect_files(html, source.text, published.text_url, published.url)
    assembled.failures += build.find_typed_numbers(source)
    html = blocks.render_faults(assembled) + html
    is_chapter = source.slug in build.settings.navigation.chapters
    folder = build.addresses.find_folder(source.lang)
    known.rendered = record_page(page, html, folder, is_chapter)
    state.failures += assembled.failures
    # What was wrong before anything ran is part of the page's key.
    expected = {fault for fault in build.failures if fault.path == source.path}
    has_new_warnings = known.warnings != len(state.session.listener.messages)
    known.is_clean = expected >= set(assembled.failures) and not has_new_warnings
    is_english = build.languages[0] in (source.lang, source.text_lang)
    return complete_html(html, foreign_docstrings=not is_english)


def _locate_script_table(build: Build, script: ScriptConverter) -> str:
    """Where the table of a converted language can be edited, or ""."""
    target = build.target
    if not (target.repository and target.edit):
        return ""
    return f"{target.repository.rstrip('/')}/{target.edit.strip('/')}/{script.lang}.toml"


def describe_page(state: BuildState, page: Page, known: PageState) -> dict[str, Any]:
    """What the templates in theme/ say of a page."""
    published, build = state.build.published[known.source.path], state.build
    citation = read_citation(build.root)
    if page.canonical_url:
        page.canonical_url = build.target.site_url + published.text_url
    return {
        "language_tags": build.tags,
        "is_home": known.source.slug == HOME,
        "has_inventory": known.source.asks_for("inventory"),
        "number": build.numbered.get(known.source.slug),
        "search_base": _locate_search(build, known.source.lang, page.url),
        **_describe_translation(state, known.source),
        "edition": _describe_edition(state, published),
        "data": describe_resource(
            published, build.catalogue, build.numbered.get(known.source.slug), citation
        ),
        "about": make_head(published, build.catalogue, state.card),
        "script": _describe_script(state, published),
        "takeaway": published.render_copies_line(build.offers_archive(known.source))
        + _offer_citation(state, published),
    }


def _describe_edition(state: BuildState, published: PublishedPage) -> dict[str, str]:
    """The edition of the site, in words, and the page that tells of editions, if there is one."""
    build, page = state.build, published.page
    if (citation := read_citation(build.root)) is None:
        return {}
    said = citation.name_edition(published.locale)
    edition = {"name": citation.version, "said": said[:1].upper() + said[1:]}
    if editions := find_asking(build.pages[page.lang], "editions"):
        edition["url"] = make_relative(build.address(editions), published.url)
    return edition


def _offer_citation(state: BuildState, published: PublishedPage) -> str:
    """How to cite a page, if the project says how it is cited."""
    base, page = state.build.target.site_url, published.page
    citation = read_citation(state.build.root)
    if citation is None:
        return ""
    address = base and f"{base}{published.url}"
    about = (page.slug, page.title, published.site_name, address, published.locale)
    return render_cite_fold(citation, *about)


def _describe_script(state: BuildState, published: PublishedPage) -> dict[str, Any]:
    """What the page's script needs: its words, and where a live page finds what it loads."""
    words = state.build.read_locale(published.page.lang)["site"]
    found: dict[str, Any] = dict(words["script"])
    source, build = published.page, state.build
    if moved := find_addresses(build.moved, build.addresses, source.lang, source.slug):
        found["moved"] = moved
    if any(one.kind in ("exercise", "guess") for one in published.page.passages):
        found["exercises"] = dict(words["exercises"])
    if published.page.asks_for("review"):
        kept = {
            name: words["exercises"][name]
            for name in ("export", "import", "erase", "unstored", "foreign")
        }
        found["review"] = {**words["review"], **kept, "statement": dict(words["statement"])}
    if state.build.target.live and published.page.blocks:
        folder = make_relative(f"{live_pages.FOLDER}/", published.url)
        page = make_relative(live_pages.make_path(published.page), published.url)
        knobs = [b.id for b in published.page.blocks if any(s.knobs for s in b.sections)]
        found["live"] = {**words["live"], "folder": folder, "page": page, "knobs": knobs}
    if state.build.target.minilm and published.page.asks_for("sentence"):
        shown = {**words["sentence"], "examples": list(EXAMPLES)}
        folders = {"folder": live_pages.FOLDER, "model": live_pages.MODEL_FOLDER}
        places = {name: make_relative(f"{path}/", published.url) for name, path in folders.items()}
        found["sentence"] = {**shown, **places, "broken": words["live"]["broken"]}
        found["sentence"]["megabytes"] = live_pages.count_megabytes(state.build.cache)
    lang = published.page.lang.split("-")[0]
    if published.page.asks_for("next-token"):
        found["next"] = {
            **words["next"],
            **{name: dict(words["next"][name]) for name in ("kinds", "out", "times")},
            "data": make_relative(live_pages.BEGINNINGS.format(lang), published.url),
            "reference": REFERENCE,
            "broken": words["live"]["broken"],
            **_find_writer(state, published),
        }
    if published.panel and state.build.target.smollm2:
        found["model"] = {"file": make_relative(published.panel, published.url)}
    return found


def _describe_panel(state: BuildState, published: PublishedPage) -> dict[str, Any]:
    """What the panel of a page says and loads: a file of its own, since few readers press it."""
    request = published.page.find_request("model")
    if request is None or not state.build.target.smollm2:
        return {}
    words = state.build.read_locale(published.page.lang)["site"]
    data = make_relative(live_pages.NEURONS, published.url)
    return {**describe_panel(request.name, words), **_find_writer(state, published), "data": data}


def _find_writer(state: BuildState, published: PublishedPage) -> dict[str, Any]:
    """Where the files of the model that writes are, if the site has them."""
    if not state.build.target.smollm2:
        return {}
    folders = {"folder": live_pages.FOLDER, "model": live_pages.WRITER_FOLDER}
    places = {name: make_relative(f"{path}/", published.url) for name, path in folders.items()}
    size = live_pages.count_megabytes(state.build.cache, models.SMOLLM2)
    kept = round(models.BYTES / 1e6)
    return {**places, "parts": live_pages.list_parts(), "megabytes": size, "kept": kept}


def write_page(state: BuildState, page: Page, known: PageState, html: str, stage: Path) -> str:
    """Write the copies of a page; its HTML, or "" for one that stands there already.

    `html` is what the templates made of it, and "" for one that is stored.
    """
    if state.is_shown(known):
        return ""
    if known.is_new:
        files = _make_files(state, page, known, html)
    else:
        files = state.page_cache.get_files(known.key) or {}
        if not files:  # another process threw it away since it was looked up
            raise BuildError(f"the cached {known.source.path} is gone: build again")
    for name, content in files.items():
        write_text(stage / name, content)
    return files[page.file.dest_uri]


def _make_files(state: BuildState, page: Page, known: PageState, html: str) -> dict[str, str]:
    """The files of a page by their places; cached if nothing is wrong with them."""
    source, messages = known.source, state.session.listener.messages
    left = {(text, f"left in the page: {text}") for _, text in find_unrendered(html)}
    left |= set(find_forbidden(html))
    state.failures += [
        Failure(source.path, source.find_line(text), message) for text, message in left
    ]
    is_warned = any(page.file.src_uri in message for message in messages)
    known.is_clean = known.is_clean and not (left or is_warned)
    files = {page.file.dest_uri: _remove_indents(html)}
    try:
        files |= _make_copies(state, known)
    except Failure as failure:
        state.failures.append(failure)
        return files
    if known.is_clean and known.rendered:
        state.page_cache.put(known.key, known.rendered, files)
    return files


def _remove_indents(html: str) -> str:
    """A page without the indents of its templates; its text stays as it is."""
    before, text, after = re.split(r"(?s)(<article.*</article>)", html, maxsplit=1)
    return INDENT.sub("\n", before) + text + INDENT.sub("\n", after)


def _make_copies(state: BuildState, known: PageState) -> dict[str, str]:
    """The Markdown copy, the notebook and the other files of a page, by their places."""
    build = state.build
    if known.source.untranslated:  # it offers those of its original
        return {}
    assembled = known.assembled or build.assemble(known.source)
    published = build.published[known.source.path]
    found = {published.markdown: markdown_copy(assembled, published, build.catalogue)}
    if published.notebook:
        whole = make_notebook(assembled, published, build.catalogue)
        found[published.notebook] = whole
        if published.answers:
            asked = make_notebook(assembled, published, build.catalogue, answers=False)
            found |= {published.notebook: asked, published.answers: whole}
    if published.bank:
        store = state.page_cache.store
        questions = [*list_questions(assembled, published, build.catalogue, store)]
        number = build.numbered.get(known.source.slug, 0)
        chapter = f"{number:02d} {known.source.title}"
        site = published.site_name
        found[published.bank] = write_bank(questions, chapter, site, assembled.locale)
        words = assembled.locale["site"]["banks"]
        found[published.assessment] = write_assessment(
            questions, known.source.slug, f"{site}: {chapter}", words
        )
    if published.listing and published.translated:
        found[published.listing] = translate_listing(assembled.page)
    if build.target.live and assembled.page.blocks:
        document = live_pages.make_document(assembled)
        found[live_pages.make_path(assembled.page)] = json.dumps(document, ensure_ascii=False)
    if panel := _describe_panel(state, published):
        found[published.panel] = json.dumps(panel, ensure_ascii=False)
    return found | assembled.files


def _locate_search(build: Build, lang: str, url: str) -> str:
    """The folder of a language's search index, as a page finds it; "" for that of the first."""
    folder = build.addresses.find_folder(lang)
    return make_relative(folder, url) if folder else ""


def _describe_translation(state: BuildState, source: Source) -> dict[str, str]:
    """The note on a page that is not yet translated, and what HTML calls the language it is in."""
    if not source.untranslated:
        return {}
    return {"note": _make_note(state, source), "text_tag": state.build.tags[source.text_lang]}


def _make_note(state: BuildState, source: Source) -> str:
    """The note on a page that is not yet translated, in English until somebody translates it."""
    build, published = state.build, state.build.published[source.path]
    words, english = build.read_locale(source.lang), build.read_locale(source.text_lang)
    is_own = words["site"]["untranslated"]["note"] != english["site"]["untranslated"]["note"]
    tag = build.tags[source.lang if is_own else source.text_lang]
    original = make_relative(published.text_url, published.url)
    return untranslated.make_note(words, tag, original, build.target.repository)
