"""Why attention does not see the order, and three ways to tell it: add, look up, rotate."""

# --8<-- [start:setup]
from math import cos, pi, sin

import numpy as np

from attention_docs import eight_steps
from attention_docs.attention_function import attention
from attention_docs.figures import heatmap, line_chart
from attention_docs.positions import (
    frequencies,
    learned,
    rope,
    rotation,
    sinusoids,
)
from attention_docs.score_functions import dot, scaled_dot
from attention_docs.sequences import (
    EMBEDDINGS,
    SENTENCE,
    TAGS,
    W_KEY,
    W_QUERY,
    W_TAG,
    W_VALUE,
)
from attention_docs.text import number, text


def agree(a, b):
    """Whether two arrays differ nowhere by more than 1e-12."""
    return a.shape == b.shape and bool(np.abs(a - b).max() < 1e-12)


def offset_only(matrix):
    """Whether entry (t, u) depends on t - u only: is every diagonal constant?"""
    return agree(matrix[1:, 1:], matrix[:-1, :-1])


# --8<-- [end:setup]


# --8<-- [start:order]
def layer(inputs):
    """Self-attention with the parameters of the eight steps."""
    queries = inputs @ eight_steps.W_QUERY
    keys = inputs @ eight_steps.W_KEY
    outputs, _ = attention(queries, keys, inputs @ eight_steps.W_VALUE)
    return outputs


x = eight_steps.INPUTS  # rows: dog, bites, man
back = [2, 1, 0]  # man, bites, dog
there, turned = layer(x), layer(x[back])
print("dog bites man")
print(text(there, ".4f"))
print("man bites dog")
print(text(turned, ".4f"))
print("the same rows, in the new order:", agree(turned, there[back]))
# --8<-- [end:order]

# --8<-- [start:broken]
# p_0, p_1, p_2
count = np.array([[0.0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 2]])
placed, placed_turned = layer(x + count), layer(x[back] + count)
print("dog bites man")
print(text(placed, ".4f"))
print("man bites dog")
print(text(placed_turned, ".4f"))
bites = np.abs(placed[1] - placed_turned[1]).max()
print("largest difference in the row of bites:", number(bites, ".4f"))
# --8<-- [end:broken]

# --8<-- [start:together]
together = layer((x + count)[back])  # each word keeps its position
print("reordered with their positions:", agree(together, placed[back]))
# --8<-- [end:together]

# --8<-- [start:by-hand]
for t in range(4):
    row = [sin(t), cos(t), sin(t / 100), cos(t / 100)]
    print(f"t = {t}:", text(row, ".6f"))
# --8<-- [end:by-hand]

# --8<-- [start:package]
p = sinusoids(np.arange(4.0), d=4)
print(text(p, ".6f"))
# --8<-- [end:package]

# --8<-- [start:frequencies]
omega = frequencies(8)
wavelengths = 2 * pi / omega  # in tokens
print("frequencies", text(omega, ".3f"))
print("wavelengths", text(wavelengths, ".2f"))
longest = 2 * pi / frequencies(512)[-1]
print("d = 512, longest wavelength:", number(longest, ".0f"))
# --8<-- [end:frequencies]

# --8<-- [start:heat]
many = np.arange(32.0)
encoding = sinusoids(many, d=32)  # (32, 32): a row for each position
heatmap(
    encoding,
    name={"en": "sinusoidal encoding", "zh": "正弦位置编码"},
    row_axis="positions",
    column_axis="components",
    role="input",
    scale=(-1, 1),
    numbers=False,
)
# --8<-- [end:heat]

# --8<-- [start:distinct]
apart = {}
for d in (2, 4, 8):
    start, later = sinusoids(np.array([0.0, 44.0]), d)
    apart[d] = np.sqrt(((later - start) ** 2).sum())
    print(f"d = {d}: from p_0 to p_44 it is", number(apart[d], ".4f"))
# --8<-- [end:distinct]

# --8<-- [start:shift]
offset = 3
turn = rotation(-offset, d=4)  # pairs of [sin, cos] turn clockwise
print(text(turn, ".4f"))
p = sinusoids(np.arange(1000.0), d=4)
same = agree(p[:-offset] @ turn, p[offset:])
print("p_(t+3) = p_t R for 997 positions:", same)
# --8<-- [end:shift]

