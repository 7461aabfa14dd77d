"""The eight steps of self-attention for three inputs, with every tensor."""

# --8<-- [start:no-such-card]
cards = {
    "onion soup": [50, 0],
    "carrot soup": [45, 1],
    "carrot cake": [90, 12],
}
print(cards.get("onion cake"))
# --8<-- [end:no-such-card]

# --8<-- [start:words]
from math import exp, log, sqrt

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.eight_steps import column_attention, round_weights, weighted_values
from attention_docs.figures import (
    beside,
    film_inputs,
    film_search,
    flow,
    heatmap,
    line_chart,
    numbered,
    product,
    ribbons,
    table,
)
from attention_docs.sequences import attention_parameters, window_parameters
from attention_docs.softmax import softmax
from attention_docs.text import check, number, text

words = ["onion", "carrot", "soup", "cake"]


def as_vector(phrase):
    """A 1 for every word that the phrase holds."""
    return np.array([float(word in phrase.split()) for word in words])


titles = list(cards)
card_keys = np.array([as_vector(title) for title in titles])  # (3, 4)
card_values = np.array(list(cards.values()), dtype=float)  # (3, 2)
heatmap(
    card_keys,
    rows=titles,
    columns=words,
    role="key",
    spec=".0f",
)
# --8<-- [end:words]

# --8<-- [start:search]
query = as_vector("onion cake")  # (4,)
s = card_keys @ query  # (3, 4) @ (4,) = (3,)
a = np.exp(s) / np.exp(s).sum()  # (3,)
answer = a @ card_values  # (3,) @ (3, 2) = (2,)
check("the weights add up to 1", abs(a.sum() - 1) < 1e-12)
table(
    [*np.column_stack([s, a, card_values]), [None, None, *answer]],
    columns=["score", "weight", "minutes", "sugar"],
    index=[*titles, "answer"],
    spec=[".0f", ".4f", ".1f", ".1f"],
)
# --8<-- [end:search]

# --8<-- [start:scores-as-weights]
wrong_answer = s @ card_values  # the scores, not the weights
table([wrong_answer], columns=["minutes", "sugar"], index=["wrong answer"], spec=".0f")
# --8<-- [end:scores-as-weights]

# --8<-- [start:components]
components = ["living", "human", "action", "painful"]
sentence = ["dog", "bites", "man"]
embeddings = np.array([[1, 0, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]], float)  # (n, d_model)
film_inputs(sentence, components, embeddings, asker=1)
# --8<-- [end:components]

# --8<-- [start:stepper]
W_Q = np.array([[0, 3], [0, 0], [3, 0], [0, 0]], float)  # knob
W_K = np.array([[1, 0], [0, 0], [0, 1], [0, 0]], float)  # knob
W_V = np.array([[0, 0], [1, 0], [0, 0], [0, 1]], float)  # knob
Q, K, V = embeddings @ W_Q, embeddings @ W_K, embeddings @ W_V
S = Q @ K.T
A = softmax(S)
out = A @ V
film = film_search(
    sentence,
    components,
    ["human", "painful"],
    asker=1,
    inputs=embeddings,
    parameters=(W_K, W_Q, W_V),
    keys=K,
    queries=Q,
    values=V,
    scores=S,
    weights=A,
    weighted=weighted_values(A, V),
    outputs=out,
)
film[0]
# --8<-- [end:stepper]

# --8<-- [start:film-3]
film[1]
# --8<-- [end:film-3]

# --8<-- [start:film-4]
film[2]
# --8<-- [end:film-4]

# --8<-- [start:film-5]
film[3]
# --8<-- [end:film-5]

# --8<-- [start:film-6]
film[4]
# --8<-- [end:film-6]

# --8<-- [start:film-7]
film[5]
# --8<-- [end:film-7]

# --8<-- [start:film-8]
film[6]
# --8<-- [end:film-8]

# --8<-- [start:slope]
soup = np.linspace(-2, 2, 81)  # what stands in the query for "soup"
with_soup = query + np.outer(soup, as_vector("soup"))  # (81, 4)
their_scores = with_soup @ card_keys.T  # (81, 3)
minutes = card_values[:, 0]
chosen_minutes = minutes[their_scores.argmax(axis=1)]  # of the best card alone
mixed_minutes = softmax(their_scores) @ minutes
step = 1e-6  # central differences
ends = [softmax(card_keys @ (query + d * as_vector("soup"))) @ minutes for d in (-step, step)]
slope = (ends[1] - ends[0]) / (2 * step)
line_chart(
    soup,
    [("choosing the best card", chosen_minutes), ("mixing all cards", mixed_minutes)],
    xlabel="soup in the query",
    ylabel="minutes",
)
# --8<-- [end:slope]

