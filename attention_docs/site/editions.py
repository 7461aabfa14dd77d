"""Editions: states of the site that are published once, and what has moved from one to the next.

    python -m attention_docs.site.editions [BEFORE]

adds the edition that `CITATION.cff` names to `docs/editions.toml`: the place of each numbered
result in its chapter, which it keeps from then on, and what differs from BEFORE, the numbers.json
of the edition before it. docs/project/hosting.md says how an edition is published.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from attention_docs.site.read.editions import LIST, read_editions
from attention_docs.site.record import Record, Recorder, RecordError
from attention_docs.site.render.cite import FILE as CITATION

NONE = "entry = []\n"  # stands in the list until there is an edition
LINES = 6
"""How many changed lines of an output are shown."""


def compare(before: Record, after: Record) -> list[dict[str, str]]:
    """What differs between two records: results, numbers in sentences, outputs, sections.

    Each difference has a `place`, a `kind`, and mostly what it `was` and is `now`. A section is
    named if its text changed and nothing else of it is.
    """
    found = [*_compare_results(before, after), *_compare_records(before, after)]
    named = {one["place"] for one in found}
    for slug, sections in after["sections"].items():
        old = before["sections"].get(slug, {})
        for name, stamp in sections.items():
            if (place := f"{slug}#{name}") not in named and old.get(name) != stamp:
                kind = "text" if name in old else "section"
                found.append({"place": place, "kind": kind})
    return found


def _compare_results(before: Record, after: Record) -> Iterator[dict[str, str]]:
    old, new = (
        {f"{one['slug']}#{one['id']}": one for one in x["results"]} for x in (before, after)
    )
    for place in [*new, *(one for one in old if one not in new)]:
        if place not in old:
            yield {"place": place, "kind": "result", "now": new[place]["number"]}
        elif place not in new:
            yield {"place": place, "kind": "withdrawn", "was": old[place]["number"]}
        elif old[place]["statement"] != new[place]["statement"]:
            texts = {"was": old[place]["statement"], "now": new[place]["statement"]}
            yield {"place": place, "kind": "statement", **texts}


def _compare_records(before: Record, after: Record) -> Iterator[dict[str, str]]:
    """Outputs and inline values that are in both records and differ."""
    lang = after["languages"][0]
    old, new = (_name_records(one["records"], lang) for one in (before, after))
    for key, record in new.items():
        if key not in old or old[key]["sha256"] == record["sha256"]:
            continue
        was, now = old[key]["text"], record["text"]
        if record["kind"] == "output":
            was, now = _pick_lines(was, now)
        if was != now:
            place = f"{record['slug']}#{record['section']}"
            yield {"place": place, "kind": record["kind"], "was": was, "now": now}


def _name_records(records: Iterable[Record], lang: str) -> dict[tuple[Any, ...], Record]:
    """Records by what they are: a value is the n-th of its expression in its section."""
    seen: Counter[tuple[Any, ...]] = Counter()
    found = {}
    for one in records:
        if one["lang"] == lang:
            name = one["id"] if one["kind"] == "output" else (one["expression"], one["format"])
            key = (one["slug"], one["section"], name)
            found[(*key, seen[key])] = one
            seen[key] += 1
    return found


def _pick_lines(was: str, now: str) -> tuple[str, str]:
    """The lines that differ, a few of them."""
    pairs = zip_longest(was.splitlines(), now.splitlines(), fillvalue="")
    changed = [pair for pair in pairs if pair[0] != pair[1]][:LINES]
    old, new = zip(*changed, strict=True) if changed else ((), ())
    return "\n".join(old), "\n".join(new)


def format_entry(name: str, date: str, after: Record, moved: Iterable[Mapping[str, str]]) -> str:
    """An edition as an entry of the list, with one line a field. JSON's strings are TOML's."""
    lines = ["[[entry]]", f"id = {json.dumps(name)}", f"date = {json.dumps(date)}", ""]
    lines += ["[entry.numbers]"]
    lines += [
        f'"{one["slug"]}#{one["id"]}" = {json.dumps(one["number"])}' for one in after["results"]
    ]
    for one in moved:
        lines += ["", "[[entry.moved]]"]
        lines += [
            f"{field} = {json.dumps(text, ensure_ascii=False)}" for field, text in one.items()
        ]
    return "\n".join(lines) + "\n"


def add_edition(root: Path, before: Record | None, after: Record) -> str:
    """Add the edition to the list, and say what was added. It is added once."""
    about = yaml.safe_load((root / CITATION).read_text(encoding="utf-8"))
    name, date, path = str(about["version"]), str(about["date-released"]), root / LIST
    names = [entry["id"] for entry in read_editions(root)]
    if name in names:
        raise SystemExit(f"{LIST} has edition {name}: name the next one in {CITATION}")
    if bool(names) != bool(before):
        wanted = f"the numbers.json of edition {names[-1]}" if names else "none: it is the first"
        raise SystemExit(f"wanted {wanted}")
    if before and before["edition"] != names[-1]:
        raise SystemExit(f"wanted the record of {names[-1]}, got that of {before['edition']}")
    moved = compare(before, after) if before else []
    text = path.read_text(encoding="utf-8").removesuffix(NONE).rstrip("\n")
    path.write_text(f"{text}\n\n{format_entry(name, date, after, moved)}", encoding="utf-8")
    return f"{LIST}: edition {name}, {len(after['results'])} results, {len(moved)} changes"


def main() -> int:
    """Add the edition; 1 if the pages have no record."""
    root, before = Path.cwd(), None
    if sys.argv[1:]:
        before = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        after = Recorder(root).make_document()
    except RecordError as error:
        print(error, file=sys.stderr)
        return 1
    print(add_edition(root, before, after))
    return 0


if __name__ == "__main__":
    sys.exit(main())
