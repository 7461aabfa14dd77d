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
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attention_docs.attention_function import attention
from attention_docs.learning import (
    attention_backward,
    entry_variance,
    finite_differences,
    self_attention_backward,
)
from tests.conftest import each_language
from tests.exact import W_KEY, W_QUERY, W_VALUE, X, holds, pm, product, transpose

few = settings(max_examples=60, deadline=None)
SEED = 2017

ORDER = [0, 1, 2, 0, 1, 2]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads only slow down tensors as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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


@pytest.mark.parametrize(
    ("rule", "draw"),
    [("kaiming", torch.nn.init.kaiming_normal_), ("xavier", torch.nn.init.xavier_normal_)],
)
def test_entry_variance_like_torch(rule, draw):
    torch.manual_seed(1)
    entries = draw(torch.empty(300, 200))  # torch: (out, in)
    assert float(entries.var()) == pytest.approx(entry_variance(rule, 200, 300), rel=0.03)


def test_entry_variance_errors():
    with pytest.raises(ValueError, match="'lecun', 'kaiming' or 'xavier', got 'he'"):
        entry_variance("he", 2, 3)
    with pytest.raises(ValueError, match="at least 1, got 0 and 3"):
        entry_variance("lecun", 0, 3)


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


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dtypes(dtype):
    arrays = [normal(i, *s) for i, s in enumerate([(2, 3, 5), (2, 4, 5), (2, 4, 6), (2, 3, 6)])]
    q, k, v, by_output = arrays
    truth = attention_backward(q, k, v, attention(q, k, v)[1], by_output)
    q, k, v, by_output = (one.to(dtype) for one in arrays)
    found = attention_backward(q, k, v, attention(q, k, v)[1], by_output)
    for mine, exact in zip(found, truth, strict=True):
        assert mine.dtype == dtype
        assert (mine.double() - exact).abs().max() < 30 * torch.finfo(dtype).eps


def test_masked_pairs_get_no_gradient():
    q, k, v = normal(1, 3, 5), normal(2, 4, 5), normal(3, 4, 2)
    mask = torch.tensor([[True, True, False, False], [False] * 4, [True, False, False, True]])
    _, weights = attention(q, k, v, mask)
    by_query, by_key, by_value = attention_backward(q, k, v, weights, normal(4, 3, 2))
    assert not by_query[1].any()  # an empty row
    assert not by_key[2].any()  # a key that nobody sees
    assert not by_value[2].any()
    assert by_query[0].all()
    assert by_key[0].all()


def test_backward_errors():
    def zeros(*sizes):
        return np.zeros(sizes)

    good = [zeros(2, 3, 5), zeros(2, 4, 5), zeros(2, 4, 6), zeros(2, 3, 4), zeros(2, 3, 6)]
    assert [one.shape for one in attention_backward(*good)] == [one.shape for one in good[:3]]
    cases = [
        (1, zeros(2, 4, 7), r"share d_k, got \(2, 3, 5\) and \(2, 4, 7\)"),
        (2, zeros(2, 7, 6), r"number of tokens, got \(2, 4, 5\) and \(2, 7, 6\)"),
        (3, zeros(2, 4, 3), r"weights must have the shape \(2, 3, 4\), got \(2, 4, 3\)"),
        (3, zeros(3, 4), r"weights must have the shape \(2, 3, 4\), got \(3, 4\)"),
        (4, zeros(2, 3, 5), r"by_output must have the shape \(2, 3, 6\), got \(2, 3, 5\)"),
        (0, zeros(7, 3, 5), r"must broadcast together, got \(7,\) and \(2,\)"),
        (4, zeros(6), r"by_output must have at least 2 axes"),
        (2, zeros(2, 0, 6), r"value must not be empty"),
    ]
    for place, wrong, message in cases:
        with pytest.raises(ValueError, match=message):
            attention_backward(*good[:place], wrong, *good[place + 1 :])
    with pytest.raises(TypeError, match="by_output must hold real floats, got int64"):
        attention_backward(*good[:4], np.zeros((2, 3, 6), dtype=np.int64))
    with pytest.raises(TypeError, match="share a dtype, got float64 and float32"):
        attention_backward(*good[:4], np.zeros((2, 3, 6), dtype=np.float32))
    x, w = zeros(3, 4), zeros(5, 2)
    with pytest.raises(ValueError, match=r"x and w_key must share d_model, got \(3, 4\) and"):
        self_attention_backward(x, zeros(4, 2), w, zeros(4, 2), zeros(3, 3), zeros(3, 2))


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


