"""Cross-attention: against torch's layers, autograd and operation counter, fractions, and loops.

The trainings are repeated with torch's attention, cross-entropy and autograd, from the same draws.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.functional import scaled_dot_product_attention as sdpa
from torch.utils.flop_counter import FlopCounterMode

from attention_docs.attention_function import attention
from attention_docs.cross_attention import (
    DecoderParameters,
    cross_attention_backward,
    cross_attention_flops,
    decoder_block,
)
from attention_docs.masking import causal_mask, padding_mask
from attention_docs.multi_head import Parameters
from tests.conftest import scale_examples
from tests.exact import (
    W_KEY,
    W_QUERY,
    W_VALUE,
    X,
    assert_printed,
    attention_weights,
    make_test_of_asked,
    product,
)
from tests.page import Page, vector_of

seeds = st.integers(0, 2**32 - 1)
few = scale_examples(25)
T = [[x + 1 for x in one] for one in X[:2]]  # the target of the page's examples
START, END = 10, 11


# ------------------------------------------------------------------ the functions


def layer_and_parameters(
    seed: int, norm_first: bool
) -> tuple[nn.TransformerDecoderLayer, DecoderParameters]:
    """PyTorch's decoder layer with random parameters throughout, and the same for the package."""
    torch.manual_seed(seed)
    options: dict[str, Any] = {"batch_first": True, "dtype": torch.float64}
    layer = nn.TransformerDecoderLayer(6, 3, 10, dropout=0.0, norm_first=norm_first, **options)
    for p in layer.parameters():
        nn.init.normal_(p, std=0.6)

    def of(mha: nn.MultiheadAttention) -> Parameters:
        W, b = mha.in_proj_weight.detach().numpy(), mha.in_proj_bias.detach().numpy()
        out = mha.out_proj
        return Parameters(
            *(W[6 * i : 6 * i + 6].T for i in range(3)),
            out.weight.detach().numpy().T,
            *(b[6 * i : 6 * i + 6] for i in range(3)),
            out.bias.detach().numpy(),
        )

    norms = (layer.norm1, layer.norm2, layer.norm3)
    parameters = DecoderParameters(
        of(layer.self_attn),
        of(layer.multihead_attn),
        layer.linear1.weight.detach().numpy().T,
        layer.linear2.weight.detach().numpy().T,
        layer.linear1.bias.detach().numpy(),
        layer.linear2.bias.detach().numpy(),
        tuple(one.weight.detach().numpy() for one in norms),  # type: ignore[arg-type]
        tuple(one.bias.detach().numpy() for one in norms),  # type: ignore[arg-type]
    )
    return layer, parameters


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder_block_like_torch(norm_first: bool) -> None:
    layer, parameters = layer_and_parameters(3, norm_first)
    rng = np.random.default_rng(1)
    x, memory = rng.normal(size=(2, 4, 6)), rng.normal(size=(2, 7, 6))
    real = padding_mask(np.array([[5], [7]]), 7)
    got, maps = decoder_block(x, memory, parameters, 3, causal_mask(4), real, norm_first)
    wanted = layer(
        torch.tensor(x),
        torch.tensor(memory),
        tgt_mask=torch.ones(4, 4, dtype=torch.bool).triu(1),
        memory_key_padding_mask=torch.arange(7) >= torch.tensor([[5], [7]]),
    )
    np.testing.assert_allclose(got, wanted.detach().numpy(), rtol=0, atol=1e-12)
    assert maps.shape == (2, 3, 4, 7)
    np.testing.assert_allclose(maps.sum(axis=-1), 1, rtol=0, atol=1e-12)
    assert (maps[0, :, :, 5:] == 0).all()


def test_decoder_block_is_post_norm_unless_told() -> None:
    """As in the paper, and as torch's layer."""
    _, parameters = layer_and_parameters(3, False)
    x, memory = np.random.default_rng(1).normal(size=(2, 2, 4, 6))
    unsaid, post, pre = (
        decoder_block(x, memory, parameters, 3, **described)[0]
        for described in ({}, {"norm_first": False}, {"norm_first": True})
    )
    np.testing.assert_array_equal(unsaid, post)
    assert np.abs(unsaid - pre).max() > 0.1


