"""Masks: who may look at whom, what leaks, and what becomes of a masked row."""

# --8<-- [start:coins]
import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import heatmap, numbered
from attention_docs.masking import causal_mask
from attention_docs.text import number, text

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
print("x_2, …, x_6:", text(tosses[0, 1:], "d"))
print("o_1, …, o_5:", text(named[0, :-1], "d"))
print(f"o_i = x_(i+1): {number(share, '.0%')}")
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
from attention_docs.figures import Frame, beside, stepper
from attention_docs.masking import apply_mask, padding_mask, truncate_and_pad
from attention_docs.softmax import softmax

X_1_TO_3 = {"rows": numbered("query", 3), "columns": numbered("key", 3)}


def project(x):
    """Queries, keys and values, with the parameters of the eight steps."""
    return x @ W_QUERY, x @ W_KEY, x @ W_VALUE


# --8<-- [end:setup]

# --8<-- [start:masks]
four = causal_mask(4)
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
)
# --8<-- [end:control]

# --8<-- [start:minus-infinity]
scores = np.array([2.0, 4.0, 4.0])  # query 1 of the eight steps
mask = np.array([True, True, False])  # knob
masked = apply_mask(scores, mask)
weights = softmax(masked)
print(text(masked, ".0f"))
print(text(weights, ".4f"))
print(text([e**2 / (e**2 + e**4), e**4 / (e**2 + e**4), 0], ".4f"))
# --8<-- [end:minus-infinity]

# --8<-- [start:renormalise]
p = softmax(scores)  # weights of all keys
kept = np.where(mask, p, 0.0)
renormalised = kept / kept.sum()
print("m·p =", text(kept, ".4f"), "Σ =", number(kept.sum(), ".4f"))
print("a   =", text(renormalised, ".4f"))
print(np.abs(renormalised - weights).max() < 1e-12)
# --8<-- [end:renormalise]

# --8<-- [start:underflow]
far = np.array([0.0, 0.0, 1000.0])  # key 3 is forbidden
kept_far = np.where(mask, softmax(far), 0.0)
print(text(softmax(apply_mask(far, mask)), ".1f"))
with np.errstate(invalid="ignore"):
    print(text(kept_far / kept_far.sum(), ".1f"))
# --8<-- [end:underflow]

# --8<-- [start:mistake-after]
queries, keys, values = project(INPUTS)
short_weights = softmax(scores) * mask
right_weights = softmax(apply_mask(scores, mask))
short_sum, right_sum = short_weights.sum(), right_weights.sum()
print("wrong:", text(short_weights, ".4f"), "Σ =", number(short_sum, ".4f"))
print("right:", text(right_weights, ".4f"), "Σ =", number(right_sum, ".4f"))
print("wrong: o =", text(short_weights @ values, ".4f"))
print("right: o =", text(right_weights @ values, ".4f"))
raised = np.array([2.0, 4.0, 6.0])  # another score for the forbidden key
leaked = softmax(raised) * mask
leaked_sum = number(leaked.sum(), ".4f")
print("wrong, s_3 = 6:", text(leaked, ".4f"), "Σ =", leaked_sum)
print("right, s_3 = 6:", text(softmax(apply_mask(raised, mask)), ".4f"))
# --8<-- [end:mistake-after]

# --8<-- [start:mistake-multiply]
multiplied = {}
for sign in (1, -1):
    s = sign * scores
    multiplied[sign] = softmax(s * mask)
    print(text(s, ".0f"), "s·m =", text(s * mask, ".0f"))
    print("    wrong:", text(multiplied[sign], ".4f"))
    print("    right:", text(softmax(apply_mask(s, mask)), ".4f"))
# --8<-- [end:mistake-multiply]

# --8<-- [start:causal]
causal = causal_mask(3)
causal_outputs, causal_weights = attention(queries, keys, values, causal)
print(text(causal_outputs, ".4f"))
heatmap(causal_weights, name="weights", spec=".4f", allowed=causal, **X_1_TO_3)
# --8<-- [end:causal]

# --8<-- [start:all-at-once]
for t in (1, 2, 3):
    prefix, _ = attention(queries[:t], keys[:t], values[:t])  # no mask
    print(t, text(prefix[-1], ".4f"), text(causal_outputs[t - 1], ".4f"))
# --8<-- [end:all-at-once]

