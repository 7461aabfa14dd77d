"""Five ways to compare a query with a key: one example, equalities, sizes, cost."""

# --8<-- [start:choose]
from collections import Counter
from fractions import Fraction
from functools import reduce
from math import ceil, exp, log, sqrt, tanh

import numpy as np

from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY
from attention_docs.figures import (
    Frame,
    bar_chart,
    flow,
    heatmap,
    numbered,
    stepper,
)
from attention_docs.score_functions import (
    additive,
    bilinear,
    cosine,
    dot,
    scaled_dot,
)
from attention_docs.softmax import softmax
from attention_docs.text import number, text

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
stepper("scores", [(legend, [label for label, _ in names])], frames)
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


print(text(queries, ".0f"))
print(text(keys, ".0f"))
# --8<-- [end:by-hand]

# --8<-- [start:dot]
for j in range(n_k):
    print(f"q1·k{j + 1} = {by_hand(q_1, keys[j])}")
dot_scores = dot(queries, keys)  # (n_q, n_k)
print(text(dot_scores, ".0f"))
# --8<-- [end:dot]

# --8<-- [start:scaled-dot]
root = int(sqrt(d_k))  # exact: d_k is a square
for score in dot_scores[0]:
    print(f"{number(score, '.0f')} / {root} =", Fraction(int(score), root))
scaled_scores = scaled_dot(queries, keys)
print(text(scaled_scores, ".1f"))
# --8<-- [end:scaled-dot]

# --8<-- [start:cosine]
norms_q = np.sqrt((queries**2).sum(axis=1))
norms_k = np.sqrt((keys**2).sum(axis=1))
print(text(norms_q, ".0f"), text(norms_k, ".0f"))
for score, norm in zip(dot_scores[0], norms_k, strict=True):
    product = norms_q[0] * norm
    print(f"{number(score, '.0f')} / {number(product, '.0f')} =", end=" ")
    print(Fraction(int(score), int(product)))
cosine_scores = cosine(queries, keys)
print(text(cosine_scores, ".4f"))
# --8<-- [end:cosine]

# --8<-- [start:bilinear]
print(text(W, ".0f"))
print("q1 W =", text(q_1 @ W, ".0f"))
for j in range(n_k):
    print(f"q1 W·k{j + 1} = {by_hand(q_1 @ W, keys[j])}")
# --8<-- [end:bilinear]

# --8<-- [start:additive]
print("q1 W_q =", text(q_1 @ W_q, ".0f"))
for j in range(n_k):
    both = q_1 @ W_q + keys[j] @ W_k
    hidden = np.tanh(both)  # component by component
    print(f"k{j + 1} W_k = {text(keys[j] @ W_k, '.0f')}", end=", ")
    print(f"q1 W_q + k{j + 1} W_k = {text(both, '.0f')}")
    print(f"    tanh {text(hidden, '.4f')}, s = {by_hand(w, hidden, '.4f')}")
additive_scores = additive(queries, keys, W_q, W_k, w)
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
for name in list(by_score)[:5]:
    print(f"{name:10} s = {text(by_score[name][0], '7.4f')}", end="  ")
    print(f"a = {text(weights[name][0], '.4f')}")
# --8<-- [end:side-by-side]

# --8<-- [start:mistake-no-tanh]
flat_scores = np.zeros((n_q, n_k))
for i in range(n_q):
    for j in range(n_k):
        flat_scores[i, j] = (queries[i] @ W_q + keys[j] @ W_k) @ w  # no tanh
flat_weights = softmax(flat_scores)
print(text(flat_scores, ".0f"))
print(text(flat_weights, ".4f"))
# --8<-- [end:mistake-no-tanh]

# --8<-- [start:additive-weights]
print(text(weights["additive"], ".4f"))
# --8<-- [end:additive-weights]

# --8<-- [start:saved]
for d_model, d in ((512, 64), (512, 256), (4, 3)):
    split, whole = 2 * d_model * d, d_model**2
    print(f"{d_model:3} {d:3} {split:7,d} {whole:7,d}", split < whole)
# --8<-- [end:saved]

# --8<-- [start:projected]
merged = W_QUERY @ W_KEY.T  # (d_model, d_model), no parameters of its own
print(text(merged, ".0f"))
print("rank M =", np.linalg.matrix_rank(merged), "≤ d_k =", W_KEY.shape[1])
print("rank W =", np.linalg.matrix_rank(W))
projected_scores = dot(INPUTS @ W_QUERY, INPUTS @ W_KEY)
print(text(projected_scores, ".0f"))
print(np.array_equal(bilinear(INPUTS, INPUTS, merged), projected_scores))
# --8<-- [end:projected]

