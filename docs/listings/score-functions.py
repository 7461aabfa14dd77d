"""Five ways to compare a query with a key: one example, equalities, sizes, cost."""

# --8<-- [start:choose]
from collections import Counter
from fractions import Fraction
from functools import reduce
from math import exp, log, sqrt, tanh

import numpy as np

from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY
from attention_docs.figures import (
    Frame,
    bar_chart,
    beside,
    flow,
    heatmap,
    line_chart,
    numbered,
    plane,
    slider,
    stepper,
    table,
)
from attention_docs.score_functions import (
    additive,
    angles,
    bilinear,
    cosine,
    dot,
    projections,
    scaled_dot,
)
from attention_docs.softmax import softmax
from attention_docs.text import check, number, text

queries = np.array([[1.0, 0, 2, 2], [2, 1, 0, 2]])  # (n_q, d_k)
keys = np.array([[0.0, 3, 0, 4], [1, 1, 1, 1], [0, -2, 1, 2]])  # (n_k, d_k)
n_q, n_k, d_k = len(queries), len(keys), keys.shape[1]
q_1 = queries[0]
rows = [[0.0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, -1]]
W = np.array(rows)  # (d_q, d_k)
W_q = np.array([[1.0, 0], [0, 1], [0, 1], [0, -1]])  # (d_q, d_a)
W_k = np.array([[0.0, 1], [1, 0], [1, 1], [-1, 0]])  # (d_k, d_a)
w = np.array([2.0, 1.0])  # (d_a,)

by_score = {
    "dot": dot(queries, keys),
    "scaled dot": scaled_dot(queries, keys),
    "cosine": cosine(queries, keys),
    "bilinear": bilinear(queries, keys, W),
    "additive": additive(queries, keys, W_q, W_k, w),
    "no tanh": (queries @ W_q @ w)[:, None] + keys @ W_k @ w,
}
weights = {name: softmax(scores) for name, scores in by_score.items()}
names = [
    ("dot", "q · k"),
    ("scaled dot", "q · k / √dₖ"),
    ("cosine", "q · k / (‖q‖ ‖k‖)"),
    ("bilinear", "q W kᵀ"),
    ("additive", "w · tanh(q W_q + k W_k)"),
    ("without tanh", "w · (q W_q + k W_k)"),
]
titles = {"rows": numbered("query", n_q), "columns": numbered("key", n_k)}
frames = []
for at, (name, (label, formula)) in enumerate(zip(by_score, names, strict=True), start=1):
    drawings = (
        heatmap(by_score[name], role="score", name="scores", spec=".4f", **titles),
        heatmap(
            weights[name],
            name="weights",
            spec=".4f",
            scale=(0, 1),
            **titles,
        ),
    )
    frames.append(Frame((str(at),), label, drawings, formula))
legend = "Score"
stepper("scores", [(legend, [label for label, _ in names])], frames, answer="3")
# --8<-- [end:choose]


# --8<-- [start:by-hand]
def factor(x, spec):
    """A number in a product: a negative one in parentheses."""
    return f"({number(x, spec)})" if x < 0 else number(x, spec)


def by_hand(a, b, spec=".0f"):
    """A dot product as a pencil does it: multiply pair by pair, then add."""
    pairs = list(zip(a, b, strict=True))
    products = [f"{factor(x, '.0f')}·{factor(y, spec)}" for x, y in pairs]
    total = sum(x * y for x, y in pairs)
    return f"{' + '.join(products)} = {number(total, spec)}"


beside(
    heatmap(queries, role="query", name="queries", spec=".0f", rows=numbered("query", n_q)),
    heatmap(keys, role="key", name="keys", spec=".0f", rows=numbered("key", n_k)),
)
# --8<-- [end:by-hand]

# --8<-- [start:dot]
for j in range(n_k):
    print(f"q1·k{j + 1} = {by_hand(q_1, keys[j])}")
dot_scores = dot(queries, keys)  # (n_q, n_k)
heatmap(dot_scores, role="score", name="scores", spec=".0f", **titles)
# --8<-- [end:dot]

# --8<-- [start:scaled-dot]
root = int(sqrt(d_k))  # exact: d_k is a square
for score in dot_scores[0]:
    print(f"{number(score, '.0f')} / {root} =", Fraction(int(score), root))
scaled_scores = scaled_dot(queries, keys)
heatmap(scaled_scores, role="score", name="scores", spec=".1f", **titles)
# --8<-- [end:scaled-dot]

