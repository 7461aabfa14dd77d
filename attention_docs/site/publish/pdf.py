"""A PDF of each part of the book, printed by Chromium from a built site.

`python -m attention_docs.site.publish.pdf SITE` writes `pdf/part-1.pdf` and so on into the folder
of each language, and a link into the line "Take it with you" of the part's chapters.
"""

from __future__ import annotations

import posixpath
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lxml.html

from attention_docs.site.publish.archive import SUMS
from attention_docs.site.publish.catalogue import GAP
from attention_docs.site.publish.site import write_sums
from attention_docs.site.read.settings import Settings, read_settings

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"),
    *("--generate-pdf-document-outline", "--virtual-time-budget=20000"),
]
LEFT_OUT = {"md-content__button", "headerlink", "takeaway", "tools", "live-place", "asks"}
"""The classes of what paper does not need; print.css hides the rest."""
NAMES = ("for", "name", "aria-labelledby", "aria-describedby", "aria-controls")
PAGE = "index.html"
DRAFT = "__part.html"  # beside the first chapter, while it is printed
STYLE = """
.chapter + .chapter { break-before: page }
@page { @bottom-center { content: counter(page); font: 9pt sans-serif; color: #666 } }
"""


@dataclass(frozen=True)
class PrintedPart:
    """The chapters of a part in a language: where they lie, and where the PDF goes."""

    id: str
    folder: Path
    slugs: Sequence[str]

    @property
    def target(self) -> Path:
        return self.folder / "pdf" / f"{self.id}.pdf"

    def find_page(self, slug: str) -> Path:
        return self.folder / slug / PAGE


def list_parts(site: Path, settings: Settings) -> Iterator[PrintedPart]:
    """The parts that hold chapters, in each language of the site."""
    for lang in settings.languages:
        folder = site if lang == settings.languages[0] else site / lang
        for name, part in settings.navigation.ids.items():
            slugs = [one for one in part.slugs if one in settings.navigation.chapters]
            if slugs and (folder / slugs[0] / PAGE).is_file():
                yield PrintedPart(name, folder, slugs)


def join_chapters(part: PrintedPart) -> str:
    """One page with the articles of all chapters, whose links lead to each other."""
    whole = _parse(part.find_page(part.slugs[0]))
    body = whole.find("body")
    sections = [_read_chapter(part, slug) for slug in part.slugs]
    for child in list(body):
        body.remove(child)
    content = lxml.html.fromstring('<article class="md-content__inner md-typeset"></article>')
    content.extend(sections)
    body.append(content)
    for script in list(whole.iter("script")):
        script.drop_tree()
    style = lxml.html.Element("style")
    style.text = STYLE
    whole.set("data-print", "answers")
    whole.find("head").append(style)
    text: str = lxml.html.tostring(whole, encoding="unicode")
    return f"<!doctype html>{text}"


def _parse(path: Path) -> Any:
    return lxml.html.document_fromstring(path.read_text(encoding="utf-8"))


def _read_chapter(part: PrintedPart, slug: str) -> Any:
    """The article of a chapter; its ids begin with its name, so that no two are alike."""
    article = _parse(part.find_page(slug)).find(".//article")
    for one in list(article.iter("*")):
        if LEFT_OUT & {*one.get("class", "").split()}:
            one.drop_tree()
    article.tag = "section"
    article.set("class", "chapter")
    for one in article.iter("*"):
        for name in ("id", *NAMES):
            if one.get(name):
                one.set(name, f"{slug}--{one.get(name)}")
        if one.tag == "a" and one.get("href"):
            _lead(one, part, slug)
    article.set("id", f"{slug}--")
    return article


def _lead(link: Any, part: PrintedPart, slug: str) -> None:
    """A link within the part leads to its place in it; to the rest of the site it is text."""
    path, _, place = link.get("href").partition("#")
    if "://" in path:
        return
    target = posixpath.normpath(posixpath.join(slug, path)) if path else slug
    if target in part.slugs:
        link.set("href", f"#{target}--{place}")
    else:
        link.attrib.pop("href")


def print_part(part: PrintedPart, browser: str) -> None:
    draft = part.folder / part.slugs[0] / DRAFT
    part.target.parent.mkdir(exist_ok=True)
    draft.write_text(join_chapters(part), encoding="utf-8")
    try:
        command = [browser, *FLAGS, f"--print-to-pdf={part.target}", draft.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        draft.unlink()
    if done.returncode or not part.target.is_file():
        raise RuntimeError(f"{browser} must write {part.target}, it said: {done.stderr[-500:]}")


def offer_part(part: PrintedPart) -> None:
    """Put a link to the PDF into the line "Take it with you" of each chapter, once."""
    link = f'{GAP}<a href="../pdf/{part.id}.pdf" download>PDF</a>'
    for slug in part.slugs:
        page = part.find_page(slug)
        content = page.read_text(encoding="utf-8")
        if link not in content:
            page.write_text(_add_link(content, link), encoding="utf-8")


def _add_link(content: str, link: str) -> str:
    before, found, after = content.partition('<p class="takeaway">')
    line, end, rest = after.partition("</small>")
    return f"{before}{found}{line}{link}{end}{rest}" if found and end else content


def print_parts(site: Path) -> None:
    """Print all parts of a site, whose sources lie in the current folder."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"a PDF needs one of {', '.join(BROWSERS)}, and none was found")
    for part in list_parts(site.resolve(), read_settings(Path.cwd())):
        print_part(part, browser)
        offer_part(part)
        print(f"{part.target}: {part.target.stat().st_size / 1e6:.1f} MB")
    if (site / SUMS).is_file():  # the pages have changed
        write_sums(site)


if __name__ == "__main__":
    print_parts(Path(sys.argv[1]))
