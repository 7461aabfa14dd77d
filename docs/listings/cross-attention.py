"""Cross-attention: what was before it, how it works, what it costs, and a map that is read."""

# --8<-- [start:written]
from fractions import Fraction
from math import log, sqrt

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.cross_attention import (
    DecoderParameters,
    cross_attention_backward,
    cross_attention_flops,
    decoder_block,
)
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import Frame, diagram, heatmap, stepper, table
from attention_docs.learning import self_attention_backward
from attention_docs.masking import causal_mask, padding_mask
from attention_docs.multi_head import Parameters, multi_head_attention
from attention_docs.softmax import softmax
from attention_docs.text import check

SEED = 2014
START, END = 10, 11  # two tokens that are not numbers
ONE_HOT = np.eye(12)


def lists(rng, count, shortest, longest):
    """Source, target as it is fed, target as it is wanted, lengths."""
    shuffled = rng.random((count, 10)).argsort(axis=1)[:, :longest]
    lengths = rng.integers(shortest, longest + 1, count)
    shuffled = np.where(np.arange(longest) < lengths[:, None], shuffled, END)
    source = np.hstack([shuffled, np.full((count, 1), END)])
    wanted = np.sort(source, axis=1)
    begin = np.full((count, 1), START)
    return source, np.hstack([begin, wanted[:, :-1]]), wanted, lengths + 1


def train(seed, causal=False, steps=200, eta=10.0, d_k=8):
    """W_Q, W_K and W_V of one cross-attention layer that sorts, and its losses."""
    rng = np.random.default_rng(seed)
    shapes = ((12, d_k), (12, d_k), (12, 12))
    parameters = [rng.standard_normal(shape) / sqrt(12) for shape in shapes]
    losses = []
    for _ in range(steps):
        source, fed, wanted, lengths = lists(rng, 32, 3, 5)
        T, X, goal = ONE_HOT[fed], ONE_HOT[source], ONE_HOT[wanted]
        n = source.shape[1]
        mask = padding_mask(lengths, n)  # of the source
        mask = mask & causal_mask(n) if causal else mask
        W_Q, W_K, W_V = parameters
        logits, A = attention(T @ W_Q, X @ W_K, X @ W_V, mask)
        p = softmax(logits)
        counted = (np.arange(n) < lengths[:, None]) / lengths.sum()
        losses.append(float(-(np.log((p * goal).sum(axis=-1)) * counted).sum()))
        dO = (p - goal) * counted[..., None]
        slopes = cross_attention_backward(T, X, *parameters, A, dO)[2:]
        parameters = [W - eta * dW for W, dW in zip(parameters, slopes, strict=True)]
    return parameters, losses


def write(parameters, source, causal=False):
    """The tokens that are written for each source, and the last weights."""
    W_Q, W_K, W_V = parameters
    X = ONE_HOT[source]
    count, n = source.shape
    tokens = np.full((count, 1), START)
    for t in range(1, n + 1):
        mask = causal_mask(t, n) if causal else None
        logits, A = attention(ONE_HOT[tokens] @ W_Q, X @ W_K, X @ W_V, mask)
        following = logits[:, -1:].argmax(axis=-1)  # the last row alone
        tokens = np.hstack([tokens, following])
    return tokens[:, 1:], A


def shown(tokens):
    """Numbers as they are, the end as a square."""
    return " ".join("■" if token == END else str(int(token)) for token in tokens)


sorter, losses = train(SEED)
example = np.array([[7, 2, 9, 0, 5, 4, END]])
written, alignment = write(sorter, example)
table([[shown(example[0]), shown(written[0])]], columns=["read", "written"])
# --8<-- [end:written]


# --8<-- [start:paths]
def count_steps(n, find_offsets):
    """Steps until the last of n tokens depends on the first, and where each step looks back."""
    depends, steps = np.arange(n) == 0, 0
    while not depends[-1]:
        places = np.arange(n)[:, None] - find_offsets(steps)  # (n, offsets)
        inside = (places >= 0) & (places < n)
        depends = (depends[places.clip(0, n - 1)] & inside).any(axis=1)
        steps += 1
    return steps


rows = []
for n in (10, 100, 1000):
    kinds = (
        lambda step: np.array([0, 1]),
        lambda step: np.arange(-2, 3),  # two neighbours on each side
        lambda step: 5**step * np.arange(5),  # five places, each time five times as far apart
        lambda step, n=n: np.arange(-n, n),
    )
    rows.append([n, *(count_steps(n, kind) for kind in kinds)])
