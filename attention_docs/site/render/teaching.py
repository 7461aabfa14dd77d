"""The parts of the page `teaching`: plans, chapters, beliefs, from ids in `docs/teaching.toml`.

Titles, numbers, minutes of reading, objectives and exercises come from the chapters. How long
something takes in class is nowhere computed: it stands there as not measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from attention_docs.site.addresses import BANKS, Addresses, name_wheel
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.passage import Passage
from attention_docs.site.read.variants import read_variants
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.chapters import Chapters, Record
from attention_docs.site.render.judged import list_asks

NAME = "teaching"
OUTPUT = "out-"
SHOWN = {"slide": "slides=", "frame": "embed="}
USES = {OUTPUT: SHOWN, "guess-": SHOWN, "result-": {"slide": "slides="}}
USES["exercise-"] = {"sheet": "print=exercises&amp;only="}
"""By the beginning of an id: what its part is good for in class, with the query of the address."""
REPORT = re.compile(r"https://github\.com/(?P<repository>[^/]+/[^/]+)/\w+/(?P<number>\d+)")
LAB = "notebooks/{lang}/lab.ipynb"
LAB_NAME = "attention-lab.ipynb"
LECTURE, LECTURE_MINUTES = "lecture", 90
PENCIL, HOMEWORK, PROOF = ("pencil",), ("predict", "bug", "write"), ("proof",)


def render_teaching(part: str, chapters: Chapters) -> str:
    """A plan by its name, the `chapters`, the `beliefs`, or links to `files` of all chapters."""
    match part:
        case "chapters":
            return "\n\n".join(_render_chapter(slug, chapters) for slug in chapters.numbered)
        case "beliefs":
            return _render_beliefs(chapters)
        case "files":
            folder = f"{BANKS}/{chapters.lang}/"
            wheel = name_wheel(chapters.docs.parent)
            files = [
                (f"{folder}all.xml", "attention-moodle.xml", "whole"),
                (f"{folder}qti.zip", "attention-qti.zip", "qti"),
                (LAB.format(lang=chapters.lang), LAB_NAME, "lab"),
                (wheel, wheel, "wheel"),
            ]
            return "<br>".join(_link_file(*one, chapters) for one in files)
    return _render_plan(part, chapters)


def _link_file(path: str, name: str, label: str, chapters: Chapters) -> str:
    """A link to a file of the site, and the name under which it is kept."""
    words = chapters.locale["site"]["teaching"]
    return f'<a href="{chapters.site_root}{path}" download="{name}">{words[label]}</a>'


def find_lab(chapters: Chapters) -> list[tuple[str, str]]:
    """The exercises of the lab, each as its page and its id."""
    if not (chapters.docs / f"{NAME}.toml").is_file():
        return []
    parts = (
        place.partition("#") for one in _list_entries("lab", chapters) for place in one["show"]
    )
    return [(slug, name) for slug, _, name in parts]


def _list_entries(key: str, chapters: Chapters) -> list[Record]:
    return [one for one in chapters.read_records(NAME) if key in one]


def _render_plan(name: str, chapters: Chapters) -> str:
    words = chapters.locale["site"]["teaching"]
    entries = chapters.select_records(NAME, "plan", name)
    if name == LECTURE and (total := sum(one["minutes"] for one in entries)) != LECTURE_MINUTES:
        raise Failure(f"docs/{NAME}.toml", 1, f"{name}: wanted {LECTURE_MINUTES}, got {total}")
    first = words["planned" if name == LECTURE else "when"]
    rows = [
        f"| {first} | {words['show']} | {words['do']} | {words['listen']} |",
        "|---|---|---|---|",
    ]
    deck = [one for entry in entries for one in _list_slides(entry)]
    for entry in entries:
        try:
            cells = (
                _name_step(entry, chapters) + _link_start(entry, deck, words),
                _list_shown(entry, chapters),
                *_say(entry, chapters),
            )
        except Failure as failure:
            raise chapters.locate_failure(NAME, entry, failure) from None
        rows.append(f"| {' | '.join(cells)} |")
    last = [f"\n{_link_deck(deck, deck[0], words['deck'])}"] if deck else []
    return "\n".join([*rows, *last])


def _list_slides(entry: Record) -> list[list[str]]:
    """What a step shows on slides, each as its page and its id."""
    places = [place.split("#") for place in entry["show"] if "#" in place]
    return [one for one in places if f"{one[1].partition('-')[0]}-" in USES]


def _link_start(entry: Record, deck: list[list[str]], words: Any) -> str:
    """A link to the first slide of a step, from where the plan goes on."""
    slides = _list_slides(entry)
    return f"<br><small>{_link_deck(deck, slides[0], words['start'])}</small>" if slides else ""


def _link_deck(deck: list[list[str]], start: list[str], label: str) -> str:
    """One address that shows all slides of a plan, in its order, and begins at one of them."""
    plan = ",".join(f"{slug}:{part}" for slug, part in deck)
    page = f"../{Addresses.find_place(start[0])}index.html"
    return f'<a href="{page}?slides={start[1]}&amp;plan={plan}">{label}</a>'


def _name_step(entry: Record, chapters: Chapters) -> str:
    """The planned minutes, or a name with what is read before."""
    if "minutes" in entry:
        return str(entry["minutes"])
    words, minutes = chapters.locale["site"]["teaching"], chapters.minutes()
    name = chapters.translate_field(NAME, entry, "name")
    if "lab" in entry:
        return f"{name}<br>{_link_file(LAB.format(lang=chapters.lang), LAB_NAME, 'lab', chapters)}"
    if not entry["read"]:
        return name
    read = chapters.locale["site"]["marks"]["comma"].join(
        f"[{chapters.numbered[slug]}]({slug}.md)" for slug in entry["read"]
    )
    total = sum(minutes[slug] for slug in entry["read"])
    return f"{name}<br>{words['read'].format(chapters=read, minutes=total)}"


def _list_shown(entry: Record, chapters: Chapters) -> str:
    """What to show, each with what a class needs of it."""
    return "<br>".join(
        link_place(place, chapters) + _link_uses(place, chapters) for place in entry["show"]
    )


def _link_uses(place: str, chapters: Chapters) -> str:
    """Links to the slide of a part and to its frame, or to a sheet with one exercise."""
    slug, _, name = place.partition("#")
    uses = USES.get(f"{name.partition('-')[0]}-", {})
    page = f"../{Addresses.find_place(slug)}index.html"
    words = chapters.locale["site"]["teaching"]
    links = (f'<a href="{page}?{query}{name}">{words[use]}</a>' for use, query in uses.items())
    return "".join(f" · <small>{link}</small>" for link in links)


def _say(entry: Record, chapters: Chapters) -> Iterator[str]:
    """What students do, and which beliefs to listen for."""
    yield chapters.translate_field(NAME, entry)
    beliefs = {one["id"]: one for one in _list_entries("belief", chapters)}
    if lost := [name for name in entry["listen"] if name not in beliefs]:
        raise Failure("", 1, f"listen: there is no belief {lost[0]}")
    yield "<br>".join(
        f"[{chapters.translate_field(NAME, beliefs[name])}](#belief-{name})"
        for name in entry["listen"]
    )


def _render_beliefs(chapters: Chapters) -> str:
    words = chapters.locale["site"]["teaching"]
    rows = [f"| {words['belief']} | {words['ask']} | {words['refute']} |", "|---|---|---|"]
    for entry in _list_entries("belief", chapters):
        try:
            refuting = [link_place(place, chapters) for place in entry["refute"]]
            if name := entry.get("mistake"):
                refuting.append(
                    chapters.make_link(f"{chapters.find_asking('gallery').slug}#{name}")
                )
            if report := entry.get("report"):
                refuting.append(REPORT.sub(r"[\g<repository>#\g<number>](\g<0>)", report))
            cells = (
                f'<a id="belief-{entry["id"]}"></a>{chapters.translate_field(NAME, entry)}',
                link_place(entry["ask"], chapters),
                "<br>".join(refuting),
            )
        except Failure as failure:
            raise chapters.locate_failure(NAME, entry, failure) from None
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _render_chapter(slug: str, chapters: Chapters) -> str:
    """A fold with what a teacher needs of a chapter."""
    entry = next(
        (one for one in _list_entries("chapter", chapters) if one["chapter"] == slug), None
    )
    if entry is None:
        raise Failure(f"docs/{NAME}.toml", 1, f"there is no entry with chapter {slug}")
    words, page = chapters.locale["site"]["teaching"], chapters.find_page(slug)
    original = chapters.originals.get(slug) or page
    comma = chapters.locale["site"]["marks"]["comma"]
    minutes = chapters.locale["site"]["chapter"]["minutes"].format(chapters.minutes()[slug])
    try:
        mathematics = comma.join(words["mathematics"][one] for one in entry["mathematics"])
        shown = _list_shown(entry, chapters)
    except KeyError as error:
        raise chapters.locate_failure(
            NAME, entry, Failure("", 1, f"mathematics: {error}")
        ) from None
    except Failure as failure:
        raise chapters.locate_failure(NAME, entry, failure) from None
    before = comma.join(f"[{chapters.numbered[one]}]({one}.md)" for one in original.builds_on)
    rows = {
        "objective": _find_objective(page.passages),
        "answers": "<br>".join(
            _escape_cell(one.title) for one in page.passages if one.kind == "recall"
        ),
        "results": _list_results(slug, chapters),
        "before": before or words["nothing"],
        "needs": mathematics or words["nothing"],
        "reading": minutes,
        "class": words["unmeasured"],
        "show": shown,
        "pencil": _list_exercises(slug, PENCIL, chapters),
        "homework": _list_exercises(slug, HOMEWORK, chapters),
        "proofs": _list_exercises(slug, PROOF, chapters),
        "files": _list_files(slug, chapters),
    }
    table = [f"| {words[name]} | {text} |" for name, text in rows.items() if text]
    heading = f"| {words['topic']} | {words['here']} |"
    head = f"/// fold | {chapters.numbered[slug]}. {page.title}\n    id: chapter-{slug}"
    return "\n\n".join([head, "\n".join([heading, "|---|---|", *table]), "///"])


def _find_objective(passages: Iterable[Passage]) -> str:
    """The first paragraph of "In short": what a reader can do now."""
    short = next((one for one in passages if one.id == "short"), None)
    text = short.text.strip().split("\n\n")[0] if short else ""
    return "" if "{{" in text else text.replace("\n", " ")


def _list_results(slug: str, chapters: Chapters) -> str:
    boxes = (one for one in chapters.find_page(slug).passages if one.kind == "result")
    return "<br>".join(link_place(f"{slug}#{one.id}", chapters) for one in boxes)


def _list_exercises(slug: str, kinds: tuple[str, ...], chapters: Chapters) -> str:
    boxes = [one for one in chapters.find_page(slug).passages if one.kind == "exercise"]
    asked = [one for one in boxes if dict(one.options)["kind"] in kinds]
    return "<br>".join(
        f"{link_place(f'{slug}#{one.id}', chapters)} {'★' * int(dict(one.options)['stars'])}"
        for one in asked
    )


def _list_files(slug: str, chapters: Chapters) -> str:
    """The files of a chapter: sheet, notebooks, questions with their number."""
    words, page = chapters.locale["site"], chapters.find_page(slug)
    kinds = {one.kind for one in page.passages}
    root = chapters.site_root
    found = []
    if page.blocks:
        path = f"{root}notebooks/{page.text_lang}/{slug}"
        found.append((f"{path}.ipynb", words["copies"]["notebook"]))
        if "exercise" in kinds:
            found.append((f"{path}-answers.ipynb", words["copies"]["answers"]))
    if kinds & {"exercise", "guess", "recall"}:
        assembled = AssembledPage(page, chapters.results(page), chapters.locale)
        asks = list(list_asks(assembled))
        counts = {
            "judged": len(asks),
            "read": sum(one.kind == "recall" for one in page.passages),
            "varied": sum(
                one.holds(ask.name) and ask.wanted is not None
                for one in read_variants(chapters.docs.parent, slug)
                for ask in asks
            ),
        }
        label = words["teaching"]["bank"].format(**counts)
        found.append((f"{root}{BANKS}/{page.text_lang}/{slug}.xml", label))
    return "<br>".join(f'<a href="{path}" download>{label}</a>' for path, label in found)


def link_place(place: str, chapters: Chapters) -> str:
    """A link to a heading, a guess, a result, an exercise or an output, with number and title."""
    slug, _, name = place.partition("#")
    page, boxes = chapters.find_page(slug), chapters.locale["site"]["boxes"]
    if name.startswith(OUTPUT):
        block, _ = chapters.find_block(slug, name.removeprefix(OUTPUT))
        title = page.titles.get(page.find_section(block.line), page.title)
        label = f"{chapters.locale['site']['teaching']['figure']}{title}"
        return f'<a href="../{Addresses.find_place(slug)}index.html#{name}">{label}</a>'
    kinds = {one.id: one.kind for one in page.passages if one.id}
    if name not in kinds:
        raise Failure("", 1, f"{page.path} has no #{name}")
    assembled = AssembledPage(page, (), chapters.locale, numbered=chapters.numbered)
    title = page.titles[name]
    match kinds[name]:
        case "item":
            words = chapters.locale["site"]["inventory"]
            title = f"{words['question']}{words['colon']}{title}"
        case "guess":
            title = boxes["guess"].format(title)
        case "result" | "exercise" as kind:
            title = f"{boxes[kind].format(assembled.find_number(name))} {title}"
    return f"[{_escape_cell(title)}]({slug}.md#{name})"


def _escape_cell(title: str) -> str:
    """A title in a cell of a table, where a bar would begin the next one."""
    return title.replace("|", "&#124;")
