"""Learning: gradients against torch's autograd, the training run again with torch, numbers by hand.

The training is repeated here with torch's own attention and autograd, from the same draws.
"""

from __future__ import annotations

import functools
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
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attention_docs.attention_function import attention
from attention_docs.learning import (
    attention_backward,
    entry_variance,
    finite_differences,
    self_attention_backward,
)
from tests.conftest import scale_examples
from tests.exact import (
    W_KEY,
    W_QUERY,
    W_VALUE,
    X,
    agrees_within_error,
    make_test_of_asked,
    parse_plus_minus,
    product,
    transpose,
)
from tests.page import parse_number

few = scale_examples(60)
SEED = 2017

ORDER = [0, 1, 2, 0, 1, 2]


def double(rows):
    return torch.tensor(rows, dtype=torch.float64)


# ---------------------------------------------------------------- the package


@given(st.integers(1, 40), st.integers(1, 40))
def test_entry_variance(d_in, d_out):
    assert entry_variance("lecun", d_in, d_out) * d_in == 1
    assert entry_variance("kaiming", d_in, d_out) * d_in == 2
    # Xavier: the mean of what happens forward and backward is 1.
    v = entry_variance("xavier", d_in, d_out)
    assert (d_in * v + d_out * v) / 2 == 1


def normal(seed, *sizes, dtype=torch.float64):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed), dtype=dtype)


MASKS = ["none", "boolean", "float", "causal"]


def make_mask(kind, n_q, n_k, seed):
    if kind == "none":
        return None
    if kind == "causal":
        return torch.ones(n_q, n_k).tril().bool()
    keep = normal(seed + 9, n_q, n_k) > 0
    keep[:, 0] = True  # no empty row
    if kind == "boolean":
        return keep
    return torch.where(keep, normal(seed + 8, n_q, n_k), -math.inf)


@few
@given(
    st.permutations([2, 3, 4, 5, 6, 7]),
    st.sampled_from(MASKS),
    st.sampled_from(["own", "keys shared", "queries shared", "values shared"]),
    st.integers(0, 1000),
)
def test_backward_like_autograd(sizes, kind, sharing, seed):
    batch, heads, n_q, n_k, d_k, d_v = sizes
    lead = dict.fromkeys("qkv", (batch, heads))
    if sharing == "keys shared":
        lead["k"] = lead["v"] = (batch, 1)
    elif sharing == "queries shared":
        lead["q"] = (heads,)
    elif sharing == "values shared":
        lead["q"] = lead["k"] = ()  # the values alone have batch and heads
    q = normal(seed, *lead["q"], n_q, d_k).requires_grad_()
    k = normal(seed + 1, *lead["k"], n_k, d_k).requires_grad_()
    v = normal(seed + 2, *lead["v"], n_k, d_v).requires_grad_()
    mask = make_mask(kind, n_q, n_k, seed)
    wide = [one.expand(batch, heads, *one.shape[-2:]) for one in (q, k, v)]
    output = sdpa(*wide, attn_mask=mask)
    by_output = normal(seed + 3, *output.shape)
    output.backward(by_output)
    with torch.no_grad():
        _, weights = attention(q, k, v, mask)
        found = attention_backward(q, k, v, weights, by_output)
        same = attention_backward(
            *(one.numpy() for one in (q.detach(), k.detach(), v.detach(), weights, by_output))
        )
    for mine, from_numpy, truth in zip(found, same, (q, k, v), strict=True):
        assert mine.shape == truth.shape
        assert (mine - truth.grad).abs().max() < 1e-11
        assert np.abs(from_numpy - truth.grad.numpy()).max() < 1e-11


@few
@given(st.permutations([2, 3, 4, 5, 7]), st.sampled_from(MASKS), st.integers(0, 1000))
def test_parameters_like_autograd(sizes, kind, seed):
    batch, n, d_model, d_k, d_v = sizes
    shapes = [(batch, n, d_model), (d_model, d_k), (d_model, d_k), (d_model, d_v)]
    tensors = [normal(seed + i, *s).requires_grad_() for i, s in enumerate(shapes)]
    kept = [one.detach().clone() for one in tensors]
    x, w_q, w_k, w_v = tensors
    mask = make_mask(kind, n, n, seed)
    output = sdpa(x @ w_q, x @ w_k, x @ w_v, attn_mask=mask)
    by_output = normal(seed + 5, *output.shape)
    output.backward(by_output)
    with torch.no_grad():
        _, weights = attention(x @ w_q, x @ w_k, x @ w_v, mask)
        found = self_attention_backward(*tensors, weights, by_output)
    for mine, truth, before in zip(found, tensors, kept, strict=True):
        assert mine.shape == truth.shape
        assert (mine - truth.grad).abs().max() < 1e-10
        assert torch.equal(truth.detach(), before)


def test_finite_differences():
    at = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]])
    kept = at.copy()
    found = finite_differences(lambda x: float(np.sin(x).sum() * x[1, 2]), at)
    wanted = -np.cos(at)  # x[1, 2] = -1
    wanted[1, 2] += np.sin(at).sum()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(at, kept)
    for step in (0, -1e-5, math.nan):
        with pytest.raises(ValueError, match=f"step must be positive, got {step}"):
            finite_differences(lambda x: float(x.sum()), at, step=step)


# ---------------------------------------------------------------- the gradient


