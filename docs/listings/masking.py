"""Masks: who may look at whom, what leaks, and what becomes of an empty row."""

# --8<-- [start:setup]
import warnings
from math import e

import numpy as np
import torch
from torch import nn
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attention_docs.attention_function import attention
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import heatmap, numbered
from attention_docs.masking import (
    apply_mask,
    causal_mask,
    padding_mask,
    truncate_and_pad,
)
from attention_docs.softmax import softmax
from attention_docs.text import number, text

SEED = 0


def project(x):
    """Queries, keys and values of inputs x, with the parameters of the eight steps."""
    return x @ W_QUERY, x @ W_KEY, x @ W_VALUE


def attention_map(weights):
    """Weights of three queries and three keys as a figure."""
    labels = {"rows": numbered("query", 3), "columns": numbered("key", 3)}
    return heatmap(weights, name="weights", spec=".4f", **labels)


torch.manual_seed(0)  # what torch's modules start with
# --8<-- [end:setup]

# --8<-- [start:minus-infinity]
scores = np.array([2.0, 4.0, 4.0])  # query 1 of the eight steps, not scaled
mask = np.array([True, True, False])  # True takes part
masked = apply_mask(scores, mask)
weights = softmax(masked)
print(text(masked, ".0f"))
print(text(weights, ".4f"))
print(text([e**2 / (e**2 + e**4), e**4 / (e**2 + e**4), 0.0], ".4f"))
# --8<-- [end:minus-infinity]

# --8<-- [start:renormalise]
everything = softmax(scores)  # weights of all keys
kept = np.where(mask, everything, 0.0)
renormalised = kept / kept.sum()
print(text(kept, ".4f"), "sum", number(kept.sum(), ".4f"))
print(text(renormalised, ".4f"))
print(np.abs(renormalised - weights).max() < 1e-12)
# --8<-- [end:renormalise]

# --8<-- [start:underflow]
far = np.array([0.0, 0.0, 1000.0])  # the masked key has by far the largest score
kept_far = np.where(mask, softmax(far), 0.0)
print("before:", text(softmax(apply_mask(far, mask)), ".1f"))
with np.errstate(invalid="ignore"):
    print("after: ", text(kept_far / kept_far.sum(), ".1f"))
# --8<-- [end:underflow]

# --8<-- [start:causal]
n = 3
queries, keys, values = project(INPUTS)
causal = causal_mask(n)
causal_outputs, causal_weights = attention(queries, keys, values, causal)
print(text(causal, "d"))  # 1 for True
print(text(causal_weights, ".4f"))
print(text(causal_outputs, ".4f"))
attention_map(causal_weights)
# --8<-- [end:causal]

# --8<-- [start:truncate]
sentences = [np.array([3, 1, 4, 1, 5]), np.array([2, 7]), np.array([1, 6, 1])]
ids, lengths = truncate_and_pad(sentences, max_length=4)  # token ids, 0 is padding
real = padding_mask(lengths, ids.shape[1])
print(text(ids, "d"))
print(text(lengths, "d"))
print(text(real[:, 0, :], "d"), real.shape)
# --8<-- [end:truncate]

# --8<-- [start:truncation]
x = np.random.default_rng(SEED).normal(size=(6, 4))  # 6 tokens
for name, whole_mask, cut_mask in (
    ("all look at all", None, None),
    ("causal", causal_mask(6), causal_mask(4)),
):
    whole, _ = attention(*project(x), whole_mask)
    cut, _ = attention(*project(x[:4]), cut_mask)  # truncated to 4 tokens
    difference = np.abs(whole[:4] - cut).max()
    print(f"{name:15} first 4 outputs unchanged:", difference < 1e-12)
# --8<-- [end:truncation]

# --8<-- [start:padding]
batch, lengths = truncate_and_pad([INPUTS, INPUTS[:2]], max_length=3)  # (2, 3, 4)
padding = padding_mask(lengths, 3)  # (2, 1, 3)
_, unmasked_weights = attention(*project(batch))
padded_outputs, padded_weights = attention(*project(batch), padding)
print(text(unmasked_weights[1], ".4f"))
print(text(padded_weights[1], ".4f"))
# --8<-- [end:padding]

# --8<-- [start:both]
both = causal & padding  # (3, 3) and (2, 1, 3) give (2, 3, 3)
_, both_weights = attention(*project(batch), both)
print(text(both[1], "d"))
print(text(both_weights[1], ".4f"))
added = np.where(causal, 0.0, -np.inf) + np.where(padding, 0.0, -np.inf)
print(text(added[1], ".0f"))
print(np.array_equal(attention(*project(batch), added)[1], both_weights))
# --8<-- [end:both]

