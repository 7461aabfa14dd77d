"""A sentence with two saws: each looks for the word before it, from its query to its output."""

# --8<-- [start:setup]
import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import ribbons, table
from attention_docs.minilm import find_pronoun_head, load_pronoun
from attention_docs.score_functions import scaled_dot
from attention_docs.text import text

# --8<-- [end:setup]

# --8<-- [start:map]
strength = 6.0  # knob: 0 … 12
WORDS = ["I", "saw", "a", "saw"]
# I speaks for a verb, a for a noun
values = np.array([[1.0, 0], [0, 0], [0, 1], [0, 0]])
# the place: a 1 where the word stands
keys = np.eye(4)
# one place back: the word before
W_query = strength * np.eye(4, k=-1)

queries = keys @ W_query  # zeros for the first word, which has none before it
scores = scaled_dot(queries, keys)
outputs, weights = attention(queries, keys, values)
print("Weights, a row for each query and a column for each key:")
print(text(weights, ".4f"))
print("Outputs (verb, noun), a row for each query:")
print(text(outputs, ".4f"))
ribbons(
    WORDS,
    weights,
    scores=scores,
    values=values,
    outputs=outputs,
    names=["verb", "noun"],
    asks="Who stands before me?",
    first=3,
)
# --8<-- [end:map]

# --8<-- [start:own]
own = load_pronoun()
to_nouns, without = own["looks"], own["cut"]  # of all heads
famous, switched, missed_more = find_pronoun_head(to_nouns, without)
table(
    to_nouns[:, famous[0], famous[1]].tolist(),
    columns=["trophy", "suitcase"],
    index=["it is too big", "it is too small"],
    spec=".2f",
)
# --8<-- [end:own]
