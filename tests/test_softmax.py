"""Softmax: against torch in every float type, by hand in fractions, and with mpmath."""

import functools
import itertools
import json
import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_docs import softmax as package
from tests.conftest import each_language
from tests.exact import (
    KEYS,
    QUERIES,
    SCORES,
    VALUES,
    assert_printed,
    assert_printed_e,
    dot,
    make_test_of_asked,
    norm,
    product,
)
from tests.exact import jacobian as jacobian_of
from tests.exact import softmax as softmax_of

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

EXAMPLE = [1, 1, 1, 5]


def frobenius(rows):
    """Root of the sum of the squares."""
    return norm([mpmath.mpmathify(x) for row in rows for x in row])


# The package's functions


@st.composite
def tensors(draw, dtypes=DTYPES, least=1, spread=8.0):
    """A tensor of 1 to 4 axes and one of its axes; sizes differ from axis to axis."""
    dtype = draw(st.sampled_from(dtypes))
    sizes = draw(st.permutations([2, 3, 5, 7]))[: draw(st.integers(least, 4))]
    seed = draw(st.integers(0, 2**31))
    generator = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(sizes, generator=generator, dtype=torch.float64)
    return scores.to(dtype), draw(st.integers(-len(sizes), len(sizes) - 1))


def tolerance(dtype):
    """A few rounding steps."""
    return 4 * torch.finfo(dtype).eps


@given(tensors())
def test_softmax_like_torch(case):
    scores, axis = case
    kept = scores.clone()
    weights = package.softmax(scores, axis=axis)
    assert weights.dtype == scores.dtype
    assert weights.shape == scores.shape
    assert torch.equal(scores, kept)
    # torch's own function, in float64, so that its rounding does not count
    wanted = torch.softmax(scores.double(), axis)
    error = (weights.double() - wanted).abs().max()
    assert error <= tolerance(scores.dtype)
    sums = weights.double().sum(axis)
    assert (sums - 1).abs().max() <= scores.shape[axis] * tolerance(scores.dtype)
    assert bool((weights >= 0).all())


