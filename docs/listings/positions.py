"""Why attention does not see the order, and how it is told."""

# --8<-- [start:order]
from math import cos, log, pi, sin

import numpy as np

from attention_docs import eight_steps
from attention_docs.attention_function import attention
from attention_docs.figures import (
    Frame,
    dials,
    flow,
    heatmap,
    line_chart,
    numbered,
    ribbons,
    stepper,
    table,
    word_clocks,
)
from attention_docs.masking import causal_mask
from attention_docs.positions import (
    frequencies,
    learned,
    permutation_matrix,
    rope,
    rotation,
    sinusoids,
)
from attention_docs.score_functions import dot, scaled_dot
from attention_docs.sequences import (
    EMBEDDINGS,
    W_KEY,
    W_QUERY,
    W_TAG,
    W_VALUE,
)
from attention_docs.softmax import softmax
from attention_docs.text import check, number, text


def agree(a, b):
    """Whether two arrays differ nowhere by more than 1e-12."""
    return a.shape == b.shape and bool(np.abs(a - b).max() < 1e-12)


def offset_only(matrix):
    """Whether every diagonal is constant: entry (t, u) knows t - u only."""
    return agree(matrix[1:, 1:], matrix[:-1, :-1])


def whole_layer(inputs, mask=None):
    """The outputs and weights of self-attention with the parameters of the eight steps."""
    queries = inputs @ eight_steps.W_QUERY
    keys = inputs @ eight_steps.W_KEY
    values = inputs @ eight_steps.W_VALUE
    return attention(queries, keys, values, mask)


def layer(inputs, mask=None):
    """Its outputs alone."""
    return whole_layer(inputs, mask)[0]


x = eight_steps.INPUTS
words = ["dog", "bites", "man"]
back = [2, 1, 0]
there, turned = layer(x), layer(x[back])
check("the same outputs in the new order", agree(turned, there[back]))
flow(
    [
        [
            ("dog bites man", "output", there, ".2f", words),
            ("man bites dog", "output", turned, ".2f", words[::-1]),
        ]
    ],
    arrows=[],
)
# --8<-- [end:order]

# --8<-- [start:permuted-figure]
P = permutation_matrix([2, 0, 1])  # input 3 first, then 1, then 2
moved_outputs, moved_weights = whole_layer(P @ x)
labels = [3, 1, 2]
heatmap(
    moved_weights,
    rows=[f"query {i}" for i in labels],
    columns=[f"key {j}" for j in labels],
    name="attention weights",
    spec=".4f",
)
# --8<-- [end:permuted-figure]

# --8<-- [start:permuted]
plain_outputs, plain_weights = whole_layer(x)
check("the outputs are PO", agree(moved_outputs, P @ plain_outputs))
check("the weights are PAPᵀ", agree(moved_weights, P @ plain_weights @ P.T))
asking, found, given = (x @ eight_steps.W_QUERY, x @ eight_steps.W_KEY, x @ eight_steps.W_VALUE)
same_outputs, _ = attention(asking, P @ found, P @ given)  # the queries stay
check("permuting keys and values alone changes no output", agree(same_outputs, plain_outputs))
table(
    [[P[i] @ x, moved_outputs[i]] for i in range(3)],
    columns=["input", "output"],
    index=[f"token {i}" for i in labels],
    spec=[".0f", ".4f"],
)
# --8<-- [end:permuted]

# --8<-- [start:count]
rows, starts = [], (0, 10, 100, 1000)
for start in starts:
    count = np.zeros((3, 4))
    count[:, 3] = start + np.arange(3)  # the position, in the last component
    placed = x + count
    asked, offered = placed @ eight_steps.W_QUERY, placed @ eight_steps.W_KEY
    rows.append(softmax(scaled_dot(asked, offered))[1])  # the row of bites
table(
    rows,
    columns=words,
    index=[f"starts at {start}" for start in starts],
    spec=".4f",
    name="weights of bites",
)
# --8<-- [end:count]

