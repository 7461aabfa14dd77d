"""Proofs that Coq has checked, and the certificate that keeps what it said.

python -m attention_docs.site.proofs             check all proofs, write the certificate
python -m attention_docs.site.proofs --compared  declare that boxes and theorems say the same

A result box names its theorem: `proved: scaling.variance` is `variance` of `docs/proofs/scaling.v`.
Only the commands above need Coq. A build reads the certificate and fails if it knows no such
theorem, if a source is not the one that was checked, or if a box or its theorem has changed
since somebody compared the two.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from attention_docs.site import proof_steps
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Box
from attention_docs.site.read.reader import read_page

FOLDER = Path("docs/proofs")
CERTIFICATE = FOLDER / "certificate.json"
COMPARED = FOLDER / "compared.json"
STEPS = FOLDER / "steps.json"
LIBRARY = "Attention"  # what the files call each other
AXIOMS = {  # of the classical real numbers, and that functions with equal values are equal
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
THEOREM = re.compile(r"^Theorem (\w+)", re.M)
DEFINITION = re.compile(
    r"^(?:Definition|Fixpoint|Inductive|Record) (\w+).*?\.(?=\s*$)", re.M | re.S
)
CLOSED = "Closed under the global context"  # rests on no axiom
IMPORT = re.compile(r"^From Attention Require Import ([\w ]+)\.", re.M)
WORD = re.compile(r"[A-Za-z_][\w']*")
BOUND = re.compile(  # names that a text binds itself: forall n m : nat, fun (x : R), let y := ...
    r"(?:\(|\b(?:forall|exists|fun)\s)\s*([\w' \n]+?)\s*:(?!=)|\blet\s+([\w']+)"
)
Certificate = dict[str, Any]


class ProofError(Exception):
    """Coq did not accept a proof, or a proof rests on something that is no published axiom."""


def hash_sources(root: Path) -> dict[str, str]:
    files = sorted((root / FOLDER).glob("*.v"))
    return {path.name: _hash(path.read_text("utf-8")) for path in files}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def check_proofs(root: Path) -> tuple[Certificate, str]:
    """Let Coq check every file from nothing; what it says of every theorem, and of every step."""
    sources = hash_sources(root)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in _order_files(root):
            shutil.copy(root / FOLDER / name, place)
            _run_coq(place, name)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            asked = list(pool.map(partial(_ask_about, place), sources))
        theorems = {name: one for found, _ in asked for name, one in found.items()}
        chapters = [name.removesuffix(".v") for name in sources]
        steps = proof_steps.pack(dict(zip(chapters, (lines for _, lines in asked), strict=True)))
        version = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True)
    for name, one in theorems.items():
        if unknown := set(one["axioms"]) - AXIOMS:
            raise ProofError(f"{name} rests on {', '.join(sorted(unknown))}")
    found = {"coq": version.stdout.split()[0], "sources": sources, "theorems": theorems}
    return found | {"steps": _hash(steps)}, steps


def _order_files(root: Path) -> list[str]:
    """The files, each after those that it builds on."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted((root / FOLDER).glob("*.v"))}
    needed = {name: set(" ".join(IMPORT.findall(text)).split()) for name, text in texts.items()}
    return [f"{name}.v" for name in TopologicalSorter(needed).static_order()]


def _run_coq(place: Path, name: str, library: str = ".") -> None:
    done = subprocess.run(
        ["coqc", "-q", "-Q", library, LIBRARY, name], cwd=place, capture_output=True, text=True
    )
    if done.returncode:
        raise ProofError(f"{name}: {done.stderr.strip()}")


