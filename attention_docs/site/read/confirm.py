"""Show which sections changed beside their translations, and stamp those that you confirm.

python -m attention_docs.site.read.confirm                     ask about each section
python -m attention_docs.site.read.confirm scaling zh/softmax  stamp these pages
python -m attention_docs.site.read.confirm --all               stamp every page
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.reader import read_page
from attention_docs.site.read.settings import read_settings
from attention_docs.site.read.stamps import (
    OPENING,
    find_stale,
    read_sections,
    stamp_page,
    stamp_sections,
)

SHOWN = 14  # lines of a section, from its beginning
QUESTION = "Does the translation say the same? [y]es, stamp it / [n]o, later / [q]uit: "


def find_translations(root: Path, name: str = "") -> Iterator[tuple[Path, Path]]:
    """The original and the translation of each page; or those of one, "scaling" or "zh/scaling"."""
    known = read_settings(root)
    partial, (first, *others) = known.partial, known.source_languages + known.partial
    lang, _, slug = name.partition("/")
    if lang not in others:
        lang, slug = "", name
    originals = sorted((root / "docs" / first).rglob("*.md"))
    slugs = [
        path.relative_to(root / "docs" / first).with_suffix("").as_posix() for path in originals
    ]
    if name and slug not in slugs:
        near = difflib.get_close_matches(slug, slugs, 1)
        question = f"; did you mean {near[0]}?" if near else ""
        raise SystemExit(
            f"wanted the name of a page, got {name}: no docs/{first}/{slug}.md{question}"
        )
    for original, each in zip(originals, slugs, strict=True):
        for other in [lang] if lang else others:
            path = root / "docs" / other / f"{each}.md"
            if name and each == slug and (lang or other not in partial) and not path.is_file():
                raise SystemExit(f"docs/{other}/{each}.md does not exist: write it, then stamp it")
            if path.is_file() and (not name or each == slug):
                yield original, path


def stamp(root: Path, name: str = "") -> None:
    """Declare one page, or every page, up to date in each language, and say what changed."""
    for original, path in find_translations(root, name):
        sections = stamp_page(root, original, path)
        done = f"stamped {', '.join(sections)}" if sections else "up to date already"
        if name or sections:
            print(f"{path.relative_to(root)}: {done}")


def shorten(text: str) -> str:
    """The beginning of a section, and how many lines follow it.

    Examples:
        >>> shorten(chr(10).join(["# Title"] + 20 * ["line"])).splitlines()[-1]
        '… 7 more lines'
    """
    lines = text.strip("\n").split("\n")
    rest = len(lines) - SHOWN
    return "\n".join(lines if rest <= 1 else [*lines[:SHOWN], f"… {rest} more lines"])


def show_section(original: Page, translation: Page, name: str) -> str:
    """A section as it now stands, below it its translation; each with its file and line."""
    parts = []
    for page in (original, translation):
        section = read_sections(page).get(name)
        place = f"{page.path}:{section.line}" if section else f"{page.path}: no such section"
        parts.append(f"--- {place}\n{shorten(section.text) if section else ''}".rstrip())
    return "\n\n".join(parts)


def read_key() -> str:
    """One key, without Enter where there is a terminal; "q" at the end of the input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip().lower() or "q"
    try:
        import termios
        import tty
    except ImportError:  # Windows
        return input().strip().lower() or "n"
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        key = sys.stdin.read(1).lower()
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
    print(key)
    return key


def confirm(root: Path, ask: Callable[[], str] = read_key) -> int:
    """Show every section that changed, stamp what is confirmed, and count what is left."""
    pages = ((read_page(a, root), read_page(b, root)) for a, b in find_translations(root))
    stale = [(a, b, name) for a, b in pages for name in find_stale(a, b)]
    left = len(stale)
    for number, (original, translation, name) in enumerate(stale, start=1):
        title = "the opening" if name == OPENING else f"#{name}"
        print(f"\n=== {translation.slug} {title} ({number} of {len(stale)})\n")
        print(show_section(original, translation, name), end=f"\n\n{QUESTION}", flush=True)
        key = ask()
        if key == "q":
            break
        if key == "y":
            stamp_sections(root, original, read_page(root / translation.path, root), [name])
            left -= 1
    print(
        f"\n{left} of {len(stale)} sections left" if stale else "Every translation is up to date."
    )
    return left


def main(names: list[str]) -> None:
    """Do what the command line asks for; a fault of a file is told, and no more."""
    try:
        for name in names:
            stamp(Path.cwd(), name.removeprefix("--all"))
        if not names:
            confirm(Path.cwd())
    except (Failure, OSError, ValueError) as fault:
        raise SystemExit(str(fault)) from None


if __name__ == "__main__":
    main(sys.argv[1:])
