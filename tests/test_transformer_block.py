"""The chapter "transformer-block": against torch's own layers, exact fractions and mpmath."""

from __future__ import annotations

import json
import re
import statistics
from fractions import Fraction
from functools import cache, partial
from itertools import product as iterproduct
from math import cos, prod, sin, sqrt
from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attention_docs import transformer_block
from attention_docs.heads import FOLDER
from attention_docs.multi_head import Parameters
from attention_docs.next_word import token_text
from attention_docs.nn import TransformerEncoderLayer
from attention_docs.site.publish import neurons
from attention_docs.smollm2 import SmolLM2, encode_text
from attention_docs.transformer_block import (
    BlockParameters,
    block_flops,
    block_parameter_count,
    embed,
    encoder_block,
    feed_forward,
    layer_norm,
    layer_norm_gradient,
    relu,
)
from tests.conftest import scale_examples
from tests.exact import (
    W_KEY,
    W_QUERY,
    W_VALUE,
    X,
    add,
    agrees_within_error,
    assert_printed,
    attention_weights,
    make_test_of_asked,
    parse_plus_minus,
    product,
)
from tests.page import Page, parse_number, vector_of
from tests.test_heads import (  # noqa: F401
    FILE,
    Tensors,
    in_torch,
    make_small,
    model,
    needs_model,
    run_in_torch,
)

seeds = st.integers(0, 2**31 - 1)
# How far two ways to round may lie apart where the numbers are of size 1.
DTYPES = {torch.float64: 1e-11, torch.float32: 2e-4, torch.bfloat16: 0.15, torch.float16: 0.03}


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
        close(layer_norm(*arrays, eps), theirs, 1e-11)


@given(
    seed=seeds,
    shape=st.sampled_from([(7,), (3, 5), (2, 3, 11), (4, 1)]),
    eps=st.sampled_from([1e-5, 1e-3]),
)
def test_layer_norm_gradient_agrees_with_torch(seed, shape, eps):
    generator = torch.Generator().manual_seed(seed)
    x = 3 * torch.randn(shape, dtype=torch.float64, generator=generator) + 1
    g = torch.randn(shape, dtype=torch.float64, generator=generator)
    leaf = x.clone().requires_grad_()
    theirs = nn.functional.layer_norm(leaf, shape[-1:], None, None, eps)
    (wanted,) = torch.autograd.grad((theirs * g).sum(), leaf)
    close(layer_norm_gradient(x, g, eps), wanted, 1e-11)
    close(layer_norm_gradient(x.numpy(), g.numpy(), eps), wanted, 1e-11)


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


@scale_examples(60)
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
        6, 3, 10, 0.25, "gelu", 1e-3, batch_first=True, norm_first=True, dtype=torch.float64
    ).eval()
    ours = TransformerEncoderLayer.from_torch(theirs)
    assert not ours.training
    assert not ours.attention.training
    assert ours.eps == ours.norm_2.eps == 1e-3
    assert ours.dropout.p == ours.attention.dropout.p == 0.25
    assert ours.norm_first
    x = torch.randn(2, 4, 6, dtype=torch.float64)
    with torch.enable_grad():
        close(ours(x), theirs(x), 1e-11)
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


@scale_examples(20)
@given(st.integers(1, 20), st.integers(1, 8), st.sampled_from([1, 2, 3]), st.integers(1, 50))
def test_flop_count(n, head, heads, d_ff):
    d = head * heads
    layers = (
        nn.TransformerEncoderLayer(d, heads, d_ff, 0.0, batch_first=True, device="meta"),
        TransformerEncoderLayer(d, heads, d_ff, 0.0, device="meta"),
    )
    for layer in layers:
        assert block_flops(n, d, d_ff) == count_flops(layer, n, d)


def test_residual_gradient():
    """E‖g(I + J)‖² = ‖g‖² + E‖gJ‖² for J of mean 0; the bound without it, and where it is met."""
    rng = np.random.default_rng(8)
    g = rng.normal(size=6)
    J = rng.exponential(0.3, size=(40_000, 6, 6)) - 0.3  # skewed, mean 0
    around, through = ((g + g @ J) ** 2).sum(axis=1), ((g @ J) ** 2).sum(axis=1)
    difference = around - through - (g**2).sum()
    assert abs(difference.mean()) < 5 * difference.std(ddof=1) / 200
    assert through.mean() > 0.3 * (g**2).sum()
    for one in J[:200] / 4:
        stretch = np.linalg.svd(one, compute_uv=False)[0]
        assert stretch < 1
        assert np.linalg.norm(g + g @ one) >= (1 - stretch) * np.linalg.norm(g) - 1e-12
    met = g + g @ (-0.9 * np.eye(6))
    assert abs(np.linalg.norm(met) - (1 - 0.9) * np.linalg.norm(g)) < 1e-12


# --- the chapter's example, worked out once more with mpmath ------------------------------------