# --8<-- [start:absorbed]
whole_q, whole_k = W_QUERY @ W_q[:3], W_KEY @ W_k[:3]
long_way = additive(INPUTS @ W_QUERY, INPUTS @ W_KEY, W_q[:3], W_k[:3], w)
short_way = additive(INPUTS, INPUTS, whole_q, whole_k, w)
print(np.abs(long_way - short_way).max() < 1e-12)
# --8<-- [end:absorbed]

# --8<-- [start:identity]
identity = np.eye(d_k)
plain = bilinear(queries, keys, identity)
divided = bilinear(queries, keys, identity / sqrt(d_k))
print(np.array_equal(plain, dot_scores))
print(np.array_equal(divided, by_score["scaled dot"]))
# --8<-- [end:identity]

# --8<-- [start:temperature]
tempered = {T: softmax(dot_scores[0] / T) for T in (1, 2, 4, 8)}
for T, row in tempered.items():
    print(f"τ = {T}: {text(row, '.4f')}")
difference = tempered[2] - weights["scaled dot"][0]  # √d_k = 2
print(np.abs(difference).max() < 1e-12)
# --8<-- [end:temperature]

# --8<-- [start:unit]
unit_queries, unit_keys = queries / norms_q[:, None], keys / norms_k[:, None]
print(np.abs(dot(unit_queries, unit_keys) - cosine_scores).max() < 1e-12)
longer = keys * np.array([[1.0], [10], [1]])  # key 2 becomes ten times as long
print("dot   ", text(dot(queries, longer)[0], ".0f"))
print("cosine", text(cosine(queries, longer)[0], ".4f"))
# --8<-- [end:unit]

# --8<-- [start:concat]
stacked = np.concatenate([W_q, W_k])  # (d_q + d_k, d_a)
concat_scores = np.zeros((n_q, n_k))
for i in range(n_q):
    for j in range(n_k):
        joined = np.concatenate([queries[i], keys[j]])  # (d_q + d_k,)
        concat_scores[i, j] = np.tanh(joined @ stacked) @ w
print(stacked.shape)
print(np.abs(concat_scores - additive_scores).max() < 1e-12)
# --8<-- [end:concat]

# --8<-- [start:bound]
# One key along query 1, two against it.
opposite = np.array([[1.0, 0, 2, 2], [-1, 0, -2, -2], [-1, 0, -2, -2]])
peak = softmax(cosine(queries[:1], opposite))
print(text(peak, ".4f"))
bounds = {n: 1 / (1 + (n - 1) * exp(-2)) for n in (3, 32, 512)}
for n, bound in bounds.items():
    print(f"n = {n:3}: a ≤ {number(bound, '.4f')}")
sharper = 1 / (1 + 511 * exp(-2 * 5))  # 512 keys, cosines times β = 5
print(f"β = 5:   a ≤ {number(sharper, '.4f')}")
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
robust = {}
for name, v in cases.items():
    with np.errstate(all="ignore"):  # overflow and 0/0 are the point
        wrong = naive(v, v)
    robust[name] = cosine(v[None], v[None])[0, 0]
    tensor = torch.from_numpy(v)
    from_torch = functional.cosine_similarity(tensor, tensor, dim=0)
    print(f"{name}: naive {wrong:.1f}, here {robust[name]:.1f}", end=", ")
    print("torch", number(from_torch.item(), ".1f"))
# --8<-- [end:robust]

# --8<-- [start:mistake-sizes]
new = np.array([[1.0, 0], [-1, 2], [2, 1]])  # components 5 and 6 of the keys
long_keys = np.concatenate([keys, new], axis=1)  # (n_k, 6)
print(text(long_keys, ".0f"))
for score in (dot, scaled_dot, cosine):
    try:
        score(queries, long_keys)
    except ValueError as error:
        print(f"{score.__name__}: {error}")
# --8<-- [end:mistake-sizes]

# --8<-- [start:different-sizes]
W_long = np.concatenate([W, identity[:, :2]], axis=1)  # (4, 6)
W_k_long = np.concatenate([W_k, np.array([[1.0, -1], [0, -1]])])  # (6, d_a)
long_bilinear = bilinear(queries, long_keys, W_long)
long_additive = additive(queries, long_keys, W_q, W_k_long, w)
print("bilinear")
print(text(long_bilinear, ".0f"))
print("additive")
print(text(long_additive, ".4f"))
# --8<-- [end:different-sizes]

