"""The attention function: axes, sizes, dropout, agreement with PyTorch, its code."""

# --8<-- [start:mistake-transpose]
import numpy as np

from attention_docs.figures import beside, heatmap
from attention_docs.text import text

three = np.arange(27.0).reshape(3, 3, 3) % 4  # (batch, n, d), query and key alike
wrong = three @ three.T
right = three @ three.mT
other = three.copy()
other[2] += 1  # another third sequence
of_wrong = "stay" if np.array_equal((other @ other.T)[0], wrong[0]) else "change"
of_right = "stay" if np.array_equal((other @ other.mT)[0], right[0]) else "change"
print(f".T:  shape {wrong.shape}, scores of sequence 1 {of_wrong}")
print(f".mT: shape {right.shape}, scores of sequence 1 {of_right}")
beside(
    *(
        heatmap(
            scores[0],
            name=f"scores of sequence 1, {how}",
            role="score",
            spec=".0f",
        )
        for how, scores in ((".T", wrong), (".mT", right))
    )
)
# --8<-- [end:mistake-transpose]

# --8<-- [start:setup]
import ast
import inspect
from fractions import Fraction
from functools import partial
from itertools import product
from math import log, sqrt

from attention_docs.attention_function import attention, drop
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import Frame, flow, numbered, stepper, table
from attention_docs.masking import causal_mask
from attention_docs.score_functions import scaled_dot
from attention_docs.softmax import softmax
from attention_docs.text import check

SEED = 0
# --8<-- [end:setup]

# --8<-- [start:example]
queries, keys, values = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
mask = causal_mask(3)
outputs, weights = attention(queries, keys, values, mask)
flow(
    [
        [("queries", "query", queries, ".0f"), ("keys", "key", keys, ".0f")],
        ("scores", "score", scaled_dot(queries, keys), ".2f", None, mask),
        [
            ("weights", "weight", weights, ".4f", None, mask),
            ("values", "value", values, ".0f"),
        ],
        ("outputs", "output", outputs, ".4f"),
    ],
    arrows=[(0, 2), (1, 2), (2, 3), (3, 5), (4, 5)],
)
# --8<-- [end:example]

# --8<-- [start:shapes]
batch, heads, n_q, n_k, d_k, d_v = 2, 3, 5, 7, 4, 6
rng = np.random.default_rng(SEED)
query = rng.normal(size=(batch, heads, n_q, d_k))
key = rng.normal(size=(batch, heads, n_k, d_k))
value = rng.normal(size=(batch, heads, n_k, d_v))
scores = query @ key.mT
output, weights = attention(query, key, value)
table(
    [
        [str(query.shape), str(key.mT.shape), str(scores.shape)],
        [str(weights.shape), str(value.shape), str(output.shape)],
    ],
    columns=["left factor", "right factor", "product"],
    index=["QKᵀ", "AV"],
)
# --8<-- [end:shapes]

# --8<-- [start:loop]
looped = np.empty_like(output)
for b in range(batch):
    for h in range(heads):
        looped[b, h], _ = attention(query[b, h], key[b, h], value[b, h])
check("the batched product is the loop", np.abs(looped - output).max() < 1e-12)
one_head = attention(query, key[:, :1], value[:, :1])[0]  # shared by all heads
copied = attention(query, key[:, [0, 0, 0]], value[:, [0, 0, 0]])[0]
same = np.abs(one_head - copied).max() < 1e-12
check("one shared head of keys and values acts like three copies", same)
print(f"shape of the output with shared keys: {one_head.shape}")
# --8<-- [end:loop]

# --8<-- [start:control]
SIZES = {"batch": 2, "heads": 3, "n_q": 5, "n_k": 7, "d_k": 4, "d_v": 6}
AXES = {
    "query": ("batch", "heads", "n_q", "d_k"),
    "key": ("batch", "heads", "n_k", "d_k"),
    "value": ("batch", "heads", "n_k", "d_v"),
    "weights": ("batch", "heads", "n_q", "n_k"),
    "output": ("batch", "heads", "n_q", "d_v"),
}
GIVEN = ("query", "key", "value")
ALONE = dict.fromkeys(SIZES, "key") | {"n_q": "query", "d_v": "value"}
tried = {}  # what each change gave: the shape of the output, or None


