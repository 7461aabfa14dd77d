"""The attention function: shapes, dropout, agreement with PyTorch, its code."""

# --8<-- [start:setup]
import ast
import inspect
import warnings
from fractions import Fraction
from functools import partial
from itertools import product
from math import log, sqrt

import numpy as np
import torch
from torch import nn
from torch.autograd import grad, gradcheck
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attention_docs.attention_function import attention, drop
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import flow, heatmap, numbered
from attention_docs.masking import causal_mask
from attention_docs.score_functions import scaled_dot
from attention_docs.softmax import softmax
from attention_docs.text import text

SEED = 0
torch.manual_seed(0)  # what torch's modules start with
# --8<-- [end:setup]

# --8<-- [start:example]
queries, keys, values = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
mask = causal_mask(3)
outputs, weights = attention(queries, keys, values, mask)
print(text(weights, ".4f"))
print(text(outputs, ".4f"))
scores = scaled_dot(queries, keys)
masked = np.where(mask, scores, -np.inf)
flow(
    [
        [("queries", "query", queries, ".0f"), ("keys", "key", keys, ".0f")],
        ("scores", "score", scores, ".2f"),
        ({"en": "masked scores", "zh": "掩码后的分数"}, "score", masked, ".2f"),
        [("weights", "weight", weights, ".4f"), ("values", "value", values, ".0f")],
        ("outputs", "output", outputs, ".4f"),
    ],
    arrows=[(0, 2), (1, 2), (2, 3), (3, 4), (4, 6), (5, 6)],
)
# --8<-- [end:example]

# --8<-- [start:shapes]
batch, heads, n_q, n_k, d_k, d_v = 2, 3, 5, 7, 4, 6
rng = np.random.default_rng(SEED)
query = rng.normal(size=(batch, heads, n_q, d_k))
key = rng.normal(size=(batch, heads, n_k, d_k))
value = rng.normal(size=(batch, heads, n_k, d_v))
output, weights = attention(query, key, value)
tensors = {"query": query, "key": key, "key transposed": key.mT, "weights": weights}
tensors |= {"value": value, "output": output}
for name, tensor in tensors.items():
    print(f"{name:15}", tensor.shape)
# --8<-- [end:shapes]

# --8<-- [start:loop]
looped = np.empty_like(output)
for b in range(batch):
    for h in range(heads):
        looped[b, h], _ = attention(query[b, h], key[b, h], value[b, h])
print(np.abs(looped - output).max() < 1e-12)
one_head = attention(query, key[:, :1], value[:, :1])[0]  # keys shared by all heads
copied = attention(query, key[:, [0, 0, 0]], value[:, [0, 0, 0]])[0]
print(one_head.shape, np.abs(one_head - copied).max() < 1e-12)
# --8<-- [end:loop]

# --8<-- [start:sizes]
agreed = {"n_q": 5, "n_k": 7, "n_v": 7, "d_q": 4, "d_k": 4, "d_v": 6}
changes = [{name: 9} for name in agreed] + [{"n_k": 9, "n_v": 9}, {"d_q": 9, "d_k": 9}]
tried = []  # what changed, and what came out
for change in changes:
    n = agreed | change
    arrays = [np.ones((n[f"n_{x}"], n[f"d_{x}"])) for x in "qkv"]
    try:
        result = f"output {attention(*arrays)[0].shape}"
    except ValueError as error:
        result = str(error)
    tried.append((" and ".join(change), result))
    print(f"{tried[-1][0]} = 9: {result}")
# --8<-- [end:sizes]

# --8<-- [start:dropout]
p = Fraction(1, 4)  # a weight is dropped with probability p
exact = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]  # weights of one query
samples = []  # probability, weights after dropout
for keep in product((1, 0), repeat=3):
    probability = (1 - p) ** sum(keep) * p ** (3 - sum(keep))
    dropped = [m * w / (1 - p) for m, w in zip(keep, exact, strict=True)]
    samples.append((probability, dropped))
    shown = ", ".join(f"{w!s:>3}" for w in dropped)
    print(keep, f"probability {probability!s:>5}", end="  ")
    print(f"weights {shown}  sum {sum(dropped)}")
row_sums = [sum(dropped) for _, dropped in samples]
expected = [sum(P * w[j] for P, w in samples) for j in range(3)]
print("probabilities sum to", sum(P for P, _ in samples))
print("expected weights", *expected)
print("expected sum", sum(expected))
# --8<-- [end:dropout]

# --8<-- [start:dropout-output]
v = np.array([[8.0, 0], [0, 8], [8, 8]])  # (n_k, d_v)
k = np.array([[log(1)], [log(2)], [log(5)]])  # with the query 1: weights 1/8, 2/8, 5/8
q = np.array([[1.0]])
average = np.zeros((1, 2))
for keep, (probability, _) in zip(product((1, 0), repeat=3), samples, strict=True):
    dropout = partial(drop, keep=np.array([keep]) == 1, p=0.25)
    output, returned = attention(q, k, v, dropout=dropout)
    average += float(probability) * output
    print(keep, "output", text(output[0], ".4f"))
