"""The eight steps of self-attention for three inputs, with every tensor."""

# --8<-- [start:setup]
from math import e, sqrt

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.eight_steps import (
    INPUTS,
    W_KEY,
    W_QUERY,
    W_VALUE,
    round_weights,
    weighted_values,
)
from attention_docs.figures import eight_steps, flow, heatmap, numbered, product
from attention_docs.score_functions import dot
from attention_docs.softmax import softmax
from attention_docs.text import number, text


def by_hand(a, b, spec=".0f", result=".0f"):
    """A dot product as a pencil does it: multiply pair by pair, then add."""
    pairs = list(zip(a, b, strict=True))
    products = [f"{number(x, spec)}·{number(y, '.0f')}" for x, y in pairs]
    return f"{' + '.join(products)} = {number(sum(x * y for x, y in pairs), result)}"


def drawn(a, b, c, names, roles, **labels):
    """A × B = C as a figure, with row 1 of A and column 2 of B picked out."""
    return product(a, b, c, names=names, roles=roles, row=0, column=1, **labels)


# --8<-- [end:setup]

# --8<-- [start:inputs]
x = INPUTS
n, d_model = x.shape
print(text(x, ".0f"))  # (n, d_model)
heatmap(x, rows=numbered("input", n), role="input", spec=".0f")
# --8<-- [end:inputs]

# --8<-- [start:parameters]
d_k, d_v = W_KEY.shape[1], W_VALUE.shape[1]
print(text(W_KEY, ".0f"))  # (d_model, d_k)
print(text(W_QUERY, ".0f"))  # (d_model, d_k)
print(text(W_VALUE, ".0f"))  # (d_model, d_v)
# --8<-- [end:parameters]

# --8<-- [start:by-hand]
for name, W in (("k", W_KEY), ("q", W_QUERY), ("v", W_VALUE)):
    for c in range(W.shape[1]):  # column c of W gives component c
        print(f"{name}1[{c + 1}] = {by_hand(x[0], W[:, c])}")
# --8<-- [end:by-hand]

# --8<-- [start:key-by-key]
k_1 = x[0] @ W_KEY
k_2 = x[1] @ W_KEY
k_3 = x[2] @ W_KEY
print(text(k_1, ".0f"), text(k_2, ".0f"), text(k_3, ".0f"))
# --8<-- [end:key-by-key]

# --8<-- [start:keys]
keys = x @ W_KEY  # (n, d_k)
print(text(keys, ".0f"))
drawn(x, W_KEY, keys, ("inputs", "W_K", "keys"), ("input", "neutral", "key"))
# --8<-- [end:keys]

# --8<-- [start:queries]
queries = x @ W_QUERY  # (n, d_k)
print(text(queries, ".0f"))
drawn(x, W_QUERY, queries, ("inputs", "W_Q", "queries"), ("input", "neutral", "query"))
# --8<-- [end:queries]

# --8<-- [start:values]
values = x @ W_VALUE  # (n, d_v)
print(text(values, ".0f"))
drawn(x, W_VALUE, values, ("inputs", "W_V", "values"), ("input", "neutral", "value"))
# --8<-- [end:values]

# --8<-- [start:scores-by-hand]
for j in range(n):
    print(f"q1·k{j + 1} = {by_hand(queries[0], keys[j])}")
# --8<-- [end:scores-by-hand]

# --8<-- [start:scores-1]
scores_1 = queries[0] @ keys.T  # (n,)
print(text(scores_1, ".0f"))
names, roles = ("query 1", "Kᵀ", "scores"), ("query", "key", "score")
drawn(queries[:1], keys.T, scores_1, names, roles, columns=numbered("key", n))
# --8<-- [end:scores-1]

# --8<-- [start:softmax-by-hand]
exponentials = np.exp(scores_1)  # e², e⁴, e⁴
total = exponentials.sum()
print(text(exponentials, ".4f"))
print(number(total, ".4f"))
print(text(exponentials / total, ".4f"))
# --8<-- [end:softmax-by-hand]

# --8<-- [start:weights-1]
weights_1 = softmax(scores_1)  # (n,)
print(text(weights_1, ".4e"))
print(np.abs(weights_1 - exponentials / total).max() < 1e-12)
print(abs(weights_1[0] - 1 / (1 + 2 * e**2)) < 1e-12)
heatmap(weights_1, columns=numbered("key", n), name="weights", spec=".4f")
# --8<-- [end:weights-1]

# --8<-- [start:weighted-1]
for j in range(n):
    factors = f"{number(weights_1[j], '.4f')} · {text(values[j], '.0f')}"
    print(f"{factors} = {text(weights_1[j] * values[j], '.4f')}")
# --8<-- [end:weighted-1]

# --8<-- [start:weighted-1-matrix]
weighted_1 = weights_1[:, None] * values  # (n, 1) * (n, d_v) = (n, d_v)
print(text(weighted_1, ".4f"))
heatmap(
    weighted_1,
    rows=numbered("value", n),
    role="weighted-value",
    spec=".4f",
    name="weighted values",
)
# --8<-- [end:weighted-1-matrix]

# --8<-- [start:output-by-hand]
for c in range(d_v):
    print(f"o1[{c + 1}] = {by_hand(weights_1, values[:, c], '.4f', '.4f')}")
# --8<-- [end:output-by-hand]

