"""Copies to take away: a notebook, a Markdown copy, llms.txt, and the line that offers them.

Everything is made from the results that the page shows; nothing runs again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.utils import get_relative_url

from attention_docs.site import depends, plain
from attention_docs.site.weave import Woven

MARKDOWN = "index.html.md"  # the name that llmstxt.org gives to the copy of a page at ".../"
ZIP = "attention-docs.zip"
GAP = ' <span aria-hidden="true">·</span> '

WORDS = {
    "en": {
        "language": "English",
        "take": "Take it with you: ",
        "notebook": "Jupyter notebook",
        "listing": "code as a script",
        "markdown": "Markdown",
        "zip": "the whole site, to read offline (zip)",
        "runs": "This notebook is the page “{title}” of “{site}”. It runs from top to bottom "
        "where the package `attention_docs` is installed:",
        "copy": "in a copy of the project",
        "figure": "Figure: ",
        "made": "The outputs and the numbers in sentences were computed when the site was built, "
        "with {versions}.",
        "script": "The code of this page as one script: ",
        "stop": ".",
    },
    "zh": {
        "language": "中文",
        "take": "带走本页：",
        "notebook": "Jupyter 笔记本",
        "listing": "代码脚本",
        "markdown": "Markdown",
        "zip": "整个网站，可离线阅读（zip）",
        "runs": "这个笔记本是“{site}”的一页：“{title}”。装好 `attention_docs` 包，"
        "就可以从上到下运行：",
        "copy": "在项目目录里执行",
        "figure": "图：",
        "made": "输出和句子里的数字都在构建网站时算出，运行环境：{versions}。",
        "script": "本页的代码合成一个脚本：",
        "stop": "。",
    },
}


@dataclass(frozen=True)
class Copy:
    """A page of which copies are made."""

    woven: Woven
    expand: Callable[[str], str]
    url: str
    title: str
    description: str
    site_name: str
    own_listing: bool

    @property
    def slug(self) -> str:
        """The page's name, the same in both languages."""
        return self.woven.source.slug

    @property
    def markdown(self) -> str:
        """Where the Markdown copy stands."""
        return self.url + MARKDOWN

    @property
    def notebook(self) -> str:
        """Where the notebook stands; empty where there is none."""
        return f"notebooks/{self.woven.lang}/{self.slug}.ipynb" if self.own_listing else ""

    @property
    def listing(self) -> str:
        """Where the listing stands; empty where there is none."""
        return f"listings/{self.slug}.py" if self.own_listing else ""

    def line(self, zipped: bool) -> str:
        """The line at the end of the page that offers the copies."""
        words = WORDS[self.woven.lang]
        name = PurePosixPath(self.slug).name
        offers = [
            (self.notebook, f"{name}.ipynb", words["notebook"]),
            (self.listing, f"{name}.py", words["listing"]),
            (self.markdown, f"{name}.md", words["markdown"]),
            (ZIP if zipped else "", ZIP, words["zip"]),
        ]
        links = [
            f'<a href="{get_relative_url(path, self.url)}" download="{name}">{text}</a>'
            for path, name, text in offers
            if path
        ]
        line = f"{words['take']}{GAP.join(links)}"
        return f'<p class="takeaway" data-search-exclude><small>{line}</small></p>'


