"""Masks: who may look at whom, what leaks, and what becomes of a masked row."""

# --8<-- [start:coins]
import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import heatmap, numbered, table
from attention_docs.masking import causal_mask
from attention_docs.text import check, number, text

SEED = 0
n = 6
tosses = np.random.default_rng(SEED).integers(0, 2, size=(20_000, n))  # 20,000 sequences
seeking = 40 * np.eye(n, k=1)  # query i seeks place i + 1
places = np.eye(n)  # key j names place j
sides = np.eye(2)[tosses]  # (20000, n, 2): value j says how toss j fell


def hits(mask=None):
    """The share of outputs 1 to n - 1 that name the next toss, all outputs, the weights."""
    outputs, weights = attention(seeking, places, sides, mask)
    named = outputs.argmax(axis=-1)
    return (named[:, :-1] == tosses[:, 1:]).mean(), named, weights


share, named, copied = hits()
print(f"came next:     {text(tosses[0, 1:], 'd')}")
print(f"was predicted: {text(named[0, :-1], 'd')}")
print(f"right, of all guesses: {number(share, '.0%')}")
heatmap(
    copied,
    rows=numbered("query", n),
    columns=numbered("key", n),
    spec=".2f",
    name="weights",
)
# --8<-- [end:coins]

# --8<-- [start:setup]
from math import e

from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import Frame, beside, ribbons, stepper
from attention_docs.masking import apply_mask, padding_mask, truncate_and_pad
from attention_docs.score_functions import scaled_dot
from attention_docs.softmax import softmax

X_1_TO_3 = {"rows": numbered("query", 3), "columns": numbered("key", 3)}


def project(x):
    """Queries, keys and values, with the parameters of the eight steps."""
    return x @ W_QUERY, x @ W_KEY, x @ W_VALUE


# --8<-- [end:setup]

# --8<-- [start:mask]
four = causal_mask(4)
heatmap(
    four.astype(int),
    rows=numbered("query", 4),
    columns=numbered("key", 4),
    name="mask",
    spec="d",
    role="neutral",
    allowed=four,
)
# --8<-- [end:mask]

# --8<-- [start:minus-infinity]
scores = np.array([2.0, 4.0, 4.0])  # three whole numbers
mask = np.array([True, True, False])  # knob
masked = apply_mask(scores, mask)
weights = softmax(masked)
fractions = [e**2 / (e**2 + e**4), e**4 / (e**2 + e**4), 0]
table(
    np.column_stack([masked, weights, fractions]),
    columns=["masked score", "weight", "fraction"],
    index=numbered("key", 3),
    spec=[".0f", ".4f", ".4f"],
)
# --8<-- [end:minus-infinity]

# --8<-- [start:renormalise]
p = softmax(scores)  # weights of all keys
kept = np.where(mask, p, 0.0)
renormalised = kept / kept.sum()
same = np.abs(renormalised - weights).max() < 1e-12
check("these are the weights of the scores masked before softmax", same)
table(
    [*zip(kept, renormalised, strict=True), [kept.sum(), renormalised.sum()]],
    columns=["masked after softmax", "renormalised"],
    index=[*numbered("key", 3), "sum"],
    spec=".4f",
)
# --8<-- [end:renormalise]

# --8<-- [start:underflow]
far = np.array([0.0, 0.0, 1000.0])  # key 3 is forbidden
kept_far = np.where(mask, softmax(far), 0.0)
with np.errstate(invalid="ignore"):
    lost = kept_far / kept_far.sum()
table(
    [softmax(apply_mask(far, mask)), lost],
    columns=numbered("key", 3),
    index=["masked before softmax", "masked after softmax"],
    spec=".1f",
)
# --8<-- [end:underflow]

# --8<-- [start:mistake-after]
queries, keys, values = project(INPUTS)
short_weights = softmax(scores) * mask
right_weights = softmax(apply_mask(scores, mask))
raised = np.array([2.0, 4.0, 6.0])  # another score for the forbidden key
leaked = softmax(raised) * mask
steady = softmax(apply_mask(raised, mask))
table(
    [[a, a.sum(), a @ values] for a in (short_weights, right_weights, leaked, steady)],
    columns=["weights", "sum", "output"],
    index=[f"{which}, score 3 is {s_3}" for s_3 in (4, 6) for which in ("wrong", "correct")],
    spec=".4f",
)
# --8<-- [end:mistake-after]

