"""Linear attention: what a state of fixed size forgets, the delta rule, random features."""

# --8<-- [start:notebook]
import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import table
from attention_docs.text import number

SEED, SEEDS, d = 0, 21, 16
STUDENT = 2.086  # of Student's t with 20 degrees of freedom, for 21 seeds


def unit(rng, n, d=d):
    """Random vectors of length 1."""
    x = rng.normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def interval(found, spec=".2f"):
    """The mean over the seeds and its 95% interval."""
    half = STUDENT * np.std(found, ddof=1) / SEEDS**0.5
    return f"{number(np.mean(found), spec)} ± {number(half, spec)}"


def percent_right(answers, asked, values):
    """How many answers are nearer to the value that was asked for than to all others."""
    apart = ((answers[:, None] - values) ** 2).sum(axis=-1)
    return 100 * (apart.argmin(axis=1) == asked).mean()


def take_the_test(n, seed):
    """One list of n facts, asked back from a cache and from a sum."""
    rng = np.random.default_rng((seed, n))
    names, rooms = unit(rng, n), rng.normal(size=(n, d))
    sheet = names.T @ rooms  # (d, d): all facts added up
    from_cache, _ = attention(100 * names, names, rooms)
    found = (from_cache, names @ sheet)
    return [percent_right(answers, np.arange(n), rooms) for answers in found]


rows = []
for n in (4, 8, 16, 32, 64):
    shares = np.array([take_the_test(n, seed) for seed in range(SEEDS)])
    right = [interval(shares[:, i], ".1f") for i in (0, 1)]
    rows.append([n, right[0], 2 * n * d, right[1], d * d])
table(
    rows,
    columns=["facts", "cache: % right", "cache: numbers", "sheet: % right", "sheet: numbers"],
    spec=["d", "", ",", "", ","],
)
# --8<-- [end:notebook]


# --8<-- [start:setup]
from math import cosh, exp, sqrt

from attention_docs.figures import Frame, heatmap, line_chart, numbered, slider
from attention_docs.generation import CONFIGURATIONS, cache_bytes
from attention_docs.masking import causal_mask
from attention_docs.memory import (
    elu_plus_one,
    extended_state,
    linear_attention,
    positive_features,
    read_state,
    trigonometric_features,
    update_by_delta_rule,
)
from attention_docs.text import check


def compared(first, second, names):
    """The last outputs of two ways that must agree, one below the other."""
    check("all outputs agree to within 10⁻¹²", np.abs(first - second).max() < 1e-12)
    columns = numbered("component", first.shape[-1])
    return table([first[-1], second[-1]], columns=columns, index=names, spec=".4f")


# --8<-- [end:setup]


# --8<-- [start:sizes]
(llama,) = (one for one in CONFIGURATIONS if one.name == "Llama 3.1 8B")
window = 131_072  # tokens
kept = cache_bytes(llama, window)
states = 2 * llama.layers * llama.heads * llama.d_head**2  # two bytes a number
# --8<-- [end:sizes]


# --8<-- [start:linear]
rng = np.random.default_rng(SEED)
# 6 tokens, 3 features
phi_q, phi_k = rng.integers(1, 5, size=(2, 6, 3)).astype(float)
v = rng.integers(-4, 5, size=(6, 2)).astype(float)

parallel = linear_attention(phi_q, phi_k, v, causal_mask(6))  # all pairs
state, recurrent = None, []
for t in range(6):  # no pairs: a state of 3·2 + 3 numbers
    state = extended_state(phi_k[t : t + 1], v[t : t + 1], state)
    recurrent.append(read_state(phi_q[t : t + 1], state))
outputs = np.concatenate(recurrent)
check("the outputs are equal to the last bit", (outputs == parallel).all())
print(f"State: {state.matrix.shape}.")
compared(parallel, outputs, ["from all pairs", "from the state"])
# --8<-- [end:linear]


# --8<-- [start:linear-count]
class Counted(np.ndarray):
    """An array that counts the operations of its matrix products."""

    total = 0

    def __matmul__(self, other):
        result = super().__matmul__(other)
        Counted.total += 2 * result.size * self.shape[-1]
        return result

    def __array_function__(self, *call):
        result = super().__array_function__(*call)
        return result.view(Counted) if type(result) is np.ndarray else result