table(
    rows,
    columns=["n", "recurrent", "window, r = 2", "window, growing gaps", "self-attention"],
    name="Steps between the first token and the last",
)
# --8<-- [end:paths]

# --8<-- [start:pencil]
T = np.array([[1.0], [0]])  # target (2, 1)
X = np.array([[log(1), 8], [log(2), 4], [log(5), 0]])  # source (3, 2)
W_Q = np.array([[1.0]])
W_K = np.array([[1.0], [0]])
W_V = np.array([[0.0], [1]])
O, A = attention(T @ W_Q, X @ W_K, X @ W_V)
table(
    np.hstack([A, O]),  # (2, 3) and (2, 1)
    columns=["key 1", "key 2", "key 3", "output"],
    index=["query 1", "query 2"],
    spec=[".3f", ".3f", ".3f", ".0f"],
)
# --8<-- [end:pencil]

# --8<-- [start:as-self]
n = 3
source, target = INPUTS, INPUTS[:2] + 1
both = np.vstack([source, target])  # (5, 4)
mask = np.zeros((5, 5), dtype=bool)
mask[:, :n] = True  # columns of the source, for every row
itself, _ = attention(both @ W_QUERY, both @ W_KEY, both @ W_VALUE, mask)
cross, _ = attention(target @ W_QUERY, source @ W_KEY, source @ W_VALUE)
gap = np.abs(itself[n:] - cross).max()
check("both ways agree to within 10⁻¹²", gap < 1e-12)
table(
    [[itself[n + i], cross[i]] for i in range(2)],
    columns=["self-attention with the mask", "cross-attention"],
    index=["output 1", "output 2"],
    spec=".4f",
)
# --8<-- [end:as-self]


# --8<-- [start:exact]
def exact(T, X, mask=None):
    """Outputs in fractions: powers of 2 in place of e, no root."""
    Q, K, V = T @ W_QUERY, X @ W_KEY, X @ W_VALUE
    rows = []
    for i, q in enumerate(Q):
        seen = [mask is None or mask[i, j] for j in range(len(K))]
        powers = [Fraction(2) ** int(q @ k) for k in K]
        kept = [m * power for m, power in zip(seen, powers, strict=True)]
        rows.append([sum(kept * V.astype(int)[:, c]) / sum(kept) for c in range(3)])
    return rows


X_int, T_int = INPUTS.astype(int), (INPUTS[:2] + 1).astype(int)
both_int = np.vstack([X_int, T_int])
one_way = exact(T_int, X_int)
in_one = exact(both_int, both_int, mask)[n:]
reordered = exact(T_int, X_int[[2, 0, 1]])
swapped = exact(T_int[::-1], X_int)[::-1]
ways = {
    "cross-attention": one_way,
    "self-attention with the mask": in_one,
    "another order of the source": reordered,
    "target reversed and put back": swapped,
}
check("all four give equal fractions, for both outputs", one_way == in_one == reordered == swapped)
table(
    [list(map(str, outputs[0])) for outputs in ways.values()],
    columns=["component 1", "component 2", "component 3"],
    index=list(ways),
    name="output 1",
)
# --8<-- [end:exact]

# --8<-- [start:encoder-decoder]
diagram(
    [
        "source",
        "embedding and positions",
        "self-attention",
        "+",
        "LayerNorm",
        "feed-forward network",
        "+",
        "LayerNorm",
        "memory",
    ],
    [
        "target so far",
        "embedding and positions",
        "self-attention, causal mask",
        "+",
        "LayerNorm",
        "cross-attention",
        "+",
        "LayerNorm",
        "feed-forward network",
        "+",
        "LayerNorm",
        "a score for each token",
        "next token",
    ],
    roles=[
        *(None, "input", "output", None, "neutral", "output", None, "neutral", None),
        *(None, "input", "output", None, "neutral", "key", None, "neutral"),
        *("output", None, "neutral", "score", None),
    ],
    skips=[2, 5, 11, 14, 17],
    links=[(8, 14, "K, V")],
    borders=[(2, 7, "× N"), (11, 19, "× N")],
    title="Encoder and decoder",
)
# --8<-- [end:encoder-decoder]

# --8<-- [start:blocks]
rng = np.random.default_rng(SEED)


def draw(*size):
    """A matrix with small random entries."""
    return rng.standard_normal(size) / 2


def four():
    """W_Q, W_K, W_V and W_O of one attention."""
    return Parameters(*(draw(8, 8) for _ in range(4)))