# --8<-- [start:cosine]
norms_q = np.sqrt((queries**2).sum(axis=1))
norms_k = np.sqrt((keys**2).sum(axis=1))
print(f"norms of the queries: {text(norms_q, '.0f')}")
print(f"norms of the keys: {text(norms_k, '.0f')}")
for score, norm in zip(dot_scores[0], norms_k, strict=True):
    product = norms_q[0] * norm
    print(f"{score:.0f} / {product:.0f} = {Fraction(int(score), int(product))}")
cosine_scores = cosine(queries, keys)
heatmap(cosine_scores, role="score", name="scores", spec=".4f", **titles)
# --8<-- [end:cosine]

# --8<-- [start:bilinear]
print("q1 W =", text(q_1 @ W, ".0f"))
for j in range(n_k):
    print(f"q1 W·k{j + 1} = {by_hand(q_1 @ W, keys[j])}")
heatmap(W, role="neutral", name="W", spec=".0f")
# --8<-- [end:bilinear]

# --8<-- [start:additive]
print("q1 W_q =", text(q_1 @ W_q, ".0f"))
steps = []
for j in range(n_k):
    both = q_1 @ W_q + keys[j] @ W_k
    hidden = np.tanh(both)  # component by component
    steps.append([keys[j] @ W_k, both, hidden, by_hand(w, hidden, ".4f")])
additive_scores = additive(queries, keys, W_q, W_k, w)
table(
    steps,
    columns=["k W_k", "q W_q + k W_k", "tanh", "score"],
    index=numbered("key", n_k),
    spec=[".0f", ".0f", ".4f", ""],
)
# --8<-- [end:additive]

# --8<-- [start:additive-figure]
left, right = q_1 @ W_q, keys[1] @ W_k
flow(
    [
        [
            ("query 1", "query", q_1, ".0f"),
            ("key 2", "key", keys[1], ".0f"),
        ],
        [("q W_q", "query", left, ".0f"), ("k W_k", "key", right, ".0f")],
        ("sum", "neutral", left + right, ".0f"),
        ("tanh", "neutral", np.tanh(left + right), ".4f"),
        ("score", "score", additive_scores[:1, 1], ".4f"),
    ],
    arrows=[
        (0, 2, "× W_q"),
        (1, 3, "× W_k"),
        (2, 4, "+"),
        (3, 4),
        (4, 5, "tanh"),
        (5, 6, "· w"),
    ],
)
# --8<-- [end:additive-figure]

# --8<-- [start:side-by-side]
table(
    [[by_score[name][0], weights[name][0]] for name in list(by_score)[:5]],
    columns=["scores", "weights"],
    index=[label for label, _ in names[:5]],
    spec=".4f",
)
# --8<-- [end:side-by-side]

# --8<-- [start:mistake-no-tanh]
flat_scores = np.zeros((n_q, n_k))
for i in range(n_q):
    for j in range(n_k):
        flat_scores[i, j] = (queries[i] @ W_q + keys[j] @ W_k) @ w  # no tanh
flat_weights = softmax(flat_scores)
table(
    list(zip(flat_scores, flat_weights, strict=True)),
    columns=["scores", "weights"],
    index=numbered("query", n_q),
    spec=[".0f", ".4f"],
)
# --8<-- [end:mistake-no-tanh]

# --8<-- [start:additive-weights]
table(
    list(zip(additive_scores, weights["additive"], strict=True)),
    columns=["scores", "weights"],
    index=numbered("query", n_q),
    spec=".4f",
)
# --8<-- [end:additive-weights]

# --8<-- [start:one-matrix]
draws = np.random.default_rng(0).normal(size=(2, 10_000, 3, 3))
circles = {}
for name, asked, answered in (("W_Q and W_K", *draws), ("W_Q twice", draws[0], draws[0])):
    table_of = asked @ answered.swapaxes(-1, -2)  # the scores of three one-hot tokens
    right = [table_of[:, i, (i + 1) % 3] > table_of[:, i, (i + 2) % 3] for i in range(3)]
    circles[name] = np.logical_and.reduce(right).mean()
table([[share] for share in circles.values()], columns=["share"], index=list(circles), spec=".2%")
# --8<-- [end:one-matrix]

# --8<-- [start:saved]
table(
    [
        [d_model, d, 2 * d_model * d, d_model**2, 2 * d_model * d < d_model**2]
        for d_model, d in ((512, 64), (512, 256), (4, 3))
    ],
    columns=["d_model", "d_k", "two factors", "M", "do the factors have fewer?"],
    spec=["d", "d", ",d", ",d", ""],
)
# --8<-- [end:saved]

