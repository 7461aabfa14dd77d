"""Several heads: parity with torch, and the published numbers by hand, exactly or with mpmath."""

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
from torch import nn

from attention_docs.attention_function import drop
from attention_docs.heads import load_vectors
from attention_docs.multi_head import (
    Parameters,
    join_heads,
    multi_head_attention,
    parameter_count,
    split_heads,
)
from attention_docs.nn import MultiHeadAttention
from tests.conftest import ROOT
from tests.exact import assert_printed, dot, make_test_of_asked, product, rank
from tests.page import parse_number, vector_of

SEEDS = st.integers(0, 10**6)

# The package's functions.


@given(
    seed=SEEDS,
    batch=st.sampled_from([(), (2,), (3, 2), (2, 6, 7)]),
    heads=st.sampled_from([1, 2, 5]),
)
def test_split_and_join(seed, batch, heads):
    """Every number by its place, and back again."""
    n, d_head = 3, 4
    x = np.random.default_rng(seed).normal(size=(*batch, n, heads * d_head))
    split = split_heads(x, heads)
    assert split.shape == (*batch, heads, n, d_head)
    for r in range(heads):
        for c in range(d_head):
            assert (split[..., r, :, c] == x[..., :, r * d_head + c]).all()
    assert (join_heads(split) == x).all()
    for ours, theirs in (
        (split_heads(torch.tensor(x), heads), split),
        (join_heads(torch.tensor(split)), x),
    ):
        assert isinstance(ours, torch.Tensor)
        assert (ours.numpy() == theirs).all()


