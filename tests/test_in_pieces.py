"""Attention in pieces: against torch, exact fractions, mpmath and plain loops."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from math import ceil

import mpmath
import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attention_docs.in_pieces import (
    Piece,
    attention_in_pieces,
    backward_in_pieces,
    log_total,
    merge,
    plain_traffic,
    tiled_traffic,
)
from tests.conftest import scale_examples
from tests.exact import assert_printed, make_test_of_asked
from tests.page import vector_of

SEEDS = st.integers(0, 10**6)
F = Fraction


# --- the package's functions ---------------------------------------------------------------------


def draw(seed, batch=(), n_q=4, n_k=7, d=5, d_v=3, spread=1.0):
    rng = np.random.default_rng(seed)
    q, k = (spread * rng.normal(size=(*batch, n, d)) for n in (n_q, n_k))
    return q, k, rng.normal(size=(*batch, n_k, d_v))


@scale_examples(40)
@given(
    seed=SEEDS,
    batch=st.sampled_from([(), (2,), (2, 3)]),
    size=st.integers(1, 9),
    spread=st.sampled_from([1.0, 30.0, 1e16]),  # scores of up to 1e32
)
def test_merge(seed, batch, size, spread):
    """Torch's attention, for pieces of any size, with scores far apart and with a mask."""
    q, k, v = draw(seed, batch, spread=spread)
    mask = np.random.default_rng(seed).random((*batch, 4, 7)) < 0.6
    mask[..., 0, :] = False  # this query may look at nobody
    mask[..., 1, :3] = False  # and this one not at the first piece
    mask[..., 1:, 6] = True
    tensors = [torch.from_numpy(one) for one in (q, k, v)]
    near = {"rtol": 0, "atol": 1e-12 * max(1, spread**2 / 900)}
    for m in (None, mask):
        got = attention_in_pieces(q, k, v, size, m)
        theirs = sdpa(*tensors, attn_mask=None if m is None else torch.from_numpy(m)).numpy()
        theirs = np.where(np.isnan(theirs), 0, theirs)
        np.testing.assert_allclose(got.output, theirs, rtol=0, atol=1e-12)
        scores = tensors[0] @ tensors[1].mT / 5**0.5
        if m is not None:
            scores = scores.masked_fill(~torch.from_numpy(m), -torch.inf)
        np.testing.assert_allclose(log_total(got), scores.logsumexp(-1), **near)
        np.testing.assert_allclose(got.largest, scores.amax(-1), **near)
    of_torch = attention_in_pieces(*tensors, size)
    assert all(isinstance(one, torch.Tensor) for one in of_torch)


def test_values_with_axes_of_their_own():
    q, k, v = draw(1)
    got = attention_in_pieces(q, k, np.stack([v, 2 * v]), 3)
    assert got.output.shape == (2, 4, 3)
    np.testing.assert_allclose(got.output[1], 2 * got.output[0])


@given(
    scores=st.lists(st.integers(-5, 5), min_size=3, max_size=5),
    numbers=st.lists(st.integers(-9, 9), min_size=5, max_size=5),
)
def test_exact_merge(scores, numbers):
    """Any order, any bracket: the exact average, within the rounding of a handful of sums."""
    values = numbers[: len(scores)]
    parts = [
        Piece(np.array([s * np.log(2)]), np.array([1.0]), np.array([[float(v)]]))
        for s, v in zip(scores, values, strict=True)
    ]
    weights = [F(2) ** s for s in scores]
    exact = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    for order in itertools.islice(itertools.permutations(parts), 12):
        a, b, *rest = order
        found = merge(a, b)
        for one in rest:
            found = merge(one, found)
        assert abs(found.output.item() - exact) < 1e-12
        mass = found.total.item() * np.exp(found.largest.item())
        np.testing.assert_allclose(mass, float(sum(weights)), rtol=1e-13)


