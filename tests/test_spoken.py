"""What a formula means for those who listen: its intents, and what is said of it."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from attention_docs.site.render.formulas import Renderer
from tests.conftest import parse_html
from tests.spoken import (
    INTENTS,
    TABLE,
    list_formulas,
    parse,
    speak,
    speak_with_engine,
)

RENDERER = Renderer()
FREQUENT = 100  # of the formulas must be in the table, which has more: pages change


def read_table() -> dict[str, dict[str, str]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


@cache
def read_formulas(site: Path) -> tuple[Counter[str], dict[str, str]]:
    return list_formulas(site)


@pytest.mark.parametrize(
    ("tex", "english", "chinese"),
    [
        (r"QK^\top", "Q K transpose", "Q K 的转置"),
        (r"W_K^\top", "W sub K transpose", "W 下标 K 的转置"),
        (
            r"(X W_K)^\top",
            "open paren X W sub K close paren transpose",
            "左括号 X W 下标 K 右括号 的转置",
        ),
        ("W_Q^r", "W sub Q sub r", "W 下标 Q 下标 r"),
        ("d_k^2", "d sub k squared", "d 下标 k 的平方"),
        (r"\lVert q \rVert^2", "norm of q squared", "q 的模 的平方"),
        (r"\lVert q - k \rVert", "norm of q minus k end norm", "左括号 q 减 k 右括号 的模"),
        (r"\lvert x \rvert", "absolute value of x", "x 的绝对值"),
        (r"\lvert A \rvert", "cardinality of A", "A 的元素个数"),
        (r"\mathrm{E}[q \cdot k]", "expectation of q dot product k", "q 点乘 k 的期望"),
        (r"\operatorname{Var}(x)", "variance of x", "x 的方差"),
        (
            r"\operatorname{softmax}\left(\frac{QK^\top}{\sqrt{d_k}}\right)V",
            "softmax of open paren fraction Q K transpose over square root of d sub k end fraction"
            " close paren V",
            "softmax 作用于 左括号 分数 根号 d 下标 k 分之 Q K 的转置 右括号 V",
        ),
        (r"f(x) + n(n - 1)", "f of x plus n open paren n minus 1 close paren", None),
        (r"2 \cdot 3", "2 times 3", "2 乘 3"),  # a product of numbers
        (r"P(b | a)", "P of open paren b given a close paren", "P 作用于 左括号 b 给定 a 右括号"),
        *[
            (
                rf"{name}(p \,{bar}\, q_S)",
                "K L divergence of open paren p from q sub S close paren",
                "左括号 p 相对于 q 下标 S 右括号 的 KL 散度",
            )
            for name in ("D", r"\operatorname{KL}")
            for bar in (r"\|", r"\Vert", r"\parallel")
        ],
        (
            r"\frac{1}{|A|} |s|",
            "fraction 1 over cardinality of A end fraction absolute value of s",
            None,
        ),
        (
            r"|x|^2 \le \lVert k \rVert",
            "absolute value of x squared is less than or equal to norm of k",
            None,
        ),
        ("D(p)", "D open paren p close paren", None),
        (r"\{1, 2\}", "set 1 , 2", "集合 1 , 2"),
    ],
)
def test_a_formula_is_heard_as_it_is_meant(tex: str, english: str, chinese: str | None) -> None:
    tree = parse(RENDERER.render(tex, False))
    assert speak(tree, "en") == english
    assert chinese is None or speak(tree, "zh") == chinese


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


@pytest.mark.site
def test_the_most_frequent_formulas_are_heard_as_reviewed(site: Path) -> None:
    counts, formulas = read_formulas(site)
    table = read_table()
    frequent = [tex for tex, _ in counts.most_common(FREQUENT)]
    assert not [tex for tex in frequent if tex not in table], "write tests/spoken.toml anew"
    for tex, wanted in table.items():
        if tex in formulas:
            tree = parse(formulas[tex])
            assert {lang: speak(tree, lang) for lang in INTENTS} == {
                lang: wanted[lang] for lang in INTENTS
            }, tex


@pytest.mark.site
@pytest.mark.needs("speech")
def test_speech_rule_engine_says_no_sign_in_place_of_a_meaning(site: Path) -> None:
    """It reads no intents; what it says of the frequent formulas is in the table."""
    counts, formulas = read_formulas(site)
    chosen = [tex for tex, _ in counts.most_common(300)] + [one for one in counts if "top" in one]
    chosen = list(dict.fromkeys([*chosen, *filter(formulas.get, read_table())]))
    said = dict(zip(chosen, speak_with_engine([formulas[one] for one in chosen]), strict=True))
    assert len(set(said.values())) > 300
    assert not [one for one in said.items() if "down tack" in one[1]]
    table = {tex: one["engine"] for tex, one in read_table().items() if tex in formulas}
    assert {tex: said[tex] for tex in table} == table
