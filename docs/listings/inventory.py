"""What twelve questions about attention ask for: right answers, and what a mistake would give."""

# --8<-- [start:numbers]
import numpy as np

from attention_docs.attention_function import attention
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY
from attention_docs.masking import causal_mask
from attention_docs.multi_head import parameter_count
from attention_docs.score_functions import dot
from attention_docs.softmax import softmax
from attention_docs.text import check
from attention_docs.transformer_block import layer_norm, relu

even_a, even_b = 100 / 1501, 100 / 181
ahead_a, ahead_b = np.exp(5), np.exp(3)


def leader(gap, others):
    """The weight of a key that leads each of the others by gap."""
    return softmax(np.append(np.zeros(others), gap))[-1]


nothing, third = 0.0, 1 / 3
hidden_a = softmax(np.array([2.0, 1, 0]))
hidden_b = softmax(np.array([1.0, 1, 0]))
weights_a, values_a = np.array([0.90, 0.06, 0.04]), np.array([0.1, 10, 5])
weights_b, values_b = np.array([0.88, 0.07, 0.05]), np.array([0.1, 8, 4])
# --8<-- [end:numbers]

# --8<-- [start:checks]
rng = np.random.default_rng(2017)
four = np.vstack([INPUTS, [0, 0, 1, 0]])
scores = dot(four @ W_QUERY, four @ W_KEY)
check("1: the score from 1 to 4 is not that from 4 to 1", scores[0, 3] != scores[3, 0])

shares = softmax(20 * rng.standard_normal((10_000, 3)))
gap = np.abs(shares.sum(axis=1) - 1).max()
check("2: however large the scores, the weights sum to 1", gap < 1e-12)


def mix(low, middle, high, output):
    """The output of three keys with these values, whose scores are chosen for this one."""
    first = (0.02 * middle + 0.98 * high - output) / (high - low)
    return softmax(np.log([first, 0.02, 0.98 - first])) @ [low, middle, high]


claimed = [(4, 7, 9, x) for x in (5, 6, 8)] + [(10, 30, 40, x) for x in (12, 25, 39)]
made = np.array([mix(*one) for one in claimed])
gap = np.abs(made - [output for *_, output in claimed]).max()
check("2: an output between the values can occur", gap < 1e-12)

before = softmax(np.array([[1.0, 3.0], [2.0, 5.0]]))
after = softmax(np.array([[61.0, 63.0], [72.0, 75.0]]))
check("3: the weights stay as they are", np.abs(after - before).max() < 1e-12)


def often_above_half(width, keys, rows=2_000):
    """How often a random query gives one of its random keys more than half."""
    query = rng.standard_normal((rows, 1, width))
    key = rng.standard_normal((rows, keys, width))
    weights = softmax(dot(query, key)[:, 0])
    return (weights.max(axis=1) > 0.5).mean()


check("5: undivided, one key of 16 gets most at width 64", often_above_half(64, 16) > 0.9)
check("5: and one of 32 at width 256", often_above_half(256, 32, 500) > 0.9)

one, eight = parameter_count(512, 1), parameter_count(512, 8)
check("7: eight heads have as many parameters as one", one == eight)

words, order = rng.standard_normal((3, 4)), [2, 1, 0]
there, back = (attention(x, x, x)[0] for x in (words, words[order]))
gap = np.abs(there[order] - back).max()
check("8: in another order, a word's output is the same", gap < 1e-12)

stream, moved = rng.standard_normal((2, 6, 8))
moved = np.where(np.arange(6)[:, None] == 1, moved, stream)  # token 2 is changed
w = rng.standard_normal((8, 8))
other = np.delete(np.arange(6), 1)
parts = [lambda x: relu(x @ w), layer_norm, lambda x: x + relu(x @ w)]
reach = max(np.abs(part(stream) - part(moved))[other].max() for part in parts)
check("9: outside attention a change reaches no other token", reach == 0)

text = rng.standard_normal((10, 8))
longer = np.vstack([text, rng.standard_normal(8)])
masks = [causal_mask(len(x)) for x in (text, longer)]
first, later = (attention(x, x, x, m)[0] for x, m in zip((text, longer), masks, strict=True))
change = np.abs(first - later[:10]).max()
check("11: one token more changes no earlier output", change < 1e-12)

most = [(weights_a * values_a).argmax(), (weights_b * values_b).argmax()]
check("12: in both sentences the second token adds most", most == [1, 1])
# --8<-- [end:checks]