# --8<-- [start:no-leak]


def changed_numbers(run, n=32):
    """Change every token in turn; count the outputs' numbers whose bits change."""
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(n, 4))
    before = run(*project(x))
    earlier, later, compared = 0, 0, 0
    for t in range(1, n):
        other = x.copy()
        other[t] = rng.normal(size=4)
        after = run(*project(other))
        bits = before.view(np.uint64) != after.view(np.uint64)
        earlier += int(bits[:t].sum())
        later += int(bits[t:].sum())
        compared += bits[:t].size
    return earlier, compared, later > 0


def in_torch(q, k, v, **options):
    """F.scaled_dot_product_attention on NumPy arrays."""
    q, k, v = (torch.from_numpy(a)[None, None] for a in (q, k, v))
    return sdpa(q, k, v, **options)[0, 0].numpy()


keep = causal_mask(32)
runs = {
    "no mask": lambda q, k, v: attention(q, k, v)[0],
    "causal": lambda q, k, v: attention(q, k, v, keep)[0],
    "SDPA, mask": lambda q, k, v: in_torch(q, k, v, attn_mask=torch.from_numpy(keep)),
    "SDPA, is_causal": lambda q, k, v: in_torch(q, k, v, is_causal=True),
}
leaks = {name: changed_numbers(run) for name, run in runs.items()}
for name, (earlier, compared, later) in leaks.items():
    counted = f"{earlier:4d} of {compared} changed"
    print(f"{name:15} earlier: {counted}, own and later: {later}")
# --8<-- [end:no-leak]

# --8<-- [start:padding-no-leak]
other = batch.copy()
other[1, 2] = [9, -7, 1000, 5]  # another vector in the place of the padding
other_outputs, _ = attention(*project(other), padding)
alone, _ = attention(*project(INPUTS[:2]))  # the second sequence, never padded
print(np.array_equal(other_outputs[1, :2], padded_outputs[1, :2]))
print(np.abs(alone - padded_outputs[1, :2]).max() < 1e-12)
open_outputs, _ = attention(*project(batch))
other_open, _ = attention(*project(other))
print(np.array_equal(other_open[1, :2], open_outputs[1, :2]))  # without the mask
# --8<-- [end:padding-no-leak]

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
spoils = {}
for place in ("key", "value"):
    bad_keys, bad_values = keys.copy(), values.copy()
    (bad_keys if place == "key" else bad_values)[2] = np.nan
    arrays = [torch.from_numpy(a)[None, None] for a in (queries, bad_keys, bad_values)]
    for kind, m in (("bool", mask), ("float", np.where(mask, 0.0, -np.inf))):
        ours, _ = attention(queries, bad_keys, bad_values, m)
        theirs = sdpa(*arrays, attn_mask=torch.from_numpy(m).expand(3, 3))
        spoils[place, kind] = bool(np.isnan(ours).any()), bool(theirs.isnan().any())
        package, torchs = spoils[place, kind]
        where = f"NaN in the {place:5} {kind:5} mask"
        print(f"{where}: package {package!s:5} SDPA {torchs}")
# --8<-- [end:nan-table]

# --8<-- [start:empty-row]
empty = np.array([[False, False, False]])
with np.errstate(invalid="ignore"):
    row = apply_mask(scores[None], empty)
    exponentials = np.exp(row - row.max())  # -inf - (-inf)
    plain = exponentials / exponentials.sum()
print("plain -inf:", text(plain, ".4f"))
print("-1e9:      ", text(softmax(np.full((1, 3), -1e9)), ".4f"))
package_outputs, package_weights = attention(queries[:1], keys, values, empty)
print("package:   ", text(package_weights, ".4f"))
print("its output:", text(package_outputs, ".4f"))
# --8<-- [end:empty-row]

# --8<-- [start:torch]
version = torch.__version__.split("+")[0]
print("torch", version)

# Values 1 0 0, 0 1 0, 0 0 1: an output is then its row of weights.
Q, K, V = (torch.from_numpy(a)[None] for a in (queries, keys, np.eye(3)))


def identity_mha():
    """nn.MultiheadAttention with one head, whose linear maps change nothing."""
    mha = nn.MultiheadAttention(3, 1, bias=False, batch_first=True, dtype=Q.dtype)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.eye(3).repeat(3, 1))
        mha.out_proj.weight.copy_(torch.eye(3))
    return mha