# --8<-- [start:mistake-cut]
cut_scores = dot(queries, long_keys[:, :4])  # "make it fit"
print(text(cut_scores, ".0f"))
changed = long_keys.copy()
changed[1, 4] = 9.0  # another key 2
print(np.array_equal(dot(queries, changed[:, :4]), cut_scores))
print(text(bilinear(queries, changed, W_long), ".0f"))
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
for name, count in parameters.items():
    print(f"{name:10} {count:3d} = {formula.get(name, 0):3d}")
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
counted = {}
for name, (pencil, arrays, expected, by_formula) in runs.items():
    tally.clear()
    result = pencil(*map(wrapped, arrays))
    counted[name] = sum(tally.values())
    found = np.array([[score.value for score in row] for row in result])
    agree = np.abs(found - expected).max() < 1e-12  # with the package's scores
    print(f"{name:10} {counted[name]:3d} = {by_formula[name]:3d}", agree)
    print("   ", dict(tally))
# --8<-- [end:operations]

# --8<-- [start:original]
original = 1000 * (1000 + 2000 + 1)  # d_a (d_q + d_k + 1)
print(f"{original:,d}")
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
for name in ours:
    error = np.abs(ours[name] - theirs[name].numpy()).max()
    print(f"{name:8} agrees {error < 1e-12}")
# --8<-- [end:torch]

# --8<-- [start:gradients]
free = [tensor.clone().requires_grad_() for tensor in tensors(queries, keys)]
free_matrix = torch.from_numpy(W).clone().requires_grad_()
free_a = [tensor.clone().requires_grad_() for tensor in tensors(W_q, W_k, w)]
check = torch.autograd.gradcheck  # autograd against finite differences
print("dot       ", check(dot, free))
print("scaled dot", check(scaled_dot, free))
print("cosine    ", check(cosine, free))
print("bilinear  ", check(bilinear, (*free, free_matrix)))
print("additive  ", check(additive, (*free, *free_a)))
# --8<-- [end:gradients]

# --8<-- [start:exercise-pencil]
q, k = np.array([[3.0, 4]]), np.array([[4.0, 3]])
swap = np.array([[0.0, 1], [1, 0]])
for name, score in (
    ("q · k", dot(q, k)),
    ("q · k / √d_k", scaled_dot(q, k)),
    ("cos θ", cosine(q, k)),
    ("q W kᵀ", bilinear(q, k, swap)),
):
    print(f"{name:13}", text(score, ".4f"))
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-longer]
tripled = queries[:1] * 3
print("dot     ", text(dot(tripled, keys), ".0f"))
print("cosine  ", text(cosine(tripled, keys), ".4f"))
print("bilinear", text(bilinear(tripled, keys, W), ".0f"))
print("additive", text(additive(tripled, keys, W_q, W_k, w), ".4f"))
# --8<-- [end:exercise-longer]

# --8<-- [start:exercise-norm]
wrong = queries / np.linalg.norm(queries)  # one number for all queries
right = queries / np.linalg.norm(queries, axis=-1, keepdims=True)
print("✗", text((wrong * wrong).sum(axis=-1), ".4f"))
print("✓", text((right * right).sum(axis=-1), ".4f"))
# --8<-- [end:exercise-norm]

# --8<-- [start:exercise-factor]
beta = log(99 * 511) / 2
print(number(beta, ".4f"))
for factor_used in (beta - 0.01, beta + 0.01):
    print(1 / (1 + 511 * exp(-2 * factor_used)) >= 0.99)
# --8<-- [end:exercise-factor]

# --8<-- [start:exercise-which]
limit = Fraction(64 * 64, 2 * 64 + 1)
least = ceil(limit)
print(limit, "rounded up:", least)
additive_counts = [d_a * (2 * 64 + 1) for d_a in (least, least - 1)]
print("bilinear", 64 * 64, "additive", *additive_counts)
# --8<-- [end:exercise-which]

# --8<-- [start:exercise-same]
R = np.array([[1.0, 1, 0], [0, 1, 0], [0, 2, 1]])
R_inverse = np.array([[1.0, -1, 0], [0, 1, 0], [0, -2, 1]])
print(np.array_equal(R @ R_inverse, np.eye(3)))
other_queries = INPUTS @ (W_QUERY @ R)
other_keys = INPUTS @ (W_KEY @ R_inverse.T)
print(text(other_keys, ".0f"))
print(text(dot(other_queries, other_keys), ".0f"))
# --8<-- [end:exercise-same]


# --8<-- [start:exercise-mixed]
def mixed(s):
    """What is left of s when a part for i and a part for j are taken out."""
    return s[0, 0] + s[1, 1] - s[0, 1] - s[1, 0]


print(number(mixed(flat_scores), ".4f"))
print(number(mixed(additive_scores), ".4f"))
relu = np.maximum(0, (queries @ W_q)[:, None] + keys @ W_k) @ w
print(number(mixed(relu), ".4f"))
# --8<-- [end:exercise-mixed]

# --8<-- [start:exercise-count]
d_model = 8
for r in (1, 4, 7, 8):
    print(r, 2 * d_model * r, 2 * d_model * r - r**2, d_model**2)
# --8<-- [end:exercise-count]