def eight_steps():
    """Inputs and parameters as tensors with gradients, the outputs, and half their squares."""
    tensors = [double(m).requires_grad_() for m in (X, W_QUERY, W_KEY, W_VALUE)]
    x, w_q, w_k, w_v = tensors
    output = sdpa(x @ w_q, x @ w_k, x @ w_v)
    return tensors, output, 0.5 * (output**2).sum()


def test_functions_shown(chapter):
    shown = chapter.output("function")
    assert "by_products = by_scores / sqrt(query.shape[-1])" in shown
    assert '"""' not in shown
    assert "def self_attention_backward(" in shown


def test_by_hand(chapter):
    # a = (1, 2, 5)/8 and g = (3, 1, 1): mean 10/8, a_j (g_j - 10/8) = 14/64, -4/64, -10/64.
    by_scores = [Fraction(14, 64), Fraction(-4, 64), Fraction(-10, 64)]
    rows = {row.pop(""): list(row.values()) for row in chapter.table("by-hand")}
    fractions = [["1/8", "1/4", "5/8"], ["3", "1", "1"]]
    for exact in (by_scores, by_scores, [2 * s for s in by_scores]):
        fractions.append([str(s).replace("-", "−") for s in exact])
    names = ["dV", "dA", "dS", "dK, component 1", "dQ, components 2 to 4"]
    assert rows == dict(zip(names, fractions, strict=True))
    assert sum(by_scores) == 0
    assert chapter.output("by-hand").strip() == "Average of dA: 5/4"
    assert chapter.values("by-hand")[0] == "5/4"
    # dQ by mpmath: half the sum of dS times the keys.
    logs = [mpmath.log(n) for n in (1, 2, 5)]
    first_component = sum(float(s) * z for s, z in zip(by_scores, logs, strict=True)) / 2
    wanted = [float(first_component), *(float(2 * s) for s in by_scores)]
    first = float(chapter.output("by-package").split(": ")[1])
    np.testing.assert_allclose(first, wanted[0], rtol=0, atol=5.1e-5)
    keys = [chapter.column("by-package", f"key {j}") for j in (1, 2, 3)]
    weights, by_value, by_key, by_query = np.transpose(keys)
    np.testing.assert_allclose(by_query, wanted[1:], rtol=0, atol=5.1e-6)
    np.testing.assert_allclose(by_key, [float(s) for s in by_scores])
    np.testing.assert_allclose(weights, [1 / 8, 2 / 8, 5 / 8])
    np.testing.assert_allclose(by_value, [1 / 8, 2 / 8, 5 / 8])


def test_checks(chapter):
    names = ["no mask", "causal mask", "padding mask", "added mask", "shared keys"]
    rows = [list(row.values()) for row in chapter.table("checks")]
    assert rows == [[name, "✓", "✓"] for name in names]


def test_eight_steps_gradients(chapter):
    tensors, _, loss = eight_steps()
    loss.backward()
    said = chapter.figure("eight-steps")
    shown = [float(one.replace("−", "-")) for one in re.findall(r"[-−]?\d+\.\d{4}", said)]
    wanted = np.concatenate([tensor.grad.numpy().ravel() for tensor in tensors])
    np.testing.assert_allclose(shown, wanted, rtol=0, atol=5.1e-5)


def test_root_dropped(chapter):
    """The right gradient by autograd; the wrong one is that of the queries and keys times √3."""
    tensors, _, loss = eight_steps()
    loss.backward()
    right = tensors[1].grad.numpy()

    def moved(i, j, h):
        w = double(W_QUERY)
        w[i, j] += h
        x, k, v = double(X), double(W_KEY), double(W_VALUE)
        return 0.5 * float((sdpa(x @ w, x @ k, x @ v) ** 2).sum())

    without, with_root = chapter.table("mistake-gradient-scale")
    for h in (1e-1, 1e-2, 1e-3):
        tried = np.zeros((4, 3))
        for i, j in itertools.product(range(4), range(3)):
            tried[i, j] = (moved(i, j, h) - moved(i, j, -h)) / (2 * h)
        off, off_wrong = (np.abs(one - tried).max() for one in (right, math.sqrt(3) * right))
        found = [parse_number(row[f"h = {h:g}"]) for row in (with_root, without)]
        assert found == [float(f"{off:.2g}"), float(f"{off_wrong:.2g}")]
    assert chapter.values("mistake-gradient-scale")[0] == f"{math.sqrt(3):.4f}"
    # It trains all the same: the gradients of W_Q and W_K times √8.
    training, others = task_draws()
    x, wanted = task(training)
    parameters = draw_start(SEED, 8)
    for _ in range(400):
        parameters, _ = torch_step(parameters, x, wanted, (0.5 * 8**0.5, 0.5 * 8**0.5, 0.5))
    loss = evaluate(parameters, others)[0]
    assert chapter.output("mistake-unnoticed") == f"Loss: {loss:.4f}"
    assert loss < 0.01


# ---------------------------------------------------------------- the task


def task(signs):
    """Inputs and wanted outputs of the task, built feature by feature."""
    x = torch.zeros(*signs.shape[:-1], 6, dtype=torch.float64)
    for token, letter in enumerate(ORDER):
        x[..., token, letter] = 1
        x[..., token, 3] = 1 if token < 3 else -1
    x[..., 4:] = signs
    return 1.5**0.5 * x, signs[..., ORDER, :]


