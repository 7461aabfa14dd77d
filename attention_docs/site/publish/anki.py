"""The cards of all chapters as a deck for Anki.

A card keeps its ids from build to build, so that an import changes what a reader has already.
Formulas are MathJax, which Anki sets: their TeX between backslashes and parentheses.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any
from zlib import crc32

from markdown import Markdown

from attention_docs.site.publish.archive import add_entry
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.recall import Card, list_cards, name_deck

NOTE_TYPE = 1_735_212_001  # drawn once, as Anki wants it; plus a number for each language
TIME = 1_735_689_600  # of every card: the first second of 2025
FORMULA = re.compile(r'<(?P<tag>span|div) class="arithmatex">(?P<tex>.*?)</(?P=tag)>', re.S)
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<slug>[\w-]+)\.md(?P<anchor>#[\w-]+)?\)")
STYLE = """.card { max-width: 34em; margin: 1em auto; font: 1.2em/1.5 serif; }
.from { color: #777; font-size: 0.8em; }"""
FRONT = "{{Question}}"
BACK = '{{FrontSide}}<hr id="answer">{{Answer}}<p class="from">{{From}}</p>'
# Version 11, the one that every Anki imports. Integers but for the columns named otherwise.
SCHEMA = """
create table col (id integer primary key, crt, mod, scm, ver, dty, usn, ls,
    conf text, models text, decks text, dconf text, tags text);
create table notes (id integer primary key, guid text, mid, mod, usn, tags text, flds text,
    sfld text, csum, flags, data text);
create table cards (id integer primary key, nid, did, ord, mod, usn, type, queue, due, ivl, factor,
    reps, lapses, left, odue, odid, flags, data text);
create table revlog (id integer primary key, cid, usn, ease, ivl, lastIvl, factor, time, type);
create table graves (usn, oid, type);
"""


def write_deck(folder: Path, chapters: Chapters, address: str) -> None:
    """Write the deck of a language into a folder, if its chapters have cards.

    `address` is that of its first page, or "" for a site without one.
    """
    cards = list(list_cards(chapters))
    if cards:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name_deck(chapters.lang)).write_bytes(pack_deck(cards, chapters, address))


def pack_deck(cards: Sequence[Card], chapters: Chapters, address: str) -> bytes:
    """The file that Anki imports: a zip with a database.

    Note: the file names the version of SQLite that wrote it; with another one its bytes differ.
    """
    note_type = NOTE_TYPE + crc32(chapters.lang.encode())
    deck = note_type + 1
    database = sqlite3.connect(":memory:")
    database.executescript(SCHEMA)
    _insert(database, "col", *_describe_collection(chapters, note_type, deck))
    ids = count(TIME * 1000)
    for card in cards:
        source = f"{chapters.numbered[card.slug]} {chapters.find_page(card.slug).title} {card.link}"
        fields = [format_field(text, address) for text in (card.question, card.answer, source)]
        guid = sha256("__".join((chapters.lang, card.slug, card.id)).encode()).hexdigest()[:20]
        note, joined = next(ids), "\x1f".join(fields)
        changed = (TIME, -1)  # and not yet sent to a server
        tags = f" {card.slug} "
        _insert(
            database, "notes", note, guid, note_type, *changed, tags, joined, fields[0], 0, 0, ""
        )
        _insert(database, "cards", next(ids), note, deck, 0, *changed, *[0] * 11, "")
    database.commit()
    return _write_zip(database.serialize())


def _insert(database: sqlite3.Connection, table: str, *values: Any) -> None:
    database.execute(f"insert into {table} values ({', '.join('?' * len(values))})", values)


def _describe_collection(chapters: Chapters, note_type: int, deck: int) -> list[Any]:
    """The row of `col`: a note type with one template, and a deck."""
    names = ("Question", "Answer", "From")
    model = {
        "id": note_type,
        "name": f"attention-docs ({chapters.lang})",
        "type": 0,  # a front and a back
        "mod": TIME,
        "usn": -1,
        "sortf": 0,
        "did": deck,
        "tmpls": [
            {"name": "Card", "ord": 0, "qfmt": FRONT, "afmt": BACK, "bqfmt": "", "bafmt": ""}
        ],
        "flds": [
            {"name": name, "ord": n, "font": "Arial", "size": 20, "rtl": False, "sticky": False}
            for n, name in enumerate(names)
        ],
        "css": STYLE,
        "latexPre": "",
        "latexPost": "",
        "req": [[0, "all", [0]]],
    }
    title = chapters.locale["site"]["review"]["deck"]
    decks = {
        number: _describe_deck(number, name) for number, name in ((1, "Default"), (deck, title))
    }
    millis = TIME * 1000
    documents = (json.dumps(one) for one in ({}, {note_type: model}, decks, {}, {}))
    return [1, TIME, millis, millis, 11, 0, 0, 0, *documents]


def _describe_deck(number: int, name: str) -> dict[str, Any]:
    today = {f"{kind}Today": [0, 0] for kind in ("new", "rev", "lrn", "time")}
    about = {"id": number, "name": name, "desc": "", "mod": TIME, "usn": -1, "conf": 1, "dyn": 0}
    return {**about, **today, "collapsed": False, "extendNew": 0, "extendRev": 0}


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


def _write_zip(database: bytes) -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in (("collection.anki2", database), ("media", b"{}")):
            add_entry(archive, name, content)
    return held.getvalue()
