"""Cards: questions that a reader should be able to answer, each with its answer in a fold.

A chapter ends with them, as boxes `recall`. The page of cards brings those of all chapters back
(docs/assets/review.js), and publish/anki.py makes a download of them. Nothing is written twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from xml.etree.ElementTree import Element, SubElement

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.passage import Passage
from attention_docs.site.read.pieces import Box
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.boxes import link_section
from attention_docs.site.render.chapters import Chapters

MARKS = re.compile(r"[*`$]")
OWN_LINK = re.compile(r"\]\(#")


@dataclass(frozen=True)
class Card:
    """A question and its answer.

    Attributes:
        slug: the name of its chapter.
        id: its address there, the same in all languages.
        question: in plain text.
        answer: as Markdown; its links lead to pages of `docs/`.
        link: Markdown that says where it comes from.
    """

    slug: str
    id: str
    question: str
    answer: str
    link: str


def introduce_cards(root: Element, assembled: AssembledPage) -> None:
    """Before the first card of a chapter, a line that says what to do with them."""
    if assembled.page.asks_for("review"):
        return
    for parent in list(root.iter()):
        found = [n for n, one in enumerate(parent) if one.get("class") == "recall"]
        if found:
            words = assembled.locale["site"]["review"]
            line = Element("p", {"class": "recall-note"})
            line.text = f"{words['first']} "
            if assembled.links.review:
                SubElement(line, "a", {"href": assembled.links.review}).text = words["all"]
            parent.insert(found[0], line)


def list_cards(chapters: Chapters) -> Iterator[Card]:
    """The cards of all chapters, in their order."""
    for slug in chapters.numbered:
        page = chapters.find_page(slug)
        if any(one.kind == "recall" for one in page.passages):
            assembled = AssembledPage(
                page,
                chapters.results(page),
                chapters.locale,
                numbered=chapters.numbered,
                titles={name: one.title for name, one in chapters.pages.items()},
            )
            yield from read_cards(assembled)


def read_cards(assembled: AssembledPage) -> Iterator[Card]:
    lines = assembled.fill_values(assembled.get_value)
    boxes = (one for one in assembled.page.passages if one.kind == "recall")
    yield from (_read_card(box, assembled, lines) for box in boxes)


def _read_card(box: Passage, assembled: AssembledPage, lines: list[str]) -> Card:
    page = assembled.page
    (head,) = (one for one in page.pieces if isinstance(one, Box) and one.line == box.line)
    answer = "\n".join(lines[head.last_line : box.last_line - 1]).strip()
    answer = OWN_LINK.sub(f"]({page.slug}.md#", answer)
    try:
        link = link_section(page, dict(box.options)["see"], page.slug)
    except Failure as failure:
        raise Failure(page.path, box.line, failure.message) from None
    return Card(page.slug, box.id, box.title, answer, link)


def list_exercises(chapters: Chapters) -> list[tuple[str, str, dict[str, str]]]:
    """Of each chapter its name, its title and its exercises by their ids, in words."""
    found = []
    for slug, number in chapters.numbered.items():
        page = chapters.find_page(slug)
        boxes = (one for one in page.passages if one.kind == "exercise")
        names = {
            one.id: f"{number}.{page.places[one.id]} {MARKS.sub('', one.title)}" for one in boxes
        }
        found.append((slug, f"{number} {page.title}", names))
    return found


def name_deck(lang: str) -> str:
    """The name of the file for Anki, beside the first page of its language."""
    return f"attention-{lang}.apkg"


def render_review(chapters: Chapters) -> str:
    """All cards, chapter by chapter, after a line that offers them for Anki."""
    words = chapters.locale["site"]["review"]
    name, exercises = name_deck(chapters.lang), list_exercises(chapters)
    parts = [
        f'<p class="cards-file"><a href="../{name}" download="{name}">{words["anki"]}</a>'
        f"{chapters.locale['site']['marks']['stop']} {words['again']}</p>",
        f'<div class="review-place" data-exercises="{escape(json.dumps(exercises))}"></div>',
    ]
    slug = ""
    for card in list_cards(chapters):
        if card.slug != slug:
            slug = card.slug
            number, title = chapters.numbered[slug], chapters.find_page(slug).title
            parts.append(f"## {number} {title} {{ #{slug} }}")
        parts.append(
            f"/// recall | {card.question}\n    id: {slug}-{card.id}\n\n"
            f"{card.answer}\n\n{card.link}\n{{ .see }}\n///"
        )
    return "\n\n".join(parts)