# --8<-- [start:projected]
merged = W_QUERY @ W_KEY.T  # (d_model, d_model), no parameters of its own
projected_scores = dot(INPUTS @ W_QUERY, INPUTS @ W_KEY)
same = np.array_equal(bilinear(INPUTS, INPUTS, merged), projected_scores)
check("the bilinear score of the inputs with M is the same", same)
print(f"rank of M: {np.linalg.matrix_rank(merged)} ≤ d_k = {W_KEY.shape[1]}")
print(f"rank of W: {np.linalg.matrix_rank(W)}")
beside(
    heatmap(merged, role="neutral", name="M", spec=".0f"),
    heatmap(projected_scores, role="score", name="scores", spec=".0f"),
)
# --8<-- [end:projected]

# --8<-- [start:absorbed]
whole_q, whole_k = W_QUERY @ W_q[:3], W_KEY @ W_k[:3]
long_way = additive(INPUTS @ W_QUERY, INPUTS @ W_KEY, W_q[:3], W_k[:3], w)
short_way = additive(INPUTS, INPUTS, whole_q, whole_k, w)
check("one pair of matrices gives the same scores", np.abs(long_way - short_way).max() < 1e-12)
heatmap(
    short_way,
    role="score",
    name="scores",
    spec=".4f",
    rows=numbered("query", 3),
    columns=numbered("key", 3),
)
# --8<-- [end:absorbed]

# --8<-- [start:identity]
identity = np.eye(d_k)
plain = bilinear(queries, keys, identity)
divided = bilinear(queries, keys, identity / sqrt(d_k))
check("with W = I every digit is that of dot", np.array_equal(plain, dot_scores))
scaled_alike = np.array_equal(divided, scaled_scores)
check("with W = I / √d_k every digit is that of scaled dot", scaled_alike)
beside(
    heatmap(plain, role="score", name="W = I", spec=".0f", **titles),
    heatmap(divided, role="score", name="W = I / √d_k", spec=".1f", **titles),
)
# --8<-- [end:identity]

# --8<-- [start:temperature]
tempered = {T: softmax(dot_scores[0] / T) for T in (1, 2, 4, 8)}
difference = tempered[2] - weights["scaled dot"][0]  # √d_k = 2
check("τ = 2 gives the weights of scaled dot", np.abs(difference).max() < 1e-12)
table(
    list(tempered.values()),
    columns=numbered("key", n_k),
    index=[f"τ = {T}" for T in tempered],
    spec=".4f",
)
# --8<-- [end:temperature]

# --8<-- [start:unit]
unit_queries, unit_keys = queries / norms_q[:, None], keys / norms_k[:, None]
off = np.abs(dot(unit_queries, unit_keys) - cosine_scores).max()
check("the dot of normalised vectors is the cosine", off < 1e-12)
longer = keys * np.array([[1.0], [10], [1]])  # key 2 becomes ten times as long
table(
    np.column_stack([dot(queries, longer)[0], cosine(queries, longer)[0]]),
    columns=["dot", "cosine"],
    index=["key 1", "key 2, ten times as long", "key 3"],
    spec=[".0f", ".4f"],
)
# --8<-- [end:unit]

# --8<-- [start:concat]
stacked = np.concatenate([W_q, W_k])  # (d_q + d_k, d_a)
concat_scores = np.zeros((n_q, n_k))
for i in range(n_q):
    for j in range(n_k):
        joined = np.concatenate([queries[i], keys[j]])  # (d_q + d_k,)
        concat_scores[i, j] = np.tanh(joined @ stacked) @ w
check("concat and additive agree", np.abs(concat_scores - additive_scores).max() < 1e-12)
print(f"shape of the joined matrix: {stacked.shape}")
# --8<-- [end:concat]

# --8<-- [start:turn]
eight_queries, eight_keys = INPUTS @ W_QUERY, INPUTS @ W_KEY
flat_keys = np.array([[1.0, 0], [1.5, 2], [-1, -0.5], [0.5, 0.5]])
around = np.arange(0, 360, 30)
radians = np.radians(around)
turned = 3 * np.stack([np.cos(radians), np.sin(radians)], axis=1)  # ‖q‖ = 3
flat_dots = dot(turned, flat_keys)  # (12, 4)
flat_weights = softmax(scaled_dot(turned, flat_keys))
flat_angles = angles(turned, flat_keys)
winners = flat_dots.argmax(axis=1) + 1
nearest = flat_angles.argmin(axis=1) + 1