def _ask_about(place: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What Coq says of a file's theorems and steps; its answers lie in a folder of their own."""
    chapter = name.removesuffix(".v")
    answers = place / "answers" / chapter
    answers.mkdir(parents=True)
    text = (place / name).read_text("utf-8")
    traced = proof_steps.trace(text, answers, partial(_run_coq, library=str(place)))
    return _question_kernel(place, chapter, text, answers), traced


def _question_kernel(place: Path, chapter: str, text: str, answers: Path) -> dict[str, Any]:
    """The statements of a file's theorems as the kernel has them, and the axioms they rest on."""
    names = THEOREM.findall(text)
    asked = [  # without an import, axioms come with the names of their files
        f"From {LIBRARY} Require {chapter}.",
        *(f'Redirect "{name}.axioms" Print Assumptions {chapter}.{name}.' for name in names),
        f"From {LIBRARY} Require Import Basics {chapter}. Set Printing Width 96.",
        *(f'Redirect "{name}.said" Check {chapter}.{name}.' for name in names),
    ]
    (answers / "ask.v").write_text("\n".join(asked), "utf-8")
    _run_coq(answers, "ask.v", str(place))
    imported = " ".join(IMPORT.findall(text)).split()
    files = [(place / f"{one}.v").read_text("utf-8") for one in (*imported, chapter)]
    defined = {name: one for each in files for name, one in read_definitions(each).items()}
    found = {}
    for name in names:
        said = (answers / f"{name}.said.out").read_text("utf-8")
        _, _, statement = said.partition(":")
        rests_on = (answers / f"{name}.axioms.out").read_text("utf-8")
        found[f"{chapter}.{name}"] = {
            "statement": re.sub(r"\n {5,7}", "\n", statement.strip()),
            "definitions": list(find_used(statement, defined).values()),
            "axioms": [] if rests_on.startswith(CLOSED) else _list_axioms(rests_on),
        }
    return found


def _list_axioms(text: str) -> list[str]:
    """What `Print Assumptions` lists, each on a line of its own; lines that go on are set in.

    Whatever else Coq takes on trust (an unchecked recursion, say) stands there too, as a sentence.
    """
    lines = [line for line in text.splitlines() if line and line[0] != " " and line != "Axioms:"]
    return sorted(line.partition(" :")[0].strip() for line in lines)


def read_definitions(text: str) -> dict[str, str]:
    """The definitions of a file as they stand there, without comments."""
    return {one[1]: one[0] for one in DEFINITION.finditer(proof_steps.COMMENT.sub("", text))}


def find_used(text: str, defined: dict[str, str]) -> dict[str, str]:
    """The definitions that a text needs, directly or through others, in the order of the files."""
    used, seen = _find_free(text), set[str]()
    while new := (used & defined.keys()) - seen:
        seen |= new
        used |= {word for name in new for word in _find_free(defined[name])}
    return {name: one for name, one in defined.items() if name in seen}


def _find_free(text: str) -> set[str]:
    """The words of a text but for those that it binds: a variable X is not a definition X.

    Examples:
        >>> sorted(_find_free("forall (X : matrix) (i : nat), let y := X i in y = f 2"))
        ['f', 'in', 'matrix', 'nat']
    """
    bound = {word for names in BOUND.findall(text) for word in WORD.findall(" ".join(names))}
    return set(WORD.findall(text)) - bound - {"forall", "exists", "fun", "let"}


def read_certificate(root: Path) -> Certificate:
    """What Coq said when it last checked the proofs."""
    empty = {"coq": "", "sources": {}, "theorems": {}, "steps": ""}
    return _read_json(root / CERTIFICATE) or empty


def read_steps(root: Path) -> proof_steps.Steps:
    """What was to be proved after each sentence, when Coq last checked the proofs."""
    path = root / STEPS
    return proof_steps.unpack(path.read_text("utf-8")) if path.is_file() else {}


def read_lines(root: Path) -> dict[str, proof_steps.Lines]:
    """The proof lines that stand beside derivations, by the names of the pages."""
    found = proof_steps.find_lines(sorted((root / FOLDER).glob("*.v")))
    return {chapter.replace("_", "-"): lines for chapter, lines in found.items()}


def find_faults(root: Path, pages: Sequence[Page]) -> Iterator[Failure]:
    """Boxes whose theorem is not certified, or was not compared with what they say now."""
    certificate, compared = read_certificate(root), _read_json(root / COMPARED)
    boxes = list(_find_proved(pages))
    if boxes and certificate["sources"] != hash_sources(root):
        message = "the proofs are others than those that Coq has checked: make proofs"
        yield Failure(str(CERTIFICATE), 1, message)
    steps = root / STEPS
    if boxes and certificate["steps"] != _hash(steps.read_text("utf-8") if steps.is_file() else ""):
        yield Failure(str(STEPS), 1, "these are not the steps of the certificate: make proofs")
    for page, box, name in boxes:
        if name not in certificate["theorems"]:
            yield Failure(page.path, box.line, f"proved: no theorem {name} is in {CERTIFICATE}")
        elif compared.get(name) != _stamp(certificate, page, box, name):
            message = f"{name} or this box has changed since they were compared: {COMPARED}"
            yield Failure(page.path, box.line, message)


def _find_proved(pages: Sequence[Page]) -> Iterator[tuple[Page, Box, str]]:
    for page in pages:
        for piece in page.pieces:
            if isinstance(piece, Box) and "proved" in piece.options:
                yield from ((page, piece, name) for name in piece.options["proved"].split())


def _stamp(certificate: Certificate, page: Page, box: Box, name: str) -> str:
    """Four hex digits of what a box says, of its theorem and of the definitions in it."""
    end = next(n for n, line in enumerate(page.lines[box.last_line :]) if line == box.slashes)
    said = "\n".join(page.lines[box.last_line : box.last_line + end]).strip()
    one = certificate["theorems"][name]
    parts = [box.title, said, one["statement"], *one["definitions"]]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:4]


def stamp_compared(root: Path) -> None:
    """Declare that every box says what its theorem says."""
    pages = [read_page(path, root) for path in sorted((root / "docs" / "en").glob("*.md"))]
    certificate = read_certificate(root)
    stamps = {name: _stamp(certificate, page, box, name) for page, box, name in _find_proved(pages)}
    _write_json(root / COMPARED, stamps)


def _read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")


def main(arguments: Sequence[str]) -> None:
    """Check and certify, or stamp."""
    root = Path.cwd()
    if "--compared" in arguments:
        return stamp_compared(root)
    if shutil.which("coqc") is None:
        raise SystemExit("Coq is missing: apt-get install coq libcoq-coquelicot")
    try:
        certificate, steps = check_proofs(root)
    except ProofError as error:
        raise SystemExit(str(error)) from error
    _write_json(root / CERTIFICATE, certificate)
    (root / STEPS).write_text(steps, "utf-8")
    print(f"Coq {certificate['coq']} has checked {len(certificate['theorems'])} theorems")
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