# --8<-- [start:coins-causal]
blind_share, _, blind = hits(causal_mask(n))
print(f"o_i = x_(i+1): {number(blind_share, '.0%')}")
heatmap(
    blind,
    rows=numbered("query", n),
    columns=numbered("key", n),
    spec=".2f",
    name="weights",
    allowed=causal_mask(n),
)
# --8<-- [end:coins-causal]

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
for name, (earlier, compared, later) in leaks.items():
    print(f"{name:8} < t: {earlier:4d} / {compared}   ≥ t: {later}")
# --8<-- [end:no-leak]

# --8<-- [start:nan]
spoiled = values.copy()
spoiled[2] = np.nan  # the value of a key that is masked out
outputs, weights = attention(queries, keys, spoiled, mask)
print(text(weights, ".4f"))
print(text(outputs, ".4f"))
replaced = np.where(mask[:, None], spoiled, 0.0)
clean_outputs, _ = attention(queries, keys, replaced, mask)
print(text(clean_outputs, ".4f"))
# --8<-- [end:nan]

# --8<-- [start:nan-table]
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

spoils = {}
for place in ("key", "value"):
    bad_keys, bad_values = keys.copy(), values.copy()
    (bad_keys if place == "key" else bad_values)[2] = np.nan
    numpy_arrays = (queries, bad_keys, bad_values)
    arrays = [torch.from_numpy(a)[None, None] for a in numpy_arrays]
    for kind, m in (("bool", mask), ("float", np.where(mask, 0.0, -np.inf))):
        ours, _ = attention(queries, bad_keys, bad_values, m)
        theirs = sdpa(*arrays, attn_mask=torch.from_numpy(m).expand(3, 3))
        package, torchs = bool(np.isnan(ours).any()), bool(theirs.isnan().any())
        spoils[place, kind] = package, torchs
        where = f"NaN: {place:5} mask: {kind:5}"
        print(f"{where} package {package!s:5} SDPA {torchs}")
# --8<-- [end:nan-table]

# --8<-- [start:corners]
for n_q, n_k in ((2, 5), (5, 2)):
    upper_left_mask = causal_mask(n_q, n_k)
    lower_right_mask = causal_mask(n_q, n_k, offset=n_k - n_q)
    print(f"n_q = {n_q}, n_k = {n_k}: offset = 0, offset = {n_k - n_q}")
    for a, b in zip(upper_left_mask, lower_right_mask, strict=True):
        print("  ", text(a, "d"), " ", text(b, "d"))
# --8<-- [end:corners]

# --8<-- [start:is-causal]
import torch
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention as sdpa

one, five = torch.zeros(1, 1, 3), torch.zeros(1, 5, 3)  # equal scores
identity = torch.eye(5)[None]  # the output is the row of weights
upper_left = sdpa(one, five, identity, is_causal=True)
lower_right = sdpa(one, five, identity, attn_mask=causal_lower_right(1, 5))
print("is_causal:         ", text(upper_left[0], ".1f"))
print("causal_lower_right:", text(lower_right[0], ".1f"))
print("offset = 0:        ", text(causal_mask(1, 5), "d"))
print("offset = 4:        ", text(causal_mask(1, 5, offset=4), "d"))
# --8<-- [end:is-causal]

# --8<-- [start:padding]
batch, lengths = truncate_and_pad([INPUTS, INPUTS[:2]], 3)  # (2, 3, 4)
padding = padding_mask(lengths, 3)  # (2, 1, 3)
_, open_weights = attention(*project(batch))
padded_outputs, padded_weights = attention(*project(batch), padding)
print(text(open_weights[1], ".4f"))
print(text(padded_weights[1], ".4f"))
# --8<-- [end:padding]

# --8<-- [start:truncate]
sentences = [np.array([3, 1, 4, 1, 5]), np.array([2, 7]), np.array([1, 6, 1])]
ids, left = truncate_and_pad(sentences, max_length=4)  # token ids, 0 is padding
real = padding_mask(left, ids.shape[1])
print(text(ids, "d"))
print(text(left, "d"))
print(text(real[:, 0, :], "d"), real.shape)
# --8<-- [end:truncate]

# --8<-- [start:truncation]
x = np.random.default_rng(SEED).normal(size=(6, 4))  # 6 tokens
for whole_mask, cut_mask in ((None, None), (causal_mask(6), causal_mask(4))):
    whole, _ = attention(*project(x), whole_mask)
    cut, _ = attention(*project(x[:4]), cut_mask)  # truncated to 4 tokens
    print(np.abs(whole[:4] - cut).max() < 1e-12)
# --8<-- [end:truncation]

