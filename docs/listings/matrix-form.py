"""The matrix form: from loops to products, the order of tokens, what a score measures."""

# --8<-- [start:four]
from math import exp, sqrt

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import (
    Frame,
    beside,
    heatmap,
    line_chart,
    numbered,
    plane,
    product,
    slider,
    table,
)
from attention_docs.matrix_form import (
    angles,
    column_attention,
    permutation_matrix,
    projections,
)
from attention_docs.score_functions import cosine, dot, scaled_dot
from attention_docs.softmax import softmax
from attention_docs.text import check, number, text

x = INPUTS
queries, keys, values = x @ W_QUERY, x @ W_KEY, x @ W_VALUE


def agree(a, b):
    """Whether two arrays differ nowhere by more than 1e-12."""
    return a.shape == b.shape and bool(np.abs(a - b).max() < 1e-12)


candidates = []
for compared in (queries @ keys.T, queries.T @ keys):
    for axis in (1, 0):
        candidates.append(softmax(compared / sqrt(3), axis=axis) @ values)
heatmap(
    [candidate[0] for candidate in candidates],
    rows=[
        "QKᵀ, softmax along rows",
        "QKᵀ, softmax down columns",
        "QᵀK, softmax along rows",
        "QᵀK, softmax down columns",
    ],
    columns=numbered("component", 3),
    role="output",
    name="output 1",
    spec=".4f",
)
# --8<-- [end:four]


# --8<-- [start:loop]
def attention_loop(query, key, value):
    """Attention one number at a time."""
    (n_q, d_k), (n_k, d_v) = query.shape, value.shape
    outputs, weights = np.zeros((n_q, d_v)), np.zeros((n_q, n_k))
    for i in range(n_q):
        for j in range(n_k):
            score = sum(query[i, c] * key[j, c] for c in range(d_k))
            weights[i, j] = exp(score / sqrt(d_k))
        weights[i] = weights[i] / sum(weights[i])
        for c in range(d_v):
            outputs[i, c] = sum(weights[i] * value[:, c])
    return outputs, weights


loop_outputs, loop_weights = attention_loop(queries, keys, values)
components, three = numbered("component", 3), numbered("output", 3)
table(loop_outputs, columns=components, index=three, spec=".4f")
# --8<-- [end:loop]

# --8<-- [start:product]
products = queries @ keys.T  # (n_q, d_k) @ (d_k, n_k) = (n_q, n_k)
product(
    queries,
    keys.T,
    products,
    names=("queries", "keys", "dot products"),
    roles=("query", "key", "score"),
    rows=numbered("query", 3),
    columns=numbered("key", 3),
    row=1,
    column=2,
)
# --8<-- [end:product]

# --8<-- [start:matrix]
scores = queries @ keys.T / sqrt(queries.shape[-1])  # (n_q, n_k)
weights = softmax(scores, axis=-1)  # every row sums to 1
outputs = weights @ values  # (n_q, d_v)
table(outputs, columns=components, index=three, spec=".4f")
# --8<-- [end:matrix]

# --8<-- [start:sizes]
n_q, n_k, d_k, d_v = 2, 5, 3, 7
rng = np.random.default_rng(0)
many = [rng.normal(size=size) for size in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]
by_loop, loop_map = attention_loop(*many)
by_matrix, matrix_map = attention(*many)
check("the outputs of loop and products agree", agree(by_loop, by_matrix))
check("the weights of loop and products agree", agree(loop_map, matrix_map))
print(f"shape of the weights: {matrix_map.shape}")
print(f"shape of the outputs: {by_matrix.shape}")
# --8<-- [end:sizes]

# --8<-- [start:torch]
import torch
from torch.nn.functional import scaled_dot_product_attention


def torch_attention(*arrays):
    """PyTorch's own function, on NumPy arrays."""
    return scaled_dot_product_attention(*map(torch.tensor, arrays)).numpy()


check("PyTorch agrees where all sizes differ", agree(by_matrix, torch_attention(*many)))
of_torch = torch_attention(queries, keys, values)
table(of_torch, columns=components, index=three, spec=".4f")
# --8<-- [end:torch]

# --8<-- [start:wrong-axis]
wrong_weights = softmax(scores, axis=0)  # over the queries: wrong
wrong_outputs = wrong_weights @ values
check("the outputs have the right shape", wrong_outputs.shape == outputs.shape)
table(
    [[wrong_weights[i], wrong_outputs[i]] for i in range(3)],
    columns=["weights", "output"],
    index=numbered("query", 3),
    spec=".4f",
)
# --8<-- [end:wrong-axis]

