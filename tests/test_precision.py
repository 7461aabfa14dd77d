"""Precision: against torch's and NumPy's own short formats, fractions, and plain loops.

The trainings are repeated with torch's autograd, from the same draws.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_docs.precision import (
    FORMATS,
    gamma,
    round_to,
    rounded_product,
    rounded_sum,
    soft_cap,
)
from attention_docs.score_functions import cosine
from tests.conftest import scale_examples
from tests.exact import assert_printed, make_test_of_asked
from tests.page import Page, parse_number, vector_of

SHORT = ("float16", "bfloat16", "float8_e5m2", "float8_e4m3fn")
seeds = st.integers(0, 2**32 - 1)
few = scale_examples(30)


def dtype(name: str) -> torch.dtype:
    found = getattr(torch, name)
    assert isinstance(found, torch.dtype)
    return found


def by_torch(x: np.ndarray, name: str) -> np.ndarray:
    """Rounded by torch's own conversion; x must hold numbers of float32."""
    return torch.tensor(x, dtype=torch.float32).to(dtype(name)).double().numpy()


# ------------------------------------------------------------------ the functions


@pytest.mark.parametrize("name", SHORT)
def test_rounding_like_torch(name: str) -> None:
    rng = np.random.default_rng(1)
    far = 450 if name == "float8_e4m3fn" else 1e39
    wide = rng.normal(size=50_000) * 10 ** rng.uniform(-12, 7, 50_000)
    # All numbers of the format itself would be too many: a grid that meets every tie of 8 bits.
    ties = np.arange(-(2**13), 2**13 + 1) / 2**8
    tiny = np.arange(-(2**10), 2**10 + 1) / 2**27
    x = np.concatenate([wide, ties, tiny, [0.0, 65519, 65520, 61439, 61440, 448, 449]])
    x = x.astype(np.float32).astype(np.float64)
    x = x[np.abs(x) < far]
    assert np.array_equal(round_to(x, name), by_torch(x, name))
    assert np.array_equal(np.signbit(round_to(-np.abs(x), name)), np.ones(len(x), bool))


def test_rounding_beyond_the_largest() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 1e300, -1e300, 464.0, 464.1])
    infinite = round_to(x, "float8_e5m2")
    assert infinite[:2].tolist() == [np.inf, -np.inf]
    assert infinite[3:5].tolist() == [np.inf, -np.inf]
    assert np.isnan(infinite[2])
    none = round_to(x, "float8_e4m3fn")
    assert np.isnan(none[[0, 1, 2, 3, 4, 6]]).all()
    assert none[5] == 448  # half way between 448 and 480, which is no number of the format


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_those_of_torch(name: str) -> None:
    info, form = torch.finfo(dtype(name)), FORMATS[name]
    assert form.largest == info.max
    assert 2.0**form.e_min == info.smallest_normal
    assert form.u == info.eps / 2
    assert form.infinite == (name != "float8_e4m3fn")


@few
@given(seed=seeds, name=st.sampled_from(SHORT))
def test_rounding_error(seed: int, name: str) -> None:
    """|fl(x) - x| ≤ u|x|, in fractions; and no number of the format is nearer."""
    form = FORMATS[name]
    x = np.random.default_rng(seed).uniform(1, 200, 50)
    for one, got in zip(x.tolist(), round_to(x, name).tolist(), strict=True):
        exact, near = Fraction(one), Fraction(got)
        assert abs(near - exact) <= Fraction(form.u) * abs(exact)
        mark = Fraction(2) ** (math.floor(math.log2(one)) - form.p + 1)
        assert abs(near - exact) <= mark / 2
        assert (near / mark).denominator == 1


@pytest.mark.parametrize("name", SHORT)
def test_counting_stops(name: str) -> None:
    """A plain loop in torch's own arithmetic."""
    p = FORMATS[name].p
    total = torch.tensor(0.0, dtype=dtype(name))
    for n in range(1, 2**p + 20):
        total = (total.float() + 1).to(dtype(name))
        assert total.item() == min(n, 2**p)
    assert rounded_sum(np.ones(2**p + 19), name) == 2**p
    assert rounded_sum(np.ones(2**p - 1), name) == 2**p - 1


