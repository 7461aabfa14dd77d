"""What surrounds attention: embedding, residual, LayerNorm, network; post- and pre-norm."""

# --8<-- [start:setup]
import ast
import inspect
from fractions import Fraction
from math import sqrt

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attention_docs.attention_function import attention
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import flow, line_chart
from attention_docs.masking import causal_mask, padding_mask, truncate_and_pad
from attention_docs.multi_head import Parameters, multi_head_attention
from attention_docs.nn import TransformerEncoderLayer
from attention_docs.positions import sinusoids
from attention_docs.text import number, text
from attention_docs.transformer_block import (
    BlockParameters,
    block_flops,
    block_parameter_count,
    embed,
    encoder_block,
    feed_forward,
    layer_norm,
    relu,
)

SEED = 2017
rng = np.random.default_rng(SEED)
torch.set_num_threads(1)  # small matrices: more threads only wait
torch.manual_seed(0)  # what torch's modules start with
# --8<-- [end:setup]

# --8<-- [start:truncation]
words = ["(padding)", "I", "saw", "a", "this", "is", "good"]
sentences = ["this is good", "I saw a saw", "I saw a saw this is good"]
numbers = [np.array([words.index(w) for w in s.split()]) for s in sentences]
ids, lengths = truncate_and_pad(numbers, max_length=4)
print(ids)  # (batch, n)
print("lengths", lengths)
# --8<-- [end:truncation]

# --8<-- [start:embedding]
table = np.array(  # (vocabulary, d_model): one row a word
    [
        [0.0, 0, 0, 0],  # (padding)
        [1, 0, 0, 2],  # I
        [0, 3, 1, 0],  # saw
        [0, 0, 2, 1],  # a
        [1, 0, 2, 0],  # this
        [0, 1, 0, 1],  # is
        [2, 1, 0, 0],  # good
    ]
)
rows = embed(ids, table)  # (batch, n, d_model)
print(text(rows[1], ".0f"))  # I saw a saw
one_hot = np.eye(len(words))[ids]  # (batch, n, vocabulary)
print(np.array_equal(rows, one_hot @ table))
# --8<-- [end:embedding]

# --8<-- [start:positions]
places = sinusoids(np.arange(4.0), 4)  # (n_max, d_model)
print(text(places, ".3f"))
x = embed(ids, table, places, scale=sqrt(4))  # √d_model
print(text(x[1], ".3f"))
# --8<-- [end:positions]

# --8<-- [start:too-long]
try:
    embed(numbers[2], table, places)  # 7 words, 4 places
except ValueError as error:
    print(f"ValueError: {error}")
# --8<-- [end:too-long]

# --8<-- [start:input-mask]
mask = padding_mask(lengths[:, None], n_key=4)  # True takes part
print(mask.shape)
print(mask[:, 0, 0].astype(int))
# --8<-- [end:input-mask]

# --8<-- [start:bias]
queries, keys, values = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
b_q, b_k, b_v = np.array([[1.0, 0, -1], [2, -1, 3], [1, 1, -2]])
outputs, weights = attention(queries, keys, values)
shifted = {
    "key": attention(queries, keys + b_k, values),
    "query": attention(queries + b_q, keys, values),
    "value": attention(queries, keys, values + b_v),
}
print("row 1 of weights and outputs")  # typed: a heading
print(f"{'none':6}", text(weights[0], ".4f"), text(outputs[0], ".4f"))
for name, (o, a) in shifted.items():
    print(f"{name:6}", text(a[0], ".4f"), text(o[0], ".4f"))
print("key bias, all outputs alike:", np.abs(shifted["key"][0] - outputs).max() < 1e-12)
moved = shifted["value"][0] - outputs
print("value bias, outputs move by b_V:", np.abs(moved - b_v).max() < 1e-12)
# --8<-- [end:bias]

# --8<-- [start:bias-gradient]
mha = nn.MultiheadAttention(8, 2, dtype=torch.float64)
inputs = torch.from_numpy(rng.normal(size=(5, 8)))
out, _ = mha(inputs, inputs, inputs)
(out * torch.from_numpy(rng.normal(size=(5, 8)))).sum().backward()
parts = mha.in_proj_bias.grad.chunk(3)
for name, gradient in zip(("query", "key", "value"), parts, strict=True):
    print(f"gradient of the {name} bias is 0:", bool(gradient.abs().max() < 1e-12))
