"""What stands to be proved after each sentence of a proof, and proof lines beside derivations.

`trace` asks Coq; its answers are kept in `docs/proofs/steps.json`, and the certificate has the
hash of that file. A line of a proof that ends with `(* mean-proof: 2 *)` is line 2 of the
derivation that a page names `mean-proof`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

COMMENT = re.compile(r"\(\*.*?\*\)", re.S)
PROVED = re.compile(
    r"^(?P<head>(?:Lemma|Theorem) (?P<name>[\w']+).*?)\bProof\.(?P<body>.*?)\bQed\.", re.M | re.S
)
SENTENCE = re.compile(r"\s*((?:\d+:)?\{|\}|[-+*]+(?=\s)|.+?\.(?=\s|$))", re.S)
OPENS = re.compile(r"(?:\d+:)?\{|[-+*]+")
MARKED = re.compile(r"^ *(?P<line>\S.*?) *\(\* (?P<name>[\w-]+): (?P<number>\d+) \*\)", re.M)
WIDTH = 84  # columns of a goal

Steps = dict[str, dict[str, list[tuple[str, str]]]]
"""Of each file and each of its lemmas and theorems: what it says and the sentences of its proof,
each with what is then to be proved."""
Lines = dict[str, list[str]]
"""Of each derivation of a page: what Coq reads for each of its lines."""


def split_sentences(proof: str) -> list[str]:
    """The sentences of a proof.

    A bullet belongs to the one after it, a brace that closes to the one before it.

    Examples:
        >>> split_sentences(" intro n. split. - lra. - { ring. } ")
        ['intro n.', 'split.', '- lra.', '- { ring. }']
    """
    found: list[str] = []
    before = ""
    for sentence in (one[1] for one in SENTENCE.finditer(COMMENT.sub("", proof))):
        if OPENS.fullmatch(sentence):
            before += f"{sentence} "
        elif sentence == "}" and found:
            found[-1] += " }"
        else:
            found.append(before + " ".join(sentence.split()))
            before = ""
    return found


def trace(source: str, place: Path, run: Callable[[Path, str], None]) -> dict[str, Any]:
    """Let Coq say what is to be proved after each sentence of a file's proofs."""
    text = COMMENT.sub("", source)
    parts, end = [f"Set Printing Width {WIDTH}.\n"], 0
    asked: list[tuple[str, str]] = []
    for proof in PROVED.finditer(text):
        parts.append(text[end : proof.start("body")])
        parts.append(f'\nRedirect "goals{len(asked)}" Show.\n')
        asked.append((proof["name"], proof["head"].strip()))
        for sentence in split_sentences(proof["body"]):
            parts.append(f' {sentence}\nRedirect "goals{len(asked)}" Show.\n')
            asked.append((proof["name"], sentence))
        end = proof.end("body")
    (place / "Traced.v").write_text("".join(parts) + text[end:], "utf-8")
    run(place, "Traced.v")
    found: dict[str, list[tuple[str, str]]] = {}
    for number, (name, sentence) in enumerate(asked):
        goals = (place / f"goals{number}.out").read_text("utf-8")
        found.setdefault(name, []).append((sentence, _tidy(goals)))
    return found


def _tidy(goals: str) -> str:
    lines = [line.rstrip() for line in goals.splitlines() if line.strip()]
    single = lines[:1] == ["1 goal"]
    return "\n".join(lines[single:])


def pack(steps: Steps) -> str:
    """As a file with a line for each proof, its goals as numbers of their chapter's lines."""
    rows = []
    for chapter, proofs in steps.items():
        numbers: dict[str, int] = {}
        kept = {
            name: [
                [sentence, [numbers.setdefault(line, len(numbers)) for line in goals.splitlines()]]
                for sentence, goals in proof
            ]
            for name, proof in proofs.items()
        }
        named = ",\n".join(f"{_write(name)}:{_write(proof)}" for name, proof in kept.items())
        rows.append(f'{_write(chapter)}:{{"lines":{_write(list(numbers))},"proofs":{{\n{named}}}}}')
    return "{" + ",\n".join(rows) + "}\n"


def _write(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def unpack(text: str) -> Steps:
    """What `pack` has written."""
    return {
        chapter: {
            name: [
                (sentence, "\n".join(kept["lines"][number] for number in goals))
                for sentence, goals in proof
            ]
            for name, proof in kept["proofs"].items()
        }
        for chapter, kept in json.loads(text).items()
    }


def find_lines(sources: Iterable[Path]) -> dict[str, Lines]:
    """The marked lines of each file, in the order of their numbers; several may share a number."""
    found: dict[str, Lines] = {}
    for path in sources:
        by_number: dict[tuple[str, int], list[str]] = {}
        for one in MARKED.finditer(path.read_text("utf-8")):
            place = (one["name"], int(one["number"]))
            by_number.setdefault(place, []).append(one["line"])
        for (name, _), lines in sorted(by_number.items(), key=lambda item: item[0]):
            found.setdefault(path.stem, {}).setdefault(name, []).append("\n".join(lines))
    return found
