"""Linear attention, the delta rule and random features: torch, plain loops, integration."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import elu
from torch.nn.functional import scaled_dot_product_attention as sdpa
from torch.utils.flop_counter import FlopCounterMode

from attention_docs.memory import (
    State,
    elu_plus_one,
    extended_state,
    linear_attention,
    positive_features,
    read_state,
    trigonometric_features,
    update_by_delta_rule,
)
from tests.conftest import scale_examples
from tests.exact import (
    agrees_within_error,
    assert_printed,
    assert_printed_e,
    make_test_of_asked,
    parse_plus_minus,
)
from tests.page import parse_number

SEEDS = st.integers(0, 10**6)
F = Fraction


# --- the package's functions ---------------------------------------------------------------------


@scale_examples(25)
@given(seed=SEEDS, cuts=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_linear(seed, cuts):
    """Pair by pair in a plain loop, from a state in pieces, and in exact whole numbers."""
    n = sum(cuts)
    rng = np.random.default_rng(seed)
    q, k = rng.integers(1, 6, size=(2, n, 3)).astype(float)
    v = rng.integers(-5, 6, size=(n, 2)).astype(float)
    wanted = []
    for i in range(n):
        w = [F(int(q[i] @ k[j])) for j in range(i + 1)]
        wanted.append([sum(a * int(v[j, c]) for j, a in enumerate(w)) / sum(w) for c in (0, 1)])
    exact = np.array(wanted, dtype=float)
    assert (linear_attention(q, k, v, np.tril(np.ones((n, n), dtype=bool))) == exact).all()
    state, at = None, 0
    for t in cuts:
        state = extended_state(k[at : at + t], v[at : at + t], state)
        at += t
        assert (read_state(q[at - 1 : at], state) == exact[at - 1]).all()
    assert (linear_attention(q, k, v) == read_state(q, state)).all()
    assert state.matrix.shape == (3, 2)


def test_linear_attention_of_batches_and_heads():
    """Three axes of queries, more of them than features: as one by one."""
    rng = np.random.default_rng(7)
    query, key = rng.random((2, 3, 5, 2)), rng.random((2, 3, 4, 2))
    value = rng.random((2, 3, 4, 6))
    weights = np.einsum("bhif,bhjf->bhij", query, key)
    wanted = np.einsum("bhij,bhjv->bhiv", weights, value) / weights.sum(-1)[..., None]
    np.testing.assert_allclose(linear_attention(query, key, value), wanted, rtol=1e-12)
    state = State(np.einsum("bhjf,bhjv->bhfv", key, value), key.sum(axis=2))
    np.testing.assert_allclose(read_state(query, state), wanted, rtol=1e-12)


@scale_examples(25)
@given(
    seed=SEEDS,
    cut=st.integers(0, 5),
    rate=st.sampled_from([F(1), F(1, 4), F(3, 2)]),
    batch=st.sampled_from([(), (2,), (2, 3)]),
)
def test_delta_rule(seed, cut, rate, batch):
    """In fractions, entry by entry, and in two parts; torch's gradient says where a step goes."""
    n, f, d_v = 5, 3, 2
    rng = np.random.default_rng(seed)
    k, v = rng.integers(-3, 4, size=(*batch, n, f)), rng.integers(-5, 6, size=(*batch, n, d_v))
    found = update_by_delta_rule(k.astype(float), v.astype(float), rate=float(rate))
    for place in np.ndindex(*batch):
        S = [[F(0)] * d_v for _ in range(f)]
        for i in range(n):
            key, stored = [int(x) for x in k[place][i]], [int(x) for x in v[place][i]]
            for c in range(d_v):
                error = sum(key[e] * S[e][c] for e in range(f)) - stored[c]
                for e in range(f):
                    S[e][c] -= rate * key[e] * error
        exact = np.array(S, dtype=float)
        np.testing.assert_allclose(found[place], exact, rtol=0, atol=1e-9 * (1 + abs(exact).max()))
    keys, values = torch.from_numpy(k).double(), torch.from_numpy(v).double()
    matrix = torch.zeros(*batch, f, d_v, dtype=torch.float64)
    if cut:
        matrix = update_by_delta_rule(keys[..., :cut, :], values[..., :cut, :], rate=float(rate))
    for i in range(cut, n):
        leaf = matrix.clone().requires_grad_()
        part = slice(i, i + 1)
        (((keys[..., part, :] @ leaf - values[..., part, :]) ** 2).sum() / 2).backward()
        matrix = update_by_delta_rule(keys[..., part, :], values[..., part, :], matrix, float(rate))
        wanted = leaf.detach() - float(rate) * leaf.grad
        scale = 1 + float(wanted.abs().max())
        torch.testing.assert_close(matrix, wanted, rtol=0, atol=1e-12 * scale)
    scale = 1 + float(np.abs(found).max())
    np.testing.assert_allclose(matrix, found, rtol=0, atol=1e-12 * scale)


