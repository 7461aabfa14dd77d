"""The chapter "transformer-block": against torch's own layers, exact fractions and mpmath."""

from __future__ import annotations

import re
import statistics
from fractions import Fraction
from math import cos, sin, sqrt
from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attention_docs import transformer_block
from attention_docs.multi_head import Parameters, multi_head_attention
from attention_docs.nn import TransformerEncoderLayer
from attention_docs.transformer_block import (
    BlockParameters,
    block_flops,
    block_parameter_count,
    embed,
    encoder_block,
    feed_forward,
    layer_norm,
    relu,
)
from tests.conftest import each_language
from tests.exact import W_KEY, W_QUERY, W_VALUE, X, attention_weights, plus, printed, product

seeds = st.integers(0, 2**31 - 1)
DTYPES = {torch.float64: 1e-11, torch.float32: 2e-4, torch.bfloat16: 0.15, torch.float16: 0.03}
"""Dtypes, and how far two ways to round may lie apart where the numbers are of size 1."""


def close(got: Any, wanted: Any, bound: float) -> None:
    """Within a bound, as a share of the largest number where that exceeds 1."""
    got, wanted = (torch.as_tensor(one).detach().double() for one in (got, wanted))
    assert got.shape == wanted.shape
    scale = max(1.0, float(wanted.abs().max()))
    assert float((got - wanted).abs().max()) <= bound * scale


# --- the functions -------------------------------------------------------------------------


@given(
    seed=seeds,
    shape=st.sampled_from([(7,), (3, 5), (2, 3, 11), (1, 1)]),
    dtype=st.sampled_from(list(DTYPES)),
    affine=st.sampled_from(["none", "gamma", "both"]),
    eps=st.sampled_from([1e-5, 1e-3]),
)
def test_layer_norm_agrees_with_torch(seed, shape, dtype, affine, eps):
    torch.manual_seed(seed)
    x = (3 * torch.randn(shape) + 1).to(dtype).requires_grad_()
    gamma = None if affine == "none" else torch.randn(shape[-1]).to(dtype).requires_grad_()
    beta = torch.randn(shape[-1]).to(dtype).requires_grad_() if affine == "both" else None
    given_ = [one for one in (x, gamma, beta) if one is not None]
    direction = torch.randn(shape).to(dtype)
    ours = layer_norm(x, gamma, beta, eps)
    theirs = nn.functional.layer_norm(x, shape[-1:], gamma, beta, eps)
    assert ours.dtype == dtype
    close(ours, theirs, DTYPES[dtype])
    if dtype in (torch.float64, torch.float32) and shape[-1] > 1:
        gradients = (torch.autograd.grad((y * direction).sum(), given_) for y in (ours, theirs))
        for a, b in zip(*gradients, strict=True):
            close(a, b, DTYPES[dtype])
    if dtype == torch.float64:
        arrays = [None if one is None else one.detach().numpy() for one in (x, gamma, beta)]
        copies = [None if one is None else one.copy() for one in arrays]
        close(layer_norm(*arrays, eps), theirs, 1e-11)
        for one, copy in zip(arrays, copies, strict=True):
            np.testing.assert_array_equal(one, copy)