def attempt(size, everywhere):
    """Shapes with one size made 9, in one input or in all that have it."""
    changed = [t for t in AXES if size in AXES[t]] if everywhere else [ALONE[size]]
    shapes = {}
    for tensor, axes in AXES.items():
        sizes = SIZES | ({size: 9} if tensor in changed else {})
        shapes[tensor] = [sizes[axis] for axis in axes]
    try:
        result, a = attention(*(np.ones(shapes[tensor]) for tensor in GIVEN))
        shapes["weights"], shapes["output"] = list(a.shape), list(result.shape)
        tried[size, everywhere] = result.shape
    except ValueError:
        tried[size, everywhere] = None
    return shapes


def shape_frame(size, everywhere):
    """The table of shapes under one change, and what the function says to it."""
    shapes = attempt(size, everywhere)
    works = tried[size, everywhere] is not None
    outlined = [
        (i, j)
        for i, (tensor, axes) in enumerate(AXES.items())
        for j in range(4)
        if shapes[tensor][j] == 9 and (works or tensor in GIVEN)
    ]
    alone = ALONE[size]
    others = [t for t in GIVEN if size in AXES[t] and t != alone]
    where = "in every input that has it" if everywhere else f"in the {alone} alone"
    label = f"{size} = 9, {where}"
    if works:
        caption = f"Output {tried[size, everywhere]}."
    elif len(others) == 1:
        caption = f"Refused: it also appears in {others[0]}."
    else:
        caption = f"Refused: it also appears in {others[0]} and {others[1]}."
    drawing = heatmap(
        [shapes[tensor] for tensor in AXES],
        rows=["query", "key", "value", "weights", "output"],
        columns=[
            "batch",
            "heads",
            "rows",
            "columns",
        ],
        role="neutral",
        spec="d",
        scale=(0, 90),
        highlight=outlined,
        allowed=[[works or tensor in GIVEN] * 4 for tensor in AXES],
    )
    at = (str(1 + list(SIZES).index(size)), str(1 + everywhere))
    return Frame(at, label, (drawing,), caption)


stepper(
    "sizes",
    [
        ("Size", list(SIZES)),
        (
            "Changed in",
            ["one input", "every input"],
        ),
    ],
    [shape_frame(size, everywhere) for size in SIZES for everywhere in (False, True)],
    answer="3 1",
)
# --8<-- [end:control]

# --8<-- [start:mistake-sizes]


def from_value(query, key, value):
    """Wrong: takes the size for the scale from the values."""
    d_k = value.shape[-1]
    return softmax(query @ key.mT / sqrt(d_k)) @ value


unlike, alike = {}, {}
for d in (3, 2):
    cut = values[:, :d]  # the same values, with fewer components
    unlike[d] = from_value(queries, keys, cut)[0]
    alike[d] = attention(queries, keys, cut)[0][0]
table(
    [[unlike[3]], [alike[3]], [unlike[2]], [alike[2]]],
    columns=["output 1"],
    index=[f"d_v = {d}, {which}" for d in (3, 2) for which in ("wrong", "correct")],
    spec=".4f",
)
# --8<-- [end:mistake-sizes]

# --8<-- [start:sizes]
agreed = {"n_q": 5, "n_k": 7, "n_v": 7, "d_q": 4, "d_k": 4, "d_v": 6}
changes = [{name: 9} for name in agreed]
changes += [{"n_k": 9, "n_v": 9}, {"d_q": 9, "d_k": 9}]
answers = []
for change in changes:
    n = agreed | change
    arrays = [np.ones((n[f"n_{x}"], n[f"d_{x}"])) for x in ("q", "k", "v")]
    try:
        answers.append([str(attention(*arrays)[0].shape)])
    except ValueError as error:
        answers.append([str(error)])