# --8<-- [start:mistake-multiply]
multiplied, compared = {}, []
for sign in (1, -1):
    s = sign * scores
    multiplied[sign] = softmax(s * mask)
    unseen = softmax(apply_mask(s, mask))
    compared.append([s, s * mask, multiplied[sign]])
    compared.append([s, apply_mask(s, mask), unseen])
table(
    compared,
    columns=["scores", "masked scores", "weights"],
    index=["wrong", "correct", "wrong", "correct"],
    spec=[".0f", ".0f", ".4f"],
)
# --8<-- [end:mistake-multiply]

# --8<-- [start:causal]
DOG_BITES_MAN = ["dog", "bites", "man"]
# living, human, action, painful
word_inputs = np.array([[1, 0, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]], float)
word_queries = word_inputs @ [[0, 3], [0, 0], [3, 0], [0, 0]]
word_keys = word_inputs @ [[1, 0], [0, 0], [0, 1], [0, 0]]
word_values = word_inputs @ [[0, 0], [1, 0], [0, 0], [0, 1]]

causal = causal_mask(3)
open_outputs, _ = attention(word_queries, word_keys, word_values)
causal_outputs, causal_weights = attention(word_queries, word_keys, word_values, causal)
beside(
    heatmap(
        causal_weights,
        name="weights",
        spec=".3f",
        allowed=causal,
        rows=DOG_BITES_MAN,
        columns=DOG_BITES_MAN,
    ),
    heatmap(
        causal_outputs,
        name="outputs",
        role="output",
        spec=".3f",
        rows=DOG_BITES_MAN,
        columns=["human", "painful"],
    ),
)
# --8<-- [end:causal]

# --8<-- [start:causal-ribbons]
causal_scores = apply_mask(scaled_dot(word_queries, word_keys), causal)
ribbons(DOG_BITES_MAN, causal_weights, scores=causal_scores, first=1)
# --8<-- [end:causal-ribbons]

# --8<-- [start:all-at-once]
passes = []
for t in (1, 2, 3):
    first = word_queries[:t], word_keys[:t], word_values[:t]
    prefix, _ = attention(*first)  # no mask
    passes.append([t, prefix[-1], causal_outputs[t - 1]])
columns = ["tokens", "last output alone", "output of the masked pass"]
table(passes, columns=columns, index=DOG_BITES_MAN, spec=["d", ".3f", ".3f"])
# --8<-- [end:all-at-once]

# --8<-- [start:coins-causal]
blind_share, _, blind = hits(causal_mask(n))
print(f"right, of all guesses: {number(blind_share, '.0%')}")
heatmap(
    blind,
    rows=numbered("query", n),
    columns=numbered("key", n),
    spec=".2f",
    name="weights",
    allowed=causal_mask(n),
)
# --8<-- [end:coins-causal]

# --8<-- [start:at-inference]
six = np.random.default_rng(SEED).normal(size=(6, 4))  # 6 tokens


def last_output(layers, mask):
    """The last output of attention on attention, without projections."""
    y = six
    for _ in range(layers):
        y, _ = attention(y, y, y, mask)
    return y[-1]


moved = [
    np.abs(last_output(layers, causal_mask(6)) - last_output(layers, None)).max()
    for layers in (1, 2)
]
table(
    [[change] for change in moved],
    columns=["largest change of the last output"],
    index=["one layer", "two layers"],
    spec=".2f",
)
# --8<-- [end:at-inference]

# --8<-- [start:no-leak]


def changed_numbers(mask, n=32):
    """Change each token in turn; count numbers of the outputs that change."""
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(n, 4))
    before, _ = attention(*project(x), mask)
    earlier, later, compared = 0, 0, 0
    for t in range(1, n):
        other = x.copy()
        other[t] = rng.normal(size=4)
        after, _ = attention(*project(other), mask)
        bits = before.view(np.uint64) != after.view(np.uint64)
        earlier += int(bits[:t].sum())
        later += int(bits[t:].sum())
        compared += bits[:t].size
    return earlier, compared, later > 0


