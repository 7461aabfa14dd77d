"""Softmax: what it does to scores and to gradients."""

# --8<-- [start:setup]
from fractions import Fraction
from math import erf, exp, log, sqrt

import numpy as np
import torch

from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import heatmap, line_chart, numbered
from attention_docs.score_functions import dot, scaled_dot
from attention_docs.softmax import (
    entropy,
    softmax,
    softmax_gradient,
    softmax_jacobian,
    tempered_softmax,
)
from attention_docs.text import number, text

# --8<-- [end:setup]

# --8<-- [start:definition]
s = np.log(np.array([1.0, 2.0, 5.0]))  # scores ln 1, ln 2, ln 5
exponentials = np.exp(s)
total = exponentials.sum()
print(text(s, ".4f"))
print(text(exponentials, ".0f"), number(total, ".0f"))
print(text(exponentials / total, ".4f"))
a = softmax(s)
print(np.abs(a - exponentials / total).max() < 1e-12)
# --8<-- [end:definition]

# --8<-- [start:shift]
for c in (-3, 0, 100):
    same = np.abs(softmax(s + c) - a).max() < 1e-12
    print(f"s {c:+4d}:", text(softmax(s + c), ".4f"), same)
doubled = softmax(2 * s)
print("2 · s: ", text(doubled, ".4f"))
# --8<-- [end:shift]

# --8<-- [start:limits]
limits = {}
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    limits[dtype] = log(torch.finfo(dtype).max)
    print(f"{dtype!s:15} largest number = e^{limits[dtype]:.2f}")
# --8<-- [end:limits]


# --8<-- [start:overflow]
def unshifted(scores):
    """Softmax as the definition stands."""
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum()


tried = {
    torch.float16: [10.0, 12.0],
    torch.bfloat16: [88.0, 90.0],
    torch.float32: [88.0, 90.0],
    torch.float64: [708.0, 710.0],
}
shifted = {}
for dtype, pair in tried.items():
    scores = torch.tensor(pair, dtype=dtype)
    broken, shifted[dtype] = unshifted(scores), softmax(scores)
    print(f"{dtype!s:15} {text(pair, '.0f')}")
    print("    without the shift", text(broken, ".2f"))
    print("    with the shift   ", text(shifted[dtype].double(), ".2f"))
# --8<-- [end:overflow]

# --8<-- [start:underflow]
far = torch.tensor([0.0, -20.0])
for dtype in (torch.float16, torch.float32):
    least = softmax(far.to(dtype))[1]
    print(f"{dtype!s:15} smaller weight is 0: {bool(least == 0)}")
low = torch.tensor([-20.0, -22.0], dtype=torch.float16)
print("without the shift", text(unshifted(low), ".2f"))
print("with the shift   ", text(softmax(low).double(), ".2f"))
# --8<-- [end:underflow]

# --8<-- [start:jacobian-by-hand]
exact = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]
by_hand = []
for i, a_i in enumerate(exact):
    by_hand.append([a_i * ((i == j) - a_j) for j, a_j in enumerate(exact)])
for row in by_hand:
    print(*(f"{entry!s:>6}" for entry in row))
# --8<-- [end:jacobian-by-hand]

# --8<-- [start:jacobian]
J = softmax_jacobian(a)  # (n, n): row i, the derivatives of weight i
print(text(J, ".6f"))
at_s = torch.tensor(s)
autograd = torch.autograd.functional.jacobian
of_torch = autograd(lambda x: torch.softmax(x, -1), at_s)
of_package = autograd(softmax, at_s)
print("by hand:         ", np.abs(J - np.array(by_hand, float)).max() < 1e-12)
print("torch's softmax: ", np.abs(J - of_torch.numpy()).max() < 1e-12)
print("ours, autograd:  ", np.abs(J - of_package.numpy()).max() < 1e-12)
h = 1e-5  # central differences: nudge score j up and down for column j
up = np.array([softmax(s + h * d) for d in np.eye(3)])
down = np.array([softmax(s - h * d) for d in np.eye(3)])
print("differences:     ", np.abs(J - (up - down).T / (2 * h)).max() < 1e-8)
heatmap(
    J,
    rows=numbered("weight", 3),
    columns=numbered("score", 3),
    spec=".6f",
    name="J",
    scale=(-0.25, 0.25),
)
# --8<-- [end:jacobian]

