"""Why scores are divided by √d_k: the proof's numbers, checked three ways."""

# --8<-- [start:slider]
from fractions import Fraction
from itertools import permutations
from math import ceil, floor, log10, sqrt

import numpy as np

from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE, round_weights
from attention_docs.figures import (
    Frame,
    bar_chart,
    heatmap,
    histogram,
    line_chart,
    numbered,
    slider,
    table,
)
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
from attention_docs.text import check, number

SEED = 2017
QUERIES, KEYS = 100_000, 8  # of every width


def rounded(value, error):
    """To two digits of the error, rounded up; four decimals at most."""
    decimals = min(4, max(0, 1 - floor(log10(error))))
    return round(value, decimals), ceil(error * 10**decimals) / 10**decimals, decimals


def plus_minus(value, error):
    """Value ± error as text."""
    value, error, decimals = rounded(value, error)
    return f"{number(value, f'.{decimals}f')} ± {number(error, f'.{decimals}f')}"


def compete(d_k):
    """Scores of 8 random keys for each query: ‖q‖ times standard normal numbers."""
    length = np.sqrt(rng.chisquare(d_k, size=(QUERIES, 1)))
    return length * rng.standard_normal((QUERIES, KEYS))


def measure(a):
    """For each query: largest weight, entropy, ‖J‖."""
    squares = (a**2).sum(axis=-1)
    norm_2 = squares - 2 * (a**3).sum(axis=-1) + squares**2
    return a.max(axis=-1), entropy(a), np.sqrt(np.maximum(norm_2, 0))  # rounding


rng = np.random.default_rng(SEED)
widths = [4 * 2**i for i in range(9)]  # 4, 8, … 1024
drawn, row, ranked = {}, {}, {}
for d_k in widths:
    s = compete(d_k)
    drawn[d_k] = s[:4001].ravel()  # enough for a histogram
    for name, divisor in (("1", 1), ("√d_k", sqrt(d_k)), ("d_k", d_k)):
        a = softmax(s / divisor)
        ranked[d_k, name] = np.sort(a)[:, ::-1].mean(axis=0)
        row[d_k, name] = [mean_interval(m) for m in measure(a)]


def mean_with_error(d_k, name, which=0):
    """A mean with its error as text."""
    return plus_minus(*row[d_k, name][which])


RAW, ROOT, WHOLE = (
    ("1", "not divided"),
    ("√d_k", "divided by √dₖ"),
    ("d_k", "divided by dₖ"),
)


def drawings(d_k):
    """The mean weights, each row from its largest to its smallest, and the scores."""
    for name, label in (RAW, ROOT, WHOLE):
        title = f"weights, {label}"
        yield heatmap(ranked[d_k, name], name=title, spec=".2f", scale=(0, 1))
    s = drawn[d_k]
    yield histogram(
        [(RAW[1], s), (ROOT[1], s / sqrt(d_k))],
        edges=np.arange(-40, 41),  # the same at every width
        xlabel="score",
        roles=["score", "score"],
        same_scale=True,
    )


def frame(place, d_k):
    """What the slider shows at a width."""
    raw, root, whole = (f"{row[d_k, name][0][0]:.2f}" for name in ("1", "√d_k", "d_k"))
    says = f"d_k = {d_k}: largest weight {raw} not divided, {root} divided by √d_k"
    caption = (
        f"The largest weight is {raw} undivided, {root} divided by √dₖ, and {whole} divided by dₖ."
    )
    return Frame((str(place),), f"d_k = {d_k}", tuple(drawings(d_k)), caption, says)


frames = [frame(i, d_k) for i, d_k in enumerate(widths)]
slider("d_k", frames, widths.index(64), answer=str(widths.index(512)))
# --8<-- [end:slider]

