"""Attention over keys that come in pieces."""

# --8<-- [start:halves]
import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import table

key = np.log([[1.0], [2], [3], [4], [8], [2]])  # scores ln 1, ln 2, …
value = np.array([[6.0], [3], [2], [1], [2], [4]])
query = np.ones((1, 1))


def output(part):
    """Attention to some of the six keys."""
    return attention(query, key[part], value[part])[0].item()


halves = [output(slice(0, 3)), output(slice(3, 6))]
table(
    [[halves[0]], [halves[1]], [sum(halves) / 2], [output(slice(0, 6))]],
    columns=["output"],
    index=["keys 1 to 3", "keys 4 to 6", "mean of both", "keys 1 to 6"],
    spec=".1f",
)
# --8<-- [end:halves]

# --8<-- [start:setup]
from fractions import Fraction
from functools import reduce
from itertools import permutations
from math import sqrt

from attention_docs.figures import Frame, heatmap, numbered, slider
from attention_docs.in_pieces import (
    Piece,
    attention_in_pieces,
    backward_in_pieces,
    log_total,
    merge,
    piece,
    plain_traffic,
    tiled_traffic,
)
from attention_docs.learning import attention_backward
from attention_docs.masking import causal_mask
from attention_docs.softmax import softmax
from attention_docs.text import check, number

SEED = 0


def compared(first, second, names):
    """The last outputs of two ways that must agree, one below the other."""
    check("all outputs agree to within 10⁻¹²", np.abs(first - second).max() < 1e-12)
    columns = numbered("component", first.shape[-1])
    return table([first[-1], second[-1]], columns=columns, index=names, spec=".4f")


def compared_gradients(first, second, names):
    """Row 5 of dQ, dK and dV from two ways that must agree."""
    gaps = [np.abs(a - b).max() for a, b in zip(first, second, strict=True)]
    check("all gradients agree to within 10⁻¹²", max(gaps) < 1e-12)
    rows = [[gradient[4] for gradient in three] for three in (first, second)]
    columns = ["dQ, row 5", "dK, row 5", "dV, row 5"]
    return table(rows, columns=columns, index=names, spec=".3f")


def in_numbers(one):
    """e^m, ℓ and o of a piece with one query."""
    m, ell, o = (part.item() for part in one)
    return [np.exp(m), ell, o]


# --8<-- [end:setup]

# --8<-- [start:merge]
left = piece(query, key[:3], value[:3])
right = piece(query, key[3:], value[3:])
table(
    [in_numbers(one) for one in (left, right, merge(left, right))],
    columns=["eᵐ", "ℓ", "o"],
    index=["keys 1 to 3", "keys 4 to 6", "merged"],
    spec=[".0f", ".2f", ".1f"],
)
# --8<-- [end:merge]

# --8<-- [start:control]
NAMES = [f"k_{j}" for j in range(1, 7)]
all_weights = attention(query, key, value)[1]


def frame(i, cut):
    """Both pieces of one cut, and their merge."""
    parts = [piece(query, key[s], value[s]) for s in (slice(0, cut), slice(cut, 6))]
    own = [attention(query, key[s], value[s])[1] for s in (slice(0, cut), slice(cut, 6))]
    rows = np.vstack([np.hstack(own), all_weights])
    masses = [number(np.exp(log_total(one)).item(), ".0f") for one in parts]
    outputs = [number(one.output.item(), ".2f") for one in parts]
    merged = number(merge(*parts).output.item(), ".2f")
    drawn = heatmap(
        rows,
        rows=["in its piece", "merged"],
        columns=NAMES,
        spec=".2f",
        name="weights",
        scale=(0, 1),
    )
    caption = (
        f"Masses {masses[0]} and {masses[1]}, outputs {outputs[0]} and {outputs[1]}; "
        f"merged: {merged}."
    )
    label = f"after k_{cut}"
    return Frame((str(i),), label, (drawn,), caption)


slider("Cut", [frame(i, cut) for i, cut in enumerate(range(1, 6))], start=2)
# --8<-- [end:control]


