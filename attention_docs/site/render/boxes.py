"""Boxes of a page: depth that folds, numbered results, exercises with their answers.

A box is a block of pymdownx between lines of slashes; `read/syntax.py` says what it may hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.util import AtomicString
from pymdownx.blocks import BlocksExtension
from pymdownx.blocks.block import Block, type_any

from attention_docs.locales import Locale
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.passage import Passage
from attention_docs.site.read.pieces import Box
from attention_docs.site.read.syntax import OPTIONAL, OPTIONS
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.cite import Citation, cite, read_citation

FOLDED_KINDS = ("deeper", "fold", "hint", "answer", "recall", "asks")  # in copies, asks too
GROUPED = ("deeper", "fold")
LISTS = ("gallery", "proofs", "results", "teaching")  # parts whose folds are a list of entries
OWN_LINK = re.compile(r"\]\(#")


class BoxExtension(BlocksExtension):  # type: ignore[misc]  # pymdownx has no types
    """Adds the boxes to Markdown; `get_assembled` returns the page that is being rendered."""

    def __init__(self, get_assembled: Callable[[], AssembledPage | None]) -> None:
        super().__init__()
        self.get_assembled = get_assembled

    def extendMarkdownBlocks(self, md: Markdown, block_mgr: Any) -> None:  # noqa: N802
        for kind, options in OPTIONS.items():
            spec = {name: ["", type_any] for name in (*options, *OPTIONAL.get(kind, {}))}
            of_kind = type(kind.title(), (BoxBlock,), {"NAME": kind, "OPTIONS": spec})
            block_mgr.register(of_kind, {"assembled": self.get_assembled})


class BoxBlock(Block):  # type: ignore[misc]
    """A box on its way to HTML."""

    ARGUMENT = None

    def on_create(self, parent: Element) -> Element:
        """The box, with its title."""
        assembled = self.config["assembled"]()
        locale = assembled.locale["site"]["boxes"] if assembled else {}
        title = self.argument or ""
        if self.NAME == "asks":  # asks.py makes a form of it
            return SubElement(parent, "div", {"class": self.NAME})
        if self.NAME in FOLDED_KINDS:
            return add_fold(
                parent, self.NAME, locale[self.NAME].format(title), self.options.get("id")
            )
        box = SubElement(parent, "div", {"class": self.NAME, "id": self.options["id"]})
        if self.NAME == "film":  # films.py lays it out
            box.set("data-name", title)
            return box
        if self.NAME == "guess":  # asks.py makes a form of it, too
            box.set("data-premise", self.options["premise"])
            SubElement(box, "p", {"class": "guess-question"}).text = locale["guess"].format(title)
            return box
        if self.NAME == "item":  # inventory.py makes two forms of it
            SubElement(box, "p", {"class": "concept", "hidden": ""}).text = title
            return box
        if self.NAME == "exercise":
            box.set("data-kind", self.options["kind"])
        head = SubElement(box, "p", {"class": f"{self.NAME}-title"})
        number = locale[self.NAME].format(assembled.find_number(self.options["id"]))
        SubElement(head, "span", {"class": "number"}).text = number
        if self.NAME == "exercise":
            stars = int(self.options["stars"])
            says = {"class": "stars", "role": "img", "aria-label": locale["stars"].format(stars)}
            SubElement(head, "span", says).text = "★" * stars
            SubElement(head, "span", {"class": "kind"}).text = locale[self.options["kind"]]
        if self.options.get("proved"):
            SubElement(head, "span", {"class": "machine"}).text = locale["machine"]
        SubElement(head, "span", {"class": "title"}).text = title
        return box

    def on_add(self, block: Element) -> Element:
        """What is folded stands in an element of its own, which carries the address."""
        return block[-1] if self.NAME in FOLDED_KINDS and self.NAME != "asks" else block

    def on_end(self, block: Element) -> None:
        """A result says at its end what proves and what checks it, a card where it comes from."""
        assembled = self.config["assembled"]()
        if self.NAME == "recall" and self.options["see"]:
            place = SubElement(block[-1], "p", {"class": "see"})
            place.text = link_section(assembled.page, self.options["see"])
        if self.NAME == "result" and assembled:
            checked = SubElement(block, "details", {"class": "checks"})
            summary = SubElement(checked, "summary")
            summary.text = assembled.locale["site"]["blocks"]["checked"]
            last = SubElement(checked, "p", {"class": "result-links"})
            last.text = describe_support(self.options, assembled.page, assembled.locale)
            for name in self.options["proved"].split():
                _show_theorem(checked, name, assembled)


def _show_theorem(parent: Element, name: str, assembled: AssembledPage) -> None:
    """A theorem as Coq has it, with the definitions that it needs; unknown ones are failures."""
    theorem = assembled.page.theorems.get(name, {"statement": "", "definitions": []})
    said = SubElement(parent, "p", {"class": "result-links"})
    said.text = assembled.locale["site"]["boxes"]["theorem"].format(f"`{name}`")
    code = SubElement(SubElement(parent, "pre", {"class": "theorem", "lang": "en"}), "code")
    needed = "\n".join(theorem["definitions"])
    code.text = AtomicString(f"{theorem['statement']}.\n\n{needed}")
    if any(one.startswith("Record space ") for one in theorem["definitions"]):
        finite = SubElement(parent, "p", {"class": "result-links"})
        finite.text = assembled.locale["site"]["proofs"]["finite"]
    if page := assembled.links.proofs:
        link = SubElement(parent, "p", {"class": "result-links"})
        link.text = f"[{assembled.locale['site']['proofs']['steps']}]({page}#{name_steps(name)})"


def name_steps(name: str) -> str:
    """The address of the sentences of a theorem's proof, on the page of proofs."""
    return name.replace(".", "-").replace("_", "-").lower()


