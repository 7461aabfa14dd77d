"""Learning W_Q, W_K and W_V: the start, the gradients, and a small task."""

# --8<-- [start:setup]
import ast
import inspect
from fractions import Fraction
from itertools import product
from math import floor, log, log10, sqrt

import numpy as np
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attention_docs.attention_function import attention
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import bar_chart, heatmap, line_chart
from attention_docs.learning import (
    attention_backward,
    entry_variance,
    finite_differences,
    self_attention_backward,
)
from attention_docs.masking import causal_mask
from attention_docs.scaling import dot_variance, mean_interval, variance_interval
from attention_docs.score_functions import scaled_dot
from attention_docs.softmax import softmax
from attention_docs.text import number, text

SEED = 2017


def plus_minus(value, error):
    """Value ± error, with as many decimals as the first digit of the error."""
    decimals = max(0, -floor(log10(error)))
    return f"{number(value, f'.{decimals}f')} ± {number(error, f'.{decimals}f')}"


# --8<-- [end:setup]


# --8<-- [start:descent]
def half_square(W_Q, W_K, W_V):
    """Half the sum of the squared outputs: a loss for trying things out."""
    outputs, weights = attention(INPUTS @ W_Q, INPUTS @ W_K, INPUTS @ W_V)
    return 0.5 * float((outputs**2).sum()), outputs, weights


parameters = (W_QUERY, W_KEY, W_VALUE)
before, outputs, weights = half_square(*parameters)
# The gradient of half a square by the outputs is the outputs themselves.
_, *gradients = self_attention_backward(INPUTS, *parameters, weights, outputs)
slope = sum(float((g**2).sum()) for g in gradients)
print("loss", number(before, ".4f"), "sum of squared derivatives", number(slope, ".1f"))
kept = {}
for eta in (0.01, 0.001, 0.0001):
    moved = [W - eta * g for W, g in zip(parameters, gradients, strict=True)]
    after = half_square(*moved)[0]
    kept[eta] = (before - after) / (eta * slope)
    print(f"η = {eta:.4f}: loss {after:.3f}, fall / promised fall {kept[eta]:.3f}")
# --8<-- [end:descent]

# --8<-- [start:rules]
d_model, d_k = 512, 64
table = {}
for name, v in {
    "Gaussian, σ = 1": Fraction(1),
    "Gaussian, σ = 0.02": Fraction(2, 100) ** 2,
    "LeCun": entry_variance("lecun", d_model, d_k),
    "Xavier": entry_variance("xavier", d_model, d_k),
    "Kaiming": entry_variance("kaiming", d_model, d_k),
}.items():
    query_variance = d_model * v  # of q_i; the same for k_i
    score_variance = query_variance**2 * dot_variance(d_k) / d_k
    table[name] = v, query_variance, score_variance
    of_q, of_score = float(query_variance), float(score_variance)
    print(f"{name:19} {v!s:>7} {of_q:10.4f} {of_score:12.4f}")
# --8<-- [end:rules]


# --8<-- [start:simulation]
def first_moments(v, d_model=32, d_k=16, n=8, draws=4_000):
    """One token looks at n tokens; parameters and tokens are drawn anew each time."""
    x = rng.standard_normal((draws, n, d_model))
    x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True))  # mean square 1
    W_Q, W_K = sqrt(v) * rng.standard_normal((2, draws, d_model, d_k))
    query, key = x[:, :1] @ W_Q, x @ W_K
    scores = scaled_dot(query, key)[:, 0]  # (draws, n)
    largest = softmax(scores).max(axis=-1)
    # One component and one score of each draw, so that the samples are independent.
    samples = query[:, 0, 0], key[:, 1, 0], scores[:, 1]
    return [*(variance_interval(one) for one in samples), mean_interval(largest)]


