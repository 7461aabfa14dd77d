"""Why scores are divided by √d_k: the proof's numbers, checked three ways."""

# --8<-- [start:setup]
from fractions import Fraction
from itertools import permutations
from math import floor, log10, sqrt

import numpy as np

from attention_docs.eight_steps import INPUTS, W_QUERY
from attention_docs.figures import Frame, bar_chart, heatmap, histogram, line_chart, slider
from attention_docs.scaling import (
    dot_distribution,
    dot_variance,
    equally_likely,
    mean_and_variance,
    mean_interval,
    polynomial_text,
    symbolic_variance,
    variance_interval,
    vectors,
)
from attention_docs.score_functions import dot
from attention_docs.softmax import entropy, softmax, softmax_jacobian
from attention_docs.text import number, text

SEED = 2017


def plus_minus(value, error, digits=2):
    """Value ± error, with 2 digits of the error and at most 4 decimals."""
    decimals = min(4, max(0, digits - 1 - floor(log10(error))))
    error = max(error, 10**-decimals)  # never rounded down to 0
    spec = f".{decimals}f"
    return f"{number(value, spec)} ± {number(error, spec)}"


# --8<-- [end:setup]

# --8<-- [start:example]
scores = np.array([1.0, 1.0, 1.0, 5.0])
raw_weights = softmax(scores)
print("not scaled:", text(raw_weights, ".4f"))
scaled_weights = {}
for d_k in (4, 16, 64):
    scaled_weights[d_k] = softmax(scores / sqrt(d_k))
    print(f"d_k = {d_k:2d}:  ", text(scaled_weights[d_k], ".4f"))
# --8<-- [end:example]

# --8<-- [start:example-figure]
every = [raw_weights, *scaled_weights.values()]
others = {"en": "each of keys 1 to 3", "zh": "键 1 到键 3 各"}
bar_chart(
    [{"en": "not scaled", "zh": "不缩放"}, "d_k = 4", "d_k = 16", "d_k = 64"],
    [(others, [w[0] for w in every]), ("key 4", [w[3] for w in every])],
    ylabel="weight",
    spec=".4f",
)
# --8<-- [end:example-figure]

# --8<-- [start:signs]
signs = equally_likely(-1, 1)
mean, variance = mean_and_variance(signs)
print("mean", mean, "variance", variance)
# --8<-- [end:signs]

# --8<-- [start:standardise]
lopsided = equally_likely(0, 0, 0, 0, 5)
mu, sigma_2 = mean_and_variance(lopsided)
sigma = Fraction(sqrt(sigma_2))  # √4 is exact
standard = {(x - mu) / sigma: p for x, p in lopsided.items()}
print("mean", mu, "variance", sigma_2, "standard deviation", sigma)
for x, p in lopsided.items():
    print(f"{x} becomes {(x - mu) / sigma}, probability {p}")
print("mean and variance after:", *mean_and_variance(standard))
# --8<-- [end:standardise]

# --8<-- [start:pairs]
queries, keys = vectors(signs, 2), vectors(signs, 2)
two = dot_distribution(queries, keys)
print(len(queries), "queries,", len(keys), "keys")
for value, p in two.items():
    print(f"q·k = {value}: probability {p}")
mean, variance = mean_and_variance(two)
print("mean", mean, "variance", variance)
# --8<-- [end:pairs]

# --8<-- [start:enumeration]
counted = {}
for d_k in (1, 2, 3, 4, 5):
    every = vectors(signs, d_k)
    counted[d_k] = mean_and_variance(dot_distribution(every, every))
    mean, variance = counted[d_k]
    pairs = len(every) ** 2
    print(f"d_k = {d_k}: {pairs} pairs, mean {mean}, variance {variance}")
# --8<-- [end:enumeration]