W_O = [[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
EPS = mpmath.mpf(10) ** -5


def attend_scaled(queries, keys, values):
    """Scaled attention: weights and outputs."""
    scaled = attention_weights(queries, keys, mpmath.sqrt(3))
    return scaled, product(scaled, values)


def attend(x):
    _, outputs = attend_scaled(product(x, W_QUERY), product(x, W_KEY), product(x, W_VALUE))
    return product(outputs, W_O)


def normalise(x, eps=EPS):
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
    z = normalise(add(X, a))
    f = network(z)
    return a, add(X, a), z, f, normalise(add(z, f))


def pre_by_hand():
    normal = normalise(X)
    a = attend(normal)
    z = add(X, a)
    return normal, a, z, add(z, network(normalise(z)))


# --- the experiments once more, with torch's functions and its autograd ---------------------------


@cache
def torch_layers(count, runs, keep_input):
    """The chapter's stacks of attention alone: D of every run after each layer."""
    rng = np.random.default_rng(2017)
    x = torch.from_numpy(rng.normal(size=(runs, 8, 16)))
    spreads = []
    for layer in range(count + 1):
        spreads.append(x.var(dim=1, correction=0).sum(dim=-1) / (x**2).mean(dim=1).sum(dim=-1))
        if layer < count:
            W = torch.from_numpy(rng.normal(0, 0.25, size=(3, runs, 16, 16)))
            outputs = nn.functional.scaled_dot_product_attention(*(x @ one for one in W))
            x = x + outputs if keep_input else outputs
    return torch.stack(spreads).numpy()


@cache
def torch_runs(count, norm_first, kinds=("MHA", "FFN"), chunks=3, runs=20, n=16, d=32):
    """The chapter's random stacks by autograd: r², ‖g‖², u and w, an axis for the runs last."""
    parts = []
    for seed in range(2017, 2017 + chunks):
        rng = np.random.default_rng(seed)
        x, direction = (torch.from_numpy(one) for one in rng.normal(size=(2, runs, n, d)))
        direction /= direction.flatten(1).norm(dim=1)[:, None, None]
        norm = lambda z: nn.functional.layer_norm(z, (d,))  # noqa: E731
        streams, below, added = [x.requires_grad_()], [], []
        for _ in range(count):
            for kind in kinds:
                shapes = [(d, d)] * 4 if kind == "MHA" else [(d, 4 * d), (4 * d, d)]
                bounds = [sqrt(6 / sum(shape)) for shape in shapes]
                W = [
                    torch.from_numpy(rng.uniform(-bound, bound, (runs, *shape)))
                    for bound, shape in zip(bounds, shapes, strict=True)
                ]
                below.append(x)
                z = norm(x) if norm_first else x
                if kind == "MHA":
                    q, k, v = ((z @ one).unflatten(-1, (4, -1)).transpose(1, 2) for one in W[:3])
                    heads = nn.functional.scaled_dot_product_attention(q, k, v)
                    f = heads.transpose(1, 2).flatten(-2) @ W[3]
                else:
                    f = torch.relu(z @ W[0]) @ W[1]
                f.retain_grad()
                added.append(f)
                x = x + f if norm_first else norm(x + f)
                x.retain_grad()
            streams.append(x)
        ((norm(x) if norm_first else x) * direction).sum().backward()
        length = lambda one: (one.detach() ** 2).sum(dim=(1, 2))  # noqa: E731
        pairs = list(zip(below, added, strict=True))
        # The sum hands its gradient to f; what else arrives below has come through F.
        parts.append(
            [
                torch.stack([length(one) / (n * d) for one in streams]),
                torch.stack([length(one.grad) for one in streams]),
                torch.stack([length(f) / length(one) for one, f in pairs]),
                torch.stack([length(one.grad - f.grad) / length(f.grad) for one, f in pairs]),
            ]
        )
    return [torch.cat(one, dim=1).numpy() for one in zip(*parts, strict=True)]


@pytest.fixture(scope="module")
def stacks():
    """Depth and order to r², ‖g‖², u and w."""
    depths = (3, 6, 12, 24)
    return {(N, first): torch_runs(N, first, chunks=8) for N in depths for first in (False, True)}


STUDENT = {16: 2.1314, 60: 2.0010, 80: 1.9905, 160: 1.9750}


def interval(samples):
    """Mean and half its 95% interval, by Student's t."""
    runs = samples.shape[-1]
    return [samples.mean(), STUDENT.get(runs, 1.96) * samples.std(ddof=1) / sqrt(runs)]


def root(squares):
    """Root of the mean square, and half its interval by the derivative of the root."""
    mean, half = interval(squares)
    return [sqrt(mean), half / (2 * sqrt(mean))]


def captions(chapter, block):
    """The numbers in the captions of a figure's frames."""
    captions = (frame.caption for frame in chapter.frames(block))
    return [re.findall(r"\d(?:[\d.]*\d)?(?:e[-+]\d+)?", caption) for caption in captions]


# --- the published numbers -----------------------------------------------------------------------


def test_what_a_token_keeps(chapter):
    """A quarter of 4 and three quarters of 0, added to both."""
    assert chapter.bars("keep") == {"x": [4, 0], "F(x)": [1, 1], "x + F(x)": [5, 1]}


def test_one_token_by_hand(chapter):
    """(1 − 1/4) and (0 − 1/4), divided by √(3/16)."""
    drawn = chapter.bars("one-token")
    assert drawn["before LayerNorm"] == [1, 0, 0, 0]
    assert drawn["after LayerNorm"] == [round(sqrt(3), 3)] + [-round(1 / sqrt(3), 4)] * 3


def test_alike(chapter):
    spreads = torch_layers(3, 1000, keep_input=False)[:, 1]
    wanted = [[str(layer), f"{one:.6f}"] for layer, one in enumerate(spreads)]
    assert captions(chapter, "alike") == wanted
    assert spreads[3] < 1e-4  # no shade of the picture differs by it


@cache
def larger_median():
    """Of the logarithm of what three layers leave, in 6000 stacks with other numbers."""
    generator = torch.Generator().manual_seed(5)
    draw = partial(torch.randn, dtype=torch.float64, generator=generator)
    x = draw(6000, 8, 16)
    for _ in range(3):
        x = nn.functional.scaled_dot_product_attention(*(x @ draw(6000, 16, 16) / 4 for _ in "qkv"))
    shares = x.var(dim=1, correction=0).sum(dim=-1) / (x**2).mean(dim=1).sum(dim=-1)
    return float(shares.log10().median())


def test_residual(chapter):
    rows = [list(row.values())[1:] for row in chapter.table("residual")]
    for row, keep_input in zip(rows, (False, True), strict=True):
        logs = np.sort(np.log10(torch_layers(3, 1000, keep_input)), axis=1)
        # Of 1000 draws 470 to 530 lie below the median in 95% of all cases.
        wanted = [(one[500], (one[530] - one[469]) / 2) for one in logs]
        assert_printed([parse_plus_minus(cell)[0] for cell in row], wanted, 1)
    # The median of a larger simulation lies in the interval, or close by.
    (last,) = parse_plus_minus(rows[0][-1])
    assert abs(larger_median() - last[0]) < 2.5 * last[1]


def test_collapse_rate(chapter):
    ratios = chapter.column("collapse-rate", "outputs closer by the factor")
    assert chapter.column("collapse-rate", "tokens apart by") == [0.1, 0.01]
    rng = np.random.default_rng(2017)
    common, apart = rng.normal(size=16), rng.normal(size=(8, 16))
    W = [torch.from_numpy(one) for one in rng.normal(0, 0.25, size=(3, 16, 16))]
    found = []
    for size in (0.1, 0.01, 0.001):
        x = torch.from_numpy(common + size * apart)
        outputs = nn.functional.scaled_dot_product_attention(*((x @ one)[None] for one in W))[0]
        found.append(float((outputs - outputs.mean(dim=0)).abs().max()))
    assert_printed(ratios, [found[0] / found[1], found[1] / found[2]], 0)
    assert all(900 < one < 1100 for one in ratios)


def test_condition(chapter):
    rows = [list(row.values()) for row in chapter.table("condition")]
    for row, slope in zip(rows, (Fraction(1, 10), Fraction(-9, 10)), strict=True):
        wanted = [float(f"{float(one):.2g}") for one in (slope, slope**10, (1 + slope) ** 10)]
        assert [parse_number(cell) for cell in row] == wanted


def test_input(chapter):
    ids = [vector_of(row["ids"]) for row in chapter.table("truncation")]
    assert ids == [[4, 5, 6, 0], [1, 2, 3, 2], [1, 2, 3, 2]]
    assert chapter.column("truncation", "length") == [3, 4, 4]
    assert chapter.values("input")[:2] == ["7", "3"]
    rows = [[1, 0, 0, 2], [0, 3, 1, 0], [0, 0, 2, 1], [0, 3, 1, 0]]
    columns = [chapter.column("embedding", f"component {c}") for c in (1, 2, 3, 4)]
    assert np.transpose(columns).tolist() == rows
    places = [[sin(t), cos(t), sin(t / 100), cos(t / 100)] for t in range(4)]
    found = chapter.table("positions")
    assert_printed([vector_of(row["positional encoding"]) for row in found], places, 3)
    assert_printed(
        [vector_of(row["input"]) for row in found],
        [[2 * r + p for r, p in zip(*one, strict=True)] for one in zip(rows, places, strict=True)],
        3,
    )
    assert "n_max at least 7, got (4, 4)" in chapter.output("too-long")
    assert chapter.output("input-mask").strip() == "Shape: (3, 1, 1, 4)"
    visible = ["".join(list(row.values())[1:]) for row in chapter.table("input-mask")]
    assert visible == ["✓✓✓✗", "✓✓✓✓", "✓✓✓✓"]


def test_bias(chapter):
    q, k, v = product(X, W_QUERY), product(X, W_KEY), product(X, W_VALUE)
    b_q, b_k, b_v = ([one] * 3 for one in ([1, 0, -1], [2, -1, 3], [1, 1, -2]))
    cases = [(q, k, v), (add(q, b_q), k, v), (q, add(k, b_k), v), (q, k, add(v, b_v))]
    for row, case in zip(chapter.table("bias"), cases, strict=True):
        shares, outputs = attend_scaled(*case)
        assert_printed(vector_of(row["weights"]), shares[0], 4)
        assert_printed(vector_of(row["output"]), outputs[0], 4)
    gradients = [tuple(row.values()) for row in chapter.table("bias-gradient")]
    assert gradients == [("b_Q", "✗"), ("b_K", "✓"), ("b_V", "✗")]


def test_feed_forward(chapter):
    tokens = [[3, 1], [1, 3], [2, 2]]
    rows = chapter.table("distance")
    assert [vector_of(row["token"]) for row in rows] == tokens
    assert [vector_of(row["x W_1"]) for row in rows] == [[a - b, b - a] for a, b in tokens]
    assert chapter.column("distance", "output") == [abs(a - b) for a, b in tokens]


def test_collapse(chapter):
    assert product([[1, -1], [-1, 1]], [[1], [1]]) == [[0], [0]]
    assert chapter.array("collapse", 0).tolist() == [0, 0]
    assert chapter.array("collapse", 1).tolist() == [0, 0, 0]


def test_layer_norm(chapter):
    lines = chapter.output("layer-norm-properties").splitlines()
    row = [Fraction(1), Fraction(0), Fraction(0), Fraction(0)]
    mean, variance = statistics.mean(row), statistics.pvariance(row)
    wanted = [mean, variance, (1 - mean) ** 2 / variance]
    assert [line.split(" = ")[1] for line in lines] == list(map(str, wanted))


def test_epsilon(chapter):
    columns = [chapter.column("epsilon", f"component {c}") for c in (1, 2, 3, 4)]
    inside, outside, package, constant = np.transpose(columns)
    tiny = [mpmath.mpf(1) / 1000, 0, 0, 0]
    assert_printed(inside, normalise([tiny])[0], 4)
    sigma = mpmath.sqrt(3) / 4000
    centred = [c - mpmath.mpf(1) / 4000 for c in tiny]
    assert_printed(outside, [c / (sigma + EPS) for c in centred], 4)
    theirs = nn.functional.layer_norm(torch.tensor([0.001, 0, 0, 0], dtype=torch.float64), (4,))
    assert_printed(package, theirs.tolist(), 4)
    assert constant.tolist() == [0, 0, 0, 0]
    assert not np.allclose(inside, outside)


def test_jacobian(chapter):
    x = torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    J = torch.autograd.functional.jacobian(lambda x: nn.functional.layer_norm(x, (8,), eps=0.0), x)
    singular = torch.linalg.svdvals(J) * x.std(correction=0)
    assert_printed(chapter.array("layer-norm-jacobian"), singular.tolist(), 0)
    assert_printed(singular.tolist(), [1] * 6 + [0] * 2, 6)
    normal = (x - x.mean()) / x.std(correction=0)
    ones = torch.ones(8, dtype=torch.float64)
    assert float((J @ ones).abs().max()) < 1e-12
    assert float((J @ normal).abs().max()) < 1e-12


def test_ddof(chapter):
    row = [1, 0, 0, 0]
    variances = statistics.variance(row), statistics.pvariance(row)
    shown = [vector_of(one["x̂"]) for one in chapter.table("mistake-ddof")]
    for found, variance in zip(shown, variances, strict=True):
        assert_printed(found, [(c - 0.25) / sqrt(variance) for c in row], 3)
    assert [found[0] for found in shown] == [1.5, 1.732]
    assert chapter.column("mistake-ddof", "‖x̂‖²") == [3, 4]
    assert chapter.column("ddof-size", "d") == [4, 32, 512]
    ratios = chapter.column("ddof-size", "√((d − 1) / d)")
    for d, ratio in zip((4, 32, 512), ratios, strict=True):
        assert_printed(np.array(ratio), mpmath.sqrt(1 - mpmath.mpf(1) / d), 4)
    assert chapter.array("ddof-torch").tolist() == shown[1]
    deviations = chapter.column("ddof-torch", "standard deviation")
    wrong, right = map(sqrt, variances)
    assert_printed(deviations, [right, wrong, wrong], 4)


def test_code(chapter):
    """What the page shows is a function; run on its own, it is torch's layer."""
    names = dict(vars(transformer_block))
    exec(chapter.output("code"), names)
    shown = names["encoder_block"]
    assert shown is not encoder_block
    torch.manual_seed(4)
    for norm_first in (False, True):
        theirs = random_layer(torch.float64, 6, 3, 7, norm_first=norm_first)
        parameters = TransformerEncoderLayer.from_torch(theirs).parameters_by_name()
        x = torch.randn(2, 5, 6, dtype=torch.float64)
        close(shown(x, parameters, 3, norm_first=norm_first), theirs(x), 1e-11)


def steps_of(chapter, block):
    """The tokens after each step that a table shows."""
    steps = {}
    for row in chapter.table(block):
        token = [parse_number(row[f"component {c}"]) for c in (1, 2, 3, 4)]
        steps.setdefault(row["step"], []).append(token)
    return steps


def test_pre_by_hand(chapter):
    said = chapter.figure("hand-parameters")
    (first,) = re.findall(r"W_O[^.]*\.((?:[^.]*\.){3})", said)[:1]
    drawn = [parse_number(one) for one in re.findall(r"(?<=[:,] )−?\d+", first)]
    assert np.reshape(drawn, (3, 4)).tolist() == W_O
    steps = steps_of(chapter, "pre-steps")
    assert list(steps) == ["LN(x)", "MHA(LN(x))", "z", "y"]
    for found, wanted in zip(steps.values(), pre_by_hand(), strict=True):
        assert_printed(found, wanted, 4)
    *_, z, y = pre_by_hand()
    first, second = normalise(z)[0][:2]
    wanted = [first, second, abs(first - second), y[2][2]]
    assert chapter.values("by-hand") == [f"{float(one):.4f}" for one in wanted]


def test_both_orders(chapter):
    columns = [chapter.column("both-orders", f"‖y_{i}‖²") for i in (1, 2, 3)]
    found = np.transpose(columns)
    for row, one in zip(found, (post_by_hand()[-1], pre_by_hand()[-1]), strict=True):
        assert_printed(row, [sum(c * c for c in token) for token in one], 2)
    assert found[0].tolist() == [4, 4, 4]


def test_batch(chapter):
    assert chapter.output("batch-block").strip() == "Shape: (3, 4, 4)"
    moves = ["".join(list(row.values())[1:]) for row in chapter.table("batch-block")]
    assert moves == ["✗✗✗✓", "✓✓✓✓"]


def test_agreement(chapter):
    assert chapter.output("agreement").strip() == "torch " + torch.__version__.split("+")[0]
    *rows, stack = (list(row.values()) for row in chapter.table("agreement"))
    assert [row[0] for row in rows] == ["post-norm"] * 8 + ["pre-norm"] * 8
    assert len({tuple(row[:2]) for row in rows}) == 16
    for row in rows:
        assert row[2] == ("10⁻³" if row[1] == "float32" else "10⁻¹¹")
        assert row[3:] == ["✓", "✓"]
    assert chapter.values("stacking") == ["32"]
    assert stack[2:] == ["10⁻¹¹", "✓", ""]


def test_control(chapter, stacks):
    """The captions of the slider, and what the text says of its two figures."""
    wanted = []
    for N in (3, 6, 12, 24):
        low = [sqrt(stacks[N, first][1].mean(axis=1).min()) for first in (False, True)]
        wanted.append([str(N), *(f"{one:.2f}" for one in low)])
    assert captions(chapter, "control") == wanted
    _, g2, u, w = (one.mean(axis=1) for one in stacks[12, False])
    attention_u, attention_w = u[::2], w[::2]
    assert attention_u[0] < 0.2 < 0.9 < attention_u[-1]  # tokens become alike on the way up
    assert attention_w[-1] < 0.1 < 0.7 < attention_w[0]  # and gradients on the way down
    # Where w is clearly above u the gradient grows towards the input, where below it shrinks.
    clear = np.abs(attention_w - attention_u) > 0.15
    assert clear.sum() >= 10
    assert (np.sign(g2[:-1] - g2[1:]) == np.sign(attention_w - attention_u))[clear].all()
    assert abs(int(g2.argmin()) - int(np.argmax(attention_u > attention_w))) <= 1


def test_measured(chapter, stacks):
    (post, pre), (post_r2, pre_r2) = (
        [stacks[12, first][one] for first in (False, True)] for one in (1, 0)
    )
    rows = [list(row.values()) for row in chapter.table("measured")]
    np.testing.assert_allclose(post_r2[1:], 1, atol=1e-3)  # the post-norm stream has r = 1
    assert chapter.column("measured", "l") == [0, 3, 6, 9, 12]
    for row, place in zip(rows, (0, 3, 6, 9, 12), strict=True):
        wanted = [post[place], pre[place], pre_r2[place], pre[place] * pre_r2[place]]
        assert_printed(
            [parse_plus_minus(cell)[0] for cell in row[1:]], [root(one) for one in wanted], 2
        )
    level = np.sqrt((pre * pre_r2).mean(axis=1))
    low = [sqrt(stacks[N, False][1].mean(axis=1).min()) for N in (12, 24)]
    wanted = [f"{one:.2f}" for one in low]
    wanted += [f"{level.min():.2f}", f"{level.max():.2f}", f"{sqrt(pre_r2[12].mean()):.1f}"]
    assert chapter.values("intervals") == wanted
    # What the text says: a valley, deeper with depth; in pre-norm growth on every step down.
    assert low[1] < low[0] < 0.5 * sqrt(post[0].mean())
    assert (np.diff(pre.mean(axis=1)) < 0).all()


def test_networks_alone(chapter):
    rows = chapter.table("networks-alone")
    gains = []
    for row, (d, chunks, runs) in zip(rows, ((32, 4, 20), (128, 4, 4)), strict=True):
        _, g2, u, w = torch_runs(24, False, ("FFN",), chunks, runs, 16, d)
        assert row["d"] == str(d)
        up, down, gained = (parse_plus_minus(row[name])[0] for name in ("u", "w", "‖g_0‖ / ‖g_24‖"))
        gains.append(gained[0])
        assert_printed([up, down], [interval(u.mean(axis=0)), interval(w.mean(axis=0))], 3)
        assert_printed(gained, root(g2[0] / g2[-1]), 2)
        assert agrees_within_error(up, 0.32)  # 8/25
        assert abs(down[0] - 0.32) < 0.005  # two of the d directions are gone
        assert sum(gained) > 1  # the networks alone do not attenuate, as far as it is known
    assert gains[1] < gains[0]


def test_growth(chapter, stacks):
    r2, _, u, _ = stacks[12, True]
    assert (1 + Fraction(8, 25) * 12, 1 + Fraction(33, 25) * 12) == (
        Fraction(121, 25),
        Fraction(421, 25),
    )
    for N in range(1, 13):
        assert 1 + 0.32 * N < r2[N].mean() < 1 + 1.32 * N
    rows = chapter.table("growth")
    growths = []
    for row, low in zip(rows, (0, 4, 8), strict=True):
        own = (u[::2] * r2[:-1])[low : low + 4].mean(axis=0)
        assert row[""] == f"blocks {low + 1} to {low + 4}"
        (grown,), (added,) = (parse_plus_minus(cell) for cell in list(row.values())[1:])
        growths.append(grown[0])
        assert_printed(grown, interval(r2[low + 4] - r2[low]), 1)
        assert_printed(added, interval(own), 2)
        assert abs(grown[0] - 4 * (added[0] + 0.32)) < 2 * grown[1]
    assert growths[0] < growths[1] < growths[2]


def grow_with_torch(N, scale):
    """r² of the stacks of the fold, by torch's LayerNorm and attention."""
    rng = np.random.default_rng(2017)
    x = torch.from_numpy(rng.normal(size=(60, 16, 32)))
    for sublayer in range(2 * N):
        z = nn.functional.layer_norm(x, (32,))
        if sublayer % 2 == 0:
            W = [rng.uniform(-sqrt(6 / 64), sqrt(6 / 64), (60, 32, 32)) for _ in range(4)]
            W = [torch.from_numpy(one) for one in W]
            q, k, v = ((z @ one).unflatten(-1, (4, -1)).transpose(1, 2) for one in W[:3])
            heads = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + heads.transpose(1, 2).flatten(-2) @ (scale * W[3])
        else:
            bound = sqrt(6 / (5 * 32))
            W_1, W_2 = (
                torch.from_numpy(rng.uniform(-bound, bound, (60, *shape)))
                for shape in ((32, 128), (128, 32))
            )
            x = x + torch.relu(z @ W_1) @ (scale * W_2)
    return (x**2).mean(dim=(1, 2)).numpy()


def test_residual_scale(chapter):
    """GPT-2's factor on the last matrix of each sublayer, and the bounds that the text derives."""
    rows = chapter.table("residual-scale")
    assert chapter.column("residual-scale", "N") == [3, 6, 12, 24]
    # 1/(2N) of 8/25 to 33/25, N times.
    low, high = 1 + Fraction(8, 25) / 2, 1 + Fraction(33, 25) / 2
    assert (low, high) == (1 + Fraction(4, 25), 1 + Fraction(33, 50))
    plain, scaled = [], []
    for row in rows:
        N = int(row["N"])
        (without,), (with_it,) = (
            parse_plus_minus(row[name]) for name in ("without the factor", "with the factor")
        )
        assert_printed(without, interval(grow_with_torch(N, 1)), 2)
        assert_printed(with_it, interval(grow_with_torch(N, 1 / sqrt(2 * N))), 2)
        assert 1 + Fraction(8, 25) * N < without[0] < 1 + Fraction(33, 25) * N
        assert low < with_it[0] - with_it[1] < with_it[0] + with_it[1] < high
        plain.append(without[0])
        scaled.append(with_it[0])
    assert plain[-1] > 3 * plain[0]  # several times as large
    assert max(scaled) < 1.1 * min(scaled)


def test_direct(chapter, stacks):
    rows = chapter.table("direct")
    post, pre = (row["factor of the direct path"] for row in rows)
    paths = 1 / np.sqrt((1 + stacks[12, False][2]).prod(axis=0))
    assert_printed(parse_plus_minus(post)[0], interval(paths), 3)
    assert_printed(parse_plus_minus(pre)[0], interval(stacks[12, True][0][12] ** -0.5), 3)
    assert 50 * paths.mean() < sqrt(stacks[12, False][1][0].mean())  # nearly all came otherwise


@cache
def likeness():
    """Forward and back: the interval, 1 - D with D of the same tokens by torch, and the mean of a
    larger simulation."""
    rng = np.random.default_rng(2017)
    tokens, g = rng.normal(size=(2, 16, 32)) + rng.normal(size=(2, 1, 32))
    tokens = nn.functional.layer_norm(torch.from_numpy(tokens), (32,)).numpy()
    W_v, W_o = rng.normal(0, 32**-0.5, size=(2, 4000, 32, 32))
    more = np.random.default_rng(6).normal(0, 32**-0.5, size=(2, 20_000, 32, 32))
    found = []
    for x, order in ((tokens, 1), (g, -1)):
        kept = 16 * (x.mean(axis=0) ** 2).sum() / (x**2).sum()  # 1 - D
        middle = x.mean(axis=0)

        def shares(matrices, x=x, middle=middle, order=order):
            first, second = (m if order > 0 else np.swapaxes(m, 1, 2) for m in matrices[::order])
            images = (middle @ first)[:, None] @ second
            return 16 * (images[:, 0] ** 2).sum(axis=1) / (x**2).sum()

        found.append((interval(shares((W_v, W_o))), kept, shares(more).mean()))
    return found


def test_likeness(chapter):
    rows = chapter.table("likeness")
    for row, (wanted, kept, larger) in zip(rows, likeness(), strict=True):
        (found,) = parse_plus_minus(row["measured"])
        assert_printed(found, wanted, 3)
        assert_printed(np.array(float(row["1 − D"])), kept, 3)
        assert agrees_within_error(found, kept)
        assert agrees_within_error(found, larger)


def test_parameter_gradient(chapter):
    """Against autograd, with the same draws; 4/5 lies within."""
    (found,) = parse_plus_minus(chapter.output("parameter-gradient"))
    rng = np.random.default_rng(2017)
    token, g = (torch.from_numpy(one) for one in rng.normal(size=(2, 2000, 1, 32)))
    token = nn.functional.layer_norm(token, (32,))
    bound = sqrt(6 / 160)
    W_1 = torch.from_numpy(rng.uniform(-1, 1, (2000, 32, 128)) * bound).requires_grad_()
    W_2 = torch.from_numpy(rng.uniform(-1, 1, (2000, 128, 32)) * bound)
    (torch.relu(token @ W_1) @ W_2 * g).sum().backward()
    shares = (W_1.grad**2).sum(dim=(1, 2)) / (g**2).sum(dim=(1, 2)) / 32
    assert_printed(found, interval(shares.numpy()), 3)
    assert agrees_within_error(found, 0.8)


def test_parts(chapter):
    *parts, whole, package = chapter.column("parts", "parameters")
    assert parts == [1050624, 2099712, 2048]
    shapes = [(512, 512)] * 4 + [(512,)] * 4 + [(512, 2048), (2048,), (2048, 512), (512,)]
    shapes += [(512,)] * 4
    assert whole == package == sum(int(np.prod(shape)) for shape in shapes)
    assert chapter.values("counts") == [f"{2099712 / 3152384:.3f}"]
    shares = {row["n"]: row["share"].removesuffix("%") for row in chapter.table("share")}
    assert len(shares) == 5
    for n, percent in shares.items():
        exact = Fraction(int(n), int(n) + 6 * 512)  # 4n²d of 4n²d + 24nd²
        assert_printed(np.array(float(percent)), float(100 * exact), 1)
    assert shares["3072"] == "50.0"


def test_counts(chapter):
    rows = [list(row.values()) for row in chapter.table("counts")]
    assert [row[3] for row in rows] == ["parameters", "operations"] * 3
    assert [row[:3] for row in rows[::2]] == [row[:3] for row in rows[1::2]]
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        n, d, d_ff = map(int, first[:3])
        parameters, flops = ([parse_number(cell) for cell in row[4:]] for row in (first, second))
        shapes = [(d, d)] * 4 + [(d,)] * 4 + [(d, d_ff), (d_ff,), (d_ff, d), (d,)] + [(d,)] * 4
        assert parameters == [sum(int(np.prod(shape)) for shape in shapes)] * 3
        products = [(n, d, d)] * 4 + [(n, d, n), (n, n, d), (n, d, d_ff), (n, d_ff, d)]
        assert flops == [sum(2 * a * b * c for a, b, c in products)] * 3
        if d_ff == 4 * d:
            assert parameters[0] == 12 * d**2 + 13 * d
            assert flops[0] == 24 * n * d**2 + 4 * n**2 * d
    version = torch.__version__.split("+")[0]
    wanted = [f"torch {version}", f"Operations left out: {4 * 100**2 * 512:,}"]
    assert chapter.output("flops-missing").splitlines() == wanted


def test_order(chapter):
    tokens = [*post_by_hand()[-1], *pre_by_hand()[-1]]
    rows = chapter.table("mistake-order")
    assert_printed([vector_of(row["y"]) for row in rows], tokens, 4)
    means, lengths = (chapter.column("mistake-order", name) for name in ("μ", "‖y‖²"))
    assert_printed(means, [sum(token) / 4 for token in tokens], 2)
    assert_printed(lengths, [sum(c * c for c in token) for token in tokens], 2)
    assert means[:3] == [0, 0, 0]
    assert lengths[:3] == [4, 4, 4]


def test_overwrite(chapter):
    normal = normalise(X)
    stream = normalise(add(normal, attend(normal)))
    wrong = add(stream, network(stream))
    columns = [chapter.column("mistake-overwrite", f"component {c}") for c in (1, 2, 3, 4)]
    assert_printed(np.transpose(columns), [wrong[0], pre_by_hand()[-1][0]], 4)
    assert abs(wrong[0][0] - pre_by_hand()[-1][0][0]) > 1


def test_exercises(chapter):
    *first, last = chapter.output("exercise-normalise").splitlines()
    token = [Fraction(c) for c in (3, 1, 1, -1)]
    assert first == [f"μ = {statistics.mean(token)}", f"σ² = {statistics.pvariance(token)}"]
    assert_printed(vector_of(last), [mpmath.sqrt(2), 0, 0, -mpmath.sqrt(2)], 4)
    tables, norm, blocks, pooler, total = chapter.column("exercise-bert", "parameters")
    assert tables == (30522 + 512 + 2) * 768
    assert norm == 2 * 768
    layer = nn.TransformerEncoderLayer(768, 12, 3072, device="meta")
    assert blocks == 12 * sum(p.numel() for p in layer.parameters())
    assert pooler == sum(p.numel() for p in nn.Linear(768, 768, device="meta").parameters())
    assert total == tables + norm + blocks + pooler == 109482240
    rms = 3 / mpmath.sqrt(5)
    rows = chapter.table("exercise-rms")
    results = [vector_of(row["result"]) for row in rows]
    assert [row[""] for row in rows] == ["RMSNorm", "LayerNorm"] * 2
    assert_printed(results[0], [rms, -rms / 3, rms / 3, -rms], 4)
    assert_printed(results[1], [rms, -rms / 3, rms / 3, -rms], 4)
    moved = [13, 9, 11, 7]
    size = mpmath.sqrt(sum(c * c for c in moved) / mpmath.mpf(4))
    assert vector_of(rows[2]["token"]) == moved
    assert_printed(results[2], [c / size for c in moved], 4)
    assert_printed(results[3], normalise([moved], eps=0)[0], 4)
    widths = [(row["m"], row["u"]) for row in chapter.table("exercise-width")]
    assert [int(m) for m, _ in widths] == [1, 2, 4, 8]
    rng = np.random.default_rng(3)
    for m, share in ((int(m), Fraction(one)) for m, one in widths):
        assert share == Fraction(2 * m, (1 + m) ** 2) <= Fraction(1, 2)
        W_1, W_2 = (
            rng.normal(0, sqrt(2 / (12 + 12 * m)), (3000, *s)) for s in ((12, 12 * m), (12 * m, 12))
        )
        x = np.tile([1.0, -1], 6)  # normal already
        squares = ((np.maximum(0, x @ W_1)[:, None] @ W_2)[:, 0] ** 2).mean(axis=1)
        assert abs(squares.mean() - share) < 5 * squares.std() / sqrt(3000)
    mean, median, below = (
        float(line.split(": ")[1]) for line in chapter.output("exercise-median").splitlines()
    )
    factors = sorted(prod(one) ** 2 for one in iterproduct((1.5, 0.5), repeat=10))
    assert_printed([mean], [sum(factors) / 1024], 2)
    assert_printed([mean], [1.25**10], 2)
    assert_printed([median], [(factors[511] + factors[512]) / 2], 3)
    assert_printed([below], [sum(one < 1 for one in factors) / 1024], 3)
    stays = [tuple(row.values()) for row in chapter.table("exercise-axis")]
    assert stays == [("norm_of_all", "✗"), ("layer_norm", "✓")]


def test_defaults_are_those_of_torch():
    """Sizes, order of the norms, dropout, ε and activation, where nothing is said."""
    own, other = TransformerEncoderLayer(4, 2), nn.TransformerEncoderLayer(4, 2)
    assert own.linear_1.weight.shape == other.linear1.weight.shape == (2048, 4)
    assert own.linear_2.weight.shape == other.linear2.weight.shape
    assert own.norm_first is other.norm_first is False
    assert own.dropout.p == own.attention.dropout.p == other.dropout.p == 0.1
    assert own.eps == own.norm_1.eps == own.norm_2.eps == other.norm1.eps == 1e-5
    assert own.activation(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]
    assert (own.linear_1.bias is None) == (other.linear1.bias is None)


def test_a_changed_layer_is_reset():
    """Scales 1, shifts and biases 0, and every matrix within Xavier's bound: √(6 / (4 + 5))."""
    layer = TransformerEncoderLayer(4, 2, 5)
    with torch.no_grad():
        for one in layer.parameters():
            one.fill_(7)
    layer.reset_parameters()
    for name, one in layer.named_parameters():
        if name.endswith("bias"):
            assert bool((one == 0).all()), name
        elif name.startswith("norm"):
            assert bool((one == 1).all()), name
        else:
            assert one.unique().numel() == one.numel(), name
            assert bool((one.abs() <= sqrt(6 / sum(one.shape))).all()), name


def test_a_layer_without_biases_is_reset():
    layer = TransformerEncoderLayer(4, 2, 5, bias=False)
    layer.reset_parameters()
    assert not [name for name, _ in layer.named_parameters() if name.endswith("bias")]


def test_slope_of_a_small_spread():
    """Where ε weighs as much as the variance: torch's own default."""
    x = torch.tensor([[0.0, 3e-3, -5e-3, 1e-3]], dtype=torch.float64, requires_grad=True)
    by_output = torch.tensor([[1.0, -2, 3, 0.5]], dtype=torch.float64)
    torch.nn.functional.layer_norm(x, (4,)).backward(by_output)
    found = layer_norm_gradient(x.detach(), by_output)
    torch.testing.assert_close(found, x.grad, rtol=1e-10, atol=0)


BERT = {"tables": (30522 + 512 + 2) * 768, "block": 12 * 768**2 + 13 * 768}
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-normalise": [
        [sqrt(2), 0, 0, -sqrt(2)],
        [sqrt(3 / 2), 0, 0, -sqrt(3 / 2)],  # 2 / √(8/3)
        [1, 0, 0, -1],
        [sqrt(3), 1 / sqrt(3), 1 / sqrt(3), -1 / sqrt(3)],
    ],
    "exercise-bert": [
        *(BERT["tables"], 12 * BERT["block"], 144 * 768**2, BERT["block"]),
        BERT["tables"] + 2 * 768 + 12 * BERT["block"] + 768**2 + 768,
    ],
    "exercise-width": [8 / 25, 1 / 2, 1, 4],
    "exercise-median": [1.25**10, 0.75**10, 0.75**5, 1.25**10],
}
test_what_exercises_ask = make_test_of_asked(ASKED)


def test_a_tied_table(chapter: Page) -> None:
    """By hand for d = 512: 1, √256, √512 and 1; the sizes are those of the model's file."""
    assert chapter.column("tied", "size") == [1.0, 16.0, round(512**0.5, 1), 1.0]
    assert chapter.values("input")[-2:] == [f"{49_152 * 576:,}", "134,515,008"]


NEURON = json.loads((FOLDER / "neuron.json").read_text(encoding="utf-8"))


def test_a_neuron(chapter: Page) -> None:
    """The kept results; the selection, its block and the whole number of neurons by hand."""
    rows = chapter.table("neuron")
    assert [row[""] for row in rows] == [one["text"] for one in NEURON["texts"]]
    for name, wanted in (
        ("active", [one["activity"][-1] for one in NEURON["texts"]]),
        ("a month next", [one["months"] for one in NEURON["texts"]]),
        ("without the neuron", [one["cut"] for one in NEURON["texts"]]),
    ):
        assert [parse_number(row[name]) for row in rows] == wanted
    due = NEURON["texts"][:5]
    lost = [100 - 100 * one["cut"] / one["months"] for one in due]
    moved = max(abs(p - one["months"]) for one in due for p in one["others cut"])
    active = {one["text"]: one["activity"][-1] for one in NEURON["texts"]}
    assert active["The book lies on the third of"] > active["The first snow fell in early"]
    assert chapter.values("neuron") == [
        *("1,536", "209", "19"),
        "November, December, October, February, March, January, April, August, September, June, "
        "July, May",
        f"{1536 * 30:,}",
        *(f"{min(lost):.0f}", f"{max(lost):.0f}", f"{moved:.4f}"),
        f"{len(neurons.CORPUS.read_text(encoding='utf-8').splitlines()):,}",
    ]


@needs_model
def test_the_neuron_is_measured_again(in_torch: Tensors, model: SmolLM2) -> None:  # noqa: F811
    """In PyTorch: what its row raises, where it is active, and what two cuts cost."""
    layer, neuron = NEURON["neuron"]
    block = f"blk.{layer}."
    down, table = in_torch[f"{block}ffn_down"], in_torch["token_embd"]
    raised = (table @ (-down[:, neuron] * in_torch["output_norm"])).topk(12).indices
    assert [model.tokens[i].replace("Ġ", " ") for i in raised.tolist()] == NEURON["raised"]
    months = torch.tensor([model.ids[one.replace(" ", "Ġ")] for one in NEURON["raised"]])

    def months_next(ids: torch.Tensor, cut: int | None = None) -> float:
        kept = down.clone()
        if cut is not None:
            kept[:, cut] = 0
        logits, _ = run_in_torch(ids, in_torch | {f"{block}ffn_down": kept})
        return logits[-1].softmax(dim=-1)[months].sum().item()

    for one in NEURON["texts"][:2] + NEURON["texts"][-3:]:
        ids, layers = torch.tensor(encode_text(one["text"], model)), list[torch.Tensor]()
        run_in_torch(ids, in_torch, skip=[(layer, "feed-forward")], layers=layers)
        y = nn.functional.rms_norm(layers[layer], (576,), in_torch[f"{block}ffn_norm"], eps=1e-5)
        gate, up = (y @ in_torch[f"{block}ffn_{name}"][neuron] for name in ("gate", "up"))
        active = -nn.functional.silu(gate) * up
        np.testing.assert_allclose(active, one["activity"], atol=2e-2)
        np.testing.assert_allclose(months_next(ids), one["months"], atol=5e-3)
        np.testing.assert_allclose(months_next(ids, neuron), one["cut"], atol=5e-3)
    ids = torch.tensor(encode_text(NEURON["texts"][0]["text"], model))
    again = months_next(ids, NEURON["drawn"][0])
    np.testing.assert_allclose(again, NEURON["texts"][0]["others cut"][0], atol=5e-3)


