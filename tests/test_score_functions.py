"""Score functions: properties, agreement with torch, and the chapter's published numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from attention_docs.score_functions import (
    additive,
    angles,
    bilinear,
    cosine,
    dot,
    projections,
    scaled_dot,
)
from tests import exact
from tests.conftest import scale_examples
from tests.exact import (
    W_KEY,
    W_QUERY,
    X,
    assert_printed,
    attention_weights,
    make_test_of_asked,
    norm,
    product,
    rank,
    softmax,
    transpose,
)
from tests.exact import dot as dot_
from tests.page import Page, parse_number, vector_of

# Of rounding, relative to the size of the terms that are summed.
TOLERANCE = {torch.float64: 1e-13, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 8e-2}
DTYPES = list(TOLERANCE)
all_dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def examples(count: int, **more: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """Run a test with random seeds and `count` sizes, no two of them equal."""
    sizes = st.lists(st.integers(1, 9), min_size=count, max_size=count, unique=True)
    drawn = given(seed=st.integers(0, 2**31), sizes=sizes, **more)
    return lambda test: scale_examples(50)(drawn(test))


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def close(ours: torch.Tensor, theirs: torch.Tensor, dtype: torch.dtype, scale: float) -> None:
    """Our scores in a dtype against float64 scores of the same (already rounded) arrays."""
    assert ours.dtype == dtype
    assert ours.shape == theirs.shape
    assert (ours.double() - theirs).abs().max() <= TOLERANCE[dtype] * max(scale, 1)


# Properties


@all_dtypes
@examples(4)
def test_cosine_agrees_with_torch(dtype: torch.dtype, seed: int, sizes: list[int]) -> None:
    batch, n_q, n_k, d = sizes
    query, key = normal(seed, batch, n_q, d, dtype=dtype), normal(seed + 1, n_k, d, dtype=dtype)
    pairs = query.double()[:, :, None, :], key.double()[None, None, :, :]
    close(cosine(query, key), F.cosine_similarity(*pairs, dim=-1), dtype, 1)


@all_dtypes
@examples(5)
def test_bilinear_agrees_with_torch(dtype: torch.dtype, seed: int, sizes: list[int]) -> None:
    batch, n_q, n_k, d_q, d_k = sizes
    query = normal(seed, batch, n_q, d_q, dtype=dtype)
    key = normal(seed + 1, n_k, d_k, dtype=dtype)
    parameters = normal(seed + 2, d_q, d_k, dtype=dtype)
    layer = torch.nn.Bilinear(d_q, d_k, 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(parameters.double()[None])
        left = query.double()[:, :, None, :].expand(batch, n_q, n_k, d_q).contiguous()
        right = key.double()[None, None].expand(batch, n_q, n_k, d_k).contiguous()
        theirs = layer(left, right)[..., 0]
        scale = (query.double().abs() @ parameters.double().abs() @ key.double().abs().mT).max()
    close(bilinear(query, key, parameters), theirs, dtype, scale.item())


@all_dtypes
@examples(6)
def test_additive_agrees_with_torch(dtype: torch.dtype, seed: int, sizes: list[int]) -> None:
    batch, n_q, n_k, d_q, d_k, d_a = sizes
    query = normal(seed, batch, n_q, d_q, dtype=dtype)
    key = normal(seed + 1, n_k, d_k, dtype=dtype)
    W_q, W_k = normal(seed + 2, d_q, d_a, dtype=dtype), normal(seed + 3, d_k, d_a, dtype=dtype)
    w = normal(seed + 4, d_a, dtype=dtype)
    layers = [torch.nn.Linear(*s, bias=False).double() for s in ((d_q, d_a), (d_k, d_a), (d_a, 1))]
    with torch.no_grad():
        for layer, parameters in zip(layers, (W_q.mT, W_k.mT, w[None]), strict=True):
            layer.weight.copy_(parameters.double())
        to_query, to_key, to_score = layers
        left, right = query.double()[:, :, None, :], key.double()[None, None, :, :]
        theirs = to_score(torch.tanh(to_query(left) + to_key(right)))[..., 0]
        inside = query.double().abs().amax() * W_q.double().abs().sum(0).amax()
        inside += key.double().abs().amax() * W_k.double().abs().sum(0).amax()
        scale = w.double().abs().sum() * max(1, inside.item())
    close(additive(query, key, W_q, W_k, w), theirs, dtype, scale.item())


@examples(4)
def test_projected_dot_is_bilinear(seed: int, sizes: list[int]) -> None:
    n_q, n_k, d_model, d_k = sizes
    x, y = normal(seed, n_q, d_model), normal(seed + 1, n_k, d_model)
    W_q, W_k = normal(seed + 2, d_model, d_k), normal(seed + 3, d_model, d_k)
    merged = W_q @ W_k.mT
    assert torch.allclose(dot(x @ W_q, y @ W_k), bilinear(x, y, merged), rtol=0, atol=1e-10)
    assert torch.linalg.matrix_rank(merged) <= d_k


@examples(4)
def test_every_low_rank_splits(seed: int, sizes: list[int]) -> None:
    """A matrix of rank r is a product of factors with d_k columns, for every d_k from r on."""
    rank_, more, d_model, other = sizes
    d_model += rank_
    M = normal(seed, d_model, rank_) @ normal(seed + 1, rank_, other + rank_)
    u, singular, v = torch.linalg.svd(M)
    d_k = rank_ + more
    left, right = torch.zeros(d_model, d_k), torch.zeros(M.shape[1], d_k)
    left, right = left.double(), right.double()
    left[:, :rank_] = u[:, :rank_] * singular[:rank_]
    right[:, :rank_] = v.mT[:, :rank_]
    assert torch.allclose(left @ right.mT, M, rtol=0, atol=1e-10)


def test_parameters_saved() -> None:
    """Two factors hold fewer numbers than the product if and only if d_k < d_model / 2."""
    for d_model in range(1, 40):
        for d_k in range(1, 40):
            factors = sum(p.numel() for p in (torch.empty(d_model, d_k), torch.empty(d_model, d_k)))
            fewer = factors < torch.empty(d_model, d_model).numel()
            assert fewer == (Fraction(d_k) < Fraction(d_model, 2))
            # An invertible d_k × d_k matrix may stand between them.
            assert d_k > d_model or factors - d_k**2 + (d_model - d_k) ** 2 == d_model**2


@examples(2)
def test_sums_are_not_compared(seed: int, sizes: list[int]) -> None:
    """Scores f_i + g_j give every query the same weights; their mixed differences are 0."""
    n_q, n_k = sizes
    s = normal(seed, n_q, 1) + normal(seed + 1, 1, n_k)
    weights = torch.softmax(s, dim=-1)
    assert torch.allclose(weights, weights[:1].expand(n_q, n_k), rtol=0, atol=1e-14)
    mixed = s[:, :, None, None] + s[None, None] - s[:, None, None, :] - s.mT[None, :, :, None]
    assert mixed.abs().max() < 1e-12


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16], ids=str)
def test_cosine_of_extremes(dtype: torch.dtype) -> None:
    largest, smallest = torch.finfo(dtype).max, torch.finfo(dtype).smallest_normal
    vectors = torch.tensor([[largest, 0.75 * largest], [smallest, 2 * smallest]], dtype=dtype)
    zeros = torch.zeros(1, 2, dtype=dtype)
    expected = torch.tensor([[1, 2 / 5**0.5], [2 / 5**0.5, 1]], dtype=torch.float64)
    close(cosine(vectors, vectors), expected, dtype, 1)
    assert (cosine(zeros, vectors) == 0).all()
    assert (cosine(vectors, zeros) == 0).all()


def test_gradient_at_a_zero_vector_is_finite() -> None:
    query = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    key = normal(1, 2, 3).requires_grad_()
    cosine(query, key).sum().backward()
    assert query.grad is not None
    assert torch.isfinite(query.grad).all()
    assert key.grad is not None
    assert (key.grad == 0).all()


def ones(*shape: int, dtype: Any = float) -> np.ndarray:
    return np.ones(shape, dtype=dtype)


@examples(5)
def test_torch_counts_the_same_products(seed: int, sizes: list[int]) -> None:
    """torch counts 2mnk for a product; the chapter's formulas count 2mnk - mn."""

    n_q, n_k, d_q, d_k, d_a = sizes

    def counted(score: Any, *arrays: torch.Tensor) -> int:
        with FlopCounterMode(display=False) as counter:
            score(*arrays)
        return counter.get_total_flops()

    query, key, short = (normal(seed, n_q, d_q), normal(seed, n_k, d_k), normal(seed, n_q, d_k))
    assert counted(dot, short, key) == n_q * n_k * 2 * d_k
    two_products = n_q * d_k * 2 * d_q + n_q * n_k * 2 * d_k
    assert counted(bilinear, query, key, normal(4, d_q, d_k)) == two_products
    parameters = normal(5, d_q, d_a), normal(6, d_k, d_a), normal(7, d_a)
    projections = n_q * d_a * 2 * d_q + n_k * d_a * 2 * d_k  # torch leaves vectors out
    assert counted(additive, query, key, *parameters) == projections


