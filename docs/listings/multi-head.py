"""Several heads: two relations in one sentence, a sum over heads, how many."""

# --8<-- [start:routes]
from math import exp, log, pi, sqrt

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import Frame, flow, heatmap, numbered, product, stepper, table
from attention_docs.masking import causal_mask, padding_mask
from attention_docs.multi_head import (
    Parameters,
    join_heads,
    multi_head_attention,
    parameter_count,
    split_heads,
)
from attention_docs.score_functions import dot, scaled_dot
from attention_docs.softmax import softmax
from attention_docs.text import check, number, text

SEED = 2017
words = ["she", "chased", "him"]


def sentence(she, him):
    """Rows are tokens: subject form, object form, verb, speed."""
    return np.array([[1.0, 0, 0, she], [0, 0, 1, 0], [0, 1, 0, him]])


x = np.array([[1.0, 0, 0, 7], [0, 0, 1, 0], [0, 1, 0, 5]])  # (n, d)
W_Q1 = np.array([[0.0, 6], [0, 6], [6, 0], [0, 0]])  # (d, d_k) = (4, 2)
W_K1 = np.array([[1.0, 0], [0, 0], [0, 1], [0, 0]])
W_Q2 = np.array([[6.0, 0], [0, 6], [6, 0], [0, 0]])
W_K2 = np.array([[0.0, 1], [1, 0], [0, 0], [0, 0]])
W_V = np.array([[0.0], [0], [0], [1]])  # (d, d_v) = (4, 1)
W_O = np.array([[1.0], [-1]])  # (2 d_v, 1)

output_1, map_1 = attention(x @ W_Q1, x @ W_K1, x @ W_V)
output_2, map_2 = attention(x @ W_Q2, x @ W_K2, x @ W_V)
difference = "head 1 − head 2"
both = "both heads"
routes = [("head 1", map_1), ("head 2", map_2), (difference, map_1 - map_2)]
order = [1, 0, 2]  # the verb first


def frame(r, place):
    """What head r fetches for a token, and what the output takes of it."""
    i = order[place]
    name, weights = routes[r]
    fetched = weights[i : i + 1] @ x[:, 3:]
    got, taken = (number(s * fetched[0, 0], ".4f") for s in (1, -1))
    seen = heatmap(
        weights,
        rows=words,
        columns=words,
        spec=".4f",
        name=name,
        scale=(-1, 1) if r == 2 else (0, 1),
        highlight=[(i, None)],
    )
    sums = product(
        weights[i : i + 1],
        x[:, 3:],
        fetched,
        names=(name if r == 2 else "weights", "values", "outputs"),
        roles=("weight", "value", "output"),
        row=0,
        column=0,
        spec=(".4f", ".0f", ".4f"),
    )
    caption = [
        f"Fetched: {got}.",
        f"Fetched: {got}. It enters the sum as {taken}.",
        f"Output: {got}.",
    ][r]
    label = f"{both if r == 2 else name}, {words[i]}"
    return Frame((str(r + 1), str(place + 1)), label, (seen, sums), caption)


stepper(
    "routes",
    [
        ("Head", ["head 1", "head 2", both]),
        ("Token", [words[i] for i in order]),
    ],
    [frame(r, place) for r in range(3) for place in range(3)],
    answer="3 3",
)
# --8<-- [end:routes]

# --8<-- [start:verb]
query, keys = x[1] @ W_Q1, x @ W_K1  # (d_k,), (n, d_k)
scores = keys @ query / sqrt(2)  # d_k = 2
weights = softmax(scores)
fetched = weights @ x[:, 3]  # the average of the speeds
check("this is what head 1 fetches", abs(fetched - output_1[1, 0]) < 1e-12)
table(
    np.column_stack([keys @ query, scores, weights, x[:, 3]]),
    columns=["dot product", "score", "weight", "speed"],
    index=words,
    spec=[".0f", ".4f", ".4f", ".0f"],
)
# --8<-- [end:verb]

# --8<-- [start:fetch]
flow(
    [
        [
            ("weights, head 1", "weight", map_1[1:2].T, ".4f", words),
            ("weights, head 2", "weight", map_2[1:2].T, ".4f", words),
        ],
        [
            ("fetched by head 1", "output", output_1[1], ".4f"),
            ("fetched by head 2", "output", output_2[1], ".4f"),
        ],
        (difference, "output", output_1[1] - output_2[1], ".4f"),
    ],
    arrows=[(0, 2, "× speeds"), (1, 3, "× speeds"), (2, 4), (3, 4)],
    title="the verb, through both heads",
)
# --8<-- [end:fetch]

# --8<-- [start:join]
joined = np.concatenate([output_1, output_2], axis=1)  # (n, 2 d_v)
outputs = joined @ W_O  # (n, 1)
table(
    np.column_stack([joined, outputs]),
    columns=["head 1", "head 2", "output"],
    index=words,
    spec=".4f",
)
# --8<-- [end:join]