@few
@given(seed=seeds, n=st.integers(1, 40))
def test_sums_and_products_like_numpy_float16(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.normal(size=size).astype(np.float16) for size in ((3, n), (n, 2)))
    wanted = np.zeros((3, 2), np.float16)
    for i in range(3):
        for j in range(2):
            total = a[i, 0] * b[0, j]
            for k in range(1, n):
                total = np.float16(total + np.float16(a[i, k] * b[k, j]))
            wanted[i, j] = total
    got = rounded_product(a.astype(np.float64), b.astype(np.float64), "float16")
    assert np.array_equal(got, wanted)
    total = a[:, 0]
    for k in range(1, n):
        total = total + a[:, k]
    assert np.array_equal(rounded_sum(a.astype(np.float64), "float16"), total)


@few
@given(seed=seeds, d=st.integers(1, 60), name=st.sampled_from(("float16", "bfloat16")))
def test_dot_bound(seed: int, d: int, name: str) -> None:
    """In fractions, for the bound as for the error."""
    rng = np.random.default_rng(seed)
    q, k = (round_to(rng.normal(size=d), name) for _ in range(2))
    got = Fraction(rounded_product(q[None], k[:, None], name).item())
    terms = [Fraction(a) * Fraction(b) for a, b in zip(q.tolist(), k.tolist(), strict=True)]
    nu = d * Fraction(2) ** -FORMATS[name].p
    assert abs(got - sum(terms)) <= nu / (1 - nu) * sum(map(abs, terms))
    assert gamma(d, name) == pytest.approx(float(nu / (1 - nu)), rel=1e-14)


def test_a_product_among_the_subnormal_numbers_breaks_the_bound() -> None:
    """1.5 · 2⁻¹² times 2⁻¹² does not become 0 in float16, but half a mark is a third of it."""
    q, k = np.array([1.5 * 2.0**-12]), np.array([2.0**-12])
    got = Fraction(rounded_product(q[None], k[:, None], "float16").item())
    wanted = Fraction(q.item()) * Fraction(k.item())
    assert got > 0
    assert abs(got - wanted) > 100 * Fraction(gamma(1, "float16")) * wanted


def test_gamma_bounds_every_product() -> None:
    """All signs of n factors, exactly."""
    u = Fraction(1, 8)
    for n in range(1, 8):
        bound = n * u / (1 - n * u)
        for plus in range(n + 1):
            assert abs((1 + u) ** plus * (1 - u) ** (n - plus) - 1) <= bound
    assert gamma(8, "float8_e5m2") == math.inf
    assert gamma(0, "float16") == 0


@few
@given(seed=seeds, delta=st.floats(0.001, 3))
def test_softmax_factor(seed: int, delta: float) -> None:
    """With torch's softmax; and the extreme case comes as near as one likes."""
    generator = torch.Generator().manual_seed(seed)
    s = 4 * torch.randn(20, 7, generator=generator, dtype=torch.float64)
    moved = s + delta * (2 * torch.rand(20, 7, generator=generator, dtype=torch.float64) - 1)
    factor = (moved.log_softmax(-1) - s.log_softmax(-1)).abs().max().item()
    assert factor <= 2 * delta + 1e-12
    extreme = torch.tensor([0.0, 40.0], dtype=torch.float64)
    shift = torch.tensor([delta, -delta], dtype=torch.float64)
    found = ((extreme + shift).log_softmax(-1) - extreme.log_softmax(-1))[0].item()
    assert found == pytest.approx(2 * delta, rel=1e-9)


@few
@given(seed=seeds)
def test_step_identity(seed: int) -> None:
    """In fractions, with d_k = 4 so that the root is 2."""
    rng = np.random.default_rng(seed)
    q, k = ([Fraction(int(x), 7) for x in rng.integers(-9, 10, 4)] for _ in range(2))
    eta, g = Fraction(int(rng.integers(1, 9)), 5), Fraction(int(rng.integers(-9, 10)), 3)
    s = sum(a * b for a, b in zip(q, k, strict=True)) / 2
    q_after = [a - eta * g * b / 2 for a, b in zip(q, k, strict=True)]
    k_after = [b - eta * g * a / 2 for a, b in zip(q, k, strict=True)]
    after = sum(a * b for a, b in zip(q_after, k_after, strict=True)) / 2
    squares = sum(a * a for a in q) + sum(b * b for b in k)
    assert after == s - eta * g * squares / 4 + eta**2 * g**2 * s / 4