# --8<-- [start:jacobian-properties]
print("symmetric:     ", np.abs(J - J.T).max() < 1e-12)
print("rows sum to 0: ", np.abs(J.sum(axis=1)).max() < 1e-12)
v = np.array([3.0, 1.0, 1.0])
mean = a @ v
variance = a @ (v - mean) ** 2
print("mean", number(mean, ".4f"), "variance", number(variance, ".4f"))
print("v J vᵀ", number(v @ J @ v, ".4f"))
# --8<-- [end:jacobian-properties]

# --8<-- [start:gradient]
g = np.array([3.0, 1.0, 1.0])  # ∂L/∂a of the loss L = 3 a_1 + a_2 + a_3
by_scores = softmax_gradient(a, g)
print(text(by_scores, ".5f"))
print("g J:     ", np.abs(by_scores - g @ J).max() < 1e-12)
leaf = torch.tensor(s, requires_grad=True)
(torch.softmax(leaf, -1) @ torch.tensor(g)).backward()
print("autograd:", np.abs(by_scores - leaf.grad.numpy()).max() < 1e-12)
# --8<-- [end:gradient]

# --8<-- [start:temperature]
example = np.array([1.0, 1.0, 1.0, 5.0])
at = {}
print("   τ   largest weight   entropy")
for tau in (0.5, 1, 2, 4, 8, 64):
    at[tau] = tempered_softmax(example, tau)
    peak, H = number(at[tau].max(), ".4f"), number(entropy(at[tau]), ".4f")
    print(f"{tau:4.1f}  {peak:>15}  {H:>8}")
print("ln 4 =", number(log(4), ".4f"))
# --8<-- [end:temperature]

# --8<-- [start:temperature-figure]
temperatures = 2.0 ** np.arange(-2, 7)
rows = np.array([tempered_softmax(example, tau) for tau in temperatures])
line_chart(
    temperatures,
    [
        ("largest weight", rows.max(axis=1)),
        ({"en": "entropy / ln 4", "zh": "熵 / ln 4"}, entropy(rows) / log(4)),
    ],
    xlabel="τ",
    ylabel={"en": "share", "zh": "比例"},
    log_x=True,
)
# --8<-- [end:temperature-figure]

# --8<-- [start:dominates]
gaps = (0, 1, 2, 4, 8, 16)
largest_of = {}
print("gap      ", *(f"{gap:7d}" for gap in gaps))
for n in (2, 8, 64, 1024):
    for gap in gaps:
        others = np.zeros(n - 1)  # n - 1 scores tie, one is larger by the gap
        largest_of[n, gap] = softmax(np.append(others, gap)).max()
    cells = (number(largest_of[n, gap], ".4f") for gap in gaps)
    print(f"n = {n:4d} ", *(f"{cell:>7}" for cell in cells))
# --8<-- [end:dominates]

# --8<-- [start:dominates-output]
queries, keys, values = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
scores = dot(queries, keys)  # not scaled, as in the eight steps
weights = softmax(scores)
outputs = weights @ values
gap_of, rest, rest_bound, distance, distance_bound = [], [], [], [], []
for i in range(3):
    m = scores[i].argmax()
    gap_of.append(scores[i, m] - np.delete(scores[i], m).max())
    rest.append(np.delete(weights[i], m).sum())  # what the others get together
    rest_bound.append(2 * exp(-gap_of[i]))  # (n - 1) e^(-gap)
    distance.append(np.linalg.norm(outputs[i] - values[m]))
    spread = np.linalg.norm(values - values[m], axis=1).max()
    distance_bound.append(rest[i] * spread)
    print(f"query {i + 1}: {text(scores[i], '.0f')}, gap {gap_of[i]:.0f}")
    print(f"    others {rest[i]:.4f}, at most {rest_bound[i]:.4f}")
    print(f"    |o - v| {distance[i]:.4f}, at most {distance_bound[i]:.4f}")
# --8<-- [end:dominates-output]

# --8<-- [start:saturation]
norm = np.linalg.norm  # of a matrix: root of the sum of the squares
print("   c   others together        ‖J‖      bound")
saturated = {}
for c in (0, 0.25, 0.5, 1, 2, 4):
    w = softmax(c * example)
    others = np.sort(w)[:-1].sum()  # 1 - largest weight, without cancellation
    saturated[c] = others, norm(softmax_jacobian(w))
    cells = (number(x, ".2e") for x in (*saturated[c], 2 * others))
    print(f"{c:4.2f}  {next(cells):>15}  {next(cells):>9}  {next(cells):>9}")