@few
@given(seed=seeds, t=st.integers(1, 5), norm_first=st.booleans())
def test_decoder_never_leaks(seed: int, t: int, norm_first: bool) -> None:
    """Earlier rows keep their bits when a later target token changes; every row hears the source.

    Two blocks in a row, because a stack must keep it too.
    """
    _, parameters = layer_and_parameters(seed % 1000, norm_first)
    rng = np.random.default_rng(seed)
    x, memory = rng.normal(size=(6, 6)), rng.normal(size=(8, 6))

    def stack(x: np.ndarray, memory: np.ndarray) -> np.ndarray:
        for _ in range(2):
            x, _ = decoder_block(x, memory, parameters, 3, causal_mask(6), None, norm_first)
        return x

    before = stack(x, memory)
    late, read = x.copy(), memory.copy()
    late[t] += 3
    read[7] += 3
    after = stack(late, memory)
    assert after[:t].tobytes() == before[:t].tobytes()
    assert not np.array_equal(after[t], before[t])
    assert (stack(x, read) != before).any(axis=1).all()


@few
@given(seed=seeds, n_q=st.integers(1, 4), n_k=st.integers(1, 5), masked=st.booleans())
def test_backward_like_autograd(seed: int, n_q: int, n_k: int, masked: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = ((2, n_q, 3), (2, n_k, 5), (3, 4), (5, 4), (5, 6))
    arrays = [rng.normal(size=size) for size in sizes]
    by_output = rng.normal(size=(2, n_q, 6))
    mask = rng.random((n_q, n_k)) < 0.7
    mask[:, 0] = True
    mask |= not masked
    t, x, w_q, w_k, w_v = arrays
    _, weights = attention(t @ w_q, x @ w_k, x @ w_v, mask)
    got = cross_attention_backward(*arrays, weights, by_output)
    t, x, w_q, w_k, w_v = tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    sdpa(t @ w_q, x @ w_k, x @ w_v, attn_mask=torch.tensor(mask)).backward(torch.tensor(by_output))
    for mine, tensor in zip(got, tensors, strict=True):
        np.testing.assert_allclose(mine, tensor.grad.numpy(), rtol=0, atol=1e-10)
    # A tensor goes in, tensors come out.
    again = cross_attention_backward(
        *(torch.tensor(a) for a in arrays), torch.tensor(weights), torch.tensor(by_output)
    )
    np.testing.assert_allclose(again[1].numpy(), got[1], rtol=0, atol=1e-12)


@few
@given(n_q=st.integers(1, 6), n_k=st.integers(1, 7), heads=st.sampled_from([1, 2, 4]), seed=seeds)
def test_operations(n_q: int, n_k: int, heads: int, seed: int) -> None:
    """PyTorch's own counter, on PyTorch's own layer; and token by token a sum."""
    mha = nn.MultiheadAttention(8, heads, bias=False, batch_first=True)
    t, x = torch.zeros(1, n_q, 8), torch.zeros(1, n_k, 8)
    with FlopCounterMode(display=False) as counter:
        mha(t, x, x)
    assert cross_attention_flops(n_q, n_k, 8) == counter.get_total_flops()
    with FlopCounterMode(display=False) as counter:
        for i in range(n_q):
            mha(t[:, i : i + 1], x, x)
    assert cross_attention_flops(n_q, n_k, 8, steps=n_q) == counter.get_total_flops()
    one = cross_attention_flops(1, n_k, 8)
    keys = 2 * 2 * n_k * 8 * 8
    assert cross_attention_flops(n_q, n_k, 8) == n_q * one - (n_q - 1) * keys


def test_special_case() -> None:
    """One self-attention over both sequences by torch, and cross-attention by the package."""
    rng = np.random.default_rng(5)
    q, k, v = (rng.normal(size=(9, d)) for d in (4, 4, 3))  # 5 source tokens, then 4 of the target
    mask = torch.zeros(9, 9, dtype=torch.bool)
    mask[:, :5] = True
    whole = sdpa(*(torch.tensor(one)[None] for one in (q, k, v)), attn_mask=mask)[0]
    cross, _ = attention(q[5:], k[:5], v[:5])
    np.testing.assert_allclose(cross, whole[5:].numpy(), rtol=0, atol=1e-12)


def outputs_in_fractions(target: Any, source: Any) -> list[list[Fraction]]:
    """Powers of 2 in place of e."""
    found = []
    for scores in product(
        product(target, W_QUERY), list(zip(*product(source, W_KEY), strict=True))
    ):
        powers = [Fraction(2) ** s for s in scores]
        weights = [p / sum(powers) for p in powers]
        found.append(product([weights], product(source, W_VALUE))[0])
    return found


def test_order_of_the_source() -> None:
    before = outputs_in_fractions(T, X)
    assert outputs_in_fractions(T, [X[2], X[0], X[1]]) == before
    assert outputs_in_fractions(T[::-1], X) == before[::-1]
    assert before[0] != before[1]
    # And the package, in floats.
    rng = np.random.default_rng(2)
    q, k, v = rng.normal(size=(3, 4)), rng.normal(size=(6, 4)), rng.normal(size=(6, 2))
    order = [4, 0, 5, 2, 1, 3]
    one, two = attention(q, k, v)[0], attention(q, k[order], v[order])[0]
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)