# --8<-- [start:output-1]
output_1 = weighted_1.sum(axis=0)  # (d_v,)
print(text(output_1, ".4f"))
lowest, highest = values.min(axis=0), values.max(axis=0)
print(all((lowest <= output_1) & (output_1 <= highest)))
names, roles = ("weights", "values", "output 1"), ("weight", "value", "output")
drawn(weights_1, values, output_1, names, roles, spec=(".4f", ".0f", ".4f"))
# --8<-- [end:output-1]

# --8<-- [start:repeat]
rows = [output_1]
for i in (1, 2):
    print(f"input {i + 1}")
    for j in range(n):
        print(f"  4  q{i + 1}·k{j + 1} = {by_hand(queries[i], keys[j])}")
    weights_i = softmax(queries[i] @ keys.T)
    print(f"  5  {text(weights_i, '.4e')}")
    weighted_i = weights_i[:, None] * values
    for j in range(n):
        print(f"  6  {text(weighted_i[j], '.4f')}")
    rows.append(weighted_i.sum(axis=0))
    print(f"  7  {text(rows[i], '.4f')}")
# --8<-- [end:repeat]

# --8<-- [start:scores]
scores = dot(queries, keys)  # (n, n): row i belongs to query i
print(text(scores, ".0f"))
# --8<-- [end:scores]

# --8<-- [start:weights]
weights = softmax(scores)  # (n, n): every row sums to 1
print(text(weights, ".4e"))
heatmap(
    weights,
    rows=numbered("query", n),
    columns=numbered("key", n),
    spec=".4f",
    name="attention weights",
)
# --8<-- [end:weights]

# --8<-- [start:weighted]
weighted = weighted_values(weights, values)  # (n, n, d_v): output, key, component
print(text(weighted, ".4f"))
# --8<-- [end:weighted]

# --8<-- [start:outputs]
outputs = weighted.sum(axis=1)  # over the keys: (n, d_v)
print(text(outputs, ".4f"))
print(np.abs(outputs - np.array(rows)).max() < 1e-12)  # the loop gave the same
print(np.abs(outputs - weights @ values).max() < 1e-12)  # steps 6 and 7 are one product
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

# --8<-- [start:stepper]
eight_steps(
    inputs=x,
    parameters=(W_KEY, W_QUERY, W_VALUE),
    keys=keys,
    queries=queries,
    values=values,
    scores=scores,
    weights=weights,
    weighted=weighted,
    outputs=outputs,
)
# --8<-- [end:stepper]

# --8<-- [start:scaled]
scaled_outputs, scaled_weights = attention(queries, keys, values)
print(text(scores / sqrt(d_k), ".4f"))
print(text(scaled_weights, ".4f"))
print(text(scaled_outputs, ".4f"))
# --8<-- [end:scaled]

# --8<-- [start:rounded]
rounded = round_weights(weights, digits=1)
rounded_outputs = rounded @ values
print(text(rounded, ".1f"))
print(text(rounded_outputs, ".1f"))
# --8<-- [end:rounded]

# --8<-- [start:rounding-error]
rounding_error = np.abs(rounded_outputs - outputs).max(axis=1)
print(text(rounding_error, ".4f"))  # one number an output
# --8<-- [end:rounding-error]

# --8<-- [start:rounded-weighted]
rounded_weighted = weighted_values(rounded, values)  # output, key, component
print(text(np.swapaxes(rounded_weighted, 0, 1), ".1f"))  # key, output, component
# --8<-- [end:rounded-weighted]

# --8<-- [start:wrong-softmax]
claim = np.array([0.0, 0.5, 0.5])
claim_error = np.abs(claim - softmax(np.array([2.0, 4.0, 4.0]))).max()
print(number(claim_error, ".4f"))
# --8<-- [end:wrong-softmax]

# --8<-- [start:rounded-alone]
alone = np.round(weights[0], 1)
alone_output = alone @ values
print(text(alone, ".1f"), number(alone.sum(), ".1f"))
print(text(alone_output, ".1f"))
print(all(alone_output <= highest))  # no longer between the values
# --8<-- [end:rounded-alone]

# --8<-- [start:unscaled]
scale_error = np.abs(outputs - scaled_outputs).max(axis=1)
print(outputs.shape == scaled_outputs.shape)
print(text(weights.max(axis=1), ".4f"))
print(text(scaled_weights.max(axis=1), ".4f"))
print(text(scale_error, ".4f"))
# --8<-- [end:unscaled]

# --8<-- [start:itself]
most = weights.argmax(axis=1)
for i in range(n):
    print(f"{i + 1}: itself {number(weights[i, i], '.4f')},", text(weights[i], ".4f"))
itself_most = int((most == np.arange(n)).sum())
print(itself_most, "of", n)
# --8<-- [end:itself]

# --8<-- [start:exercise-1]
zero_query = np.zeros((1, d_k))
mean_output, even_weights = attention(zero_query, keys, values)
print(text(even_weights, ".4f"))
print(text(mean_output, ".4f"))
print(np.abs(mean_output[0] - values.mean(axis=0)).max() < 1e-12)
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-2]
two_columns = x @ W_VALUE[:, :2]  # (n, 2)
narrow = softmax(scores) @ two_columns
print(narrow.shape)
print(text(narrow, ".4f"))
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
own_scores = x @ x.T  # no parameters: every input is its own query and key
print(text(own_scores, ".0f"))
# --8<-- [end:exercise-3]
