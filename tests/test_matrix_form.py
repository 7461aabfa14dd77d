"""The matrix form: published numbers by hand, in fractions, with mpmath and torch."""

import contextlib
import io
import math
import re
import runpy
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cosine_similarity, scaled_dot_product_attention

from attention_docs.attention_function import attention
from attention_docs.matrix_form import (
    angles,
    column_attention,
    permutation_matrix,
    projections,
)
from tests.exact import (
    KEYS,
    QUERIES,
    SCORES,
    VALUES,
    W_KEY,
    W_QUERY,
    X,
    assert_printed,
    attention_weights,
    dot,
    norm,
    product,
    softmax,
    transpose,
)
from tests.page import parse_number, vector_of

# The keys of the figure: the fourth is the mean of the others.
FLAT = [[Fraction(1), Fraction(0)], [Fraction(3, 2), 2], [-1, Fraction(-1, 2)]]
FLAT.append([sum(column) / 3 for column in zip(*FLAT, strict=True)])

LISTING = Path(__file__).parents[1] / "docs" / "listings" / "matrix-form.py"
SIZES = st.tuples(*[st.integers(1, 6)] * 4)  # n_q, n_k, d_k, d_v
SEEDS = st.integers(0, 2**32 - 1)


def softmax_rows(scores, divisor=1):
    return [softmax(row, divisor) for row in scores]


WEIGHTS = attention_weights(QUERIES, KEYS, mpmath.sqrt(3))
OUTPUTS = product(WEIGHTS, VALUES)


def degrees(a, b):
    return mpmath.degrees(mpmath.acos(dot(a, b) / norm(a) / norm(b)))


def random(sizes, seed):
    """Query, key and value of these sizes."""
    n_q, n_k, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    return [rng.normal(size=size) for size in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]


def by_torch(query, key, value):
    tensors = [torch.from_numpy(np.ascontiguousarray(a)) for a in (query, key, value)]
    return scaled_dot_product_attention(*tensors).numpy()


@pytest.fixture(scope="module")
def listing():
    """The names of the listing, run from top to bottom."""
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(LISTING))


# Properties of the functions.


@given(SIZES, SEEDS)
def test_loop_agrees_with_torch(listing, sizes, seed):
    arrays = random(sizes, seed)
    outputs, weights = listing["attention_loop"](*arrays)
    np.testing.assert_allclose(outputs, by_torch(*arrays), rtol=0, atol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-12)


@given(SIZES, SEEDS)
def test_column_attention_agrees_with_torch(sizes, seed):
    query, key, value = random(sizes, seed)
    outputs, weights = column_attention(query.T, key.T, value.T)
    np.testing.assert_allclose(outputs.T, by_torch(query, key, value), rtol=0, atol=1e-12)
    # With the identity as values, the outputs of attention are its weights.
    identity = by_torch(query, key, np.eye(len(key)))
    np.testing.assert_allclose(weights.T, identity, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_column_attention_takes_tensors(dtype):
    query, key, value = (torch.from_numpy(a).to(dtype) for a in random((2, 5, 3, 7), 1))
    query.requires_grad_()
    outputs, weights = column_attention(query.mT, key.mT, value.mT)
    wanted = scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(outputs.mT, wanted)
    assert weights.shape == (5, 2)
    (got,) = torch.autograd.grad(outputs.square().sum(), query)
    (gradient,) = torch.autograd.grad(wanted.square().sum(), query)
    torch.testing.assert_close(got, gradient)


@given(SIZES, SEEDS)
def test_dot_is_norms_times_cosine(sizes, seed):
    query, key, _ = random(sizes, seed)
    wanted = query @ key.T
    lengths_q, lengths_k = np.linalg.norm(query, axis=1), np.linalg.norm(key, axis=1)
    cosines = np.cos(np.radians(angles(query, key)))
    scale = np.outer(lengths_q, lengths_k)
    assert np.abs(scale * cosines - wanted).max() < 1e-12 * scale.max()
    shadows = projections(query, key)
    assert np.abs(lengths_q[:, None] * shadows - wanted).max() < 1e-12 * scale.max()
    torch_q, torch_k = torch.from_numpy(query), torch.from_numpy(key)
    by_torch = cosine_similarity(torch_q[:, None], torch_k[None], dim=-1).numpy()
    np.testing.assert_allclose(cosines, by_torch, rtol=0, atol=1e-12)


def test_angles_have_batches_and_take_tensors():
    rng = np.random.default_rng(2)
    query, key = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4))
    got = angles(torch.from_numpy(query), torch.from_numpy(key))
    assert got.shape == (2, 3, 5)
    wanted = float(degrees(query[1, 2].tolist(), key[1, 4].tolist()))
    assert abs(float(got[1, 2, 4]) - wanted) < 1e-12
    assert abs(angles(query[1], key[1])[2, 4] - wanted) < 1e-12


