"""What the five notes hold, and where each part of it is now: the entries of `docs/notes.toml`."""

from __future__ import annotations

from attention_docs.site.read.failure import Failure
from attention_docs.site.render.chapters import Chapters


def table(chapters: Chapters) -> str:
    """Every row of the notes, with the pages and headings that took it over."""
    words = chapters.words["site"]["notes"]
    rows = [f"| {words['row']} | {words['left']} | {words['now']} |", "|---|---|---|"]
    for entry in chapters.records("notes"):
        try:
            told = chapters.told("notes", entry)
            links = [f"✓ {chapters.link(place)} `{place}`" for place in entry["places"]]
        except Failure as failure:
            raise chapters.located("notes", entry, failure) from None
        wrong = f"<br>**{words['corrected']}**" if entry.get("wrong") else ""
        anchor = f'<a id="note-{entry["id"].replace(".", "-")}"></a>'
        cells = (f"{anchor}`{entry['id']}`", told + wrong, "<br>".join(links))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