leaks = {"no mask": changed_numbers(None)}
leaks["causal"] = changed_numbers(causal_mask(32))
table(
    list(leaks.values()),
    columns=["earlier numbers changed", "of", "do later ones change?"],
    index=list(leaks),
)
# --8<-- [end:no-leak]

# --8<-- [start:real-head]
from attention_docs.heads import kept_heads, load_measurements, load_vectors

words = [word.strip() for word in load_measurements()["words"]]
real_q, real_k = load_vectors(18, 6, rotated=True)
_, open_map = attention(real_q, real_k, real_k)
_, causal_map = attention(real_q, real_k, real_k, causal_mask(len(words)))
ahead = np.triu(open_map, 1).sum(axis=-1).mean()
ahead_elsewhere = []
for layer, head in kept_heads():
    if (layer, head) != (18, 6):
        q, k = load_vectors(layer, head, rotated=True)
        ahead_elsewhere.append(np.triu(attention(q, k, k)[1], 1).sum(axis=-1).mean())


def show_weights(a, name):
    """A row for each token that looks, and places along the top."""
    places = [str(i) if i % 5 == 0 else "" for i in range(len(a))]
    return heatmap(a, rows=words, columns=places, name=name, numbers=False, scale=(0, 1))


beside(show_weights(causal_map, "with the mask"), show_weights(open_map, "without the mask"))
# --8<-- [end:real-head]

# --8<-- [start:nan]
spoiled = values.copy()
spoiled[2] = np.nan  # the value of a key that is masked out
outputs, weights = attention(queries, keys, spoiled, mask)
replaced = np.where(mask[:, None], spoiled, 0.0)
clean_outputs, _ = attention(queries, keys, replaced, mask)
table(
    [*zip(weights, outputs, strict=True), *zip(weights, clean_outputs, strict=True)],
    columns=["weights", "output"],
    index=[f"query {i}, {how}" for how in ("NaN in value 3", "replaced by 0") for i in (1, 2, 3)],
    spec=".4f",
)
# --8<-- [end:nan]

# --8<-- [start:nan-table]
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

spoils = []
for place in ("key", "value"):
    bad_keys, bad_values = keys.copy(), values.copy()
    (bad_keys if place == "key" else bad_values)[2] = np.nan
    numpy_arrays = (queries, bad_keys, bad_values)
    arrays = [torch.from_numpy(a)[None, None] for a in numpy_arrays]
    for kind, m in (("booleans", mask), ("floats", np.where(mask, 0.0, -np.inf))):
        ours, _ = attention(queries, bad_keys, bad_values, m)
        theirs = sdpa(*arrays, attn_mask=torch.from_numpy(m).expand(3, 3))
        package = "NaN" if np.isnan(ours).any() else "numbers"
        torchs = "NaN" if theirs.isnan().any() else "numbers"
        spoils.append([place, kind, package, torchs])
table(spoils, columns=["NaN in the", "mask of", "package gives", "SDPA gives"])
# --8<-- [end:nan-table]


# --8<-- [start:corners]
def corner(n_q, n_k, offset):
    """The causal mask with this offset: 1 where a pair may meet."""
    m = causal_mask(n_q, n_k, offset=offset)
    name = f"n_q = {n_q}, n_k = {n_k}, offset = {offset}"
    return heatmap(m.astype(int), name=name, spec="d", role="neutral", allowed=m)


beside(corner(2, 5, 0), corner(2, 5, 3))
# --8<-- [end:corners]

# --8<-- [start:corners-more-queries]
beside(corner(5, 2, 0), corner(5, 2, -3))
# --8<-- [end:corners-more-queries]

# --8<-- [start:is-causal]
import torch
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention as sdpa

one, five = torch.zeros(1, 1, 3), torch.zeros(1, 5, 3)  # equal scores
identity = torch.eye(5)[None]  # the output is the row of weights
upper_left = sdpa(one, five, identity, is_causal=True)
lower_right = sdpa(one, five, identity, attn_mask=causal_lower_right(1, 5))
table(
    [
        [upper_left[0, 0], causal_mask(1, 5)[0]],
        [lower_right[0, 0], causal_mask(1, 5, offset=4)[0]],
    ],
    columns=["weights in PyTorch", "mask of the package"],
    index=["is_causal and offset = 0", "causal_lower_right and offset = 4"],
    spec=[".1f", "d"],
)
# --8<-- [end:is-causal]

