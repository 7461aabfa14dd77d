"""Six checks for an attention function, and the mistakes that each of them finds."""

# --8<-- [start:looks]
from math import sqrt

from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY
from attention_docs.figures import Frame, heatmap, numbered, stepper
from attention_docs.masking import apply_mask, causal_mask
from attention_docs.score_functions import dot
from attention_docs.softmax import softmax
from attention_docs.text import number

causal = causal_mask(3)  # True takes part
raw = dot(INPUTS @ W_QUERY, INPUTS @ W_KEY)  # (n, n)
scores = apply_mask(raw / sqrt(3), causal)  # d_k = 3; -inf where hidden
written = {
    "right": softmax(scores),
    "not scaled": softmax(apply_mask(raw, causal)),
    "scaled after softmax": softmax(apply_mask(raw, causal)) / sqrt(3),
    "masked after softmax": softmax(raw / sqrt(3)) * causal,
    "softmax over the queries": softmax(scores.T).T,
}


def look(i, name):
    """The weights of one version, and what their rows sum to."""
    shown = heatmap(
        written[name],
        name="weights",
        rows=numbered("query", 3),
        columns=numbered("key", 3),
        scale=(0, 1),
        spec=".2f",
    )
    sums = ", ".join(number(total, ".2f") for total in written[name].sum(axis=1))
    return Frame((str(i),), name, (shown,), f"Sums of the rows: {sums}.")


stepper("looks", [("code", list(written))], [look(i, one) for i, one in enumerate(written, 1)])
# --8<-- [end:looks]

# --8<-- [start:messages]
import torch
from torch import nn
from torch.nn import functional

version = torch.__version__.split("+")[0]
nan = float("nan")
torch.manual_seed(0)  # layers draw their parameters
q, k = torch.ones(1, 2, 3, 4), torch.ones(1, 2, 5, 4)  # (batch, heads, n, d_k)
x = torch.ones(1, 3, 4)  # (batch, n, d_model)
mha = nn.MultiheadAttention(4, 2, batch_first=True)
numbers = torch.zeros(3, 5, dtype=torch.long)
calls = [
    lambda: q @ k,
    lambda: q @ k.mT + torch.zeros(3, 3),
    lambda: nn.Linear(8, 4)(x),
    lambda: mha(x, x, x, attn_mask=torch.zeros(5, 5)),
    lambda: mha(x, x, x, is_causal=True),
    lambda: functional.scaled_dot_product_attention(q, k, k, attn_mask=numbers),
    lambda: functional.scaled_dot_product_attention(q.half(), k, k),
    lambda: nn.Embedding(100, 4)(torch.tensor([100])),
    lambda: torch.multinomial(torch.tensor([0.5, nan]), 1),
    lambda: q.transpose(1, 2).view(1, 3, 8),
    lambda: functional.cross_entropy(torch.ones(1, 3, 10), numbers[:1, :3]),
]
for i, call in enumerate(calls, start=1):
    try:
        call()
    except (IndexError, RuntimeError) as error:
        print(f"{i}. {str(error).splitlines()[0]}")
# --8<-- [end:messages]

# --8<-- [start:setup]
import warnings
from itertools import combinations
from math import inf, log

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import table
from attention_docs.score_functions import scaled_dot
from attention_docs.text import text

SEED = 0
rng = np.random.default_rng(SEED)
query = rng.normal(size=(2, 3, 4))  # (batch, n, d_k)
key = rng.normal(size=(2, 3, 4))  # (batch, n, d_k)
value = rng.normal(size=(2, 3, 5))  # (batch, n, d_v)
# --8<-- [end:setup]

# --8<-- [start:checks]
# attend(query, key, value, mask) gives outputs;
# a check gives how far they are from what they must be.


def by_hand(attend):
    """Weights 1/4 and 3/4 of the values 0 and 4: the output is 3."""
    # The dot products are 0 and 2 ln 3, and √d_k is 2.
    q = np.array([[[2 * log(3), 0, 0, 0]]])
    k = np.array([[[0.0, 0, 0, 0], [1, 0, 0, 0]]])
    v = np.array([[[0.0], [4.0]]])
    return distance(attend(q, k, v, np.array([[True, True]])), 3.0)


def equal_values(attend):
    """All values are the same: so is every output."""
    same = np.broadcast_to(value[:, :1], value.shape)
    return distance(attend(query, key, same, causal), same)


def one_query(attend):
    """A query alone gets the output that it gets among the others."""
    alone = attend(query[:, -1:], key, value, causal[-1:])
    return distance(alone, attend(query, key, value, causal)[:, -1:])


def last_token(attend):
    """Token 3 changes, which only query 3 may see: outputs 1 and 2 stay the same."""
    q, k, v = query.copy(), key.copy(), value.copy()
    for x in (q, k, v):
        x[:, -1] += 1
    after = attend(q, k, v, causal)
    return distance(after[:, :-1], attend(query, key, value, causal)[:, :-1])


def other_sequence(attend):
    """Sequence 2 changes: the outputs of sequence 1 stay the same."""
    q, k, v = (np.concatenate([x[:1], x[1:] + 1]) for x in (query, key, value))
    return distance(attend(q, k, v, causal)[0], attend(query, key, value, causal)[0])


def empty_row(attend):
    """A query without a key: its output is the same number, whatever the values are."""
    nobody = np.zeros((3, 3), dtype=bool)
    after = attend(query, key, value + 1, nobody)
    return distance(after, attend(query, key, value, nobody))