@few
@given(seed=seeds, size=st.floats(1e-3, 1e6), c=st.floats(0.1, 100))
def test_bounded(seed: int, size: float, c: float) -> None:
    rng = np.random.default_rng(seed)
    q, k = size * rng.normal(size=(4, 5)), size * rng.normal(size=(6, 5))
    capped = soft_cap(q @ k.T, c)
    assert (np.abs(capped) <= c).all()
    np.testing.assert_allclose(
        capped, [[c * math.tanh(s / c) for s in one] for one in q @ k.T], rtol=1e-12, atol=1e-12
    )
    assert (np.abs(c * cosine(q, k)) <= c * (1 + 1e-12)).all()
    assert torch.equal(
        soft_cap(torch.tensor([0.0, 9.0]), 2.0), 2 * torch.tanh(torch.tensor([0.0, 4.5]))
    )


def test_inputs_are_left_alone() -> None:
    x = np.full((2, 3), 1.1)
    x.flags.writeable = False
    round_to(x, "bfloat16"), rounded_sum(x, "bfloat16")


# ------------------------------------------------------------ published numbers


def test_the_sum_of_the_weights(chapter: Page) -> None:
    total = torch.tensor(0.0, dtype=torch.bfloat16)
    for _ in range(4096):
        total = total + 1
    assert total.item() == 256
    assert [[*found.values()] for found in chapter.table("hook")] == [
        ["float32", "4096", "1"],
        ["bfloat16", "256", "16"],
    ]
    assert chapter.values("precision")[0] == f"{4096 / total.item():.0f}"
    assert chapter.column("mistake-half", "sum of the weights") == [16, 1]


def test_formats(chapter: Page) -> None:
    found = chapter.table("formats")
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    for line, name in zip(found, FORMATS, strict=True):
        info = torch.finfo(dtype(name))
        p = round(1 - math.log2(info.eps))
        assert [line[""], line["p"], line["2ᵖ"]] == [name, str(p), f"{2**p:,}"]
        assert line["u"] == f"2{str(-p).translate(raised)}"
        assert parse_number(line["largest number"]) == float(f"{info.max:.1e}")


def test_pencil(chapter: Page) -> None:
    assert chapter.output("pencil").startswith("1 added up forty times: 16")
    assert chapter.column("pencil", "number") == [*range(16, 22)]
    rounded = by_torch(np.arange(16.0, 22), "float8_e4m3fn").tolist()
    assert chapter.column("pencil", "rounded") == rounded
    wanted = {"float16": 2**11, "bfloat16": 2**8, "float8_e5m2": 8, "float8_e4m3fn": 16}
    assert [[*line.values()] for line in chapter.table("stuck")] == [
        [name, str(stop + 100), str(stop)] for name, stop in wanted.items()
    ]
    tiny = np.array([2.0**-9, 2.0**-10, 0.75 * 2.0**-9])
    for line, name in zip(chapter.table("special"), ("float8_e4m3fn", "float8_e5m2"), strict=True):
        small = [f"{x:.2f}" for x in by_torch(tiny, name) * 2**9]
        beyond = ["NaN", "NaN"] if name == "float8_e4m3fn" else ["∞", "−∞"]
        assert [*line.values()] == [name, *small, *beyond]
    (line,) = chapter.table("half-mark")
    with np.errstate(over="ignore"):
        near = np.array([65504.0, 65519.0, 65520.0]).astype(np.float16)
    assert near.tolist() == [65504, 65504, math.inf]
    assert [*line.values()] == ["float16", "65,504", "65,504", "∞"]


def test_rounding_on_the_page(chapter: Page) -> None:
    """Never more than u/(1 + u), which is reached half way from a power of 2 to the next mark."""
    found = chapter.table("rounding")
    draws = np.random.default_rng(754)
    for line, name in zip(found, ("float32", *SHORT), strict=True):
        u = torch.finfo(dtype(name)).eps / 2
        x = draws.uniform(1, 4, 100_000)
        rounded = torch.tensor(x).to(dtype(name)).double().numpy()
        error = (np.abs(rounded - x) / x).max() / u
        shown = float(line["largest relative error, in u"])
        assert line[""] == name
        assert shown == pytest.approx(error, abs=0.0051)
        assert error <= 1 / (1 + u)
        if u > 1e-3:  # the text: 8/9 for three digits, 16/17 for four
            assert shown == pytest.approx(1 / (1 + u), abs=0.01)