# --8<-- [start:example]
scores = np.array([1.0, 1.0, 1.0, 5.0])  # knob
d_k = 64  # knob: log 1 … 1024
raw_weights = softmax(scores)
scaled_weights = [softmax(scores / sqrt(size)) for size in (4, 16, d_k)]
every = [raw_weights, *scaled_weights]
others = "each of keys 1 to 3"
bar_chart(
    [RAW[1], "dₖ = 4", "dₖ = 16", f"dₖ = {d_k}"],
    [(others, [w[0] for w in every]), ("key 4", [w[3] for w in every])],
    ylabel="weight",
    roles=["weight", "weight"],
    spec=".4f",
)
# --8<-- [end:example]

# --8<-- [start:coins]
coin = equally_likely(-1, 1)
two, four = (dot_distribution(vectors(coin, d), vectors(coin, d)) for d in (2, 4))
results = sorted(four)
bar_chart(
    [str(one) for one in results],
    [
        ("d_k = 2", [float(two.get(one, 0)) for one in results]),
        ("d_k = 4", [float(four[one]) for one in results]),
    ],
    roles=["score", "score"],
    xlabel="score",
    ylabel="probability",
    spec=".4g",
)
# --8<-- [end:coins]

# --8<-- [start:pairs]
mean, variance = mean_and_variance(two)
print(f"expectation: {mean}, variance: {variance}")
table(list(two.items()), columns=["q·k", "probability"])
# --8<-- [end:pairs]

# --8<-- [start:standardise]
lopsided = equally_likely(0, 0, 0, 0, 5)
mu, sigma_2 = mean_and_variance(lopsided)
sigma = Fraction(sqrt(sigma_2))  # √4 is exact
standard = {(x - mu) / sigma: p for x, p in lopsided.items()}
mean, variance = mean_and_variance(standard)
values = [[x, (x - mu) / sigma, p] for x, p in lopsided.items()]
table(
    [*values, [mu, mean, None], [sigma_2, variance, None]],
    columns=["X", "Z", "probability"],
    index=["usual value", "rare value", "expectation", "variance"],
)
# --8<-- [end:standardise]

# --8<-- [start:enumeration]
counted, rows = {}, []
for d_k in (1, 2, 3, 4, 5):
    every = vectors(coin, d_k)
    counted[d_k] = mean_and_variance(dot_distribution(every, every))
    rows.append([d_k, len(every) ** 2, *counted[d_k]])
columns = ["dₖ", "pairs", "expectation", "variance"]
table(rows, columns=columns, spec=["", ",", "", ""])
# --8<-- [end:enumeration]


# --8<-- [start:terms-of-square]
def table_of(pairs, d_k):
    """The mean of q_i k_i q_j k_j for every i and j; pairs hold q, k, probability."""
    cells = [[Fraction(0)] * d_k for _ in range(d_k)]
    for q, k, p in pairs:
        for i in range(d_k):
            for j in range(d_k):
                cells[i][j] += p * q[i] * k[i] * q[j] * k[j]
    return cells


def independent(queries, keys):
    """Every query with every key."""
    return [(q, k, p * r) for q, p in queries for k, r in keys]


d_k = 4
free = vectors(coin, d_k)
squares = table_of(independent(free, free), d_k)
axis = [f"{i}" for i in range(1, d_k + 1)]
heatmap(
    [[float(cell) for cell in line] for line in squares],
    rows=axis,
    columns=axis,
    row_axis="i",
    column_axis="j",
    spec=".0f",
    name="E[qᵢkᵢ qⱼkⱼ]",
    role="score",
    scale=(0, 1),
)
# --8<-- [end:terms-of-square]

# --8<-- [start:symbols]
sums = [[d_k, polynomial_text(symbolic_variance(d_k))] for d_k in (1, 2, 3, 4)]
table(sums, columns=["dₖ", "variance"])
# --8<-- [end:symbols]