print("expected output", text(average, ".4f"))
without, _ = attention(q, k, v)
print("without dropout", text(without, ".4f"))
print("weights returned", text(returned, ".4f"))
# --8<-- [end:dropout-output]

# --8<-- [start:modes]
layer = nn.Dropout(0.25)
tensor = torch.from_numpy(weights)  # (batch, heads, n_q, n_k)
layer.eval()
print("evaluation: unchanged", torch.equal(layer(tensor), tensor))
layer.train()
sample = layer(tensor)  # random: we print only what holds for every sample
grown = torch.isclose(sample, tensor / 0.75)
print("training: dropped or divided by 0.75", bool((grown | (sample == 0)).all()))


class Attention(nn.Module):
    """Attention with dropout; right says whether p depends on the mode."""

    def __init__(self, p, right):
        super().__init__()
        self.p, self.right = p, right

    def forward(self, q, k, v):
        p = self.p if self.training or not self.right else 0.0
        return sdpa(q, k, v, dropout_p=p)


tensors = [torch.from_numpy(a) for a in (query, key, value)]
dropped_in_eval = {}
for right in (True, False):
    result = Attention(p=1.0, right=right).eval()(*tensors)  # p = 1 drops every weight
    dropped_in_eval[right] = bool((result == 0).all())
    print(f"evaluation, right={right!s:5}: everything dropped", dropped_in_eval[right])
# --8<-- [end:modes]

# --8<-- [start:agreement]
shapes = [  # (query, key, value)
    ((5, 3), (7, 3), (7, 2)),
    ((2, 5, 4), (2, 7, 4), (2, 7, 6)),
    ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4)),
    ((3, 2, 4, 1, 16), (3, 2, 4, 11, 16), (3, 2, 4, 11, 16)),
    ((2, 3, 33, 64), (2, 3, 29, 64), (2, 3, 29, 64)),
    ((2, 1, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4)),  # one head of queries for three of keys
]
bounds = {torch.float64: 1e-12, torch.float32: 1e-5}
bounds |= {torch.float16: 2e-2, torch.bfloat16: 2e-1}
generator = torch.Generator().manual_seed(SEED)


def normal(shape, dtype):
    """Standard normal numbers, rounded to a dtype."""
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def masks(n_q, n_k, dtype):
    """No mask, and one of every kind."""
    chosen = torch.rand(n_q, n_k, generator=generator) < 0.6
    chosen[:, 0] = True  # no empty row
    shifts = normal((n_q, n_k), dtype)
    shifts[:, -1] = -torch.inf
    first_empty = torch.ones(n_q, n_k, dtype=torch.bool)
    first_empty[0] = False
    causal = causal_mask(n_q, n_k, like=chosen)
    return {
        "none": None,
        "bool": chosen,
        "float": shifts,
        "causal": causal,
        "empty row": first_empty,
    }


def errors(query, key, value, mask):
    """Largest absolute difference from SDPA: of the outputs, and of the gradients."""
    leaves = [a.requires_grad_() for a in (query, key, value)]
    ours, _ = attention(*leaves, mask)
    theirs = sdpa(*leaves, attn_mask=mask)
    upstream = normal(ours.shape, ours.dtype)
    gradients = [grad(one, leaves, upstream) for one in (ours, theirs)]
    forward = float((ours - theirs).detach().abs().max())
    pairs = zip(*gradients, strict=True)
    return forward, max(float((a - b).abs().max()) for a, b in pairs)


worst = {}
for dtype in bounds:
    for triple in shapes:
        for name, m in masks(triple[0][-2], triple[1][-2], dtype).items():
            found = errors(*(normal(shape, dtype) for shape in triple), m)
            worst.setdefault((dtype, name), []).append(found)
print("torch", torch.__version__.split("+")[0], "-", len(shapes), "shapes each")
agreement = {}
for (dtype, name), found in worst.items():
    bound = bounds[dtype]
    largest = [max(column) for column in zip(*found, strict=True)]
    forward, backward = (f"< {bound:.0e}" if x < bound else f"{x:.0e}" for x in largest)
    agreement[dtype, name] = forward, backward
    print(f"{str(dtype)[6:]:9} {name:10} forward {forward}  backward {backward}")
# --8<-- [end:agreement]

# --8<-- [start:control]
for dtype, bound in bounds.items():
    q, k, v = (normal(shape, dtype) for shape in shapes[4])
    scaled, _ = attention(q, k, v)
    unscaled = sdpa(q, k, v, scale=1.0)  # wrong on purpose
    above = bool((scaled - unscaled).abs().max() > bound)
    print(f"{str(dtype)[6:]:9} without the scale: above the bound", above)
# --8<-- [end:control]

# --8<-- [start:gradcheck]
checked = 0
for triple in shapes[:3]:
    arrays = [normal(shape, torch.float64).requires_grad_() for shape in triple]
    for m in masks(triple[0][-2], triple[1][-2], torch.float64).values():
        kept = torch.rand(triple[0][-2], triple[1][-2], generator=generator) < 0.75
        for dropout in (None, partial(drop, keep=kept, p=0.25)):
            fixed = partial(attention, mask=m, dropout=dropout)
            checked += gradcheck(lambda *a, f=fixed: f(*a)[0], arrays)