def turned_frame(i):
    """Arrows, dot products and weights for the query at one angle."""
    arrows = [("query", "query", turned[i])]
    for j, key in enumerate(flat_keys, start=1):
        arrows.append((f"key {j}", "key", key))
    a, b = nearest[i], winners[i]
    rows = [
        heatmap(
            flat_angles[i],
            columns=numbered("key", 4),
            role="neutral",
            name="θ",
            spec=".0f",
            scale=(0, 180),
            highlight=[(0, a - 1)],
        ),
        heatmap(
            flat_dots[i],
            role="score",
            name="q · k",
            scale=(-8, 8),
            highlight=[(0, b - 1)],
        ),
        heatmap(flat_weights[i], name="weights", scale=(0, 1)),
    ]
    drawings = (plane(arrows, reach=3.5, onto=0), *rows)
    label = f"{around[i]}°"
    return Frame((str(i),), label, drawings, f"k_{a} → k_{b}")


label = "direction of the query"
slider(label, [turned_frame(i) for i in range(len(around))])
# --8<-- [end:turn]

# --8<-- [start:query-1]
query_1 = eight_queries[:1]
length_q = np.linalg.norm(query_1)
lengths = np.linalg.norm(eight_keys, axis=1)
theta = angles(query_1, eight_keys)[0]
shadow = projections(query_1, eight_keys)[0]
score_1 = dot(query_1, eight_keys)[0]
off = np.abs(length_q * shadow - score_1).max()
check("the norm of the query times the projection is q · k", off < 1e-12)
table(
    np.column_stack([lengths, theta, shadow, score_1]),
    columns=["norm of k", "angle, degrees", "projection", "q · k"],
    index=numbered("key", 3),
    spec=[".4f", ".1f", ".4f", ".0f"],
)
# --8<-- [end:query-1]

# --8<-- [start:cosine-curves]
fan = np.arange(0, 181, 15)
falling = np.cos(np.radians(fan))  # from 1 to -1
line_chart(
    fan,
    [(f"key {j + 1}", length_q * lengths[j] * falling) for j in range(3)],
    xlabel="angle to query 1, degrees",
    ylabel="dot product with query 1",
    spec=".2f",
)
# --8<-- [end:cosine-curves]

# --8<-- [start:by-angle]
by_angle = np.argsort(theta) + 1  # the smallest angle first
by_score = np.argsort(-score_1, kind="stable") + 1  # the highest score first
eight_weights = softmax(scaled_dot(eight_queries, eight_keys))
angle_weights = softmax(cosine(query_1, eight_keys))[0]
table(
    [[by_angle, angle_weights], [by_score, eight_weights[0]]],
    columns=["order of the keys", "weights of keys 1, 2, 3"],
    index=["by angle", "by dot product"],
    spec=["d", ".4f"],
)
# --8<-- [end:by-angle]

# --8<-- [start:longer-key]
longer_keys = eight_keys * np.array([[2.0], [1], [1]])  # key 1 twice as long
check("all angles stay", np.abs(angles(query_1, longer_keys) - theta).max() < 1e-12)
table(
    np.stack([dot(query_1, longer_keys)[0], softmax(scaled_dot(query_1, longer_keys))[0]], axis=1),
    columns=["dot product", "weight"],
    index=["key 1, twice as long", "key 2", "key 3"],
    spec=[".0f", ".4f"],
)
# --8<-- [end:longer-key]

# --8<-- [start:equal-norms]
normed_keys = eight_keys / lengths[:, None]
normed_scores = dot(query_1, normed_keys)[0]
ranked = np.argsort(-normed_scores)  # the highest score first
table(
    normed_scores[ranked][:, None],
    columns=["dot product"],
    index=[f"key {j + 1}" for j in ranked],
    spec=".4f",
)
# --8<-- [end:equal-norms]

# --8<-- [start:gram]
gram = INPUTS @ INPUTS.T
cosines = cosine(INPUTS, INPUTS)  # divided by both norms
shadows = projections(INPUTS, INPUTS)  # row i divided by the norm of x_i
beside(
    heatmap(gram, role="score", name="XXᵀ", spec=".0f"),
    heatmap(cosines, role="score", name="cosines", spec=".4f"),
    heatmap(shadows, role="score", name="projections", spec=".4f"),
)
# --8<-- [end:gram]