# --8<-- [start:both]
both = causal & padding  # (3, 3) and (2, 1, 3) give (2, 3, 3)
_, both_weights = attention(*project(batch), both)
print(both.shape)
print(text(both[1], "d"))
print(text(both_weights[1], ".4f"))
added = np.where(causal, 0.0, -np.inf) + np.where(padding, 0.0, -np.inf)
print(text(added[1], ".0f"))
print(np.array_equal(attention(*project(batch), added)[1], both_weights))
# --8<-- [end:both]

# --8<-- [start:padding-no-leak]
other = batch.copy()
other[1, 2] = [9, -7, 1000, 5]  # another vector in the place of the padding
other_outputs, _ = attention(*project(other), padding)
alone, _ = attention(*project(INPUTS[:2]))  # the second sequence, never padded
print(np.array_equal(other_outputs[1, :2], padded_outputs[1, :2]))
print(np.abs(alone - padded_outputs[1, :2]).max() < 1e-12)
open_outputs, _ = attention(*project(batch))
other_open, _ = attention(*project(other))
print(np.array_equal(other_open[1, :2], open_outputs[1, :2]))  # no mask
# --8<-- [end:padding-no-leak]

# --8<-- [start:empty-row]
empty = np.array([[False, False, False]])
with np.errstate(invalid="ignore"):
    row = apply_mask(scores[None], empty)
    exponentials = np.exp(row - row.max())  # −∞ − (−∞)
    plain = exponentials / exponentials.sum()
print("-inf:   ", text(plain, ".4f"))
print("-1e9:   ", text(softmax(np.full((1, 3), -1e9)), ".4f"))
package_outputs, package_weights = attention(queries[:1], keys, values, empty)
print("package:", text(package_weights, ".4f"))
print("o_1 =   ", text(package_outputs, ".4f"))
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


def show(row):
    """A row of weights, or NaN."""
    return "NaN" if row.isnan().any() else text(row, ".4f")


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
for name, one in empty_rows.items():
    print(f"{name:28} {show(one.reshape(3))}")
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
print("torch", version, " " * 20, "train()     eval()")
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
        mha_empty[name, need_weights] = found
        call = f"{name:22} need_weights={need_weights!s:5}"
        print(f"{call} {found[0]:>8} {found[1]:>10}")
# --8<-- [end:empty-mha]

# --8<-- [start:empty-gradient]
first_empty = torch.ones(3, 3, dtype=torch.bool).tril(-1)  # query 1 sees no key
mha.train()
poisoned = {}
for need_weights in (True, False):
    m = {"attn_mask": ~first_empty, "need_weights": need_weights}
    out, _ = mha(tokens, tokens, tokens, **m)
    loss = out[:, 1:].sum()  # output 1 is left out of the loss
    (gradient,) = torch.autograd.grad(loss, mha.in_proj_weight)
    poisoned["MHA", need_weights] = int(gradient.isnan().sum())
    print(f"MHA need_weights={need_weights!s:5} NaN:", end=" ")
    print(poisoned["MHA", need_weights], "/", gradient.numel())
leaf = tokens.clone().requires_grad_()
out, _ = attention(leaf, leaf, leaf, first_empty)
(gradient,) = torch.autograd.grad(out[:, 1:].sum(), leaf)
poisoned["package"] = int(gradient.isnan().sum())
print(f"package                NaN: {poisoned['package']} / {gradient.numel()}")
# --8<-- [end:empty-gradient]

# --8<-- [start:mistake-float16]
half = np.array([2, 4, 4], dtype=np.float16)
largest = np.finfo(np.float16).max
with np.errstate(over="ignore", invalid="ignore"):
    overflowed = np.float16(-1e9)
    twice = half - largest - largest  # two masks of the lowest number, added
    rows = [half + overflowed, twice]
    powers = [np.exp(row - row.max()) for row in rows]
    weights_of = [one / one.sum() for one in powers]
print("max   =", int(largest))
print("-1e9  =", number(overflowed, ".0f"))
print("a     =", text(weights_of[0], ".4f"))
print("-2max =", text(twice, ".0f"))
print("a     =", text(weights_of[1], ".4f"))
# --8<-- [end:mistake-float16]

# --8<-- [start:mistake-polarity]
mha_style = ~causal_mask(3)  # True marks the future, as MHA wants it
_, wrong = attention(queries, keys, values, mha_style)
_, right = attention(queries, keys, values, ~mha_style)
print(text(wrong, ".4f"))
print(text(right, ".4f"))
heatmap(wrong, name="weights", spec=".4f", allowed=mha_style, **X_1_TO_3)
# --8<-- [end:mistake-polarity]