def distance(got, wanted):
    """The largest difference; infinite where one is not a number."""
    difference = np.abs(got - wanted).max()
    return inf if np.isnan(difference) else difference


CHECKS = [by_hand, equal_values, one_query, last_token, other_sequence, empty_row]
# --8<-- [end:checks]


# --8<-- [start:wrong]
# The package's softmax gives a query without keys the weights 0. Most functions do not:
def bare_softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


WRONG = {
    "softmax-axis": lambda q, k, v, m: softmax(apply_mask(scaled_dot(q, k), m), axis=-2) @ v,
    "softmax-batch": lambda q, k, v, m: softmax(apply_mask(scaled_dot(q, k), m), axis=0) @ v,
    "no-scale": lambda q, k, v, m: softmax(apply_mask(dot(q, k), m)) @ v,
    "wrong-divisor": lambda q, k, v, m: softmax(apply_mask(dot(q, k) / q.shape[-1], m)) @ v,
    "scale-after-softmax": lambda q, k, v, m: (
        softmax(apply_mask(dot(q, k), m)) / q.shape[-1] ** 0.5 @ v
    ),
    "mask-upside-down": lambda q, k, v, m: softmax(apply_mask(scaled_dot(q, k), ~m)) @ v,
    "scores-times-mask": lambda q, k, v, m: softmax(scaled_dot(q, k) * m) @ v,
    "mask-after-softmax": lambda q, k, v, m: softmax(scaled_dot(q, k)) * m @ v,
    "empty-row": lambda q, k, v, m: bare_softmax(np.where(m, scaled_dot(q, k), -np.inf)) @ v,
    "minus-1e9": lambda q, k, v, m: bare_softmax(np.where(m, scaled_dot(q, k), -1e9)) @ v,
}
# --8<-- [end:wrong]


# --8<-- [start:table]
def failed(attend):
    """The checks that a function does not pass, counted from 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NaN is expected
        return [i for i, check in enumerate(CHECKS, 1) if check(attend) > 1e-9]


found = {name: failed(attend) for name, attend in WRONG.items()}
alone = sum(len(checks) == 1 for checks in found.values())
right = failed(lambda *arrays: attention(*arrays)[0])
table(
    [[i not in checks for i in range(1, 7)] for checks in (right, *found.values())],
    columns=["by hand", "equal values", "one query", "last token", "sequence", "empty row"],
    index=["package", *found],
)
# --8<-- [end:table]


# --8<-- [start:report]
def report(attend):
    """A table of the checks; before it the input of each check that fails."""
    results = []
    for i, check in enumerate(CHECKS, 1):
        inputs = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # NaN is a finding
            off = check(lambda *arrays, seen=inputs: seen.append(arrays) or attend(*arrays))
        passed = off <= 1e-9
        results.append([passed, None if passed else off])
        if not passed:
            print(f"Check {i} fails on this input:")
            for name, array in zip(("query", "key", "value", "mask"), inputs[0], strict=True):
                print(f"{name} =")
                print(text(array if name == "mask" else array[0], "d" if name == "mask" else ".2f"))
    titles = [f"{i} {check.__name__}" for i, check in enumerate(CHECKS, 1)]
    return table(results, columns=["passed?", "off by"], index=titles, spec=["", ".4f"])


# --8<-- [end:report]


# --8<-- [start:own]
def own(query, key, value, mask):
    scores = dot(query, key)
    return softmax(apply_mask(scores, mask)) @ value


report(own)
# --8<-- [end:own]

# --8<-- [start:exercise-1]
missed = [name for name, checks in found.items() if checks == [1]]
print(f"missed without check 1: {', '.join(missed)}")
enough = []
for size in (1, 2, 3):
    sets = combinations(range(1, 7), size)
    found_by = [s for s in sets if all(set(s) & set(checks) for checks in found.values())]
    enough.append([size, "; ".join(", ".join(map(str, s)) for s in found_by) or "none"])
table(enough, columns=["checks", "sets that find all ten"])
# --8<-- [end:exercise-1]


# --8<-- [start:exercise-2]
def no_shift(q, k, v, m):
    e = np.exp(scaled_dot(q, k)) * m  # overflows
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ v


def large_scores(attend):
    """Two equal keys share the weight, however large their scores are: the output is 2."""
    q, k = np.array([[[2000.0, 0, 0, 0]]]), np.array([[[1.0, 0, 0, 0], [1, 0, 0, 0]]])
    return distance(attend(q, k, np.array([[[0.0], [4.0]]]), np.array([[True, True]])), 2.0)


def failing(attend):
    """The checks that fail, as text."""
    return ", ".join(map(str, failed(attend))) or "none"


before = failing(no_shift)
CHECKS.append(large_scores)
table(
    [[before], [failing(no_shift)], [failing(lambda *arrays: attention(*arrays)[0])]],
    columns=["failed checks"],
    index=["no shift, six checks", "no shift, seven checks", "package, seven checks"],
)
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
apart_by_hand = [by_hand(WRONG[name]) for name in ("no-scale", "wrong-divisor")]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", RuntimeWarning)
    apart_empty = [empty_row(WRONG[name]) for name in ("empty-row", "minus-1e9")]
results = list(found.values())
alike = [name for name, checks in found.items() if results.count(checks) > 1]
table(
    [[*found[name], off] for name, off in zip(alike, [*apart_by_hand, *apart_empty], strict=True)],
    columns=["only failed check", "off by"],
    index=alike,
    spec=["d", ".4f"],
)
# --8<-- [end:exercise-3]
