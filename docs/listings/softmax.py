"""Softmax: what it does to scores and to gradients."""

# --8<-- [start:setup]
from fractions import Fraction
from math import erf, exp, log, sqrt

import numpy as np

from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import (
    Frame,
    bar_chart,
    heatmap,
    line_chart,
    numbered,
    softmax_bars,
    stepper,
    table,
)
from attention_docs.score_functions import dot
from attention_docs.softmax import (
    entropy,
    softmax,
    softmax_jacobian,
    tempered_softmax,
)
from attention_docs.text import check, number

queries, keys, values = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
# --8<-- [end:setup]


# --8<-- [start:control]
def one_leads(gap, n, tau=1):
    """Weights of n keys: one leads, the others tie."""
    return tempered_softmax(np.append(np.zeros(n - 1), gap), tau)


BARS = [
    "the key that leads",
    "all others together",
    "each of the others",
]
temperatures = [1, 2, 4]  # knob
gaps = [4, 7, 10]  # knob
counts = [2, 8, 64, 1024]


def frame(i, j, k):
    """What the control shows at one setting."""
    tau, gap, n = temperatures[i], gaps[j], counts[k]
    a = one_leads(gap, n, tau)
    shares = [a[-1], a[:-1].sum(), a[0]]
    bars = bar_chart(
        BARS, {"": shares}, roles=["weight"], ylabel="weight", spec=".4f", scale=(0, 1)
    )
    share = number(a[-1], ".4f")
    caption = f"The leading key gets {share} of the weight."
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
    answer="1 1 4",
)
# --8<-- [end:control]


# --8<-- [start:definition]
s = np.log(np.array([1.0, 2.0, 5.0]))
e = np.exp(s)
a = e / e.sum()
bar_chart(
    numbered("key", 3),
    [("score", s), ("exponential", e), ("weight", a)],
    roles=["score", "neutral", "weight"],
    ylabel="number",
    spec=".4g",
)
# --8<-- [end:definition]


# --8<-- [start:two-keys]
def normal_cdf(x):
    """Probability that a standard normal variable is below x."""
    return (1 + erf(x / sqrt(2))) / 2


def probit_ratio(x):
    """h(x) of the rule a_1 = Φ(s_1 - s_2), a_2 = 1 - a_1."""
    return normal_cdf(x) / normal_cdf(-x)


table(
    [[h(1) * h(1), h(2)] for h in (exp, probit_ratio)],
    columns=["h(1)·h(1)", "h(2)"],
    index=["exp", "Φ"],
    spec=".3f",
)
# --8<-- [end:two-keys]


# --8<-- [start:alternatives]
from attention_docs.transformer_block import relu

rules = {
    "softmax": softmax,
    "s / Σs": lambda s: s / s.sum(),
    "s² / Σs²": lambda s: s**2 / (s**2).sum(),
    "ReLU / ΣReLU": lambda s: relu(s) / relu(s).sum(),
    "ReLU / n": lambda s: relu(s) / len(s),
}
tried = [[2, 4, 4], [102, 104, 104], [20, 40, 40], [-1, 2, 1], [-2, -4, -4]]
given, rows = {}, []
for row in tried:
    for name, rule in rules.items():
        with np.errstate(invalid="ignore"):  # 0 / 0 below is the point
            given[name, row[0]] = rule(np.array(row, dtype=float))
        rows.append([row, name, given[name, row[0]]])
table(rows, columns=["scores", "rule", "weights"], spec=["d", "", ".4f"])
# --8<-- [end:alternatives]

# --8<-- [start:dead]
h = 1e-6  # central differences by score 1
low, high = np.array([-1 - h, 2, 1]), np.array([-1 + h, 2, 1])
names = ["ReLU / ΣReLU", "softmax"]
slopes = [(rules[name](high) - rules[name](low)) / (2 * h) for name in names]
table(slopes, columns=numbered("weight", 3), index=names, spec=".4f")
# --8<-- [end:dead]

