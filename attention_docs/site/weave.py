"""Put results into a page: blocks as code with their output, inline values as text.

The page's Markdown gets the code and the output as markdown-exec lays them out, and short marks
where HTML belongs (frames, figures, origins). Once Markdown is HTML the marks are replaced. Marks
are private-use characters, which no page holds.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from markdown_exec import add_source, code_block, default_tabs

from attention_docs.site.source import Block, Source
from attention_docs.site.store import Record

OPEN, CLOSE = "\ue000", "\ue001"
VALUE_MARK = re.compile(f"{OPEN}(\\d+){CLOSE}(.*?){OPEN}/{CLOSE}", re.S)
FRAME_MARK = re.compile(
    f"<p>{OPEN}(?P<kind>open|close) (?P<number>\\d+){CLOSE}</p>"
    r'(?:\s*<p class="caption">(?P<caption>.*?)</p>)?',
    re.S,
)
MARKED_TAG = re.compile(f"<[^<>{OPEN}]*{OPEN}[^<>]*>")

WORDS = {
    "en": {
        "origin": "Where do these numbers come from?",
        "listing": "Listing",
        "functions": "Functions that took part",
        "no functions": "none of this package",
        "seeds": "Random generators",
        "versions": "Run with",
        "error": "This block failed",
        "faults": "This page does not build",
    },
    "zh": {
        "origin": "这些数字从哪里来？",
        "listing": "代码清单",
        "functions": "参与计算的函数",
        "no functions": "没有用到本包的函数",
        "seeds": "随机数生成器",
        "versions": "运行环境",
        "error": "这个代码块运行失败",
        "faults": "本页无法构建",
    },
}


def shows(record: Record) -> bool:
    """Whether the block has an output: many only prepare what later ones use."""
    return bool(record["text"] or record["figure"])


@dataclass
class Woven:
    """A page whose results are known, on its way to HTML."""

    source: Source
    lang: str
    records: list[Record]
    site: Mapping[str, int]
    api: str = "api/"
    listings: str = "listings/"
    repository: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    def markdown(self) -> str:
        """The page's Markdown with code, outputs and values in place."""
        lines = list(self.source.lines)
        for number, value in reversed(list(enumerate(self.source.values, start=1))):
            shown = f"{OPEN}{number}{CLOSE}{self.value(number)}{OPEN}/{CLOSE}"
            line = lines[value.line - 1]
            lines[value.line - 1] = line[: value.start] + shown + line[value.end :]
        for number, block in reversed(list(enumerate(self.source.blocks, start=1))):
            woven = self._block(number, block).split("\n")
            lines[block.line - 1 : block.last_line] = [
                block.indent + line if line else "" for line in woven
            ]
        return "\n".join(lines[self.source.body_line :])

    def value(self, number: int) -> str:
        """The text of inline value `number`, counted from 1."""
        value = self.source.values[number - 1]
        if value.expression.startswith("site."):
            return str(self.site[value.expression.removeprefix("site.")])
        if value.after < len(self.records):
            values: dict[str, str] = self.records[value.after]["values"]
            return values.get(f"{value.expression}:{value.spec}", "⚠")
        return "⚠"

    def _block(self, number: int, block: Block) -> str:
        known = number < len(self.records)
        text = self.records[number]["text"] if known else self._error(block)
        output = ""
        if not known or shows(self.records[number]):
            output = f"{OPEN}open {number}{CLOSE}\n\n"
            output += code_block("text", text) + "\n\n" if text else ""
            output += f"{OPEN}close {number}{CLOSE}\n"
        if not block.show_source:
            return output
        return add_source(
            source=block.code, location="above", output=output, language="python", tabs=default_tabs
        )

    def _error(self, block: Block) -> str:
        failures = [f.message for f in self.source.failures if f.line == block.line]
        return "\n".join([WORDS[self.lang]["error"], *failures])

    def content(self, rendered: str) -> str:
        """The page's HTML with every mark replaced."""
        rendered = FRAME_MARK.sub(self._frame, rendered)
        # In an attribute or a formula a value is its bare text.
        rendered = MARKED_TAG.sub(lambda tag: self.bare(tag[0]), rendered)
        return VALUE_MARK.sub(r'<span class="value" id="value-\1">\2</span>', rendered)

    def faults(self) -> str:
        """A box with everything that is wrong with the page; only `mkdocs serve` gets this far."""
        if not self.source.failures:
            return ""
        items = "".join(f"<pre>{html.escape(str(f))}</pre>" for f in sorted(self.source.failures))
        title = f'<p class="admonition-title">{WORDS[self.lang]["faults"]}</p>'
        return f'<div class="admonition failure">{title}{items}</div>'

    @staticmethod
    def bare(text: str) -> str:
        """Text in which every marked value stands as its text alone."""
        return VALUE_MARK.sub(r"\2", text)

    def _frame(self, match: re.Match[str]) -> str:
        number = int(match["number"])
        block = self.source.blocks[number - 1]
        caption = match["caption"]
        if match["kind"] == "open":
            return f'<div class="output" id="out-{block.id}">'
        if number >= len(self.records):
            return "</div>" + (f'<p class="caption">{caption}</p>' if caption else "")
        record = self.records[number]
        figure = ""
        if record["figure"]:
            below = f"<figcaption>{caption}</figcaption>" if caption else ""
            drawing = record["figure"]["svg"][self.lang]
            figure = f'<figure><div class="drawing">{drawing}</div>{below}</figure>'
            caption = None
        paragraph = f'<p class="caption">{caption}</p>' if caption else ""
        return figure + paragraph + self._origin(block, record) + "</div>"

    def _origin(self, block: Block, record: Record) -> str:
        """What a reader who asks is told: listing and line, functions, seeds, versions."""
        words = WORDS[self.lang]
        rows = {words["listing"]: ", ".join(self._place(section) for section in block.sections)}
        functions = ", ".join(map(self._function, record["functions"]))
        rows[words["functions"]] = functions or words["no functions"]
        if record["seeds"]:
            seeds = (f"<code>{html.escape(seed)}</code>" for seed in record["seeds"])
            rows[words["seeds"]] = ", ".join(seeds)
        rows[words["versions"]] = ", ".join(f"{k} {v}" for k, v in self.versions.items())
        items = "".join(f"<dt>{key}</dt><dd>{row}</dd>" for key, row in rows.items())
        summary = f"<summary>{words['origin']}</summary>"
        return f'<details class="origin">{summary}<dl>{items}</dl></details>'

    def _function(self, name: str) -> str:
        """A link to a function on its module's page: attention_docs.score_functions.dot."""
        inner = name.removeprefix("attention_docs.")
        page = inner.split(".")[0].replace("_", "-")
        return f'<a href="{self.api}{page}/#{name}"><code>{inner}</code></a>'

    def _place(self, section: Any) -> str:
        name = section.listing.name
        link = f"{self.listings}{name}"
        if self.repository:
            link = f"{self.repository}/blob/main/docs/listings/{name}#L{section.first_line}"
        return f'<a href="{link}">{name}:{section.first_line}</a>'
