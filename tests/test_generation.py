"""Writing one token at a time: against torch, exact fractions and plain loops."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from math import prod

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa
from torch.utils.flop_counter import FlopCounterMode

from attention_docs.generation import (
    CONFIGURATIONS,
    Configuration,
    acceptance,
    attend_with_cache,
    beam_search,
    cache_bytes,
    cached_block,
    decode_flops,
    expected_tokens,
    grouped_attention,
    latent_attention,
    residual,
    speculate,
    step_flops,
    window_mask,
)
from attention_docs.multi_head import Parameters
from attention_docs.transformer_block import BlockParameters
from tests.conftest import scale_examples
from tests.exact import assert_printed, make_test_of_asked
from tests.page import vector_of

SEEDS = st.integers(0, 10**6)
F = Fraction


# --- the package's functions ---------------------------------------------------------------------


def torch_layer(seed, d=12, h=3, d_ff=20):
    """Torch's own pre-norm layer, and its parameters as the package takes them."""
    torch.manual_seed(seed)
    layer = nn.TransformerEncoderLayer(
        d, h, d_ff, dropout=0, norm_first=True, batch_first=True, dtype=torch.float64
    )
    for p in layer.parameters():
        nn.init.normal_(p, std=0.4)
    W_q, W_k, W_v = (one.T for one in layer.self_attn.in_proj_weight.chunk(3))
    b = layer.self_attn.in_proj_bias.chunk(3)
    out = layer.self_attn.out_proj
    ours = BlockParameters(
        Parameters(W_q, W_k, W_v, out.weight.T, *b, out.bias),
        layer.linear1.weight.T,
        layer.linear2.weight.T,
        layer.linear1.bias,
        layer.linear2.bias,
        layer.norm1.weight,
        layer.norm1.bias,
        layer.norm2.weight,
        layer.norm2.bias,
    )
    return layer.train(), ours


# Name, numbers kept of a token over all layers, operations for a key over all layers, and the share
# of 32,768 tokens that is kept: the sizes of the papers, multiplied.
PUBLISHED = {
    "GPT-3 175B": (96 * 2 * 12288, 96 * 4 * 12288, 1),
    "PaLM 540B": (118 * 2 * 256, 118 * 4 * 48 * 256, 1),
    "Llama 2 7B": (32 * 2 * 4096, 32 * 4 * 4096, 1),
    "Llama 2 70B": (80 * 2 * 1024, 80 * 4 * 8192, 1),
    "Mistral 7B": (32 * 2 * 1024, 32 * 4 * 4096, F(4096, 32768)),
    "Gemma 2B": (18 * 2 * 256, 18 * 4 * 2048, 1),
    "Gemma 2 9B": (42 * 2 * 2048, 42 * 4 * 4096, (1 + F(4096, 32768)) / 2),
    "Llama 3.1 8B": (32 * 2 * 1024, 32 * 4 * 4096, 1),
    "Llama 3.1 405B": (126 * 2 * 1024, 126 * 4 * 16384, 1),
    "Qwen2.5 72B": (80 * 2 * 1024, 80 * 4 * 8192, 1),
    "DeepSeek-V2": (60 * 576, 60 * 2 * 128 * (576 + 512), 1),
    "DeepSeek-V3": (61 * 576, 61 * 2 * 128 * (576 + 512), 1),
}


# The length of the texts of training: n_ctx of Brown et al., §2.1; sequence length of Chowdhery et
# al., §5; context length in table 1 of Llama 2, Mistral and both Gemma papers; 128 K in the others.
TRAINED = dict.fromkeys(PUBLISHED, 2**17)
TRAINED |= {"GPT-3 175B": 2**11, "PaLM 540B": 2**11, "Llama 2 7B": 2**12, "Llama 2 70B": 2**12}
TRAINED |= dict.fromkeys(("Mistral 7B", "Gemma 2B", "Gemma 2 9B"), 2**13)
TRAINED |= dict.fromkeys(("Qwen2.5 72B", "DeepSeek-V2"), 2**15)  # longer ones were only tested


def test_configurations():
    """First, since most faults that can be put into the module stand in this table."""
    assert [one.name for one in CONFIGURATIONS] == [*PUBLISHED]
    for one, (kept, work, share) in zip(CONFIGURATIONS, PUBLISHED.values(), strict=True):
        assert cache_bytes(one, 1) == 2 * kept
        assert step_flops(one, 1) == work
        assert cache_bytes(one, 32_768) == 2 * kept * 32_768 * share
        assert one.d_head == (256 if one.name in ("PaLM 540B", "Gemma 2B", "Gemma 2 9B") else 128)


