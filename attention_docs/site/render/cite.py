"""How a page or a result is cited: in words and for BibTeX, by what `CITATION.cff` says."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from attention_docs.locales import Locale
from attention_docs.site.read.editions import read_editions
from attention_docs.site.read.failure import Failure
from attention_docs.site.render.chapters import Chapters

FILE = "CITATION.cff"
MARKS = re.compile(r"[*`$]")


@dataclass(frozen=True)
class Citation:
    """What every citation names: authors, edition and date of the whole."""

    title: str
    author: str
    version: str
    date: str
    is_published: bool

    @property
    def year(self) -> str:
        return self.date[:4]

    def name_edition(self, locale: Locale) -> str:
        """The edition in words: "edition 2026.1, in preparation"."""
        words = locale["site"]["cite"]
        said: str = words["edition" if self.is_published else "prepared"]
        return said.format(self.version)


def read_citation(root: Path) -> Citation | None:
    """What the project's `CITATION.cff` says; None if it has none."""
    path = root / FILE
    if not path.is_file():
        return None
    title, author, version, date = _parse(path.read_text(encoding="utf-8"))
    is_published = version in {one["id"] for one in read_editions(root)}
    return Citation(title, author, version, date, is_published)


@lru_cache(maxsize=8)
def _parse(text: str) -> tuple[str, str, str, str]:
    found = yaml.safe_load(text)
    title, author = str(found.get("title", "")), str(found["authors"][0]["name"])
    return title, author, str(found["version"]), str(found["date-released"])


def cite(citation: Citation, title: str, site: str, locale: Locale) -> str:
    """A citation in words, without an address."""
    said: str = locale["site"]["cite"]["plain"]
    named = {"title": MARKS.sub("", title), "site": site}
    edition = citation.name_edition(locale)
    return said.format(**named, author=citation.author, edition=edition, year=citation.year)


def render_cite_fold(
    citation: Citation, slug: str, title: str, site: str, address: str, locale: Locale
) -> str:
    """A fold at the end of a page: how to cite it, in words and for BibTeX.

    `address` is "" for a site without one; then the link says where the page is opened.
    """
    words = locale["site"]["cite"]
    plain = html.escape(cite(citation, title, site, locale))
    link = f'<a href="{address or "./"}">{html.escape(address) or words["here"]}</a>'
    about = {"title": MARKS.sub("", title), "howpublished": site}
    entry = _format_entry(citation, f"-{slug.replace('/', '-')}", about, address, locale)
    return (
        f'<details class="cite-page"><summary>{words["page"]}</summary>'
        f'<p class="cite">{plain} {link}</p>'
        f"<pre><code>{html.escape(entry)}</code></pre></details>"
    )


def render_entry(chapters: Chapters) -> str:
    """The whole site for BibTeX, and the file for programs."""
    if (citation := read_citation(chapters.docs.parent)) is None:
        raise Failure("", 1, f"there is no {FILE}")
    about = {"title": citation.title}
    entry = _format_entry(citation, "", about, chapters.site_url, chapters.locale)
    link = f'<a href="{chapters.site_root}{FILE}" download>{FILE}</a>'
    return f"```bibtex\n{entry}\n```\n\n{chapters.locale['site']['cite']['file'].format(link)}"


def _format_entry(
    citation: Citation, key: str, about: dict[str, str], address: str, locale: Locale
) -> str:
    fields = {
        "author": f"{{{citation.author}}}",
        **about,
        "year": citation.year,
        "note": citation.name_edition(locale),
        **({"url": address} if address else {}),
    }
    inner = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@misc{{attention-docs{key},\n{inner}}}"
