"""What must not survive into HTML: a value that was not filled in, an include line, a box, a mark.

Any of them means that the site was built without this project's plugin, or past it. A build fails
on them; for a site that something else has built:

    python -m attention_docs.site.publish.guard site
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from lxml import html as lxml
from lxml.etree import _Comment

from attention_docs.site.read.syntax import REQUESTED

INCLUDE = r"--8<--"
REQUEST = rf"<!-- (?:{'|'.join(REQUESTED)})"
SURVIVOR = re.compile(rf"\{{\{{.*?\}}\}}|{INCLUDE}|[\ue000-\uf8ff]|^::: |^/{{3,}} \w+ \||{REQUEST}")
HINT = re.compile(rf"\{{\{{|--8(?:<|&lt;)--|[\ue000-\uf8ff]|:::|/// |{REQUEST}")
"""What a page holds at least that is not as it should be."""

TOLD = {"code", "pre"}  # what they hold is told, not meant; but for an include line that starts one
LEFT_OUT = {"script", "style"}


def survivors(html: str) -> list[tuple[int, str]]:
    """What is left in a page of what should have been replaced, with its line.

    Examples:
        >>> survivors("<p>is {{x}}</p><code>{{x}}</code>")
        [(1, '{{x}}')]
    """
    if not HINT.search(html):  # nearly always, and a hundred times faster
        return []
    return list(_found(lxml.document_fromstring(html), told=False))


def _found(element: lxml.HtmlElement, told: bool) -> Iterator[tuple[int, str]]:
    """What is left in an element, from its start to its end."""
    line = element.sourceline or 0
    if isinstance(element, _Comment):
        yield from ((line, left) for left in SURVIVOR.findall(f"<!--{element.text}"))
        return
    if element.tag in LEFT_OUT:
        return
    told = told or element.tag in TOLD
    texts = [*element.values(), *([] if told else [element.text or ""])]
    texts += [] if told else [child.tail or "" for child in element]
    yield from ((line, left) for text in texts for left in SURVIVOR.findall(text))
    if told and re.match(rf'\s*{INCLUDE} "', element.text_content()):
        yield line, INCLUDE
        return
    for child in element:
        yield from _found(child, told)


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