def test_dot_on_the_page(chapter: Page) -> None:
    """The largest of 400 errors again, in torch's bfloat16."""
    rng = np.random.default_rng(754 + 128)
    q, k = (torch.tensor(rng.standard_normal((400, 128))).to(torch.bfloat16) for _ in range(2))
    total = q[:, 0] * k[:, 0]
    for i in range(1, 128):
        total = total + q[:, i] * k[:, i]
    exact = (q.double() * k.double()).sum(dim=1)
    size = (q.double() * k.double()).abs().sum(dim=1)
    share = ((total.double() - exact).abs() / size).max().item() / (128 / 256 / (1 - 128 / 256))
    assert chapter.values("dot") == [f"{share:.0%}"]


def test_scores_of_the_control(chapter: Page) -> None:
    shape = torch.tensor([1, 0.9785, 0.91, 0.8, 0.5, -1.0], dtype=torch.float64)
    factors = {}
    captions = [frame.caption for frame in chapter.frames("control")]
    for name in ("float16", "bfloat16", "float8_e4m3fn"):
        for size in (1, 4, 16, 64):
            s = size * shape
            rounded = torch.tensor(by_torch(s.numpy(), name))
            change = (rounded.log_softmax(-1) - s.log_softmax(-1)).abs().max().item()
            factors[name, size] = math.exp(change)
            bound = math.exp(2 * size * torch.finfo(dtype(name)).eps / 2)
            assert math.exp(change) <= bound
            said = f"up to {math.exp(change):.5g}; the bound is {bound:.5g}."
            assert any(said in caption for caption in captions)
    small, large = (factors["float8_e4m3fn", size] for size in (1, 64))
    said = [f"{small:.3f}", f"{large:.1f}", f"{factors['bfloat16', 64]:.2f}"]
    assert chapter.values("softmax") == said
    for size in (1, 4, 16, 64):  # "tie at every size", and "never tie here"
        first = [by_torch(size * shape.numpy()[:2], name) for name in ("float8_e4m3fn", "bfloat16")]
        assert [a == b for a, b in first] == [True, False]


def test_softmax_bound_on_the_page(chapter: Page) -> None:
    lines = chapter.table("softmax-bound")
    for line, delta in zip(lines, (0.01, 0.1, 1), strict=True):
        assert float(line["δ"]) == delta
        found, bound = float(line["largest factor"]), float(line["bound"])
        assert_printed(bound, math.exp(2 * delta))
        assert found == bound  # as the text says, to four decimals


def test_step_on_the_page(chapter: Page) -> None:
    # q - ηgk/2 = (1, 2) + (3, 1)/4, k - ηgq/2 = (3, 1) + (1, 2)/4
    q, k = (Fraction(7, 4), Fraction(9, 4)), (Fraction(13, 4), Fraction(3, 2))
    after = (q[0] * k[0] + q[1] * k[1]) / 2
    (shown,) = chapter.table("step")
    assert [*shown.values()] == [str(Fraction(5, 2)), str(after), str(after)]


KINDS = ("plain", "cap", "norm")
ETAS = (10, 30, 100, 300)
FAR = (300, 1000, 3000)