# --8<-- [start:gram]
p = sinusoids(np.arange(6.0), d=4)
gram = dot(p, p)  # (6, 6): entry (t, u) is the inner product of p_t and p_u
print(text(gram, ".4f"))
for step in (0, 1, 2):
    print(f"offset {step}:", number(cos(step) + cos(step / 100), ".4f"))
print("depends on the offset only:", offset_only(gram))
# --8<-- [end:gram]

# --8<-- [start:gram-figure]
large_gram = dot(encoding, encoding)
heatmap(
    large_gram,
    name={"en": "inner products", "zh": "内积"},
    row_axis="positions",
    column_axis="positions",
    role="score",
    scale=(float(large_gram.min()), float(large_gram.max())),
    numbers=False,
)
# --8<-- [end:gram-figure]

# --8<-- [start:gram-lines]
offsets = np.arange(0, 41)
lines = {}  # inner product as a share of its largest value, d/2
for d in (2, 8, 64):
    lines[d] = np.cos(offsets[:, None] * frequencies(d)).mean(axis=1)
    print(f"d = {d:2}: offsets 0 to 6", text(lines[d][:7], ".3f"))
line_chart(
    offsets,
    {f"d = {d}": line for d, line in lines.items()},
    xlabel={"en": "offset in tokens", "zh": "偏移量（词元）"},
    ylabel={"en": "inner product / (d/2)", "zh": "内积 / (d/2)"},
)
# --8<-- [end:gram-lines]

# --8<-- [start:projections]
p = sinusoids(np.arange(6.0), d=2)
matrices = {
    "identity": np.eye(2),
    "rotation": rotation(1, d=2),
    "sine only": np.array([[1.0, 0], [0, 0]]),
}
for name, M in matrices.items():
    print(f"{name}: depends on the offset only:", offset_only(p @ M @ p.T))
sine_only = p @ matrices["sine only"] @ p.T
print("sine only, offset 0:", text(np.diag(sine_only)[:3], ".4f"))
# --8<-- [end:projections]

# --8<-- [start:learned]
table = np.array([[5.0, 1], [2, 0], [1, 4], [0, 2]])  # (n_max, d) parameters
one_hot = np.eye(4)  # row t has its 1 in place t
print(text(learned(table, [0, 1, 2]), ".0f"))
same = agree(one_hot @ table, learned(table, range(4)))
print("a one-hot row times the table:", same)
try:
    learned(table, [3, 4])
except ValueError as error:
    print("ValueError:", error)
# --8<-- [end:learned]

# --8<-- [start:learned-size]
sizes = {"BERT base": (512, 768), "GPT-2 small": (1024, 768)}  # n_max, d
entries = {}
for model, (n_max, d) in sizes.items():
    entries[model] = n_max * d
    print(f"{model}: {n_max} positions of size {d}: {entries[model]} parameters")
# --8<-- [end:learned-size]

# --8<-- [start:untrained]
changed = table.copy()
changed[3] = [100.0, -100.0]  # the row of position 3
words = np.array([[1.0, 0], [0, 1], [1, 1]])  # 3 tokens: positions 0, 1, 2
before, after = (words + learned(rows, range(3)) for rows in (table, changed))
seen, _ = attention(before, before, before)
unseen, _ = attention(after, after, after)
print("all outputs the same:", bool((seen == unseen).all()))
# --8<-- [end:untrained]

# --8<-- [start:rope]
q, k = np.array([[1.0, 2, 3, 4]]), np.array([[2.0, 0, 1, 1]])


def rotated_dot(t, u):
    """The query at position t, the key at position u."""
    rotated_q, rotated_k = rope(q, np.array([t])), rope(k, np.array([u]))
    return dot(rotated_q, rotated_k)[0, 0]


products = {}
for t, u in ((0.0, 0.0), (2.0, 0.0), (7.0, 5.0), (102.0, 100.0), (0.0, 2.0)):
    products[t, u] = rotated_dot(t, u)
    print(f"t = {t:.0f}, u = {u:.0f}:", number(products[t, u], ".4f"))
square = (rope(q, np.array([102.0])) ** 2).sum()
print("squared length of the query at 102:", number(square, ".4f"))
# --8<-- [end:rope]