# ------------------------------------------------------------ the training, once more


@functools.cache
def trained(seed: int, causal: bool = False) -> tuple[Any, ...]:
    """W_Q, W_K, W_V and the first and last losses, by torch."""
    rng = np.random.default_rng(seed)
    W = [torch.tensor(rng.standard_normal((12, m)) / math.sqrt(12)) for m in (8, 8, 12)]
    losses = []
    for _ in range(200):
        order = rng.random((32, 10)).argsort(axis=1)[:, :5]
        lengths = rng.integers(3, 6, 32)
        source = np.full((32, 6), END)
        for one, full, n in zip(source, order, lengths, strict=True):
            one[:n] = full[:n]
        wanted = torch.tensor(np.array([sorted(one) for one in source.tolist()]))
        fed = torch.cat([torch.full((32, 1), START), wanted[:, :-1]], dim=1)
        mask = (torch.arange(6) <= torch.tensor(lengths)[:, None])[:, None, :].expand(-1, 6, -1)
        mask = mask.tril() if causal else mask
        W = [w.detach().requires_grad_() for w in W]
        read = torch.tensor(source)  # a one-hot row times W is a row of W
        logits = sdpa(W[0][fed], W[1][read], W[2][read], attn_mask=mask)
        real = torch.arange(6) <= torch.tensor(lengths)[:, None]
        loss = cross_entropy(logits[real], wanted[real])
        loss.backward()
        losses.append(loss.item())
        W = [w - 10 * w.grad for w in W]  # type: ignore[operator]
    return *(w.detach().numpy() for w in W), losses


def written(W: Any, source: list[int], causal: bool = False) -> list[int]:
    """A plain loop: one token after another, one source."""
    W_Q, W_K, W_V = W[:3]
    last, found = START, []
    for t in range(1, len(source) + 1):
        seen = source[:t] if causal else source
        powers = np.exp(np.array([W_Q[last] @ W_K[s] for s in seen]) / math.sqrt(8))
        logits = sum(p * W_V[s] for p, s in zip(powers / powers.sum(), seen, strict=True))
        last = int(np.argmax(logits))
        found.append(last)
    return found


def tokens(text: str) -> list[int]:
    return [END if one == "■" else int(one) for one in text.split()]


EXAMPLE = [7, 2, 9, 0, 5, 4, END]

# ------------------------------------------------------------ published numbers


def test_written(chapter: Page) -> None:
    (found,) = chapter.table("written")
    assert tokens(found["read"]) == EXAMPLE
    assert tokens(found["written"]) == sorted(EXAMPLE) == written(trained(2014), EXAMPLE)


def test_paths(chapter: Page) -> None:
    """Vaswani et al., table 1, exactly: from the first token to the last."""
    sizes = chapter.column("paths", "n")
    assert sizes == [10, 100, 1000]
    assert chapter.column("paths", "recurrent") == [n - 1 for n in sizes]
    assert chapter.column("paths", "window, r = 2") == [math.ceil((n - 1) / 2) for n in sizes]
    # With L layers every number of L digits in base 5 can be bridged.
    digits = [np.base_repr(int(n) - 1, 5) for n in sizes]
    assert chapter.column("paths", "window, growing gaps") == [len(one) for one in digits]
    assert chapter.column("paths", "self-attention") == [1, 1, 1]
    assert 50 * 50 * 512 < 50 * 512 * 512  # the sentence of the text


