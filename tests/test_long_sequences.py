"""The chapter "long-sequences": its functions, its bounds, its trainings again in torch."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import exp, log, sqrt
from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from torch.optim.adam import adam  # the class would import the compiler, which takes a second

from attention_docs.long_sequences import (
    alibi_bias,
    alibi_slopes,
    far_share,
    ntk_base,
    t5_bias,
    t5_buckets,
)
from tests.exact import assert_printed
from tests.page import Page

seeds = st.integers(0, 2**32 - 1)
INF = float("inf")
SEED, L, D, SEEDS, MANY = 2022, 16, 16, 5, 20
RANGES = ((0, 16), (16, 32), (32, 64))
KINDS = ("learned", "sinusoids", "RoPE", "ALiBi", "T5", "none")


# The functions.


@given(st.integers(2, 64), st.floats(1, 64), st.sampled_from([100.0, 10000.0, 500000.0]))
def test_ntk_base(half: int, factor: float, base: float) -> None:
    """The fastest hand stays, the slowest is slowed by the factor; in 40 digits."""
    d = 2 * half
    with mpmath.workdps(40):
        new = mpmath.mpf(ntk_base(base, d, factor))
        slowest = [mpmath.power(b, -mpmath.mpf(d - 2) / d) for b in (mpmath.mpf(base), new)]
        assert float(slowest[0] / slowest[1]) == pytest.approx(factor, rel=1e-12)


@given(st.integers(1, 20))
def test_slopes(heads: int) -> None:
    def formula(h: int) -> list[float]:
        return [float(mpmath.power(2, -mpmath.mpf(8 * r) / h)) for r in range(1, h + 1)]

    power = max(h for h in (1, 2, 4, 8, 16) if h <= heads)
    wanted = formula(power) + [m for r, m in enumerate(formula(2 * power)) if r % 2 == 0]
    wanted = wanted[:heads]
    np.testing.assert_allclose(alibi_slopes(heads), wanted, rtol=1e-13)


def test_slopes_of_other_numbers_of_heads(chapter: Page) -> None:
    """By hand: 40 heads are those of 32, from 2^(-1/4) to 2^-8, and 8 of 64."""
    rows = chapter.vectors("other-slopes", "first two") + chapter.vectors(
        "other-slopes", "last two"
    )
    wanted = [[2**-2, 2**-4], [2**-1, 2**-2], [2**-0.25, 2**-0.5]]
    wanted += [[2**-1, 2**-3], [2**-2.5, 2**-3.5], [2**-1.625, 2**-1.875]]
    assert_printed(rows, wanted)


@given(
    st.lists(st.floats(0, 4), min_size=1, max_size=3),
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(-4, 4),
)
def test_alibi_bias_is_a_plain_loop(slopes: list[float], n: int, keys: int, offset: int) -> None:
    wanted = [
        [
            [-m * (t + offset - u) if u <= t + offset else -INF for u in range(keys)]
            for t in range(n)
        ]
        for m in slopes
    ]
    got = alibi_bias(np.array(slopes), n, keys, offset=offset)
    np.testing.assert_allclose(got, wanted, rtol=1e-14)
    theirs = alibi_bias(torch.tensor(slopes, dtype=torch.float64), n, keys, offset=offset)
    assert theirs.dtype == torch.float64
    np.testing.assert_allclose(theirs, wanted, rtol=1e-14)


@cache
def bucket(offset: int, buckets: int, distance: int) -> int:
    """The formula of the paper's code, in 60 digits; an edge is a whole number of the brackets."""
    alone = buckets // 2
    if offset < alone:
        return max(offset, 0)
    with mpmath.workdps(60):
        share = mpmath.log(mpmath.mpf(offset) / alone) / mpmath.log(mpmath.mpf(distance) / alone)
        place = share * (buckets - alone)
        nearest = int(mpmath.nint(place))
        floor = (
            nearest if abs(place - nearest) < mpmath.mpf(10) ** -40 else int(mpmath.floor(place))
        )
    return min(alone + floor, buckets - 1)