# --8<-- [end:saturation]

# --8<-- [start:saturation-figure]
factors = np.arange(0, 17) / 4
by_factor = np.array([softmax(c * example) for c in factors])
line_chart(
    factors,
    [
        ("‖J‖", [norm(softmax_jacobian(w)) for w in by_factor]),
        (
            {"en": "bound", "zh": "上界"},
            2 * by_factor[:, :3].sum(axis=1),
        ),
    ],
    xlabel="c",
    ylabel={"en": "norm", "zh": "范数"},
    log_y=True,
    spec=".2e",
)
# --8<-- [end:saturation-figure]

# --8<-- [start:lower-bound]
print("    R   e^(-R)/n  smallest weight    smallest ‖v J‖")
for c in (0.25, 0.5, 1, 2):
    w = softmax(c * example)
    R = c * 4  # 5 - 1, times c
    # Eigenvalue 0 belongs to v = (1, …, 1); the next one is the smallest ‖v J‖.
    stretch = np.sort(np.linalg.eigvalsh(softmax_jacobian(w)))[1]
    cells = (number(x, ".2e") for x in (exp(-R) / 4, w.min(), stretch))
    print(f"{R:5.0f}  {next(cells):>9}  {next(cells):>15}  {next(cells):>17}")
# --8<-- [end:lower-bound]