# The chapter's published numbers, from integers, fractions and mpmath.

QUERIES = [[1, 0, 2, 2], [2, 1, 0, 2]]
KEYS = [[0, 3, 0, 4], [1, 1, 1, 1], [0, -2, 1, 2]]
LONG_KEYS = [[0, 3, 0, 4, 1, 0], [1, 1, 1, 1, -1, 2], [0, -2, 1, 2, 2, 1]]
BILINEAR = [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, -1]]
LONG_BILINEAR = [[0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1], [1, 0, 1, 0, 0, 0], [0, 0, 0, -1, 0, 0]]
ADD_Q = [[1, 0], [0, 1], [0, 1], [0, -1]]
ADD_K = [[0, 1], [1, 0], [1, 1], [-1, 0]]
LONG_ADD_K = [*ADD_K, [1, -1], [0, -1]]
ADD = [2, 1]

Rows = list[list[Any]]


def exact_dot(q: Rows, k: Rows) -> Rows:
    return product(q, transpose(k))


def exact_cosine(q: Rows, k: Rows) -> Rows:
    return [
        [score / norm(one) / norm(other) for score, other in zip(row, k, strict=True)]
        for row, one in zip(exact_dot(q, k), q, strict=True)
    ]


def exact_additive(q: Rows, k: Rows, W_q: Rows, W_k: Rows, w: list[int]) -> Rows:
    left, right = product(q, W_q), product(k, W_k)
    return [
        [
            mpmath.fsum(c * mpmath.tanh(x + y) for c, x, y in zip(w, a, b, strict=True))
            for b in right
        ]
        for a in left
    ]


