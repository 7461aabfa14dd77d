"""Addresses of the site: of pages by language and name, and relative to each other."""

from __future__ import annotations

import posixpath
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HOME = "index"  # the name of the first page, as site generators have it
BANKS = "banks"  # the folder of questions for learning platforms
BOOKS = "books"  # the folder of the parts as books
PROJECT = "pyproject.toml"


@dataclass(frozen=True)
class Addresses:
    """The pages of a site; those of the first language stand at its root.

    Examples:
        >>> site = Addresses(("en", "fr"))
        >>> site.find_address("en", "index"), site.find_address("fr", "scaling")
        ('', 'fr/scaling/')
        >>> site.find_all("scaling")
        {'en': 'scaling/', 'fr': 'fr/scaling/'}
    """

    languages: Sequence[str]

    def find_folder(self, lang: str) -> str:
        """Where the pages of a language stand."""
        return "" if lang == self.languages[0] else f"{lang}/"

    def find_address(self, lang: str, slug: str) -> str:
        return self.find_folder(lang) + self.find_place(slug)

    @staticmethod
    def find_place(slug: str) -> str:
        """The same within the pages of a language."""
        return "" if slug == HOME else f"{slug}/"

    def find_all(self, slug: str) -> dict[str, str]:
        """The addresses of a page in every language."""
        return {lang: self.find_address(lang, slug) for lang in self.languages}


def name_wheel(root: Path) -> str:
    """The package of a project among the files of its site; "" for a project that is none."""
    if not (root / PROJECT).is_file():
        return ""
    project = tomllib.loads((root / PROJECT).read_text(encoding="utf-8"))["project"]
    return f"{project['name'].replace('-', '_')}-{project['version']}-py3-none-any.whl"


def make_relative(target: str, start: str) -> str:
    """An address of the site as a link from a page at another one.

    Examples:
        >>> make_relative("zh/scaling/", "zh/softmax/"), make_relative("", "zh/")
        ('../scaling/', '../')
        >>> make_relative("zh/", "zh/")
        './'
    """
    link = posixpath.relpath(f"/{target}", f"/{posixpath.dirname(start)}")
    return f"{link}/" if target.endswith("/") or not target else link