table(
    answers,
    columns=["shape of the output, or error"],
    index=[f"{' = '.join(change)} = 9" for change in changes],
)
# --8<-- [end:sizes]

# --8<-- [start:dropout]
p = Fraction(1, 4)
a = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]
samples = []  # probability, weights after dropout
for r in product((1, 0), repeat=3):
    probability = (1 - p) ** sum(r) * p ** (3 - sum(r))
    dropped = [r[j] * a[j] / (1 - p) for j in range(3)]
    samples.append((probability, dropped))
expected = [sum(P * w[j] for P, w in samples) for j in range(3)]


def fractions(probability, weights):
    """Exact numbers of a row, as text."""
    return [str(probability), ", ".join(map(str, weights)), str(sum(weights))]


average = sum(P for P, _ in samples), expected
table(
    [fractions(*row) for row in (*samples, average)],
    columns=["probability", "weights after dropout", "sum"],
    index=[*(str(r) for r in product((1, 0), repeat=3)), "expectation"],
)
# --8<-- [end:dropout]

# --8<-- [start:dropout-output]
v = np.array([[8.0, 0], [0, 8], [8, 8]])  # (n_k, d_v)
k = np.array([[log(1)], [log(2)], [log(5)]])
q = np.array([[1.0]])  # weights 1/8, 2/8, 5/8
average, sampled = np.zeros(2), []
for r, (probability, _) in zip(product((1, 0), repeat=3), samples, strict=True):
    dropout = partial(drop, keep=np.array([r]) == 1, p=0.25)
    one_output, returned = attention(q, k, v, dropout=dropout)
    average += float(probability) * one_output[0]
    sampled.append([one_output[0]])
without, _ = attention(q, k, v)
print(f"returned weights: {text(returned[0], '.4f')}")
table(
    [*sampled, [average], [without[0]]],
    columns=["output"],
    index=[*(str(r) for r in product((1, 0), repeat=3)), "expectation", "without dropout"],
    spec=".4f",
)
# --8<-- [end:dropout-output]

# --8<-- [start:modes]
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa


class Attention(nn.Module):
    """Attention with dropout; right says whether p depends on the mode."""

    def __init__(self, p, right):
        super().__init__()
        self.p, self.right = p, right

    def forward(self, q, k, v):
        p = self.p if self.training or not self.right else 0.0
        return sdpa(q, k, v, dropout_p=p)


torch.manual_seed(SEED)
# One key: its weight is 1, and after dropout with p = 1/2 it is 0 or 2.
lone = [torch.ones(1, 4, 2), torch.ones(1, 1, 2), torch.ones(1, 1, 2)]
layer = nn.Dropout(0.5)
unchanged = [
    ["nn.Dropout, eval()", bool((layer.eval()(lone[0]) == 1).all())],
    ["nn.Dropout, train()", bool((layer.train()(lone[0]) == 1).any())],
]
for knows in (True, False):
    result = Attention(p=0.5, right=knows).eval()(*lone)
    unchanged.append([f"Attention, right={knows}, eval()", bool((result == 1).all())])
mha = nn.MultiheadAttention(2, 1, dropout=0.5, batch_first=True)
for mode, training in (("train", True), ("eval", False)):
    _, one_weight = mha.train(training)(*[torch.ones(1, 1, 2)] * 3)
    unchanged.append([f"weights of MHA, {mode}()", bool((one_weight == 1).all())])
table(unchanged, columns=["module and mode", "unchanged?"])
# --8<-- [end:modes]

