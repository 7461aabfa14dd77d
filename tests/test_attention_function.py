"""The attention function: its properties, and the numbers that the chapter prints."""

from __future__ import annotations

import ast
import math
import re
import warnings
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attention_docs.attention_function import attention, drop
from tests.conftest import scale_examples
from tests.exact import KEYS, QUERIES, VALUES, assert_printed, attention_weights, make_test_of_asked
from tests.page import Page, read_rows, vector_of

few = scale_examples(40)
seeds = st.integers(0, 2**32 - 1)
ROOT = Path(__file__).parents[1]

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
BOUNDS = {dtype: 64 * torch.finfo(dtype).eps for dtype in DTYPES}
SHAPES = [
    ((4, 3), (6, 3), (6, 5)),
    ((2, 4, 3), (2, 6, 3), (2, 6, 5)),
    ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4)),
    ((5, 2, 3, 1, 4), (5, 2, 3, 6, 4), (5, 2, 3, 6, 7)),
    ((2, 1, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)),
    ((2, 4, 3), (2, 1, 3), (2, 1, 5)),  # one key
]

ALL = [[1, 1, 1]] * 3
V = np.array(VALUES)


def exact_weights(keep: list[list[int]], size: int = 3) -> np.ndarray:
    """Weights of the eight steps, scaled by the root of a size."""
    return np.array(attention_weights(QUERIES, KEYS, mpmath.sqrt(size), keep), dtype=float)


def make_tensors(
    shapes: Any, dtype: torch.dtype, seed: int = 0, grad: bool = False
) -> tuple[torch.Tensor, ...]:
    """Standard normal tensors."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)
        for shape in shapes
    )


def make_mask(kind: str, n_q: int, n_k: int, dtype: torch.dtype) -> torch.Tensor | None:
    generator = torch.Generator().manual_seed(1)
    keep = torch.rand(n_q, n_k, generator=generator) < 0.6
    keep[:, -1] = True
    if kind == "none":
        return None
    if kind == "float":
        shifts = torch.randn(n_q, n_k, generator=generator, dtype=torch.float64)
        return shifts.masked_fill(~keep, -torch.inf).to(dtype)
    if kind == "causal":
        return torch.ones(n_q, n_k, dtype=torch.bool).tril()
    if kind == "empty row":
        keep[0] = False
    return keep


# ------------------------------------------------------------------ the function


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["none", "bool", "float", "causal", "empty row"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_same_as_sdpa(shapes: Any, kind: str, dtype: torch.dtype) -> None:
    """Outputs and gradients are PyTorch's, in every dtype and under every mask."""
    leaves = make_tensors(shapes, dtype, grad=True)
    mask = make_mask(kind, shapes[0][-2], shapes[1][-2], dtype)
    ours, weights = attention(*leaves, mask)
    theirs = sdpa(*leaves, attn_mask=mask)
    assert ours.dtype == weights.dtype == dtype
    assert ours.shape == theirs.shape
    (upstream,) = make_tensors([theirs.shape], dtype, seed=2)
    gradients = [torch.autograd.grad(one, leaves, upstream) for one in (ours, theirs)]
    for a, b in [(ours, theirs), *zip(*gradients, strict=True)]:
        assert (a - b).detach().abs().max() < BOUNDS[dtype]


@pytest.mark.parametrize("shapes", [SHAPES[2], SHAPES[-1]])
def test_returned_weights_are_those_before_dropout(shapes: Any) -> None:
    tensors = make_tensors(shapes, torch.float64)
    _, before = attention(*tensors)
    output, weights = attention(*tensors, dropout=nn.Dropout(p=1.0))  # drops everything
    assert torch.equal(weights, before)
    assert (output == 0).all()
    output, _ = attention(*tensors, dropout=nn.Dropout(p=1.0).eval())
    assert torch.equal(output, attention(*tensors)[0])


@few
@given(
    parts=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    p=st.fractions(0, Fraction(9, 10), max_denominator=10),
)
def test_drop_keeps_the_expectation(parts: list[int], p: Fraction) -> None:
    """Summed over every keep mask with its probability, drop gives the weights back."""
    weights = np.array([parts]) / sum(parts)
    total = np.zeros_like(weights)
    for keep in product((True, False), repeat=len(parts)):
        probability = (1 - p) ** sum(keep) * p ** (len(parts) - sum(keep))
        total += float(probability) * drop(weights, np.array([keep]), float(p))
    assert np.allclose(total, weights, rtol=1e-12, atol=0)


