"""Learning W_Q, W_K and W_V: the gradients, a small task, and where to start."""

# --8<-- [start:task]
from fractions import Fraction
from itertools import product
from math import ceil, floor, log, log10, sqrt

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import (
    Frame,
    bar_chart,
    flow,
    heatmap,
    line_chart,
    slider,
    table,
)
from attention_docs.learning import (
    attention_backward,
    entry_variance,
    finite_differences,
    self_attention_backward,
)
from attention_docs.masking import causal_mask
from attention_docs.scaling import dot_variance, mean_interval, variance_interval
from attention_docs.score_functions import scaled_dot
from attention_docs.softmax import softmax, softmax_gradient
from attention_docs.text import check, number

SEED = 2017
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


# Every sequence has a number; no two of those that are drawn are the same.
rng = np.random.default_rng(SEED)
drawn = rng.choice(2**12, size=48 + 200, replace=False)
signs = 1.0 - 2 * (drawn[:, None] >> np.arange(12) & 1).reshape(-1, 6, 2)
training, validation = signs[:48], signs[48:]
x, wanted = sequences(training)
# Shown: the first sequence whose capitals carry three different pairs of signs.
example = [len(np.unique(one[:3], axis=0)) for one in validation].index(3)
shown = [
    name + "".join("+" if sign > 0 else "−" for sign in pair)
    for name, pair in zip(NAMES, validation[example], strict=True)
]
table(
    [[shown[i][1:], shown[letter][1:]] for i, letter in enumerate(LETTERS)],
    columns=["its signs", "wanted output"],
    index=NAMES,
)
# --8<-- [end:task]