@pytest.mark.parametrize("sizes", [(2, 5), (8, 16), (32, 128), (8, 64), (10, 37)])
def test_buckets_are_those_of_the_formula(sizes: tuple[int, int]) -> None:
    offsets = np.arange(-3, 3 * sizes[1])
    wanted = [bucket(int(one), *sizes) for one in offsets]
    assert t5_buckets(offsets, *sizes).tolist() == wanted
    assert t5_buckets(offsets.reshape(3, -1), *sizes).shape == (3, sizes[1] + 1)


@given(seeds, st.integers(1, 5), st.integers(1, 9), st.integers(0, 20))
def test_t5_bias_is_a_plain_loop(seed: int, n: int, keys: int, offset: int) -> None:
    table = np.random.default_rng(seed).normal(size=(2, 8))
    wanted = [
        [
            [one[bucket(t + offset - u, 8, 16)] if u <= t + offset else -INF for u in range(keys)]
            for t in range(n)
        ]
        for one in table
    ]
    assert t5_bias(table, n, keys, max_distance=16, offset=offset).tolist() == wanted
    leaf = torch.tensor(table, requires_grad=True)
    got = t5_bias(leaf, n, keys, max_distance=16, offset=offset)
    assert got.tolist() == wanted
    torch.where(got > -INF, got, 0).sum().backward()
    counts = np.zeros(8)
    for t in range(n):
        for u in range(min(keys, t + offset + 1)):
            counts[bucket(t + offset - u, 8, 16)] += 1
    assert leaf.grad is not None
    assert leaf.grad[0].tolist() == counts.tolist()


@given(
    st.integers(2, 9),
    st.integers(1, 12),
    st.integers(0, 12),
    st.lists(st.fractions(0, 1), min_size=1, max_size=14),
)
def test_far_share(ratio: int, spread: int, w: int, at: list[Fraction]) -> None:
    """In fractions: e^m = ratio, e^c = spread, and every score lies between 0 and c."""
    t = len(at) - 1
    powers = [1 + (spread - 1) * one for one in at]  # e^score, from 1 to e^c
    kept = [p * Fraction(1, ratio ** (t - u)) for u, p in enumerate(powers)]
    far = sum(kept[: max(t - w + 1, 0)], Fraction(0)) / sum(kept)
    bound = Fraction(spread, ratio**w)
    assert far <= bound
    assert far_share(log(ratio), log(spread), w) == pytest.approx(float(min(bound, 1)), rel=1e-12)


# The trainings once more: torch's attention, autograd and Adam, and a loop for the answers.