@pytest.mark.parametrize("dtype", DTYPES)
@given(shift=st.integers(-900, 900), axis=st.sampled_from([-2, -1, 0, 1, 2]), seed=st.integers(0))
def test_shift_invariance(dtype, shift, axis, seed):
    # Multiples of 1/2 below 4 plus this shift are exact in float16 and the wider types; for
    # bfloat16, with 8 bits, the shift is smaller.
    shift = shift % 60 if dtype == torch.bfloat16 else shift
    rng = np.random.default_rng(seed)
    scores = torch.tensor(rng.integers(-8, 8, size=(3, 5, 2)) / 2, dtype=dtype)
    moved = scores + shift
    assert torch.equal((moved - shift), scores)  # nothing was rounded
    assert torch.equal(package.softmax(moved, axis=axis), package.softmax(scores, axis=axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_overflow(dtype):
    large = torch.finfo(dtype).max
    scores = torch.tensor([[large, large, 0.0], [-large, -large, -large]], dtype=dtype)
    weights = package.softmax(scores).double()
    third = [[0.5, 0.5, 0], [1 / 3] * 3]
    np.testing.assert_allclose(weights.numpy(), third, atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_minus_infinity_is_weight_0(dtype):
    low = -torch.inf
    scores = torch.tensor([[low, 2.0, low, 1.0], [low, low, low, low]], dtype=dtype)
    weights = package.softmax(scores)
    wanted = torch.softmax(scores[0].double(), -1)
    assert (weights[0].double() - wanted).abs().max() <= tolerance(dtype)
    assert weights[0, [0, 2]].tolist() == [0, 0]
    assert weights[1].tolist() == [0, 0, 0, 0]  # torch's own gives NaN


@given(tensors(dtypes=[torch.float32, torch.float64]), st.floats(0.25, 8))
def test_tempered_like_torch(case, temperature):
    scores, axis = case
    weights = package.tempered_softmax(scores, temperature, axis=axis)
    wanted = torch.softmax(scores.double() / temperature, axis)
    assert weights.dtype == scores.dtype
    assert (weights.double() - wanted).abs().max() <= 64 * tolerance(scores.dtype)


@given(tensors(spread=3.0))
def test_jacobian_like_autograd(case):
    scores, _ = case
    weights = torch.softmax(scores.double(), -1).to(scores.dtype)
    jacobian = package.softmax_jacobian(weights)
    assert jacobian.dtype == scores.dtype
    assert jacobian.shape == (*scores.shape, scores.shape[-1])
    rows = scores.double().reshape(-1, scores.shape[-1])
    wanted = [
        torch.autograd.functional.jacobian(lambda x: torch.softmax(x, -1), row) for row in rows
    ]
    wanted = torch.stack(wanted).reshape(jacobian.shape)
    assert (jacobian.double() - wanted).abs().max() <= tolerance(scores.dtype)


@given(tensors(dtypes=[torch.float64], spread=3.0), st.integers(0, 2**31))
def test_gradient_like_autograd(case, seed):
    scores, _ = case
    by_weights = torch.randn(
        scores.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    leaf = scores.clone().requires_grad_()
    (torch.softmax(leaf, -1) * by_weights).sum().backward()
    got = package.softmax_gradient(torch.softmax(scores, -1), by_weights)
    torch.testing.assert_close(got, leaf.grad, rtol=1e-10, atol=1e-13)
    assert got.sum(-1).abs().max() < 1e-12


@given(tensors(dtypes=[torch.float32, torch.float64]))
def test_entropy_like_torch(case):
    scores, _ = case
    weights = torch.softmax(scores.double(), -1).to(scores.dtype)
    if scores.shape[-1] > 1:
        weights[..., 0] = 0  # 0 · ln 0 counts as 0
        weights = weights / weights.sum(-1, keepdim=True)
    wanted = torch.distributions.Categorical(probs=weights.double()).entropy()
    got = package.entropy(weights)
    assert got.dtype == scores.dtype
    assert (got.double() - wanted).abs().max() <= 1e-5


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=7), st.floats(0.2, 4), st.floats(1.01, 3))
def test_entropy_rises(scores, temperature, factor):
    s = np.array(scores)
    cold = package.entropy(package.tempered_softmax(s, temperature))
    warm = package.entropy(package.tempered_softmax(s, temperature * factor))
    assert warm >= cold - 1e-12
    if np.ptp(s) > 0.1:
        # dH/dτ = Var_a(s) / τ³, by central differences
        h = 1e-4 * temperature
        ends = [package.entropy(package.tempered_softmax(s, temperature + d)) for d in (-h, h)]
        a = np.array(softmax_of(scores, temperature), dtype=float)
        variance = a @ (s - a @ s) ** 2
        assert (ends[1] - ends[0]) / (2 * h) == pytest.approx(
            variance / temperature**3, rel=1e-3, abs=1e-6
        )


@given(st.lists(st.floats(-6, 6), min_size=2, max_size=9))
def test_other_weights_bound(scores):
    weights = package.softmax(np.array(scores))
    m = int(np.argmax(scores))
    others = np.delete(weights, m).sum()
    gap = scores[m] - max(np.delete(scores, m))
    n = len(scores)
    assert others <= (n - 1) * np.exp(-gap) * (1 + 1e-12)
    assert weights[m] >= (1 - 1e-12) / (1 + (n - 1) * np.exp(-gap))
    values = np.random.default_rng(n).normal(size=(n, 3))
    distance = np.linalg.norm(weights @ values - values[m])
    assert distance <= others * np.linalg.norm(values - values[m], axis=1).max() + 1e-12


@given(st.lists(st.floats(-6, 6), min_size=2, max_size=9), st.integers(0, 2**31))
def test_jacobian_bounds(scores, seed):
    weights = package.softmax(np.array(scores))
    jacobian = package.softmax_jacobian(weights)
    others = np.delete(weights, np.argmax(scores)).sum()
    assert np.linalg.norm(jacobian) <= 2 * others * (1 + 1e-9) + 1e-15
    v = np.random.default_rng(seed).normal(size=len(scores))
    v -= v.mean()
    smallest = np.exp(-(max(scores) - min(scores))) / len(scores)
    assert weights.min() >= smallest * (1 - 1e-12)
    assert np.linalg.norm(v @ jacobian) >= weights.min() * np.linalg.norm(v) * (1 - 1e-9)


# The published numbers

EIGHTHS = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]


def entropy_of(weights):
    return -mpmath.fsum(a * mpmath.log(a) for a in weights)


@functools.cache
def compute_leader_weight(gap, n, tau=1):
    """Weight of a key that leads n - 1 equal others, by the definition."""
    return softmax_of([0] * (n - 1) + [gap], tau)[-1]


def test_scores_to_pull(chapter):
    """A lead of 4 over three others."""
    powers = [mpmath.exp(score) for score in (1, 1, 1, 5)]
    shares = [f"key {i} {float(p / sum(powers)):.3f}" for i, p in enumerate(powers, start=1)]
    said = chapter.figure("pull")
    assert said.startswith("Scores: 1.0, 1.0, 1.0, 5.0; temperature 1.")
    assert ", ".join(shares) in said


@each_language
def test_control(page, lang):
    softmax = page(lang, "softmax")
    *leaders, factor = softmax.values("softmax")[:3]
    assert_printed(
        [float(x) for x in leaders],
        [compute_leader_weight(4, 2), compute_leader_weight(4, 1024)],
        4,
    )
    assert factor == f"{float(mpmath.e**4):.0f}" == "55"
    frames = softmax.frames("control")
    settings = list(itertools.product((1, 2, 4), (4, 7, 10), (2, 8, 64, 1024)))
    assert len(frames) == len(settings) == 36
    for frame, (tau, gap, n) in zip(frames, settings, strict=True):
        caption = frame.caption
        assert caption.startswith(f"τ = {tau}, Δ = {gap}, n = {n:,d}")
        leader = compute_leader_weight(gap, n, tau)
        (share,) = re.findall(r"\d\.\d{4}", caption)
        assert_printed([float(share)], [leader], 4)
        described = [float(x) for x in re.findall(r"\d\.\d{4}", frame.labels[0])]
        assert_printed(described, [leader, 1 - leader, (1 - leader) / (n - 1)], 4)


def test_definition(chapter):
    drawn = chapter.bars("definition")
    assert_printed(drawn["score"], [mpmath.log(x) for x in (1, 2, 5)], 3)
    assert drawn["exponential"] == [1, 2, 5]
    assert drawn["weight"] == EIGHTHS


def test_shift(chapter):
    for group in ("s", "s − 3", "s + 100", "2 · s"):
        assert chapter.figure("shift").count(f" for {group};") == 3 - 3 * (group == "2 · s")
    doubled = [Fraction(1, 30), Fraction(4, 30), Fraction(25, 30)]
    for weights, before, after in zip(
        chapter.bars("shift").values(), EIGHTHS, doubled, strict=True
    ):
        assert_printed(weights, [before] * 3 + [after], 4)


def test_rows(chapter):
    """The scores of the three words, each row with its own largest and its own sum."""
    assert chapter.names("rows") == ["dog", "bites", "man"]
    asks, found_by = [[0, 3], [3, 0], [0, 3]], [[1, 0], [0, 1], [1, 0]]  # of chapter 4, by hand
    scores = [[dot(q, k) for k in found_by] for q in asks]
    assert chapter.vectors("rows", "scores") == scores
    assert_printed(chapter.vectors("rows", "weights"), [softmax_of(row) for row in scores], 4)
    assert chapter.column("rows", "sum") == [1, 1, 1]


def test_limits(chapter):
    # Largest numbers of IEEE 754 and bfloat16, from their bits.
    largest = {
        name: (2 - mpmath.mpf(2) ** -fraction) * mpmath.mpf(2) ** exponent
        for name, fraction, exponent in (
            ("float16", 10, 15),
            ("bfloat16", 7, 127),
            ("float32", 23, 127),
            ("float64", 52, 1023),
        )
    }
    assert chapter.names("limits") == list(largest)
    assert_printed(chapter.grid("limits"), [[mpmath.log(number)] for number in largest.values()], 2)


def test_overflow(chapter):
    names = ["float16", "float32", "float64"]
    how = ["not shifted", "shifted"]
    assert chapter.names("overflow") == [f"{name}, {one}" for name in names for one in how]
    sigmoid = 1 / (1 + mpmath.exp(-2))
    columns = [chapter.column("overflow", f"weight {n}") for n in (1, 2)]
    rows = list(zip(*columns, strict=True))
    assert_printed(rows, [[0, mpmath.nan], [1 - sigmoid, sigmoid]] * 3, 1)
    # torch, without a shift: the published failure is real
    largest = {torch.float16: 12, torch.float32: 90, torch.float64: 710}
    shown = [[score - 2, score] for score in largest.values() for _ in how]
    assert chapter.vectors("overflow", "scores") == shown
    for dtype, score in largest.items():
        e = torch.exp(torch.tensor([score - 2.0, score], dtype=dtype))
        assert torch.isfinite(e[0])
        assert torch.isinf(e[1])
        assert bool(torch.isnan((e / e.sum())[1]))


def test_underflow(chapter):
    least = mpmath.exp(-20)
    assert least < mpmath.mpf(2) ** -25  # below half of float16's smallest positive number
    assert least > mpmath.mpf(2) ** -126  # a normal float32
    question = "weight of the score −20 is 0"
    wanted = {"float16": "✓", "float32": "✗"}
    assert {one[""]: one[question] for one in chapter.table("underflow")} == wanted
    sigmoid = 1 / (1 + mpmath.exp(-2))
    assert chapter.names("underflow-sum") == ["not shifted", "shifted"]
    assert_printed(chapter.grid("underflow-sum"), [[mpmath.nan] * 2, [sigmoid, 1 - sigmoid]], 1)


@pytest.mark.parametrize("kind", ["column", "transposed", "torch", "bfloat16"])
def test_half_precision_does_not_stall(kind):
    """Along an axis that is not in one piece in memory NumPy adds float16 one by one."""
    n = 4096
    scores = {
        "column": np.zeros((n, 3), np.float16),
        "transposed": np.zeros((3, n), np.float16).T,
        "torch": torch.zeros(n, 3, dtype=torch.float16),
        "bfloat16": torch.zeros(n, 3, dtype=torch.bfloat16),
    }[kind]
    weights = package.softmax(scores, axis=0)
    assert weights.dtype == scores.dtype
    assert bool((weights == 2.0**-12).all())  # 1/4096 has a place in both
    # Of 2,048 terms the later half is 1/4 each: 1,024 + 256; float16 would stay at 1,024.
    scores[1024:] = -math.log(4)
    quarters = package.softmax(scores[:2048], axis=0)
    assert float(abs(quarters[:1024] * 1280 - 1).max()) < 2**-7
    # g = 1 for all: their mean is 1, and the gradient 0; the entropy is ln 4096.
    rows = weights.T
    gradient = package.softmax_gradient(rows, rows * 0 + 1)
    assert gradient.dtype == scores.dtype
    assert bool((gradient == 0).all())
    nats = package.entropy(rows)
    assert nats.dtype == scores.dtype
    assert float(abs(nats - 12 * math.log(2)).max()) < 12 * math.log(2) / 2**7


def test_half_precision_sums_beyond_its_largest_number():
    """70,000 ones are more than float16 can hold; a weight of 1/70,000 is not."""
    weights = package.softmax(np.zeros(70_000, np.float16))
    assert bool((weights == np.float16(1 / 70_000)).all())


def test_stall(chapter):
    """Finite is not accurate: float16 has 11 bits, 2049 has no place, and the tie goes to even."""
    assert chapter.names("stall") == ["float16", "float32"]
    assert chapter.column("stall", "sum of the exponentials") == [2048, 4096]
    assert chapter.column("stall", "sum of the weights") == [Fraction(4096, 2048), 1]
    half = torch.tensor(2048.0, dtype=torch.float16)
    assert half + 1 == half
    assert half - 1 + 1 == half


HAND = [["7/64", "−1/32", "−5/64"], ["−1/32", "3/16", "−5/32"], ["−5/64", "−5/32", "15/64"]]
HAND_FRACTIONS = [[Fraction(x.replace("−", "-")) for x in row] for row in HAND]


def test_jacobian(chapter):
    shown = [list(row.values())[1:] for row in chapter.table("jacobian-by-hand")]
    assert shown == HAND  # worked out with a pencil
    s = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64).log()
    of_torch = torch.autograd.functional.jacobian(lambda x: torch.softmax(x, -1), s)
    wanted = np.array(HAND_FRACTIONS, float)
    np.testing.assert_allclose(of_torch, wanted, rtol=0, atol=1e-12)
    assert_printed(chapter.matrix("jacobian", "J"), wanted, 2)
    assert_printed(chapter.grid("jacobian-torch"), wanted, 6)
    values = [float(v) for v in chapter.values("jacobian")[:3]]
    assert_printed(values, [Fraction(15, 64), Fraction(5, 64), Fraction(10, 64)], 3)


