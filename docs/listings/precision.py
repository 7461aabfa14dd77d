"""Precision: which digits of attention survive a short format."""

# --8<-- [start:hook]
from decimal import Decimal
from fractions import Fraction
from math import exp, sqrt

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import Frame, heatmap, line_chart, stepper, table
from attention_docs.figures.numbers import SUPERSCRIPTS, typeset
from attention_docs.precision import (
    FORMATS,
    gamma,
    round_to,
    rounded_product,
    rounded_sum,
    soft_cap,
)
from attention_docs.score_functions import cosine
from attention_docs.softmax import softmax
from attention_docs.text import check, number, text

SEED = 754
n = 4096
powers = np.exp(np.zeros(n))  # all scores are 0
found = {}
for name in ("float32", "bfloat16"):
    total = rounded_sum(powers, name)
    weights = powers / total
    found[name] = float(total), weights.sum()
table(
    list(found.values()),
    columns=["sum of the exponentials", "sum of the weights"],
    index=list(found),
    spec=".0f",
)
# --8<-- [end:hook]


# --8<-- [start:formats]
def unit(form):
    """The unit roundoff as a power of 2."""
    return f"2{str(-form.p).translate(SUPERSCRIPTS)}"


def largest_number(form):
    """The largest number; of float64 there is none beyond it to round to."""
    return typeset(f"{Decimal(form.largest):.1e}")


table(
    [[form.p, unit(form), largest_number(form), 2**form.p] for form in FORMATS.values()],
    columns=["p", "u", "largest number", "2ᵖ"],
    index=list(FORMATS),
    spec=",",
)
# --8<-- [end:formats]

# --8<-- [start:pencil]
x = np.array([16.0, 17, 18, 19, 20, 21])
forty = rounded_sum(np.ones(40), "float8_e4m3fn")
print(f"1 added up forty times: {forty:.0f}")
rows = np.column_stack([x, round_to(x, "float8_e4m3fn")])
table(rows, columns=["number", "rounded"], spec=".0f")
# --8<-- [end:pencil]

# --8<-- [start:rounding]
rng = np.random.default_rng(SEED)
shorter = [form for form in FORMATS.values() if form.p < 50]
errors = []
for form in shorter:
    x = rng.uniform(1, 4, 100_000)
    error = np.abs(round_to(x, form.name) - x) / x
    errors.append([error.max() / form.u])
table(
    errors,
    columns=["largest relative error, in u"],
    index=[form.name for form in shorter],
    spec=".2f",
)
# --8<-- [end:rounding]

# --8<-- [start:half-mark]
x = np.array([65504.0, 65519.0, 65520.0])
columns = ["65,504", "65,519", "65,520"]
table([round_to(x, "float16")], columns=columns, index=["float16"], spec=",.0f")
# --8<-- [end:half-mark]

# --8<-- [start:special]
x = np.array([2.0**-9, 2.0**-10, 0.75 * 2.0**-9, 1e6, -np.inf])
table(
    [round_to(x, name) * 2**9 for name in ("float8_e4m3fn", "float8_e5m2")],
    columns=["2⁻⁹", "2⁻¹⁰", "¾ · 2⁻⁹", "10⁶", "−∞"],
    index=["float8_e4m3fn", "float8_e5m2"],
    spec=".2f",
    name="rounded, times 2⁹",
)
# --8<-- [end:special]

# --8<-- [start:mistake-half]
wrong = powers / rounded_sum(powers, "bfloat16")
right = powers / rounded_sum(powers, "float32")
table(
    [[wrong.sum()], [right.sum()]],
    columns=["sum of the weights"],
    index=["added in bfloat16 (wrong)", "added in float32 (right)"],
    spec=".0f",
)
# --8<-- [end:mistake-half]

# --8<-- [start:stuck]
short = [form for form in FORMATS.values() if form.p < 12]
table(
    [[2**form.p + 100, rounded_sum(np.ones(2**form.p + 100), form.name)] for form in short],
    columns=["terms", "sum"],
    index=[form.name for form in short],
    spec="d",
)
# --8<-- [end:stuck]


# --8<-- [start:pairwise]
def pairwise(x, name):
    """Neighbours are added, then their sums, and so on; n is a power of 2."""
    while x.shape[-1] > 1:
        x = round_to(x[..., ::2] + x[..., 1::2], name)
    return x[..., 0]


