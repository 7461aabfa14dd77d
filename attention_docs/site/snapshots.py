"""What each chapter prints, draws and claims, as one text file per chapter, to review in a diff.

    python -m attention_docs.site.snapshots tests/outputs

It is the record in a readable form. The build never reads these files; a test compares them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from attention_docs.site.record import Record, Recorder, hash_text

HEAD = "What this chapter prints, draws and claims, as `make update` writes it for review.\n"
HASHES = "\n== reasons, options of exercises and cards, and outputs in other languages\n"
SUPPORT = ("proof", "check", "test", "proved", "unproved", "uncomputed")  # of a result
SENTENCE = re.compile(r"(?<=\.)[ \n]+|\n{2,}")


def format_chapters(document: Record) -> dict[str, str]:
    """The content of the file of each chapter, from the record.

    The pages of the first language; the others show the same. Counts of the whole site are left
    out: each of two branches would change them, and git would merge the two to a wrong number.
    """
    texts: dict[str, str] = {}
    for record in document["records"]:
        lang, slug = record["lang"], record["slug"]
        if lang != document["languages"][0] or record.get("expression", "").startswith("site."):
            continue
        texts.setdefault(slug, HEAD)
        if record["kind"] == "output":
            if shown := _format_record(record):
                texts[slug] += f"\n== {record['id'].removeprefix('out-')}\n{shown}\n"
        else:
            spec = f":{record['format']}" if record["format"] else ""
            texts[slug] += f"\n{{{{ {record['expression']}{spec} }}}} = {record['text']}\n"
    for result in document["results"]:
        support = "; ".join(f"{name}: {result[name]}" for name in SUPPORT if name in result)
        claim = f"== {result['id']} ({result['relation']}; {support})\n{result['title']}.\n"
        texts[result["slug"]] += f"\n{claim}{_by_sentence(result['statement'])}\n"
    for slug in texts:
        said = [(lang, of[slug]) for lang, of in document["texts"].items()]
        lines = [
            f"{lang}: {'; '.join(map(' '.join, found.items()))}\n"
            for lang, found in (*said, *_hash_outputs(document, slug).items())
            if found
        ]
        texts[slug] += "".join([HASHES, *lines] if lines else [])
    return texts


def _hash_outputs(document: Record, slug: str) -> dict[str, dict[str, str]]:
    """What each block of a page gives in the other languages, as hashes."""
    found: dict[str, dict[str, str]] = {lang: {} for lang in document["languages"][1:]}
    for one in document["records"]:
        if one["slug"] == slug and one["lang"] in found and one["kind"] == "output":
            parts = [
                one[name] for name in ("text", "figure", "labels", "frames", "table", "checks")
            ]
            found[one["lang"]][one["id"].removeprefix("out-")] = hash_text(repr(parts))[:4]
    return found


def _format_record(record: Record) -> str:
    """What a block printed, its table or its figure, and what it checked."""
    figure = record["figure"] if record["table"] else _by_sentence(_ends(record["figure"]))
    roles = f"Roles: {'; '.join(record['roles'])}." if record["roles"] else ""
    parts = [record["text"], figure, roles]
    parts += [f"✓ {statement}" for statement in record["checks"]]
    return "\n".join(filter(None, parts))


def _ends(figure: str) -> str:
    r"""The description of a figure; of one with many frames, the first, the last, others' hashes.

    Examples:
        >>> _ends("A. 1"), _ends("1\n2\n3\n4")
        ('A. 1', '1\n(and 2 frames: d473 4e07)\n4')
    """
    first, *others = figure.split("\n")
    hashes = " ".join(hash_text(one)[:4] for one in others[:-1])
    between = f"(and {len(others) - 1} frames: {hashes})"
    return "\n".join([first, between, others[-1]] if others else [first])


def _by_sentence(text: str) -> str:
    """Text with a line for each sentence, so that a diff shows which one changed."""
    return SENTENCE.sub("\n", text)


def write_reviews(document: Record, folder: Path) -> None:
    """Write the files, and remove those of chapters that are gone."""
    folder.mkdir(exist_ok=True)
    texts = format_chapters(document)
    for old in folder.glob("*.txt"):
        if old.stem not in texts:
            old.unlink()
    for slug, text in texts.items():
        (folder / f"{slug}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_reviews(Recorder(Path.cwd()).make_document(), Path(sys.argv[1]))