# --8<-- [start:row-sums]
wrong_sums, right_sums = wrong_weights.sum(axis=1), weights.sum(axis=1)
table(
    [[*wrong_sums, wrong_sums.sum()], [*right_sums, right_sums.sum()]],
    columns=[*numbered("query", 3), "all queries"],
    index=["✗ over the queries", "✓ over the keys"],
    spec=".4f",
)
# --8<-- [end:row-sums]

# --8<-- [start:one-query]
table(
    [softmax(scores[:1], axis=0)[0], softmax(scores[:1], axis=-1)[0]],
    columns=numbered("key", 3),
    index=["✗ over the queries", "✓ over the keys"],
    spec=".4f",
)
# --8<-- [end:one-query]


# --8<-- [start:order-figure]
def layer(x):
    """Inputs to outputs and weights."""
    return attention(x @ W_QUERY, x @ W_KEY, x @ W_VALUE)


P = permutation_matrix([2, 0, 1])  # input 3 first, then 1, then 2
moved_outputs, moved_weights = layer(P @ x)
labels = [3, 1, 2]
heatmap(
    moved_weights,
    rows=[f"query {i}" for i in labels],
    columns=[f"key {j}" for j in labels],
    name="attention weights",
    spec=".4f",
)
# --8<-- [end:order-figure]

# --8<-- [start:order]
check("the outputs are PO", agree(moved_outputs, P @ outputs))
check("the weights are PAPᵀ", agree(moved_weights, P @ weights @ P.T))
same_outputs, _ = attention(queries, P @ keys, P @ values)  # the queries stay
check("permuting keys and values alone changes no output", agree(same_outputs, outputs))
table(
    [[P[i] @ x, moved_outputs[i]] for i in range(3)],
    columns=["input", "output"],
    index=[f"token {i}" for i in labels],
    spec=[".0f", ".4f"],
)
# --8<-- [end:order]

# --8<-- [start:turn]
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
q_1 = queries[:1]
norm_q = np.linalg.norm(q_1)
norms = np.linalg.norm(keys, axis=1)
theta = angles(q_1, keys)[0]
shadow = projections(q_1, keys)[0]
score_1 = dot(q_1, keys)[0]
check("the norm of the query times the projection is q · k", agree(norm_q * shadow, score_1))
table(
    np.column_stack([norms, theta, shadow, score_1]),
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
    [(f"key {j + 1}", norm_q * norms[j] * falling) for j in range(3)],
    xlabel="angle to query 1, degrees",
    ylabel="dot product with query 1",
    spec=".2f",
)
# --8<-- [end:cosine-curves]

# --8<-- [start:by-angle]
by_angle = np.argsort(theta) + 1  # the smallest angle first
by_score = np.argsort(-score_1, kind="stable") + 1  # the highest score first
angle_weights = softmax(cosine(q_1, keys))[0]
table(
    [[by_angle, angle_weights], [by_score, weights[0]]],
    columns=["order of the keys", "weights of keys 1, 2, 3"],
    index=["by angle", "by dot product"],
    spec=["d", ".4f"],
)
# --8<-- [end:by-angle]

# --8<-- [start:longer-key]
longer = keys * np.array([[2.0], [1], [1]])  # key 1 twice as long
check("all angles stay", agree(angles(q_1, longer), angles(q_1, keys)))
table(
    np.stack([dot(q_1, longer)[0], softmax(scaled_dot(q_1, longer))[0]], axis=1),
    columns=["dot product", "weight"],
    index=["key 1, twice as long", "key 2", "key 3"],
    spec=[".0f", ".4f"],
)
# --8<-- [end:longer-key]

# --8<-- [start:equal-norms]
unit_keys = keys / norms[:, None]
unit_scores = dot(q_1, unit_keys)[0]
ranked = np.argsort(-unit_scores)  # the highest score first
table(
    unit_scores[ranked][:, None],
    columns=["dot product"],
    index=[f"key {j + 1}" for j in ranked],
    spec=".4f",
)
# --8<-- [end:equal-norms]

# --8<-- [start:gram]
gram = x @ x.T
cosines = cosine(x, x)  # divided by both norms
shadows = projections(x, x)  # row i divided by the norm of x_i
beside(
    heatmap(gram, role="score", name="XXᵀ", spec=".0f"),
    heatmap(cosines, role="score", name="cosines", spec=".4f"),
    heatmap(shadows, role="score", name="projections", spec=".4f"),
)
# --8<-- [end:gram]

# --8<-- [start:between]
M = W_QUERY @ W_KEY.T  # (d_model, d_model)
check("XMXᵀ is QKᵀ", np.array_equal(x @ M @ x.T, products))
check("M is not symmetric", not np.array_equal(M, M.T))
check("QKᵀ is symmetric", np.array_equal(products, products.T))
heatmap(M, name="M", role="neutral", spec=".0f")
# --8<-- [end:between]