def draw(seed, d=12, bias=True, sizes=None):
    """Parameters with inputs, heads and outputs of different sizes, as torch tensors."""
    generator = torch.Generator().manual_seed(seed)
    d_q, d_k, d_v, out = sizes or (5, 7, 11, 13)
    shapes = [(d_q, d), (d_k, d), (d_v, d // 3 * 2), (d // 3 * 2, out)]
    matrices = [torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes]
    biases = [torch.randn(s[1], generator=generator, dtype=torch.float64) for s in shapes]
    return Parameters(*matrices, *(biases if bias else [None] * 4)), generator


@given(seed=SEEDS, heads=st.sampled_from([1, 2, 4]), bias=st.booleans())
def test_sum_over_heads(seed, heads, bias):
    """Free sizes, head by head with torch's own attention, summed instead of joined."""
    p, generator = draw(seed, bias=bias)
    query, key, value = (
        torch.randn(s, generator=generator, dtype=torch.float64)
        for s in ((2, 3, 5), (2, 4, 7), (2, 4, 11))
    )
    d_k, d_v = 12 // heads, 8 // heads
    wanted = torch.zeros(2, 3, 13, dtype=torch.float64)
    for r in range(heads):
        k, v = slice(r * d_k, (r + 1) * d_k), slice(r * d_v, (r + 1) * d_v)
        parts = [query @ p.W_q[:, k], key @ p.W_k[:, k], value @ p.W_v[:, v]]
        if bias:
            parts = [a + b for a, b in zip(parts, (p.b_q[k], p.b_k[k], p.b_v[v]), strict=True)]
        wanted += nn.functional.scaled_dot_product_attention(*parts) @ p.W_o[v]
    if bias:
        wanted += p.b_o
    outputs, weights = multi_head_attention(query, key, value, p, heads)
    assert weights.shape == (2, heads, 3, 4)
    torch.testing.assert_close(outputs, wanted, rtol=0, atol=1e-12)
    as_numpy = Parameters(*(None if one is None else one.numpy() for one in p))
    arrays = (query.numpy(), key.numpy(), value.numpy())
    ours, maps = multi_head_attention(*arrays, as_numpy, heads)
    np.testing.assert_allclose(ours, wanted.numpy(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(maps, weights.numpy(), rtol=0, atol=1e-12)


TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-4, torch.float16: 3e-2, torch.bfloat16: 2e-1}


def random_mask(kind, generator, shape, dtype):
    """(batch, heads, n_q, n_k) or smaller, True takes part; every query keeps the first key."""
    batch, heads, n_q, n_k = shape
    keep = {
        "pairs": (n_q, n_k),
        "sequences": (batch, 1, 1, n_k),
        "heads": (batch, heads, n_q, n_k),
        "float": (n_q, n_k),
    }.get(kind)
    if keep is None:
        return None
    if kind == "float":
        return torch.randn(keep, generator=generator).to(dtype)
    mask = torch.rand(keep, generator=generator) < 0.6
    mask[..., 0] = True
    return mask


def torch_masks(kind, mask, shape):
    """The same mask as nn.MultiheadAttention wants it: True is masked out."""
    batch, heads, n_q, n_k = shape
    if kind == "pairs":
        return {"attn_mask": ~mask}
    if kind == "float":
        return {"attn_mask": mask}
    if kind == "sequences":
        return {"key_padding_mask": ~mask[:, 0, 0]}
    if kind == "heads":
        return {"attn_mask": ~mask.reshape(batch * heads, n_q, n_k)}
    return {}


def random_module(seed, heads, d_head, bias, dtype):
    torch.manual_seed(seed)
    d = heads * d_head
    theirs = nn.MultiheadAttention(d, heads, bias=bias, batch_first=True, dtype=dtype)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if "bias" in name:
                parameter.normal_()
    return theirs


@given(
    seed=SEEDS,
    heads=st.sampled_from([1, 2, 3, 5]),
    d_head=st.sampled_from([1, 2, 4]),
    bias=st.booleans(),
    dtype=st.sampled_from(list(TOLERANCE)),
    kind=st.sampled_from(["none", "pairs", "sequences", "heads", "float"]),
)
def test_module_agrees_with_torch(seed, heads, d_head, bias, dtype, kind):
    theirs = random_module(seed, heads, d_head, bias, dtype)
    ours = MultiHeadAttention.from_torch(theirs)
    batch, n_q, n_k, d = 2, 3, 7, heads * d_head
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(batch, n_q, d, generator=generator).to(dtype)
    key, value = torch.randn(2, batch, n_k, d, generator=generator).to(dtype)
    shape = (batch, heads, n_q, n_k)
    mask = random_mask(kind, generator, shape, dtype)
    inputs = [one.requires_grad_() for one in (query, key, value)]
    loss = torch.randn(batch, n_q, d, generator=generator).to(dtype)
    found = []
    for layer, options in (
        (ours, {"mask": mask}),
        (theirs, {"average_attn_weights": False, **torch_masks(kind, mask, shape)}),
    ):
        out, weights = layer(*inputs, **options)
        for one in inputs:
            one.grad = None
        (out * loss).sum().backward()
        found.append([out, weights, *(one.grad for one in inputs)])
    maps = (ours.query, ours.key, ours.value, ours.output)
    wanted = [*theirs.in_proj_weight.grad.chunk(3), theirs.out_proj.weight.grad]
    found[0] += [one.weight.grad for one in maps]
    found[1] += wanted
    if bias:
        found[0] += [one.bias.grad for one in maps]
        found[1] += [*theirs.in_proj_bias.grad.chunk(3), theirs.out_proj.bias.grad]
    for a, b in zip(*found, strict=True):
        assert a.dtype == b.dtype == dtype
        scale = max(1.0, float(b.detach().abs().max()))
        torch.testing.assert_close(a, b, rtol=0, atol=TOLERANCE[dtype] * scale)


def test_module_without_a_batch_and_its_defaults():
    layer = MultiHeadAttention(6, 2, dtype=torch.float64)
    query, key, value = (torch.randn(n, 6, dtype=torch.float64) for n in (3, 5, 5))
    assert layer(query)[1].shape == (2, 3, 3)
    torch.testing.assert_close(layer(query)[0], layer(query, query, query)[0])
    torch.testing.assert_close(layer(query, key)[0], layer(query, key, key)[0])
    one, _ = layer(query, key, value)
    many, _ = layer(query[None], key[None], value[None])
    torch.testing.assert_close(many[0], one)


def test_a_query_without_keys_gets_the_output_bias():
    layer = MultiHeadAttention(6, 3, dtype=torch.float64)
    nn.init.normal_(layer.output.bias)
    x = torch.randn(1, 2, 6, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True], [False, False]])
    out, weights = layer(x, mask=mask)
    assert (weights[0, :, 1] == 0).all()
    torch.testing.assert_close(out[0, 1], layer.output.bias)
    out.sum().backward()
    assert torch.isfinite(x.grad).all()


def test_dropout_acts_on_the_weights_while_training_only():
    layer = MultiHeadAttention(6, 2, dropout=0.5, dtype=torch.float64)
    x = torch.randn(2, 40, 6, dtype=torch.float64)
    assert (layer(x)[0] - layer(x)[0]).abs().max() > 1e-6
    torch.testing.assert_close(layer(x)[1], layer.eval()(x)[1])  # returned before dropout
    assert (layer(x)[0] == layer(x)[0]).all()
    p, generator = draw(4, sizes=(5, 5, 5, 5))
    x = torch.randn(3, 5, generator=generator, dtype=torch.float64)
    keep = torch.tensor([True, False, True])
    dropped, _ = multi_head_attention(
        x, x, x, p, 2, dropout=lambda weights: drop(weights, keep.expand(2, 3, 3), 0.25)
    )
    _, weights = multi_head_attention(x, x, x, p, 2)
    kept = weights * keep / 0.75
    v = (x @ p.W_v + p.b_v).reshape(3, 2, 4).transpose(0, 1)
    wanted = (kept @ v).transpose(0, 1).reshape(3, 8) @ p.W_o + p.b_o
    torch.testing.assert_close(dropped, wanted)


@pytest.mark.parametrize("bias", [True, False])
def test_from_torch_copies_and_takes_over_the_settings(bias):
    options = {"batch_first": True, "dtype": torch.float64}
    theirs = nn.MultiheadAttention(6, 3, bias=bias, dropout=0.25, **options).eval()
    ours = MultiHeadAttention.from_torch(theirs)
    assert (ours.num_heads, ours.dropout.p, ours.training) == (3, 0.25, False)
    assert ours.query.weight.dtype == torch.float64
    assert (ours.query.bias is None) is not bias
    before = ours.value.weight.clone()
    with torch.no_grad():
        theirs.in_proj_weight.zero_()
    assert (ours.value.weight == before).all()
    assert (before != 0).any()


def test_initial_parameters():
    """Xavier: uniform up to √(6 / 2d), so with variance 1/d; biases 0."""
    torch.manual_seed(5)
    layer = MultiHeadAttention(128, 4)
    for linear in (layer.query, layer.key, layer.value, layer.output):
        assert linear.weight.abs().max() <= math.sqrt(6 / 256)
        assert abs(float(linear.weight.detach().var()) * 128 - 1) < 0.05
        assert (linear.bias == 0).all()


@given(heads=st.integers(1, 12), d_head=st.integers(1, 12), bias=st.booleans())
def test_parameter_count(heads, d_head, bias):
    d = heads * d_head
    theirs = nn.MultiheadAttention(d, heads, bias=bias)
    ours = MultiHeadAttention(d, heads, bias=bias)
    wanted = sum(one.numel() for one in theirs.parameters())
    assert parameter_count(d, heads, bias) == wanted
    assert sum(one.numel() for one in ours.parameters()) == wanted


@given(
    d=st.integers(1, 9),
    groups=st.integers(1, 4),
    shared=st.integers(1, 4),
    d_head=st.integers(1, 9),
    bias=st.booleans(),
)
def test_parameter_count_with_shared_keys(d, groups, shared, d_head, bias):
    """Four linear maps of torch, with keys and values of their own number of heads."""
    heads = groups * shared
    widths = [(d, heads * d_head), (d, groups * d_head), (d, groups * d_head), (heads * d_head, d)]
    maps = [nn.Linear(*width, bias=bias, device="meta") for width in widths]
    wanted = sum(one.numel() for linear in maps for one in linear.parameters())
    assert parameter_count(d, heads, bias, d_head=d_head, kv_heads=groups) == wanted


@given(seed=SEEDS)
def test_one_head_is_an_average(seed):
    """The bound of the proof, with a head of torch's: between the smallest and the largest f."""
    generator = torch.Generator().manual_seed(seed)
    W_q, W_k, W_v = torch.randn(3, 4, 7, generator=generator, dtype=torch.float64)
    b_v, w_o = torch.randn(2, 7, generator=generator, dtype=torch.float64)
    s, t = (100 * torch.randn(2, generator=generator, dtype=torch.float64)).tolist()
    x = torch.tensor([[1, 0, 0, s], [0, 0, 1, 0], [0, 1, 0, t]], dtype=torch.float64)
    sdpa = nn.functional.scaled_dot_product_attention
    y = (sdpa(x @ W_q, x @ W_k, x @ W_v + b_v) @ w_o)[1]
    f = (x @ W_v + b_v) @ w_o
    assert f.min() - 1e-8 <= y <= f.max() + 1e-8


@given(q=st.lists(st.integers(-9, 9), min_size=1), k=st.permutations(range(-4, 4)))
def test_size_1_has_two_favourites(q, k):
    """Exactly, in whole numbers."""
    favourites = set()
    for one in q:
        scores = [one * other for other in k]
        if scores.count(max(scores)) == 1:
            favourites.add(scores.index(max(scores)))
    assert favourites <= {k.index(max(k)), k.index(min(k))}


# The published numbers.


HIGH = mpmath.exp(6 / mpmath.sqrt(2))  # of the token that is looked for
LARGE, SMALL = HIGH / (HIGH + 2), 1 / (HIGH + 2)
LOOKED_FOR = {1: [1, 0, 1], 2: [2, 2, 0]}  # by she, chased, him, in head 1 and head 2
SPEEDS = [7, 0, 5]


def one_map(head):
    return [[LARGE if j == to else SMALL for j in range(3)] for to in LOOKED_FOR[head]]


def one_output(head):
    return [dot(row, SPEEDS) for row in one_map(head)]


def minus(a, b):
    return [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]


DIFFERENCE = [a - b for a, b in zip(one_output(1), one_output(2), strict=True)]


# Typed from the page's formulas: inputs and the parameters of head 1. In head 2 the verb looks for
# the object's form, and the pronouns for each other.
SENTENCE = [[1, 0, 0, 7], [0, 0, 1, 0], [0, 1, 0, 5]]
W_QUERY_1 = [[0, 6], [0, 6], [6, 0], [0, 0]]
W_KEY_1 = [[1, 0], [0, 0], [0, 1], [0, 0]]


def test_formulas_of_the_sentence(chapter):
    """The matrices in the text give the dot products that LOOKED_FOR says."""
    source = chapter.source.text
    found = [
        [[int(one) for one in row.split("&")] for row in body.split(r"\\")]
        for body in re.findall(r"begin\{bmatrix\}([-0-9 &\\]+)\\end", source)
    ]
    assert found[:4] == [SENTENCE, W_QUERY_1, W_KEY_1, [[0], [0], [0], [1]]]
    queries, keys = product(SENTENCE, W_QUERY_1), product(SENTENCE, W_KEY_1)
    assert (queries[1], keys) == ([6, 0], [[1, 0], [0, 1], [0, 0]])
    for query, to in zip(queries, LOOKED_FOR[1], strict=True):
        assert [dot(query, key) for key in keys] == [6 if j == to else 0 for j in range(3)]


@pytest.fixture(scope="module")
def fifteen_lines():
    """The section that the page shows, as it stands there, and the function it makes."""
    listing = (ROOT / "docs/listings/multi-head.py").read_text(encoding="utf-8")
    code = listing.split("# --8<-- [start:fifteen-lines]\n")[1].split("\n# --8<--")[0]
    names = {}
    exec(code, names)
    return code, names["plain_attention"]


def test_the_fifteen_lines_are_fifteen(fifteen_lines):
    """Without the two remarks on NumPy, and they need NumPy alone."""
    code, _ = fifteen_lines
    lines = [line.strip() for line in code.split("\n") if line.strip()]
    assert len([line for line in lines if not line.startswith("#")]) == 15
    assert re.findall(r"^(?:import|from) .*", code, flags=re.M) == ["import numpy as np"]


def test_fifteen_lines(chapter):
    """Head by head with torch's own attention; token 1 sees only itself, so no scale shows."""
    draw = np.random.default_rng(15)
    W_Q, W_K, W_V, W_O = (torch.from_numpy(one) / 12**0.5 for one in draw.normal(size=(4, 12, 12)))
    x = torch.from_numpy(draw.normal(size=(2, 4, 12)))[0]

    def first_components(scale):
        heads = zip(*((x @ one).chunk(3, dim=-1) for one in (W_Q, W_K, W_V)), strict=True)
        outputs = [
            nn.functional.scaled_dot_product_attention(*one, is_causal=True, scale=scale)
            for one in heads
        ]
        return (torch.cat(outputs, dim=-1) @ W_O)[:, 0].tolist()

    ours, package, wrong = chapter.grid("fifteen-lines-package")
    (theirs,) = chapter.grid("fifteen-lines-torch")
    assert ours == package == theirs
    assert_printed(ours, first_components(1 / 2))  # d_k = 4
    assert_printed(wrong, first_components(1.0))
    assert [a == b for a, b in zip(ours, wrong, strict=True)] == [True, False, False, False]


def test_verb(chapter):
    assert [row[""] for row in chapter.table("verb")] == ["she", "chased", "him"]
    assert chapter.column("verb", "dot product") == [6, 0, 0]
    assert_printed(chapter.column("verb", "score"), [6 / mpmath.sqrt(2), 0, 0])
    assert_printed(chapter.column("verb", "weight"), [LARGE, SMALL, SMALL])
    assert chapter.column("verb", "speed") == SPEEDS
    values = [float(one) for one in chapter.values("two-relations")]
    assert_printed(values, [one_output(1)[1], LARGE, one_output(2)[1]])


def turn(x):
    """RoPE with neighbours as pairs, as complex numbers: x (n, 64), positions from 0."""
    n, d = x.shape
    rates = 100000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = torch.outer(torch.arange(n, dtype=torch.float64), rates)
    pairs = torch.view_as_complex(x.reshape(n, d // 2, 2).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).reshape(n, d)


def test_two_heads_of_a_real_model(chapter):
    """What “it” looks at in the two heads, from their queries and keys with torch alone."""
    columns = []
    for head in ((13, 8), (16, 0)):
        query, key = (turn(torch.tensor(one)) for one in load_vectors(*head))
        columns.append(torch.softmax(key[:12] @ query[11] / 8, dim=0).tolist())
    described = chapter.figure("real")
    rows = ["The", "trophy", "doesn", "'t", "fit", "into", "the", "brown"]
    rows += ["suit", "case", "because", "it"]
    wanted = [
        f"{row}: " + ", ".join(f"{column[i]:.2f}" for column in columns)
        for i, row in enumerate(rows)
    ]
    assert "Columns: layer 13, head 8, layer 16, head 0. " + ". ".join(wanted) in described
    trophy, because = columns[0][rows.index("trophy")], columns[1][rows.index("because")]
    assert chapter.values("real-heads")[:2] == [f"{trophy:.2f}", f"{because:.2f}"]
    assert (trophy, because) == (max(columns[0]), max(columns[1]))  # what the text says of them


def test_heads_of_a_real_model_side_by_side(chapter):
    """From the file itself, and what the text says of the heads: each is far above the mean."""
    kept = json.loads((ROOT / "attention_docs/data/smollm2/heads.json").read_text("utf-8"))
    kinds = [kept[name] for name in ("previous token", "induction", "sink")]
    everywhere = [[one for layer in kind for one in layer] for kind in kinds]
    means = [sum(scores) / 270 for scores in everywhere]
    heads = [[kind[layer][head] for kind in kinds] for layer, head in ((16, 0), (18, 6), (3, 1))]
    assert_printed(chapter.grid("side-by-side"), [*heads, means], 2)
    for place, head in enumerate(heads):
        assert head[place] > 0.7 > means[place]
    assert heads[1][2] > 0.7  # where nothing repeats, the copying head rests on the first token


def test_routes(chapter):
    """Every frame of the stepper: a map, the chosen row times the speeds, and the caption."""
    frames = chapter.frames("routes")
    signed = [one_map(1), one_map(2)]
    signed.append(minus(*signed))
    places = [(r, i) for r in range(3) for i in (1, 0, 2)]  # the verb first
    for frame, (r, i) in zip(frames, places, strict=True):
        shown, sums = (
            [parse_number(one) for one in re.findall(r"−?\d+\.\d{4}", label)]
            for label in frame.labels
        )
        assert len(shown) == 9
        assert_printed(np.reshape(shown, (3, 3)), signed[r])
        fetched = dot(signed[r][i], SPEEDS)
        assert_printed(sums[:4], [*signed[r][i], fetched])
        said = re.findall(r"−?\d+\.\d{4}", frame.caption)
        assert_printed(
            [parse_number(one) for one in said], [fetched, -fetched] if r == 1 else [fetched]
        )


def test_joined(chapter):
    assert_printed(chapter.column("join", "head 1"), one_output(1))
    assert_printed(chapter.column("join", "head 2"), one_output(2))
    assert_printed(chapter.column("join", "output"), DIFFERENCE)
    assert_printed([[float(one) for one in chapter.values("join")]], [[DIFFERENCE[1], 2, SMALL]])


def test_bounds(chapter):
    """r_1 = 20, r_2 = 0, r_3 = -20, in whole numbers."""
    wanted = []
    for beta in (1, -1):
        for large in (10, 100):
            s, t = (0, large) if beta > 0 else (large, 0)
            f = [20 + beta * s, 0, -20 + beta * t]
            wanted.append([beta, s, t, min(f), max(f), s - t])
            inside = min(f) <= s - t <= max(f)
            assert inside is (large == 10)
    columns = ["β", "s", "t", "smallest f", "largest f", "s − t"]
    found = zip(*(chapter.column("bounds", name) for name in columns), strict=True)
    assert list(map(list, found)) == wanted
    assert [row["between?"] for row in chapter.table("bounds")] == ["✓", "✗"] * 2
    assert chapter.numbers("random-heads") == [1000, 1000]


def test_what_heads_share_if_they_are_added_first(chapter):
    """A product with 4 rows of W_O has at most 4 independent columns; 16 rows give all 16."""
    assert chapter.numbers("added-first") == [4 * 4, 4]


def test_exact(chapter):
    found = re.findall(r"= (\d\.\d{4})$", chapter.output("exact"), flags=re.M)
    assert_printed([float(one) for one in found], [SMALL, 1 - 3 * SMALL])
    names = ("her speed s", "his speed t", "output of the verb")
    hers, his, got = (chapter.column("exact", name) for name in names)
    assert (hers, his) == ([7, 5, 0, -3], [5, 7, 100, 1000])
    assert got == [s - t for s, t in zip(hers, his, strict=True)]


def test_split(chapter):
    tokens = [[10 * i + c for c in (1, 2, 3, 4)] for i in (1, 2, 3)]
    halves = [[one for row in tokens for one in row[a : a + 2]] for a in (0, 2)]
    drawn = [int(one) for one in re.findall(r"\b\d\d\b", chapter.figure("split"))]
    assert drawn == [one for row in tokens for one in row] + halves[0] + halves[1]


def test_what_the_verb_fetches(chapter):
    """7 and 5 with nearly all the weight; the rest of it on her, on itself and on him."""
    for head in (1, 2):
        weights = [one for (one,) in chapter.matrix("fetch", f"weights, head {head}")]
        assert_printed(weights, one_map(head)[1])
    fetched = re.findall(r"Vector [^:]+: ([\d.]+)\.", chapter.figure("fetch"))
    wanted = [one_output(1)[1], one_output(2)[1], DIFFERENCE[1]]
    assert_printed([float(one) for one in fetched], wanted)


def test_sum(chapter):
    first, second = one_map(1)[1], one_map(2)[1]
    difference = [a - b for a, b in zip(first, second, strict=True)]
    drawn = chapter.matrix("sum", "")
    for row, wanted in zip(drawn, (first, second, difference), strict=True):
        assert_printed(row, wanted)
    shapes = re.findall(r"\(.*\)", chapter.output("batched"))
    assert shapes == ["(2, 5, 12)", "(2, 3, 5, 5)"]
    assert chapter.values("key-bias") == ["3", "4"]
    assert chapter.table("random-routes") == [{"": "rank", "M_1": "4", "M_2": "4", "M_3": "4"}]
    same = {row[""]: row["outputs the same without it?"] for row in chapter.table("key-bias")}
    assert same == {"b_k": "✓", "b_q": "✗"}


def test_torch_sentence(chapter):
    theirs = nn.MultiheadAttention(4, 2, bias=False)
    lines = chapter.output("torch-sentence").splitlines()
    for line, (name, parameter) in zip(lines, theirs.named_parameters(), strict=False):
        assert line == f"{name}: {tuple(parameter.shape)}"
    columns = [chapter.column("torch-sentence", f"component {c}") for c in (1, 2, 3, 4)]
    assert_printed(np.transpose(columns), [[0, 0, 0, one] for one in DIFFERENCE])


def test_agreement(chapter):
    rows = chapter.table("torch-table")
    assert chapter.values("torch") == ["7", "5"]  # the tokens of another sequence, and of its own
    version = torch.__version__.split("+")[0]
    assert chapter.output("torch-table").strip() == f"torch {version}"
    assert [row["computed by"] for row in rows] == ["loop", "module"] * 7
    for row, bound in zip(rows, ["10⁻¹²"] * 12 + ["10⁻⁴"] * 2, strict=True):
        assert row["bound"] == bound
        assert [row[name] for name in ("outputs", "weights", "gradients")] == ["✓"] * 3


# Typed once more from the reports named on the page: d, heads of queries, of keys, d_k = d_v.
CONFIGURATIONS = {
    "Transformer base": (512, 8, 8, 64),
    "BERT base": (768, 12, 12, 64),
    "GPT-3": (12288, 96, 96, 128),
    "T5 11B": (1024, 128, 128, 128),
    "Gemma 7B": (3072, 16, 16, 256),
    "Gemma 2B": (2048, 8, 1, 256),
    "Llama 3 8B": (4096, 32, 8, 128),
    "Qwen3 0.6B": (1024, 16, 8, 128),
    "Qwen3 4B": (2560, 32, 8, 128),
}


def test_configurations(chapter):
    """Counted map by map, with torch's linear layers."""
    rows = chapter.table("configurations")
    share = {}
    for (name, (d, h, g, size)), row in zip(CONFIGURATIONS.items(), rows, strict=True):
        widths = [(d, h * size), (d, g * size), (d, g * size), (h * size, d)]
        maps = [nn.Linear(*width, bias=False, device="meta") for width in widths]
        count = sum(one.weight.numel() for one in maps)
        share[name] = Fraction(count, d * d)
        assert row[""] == name
        assert [int(row[one]) for one in ("d", "h", "g", "d_k")] == [d, h, g, size]
        assert float(row["h·d_k/d"]) == round(h * size / d, 2)
        assert row["N"] == f"{count:,}"
        assert_printed(float(row["N/d²"]), share[name], 2)
    kept = [name for name, (d, h, g, size) in CONFIGURATIONS.items() if g == h and h * size == d]
    assert kept == ["Transformer base", "BERT base", "GPT-3"]
    assert all(share[name] == 4 for name in [*kept, "Qwen3 4B"])
    assert share["Qwen3 0.6B"] == 6
    assert chapter.values("parameters-counted") == ["4.00"]


def test_count(chapter):
    heads = [1, 2, 4, 8, 16, 32, 64]
    assert chapter.column("count", "h") == heads
    assert chapter.column("count", "d/h") == heads[::-1]
    for way in ("formula", "PyTorch", "this package"):
        assert chapter.column("count", way) == [4 * 64**2 + 4 * 64] * 7
    assert chapter.values("count") == ["16640"]


def test_grouped(chapter):
    """The numbers of a token that stay in memory; and torch shares heads in the same order."""
    assert chapter.column("grouped", "g") == [4, 2, 1]
    assert chapter.column("grouped", "numbers per token") == [24, 12, 6]
    q, k, v = torch.randn(1, 4, 5, 3), torch.randn(1, 2, 5, 3), torch.randn(1, 2, 5, 3)
    theirs = nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    each = [k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1)]
    ours = nn.functional.scaled_dot_product_attention(q, *each)
    torch.testing.assert_close(theirs, ours)


def test_trade(chapter):
    """Counted product by product, with n = 16 and d = 64."""
    n, d = 16, 64
    rows = chapter.table("trade")
    for row, heads in zip(rows, (1, 2, 4, 8, 16, 32, 64), strict=True):
        size = d // heads
        products = [(n, d, size)] * 3 + [(n, size, n), (n, n, size)]  # of one head
        work = heads * sum(a * b * c for a, b, c in products) + n * d * d
        wanted = [heads, size, heads, min(n, size), work, heads * n * n]
        columns = ("h", "d_k", "maps", "rank", "multiply-adds", "exponentials")
        assert [int(row[one]) for one in columns] == wanted


def test_sizes(chapter):
    queries, keys = [-3, -2, -1, 1, 2, 3, 4, 5], [2, -4, 1, 7, 0, -1, 5, 3]
    assert chapter.column("size-1", "query q_i") == queries
    best = [max(range(8), key=lambda j, q=q: q * keys[j]) for q in queries]
    assert best == [1, 1, 1, 3, 3, 3, 3, 3]
    assert chapter.column("size-1", "favourite key") == [j + 1 for j in best]
    assert chapter.column("size-1", "its k_j") == [keys[j] for j in best]
    first, second = chapter.output("size-2").splitlines()[:2]
    assert first == "Favourites: [1, 2, 3, 4, 5, 6, 7, 8]"
    angles = [2 * mpmath.pi * j / 8 for j in range(8)]
    terms = [mpmath.exp(25 * mpmath.cos(one) / mpmath.sqrt(2)) for one in angles]
    assert_printed(float(second.split(": ")[1]), terms[0] / sum(terms))
    found, alpha = re.findall(r"[\d.]+", chapter.output("size-7"))
    assert_printed(float(alpha), mpmath.log(Fraction(9, 10) / (Fraction(1, 10) / 7)))
    averaging = [[Fraction(int(i == j)) - Fraction(1, 8) for j in range(8)] for i in range(8)]
    assert found == str(rank(averaging))


def test_published(chapter):
    # heads, size, perplexity, BLEU: table 3 of the paper, base and (A)
    rows = [[1, 512, 5.29, 24.9], [4, 128, 5.00, 25.5], [8, 64, 4.92, 25.8]]
    rows += [[16, 32, 4.91, 25.8], [32, 16, 5.01, 25.4]]
    names = ("h", "d_k", "perplexity", "BLEU")
    found = zip(*(chapter.column("published", name) for name in names), strict=True)
    assert list(map(list, found)) == rows
    assert chapter.values("measured") == ["0.9", "0.3"]


def tag(sequence, token, component):
    return 100 * sequence + 10 * token + component


def test_reshape_alone(chapter):
    """Number by number in the order of memory."""
    memory = [tag(s, t, c) for s in (1, 2) for t in (1, 2, 3, 4) for c in (1, 2, 3, 4)]
    wrong, right = [], []
    for row in chapter.table("mistake-reshape"):
        head, sequence, token = (int(row[name]) for name in ("head", "sequence", "token"))
        wrong += vector_of(row["wrong split"])
        pair = vector_of(row["right split"])
        assert pair == [tag(sequence, token, 2 * head - 2 + c) for c in (1, 2)]
        right += pair
    assert wrong == memory
    assert sorted(right) == memory
    assert right != memory


def test_moved(chapter):
    """Which outputs share a block of memory with token 4 of sequence 1."""
    names = ("moved in sequence 1", "moved in sequence 2")
    found = [[row[name] for name in names] for row in chapter.table("mistake-moved")]
    assert found == [["1, 2, 3, 4", "none"], ["3, 4", "none"], ["none", "1, 2, 3, 4"]]
    assert chapter.table("mistake-filed") == [{"head": "1", "sequence": "2"}]
    # By torch, with the published class's own two lines: tokens 1 and 2 do not see token 4.
    x = torch.randn(2, 4, 4, dtype=torch.float64, requires_grad=True)
    q = x.reshape(-1, 2, 4, 2)
    out = nn.functional.scaled_dot_product_attention(q, q, q).reshape(2, 4, -1)
    (gradient,) = torch.autograd.grad(out[0, :2].sum(), x)
    assert (gradient[0, 2:] == 0).all()
    assert (gradient[1] == 0).all()
    assert (gradient[0, :2] != 0).any()


def test_import(chapter):
    wanted = "NameError: name 'nn' is not defined"
    assert chapter.output("mistake-import") == wanted
    with pytest.raises(NameError, match="name 'nn' is not defined"):
        exec("import torch.nn\nnn.Linear", {})
    exec("from torch import nn\nnn.Linear", {})


def test_wrong_join(chapter):
    numbers = [*one_output(1), *one_output(2)]
    pairs = [numbers[0:2], numbers[2:4], numbers[4:6]]
    first, second, *rows = (
        [vector_of(cell) if "[" in cell else parse_number(cell) for cell in list(row.values())[1:]]
        for row in chapter.table("mistake-join")
    )
    assert_printed([first, second], [one_output(1), one_output(2)])
    wrong, wrong_outputs, right, right_outputs = rows
    assert_printed(wrong, pairs)
    assert_printed(wrong_outputs, [a - b for a, b in pairs])
    assert_printed(right, list(zip(one_output(1), one_output(2), strict=True)))
    assert_printed(right_outputs, DIFFERENCE)
    values = [float(one) for one in chapter.values("mistake-join")]
    assert_printed([values], [[pairs[1][0] - pairs[1][1], DIFFERENCE[1]]])
    assert abs(values[0] - values[1]) > 1


def test_view_needs_neighbours(chapter):
    """Steps by hand: after the last axis, each is the product of the sizes behind it."""
    rows = {
        row[""]: [int(row[f"{name} {i}"]) for name in ("axis", "step") for i in (1, 2, 3)]
        for row in chapter.table("mistake-view")
    }
    assert rows == {
        "from the heads": [2, 3, 2, 3 * 2, 2, 1],
        "transposed": [3, 2, 2, 2, 3 * 2, 1],  # sizes and steps have changed places together
        "contiguous": [3, 2, 2, 2 * 2, 2, 1],
    }
    for sizes_and_steps in rows.values():  # the last two axes are one if nothing lies between
        *_, inside, _, step, last = sizes_and_steps
        assert (step == inside * last) == (sizes_and_steps != rows["transposed"])
    said = chapter.output("mistake-view")
    assert said.startswith("RuntimeError: view size is not compatible with input tensor's size")
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        torch.empty_strided((3, 2, 2), (2, 6, 1)).view(3, 4)


def test_leak(chapter):
    rows = chapter.table("mistake-leak")
    found = [[parse_number(row[name]) for name in ("output 1", "output 2")] for row in rows]
    places = [(row["his speed t"], row["join"]) for row in rows]
    assert places == [("5", "wrong"), ("5", "right"), ("9", "wrong"), ("9", "right")]
    for i, his in enumerate((5, 9)):
        heads = []
        for head in (1, 2):
            outputs = []
            for k, to in enumerate(LOOKED_FOR[head]):
                raw = [HIGH if j == to else mpmath.mpf(1) for j in range(k + 1)]
                speeds = [7, 0, his][: k + 1]
                mean = dot(raw, speeds) / sum(raw)
                outputs.append(mean)
            heads.append(outputs)
        flat = heads[0] + heads[1]
        wrong = [flat[0] - flat[1], flat[2] - flat[3]]
        right = [a - b for a, b in zip(heads[0][:2], heads[1][:2], strict=True)]
        assert_printed(found[2 * i : 2 * i + 2], [wrong, right])
    wrong, right, other, same = found
    assert wrong != other
    assert right == same


def test_scale(chapter):
    rows = chapter.table("mistake-scale")
    divisors = {"÷ 1": 1, "÷ √d": 2, "÷ √d_k": mpmath.sqrt(2)}
    for row, (name, divisor) in zip(rows, divisors.items(), strict=True):
        high = mpmath.exp(6 / mpmath.mpf(divisor))
        assert row[""] == name
        found = [float(row[word]) for word in ("she", "chased", "him")]
        assert_printed(found, [high / (high + 2), 1 / (high + 2), 1 / (high + 2)])


def test_fused_projection(chapter):
    """By hand: 32 columns in three make 11, 11 and the rest; four heads and two, of 4 each."""
    assert chapter.grid("fused") == [[11, 11, 10], [4 * 4, 2 * 4, 2 * 4]]
    assert chapter.values("fused") == ["12"]  # each of 12 columns reads each component


def test_average(chapter):
    pairs = zip(one_map(1), one_map(2), strict=True)
    mean = [[(a + b) / 2 for a, b in zip(*rows, strict=True)] for rows in pairs]
    words = ("she", "chased", "him")
    found, each = (
        np.transpose([chapter.column(block, word) for word in words])
        for block in ("mistake-average", "mistake-average-right")
    )
    assert_printed(found, mean)
    assert mean[1][0] == mean[1][2]  # neither relation shows
    assert_printed(each, [*one_map(1), *one_map(2)])
    assert chapter.column("mistake-average-right", "head") == [1, 1, 1, 2, 2, 2]


def test_exercises(chapter):
    first = dot([Fraction(3, 4), Fraction(1, 4)], [8, 4])
    second = dot([Fraction(1, 2)] * 2, [2, 6])
    found = [int(line.split(": ")[1]) for line in chapter.output("exercise-join").splitlines()]
    assert found == [first, second, first - 2 * second]
    for row, heads in zip(chapter.table("exercise-fixed"), (1, 4, 8, 16), strict=True):
        size = 64 * heads
        maps = [nn.Linear(512, size, bias=False)] * 3 + [nn.Linear(size, 512, bias=False)]
        count, whole = sum(one.weight.numel() for one in maps), 4 * 512 * 512
        assert row == {"h": str(heads), "parameters": f"{count:,}", "4d²": f"{whole:,}"}
        assert (count == whole) is (heads == 8)
    exact = [one / (1 - 3 * SMALL) for one in DIFFERENCE]
    columns = [chapter.column("exercise-order", word) for word in ("she", "chased", "him")]
    assert_printed(np.transpose(columns), [[-one for one in exact], exact])
    assert_printed(chapter.grid("exercise-equal"), [[5 * one for one in one_output(1)]] * 2)
    counts = re.findall(r": (\d+)", chapter.output("exercise-two-steps"))
    assert counts == [str(12 * 12 + 3 * 12 * 4), str(3 * 12 * 4)]


def test_exercise_mask(chapter):
    """Who sees the third token: of equal scores each visible one gets the same share."""
    third = Fraction(1, 3)
    places = [chapter.column("exercise-mask", name) for name in ("sequence", "head")]
    assert places == [[1, 1, 2, 2], [1, 2, 1, 2]]
    assert_printed(chapter.column("exercise-mask", "with the wrong mask"), [0, third, 0, third])
    assert_printed(chapter.column("exercise-mask", "with the right mask"), [0, 0, third, third])
    # By torch: what a mask of that shape does there.
    scores = torch.zeros(2, 2, 3, 3)
    short = torch.tensor([[[True, True, False]], [[True, True, True]]])
    weights = scores.masked_fill(~short, -torch.inf).softmax(dim=-1)[:, :, 0, 2]
    assert (weights[:, 0] == 0).all()
    assert (weights[:, 1] > 0).all()


def test_exercise_any(chapter):
    """Both rows are positive and sum to 1, and the factors come back."""
    rows = chapter.table("exercise-any")
    a, b = ([Fraction(row[name]) for row in rows] for name in ("a", "b"))
    for row in (a, b):
        assert min(row) > 0
        assert sum(row) == 1
    p, m = map(int, re.findall(r"= (\d+)", chapter.output("exercise-any")))
    wanted = [p * one - m * other for one, other in zip(a, b, strict=True)]
    assert wanted == [1, -2, 1, 0] == chapter.column("exercise-any", "p·a − m·b")


def test_defaults_are_those_of_torch():
    own, other = MultiHeadAttention(4, 2), nn.MultiheadAttention(4, 2)
    assert own.dropout.p == other.dropout == 0
    assert all(one.bias is not None for one in (own.query, own.key, own.value, own.output))


ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-join": [7, 5, 4, -1, 11, -10],
    "exercise-fixed": [*(4 * 512**2, 3 * 512**2), *(8 * 512**2, 6 * 512**2, 4 * 512**2), 8],
    "exercise-equal": [5, 6, 2.5],
    "exercise-mask": [1 / 3, 0],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
