"""What a formula means for those who listen: the intents of its MathML, and what is heard of it."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import lxml.html
import pytest
from lxml import etree

from attention_docs.site.render.formulas import Renderer
from tests import mathcat
from tests.conftest import ROOT, parse_html

RENDERER = Renderer()
READER = ROOT / "tests" / "spoken.mjs"


def find_meaning(element: Any) -> str:
    """What an element means: its intent with the meanings of its parts in square brackets, or what
    stands in it."""
    parts = {one.get("arg"): find_meaning(one) for one in element}
    if intent := element.get("intent"):
        brackets = intent.translate(str.maketrans("()", "[]"))
        return re.sub(r"\$([\w-]+)", lambda name: parts[name[1]], brackets)
    return (element.text or "").strip() + "".join(find_meaning(one) for one in element)


@pytest.mark.parametrize(
    ("tex", "meaning"),
    [
        (r"QK^\top", "Qtranspose[K]"),
        (r"W_K^\top", "transpose[indexed-by:infix[W,K]]"),
        (r"(X W_K)^\top", "transpose[(XWK)]"),
        ("W_Q^r", "indexed-by:infix[W,Q,r]"),
        ("W_K^{r'}", "indexed-by:infix[W,K,r′]"),
        (r"\pi^*", "πstar"),
        (r"A \odot B", "Aelementwise-productB"),
        (r"\lceil n/r \rceil", "ceiling[n/r]"),
        ("t = [x, 0]", "t=row[x,0]"),
        ("[1, 2, 3]", "row[1,2,3]"),
        ("[X; T]", "[X;T]"),
        ("d_k^2", "dk2"),
        (r"\lVert q \rVert^2", "norm[q]2"),
        (r"\lVert q - k \rVert", "norm[q−k]"),
        (r"\lvert x \rvert", "absolute-value[x]"),
        (r"\lvert A \rvert", "cardinality[A]"),
        (r"\mathrm{E}[q \cdot k]", "expectation[dot-product:infix[q,k]]"),
        (r"\operatorname{Var}(x)", "variance[x]"),
        (
            r"\operatorname{softmax}\left(\frac{QK^\top}{\sqrt{d_k}}\right)V",
            "softmax[(Qtranspose[K]dk)]V",
        ),
        (r"f(x) + n(n - 1)", "f[x]+n(n−1)"),
        (r"2 \cdot 3", "2⋅3"),  # a product of numbers
        ("P(b | a)", "P[(bgivena)]"),
        *[
            (rf"{name}(p \,{bar}\, q_S)", "K-L-divergence[(pfromqS)]")
            for name in ("D", r"\operatorname{KL}")
            for bar in (r"\|", r"\Vert", r"\parallel")
        ],
        (r"\frac{1}{|A|} |s|", "1cardinality[A]absolute-value[s]"),
        (r"|x|^2 \le \lVert k \rVert", "absolute-value[x]2≤norm[k]"),
        ("D(p)", "D(p)"),
        (r"\{1, 2\}", "set[1,2]"),
    ],
)
def test_a_formula_says_what_it_means(tex: str, meaning: str) -> None:
    assert find_meaning(lxml.html.fragment_fromstring(RENDERER.render(tex, False))) == meaning


@pytest.mark.site
def test_every_intent_names_parts_of_its_own(site: Path) -> None:
    """Each name with $ is a child, and each child with a name is meant."""
    meant = 0
    for page in sorted(site.glob("*/index.html")):
        for element in parse_html(page).xpath("//math//*[@intent or *[@arg]]"):
            asked = sorted(one[1] for one in re.findall(r"\$\w", element.get("intent", "")))
            assert asked == sorted(filter(None, (one.get("arg") for one in element))), page
            meant += 1
    assert meant > 1000


HEARD = tomllib.loads(mathcat.TABLE.read_text())


@pytest.mark.parametrize("tex", HEARD)
def test_mathcat_has_read_what_the_site_writes(tex: str) -> None:
    """A new one is asked as tests/mathcat.py says."""
    assert mathcat.make_digest(tex) == HEARD[tex][0], "ask MathCAT again: python -m tests.mathcat"


def test_mathcat_says_no_sign_in_place_of_a_meaning() -> None:
    """What it said of these formulas without intents, or with the wrong ones."""
    for tex, (_, said) in HEARD.items():
        wrong = {
            "down tack",
            "interval",
            "determinant",
            "to the r-th",
            "superscript times",
            "indexed by of",
        }
        assert not [one for one in wrong if one in said], tex
    assert len(HEARD) == mathcat.IN_TABLE


@pytest.mark.site
@pytest.mark.needs("speech")
def test_speech_rule_engine_says_no_sign_in_place_of_a_meaning(site: Path) -> None:
    """It reads no intents; of the frequent formulas, and of all that transpose."""
    counts: Counter[str] = Counter()
    formulas: dict[str, str] = {}
    for page in sorted(site.rglob("index.html")):
        for element in parse_html(page).iter("math"):
            if tex := element.get("data-tex"):
                counts[tex] += 1
                text = etree.tostring(element, encoding="unicode", with_tail=False)
                formulas.setdefault(tex, text)
    chosen = [tex for tex, _ in counts.most_common(300)] + [one for one in counts if "top" in one]
    asked = [formulas[one] for one in dict.fromkeys(chosen)]
    done = subprocess.run(
        ["node", str(READER)],
        cwd=ROOT,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    said = dict(zip(asked, json.loads(done.stdout), strict=True))
    assert len(set(said.values())) > 300
    assert not [one for one in said.items() if "down tack" in one[1]]