def test_jacobian_properties(chapter):
    mean = Fraction(3 + 2 + 5, 8)
    variance = Fraction(9 + 2 + 5, 8) - mean**2
    (row,) = chapter.table("jacobian-properties")
    assert list(row) == ["mean", "variance", "v J vᵀ"]
    assert_printed([float(x) for x in row.values()], [mean, variance, variance], 4)


def test_gradient(chapter):
    g = [3, 1, 1]
    wanted = [sum(g[i] * HAND_FRACTIONS[i][j] for i in range(3)) for j in range(3)]
    assert wanted == [x * (y - Fraction(10, 8)) for x, y in zip(EIGHTHS, g, strict=True)]
    assert_printed(chapter.grid("gradient"), [wanted], 5)


def test_entropy(chapter):
    assert chapter.column("entropy-table", "τ") == [0.5, 1, 2, 4, 8, 64]
    for tau, largest, entropy, slope, formula in chapter.grid("entropy-table"):
        weights = softmax_of(EXAMPLE, tau)
        assert_printed([largest, entropy], [max(weights), entropy_of(weights)], 4)
        exact = mpmath.diff(lambda t: entropy_of(softmax_of(EXAMPLE, t)), tau)
        assert_printed([slope, formula], [exact, exact], 4)
    assert chapter.values("entropy-rises") == [str(EXAMPLE)]
    shown, *said = chapter.values("temperature")[4:7]
    assert shown == str(EXAMPLE)
    assert_printed(
        [float(v) for v in said[:2]], [max(softmax_of(EXAMPLE, tau)) for tau in (1, 8)], 4
    )
    # Typed from seed 001: largest of softmax([1, 1, 1, 5]).
    assert said[0] == "0.9479"


