"""The matrix form: loops, rows and columns, dot products, the order of tokens."""

# --8<-- [start:setup]
from math import exp, sqrt

import numpy as np
import torch
from torch.nn.functional import linear, scaled_dot_product_attention

from attention_docs.attention_function import attention
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import heatmap, line_chart, numbered, product
from attention_docs.matrix_form import (
    angles,
    column_attention,
    permutation_matrix,
    projections,
)
from attention_docs.score_functions import cosine, dot, scaled_dot
from attention_docs.softmax import softmax
from attention_docs.text import number, text


def agree(a, b):
    """Whether two arrays differ nowhere by more than 1e-12."""
    return a.shape == b.shape and bool(np.abs(a - b).max() < 1e-12)


# --8<-- [end:setup]

# --8<-- [start:words]
words = ["onion", "carrot", "soup", "cake"]
titles = ["onion soup", "carrot soup", "carrot cake"]


def as_vector(phrase):
    """A 1 for every word that the phrase holds."""
    return np.array([float(word in phrase.split()) for word in words])


# A row for each card: 4 words, then minutes and spoons of sugar.
card_keys = np.array([as_vector(title) for title in titles])
card_values = np.array([[50.0, 0], [45, 1], [90, 12]])
print(text(card_keys, ".0f"))
print(text(card_values, ".0f"))
# --8<-- [end:words]

# --8<-- [start:search]
query = as_vector("onion soup")[None, :]  # (1 query, 4 words)
print(text(dot(query, card_keys), ".0f"))  # words in common
answer, card_weights = attention(query, card_keys, card_values)
print(text(card_weights, ".4f"))
print(text(answer, ".4f"))
# --8<-- [end:search]

# --8<-- [start:sharper]
factors = [1, 4, 16]
sharp_queries = np.array(factors)[:, None] * query  # (3, 4)
sharp_answers, sharp_weights = attention(sharp_queries, card_keys, card_values)
print(text(sharp_weights, ".4f"))
print(text(sharp_answers, ".2f"))
names = zip(titles, ["洋葱汤", "胡萝卜汤", "胡萝卜蛋糕"], strict=True)
columns = [{"en": english, "zh": chinese} for english, chinese in names]
heatmap(
    sharp_weights,
    rows=[{"en": f"query × {f}", "zh": f"查询 × {f}"} for f in factors],
    columns=columns,
    name="weights",
    spec=".4f",
)
# --8<-- [end:sharper]

# --8<-- [start:no-such-card]
print("onion cake" in titles)
new_query = as_vector("onion cake")[None, :]
new_answer, new_weights = attention(new_query, card_keys, card_values)
print(text(new_weights, ".4f"))
print(text(new_answer, ".4f"))
# --8<-- [end:no-such-card]

# --8<-- [start:scores-as-weights]
wrong_answer = dot(query, card_keys) @ card_values  # scores, not weights
print(text(wrong_answer, ".0f"))
# --8<-- [end:scores-as-weights]

# --8<-- [start:example]
x = INPUTS
queries, keys, values = x @ W_QUERY, x @ W_KEY, x @ W_VALUE
print(text(queries, ".0f"))
print(text(keys, ".0f"))
print(text(values, ".0f"))
# --8<-- [end:example]


# --8<-- [start:loop]
def attention_loop(query, key, value):
    """Attention one number at a time."""
    (n_q, d_k), (n_k, d_v) = query.shape, value.shape
    outputs, weights = np.zeros((n_q, d_v)), np.zeros((n_q, n_k))
    for i in range(n_q):
        powers = []
        for j in range(n_k):
            score = 0.0
            for c in range(d_k):
                score += query[i, c] * key[j, c]
            powers.append(exp(score / sqrt(d_k)))
        for j in range(n_k):
            weights[i, j] = powers[j] / sum(powers)
            for c in range(d_v):
                outputs[i, c] += weights[i, j] * value[j, c]
    return outputs, weights


loop_outputs, loop_weights = attention_loop(queries, keys, values)
print(text(loop_weights, ".4f"))
print(text(loop_outputs, ".4f"))
# --8<-- [end:loop]

# --8<-- [start:product]
products = queries @ keys.T  # (n_q, d_k) @ (d_k, n_k) = (n_q, n_k)
product(
    queries,
    keys.T,
    products,
    names=("queries", "keys", {"en": "dot products", "zh": "点积"}),
    roles=("query", "key", "score"),
    rows=numbered("query", 3),
    columns=numbered("key", 3),
    row=1,
    column=2,
)
# --8<-- [end:product]

# --8<-- [start:matrix]
scores = queries @ keys.T / sqrt(queries.shape[-1])
weights = softmax(scores, axis=-1)  # every row sums to 1
outputs = weights @ values
print(text(outputs, ".4f"))
# --8<-- [end:matrix]