# --8<-- [start:vanish]
def keys_for(scores, d_k):
    """Keys of ±1 with these dot products with the query (1, …, 1)."""
    k = np.full((len(scores), d_k), -1.0)
    for j, score in enumerate(scores):
        k[j, : (d_k + score) // 2] = 1
        k[j] = np.roll(k[j], 5 * j)  # the query does not see the order
    return k


d_k = 64
q = np.ones(d_k)
grad_norm = {}
for far_ahead in (16, 2):
    k = keys_for([0, 0, 0, far_ahead], d_k)
    raw = k @ q
    print("q·k =", text(raw, ".0f"))
    for name, divisor in (("raw", 1), ("/ √d_k", sqrt(d_k))):
        J_q = softmax_jacobian(softmax(raw / divisor))
        by_query = J_q @ k / divisor  # (n, d_k): chain rule
        grad_norm[far_ahead, name] = norm(J_q), norm(by_query)
        cells = (number(x, ".2e") for x in grad_norm[far_ahead, name])
        print(f"    {name:7} ‖J‖ {next(cells)}, ‖∂a/∂q‖ {next(cells)}")
# --8<-- [end:vanish]

# --8<-- [start:vanish-again]
grown = 64 * keys_for([0, 0, 0, 2], d_k)  # a larger W_K, say
regrown = norm(softmax_jacobian(softmax(grown @ q / sqrt(d_k))))
print(text(grown @ q / sqrt(d_k), ".0f"), number(regrown, ".2e"))
# --8<-- [end:vanish-again]


# --8<-- [start:two-keys]
def normal_cdf(x):
    """Probability that a standard normal number is below x."""
    return (1 + erf(x / sqrt(2))) / 2


def probit_ratio(x):
    """Weight ratio of two keys under a_1 = Φ(s_1 - s_2), a_2 = 1 - a_1."""
    return normal_cdf(x) / normal_cdf(-x)


for name, ratio in (("exponential", exp), ("normal", probit_ratio)):
    once, twice = ratio(1), ratio(2)
    print(f"{name:12} h(1)·h(1) = {once * once:.3f}, h(2) = {twice:.3f}")
# --8<-- [end:two-keys]


# --8<-- [start:alternatives]
def relu(x):
    return np.maximum(x, 0)


rules = {
    "softmax": softmax,
    "s / Σs": lambda s: s / s.sum(),
    "s² / Σs²": lambda s: s**2 / (s**2).sum(),
    "ReLU / ΣReLU": lambda s: relu(s) / relu(s).sum(),
    "ReLU / n": lambda s: relu(s) / len(s),
}
rows = {
    "as in the eight steps": [2.0, 4.0, 4.0],
    "plus 100": [102.0, 104.0, 104.0],
    "times 10": [20.0, 40.0, 40.0],
    "signs mixed": [-1.0, 2.0, 1.0],
    "all negative": [-2.0, -4.0, -4.0],
}
given = {}
for row_name, row in rows.items():
    print(f"{text(row, '.0f')}, {row_name}")
    for name, rule in rules.items():
        with np.errstate(invalid="ignore"):  # 0 / 0 below is the point
            given[name, row_name] = rule(np.array(row))
        print(f"    {name:13} {text(given[name, row_name], '.4f')}")
# --8<-- [end:alternatives]


# --8<-- [start:dead]
def relu_share(x):
    return torch.relu(x) / torch.relu(x).sum()


mixed = torch.tensor([-1.0, 2.0, 1.0], dtype=torch.float64)
dead, alive = autograd(relu_share, mixed), autograd(softmax, mixed)
print("ReLU share, by score 1:", text(dead[:, 0], ".4f"))
print("softmax, by score 1:   ", text(alive[:, 0], ".4f"))
# --8<-- [end:dead]

# --8<-- [start:scale-after]
d_k = keys.shape[1]
right_weights = softmax(scaled_dot(queries, keys))
wrong_weights = softmax(dot(queries, keys)) / sqrt(d_k)  # wrong: too late
print("wrong")
print(text(wrong_weights, ".4f"))
print("sums", text(wrong_weights.sum(axis=1), ".4f"))
print(text(wrong_weights @ values, ".4f"))
print("right")
print(text(right_weights, ".4f"))
print("sums", text(right_weights.sum(axis=1), ".4f"))
print(text(right_weights @ values, ".4f"))
# --8<-- [end:scale-after]

# --8<-- [start:scale-after-shrinks]
shrunk = wrong_weights @ values
print("unscaled output / √d_k:", np.abs(shrunk - outputs / sqrt(d_k)).max() < 1e-12)
same_values = np.ones((3, 1))  # an average of 1, 1 and 1 is 1
of_same = wrong_weights @ same_values
print("outputs for the values 1, 1, 1:", text(of_same[:, 0], ".4f"))
# --8<-- [end:scale-after-shrinks]

# --8<-- [start:wrong-axis]
scaled_scores = scaled_dot(queries, keys)  # (n_q, n_k)
across_queries = softmax(scaled_scores, axis=0)  # wrong: axis 0 is the queries
print("wrong")
print(text(across_queries, ".4f"))
print("sums of rows   ", text(across_queries.sum(axis=1), ".4f"))
print("sums of columns", text(across_queries.sum(axis=0), ".4f"))
print(text(across_queries @ values, ".4f"))
print("right")
print(text(right_weights @ values, ".4f"))
# --8<-- [end:wrong-axis]

# --8<-- [start:wrong-axis-leak]
other_queries = queries.copy()
other_queries[2] = [0, 0, 0]  # only query 3 changes
other_scores = scaled_dot(other_queries, keys)
moved = np.abs((softmax(other_scores, axis=0) - across_queries) @ values)[0].max()
stays = np.abs((softmax(other_scores) - right_weights) @ values)[0].max()
print("output 1 moves, wrong axis:", number(moved, ".4f"))
print("output 1 moves, last axis: ", number(stays, ".4f"))
causal = np.triu(np.full((3, 3), -np.inf), k=1)  # 0 where key j may be seen
before, after = (softmax(x + causal, axis=0) for x in (scaled_scores, other_scores))
leaked = np.abs((after - before) @ values)[0].max()
print("wrong axis, causal mask:   ", number(leaked, ".4f"))
# --8<-- [end:wrong-axis-leak]

# --8<-- [start:exercise-1]
b = np.array([2.0, -1.0, 5.0])
with_bias = dot(queries, keys + b)
print(text(with_bias - scores, ".0f"))  # the same number along each row
print(np.abs(softmax(with_bias) - weights).max() < 1e-12)
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-2]
tie = np.array([2.0, 4.0, 4.0])
for tau in (1, 0.5, 0.1):
    print(f"τ = {tau:.1f}:", text(tempered_softmax(tie, tau), ".4f"))
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
needed = {n: log(99 * (n - 1)) for n in (8, 1024)}
for n, gap in needed.items():
    reached = softmax(np.append(np.zeros(n - 1), gap)).max()
    print(f"n = {n}: gap {gap:.2f}, largest weight {reached:.4f}")
# --8<-- [end:exercise-3]