def draw_start(seed, d_k):
    rng = np.random.default_rng(seed)
    return [double(rng.standard_normal((6, m)) / math.sqrt(6)) for m in (d_k, d_k, 2)]


def torch_step(parameters, x, wanted, rates=(0.5, 0.5, 0.5)):
    """One step by torch's attention and autograd, and the loss before it."""
    parameters = [p.detach().requires_grad_() for p in parameters]
    w_q, w_k, w_v = parameters
    losses = ((sdpa(x @ w_q, x @ w_k, x @ w_v) - wanted) ** 2).mean(dim=(-3, -2, -1))
    losses.sum().backward()
    with torch.no_grad():
        moved = [p - rate * p.grad for p, rate in zip(parameters, rates, strict=True)]
    return moved, losses.detach()


def together(parameters, x, wanted, tau, rates=(0.5, 0.5, 0.5)):
    """One step of many trainings at once, the losses before it, and their weights.

    Group g has the sequences x (g, s, 6, 6), and c trainings with them, (g, c, 6, m). They stand
    in the last axes: a few products of wide matrices instead of thousands of small ones.
    """
    parameters = [p.detach().requires_grad_() for p in parameters]
    w_q, w_k, w_v = parameters
    left = torch.einsum("gsia,gcab->gsbci", x, w_q @ w_k.mT / tau)
    weights = torch.softmax(torch.einsum("gsjb,gsbci->gsjci", x, left), 2)
    mixed = torch.einsum("gsja,gsjci->gsaci", x, weights)
    outputs = torch.einsum("gsaci,gcam->gsmci", mixed, w_v)
    losses = ((outputs - wanted.mT[:, :, :, None]) ** 2).mean(dim=(1, 2, 4))
    losses.sum().backward()
    with torch.no_grad():
        moved = [p - rate * p.grad for p, rate in zip(parameters, rates, strict=True)]
    return moved, losses.detach(), weights.detach()


def task_draws():
    """The training and the validation sequences, from the bits of their numbers."""
    drawn = np.random.default_rng(SEED).choice(4096, size=248, replace=False).tolist()
    signs = [[-1.0 if number & 2**bit else 1.0 for bit in range(12)] for number in drawn]
    return double(signs).reshape(248, 6, 2).split((48, 200))


@functools.cache
def trained():
    """Losses of 401 steps, and the parameters before each."""
    training, _ = task_draws()
    x, wanted = task(training)
    parameters = draw_start(SEED, 8)
    losses, before = [], []
    for _ in range(401):
        before.append(parameters)
        parameters, loss = torch_step(parameters, x, wanted)
        losses.append(float(loss))
    return losses, before, parameters


def evaluate(parameters, signs):
    """Loss, share of right signs, weights."""
    x, wanted = task(signs)
    w_q, w_k, w_v = parameters
    weights = torch.softmax((x @ w_q) @ (x @ w_k).mT / math.sqrt(w_q.shape[-1]), -1)
    outputs = weights @ (x @ w_v)
    right = (outputs * wanted > 0).double().mean()
    return float(((outputs - wanted) ** 2).mean()), float(right), weights


def on_right_token(weights):
    """Mean weight on the capital with the same letter."""
    return float(torch.stack([weights[:, i, letter] for i, letter in enumerate(ORDER)]).mean())


def shown_example():
    """Which validation sequence is shown: the first with three different capitals."""
    _, others = task_draws()
    pairs = [{tuple(pair) for pair in one[:3].tolist()} for one in others]
    return next(i for i, one in enumerate(pairs) if len(one) == 3)


def test_task(chapter):
    rows = [tuple(row.values()) for row in chapter.table("task")]
    names, tokens, wanted = zip(*rows, strict=True)
    assert "".join(names) == "ABCabc"
    _, others = task_draws()
    for token, signs in zip(tokens, others[shown_example()].tolist(), strict=True):
        assert token == "".join("+" if s > 0 else "−" for s in signs)
    assert len(set(tokens[:3])) == 3
    assert wanted == tokens[:3] * 2


def test_slider(chapter):
    """Every frame says the loss and the weight that torch finds at its step."""
    _, others = task_draws()
    captions = [frame.caption for frame in chapter.frames("slider")]
    stops = (0, 10, 25, 40, 50, 60, 75, 100, 400)
    right = {}
    for caption, t in zip(captions, stops, strict=True):
        loss, _, weights = evaluate(trained()[1][t], others)
        right[t] = on_right_token(weights)
        said = re.findall(r"\d+(?:\.\d+)?", caption)
        assert said == [str(t), f"{loss:.2f}", f"{right[t]:.2f}"]
    assert chapter.values("idea") == [f"{right[t]:.2f}" for t in (0, 25, 40, 100, 400)]
    # What the text says: little moves at first, then nearly everything does.
    assert right[25] - right[0] < 0.05 < 0.5 < right[100] - right[40]
    assert weights.argmax(-1).tolist() == [ORDER] * 200