rng = np.random.default_rng(SEED)
x = round_to(rng.uniform(0, 1, (50, 1024)), "bfloat16")
far = {}
for how, total in (("→", rounded_sum(x, "bfloat16")), ("⊕", pairwise(x, "bfloat16"))):
    far[how] = np.abs(total / x.sum(axis=1) - 1)
bounds = {"→": None, "⊕": gamma(10, "bfloat16")}
table(
    [[errors.min(), errors.max(), bounds[how]] for how, errors in far.items()],
    columns=["smallest error", "largest error", "bound"],
    index=["from left to right", "in pairs"],
    spec=".3f",
)
# --8<-- [end:pairwise]


# --8<-- [start:dot]
def worst(d, name, draws=400):
    """The largest error of a dot product, in units of Σ|q_i k_i|."""
    rng = np.random.default_rng(SEED + d)
    q, k = (round_to(rng.standard_normal((draws, d)), name) for _ in range(2))
    products = round_to(q * k, name)
    size = np.abs(q * k).sum(axis=1)
    exact = (q * k).sum(axis=1)
    short = np.abs(rounded_sum(products, name) - exact) / size
    long = np.abs(round_to(rounded_sum(q * k, "float32"), name) - exact) / size
    return short.max(), long.max()


sizes = [4, 8, 16, 32, 64, 128]
measured = np.array([worst(d, "bfloat16") for d in sizes])
bound = np.array([gamma(d, "bfloat16") for d in sizes])
shares = measured[:, 0] / bound
line_chart(
    sizes,
    [
        ("bound", bound),
        ("sum in bfloat16", measured[:, 0]),
        ("sum in float32", measured[:, 1]),
    ],
    xlabel="d_k",
    ylabel="largest error",
    log_x=True,
    log_y=True,
    spec=".1e",
)
# --8<-- [end:dot]

# --8<-- [start:control]
SHAPE = np.array([1, 0.9785, 0.91, 0.8, 0.5, -1.0])
pairs = {}


def frame(place, name, size):
    """Weights of six scores, exact and from rounded scores."""
    s = size * SHAPE
    exact, got = softmax(s), softmax(round_to(s, name))
    delta = FORMATS[name].u * size
    factor = np.exp(np.abs(np.log(got / exact)).max())
    pairs[name, size] = factor, exp(2 * delta)
    drawn = heatmap(
        np.array([exact, got]),
        rows=["exact", "rounded"],
        columns=[f"s_{j}" for j in range(1, 7)],
        name="weights",
        spec=".3f",
        scale=(0, 1),
    )
    f, most = number(factor, ".5g"), number(exp(2 * delta), ".5g")
    return Frame(
        place,
        f"{name}, scores up to {size}",
        (drawn,),
        f"A weight is wrong by a factor of up to {f}; the bound is {most}.",
    )


names = ("float16", "bfloat16", "float8_e4m3fn")
largest = (1, 4, 16, 64)
stepper(
    "scores",
    [
        ("Format", list(names)),
        ("Largest score", [str(size) for size in largest]),
    ],
    [
        frame((str(i + 1), str(j + 1)), name, size)
        for i, name in enumerate(names)
        for j, size in enumerate(largest)
    ],
    answer="3 1",
)
# --8<-- [end:control]

# --8<-- [start:softmax-bound]
rng = np.random.default_rng(SEED)
factors = []
for delta in (0.01, 0.1, 1.0):
    s = 5 * rng.standard_normal((2000, 8))
    moved = s + delta * rng.choice([-1.0, 1.0], s.shape)
    factor = np.exp(np.abs(np.log(softmax(moved) / softmax(s))).max())
    factors.append([delta, factor, exp(2 * delta)])
table(factors, columns=["δ", "largest factor", "bound"], spec=[".2f", ".4f", ".4f"])
# --8<-- [end:softmax-bound]

# --8<-- [start:step]
q = np.array([Fraction(1), Fraction(2)])  # d_k = 4, two components are 0
k = np.array([Fraction(3), Fraction(1)])
eta, g = Fraction(1, 2), Fraction(-1)  # learning rate, dL/ds
s = q @ k / 2
after = (q - eta * g * k / 2) @ (k - eta * g * q / 2) / 2
formula = s - eta * g * (q @ q + k @ k) / 4 + eta**2 * g**2 * s / 4
step = [str(s), str(after), str(formula)]
table([step], columns=["before", "after", "formula"])
# --8<-- [end:step]


