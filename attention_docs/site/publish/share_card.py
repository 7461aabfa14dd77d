"""The pictures shown where a page is shared.

A chapter has its own, with its number, its glyph and, where the font of the formulas has the signs,
its title. All other pages share one: the sentence of the first page, and the formula. Its few words
are English, and the alternative text says in each language what it shows.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from attention_docs.colours import read_palette
from attention_docs.locales import Locale
from attention_docs.site.publish.catalogue import Catalogue, PublishedPage
from attention_docs.site.render.cards import read_glyph
from attention_docs.site.run.imports import Modules
from attention_docs.site.store import Store, make_key

NAME = "card.png"
FONT = "docs/assets/fonts/attention-math.woff2"


@dataclass(frozen=True)
class Card:
    """The picture, and what it shows in words."""

    png: bytes
    alt: dict[str, str]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, as the picture itself says."""
        width, height = struct.unpack(">II", self.png[16:24])
        return width, height


def make_card(
    languages: Sequence[str], locale: Callable[[str], Locale], root: Path, store: Store
) -> Card:
    """The card, made once as long as nothing that it depends on has changed."""
    alts = [f"{lang}: {locale(lang)['site']['card']['alt']}" for lang in languages]
    key = make_key("card", *_list_makers(root), *alts)
    record = store.get(key)
    if record is None:
        # These need NumPy, and few builds draw a card.
        from attention_docs.figures.share_card import compute_card_weights, draw_card
        from attention_docs.text import number

        weights = compute_card_weights()
        png, shown = draw_card(weights, root / FONT), [number(one, ".2f") for one in weights]
        alt = {lang: _describe(shown, locale(lang)["site"]) for lang in languages}
        record = {"png": base64.b64encode(png).decode(), "alt": alt}
        store.put(key, record)
    return Card(base64.b64decode(record["png"]), record["alt"])


def _list_makers(root: Path) -> list[str]:
    """What every card depends on."""
    code = Modules(root).hash_needed(["attention_docs.site.publish.share_card"])
    font = hashlib.sha256((root / FONT).read_bytes()).hexdigest()
    return [code, str(read_palette("light")), font, version("pillow"), version("numpy")]


def find_card(of: PublishedPage) -> str:
    """The path of a page's card."""
    return f"{of.url}{NAME}" if read_glyph(of.page.slug) else NAME


def describe_card(of: PublishedPage, shared: Card) -> str:
    if not read_glyph(of.page.slug):
        return shared.alt[of.page.text_lang]
    return str(of.locale["site"]["card"]["chapter"].format(of.page.title))


def write_chapter_cards(
    built: Path, catalogue: Catalogue, numbers: Mapping[str, int], root: Path, store: Store
) -> None:
    """The card of each chapter beside its page; those without a title serve several languages."""
    makers = _list_makers(root)
    for of in catalogue.pages:
        glyph = read_glyph(of.page.slug)
        if glyph:
            number, title = str(numbers.get(of.page.slug, "")), find_title(root, of.page.title)
            key = make_key("card", *makers, number, title, glyph)
            png = _draw_chapter((number, title, glyph), root / FONT, key, store)
            (built / find_card(of)).write_bytes(png)


def find_title(root: Path, title: str) -> str:
    """A title that the font can write, else ""; an index, which it lacks, is a small letter."""
    known = _read_signs(root / FONT)
    return title if all(ord(sign) in known for sign in title.replace("ₖ", "")) else ""


@cache
def _read_signs(font: Path) -> frozenset[int]:
    from fontTools.ttLib import TTFont  # few builds draw a card

    return frozenset(TTFont(font).getBestCmap())


def _draw_chapter(what: tuple[str, str, str], font: Path, key: str, store: Store) -> bytes:
    """The card of a chapter: from the store, or drawn."""
    record = store.get(key)
    if record is None:
        from attention_docs.figures.share_card import draw_chapter_card

        record = {"png": base64.b64encode(draw_chapter_card(*what, font)).decode()}
        store.put(key, record)
    return base64.b64decode(record["png"])


def _describe(weights: Sequence[str], site: Locale) -> str:
    """The alternative text, with the weights."""
    return str(site["card"]["alt"].format(site["marks"]["comma"].join(weights)))
