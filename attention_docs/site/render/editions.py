"""The editions of the site and what moved from one to the next, from `docs/editions.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby, zip_longest
from typing import Any

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.syntax import VALUE
from attention_docs.site.render.chapters import Chapters, Record
from attention_docs.site.render.cite import read_citation


def render_editions(chapters: Chapters) -> str:
    """Each edition, the newest first, with its errata and with its changes chapter by chapter."""
    words = chapters.locale["site"]["editions"]
    entries = chapters.read_records("editions")
    names = [one["id"] for one in entries]
    parts = []
    citation = read_citation(chapters.docs.parent)
    if citation and citation.version not in names:
        parts.append(words["prepared"].format(citation.version))
    for entry in reversed(entries):
        about = words["published"].format(date=entry["date"], results=len(entry["numbers"]))
        parts += [f"## {entry['id']} {{ #edition-{entry['id'].replace('.', '-')} }}", about]
        parts += _list_errata(entry, chapters)
        if entry["id"] == names[0]:
            parts.append(words["first"])
        else:
            parts += _list_changes(entry.get("moved", []), chapters)
    return "\n\n".join(parts)


def _list_errata(entry: Record, chapters: Chapters) -> Iterator[str]:
    """What was wrong in an earlier edition and is right since this one."""
    words, colon = chapters.locale["site"]["editions"], chapters.locale["site"]["marks"]["colon"]
    if places := entry.get("errata"):
        texts = chapters.translate_field("editions", entry, "errata")
        rows = zip(places, entry["wrong"], texts, strict=True)
        yield f"**{words['errata']}**"
        yield "\n".join(
            f"- {_link(place, chapters)}{colon}{text}"
            + words["wrong"].format(first=first, since=entry["id"])
            for place, first, text in rows
        )


def _list_changes(moved: list[Mapping[str, str]], chapters: Chapters) -> Iterator[str]:
    for slug, group in groupby(_sort(moved, chapters), key=_find_slug):
        changes = list(group)
        title = chapters.find_page(slug).title if slug in chapters.pages else slug
        lines = "\n".join(f"- {_describe(one, chapters)}" for one in changes)
        head = f"/// fold | {title} ({len(changes)})\n    id: moved-{slug.replace('/', '-')}"
        yield f"{head}\n\n{lines}\n///"


def _sort(moved: list[Mapping[str, str]], chapters: Chapters) -> list[Mapping[str, str]]:
    places = {slug: number for number, slug in enumerate(chapters.numbered)}
    return sorted(moved, key=lambda one: (places.get(_find_slug(one), len(places)), one["place"]))


def _find_slug(change: Mapping[str, str]) -> str:
    return change["place"].partition("#")[0]


def _describe(change: Mapping[str, str], chapters: Chapters) -> str:
    words: Any = chapters.locale["site"]["editions"]["kinds"]
    said: str = words[change["kind"]].format(link=_link(change["place"], chapters))
    was, now = (change.get(name, "") for name in ("was", "now"))
    match change["kind"]:
        case "result" | "withdrawn":
            return f"{said} ({was}{now})"
        case "statement":  # in the first language, as records have it
            was, now = (VALUE.sub("…", " ".join(text.split())) for text in (was, now))
            return f'{said}<br><del lang="en">{was}</del><br><ins lang="en">{now}</ins>'
        case "inline" | "output":
            pairs = zip_longest(was.splitlines(), now.splitlines(), fillvalue="")
            return "<br>".join([said, *(f"{_quote(a)} → {_quote(b)}" for a, b in pairs)])
    return said


def _quote(text: str) -> str:
    return f"`` {text} ``" if text.strip() else "∅"


def _link(place: str, chapters: Chapters) -> str:
    """A link to a section; its address alone once the section is gone."""
    try:
        return chapters.make_link(place)
    except Failure:
        return f"`{place}`"
