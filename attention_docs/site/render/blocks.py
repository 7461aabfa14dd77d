"""A block on a page: its code, its output and what the output says of where it comes from."""

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
from attention_docs.site.render.weave import Woven

FORMATTER = HtmlFormatter(cssclass="highlight", wrapcode=True)


@lru_cache(maxsize=4096)  # what stands on the pages of all languages is highlighted once
def highlight(text: str, language: str) -> str:
    """Text in a language ("python", or "text" for what was printed) as HTML."""
    return str(pygments.highlight(text, get_lexer_by_name(language), FORMATTER)).rstrip("\n")


def output(block: Block, woven: Woven, caption: Element | None, md: Markdown) -> Element | None:
    """What a block printed and drew, with its caption, or None for one that shows nothing.

    Text that its figure shows too may stand folded below it.
    """
    result = woven.result(block)
    if result and not result.shows:
        return None
    frame = Element("div", {"class": "output", "id": f"out-{block.id}"})
    text = result.text_in(woven.page.text_lang) if result else woven.error(block)
    drawing = result.figure.get(woven.page.text_lang) if result else None
    folded = bool(text and drawing and block.text == "folded")
    if text and not folded:
        _stashed(frame, "p", highlight(text, "text"), md)
    if drawing:
        figure = SubElement(frame, "figure")
        kind = "table-frame" if drawing.cells else "drawing"
        _stashed(figure, "div", drawing.svg, md, {"class": kind})
        if caption is not None:
            caption.tag = "figcaption"
            caption.attrib.pop("class")
            figure.append(caption)
    elif caption is not None:
        frame.append(caption)
    if folded:
        fold = boxes.folded(frame, "code", woven.words["site"]["blocks"]["text"])
        _stashed(fold[-1], "p", highlight(text, "text"), md)
    for file in result.files if result else ():
        link = f'<a href="{woven.links.files}{file.name}" download>{file.name}</a>'
        size = len(file.text.encode()) / 1000
        _stashed(frame, "p", f'<p class="file">{link} ({size:.0f} kB)</p>', md)
    if result:
        _stashed(frame, "p", checks(result, woven) + origin(block, result, woven), md)
    return frame


def checks(result: Result, woven: Woven) -> str:
    """What the block has checked, behind one mark."""
    if not result.checks:
        return ""
    items = "".join(
        f"<li>{html.escape(check.statement[woven.page.text_lang])}</li>" for check in result.checks
    )
    checked = woven.words["site"]["blocks"]["checked"]
    return f'<details class="checks"><summary>{checked}</summary><ul>{items}</ul></details>'


def _stashed(
    parent: Element, tag: str, content: str, md: Markdown, attributes: dict[str, str] | None = None
) -> None:
    """Finished HTML at its place in the tree; a paragraph of it alone is left out by Markdown."""
    element = SubElement(parent, tag, attributes or {})
    element.text = md.htmlStash.store(content)


def origin(block: Block, result: Result, woven: Woven) -> str:
    """What a reader who asks is told: listing and line, functions, seeds, versions."""
    words = woven.words["site"]["blocks"]
    rows = {words["listing"]: ", ".join(_place(section, woven) for section in block.sections)}
    functions = ", ".join(_function(name, woven) for name in result.functions)
    rows[words["functions"]] = functions or words["no_functions"]
    if result.seeds:
        runs = (
            " … ".join(f"<code>{html.escape(seed)}</code>" for seed in run)
            for run in counted(result.seeds)
        )
        rows[words["seeds"]] = ", ".join(runs)
    rows[words["versions"]] = ", ".join(f"{k} {v}" for k, v in woven.versions.items())
    items = "".join(f"<dt>{key}</dt><dd>{row}</dd>" for key, row in rows.items())
    asks = words["origin"]
    summary = f'<summary title="{asks}"><span class="unseen">{asks}</span></summary>'
    return f'<details class="origin">{summary}<dl>{items}</dl></details>'


def counted(seeds: Iterable[str]) -> list[tuple[str, ...]]:
    """First and last of seeds that count up by 1, each once: a block may draw from a thousand.

    >>> counted(["default_rng(7)", "default_rng(8)", "default_rng(1)", "default_rng(1)"])
    [('default_rng(7)', 'default_rng(8)'), ('default_rng(1)',)]
    """
    runs: list[tuple[str, ...]] = []
    for seed in seeds:
        if runs and seed == _next(runs[-1][-1]):
            runs[-1] = (runs[-1][0], seed)
        else:
            runs.append((seed,))
    return list(dict.fromkeys(runs))


def _next(seed: str) -> str:
    return re.sub(r"\d+(?=\)$)", lambda number: str(int(number[0]) + 1), seed)


def _function(name: str, woven: Woven) -> str:
    """A link to a function on its module's page: attention_docs.score_functions.dot."""
    inner = name.removeprefix("attention_docs.")
    page = inner.split(".")[0].replace("_", "-")
    return f'<a href="{woven.links.api}{page}/#{name}"><code>{inner}</code></a>'


def _place(section: Section, woven: Woven) -> str:
    name = section.listing.name
    link = f"{woven.links.listings}{name}"
    if woven.links.repository:
        link = f"{woven.links.repository}/blob/main/docs/listings/{name}#L{section.first_line}"
    return f'<a href="{link}">{name}:{section.first_line}</a>'


def faults(woven: Woven) -> str:
    """A box with everything that is wrong with the page; only `mkdocs serve` gets this far."""
    if not woven.failures:
        return ""
    items = "".join(f"<pre>{html.escape(str(f))}</pre>" for f in sorted(woven.failures))
    title = f'<p class="admonition-title">{woven.words["site"]["blocks"]["faults"]}</p>'
    return f'<div class="admonition failure">{title}{items}</div>'