def shown(rows: Any, digits: int = 4) -> np.ndarray:
    """Rounded as a page shows it."""
    if isinstance(rows, list):
        return np.array([shown(one, digits) for one in rows])
    return np.array(float(mpmath.nstr(mpmath.mpf(rows), 30)).__round__(digits))


def vectors(chapter: Any, block: str, name: str) -> list[list[float]]:
    """The vectors in a column of a table."""
    return [vector_of(line[name]) for line in chapter.table(block)]


def test_example(chapter: Any) -> None:
    assert chapter.matrix("by-hand", "queries") == QUERIES
    assert chapter.matrix("by-hand", "keys") == KEYS


def test_choose(chapter: Any) -> None:
    """Six score functions on the same queries and keys: what each frame holds."""
    frames = chapter.frames("choose")
    left, right = product(QUERIES, ADD_Q), product(KEYS, ADD_K)
    flat = [[dot_(ADD, a) + dot_(ADD, b) for b in right] for a in left]
    wanted = [*example_scores(), flat]
    assert len(frames) == len(wanted)
    for frame, scores in zip(frames, wanted, strict=True):
        for drawing, rows in zip(
            frame.labels, (scores, [softmax(one) for one in scores]), strict=True
        ):
            drawn = re.findall(r"−?\d+\.\d{4}", drawing)
            assert [parse_number(x) for x in drawn] == shown(rows).ravel().tolist()
    first = [np.argmax([float(x) for x in softmax(scores[0])]) for scores in wanted]
    assert first == [0, 0, 1, 1, 1, 1]
    described = ", ".join(f"{x:.4f}" for x in shown(softmax(flat[0])))
    assert chapter.values("choose") == [f"[{described}]"]


def test_dot(chapter: Any) -> None:
    expected = exact_dot(QUERIES, KEYS)
    assert expected == [[8, 5, 6], [11, 5, 2]]
    assert chapter.matrix("dot", "scores") == expected
    lines = chapter.output("dot").splitlines()
    assert lines[0] == "q1·k1 = 1·0 + 0·3 + 2·0 + 2·4 = 8"
    assert [int(line.split()[-1]) for line in lines[:3]] == expected[0]


def test_scaled_dot(chapter: Any) -> None:
    expected = [[Fraction(s, 2) for s in row] for row in exact_dot(QUERIES, KEYS)]
    assert chapter.matrix("scaled-dot", "scores") == expected
    fractions = [line.split(" = ")[1] for line in chapter.output("scaled-dot").splitlines()]
    assert [Fraction(f) for f in fractions] == expected[0]
    theirs = torch.tensor(QUERIES, dtype=torch.float64), torch.tensor(KEYS, dtype=torch.float64)
    weights = F.scaled_dot_product_attention(*theirs, torch.eye(3, dtype=torch.float64))
    shown_weights = vectors(chapter, "side-by-side", "weights")[1]
    assert (shown_weights == np.round(weights[0].numpy(), 4)).all()


def test_cosine(chapter: Any) -> None:
    norms_q, norms_k, *lines = chapter.output("cosine").splitlines()
    assert norms_q == "norms of the queries: [3, 3]"
    assert norms_k == "norms of the keys: [5, 2, 3]"
    fractions = [Fraction(line.split(" = ")[1]) for line in lines]
    assert fractions == [Fraction(8, 15), Fraction(5, 6), Fraction(2, 3)]
    assert (chapter.matrix("cosine", "scores") == shown(exact_cosine(QUERIES, KEYS))).all()


def test_bilinear(chapter: Any) -> None:
    expected = exact_dot(product(QUERIES, BILINEAR), KEYS)
    assert expected == [[-5, 3, -4], [-2, 1, -7]]
    assert chapter.matrix("bilinear", "W") == BILINEAR
    assert (chapter.array("bilinear") == product(QUERIES, BILINEAR)[0]).all()
    lines = chapter.output("bilinear").splitlines()[-3:]
    assert [int(line.split()[-1]) for line in lines] == expected[0]


def test_additive(chapter: Any) -> None:
    expected = exact_additive(QUERIES, KEYS, ADD_Q, ADD_K, ADD)
    tanh_1, tanh_2 = mpmath.tanh(1), mpmath.tanh(2)
    assert expected[0] == pytest.approx([0, 3 * tanh_2, tanh_1 - 2 * tanh_2])  # by hand
    by_hand = [parse_number(line["score"].split(" = ")[-1]) for line in chapter.table("additive")]
    assert (by_hand == shown(expected[0])).all()
    left, right = product(QUERIES, ADD_Q)[0], product(KEYS, ADD_K)
    assert (chapter.array("additive") == left).all()
    both = [[x + y for x, y in zip(left, key, strict=True)] for key in right]
    assert vectors(chapter, "additive", "k W_k") == right
    assert vectors(chapter, "additive", "q W_q + k W_k") == both
    hidden = shown([[mpmath.tanh(x) for x in pair] for pair in both])
    assert (vectors(chapter, "additive", "tanh") == hidden).all()
    assert f"{float(expected[0][1]):.4f}" in chapter.values("additive")
    assert chapter.values("side-by-side") == [str(-sum(ADD)), str(sum(ADD))]


def example_scores() -> list[Rows]:
    dots = exact_dot(QUERIES, KEYS)
    return [
        dots,
        [[mpmath.mpf(s) / 2 for s in row] for row in dots],
        exact_cosine(QUERIES, KEYS),
        exact_dot(product(QUERIES, BILINEAR), KEYS),
        exact_additive(QUERIES, KEYS, ADD_Q, ADD_K, ADD),
    ]


