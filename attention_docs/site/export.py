"""Export the pages as plain Markdown, for a site generator that knows nothing of this project.

    python -m attention_docs.site.export FOLDER

FOLDER gets a project for each language, `en/mkdocs.yml` and `en/docs/`: pages with code, outputs,
figures and values in place, formulas as MathML, documentation as signatures and docstrings. Nothing
in it runs and no plugin is needed; what only this project's own build adds (explained terms, the
copies, the search) is missing.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from attention_docs.colours import make_style_sheet
from attention_docs.site.build import Build
from attention_docs.site.publish.markdown import expand_lines, format_fence, render_reference
from attention_docs.site.publish.staging import write_text
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block, Box, End, Fence, Reference
from attention_docs.site.read.settings import read_configuration
from attention_docs.site.read.syntax import CODE_SPAN, DISPLAY, INLINE
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.boxes import FOLDED_KINDS
from attention_docs.site.render.formulas import Renderer

MARKDOWN = re.compile(r"[\\`*_{}\[\]()#+\-.!|$]")  # what Markdown would take for its own
TEXT = re.compile(r">[^<]+<")
OWN_META = ("translated", "question", "builds_on")
"""Of a page's front matter: what other generators may not even read."""
COLOURS = "assets/colours.css"
EXPORTED_SETTINGS = (
    "site_name",
    "site_description",
    "copyright",
    "nav",
    "markdown_extensions",
    "extra_css",
)


def export_markdown(
    assembled: AssembledPage,
    prose: Callable[[str], str] = str,
    documentation: Callable[[str], str] = "::: {}".format,
) -> str:
    """What follows a page's front matter, as Markdown in which everything that runs is in place.

    `prose` is done to running text, `documentation` to the name of a module that is documented.
    """
    found: list[str] = []
    text: list[str] = []

    def put(*others: str) -> None:
        found.extend([prose("\n".join(text)), *others] if text else others)
        text.clear()

    for line, piece in expand_lines(assembled):
        match piece:
            case Block():
                put(*_export_block(piece, assembled))
            case Fence():
                put(line)
            case Reference():
                put(documentation(piece.name))
            case Box():
                put(*_export_box(piece, assembled))
            case End():
                put("", piece.slashes, "")
            case _:
                text.append(line)
    put()
    return "\n".join(found)


def _export_block(block: Block, assembled: AssembledPage) -> list[str]:
    """Code and output of a block; the text of its figure is that of its alternative text."""
    result = assembled.get_result(block)
    parts = (
        [format_fence(block.displayed_code.strip("\n"), "python")] if block.source != "none" else []
    )
    if result and (result.text or result.figure):
        parts.append(f'<div id="out-{block.id}"></div>')  # where links lead
    if result and (text := result.get_text(assembled.page.text_lang)):
        parts.append(format_fence(text, "text"))
    if result and result.figure:
        drawing = result.figure[assembled.page.text_lang].svg
        parts.append(f"<figure>{' '.join(drawing.split())}</figure>")
    lines = "\n\n".join(parts).split("\n")
    return [block.indent + line if line else "" for line in lines]


def _export_box(box: Box, assembled: AssembledPage) -> list[str]:
    """The head of a box in the words of pymdownx: folded, or a note with its number."""
    template = assembled.locale["site"]["boxes"].get(box.kind, "{}")
    if box.kind == "film":
        head = f"admonition | {box.title}"
    elif box.kind in FOLDED_KINDS:
        head = f"details | {template.format(box.title)}"
    else:
        head = f"admonition | {template.format(assembled.find_number(box.id))} {box.title}"
    attributes = [f"    attrs: {{id: {box.id}}}"] if box.id else []
    return ["", f"{box.slashes} {head}", *attributes, ""]


def _render_formulas(renderer: Renderer, text: str) -> str:
    """Running text with its formulas as MathML, which Markdown leaves alone."""

    def render_inline(tex: re.Match[str]) -> str:
        return _render_mathml(renderer, tex[1], display=False)

    text = DISPLAY.sub(lambda tex: _render_mathml(renderer, tex[1], display=True), text)
    start, out = 0, ""
    for span in CODE_SPAN.finditer(text):
        out += INLINE.sub(render_inline, text[start : span.start()]) + span[0]
        start = span.end()
    return out + INLINE.sub(render_inline, text[start:])


def _render_mathml(renderer: Renderer, tex: str, display: bool) -> str:
    """One formula on one line, in which no character means anything to Markdown."""
    html = " ".join(renderer.render(tex.strip(), display).split())
    return TEXT.sub(lambda text: MARKDOWN.sub(lambda c: f"&#{ord(c[0])};", text[0]), html)


def _make_project(build: Build, lang: str) -> dict[str, Any]:
    """`mkdocs.yml` for one language, without plugins."""
    known = read_configuration(build.root)
    found = {name: known[name] for name in EXPORTED_SETTINGS if name in known}
    boxes = ["pymdownx.blocks.admonition", "pymdownx.blocks.details"]
    found["markdown_extensions"] = [*found.get("markdown_extensions", []), *boxes]
    found["extra_css"] = [COLOURS, *found.get("extra_css", [])]
    found["site_name"] = build.settings.names[lang]
    found["nav"] = _translate_nav(known["nav"], build.settings.sections[lang])
    language = build.tags[lang] if "-" in lang else lang  # as the theme spells it
    found["theme"] = {"name": "material", "language": language, "font": False}
    found["use_directory_urls"] = True
    return found


def _translate_nav(nav: Any, locale: Mapping[str, str]) -> Any:
    """A part of the navigation, its sections named in a language."""
    if isinstance(nav, dict):
        return {
            locale.get(name, name): _translate_nav(inner, locale) for name, inner in nav.items()
        }
    return [_translate_nav(inner, locale) for inner in nav] if isinstance(nav, list) else nav


def export_site(build: Build, folder: Path) -> list[Failure]:
    """Write a project for every language, unless something is wrong with a page."""
    try:
        prose = partial(_render_formulas, Renderer())
        texts = {}
        for page in build.all:
            texts[page.path] = _export_page(build, page, prose)
    except ValueError as error:  # of a formula
        return [Failure(page.path, 1, f"formula: {error}")]
    if build.failures:
        return build.failures
    for lang, pages in build.pages.items():
        target = folder / lang
        for page in pages.values():
            write_text(target / "docs" / f"{page.slug}.md", texts[page.path])
        for name in ("assets", "listings"):
            shutil.copytree(build.root / "docs" / name, target / "docs" / name, dirs_exist_ok=True)
        write_text(target / "docs" / COLOURS, make_style_sheet())
        project = yaml.safe_dump(_make_project(build, lang), allow_unicode=True, sort_keys=False)
        write_text(target / "mkdocs.yml", project)
    return []


def _export_page(build: Build, page: Page, prose: Callable[[str], str]) -> str:
    body = export_markdown(
        build.assemble(page), prose, lambda name: render_reference(name, build.root)
    )
    meta = {name: said for name, said in page.meta.items() if name not in OWN_META}
    meta["title"] = page.title
    front = yaml.safe_dump(meta, allow_unicode=True, sort_keys=False, width=10**6)
    return f"---\n{front}---\n{body}"


def main(folder: Path) -> int:
    """Read, run and write; nothing is written where something is wrong."""
    build = Build(Path.cwd(), lambda warning: print(warning, file=sys.stderr))
    build.read()
    if not build.failures:
        build.executor.start(build.all)
    failures = build.failures + build.executor.finish()
    failures = failures or export_site(build, folder)
    for failure in sorted({build.point_to_origin(failure) for failure in failures}):
        print(failure, file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
