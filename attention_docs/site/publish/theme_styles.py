"""The theme's style sheet without the parts that this site does not have.

The theme styles tabs, blogs, keys, banners and more: a third of what a page loads of it. A rule
stays unless each of its selectors asks for a class of such a part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

UNUSED = re.compile(
    r"md-(?:author|banner|consent|draft|feedback|meta|option|pagination|path|pin|post|profile|social"
    r"|source-file|status|tabs)(?:_|-|$)|md-clipboard|md-content(?:--post|__button)|md-header--lifted"
    r"|md-(?:header|nav)__source|md-nav--(?:lifted|integrated)|md-search__suggest|md-sidebar--post"
    r"|md-input|key-|tabbed-|task-list-|(?:twemoji|emojione|gemoji|critic|giscus|arithmatex"
    r"|abstract|bug|danger|info|question|quote|footnote-backref|md-tag-shadow)$"
)
"""Names of classes that no page has and no script gives."""

COLOUR = re.compile(r"\[data-md-color-(?:accent|primary)=(?!custom\b)")
"""A colour of the theme: ours are custom ones (docs/assets/paper.css)."""

NAME = re.compile(r"\.(-?[a-zA-Z_][\w-]*)")
LISTS = re.compile(r":(?:not|is|where|has)\([^()]*(?:\([^()]*\)[^()]*)*\)")
PICTURE = re.compile(r"(--[\w-]+):(url\((?:'[^']*'|\"[^\"]*\"|[^)'\"]*)\));?")
STRING = re.compile(r"'[^']*'|\"[^\"]*\"")


def drop_unused(sheet: str, *others: str) -> str:
    """A style sheet without the rules of unused parts and the pictures that they alone show.

    Args:
        sheet: of one line, without comments.
        others: what may ask for a picture of this sheet.

    Examples:
        >>> sheet = ":root{--a:url(a.svg);--b:url(b.svg)}.md-tabs,.x{color:red}.md-tabs{top:0}"
        >>> drop_unused(sheet + "@media print{.md-tabs{top:0}}", "i{mask:var(--b)}")
        ':root{--b:url(b.svg)}.x{color:red}'
    """
    kept = "".join(_keep_rules(sheet))
    asked = {name for text in (kept, *others) for name in re.findall(r"var\((--[\w-]+)", text)}
    return PICTURE.sub(lambda found: found[0] if found[1] in asked else "", kept)


def _keep_rules(sheet: str) -> Iterator[str]:
    for head, body in _split_rules(sheet):
        if head.startswith(("@media", "@supports")):
            inner = "".join(_keep_rules(body))
            if inner:
                yield f"{head}{{{inner}}}"
        elif head.startswith("@"):
            yield f"{head}{{{body}}}" if body else head
        else:
            selectors = [one for one in _split_selectors(head) if not _is_unused(one)]
            if selectors:
                yield f"{','.join(selectors)}{{{body}}}"


def _is_unused(selector: str) -> bool:
    """Whether it asks for an unused class or colour; what stands in a list is one of several."""
    plain = LISTS.sub("", selector)
    return bool(COLOUR.search(plain)) or any(UNUSED.match(name) for name in NAME.findall(plain))


def _split_rules(sheet: str) -> Iterator[tuple[str, str]]:
    """What stands before and within the braces of each rule; a statement has no braces."""
    plain = STRING.sub(lambda found: "_" * len(found[0]), sheet)  # braces in strings do not count
    start = 0
    while (opened := plain.find("{", start)) >= 0:
        statement = plain.find(";", start, opened)
        if statement >= 0:
            yield sheet[start : statement + 1], ""
            start = statement + 1
            continue
        depth, end = 1, opened + 1
        while depth:
            depth += {"{": 1, "}": -1}.get(plain[end], 0)
            end += 1
        yield sheet[start:opened], sheet[opened + 1 : end - 1]
        start = end


def _split_selectors(head: str) -> list[str]:
    """Selectors at their commas, but not at those within brackets."""
    parts, depth = [""], 0
    for sign in head:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts
