"""Beyond the trained length: eight kinds of positions, trained short and tested long."""

# --8<-- [start:task]
from fractions import Fraction
from math import exp, log

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import Frame, line_chart, numbered, stepper, table
from attention_docs.learning import attention_backward
from attention_docs.long_sequences import (
    alibi_bias,
    alibi_slopes,
    far_share,
    ntk_base,
    t5_bias,
    t5_buckets,
)
from attention_docs.masking import causal_mask
from attention_docs.positions import frequencies, rope, sinusoids
from attention_docs.softmax import softmax, softmax_gradient
from attention_docs.text import check, number

SEED = 2022
L = 16  # the trained length
LETTERS, DIGITS = 4, 4


def draw(rng, count, n):
    """Letters, digits and questions, and the digit that each token asks for."""
    letters, digits, asked = rng.integers(0, LETTERS, (3, count, n))
    matches = asked[:, :, None] == letters[:, None, :]
    latest = np.where(matches & causal_mask(n), np.arange(n), -1).max(axis=-1)
    found = np.take_along_axis(digits, np.maximum(latest, 0), axis=-1)
    one_hot = [np.eye(4)[values] for values in (letters, digits, asked)]
    return np.concatenate(one_hot, axis=-1), np.where(latest < 0, -1, found)


# --8<-- [end:task]


# --8<-- [start:model]
d, SEEDS, BUCKETS = 16, 5, 8
SLOPE = 0.5


def mask_of(kind, parameters, n, window=None):
    """What is added to the scores: forbidden keys, and the bias if there is one."""
    if kind == "ALiBi":
        mask = alibi_bias(np.array([SLOPE]), n)
    elif kind == "T5":
        mask = t5_bias(parameters["bias"], n, max_distance=L)[:, None]
    else:
        mask = np.where(causal_mask(n), 0.0, -np.inf)
    near = causal_mask(n, offset=-(window or n))  # keys that are too far back
    return np.where(near, -np.inf, mask)


def turn(kind, x, t, base=10000.0):
    """RoPE, where the kind asks for it."""
    return rope(x, t, base) if kind == "RoPE" else x


def run(kind, parameters, x, t, mask, base=10000.0):
    """Logits of one layer of attention, and what the backward pass needs."""
    W = {name: w[:, None] for name, w in parameters.items()}  # for all sequences
    h = x @ W["E"]  # (seeds, sequences, n, d)
    if kind == "sinusoids":
        h = h + sinusoids(t, d)
    if kind == "learned":
        h = h + W["table"][:, :, : len(t)]
    q, k = (turn(kind, h @ W[name], t, base) for name in ("W_Q", "W_K"))
    v = h @ W["W_V"]
    outputs, weights = attention(q, k, v, mask)
    y = h + outputs @ W["W_O"]
    return y @ W["W_U"], (W, h, q, k, v, outputs, weights, y)


def gradients(kind, parameters, x, t, mask, wanted):
    """The gradient of the mean cross-entropy with respect to every parameter."""
    logits, (W, h, q, k, v, outputs, weights, y) = run(kind, parameters, x, t, mask)
    right = np.eye(DIGITS)[np.maximum(wanted, 0)]
    counts = (wanted >= 0)[..., None] / (wanted >= 0).sum(axis=(1, 2))[:, None, None, None]
    by_logits = (softmax(logits) - right) * counts
    back = {name: np.swapaxes(w, -1, -2) for name, w in W.items()}

    def by(a, b):
        """The gradient of a matrix: aᵀ b over all tokens of a seed."""
        a, b = (z.reshape(len(z), -1, z.shape[-1]) for z in (a, b))
        return np.swapaxes(a, 1, 2) @ b

    by_y = by_logits @ back["W_U"]
    by_outputs = by_y @ back["W_O"]
    by_q, by_k, by_v = attention_backward(q, k, v, weights, by_outputs)
    by_q, by_k = (turn(kind, z, -t) for z in (by_q, by_k))  # turned back
    by_h = by_y + by_q @ back["W_Q"] + by_k @ back["W_K"] + by_v @ back["W_V"]
    found = {"E": by(x, by_h), "W_Q": by(h, by_q), "W_K": by(h, by_k), "W_V": by(h, by_v)}
    found |= {"W_O": by(outputs, by_y), "W_U": by(y, by_logits)}
    if kind == "learned":
        found["table"] = np.zeros_like(parameters["table"])
        found["table"][:, : len(t)] = by_h.sum(axis=1)
    if kind == "T5":
        by_scores = softmax_gradient(weights, by_outputs @ np.swapaxes(v, -1, -2)).sum(axis=1)
        buckets = t5_buckets(np.arange(len(t))[:, None] - np.arange(len(t)), BUCKETS, L)
        found["bias"] = by_scores.reshape(len(by_scores), -1) @ np.eye(BUCKETS)[buckets.ravel()]
    return found