# ---------------------------------------------------------------- start and gradients


def eight_steps():
    """Inputs and parameters as tensors with gradients, the outputs, and half their squares."""
    tensors = [double(m).requires_grad_() for m in (X, W_QUERY, W_KEY, W_VALUE)]
    x, w_q, w_k, w_v = tensors
    output = sdpa(x @ w_q, x @ w_k, x @ w_v)
    return tensors, output, 0.5 * (output**2).sum()


@pytest.mark.site
@each_language
def test_descent(page, lang):
    chapter = page(lang, "learning")
    tensors, _, loss = eight_steps()
    loss.backward()
    slope = sum(float((t.grad**2).sum()) for t in tensors[1:])
    first, *lines = chapter.output("descent").splitlines()
    loss = loss.detach()
    assert first == f"loss {float(loss):.4f} sum of squared derivatives {slope:.1f}"
    for line, eta in zip(lines, (0.01, 0.001, 0.0001), strict=True):
        x, *moved = [t.detach() - (i > 0) * eta * t.grad for i, t in enumerate(tensors)]
        after = 0.5 * float((sdpa(*(x @ w for w in moved)) ** 2).sum())
        share = (float(loss) - after) / (eta * slope)
        assert line == f"η = {eta:.4f}: loss {after:.3f}, fall / promised fall {share:.3f}"
        assert 0.8 < share < 1


@pytest.mark.site
@each_language
def test_rules(page, lang):
    lines = page(lang, "learning").output("rules").splitlines()
    wanted = {
        "Gaussian, σ = 1": Fraction(1),
        "Gaussian, σ = 0.02": Fraction(1, 2500),
        "LeCun": Fraction(1, 512),
        "Xavier": Fraction(2, 512 + 64),
        "Kaiming": Fraction(2, 512),
    }
    for line, (name, v) in zip(lines, wanted.items(), strict=True):
        assert line.startswith(name)
        cells = line[len(name) :].split()
        assert Fraction(cells[0]) == v
        assert float(cells[1]) == pytest.approx(float(512 * v), abs=5e-5)
        assert float(cells[2]) == pytest.approx(float(64 * (512 * v) ** 2 / 64), abs=5e-5)


@pytest.mark.site
@each_language
def test_simulation(page, lang):
    blocks = re.split(r"\n(?=\S)", page(lang, "learning").output("simulation"))
    truths = [32, Fraction(32, 2500), 1, Fraction(64, 48), 2]
    largest = []
    for block, variance in zip(blocks, truths, strict=True):
        formula = re.search(r"formula ([\d.]+) and ([\d.]+)", block)
        assert float(formula[1]) == pytest.approx(float(variance), abs=5e-5)
        assert float(formula[2]) == pytest.approx(float(variance) ** 2, abs=5e-7)
        query, key, score, top = pm(block)
        assert holds(query, variance)
        assert holds(key, variance)
        assert holds(score, variance**2)
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


@pytest.mark.site
@each_language
def test_pytorch_start(page, lang):
    linear, mha = page(lang, "learning").output("pytorch").splitlines()
    assert holds(pm(linear)[0], 1 / 3)
    assert linear.endswith("formula 1/3, of scores 1/9")
    assert holds(pm(mha)[0], 1 / 2)
    assert not holds(pm(mha)[0], 1 / 3)
    assert mha.endswith("formula 1/2, of scores 1/4")


@pytest.mark.site
@each_language
def test_functions_shown(page, lang):
    chapter = page(lang, "learning")
    assert "by_products = by_scores / sqrt(query.shape[-1])" in chapter.output("function")
    assert '"""' not in chapter.output("function")
    assert chapter.output("parameters").startswith("def self_attention_backward(")