rng = np.random.default_rng(SEED)
f, w = np.abs(rng.normal(size=(2, 40, 5))), rng.normal(size=(40, 7))
n, d_phi, d_v = 40, 5, 7
counting = [one.view(Counted) for one in (f[0], f[1], w)]
Counted.total = 0
linear_attention(*counting)
pairs, Counted.total = Counted.total, 0
read_state(counting[0], extended_state(*counting[1:]))
by_state = Counted.total - 2 * n * d_phi  # the divisor is a product, too
table(
    [[2 * n * n * (d_phi + d_v), pairs], [4 * n * d_phi * d_v, by_state]],
    columns=["formula", "counted"],
    index=["all pairs", "state"],
    spec=",",
)
# --8<-- [end:linear-count]


# --8<-- [start:linear-work]
f = 64  # and components of a value
table(
    [[n, 4 * n * n * f, 4 * n * f * f] for n in (64, 1024, 16_384)],
    columns=["n", "all pairs", "state"],
    spec=[",", ".2e", ".2e"],
)
# --8<-- [end:linear-work]


# --8<-- [start:chunks]
rng = np.random.default_rng(SEED)
f, w = elu_plus_one(rng.normal(size=(2, 12, 5))), rng.normal(size=(12, 3))
whole = linear_attention(f[0], f[1], w, causal_mask(12))
state, parts = None, []
for j in range(0, 12, 4):
    q_, k_, v_ = f[0, j : j + 4], f[1, j : j + 4], w[j : j + 4]
    inside = (q_ @ k_.T) * causal_mask(4)
    above, below = inside @ v_, inside.sum(axis=1, keepdims=True)
    if state is not None:
        above, below = above + q_ @ state.matrix, below + q_ @ state.total[:, None]
    parts.append(above / below)
    state = extended_state(k_, v_, state)
compared(np.concatenate(parts), whole, ["in chunks", "all pairs"])
# --8<-- [end:chunks]


# --8<-- [start:overlap]
def overlap_frame(place, size):
    """Of what each answer of the sheet is made, for eight names with this many components."""
    names = unit(np.random.default_rng((SEED, size)), 8, size)
    made_of = names @ names.T
    others = np.abs(made_of - np.eye(8)).max()
    drawn = heatmap(
        made_of,
        rows=numbered("asked", 8),
        columns=numbered("fact", 8),
        spec=".2f",
        name="how much of each fact is in the answer",
        scale=(-1, 1),
    )
    caption = f"Largest part of a fact that was not asked for: {number(others, '.2f')}."
    return Frame((str(place),), f"{size} components", (drawn,), caption)


slider("Names", [overlap_frame(i, size) for i, size in enumerate((2, 4, 16, 64, 256))])
# --8<-- [end:overlap]


# --8<-- [start:recall]
counts = [4, 8, 16, 32, 64, 160]


def errors(n, seed):
    """Mean squared error of n values asked back: softmax, elu + 1, the best of all states."""
    rng = np.random.default_rng((seed, n))
    keys, values = unit(rng, n), rng.normal(size=(n, d))
    features = elu_plus_one(4 * keys)
    found = [
        attention(100 * keys, keys, values)[0],
        linear_attention(features, features, values),
        keys @ np.linalg.lstsq(keys, values)[0],
    ]
    return [((one - values) ** 2).sum() / (values**2).sum() for one in found]


measured = np.array([[errors(n, seed) for seed in range(SEEDS)] for n in counts])
bound = [max(0.0, 1 - d / n) for n in counts]


table(
    [
        [n, *(interval(one[:, i]) for i in range(3)), least]
        for n, one, least in zip(counts, measured, bound, strict=True)
    ],
    columns=["values n", "softmax", "elu + 1", "best state", "bound"],
    spec=["d", "", "", "", ".2f"],
)
# --8<-- [end:recall]