def test_pencil(chapter: Page) -> None:
    found = [chapter.column("pencil", f"key {j}") for j in (1, 2, 3)]
    assert found == [[1 / 8, 0.333], [2 / 8, 0.333], [5 / 8, 0.333]]
    assert chapter.column("pencil", "output") == [2, 4]


def test_special_case_on_the_page(chapter: Page) -> None:
    weights = attention_weights(product(T, W_QUERY), product(X, W_KEY), math.sqrt(3))
    wanted = product(weights, product(X, W_VALUE))
    for name in ("self-attention with the mask", "cross-attention"):
        assert_printed([vector_of(found[name]) for found in chapter.table("as-self")], wanted)
    exact = chapter.table("exact")
    assert len(exact) == 4
    for found in exact:
        fractions = [Fraction(found[f"component {c}"]) for c in (1, 2, 3)]
        assert fractions == outputs_in_fractions(T, X)[0]


def test_decoder_on_the_page(chapter: Page) -> None:
    assert chapter.output("blocks").startswith("Outputs: (6, 8). Maps: (2, 6, 9).")
    late, read = ("".join([*found.values()][1:]) for found in chapter.table("blocks"))
    assert late == "✗✗✗✗✓✓"
    assert read == "✓✓✓✓✓✓"
    assert [found["equal to within 10⁻¹²?"] for found in chapter.table("torch")] == ["✓", "✓"]


def test_backward_on_the_page(chapter: Page) -> None:
    t, x = (torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in (T, X))
    q, k, v = (torch.tensor(one, dtype=torch.float64) for one in (W_QUERY, W_KEY, W_VALUE))
    (sdpa((t @ q)[None], (x @ k)[None], (x @ v)[None]) ** 2 / 2).sum().backward()
    assert t.grad is not None
    assert x.grad is not None
    found = [chapter.column("backward", f"component {c}") for c in range(1, 5)]
    assert_printed(np.array(found).T, [*t.grad.tolist(), *x.grad.tolist()])


def test_causal_mask_on_the_source(chapter: Page) -> None:
    wrong, right = (found["written"] for found in chapter.table("mistake-causal"))
    assert tokens(right) == sorted(EXAMPLE)
    assert tokens(wrong) == written(trained(2014), EXAMPLE, causal=True)
    assert tokens(wrong)[0] == EXAMPLE[0]
    assert tokens(wrong) != sorted(EXAMPLE)


def test_the_control_writes_both_ways(chapter: Page) -> None:
    """The captions of the last steps are the two outputs above."""
    captions = [frame.caption for frame in chapter.frames("control")]
    for causal in (False, True):
        shown = ("■" if one == END else str(one) for one in written(trained(2014), EXAMPLE, causal))
        text = " ".join(shown)
        assert any(text in caption for caption in captions)


def test_experiment(chapter: Page) -> None:
    found = chapter.table("experiment")
    wanted = []
    for causal in (False, True):
        for n in (6, 8):
            sources = np.random.default_rng(n).random((500, 10)).argsort(axis=1)[:, :n].tolist()
            already = sum(one == sorted(one) for one in sources)
            wanted.append([already if causal else 500] * 5)
    shown = [[int(found_one[f"run {i}"]) for i in range(1, 6)] for found_one in found]
    assert shown == wanted
    assert [(found_one["mask"], found_one["numbers in a list"]) for found_one in found] == [
        ("none", "6"),
        ("none", "8"),
        ("causal", "6"),
        ("causal", "8"),
    ]
    # Two of the ten runs again, token by token.
    for causal in (False, True):
        model = trained(1, causal)
        sources = np.random.default_rng(6).random((500, 10)).argsort(axis=1)[:, :6].tolist()
        right = [written(model, [*s, END], causal) == [*sorted(s), END] for s in sources[:150]]
        assert right == [not causal or s == sorted(s) for s in sources[:150]]


def learned_table() -> np.ndarray:
    W_Q, W_K, *_ = trained(2014)
    return (W_Q @ W_K.T / math.sqrt(8))[[START, *range(10)]][:, [*range(10), END]]


