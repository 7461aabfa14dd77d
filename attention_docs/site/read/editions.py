"""The places of numbered results, which stay once an edition has published them.

`docs/editions.toml` holds the editions; `attention_docs.site.editions` adds one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from attention_docs.site.read.failure import Failure

LIST = "docs/editions.toml"


def read_editions(root: Path) -> list[dict[str, Any]]:
    """The editions, the oldest first."""
    path = root / LIST
    return _parse(path.read_text(encoding="utf-8")) if path.is_file() else []


@lru_cache(maxsize=2)  # every page asks whether its edition is published
def _parse(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(text).get("entry", [])
    return found


def read_kept_places(root: Path) -> dict[str, dict[str, int]]:
    """Of each page the places of the results that editions have published, gone ones too."""
    kept: dict[str, dict[str, int]] = {}
    for entry in read_editions(root):
        for address, number in entry["numbers"].items():
            slug, _, box = address.partition("#")
            kept.setdefault(slug, {})[box] = int(number.rpartition(".")[2])
    return kept


def find_faults(root: Path, numbered: Mapping[str, int]) -> Iterator[Failure]:
    """Chapters that had another number when an edition published their results by it."""
    for entry in read_editions(root):
        found = {
            address.partition("#")[0]: int(number.split(".")[0])
            for address, number in entry["numbers"].items()
        }
        for slug, number in found.items():
            if numbered.get(slug, number) != number:
                message = (
                    f"{slug} is chapter {numbered[slug]}, and edition {entry['id']} numbers its "
                    f"results {number}.1 and so on: let it stay chapter {number}"
                )
                yield Failure(LIST, 1, message)