@pytest.mark.site
@each_language
def test_by_hand(page, lang):
    chapter = page(lang, "learning")
    # a = (1, 2, 5)/8 and g = (3, 1, 1): mean 10/8, a_j (g_j - 10/8) = 14/64, -4/64, -10/64.
    by_scores = [Fraction(14, 64), Fraction(-4, 64), Fraction(-10, 64)]
    first, second, third, fourth, fifth = chapter.output("by-hand").splitlines()
    assert first == "dV 1/8 1/4 5/8"
    assert second == "dA 3 1 1  mean 5/4"
    assert third == "dS " + " ".join(map(str, by_scores)) + "  sum 0"
    assert fourth.split()[1:4] == [str(s) for s in by_scores]
    assert fifth.split()[1:4] == [str(2 * s) for s in by_scores]
    assert chapter.values("by-hand") == ["5/4"]
    # dQ by mpmath: half the sum of dS times the keys.
    logs = [mpmath.log(n) for n in (1, 2, 5)]
    first_component = sum(float(s) * z for s, z in zip(by_scores, logs, strict=True)) / 2
    wanted = [float(first_component), *(float(2 * s) for s in by_scores)]
    package = chapter.output("by-package").splitlines()
    np.testing.assert_allclose(chapter.array("by-package", 3)[0], wanted, rtol=0, atol=5.1e-5)
    np.testing.assert_allclose(chapter.array("by-package", 2), [float(s) for s in by_scores])
    np.testing.assert_allclose(chapter.array("by-package", 1), [1 / 8, 2 / 8, 5 / 8])
    assert package[-1] == "same as by hand: True"


@pytest.mark.site
@each_language
def test_checks(page, lang):
    lines = page(lang, "learning").output("checks").splitlines()
    names = ["no mask", "causal mask", "padding mask", "added mask", "shared keys"]
    assert [line[:13].strip() for line in lines] == names
    assert all(line.endswith("autograd True, differences True") for line in lines)


@pytest.mark.site
@each_language
def test_error_of_differences(page, lang):
    lines = page(lang, "learning").output("steps").splitlines()
    tensors, _, loss = eight_steps()
    loss.backward()

    def moved(i, j, h):
        w = double(W_QUERY)
        w[i, j] += h
        x, k, v = double(X), double(W_KEY), double(W_VALUE)
        return 0.5 * float((sdpa(x @ w, x @ k, x @ v) ** 2).sum())

    for line, h in zip(lines, (1e-1, 1e-2, 1e-3), strict=True):
        errors = [
            abs((moved(i, j, h) - moved(i, j, -h)) / (2 * h) - float(tensors[1].grad[i, j]))
            for i, j in itertools.product(range(4), range(3))
        ]
        assert line == f"h = {h:.0e}: largest error {max(errors):.1e}"


@pytest.mark.site
@each_language
def test_eight_steps_gradients(page, lang):
    chapter = page(lang, "learning")
    tensors, _, loss = eight_steps()
    loss.backward()
    assert chapter.output("eight-steps").count("same as autograd: True") == 4
    for i, tensor in enumerate(tensors):
        shown = chapter.array("eight-steps", i)
        np.testing.assert_allclose(shown, tensor.grad.numpy(), rtol=0, atol=5.1e-5)


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


def torch_step(parameters, x, wanted, eta, scale):
    """One step by torch's attention and autograd; parameters end on the grid of 2**-16."""
    parameters = [p.detach().requires_grad_() for p in parameters]
    w_q, w_k, w_v = parameters
    errors = (sdpa(x @ w_q, x @ w_k, x @ w_v, scale=scale) - wanted) ** 2
    losses = errors.mean(dim=(-3, -2, -1))
    losses.sum().backward()
    with torch.no_grad():
        moved = [torch.round((p - eta * p.grad) * 65536) / 65536 for p in parameters]
    return moved, losses.detach()


def task_draws():
    rng = np.random.default_rng(SEED)
    return (double(rng.choice([1.0, -1.0], size=(n, 6, 2))) for n in (48, 200))