# --8<-- [end:model]


# --8<-- [start:train]
KINDS = ["learned", "sinusoids", "RoPE", "ALiBi", "T5", "none"]
STEPS, RATE, BATCH = 300, 0.02, 16


def start(kind, n_max, seeds=SEEDS):
    """Random parameters, a different draw for each seed."""
    rngs = [np.random.default_rng([SEED, seed]) for seed in range(seeds)]

    def normal(rows, columns, scale):
        return scale * np.stack([rng.normal(size=(rows, columns)) for rng in rngs])

    parameters = {"E": normal(2 * LETTERS + DIGITS, d, 1)}
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        parameters[name] = normal(d, d, d**-0.5)
    parameters["W_U"] = normal(d, DIGITS, d**-0.5)
    if kind == "learned":
        parameters["table"] = normal(n_max, d, 0.7)
    if kind == "T5":
        parameters["bias"] = np.zeros((seeds, BUCKETS))
    return parameters


def lessons(n, batch, seeds=SEEDS):
    """What every step of every seed learns from: sequences of n tokens, and their answers."""
    rngs = [np.random.default_rng([SEED, seed, 1]) for seed in range(seeds)]
    drawn = ([draw(rng, batch, n) for rng in rngs] for _ in range(STEPS))
    return [tuple(map(np.stack, zip(*one, strict=True))) for one in drawn]


def train(kind, lessons):
    """Parameters of all seeds after these lessons, with Adam."""
    seeds, _, n, _ = lessons[0][0].shape
    parameters, t = start(kind, 4 * L, seeds), np.arange(float(n))
    mean = {name: np.zeros_like(p) for name, p in parameters.items()}
    square = {name: np.zeros_like(p) for name, p in parameters.items()}
    for step, (x, wanted) in enumerate(lessons, start=1):
        mask = mask_of(kind, parameters, n)
        rate = RATE * min(1, 2 * (STEPS - step) / STEPS)  # falls in the second half
        for name, slope in gradients(kind, parameters, x, t, mask, wanted).items():
            mean[name] = 0.9 * mean[name] + 0.1 * slope
            square[name] = 0.98 * square[name] + 0.02 * slope**2
            m, v = mean[name] / (1 - 0.9**step), square[name] / (1 - 0.98**step)
            parameters[name] = parameters[name] - rate * m / (np.sqrt(v) + 1e-8)
    return parameters


material = lessons(L, BATCH)
trained = {kind: train(kind, material) for kind in KINDS}
# --8<-- [end:train]


# --8<-- [start:exam]
exam, answer = draw(np.random.default_rng([SEED, SEEDS]), 101, 4 * L)
positions = np.arange(4.0 * L)


def right(kind, parameters=None, window=None, t=positions, base=10000.0):
    """Which answers are right, (seeds, sequences, 4 L)."""
    parameters = trained[kind] if parameters is None else parameters
    mask = mask_of(kind, parameters, 4 * L, window)
    logits, _ = run(kind, parameters, exam[None], t, mask, base)
    return logits.argmax(axis=-1) == answer


def share(hits, first, last):
    """The share of right answers of each seed at positions first to last - 1."""
    place = (answer >= 0) & (first <= positions) & (positions < last)
    return hits[:, place].mean(axis=1)


def fours(hits):
    """The mean, lowest and highest share over the seeds, for four positions each."""
    shares = np.array([share(hits, i, i + 4) for i in range(0, 4 * L, 4)])
    return shares.mean(axis=1), shares.min(axis=1), shares.max(axis=1)