rng = np.random.default_rng(SEED)
simulated = {}
for name, v in {
    "Gaussian, σ = 1": Fraction(1),
    "Gaussian, σ = 0.02": Fraction(2, 100) ** 2,
    "LeCun": entry_variance("lecun", 32, 16),
    "Xavier": entry_variance("xavier", 32, 16),
    "Kaiming": entry_variance("kaiming", 32, 16),
}.items():
    simulated[name] = first_moments(v)
    print(f"{name}: formula {float(32 * v):.4f} and {float((32 * v) ** 2):.6f}")
    cells = [plus_minus(*interval) for interval in simulated[name]]
    for what, cell in zip(("query", "key", "score", "largest"), cells, strict=True):
        print(f"    {what:8} {cell}")
# --8<-- [end:simulation]

# --8<-- [start:start-figure]
bar_chart(
    list(simulated),
    [("largest weight", [intervals[3][0] for intervals in simulated.values()])],
    ylabel={"en": "largest weight, mean", "zh": "最大权重的均值"},
    spec=".2f",
)
# --8<-- [end:start-figure]

# --8<-- [start:pytorch]
torch.manual_seed(SEED)
d_model, heads = 64, 4
layers = {
    "nn.Linear": (nn.Linear(d_model, 192).weight, Fraction(1, 3)),
    "nn.MultiheadAttention": (
        nn.MultiheadAttention(d_model, heads).in_proj_weight,
        d_model * entry_variance("xavier", d_model, 3 * d_model),
    ),
}
in_torch = {}
for name, (W, formula) in layers.items():
    entries = W.detach().double().numpy().ravel()
    variance, error = variance_interval(entries)
    in_torch[name] = d_model * variance, d_model * error
    found = plus_minus(*in_torch[name])
    print(f"{name}: variance of q {found}, formula {formula}, of scores {formula**2}")
# --8<-- [end:pytorch]


# --8<-- [start:function]
def code(function):
    """The source of a function from its module, without the docstring."""
    lines = inspect.getsource(function).splitlines()
    docstring = ast.parse("\n".join(lines)).body[0].body[0]
    return "\n".join(lines[: docstring.lineno - 1] + lines[docstring.end_lineno :])


print(code(attention_backward))
# --8<-- [end:function]

# --8<-- [start:parameters]
print(code(self_attention_backward))
# --8<-- [end:parameters]

# --8<-- [start:by-hand]
weights = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]  # A
by_output, value = 1, [3, 1, 1]  # dO and V
by_value = [a * by_output for a in weights]  # dV
by_weights = [by_output * v for v in value]  # dA
mean = sum(a * by_a for a, by_a in zip(weights, by_weights, strict=True))
by_scores = [a * (by_a - mean) for a, by_a in zip(weights, by_weights, strict=True)]
print("dV", *by_value)
print("dA", *by_weights, " mean", mean)
print("dS", *by_scores, " sum", sum(by_scores))

root, q1 = 2, 2  # √d_k, and component 1 of the query
by_key_1 = [s * q1 / root for s in by_scores]
by_query_rest = [s * 4 / root for s in by_scores]  # each key has its own 4
print("dK", *by_key_1, " in component 1, 0 elsewhere")
print("dQ", *by_query_rest, " in components 2 to 4")
# --8<-- [end:by-hand]

# --8<-- [start:by-package]
query = np.array([[2.0, 0, 0, 0]])
key = np.array([[log(1), 4, 0, 0], [log(2), 0, 4, 0], [log(5), 0, 0, 4]])
value = np.array([[3.0], [1], [1]])
output, weights = attention(query, key, value)
one = np.ones((1, 1))
by_query, by_key, by_value = attention_backward(query, key, value, weights, one)
print("A ", text(weights, ".4f"))
print("dV", text(by_value[:, 0], ".4f"))
print("dK", text(by_key[:, 0], ".5f"))
print("dQ", text(by_query, ".4f"))
apart = [abs(float(f) - d) for f, d in zip(by_query_rest, by_query[0, 1:], strict=True)]
print("same as by hand:", max(apart) < 1e-12)
# --8<-- [end:by-package]