def add_fold(parent: Element, kind: str, title: str, name: str | None = None) -> Element:
    """A closed fold. Its address is inside: a browser opens what holds the target of a link."""
    fold = SubElement(parent, "details", {"class": kind})
    SubElement(fold, "summary").text = title
    SubElement(fold, "div", {"class": "inside", "id": name} if name else {"class": "inside"})
    return fold


def group_folds(root: Element, assembled: AssembledPage) -> None:
    """Folds that follow each other become one, which names what is in it.

    The folds of the gallery and of the page of results are its entries: they stay.
    """
    if any(map(assembled.page.asks_for, LISTS)):
        return
    for parent in list(root.iter()):
        run: list[Element] = []
        for child in [*parent, None]:
            if child is not None and child.tag == "details" and child.get("class") in GROUPED:
                run.append(child)
                continue
            if len(run) > 1:
                _group_run(parent, run, assembled.locale)
            run = []


def _group_run(parent: Element, run: list[Element], locale: Locale) -> None:
    group = add_fold(parent, "further", "")
    parent.remove(group)
    parent.insert(list(parent).index(run[0]), group)
    summary, inside = group
    SubElement(summary, "b").text = locale["site"]["boxes"]["further"]
    for fold in run:
        parent.remove(fold)
        inside.append(fold)
        title = SubElement(summary, "span")
        title.text = fold[0].text
        title.extend(deepcopy(part) for part in fold[0])


def link_section(page: Page, name: str, slug: str = "") -> str:
    """A link to a heading or a box of a page, from another page with the page's name."""
    if name not in page.titles:
        raise Failure(page.path, 1, f"there is no heading or box #{name}")
    return f"→ [{page.titles[name]}]({slug and f'{slug}.md'}#{name})"


def describe_support(options: dict[str, str], page: Page, locale: Locale) -> str:
    """What proves, runs and tests a result, and why it is not computed; Markdown for its page."""
    templates, marks = locale["site"]["boxes"], locale["site"]["marks"]
    titles = page.titles

    def place(name: str) -> str:
        if "#" in name:
            slug, _, inner = name.partition("#")
            return f"[{templates['elsewhere']}]({slug}.md#{inner})"
        return f"[{titles.get(name, name).removeprefix(templates['proved'].format(''))}](#{name})"

    proofs = [place(name) for name in options["proof"].split()]
    label = templates["proved"].format("").strip(" :：")
    found = [
        proofs[0]  # its title says what it is
        if len(proofs) == 1 and label in proofs[0]
        else templates["proved"].format(marks["comma"].join(proofs)),
        templates["ran"].format(
            marks["comma"].join(f"[{one}](#out-{one})" for one in options["check"].split())
        ),
        templates["tested"].format(marks["comma"].join(options["test"].split())),
    ]
    if options.get("proved"):
        found.append(templates["machine"])
    if reason := options.get("unproved"):
        found.append(templates["unproved"][reason])
    if reason := options.get("uncomputed"):
        found.append(templates["uncomputed"][reason])
    return " · ".join(found)