# --8<-- [start:train] slow
def train(kind, eta, seeds, symbols=32, n=8, d_k=8, steps=200, most=10.0):
    """For each seed: whether each symbol finds itself in the end, and the largest score."""
    rngs = [np.random.default_rng(seed) for seed in seeds]  # all runs at once, on the first axis
    W_Q, W_K = np.stack([rng.standard_normal((2, symbols, d_k)) for rng in rngs], axis=1)
    alive, run = np.ones(len(rngs), dtype=bool), np.arange(len(rngs))[:, None]
    for _ in range(steps):
        lists = np.stack([rng.random((32, symbols)).argsort(axis=1)[:, :n] for rng in rngs])
        asked = lists[..., 0]  # which is key 1; without positions no one can tell
        q, k = W_Q[run, asked][..., None, :], W_K[run[..., None], lists]  # (runs, 32, 1 or n, d_k)
        s = score(kind, q, k, most)
        dS = softmax(s)
        dS[..., 0] -= 1
        dS /= 32
        if kind == "norm":
            long_q, long_k = (np.linalg.norm(x, axis=-1, keepdims=True) for x in (q, k))
            q, k = q / long_q, k / long_k
            dQ, dK = most * dS @ k, most * dS.mT @ q
            dQ = (dQ - q * (q * dQ).sum(axis=-1, keepdims=True)) / long_q
            dK = (dK - k * (k * dK).sum(axis=-1, keepdims=True)) / long_k
        else:
            dS = dS * (1 - (s / most) ** 2) if kind == "cap" else dS
            dQ, dK = dS @ k / sqrt(d_k), dS.mT @ q / sqrt(d_k)
        np.add.at(W_Q, (run, asked), -eta * dQ[..., 0, :])
        np.add.at(W_K, (run[..., None], lists), -eta * dK)
        size = np.maximum(np.abs(W_Q).max(axis=(1, 2)), np.abs(W_K).max(axis=(1, 2)))
        alive &= size < 1e6
        W_Q[~alive], W_K[~alive] = 1.0, 1.0  # given up
    s = score(kind, W_Q, W_K, most)
    right = (s.argmax(axis=-1) == np.arange(symbols)).all(axis=-1) & alive
    return right, np.where(alive, np.abs(s).max(axis=(1, 2)), np.inf)


def score(kind, q, k, most):
    """Scores as they are, capped, or of queries and keys of norm 1."""
    if kind == "norm":
        return most * cosine(q, k)
    s = q @ k.mT / sqrt(q.shape[-1])
    return soft_cap(s, most) if kind == "cap" else s


def span_text(low, high):
    """Both ends of a range, or the one number that they are."""
    return low if low == high else f"{low}–{high}"


def shown(found):
    """The range over the seeds, or that it left every range."""
    low, high = min(found), max(found)
    return "∞" if low == np.inf else span_text(number(low, ".0f"), number(high, ".0f"))


runs_of_all = []
for kind in ("plain", "cap", "norm"):
    for eta in (10, 30, 100, 300):
        right, largest_scores = train(kind, eta, seeds=range(5))
        runs_of_all.append([kind, eta, right.sum(), shown(largest_scores)])
table(runs_of_all, columns=["scores", "η", "runs that learn, of 5", "largest score"])
# --8<-- [end:train]

# --8<-- [start:train-far] slow
still = {eta: train("norm", eta, seeds=range(20))[0].sum() for eta in (300, 1000, 3000)}
table(list(still.items()), columns=["η", "runs that learn, of 20"], spec=",")
# --8<-- [end:train-far]


# --8<-- [start:where] slow
def outputs_in(setting, q, k, v):
    """Attention with bfloat16 in some places and float32 in the others."""
    sums, kept = setting  # the format of sums; that of scores and exponentials
    s = rounded_product(q, k.T.copy(), sums)
    s = round_to(s / sqrt(q.shape[1]), kept)
    powers = round_to(np.exp(round_to(s - s.max(axis=1, keepdims=True), kept)), kept)
    total = rounded_sum(powers, sums)
    a = round_to(powers / total[:, None], "bfloat16")  # for the next product
    return round_to(rounded_product(a, v, sums), "bfloat16")