# --8<-- [start:checks]
rng = np.random.default_rng(SEED)
query = rng.standard_normal((2, 3, 4, 5))  # (batch, heads, n_q, d_k)
key = rng.standard_normal((2, 3, 6, 5))
value = rng.standard_normal((2, 3, 6, 2))
by_output = rng.standard_normal((2, 3, 4, 2))
one_key, one_value = key[:, :1], value[:, :1]  # one head's keys and values for all
padding = np.arange(6) < np.array([4, 6])[:, None, None, None]  # lengths 4 and 6
added = rng.standard_normal((4, 6))
added[:, 2] = -np.inf
cases = {
    "no mask": (key, value, None),
    "causal mask": (key, value, causal_mask(4, 6)),
    "padding mask": (key, value, padding),
    "added mask": (key, value, added),
    "shared keys": (one_key, one_value, causal_mask(4, 6)),
}
agreement = {}
for name, (k, v, mask) in cases.items():
    _, weights = attention(query, k, v, mask)
    by_hand = attention_backward(query, k, v, weights, by_output)

    # PyTorch: its own forward function and its own backward pass.
    tensors = [torch.tensor(array, requires_grad=True) for array in (query, k, v)]
    q, *shared = tensors
    wide = [one.expand(2, 3, 6, -1) for one in shared]
    its_mask = None if mask is None else torch.tensor(mask)
    sdpa(q, *wide, attn_mask=its_mask).backward(torch.tensor(by_output))

    # The forward function alone, moved entry by entry.
    def loss_of(index, array, arrays=(query, k, v), mask=mask):
        moved = list(arrays)
        moved[index] = array
        return float((attention(*moved, mask)[0] * by_output).sum())

    errors = []
    for i, (mine, tensor) in enumerate(zip(by_hand, tensors, strict=True)):
        tried = finite_differences(lambda a, i=i: loss_of(i, a), (query, k, v)[i])
        autograd = np.abs(mine - tensor.grad.numpy()).max()
        errors.append((autograd, np.abs(mine - tried).max()))
    autograd, tried = (max(column) for column in zip(*errors, strict=True))
    agreement[name] = bool(autograd < 1e-12), bool(tried < 1e-8)
    print(f"{name:13} autograd {agreement[name][0]}, differences {agreement[name][1]}")
# --8<-- [end:checks]

# --8<-- [start:steps]
_, outputs, weights = half_square(*parameters)
by_hand = self_attention_backward(INPUTS, *parameters, weights, outputs)[1]
off = {}
for h in (1e-1, 1e-2, 1e-3):

    def loss_of_query(W):
        return half_square(W, W_KEY, W_VALUE)[0]

    tried = finite_differences(loss_of_query, W_QUERY, step=h)
    off[h] = np.abs(tried - by_hand).max()
    print(f"h = {h:.0e}: largest error {off[h]:.1e}")
# --8<-- [end:steps]

# --8<-- [start:eight-steps]
tensors = [torch.tensor(array, requires_grad=True) for array in (INPUTS, *parameters)]
x, w_query, w_key, w_value = tensors
result = sdpa(x @ w_query, x @ w_key, x @ w_value)
(0.5 * (result**2).sum()).backward()
all_by_hand = self_attention_backward(INPUTS, *parameters, weights, outputs)
names = ("dX", "dW_Q", "dW_K", "dW_V")
for name, mine, tensor in zip(names, all_by_hand, tensors, strict=True):
    same = np.abs(mine - tensor.grad.numpy()).max() < 1e-11
    print(f"{name}, same as autograd: {same}")
    print(text(mine, ".4f"))
# --8<-- [end:eight-steps]


# --8<-- [start:task]
LETTERS = [0, 1, 2, 0, 1, 2]  # of the tokens A B C a b c
NAMES = ["A", "B", "C", "a", "b", "c"]


