"""What pages show of the navigation: cards, "Builds on", "Next", the line above a title."""

from __future__ import annotations

import re

from attention_docs.site.read.failure import Failure
from attention_docs.site.render.chapters import Chapters


def make_cards(name: str, chapters: Chapters) -> str:
    """A part of the navigation as a heading and a card for each page, in their order."""
    parts = chapters.navigation.ids
    if name not in parts:
        raise Failure("", 1, f'cards: wanted one of {", ".join(parts)}, got "{name}"')
    part, numbers = parts[name], chapters.navigation.chapters
    lines = [f"### {name_part(part.title, chapters)} {{ #{name} }}", ""]
    for slug in part.slugs:
        card = f"{_mark(slug, chapters)} {_link(slug, chapters)}{{ .card }} "
        card += chapters.find_page(slug).question
        if slug in numbers:
            minutes = _say_minutes(chapters.minutes()[slug], chapters)
            card += f" *{minutes}*{{ .minutes }}"
        lines.append(card)
    return "\n".join(lines)


def list_prerequisites(slug: str, chapters: Chapters) -> str:
    """The chapters that a page builds on, by their numbers and titles."""
    original = chapters.originals.get(slug) or chapters.find_page(slug)
    links = [
        f"[{chapters.numbered.get(one)}. {chapters.find_page(one).title}]({one}.md)"
        for one in original.builds_on
    ]
    if not links:
        raise Failure(original.path, 1, "front matter: wanted builds_on: [chapter], got none")
    said: str = chapters.locale["site"]["chapter"]["builds_on"]
    return said.format(" · ".join(links))  # titles hold commas


def make_next_card(slug: str, chapters: Chapters) -> str:
    """A card that leads to the next chapter or the end of a part; nothing after the last one."""
    following = chapters.navigation.find_next(slug)
    if following is None:
        return ""
    page = chapters.find_page(following)
    title = chapters.locale["site"]["chapter"]["next"].format(page.title)
    return f"- [{title}]({following}.md){{ .card .next }} {page.question}"


def name_part(title: str, chapters: Chapters) -> str:
    """The title of a part in the language of the pages."""
    return chapters.part_titles.get(title, title)


def describe_chapter(slug: str, minutes: int, chapters: Chapters) -> str:
    """The line above the title of a chapter: part, number and minutes; "" for another page."""
    number, part = chapters.numbered.get(slug), chapters.navigation.find_part(slug)
    if number is None:
        return ""
    locale = chapters.locale["site"]["chapter"]
    said = [locale["number"].format(number), _say_minutes(minutes, chapters)]
    if part:  # "Part 1" of "Part 1: How a GPT reads and writes"
        said.insert(0, re.split("[:：]", name_part(part.title, chapters))[0])
    return " · ".join(said)


def _say_minutes(minutes: int, chapters: Chapters) -> str:
    locale = chapters.locale["site"]["chapter"]
    said: str = locale["minute"] if minutes == 1 else locale["minutes"].format(minutes)
    return said


def _mark(slug: str, chapters: Chapters) -> str:
    number = chapters.numbered.get(slug)
    return f"{number}." if number else "-"


def _link(slug: str, chapters: Chapters) -> str:
    return f"[{chapters.find_page(slug).title}]({slug}.md)"