# --8<-- [start:mistake-plot]
keep = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1]]) == 1  # fixed, not drawn
dropout = partial(drop, keep=keep, p=0.25)
_, plotted = attention(queries, keys, values, dropout=dropout)
after = dropout(plotted)
print(f"sums of the rows after dropout:  {text(after.sum(axis=1), '.4f')}")
print(f"sums of the rows before dropout: {text(plotted.sum(axis=1), '.4f')}")
queries_3, keys_3 = numbered("query", 3), numbered("key", 3)
drawn = partial(heatmap, rows=queries_3, columns=keys_3, spec=".4f", scale=(0, 1.4))
beside(
    drawn(after, name="after dropout"),
    drawn(plotted, name="before dropout"),
)
# --8<-- [end:mistake-plot]

# --8<-- [start:row-sums]
dropped, draws = 0.2, np.random.default_rng(1)
row_sums = []
for size in (1, 4, 256):
    keep_these = draws.random((10_000, size)) >= dropped
    sums_ = drop(np.full((10_000, size), 1 / size), keep_these, dropped).sum(axis=1)
    expected_spread = sqrt(dropped / ((1 - dropped) * size))
    row_sums.append([sums_.max(), sums_.mean(), sums_.std(), expected_spread])
table(
    row_sums,
    columns=["largest sum", "mean", "standard deviation", "√(p / ((1 − p) n))"],
    index=["1 key", "4 keys", "256 keys"],
    spec=".2f",
)
# --8<-- [end:row-sums]

# --8<-- [start:agreement]
import torch
from torch.autograd import grad

shapes = [  # (query, key, value)
    ((5, 3), (7, 3), (7, 2)),
    ((2, 5, 4), (2, 7, 4), (2, 7, 6)),
    ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4)),
    ((3, 2, 4, 1, 16), (3, 2, 4, 11, 16), (3, 2, 4, 11, 16)),
    ((2, 3, 33, 64), (2, 3, 29, 64), (2, 3, 29, 64)),
    ((2, 1, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4)),  # one head of queries for three
]
dtypes = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
generator = torch.Generator().manual_seed(SEED)


def normal(shape, dtype):
    """Standard normal numbers, rounded to a dtype."""
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    return drawn.to(dtype)


def masks(n_q, n_k, dtype):
    """No mask, and one of every kind."""
    chosen = torch.rand(n_q, n_k, generator=generator) < 0.6
    chosen[:, 0] = True  # no fully masked row
    shifts = normal((n_q, n_k), dtype)
    shifts[:, -1] = -torch.inf
    one_empty = torch.ones(n_q, n_k, dtype=torch.bool)
    one_empty[0] = False
    causal = causal_mask(n_q, n_k, like=chosen)
    return [None, chosen, shifts, causal, one_empty]


def errors(query, key, value, mask):
    """Largest difference from SDPA: of the outputs, and of the gradients."""
    leaves = [a.requires_grad_() for a in (query, key, value)]
    ours, _ = attention(*leaves, mask)
    theirs = sdpa(*leaves, attn_mask=mask)
    upstream = normal(ours.shape, ours.dtype)
    gradients = [grad(one, leaves, upstream) for one in (ours, theirs)]
    forward = float((ours - theirs).detach().abs().max())
    pairs = zip(*gradients, strict=True)
    return forward, max(float((a - b).abs().max()) for a, b in pairs)


version = torch.__version__.split("+")[0]
print("torch", version)
agreement = {}
for dtype in dtypes:
    found = [
        errors(*(normal(shape, dtype) for shape in triple), m)
        for triple in shapes
        for m in masks(triple[0][-2], triple[1][-2], dtype)
    ]
    bound = 64 * torch.finfo(dtype).eps
    q, k, v = (normal(shape, dtype) for shape in shapes[4])
    ours, theirs = attention(q, k, v)[0], sdpa(q, k, v)
    unscaled = float((ours - sdpa(q, k, v, scale=1.0)).abs().max())
    found_all = [max(column) for column in zip(*found, strict=True)]
    below = [x < bound for x in (*found_all, unscaled)]
    exact, _ = attention(*(one.to(torch.float64) for one in (q, k, v)))
    once = exact.to(dtype)  # rounded once, at the end
    share = [float((one == once).double().mean()) for one in (ours, theirs)]
    more = "–" if dtype is torch.float64 else share[1] > 1.25 * share[0]
    agreement[str(dtype)[6:]] = [int(np.log2(bound)), *below, more]
