"""A page as plain Markdown, which any reader of Markdown shows: no extensions of this site.

Boxes become titled paragraphs, folded answers become sections, heading ids become anchors, inline
values are filled in. Formulas stay as they are, between dollar signs.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from textwrap import indent

from attention_docs.running.result import Result
from attention_docs.site.publish.catalogue import Catalogue, PublishedPage
from attention_docs.site.read.pieces import (
    Attributes,
    Block,
    Box,
    End,
    Fence,
    Heading,
    Note,
    Reference,
    Request,
)
from attention_docs.site.read.reader import classify_lines
from attention_docs.site.read.syntax import CODE_SPAN
from attention_docs.site.render.assembled_page import FILES, AssembledPage
from attention_docs.site.run.imports import find_module_file

LIST = re.compile(r"(?<=[)*])\{ [.#][^{}]*\}")  # attributes of a link or of a word
LINK = re.compile(r'(?P<before>\]\(|\bhref=")(?P<target>[\w./-]+\.\w+)(?=[)\s"#])')


def render_copy(assembled: AssembledPage, published: PublishedPage, catalogue: Catalogue) -> str:
    """The page with code and outputs, as plain Markdown; a figure is described in words."""
    locale = assembled.locale["site"]["copies"]
    link = catalogue.make_linker(published.url, lambda one: one.markdown)
    linked = {
        name
        for one in assembled.page.passages
        for name in dict(one.options).get("check", "").split()
    }
    found = []
    for part in split_parts(expand_lines(assembled), assembled, published, catalogue.root, link):
        if isinstance(part, str):
            found.append(part)
            continue
        result = assembled.get_result(part)
        if part.source != "none":
            found.append(format_fence(part.displayed_code.strip("\n"), "python"))
        if part.id in linked:
            found.append(f'<a id="out-{part.id}"></a>')
        if result:
            found += render_result(result, assembled)
        for file in result.files if result else ():
            found.append(f"[{file.name}]({link(f'{FILES}/{file.name}')})")
    found.append("---")
    if assembled.page.blocks:
        versions = ", ".join(f"{name} {number}" for name, number in assembled.versions.items())
        found.append(locale["made"].format(versions=versions))
    if listing := published.listing:
        stop = assembled.locale["site"]["marks"]["stop"]
        found.append(f"{locale['script']}[{Path(listing).name}]({link(listing)}){stop}")
    if catalogue.site_url:
        found.append(f"<{catalogue.site_url}{published.url}>")
    return "\n\n".join(found) + "\n"


def render_result(result: Result, assembled: AssembledPage) -> Iterator[str]:
    """What a block printed and drew; a table is aligned text, a figure is described in words."""
    lang = assembled.page.text_lang
    if text := result.get_text(lang):
        yield format_fence(text, "text")
    if drawing := result.figure.get(lang):
        figure = assembled.locale["site"]["copies"]["figure"]
        yield format_fence(drawing.alt, "text") if drawing.cells else figure + drawing.alt
    for check in result.checks:
        yield f"✓ {check.statement[lang]}"


def split_parts(
    lines: Iterable[tuple[str, object]],
    assembled: AssembledPage,
    published: PublishedPage,
    root: Path,
    link: Callable[[str], str],
) -> list[str | Block]:
    """Lines of the page, each with what it is: Markdown as text, and blocks.

    `link` turns a path of the site or a page of `docs/` ("numbers.json", "en/softmax.md") into what
    the copy is to hold.
    """
    plain = _MarkdownWriter(assembled, published.url, root, link)
    for line, piece in lines:
        plain.write_line(line, piece)
    plain.flush()
    return plain.found


def expand_lines(assembled: AssembledPage) -> Iterator[tuple[str, object]]:
    """The lines of the page with inline values as text, each with what it is."""
    filled = assembled.fill_values(assembled.get_value)
    for piece in assembled.page.pieces:
        if isinstance(piece, Request) and piece.line in assembled.requested_parts:
            yield from classify_lines(assembled.requested_parts[piece.line])
        elif isinstance(piece, Fence):
            yield from ((line, piece) for line in filled[piece.line - 1 : piece.last_line])
        else:
            yield filled[piece.line - 1], piece


class _MarkdownWriter:
    """What has been written of a copy, and how deep in boxes it is."""

    def __init__(
        self, assembled: AssembledPage, url: str, root: Path, link: Callable[[str], str]
    ) -> None:
        self.found: list[str | Block] = []
        self.text: list[str] = []
        self.notes: list[int] = []  # how far the content of each open note is indented
        self.depth = 0  # how many boxes are open
        self.assembled = assembled
        self.level = 1
        self.root, self.url, self.link = root, url, link
        self.folder = posixpath.dirname(assembled.page.path.removeprefix("docs/"))

    def flush(self) -> None:
        """End the text: a block follows, or nothing."""
        if content := re.sub(r"\n{3,}", "\n\n", "\n".join(self.text)).strip("\n"):
            self.found.append(content)
        self.text.clear()

    def write_line(self, line: str, piece: object) -> None:
        """Write a line, which is a piece of the page or part of one."""
        if line.strip():
            while self.notes and len(line) - len(line.lstrip()) < self.notes[-1]:
                self.notes.pop()
        line = line[self.notes[-1] if self.notes else 0 :]
        match piece:
            case Block():
                self.flush()
                self.found.append(piece)
            case Fence():
                self.text.append(line)
            case Box():
                marks = "#" * min(6, self.level + 1 + self.depth)
                self.depth += 1
                anchor = [f'<a id="{piece.id}"></a>', ""] if piece.id else []
                self.text += ["", *anchor, f"{marks} {self.format_title(piece)}", ""]
            case End():
                self.depth -= 1
            case Note(title=title):
                self.text += ["", f"**{title}**", ""]
                self.notes.append((self.notes[-1] if self.notes else 0) + 4)
            case Heading(level=level, title=title, id=name):
                self.level = level
                if name and level > 1:
                    self.text += [f'<a id="{name}"></a>', ""]
                self.text.append(f"{'#' * level} {title}")
                if name and level == 1:  # a copy begins with its title
                    self.text += ["", f'<a id="{name}"></a>']
            case Reference(name=name):
                self.text.append(render_reference(name, self.root))
            case Attributes():
                pass
            case _:
                self.text.append(_relink_outside_code(LIST.sub("", line), self._relink))

    def format_title(self, box: Box) -> str:
        """The title of a box, with what the page puts before it."""
        if box.kind == "film":  # no word names it: its drawings and texts follow one another
            return box.title
        template: str = self.assembled.locale["site"]["boxes"][box.kind]
        if box.kind in ("result", "exercise"):
            return f"{template.format(self.assembled.find_number(box.id))} {box.title}"
        return template.format(box.title)

    def _relink(self, match: re.Match[str]) -> str:
        base = self.url if "href" in match["before"] else self.folder
        path = posixpath.normpath(posixpath.join(base, match["target"]))
        return match["before"] + self.link(path)


def _relink_outside_code(line: str, relink: Callable[[re.Match[str]], str]) -> str:
    changed, start = "", 0
    for span in CODE_SPAN.finditer(line):
        changed += LINK.sub(relink, line[start : span.start()]) + span[0]
        start = span.end()
    return changed + LINK.sub(relink, line[start:])


def format_fence(text: str, language: str) -> str:
    """Text in a fence that is longer than any fence within it."""
    ticks = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", text))])
    return f"{ticks}{language}\n{text}\n{ticks}"


def render_reference(name: str, root: Path) -> str:
    """What `::: name` stands for: signatures and docstrings, read and not run."""
    path = find_module_file(name, root)
    if path is None:
        return f"`{name}`"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    summary = ast.get_docstring(tree)
    found = [f"`{name}`: {summary}" if summary else f"`{name}`"]
    found += [format_fence(_format_signature(node), "python") for node in _list_public(tree)]
    for node in tree.body:  # what a package hands on from its modules
        if path.name == "__init__.py" and isinstance(node, ast.ImportFrom) and node.module:
            wanted = {alias.name for alias in node.names}
            inner = find_module_file(node.module, root)
            if inner:
                offered = _list_public(ast.parse(inner.read_text(encoding="utf-8")))
                found += [
                    format_fence(_format_signature(n), "python")
                    for n in offered
                    if n.name in wanted
                ]
    return "\n\n".join(found)


def _list_public(node: ast.Module | ast.ClassDef) -> list[ast.FunctionDef | ast.ClassDef]:
    return [
        inner
        for inner in node.body
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and not inner.name.startswith("_")
    ]


def _format_signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    """A function or a class as Python would have it, docstring and no body."""
    inner = [f'"""{docstring}"""'] if (docstring := ast.get_docstring(node)) else []
    if isinstance(node, ast.ClassDef):
        inner += [_format_signature(method) for method in _list_public(node)]
    node.body = []
    return ast.unparse(node) + "\n" + indent("\n\n".join(inner) or "...", "    ")