# --8<-- [start:shift]
changed = {"s": s, "s − 3": s - 3, "s + 100": s + 100, "2 · s": 2 * s}
bar_chart(
    list(changed),
    list(zip(numbered("key", 3), np.transpose([*map(softmax, changed.values())]), strict=True)),
    roles=["weight"] * 3,
    xlabel="scores",
    ylabel="weight",
    scale=(0, 1),
    spec=".4f",
)
# --8<-- [end:shift]


# --8<-- [start:dominates]
leads = [0, 1, 2, 4, 8, 16]
table(
    [[n, log(n - 1), *(one_leads(lead, n)[-1] for lead in leads)] for n in counts],
    columns=["n", "ln(n − 1)", *(f"Δ = {lead}" for lead in leads)],
    spec=[",", ".2f", *[".4f"] * len(leads)],
)
# --8<-- [end:dominates]

# --8<-- [start:dominates-output]
scores = dot(queries, keys)  # (3, 3), of the pencil run, not scaled
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
within = np.array([rest, distance]) <= np.array([rest_bound, distance_bound])
check("no number exceeds its bound", within.all())
table(
    list(zip(scores, gap_of, rest, rest_bound, distance, distance_bound, strict=True)),
    columns=["scores", "Δ", "1 − a_m", "bound on 1 − a_m", "‖o − v_m‖", "bound on ‖o − v_m‖"],
    index=numbered("query", 3),
    spec=[".0f", ".0f", *[".4f"] * 4],
)
# --8<-- [end:dominates-output]

# --8<-- [start:pull]
example = np.array([1.0, 1.0, 1.0, 5.0])
softmax_bars(example, softmax(example))
# --8<-- [end:pull]

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
rows = []
for tau, w in at.items():
    mean = w @ example
    slope = w @ (example - mean) ** 2 / tau**3
    h = tau / 1000  # central differences
    ends = [entropy(tempered_softmax(example, tau + d)) for d in (h, -h)]
    rows.append([tau, w.max(), entropy(w), (ends[0] - ends[1]) / (2 * h), slope])
table(
    rows,
    columns=["τ", "largest weight", "entropy", "dH/dτ by differences", "dH/dτ by the formula"],
    spec=[".1f", ".4f", ".4f", ".4f", ".4f"],
)
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
check("the product g J gives the same", np.abs(by_scores - g @ J).max() < 1e-12)
table([by_scores], columns=numbered("score", 3), index=["gradient"], spec=".5f")
# --8<-- [end:gradient]

# --8<-- [start:jacobian-properties]
v = np.array([3.0, 1.0, 1.0])
mean = a @ v
variance = a @ (v - mean) ** 2
check("J is symmetric", np.abs(J - J.T).max() < 1e-12)
check("every row of J adds up to 0", np.abs(J.sum(axis=1)).max() < 1e-12)
table([[mean, variance, v @ J @ v]], columns=["mean", "variance", "v J vᵀ"], spec=".4f")
# --8<-- [end:jacobian-properties]

# --8<-- [start:jacobian-by-hand]
exact = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]
by_hand = []
for i, a_i in enumerate(exact):
    by_hand.append([a_i * ((i == j) - a_j) for j, a_j in enumerate(exact)])
h = 1e-5  # central differences: score j up and down for column j
up = np.array([softmax(s + h * d) for d in np.eye(3)])
down = np.array([softmax(s - h * d) for d in np.eye(3)])
check("the package agrees with the fractions", np.abs(J - np.array(by_hand, float)).max() < 1e-12)
check("it agrees with the differences", np.abs(J - (up - down).T / (2 * h)).max() < 1e-8)
table(by_hand, columns=numbered("score", 3), index=numbered("weight", 3))
# --8<-- [end:jacobian-by-hand]

# --8<-- [start:jacobian-torch]
import torch

