"""A page as a notebook, in canonical form: keys sorted, ids fixed. Nothing runs again."""

from __future__ import annotations

from typing import Any

from attention_docs.colours import resolve_colours
from attention_docs.site.publish.catalogue import Catalogue, PublishedPage
from attention_docs.site.publish.markdown import expand_lines, format_fence, split_parts
from attention_docs.site.publish.wheel import name_wheel
from attention_docs.site.publish.without_answers import hide_answers, pack_answers
from attention_docs.site.read.pieces import Block
from attention_docs.site.render.assembled_page import AssembledPage

HIDDEN = {"jupyter": {"source_hidden": True}}


def make_notebook(
    assembled: AssembledPage,
    published: PublishedPage,
    catalogue: Catalogue,
    *,
    answers: bool = True,
) -> str:
    """The page as a notebook (nbformat 4.5), with the answers of its exercises or without."""
    import nbformat  # takes long to load, and few builds make a notebook anew

    base = catalogue.site_url
    link = catalogue.make_linker(
        f"notebooks/{assembled.page.text_lang}/",
        lambda one: one.url if base else one.notebook or f"{one.url}index.html",
        base,
    )
    cells = [_make_text_cell("about", _describe_notebook(assembled, published, catalogue))]
    packed = {} if answers else pack_answers(assembled.page, assembled.locale)
    lines = expand_lines(assembled) if answers else hide_answers(assembled)
    count = 0
    parts = split_parts(lines, assembled, published, catalogue.root, link)
    for number, part in enumerate(parts, start=1):
        if isinstance(part, str):
            cells.append(_make_text_cell(f"text-{number}", part))
        elif packed.get(part.id) != "":
            count += 1
            cells.append(_make_code_cell(assembled, part, count))
            if part.id in packed:
                cells[-1] |= {"source": packed[part.id], "metadata": HIDDEN}
                cells[-1]["outputs"] = cells[-1]["outputs"] if "judge(" in packed[part.id] else []
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    # As a whole: nbformat's own functions for cells and outputs check each by itself as well.
    nbformat.validate(found := nbformat.from_dict(document))
    return f"{nbformat.writes(found)}\n"


def _describe_notebook(
    assembled: AssembledPage, published: PublishedPage, catalogue: Catalogue
) -> str:
    """What the notebook is, and what it needs."""
    locale, page = assembled.locale["site"]["copies"], assembled.page
    needs = sorted(catalogue.modules.find_third_party(page.code, ("torch",)))
    package, wheel = ".", name_wheel(catalogue.root)
    if catalogue.site_url and wheel:
        package = catalogue.site_url + wheel
    elif catalogue.repository:
        package = f'"attention-docs @ git+{catalogue.repository}"'
    command = " ".join(["pip install", *needs, package])
    if package == ".":
        command += f"  # {locale['project']}"
    title = page.title
    if catalogue.site_url:
        title = f"[{title}]({catalogue.site_url}{published.url})"
    sentence = locale["runs"].format(title=title, site=published.site_name)
    return f"{sentence}\n\n{format_fence(command, 'sh')}"


def _make_text_cell(name: str, markdown: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": markdown}


def _make_code_cell(assembled: AssembledPage, block: Block, count: int) -> dict[str, Any]:
    """A block as a cell, with what it printed and drew."""
    result = assembled.get_result(block)
    outputs: list[dict[str, Any]] = []
    if result and (text := result.get_text(assembled.page.text_lang)):
        outputs.append({"output_type": "stream", "name": "stdout", "text": text + "\n"})
    if result and result.figure:
        drawing = result.figure[assembled.page.text_lang]
        kind = "image/svg+xml" if drawing.svg.startswith("<svg") else "text/html"
        data = {kind: resolve_colours(drawing.svg), "text/plain": drawing.alt}
        shown = {"output_type": "execute_result", "data": data, "metadata": {}}
        outputs.append(shown | {"execution_count": count})
    return {
        "cell_type": "code",
        "id": f"code-{block.id}"[:64],
        "metadata": {} if block.source == "above" else HIDDEN,
        "source": block.displayed_code.strip("\n"),
        "execution_count": count,
        "outputs": outputs,
    }