# --8<-- [start:enumeration-general]
from_0_2 = equally_likely(0, 2)  # mean 1, standard deviation 1
from_1_3 = equally_likely(-1, 3)  # mean 1, standard deviation 2
general = {}
for d_k in (1, 2, 3, 4):
    pairs = dot_distribution(vectors(from_0_2, d_k), vectors(from_1_3, d_k))
    general[d_k] = mean_and_variance(pairs)[1]
    formula = dot_variance(d_k, mean_q=1, sigma_q=1, mean_k=1, sigma_k=2)
    print(f"d_k = {d_k}: counted {general[d_k]}, formula {formula}")
# --8<-- [end:enumeration-general]

# --8<-- [start:symbols]
for d_k in (1, 2, 3, 4):
    print(f"d_k = {d_k}:", polynomial_text(symbolic_variance(d_k)))
# --8<-- [end:symbols]


# --8<-- [start:simulate]
def simulate(draw_q, draw_k, d_k, pairs=10_000):
    """The scores q·k of independent pairs."""
    parts = []
    for _ in range(pairs // 2_500):  # in parts, to keep the arrays small
        q = draw_q(size=(2_500, 1, d_k))
        k = draw_k(size=(2_500, 1, d_k))
        parts.append(dot(q, k)[:, 0, 0])
    return np.concatenate(parts)


rng = np.random.default_rng(SEED)
sizes = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
simulated, means = {}, {}
for d_k in sizes:
    samples = simulate(rng.standard_normal, rng.standard_normal, d_k)
    means[d_k] = mean_interval(samples)
    simulated[d_k] = variance_interval(samples)
    mean = plus_minus(*means[d_k], digits=3)
    variance = plus_minus(*simulated[d_k], digits=3)
    print(f"d_k = {d_k:4d}: mean {mean:>15}, variance {variance:>15}")
zero_inside = sum(abs(m) <= e for m, e in means.values())
d_k_inside = sum(abs(v - d_k) <= e for d_k, (v, e) in simulated.items())
print(f"{zero_inside} of {len(sizes)} intervals for the mean hold 0")
print(f"{d_k_inside} of {len(sizes)} intervals for the variance hold d_k")
# --8<-- [end:simulate]

# --8<-- [start:variance-figure]
estimates = np.array([simulated[d_k][0] for d_k in sizes])
errors = np.array([simulated[d_k][1] for d_k in sizes])
line_chart(
    sizes,
    [
        ({"en": "simulated", "zh": "模拟"}, estimates),
        ({"en": "theory: d_k", "zh": "理论：d_k"}, sizes),
    ],
    band={"simulated": (estimates - errors, estimates + errors)},
    band_name={"en": "shaded: 95 % interval", "zh": "阴影：95 % 置信区间"},
    xlabel="d_k",
    ylabel="variance",
    log_x=True,
    log_y=True,
)
# --8<-- [end:variance-figure]

# --8<-- [start:ratio-figure]
ratio, error = estimates / sizes, errors / sizes
line_chart(
    sizes,
    [
        ({"en": "simulated", "zh": "模拟"}, ratio),
        ({"en": "theory: 1", "zh": "理论：1"}, np.ones(len(sizes))),
    ],
    band={"simulated": (ratio - error, ratio + error)},
    band_name={"en": "shaded: 95 % interval", "zh": "阴影：95 % 置信区间"},
    xlabel="d_k",
    ylabel={"en": "variance divided by d_k", "zh": "方差除以 d_k"},
    log_x=True,
)
# --8<-- [end:ratio-figure]

# --8<-- [start:histograms]
rng = np.random.default_rng(SEED)
score = simulate(rng.standard_normal, rng.standard_normal, d_k=64)
histogram(
    {"q·k": score, "q·k / √d_k": score / sqrt(64), "q·k / d_k": score / 64},
    edges=np.arange(-40, 41) / 2,
    xlabel="score",
)
# --8<-- [end:histograms]

# --8<-- [start:simulate-general]
rng = np.random.default_rng(SEED)
simulated_general = {}
for mu, sigma in ((0, 2), (1, 1)):

    def draw(size, mu=mu, sigma=sigma):
        return mu + sigma * rng.standard_normal(size)

    estimate = variance_interval(simulate(draw, draw, d_k=64, pairs=20_000))
    same = {"mean_q": mu, "mean_k": mu, "sigma_q": sigma, "sigma_k": sigma}
    theory = dot_variance(64, **same)
    simulated_general[mu, sigma] = estimate
    print(f"μ = {mu}, σ = {sigma}: {plus_minus(*estimate)}, formula {theory}")
# --8<-- [end:simulate-general]

# --8<-- [start:distributions]
rng = np.random.default_rng(SEED)
draws = {  # each with mean 0 and variance 1
    "normal": rng.standard_normal,
    "uniform": lambda size: rng.uniform(-sqrt(3), sqrt(3), size),
    "-1 or 1": lambda size: rng.choice([-1.0, 1.0], size),
    "Laplace": lambda size: rng.laplace(0, 1 / sqrt(2), size),
    "exponential - 1": lambda size: rng.exponential(1, size) - 1,
}
by_shape = {}
for name, draw in draws.items():
    by_shape[name] = variance_interval(simulate(draw, draw, d_k=64))
    print(f"{name:15}: {plus_minus(*by_shape[name])}")
# --8<-- [end:distributions]

# --8<-- [start:lopsided]
by_count = {}
for d_k in (1, 2, 3, 4):
    every = vectors(standard, d_k)
    by_count[d_k] = mean_and_variance(dot_distribution(every, every))
    mean, variance = by_count[d_k]
    print(f"d_k = {d_k}: mean {mean}, variance {variance}")
# --8<-- [end:lopsided]

# --8<-- [start:dropped]
d_k = 4
free = vectors(signs, d_k)
copies = [((x,) * d_k, p) for x, p in signs.items()]  # one number, d_k times
squares = {Fraction(sum(c * c for c in q)) for q, _ in free}  # q·k for k = q
same = {square: Fraction(1, len(squares)) for square in squares}
wide = vectors(equally_likely(-2, 2), d_k)
shifted = vectors(from_0_2, d_k)
dropped = {
    "nothing": dot_distribution(free, free),
    "independent: k = q": same,
    "zero mean: μ = 1": dot_distribution(shifted, shifted),
    "unit variance: σ = 2": dot_distribution(wide, wide),
    "uncorrelated, in q and k": dot_distribution(copies, copies),
    "uncorrelated, in q only": dot_distribution(copies, free),
}
without = {name: mean_and_variance(pairs) for name, pairs in dropped.items()}
for name, (mean, variance) in without.items():
    print(f"{name:25} mean {mean}, variance {variance}")
# --8<-- [end:dropped]

# --8<-- [start:initialisation]
rng = np.random.default_rng(SEED)
d_model, d_k = 32, 16
x = rng.standard_normal(d_model)
x = x / sqrt(np.mean(x**2))  # one token, its mean square 1


def first_scores(sigma_of_W_q, sigma_of_W_k, draws=4_000):
    """q·k of the same token x, for many random W_q and W_k."""
    W_q = sigma_of_W_q * rng.standard_normal((draws, d_model, d_k))
    W_k = sigma_of_W_k * rng.standard_normal((draws, d_model, d_k))
    q, k = x @ W_q, x @ W_k  # (draws, d_k)
    return dot(q[:, None, :], k[:, None, :])[:, 0, 0]


usual = first_scores(1 / sqrt(d_model), 1 / sqrt(d_model))
usual_mean, usual_variance = mean_interval(usual), variance_interval(usual)
print("mean", plus_minus(*usual_mean))
print("variance", plus_minus(*usual_variance), "for d_k =", d_k)
# --8<-- [end:initialisation]

# --8<-- [start:fixed-query]
every_key = vectors(signs, 3)
for query in INPUTS @ W_QUERY:  # the queries of the eight steps
    q = tuple(Fraction(int(c)) for c in query)
    this = [(q, Fraction(1))]  # with probability 1
    mean, variance = mean_and_variance(dot_distribution(this, every_key))
    print(f"q = {text(query, '.0f')}: mean {mean}, variance {variance}")
mean_square = sum(sum(c * c for c in q) * p for q, p in vectors(standard, 3))
print("mean of ‖q‖² for components -1/2 or 2:", mean_square)
# --8<-- [end:fixed-query]

# --8<-- [start:layernorm]
normed = {}
for half in (1, 2, 3):
    d_k = 2 * half
    orders = sorted(set(permutations([1] * half + [-1] * half)))
    p = Fraction(1, len(orders))
    arranged = [(tuple(Fraction(c) for c in order), p) for order in orders]
    r = sum(q[0] * q[1] * p for q, p in arranged)
    normed[d_k] = mean_and_variance(dot_distribution(arranged, arranged))
    mean, variance = normed[d_k]
    print(f"d_k = {d_k}: E[q₁q₂] = {r}, mean {mean}, variance {variance}")
# --8<-- [end:layernorm]

# --8<-- [start:layernorm-simulation]
rng = np.random.default_rng(SEED)


def layer_normed(size):
    z = rng.standard_normal(size)
    centred = z - z.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True))


