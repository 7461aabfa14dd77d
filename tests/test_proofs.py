"""Results that a machine has proved: the certificate holds, and nothing slips past it."""

from __future__ import annotations

import hashlib
import json
import shutil
from functools import cache
from pathlib import Path

import pytest

from attention_docs.site import proof_steps, proofs
from attention_docs.site.publish import proof_goals
from attention_docs.site.read.reader import read_page
from attention_docs.site.read.settings import read_settings
from attention_docs.site.render.derivations import add_proof_lines
from tests.conftest import LANGUAGES, ROOT, find_page_folder, parse_html

needs_coq = pytest.mark.needs("coq")
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
    (tmp_path / proofs.STEPS).write_text("{}")
    certificate["steps"] = hashlib.sha256(b"{}").hexdigest()
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


def test_steps_that_are_not_those_of_the_certificate(project):
    (project / proofs.STEPS).write_text('{"a": {}}')
    assert "steps.json" in find_faults(project)


@pytest.mark.parametrize(
    ("field", "value"), [("statement", "forall y"), ("definitions", ["Definition thrice"])]
)
def test_another_theorem_under_the_same_name(project, field, value):
    change_certificate(project, field, value)
    assert "has changed since they were compared" in find_faults(project)


def test_a_box_reworded(project):
    write_box(project, "a.shift", "Twice a number is more.")
    assert "has changed since they were compared" in find_faults(project)


def test_a_variable_is_no_definition_of_its_name():
    defined = {
        "X": "Definition X : matrix := rows [[1]].",
        "rows": "Definition rows (l : list (list R)) : matrix := l.",
        "first": "Definition first (X : matrix) : R := X 0 0.",
    }
    assert list(proofs.find_used("forall X : matrix, first X = 1", defined)) == ["first"]
    assert list(proofs.find_used("first X = 1", defined)) == ["X", "rows", "first"]


@pytest.fixture
def coq_project(project) -> Path:
    shutil.copy(ROOT / proofs.FOLDER / "Basics.v", project / proofs.FOLDER)
    return project


def rewrite(root: Path, old: str, new: str) -> None:
    assert old in FIRST
    (root / proofs.FOLDER / "a.v").write_text(FIRST.replace(old, new))


@needs_coq
def test_what_the_kernel_says(coq_project):
    certificate, steps = proofs.check_proofs(coq_project)
    got = certificate["theorems"]["a.shift"]
    assert got["statement"] == "forall x : R, 0 < x -> x < twice x"
    assert got["definitions"] == ["Definition twice (x : R) : R := 2 * x."]
    said, *sentences = proof_steps.unpack(steps)["a"]["shift"]
    assert said[0] == "Theorem shift : forall x : R, 0 < x -> x < twice x."
    line = "=" * 28
    assert sentences == [
        ("intros.", f"  x : R\n  H : 0 < x\n  {line}\n  x < twice x"),
        ("unfold twice.", f"  x : R\n  H : 0 < x\n  {line}\n  x < 2 * x"),
        ("lra.", "No more goals."),
    ]


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
    certificate, steps = proofs.check_proofs(ROOT)
    assert certificate == proofs.read_certificate(ROOT)
    assert steps == (ROOT / proofs.STEPS).read_text("utf-8")


def test_lines_of_a_derivation(tmp_path):
    path = tmp_path / "a.v"
    path.write_text(
        "Proof. intro x.\n  first; (* comment *)  (* sum: 1 *)\n    [more|].  (* sum: 1 *)\n"
        "  second.  (* sum: 2 *)\n"
    )
    lines = proof_steps.find_lines([path])
    assert lines == {"a": {"sum": ["first; (* comment *)\n[more|].", "second."]}}


@pytest.mark.parametrize("proof", [[], ["one."], ["one.", "two.", "three."]])
def test_a_derivation_and_its_proof_have_as_many_lines(proof):
    rows = '<div class="lines"><div class="step">a</div><div class="step">b</div></div>'
    with pytest.raises(ValueError, match=f"has 2 lines, its proof has {len(proof)}"):
        add_proof_lines(rows, proof)


