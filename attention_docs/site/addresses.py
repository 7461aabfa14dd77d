"""Addresses of the site: of pages by language and name, and relative to each other."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Addresses:
    """The pages of a site; those of the first language stand at its root.

    Examples:
        >>> site = Addresses(("en", "fr"))
        >>> site.page("en", "index"), site.page("fr", "index"), site.page("fr", "scaling")
        ('', 'fr/', 'fr/scaling/')
        >>> site.twins("scaling")
        {'en': 'scaling/', 'fr': 'fr/scaling/'}
    """

    languages: Sequence[str]

    def folder(self, lang: str) -> str:
        """Where the pages of a language stand."""
        return "" if lang == self.languages[0] else f"{lang}/"

    def page(self, lang: str, slug: str) -> str:
        """The address of a page."""
        return self.folder(lang) + ("" if slug == "index" else f"{slug}/")

    def twins(self, slug: str) -> dict[str, str]:
        """The addresses of a page in every language."""
        return {lang: self.page(lang, slug) for lang in self.languages}


def relative(target: str, start: str) -> str:
    """An address of the site as a link from a page at another one.

    Examples:
        >>> relative("zh/scaling/", "zh/softmax/"), relative("a.png", ""), relative("", "zh/")
        ('../scaling/', 'a.png', '../')
        >>> relative("zh/", "zh/")
        './'
    """
    link = posixpath.relpath(f"/{target}", f"/{posixpath.dirname(start)}")
    return f"{link}/" if target.endswith("/") or not target else link