# --8<-- [start:simulate] slow
def simulate(draw_q, draw_k, d_k, pairs=10_000):
    """The scores q·k of independent pairs."""
    parts = []
    for _ in range(pairs // 2_500):  # in parts, to keep the arrays small
        q = draw_q(size=(2_500, 1, d_k))
        k = draw_k(size=(2_500, 1, d_k))
        parts.append(dot(q, k)[:, 0, 0])
    return np.concatenate(parts)


rng = np.random.default_rng(SEED)
simulated, means = {}, {}
for d_k in widths:
    samples = simulate(rng.standard_normal, rng.standard_normal, d_k)
    means[d_k], simulated[d_k] = mean_interval(samples), variance_interval(samples)
estimates = np.array([simulated[d_k][0] for d_k in widths]) / widths
errors = np.array([simulated[d_k][1] for d_k in widths]) / widths
shown = {d_k: rounded(*simulated[d_k]) for d_k in widths}
hits = sum(abs(variance - d_k) <= error for d_k, (variance, error, _) in shown.items())
line_chart(
    widths,
    [
        ("simulated", estimates),
        ("theory: 1", np.ones(len(widths))),
    ],
    band={"simulated": (estimates - errors, estimates + errors)},
    band_name="shaded: 95 % interval",
    xlabel="dₖ",
    ylabel="variance divided by dₖ",
    log_x=True,
)
# --8<-- [end:simulate]

# --8<-- [start:simulate-table]
table(
    [[d, plus_minus(*means[d]), plus_minus(*simulated[d])] for d in widths],
    columns=["dₖ", "expectation", "variance"],
)
# --8<-- [end:simulate-table]

# --8<-- [start:distributions]
rng = np.random.default_rng(SEED)
draws = {  # each with mean 0 and variance 1
    "normal": rng.standard_normal,
    "uniform": lambda size: rng.uniform(-sqrt(3), sqrt(3), size),
    "−1 or 1": lambda size: rng.choice([-1.0, 1.0], size),
    "Laplace": lambda size: rng.laplace(0, 1 / sqrt(2), size),
    "exponential − 1": lambda size: rng.exponential(1, size) - 1,
}
by_shape = {}
for name, draw in draws.items():
    by_shape[name] = variance_interval(simulate(draw, draw, d_k=64))
table(
    [[plus_minus(*interval)] for interval in by_shape.values()],
    columns=["variance"],
    index=list(by_shape),
)
# --8<-- [end:distributions]

# --8<-- [start:lopsided]
by_count = {}
for d_k in (1, 2, 3, 4):
    every = vectors(standard, d_k)
    by_count[d_k] = mean_and_variance(dot_distribution(every, every))
table(
    [[d_k, *moments] for d_k, moments in by_count.items()],
    columns=["dₖ", "expectation", "variance"],
)
# --8<-- [end:lopsided]

# --8<-- [start:dropped]
d_k = 4
copies = [((x,) * d_k, p) for x, p in coin.items()]  # one number, d_k times
from_0_2 = equally_likely(0, 2)  # mean 1, standard deviation 1
shifted, wide = vectors(from_0_2, d_k), vectors(equally_likely(-2, 2), d_k)
cases = {
    "A1 to A4": independent(free, free),
    "without A1: k = q": [(q, q, p) for q, p in free],
    "without A2: μ = 1": independent(shifted, shifted),
    "without A3: σ = 2": independent(wide, wide),
    "without A4: q and k copies": independent(copies, copies),
    "without A4: q copies": independent(copies, free),
}
without, cell = {}, {}
for name, pairs in cases.items():
    mean = sum(p * sum(map(Fraction.__mul__, q, k)) for q, k, p in pairs)
    square = table_of(pairs, d_k)
    without[name] = mean, sum(map(sum, square)) - mean**2
    cell[name] = square[0][0], square[0][1]  # on the diagonal, off it
table(
    [[*cell[name], *without[name]] for name in cases],
    columns=["cell on the diagonal", "cell off it", "expectation", "variance"],
    index=list(cases),
)
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
table(
    [[plus_minus(*usual_mean), plus_minus(*usual_variance)]],
    columns=["expectation", "variance"],
)
# --8<-- [end:initialisation]

# --8<-- [start:fixed-query]
every_key, rows = vectors(coin, 3), []
for q in INPUTS @ W_QUERY:  # of the eight steps
    this = [(tuple(Fraction(int(c)) for c in q), Fraction(1))]
    rows.append([q, *mean_and_variance(dot_distribution(this, every_key))])
table(
    rows,
    columns=["components", "expectation of q·k", "variance of q·k"],
    index=numbered("query", 3),
    spec=[".0f", "", ""],
)
# --8<-- [end:fixed-query]

# --8<-- [start:enumeration-general]
from_1_3 = equally_likely(-1, 3)  # mean 1, standard deviation 2
general, within, compared = {}, {}, []
for d_k in (1, 2, 3, 4):
    some, others = vectors(from_0_2, d_k), vectors(from_1_3, d_k)
    general[d_k] = mean_and_variance(dot_distribution(some, others))[1]
    formula = dot_variance(d_k, mean_q=1, sigma_q=1, mean_k=1, sigma_k=2)
    rows = [(mean_and_variance(dot_distribution([(q, Fraction(1))], others)), p) for q, p in some]
    within[d_k] = sum(variance * p for (_, variance), p in rows)
    compared.append([d_k, general[d_k], formula, within[d_k]])
columns = ["dₖ", "variance, counted", "by the formula", "mean variance within a row"]
table(compared, columns=columns)
# --8<-- [end:enumeration-general]

# --8<-- [start:simulate-general]
rng = np.random.default_rng(SEED)
simulated_general, rows = {}, []
for mu, sigma in ((0, 2), (1, 1)):

    def draw(size, mu=mu, sigma=sigma):
        return mu + sigma * rng.standard_normal(size)

    estimate = variance_interval(simulate(draw, draw, d_k=64, pairs=20_000))
    same = {"mean_q": mu, "mean_k": mu, "sigma_q": sigma, "sigma_k": sigma}
    theory = dot_variance(64, **same)
    simulated_general[mu, sigma] = estimate
    rows.append([mu, sigma, plus_minus(*estimate), theory])
table(rows, columns=["μ", "σ", "variance, simulated", "by the formula"], spec=",")
# --8<-- [end:simulate-general]

# --8<-- [start:layernorm]
normed, rows = {}, []
for half in (1, 2, 3):
    d_k = 2 * half
    orders = sorted(set(permutations([1] * half + [-1] * half)))
    p = Fraction(1, len(orders))
    arranged = [(tuple(Fraction(c) for c in order), p) for order in orders]
    r = sum(q[0] * q[1] * p for q, p in arranged)
    normed[d_k] = mean_and_variance(dot_distribution(arranged, arranged))
    rows.append([d_k, r, *normed[d_k]])
table(rows, columns=["dₖ", "r", "expectation", "variance"])
# --8<-- [end:layernorm]

# --8<-- [start:layernorm-simulation]
rng = np.random.default_rng(SEED)


def layer_normed(size):
    z = rng.standard_normal(size)
    centred = z - z.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True))


