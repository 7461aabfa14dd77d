"""What is typed as an answer: what it is read as, and which answers are right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import cos, e, exp, isclose, log, pi, sqrt
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from py_mini_racer import MiniRacer

from attention_docs.locales import read_locale
from tests.conftest import BUILT, SLUGS, WRITTEN, find_page_folder, parse_html, report

SCRIPT = Path(__file__).parents[1] / "docs" / "assets" / "answers.js"


@cache
def load_script() -> MiniRacer:
    """The script without its exports: V8 alone has no modules."""
    engine = MiniRacer()
    engine.eval(SCRIPT.read_text(encoding="utf-8").replace("export ", ""))
    engine.eval("const values = (rows) => rows.map((row) => row.map((one) => one.value))")
    engine.eval("const readAll = (text) => read(text).map(values)")
    engine.eval(
        "const judgeAll = (all) => all.map(([a, exact, text]) => judge(a, want(exact, text)))"
    )
    engine.eval("const judgeIn = (a, wanted, label) => judge(a, want(wanted, wanted, label))")
    return engine


def judge(*answers: tuple[str, str, str]) -> list[str]:
    """The verdict on each answer, with the exact value (JSON) and the printed one."""
    return list(load_script().call("judgeAll", answers))


# What is typed, and the number or the rows of numbers that it is.
READ: list[tuple[str, Any]] = [
    # numerals
    ("0.25", 0.25), (".25", 0.25), ("5.", 5), ("007", 7), ("+3", 3), ("-3", -3), ("−3", -3),
    ("–3", -3), ("—3", -3), ("‑3", -3), ("‐3", -3), ("－3", -3), ("- 3", -3), ("0.50", 0.5),
    ("３", 3), ("０．３", 0.3), ("－１", -1), ("1。", 1), ("0.25.", 0.25), ("0。25", 0.25),
    ("0.333…", 0.333), ("0.333...", 0.333), ("128_000", 128000), ("+0.5", 0.5),
    # powers of ten
    ("9.44E-2", 0.0944), ("9.44e-2", 0.0944), ("9.44e-02", 0.0944), ("1e-3", 0.001), ("3e5", 3e5),
    ("3E5", 3e5), ("3e+5", 3e5), ("6.06208e8", 606208000), ("1E3", 1000), ("6 x 10^-3", 0.006),
    ("6x10^-3", 0.006), ("6 X 10^-3", 0.006), ("6×10^-3", 0.006), ("6·10⁻³", 0.006),
    ("6 × 10⁻³", 0.006), ("6*10**-3", 0.006), ("6*10^(-3)", 0.006), ("9.44×10⁻²", 0.0944),
    ("10⁻³", 0.001), ("10^3", 1000), ("−6 × 10^−3", -0.006),
    # fractions and mixed numbers
    ("1/4", 0.25), ("１／４", 0.25), ("1 / 4", 0.25), ("1÷4", 0.25), ("1∕4", 0.25), ("1⁄4", 0.25),
    ("½", 0.5), ("⅙", 1 / 6), ("¾", 0.75), ("⅔", 2 / 3), ("1½", 1.5), ("2 ½", 2.5), ("-½", -0.5),
    ("2^½", sqrt(2)), ("-2**½", -sqrt(2)), ("4^−½", 0.5), ("√½", sqrt(0.5)), ("66⅔%", 2 / 3),
    ("66 2/3 %", 2 / 3), ("-1½ million", -1.5e6), ("nine sixteenths", 9 / 16), ("9:16", 9 / 16),
    ("5.5 : 1", 5.5), ("0x100", 256), (r"0.\dot6", 2 / 3), ("1 1/2", 1.5), ("-1 1/2", -1.5),
    ("2 47/64", 175 / 64), ("3/16", 0.1875), ("-1/6", -1 / 6), ("1/2/2", 0.25),
    ("Fraction(1, 4)", 0.25), ("(1/2)/(1/3)", 1.5), ("63/64", 63 / 64),
    # percent and large numbers
    ("25%", 0.25), ("25 %", 0.25), ("25％", 0.25), ("33.3 %", 0.333), ("25 percent", 0.25),
    ("128,000", 128000), ("128，000", 128000), ("23,835,648", 23835648), ("1 048 576", 1048576),
    ("1\u202f048\u202f576", 1048576), ("1'048'576", 1048576), ("24.576 million", 24576000),
    ("2457.6 万", 24576000), ("1.28 亿", 128000000), ("24.576 MB", 24576000), ("−128,000", -128000),
    ("268.435.456", 268435456), ("6‰", 0.006), ("16 times 16", 256), ("1.234.56", None),
    # a comma for a point, where it can be nothing else
    ("0,25", 0.25), ("0,263", 0.263), ("-0,5", -0.5), ("3,5379", 3.5379), ("５，５", 5.5),
    # tenths as Chinese counts them, and digits that repeat
    ("五成", 0.5), ("3成", 0.3), ("七点五成", 0.75), ("8折", 0.8), ("约 3 成", 0.3), ("成为 3", 3),
    ("0.(3)", 1 / 3), ("1.1(6)", 7 / 6), (r"0.\overline{27}", 3 / 11), (r"-0.\bar{3}", -1 / 3),
    # as it comes from elsewhere
    ("0.5\u200b", 0.5), ("\ufeff0.5", 0.5), ("ー1.5", -1.5), (r"{1 \over 2}", 0.5),
    ('"0.25","0.75"', [0.25, 0.75]), ("0.25|0.75", [0.25, 0.75]), ("[1, 2].T", [1, 2]),
    # roots, powers and functions
    ("√2", sqrt(2)), ("2√3", 2 * sqrt(3)), ("√(1/2)", sqrt(0.5)), ("√2/2", sqrt(2) / 2),
    ("sqrt(2)", sqrt(2)), ("sqrt 2", sqrt(2)), ("Sqrt(2)", sqrt(2)), ("-sqrt(2)", -sqrt(2)),
    ("np.sqrt(2)", sqrt(2)), ("math.sqrt(2)/2", sqrt(2) / 2), ("2^0.5", sqrt(2)),
    ("2**.5", sqrt(2)), ("e", e), ("e^-2", exp(-2)), ("e^(-2)", exp(-2)), ("e⁻²", exp(-2)),
    ("exp(-2)", exp(-2)), ("np.exp(-2)", exp(-2)), ("math.e**-2", exp(-2)),
    ("e^2/(e^2+e^4)", exp(2) / (exp(2) + exp(4))), ("(3e + 5)/(e + 1)", (3 * e + 5) / (e + 1)),
    ("(3e+5)/(e+1)", (3 * e + 5) / (e + 1)), ("(5+3e)/(1+e)", (3 * e + 5) / (e + 1)),
    ("(3*e+5)/(e+1)", (3 * e + 5) / (e + 1)), ("3e + 5", 3 * e + 5), ("3e", 3 * e), ("2 e", 2 * e),
    ("1/(1+e)", 1 / (1 + e)), ("ln 2", log(2)), ("ln2", log(2)), ("ln(2)", log(2)),
    ("log(2)", log(2)), ("np.log(2)", log(2)), ("log2(8)", 3), ("log10(1000)", 3),
    ("ln(8/3)", log(8 / 3)), ("ln 8/3", log(8 / 3)), ("cos(2)+cos(0.2)", cos(2) + cos(0.2)),
    ("cos 2 + cos 0.2", cos(2) + cos(0.2)), ("cos 2 + cos 1/5", cos(2) + cos(0.2)),
    ("np.cos(2) + np.cos(.2)", cos(2) + cos(0.2)), ("cos 2", cos(2)), ("cos2", cos(2)),
    ("sin(pi/2)", 1), ("pi", pi), ("2π", 2 * pi), ("π/2", pi / 2), ("2 pi", 2 * pi), ("np.pi", pi),
    ("|", None), ("abs(-3)", 3), ("tanh(0)", 0), ("2(3+1)", 8), ("(1+2)(3+4)", 21), ("-2^2", -4),
    ("2^3^2", 512), ("2^-1", 0.5), ("1-2-3", -4), ("1 - 2", -1), ("3 - -2", 5), ("2*-3", -6),
    ("(((5)))", 5), ("1e-3/2", e - 1.5), ("1.5e-3 * 2", 0.003), ("1e-05 + 1", 1.00001),
    ("3E-5/3", 1e-5),
    # TeX
    (r"\frac{1}{4}", 0.25), (r"\dfrac{1}{4}", 0.25), (r"\tfrac14", 0.25), (r"\frac14", 0.25),
    (r"$\frac{1}{4}$", 0.25), (r"\(\frac{1}{4}\)", 0.25), (r"-\frac{1}{6}", -1 / 6),
    (r"\sqrt{2}", sqrt(2)), (r"\sqrt2", sqrt(2)), (r"2\sqrt{3}", 2 * sqrt(3)), (r"\sqrt[3]{8}", 2),
    (r"9.44\times10^{-2}", 0.0944), (r"6 \cdot 10^{-3}", 0.006), (r"25\%", 0.25),
    (r"\ln 2", log(2)), (r"\frac{e}{1+e}", e / (1 + e)), (r"\left(\frac12\right)", 0.5),
    (r"\mathrm{e}^{-2}", exp(-2)), (r"\frac{\sqrt{2}}{2}", sqrt(2) / 2), (r"\exp(-2)", exp(-2)),
    (r"\pi", pi), ("$3$", 3),
    # words around a number
    ("x = 3", 3), ("≈ 3", 3), ("= 3", 3), ("1/3 ≈ 0.333", 1 / 3), (r"x \approx 3", 3), ("~3", 3),
    ("ℓ = 2", 2), ("答案：3", 3), ("answer: 3", 3), ("8 tokens", 8), ("8 tokens.", 8),
    ("24576000 bytes", 24576000), ("24576000 字节", 24576000), ("10个", 10), ("30 tokens", 30),
    ("np.float64(0.25)", 0.25), ("float(3)", 3), ("torch.tensor(7)", 7),
    # numbers in words
    ("three", 3), ("Three heads.", 3), ("the answer is twelve", 12), ("zero", 0), ("ninety", 90),
    ("twenty-four", 24), ("two hundred and fifty-six", 256), ("one hundred million", 1e8),
    ("sixty-five thousand five hundred and thirty-six", 65536), ("minus three", -3), ("half", 0.5),
    ("a third", 1 / 3), ("two thirds", 2 / 3), ("three quarters of it", 0.75),
    ("one and a half", 1.5), ("three point five", 3.5), ("[one, two]", [1, 2]),
    ("one, two and three", [1, 2, 3]), ("two", 2), ("三", 3), ("十二", 12), ("二十四个", 24),
    ("一百二十八", 128), ("两千零四十八", 2048), ("一万二千", 12000), ("六万五千五百三十六", 65536),
    ("一共三个", 3), ("第三个", 3), ("负三", -3), ("三分之一", 1 / 3), ("四分之三", 0.75),
    ("一半", 0.5), ("三点五", 3.5), ("百分之三十", 0.3), ("萬", 10000), ("兩個", 2),
    ("一、二、三", [1, 2, 3]),
    # lists
    ("[1, 2]", [1, 2]), ("1, 2", [1, 2]), ("(1, 2)", [1, 2]), ("{1, 2}", [1, 2]), ("1,2,", [1, 2]),
    ("[1 2]", [1, 2]), ("1 2", [1, 2]), ("[1. 1. 1.]", [1, 1, 1]), ("[1., 1., 1.]", [1, 1, 1]),
    ("[1 1 1]", [1, 1, 1]), ("[ 1. -1.]", [1, -1]), ("1 -2", [1, -2]), ("-1 -2", [-1, -2]),
    ("[0.3 0.1 0.6]", [0.3, 0.1, 0.6]), ("0.3、0.1、0.6", [0.3, 0.1, 0.6]),
    ("[1e-3 2.e+00]", [0.001, 2]), ("【0.3，0.1，0.6】", [0.3, 0.1, 0.6]), ("（1，2）", [1, 2]),
    ("［1，2］", [1, 2]), ("[1, 2].", [1, 2]),
    ("sqrt(2), 0, 0, -sqrt(2)", [sqrt(2), 0, 0, -sqrt(2)]), ("[0, sqrt(2)]", [0, sqrt(2)]),
    ("[√2 0 0 -√2]", [sqrt(2), 0, 0, -sqrt(2)]), ("[√2, 0, −√2]", [sqrt(2), 0, -sqrt(2)]),
    ("[1/(1+e), e/(1+e)]", [1 / (1 + e), e / (1 + e)]),
    ("1/(1+e), e/(1+e)", [1 / (1 + e), e / (1 + e)]), ("(1+2)/3, (3+4)/7", [1, 1]),
    ("(1, (2+3))", [1, 5]), ("1/2 1/3", [0.5, 1 / 3]), ("1 1/2, 2 1/3", [1.5, 7 / 3]),
    ("½, ⅓, ⅙", [0.5, 1 / 3, 1 / 6]), ("30%, 10%, 60%", [0.3, 0.1, 0.6]),
    ("np.array([1, 2])", [1, 2]), ("array([1., 2.], dtype=float32)", [1, 2]),
    ("torch.Size([8, 12, 1, 30])", [8, 12, 1, 30]), ("8×12×1×30", [8, 12, 1, 30]),
    ("8 x 12 x 1 x 30", [8, 12, 1, 30]), ("(8, 12, 1, 30)", [8, 12, 1, 30]), ("8*12", [8, 12]),
    ("0,3; 0,1; 0,6", [[0.3], [0.1], [0.6]]), ("0,3 0,1 0,6", [0.3, 0.1, 0.6]),
    ("shape: (2, 3)", [2, 3]), ("v = [1, 2]", [1, 2]), ("[1]", 1), ("(1,)", 1),
    ("[[1, 2]]", [1, 2]), (r"[\frac{1}{2}, \frac{1}{3}]", [0.5, 1 / 3]), (r"\{1, 2\}", [1, 2]),
    ("tensor([1, 2])", [1, 2]), ("0.3 | 0.1", [0.3, 0.1]), ("<1, 2>", [1, 2]), ("⟨1, 2⟩", [1, 2]),
    ("<1>", None), ("[[1,2],[3,4]]^T", [[1, 3], [2, 4]]), ("1, 2; [3, 4].T", [[1, 3], [2, 4]]),
    ("(1, 2)^T", [1, 2]), ("(1, 2)⊤", [1, 2]), ("(1, 2)'", [1, 2]), ("[1, 2]ᵀ", [1, 2]),
    # what Chinese writes in words
    ("2的10次方", 1024), ("2 的 10 次幂", 1024), ("2的−1次方", 0.5), ("3乘4", [3, 4]),
    ("-3/根号5", -3 / sqrt(5)), ("根号九分之一", 1 / 3), ("1除以4", 0.25), ("根5", sqrt(5)),
    ("5w", 50000), ("1.2 W", 12000), ("1.7乘以10的-1次方", 0.17), ("209万7152", 2097152),
    ("-6亿620.8万", -606208000), ("5万3 2万1", [50003, 20001]),
    ("第 1 个 0.3，第2个 0.7", [0.3, 0.7]), ("第一行 1,4；第二行 0,1", [1, 4, 0, 1]),
    ("第 2 个 0.7，第 1 个 0.3", [0.3, 0.7]), ("负的1.34", -1.34), ("零 点 5", None), ("1点5", 1.5),
    ("三分之一（0.333）", 1 / 3), ("≒0.5", 0.5), ("「0.5」", 0.5), ("\u202a0.5\u202c", 0.5),
    ("\u20661, 2\u2069", [1, 2]), ("要除以 30", None), ("2的平方", None), ("第3次方 8", None),
    # matrices
    ("[[1, 2], [3, 4]]", [[1, 2], [3, 4]]), ("1, 2; 3, 4", [[1, 2], [3, 4]]),
    ("[[1 2] [3 4]]", [[1, 2], [3, 4]]), ("[[1 2]\n [3 4]]", [[1, 2], [3, 4]]),
    ("((1,2),(3,4))", [[1, 2], [3, 4]]), ("(1,2),(3,4)", [[1, 2], [3, 4]]),
    ("1 2；3 4", [[1, 2], [3, 4]]), ("[1, 2; 3, 4]", [[1, 2], [3, 4]]),
    ("【【1，2】，【3，4】】", [[1, 2], [3, 4]]), ("[[1],[2]]", [[1], [2]]), ("1; 2", [[1], [2]]),
    ("[[1,2],[3,4],]", [[1, 2], [3, 4]]),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", [[1, 2], [3, 4]]),
    ("np.array([[1., 2.], [3., 4.]])", [[1, 2], [3, 4]]), ("[[1,2] [3,4]]", [[1, 2], [3, 4]]),
]  # fmt: skip
REFUSED = [
    "no one", "one more than three", "twice two", "three squared", "three or four", "third",
    "dozen", "two to three", "everyone", "none of the nine", "几百", "三百多", "三个半", "十几",
    "三到五", "三次方", "不到三", "", "a lot", "3+", "*3", "1/0", "0/0", "[", "]", "[1, 2", "1, 2]",
    "[1, 2)", "(1, 2]", "1,,2", ",1", "[]", "()", "[,]", "1 +", "--", "alert(1)", "window", "sqrt",
    "ln", "√", "sqrt(-1)", "ln(0)", "x", "cos(2 rad) + cos(0.2 rad)", "σ(−1), σ(1)",
    "1 : e, so 2, 3", "a: 2, b: f(3)", "[k2, k1] = [1, 2]", "-x = 3", "√x = 3", "1..2", "1.2.3",
    "1j", "3 + 4j", "inf", "nan", "∞", "[1, [2]", "2)(3", "(1)2", "e2", "5 or 6", "many tokens",
    "1e999", "\\", "\\frac{1}", "\\frac", "{1", "$", "%", "10 or more", "?", "=", "5分", "5毛",
    "五分", "3成的", "5 折以下", "0.5(", "ー", "[1, 2] + 1", "[1, 2]/2", "1;;2", "None", "True",
    "__proto__", "1 = ",
]  # fmt: skip


def test_the_table_is_long_enough_and_says_nothing_twice() -> None:
    typed = [*(text for text, _ in READ), *REFUSED]
    assert len(set(typed)) == len(typed) >= 200


@pytest.mark.parametrize(("typed", "wanted"), [*READ, *((text, None) for text in REFUSED)])
def test_an_answer_is_read_as_it_is_meant(typed: str, wanted: Any) -> None:
    readings = load_script().call("readAll", typed)
    if wanted is None:
        assert not readings
        return
    rows = wanted if isinstance(wanted, list) else [wanted]
    rows = rows if isinstance(rows[0], list) else [rows]
    assert any(_is_same(list(map(list, one)), rows) for one in readings), readings


def _is_same(rows: list[list[float]], wanted: list[list[float]]) -> bool:
    return [len(row) for row in rows] == [len(row) for row in wanted] and all(
        isclose(one, other, rel_tol=1e-12, abs_tol=1e-15)
        for row, own in zip(rows, wanted, strict=True)
        for one, other in zip(row, own, strict=True)
    )


THIRD, SEVENTHS = "0.3333333333", "[0.2857142857, 0, 0.7142857143]"
JUDGED = {  # by the exact value and the printed one: what is typed, by its verdict
    # words and signs around numbers
    ("[0.3, 0.1, 0.6]", "[0.3, 0.1, 0.6]"): {
        "right": ["0.3, 0.1 and 0.6", "a1 = 0.3, a_2 = 0.1, a3 = 0.6", "[0.3, 0.1, 0.6]^T"],
        "count": ["0.3, 0.1"],
    },
    ("-1.342", "-1.342"): {"right": ["-1,342", "minus 1.342", "负1.342", "约-1.342"]},
    ("8", "8"): {
        "right": ["x = 8", "2^3 = 8", "约8", "about 8", "8 bytes", "8 个"],
        "unread": ["8 hundred", "8 squared", "8 百", "8分之一", "8 ppm", "6~8", "x != 8", "x >= 8",
            "6=8", "8.4 ≈ 8", "8x", "8 halves", "8 minus"],
    },
    ("3", "3"): {
        "count": ["a: 2, b: 3"],
        "right": ["there are exactly 3 heads", "x₁ = 3", "‖x‖ = 3", "x[0] = 3", "a factor of 3",
            "3 or 3.0", "3 (= 2² − 1)", "3 (= 12·(1/4))", "3 (9/(1+2))", "3个（=√(9)）",
            "Out[3]: 3", "3rd", "3 months", "3 次加法", "3 parameters per head", "n = 3 heads",
            "3 of them", "yes, 3", "9/3 = 3", "3 s", "一共需要 3 次乘法", "有3个参数", "x₁为3",
            "每个头 3 个参数", "3 倍", "第 3 个"],
        "unread": ["3 to 4", "2x = 3", "3 halves", "3n", "3x + 1", "all but 3", "3 or so many as 4",
            "at least 3", "one more than 3", "x = 3 or x = -3", "2 + 2 = 3", "it went from 3 to 5",
            "3 → 4", "f(3)", "1/2:3", "3 doubled", "3 twice", "3 divided by ten", "3 fourths",
            "3 sixteenths", "3 factorial", "3 for two", "3 kilo", "3 bn", "3 basis points",
            "3 permille", "3 recurring", "double is 3", "its half is 3", "the negative is 3",
            "half = 3", "the opposite: 3", "3 翻倍", "3 加一", "3 乘二", "3 取反", "3 少一个",
            "3 次幂", "相反数是 3", "两倍是 3", "加一等于 3", "取负得 3", "难道是 3", "不止 3 个",
            "3 个以上", "至少 3 次", "3 多", "3 百", "3 分之 1", "3 到 5 个", "3 的平方"],
    },
    ("[0.25, -0.1666666667, -0.0833333333]", "[1/4, -1/6, -1/12]"): {"count": ["1/4,-1/6,-1/12,0"]},
    ("[0.3125, 48, 10]", "[0.3125, 48, 10]"): {
        "digits": ["0.3, 48, 10"],
        "right": ["0.31, 48, 10"],
    },
    # phrases: what leads, one value, what follows
    ("0.25", "0.25"): {
        "right": ["the answer is 0.25.", "It’s 0.25", "I think it is 0.25", "=0.25", "p is 0.25",
            "P(A) = 0.25", "w_{1,2} = 0.25", "=> 0.25", "**0.25**",
            "the weight of the third token is 0.25", "1/4 (a quarter)", "0.25 (25%)",
            "0.25 (= 1/4)", "1/4 = 25%", "0.25, or 1/4", "0.25, i.e. 1/4",
            "0.25 because all 4 scores are equal", "1/(1+3) = 1/4", "0.25 each", "答案是 0.25",
            "答：0.25", "所以答案是 0.25", "概率为 25%", "百分之 25", "1/4，即 0.25", "1/4 或 0.25",
            "0.25（四分之一）", "0.25，因为四个分数相等", r"\boxed{0.25}"],
        "unread": ["not 0.25", "it isn't 0.25", "0.25 is wrong", "more than 0.25", "> 0.25",
            "x ≠ 0.25", "between 0 and 0.25", "−0.25 to 0.25", "0.2 or 0.25", "0.25 or more",
            "±0.25", "1/4 or 0.3", "0.25 of 4", "0.25x", "0.25 squared", "0.3, not 0.25",
            "twice 0.25", "不是 0.25", "不到 0.25", "大于等于 0.25", "0.25 以上", "0 到 0.25",
            "0.25 的平方", "0.25 不对", "除了 0.25", "1 减 0.25", "介于 0 和 0.25 之间",
            "0.25 ± 0.1"],
    },
    ("0.4226497308", "0.4226"): {
        "right": ["approx. 0.423", "w ≈ 0.423", "0.423 or so", "0.423 左右", "约等于 0.4226"],
    },
    ("0.6666666667", "2/3"): {
        "right": ["2/3 ≈ 0.67", "2/3，约 0.667", "2/3 or 0.667", "0.667", "0.6667", "66.7%", "2/3"],
        "unread": ["2/3 = 0.6"],
    },
    ("0.006", "0.0060"): {"right": ["6e-3 seconds", "6 × 10⁻³ (0.6 %)"]},
    ("23835648", "23,835,648"): {
        "right": ["23,835,648 (about 23.8 million)", "23,835,648"],
        "wrong": ["about 23.8 million", "23"],
    },
    ("[0.2, 0.8]", "[0.2, 0.8]"): {
        "right": ["w = [0.2, 0.8]", "the weights are 0.2 and 0.8", "w₁ = 0.2, w₂ = 0.8",
            "w2 = 0.8, w1 = 0.2", "first 0.2, second 0.8", "分别是 0.2 和 0.8",
            "第一个是 0.2，第二个是 0.8", "第一个0.2，第二个0.8", "第二个 0.8，第一个 0.2",
            "[1/5, 4/5] = [0.2, 0.8]", "key 2: 0.8, key 1: 0.2", "2nd: 0.8, 1st: 0.2",
            "b: 0.8, a: 0.2", "0.2 (= 1/(2+3)), 0.8", "[0.2, 0.8] (= [1/5, 4/(4+1)])"],
        "wrong": ["key 2: 0.2, key 1: 0.8", "2nd: 0.2, 1st: 0.8", "B = 0.2, A = 0.8",
            "0.2 (1/4), 0.8", "w2 = 0.2, w1 = 0.8", "second 0.2, first 0.8"],
        "unread": ["0.2, 0.8 (in reverse order)", "0.2, 0.8 反过来", "0.2 or 0.8",
            "0.2 到 0.8 之间", "[0.2, 0.8] or [0.8, 0.2]"],
        "count": ["w = [0.2, 0.8, 0]"],
    },
    ("[8, 12, 1, 30]", "[8, 12, 1, 30]"): {
        "right": ["the shape is 8 x 12 x 1 x 30", "batch 8, heads 12, queries 1, keys 30",
            "8 12 1 30", "8×12×1×30"],
        "wrong": ["9,13,2,31", "8,12,1,31", "7,11,0,29"],
        "count": ["8, 12, 30", "81230"],
    },
    ("[[1, 4, 2], [0, 1, 1]]", "[[1, 4, 2],\n [0, 1, 1]]"): {
        "right": ["row 2: 0 1 1; row 1: 1 4 2", "[[1,0],[4,1],[2,1]].T",
            "row 1: 1 4 2; row 2: 0 1 1", "1 4 2 0 1 1"],
        "wrong": ["row 2: 1 4 2; row 1: 0 1 1", "1, 4; 2, 0; 1, 1", "[[1],[4,2,0,1,1]]"],
        "transposed": ["[[1,4,2],[0,1,1]]^T", "1, 0; 4, 1; 2, 1"],
        "unread": ["[[1,4,2],[0,1,1]] transposed"],
    },
    # correct to the digits typed, with three or more
    (THIRD, "1/3"): {
        "right": ["1/3", "0.333", "0.3333", "33.3 %", "33.33%", "⅓", "0.333333333333", "0.33333334",
            "0.333…", "3.33e-1"],
        "digits": ["0.33", "0.3", "33%", "3e-1"],
        "rounded": ["0.334", "0.3334", "0.332"],
        "wrong": ["0.36"],
        "sign": ["-1/3"],
        "percent": ["33.3"],
        "unread": ["some"],
        "long": ["1" * 401],
    },
    ("2.734375", "175/64"): {
        "right": ["2.73", "2.734", "2.7344", "175/64", "2 47/64"],
        "wrong": ["3"],
        "rounded": ["2.74", "2.735"],
    },
    (SEVENTHS, "[0.2857, 0.0000, 0.7143]"): {"right": ["0.286, 0, 0.714", "2/7 0 5/7"]},
    ("0.0404", "0.0404"): {"right": ["0.0404", "4.04e-2", "4.04 × 10⁻²"]},
    ("[0.1482, 0.0404, 0.8114]", "[0.1482, 0.0404, 0.8114]"): {"right": ["0.148, 0.040, 0.811"]},
    ("0.009115", "0.0091"): {"right": ["0.0091", "0.00912", "9.12e-3", "0.912 %"]},
    ("1.0501", "1.05"): {"right": ["1.05"]},
    ("131.7", "131.7"): {"right": ["132"]},
    ("0.9996", "0.9996"): {"right": ["1.00"]},
    ("[0.6431, 0.0712, 0.0437, 0.242]", "[0.64, 0.07, 0.04, 0.24]"): {
        "right": ["0.64, 0.07, 0.04, 0.24"],
    },
    # too few digits
    ("6.5396", "6.54"): {"digits": ["6.5"]},
    ("17.33", "17.33"): {"digits": ["17"]},
    (f"[{THIRD}, {THIRD}, {THIRD}]", "[0.3333, 0.3333, 0.3333]"): {"digits": ["0.33, 0.33, 0.33"]},
    # close, and wrong in a digit that is typed
    ("3.1415926536", "3.1416"): {"wrong": ["22/7"]},
    # exact answers have no slack
    ("0.5", "0.5"): {
        "right": ["0.5", "1/2", "0.50", "50 %", "½", ".5", "5e-1"],
        "wrong": ["0.54", "0.46", "0.51", "0.49"],
        "rounded": ["0.504", "0.499"],
    },
    ("4.5", "4.5"): {"rounded": ["4.54", "4.46"]},
    ("3.6", "3.6"): {"rounded": ["3.63"]},
    # whole numbers are exact
    ("54", "54"): {"wrong": ["53", "55", "54.4", "53.9", "27"]},
    ("4", "4.0"): {
        "wrong": ["4.04", "3.96", "4.0001"],
        "right": ["4", "4.0", "4.000", "8/2", "2^2"],
    },
    ("2", "2.0"): {"wrong": ["2.02"]},
    ("270532608", "270532608"): {
        "wrong": ["270532609", "268435456", "2.7e8", "2.71e8"],
        "right": ["270,532,608", "2.70532608e8", "2^28 + 2^21"],
    },
    ("606208000", "606208000"): {"unread": ["606208000 或 606208001", "606208000~606208001"]},
    ("128", "128"): {"wrong": ["128,000"]},
    # mistakes that have a name
    ("1", "1"): {"wrong": ["100"]},
    ("5.4", "5.4"): {"wrong": ["540"]},
    ("[[1, 2], [3, 4]]", "[[1, 2],\n [3, 4]]"): {
        "wrong": ["[[1],[2],[3,4]]"],
        "count": ["1, 2; 3"],
    },
    ("[1, 1, 1]", "[1, 1, 1]"): {"right": ["[[1],[1],[1]]"]},
    ("[0, -1, 1]", "[0, -1, 1]"): {"count": ["0 0 -1 1"], "right": ["0 -1 1", "0, 0 -1, 1"]},
    # without an exact value, as where a reader's edit makes one infinite
    ("", "0.3333"): {"wrong": ["1/3"], "right": ["0.3333"]},
    ("[−0.5, 1]", "[−0.5, 1.0]"): {"right": ["-0.5, 1"]},
}  # fmt: skip


@pytest.mark.parametrize("value", JUDGED)
def test_an_answer_is_judged_by_the_exact_value(value: tuple[str, str]) -> None:
    wanted = [(typed, verdict) for verdict, all_ in JUDGED[value].items() for typed in all_]
    found = judge(*((typed, *value) for typed, _ in wanted))
    assert [*zip((typed for typed, _ in wanted), found, strict=True)] == wanted


MEASURED = [  # typed, wanted, the label of the field, verdict
    *[
        (one, "3", "Memory in GB", "right")
        for one in ("3", "3 GB", "3000 MB", "3e9 bytes", "3,000,000 kB", "three GB")
    ],
    *[(one, "3", "Memory in GB", "wrong") for one in ("3 KB", "3 MB", "3 bytes", "3 bits", "3 ms")],
    *[(one, "3", "显存（GB）", "right") for one in ("3 GB", "3000 兆字节", "30 亿字节")],
    *[
        (one, "24576000", label, "right")
        for label in ("Bytes", "字节数")
        for one in ("24.576 MB", "24576 kB", "24000 KB", "24000 KiB", "24,576,000 B", "24.576M")
    ],
    *[(one, "24576000", "Bytes", "wrong") for one in ("24576000 bits", "24.576 GB")],
    *[(one, "24576000", "Bytes", "wrong") for one in ("24576000 TiB", "24576000 PB", "3 terabits")],
    ("0.003 TB", "3", "Memory in GB", "right"),
    ("196608000 bits", "24576000", "Bytes", "right"),
    *[(one, "1.5", "Size in MB", "wrong") for one in ("1.5 Mb", "1.5 Mbit", "1.5 megabits")],
    *[(one, "1.5", "Size in MB", "right") for one in ("12 Mb", "12 Mbits", "0.012 Gb", "1.5 mb")],
    ("8 kilobits", "1", "Size in KB", "right"),
    *[(one, "3", "Time in ms", "right") for one in ("3 ms", "3", "0.003 s", "3 毫秒")],
    *[(one, "3", "Time in ms", "wrong") for one in ("3 s", "3 µs", "3 minutes", "3 KB")],
    *[(one, "3", "Heads", "right") for one in ("3", "3 heads", "3 bits", "3 bytes", "3 s")],
    *[(one, "3", "Heads", "wrong") for one in ("3 KB", "3 GB", "3 ms", "3k", "3M")],
]


@pytest.mark.parametrize(("typed", "wanted", "label", "verdict"), MEASURED)
def test_a_unit_is_the_one_that_is_asked_for(
    typed: str, wanted: str, label: str, verdict: str
) -> None:
    engine = load_script()
    assert engine.call("judgeIn", typed, wanted, label) == verdict


def test_a_long_answer_takes_no_longer() -> None:
    """Sixty thousand characters once took seconds: what is longer than the limit is not read."""
    begun = process_time()
    long = [
        "1," * 30_000, "]" * 60_000, "[" * 60_000, "1e+1 " * 79, "(" * 399, "√" * 399, "1,1 " * 99,
    ]  # fmt: skip
    judge(*((one, THIRD, "1/3") for one in long))
    assert process_time() - begun < 5


# --- all fields of the built site


@pytest.fixture(scope="module")
def fields(site: Path) -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    """Of each field of all languages: its name, exact value, printed value, and known mistakes."""
    found = []
    for lang in BUILT:
        for slug in SLUGS:
            tree = parse_html(find_page_folder(site, lang, slug) / "index.html")
            for ask in tree.xpath("//form[@class='asks']/p[@class='ask']"):
                name = f"{lang}/{slug} {ask.find('input').get('id')}"
                traps = [_read_value(trap) for trap in ask.xpath("span[@class='trap']")]
                found.append((name, *_read_value(ask), traps))
    return found


def _read_value(place: Any) -> tuple[str, str]:
    exact = place.xpath("string(span[@class='exact'])")  # none where a listing has it as text
    return exact, place.xpath("string(span[@class='value'])")


def read_numbers(exact: str, printed: str) -> Any:
    return json.loads(exact) if exact else float(Fraction(printed))


def flatten(nested: Any) -> list[Fraction]:
    if isinstance(nested, list):
        return [number for one in nested for number in flatten(one)]
    return [Fraction(str(nested))]


def fill_in(nested: Any, texts: Iterator[str], comma: str) -> str:
    if isinstance(nested, list):
        return f"[{comma.join(fill_in(one, texts, comma) for one in nested)}]"
    return next(texts)


def write_fraction(number: Fraction) -> str:
    near = number.limit_denominator(100_000)
    near = near if abs(near - number) < Fraction(1, 10**9) else number
    return f"{near.numerator}/{near.denominator}"


def write_scientific(number: Fraction, template: str) -> str:
    mantissa, exponent = f"{float(number):.9e}".split("e")
    return template.format(mantissa, int(exponent))


def write_tex(number: Fraction) -> str:
    above, below = write_fraction(number).lstrip("-").split("/")
    return f"{'-' * (number < 0)}\\frac{{{above}}}{{{below}}}"


def write_digits(number: Fraction, digits: int) -> str:
    if number.denominator == 1:
        return str(number)
    return f"{Decimal(f'{float(number):.{digits - 1}e}'):f}"


FORMS: dict[str, Callable[[Fraction], str]] = {
    "ten digits": lambda number: write_digits(number, 10),
    "five digits": lambda number: write_digits(number, 5),
    "three digits": lambda number: write_digits(number, 3),
    "a/b": write_fraction,
    "TeX": write_tex,
    "10^": lambda number: write_scientific(number, "{} x 10^{}"),
    "TeX power": lambda number: write_scientific(number, r"{}\times10^{{{}}}"),
    "E": lambda number: write_scientific(number, "{}E{}"),
    "percent": lambda number: f"{write_digits(100 * number, 8)} %",
    "leading point": lambda number: write_digits(number, 6).replace("0.", ".", 1),
    "full width": lambda number: "".join(
        chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in write_digits(number, 6)
    ),
}
SEPARATORS = {"comma": ", ", "space": " ", "narrow": ","}
AROUND = {"nothing": "{}", "NumPy": "np.array({})", "TeX": "${}$", "name": "x = {}", "stop": "{}."}


def test_every_right_answer_is_right(fields: Any) -> None:
    """However it is written: the printed text, ten forms of the exact value, lists in any way."""
    tried = []
    for name, exact, printed, _ in fields:
        nested = read_numbers(exact, printed)
        tried.append((name, printed, exact, printed))
        for form in FORMS.values():
            for separator in SEPARATORS.values() if isinstance(nested, list) else [""]:
                text = fill_in(nested, map(form, flatten(nested)), separator)
                tried.append((name, text, exact, printed))
                if form in (write_fraction, FORMS["five digits"]):
                    around = [outside.format(text) for outside in AROUND.values()]
                    tried += [(name, one, exact, printed) for one in around]
    verdicts = judge(*((one, exact, printed) for _, one, exact, printed in tried))
    report(
        f"{name}: {typed!r} for {printed} is {verdict}"
        for (name, typed, _, printed), verdict in zip(tried, verdicts, strict=True)
        if verdict != "right"
    )
    assert len(tried) > 20 * len(fields) > 20 * 400


def test_no_wrong_answer_is_right(fields: Any) -> None:
    """With another sign, one more, twice as much, one entry less; none of them was rounded."""
    tried = []
    for name, exact, printed, _ in fields:
        numbers = flatten(read_numbers(exact, printed))
        slips = {
            "sign": [-one for one in numbers], "one more": [one + 1 for one in numbers],
            "one less": [one - 1 for one in numbers], "double": [2 * one for one in numbers],
            "last": [*numbers[:-1], numbers[-1] + 1],
            "tenth": [one + Fraction(1, 10) for one in numbers],
        }  # fmt: skip
        for slip, changed in slips.items():
            if changed == numbers:
                continue
            for form in (write_fraction, lambda number: write_digits(number, 15)):
                text = fill_in(changed, map(form, changed), ", ")
                tried.append((name, slip, text, exact, printed))
        tried.append((name, "count", ", ".join(["1"] * (len(numbers) + 1)), exact, printed))
    verdicts = judge(*((one, exact, printed) for *_, one, exact, printed in tried))
    for (name, slip, typed, _, printed), verdict in zip(tried, verdicts, strict=True):
        said = f"{name}: {typed!r} ({slip}) for {printed} is {verdict}"
        assert verdict not in ("right", "unread", "digits"), said
        assert verdict != "rounded" or "." in typed, said
        if slip in ("count", "sign"):
            assert verdict == slip, said


def test_the_printed_value_is_the_exact_one_rounded(fields: Any) -> None:
    """And a known mistake is none of the right answers."""
    for name, exact, printed, traps in fields:
        numbers = flatten(read_numbers(exact, printed))
        texts = re.findall(r"[−-]?[\d,]*\.?\d+(?:/\d+)?", printed.replace(", ", " "))
        for number, text in zip(numbers, texts, strict=True):
            plain = text.replace(",", "").replace("−", "-")
            decimals = len(plain.partition(".")[2])
            off = abs(Fraction(plain) - number)
            assert off <= Fraction(1, 10**9 if "/" in plain else 2 * 10**decimals), (name, printed)
        answers = [(trap, exact, printed) for _, trap in traps]
        assert "right" not in judge(*answers), (name, traps)


def test_labels_say_where_digits_are_wanted(site: Path) -> None:
    for lang in BUILT:
        words = read_locale("zh" if lang.startswith("zh") else lang)["site"]["boxes"]["digits"]
        tree = parse_html(find_page_folder(site, lang, "masking") / "index.html")
        labels = {
            ask.find("input").get("id"): ask.xpath("label/small")
            for ask in tree.xpath("//form[@class='asks']/p[@class='ask']")
        }
        assert labels["exercise-pencil-1"], lang  # 2/7
        assert not labels["exercise-pencil-2"]  # 7/10
        if lang != "zh-hant":
            assert labels["exercise-pencil-1"][0].text == words


# --- choices


def test_the_right_option_stands_anywhere_and_in_all_languages_at_the_same_place(
    site: Path,
) -> None:
    places: dict[str, list[int]] = {}
    for lang in BUILT:
        for slug in SLUGS:
            tree = parse_html(find_page_folder(site, lang, slug) / "index.html")
            for asked in tree.xpath("//form[@class='asks']/fieldset[label]"):
                options = [one.get("value") for one in asked.xpath("label/input")]
                assert len(options) >= 3, (lang, slug)
                assert options.count("right") == 1, (lang, slug)
                name = asked.xpath("label/input/@name")[0]
                places.setdefault(f"{slug} {name}", []).append(
                    options.index("right") + 10 * len(options)
                )
    assert all(len(set(one)) == 1 and len(one) == len(BUILT) for one in places.values())
    three = [one[0] - 30 for one in places.values() if one[0] // 10 == 3]
    assert len(three) > 100
    for place in range(3):
        assert three.count(place) <= 0.45 * len(three), [three.count(n) for n in range(3)]


def _count_signs(option: str) -> int:
    """How long an option is, without its reason and about as it is shown."""
    shown = option.split(" — ")[0].replace("\\operatorname", "")
    return len(re.sub(r"\\[a-z]+", "x", re.sub(r"[${}`*^_ ]", "", shown)))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_longest_option_is_right_no_more_often_than_by_chance(lang: str) -> None:
    """Of three options a third of the longest are right, where several are as long by lot."""
    hits = []
    for slug in WRITTEN:
        page = (SCRIPT.parents[2] / "docs" / lang / f"{slug}.md").read_text(encoding="utf-8")
        for found in re.finditer(r"(?:^ *- \[[ x]\] .*\n){3,}", page, re.M):
            options = re.findall(r"- \[([ x])\] (.*)", found[0])
            lengths = [_count_signs(text) for _, text in options]
            longest = [
                mark for (mark, _), n in zip(options, lengths, strict=True) if n == max(lengths)
            ]
            hits.append(longest.count("x") / len(longest))
    assert len(hits) > 100
    assert sum(hits) <= 0.38 * len(hits), sum(hits) / len(hits)
