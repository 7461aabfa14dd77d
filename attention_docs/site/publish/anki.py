"""The cards of all chapters as a deck for Anki: the same site, the same bytes.

A card keeps its ids from build to build, so that an import changes what a reader has already.
Formulas are MathJax, which Anki sets: their TeX between backslashes and parentheses.
"""

from __future__ import annotations

import re
import sqlite3
import zipfile
from io import BytesIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

from markdown import Markdown

from attention_docs.site.publish.archive import DATE
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.recall import Card, list_cards, name_deck

MODEL = 1_735_212_001  # drawn once, as Anki wants it
TIME = 1_735_689_600.0  # of every card: the first second of 2025
VERSION = slice(96, 100)  # of the sqlite that wrote a file: another one writes the same
FORMULA = re.compile(r'<(?P<tag>span|div) class="arithmatex">(?P<tex>.*?)</(?P=tag)>', re.S)
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<slug>[\w-]+)\.md(?P<anchor>#[\w-]+)?\)")
STYLE = """.card { max-width: 34em; margin: 1em auto; font: 1.2em/1.5 serif; }
.from { color: #777; font-size: 0.8em; }"""


def write_deck(folder: Path, chapters: Chapters, address: str) -> None:
    """Write the deck of a language into a folder, if its chapters have cards.

    `address` is that of its first page, or "" for a site without one.
    """
    cards = list(list_cards(chapters))
    if cards:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name_deck(chapters.lang)).write_bytes(pack_deck(cards, chapters, address))


def pack_deck(cards: list[Card], chapters: Chapters, address: str) -> bytes:
    """The file that Anki imports: a zip with a database."""
    import genanki  # takes long to load, and a build that only reads needs none of it

    fields = [{"name": name} for name in ("Question", "Answer", "From")]
    back = '{{FrontSide}}<hr id="answer">{{Answer}}<p class="from">{{From}}</p>'
    shown = {"name": "Card", "qfmt": "{{Question}}", "afmt": back}
    name = f"attention-docs ({chapters.lang})"
    number = crc32(chapters.lang.encode())
    model = genanki.Model(MODEL + number, name, fields=fields, templates=[shown], css=STYLE)
    deck = genanki.Deck(MODEL - number, chapters.locale["site"]["review"]["deck"])
    for card in cards:
        source = f"{chapters.numbered[card.slug]} {chapters.find_page(card.slug).title} {card.link}"
        texts = (card.question, card.answer, source)
        guid = genanki.guid_for("attention-docs", chapters.lang, card.slug, card.id)
        found = [format_field(one, address) for one in texts]
        deck.add_note(genanki.Note(model, found, guid=guid, tags=[card.slug]))
    return _write_zip(_write_database(genanki.Package(deck)))


def format_field(markdown: str, address: str) -> str:
    r"""Markdown as HTML for Anki, without a paragraph around a single one.

    Examples:
        >>> format_field(r"A root, $\sqrt{d_k}$. [Why](scaling.md#proof)", "https://a.org/")
        'A root, \\(\\sqrt{d_k}\\). <a href="https://a.org/scaling/#proof">Why</a>'
        >>> format_field("[Why](scaling.md)", "")
        'Why'
    """

    def relink(found: re.Match[str]) -> str:
        target = f"{address}{found['slug']}/{found['anchor'] or ''}"
        return f"[{found['text']}]({target})" if address else found["text"]

    generic = {"pymdownx.arithmatex": {"generic": True}}
    to_html = Markdown(extensions=["pymdownx.arithmatex"], extension_configs=generic)
    html = FORMULA.sub(r"\g<tex>", to_html.convert(LINK.sub(relink, markdown)))
    return html[3:-4] if html.count("<p>") == 1 and html.startswith("<p>") else html


def _write_database(package: Any) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "collection.anki2"
        connection = sqlite3.connect(path)
        package.write_to_db(connection.cursor(), TIME, count(int(TIME * 1000)))
        connection.commit()
        connection.close()
        written = bytearray(path.read_bytes())
    written[VERSION] = bytes(4)
    return bytes(written)


def _write_zip(database: bytes) -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in (("collection.anki2", database), ("media", b"{}")):
            entry = zipfile.ZipInfo(name, DATE)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=6)
    return held.getvalue()