def test_smallest_sizes_are_sizes():
    """A window of one token, numbers of one byte, a model that names neither latent nor window."""
    for mask in (window_mask(3), window_mask(3, window=1)):
        np.testing.assert_array_equal(mask, np.eye(3, dtype=bool))
    tiny = Configuration("tiny", 2, 1, 1, 4)
    assert tiny[5:] == (0, 0, 0, 0)
    assert cache_bytes(tiny, 3, 1) == 2 * 3 * 2 * 4
    assert cache_bytes(tiny._replace(window=1, windowed=1), 3, 1) == (3 + 1) * 2 * 4


def test_absorbed_is_what_costs_less():
    """For one query of size 8 over 50 latents of size 4: keys and values are never made."""
    h, n, d_k, d_c = 2, 50, 8, 4
    sizes = [(h, 1, d_k), (n, d_c), (h, d_c, d_k), (h, d_c, d_k)]
    counts = []
    for absorbed in ({}, {"absorbed": True}, {"absorbed": False}):
        with FlopCounterMode(display=False) as counter:
            latent_attention(*(torch.ones(*one) for one in sizes), **absorbed)
        counts.append(counter.get_total_flops())
    moved, read = 2 * h * d_k * d_c, 2 * h * n * d_c
    made, scored = 2 * h * n * d_c * d_k, 2 * h * n * d_k
    assert counts == [2 * (moved + read)] * 2 + [2 * (made + scored)]


@scale_examples(15)
@given(seed=SEEDS, cuts=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_cache(seed, cuts):
    """Two blocks in pieces of any sizes are torch's layers over the whole, batched."""
    layers = [torch_layer(seed + i) for i in range(2)]
    n = sum(cuts)
    x = torch.randn(2, n, 12, dtype=torch.float64)
    with torch.no_grad():
        mask = nn.Transformer.generate_square_subsequent_mask(n, dtype=torch.float64)
        wanted = x
        for layer, _ in layers:
            wanted = layer(wanted, src_mask=mask)
        caches = [None, None]
        parts = []
        for part in x.split(cuts, dim=1):
            y = part
            for i, (_, parameters) in enumerate(layers):
                y, caches[i] = cached_block(y, parameters, 3, caches[i])
            parts.append(y)
    torch.testing.assert_close(torch.cat(parts, dim=1), wanted, rtol=0, atol=1e-10)
    assert caches[0].key.shape == (2, 3, n, 4)


@scale_examples(30)
@given(seed=SEEDS, g=st.sampled_from([1, 2, 3, 6]), batch=st.sampled_from([(), (2,)]))
def test_grouped(seed, g, batch):
    """Torch's own grouped attention, with and without masks for all or for each head."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(*batch, 6, 4, 5))
    k, v = rng.normal(size=(*batch, g, 7, 5)), rng.normal(size=(*batch, g, 7, 3))
    masks = [None, rng.random((4, 7)) < 0.6, rng.random((1, 4, 7)) < 0.6]
    masks.append(rng.random((6, 4, 7)) < 0.6)
    for mask in masks:
        if mask is not None:
            mask[..., 0] = True
        if mask is not None and mask.ndim == 3:
            mask = np.broadcast_to(mask, (*batch, *mask.shape)).copy()
        o, a = grouped_attention(q, k, v, mask)
        given_ = [torch.from_numpy(one) for one in (q, k, v)]
        attn_mask = None if mask is None else torch.from_numpy(mask)
        if not batch:
            given_ = [one[None] for one in given_]
            attn_mask = attn_mask[None] if mask is not None and mask.ndim == 3 else attn_mask
        theirs = sdpa(*given_, attn_mask=attn_mask, enable_gqa=True).numpy()
        np.testing.assert_allclose(o, theirs.reshape(o.shape), rtol=0, atol=1e-12)
        assert a.shape == (*batch, 6, 4, 7)
        np.testing.assert_allclose(a.sum(axis=-1), 1)


@scale_examples(30)
@given(seed=SEEDS, window=st.integers(1, 9), cuts=st.lists(st.integers(1, 4), min_size=1))
def test_window(seed, window, cuts):
    """A window in a cache, against a plain loop over the whole."""
    n = sum(cuts)
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(4, n, 3))
    k, v = rng.normal(size=(2, 2, n, 3))
    cache, parts, at = None, [], 0
    for t in cuts:
        new = (one[:, at : at + t] for one in (q, k, v))
        o, cache = attend_with_cache(*new, cache, window)
        parts.append(o)
        at += t
        assert cache.key.shape[-2] == min(at, window)
    got = np.concatenate(parts, axis=1)
    for r, i in itertools.product(range(4), range(n)):
        seen = range(max(0, i - window + 1), i + 1)
        f = [np.exp(q[r, i] @ k[r // 2, j] / 3**0.5) for j in seen]
        wanted = sum(a * v[r // 2, j] for a, j in zip(f, seen, strict=True)) / sum(f)
        np.testing.assert_allclose(got[r, i], wanted, rtol=0, atol=1e-12)


def test_window_mask():
    for window, offset, n_q, n_k in itertools.product((1, 2, 5), (0, 3), (1, 4), (4, 7)):
        got = window_mask(n_q, n_k, window, offset=offset)
        wanted = [[i + offset - window < j <= i + offset for j in range(n_k)] for i in range(n_q)]
        assert got.tolist() == wanted
    assert window_mask(2, window=1, like=torch.zeros(1)).tolist() == [[True, False], [False, True]]


@scale_examples(20)
@given(seed=SEEDS, absorbed=st.booleans())
def test_latent(seed, absorbed):
    """Keys and values that are made, and torch's attention over them."""
    rng = np.random.default_rng(seed)
    q, c = rng.normal(size=(2, 3, 4, 5)), rng.normal(size=(2, 6, 7))
    W_uk, W_uv = rng.normal(size=(3, 7, 5)), rng.normal(size=(3, 7, 2))
    k, v = (np.einsum("bnc,hcd->bhnd", c, W) for W in (W_uk, W_uv))
    mask = np.tril(np.ones((4, 6), dtype=bool), 2)
    wanted = sdpa(*map(torch.from_numpy, (q, k, v)), attn_mask=torch.from_numpy(mask)).numpy()
    got = latent_attention(q, c, W_uk, W_uv, mask, absorbed=absorbed)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-11)
    tensors = latent_attention(*map(torch.from_numpy, (q, c, W_uk, W_uv)), torch.from_numpy(mask))
    assert isinstance(tensors, torch.Tensor)