# --- all results of the site


def render_results(chapters: Chapters) -> str:
    """Every numbered result, chapter by chapter: a line each, which opens."""
    parts = [render_filter(chapters.locale["site"]["boxes"]["filter"])]
    for slug, number in chapters.numbered.items():
        page = chapters.find_page(slug)
        boxes = [one for one in page.passages if one.kind == "result"]
        if boxes:
            parts.append(f"## {number} {page.title} {{ #{slug} }}")
            parts.append(_describe_share(boxes, chapters.locale))
            assembled = AssembledPage(
                page, chapters.results(page), chapters.locale, numbered=chapters.numbered
            )
            citation = read_citation(chapters.docs.parent)
            parts += [_render_result(box, assembled, citation) for box in boxes]
    return "\n\n".join(parts)


def render_trust(chapters: Chapters) -> str:
    """How many results of each chapter a kernel has checked, and why not the others."""
    words = chapters.locale["site"]["boxes"]
    head = [words["trust"][name] for name in ("chapter", "results", "proved", "missing")]
    rows = [f"| {' | '.join(head)} |", "|---|---|---|---|"]
    for slug, number in chapters.numbered.items():
        page = chapters.find_page(slug)
        boxes = [one for one in page.passages if one.kind == "result"]
        reasons = [
            f"[{number}.{page.places[box.id]}]({slug}.md#{box.id}) {words['unproved'][reason]}"
            for box in boxes
            if (reason := dict(box.options).get("unproved"))
        ]
        if boxes:
            proved, missing = _count_proved(boxes), "<br>".join(reasons)
            rows.append(f"| {number} {page.title} | {len(boxes)} | {proved} | {missing} |")
    return "\n".join(rows)


def _describe_share(boxes: list[Passage], locale: Locale) -> str:
    share: str = locale["site"]["boxes"]["share"]
    return share.format(proved=_count_proved(boxes), all=len(boxes))


def _count_proved(boxes: list[Passage]) -> int:
    return sum("proved" in dict(box.options) for box in boxes)


def render_filter(label: str) -> str:
    """A field that leaves, of the entries after it, those that hold what is typed (site.js)."""
    return (
        f'<div class="filter"><label>{label} <input type="search" autocomplete="off"></label> '
        '<span role="status"></span></div>'
    )


def _render_result(box: Passage, assembled: AssembledPage, citation: Citation | None) -> str:
    """A result as it stands on the page of all results: a fold, with a link to its chapter."""
    slug, options = assembled.page.slug, dict(box.options)
    claim = assembled.locale["site"]["relations"][options["relation"]]
    number = assembled.find_number(box.id)
    place = f"[{assembled.locale['site']['boxes']['result'].format(number)}](#{box.id})"
    support = describe_support(options, assembled.page, assembled.locale)
    parts = [
        f"/// fold | **{number}** {box.title}\u00a0*{claim}*",
        f"    id: {slug}-{box.id}\n",
        render_statement(box, assembled),
        f"\n{place} · {support}\n{{ .result-links }}\n",
        f"{_cite_result(box, assembled, citation)}\n{{ .cite }}\n" if citation else "",
        "///",
    ]
    return OWN_LINK.sub(f"]({slug}.md#", "\n".join(parts))


def _cite_result(box: Passage, assembled: AssembledPage, citation: Citation) -> str:
    """The citation of a result, with its address, which stays when its number moves."""
    locale, address = assembled.locale["site"], f"{assembled.page.slug}/#{box.id}"
    number = locale["boxes"]["result"].format(assembled.find_number(box.id))
    title = f"{number}{locale['marks']['colon']}{box.title}"
    said = cite(citation, title, locale["review"]["deck"], assembled.locale)
    line: str = locale["cite"]["result"]
    return line.format(f"{said} [{address}](#{box.id})")


def render_statement(box: Passage, assembled: AssembledPage) -> str:
    """What a result says, with its values in place."""
    lines = assembled.fill_values(assembled.get_value)
    (head,) = (p for p in assembled.page.pieces if isinstance(p, Box) and p.line == box.line)
    return "\n".join(lines[head.last_line : box.last_line - 1]).strip()
