"""The locale strings of each language: those of the site's engine and of the figures.

A language is a file beside this one, named after it: `en.toml`, `zh.toml`. Its tables follow the
modules that use them: `[site.blocks]`, `[figures.heatmaps]`. The first language is English: what a
listing writes as a plain label is English, and `[terms]` of another language translates it. In a
file that says `partial = true`, words that are missing are the English ones.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
FILLED = ("site", "figures")
"""The tables in which English words stand for missing ones while a language is partial."""


class Locale(Mapping[str, Any]):
    """The strings of one language; a KeyError names the file that lacks one.

    Examples:
        >>> read_locale("en")["name"]
        'English'
        >>> read_locale("en")["site"]["nothing"]
        Traceback (most recent call last):
        KeyError: 'attention_docs/locales/en.toml has no [site] nothing'
    """

    def __init__(self, table: Mapping[str, Any], lang: str, path: tuple[str, ...] = ()) -> None:
        self.table, self.lang, self.path = table, lang, path
        self.inner: dict[str, Locale] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.table:
            where = f"[{'.'.join(self.path)}] " if self.path else ""
            raise KeyError(f"{name_file(self.lang)} has no {where}{name}")
        value = self.table[name]
        if not isinstance(value, dict):
            return value
        if name not in self.inner:
            self.inner[name] = Locale(value, self.lang, (*self.path, name))
        return self.inner[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)


def name_file(lang: str) -> str:
    """The file that holds the words of a language, or of the one that it is converted from.

    Examples:
        >>> name_file("zh"), name_file("zh-hant")
        ('attention_docs/locales/zh.toml', 'attention_docs/locales/zh.toml')
    """
    while "-" in lang and not (FOLDER / f"{lang}.toml").is_file():
        lang = lang.rpartition("-")[0]
    return f"attention_docs/locales/{lang}.toml"


@lru_cache
def read_locale(lang: str) -> Locale:
    """Read the locale of a language; ValueError if it has no file."""
    path = FOLDER / f"{lang}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.toml")))
        raise ValueError(f"a language must have a locale file ({known}), got {lang!r}")
    own = tomllib.loads(path.read_text(encoding="utf-8"))
    if own.pop("partial", False):
        own = fill_missing(own, read_locale("en").table)
    return Locale(own, lang)


def fill_missing(own: Mapping[str, Any], english: Mapping[str, Any]) -> dict[str, Any]:
    """The words of a partial language, with English ones where it has none.

    Examples:
        >>> english = {"site": {"locale": "en_GB", "marks": {"colon": ": ", "stop": "."}}}
        >>> fill_missing({"site": {"locale": "fr_FR", "marks": {"colon": " : "}}}, english)
        {'site': {'locale': 'fr_FR', 'marks': {'colon': ' : ', 'stop': '.'}}}
    """
    found = dict(own)
    for name in FILLED:
        table = dict(english.get(name, {})) | found.get(name, {})
        for group, words in english.get(name, {}).items():
            if isinstance(words, dict):
                table[group] = words | table[group]
        if table:
            found[name] = table
    return found


def read_locale_table(name: str, lang: str) -> Mapping[str, Any]:
    """Read an optional table; empty for a language without a locale file, reported elsewhere."""
    if not (FOLDER / f"{lang}.toml").is_file():
        return {}
    found: Mapping[str, Any] = read_locale(lang).get(name, {})
    return found