# --8<-- [start:sharper]
factors = [1, 4, 16]
sharp_scores = np.outer(factors, card_keys @ as_vector("onion soup"))
sharp_weights = softmax(sharp_scores)  # (3, 3): a row for each factor
longer = [f"query × {c}" for c in factors]
heatmap(sharp_weights, rows=longer, columns=titles, name="weights", spec=".4f")
# --8<-- [end:sharper]

# --8<-- [start:sharper-answers]
sharp_answers = sharp_weights @ card_values
table(sharp_answers, columns=["minutes", "sugar"], index=longer, spec=".2f")
# --8<-- [end:sharper-answers]

# --8<-- [start:tied]
table([softmax(16 * s)], columns=titles, index=["weights"], spec=".4f")
# --8<-- [end:tied]

# --8<-- [start:sentence-outputs]
Q, K, V = embeddings @ W_Q, embeddings @ W_K, embeddings @ W_V
S = Q @ K.T  # (n, n): row i belongs to query i
A = softmax(S)  # (n, n): every row sums to 1
out = A @ V  # (n, n) @ (n, d_v) = (n, d_v)
table(out, columns=["human", "painful"], index=sentence, spec=".4f")
# --8<-- [end:sentence-outputs]

# --8<-- [start:sentence-map]
ribbons(sentence, A, scores=S, first=2)
# --8<-- [end:sentence-map]

# --8<-- [start:numbers]
from attention_docs import eight_steps

x = eight_steps.INPUTS
n = len(x)
W_KEY, W_QUERY, W_VALUE = eight_steps.W_KEY, eight_steps.W_QUERY, eight_steps.W_VALUE
keys, queries, values = x @ W_KEY, x @ W_QUERY, x @ W_VALUE
d_k, d_v = keys.shape[1], values.shape[1]
weights = softmax(queries @ keys.T)
outputs = weights @ values
# --8<-- [end:numbers]

# --8<-- [start:exercise-fourth]
x_4 = np.array([1.0, 0, 0, 1])
k_4, q_4, v_4 = x_4 @ W_KEY, x_4 @ W_QUERY, x_4 @ W_VALUE
columns = ["key 4", "query 4", "value 4", "score of query 1 with key 4"]
table([[k_4, q_4, v_4, queries[0] @ k_4]], columns=columns, spec=".0f")
# --8<-- [end:exercise-fourth]

# --8<-- [start:exercise-zero]
even_weights = softmax(np.zeros(d_k) @ keys.T)
table([[even_weights, even_weights @ values]], columns=["weights", "output"], spec=".4f")
# --8<-- [end:exercise-zero]

# --8<-- [start:exercise-logarithm]
wanted = np.array([1.0, 2, 1]) / 4
chosen = np.log(wanted)
other = np.array([0, log(2), 0])
table(
    [[found, softmax(found)] for found in (chosen, other, other + 5)],
    columns=["scores", "weights"],
    index=["logarithms", "the first is 0", "the first is 5"],
    spec=[".4f", ".2f"],
)
# --8<-- [end:exercise-logarithm]

# --8<-- [start:exercise-own]
own_scores = x @ x.T  # (n, n)
every = numbered("input", n)
table(own_scores, columns=every, index=every, spec=".0f")
# --8<-- [end:exercise-own]

# --8<-- [start:exercise-bug]
swapped = values @ weights
check("the shapes agree", swapped.shape == outputs.shape)
low, high = values.min(axis=0), values.max(axis=0)  # (d_v,)
table(
    [[row, bool(((low <= row) & (row <= high)).all())] for row in swapped],
    columns=["wrong output", "among the values?"],
    index=numbered("output", n),
    spec=".4f",
)
# --8<-- [end:exercise-bug]

# --8<-- [start:exercise-order]
order = [0, 2, 1]  # inputs 1, 3, 2
moved_weights = softmax(queries[order] @ keys[order].T)
columns, names = numbered("component", d_v), [f"input {i + 1}" for i in order]
table(moved_weights @ values[order], columns=columns, index=names, spec=".4f")
# --8<-- [end:exercise-order]