simulated_normed, rows = {}, []
for d_k in (4, 16):
    both = simulate(layer_normed, layer_normed, d_k, pairs=20_000)
    one = simulate(layer_normed, rng.standard_normal, d_k, pairs=20_000)
    simulated_normed[d_k] = variance_interval(both), variance_interval(one)
    both, one = (plus_minus(*interval) for interval in simulated_normed[d_k])
    rows.append([d_k, one, both, d_k**2 / (d_k - 1)])
table(
    rows,
    columns=["dₖ", "q after LayerNorm", "q and k after LayerNorm", "dₖ² / (dₖ − 1)"],
    spec=["", "", "", ".3f"],
)
# --8<-- [end:layernorm-simulation]

# --8<-- [start:saturation-table]
table(
    [[d, name, *(mean_with_error(d, name, which) for which in range(3))] for d, name in row],
    columns=["dₖ", "divisor", "largest weight", "entropy", "norm of the Jacobian"],
)
# --8<-- [end:saturation-table]

# --8<-- [start:saturation]
lines = [(label, [row[d_k, name][0][0] for d_k in widths]) for name, label in (RAW, ROOT, WHOLE)]
line_chart(widths, lines, xlabel="dₖ", ylabel="largest weight", log_x=True)
# --8<-- [end:saturation]

