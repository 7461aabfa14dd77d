"""numbers.json: for machines, every output and inline value of the site and where it comes from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attention_docs.site.render.weave import Woven

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")


def records(url: str, woven: Woven) -> list[dict[str, Any]]:
    """One record per output and per inline value of a page, in the order of the page."""
    page, found = woven.page, []

    def place(line: int) -> dict[str, Any]:
        return {
            "page": f"/{url}",
            "lang": page.lang,
            "slug": page.slug,
            "section": page.section(line),
        }

    for block in page.blocks:
        result = woven.result(block)
        if result is None or not result.shows:
            continue
        first = block.sections[0]
        found.append(
            {
                **place(block.line),
                "id": f"out-{block.id}",
                "kind": "output",
                "listing": f"docs/listings/{first.listing.name}",
                "line": first.first_line,
                "functions": result.functions,
                "seeds": result.seeds,
                "figure": result.figure[page.lang].alt if result.figure else "",
                **_content(result.text),
            }
        )
    for number, value in enumerate(page.values, start=1):
        found.append(
            {
                **place(value.line),
                "id": f"value-{number}",
                "kind": "inline",
                "source": page.path,
                "line": value.line,
                "expression": value.expression,
                "format": value.spec,
                **_content(woven.value(number)),
            }
        )
    return found


def _content(text: str) -> dict[str, Any]:
    return {
        "text": text,
        "values": [float(number) for number in NUMBER.findall(text)],
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def as_lines(found: Iterable[dict[str, Any]]) -> str:
    """Records as JSON, one a line."""
    return ",\n".join(json.dumps(record, ensure_ascii=False) for record in found)


def document(languages: Sequence[str], versions: Mapping[str, str], pages: Iterable[str]) -> str:
    """The file's content from the lines of all pages, the same for the same site."""
    head = json.dumps({"languages": languages, "versions": versions})[:-1]
    return f'{head}, "records": [\n' + ",\n".join(filter(None, pages)) + "\n]}\n"