def test_descent(chapter):
    training, _ = task_draws()
    x, wanted = task(training)
    first = [p.requires_grad_() for p in draw_start(SEED, 8)]
    w_q, w_k, w_v = first
    loss = ((sdpa(x @ w_q, x @ w_k, x @ w_v) - wanted) ** 2).mean()
    loss.backward()
    squares = sum(float((p.grad**2).sum()) for p in first)
    shares = []
    for row, eta in zip(chapter.table("descent"), (0.5, 0.05, 0.005), strict=True):
        q, k, v = ((p - eta * p.grad).detach() for p in first)
        fall = loss.item() - float(((sdpa(x @ q, x @ k, x @ v) - wanted) ** 2).mean())
        shares.append(fall / (eta * squares))
        assert row == {
            "η": f"{eta:g}",
            "drop in the loss": f"{fall:.5f}",
            "promised drop": f"{eta * squares:.5f}",
            "ratio": f"{shares[-1]:.3f}",
        }
    assert chapter.values("promise") == [f"{shares[0]:.3f}", f"{shares[2]:.3f}"]
    assert shares[0] < shares[1] < shares[2] < 1


def test_training(chapter):
    losses, before, _ = trained()
    _, others = task_draws()
    rows = chapter.table("train")
    for row, t in zip(rows, (0, 25, 50, 75, 100, 200, 400), strict=True):
        validation = evaluate(before[t], others)[0]
        assert list(row.values()) == [str(t), f"{losses[t]:.3f}", f"{validation:.3f}"]
    at_25, at_400 = (evaluate(before[t], others)[0] for t in (25, 400))
    assert chapter.values("training")[0] == f"{at_25:.2f}"
    # What the text says: near a plain average at step 25, and learned at the end.
    assert abs(at_25 - 5 / 6) < 0.05
    assert at_400 < 0.01


def test_ideal(chapter):
    rows = chapter.table("ideal")
    for row, m in zip(rows, (6, 3, 2, 1), strict=True):
        # The error is y minus c times the mean of m signs, one of them y: count all cases.
        cases = list(itertools.product((-1, 1), repeat=m))

        def loss(c, cases=cases, m=m):
            losses = [(s[0] - c * Fraction(sum(s), m)) ** 2 for s in cases]
            return sum(losses, Fraction(0)) / len(losses)

        best = loss(1)
        assert list(row.values())[1:] == [str(m), f"{float(best):.4f}", str(best)]
        assert len(row["a looks at"].split()) == m
        assert all(loss(c) >= best for c in (0, Fraction(1, 2), Fraction(9, 10), 2))


@functools.cache
def waits(value_known):
    """The first step of 30 runs whose loss is below 0.1, sorted; 400 for never."""
    training, _ = task_draws()
    x, wanted = (one[None] for one in task(training))
    starts = zip(*(draw_start(seed, 8) for seed in range(30)), strict=True)
    parameters = [torch.stack(w)[None] for w in starts]
    if value_known:
        passes = torch.zeros(1, 30, 6, 2, dtype=torch.float64)
        passes[..., 4, 0] = passes[..., 5, 1] = 1.5**-0.5
        parameters[2] = passes
    losses = []
    for _ in range(400):
        parameters, loss, _ = together(parameters, x, wanted, 8**0.5)
        losses.append(loss[0])
    below = torch.stack(losses) < 0.1
    first = torch.where(below.any(0), below.double().argmax(0), 400)
    return sorted(first.tolist())


def first_steps(chapter, block):
    """The first step with a loss below 0.1 for each of 30 runs, ten in a row."""
    rows = chapter.vectors(block, "first step with a loss below 0.1")
    assert chapter.names(block) == ["runs 1 to 10", "runs 11 to 20", "runs 21 to 30"]
    return [step for row in rows for step in row]


def test_starts(chapter):
    found = waits(False)
    assert first_steps(chapter, "starts") == found
    arrived = [t for t in found if t < 400]
    half = (found[14] + found[15]) // 2
    assert chapter.values("starts") == [str(len(arrived)), str(found[0]), str(half)]
    assert found[14] <= half


def test_learned(chapter):
    w_q, w_k, w_v = trained()[2]
    bilinear = (1.5 * w_q @ w_k.T / math.sqrt(8)).numpy()
    shown = [float(value.replace("−", "-")) for value in chapter.values("learned")]
    np.testing.assert_allclose(shown, bilinear[0, :4], rtol=0, atol=0.051)
    value = 1.5**0.5 * w_v.numpy()
    labels = ["a", "b", "c", "capital", "sign 1", "sign 2"]
    features = [chapter.column("learned-value", name) for name in labels]
    np.testing.assert_allclose(features, value, rtol=0, atol=0.0051)
    # What the text reads from it.
    letters = bilinear[:3, :3]
    assert np.diag(letters).min() > 2 > 0 > letters[~np.eye(3, dtype=bool)].max()
    assert bilinear[:3, 3].min() > 1.5
    assert max(np.abs(bilinear[3:]).max(), np.abs(bilinear[:, 4:]).max()) < 0.2
    assert np.abs(value[:3] + value[3]).max() < 0.1
    np.testing.assert_allclose(value[4:], 1.06 * np.eye(2), rtol=0, atol=0.02)


# ---------------------------------------------------------------- where to start


def test_rules(chapter):
    rows = chapter.table("rules")
    wanted = {
        "σ = 1": Fraction(1),
        "σ = 0.02": Fraction(1, 2500),
        "LeCun": Fraction(1, 512),
        "Xavier": Fraction(2, 512 + 64),
        "Kaiming": Fraction(2, 512),
    }
    for row, (name, v) in zip(rows, wanted.items(), strict=True):
        assert row[""] == name
        assert Fraction(row["v"]) == v
        found = [parse_number(row[f"variance of {one}"]) for one in "qs"]
        truth = [float(512 * v), float(64 * (512 * v) ** 2 / 64)]
        assert found == pytest.approx(truth, abs=5e-5)