def test_parallel_vectors_have_an_angle():
    """Rounding can push their cosine beyond 1."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(200, 7))
    cosines = (vectors * vectors).sum(axis=1) / np.linalg.norm(vectors, axis=1) ** 2
    assert cosines.max() > 1
    found = angles(vectors, vectors)
    assert np.isfinite(found).all()
    assert np.diag(found).max() < 1e-5
    assert np.isfinite(angles(vectors, -vectors)).all()


@given(SIZES, SEEDS, st.randoms(use_true_random=False))
def test_permutation_equivariance(sizes, seed, chance):
    n, d_model, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d_model))
    w_q, w_k, w_v = (rng.normal(size=(d_model, d)) for d in (d_k, d_k, d_v))
    order = chance.sample(range(n), n)
    P = permutation_matrix(order)
    np.testing.assert_array_equal(P @ x, x[order])
    np.testing.assert_array_equal(P.T @ P, np.eye(n))
    outputs, weights = attention(x @ w_q, x @ w_k, x @ w_v)
    moved = x[order]
    moved_outputs, moved_weights = attention(moved @ w_q, moved @ w_k, moved @ w_v)
    np.testing.assert_allclose(moved_outputs, outputs[order], rtol=0, atol=1e-10)
    np.testing.assert_allclose(moved_weights, weights[order][:, order], rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        by_torch(moved @ w_q, moved @ w_k, moved @ w_v), outputs[order], rtol=0, atol=1e-10
    )


def test_equal_inputs_have_equal_outputs():
    rng = np.random.default_rng(4)
    x, w = rng.normal(size=(5, 3)), rng.normal(size=(3, 3, 4))
    x[3] = x[1]
    outputs, _ = attention(x @ w[0], x @ w[1], x @ w[2])
    np.testing.assert_allclose(outputs[3], outputs[1], rtol=0, atol=1e-12)
    assert np.abs(outputs[2] - outputs[1]).max() > 1e-3


@given(SIZES, SEEDS)
def test_nearest_key(sizes, seed):
    """Score and distance, pair by pair; with equal norms the order is the same."""
    query, key, _ = random(sizes, seed)
    scores = query @ key.T
    squares = ((query[:, None] - key[None]) ** 2).sum(axis=-1)
    behind = squares - (key**2).sum(axis=1)
    difference = lambda a: a[:, :, None] - a[:, None, :]  # noqa: E731
    np.testing.assert_allclose(difference(behind), -2 * difference(scores), rtol=0, atol=1e-10)
    unit = key / np.linalg.norm(key, axis=1, keepdims=True)
    nearest = ((query[:, None] - unit[None]) ** 2).sum(axis=-1).argmin(axis=1)
    best = np.take_along_axis(query @ unit.T, nearest[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(best, (query @ unit.T).max(axis=1), rtol=0, atol=1e-12)


@given(SIZES, SEEDS)
def test_a_weighted_average_of_keys_never_wins(sizes, seed):
    query, key, _ = random(sizes, seed)
    shares = np.random.default_rng(seed).dirichlet(np.ones(len(key)))
    inside = query @ (shares @ key)
    assert (inside <= (query @ key.T).max(axis=1) + 1e-12).all()


ONES = np.ones((3, 2))


def test_zero_keys():
    keys = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="key must have no vector of zeros, got"):
        angles(ONES[:1], keys)
    np.testing.assert_allclose(projections(np.array([[0.0, 2.0]]), keys), [[0, 4, 0]])


# The published numbers.


def test_four(chapter):
    """The four candidates for output 1, each from its own definition."""
    features = product(transpose(QUERIES), KEYS)
    found = []
    for table in (SCORES, features):
        along = softmax_rows(table, mpmath.sqrt(3))
        down = transpose(softmax_rows(transpose(table), mpmath.sqrt(3)))
        found += [product(weights, VALUES)[0] for weights in (along, down)]
    drawn = re.findall(r"\d+\.\d{4}", chapter.figure("four"))
    assert_printed([float(one) for one in drawn], [x for row in found for x in row], 4)
    assert len({drawn[i] for i in (0, 3, 6, 9)}) == 4


def test_loop(chapter):
    assert_printed(chapter.grid("loop"), OUTPUTS, 4)
    assert chapter.grid("loop")[0] == [1.8639, 6.3194, 1.7042]  # from the notes
    assert chapter.names("loop") == ["output 1", "output 2", "output 3"]


def test_matrix(chapter):
    assert_printed(chapter.grid("matrix"), OUTPUTS, 4)
    assert_printed(chapter.grid("torch"), OUTPUTS, 4)
    assert chapter.output("sizes").split("\n") == [
        "shape of the weights: (2, 5)",
        "shape of the outputs: (2, 7)",
    ]
    wrong = transpose(softmax_rows(transpose(SCORES), mpmath.sqrt(3)))
    sums = [f"{float(sum(row)):.4f}" for row in wrong[:2]]
    shapes = [*"23", *"53", *"57", *"25", *"27"]
    assert chapter.values("matrix")[:13] == ["12", *sums, *shapes]


def test_product(chapter):
    assert chapter.matrix("product", "queries") == QUERIES
    assert chapter.matrix("product", "keys") == transpose(KEYS)
    assert chapter.matrix("product", "dot products") == SCORES


def test_turn(chapter):
    """The query of norm 3 at every 30°: dot products, weights, and who is first."""
    frames = chapter.frames("turn")
    assert len(frames) == 12
    winners = []
    for step, frame in enumerate(frames):
        angle = mpmath.radians(30 * step)
        query = [3 * mpmath.cos(angle), 3 * mpmath.sin(angle)]
        scores = [dot(query, key) for key in FLAT]
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
    angle = f"{float(degrees(QUERIES[0], KEYS[0])):.1f}"
    assert chapter.values("angle")[:6] == ["0", "1", "2", "300", "330", angle]


def test_lookup(chapter):
    scores = [mpmath.mpmathify(3 * key[0]) / mpmath.sqrt(2) for key in FLAT]
    for factor in (1, 4, 16):
        weights = softmax([factor * s for s in scores])
        assert_printed(chapter.column("lookup", f"weight, t = {factor}"), weights, 4)
    distances = [norm([3 - key[0], -key[1]]) for key in FLAT]
    assert_printed(chapter.column("lookup", "distance"), distances, 4)
    assert max(range(4), key=scores.__getitem__) == 1  # key 2 has the largest score
    assert min(range(4), key=distances.__getitem__) == 0  # key 1 is nearest
    assert chapter.values("lookup") == ["2", "1"]


def test_ties_share(chapter):
    scores = [16 * mpmath.mpf(s) / mpmath.sqrt(3) for s in SCORES[0]]
    assert_printed(chapter.grid("tied"), [softmax(scores)], 4)
    # The limit, by torch: three of five keys share the largest score.
    limit = torch.softmax(1e9 * torch.tensor([2.0, 3, 1, 3, 3]), dim=0)
    torch.testing.assert_close(limit, torch.tensor([0, 1 / 3, 0, 1 / 3, 1 / 3]))


def test_columns(chapter):
    assert product(QUERIES, transpose(KEYS)) == SCORES
    assert_printed(chapter.matrix("columns", "queries"), transpose(QUERIES[:2]), 0)
    assert_printed(
        chapter.matrix("columns", "dot products"), product(KEYS, transpose(QUERIES[:2])), 0
    )
    assert_printed(chapter.matrix("columns", "dot products"), transpose(SCORES[:2]), 0)
    assert_printed(chapter.matrix("columns-whole", "weights"), transpose(WEIGHTS[:2]), 4)
    assert_printed(chapter.matrix("columns-whole", "outputs"), transpose(OUTPUTS[:2]), 4)


def test_one_column(chapter):
    weights = softmax_rows(SCORES[:1])
    assert_printed(chapter.column("b-1", "score α"), [2, 4, 4], 0)
    assert_printed(chapter.column("b-1", "weight α′"), weights[0], 4)
    # Seeds 000 and 004 print this output.
    assert_printed([1.9366, 6.6831, 1.5951], product(weights, VALUES)[0], 4)
    assert chapter.values("one-column") == ["[1.9366, 6.6831, 1.5951]", "[1.8639, 6.3194, 1.7042]"]
    assert chapter.values("columns-run") == [str(SCORES[1][2])]


def test_linear(chapter):
    layer = torch.nn.Linear(4, 3, bias=False)
    stored = chapter.output("linear")
    assert stored == f"shape of the stored parameters: {tuple(layer.weight.shape)}"
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(W_QUERY).T)
        assert layer(torch.tensor(X, dtype=torch.float)).tolist() == QUERIES


def test_query_1(chapter):
    shadows = [dot(QUERIES[0], key) / norm(QUERIES[0]) for key in KEYS]
    assert_printed(chapter.column("query-1", "norm of k"), [norm(key) for key in KEYS], 4)
    angles_with = [degrees(QUERIES[0], key) for key in KEYS]
    assert_printed(chapter.column("query-1", "angle, degrees"), angles_with, 1)
    assert_printed(chapter.column("query-1", "projection"), shadows, 4)
    assert_printed(chapter.column("query-1", "q · k"), [2, 4, 4], 0)
    theta = [f"{float(degrees(QUERIES[0], key)):.1f}" for key in KEYS]
    shadow = f"{float(dot(QUERIES[0], KEYS[1]) / norm(QUERIES[0])):.4f}"
    assert chapter.values("norms") == [*theta[1:], shadow, theta[0], "2", theta[1], "4"]
    assert chapter.values("angle")[5:7] == [theta[0], "2"]


def test_gram(chapter):
    gram = product(X, transpose(X))
    assert gram == [[2, 0, 2], [0, 8, 4], [2, 4, 4]]
    cosines = [[dot(a, b) / norm(a) / norm(b) for b in X] for a in X]
    shadows = [[dot(a, b) / norm(a) for b in X] for a in X]
    assert_printed(chapter.matrix("gram", "XXᵀ"), gram, 0)
    assert_printed(chapter.matrix("gram", "cosines"), cosines, 4)
    assert_printed(chapter.matrix("gram", "projections"), shadows, 4)
    # By hand: √2 in row 1, for input 1 and for input 3 alike.
    assert mpmath.almosteq(shadows[0][0], mpmath.sqrt(2))
    assert mpmath.almosteq(shadows[0][2], mpmath.sqrt(2))
    assert shadows[0][2] != shadows[2][0]
    half = f"{float(mpmath.sqrt(mpmath.mpf(1) / 2)):.4f}"
    assert chapter.values("gram") == ["2", "2", "1", half, "2", "4"]


def test_between(chapter):
    M = product(W_QUERY, transpose(W_KEY))
    assert_printed(chapter.matrix("between", "M"), M, 0)
    assert product(product(X, M), transpose(X)) == SCORES
    assert transpose(SCORES) == SCORES
    assert transpose(M) != M
    four = [*X, [0, 0, 1, 0]]
    products = product(product(four, M), transpose(four))
    assert (products[0][3], products[3][0]) == (0, 1)
    lines = chapter.output("fourth").split("\n")
    assert lines == ["query 1 · key 4 = 0", "query 4 · key 1 = 1"]


def test_order(chapter):
    order = [2, 0, 1]
    moved = chapter.table("order")
    assert [line[""] for line in moved] == ["token 3", "token 1", "token 2"]
    assert_printed([vector_of(line["input"]) for line in moved], [X[i] for i in order], 0)
    assert_printed([vector_of(line["output"]) for line in moved], [OUTPUTS[i] for i in order], 4)
    drawn = [float(one) for one in re.findall(r"\d\.\d{4}", chapter.figure("order-figure"))]
    assert_printed(drawn, [WEIGHTS[i][j] for i in order for j in order], 4)
    assert chapter.values("order") == [f"{float(WEIGHTS[2][1]):.4f}"]


def test_keys_are_a_set():
    order = [2, 0, 1]
    query, key, value = (np.array(a, dtype=float) for a in (QUERIES, KEYS, VALUES))
    np.testing.assert_allclose(
        by_torch(query, key[order], value[order]), by_torch(query, key, value), atol=1e-12
    )
    assert np.abs(by_torch(query, key[order], value) - by_torch(query, key, value)).max() > 1


def test_angle_is_not_the_order(chapter):
    """Seed 001: "the larger θ, the smaller the dot product"; here it is the other way round."""
    cosines = [dot(QUERIES[0], key) / norm(QUERIES[0]) / norm(key) for key in KEYS]
    by_cosine = sorted(range(3), key=lambda j: -cosines[j])
    by_product = sorted(range(3), key=lambda j: -SCORES[0][j])
    assert by_cosine != by_product
    angle, score = chapter.table("by-angle")
    assert (angle[""], score[""]) == ("by angle", "by dot product")
    assert_printed(vector_of(angle["order of the keys"]), [j + 1 for j in by_cosine], 0)
    assert_printed(vector_of(score["order of the keys"]), [j + 1 for j in by_product], 0)
    assert_printed(vector_of(angle["weights of keys 1, 2, 3"]), softmax_rows([cosines])[0], 4)
    assert_printed(vector_of(score["weights of keys 1, 2, 3"]), WEIGHTS[0], 4)
    assert chapter.values("mistake-angle") == ["1", "0.3867", "0.1361"]


def test_longer_key(chapter):
    longer = [[2 * x for x in KEYS[0]], *KEYS[1:]]
    assert [dot(QUERIES[0], key) for key in longer] == [4, 4, 4]
    assert mpmath.almosteq(degrees(QUERIES[0], longer[0]), degrees(QUERIES[0], KEYS[0]))
    assert_printed(chapter.column("longer-key", "dot product"), [4, 4, 4], 0)
    assert_printed(chapter.column("longer-key", "weight"), [Fraction(1, 3)] * 3, 4)


def test_equal_norms(chapter):
    scores = [dot(QUERIES[0], key) / norm(key) for key in KEYS]
    order = sorted(range(1, 4), key=lambda j: degrees(QUERIES[0], KEYS[j - 1]))
    assert order == [1, 3, 2]
    ranked = chapter.table("equal-norms")
    assert [line[""] for line in ranked] == [f"key {j}" for j in order]
    assert_printed(chapter.column("equal-norms", "dot product"), [scores[j - 1] for j in order], 4)


def test_wrong_axis(chapter):
    wrong = transpose(softmax_rows(transpose(SCORES), mpmath.sqrt(3)))
    shown = chapter.table("wrong-axis")
    assert_printed([vector_of(line["weights"]) for line in shown], wrong, 4)
    assert_printed([vector_of(line["output"]) for line in shown], product(wrong, VALUES), 4)
    sums = [sum(weights) for weights in wrong]
    for i in range(3):
        assert_printed(chapter.column("row-sums", f"query {i + 1}"), [sums[i], 1], 4)
    described = product(wrong, VALUES)
    assert chapter.values("mistake-axis") == [
        *(f"[{', '.join(f'{float(x):.4f}' for x in rows[0])}]" for rows in (described, OUTPUTS)),
        f"{float(described[1][1]):.4f}",
        "8",
    ]
    assert chapter.column("row-sums", "all queries") == [3, 3]
    assert product(wrong, VALUES)[1][1] > 8  # the largest second component of a value
    assert all(abs(s - 1) > 0.2 for s in sums)


def test_one_query(chapter):
    for j in range(3):
        assert_printed(chapter.column("one-query", f"key {j + 1}"), [1, WEIGHTS[0][j]], 4)


def test_exercises(chapter):
    by_hand = product([[1, 2], [0, 1]], transpose([[1, 0], [2, 1], [0, 1]]))
    assert by_hand == [[1, 4, 2], [0, 1, 1]]
    assert_printed(chapter.grid("exercise-pencil"), by_hand, 0)
    assert chapter.values("exercise-pencil") == ["[[1, 4, 2],\n [0, 1, 1]]", "0", "4"]
    doubled = softmax([4, 8, 8], mpmath.sqrt(3))
    for j in range(3):
        assert_printed(
            chapter.column("exercise-longer", f"key {j + 1}"), [WEIGHTS[0][j], doubled[j]], 4
        )
    sums = []
    for factor in (1, 2):
        table = [[factor * s for s in row] for row in SCORES]
        down = transpose(softmax_rows(transpose(table), mpmath.sqrt(3)))
        sums.append([sum(weights) for weights in down])
    for i in range(3):
        found = chapter.column("exercise-batch", f"query {i + 1}")
        assert_printed(found, [sums[0][i], sums[1][i], 1, 1], 4)
    answers = [line["outputs permuted alike?"] for line in chapter.table("exercise-mask")]
    assert answers == ["✗", "✓"]


def test_brackets(chapter):
    """Multiplications of n × m times m × p: n·m·p. Without softmax the brackets may move."""
    n, d = 1000, 64
    counts = [n * d * n + n * n * d, d * n * d + n * d * d]
    assert chapter.column("exercise-brackets", "multiplications") == counts
    assert chapter.values("exercise-brackets") == [str(count) for count in counts]
    left = product(product(QUERIES, transpose(KEYS)), VALUES)
    assert left == product(QUERIES, product(transpose(KEYS), VALUES))
    inner = product(QUERIES, softmax_rows(product(transpose(KEYS), VALUES)))
    outer = product(softmax_rows(SCORES), VALUES)
    assert abs(inner[0][0] - outer[0][0]) > 1e-3


def test_hull_and_far(chapter):
    assert FLAT[3] == [Fraction(1, 2), Fraction(1, 2)]
    assert_printed(chapter.array("exercise-hull"), FLAT[3], 1)
    shown, nearest = chapter.table("exercise-far"), []
    for line, factor in zip(shown, (1, 2, 4, 16), strict=True):
        distances = [norm([3 * factor - key[0], -key[1]]) for key in FLAT]
        assert_printed([float(line[f"distance, key {j}"]) for j in range(1, 5)], distances, 4)
        nearest.append(min(range(4), key=distances.__getitem__) + 1)
    assert nearest == [1, 2, 2, 2]
    assert chapter.column("exercise-far", "nearest key") == nearest


def test_a_causal_mask_breaks_equivariance():
    """What the exercise on a mask prints, with torch's own function: True takes part there too."""
    order = [2, 0, 1]
    query, key, value = (torch.tensor(a, dtype=torch.float64) for a in (QUERIES, KEYS, VALUES))
    causal = torch.ones(3, 3, dtype=torch.bool).tril()
    wanted = scaled_dot_product_attention(query, key, value, causal)[order]
    moved = query[order], key[order], value[order]
    stays = scaled_dot_product_attention(*moved, causal)
    moves = scaled_dot_product_attention(*moved, causal[order][:, order])
    assert (stays - wanted).abs().max() > 1
    torch.testing.assert_close(moves, wanted)


def test_projections_of_a_batch():
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