# --8<-- [start:slider]
def start(seed, d_k, d_model=6):
    """W_Q, W_K and W_V with entries of variance 1 / d_model."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((d_model, m)) / sqrt(d_model) for m in (d_k, d_k, 2)]


def step(parameters, x, wanted, eta=0.5):
    """The parameters after a step of gradient descent, and the loss before it."""
    W_Q, W_K, W_V = parameters
    outputs, weights = attention(x @ W_Q, x @ W_K, x @ W_V)
    by_output = 2 * (outputs - wanted) / wanted.size
    _, *slopes = self_attention_backward(x, *parameters, weights, by_output)
    moved = [W - eta * dW for W, dW in zip(parameters, slopes, strict=True)]
    return moved, ((outputs - wanted) ** 2).mean()


def evaluate(parameters):
    """Loss, share of right signs and weights on the validation set."""
    W_Q, W_K, W_V = parameters
    x, wanted = sequences(validation)
    outputs, weights = attention(x @ W_Q, x @ W_K, x @ W_V)
    return ((outputs - wanted) ** 2).mean(), np.mean(outputs * wanted > 0), weights


target = np.eye(6, dtype=bool)[LETTERS]  # where each token should look
trained, tested, right, on_target, maps = {}, {}, {}, {}, {}
learned = start(SEED, d_k=8)
for t in range(401):
    if t % 5 == 0:
        tested[t], right[t], weights = evaluate(learned)
        on_target[t], maps[t] = weights[:, target].mean(), weights[example]
    learned, trained[t] = step(learned, x, wanted)
at = list(tested)
curves = [
    ("training", [trained[t] for t in at]),
    ("validation", [tested[t] for t in at]),
]


def frame(place, t):
    """What the slider shows before step t."""
    goals = list(enumerate(LETTERS))  # the outlined cells
    named = dict(rows=shown, columns=shown, role="weight", scale=(0, 1))
    drawings = (
        heatmap(maps[t], highlight=goals, **named),
        line_chart(at, curves, xlabel="steps of training", ylabel="loss", mark=t, spec=".2f"),
    )
    caption = f"Loss {tested[t]:.2f}, right token {on_target[t]:.2f}."
    return Frame((str(place),), f"t = {t}", drawings, caption)


stops = (0, 10, 25, 40, 50, 60, 75, 100, 400)
label = "steps of training"
slider(label, [frame(i, t) for i, t in enumerate(stops)])
# --8<-- [end:slider]

# --8<-- [start:descent]
before = start(SEED, d_k=8)
W_Q, W_K, W_V = before
outputs, weights = attention(x @ W_Q, x @ W_K, x @ W_V)
by_output = 2 * (outputs - wanted) / wanted.size
_, *slopes = self_attention_backward(x, *before, weights, by_output)
squares = sum(float((dW**2).sum()) for dW in slopes)
kept, rows = {}, []
for eta in (0.5, 0.05, 0.005):
    moved, loss = step(before, x, wanted, eta)
    fall = loss - step(moved, x, wanted)[1]
    kept[eta] = fall / (eta * squares)
    rows.append([eta, fall, eta * squares, kept[eta]])
table(
    rows,
    columns=["η", "drop in the loss", "promised drop", "ratio"],
    spec=["g", ".5f", ".5f", ".3f"],
)
# --8<-- [end:descent]

# --8<-- [start:nan]
import torch
from torch.nn import functional

z = torch.tensor([200.0, 0.0], requires_grad=True)
attempts = {  # the second class is right
    "softmax, then the logarithm": -torch.log(torch.softmax(z, 0))[1],
    "cross_entropy of the logits": functional.cross_entropy(z, torch.tensor(1)),
    "no target counts": functional.cross_entropy(z[None], torch.tensor([-100])),
}
slopes_of = {name: torch.autograd.grad(loss, z)[0] for name, loss in attempts.items()}
g = torch.tensor([1.0, 2.0, float("nan")])
spoilt = int(torch.isnan(g / g.norm()).sum())  # clipped
small = np.float16(1e-8)
table(
    [[f"{x:g}" for x in (attempts[name].item(), *slopes_of[name].tolist())] for name in attempts],
    columns=["loss", "its slope by z₁", "by z₂"],
    index=list(attempts),
)
# --8<-- [end:nan]

# --8<-- [start:batch-size]
sizes = {"a tenth of b₀": 0.1, "b₀": 1, "ten times b₀": 10}
table(
    [[1 + 1 / size, 1 + size] for size in sizes.values()],
    columns=["steps, of the fewest", "texts, of the fewest"],
    index=list(sizes),
    spec=".1f",
)
# --8<-- [end:batch-size]

# --8<-- [start:epochs]
logits, per_epoch = np.zeros(10), []  # of one example among 10 classes; class 0 is right
for _ in range(4):
    p_right = softmax(logits)
    per_epoch.append([-log(p_right[0]), log(10)])
    p_right[0] -= 1
    logits = logits - p_right  # a step with the rate 1
table(
    per_epoch,
    columns=["loss before its step", "loss of a new example"],
    index=[f"epoch {e}" for e in range(1, 5)],
    spec=".2f",
)
# --8<-- [end:epochs]


# --8<-- [start:backward]
def backward(X, W_Q, W_K, W_V, A, dO):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    root = sqrt(Q.shape[-1])
    dV = A.mT @ dO
    dA = dO @ V.mT
    dS = A * (dA - (dA * A).sum(axis=-1, keepdims=True))
    dQ = dS @ K / root
    dK = dS.mT @ Q / root
    return X.mT @ dQ, X.mT @ dK, X.mT @ dV


# --8<-- [end:backward]

# --8<-- [start:function]
import ast
import inspect


def code(function):
    """The source of a function from its module, without the docstring."""
    lines = inspect.getsource(function).splitlines()
    docstring = ast.parse("\n".join(lines)).body[0].body[0]
    return "\n".join(lines[: docstring.lineno - 1] + lines[docstring.end_lineno :])


print(code(attention_backward), code(self_attention_backward), sep="\n\n")
# --8<-- [end:function]

# --8<-- [start:by-hand]
A = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]
V, dO = [3, 1, 1], 1
dV = [a * dO for a in A]
dA = [dO * v for v in V]
mean = sum(a * d for a, d in zip(A, dA, strict=True))
dS = [a * (d - mean) for a, d in zip(A, dA, strict=True)]
check("dS sums to 0", sum(dS) == 0)
root, q_1, k_2 = 2, 2, 4  # √d_k, and the components that are not 0
dK = [s * q_1 / root for s in dS]
dQ = [s * k_2 / root for s in dS]
print(f"Average of dA: {mean}")
table(
    [[str(one) for one in row] for row in (dV, dA, dS, dK, dQ)],
    columns=["key 1", "key 2", "key 3"],
    index=["dV", "dA", "dS", "dK, component 1", "dQ, components 2 to 4"],
)
# --8<-- [end:by-hand]

# --8<-- [start:by-package]
query = np.array([[2.0, 0, 0, 0]])
key = np.array([[log(1), 4, 0, 0], [log(2), 0, 4, 0], [log(5), 0, 0, 4]])
value = np.array([[3.0], [1], [1]])
output, weights = attention(query, key, value)
one = np.ones((1, 1))
by_query, by_key, by_value = attention_backward(query, key, value, weights, one)
print(f"dQ, component 1: {number(by_query[0, 0], '.4f')}")
table(
    [weights[0], by_value[:, 0], by_key[:, 0], by_query[0, 1:]],
    columns=["key 1", "key 2", "key 3"],
    index=["A", "dV", "dK, component 1", "dQ, components 2 to 4"],
    spec=".5f",
)
# --8<-- [end:by-package]


# --8<-- [start:mistake-gradient-scale]
def without_root(X, W_Q, W_K, W_V, A, dO):
    """WRONG: dQ and dK lack the division by √d_k."""
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    dA = dO @ V.mT
    dS = A * (dA - (dA * A).sum(axis=-1, keepdims=True))
    return X.mT @ (dS @ K), X.mT @ (dS.mT @ Q), X.mT @ (A.mT @ dO)


def half_square(W_Q, W_K, W_V):
    """Half the sum of the squared outputs of the eight steps, outputs and weights."""
    outputs, weights = attention(INPUTS @ W_Q, INPUTS @ W_K, INPUTS @ W_V)
    return 0.5 * float((outputs**2).sum()), outputs, weights


three = (W_QUERY, W_KEY, W_VALUE)
_, outputs, weights = half_square(*three)
right_one = backward(INPUTS, *three, weights, outputs)[0]  # dO is the output itself
wrong_one = without_root(INPUTS, *three, weights, outputs)[0]
off, off_wrong = [], []
for h in (1e-1, 1e-2, 1e-3):
    tried = finite_differences(lambda W: half_square(W, W_KEY, W_VALUE)[0], W_QUERY, step=h)
    off.append(np.abs(right_one - tried).max())
    off_wrong.append(np.abs(wrong_one - tried).max())
longer = np.linalg.norm(wrong_one) / np.linalg.norm(right_one)
table(
    [off_wrong, off],
    columns=["h = 0.1", "h = 0.01", "h = 0.001"],
    index=["without √d_k", "with √d_k"],
    spec=".2g",
)
# --8<-- [end:mistake-gradient-scale]

# --8<-- [start:mistake-unnoticed]
misled = start(SEED, d_k=8)
for _ in range(400):
    W_Q, W_K, W_V = misled
    outputs, weights = attention(x @ W_Q, x @ W_K, x @ W_V)
    by_output = 2 * (outputs - wanted) / wanted.size
    slopes = without_root(x, *misled, weights, by_output)
    misled = [W - 0.5 * dW.sum(axis=0) for W, dW in zip(misled, slopes, strict=True)]
misled_loss = evaluate(misled)[0]
print(f"Loss: {number(misled_loss, '.4f')}")
# --8<-- [end:mistake-unnoticed]

# --8<-- [start:checks]
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

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
agreement = []
for k, v, mask in cases.values():
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
    agreement.append([bool(autograd < 1e-12), bool(tried < 1e-8)])
table(agreement, columns=["autograd?", "finite differences?"], index=list(cases))
# --8<-- [end:checks]

# --8<-- [start:eight-steps]
_, outputs, weights = half_square(*three)
by_x, *slopes = self_attention_backward(INPUTS, *three, weights, outputs)
flow(
    [
        [("dX", "input", by_x, ".4f"), ("dW_Q", "query", slopes[0], ".4f")],
        [("dW_K", "key", slopes[1], ".4f"), ("dW_V", "value", slopes[2], ".4f")],
    ],
    arrows=[],
)
# --8<-- [end:eight-steps]

# --8<-- [start:train]
parameters, losses = start(SEED, d_k=8), []
for t in range(401):
    W_Q, W_K, W_V = parameters
    O, A = attention(x @ W_Q, x @ W_K, x @ W_V)  # 48 sequences at once
    dO = 2 * (O - wanted) / O.size
    slopes = backward(x, *parameters, A, dO)
    if t in (0, 25, 50, 75, 100, 200, 400):
        loss, held_out = ((O - wanted) ** 2).mean(), evaluate(parameters)[0]
        losses.append([t, loss, held_out])
    parameters = [
        W - 0.5 * dW.sum(axis=0)  # the gradients of the sequences add
        for W, dW in zip(parameters, slopes, strict=True)
    ]
table(losses, columns=["t", "training", "validation"], spec=["", ".3f", ".3f"])
# --8<-- [end:train]

# --8<-- [start:ideal]
every = np.array(list(product([1.0, -1.0], repeat=6)))  # one sign a token: 64 cases
looks = {  # which tokens each of the 6 tokens looks at, in equal shares
    "A B C a b c": np.ones((6, 6)),
    "A B C": np.tile([1, 1, 1, 0, 0, 0], (6, 1)),
    "A a": np.equal.outer(LETTERS, LETTERS),
    "A": np.eye(6)[LETTERS],
}
rows = []
for name, mask in looks.items():
    seen = int(mask[3].sum())
    delivered = every @ (mask / seen).T  # (64, 6): the mean sign of the tokens seen
    truth = every[:, LETTERS]
    best = (delivered * truth).sum() / (delivered**2).sum()  # least squares
    loss = ((best * delivered - truth) ** 2).mean()
    rows.append([name, seen, loss, str(1 - Fraction(1, seen))])
table(rows, columns=["a looks at", "m", "loss", "1 − 1/m"], spec=["", "", ".4f", ""])
# --8<-- [end:ideal]


# --8<-- [start:starts]
def first_below(W_V=None, runs=30, steps=400, limit=0.1):
    """The first step of each run whose loss is below the limit."""
    starts = zip(*(start(seed, d_k=8) for seed in range(runs)), strict=True)
    W = [np.stack(one)[:, None] for one in starts]  # (runs, 1, rows, columns)
    if W_V is not None:
        W[2] = np.broadcast_to(W_V, W[2].shape)
    first = np.full(runs, steps)  # `steps` stands for never
    for t in range(steps):
        O, A = attention(x @ W[0], x @ W[1], x @ W[2])
        loss = ((O - wanted) ** 2).mean(axis=(1, 2, 3))
        first = np.where((first == steps) & (loss < limit), t, first)
        slopes = backward(x, *W, A, 2 * (O - wanted) / wanted.size)
        W = [M - 0.5 * dM.sum(1, keepdims=True) for M, dM in zip(W, slopes, strict=True)]
    return np.sort(first)


waited = first_below()
arrived = waited[waited < 400]
tens = [f"runs {i} to {i + 9}" for i in (1, 11, 21)]
columns = ["first step with a loss below 0.1"]
table([[ten] for ten in waited.reshape(3, 10)], columns=columns, index=tens, spec="d")
# --8<-- [end:starts]

# --8<-- [start:learned]
W_Q, W_K, W_V = learned
bilinear = 6 / 4 * W_Q @ W_K.T / sqrt(8)  # 6 / 4 is the square of the inputs' factor
labels = ["a", "b", "c", "capital"]
labels += [f"sign {i}" for i in (1, 2)]
heatmap(bilinear, rows=labels, columns=labels, role="score", spec=".1f")
# --8<-- [end:learned]

# --8<-- [start:learned-value]
table(
    sqrt(6 / 4) * W_V.T,
    columns=labels,
    index=["output 1", "output 2"],
    spec=".2f",
)
# --8<-- [end:learned-value]

# --8<-- [start:rules]
d_model, d_k = 512, 64
rules = {}
for name, v in {
    "σ = 1": Fraction(1),
    "σ = 0.02": Fraction(2, 100) ** 2,
    "LeCun": entry_variance("lecun", d_model, d_k),
    "Xavier": entry_variance("xavier", d_model, d_k),
    "Kaiming": entry_variance("kaiming", d_model, d_k),
}.items():
    query_variance = d_model * v  # of one component; the same for a key
    score_variance = query_variance**2 * dot_variance(d_k) / d_k
    rules[name] = [str(v), float(query_variance), float(score_variance)]
table(
    list(rules.values()),
    columns=["v", "variance of q", "variance of s"],
    index=list(rules),
    spec=",.4f",
)
# --8<-- [end:rules]


# --8<-- [start:simulation]
def plus_minus(value, error):
    """Value ± error, with as many decimals as the first digit of the error."""
    decimals = max(0, -floor(log10(error)))
    return f"{number(value, f'.{decimals}f')} ± {number(error, f'.{decimals}f')}"


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
simulated, rows = {}, []
for name, v in {
    "σ = 1": Fraction(1),
    "σ = 0.02": Fraction(2, 100) ** 2,
    "LeCun": entry_variance("lecun", 32, 16),
    "Xavier": entry_variance("xavier", 32, 16),
    "Kaiming": entry_variance("kaiming", 32, 16),
}.items():
    simulated[name] = first_moments(v)
    q, k, s, largest = (plus_minus(*interval) for interval in simulated[name])
    rows.append([float(32 * v), q, k, float((32 * v) ** 2), s, largest])
table(
    rows,
    columns=["Var q, formula", "q", "k", "Var s, formula", "s", "largest weight"],
    index=list(simulated),
    spec=["g", "", "", "g", "", ""],
)
# --8<-- [end:simulation]

# --8<-- [start:start-figure]
bar_chart(
    list(simulated),
    [("largest weight", [intervals[3][0] for intervals in simulated.values()])],
    ylabel="largest weight, mean",
    roles=["weight"],
    spec=".2f",
)
# --8<-- [end:start-figure]

# --8<-- [start:pytorch]
import torch
from torch import nn

torch.manual_seed(SEED)
d_model, heads = 64, 4
layers = {
    "nn.Linear": (nn.Linear(d_model, 192).weight, Fraction(1, 3)),
    "nn.MultiheadAttention": (
        nn.MultiheadAttention(d_model, heads).in_proj_weight,
        d_model * entry_variance("xavier", d_model, 3 * d_model),
    ),
}
in_torch, rows = {}, []
for name, (W, formula) in layers.items():
    entries = W.detach().double().numpy().ravel()
    variance, error = variance_interval(entries)
    in_torch[name] = d_model * variance, d_model * error
    rows.append([plus_minus(*in_torch[name]), str(formula), str(formula**2)])
table(
    rows,
    columns=["variance of q, measured", "by formula", "variance of s"],
    index=list(layers),
)
# --8<-- [end:pytorch]


# --8<-- [start:nearly-equal]
reported = [0.10000075, 0.10000038, 0.09999962, 0.10000114, 0.09999923]
reported += [0.09999923, 0.1, 0.09999847, 0.10000038, 0.10000075]
gap = log(max(reported) / min(reported))  # of two scores
draw = np.random.default_rng(SEED)
ten, shared = draw.standard_normal((10, 64)), draw.standard_normal(64)
to_query, to_key = draw.standard_normal((2, 64, 64)) / 8  # entries of variance 1 / d_model
causes = {
    "nothing wrong": (ten, 1),
    "short tokens": (0.02 * ten, 1),
    "small parameters": (ten, 0.02 * 8),
    "tokens alike": (shared + 0.001 * ten, 1),
}
rows = []
for each, factor in causes.values():
    s = scaled_dot(factor * each @ to_query, factor * each @ to_key)[0]
    norms = [np.linalg.norm(one, axis=1).mean() for one in (each, each - each.mean(axis=0))]
    rows.append([*norms, np.ptp(s), softmax(s).max()])
table(
    rows,
    columns=["norm of a token", "distance from the mean", "spread of a row", "largest weight"],
    index=list(causes),
    spec=[".2f", ".3f", ".4f", ".4f"],
)
# --8<-- [end:nearly-equal]


# --8<-- [start:no-scale] slow
def on_grid(W):
    """On a grid, differences in the last bits between processors seldom grow."""
    W *= 2**20
    np.rint(W, out=W)
    W /= 2**20
    return W


def compare(eta, tau, speed, runs, d_k=256, steps=300, batch=8):
    """Losses, and shares of rows with a weight above 0.99, both (steps, runs)."""
    starts = zip(*(start(seed, d_k) for seed in range(runs)), strict=True)
    W_Q, W_K, W_V = (np.stack(W) for W in starts)
    rng = np.random.default_rng(SEED)
    losses, saturated = [], []
    for _ in range(steps):
        x, wanted = sequences(rng.choice([1.0, -1.0], size=(runs, batch, 6, 2)))
        A = softmax(x @ (W_Q @ W_K.mT / tau)[:, None] @ x.mT)
        V = x @ W_V[:, None]
        error = A @ V - wanted
        losses.append((error**2).mean(axis=(1, 2, 3)))
        saturated.append((A.max(axis=-1) > 0.99).mean(axis=(1, 2)))
        dO = 2 * error / wanted[0].size
        dS = softmax_gradient(A, dO @ V.mT)
        G = (x.mT @ dS @ x).sum(axis=1) / tau  # dW_Q = G W_K, dW_K = Gᵀ W_Q
        W_V = on_grid(W_V - eta * (x.mT @ (A.mT @ dO)).sum(axis=1))
        G *= speed * eta
        W_Q, W_K = on_grid(W_Q - G @ W_K), on_grid(W_K - G.mT @ W_Q)
    return np.array(losses), np.array(saturated)


def ends(losses):
    """The runs below 0.1 at the end, and a 95% interval of the median loss."""
    last = np.sort(losses[-50:].mean(axis=0))
    rank = int(last.size / 2 - 0.98 * sqrt(last.size))  # of n, by the binomial
    low, high = last[rank - 1], last[-rank]
    places = 1 if high > 0.1 else 4  # outward: one run of large steps may differ elsewhere
    low, high = floor(low * 10**places), ceil(high * 10**places)
    low, high = (number(end / 10**places, f".{places}f") for end in (low, high))
    return int((last < 0.1).sum()), f"{low}–{high}"


SETTINGS = {  # divisor of the scores, factor of the steps of W_Q and W_K
    "scaled": (16, 1),
    "far": (16, 256),
    "wide": (1, 1 / 256),
    "raw": (1, 1),
}
names = {
    "scaled": "scaled",
    "far": "large steps only",
    "wide": "saturated start only",
    "raw": "unscaled",
}
runs, below, end, share, rows = {}, {}, {}, {}, []
for name, (tau, speed) in SETTINGS.items():
    runs[name], saturated = compare(0.5, tau, speed, runs=60)
    below[name], end[name] = ends(runs[name])
    share[name] = saturated.mean(axis=1)
    rows.append([tau, str(Fraction(speed)), below[name], end[name]])
table(
    rows,
    columns=["τ", "factor of the steps", "learned, of 60", "median loss"],
    index=list(names.values()),
)
# --8<-- [end:no-scale]

# --8<-- [start:no-scale-figure]
at = np.arange(0, 300, 10)
smooth = {name: runs[name].reshape(30, 10, 60).mean(axis=(1, 2)) for name in names}
line_chart(
    at,
    [(names[name], smooth[name]) for name in names],
    xlabel="steps of training",
    ylabel="loss",
    spec=".2f",
)
# --8<-- [end:no-scale-figure]

# --8<-- [start:rates] slow
rows = []
for name, (tau, speed) in SETTINGS.items():
    for eta in (0.1, 0.2):
        count, loss = ends(compare(eta, tau, speed, runs=30)[0])
        rows.append([names[name], eta, count, loss])
table(
    rows,
    columns=["setting", "η", "learned, of 30", "median loss"],
    spec=["", "g", "", ""],
)
# --8<-- [end:rates]


# --8<-- [start:passes-back]
def passed_back(d_k, tau, runs=200):
    """Rows above 0.99; sum of |dS| / (largest minus smallest dA); the bound holds."""
    decided, passed, bounded = [], [], []
    for seed in range(runs):
        W_Q, W_K, W_V = start(seed, d_k)
        A = softmax(x[:8] @ W_Q @ W_K.T @ x[:8].mT / tau)
        V = x[:8] @ W_V
        dA = 2 * (A @ V - wanted[:8]) @ V.mT
        spread = np.ptp(dA, axis=-1)
        back = np.abs(softmax_gradient(A, dA)).sum(axis=-1)
        others = np.sort(A, axis=-1)[..., :-1].sum(axis=-1)  # ε
        bounded.append(np.all(back <= 2 * others * spread + 1e-14))
        decided.append((A.max(axis=-1) > 0.99).mean())
        passed.append((back / spread).mean())
    return *(mean_interval(np.array(one)) for one in (decided, passed)), all(bounded)


rows, bounded = [], []
for d_k in (16, 64, 256):
    for name, tau in (("√d_k", sqrt(d_k)), ("1", 1)):
        (decided, error), passed, holds = passed_back(d_k, tau)
        share = number(decided, ".3f")
        share = plus_minus(decided, error) if tau == 1 else share
        rows.append([d_k, name, share, plus_minus(*passed)])
        bounded.append(holds)
check("Σ|dS| ≤ 2εR in every row", all(bounded))
table(rows, columns=["d_k", "τ", "rows above 0.99", "mean of Σ|dS| / R"])
# --8<-- [end:passes-back]

# --8<-- [start:mistake-no-projections]
tests, answers = sequences(validation)
plain_scores = scaled_dot(tests, tests)  # XXᵀ / √d_model
plain_weights = softmax(plain_scores)
symmetric = np.abs(plain_scores - plain_scores.mT).max() < 1e-12
at_itself = np.all(plain_scores.argmax(axis=-1) == np.arange(6))
on_itself = plain_weights[:, np.eye(6, dtype=bool)].mean()
on_right = plain_weights[:, target].mean()
mixed = (plain_weights @ tests).reshape(-1, 6)  # all that W_V can work on
W_V, *_ = np.linalg.lstsq(mixed, answers.reshape(-1, 2))
plain_loss = ((mixed @ W_V - answers.reshape(-1, 2)) ** 2).mean()
check("the scores are symmetric", symmetric)
check("the largest score of every row is on the diagonal", at_itself)
heatmap(plain_weights[example], rows=shown, columns=shown, role="weight", scale=(0, 1))
# --8<-- [end:mistake-no-projections]

# --8<-- [start:mistake-diagonal]
rng = np.random.default_rng(SEED)
without, projections = [], []
for d_model in (4, 16, 64):
    tokens = rng.standard_normal((500, 8, d_model))
    tokens = tokens / np.sqrt((tokens**2).mean(axis=-1, keepdims=True))
    W_Q, W_K = rng.standard_normal((2, 500, d_model, 16)) / sqrt(d_model)
    plain = softmax(scaled_dot(tokens, tokens))[:, 0, 0]
    projected = softmax(scaled_dot(tokens @ W_Q, tokens @ W_K))[:, 0, 0]
    without.append(plus_minus(*mean_interval(plain)))
    projections.append(plus_minus(*mean_interval(projected)))
table(
    [without, projections],
    columns=["d_model = 4", "d_model = 16", "d_model = 64"],
    index=["XXᵀ", "QKᵀ"],
)
# --8<-- [end:mistake-diagonal]

# --8<-- [start:exercise-pencil]
A = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
dA = [4, 0, 8]
mean = sum(a * d for a, d in zip(A, dA, strict=True))
dS = [str(a * (d - mean)) for a, d in zip(A, dA, strict=True)]
print(f"Average of dA: {mean}")
print(f"dS = ({', '.join(dS)})")
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-sigma]
d_model = 768
q_variance = d_model * Fraction(2, 100) ** 2
table(
    [[float(q_variance), float(q_variance**2), 1 / sqrt(d_model)]],
    columns=["variance of q", "variance of s", "σ for variance 1"],
    spec=".4f",
)
# --8<-- [end:exercise-sigma]

# --8<-- [start:exercise-zero]
W_Q, W_K, W_V = start(SEED, d_k=8)
rows = []
for begun in ([0 * W_Q, 0 * W_K, W_V], [W_Q, 0 * W_K, W_V]):
    for _ in range(400):
        begun, loss = step(begun, x, wanted)
    rows.append([loss, np.allclose(evaluate(begun)[2], 1 / 6)])
table(
    rows,
    columns=["loss", "a plain average?"],
    index=["W_Q = W_K = 0", "W_K = 0"],
    spec=".3f",
)
# --8<-- [end:exercise-zero]

# --8<-- [start:exercise-value] slow
pass_signs = np.eye(6)[:, 4:] / sqrt(6 / 4)
sign_steps = first_below(pass_signs)
columns = ["first step with a loss below 0.1"]
table([[ten] for ten in sign_steps.reshape(3, 10)], columns=columns, index=tens, spec="d")
# --8<-- [end:exercise-value]


# --8<-- [start:exercise-bug]
def with_bug(A, dA):
    return A * (dA - (dA * A).mean(axis=-1, keepdims=True))


A = np.array([[1, 2, 5]]) / 8
dA = np.array([[3.0, 1, 1]])
both = 64 * np.concatenate([with_bug(A, dA), softmax_gradient(A, dA)])
table(
    np.column_stack([both, both.sum(axis=1)]),
    columns=["key 1", "key 2", "key 3", "sum"],
    index=["wrong", "right"],
    spec=".2f",
)
# --8<-- [end:exercise-bug]

# --8<-- [start:exercise-shorter]
rng = np.random.default_rng(SEED)
query, key = rng.standard_normal((4, 5)), rng.standard_normal((6, 5))
value, by_output = rng.standard_normal((6, 2)), rng.standard_normal((4, 2))
outputs, weights = attention(query, key, value)
long_sum = ((by_output @ value.T) * weights).sum(axis=-1)
short_sum = (by_output * outputs).sum(axis=-1)
check("both sums agree", np.abs(long_sum - short_sum).max() < 1e-12)
table(
    np.column_stack([long_sum, short_sum]),
    columns=["row sum of dA ⊙ A", "row sum of dO ⊙ O"],
    index=[f"query {i}" for i in (1, 2, 3, 4)],
    spec=".4f",
)
# --8<-- [end:exercise-shorter]

# --8<-- [start:exercise-bias]
_, by_key, _ = attention_backward(query, key, value, weights, by_output)
check("each column of dK sums to 0", np.abs(by_key.sum(axis=0)).max() < 1e-12)
table(
    np.column_stack([np.abs(by_key).sum(axis=0), by_key.sum(axis=0)]),
    columns=["sum of absolute values", "sum"],
    index=[f"column {c}" for c in range(1, 6)],
    spec=".4f",
)
# --8<-- [end:exercise-bias]


# --8<-- [start:exercise-kept]
def balance(parameters):
    """W_QᵀW_Q - W_KᵀW_K."""
    W_Q, W_K, _ = parameters
    return W_Q.T @ W_Q - W_K.T @ W_K


rows = []
for eta, steps in ((0.5, 100), (0.05, 1000)):
    moved = begun = start(SEED, d_k=8)
    for _ in range(steps):
        moved, _ = step(moved, x, wanted, eta)
    drift = np.linalg.norm(balance(moved) - balance(begun))
    size = np.linalg.norm(moved[0].T @ moved[0] - begun[0].T @ begun[0])
    rows.append([eta, drift, size])
table(
    rows,
    columns=["η", "W_QᵀW_Q − W_KᵀW_K moved by", "W_QᵀW_Q moved by"],
    spec=["g", ".4f", ".2f"],
)
# --8<-- [end:exercise-kept]


# --8<-- [start:writing]
def your_gradient(weights, by_weights):
    """The gradient for the scores, from the weights A and dA, both (n, n_k)."""
    return weights * by_weights  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_gradient(weights, by_weights):
    average = (weights * by_weights).sum(axis=-1, keepdims=True)
    return weights * (by_weights - average)


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

writing = Task(
    model_gradient,
    inputs=[
        (np.array([[0.5, 0.5]]), np.array([[1.0, 0]])),
        (np.array([[0.25, 0.75]]), np.array([[2.0, -2]])),
        (np.array([[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]]), np.array([[4.0, 0, 2], [1, 8, -2]])),
    ],
    mistakes={
        "This treats each weight alone, as if a score moved no other weight of its row.": (
            lambda weights, by_weights: weights * (1 - weights) * by_weights
        ),
        "The average under the weights is a sum: mean divides by the number of keys once more.": (
            lambda weights, by_weights: (
                weights * (by_weights - (weights * by_weights).mean(axis=-1, keepdims=True))
            )
        ),
        "The average is plain: each entry of dA must count with its weight.": (
            lambda weights, by_weights: (
                weights * (by_weights - by_weights.mean(axis=-1, keepdims=True))
            )
        ),
        "The distance from the average is right, but it must be multiplied by the weight.": (
            lambda weights, by_weights: (
                by_weights - (weights * by_weights).sum(axis=-1, keepdims=True)
            )
        ),
    },
    draw=lambda rng: (rng.dirichlet(np.ones(5), size=3), halves(rng, 3, 5)),
)
judge(your_gradient, writing)
# --8<-- [end:writing-checks]