@functools.cache
def trained():
    """Losses of 401 steps, on the training sequences and on the others, and the parameters."""
    training, others = task_draws()
    x, wanted = task(training)
    parameters = first = draw_start(SEED, 8)
    losses = []
    for _ in range(401):
        before = parameters
        parameters, loss = torch_step(parameters, x, wanted, 0.5, None)
        losses.append((float(loss), evaluate(before, others)[0]))
    return losses, first, parameters


def evaluate(parameters, signs):
    """Loss, share of right signs, weights."""
    x, wanted = task(signs)
    w_q, w_k, w_v = parameters
    weights = torch.softmax((x @ w_q) @ (x @ w_k).mT / math.sqrt(w_q.shape[-1]), -1)
    outputs = weights @ (x @ w_v)
    right = (outputs * wanted > 0).double().mean()
    return float(((outputs - wanted) ** 2).mean()), float(right), weights


@pytest.mark.site
@each_language
def test_task(page, lang):
    tokens, wanted, unit = page(lang, "learning").output("task").splitlines()
    shown = tokens.split()[1:]
    _, others = task_draws()
    for name, token, signs in zip("ABCabc", shown, others[0].tolist(), strict=True):
        assert token == name + "".join("+" if s > 0 else "-" for s in signs)
    capitals = {token[0].lower(): token[1:] for token in shown[:3]}
    assert wanted.split()[1:] == [capitals[token[0].lower()] for token in shown]
    assert unit.endswith("True")


@pytest.mark.site
@each_language
def test_ideal(page, lang):
    lines = page(lang, "learning").output("ideal").splitlines()
    for line, m in zip(lines, (6, 3, 2, 1), strict=True):
        # With c = 1 the error is y minus the mean of m signs, one of them y: count all cases.
        cases = itertools.product((-1, 1), repeat=m)
        losses = [(s[0] - Fraction(sum(s), m)) ** 2 for s in cases]
        loss = sum(losses, Fraction(0)) / len(losses)
        assert line.endswith(f"loss {float(loss):.4f}, formula {loss}")


@pytest.mark.site
@each_language
def test_training(page, lang):
    chapter = page(lang, "learning")
    losses, first, last = trained()
    *lines, right = chapter.output("train").splitlines()
    for line, t in zip(lines, (0, 10, 25, 50, 100, 200, 400), strict=True):
        assert line == f"step {t:3d}: loss {losses[t][0]:.3f}, kept back {losses[t][1]:.3f}"
    _, others = task_draws()
    before, after = (evaluate(p, others)[1] for p in (first, last))
    assert right == f"right signs: before {before:.1%}, after {after:.1%}"
    # What the text says: near a plain average at step 25, and learned at the end.
    assert abs(losses[25][1] - 5 / 6) < 0.05
    assert losses[400][1] < 0.01
    assert after == 1


@pytest.mark.site
@each_language
def test_maps(page, lang):
    chapter = page(lang, "learning")
    _, first, last = trained()
    _, others = task_draws()
    for line, parameters in zip(
        chapter.output("right-weight").splitlines(), (first, last), strict=True
    ):
        weights = evaluate(parameters, others)[2]
        right = torch.stack([weights[:, i, letter] for i, letter in enumerate(ORDER)])
        mean, least = float(right.mean()), float(right.min())
        assert line.endswith(f"mean {mean:.2f}, smallest {least:.2f}")
    # The largest weight of every row of every sequence is on the right token.
    assert weights.argmax(-1).tolist() == [ORDER] * 200
    shown = f"{float(weights[0, 3, 0]):.2f}"
    assert chapter.values("maps")[-1] == shown


