"""Expand the requests of a page: comments on lines of their own.

`<!-- gallery: masks -->`, `<!-- works: papers -->`, `<!-- reports -->`, `<!-- results -->`, `<!--
review -->`, `<!-- notes -->`, `<!-- questions: masks -->`, `<!-- teaching: lecture -->`, `<!--
inventory: take -->`, `<!-- editions -->`, `<!-- cite -->` and `<!-- filter -->` stand for parts
that are made from the chapters and from five lists in `docs/`: `mistakes.toml`, `notes.toml`,
`questions.toml`, `teaching.toml` and `editions.toml`. `<!-- cards: part-1 -->`, `<!-- builds-on
-->` and `<!-- next -->` are made from the navigation. `<!-- sentence -->` is where a reader's own
sentence is read, `<!-- next-token -->` where a model goes on with a beginning, `<!-- model: masking
-->` where it does what a chapter is about on a reader's own text. `<!-- proofs -->` is every proof
step by step, `<!-- trust -->` which results have one and why not the others, `<!-- coq: square -->`
what Coq reads for each line of the derivation above it, and `<!-- coq -->` the switch that shows
those lines. Code, outputs, titles and sources come from the chapters: nothing is written twice. Any
other comment is left alone.
"""

from __future__ import annotations

from collections.abc import Callable

from attention_docs.site.read.pieces import Request
from attention_docs.site.render import (
    answered_questions,
    boxes,
    citations,
    cite,
    editions,
    inventory,
    mistakes,
    model_panel,
    navigation,
    next_token,
    notes,
    proof_text,
    recall,
    sentence,
    teaching,
)
from attention_docs.site.render.chapters import Chapters

Maker = Callable[[str, Chapters], str]
OF_NAME: dict[str, Maker] = {
    "cards": navigation.make_cards,
    "gallery": mistakes.render_gallery,
    "inventory": inventory.offer_inventory,
    "model": model_panel.offer_panel,
    "questions": answered_questions.render_questions,
    "teaching": teaching.render_teaching,
    "works": citations.render_works,
}
"""What makes a part that has a name: of the name, and the chapters."""
OF_PAGE: dict[str, Maker] = {
    "builds-on": navigation.list_prerequisites,
    "next": navigation.make_next_card,
}
"""The same of the page that asks."""
OF_ALL: dict[str, Callable[[Chapters], str]] = {
    "cite": cite.render_entry,
    "editions": editions.render_editions,
    "filter": lambda chapters: boxes.render_filter(chapters.locale["site"]["mistakes"]["filter"]),
    "next-token": next_token.offer_next_token,
    "notes": notes.render_notes,
    "proofs": proof_text.render_proofs,
    "reports": citations.render_reports,
    "results": boxes.render_results,
    "review": recall.render_review,
    "sentence": sentence.offer_sentence,
    "trust": boxes.render_trust,
}


def expand_request(request: Request, chapters: Chapters, slug: str = "") -> str | None:
    """The part as Markdown, or None for a comment that asks for nothing.

    `slug` is the page that asks.
    """
    kind, name = request.kind, request.name
    if kind == "coq":
        return proof_text.offer_lines(slug, name, chapters)
    if kind in OF_NAME:
        return OF_NAME[kind](name, chapters)
    if kind in OF_PAGE:
        return OF_PAGE[kind](slug, chapters)
    return OF_ALL[kind](chapters) if kind in OF_ALL else None