def test_simulation(chapter):
    truths = [32, Fraction(32, 2500), 1, Fraction(64, 48), 2]
    largest = []
    for row, variance in zip(chapter.table("simulation"), truths, strict=True):
        formula = [parse_number(row[f"Var {one}, formula"]) for one in "qs"]
        assert formula == pytest.approx([float(variance), float(variance) ** 2], rel=5e-6)
        cells = [row[name] for name in ("q", "k", "s", "largest weight")]
        query, key, score, top = (parse_plus_minus(cell)[0] for cell in cells)
        assert agrees_within_error(query, variance)
        assert agrees_within_error(key, variance)
        assert agrees_within_error(score, variance**2)
        assert query[1] < 0.1 * float(variance)
        largest.append(top[0])
    # The order of the weights, by torch with its own draws.
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(4000, 8, 32, generator=generator, dtype=torch.float64)
    x = x / (x**2).mean(-1, keepdim=True).sqrt()
    w = torch.randn(2, 4000, 32, 16, generator=generator, dtype=torch.float64)
    for found, variance in zip(largest, truths, strict=True):
        scores = float(variance) / 32 * ((x[:, :1] @ w[0]) @ (x @ w[1]).mT)[:, 0] / 4
        assert found == pytest.approx(float(torch.softmax(scores, -1).amax(-1).mean()), abs=0.015)
    shown = [float(value) for value in chapter.values("simulation")]
    assert shown == pytest.approx([largest[i] for i in (0, 1, 2)], abs=0.0051)


def test_nearly_equal_weights(chapter):
    """With torch and sums written out; the reported weights' spread from their differences."""
    draw = np.random.default_rng(2017)
    ten, shared = map(torch.tensor, (draw.standard_normal((10, 64)), draw.standard_normal(64)))
    to_query, to_key = torch.tensor(draw.standard_normal((2, 64, 64)) / 8)
    short, alike = ten / 50, shared + ten / 1000
    rows = chapter.grid("nearly-equal")
    for row, tokens, factor in zip(rows, (ten, short, ten, alike), (1, 1, 0.16, 1), strict=True):
        scores = torch.einsum("a,ab,nc,cb->n", tokens[0], to_query, tokens, to_key)
        scores = scores * factor**2 / 8
        wanted = [
            (tokens**2).sum(dim=1).sqrt().mean(),
            ((tokens - tokens.mean(dim=0)) ** 2).sum(dim=1).sqrt().mean(),
            scores.max() - scores.min(),
            1 / (scores - scores.max()).exp().sum(),
        ]
        for shown, value, places in zip(row, wanted, (2, 3, 4, 4), strict=True):
            assert shown == pytest.approx(float(value), abs=0.51 * 10**-places)
    (gap,) = chapter.values("nearly-equal")
    assert float(gap) == pytest.approx((10.000114 - 9.999847) / 10, abs=5e-7)


def test_pytorch_start(chapter):
    linear, mha = chapter.table("pytorch")
    (of_linear,), (of_mha,) = (
        parse_plus_minus(one["variance of q, measured"]) for one in (linear, mha)
    )
    assert agrees_within_error(of_linear, 1 / 3)
    assert (linear["by formula"], linear["variance of s"]) == ("1/3", "1/9")
    assert agrees_within_error(of_mha, 1 / 2)
    assert not agrees_within_error(of_mha, 1 / 3)
    assert (mha["by formula"], mha["variance of s"]) == ("1/2", "1/4")


# ---------------------------------------------------------------- without the division

SETTINGS = {"scaled": (16, 1), "far": (16, 256), "wide": (1, 1 / 256), "raw": (1, 1)}
RATES = (0.1, 0.2, 0.5)
RUNS = 80  # from other starts and sequences than on the page


@functools.cache
def trained_apart():
    """Every setting with every rate, by autograd: each run's mean loss over its last 50 steps, and
    the share of rows above 0.99 before the first step, the second and the last."""
    generator = torch.Generator().manual_seed(11)
    w_q, w_k = torch.randn(2, RUNS, 6, 256, generator=generator, dtype=torch.float64) / 6**0.5
    w_v = torch.randn(RUNS, 6, 2, generator=generator, dtype=torch.float64) / 6**0.5
    # A loss sees products of these 12 rows, and a step makes each row a combination of the 12:
    # turned together until only 12 of their 256 columns are not 0, they learn the same.
    w_qk = torch.linalg.qr(torch.cat([w_q, w_k], 1).mT, mode="r").R.mT
    cases = [(eta, name) for eta in RATES for name in SETTINGS]
    tau, speed = double([SETTINGS[name] for _, name in cases]).T[..., None, None]
    eta = double([eta for eta, _ in cases])[:, None, None]
    parameters = [w[:, None].expand(-1, len(cases), -1, -1) for w in (*w_qk.split(6, dim=1), w_v)]
    losses, shares = [], []
    for step in range(300):
        signs = torch.randint(0, 2, (RUNS, 8, 6, 2), generator=generator) * 2.0 - 1
        x, wanted = task(signs.double())
        rates = (eta * speed, eta * speed, eta)
        parameters, loss, weights = together(parameters, x, wanted, tau, rates)
        losses.append(loss)
        if step in (0, 1, 299):
            shares.append((weights.amax(2) > 0.99).double().mean(dim=(0, 1, 3)))
    last = torch.stack(losses)[-50:].mean(0).T.numpy()
    return dict(zip(cases, zip(last, torch.stack(shares).T.tolist(), strict=True), strict=True))