def test_what_it_learned(chapter: Page) -> None:
    losses = trained(2014)[3]
    assert chapter.values("training") == [f"{losses[0]:.1f}"]
    assert max(losses[-20:]) < 0.1
    table = learned_table()
    assert chapter.values("learned") == [f"{table[4, c]:.0f}" for c in (4, 5, 6, 3)]
    assert table[4, 4] > table[4, 5] > table[4, 6] > table[4, 3]
    good = total = 0
    broken = []
    for written_last in range(-1, 10):
        for right in range(written_last + 1, 11):
            for other in range(11):
                if other > right or other <= written_last:
                    total += 1
                    holds = table[written_last + 1, right] > table[written_last + 1, other]
                    good += holds
                    broken += [] if holds else [right - written_last]
    assert chapter.table("pairs") == [{"comparisons": str(total), "that hold": str(good)}]
    assert min(broken) >= 4  # "large gaps"


def test_cost_on_the_page(chapter: Page) -> None:
    columns = ("n_q", "n_k", "d", "h", "at once", "token by token")
    found = [chapter.column("count", name) for name in columns]
    sizes = [*zip(*found[:4], strict=True)]
    assert sizes == [(1, 1, 4, 1), (5, 7, 12, 3), (20, 30, 64, 8)]
    for (n_q, n_k, d, _), *counts in zip(sizes, *found[4:], strict=True):
        once = 4 * n_q * d * d + 4 * n_k * d * d + 4 * n_q * n_k * d
        again = once + 4 * (n_q - 1) * n_k * d * d
        assert counts == [once, again]
    assert chapter.values("counted") == [f"{found[5][2] / found[4][2]:.1f}"]


def test_exercises(chapter: Page) -> None:
    assert chapter.table("exercise-pencil") == [{"key 1": "0.75", "key 2": "0.25", "output": "8"}]
    shapes = [found["shape"] for found in chapter.table("exercise-shapes")]
    assert shapes == ["(2, 1, 1, 7)", "(2, 3, 4, 7)", "(2, 4, 6)"]
    (twice,) = chapter.table("exercise-twice")
    target = tokens(twice["written"])
    assert target == written(trained(2014), tokens(twice["read"])) == [1, 3, END, 3]
    assert chapter.table("exercise-reverse") == [
        {"read": source, "written": "2 7 9 ■"} for source in ("7 2 9 ■", "2 9 7 ■")
    ]
    assert math.exp(1 - 100) < 1e-40  # beside the score 100, the score 1 has no weight
    assert chapter.column("exercise-bug", "pair 1") == [1, 1]
    assert chapter.column("exercise-bug", "pair 2") == [100, 1]  # wrong, right
    kept = 4 * 500 * 512**2 + 4 * 100 * 400 * 512
    again = kept + 4 * 99 * 400 * 512**2
    assert chapter.column("exercise-cost", "K and V kept") == [kept]
    assert chapter.column("exercise-cost", "computed again") == [again]
    assert chapter.column("exercise-cost", "ratio") == [round(again / kept, 1)]
    weights = attention_weights(product(T, W_QUERY), product(X, W_KEY), math.sqrt(3))
    for name in ("keys as they are", "(5, −2, 1) added"):
        outputs = [vector_of(found[name]) for found in chapter.table("exercise-sum")]
        assert_printed(outputs, product(weights, product(X, W_VALUE)))
    # The claim of the last exercise, by autograd.
    k = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    q, v = torch.randn(2, 4, 3, dtype=torch.float64), torch.randn(5, 2, dtype=torch.float64)
    (sdpa(q[:1], k[None], v[None]) ** 3).sum().backward()
    assert k.grad is not None
    assert k.grad.sum(dim=0).abs().max() < 1e-12


KEPT, AGAIN = 4 * 500 * 512**2 + 4 * 100 * 400 * 512, 4 * 99 * 400 * 512**2
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-pencil": [[3 / 4, 1 / 4], [1 / 4, 3 / 4], 8, 6],
    "exercise-shapes": [[2, 1, 1, 7], [2, 3, 4, 7], [2, 3, 7, 4], [2, 4, 6], [2, 4, 5]],
    "exercise-bug": [100, 1],
    "exercise-cost": [KEPT, KEPT + AGAIN, KEPT + AGAIN + 4 * 400 * 512**2],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
