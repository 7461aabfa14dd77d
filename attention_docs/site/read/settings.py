"""The site as `mkdocs.yml` has it: its languages, its names, the order of its pages."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml_env_tag import add_env_tag

from attention_docs.site.read.conversion import convert_value, find_unconverted
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.navigation import Navigation, read_navigation
from attention_docs.site.read.script_converter import find_script_table, read_converter

TRANSLATED_SETTINGS = ("site_name", "site_description", "copyright", "theme", "nav_translations")
"""What `mkdocs.yml` says in words of a language."""


class _Loader(yaml.SafeLoader):
    """Reads YAML that names environment variables (`!ENV`), as mkdocs does."""


add_env_tag(_Loader)


@dataclass(frozen=True)
class Settings:
    """What this project needs to know of `mkdocs.yml`.

    Attributes:
        text: all that it says, with the environment's part.
        languages: the codes of the languages that are built, that of the originals first.
        converted: of those that are made from another one, with what is made of that one's entry.
        partial: of those of which some pages are not yet translated, and show the English text.
        names: the name of the site in each of them.
        sections: what the sections of the navigation are called in each of them.
        navigation: parts and chapters in the order of reading.
        site_url: the address that the site will have, or "".
        repo_url: the address of the repository, or "".
    """

    text: str
    languages: tuple[str, ...]
    converted: dict[str, dict[str, Any]]
    partial: tuple[str, ...]
    names: dict[str, str]
    sections: dict[str, dict[str, str]]
    navigation: Navigation
    site_url: str = ""
    repo_url: str = ""

    @property
    def order(self) -> tuple[str, ...]:
        return self.navigation.order

    @property
    def source_languages(self) -> tuple[str, ...]:
        """The languages whose pages somebody writes, and which are complete."""
        other = {*self.converted, *self.partial}
        return tuple(lang for lang in self.languages if lang not in other)


def read_configuration(root: Path, name: str = "mkdocs.yml") -> dict[str, Any]:
    """All of `mkdocs.yml`, or of its replacement."""
    found: dict[str, Any] = yaml.load((root / name).read_text(encoding="utf-8"), _Loader)
    return found


def read_settings(root: Path, name: str = "mkdocs.yml") -> Settings:
    """Read `mkdocs.yml`, or its replacement."""
    found = read_configuration(root, name)
    text = json.dumps(found, default=str)
    plugins = [plugin for plugin in found.get("plugins", []) if isinstance(plugin, dict)]
    entries = [one for p in plugins for one in (p.get("i18n") or {}).get("languages", [])]
    built = [one for one in entries if one.get("build", True)]
    built.sort(key=lambda one: not one.get("default", False))
    converted = _convert_settings(root, root / name, {one["locale"]: one for one in built})
    names = {one["locale"]: one.get("site_name", found["site_name"]) for one in built}
    sections = {one["locale"]: one.get("nav_translations", {}) for one in built}
    site_url, repo_url = (str(found.get(name) or "") for name in ("site_url", "repo_url"))
    partial = tuple(lang for lang in names if lang not in converted and is_partial(root, lang))
    listings = frozenset(path.stem for path in (root / "docs" / "listings").glob("*.py"))
    navigation = read_navigation(found.get("nav", []), listings)
    return Settings(
        text,
        tuple(names),
        converted,
        partial,
        names,
        sections,
        navigation,
        site_url,
        repo_url.rstrip("/"),
    )


def is_partial(root: Path, lang: str) -> bool:
    """Whether the words of a language say `partial = true`."""
    path = root / "attention_docs" / "locales" / f"{lang}.toml"
    return path.is_file() and bool(tomllib.loads(path.read_text("utf-8")).get("partial"))


def _convert_settings(
    root: Path, file: Path, entries: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The converted languages: what their entries leave out is converted, too."""
    found = {}
    for lang in filter(lambda lang: find_script_table(root, lang).is_file(), entries):
        converter = read_converter(root, lang)
        if converter.origin not in entries:
            message = f"from is a language of mkdocs.yml, got {converter.origin!r}"
            raise Failure(f"docs/{lang}.toml", 1, message)
        origin = entries[converter.origin]
        texts = {name: origin[name] for name in TRANSLATED_SETTINGS if name in origin}
        for failure in find_unconverted(converter, file, texts):
            raise failure
        found[lang] = convert_value(converter, texts, texts)
        entries[lang] |= found[lang] | entries[lang]
    return found