def test_dominates(chapter):
    leads = (0, 1, 2, 4, 8, 16)
    head = ["n", "ln(n − 1)", *(f"Δ = {lead}" for lead in leads)]
    rows = chapter.table("dominates")
    assert [list(row) for row in rows] == [head] * 4
    for n, row in zip((2, 8, 64, 1024), chapter.grid("dominates"), strict=True):
        assert row[0] == n
        assert_printed(row[1], mpmath.log(n - 1), 2)
        assert_printed(row[2:], [1 / (1 + (n - 1) * mpmath.exp(-lead)) for lead in leads], 4)
    assert chapter.values("temperature")[0] == f"{float(mpmath.log(1023)):.2f}"
    # Half of the weight at that gap, and at twice the gap for temperature 2.
    assert abs(compute_leader_weight(mpmath.log(1023), 1024) - 0.5) < 1e-30
    assert abs(compute_leader_weight(2 * mpmath.log(1023), 1024, 2) - 0.5) < 1e-30

    wanted = []
    for scores, gap, m in zip(SCORES, (0, 4, 2), (1, 1, 1), strict=True):
        weights = softmax_of(scores)
        rest = mpmath.fsum(a for j, a in enumerate(weights) if j != m)
        output = product([weights], VALUES)[0]
        distance = norm([o - v for o, v in zip(output, VALUES[m], strict=True)])
        spread = max(
            frobenius([[x - y for x, y in zip(v, VALUES[m], strict=True)]]) for v in VALUES
        )
        wanted.append([gap, rest, 2 * mpmath.exp(-gap), distance, rest * spread])
    assert chapter.vectors("dominates-output", "scores") == SCORES
    columns = ["Δ", "1 − a_m", "bound on 1 − a_m", "‖o − v_m‖", "bound on ‖o − v_m‖"]
    for name, exact in zip(columns, zip(*wanted, strict=True), strict=True):
        assert_printed(chapter.column("dominates-output", name), exact, 0 if name == "Δ" else 4)
    said = [float(v) for v in chapter.values("dominates-values")]
    assert_printed(said, [wanted[1][0], wanted[1][1], wanted[1][3]], 4)


