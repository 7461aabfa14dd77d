"""Generating text: the KV cache, what it saves, what shrinks it, and speculative sampling."""

# --8<-- [start:waste]
import numpy as np

from attention_docs.figures import bar_chart, table
from attention_docs.generation import cached_block
from attention_docs.multi_head import Parameters
from attention_docs.positions import sinusoids
from attention_docs.transformer_block import BlockParameters, layer_norm

SEED = 0
d, h, d_ff, n = 16, 4, 64, 32
rng = np.random.default_rng(SEED)


def random_block():
    """One block whose parameters are drawn at random."""
    sizes = [(d, d)] * 4 + [(d, d_ff), (d_ff, d)]
    *four, W_1, W_2 = (rng.normal(0, s[0] ** -0.5, s) for s in sizes)
    return BlockParameters(Parameters(*four), W_1, W_2)


BLOCKS = [random_block() for _ in range(2)]
TABLE = rng.normal(size=(12, d))  # the embeddings of 12 words
PLACES = sinusoids(np.arange(float(n + 1)), d)


def run(x, caches, blocks=BLOCKS):
    """New tokens through all blocks; the caches grow."""
    for i, block in enumerate(blocks):
        x, caches[i] = cached_block(x, block, h, caches[i])
    return x


def next_word(x):
    """The word with the largest logit after the last token."""
    return int((layer_norm(x[-1]) @ TABLE.T).argmax())


