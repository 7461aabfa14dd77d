"""A sentence with two saws: a query is a hand of a dial, and looks for the word before it."""

# --8<-- [start:setup]
import numpy as np

from attention_docs.data import load_beginnings
from attention_docs.figures import machine, sentence_dial
from attention_docs.score_functions import dot
from attention_docs.smollm2 import HEADS, KEY_HEADS, LAYERS
from attention_docs.softmax import softmax
from attention_docs.text import text

# --8<-- [end:setup]

# --8<-- [start:map]
WORDS = ["I", "saw", "a", "saw"]
# I speaks for a verb, a for a noun
values = np.array([[1.0, 0], [0, 0], [0, 1], [0, 0]])
# each word is a hand of a dial, 60° after the one before it
STEP = np.pi / 3
turns = np.pi - STEP * np.arange(4)
keys = np.stack([np.cos(turns), np.sin(turns)], axis=1)
# one step back: the word before
back = np.array([[np.cos(STEP), np.sin(STEP)], [-np.sin(STEP), np.cos(STEP)]])
strength = 6.0
queries = strength * keys @ back

scores = dot(queries, keys)
weights = softmax(scores)
outputs = weights @ values
print("Scores, a row for each query and a column for each key:")
print(text(scores, ".1f"))
print("Weights, a row for each query and a column for each key:")
print(text(weights, ".4f"))
print("Outputs (verb, noun), a row for each query:")
print(text(outputs, ".4f"))
# --8<-- [end:map]

# --8<-- [start:dial]
sentence_dial(
    WORDS,
    keys,
    queries,
    values,
    weights,
    outputs,
    names=["verb", "noun"],
    kinds=["a verb, it sees", "a noun, it cuts"],
    pictures=["eye", "handsaw"],
    unsure="it cannot tell",
    askers=[1, 3],
    first=3,
)
# --8<-- [end:dial]

# --8<-- [start:machine]
machine(
    load_beginnings(),
    layers=LAYERS,
    heads=HEADS,
    kv_heads=KEY_HEADS,
    title="SmolLM2-135M-Instruct",
)
# --8<-- [end:machine]