def test_drop_gives_no_nan() -> None:
    weights = np.array([[0.5, np.inf]])
    assert drop(weights, np.array([True, False]), 0.5).tolist() == [[1.0, 0.0]]


# ------------------------------------------------------------ the published numbers


LEADS = [(), (3,), (2, 3)]


@few
@given(
    sizes=st.permutations([2, 3, 5, 7]), lead=st.sampled_from(LEADS), one=st.booleans(), seed=seeds
)
def test_loop(sizes: list[int], lead: tuple[int, ...], one: bool, seed: int) -> None:
    """The batched function against the sums, one number after another."""
    n_q, n_k, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    shared = (*lead[:-1], 1) if one and lead else lead  # a leading axis of size 1 counts as copied
    q = rng.normal(size=(*lead, n_q, d_k))
    k, v = rng.normal(size=(*shared, n_k, d_k)), rng.normal(size=(*shared, n_k, d_v))
    found, _ = attention(q, k, v)
    for place in np.ndindex(*lead):
        other = (*place[:-1], 0) if one and lead else place
        for i in range(n_q):
            powers = [np.exp(np.dot(q[place][i], k[other][j]) / np.sqrt(d_k)) for j in range(n_k)]
            wanted = sum(powers[j] * v[other][j] for j in range(n_k)) / sum(powers)
            assert np.allclose(found[place][i], wanted, rtol=0, atol=1e-12)