# --8<-- [start:masks]
first_three = np.tile([True, True, True, False], (4, 1))  # token 4 is padding
shown = {
    "causal": ("causal", four),
    "padding": ("padding", first_three),
    "both": ("both", four & first_three),
}


def mask_map(name):
    """A mask: 1 where a pair may meet, hatched where it is forbidden."""
    title, m = shown[name]
    return heatmap(m.astype(int), name=title, spec="d", role="neutral", allowed=m)


beside(*(mask_map(name) for name in shown))
# --8<-- [end:masks]

# --8<-- [start:padding]
batch, lengths = truncate_and_pad([INPUTS, INPUTS[:2]], 3)  # (2, 3, 4)
padding = padding_mask(lengths, 3)  # (2, 1, 3)
_, open_weights = attention(*project(batch))
padded_outputs, padded_weights = attention(*project(batch), padding)
beside(
    heatmap(open_weights[1], name="without a mask", spec=".4f", **X_1_TO_3),
    heatmap(padded_weights[1], name="with the mask", spec=".4f", **X_1_TO_3),
)
# --8<-- [end:padding]

# --8<-- [start:control]
PAD = "pad"
nobody = np.zeros((1, 4))


def setting(causal, padded, left):
    """The mask, and what attention makes of three tokens and a place of padding."""
    x = np.vstack([nobody, INPUTS] if left else [INPUTS, nobody])
    real = np.roll([True, True, True, False], int(left))
    m = np.ones((4, 4), dtype=bool)
    m = m & causal_mask(4) if causal else m
    m = m & real if padded else m
    outputs, weights = attention(*project(x), m)
    return m, weights, outputs


def frame(causal, padded, left):
    """What the toggles show."""
    m, weights, outputs = setting(causal, padded, left)
    names = [PAD, "x_1", "x_2", "x_3"] if left else ["x_1", "x_2", "x_3", PAD]
    one, place = (1, 0) if left else (0, 3)  # x_1 and the padding
    given = number(weights[one, place], ".2f") if m[one, place] else "0"
    forbidden, without = int((~m).sum()), int((~m.any(axis=1)).sum())
    label = f"Causal {off_on[causal]}, padding mask {off_on[padded]}, {placed_at[left]}"
    caption = (
        f"Forbidden: {forbidden} of {m.size} pairs. Weight from x_1 to padding: {given}. "
        f"Queries without a key: {without}."
    )
    drawn = beside(
        heatmap(weights, name="weights", rows=names, columns=names, allowed=m, scale=(0, 1)),
        heatmap(outputs, name="outputs", role="output", columns=["1", "2", "3"]),
    )
    at = tuple(str(1 + choice) for choice in (causal, padded, left))
    return Frame(at, label, (drawn,), caption)


off_on, placed_at = ["off", "on"], ["right", "left"]
stepper(
    "masks",
    [
        ("Causal mask", off_on),
        ("Padding mask", off_on),
        ("Padding", placed_at),
    ],
    [frame(c, p, s) for c in (0, 1) for p in (0, 1) for s in (0, 1)],
    answer="2 1 1",
)
# --8<-- [end:control]

# --8<-- [start:truncate]
sentences = [np.array([3, 1, 4, 1, 5]), np.array([2, 7]), np.array([1, 6, 1])]
ids, left = truncate_and_pad(sentences, max_length=4)  # token ids, 0 is padding
real = padding_mask(left, ids.shape[1])
print(f"shape of the mask: {real.shape}")
table(
    [[ids[i], left[i], real[i, 0]] for i in range(3)],
    columns=["token ids", "length", "mask"],
    index=numbered("sequence", 3),
    spec="d",
)
# --8<-- [end:truncate]

# --8<-- [start:truncation]
x = np.random.default_rng(SEED).normal(size=(6, 4))  # 6 tokens
stays = []
for whole_mask, cut_mask in ((None, None), (causal_mask(6), causal_mask(4))):
    whole, _ = attention(*project(x), whole_mask)
    cut, _ = attention(*project(x[:4]), cut_mask)  # truncated to 4 tokens
    stays.append([np.abs(whole[:4] - cut).max() < 1e-12])