table(
    list(agreement.values()),
    columns=[
        "log₂(64 ε)",
        "outputs within?",
        "gradients within?",
        "without √d_k within?",
        "does SDPA round better?",
    ],
    index=list(agreement),
)
# --8<-- [end:agreement]

# --8<-- [start:gradcheck]
from torch.autograd import gradcheck

checked = 0
for triple in shapes[:3]:
    arrays = [normal(shape, torch.float64).requires_grad_() for shape in triple]
    for m in masks(triple[0][-2], triple[1][-2], torch.float64):
        size = triple[0][-2], triple[1][-2]
        kept = torch.rand(size, generator=generator) < 0.75
        for dropout in (None, partial(drop, keep=kept, p=0.25)):
            fixed = partial(attention, mask=m, dropout=dropout)
            # The largest shape has too many inputs to move one by one.
            checked += gradcheck(lambda *a, f=fixed: f(*a)[0], arrays, fast_mode=len(triple[0]) > 3)
print(f"checks passed: {checked}")
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
theirs, ours = annotated(q, k, v, m), attention(q, k, v, m)
check("with a causal mask both agree", torch.allclose(theirs[0], ours[0], rtol=0, atol=1e-12))
m = m.clone()
m[0] = False  # query 1 sees no key
table(
    [annotated(q, k, v, m)[1][0, 0, 0], attention(q, k, v, m)[1][0, 0, 0]],
    columns=numbered("key", 7),
    index=["annotated", "package"],
    spec=".4f",
)
# --8<-- [end:annotated]

# --8<-- [start:whole]


def code(function):
    """The source of a function from its module, without the docstring."""
    lines = inspect.getsource(function).splitlines()
    docstring = ast.parse("\n".join(lines)).body[0].body[0]
    return "\n".join(lines[: docstring.lineno - 1] + lines[docstring.end_lineno :])


print(code(attention))
# --8<-- [end:whole]

# --8<-- [start:exercise-shapes]
q, k = np.ones((8, 12, 1, 64)), np.ones((8, 1, 30, 64))
o, s = attention(q, k, np.ones((8, 1, 30, 128)))
print(f"weights {s.shape}, output {o.shape}")
# --8<-- [end:exercise-shapes]

# --8<-- [start:exercise-3]
swap = [2, 0, 1]  # another order of the keys and their values
unmoved, _ = attention(queries, keys, values)
together, _ = attention(queries, keys[swap], values[swap])
keys_alone, _ = attention(queries, keys[swap], values)
table(
    [[np.abs(moved - unmoved).max() < 1e-12] for moved in (together, keys_alone)],
    columns=["does the output stay?"],
    index=["keys and values reordered", "keys alone reordered"],
)
# --8<-- [end:exercise-3]

# --8<-- [start:exercise-swap]
square = np.random.default_rng(SEED).normal(size=(2, 3, 3, 3))  # heads = n = d
swapped = square @ square.swapaxes(1, 2)
proper = square @ square.swapaxes(-2, -1)
compared = [[swapped.shape == proper.shape, np.allclose(swapped, proper)]]
distinct = np.random.default_rng(SEED).normal(size=(2, 3, 5, 4))
try:
    distinct @ distinct.swapaxes(1, 2)
except ValueError as error:
    compared.append([type(error).__name__, None])
table(
    compared,
    columns=["shape right?", "numbers right?"],
    index=["equal sizes", "different sizes"],
)
# --8<-- [end:exercise-swap]

# --8<-- [start:exercise-2]
renormalised = [Fraction(0)] * 3
for probability, dropped in samples:
    if sum(dropped):  # with nothing left there is no sum to divide by
        for j in range(3):
            renormalised[j] += probability * dropped[j] / sum(dropped)