@pytest.mark.site
@each_language
def test_learned(page, lang):
    chapter = page(lang, "learning")
    w_q, w_k, w_v = trained()[2]
    bilinear = (1.5 * w_q @ w_k.T / math.sqrt(8)).numpy()
    shown = [float(value) for value in chapter.values("learned")]
    np.testing.assert_allclose(shown, bilinear[0, :4], rtol=0, atol=0.051)
    value = 1.5**0.5 * w_v.numpy()
    np.testing.assert_allclose(chapter.array("learned-value"), value.T, rtol=0, atol=0.051)
    # What the text reads from it.
    letters = bilinear[:3, :3]
    assert np.diag(letters).min() > 2 > 0 > letters[~np.eye(3, dtype=bool)].max()
    assert bilinear[:3, 3].min() > 1.5
    assert max(np.abs(bilinear[3:]).max(), np.abs(bilinear[:, 4:]).max()) < 0.2
    assert np.abs(value[:3] + value[3]).max() < 0.1
    np.testing.assert_allclose(value[4:], 1.07 * np.eye(2), rtol=0, atol=0.05)


@functools.cache
def compared(d_k, eta, raw):
    """Mean loss of each of 6 runs over the last 50 of 300 steps, by torch."""
    starts = zip(*(draw_start(seed, d_k) for seed in range(6)), strict=True)
    parameters = [torch.stack(w)[:, None] for w in starts]
    rng = np.random.default_rng(SEED)
    signs = double(rng.choice([1.0, -1.0], size=(300, 6, 8, 6, 2)))
    losses = []
    for these in signs:
        parameters, loss = torch_step(parameters, *task(these), eta, 1.0 if raw else None)
        losses.append(loss)
    return torch.stack(losses)[-50:].mean(0).numpy()


@pytest.mark.site
@each_language
def test_no_scale(page, lang):
    chapter = page(lang, "learning")
    _, *lines = chapter.output("no-scale").splitlines()
    cases = itertools.product((16, 256), (0.1, 0.2, 0.5))
    for line, (d_k, eta) in zip(lines, cases, strict=True):
        cells = []
        for name in ("scaled", "raw"):
            last = compared(d_k, eta, name == "raw")
            cells.append(f"{name} {last.mean():.2f} ({last.min():.2f} to {last.max():.2f})")
        assert line == f"d_k = {d_k:3d}, η = {eta:.1f}: " + ", ".join(cells)
    # What the text says of them.
    scaled, raw = (
        {eta: compared(256, eta, is_raw) for eta in (0.1, 0.2, 0.5)} for is_raw in (False, True)
    )
    assert all(raw[eta].mean() > scaled[eta].mean() for eta in scaled)
    assert min(scaled, key=lambda eta: scaled[eta].mean()) == 0.5
    assert min(raw, key=lambda eta: raw[eta].mean()) == 0.2
    assert max(raw[0.5].min(), scaled[0.5].max()) < 0.02 < 0.4 < raw[0.5].mean()
    assert compared(16, 0.1, True).mean() < compared(16, 0.1, False).mean()


@pytest.mark.site
@each_language
def test_first_steps(page, lang):
    lines = page(lang, "learning").output("first-steps").splitlines()
    training, _ = task_draws()
    x, _ = task(training[:8])
    for line, d_k in zip(lines, (16, 64, 256), strict=True):
        generator = torch.Generator().manual_seed(d_k)
        w = torch.randn(2, 400, 1, 6, d_k, generator=generator, dtype=torch.float64) / 6**0.5
        scores = (x @ w[0]) @ (x @ w[1]).mT
        above = (torch.softmax(scores, -1).amax(-1) > 0.99).double().mean()
        assert line.startswith(f"d_k = {d_k:3d}: scaled 0.000, raw ")
        assert pm(line)[0][0] == pytest.approx(float(above), abs=0.03)


# ---------------------------------------------------------------- mistakes and exercises


@pytest.mark.site
@each_language
def test_no_projections(page, lang):
    chapter = page(lang, "learning")
    lines = chapter.output("mistake-no-projections").splitlines()
    assert [line.endswith("True") for line in lines[:3]] == [True, False, True]
    _, others = task_draws()
    x, wanted = task(others)
    weights = torch.softmax(x @ x.mT / math.sqrt(6), -1)
    own = weights.diagonal(dim1=-2, dim2=-1).mean()
    right = torch.stack([weights[:, i, letter] for i, letter in enumerate(ORDER)]).mean()
    mixed, flat = (weights @ x).reshape(-1, 6), wanted.reshape(-1, 2)
    best = torch.linalg.pinv(mixed) @ flat  # least squares
    loss = float(((mixed @ best - flat) ** 2).mean())
    assert lines[3].endswith(f"mean {float(own):.2f}")
    assert lines[4].endswith(f"mean {float(right):.2f}")
    assert lines[5].endswith(f": {loss:.2f}")
    assert loss > 100 * trained()[0][400][1]
    shown = chapter.values("mistake-no-projections")[:2]
    assert shown == [f"{float(weights[0, 3, j]):.2f}" for j in (3, 0)]