# --8<-- [start:polarity]
kinds = {
    "bool  0 1 0": torch.tensor([False, True, False]),
    "float 0 -inf 0": torch.tensor([0.0, -torch.inf, 0.0], dtype=Q.dtype),
    "float 0 1 0": torch.tensor([0.0, 1.0, 0.0], dtype=Q.dtype),
    "int   0 1 0": torch.tensor([0, 1, 0]),
}
polarity = {}  # the weights of query 1
print("torch", version)
for kind, m in kinds.items():
    for name, api in apis.items():
        try:
            polarity[kind, name] = text(api(m)[0, 0], ".4f")
        except (TypeError, RuntimeError, AssertionError) as error:
            polarity[kind, name] = type(error).__name__
        print(f"{kind:15} {name:21} {polarity[kind, name]}")
# --8<-- [end:polarity]

# --8<-- [start:polarity-layers]
torch.manual_seed(SEED)
options = {"dropout": 0.0, "batch_first": True, "dtype": torch.float64}
encoder = nn.TransformerEncoderLayer(4, 2, 8, **options)
decoder = nn.TransformerDecoderLayer(4, 2, 8, **options)
source, target, memory = torch.randn(3, 1, 3, 4, dtype=torch.float64)


def first_output(argument, m, x):
    """Output 1 of the layer with this argument, x where the mask looks."""
    whole = {argument: m[None] if "padding" in argument else m.expand(3, 3)}
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
print("torch", version)
for end in ("mask", "key_padding_mask"):
    for argument in (f"src_{end}", f"tgt_{end}", f"memory_{end}"):
        found = [seen(argument, m) for m in list(kinds.values())[:2]]
        reach[argument] = found
        sees = f"bool 0 1 0: {found[0]}   float 0 -inf 0: {found[1]}"
        print(f"{argument:24} {sees}")
# --8<-- [end:polarity-layers]

# --8<-- [start:exercise-pencil]
fresh = np.log([2.0, 3.0, 5.0])
keep = np.array([True, False, True])
print(text(softmax(apply_mask(fresh, keep)), ".4f"))
by_hand = np.array([2, 0, 5])
print(text(by_hand / by_hand.sum(), ".4f"))
print(text(np.where(keep, softmax(fresh), 0), ".4f"))
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-1]
distance = np.arange(5)[:, None] - np.arange(5)[None, :]  # i - j
window = causal_mask(5) & (distance < 2)
print(text(window, "d"))
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-3]
right_padding = padding_mask(np.array([2]), 4)  # two tokens, then padding
left_padding = right_padding[:, :, ::-1]  # padding, then two tokens
for m in (right_padding, left_padding):
    allowed_pairs = (causal_mask(4) & m)[0]
    print([i + 1 for i in range(4) if not allowed_pairs[i].any()])
# --8<-- [end:exercise-3]

# --8<-- [start:exercise-float]
as_float = causal_mask(3).astype(float)
_, hidden = attention(queries, keys, values, as_float)
_, free = attention(queries, keys, values)
minus_infinity = np.where(causal_mask(3), 0.0, -np.inf)
_, repaired = attention(queries, keys, values, minus_infinity)
print(text(hidden[0], ".4f"))
print(text(free[0], ".4f"))
print(text(repaired[0], ".4f"))
# --8<-- [end:exercise-float]

# --8<-- [start:exercise-2]
tiny = 1e-6
moved = np.zeros((3, 3), dtype=int)  # output i, input j
for j in range(3):
    for c in range(4):
        bent = INPUTS.copy()
        bent[j, c] += tiny
        change = attention(*project(bent), causal)[0] - causal_outputs
        moved[:, j] |= (change != 0).any(axis=1)
print(text(moved, "d"))
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-added]
common = np.array([2.0, 4.0, 4.0]) / np.sqrt(3)
print(text(softmax(common), ".4f"))
print(text(softmax(common - 1e9), ".4f"))
print(text(softmax((common - 1e9).astype(np.float32)), ".4f"))
# --8<-- [end:exercise-added]

# --8<-- [start:exercise-window]
span = causal_mask(9) & ~causal_mask(9, offset=-3)  # 2 before, and itself
reached = np.eye(9, dtype=int)
for layers in (1, 2, 3):
    reached = (span.astype(int) @ reached > 0).astype(int)
    print(layers, text(reached[8], "d"), int(reached[8].sum()))
# --8<-- [end:exercise-window]
