"""What this site adds to Markdown: blocks, inline values, formulas, explained terms.

All of it happens while Markdown makes a page, on its tree: nothing is looked for in finished HTML.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from unicodedata import east_asian_width
from xml.etree.ElementTree import Element, SubElement

import markdown_exec
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor
from markdown.serializers import to_html_string
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER_RE, AtomicString

from attention_docs.running.signs import typeset_printed
from attention_docs.site.read.pieces import Block
from attention_docs.site.render import (
    asks,
    blocks,
    boxes,
    cards,
    derivations,
    films,
    formulas,
    inventory,
    mathml,
    mistakes,
    proof_text,
    recall,
)
from attention_docs.site.render.assembled_page import MARK, AssembledPage
from attention_docs.site.render.machine import draw_machine
from attention_docs.site.render.terms import TERMS, Explainer, name_rows

FORMULA = re.compile(r"\\[(\[](?P<tex>.*)\\[)\]]", re.S)
NUMBER = re.compile(r"-?[\d.]+")
MAX_COLUMNS_ON_A_PHONE = 4
STAND_IN = 7_000_000_000
MAX_COLUMNS_BESIDE_BUTTONS = (
    63  # columns of code that have room beside the buttons: docs/assets/site.css
)
UNEXPLAINED = {"a", "button", "code", "figure", "h1", "h2", "h3", "h4", "math", "pre", "script"}
UNEXPLAINED |= {"summary", "svg", "table"}

Options = dict[str, Any]  # of a fence


class SiteExtension(Extension):
    """The extension; `assembled` is the page that is being rendered."""

    def __init__(self) -> None:
        super().__init__()
        self.assembled: AssembledPage | None = None
        self.formulas = formulas.Renderer()

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's name
        """Take part in the making of a page, or of a docstring on it."""
        # Below code and formulas, where a mark is text; above links, whose titles hold bare text.
        md.inlinePatterns.register(ValueProcessor(md, self), "site-values", 185)
        # After attribute lists, before mkdocs collects anchors and resolves links.
        md.treeprocessors.register(PageTreeprocessor(md, self), "site-tree", 6)
        boxes.BoxExtension(lambda: self.assembled).extendMarkdown(md)

    # --- blocks: fences that markdown-exec reads and gives to a runner of ours

    def accepts_fence(
        self, language: str, inputs: dict[str, str], options: Options, attrs: Options, md: Markdown
    ) -> bool:
        ours = language == "python" and self.assembled is not None
        return ours and bool(markdown_exec.validator(language, inputs, options, attrs, md))

    def format_block(
        self, source: str, language: str, class_name: str, options: Options, md: Markdown, **_: Any
    ) -> str:
        """The code of a block; the tree puts its output after it."""
        block = self._find_block(source)
        if block is None:  # a fault that the page has already
            return blocks.highlight(source.strip("\n"), "text")

        def run(code: str, **_: Any) -> str:
            """The code that the fence includes, as HTML: what it gives was computed before."""
            assert self.assembled
            needs = " data-torch" if block.id in self.assembled.torch_blocks else ""
            kind = (
                "block below"
                if _count_columns(block.displayed_code) > MAX_COLUMNS_BESIDE_BUTTONS
                else "block"
            )
            shown = blocks.highlight(block.displayed_code, language)
            return f'<div class="{kind}" data-block="{block.id}"{needs}>{shown}</div>'

        options |= {"html": True, "source": ""}  # it would make a Markdown of its own to print code
        return BlockHtml(
            markdown_exec.base_format(language=language, run=run, code=source, md=md, **options),
            block,
        )

    def _find_block(self, source: str) -> Block | None:
        """The block of the page whose fence holds these include lines."""
        assert self.assembled
        for block in self.assembled.page.blocks:
            inside = self.assembled.page.lines[block.line : block.last_line - 1]
            if " ".join(inside).split() == source.split():
                return block
        return None


def _count_columns(code: str) -> int:
    """Columns of the first line; a Chinese character takes two."""
    first = code.strip("\n").partition("\n")[0]
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in first)


class BlockHtml(str):
    """The HTML of a block's code, which knows its block."""

    __slots__ = ("block",)
    block: Block

    def __new__(cls, html: str, block: Block) -> BlockHtml:
        """HTML with the block that it shows."""
        block_html = super().__new__(cls, html)
        block_html.block = block
        return block_html