# --8<-- [end:bias-gradient]

# --8<-- [start:distance]
W_1 = np.array([[1.0, -1], [-1, 1]])  # (d_model, d_ff)
W_2 = np.array([[1.0], [1]])  # (d_ff, d_out)
tokens = np.array([[3.0, 1], [1, 3], [2, 2]])
print(text(tokens @ W_1, ".0f"))
print(text(relu(tokens @ W_1), ".0f"))
print(text(feed_forward(tokens, W_1, W_2), ".0f"))
# --8<-- [end:distance]

# --8<-- [start:collapse]
linear = feed_forward(tokens, W_1, W_2, activation=lambda hidden: hidden)
print(text(W_1 @ W_2, ".0f"))
print(text(linear, ".0f"), np.array_equal(linear, tokens @ (W_1 @ W_2)))
# --8<-- [end:collapse]

# --8<-- [start:residual]
w, layers = 0.1, 10  # every layer multiplies by w
print("plain: factor", f"{w**layers:.1e}")
print("with a way around: factor", f"{(1 + w) ** layers:.2f}")
# --8<-- [end:residual]

# --8<-- [start:layer-norm]
row = [Fraction(c) for c in (1, 0, 0, 0)]
d = len(row)
mean = sum(row) / d
variance = sum((c - mean) ** 2 for c in row) / d  # divided by d
print("mean", mean, "variance", variance)
print("first component squared:", (row[0] - mean) ** 2 / variance)  # without ε
x_1 = np.array([1.0, 0, 0, 0])
print(text(layer_norm(x_1), ".3f"))
theirs = nn.functional.layer_norm(torch.from_numpy(x_1), (d,))
print(np.abs(layer_norm(x_1) - theirs.numpy()).max() < 1e-12)
# --8<-- [end:layer-norm]

# --8<-- [start:layer-norm-properties]
some = rng.normal(5, 3, size=(6, 8))  # mean 5, standard deviation 3
normal = layer_norm(some, eps=0)
print("mean 0:", np.abs(normal.mean(axis=1)).max() < 1e-12)
print("squared length d:", np.abs((normal**2).sum(axis=1) - 8).max() < 1e-12)
moved = layer_norm(7 * some - 4, eps=0)
print("7x - 4 gives the same:", np.abs(moved - normal).max() < 1e-12)
other = some.copy()
other[0] = np.arange(8)  # another token
others = layer_norm(other, eps=0)[1:]
print("the other tokens stay:", np.array_equal(others, normal[1:]))
# --8<-- [end:layer-norm-properties]

# --8<-- [start:epsilon]
eps = 1e-5
tiny = np.array([0.001, 0, 0, 0])
centred = tiny - tiny.mean()
sigma = tiny.std()  # NumPy divides by d
inside = centred / np.sqrt(sigma**2 + eps)
outside = centred / (sigma + eps)
print("inside the root:", text(inside, ".4f"))
print("outside:        ", text(outside, ".4f"))
print("the package:    ", text(layer_norm(tiny), ".4f"))
print("constant row:   ", text(layer_norm(np.array([2.0, 2, 2, 2])), ".4f"))
# --8<-- [end:epsilon]


# --8<-- [start:layer-norm-jacobian]
def layer_norm_jacobian(x, eps=1e-5):
    """Derivatives of LayerNorm by its input, for one row x (d,)."""
    d, s = len(x), np.sqrt(x.var() + eps)
    normal = (x - x.mean()) / s
    return (np.eye(d) - np.ones((d, d)) / d - np.outer(normal, normal) / d) / s


one = some[0]
J = layer_norm_jacobian(one)
autograd = torch.autograd.functional.jacobian(layer_norm, torch.from_numpy(one)).numpy()
print("autograd agrees:", np.abs(J - autograd).max() < 1e-12)
sizes = np.linalg.svd(layer_norm_jacobian(one, eps=0), compute_uv=False) * one.std()
print("singular values times σ:", text(sizes, ".0f"))
# --8<-- [end:layer-norm-jacobian]


# --8<-- [start:code]
def code(function):
    """The source of a function from its module, without the docstring."""
    lines = inspect.getsource(function).splitlines()
    docstring = ast.parse("\n".join(lines)).body[0].body[0]
    return "\n".join(lines[: docstring.lineno - 1] + lines[docstring.end_lineno :])


