"""numbers.json: for machines, every output and inline value of the site and where it comes from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from attention_docs.site.weave import Woven, shows

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")


def records(url: str, woven: Woven) -> list[dict[str, Any]]:
    """One record per output and per inline value of a page, in the order of the page."""
    found = []
    for block, record in zip(woven.source.blocks, woven.records[1:], strict=False):
        if not shows(record):
            continue
        first = block.sections[0]
        found.append(
            {
                "page": url,
                "id": f"out-{block.id}",
                "kind": "output",
                "listing": f"docs/listings/{first.listing.name}",
                "line": first.first_line,
                "functions": record["functions"],
                "seeds": record["seeds"],
                "figure": figure_text(record, woven.lang),
                **_content(record["text"]),
            }
        )
    for number, value in enumerate(woven.source.values, start=1):
        found.append(
            {
                "page": url,
                "id": f"value-{number}",
                "kind": "inline",
                "source": woven.source.path,
                "line": value.line,
                "expression": value.expression,
                "format": value.spec,
                **_content(woven.value(number)),
            }
        )
    return found


def figure_text(record: dict[str, Any], lang: str) -> str:
    """A figure's content in words; empty where the block drew none."""
    return record["figure"]["alt"][lang] if record["figure"] else ""


def _content(text: str) -> dict[str, Any]:
    return {
        "text": text,
        "values": [float(number) for number in NUMBER.findall(text)],
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def document(found: Iterable[dict[str, Any]], versions: dict[str, str]) -> str:
    """The file's content, the same for the same site."""
    return json.dumps({"versions": versions, "records": list(found)}, ensure_ascii=False, indent=1)
