"""The site as `mkdocs.yml` has it: its languages, its names, the order of its pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml_env_tag import add_env_tag


class _Loader(yaml.SafeLoader):
    """Reads YAML that names environment variables (`!ENV`), as mkdocs does."""


add_env_tag(_Loader)


@dataclass(frozen=True)
class Settings:
    """What this project needs to know of `mkdocs.yml`.

    Attributes:
        text: all that it says, with the environment's part.
        languages: the codes of the languages that are built, that of the originals first.
        names: the name of the site in each of them.
        sections: what the sections of the navigation are called in each of them.
        order: the pages of the navigation.
        site_url: the address that the site will have, or "".
        repo_url: the address of the repository, or "".
    """

    text: str
    languages: tuple[str, ...]
    names: dict[str, str]
    sections: dict[str, dict[str, str]]
    order: tuple[str, ...]
    site_url: str = ""
    repo_url: str = ""


def configuration(root: Path, name: str = "mkdocs.yml") -> dict[str, Any]:
    """All of `mkdocs.yml`, or of what stands in for it."""
    found: dict[str, Any] = yaml.load((root / name).read_text(encoding="utf-8"), _Loader)
    return found


def settings(root: Path, name: str = "mkdocs.yml") -> Settings:
    """Read `mkdocs.yml`, or what stands in for it."""
    found = configuration(root, name)
    text = json.dumps(found, default=str)
    plugins = [plugin for plugin in found.get("plugins", []) if isinstance(plugin, dict)]
    entries = [one for p in plugins for one in (p.get("i18n") or {}).get("languages", [])]
    built = [one for one in entries if one.get("build", True)]
    built.sort(key=lambda one: not one.get("default", False))
    names = {one["locale"]: one.get("site_name", found["site_name"]) for one in built}
    sections = {one["locale"]: one.get("nav_translations", {}) for one in built}
    site_url, repo_url = (str(found.get(name) or "") for name in ("site_url", "repo_url"))
    order = tuple(_pages(found.get("nav", [])))
    return Settings(text, tuple(names), names, sections, order, site_url, repo_url.rstrip("/"))


def languages(root: Path) -> tuple[str, ...]:
    """The codes of the languages that are built, that of the originals first."""
    return settings(root).languages


def _pages(nav: Any) -> Iterator[str]:
    """The names of the pages in a part of the navigation."""
    if isinstance(nav, str):
        yield nav.removesuffix(".md")
    for inner in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _pages(inner)