def test_side_by_side(chapter: Any) -> None:
    names = [line[""] for line in chapter.table("side-by-side")]
    assert names == ["dot", "scaled dot", "cosine", "bilinear", "additive"]
    found = vectors(chapter, "side-by-side", "scores")
    weights = vectors(chapter, "side-by-side", "weights")
    for scores, one, other in zip(example_scores(), found, weights, strict=True):
        assert (one == shown(scores[0])).all()
        assert (other == shown(softmax(scores[0]))).all()
    order = [np.argsort(found[n]).tolist() for n in (0, 2)]
    assert order[0] == order[1][::-1]  # dot and cosine


def test_identity(chapter: Any) -> None:
    dots, halves, *_ = example_scores()
    assert chapter.matrix("identity", "W = I") == dots
    assert chapter.matrix("identity", "W = I / √d_k") == halves


def test_projected(chapter: Any) -> None:
    merged = product(W_QUERY, transpose(W_KEY))
    scores = exact_dot(product(X, W_QUERY), product(X, W_KEY))
    assert scores == [[2, 4, 4], [4, 16, 12], [4, 12, 10]]  # seed 000
    assert product(product(X, merged), transpose(X)) == scores
    assert chapter.matrix("projected", "M") == merged
    assert chapter.matrix("projected", "scores") == scores
    ranks = f"rank of M: {rank(merged)} ≤ d_k = 3\nrank of W: {rank(BILINEAR)}"
    assert chapter.output("projected") == ranks
    sizes = [(512, 64), (512, 256), (4, 3)]
    assert chapter.column("saved", "d_model") == [d_model for d_model, _ in sizes]
    assert chapter.column("saved", "d_k") == [d for _, d in sizes]
    assert chapter.column("saved", "two factors") == [2 * d_model * d for d_model, d in sizes]
    assert chapter.column("saved", "M") == [d_model * d_model for d_model, _ in sizes]
    fewer = [line["do the factors have fewer?"] == "✓" for line in chapter.table("saved")]
    assert fewer == [Fraction(d) < Fraction(d_model, 2) for d_model, d in sizes]


def test_absorbed(chapter: Any) -> None:
    """The scores, from queries and keys made first."""
    scores = exact_additive(product(X, W_QUERY), product(X, W_KEY), ADD_Q[:3], ADD_K[:3], ADD)
    assert (chapter.matrix("absorbed", "scores") == shown(scores)).all()


def test_temperature(chapter: Any) -> None:
    table = chapter.table("temperature")
    assert [line[""] for line in table] == [f"τ = {temperature}" for temperature in (1, 2, 4, 8)]
    for line, temperature in zip(table, (1, 2, 4, 8), strict=True):
        scores = [mpmath.mpf(s) / temperature for s in (8, 5, 6)]
        weights = [float(line[f"key {j}"]) for j in (1, 2, 3)]
        assert (weights == shown(softmax(scores))).all()


def test_unit(chapter: Any) -> None:
    assert chapter.column("unit", "dot") == [8, 50, 6]
    cosines = shown(exact_cosine(QUERIES, KEYS)[0])
    assert (chapter.column("unit", "cosine") == cosines).all()


def test_concat(chapter: Any) -> None:
    assert chapter.output("concat") == "shape of the joined matrix: (8, 2)"


def test_bound(chapter: Any) -> None:
    def bound(n: int, beta: int = 1) -> Any:
        best = softmax([beta] + [-beta] * (n - 1))  # the best case, written out
        return best[0]

    peak = chapter.array("bound")
    assert (peak == shown(softmax([1, -1, -1]))).all()
    assert chapter.column("bound", "number of keys") == [3, 32, 512, 512]
    assert chapter.column("bound", "β") == [1, 1, 1, 5]
    printed = chapter.column("bound", "no weight exceeds")
    expected = [bound(3), bound(32), bound(512), bound(512, 5)]
    assert (np.array(printed) == shown(expected)).all()
    assert chapter.values("cosine-needs")[0] == "512"
    assert [float(v) for v in chapter.values("cosine-needs")[1:3]] == printed[2:]


def test_robust(chapter: Any) -> None:
    columns = ("formula as it stands", "package", "torch")
    naive, here, theirs = (
        tuple(line[name] for line in chapter.table("robust")) for name in columns
    )
    assert set(naive) == {"NaN"}
    assert here == ("1.0", "1.0", "0.0", "0.0")  # 25 / (5 · 5), twice; by definition, twice
    assert theirs == ("1.0", "0.0", "0.0", "NaN")


def test_different_sizes(chapter: Any) -> None:
    expected = exact_dot(product(QUERIES, LONG_BILINEAR), LONG_KEYS)
    assert expected == [[-4, 2, -2], [0, 1, -2]]
    assert chapter.matrix("mistake-sizes", "keys") == LONG_KEYS
    assert vectors(chapter, "different-sizes", "bilinear") == expected
    scores = exact_additive(QUERIES, LONG_KEYS, ADD_Q, LONG_ADD_K, ADD)
    assert (vectors(chapter, "different-sizes", "additive") == shown(scores)).all()
    refused = chapter.output("mistake-sizes").splitlines()
    message = "query and key must share d_k, got (2, 4) and (3, 6)"
    assert refused == [f"{name}(): {message}" for name in ("dot", "scaled_dot", "cosine")]


