"""What goes into a sequence model, what comes out; why "I saw a saw" needs positions."""

# --8<-- [start:setup]
from math import sqrt

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import flow, heatmap, line_chart
from attention_docs.score_functions import scaled_dot
from attention_docs.sequences import (
    EMBEDDINGS,
    POSITIONS,
    SENTENCE,
    TAGS,
    W_KEY,
    W_QUERY,
    W_TAG,
    W_VALUE,
    attention_parameters,
    weights_of,
    window_layer,
    window_parameters,
    windows,
)
from attention_docs.softmax import softmax
from attention_docs.text import number, text

SEED = 2023


def best(row, names):
    """The name of the largest component, or of all where they tie."""
    largest = [i for i, one in enumerate(row) if row.max() - one < 1e-9]
    return "/".join(names[i] for i in largest)


def gap(rows):
    """The largest absolute difference between rows 2 and 4."""
    return np.abs(rows[..., 1, :] - rows[..., 3, :]).max(axis=-1)


# --8<-- [end:setup]

# --8<-- [start:inputs]
three = np.array([[1.0, 0], [0, 1], [2, 2]])  # This, is, good: (3, 2)
print(text(three, ".0f"))
# --8<-- [end:inputs]

# --8<-- [start:one-label]
W_mood = np.array([[1.0, 1], [0, 1]])  # columns: negative, positive
mood = three.mean(axis=0) @ W_mood  # (2,) @ (2, 2) = (2,)
print(text(mood, ".0f"), best(mood, ("negative", "positive")))
# --8<-- [end:one-label]

# --8<-- [start:n-labels]
W_word = np.array([[2.0, -1, 1], [-1, 2, 1]])  # columns: the three names below
names = ("pronoun", "verb", "adjective")
labels = three @ W_word  # (3, 2) @ (2, 3) = (3, 3): one row a token
for word, row in zip(("This", "is", "good"), labels, strict=True):
    print(f"{word:5}", text(row, "2.0f"), best(row, names))
# --8<-- [end:n-labels]

# --8<-- [start:own-length]
after = {  # stands in for a trained model: what is written after what
    "This is good": {"START": "不", "不": "错", "错": "END"},
    "I saw a saw": {
        **{"START": "我", "我": "看", "看": "见", "见": "一"},
        **{"一": "把", "把": "锯", "锯": "子", "子": "END"},
    },
}
lengths = {}
for sentence, next_token in after.items():
    written, token = [], next_token["START"]
    while token != "END":  # the model decides when
        written.append(token)
        token = next_token[token]
    lengths[sentence] = len(sentence.split()), len(written)
    print(sentence, "->", " ".join(written), lengths[sentence])
# --8<-- [end:own-length]

# --8<-- [start:sentence]
x = EMBEDDINGS
n, d = x.shape
for word, row in zip(SENTENCE, x, strict=True):
    print(f"{word:4}", text(row, ".0f"))
print(f"tokens 2 and 4 differ by {gap(x):.0f}")
# --8<-- [end:sentence]

# --8<-- [start:per-token]
W_own = W_TAG[d : 2 * d]  # (5, 4); columns: pronoun, verb, determiner, noun
print(text(W_own, ".0f"))
own = x @ W_own  # (4, 5) @ (5, 4) = (4, 4): one row a token, one column a tag
for word, row in zip(SENTENCE, own, strict=True):
    print(f"{word:4}", text(row, ".0f"), best(row, TAGS))
# --8<-- [end:per-token]

# --8<-- [start:windows]
around = windows(x, 3)  # (n, 3·d): left, the token itself, right
for word, row in zip(SENTENCE, around, strict=True):
    print(f"{word:4}", *(text(part, ".0f") for part in row.reshape(3, d)))
# --8<-- [end:windows]

# --8<-- [start:window-layer]
W_left, W_right = W_TAG[:d], W_TAG[2 * d :]
print(text(W_left, ".0f"))
print("right neighbour: all zeros,", not W_right.any())
in_window = window_layer(x, W_TAG)  # (n, k·d) @ (k·d, 4)
for word, row in zip(SENTENCE, in_window, strict=True):
    print(f"{word:4}", text(row, ".0f"), best(row, TAGS))
# --8<-- [end:window-layer]

# --8<-- [start:window-parameters]
size = 64
sizes = [1, 3, 5, 7, 9, 11, 13, 15]
counts = [window_parameters(one, size) for one in sizes]
flat = attention_parameters(size)
for one, count in zip(sizes, counts, strict=True):
    print(f"k = {one:2}: {count:5} parameters")
print(f"attention: {flat} parameters")
line_chart(
    sizes,
    [
        ({"en": "window layer", "zh": "窗口层"}, counts),
        ({"en": "self-attention", "zh": "自注意力"}, [flat] * len(sizes)),
    ],
    xlabel={"en": "window size k in tokens", "zh": "窗口大小 k（词元）"},
    ylabel={"en": "parameters, d = 64", "zh": "参数个数（d = 64）"},
    spec=".0f",
)
# --8<-- [end:window-parameters]

