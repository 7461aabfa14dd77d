"""Parts of pages that are made from the chapters and from two lists.

A page asks for one with a comment on a line of its own: `<!-- gallery: masks -->`,
`<!-- works: papers -->`, `<!-- reports -->` or `<!-- seeds -->`. What the chapters do not hold
stands in `docs/mistakes.toml` and `docs/seeds.toml`; code, outputs, titles and sources come from
the chapters, so nothing is written twice.
"""

from __future__ import annotations

import re
from pathlib import Path

from attention_docs.site import works
from attention_docs.site.failure import Failure
from attention_docs.site.gallery import Pages, gallery, link, load, located, mistakes

REQUEST = re.compile(r"^<!-- (gallery|works|reports|seeds)(?:: ([\w-]+))? -->$", re.M)

WORDS = {
    "en": {
        "note": "Row",
        "left": "In the notes",
        "now": "Where it is now",
        "corrected": "✗ put right",
    },
    "zh": {
        "note": "编号",
        "left": "笔记里的内容",
        "now": "现在的位置",
        "corrected": "✗ 已更正",
    },
}


def expand(markdown: str, lang: str, docs: Path, pages: Pages) -> str:
    """Put the parts that the page asks for in place of their comments."""

    def part(request: re.Match[str]) -> str:
        kind, name = request.groups()
        if kind == "gallery":
            return gallery(name, lang, docs, pages)
        if kind == "seeds":
            return seeds(lang, docs, pages)
        slugs = sorted(path.stem for path in (docs / lang).glob("*.md"))
        sources = [(slug, pages(slug)[0]) for slug in slugs]
        if kind == "works":
            return works.table(name, lang, sources)
        return works.reports(lang, sources, mistakes(docs))

    return REQUEST.sub(part, markdown)


def seeds(lang: str, docs: Path, pages: Pages) -> str:
    """Every row of the notes, with the pages and headings that took it over."""
    words = WORDS[lang]
    rows = [f"| {words['note']} | {words['left']} | {words['now']} |", "|---|---|---|"]
    for entry in load(docs / "seeds.toml"):
        try:
            links = [f"✓ {link(p, lang, docs, pages)} `{p}`" for p in entry["places"]]
        except Failure as failure:
            raise located(docs / "seeds.toml", entry, failure) from None
        wrong = f"<br>**{words['corrected']}**" if entry.get("wrong") else ""
        anchor = f'<a id="seed-{entry["id"].replace(".", "-")}"></a>'
        rows.append(f"| {anchor}`{entry['id']}` | {entry[lang]}{wrong} | {'<br>'.join(links)} |")
    return "\n".join(rows)