table(
    [[str(x) for x in row] for row in (a, renormalised)],
    columns=numbered("key", 3),
    index=["weight", "expectation, renormalised"],
)
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-1]
u = [[8, 0], [0, 8], [8, 8]]  # the values
moments = []
for c in range(2):
    totals = [(P, sum(w[j] * u[j][c] for j in range(3))) for P, w in samples]
    mean = sum(P * x for P, x in totals)
    variance = sum(P * (x - mean) ** 2 for P, x in totals)
    formula = p / (1 - p) * sum((a[j] * u[j][c]) ** 2 for j in range(3))
    moments.append([str(mean), str(variance), str(formula)])
table(
    moments,
    columns=["expectation", "variance", "by the formula"],
    index=numbered("component", 2),
)
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-scores]
gaps = np.array([0.0, 1.0, 2.0])
kept_share = np.zeros(3)
for r in product((True, False), repeat=3):
    if any(r):  # the scores of what is dropped are −∞
        P = 0.75 ** sum(r) * 0.25 ** (3 - sum(r))
        kept_share += P * softmax(np.where(r, gaps, -np.inf))
table(
    [[*w, w.sum()] for w in (softmax(gaps), kept_share)],
    columns=[*numbered("key", 3), "sum"],
    index=["weights", "expectation"],
    spec=".4f",
)
# --8<-- [end:exercise-scores]


# --8<-- [start:writing]
def your_masked_attention(query, key, value, mask):
    """Attention (…, n_q, d_v); mask (n_q, n_k): True where to look."""
    return value  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_masked_attention(query, key, value, mask):
    scores = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])
    scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ value


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

one_token, causal = np.ones((1, 4)), np.tri(2, dtype=bool)
two_queries, two_keys = np.arange(8.0).reshape(2, 4) / 4, 1 - np.eye(2, 4)
two_values = np.array([[8.0, 0, 1], [0, 8, 1]])
batch = [np.stack([one, one[::-1]])[..., :3] for one in (two_queries, two_keys, two_values)]


def with_scores(change):
    """Attention with scores that are changed by the mask in another way."""
    return lambda q, k, v, mask: (
        softmax(change(q @ k.swapaxes(-2, -1) / np.sqrt(q.shape[-1]), mask)) @ v
    )


def draw_case(rng):
    *front, n_q, n_k, d_k, d_v = rng.permutation([2, 3, 4, 5, 6, 7, 8])
    mask = np.arange(n_k) <= rng.integers(1, n_k, size=(n_q, 1))
    return (
        halves(rng, *front, n_q, d_k),
        halves(rng, *front, n_k, d_k),
        halves(rng, *front, n_k, d_v),
        mask,
    )


writing = Task(
    model_masked_attention,
    inputs=[
        (one_token, one_token, np.array([[3.0]]), np.array([[True]])),
        (two_queries, two_keys, two_values, causal),
        (*batch, causal),
        (
            300 * np.eye(3, 5),
            -300 * np.eye(4, 5),
            np.arange(8.0).reshape(4, 2),
            np.eye(3, 4) + np.eye(3, 4, 2) > 0,
        ),
    ],
    mistakes={
        "The mask is not used.": with_scores(lambda s, mask: s),
        "The polarity is inverted: True means that a query may look there.": (
            with_scores(lambda s, mask: np.where(mask, -np.inf, s))
        ),
        "Scores were multiplied by the mask: a score of 0 still has a weight.": (
            with_scores(lambda s, mask: s * mask)
        ),
        "Masked after softmax: the weights that are left do not sum to 1.": (
            lambda q, k, v, mask: (
                np.where(mask, softmax(q @ k.swapaxes(-2, -1) / np.sqrt(q.shape[-1])), 0) @ v
            )
        ),
        "The division by √d_k is missing.": (
            lambda q, k, v, mask: model_masked_attention(q * np.sqrt(q.shape[-1]), k, v, mask)
        ),
    },
    draw=draw_case,
)
judge(your_masked_attention, writing)
# --8<-- [end:writing-checks]