def draw(rng: Any, count: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Triples (letter, digit, question) and answers, -1 where there is none."""
    triples = rng.integers(0, 4, (3, count, n))
    answers = np.full((count, n), -1)
    for story, found in zip(triples.swapaxes(0, 1).tolist(), answers, strict=True):
        latest: dict[int, int] = {}
        for t, (letter, digit, asked) in enumerate(zip(*story, strict=True)):
            latest[letter] = digit
            found[t] = latest.get(asked, -1)
    return triples, answers


def tensor(triples: np.ndarray) -> torch.Tensor:
    hot = torch.nn.functional.one_hot(torch.from_numpy(triples), 4).double()
    return torch.cat(list(hot), -1)


@cache
def turns(n: int, divide: float, base: float) -> torch.Tensor:
    omega = torch.pow(torch.tensor(base).double(), -torch.arange(0, D, 2).double() / D)
    angles = torch.outer(torch.arange(n).double() / divide, omega)
    return torch.polar(torch.ones_like(angles), angles)


def turned(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """RoPE with complex numbers."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * by).flatten(-2)


@cache
def waves(n: int) -> torch.Tensor:
    i = torch.arange(D) // 2 * 2
    angles = torch.arange(n)[:, None] / torch.pow(torch.tensor(1e4).double(), i.double() / D)
    return torch.where(torch.arange(D) % 2 == 0, angles.sin(), angles.cos())


@cache
def offsets(n: int, window: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """How far each token is behind, its bucket, and what may not be seen."""
    behind = torch.arange(n)[:, None] - torch.arange(n)
    buckets = torch.tensor([[bucket(one, 8, 16) for one in line] for line in behind.tolist()])
    return behind, buckets, (behind < 0) | (behind >= window)


def bias(kind: str, parameters: dict[str, torch.Tensor], n: int, window: int) -> torch.Tensor:
    behind, buckets, hidden = offsets(n, window)
    added = torch.zeros(n, n).double()
    if kind == "ALiBi":
        added = -0.5 * behind.double()
    if kind == "T5":
        added = parameters["bias"][:, buckets][:, None]
    return added.masked_fill(hidden, -INF)


def times(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """x (seeds, sequences, n, …) by a matrix for each seed; all rows of a seed in one product."""
    return (x.flatten(1, 2) @ w).unflatten(1, x.shape[1:3])


def logits(
    kind: str,
    p: dict[str, torch.Tensor],
    x: torch.Tensor,
    window: int = 999,
    divide: tuple[float, float] = (1, 1),
    base: float = 1e4,
) -> torch.Tensor:
    n = x.shape[-2]
    h = times(x, p["E"])
    if kind == "learned":
        h = h + p["table"][:, None, :n]
    if kind == "sinusoids":
        h = h + waves(n)
    q, k, v = times(h, torch.cat([p["W_Q"], p["W_K"], p["W_V"]], -1)).chunk(3, -1)
    if kind == "RoPE":
        q, k = (turned(x, turns(n, by, base)) for x, by in zip((q, k), divide, strict=True))
    mask = bias(kind, p, n, window)
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return times(h + times(o, p["W_O"]), p["W_U"])


@cache
def lessons(n: int, batch: int, seeds: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """What each of 300 steps learns from, the same for every kind: a batch for each seed."""
    rngs = [np.random.default_rng([SEED, seed, 1]) for seed in range(seeds)]
    found = []
    for _ in range(300):
        triples, answers = zip(*[draw(rng, batch, n) for rng in rngs], strict=True)
        x = torch.stack([tensor(one) for one in triples])
        found.append((x, torch.from_numpy(np.stack(answers))))
    return found


@cache
def trained(kind: str, n: int, seeds: int = SEEDS) -> dict[str, torch.Tensor]:
    """Where 300 steps lead; 256 tokens of length n in each of them, and for each seed."""
    rngs = [np.random.default_rng([SEED, seed]) for seed in range(seeds)]
    shapes = {"E": (12, D, 1.0)} | {f"W_{name}": (D, D, 0.25) for name in "QKVO"}
    shapes["W_U"] = (D, 4, 0.25)
    if kind == "learned":
        shapes["table"] = (4 * L, D, 0.7)
    p = {
        name: torch.tensor(np.stack([s * rng.normal(size=(a, b)) for rng in rngs]))
        for name, (a, b, s) in shapes.items()
    }
    if kind == "T5":
        p["bias"] = torch.zeros(seeds, 8).double()
    # One vector for each seed: Adam goes through it at once.
    flat = torch.cat([one.flatten(1) for one in p.values()], 1).requires_grad_()
    sizes = [one[0].numel() for one in p.values()]

    def parts() -> dict[str, torch.Tensor]:
        split = zip(p.items(), flat.split(sizes, 1), strict=True)
        return {name: part.view(one.shape) for (name, one), part in split}

    moments, count = [torch.zeros_like(flat) for _ in range(2)], torch.tensor(0.0)
    options = {"beta1": 0.9, "beta2": 0.98, "eps": 1e-8, "weight_decay": 0}
    options |= {"amsgrad": False, "maximize": False}
    for step, (x, wanted) in enumerate(lessons(n, 16 * L // n, seeds), start=1):
        losses = torch.nn.functional.cross_entropy(
            logits(kind, parts(), x).flatten(0, 2),
            wanted.flatten(),
            ignore_index=-1,
            reduction="none",
        ).view(seeds, -1)
        loss = (losses.sum(1) / (wanted >= 0).sum((1, 2))).sum()
        gradient = torch.autograd.grad(loss, flat)
        lr = 0.02 * min(1, 2 * (300 - step) / 300)
        with torch.no_grad():
            adam([flat], [*gradient], *([m] for m in moments), [], [count], lr=lr, **options)
    return {name: one.detach() for name, one in parts().items()}


@cache
def exam() -> tuple[np.ndarray, np.ndarray]:
    return draw(np.random.default_rng([SEED, SEEDS]), 101, 4 * L)


@cache
def right(kind: str, n: int = L, seeds: int = SEEDS, **options: Any) -> np.ndarray:
    """Which answers are right, (seeds, sequences, positions)."""
    p = trained(kind, n, seeds)
    got = logits(kind, p, tensor(exam()[0])[None], **options).argmax(-1)
    hits: np.ndarray = got.numpy() == exam()[1]
    return hits


def percents(hits: np.ndarray, first: int, last: int) -> list[float]:
    counted = exam()[1][:, first:last] >= 0
    return [100 * float(one[:, first:last][counted].mean()) for one in hits]


def span(text: str, hits: np.ndarray, first: int, last: int) -> None:
    """`low–high` is what the seeds reach; one number stands for two that are equal."""
    ends = [float(one) for one in text.split("–")]
    shares = percents(hits, first, last)
    # A rounding that goes the other way at one token in a thousand would move less than this.
    np.testing.assert_allclose([ends[0], ends[-1]], [min(shares), max(shares)], atol=0.51)


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "learned": ("learned", {}),
    "sinusoids": ("sinusoids", {}),
    "RoPE": ("RoPE", {}),
    "RoPE, t / 4": ("RoPE", {"divide": (4, 4)}),
    "RoPE, NTK": ("RoPE", {"base": 10000 * 4 ** (16 / 14)}),
    "ALiBi": ("ALiBi", {}),
    "T5": ("T5", {}),
    "none": ("none", {}),
}


def test_every_kind_of_position(chapter: Page) -> None:
    lines = chapter.table("table")
    captions = [frame.caption for frame in chapter.frames("control")]
    assert len(lines) == len(captions) == len(CASES)
    for line, caption, (name, (kind, options)) in zip(lines, captions, CASES.items(), strict=True):
        shown, *cells = line.values()
        assert shown == name
        hits, near = right(kind, **options), right(kind, window=L, **options)
        for cell, (a, b) in zip(cells, RANGES, strict=False):
            span(cell, hits, a, b)
        span(cells[3], near, *RANGES[2])
        described = re.findall(r"\d+(?:–\d+)?", caption.split("64", 1)[1])
        span(described[0], hits, *RANGES[2])
        span(described[1], near, *RANGES[2])
    seeds_told, *values = chapter.values("long-sequences")
    assert seeds_told == str(SEEDS)
    for value, kind in zip(values, KINDS[:3], strict=False):
        span(value, right(kind), 0, L)


def test_the_first_picture(chapter: Page) -> None:
    """What its text says of the last four positions: the mean, then the lowest and the highest."""
    first = chapter.figure("task")
    described = [float(one) for one in re.findall(r"\d\.\d\d", first)]
    for kind in KINDS[:3]:
        shares = [share / 100 for share in percents(right(kind), 60, 64)]
        wanted = [sum(shares) / SEEDS, min(shares), max(shares)]
        for one in wanted:
            assert min(abs(one - value) for value in described) <= 0.0055


def test_what_the_text_says_of_the_kinds(chapter: Page) -> None:
    """Where the page calls one kind better, no seed of the other reaches it."""
    late = {name: percents(right(kind, **o), 32, 64) for name, (kind, o) in CASES.items()}
    near = {n: percents(right(k, window=L, **o), 32, 64) for n, (k, o) in CASES.items()}
    assert max(late["learned"] + late["sinusoids"]) < min(late["RoPE"])
    assert max(near["learned"] + near["sinusoids"]) < min(late["RoPE, t / 4"])
    assert max(late["RoPE"]) < min(late["RoPE, NTK"] + near["RoPE"])
    assert max(late["T5"]) < min(near["T5"])
    assert min(late["ALiBi"]) > max(late["T5"])
    early = {k: percents(right(*[CASES[k][0]], **CASES[k][1]), 0, L) for k in CASES}
    assert max(early["RoPE, t / 4"]) < min(early["RoPE, NTK"])
    longer = percents(right("sinusoids", n=4 * L, seeds=MANY), 32, 64)
    values = chapter.values("experiment")
    most = sum(one > 85 for one in longer)
    assert values == [str(one) for one in (SEEDS, SEEDS, most, MANY, 85, SEEDS)]
    assert min(longer) > max(late["sinusoids"])
    assert min(longer) < 60  # "not learned every time"
    assert min(longer[:SEEDS]) > 85  # what the first five alone do not tell


def test_long(chapter: Page) -> None:
    lines = chapter.table("long")
    rows = ((16, SEEDS), (64, SEEDS), (64, MANY))
    for line, (n, seeds) in zip(lines, rows, strict=True):
        assert line[""] == f"trained on {n} tokens"
        assert line["training runs"] == str(seeds)
        hits = right("sinusoids", n=n, seeds=MANY if n == 64 else SEEDS)[:seeds]
        span(line["right answers, %"], hits, 32, 64)


def test_mistake_no_limit(chapter: Page) -> None:
    lines = chapter.table("mistake-no-limit")
    options: list[dict[str, Any]] = [{}, {"divide": (4, 4)}, {"window": L}]
    labels = ["plain (wrong)", "t / 4", "w = 16"]
    for line, label, option in zip(lines, labels, options, strict=True):
        assert line[""] == label
        span(line["right answers, %"], right("RoPE", **option), 48, 64)
    shares = [percents(right("RoPE", **option), 48, 64) for option in options]
    assert max(shares[0]) < min(shares[1] + shares[2])


# What is proved.


def test_dilution(chapter: Page) -> None:
    lines = chapter.table("dilution")
    for line, n in zip(lines, (16, 32, 64), strict=True):
        share = Fraction(45, 45 + n - 1)
        assert line["keys"] == str(n)
        assert_printed(float(line["weight"]), float(share))
        assert Fraction(line["as a fraction"]) == share


def test_slower_hands(chapter: Page) -> None:
    with mpmath.workdps(30):
        omega = [mpmath.power(10000, -mpmath.mpf(2 * i) / 8) for i in range(4)]
        base = 10000 * mpmath.power(4, mpmath.mpf(8) / 6)
        slowed = [mpmath.power(base, -mpmath.mpf(2 * i) / 8) for i in range(4)]
        wanted = [[16 * w for w in omega], [64 * w for w in omega]]
        wanted += [[16 * w for w in omega], [64 * w for w in slowed]]
    for i in range(4):
        found = chapter.column("angles", f"hand {i}")
        assert_printed(found, [float(bounds[i]) for bounds in wanted], 3)
    inside = [a <= b for a, b in zip(wanted[3], wanted[0], strict=True)]
    near = [float(a / b) for a, b in zip(wanted[3], wanted[0], strict=True)]
    assert inside[:3] == [False] * 3
    assert near[3] == pytest.approx(1, rel=1e-12)
    assert chapter.column("published", "base") == [500000, 1000000]
    for described, new in zip(chapter.column("published", "λ"), (500000, 1000000), strict=True):
        # The factor gives the base back.
        assert 10000 * described ** (128 / 126) == pytest.approx(new, rel=2e-4)


def test_alibi(chapter: Page) -> None:
    for line, n in zip(chapter.table("alibi"), (8, 16, 64), strict=True):
        assert line[""] == f"{n} tokens"
        total = sum(Fraction(1, 2**k) for k in range(n))
        found = [float(line[f"Δ = {k}"]) for k in range(8)]
        assert_printed(found, [float(64 * Fraction(1, 2**k) / total) for k in range(8)], 2)
    for r, line in enumerate(chapter.table("slopes"), start=1):
        w = next(
            w for w in range(2000) if mpmath.exp(-w / mpmath.mpf(2) ** r) <= mpmath.mpf("0.01")
        )
        assert [*line.values()] == [f"head {r}", f"1/{2**r}", str(w)]
    of_formula = [mpmath.cbrt(mpmath.mpf(1) / 16), Fraction(1, 256)]  # for 6 heads
    assert_printed([float(one) for one in chapter.values("alibi-slopes")], of_formula)
    for line, w in zip(chapter.table("far"), (8, 12, 16), strict=True):
        met = []
        for n in (16, 64, 256):
            kept = [exp(3 * (k >= w) - k / 2) for k in range(n)]
            met.append(sum(kept[w:]) / sum(kept))
        assert line[""] == f"w = {w}"
        assert_printed([float(line[f"lead, n = {n}"]) for n in (16, 64, 256)], met)
        drawn = float(line["random scores"])
        assert_printed(float(line["bound"]), exp(3 - w / 2))
        assert drawn < max(met) < exp(3 - w / 2)


def test_buckets_run(chapter: Page) -> None:
    for b, line in enumerate(chapter.table("buckets")):
        wanted = [str(one) for one in range(20) if bucket(one, 8, 16) == b]
        assert [*line.values()] == [f"bucket {b}", ", ".join(wanted)]
    lasts = [
        next(one for one in range(200) if bucket(one, *sizes) == sizes[0] - 1)
        for sizes in ((8, 16), (32, 128))
    ]
    assert [str(one) for one in lasts] == ["12", "113"]
    slopes = [2 ** (-8 / 6), 2**-8]  # what the formula would give for six heads
    assert chapter.values("bias") == [*(f"{one:.4f}" for one in slopes), "12", "113"]
    assert chapter.column("near-share", "keys") == [16, 64, 256, 4096]
    for line, n in zip(chapter.table("near-share"), (16, 64, 256, 4096), strict=True):
        kept = [exp(3)] * 16 + [1.0] * (n - 16)
        share = sum(kept[:16]) / sum(kept)
        assert_printed(float(line["share of the near keys"]), share)


def test_mark(chapter: Page) -> None:
    """One layer in plain loops, with the same draws."""
    rng = np.random.default_rng(SEED)
    w_q, w_k, _ = (rng.normal(size=(4, 4)) / 2 for _ in range(3))
    first, other = rng.normal(size=(2, 4))
    shares = []
    for t in range(8):
        query = (other if t else first) @ w_q
        keys = [first @ w_k] + [other @ w_k] * t
        powers = [
            exp(sum(a * b for a, b in zip(query, key, strict=True)) / sqrt(4)) for key in keys
        ]
        shares.append(powers[0] / sum(powers))
    assert chapter.column("none", "t") == [*range(8)]
    for name in ("weight of the mark", "formula"):
        assert_printed(chapter.column("none", name), shares, 6)
    assert all(a > b for a, b in pairwise(shares))


def test_order(chapter: Page) -> None:
    x = tensor(exam()[0])[None, :, :L]
    mixed = x[:, :, [*range(L - 2, -1, -1), L - 1]]
    moved = []
    for kind in ("none", "RoPE"):
        before, after = (logits(kind, trained(kind, L), one)[:, :, -1] for one in (x, mixed))
        moved.append([kind, "✓" if (before - after).abs().max() > 1e-9 else "✗"])
    found = [[*line.values()] for line in chapter.table("order")]
    assert found == moved == [["none", "✗"], ["RoPE", "✓"]]


def test_ceiling(chapter: Page) -> None:
    (letters, digits, asked), answers = exam()
    best = np.zeros(answers.shape)
    for b, t in np.argwhere(answers >= 0):
        found = [digits[b, u] for u in range(t + 1) if letters[b, u] == asked[b, t]]
        own = letters[b, t] == asked[b, t]
        best[b, t] = 1 if own else max(map(found.count, found)) / len(found)
    lines = chapter.table("ceiling")
    for line, (a, b) in zip(lines, RANGES, strict=True):
        assert line[""] == f"tokens {a + 1}–{b}"
        span(line["trained, %"], right("none"), a, b)
        counted = answers[:, a:b] >= 0
        assert_printed(float(line["bound, %"]), 100 * best[:, a:b][counted].mean(), 0)
    assert max(percents(right("none"), 32, 64)) < 100 * best[:, 32:][answers[:, 32:] >= 0].mean()


def test_window(chapter: Page) -> None:
    kinds = ("RoPE", "ALiBi", "T5", "none")
    assert [[*line.values()] for line in chapter.table("window")] == [[k, "✓"] for k in kinds]
    x = tensor(exam()[0])[None]
    for kind in (*kinds, "sinusoids"):
        long = logits(kind, trained(kind, L), x, window=L)
        short = logits(kind, trained(kind, L), x[:, :, 24:40])
        same = bool((long[:, :, 39] - short[:, :, -1]).abs().max() < 1e-9)
        assert same is (kind != "sinusoids")
    slopes = [[*line.values()] for line in chapter.table("gradient")]
    assert [name for name, *_ in slopes] == ["learned", "RoPE", "T5"]
    assert all(by_hand == by_differences for _, by_hand, by_differences in slopes)
    assert len({by_hand for _, by_hand, _ in slopes}) == 3


# The rest of the page.


def test_example(chapter: Page) -> None:
    (letters, digits, asked), answers = draw(np.random.default_rng([SEED, 7]), 1, 8)
    columns = ("letter", "digit", "asks for", "answer")
    described = [[line[name] for line in chapter.table("example")] for name in columns]
    assert described[0] == ["ABCD"[one] for one in letters[0]]
    assert described[1] == [str(one) for one in digits[0]]
    assert described[2] == ["ABCD"[one] for one in asked[0]]
    assert described[3] == ["" if one < 0 else str(one) for one in answers[0]]
    assert described[2][0] == "B"  # the one that is not counted
    assert "" not in described[3][1:]
    # Token 6 asks for A, which tokens 1 and 5 carry.
    assert described[2][5] == "A"
    assert [i + 1 for i in range(6) if described[0][i] == "A"] == [1, 5]
    assert chapter.values("task") == [described[3][5]]
    assert described[1][0] != described[1][4]


def test_exercises(chapter: Page) -> None:
    few, many = ([*line.values()] for line in chapter.table("exercise-dilute"))
    assert (few, many[:2]) == (["10", "1/2", ""], ["100", "1/12"])
    assert_printed(float(many[2]), float(mpmath.log(11)))
    asked = [1 / 2, 1 / 12, 9 / 109, mpmath.log(11), mpmath.log(10)]
    found = [float(one) for one in chapter.values("exercise-dilute")]
    assert_printed(found, [float(one) for one in asked])
    (base,) = chapter.table("exercise-base")
    assert base == {"base": "900", "1/ω_0": "1", "1/ω_1": "30"}
    assert chapter.values("exercise-base") == ["900", "300", "30", "10"]  # 100·3², 100·3; 1/ω_1
    for line, by in zip(chapter.table("exercise-half"), (1, 2, 4), strict=True):
        for cell, (a, b) in zip([*line.values()][1:], RANGES, strict=True):
            span(cell, right("RoPE", divide=(by, by)), a, b)
    for a, b in RANGES:
        half, quarter = (percents(right("RoPE", divide=(by, by)), a, b) for by in (2, 4))
        assert min(half) > max(quarter)
    cells = [line["right answers, %"] for line in chapter.table("exercise-keys")]
    span(cells[0], right("RoPE", divide=(4, 1)), 0, L)
    span(cells[1], right("RoPE", divide=(4, 4)), 0, L)
    for line, w in zip(chapter.table("exercise-needle"), (16, 32, 64), strict=True):
        kept = [exp((20 if k == w else 0) - k / 2) for k in range(65)]
        assert line["w"] == str(w)
        assert_printed(float(line["weight"]), kept[w] / sum(kept))
    scores = np.random.default_rng(SEED).normal(size=(6, 6))[-1]
    powers = [exp(s - 0.5 * (5 - u)) for u, s in enumerate(scores)]
    for u, power in enumerate(powers):
        assert_printed(chapter.column("exercise-count", f"key {u + 1}"), [power / sum(powers)] * 2)
    for line, t in zip(chapter.table("exercise-far"), (15, 63, 255, 4095), strict=True):
        assert line["t"] == str(t)
        shown = [float(line["share"]), float(line["bound"])]
        assert_printed(shown, [8 * exp(2) / (8 * exp(2) + t - 7)] * 2)


def test_t5_has_32_buckets_up_to_128():
    """16 alone; bucket 31 begins at 16 · 8^(15/16) = 112.4; one row of numbers is a table too."""
    assert t5_buckets(np.array([15, 16, 112, 113, 128, 500])).tolist() == [15, 16, 30, 31, 31, 31]
    one = t5_bias(np.arange(32.0), 114)
    assert one.shape == (114, 114)
    assert one[[112, 113, 5], [0, 0, 2]].tolist() == [30, 31, 3]
    assert one[0, 1] == -np.inf


def test_small_bases_and_wide_spreads():
    assert ntk_base(0.5, 4, 3.0) == 4.5
    assert far_share(1.0, 5.0, 0) == 1.0


def test_a_part_of_the_components_is_turned(chapter):
    """The turned pairs give cosines of the offset and of its hundredth, the other pair 1."""
    for offset, (whole, part) in zip((0, 1, 3, 100, 314), chapter.grid("partial"), strict=True):
        assert_printed([whole], [mpmath.cos(offset) + mpmath.cos(mpmath.mpf(offset) / 100)], 2)
        assert_printed([part], [mpmath.cos(offset) + 1], 2)