def span(shares):
    """The lowest and the highest share of the seeds, in per cent."""
    low, high = (number(100 * end, ".0f") for end in (shares.min(), shares.max()))
    return low if low == high else f"{low}–{high}"


NAMES = {
    "learned": "learned",
    "sinusoids": "sinusoids",
    "RoPE": "RoPE",
}
plain = {kind: right(kind) for kind in KINDS}
ends = np.arange(4, 4 * L + 1, 4)
TOKENS = "tokens so far"
RIGHT = "share of right answers"
SPAN = "lowest to highest of the seeds"
line_chart(
    ends,
    [(NAMES[kind], fours(plain[kind])[0]) for kind in NAMES],
    band={kind: fours(plain[kind])[1:] for kind in NAMES},
    band_name=SPAN,
    xlabel=TOKENS,
    ylabel=RIGHT,
    mark=L,
    spec=".2f",
)
# --8<-- [end:exam]


# --8<-- [start:example]
x, wanted = draw(np.random.default_rng([SEED, 7]), 1, 8)
letters, digits, asked = (x[0, :, i : i + 4].argmax(axis=-1) for i in (0, 4, 8))
answers = [None if i < 0 else int(i) for i in wanted[0]]
tokens = zip(letters, digits, asked, answers, strict=True)
table(
    [["ABCD"[i], digit, "ABCD"[j], found] for i, digit, j, found in tokens],
    columns=["letter", "digit", "asks for", "answer"],
    index=numbered("token", 8),
)
# --8<-- [end:example]


# --8<-- [start:dilution]
leading = []
for n in (16, 32, 64):
    weights = softmax(np.array([log(45)] + [0.0] * (n - 1)))
    leading.append([n, weights[0], str(Fraction(45, 45 + n - 1))])
columns = ["keys", "weight", "as a fraction"]
table(leading, columns=columns, spec=["d", ".4f", ""])
# --8<-- [end:dilution]


# --8<-- [start:angles]
factor = 4
omega, slowed = frequencies(8), frequencies(8, ntk_base(10000, 8, factor))
reach = {
    "in training": omega * L,
    "four times the length": omega * factor * L,
    "interpolated": omega * factor * L / factor,
    "NTK base": slowed * factor * L,
}
hands = [f"hand {i}" for i in range(4)]
table(list(reach.values()), columns=hands, index=list(reach), spec=".3f")
# --8<-- [end:angles]


# --8<-- [start:published]
bases = [500000, 1000000]
factors = [(base / 10000) ** (126 / 128) for base in bases]
table(list(zip(bases, factors, strict=True)), columns=["base", "λ"], spec=["d", ".2f"])
# --8<-- [end:published]

# --8<-- [start:partial]
same = np.array([[1.0, 0, 1, 0]])  # a query and a key that say the same


def score_at(offset, turned):
    """The dot product if only the first components are turned."""
    q_t, k_u = (
        np.concatenate([rope(same[:, :turned], np.array([t])), same[:, turned:]], axis=1)
        for t in (float(offset), 0.0)
    )
    return (q_t @ k_u.T).item()


table(
    [[score_at(offset, turned) for turned in (4, 2)] for offset in (0, 1, 3, 100, 314)],
    columns=["all four turned", "two of four turned"],
    index=[f"offset {offset}" for offset in (0, 1, 3, 100, 314)],
    spec=".2f",
)
# --8<-- [end:partial]


# --8<-- [start:alibi]
bias = alibi_bias(np.array([log(2)]), 64)[0]  # equal scores: c = 0
ns = (8, 16, 64)
table(
    [64 * softmax(bias[n - 1, :n])[:-9:-1] for n in ns],
    columns=[f"Δ = {offset}" for offset in range(8)],
    index=[f"{n} tokens" for n in ns],
    spec=".2f",
)
# --8<-- [end:alibi]


# --8<-- [start:slopes]
slopes = alibi_slopes(8)
rows = [[str(Fraction(m)), str(int(np.ceil(log(100) / m)))] for m in slopes]
table(rows, columns=["slope", "tokens back"], index=[f"head {r}" for r in range(1, 9)])
# --8<-- [end:slopes]

