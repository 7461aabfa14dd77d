"""A page as a chapter of a book: its article as XHTML, with the answers taken out to stand last.

A book has no scripts, so what waits for one is left out, as it is on paper: forms become lists,
folds stand open, of a control those drawings remain that paper shows. Formulas stay MathML,
drawings SVG with their colours in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lxml.etree
import lxml.html

from attention_docs.colours import write_plainly

XHTML = "http://www.w3.org/1999/xhtml"
MATHML = "http://www.w3.org/1998/Math/MathML"
SVG = "http://www.w3.org/2000/svg"
ANSWERS = "answers.xhtml"
TAGS = {"output", "script", "button", "input", "wbr", "progress", "textarea", "select"}
CLASSES = {"headerlink", "unprinted", "stepper-bar", "takeaway", "tools", "live-place", "filter"}
CLASSES |= {"you-are-here", "checks", "about-proof", "why", "trap", "rail", "next"}
CLASSES |= {"md-content__button", "stepper-range", "stage wide", "handle", "opening", "write-here"}
CLASSES |= {"cite-page", "model-panel"}
"""What a book does not need, or cannot use."""
VERDICT = "out-writing-checks"  # on code that the reader has not written yet
PLAIN = {"class", "id", "lang", "src", "alt", "scope", "colspan", "rowspan", "start"}
OF_MATH = re.compile(r"intent|arg|data-.*|class|style|tabindex|href|title|aria-.*|role")
OF_DRAWING = re.compile(r"data-.*|class|style|tabindex|xmlns|aria-.*|role|hidden")
CASED = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio"}
FIGURE = "max-width:100%;font-family:sans-serif"
Find = Callable[[str], str]
"""Turns the target of a link into one of the book, or into "" where the book has none."""


@dataclass(frozen=True)
class Chapter:
    """A chapter of a book.

    Attributes:
        sections: the ids of its sections with their titles.
        body: its text.
        answers: the answers of its exercises, as they stand last.
    """

    slug: str
    title: str
    sections: list[tuple[str, str]]
    body: Any
    answers: list[Any]


def read_chapter(
    path: Path, slug: str, number: int, find: Find, words: Mapping[str, str]
) -> Chapter:
    """The chapter that a built page holds, with its number in its title."""
    tree = lxml.html.document_fromstring(write_plainly(path.read_text(encoding="utf-8")))
    article = tree.find(".//article")
    for form in list(article.iter("form")):
        _list_asks(form)
    for one in [*article.iter("*")]:
        if one.getparent() is not None and _is_left_out(one):
            one.drop_tree()
    answers = [*_take_answers(article, slug, words)]
    for part in (article, *answers):
        _open_folds(part)
    head = article.find(".//h1")
    head.text = f"{number} {(head.text or '').lstrip()}"
    title = _read_text(head)
    sections = [(one.get("id"), _read_text(one)) for one in article.iter("h2") if one.get("id")]
    article.tag = "section"
    body, *kept = (_convert(one, find) for one in (article, *answers))
    return Chapter(slug, title, sections, body, kept)


def _is_left_out(element: Any) -> bool:
    names = element.get("class", "")
    is_hidden = element.get("hidden") is not None
    is_empty = element.tag == "path" and not element.get("d")  # a script draws it
    is_verdict = element.get("id") == VERDICT
    is_for_scripts = element.tag in TAGS or bool(CLASSES & {names, *names.split()})
    return is_hidden or is_empty or is_verdict or is_for_scripts


def _read_text(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _list_asks(form: Any) -> None:
    """What a form asks, as a list with a list of choices."""
    found = lxml.html.Element("ul")
    for ask in form.xpath("p[@class='ask'] | fieldset"):
        item, options = found, ask.findall("label") + ask.findall("ul/li")
        for head in [*ask.findall("legend"), *(options if ask.tag == "p" else [])]:
            item = lxml.etree.SubElement(found, "li")
            _move(head, item)
        if ask.tag == "fieldset":
            inner = found if item is found else lxml.etree.SubElement(item, "ul")
            for option in options:
                _move(option, lxml.etree.SubElement(inner, "li"))
    form.getparent().replace(form, found)


def _move(source: Any, target: Any) -> None:
    """The text and the children of an element into another one."""
    target.text = source.text
    target.extend(list(source))


def _take_answers(article: Any, slug: str, words: Mapping[str, str]) -> Iterator[Any]:
    """Hints and answer of each exercise and of each guess, with a link to and fro."""
    for box in article.xpath(".//div[@class='exercise' or @class='guess']"):
        folds = [one for one in box if one.tag == "details"]
        name = f"{slug}-{box.get('id')}"
        section = lxml.html.Element("section", {"id": name})
        head = lxml.etree.SubElement(section, "h3")
        back = lxml.etree.SubElement(head, "a", {"href": f"../{slug}/#{box.get('id')}"})
        shown = "@class='number' or @class='title' or @class='guess-question'"
        parts = box.xpath(f"p[1]/span[{shown}] | p[1][{shown}]")
        back.text = " ".join(_read_text(one) for one in parts)
        section.extend(folds)
        for one in section.xpath("details//*[@id]"):  # two chapters may call theirs alike
            one.set("id", f"{slug}-{one.get('id')}")
        link = lxml.etree.SubElement(lxml.etree.SubElement(box, "p"), "a")
        link.text = words["answer"]
        link.set("href", f"{ANSWERS}#{name}")
        yield section


def _open_folds(root: Any) -> None:
    """Folds become sections below their titles."""
    for fold in list(root.iter("details")):
        fold.tag = "section"
        for summary in fold.findall("summary"):
            summary.tag = "p"
            summary.set("class", "fold-title")
            if fold.get("class") == "further":  # the titles of those in it
                fold.remove(summary)


def _convert(element: Any, find: Find, space: str = XHTML) -> Any:
    """An element with all that is in it, in the namespace that it belongs to."""
    space = {"math": MATHML, "svg": SVG}.get(element.tag, space)
    made = lxml.etree.Element(f"{{{space}}}{element.tag}", nsmap={None: space})
    for name, value in element.attrib.items():
        is_link = element.tag == "a" and name == "href"
        if not is_link and (kept := _keep_attribute(space, name, value)) is not None:
            made.set(CASED.get(name, name), kept)
    if element.tag == "svg":
        made.set("style", FIGURE)
        title = lxml.etree.SubElement(made, f"{{{SVG}}}title")
        title.text = element.get("aria-label") or "–"
    if element.tag == "math":
        made.set("alttext", element.get("data-tex", ""))
    if element.tag == "a" and (target := find(element.get("href", ""))) and space == XHTML:
        made.set("href", target)
    elif element.tag == "a":
        made.tag = f"{{{space}}}{'g' if space == SVG else 'span'}"
    if element.tag == "svg":
        made[0].tail = element.text
    else:
        made.text = element.text
    for child in element:
        if isinstance(child.tag, str):
            made.append(inner := _convert(child, find, space))
            inner.tail = child.tail
    return made


def _keep_attribute(space: str, name: str, value: str) -> str | None:
    """The value of an attribute in a book; None for one that a book does not need."""
    if space == XHTML:
        return value if name in PLAIN else None
    return None if (OF_MATH if space == MATHML else OF_DRAWING).fullmatch(name) else value
