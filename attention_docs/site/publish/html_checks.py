"""Find leftovers in HTML: a value that was not filled in, an include line, a box, a mark.

Any of them means that the site was built without this project's plugin, or past it. Neither may an
article hold what runs or covers the page. A build fails on all of it; on what is left over, for a
site that something else has built:

    python -m attention_docs.site.publish.html_checks site
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
LEFTOVER = re.compile(rf"\{{\{{.*?\}}\}}|{INCLUDE}|[\ue000-\uf8ff]|^::: |^/{{3,}} \w+ \||{REQUEST}")
HINT = re.compile(rf"\{{\{{|--8(?:<|&lt;)--|[\ue000-\uf8ff]|:::|/// |{REQUEST}")
"""A quick test: a page without a match has no leftovers."""

CODE_TAGS = {"code", "pre"}  # their content is quoted, except for an include line at its start
SKIPPED_TAGS = {"script", "style"}

REFUSED = {"animate", "applet", "base", "embed", "foreignobject", "form", "frame", "iframe"}
REFUSED |= {"link", "meta", "object", "script", "set", "style"}
"""Elements that run code, ask other sites, or change what is around them."""
ADDRESSES = {"action", "background", "data", "formaction", "href", "poster", "src", "srcset"}
ADDRESSES |= {"xlink:href"}
SCHEMES = {"http", "https", "mailto"}
STYLED = re.compile(
    r"--[\w-]+|background|color|font-family|font-style|max-width|min-width|paint-order|width"
)
"""What a style sets: of figures. Its values ask no other site."""


def find_unrendered(html: str) -> list[tuple[int, str]]:
    """What is left in a page of what should have been replaced, with its line.

    Examples:
        >>> find_unrendered("<p>is {{x}}</p><code>{{x}}</code>")
        [(1, '{{x}}')]
    """
    if not HINT.search(html):  # nearly always, and a hundred times faster
        return []
    return list(_find_in_element(lxml.document_fromstring(html), is_code=False))


def _find_in_element(element: lxml.HtmlElement, is_code: bool) -> Iterator[tuple[int, str]]:
    """What is left in an element, from its start to its end."""
    line = element.sourceline or 0
    if isinstance(element, _Comment):
        yield from ((line, left) for left in LEFTOVER.findall(f"<!--{element.text}"))
        return
    if element.tag in SKIPPED_TAGS:
        return
    is_code = is_code or element.tag in CODE_TAGS
    texts = [*element.values(), *([] if is_code else [element.text or ""])]
    texts += [] if is_code else [child.tail or "" for child in element]
    yield from ((line, left) for text in texts for left in LEFTOVER.findall(text))
    if is_code and re.match(rf'\s*{INCLUDE} "', element.text_content()):
        yield line, INCLUDE
        return
    for child in element:
        yield from _find_in_element(child, is_code)


def find_forbidden(html: str) -> list[tuple[str, str]]:
    """What the article of a page may not hold: how it begins, and a message.

    Examples:
        >>> find_forbidden('<article><a href="javascript:f()">x</a></article>')
        [('javascript:', 'an address begins with http, https or mailto, got javascript:')]
    """
    start, end = html.find("<article"), html.rfind("</article>")
    if start < 0:
        return []
    article = lxml.fragment_fromstring(html[start:end] + "</article>")
    elements = (one for one in article.iter() if isinstance(one.tag, str))
    return [fault for one in elements for fault in _find_forbidden_in(one)]


def _find_forbidden_in(element: lxml.HtmlElement) -> Iterator[tuple[str, str]]:
    tag = element.tag.lower()
    is_exercise = tag == "form" and dict(element.attrib) == {"class": "asks"}  # it sends nothing
    if tag in REFUSED and not is_exercise:
        yield f"<{tag}", f"an article holds no <{tag}>"
    for name, value in element.items():
        bare = re.sub(r"[\s\x00-\x1f]", "", value)  # as a browser reads it
        if name.startswith("on") or name == "formaction":
            yield name, f"an article holds no code of its own, got {name}"
        scheme = re.match(r"([\w+.-]+):", bare) if name in ADDRESSES else None
        if scheme and scheme[1].lower() not in SCHEMES:
            message = f"an address begins with http, https or mailto, got {scheme[0]}"
            yield scheme[0], message
        if name == "style":
            for setting in filter(None, value.split(";")):
                style = setting.split(":")[0].strip()
                if not STYLED.fullmatch(style) or "url(" in bare.lower():
                    yield style, f"a style sets the size or the colour of a figure, got {setting}"


def main(site: Path) -> int:
    """Look through a built site."""
    pages = sorted(site.rglob("*.html"))
    found = [
        f"{page}:{line}: left in the page: {left}"
        for page in pages
        for line, left in find_unrendered(page.read_text(encoding="utf-8"))
    ]
    if not pages:
        found.append(f"{site}: there is no page")
    print("\n".join(found), end="\n" * bool(found), file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
