"""A page as a notebook, in canonical form: keys sorted, ids fixed. Nothing runs again."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from attention_docs.colours import write_plainly
from attention_docs.running.names import find_names
from attention_docs.site.addresses import name_wheel
from attention_docs.site.publish.catalogue import Catalogue, PublishedPage
from attention_docs.site.publish.markdown import expand_lines, format_fence, split_parts
from attention_docs.site.publish.without_answers import hide_answers, pack_answers
from attention_docs.site.read.pieces import Block, Heading
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
    page, locale = assembled.page, assembled.locale["site"]["copies"]
    title = page.title
    if catalogue.site_url:
        title = f"[{title}]({catalogue.site_url}{published.url})"
    about = locale["runs"].format(title=title, site=published.site_name)
    packed = {} if answers else pack_answers(page, assembled.locale)
    lines = expand_lines(assembled) if answers else hide_answers(assembled)
    parts = _split(lines, assembled, published, catalogue)
    cells = _make_cells(assembled, parts, packed)
    return _write([_describe_notebook(about, [page.code], assembled, catalogue), *cells])


def make_lab(
    exercises: Sequence[tuple[AssembledPage, PublishedPage, str]], catalogue: Catalogue
) -> str:
    """Exercises of several pages, by their ids, as one notebook without answers.

    Before each stands, folded, the code of its page that it needs; all hints stand at the end.
    """
    first, published, _ = exercises[0]
    about = first.locale["site"]["copies"]["lab"].format(site=published.site_name)
    cells: list[dict[str, Any]] = []
    last: list[dict[str, Any]] = []
    codes: list[str] = []
    for assembled, of_page, name in exercises:
        page = assembled.page
        lines = [*hide_answers(assembled, only=name)]
        end = next((n for n, (_, one) in enumerate(lines) if isinstance(one, Heading)), len(lines))
        parts = _split(lines[:end], assembled, of_page, catalogue)
        parts = [
            one.replace('<a id="', f'<a id="{page.slug}-') if isinstance(one, str) else one
            for one in parts
        ]
        task = {one.id: one.code for one in parts if isinstance(one, Block)}
        before = _pick_statements(page.blocks, task)
        codes += [before, *task.values()]
        cells.append(_make_hidden_cell(f"{page.slug}-needed", before))
        cells += _make_cells(assembled, parts, pack_answers(page, assembled.locale), page.slug)
        hints = _split(lines[end:][bool(last) :], assembled, of_page, catalogue)
        last += _make_cells(assembled, hints, {}, f"{page.slug}-hints")
    return _write([_describe_notebook(about, codes, first, catalogue), *cells, *last])


def _pick_statements(blocks: Sequence[Block], task: Container[str]) -> str:
    """What the blocks of a task need of the code before them: statements that set their names."""
    kept: list[str] = []
    wanted: set[str] = set()
    for block in reversed(blocks):
        if block.id in task:
            used, bound = find_names(block.code)
            wanted = used | wanted - bound
            continue
        for node in reversed(ast.parse(block.code).body if wanted else []):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [one for one in node.names if (one.asname or one.name) in wanted]
                node.names = names or node.names
            used, bound = find_names(code := ast.unparse(node))
            if bound & wanted:
                wanted = used | wanted - bound
                kept.append(code)
    return "\n".join(reversed(kept))


def _make_hidden_cell(name: str, code: str) -> dict[str, Any]:
    cell = {"cell_type": "code", "id": name, "source": code, "outputs": []}
    return cell | {"metadata": HIDDEN, "execution_count": None}


def _split(
    lines: Iterable[tuple[str, object]],
    assembled: AssembledPage,
    published: PublishedPage,
    catalogue: Catalogue,
) -> list[str | Block]:
    """Lines of a page as text with links that lead out of a notebook, and blocks."""
    base = catalogue.site_url
    link = catalogue.make_linker(
        f"notebooks/{assembled.page.text_lang}/",
        lambda one: one.url if base else one.notebook or f"{one.url}index.html",
        base,
    )
    return split_parts(lines, assembled, published, catalogue.root, link)


def _make_cells(
    assembled: AssembledPage,
    parts: Iterable[str | Block],
    packed: Mapping[str, str],
    prefix: str = "",
) -> Iterator[dict[str, Any]]:
    """A cell for each text and each block, without those that nothing needs."""
    count, prefix = 0, prefix and f"{prefix}-"
    for number, part in enumerate(parts, start=1):
        if isinstance(part, str):
            yield _make_text_cell(f"{prefix}text-{number}", part)
        elif packed.get(part.id) != "":
            count += 1
            cell = _make_code_cell(assembled, part, count)
            if part.id in packed:
                cell |= {"source": packed[part.id], "metadata": HIDDEN}
                cell["outputs"] = cell["outputs"] if "judge(" in packed[part.id] else []
            yield cell | {"id": f"{prefix}{cell['id']}"[:64]}


def _write(cells: Sequence[dict[str, Any]]) -> str:
    import nbformat  # takes long to load, and few builds make a notebook anew

    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    # As a whole: nbformat's own functions for cells and outputs check each by itself as well.
    nbformat.validate(found := nbformat.from_dict(document))
    return f"{nbformat.writes(found)}\n"


def _describe_notebook(
    about: str, codes: Sequence[str], assembled: AssembledPage, catalogue: Catalogue
) -> dict[str, Any]:
    locale = assembled.locale["site"]["copies"]
    find = catalogue.modules.find_third_party
    needs = sorted({*chain.from_iterable(find(one, ("torch",)) for one in codes)})
    wheel = name_wheel(catalogue.root)
    package = wheel and catalogue.site_url + wheel
    if catalogue.repository and not (catalogue.site_url and wheel):
        package = f'"attention-docs @ git+{catalogue.repository}"'
    where = f"\n\n{locale['wheel'].format(wheel)}" if wheel and package == wheel else ""
    command = " ".join(["pip install", *needs, package])
    return _make_text_cell("about", f"{about}\n\n{format_fence(command, 'sh')}{where}")


def _make_text_cell(name: str, markdown: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": markdown}


def _make_code_cell(assembled: AssembledPage, block: Block, count: int) -> dict[str, Any]:
    result = assembled.get_result(block)
    outputs: list[dict[str, Any]] = []
    if result and (text := result.get_text(assembled.page.text_lang)):
        outputs.append({"output_type": "stream", "name": "stdout", "text": text + "\n"})
    if result and result.figure:
        drawing = result.figure[assembled.page.text_lang]
        kind = "image/svg+xml" if drawing.svg.startswith("<svg") else "text/html"
        data = {kind: write_plainly(drawing.svg), "text/plain": drawing.alt}
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
