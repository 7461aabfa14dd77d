"""What this site adds to Markdown: blocks, inline values, formulas, explained terms.

All of it happens while Markdown makes a page, on its tree: nothing is looked for in finished HTML.
"""

from __future__ import annotations

import re
from typing import Any
from unicodedata import east_asian_width
from xml.etree.ElementTree import Element, SubElement

import markdown_exec
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER_RE, AtomicString

from attention_docs.site.read.pieces import Block
from attention_docs.site.render import blocks, boxes, cards, formulas, mathml
from attention_docs.site.render.terms import Explainer, name_rows
from attention_docs.site.render.weave import MARK, Woven

FORMULA = re.compile(r"\\[(\[](?P<tex>.*)\\[)\]]", re.S)
NUMBER = re.compile(r"-?[\d.]+")
STAND_IN = 7_000_000_000
BESIDE = 66  # columns of code that have room beside the buttons: docs/assets/site.css
UNEXPLAINED = {"a", "button", "code", "figure", "h1", "h2", "h3", "h4", "math", "pre", "script"}
UNEXPLAINED |= {"summary", "svg", "table"}

Options = dict[str, Any]  # of a fence


class SiteExtension(Extension):
    """The extension; `woven` is the page that is being made."""

    def __init__(self) -> None:
        super().__init__()
        self.woven: Woven | None = None
        self.formulas = formulas.Renderer()

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's name
        """Take part in the making of a page, or of a docstring on it."""
        # Below code and formulas, where a mark is text; above links, whose titles hold bare text.
        md.inlinePatterns.register(Values(md, self), "site-values", 185)
        # After attribute lists, before mkdocs collects anchors and resolves links.
        md.treeprocessors.register(Tree(md, self), "site-tree", 6)
        boxes.Boxes(lambda: self.woven).extendMarkdown(md)

    # --- blocks: fences that markdown-exec reads and gives to a runner of ours

    def fences(
        self, language: str, inputs: dict[str, str], options: Options, attrs: Options, md: Markdown
    ) -> bool:
        """Whether a fence is a block of the page."""
        ours = language == "python" and self.woven is not None
        return ours and bool(markdown_exec.validator(language, inputs, options, attrs, md))

    def lay_out(
        self, source: str, language: str, class_name: str, options: Options, md: Markdown, **_: Any
    ) -> str:
        """The code of a block; the tree puts its output after it."""
        block = self._included(source)
        if block is None:  # a fault that the page has already
            return blocks.highlight(source.strip("\n"), "text")

        def run(code: str, **_: Any) -> str:
            """The code that the fence includes, as HTML: what it gives was computed before."""
            assert self.woven
            needs = " data-torch" if block.id in self.woven.heavy else ""
            kind = "block below" if _columns(block.shown) > BESIDE else "block"
            shown = blocks.highlight(block.shown, language)
            return f'<div class="{kind}" data-block="{block.id}"{needs}>{shown}</div>'

        options |= {"html": True, "source": ""}  # it would make a Markdown of its own to print code
        return Laid(
            markdown_exec.base_format(language=language, run=run, code=source, md=md, **options),
            block,
        )

    def _included(self, source: str) -> Block | None:
        """The block of the page whose fence holds these include lines."""
        assert self.woven
        for block in self.woven.page.blocks:
            inside = self.woven.page.lines[block.line : block.last_line - 1]
            if " ".join(inside).split() == source.split():
                return block
        return None


def _columns(code: str) -> int:
    """Columns of the first line; a Chinese character takes two."""
    first = code.strip("\n").partition("\n")[0]
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in first)


class Laid(str):
    """The HTML of a block's code, which knows its block."""

    __slots__ = ("block",)
    block: Block

    def __new__(cls, html: str, block: Block) -> Laid:
        """HTML with the block that it shows."""
        laid = super().__new__(cls, html)
        laid.block = block
        return laid


class Values(InlineProcessor):
    """Inline values in running text; elsewhere their bare text is filled in."""

    def __init__(self, md: Markdown, site: SiteExtension) -> None:
        super().__init__(MARK.pattern, md)
        self.site = site

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:  # type: ignore[override]  # noqa: N802
        """A span with the number of the value, so that others find it."""
        assert self.site.woven
        span = Element("span", {"class": "value", "id": f"value-{m[1]}"})
        span.text = AtomicString(self.site.woven.value(int(m[1])))
        return span, m.start(), m.end()


