"""Each part of the site as a book, EPUB 3: its chapters in their order, the answers at the end.

A book is made from the built pages. It is taken again while these are the same, so a build makes
only those books anew in which a chapter has changed.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import lxml.etree

from attention_docs.site.publish.archive import DATE, add_entry
from attention_docs.site.publish.book_text import ANSWERS, MATHML, SVG, Chapter, read_chapter
from attention_docs.site.publish.catalogue import PublishedPage
from attention_docs.site.render.cite import Citation
from attention_docs.site.run.imports import Modules
from attention_docs.site.store import Store, make_key

MODULE = "attention_docs.site.publish.epub"
CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles>
<rootfile full-path="book/book.opf" media-type="application/oebps-package+xml"/>
</rootfiles>
</container>
"""
PAGE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"
  lang="{lang}" xml:lang="{lang}">
<head><meta charset="utf-8"/><title>{title}</title><link rel="stylesheet" href="book.css"/></head>
<body>{body}</body>
</html>
"""
PACKAGE = """<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"
  xml:lang="{lang}">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{name}</dc:identifier>
<dc:title>{title}</dc:title>
<dc:language>{lang}</dc:language>
<dc:creator>{author}</dc:creator>
<dc:description>{edition}</dc:description>
<dc:rights>CC BY 4.0</dc:rights>
<dc:date>{date}</dc:date>
<meta property="dcterms:modified">{date}T00:00:00Z</meta>
{accessibility}
</metadata>
<manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="css" href="book.css" media-type="text/css"/>
{items}
</manifest>
<spine>
<itemref idref="nav"/>
{spine}
</spine>
</package>
"""
ACCESSIBILITY = [("accessMode", "textual"), ("accessMode", "visual")]
ACCESSIBILITY += [("accessModeSufficient", "textual"), ("accessibilityHazard", "none")]
ACCESSIBILITY += [
    ("accessibilityFeature", one)
    for one in ("MathML", "alternativeText", "structuralNavigation", "tableOfContents")
]
STYLE = """body { line-height: 1.5; }
pre { white-space: pre-wrap; font-size: 0.8em; }
table { border-collapse: collapse; font-size: 0.85em; }
th, td { padding: 0.1em 0.6em; text-align: left; }
.number { text-align: right; }
section.answer, section.hint, .result, .exercise, .guess, .deeper, .fold { margin: 1em 0; }
.deeper, .fold, .result, .exercise, .guess { padding-left: 0.8em; border-left: 2px solid #999; }
.fold-title, .result-title, .exercise-title, .guess-question { font-weight: bold; }
.exercise-title span, .result-title span { margin-right: 0.5em; }
.step, .formula { display: block; margin: 0.4em 0; }
.reason { margin-left: 1em; font-size: 0.85em; color: #555; }
figcaption, .caption { font-size: 0.85em; color: #555; }
svg { height: auto; }
"""


@dataclass(frozen=True)
class Book:
    """A part in a language: what is printed on it, and its pages in their order.

    Attributes:
        first: the number of its first chapter.
    """

    id: str
    title: str
    lang: str
    first: int
    pages: Sequence[PublishedPage]
    words: Mapping[str, str]

    @property
    def target(self) -> str:
        return self.pages[0].book


def write_books(
    built: Path, books: Sequence[Book], citation: Citation | None, base: str, store: Store
) -> None:
    """Write all books into a built site; `base` is its address, or ""."""
    code = Modules(Path(__file__).parents[3]).hash_needed([MODULE])
    for book in books:
        texts = [(built / one.url / "index.html").read_text("utf-8") for one in book.pages]
        named = (base, str(citation), book.title, str(book.first))
        key = make_key("book", code, *named, *book.words.values(), *texts)
        kept = store.folder / "book" / f"{key}.epub"
        store.used.add(key)
        if not kept.is_file():
            kept.parent.mkdir(parents=True, exist_ok=True)
            part = kept.with_name(f"{key}.{os.getpid()}.part")
            pack_book(built, book, citation, base, part)
            part.replace(kept)
        (built / book.target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept, built / book.target)


def pack_book(built: Path, book: Book, citation: Citation | None, base: str, target: Path) -> None:
    slugs = {one.url.rstrip("/"): one.page.slug for one in book.pages}
    chapters = [
        read_chapter(
            built / one.url / "index.html",
            one.page.slug,
            number,
            partial(_find_target, slugs, one.url, base),
            book.words,
        )
        for number, one in enumerate(book.pages, start=book.first)
    ]
    _relink(chapters)
    files = {f"{one.slug}.xhtml": _write_page(book, one.title, [one.body]) for one in chapters}
    files[ANSWERS] = _write_answers(book, chapters)
    texts = {
        "META-INF/container.xml": CONTAINER,
        "book/book.opf": _write_package(book, files, citation),
        "book/nav.xhtml": _write_contents(book, chapters),
        "book/book.css": STYLE,
        **{f"book/{name}": text for name, text in files.items()},
    }
    with zipfile.ZipFile(target, "w") as packed:
        packed.writestr(zipfile.ZipInfo("mimetype", DATE), "application/epub+zip")
        for name, text in texts.items():
            add_entry(packed, name, text, level=9)


def _relink(chapters: Sequence[Chapter]) -> None:
    """Let links to what stands in an answer lead to the answers."""
    moved = {
        f"{one.slug}.xhtml#{name.removeprefix(f'{one.slug}-')}": f"{ANSWERS}#{name}"
        for one in chapters
        for answer in one.answers
        for name in answer.xpath("*[@class='answer' or @class='hint']//@id")
    }
    for one in chapters:
        for part in (one.body, *one.answers):
            for link in part.xpath(".//*[@href]"):
                link.set("href", moved.get(link.get("href"), link.get("href")))


def _find_target(slugs: Mapping[str, str], url: str, base: str, href: str) -> str:
    """A link of a page as one of the book; to the rest of the site only if it has an address."""
    if re.match(r"https?:", href) or href.startswith(ANSWERS):
        return href
    path, _, place = href.partition("#")
    target = posixpath.normpath(posixpath.join(url, path)) if path else url.rstrip("/")
    if target in slugs and not path.startswith("?"):
        return f"{slugs[target]}.xhtml" + (f"#{place}" if place else "")
    slash = "/" * (path.endswith("/") or not path)
    return f"{base}{target}{slash}" + (f"#{place}" if place else "") if base and href else ""


def _write_page(book: Book, title: str, parts: Sequence[Any]) -> str:
    body = "".join(lxml.etree.tostring(one, encoding="unicode") for one in parts)
    return PAGE.format(lang=book.lang, title=escape(title), body=body)


def _write_answers(book: Book, chapters: Sequence[Chapter]) -> str:
    title = book.words["answers"]
    page = _write_page(book, title, [])
    parts = [f"<h1>{escape(title)}</h1>"]
    for chapter in chapters:
        if chapter.answers:
            parts.append(f'<h2 id="of-{chapter.slug}">{escape(chapter.title)}</h2>')
        parts += (lxml.etree.tostring(one, encoding="unicode") for one in chapter.answers)
    return page.replace("<body></body>", f"<body>{''.join(parts)}</body>")


def _write_contents(book: Book, chapters: Sequence[Chapter]) -> str:
    """The table of contents, with the sections of each chapter."""

    def link(target: str, title: str, inner: str = "") -> str:
        return f'<li><a href="{target}">{escape(title)}</a>{inner}</li>'

    items = []
    for one in chapters:
        file = f"{one.slug}.xhtml"
        inner = "".join(link(f"{file}#{name}", title) for name, title in one.sections)
        items.append(link(file, one.title, f"<ol>{inner}</ol>" if inner else ""))
    items.append(link(ANSWERS, book.words["answers"]))
    title = escape(book.title)
    about = f"<p>{escape(book.words['summary'])} {escape(book.words['live'])}</p>"
    contents = f'<nav epub:type="toc" role="doc-toc"><ol>{"".join(items)}</ol></nav>'
    return PAGE.format(lang=book.lang, title=title, body=f"<h1>{title}</h1>{about}{contents}")


def _write_package(book: Book, files: Mapping[str, str], citation: Citation | None) -> str:
    def describe(name: str, text: str) -> str:
        spaces = {"mathml": MATHML, "svg": SVG}
        held = " ".join(one for one, space in spaces.items() if f'"{space}"' in text)
        properties = f' properties="{held}"' if held else ""
        kind = "application/xhtml+xml"
        return f'<item id="{name[:-6]}" href="{name}" media-type="{kind}"{properties}/>'

    date = citation.date if citation else "1980-01-01"
    edition = citation.version if citation else ""
    meta = [f'<meta property="schema:{name}">{said}</meta>' for name, said in ACCESSIBILITY]
    summary = f'<meta property="schema:accessibilitySummary">{book.words["summary"]}</meta>'
    return PACKAGE.format(
        lang=book.lang,
        name=uuid.uuid5(uuid.NAMESPACE_URL, f"attention-docs {book.lang} {book.id} {edition}"),
        title=escape(book.title),
        author=escape(citation.author if citation else "–"),
        edition=escape(edition or "–"),
        date=date,
        accessibility="\n".join([*meta, summary]),
        items="\n".join(describe(*one) for one in files.items()),
        spine="\n".join(f'<itemref idref="{name[:-6]}"/>' for name in files),
    )


def list_books(
    pages: Sequence[PublishedPage], titles: Mapping[str, str], tag: str
) -> Iterator[Book]:
    """The books of a language, from its pages in the order of reading."""
    names = [one.book for one in pages if one.book]
    for name in dict.fromkeys(names):
        own = [one for one in pages if one.book == name]
        locale = own[0].locale["site"]
        part = posixpath.basename(name).removesuffix(".epub")
        title = f"{own[0].site_name}{locale['marks']['colon']}{titles[part]}"
        yield Book(part, title, tag, names.index(name) + 1, own, locale["book"])