def compared(eta, name):
    return trained_apart()[eta, name]


@functools.cache
def likely_median(eta, name):
    """Where the median of these runs lies, by a bootstrap of them."""
    last, _ = compared(eta, name)
    resampled = np.random.default_rng(5).choice(last, size=(4000, RUNS))
    return np.quantile(np.median(resampled, axis=1), [0.005, 0.995])


def agrees(row, runs, eta, name):
    """A count, and an interval of the median, against our own runs and a bootstrap of them."""
    count, cell = int(row[f"learned, of {runs}"]), row["median loss"]
    found = re.fullmatch(r"([\d.]+)–([\d.]+)", cell)
    low, high = float(found[1]), float(found[2])
    last, _ = compared(eta, name)
    share = float((last < 0.1).mean())
    allowed = 3 * math.sqrt(max(share * (1 - share), 0.02) * (1 / runs + 1 / RUNS))
    assert abs(count / runs - share) <= allowed, (cell, eta, name, share)
    own = likely_median(eta, name)
    assert low - 0.01 <= own[1], (cell, eta, name, own)
    assert own[0] <= high + 0.01, (cell, eta, name, own)
    # It is as wide as the binomial says of our runs: ranks of n at 95 %.
    spread = np.quantile(last, 0.5 + np.array([-0.98, 0.98]) / math.sqrt(runs))
    outward = 2 * 10.0 ** -len(found[1].partition(".")[2])  # of both ends, at most
    assert high - low <= 3 * (spread[1] - spread[0]) + outward, (cell, eta, name, spread)


def test_no_scale(chapter):
    table = []
    for row, (name, (tau, speed)) in zip(chapter.table("no-scale"), SETTINGS.items(), strict=True):
        assert (row["τ"], row["factor of the steps"]) == (str(tau), str(Fraction(speed)))
        agrees(row, 60, 0.5, name)
        table += [row["learned, of 60"], row["median loss"]]
    section = chapter.values("no-scale")
    in_table = section[: len(table)]
    assert in_table == table
    # How many rows have decided, at the start and at the end; at the start and after a step.
    wide, far = compared(0.5, "wide")[1], compared(0.5, "far")[1]
    said = [float(value) for value in section[len(table) : len(table) + 4]]
    assert said == pytest.approx([wide[0], wide[-1], far[0], far[1]], abs=0.08)
    # What the text says: either change alone holds the loss near that of a plain average.
    median = {name: np.median(compared(0.5, name)[0]) for name in SETTINGS}
    assert median["scaled"] < 0.02
    assert all(abs(median[name] - 5 / 6) < 0.08 for name in ("far", "wide"))
    assert all(not (compared(0.5, name)[0] < 0.1).any() for name in ("far", "wide"))
    assert 0.1 < (compared(0.5, "raw")[0] < 0.1).mean() < 0.4


def test_rates(chapter):
    rows = chapter.table("rates")
    cases = [(name, eta) for name in SETTINGS for eta in (0.1, 0.2)]
    titles = {
        "scaled": "scaled",
        "far": "large steps only",
        "wide": "saturated start only",
        "raw": "unscaled",
    }
    for row, (name, eta) in zip(rows, cases, strict=True):
        assert (row["setting"], row["η"]) == (titles[name], str(eta))
        agrees(row, 30, eta, name)
    # No rate of these cures a saturated start; at 0.1 scaled runs have mostly not arrived.
    assert all(compared(eta, "wide")[0].min() > 0.3 for eta in (0.1, 0.2, 0.5))
    assert (compared(0.1, "scaled")[0] < 0.1).mean() < 0.5
    # Two standard errors of a count of n are at most √n, twice the root of n/4, plus rounding.
    assert [math.ceil(2 * math.sqrt(n / 4) - 1e-9) for n in (60, 30)] == [8, 6]


def test_passes_back(chapter):
    rows = chapter.table("passes-back")
    training, _ = task_draws()
    x, wanted = task(training[:8])
    for number, (row, d_k) in enumerate(zip(rows, (16, 16, 64, 64, 256, 256), strict=True)):
        tau = 1 if number % 2 else math.sqrt(d_k)
        generator = torch.Generator().manual_seed(d_k)
        w = torch.randn(2, 400, 1, 6, d_k, generator=generator, dtype=torch.float64) / 6**0.5
        w_v = torch.randn(400, 1, 6, 2, generator=generator, dtype=torch.float64) / 6**0.5
        scores = ((x @ w[0]) @ (x @ w[1]).mT / tau).requires_grad_()
        weights = torch.softmax(scores, -1)
        weights.retain_grad()
        ((weights @ (x @ w_v) - wanted) ** 2).sum().backward()
        spread = weights.grad.amax(-1) - weights.grad.amin(-1)
        back = float((scores.grad.abs().sum(-1) / spread).mean())
        above = float((weights.detach().amax(-1) > 0.99).double().mean())
        (passed,) = parse_plus_minus(row["mean of Σ|dS| / R"])
        assert (row["d_k"], row["τ"]) == (str(d_k), "1" if tau == 1 else "√d_k")
        if tau == 1:
            assert parse_plus_minus(row["rows above 0.99"])[0][0] == pytest.approx(above, abs=0.03)
        else:
            assert row["rows above 0.99"] == "0.000"
            assert above < 5e-4
        assert passed[0] == pytest.approx(back, abs=2 * passed[1] + 0.003)