def torch_flops(n, d, d_ff, cached):
    """What torch counts while it writes n tokens with its own products."""
    W = [torch.zeros(d, d) for _ in range(4)]
    W_1, W_2 = torch.zeros(d, d_ff), torch.zeros(d_ff, d)
    with FlopCounterMode(display=False) as counter:
        for t in range(1, n + 1):
            x = torch.zeros(1 if cached else t, d)
            q, _, _ = (x @ one for one in W[:3])
            keys = torch.zeros(t, d)
            (((q @ keys.T) @ keys) @ W[3] @ W_1) @ W_2
    return counter.get_total_flops()


@pytest.mark.parametrize("sizes", [(1, 2, 3), (5, 4, 7), (9, 6, 24)])
def test_flops(sizes):
    for cached in (True, False):
        assert decode_flops(*sizes, cached=cached) == torch_flops(*sizes, cached)
    n = sizes[0]
    ratio = F(decode_flops(*sizes, cached=False), decode_flops(*sizes))
    assert F(n + 1, 2) <= ratio <= F(2 * n + 1, 3)


def test_cache_bytes():
    """By what a plain loop over layers and tokens would store."""
    for model in CONFIGURATIONS:
        for n in (1, 5000):
            numbers = flops = 0
            for layer in range(model.layers):
                tokens = min(n, model.window) if layer < model.windowed else n
                keys_and_values = [model.d_head for _ in "kv" for _ in range(model.kv_heads)]
                latent = [model.latent, model.position]
                kept = sum(latent if model.latent else keys_and_values)
                numbers += tokens * kept
                score = value = model.d_head
                if model.latent:
                    score, value = model.latent + model.position, model.latent
                flops += sum(2 * tokens * (score + value) for _ in range(model.heads))
            assert cache_bytes(model, n, 3) == 3 * numbers
            assert step_flops(model, n) == flops
    # What DeepSeek-AI 2025, "Insights into DeepSeek-V3", table 1, prints for one token, in KB.
    by_name = {one.name: one for one in CONFIGURATIONS}
    published = {"DeepSeek-V3": 70.272, "Qwen2.5 72B": 327.680, "Llama 3.1 405B": 516.096}
    for name, kilobytes in published.items():
        assert cache_bytes(by_name[name], 1) / 1000 == kilobytes


@st.composite
def distributions(draw, size=4):
    parts = [draw(st.integers(0, 5)) for _ in range(size)]
    parts[draw(st.integers(0, size - 1))] += 1
    return [F(one, sum(parts)) for one in parts]


@given(p=distributions(), q=distributions())
def test_speculative(p, q):
    """Drawn, kept or replaced, by enumeration: the target's distribution, exactly."""
    a, r = acceptance(p, q), residual(p, q)
    assert sum(r) == 1
    assert min(r) >= 0
    lost = sum(q[x] * (1 - a[x]) for x in range(4))
    assert [q[x] * a[x] + lost * r[x] for x in range(4)] == p
    assert 1 - lost == 1 - sum(abs(x - y) for x, y in zip(p, q, strict=True)) / 2


