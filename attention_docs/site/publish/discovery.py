"""What machines find: a page as schema.org data, a feed of editions, a manifest to install it.

Addresses of pages are relative where the site has none of its own; feed and manifest need one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from attention_docs.colours import read_palette
from attention_docs.locales import Locale
from attention_docs.site.addresses import HOME, make_relative
from attention_docs.site.publish.catalogue import Catalogue, PublishedPage
from attention_docs.site.publish.staging import write_text
from attention_docs.site.read.editions import LIST
from attention_docs.site.read.page import find_asking
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.cite import Citation, read_citation

MANIFEST = "manifest.webmanifest"
FEED = "editions.xml"
LICENCE = "https://creativecommons.org/licenses/by/4.0/"
ICON = "assets/map.svg"


def describe_resource(
    of: PublishedPage, catalogue: Catalogue, number: int | None, citation: Citation | None
) -> dict[str, Any]:
    """A page as schema.org has it: the home page as a course, all others as parts of it.

    No time is named: nobody has measured one.
    """
    page, is_home = of.page, of.page.slug == HOME
    found: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Course" if is_home else "LearningResource",
        "name": of.site_name if is_home else page.title,
        "description": of.description,
        "inLanguage": catalogue.tags[page.text_lang],
        "license": LICENCE,
        "isAccessibleForFree": True,
    }
    if citation:
        found |= {"author": {"@type": "Organization", "name": citation.author}}
        found |= {"version": citation.version}
    if page.question:
        found["teaches"] = page.question
    if number:
        found |= {"learningResourceType": "chapter", "position": number}
    if catalogue.site_url:
        found["url"] = catalogue.site_url + of.text_url
    translations = catalogue.find_translations(page.slug)
    others = [url for lang, url in translations.items() if lang != page.text_lang]
    key = "workTranslation" if page.text_lang == next(iter(translations)) else "translationOfWork"
    chosen = others if key == "workTranslation" else others[:1]
    found[key] = [{"@id": _place(url, of, catalogue)} for url in chosen]
    if not is_home:
        home = catalogue.find_translations(HOME).get(page.text_lang, "")
        found["isPartOf"] = {"@type": "Course", "@id": _place(home, of, catalogue)}
    return found


def _place(url: str, of: PublishedPage, catalogue: Catalogue) -> str:
    return catalogue.site_url + url if catalogue.site_url else make_relative(url, of.url)


def make_manifest(of: PublishedPage) -> dict[str, Any]:
    """What a browser needs to install the site in the language of its home page."""
    paper = read_palette("light")["figure-page"]
    return {
        "name": of.site_name,
        "description": of.description,
        "lang": of.page.lang,
        "start_url": "./",
        "scope": "./",
        "display": "standalone",
        "background_color": paper,
        "theme_color": paper,
        "icons": [{"src": make_relative(ICON, of.url), "sizes": "any", "type": "image/svg+xml"}],
    }


def make_feed(
    home: PublishedPage,
    catalogue: Catalogue,
    entries: Sequence[Mapping[str, Any]],
    place: str,
    citation: Citation,
    locale: Locale,
) -> str:
    """The editions of the site with their errata as an Atom feed, the newest first.

    `place` is the address of the page that lists them.
    """
    base, lang = catalogue.site_url, home.page.lang
    page = base + place
    dates = [f"{one['date']}T00:00:00Z" for one in entries] or [f"{citation.date}T00:00:00Z"]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{catalogue.tags[lang]}">',
        f"<title>{escape(home.site_name)}</title>",
        f"<id>{base}{home.url}{FEED}</id>",
        f'<link rel="self" href="{base}{home.url}{FEED}"/>',
        f'<link href="{page}"/>',
        f"<updated>{dates[-1]}</updated>",
        f"<author><name>{escape(citation.author)}</name></author>",
        f"<rights>{LICENCE}</rights>",
    ]
    for entry, date in reversed([*zip(entries, dates, strict=False)]):
        address = f"{page}#edition-{entry['id'].replace('.', '-')}"
        said = locale["site"]["cite"]["edition"].format(entry["id"])
        lines += [
            f"<entry><title>{escape(said[:1].upper() + said[1:])}</title>",
            f'<id>{address}</id><link href="{address}"/><updated>{date}</updated>',
            f"<summary>{escape(_summarise(entry, lang, locale))}</summary></entry>",
        ]
    return "\n".join([*lines, "</feed>\n"])


def _summarise(entry: Mapping[str, Any], lang: str, locale: Locale) -> str:
    words, marks = locale["site"]["editions"], locale["site"]["marks"]
    said = [words["published"].format(date=entry["date"], results=len(entry["numbers"]))]
    if errata := entry.get(f"errata_{lang}"):
        said.append(f"{words['errata']}{marks['colon']}{marks['space'].join(errata)}")
    return str(marks["space"].join(said))


def has_feed(catalogue: Catalogue) -> bool:
    """Whether there are editions, and addresses to name them by."""
    return bool(catalogue.site_url) and (catalogue.root / LIST).is_file()


def write_files(stage: Path, home: PublishedPage, catalogue: Catalogue, chapters: Chapters) -> None:
    """Write what the heads of the pages of a language link to: its manifest and its feed."""
    folder, citation = stage / home.url, read_citation(catalogue.root)
    if catalogue.site_url:
        manifest = json.dumps(make_manifest(home), ensure_ascii=False, indent=1)
        write_text(folder / MANIFEST, f"{manifest}\n")
    if citation and has_feed(catalogue):
        entries = chapters.read_records("editions")
        page = find_asking(chapters.pages, "editions") or home.page
        place = catalogue.addresses.find_address(home.page.lang, page.slug)
        feed = make_feed(home, catalogue, entries, place, citation, chapters.locale)
        write_text(folder / FEED, feed)