block = DecoderParameters(four(), four(), draw(8, 16), draw(16, 8))
written_rows, memory = draw(6, 8), draw(9, 8)
before, maps = decoder_block(written_rows, memory, block, 2, causal_mask(6))
print(f"Outputs: {before.shape}. Maps: {maps.shape}.")
late, read = written_rows.copy(), memory.copy()
late[4] += 1  # token 5 of the target
read[8] += 1  # the last token of the source
after_late, _ = decoder_block(late, memory, block, 2, causal_mask(6))
after_read, _ = decoder_block(written_rows, read, block, 2, causal_mask(6))
moved = [(after != before).any(axis=1).tolist() for after in (after_late, after_read)]
table(
    moved,
    columns=[f"row {i}" for i in range(1, 7)],
    index=["token 5 of the target changes", "the last token of the source changes"],
    name="Does the row of the output move?",
)
# --8<-- [end:blocks]

# --8<-- [start:torch]
import torch
from torch import nn

torch.manual_seed(SEED)
agreement = {}
for norm_first in (False, True):
    options = {"batch_first": True, "dtype": torch.float64, "norm_first": norm_first}
    layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, **options)
    state = {name: p.detach().numpy() for name, p in layer.named_parameters()}

    def of(name, state=state):
        """Multi-head parameters of one of PyTorch's two attentions."""
        three = np.split(state[f"{name}.in_proj_weight"], 3)
        W_o = state[f"{name}.out_proj.weight"].T
        biases = np.split(state[f"{name}.in_proj_bias"], 3)
        return Parameters(*(W.T for W in three), W_o, *biases, state[f"{name}.out_proj.bias"])

    mine = DecoderParameters(
        of("self_attn"),
        of("multihead_attn"),
        *(state[f"linear{i}.weight"].T for i in (1, 2)),
        *(state[f"linear{i}.bias"] for i in (1, 2)),
        tuple(state[f"norm{i}.weight"] for i in (1, 2, 3)),
        tuple(state[f"norm{i}.bias"] for i in (1, 2, 3)),
    )
    x, m = rng.standard_normal((3, 5, 8)), rng.standard_normal((3, 7, 8))
    real = padding_mask(np.array([[7], [4], [6]]), 7)  # (3, 1, 1, 7)
    y, _ = decoder_block(x, m, mine, 2, causal_mask(5), real, norm_first)
    theirs = layer(
        torch.tensor(x),
        torch.tensor(m),
        tgt_mask=torch.tensor(~causal_mask(5)),  # True is masked out there
        memory_key_padding_mask=torch.tensor(~real[:, 0, 0]),
    )
    far = np.abs(y - theirs.detach().numpy()).max()
    agreement[norm_first] = bool(far < 1e-12)
table(
    [[agreement[False]], [agreement[True]]],
    columns=["equal to within 10⁻¹²?"],
    index=["post-norm", "pre-norm"],
)
# --8<-- [end:torch]

# --8<-- [start:backward]
T, X = INPUTS[:2] + 1, INPUTS
O, A = attention(T @ W_QUERY, X @ W_KEY, X @ W_VALUE)
dT, dX, *_ = cross_attention_backward(T, X, W_QUERY, W_KEY, W_VALUE, A, O)
gradients = np.vstack([dT, dX])
O, A = attention(X @ W_QUERY, X @ W_KEY, X @ W_VALUE)
parts = cross_attention_backward(X, X, W_QUERY, W_KEY, W_VALUE, A, O)
whole = self_attention_backward(X, W_QUERY, W_KEY, W_VALUE, A, O)
check(
    "with T = X, dT + dX is the gradient of self-attention to within 10⁻¹²",
    np.abs(parts[0] + parts[1] - whole[0]).max() < 1e-12,
)
table(
    gradients,
    columns=[f"component {c}" for c in range(1, 5)],
    index=["dT, row 1", "dT, row 2", "dX, row 1", "dX, row 2", "dX, row 3"],
    spec=".4f",
)
# --8<-- [end:backward]

# --8<-- [start:control]
NAMED = {START: "start", END: "end"}


def label(token):
    """A number, or the word for the start or the end."""
    return NAMED.get(int(token), str(int(token)))