def test_cut(chapter: Any) -> None:
    before = vectors(chapter, "mistake-cut", "scores")
    after = vectors(chapter, "mistake-cut", "after key 2 has changed")
    assert before[:2] == after[:2] == exact_dot(QUERIES, KEYS)
    changed = [LONG_KEYS[0], [1, 1, 1, 1, 9, 2], LONG_KEYS[2]]
    right = exact_dot(product(QUERIES, LONG_BILINEAR), changed)
    assert before[2:] == exact_dot(product(QUERIES, LONG_BILINEAR), LONG_KEYS)
    assert after[2:] == right != before[2:]
    assert chapter.values("mistake-sizes") == ["9", "2", str(right[0][1])]


def test_no_tanh(chapter: Any) -> None:
    left, right = product(QUERIES, ADD_Q), product(KEYS, ADD_K)
    flat = [
        [sum(c * (x + y) for c, x, y in zip(ADD, a, b, strict=True)) for b in right] for a in left
    ]
    assert vectors(chapter, "mistake-no-tanh", "scores") == flat
    wrong = vectors(chapter, "mistake-no-tanh", "weights")
    assert (wrong == shown([softmax(scores) for scores in flat])).all()
    assert wrong[0] == wrong[1]
    scores = exact_additive(QUERIES, KEYS, ADD_Q, ADD_K, ADD)
    assert (vectors(chapter, "additive-weights", "scores") == shown(scores)).all()
    weights = vectors(chapter, "additive-weights", "weights")
    assert (weights == shown([softmax(one) for one in scores])).all()
    assert all(a != b for a, b in zip(*weights, strict=True))


def test_parameters(chapter: Any) -> None:
    layers = [torch.nn.Linear(*s, bias=False) for s in ((4, 2), (6, 2), (2, 1))]
    additive_count = sum(p.numel() for layer in layers for p in layer.parameters())
    bilinear_count = torch.nn.Bilinear(4, 6, 1, bias=False).weight.numel()
    expected = [0, 0, 0, bilinear_count, additive_count]
    assert chapter.column("parameters", "counted") == expected
    assert chapter.column("parameters", "by the formula") == expected


def test_operations(chapter: Any) -> None:
    # 2 queries, 3 keys: (multiplications, additions, roots, divisions, tanh) by hand
    by_hand = {
        "dot": (6 * 4, 6 * 3, 0, 0, 0),
        "scaled dot": (6 * 4, 6 * 3, 1, 6, 0),
        "cosine": (5 * 4 + 6 * 4, 5 * 3 + 6 * 3, 5, 5 * 4, 0),
        "bilinear": (2 * 6 * 4 + 6 * 6, 2 * 6 * 3 + 6 * 5, 0, 0, 0),
        "additive": (2 * 2 * 4 + 3 * 2 * 6 + 6 * 2, 2 * 2 * 3 + 3 * 2 * 5 + 6 * (2 + 1), 0, 0, 12),
    }
    for (name, counts), line in zip(by_hand.items(), chapter.table("operations"), strict=True):
        assert line[""] == name
        assert line["counted"] == line["by the formula"] == str(sum(counts))
        assert tuple(int(line[symbol]) for symbol in ("·", "+", "√", "/", "tanh")) == counts


def test_large(chapter: Any) -> None:
    n, d = 512, 64
    pairs, product = n * n, 2 * d - 1
    expected = {
        "dot": (0, pairs * product, pairs),
        "scaled dot": (0, pairs * product + pairs + 1, pairs),
        "cosine": (0, pairs * product + 2 * n * (product + 1 + d), pairs),
        "bilinear": (d * d, n * d * product + pairs * product, pairs),
        "additive": (2 * d * d + d, 2 * n * d * product + pairs * (d + d + product), pairs * d),
    }
    operations = [Fraction(row[1], expected["dot"][1]) for row in expected.values()]
    held = [Fraction(row[2], pairs) for row in expected.values()]
    drawn = chapter.figure("large")
    found = [float(x) for x in re.findall(r"\d+\.\d{3}", drawn)]
    assert found == [round(float(x), 3) for x in (*operations, *held)]
    values = [v.replace(",", "") for v in chapter.values("cost")]
    counts = [str(row[1]) for row in expected.values()]
    assert values == [f"{float(operations[-1]):.2f}", str(pairs * d), *counts]
    assert chapter.output("original") == f"parameters: {1000 * 1000 + 2000 * 1000 + 1000:,d}"


def test_torch_and_gradients_agree(chapter: Any) -> None:
    agree = [line["do both agree?"] for line in chapter.table("torch")]
    assert agree == ["✓"] * 3
    gradients = [line["is the gradient right?"] for line in chapter.table("gradients")]
    assert gradients == ["✓"] * 5


def test_exercises(chapter: Any) -> None:
    found = chapter.column("exercise-pencil", "score")
    assert found == shown([24, 24 / mpmath.sqrt(2), mpmath.mpf(24) / 25, 25]).tolist()
    squares = [dot_(query, query) for query in QUERIES]
    for i, square in enumerate(squares, start=1):
        found = chapter.column("exercise-norm", f"query {i}")
        assert found == [float(Fraction(square, sum(squares))), 1]
    R, inverse = [[1, 1, 0], [0, 1, 0], [0, 2, 1]], [[1, -1, 0], [0, 1, 0], [0, -2, 1]]
    assert product(R, inverse) == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    keys = product(product(X, W_KEY), transpose(inverse))
    assert chapter.matrix("exercise-same", "new keys") == keys
    assert chapter.matrix("exercise-same", "scores") == [[2, 4, 4], [4, 16, 12], [4, 12, 10]]


