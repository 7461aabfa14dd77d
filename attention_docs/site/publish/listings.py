"""The listing of a chapter for download, with its comments and strings in the page's language."""

from __future__ import annotations

import ast

from attention_docs.site.read.listing import translate_code
from attention_docs.site.read.page import Page


def translate_listing(page: Page) -> str:
    """The whole listing of a page; its docstring is the title of the page."""
    block = page.blocks[0]
    listing = block.sections[0].listing.with_stem(page.slug)
    code = listing.read_text(encoding="utf-8")
    lines = translate_code(code, listing, block.lang, block.convert).split("\n")
    first = ast.parse(code).body[0]
    if isinstance(first, ast.Expr) and first.end_lineno == 1:
        lines[0] = f'"""{page.title}"""'
    return "\n".join(lines)
