"""Cards: a list whose items begin with a link, `[title](page.md){ .card }`, and say what is there.

Where all of them are chapters, each has its number and its glyph, a small matrix
(theme/.icons/chapter); other cards have their place in the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown

GLYPHS = Path(__file__).parents[1] / "theme" / ".icons" / "chapter"


def find_card_title(item: Element) -> Element | None:
    """The title of a card, or None for another element."""
    inside = item[0] if item.tag == "li" and len(item) else None
    if inside is not None and inside.tag == "p":  # a list with empty lines
        inside = inside[0] if len(inside) else None
    return inside if inside is not None and "card" in inside.get("class", "").split() else None


@cache
def read_glyph(slug: str) -> str:
    """The small matrix of a chapter as SVG, or nothing for another page."""
    path = GLYPHS / f"{slug}.svg"
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def lay_out_cards(root: Element, numbers: Mapping[str, int], md: Markdown) -> None:
    """Number and glyph before a card's title, its text after it; `numbers` are the chapters'."""
    for cards in root.iter():
        items = [(item, title) for item in cards if (title := find_card_title(item)) is not None]
        slugs = [title.get("href", "").partition(".md")[0] for _, title in items]
        chapters = any(map(read_glyph, slugs))  # the last card of a part may be its end
        if items:
            cards.set("class", "cards chapters" if chapters else "cards")
        for place, ((item, title), slug) in enumerate(zip(items, slugs, strict=True), start=1):
            number = "" if chapters and slug not in numbers else str(numbers.get(slug, place))
            _lay_out_card(item, title, number)
            if read_glyph(slug):
                mark = Element("span", {"class": "glyph", "aria-hidden": "true"})
                mark.text = md.htmlStash.store(read_glyph(slug))
                item.insert(0, mark)


def _lay_out_card(item: Element, title: Element, number: str) -> None:
    inside = list(item[0]) if item[0].tag == "p" else list(item)
    text, title.tail = title.tail, None
    item[:] = []
    item.text = None
    SubElement(item, "span", {"class": "number", "aria-hidden": "true"}).text = number
    item.set("class", title.get("class", ""))
    title.set("class", "card-title")
    item.append(title)
    description = SubElement(item, "span", {"class": "said"})
    description.text = (text or "").lstrip()
    description.extend(inside[inside.index(title) + 1 :])
