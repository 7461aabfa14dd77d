"""The gallery of mistakes: entries of `docs/mistakes.toml`, code and outputs of the chapters.

An entry names blocks of a chapter. Its `marks` hold a string for each block, with a sign for each
line of its output: x for wrong, + for right, a dot for neither. Its `bad` and `good` hold the
beginnings of wrong and right lines of code. The reader sees ✗ and ✓ where such a line begins; in
Markdown they are comments. An entry that sets a wrong block against a right one has at least one of
the two, so that they cannot be swapped.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.util import HTML_PLACEHOLDER_RE

from attention_docs.site.read.failure import Failure
from attention_docs.site.render.chapters import Chapters, Record, as_list

SIGNS = {"x": "✗", "+": "✓", ".": " "}
DEFAULT = {"wrong": "x", "right": "+", "claim": "."}
# No copy button on code inside "no-copy".
STYLE = {"right": "success", "claim": "example"}
MARKED = "failure wrong no-copy"
# A line of highlighted code that ends with a sign, alone or after a comment of its own.
SIGNED = re.compile(
    r'^(?P<start>.*<code>)?(?P<line>.*?)(?:  <span class="c1"># (?P<alone>[✗✓])</span>'
    r"|  # (?P<after>[✗✓])(?P<end></span>))$",
    re.M,
)


def render_gallery(group: str, chapters: Chapters) -> str:
    """The mistakes of one group: why, wrong and right code with outputs, what catches it."""
    shown = []
    for entry in chapters.select_records("mistakes", "group", group):
        try:
            shown.append(_render_mistake(entry, chapters))
        except Failure as failure:
            raise chapters.locate_failure("mistakes", entry, failure) from None
    return "\n\n".join(shown)


def _render_mistake(entry: Record, chapters: Chapters) -> str:
    """An entry as a fold; a link to it opens it."""
    head = f"/// fold | {chapters.translate_field('mistakes', entry)}\n    id: {entry['id']}"
    facts = "- " + "\n- ".join(_list_facts(entry, chapters))
    why = chapters.translate_field("mistakes", entry, "why")
    return "\n\n".join([head, why, *_render_blocks(entry, chapters), facts, "///"])


def _list_facts(entry: Record, chapters: Chapters) -> Iterator[str]:
    """What catches it, where it was seen, where it is explained and tested."""
    locale, lang = chapters.locale["site"]["mistakes"], chapters.lang
    marks = chapters.locale["site"]["marks"]
    yield locale["check"].format(chapters.translate_field("mistakes", entry, "check"))
    rows = as_list(entry.get("note"))
    common = [locale["own"].format(row, row.replace(".", "-")) for row in rows]
    common += as_list(entry.get(f"report_{lang}"))
    if common:
        yield locale["common"].format(marks["space"].join(common))
    places = [entry["place"], *as_list(entry.get("also"))]
    links = [chapters.make_link(place) for place in places]
    chapter = _find_chapter(entry)
    outputs = [
        f'<a href="../{chapter}/index.html#out-{name}"><code>{name}</code></a>'
        for _, name in _list_blocks(entry)
        if chapters.find_block(chapter, name)[1]
    ]
    test = entry["test"].removeprefix("tests/")
    yield locale["chapter"].format(marks["and"].join(links), marks["comma"].join(outputs), test)


def _find_chapter(entry: Record) -> str:
    chapter: str = entry["place"].split("#")[0]
    return chapter


def _list_blocks(entry: Record) -> list[tuple[str, str]]:
    """Kind and name of every block that an entry shows."""
    kinds = ("claim", "wrong", "right")
    return [(kind, name) for kind in kinds for name in as_list(entry.get(kind))]


def _render_blocks(entry: Record, chapters: Chapters) -> Iterator[str]:
    locale = chapters.locale["site"]["mistakes"]
    marks = as_list(entry.get("marks"))
    starts = [("✗", start) for start in as_list(entry.get("bad"))]
    starts += [("✓", start) for start in as_list(entry.get("good"))]
    if entry.get("right") and not starts:
        raise Failure("", 1, "a wrong and a right block: wanted bad or good, how their lines begin")
    unused = {start for _, start in starts}
    for number, (kind, name) in enumerate(_list_blocks(entry)):
        block, lines = chapters.find_block(_find_chapter(entry), name)
        code = []
        english, translated = (
            text.strip("\n").split("\n") for text in (block.code, block.displayed_code)
        )
        for line, shown in zip(english, translated, strict=True):
            hits = [(sign, x) for sign, x in starts if line.strip().startswith(x)]
            unused -= {start for _, start in hits}
            other = {"right": "✗", "wrong": "✓"}.get(kind) if entry.get("right") else None
            if any(sign == other for sign, _ in hits):
                message = f'"{name}" is {kind}, and has a line that is not: {line.strip()!r}'
                raise Failure("", 1, message)
            code.append(f"{shown}  # {hits[0][0]}" if hits else shown)
        signs = marks[number] if number < len(marks) else ""
        lines, signs = _add_signs(name, kind, lines, signs)
        inner = _format_fence("python", code) + (
            f"\n\n{_format_fence('text', lines)}" if lines else ""
        )
        both = kind == "wrong" and ("+" in signs or "both" in entry)
        title = locale["both" if both else kind]
        yield f'!!! {STYLE.get(kind, MARKED)} "{title}"\n\n' + textwrap.indent(inner, "    ")
    if unused:
        raise Failure("", 1, f"no line of its blocks begins with {min(unused)!r}")


def lay_out_signs(root: Element, md: Markdown) -> None:
    """Put the sign of a line of code where the line begins; it is no part of what is copied."""
    stash = md.htmlStash.rawHtmlBlocks
    for box in root.iter("div"):
        if "admonition" not in box.get("class", "").split():
            continue
        for one in box.iter():
            for found in HTML_PLACEHOLDER_RE.finditer(one.text or ""):
                html = stash[int(found[1])]
                if isinstance(html, str) and html.startswith('<div class="highlight">'):
                    stash[int(found[1])] = SIGNED.sub(_move_sign, html)


def _move_sign(found: re.Match[str]) -> str:
    sign = found["alone"] or found["after"]
    mark = f'<span class="sign" data-sign="{sign}"></span>'
    return f"{found['start'] or ''}{mark}{found['line']}{found['end'] or ''}"


def _add_signs(name: str, kind: str, lines: list[str], signs: str) -> tuple[list[str], str]:
    """The lines of an output with their signs, and the signs."""
    signs = signs or DEFAULT[kind] * len(lines)
    if len(signs) != len(lines):
        raise Failure("", 1, f'"{name}" prints {len(lines)} lines, got {len(signs)} marks')
    if kind == "right" or set(signs) == {"."}:
        return lines, signs
    pairs = zip(signs, lines, strict=True)
    return [f"{SIGNS[sign]} {line}".rstrip() for sign, line in pairs], signs


def _format_fence(language: str, lines: list[str]) -> str:
    return "\n".join([f"```{language}", *lines, "```"])
