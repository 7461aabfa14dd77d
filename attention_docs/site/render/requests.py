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


def expand_request(request: Request, chapters: Chapters, slug: str = "") -> str | None:
    """The part as Markdown, or None for a comment that asks for nothing.

    `slug` is the page that asks.
    """
    match request.kind:
        case "gallery":
            return mistakes.render_gallery(request.name, chapters)
        case "filter":
            return boxes.render_filter(chapters.locale["site"]["mistakes"]["filter"])
        case "works":
            return citations.render_works(request.name, chapters)
        case "reports":
            return citations.render_reports(chapters)
        case "results":
            return boxes.render_results(chapters)
        case "trust":
            return boxes.render_trust(chapters)
        case "review":
            return recall.render_review(chapters)
        case "notes":
            return notes.render_notes(chapters)
        case "questions":
            return answered_questions.render_questions(request.name, chapters)
        case "editions":
            return editions.render_editions(chapters)
        case "cite":
            return cite.render_entry(chapters)
        case "teaching":
            return teaching.render_teaching(request.name, chapters)
        case "inventory":
            return inventory.offer_inventory(request.name, chapters)
        case "cards":
            return navigation.make_cards(request.name, chapters)
        case "coq":
            return proof_text.offer_lines(slug, request.name, chapters)
        case "proofs":
            return proof_text.render_proofs(chapters)
        case "builds-on":
            return navigation.list_prerequisites(slug, chapters)
        case "sentence":
            return sentence.offer_sentence(chapters)
        case "model":
            return model_panel.offer_panel(request.name, chapters)
        case "next-token":
            return next_token.offer_next_token(chapters)
        case "next":
            return navigation.make_next_card(slug, chapters)
    return None