def test_saturation(chapter):
    norms = {}
    for c, others, size, bound in chapter.grid("saturation-table"):
        weights = softmax_of([c * s for s in EXAMPLE])
        exact_others = mpmath.fsum(weights[:3])
        norms[c] = frobenius(jacobian_of(weights))
        assert_printed_e([others, size, bound], [exact_others, norms[c], 2 * exact_others])
        assert norms[c] <= 2 * exact_others
    assert list(norms) == [0, 0.25, 0.5, 1, 2, 4]
    at_1, at_4 = (float(value) for value in chapter.values("saturation-measured")[:2])
    assert_printed(at_1, norms[1], 3)
    assert_printed_e(at_4, norms[4] * mpmath.mpf(10) ** 7)  # "× 10⁻⁷" stands in the sentence
    assert chapter.values("saturation-measured")[2:] == [str(EXAMPLE)]

    assert chapter.column("lower-bound", "R") == [1, 2, 4, 8]
    for R, low, smallest, stretch in chapter.grid("lower-bound"):
        weights = softmax_of([R / 4 * s for s in EXAMPLE])
        assert_printed_e([low, smallest], [mpmath.exp(-R) / 4, weights[0]])
        # Two of the three tied keys: v = (1, -1, 0, 0) / √2 gives the smallest ‖v J‖.
        v = [[1 / mpmath.sqrt(2), -1 / mpmath.sqrt(2), 0, 0]]
        assert_printed_e([stretch], [frobenius(product(v, jacobian_of(weights)))])