# --8<-- [start:fourth]
x_4 = np.array([0.0, 0, 1, 0])
print(f"query 1 · key 4 = {number(x[0] @ M @ x_4, '.0f')}")
print(f"query 4 · key 1 = {number(x_4 @ M @ x[0], '.0f')}")
# --8<-- [end:fourth]

# --8<-- [start:lookup]
q = np.array([3.0, 0])  # the query of the figure at 0°
s = flat_keys @ q / sqrt(2)
distances = np.linalg.norm(q - flat_keys, axis=1)
table(
    np.column_stack([*(softmax(t * s) for t in (1, 4, 16)), distances]),
    columns=["weight, t = 1", "weight, t = 4", "weight, t = 16", "distance"],
    index=numbered("key", 4),
    spec=".4f",
)
# --8<-- [end:lookup]

# --8<-- [start:tied]
table([softmax(16 * scores[0])], columns=numbered("key", 3), index=["weights"], spec=".4f")
# --8<-- [end:tied]

# --8<-- [start:columns]
inputs_col = x.T  # (d_model, n): one input a column
queries_col = W_QUERY.T @ inputs_col[:, :2]  # (d_k, n_q): queries 1 and 2
keys_col = W_KEY.T @ inputs_col  # (d_k, n_k)
values_col = W_VALUE.T @ inputs_col  # (d_v, n_k)
products_col = keys_col.T @ queries_col  # (n_k, n_q)
transposed = dot(queries[:2], keys).T
check("these are the transposed dot products of the rows", agree(products_col, transposed))
product(
    keys_col.T,
    queries_col,
    products_col,
    names=("keys", "queries", "dot products"),
    roles=("key", "query", "score"),
    rows=numbered("key", 3),
    columns=numbered("query", 2),
    row=2,
    column=1,
)
# --8<-- [end:columns]

# --8<-- [start:columns-whole]
outputs_col, weights_col = column_attention(queries_col, keys_col, values_col)
check("these are the transposed weights of the loop", agree(weights_col, weights[:2].T))
check("these are the transposed outputs of the loop", agree(outputs_col, outputs[:2].T))
beside(
    heatmap(  # (n_k, n_q): every column sums to 1
        weights_col,
        name="weights",
        spec=".4f",
        rows=numbered("key", 3),
        columns=numbered("query", 2),
    ),
    heatmap(  # (d_v, n_q): one output a column
        outputs_col,
        role="output",
        name="outputs",
        spec=".4f",
        rows=numbered("component", 3),
        columns=numbered("output", 2),
    ),
)
# --8<-- [end:columns-whole]

# --8<-- [start:b-1]
alpha = products_col[:, 0]  # query 1 with every key
alpha_prime = softmax(alpha)  # not divided by √d_k, as in the lecture
b_1 = values_col @ alpha_prime  # the columns of values, weighted and added
table(
    np.column_stack([alpha, alpha_prime]),
    columns=["score α", "weight α′"],
    index=numbered("key", 3),
    spec=[".0f", ".4f"],
)
# --8<-- [end:b-1]

# --8<-- [start:linear]
from torch import tensor
from torch.nn import Linear
from torch.nn.functional import linear

stored = Linear(4, 3, device="meta").weight  # a shape, no numbers
print(f"shape of the stored parameters: {tuple(stored.shape)}")  # (d_k, d_model)
by_linear = linear(tensor(x), tensor(W_QUERY.T)).numpy()
check("the layer gives our queries", agree(by_linear, queries))
# --8<-- [end:linear]

# --8<-- [start:exercise-pencil]
Q_small = np.array([[1.0, 2], [0, 1]])
K_small = np.array([[1.0, 0], [2, 1], [0, 1]])
small_scores = Q_small @ K_small.T
table(small_scores, columns=numbered("key", 3), index=numbered("query", 2), spec=".0f")
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-longer]
doubled, doubled_weights = attention(2 * q_1, keys, values)
check("all angles stay", agree(angles(2 * q_1, keys), angles(q_1, keys)))
table(
    [weights[0], doubled_weights[0]],
    columns=numbered("key", 3),
    index=["query 1", "query 1, doubled"],
    spec=".4f",
    name="weights",
)
# --8<-- [end:exercise-longer]

# --8<-- [start:exercise-batch]
batch = np.stack([scores, 2 * scores])  # (batch, n_q, n_k)
sums = [softmax(batch, axis=axis).sum(axis=-1) for axis in (1, -1)]
table(
    np.concatenate(sums),
    columns=numbered("query", 3),
    index=[f"axis = {axis}, sequence {b}" for axis in (1, -1) for b in (1, 2)],
    spec=".4f",
    name="sum of the weights",
)
# --8<-- [end:exercise-batch]