def measure(drafted, q, p):
    """The distribution of what speculate gives, its chances cut where it can change its mind."""
    k = len(drafted)
    edges = [[F(0), min(F(1), p[i][x] / q[i][x]), F(1)] for i, x in enumerate(drafted)]
    grid = [F(i, 60) for i in range(61)]  # every sum of probabilities below
    found = {}
    for cell in itertools.product(*(itertools.pairwise(e) for e in (*edges, grid))):
        size = prod(high - low for low, high in cell)
        if size:
            written = tuple(speculate(drafted, q, p, [(a + b) / 2 for a, b in cell]))
            found[written] = found.get(written, 0) + size
    assert sum(found.values()) == 1
    assert all(1 <= len(one) <= k + 1 for one in found)
    return found


def test_speculate():
    """Over all drafts of two tokens, the first token is p's, and the second too if reached."""
    q = [[F(1, 2), F(1, 3), F(1, 6)], [F(1, 3), F(1, 3), F(1, 3)]]
    p = [[F(1, 4), F(1, 4), F(1, 2)], [F(1, 6), F(1, 3), F(1, 2)], [F(1, 5), F(4, 5), F(0)]]
    first, second, third = [0] * 3, [0] * 3, [0] * 3
    for drafted in itertools.product(range(3), repeat=2):
        chance = q[0][drafted[0]] * q[1][drafted[1]]
        for written, size in measure(drafted, q, p).items():
            for place, into in zip(written, (first, second, third), strict=False):
                into[place] += chance * size
    assert first == p[0]
    for got, wanted in ((second, p[1]), (third, p[2])):
        assert [one / sum(got) for one in got] == wanted
    # The rounding of sums cannot make it draw a word of probability 0.
    tenths = [0.1] * 10 + [0.0]
    assert sum(tenths) < 1
    assert speculate([], [], [tenths], [1 - 2**-53]) == [9]


def test_expected_tokens():
    for a, k in itertools.product((F(0), F(1, 3), F(4, 5), F(1)), (0, 1, 5)):
        # Exactly i guesses are kept, i < k, then all k: by the distribution of the first rejection.
        wanted = sum((i + 1) * a**i * (1 - a) for i in range(k)) + (k + 1) * a**k
        assert expected_tokens(a, k) == wanted


def turned(x, places):
    """Rotary positions by complex numbers."""
    half = x.shape[-1] // 2
    turn = np.exp(1j * np.outer(places, 10000.0 ** (-np.arange(half) / half)))
    z = (x[..., ::2] + 1j * x[..., 1::2]) * turn
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


