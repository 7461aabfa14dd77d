"""Softmax: what it does to scores and to gradients."""

# --8<-- [start:control]
from fractions import Fraction
from math import erf, exp, log, sqrt

import numpy as np

from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import Frame, bar_chart, heatmap, line_chart, numbered, stepper
from attention_docs.score_functions import dot
from attention_docs.softmax import (
    entropy,
    softmax,
    softmax_jacobian,
    tempered_softmax,
)
from attention_docs.text import number, text

queries, keys, values = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
example = np.array([1.0, 1.0, 1.0, 5.0])  # knob


def one_leads(gap, n, tau=1):
    """Weights of n keys: one leads, the others tie."""
    return tempered_softmax(np.append(np.zeros(n - 1), gap), tau)


BARS = [
    "the key that leads",
    "all others together",
    "each of the others",
]
temperatures = [1, 2, 4]  # knob
gaps, counts = [4, 7, 10], [2, 8, 64, 1024]


def frame(i, j, k):
    """What the control shows at one setting."""
    tau, gap, n = temperatures[i], gaps[j], counts[k]
    a = one_leads(gap, n, tau)
    shares = [a[-1], a[:-1].sum(), a[0]]
    bars = bar_chart(BARS, {"": shares}, ylabel="weight", spec=".4f", scale=(0, 1))
    share = number(a[-1], ".4f")
    caption = f"Leader: {share}"
    label = f"τ = {tau}, Δ = {gap}, n = {n:,d}"
    return Frame((str(i + 1), str(j + 1), str(k + 1)), label, (bars,), caption)


stepper(
    "lead",
    [
        ("temperature τ", [str(tau) for tau in temperatures]),
        ("lead Δ", [str(gap) for gap in gaps]),
        ("keys n", [f"{n:,d}" for n in counts]),
    ],
    [frame(i, j, k) for i in range(3) for j in range(3) for k in range(4)],
)
# --8<-- [end:control]


# --8<-- [start:two-keys]
def normal_cdf(x):
    """Probability that a standard normal variable is below x."""
    return (1 + erf(x / sqrt(2))) / 2


def probit_ratio(x):
    """h(x) of the rule a_1 = Φ(s_1 - s_2), a_2 = 1 - a_1."""
    return normal_cdf(x) / normal_cdf(-x)


for name, h in (("exp", exp), ("Φ", probit_ratio)):
    print(f"{name:3}  h(1)·h(1) = {h(1) * h(1):.3f}   h(2) = {h(2):.3f}")
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
rows = [[2, 4, 4], [102, 104, 104], [20, 40, 40], [-1, 2, 1], [-2, -4, -4]]
given = {}
for row in rows:
    print(f"s = {text(row, 'd')}")
    for name, rule in rules.items():
        with np.errstate(invalid="ignore"):  # 0 / 0 below is the point
            given[name, row[0]] = rule(np.array(row, dtype=float))
        print(f"    {name:13} {text(given[name, row[0]], '.4f')}")
# --8<-- [end:alternatives]

# --8<-- [start:dead]
h = 1e-6  # central differences by score 1
low, high = np.array([-1 - h, 2, 1]), np.array([-1 + h, 2, 1])
for name in ("ReLU / ΣReLU", "softmax"):
    slope = (rules[name](high) - rules[name](low)) / (2 * h)
    print(f"{name:13} {text(slope, '.4f')}")
# --8<-- [end:dead]

# --8<-- [start:definition]
s = np.log(np.array([1.0, 2.0, 5.0]))
e = np.exp(s)
a = e / e.sum()
print(text(s, ".4f"))
print(text(e, ".0f"), number(e.sum(), ".0f"))
print(text(a, ".4f"))
# --8<-- [end:definition]

# --8<-- [start:shift]
for c in (-3, 100):
    print(f"s {c:+4d}:", text(softmax(s + c), ".4f"))
doubled = softmax(2 * s)
print("2 · s: ", text(doubled, ".4f"))
# --8<-- [end:shift]


# --8<-- [start:overflow]
def unshifted(s):
    """Softmax as the definition stands."""
    exponentials = np.exp(s)
    return exponentials / exponentials.sum()