@given(seed=seeds, batch=st.sampled_from([(), (2,), (3, 2)]), with_places=st.booleans())
def test_embed_agrees_with_torch(seed, batch, with_places):
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(7, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    places = torch.randn(6, 5, dtype=torch.float64, generator=generator) if with_places else None
    ids = torch.randint(7, (*batch, 4), generator=generator)
    wanted = nn.functional.embedding(ids, table) * 1.5 + (places[:4] if with_places else 0)
    got = embed(ids, table, places, scale=1.5)
    close(got, wanted, 1e-14)
    direction = torch.randn(wanted.shape, dtype=torch.float64, generator=generator)
    ours, theirs = (torch.autograd.grad((y * direction).sum(), table)[0] for y in (got, wanted))
    close(ours, theirs, 1e-12)
    unused = sorted(set(range(7)) - set(ids.flatten().tolist()))
    assert not ours[unused].any()  # words that do not occur get no gradient
    numpy_places = places.numpy() if with_places else None
    close(embed(ids.numpy(), table.detach().numpy(), numpy_places, 1.5), wanted, 1e-14)


@given(seed=seeds, bias=st.booleans(), gelu=st.booleans())
def test_feed_forward_agrees_with_torch(seed, bias, gelu):
    torch.manual_seed(seed)
    first, second = nn.Linear(5, 11, bias).double(), nn.Linear(11, 3, bias).double()
    activation = nn.functional.gelu if gelu else nn.functional.relu
    x = torch.randn(2, 4, 5, dtype=torch.float64)
    wanted = second(activation(first(x)))
    got = feed_forward(
        x,
        *(first.weight.mT, second.weight.mT, first.bias, second.bias),
        nn.functional.gelu if gelu else relu,
    )
    close(got, wanted, 1e-12)
    moved = x.clone()
    moved[0, 1] += 1
    again = feed_forward(
        moved, *(first.weight.mT, second.weight.mT, first.bias, second.bias), activation
    )
    changed = (again - wanted).abs().amax(dim=-1) > 1e-9
    assert changed.tolist() == [[False, True, False, False], [False] * 4]  # token by token


def test_relu_has_torchs_gradient():
    x = torch.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    gradients = [torch.autograd.grad(f(x).sum(), x)[0].tolist() for f in (relu, nn.functional.relu)]
    assert gradients[0] == gradients[1] == [0, 0, 1]


def our_gradients(layer):
    a = layer.attention
    maps = (a.query, a.key, a.value, a.output)
    weights = [torch.cat([one.weight.grad for one in maps[:3]]), a.output.weight.grad]
    if a.query.bias is not None:
        weights += [torch.cat([one.bias.grad for one in maps[:3]]), a.output.bias.grad]
    parts = (layer.linear_1, layer.linear_2, layer.norm_1, layer.norm_2)
    return weights + [p.grad for one in parts for p in one.parameters()]


def their_gradients(layer):
    a = layer.self_attn
    weights = [a.in_proj_weight.grad, a.out_proj.weight.grad]
    if a.in_proj_bias is not None:
        weights += [a.in_proj_bias.grad, a.out_proj.bias.grad]
    parts = (layer.linear1, layer.linear2, layer.norm1, layer.norm2)
    return weights + [p.grad for one in parts for p in one.parameters()]


def random_layer(dtype, d_model, heads, d_ff, **options):
    """torch's layer with every parameter random, none left at 0 or 1."""
    layer = nn.TransformerEncoderLayer(d_model, heads, d_ff, 0.0, batch_first=True, **options)
    for p in layer.parameters():
        nn.init.normal_(p, std=0.5)
    return layer.to(dtype)


@settings(max_examples=60)
@given(
    seed=seeds,
    sizes=st.sampled_from([(1, 7, 4, 2, 11), (2, 3, 6, 3, 5), (3, 1, 5, 1, 2), (2, 5, 8, 8, 16)]),
    dtype=st.sampled_from(list(DTYPES)),
    mask=st.sampled_from(["none", "causal", "padding", "both", "float"]),
    norm_first=st.booleans(),
    bias=st.booleans(),
    activation=st.sampled_from(["relu", "gelu", torch.tanh]),
)
def test_module_agrees_with_torch(seed, sizes, dtype, mask, norm_first, bias, activation):
    torch.manual_seed(seed)
    batch, n, d_model, heads, d_ff = sizes
    options: dict[str, Any] = {"norm_first": norm_first, "bias": bias, "activation": activation}
    theirs = random_layer(dtype, d_model, heads, d_ff, **options)
    ours = TransformerEncoderLayer.from_torch(theirs)
    lengths = torch.randint(1, n + 1, (batch,))
    hidden = torch.arange(n) >= lengths[:, None]  # (batch, n), torch's way: True is masked out
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    own: Any = None
    their_masks: dict[str, Any] = {}
    if mask in ("causal", "both"):
        own, their_masks["src_mask"] = ~future, future
    if mask in ("padding", "both"):
        seen = ~hidden[:, None, None, :]
        own = seen if own is None else own & seen
        their_masks["src_key_padding_mask"] = hidden
    if mask == "float":
        own = their_masks["src_mask"] = torch.randn(n, n).to(dtype)
    x = torch.randn(batch, n, d_model).to(dtype)
    x_ours, x_theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    direction = torch.randn(batch, n, d_model).to(dtype)
    y_ours, y_theirs = ours(x_ours, own), theirs(x_theirs, **their_masks)
    assert y_ours.dtype == dtype
    close(y_ours, y_theirs, DTYPES[dtype])
    for y in (y_ours, y_theirs):
        (y * direction).sum().backward()
    if dtype in (torch.float64, torch.float32) and min(d_model, n) > 1:
        bound = 1e-9 if dtype == torch.float64 else 5e-3
        pairs = zip(
            [x_ours.grad, *our_gradients(ours)],
            [x_theirs.grad, *their_gradients(theirs)],
            strict=True,
        )
        for a, b in pairs:
            close(a, b, bound)


@given(seed=seeds, norm_first=st.booleans())
def test_numpy_and_torch_agree(seed, norm_first):
    torch.manual_seed(seed)
    layer = TransformerEncoderLayer.from_torch(
        random_layer(torch.float64, 6, 2, 9, norm_first=norm_first)
    )
    p = layer.parameters_by_name()
    arrays = BlockParameters(
        Parameters(*(one.detach().numpy() for one in p.attention)),
        *(one.detach().numpy() for one in p[1:]),
    )
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    mask = np.tril(np.ones((5, 5), dtype=bool))
    before = x.clone()
    got = encoder_block(x.numpy(), arrays, 2, mask, norm_first)
    assert isinstance(got, np.ndarray)
    close(got, layer(x, torch.from_numpy(mask)), 1e-11)
    assert torch.equal(x, before)


@given(seed=seeds, norm_first=st.booleans())
def test_padding_reaches_no_token(seed, norm_first):
    torch.manual_seed(seed)
    layer = TransformerEncoderLayer(6, 3, 10, dropout=0.0, norm_first=norm_first)
    x = torch.randn(2, 5, 6)
    mask = (torch.arange(5) < torch.tensor([5, 3])[:, None])[:, None, None]
    other = x.clone()
    other[1, 3:] = 50 * torch.randn(2, 6)
    a, b = layer(x, mask), layer(other, mask)
    assert torch.equal(a[0], b[0])
    assert torch.equal(a[1, :3], b[1, :3])
    assert not torch.equal(a[1, 3:], b[1, 3:])


@given(seed=seeds, heads=st.sampled_from([1, 2, 3]))
def test_key_bias_never_matters(seed, heads):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, 6))
    W, b = rng.normal(size=(4, 6, 6)), rng.normal(size=(4, 6))
    mask = np.tril(np.ones((4, 4), dtype=bool))
    with_it, _ = multi_head_attention(x, x, x, Parameters(*W, *b), heads, mask)
    without, _ = multi_head_attention(x, x, x, Parameters(*W, b[0], None, *b[2:]), heads, mask)
    np.testing.assert_allclose(with_it, without, atol=1e-11)
    no_value, _ = multi_head_attention(
        x, x, x, Parameters(*W, b[0], None, None, b[3] + b[2] @ W[3]), heads, mask
    )
    np.testing.assert_allclose(with_it, no_value, atol=1e-11)  # b_V joins b_O