@given(seed=SEEDS)
def test_beam_search(seed):
    """One beam is greedy, V^(n - 1) are exact: against all texts, with and without an end."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3), size=(3, 4))

    def following(ids):
        return shares[sum(ids) % 3, len(ids)]

    def probability(ids):
        return prod(following(ids[:i])[x] for i, x in enumerate(ids))

    greedy = ()
    for _ in range(4):
        greedy = (*greedy, int(np.argmax(following(greedy))))
    assert beam_search(following, 1, 4)[0][0] == greedy
    texts = {ids: probability(ids) for ids in itertools.product(range(3), repeat=4)}
    found = beam_search(following, 27, 4)
    assert [p for _, p in found] == pytest.approx(sorted(texts.values(), reverse=True)[:27])
    assert all(texts[ids] == pytest.approx(p) for ids, p in found)
    # With an end: whole texts of at most three tokens, and those that are cut after three.
    ended = {ids[: (*ids, 0).index(0) + 1] for ids in itertools.product(range(3), repeat=3)}
    for alpha in (0, 0.5, 1):
        score = {ids: float(mpmath.log(probability(ids))) / len(ids) ** alpha for ids in ended}
        (best, _), *_ = beam_search(following, 30, 3, end=0, alpha=alpha)
        assert score[best] == pytest.approx(max(score.values()))


# --- what the page prints ------------------------------------------------------------------------


def test_waste(chapter):
    words = (1, 2, 4, 8, 16, 32)
    for name, first in (("keys computed", 1), ("computed before", 0)):
        drawn = [f"{2 * (t - 1 + first)} for word {t}" for t in words]
        assert f"{name}: {'; '.join(drawn)}." in chapter.figure("waste")
    assert chapter.values("generation")[:2] == ["64", "2"]
    assert [layer["cached keys"] for layer in chapter.table("cache")] == ["(4, 32, 4)"] * 2
    assert chapter.table("bits") == [{"numbers": "128", "equal to the last bit": "128"}]


def test_exact_cache(chapter):
    """The rows of the exact run by another order of the same sums, and their denominators."""
    small = np.random.default_rng(0).integers(-2, 3, size=(2, 3, 2, 2))
    x = np.array([[F(c) for c in row] for row in ([1, 2], [-1, 1], [2, 0], [1, -3], [0, 1])])
    for W_q, W_k, W_v in small:
        f = 1 + ((x @ W_q) @ (x @ W_k).T) ** 2
        f = np.tril(f)
        x = x + (f @ (x @ W_v)) / f.sum(axis=1, keepdims=True)
    digits = [[len(str(c.denominator)) for c in row] for row in x]
    found = [chapter.column("exact", f"component {c}") for c in (1, 2)]
    assert [list(row) for row in zip(*found, strict=True)] == digits


def test_masks(chapter):
    weights = [vector_of(found["weights"]) for found in chapter.table("wrong-mask")]
    assert weights == [[1, 0, 0, 0, 0], [0.2] * 5]
    assert chapter.column("wrong-mask", "output") == [1, 3]
    assert chapter.table("wrong-mask-torch") == [
        {"": "is_causal=True", "output": "1.0"},
        {"": "causal_lower_right", "output": "3.0"},
    ]


def test_positions(chapter):
    """The right output by complex numbers and torch; the wrong one without any rotation."""
    rng = np.random.default_rng(3)
    q, k, v = rng.normal(size=(3, 1, 6, 8))
    right, plain = (
        sdpa(*map(torch.from_numpy, (a, b, v)), is_causal=True)[0, -1, :4].numpy()
        for a, b in ((turned(q, range(6)), turned(k, range(6))), (q, k))
    )
    for c in range(4):
        found = chapter.column("wrong-position", f"component {c + 1}")
        assert_printed(found, [plain[c], right[c], right[c]], 3)


def test_work(chapter):
    lengths = chapter.column("flops", "n")
    assert lengths == [1, 8, 32]
    for cached, name in ((True, "cached"), (False, "everything again")):
        wanted = [2 * torch_flops(int(n), 16, 64, cached) for n in lengths]
        assert chapter.column("flops", name) == wanted
        assert chapter.column("flops", f"{name}, counted") == wanted
    assert [found[""] for found in chapter.table("intensity")] == ["h/g = 1", "h/g = 8", "h/g = 64"]
    for n in (1000, 100_000):
        shown_in_rows = chapter.column("intensity", f"n = {n:,}")
        for g, shown in zip((64, 8, 1), shown_in_rows, strict=True):
            # W_Q, W_O, W_K, W_V, W_1, W_2; two operations and two bytes a parameter.
            matrices = [8192 * 8192] * 2 + [8192 * 128 * g] * 2 + [8192 * 4 * 8192] * 2
            flops = 2 * sum(matrices) + 2 * 2 * n * 64 * 128
            read = 2 * sum(matrices) + 2 * 2 * n * g * 128
            assert_printed([shown], [flops / read], 2)
    # NVIDIA's data sheet: 1,979 · 10¹² operations with sparsity, twice those without; 3.35 TB/s.
    assert chapter.values("intensity") == [f"{1979 / 2 / 3.35:.0f}"]
    for name in ("formula", "held by the arrays"):
        assert chapter.column("bytes", name) == [2 * 2 * 32 * 16 * 8]


def test_grouped_on_the_page(chapter):
    """The first output by torch's grouped attention, from the same draws."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(6, 16)))
    W_q, W_o = torch.from_numpy(rng.normal(size=(2, 16, 16)))
    W_k, W_v = torch.from_numpy(rng.normal(size=(2, 16, 8)))
    q, k, v = ((x @ W).reshape(1, 6, -1, 4).transpose(1, 2) for W in (W_q, W_k, W_v))
    o = sdpa(q, k, v, enable_gqa=True)[0].transpose(0, 1).reshape(6, 16) @ W_o
    for c in range(4):
        found = chapter.column("grouped", f"component {c + 1}")
        assert_printed(found, [o[0, c]] * 2)


def test_window_map(chapter):
    """A window of 3: each token sees itself and the two before it."""
    rows = [[int(i - 3 < j <= i) for j in range(8)] for i in range(8)]
    assert chapter.matrix("window-map", "") == rows


def test_bars(chapter):
    """p = (3, 2, 1)/6 and q the other way round."""
    found = [float(one) for one in re.findall(r"(\d\.\d+) for x", chapter.figure("bars"))]
    p, q = [F(3, 6), F(2, 6), F(1, 6)], [F(1, 6), F(2, 6), F(3, 6)]
    assert_printed(found, [*p, *q, *map(min, p, q)], 3)