@functools.cache
def all_trained(etas: tuple[int, ...], seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """The training again, each kind, rate and seed at once: torch's tanh, normalize, cross-entropy
    and autograd. Whether all is right, and the largest score; no and infinity where it ran away."""
    rngs = [np.random.default_rng(seed) for seed in range(seeds)]
    begun = torch.tensor(np.stack([rng.standard_normal((2, 32, 8)) for rng in rngs], axis=1))
    q, k = begun.expand(3, len(etas), 2, seeds, 32, 8).movedim(2, 0)
    eta = torch.tensor(etas)[:, None, None, None]

    def scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        unit = torch.nn.functional.normalize
        plain, cap = q[:2] @ k[:2].mT / math.sqrt(8)
        norm = 10 * unit(q[2], dim=-1) @ unit(k[2], dim=-1).mT
        return torch.stack([plain, 10 * torch.tanh(cap / 10), norm])

    alive = torch.ones(3, len(etas), seeds, dtype=torch.bool)
    for _ in range(200):
        drawn = [rng.random((32, 32)).argsort(axis=1)[:, :8] for rng in rngs]
        lists = torch.tensor(np.stack(drawn))
        pairs = (32 * lists[:, :, :1] + lists).flatten(1)  # of 32 by 32
        pairs = pairs.expand(3, len(etas), seeds, -1)
        q, k = (w.detach().requires_grad_() for w in (q, k))
        s = scores(q, k).flatten(-2).gather(-1, pairs).view(-1, 8)
        right = torch.zeros(len(s), dtype=torch.long)
        (torch.nn.functional.cross_entropy(s, right, reduction="sum") / 32).backward()
        q, k = (w.detach() - eta * w.grad for w in (q, k))  # type: ignore[operator]
        alive &= torch.maximum(q.abs(), k.abs()).amax((-2, -1)) < 1e6
    s = scores(q, k)
    right = (s.argmax(-1) == torch.arange(32)).all(-1) & alive
    return right.numpy(), torch.where(alive, s.abs().amax((-2, -1)), math.inf).numpy()


def trained(kind: str, eta: int, seed: int) -> tuple[bool, float]:
    place = KINDS.index(kind), ETAS.index(eta), seed
    right, largest = (one[place] for one in all_trained(ETAS, 5))
    return bool(right), float(largest)


def span(found: list[float], spec: str) -> str:
    """From the smallest to the largest; one number where both look the same."""
    return "–".join(dict.fromkeys(format(edge, spec) for edge in (min(found), max(found))))


def test_training(chapter: Page) -> None:
    found = [[*line.values()] for line in chapter.table("train")]
    wanted = []
    for kind in ("plain", "cap", "norm"):
        for eta in (10, 30, 100, 300):
            runs = [trained(kind, eta, seed) for seed in range(5)]
            right, sizes = sum(one for one, _ in runs), [s for _, s in runs]
            shown = "∞" if min(sizes) == math.inf else span(sizes, ".0f")
            wanted.append([kind, str(eta), str(right), shown])
    assert found == wanted
    # What the text says of it.
    assert all(trained(kind, 30, seed)[0] for kind in ("plain", "cap", "norm") for seed in range(5))
    assert all(trained("plain", 30, seed)[1] > 10 for seed in range(5))
    assert not any(trained(kind, 100, seed)[0] for kind in ("plain", "cap") for seed in range(5))
    assert all(trained("norm", eta, seed)[0] for eta in (100, 300) for seed in range(5))


def test_where_qk_norm_ends(chapter: Page) -> None:
    right, _ = all_trained(FAR, 20)
    learned = right[KINDS.index("norm")].sum(axis=1).tolist()
    assert chapter.grid("train-far") == [[*pair] for pair in zip(FAR, learned, strict=True)]
    assert (learned[0], learned[2]) == (20, 0)  # "all twenty", "none"
    assert chapter.values("growth") == [str(learned[1])]


@functools.cache
def measure_error(setting: str, seed: int) -> float:
    """The relative error of attention in torch's own bfloat16 and float32 arithmetic."""
    rng = np.random.default_rng(seed)
    q, k, v = (
        torch.tensor(rng.standard_normal((m, 64))).to(torch.bfloat16) for m in (8, 1024, 1024)
    )
    sums = torch.bfloat16 if setting == "all in bfloat16" else torch.float32
    kept = torch.float32 if "scores" in setting else torch.bfloat16

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        total = a[:, :1].to(sums) * b[:1].to(sums)
        for i in range(1, a.shape[1]):
            total = total + a[:, i : i + 1].to(sums) * b[i : i + 1].to(sums)
        return total

    s = (product(q, k.mT).double() / 8).to(kept)
    s = s - s.amax(dim=1, keepdim=True)
    powers = s.double().exp().to(kept)
    total = powers[:, 0].to(sums)
    for i in range(1, 1024):
        total = total + powers[:, i].to(sums)
    a = (powers.double() / total.double()[:, None]).to(torch.bfloat16)
    got = product(a, v).to(torch.bfloat16).double()
    exact = torch.softmax(q.double() @ k.double().mT / 8, dim=-1) @ v.double()
    return ((got - exact).abs().mean() / exact.abs().mean()).item()


def test_where(chapter: Page) -> None:
    found = chapter.table("where")
    names = ["all in bfloat16", "sums in float32", "sums, scores and exponentials in float32"]
    assert [line[""] for line in found] == names
    for line, name in zip(found, names, strict=True):
        errors = [100 * measure_error(name, seed) for seed in range(3)]
        assert line["error of the outputs, %"] == span(errors, ".1f")


def test_pairs(chapter: Page) -> None:
    rng = np.random.default_rng(754)
    # Of the page's generator only the last one counts; see the listing.
    x = torch.tensor(rng.uniform(0, 1, (50, 1024))).to(torch.bfloat16)
    exact = x.double().sum(dim=1)
    along = x[:, 0]
    for i in range(1, 1024):
        along = along + x[:, i]
    paired = x
    while paired.shape[1] > 1:
        paired = paired[:, ::2] + paired[:, 1::2]
    lines = chapter.table("pairwise")
    for line, total in zip(lines, (along, paired[:, 0]), strict=True):
        error = (total.double() / exact - 1).abs()
        shown = [float(line["smallest error"]), float(line["largest error"])]
        assert_printed(shown, [error.min(), error.max()], decimals=3)
    bound = 10 / 256 / (1 - 10 / 256)
    assert lines[0]["bound"] == ""
    assert_printed(float(lines[1]["bound"]), bound, decimals=3)
    assert chapter.values("exercise-pairs") == [
        f"{(paired[:, 0].double() / exact - 1).abs().max().item():.3f}",
        f"{bound:.3f}",
    ]
    # Ones in pairs: every partial sum is a power of 2.
    ones = torch.ones(4096, dtype=torch.bfloat16)
    while len(ones) > 1:
        ones = ones[::2] + ones[1::2]
    assert ones.item() == 4096


def test_exercises(chapter: Page) -> None:
    (rounded,) = chapter.table("exercise-round")
    assert [float(x) for x in rounded.values()] == [10 / 32, 48, 10]
    total = np.float16(0)
    for _ in range(4000):
        total = np.float16(total + np.float16(0.1))
    assert chapter.output("exercise-tenths") == f"{total:.0f}" == "256"
    half, brain = ([*line.values()] for line in chapter.table("exercise-which"))
    assert half == ["float16", f"{math.exp(2 * 50 / 2**11):.2f}", "∞"]
    far = torch.tensor(1e5).to(torch.bfloat16).item()
    assert brain == ["bfloat16", f"{math.exp(2 * 50 / 2**8):.2f}", f"{far:.0f}"]
    columns = [chapter.column("exercise-cap", f"key {j}") for j in (1, 2, 3)]
    wrong, right = zip(*columns, strict=True)
    capped = [math.exp(3 * math.tanh(s / 3)) for s in (3, 1)]
    assert_printed(wrong, [x / (sum(capped) + math.exp(-3)) for x in (*capped, math.exp(-3))])
    assert_printed(right, [x / sum(capped) for x in (*capped, 0)])
    gaps = np.array([17.0, 17.5])
    kinds = [np.exp(-gaps).astype(np.float16) > 0, torch.tensor(-gaps).exp().bfloat16() > 0]
    shown = [[*line.values()] for line in chapter.table("exercise-vanish")]
    for (name, *marks), wanted, form in zip(shown, kinds, ("float16", "bfloat16"), strict=True):
        assert (name, marks) == (form, ["✓" if left else "✗" for left in wanted])
    assert kinds[0].tolist() == [True, False]
    # The smallest numbers, and from which gap on half of one is left.
    for form, exponent in ((torch.float16, 24), (torch.bfloat16, 133), (torch.float32, 149)):
        assert torch.finfo(form).smallest_normal * torch.finfo(form).eps == 2.0**-exponent
    assert 17 < 25 * math.log(2) < 17.5
    assert round(134 * math.log(2)) == 93
    assert torch.finfo(torch.bfloat16).smallest_normal == torch.finfo(torch.float32).smallest_normal
    q = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    (q / q.norm() @ torch.tensor([2.0, -1.0], dtype=torch.float64)).backward()
    assert q.grad is not None
    before, moved, longer = chapter.table("exercise-orthogonal")
    assert_printed(vector_of(moved["vector"]), q.grad.tolist(), decimals=3)
    after = (q - 10 * q.grad).detach()
    assert before["squared norm"] == "25.00"
    assert longer["squared norm"] == f"{(after @ after).item():.2f}"
    assert_printed(vector_of(longer["vector"]), after.tolist(), decimals=3)
    assert after @ after >= 25


CAPPED = [math.exp(3 * math.tanh(x)) for x in (1, 1 / 3, 2 / 3)]
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-round": [[10 / 32, 48, 10], [10 / 32, 52, 10]],
    "exercise-tenths": [256, 400, 512, 128],
    "exercise-which": [
        *(math.exp(100 / 2048), math.exp(50 / 2048)),
        *(math.exp(100 / 256), math.exp(50 / 256)),
    ],
    "exercise-cap": [
        math.exp(-3) / (CAPPED[0] + CAPPED[1] + math.exp(-3)),
        *(0, CAPPED[2] / sum(CAPPED)),
    ],
    "exercise-vanish": [n * math.log(2) for n in (25, 24, 134, 133)],
    "exercise-orthogonal": [0.52**2 + 6.64**2, 25],  # (3, 4) - 10 (0.352, -0.264)
}
test_what_exercises_ask = make_test_of_asked(ASKED)


