"""A film: a figure that stays while the text scrolls, each of its drawings with what is said of it.

The box holds blocks with one drawing each, and after each the text of its step. Without scripts
and on paper drawings and texts stand in this order; docs/assets/film.css puts the drawings into
one place beside the text, and film.js turns one into the next.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement


def lay_out_films(root: Element) -> list[str]:
    """Give each drawing of a film and its text an element of its own; return what is wrong."""
    faults = []
    for film in list(root.iter("div")):
        if film.get("class") != "film":
            continue
        children = list(film)
        if not children or not _is_output(children[0]):
            faults.append("a film begins with a block that draws")
            continue
        film[:] = []
        for child in children:
            if _is_output(child):
                place = str(len(film) + 1)
                kind = "scene" if len(film) else "scene now read"
                step = SubElement(film, "div", {"class": kind, "style": f"--step:{place}"})
                step.append(child)
                SubElement(step, "div", {"class": "said"})
            else:
                film[-1][-1].append(child)
        if any(not len(step[-1]) for step in film):
            faults.append("each drawing of a film is followed by its text")
        film.set("style", f"--steps:{len(film)}")
    return faults


def _is_output(element: Element) -> bool:
    return element.tag == "div" and "output" in element.get("class", "").split()