print(code(encoder_block))
# --8<-- [end:code]

# --8<-- [start:hand-parameters]
W_O = np.array([[0.0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]])  # (d_v, d_model)
W_1 = np.array(  # (d_model, d_ff)
    [[1.0, -1, 0, 0, 0], [-1, 1, 0, 0, 1], [0, 0, 1, -1, 0], [0, 0, 0, 0, 1]]
)
W_2 = np.array(  # (d_ff, d_model)
    [[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 1, 0, -1]]
)
b_1 = np.array([0.0, 0, 0, 0, -1])
by_hand = BlockParameters(Parameters(W_QUERY, W_KEY, W_VALUE, W_O), W_1, W_2, b_1)
for one in (W_O, W_1, W_2):
    print(text(one, "2.0f"))
# --8<-- [end:hand-parameters]

# --8<-- [start:post-steps]
a, _ = multi_head_attention(INPUTS, INPUTS, INPUTS, by_hand.attention, num_heads=1)
z = layer_norm(INPUTS + a)
f = feed_forward(z, W_1, W_2, b_1)
y = layer_norm(z + f)
steps = {"MHA(x)": a, "x + MHA(x)": INPUTS + a, "z": z, "FFN(z)": f, "y": y}
for name, one in steps.items():
    print(name)
    print(text(one, ".4f"))
post = encoder_block(INPUTS, by_hand, num_heads=1)
print(np.abs(post - y).max() < 1e-12)
# --8<-- [end:post-steps]

# --8<-- [start:post-flow]
tokens = ["1", "2", "3"]
flow(
    [
        ("x", "input", INPUTS, ".0f", tokens),
        ("MHA(x)", "output", a, ".2f"),
        ("z", "neutral", z, ".2f", tokens),
        ("FFN(z)", "neutral", f, ".2f"),
        ("y", "output", y, ".2f", tokens),
    ],
    arrows=[(0, 1), (1, 2, "+ LN"), (0, 2, "x"), (2, 3), (3, 4, "+ LN"), (2, 4, "z")],
)
# --8<-- [end:post-flow]

# --8<-- [start:pre-steps]
normal = layer_norm(INPUTS)
a_pre, _ = multi_head_attention(normal, normal, normal, by_hand.attention, num_heads=1)
z_pre = INPUTS + a_pre
f_pre = feed_forward(layer_norm(z_pre), W_1, W_2, b_1)
y_pre = z_pre + f_pre
steps = {"LN(x)": normal, "MHA(LN(x))": a_pre, "z": z_pre, "y": y_pre}
for name, one in steps.items():
    print(name)
    print(text(one, ".4f"))
pre = encoder_block(INPUTS, by_hand, num_heads=1, norm_first=True)
print(np.abs(pre - y_pre).max() < 1e-12)
# --8<-- [end:pre-steps]


# --8<-- [start:batch-block]
def random_parameters(d, d_ff):
    """A block's parameters, drawn from a normal distribution, with biases."""
    attend = Parameters(*rng.normal(size=(4, d, d)), *rng.normal(size=(4, d)))
    matrices = rng.normal(size=(d, d_ff)), rng.normal(size=(d_ff, d))
    biases = rng.normal(size=d_ff), rng.normal(size=d)
    return BlockParameters(attend, *matrices, *biases, *rng.normal(size=(4, d)))


block = random_parameters(4, 16)
before = encoder_block(x, block, num_heads=2, mask=mask)
other = x.copy()
other[0, 3] = 100  # the padding of sentence 1
after = encoder_block(other, block, num_heads=2, mask=mask)
same = np.array_equal(before[0, :3], after[0, :3])
print(x.shape, "->", before.shape, "its tokens stay:", same)
bare = encoder_block(other, block, 2) - encoder_block(x, block, 2)
print("without the mask they stay:", not bare[0, :3].any())
# --8<-- [end:batch-block]


# --8<-- [start:torch-tools]
def their_gradients(layer):
    """Of all parameters of torch's layer, in an order of our own."""
    attend = layer.self_attn
    found = [*attend.in_proj_weight.grad.chunk(3), attend.out_proj.weight.grad]
    if attend.in_proj_bias is not None:
        found += [*attend.in_proj_bias.grad.chunk(3), attend.out_proj.bias.grad]
    others = (layer.linear1, layer.linear2, layer.norm1, layer.norm2)
    return found + [p.grad for one in others for p in one.parameters()]


