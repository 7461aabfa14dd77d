"""A page as a notebook, in canonical form: keys sorted, ids fixed. Nothing runs again."""

from __future__ import annotations

from typing import Any

from attention_docs.site.publish.catalogue import Catalogue, Placed
from attention_docs.site.publish.markdown import fenced, parts
from attention_docs.site.read.page import Block
from attention_docs.site.render.weave import Woven
from attention_docs.site.run.imports import Modules


def notebook(woven: Woven, placed: Placed, catalogue: Catalogue) -> str:
    """The page as a notebook (nbformat 4.5)."""
    import nbformat  # takes long to load, and few builds make a notebook anew
    from nbformat import v4

    base = catalogue.site_url
    link = catalogue.linker(
        f"notebooks/{woven.page.lang}/",
        lambda one: one.url if base else one.notebook or f"{one.url}index.html",
        base,
    )
    cells = [v4.new_markdown_cell(_about(woven, placed, catalogue), id="about")]
    count = 0
    for number, part in enumerate(parts(woven, placed, catalogue.root, link), start=1):
        if isinstance(part, str):
            cells.append(v4.new_markdown_cell(part, id=f"text-{number}"))
        else:
            count += 1
            cells.append(_code(woven, part, count))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = v4.new_notebook(
        cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}}
    )
    document.nbformat_minor = 5
    nbformat.validate(document)
    return f"{nbformat.writes(document)}\n"


def _about(woven: Woven, placed: Placed, catalogue: Catalogue) -> str:
    """What the notebook is, and what it needs."""
    words, page = woven.words["site"]["copies"], woven.page
    needs = sorted(Modules(catalogue.root).third_party(page.code, ("torch",)))
    package = "."
    if catalogue.repository:
        package = f'"attention-docs @ git+{catalogue.repository}"'
    command = " ".join(["pip install", *needs, package])
    if not catalogue.repository:
        command += f"  # {words['project']}"
    title = page.title
    if catalogue.site_url:
        title = f"[{title}]({catalogue.site_url}{placed.url})"
    told = words["runs"].format(title=title, site=placed.site_name)
    return f"{told}\n\n{fenced(command, 'sh')}"


def _code(woven: Woven, block: Block, count: int) -> Any:
    """A block as a cell, with what it printed and drew."""
    from nbformat import v4

    result = woven.result(block)
    outputs = []
    if result and result.text:
        outputs.append(v4.new_output("stream", name="stdout", text=result.text + "\n"))
    if result and result.figure:
        drawing = result.figure[woven.page.lang]
        kind = "image/svg+xml" if drawing.svg.startswith("<svg") else "text/html"
        data = {kind: drawing.svg, "text/plain": drawing.alt}
        outputs.append(v4.new_output("execute_result", data=data, execution_count=count))
    return v4.new_code_cell(
        block.shown.strip("\n"),
        id=f"code-{block.id}"[:64],
        execution_count=count,
        metadata={} if block.source == "above" else {"jupyter": {"source_hidden": True}},
        outputs=outputs,
    )