# --8<-- [start:fourth]
check("M is not symmetric", not np.array_equal(merged, merged.T))
check("QKᵀ is symmetric", np.array_equal(projected_scores, projected_scores.T))
x_4 = np.array([0.0, 0, 1, 0])
print(f"query 1 · key 4 = {number(INPUTS[0] @ merged @ x_4, '.0f')}")
print(f"query 4 · key 1 = {number(x_4 @ merged @ INPUTS[0], '.0f')}")
# --8<-- [end:fourth]

# --8<-- [start:lookup]
along_key = np.array([3.0, 0])  # the query of the figure at 0°
sharpened = flat_keys @ along_key / sqrt(2)
distances = np.linalg.norm(along_key - flat_keys, axis=1)
table(
    np.column_stack([*(softmax(t * sharpened) for t in (1, 4, 16)), distances]),
    columns=["weight, t = 1", "weight, t = 4", "weight, t = 16", "distance"],
    index=numbered("key", 4),
    spec=".4f",
)
# --8<-- [end:lookup]

# --8<-- [start:bound]
# One key along query 1, two against it.
opposite = np.array([[1.0, 0, 2, 2], [-1, 0, -2, -2], [-1, 0, -2, -2]])
peak = softmax(cosine(queries[:1], opposite))
print(f"weights that reach the bound: {text(peak[0], '.4f')}")
bounds = {n: 1 / (1 + (n - 1) * exp(-2)) for n in (3, 32, 512)}
sharper = 1 / (1 + 511 * exp(-2 * 5))  # 512 keys, cosines times β = 5
table(
    [*([n, 1, bound] for n, bound in bounds.items()), [512, 5, sharper]],
    columns=["number of keys", "β", "no weight exceeds"],
    spec=["d", "d", ".4f"],
)
# --8<-- [end:bound]

# --8<-- [start:robust]
import torch
from torch.nn import functional


def naive(q, k):
    """The formula as it stands."""
    return (q * k).sum() / (np.sqrt((q * q).sum()) * np.sqrt((k * k).sum()))


cases = {
    "float16, large": np.array([300, 400], dtype=np.float16),
    "float32, tiny": np.array([3e-30, 4e-30], dtype=np.float32),
    "float64, zeros": np.zeros(2),
    "float16, zeros": np.zeros(2, dtype=np.float16),
}
robust = []
for v in cases.values():
    with np.errstate(all="ignore"):  # overflow and 0/0 are the point
        wrong = naive(v, v)
    tensor = torch.from_numpy(v)
    from_torch = functional.cosine_similarity(tensor, tensor, dim=0)
    robust.append([float(wrong), float(cosine(v[None], v[None])[0, 0]), from_torch.item()])
table(
    robust,
    columns=["formula as it stands", "package", "torch"],
    index=list(cases),
    spec=".1f",
)
# --8<-- [end:robust]

# --8<-- [start:mistake-sizes]
new = np.array([[1.0, 0], [-1, 2], [2, 1]])  # components 5 and 6 of the keys
long_keys = np.concatenate([keys, new], axis=1)  # (n_k, 6)
for name, score in (("dot()", dot), ("scaled_dot()", scaled_dot), ("cosine()", cosine)):
    try:
        score(queries, long_keys)
    except ValueError as error:
        print(f"{name}: {error}")
heatmap(long_keys, role="key", name="keys", spec=".0f", rows=numbered("key", n_k))
# --8<-- [end:mistake-sizes]

# --8<-- [start:different-sizes]
W_long = np.concatenate([W, identity[:, :2]], axis=1)  # (4, 6)
W_k_long = np.concatenate([W_k, np.array([[1.0, -1], [0, -1]])])  # (6, d_a)
long_bilinear = bilinear(queries, long_keys, W_long)
long_additive = additive(queries, long_keys, W_q, W_k_long, w)
table(
    list(zip(long_bilinear, long_additive, strict=True)),
    columns=["bilinear", "additive"],
    index=numbered("query", n_q),
    spec=[".0f", ".4f"],
)
# --8<-- [end:different-sizes]

# --8<-- [start:mistake-cut]
cut_scores = dot(queries, long_keys[:, :4])  # "make it fit"
changed = long_keys.copy()
changed[1, 4] = 9.0  # another key 2
cut_again = dot(queries, changed[:, :4])
whole_again = bilinear(queries, changed, W_long)
table(
    [[cut_scores[i], cut_again[i]] for i in range(n_q)]
    + [[long_bilinear[i], whole_again[i]] for i in range(n_q)],
    columns=["scores", "after key 2 has changed"],
    index=[f"{name}, query {i}" for name in ("dot of cut keys", "bilinear") for i in (1, 2)],
    spec=".0f",
)
# --8<-- [end:mistake-cut]