# --8<-- [start:exact]
epsilon = 1 / (exp(6 / sqrt(2)) + 2)
print(f"ε = {number(epsilon, '.4f')}")
print(f"1 − 3ε = {number(1 - 3 * epsilon, '.4f')}")
two_heads = Parameters(
    W_q=np.concatenate([W_Q1, W_Q2], axis=1),  # (d, 2 d_k)
    W_k=np.concatenate([W_K1, W_K2], axis=1),
    W_v=np.concatenate([W_V, W_V], axis=1),
    W_o=W_O / (1 - 3 * epsilon),
)
subtracted = []
for s, t in ((7, 5), (5, 7), (0, 100), (-3, 1000)):
    rows = sentence(s, t)
    y, _ = multi_head_attention(rows, rows, rows, two_heads, num_heads=2)
    subtracted.append([s, t, y[1, 0]])
table(
    subtracted,
    columns=["her speed s", "his speed t", "output of the verb"],
    spec=["", "", ".4f"],
)
# --8<-- [end:exact]

# --8<-- [start:bounds]
reach = []
for beta in (1.0, -1.0):
    m = np.array([20, -20, 0, beta])  # f(x) = x·m
    for T in (10.0, 100.0):
        she, him = (0.0, T) if beta > 0 else (T, 0.0)
        f = sentence(she, him) @ m
        wanted = she - him
        inside = bool(f.min() <= wanted <= f.max())
        reach.append([beta, she, him, f.min(), f.max(), wanted, inside])
table(
    reach,
    columns=["β", "s", "t", "smallest f", "largest f", "s − t", "between?"],
    spec=".0f",
)
# --8<-- [end:bounds]

# --8<-- [start:random-heads]
rng = np.random.default_rng(SEED)
inside = 0
for _ in range(1000):
    w_q, w_k, w_v = rng.normal(size=(3, 4, 4))
    she, him = rng.uniform(-100, 100, size=2)
    tokens, w_o = sentence(she, him), rng.normal(size=4)
    y = (attention(tokens @ w_q, tokens @ w_k, tokens @ w_v)[0] @ w_o)[1]
    f = tokens @ w_v @ w_o
    inside += int(f.min() - 1e-9 <= y <= f.max() + 1e-9)
print(f"{inside} of 1000 outputs lie between the smallest and the largest f.")
# --8<-- [end:random-heads]

# --8<-- [start:added-first]
rng = np.random.default_rng(SEED)
head_outputs = rng.normal(size=(4, 20, 4))
blocks = rng.normal(size=(4, 4, 16))  # of W_O, one for each head
joined = (head_outputs @ blocks).sum(axis=0)
added_first = head_outputs.sum(axis=0) @ blocks[0]
ranks = [int(np.linalg.matrix_rank(one)) for one in (joined, added_first)]
print(f"joined: {ranks[0]}, added first: {ranks[1]}")
# --8<-- [end:added-first]

# --8<-- [start:sum]
M_1, M_2 = W_V @ W_O[:1], W_V @ W_O[1:]  # (d, 1) each
summed = map_1 @ x @ M_1 + map_2 @ x @ M_2
same = np.abs(summed - outputs).max() < 1e-12
check("the sum and the join agree to within 10⁻¹²", same)
heatmap(
    [map_1[1], map_2[1], map_1[1] - map_2[1]],
    rows=["head 1", "head 2", difference],
    columns=words,
    spec=".4f",
    scale=(-1, 1),
)
# --8<-- [end:sum]

# --8<-- [start:batched]
n, d_model, h = 5, 12, 3
d_head = d_model // h
W_q, W_k, W_v, W_o = rng.normal(size=(4, d_model, d_model))
b_q, b_k, b_v, b_o = rng.normal(size=(4, d_model))
p = Parameters(W_q, W_k, W_v, W_o, b_q, b_k, b_v, b_o)


def columns(r):
    """The columns of head r, counted from 0."""
    return slice(r * d_head, (r + 1) * d_head)


def loop_over_heads(query, key, value, p, mask=None):
    """Outputs and maps, one head after the other."""
    found = []
    for r in range(h):
        c = columns(r)
        q = query @ p.W_q[:, c] + (0 if p.b_q is None else p.b_q[c])
        k = key @ p.W_k[:, c] + (0 if p.b_k is None else p.b_k[c])
        v = value @ p.W_v[:, c] + (0 if p.b_v is None else p.b_v[c])
        found.append(attention(q, k, v, mask))
    return [o for o, _ in found], [a for _, a in found]


X = rng.normal(size=(2, n, d_model))  # two sequences
head_outputs, head_maps = loop_over_heads(X, X, X, p)
from_loop = np.concatenate(head_outputs, axis=-1) @ W_o + b_o
at_once, maps = multi_head_attention(X, X, X, p, num_heads=h)
print(f"Shape of the outputs: {at_once.shape}")
print(f"Shape of the weights: {maps.shape}")
loop_maps = np.stack(head_maps, axis=1)
check("outputs agree to within 10⁻¹²", np.abs(from_loop - at_once).max() < 1e-12)
check("weights agree to within 10⁻¹²", np.abs(loop_maps - maps).max() < 1e-12)
# --8<-- [end:batched]

# --8<-- [start:random-routes]
M = [W_v[:, columns(r)] @ W_o[columns(r)] for r in range(h)]  # (d, d) each
constant = b_v @ W_o + b_o
routed = sum(maps[:, r] @ X @ M[r] for r in range(h)) + constant
same = np.abs(routed - at_once).max() < 1e-12
check("the sum over heads gives the same outputs to within 10⁻¹²", same)
ranks = [np.linalg.matrix_rank(one, rtol=1e-9) for one in M]
table([ranks], columns=[f"M_{r + 1}" for r in range(h)], index=["rank"])
# --8<-- [end:random-routes]

