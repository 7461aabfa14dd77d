"""Questions that people ask, and where each is answered: the entries of `docs/questions.toml`."""

from __future__ import annotations

from attention_docs.site.read.failure import Failure
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.citations import REPORT


def render_questions(group: str, chapters: Chapters) -> str:
    """The questions of a group, with the headings that answer them and where they were asked."""
    locale = chapters.locale["site"]["questions"]
    entries = chapters.select_records("questions", "group", group)
    marks = chapters.locale["site"]["marks"]
    rows = [f"| {locale['question']} | {locale['answer']} |", "|---|---|"]
    for entry in entries:
        try:
            text = chapters.translate_field("questions", entry)
            answers = [chapters.make_link(place) for place in entry["places"]]
            asked = [_format_source(address) for address in entry.get("asked", [])]
        except Failure as failure:
            raise chapters.locate_failure("questions", entry, failure) from None
        anchor = f'<a id="question-{entry["id"]}"></a>'
        if asked:
            text += f"<br>{locale['asked']}{marks['colon']}{marks['comma'].join(asked)}"
        rows.append(f"| {anchor}{text} | {'<br>'.join(answers)} |")
    return "\n".join(rows)


def _format_source(address: str) -> str:
    """A link to a thread, by its repository and number or by its host."""
    report = REPORT.fullmatch(address)
    if not report and not address.startswith("https://"):
        raise Failure("", 1, f'asked: wanted addresses that start with https://, got "{address}"')
    label = f"{report['repo']} #{report['number']}" if report else address.split("/")[2]
    return f"[{label}]({address})"