def test_the_caption_of_each_frame_says_its_cache(chapter):
    frames = chapter.frames("control")
    assert len(frames) == 4
    for one, g in zip(frames, (1, 2, 4, 8), strict=True):
        wanted = []
        for n in (1024, 32_768, 131_072):
            mebibytes = F(2 * 2 * 32 * n * g * 128, 2**20)
            big = mebibytes >= 1024
            wanted.append((mebibytes / 1024 if big else mebibytes, "G" if big else "M"))
        shown = re.findall(r"([\d.]+) ([GM])iB", one.caption)
        assert [(F(a), b) for a, b in shown] == wanted


def test_sharing(chapter):
    groups = [vector_of(found["groups that are read"]) for found in chapter.table("wrong-repeat")]
    assert groups == [[1, 2, 1, 2], [1, 1, 2, 2]]
    two = torch.tensor([1, 2])  # the page says which names PyTorch has for the two orders
    assert groups == [two.repeat(2).tolist(), two.repeat_interleave(2).tolist()]
    rng = np.random.default_rng(0)
    q = torch.from_numpy(rng.normal(size=(4, 3, 2)))
    k, v = torch.from_numpy(rng.normal(size=(2, 2, 3, 2)))
    orders = [0, 1, 0, 1], [0, 0, 1, 1]
    for found, order in zip(chapter.table("wrong-repeat"), orders, strict=True):
        o = sdpa(q, k[order], v[order])[:, 0, 0]
        assert_printed(vector_of(found["outputs"]), o.numpy(), 3)
    for r in range(4):
        assert_printed(chapter.column("repeat-torch", f"head {r + 1}"), [o[r]] * 2, 3)


def test_models(chapter):
    models = chapter.table("models")
    assert [found[""] for found in models] == [*PUBLISHED]
    for found, (kept, work, share) in zip(models, PUBLISHED.values(), strict=True):
        assert found["bytes per token"] == f"{2 * kept:,}"
        assert found["trained length"] == f"{TRAINED[found['']]:,}"
        total = float(found["GiB for 32,768 tokens"])
        assert_printed([total], [float(2 * kept * 32_768 * share / 2**30)], 2)
        flops = float(found["10⁹ operations per step"])
        assert_printed([flops], [float(work * 32_768 * share / 10**9)], 1)
        assert_printed([float(found["operations per byte"])], [work / (2 * kept)], 0)
    sizes = [found["KV heads · size, or latent"] for found in models]
    assert (sizes[0], sizes[-1]) == ("96 · 128", "512 + 64")
    assert chapter.values("sharing") == ["576"]
    assert sum(length < 32_768 for length in TRAINED.values()) == 7  # as the text says


def test_latent_page(chapter):
    rng = np.random.default_rng(0)
    c, W, q = (rng.integers(-3, 4, size=s).tolist() for s in ((5, 3), (3, 4), (1, 4)))
    keys = [[sum(row[i] * W[i][j] for i in range(3)) for j in range(4)] for row in c]
    scores = [sum(a * b for a, b in zip(q[0], key, strict=True)) for key in keys]
    for j, score in enumerate(scores):
        assert chapter.column("latent", f"key {j + 1}") == [score] * 2
    rng = np.random.default_rng(0)
    q, c = rng.normal(size=(4, 1, 8)), rng.normal(size=(20, 6))
    W_uk, W_uv = rng.normal(size=(4, 6, 8)), rng.normal(size=(4, 6, 5))
    o = sdpa(*map(torch.from_numpy, (q, c @ W_uk, c @ W_uv))).numpy()
    for name in ("keys are built", "the query absorbs"):
        assert_printed(
            [vector_of(found[name]) for found in chapter.table("latent-heads")], o[:, 0], 3
        )
    make = [(20, 6, 8), (20, 6, 5), (1, 8, 20), (1, 20, 5)]
    move = [(1, 8, 6), (1, 6, 20), (1, 20, 6), (1, 6, 5)]
    wanted = [sum(4 * 2 * prod(one) for one in products) for products in (make, move)]
    assert chapter.column("latent-cost", "formula") == wanted
    assert chapter.column("latent-cost", "counted") == wanted
    # DeepSeek's sizes, one head: what each cached token adds, as the difference of two lengths.
    for line, m in zip(chapter.table("latent-crossing"), (1, 170, 171, 1000), strict=True):
        counts = []
        for n in (64, 65):
            build = [(n, 512, 128), (n, 512, 128), (m, 128, n), (m, n, 128)]
            absorb = [(m, 128, 512), (m, 512, n), (m, n, 512), (m, 512, 128)]
            counts.append([sum(2 * prod(one) for one in products) for products in (build, absorb)])
        built, absorbed = (b - a for a, b in zip(*counts, strict=True))
        assert [*line.values()][1:] == [f"{built:,}", f"{absorbed:,}"]
        assert (built < absorbed) == (m > 170)
    one, spread_out = 576 * 61 * 2, 128 * (128 + 64 + 128) * 61 * 2  # bytes for a token
    assert chapter.values("latent-more") == [
        f"{512 * 256 / (2 * 512 - 256):.1f}",
        *("61", f"{one:,}", "2,196", "71"),  # MiB as llama.cpp prints them
        f"{spread_out * 32_768 / 2**30:.1f}",
    ]
    assert round(spread_out / one) == 71
    assert chapter.values("latent")[-1] == "171"
    query = turned(q[0], [19])
    right = query @ turned(c @ W_uk[0], range(20)).T
    tried = query @ W_uk[0].T @ turned(c, range(20)).T
    assert np.abs(right - tried).max() > 1
    for j in range(5):
        shown = chapter.column("latent-rope", f"key {j + 1}")
        assert_printed(shown, [right[0, j], tried[0, j]], 2)