def test_delta_rule_overwrites_and_leaves_the_rest_alone():
    """A key of length 1 recalls its newest value, and an orthogonal key what it recalled before."""
    key = np.array([[0.6, 0.8, 0], [-0.8, 0.6, 0], [0.6, 0.8, 0]])
    value = np.array([[3.0, -1], [2, 7], [5, 4]])
    found = key @ update_by_delta_rule(key, value)
    np.testing.assert_allclose(found, [[5, 4], [2, 7], [5, 4]], rtol=0, atol=1e-14)


def test_elu_plus_one():
    x = torch.linspace(-40, 40, 101, dtype=torch.float64)
    torch.testing.assert_close(elu_plus_one(x), elu(x) + 1, rtol=1e-12, atol=1e-15)
    with np.errstate(all="raise"):
        assert elu_plus_one(np.array([1e4])) == 10001


@pytest.mark.parametrize("c", [1, 3, 12])
def test_chunks_are_counted(c):
    """The exercise's formula against what torch counts while the chunks run."""
    n, d = 12, 5
    q, k, v = torch.ones(3, n, d)
    state = State(torch.zeros(d, d), torch.zeros(d))
    with FlopCounterMode(display=False) as counter:
        for j in range(0, n, c):
            part = slice(j, j + c)
            (q[part] @ k[part].T) @ v[part] + q[part] @ state.matrix
            state = extended_state(k[part], v[part], state)
    assert counter.get_total_flops() == 4 * n * c * d + 4 * n * d * d


@pytest.mark.parametrize("features", [positive_features, trigonometric_features])
def test_features_of_several_sequences_are_those_of_each(features):
    x = np.random.default_rng(0).normal(size=(2, 4, 3))
    directions = np.random.default_rng(1).normal(size=(5, 3))
    each = np.stack([features(one, directions) for one in x])
    np.testing.assert_allclose(features(x, directions), each, rtol=1e-12)


def integrate(function, power=1):
    """The expectation over two independent normal variables, by the rule of Gauss and Hermite."""
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    pairs = itertools.product(zip(points, weights, strict=True), repeat=2)
    return math.fsum(p * r * function(np.array([a, b])) ** power for (a, p), (b, r) in pairs)