settings = {
    "all in bfloat16": ("bfloat16", "bfloat16"),
    "sums in float32": ("float32", "bfloat16"),
    "sums, scores and exponentials in float32": ("float32", "float32"),
}
lost = {name: [] for name in settings}
for seed in range(3):
    rng = np.random.default_rng(seed)
    q, k, v = (round_to(rng.standard_normal((m, 64)), "bfloat16") for m in (8, 1024, 1024))
    exact, _ = attention(q, k, v)
    for name, setting in settings.items():
        error = np.abs(outputs_in(setting, q, k, v) - exact).mean() / np.abs(exact).mean()
        lost[name].append(error)


def span(errors):
    """The smallest and the largest error, in percent."""
    return span_text(*(number(100 * edge(errors), ".1f") for edge in (min, max)))


table(
    [[span(errors)] for errors in lost.values()],
    columns=["error of the outputs, %"],
    index=list(lost),
)
# --8<-- [end:where]

# --8<-- [start:steps]
from math import floor, log2


def mark(size, name):
    """The distance between two neighbouring numbers of a format."""
    return 2.0 ** (floor(log2(size)) + 1 - FORMATS[name].p)


table(
    [[mark(size, name) for name in ("float32", "float16", "bfloat16")] for size in (1, 20, 100)],
    columns=["float32", "float16", "bfloat16"],
    index=[f"logit {size}" for size in (1, 20, 100)],
    spec=".7g",
)
# --8<-- [end:steps]


# --8<-- [start:two-programs] slow
def in_tiles(q, k, v, size):
    """In tiles of keys: sums in float32, what is multiplied in bfloat16."""
    m, total, o = np.full((len(q), 1), -np.inf), np.zeros((len(q), 1)), np.zeros((len(q), 64))
    for start in range(0, len(k), size):
        keys, values = k[start : start + size], v[start : start + size]
        s = round_to(rounded_product(q, keys.T.copy(), "float32") / 8, "float32")
        largest = np.maximum(m, s.max(axis=1, keepdims=True))
        powers = round_to(np.exp(s - largest), "float32")
        shrink = np.exp(m - largest)
        total = round_to(shrink * total + rounded_sum(powers, "float32")[:, None], "float32")
        product = rounded_product(round_to(powers, "bfloat16"), values, "float32")
        o, m = round_to(shrink * o + product, "float32"), largest
    return round_to(o / total, "bfloat16")


rng = np.random.default_rng(1)
q, k, v = (round_to(rng.standard_normal((m, 64)), "bfloat16") for m in (8, 257, 257))
reference, _ = attention(q, k[:256], v[:256])
programs = {
    "one pass": outputs_in(("float32", "float32"), q, k[:256], v[:256]),
    "tiles of 64 keys": in_tiles(q, k[:256], v[:256], 64),
    "tiles, one key too many": in_tiles(q, k, v, 64),
}


def apart(one, other):
    """The mean difference relative to the mean size, in percent."""
    return 100 * np.abs(one - other).mean() / np.abs(reference).mean()


table(
    [[apart(one, programs["one pass"]), apart(one, reference)] for one in programs.values()],
    columns=["from one pass, %", "from float64, %"],
    index=list(programs),
    spec=".2f",
)
# --8<-- [end:two-programs]

# --8<-- [start:rope]
from attention_docs.positions import frequencies

theta, distances = frequencies(64), np.arange(1.0, 33.0)
draw = np.random.default_rng(SEED)
q_pairs, k_pairs = draw.standard_normal((2, 500, 32, 2)) @ [1, 1j]  # (x, y) as x + iy


def turns(n, short):
    """The rotations of positions n, with the named quantities rounded to bfloat16."""

    def keep(x, name):
        return round_to(x, "bfloat16") if name in short else x

    angles = keep(keep(n, "positions")[:, None] * theta, "angles")
    return keep(np.cos(angles), "cos and sin") + 1j * keep(np.sin(angles), "cos and sin")


def turned_scores(n, short=()):
    """Scores of queries at position n with keys at each distance before it."""
    q = q_pairs * turns(np.array([float(n)]), short)
    return np.einsum("rp,rp,jp->rj", q, k_pairs.conj(), turns(n - distances, short).conj()).real