# --8<-- [start:rope-by-hand]
alpha, beta = 2.0, 0.02  # ω_0 (t - u) and ω_1 (t - u)
first = 2 * cos(alpha) - 4 * sin(alpha)  # 1·2 + 2·0 and 1·0 - 2·2
second = 7 * cos(beta) - 1 * sin(beta)  # 3·1 + 4·1 and 3·1 - 4·1
print(number(first, ".4f"), "+", number(second, ".4f"))
print("sum:", number(first + second, ".4f"))
# --8<-- [end:rope-by-hand]

# --8<-- [start:rope-map]
places = np.arange(24.0)
query = np.ones((24, 16))  # the same query at each position
key = query @ rotation(3, d=16)  # and the same key
three_back = scaled_dot(rope(query, places), rope(key, places))
print("depends on the offset only:", offset_only(three_back))
largest = three_back[3:].argmax(axis=1)  # for the queries at positions 3 to 23
print("each looks 3 tokens back:", bool((largest == np.arange(21)).all()))
heatmap(
    three_back,
    name="scores",
    row_axis={"en": "position of the query", "zh": "查询的位置"},
    column_axis={"en": "position of the key", "zh": "键的位置"},
    role="score",
    scale=(float(three_back.min()), float(three_back.max())),
    numbers=False,
)
# --8<-- [end:rope-map]

# --8<-- [start:pairings]
at = np.array([1.0])
print("interleaved", text(rope(q, at), ".4f"))
print("half-split ", text(rope(q, at, pairing="half-split"), ".4f"))
order = [0, 2, 1, 3]  # first components of the pairs, then second ones
moved = rope(q[:, order], at, pairing="half-split")
print("the same after reordering:", agree(moved, rope(q, at)[:, order]))
# --8<-- [end:pairings]

# --8<-- [start:saw]
x = EMBEDDINGS.copy()
x[:, 3:] = sinusoids(np.arange(4.0), d=2)  # in the two free components
W_before = W_QUERY.copy()
W_before[3:, 2:] = 4 * rotation(1, d=2)  # from p_t to 4 p_(t-1)
scores = scaled_dot(x @ W_before, x @ W_KEY)
print(text(scores, ".4f"))
# --8<-- [end:saw]

# --8<-- [start:saw-weights]
names = [f"{word} {i + 1}" for i, word in enumerate(SENTENCE)]
outputs, weights = attention(x @ W_before, x @ W_KEY, x @ W_VALUE)
print(text(weights, ".4f"))
heatmap(
    weights,
    rows=names,
    columns=names,
    spec=".4f",
    name="attention weights",
    highlight=[(1, None), (3, None)],
)
# --8<-- [end:saw-weights]

# --8<-- [start:saw-tags]
# The rows for the token itself, then those for what it fetched.
W_after = np.concatenate([W_TAG[5:10], W_TAG[:3]])
tagged = np.concatenate([x, outputs], axis=1) @ W_after
for word, row in zip(SENTENCE, tagged, strict=True):
    print(f"{word:4}", text(row, ".4f"), TAGS[int(row.argmax())])
# --8<-- [end:saw-tags]

# --8<-- [start:saw-rope]
at = np.arange(4.0)
queries, keys, values = (EMBEDDINGS @ W for W in (W_QUERY, W_KEY, W_VALUE))
plain, _ = attention(queries, keys, values)
turned, _ = attention(rope(queries, at), rope(keys, at), values)
print("tokens 2 and 4 without positions:", text(plain[[1, 3]], ".4f"))
print("tokens 2 and 4 with RoPE:", text(turned[[1, 3]], ".4f"))
# --8<-- [end:saw-rope]


# --8<-- [start:mistake-exponent]
def encode(exponents, t):
    """One exponent for each component: sine in even places, cosine in odd ones."""
    angles = t[:, None] / 10000**exponents
    return np.where(np.arange(len(exponents)) % 2, np.cos(angles), np.sin(angles))


d, t = 4, np.arange(100.0)
c = np.arange(d)  # counts components
i = c // 2  # counts pairs
variants = {"2i/d": 2 * i / d, "2c/d": 2 * c / d, "c/d": c / d, "i/d": i / d}
for name, exponents in variants.items():
    p = encode(exponents, t)
    squares = (p**2).sum(axis=1)
    print(f"{name:5} exponents", text(exponents, ".2f"))
    print("      squared lengths", text(squares[:4], ".4f"))
    print("      depends on the offset only:", offset_only(p @ p.T))
