"""What a language still lacks: pages, words, texts of listings and of lists, settings."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import find_table_path, find_untranslated
from attention_docs.site.read.settings import TRANSLATED_SETTINGS, read_configuration, read_settings

LISTS = tuple(
    f"docs/{name}.toml" for name in ("editions", "mistakes", "notes", "questions", "teaching")
)


@dataclass(frozen=True)
class Missing:
    """What a language lacks, each part as lines to read.

    Attributes:
        total: how many pages there are.
        words: entries of the language's file in `attention_docs/locales`.
        listings: tables beside the listings, with how many texts they lack.
        lists: `docs/mistakes.toml` and its like, with the fields that they lack.
        settings: what the language's entry in `mkdocs.yml` does not say.
    """

    total: int
    pages: list[str]
    words: list[str]
    listings: list[str]
    lists: list[str]
    settings: list[str]

    @property
    def parts(self) -> dict[str, list[str]]:
        """The parts by their names, those that lack nothing left out."""
        found = {
            "pages": self.pages,
            "words": self.words,
            "listings": self.listings,
            "lists": self.lists,
            "settings": self.settings,
        }
        return {name: lines for name, lines in found.items() if lines}


def find_missing(root: Path, lang: str) -> Missing:
    known, docs = read_settings(root), root / "docs"
    first, places = (
        known.source_languages[0],
        {slug: place for place, slug in enumerate(known.order)},
    )
    originals = (path.relative_to(docs / first) for path in (docs / first).rglob("*.md"))
    names = sorted(one.as_posix() for one in originals)
    names.sort(key=lambda name: places.get(name.removesuffix(".md"), len(places)))
    return Missing(
        total=len(names),
        pages=[f"docs/{lang}/{name}" for name in names if not (docs / lang / name).is_file()],
        words=list(_find_words(root, lang)),
        listings=list(_find_listings(root, lang)),
        lists=list(_find_fields(root, lang, first)),
        settings=list(_find_settings(root, lang)),
    )


def find_missing_words(root: Path, lang: str) -> list[Failure]:
    """The words that a complete language lacks, each as a fault of its file."""
    return [
        Failure(f"attention_docs/locales/{lang}.toml", 1, f"has no {entry}")
        for entry in _find_words(root, lang)
    ]


def _find_words(root: Path, lang: str) -> Iterator[str]:
    """The entries that English has and a language has not: `[site.marks] colon, stop`."""
    folder = root / "attention_docs" / "locales"
    if not (folder / f"{lang}.toml").is_file():  # reported elsewhere
        return
    english, own = (
        tomllib.loads((folder / f"{one}.toml").read_text(encoding="utf-8")) for one in ("en", lang)
    )
    for name in english:
        if isinstance(english[name], dict):
            yield from _compare_words(english[name], own.get(name, {}), name)
        elif name not in own:
            yield name


def _compare_words(english: dict[str, Any], own: dict[str, Any], place: str) -> Iterator[str]:
    # The forms of a plural are one entry.
    tables = [name for name, one in english.items() if isinstance(one, dict) and "other" not in one]
    lacking = [
        name
        for name in english
        if name not in (*own, *tables) and not name.startswith("also ")  # not every language has it
    ]
    if lacking:
        yield f"[{place}] {', '.join(lacking)}"
    for name in tables:
        yield from _compare_words(english[name], own.get(name, {}), f"{place}.{name}")


def _find_listings(root: Path, lang: str) -> Iterator[str]:
    for listing in sorted((root / "docs" / "listings").glob("*.py")):
        texts = find_untranslated(listing, lang)
        if counts := [f"{len(found)} {name}" for name, found in texts.items() if found]:
            path = find_table_path(listing, lang).relative_to(root)
            yield f"{path.as_posix()}: {' and '.join(counts)}"


def _find_fields(root: Path, lang: str, first: str) -> Iterator[str]:
    """The fields of the lists, `why_en`, that have no counterpart `why_fr`."""
    for name in LISTS:
        path = root / name
        entries = tomllib.loads(path.read_text("utf-8")).get("entry", []) if path.is_file() else []
        fields = [
            f"{field.removesuffix(first)}{lang}"
            for entry in entries
            for field in entry
            if field.rpartition("_")[2] == first
            and f"{field.removesuffix(first)}{lang}" not in entry
        ]
        if fields:
            yield f"{name}: {len(fields)} fields ({', '.join(sorted(set(fields)))})"


def _find_settings(root: Path, lang: str) -> Iterator[str]:
    known = read_configuration(root)
    plugins = [plugin for plugin in known["plugins"] if isinstance(plugin, dict)]
    languages = next(plugin["i18n"] for plugin in plugins if "i18n" in plugin)["languages"]
    own = next(entry for entry in languages if entry["locale"] == lang)
    if lacking := [name for name in TRANSLATED_SETTINGS if name not in own]:
        yield f"mkdocs.yml: {', '.join(lacking)}"