@pytest.mark.parametrize("seed", range(3))
def test_positive_features(seed):
    """Each by its formula; the expectation and the variance of a product by integration."""
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    x[0], w[0] = [64, 0, 0], [32, 0, 0]  # e to the power of 2048 - 2048
    found = positive_features(x, w)
    for i, r in np.ndindex(4, 5):
        exponent = sum(w[r] * x[i]) - sum(x[i] ** 2) / 2
        assert math.isclose(found[i, r], math.exp(exponent) / math.sqrt(5), rel_tol=1e-12)
    q, k = 0.5 * rng.normal(size=(2, 2))

    def product(w):
        return (positive_features(q[None], w[None]) @ positive_features(k[None], w[None]).T).item()

    mean, square = integrate(product), integrate(product, 2)
    assert math.isclose(mean, math.exp(q @ k), rel_tol=1e-9)
    variance = math.exp(2 * q @ k) * math.expm1(sum((q + k) ** 2))
    assert math.isclose(square - mean**2, variance, rel_tol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_trigonometric_features(seed):
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    found = trigonometric_features(x, w)
    assert found.shape == (4, 10)
    for i, r in np.ndindex(4, 5):
        scale = math.exp(sum(x[i] ** 2) / 2) / math.sqrt(5)
        along = sum(w[r] * x[i])
        assert math.isclose(found[i, r], scale * math.cos(along), abs_tol=1e-12)
        assert math.isclose(found[i, r + 5], scale * math.sin(along), abs_tol=1e-12)
    q, k = 0.5 * rng.normal(size=(2, 2))

    def product(w):
        return (
            trigonometric_features(q[None], w[None]) @ trigonometric_features(k[None], w[None]).T
        ).item()

    mean, square = integrate(product), integrate(product, 2)
    assert math.isclose(mean, math.exp(q @ k), rel_tol=1e-9)
    around = math.exp(q @ q + k @ k) * (1 - math.exp(-sum((q - k) ** 2))) ** 2 / 2
    assert math.isclose(square - mean**2, around, rel_tol=1e-7)
    assert math.isclose(around, math.exp(2 * q @ k) * (math.cosh(sum((q - k) ** 2)) - 1))


# --- what the page prints ------------------------------------------------------------------------


def unit_vectors(rng, n, d=16):
    drawn = rng.normal(size=(n, d))
    return torch.from_numpy(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def share_right(answers, values, first=0):
    """In percent: which of all values is nearest to each answer, by torch's distances."""
    nearest = torch.cdist(answers, values).argmin(dim=1)
    return 100 * (nearest == torch.arange(first, first + len(answers))).double().mean().item()


def mean_and_half(shares):
    """Of 21 seeds, with Student's t of 20 degrees of freedom."""
    shares = torch.tensor(shares, dtype=torch.float64)
    return [shares.mean().item(), 2.086 * shares.std().item() / 21**0.5]


def test_notebook(chapter):
    """Each fact on its own; what is stored is what the paragraphs say."""
    for line in chapter.table("notebook"):
        n = int(line["facts"])
        cache, sheet = [], []
        for seed in range(21):
            rng = np.random.default_rng((seed, n))
            names, rooms = unit_vectors(rng, n), torch.from_numpy(rng.normal(size=(n, 16)))
            cache.append(share_right(torch.softmax(25 * names @ names.T, -1) @ rooms, rooms))
            sheet.append(share_right(torch.einsum("if,jf,jv->iv", names, names, rooms), rooms))
        for name, shares in (("cache", cache), ("sheet", sheet)):
            ((mean, half),) = parse_plus_minus(line[f"{name}: % right"])
            assert_printed([mean, half], mean_and_half(shares), 1)
        assert set(cache) == {100}
        assert parse_number(line["cache: numbers"]) == n * (16 + 16)
        assert line["sheet: numbers"] == str(16 * 16)
        if n == 8:  # "nearly always"
            assert sum(sheet) / 21 > 95
        if n == 64:  # "wrong about three times in four"
            assert abs(sum(sheet) / 21 - 25) < 5
    layers, heads, kv_heads, size = 32, 32, 8, 128  # Grattafiori et al. 2024, table 3
    kept = 131_072 * layers * 2 * kv_heads * size * 2
    states = layers * heads * size * size * 2
    assert chapter.values("memory")[:3] == [str(kept >> 30), "131,072", str(states >> 20)]


def test_overlap(chapter):
    frames = chapter.frames("overlap")
    assert len(frames) == 5
    for frame, size in zip(frames, (2, 4, 16, 64, 256), strict=True):
        names = unit_vectors(np.random.default_rng((0, size)), 8, size)
        others = [abs(float(a @ b)) for a, b in itertools.combinations(names, 2)]
        shown = re.search(r"\d\.\d\d", frame.caption)
        assert shown
        assert_printed([float(shown[0])], [max(others)], 2)


def test_rooms(chapter):
    """By hand, in fractions."""
    ann, bob = [F(1), F(0)], [F(3, 5), F(4, 5)]

    def dot(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    added, corrected, wanted = [F(0)] * 2, [F(0)] * 2, []
    for name, room in ((ann, 3), (bob, 5), (ann, 7)):
        error = dot(name, corrected) - room
        added = [s + x * room for s, x in zip(added, name, strict=True)]
        corrected = [s - x * error for s, x in zip(corrected, name, strict=True)]
        wanted.append([float(dot(who, S)) for S in (added, corrected) for who in (ann, bob)])
    assert_printed(chapter.grid("rooms"), wanted, 2)
    assert wanted[-1][0] == 13  # the guess
    assert wanted[-1][2] == 7
    assert chapter.values("delta")[0] == f"{wanted[-1][3]:.2f}"


def test_returning(chapter):
    """One vector of the state after the other, by torch."""
    means = []
    for line in chapter.table("returning"):
        n = int(line["facts"])
        sums, deltas = [], []
        for seed in range(21):
            rng = np.random.default_rng((seed, n))
            names, rooms = unit_vectors(rng, 8), torch.from_numpy(rng.normal(size=(n, 16)))
            added = corrected = torch.zeros(16, 16, dtype=torch.float64)
            for i in range(n):
                key = names[i % 8]
                added = added + torch.outer(key, rooms[i])
                keep = torch.eye(16, dtype=torch.float64) - torch.outer(key, key)
                corrected = keep @ corrected + torch.outer(key, rooms[i])
            sums.append(share_right(names @ added, rooms, n - 8))
            deltas.append(share_right(names @ corrected, rooms, n - 8))
        for name, shares in (("sum", sums), ("delta rule", deltas)):
            ((mean, half),) = parse_plus_minus(line[f"% right, {name}"])
            assert_printed([mean, half], mean_and_half(shares), 1)
        means.append((sum(sums) / 21, sum(deltas) / 21))
    assert [len(means), means[-1][0] < 2, min(mean for _, mean in means) > 80] == [5, True, True]


def test_linear_page(chapter):
    assert chapter.output("linear").startswith("State: (3, 2).")
    rng = np.random.default_rng(0)
    q, k = rng.integers(1, 5, size=(2, 6, 3)).tolist()
    v = rng.integers(-4, 5, size=(6, 2)).tolist()
    a = [sum(x * y for x, y in zip(q[-1], one, strict=True)) for one in k]
    for c in range(2):
        wanted = sum(x * one[c] for x, one in zip(a, v, strict=True)) / sum(a)
        assert_printed(chapter.column("linear", f"component {c + 1}"), [wanted] * 2, 4)
    rng = np.random.default_rng(0)
    features, w = rng.normal(size=(2, 12, 5)), rng.normal(size=(12, 3))
    q, k = elu(torch.from_numpy(features)).numpy() + 1
    a = k @ q[-1]
    for c in range(3):
        wanted = a @ w[:, c] / a.sum()
        assert_printed(chapter.column("chunks", f"component {c + 1}"), [wanted] * 2, 4)
    n, f, d_v = 40, 5, 7
    pairs = sum(2 * f + 2 * d_v for _ in range(n * n))  # a score, a weighted value
    state = sum(2 * f * d_v + 2 * f * d_v for _ in range(n))  # into it, out of it
    for name in ("formula", "counted"):
        assert chapter.column("linear-count", name) == [pairs, state]
    assert chapter.column("linear-work", "n") == [64, 1024, 16_384]
    for found in chapter.table("linear-work"):
        n = int(parse_number(found["n"]))
        for name, wanted in (("all pairs", 2 * n**2 * 128), ("state", 4 * n * 64 * 64)):
            assert f"{parse_number(found[name]):.2e}" == f"{wanted:.2e}"


def test_recall(chapter):
    """A larger simulation with torch's functions, and the bound by hand."""
    lines = chapter.table("recall")
    assert len(lines) == 6
    generator = torch.Generator().manual_seed(11)
    for line in lines:
        n, least = int(line["values n"]), F(line["bound"])
        assert_printed([float(least)], [max(0, 1 - 16 / n)], 2)
        found = [parse_plus_minus(line[name])[0] for name in ("softmax", "elu + 1", "best state")]
        k = torch.randn(200, n, 16, generator=generator, dtype=torch.float64)
        k = k / k.norm(dim=-1, keepdim=True)
        v = torch.randn(200, n, 16, generator=generator, dtype=torch.float64)
        phi = elu(4 * k) + 1
        a = phi @ phi.mT
        basis = torch.linalg.svd(k, full_matrices=False).U
        outputs = [sdpa(100 * k, k, v), a @ v / a.sum(dim=-1, keepdim=True), basis @ (basis.mT @ v)]
        size = (v**2).sum(dim=(1, 2))
        for interval, out in zip(found, outputs, strict=True):
            truth = (((out - v) ** 2).sum(dim=(1, 2)) / size).mean().item()
            # Half a printed digit on each of the two numbers.
            assert agrees_within_error((interval[0], interval[1] + 0.01), truth)
        if n > 16:
            assert found[2][0] >= float(least) - 2.5 * (found[2][1] + 0.01)
        assert found[1][0] > found[2][0] - 0.005
    assert chapter.column("rank", "rank") == [3, 3, 12]


def test_new_names(chapter):
    """A larger simulation with torch."""
    lines = chapter.table("delta-recall")
    assert [int(line["values n"]) for line in lines] == [4, 8, 16, 32, 64]
    generator = torch.Generator().manual_seed(12)
    names = ("sum", "delta, β = 1", "delta, β = 1/4", "best state", "sum × factor")
    truths = {}
    for line in lines:
        n = int(line["values n"])
        k = torch.randn(400, n, 16, generator=generator, dtype=torch.float64)
        k = k / k.norm(dim=-1, keepdim=True)
        v = torch.randn(400, n, 16, generator=generator, dtype=torch.float64)
        states = [k.mT @ v]
        for beta in (1.0, 0.25):
            S = torch.zeros(400, 16, 16, dtype=torch.float64)
            for i in range(n):
                recalled = torch.einsum("bf,bfv->bv", k[:, i], S)
                S = S - beta * torch.einsum("bf,bv->bfv", k[:, i], recalled - v[:, i])
            states.append(S)
        states.append(torch.linalg.pinv(k) @ v)
        x = (n - 1) / 16
        states.append(states[0] / (1 + x))
        size = (v**2).sum(dim=(1, 2))
        for name, S in zip(names, states, strict=True):
            truth = (((k @ S - v) ** 2).sum(dim=(1, 2)) / size).mean().item()
            truths.setdefault(line["values n"], []).append(truth)
            ((mean, half),) = parse_plus_minus(line[name])
            # Half a printed digit on each of the two numbers.
            assert agrees_within_error((mean, half + 0.01), truth)
        # A sum mixes in the other n - 1 values, each with an expected square of 1/16.
        ((mean, half),) = parse_plus_minus(line["sum"])
        assert agrees_within_error((mean, half + 0.01), x)
        # A factor c leaves (1 - c)² + c² x, which is x / (1 + x) at its smallest, c = 1 / (1 + x).
        ((mean, half),) = parse_plus_minus(line["sum × factor"])
        assert agrees_within_error((mean, half + 0.01), x / (1 + x))
    means = {
        line["values n"]: [parse_plus_minus(line[name])[0][0] for name in names] for line in lines
    }
    *said, paired = chapter.values("new-names")
    assert said == [
        f"{means[n][column]:.2f}"
        for n, column in (("8", 0), ("8", 1), ("32", 1), ("8", 4), ("32", 4))
    ]
    ((mean, half),) = parse_plus_minus(paired)  # both of the same seeds
    assert 0 < half < mean
    assert agrees_within_error((mean, half + 0.01), truths["8"][4] - truths["8"][1])
    for n in ("16", "32", "64"):  # the sum with its factor is ahead
        assert truths[n][4] < min(truths[n][1:3]) - 0.004
    # As good as the better of the two rates, as far as these seeds can tell.
    for n in ("8", "32"):
        assert abs(means[n][4] - min(means[n][1:3])) < 0.05
    assert means["8"][3] == 0
    assert means["32"][2] < 1 < means["32"][1]


def test_unbiased(chapter):
    """The products again, from sums in the exponent."""
    rng = np.random.default_rng(0)
    for line, f in zip(chapter.table("unbiased"), (16, 64, 256), strict=True):
        w = torch.from_numpy(rng.normal(size=(2000 * f, 2)).reshape(2000, f, 2))
        product = torch.exp(w @ torch.tensor([1.0, 0.0]).double() - 0.5).mean(1)
        assert line["features f"] == str(f)
        wanted = [product.mean(), product.std(correction=0)]
        assert_printed([float(line["mean"])], wanted[:1], 2)
        assert_printed([float(line["measured"])], wanted[1:], 3)
        assert_printed([float(line["standard deviation"])], [((math.e - 1) / f) ** 0.5], 3)
        assert abs(wanted[0] - 1) < 4 * wanted[1] / 2000**0.5


def test_angles(chapter):
    """Vectors of length 1 in the plane, by integration."""
    one = np.array([1.0, 0])
    wanted = []
    for other in (one, np.array([0.0, 1]), -one):
        row = []
        for count, kind in ((64, positive_features), (32, trigonometric_features)):

            def product(w, kind=kind, other=other):
                return (kind(one[None], w[None]) @ kind(other[None], w[None]).T).item()

            variance = integrate(product, 2) - integrate(product) ** 2
            row.append(max(variance, 0) ** 0.5 / math.exp(one @ other) / count**0.5)
        wanted.append(row)
    assert_printed(chapter.grid("angles"), wanted, 2)


@pytest.fixture(scope="module")
def tried():
    """Errors with exponents and cosines of differences, without any feature vector."""
    rng = np.random.default_rng(0)
    drawn = [rng.normal(size=(32, 8)) for _ in range(2)]
    units = [torch.from_numpy(z / np.linalg.norm(z, axis=1, keepdims=True)) for z in drawn]
    values = torch.from_numpy(rng.normal(size=(32, 4)))
    found = {}
    for length, f in itertools.product((1, 2), (16, 64, 256, 1024)):
        q, k = (length * one for one in units)
        norms = (q**2).sum(1)[:, None] / 2 + (k**2).sum(1) / 2
        right = torch.softmax(q @ k.T, -1) @ values
        rows = []
        for seed in range(21):
            w = torch.from_numpy(np.random.default_rng((seed, f)).normal(size=(f, 8)))
            along, across = q @ w.T, k @ w.T
            positive = torch.exp(along)[:, None] * torch.exp(across)
            waves = torch.cos(along[:, None, : f // 2] - across[:, : f // 2])
            kernels = [positive.mean(-1) * torch.exp(-norms), waves.mean(-1) * torch.exp(norms)]
            outputs = [one @ values / one.sum(1, keepdim=True) for one in kernels]
            off = [((o - right).norm() / right.norm()).item() for o in outputs]
            rows.append([*off, (kernels[1] < 0).double().mean().item()])
        found[length, f] = np.array(rows)
    return found


def test_attention_with_features(chapter, tried):
    wanted = []
    for f in (16, 64, 256, 1024):
        short, long = (np.median(tried[length, f], axis=0) for length in (1, 2))
        wanted.append([f, *short[:2], *long[:2], 100 * long[2]])
    shown = [[cell.rstrip("%") for cell in line.values()] for line in chapter.table("attention")]
    got = [[float(cell.replace(",", "")) for cell in line] for line in shown]
    assert_printed([line[:5] for line in got], [line[:5] for line in wanted], 2)
    assert_printed([line[5] for line in got], [line[5] for line in wanted], 0)
    shown = [f"{wanted[0][5]:.0f}", "8", f"{100 * wanted[3][3]:.0f}"]  # components of a vector
    assert chapter.values("waves") == shown
    # What the page says of them.
    assert wanted[0][1] < wanted[0][2]
    assert all(line[2] < line[1] for line in wanted[1:])
    assert all(line[3] < line[4] for line in wanted[:3])
    assert wanted[3][4] < wanted[3][3]


def test_many(chapter):
    wanted = [100 * (mpmath.exp(2 * mpmath.sqrt(d)) - 1) for d in (4, 16, 64)]
    assert_printed_e(chapter.column("many", "features for 10%"), [float(x) for x in wanted], 1)


def test_exercises(chapter):
    answers = [F(8) * (1 - F(1, 2) ** t) for t in (1, 2, 3)]  # half of the way, three times
    assert chapter.grid("exercise-hand") == [[float(one) for one in answers]]
    for line, n in zip(chapter.table("exercise-size"), (32, 64, 128), strict=True):
        counts = [parse_number(line[name]) for name in ("n", "cache", "state")]
        assert counts == [n, n * (128 + 128), 128**2]
    assert chapter.grid("exercise-negative") == [[1, -1, 0]]
    assert_printed(chapter.grid("exercise-opposite"), [[math.exp(-1)] * 2])
    assert chapter.column("exercise-chunk", "c") == [1, 16, 64, 256, 4096]
    for found in chapter.table("exercise-chunk"):
        c = int(found["c"])
        chunks = 4096 // c
        each = 2 * (2 * c**2 * 64) + 2 * (2 * c * 64 * 64)
        assert f"{parse_number(found['operations']):.2e}" == f"{chunks * each:.2e}"
        assert int(found["steps"]) == chunks


def test_exercise_norm(chapter):
    rng = np.random.default_rng(0)
    drawn = [rng.normal(size=(32, 8)) for _ in range(2)]
    q, k = (torch.from_numpy(z / np.linalg.norm(z, axis=1, keepdims=True)) for z in drawn)
    values = torch.from_numpy(rng.normal(size=(32, 4)))
    w = torch.from_numpy(np.random.default_rng(0).normal(size=(4096, 8)))
    wanted = []
    for length in (torch.ones(32, 1), torch.linspace(0.5, 1.5, 32, dtype=torch.float64)[:, None]):
        keys = k * length
        right = torch.softmax(q @ keys.T, -1) @ values
        without = torch.exp(q @ w.T) @ torch.exp(keys @ w.T).T
        row = []
        for kernel in (without * torch.exp(-(keys**2).sum(1) / 2), without):
            o = kernel @ values / kernel.sum(1, keepdim=True)
            row.append((o - right).norm() / right.norm())
        wanted.append(row)
    assert_printed(chapter.grid("exercise-norm"), wanted, 2)


ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-hand": [[4, 6, 7], [8, 16, 24], [4, 8, 12]],
    "exercise-size": [16_384, 64, 128],
    "exercise-chunk": [8 * 4096 * 64 * 64, 4 * 4096 * 64 * 64],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