at_s = torch.tensor(s)
autograd = torch.autograd.functional.jacobian
of_torch = autograd(lambda x: torch.softmax(x, -1), at_s)
of_package = autograd(softmax, at_s)
check("the package agrees with torch", np.abs(J - of_torch.numpy()).max() < 1e-12)
check("autograd through the package agrees", np.abs(J - of_package.numpy()).max() < 1e-12)
table(of_torch, columns=numbered("score", 3), index=numbered("weight", 3), spec=".6f")
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
rows = []
for c in (0, 0.25, 0.5, 1, 2, 4):
    w = softmax(c * example)
    others = np.sort(w)[:-1].sum()  # 1 - a_m without cancellation
    rows.append([c, others, norm(softmax_jacobian(w)), 2 * others])
columns = ["c", "all other weights", "‖J‖", "bound"]
table(rows, columns=columns, spec=[".2f", ".3g", ".3g", ".3g"])
# --8<-- [end:saturation-table]

# --8<-- [start:lower-bound]
rows = []
for c in (0.25, 0.5, 1, 2):
    w = softmax(c * example)
    R = c * 4  # 5 - 1, times c
    # Eigenvalue 0 belongs to v = (1, …, 1); the next one is the smallest ‖v J‖.
    stretch = np.sort(np.linalg.eigvalsh(softmax_jacobian(w)))[1]
    rows.append([R, exp(-R) / 4, w.min(), stretch])
columns = ["R", "exp(−R) / n", "smallest weight", "smallest ‖v J‖"]
table(rows, columns=columns, spec=[".0f", ".3g", ".3g", ".3g"])
# --8<-- [end:lower-bound]


# --8<-- [start:overflow]
def unshifted(s):
    """Softmax as the definition stands."""
    exponentials = np.exp(s)
    return exponentials / exponentials.sum()