tried = {np.float16: [10, 12], np.float32: [88, 90], np.float64: [708, 710]}
for dtype, pair in tried.items():
    large = np.array(pair, dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # we want to see it
        print(f"{dtype.__name__:8}", text(unshifted(large), ".2f"))
    print(" " * 8, text(softmax(large).astype(float), ".2f"))
# --8<-- [end:overflow]

# --8<-- [start:limits]
import torch

for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    limit = log(torch.finfo(dtype).max)
    print(f"{dtype!s:15} e^{limit:.2f}")
# --8<-- [end:limits]

# --8<-- [start:underflow]
far, low = np.array([0.0, -20.0]), np.array([-20.0, -22.0])
for dtype in (np.float16, np.float32):
    print(f"{dtype.__name__:8} a_2 = 0:", bool(softmax(far.astype(dtype))[1] == 0))
with np.errstate(invalid="ignore"):
    print(text(unshifted(low.astype(np.float16)), ".2f"))
print(text(softmax(low.astype(np.float16)).astype(float), ".2f"))
# --8<-- [end:underflow]

# --8<-- [start:stall]
stalled = {}
for dtype in (np.float16, np.float32):
    ones = np.ones(4096, dtype)  # e^0 of 4,096 equal scores
    one_by_one = np.add.accumulate(ones)[-1]  # rounded after every addition
    stalled[dtype] = int(one_by_one), float((ones / one_by_one).astype(float).sum())
    print(f"{dtype.__name__}: Σ = {stalled[dtype][0]}, Σa = {stalled[dtype][1]:.4f}")
# --8<-- [end:stall]

# --8<-- [start:dominates]
for n in counts:
    print(f"n = {n:4d}  ln(n - 1) = {number(log(n - 1), '.2f')}", end="  ")
    print(text([one_leads(lead, n)[-1] for lead in (0, 1, 2, 4, 8, 16)], ".4f"))
# --8<-- [end:dominates]

# --8<-- [start:dominates-output]
scores = dot(queries, keys)  # not scaled, as in the eight steps
weights = softmax(scores)
outputs = weights @ values
gap_of, rest, rest_bound, distance, distance_bound = [], [], [], [], []
for i in range(3):
    m = scores[i].argmax()
    gap_of.append(scores[i, m] - np.delete(scores[i], m).max())
    rest.append(np.delete(weights[i], m).sum())  # what the others get together
    rest_bound.append(2 * exp(-gap_of[i]))  # (n - 1) e^(-Δ)
    distance.append(np.linalg.norm(outputs[i] - values[m]))
    spread = np.linalg.norm(values - values[m], axis=1).max()
    distance_bound.append(rest[i] * spread)
    print(f"s = {text(scores[i], '.0f')}, Δ = {gap_of[i]:.0f}")
    print(f"    1 - a_m  {rest[i]:.4f} ≤ {rest_bound[i]:.4f}")
    print(f"    ‖o - v‖  {distance[i]:.4f} ≤ {distance_bound[i]:.4f}")
# --8<-- [end:dominates-output]

# --8<-- [start:temperature]
at = {tau: tempered_softmax(example, tau) for tau in (0.5, 1, 2, 4, 8, 64)}
taus = 2.0 ** np.arange(-2, 7)
rows = np.array([tempered_softmax(example, tau) for tau in taus])
line_chart(
    taus,
    [
        ("largest weight", rows.max(axis=1)),
        ("entropy / ln 4", entropy(rows) / log(4)),
    ],
    xlabel="τ",
    ylabel="share",
    log_x=True,
)
# --8<-- [end:temperature]

# --8<-- [start:entropy-table]
print("  τ   max a       H       dH/dτ   Var(s)/τ³")
for tau, w in at.items():
    mean = w @ example
    slope = w @ (example - mean) ** 2 / tau**3
    h = tau / 1000  # central differences
    ends = [entropy(tempered_softmax(example, tau + d)) for d in (h, -h)]
    cells = [w.max(), entropy(w), (ends[0] - ends[1]) / (2 * h), slope]
    print(f"{tau:4.1f}", *(f"{number(x, '.4f'):>9}" for x in cells))
# --8<-- [end:entropy-table]

# --8<-- [start:jacobian]
J = softmax_jacobian(a)  # (n, n)
heatmap(
    J,
    rows=numbered("weight", 3),
    columns=numbered("score", 3),
    spec=".2f",
    name="J",
    scale=(-0.25, 0.25),
)
# --8<-- [end:jacobian]

# --8<-- [start:gradient]
g = np.array([3.0, 1.0, 1.0])  # ∂L/∂a
by_scores = a * (g - a @ g)
print(text(by_scores, ".5f"))
print(np.abs(by_scores - g @ J).max() < 1e-12)
# --8<-- [end:gradient]

# --8<-- [start:jacobian-properties]
v = np.array([3.0, 1.0, 1.0])
mean = a @ v
variance = a @ (v - mean) ** 2
print(np.abs(J - J.T).max() < 1e-12, np.abs(J.sum(axis=1)).max() < 1e-12)
print(number(mean, ".4f"), number(variance, ".4f"), number(v @ J @ v, ".4f"))
# --8<-- [end:jacobian-properties]

# --8<-- [start:jacobian-by-hand]
exact = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]
by_hand = []
for i, a_i in enumerate(exact):
    by_hand.append([a_i * ((i == j) - a_j) for j, a_j in enumerate(exact)])
