"""Results that a machine has proved: the certificate holds, and nothing slips past it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import lxml.html
import pytest

from attention_docs.site import proofs
from attention_docs.site.read.reader import read_page
from tests.conftest import LANGUAGES, ROOT

COQ = shutil.which("coqc") is not None or bool(os.environ.get("REQUIRE_COQ"))
needs_coq = pytest.mark.skipif(
    not COQ, reason="Coq is missing: apt-get install coq libcoq-coquelicot"
)
BOX = """# A {{ #a }}

/// result | Shifted
    id: result-shift
    relation: "="
    proof: a
    check: b
    test: test_c
    proved: {}

{}
///
"""
FIRST = """From Attention Require Import Basics.
Definition twice (x : R) : R := 2 * x.
Theorem shift : forall x : R, 0 < x -> x < twice x.
Proof. intros. unfold twice. lra. Qed.
"""


@pytest.fixture
def project(tmp_path) -> Path:
    """A certificate of one theorem, as `check_proofs` writes it, and the box that names it."""
    folder = tmp_path / proofs.FOLDER
    folder.mkdir(parents=True)
    (folder / "a.v").write_text(FIRST)
    said = {"statement": "forall x", "definitions": ["Definition twice"], "axioms": []}
    certificate = {"coq": "8", "sources": proofs.hash_sources(tmp_path)}
    certificate["theorems"] = {"a.shift": said}
    (tmp_path / proofs.CERTIFICATE).write_text(json.dumps(certificate))
    (tmp_path / "docs" / "en").mkdir()
    write_box(tmp_path, "a.shift", "Twice a positive number is more.")
    proofs.stamp_compared(tmp_path)
    return tmp_path


def write_box(root: Path, theorem: str, said: str) -> None:
    (root / "docs" / "en" / "a.md").write_text(BOX.format(theorem, said))


def find_faults(root: Path) -> str:
    page = read_page(root / "docs" / "en" / "a.md", root)
    return "\n".join(map(str, proofs.find_faults(root, [page])))


def change_certificate(root: Path, field: str, value: object) -> None:
    path = root / proofs.CERTIFICATE
    certificate = json.loads(path.read_text())
    certificate["theorems"]["a.shift"][field] = value
    path.write_text(json.dumps(certificate))


def test_a_certified_theorem_has_no_fault(project):
    assert find_faults(project) == ""


def test_an_unknown_theorem(project):
    write_box(project, "a.shifted", "Twice a positive number is more.")
    assert "docs/en/a.md:3: proved: no theorem a.shifted" in find_faults(project)


def test_a_changed_source_without_a_certificate(project):
    with (project / proofs.FOLDER / "a.v").open("a") as file:
        file.write("(* more *)\n")
    assert "make proofs" in find_faults(project)


@pytest.mark.parametrize(
    ("field", "value"), [("statement", "forall y"), ("definitions", ["Definition thrice"])]
)
def test_another_theorem_under_the_same_name(project, field, value):
    change_certificate(project, field, value)
    assert "has changed since they were compared" in find_faults(project)


def test_a_box_reworded(project):
    write_box(project, "a.shift", "Twice a number is more.")
    assert "has changed since they were compared" in find_faults(project)


@pytest.fixture
def coq_project(project) -> Path:
    shutil.copy(ROOT / proofs.FOLDER / proofs.BASE, project / proofs.FOLDER)
    return project


def rewrite(root: Path, old: str, new: str) -> None:
    assert old in FIRST
    (root / proofs.FOLDER / "a.v").write_text(FIRST.replace(old, new))


@needs_coq
def test_what_the_kernel_says(coq_project):
    got = proofs.check_proofs(coq_project)["theorems"]["a.shift"]
    assert got["statement"] == "forall x : R, 0 < x -> x < twice x"
    assert got["definitions"] == ["Definition twice (x : R) : R := 2 * x."]


@needs_coq
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0 < x -> x", "x", "Cannot find witness"),  # a condition dropped
        ("unfold twice. lra. Qed.", "Admitted.", "a.shift rests on a.shift"),
        ("unfold twice. lra. Qed.", "apply more. Qed.", "more was not found"),
    ],
)
def test_coq_refuses(coq_project, old, new, message):
    rewrite(coq_project, old, new)
    with pytest.raises(proofs.ProofError, match=message):
        proofs.check_proofs(coq_project)


@needs_coq
def test_an_axiom_of_its_own(coq_project):
    assumed = FIRST.replace("Theorem", "Axiom more : forall x : R, x < twice x.\nTheorem")
    text = assumed.replace("unfold twice. lra. Qed.", "apply more. Qed.")
    (coq_project / proofs.FOLDER / "a.v").write_text(text)
    with pytest.raises(proofs.ProofError, match=r"a\.shift rests on .*more"):
        proofs.check_proofs(coq_project)


@needs_coq
def test_coq_confirms_the_certificate():
    """All proofs are checked again from nothing."""
    assert proofs.check_proofs(ROOT) == proofs.read_certificate(ROOT)


def test_readers_see_the_statement_of_every_theorem(site):
    theorems = proofs.read_certificate(ROOT)["theorems"]
    shown = set()
    for source in sorted((ROOT / "docs" / "en").glob("*.md")):
        passages = [(one.id, dict(one.options)) for one in read_page(source, ROOT).passages]
        boxes = [(name, options["proved"]) for name, options in passages if "proved" in options]
        for lang in LANGUAGES if boxes else ():
            folder = site if lang == LANGUAGES[0] else site / lang
            tree = lxml.html.parse(folder / source.stem / "index.html")
            for box, names in boxes:
                (place,) = tree.xpath(f"//*[@id='{box}']")
                assert place.find_class("machine")
                for name in names.split():
                    assert theorems[name]["statement"] in place.text_content()
                    shown.add(name)
    assert shown == theorems.keys()