def sequences(signs):
    """Signs (..., 6, 2) to inputs (..., 6, 6) and wanted outputs (..., 6, 2)."""
    x = np.zeros((*signs.shape[:-1], 6))
    x[..., :3] = np.eye(3)[LETTERS]  # which letter
    x[..., 3] = [1, 1, 1, -1, -1, -1]  # capital or small
    x[..., 4:] = signs
    wanted = signs[..., LETTERS, :]  # the signs of the capital with the same letter
    return sqrt(6 / 4) * x, wanted


rng = np.random.default_rng(SEED)
training = rng.choice([1.0, -1.0], size=(48, 6, 2))
kept_back = rng.choice([1.0, -1.0], size=(200, 6, 2))  # never used for a step
x, wanted = sequences(training)
shown = []
for name, signs in zip(NAMES, kept_back[0], strict=True):
    shown.append(name + "".join("+" if sign > 0 else "-" for sign in signs))
print("tokens:", *shown)
print("wanted:", *(shown[i][1:] for i in LETTERS))
print("mean square of every token is 1:", np.allclose((x**2).mean(axis=-1), 1))
# --8<-- [end:task]

# --8<-- [start:ideal]
every = np.array(list(product([1.0, -1.0], repeat=6)))  # one sign a token: 64 cases
looks = {  # which tokens each of the 6 tokens looks at, in equal shares
    "at every token": np.ones((6, 6)),
    "at the capitals": np.tile([1, 1, 1, 0, 0, 0], (6, 1)),
    "at its own letter": np.equal.outer(LETTERS, LETTERS),
    "at the capital of its letter": np.eye(6)[LETTERS],
}
floor_of = {}
for name, at in looks.items():
    seen = int(at[0].sum())
    delivered = every @ (at / seen).T  # (64, 6): the mean sign of the tokens seen
    truth = every[:, LETTERS]
    best = (delivered * truth).sum() / (delivered**2).sum()  # least squares
    loss = ((best * delivered - truth) ** 2).mean()
    floor_of[seen] = 1 - Fraction(1, seen)
    print(f"{name:29} loss {loss:.4f}, formula {floor_of[seen]}")
# --8<-- [end:ideal]