for row in by_hand:
    print(*(f"{entry!s:>6}" for entry in row))
# --8<-- [end:jacobian-by-hand]

# --8<-- [start:jacobian-checks]
h = 1e-5  # central differences: score j up and down for column j
up = np.array([softmax(s + h * d) for d in np.eye(3)])
down = np.array([softmax(s - h * d) for d in np.eye(3)])
print(np.abs(J - np.array(by_hand, float)).max() < 1e-12)
print(np.abs(J - (up - down).T / (2 * h)).max() < 1e-8)
# --8<-- [end:jacobian-checks]

# --8<-- [start:jacobian-torch]
import torch

at_s = torch.tensor(s)
autograd = torch.autograd.functional.jacobian
of_torch = autograd(lambda x: torch.softmax(x, -1), at_s)
of_package = autograd(softmax, at_s)
print(np.abs(J - of_torch.numpy()).max() < 1e-12)
print(np.abs(J - of_package.numpy()).max() < 1e-12)
# --8<-- [end:jacobian-torch]

# --8<-- [start:saturation]
norm = np.linalg.norm  # of a matrix: root of the sum of the squares
factors = np.arange(0, 17) / 4
by_factor = np.array([softmax(c * example) for c in factors])
saturated = {c: norm(softmax_jacobian(softmax(c * example))) for c in (1, 4)}
line_chart(
    factors,
    [
        ("‖J‖", [norm(softmax_jacobian(w)) for w in by_factor]),
        ("bound", 2 * by_factor[:, :3].sum(axis=1)),
    ],
    xlabel="c",
    ylabel="norm",
    log_y=True,
    spec=".2e",
)
# --8<-- [end:saturation]

# --8<-- [start:saturation-table]
print("   c      rest       ‖J‖     bound")
for c in (0, 0.25, 0.5, 1, 2, 4):
    w = softmax(c * example)
    others = np.sort(w)[:-1].sum()  # 1 - a_m without cancellation
    cells = (others, norm(softmax_jacobian(w)), 2 * others)
    print(f"{c:4.2f}", *(f"{number(x, '.2e'):>9}" for x in cells))
# --8<-- [end:saturation-table]

# --8<-- [start:lower-bound]
print("    R  e^(-R)/n     a_min  min ‖v J‖")
for c in (0.25, 0.5, 1, 2):
    w = softmax(c * example)
    R = c * 4  # 5 - 1, times c
    # Eigenvalue 0 belongs to v = (1, …, 1); the next one is the smallest ‖v J‖.
    stretch = np.sort(np.linalg.eigvalsh(softmax_jacobian(w)))[1]
    cells = (exp(-R) / 4, w.min(), stretch)
    print(f"{R:5.0f}", *(f"{number(x, '.2e'):>9}" for x in cells))
# --8<-- [end:lower-bound]

# --8<-- [start:scale-after]
tau = sqrt(3)
late_weights = softmax(scores) / tau  # wrong: the weights are divided
right_weights = softmax(scores / tau)
print(text(late_weights, ".4f"))
print(text(late_weights.sum(axis=1), ".4f"))
print(text(right_weights, ".4f"))
print(text(right_weights.sum(axis=1), ".4f"))
# --8<-- [end:scale-after]

# --8<-- [start:scale-after-shrinks]
print(np.abs(late_weights @ values - outputs / tau).max() < 1e-12)
same_values = np.ones((3, 1))  # an average of 1, 1 and 1 is 1
print(text((late_weights @ same_values)[:, 0], ".4f"))
# --8<-- [end:scale-after-shrinks]