@scale_examples(25)
@given(seed=SEEDS, size=st.integers(1, 9), batch=st.sampled_from([(), (2,)]), causal=st.booleans())
def test_backward(seed, size, batch, causal):
    """Torch's autograd through its own attention."""
    q, k, v = draw(seed, batch, n_q=7)
    tensors = [torch.from_numpy(one).requires_grad_() for one in (q, k, v)]
    out = sdpa(*tensors, is_causal=causal)
    by_output = torch.randn(out.shape, dtype=torch.float64)
    out.backward(by_output)
    mask = np.tril(np.ones((7, 7), dtype=bool)) if causal else None
    forward = attention_in_pieces(q, k, v, 2, mask)
    got = backward_in_pieces(q, k, v, forward, by_output.numpy(), size, mask)
    for ours, theirs in zip(got, tensors, strict=True):
        np.testing.assert_allclose(ours, theirs.grad, rtol=0, atol=1e-11)


def test_backward_of_a_query_that_sees_nobody():
    q, k, v = draw(0)
    mask = np.ones((4, 7), dtype=bool)
    mask[2] = False
    forward = attention_in_pieces(q, k, v, 3, mask)
    by_query, *_ = backward_in_pieces(q, k, v, forward, np.ones((4, 3)), 3, mask)
    assert (by_query[2] == 0).all()
    assert np.isfinite(by_query).all()


def moved(n, d, r):
    """Numbers moved by both ways, row by row as they pass."""
    plain = tiled = 0
    for _ in range(n):
        plain += d + d  # a query, a key
        plain += n + 2 * n + n  # its scores out, in; weights out, in
        plain += d + d  # a value, an output
    for start in range(0, n, r):
        held = min(r, n - start)
        tiled += held * d + held * d + n * 2 * d
    return plain, tiled


def test_traffic():
    for n, d, r in ((1, 1, 1), (7, 3, 2), (8, 2, 4), (30, 5, 64)):
        assert (plain_traffic(n, d), tiled_traffic(n, d, r)) == moved(n, d, r)
    n, d, r = 10**6, 64, 128
    assert abs(F(plain_traffic(n, d), tiled_traffic(n, d, r)) / F(2 * r, d) - 1) < F(1, 1000)


# --- what the page prints ------------------------------------------------------------------------

MASSES, VALUES = [1, 2, 3, 4, 8, 2], [6, 3, 2, 1, 2, 4]


def average(keys):
    """Attention to some keys, in fractions: the masses are whole."""
    return F(sum(MASSES[j] * VALUES[j] for j in keys), sum(MASSES[j] for j in keys))


def test_halves(chapter):
    first, second, whole = (average(keys) for keys in (range(3), range(3, 6), range(6)))
    assert (first, second, whole) == (3, 2, F(23, 10))
    shown = [F(found["output"]) for found in chapter.table("halves")]
    assert shown == [first, second, (first + second) / 2, whole]
    assert chapter.values("idea") == ["2.3"]
    wanted = []
    for keys in (range(3), range(3, 6), range(6)):
        largest = max(MASSES[j] for j in keys)
        total = F(sum(MASSES[j] for j in keys), largest)
        wanted.append([str(largest), f"{float(total):.2f}", f"{float(average(keys)):.1f}"])
    assert [[*found.values()][1:] for found in chapter.table("merge")] == wanted


def test_control(chapter):
    frames = chapter.frames("control")
    assert len(frames) == 5
    for cut, one in enumerate(frames, start=1):
        left, right = range(cut), range(cut, 6)
        shown = [F(x) for x in re.findall(r"\d+(?:\.\d+)?", one.caption)][-5:]
        masses = [F(sum(MASSES[j] for j in keys)) for keys in (left, right)]
        wanted = [*masses, average(left), average(right), average(range(6))]
        assert_printed([float(x) for x in shown], [float(x) for x in wanted], 2)