RESULTS = [
    (source.stem, one.id, dict(one.options))
    for source in sorted((ROOT / "docs" / "en").glob("*.md"))
    for one in read_page(source, ROOT).passages
    if one.kind == "result"
]


def test_every_result_is_proved_or_says_why_not():
    reasons = {f"{slug}#{box}": one.get("unproved") for slug, box, one in RESULTS}
    unclear = [f"{s}#{b}" for s, b, one in RESULTS if ("proved" in one) == ("unproved" in one)]
    assert unclear == []
    first_part = read_settings(ROOT).navigation.path
    open_ = [place for place, why in reasons.items() if why == "open"]
    assert [place for place in open_ if place.partition("#")[0] in first_part] == []
    assert sum("proved" in one for *_, one in RESULTS) >= 60


@cache
@cache
def read_sentences(folder: Path) -> dict[str, list[str]]:
    """The lines of each proof on the page of proofs, as everybody has them, by its address."""
    found = {}
    for proof in parse_html(folder / "index.html").xpath("//*[@class='proof-steps']/pre"):
        (address,) = proof.xpath("ancestor::*[@id][1]/@id")
        assert address not in found
        found[address] = [line.strip() for line in proof.text_content().splitlines()]
    return found


def list_sentences(name: str, known: proof_steps.Steps) -> list[str]:
    """What Coq reads from the theorem to the end of its proof."""
    chapter, _, theorem = name.partition(".")
    said, *steps = (one for one, _ in known[chapter][theorem])
    return [line.strip() for line in "\n".join([said, "Proof.", *steps, "Qed."]).splitlines()]


def test_goals_that_a_page_loads_are_those_of_the_certificate(site):
    """One file a chapter; together they are what Coq said."""
    paths = sorted((site / proof_goals.FOLDER).glob("*.json"))
    packed = json.dumps({path.stem: json.loads(path.read_text("utf-8")) for path in paths})
    assert proof_steps.unpack(packed) == proofs.read_steps(ROOT)
    assert max(path.stat().st_size for path in paths) < 250_000
    for lang in LANGUAGES:
        page = (site if lang == LANGUAGES[0] else site / lang) / "proofs" / "index.html"
        assert page.stat().st_size < 1_000_000


def test_coq_lines_stand_below_the_lines_of_the_derivation(site):
    lines = [one for proof in proofs.read_lines(ROOT)["scaling"].values() for one in proof]
    for lang in LANGUAGES:
        tree = parse_html(find_page_folder(site, lang, "scaling") / "index.html")
        shown = tree.xpath("//*[contains(@class, 'formula')]//code[@class='coq']")
        assert sorted(one.text_content() for one in shown) == sorted(lines)
        assert len(shown) == 18
        rows = [one for one in shown if one.getparent().get("class") == "step"]
        assert [len(one.getparent().find_class("coq")) for one in rows] == [1] * 16
        assert tree.xpath("//label[@class='coq-switch']/input[@type='checkbox']")


def test_readers_see_the_statement_of_every_theorem(site):
    theorems, steps = proofs.read_certificate(ROOT)["theorems"], proofs.read_steps(ROOT)
    shown = set()
    for source in sorted((ROOT / "docs" / "en").glob("*.md")):
        passages = [(one.id, dict(one.options)) for one in read_page(source, ROOT).passages]
        boxes = [(name, options["proved"]) for name, options in passages if "proved" in options]
        for lang in LANGUAGES if boxes else ():
            folder = find_page_folder(site, lang, "proofs")
            tree = parse_html(find_page_folder(site, lang, source.stem) / "index.html")
            for box, names in boxes:
                (place,) = tree.xpath(f"//*[@id='{box}']")
                assert place.find_class("machine")
                links = place.xpath(".//a[contains(@href, 'proofs/#')]/@href")
                for name, link in zip(names.split(), links, strict=True):
                    assert theorems[name]["statement"] in place.text_content()
                    address = link.partition("#")[2]
                    assert read_sentences(folder)[address] == list_sentences(name, steps)
                    shown.add(name)
    assert shown == theorems.keys()