# --8<-- [start:wrong-axis]
across_queries = softmax(scores / tau, axis=0)  # wrong: axis 0 is the queries
print(text(across_queries.sum(axis=1), ".4f"))
print(text(across_queries @ values, ".4f"))
print(text(right_weights.sum(axis=1), ".4f"))
print(text(right_weights @ values, ".4f"))
# --8<-- [end:wrong-axis]

# --8<-- [start:wrong-axis-leak]
other_scores = scores.copy()
other_scores[2] = 0  # only query 3 changes: it is 0 now
moved = np.abs((softmax(other_scores / tau, axis=0) - across_queries) @ values)
stays = np.abs((softmax(other_scores / tau) - right_weights) @ values)
print(number(moved[0].max(), ".4f"), number(stays[0].max(), ".4f"))
later = np.triu(np.full((3, 3), -np.inf), k=1)  # -∞ where key j comes after i
pair = [softmax(x / tau + later, axis=0) for x in (scores, other_scores)]
print(number(np.abs((pair[1] - pair[0]) @ values)[0].max(), ".4f"))
# --8<-- [end:wrong-axis-leak]

# --8<-- [start:exercise-weights]
fresh = np.log(np.array([3.0, 1.0, 6.0]))
print(text(softmax(fresh), ".4f"))
print(text(softmax(fresh + 5), ".4f"))
print(text(tempered_softmax(fresh, 0.5), ".4f"))
# --8<-- [end:exercise-weights]

# --8<-- [start:exercise-bias]
b = np.array([2.0, -1.0, 5.0])
with_bias = dot(queries, keys + b)
print(text(with_bias - scores, ".0f"))
print(np.abs(softmax(with_bias) - weights).max() < 1e-12)
# --8<-- [end:exercise-bias]

# --8<-- [start:exercise-jacobian]
thirds = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
for i, a_i in enumerate(thirds):
    print(*(f"{a_i * ((i == j) - a_j)!s:>6}" for j, a_j in enumerate(thirds)))
g_mean = thirds[0] * 6  # the weighted mean of g = (6, 0, 0)
pushes = [a_j * (g_j - g_mean) for a_j, g_j in zip(thirds, (6, 0, 0), strict=True)]
print(*(f"{push!s:>6}" for push in pushes))
# --8<-- [end:exercise-jacobian]

# --8<-- [start:exercise-tie]
tie = np.array([2.0, 4.0, 4.0])
for tau in (1, 0.5, 0.1):
    print(f"τ = {tau:.1f}:", text(tempered_softmax(tie, tau), ".4f"))
# --8<-- [end:exercise-tie]

# --8<-- [start:exercise-gap]
needed = {n: log(99 * (n - 1)) for n in (8, 1024)}
for n, gap in needed.items():
    print(f"n = {n:4d}: Δ = {gap:.2f}, a_m = {one_leads(gap, n)[-1]:.4f}")
# --8<-- [end:exercise-gap]


# --8<-- [start:exercise-bug]
def softmax_rows(s):
    exponentials = np.exp(s - s.max())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


two_rows = np.array([[0.0, 1.0], [1000.0, 1001.0]])
with np.errstate(invalid="ignore"):
    print(text(softmax_rows(two_rows), ".4f"))
# --8<-- [end:exercise-bug]


# --8<-- [start:exercise-bug-fixed]
def mended_rows(s):
    exponentials = np.exp(s - s.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


print(text(mended_rows(two_rows), ".4f"))
# --8<-- [end:exercise-bug-fixed]

# --8<-- [start:exercise-half]
for h in (2.0, 1.0, 0.1):
    change = softmax(np.array([h, -h]))[0] - 1 / 2
    print(f"h = {h:3.1f}: Δa/h = {number(change / h, '.4f')}")
# --8<-- [end:exercise-half]

# --8<-- [start:exercise-gibbs]
tau = 2
wanted = tau * log(np.exp(example / tau).sum())  # τ ln Z
weighed = at[tau] @ example + tau * entropy(at[tau])
print(number(wanted, ".4f"), number(weighed, ".4f"))
rng = np.random.default_rng(2017)
tries = rng.dirichlet(np.ones(4), size=1000)  # weights drawn evenly
print((tries @ example + tau * entropy(tries) > wanted).sum())
# --8<-- [end:exercise-gibbs]