# --8<-- [start:key-bias]
same = []
for name in ("b_k", "b_q"):
    without, _ = multi_head_attention(X, X, X, p._replace(**{name: None}), h)
    same.append([bool(np.abs(without - at_once).max() < 1e-12)])
table(same, columns=["outputs the same without it?"], index=["b_k", "b_q"])
# --8<-- [end:key-bias]

# --8<-- [start:real]
from attention_docs.heads import load_measurements, load_vectors

read = [word.strip() for word in load_measurements()["words"][:12]]  # the last of them is it
chosen = {"layer 13, head 8": (13, 8), "layer 16, head 0": (16, 0)}


def look(layer, head):
    """Where the last of these tokens looks, from the real queries and keys of a head."""
    q, k = (one[:12] for one in load_vectors(layer, head, rotated=True))
    return attention(q, k, k, causal_mask(12))[1][-1]


at_it = np.column_stack([look(*head) for head in chosen.values()])  # (token, head)
heatmap(at_it, rows=read, columns=list(chosen), scale=(0, 1), name="the weights of “it”")
# --8<-- [end:real]

# --8<-- [start:side-by-side]
of_heads = load_measurements()
kinds = ("previous token", "induction", "sink")
picked = {"layer 16, head 0": (16, 0), "layer 18, head 6": (18, 6), "layer 3, head 1": (3, 1)}
table(
    [
        *([of_heads[kind][layer][head] for kind in kinds] for layer, head in picked.values()),
        [np.mean(of_heads[kind]) for kind in kinds],
    ],
    columns=["the token before", "the one after an earlier copy", "the first token"],
    index=[*picked, "mean of all heads"],
    spec=".2f",
)
# --8<-- [end:side-by-side]

# --8<-- [start:configurations]
# d, query heads, key and value heads, d_k = d_v; from the sources below
models = {
    "Transformer base": (512, 8, 8, 64),
    "BERT base": (768, 12, 12, 64),
    "GPT-3": (12288, 96, 96, 128),
    "T5 11B": (1024, 128, 128, 128),
    "Gemma 7B": (3072, 16, 16, 256),
    "Gemma 2B": (2048, 8, 1, 256),
    "Llama 3 8B": (4096, 32, 8, 128),
    "Qwen3 0.6B": (1024, 16, 8, 128),
    "Qwen3 4B": (2560, 32, 8, 128),
}
share, rows = {}, []
for name, (d, h, g, d_k) in models.items():
    N = parameter_count(d, h, bias=False, d_head=d_k, kv_heads=g)
    share[name] = N / d**2
    rows.append([d, h, g, d_k, h * d_k / d, N, share[name]])
table(
    rows,
    columns=["d", "h", "g", "d_k", "h·d_k/d", "N", "N/d²"],
    index=list(models),
    spec=["", "", "", "", ".2f", ",", ".2f"],
)
# --8<-- [end:configurations]