class Tree(Treeprocessor):
    """Goes once through the tree of a page, from top to bottom."""

    def __init__(self, md: Markdown, site: SiteExtension) -> None:
        super().__init__(md)
        self.site = site

    def run(self, root: Element) -> None:
        """Put outputs after their code, formulas and explanations into the text."""
        woven = self.site.woven
        if woven is None:
            return
        explainer = None
        slug = woven.page.slug
        if slug in ("glossary", "notation"):
            found = woven.glossary if slug == "glossary" else woven.notation
            name_rows(root, found, woven.numbered)
        elif not slug.startswith("api/"):  # docstrings are English and name what they explain
            explainer = Explainer(
                woven.glossary, woven.notation, woven.links.glossary, woven.links.notation
            )
        held = (element for element in root.iter() if _is_formula(element))
        self.site.formulas.prepare(_formula(element, woven)[1:] for element in held)
        self.visit(root, woven, explainer)
        self.outputs(root, woven)
        self.tables(root)
        cards.lay_out(root, woven.numbered, self.md)
        self.open(root, woven)

    def open(self, root: Element, woven: Woven) -> None:
        """Above the title, in small type: part, chapter and minutes."""
        title = root.find("h1")
        if title is not None and woven.opening:
            line = Element("p", {"class": "opening"})
            line.text = AtomicString(woven.opening)
            root.insert(list(root).index(title), line)

    def visit(self, element: Element, woven: Woven, explainer: Explainer | None) -> None:
        """Build an element anew from its texts and children, in their order."""
        bare = element.tag in UNEXPLAINED or cards.title_of(element) is not None
        explained = None if bare else explainer
        children = list(element)
        texts = [element.text, *(child.tail for child in children)]
        element[:] = []
        element.text = None
        _text(element, texts[0], explained)
        for child, tail in zip(children, texts[1:], strict=True):
            child.tail = None
            if _is_formula(child):
                self.formula(element, child, woven, explained)
            else:
                element.append(child)
                self.visit(child, woven, explainer if explained else None)
            _text(element, tail, explained)

    def formula(
        self, parent: Element, holder: Element, woven: Woven, explainer: Explainer | None
    ) -> None:
        """A formula as MathML; around a symbol that comes for the first time, a link."""
        marked, tex, display = _formula(holder, woven)
        try:
            html = self.site.formulas.render(tex, display)
        except ValueError as error:
            woven.fail(marked, f"formula: {error}")
            SubElement(parent, "code", {"class": "failure"}).text = AtomicString(tex)
            return
        if MARK.search(marked):
            html = self._valued(html, marked.strip(), display, woven)
        placeholder = self.md.htmlStash.store(html if display else mathml.breakable(html))
        link = explainer.symbol(tex) if explainer and not display else None
        if display:  # a long derivation scrolls in its box
            SubElement(parent, "div", {"class": "formula"}).text = placeholder
        elif link is not None:
            link.text = placeholder
            parent.append(link)
        else:
            _append(parent, placeholder)

    def _valued(self, html: str, tex: str, display: bool, woven: Woven) -> str:
        """A formula whose inline values carry their numbers.

        Where each stands, a second one tells, with a stand-in for each that comes nowhere else.
        """
        values = {int(mark[1]): woven.value(int(mark[1])) for mark in MARK.finditer(tex)}
        plain = {n: str(STAND_IN + n) for n, value in values.items() if NUMBER.fullmatch(value)}

        def stand_in(mark: re.Match[str]) -> str:
            number = int(mark[1])
            if number not in plain:
                return values[number]
            return values[number][: values[number].startswith("-")] + plain[number]

        other = self.site.formulas.render(MARK.sub(stand_in, tex), display)
        return mathml.valued(html, other, {text: number for number, text in plain.items()})

    def outputs(self, root: Element, woven: Woven) -> None:
        """After the code of each block its output, with the caption that follows it."""
        for parent in list(root.iter()):
            for child in list(parent):
                block = self._block(child)
                if block is None:
                    continue
                if block.source == "none":
                    child.text = None
                place = list(parent).index(child)
                after = parent[place + 1] if place + 1 < len(parent) else None
                caption = after if after is not None and _is_caption(after) else None
                output = blocks.output(block, woven, caption, self.md)
                if any(section.knobs for section in block.sections):
                    # Where a live page offers them: what comes later would push the text down.
                    offers = Element("div", {"class": "live-place", "id": _knobs(block)})
                    parent.insert(place, offers)
                    place += 1
                if output is not None:
                    if caption is not None:
                        parent.remove(caption)
                    parent.insert(place + 1, output)
                if block.source == "none":
                    parent.remove(child)
                elif block.source == "folded":
                    self.fold(parent, child, woven)

    def fold(self, parent: Element, code: Element, woven: Woven) -> None:
        """Fold code that sets up or draws."""
        fold = boxes.folded(parent, "code", woven.words["site"]["boxes"]["code"])
        parent.remove(fold)
        parent[list(parent).index(code)] = fold
        fold[-1].append(code)

    def _block(self, element: Element) -> Block | None:
        """The block whose code a paragraph stands for."""
        found = HTML_PLACEHOLDER_RE.fullmatch(element.text or "") if element.tag == "p" else None
        laid = self.md.htmlStash.rawHtmlBlocks[int(found[1])] if found else None
        return laid.block if isinstance(laid, Laid) else None

    def tables(self, root: Element) -> None:
        """Wrap tables, so that the theme's script, which would, moves nothing (site.css)."""
        for parent in list(root.iter()):
            for place, child in enumerate(list(parent)):
                if child.tag != "table":
                    continue
                outer = Element("div", {"class": "md-typeset__scrollwrap"})
                outer.tail, child.tail = child.tail, None
                SubElement(outer, "div", {"class": "md-typeset__table"}).append(child)
                parent[place] = outer
                for cell in child.iter("th"):
                    if not len(cell) and not (cell.text or "").strip():
                        cell.tag = "td"  # the corner of a table that heads nothing is no heading


def _is_formula(element: Element) -> bool:
    return "arithmatex" in element.get("class", "").split()


def _formula(holder: Element, woven: Woven) -> tuple[str, str, bool]:
    """A formula with marks for values, as TeX, and whether it stands by itself."""
    found = FORMULA.fullmatch(holder.text or "")
    assert found, holder.text
    return found["tex"], woven.bare(found["tex"]).strip(), holder.tag == "div"


def _knobs(block: Block) -> str:
    """The address of the place for the knobs of a block."""
    return f"knobs-{block.id}"


def _is_caption(element: Element) -> bool:
    return element.tag == "p" and "caption" in element.get("class", "").split()


def _text(parent: Element, text: str | None, explainer: Explainer | None) -> None:
    """Add text to the end of an element, its terms explained."""
    for piece in explainer.words(text) if explainer and text else [text or ""]:
        if isinstance(piece, str):
            _append(parent, piece)
        else:
            parent.append(piece)


def _append(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