# --8<-- [start:large]
def operations(n_q, n_k, d_q, d_k, d_a):
    """By formula: every score of n_q queries with n_k keys."""
    projections = n_q * d_a * (2 * d_q - 1) + n_k * d_a * (2 * d_k - 1)
    return {
        "dot": n_q * n_k * (2 * d_k - 1),
        "scaled dot": n_q * n_k * 2 * d_k + 1,
        "cosine": n_q * n_k * (2 * d_k - 1) + (n_q + n_k) * 3 * d_k,
        "bilinear": n_q * d_k * (2 * d_q - 1) + n_q * n_k * (2 * d_k - 1),
        "additive": projections + n_q * n_k * (4 * d_a - 1),
    }


n, d = 512, 64
large = operations(n, n, d, d, d)
ratio = large["additive"] / large["dot"]
largest = dict.fromkeys(large, n * n)  # the scores
largest["additive"] = n * n * d  # the hidden layer
bar_chart(
    [label for label, _ in names[:5]],
    [
        (
            "operations",
            [large[name] / large["dot"] for name in large],
        ),
        (
            "numbers held",
            [largest[name] / largest["dot"] for name in large],
        ),
    ],
    ylabel="times those of dot",
    spec=".3f",
)
# --8<-- [end:large]

# --8<-- [start:parameters]
parameters = {
    "dot": 0,
    "scaled dot": 0,
    "cosine": 0,
    "bilinear": W_long.size,
    "additive": W_q.size + W_k_long.size + w.size,
}
d_q, d_long, d_a = W_q.shape[0], W_k_long.shape[0], w.size
formula = {"bilinear": d_q * d_long, "additive": d_a * (d_q + d_long + 1)}
table(
    [[count, formula.get(name, 0)] for name, count in parameters.items()],
    columns=["counted", "by the formula"],
    index=list(parameters),
)
# --8<-- [end:parameters]

# --8<-- [start:counter]
tally = Counter()  # what has been done so far