# ---------------------------------------------------------------- mistakes and exercises


def test_no_projections(chapter):
    _, others = task_draws()
    x, wanted = task(others)
    assert (torch.argmax(x @ x.mT, -1) == torch.arange(6)).all()
    weights = torch.softmax(x @ x.mT / math.sqrt(6), -1)
    own = weights.diagonal(dim1=-2, dim2=-1).mean()
    mixed, flat = (weights @ x).reshape(-1, 6), wanted.reshape(-1, 2)
    best = torch.linalg.pinv(mixed) @ flat  # least squares
    loss = float(((mixed @ best - flat) ** 2).mean())
    assert loss > 100 * trained()[0][400]
    of_a = [f"{float(weights[shown_example(), 3, j]):.2f}" for j in (3, 0)]
    inside = [*of_a, f"{on_right_token(weights):.2f}"]
    assert chapter.values("mistake-no-projections") == [*inside, f"{float(own):.2f}", f"{loss:.2f}"]


def test_diagonal(chapter):
    without, projections = chapter.table("mistake-diagonal")
    generator = torch.Generator().manual_seed(4)
    for d in (4, 16, 64):
        x = torch.randn(3000, 8, d, generator=generator, dtype=torch.float64)
        x = x / (x**2).mean(-1, keepdim=True).sqrt()
        weights = torch.softmax(x @ x.mT / math.sqrt(d), -1)
        own = weights.diagonal(dim1=-2, dim2=-1).mean()
        plain, projected = (
            parse_plus_minus(row[f"d_model = {d}"])[0] for row in (without, projections)
        )
        assert abs(plain[0] - float(own)) <= 3 * plain[1]
        assert agrees_within_error(projected, 1 / 8)  # random projections favour nobody
        assert not agrees_within_error(plain, 1 / 8)
    gram = product(X, transpose(X))
    assert gram[0][0] == gram[0][2]
    assert gram[2][2] == gram[2][1]


def test_exercises_with_a_pencil(chapter):
    # a = (1/2, 1/4, 1/4), g = (4, 0, 8): mean 4, so 1/2·0, 1/4·(-4), 1/4·4.
    assert chapter.output("exercise-pencil").splitlines() == ["Average of dA: 4", "dS = (0, -1, 1)"]
    variance = Fraction(768, 2500)
    wanted = [float(variance), float(variance**2), float(1 / mpmath.sqrt(768))]
    (row,) = chapter.table("exercise-sigma")
    assert list(row.values()) == [f"{one:.4f}" for one in wanted]
    # (3 - 10/24)/8, (1 - 10/24)·2/8 and ·5/8, and the right row in 64ths.
    wrong, right = (list(row.values())[1:] for row in chapter.table("exercise-bug"))
    mean = Fraction(10, 8) / 3
    row = [64 * Fraction(a, 8) * (g - mean) for a, g in zip((1, 2, 5), (3, 1, 1), strict=True)]
    assert [parse_number(cell) for cell in wrong] == [
        round(float(one), 2) for one in (*row, sum(row))
    ]
    assert right == ["14.00", "−4.00", "−10.00", "0.00"]


@functools.cache
def exercises_trained():
    """Keys that begin at 0, with the queries and without: the last loss, and whether they stay.
    Of two rates: how far the difference moved that keeps still, and how far its first part."""
    training, _ = task_draws()
    x, wanted = task(training)
    described, drifts = [], []
    for zero_query in (True, False):
        w_q, w_k, w_v = draw_start(SEED, 8)
        parameters = [w_q * (not zero_query), w_k * 0, w_v]
        for _ in range(400):
            parameters, loss = torch_step(parameters, x, wanted)
        described.append((float(loss), not parameters[1].any()))
    for eta, steps in ((0.5, 100), (0.05, 1000)):
        parameters = begun = draw_start(SEED, 8)
        for _ in range(steps):
            parameters, _ = torch_step(parameters, x, wanted, (eta,) * 3)
        squares = [
            [torch.einsum("mi,mj->ij", w, w) for w in some[:2]] for some in (begun, parameters)
        ]
        drift = (squares[1][0] - squares[1][1]) - (squares[0][0] - squares[0][1])
        moved = squares[1][0] - squares[0][0]
        drifts.append((float(drift.norm()), float(moved.norm())))
    return described, drifts


def test_exercises_that_train(chapter):
    rows = [list(row.values()) for row in chapter.table("exercise-zero")]
    kept = [list(row.values()) for row in chapter.table("exercise-kept")]
    described, drifts = exercises_trained()
    for row, zero_query, (loss, stuck) in zip(rows, (True, False), described, strict=True):
        assert row[1:] == [f"{loss:.3f}", "✓" if stuck else "✗"]
        assert stuck is zero_query
    for row, (drift, moved) in zip(kept, drifts, strict=True):
        assert row[1:] == [f"{drift:.4f}", f"{moved:.2f}"]