def test_example(chapter: Page) -> None:
    weights = exact_weights([[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    assert chapter.values("idea") == [f"[{', '.join(f'{x:.4f}' for x in (weights @ V)[2])}]"]
    figure = chapter.figure("setup")
    described = [float(x) for x in re.findall(r"\d\.\d{4}", figure)]
    lower = np.tril_indices(3)
    assert_printed(np.array(described), np.concatenate([weights[lower], (weights @ V).ravel()]))
    found = [float(x) for x in re.findall(r"(?<![\d.])\d+\.\d\d(?!\d)", figure)]
    scores = np.array(QUERIES) @ np.transpose(KEYS) / np.sqrt(3)
    assert_printed(np.array(found), scores[lower], decimals=2)
    assert figure.count("forbidden") == 6


def test_shapes(chapter: Page) -> None:
    assert [list(line.values()) for line in chapter.table("shapes")] == [
        ["QKᵀ", "(2, 3, 5, 4)", "(2, 3, 4, 7)", "(2, 3, 5, 7)"],
        ["AV", "(2, 3, 5, 7)", "(2, 3, 7, 6)", "(2, 3, 5, 6)"],
    ]
    assert chapter.output("loop") == "shape of the output with shared keys: (2, 3, 5, 6)"


def test_sizes(chapter: Page) -> None:
    table = chapter.table("sizes")
    tokens = "key and value must share their number of tokens, got"
    d_k = "query and key must share d_k, got"
    found = {line[""]: line["shape of the output, or error"] for line in table}
    assert {size.removesuffix(" = 9"): answer for size, answer in found.items()} == {
        "n_q": "(9, 6)",
        "n_k": f"{tokens} (9, 4) and (7, 6)",
        "n_v": f"{tokens} (7, 4) and (9, 6)",
        "d_q": f"{d_k} (5, 9) and (7, 4)",
        "d_k": f"{d_k} (5, 4) and (7, 9)",
        "d_v": "(5, 9)",
        "n_k = n_v": "(5, 6)",
        "d_q = d_k": "(5, 6)",
    }


def test_control(chapter: Page) -> None:
    """Every frame: the shapes by the rule of the sums, and what is refused."""
    sizes = {"batch": 2, "heads": 3, "n_q": 5, "n_k": 7, "d_k": 4, "d_v": 6}
    inputs = {"query": ["n_q", "d_k"], "key": ["n_k", "d_k"], "value": ["n_k", "d_v"]}
    alone = dict.fromkeys(sizes, "key") | {"n_q": "query", "d_v": "value"}
    found = chapter.frames("control")
    settings = [f"{i} {j}" for i in range(1, 7) for j in (1, 2)]
    assert [frame.at for frame in found] == settings
    for frame in found:
        which, how = (int(one) - 1 for one in frame.at.split())
        size = list(sizes)[which]
        works = bool(how) or size in ("n_q", "d_v")
        wanted: list[list[int]] = []
        for tensor, ends in inputs.items():
            names = ["batch", "heads", *ends]
            changed = how or tensor == alone[size]
            wanted.append([9 if changed and name == size else sizes[name] for name in names])
        (label,), caption = frame.labels, frame.caption
        shown = re.findall(r": (\d+(?:, \d+){3})", label)
        if works:
            grown = sizes | {size: 9}
            for last in ("n_k", "d_v"):
                wanted.append([grown[name] for name in ("batch", "heads", "n_q", last)])
            assert str(tuple(wanted[-1])) in caption
        else:
            assert label.count("forbidden") == 8
            assert "Refused" in caption
        assert [[int(x) for x in re.findall(r"\d+", row)] for row in shown] == wanted


A = [Fraction(1, 8), Fraction(1, 4), Fraction(5, 8)]


def all_samples() -> list[tuple[tuple[int, ...], Fraction, list[Fraction]]]:
    """Keep mask, probability and weights after dropout, by hand."""
    found = []
    for keep in product((1, 0), repeat=3):
        probability = Fraction(3 ** sum(keep), 4**3)
        found.append(
            (keep, probability, [a * m * Fraction(4, 3) for a, m in zip(A, keep, strict=True)])
        )
    return found


def test_dropout_expectation(chapter: Page) -> None:
    *lines, last = chapter.table("dropout")
    samples = all_samples()

    def fractions(line: dict[str, str]) -> list[Fraction]:
        weights = line["weights after dropout"].split(", ")
        return [Fraction(x) for x in (line["probability"], *weights, line["sum"])]

    for line, (keep, probability, weights) in zip(lines, samples, strict=True):
        assert ast.literal_eval(line[""]) == keep
        assert fractions(line) == [probability, *weights, sum(weights)]
    assert sum(p for _, p, _ in samples) == 1
    assert fractions(last) == [1, *A, 1]
    assert [sum(p * w[j] for _, p, w in samples) for j in range(3)] == A
    sums = [sum(w) for _, _, w in samples]
    assert chapter.values("dropout")[:2] == [str(min(sums)), str(max(sums))]


def test_dropout_output(chapter: Page) -> None:
    *lines, average, without = chapter.table("dropout-output")
    values = [[8, 0], [0, 8], [8, 8]]
    for line, (keep, _, weights) in zip(lines, all_samples(), strict=True):
        output = [sum(w * v[c] for w, v in zip(weights, values, strict=True)) for c in (0, 1)]
        assert ast.literal_eval(line[""]) == keep
        assert_printed(vector_of(line["output"]), [float(x) for x in output])
    assert vector_of(average["output"]) == vector_of(without["output"]) == [6, 7]
    assert vector_of(chapter.output("dropout-output")) == [float(a) for a in A]  # before dropout
    assert chapter.values("dropout-outputs") == ["[6.0000, 7.0000]"]


def test_modes(chapter: Page) -> None:
    table = chapter.table("modes")
    assert {line["module and mode"]: line["unchanged?"] for line in table} == {
        "nn.Dropout, eval()": "✓",
        "nn.Dropout, train()": "✗",
        "Attention, right=True, eval()": "✓",  # p from the mode
        "Attention, right=False, eval()": "✗",  # p whatever the mode
        "weights of MHA, train()": "✗",
        "weights of MHA, eval()": "✓",
    }
    # The numbers behind them: 1 becomes 0 or 2 and nothing else.
    lone = [torch.ones(64, n, 2) for n in (4, 1, 1)]
    assert set(sdpa(*lone, dropout_p=0.5).unique().tolist()) == {0, 2}
    # PyTorch takes p = 1 and gives zeros.
    assert (sdpa(*lone, dropout_p=1.0) == 0).all()
    assert (nn.Dropout(1.0)(lone[0]) == 0).all()


def test_agreement(chapter: Page) -> None:
    assert chapter.output("agreement") == f"torch {torch.__version__.split('+')[0]}"
    gaps = {"float64": -52, "float32": -23, "float16": -10, "bfloat16": -7}  # bits behind the point
    digits = dict(zip(gaps, ("–", "✗", "✓", "✓"), strict=True))
    for line, (name, power) in zip(chapter.table("agreement"), gaps.items(), strict=True):
        assert line == {
            "": name,
            "log₂(64 ε)": f"−{-power - 6}",
            "outputs within?": "✓",
            "gradients within?": "✓",
            "without √d_k within?": "✗",
            "does SDPA round better?": digits[name],
        }
    assert read_rows(chapter, "gradcheck") == ["checks passed: 30"]


def test_annotated(chapter: Page) -> None:
    assert [line[""] for line in chapter.table("annotated")] == ["annotated", "package"]
    for j in range(1, 8):
        assert_printed(chapter.column("annotated", f"key {j}"), [1 / 7, 0])


def test_whole_function(chapter: Page) -> None:
    """What the page shows is the package's code, and fits a screen."""
    shown = chapter.output("whole")
    module = ast.parse((ROOT / "attention_docs" / "attention_function.py").read_text("utf-8"))
    (wanted,) = (
        node
        for node in module.body
        if isinstance(node, ast.FunctionDef) and node.name == "attention"
    )
    wanted.body = wanted.body[1:]  # without the docstring
    assert ast.unparse(ast.parse(shown)) == ast.unparse(wanted)
    assert "# over the keys" in shown
    assert len(shown.splitlines()) <= 30


def test_transpose(chapter: Page) -> None:
    assert read_rows(chapter, "mistake-transpose") == [
        ".T:  shape (3, 3, 3), scores of sequence 1 change",
        ".mT: shape (3, 3, 3), scores of sequence 1 stay",
    ]
    three = [[[(9 * b + 3 * i + c) % 4 for c in range(3)] for i in range(3)] for b in range(3)]
    right = [
        [sum(three[0][i][c] * three[0][j][c] for c in range(3)) for j in range(3)] for i in range(3)
    ]
    # .T turns (b, n, d) into (d, n, b): entry [0][c][j] is component 0 of token c of sequence j.
    wrong = [
        [sum(three[0][i][c] * three[j][c][0] for c in range(3)) for j in range(3)] for i in range(3)
    ]
    assert wrong != right
    for how, scores in ((".T", wrong), (".mT", right)):
        assert chapter.matrix("mistake-transpose", f"scores of sequence 1, {how}") == scores
    assert chapter.values("mistakes")[:2] == [str(wrong[0]), str(right[0])]
    torch.set_warn_always(True)  # and not once a process
    try:
        with pytest.warns(UserWarning, match=r"\.T"):
            torch.ones(2, 3, 4).T  # noqa: B018
    finally:
        torch.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.ones((2, 3, 4)).T  # noqa: B018


def test_plot(chapter: Page) -> None:
    weights = exact_weights(ALL)
    dropped = weights * [[1, 1, 0], [1, 0, 1], [1, 1, 1]] * 4 / 3
    assert_printed(chapter.matrix("mistake-plot", "after dropout"), dropped)
    assert_printed(chapter.matrix("mistake-plot", "before dropout"), weights)
    after, before = read_rows(chapter, "mistake-plot")
    assert_printed(vector_of(after), dropped.sum(axis=1))
    assert vector_of(before) == [1, 1, 1]
    sums = dropped.sum(axis=1)
    assert chapter.values("mistake-plot") == [
        f"{dropped[2, 1]:.4f}",
        f"[{', '.join(f'{x:.4f}' for x in sums)}]",
    ]
    assert chapter.values("mistakes")[-2:] == [
        f"[{', '.join(f'{x:.2f}' for x in sums)}]",
        "[1.00, 1.00, 1.00]",
    ]


def test_wrong_scale(chapter: Page) -> None:
    found = {line[""]: vector_of(line["output 1"]) for line in chapter.table("mistake-sizes")}
    right = exact_weights(ALL)[0] @ V
    for size in (3, 2):
        assert_printed(found[f"d_v = {size}, correct"], right[:size])
        assert_printed(found[f"d_v = {size}, wrong"], (exact_weights(ALL, size)[0] @ V)[:size])
    assert found["d_v = 2, wrong"] != found["d_v = 2, correct"]
    two = [(exact_weights(ALL, size)[0] @ V)[:2] for size in (2, 3)]
    assert chapter.values("mistakes")[2:4] == [f"[{a:.4f}, {b:.4f}]" for a, b in two]


def test_exercises(chapter: Page) -> None:
    shapes = "weights (8, 12, 1, 30), output (8, 12, 1, 128)"
    assert chapter.output("exercise-shapes") == shapes
    order = [line["does the output stay?"] for line in chapter.table("exercise-3")]
    assert order == ["✓", "✗"]
    assert [list(line.values()) for line in chapter.table("exercise-swap")] == [
        ["equal sizes", "✓", "✗"],
        ["different sizes", "ValueError", ""],
    ]
    for c, line in enumerate(chapter.table("exercise-1")):
        values = [[8, 0, 8], [0, 8, 8]][c]
        variance = sum(a**2 * v**2 for a, v in zip(A, values, strict=True)) / 3  # p/(1-p) = 1/3
        mean = sum(a * v for a, v in zip(A, values, strict=True))
        moments = [str(mean), str(variance), str(variance)]
        assert list(line.values()) == [f"component {c + 1}", *moments]
    wanted, expected = chapter.table("exercise-2")
    sums = [
        sum((p * w[j] / sum(w) for _, p, w in all_samples() if sum(w)), start=Fraction(0))
        for j in range(3)
    ]
    assert [Fraction(expected[f"key {j}"]) for j in (1, 2, 3)] == sums
    assert [Fraction(wanted[f"key {j}"]) for j in (1, 2, 3)] == A
    weights, mixed = (
        [float(line[name]) for name in ("key 1", "key 2", "key 3", "sum")]
        for line in chapter.table("exercise-scores")
    )
    powers = [mpmath.exp(j) for j in range(3)]
    assert_printed(weights, [*(float(x / sum(powers)) for x in powers), 1])
    shares = [mpmath.mpf(0)] * 3
    for keep, probability, _ in all_samples():
        left = sum(x for x, m in zip(powers, keep, strict=True) if m)
        for j in range(3):
            if keep[j]:
                shares[j] += powers[j] / left * probability.numerator / probability.denominator
    assert_printed(mixed, [*(float(x) for x in shares), 1 - 1 / 64])


ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-shapes": [[8, 12, 1, 30], [8, 1, 30, 64], [8, 12, 1, 128], [8, 12, 1, 64]],
    "exercise-renormalise": [
        # Key 1 stays alone, with key 2, with key 3, with both.
        Fraction(3, 64) + Fraction(9, 64) * (Fraction(1, 3) + Fraction(1, 6)) + Fraction(27, 512),
        *(Fraction(1, 8), Fraction(63, 64), 1),
    ],
    "exercise-scores": [1 - 1 / 64, 3 / 4],
}
test_what_exercises_ask = make_test_of_asked(ASKED)


def test_sums_of_rows_after_dropout(chapter: Page) -> None:
    """Each factor is 0 or 5/4, with the probabilities 1/5 and 4/5: by enumeration."""
    for row, n in zip(chapter.table("row-sums"), (1, 4, 256), strict=True):
        odds = {k: math.comb(n, k) * Fraction(4, 5) ** k / 5 ** (n - k) for k in range(n + 1)}
        sums = {k: Fraction(5 * k, 4 * n) for k in odds}
        mean = sum(odds[k] * sums[k] for k in odds)
        spread = math.sqrt(sum(odds[k] * (sums[k] - mean) ** 2 for k in odds))
        assert mean == 1
        assert row["√(p / ((1 − p) n))"] == f"{spread:.2f}"
        assert float(row["standard deviation"]) == pytest.approx(spread, abs=0.0151)
        assert float(row["mean"]) == pytest.approx(1, abs=0.0151)
        assert 1 < float(row["largest sum"]) <= 1.25
