"""What the five notes hold, and where each part of it is now: the entries of `docs/notes.toml`."""

from __future__ import annotations

from attention_docs.site.read.failure import Failure
from attention_docs.site.render.chapters import Chapters


def render_notes(chapters: Chapters) -> str:
    """Every row of the notes, with the pages and headings that took it over."""
    locale = chapters.locale["site"]["notes"]
    rows = [f"| {locale['row']} | {locale['left']} | {locale['now']} |", "|---|---|---|"]
    for entry in chapters.read_records("notes"):
        try:
            text = chapters.translate_field("notes", entry)
            links = [f"✓ {chapters.make_link(place)} `{place}`" for place in entry["places"]]
        except Failure as failure:
            raise chapters.locate_failure("notes", entry, failure) from None
        wrong = f"<br>**{locale['corrected']}**" if entry.get("wrong") else ""
        anchor = f'<a id="note-{entry["id"].replace(".", "-")}"></a>'
        cells = (f"{anchor}`{entry['id']}`", text + wrong, "<br>".join(links))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