# --8<-- [start:whole-sentence]
spanning, full = {}, {}
for many in (4, 10, 100, 1000):  # n
    spanning[many] = window_parameters(2 * many - 1, size)
    full[many] = (many * size) ** 2
    print(f"n = {many}: {spanning[many]} {full[many]} {flat}")
# --8<-- [end:whole-sentence]

# --8<-- [start:products]
many = 100  # n
window_products = many * spanning[many]
attention_products = many * flat + 2 * many**2 * size
print("window:", window_products)
print("attention:", attention_products)
# --8<-- [end:products]


# --8<-- [start:look]
def look(inputs):
    """Self-attention with this chapter's parameters: outputs and weights."""
    return attention(inputs @ W_QUERY, inputs @ W_KEY, inputs @ W_VALUE)


print("parameters:", W_QUERY.size + W_KEY.size + W_VALUE.size)
for many in (1, 2, 4, 9):
    inputs = np.resize(x, (many, d))  # the sentence, cut or repeated
    outputs, weights = look(inputs)
    print(inputs.shape, "->", weights.shape, "->", outputs.shape)
# --8<-- [end:look]

# --8<-- [start:reach]
corners = np.array([[0.0, 0], [4, 0], [0, 4]])  # values: a triangle
wanted = np.array([2.0, 1])
a = weights_of(wanted, corners)
print("weights", text(a, ".2f"), "sum", number(a.sum(), ".0f"))
chosen = np.log(a)  # scores: ln 1/4, ln 1/2, ln 1/4
print("scores", text(chosen, ".4f"))
print("output", text(softmax(chosen) @ corners, ".4f"))
# --8<-- [end:reach]

# --8<-- [start:outside]
beyond = np.array([3.0, 3])
needed = weights_of(beyond, corners)
print("weights", text(needed, ".2f"), "sum", number(needed.sum(), ".0f"))
# --8<-- [end:outside]

# --8<-- [start:corner]
missing = []
for score in (2.0, 4.0, 8.0, 16.0):
    output = softmax(np.array([0.0, score, 0.0])) @ corners
    missing.append(np.sqrt(((output - corners[1]) ** 2).sum()))
    print(f"scores [0, {score:.0f}, 0]: distance {missing[-1]:.2e}")
# --8<-- [end:corner]

# --8<-- [start:path]
times = np.linspace(-4, 4, 17)
scores_on_path = times[:, None] * np.array([0.0, 2.0, 1.0])  # (17, 3)
path = softmax(scores_on_path) @ corners  # (17, 2)
print(text(path[[0, 8, 16]], ".4f"))  # factor -4, 0, 4
print("all below the edge:", bool((path.sum(axis=1) < 4).all()))
line_chart(
    path[:, 0],
    [
        ({"en": "outputs", "zh": "输出"}, path[:, 1]),
        ({"en": "edge of the triangle", "zh": "三角形的边"}, 4 - path[:, 0]),
    ],
    xlabel={"en": "first component", "zh": "第一个分量"},
    ylabel={"en": "second component", "zh": "第二个分量"},
    spec=".2f",
)
# --8<-- [end:path]

# --8<-- [start:parameters]
print(text(W_QUERY, "2.0f"))  # (d, d_k)
print(text(W_KEY, ".0f"))  # (d, d_k)
print(text(W_VALUE, ".0f"))  # (d, d_v)
# --8<-- [end:parameters]

# --8<-- [start:content-queries]
queries, keys, values = x @ W_QUERY, x @ W_KEY, x @ W_VALUE
for word, q, key, v in zip(SENTENCE, queries, keys, values, strict=True):
    print(f"{word:4} q {text(q, '.0f')}  k {text(key, '.0f')}  v {text(v, '.0f')}")
# --8<-- [end:content-queries]

# --8<-- [start:content-scores]
scores = scaled_dot(queries, keys)  # (n, n), divided by √4 = 2
print(text(scores, ".0f"))
# --8<-- [end:content-scores]

# --8<-- [start:content-weights]
places = [f"{word} {i + 1}" for i, word in enumerate(SENTENCE)]
content_outputs, content_weights = look(x)
print(text(content_weights, ".4f"))
heatmap(
    content_weights,
    rows=places,
    columns=places,
    spec=".4f",
    name="attention weights",
    highlight=[(1, None), (3, None)],
)
# --8<-- [end:content-weights]

# --8<-- [start:content-outputs]
print(text(content_outputs, ".4f"))
print("rows 2 and 4 are equal:", bool(gap(content_outputs) < 1e-12))
# --8<-- [end:content-outputs]