def test_distances_between_numbers(chapter):
    """By torch and numpy."""
    for row, size in zip(chapter.table("steps"), (1, 20, 100), strict=True):
        one = torch.tensor([size, 1000], dtype=torch.bfloat16)
        assert float(row["bfloat16"]) == pytest.approx(
            float(torch.nextafter(one[0], one[1])) - size, rel=1e-3
        )
        for name in ("float16", "float32"):
            wanted = f"{np.spacing(np.dtype(name).type(size)):.7g}"
            assert parse_number(row[name]) == pytest.approx(float(wanted), rel=1e-6)


def test_two_programs(chapter):
    """In torch, whose sums have another order: the same errors to within 0.03 percent points."""
    rng = np.random.default_rng(1)
    draws = [rng.standard_normal((m, 64)) for m in (8, 257, 257)]
    q, k, v = (torch.tensor(one).bfloat16() for one in draws)
    long = [one.double() for one in (q, k[:256], v[:256])]
    wanted = torch.nn.functional.scaled_dot_product_attention(*long)

    def short(n):
        weights = (q.float() @ k[:n].float().T / 8).softmax(dim=-1)
        return (weights.bfloat16().float() @ v[:n].float()).bfloat16().double()

    def percent(one, other):
        return float(100 * (one - other).abs().mean() / wanted.abs().mean())

    rows = chapter.grid("two-programs")
    one_pass, wrong = short(256), short(257)
    assert rows[0][0] == 0
    assert rows[0][1] == pytest.approx(percent(one_pass, wanted), abs=0.03)
    assert rows[1][1] == pytest.approx(percent(one_pass, wanted), abs=0.05)
    assert 0.5 < rows[1][0] / rows[0][1] < 1.5
    assert rows[2][1] == pytest.approx(percent(wrong, wanted), abs=0.1)
    step, times, *sums = chapter.values("two-programs")
    big, one_ = torch.tensor(1e8), torch.tensor(1.0)
    assert sums == [f"{x.item():.0f}" for x in (big + one_ - big + one_, big - big + one_ + one_)]
    assert step == "0.125"
    assert int(times) == pytest.approx(rows[2][1] / rows[0][1], abs=1)