print("gradcheck passed", checked, "times")
# --8<-- [end:gradcheck]

# --8<-- [start:annotated]


def annotated(query, key, value, mask=None, dropout=None):
    """The function of the Annotated Transformer, as it is often copied."""
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


q, k, v = (normal(shape, torch.float64) for shape in shapes[2])
m = causal_mask(q.shape[-2], k.shape[-2], like=q)
same = torch.allclose(annotated(q, k, v, m)[0], attention(q, k, v, m)[0], atol=1e-12)
print("causal mask: the same outputs", same)
m = m.clone()
m[0] = False  # query 1 sees no key
print("empty row:   theirs", text(annotated(q, k, v, m)[1][0, 0, 0], ".4f"))
print("empty row:   ours  ", text(attention(q, k, v, m)[1][0, 0, 0], ".4f"))
# --8<-- [end:annotated]

# --8<-- [start:whole]


def code(function):
    """The source of a function from its module, without the docstring."""
    lines = inspect.getsource(function).splitlines()
    docstring = ast.parse("\n".join(lines)).body[0].body[0]
    return "\n".join(lines[: docstring.lineno - 1] + lines[docstring.end_lineno :])


print(code(attention))
# --8<-- [end:whole]

# --8<-- [start:mistake-transpose]
print("key.T ", key.T.shape)
print("key.mT", key.mT.shape)
try:
    query @ key.T
except ValueError:
    print("query @ key.T: ValueError")
three = np.arange(27.0).reshape(3, 3, 3) % 4  # (batch, n, d), all three alike
wrong = three @ three.T
right = three @ three.mT
print("three sequences: (3, 3, 3) @ .T has the shape", wrong.shape)
print(text(wrong[0], ".0f"))
print(text(right[0], ".0f"))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.from_numpy(three).T
print("torch:", *[w.category.__name__ for w in caught])
# --8<-- [end:mistake-transpose]

# --8<-- [start:mistake-plot]
keep = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1]]) == 1  # fixed, not drawn
dropout = partial(drop, keep=keep, p=0.25)
_, plotted = attention(queries, keys, values, dropout=dropout)
after = dropout(plotted)
print(text(after, ".4f"), "sums", text(after.sum(axis=1), ".4f"))
print(text(plotted, ".4f"), "sums", text(plotted.sum(axis=1), ".4f"))
labels = {"rows": numbered("query", 3), "columns": numbered("key", 3)}
mha = nn.MultiheadAttention(4, 2, dropout=1.0, batch_first=True)  # p = 1 drops all
x = torch.ones(1, 3, 4)
for training in (True, False):
    _, returned = mha.train(training)(x, x, x)
    print(f"MHA, training={training!s:5} sums", text(returned[0].sum(dim=1), ".4f"))
name = {"en": "after dropout", "zh": "dropout 之后"}
heatmap(after, name=name, spec=".4f", scale=(0, 1.4), **labels)
# --8<-- [end:mistake-plot]

# --8<-- [start:mistake-sizes]


def from_value(query, key, value):
    """Wrong: takes the size for the scale from the values."""
    d_k = value.shape[-1]
    return softmax(query @ key.mT / sqrt(d_k)) @ value


for d in (3, 2):
    cut = values[:, :d]  # the same values, with fewer components
    print(f"d_v = {d}: wrong", text(from_value(queries, keys, cut)[0], ".4f"), end="  ")
    print("right", text(attention(queries, keys, cut)[0][0], ".4f"))
# --8<-- [end:mistake-sizes]

# --8<-- [start:exercise-1]
u = [[8, 0], [0, 8], [8, 8]]  # the values
for c in range(2):
    totals = [(P, sum(w[j] * u[j][c] for j in range(3))) for P, w in samples]
    mean = sum(P * x for P, x in totals)
    variance = sum(P * (x - mean) ** 2 for P, x in totals)
    formula = p / (1 - p) * sum((exact[j] * u[j][c]) ** 2 for j in range(3))
    print(f"component {c + 1}: mean {mean}, variance {variance}, formula {formula}")
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-2]
renormalised = [Fraction(0)] * 3
for probability, dropped in samples:
    if sum(dropped):  # the sample with nothing left has no sum to divide by
        for j in range(3):
            renormalised[j] += probability * dropped[j] / sum(dropped)
print("expected weights", *renormalised)
print("wanted          ", *exact)
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
swap = [2, 0, 1]  # another order of the keys and their values
moved, _ = attention(queries, keys[swap], values[swap])
unmoved, _ = attention(queries, keys, values)
print("keys and values together:", np.abs(moved - unmoved).max() < 1e-12)
moved, _ = attention(queries, keys[swap], values)
print("keys alone:              ", np.abs(moved - unmoved).max() < 1e-12)
# --8<-- [end:exercise-3]