def test_factor_for_the_cosine(chapter: Any) -> None:
    """The best case written out: at the printed factor the weight is 0.99."""

    def best(beta: Any) -> Any:
        return softmax([beta] + [-beta] * 511)[0]

    beta = mpmath.findroot(lambda b: best(b) - mpmath.mpf("0.99"), 5)
    assert float(chapter.output("exercise-factor").removeprefix("β = ")) == shown(beta)
    less, more = (best(beta + mpmath.mpf(step) / 100) >= 0.99 for step in (-1, 1))
    assert (less, more) == (False, True)
    answers = [line["enough?"] for line in chapter.table("exercise-factor")]
    assert answers == ["✗", "✓"]


def test_mixed_differences(chapter: Any) -> None:
    left, right = product(QUERIES, ADD_Q), product(KEYS, ADD_K)

    def mixed(curve: Callable[[Any], Any]) -> Any:
        s = [[dot_(ADD, [curve(x + y) for x, y in zip(a, b, strict=True)]) for b in right]
             for a in left]  # fmt: skip
        return s[0][0] + s[1][1] - s[0][1] - s[1][0]

    wanted = [mixed(lambda x: x), mixed(mpmath.tanh), mixed(lambda x: max(0, x))]
    assert chapter.column("exercise-mixed", "difference") == shown(wanted).tolist()
    assert wanted[0] == 0
    counted = [[int(x) for x in line.values()] for line in chapter.table("exercise-count")]
    for r, factors, free, whole in counted:
        assert factors == 8 * r + r * 8
        assert free == factors - r * r == whole - (8 - r) ** 2
        assert whole == 8 * 8
    assert [line[0] for line in counted] == [1, 4, 7, 8]


def test_scaled_by_the_last_axis():
    """Batches of three queries with 16 components: divided by 4."""
    q, k = np.ones((2, 3, 16)), np.ones((2, 5, 16))
    assert np.unique(scaled_dot(q, k)).tolist() == [4.0]


BETA = mpmath.log(99 * 511) / 2
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-pencil": [24, 24 / 2**0.5, 12, 24 / 25, 24 / 5, 25, 24],
    "exercise-norm": [1, 2],
    "exercise-factor": [BETA, 2 * BETA, mpmath.log(99 * 512) / 2],
}
test_what_exercises_ask = make_test_of_asked(ASKED)


# What a dot product measures.

# The keys of the figure: the fourth is the mean of the others.
FLAT = [[Fraction(1), Fraction(0)], [Fraction(3, 2), Fraction(2)], [Fraction(-1), Fraction(-1, 2)]]
FLAT.append([sum(column) / 3 for column in zip(*FLAT, strict=True)])


def degrees(a: Any, b: Any) -> Any:
    return mpmath.degrees(mpmath.acos(dot_(a, b) / norm(a) / norm(b)))


