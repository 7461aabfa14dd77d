"""Pages of modules: a page with `modules` in its front matter has one for each module in its table.

Nobody writes them. The row says what the module holds, and its docstrings say the rest; `modules`
gives the package and two sentences, which link to the module's chapter and back to the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from attention_docs.site.addresses import make_relative
from attention_docs.site.read.page import Page
from attention_docs.site.read.reader import parse_page

ROW = re.compile(r"^\| \[`(?P<name>\w+)`\]\((?P<slug>[\w/-]+)\.md\) \| (?P<about>.+) \|$", re.M)
ASKED = re.compile(r"\A---\n(?:.+\n)*?modules:\n")
TEXT = """---
description: {description}
---

# {name} {{ #{id} }}

{about}

{frame}

::: {name}
"""


def list_slugs(folder: Path) -> list[str]:
    """The names of all pages of a language's folder, of those that nobody writes as well."""
    found = set()
    for path in folder.rglob("*.md"):
        found.add(path.relative_to(folder).with_suffix("").as_posix())
        text = path.read_text(encoding="utf-8")
        if ASKED.match(text):
            found |= {row["slug"] for row in ROW.finditer(text)}
    return sorted(found)


def make_module_pages(overview: Page, pages: Mapping[str, Page], root: Path) -> Iterator[Page]:
    """The pages of the modules that a page lists, each of which has the list as its origin."""
    asked: Mapping[str, str] = overview.meta.get("modules") or {}
    for row in ROW.finditer(overview.text) if asked else ():
        slug, lang = row["slug"], overview.lang
        name = slug.rpartition("/")[2]
        frame = [(asked["chapter"], pages[name])] if name in pages else []
        sentences = (
            text.format(title=page.title, address=make_relative(f"{page.slug}.md", f"{slug}.md"))
            for text, page in [*frame, (asked["overview"], overview)]
        )
        text = TEXT.format(
            description=json.dumps(row["about"], ensure_ascii=False),
            name=f"{asked['package']}.{row['name']}",
            id=name,
            about=row["about"],
            frame="".join(sentences),
        )
        yield parse_page(Page(f"docs/{lang}/{slug}.md", text, origin=overview.path), root)