def test_sink(chapter):
    s, v = [5, 0, 1, 0, 1], [0, 1, -2, 3, 2]
    e = [mpmath.exp(one) for one in s]
    a = [one / sum(e) for one in e]
    cut = [one / sum(e[1:]) for one in e[1:]]
    o, o_cut = (sum(x * y for x, y in zip(*both, strict=True)) for both in ((a, v), (cut, v[1:])))
    whole, without, formula = chapter.table("sink")
    assert_printed(vector_of(whole["weights"]), a, 3)
    assert_printed(vector_of(without["weights"]), cut, 3)
    assert formula["weights"] == ""
    assert_printed(chapter.column("sink", "output"), [o, o_cut, o_cut], 3)
    assert round(cut[0] / a[1]) == 21  # as the caption says
    weaker = sum(x * y for x, y in zip(e[1:], v[1:], strict=True)) / (1 + sum(e[1:]))
    for name in ("softmax over five", "by the formula"):
        assert_printed(chapter.column("off-by-one", name), [weaker], 4)
    assert chapter.table("window") == [{"cached keys after 12 tokens": "(2, 5, 4)"}]


def test_speculative_page(chapter):
    shown = [" ".join([*found.values()][1:]) for found in chapter.table("speculative")]
    assert shown == [
        "1/2 1/6 1/6 1/3 1/2",
        "1/3 1/3 1/3 0 1/3",
        "1/6 1/2 1/6 0 1/6",
        "1 1 2/3 1/3 1",
    ]
    # p/q of x_1 is 3, of x_3 1/3; p adds up to 1/2, 5/6, 1; what is missing is x_1 alone.
    assert [[*found.values()] for found in chapter.table("one-round")] == [
        ["round 1", "x_1 x_3", "0.50", "0.25", "0.25", "x_1 x_3 x_1"],
        ["round 2", "x_1 x_3", "0.50", "0.75", "0.25", "x_1 x_1"],
        ["round 3", "x_3 x_1", "0.75", "0.50", "0.25", "x_1"],
    ]
    wanted = [[f"k = {k}", "81", "81", "1"] for k in (1, 2, 3)]
    assert [[*found.values()] for found in chapter.table("whole-text")] == wanted
    speed = chapter.table("speed")
    assert [found[""] for found in speed] == ["α = 0.5", "α = 0.8", "α = 0.9"]
    for found, a in zip(speed, (F(1, 2), F(4, 5), F(9, 10)), strict=True):
        for k in (1, 4, 8):
            assert_printed([float(found[f"k = {k}"])], [float((1 - a ** (k + 1)) / (1 - a))], 2)


