"""The picture shown where a page is shared: the sentence of the first page, and the formula.

One serves all languages: its few words are English, so that no Chinese font is needed, and the
alternative text says in each language what it shows.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from attention_docs.colours import read_palette
from attention_docs.locales import Locale
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
    code = Modules(root).hash_needed(["attention_docs.site.publish.share_card"])
    font = hashlib.sha256((root / FONT).read_bytes()).hexdigest()
    alts = [f"{lang}: {locale(lang)['site']['card']['alt']}" for lang in languages]
    colours = str(read_palette("light"))
    key = make_key("card", code, colours, font, version("pillow"), version("numpy"), *alts)
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


def _describe(weights: Sequence[str], site: Locale) -> str:
    """The alternative text, with the weights."""
    return str(site["card"]["alt"].format(site["marks"]["comma"].join(weights)))