table(stays, columns=["do outputs 1 to 4 stay?"], index=["no mask", "causal mask"])
# --8<-- [end:truncation]

# --8<-- [start:both]
both = causal & padding  # (3, 3) and (2, 1, 3) give (2, 3, 3)
_, both_weights = attention(*project(batch), both)
added = np.where(causal, 0.0, -np.inf) + np.where(padding, 0.0, -np.inf)
_, added_weights = attention(*project(batch), added)
check("both kinds of mask give the same weights", np.array_equal(added_weights, both_weights))
print(f"shape of both masks together: {both.shape}")
table(
    list(zip(both[1], added[1], both_weights[1], strict=True)),
    columns=["booleans", "floats, added", "weights"],
    index=numbered("query", 3),
    spec=["d", ".0f", ".4f"],
)
# --8<-- [end:both]

# --8<-- [start:padding-no-leak]
other = batch.copy()
other[1, 2] = [9, -7, 1000, 5]  # another vector in the place of the padding
other_outputs, _ = attention(*project(other), padding)
alone, _ = attention(*project(INPUTS[:2]))  # the second sequence, never padded
open_outputs, _ = attention(*project(batch))
other_open, _ = attention(*project(other))  # no mask
table(
    [
        [np.array_equal(other_outputs[1, :2], padded_outputs[1, :2])],
        [np.abs(alone - padded_outputs[1, :2]).max() < 1e-12],
        [np.array_equal(other_open[1, :2], open_outputs[1, :2])],
    ],
    columns=["do the real outputs stay?"],
    index=[
        "another vector as padding, with the mask",
        "no padding at all",
        "another vector as padding, without a mask",
    ],
)
# --8<-- [end:padding-no-leak]

# --8<-- [start:empty-row]
empty = np.array([[False, False, False]])
with np.errstate(invalid="ignore"):
    row = apply_mask(scores[None], empty)
    exponentials = np.exp(row - row.max())  # −∞ − (−∞)
    plain = exponentials / exponentials.sum()
large = softmax(np.full((1, 3), -1e9))
package_outputs, package_weights = attention(queries[:1], keys, values, empty)
table(
    [
        [plain[0], (plain @ values)[0]],
        [large[0], (large @ values)[0]],
        [package_weights[0], package_outputs[0]],
    ],
    columns=["weights", "output 1"],
    index=["all scores −∞", "all scores −10⁹", "package"],
    spec=".4f",
)
# --8<-- [end:empty-row]

# --8<-- [start:empty-table]
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

torch.manual_seed(SEED)
version = torch.__version__.split("+")[0]
# Values 1 0 0, 0 1 0, 0 0 1: an output is then its row of weights.
Q, K, V = (torch.from_numpy(a)[None] for a in (queries, keys, np.eye(3)))
# One head, and linear maps that change nothing.
MHA = nn.MultiheadAttention(3, 1, bias=False, batch_first=True, dtype=Q.dtype)
with torch.no_grad():
    MHA.in_proj_weight.copy_(torch.eye(3).repeat(3, 1))
    MHA.out_proj.weight.copy_(torch.eye(3))
apis = {
    "package": lambda m: attention(Q, K, V, m.expand(3, 3))[0],
    "SDPA attn_mask": lambda m: sdpa(Q, K, V, attn_mask=m.expand(3, 3)),
    "MHA attn_mask": lambda m: MHA(Q, K, V, attn_mask=m.expand(3, 3))[0],
    "MHA key_padding_mask": lambda m: MHA(Q, K, V, key_padding_mask=m[None])[0],
}


empty_rows = {}
for dtype in (torch.float32, torch.float64):
    s = (Q @ K.mT / 3**0.5)[0, :1].to(dtype)  # scores of query 1
    nothing = torch.ones(1, 3, dtype=torch.bool)
    name = str(dtype).removeprefix("torch.")
    plain_row = s.masked_fill(nothing, -torch.inf).softmax(-1)
    empty_rows[f"-inf, {name}"] = plain_row
    empty_rows[f"s := -1e9, {name}"] = s.masked_fill(nothing, -1e9).softmax(-1)
    empty_rows[f"s + -1e9, {name}"] = (s - 1e9).softmax(-1)