@pytest.mark.site
@each_language
def test_diagonal(page, lang):
    chapter = page(lang, "learning")
    lines = chapter.output("mistake-diagonal").splitlines()
    generator = torch.Generator().manual_seed(4)
    for line, d in zip(lines, (4, 16, 64), strict=False):
        x = torch.randn(3000, 8, d, generator=generator, dtype=torch.float64)
        x = x / (x**2).mean(-1, keepdim=True).sqrt()
        weights = torch.softmax(x @ x.mT / math.sqrt(d), -1)
        own = weights.diagonal(dim1=-2, dim2=-1).mean()
        plain, projected = pm(line)
        assert abs(plain[0] - float(own)) <= 3 * plain[1]
        assert holds(projected, 1 / 8)  # random projections favour nobody
        assert not holds(plain, 1 / 8)
    gram = product(X, transpose(X))
    np.testing.assert_array_equal(chapter.array("mistake-diagonal"), gram)
    assert gram[0][0] == gram[0][2]
    assert gram[2][2] == gram[2][1]


@pytest.mark.site
@each_language
def test_root_dropped(page, lang):
    chapter = page(lang, "learning")
    lines = chapter.output("mistake-gradient-scale").splitlines()
    for i, (name, ratio) in enumerate((("dQ", math.sqrt(3)), ("dK", math.sqrt(3)), ("dV", 1))):
        assert lines[2 * i] == f"{name}: right passes True, wrong passes {name == 'dV'}"
        assert lines[2 * i + 1].split() == f"wrong / tried {ratio:.4f}, same direction True".split()
    assert chapter.values("mistake-gradient-scale") == [f"{math.sqrt(3):.4f}"]
    # It trains all the same: the gradients of W_Q and W_K times √8.
    training, others = task_draws()
    x, wanted = task(training)
    parameters = draw_start(SEED, 8)
    for _ in range(400):
        parameters = [p.detach().requires_grad_() for p in parameters]
        w_q, w_k, w_v = parameters
        ((sdpa(x @ w_q, x @ w_k, x @ w_v) - wanted) ** 2).mean().backward()
        rates = (0.5 * 8**0.5, 0.5 * 8**0.5, 0.5)
        with torch.no_grad():
            parameters = [p - r * p.grad for p, r in zip(parameters, rates, strict=True)]
    below = evaluate(parameters, others)[0] < 0.01
    assert chapter.output("mistake-unnoticed").endswith(f"below 0.01: {below}")
    assert below


@pytest.mark.site
@each_language
def test_exercises(page, lang):
    chapter = page(lang, "learning")
    training, _ = task_draws()
    x, wanted = task(training)
    both, one = chapter.output("exercise-1").splitlines()
    for line, zero_query in ((both, True), (one, False)):
        w_q, w_k, w_v = draw_start(SEED, 8)
        parameters = [w_q * (not zero_query), w_k * 0, w_v]
        for _ in range(400):
            parameters, loss = torch_step(parameters, x, wanted, 0.5, None)
        stuck = not parameters[1].any()
        assert line.endswith(f"loss {float(loss):.2f}, all weights 1/6: {stuck}")
        assert stuck is zero_query
    assert chapter.output("exercise-2") == "the same: True"
    first, second = chapter.output("exercise-3").splitlines()
    variance = Fraction(768, 2500)
    assert first == f"variance of q {float(variance):.4f}, of scores {float(variance**2):.4f}"
    assert second == f"σ for variance 1: {float(1 / mpmath.sqrt(768)):.4f}"