# --8<-- [start:grouped]
h, g, n, d_k = 4, 2, 5, 3
q = rng.normal(size=(h, n, d_k))
k, v = rng.normal(size=(2, g, n, d_k))  # a key head for every 2 query heads
one_by_one = [attention(q[r], k[r // 2], v[r // 2])[0] for r in range(h)]
k_each = np.repeat(k, h // g, axis=0)  # (h, n, d_k)
v_each = np.repeat(v, h // g, axis=0)
at_once, _ = attention(q, k_each, v_each)
same = np.abs(np.stack(one_by_one) - at_once).max() < 1e-12
check("one by one and all at once agree to within 10⁻¹²", same)
table(
    [[groups, 2 * groups * d_k] for groups in (h, g, 1)],
    columns=["g", "numbers per token"],
)
# --8<-- [end:grouped]

# --8<-- [start:count]
import torch
from torch import nn

from attention_docs.nn import MultiHeadAttention

torch.manual_seed(SEED)
counts, rows = {}, []
for heads in (1, 2, 4, 8, 16, 32, 64):
    theirs = nn.MultiheadAttention(64, heads)
    ours = MultiHeadAttention(64, heads)
    counts[heads] = sum(one.numel() for one in theirs.parameters())
    own = sum(one.numel() for one in ours.parameters())
    formula = parameter_count(64, heads)
    rows.append([heads, 64 // heads, formula, counts[heads], own])
table(rows, columns=["h", "d/h", "formula", "PyTorch", "this package"])
# --8<-- [end:count]

# --8<-- [start:trade]
import torch
from torch.utils.flop_counter import FlopCounterMode

d, n = 64, 16
X = rng.normal(size=(n, d))
X_torch = torch.from_numpy(X)[None]
trade = []
for heads in (1, 2, 4, 8, 16, 32, 64):
    layer = MultiHeadAttention(d, heads, dtype=torch.float64)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        _, weights = layer(X_torch)
    flops = counter.get_total_flops()  # multiplications and additions
    W_q, W_k = rng.normal(size=(2, d, d // heads))  # one head
    scores = dot(X @ W_q, X @ W_k)
    rank = int(np.linalg.matrix_rank(scores, rtol=1e-9))
    maps, exponentials = weights.shape[1], weights.numel()
    trade.append([heads, d // heads, maps, rank, flops // 2, exponentials])
formula = 4 * n * d**2 + 2 * n**2 * d
same = all(row[4] == formula for row in trade)
check("the formula gives every count of multiply-adds", same)
table(
    trade,
    columns=["h", "d_k", "maps", "rank", "multiply-adds", "exponentials"],
)
# --8<-- [end:trade]

# --8<-- [start:size-1]
q = np.array([[-3.0], [-2], [-1], [1], [2], [3], [4], [5]])  # (n, 1)
k = np.array([[2.0], [-4], [1], [7], [0], [-1], [5], [3]])
favourites = scaled_dot(q, k).argmax(axis=1) + 1
table(
    [[q[i, 0], favourites[i], k[favourites[i] - 1, 0]] for i in range(8)],
    columns=["query q_i", "favourite key", "its k_j"],
    index=[f"token {i + 1}" for i in range(8)],
    spec=".0f",
)
# --8<-- [end:size-1]

# --8<-- [start:size-2]
angle = 2 * pi * np.arange(8) / 8
points = 5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)  # (n, 2)
circle = softmax(scaled_dot(points, points))
own_weights = circle.diagonal()
check("the own weight is the same for all tokens", np.ptp(own_weights) < 1e-12)
print(f"Favourites: {text(circle.argmax(axis=1) + 1, 'd')}")
print(f"Weight of a token for itself: {number(own_weights[0], '.4f')}")
heatmap(circle, row_axis="query", column_axis="key", name="weights", spec=".2f")
# --8<-- [end:size-2]

# --8<-- [start:size-7]
aim, rest = 0.9, 0.1 / 7  # the token's own weight, and each of the other seven
target = np.full((8, 8), rest) + (aim - rest) * np.eye(8)
alpha = log(aim / rest)
centred = np.eye(8) - 1 / 8
print(f"rank {np.linalg.matrix_rank(centred, rtol=1e-9)}")
print(f"α = {number(alpha, '.4f')}")
U = np.linalg.eigh(centred)[1][:, 1:]  # (8, 7) with U Uᵀ = I - 1/8
exact_map = softmax(scaled_dot(alpha * sqrt(7) * U, U))
check(
    "a head of dimension 7 gives the map to within 10⁻¹²",
    np.abs(exact_map - target).max() < 1e-12,
)
# --8<-- [end:size-7]

# --8<-- [start:published]
# Vaswani et al. 2017, table 3, base model and rows (A); typed from the paper
published = {1: (5.29, 24.9), 4: (5.00, 25.5), 8: (4.92, 25.8)}
published |= {16: (4.91, 25.8), 32: (5.01, 25.4)}
table(
    [[heads, 512 // heads, *scores] for heads, scores in published.items()],
    columns=["h", "d_k", "perplexity", "BLEU"],
    spec=["", "", ".2f", ".1f"],
)
# --8<-- [end:published]

# --8<-- [start:split]
queries = 10.0 * np.arange(1, 4)[:, None] + np.arange(1, 5)  # x W_Q, (3, 4)
pieces = queries.reshape(3, 2, 2)  # (n, h, d/h)
heads = np.moveaxis(pieces, 1, 0)  # (h, n, d/h)
same = np.array_equal(heads, split_heads(queries, 2))
check("`split_heads` does both steps", same)
check("`join_heads` undoes them", np.array_equal(join_heads(heads), queries))
flow(
    [
        ("x W_Q", "query", queries, ".0f", ["token 1", "token 2", "token 3"]),
        [(f"head {r + 1}", "query", heads[r], ".0f") for r in (0, 1)],
    ],
)
# --8<-- [end:split]

# --8<-- [start:mistake-moved]
rng = np.random.default_rng(SEED)
W = rng.normal(size=(3, 4, 4))


def reshape_alone(x, h):
    """WRONG: cuts the numbers in the order in which they lie in memory."""
    batch, n, d = x.shape
    return x.reshape(-1, batch, n, d // h)


def right_layer(x):
    """Split, attend, join."""
    q, k, v = (split_heads(x @ one, 2) for one in W)
    out, weights = attention(q, k, v)
    return join_heads(out), weights


def wrong_layer(x):
    """WRONG: split and joined by reshape alone."""
    q, k, v = (reshape_alone(x @ one, 2) for one in W)
    out, weights = attention(q, k, v)
    return out.reshape(x.shape), weights


def half_right_layer(x):
    """WRONG: joined as it should be, but split by reshape alone."""
    q, k, v = (reshape_alone(x @ one, 2) for one in W)
    out, weights = attention(q, k, v)  # (heads, batch, n, d_v)
    return join_heads(np.moveaxis(out, 0, 1)), weights


def moved(layer, sequence, token):
    """Which outputs of which sequence move when one token changes."""
    other = two_sequences.copy()
    other[sequence, token] += 1
    change = np.abs(layer(other)[0] - layer(two_sequences)[0]).max(axis=-1)
    rows = [np.flatnonzero(row > 1e-9) + 1 for row in change]
    return [", ".join(map(str, row)) or "none" for row in rows]


two_sequences = rng.normal(size=(2, 4, 4))
layers = [right_layer, wrong_layer, half_right_layer]
table(
    [moved(layer, 0, 3) for layer in layers],  # token 4 of sequence 1
    columns=["moved in sequence 1", "moved in sequence 2"],
    index=["split and joined right", "both by reshape", "only the join right"],
)
# --8<-- [end:mistake-moved]

# --8<-- [start:mistake-reshape]
b, t, c = np.ogrid[1:3, 1:5, 1:5]
tags = 100.0 * b + 10 * t + c  # sequence, token, component: (2, 4, 4)
wrong_split, right_split = reshape_alone(tags, 2), split_heads(tags, 2)
table(
    [
        [r + 1, s + 1, i + 1, wrong_split[r, s, i], right_split[s, r, i]]
        for r in (0, 1)
        for s in (0, 1)
        for i in range(4)
    ],
    columns=["head", "sequence", "token", "wrong split", "right split"],
    spec=".0f",
)
# --8<-- [end:mistake-reshape]

# --8<-- [start:mistake-filed]
other = two_sequences.copy()
other[0, 3] += 1
before, after = wrong_layer(two_sequences)[1], wrong_layer(other)[1]
filed = [
    (r + 1, s + 1)
    for r in (0, 1)
    for s in (0, 1)
    if np.abs(before[r, s] - after[r, s]).max() > 1e-9
]
table(filed, columns=["head", "sequence"])
# --8<-- [end:mistake-filed]

# --8<-- [start:mistake-import]
try:
    exec("import torch\nimport torch.nn\n\nclass Layer(nn.Module): ...", {})
except NameError as error:
    print(f"NameError: {error}")
# --8<-- [end:mistake-import]

# --8<-- [start:mistake-import-right]
exec("from torch import nn\n\nclass Layer(nn.Module): ...", {})
# --8<-- [end:mistake-import-right]

# --8<-- [start:mistake-join]
stacked = np.stack([output_1, output_2])  # (h, n, d_v) = (2, 3, 1)
wrong_joined = stacked.reshape(3, 2)  # WRONG
right_joined = join_heads(stacked)  # (n, h d_v) = (3, 2)
table(
    [
        stacked[0, :, 0],
        stacked[1, :, 0],
        wrong_joined,
        (wrong_joined @ W_O)[:, 0],
        right_joined,
        (right_joined @ W_O)[:, 0],
    ],
    columns=words,
    index=[
        "head 1",
        "head 2",
        "wrong row",
        "its output",
        "right row",
        "its output",
    ],
    spec=".4f",
)
# --8<-- [end:mistake-join]

# --8<-- [start:mistake-leak]
keep = causal_mask(3)
leaks = []
for him in (5, 9):
    tokens = sentence(7, him)
    heads = [
        attention(tokens @ W_Q, tokens @ W_K, tokens @ W_V, keep)[0]
        for W_Q, W_K in ((W_Q1, W_K1), (W_Q2, W_K2))
    ]
    wrong = np.stack(heads).reshape(3, 2) @ W_O
    right = join_heads(np.stack(heads)) @ W_O
    leaks += [[him, "wrong", *wrong[:2, 0]], [him, "right", *right[:2, 0]]]
table(
    leaks,
    columns=["his speed t", "join", "output 1", "output 2"],
    spec=["", "", ".4f", ".4f"],
)
# --8<-- [end:mistake-leak]

# --8<-- [start:mistake-view]
stored = torch.arange(12).reshape(2, 3, 2)  # (h, n, d_v), one number after the other
moved = stored.transpose(0, 1)  # (n, h, d_v)
copied = moved.contiguous()
try:
    moved.view(3, 4)  # WRONG
except RuntimeError as error:
    print(f"RuntimeError: {error}")
check("transpose moved no number", moved.data_ptr() == stored.data_ptr())
check("contiguous did", copied.data_ptr() != stored.data_ptr())
check("reshape gives the same rows", torch.equal(moved.reshape(3, 4), copied.view(3, 4)))
table(
    [[*one.shape, *one.stride()] for one in (stored, moved, copied)],
    columns=["axis 1", "axis 2", "axis 3", "step 1", "step 2", "step 3"],
    index=["from the heads", "transposed", "contiguous"],
    spec=".0f",
)
# --8<-- [end:mistake-view]

# --8<-- [start:mistake-scale]
raw = (x @ W_Q1 @ (x @ W_K1).T)[1]  # scores of the verb in head 1
divisors = [1, 2, sqrt(2)]
table(
    [softmax(raw / divisor) for divisor in divisors],
    columns=words,
    index=["÷ 1", "÷ √d", "÷ √d_k"],
    spec=".4f",
)
# --8<-- [end:mistake-scale]

# --8<-- [start:torch-sentence]
import torch
from torch import nn

torch.manual_seed(SEED)
double = {"batch_first": True, "dtype": torch.float64}
mha = nn.MultiheadAttention(4, 2, bias=False, **double)
for name, parameter in mha.named_parameters():
    print(f"{name}: {tuple(parameter.shape)}")
zero = np.zeros((4, 1))
W_values = np.concatenate([W_V, zero, W_V, zero], axis=1)  # d_v = 2
W_out = np.zeros((4, 4))
W_out[0, 3], W_out[2, 3] = 1, -1  # into component 4
with torch.no_grad():
    stacked = np.concatenate([two_heads.W_q, two_heads.W_k, W_values], axis=1)
    mha.in_proj_weight.copy_(torch.from_numpy(stacked.T))
    mha.out_proj.weight.copy_(torch.from_numpy(W_out.T))
    one = torch.from_numpy(x)[None]
    torch_outputs, torch_map = mha(one, one, one)  # query, key, value
    _, torch_maps = mha(one, one, one, average_attn_weights=False)
outputs_differ = np.abs(torch_outputs[0, :, 3:].numpy() - outputs).max()
weights_differ = np.abs(torch_maps[0].numpy() - np.stack([map_1, map_2])).max()
check("outputs agree to within 10⁻¹²", outputs_differ < 1e-12)
check("weights agree to within 10⁻¹²", weights_differ < 1e-12)
table(
    torch_outputs[0],
    columns=[f"component {c}" for c in (1, 2, 3, 4)],
    index=words,
    spec=".4f",
)
# --8<-- [end:torch-sentence]

# --8<-- [start:torch-tools]
torch.manual_seed(SEED)


def their_gradients(mha):
    """Of the four matrices, then of the four biases."""
    found = [*mha.in_proj_weight.grad.chunk(3), mha.out_proj.weight.grad]
    if mha.in_proj_bias is not None:
        found += [*mha.in_proj_bias.grad.chunk(3), mha.out_proj.bias.grad]
    return found


def our_gradients(layer):
    """The same of the package's module, in the same order."""
    maps = (layer.query, layer.key, layer.value, layer.output)
    biases = [one.bias.grad for one in maps if one.bias is not None]
    return [one.weight.grad for one in maps] + biases


def results(run, inputs, gradients, layer, loss):
    """Outputs, weights, and the gradients of inputs and parameters."""
    for one in inputs:
        one.grad = None
    out, weights = run(*inputs)
    (out * loss).sum().backward()
    return [[out], [weights], [one.grad for one in inputs] + gradients(layer)]


def far(ours, theirs):
    """The largest absolute difference of two lists of tensors."""
    pairs = zip(ours, theirs, strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


# --8<-- [end:torch-tools]

# --8<-- [start:torch-table]
batch, n_q, n_k, d_model, h = 2, 5, 7, 12, 3


def compare(bias=True, alike=False, dtype=torch.float64, mask=None, **masks):
    """Largest errors of loop and module: outputs, weights, gradients."""
    options = {"bias": bias, "batch_first": True, "dtype": dtype}
    mha = nn.MultiheadAttention(d_model, h, **options)
    if bias:  # they start at 0, where a mistake would hide
        nn.init.normal_(mha.in_proj_bias)
        nn.init.normal_(mha.out_proj.bias)
    query = torch.randn(batch, n_q, d_model, dtype=dtype)
    key, value = torch.randn(2, batch, n_k, d_model, dtype=dtype)
    inputs = [query] if alike else [query, key, value]
    inputs = [one.clone().requires_grad_() for one in inputs]
    loss = torch.randn(batch, n_q, d_model, dtype=dtype)  # sum(loss · outputs)
    looped, batched = (MultiHeadAttention.from_torch(mha) for _ in range(2))

    def run_theirs(q, k=None, v=None):
        k, v = (q, q) if alike else (k, v)
        return mha(q, k, v, average_attn_weights=False, **masks)

    def run_loop(q, k=None, v=None):
        k, v = (q, q) if alike else (k, v)
        each = mask if mask is None or mask.ndim == 2 else mask[:, 0]
        out, maps = loop_over_heads(q, k, v, looped.parameters_by_name(), each)
        return looped.output(torch.cat(out, dim=-1)), torch.stack(maps, dim=1)

    def run_batched(q, k=None, v=None):
        return batched(q, k, v, mask)

    theirs = results(run_theirs, inputs, their_gradients, mha, loss)
    loop = results(run_loop, inputs, our_gradients, looped, loss)
    module = results(run_batched, inputs, our_gradients, batched, loss)
    return [list(map(far, one, theirs)) for one in (loop, module)]


causal = causal_mask(n_q, n_k, like=torch.empty(0))  # True takes part
padding = padding_mask(torch.tensor([[7], [4]]), n_k)  # (batch, 1, 1, n_k)
added = torch.randn(n_q, n_k, dtype=torch.float64)
cases = {
    "X = X = X": {"alike": True},
    "query, key, value": {},
    "bias=False": {"bias": False},
    "attn_mask, bool": {"mask": causal, "attn_mask": ~causal},
    "attn_mask, float": {"mask": added, "attn_mask": added},
    "key_padding_mask": {
        "mask": padding,
        "key_padding_mask": ~padding[:, 0, 0],
    },
    "float32": {"dtype": torch.float32},
}
print(f"torch {torch.__version__.split('+')[0]}")
agreement = []
for name, case in cases.items():
    bound = 1e-4 if "dtype" in case else 1e-12
    for way, errors in zip(("loop", "module"), compare(**case), strict=True):
        below = [error < bound for error in errors]
        agreement.append([name, way, bound, *below])
table(
    agreement,
    columns=[
        "inputs",
        "computed by",
        "bound",
        "outputs",
        "weights",
        "gradients",
    ],
    spec=".0e",
)
# --8<-- [end:torch-table]

# --8<-- [start:fused]
draw = np.random.default_rng(SEED)
tokens, fused = draw.normal(size=(5, 12)), draw.normal(size=(12, 36))  # [W_Q W_K W_V]
W_parts = np.split(fused, 3, axis=1)
parts = np.split(tokens @ fused, 3, axis=1)  # as chunk(3, dim=-1)
whole = all(np.allclose(part, tokens @ W) for part, W in zip(parts, W_parts, strict=True))
check("the three parts are X W_Q, X W_K and X W_V", whole)
nudged = tokens + np.eye(12)[0]  # component 1 of every token
reached = (np.abs(nudged @ fused - tokens @ fused)[:, :12] > 1e-9).all(axis=0).sum()
widths = {
    "chunk(3)": [part.shape[-1] for part in torch.empty(1, 32).chunk(3, dim=-1)],
    "split([16, 8, 8])": [16, 8, 8],
}
table(list(widths.values()), columns=["queries", "keys", "values"], index=list(widths))
# --8<-- [end:fused]

# --8<-- [start:mistake-average]
from_average = np.abs(torch_map[0].numpy() - (map_1 + map_2) / 2).max()
check("it is the mean of our two maps to within 10⁻¹²", from_average < 1e-12)
table(torch_map[0], columns=words, index=words, spec=".4f")  # what mha returned
# --8<-- [end:mistake-average]

# --8<-- [start:mistake-average-right]
one = torch.from_numpy(x)[None]
_, torch_maps = mha(one, one, one, average_attn_weights=False)
table(
    [[r + 1, words[i], *torch_maps[0, r, i]] for r in (0, 1) for i in range(3)],
    columns=["head", "query", *words],
    spec=["", "", ".4f", ".4f", ".4f"],
)
# --8<-- [end:mistake-average-right]

# --8<-- [start:fifteen-lines]
import numpy as np


def plain_attention(X, W_Q, W_K, W_V, W_O, h, mask):
    """Outputs of h heads for X (…, n, d); True in the mask: may look."""

    # * passes the sizes one by one; -1 in reshape is the size that is left
    def split(Z):  # (…, n, d) → (…, h, n, d/h)
        return Z.reshape(*Z.shape[:-1], h, -1).swapaxes(-3, -2)

    Q, K, V = split(X @ W_Q), split(X @ W_K), split(X @ W_V)
    # @ multiplies the matrices of the last two axes, for each of the others
    scores = Q @ K.swapaxes(-2, -1)  # (…, h, n, n)
    scores = scores / np.sqrt(Q.shape[-1])  # d_k, of one head
    scores = np.where(mask, scores, -np.inf)
    scores = scores - scores.max(axis=-1, keepdims=True)  # no overflow
    weights = np.exp(scores)
    weights = weights / weights.sum(axis=-1, keepdims=True)  # sum 1
    outputs = (weights @ V).swapaxes(-3, -2)  # (…, n, h, d/h)
    outputs = outputs.reshape(*X.shape[:-1], -1)  # side by side
    return outputs @ W_O


# --8<-- [end:fifteen-lines]

# --8<-- [start:fifteen-lines-package]
own = np.random.default_rng(15)
four = own.normal(size=(4, 12, 12)) / sqrt(12)  # W_Q, W_K, W_V, W_O
two_texts = own.normal(size=(2, 4, 12))  # (batch, n, d)
may_look = causal_mask(4)
plain = plain_attention(two_texts, *four, 3, may_look)
unscaled = plain_attention(two_texts, 2 * four[0], *four[1:], 3, may_look)  # √d_k = 2
package = multi_head_attention(*[two_texts] * 3, Parameters(*four), 3, may_look)[0]
differ = np.abs(plain - package).max()
check("all outputs of both sequences agree to within 10⁻¹²", differ < 1e-12)
table(
    [one[0, :, 0] for one in (plain, package, unscaled)],
    columns=numbered("token", 4),
    index=["fifteen lines", "the package", "without ÷ √d_k (wrong)"],
    spec=".4f",
)
# --8<-- [end:fifteen-lines-package]

# --8<-- [start:fifteen-lines-torch]
import torch
from torch import nn

theirs = nn.MultiheadAttention(12, 3, bias=False, batch_first=True).double()
with torch.no_grad():
    theirs.in_proj_weight.copy_(torch.from_numpy(np.concatenate(four[:3], axis=1).T))
    theirs.out_proj.weight.copy_(torch.from_numpy(four[3].T))
    given = torch.from_numpy(two_texts)
    wanted, _ = theirs(given, given, given, attn_mask=torch.from_numpy(~may_look))
check("PyTorch's outputs differ by 10⁻¹² at most", np.abs(plain - wanted.numpy()).max() < 1e-12)
table([wanted.numpy()[0, :, 0]], columns=numbered("token", 4), index=["PyTorch"], spec=".4f")
# --8<-- [end:fifteen-lines-torch]

# --8<-- [start:exercise-join]
rows = np.array([[3 / 4, 1 / 4], [1 / 2, 1 / 2]])  # of heads 1 and 2
o_1, o_2 = rows[0] @ [8, 4], rows[1] @ [2, 6]
print(f"head 1: {number(o_1, '.0f')}")
print(f"head 2: {number(o_2, '.0f')}")
print(f"output: {number(o_1 - 2 * o_2, '.0f')}")
# --8<-- [end:exercise-join]

# --8<-- [start:exercise-fixed]
d = 512
table(
    [[h, h * 3 * d * 64 + h * 64 * d, 4 * d * d] for h in (1, 4, 8, 16)],
    columns=["h", "parameters", "4d²"],
    spec=",",
)
# --8<-- [end:exercise-fixed]

# --8<-- [start:exercise-order]
order = [2, 3, 0, 1]  # columns of head 2, then those of head 1
swapped = Parameters(
    two_heads.W_q[:, order],
    two_heads.W_k[:, order],
    two_heads.W_v[:, [1, 0]],
    two_heads.W_o,  # left alone
)
wrong, _ = multi_head_attention(x, x, x, swapped, num_heads=2)
swapped = swapped._replace(W_o=two_heads.W_o[[1, 0]])
right, _ = multi_head_attention(x, x, x, swapped, num_heads=2)
table(
    [wrong[:, 0], right[:, 0]],
    columns=words,
    index=["W_O left alone", "rows of W_O swapped"],
    spec=".4f",
)
# --8<-- [end:exercise-order]

# --8<-- [start:exercise-equal]
twice = Parameters(
    *(np.concatenate([one, one], axis=1) for one in (W_Q1, W_K1, W_V)),
    W_o=np.array([[2.0], [3]]),
)
once = Parameters(W_Q1, W_K1, W_V, W_o=np.array([[5.0]]))
double, _ = multi_head_attention(x, x, x, twice, num_heads=2)
single, _ = multi_head_attention(x, x, x, once, num_heads=1)
check("both layers agree to within 10⁻¹²", np.abs(double - single).max() < 1e-12)
table(
    [double[:, 0], single[:, 0]],
    columns=numbered("token", 3),
    index=["two equal heads", "one head"],
    spec=".4f",
)
# --8<-- [end:exercise-equal]

# --8<-- [start:exercise-two-steps]
d_model, d_head, h = 12, 4, 3
rows = rng.normal(size=(5, d_model))
W_first = rng.normal(size=(d_model, d_model))  # q = x W_Q, for all heads
W_second = rng.normal(size=(h, d_model, d_head))  # then one matrix per head
in_two = [rows @ W_first @ W_second[r] for r in range(h)]
in_one = [rows @ (W_first @ W_second[r]) for r in range(h)]
same = np.abs(np.stack(in_two) - np.stack(in_one)).max() < 1e-12
check("in two steps and in one agree to within 10⁻¹²", same)
print(f"Parameters in two steps: {W_first.size + W_second.size}")
print(f"Parameters in one step: {h * d_model * d_head}")
# --8<-- [end:exercise-two-steps]

# --8<-- [start:exercise-mask]
scores = np.zeros((2, 2, 3, 3))  # (batch, heads, n, n)
short = padding_mask(np.array([[2], [3]]), 3)[:, 0]  # WRONG: (batch, 1, n)
wrong = softmax(np.where(short, scores, -np.inf))
right = softmax(np.where(short[:, None], scores, -np.inf))  # (batch, 1, 1, n)
places = [(0, 0), (0, 1), (1, 0), (1, 1)]  # sequence, head
table(
    [[s + 1, r + 1, wrong[s, r, 0, 2], right[s, r, 0, 2]] for s, r in places],
    columns=["sequence", "head", "with the wrong mask", "with the right mask"],
    spec=["", "", ".4f", ".4f"],
)
# --8<-- [end:exercise-mask]

# --8<-- [start:exercise-any]
from fractions import Fraction

wanted = [Fraction(c) for c in (1, -2, 1, 0)]
above, below = [max(c, 0) + 1 for c in wanted], [max(-c, 0) + 1 for c in wanted]
p, m = sum(above), sum(below)
a, b = [c / p for c in above], [c / m for c in below]
print(f"p = {p}, m = {m}")
both = zip(a, b, strict=True)
table(
    [[str(one), str(other), int(p * one - m * other)] for one, other in both],
    columns=["a", "b", "p·a − m·b"],
)
# --8<-- [end:exercise-any]


# --8<-- [start:writing]
def your_heads(x, h):
    """Split x (n, d) into h heads (h, n, d/h)."""
    return x  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_heads(x, h):
    n, d = x.shape
    return x.reshape(n, h, d // h).swapaxes(0, 1)


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

writing = Task(
    model_heads,
    inputs=[
        (np.arange(2).reshape(1, 2), 2),
        (np.arange(8).reshape(2, 4), 2),
        (np.arange(18).reshape(3, 6), 2),
        (np.arange(30).reshape(5, 6), 3),
        (np.arange(28).reshape(2, 14) / 2, 7),
    ],
    mistakes={
        "`reshape` alone tears tokens apart: split the last axis, then move the heads forward.": (
            lambda x, h: x.reshape(h, len(x), -1)
        ),
        "The heads still stand behind the tokens: swap these two axes.": (
            lambda x, h: x.reshape(len(x), h, -1)
        ),
        "A head gets every h-th component, but it must get neighbours.": (
            lambda x, h: x.reshape(len(x), -1, h).transpose(2, 0, 1)
        ),
    },
    draw=lambda rng: (halves(rng, 5, 12), int(rng.choice([2, 3, 4, 6]))),
)
judge(your_heads, writing)
# --8<-- [end:writing-checks]