def test_two_keys(chapter):
    assert chapter.names("two-keys") == ["exp", "Φ"]
    ratios = [mpmath.exp, lambda x: mpmath.ncdf(x) / mpmath.ncdf(-x)]
    got = chapter.grid("two-keys")
    assert_printed(got, [[h(1) ** 2, h(2)] for h in ratios], 3)
    assert [once == twice for once, twice in got] == [True, False]


def test_alternatives(chapter):
    tried = [[2, 4, 4], [102, 104, 104], [20, 40, 40], [-1, 2, 1], [-2, -4, -4]]
    rules = ["softmax", "s / Σs", "s² / Σs²", "ReLU / ΣReLU", "ReLU / n"]

    def shares(parts):
        total = sum(parts)
        return [Fraction(part, total) if total else mpmath.nan for part in parts]

    wanted = []
    for scores in tried:
        relu = [max(0, s) for s in scores]
        wanted += [
            softmax_of(scores),
            shares(scores),
            shares([s * s for s in scores]),
            shares(relu),
            [Fraction(s, 3) for s in relu],
        ]
    assert [row["rule"] for row in chapter.table("alternatives")] == rules * 5
    assert chapter.vectors("alternatives", "scores") == [row for row in tried for _ in rules]
    assert_printed(chapter.vectors("alternatives", "weights"), wanted, 4)

    said = chapter.values("alternatives")
    assert_printed(json.loads(said[0]), shares([-1, 2, 1]), 4)
    assert_printed(json.loads(said[1]), shares([1, 4, 1]), 4)
    assert said[2] == "[nan, nan, nan]"
    assert_printed(json.loads(said[3]), [Fraction(s, 3) for s in (2, 4, 4)], 4)