MHA = identity_mha()
apis = {
    "package": lambda m: attention(Q, K, V, m.expand(3, 3))[0],
    "SDPA attn_mask": lambda m: sdpa(Q, K, V, attn_mask=m.expand(3, 3)),
    "MHA attn_mask": lambda m: MHA(Q, K, V, attn_mask=m.expand(3, 3))[0],
    "MHA key_padding_mask": lambda m: MHA(Q, K, V, key_padding_mask=m[None])[0],
}
# --8<-- [end:torch]

# --8<-- [start:empty-table]


def show(row):
    """A row of weights, or NaN."""
    return "NaN" if row.isnan().any() else text(row, ".4f")


empty_rows = {}
for dtype in (torch.float32, torch.float64):
    s = (Q @ K.mT / 3**0.5)[0, :1].to(dtype)  # scores of query 1
    nothing = torch.ones(1, 3, dtype=torch.bool)
    name = str(dtype).removeprefix("torch.")
    plain = s.masked_fill(nothing, -torch.inf).softmax(-1)
    empty_rows[f"softmax of -inf, {name}"] = plain
    empty_rows[f"-1e9 put in, {name}"] = s.masked_fill(nothing, -1e9).softmax(-1)
    empty_rows[f"-1e9 added, {name}"] = (s - 1e9).softmax(-1)
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
print("torch", version, " " * 20, "training   evaluation")
for name, m in all_out.items():
    for need_weights in (True, False):
        found = []
        for training in (True, False):
            mha.train(training)
            with torch.set_grad_enabled(training):
                out, _ = mha(tokens, tokens, tokens, need_weights=need_weights, **m)
            found.append("NaN" if out.isnan().any() else number(out.abs().max(), ".0f"))
        mha_empty[name, need_weights] = found
        call = f"{name:22} need_weights={need_weights!s:5}"
        print(f"{call} {found[0]:>10} {found[1]:>12}")
# --8<-- [end:empty-mha]

# --8<-- [start:empty-gradient]
first_empty = torch.ones(3, 3, dtype=torch.bool).tril(-1)  # query 1 sees no key
mha.train()
poisoned = {}
for need_weights in (True, False):
    m = {"attn_mask": ~first_empty, "need_weights": need_weights}
    out, _ = mha(tokens, tokens, tokens, **m)
    loss = out[:, 1:].sum()  # the empty row is left out of the loss
    (gradient,) = torch.autograd.grad(loss, mha.in_proj_weight)
    poisoned["MHA", need_weights] = int(gradient.isnan().sum())
    print(f"MHA need_weights={need_weights!s:5} NaN in the gradient:", end=" ")
    print(poisoned["MHA", need_weights], "of", gradient.numel())
leaf = tokens.clone().requires_grad_()
out, _ = attention(leaf, leaf, leaf, first_empty)
(gradient,) = torch.autograd.grad(out[:, 1:].sum(), leaf)
poisoned["package"] = int(gradient.isnan().sum())
found = f"{poisoned['package']} of {gradient.numel()}"
print("package                NaN in the gradient:", found)
# --8<-- [end:empty-gradient]

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
    """Output 1 of the layer that has this argument, with x where the mask looks."""
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
        print(f"{argument:24} bool 0 1 0 sees {found[0]}", end="   ")
        print(f"float 0 -inf 0 sees {found[1]}")
# --8<-- [end:polarity-layers]

# --8<-- [start:is-causal]
one, five = torch.zeros(1, 1, 3), torch.zeros(1, 5, 3)  # equal scores everywhere
identity = torch.eye(5)[None]  # the output is the row of weights
upper_left = sdpa(one, five, identity, is_causal=True)
lower_right = sdpa(one, five, identity, attn_mask=causal_lower_right(1, 5))
print("is_causal:         ", text(upper_left[0], ".1f"))
print("causal_lower_right:", text(lower_right[0], ".1f"))
print("offset 0:          ", text(causal_mask(1, 5), "d"))
print("offset 4:          ", text(causal_mask(1, 5, offset=4), "d"))
# --8<-- [end:is-causal]

# --8<-- [start:corners]


def torch_sees(n_q, n_k, mask=None):
    """Where SDPA puts weight: its own causal mask, or the one given."""
    q, k, v = torch.zeros(1, n_q, 3), torch.zeros(1, n_k, 3), torch.eye(n_k)[None]
    return sdpa(q, k, v, attn_mask=mask, is_causal=mask is None)[0].numpy() > 0