def random(sizes: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Query and key of these sizes."""
    n_q, n_k, d_k, _ = sizes
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_q, d_k)), rng.normal(size=(n_k, d_k))


@given(st.tuples(*[st.integers(1, 6)] * 4), st.integers(0, 2**32 - 1))
def test_dot_is_norms_times_cosine(sizes: Any, seed: int) -> None:
    query, key = random(sizes, seed)
    wanted = query @ key.T
    lengths_q, lengths_k = np.linalg.norm(query, axis=1), np.linalg.norm(key, axis=1)
    cosines = np.cos(np.radians(angles(query, key)))
    scale = np.outer(lengths_q, lengths_k)
    assert np.abs(scale * cosines - wanted).max() < 1e-12 * scale.max()
    shadows = projections(query, key)
    assert np.abs(lengths_q[:, None] * shadows - wanted).max() < 1e-12 * scale.max()
    torch_q, torch_k = torch.from_numpy(query), torch.from_numpy(key)
    by_torch = F.cosine_similarity(torch_q[:, None], torch_k[None], dim=-1).numpy()
    np.testing.assert_allclose(cosines, by_torch, rtol=0, atol=1e-12)


def test_angles_have_batches_and_take_tensors() -> None:
    rng = np.random.default_rng(2)
    query, key = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4))
    got = angles(torch.from_numpy(query), torch.from_numpy(key))
    assert got.shape == (2, 3, 5)
    wanted = float(degrees(query[1, 2].tolist(), key[1, 4].tolist()))
    assert abs(float(got[1, 2, 4]) - wanted) < 1e-12
    assert abs(angles(query[1], key[1])[2, 4] - wanted) < 1e-12


def test_parallel_vectors_have_an_angle() -> None:
    """Rounding can push their cosine beyond 1."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(200, 7))
    cosines = (vectors * vectors).sum(axis=1) / np.linalg.norm(vectors, axis=1) ** 2
    assert cosines.max() > 1
    found = angles(vectors, vectors)
    assert np.isfinite(found).all()
    assert np.diag(found).max() < 1e-5
    assert np.isfinite(angles(vectors, -vectors)).all()


@given(st.tuples(*[st.integers(1, 6)] * 4), st.integers(0, 2**32 - 1))
def test_nearest_key(sizes: Any, seed: int) -> None:
    """Score and distance, pair by pair; with equal norms the order is the same."""
    query, key = random(sizes, seed)
    scores = query @ key.T
    squares = ((query[:, None] - key[None]) ** 2).sum(axis=-1)
    behind = squares - (key**2).sum(axis=1)
    difference = lambda a: a[:, :, None] - a[:, None, :]  # noqa: E731
    np.testing.assert_allclose(difference(behind), -2 * difference(scores), rtol=0, atol=1e-10)
    unit = key / np.linalg.norm(key, axis=1, keepdims=True)
    nearest = ((query[:, None] - unit[None]) ** 2).sum(axis=-1).argmin(axis=1)
    best = np.take_along_axis(query @ unit.T, nearest[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(best, (query @ unit.T).max(axis=1), rtol=0, atol=1e-12)


def test_zero_keys() -> None:
    keys = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="key must have no vector of zeros, got"):
        angles(np.ones((1, 2)), keys)
    np.testing.assert_allclose(projections(np.array([[0.0, 2.0]]), keys), [[0, 4, 0]])


def test_turn(chapter: Any) -> None:
    """The query of norm 3 at every 30°: dot products, weights, and who is first."""
    frames = chapter.frames("turn")
    assert len(frames) == 12
    winners = []
    for step, frame in enumerate(frames):
        angle = mpmath.radians(30 * step)
        query = [3 * mpmath.cos(angle), 3 * mpmath.sin(angle)]
        scores = [dot_(query, key) for key in FLAT]
        drawn = [re.findall(r"−?\d+\.\d\d", one) for one in frame.labels]
        assert_printed([parse_number(one) for one in drawn[0][:2]], query, 2)
        assert_printed(
            [parse_number(one) for one in drawn[0][10:]], [score / 3 for score in scores], 2
        )
        between = [degrees(query, key) for key in FLAT]
        described = [re.findall(r"\d+", one) for one in frame.labels[1:3]]
        assert_printed([float(one) for one in described[0][7:11]], between, 0)
        assert_printed([parse_number(one) for one in drawn[2]], scores, 2)
        assert_printed([parse_number(one) for one in drawn[3]], softmax(scores, mpmath.sqrt(2)), 2)
        nearest = min(range(4), key=between.__getitem__)
        winners.append(max(range(4), key=scores.__getitem__) + 1)
        outlined = [described[0][-1], described[1][-1]]
        caption = re.findall(r"\d+", frame.caption)
        assert outlined == caption[1:] == [str(nearest + 1), str(winners[-1])]
        assert caption[0] == str(30 * step)
    assert winners == [2] * 5 + [3] * 5 + [1] * 2
    assert chapter.array("exercise-hull", 1).tolist() == winners
    angle = f"{float(degrees(exact.QUERIES[0], exact.KEYS[0])):.1f}"
    assert chapter.values("angle")[:6] == ["0", "1", "2", "300", "330", angle]


def test_lookup(chapter: Any) -> None:
    scores = [mpmath.mpmathify(3 * key[0]) / mpmath.sqrt(2) for key in FLAT]
    for factor in (1, 4, 16):
        weights = softmax([factor * s for s in scores])
        assert_printed(chapter.column("lookup", f"weight, t = {factor}"), weights, 4)
    distances = [norm([3 - key[0], -key[1]]) for key in FLAT]
    assert_printed(chapter.column("lookup", "distance"), distances, 4)
    assert max(range(4), key=scores.__getitem__) == 1  # key 2 has the largest score
    assert min(range(4), key=distances.__getitem__) == 0  # key 1 is nearest
    assert chapter.values("lookup") == ["2", "1"]


def test_query_1(chapter: Any) -> None:
    shadows = [dot_(exact.QUERIES[0], key) / norm(exact.QUERIES[0]) for key in exact.KEYS]
    assert_printed(chapter.column("query-1", "norm of k"), [norm(key) for key in exact.KEYS], 4)
    angles_with = [degrees(exact.QUERIES[0], key) for key in exact.KEYS]
    assert_printed(chapter.column("query-1", "angle, degrees"), angles_with, 1)
    assert_printed(chapter.column("query-1", "projection"), shadows, 4)
    assert_printed(chapter.column("query-1", "q · k"), [2, 4, 4], 0)
    theta = [f"{float(degrees(exact.QUERIES[0], key)):.1f}" for key in exact.KEYS]
    shadow = f"{float(dot_(exact.QUERIES[0], exact.KEYS[1]) / norm(exact.QUERIES[0])):.4f}"
    assert chapter.values("norms") == [*theta[1:], shadow, theta[0], "2", theta[1], "4"]
    assert chapter.values("angle")[5:7] == [theta[0], "2"]


def test_gram(chapter: Any) -> None:
    gram = product(X, transpose(X))
    assert gram == [[2, 0, 2], [0, 8, 4], [2, 4, 4]]
    cosines = [[dot_(a, b) / norm(a) / norm(b) for b in X] for a in X]
    shadows = [[dot_(a, b) / norm(a) for b in X] for a in X]
    assert_printed(chapter.matrix("gram", "XXᵀ"), gram, 0)
    assert_printed(chapter.matrix("gram", "cosines"), cosines, 4)
    assert_printed(chapter.matrix("gram", "projections"), shadows, 4)
    # By hand: √2 in row 1, for input 1 and for input 3 alike.
    assert mpmath.almosteq(shadows[0][0], mpmath.sqrt(2))
    assert mpmath.almosteq(shadows[0][2], mpmath.sqrt(2))
    assert shadows[0][2] != shadows[2][0]
    half = f"{float(mpmath.sqrt(mpmath.mpf(1) / 2)):.4f}"
    assert chapter.values("gram") == ["2", "2", "1", half, "2", "4"]


def test_between(chapter: Any) -> None:
    M = product(W_QUERY, transpose(W_KEY))
    assert product(product(X, M), transpose(X)) == exact.SCORES
    assert transpose(exact.SCORES) == exact.SCORES
    assert transpose(M) != M
    four = [*X, [0, 0, 1, 0]]
    products = product(product(four, M), transpose(four))
    assert (products[0][3], products[3][0]) == (0, 1)
    lines = chapter.output("fourth").split("\n")
    assert lines == ["query 1 · key 4 = 0", "query 4 · key 1 = 1"]


def test_angle_is_not_the_order(chapter: Any) -> None:
    """Note 001: "the larger θ, the smaller the dot product"; here it is the other way round."""
    cosines = [
        dot_(exact.QUERIES[0], key) / norm(exact.QUERIES[0]) / norm(key) for key in exact.KEYS
    ]
    by_cosine = sorted(range(3), key=lambda j: -cosines[j])
    by_product = sorted(range(3), key=lambda j: -exact.SCORES[0][j])
    assert by_cosine != by_product
    angle, score = chapter.table("by-angle")
    assert (angle[""], score[""]) == ("by angle", "by dot product")
    assert_printed(vector_of(angle["order of the keys"]), [j + 1 for j in by_cosine], 0)
    assert_printed(vector_of(score["order of the keys"]), [j + 1 for j in by_product], 0)
    assert_printed(vector_of(angle["weights of keys 1, 2, 3"]), softmax(cosines), 4)
    assert_printed(
        vector_of(score["weights of keys 1, 2, 3"]),
        attention_weights(exact.QUERIES, exact.KEYS, mpmath.sqrt(3))[0],
        4,
    )
    assert chapter.values("mistake-angle") == ["1", "0.3867", "0.1361"]


def test_longer_key(chapter: Any) -> None:
    longer = [[2 * x for x in exact.KEYS[0]], *exact.KEYS[1:]]
    assert [dot_(exact.QUERIES[0], key) for key in longer] == [4, 4, 4]
    assert mpmath.almosteq(
        degrees(exact.QUERIES[0], longer[0]), degrees(exact.QUERIES[0], exact.KEYS[0])
    )
    assert_printed(chapter.column("longer-key", "dot product"), [4, 4, 4], 0)
    assert_printed(chapter.column("longer-key", "weight"), [Fraction(1, 3)] * 3, 4)


def test_equal_norms(chapter: Any) -> None:
    scores = [dot_(exact.QUERIES[0], key) / norm(key) for key in exact.KEYS]
    order = sorted(range(1, 4), key=lambda j: degrees(exact.QUERIES[0], exact.KEYS[j - 1]))
    assert order == [1, 3, 2]
    ranked = chapter.table("equal-norms")
    assert [line[""] for line in ranked] == [f"key {j}" for j in order]
    assert_printed(chapter.column("equal-norms", "dot product"), [scores[j - 1] for j in order], 4)


def test_hull_and_far(chapter: Any) -> None:
    assert FLAT[3] == [Fraction(1, 2), Fraction(1, 2)]
    assert_printed(chapter.array("exercise-hull"), FLAT[3], 1)
    shown, nearest = chapter.table("exercise-far"), []
    for line, factor in zip(shown, (1, 2, 4, 16), strict=True):
        distances = [norm([3 * factor - key[0], -key[1]]) for key in FLAT]
        assert_printed([float(line[f"distance, key {j}"]) for j in range(1, 5)], distances, 4)
        nearest.append(min(range(4), key=distances.__getitem__) + 1)
    assert nearest == [1, 2, 2, 2]
    assert chapter.column("exercise-far", "nearest key") == nearest


def test_projections_of_a_batch() -> None:
    """By loops and the cosine rule's own words: q·k over the root of q·q, batch by batch."""
    rng = np.random.default_rng(5)
    query, key = rng.normal(size=(2, 7, 3, 4)), rng.normal(size=(7, 5, 4))
    got = projections(query, key)
    assert got.shape == (2, 7, 3, 5)
    for a, b, i, j in np.ndindex(got.shape):
        q, k = query[a, b, i], key[b, j]
        length = math.sqrt(math.fsum(x * x for x in q))
        wanted = math.fsum(x * y for x, y in zip(q, k, strict=True)) / length
        assert abs(got[a, b, i, j] - wanted) < 1e-12


def test_one_matrix(chapter: Page) -> None:
    """The same draws, one by one: with a symmetric table no circle closes."""
    first, second = np.random.default_rng(0).normal(size=(2, 10_000, 3, 3))
    shares = []
    for other in (second, first):
        closed = 0
        for a, b in zip(first.tolist(), other.tolist(), strict=True):
            s = [[sum(x * y for x, y in zip(p, q, strict=True)) for q in b] for p in a]
            closed += s[0][1] > s[0][2] and s[1][2] > s[1][0] and s[2][0] > s[2][1]
        shares.append(closed / 10_000)
    assert [row["share"] for row in chapter.table("one-matrix")] == [f"{one:.2%}" for one in shares]
    assert shares[1] == 0 < shares[0]