# --8<-- [start:jacobian-figure]
lines = [(label, [row[d_k, name][2][0] for d_k in widths]) for name, label in (RAW, ROOT, WHOLE)]
norm = "norm of the Jacobian"
line_chart(widths, lines, xlabel="dₖ", ylabel=norm, log_x=True)
# --8<-- [end:jacobian-figure]

# --8<-- [start:versions]
queries, keys, values = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
plain = softmax(queries @ keys.T)  # as in the eight steps
tenths = round_weights(plain, digits=1)
divided = softmax(queries @ keys.T / sqrt(3))  # d_k = 3
table(
    list(zip(plain @ values, tenths @ values, divided @ values, strict=True)),
    columns=["not divided", "weights rounded", "divided by √3"],
    index=numbered("output", 3),
    spec=[".4f", ".1f", ".4f"],
)
# --8<-- [end:versions]

# --8<-- [start:unscaled]
undivided = queries @ keys.T  # (n, n)
forgotten = softmax(undivided)
scaled = softmax(undivided / sqrt(keys.shape[-1]))
moved = np.abs((forgotten - scaled) @ values).max(axis=1)
table(
    [forgotten.max(axis=1), scaled.max(axis=1), moved],
    columns=numbered("query", 3),
    index=["largest weight without √d_k", "largest weight with √d_k", "change of the output"],
    spec=".4f",
)
# --8<-- [end:unscaled]

# --8<-- [start:real-head]
from attention_docs.figures import beside
from attention_docs.heads import kept_heads, load_measurements, load_vectors
from attention_docs.masking import apply_mask, causal_mask

words = [word.strip() for word in load_measurements()["words"]][:16]  # one sentence
visible = causal_mask(len(words))


def multiply(layer, head):
    """The dot products of a head, without 1/√64, and their mean standard deviation within rows."""
    q, k = (one[:16] for one in load_vectors(layer, head, rotated=True))
    found = dot(q, k)
    return found, np.mean([found[i, : i + 1].std() for i in range(1, len(words))])


products, real_spread = multiply(11, 1)
spreads = [multiply(*place)[1] for place in kept_heads()]
sharp, even = (softmax(apply_mask(one, visible)) for one in (products, products / sqrt(64)))
largest = [one.max(axis=-1)[1:].mean() for one in (sharp, even)]


def show_weights(a, name):
    """A row for each token that looks, and places along the top."""
    places = [str(i) if i % 5 == 0 else "" for i in range(len(a))]
    return heatmap(a, rows=words, columns=places, name=name, numbers=False, scale=(0, 1))


beside(show_weights(even, "divided by √64"), show_weights(sharp, "not divided"))
# --8<-- [end:real-head]

# --8<-- [start:gradient] slow
rng = np.random.default_rng(SEED)
direct, slope, stuck, rows = {}, {}, {}, []
for d_k in (4, 64, 1024):
    parts = {"1": [], "√d_k": [], "d_k": []}
    for _ in range(20):  # 500 queries at a time
        q = rng.standard_normal((500, 1, d_k))
        k = rng.standard_normal((500, KEYS, d_k))
        s = dot(q, k)[:, 0, :]  # (500, 8)
        products = dot(k, k)  # (500, 8, 8): ‖J K‖² = Σᵢⱼ (J K Kᵀ)ᵢⱼ Jᵢⱼ
        for name, divisor in zip(parts, (1, sqrt(d_k), d_k), strict=True):
            a = softmax(s / divisor)
            J = softmax_jacobian(a)
            norm = np.sqrt((J @ products * J).sum(axis=(-2, -1))) / divisor
            parts[name].append([a.max(axis=-1), norm])
    for name, both in parts.items():
        largest, norm = np.concatenate(both, axis=-1)
        direct[d_k, name] = mean_interval(largest)
        slope[d_k, name] = mean_interval(norm)
        stuck[d_k, name] = mean_interval((norm < 0.01).astype(float))
        share = plus_minus(*stuck[d_k, name]) if stuck[d_k, name][1] else "0"
        means_of = [plus_minus(*direct[d_k, name]), plus_minus(*slope[d_k, name])]
        rows.append([d_k, name, *means_of, share])