# --8<-- [start:torch]
def torch_attention(*arrays):
    """PyTorch's own function, on NumPy arrays."""
    return scaled_dot_product_attention(*map(torch.tensor, arrays)).numpy()


torch_outputs = torch_attention(queries, keys, values)
print(text(torch_outputs, ".4f"))
print(agree(loop_outputs, outputs), agree(outputs, torch_outputs))
# --8<-- [end:torch]

# --8<-- [start:sizes]
n_q, n_k, d_k, d_v = 2, 5, 3, 7
rng = np.random.default_rng(0)
many = [rng.normal(size=size) for size in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]
by_loop, loop_map = attention_loop(*many)
by_matrix, matrix_map = attention(*many)
print(by_matrix.shape, matrix_map.shape)
print(agree(by_loop, by_matrix), agree(by_matrix, torch_attention(*many)))
# --8<-- [end:sizes]

# --8<-- [start:columns]
inputs_col = x.T  # (d_model, n): one input a column
queries_col = W_QUERY.T @ inputs_col[:, :2]  # (d_k, n_q): queries 1 and 2 alone
keys_col = W_KEY.T @ inputs_col  # (d_k, n_k)
values_col = W_VALUE.T @ inputs_col  # (d_v, n_k)
products_col = keys_col.T @ queries_col  # (n_k, n_q)
print(text(queries_col, ".0f"))
print(text(products_col, ".0f"))
print(agree(products_col, dot(queries[:2], keys).T))
product(
    keys_col.T,
    queries_col,
    products_col,
    names=("keys", "queries", {"en": "dot products", "zh": "点积"}),
    roles=("key", "query", "score"),
    rows=numbered("key", 3),
    columns=numbered("query", 2),
    row=2,
    column=1,
)
# --8<-- [end:columns]

# --8<-- [start:columns-whole]
outputs_col, weights_col = column_attention(queries_col, keys_col, values_col)
print(text(weights_col, ".4f"))  # (n_k, n_q): every column sums to 1
print(text(outputs_col, ".4f"))  # (d_v, n_q): one output a column
print(agree(weights_col, weights[:2].T), agree(outputs_col, outputs[:2].T))
# --8<-- [end:columns-whole]

# --8<-- [start:b-1]
alpha = products_col[:, 0]  # query 1 with every key
alpha_prime = softmax(alpha)  # not divided by √d_k, as in the lecture
b_1 = values_col @ alpha_prime  # the columns of values, weighted and added
print(text(alpha, ".0f"))
print(text(alpha_prime, ".4f"))
print(text(b_1, ".4f"))
# --8<-- [end:b-1]

# --8<-- [start:linear]
stored = torch.nn.Linear(4, 3, device="meta").weight  # a shape, no numbers
print(tuple(stored.shape))  # (d_k, d_model)
by_linear = linear(torch.tensor(x), torch.tensor(W_QUERY.T)).numpy()
print(agree(by_linear, queries))
# --8<-- [end:linear]

# --8<-- [start:held]
degrees = np.array([0, 45, 90, 135, 180])
radians = np.radians(degrees)
circle = np.stack([np.cos(radians), np.sin(radians)], axis=1)  # norm 1
east = np.array([[2.0, 0.0]])  # one query of norm 2
print(text(angles(east, circle), ".0f"))
print(text(dot(east, circle), ".4f"))
# --8<-- [end:held]

# --8<-- [start:varying]
lengths = np.array([1, 3, 2, 1, 0.5])
stretched = lengths[:, None] * circle
print(text(angles(east, stretched), ".0f"))
print(text(dot(east, stretched), ".4f"))
# --8<-- [end:varying]

# --8<-- [start:query-1]
q_1 = queries[:1]
norm_q = np.linalg.norm(q_1)
norms = np.linalg.norm(keys, axis=1)
theta = angles(q_1, keys)[0]
shadow = projections(q_1, keys)[0]
score_1 = dot(q_1, keys)[0]
print("norms      ", text(norms, ".4f"))
print("angles     ", text(theta, ".1f"))
print("projections", text(shadow, ".4f"))
print("scores     ", text(score_1, ".0f"))
print(agree(norm_q * shadow, score_1))
# --8<-- [end:query-1]

# --8<-- [start:cosine-curves]
fan = np.arange(0, 181, 15)
falling = np.cos(np.radians(fan))  # from 1 to -1
line_chart(
    fan,
    [(f"key {j + 1}", norm_q * norms[j] * falling) for j in range(3)],
    xlabel={"en": "angle to query 1, degrees", "zh": "与查询 1 的夹角（度）"},
    ylabel={"en": "dot product with query 1", "zh": "与查询 1 的点积"},
    spec=".2f",
)
# --8<-- [end:cosine-curves]