def test_pieces(chapter):
    assert chapter.table("exact") == [{"merges": str(2 * 120), "different results": "1"}]
    rng = np.random.default_rng(0)
    online = sdpa(*torch.from_numpy(rng.normal(size=(3, 8, 4))))[-1]
    rng = np.random.default_rng(0)
    given = rng.normal(size=(1, 4)), *rng.normal(size=(2, 1000, 4))
    split = sdpa(*map(torch.from_numpy, given))[0]
    for block, wanted in (("online", online), ("split", split)):
        for c in range(4):
            assert_printed(chapter.column(block, f"component {c + 1}"), [wanted[c]] * 2, 4)
    s, v = np.random.default_rng(0).normal(0, 3, size=(2, 50))
    weighted = sum(mpmath.exp(a) * b for a, b in zip(s, v, strict=True))
    wanted = weighted / sum(map(mpmath.exp, s))
    assert_printed(chapter.column("passes", "average"), [wanted] * 2, 4)
    assert chapter.column("passes", "reads of each score") == [3, 1]
    wrong, right = (F(found["merged output"]) for found in chapter.table("wrong-rescale"))
    ell = F(6, 3), F(14, 8)
    assert_printed([float(wrong)], [float((ell[0] * 3 + ell[1] * 2) / sum(ell))], 2)
    assert right == average(range(6))


def test_tile_steps(chapter):
    """Four queries held, two keys and values pass; each vector has four numbers. By hand:

    16 numbers for the queries, 16 for each tile, 16 for the outputs after every fourth of them.
    """
    moved = [32, 48, 64, 96, 128, 144, 160, 192]
    frames = chapter.frames("tile-steps")
    for step, (frame, count) in enumerate(zip(frames, moved, strict=True)):
        numbers = [int(one) for one in re.findall(r"\d+", frame.caption)]
        assert numbers[-4:] == [8, 64, count, 4 * 8 * 4 + 4 * 8 * 8]
        (label,) = frame.labels
        rows = re.findall(r"query (\d): ([^.]+)\.", label)
        cells = {
            (int(row), column)
            for row, texts in rows
            for column, text in enumerate(texts.split(", "), start=1)
            if text != "empty"
        }
        first, key = 1 + step // 4 * 4, 1 + step % 4 * 2
        held = range(first, first + 4)
        assert cells == {(row, column) for row in held for column in (key, key + 1)}
        assert label.endswith(f"Outlined: {'; '.join(f'query {row}' for row in held)}.")


def test_traffic_page(chapter):
    columns = ("n", "d", "r", "plain", "plain, counted", "tiled", "tiled, counted")
    traffic = [*zip(*(chapter.column("traffic", name) for name in columns), strict=True)]
    assert [found[:3] for found in traffic] == [(64, 8, 16), (256, 16, 32), (256, 16, 128)]
    for n, d, r, *found in traffic:
        plain, tiled = moved(int(n), int(d), int(r))
        assert found == [plain, plain, tiled, tiled]
    sizes = ((4096, 64), (4096, 128), (32_768, 128))
    for found, (n, d) in zip(chapter.table("large"), sizes, strict=True):
        assert found[""] == f"n = {n:,}, d = {d}"
        for r in (32, 128, 512):
            ratio = F(4 * n * d + 4 * n * n, 2 * n * d * (1 + ceil(F(n, r))))
            assert_printed([float(found[f"r = {r}"])], [float(ratio)], 1)


def test_backward_page(chapter):
    *given, by_output = map(torch.from_numpy, np.random.default_rng(0).normal(size=(4, 9, 4)))
    q, k, v = (one.requires_grad_() for one in given)
    sdpa(q, k, v, is_causal=True).backward(by_output)
    for block in ("backward", "backward-torch"):
        for name, tensor in (("dQ", q), ("dK", k), ("dV", v)):
            found = [vector_of(line[f"{name}, row 5"]) for line in chapter.table(block)]
            assert_printed(found, np.stack([tensor.grad[4]] * 2), 3)
    stored = sum(2 * 9 * 9 * 4 for _ in ("dV", "dA", "dQ", "dK"))
    again = stored + 2 * 9 * 9 * 4
    for name in ("formula", "counted"):
        assert chapter.column("backward-cost", name) == [stored, again]