# --8<-- [start:exact]
def exact_merge(a, b):
    """The formulas with 2 in the place of e, so that whole scores give fractions."""
    m = max(a[0], b[0])
    masses = [one[1] * Fraction(2) ** (one[0] - m) for one in (a, b)]
    weighted = sum(mass * one[2] for mass, one in zip(masses, (a, b), strict=True))
    return m, sum(masses), weighted / sum(masses)


drawn = np.random.default_rng(SEED).integers(-9, 10, size=(2, 5)).tolist()
single = [(s, Fraction(1), Fraction(v)) for s, v in zip(*drawn, strict=True)]
found = []
for a, b, c, d, e in permutations(single):
    found.append(reduce(exact_merge, (a, b, c, d, e)))  # one by one
    found.append(exact_merge(exact_merge(a, b), exact_merge(exact_merge(c, d), e)))
weights = [Fraction(2) ** s for s in drawn[0]]
direct = sum(w * v for w, v in zip(weights, drawn[1], strict=True)) / sum(weights)
check("the result is attention to all five keys", found[0][2] == direct)
table([[len(found), len(set(found))]], columns=["merges", "different results"])
# --8<-- [end:exact]

# --8<-- [start:associative]
draws = np.random.default_rng(SEED)
regrouped = {"in fractions": 0, "in float64": 0}  # triples with two different results
gap = 0.0
for _ in range(1000):
    masses, averages = draws.uniform(1, 5, size=3), draws.normal(size=3)
    scores = draws.integers(-5, 6, size=3)
    triple = [*zip(scores.tolist(), masses.tolist(), averages.tolist(), strict=True)]
    exact = [(m, Fraction(ell), Fraction(o)) for m, ell, o in triple]
    for kind, (a, b, c) in zip(regrouped, (exact, triple), strict=True):
        left_first = exact_merge(exact_merge(a, b), c)
        right_first = exact_merge(a, exact_merge(b, c))
        regrouped[kind] += left_first != right_first
        gap = max(gap, abs(left_first[2] - right_first[2]))
check("no output differs by more than 10⁻¹⁴", gap < 1e-14)
table(
    [[count] for count in regrouped.values()],
    columns=["of 1000 triples, how many differ?"],
    index=list(regrouped),
)
# --8<-- [end:associative]

# --8<-- [start:online]
rng = np.random.default_rng(SEED)
Q, K, V = rng.normal(size=(3, 8, 4))
wanted, _ = attention(Q, K, V)
running = piece(Q, K[:1], V[:1])
for j in range(1, 8):
    running = merge(running, piece(Q, K[j : j + 1], V[j : j + 1]))
compared(running.output, wanted, ["one key after the other", "all at once"])
# --8<-- [end:online]

# --8<-- [start:wrong-rescale]
m1, l1, o1 = (part.item() for part in left)
m2, l2, o2 = (part.item() for part in right)
m = max(m1, m2)
wrong = l1 * o1 + l2 * o2, l1 + l2
a, b = l1 * np.exp(m1 - m), l2 * np.exp(m2 - m)
right_one = a * o1 + b * o2, a + b
outputs = [[wrong[0] / wrong[1]], [right_one[0] / right_one[1]]]
names = ["without rescaling (wrong)", "with rescaling (right)"]
table(outputs, columns=["merged output"], index=names, spec=".2f")
# --8<-- [end:wrong-rescale]


# --8<-- [start:passes]
def three_passes(s, v):
    """The largest score, the total, the average: every score is needed three times."""
    reads = 0
    largest, total, average = -np.inf, 0.0, 0.0
    for one in s:
        largest, reads = max(largest, one), reads + 1
    for one in s:
        total, reads = total + np.exp(one - largest), reads + 1
    for one, worth in zip(s, v, strict=True):
        average, reads = average + np.exp(one - largest) / total * worth, reads + 1
    return average, reads


def one_pass(s, v):
    """All three at once, with what came before rescaled."""
    reads, largest, total, average = 0, -np.inf, 0.0, 0.0
    for one, worth in zip(s, v, strict=True):
        before, largest, reads = largest, max(largest, one), reads + 1
        old, new = total * np.exp(before - largest), np.exp(one - largest)
        total = old + new
        average = (old * average + new * worth) / total
    return average, reads