columns = ["dₖ", "divisor", "largest weight", "norm of ∂a/∂q", "share below 0.01"]
table(rows, columns=columns)
# --8<-- [end:gradient]


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
grad_norm, rows = {}, []
for far_ahead in (16, 2):
    k = keys_for([0, 0, 0, far_ahead], d_k)
    raw = k @ q
    for name, divisor in (("1", 1), ("√d_k", sqrt(d_k))):
        J = softmax_jacobian(softmax(raw / divisor))
        by_query = J @ k / divisor  # (n, d_k): chain rule
        grad_norm[far_ahead, name] = np.linalg.norm(J), np.linalg.norm(by_query)
        rows.append([raw, name, *grad_norm[far_ahead, name]])
table(rows, columns=["q·k", "divisor", "‖J‖", "‖∂a/∂q‖"], spec=[".0f", "", ".3g", ".3g"])
# --8<-- [end:vanish]

# --8<-- [start:vanish-again]
grown = 64 * keys_for([0, 0, 0, 2], d_k)  # a larger W_K, say
regrown = np.linalg.norm(softmax_jacobian(softmax(grown @ q / sqrt(d_k))))
columns = ["scores after the division", "norm of the Jacobian"]
table([[grown @ q / sqrt(d_k), regrown]], columns=columns, spec=[".0f", ".2e"])
# --8<-- [end:vanish-again]

# --8<-- [start:t5]
d_model, d_k = 512, 64
sigma_2_q = d_model * Fraction(1, d_model * d_k)  # entries of W_q: 1 / (d_model d_k)
sigma_2_k = d_model * Fraction(1, d_model)  # entries of W_k: 1 / d_model
t5 = d_k * sigma_2_q * sigma_2_k

rng = np.random.default_rng(SEED)
d_model, d_k = 32, 16
small = first_scores(1 / sqrt(d_model * d_k), 1 / sqrt(d_model))
t5_simulated = variance_interval(small)
table(
    [[sigma_2_q, sigma_2_k, t5], [None, None, plus_minus(*t5_simulated)]],
    columns=["Var(qᵢ)", "Var(kᵢ)", "Var(q·k)"],
    index=["exact, dₖ = 64", "simulated, dₖ = 16"],
)
# --8<-- [end:t5]


# --8<-- [start:t5-steps]
def relative(step_of, W):
    """The size of one step beside the size of the parameters."""
    g = np.sign(np.arange(12) % 5 - 1.5).reshape(3, 4)  # any gradient
    return np.linalg.norm(step_of(W, g)) / np.linalg.norm(W)


def adam(W, g, rate=0.01):
    """First step of Adam: every entry moves by the rate."""
    return rate * np.sign(g)


def adafactor(W, g, rate=0.01):
    """The same in Adafactor: the rate is relative to the size of W."""
    return rate * np.sqrt(np.mean(W**2)) * np.sign(g)


W = np.cos(np.arange(12.0)).reshape(3, 4)
moved = {}
for name, step_of in (("Adam", adam), ("Adafactor", adafactor)):
    moved[name] = relative(step_of, W), relative(step_of, W / sqrt(64))
table(list(moved.values()), columns=["W", "W / √64"], index=list(moved), spec=".4f")
# --8<-- [end:t5-steps]