# --8<-- [start:content-random]
def layers(inputs, count, seed):
    """Attention and per-token layers in turn, 1000 sets of parameters."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        W_q, W_k, W_v, W = rng.normal(0, 1 / sqrt(d), (4, 1000, d, d))
        # (1000, n, d)
        mixed, _ = attention(inputs @ W_q, inputs @ W_k, inputs @ W_v)
        inputs = np.tanh(mixed @ W)
    return inputs


for count in (1, 2, 3):
    equal = int((gap(layers(x, count, SEED)) < 1e-9).sum())
    print(f"rounds: {count}, rows 2 and 4 equal in {equal} of 1000")
# --8<-- [end:content-random]

# --8<-- [start:positions]
placed = x + POSITIONS
print(text(POSITIONS[:, 3:], ".0f"))  # the two free components
for word, row in zip(SENTENCE, placed, strict=True):
    print(f"{word:4}", text(row, "2.0f"))
# --8<-- [end:positions]

# --8<-- [start:position-queries]
queries, keys = placed @ W_QUERY, placed @ W_KEY
for word, q, key in zip(SENTENCE, queries, keys, strict=True):
    print(f"{word:4} q {text(q, '2.0f')}  k {text(key, '2.0f')}")
placed_scores = scaled_dot(queries, keys)  # again divided by 2
print(text(placed_scores, ".0f"))
# --8<-- [end:position-queries]

# --8<-- [start:position-weights]
placed_outputs, placed_weights = look(placed)
print(text(placed_weights, ".4f"))
heatmap(
    placed_weights,
    rows=places,
    columns=places,
    spec=".4f",
    name="attention weights",
    highlight=[(1, None), (3, None)],
)
# --8<-- [end:position-weights]

# --8<-- [start:position-outputs]
print(text(placed_outputs, ".4f"))
print("largest difference of rows 2 and 4:", number(gap(placed_outputs), ".4f"))
# --8<-- [end:position-outputs]

# --8<-- [start:position-random]
apart = int((gap(layers(placed, 1, SEED)) > 1e-6).sum())
print(f"rows 2 and 4 differ in {apart} of 1000")
blind = W_QUERY.copy()
blind[3:] = 0  # the queries no longer see the positions
blind_outputs, _ = attention(placed @ blind, placed @ W_KEY, placed @ W_VALUE)
print("equal again:", bool(gap(blind_outputs) < 1e-12))
# --8<-- [end:position-random]

# --8<-- [start:alternate]
W_after = np.concatenate([W_own, W_left[:3]])  # (5 + 3, 4)
joined = np.concatenate([placed, placed_outputs], axis=1)  # (n, 5 + 3)
tagged = joined @ W_after  # a per-token layer: (n, 4)
for word, row in zip(SENTENCE, tagged, strict=True):
    print(f"{word:4}", text(row, ".4f"), best(row, TAGS))
into = {"en": "inputs with positions", "zh": "带位置的输入"}
tags = {"en": "tags", "zh": "词性"}
flow(
    [
        (into, "input", placed, ".0f", places),
        [
            ("weights", "weight", placed_weights, ".4f"),
            ("values", "value", placed @ W_VALUE, ".0f"),
        ],
        ("outputs", "output", placed_outputs, ".4f"),
        (tags, "neutral", tagged, ".4f", places),
    ],
    arrows=[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (0, 4)],
)
# --8<-- [end:alternate]

# --8<-- [start:mistake-wrong]
believed = np.concatenate([x, content_outputs], axis=1) @ W_after
for word, row in zip(SENTENCE, believed, strict=True):
    print(f"{word:4}", text(row, ".4f"), best(row, TAGS))
print("tokens 2 and 4 differ:", bool(gap(believed) > 1e-12))
# --8<-- [end:mistake-wrong]

# --8<-- [start:mistake-right]
for word, row in zip(SENTENCE, tagged, strict=True):
    print(f"{word:4}", text(row, ".4f"), best(row, TAGS))
print("tokens 2 and 4 differ:", bool(gap(tagged) > 1e-12))
# --8<-- [end:mistake-right]

# --8<-- [start:exercise-1]
longer = np.concatenate([x, x])  # I saw a saw I saw a saw
for one in (1, 3, 5):
    two, six = windows(longer, one)[[1, 5]]
    print(f"k = {one}: the same window for tokens 2 and 6:", bool((two == six).all()))
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-2]
for target in ([1.0, 1], [2.0, 2], [-1.0, 1]):
    target = np.array(target)
    print(text(target, ".0f"), "needs", text(weights_of(target, corners), ".2f"))
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
causal = np.tril(np.ones((n, n), dtype=bool))  # True takes part: up to the token itself
queries, keys, values = x @ W_QUERY, x @ W_KEY, x @ W_VALUE
causal_outputs, causal_weights = attention(queries, keys, values, causal)
print(text(causal_weights, ".4f"))
print("largest difference of rows 2 and 4:", number(gap(causal_outputs), ".4f"))
# --8<-- [end:exercise-3]
