"""Old addresses lead to where their content is now.

A page that is gone leaves a page of links behind, whose script follows the one that was asked for;
a page that lost anchors hands their new addresses to `site.js`.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

from attention_docs.site.addresses import Addresses, make_relative
from attention_docs.site.publish.staging import write_text
from attention_docs.site.read.moved import Moved
from attention_docs.site.read.page import Page

TEMPLATE = """<!doctype html>
<html lang="{tag}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
</head>
<body>
<h1><a href="{target}">{title}</a></h1>
<ul>
{items}
</ul>
<script>
(() => {{
  let name = location.hash.slice(1);
  try {{ name = decodeURIComponent(name); }} catch {{ /* no address of this site */ }}
  const asked = document.getElementById(name);
  location.replace((asked ?? document).querySelector("a").href);
}})();
</script>
</body>
</html>
"""


def find_addresses(moved: Moved, addresses: Addresses, lang: str, slug: str) -> dict[str, str]:
    """The old anchors of a page, with links from it to where each is now."""
    start, found = addresses.find_address(lang, slug), {}
    for old, place in moved.get(slug, {}).items():
        target, _, anchor = place.partition("#")
        link = make_relative(addresses.find_address(lang, target), start)
        found[old] = f"{link}#{anchor}"
    return found


def write_redirects(
    stage: Path,
    moved: Moved,
    addresses: Addresses,
    pages: Mapping[str, Mapping[str, Page]],
    tags: Mapping[str, str],
) -> None:
    """Write a page for each one that is gone, in every language."""
    for lang, known in pages.items():
        for slug in sorted(moved.keys() - known.keys()):
            links = find_addresses(moved, addresses, lang, slug)
            title = known[moved[slug][""].partition("#")[0]].title
            items = [
                f'<li id="{escape(old)}"><a href="{escape(link)}">{escape(old)}</a></li>'
                for old, link in links.items()
                if old
            ]
            text = TEMPLATE.format(
                tag=tags[lang],
                target=escape(links[""]),
                title=escape(title),
                items="\n".join(items),
            )
            write_text(stage / addresses.find_address(lang, slug) / "index.html", text)