# --8<-- [start:exercise-pencil]
Q_small = np.array([[1.0, 2], [0, 1]])
K_small = np.array([[1.0, 0], [2, 1], [0, 1]])
small_scores = Q_small @ K_small.T
table(small_scores, columns=numbered("key", 3), index=numbered("query", 2), spec=".0f")
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-brackets]
long, wide = 1000, 64  # n, and d_k = d_v
left_first, right_first = long * long * 2 * wide, long * wide * 2 * wide
left, right = (queries @ keys.T) @ values, queries @ (keys.T @ values)
check("without softmax both are equal", np.allclose(left, right))
outside = softmax(queries @ keys.T) @ values
inside = queries @ softmax(keys.T @ values)
check("with softmax they differ", not np.allclose(outside, inside))
table(
    [[left_first], [right_first]],
    columns=["multiplications"],
    index=["(QKᵀ)V", "Q(KᵀV)"],
    spec=",d",
)
# --8<-- [end:exercise-brackets]


# --8<-- [start:writing]
def your_attention(Q, K, V):
    """The outputs (n, d_v) for Q and K (n, d_k) and V (n, d_v)."""
    return V  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_attention(Q, K, V):
    return softmax(Q @ K.T) @ V


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

two_keys, three_keys = np.log([[1.0], [3.0]]), np.log([[1.0, 2], [3, 1], [4, 2]])


def draw_case(rng):
    many, d_k, d_v = rng.permutation([4, 5, 6, 7, 8])[:3]
    return halves(rng, many, d_k), halves(rng, many, d_k), halves(rng, many, d_v)


writing = Task(
    model_attention,
    inputs=[
        (np.ones((1, 4)), np.ones((1, 4)), np.array([[3.0]])),
        (np.array([[1.0], [0]]), two_keys, np.array([[4.0], [8]])),
        (np.eye(3, 2) * [1, -1], three_keys, np.array([[6.0, 0, 1], [0, 6, 1], [12, 6, 1]])),
        (np.eye(5, 3) - 1, np.arange(15.0).reshape(5, 3) / 8, np.arange(10.0).reshape(5, 2)),
    ],
    mistakes={
        "The scores are not weights yet: softmax is missing.": lambda Q, K, V: Q @ K.T @ V,
        "The weights do not sum to 1: divide the exponentials by their sum.": (
            lambda Q, K, V: np.exp(Q @ K.T) @ V
        ),
        "This is the plain average of the values: the query plays no part.": (
            lambda Q, K, V: V.mean(axis=0) + 0 * Q[:, :1]
        ),
        "The weights average the keys, but they must average the values.": (
            lambda Q, K, V: softmax(Q @ K.T) @ K
        ),
        "The scores are transposed: rows must belong to queries, so write Q @ K.T.": (
            lambda Q, K, V: model_attention(K, Q, V)
        ),
        "Softmax over the queries: each query needs weights that sum to 1.": (
            lambda Q, K, V: softmax(K @ Q.T).T @ V
        ),
        "The scores were divided by √d_k: do not scale yet.": (
            lambda Q, K, V: softmax(Q @ K.T / np.sqrt(K.shape[-1])) @ V
        ),
    },
    draw=draw_case,
)
judge(your_attention, writing)
# --8<-- [end:writing-checks]

# --8<-- [start:inputs]
x = np.array([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]], float)  # knob
n, d_model = x.shape


def named(vector):
    """The names of three vectors, each with the word that it belongs to."""
    return [f"{vector} {i} ({word})" for i, word in enumerate(sentence, start=1)]


heatmap(x, rows=named("input"), role="input", name="X", spec=".0f")
# --8<-- [end:inputs]

# --8<-- [start:parameters]
W_KEY = np.array([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]], float)  # knob
W_QUERY = np.array([[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]], float)  # knob
W_VALUE = np.array([[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]], float)  # knob
d_k, d_v = W_KEY.shape[1], W_VALUE.shape[1]
beside(
    heatmap(W_KEY, name="W_K", role="neutral", spec=".0f"),  # (d_model, d_k)
    heatmap(W_QUERY, name="W_Q", role="neutral", spec=".0f"),  # (d_model, d_k)
    heatmap(W_VALUE, name="W_V", role="neutral", spec=".0f"),  # (d_model, d_v)
)
# --8<-- [end:parameters]