def frame(causal, t):
    """The map when t tokens are written."""
    tokens, _ = write(sorter, example, bool(causal))
    asked = np.hstack([[[START]], tokens])[:, :t]
    W_Q, W_K, W_V = sorter
    mask = causal_mask(t, 7) if causal else np.ones((t, 7), dtype=bool)
    X = ONE_HOT[example]
    _, weights = attention(ONE_HOT[asked] @ W_Q, X @ W_K, X @ W_V, mask)
    drawn = heatmap(
        weights[0],
        rows=[label(token) for token in asked[0]],
        columns=[label(token) for token in example[0]],
        name="weights",
        scale=(0, 1),
        allowed=mask,
        highlight=[(t - 1, None)],
    )
    so_far = shown(tokens[0, :t])
    caption = f"Written: {so_far}."
    name = f"Causal mask, step {t}" if causal else f"No mask, step {t}"
    return Frame((str(1 + causal), str(t)), name, (drawn,), caption)


stepper(
    "sorting",
    [
        (
            "Mask on the source",
            ["none", "causal"],
        ),
        ("Step", [str(t) for t in range(1, 8)]),
    ],
    [frame(causal, t) for causal in (0, 1) for t in range(1, 8)],
)
# --8<-- [end:control]

# --8<-- [start:mistake-causal]
right, _ = write(sorter, example)
wrong, _ = write(sorter, example, causal=True)
table(
    [[shown(wrong[0])], [shown(right[0])]],
    columns=["written"],
    index=["with the causal mask", "without a mask"],
)
# --8<-- [end:mistake-causal]


# --8<-- [start:experiment]
def share(parameters, n, causal):
    """How many of 500 lists of n numbers are sorted correctly."""
    source, _, wanted, _ = lists(np.random.default_rng(n), 500, n, n)
    return int((write(parameters, source, causal)[0] == wanted).all(axis=1).sum())


found = []
for causal in (False, True):
    runs = [train(seed, causal)[0] for seed in range(1, 6)]
    for n in (6, 8):
        mask_name = "causal" if causal else "none"
        found.append([mask_name, n, *(share(run, n, causal) for run in runs)])
table(
    found,
    columns=["mask", "numbers in a list", *(f"run {i}" for i in range(1, 6))],
    name="Lists sorted correctly, out of 500",
)
# --8<-- [end:experiment]

# --8<-- [start:table]
W_Q, W_K, W_V = sorter
asking = [START, *range(10)]
answering = [*range(10), END]
learned = (W_Q @ W_K.T / sqrt(8))[np.ix_(asking, answering)]
heatmap(
    learned,
    rows=[label(token) for token in asking],
    columns=[label(token) for token in answering],
    role="score",
    spec=".0f",
    name="scores",
)
# --8<-- [end:table]

# --8<-- [start:pairs]
# Row p asks after having written p - 1; column a is the right answer to p ≤ a.
kept, pairs = 0, 0
for p in range(11):
    for a in range(p, 11):
        others = [b for b in range(11) if b > a or b < p]
        pairs += len(others)
        kept += int((learned[p, a] > learned[p, others]).sum())
table([[pairs, kept]], columns=["comparisons", "that hold"])
# --8<-- [end:pairs]


# --8<-- [start:count]
class Counted(np.ndarray):
    """An array that counts the operations of every product it takes part in."""

    done = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(one) for one in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul:
            Counted.done += 2 * result.size * plain[0].shape[-1]
        return np.asarray(result).view(Counted)


def counted(n_q, n_k, d, heads, written_one_by_one=False):
    """Operations of cross-attention, counted while it runs."""
    rng = np.random.default_rng(SEED)
    p = Parameters(*(rng.standard_normal((d, d)).view(Counted) for _ in range(4)))
    target = rng.standard_normal((n_q, d)).view(Counted)
    source = rng.standard_normal((n_k, d)).view(Counted)
    pieces = np.split(target, n_q) if written_one_by_one else [target]
    Counted.done = 0
    for piece in pieces:
        multi_head_attention(piece, source, source, p, heads)
    return Counted.done


operations = []
for n_q, n_k, d, heads in ((1, 1, 4, 1), (5, 7, 12, 3), (20, 30, 64, 8)):
    at_once = counted(n_q, n_k, d, heads)
    again = counted(n_q, n_k, d, heads, written_one_by_one=True)
    operations.append([n_q, n_k, d, heads, at_once, again])
formulas = [
    [cross_attention_flops(n_q, n_k, d), cross_attention_flops(n_q, n_k, d, steps=n_q)]
    for n_q, n_k, d, *_ in operations
]
check("every count equals the formula", formulas == [row[4:] for row in operations])
dearer = operations[-1][5] / operations[-1][4]
table(operations, columns=["n_q", "n_k", "d", "h", "at once", "token by token"], spec=",")
# --8<-- [end:count]