# --8<-- [start:train]
def start(seed, d_k, d_model=6):
    """W_Q, W_K and W_V with entries of variance 1 / d_model."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((d_model, m)) / sqrt(d_model) for m in (d_k, d_k, 2)]


def step(parameters, x, wanted, eta, factor=1.0):
    """One step of gradient descent; with it the loss before the step.

    attention divides the scores by √d_k. A factor √d_k on W_Q undoes the division.
    """
    W_Q, W_K, W_V = parameters
    outputs, weights = attention(x @ (factor * W_Q), x @ W_K, x @ W_V)
    error = outputs - wanted  # (..., batch, n, 2)
    by_output = 2 * error / np.prod(error.shape[-3:])
    _, by_query, by_key, by_value = self_attention_backward(
        x, factor * W_Q, W_K, W_V, weights, by_output
    )
    moved = W_Q - eta * factor * by_query, W_K - eta * by_key, W_V - eta * by_value
    # On a grid, differences in the last bits between processors do not grow.
    on_grid = [np.round(W * 2**16) / 2**16 for W in moved]
    return on_grid, (error**2).mean(axis=(-3, -2, -1))


def evaluate(parameters):
    """Loss, share of right signs and weights on the sequences kept back."""
    W_Q, W_K, W_V = parameters
    x, wanted = sequences(kept_back)
    outputs, weights = attention(x @ W_Q, x @ W_K, x @ W_V)
    return ((outputs - wanted) ** 2).mean(), np.mean(outputs * wanted > 0), weights


initial = learned = start(SEED, d_k=8)
trained, tested = [], []
for _ in range(401):
    tested.append(evaluate(learned)[0])
    learned, loss = step(learned, x, wanted, eta=0.5)
    trained.append(loss)
for t in (0, 10, 25, 50, 100, 200, 400):
    print(f"step {t:3d}: loss {trained[t]:.3f}, kept back {tested[t]:.3f}")
_, right_before, map_before = evaluate(initial)
_, right_after, map_after = evaluate(learned)
print(f"right signs: before {right_before:.1%}, after {right_after:.1%}")
# --8<-- [end:train]

# --8<-- [start:loss-figure]
at = np.arange(0, 401, 5)
line_chart(
    at,
    [
        ({"en": "training", "zh": "训练用的"}, [trained[t] for t in at]),
        ({"en": "kept back", "zh": "留出的"}, [tested[t] for t in at]),
    ],
    xlabel={"en": "step", "zh": "步数"},
    ylabel="loss",
    spec=".2f",
)
# --8<-- [end:loss-figure]

# --8<-- [start:before-map]
heatmap(map_before[0], rows=shown, columns=shown, role="weight", scale=(0, 1))
# --8<-- [end:before-map]

# --8<-- [start:after-map]
heatmap(map_after[0], rows=shown, columns=shown, role="weight", scale=(0, 1))
# --8<-- [end:after-map]

# --8<-- [start:right-weight]
target = np.eye(6, dtype=bool)[LETTERS]  # where each token should look
on_target = {}
for name, attended in (("before", map_before), ("after", map_after)):
    on_target[name] = attended[:, target]  # (200, 6)
    average, least = on_target[name].mean(), on_target[name].min()
    print(f"{name:6} on the right token: mean {average:.2f}, smallest {least:.2f}")
# --8<-- [end:right-weight]

# --8<-- [start:learned]
W_Q, W_K, W_V = learned
bilinear = 6 / 4 * W_Q @ W_K.T / sqrt(8)  # 6 / 4 is the square of the inputs' factor
labels = ["a", "b", "c", {"en": "capital", "zh": "大写"}]
labels += [{"en": f"sign {i}", "zh": f"符号 {i}"} for i in (1, 2)]
heatmap(bilinear, rows=labels, columns=labels, role="score", spec=".1f")
# --8<-- [end:learned]

# --8<-- [start:learned-value]
print(text(sqrt(6 / 4) * W_V.T, ".1f"))
# --8<-- [end:learned-value]


# --8<-- [start:no-scale]
def compare(d_k, eta, factor, runs=6, steps=300, batch=8):
    """Losses (steps, runs) from the same starts and the same random sequences."""
    starts = zip(*(start(seed, d_k) for seed in range(runs)), strict=True)
    parameters = [np.stack(W)[:, None] for W in starts]  # (runs, 1, rows, columns)
    rng = np.random.default_rng(SEED)
    signs = rng.choice([1.0, -1.0], size=(steps, runs, batch, 6, 2))
    losses = []
    for these in signs:
        parameters, loss = step(parameters, *sequences(these), eta, factor)
        losses.append(loss)
    return np.array(losses)


losses, final = {}, {}
print("mean loss of the last 50 of 300 steps over 6 runs (lowest to highest)")  # typed: a heading
for d_k in (16, 256):
    for eta in (0.1, 0.2, 0.5):
        cells = []
        for name, factor in (("scaled", 1.0), ("raw", sqrt(d_k))):
            losses[d_k, eta, name] = compare(d_k, eta, factor)
            last = losses[d_k, eta, name][-50:].mean(axis=0)
            final[d_k, eta, name] = last
            ends = f"({last.min():.2f} to {last.max():.2f})"
            cells.append(f"{name} {last.mean():.2f} {ends}")
        print(f"d_k = {d_k:3d}, η = {eta:.1f}:", ", ".join(cells))
# --8<-- [end:no-scale]

# --8<-- [start:no-scale-figure]
at = np.arange(0, 300, 10)
best = 256, 0.5
mean_of, range_of = {}, {}
for name in ("scaled", "raw"):
    smooth = losses[*best, name].reshape(30, 10, 6).mean(axis=1)  # means of 10 steps
    mean_of[name] = smooth.mean(axis=1)
    range_of[name] = smooth.min(axis=1), smooth.max(axis=1)
line_chart(
    at,
    [
        ({"en": "scaled", "zh": "缩放"}, mean_of["scaled"]),
        ({"en": "raw", "zh": "不缩放"}, mean_of["raw"]),
    ],
    band=range_of,
    band_name={"en": "shaded: lowest to highest", "zh": "阴影：最低到最高"},
    xlabel={"en": "step", "zh": "步数"},
    ylabel="loss",
    spec=".2f",
)
# --8<-- [end:no-scale-figure]


# --8<-- [start:first-steps]
def stuck(d_k, factor, runs=200):
    """At the start: share of queries whose largest weight is above 0.99."""
    share = []
    for seed in range(runs):
        W_Q, W_K, _ = start(seed, d_k)
        _, weights = attention(x[:8] @ (factor * W_Q), x[:8] @ W_K, x[:8])
        share.append(np.mean(weights.max(axis=-1) > 0.99))
    return mean_interval(np.array(share))


decided = {}
for d_k in (16, 64, 256):
    for name, factor in (("scaled", 1.0), ("raw", sqrt(d_k))):
        decided[d_k, name] = stuck(d_k, factor)
    scaled, raw = decided[d_k, "scaled"], decided[d_k, "raw"]
    print(f"d_k = {d_k:3d}: scaled {scaled[0]:.3f}, raw {plus_minus(*raw)}")
# --8<-- [end:first-steps]

# --8<-- [start:mistake-no-projections]
tests, answers = sequences(kept_back)
plain_scores = scaled_dot(tests, tests)  # XXᵀ / √d_model
plain_weights = softmax(plain_scores)
print("scores symmetric: ", np.allclose(plain_scores, plain_scores.mT))
print("weights symmetric:", np.allclose(plain_weights, plain_weights.mT))
own = np.eye(6, dtype=bool)
at_itself = np.all(plain_scores.argmax(axis=-1) == np.arange(6))
print("largest score of every row on the diagonal:", bool(at_itself))
print(f"weight on itself: mean {plain_weights[:, own].mean():.2f}")
print(f"weight on the right token: mean {plain_weights[:, target].mean():.2f}")
mixed = (plain_weights @ tests).reshape(-1, 6)  # all that W_V can work on
W_V, *_ = np.linalg.lstsq(mixed, answers.reshape(-1, 2))
plain_loss = ((mixed @ W_V - answers.reshape(-1, 2)) ** 2).mean()
print(f"loss with the best W_V there is: {plain_loss:.2f}")
# --8<-- [end:mistake-no-projections]

# --8<-- [start:plain-map]
heatmap(plain_weights[0], rows=shown, columns=shown, role="weight", scale=(0, 1))
# --8<-- [end:plain-map]

# --8<-- [start:mistake-diagonal]
rng = np.random.default_rng(SEED)
on_itself = {}
for d_model in (4, 16, 64):
    tokens = rng.standard_normal((500, 8, d_model))
    tokens = tokens / np.sqrt((tokens**2).mean(axis=-1, keepdims=True))
    W_Q, W_K = rng.standard_normal((2, 500, d_model, 16)) / sqrt(d_model)
    plain = softmax(scaled_dot(tokens, tokens))[:, 0, 0]
    projected = softmax(scaled_dot(tokens @ W_Q, tokens @ W_K))[:, 0, 0]
    on_itself[d_model] = mean_interval(plain), mean_interval(projected)
    without, with_them = (plus_minus(*interval) for interval in on_itself[d_model])
    print(f"d_model = {d_model:2d}: XXᵀ {without}, with W_Q and W_K {with_them}")
gram = INPUTS @ INPUTS.T
print("XXᵀ of the eight steps:")
print(text(gram, ".0f"))
# --8<-- [end:mistake-diagonal]


# --8<-- [start:mistake-gradient-scale]
def without_root(query, key, value, weights, by_output):
    """WRONG: the division by √d_k is missing from the backward pass."""
    by_value = weights.mT @ by_output
    by_weights = by_output @ value.mT
    mean = (by_weights * weights).sum(axis=-1, keepdims=True)
    by_scores = weights * (by_weights - mean)
    return by_scores @ key, by_scores.mT @ query, by_value


arrays = [INPUTS @ W for W in parameters]
_, outputs, weights = half_square(*parameters)
wrong = without_root(*arrays, weights, outputs)
right = attention_backward(*arrays, weights, outputs)
longer = {}
for i, name in enumerate(("dQ", "dK", "dV")):

    def half_square_of(array, i=i):
        moved = [*arrays[:i], array, *arrays[i + 1 :]]
        return 0.5 * float((attention(*moved)[0] ** 2).sum())

    tried = finite_differences(half_square_of, arrays[i])
    passes = [np.abs(found - tried).max() < 1e-6 for found in (wrong[i], right[i])]
    size, wanted_size = np.linalg.norm(wrong[i]), np.linalg.norm(tried)
    cosine = (wrong[i] * tried).sum() / (size * wanted_size)
    longer[name] = size / wanted_size
    print(f"{name}: right passes {passes[1]}, wrong passes {passes[0]}")
    print(f"    wrong / tried {longer[name]:.4f}, same direction {cosine > 1 - 1e-9}")
# --8<-- [end:mistake-gradient-scale]

# --8<-- [start:mistake-unnoticed]
misled = start(SEED, d_k=8)
for _ in range(400):
    W_Q, W_K, W_V = misled
    arrays = x @ W_Q, x @ W_K, x @ W_V
    outputs, weights = attention(*arrays)
    error = outputs - wanted
    by_output = 2 * error / np.prod(error.shape)
    slopes = without_root(*arrays, weights, by_output)
    sums = [(x.mT @ slope).sum(axis=0) for slope in slopes]
    misled = [W - 0.5 * by for W, by in zip(misled, sums, strict=True)]
misled_loss = evaluate(misled)[0]
print("trained with the wrong gradient: loss below 0.01:", bool(misled_loss < 0.01))
# --8<-- [end:mistake-unnoticed]

# --8<-- [start:exercise-1]
W_Q, W_K, W_V = start(SEED, d_k=8)
for name, begun in (
    ("W_Q = W_K = 0", [0 * W_Q, 0 * W_K, W_V]),
    ("W_K = 0", [W_Q, 0 * W_K, W_V]),
):
    for _ in range(400):
        begun, loss = step(begun, x, wanted, eta=0.5)
    _, _, attended = evaluate(begun)
    equal = np.allclose(attended, 1 / 6)
    print(f"{name}: loss {loss:.2f}, all weights 1/6: {equal}")
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-2]
rng = np.random.default_rng(SEED)
query, key = rng.standard_normal((4, 5)), rng.standard_normal((6, 5))
value, by_output = rng.standard_normal((6, 2)), rng.standard_normal((4, 2))
outputs, weights = attention(query, key, value)
by_weights = by_output @ value.T
left = (by_weights * weights).sum(axis=-1)
right = (by_output * outputs).sum(axis=-1)
print("the same:", np.allclose(left, right))
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
d_model = 768
q_variance = d_model * Fraction(2, 100) ** 2
print(f"variance of q {float(q_variance):.4f}, of scores {float(q_variance**2):.4f}")
print(f"σ for variance 1: {1 / sqrt(d_model):.4f}")
# --8<-- [end:exercise-3]