# --8<-- [start:other-slopes]
counts = (6, 12, 40)
table(
    [[alibi_slopes(h)[:2], alibi_slopes(h)[-2:]] for h in counts],
    columns=["first two", "last two"],
    index=[f"{h} heads" for h in counts],
    spec=".4f",
)
# --8<-- [end:other-slopes]


# --8<-- [start:far]
rng = np.random.default_rng(SEED)
spread, slope, tried = 3, 0.5, []
for w in (8, 12, 16):
    bound, met = far_share(slope, spread, w), []
    for n in (16, 64, 256):
        worst = np.where(np.arange(n) < n - w, spread, 0.0)  # far keys lead
        drawn = rng.uniform(0, spread, (1000, n))
        scores = np.concatenate([worst[None], drawn])
        far = softmax(scores + alibi_bias(np.array([slope]), n)[0, -1])
        met.append(far[:, : n - w].sum(axis=-1))
    tried.append([*(one[0] for one in met), max(one[1:].max() for one in met), bound])
table(
    tried,
    columns=["lead, n = 16", "lead, n = 64", "lead, n = 256", "random scores", "bound"],
    index=[f"w = {w}" for w in (8, 12, 16)],
    spec=".4f",
)
# --8<-- [end:far]


# --8<-- [start:buckets]
buckets = t5_buckets(np.arange(20), BUCKETS, L)
begins = []  # where the last bucket begins
for sizes in ((BUCKETS, L), (32, 128)):
    begins.append(int((t5_buckets(np.arange(200), *sizes) < sizes[0] - 1).sum()))
table(
    [[", ".join(map(str, np.flatnonzero(buckets == b)))] for b in range(BUCKETS)],
    columns=["offsets"],
    index=[f"bucket {b}" for b in range(BUCKETS)],
)
# --8<-- [end:buckets]


# --8<-- [start:near-share]
near = L * exp(3)  # L near keys, each with a lead of 3
shares = [[n, near / (near + n - L)] for n in (16, 64, 256, 4096)]
table(shares, columns=["keys", "share of the near keys"], spec=[",", ".4f"])
# --8<-- [end:near-share]


# --8<-- [start:ceiling]
has, asks = (exam[:, :, i : i + 4].argmax(axis=-1) for i in (0, 8))
match = (asks[:, :, None] == has[:, None, :]) & causal_mask(4 * L)
named = match.astype(float) @ exam[:, :, 4:8]  # matches with each digit
best = np.where(asks == has, 1, named.max(axis=-1) / np.maximum(named.sum(axis=-1), 1))
ranges = ((0, L), (L, 2 * L), (2 * L, 4 * L))
limits = []
for a, b in ranges:
    place = (answer >= 0) & (a <= positions) & (positions < b)
    limits.append([span(share(plain["none"], a, b)), 100 * best[place].mean()])
tokens = [f"tokens {a + 1}–{b}" for a, b in ranges]
table(limits, columns=["trained, %", "bound, %"], index=tokens, spec=".0f")
# --8<-- [end:ceiling]


# --8<-- [start:none]
rng = np.random.default_rng(SEED)
W_Q, W_K, W_V = (rng.normal(size=(4, 4)) / 2 for _ in range(3))
first, other = rng.normal(size=(2, 4))
marked = np.stack([first] + [other] * 7)  # one mark, then equal tokens
q, k, v = marked @ W_Q, marked @ W_K, marked @ W_V
outputs, weights = attention(q, k, v, causal_mask(8))
# score of the others minus that of the mark
gap = (q[1] @ k[1] - q[1] @ k[0]) / 2
formula = [1 / (1 + t * exp(gap)) for t in range(8)]
table(
    np.column_stack([range(8), weights[:, 0], formula]),
    columns=["t", "weight of the mark", "formula"],
    spec=["d", ".6f", ".6f"],
)
# --8<-- [end:none]


# --8<-- [start:order]
moved = {}
for kind in ("none", "RoPE"):
    x, t = exam[None, :, :L], positions[:L]
    mask = mask_of(kind, trained[kind], L)
    before, _ = run(kind, trained[kind], x, t, mask)
    shuffled = x[:, :, [*range(L - 2, -1, -1), L - 1]]  # all but the last, reversed
    after, _ = run(kind, trained[kind], shuffled, t, mask)
    moved[kind] = np.abs(after - before)[:, :, -1].max() > 1e-9