NEURONS = json.loads((FOLDER / "neurons.json").read_text(encoding="utf-8"))


def activity_in_torch(ids: torch.Tensor, layer: int, neuron: int, p: Tensors) -> torch.Tensor:
    """What one neuron of SwiGLU puts out at each token."""
    layers: list[torch.Tensor] = []
    run_in_torch(ids, p, skip=[(layer, "feed-forward")], layers=layers)
    y = nn.functional.rms_norm(
        layers[layer], layers[0].shape[-1:], p[f"blk.{layer}.ffn_norm"], 1e-5
    )
    gate, up = (y @ p[f"blk.{layer}.ffn_{name}"][neuron] for name in ("gate", "up"))
    return nn.functional.silu(gate) * up


def test_texts_are_scanned_in_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of different lengths, two in a row, against each alone in torch."""
    monkeypatch.setattr(neurons, "TOGETHER", 2)
    small, p = make_small(9)
    texts, chosen = [[0, 3, 5, 8], [0, 7], [0, 1, 2, 4, 6, 9]], [(21, 5), (3, 2)]
    for ids, found in zip(texts, neurons.scan_texts(texts, chosen, small), strict=True):
        for (layer, neuron), row in zip(chosen, found, strict=True):
            wanted = activity_in_torch(torch.tensor(ids), layer, neuron, p)
            np.testing.assert_allclose(row, wanted, rtol=0, atol=1e-3)


def test_the_kept_neurons_and_their_texts() -> None:
    """Of the corpus in the repository, the most active first, each at its most active token."""
    lines = neurons.CORPUS.read_text(encoding="utf-8").splitlines()
    assert NEURONS["texts"] == len(lines)
    for one in NEURONS["neurons"].values():
        peaks = []
        for text in one["strongest"]:
            assert lines[text["text"]].startswith("".join(text["tokens"][:3]))
            signed = [one["sign"] * number for number in text["activity"]]
            assert max(signed) == signed[text["at"]]
            peaks.append(max(signed))
        assert peaks == sorted(peaks, reverse=True)
        assert len({text["text"] for text in one["strongest"]}) == len(peaks) == 5


@needs_model
@pytest.mark.parametrize("name", NEURONS["neurons"])
def test_neurons_are_measured_again(name: str, in_torch: Tensors, model: SmolLM2) -> None:  # noqa: F811
    """In PyTorch: what the row raises, where it is active, what cuts cost; drawn texts do less."""
    one, (layer, neuron) = NEURONS["neurons"][name], map(int, name.split("."))
    down = in_torch[f"blk.{layer}.ffn_down"]
    written = in_torch["token_embd"] @ (down[:, neuron] * in_torch["output_norm"])
    raised = (one["sign"] * written).topk(12).indices
    assert [token_text(i, model) for i in raised.tolist()] == one["raised"]
    lines = neurons.CORPUS.read_text(encoding="utf-8").splitlines()

    def read(i: int) -> torch.Tensor:
        return torch.tensor([0, *encode_text(lines[i], model)][:64])

    for text in one["strongest"][:2]:
        ids = read(text["text"])
        active = activity_in_torch(ids, layer, neuron, in_torch)[1:]
        np.testing.assert_allclose(active, text["activity"], atol=0.05)
        for place, out in enumerate([[], [neuron], one["others"][:1]]):
            kept = down.clone()
            kept[:, out] = 0
            cut = in_torch | {f"blk.{layer}.ffn_down": kept}
            logits, _ = run_in_torch(ids[: text["at"] + 2], cut)
            share = logits[-1].softmax(dim=-1)[raised].sum().item()
            assert share == pytest.approx(text["next"][place], abs=5e-3)
    least = one["strongest"][-1]
    for i in np.random.default_rng(layer).permutation(len(lines))[:3].tolist():
        active = one["sign"] * activity_in_torch(read(i), layer, neuron, in_torch)[1:]
        is_shown = i in [text["text"] for text in one["strongest"]]
        assert is_shown or active.max() <= abs(least["activity"][least["at"]]) + 0.01


def test_training_flops_of_gpt_2(chapter: Page) -> None:
    """By hand: 4 n² d forward, three times that in training, and 1/n of it for a token."""
    n, d, layers, whole = 1024, 768, 12, 6 * 124
    pairs = Fraction(3 * 4 * n**2 * d * layers, n * 10**6)
    rows = chapter.table("training-flops")
    for row, attention in zip(rows, (pairs, pairs / 2), strict=True):
        assert row["6N, in millions"] == str(whole) == "744"
        assert row["attention, in millions"] == f"{float(attention):.0f}"
        assert row["share of attention"] == f"{float(attention / (whole + attention)):.0%}"