def test_dropout_stands_in_four_places():
    seen: list[tuple[int, ...]] = []

    def record(numbers):
        seen.append(tuple(numbers.shape))
        return numbers

    rng = np.random.default_rng(3)
    p = BlockParameters(
        Parameters(*rng.normal(size=(4, 6, 6))), rng.normal(size=(6, 11)), rng.normal(size=(11, 6))
    )
    encoder_block(rng.normal(size=(2, 5, 6)), p, 3, dropout=record)
    assert seen == [(2, 3, 5, 5), (2, 5, 6), (2, 5, 11), (2, 5, 6)]


def test_dropout_knows_training_from_evaluation():
    torch.manual_seed(3)
    layer = TransformerEncoderLayer(6, 2, 10, dropout=1.0, norm_first=True)
    x = torch.randn(2, 5, 6)
    assert torch.equal(layer(x), x)  # all that the sublayers give is dropped
    layer.eval()
    assert not torch.allclose(layer(x), x)


def test_module_takes_over_everything():
    theirs = nn.TransformerEncoderLayer(
        6, 3, 10, 0.25, "gelu", 1e-3, batch_first=False, norm_first=True, dtype=torch.float64
    ).eval()
    ours = TransformerEncoderLayer.from_torch(theirs)
    assert not ours.training
    assert not ours.attention.training
    assert ours.eps == ours.norm_2.eps == 1e-3
    assert ours.dropout.p == ours.attention.dropout.p == 0.25
    assert ours.norm_first
    x = torch.randn(2, 4, 6, dtype=torch.float64)
    with torch.enable_grad():
        close(ours(x), theirs(x.transpose(0, 1)).transpose(0, 1), 1e-11)
    with torch.no_grad():
        theirs.linear1.weight.zero_()  # copies: the module does not follow
    assert ours.linear_1.weight.any()
    twin = TransformerEncoderLayer(6, 3, 10, norm_first=True, activation="gelu").double().eval()
    twin.load_state_dict(ours.state_dict())
    twin.eps = 1e-3
    assert torch.equal(twin(x), ours(x))


def test_module_starts_like_xavier():
    torch.manual_seed(3)
    layer = TransformerEncoderLayer(32, 4, 96)
    bound = sqrt(6 / (32 + 96))
    for weight in (layer.linear_1.weight, layer.linear_2.weight):
        assert 0.95 * bound < float(weight.detach().abs().max()) <= bound
    assert not layer.linear_1.bias.any()
    assert bool((layer.norm_1.weight == 1).all())


@given(st.integers(1, 8), st.sampled_from([1, 2, 3]), st.integers(1, 50), st.booleans())
def test_parameter_count(head, heads, d_ff, bias):
    d = head * heads
    for kind in (nn.TransformerEncoderLayer, TransformerEncoderLayer):
        layer = kind(d, heads, d_ff, bias=bias, device="meta")
        assert block_parameter_count(d, d_ff, bias) == sum(p.numel() for p in layer.parameters())


def count_flops(layer, n, d):
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        layer(torch.zeros(1, n, d, device="meta"))
    return counter.get_total_flops()


@settings(max_examples=20)
@given(st.integers(1, 20), st.integers(1, 8), st.sampled_from([1, 2, 3]), st.integers(1, 50))
def test_flop_count(n, head, heads, d_ff):
    d = head * heads
    layers = (
        nn.TransformerEncoderLayer(d, heads, d_ff, 0.0, batch_first=True, device="meta"),
        TransformerEncoderLayer(d, heads, d_ff, 0.0, device="meta"),
    )
    for layer in layers:
        assert block_flops(n, d, d_ff) == count_flops(layer, n, d)


def test_what_the_network_adds():
    """The mean square of FFN(x̂) under Xavier's rule is 8/25: many draws, five standard errors."""
    rng = np.random.default_rng(8)
    d, draws = 24, 2000
    x = rng.normal(size=d)
    x = (x - x.mean()) / x.std()
    bound = sqrt(6 / (5 * d))
    squares = np.empty(draws)
    for i in range(draws):
        W_1 = rng.uniform(-bound, bound, (d, 4 * d))
        W_2 = rng.uniform(-bound, bound, (4 * d, d))
        squares[i] = (feed_forward(x[None], W_1, W_2) ** 2).mean()
    error = squares.std(ddof=1) / sqrt(draws)
    assert error < 0.004
    assert abs(squares.mean() - 8 / 25) < 5 * error