table(
    [[moved["none"]], [moved["RoPE"]]],
    columns=["does the last output change?"],
    index=["none", "RoPE"],
)
# --8<-- [end:order]


# --8<-- [start:control]
slow = ntk_base(10000, d, 4)
cases = {  # kind, positions, base
    "learned": ("learned", positions, 10000.0),
    "sinusoids": ("sinusoids", positions, 10000.0),
    "RoPE": ("RoPE", positions, 10000.0),
    "RoPE, t / 4": ("RoPE", positions / 4, 10000.0),
    "RoPE, NTK": ("RoPE", positions, slow),
    "ALiBi": ("ALiBi", positions, 10000.0),
    "T5": ("T5", positions, 10000.0),
    "none": ("none", positions, 10000.0),
}
all_keys = {name: right(k, t=t, base=b) for name, (k, t, b) in cases.items()}
near_keys = {name: right(k, None, L, t, b) for name, (k, t, b) in cases.items()}


def matching(kind, t, base):
    """The mean score of a key with the letter asked for, against its offset, less that at 0."""
    total = 0
    for letter in np.eye(4):
        token = np.full((1, 1, 4 * L, 12), 0.25)  # the mean over what is not fixed
        ask, have = token.copy(), token.copy()
        ask[..., 8:], have[..., :4] = letter, letter
        mask = mask_of(kind, trained[kind], 4 * L)
        _, (_, _, q, _, *_) = run(kind, trained[kind], ask, t, mask, base)
        _, (_, _, _, k, *_) = run(kind, trained[kind], have, t, mask, base)
        scores = q[:, 0, -1:] @ np.swapaxes(k[:, 0], 1, 2) / d**0.5
        total = total + (scores + np.reshape(mask, (-1, 4 * L, 4 * L))[:, -1:])[:, 0]
    by_offset = total[:, ::-1] / 4  # (seeds, offsets)
    return by_offset - by_offset[:, :1]


CHOICES = ["learned", "sinusoids", "RoPE", "RoPE, t / 4", "RoPE, NTK", "ALiBi", "T5", "none"]
score_lines = {name: matching(*case) for name, case in cases.items()}


def frame(place, name):
    """Share of right answers, and the score of a matching key against its offset."""
    hits = [fours(all_keys[name]), fours(near_keys[name])]
    labels = ["all keys", "last 16"]
    answers = line_chart(
        ends,
        [(label, one[0]) for label, one in zip(labels, hits, strict=True)]
        + [("guess", np.full(len(ends), 1 / DIGITS))],
        band={e: one[1:] for e, one in zip(labels, hits, strict=True)},
        band_name=SPAN,
        xlabel=TOKENS,
        ylabel=RIGHT,
        mark=L,
        spec=".2f",
    )
    lines = score_lines[name][:, ::3]
    scores = line_chart(
        np.arange(0, 4 * L, 3),
        [("score", lines.mean(axis=0))],
        band={"score": (lines.min(axis=0), lines.max(axis=0))},
        band_name=SPAN,
        xlabel="offset",
        ylabel="score, from offset 0",
        mark=L,
        roles=["score"],
        spec=".1f",
    )
    late, near = (span(share(h[name], 2 * L, 4 * L)) for h in (all_keys, near_keys))
    caption = f"At 33–64 it gets {late}% right, and {near}% with the window."
    return Frame((str(place),), CHOICES[place - 1], (answers, scores), caption)


stepper(
    "positions",
    [("Positions", CHOICES)],
    [frame(i, name) for i, name in enumerate(cases, start=1)],
    answer="3",
)
# --8<-- [end:control]


# --8<-- [start:table]
late = {name: share(near_keys[name], 2 * L, 4 * L) for name in all_keys}
table(
    [
        [*(span(share(hits, a, b)) for a, b in ranges), span(late[name])]
        for name, hits in all_keys.items()
    ],
    columns=[*tokens, f"{tokens[-1]}, w = {L}"],
    index=list(all_keys),
    name="right answers, %",
)
# --8<-- [end:table]


