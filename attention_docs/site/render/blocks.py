"""Render a block: its code, its output and the origin of the output."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import lru_cache
from xml.etree.ElementTree import Element, SubElement

import pygments
from markdown import Markdown
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from attention_docs.running.result import Result
from attention_docs.site.read.listing import Section
from attention_docs.site.read.pieces import Block
from attention_docs.site.render import boxes
from attention_docs.site.render.assembled_page import AssembledPage

TOOLS = "tools"  # the line below an output that holds what opens: code, origin, checks
FORMATTER = HtmlFormatter(cssclass="highlight", wrapcode=True)
PLAIN = re.compile(r'<span class="(?:p|o|mi|mf|nn|nf|fm|nc|ne)">([^<]*)</span>')
"""Punctuation, operators, numbers and names: docs/assets/paper.css writes them in the ink of all
code, and there are thousands of them on a page."""

CHAPTER = re.compile(r'<a data-chapter="(?P<slug>[\w-]+)"(?P<rest>[^>]*><text[^>]*>) </text>')


@lru_cache(maxsize=4096)  # what stands on the pages of all languages is highlighted once
def highlight(text: str, language: str) -> str:
    """Text in a language ("python", or "text" for what was printed) as HTML."""
    found = str(pygments.highlight(text, get_lexer_by_name(language), FORMATTER)).rstrip("\n")
    return PLAIN.sub(r"\1", found)


def render_output(
    block: Block, assembled: AssembledPage, caption: Element | None, md: Markdown
) -> Element | None:
    """What a block printed and drew, with its caption, or None for one that shows nothing.

    Text that its figure shows too may stand folded below it.
    """
    result = assembled.get_result(block)
    if result and not result.has_output:
        return None
    frame = Element("div", {"class": "output", "id": f"out-{block.id}"})
    text = result.get_text(assembled.page.text_lang) if result else assembled.describe_error(block)
    drawing = result.figure.get(assembled.page.text_lang) if result else None
    folded = bool(text and drawing and block.text == "folded")
    if text and not folded:
        _stash_html(frame, "p", highlight(text, "text"), md)
    if drawing:
        figure = SubElement(frame, "figure")
        kind = "table-frame" if drawing.cells else "drawing"
        _stash_html(figure, "div", link_chapters(drawing.svg, assembled), md, {"class": kind})
        if caption is not None:
            caption.tag = "figcaption"
            caption.attrib.pop("class")
            figure.append(caption)
    elif caption is not None:
        frame.append(caption)
    for file in result.files if result else ():
        link = f'<a href="{assembled.links.files}{file.name}" download>{file.name}</a>'
        size = len(file.text.encode()) / 1000
        _stash_html(frame, "p", f'<p class="file">{link} ({size:.0f} kB)</p>', md)
    tools = SubElement(frame, "div", {"class": TOOLS})
    if folded:
        fold = boxes.add_fold(tools, "code", assembled.locale["site"]["blocks"]["text"])
        _stash_html(fold[-1], "p", highlight(text, "text"), md)
    if result:
        details = render_origin(block, result, assembled) + render_checks(result, assembled)
        _stash_html(tools, "p", details, md)
    return frame


def link_chapters(svg: str, assembled: AssembledPage) -> str:
    """A drawing whose links have the addresses and numbers of the chapters that they name."""
    number = assembled.locale["site"]["chapter"]["number"]

    def fill(found: re.Match[str]) -> str:
        slug = found["slug"]
        said = number.format(assembled.numbered[slug])
        name = html.escape(f"{said}: {assembled.titles[slug]}")
        address = assembled.links.chapters[slug]
        return f'<a href="{address}" aria-label="{name}"{found["rest"]}{said}</text>'

    return CHAPTER.sub(fill, svg)


def render_checks(result: Result, assembled: AssembledPage) -> str:
    """The checks of a block, folded behind one mark."""
    if not result.checks:
        return ""
    items = "".join(
        f"<li>{html.escape(check.statement[assembled.page.text_lang])}</li>"
        for check in result.checks
    )
    checked = assembled.locale["site"]["blocks"]["checked"]
    return f'<details class="checks"><summary>{checked}</summary><ul>{items}</ul></details>'


def _stash_html(
    parent: Element, tag: str, content: str, md: Markdown, attributes: dict[str, str] | None = None
) -> None:
    """Finished HTML at its place in the tree; a paragraph of it alone is left out by Markdown."""
    element = SubElement(parent, tag, attributes or {})
    element.text = md.htmlStash.store(content)


def render_origin(block: Block, result: Result, assembled: AssembledPage) -> str:
    """The origin of an output: listing and line, functions, seeds, versions."""
    locale = assembled.locale["site"]["blocks"]
    rows = {
        locale["listing"]: ", ".join(
            _link_section(section, assembled) for section in block.sections
        )
    }
    functions = ", ".join(_link_function(name, assembled) for name in result.functions)
    rows[locale["functions"]] = functions or locale["no_functions"]
    if result.seeds:
        runs = (
            " … ".join(f"<code>{html.escape(seed)}</code>" for seed in run)
            for run in group_seeds(result.seeds)
        )
        rows[locale["seeds"]] = ", ".join(runs)
    rows[locale["versions"]] = ", ".join(f"{k} {v}" for k, v in assembled.versions.items())
    items = "".join(f"<dt>{key}</dt><dd>{row}</dd>" for key, row in rows.items())
    summary = f'<summary title="{locale["origin"]}">{locale["source"]}</summary>'
    return f'<details class="origin">{summary}<dl>{items}</dl></details>'


def group_seeds(seeds: Iterable[str]) -> list[tuple[str, ...]]:
    """First and last of seeds that count up by 1, each once: a block may draw from a thousand.

    >>> group_seeds(["default_rng(7)", "default_rng(8)", "default_rng(1)", "default_rng(1)"])
    [('default_rng(7)', 'default_rng(8)'), ('default_rng(1)',)]
    """
    runs: list[tuple[str, ...]] = []
    for seed in seeds:
        if runs and seed == _next_seed(runs[-1][-1]):
            runs[-1] = (runs[-1][0], seed)
        else:
            runs.append((seed,))
    return list(dict.fromkeys(runs))


def _next_seed(seed: str) -> str:
    return re.sub(r"\d+(?=\)$)", lambda number: str(int(number[0]) + 1), seed)


def _link_function(name: str, assembled: AssembledPage) -> str:
    """A function, linked to its module's page if there is one: attention_docs.softmax.softmax."""
    package, module, _ = name.split(".", 2)
    shown = f"<code>{name.removeprefix(f'{package}.')}</code>"
    page = assembled.links.modules.get(f"{package}.{module}")
    return f'<a href="{page}#{name}">{shown}</a>' if page else shown


def _link_section(section: Section, assembled: AssembledPage) -> str:
    name = section.listing.name
    link = f"{assembled.links.listings}{name}"
    if assembled.links.repository:
        link = f"{assembled.links.repository}/blob/main/docs/listings/{name}#L{section.first_line}"
    return f'<a href="{link}">{name}:{section.first_line}</a>'


def render_faults(assembled: AssembledPage) -> str:
    """A box with everything that is wrong with the page; only `mkdocs serve` gets this far."""
    if not assembled.failures:
        return ""
    items = "".join(f"<pre>{html.escape(str(f))}</pre>" for f in sorted(assembled.failures))
    title = f'<p class="admonition-title">{assembled.locale["site"]["blocks"]["faults"]}</p>'
    return f'<div class="admonition failure">{title}{items}</div>'