# --8<-- [start:keys]
def drawn(a, b, c, **labels):
    """A × B = C, with row 1 of A and column 2 of B picked out."""
    return product(a, b, c, row=0, column=1, **labels)


keys = x @ W_KEY  # (n, d_k)
names, roles = ("inputs", "W_K", "keys"), ("input", "neutral", "key")
drawn(x, W_KEY, keys, names=names, roles=roles)
# --8<-- [end:keys]

# --8<-- [start:queries]
queries = x @ W_QUERY  # (n, d_k)
names, roles = ("inputs", "W_Q", "queries"), ("input", "neutral", "query")
drawn(x, W_QUERY, queries, names=names, roles=roles)
# --8<-- [end:queries]

# --8<-- [start:values]
values = x @ W_VALUE  # (n, d_v)
names, roles = ("inputs", "W_V", "values"), ("input", "neutral", "value")
drawn(x, W_VALUE, values, names=names, roles=roles)
# --8<-- [end:values]


# --8<-- [start:by-hand]
def by_hand(a, b, spec=".0f", result=".0f"):
    """A dot product as a pencil does it: multiply pair by pair, then add."""
    pairs = list(zip(a, b, strict=True))
    products = [f"{number(x, spec)}·{number(y, '.0f')}" for x, y in pairs]
    return f"{' + '.join(products)} = {number(sum(x * y for x, y in pairs), result)}"


for name, W in (("k", W_KEY), ("q", W_QUERY), ("v", W_VALUE)):
    for c in range(W.shape[1]):  # column c of W gives component c
        print(f"{name}1[{c + 1}] = {by_hand(x[0], W[:, c])}")
# --8<-- [end:by-hand]

# --8<-- [start:key-by-key]
k_1 = x[0] @ W_KEY
k_2 = x[1] @ W_KEY
k_3 = x[2] @ W_KEY
names = numbered("component", d_k)
table([k_1, k_2, k_3], columns=names, index=numbered("key", 3), spec=".0f")
# --8<-- [end:key-by-key]

# --8<-- [start:scores-by-hand]
rows = [[by_hand(queries[0], keys[j])] for j in range(n)]
table(rows, columns=["score of query 1 (dog) with the key"], index=named("key"))
# --8<-- [end:scores-by-hand]

# --8<-- [start:scores-1]
scores_1 = queries[0] @ keys.T  # (d_k,) @ (d_k, n) = (n,)
names, roles = ("query 1", "Kᵀ", "scores"), ("query", "key", "score")
keyed = numbered("key", n)
drawn(queries[:1], keys.T, scores_1, names=names, roles=roles, columns=keyed)
# --8<-- [end:scores-1]

# --8<-- [start:weights-1]
powers = np.exp(scores_1)  # e², e⁴, e⁴
weights_1 = powers / powers.sum()  # (n,)
sums = [None, powers.sum(), weights_1.sum()]
table(
    [*zip(scores_1, powers, weights_1, strict=True), sums],
    columns=["score", "exponential", "weight"],
    index=[*named("key"), "sum"],
    spec=[".0f", ".4f", ".4f"],
)
# --8<-- [end:weights-1]

# --8<-- [start:output-1]
weighted_1 = weights_1[:, None] * values  # (n, 1) * (n, d_v) = (n, d_v)
output_1 = weighted_1.sum(axis=0)  # (d_v,)
table(
    [*weighted_1, output_1],
    columns=numbered("component", d_v),
    index=[*named("weighted value"), "sum: output 1 (dog)"],
    spec=".4f",
)
# --8<-- [end:output-1]

# --8<-- [start:weighted-1]
for j in range(n):
    factors_1 = f"{number(weights_1[j], '.4f')} · {text(values[j], '.0f')}"
    print(f"{factors_1} = {text(weights_1[j] * values[j], '.4f')}")
for c in range(d_v):
    print(f"o1[{c + 1}] = {by_hand(weights_1, values[:, c], '.4f', '.4f')}")
# --8<-- [end:weighted-1]

# --8<-- [start:output-product]
names, roles = ("weights", "values", "output 1"), ("weight", "value", "output")
specs = (".4f", ".0f", ".4f")
drawn(weights_1, values, output_1, names=names, roles=roles, spec=specs)
# --8<-- [end:output-product]