# --8<-- [start:broken]
count = np.zeros((3, 4))
count[:, 3] = [0, 1, 2]  # p_0, p_1, p_2
placed, placed_turned = layer(x + count), layer(x[back] + count)
together = layer((x + count)[back])  # words keep their positions
check("the outputs are reordered", agree(together, placed[back]))
bites = np.abs(placed[1] - placed_turned[1]).max()
print(f"Largest difference of the rows of bites: {number(bites, '.4f')}")
table(
    list(zip(placed, placed_turned[back], strict=True)),
    columns=["dog bites man", "man bites dog"],
    index=words,
    spec=".4f",
)
# --8<-- [end:broken]

# --8<-- [start:heat]
many = np.arange(32.0)
encoding = sinusoids(many, d=32)  # (32, 32): a row for each position
heatmap(
    encoding,
    name="encoding",
    row_axis="positions",
    column_axis="components",
    role="input",
    scale=(-1, 1),
    numbers=False,
    ticks=8,
)
# --8<-- [end:heat]

# --8<-- [start:counter]
bits = np.arange(16)[:, None] // 2 ** np.arange(4) % 2  # (16, 4)
heatmap(
    bits,
    name="bits",
    rows=[str(t) for t in range(16)],
    columns=["ones", "twos", "fours", "eights"],
    role="input",
    spec="d",
)
# --8<-- [end:counter]

# --8<-- [start:by-hand]
omega = [1, 1 / 100]  # d = 4: two pairs
rows = [[f(w * t) for w in omega for f in (sin, cos)] for t in range(4)]
package = sinusoids(np.arange(4.0), d=4)
same = agree(np.array(rows), package)
check("the package's function agrees to within 10⁻¹²", same)
table(
    rows,
    columns=["sin t", "cos t", "sin t/100", "cos t/100"],
    index=[f"position {t}" for t in range(4)],
    spec=".6f",
)
# --8<-- [end:by-hand]

# --8<-- [start:turn]
offsets, bases = (1, 3, 6, 44), (10000.0, 100.0, 500000.0)
starts = np.array([0.0, 9.0])


def frame(m, b):
    """The hands at two positions, turned on by an offset."""
    offset, omega = offsets[m], frequencies(8, bases[b])  # d = 8: four hands
    turns = [np.format_float_positional(w, 2, fractional=False, trim="-") for w in omega]
    hands = dials(
        np.outer(starts, omega),
        np.outer(starts + offset, omega),
        columns=[f"ω_{i} = {one}" for i, one in enumerate(turns)],
        rows=[f"t = {t:.0f}" for t in starts],
        below=[f"cos = {number(cos(w * offset), '.3f')}" for w in omega],
    )
    total = number(np.cos(omega * offset).sum(), ".3f")
    label = f"Δ = {offset}, {bases[b]:.0f}"
    caption = f"The four cosines add up to {total}."
    return Frame((str(m + 1), str(b + 1)), label, (hands,), caption)


stepper(
    "turn",
    [
        ("Offset Δ", list(map(str, offsets))),
        ("Base", [f"{one:.0f}" for one in bases]),
    ],
    [frame(m, b) for m in range(len(offsets)) for b in range(len(bases))],
)
# --8<-- [end:turn]

# --8<-- [start:distinct]
apart = {}
for d in (2, 4, 8):
    start, later = sinusoids(np.array([0.0, 44.0]), d)
    apart[d] = np.sqrt(((later - start) ** 2).sum())
table(list(apart.items()), columns=["d", "distance"], spec=["", ".4f"])
# --8<-- [end:distinct]

# --8<-- [start:frequencies]
omega = frequencies(8)
div_term = np.exp(-log(10000) * 2 * np.arange(4) / 8)  # as much code has it
check("exp(−log 10000 · 2i/d) is the same", np.abs(div_term - omega).max() < 1e-15)
longest = 2 * pi / frequencies(512)[-1]
print(f"Longest wavelength for d = 512: {number(longest, ',.0f')}")
table(
    [[i, w, 2 * pi / w] for i, w in enumerate(omega)],
    columns=["pair i", "frequency", "wavelength"],
    spec=["", ".3f", ",.2f"],
)
# --8<-- [end:frequencies]

