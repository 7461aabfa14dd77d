"""Being found: what a page says of itself in its head, the sitemap, the card, the page for 404."""

from __future__ import annotations

import base64
import gzip
import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attention_docs.figures.card import SIZE, card_png
from attention_docs.site import depends
from attention_docs.site.store import Store, key_of
from attention_docs.site.takeaway import MARKDOWN, Copy

LOCALES = {"en": "en_GB", "zh": "zh_CN"}
ALTERNATE = re.compile(r'\s*<link rel="alternate" href="[^"]*" hreflang="[^"]*">')
REL = "alternate "
"""The space counts for nothing, except that the theme's script looks for `link[rel=alternate]` and
would ask for a sitemap beside each page that such a link names."""
TWICE = re.compile(r"<title>(?P<name>.+) - (?P=name)</title>")
CARD = "card.png"
FONTS = "docs/assets/katex/fonts"


def addresses(url: str) -> dict[str, str]:
    """The addresses of a page and its twin, by language.

    Examples:
        >>> addresses("zh/scaling/")
        {'en': 'scaling/', 'zh': 'zh/scaling/'}
    """
    plain = re.sub("^zh/", "", url)
    return {"en": plain, "zh": f"zh/{plain}"}


def head(output: str, copy: Copy, site_url: str, card: Card | None) -> str:
    """The page's HTML with its languages, its Markdown copy, and what shows where it is shared."""
    lang = copy.woven.lang
    tags = [f'<link rel="{REL}" type="text/markdown" href="{MARKDOWN}">']
    shared = {
        "og:type": "website" if copy.url in addresses("").values() else "article",
        "og:site_name": copy.site_name,
        "og:title": copy.title,
        "og:description": copy.description,
        "og:locale": LOCALES[lang],
        "og:locale:alternate": next(LOCALES[other] for other in LOCALES if other != lang),
    }
    if site_url:  # these are read away from the page: absolute addresses or none
        tags += [
            f'<link rel="{REL}" hreflang="{code}" href="{site_url}{where}">'
            for code, where in _alternates(copy.url)
        ]
        shared["og:url"] = site_url + copy.url
    if card:
        shared |= {
            "og:image": site_url + CARD,
            "og:image:width": str(SIZE[0]),
            "og:image:height": str(SIZE[1]),
            "og:image:alt": card.alt[lang],
        }
        tags.append('<meta name="twitter:card" content="summary_large_image">')
    tags += [
        f'<meta property="{name}" content="{html.escape(content)}">'
        for name, content in shared.items()
    ]
    top, end, rest = output.partition("</head>")
    top = TWICE.sub(r"<title>\g<name></title>", ALTERNATE.sub("", top))
    return top + "\n".join([*tags, ""]) + end + rest


def _alternates(url: str) -> list[tuple[str, str]]:
    twins = addresses(url)
    return [*twins.items(), ("x-default", twins["en"])]


def sitemap(built: Path, site_url: str, urls: Iterable[str]) -> None:
    """All pages in both languages; no dates, which would differ from day to day."""
    for name in ("sitemap.xml", "sitemap.xml.gz"):
        (built / name).unlink(missing_ok=True)
    if not site_url:  # a sitemap holds absolute addresses or nothing
        return
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        'xmlns:xhtml="http://www.w3.org/1999/xhtml">'
    )
    for url in urls:
        lines.append(f"<url><loc>{site_url}{url}</loc>")
        for code, where in _alternates(url):
            link = f'<xhtml:link rel="alternate" hreflang="{code}" href="{site_url}{where}"/>'
            lines.append(link)
        lines.append("</url>")
    content = "\n".join([*lines, "</urlset>", ""]).encode()
    (built / "sitemap.xml").write_bytes(content)
    (built / "sitemap.xml.gz").write_bytes(gzip.compress(content, mtime=0))


def not_found(output: str, site_url: str) -> str:
    """The page for 404, in both languages; it is served at any address, so links are absolute."""
    base = urlsplit(site_url).path or "/"
    content = (
        f'<h1>This page does not exist</h1><p>Start from the <a href="{base}">first page</a>, '
        "or search for what you want.</p>"
        f'<div lang="zh"><h2>没有这个页面</h2><p>请从<a href="{base}zh/">首页</a>找起，'
        "或者搜索你要的内容。</p></div>"
    )
    output = ALTERNATE.sub("", output).replace("<h1>404 - Not found</h1>", content)
    output = output.replace("<title>", "<title>404 - ", 1)
    return output.replace("</head>", '<meta name="robots" content="noindex">\n</head>', 1)


@dataclass(frozen=True)
class Card:
    """The picture shown where a page is shared, and what it shows in words.

    It holds no words itself, so one serves both languages and no Chinese font is needed.
    """

    png: bytes
    alt: dict[str, str]


def card(root: Path, store: Store) -> Card:
    """The card, drawn once as long as nothing that it depends on has changed."""
    code = depends.digest(["attention_docs.site.found"], root)
    key = key_of("card", code, version("pillow"), version("numpy"))
    record = store.get(key)
    if record is None:
        png = card_png(_weights().tolist(), root / FONTS)
        record = {"png": base64.b64encode(png).decode(), "alt": _alt()}
        store.put(key, record)
    return Card(base64.b64decode(record["png"]), record["alt"])


def _alt() -> dict[str, str]:
    from attention_docs.text import text

    rows = [text(row, ".4f") for row in _weights()]
    return {
        "en": f"The formula of scaled dot-product attention, a map of weights: {', '.join(rows)}.",
        "zh": f"缩放点积注意力的公式和一张权重图：{'、'.join(rows)}。",
    }


def _weights() -> Any:
    from attention_docs.attention_function import attention
    from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE

    return attention(INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE)[1]
