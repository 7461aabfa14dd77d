"""What a comment on a line of its own asks for.

`<!-- gallery: masks -->`, `<!-- works: papers -->`, `<!-- reports -->`, `<!-- results -->`,
`<!-- notes -->` and `<!-- filter -->` stand for parts that are made from the chapters and from two
lists, `docs/mistakes.toml` and `docs/notes.toml`. `<!-- cards: part-1 -->`, `<!-- builds-on -->`
and `<!-- next -->` are made from the navigation. Code, outputs, titles and sources come from the
chapters: nothing is written twice. Any other comment is left alone.
"""

from __future__ import annotations

from attention_docs.site.read.pieces import Request
from attention_docs.site.render import boxes, citations, mistakes, navigation, notes
from attention_docs.site.render.chapters import Chapters


def expand(request: Request, chapters: Chapters, slug: str = "") -> str | None:
    """The part as Markdown, or None for a comment that asks for nothing.

    `slug` is the page that asks.
    """
    match request.kind:
        case "gallery":
            return mistakes.gallery(request.name, chapters)
        case "filter":
            return mistakes.filter_field(chapters)
        case "works":
            return citations.works(request.name, chapters)
        case "reports":
            return citations.reports(chapters)
        case "results":
            return boxes.results(chapters)
        case "notes":
            return notes.table(chapters)
        case "cards":
            return navigation.make_cards(request.name, chapters)
        case "builds-on":
            return navigation.list_prerequisites(slug, chapters)
        case "next":
            return navigation.make_next_card(slug, chapters)
    return None