# --8<-- [end:mistake-exponent]

# --8<-- [start:mistake-exponent-right]
p = sinusoids(t, d)
print("squared lengths", text((p**2).sum(axis=1)[:4], ".4f"))
print("equal to 2i/d:", agree(p, encode(variants["2i/d"], t)))
# --8<-- [end:mistake-exponent-right]

# --8<-- [start:mistake-odd]
d = 5
t = np.array([0.0, 1000, 2000, 3000])
angles = t[:, None] / 10000 ** (np.arange(0, d, 2) / d)  # (4, 3)
cut = np.empty((4, d))
cut[:, 0::2] = np.sin(angles)  # components 0, 2, 4
cut[:, 1::2] = np.cos(angles)[:, : d // 2]  # components 1, 3: one cosine is left out
print("squared lengths", text((cut**2).sum(axis=1), ".4f"))
print("depends on the offset only:", offset_only(cut @ cut.T))
# --8<-- [end:mistake-odd]

# --8<-- [start:mistake-odd-right]
try:
    sinusoids(t, d=5)
except ValueError as error:
    print("ValueError:", error)
even = sinusoids(t, d=6)
print("squared lengths", text((even**2).sum(axis=1), ".4f"))
print("depends on the offset only:", offset_only(even @ even.T))
# --8<-- [end:mistake-odd-right]


# --8<-- [start:mistake-pairing]
def mixed(x, t):
    """Wrong: half-split partners, interleaved angles."""
    angles = np.repeat(t * frequencies(4), 2)  # [t, t, t/100, t/100]
    partners = np.concatenate([-x[:, 2:], x[:, :2]], axis=1)  # half-split
    return x * np.cos(angles) + partners * np.sin(angles)


wrong = {}
for t, u in ((2.0, 0.0), (7.0, 5.0), (102.0, 100.0)):
    wrong[t, u] = dot(mixed(q, t), mixed(k, u))[0, 0]
    print(f"t = {t:.0f}, u = {u:.0f}:", number(wrong[t, u], ".4f"))
square = (mixed(q, 7.0) ** 2).sum()
print("squared length of the query at 7:", number(square, ".4f"))
# --8<-- [end:mistake-pairing]

# --8<-- [start:mistake-pairing-right]
for pairing in ("interleaved", "half-split"):
    for t, u in ((2.0, 0.0), (7.0, 5.0), (102.0, 100.0)):
        at_t, at_u = np.array([t]), np.array([u])
        product = dot(rope(q, at_t, pairing=pairing), rope(k, at_u, pairing=pairing))
        print(f"{pairing}, t = {t:.0f}, u = {u:.0f}:", text(product, ".4f"))
# --8<-- [end:mistake-pairing-right]

# --8<-- [start:mistake-two]
both = []
for t, u in ((2.0, 0.0), (7.0, 5.0), (102.0, 100.0)):
    rotated_k = rope(k, np.array([u]), pairing="half-split")
    both.append(dot(rope(q, np.array([t])), rotated_k)[0, 0])
print("query interleaved, key half-split:", text(both, ".4f"))
# --8<-- [end:mistake-two]

# --8<-- [start:exercise-1]
p = sinusoids(np.arange(6.0), d=8)
print("added: before and after alike:", agree(dot(p, p), dot(p, p).T))
for t, u in ((1.0, 0.0), (0.0, 1.0)):
    print(f"rotated, t = {t:.0f}, u = {u:.0f}:", number(rotated_dot(t, u), ".4f"))
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-2]
p = sinusoids(np.arange(12.0), d=8)
ahead = dot(p @ rotation(-2, d=8), p)  # from p_t to p_(t+2)
print(text(ahead.argmax(axis=1), "d"))
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
for dtype in (np.float16, np.float32):
    two = np.array([2048, 2049], dtype=dtype)
    p = sinusoids(two, d=8)
    print(f"{dtype.__name__}: the same encoding:", bool((p[0] == p[1]).all()))
# --8<-- [end:exercise-3]
