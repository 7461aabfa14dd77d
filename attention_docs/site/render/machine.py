"""The strip above a chapter: the whole language model in one line, the chapter's parts marked."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from attention_docs.locales import Locale
from attention_docs.site.read.navigation import MACHINE, REPEATED


def draw_machine(marked: Sequence[str], locale: Locale, drawing: str = "") -> Element:
    """A line of parts in the order in which a text passes them; the repeated ones stand in a frame.

    Screen readers get the accessible name alone, which says the whole and what is marked. With the
    address of the page that has the `drawing` it is a link to its parts.
    """
    words = locale["site"]["machine"]
    list_of = words["and"].join
    name = words["name"].format(
        words["then"].join(words[part] for part in MACHINE),
        list_of(words[part] for part in MACHINE if part in marked),
    )
    strip = Element("div", {"class": "you-are-here", "role": "img", "aria-label": name})
    if drawing:
        first = next((part for part in marked if part in REPEATED), marked[0])
        part = "blocks" if len(marked) == len(MACHINE) else first
        del strip.attrib["role"]
        strip.tag, strip.attrib["href"] = "a", f"{drawing}#machine-{part}"
    frame: Element | None = None
    for part in MACHINE:
        if part not in REPEATED:
            frame = None
        elif frame is None:
            frame = SubElement(strip, "b")
        one = SubElement(strip if frame is None else frame, "i")
        one.text = words[part]
        if part in marked:
            one.set("class", "here")
    return strip