# --8<-- [start:mistake-divisor]
models = {"base": (512, 8), "big": (1024, 16)}  # d_model, heads
left, rows = {}, []
for model, (d_model, heads) in models.items():
    d_k = d_model // heads
    squares = {  # of the divisors
        "√d_k": d_k,
        "d_k": d_k**2,
        "√d_model": d_model,
        "heads": heads**2,
    }
    for name, square in squares.items():
        left[model, name] = Fraction(dot_variance(d_k), square)
        rows.append([d_model, heads, d_k, name, left[model, name]])
columns = ["d_model", "heads", "d_k", "divisor", "variance"]
table(rows, columns=columns, index=[model for model, _ in left])
# --8<-- [end:mistake-divisor]

# --8<-- [start:mistake-sigma]
rows = []
for d_k in (1, 4):
    variance = counted[d_k][1]
    rows.append([d_k, variance, Fraction(sqrt(variance)), d_k])
table(rows, columns=["dₖ", "variance", "standard deviation", "claimed"])
# --8<-- [end:mistake-sigma]

# --8<-- [start:mistake-terms]
q, k = (1, 0, 2), (4, 4, 0)
d_k = len(q)
print("i = 1 … d_k:", sum(q[i - 1] * k[i - 1] for i in range(1, d_k + 1)))
terms = range(0, d_k + 1)  # i = 0 … d_k
print(f"i = 0 … d_k: {len(terms)} terms")
try:
    print(sum(q[i] * k[i] for i in terms))
except IndexError as error:
    print("IndexError:", error)
# --8<-- [end:mistake-terms]

# --8<-- [start:mistake-split]
split = {}
for component in (coin, from_0_2):
    mean, variance = mean_and_variance(component)  # of q and of k alike
    square = variance + mean**2  # E[q²]
    one = vectors(component, 1)
    split[mean, variance] = {
        "counted": mean_and_variance(dot_distribution(one, one))[1],
        "E[q²]E[k²] − E[q]²E[k]²": square * square - mean**2 * mean**2,
        "Var(q)Var(k) − E[q]²E[k]²": variance * variance - mean**2 * mean**2,
        "Var(q)Var(k)": variance * variance,
    }
coins, shifts = split.values()
table(
    list(zip(coins.values(), shifts.values(), strict=True)),
    columns=[f"μ = {mean}, σ² = {variance}" for mean, variance in split],
    index=list(coins),
)
# --8<-- [end:mistake-split]

# --8<-- [start:exercise-three]
three = dot_distribution(vectors(coin, 3), vectors(coin, 3))
mean, variance = mean_and_variance(three)
print(f"expectation: {mean}, variance: {variance}")
table(list(three.items()), columns=["q·k", "probability"])
# --8<-- [end:exercise-three]

# --8<-- [start:exercise-divisor]
wanted = dot_variance(25, sigma_q=3, sigma_k=2)
columns = ["variance", "standard deviation"]
table([[wanted, sqrt(wanted)]], columns=columns, spec=["", ".0f"])
# --8<-- [end:exercise-divisor]

# --8<-- [start:exercise-switches]
every = vectors(equally_likely(0, 1), 3)
mean, variance = mean_and_variance(dot_distribution(every, every))
rows = [(mean_and_variance(dot_distribution([(q, Fraction(1))], every))[1], p) for q, p in every]
seen = sum(one * p for one, p in rows)
table([[mean, variance, seen]], columns=["expectation", "variance", "part within a row"])
# --8<-- [end:exercise-switches]

# --8<-- [start:exercise-copies]
d_k = 6
free = vectors(coin, d_k)
copies = [((x,) * d_k, p) for x, p in coin.items()]
pairs = [((x, x, y, y, z, z), p) for (x, y, z), p in vectors(coin, 3)]
cases = [(copies, copies), (free, copies), (pairs, pairs)]
table(
    [[mean_and_variance(dot_distribution(q, k))[1]] for q, k in cases],
    columns=["variance"],
    index=["copies in q and k", "free coins in q", "pairs in q and k"],
)
# --8<-- [end:exercise-copies]