# --8<-- [start:outputs]
queries, keys, values = x @ W_QUERY, x @ W_KEY, x @ W_VALUE
scores = queries @ keys.T  # (n, n): row i belongs to query i
weights = softmax(scores)  # (n, n): every row sums to 1
outputs = weights @ values  # (n, n) @ (n, d_v) = (n, d_v)
columns = numbered("component", d_v)
table(outputs, columns=columns, index=named("output"), spec=".4f")
# --8<-- [end:outputs]

# --8<-- [start:whole]
flow(
    [
        ("inputs", "input", x, ".0f"),
        [
            ("queries", "query", queries, ".0f"),
            ("keys", "key", keys, ".0f"),
            ("values", "value", values, ".0f"),
        ],
        ("scores", "score", scores, ".0f"),
        ("weights", "weight", weights, ".4f"),
        ("outputs", "output", outputs, ".4f"),
    ],
    arrows=[(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (4, 5), (5, 6), (3, 6)],
)
# --8<-- [end:whole]

# --8<-- [start:repeat]
rows, lines, names = [output_1], [], []
for i in (1, 2):
    weights_i = softmax(queries[i] @ keys.T)
    weighted_i = weights_i[:, None] * values
    for j in range(n):
        names.append(f"query {i + 1}, key {j + 1}")
        lines.append([by_hand(queries[i], keys[j]), weights_i[j], weighted_i[j]])
    rows.append(weighted_i.sum(axis=0))
    names.append(f"output {i + 1}")
    lines.append([None, None, rows[i]])
check("the products above give these outputs", np.abs(outputs - np.array(rows)).max() < 1e-12)
columns = ["step 4: score", "step 5: weight", "steps 6 and 7: weighted value, sum"]
table(lines, columns=columns, index=names, spec=["", ".5g", ".4f"])
# --8<-- [end:repeat]

# --8<-- [start:tensors]
table(
    list(zip(keys, queries, values, scores, weights, strict=True)),
    columns=["key", "query", "value", "scores", "weights"],
    index=numbered("input", n),
    spec=[".0f", ".0f", ".0f", ".0f", ".5g"],
)
# --8<-- [end:tensors]

# --8<-- [start:weighted]
weighted = weighted_values(weights, values)  # (n, n, d_v)
every = range(1, n + 1)
table(
    [*weighted.reshape(n * n, d_v), *weighted.sum(axis=1)],
    columns=numbered("component", d_v),
    index=[f"value {j} for output {i}" for i in every for j in every] + numbered("output", n),
    spec=".4f",
)
# --8<-- [end:weighted]

# --8<-- [start:any-length]
parameters = W_QUERY.size + W_KEY.size + W_VALUE.size
lines = []
for many in (1, 2, 4, 9):
    longer = np.resize(x, (many, d_model))  # the inputs, cut or repeated
    q, k, v = longer @ W_QUERY, longer @ W_KEY, longer @ W_VALUE
    shapes = [longer.shape, (q @ k.T).shape, (softmax(q @ k.T) @ v).shape]
    lines.append([*map(str, shapes), parameters])
table(lines, columns=["inputs", "scores", "outputs", "parameters"])
# --8<-- [end:any-length]

# --8<-- [start:cost]
many, size = 100, 64  # n, d
attention_numbers = attention_parameters(size)
window_numbers = window_parameters(2 * many - 1, size)
attention_products = many * attention_numbers + 2 * many**2 * size
window_products = many * window_numbers
table(
    [[attention_numbers, attention_products], [window_numbers, window_products]],
    columns=["parameters", "multiplications"],
    index=["attention", "window"],
    spec=",",
)
# --8<-- [end:cost]

# --8<-- [start:scaled]
scaled_outputs, scaled_weights = attention(queries, keys, values)
table(
    list(zip(scores / sqrt(d_k), scaled_weights, scaled_outputs, strict=True)),
    columns=["scaled scores", "weights", "output"],
    index=numbered("query", n),
    spec=".4f",
)
# --8<-- [end:scaled]

# --8<-- [start:rounded]
rounded = round_weights(weights, digits=1)
rounded_outputs = rounded @ values
table(
    list(zip(rounded, rounded_outputs, strict=True)),
    columns=["rounded weights", "output"],
    index=numbered("query", n),
    spec=".1f",
)
# --8<-- [end:rounded]

# --8<-- [start:rounded-weighted]
rounded_weighted = weighted_values(rounded, values)  # output, key, component
by_key = np.swapaxes(rounded_weighted, 0, 1)  # key, output, component
table(
    by_key.reshape(n * n, d_v),
    columns=numbered("component", d_v),
    index=[f"value {j} for output {i}" for j in every for i in every],
    spec=".1f",
)
# --8<-- [end:rounded-weighted]

# --8<-- [start:rounding-error]
moved = np.abs(rounded_outputs - outputs)  # (n, d_v)
lost = np.abs(rounded - weights).sum(axis=1, keepdims=True)  # (n, 1)
bound = lost / 2 * (values.max(axis=0) - values.min(axis=0))
table(
    list(zip(moved, bound, strict=True)),
    columns=["change of each component", "bound"],
    index=numbered("output", n),
    spec=".4f",
)
# --8<-- [end:rounding-error]

# --8<-- [start:rounded-alone]
alone = np.round(weights[0], 1)
alone_output = alone @ values
table(
    [[alone, alone.sum(), alone_output, bool((alone_output <= values.max(axis=0)).all())]],
    columns=["rounded weights", "sum", "output", "among the values?"],
    spec=".1f",
)
# --8<-- [end:rounded-alone]

# --8<-- [start:itself]
most = weights.argmax(axis=1)
table(
    [[weights[i], weights[i, i], bool(most[i] == i)] for i in range(n)],
    columns=["weights", "weight of itself", "the largest?"],
    index=named("input"),
    spec=".4f",
)
# --8<-- [end:itself]

# --8<-- [start:unscaled]
plain_largest = weights.max(axis=1)
scaled_largest = scaled_weights.max(axis=1)
scale_error = np.abs(outputs - scaled_outputs).max(axis=1)
check("the shapes agree", outputs.shape == scaled_outputs.shape)
table(
    [plain_largest, scaled_largest, scale_error],
    columns=numbered("query", n),
    index=["largest weight without √d_k", "largest weight with √d_k", "change of the output"],
    spec=".4f",
)
# --8<-- [end:unscaled]

# --8<-- [start:four]
candidates = []
for compared in (queries @ keys.T, queries.T @ keys):
    for axis in (1, 0):
        candidates.append(softmax(compared, axis=axis) @ values)
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


# --8<-- [start:wrong-width]
import torch

try:
    torch.ones(3, 4) @ torch.ones(3, 3)
except RuntimeError as error:
    print(error)
# --8<-- [end:wrong-width]


# --8<-- [start:loop]
def agree(a, b):
    """Whether two arrays differ nowhere by more than 1e-12."""
    return a.shape == b.shape and bool(np.abs(a - b).max() < 1e-12)


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
check("the loop gives the outputs scaled by √d_k", agree(loop_outputs, scaled_outputs))
table(
    loop_outputs,
    columns=numbered("component", d_v),
    index=numbered("output", n),
    spec=".4f",
)
# --8<-- [end:loop]

# --8<-- [start:product]
product(
    queries,
    keys.T,
    scores,
    names=("queries", "keys", "scores"),
    roles=("query", "key", "score"),
    rows=numbered("query", 3),
    columns=numbered("key", 3),
    row=1,
    column=2,
)
# --8<-- [end:product]

# --8<-- [start:sizes]
rng = np.random.default_rng(0)
several = [rng.normal(size=size) for size in ((2, 3), (5, 3), (5, 7))]  # Q, K, V
by_loop, loop_map = attention_loop(*several)
by_matrix, matrix_map = attention(*several)
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


check("PyTorch agrees where all sizes differ", agree(by_matrix, torch_attention(*several)))
of_torch = torch_attention(queries, keys, values)
table(
    of_torch,
    columns=numbered("component", d_v),
    index=numbered("output", n),
    spec=".4f",
)
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

# --8<-- [start:columns]
inputs_col = x.T  # (d_model, n): one input a column
queries_col = W_QUERY.T @ inputs_col[:, :2]  # (d_k, n_q): queries 1 and 2
keys_col = W_KEY.T @ inputs_col  # (d_k, n_k)
values_col = W_VALUE.T @ inputs_col  # (d_v, n_k)
products_col = keys_col.T @ queries_col  # (n_k, n_q)
check("these are the transposed dot products of the rows", agree(products_col, scores[:2].T))
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
check("these are the transposed weights of the loop", agree(weights_col, scaled_weights[:2].T))
check("these are the transposed outputs of the loop", agree(outputs_col, scaled_outputs[:2].T))
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