rounded = {
    "cos and sin": ("cos and sin",),
    "cos, sin, positions": ("cos and sin", "positions"),
    "cos, sin, angles": ("cos and sin", "angles"),
}
exact_scores = {n: turned_scores(n) for n in (100, 1000, 10000)}
scatter = [
    [100 * (turned_scores(n, short) - s).std() / s.std() for n, s in exact_scores.items()]
    for short in rounded.values()
]
table(
    scatter,
    columns=[f"n = {n:,}" for n in exact_scores],
    index=list(rounded),
    spec=".1f",
)
# --8<-- [end:rope]

# --8<-- [start:fits]
from attention_docs.gguf import BLOCK, BYTES

stored = {name: BYTES[name] / BLOCK for name in ("Q8_0", "Q4_1")}
per_parameter = {"bfloat16": 2, **stored, "trained with Adam": 2 + 2 + 4 + 4 + 4}
table(
    [[billions * size for size in per_parameter.values()] for billions in (1, 3, 8, 14, 70)],
    columns=list(per_parameter),
    index=[f"{billions}B" for billions in (1, 3, 8, 14, 70)],
    spec=".4f",
)
# --8<-- [end:fits]

# --8<-- [start:quantised]
rng = np.random.default_rng(SEED)
matrix = rng.standard_normal((256, 256))  # rows of weights; x times each of them
outlier = matrix.copy()
outlier[:, 0] *= 20  # the first number of each row
x = rng.standard_normal(256)


def quantise(numbers, bits, block):
    """Each block of a row in 2^bits levels from its smallest to its largest number."""
    parts = numbers.reshape(-1, block)
    low, high = parts.min(axis=1, keepdims=True), parts.max(axis=1, keepdims=True)
    step = (high - low) / (2**bits - 1)
    return (low + step * np.round((parts - low) / step)).reshape(numbers.shape)


def loss_of(numbers, bits, block):
    """The error of the products with x, relative to their size, in percent."""
    wanted = numbers @ x
    off = quantise(numbers, bits, block) @ x - wanted
    return 100 * sqrt((off**2).mean() / (wanted**2).mean())


table(
    [
        [loss_of(one, bits, block) for one in (matrix, outlier)]
        for bits, block in ((8, 32), (4, 32), (4, 256))
    ],
    columns=["normal", "one number 20 times as large"],
    index=["8 bits, blocks of 32", "4 bits, blocks of 32", "4 bits, whole rows"],
    spec=".1f",
)
# --8<-- [end:quantised]

# --8<-- [start:speed]
speeds = {"desktop memory, 40 GB/s": 40, "RTX 4090, 1,008 GB/s": 1008, "H100 SXM, 3,350 GB/s": 3350}
weights_of_8b = {"float32": 8 * 4, "bfloat16": 8 * 2, "Q4_1": 8 * stored["Q4_1"]}
table(
    [[speed / size for size in weights_of_8b.values()] for speed in speeds.values()],
    columns=list(weights_of_8b),
    index=list(speeds),
    spec=".3g",
)
# --8<-- [end:speed]

# --8<-- [start:kept]
texts, n, layers, d, heads = 8, 512, 32, 4096, 32
kept = {  # bytes for a token in a layer
    "all": 34 * d + 5 * heads * n,
    "without attention weights": 34 * d,
    "inputs, and one layer": 2 * d + (34 * d + 5 * heads * n) / layers,  # gradient checkpointing
}
table(
    [[texts * n * layers * size / 10**9] for size in kept.values()],
    columns=["GB"],
    index=list(kept),
    spec=".1f",
)
# --8<-- [end:kept]

# --8<-- [start:loss-scale]
gradients = {"2 × 10⁻⁸": 2e-8, "10⁻³": 1e-3, "3": 3.0}
scales = (1, 1024, 65_536)
kept_after = [
    [float(round_to(np.array(one * scale), "float16")) / scale for scale in scales]
    for one in gradients.values()
]
check("the largest is inf", bool(np.isinf(kept_after[2][2])))
table(
    kept_after,
    columns=[f"scale {scale:,}" for scale in scales],
    index=list(gradients),
    spec=".3g",
)
# --8<-- [end:loss-scale]

# --8<-- [start:dtypes]
import torch
from torch.nn import functional

half, single = torch.ones(1, 2, 4, dtype=torch.float16), torch.ones(1, 2, 4)
calls = {
    "half @ single": lambda: half @ single.mT,
    "linear": lambda: functional.linear(half, single[0]),
    "attention": lambda: functional.scaled_dot_product_attention(half, single, single),
}
for name, call in calls.items():
    try:
        call()
    except RuntimeError as error:
        print(f"{name}: {str(error).splitlines()[0]}")