# --8<-- [start:long]
many, level = 20, 0.85
longer = train("sinusoids", lessons(4 * L, BATCH // 4, many))
taught = right("sinusoids", longer)
most = int((share(taught, 2 * L, 4 * L) > level).sum())
table(
    [
        [len(hits), span(share(hits, 2 * L, 4 * L))]
        for hits in (plain["sinusoids"], taught[:SEEDS], taught)
    ],
    columns=["training runs", "right answers, %"],
    index=[f"trained on {n} tokens" for n in (L, 4 * L, 4 * L)],
)
# --8<-- [end:long]


# --8<-- [start:window]
by_offset = ["RoPE", "ALiBi", "T5", "none"]
agreeing = []
for kind in by_offset:
    mask = mask_of(kind, trained[kind], 4 * L, window=L)
    long, _ = run(kind, trained[kind], exam[None], positions, mask)
    mask, farthest = mask_of(kind, trained[kind], L), 0
    for end in (L, 40, 4 * L):
        piece, t = exam[None, :, end - L : end], positions[:L]
        short, _ = run(kind, trained[kind], piece, t, mask)
        difference = np.abs(short[:, :, -1] - long[:, :, end - 1]).max()
        farthest = max(farthest, difference)
    agreeing.append([farthest < 1e-9])
table(agreeing, columns=["equal to within 10⁻⁹?"], index=by_offset)
# --8<-- [end:window]


# --8<-- [start:gradient]
kind, few = "T5", np.random.default_rng(SEED)
x, wanted = draw(few, SEEDS, 6)
x, wanted, t = x[:, None], wanted[:, None], positions[:6]


def loss(parameters):
    """The sum over the seeds of the mean cross-entropy."""
    mask = mask_of(kind, parameters, 6)
    p = softmax(run(kind, parameters, x, t, mask)[0])
    chosen = np.take_along_axis(p, np.maximum(wanted, 0)[..., None], -1)[..., 0]
    counts = (wanted >= 0).sum(axis=(1, 2))
    return -(np.where(wanted >= 0, np.log(chosen), 0).sum(axis=(1, 2)) / counts).sum()


kinds, gaps, slopes = ["learned", "RoPE", "T5"], [], []
for kind in kinds:
    parameters = start(kind, 6)
    found = gradients(kind, parameters, x, t, mask_of(kind, parameters, 6), wanted)
    changes = []  # by hand, and by central differences
    for name, p in parameters.items():
        step = 1e-5 * few.normal(size=p.shape)
        up, down = parameters | {name: p + step}, parameters | {name: p - step}
        changes.append([(found[name] * step).sum(), (loss(up) - loss(down)) / 2])
        gaps.append(abs(changes[-1][0] - changes[-1][1]))
    slopes.append(np.sum(changes, axis=0) / 1e-5)
check("every change of the loss agrees to within 10⁻¹¹", max(gaps) < 1e-11)
table(slopes, columns=["by hand", "central differences"], index=kinds, spec=".4f")
# --8<-- [end:gradient]


# --8<-- [start:mistake-no-limit]
straight = right("RoPE", t=positions)
divided = right("RoPE", t=positions / 4)
windowed = right("RoPE", window=L)
late_hits = (straight, divided, windowed)
table(
    [[span(share(hits, 3 * L, 4 * L))] for hits in late_hits],
    columns=["right answers, %"],
    index=["plain (wrong)", "t / 4", "w = 16"],
)
# --8<-- [end:mistake-no-limit]


# --8<-- [start:exercise-dilute]
tenth, hundredth, growth = 9 / 18, 9 / 108, log(99 / 9)
miscounted, overgrown = 9 / 109, log(100 / 10)  # all keys, not the others
grown = [[10, str(Fraction(9, 18)), None], [100, str(Fraction(9, 108)), growth]]
columns = ["keys", "weight", "growth of the lead"]
table(grown, columns=columns, spec=["d", "", ".4f"])
# --8<-- [end:exercise-dilute]


# --8<-- [start:exercise-base]
new = ntk_base(100.0, 4, 3.0)
table([[new, *(1 / frequencies(4, new))]], columns=["base", "1/ω_0", "1/ω_1"], spec=".0f")
# --8<-- [end:exercise-base]


# --8<-- [start:exercise-half]
half = right("RoPE", t=positions / 2)
table(
    [[span(share(hits, a, b)) for a, b in ranges] for hits in (straight, half, divided)],
    columns=tokens,
    index=["t", "t / 2", "t / 4"],
    name="right answers, %",
)
# --8<-- [end:exercise-half]


# --8<-- [start:exercise-keys]
W = {name: w[:, None] for name, w in trained["RoPE"].items()}
h = exam @ W["E"]
q = rope(h @ W["W_Q"], positions / 4)
k = rope(h @ W["W_K"], positions)  # wrong: the keys are not divided
outputs, _ = attention(q, k, h @ W["W_V"], causal_mask(4 * L))
logits = (h + outputs @ W["W_O"]) @ W["W_U"]
mixed = logits.argmax(axis=-1) == answer
table(
    [[span(share(hits, 0, L))] for hits in (mixed, divided)],
    columns=["right answers, %"],
    index=["t / 4 in q alone (wrong)", "t / 4 in q and k (right)"],
)
# --8<-- [end:exercise-keys]


# --8<-- [start:exercise-needle]
found = []
for w in (16, 32, 64):
    scores = np.zeros(65)
    scores[-1 - w] = 20  # the only key that matters, w tokens back
    weights = softmax(scores + alibi_bias(np.array([SLOPE]), 65)[0, -1])
    found.append([w, weights[-1 - w]])
table(found, columns=["w", "weight"], spec=["d", ".4f"])
# --8<-- [end:exercise-needle]


# --8<-- [start:exercise-count]
scores = np.random.default_rng(SEED).normal(size=(6, 6))
causal = np.where(causal_mask(6), 0, -np.inf)
by_offset = alibi_bias(np.array([SLOPE]), 6)[0]
by_key = SLOPE * np.arange(6) + causal
alibi, simpler = softmax(scores + by_offset), softmax(scores + by_key)
check("all weights agree to within 10⁻¹²", np.abs(alibi - simpler).max() < 1e-12)
table(
    [alibi[-1], simpler[-1]],
    columns=numbered("key", 6),
    index=["−m (t − u)", "m u"],
    spec=".4f",
    name="weights of query 6",
)
# --8<-- [end:exercise-count]


# --8<-- [start:exercise-far]
spread, near, found = 2, 8, []
for t in (15, 63, 255, 4095):
    scores = np.zeros(t + 1)
    scores[-near:] = spread
    weights = softmax(scores)
    bound = near * exp(spread) / (near * exp(spread) + t + 1 - near)
    found.append([t, weights[-near:].sum(), bound])
table(found, columns=["t", "share", "bound"], spec=["d", ".4f", ".4f"])
# --8<-- [end:exercise-far]


# --8<-- [start:writing]
def your_bias(n, slope):
    """What ALiBi adds to the scores of one head (n, n): -inf for later keys."""
    return np.zeros((n, n))  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_bias(n, slope):
    places = np.arange(n)
    back = places[:, None] - places[None, :]  # i - j
    return np.where(back >= 0, -slope * back, -np.inf)


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, judge


def bias_by(back, n, allowed=None):
    """A wrong bias: of the distance it makes what `back` says."""
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    return np.where(i >= j if allowed is None else allowed, back(i, j), -np.inf)


writing = Task(
    model_bias,
    inputs=[(1, 0.5), (2, 0.5), (3, 0.25), (5, 2.0)],
    mistakes={
        "The sign is turned around: far keys get the larger bias.": (
            lambda n, slope: bias_by(lambda i, j: slope * (i - j), n)
        ),
        "Later keys are not forbidden: a bias alone hides nothing.": (
            lambda n, slope: bias_by(lambda i, j: -slope * abs(i - j), n, allowed=True)
        ),
        "A token is at distance 0 from itself, and here it is at distance 1.": (
            lambda n, slope: bias_by(lambda i, j: -slope * (i - j + 1), n)
        ),
        "The distance is counted from the first key, and not from the query.": (
            lambda n, slope: bias_by(lambda i, j: -slope * j + 0 * i, n)
        ),
    },
    draw=lambda rng: (int(rng.integers(6, 40)), rng.uniform(0.1, 2)),
)
judge(your_bias, writing)
# --8<-- [end:writing-checks]
