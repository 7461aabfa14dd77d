"""A page as plain Markdown, which any reader of Markdown shows: no extensions of this site.

Boxes become titled paragraphs, folded answers become sections, heading ids become anchors, inline
values are filled in. Formulas stay as they are, between dollar signs.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import indent

from attention_docs.site.depends import file_of
from attention_docs.site.source import CODE_SPAN, FENCE
from attention_docs.site.weave import Woven

BOX = re.compile(r'^ *(?P<mark>\?{3}\+?|!{3}) +[\w -]+?(?: +"(?P<title>.*)")?\s*$')
HEADING = re.compile(r"^(?P<marks>#{1,6}) (?P<title>.*?)(?: \{ #(?P<id>[\w-]+) \})?\s*$")
ATTRIBUTES = re.compile(r"^\s*\{:? ?[.#][^{}]*\}\s*$")
API = re.compile(r"^::: (?P<name>[\w.]+)\s*$")
LINK = re.compile(r'(?P<before>\]\(|\bhref=")(?P<target>[\w./-]+\.\w+)(?=[)\s"#])')


def parts(
    woven: Woven,
    url: str,
    root: Path,
    expand: Callable[[str], str],
    link: Callable[[str], str],
) -> list[str | int]:
    """The page in order: Markdown as text, a block as its number, counted from 1.

    `url` is the page's address; `expand` puts in what a comment asks for; `link` turns a path of
    the site or a page of `docs/` ("numbers.json", "en/softmax.md") into what the copy is to hold.
    """
    found: list[str | int] = []
    text: list[str] = []
    blocks = {block.line: (n, block) for n, block in enumerate(woven.source.blocks, start=1)}
    boxes: list[int] = []  # how far the content of each open box is indented
    level, ticks = 1, ""
    folder = posixpath.dirname(woven.source.path.removeprefix("docs/"))

    def flush() -> None:
        if content := re.sub(r"\n{3,}", "\n\n", "\n".join(text)).strip("\n"):
            found.append(content)
        text.clear()

    def relink(match: re.Match[str]) -> str:
        base = url if "href" in match["before"] else folder
        path = posixpath.normpath(posixpath.join(base, match["target"]))
        return match["before"] + link(path)

    skip_to = 0
    for number, line in _lines(woven, expand):
        if 0 < number <= skip_to:
            continue
        if line.strip():
            while boxes and len(line) - len(line.lstrip()) < boxes[-1]:
                boxes.pop()
        line = line[boxes[-1] if boxes else 0 :]
        if number in blocks:
            flush()
            found.append(blocks[number][0])
            skip_to = blocks[number][1].last_line
        elif ticks:
            if line.strip().startswith(ticks) and not line.strip().strip(ticks[0]):
                ticks = ""
            text.append(line)
        elif fence := FENCE.match(line):
            ticks = fence["ticks"]
            text.append(line)
        elif box := BOX.match(line):
            marks = "#" * min(6, level + 1 + len(boxes))
            title = box["title"] or ""
            text += ["", f"{marks} {title}" if box["mark"][0] == "?" else f"**{title}**", ""]
            boxes.append((boxes[-1] if boxes else 0) + 4)
        elif heading := HEADING.match(line):
            level = len(heading["marks"])
            if heading["id"] and level > 1:
                text += [f'<a id="{heading["id"]}"></a>', ""]
            text.append(f"{heading['marks']} {heading['title']}")
        elif api := API.match(line):
            text.append(reference(api["name"], root))
        elif not ATTRIBUTES.match(line):
            text.append(_outside_code(line, relink))
    flush()
    return found


def _lines(woven: Woven, expand: Callable[[str], str]) -> Iterator[tuple[int, str]]:
    """The page's lines with inline values as text, each with its number; 0 where it was put in."""
    lines = list(woven.source.lines)
    for number, value in reversed(list(enumerate(woven.source.values, start=1))):
        line = lines[value.line - 1]
        lines[value.line - 1] = line[: value.start] + woven.value(number) + line[value.end :]
    first = woven.source.body_line
    for number, line in enumerate(lines[first:], start=first + 1):
        expanded = expand(line)
        if expanded == line:
            yield number, line
        else:
            yield from ((0, one) for one in expanded.split("\n"))


def _outside_code(line: str, relink: Callable[[re.Match[str]], str]) -> str:
    changed, start = "", 0
    for span in CODE_SPAN.finditer(line):
        changed += LINK.sub(relink, line[start : span.start()]) + span[0]
        start = span.end()
    return changed + LINK.sub(relink, line[start:])


def fenced(text: str, language: str) -> str:
    """Text in a fence that is longer than any fence within it."""
    ticks = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", text))])
    return f"{ticks}{language}\n{text}\n{ticks}"


def reference(name: str, root: Path) -> str:
    """What `::: name` stands for: signatures and docstrings, read and not run."""
    path = file_of(name, root)
    if path is None:
        return f"`{name}`"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    summary = ast.get_docstring(tree)
    found = [f"`{name}`: {summary}" if summary else f"`{name}`"]
    found += [fenced(_signature(node), "python") for node in _public(tree)]
    for node in tree.body:  # what a package hands on from its modules
        if path.name == "__init__.py" and isinstance(node, ast.ImportFrom) and node.module:
            wanted = {alias.name for alias in node.names}
            inner = file_of(node.module, root)
            if inner:
                offered = _public(ast.parse(inner.read_text(encoding="utf-8")))
                found += [fenced(_signature(n), "python") for n in offered if n.name in wanted]
    return "\n\n".join(found)


def _public(node: ast.Module | ast.ClassDef) -> list[ast.FunctionDef | ast.ClassDef]:
    return [
        inner
        for inner in node.body
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and not inner.name.startswith("_")
    ]


def _signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    """A function or a class as Python would have it, docstring and no body."""
    inner = [f'"""{docstring}"""'] if (docstring := ast.get_docstring(node)) else []
    if isinstance(node, ast.ClassDef):
        inner += [_signature(method) for method in _public(node)]
    node.body = []
    return ast.unparse(node) + "\n" + indent("\n\n".join(inner) or "...", "    ")