class ValueProcessor(InlineProcessor):
    """Inline values in running text; elsewhere their bare text is filled in."""

    def __init__(self, md: Markdown, site: SiteExtension) -> None:
        super().__init__(MARK.pattern, md)
        self.site = site

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:  # type: ignore[override]  # noqa: N802
        """A span with the number of the value, so that others find it."""
        assert self.site.assembled
        span = Element("span", {"class": "value", "id": f"value-{m[1]}"})
        printed = self.site.assembled.get_value(int(m[1]))
        span.text = AtomicString(typeset_printed(printed))
        return span, m.start(), m.end()


class PageTreeprocessor(Treeprocessor):
    """Goes once through the tree of a page, from top to bottom."""

    def __init__(self, md: Markdown, site: SiteExtension) -> None:
        super().__init__(md)
        self.site = site

    def run(self, root: Element) -> None:
        """Put outputs after their code, formulas and explanations into the text."""
        assembled = self.site.assembled
        if assembled is None:
            return
        explainer = None
        page, slug = assembled.page, assembled.page.slug
        if page.defines:
            found = assembled.glossary if page.defines == TERMS else assembled.notation
            name_rows(root, found, assembled.numbered)
        elif not page.asks_for("review") and not page.is_reference:  # docstrings are English
            explainer = Explainer(
                assembled.glossary,
                assembled.notation,
                assembled.links.glossary,
                assembled.links.notation,
            )
        boxes.group_folds(root, assembled)
        proof_text.lay_out_steps(root, assembled, self.md)
        recall.introduce_cards(root, assembled)
        held = (element for element in root.iter() if _is_formula(element))
        self.site.formulas.render_all(_read_formula(element, assembled)[1:] for element in held)
        self.visit(root, assembled, explainer)
        words = assembled.locale["site"]["boxes"]
        faults = asks.lay_out_asks(root, words, slug, assembled.find_exact)
        for fault in [*faults, *asks.lay_out_guesses(root, words, slug)]:
            assembled.add_failure("/// asks", fault)
        for fault in inventory.lay_out_items(root, assembled.locale["site"]["inventory"]):
            assembled.add_failure("/// item", fault)
        self.insert_outputs(root, assembled)
        for fault in films.lay_out_films(root):
            assembled.add_failure("/// film", fault)
        self.wrap_tables(root)
        cards.lay_out_cards(root, assembled.numbered, self.md)
        if page.asks_for("gallery"):
            mistakes.lay_out_signs(root, self.md)
        self.open(root, assembled)
        self.md.serializer = to_html_string  # `<input>`, not `<input />`

    def open(self, root: Element, assembled: AssembledPage) -> None:
        """Above the title, in small type: part of the machine; part, chapter and minutes."""
        title = root.find("h1")
        if title is not None and assembled.machine:
            strip = draw_machine(assembled.machine, assembled.locale, assembled.links.machine)
            holder = Element("p")  # its link is an address already
            holder.text = self.md.htmlStash.store(to_html_string(strip))
            root.insert(list(root).index(title), holder)
        if title is not None and assembled.opening:
            line = Element("p", {"class": "opening"})
            line.text = AtomicString(assembled.opening)
            root.insert(list(root).index(title), line)

    def visit(
        self, element: Element, assembled: AssembledPage, explainer: Explainer | None
    ) -> None:
        """Build an element anew from its texts and children, in their order."""
        is_form = element.get("class") in ("asks", "guess", "item", "recall-note")
        bare = element.tag in UNEXPLAINED or is_form or cards.find_card_title(element) is not None
        explained = None if bare else explainer
        children = list(element)
        texts = [element.text, *(child.tail for child in children)]
        element[:] = []
        element.text = None
        _add_text(element, texts[0], explained)
        for child, tail in zip(children, texts[1:], strict=True):
            child.tail = None
            if child.get("class") == proof_text.LINES:
                self.add_proof_lines(element, child, assembled)
            elif _is_formula(child):
                held = derivations.TAIL.match(tail or "")
                self.render_formula(element, child, assembled, explained, held[0] if held else "")
                tail = tail and tail[held.end() if held else 0 :]
            else:
                element.append(child)
                self.visit(child, assembled, explainer if explained else None)
            _add_text(element, tail, explained)

    def render_formula(
        self,
        parent: Element,
        holder: Element,
        assembled: AssembledPage,
        explainer: Explainer | None,
        tail: str,
    ) -> None:
        """A formula as MathML; around a symbol that comes for the first time, a link.

        `tail` is the punctuation that follows it.
        """
        marked, tex, display = _read_formula(holder, assembled)
        try:
            html = self.site.formulas.render(tex, display)
        except ValueError as error:
            assembled.add_failure(marked, f"formula: {error}")
            SubElement(parent, "code", {"class": "failure"}).text = AtomicString(tex)
            return
        if MARK.search(marked):
            html = self._number_values(html, marked.strip(), display, assembled)
        if display:
            laid_out = derivations.lay_out_formula(html)
            kind = "formula" + " derivation" * laid_out.startswith('<div class="lines')
            box = SubElement(parent, "div", {"class": kind})
            box.text = self.md.htmlStash.store(laid_out)
            box.tail = tail
            return
        link = explainer.link_symbol(tex) if explainer else None
        if link is None:
            _append_text(parent, self.md.htmlStash.store(mathml.make_breakable(html, tail)))
            return
        link.text = self.md.htmlStash.store(mathml.make_breakable(html))
        holder = SubElement(parent, "span", {"class": "held"}) if tail else parent
        holder.append(link)
        link.tail = tail

    def add_proof_lines(self, parent: Element, held: Element, assembled: AssembledPage) -> None:
        """Below each line of the formula before it what Coq reads for it."""
        lines = [unescape("".join(code.itertext())) for code in held.iter("code")]
        number = HTML_PLACEHOLDER_RE.fullmatch(parent[-1].text or "") if len(parent) else None
        html = str(self.md.htmlStash.rawHtmlBlocks[int(number[1])]) if number else ""
        try:
            completed = derivations.add_proof_lines(html, lines)
        except ValueError as error:
            return assembled.add_failure("<!-- coq: ", str(error))
        parent[-1].text = self.md.htmlStash.store(completed)
        return None

    def _number_values(self, html: str, tex: str, display: bool, assembled: AssembledPage) -> str:
        """A formula whose inline values carry their numbers.

        A second rendering, with a unique stand-in for each value, shows where each of them is.
        """
        values = {int(mark[1]): assembled.get_value(int(mark[1])) for mark in MARK.finditer(tex)}
        plain = {n: str(STAND_IN + n) for n, value in values.items() if NUMBER.fullmatch(value)}

        def insert_placeholder(mark: re.Match[str]) -> str:
            number = int(mark[1])
            if number not in plain:
                return values[number]
            return values[number][: values[number].startswith("-")] + plain[number]

        other = self.site.formulas.render(MARK.sub(insert_placeholder, tex), display)
        return mathml.number_values(html, other, {text: number for number, text in plain.items()})

    def insert_outputs(self, root: Element, assembled: AssembledPage) -> None:
        """After the code of each block its output, with the caption that follows it."""
        for parent in list(root.iter()):
            for child in list(parent):
                block = self._find_block(child)
                if block is None:
                    continue
                if block.source == "none":
                    child.text = None
                place = list(parent).index(child)
                after = parent[place + 1] if place + 1 < len(parent) else None
                caption = after if after is not None and _is_caption(after) else None
                output = blocks.render_output(block, assembled, caption, self.md)
                offers = None
                if any(section.knobs for section in block.sections):
                    # Where a live page offers them: what comes later would push the text down.
                    offers = Element("div", {"class": "live-place", "id": _make_knobs_id(block)})
                    if output is None or block.source not in ("none", "folded"):
                        parent.insert(place, offers)
                        place += 1
                if output is not None:
                    if caption is not None:
                        parent.remove(caption)
                    parent.insert(place + 1, output)
                    if offers is not None and offers not in list(parent):
                        parent.insert(place + 2, offers)  # below the figure that they change
                if block.source == "none":
                    parent.remove(child)
                elif block.source == "folded":
                    self.fold_code(parent, child, output, assembled)

    def fold_code(
        self, parent: Element, code: Element, output: Element | None, assembled: AssembledPage
    ) -> None:
        """Fold code that sets up or draws: below its output, where it has one."""
        fold = boxes.add_fold(parent, "code", assembled.locale["site"]["boxes"]["code"])
        parent.remove(fold)
        if output is None:
            parent[list(parent).index(code)] = fold
        else:
            parent.remove(code)
            next(one for one in output if one.get("class") == blocks.TOOLS).insert(0, fold)
        fold[-1].append(code)

    def _find_block(self, element: Element) -> Block | None:
        """The block whose code a paragraph stands for."""
        found = HTML_PLACEHOLDER_RE.fullmatch(element.text or "") if element.tag == "p" else None
        html = self.md.htmlStash.rawHtmlBlocks[int(found[1])] if found else None
        return html.block if isinstance(html, BlockHtml) else None

    def wrap_tables(self, root: Element) -> None:
        """Wrap tables, so that the theme's script, which would, moves nothing (site.css)."""
        for parent in list(root.iter()):
            for place, child in enumerate(list(parent)):
                if child.tag != "table":
                    continue
                outer = Element("div", {"class": "md-typeset__scrollwrap"})
                outer.tail, child.tail = child.tail, None
                inner = SubElement(outer, "div", {"class": "md-typeset__table"})
                inner.append(child)
                parent[place] = outer
                if self.name_columns(child):
                    inner.set("class", "md-typeset__table table-cards")
                for cell in child.iter("th"):
                    if not len(cell) and not (cell.text or "").strip():
                        cell.tag = "td"  # the corner of a table that heads nothing is no heading

    def name_columns(self, table: Element) -> bool:
        """Name the column of each cell of a wide table, whose rows become cards on a phone."""
        heads = ["".join(cell.itertext()) for cell in table.iter("th")]
        rows = [row for body in table.iter("tbody") for row in body]
        if len(heads) <= MAX_COLUMNS_ON_A_PHONE or any(row.get("id") for row in rows):
            return False
        if any(HTML_PLACEHOLDER_RE.search(head) for head in heads):
            return False  # a formula, whose letters alone would not say it
        for row in rows:
            for cell, name in zip(row[1:], heads[1:], strict=False):
                cell.set("data-column", name)
        return True


def _is_formula(element: Element) -> bool:
    return "arithmatex" in element.get("class", "").split()


def _read_formula(holder: Element, assembled: AssembledPage) -> tuple[str, str, bool]:
    """A formula with marks for values, as TeX, and whether it stands by itself."""
    found = FORMULA.fullmatch(holder.text or "")
    assert found, holder.text
    return found["tex"], assembled.replace_marks(found["tex"]).strip(), holder.tag == "div"


def _make_knobs_id(block: Block) -> str:
    return f"knobs-{block.id}"


def _is_caption(element: Element) -> bool:
    return element.tag == "p" and "caption" in element.get("class", "").split()


def _add_text(parent: Element, text: str | None, explainer: Explainer | None) -> None:
    """Add text to the end of an element, its terms explained."""
    for piece in explainer.explain_text(text) if explainer and text else [text or ""]:
        if isinstance(piece, str):
            _append_text(parent, piece)
        else:
            parent.append(piece)


def _append_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