infinite = torch.full((3,), -torch.inf, dtype=Q.dtype)
for name, api in apis.items():
    # What masks everything out is False here and True in MHA.
    nothing = torch.full((3,), name.startswith("MHA"))
    empty_rows[f"{name}, bool"] = api(nothing)[0, :1]
    empty_rows[f"{name}, float"] = api(infinite)[0, :1]
print("torch", version)
table(
    [["NaN" if w.isnan().any() else w.reshape(3)] for w in empty_rows.values()],
    columns=["weights of query 1"],
    index=list(empty_rows),
    spec=".4f",
)
# --8<-- [end:empty-table]

# --8<-- [start:empty-mha]
torch.manual_seed(SEED)
mha = nn.MultiheadAttention(4, 2, batch_first=True, dtype=torch.float64)
tokens = torch.randn(1, 3, 4, dtype=torch.float64)  # query, key and value alike
all_out = {
    "attn_mask bool": {"attn_mask": torch.full((3, 3), True)},
    "attn_mask float": {"attn_mask": infinite.expand(3, 3)},
    "key_padding_mask bool": {"key_padding_mask": torch.full((1, 3), True)},
    "key_padding_mask float": {"key_padding_mask": infinite[None]},
}
mha_empty = {}
for name, m in all_out.items():
    for need_weights in (True, False):
        found = []
        for training in (True, False):
            mha.train(training)
            with torch.set_grad_enabled(training):
                m["need_weights"] = need_weights
                out, _ = mha(tokens, tokens, tokens, **m)
            largest_out = number(out.detach().abs().max(), ".0f")
            found.append("NaN" if out.isnan().any() else largest_out)
        mha_empty[f"{name}, need_weights={need_weights}"] = found
print("torch", version)
table(list(mha_empty.values()), columns=["train()", "eval()"], index=list(mha_empty))
# --8<-- [end:empty-mha]

# --8<-- [start:empty-gradient]
first_empty = torch.ones(3, 3, dtype=torch.bool).tril(-1)  # query 1 sees no key
mha.train()
poisoned, entries = {}, []
for need_weights in (True, False):
    m = {"attn_mask": ~first_empty, "need_weights": need_weights}
    out, _ = mha(tokens, tokens, tokens, **m)
    loss = out[:, 1:].sum()  # output 1 is left out of the loss
    (gradient,) = torch.autograd.grad(loss, mha.in_proj_weight)
    poisoned["MHA", need_weights] = int(gradient.isnan().sum())
    entries.append(gradient.numel())
leaf = tokens.clone().requires_grad_()
out, _ = attention(leaf, leaf, leaf, first_empty)
(gradient,) = torch.autograd.grad(out[:, 1:].sum(), leaf)
poisoned["package"] = int(gradient.isnan().sum())
entries.append(gradient.numel())
table(
    list(zip(poisoned.values(), entries, strict=True)),
    columns=["NaN in the gradient", "of"],
    index=["MHA, need_weights=True", "MHA, need_weights=False", "package"],
)
# --8<-- [end:empty-gradient]

# --8<-- [start:empty-recipes]
keyless = ~first_empty.any(-1, keepdim=True)  # rows that see no key
barred = torch.zeros(3, 3).masked_fill(~first_empty, -torch.inf)
opened = ~(first_empty | keyless)  # an empty row hides nothing
recipes = {
    "replace, softmax, nan_to_num": lambda s: (
        s.masked_fill(~first_empty, -torch.inf).softmax(-1).nan_to_num(0)
    ),
    "add, softmax, nan_to_num": lambda s: (s + barred).softmax(-1).nan_to_num(0),
    "add, softmax, where": lambda s: (s + barred).softmax(-1).where(~keyless, 0),
    "open, softmax, where": lambda s: (
        s.masked_fill(opened, -torch.inf).softmax(-1).where(~keyless, 0)
    ),
}
tried = []
for recipe in recipes.values():
    leaf = torch.randn(3, 3, requires_grad=True)
    repaired = recipe(leaf)
    (gradient,) = torch.autograd.grad(repaired.square().sum(), leaf)
    tried.append([*repaired[0].tolist(), int(gradient.isnan().sum())])