ids, seen = [0], [np.empty((h, 0, d // h))] * 2
computed, again = [], []
for t in range(1, n + 1):
    caches = [None, None]  # nothing is kept
    x = run(TABLE[ids] + PLACES[:t], caches)
    ids.append(next_word(x))
    keys = [cache.key for cache in caches]
    old = [np.abs(k[:, : t - 1] - s) < 1e-9 for k, s in zip(keys, seen, strict=True)]
    computed.append(sum(k.shape[1] for k in keys))
    again.append(sum(int(one.all(axis=(0, 2)).sum()) for one in old))
    seen = keys
shown = (1, 2, 4, 8, 16, 32)
bar_chart(
    [f"word {t}" for t in shown],
    {
        "keys computed": [computed[t - 1] for t in shown],
        "computed before": [again[t - 1] for t in shown],
    },
    ylabel="keys",
    spec="d",
)
# --8<-- [end:waste]

# --8<-- [start:setup]
from fractions import Fraction

from attention_docs.attention_function import attention
from attention_docs.figures import Frame, heatmap, line_chart, slider
from attention_docs.generation import (
    CONFIGURATIONS,
    Configuration,
    acceptance,
    attend_with_cache,
    cache_bytes,
    decode_flops,
    expected_tokens,
    grouped_attention,
    latent_attention,
    residual,
    step_flops,
    window_mask,
)
from attention_docs.masking import causal_mask
from attention_docs.multi_head import multi_head_attention
from attention_docs.positions import rope
from attention_docs.softmax import softmax
from attention_docs.text import check, number
from attention_docs.transformer_block import encoder_block

whole = TABLE[ids[:n]] + PLACES[:n]  # the inputs of the text above
# --8<-- [end:setup]

# --8<-- [start:cache]
mask = causal_mask(n)
expected = whole  # all n tokens at once
for block in BLOCKS:
    expected = encoder_block(expected, block, h, mask, norm_first=True)

caches = [None, None]
one_by_one = [run(whole[t : t + 1], caches) for t in range(n)]
gap = np.abs(np.concatenate(one_by_one) - expected).max()
check("both ways agree to within 10⁻¹²", gap < 1e-12)
shapes = [[str(kept.key.shape)] for kept in caches]  # (h, n, d_k)
table(shapes, columns=["cached keys"], index=["layer 1", "layer 2"])
# --8<-- [end:cache]


# --8<-- [start:exact]
def average(q, keys, values):
    """A weighted average with the weights 1 + s², in fractions."""
    s = [sum(a * b for a, b in zip(q, k, strict=True)) for k in keys]
    f = [1 + one**2 for one in s]
    columns = zip(*values, strict=True)
    return [sum(a * v for a, v in zip(f, c, strict=True)) / sum(f) for c in columns]


def product(row, matrix):
    return [sum(a * b for a, b in zip(row, c, strict=True)) for c in zip(*matrix, strict=True)]


small = np.random.default_rng(SEED).integers(-2, 3, size=(2, 3, 2, 2)).tolist()
tokens = [[Fraction(c) for c in row] for row in ([1, 2], [-1, 1], [2, 0], [1, -3], [0, 1])]


def at_once(rows):
    """Two layers over a whole text; query i sees keys 1 to i."""
    for W_q, W_k, W_v in small:
        q, k, v = ([product(row, W) for row in rows] for W in (W_q, W_k, W_v))
        heads = [average(q[i], k[: i + 1], v[: i + 1]) for i in range(len(rows))]
        rows = [
            [a + b for a, b in zip(*pair, strict=True)] for pair in zip(rows, heads, strict=True)
        ]
    return rows


kept = [([], []), ([], [])]
written = []
for row in tokens:
    for (W_q, W_k, W_v), (ks, vs) in zip(small, kept, strict=True):
        ks.append(product(row, W_k))
        vs.append(product(row, W_v))
        head = average(product(row, W_q), ks, vs)
        row = [a + b for a, b in zip(row, head, strict=True)]
    written.append(row)
check("the rows of both ways are equal fractions", written == at_once(tokens))
table(
    [[len(str(c.denominator)) for c in row] for row in written],
    columns=["component 1", "component 2"],
    index=[f"row {i}" for i in range(1, 6)],
    name="Digits of the denominators",
)
# --8<-- [end:exact]


# --8<-- [start:bits]
def in_order(q, keys, values):
    """One query, every sum from left to right."""
    f = [float(np.exp(sum(float(a * b) for a, b in zip(q, k, strict=True)))) for k in keys]
    columns = zip(*values, strict=True)
    return [sum(a * float(v) for a, v in zip(f, c, strict=True)) / sum(f) for c in columns]


q, k, v = np.random.default_rng(SEED).normal(size=(3, n, 4))
full = [in_order(q[i], k[: i + 1], v[: i + 1]) for i in range(n)]
store = ([], [])
with_store = []
for i in range(n):
    store[0].append(k[i])
    store[1].append(v[i])
    with_store.append(in_order(q[i], *store))
equal = np.array(with_store) == np.array(full)  # (n, 4)
table([[equal.size, equal.sum()]], columns=["numbers", "equal to the last bit"])
# --8<-- [end:bits]

# --8<-- [start:changed-token]
changed = whole.copy()
changed[4] = TABLE[(ids[4] + 1) % len(TABLE)] + PLACES[4]  # another word in place 5
caches_of_changed = [None, None]
for t in range(n):
    run(changed[t : t + 1], caches_of_changed)
still_right = [
    int((np.abs(old.key - new.key) < 1e-9).all(axis=(0, 2)).sum())
    for old, new in zip(caches, caches_of_changed, strict=True)
]
table([[one] for one in still_right], columns=["keys that stay"], index=["layer 1", "layer 2"])
# --8<-- [end:changed-token]

# --8<-- [start:wrong-mask]
q = k = np.zeros((5, 1))  # equal scores
v = np.arange(1.0, 6)[:, None]  # values 1, 2, 3, 4, 5
upper_left = causal_mask(1, 5)
lower_right = causal_mask(1, 5, offset=4)
both = [attention(q[4:], k, v, mask) for mask in (upper_left, lower_right)]
table(
    [[a[0], o.item()] for o, a in both],
    columns=["weights", "output"],
    index=["upper left (wrong)", "lower right (right)"],
    spec=".1f",
)
# --8<-- [end:wrong-mask]

# --8<-- [start:wrong-mask-torch]
import torch
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention as sdpa

one, five = (torch.from_numpy(array)[None] for array in (q[4:], k))
theirs = torch.from_numpy(v)[None]
upper = sdpa(one, five, theirs, is_causal=True).item()
lower = sdpa(one, five, theirs, causal_lower_right(1, 5)).item()
table(
    [[upper], [lower]],
    columns=["output"],
    index=["is_causal=True", "causal_lower_right"],
    spec=".1f",
    name=f"PyTorch {torch.__version__.split('+')[0]}",
)
# --8<-- [end:wrong-mask-torch]

# --8<-- [start:wrong-position]
rng = np.random.default_rng(3)
q, k, v = rng.normal(size=(3, 1, 6, 8))  # one head, six tokens
places = np.arange(6.0)
turned_q, turned_k = rope(q, places), rope(k, places)
right, _ = attention(turned_q, turned_k, v, causal_mask(6))


def one_at_a_time(place):
    """The last output, where place(t) is the position of token t."""
    cache = None
    for t in range(6):
        at = np.array([place(t)])
        new_q, new_k = (rope(x[:, t : t + 1], at) for x in (q, k))
        o, cache = attend_with_cache(new_q, new_k, v[:, t : t + 1], cache)
    return o[0, 0]


always_0 = one_at_a_time(lambda t: 0.0)
by_token = one_at_a_time(float)
table(
    [o[:4] for o in (always_0, by_token, right[0, -1])],
    columns=[f"component {c}" for c in range(1, 5)],
    index=["always position 0 (wrong)", "position t (right)", "all at once"],
    spec=".3f",
)
# --8<-- [end:wrong-position]


# --8<-- [start:flops]
class Counted(np.ndarray):
    """An array that counts the operations of its matrix products."""

    total = 0

    def __matmul__(self, other):
        result = super().__matmul__(other)
        Counted.total += 2 * result.size * self.shape[-1]  # times and plus, a term
        return result

    def __array_function__(self, *call):
        result = super().__array_function__(*call)  # np.where, np.concatenate
        return result.view(Counted) if type(result) is np.ndarray else result


def counting(block):
    """The block with arrays that count."""
    four = [W.view(Counted) for W in block.attention[:4]]
    return BlockParameters(Parameters(*four), block.W_1.view(Counted), block.W_2.view(Counted))


def counted(steps):
    """Operations of the products in these steps, each from an input and caches."""
    Counted.total = 0
    for x, caches in steps:
        run(x.view(Counted), caches, [counting(block) for block in BLOCKS])
    return Counted.total


work = []
for m in (1, 8, 32):
    caches = [None, None]
    step = counted((whole[t : t + 1], caches) for t in range(m))
    anew = counted((whole[: t + 1], [None, None]) for t in range(m))
    formula = [2 * decode_flops(m, d, d_ff, cached=c) for c in (True, False)]
    work.append([m, formula[0], step, formula[1], anew])
table(
    work,
    columns=["n", "cached", "cached, counted", "everything again", "everything again, counted"],
    spec=",",
)
# --8<-- [end:flops]

# --8<-- [start:work]
steps = [2**i for i in range(13)]


def at_step(t, cached):
    """Operations for token t alone, one block as wide as GPT-2's smallest."""
    before = decode_flops(t - 1, 768, 3072, cached) if t > 1 else 0
    return decode_flops(t, 768, 3072, cached) - before


line_chart(
    steps,
    [
        ("everything again", [at_step(t, False) for t in steps]),
        ("with a cache", [at_step(t, True) for t in steps]),
    ],
    xlabel="token t",
    ylabel="operations",
    log_x=True,
    log_y=True,
)
# --8<-- [end:work]

# --8<-- [start:intensity]
lengths, groups = (1000, 100_000), (64, 8, 1)
width = 8192  # d, 64 query heads of 128


H100 = 989.5e12 / 3.35e12  # 16-bit operations and bytes of memory in a second


def intensity(m, g):
    """Operations for each byte that a step reads, with m tokens before it."""
    kv = g * 128
    matrices = 2 * width * width + 2 * width * kv + 8 * width * width
    flops = 2 * matrices + 4 * m * width
    return flops / (2 * matrices + 2 * 2 * m * kv)


table(
    [[intensity(m, g) for m in lengths] for g in groups],
    columns=[f"n = {m:,}" for m in lengths],
    index=[f"h/g = {64 // g}" for g in groups],
    spec=".2f",
    name="Operations per byte",
)
# --8<-- [end:intensity]

# --8<-- [start:bytes]
ours = Configuration("", layers=2, heads=h, kv_heads=h, d_head=d // h)
caches = [None, None]
run(whole, caches)
held = sum(array.nbytes for cache in caches for array in cache)
by_formula = cache_bytes(ours, n, bytes_per_number=8)
table([[by_formula, held]], columns=["formula", "held by the arrays"], spec=",")
# --8<-- [end:bytes]

# --8<-- [start:control]
LENGTHS = (1024, 32_768, 131_072)


def size(count):
    """Bytes as text."""
    unit, name = (2**30, "GiB") if count >= 2**30 else (2**20, "MiB")
    return f"{number(count / unit, '.4g')} {name}"


def frame(i, g):
    """Who shares with whom, and what the cache takes."""
    shares = np.repeat(np.eye(g, dtype=int), 8 // g, axis=0)
    taken = [size(cache_bytes(Configuration("", 32, 8, g, 128), m)) for m in LENGTHS]
    drawn = heatmap(
        shares,
        rows=[f"Q_{r}" for r in range(1, 9)],
        columns=[f"KV_{c}" for c in range(1, g + 1)],
        spec="d",
        role="key",
    )
    short, middle, long = LENGTHS
    caption = (
        f"Query heads for each KV head: {8 // g}. The cache for {short:,}, {middle:,} and {long:,} "
        f"tokens: {taken[0]}, {taken[1]} and {taken[2]}."
    )
    return Frame((str(i),), f"g = {g}", (drawn,), caption)


slider(
    "KV heads",
    [frame(i, g) for i, g in enumerate((1, 2, 4, 8))],
)
# --8<-- [end:control]

# --8<-- [start:grouped]
rng = np.random.default_rng(SEED)
x = rng.normal(size=(6, 16))
W_q, W_o = rng.normal(size=(2, 16, 16))  # 4 query heads of size 4
W_k, W_v = rng.normal(size=(2, 16, 8))  # 2 key/value heads of size 4


def heads(W):
    return (x @ W).reshape(6, -1, 4).swapaxes(0, 1)  # (heads, n, 4)


shared, _ = grouped_attention(heads(W_q), heads(W_k), heads(W_v))


def repeated(W):
    return W.reshape(16, 2, 4).repeat(2, axis=1).reshape(16, 16)


parameters = Parameters(W_q, repeated(W_k), repeated(W_v), W_o)
as_multi_head, _ = multi_head_attention(x, x, x, parameters, num_heads=4)
joined = shared.swapaxes(0, 1).reshape(6, 16) @ W_o
check("all outputs agree to within 10⁻¹²", np.abs(joined - as_multi_head).max() < 1e-12)
table(
    [joined[0, :4], as_multi_head[0, :4]],
    columns=[f"component {c}" for c in range(1, 5)],
    index=["grouped-query attention", "multi-head attention"],
    spec=".4f",
    name="output 1",
)
# --8<-- [end:grouped]

# --8<-- [start:wrong-repeat]
rng = np.random.default_rng(SEED)
q = rng.normal(size=(4, 3, 2))  # 4 query heads
k, v = rng.normal(size=(2, 2, 3, 2))  # 2 key/value heads
wrong = [np.tile(one, (2, 1, 1)) for one in (k, v)]
right = [np.repeat(one, 2, axis=0) for one in (k, v)]
found = []
for all_k, all_v in (wrong, right):
    o, _ = attention(q, all_k, all_v)
    read = [1 + int((one == v[1]).all()) for one in all_v]  # the group of each head
    found.append([read, o[:, 0, 0]])
table(
    found,
    columns=["groups that are read", "outputs"],
    index=["tile (wrong)", "repeat (right)"],
    spec=["d", ".3f"],
)
# --8<-- [end:wrong-repeat]

# --8<-- [start:repeat-torch]
theirs = sdpa(*(torch.from_numpy(one)[None] for one in (q, k, v)), enable_gqa=True)
ours_, _ = grouped_attention(q, k, v)
check("all outputs agree to within 10⁻¹²", np.abs(theirs[0].numpy() - ours_).max() < 1e-12)
table(
    [theirs[0, :, 0, 0], ours_[:, 0, 0]],
    columns=[f"head {r}" for r in range(1, 5)],
    index=["PyTorch", "attention_docs"],
    spec=".3f",
)
# --8<-- [end:repeat-torch]

# --8<-- [start:models]
long = 32_768
# The length of text that each model was trained for, from the same papers.
TRAINED = [2048, 2048, 4096, 4096, 8192, 8192, 8192, 131_072, 131_072, 32_768, 32_768, 131_072]
models = []
for model, trained in zip(CONFIGURATIONS, TRAINED, strict=True):
    kept_ = f"{model.kv_heads} · {model.d_head}"
    if model.latent:
        kept_ = f"{model.latent} + {model.position}"
    taken, flops = cache_bytes(model, long), step_flops(model, long)
    models.append(
        [kept_, trained, cache_bytes(model, 1), taken / 2**30, flops / 10**9, flops / taken]
    )
table(
    models,
    columns=[
        "KV heads · size, or latent",
        "trained length",
        "bytes per token",
        f"GiB for {long:,} tokens",
        "10⁹ operations per step",
        "operations per byte",
    ],
    index=[model.name for model in CONFIGURATIONS],
    spec=["", ",", ",", ".2f", ".1f", ".0f"],
)
# --8<-- [end:models]

# --8<-- [start:latent]
rng = np.random.default_rng(SEED)
c = rng.integers(-3, 4, size=(5, 3))  # what is kept: 5 tokens, d_c = 3
W_uk = rng.integers(-3, 4, size=(3, 4))  # makes keys of size 4
q = rng.integers(-3, 4, size=(1, 4))
by_keys = q @ (c @ W_uk).T  # 5 keys are built, then compared
by_query = (q @ W_uk.T) @ c.T  # the query absorbs the matrix instead
table(
    np.vstack([by_keys, by_query]),
    columns=[f"key {j}" for j in range(1, 6)],
    index=["keys are built", "the query absorbs"],
)
# --8<-- [end:latent]

# --8<-- [start:latent-heads]
rng = np.random.default_rng(SEED)
q, c = rng.normal(size=(4, 1, 8)), rng.normal(size=(20, 6))  # 4 heads, 20 tokens
W_uk, W_uv = rng.normal(size=(4, 6, 8)), rng.normal(size=(4, 6, 5))
made, moved = (latent_attention(q, c, W_uk, W_uv, absorbed=a) for a in (False, True))
check("both ways agree to within 10⁻¹²", np.abs(made - moved).max() < 1e-12)
table(
    [[made[r, 0], moved[r, 0]] for r in range(4)],
    columns=["keys are built", "the query absorbs"],
    index=[f"head {r}" for r in range(1, 5)],
    spec=".3f",
)
# --8<-- [end:latent-heads]


# --8<-- [start:latent-cost]
def products(build):
    """Operations of the matrix products, by the counting array."""
    Counted.total = 0
    build(*(one.view(Counted) for one in (q, c, W_uk, W_uv)))
    return Counted.total


heads_, m, d_k, d_c, d_v = 4, 20, 8, 6, 5
make = 2 * heads_ * m * (d_c * (d_k + d_v) + d_k + d_v)
move = 2 * heads_ * (d_k * d_c + 2 * m * d_c + d_c * d_v)
counts = [
    products(lambda *given, a=absorbed: latent_attention(*given, absorbed=a))
    for absorbed in (False, True)
]
table(
    [[make, counts[0]], [move, counts[1]]],
    columns=["formula", "counted"],
    index=["keys are built", "the query absorbs"],
    spec=",",
)
# --8<-- [end:latent-cost]

# --8<-- [start:latent-crossing]
d_c, d_k, d_v = CONFIGURATIONS[-1].latent, 128, 128  # one head of DeepSeek-V3


def per_token(m):
    """Operations for each cached token, if m queries come at once: built, absorbed."""
    return [2 * d_c * (d_k + d_v) + 2 * m * (d_k + d_v), 4 * m * d_c]


crossing = d_c * (d_k + d_v) / (2 * d_c - d_k - d_v)
table(
    [per_token(m) for m in (1, 170, 171, 1000)],
    columns=["keys and values are built", "the query absorbs"],
    index=["1 query", *(f"{m:,} queries" for m in (170, 171, 1000))],
    spec=",",
)
# --8<-- [end:latent-crossing]

# --8<-- [start:latent-rope]
positions = np.arange(20.0)
key = c @ W_uk[0]  # head 1
turned = rope(q[0], np.array([19.0])) @ rope(key, positions).T
tried = (rope(q[0], np.array([19.0])) @ W_uk[0].T) @ rope(c, positions).T
check("the scores differ by more than 1", np.abs(turned - tried).max() > 1)
table(
    [turned[0, :5], tried[0, :5]],
    columns=[f"key {j}" for j in range(1, 6)],
    index=["the key is rotated", "c is rotated (wrong)"],
    spec=".2f",
)
# --8<-- [end:latent-rope]

# --8<-- [start:sink]
s = np.array([5.0, 0, 1, 0, 1])  # key 1 takes nearly all
v = np.array([[0.0], [1], [-2], [3], [2]])  # and hands over 0
a = softmax(s)
kept_o = a @ v
cut_o = softmax(s[1:]) @ v[1:]  # key 1 has left the window
by_formula = (kept_o - a[0] * v[0]) / (1 - a[0])
table(
    [[a, kept_o[0]], [softmax(s[1:]), cut_o[0]], [None, by_formula[0]]],
    columns=["weights", "output"],
    index=["with the sink", "without it", "by the formula"],
    spec=".3f",
)
# --8<-- [end:sink]

# --8<-- [start:window-map]
heatmap(window_mask(8, window=3).astype(int), spec="d", role="neutral")
# --8<-- [end:window-map]

# --8<-- [start:window]
rng = np.random.default_rng(SEED)
Q, K, V = rng.normal(size=(3, 2, 12, 4))
masked, _ = attention(Q, K, V, window_mask(12, window=5))
cache, rows = None, []
for t in range(12):
    new = (one[:, t : t + 1] for one in (Q, K, V))
    o, cache = attend_with_cache(*new, cache, window=5)
    rows.append(o)
gap = np.abs(np.concatenate(rows, axis=1) - masked).max()
check("the rows are those of the masked pass to within 10⁻¹²", gap < 1e-12)
table([[str(cache.key.shape)]], columns=["cached keys after 12 tokens"])
# --8<-- [end:window]

# --8<-- [start:off-by-one]
z = np.append(s[1:], 0.0)  # a sink with the score 0
with_sink = softmax(z) @ np.append(v[1:], 0.0)  # and the value 0
by_formula = np.exp(s[1:]) @ v[1:, 0] / (1 + np.exp(s[1:]).sum())
table([[with_sink, by_formula]], columns=["softmax over five", "by the formula"], spec=".4f")
# --8<-- [end:off-by-one]

# --8<-- [start:speculative]
p = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]  # the large model's
q = [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]  # the draft's
kept = [x * a for x, a in zip(q, acceptance(p, q), strict=True)]
rejected = 1 - sum(kept)
missing = [rejected * r for r in residual(p, q)]
written = [sum(both) for both in zip(kept, missing, strict=True)]
check("what is written has the distribution p, exactly", written == p)
ways = [p, q, kept, missing, written]
rows = [*zip(*ways, strict=True), map(sum, ways)]
table(
    [list(map(str, row)) for row in rows],
    columns=["p", "q", "drawn and kept", "drawn after a rejection", "written"],
    index=["x_1", "x_2", "x_3", "sum"],
)
# --8<-- [end:speculative]

# --8<-- [start:bars]
bar_chart(
    ["x_1", "x_2", "x_3"],
    {"p": list(map(float, p)), "q": list(map(float, q)), "min": list(map(float, kept))},
    ylabel="probability",
    spec=".3f",
)
# --8<-- [end:bars]

# --8<-- [start:one-round]
from attention_docs.generation import speculate

NAMES = ["x_1", "x_2", "x_3"]
rounds_played = []
for drafted, chances in (
    ([0, 2], [0.5, 0.25, 0.25]),
    ([0, 2], [0.5, 0.75, 0.25]),
    ([2, 0], [0.75, 0.5, 0.25]),
):
    tokens = speculate(drafted, [q, q], [p, p, p], chances)
    texts = [" ".join(NAMES[i] for i in ids) for ids in (drafted, tokens)]
    rounds_played.append([texts[0], *chances, texts[1]])
table(
    rounds_played,
    columns=["drafted", "u_1", "u_2", "u_3", "written"],
    index=[f"round {i}" for i in (1, 2, 3)],
    spec=["", ".2f", ".2f", ".2f", ""],
)
# --8<-- [end:one-round]

# --8<-- [start:whole-text]
TARGET = {None: p, 0: [Fraction(1, 4)] * 2 + [Fraction(1, 2)], 1: q, 2: p}
DRAFT = {last: [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)] for last in TARGET}


def rounds(text_so_far, length, k):
    """All texts of this length, with probabilities, if drafts have k tokens."""
    if len(text_so_far) >= length:
        return {text_so_far[:length]: Fraction(1)}
    found = {}

    def add(tokens, chance):
        for full, rest in rounds(tokens, length, k).items():
            found[full] = found.get(full, 0) + chance * rest

    def draft(tokens, left, chance):
        last = tokens[-1] if tokens else None
        p, q = TARGET[last], DRAFT[last]
        if not left:  # all kept: one more token, from the target
            for x in range(3):
                add((*tokens, x), chance * p[x])
            return
        a, r = acceptance(p, q), residual(p, q)
        lost = 1 - sum(one * keep for one, keep in zip(q, a, strict=True))
        for x in range(3):
            draft((*tokens, x), left - 1, chance * q[x] * a[x])
            add((*tokens, x), chance * lost * r[x])

    draft(text_so_far, k, Fraction(1))
    return found


def directly(tokens):
    """The probability of a text under the target alone."""
    chance, last = Fraction(1), None
    for x in tokens:
        chance, last = chance * TARGET[last][x], x
    return chance


enumerated = []
for k in (1, 2, 3):
    found = rounds((), 4, k)
    agrees = sum(directly(one) == chance for one, chance in found.items())
    enumerated.append([len(found), agrees, str(sum(found.values()))])
table(
    enumerated,
    columns=["texts", "with the target's probability", "sum of the probabilities"],
    index=[f"k = {k}" for k in (1, 2, 3)],
)
# --8<-- [end:whole-text]

# --8<-- [start:speed]
guesses, rates = (1, 4, 8), (0.5, 0.8, 0.9)
table(
    [[expected_tokens(rate, k) for k in guesses] for rate in rates],
    columns=[f"k = {k}" for k in guesses],
    index=[f"α = {rate:.1f}" for rate in rates],
    spec=".2f",
    name="Tokens per pass",
)
# --8<-- [end:speed]

# --8<-- [start:beam]
from math import log

from attention_docs.generation import beam_search

CITIES = ["New", "San", "York", "Delhi", "Orleans", "Francisco", "Diego"]
AFTER = {  # the probability of each word after a beginning
    (): [0.6, 0.4, 0, 0, 0, 0, 0],
    (0,): [0, 0, 0.35, 0.34, 0.31, 0, 0],
    (1,): [0, 0, 0, 0, 0, 0.9, 0.1],
}
found = [beam_search(AFTER.get, width, 2)[0] for width in (1, 2, 7)]
check("two beginnings are enough here", found[1] == found[2])
table(
    [[" ".join(CITIES[i] for i in ids), p] for ids, p in found],
    columns=["text", "probability"],
    index=["1 beginning kept (greedy)", "2 kept", "all kept"],
    spec=["", ".2f"],
)
# --8<-- [end:beam]

# --8<-- [start:wider]
LETTERS = "ABCD"


def letters_after(ids):
    """A is likelier at first, and what follows it is spread out."""
    if not ids:
        shares = (Fraction(3, 5), Fraction(2, 5))
    elif ids == (0,):
        shares = (Fraction(1, 4),) * 4
    else:
        shares = (1,) if ids[0] == 0 else (Fraction(1, 2),) * 2
    return (*shares, *(0,) * (4 - len(shares)))


best = [beam_search(letters_after, width, 3)[0] for width in (1, 2, 3, 64)]
table(
    [["".join(LETTERS[i] for i in ids), str(p)] for ids, p in best],
    columns=["text", "probability"],
    index=["1 beginning kept", "2 kept", "3 kept", "all kept"],
)
# --8<-- [end:wider]

# --8<-- [start:length]
WORDS = ["", "yes", "it", "will"]  # the first is the end of a text
REPLIES = {
    (): [0.25, 0.5, 0.25, 0],
    (1,): [0.4, 0, 0.6, 0],
    (1, 2): [0.3, 0, 0, 0.7],
    (1, 2, 3): [0.9, 0.1, 0, 0],
}
replies = beam_search(lambda ids: REPLIES.get(ids, [1, 0, 0, 0]), 9, 4, end=0)
chosen = [(0,), (1, 0), (1, 2, 3, 0)]
replies = {ids: p for ids, p in replies if ids in chosen}
table(
    [[len(ids), replies[ids], log(replies[ids]), log(replies[ids]) / len(ids)] for ids in chosen],
    columns=["tokens", "probability", "log p", "per token"],
    index=["(nothing)", "yes", "yes it will"],
    spec=["d", ".3f", ".2f", ".2f"],
)
# --8<-- [end:length]

# --8<-- [start:exercise-bytes]
print(cache_bytes(Configuration("", 24, 16, 4, 64), 1000))
# --8<-- [end:exercise-bytes]

# --8<-- [start:exercise-ratio]
ratios = []
for m in (10, 1000, 100_000):
    ratio = Fraction(decode_flops(m, 4096, 16_384, False), decode_flops(m, 4096, 16_384))
    ratios.append([m, float(ratio), (m + 1) / 2])
table(ratios, columns=["n", "factor", "(n + 1)/2"], spec=[",", ".1f", ".1f"])
# --8<-- [end:exercise-ratio]

# --8<-- [start:exercise-draft]
p, q = [Fraction(1, 2), Fraction(1, 2)], [Fraction(3, 4), Fraction(1, 4)]
accepted = sum(x * a for x, a in zip(q, acceptance(p, q), strict=True))
r = ", ".join(map(str, residual(p, q)))
table(
    [[str(accepted), f"({r})", str(expected_tokens(accepted, 3))]],
    columns=["α", "r", "tokens per pass"],
)
# --8<-- [end:exercise-draft]

# --8<-- [start:exercise-own]
q = k = np.zeros((4, 1))
v = np.array([[8.0], [4], [2], [1]])
late = [attention(q[t : t + 1], k[:t], v[:t])[0].item() for t in (1, 2, 3)]
right = [attention(q[t : t + 1], k[: t + 1], v[: t + 1])[0].item() for t in (1, 2, 3)]
table(
    [late, right],
    columns=[f"token {t}" for t in (2, 3, 4)],
    index=["attend, then append (wrong)", "append, then attend (right)"],
    spec=".2f",
)
# --8<-- [end:exercise-own]

# --8<-- [start:exercise-encoder]
short, long = whole[:6], whole[:7]
stays = []
for causal in (True, False):
    outputs = []
    for x in (short, long):
        m = causal_mask(len(x)) if causal else None
        outputs.append(encoder_block(x, BLOCKS[0], h, m, norm_first=True)[:6])
    stays.append([bool(np.abs(outputs[0] - outputs[1]).max() < 1e-12)])
table(stays, columns=["do the first six stay?"], index=["causal mask", "no mask"])
# --8<-- [end:exercise-encoder]


# --8<-- [start:exercise-depth]
def windowed(x, layers, w):
    """Layers of attention with a window, and a skip connection around each."""
    for _ in range(layers):
        x = x + attention(x, x, x, window_mask(len(x), window=w))[0]
    return x


x = np.random.default_rng(SEED).normal(size=(20, 4))
found = []
for layers, w in ((1, 3), (2, 3), (3, 4)):
    reached = []
    for j in range(20):
        other = x.copy()
        other[j] += 1
        moved = windowed(other, layers, w)[-1] - windowed(x, layers, w)[-1]
        reached.append(bool(np.abs(moved).max() > 0))
    found.append([layers, w, sum(reached), layers * (w - 1) + 1])
table(found, columns=["N", "w", "tokens that count", "N(w − 1) + 1"])
# --8<-- [end:exercise-depth]

# --8<-- [start:exercise-most]
p = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
q = [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
overlap = sum(map(min, p, q))
distance = sum(abs(a - b) for a, b in zip(p, q, strict=True))
table([[str(overlap), str(1 - distance / 2)]], columns=["Σ min(p, q)", "1 − ½ Σ |p − q|"])
# --8<-- [end:exercise-most]


# --8<-- [start:writing]
def your_step(query, key, value, keys, values):
    """Output of a new token for cached keys (n, d_k), values (n, d_v)."""
    weights = softmax(keys @ query / np.sqrt(len(query)))
    return weights @ values  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_step(query, key, value, keys, values):
    keys, values = np.vstack([keys, key]), np.vstack([values, value])
    weights = softmax(keys @ query / np.sqrt(len(query)))
    return weights @ values


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

new, two_cached = np.array([0.0, 2, 0, 4]), np.arange(8.0).reshape(2, 4) / 4


def draw_case(rng):
    d_k, d_v = rng.permutation([5, 6, 7])[:2]
    one, cached = [halves(rng, d) for d in (d_k, d_k, d_v)], [halves(rng, 6, d) for d in (d_k, d_v)]
    return *one, *cached


writing = Task(
    model_step,
    inputs=[
        (np.zeros(1), np.zeros(1), np.array([8.0]), np.zeros((1, 1)), np.array([[4.0]])),
        (np.ones(4), new, np.array([8.0, 2]), two_cached[:1], np.array([[4.0, 0]])),
        (np.ones(4), new, np.array([8.0, 2]), two_cached, np.array([[4.0, 0], [2, 6]])),
        (np.ones(3), np.arange(3.0), np.ones(2), np.eye(4, 3), np.arange(8.0).reshape(4, 2)),
    ],
    mistakes={
        "The token does not see itself: append its key and value before you attend.": (
            lambda q, k, v, K, V: softmax(K @ q / np.sqrt(len(q))) @ V
        ),
        "The division by √d_k is missing.": (
            lambda q, k, v, K, V: model_step(q * np.sqrt(len(q)), k, v, K, V)
        ),
        "The new value stands in front of the cached ones, and its key behind them.": (
            lambda q, k, v, K, V: (
                softmax(np.vstack([K, k]) @ q / np.sqrt(len(q))) @ np.vstack([v, V])
            )
        ),
        "The newest token of the cache was overwritten instead of kept.": (
            lambda q, k, v, K, V: model_step(q, k, v, K[:-1], V[:-1])
        ),
    },
    draw=draw_case,
)
judge(your_step, writing)
# --8<-- [end:writing-checks]