def test_rope_in_bfloat16(chapter):
    """In torch, with sines and cosines written out, distance by distance."""
    draw = np.random.default_rng(754)
    q, k = torch.tensor(draw.standard_normal((2, 500, 32, 2)))
    speeds = 10000.0 ** (-torch.arange(32, dtype=torch.float64) / 32)

    def short(x, rounds):
        return x.bfloat16().double() if rounds else x

    def turn(x, n, positions, angles, ends):
        angle = short(short(torch.tensor(float(n)).double(), positions) * speeds, angles)
        c, s = short(angle.cos(), ends), short(angle.sin(), ends)
        return torch.stack([x[..., 0] * c - x[..., 1] * s, x[..., 0] * s + x[..., 1] * c], dim=-1)

    def scores(n, *rounds):
        query = turn(q, n, *rounds)
        every = [(query * turn(k, n - far, *rounds)).sum(dim=(1, 2)) for far in range(1, 33)]
        return torch.stack(every)

    kinds = ((False, False, True), (True, False, True), (False, True, True))
    found = {}
    for column, n in enumerate((100, 1000, 10000)):
        exact = scores(n, False, False, False)
        for row, kind in zip(chapter.grid("rope"), kinds, strict=True):
            error = (scores(n, *kind) - exact).std(correction=0) / exact.std(correction=0)
            assert row[column] == pytest.approx(100 * float(error), abs=0.06)
            found[kind, n] = 100 * float(error)
    said = [found[kind, 1000] for kind in kinds[1:]]
    said.append(min(found[kind, 10000] for kind in kinds[1:]))
    # 2¹³ / 2⁷, and half of 2⁹ / 2⁷
    assert chapter.values("rope") == ["64", "2", *(f"{one:.0f}" for one in said)]


def test_what_training_keeps(chapter):
    """By hand: 8 · 512 · 32 = 131,072 places of 34 · 4,096 + 5 · 32 · 512 = 221,184, 139,264 and
    8,192 + 221,184 / 32 = 15,104 bytes."""
    rows = chapter.table("kept")
    assert [row["GB"] for row in rows] == [
        f"{131_072 * size / 10**9:.1f}" for size in (221_184, 139_264, 15_104)
    ]