table(
    tried,
    columns=["key 1", "key 2", "key 3", "NaN in the gradient"],
    index=list(recipes),
    spec=[".0f", ".0f", ".0f", "d"],
)
# --8<-- [end:empty-recipes]

# --8<-- [start:mistake-float16]
half = np.array([2, 4, 4], dtype=np.float16)
largest = np.finfo(np.float16).max
with np.errstate(over="ignore", invalid="ignore"):
    overflowed = np.float16(-1e9)
    twice = half - largest - largest  # two masks of the lowest number, added
    rows = [half + overflowed, twice]
    powers = [np.exp(row - row.max()) for row in rows]
    weights_of = [one / one.sum() for one in powers]
print(f"largest float16 number: {int(largest)}")
table(
    list(zip([half + overflowed, twice], weights_of, strict=True)),
    columns=["masked scores", "weights"],
    index=["−10⁹ added", "lowest number added twice"],
    spec=[".0f", ".4f"],
)
# --8<-- [end:mistake-float16]

# --8<-- [start:mistake-polarity]
mha_style = ~causal_mask(3)  # True marks the future, as MHA wants it
_, wrong = attention(queries, keys, values, mha_style)
_, right = attention(queries, keys, values, ~mha_style)
table(
    [*wrong, *right],
    columns=numbered("key", 3),
    index=[f"{which}, query {i}" for which in ("wrong", "correct") for i in (1, 2, 3)],
    spec=".4f",
)
# --8<-- [end:mistake-polarity]

# --8<-- [start:polarity]
kinds = {
    "booleans 0 1 0": torch.tensor([False, True, False]),
    "floats 0 −∞ 0": torch.tensor([0.0, -torch.inf, 0.0], dtype=Q.dtype),
    "floats 0 1 0": torch.tensor([0.0, 1.0, 0.0], dtype=Q.dtype),
    "integers 0 1 0": torch.tensor([0, 1, 0]),
}
polarity = []
for kind, m in kinds.items():
    for name, api in apis.items():
        try:
            polarity.append([name, kind, api(m)[0, 0]])
        except (TypeError, RuntimeError, AssertionError) as error:
            polarity.append([name, kind, type(error).__name__])
print("torch", version)
table(polarity, columns=["function", "mask", "weights of query 1"], spec=".4f")
# --8<-- [end:polarity]

# --8<-- [start:polarity-layers]
torch.manual_seed(SEED)
options = {"dropout": 0.0, "batch_first": True, "dtype": torch.float64}
encoder = nn.TransformerEncoderLayer(4, 2, 8, **options)
decoder = nn.TransformerDecoderLayer(4, 2, 8, **options)
source, target, memory = torch.randn(3, 1, 3, 4, dtype=torch.float64)


def first_output(argument, m, x):
    """Output 1 of the layer with this argument, x where the mask looks."""
    whole = {argument: m[None] if argument.endswith("padding_mask") else m.expand(3, 3)}
    if argument.startswith("src"):
        return encoder(x, **whole)[0, 0]
    if argument.startswith("tgt"):
        return decoder(x, memory, **whole)[0, 0]
    return decoder(target, x, **whole)[0, 0]


def seen(argument, m):
    """Which of tokens 2 and 3 move output 1 when they change."""
    before = first_output(argument, m, source)
    moved = []
    for t in (1, 2):
        other = source.clone()
        other[0, t, 0] += 1
        if not torch.allclose(first_output(argument, m, other), before):
            moved.append(t + 1)
    return moved


reach = {}
names = ["src", "tgt", "memory"]
for argument in [f"{name}_{kind}mask" for kind in ("", "key_padding_") for name in names]:
    reach[argument] = [seen(argument, m) for m in list(kinds.values())[:2]]
print("torch", version)
name = "tokens that move output 1"
columns = list(kinds)[:2]
table(list(reach.values()), columns=columns, index=list(reach), spec="d", name=name)
# --8<-- [end:polarity-layers]

