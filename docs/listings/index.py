"""Three tokens attend to each other: the smallest attention map with its numbers."""

# --8<-- [start:setup]
from attention_docs.attention_function import attention
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import heatmap, numbered
from attention_docs.text import text

# --8<-- [end:setup]

# --8<-- [start:map]
outputs, weights = attention(INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE)
print(text(weights, ".4f"))  # row: who looks; column: at whom
heatmap(
    weights,
    rows=numbered("query", 3),
    columns=numbered("key", 3),
    spec=".4f",
    name="attention weights",
)
# --8<-- [end:map]

# --8<-- [start:outputs]
print(text(outputs, ".4f"))
# --8<-- [end:outputs]