# --8<-- [start:exercise-bug]
def wrong_scores(Q, K):  # (n, d_k), (n, d_k)
    return Q @ K.T / sqrt(Q.shape[0])


# --8<-- [end:exercise-bug]

# --8<-- [start:exercise-bug-run]
Q, K = np.ones((2, 3, 4))  # n = 3, d_k = 4: every product is 1
check("the divisor is the root of n", wrong_scores(Q, K)[0, 0] == 4 / sqrt(3))
table([[n, Fraction(dot_variance(64), n)] for n in (16, 64, 256)], columns=["n", "variance"])
# --8<-- [end:exercise-bug-run]

# --8<-- [start:exercise-unit]
rng = np.random.default_rng(SEED)


def unit(size):
    """Vectors of length 1 in a random direction."""
    z = rng.standard_normal(size)
    return z / np.sqrt((z**2).sum(axis=-1, keepdims=True))


of_units = {d_k: variance_interval(simulate(unit, unit, d_k)) for d_k in (4, 64)}
rows = [[d, plus_minus(d * variance, d * error)] for d, (variance, error) in of_units.items()]
table(rows, columns=["dₖ", "dₖ · Var(q·k)"])
# --8<-- [end:exercise-unit]

# --8<-- [start:exercise-trace]
weights_q = [[1, 1, 0], [0, 1, 0], [0, 0, 1]]  # q = three coins times this matrix
weights_k = [[1, 0, 2], [0, 1, 0], [0, 0, 1]]


def mixed(matrix):
    """Every vector of three coins times a matrix, with its probability."""
    columns = list(zip(*matrix, strict=True))
    found = []
    for c, p in vectors(coin, 3):
        found.append((tuple(sum(map(Fraction.__mul__, c, map(Fraction, b))) for b in columns), p))
    return found


variance = mean_and_variance(dot_distribution(mixed(weights_q), mixed(weights_k)))[1]
C_q, C_k = (np.array(m).T @ np.array(m) for m in (weights_q, weights_k))
columns = ["variance, counted", "sum of the table"]
table([[variance, (C_q * C_k).sum()]], columns=columns)
# --8<-- [end:exercise-trace]


# --8<-- [start:writing]
def your_scores(queries, keys):
    """Scaled scores (n_q, n_k) of queries (n_q, d_k) and keys (n_k, d_k)."""
    return queries @ keys.T  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_scores(queries, keys):
    return queries @ keys.T / np.sqrt(queries.shape[-1])


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

rising = np.arange(12.0).reshape(3, 4)


def draw_case(rng):
    n_q, n_k, d_k = rng.permutation([2, 3, 5, 6, 7])[:3]
    return halves(rng, n_q, d_k), halves(rng, n_k, d_k)


writing = Task(
    model_scores,
    inputs=[
        (np.array([[3.0]]), np.array([[2.0]])),
        (np.ones((1, 4)), np.ones((1, 4))),
        (rising, rising[:2] - 4),
        (np.ones((2, 9)), np.ones((3, 9))),
        (rising.reshape(4, 3), rising[:, :3] - 4),
    ],
    mistakes={
        "The division by √d_k is missing.": lambda q, k: q @ k.T,
        "Divided by d_k: it is the variance that is d_k, so take its root.": (
            lambda q, k: q @ k.T / q.shape[-1]
        ),
        "Divided by the root of the number of queries: d_k is the last axis.": (
            lambda q, k: q @ k.T / np.sqrt(len(q))
        ),
        "Divided by the root of the number of keys: d_k is the last axis.": (
            lambda q, k: q @ k.T / np.sqrt(len(k))
        ),
        "Multiplied by √d_k instead of divided.": lambda q, k: q @ k.T * np.sqrt(q.shape[-1]),
    },
    draw=draw_case,
)
judge(your_scores, writing)
# --8<-- [end:writing-checks]