def test_each_requirement_is_needed():
    """The three other rules of the text: each breaks one requirement alone (3 follows)."""

    def take_exponentials(s):
        return [mpmath.exp(x) for x in s]

    def divide_logarithms(s):
        shares = [mpmath.log(1 + mpmath.exp(x)) for x in s]
        return [share / mpmath.fsum(shares) for share in shares]

    def share_equally(s):
        return [mpmath.mpf(1) / len(s)] * len(s)

    rules = {None: softmax_of, 1: take_exponentials, 2: divide_logarithms, 4: share_equally}
    rows = [[2, 4, 4], [102, 104, 104], [-1, 2, 1], [-2, -4, -4], [0, 3]]
    for number, rule in rules.items():
        broken = set()
        for s in rows:
            a = rule(s)
            if min(a) <= 0 or abs(mpmath.fsum(a) - 1) > 1e-12:
                broken.add(1)
            for other in (rule([x + 1 for x in s]), rule([*s, 7])):  # shifted; a further key
                ratios = [(x / a[0], y / other[0]) for x, y in zip(a, other, strict=False)]
                if any(abs(x - y) > 1e-9 * x for x, y in ratios):
                    broken.add(2)
            for i, j in itertools.permutations(range(len(s)), 2):
                if (s[i] > s[j]) != (a[i] > a[j]):
                    broken.add(4)
        assert broken == ({number} if number else set())


def test_dead(chapter):
    assert chapter.names("dead") == ["ReLU / ΣReLU", "softmax"]
    column = [row[0] for row in jacobian_of(softmax_of([-1, 2, 1]))]
    assert_printed(chapter.grid("dead"), [[0, 0, 0], column], 4)


CASES = [f"{case}, query {i}" for case in ("wrong", "right") for i in (1, 2, 3)]


def test_scale_after(chapter):
    root = mpmath.sqrt(3)
    wrong = [[a / root for a in softmax_of(scores)] for scores in SCORES]
    right = [softmax_of(scores, root) for scores in SCORES]
    assert chapter.names("scale-after") == CASES
    shown = np.array(chapter.grid("scale-after"))
    assert_printed(shown, [[*row, sum(row)] for row in wrong + right], 4)
    assert_printed(shown[:3, 3], [1 / root] * 3, 4)
    # torch's own attention agrees with the right one and not with seed 004's
    q, k, v = (torch.tensor(x, dtype=torch.float64)[None] for x in (QUERIES, KEYS, VALUES))
    attention = torch.nn.functional.scaled_dot_product_attention(q, k, v)[0].numpy()
    values = np.array(VALUES)
    np.testing.assert_allclose(shown[3:, :3] @ values, attention, atol=1e-3)
    assert np.abs(shown[:3, :3] @ values - attention).min() > 0.2
    assert_printed(chapter.grid("scale-after-shrinks"), [[1 / root] * 3], 4)
    said = [float(v) for v in chapter.values("mistake-scale-after")]
    assert_printed(said, [softmax_of(SCORES[1])[1], right[1][1]], 4)


def test_wrong_axis(chapter):
    root = mpmath.sqrt(3)

    def across(scores):
        columns = [softmax_of(column, root) for column in zip(*scores, strict=True)]
        return list(zip(*columns, strict=True))

    wrong, right = across(SCORES), [softmax_of(scores, root) for scores in SCORES]
    outputs = product(wrong, VALUES)
    assert norm(outputs[1]) > max(norm(v) for v in VALUES)
    sums = [sum(row) for row in wrong] + [1] * 3
    rows = zip(sums, outputs + product(right, VALUES), strict=True)
    assert chapter.names("wrong-axis") == CASES
    assert_printed(chapter.grid("wrong-axis"), [[total, *output] for total, output in rows], 4)

    # Query 3 becomes 0: so does row 3 of the scores.
    other = [*SCORES[:2], [0, 0, 0]]
    first = product(across(other), VALUES)[0]
    moved = max(abs(x - y) for x, y in zip(first, outputs[0], strict=True))
    # With later keys hidden, output 1 is its only weight, that of key 1, times value 1.
    before, after = (softmax_of([row[0] for row in scores], root)[0] for scores in (SCORES, other))
    leaked = abs(after - before) * max(VALUES[0])
    names = ["wrong axis", "right axis", "wrong axis, later keys hidden"]
    assert chapter.names("wrong-axis-leak") == names
    assert_printed(
        chapter.column("wrong-axis-leak", "largest change of output 1"), [moved, 0, leaked], 4
    )


