"""A sentence with two saws: each looks for the word before it, from its query to its output."""

# --8<-- [start:setup]
import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import Frame, beside, heatmap, stepper, table
from attention_docs.minilm import load_pronoun
from attention_docs.score_functions import scaled_dot
from attention_docs.text import number, text

# --8<-- [end:setup]

# --8<-- [start:map]
strength = 3.0  # knob: 0 … 6
WORDS = ["I", "saw", "a", "saw"]
# I speaks for a verb, a for a noun
values = np.array([[1.0, 0], [0, 0], [0, 1], [0, 0]])
# the place: a quarter turn for each word
keys = np.array([[0.0, 1], [-1, 0], [0, -1], [1, 0]])
# a quarter turn back: the word before
W_query = strength * np.array([[0.0, -1], [1, 0]])

queries = keys @ W_query
scores = scaled_dot(queries, keys)
outputs, weights = attention(queries, keys, values)
print("Weights, a row for each query and a column for each key:")
print(text(weights, ".4f"))
print("Outputs (verb, noun), a row for each query:")
print(text(outputs, ".4f"))


def draw(i, stage):
    """The numbers of word i, with those outlined that a stage makes."""

    def part(matrix, at, **options):
        return heatmap(matrix, highlight=[(None, None)] if stage in at else [], **options)

    place, kinds = ["→", "↑"], ["verb", "noun"]
    return (
        part(queries[i], {1}, columns=place, role="query", spec=".3g", name="query"),
        beside(
            part(keys, {2}, rows=WORDS, columns=place, role="key", spec=".0f", name="keys"),
            part(scores[i][:, None], {2}, columns=[""], role="score", name="scores"),
            part(weights[i][:, None], {3}, columns=[""], name="weights", scale=(0, 1)),
            part(values, {4}, columns=kinds, role="value", spec=".0f", name="values"),
        ),
        part(outputs[i], {4}, columns=kinds, role="output", name="output", scale=(0, 1)),
    )


def tell(i):
    """What happens to word i at each stage."""
    best = int(weights[i].argmax())
    score, weight = number(scores[i, best], ".2f"), number(weights[i, best], ".2f")
    verb, noun = (number(one, ".2f") for one in outputs[i])
    return [
        "The query says what this word looks for: the place before its own.",
        f"The query times each key, divided by √2, gives the scores. {WORDS[best]} has {score}.",
        f"Softmax makes weights of the scores: {WORDS[best]} gets {weight} of all attention.",
        f"The values, averaged with these weights, give {verb} for verb and {noun} for noun.",
    ]


stages = ["query", "scores", "weights", "output"]
saws = {"the first saw": 1, "the second saw": 3}
frames = [
    Frame((str(n), str(at)), f"{which}: {stages[at - 1]}", draw(i, at), tell(i)[at - 1])
    for n, (which, i) in enumerate(saws.items(), start=1)
    for at in (1, 2, 3, 4)
]
stepper(
    "map",
    [("Word", list(saws)), ("From query to output", stages)],
    frames,
    roles=[["query"], ["key", "score"], ["weight"], ["value", "output"]],
)
# --8<-- [end:map]

# --8<-- [start:own]
own = load_pronoun()
to_nouns, without = own["looks"], own["cut"]  # of all heads
both = to_nouns[0].sum(axis=-1)
famous = tuple(map(int, np.unravel_index(both.argmax(), both.shape)))  # layer and head
prefers = to_nouns[..., 0] > to_nouns[..., 1]
switched = int(np.sum(prefers[0] != prefers[1]))
missed_more = int(np.sum(without < without[famous]))
table(
    to_nouns[:, famous[0], famous[1]].tolist(),
    columns=["trophy", "suitcase"],
    index=["it is too big", "it is too small"],
    spec=".2f",
)
# --8<-- [end:own]