def test_regrouped(chapter):
    """All triples at once, in IEEE arithmetic on arrays: powers of 2 scale without an error."""
    draws = np.random.default_rng(0)
    triples = []
    for _ in range(1000):
        masses, averages = draws.uniform(1, 5, size=3), draws.normal(size=3)
        triples.append([draws.integers(-5, 6, size=3), masses, averages])
    parts = [tuple(np.array([one[k][j] for one in triples]) for k in range(3)) for j in range(3)]

    def merged(a, b):
        m = np.maximum(a[0], b[0])
        first, second = (np.ldexp(one[1], (one[0] - m).astype(int)) for one in (a, b))
        return m, first + second, (first * a[2] + second * b[2]) / (first + second)

    a, b, c = parts
    left, right = merged(merged(a, b), c), merged(a, merged(b, c))
    differ = int(((left[1] != right[1]) | (left[2] != right[2])).sum())
    assert 300 < differ < 600
    lines = chapter.table("associative")
    assert {line[""]: line["of 1000 triples, how many differ?"] for line in lines} == {
        "in fractions": "0",
        "in float64": str(differ),
    }
    assert chapter.values("split") == [str(differ)]


def test_exercises(chapter):
    ell = 2 * F(1, 4) + F(3, 2)
    o = (2 * F(1, 4) * 1 + F(3, 2) * 5) / ell
    merged = {"eᵐ": "4", "ℓ": f"{float(ell):.1f}", "o": f"{float(o):.1f}"}
    assert chapter.table("exercise-merge") == [merged]
    nobody, alone = chapter.table("exercise-nobody")
    assert [*nobody.values()][1:] == ["−∞", "0.00", "0.00"]
    assert_printed([float(alone[name]) for name in ("m", "ℓ", "o")], [mpmath.log(8), 1.75, 2], 2)
    assert chapter.column("exercise-traffic", "plain") == [4 * 8192 * 64 + 4 * 8192**2]
    assert chapter.column("exercise-traffic", "tiled") == [2 * 8192 * 64 * 33]
    wrong, right = (found["average"] for found in chapter.table("exercise-start"))
    assert wrong == "NaN"
    assert_printed([float(right)], [(3 + 5 * mpmath.exp(-1)) / (1 + mpmath.exp(-1))], 4)
    assert chapter.column("exercise-skip", "b") == [4, 32]
    counts = [sum(j <= i for i in range(b) for j in range(b)) for b in (4, 32)]
    for name in ("tiles that are left", "b(b + 1)/2"):
        assert chapter.column("exercise-skip", name) == counts
    e = [mpmath.exp(s) for s in (mpmath.mpf("0.3"), -1, 2)]
    for j in range(3):
        found = chapter.column("exercise-slope", f"score {j + 1}")
        assert_printed(found, [float(e[j] / sum(e))] * 2, 4)


def test_no_key_has_no_logarithm():
    """A sum of 0 beside a finite maximum, as it comes where nothing but zeros was added."""
    nothing = Piece(np.zeros(1), np.zeros(1), np.zeros((1, 1)))
    assert log_total(nothing).tolist() == [-np.inf]


LATE = (3 * mpmath.e + 5) / (mpmath.e + 1)  # of two scores that are 1 apart
PLAIN, BLOCK = 4 * 8192 * 64 + 4 * 8192**2, 2 * 8192 * 64
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-merge": [4, 2, 3.5, 4, 9.5 / 3.5],
    "exercise-traffic": [PLAIN, PLAIN // 2 + BLOCK, 33 * BLOCK, 32 * BLOCK],
    "exercise-start": [LATE, 8 - LATE],
    "exercise-skip": [32 * 33 // 2, 31 * 32 // 2, 32 * 32 // 2],
    "exercise-slope": [
        [mpmath.exp(x) / (mpmath.exp(0.3) + mpmath.exp(-1) + mpmath.exp(2)) for x in (0.3, -1, 2)],
        [mpmath.exp(x) for x in (0.3, -1, 2)],
    ],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