s, v = np.random.default_rng(SEED).normal(0, 3, size=(2, 50))
(a, three), (b, once) = three_passes(s, v), one_pass(s, v)
check("both averages agree to within 10⁻¹²", abs(a - b) < 1e-12)
table(
    [[a, three // len(s)], [b, once // len(s)]],
    columns=["average", "reads of each score"],
    index=["three passes", "one pass"],
    spec=[".4f", "d"],
)
# --8<-- [end:passes]

# --8<-- [start:split]
rng = np.random.default_rng(SEED)
q, many_k, many_v = rng.normal(size=(1, 4)), *rng.normal(size=(2, 1000, 4))
shares = [piece(q, many_k[j::8], many_v[j::8]) for j in range(8)]  # 8 workers
while len(shares) > 1:  # in pairs: 8, 4, 2, 1
    pairs = zip(shares[::2], shares[1::2], strict=True)
    shares = [merge(*pair) for pair in pairs]
at_once, _ = attention(q, many_k, many_v)
compared(shares[0].output, at_once, ["eight workers", "one pass"])
# --8<-- [end:split]


# --8<-- [start:memory]
class Memory:
    """GPU memory (HBM): counts the numbers that are read and written."""

    moved = 0

    def __init__(self, data):
        self.data = np.array(data)

    def __getitem__(self, rows):
        Memory.moved += self.data[rows].size
        return self.data[rows].copy()

    def __setitem__(self, rows, numbers):
        self.data[rows] = numbers
        Memory.moved += self.data[rows].size


# --8<-- [end:memory]


# --8<-- [start:tiles]
def plain(Q, K, V, out, S, A):
    S[:] = Q[:] @ K[:].T / sqrt(d)
    A[:] = softmax(S[:])
    out[:] = A[:] @ V[:]


def tiled(Q, K, V, out, r, c):
    for i in range(0, n, r):
        q, found = Q[i : i + r], None
        for j in range(0, n, c):
            tile = piece(q, K[j : j + c], V[j : j + c])
            found = tile if found is None else merge(found, tile)
        out[i : i + r] = found.output


# --8<-- [end:tiles]

# --8<-- [start:tile-steps]
n, d, r, c = 8, 4, 4, 2
rng = np.random.default_rng(SEED)
whole = 2 * rng.integers(-1, 2, (n, d)), *rng.integers(-2, 3, (2, n, d))  # whole scores
Q, K, V = (Memory(one.astype(float)) for one in whole)
out, S, A = (Memory(np.zeros(size)) for size in ((n, d), (n, n), (n, n)))
Memory.moved = 0
plain(Q, K, V, out, S, A)
by_plain, Memory.moved = Memory.moved, 0


def frame(at, i, j, scores):
    """The scores that exist while a tile is on the chip, and what has moved so far."""
    on_chip = np.full((n, n), None)
    on_chip[i : i + r, j : j + c] = scores
    drawn = heatmap(
        on_chip.tolist(),
        rows=numbered("query", n),
        columns=[f"k_{column}" for column in range(1, n + 1)],
        role="score",
        spec=".0f",
        name="scores",
        scale=(-8, 8),
        highlight=[(row, None) for row in range(i, i + r)],
    )
    caption = (
        f"{scores.size} of {n * n} scores exist. "
        f"Numbers moved so far: {Memory.moved}; by plain attention in the end: {by_plain}."
    )
    return Frame((str(at),), str(at + 1), (drawn,), caption)


frames = []
for i in range(0, n, r):
    q, found = Q[i : i + r], None
    for j in range(0, n, c):
        k = K[j : j + c]
        tile = piece(q, k, V[j : j + c])
        found = tile if found is None else merge(found, tile)
        if j + c == n:
            out[i : i + r] = found.output
        frames.append(frame(len(frames), i, j, q @ k.T / sqrt(d)))
slider("Tile", frames)
# --8<-- [end:tile-steps]

# --8<-- [start:traffic]
rng = np.random.default_rng(SEED)
rows, gaps = [], []
for n, d, r in ((64, 8, 16), (256, 16, 32), (256, 16, 128)):
    given = [Memory(one) for one in rng.normal(size=(3, n, d))]
    outputs = [Memory(np.zeros((n, d))) for _ in range(2)]
    Memory.moved = 0
    plain(*given, outputs[0], *(Memory(np.zeros((n, n))) for _ in "SA"))
    first, Memory.moved = Memory.moved, 0
    tiled(*given, outputs[1], r, r)
    gaps.append(np.abs(outputs[0].data - outputs[1].data).max())
    rows.append([n, d, r, plain_traffic(n, d), first, tiled_traffic(n, d, r), Memory.moved])
check("the outputs of plain and tiled agree to within 10⁻¹²", max(gaps) < 1e-12)
table(
    rows,
    columns=["n", "d", "r", "plain", "plain, counted", "tiled", "tiled, counted"],
    spec=",",
    name="Numbers that move",
)
# --8<-- [end:traffic]

# --8<-- [start:large]
sizes, rows_held = ((4096, 64), (4096, 128), (32_768, 128)), (32, 128, 512)
table(
    [[plain_traffic(n, d) / tiled_traffic(n, d, r) for r in rows_held] for n, d in sizes],
    columns=[f"r = {r}" for r in rows_held],
    index=[f"n = {n:,}, d = {d}" for n, d in sizes],
    spec=".1f",
    name="Traffic, plain divided by tiled",
)
# --8<-- [end:large]

# --8<-- [start:backward]
rng = np.random.default_rng(SEED)
Q, K, V, by_output = rng.normal(size=(4, 9, 4))
mask = causal_mask(9)
forward = attention_in_pieces(Q, K, V, size=2, mask=mask)
_, weights = attention(Q, K, V, mask)
stored = attention_backward(Q, K, V, weights, by_output)
again = backward_in_pieces(Q, K, V, forward, by_output, size=4, mask=mask)
compared_gradients(stored, again, ["weights stored", "weights recomputed"])
# --8<-- [end:backward]

# --8<-- [start:backward-torch]
import torch
from torch.nn.functional import scaled_dot_product_attention

tensors = [torch.from_numpy(one).requires_grad_() for one in (Q, K, V)]
scaled_dot_product_attention(*tensors, is_causal=True).backward(torch.from_numpy(by_output))
by_torch = [t.grad.numpy() for t in tensors]
compared_gradients(by_torch, again, ["PyTorch", "weights recomputed"])
# --8<-- [end:backward-torch]


# --8<-- [start:backward-cost]
class Counted(np.ndarray):
    """An array that counts the operations of its matrix products."""

    total = 0

    def __matmul__(self, other):
        result = super().__matmul__(other)
        Counted.total += 2 * result.size * self.shape[-1]
        return result

    def __array_function__(self, *call):
        result = super().__array_function__(*call)
        return result.view(Counted) if type(result) is np.ndarray else result


def operations(build):
    """What a computation with counting arrays takes."""
    Counted.total = 0
    build(*(one.view(Counted) for one in (Q, K, V, by_output, weights)))
    return Counted.total


n, d = Q.shape
kept = operations(lambda q, k, v, g, a: attention_backward(q, k, v, a, g))
anew = operations(lambda q, k, v, g, a: backward_in_pieces(q, k, v, forward, g, 3, mask))
table(
    [[8 * n * n * d, kept], [10 * n * n * d, anew]],
    columns=["formula", "counted"],
    index=["weights stored", "weights recomputed"],
    spec=",",
)
# --8<-- [end:backward-cost]


# --8<-- [start:exercise-merge]
one = Piece(np.array([0.0]), np.array([2.0]), np.array([[1.0]]))
two = Piece(np.log([4.0]), np.array([1.5]), np.array([[5.0]]))
merged = in_numbers(merge(one, two))
table([merged], columns=["eᵐ", "ℓ", "o"], spec=[".0f", ".1f", ".1f"])
# --8<-- [end:exercise-merge]

# --8<-- [start:exercise-nobody]
nobody = piece(query, key[:3], value[:3], np.zeros((1, 3), dtype=bool))  # (-inf, 0, 0)
table(
    [[part.item() for part in one] for one in (nobody, merge(nobody, right))],
    columns=["m", "ℓ", "o"],
    index=["keys 1 to 3, masked", "merged with keys 4 to 6"],
    spec=".2f",
)
# --8<-- [end:exercise-nobody]

# --8<-- [start:exercise-traffic]
moves = [plain_traffic(8192, 64), tiled_traffic(8192, 64, 256)]
table([moves], columns=["plain", "tiled"], spec=",")
# --8<-- [end:exercise-traffic]

# --8<-- [start:exercise-start]
s, v = np.array([-1000.0, -1001.0]), np.array([3.0, 5.0])
averages = []
with np.errstate(invalid="ignore"):
    for m in (0.0, -np.inf):
        total = above = 0.0
        for one, worth in zip(s, v, strict=True):
            m, before = max(m, one), m
            total = total * np.exp(before - m) + np.exp(one - m)
            above = above * np.exp(before - m) + np.exp(one - m) * worth
        averages.append([np.divide(above, total)])
table(
    averages,
    columns=["average"],
    index=["from m = 0 (wrong)", "from m = −∞ (right)"],
    spec=".4f",
)
# --8<-- [end:exercise-start]

# --8<-- [start:exercise-skip]
tiles = []
for b in (4, 32):
    left_over = causal_mask(b).sum()  # a block of queries, a block of keys
    tiles.append([b, left_over, b * (b + 1) // 2])
table(tiles, columns=["b", "tiles that are left", "b(b + 1)/2"])
# --8<-- [end:exercise-skip]

# --8<-- [start:exercise-slope]
s = np.array([0.3, -1.0, 2.0])
step = 1e-6 * np.eye(3)
slopes = [np.log(np.exp(s + e).sum() / np.exp(s - e).sum()) / 2e-6 for e in step]
table(
    [slopes, softmax(s)],
    columns=[f"score {j}" for j in (1, 2, 3)],
    index=["central differences", "softmax"],
    spec=".4f",
)
# --8<-- [end:exercise-slope]


# --8<-- [start:writing]
def your_merge(one, two):
    """Two pieces (m, ℓ, o) as one, each an array of three numbers."""
    return one  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_merge(one, two):
    m = max(one[0], two[0])
    masses = [part[1] * np.exp(part[0] - m) for part in (one, two)]
    total = masses[0] + masses[1]
    return np.array([m, total, (masses[0] * one[2] + masses[1] * two[2]) / total])


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, judge

writing = Task(
    model_merge,
    inputs=[
        (np.array([0.0, 1, 4]), np.array([0.0, 1, 8])),
        (np.array([0.0, 3, 4]), np.array([0.0, 1, 8])),
        (np.array([0.0, 2, 1]), np.array([np.log(4), 1.5, 5])),
        (np.array([1000.0, 1, 2]), np.array([998.0, 1, 6])),
        (np.array([-1000.0, 3, 2]), np.array([1000.0, 2, 6])),
        (np.array([1000.0, 2, -5]), np.array([-1000.0, 3, 2])),
        (np.array([-9.0, 2, 6]), np.array([-1.0, 1, 2])),
    ],
    mistakes={
        "The masses were added without bringing them to the same unit e^m.": (
            lambda one, two: np.array(
                [
                    max(one[0], two[0]),
                    one[1] + two[1],
                    (one[1] * one[2] + two[1] * two[2]) / (one[1] + two[1]),
                ]
            )
        ),
        "The outputs were averaged plainly: weight them with the masses.": (
            lambda one, two: np.array([*model_merge(one, two)[:2], (one[2] + two[2]) / 2])
        ),
        "The outputs were added up and not divided by the whole mass.": (
            lambda one, two: model_merge(one, two) * [1, 1, model_merge(one, two)[1]]
        ),
        "Rescaled the wrong way: the piece with the smaller m has to lose mass.": (
            lambda one, two: np.array(
                [
                    max(one[0], two[0]),
                    one[1] * np.exp(max(one[0], two[0]) - one[0])
                    + two[1] * np.exp(max(one[0], two[0]) - two[0]),
                    model_merge(one * [-1, 1, 1], two * [-1, 1, 1])[2],
                ]
            )
        ),
    },
    draw=lambda rng: tuple(np.array([*rng.normal(size=1), *rng.uniform(1, 9, 2)]) for _ in "12"),
)
judge(your_merge, writing)
# --8<-- [end:writing-checks]
