"""The links and properties in the head of a page, and the entries of the sitemap.

The templates in `theme/` write it down.
"""

from __future__ import annotations

from typing import Any

from attention_docs.site.addresses import HOME, make_relative
from attention_docs.site.publish import share_card
from attention_docs.site.publish.catalogue import Catalogue, PublishedPage
from attention_docs.site.publish.discovery import FEED, MANIFEST, has_feed

REL = "alternate "
"""The space counts for nothing, except that the theme's script looks for `link[rel=alternate]` and
would ask for a sitemap beside each page that such a link names."""


def make_head(
    of: PublishedPage, catalogue: Catalogue, picture: share_card.Card | None
) -> dict[str, Any]:
    """The links and properties of a page's head."""
    lang, site_url = of.page.text_lang, catalogue.site_url
    links = [{"rel": REL, "type": "text/markdown", "href": make_relative(of.markdown, of.url)}]
    shared = [
        ("og:type", "website" if of.page.slug == HOME else "article"),
        ("og:site_name", of.site_name),
        ("og:title", of.page.title),
        ("og:description", of.description),
        ("og:locale", catalogue.locales[lang]),
    ]
    others = (locale for other, locale in catalogue.locales.items() if other != lang)
    shared += [("og:locale:alternate", locale) for locale in others]
    if site_url:  # these are read away from the page: absolute addresses or none
        home = catalogue.addresses.find_folder(of.page.lang)
        links.append({"rel": "manifest", "href": make_relative(home + MANIFEST, of.url)})
        if has_feed(catalogue):
            feed = make_relative(home + FEED, of.url)
            links.append({"rel": REL, "type": "application/atom+xml", "href": feed})
        links += [
            {"rel": REL, "hreflang": code, "href": address}
            for code, address in list_alternates(of.page.slug, catalogue)
        ]
        shared.append(("og:url", site_url + of.text_url))
    if picture:
        shared += [
            ("og:image", site_url + share_card.find_card(of)),
            ("og:image:width", str(picture.size[0])),
            ("og:image:height", str(picture.size[1])),
            ("og:image:alt", share_card.describe_card(of, picture)),
        ]
    return {"links": links, "properties": shared, "card": bool(picture)}


def list_alternates(slug: str, catalogue: Catalogue) -> list[tuple[str, str]]:
    """The addresses of a page in every language that has it, and where others go."""
    translations = catalogue.find_translations(slug)
    found = [(catalogue.tags[lang], url) for lang, url in translations.items()]
    found.append(("x-default", found[0][1]))
    return [(code, catalogue.site_url + url) for code, url in found]


def list_sitemap(catalogue: Catalogue) -> list[dict[str, Any]]:
    """All pages with their translations; no dates, which would differ from day to day."""
    return [
        {
            "address": catalogue.site_url + one.url,
            "alternates": list_alternates(one.page.slug, catalogue),
        }
        for one in catalogue.pages
        if not one.page.untranslated
    ]