class Counted:
    """A number that adds every operation on it to the tally."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        tally["+"] += 1
        return Counted(self.value + other.value)

    def __mul__(self, other):
        tally["·"] += 1
        return Counted(self.value * other.value)

    def __truediv__(self, other):
        tally["/"] += 1
        return Counted(self.value / other.value)

    def apply(self, function):
        tally[function.__name__] += 1
        return Counted(function(self.value))


# --8<-- [end:counter]


# --8<-- [start:pencil]
def times(a, b):
    return reduce(Counted.__add__, [x * y for x, y in zip(a, b, strict=True)])


def project(vectors, M):
    columns = list(zip(*M, strict=True))
    return [[times(v, column) for column in columns] for v in vectors]


def pencil_dot(Q, K):
    return [[times(q, k) for k in K] for q in Q]


def pencil_scaled_dot(Q, K):
    root = Counted(len(K[0])).apply(sqrt)  # once
    return [[score / root for score in row] for row in pencil_dot(Q, K)]


def pencil_unit(vectors):
    def unit(v):
        norm = times(v, v).apply(sqrt)
        return [x / norm for x in v]

    return [unit(v) for v in vectors]


def pencil_cosine(Q, K):
    return pencil_dot(pencil_unit(Q), pencil_unit(K))


def pencil_bilinear(Q, K, W):
    return pencil_dot(project(Q, W), K)


def pencil_additive(Q, K, W_q, W_k, w):
    def score(q, k):
        hidden = [(x + y).apply(tanh) for x, y in zip(q, k, strict=True)]
        return times(hidden, w)

    left, right = project(Q, W_q), project(K, W_k)  # once for each vector
    return [[score(q, k) for k in right] for q in left]


# --8<-- [end:pencil]


# --8<-- [start:operations]
def wrapped(array):
    return [Counted(x) if array.ndim == 1 else wrapped(x) for x in array]


same, differ = operations(2, 3, 4, 4, 2), operations(2, 3, 4, 6, 2)
short, long = (queries, keys), (queries, long_keys)
more = (W_q, W_k_long, w)
runs = {
    "dot": (pencil_dot, short, dot_scores, same),
    "scaled dot": (pencil_scaled_dot, short, scaled_scores, same),
    "cosine": (pencil_cosine, short, cosine_scores, same),
    "bilinear": (pencil_bilinear, (*long, W_long), long_bilinear, differ),
    "additive": (pencil_additive, (*long, *more), long_additive, differ),
}
counts, agree = [], []
for name, (pencil, arrays, expected, by_formula) in runs.items():
    tally.clear()
    result = pencil(*map(wrapped, arrays))
    kinds = [tally[kind] for kind in ("·", "+", "/", "sqrt", "tanh")]
    counts.append([tally.total(), by_formula[name], *kinds])
    found = np.array([[score.value for score in row] for row in result])
    agree.append(np.abs(found - expected).max() < 1e-12)
check("the scores are those of the package", all(agree))
table(
    counts,
    columns=["counted", "by the formula", "·", "+", "/", "√", "tanh"],
    index=list(runs),
)
# --8<-- [end:operations]

# --8<-- [start:original]
original = 1000 * (1000 + 2000 + 1)  # d_a (d_q + d_k + 1)
print(f"parameters: {original:,d}")
# --8<-- [end:original]


# --8<-- [start:torch]
def tensors(*arrays):
    return [torch.from_numpy(array) for array in arrays]


Q, K, K_long = tensors(queries, keys, long_keys)
pairs = torch.broadcast_tensors(Q[:, None], K[None])  # (n_q, n_k, d) each
theirs = {"cosine": functional.cosine_similarity(*pairs, dim=-1)}

left = Q[:, None, :].expand(2, 3, 4).contiguous()
right = K_long[None, :, :].expand(2, 3, 6).contiguous()
between, to_query, to_key, to_score = tensors(W_long, W_q.T, W_k_long.T, w)
theirs["bilinear"] = functional.bilinear(left, right, between[None])[..., 0]
hidden = torch.tanh(functional.linear(left, to_query) + functional.linear(right, to_key))
theirs["additive"] = functional.linear(hidden, to_score[None])[..., 0]

ours = {
    "cosine": cosine_scores,
    "bilinear": long_bilinear,
    "additive": long_additive,
}
table(
    [[np.abs(ours[name] - theirs[name].numpy()).max() < 1e-12] for name in ours],
    columns=["do both agree?"],
    index=list(ours),
)
# --8<-- [end:torch]

# --8<-- [start:gradients]
free = [tensor.clone().requires_grad_() for tensor in tensors(queries, keys)]
free_matrix = torch.from_numpy(W).clone().requires_grad_()
free_a = [tensor.clone().requires_grad_() for tensor in tensors(W_q, W_k, w)]
gradcheck = torch.autograd.gradcheck  # autograd against finite differences
right = {
    "dot": gradcheck(dot, free),
    "scaled dot": gradcheck(scaled_dot, free),
    "cosine": gradcheck(cosine, free),
    "bilinear": gradcheck(bilinear, (*free, free_matrix)),
    "additive": gradcheck(additive, (*free, *free_a)),
}
table([[one] for one in right.values()], columns=["is the gradient right?"], index=list(right))
# --8<-- [end:gradients]

# --8<-- [start:exercise-pencil]
q, k = np.array([[3.0, 4]]), np.array([[4.0, 3]])
swap = np.array([[0.0, 1], [1, 0]])
table(
    np.concatenate([dot(q, k), scaled_dot(q, k), cosine(q, k), bilinear(q, k, swap)]),
    columns=["score"],
    index=["dot", "scaled dot", "cosine", "bilinear"],
    spec=".4f",
)
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-norm]
wrong = queries / np.linalg.norm(queries)  # one number for all queries
right = queries / np.linalg.norm(queries, axis=-1, keepdims=True)
table(
    [(wrong * wrong).sum(axis=-1), (right * right).sum(axis=-1)],
    columns=numbered("query", n_q),
    index=["✗ one norm for all", "✓ a norm for each"],
    spec=".4f",
)
# --8<-- [end:exercise-norm]

# --8<-- [start:exercise-factor]
beta = log(99 * 511) / 2
print(f"β = {beta:.4f}")
table(
    [[1 / (1 + 511 * exp(-2 * (beta + step))) >= 0.99] for step in (-0.01, 0.01)],
    columns=["enough?"],
    index=["β − 0.01", "β + 0.01"],
)
# --8<-- [end:exercise-factor]

# --8<-- [start:exercise-same]
R = np.array([[1.0, 1, 0], [0, 1, 0], [0, 2, 1]])
R_inverse = np.array([[1.0, -1, 0], [0, 1, 0], [0, -2, 1]])
check("R times its inverse is I", np.array_equal(R @ R_inverse, np.eye(3)))
other_queries = INPUTS @ (W_QUERY @ R)
other_keys = INPUTS @ (W_KEY @ R_inverse.T)
beside(
    heatmap(other_keys, role="key", name="new keys", spec=".0f"),
    heatmap(dot(other_queries, other_keys), role="score", name="scores", spec=".0f"),
)
# --8<-- [end:exercise-same]


# --8<-- [start:exercise-mixed]
def mixed(s):
    """What is left of s when a part for i and a part for j are taken out."""
    return s[0, 0] + s[1, 1] - s[0, 1] - s[1, 0]


relu = np.maximum(0, (queries @ W_q)[:, None] + keys @ W_k) @ w
table(
    [[mixed(flat_scores)], [mixed(additive_scores)], [mixed(relu)]],
    columns=["difference"],
    index=["without tanh", "with tanh", "with ReLU"],
    spec=".4f",
)
# --8<-- [end:exercise-mixed]

# --8<-- [start:exercise-count]
d_model = 8
table(
    [[r, 2 * d_model * r, 2 * d_model * r - r**2, d_model**2] for r in (1, 4, 7, 8)],
    columns=["r", "2dr", "2dr − r²", "d²"],
)
# --8<-- [end:exercise-count]


# --8<-- [start:exercise-hull]
middle = flat_keys[:3].mean(axis=0)
check("the mean of keys 1, 2 and 3 is key 4", np.abs(middle - flat_keys[3]).max() < 1e-12)
middle_dots = flat_dots[:, :3].mean(axis=1)
check("its score is the mean of their scores", np.abs(middle_dots - flat_dots[:, 3]).max() < 1e-12)
print(f"mean of keys 1, 2 and 3: {text(middle, '.1f')}")
print(f"winners at 0°, 30°, …, 330°: {text(winners, 'd')}")
# --8<-- [end:exercise-hull]

# --8<-- [start:exercise-far]
factors = (1, 2, 4, 16)
away = np.array([np.linalg.norm(t * along_key - flat_keys, axis=1) for t in factors])
table(
    np.column_stack([away, away.argmin(axis=1) + 1]),
    columns=[*(f"distance, key {j}" for j in range(1, 5)), "nearest key"],
    index=[f"t = {t}" for t in factors],
    spec=[*[".4f"] * 4, ".0f"],
)
# --8<-- [end:exercise-far]


# --8<-- [start:writing]
def your_cosine(queries, keys):
    """The cosines (n_q, n_k) of queries (n_q, d) and keys (n_k, d)."""
    return queries @ keys.T  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_cosine(queries, keys):
    of_queries, of_keys = (np.sqrt((one**2).sum(axis=-1, keepdims=True)) for one in (queries, keys))
    return queries @ keys.T / (of_queries * of_keys.T)


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

some_queries, some_keys = np.array([[3.0, 4], [0, 2]]), np.array([[4.0, 3], [5, 0], [-6, 8]])
writing = Task(
    model_cosine,
    inputs=[
        (np.array([[1.0, 0]]), np.array([[0.0, 1]])),
        (np.array([[3.0, 4]]), np.array([[4.0, 3]])),
        (some_queries, some_keys),
        (np.array([[-2.0, 1, 2], [0, 3, 4]]), np.array([[2.0, 2, -1], [4, 0, 3], [1, 2, 2]])),
    ],
    mistakes={
        "This is the dot product: the lengths have not been divided out.": lambda q, k: q @ k.T,
        "One norm for the whole matrix: each query and each key has a length of its own.": (
            lambda q, k: q @ k.T / (np.linalg.norm(q) * np.linalg.norm(k))
        ),
        "Only the lengths of the queries were divided out.": (
            lambda q, k: q @ k.T / np.linalg.norm(q, axis=-1, keepdims=True)
        ),
        "Divided by squared lengths: take their roots.": (
            lambda q, k: q @ k.T / ((q**2).sum(-1, keepdims=True) * (k**2).sum(-1))
        ),
        "Divided by √d_k: a cosine is divided by both lengths.": (
            lambda q, k: q @ k.T / np.sqrt(q.shape[-1])
        ),
    },
    draw=lambda rng: (halves(rng, 5, 4) + 0.25, halves(rng, 3, 4) + 0.25),
)
judge(your_cosine, writing)
# --8<-- [end:writing-checks]