# --8<-- [start:exercise-brackets]
n, d = 1000, 64
left_first, right_first = n * n * (d + d), n * d * (d + d)
left, right = (queries @ keys.T) @ values, queries @ (keys.T @ values)
check("without softmax both are equal", agree(left, right))
outside = softmax(queries @ keys.T) @ values
inside = queries @ softmax(keys.T @ values)
check("with softmax they differ", not agree(outside, inside))
table(
    [[left_first], [right_first]],
    columns=["multiplications"],
    index=["(QKᵀ)V", "Q(KᵀV)"],
    spec=",d",
)
# --8<-- [end:exercise-brackets]

# --8<-- [start:exercise-mask]
causal = np.tri(3, dtype=bool)  # True: i may look at j
masked, _ = attention(queries, keys, values, causal)
rows = P @ queries, P @ keys, P @ values
mask_stays, _ = attention(*rows, causal)
mask_moves, _ = attention(*rows, (P @ causal @ P.T).astype(bool))
table(
    [[agree(mask_stays, P @ masked)], [agree(mask_moves, P @ masked)]],
    columns=["outputs permuted alike?"],
    index=["the mask stays", "the mask is permuted too"],
)
# --8<-- [end:exercise-mask]

# --8<-- [start:exercise-hull]
middle = flat_keys[:3].mean(axis=0)
check("the mean of keys 1, 2 and 3 is key 4", agree(middle, flat_keys[3]))
middle_dots = flat_dots[:, :3].mean(axis=1)
check("its score is the mean of their scores", agree(middle_dots, flat_dots[:, 3]))
print(f"mean of keys 1, 2 and 3: {text(middle, '.1f')}")
print(f"winners at 0°, 30°, …, 330°: {text(winners, 'd')}")
# --8<-- [end:exercise-hull]

# --8<-- [start:exercise-far]
factors = (1, 2, 4, 16)
away = np.array([np.linalg.norm(t * q - flat_keys, axis=1) for t in factors])
table(
    np.column_stack([away, away.argmin(axis=1) + 1]),
    columns=[*(f"distance, key {j}" for j in range(1, 5)), "nearest key"],
    index=[f"t = {t}" for t in factors],
    spec=[*[".4f"] * 4, ".0f"],
)
# --8<-- [end:exercise-far]


# --8<-- [start:writing]
def your_attention(Q, K, V):
    """The outputs (n, d_v) for Q and K (n, d_k) and V (n, d_v)."""
    return V  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_attention(Q, K, V):
    scores = Q @ K.T / np.sqrt(K.shape[-1])
    return softmax(scores) @ V


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

one_way, other_way = np.arange(8.0).reshape(2, 4) / 4, np.ones((2, 4)) - np.eye(2, 4)


def draw_case(rng):
    n, d_k, d_v = rng.permutation([2, 3, 5, 6, 7])[:3]
    return halves(rng, n, d_k), halves(rng, n, d_k), halves(rng, n, d_v)


writing = Task(
    model_attention,
    inputs=[
        (np.ones((1, 4)), np.ones((1, 4)), np.array([[3.0]])),
        (np.zeros((2, 4)), np.ones((2, 4)), np.array([[2.0], [4]])),
        (one_way, other_way, np.array([[8.0, 0, 1], [0, 8, 1]])),
        (np.eye(5, 3) - 1, np.arange(15.0).reshape(5, 3) / 8, np.arange(10.0).reshape(5, 2)),
    ],
    mistakes={
        "The division by √d_k is missing.": lambda Q, K, V: softmax(Q @ K.T) @ V,
        "Divided by d_k instead of its root.": (lambda Q, K, V: softmax(Q @ K.T / K.shape[-1]) @ V),
        "The weights were divided by √d_k, after softmax: scale the scores.": (
            lambda Q, K, V: softmax(Q @ K.T) / np.sqrt(K.shape[-1]) @ V
        ),
        "The scores are transposed: rows must belong to queries, so write Q @ K.T.": (
            lambda Q, K, V: model_attention(K, Q, V)
        ),
        "Softmax over the queries: each query needs weights that sum to 1.": (
            lambda Q, K, V: softmax(K @ Q.T / np.sqrt(K.shape[-1])).T @ V
        ),
        "Softmax is missing.": lambda Q, K, V: Q @ K.T / np.sqrt(K.shape[-1]) @ V,
    },
    draw=draw_case,
)
judge(your_attention, writing)
# --8<-- [end:writing-checks]