def test_what_the_network_hands_down():
    """The mean squared length of g J_F, from x̂ up, is 8/25 of that of g."""
    torch.manual_seed(8)
    d, draws = 24, 2000
    x = torch.randn(d, dtype=torch.float64)
    x = ((x - x.mean()) / x.std(correction=0)).requires_grad_()
    g = torch.randn(d, dtype=torch.float64)
    bound = sqrt(6 / (5 * d))
    shares = np.empty(draws)
    for i in range(draws):
        W_1, W_2 = (torch.empty(s, dtype=torch.float64) for s in ((d, 4 * d), (4 * d, d)))
        hidden = torch.relu(x @ W_1.uniform_(-bound, bound))
        (below,) = torch.autograd.grad((hidden @ W_2.uniform_(-bound, bound) * g).sum(), x)
        shares[i] = float((below**2).sum() / (g**2).sum())
    error = shares.std(ddof=1) / sqrt(draws)
    assert error < 0.004
    assert abs(shares.mean() - 8 / 25) < 5 * error


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: layer_norm(np.ones((2, 0))), ValueError, r"last axis that is not empty.*\(2, 0\)"),
        (lambda: layer_norm(np.ones(())), ValueError, r"not empty, got shape \(\)"),
        (lambda: layer_norm([1.0, 2.0]), TypeError, "x must be a NumPy array.*got list"),
        (lambda: layer_norm(np.ones((2, 3), int)), TypeError, "x must hold real floats, got int"),
        (
            lambda: layer_norm(np.ones((2, 3)), np.ones(4)),
            ValueError,
            r"gamma must have shape \(3,\), got \(4,\)",
        ),
        (
            lambda: layer_norm(np.ones((2, 3)), None, np.ones((1, 3))),
            ValueError,
            r"beta must have shape \(3,\), got \(1, 3\)",
        ),
        (
            lambda: layer_norm(np.ones((2, 3)), np.ones(3, np.float32)),
            TypeError,
            "share a dtype, got float64 and float32",
        ),
        (lambda: layer_norm(np.ones((2, 3)), eps=-1e-5), ValueError, "at least 0, got -1e-05"),
        (lambda: relu(np.ones(3, int)), TypeError, "x must hold real floats"),
        (
            lambda: feed_forward(np.ones((2, 3)), np.ones((4, 5)), np.ones((5, 3))),
            ValueError,
            r"W_1 must have 3 rows, got shape \(4, 5\)",
        ),
        (
            lambda: feed_forward(np.ones((2, 3)), np.ones((3, 5)), np.ones((4, 3))),
            ValueError,
            r"W_2 must have 5 rows, got shape \(4, 3\)",
        ),
        (
            lambda: feed_forward(np.ones((2, 3)), np.ones((3, 5)), np.ones((5, 3)), np.ones(1)),
            ValueError,
            r"b_1 must have shape \(5,\), got \(1,\)",
        ),
        (
            lambda: embed(np.array([0.0, 1]), np.ones((3, 2))),
            TypeError,
            "ids must hold integers of the table's library, got float64",
        ),
        (lambda: embed([0, 1], np.ones((3, 2))), TypeError, "got list"),
        (
            lambda: embed(torch.tensor([0, 1]), np.ones((3, 2))),
            TypeError,
            r"table's library, got torch\.int64",
        ),
        (
            lambda: embed(np.array([0, 3]), np.ones((3, 2))),
            ValueError,
            r"ids must be from 0 to 2, got \[0, 3\]",
        ),
        (lambda: embed(np.array([0, -1]), np.ones((3, 2))), ValueError, r"got \[0, -1\]"),
        (
            lambda: embed(np.array([], int), np.ones((3, 2))),
            ValueError,
            r"n at least 1, got \(3, 2\) and \(0,\)",
        ),
        (
            lambda: embed(np.array([0, 1, 2]), np.ones((3, 2)), np.ones((2, 2))),
            ValueError,
            r"positions must be \(n_max, 2\) with n_max at least 3, got \(2, 2\)",
        ),
        (
            lambda: embed(np.array([0]), np.ones((3, 2)), np.ones((2, 4))),
            ValueError,
            r"positions must be \(n_max, 2\).*got \(2, 4\)",
        ),
        (
            lambda: encoder_block(
                np.ones((2, 4)),
                BlockParameters(attention_of_ones(4, 1), np.ones((4, 5)), np.ones((5, 4))),
                1,
            ),
            ValueError,
            r"attention must give back the shape \(2, 4\), got \(2, 1\)",
        ),
        (
            lambda: encoder_block(
                np.ones((2, 4)),
                BlockParameters(attention_of_ones(4, 4), np.ones((4, 5)), np.ones((5, 1))),
                1,
            ),
            ValueError,
            r"the feed-forward network must give back the shape \(2, 4\), got \(2, 1\)",
        ),
        (
            lambda: block_parameter_count(0, 5),
            ValueError,
            "d_model and d_ff must be at least 1, got 0 and 5",
        ),
        (lambda: block_flops(3, 4, 0), ValueError, "must be at least 1, got 3, 4 and 0"),
        (
            lambda: TransformerEncoderLayer(6, 4, 5),
            ValueError,
            "num_heads must divide d_model, got 6 and 4|got 4 and 6",
        ),
        (lambda: TransformerEncoderLayer(6, 3, 0), ValueError, "d_ff must be at least 1, got 0"),
        (
            lambda: TransformerEncoderLayer(6, 3, 5, activation="swish"),
            ValueError,
            r"one of \['relu', 'gelu'\], got 'swish'",
        ),
    ],
)
def test_errors_say_wanted_and_got(call, error, message):
    with pytest.raises(error, match=message):
        call()


