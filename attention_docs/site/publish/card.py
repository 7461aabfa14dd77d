"""The picture shown where a page is shared: the formula and a map of weights.

It holds no words itself, so one serves all languages and no Chinese font is needed.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attention_docs.colours import read_palette
from attention_docs.site.run.imports import Modules
from attention_docs.site.store import Store, key_of
from attention_docs.words import Words

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


def card(languages: Sequence[str], words: Callable[[str], Words], root: Path, store: Store) -> Card:
    """The card, made once as long as nothing that it depends on has changed."""
    code = Modules(root).digest(["attention_docs.site.publish.card"])
    font = hashlib.sha256((root / FONT).read_bytes()).hexdigest()
    said = [f"{lang}: {words(lang)['site']['card']['alt']}" for lang in languages]
    colours = str(read_palette("light"))
    key = key_of("card", code, colours, font, version("pillow"), version("numpy"), *said)
    record = store.get(key)
    if record is None:
        from attention_docs.figures.card import card_png  # with NumPy, which few builds need

        png = card_png(_weights().tolist(), root / FONT)
        alt = {lang: _alt(words(lang)) for lang in languages}
        record = {"png": base64.b64encode(png).decode(), "alt": alt}
        store.put(key, record)
    return Card(base64.b64decode(record["png"]), record["alt"])


def _alt(words: Words) -> str:
    from attention_docs.text import text

    site = words["site"]
    rows = [text(row, ".4f") for row in _weights()]
    alt: str = site["card"]["alt"].format(site["marks"]["comma"].join(rows))
    return alt


def _weights() -> Any:
    from attention_docs.attention_function import attention
    from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE

    return attention(INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE)[1]