# --8<-- [start:spacing]
d, until = 16, 160
t = np.arange(until + 1.0)
equal = 1 - 2 * np.arange(d // 2) / d  # 1, 1 - 2/d, ..., 2/d
apart = {}
for name, omega in (("equal", equal), ("geometric", frequencies(d))):
    angles = np.outer(t, omega)
    apart[name] = 2 * np.sqrt((np.sin(angles / 2) ** 2).sum(axis=1))
line_chart(
    t,
    [
        ("equal steps", apart["equal"]),
        ("geometric", apart["geometric"]),
    ],
    xlabel="position t",
    ylabel="distance from position 0",
)
# --8<-- [end:spacing]

# --8<-- [start:bases]
d, length = 64, 512
turns, rows = {}, []
for base in (100.0, 10000.0, 500000.0):
    omega = frequencies(d, base)
    turns[base] = int((omega * length >= 2 * pi).sum())
    formula = min(d / 2, int(d / 2 * log(length / (2 * pi)) / log(base)) + 1)
    longest = 2 * pi / omega[-1]
    rows.append([base, longest, turns[base], int(formula), d // 2])
table(
    rows,
    columns=["base", "longest wavelength", "full turns", "by formula", "hands"],
    spec=",.0f",
)
# --8<-- [end:bases]

# --8<-- [start:shift]
offset = 3  # knob: 1 … 40
turn = rotation(-offset, d=4)  # pairs of [sin, cos] turn clockwise
p = sinusoids(np.arange(1000.0), d=4)
shifted = agree(p[: len(p) - offset] @ turn, p[offset:])
check("the matrix shifts every position to within 10⁻¹²", shifted)
heatmap(turn, name="R", role="neutral", spec=".4f")
# --8<-- [end:shift]

# --8<-- [start:gram]
p = sinusoids(np.arange(4.0), d=4)
gram = dot(p, p)  # (4, 4)
offset = np.arange(4)[:, None] - np.arange(4)
same = agree(gram, np.cos(offset) + np.cos(offset / 100))
check("every product is cos Δ + cos(Δ/100)", same)
four = [f"position {t}" for t in range(4)]
table(gram, columns=four, index=four, spec=".4f")
# --8<-- [end:gram]

# --8<-- [start:gram-lines]
offsets = np.arange(0, 41)
lines = {}  # inner product as a share of its largest value, d/2
for d in (2, 8, 64):
    lines[d] = np.cos(offsets[:, None] * frequencies(d)).mean(axis=1)
table(
    [[m, *(line[m] for line in lines.values())] for m in range(7)],
    columns=["offset Δ", *(f"d = {d}" for d in lines)],
    spec=["", ".3f", ".3f", ".3f"],
)
# --8<-- [end:gram-lines]

# --8<-- [start:gram-chart]
line_chart(
    offsets,
    {f"d = {d}": line for d, line in lines.items()},
    xlabel="offset in tokens",
    ylabel="inner product / (d/2)",
)
# --8<-- [end:gram-chart]

# --8<-- [start:gram-figure]
large_gram = dot(encoding, encoding)
heatmap(
    large_gram,
    name="inner products",
    row_axis="positions",
    column_axis="positions",
    role="score",
    scale=(float(large_gram.min()), float(large_gram.max())),
    numbers=False,
    ticks=8,
)
# --8<-- [end:gram-figure]

# --8<-- [start:projections]
p = sinusoids(np.arange(6.0), d=2)
J = rotation(pi / 2, d=2)
matrices = {
    "identity I": np.eye(2),
    "R": rotation(1, d=2),
    "S": np.array([[1.0, 0], [0, 0]]),
}
squares = np.diag(p @ matrices["S"] @ p.T)[:3]
print(f"sin² t for t = 0, 1, 2: {text(squares, '.4f')}")
answers = []
for M in matrices.values():
    answers.append([agree(M @ J, J @ M), offset_only(p @ M @ p.T)])
table(
    answers,
    columns=["commutes with a quarter turn?", "offset only?"],
    index=list(matrices),
)
# --8<-- [end:projections]

# --8<-- [start:scrub]
told = ["dog", "bites", "man", "and", "man", "bites", "dog", "back"]
word_clocks(told, frequencies(8, 100.0), places=(0, 2))
# --8<-- [end:scrub]

# --8<-- [start:rope]
q, k = np.array([[1.0, 2, 3, 4]]), np.array([[2.0, 0, 1, 1]])
products = {}
for t, u in ((0, 0), (2, 0), (7, 5), (102, 100), (0, 2)):
    turned_q = rope(q, np.array([float(t)]))
    turned_k = rope(k, np.array([float(u)]))
    products[t, u] = dot(turned_q, turned_k)[0, 0]
table(
    [[t, u, t - u, product] for (t, u), product in products.items()],
    columns=["t", "u", "t − u", "product"],
    spec=["", "", "", ".4f"],
)
# --8<-- [end:rope]

# --8<-- [start:rope-map]
places = np.arange(12.0)
query = np.ones((12, 16))  # the same query at each position
key = query @ rotation(3, d=16)  # and the same key
three_back = scaled_dot(rope(query, places), rope(key, places))
largest = three_back[3:].argmax(axis=1)  # for the queries at positions 3 to 11
check("the scores depend on the offset only", offset_only(three_back))
check("each query looks three tokens back", (largest == np.arange(9)).all())
heatmap(
    three_back,
    name="scores",
    row_axis="position of the query",
    column_axis="position of the key",
    role="score",
    scale=(float(three_back.min()), float(three_back.max())),
    numbers=False,
)
# --8<-- [end:rope-map]

# --8<-- [start:rope-by-hand]
alpha, beta = 2.0, 0.02  # ω_0 (t - u) and ω_1 (t - u)
first = 2 * cos(alpha) - 4 * sin(alpha)  # 1·2 + 2·0 and 1·0 - 2·2
second = 7 * cos(beta) - 1 * sin(beta)  # 3·1 + 4·1 and 3·1 - 4·1
square = (rope(q, np.array([102.0])) ** 2).sum()
print(f"Squared norm at position 102: {number(square, '.4f')}")
table(
    [[first], [second], [first + second]],
    columns=["product"],
    index=["pair 0", "pair 1", "sum"],
    spec=".4f",
)
# --8<-- [end:rope-by-hand]

# --8<-- [start:real-head]
from attention_docs.figures import beside
from attention_docs.heads import load_measurements, load_vectors

real_words = [word.strip() for word in load_measurements()["words"]][:16]
turned, unturned = (
    attention(q[:16], k[:16], k[:16], causal_mask(16))[1]  # one sentence
    for q, k in (load_vectors(16, 0, rotated=True), load_vectors(16, 0))
)
one_back = [one.diagonal(-1).mean() for one in (turned, unturned)]
sentence = [one[:16] for one in load_vectors(16, 0)]
by_place = []
for seed in range(100):
    mixed = [0, *(1 + np.random.default_rng(seed).permutation(15))]
    placed = [rope(one[mixed], np.arange(16.0), base=100_000.0) for one in sentence]
    by_place.append(attention(*placed, placed[1], causal_mask(16))[1].diagonal(-1).mean())
by_place, orders = np.array(by_place), len(by_place)


def show_weights(a, name):
    """A row for each token that looks, and places along the top."""
    places = [str(i) if i % 5 == 0 else "" for i in range(len(a))]
    return heatmap(a, rows=real_words, columns=places, name=name, numbers=False, scale=(0, 1))


beside(show_weights(turned, "with RoPE"), show_weights(unturned, "without RoPE"))
# --8<-- [end:real-head]

# --8<-- [start:forced]
around = np.roll(np.eye(5), 1, axis=1)  # each component moves one place on
places = np.arange(5)
steps = [np.linalg.matrix_power(around, t) for t in range(9)]
five = np.array([1.0, 2, 3, 4, 5])  # a query and a key alike
products = np.array([[(five @ A) @ (five @ B) for B in steps] for A in steps])
check("the products depend on the offset only", offset_only(products))
waves = [2 * pi * i * places / 5 for i in (1, 2)]
rest = [np.sqrt(2) * f(wave) for wave in waves for f in (np.cos, np.sin)]
basis = np.array([np.ones(5), *rest]).T / np.sqrt(5)  # columns
check("the basis is orthonormal", agree(basis.T @ basis, np.eye(5)))
in_basis = basis.T @ around @ basis
wanted = np.eye(5)
for i in (1, 2):
    wanted[2 * i - 1 : 2 * i + 1, 2 * i - 1 : 2 * i + 1] = rotation(2 * pi * i / 5, d=2)
check("in this basis the shift turns two pairs", agree(in_basis, wanted))
angles = [np.degrees(np.arccos(in_basis[c, c])) for c in (1, 3)]
table(
    [[one] for one in angles], columns=["angle in degrees"], index=["pair 0", "pair 1"], spec=".0f"
)
# --8<-- [end:forced]

# --8<-- [start:pairings]
at = np.array([1.0])
order = [0, 2, 1, 3]  # first components of the pairs, then second ones
moved = rope(q[:, order], at, pairing="half-split")
check("one becomes the other", agree(moved, rope(q, at)[:, order]))
table(
    [*rope(q, at), *rope(q, at, pairing="half-split")],
    columns=[f"component {c}" for c in range(4)],
    index=["2i and 2i + 1", "i and i + d_k/2"],
    spec=".4f",
)
# --8<-- [end:pairings]

# --8<-- [start:learned]
E = np.array([[5.0, 1], [2, 0], [1, 4], [0, 2]])  # (n_max, d) parameters
one_hot = np.eye(4)  # row t has its 1 in place t
check("both ways agree", agree(one_hot @ E, learned(E, range(4))))
try:
    learned(E, [3, 4])
except ValueError as error:
    print(f"ValueError: {error}")
table(learned(E, [0, 1, 2]), columns=numbered("component", 2), index=four[:3], spec=".0f")
# --8<-- [end:learned]

# --8<-- [start:learned-size]
sizes = {"BERT base": (512, 768), "GPT-2 small": (1024, 768)}  # n_max, d
table(
    [[n_max, d, n_max * d] for n_max, d in sizes.values()],
    columns=["n_max", "d", "parameters"],
    index=list(sizes),
    spec=["", "", ","],
)
# --8<-- [end:learned-size]

# --8<-- [start:untrained]
changed = E.copy()
changed[3] = [100.0, -100.0]  # the row of position 3
inputs = np.array([[1.0, 0], [0, 1], [1, 1]])  # 3 tokens: positions 0, 1, 2
before, after = (inputs + learned(rows, range(3)) for rows in (E, changed))
seen, _ = attention(before, before, before)
unseen, _ = attention(after, after, after)
check("no bit of an output changes", (seen == unseen).all())
table(
    list(zip(seen, unseen, strict=True)),
    columns=["output before", "output after"],
    index=[f"position {t}" for t in range(3)],
    spec=".4f",
)
# --8<-- [end:untrained]

# --8<-- [start:bias]
t = np.arange(5.0)
scores = np.zeros((5, 5)) - log(2) * (t[:, None] - t)  # m = ln 2
weights = softmax(np.where(causal_mask(5), scores, -np.inf))
check("the biased scores depend on the offset only", offset_only(scores))
table([weights[4] * 31], columns=numbered("key", 5), index=["weight × 31"], spec=".0f")
# --8<-- [end:bias]

# --8<-- [start:causal-only]
keep = causal_mask(3)
for name, inputs in (("dog bites man", x), ("man bites dog", x[back])):
    print(f"{name}: {text(layer(inputs, keep)[1], '.4f')}")
values = np.zeros((6, 1))
values[0] = 1  # only the first token differs
zeros = np.zeros((6, 1))  # queries and keys: every score is 0
marks, _ = attention(zeros, zeros, values, causal_mask(6))
print(f"1/(t + 1): {text(marks[:, 0], '.4f')}")
# --8<-- [end:causal-only]

# --8<-- [start:saw-weights]
sentence = ["I", "saw", "a", "saw"]
x = EMBEDDINGS[:, :3]  # (4, 3): a component for each word
W_Q = np.concatenate([np.tile([4.0, 0], (3, 1)), W_QUERY[:3, :2]], axis=1)
W_K = np.concatenate([np.tile([cos(1), sin(1)], (3, 1)), W_KEY[:3, :2]], axis=1)
at = np.arange(4.0)
queries, keys = rope(x @ W_Q, at), rope(x @ W_K, at)  # (4, d_k) = (4, 4)
scores = scaled_dot(queries, keys)
names = [f"{word} {i + 1}" for i, word in enumerate(sentence)]
outputs, weights = attention(queries, keys, x @ W_VALUE[:3])
ribbons(sentence, weights, scores=scores, first=3, spec=".2f")
# --8<-- [end:saw-weights]

# --8<-- [start:saw-content]
table(
    list(zip(W_Q, W_K, strict=True)),
    columns=["row of W_Q", "row of W_K"],
    index=["I", "saw", "a"],
    spec=".4f",
)
# --8<-- [end:saw-content]

# --8<-- [start:saw-scores]
table(scores, columns=names, index=names, spec=".4f")
# --8<-- [end:saw-scores]

# --8<-- [start:saw-tags]
tags = ["pronoun", "verb", "determiner", "noun"]
W_after = np.concatenate([W_TAG[5:8], W_TAG[:3]])  # token, then fetched
tagged = np.concatenate([x, outputs], axis=1) @ W_after
table(
    [[*row, tags[int(row.argmax())]] for row in tagged],
    columns=[*tags, "largest"],
    index=names,
    spec=".4f",
)
# --8<-- [end:saw-tags]

# --8<-- [start:saw-hands]
with_hands = EMBEDDINGS.copy()
with_hands[:, 3:] = sinusoids(at, d=2)  # in the two free components
W_before = W_QUERY.copy()
W_before[3:, 2:] = 4 * rotation(1, d=2)  # from p_t to 4 p_(t-1)
by_hands = scaled_dot(with_hands @ W_before, with_hands @ W_KEY)
table(by_hands, columns=names, index=names, spec=".4f")
# --8<-- [end:saw-hands]


# --8<-- [start:mistake-exponent]
def encode(exponents, t):
    """One exponent a component: sine in even places, cosine in odd ones."""
    angles = t[:, None] / 10000**exponents
    odd = np.arange(len(exponents)) % 2
    return np.where(odd, np.cos(angles), np.sin(angles))


d, t = 4, np.arange(100.0)
c = np.arange(d)  # counts components
i = c // 2  # counts pairs
variants = {"2i/d": 2 * i / d, "2c/d": 2 * c / d, "c/d": c / d, "i/d": i / d}
rows = []
for exponents in variants.values():
    p = encode(exponents, t)
    squares = (p**2).sum(axis=1)
    rows.append([squares[:4], offset_only(p @ p.T)])
table(
    rows,
    columns=["squared norms", "offset only?"],
    index=list(variants),
    spec=".4f",
)
# --8<-- [end:mistake-exponent]

# --8<-- [start:mistake-exponent-right]
p = sinusoids(t, d)
check("it equals the first variant", agree(p, encode(variants["2i/d"], t)))
table(
    [[(p**2).sum(axis=1)[:4], offset_only(p @ p.T)]],
    columns=["squared norms", "offset only?"],
    index=["package"],
    spec=".4f",
)
# --8<-- [end:mistake-exponent-right]

# --8<-- [start:mistake-odd]
d = 5
t = np.array([0.0, 1000, 2000, 3000])
angles = t[:, None] / 10000 ** (np.arange(0, d, 2) / d)  # (4, 3)
cut = np.empty((4, d))
cut[:, 0::2] = np.sin(angles)  # components 0, 2, 4
cut[:, 1::2] = np.cos(angles)[:, : d // 2]  # one cosine is left out
table(
    [[(cut**2).sum(axis=1), offset_only(cut @ cut.T)]],
    columns=["squared norms", "offset only?"],
    spec=".4f",
)
# --8<-- [end:mistake-odd]

# --8<-- [start:mistake-odd-right]
try:
    sinusoids(t, d=5)
except ValueError as error:
    print(f"ValueError: {error}")
even = sinusoids(t, d=6)
check("inner products depend on the offset only", offset_only(even @ even.T))
print(f"Squared norms: {text((even**2).sum(axis=1), '.4f')}")
# --8<-- [end:mistake-odd-right]


# --8<-- [start:mistake-pairing]
def mixed(x, t):
    """Wrong: half-split partners, interleaved angles."""
    angles = np.repeat(t * frequencies(4), 2)  # [t, t, t/100, t/100]
    partners = np.concatenate([-x[:, 2:], x[:, :2]], axis=1)  # half-split
    return x * np.cos(angles) + partners * np.sin(angles)


wrong = []
for t, u in ((2.0, 0.0), (7.0, 5.0), (102.0, 100.0)):
    wrong_q, wrong_k = mixed(q, t), mixed(k, u)
    wrong.append([t, u, dot(wrong_q, wrong_k)[0, 0], (wrong_q**2).sum()])
table(
    wrong,
    columns=["t", "u", "score", "squared norm of q"],
    spec=[".0f", ".0f", ".4f", ".4f"],
)
# --8<-- [end:mistake-pairing]

# --8<-- [start:mistake-pairing-right]
right = []
for pairing in ("interleaved", "half-split"):
    for t, u in ((2.0, 0.0), (7.0, 5.0), (102.0, 100.0)):
        right_q = rope(q, np.array([t]), pairing=pairing)
        right_k = rope(k, np.array([u]), pairing=pairing)
        right.append([t, u, dot(right_q, right_k)[0, 0]])
table(
    right,
    columns=["t", "u", "score"],
    index=["2i and 2i + 1"] * 3 + ["i and i + d_k/2"] * 3,
    spec=[".0f", ".0f", ".4f"],
)
# --8<-- [end:mistake-pairing-right]

# --8<-- [start:mistake-two]
both = []
for t, u in ((2.0, 0.0), (7.0, 5.0), (102.0, 100.0)):
    rotated_k = rope(k, np.array([u]), pairing="half-split")
    both.append([t, u, dot(rope(q, np.array([t])), rotated_k)[0, 0]])
table(both, columns=["t", "u", "score"], spec=[".0f", ".0f", ".4f"])
# --8<-- [end:mistake-two]

# --8<-- [start:exercise-row]
p_10, p_12 = sinusoids(np.array([10.0, 12.0]), d=4, base=100.0)
check("it is cos 2 + cos 1/5", abs(p_10 @ p_12 - cos(2) - cos(1 / 5)) < 1e-12)
usual_base, equal_speeds = cos(2) + cos(1 / 50), 2 * cos(2)  # two mistakes
print(f"p_10 = {text(p_10, '.4f')}")
print(f"p_10 · p_12 = {number(p_10 @ p_12, '.4f')}")
# --8<-- [end:exercise-row]

# --8<-- [start:exercise-turn]
rows = []
for base in (10000.0, 500000.0):
    omega = frequencies(64, base)
    reached = int((100 * omega >= 2 * pi).sum())
    rows.append([base, 32 * log(100 / (2 * pi)) / log(base), reached])
table(rows, columns=["base", "bound", "full turns"], spec=[",.0f", ".2f", ""])
# --8<-- [end:exercise-turn]

# --8<-- [start:exercise-before]
p = sinusoids(np.arange(6.0), d=8)
check("p_t · p_u = p_u · p_t", agree(dot(p, p), dot(p, p).T))
rows = []
for t, u in ((1.0, 0.0), (0.0, 1.0)):
    rotated = dot(rope(q, np.array([t])), rope(k, np.array([u])))[0, 0]
    rows.append([t, u, rotated])
table(rows, columns=["t", "u", "score"], spec=[".0f", ".0f", ".4f"])
# --8<-- [end:exercise-before]

# --8<-- [start:exercise-ahead]
p = sinusoids(np.arange(12.0), d=8)
ahead = dot(p @ rotation(-2, d=8), p)  # from p_t to p_(t+2)
columns = ["t", "position of the largest product"]
table(list(enumerate(ahead.argmax(axis=1))), columns=columns)
# --8<-- [end:exercise-ahead]

# --8<-- [start:exercise-keys]
rows = []
for t, u in ((2.0, 0.0), (7.0, 5.0), (102.0, 100.0)):
    rows.append([t, u, dot(q, rope(k, np.array([u])))[0, 0]])
table(rows, columns=["t", "u", "score"], spec=[".0f", ".0f", ".4f"])
# --8<-- [end:exercise-keys]

# --8<-- [start:exercise-half]
rows = []
for dtype in (np.float16, np.float32):
    two = np.array([2048, 2049], dtype=dtype)
    p = sinusoids(two, d=8)
    rows.append([bool((p[0] == p[1]).all())])
table(rows, columns=["the same encoding?"], index=["float16", "float32"])
# --8<-- [end:exercise-half]

# --8<-- [start:exercise-commute]
M = np.array([[3.0, 4], [-4, 3]])
length = np.sqrt(3.0**2 + 4**2)
angle = np.arctan2(4, 3)
nine = [rotation(s, 2) for s in range(9)]
check("M is λ R(θ)", agree(M, length * rotation(angle, d=2)))
check("M commutes with nine rotations", all(agree(M @ R, R @ M) for R in nine))
print(f"λ = {number(length, '.4f')}")
print(f"θ = {number(angle, '.4f')}")
# --8<-- [end:exercise-commute]


# --8<-- [start:exercise-mask]
causal = np.tri(3, dtype=bool)  # True: i may look at j
masked = layer(eight_steps.INPUTS, causal)
mask_stays = layer(P @ eight_steps.INPUTS, causal)
moved_causal = (P @ causal @ P.T).astype(bool)
mask_moves = layer(P @ eight_steps.INPUTS, moved_causal)
table(
    [[agree(mask_stays, P @ masked)], [agree(mask_moves, P @ masked)]],
    columns=["outputs permuted alike?"],
    index=["the mask stays", "the mask is permuted too"],
)
# --8<-- [end:exercise-mask]


# --8<-- [start:writing]
def your_rotation(x, angles):
    """Turn each row of x (n, 2) by its own angle (n,)."""
    return x  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_rotation(x, angles):
    cosines, sines = np.cos(angles), np.sin(angles)
    a, b = x[:, 0], x[:, 1]
    return np.stack([a * cosines - b * sines, a * sines + b * cosines], axis=-1)


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

three_rows = np.array([[2.0, 1], [0, 3], [4, -1]])
writing = Task(
    model_rotation,
    inputs=[
        (np.array([[1.0, 0]]), np.array([0.0])),
        (np.array([[1.0, 0]]), np.array([np.pi / 2])),
        (np.array([[0.0, 1]]), np.array([np.pi / 2])),
        (three_rows, np.array([0, np.pi / 6, np.pi / 3])),
    ],
    mistakes={
        "It turns the other way: the signs of the two sines are exchanged.": (
            lambda x, angles: model_rotation(x, -angles)
        ),
        "All rows turn by the angle of the first one.": (
            lambda x, angles: model_rotation(x, np.full(len(x), angles[0]))
        ),
        "Both sines have the same sign: one of them must be negative.": (
            lambda x, angles: np.cos(angles)[:, None] * x + np.sin(angles)[:, None] * x[:, ::-1]
        ),
        "The second component was made from the new first one. Keep the old one.": (
            lambda x, angles: np.stack(
                [
                    model_rotation(x, angles)[:, 0],
                    model_rotation(x, angles)[:, 0] * np.sin(angles) + x[:, 1] * np.cos(angles),
                ],
                axis=-1,
            )
        ),
    },
    draw=lambda rng: (halves(rng, 5, 2), np.array([9, -9, *rng.uniform(-7, 7, size=3)])),
)
judge(your_rotation, writing)
# --8<-- [end:writing-checks]