def test_exercises(chapter):
    tenths = [Fraction(3, 10), Fraction(1, 10), Fraction(6, 10)]
    squares = [Fraction(9, 46), Fraction(1, 46), Fraction(36, 46)]
    assert chapter.names("exercise-weights") == ["s", "s + 5", "τ = 1/2"]
    assert_printed(chapter.grid("exercise-weights"), [tenths, tenths, squares], 4)

    gained = [[sum(x * y for x, y in zip(q, (2, -1, 5), strict=True))] * 3 for q in QUERIES]
    assert chapter.grid("exercise-bias") == gained

    # 1/2·1/2, -1/2·1/3, -1/2·1/6; -1/3·1/2, 1/3·2/3, …; 1/2·(6 - 3), 1/3·(0 - 3), 1/6·(0 - 3)
    wanted = "1/4 −1/6 −1/12 −1/6 2/9 −1/18 −1/12 −1/18 5/36 3/2 −1 −1/2"
    shown = [list(row.values())[1:] for row in chapter.table("exercise-jacobian")]
    assert [cell for row in shown for cell in row] == wanted.split()

    assert chapter.names("exercise-tie") == ["τ = 1", "τ = 0.5", "τ = 0.1"]
    tied = [softmax_of([2, 4, 4], mpmath.mpf(tau.numerator) / tau.denominator)
            for tau in (Fraction(1), Fraction(1, 2), Fraction(1, 10))]  # fmt: skip
    assert_printed(chapter.grid("exercise-tie"), tied, 4)

    assert chapter.column("exercise-gap", "n") == [8, 1024]
    gaps = chapter.column("exercise-gap", "Δ")
    assert_printed(gaps, [mpmath.log(99 * 7), mpmath.log(99 * 1023)], 2)
    assert chapter.column("exercise-gap", "largest weight") == [0.99] * 2
    assert round(gaps[1] - gaps[0]) == 5

    sigmoid = 1 / (1 + mpmath.exp(-1))
    row = [1 - sigmoid, sigmoid]
    assert_printed(chapter.grid("exercise-bug"), [[mpmath.nan] * 2, row], 4)
    assert_printed(chapter.grid("exercise-bug-fixed"), [row, row], 4)

    wanted = []
    for h in (2, 1, mpmath.mpf(1) / 10):
        change = 1 / (1 + mpmath.exp(-2 * h)) - mpmath.mpf(1) / 2
        wanted.append(change / h)
        assert change <= h / 2
    assert chapter.column("exercise-half", "h") == [2, 1, 0.1]
    assert_printed(chapter.column("exercise-half", "change of the weight / h"), wanted, 4)

    exact = 2 * mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(s) / 2) for s in EXAMPLE))
    (row,) = chapter.table("exercise-gibbs")
    assert_printed([float(row["bound"]), float(row["at softmax"])], [exact, exact], 4)
    assert row["random weights above the bound"] == "0"
    assert chapter.values("exercise-gibbs") == [str(EXAMPLE)]


LEADS = [mpmath.log(99 * n) for n in (7, 8, 1)]
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-weights": [
        [3 / 10, 1 / 10, 6 / 10],
        [mpmath.log(3) / mpmath.log(18), 0, mpmath.log(6) / mpmath.log(18)],
        [3 / 10, 1 / 10, 6 / 10],
        [8 / 25, 6 / 25, 11 / 25],
        [9 / 46, 1 / 46, 36 / 46],
        [math.sqrt(x) / (math.sqrt(3) + 1 + math.sqrt(6)) for x in (3, 1, 6)],
    ],
    "exercise-bias": [12, 4],  # (1, 0, 2) and (0, 1, 1) times (2, -1, 5)
    "exercise-jacobian": [
        [1 / 4, -1 / 6, -1 / 12],
        [1 / 4, 0, 0],
        [1 / 2, 0, 0],
        [3 / 2, -1, -1 / 2],
        [3, 0, 0],
        [3, -3, -3],
    ],
    "exercise-tie": [1 / (1 + 2 * mpmath.exp(4)), 1 / (1 + 2 * mpmath.e)],
    "exercise-gap": [*LEADS, mpmath.log(99 * 1023), 128 * LEADS[0], mpmath.log10(99 * 1023)],
    "exercise-bug": [[1 / (1 + mpmath.e), mpmath.e / (1 + mpmath.e)], [0, 0]],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