@dataclass(frozen=True)
class Kit:
    """All copies of a site, and the addresses that they need."""

    copies: Sequence[Copy]
    root: Path
    site_url: str
    repository: str

    def write(self, built: Path) -> None:
        """Write every copy into the built site."""
        for copy in self.copies:
            files = {copy.markdown: self.markdown(copy)}
            if copy.notebook:
                files[copy.notebook] = self.notebook(copy)
            for path, content in files.items():
                (built / path).parent.mkdir(parents=True, exist_ok=True)
                (built / path).write_text(content, encoding="utf-8", newline="\n")
        (built / "llms.txt").write_text(self.llms(), encoding="utf-8", newline="\n")

    def _linker(self, start: str, pages: Mapping[str, str], base: str = "") -> Callable[[str], str]:
        """How links are written in a copy in folder `start`; with `base` they are absolute."""

        def link(path: str) -> str:
            target = pages.get(path, path)
            return base + target if base else get_relative_url(target, start)

        return link

    def _parts(self, copy: Copy, link: Callable[[str], str]) -> list[str | int]:
        return plain.parts(copy.woven, copy.url, self.root, copy.expand, link)

    def markdown(self, copy: Copy) -> str:
        """The page with code and outputs, as plain Markdown; a figure is told in words."""
        words, woven = WORDS[copy.woven.lang], copy.woven
        link = self._linker(copy.url, {_doc(one): one.markdown for one in self.copies})
        found = []
        for part in self._parts(copy, link):
            if isinstance(part, str):
                found.append(part)
                continue
            block, record = woven.source.blocks[part - 1], woven.records[part]
            if block.show_source:
                found.append(plain.fenced(block.code.strip("\n"), "python"))
            if record["text"]:
                found.append(plain.fenced(record["text"], "text"))
            if record["figure"]:
                found.append(words["figure"] + record["figure"]["alt"][woven.lang])
        found.append("---")
        if woven.source.blocks:
            versions = ", ".join(f"{name} {number}" for name, number in woven.versions.items())
            found.append(words["made"].format(versions=versions))
        if copy.listing:
            name = PurePosixPath(copy.listing).name
            found.append(f"{words['script']}[{name}]({link(copy.listing)}){words['stop']}")
        if self.site_url:
            found.append(f"<{self.site_url}{copy.url}>")
        return "\n\n".join(found) + "\n"

    def notebook(self, copy: Copy) -> str:
        """The page as a notebook (nbformat 4.5), in canonical form: keys sorted, ids fixed."""
        woven = copy.woven
        pages = {
            _doc(one): one.url if self.site_url else one.notebook or f"{one.url}index.html"
            for one in self.copies
        }
        link = self._linker(f"notebooks/{woven.lang}/", pages, self.site_url)
        cells = [_prose("about", self._about(copy))]
        for number, part in enumerate(self._parts(copy, link), start=1):
            if isinstance(part, str):
                cells.append(_prose(f"text-{number}", part))
            else:
                count = 1 + sum(cell["cell_type"] == "code" for cell in cells)
                cells.append(_code(woven, part, count))
        document = {
            "cells": cells,
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"},
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        return json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n"

    def _about(self, copy: Copy) -> str:
        words = WORDS[copy.woven.lang]
        code = "\n".join(block.code for block in copy.woven.source.blocks)
        needs = sorted(depends.third_party(code, self.root, ("torch",)))
        package = "."
        if self.repository:
            package = f'"attention-docs @ git+{self.repository}"'
        command = " ".join(["pip install", *needs, package])
        if not self.repository:
            command += f"  # {words['copy']}"
        title, site = copy.title, copy.site_name
        if self.site_url:
            title = f"[{title}]({self.site_url}{copy.url})"
        return words["runs"].format(title=title, site=site) + "\n\n" + plain.fenced(command, "sh")

    def llms(self) -> str:
        """llms.txt, in the form of llmstxt.org: what the site is, and its pages as Markdown."""
        base = self.site_url
        first = self.copies[0]
        lines = [f"# {first.site_name}", "", f"> {first.description}", ""]
        lines += [
            "Each page exists in English and in Chinese, with the same code and the same outputs. "
            "Every output and every number in a sentence, with the code that computed it, is also "
            f"in [numbers.json]({base}numbers.json).",
        ]
        for lang, words in WORDS.items():
            lines += ["", f"## {words['language']}", ""]
            lines += [
                f"- [{copy.title}]({base}{copy.markdown}): {copy.description}"
                for copy in self.copies
                if copy.woven.lang == lang
            ]
        return "\n".join(lines) + "\n"


def _doc(copy: Copy) -> str:
    return copy.woven.source.path.removeprefix("docs/")


def _prose(name: str, text: str) -> dict[str, Any]:
    source = text.splitlines(keepends=True)
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def _code(woven: Woven, number: int, count: int) -> dict[str, Any]:
    block, record = woven.source.blocks[number - 1], woven.records[number]
    outputs: list[dict[str, Any]] = []
    if record["text"]:
        lines = (record["text"] + "\n").splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
    if record["figure"]:
        svg, alt = (record["figure"][what][woven.lang] for what in ("svg", "alt"))
        data = {
            ("image/svg+xml" if svg.startswith("<svg") else "text/html"): svg.splitlines(
                keepends=True
            ),
            "text/plain": alt.splitlines(keepends=True),
        }
        outputs.append(
            {
                "data": data,
                "execution_count": count,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return {
        "cell_type": "code",
        "execution_count": count,
        "id": f"code-{block.id}"[:64],
        "metadata": {} if block.show_source else {"jupyter": {"source_hidden": True}},
        "outputs": outputs,
        "source": block.code.strip("\n").splitlines(keepends=True),
    }