tried = {np.float16: [10, 12], np.float32: [88, 90], np.float64: [708, 710]}
rows, names = [], []
for dtype, pair in tried.items():
    large = np.array(pair, dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # we want to see it
        rows += [[large, *unshifted(large)], [large, *softmax(large)]]
    names += [f"{dtype.__name__}, not shifted", f"{dtype.__name__}, shifted"]
columns = ["scores", *numbered("weight", 2)]
table(rows, columns=columns, index=names, spec=[".0f", ".1f", ".1f"])
# --8<-- [end:overflow]


# --8<-- [start:rows]
def softmax_of_rows(s):
    """Softmax of each row of scores (n_q, n_k), without overflow."""
    e = np.exp(s - s.max(axis=-1, keepdims=True))  # the largest is 1
    return e / e.sum(axis=-1, keepdims=True)


sentence = np.array([[0.0, 3, 0], [3, 0, 3], [0, 3, 0]])  # chapter 4
of_words = softmax_of_rows(sentence)
apart = np.abs(of_words - softmax(sentence)).max()
check("the package gives the same", apart < 1e-12)
table(
    list(zip(sentence, of_words, of_words.sum(axis=1), strict=True)),
    columns=["scores", "weights", "sum"],
    index=["dog", "bites", "man"],
    spec=[".0f", ".4f", ".4f"],
)
# --8<-- [end:rows]

# --8<-- [start:limits]
import torch

types = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
table(
    [[log(torch.finfo(dtype).max)] for dtype in types],
    columns=["logarithm of the largest number"],
    index=[str(dtype).removeprefix("torch.") for dtype in types],
    spec=".2f",
)
# --8<-- [end:limits]

# --8<-- [start:underflow]
far = np.array([0.0, -20.0])
types = [np.float16, np.float32]
table(
    [[bool(softmax(far.astype(dtype))[1] == 0)] for dtype in types],
    columns=["weight of the score −20 is 0"],
    index=[dtype.__name__ for dtype in types],
)
# --8<-- [end:underflow]

# --8<-- [start:underflow-sum]
low = np.array([-20.0, -22.0], dtype=np.float16)
with np.errstate(invalid="ignore"):
    rows = [unshifted(low), softmax(low)]
table(rows, columns=numbered("weight", 2), index=["not shifted", "shifted"], spec=".1f")
# --8<-- [end:underflow-sum]

# --8<-- [start:stall]
stalled = []
for dtype in types:
    ones = np.ones(4096, dtype)  # e^0 of 4,096 equal scores
    one_by_one = np.add.accumulate(ones)[-1]  # rounded after every addition
    stalled.append([int(one_by_one), float((ones / one_by_one).astype(float).sum())])
table(
    stalled,
    columns=["sum of the exponentials", "sum of the weights"],
    index=[dtype.__name__ for dtype in types],
    spec=[",", ".4f"],
)
# --8<-- [end:stall]

# --8<-- [start:scale-after]
tau = sqrt(3)
late_weights = softmax(scores) / tau  # wrong: the weights are divided
right_weights = softmax(scores / tau)
both = np.concatenate([late_weights, right_weights])  # (3 + 3, 3)
cases = [f"{case}, query {i}" for case in ("wrong", "right") for i in (1, 2, 3)]
table(
    np.column_stack([both, both.sum(axis=1)]),
    columns=[*numbered("key", 3), "sum of the row"],
    index=cases,
    spec=".4f",
)
# --8<-- [end:scale-after]

# --8<-- [start:scale-after-shrinks]
by_tau = np.abs(late_weights @ values - outputs / tau).max()
check("each output is an average divided by √3", by_tau < 1e-12)
same_values = np.ones((3, 1))  # an average of 1, 1 and 1 is 1
table((late_weights @ same_values).T, columns=numbered("output", 3), spec=".4f")
# --8<-- [end:scale-after-shrinks]

# --8<-- [start:wrong-axis]
across_queries = softmax(scores / tau, axis=0)  # wrong: axis 0 is the queries
both = np.concatenate([across_queries, right_weights])  # (3 + 3, 3)
table(
    np.column_stack([both.sum(axis=1), both @ values]),
    columns=["sum of the row", *numbered("component", 3)],
    index=cases,
    spec=".4f",
)
# --8<-- [end:wrong-axis]

# --8<-- [start:wrong-axis-leak]
other_scores = scores.copy()
other_scores[2] = 0  # only query 3 changes: it is 0 now
moved = np.abs((softmax(other_scores / tau, axis=0) - across_queries) @ values)
stays = np.abs((softmax(other_scores / tau) - right_weights) @ values)
later = np.triu(np.full((3, 3), -np.inf), k=1)  # -∞ where key j comes after i
pair = [softmax(x / tau + later, axis=0) for x in (scores, other_scores)]
hidden = np.abs((pair[1] - pair[0]) @ values)
table(
    [[change[0].max()] for change in (moved, stays, hidden)],
    columns=["largest change of output 1"],
    index=["wrong axis", "right axis", "wrong axis, later keys hidden"],
    spec=".4f",
)
# --8<-- [end:wrong-axis-leak]

# --8<-- [start:exercise-weights]
fresh = np.log(np.array([3.0, 1.0, 6.0]))
table(
    [softmax(fresh), softmax(fresh + 5), tempered_softmax(fresh, 0.5)],
    columns=numbered("weight", 3),
    index=["s", "s + 5", "τ = 1/2"],
    spec=".4f",
)
# --8<-- [end:exercise-weights]

# --8<-- [start:exercise-bias]
b = np.array([2.0, -1.0, 5.0])
with_bias = dot(queries, keys + b)
check("the weights stay the same", np.abs(softmax(with_bias) - weights).max() < 1e-12)
change = with_bias - scores
table(change, columns=numbered("key", 3), index=numbered("query", 3), spec=".0f")
# --8<-- [end:exercise-bias]

# --8<-- [start:exercise-jacobian]
thirds = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
rows = []
for i, a_i in enumerate(thirds):
    rows.append([a_i * ((i == j) - a_j) for j, a_j in enumerate(thirds)])
g_mean = thirds[0] * 6  # the weighted mean of g = (6, 0, 0)
rows.append([a_j * (g_j - g_mean) for a_j, g_j in zip(thirds, (6, 0, 0), strict=True)])
table(rows, columns=numbered("score", 3), index=[*numbered("weight", 3), "gradient"])
# --8<-- [end:exercise-jacobian]

# --8<-- [start:exercise-tie]
tie = np.array([2.0, 4.0, 4.0])
taus = [1, 0.5, 0.1]
table(
    [tempered_softmax(tie, tau) for tau in taus],
    columns=numbered("weight", 3),
    index=[f"τ = {tau:g}" for tau in taus],
    spec=".4f",
)
# --8<-- [end:exercise-tie]

# --8<-- [start:exercise-gap]
needed = {n: log(99 * (n - 1)) for n in (8, 1024)}
table(
    [[n, gap, one_leads(gap, n)[-1]] for n, gap in needed.items()],
    columns=["n", "Δ", "largest weight"],
    spec=[",", ".2f", ".4f"],
)
# --8<-- [end:exercise-gap]


# --8<-- [start:exercise-bug]
def softmax_rows(s):
    exponentials = np.exp(s - s.max())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


two_rows = np.array([[0.0, 1.0], [1000.0, 1001.0]])
with np.errstate(invalid="ignore"):
    wrong_rows = softmax_rows(two_rows)
row_names = [f"row {i}" for i in (1, 2)]
table(wrong_rows, columns=numbered("weight", 2), index=row_names, spec=".4f")
# --8<-- [end:exercise-bug]


# --8<-- [start:exercise-bug-fixed]
def mended_rows(s):
    exponentials = np.exp(s - s.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


table(mended_rows(two_rows), columns=numbered("weight", 2), index=row_names, spec=".4f")
# --8<-- [end:exercise-bug-fixed]

# --8<-- [start:exercise-half]
steps = np.array([2.0, 1.0, 0.1])
changes = softmax(np.column_stack([steps, -steps]))[:, 0] - 1 / 2
table(
    np.column_stack([steps, changes / steps]),
    columns=["h", "change of the weight / h"],
    spec=[".1f", ".4f"],
)
# --8<-- [end:exercise-half]

# --8<-- [start:exercise-gibbs]
tau = 2
wanted = tau * log(np.exp(example / tau).sum())  # τ ln Z
weighed = at[tau] @ example + tau * entropy(at[tau])
rng = np.random.default_rng(2017)
tries = rng.dirichlet(np.ones(4), size=1000)  # weights drawn evenly
above = int((tries @ example + tau * entropy(tries) > wanted).sum())
columns = ["bound", "at softmax", "random weights above the bound"]
table([[wanted, weighed, above]], columns=columns, spec=[".4f", ".4f", ""])
# --8<-- [end:exercise-gibbs]


# --8<-- [start:writing]
def your_softmax(scores):
    """The weights of each query, for scores (n_q, n_k)."""
    return scores  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, judge

writing = Task(
    model_softmax,
    inputs=[
        (np.zeros((1, 2)),),
        (np.log([[1.0, 3]]),),
        (np.log([[1.0, 3], [2, 2], [4, 1]]),),
        (np.array([[0.0, 1], [1000, 1001]]),),
        (np.array([[0.0, 1000, 2000], [-2000, 0, -1000], [-5000, -5001, -5001], [-3000, 9, 8]]),),
        (np.array([np.arange(7.0) ** 6, np.log([1, 99, 999, 9999, 99999, 1, 9])]),),
    ],
    mistakes={
        "Softmax over the queries: with axis 0 the columns sum to 1, and not the rows.": (
            lambda s: model_softmax(s.T).T
        ),
        "The scores were divided by their sum. Take their exponentials first.": (
            lambda s: s / s.sum(axis=-1, keepdims=True)
        ),
        "The whole matrix sums to 1. The sum needs axis=-1 and keepdims=True.": (
            lambda s: model_softmax(s.reshape(1, -1)).reshape(s.shape)
        ),
        "Overflow: subtract the largest score of each row before you take exponentials.": (
            lambda s: np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)
        ),
        "The largest score of the whole matrix was subtracted. A row far below it is 0/0.": (
            lambda s: np.exp(s - s.max()) / np.exp(s - s.max()).sum(axis=-1, keepdims=True)
        ),
    },
    draw=lambda rng: (rng.choice([-900, 0, 1, 900], size=(3, 5)) + rng.normal(size=(3, 5)),),
)
judge(your_softmax, writing)
# --8<-- [end:writing-checks]
