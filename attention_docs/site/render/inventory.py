"""Questions in two forms, with wrong answers that name a belief: boxes `item` of a page.

Such a box holds the question and the answers of form A, those of form B, and reasons, which both
forms share. "[x]" begins what is right, and "[mutual]" a wrong answer that somebody gives who has
this belief of `docs/teaching.toml`. One of the reasons may be a belief that no answer names: it is
wrong and goes with the right answer. Form B shows the reasons from the third on, and then the first
two, so that no place says what is right. Without a script both forms stand there, to be printed.

`<!-- inventory: take -->` is where a reader's profile comes (docs/assets/inventory/take.js) and
`<!-- inventory: class -->` where the answers of a class are counted (class.js).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import chain, groupby
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Box, End
from attention_docs.site.render.chapters import Chapters

NAME = "inventory"
FORMS = "AB"
OPTION = re.compile(r"\s*(?:- +)?\[(?P<code>[a-z-]+)\]\s*")
RIGHT = "x"
OPTIONS = 4
WANTED = (
    f"wanted three lists of {OPTIONS} codes, one of each list {RIGHT}: those of form A, the same of"
    " form B, and of the reasons all but one the same"
)
TURN = {"A": 0, "B": 2}
"""How many of the reasons a form shows last."""


def lay_out_items(root: Element, words: dict[str, Any]) -> Iterator[str]:
    """Make of each item two forms with radio buttons; return what is wrong."""
    for item in [one for one in root.iter("div") if one.get("class") == "item"]:
        concept, *parts = item
        lists = [n for n, one in enumerate(parts) if one.tag == "ul"]
        codes = [_read_codes(parts[n]) for n in lists]
        if not _fit(codes):
            yield f"{item.get('id')}: {WANTED}"
            continue
        question_a, question_b = parts[: lists[0]], parts[lists[0] + 1 : lists[1]]
        because, reasons = parts[lists[1] + 1 : lists[2]], parts[lists[2]]
        item[:] = [concept]
        for form, question, answers in zip(
            FORMS, (question_a, question_b), (parts[lists[0]], parts[lists[1]]), strict=True
        ):
            name = f"{item.get('id')}-{form.lower()}"
            place = SubElement(item, "div", {"class": "form", "data-form": form})
            head = SubElement(place, "p", {"class": "form-name"})
            head.text = words["form"].format(form)
            place.extend(question)
            place.append(_make_options(list(answers), f"{name}-answer", "abcd"))
            place.extend(_copy(because))
            turned = [*list(reasons)[TURN[form] :], *list(reasons)[: TURN[form]]]
            place.append(_make_options(_copy(turned), f"{name}-reason", "1234"))


def _fit(codes: Sequence[Sequence[str]]) -> bool:
    """Whether these are the codes of both forms and of reasons, of which one may be new."""
    if len(codes) != 3 or any(len(one) != OPTIONS or len({*one}) != OPTIONS for one in codes):
        return False
    form_a, form_b, reasons = map(frozenset, codes)
    return form_a == form_b and RIGHT in form_a & reasons and len(reasons - form_a) <= 1


def _read_codes(listed: Element) -> list[str]:
    found = [OPTION.match(one.text or "") for one in listed]
    return [one["code"] if one else "" for one in found]


def _copy(elements: Sequence[Element]) -> list[Element]:
    """The same without ids: a page has each once."""
    found = []
    for element in elements:
        one = Element(element.tag, {k: v for k, v in element.attrib.items() if k != "id"})
        one.text, one.tail = element.text, element.tail
        one.extend(_copy(list(element)))
        found.append(one)
    return found


def _make_options(options: Sequence[Element], name: str, letters: str) -> Element:
    group = Element("fieldset", {"class": "options"})
    for letter, option in zip(letters, options, strict=True):
        mark = OPTION.match(option.text or "")
        assert mark
        label = SubElement(group, "label")
        SubElement(label, "input", {"type": "radio", "name": name, "value": mark["code"]})
        SubElement(label, "b").text = letter
        text = SubElement(label, "span")
        text.text, text[:] = OPTION.sub("", option.text or "", count=1), list(option)
    return group


# --- what scripts need to know of the items -------------------------------------------------------


def offer_inventory(kind: str, chapters: Chapters) -> str:
    """The place of a script, with the items, the beliefs and the chapters as data."""
    words = chapters.locale["site"][NAME]
    page = next(one for one in chapters.pages.values() if [*list_items(one)])
    items = [_describe_item(box, lines) for box, lines in list_items(page)]
    beliefs = {
        one["id"]: chapters.translate_field("teaching", one)
        for one in chapters.read_records("teaching")
        if "belief" in one
    }
    for item in items:
        if lost := {*chain(*item["A"])} - {RIGHT} - {*beliefs}:
            raise Failure(page.path, 1, f"{item['id']}: there is no belief {min(lost)}")
    known: dict[str, Any] = {"items": items, "beliefs": beliefs, "words": dict(words[kind])}
    if kind == "take":
        known["chapters"] = _list_route(items, chapters)
    data = escape(json.dumps(known, ensure_ascii=False))
    said = words[f"{kind}_script"]
    return f'<div class="inventory" data-kind="{kind}" data-known="{data}"><p>{said}</p></div>'


def list_items(page: Page) -> Iterator[tuple[Box, list[str]]]:
    """The boxes of a page, with their lines."""
    opened: list[Box] = []
    for piece in page.pieces:
        if isinstance(piece, Box):
            opened.append(piece)
        elif isinstance(piece, End):
            box = opened.pop()
            if box.kind == "item":
                yield box, list(page.lines[box.last_line : piece.line - 1])


def _describe_item(box: Box, lines: Sequence[str]) -> dict[str, Any]:
    """What is right, the chapter, and for each form the codes of answers and reasons."""
    marks = [OPTION.match(line) for line in lines if line.strip()]
    runs = [
        [one["code"] for one in run if one] for is_option, run in groupby(marks, bool) if is_option
    ]
    answers_a, answers_b, reasons = runs
    options = dict(box.options)
    return {
        "id": box.id,
        "concept": box.title,
        "chapter": options["chapter"],
        "A": [answers_a, reasons],
        "B": [answers_b, [*reasons[TURN["B"] :], *reasons[: TURN["B"]]]],
    }


def _list_route(items: Sequence[dict[str, Any]], chapters: Chapters) -> dict[str, Any]:
    """The chapters of the items and those that they build on, in the order of the book."""
    wanted: set[str] = set()
    found = [item["chapter"] for item in items]
    while found:
        slug = found.pop()
        if slug not in wanted:
            wanted.add(slug)
            original = chapters.originals.get(slug) or chapters.find_page(slug)
            found += original.builds_on
    return {
        slug: {
            "number": number,
            "title": chapters.find_page(slug).title,
            "builds": list((chapters.originals.get(slug) or chapters.find_page(slug)).builds_on),
        }
        for slug, number in chapters.numbered.items()
        if slug in wanted
    }