def our_gradients(layer):
    """Of the package's module, in the same order."""
    attend = layer.attention
    maps = (attend.query, attend.key, attend.value, attend.output)
    found = [one.weight.grad for one in maps]
    found += [one.bias.grad for one in maps if one.bias is not None]
    others = (layer.linear_1, layer.linear_2, layer.norm_1, layer.norm_2)
    return found + [p.grad for one in others for p in one.parameters()]


def far(ours, theirs):
    """The largest absolute difference of two lists of tensors."""
    pairs = zip(ours, theirs, strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


# --8<-- [end:torch-tools]

# --8<-- [start:agreement]
torch.manual_seed(SEED)
batch, n, d_model, h, d_ff = 2, 5, 12, 3, 20


def compare(mask=None, dtype=torch.float64, bias=True, activation="relu", **options):
    """Largest errors of the module against torch's: outputs, gradients."""
    norm_first = options.pop("norm_first")
    theirs = nn.TransformerEncoderLayer(
        *(d_model, h, d_ff, 0.0, activation),
        **{"batch_first": True, "norm_first": norm_first, "bias": bias, "dtype": dtype},
    )
    for p in theirs.parameters():
        if p.ndim == 1:  # scales start at 1, biases at 0: mistakes would hide
            nn.init.normal_(p)
    ours = TransformerEncoderLayer.from_torch(theirs)
    inputs = torch.randn(2, batch, n, d_model, dtype=dtype)
    x_ours, x_theirs = (inputs[0].clone().requires_grad_() for _ in (0, 1))
    y_ours, y_theirs = ours(x_ours, mask), theirs(x_theirs, **options)
    for y in (y_ours, y_theirs):
        (y * inputs[1]).sum().backward()
    by_ours = [x_ours.grad, *our_gradients(ours)]
    by_theirs = [x_theirs.grad, *their_gradients(theirs)]
    return far([y_ours], [y_theirs]), far(by_ours, by_theirs)


causal = causal_mask(n, like=torch.empty(0))  # True takes part; torch: True is masked
padding = padding_mask(torch.tensor([[5], [3]]), n)  # (batch, 1, 1, n)
added = torch.randn(n, n, dtype=torch.float64)
cases = {
    "no mask": {},
    "no biases": {"bias": False},
    "gelu": {"activation": "gelu"},
    "causal mask": {"mask": causal, "src_mask": ~causal},
    "float mask": {"mask": added, "src_mask": added},
    "padding": {"mask": padding, "src_key_padding_mask": ~padding[:, 0, 0]},
    "both masks": {
        **{"mask": causal & padding, "src_mask": ~causal},
        "src_key_padding_mask": ~padding[:, 0, 0],
    },
    "float32": {"dtype": torch.float32},
}
print("torch", torch.__version__.split("+")[0])
print(" " * 17 + "errors below  outputs gradients")  # typed: a heading
agreement = []
for norm_first in (False, True):
    for name, case in cases.items():
        bound = "1e-3" if "dtype" in case else "1e-11"
        below = [e < float(bound) for e in compare(norm_first=norm_first, **case)]
        agreement += below
        order = "pre " if norm_first else "post"
        print(f"{order} {name:12} {bound:12} ", *(f"{one!s:7}" for one in below))
# --8<-- [end:agreement]

# --8<-- [start:stack]
one_layer = nn.TransformerEncoderLayer(
    *(d_model, h, d_ff, 0.0), batch_first=True, norm_first=True, dtype=torch.float64
)
last_norm = nn.LayerNorm(d_model, dtype=torch.float64)
their_stack = nn.TransformerEncoder(one_layer, 3, last_norm, enable_nested_tensor=False)
for p in their_stack.parameters():  # all layers start as copies of one
    nn.init.normal_(p, std=0.5)
stream = inputs = torch.randn(batch, n, d_model, dtype=torch.float64)
for layer in their_stack.layers:
    stream = TransformerEncoderLayer.from_torch(layer)(stream, causal)
ours = layer_norm(stream, last_norm.weight, last_norm.bias)
theirs = their_stack(inputs, mask=~causal)
print("the stack agrees:", far([ours], [theirs]) < 1e-11)
# --8<-- [end:stack]


# --8<-- [start:gradient-tools]
def fresh_stack(count, norm_first, rng):
    """Blocks with d_model 32, 4 heads, d_ff 128; Xavier uniform, drawn by NumPy."""
    stack = [
        TransformerEncoderLayer(
            *(32, 4, 128), dropout=0.0, norm_first=norm_first, dtype=torch.float64
        )
        for _ in range(count)
    ]
    with torch.no_grad():
        for p in (p for layer in stack for p in layer.parameters() if p.ndim == 2):
            bound = sqrt(6 / sum(p.shape))
            p.copy_(torch.from_numpy(rng.uniform(-bound, bound, p.shape)))
    return stack


def one_run(count, norm_first, seed):
    """Gradient norm of W_1 and mean square of the block's input, for every block."""
    rng = np.random.default_rng(seed)
    stack = fresh_stack(count, norm_first, rng)
    stream = torch.from_numpy(rng.normal(size=(2, 16, 32)))  # (batch, n, d_model)
    direction = rng.normal(size=stream.shape)
    direction /= np.linalg.norm(direction)
    squares = []
    for layer in stack:
        squares.append((stream.detach() ** 2).mean().item())
        stream = layer(stream)
    y = layer_norm(stream) if norm_first else stream
    (y * torch.from_numpy(direction)).sum().backward()
    squares.append((stream.detach() ** 2).mean().item())
    return [layer.linear_1.weight.grad.norm().item() for layer in stack], squares


def runs(count, norm_first):
    """The same for 10 seeds: two arrays, a row a seed."""
    found = [one_run(count, norm_first, SEED + i) for i in range(10)]
    return [np.array(one) for one in zip(*found, strict=True)]


def half_width(samples):
    """Of the 95% confidence interval of the mean of 10 samples (Student's t)."""
    return 2.262 * samples.std(axis=0, ddof=1) / sqrt(10)


# --8<-- [end:gradient-tools]

# --8<-- [start:gradients]
post_norms, _ = runs(12, norm_first=False)
pre_norms, pre_squares = runs(12, norm_first=True)
print(  # typed: a heading
    "gradient of W_1, 12 blocks, 10 seeds: mean ± 95% interval, smallest to largest"
)  # typed: a heading
for layer in range(12):
    print(f"block {layer + 1:2d}", end="")
    for name, found in (("post", post_norms), ("pre", pre_norms)):
        one = found[:, layer]
        print(f"  {name} {one.mean():.1f} ± {half_width(one):.1f}", end="")
        print(f", {one.min():.1f} to {one.max():.1f}", end="")
    print()
line_chart(
    np.arange(1, 13),
    [
        ({"en": "post-norm", "zh": "后置归一化"}, post_norms.mean(axis=0)),
        ({"en": "pre-norm", "zh": "前置归一化"}, pre_norms.mean(axis=0)),
    ],
    band={
        "post-norm": (post_norms.min(axis=0), post_norms.max(axis=0)),
        "pre-norm": (pre_norms.min(axis=0), pre_norms.max(axis=0)),
    },
    band_name={"en": "shaded: all 10 seeds", "zh": "阴影：全部 10 个种子"},
    xlabel={"en": "block", "zh": "块"},
    ylabel={"en": "gradient norm of W_1", "zh": "W_1 的梯度范数"},
    spec=".1f",
)
# --8<-- [end:gradients]

# --8<-- [start:spread]
ratios = post_norms[:, 0] / post_norms[:, -1], pre_norms[:, 0] / pre_norms[:, -1]
for name, one in zip(("post", "pre"), ratios, strict=True):
    print(f"{name:4} first block / last block: {one.min():.1f} to {one.max():.1f}")
level = (pre_norms * np.sqrt(pre_squares[:, :-1])).mean(axis=0)
print(f"pre  gradient × r of its input: {level.min():.1f} to {level.max():.1f}")
# --8<-- [end:spread]

# --8<-- [start:last-block]
print("gradient of W_1 in the last block: mean ± 95% interval")  # typed: a heading
last_blocks = {}
for count in (1, 2, 4, 8):
    post_last = runs(count, norm_first=False)[0][:, -1]
    norms, squares = runs(count, norm_first=True)
    pre_last, size = norms[:, -1], np.sqrt(squares[:, -1])
    last_blocks[count] = post_last, pre_last, pre_last * size
post_last, pre_last = post_norms[:, -1], pre_norms[:, -1]
last_blocks[12] = post_last, pre_last, pre_last * np.sqrt(pre_squares[:, -1])
for count, found in last_blocks.items():
    print(f"{count:2d} blocks", end="")
    for name, one in zip(("post", "pre", "pre × r_N"), found, strict=True):
        print(f"  {name} {one.mean():.1f} ± {half_width(one):.1f}", end="")
    print()
levels = [found[2].mean() for found in last_blocks.values()]
# --8<-- [end:last-block]

# --8<-- [start:stream]
hidden = Fraction(2, 5) / 2  # mean square after W_1 and ReLU, times 1
added_square = 4 * hidden * Fraction(2, 5)
print("the network adds", added_square)
for count in (4, 8, 12):
    print(
        f"mean square after {count:2d} blocks: {pre_squares[:, count].mean():.1f}"
        f" ± {half_width(pre_squares[:, count]):.1f},"
        f" from {1 + count * 0.32:.2f} to {1 + count * 1.32:.2f} expected"
    )
direct = {count: float(1 + added_square) ** (-count / 2) for count in (6, 12, 24)}
factors = [f"{count}: {one:.3f}" for count, one in direct.items()]
print("post-norm, direct path:", *factors)
# --8<-- [end:stream]

# --8<-- [start:parameters]
print("d_model d_ff      formula        torch       module")
counts = {}
for d, h, d_ff in ((4, 1, 5), (64, 8, 256), (512, 8, 2048), (768, 12, 3072)):
    theirs = nn.TransformerEncoderLayer(d, h, d_ff, device="meta")  # shapes, no numbers
    ours = TransformerEncoderLayer(d, h, d_ff, device="meta")
    counts[d] = [
        block_parameter_count(d, d_ff),
        *(sum(p.numel() for p in one.parameters()) for one in (theirs, ours)),
    ]
    print(f"{d:7d} {d_ff:4d}", *(f"{one:12d}" for one in counts[d]))
# --8<-- [end:parameters]

# --8<-- [start:parts]
d, d_ff = 512, 2048
parts = {
    "attention": 4 * d**2 + 4 * d,
    "feed-forward": 2 * d * d_ff + d_ff + d,
    "LayerNorm": 2 * 2 * d,
}
for name, one in parts.items():
    print(f"{name:12} {one:8d}")
print(f"{'together':12} {sum(parts.values()):8d}")
# --8<-- [end:parts]


# --8<-- [start:flops]
def counted(layer, n, d):
    """What torch counts while the layer runs on one sequence of n tokens."""
    x = torch.zeros(1, n, d, device="meta")
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        layer(x)
    return counter.get_total_flops()


print("  n d_model d_ff      formula        torch       module")
flops = {}
sizes = (3, 4, 1, 5), (16, 64, 8, 256), (100, 512, 8, 2048), (512, 768, 12, 3072)
for n, d, h, d_ff in sizes:
    layers = (
        nn.TransformerEncoderLayer(d, h, d_ff, 0.0, batch_first=True, device="meta"),
        TransformerEncoderLayer(d, h, d_ff, 0.0, device="meta"),
    )
    flops[n] = [block_flops(n, d, d_ff), *(counted(one, n, d) for one in layers)]
    print(f"{n:3d} {d:7d} {d_ff:4d}", *(f"{one:12d}" for one in flops[n]))
# --8<-- [end:flops]

# --8<-- [start:flops-missing]
layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
with FlopCounterMode(display=False) as counter:  # on the CPU, with PyTorch's own choice
    layer(torch.zeros(1, 100, 512))
missing = block_flops(100, 512, 2048) - counter.get_total_flops()
print("torch", torch.__version__.split("+")[0], "leaves out", missing)
print("which is 4n²d:", missing == 4 * 100**2 * 512)
# --8<-- [end:flops-missing]

# --8<-- [start:share]
print("share of scores and weighted sums, d_model = 512")  # typed: a heading
share = {}
for n in (16, 128, 1024, 3072, 8192):
    share[n] = Fraction(4 * n**2 * 512, block_flops(n, 512, 2048))
    print(f"n = {n:4d}: {float(share[n]):.1%}")
# --8<-- [end:share]

# --8<-- [start:mistake-ddof]
x_1 = np.array([1.0, 0, 0, 0])
centred = x_1 - x_1.mean()
wrong = centred / x_1.std(ddof=1)  # WRONG: divides by d - 1
right = layer_norm(x_1)
print("wrong:", text(wrong, ".3f"), "squared length", number((wrong**2).sum(), ".0f"))
print("right:", text(right, ".3f"), "squared length", number((right**2).sum(), ".0f"))
default = torch.from_numpy(x_1).std()  # torch's own default
print("torch's std() is the wrong one:", abs(float(default) - x_1.std(ddof=1)) < 1e-12)
# --8<-- [end:mistake-ddof]

# --8<-- [start:mistake-ddof-size]
for d in (4, 32, 512):
    ratio = sqrt((d - 1) / d)
    print(f"d = {d:3d}: wrong / right = {ratio:.4f}")
# --8<-- [end:mistake-ddof-size]


# --8<-- [start:mistake-order]
def sublayer_connection(x, sublayer):
    """LayerNorm(x + Sublayer(x))"""  # WRONG: the code does something else
    return x + sublayer(layer_norm(x))


def attend(x):
    """The attention of the block by hand."""
    return multi_head_attention(x, x, x, by_hand.attention, num_heads=1)[0]


def feed(x):
    """The network of the block by hand."""
    return feed_forward(x, W_1, W_2, b_1)


wrong = sublayer_connection(sublayer_connection(INPUTS, attend), feed)
print("as the text says")
print(text(post, ".4f"))
print("as the code does")
print(text(wrong, ".4f"))
for name, one in (("text", post), ("code", wrong)):
    lengths_squared = (one**2).sum(axis=1)
    print(f"{name}: means {text(one.mean(axis=1), '.2f')}", end=", ")
    print(f"squared lengths {text(lengths_squared, '.2f')}")
print("it is pre-norm:", np.abs(wrong - pre).max() < 1e-12)
# --8<-- [end:mistake-order]

# --8<-- [start:mistake-overwrite]
stream = layer_norm(INPUTS)  # WRONG: the input is gone
stream = stream + attend(stream)
stream = layer_norm(stream)  # WRONG: again
stream = stream + feed(stream)
print("wrong:", text(stream[0], ".4f"))
print("right:", text(pre[0], ".4f"))
again = layer_norm(INPUTS)  # the same with the parts renamed
again = layer_norm(again + attend(again))
print(np.abs(stream - (again + feed(again))).max() < 1e-12)
# --8<-- [end:mistake-overwrite]

# --8<-- [start:exercise-1]
tables = (30522 + 512 + 2) * 768  # words, places, two kinds of segment
blocks = 12 * block_parameter_count(768, 3072)
pooler = 768 * 768 + 768
print(tables, "+", 2 * 768, "+", blocks, "+", pooler)
print(tables + 2 * 768 + blocks + pooler)
# --8<-- [end:exercise-1]

# --8<-- [start:exercise-2]
start = rng.normal(size=(8, 16))  # 8 tokens, d_model 16


def apart(x):
    """How far tokens are from their mean: share of the mean squared length."""
    return ((x - x.mean(axis=0)) ** 2).sum() / (x**2).sum()


shares = {True: [apart(start)], False: [apart(start)]}
for keep_input in shares:
    stream, again = start, np.random.default_rng(SEED)
    for _ in range(8):
        p = Parameters(*again.normal(0, 1 / 4, size=(4, 16, 16)))
        out, _ = multi_head_attention(stream, stream, stream, p, num_heads=2)
        stream = layer_norm(stream + out if keep_input else out)
        shares[keep_input].append(apart(stream))
for keep_input, name in ((False, "attention alone"), (True, "with x added")):
    print(f"{name:15}", *(f"{share:.1e}" for share in shares[keep_input][:4]))
print("with x added, 8 layers:", f"{shares[True][8]:.3f}")
# --8<-- [end:exercise-2]

# --8<-- [start:exercise-3]
zero_mean = np.array([3.0, -1, 1, -3])
rms_norm = zero_mean / np.sqrt((zero_mean**2).mean())
print(text(rms_norm, ".4f"))
print(text(layer_norm(zero_mean, eps=0), ".4f"))
moved = zero_mean + 10
print(text(moved / np.sqrt((moved**2).mean()), ".4f"))
print(text(layer_norm(moved, eps=0), ".4f"))
# --8<-- [end:exercise-3]