# --8<-- [start:recall-chart]
line_chart(
    counts,
    [
        ("softmax", measured[:, :, 0].mean(axis=1)),
        ("elu + 1", measured[:, :, 1].mean(axis=1)),
        ("best state", measured[:, :, 2].mean(axis=1)),
        ("bound", bound),
    ],
    xlabel="values n",
    ylabel="error",
    log_x=True,
    spec=".2f",
)
# --8<-- [end:recall-chart]


# --8<-- [start:rank]
x = np.random.default_rng(SEED).normal(size=(12, 3))
product = x @ x.T
matrices = [product, elu_plus_one(x) @ elu_plus_one(x).T, np.exp(product)]
table(
    [[np.linalg.matrix_rank(matrix)] for matrix in matrices],
    columns=["rank"],
    index=["q · k", "elu + 1", "exp(q · k)"],
)
# --8<-- [end:rank]


# --8<-- [start:rooms]
ann, bob = np.array([[1.0, 0]]), np.array([[0.6, 0.8]])  # of length 1, and not orthogonal
added, corrected = np.zeros((2, 1)), np.zeros((2, 1))
rows = []
for name, room in ((ann, 3.0), (bob, 5.0), (ann, 7.0)):
    added = added + name.T * room
    corrected = update_by_delta_rule(name, np.array([[room]]), corrected)
    rows.append([(who @ S).item() for S in (added, corrected) for who in (ann, bob)])
table(
    rows,
    columns=["sum: Ann?", "sum: Bob?", "delta rule: Ann?", "delta rule: Bob?"],
    index=["Ann sits in room 3", "Bob sits in room 5", "Ann moves to room 7"],
    spec=".2f",
)
# --8<-- [end:rooms]