def test_exercise_with_the_value_known(chapter):
    known, unknown = waits(True), waits(False)
    assert first_steps(chapter, "exercise-value") == known
    halves = [str((one[14] + one[15]) // 2) for one in (known, unknown)]
    assert chapter.values("exercise-value") == [str(known[-1]), *halves]
    assert unknown[-1] == 400 and unknown[-2] < 400  # noqa: PT018


def test_exercises_of_proof(chapter):
    rng = np.random.default_rng(SEED)
    q, k, v, by_output = (double(rng.standard_normal(s)) for s in ((4, 5), (6, 5), (6, 2), (4, 2)))
    k.requires_grad_()
    output = sdpa(q, k, v)
    (output * by_output).sum().backward()
    short = (by_output * output.detach()).sum(-1).numpy()
    for name in ("row sum of dA ⊙ A", "row sum of dO ⊙ O"):
        found = chapter.column("exercise-shorter", name)
        np.testing.assert_allclose(found, short, rtol=0, atol=5.1e-5)
    sizes = k.grad.abs().sum(0).numpy()
    found = chapter.column("exercise-bias", "sum of absolute values")
    np.testing.assert_allclose(found, sizes, rtol=0, atol=5.1e-5)
    assert sizes.min() > 0.1
    assert chapter.column("exercise-bias", "sum") == [0] * 5
    assert k.grad.sum(0).abs().max() < 1e-12
    # A key bias gets no gradient, by autograd.
    q, k, v = normal(1, 4, 5), normal(2, 6, 5), normal(3, 6, 2)
    bias = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    (sdpa(q, k + bias, v) * normal(4, 4, 2)).sum().backward()
    assert bias.grad.abs().max() < 1e-14


def test_matrices_of_a_batch_get_gradients_of_their_own():
    """Each sequence has its parameters, and axes broadcast on both sides: torch's autograd."""
    rng = np.random.default_rng(11)
    sizes = {"x": (7, 3, 4), "w_query": (2, 1, 4, 2), "w_key": (7, 4, 2), "w_value": (1, 4, 5)}
    tensors = {
        name: torch.tensor(rng.normal(size=size), requires_grad=True)
        for name, size in sizes.items()
    }
    x, w_query, w_key, w_value = tensors.values()
    scores = (x @ w_query) @ (x @ w_key).mT / math.sqrt(2)
    weights = torch.softmax(scores, -1)
    output = weights @ (x @ w_value)
    by_output = torch.tensor(rng.normal(size=tuple(output.shape)))
    wanted = torch.autograd.grad(output, list(tensors.values()), by_output)
    arrays = [one.detach().numpy() for one in (*tensors.values(), weights, by_output)]
    for got, one in zip(self_attention_backward(*arrays), wanted, strict=True):
        assert got.shape == tuple(one.shape)
        np.testing.assert_allclose(got, one.numpy(), rtol=0, atol=1e-12)


ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-pencil": [[0, -1, 1], [2, 0, 2], [0, -4, 4]],
    "exercise-sigma": [(768 * 0.02**2) ** 2, 768 * 0.02**2, 1 / math.sqrt(768), 1 / 768],
    "exercise-bug": [10 / 8 - 10 / 24, 0],  # (3, 2, 5) / 8, and a third of their sum
}
test_what_exercises_ask = make_test_of_asked(ASKED)


def test_what_makes_a_loss_nan(chapter):
    """By hand: softmax of 200 and 0 is 1 and 0 in float32; cross-entropy is 200 − 0."""
    rows = [list(row.values())[1:] for row in chapter.table("nan")]
    assert rows == [["inf", "nan", "nan"], ["200", "1", "−1"], ["nan", "0", "0"]]
    g = torch.nn.Parameter(torch.zeros(3))
    g.grad = torch.tensor([1.0, 2.0, math.nan])
    torch.nn.utils.clip_grad_norm_([g], 1.0)
    spoilt = str(int(g.grad.isnan().sum()))
    assert chapter.values("nan-loss") == [f"{torch.tensor(1e-8).half().item():.0f}", spoilt]


def test_the_size_of_a_batch(chapter):
    """The best step for a noisy slope, found on a fine grid of rates: its drop gives the steps."""
    G, c, v = 3.0, 2.0, 18.0  # B₀ = v / G² = 2
    rates = np.linspace(0, 1, 200_001)
    endless = (rates * G**2 - c / 2 * rates**2 * G**2).max()
    for row, batch in zip(chapter.grid("batch-size"), (0.2, 2, 20), strict=True):
        drop = (rates * G**2 - c / 2 * rates**2 * (G**2 + v / batch)).max()
        steps = endless / drop
        tiny = 2.0  # texts, if batches are tiny: steps · batch goes to B₀
        assert row == pytest.approx([steps, steps * batch / tiny], abs=0.051)


def test_stairs_of_epochs(chapter):
    """One example of ten classes in torch."""
    z = torch.zeros(10, requires_grad=True)
    for row in chapter.grid("epochs"):
        loss = torch.nn.functional.cross_entropy(z, torch.tensor(0))
        assert row == pytest.approx([loss.item(), math.log(10)], abs=0.0051)
        (slope,) = torch.autograd.grad(loss, z)
        z = (z - slope).detach().requires_grad_()