# --8<-- [start:exercise-pencil]
fresh = np.log([2.0, 3.0, 5.0])
keep = np.array([True, False, True])
by_hand = np.array([2, 0, 5])
table(
    [
        softmax(apply_mask(fresh, keep)),
        by_hand / by_hand.sum(),
        np.where(keep, softmax(fresh), 0),
    ],
    columns=numbered("key", 3),
    index=["masked before softmax", "2/7, 0, 5/7", "masked after softmax"],
    spec=".4f",
)
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-1]
distance = np.arange(5)[:, None] - np.arange(5)[None, :]  # i - j
window = causal_mask(5) & (distance < 2)
heatmap(
    window.astype(int),
    rows=numbered("query", 5),
    columns=numbered("key", 5),
    name="mask",
    spec="d",
    role="neutral",
    allowed=window,
)
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-3]
right_padding = padding_mask(np.array([2]), 4)  # two tokens, then padding
left_padding = right_padding[:, :, ::-1]  # padding, then two tokens
lacking = []
for m in (right_padding, left_padding):
    allowed_pairs = (causal_mask(4) & m)[0]
    without = [str(i + 1) for i in range(4) if not allowed_pairs[i].any()]
    lacking.append([", ".join(without) or "none"])
table(
    lacking,
    columns=["queries without a key"],
    index=["padding on the right", "padding on the left"],
)
# --8<-- [end:exercise-3]

# --8<-- [start:exercise-float]
as_float = causal_mask(3).astype(float)
_, hidden = attention(queries, keys, values, as_float)
_, free = attention(queries, keys, values)
minus_infinity = np.where(causal_mask(3), 0.0, -np.inf)
_, repaired = attention(queries, keys, values, minus_infinity)
table(
    [hidden[0], free[0], repaired[0]],
    columns=numbered("key", 3),
    index=["with the bug", "no mask", "repaired"],
    spec=".4f",
)
# --8<-- [end:exercise-float]

# --8<-- [start:exercise-2]
tiny = 1e-6
unmoved, _ = attention(*project(INPUTS), causal)
moved = np.zeros((3, 3), dtype=bool)  # output i, input j
for j in range(3):
    for c in range(4):
        bent = INPUTS.copy()
        bent[j, c] += tiny
        change = attention(*project(bent), causal)[0] - unmoved
        moved[:, j] |= (change != 0).any(axis=1)
table(moved, columns=numbered("input", 3), index=numbered("output", 3))
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-added]
common = np.array([2.0, 4.0, 4.0]) / np.sqrt(3)
table(
    [
        softmax(common),
        softmax(common - 1e9),
        softmax((common - 1e9).astype(np.float32)),
    ],
    columns=numbered("key", 3),
    index=["no mask", "added in float64", "rounded to float32"],
    spec=".4f",
)
# --8<-- [end:exercise-added]

# --8<-- [start:exercise-window]
span = causal_mask(9) & ~causal_mask(9, offset=-3)  # 2 before, and itself
reached, seen_by_last = np.eye(9, dtype=int), []
for layers in (1, 2, 3):
    reached = (span.astype(int) @ reached > 0).astype(int)
    seen_by_last.append([layers, reached[8], int(reached[8].sum())])
table(
    seen_by_last,
    columns=["layers", "tokens 1 to 9, reached or not", "reached"],
    spec="d",
)
# --8<-- [end:exercise-window]


# --8<-- [start:writing]
def your_mask(n):
    """The causal mask (n, n): True where query i may look at key j."""
    return np.ones((n, n), dtype=bool)  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_mask(n):
    places = np.arange(n)
    return places[None, :] <= places[:, None]  # j ≤ i


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, judge

writing = Task(
    model_mask,
    inputs=[(1,), (2,), (3,), (5,)],
    mistakes={
        "It is upside down: queries see the future, and not the past.": (
            lambda n: np.triu(np.ones((n, n), dtype=bool))
        ),
        "The polarity is inverted: True must mean that a query may look there.": (
            lambda n: np.triu(np.ones((n, n), dtype=bool), k=1)
        ),
        "A token does not see itself, but j = i is allowed.": (
            lambda n: np.tril(np.ones((n, n), dtype=bool), k=-1)
        ),
        "A token sees one place too far: j = i + 1 lies in the future.": (
            lambda n: np.tril(np.ones((n, n), dtype=bool), k=1)
        ),
    },
    draw=lambda rng: (int(rng.integers(20, 40)),),
)
judge(your_mask, writing)
# --8<-- [end:writing-checks]