print(f"half + single: {(half + single).dtype}")
# --8<-- [end:dtypes]

# --8<-- [start:exercise-round]
rounded = round_to(np.array([0.3, 50.0, 9.6]), "float8_e4m3fn")
table([rounded], columns=["0.3", "50", "9.6"], spec=".4f")
# --8<-- [end:exercise-round]

# --8<-- [start:exercise-tenths]
tenth = round_to(np.full(4000, 0.1), "float16")
print(text(rounded_sum(tenth, "float16"), ".0f"))
# --8<-- [end:exercise-tenths]

# --8<-- [start:exercise-which]
names = ["float16", "bfloat16"]
table(
    [[exp(2 * 50 * FORMATS[name].u), round_to(np.array([1e5]), name)[0]] for name in names],
    columns=["largest factor", "10⁵, rounded"],
    index=names,
    spec=[".2f", ".0f"],
)
# --8<-- [end:exercise-which]

# --8<-- [start:exercise-cap]
s, m = np.array([3.0, 1.0, 2.0]), np.array([True, True, False])
wrong = softmax(soft_cap(np.where(m, s, -np.inf), 3.0))
right = softmax(np.where(m, soft_cap(s, 3.0), -np.inf))
table(
    [wrong, right],
    columns=["key 1", "key 2", "key 3"],
    index=["mask, then cap (wrong)", "cap, then mask (right)"],
    spec=".4f",
)
# --8<-- [end:exercise-cap]

# --8<-- [start:exercise-vanish]
gaps = np.array([17.0, 17.5])
table(
    [round_to(np.exp(-gaps), name) > 0 for name in names],
    columns=["17", "17.5"],
    index=names,
    name="Is something left?",
)
# --8<-- [end:exercise-vanish]

# --8<-- [start:exercise-orthogonal]
q = np.array([3.0, 4.0])
by_unit = np.array([2.0, -1.0])  # the gradient with respect to q / ‖q‖
unit = q / 5
dq = (by_unit - unit * (unit @ by_unit)) / 5
after = q - 10 * dq
check("q · dq is 0 to within 10⁻¹²", abs(q @ dq) < 1e-12)
table(
    [[x, x @ x] for x in (q, dq, after)],
    columns=["vector", "squared norm"],
    index=["q", "dq", "q − η dq"],
    spec=[".3f", ".2f"],
)
# --8<-- [end:exercise-orthogonal]


# --8<-- [start:writing]
def your_scores(scores, mask, c):
    """Scores with a soft cap at c; -inf where the mask is False."""
    return scores  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_scores(scores, mask, c):
    capped = c * np.tanh(scores / c)
    return np.where(mask, capped, -np.inf)


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

everything = np.ones((1, 2), dtype=bool)
writing = Task(
    model_scores,
    inputs=[
        (np.array([[0.0, 1.0]]), everything, 2.0),
        (np.array([[4.0, -8.0]]), np.array([[True, False]]), 2.0),
        (np.array([[3.0, 60.0], [-1.0, 5.0]]), np.array([[True, False], [True, True]]), 4.0),
        (np.arange(15.0).reshape(3, 5) * 90 - 600, np.tri(3, 5, 2, dtype=bool), 50.0),
    ],
    mistakes={
        "The mask came before the cap, which lifts −∞ to −c: a forbidden key gets weight again.": (
            lambda scores, mask, c: c * np.tanh(np.where(mask, scores, -np.inf) / c)
        ),
        "The scores are clipped: beyond c they are level and get no gradient at all.": (
            lambda scores, mask, c: np.where(mask, np.clip(scores, -c, c), -np.inf)
        ),
        "Without the factor c in front, the scores are bounded by 1.": (
            lambda scores, mask, c: np.where(mask, np.tanh(scores / c), -np.inf)
        ),
        "Inside the tanh, the score must be divided by c, so that small scores stay as they are.": (
            lambda scores, mask, c: np.where(mask, c * np.tanh(scores), -np.inf)
        ),
    },
    draw=lambda rng: (9 * halves(rng, 4, 3), rng.random((4, 3)) < 0.5, rng.uniform(1, 9)),
)
judge(your_scores, writing)
# --8<-- [end:writing-checks]
