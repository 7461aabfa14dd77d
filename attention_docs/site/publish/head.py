"""What a page says of itself in its head, and what the sitemap says of all of them.

The templates in `theme/` write it down.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attention_docs.site.addresses import Addresses
from attention_docs.site.publish import card
from attention_docs.site.publish.catalogue import MARKDOWN, Placed
from attention_docs.words import words

REL = "alternate "
"""The space counts for nothing, except that the theme's script looks for `link[rel=alternate]` and
would ask for a sitemap beside each page that such a link names."""


def head(
    of: Placed, addresses: Addresses, site_url: str, drawn: card.Card | None
) -> dict[str, Any]:
    """The links and properties of a page's head."""
    lang = of.page.lang
    links = [{"rel": REL, "type": "text/markdown", "href": MARKDOWN}]
    shared = [
        ("og:type", "website" if of.page.slug == "index" else "article"),
        ("og:site_name", of.site_name),
        ("og:title", of.page.title),
        ("og:description", of.description),
        ("og:locale", words(lang)["site"]["locale"]),
    ]
    others = [other for other in addresses.languages if other != lang]
    shared += [("og:locale:alternate", words(other)["site"]["locale"]) for other in others]
    if site_url:  # these are read away from the page: absolute addresses or none
        links += [
            {"rel": REL, "hreflang": code, "href": address}
            for code, address in alternates(of.page.slug, addresses, site_url)
        ]
        shared.append(("og:url", site_url + of.url))
    if drawn:
        shared += [
            ("og:image", site_url + card.NAME),
            ("og:image:width", str(drawn.size[0])),
            ("og:image:height", str(drawn.size[1])),
            ("og:image:alt", drawn.alt[lang]),
        ]
    return {"links": links, "properties": shared, "card": bool(drawn)}


def alternates(slug: str, addresses: Addresses, site_url: str) -> list[tuple[str, str]]:
    """The addresses of a page in every language, and where others go."""
    twins = addresses.twins(slug)
    found = [*twins.items(), ("x-default", twins[addresses.languages[0]])]
    return [(code, site_url + url) for code, url in found]


def sitemap(pages: Iterable[Placed], addresses: Addresses, site_url: str) -> list[dict[str, Any]]:
    """All pages with their twins; no dates, which would differ from day to day."""
    return [
        {
            "address": site_url + one.url,
            "alternates": alternates(one.page.slug, addresses, site_url),
        }
        for one in pages
    ]
