"""Where a real model goes on with a beginning: a line that the page's script replaces."""

from __future__ import annotations

from html import escape
from math import exp

from attention_docs.data import load_beginnings
from attention_docs.site.render.chapters import Chapters

MARK = "next-token"
"""The class by which docs/assets/site.js finds the place."""


def offer_next_token(chapters: Chapters) -> str:
    """What stands there without a script, as Markdown: how the first beginning goes on."""
    kept, words = load_beginnings(), chapters.locale["site"]["next"]
    lang = chapters.lang.split("-")[0]
    first = next(one for one in kept["beginnings"] if one["lang"] == lang)
    shares = [f"{100 * exp(-nats / 1000):.1f}%" for nats in first["nats"]]
    texts = [escape(kept["tokens"][str(i)].strip()) for i in first["ids"]]
    listed = words["comma"].join(
        f"<code>{text}</code> {share}" for text, share in zip(texts, shares, strict=True)
    )
    return f"{words['script'].format(text=escape(first['text']), listed=listed)}\n{{ .{MARK} }}"