def attention_of_ones(d, d_out):
    """Attention parameters of ones, without biases."""
    return Parameters(np.ones((d, d)), np.ones((d, d)), np.ones((d, d)), np.ones((d, d_out)))


# --- the chapter's example, worked out once more with mpmath ------------------------------------

W_O = [[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
EPS = mpmath.mpf(10) ** -5


def mixed(queries, keys, values):
    """Scaled attention: weights and outputs."""
    scaled = attention_weights(queries, keys, mpmath.sqrt(3))
    return scaled, product(scaled, values)


def attend(x):
    _, outputs = mixed(product(x, W_QUERY), product(x, W_KEY), product(x, W_VALUE))
    return product(outputs, W_O)


def normalised(x, eps=EPS):
    rows = []
    for row in x:
        mean = mpmath.fsum(row) / len(row)
        variance = mpmath.fsum((c - mean) ** 2 for c in row) / len(row)
        rows.append([(c - mean) / mpmath.sqrt(variance + eps) for c in row])
    return rows


def network(x):
    """As the text says it: two distances and a bend."""
    hidden = [max(mpmath.mpf(0), b + d - 1) for _, b, _, d in x]
    return [[abs(a - b), h, abs(c), -h] for (a, b, c, _), h in zip(x, hidden, strict=True)]


def post_by_hand():
    a = attend(X)
    z = normalised(plus(X, a))
    f = network(z)
    return a, plus(X, a), z, f, normalised(plus(z, f))


def pre_by_hand():
    normal = normalised(X)
    a = attend(normal)
    z = plus(X, a)
    return normal, a, z, plus(z, network(normalised(z)))


# --- the published numbers -----------------------------------------------------------------------


@pytest.mark.site
@each_language
def test_input(page, lang):
    chapter = page(lang, "transformer-block")
    lines = chapter.output("truncation").splitlines()
    assert lines == ["[[4 5 6 0]", " [1 2 3 2]", " [1 2 3 2]]", "lengths [3 4 4]"]
    assert chapter.values("truncation") == ["7", "3"]
    rows = [[1, 0, 0, 2], [0, 3, 1, 0], [0, 0, 2, 1], [0, 3, 1, 0]]
    assert chapter.array("embedding").tolist() == rows
    assert chapter.output("embedding").endswith("True")
    places = [[sin(t), cos(t), sin(t / 100), cos(t / 100)] for t in range(4)]
    printed(chapter.array("positions"), places, 3)
    printed(
        chapter.array("positions", 1),
        [[2 * r + p for r, p in zip(*one, strict=True)] for one in zip(rows, places, strict=True)],
        3,
    )
    assert "n_max at least 7, got (4, 4)" in chapter.output("too-long")
    assert chapter.output("input-mask").splitlines() == [
        "(3, 1, 1, 4)",
        "[[1 1 1 0]",
        " [1 1 1 1]",
        " [1 1 1 1]]",
    ]


@pytest.mark.site
@each_language
def test_bias(page, lang):
    chapter = page(lang, "transformer-block")
    q, k, v = product(X, W_QUERY), product(X, W_KEY), product(X, W_VALUE)
    b_q, b_k, b_v = ([one] * 3 for one in ([1, 0, -1], [2, -1, 3], [1, 1, -2]))
    cases = [(q, k, v), (q, plus(k, b_k), v), (plus(q, b_q), k, v), (q, k, plus(v, b_v))]
    for number, case in enumerate(cases):
        shares, outputs = mixed(*case)
        printed(chapter.array("bias", 2 * number), shares[0], 4)
        printed(chapter.array("bias", 2 * number + 1), outputs[0], 4)
    assert chapter.output("bias").count("True") == 2
    lines = chapter.output("bias-gradient").splitlines()
    assert [line.split()[-1] for line in lines] == ["False", "True", "False"]


@pytest.mark.site
@each_language
def test_feed_forward(page, lang):
    chapter = page(lang, "transformer-block")
    tokens = [[3, 1], [1, 3], [2, 2]]
    differences = [[a - b, b - a] for a, b in tokens]
    assert chapter.array("distance", 0).tolist() == differences
    assert chapter.array("distance", 1).tolist() == [[max(0, c) for c in r] for r in differences]
    assert chapter.array("distance", 2).tolist() == [[abs(a - b)] for a, b in tokens]


@pytest.mark.site
@each_language
def test_collapse(page, lang):
    chapter = page(lang, "transformer-block")
    assert product([[1, -1], [-1, 1]], [[1], [1]]) == [[0], [0]]
    assert chapter.array("collapse", 0).tolist() == [[0], [0]]
    assert chapter.array("collapse", 1).tolist() == [[0], [0], [0]]
    assert chapter.output("collapse").endswith("True")


@pytest.mark.site
@each_language
def test_residual(page, lang):
    plain, around = page(lang, "transformer-block").output("residual").splitlines()
    assert plain.endswith(f" {float(Fraction(1, 10) ** 10):.1e}")
    assert around.endswith(f" {float(Fraction(11, 10) ** 10):.2f}")


@pytest.mark.site
@each_language
def test_layer_norm(page, lang):
    chapter = page(lang, "transformer-block")
    lines = chapter.output("layer-norm").splitlines()
    row = [Fraction(1), Fraction(0), Fraction(0), Fraction(0)]
    variance = statistics.pvariance(row)
    assert lines[0] == f"mean {statistics.mean(row)} variance {variance}"
    assert lines[1] == f"first component squared: {(1 - Fraction(1, 4)) ** 2 / variance}"
    assert chapter.array("layer-norm").tolist() == [1.732, -0.577, -0.577, -0.577]
    printed(chapter.array("layer-norm"), normalised([[1, 0, 0, 0]])[0], 3)
    assert lines[-1] == "True"
    assert chapter.output("layer-norm-properties").count("True") == 4


@pytest.mark.site
@each_language
def test_epsilon(page, lang):
    chapter = page(lang, "transformer-block")
    tiny = [mpmath.mpf(1) / 1000, 0, 0, 0]
    printed(chapter.array("epsilon", 0), normalised([tiny])[0], 4)
    sigma = mpmath.sqrt(3) / 4000
    centred = [c - mpmath.mpf(1) / 4000 for c in tiny]
    printed(chapter.array("epsilon", 1), [c / (sigma + EPS) for c in centred], 4)
    theirs = nn.functional.layer_norm(torch.tensor([0.001, 0, 0, 0], dtype=torch.float64), (4,))
    printed(chapter.array("epsilon", 2), theirs.tolist(), 4)
    assert chapter.array("epsilon", 3).tolist() == [0, 0, 0, 0]
    assert not np.allclose(chapter.array("epsilon", 0), chapter.array("epsilon", 1))


@pytest.mark.site
@each_language
def test_jacobian(page, lang):
    chapter = page(lang, "transformer-block")
    assert chapter.output("layer-norm-jacobian").splitlines()[0] == "autograd agrees: True"
    x = torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    J = torch.autograd.functional.jacobian(lambda x: nn.functional.layer_norm(x, (8,), eps=0.0), x)
    singular = torch.linalg.svdvals(J) * x.std(correction=0)
    printed(chapter.array("layer-norm-jacobian"), singular.tolist(), 6)
    normal = (x - x.mean()) / x.std(correction=0)
    ones = torch.ones(8, dtype=torch.float64)
    assert float((J @ ones).abs().max()) < 1e-12
    assert float((J @ normal).abs().max()) < 1e-12


@pytest.mark.site
@each_language
def test_code(page, lang):
    """What the page shows is a function; run on its own, it is torch's layer."""
    names = dict(vars(transformer_block))
    exec(page(lang, "transformer-block").output("code"), names)
    shown = names["encoder_block"]
    assert shown is not encoder_block
    torch.manual_seed(4)
    for norm_first in (False, True):
        theirs = random_layer(torch.float64, 6, 3, 7, norm_first=norm_first)
        parameters = TransformerEncoderLayer.from_torch(theirs).parameters_by_name()
        x = torch.randn(2, 5, 6, dtype=torch.float64)
        close(shown(x, parameters, 3, norm_first=norm_first), theirs(x), 1e-11)


@pytest.mark.site
@each_language
def test_post_by_hand(page, lang):
    chapter = page(lang, "transformer-block")
    assert chapter.array("hand-parameters").tolist() == W_O
    for number, wanted in enumerate(post_by_hand()):
        printed(chapter.array("post-steps", number), wanted, 4)
    assert chapter.output("post-steps").endswith("True")
    _, _, z, f, _ = post_by_hand()
    wanted = [f"{float(one):.4f}" for one in (z[0][0], z[0][1], f[0][0])]
    assert chapter.values("by-hand")[:3] == wanted


@pytest.mark.site
@each_language
def test_pre_by_hand(page, lang):
    chapter = page(lang, "transformer-block")
    for number, wanted in enumerate(pre_by_hand()):
        printed(chapter.array("pre-steps", number), wanted, 4)
    assert chapter.output("pre-steps").endswith("True")


@pytest.mark.site
@each_language
def test_batch(page, lang):
    assert page(lang, "transformer-block").output("batch-block").splitlines() == [
        "(3, 4, 4) -> (3, 4, 4) its tokens stay: True",
        "without the mask they stay: False",
    ]


@pytest.mark.site
@each_language
def test_agreement(page, lang):
    chapter = page(lang, "transformer-block")
    version, _, *rows = chapter.output("agreement").splitlines()
    assert version == "torch " + torch.__version__.split("+")[0]
    assert len(rows) == 16
    for row in rows:
        assert re.fullmatch(r"(post|pre )  ?[\w ]+ +1e-(11|3) +True +True *", row), row
    assert chapter.values("agreement") == ["32", "True"]


@pytest.mark.site
@each_language
def test_stack(page, lang):
    assert page(lang, "transformer-block").output("stack") == "the stack agrees: True"


def torch_runs(count, norm_first):
    """The chapter's experiment with torch's own layers, the same numbers drawn by NumPy."""
    norms, squares = [], []
    for i in range(10):
        rng = np.random.default_rng(2017 + i)
        stack = [
            nn.TransformerEncoderLayer(
                *(32, 4, 128, 0.0), batch_first=True, norm_first=norm_first, dtype=torch.float64
            )
            for _ in range(count)
        ]
        with torch.no_grad():
            for layer in stack:
                for p in (p for p in layer.parameters() if p.ndim == 1):
                    p.fill_(0)
                layer.norm1.weight.fill_(1)
                layer.norm2.weight.fill_(1)
                maps = [*layer.self_attn.in_proj_weight.chunk(3), layer.self_attn.out_proj.weight]
                for weight in (*maps, layer.linear1.weight, layer.linear2.weight):
                    bound = sqrt(6 / sum(weight.shape))
                    drawn = rng.uniform(-bound, bound, tuple(weight.shape))
                    weight.copy_(torch.from_numpy(drawn))
        x = torch.from_numpy(rng.normal(size=(2, 16, 32)))
        direction = torch.from_numpy(rng.normal(size=(2, 16, 32)))
        sizes = [float((x**2).mean())]
        for layer in stack:
            x = layer(x)
            sizes.append(float((x.detach() ** 2).mean()))
        y = nn.functional.layer_norm(x, (32,)) if norm_first else x
        (y * direction / direction.norm()).sum().backward()
        norms.append([float(layer.linear1.weight.grad.norm()) for layer in stack])
        squares.append(sizes)
    return np.array(norms), np.array(squares)


@pytest.fixture(scope="module")
def measured():
    """Depth and order to gradient norms and mean squares."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small matrices
    found = {(n, first): torch_runs(n, first) for n in (1, 2, 4, 8, 12) for first in (False, True)}
    torch.set_num_threads(threads)
    return found


def interval(samples):
    return [samples.mean(), 2.2622 * samples.std(ddof=1) / sqrt(10)]


@pytest.mark.site
@each_language
def test_gradients(page, lang, measured):
    chapter = page(lang, "transformer-block")
    post, pre = measured[12, False][0], measured[12, True][0]
    rows = chapter.output("gradients").splitlines()[1:]
    assert len(rows) == 12
    for layer, row in enumerate(rows):
        numbers = [float(one) for one in re.findall(r"\d+\.\d", row)]
        wanted = [
            number
            for one in (post[:, layer], pre[:, layer])
            for number in (*interval(one), one.min(), one.max())
        ]
        printed(np.array(numbers), wanted, 1)
    spread = chapter.numbers("spread")
    level = (pre * np.sqrt(measured[12, True][1][:, :-1])).mean(axis=0)
    wanted = [(post[:, 0] / post[:, -1]).min(), (post[:, 0] / post[:, -1]).max()]
    wanted += [(pre[:, 0] / pre[:, -1]).min(), (pre[:, 0] / pre[:, -1]).max()]
    printed(np.array(spread), [*wanted, level.min(), level.max()], 1)
    # What the text says of them.
    assert post.mean(axis=0).argmax() >= 8
    assert (np.diff(pre.mean(axis=0)) < 0).all()
    assert (pre[:, 0] > 2 * pre[:, -1]).all()
    assert np.ptp(post[:, 0]) > 1.5 * np.ptp(pre[:, 0])


@pytest.mark.site
@each_language
def test_last_block(page, lang, measured):
    chapter = page(lang, "transformer-block")
    rows = chapter.output("last-block").splitlines()[1:]
    products = []
    for count, row in zip((1, 2, 4, 8, 12), rows, strict=True):
        assert row.startswith(f"{count:2d} blocks")
        post = measured[count, False][0][:, -1]
        norms, squares = measured[count, True]
        products.append(norms[:, -1] * np.sqrt(squares[:, -1]))
        wanted = [*interval(post), *interval(norms[:, -1]), *interval(products[-1])]
        printed(np.array([float(one) for one in re.findall(r"\d+\.\d", row)]), wanted, 1)
    # What the text says of them: the gradient falls, its product with r_L nearly not.
    levels = [one.mean() for one in products]
    printed(np.array(chapter.values("gradients")[-3:-1], float), [min(levels), max(levels)], 1)
    assert max(levels) < 1.1 * min(levels)
    falls = [measured[count, True][0][:, -1].mean() for count in (1, 12)]
    assert falls[0] > 2.5 * falls[1]
    post = [interval(measured[count, False][0][:, -1]) for count in (1, 2, 4, 8, 12)]
    assert max(m - w for m, w in post) < min(m + w for m, w in post)


@pytest.mark.site
@each_language
def test_stream(page, lang, measured):
    chapter = page(lang, "transformer-block")
    first, *rows, last = chapter.output("stream").splitlines()
    share = 4 * Fraction(1, 5) * Fraction(2, 5)
    assert first == f"the network adds {share}" == "the network adds 8/25"
    squares = measured[12, True][1]
    for count, row in zip((4, 8, 12), rows, strict=True):
        low, high = 1 + count * share, 1 + count * (share + 1)
        assert row.endswith(f"from {float(low):.2f} to {float(high):.2f} expected")
        numbers = [float(one) for one in re.findall(r"\d+\.\d\b", row)][:2]
        printed(np.array(numbers), interval(squares[:, count]), 1)
        assert low < squares[:, count].mean() < high
    factors = re.findall(r"(\d+): (\d\.\d+)", last)
    assert [count for count, _ in factors] == ["6", "12", "24"]
    for count, factor in factors:
        exact = mpmath.mpf(25) / 33
        printed(np.array(float(factor)), exact ** (mpmath.mpf(count) / 2), 3)


@pytest.mark.site
@each_language
def test_parameters(page, lang):
    chapter = page(lang, "transformer-block")
    rows = [line.split() for line in chapter.output("parameters").splitlines()[1:]]
    for row in rows:
        d, d_ff, *counts = map(int, row)
        shapes = [(d, d)] * 4 + [(d,)] * 4 + [(d, d_ff), (d_ff,), (d_ff, d), (d,)] + [(d,)] * 4
        assert counts == [sum(int(np.prod(shape)) for shape in shapes)] * 3
        if d_ff == 4 * d:
            assert counts[0] == 12 * d**2 + 13 * d
    assert [row[2] for row in rows] == ["145", "49984", "3152384", "7087872"]
    parts = [int(line.split()[-1]) for line in chapter.output("parts").splitlines()]
    assert parts == [1050624, 2099712, 2048, 3152384]
    assert chapter.values("parameters") == [f"{2099712 / 3152384:.3f}"]


@pytest.mark.site
@each_language
def test_flops(page, lang):
    chapter = page(lang, "transformer-block")
    for line in chapter.output("flops").splitlines()[1:]:
        n, d, d_ff, *counts = map(int, line.split())
        products = [(n, d, d)] * 4 + [(n, d, n), (n, n, d), (n, d, d_ff), (n, d_ff, d)]
        assert counts == [sum(2 * a * b * c for a, b, c in products)] * 3
    version, whole = chapter.output("flops-missing").splitlines()
    assert version == f"torch {torch.__version__.split('+')[0]} leaves out {4 * 100**2 * 512}"
    assert whole.endswith("True")
    shares = re.findall(r"n = +(\d+): ([\d.]+)%", chapter.output("share"))
    assert len(shares) == 5
    for n, percent in shares:
        exact = Fraction(int(n), int(n) + 6 * 512)  # 4n²d of 4n²d + 24nd²
        printed(np.array(float(percent)), float(100 * exact), 1)
    assert dict(shares)["3072"] == "50.0"


@pytest.mark.site
@each_language
def test_ddof(page, lang):
    chapter = page(lang, "transformer-block")
    row = [1, 0, 0, 0]
    for number, variance in enumerate((statistics.variance(row), statistics.pvariance(row))):
        wanted = [(c - 0.25) / sqrt(variance) for c in row]
        printed(chapter.array("mistake-ddof", number), wanted, 3)
    assert chapter.array("mistake-ddof", 0)[0] == 1.5
    assert chapter.array("mistake-ddof", 1)[0] == 1.732
    lines = chapter.output("mistake-ddof").splitlines()
    assert [line[-1] for line in lines] == ["3", "4", "e"]
    assert lines[2].endswith("True")
    for d, ratio in re.findall(r"d = +(\d+): .* = ([\d.]+)", chapter.output("mistake-ddof-size")):
        printed(np.array(float(ratio)), mpmath.sqrt(1 - mpmath.mpf(1) / int(d)), 4)
    assert chapter.values("mistake-ddof") == ["1.500", "1.732"]


@pytest.mark.site
@each_language
def test_order(page, lang):
    chapter = page(lang, "transformer-block")
    post, pre = post_by_hand()[-1], pre_by_hand()[-1]
    printed(chapter.array("mistake-order", 0), post, 4)
    printed(chapter.array("mistake-order", 1), pre, 4)
    for number, one in ((2, post), (4, pre)):
        printed(chapter.array("mistake-order", number), [sum(row) / 4 for row in one], 2)
        lengths = [sum(c * c for c in row) for row in one]
        printed(chapter.array("mistake-order", number + 1), lengths, 2)
    assert chapter.array("mistake-order", 2).tolist() == [0, 0, 0]
    assert chapter.array("mistake-order", 3).tolist() == [4, 4, 4]
    assert chapter.output("mistake-order").endswith("it is pre-norm: True")


@pytest.mark.site
@each_language
def test_overwrite(page, lang):
    chapter = page(lang, "transformer-block")
    normal = normalised(X)
    stream = normalised(plus(normal, attend(normal)))
    wrong = plus(stream, network(stream))
    printed(chapter.array("mistake-overwrite", 0), wrong[0], 4)
    printed(chapter.array("mistake-overwrite", 1), pre_by_hand()[-1][0], 4)
    assert abs(wrong[0][0] - pre_by_hand()[-1][0][0]) > 1
    assert chapter.output("mistake-overwrite").endswith("True")


@pytest.mark.site
@each_language
def test_exercises(page, lang):
    chapter = page(lang, "transformer-block")
    tables, norm, blocks, pooler, total = chapter.numbers("exercise-1")
    assert tables == (30522 + 512 + 2) * 768
    assert norm == 2 * 768
    layer = nn.TransformerEncoderLayer(768, 12, 3072, device="meta")
    assert blocks == 12 * sum(p.numel() for p in layer.parameters())
    assert pooler == sum(p.numel() for p in nn.Linear(768, 768, device="meta").parameters())
    assert total == tables + norm + blocks + pooler == 109482240
    alone, around, last = chapter.output("exercise-2").splitlines()
    shares = [[float(one) for one in re.findall(r"\d\.\de-\d\d", line)] for line in (alone, around)]
    assert shares[0][0] == shares[1][0] > 0.8
    zeros = [-np.log10(share) for share in shares[0][1:]]
    assert zeros[1] > 2 * zeros[0]
    assert zeros[2] > 2 * zeros[1]
    assert min(shares[1]) > 0.3
    assert last.endswith(" " + chapter.values("exercises")[0])
    rms = 3 / mpmath.sqrt(5)
    printed(chapter.array("exercise-3", 0), [rms, -rms / 3, rms / 3, -rms], 4)
    printed(chapter.array("exercise-3", 1), [rms, -rms / 3, rms / 3, -rms], 4)
    moved = [13, 9, 11, 7]
    root = mpmath.sqrt(sum(c * c for c in moved) / mpmath.mpf(4))
    printed(chapter.array("exercise-3", 2), [c / root for c in moved], 4)
    printed(chapter.array("exercise-3", 3), normalised([moved], eps=0)[0], 4)
