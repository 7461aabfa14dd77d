"""Three tokens attend to each other: from each query to its output, and the map of all weights."""

# --8<-- [start:setup]
from attention_docs.attention_function import attention
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import glance
from attention_docs.score_functions import scaled_dot
from attention_docs.text import text

# --8<-- [end:setup]

# --8<-- [start:map]
queries, keys, values = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
scores = scaled_dot(queries, keys)
outputs, weights = attention(queries, keys, values)
print("Weights, a row for each query and a column for each key:")
print(text(weights, ".4f"))
print("Outputs, a row for each query:")
print(text(outputs, ".4f"))
glance(
    queries=queries,
    keys=keys,
    scores=scores,
    weights=weights,
    outputs=outputs,
)
# --8<-- [end:map]