# --8<-- [start:gram]
gram = x @ x.T
cosines = cosine(x, x)  # divided by both norms
print(text(gram, ".0f"))
print(text(cosines, ".4f"))
print(text(projections(x, x), ".4f"))  # row i divided by the norm of x_i
# --8<-- [end:gram]

# --8<-- [start:between]
M = W_QUERY @ W_KEY.T  # (d_model, d_model)
print(text(M, ".0f"))
print(np.array_equal(x @ M @ x.T, products))
print(np.array_equal(M, M.T), np.array_equal(products, products.T))
# --8<-- [end:between]

# --8<-- [start:fourth]
x_4 = np.array([0.0, 0, 1, 0])
print(number(x[0] @ M @ x_4, ".0f"), number(x_4 @ M @ x[0], ".0f"))
# --8<-- [end:fourth]


# --8<-- [start:order]
def layer(x):
    """Inputs to outputs and weights."""
    return attention(x @ W_QUERY, x @ W_KEY, x @ W_VALUE)


P = permutation_matrix([2, 0, 1])  # input 3 first, then 1, then 2
moved_outputs, moved_weights = layer(P @ x)
print(text(P, ".0f"))
print(text(P @ x, ".0f"))
print(text(moved_outputs, ".4f"))
print(agree(moved_outputs, P @ outputs))
print(agree(moved_weights, P @ weights @ P.T))
labels = [3, 1, 2]
heatmap(
    moved_weights,
    rows=[f"query {i}" for i in labels],
    columns=[f"key {j}" for j in labels],
    name="attention weights",
    spec=".4f",
)
# --8<-- [end:order]

# --8<-- [start:keys-moved]
same_outputs, _ = attention(queries, P @ keys, P @ values)
print(agree(same_outputs, outputs))
# --8<-- [end:keys-moved]

# --8<-- [start:by-angle]
by_angle = np.argsort(theta) + 1  # the smallest angle first
by_score = np.argsort(-score_1, kind="stable") + 1  # the highest score first
print("by angle:", text(by_angle, "d"))
print("by score:", text(by_score, "d"))
angle_weights = softmax(cosine(q_1, keys))[0]
print(text(angle_weights, ".4f"))  # if the angle decided
print(text(weights[0], ".4f"))  # what the dot product decides
# --8<-- [end:by-angle]

# --8<-- [start:longer-key]
longer = keys * np.array([[2.0], [1], [1]])  # key 1 twice as long
print(agree(angles(q_1, longer), angles(q_1, keys)))
print(text(dot(q_1, longer), ".0f"))
print(text(softmax(scaled_dot(q_1, longer)), ".4f"))
# --8<-- [end:longer-key]

# --8<-- [start:equal-norms]
unit_keys = keys / norms[:, None]
unit_scores = dot(q_1, unit_keys)[0]
print(text(unit_scores, ".4f"))
print(text(np.argsort(-unit_scores) + 1, "d"))
# --8<-- [end:equal-norms]

# --8<-- [start:wrong-axis]
wrong_weights = softmax(scores, axis=0)  # over the queries: wrong
wrong_outputs = wrong_weights @ values
print(text(wrong_weights, ".4f"))
print(text(wrong_outputs, ".4f"))
print(wrong_outputs.shape == outputs.shape)
# --8<-- [end:wrong-axis]

# --8<-- [start:row-sums]
wrong_sums, right_sums = wrong_weights.sum(axis=1), weights.sum(axis=1)
print("wrong:", text(wrong_sums, ".4f"), number(wrong_sums.sum(), ".4f"))
print("right:", text(right_sums, ".4f"), number(right_sums.sum(), ".4f"))
# --8<-- [end:row-sums]

# --8<-- [start:one-query]
print(text(softmax(scores[:1], axis=0), ".4f"))  # wrong
print(text(softmax(scores[:1], axis=-1), ".4f"))  # right
# --8<-- [end:one-query]

# --8<-- [start:exercise-1]
features = queries.T @ keys  # (d_k, d_k): summed over the tokens
print(text(features, ".0f"))
print((queries[:2].T @ keys[:2]).shape, (queries[:2] @ keys[:2].T).shape)
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-2]
doubled, doubled_weights = attention(2 * q_1, keys, values)
print(agree(angles(2 * q_1, keys), angles(q_1, keys)))
print(text(doubled_weights, ".4f"))
print(text(weights[:1], ".4f"))
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
causal = np.tri(3, dtype=bool)  # True takes part: i looks at 1 to i
masked, _ = attention(queries, keys, values, causal)
rows = P @ queries, P @ keys, P @ values
mask_stays, _ = attention(*rows, causal)
mask_moves, _ = attention(*rows, (P @ causal @ P.T).astype(bool))
print(agree(mask_stays, P @ masked), agree(mask_moves, P @ masked))
# --8<-- [end:exercise-3]