for n_q, n_k in ((2, 5), (5, 2)):
    left = causal_mask(n_q, n_k)
    right = causal_mask(n_q, n_k, offset=n_k - n_q)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of NaN where n_q > n_k
        corner = causal_lower_right(n_q, n_k)
    print(f"{n_q} queries, {n_k} keys: upper left, lower right")
    for a, b in zip(left, right, strict=True):
        print("  ", text(a, "d"), " ", text(b, "d"))
    same_left = np.array_equal(left, torch_sees(n_q, n_k))
    same_right = np.array_equal(right, torch_sees(n_q, n_k, corner))
    print("   the same keys as in torch:", same_left, same_right)
# --8<-- [end:corners]

# --8<-- [start:mistake-polarity]
# True: masked out, as MHA wants it
upside_down = torch.ones(3, 3, dtype=torch.bool).triu(1)
wrong = sdpa(Q, K, V, attn_mask=upside_down)[0]
right = sdpa(Q, K, V, attn_mask=~upside_down)[0]
print(text(wrong, ".4f"))
print(text(right, ".4f"))
attention_map(wrong)
# --8<-- [end:mistake-polarity]

# --8<-- [start:mistake-float16]
half = torch.tensor([[2.0, 4.0, 4.0]], dtype=torch.float16)
nothing = torch.ones(1, 3, dtype=torch.bool)
try:
    half.masked_fill(nothing, -1e9)
except RuntimeError as error:
    print("masked_fill:", error)
largest = torch.finfo(torch.float16).max
print("largest number:", number(largest, ".0f"))
overflowed = torch.tensor(-1e9).to(torch.float16)
print("-1e9 in float16:", number(overflowed, ".0f"))
print("a row of it:", text((half + overflowed).softmax(-1), ".4f"))
lowest = torch.full_like(half, -largest)
print("twice the lowest:", text(half + lowest + lowest, ".0f"))
print("a row of it:", text((half + lowest + lowest).softmax(-1), ".4f"))
# --8<-- [end:mistake-float16]

# --8<-- [start:mistake-multiply]
multiplied, negative = {}, {}
for sign in (1, -1):
    s = sign * scores
    multiplied[sign] = softmax(s * mask)
    print(text(s, ".0f"), "times mask:", text(s * mask, ".0f"))
    print("    wrong:", text(multiplied[sign], ".4f"))
    print("    right:", text(softmax(apply_mask(s, mask)), ".4f"))
# --8<-- [end:mistake-multiply]

# --8<-- [start:mistake-after]
short_weights = softmax(scores) * mask
right_weights = softmax(apply_mask(scores, mask))
print("wrong:", text(short_weights, ".4f"), "sum", number(short_weights.sum(), ".4f"))
print("right:", text(right_weights, ".4f"), "sum", number(right_weights.sum(), ".4f"))
print("wrong output:", text(short_weights @ values, ".4f"))
print("right output:", text(right_weights @ values, ".4f"))
raised = np.array([2.0, 4.0, 6.0])  # another score for the forbidden key
leaked = softmax(raised) * mask
print("wrong, score 6:", text(leaked, ".4f"), "sum", number(leaked.sum(), ".4f"))
print("right, score 6:", text(softmax(apply_mask(raised, mask)), ".4f"))
# --8<-- [end:mistake-after]

# --8<-- [start:exercise-1]
distance = np.arange(5)[:, None] - np.arange(5)[None, :]  # i - j
window = causal_mask(5) & (distance < 2)
print(text(window, "d"))
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-2]


def masked_layer(x):
    """Causal self-attention of (n, 4) inputs."""
    w_q, w_k, w_v = (torch.from_numpy(w.copy()) for w in (W_QUERY, W_KEY, W_VALUE))
    return attention(x @ w_q, x @ w_k, x @ w_v, causal_mask(3, like=x))[0]


inputs = torch.from_numpy(INPUTS.copy())
jacobian = torch.autograd.functional.jacobian(masked_layer, inputs)
print(jacobian.shape)  # output i, component; input j, component
depends = (jacobian != 0).any(dim=3).any(dim=1)
print(text(depends, "d"))
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
right_padding = padding_mask(np.array([2]), 4)  # two tokens, then padding
left_padding = right_padding[:, :, ::-1]  # padding, then two tokens
for name, m in (("right", right_padding), ("left", left_padding)):
    rows = (causal_mask(4) & m)[0]
    empty_queries = [i + 1 for i in range(4) if not rows[i].any()]
    print(f"padding on the {name}: empty rows", empty_queries)
# --8<-- [end:exercise-3]
