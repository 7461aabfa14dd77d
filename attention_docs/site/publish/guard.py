"""What must not survive into HTML: a value that was not filled in, an include line, a mark.

Any of them means that the site was built without this project's plugin, or past it. A build fails
on them; for a site that something else has built:

    python -m attention_docs.site.publish.guard site
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

SURVIVOR = re.compile(
    r"\{\{.*?\}\}|--8<--|[\ue000-\uf8ff]|^:::\s|<!-- (?:gallery|works|notes)", re.M
)
SHOWN = {"code", "pre", "script", "style"}  # what they hold is told, not meant


class _Text(HTMLParser):
    """The text and the attributes of a page, but for code and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes."""
        if tag in SHOWN:
            self.inside.append(tag)
        for _, value in attrs:
            self._look(value or "")

    def handle_endtag(self, tag: str) -> None:
        """Leave code."""
        if self.inside and tag == self.inside[-1]:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        """Look at text; an include line is wrong in code too."""
        if not self.inside:
            self._look(data)
        elif "script" not in self.inside and re.search(r"^\s*--8<-- \"", data, re.M):
            self.found.append((self.getpos()[0], "--8<--"))

    def handle_comment(self, data: str) -> None:
        """Look at comments: one of them may have asked for something."""
        self._look(f"<!--{data}")

    def _look(self, text: str) -> None:
        self.found += [(self.getpos()[0], match[0]) for match in SURVIVOR.finditer(text)]


def survivors(html: str) -> list[tuple[int, str]]:
    """What is left in a page of what should have been replaced, with its line.

    Examples:
        >>> survivors("<p>is {{x}}</p><code>{{x}}</code>")
        [(1, '{{x}}')]
    """
    if not SURVIVOR.search(html):  # nearly always, and a hundred times faster
        return []
    text = _Text()
    text.feed(html)
    text.close()
    return text.found


def main(site: Path) -> int:
    """Look through a built site."""
    pages = sorted(site.rglob("*.html"))
    found = [
        f"{page}:{line}: left in the page: {left}"
        for page in pages
        for line, left in survivors(page.read_text(encoding="utf-8"))
    ]
    if not pages:
        found.append(f"{site}: there is no page")
    print("\n".join(found), end="\n" * bool(found), file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