simulated_normed = {}
for d_k in (4, 16):
    both = simulate(layer_normed, layer_normed, d_k, pairs=20_000)
    one = simulate(layer_normed, rng.standard_normal, d_k, pairs=20_000)
    simulated_normed[d_k] = variance_interval(both), variance_interval(one)
    both, one = (plus_minus(*interval) for interval in simulated_normed[d_k])
    print(f"d_k = {d_k}, both: {both}, formula {d_k**2 / (d_k - 1):.3f}")
    print(f"d_k = {d_k}, q alone: {one}, formula {d_k}")
# --8<-- [end:layernorm-simulation]


# --8<-- [start:saturation]
drawn = {}  # d_k: the scores of every query, not divided


def measure(d_k, queries=4_000, keys=8):
    """For each divisor: largest weights, entropies, ‖∂a/∂s‖ and ‖∂a/∂q‖."""
    found = {"1": [], "√d_k": [], "d_k": []}
    drawn[d_k] = np.empty((0, keys))
    for _ in range(queries // 500):
        q = rng.standard_normal((500, 1, d_k))
        k = rng.standard_normal((500, keys, d_k))
        s = dot(q, k)[:, 0, :]  # (500, keys)
        drawn[d_k] = np.concatenate([drawn[d_k], s])
        for name, divisor in zip(found, (1, sqrt(d_k), d_k), strict=True):
            a = softmax(s / divisor)  # (500, keys)
            J = softmax_jacobian(a)  # (500, keys, keys)
            by_score = np.sqrt((J**2).sum(axis=(-2, -1)))
            by_query = np.sqrt(((J @ k / divisor) ** 2).sum(axis=(-2, -1)))
            largest = a.max(axis=-1)
            found[name].append([largest, entropy(a), by_score, by_query])
    return {name: np.concatenate(found[name], axis=-1) for name in found}


rng = np.random.default_rng(SEED)
spread = [4, 16, 64, 256, 1024]
measured = {d_k: measure(d_k) for d_k in spread}
row = {}  # (d_k, divisor): mean ± error of each of the four
print(f"{'divided by':>20} {'largest weight':>16} {'entropy':>16} {'‖J‖':>16}")
for d_k in spread:
    for name, values in measured[d_k].items():
        row[d_k, name] = [plus_minus(*mean_interval(v)) for v in values]
        cells = [f"{cell:>16}" for cell in row[d_k, name][:3]]
        print(f"d_k = {d_k:4d} {name:>9}", *cells)
# --8<-- [end:saturation]

# --8<-- [start:saturation-figure]
divisors = [
    ("1", {"en": "not scaled", "zh": "不缩放"}),
    ("√d_k", {"en": "divided by √d_k", "zh": "除以 √d_k"}),
    ("d_k", {"en": "divided by d_k", "zh": "除以 d_k"}),
]


def averages(which):
    """A line for each divisor: means of one of the measurements, over d_k."""
    lines = []
    for name, label in divisors:
        values = [measured[d_k][name][which].mean() for d_k in spread]
        lines.append((label, values))
    return lines


largest = averages(0)
line_chart(spread, largest, xlabel="d_k", ylabel="largest weight", log_x=True)
# --8<-- [end:saturation-figure]

# --8<-- [start:jacobian-figure]
norm = {"en": "norm of the Jacobian", "zh": "雅可比矩阵的范数"}
line_chart(spread, averages(2), xlabel="d_k", ylabel=norm, log_x=True)
# --8<-- [end:jacobian-figure]

# --8<-- [start:widths]
widths = [4 * 2**i for i in range(9)]  # 4, 8, … 1024
rng = np.random.default_rng(SEED + 1)  # new draws for the widths in between
for d_k in widths:
    if d_k not in measured:
        measured[d_k] = measure(d_k)


def averaged(d_k, which):
    """Mean ± error of a measurement: not scaled, divided by √d_k."""
    values = (measured[d_k][name][which] for name in ("1", "√d_k"))
    return [plus_minus(*mean_interval(one)) for one in values]


print(f"{'':11} {'largest weight':>31} {'entropy':>31}")
print(f"{'':11} {'not scaled':>15} {'by √d_k':>15} {'not scaled':>15} {'by √d_k':>15}")
for d_k in widths:
    cells = [f"{one:>15}" for one in averaged(d_k, 0) + averaged(d_k, 1)]
    print(f"d_k = {d_k:4d} ", *cells)
# --8<-- [end:widths]


# --8<-- [start:slider]
def drawings(d_k):
    """All scores, and the mean weights from the largest to the smallest."""
    scores = [(divisors[0][1], drawn[d_k]), (divisors[1][1], drawn[d_k] / sqrt(d_k))]
    yield histogram(
        [(label, s.ravel()) for label, s in scores],
        edges=np.arange(-40, 41),  # the same at every width
        xlabel="score",
        roles=["score", "score"],
        same_scale=True,
    )
    for label, s in scores:
        ranked = np.sort(softmax(s))[:, ::-1]  # each row from its largest weight
        yield heatmap(
            ranked.mean(axis=0),
            name={"en": f"weights, {label['en']}", "zh": f"权重，{label['zh']}"},
            spec=".2f",
            scale=(0, 1),
        )


def frame(place, d_k):
    """What the slider shows at a width."""
    (raw, scaled), (mixed, kept) = averaged(d_k, 0), averaged(d_k, 1)
    sigma = number(sqrt(d_k), ".4g")
    says = {
        "en": f"d_k = {d_k}: largest weight {raw} not scaled, {scaled} divided by √d_k",
        "zh": f"d_k = {d_k}：最大权重，不缩放 {raw}，除以 √d_k 后 {scaled}",
    }
    caption = {
        "en": f"The standard deviation of the scores is {sigma}, and 1 after the division. "
        f"Mean of the largest weight: {raw} not scaled, {scaled} divided by √d_k. "
        f"Mean of the entropy: {mixed} not scaled, {kept} divided by √d_k.",
        "zh": f"分数的标准差是 {sigma}，除以 √d_k 以后是 1。"
        f"最大权重的均值：不缩放 {raw}，除以 √d_k 以后 {scaled}。"
        f"熵的均值：不缩放 {mixed}，除以 √d_k 以后 {kept}。",
    }
    return Frame((str(place),), f"d_k = {d_k}", tuple(drawings(d_k)), caption, says)


slider("d_k", [frame(i, d_k) for i, d_k in enumerate(widths)], start=widths.index(64))
# --8<-- [end:slider]

# --8<-- [start:gradient]
stuck = {}
print(f"{'divided by':>20} {'mean of ‖∂a/∂q‖':>18} {'below 0.01':>14}")  # typed: a heading
for d_k in spread:
    for name, values in measured[d_k].items():
        below = values[3] < 0.01
        stuck[d_k, name] = int(below.sum())
        share = f"{stuck[d_k, name]} of {below.size}"
        print(f"d_k = {d_k:4d} {name:>9} {row[d_k, name][3]:>18} {share:>14}")
# --8<-- [end:gradient]

# --8<-- [start:mistake-sigma]
for d_k in (1, 4):
    every = vectors(signs, d_k)
    mean, variance = mean_and_variance(dot_distribution(every, every))
    sigma = Fraction(sqrt(variance))
    print(f"d_k = {d_k}: variance {variance}, σ = {sigma}, claimed σ = {d_k}")
# --8<-- [end:mistake-sigma]

# --8<-- [start:mistake-divisor]
models = {  # d_model, heads
    "Transformer base": (512, 8),
    "Transformer big": (1024, 16),
    "BERT base": (768, 12),
}
left = {}
for model, (d_model, heads) in models.items():
    d_k = d_model // heads
    divisors_squared = {
        "√d_k": d_k,
        "d_k": d_k**2,
        "√d_model": d_model,
        "d_model": d_model**2,
        "heads": heads**2,
    }
    print(f"{model}: d_model = {d_model}, heads = {heads}, d_k = {d_k}")
    for name, square in divisors_squared.items():
        left[model, name] = Fraction(dot_variance(d_k), square)
        print(f"    divided by {name:9} variance {left[model, name]}")
# --8<-- [end:mistake-divisor]

# --8<-- [start:mistake-terms]
q, k = (1, 0, 2), (4, 4, 0)
d_k = len(q)
print("i = 1 … d_k:", sum(q[i - 1] * k[i - 1] for i in range(1, d_k + 1)))
terms = range(0, d_k + 1)  # i = 0 … d_k
print("i = 0 … d_k has", len(terms), "terms")
try:
    print(sum(q[i] * k[i] for i in terms))
except IndexError as error:
    print("IndexError:", error)
# --8<-- [end:mistake-terms]

# --8<-- [start:mistake-split]
split = {}
for component in (signs, from_0_2):
    mean, variance = mean_and_variance(component)  # of q and of k alike
    square = variance + mean**2  # E[q²]
    one = vectors(component, 1)
    split[mean] = {
        "counted": mean_and_variance(dot_distribution(one, one))[1],
        "E[q²]E[k²] - E[q]²E[k]²": square * square - mean**2 * mean**2,
        "Var(q)Var(k) - E[q]²E[k]²": variance * variance - mean**2 * mean**2,
        "Var(q)Var(k)": variance * variance,
    }
    print(f"mean {mean}, variance {variance}")
    for name, value in split[mean].items():
        print(f"    {name:25} {value}")
# --8<-- [end:mistake-split]

# --8<-- [start:t5]
d_model, d_k = 512, 64
sigma_2_q = d_model * Fraction(1, d_model * d_k)  # of W_q: 1 / (d_model d_k)
sigma_2_k = d_model * Fraction(1, d_model)  # of W_k: 1 / d_model
t5 = d_k * sigma_2_q * sigma_2_k
print("variance of q_i:", sigma_2_q, "of k_i:", sigma_2_k, "of q·k:", t5)

rng = np.random.default_rng(SEED)
d_model, d_k = 32, 16
small = first_scores(1 / sqrt(d_model * d_k), 1 / sqrt(d_model))
t5_simulated = variance_interval(small)
print("simulated, without a divisor:", plus_minus(*t5_simulated))
# --8<-- [end:t5]

# --8<-- [start:exercise-1]
wanted = dot_variance(16, sigma_q=3, sigma_k=1)
print("variance", wanted, "divisor", number(sqrt(wanted), ".0f"))
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-2]
switches = equally_likely(0, 1)
every = vectors(switches, 3)
mean, variance = mean_and_variance(dot_distribution(every, every))
half = Fraction(1, 2)  # mean and standard deviation of 0 or 1
print("counted: mean", mean, "variance", variance)
same = {"mean_q": half, "mean_k": half, "sigma_q": half, "sigma_k": half}
print("formula:", dot_variance(3, **same))
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
d_k = 5
free = vectors(signs, d_k)
copies = [((x,) * d_k, p) for x, p in signs.items()]
for name, queries in (("copies", copies), ("free", free)):
    variance = mean_and_variance(dot_distribution(queries, copies))[1]
    print(f"q {name}, k copies: variance {variance}")
# --8<-- [end:exercise-3]