# --8<-- [start:exercise-pencil]
q = np.array([[2.0]])
k = np.array([[log(3) / 2], [0.0]])
v = np.array([[10.0], [2.0]])
O, A = attention(q, k, v)
table([[*A[0], O.item()]], columns=["key 1", "key 2", "output"], spec=[".2f", ".2f", ".0f"])
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-shapes]
p = Parameters(np.ones((6, 12)), np.ones((5, 12)), np.ones((5, 12)), np.ones((12, 6)))
x, memory = np.ones((2, 4, 6)), np.ones((2, 7, 5))
real = padding_mask(np.array([[7], [3]]), 7)
out, maps = multi_head_attention(x, memory, memory, p, 3, real)
shapes = [real.shape, maps.shape, out.shape]
table([[str(s)] for s in shapes], columns=["shape"], index=["padding mask", "maps", "outputs"])
# --8<-- [end:exercise-shapes]

# --8<-- [start:exercise-twice]
twice = np.array([[3, 1, 3, END]])
table([[shown(twice[0]), shown(write(sorter, twice)[0][0])]], columns=["read", "written"])
# --8<-- [end:exercise-twice]

# --8<-- [start:exercise-reverse]
sources = np.array([[7, 2, 9, END], [2, 9, 7, END]])
answers, _ = write(sorter, sources)
table(
    [[shown(source), shown(answer)] for source, answer in zip(sources, answers, strict=True)],
    columns=["read", "written"],
)
# --8<-- [end:exercise-reverse]

# --8<-- [start:exercise-bug]
T, X = np.ones((2, 3, 1)), np.ones((2, 3, 1))
X[1, 2] = 100  # padding
of_source, of_target = padding_mask(np.array([3, 2]), 3), padding_mask(np.array([1, 3]), 3)
table(
    [attention(T, X, X, mask)[0][:, 0, 0] for mask in (of_target, of_source)],
    columns=["pair 1", "pair 2"],
    index=["lengths of the targets (wrong)", "lengths of the sources (right)"],
    spec=".0f",
)
# --8<-- [end:exercise-bug]

# --8<-- [start:exercise-cost]
kept_keys = cross_attention_flops(100, 400, 512)
made_again = cross_attention_flops(100, 400, 512, steps=100)
table(
    [[kept_keys, made_again, made_again / kept_keys]],
    columns=["K and V kept", "computed again", "ratio"],
    spec=[",", ",", ".1f"],
)
# --8<-- [end:exercise-cost]

# --8<-- [start:exercise-sum]
T, X = INPUTS[:2] + 1, INPUTS
O, A = attention(T @ W_QUERY, X @ W_KEY, X @ W_VALUE)
moved, _ = attention(T @ W_QUERY, X @ W_KEY + np.array([5.0, -2, 1]), X @ W_VALUE)
check("the outputs agree to within 10⁻¹²", np.abs(moved - O).max() < 1e-12)
table(
    [[O[i], moved[i]] for i in range(2)],
    columns=["keys as they are", "(5, −2, 1) added"],
    index=["output 1", "output 2"],
    spec=".4f",
)
# --8<-- [end:exercise-sum]


# --8<-- [start:writing]
def your_mask(lengths, n):
    """The padding mask (b, 1, n): True where a source has a token."""
    return np.ones((len(lengths), 1, n), dtype=bool)  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_mask(lengths, n):
    places = np.arange(n)
    return places < np.asarray(lengths)[:, None, None]


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, judge

writing = Task(
    model_mask,
    inputs=[
        (np.array([1]), 2),
        (np.array([2, 1]), 3),
        (np.array([3, 1, 2]), 4),
        (np.array([5, 2, 6, 1]), 6),
    ],
    mistakes={
        "The polarity is inverted: True must mean a token, and False its padding.": (
            lambda lengths, n: np.arange(n) >= lengths[:, None, None]
        ),
        "It reaches one place too far: with a length of 1, only place 0 is a token.": (
            lambda lengths, n: np.arange(n) <= lengths[:, None, None]
        ),
        "The padding of a source stands on its right, and this mask hides the left.": (
            lambda lengths, n: np.arange(n) >= n - lengths[:, None, None]
        ),
        "The axis of the queries is missing: (b, n) would be read as a row for each query.": (
            lambda lengths, n: np.arange(n) < lengths[:, None]
        ),
    },
    draw=lambda rng: (rng.integers(1, 10, size=rng.integers(2, 7)), 9),
)
judge(your_mask, writing)
# --8<-- [end:writing-checks]