def test_exercises(chapter):
    assert chapter.output("exercise-bytes") == str(2 * 2 * 24 * 1000 * 4 * 64)
    columns = [chapter.column("exercise-ratio", name) for name in ("n", "factor", "(n + 1)/2")]
    assert columns[0] == [10, 1000, 100_000]
    for n, *shown in zip(*columns, strict=True):
        n = int(n)
        linear, pairs = 24 * 4096**2, 4 * 4096
        cached = sum(linear + pairs * t for t in range(1, n + 1))
        anew = sum(linear * t + pairs * t * t for t in range(1, n + 1))
        assert_printed(shown, [anew / cached, (n + 1) / 2], 1)
    total = 1 + F(3, 4) + F(9, 16) + F(27, 64)
    draft = {"α": "3/4", "r": "(0, 1)", "tokens per pass": str(total)}
    assert chapter.table("exercise-draft") == [draft]
    own = [
        [float(found[f"token {t}"]) for t in (2, 3, 4)] for found in chapter.table("exercise-own")
    ]
    assert_printed(own[0], [8, F(12, 2), F(14, 3)], 2)
    assert_printed(own[1], [F(12, 2), F(14, 3), F(15, 4)], 2)
    encoder = [found["do the first six stay?"] for found in chapter.table("exercise-encoder")]
    assert encoder == ["✓", "✗"]
    assert [[*found.values()] for found in chapter.table("exercise-depth")] == [
        [str(N), str(w), str(N * (w - 1) + 1), str(N * (w - 1) + 1)]
        for N, w in ((1, 3), (2, 3), (3, 4))
    ]
    p, q = [F(1, 2), F(1, 3), F(1, 6)], [F(1, 6), F(1, 3), F(1, 2)]
    most = 1 - (abs(p[0] - q[0]) + abs(p[1] - q[1]) + abs(p[2] - q[2])) / 2
    assert [*chapter.table("exercise-most")[0].values()] == [str(most), str(most)]


def test_speculate_takes_each_chance_for_its_own_token():
    """By hand: 0 is kept below 1/2, else 1 and 2 come alike; at the edge it is not kept."""
    draft, target = [F(1), F(0), F(0)], [F(1, 2), F(1, 4), F(1, 4)]
    drafts, targets = [draft] * 2, [target] * 3
    assert speculate([0, 0], drafts, targets, [F(0), F(0), F(0)]) == [0, 0, 0]
    assert speculate([0, 0], drafts, targets, [F(1, 10), F(1, 10), F(8, 10)]) == [0, 0, 2]
    assert speculate([0, 0], drafts, targets, [F(9, 10), F(8, 10), F(2, 10)]) == [1]
    assert speculate([0, 0], drafts, targets, [F(1, 10), F(1, 2), F(6, 10)]) == [0, 2]
    assert speculate([], [], [target], [F(1, 2)]) == [1]


def anew_over_cached(n):
    """Operations of n tokens without a cache, over those with one, for d = 4096."""
    linear, pairs = 24 * 4096**2, 4 * 4096
    anew = sum(linear * t + pairs * t * t for t in range(1, n + 1))
    return anew / sum(linear + pairs * t for t in range(1, n + 1))


ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-bytes": [4 * 24 * 1000 * 4 * 64, 4 * 24 * 1000 * 16 * 64, 2 * 24 * 1000 * 4 * 64],
    "exercise-ratio": [anew_over_cached(10), 10],
    "exercise-draft": [F(3, 4), F(1, 4), F(175, 64), F(111, 64), F(13, 4)],
    "exercise-own": [
        *([8, 6, 14 / 3], [6, 14 / 3, 15 / 4]),
        *([6, 14 / 3, 15 / 4], [8, 6, 14 / 3]),
    ],
    "exercise-depth": [3 * 3 + 1, 3 * 4, 3 * 3],
    "exercise-most": [F(2, 3), F(5, 18)],
}
test_what_exercises_ask = make_test_of_asked(ASKED)


def test_beams(chapter):
    """The city by hand; the letters and the replies in fractions."""
    rows = [(row["text"], row["probability"]) for row in chapter.table("beam")]
    assert rows == [("New York", "0.21"), *[("San Francisco", "0.36")] * 2]
    rows = [(row["text"], F(row["probability"])) for row in chapter.table("wider")]
    greedy, narrow = F(3, 5) * F(1, 4), F(2, 5) * F(1, 2) * F(1, 2)
    assert rows == [("AAA", greedy), ("BAA", narrow), ("AAA", greedy), ("AAA", greedy)]
    assert max(greedy, narrow) == greedy
    assert chapter.column("length", "tokens") == [1, 2, 4]
    chances = [F(1, 4), F(1, 2) * F(2, 5), F(1, 2) * F(3, 5) * F(7, 10) * F(9, 10)]
    assert_printed(chapter.column("length", "probability"), chances, 3)
    logs = [mpmath.log(p.numerator) - mpmath.log(p.denominator) for p in chances]
    assert_printed(chapter.column("length", "log p"), logs, 2)
    each = [one / n for one, n in zip(logs, (1, 2, 4), strict=True)]
    assert_printed(chapter.column("length", "per token"), each, 2)


def test_a_changed_token(chapter):
    """Layer 1 reads one token; layer 2 has read all before it: 31 stay, and the 4 in front."""
    assert chapter.column("changed-token", "keys that stay") == [31, 4]
    assert chapter.values("prefix-cache") == ["32", "4"]