# --8<-- [start:returning]
def ask_for_the_newest(n, seed):
    """Eight names move again and again; n facts in all, the newest of each is asked for."""
    rng = np.random.default_rng((seed, n))
    names, rooms = unit(rng, 8), rng.normal(size=(n, d))
    keys = np.tile(names, (n // 8, 1))
    states = keys.T @ rooms, update_by_delta_rule(keys, rooms)
    return [percent_right(names @ S, np.arange(n - 8, n), rooms) for S in states]


moves = (8, 16, 32, 64, 128)
newest = {n: np.array([ask_for_the_newest(n, seed) for seed in range(SEEDS)]) for n in moves}
table(
    [[n, *(interval(found[:, i], ".1f") for i in (0, 1))] for n, found in newest.items()],
    columns=["facts", "% right, sum", "% right, delta rule"],
)
# --8<-- [end:returning]


# --8<-- [start:delta-recall]
def errors_of_states(n, seed):
    """The same keys and values, recalled from a sum, from the delta rule, from the best state."""
    rng = np.random.default_rng((seed, n))
    keys, values = unit(rng, n), rng.normal(size=(n, d))
    states = [keys.T @ values]
    states += [update_by_delta_rule(keys, values, rate=beta) for beta in (1.0, 0.25)]
    states += [np.linalg.lstsq(keys, values)[0]]
    states += [states[0] / (1 + (n - 1) / d)]  # the factor that suits n random keys best
    return [((keys @ S - values) ** 2).sum() / (values**2).sum() for S in states]


by_state = {
    n: np.array([errors_of_states(n, seed) for seed in range(SEEDS)]) for n in (4, 8, 16, 32, 64)
}
table(
    [[n, *map(interval, found.T[[0, 4, 1, 2, 3]])] for n, found in by_state.items()],
    columns=["values n", "sum", "sum × factor", "delta, β = 1", "delta, β = 1/4", "best state"],
)
# --8<-- [end:delta-recall]


# --8<-- [start:many]
needed = {d_k: 100 * (exp(2 * sqrt(d_k)) - 1) for d_k in (4, 16, 64)}
table(list(needed.items()), columns=["d_k", "features for 10%"], spec=["d", ".1e"])
# --8<-- [end:many]

# --8<-- [start:unbiased]
q, k = np.array([[0.5, 0.5]]), np.array([[0.5, -0.5]])  # q · k = 0
DRAWS, rows = 2000, []
draw = np.random.default_rng(SEED)
for f in (16, 64, 256):
    W = draw.normal(size=(DRAWS * f, 2)).reshape(DRAWS, f, 2)
    products = [(positive_features(q, w) @ positive_features(k, w).T).item() for w in W]
    spread = sqrt((exp(1) - 1) / f)  # ‖q + k‖² = 1
    rows.append([f, np.mean(products), spread, np.std(products)])
table(
    rows,
    columns=["features f", "mean", "standard deviation", "measured"],
    spec=["d", ".2f", ".3f", ".3f"],
)
# --8<-- [end:unbiased]


# --8<-- [start:angles]
numbers = 64  # of each feature vector: 64 positive features, or 32 cosines and 32 sines
cases = {"equal": (4, 0), "orthogonal": (2, 2), "opposite": (0, 4)}  # ‖q + k‖², ‖q − k‖²
table(
    [
        [sqrt((exp(plus) - 1) / numbers), sqrt((cosh(minus) - 1) / (numbers / 2))]
        for plus, minus in cases.values()
    ],
    columns=["positive", "trigonometric"],
    index=list(cases),
    spec=".2f",
    name="standard deviation, divided by the kernel",
)
# --8<-- [end:angles]


# --8<-- [start:attention]
width, COUNTS = 8, (16, 64, 256, 1024)  # components; numbers per feature vector


draw = np.random.default_rng(SEED)
units = unit(draw, 32, width), unit(draw, 32, width)
values = draw.normal(size=(32, 4))


def errors_of_features(length, f, seed):
    """Relative error of the outputs with both kinds of features; the share of weights below 0."""
    q, k = (length * one for one in units)
    wanted = attention(q * width**0.25, k * width**0.25, values)[0]  # scores q · k
    W = np.random.default_rng((seed, f)).normal(size=(f, width))
    positive = linear_attention(positive_features(q, W), positive_features(k, W), values)
    waves = trigonometric_features(q, W[: f // 2]) @ trigonometric_features(k, W[: f // 2]).T
    from_waves = waves @ values / waves.sum(axis=1, keepdims=True)
    off = [np.linalg.norm(o - wanted) / np.linalg.norm(wanted) for o in (positive, from_waves)]
    return [*off, (waves < 0).mean()]


tried = {
    length: np.array(
        [[errors_of_features(length, f, seed) for seed in range(SEEDS)] for f in COUNTS]
    )
    for length in (1, 2)
}
middle = {length: np.median(found, axis=1) for length, found in tried.items()}
table(
    [[f, *middle[1][i, :2], *middle[2][i, :2], middle[2][i, 2]] for i, f in enumerate(COUNTS)],
    columns=[
        "f",
        "length 1: positive",
        "length 1: trigonometric",
        "length 2: positive",
        "length 2: trigonometric",
        "weights below 0",
    ],
    spec=["d", ".2f", ".2f", ".2f", ".2f", ".0%"],
    name="relative error of the outputs, median of 21 seeds",
)
# --8<-- [end:attention]


# --8<-- [start:attention-chart]
long = tried[2]
line_chart(
    COUNTS,
    [("positive", middle[2][:, 0]), ("trigonometric", middle[2][:, 1])],
    band={
        "positive": (long[:, :, 0].min(axis=1), long[:, :, 0].max(axis=1)),
        "trigonometric": (long[:, :, 1].min(axis=1), long[:, :, 1].max(axis=1)),
    },
    band_name="lowest to highest of 21 seeds",
    xlabel="numbers per feature vector f",
    ylabel="relative error of the outputs, vectors of length 2",
    log_x=True,
    log_y=True,
    spec=".2f",
)
# --8<-- [end:attention-chart]


# --8<-- [start:exercise-hand]
S, answers = np.zeros((2, 1)), []
for _ in range(3):
    S = update_by_delta_rule(ann, np.array([[8.0]]), S, rate=0.5)
    answers.append((ann @ S).item())
added_up, blind = np.cumsum([8.0] * 3), np.cumsum([4.0] * 3)  # two mistakes
table([answers], columns=numbered("fact", 3), spec=".0f", name="answer after each fact")
# --8<-- [end:exercise-hand]


# --8<-- [start:exercise-size]
state_numbers, same = 128 * 128, 128 * 128 // (2 * 128)
table(
    [[n, 2 * n * 128, state_numbers] for n in (32, 64, 128)],
    columns=["n", "cache", "state"],
    spec=",",
)
# --8<-- [end:exercise-size]


# --8<-- [start:exercise-negative]
phi_k, phi_q = np.array([[1.0, 0], [-1, 1]]), np.array([[1.0, 0]])  # φ(x) = x
products = phi_q @ phi_k.T
table([[*products[0], products.sum()]], columns=[*numbered("fact", 2), "sum"], spec=".0f")
# --8<-- [end:exercise-negative]


# --8<-- [start:exercise-chunk]
n, f = 4096, 64
costs = {c: 4 * n * c * f + 4 * n * f * f for c in (1, 16, 64, 256, n)}
table(
    [[c, cost, n // c] for c, cost in costs.items()],
    columns=["c", "operations", "steps"],
    spec=["d", ".2e", "d"],
)
# --8<-- [end:exercise-chunk]


# --8<-- [start:exercise-norm]
rows, W = [], np.random.default_rng(SEED).normal(size=(4096, width))
q, k = units
for length in (np.ones((32, 1)), np.linspace(0.5, 1.5, 32)[:, None]):
    wanted = attention(q * width**0.25, length * k * width**0.25, values)[0]
    right = positive_features(q, W), positive_features(length * k, W)
    norms = (length**2).sum(axis=1, keepdims=True)
    wrong = right[0], right[1] * np.exp(norms / 2)  # without − ‖k‖²/2
    found = [linear_attention(*features, values) for features in (right, wrong)]
    rows.append([np.linalg.norm(o - wanted) / np.linalg.norm(wanted) for o in found])
table(
    rows,
    columns=["with the norm", "without it"],
    index=["keys of length 1", "lengths from 1/2 to 3/2"],
    spec=".2f",
)
# --8<-- [end:exercise-norm]


# --8<-- [start:exercise-opposite]
W = np.random.default_rng(SEED).normal(size=(1, 2))  # a single direction
one = np.array([[0.6, 0.8]])
product = (positive_features(one, W) @ positive_features(-one, W).T).item()
check("the product is e⁻¹ to within 10⁻¹²", abs(product - exp(-1)) < 1e-12)
table([[product, exp(-1)]], columns=["φ(q) · φ(−q)", "e⁻¹"], spec=".4f")
# --8<-- [end:exercise-opposite]


# --8<-- [start:writing]
def your_update(state, key, value, rate):
    """The state (f, d_v) after a step of the delta rule."""
    return state  # write it here


# --8<-- [end:writing]


# --8<-- [start:writing-answer]
def model_update(state, key, value, rate):
    error = key @ state - value
    return state - rate * np.outer(key, error)


# --8<-- [end:writing-answer]


# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

writing = Task(
    model_update,
    inputs=[
        (np.zeros((1, 1)), np.array([1.0]), np.array([3.0]), 1.0),
        (np.array([[3.0], [1]]), np.array([1.0, 0]), np.array([7.0]), 1.0),
        (np.array([[3.0], [1]]), np.array([0.5, 2]), np.array([7.0]), 0.5),
        (np.array([[1.0, 2, 0], [-1, 0, 4]]), np.array([2.0, -1]), np.array([1.0, 5, -2]), 0.25),
    ],
    mistakes={
        "This adds the value and never asks what the state answers already.": (
            lambda state, key, value, rate: state + rate * np.outer(key, value)
        ),
        "The step goes uphill: the error has to be subtracted.": (
            lambda state, key, value, rate: state + rate * np.outer(key, key @ state - value)
        ),
        "The rate is missing.": (
            lambda state, key, value, rate: state - np.outer(key, key @ state - value)
        ),
    },
    draw=lambda rng: (halves(rng, 3, 2), halves(rng, 3), halves(rng, 2), rng.uniform(0.1, 1)),
)
judge(your_update, writing)
# --8<-- [end:writing-checks]