def test_what_fits(chapter):
    """By hand: GB are billions of bytes; a scale of two bytes, and Q4_1 a smallest number too."""
    each = {
        "bfloat16": Fraction(2),
        "Q8_0": Fraction(2 + 32, 32),
        "Q4_1": Fraction(2 + 2 + 16, 32),
        "trained with Adam": Fraction(16),
    }
    rows = chapter.table("fits")
    assert [row[""] for row in rows] == ["1B", "3B", "8B", "14B", "70B"]
    for row in rows:
        billions = int(row[""].removesuffix("B"))
        for name, size in each.items():
            assert float(row[name]) == pytest.approx(float(billions * size), abs=1e-9)
    eight = next(row for row in rows if row[""] == "8B")
    assert float(eight["Q4_1"]) < 8 < float(rows[0]["trained with Adam"])


def test_quantised_weights(chapter):
    """In torch, with the rounding of its own observer for fake quantisation."""
    rng = np.random.default_rng(754)
    matrix = torch.tensor(rng.standard_normal((256, 256)))
    x = torch.tensor(rng.standard_normal(256))
    outlier = matrix * torch.where(torch.arange(256) == 0, 20.0, 1.0)
    cases = ((8, 32), (4, 32), (4, 256))
    rows = chapter.grid("quantised")
    for (bits, block), row in zip(cases, rows, strict=True):
        for weights, printed in zip((matrix, outlier), row, strict=True):
            parts = weights.reshape(-1, block)
            low, high = parts.aminmax(dim=1)
            step = (high - low) / (2**bits - 1)
            levels = torch.fake_quantize_per_channel_affine(
                (parts - low[:, None]).float(),
                step.float(),
                torch.zeros(len(parts), dtype=torch.int32),
                0,
                0,
                2**bits - 1,
            )
            error = (levels.double() + low[:, None] - parts).reshape(256, 256) @ x
            percent = 100 * float(error.norm() / (weights @ x).norm())
            assert printed == pytest.approx(percent, abs=0.0501)
    # Of a level of width s, the mean square is s²/12: 17 times the step, 17 times the error.
    assert rows[1][0] / rows[0][0] == pytest.approx(255 / 15, rel=0.15)
    # A large number spoils one block in eight, or the whole row.
    assert rows[2][1] / rows[2][0] > rows[1][1] / rows[1][0] > 1


def test_a_small_gradient_is_lost_in_float16():
    """At 2⁻²⁵, half of the smallest number; scaled by a power of two it comes back exactly."""
    edge = np.float32(2.0**-25)
    assert np.float16(edge) == 0 < np.float16(np.nextafter(edge, np.float32(1)))
    assert np.float32(np.float16(edge * 2**16)) / 2**16 == edge


def test_two_formats_in_one_product(chapter):
    """Torch names the formats in the order of the operands; a sum takes the longer one."""
    lines = chapter.output("dtypes").splitlines()
    assert lines[0] == "half @ single: expected scalar type Half but found Float"
    for line, name in zip(lines[1:3], ("linear", "attention"), strict=True):
        assert line.startswith(f"{name}: ")
        assert "same dtype" in line
        assert line.index("Half") < line.index("float")
    wanted = torch.promote_types(torch.float16, torch.float32)
    assert lines[3:] == [f"half + single: {wanted}"]


def test_tokens_in_a_second(chapter):
    """By hand: 32, 16 and 5 GB; 40 / 32 is what a maintainer of vLLM worked out (issue 7379)."""
    rows = chapter.table("speed")
    assert [row["float32"] for row in rows] == ["1.25", "31.5", "105"]
    assert [row["bfloat16"] for row in rows] == ["2.5", "63", "209"]
    assert [row["Q4_1"] for row in rows] == ["8", "202", "670"]


def test_a_loss_scale(chapter):
    """In torch: what float16 makes of three gradients at three scales."""
    rows = chapter.table("loss-scale")
    for row, one in zip(rows, (2e-8, 1e-3, 3.0), strict=True):
        for name, scale in (("1", 1), ("1,024", 1024), ("65,536", 65_536)):
            kept = torch.tensor(one * scale).half().double().item() / scale
            shown = row[f"scale {name}"]
            if math.isinf(kept):
                assert shown == "∞"
            else:
                assert parse_number(shown) == pytest.approx(kept, rel=5e-3)
    assert parse_number(rows[0]["scale 1"]) == 0
