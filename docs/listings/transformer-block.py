"""What surrounds attention: residual, network, LayerNorm, two orders of them, a stack."""

# --8<-- [start:alike]
import ast
import inspect
from fractions import Fraction
from math import comb, prod, sqrt

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE
from attention_docs.figures import (
    Frame,
    bar_chart,
    diagram,
    flow,
    heatmap,
    line_chart,
    numbered,
    slider,
    table,
)
from attention_docs.learning import attention_backward, finite_differences
from attention_docs.masking import padding_mask, truncate_and_pad
from attention_docs.multi_head import (
    Parameters,
    join_heads,
    multi_head_attention,
    split_heads,
)
from attention_docs.positions import sinusoids
from attention_docs.text import check, number, text
from attention_docs.transformer_block import (
    BlockParameters,
    block_flops,
    block_parameter_count,
    embed,
    encoder_block,
    feed_forward,
    layer_norm,
    layer_norm_gradient,
    relu,
)

SEED = 2017
rng = np.random.default_rng(SEED)


def spread(x):
    """D: the share of the mean squared length that the tokens do not have in common."""
    apart = x - x.mean(axis=-2, keepdims=True)
    return (apart**2).sum(axis=(-2, -1)) / (x**2).sum(axis=(-2, -1))


def attention_layers(count, runs, keep_input=False, n=8, d=16):
    """The tokens (runs, n, d) before and after each of some random attention layers."""
    draw = np.random.default_rng(SEED)
    x = draw.normal(size=(runs, n, d))
    found = [x]
    for _ in range(count):
        W_q, W_k, W_v = draw.normal(0, 1 / sqrt(d), size=(3, runs, d, d))
        outputs, _ = attention(x @ W_q, x @ W_k, x @ W_v)
        x = x + outputs if keep_input else outputs
        found.append(x)
    return found


alone = attention_layers(3, runs=1000)
RUN = 1  # the draw that is shown


def after(layers):
    """The tokens of one run after some layers."""
    x = alone[layers][RUN]
    caption = f"D = {spread(x):.6f}"
    label = f"layers = {layers}"
    columns = "16 components"
    rows = "8 tokens"
    axes = {"row_axis": rows, "column_axis": columns, "numbers": False}
    return Frame((str(layers),), label, (heatmap(x, role="output", **axes),), caption)


slider("layers", [after(layers) for layers in range(4)], answer="3")
# --8<-- [end:alike]

# --8<-- [start:block]
diagram(
    [
        "tokens",
        "embedding and positions",
        "LayerNorm",
        "multi-head attention",
        "+",
        "LayerNorm",
        "feed-forward network",
        "+",
        "to the next block",
    ],
    roles=[None, "input", "neutral", "output", None, "neutral", "output", None, None],
    skips=[2, 5],
    borders=[(2, 7, "× N")],
    title="A Transformer block",
)
# --8<-- [end:block]

# --8<-- [start:truncation]
words = ["(padding)", "I", "saw", "a", "this", "is", "good"]
sentences = ["this is good", "I saw a saw", "I saw a saw this is good"]
numbers = [np.array([words.index(w) for w in s.split()]) for s in sentences]
ids, lengths = truncate_and_pad(numbers, max_length=4)
table(
    list(zip(ids, lengths, strict=True)),  # ids: (batch, n)
    columns=["ids", "length"],
    index=sentences,
    spec="d",
)
# --8<-- [end:truncation]

# --8<-- [start:embedding]
E = np.array(  # (vocabulary, d_model): one row per word, in the order of `words`
    [
        [0.0, 0, 0, 0],
        [1, 0, 0, 2],
        [0, 3, 1, 0],
        [0, 0, 2, 1],
        [1, 0, 2, 0],
        [0, 1, 0, 1],
        [2, 1, 0, 0],
    ]
)
rows = embed(ids, E)  # (batch, n, d_model)
one_hot = np.eye(len(words))[ids]  # (batch, n, vocabulary)
check("the one-hot product gives the same rows", np.array_equal(rows, one_hot @ E))
names = [f"{words[i]} {place + 1}" for place, i in enumerate(ids[1])]
components = [f"component {c}" for c in (1, 2, 3, 4)]
table(rows[1], columns=components, index=names, spec=".0f")
# --8<-- [end:embedding]

# --8<-- [start:positions]
places = sinusoids(np.arange(4.0), 4)  # (n_max, d_model)
inputs = embed(ids, E, places, scale=sqrt(4))  # `√d_model`
table(
    list(zip(places, inputs[1], strict=True)),
    columns=["positional encoding", "input"],
    index=names,
    spec=".3f",
)
# --8<-- [end:positions]

# --8<-- [start:tied]
from attention_docs.data import load_sizes

sizes = load_sizes()  # of SmolLM2
table_size = sizes.vocabulary * sizes.d_model
width, draw = 512, np.random.default_rng(0)
tied = draw.normal(scale=1 / sqrt(width), size=(2000, width))  # a row for each of 2,000 tokens
outgoing = draw.normal(size=(2000, width))  # components of variance 1
table(
    [
        [np.linalg.norm(tied, axis=1).mean()],
        [np.linalg.norm(sinusoids(np.arange(2000.0), width), axis=1).mean()],
        [sqrt(width) * np.linalg.norm(tied, axis=1).mean()],
        [(outgoing @ tied.T).std()],
    ],
    columns=["size"],
    index=[
        "norm of a row of the table",
        "norm of the vector of a position",
        "norm of √d times a row",
        "standard deviation of a dot product",
    ],
    spec=".1f",
)
# --8<-- [end:tied]

# --8<-- [start:too-long]
try:
    embed(numbers[2], E, places)  # 7 words, 4 places
except ValueError as error:
    print(f"ValueError: {error}")
# --8<-- [end:too-long]

# --8<-- [start:input-mask]
mask = padding_mask(lengths[:, None], n_key=4)  # True takes part
print(f"Shape: {mask.shape}")
table(
    mask[:, 0, 0].tolist(),
    columns=[f"token {i}" for i in (1, 2, 3, 4)],
    index=[f"sentence {s}" for s in (1, 2, 3)],
)
# --8<-- [end:input-mask]

# --8<-- [start:keep]
two = np.array([4.0, 0])  # the first component of two tokens
change = np.array([[0.25, 0.75], [0.25, 0.75]]) @ two  # both tokens get the same average
bar_chart(
    numbered("token", 2),
    [("x", two), ("F(x)", change), ("x + F(x)", two + change)],
    ylabel="component 1",
    spec=".0f",
)
# --8<-- [end:keep]

# --8<-- [start:residual]
kept = attention_layers(3, runs=1000, keep_input=True)
rows = []
for stack in (alone, kept):
    logs = np.sort([np.log10(spread(x)) for x in stack])  # (layers, runs)
    middle, around = logs[:, 500], (logs[:, 530] - logs[:, 469]) / 2
    pairs = zip(middle, around, strict=True)
    rows.append([f"{m:.1f} ± {h:.1f}" for m, h in pairs])
table(
    rows,
    columns=["start", "1 layer", "2 layers", "3 layers"],
    index=["F", "x + F"],
)
# --8<-- [end:residual]

# --8<-- [start:condition]
table(  # ten layers
    [[slope, slope**10, (1 + slope) ** 10] for slope in (0.1, -0.9)],
    columns=["F(x) / x", "factor by F", "factor by x + F"],
    spec=["g", ".2g", ".2g"],
)
# --8<-- [end:condition]


# --8<-- [start:collapse-rate]
def shrunk(size):
    """How far apart two outputs are, for tokens that are apart by about size."""
    draw = np.random.default_rng(SEED)
    x = draw.normal(size=16) + size * draw.normal(size=(8, 16))
    W_q, W_k, W_v = draw.normal(0, 1 / 4, size=(3, 16, 16))
    outputs, _ = attention(x @ W_q, x @ W_k, x @ W_v)
    return np.abs(outputs - outputs.mean(axis=0)).max()


table(
    [[size, shrunk(size) / shrunk(size / 10)] for size in (0.1, 0.01)],
    columns=["tokens apart by", "outputs closer by the factor"],
    spec=["g", ",.0f"],
)
# --8<-- [end:collapse-rate]

# --8<-- [start:distance]
W_1 = np.array([[1.0, -1], [-1, 1]])  # (d_model, d_ff)
W_2 = np.array([[1.0], [1]])  # (d_ff, 1)
tokens = np.array([[3.0, 1], [1, 3], [2, 2]])
outputs = relu(tokens @ W_1) @ W_2
table(
    list(zip(tokens, tokens @ W_1, outputs[:, 0], strict=True)),
    columns=["token", "x W_1", "output"],
    spec=".0f",
)
# --8<-- [end:distance]

# --8<-- [start:collapse]
linear = feed_forward(tokens, W_1, W_2, activation=lambda hidden: hidden)
check("the outputs are x (W_1 W_2)", np.array_equal(linear, tokens @ (W_1 @ W_2)))
print(f"W_1 W_2 = {text((W_1 @ W_2)[:, 0], '.0f')}")
print(f"Outputs: {text(linear[:, 0], '.0f')}")
# --8<-- [end:collapse]

# --8<-- [start:one-token]
x = np.array([1.0, 0, 0, 0])
bar_chart(
    [f"component {c}" for c in (1, 2, 3, 4)],
    [("before LayerNorm", x), ("after LayerNorm", layer_norm(x, eps=0))],
    ylabel="value",
    spec=".4g",
)
# --8<-- [end:one-token]

# --8<-- [start:mistake-ddof]
x_1 = np.array([1.0, 0, 0, 0])
wrong = (x_1 - x_1.mean()) / x_1.std(ddof=1)  # WRONG: divides by d - 1
right = layer_norm(x_1)
table(
    [[one, (one**2).sum()] for one in (wrong, right)],
    columns=["x̂", "‖x̂‖²"],
    index=["wrong", "right"],
    spec=[".3f", ".0f"],
)
# --8<-- [end:mistake-ddof]

# --8<-- [start:ddof-size]
table(
    [[d, sqrt((d - 1) / d)] for d in (4, 32, 512)],
    columns=["d", "√((d − 1) / d)"],
    spec=["", ".4f"],
)
# --8<-- [end:ddof-size]

# --8<-- [start:ddof-torch]
import torch

token = torch.from_numpy(x_1)
theirs = torch.nn.functional.layer_norm(token, (4,)).numpy()
check("F.layer_norm divides by d", np.abs(theirs - right).max() < 1e-12)
print(f"F.layer_norm: {text(theirs, '.3f')}")
table(
    [[x_1.std()], [x_1.std(ddof=1)], [float(token.std())]],
    columns=["standard deviation"],
    index=["ddof = 0", "ddof = 1", "torch.std"],
    spec=".4f",
)
# --8<-- [end:ddof-torch]

# --8<-- [start:layer-norm-properties]
token = [Fraction(c) for c in (1, 0, 0, 0)]
mean = sum(token) / 4
variance = sum((c - mean) ** 2 for c in token) / 4
print(f"μ = {mean}")
print(f"σ² = {variance}")
print(f"x̂_1² = {(1 - mean) ** 2 / variance}")

some = rng.normal(5, 3, size=(6, 8))  # mean 5, standard deviation 3
normal = layer_norm(some, eps=0)
squares = (normal**2).sum(axis=1)
check("the mean is 0", np.abs(normal.mean(axis=1)).max() < 1e-12)
check("‖x̂‖² = d", np.abs(squares - 8).max() < 1e-12)
moved = layer_norm(7 * some - 4, eps=0)
check("LN(7x − 4) = LN(x)", np.abs(moved - normal).max() < 1e-12)
other = some.copy()
other[0] = np.arange(8)  # another token
others = layer_norm(other, eps=0)[1:]
check("LN(X)_i = LN(X_i)", np.array_equal(others, normal[1:]))
# --8<-- [end:layer-norm-properties]

# --8<-- [start:epsilon]
eps = 1e-5
tiny = np.array([0.001, 0, 0, 0])
centred = tiny - tiny.mean()
sigma = tiny.std()  # NumPy divides by d
table(
    [
        centred / np.sqrt(sigma**2 + eps),
        centred / (sigma + eps),
        layer_norm(tiny),
        layer_norm(np.array([2.0, 2, 2, 2])),
    ],
    columns=components,
    index=["÷ √(σ² + ε)", "÷ (σ + ε)", "package", "constant token"],
    spec=".4f",
)
# --8<-- [end:epsilon]


# --8<-- [start:layer-norm-jacobian]
def layer_norm_jacobian(x, eps=1e-5):
    """Derivatives of LayerNorm by its input, for one token (d,)."""
    d, s = len(x), np.sqrt(x.var() + eps)
    normal = (x - x.mean()) / s
    return (np.eye(d) - np.ones((d, d)) / d - np.outer(normal, normal) / d) / s


one, g = some[0], rng.normal(size=8)
by_formula = g @ layer_norm_jacobian(one)
by_trying = finite_differences(lambda x: float(g @ layer_norm(x)), one)
tried, packaged = np.abs(by_formula - [by_trying, layer_norm_gradient(one, g)])
check("finite differences agree to within 10⁻⁸", tried.max() < 1e-8)
check("the package's gradient agrees to within 10⁻¹²", packaged.max() < 1e-12)
sizes = np.linalg.svd(layer_norm_jacobian(one, eps=0), compute_uv=False) * one.std()
print(f"Singular values · σ: {text(sizes, '.0f')}")
# --8<-- [end:layer-norm-jacobian]

# --8<-- [start:two-orders]
diagram(
    ["x", "MHA", "+", "LN", "FFN", "+", "LN", "y"],
    ["x", "LN", "MHA", "+", "LN", "FFN", "+", "y"],
    roles=[
        *(None, "output", None, "neutral", "output", None, "neutral", None),
        *(None, "neutral", "output", None, "neutral", "output", None, None),
    ],
    skips=[1, 4, 9, 12],
    title="Post-norm and pre-norm",
)
# --8<-- [end:two-orders]

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


def attend(x):
    """The attention of the block by hand."""
    return multi_head_attention(x, x, x, by_hand.attention, num_heads=1)[0]


def feed(x):
    """The feed-forward network of the block by hand."""
    return feed_forward(x, W_1, W_2, b_1)


MHA, FFN = attend, feed
flow(
    [
        ("W_O", "neutral", W_O, ".0f"),
        ("W_1", "neutral", W_1, ".0f"),
        ("W_2", "neutral", W_2, ".0f"),
    ],
    arrows=[],
)
# --8<-- [end:hand-parameters]

# --8<-- [start:both-orders]
LN, x = layer_norm, INPUTS

z = LN(x + MHA(x))  # post-norm
post = LN(z + FFN(z))

z_pre = x + MHA(LN(x))  # pre-norm
pre = z_pre + FFN(LN(z_pre))

table(
    [(y**2).sum(axis=1) for y in (post, pre)],
    columns=["‖y_1‖²", "‖y_2‖²", "‖y_3‖²"],
    index=["post-norm", "pre-norm"],
    spec=".2f",
)
# --8<-- [end:both-orders]

# --8<-- [start:pre-steps]
steps = {"LN(x)": LN(x), "MHA(LN(x))": MHA(LN(x)), "z": z_pre, "y": pre}
package = encoder_block(x, by_hand, num_heads=1, norm_first=True)
check("the package gives the same y", np.abs(package - pre).max() < 1e-12)
table(
    [[name, i + 1, *one[i]] for name, one in steps.items() for i in range(3)],
    columns=["step", "token", *components],
    spec=["", "", *[".4f"] * 4],
)
# --8<-- [end:pre-steps]


# --8<-- [start:code]
def code(function):
    """The source of a function from its module, without the docstring."""
    lines = inspect.getsource(function).splitlines()
    docstring = ast.parse("\n".join(lines)).body[0].body[0]
    return "\n".join(lines[: docstring.lineno - 1] + lines[docstring.end_lineno :])


print(code(encoder_block))
# --8<-- [end:code]


# --8<-- [start:batch-block]
def random_parameters(d, d_ff):
    """The parameters of a block with biases, from a normal distribution."""
    attend = Parameters(*rng.normal(size=(4, d, d)), *rng.normal(size=(4, d)))
    matrices = rng.normal(size=(d, d_ff)), rng.normal(size=(d_ff, d))
    biases = rng.normal(size=d_ff), rng.normal(size=d)
    return BlockParameters(attend, *matrices, *biases, *rng.normal(size=(4, d)))


block = random_parameters(4, 16)
before = encoder_block(inputs, block, num_heads=2, mask=mask)
other = inputs.copy()
other[0, 3] = 100  # the padding of sentence 1
masked = encoder_block(other, block, num_heads=2, mask=mask) - before
bare = encoder_block(other, block, 2) - encoder_block(inputs, block, 2)
print(f"Shape: {before.shape}")
table(
    [change[0].any(axis=1).tolist() for change in (masked, bare)],
    columns=[f"token {i} moves?" for i in (1, 2, 3, 4)],
    index=["with the mask", "without a mask"],
)
# --8<-- [end:batch-block]


# --8<-- [start:mistake-order]
def sublayer_connection(x, sublayer):
    """LayerNorm(x + Sublayer(x))"""  # WRONG: the code does something else
    return x + sublayer(layer_norm(x))


wrong = sublayer_connection(sublayer_connection(INPUTS, MHA), FFN)
check("the code computes pre-norm", np.abs(wrong - pre).max() < 1e-12)
rows = [y for found in (post, wrong) for y in found]
table(
    [[y, y.mean(), (y**2).sum()] for y in rows],
    columns=["y", "μ", "‖y‖²"],
    index=[
        "text, token 1",
        "text, token 2",
        "text, token 3",
        "code, token 1",
        "code, token 2",
        "code, token 3",
    ],
    spec=[".4f", ".2f", ".2f"],
)
# --8<-- [end:mistake-order]

# --8<-- [start:mistake-overwrite]
stream = layer_norm(INPUTS)  # WRONG: the input is gone
stream = stream + MHA(stream)
stream = layer_norm(stream)  # WRONG: again
stream = stream + FFN(stream)
again = layer_norm(INPUTS)  # the same with the parts renamed
again = layer_norm(again + MHA(again))
same = np.abs(stream - (again + FFN(again))).max() < 1e-12
check("the wrong code is post-norm attention after a LayerNorm", same)
table(
    [stream[0], pre[0]],
    columns=components,
    index=["wrong", "right"],
    spec=".4f",
)
# --8<-- [end:mistake-overwrite]

# --8<-- [start:bias]
queries, keys, values = INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE
b_q, b_k, b_v = np.array([[1.0, 0, -1], [2, -1, 3], [1, 1, -2]])
outputs, weights = attention(queries, keys, values)
shifted = {
    "no bias": (outputs, weights),
    "b_Q": attention(queries + b_q, keys, values),
    "b_K": attention(queries, keys + b_k, values),
    "b_V": attention(queries, keys, values + b_v),
}
same = np.abs(shifted["b_K"][0] - outputs).max() < 1e-12
moved = shifted["b_V"][0] - outputs
check("b_K changes no output", same)
check("b_V moves every output by b_V", np.abs(moved - b_v).max() < 1e-12)
table(
    [[a[0], o[0]] for o, a in shifted.values()],
    columns=["weights", "output"],
    index=list(shifted),
    spec=".4f",
)
# --8<-- [end:bias]

# --8<-- [start:bias-gradient]
from torch import nn

torch.manual_seed(SEED)
mha = nn.MultiheadAttention(8, 2, dtype=torch.float64)
some_inputs = torch.from_numpy(rng.normal(size=(5, 8)))
out, _ = mha(some_inputs, some_inputs, some_inputs)
(out * torch.from_numpy(rng.normal(size=(5, 8)))).sum().backward()
parts = mha.in_proj_bias.grad.chunk(3)
table(
    [[bool(gradient.abs().max() < 1e-12)] for gradient in parts],
    columns=["gradient 0?"],
    index=["b_Q", "b_K", "b_V"],
)
# --8<-- [end:bias-gradient]


# --8<-- [start:control] slow
def sublayer(x, F, norm_first):
    """The stream after F, what F adds, and a function for the gradient."""
    f, back = F(LN(x) if norm_first else x)

    def down(g):
        """The gradient before F, its part through F, and g at F."""
        if norm_first:
            through = layer_norm_gradient(x, back(g))
        else:
            g = layer_norm_gradient(x + f, g)
            through = back(g)
        return g + through, through, g

    return (x + f if norm_first else LN(x + f)), f, down


def transposed(matrix):
    """The last two axes exchanged."""
    return matrix.swapaxes(-1, -2)


def network(W_1, W_2):
    """FFN: its output, and its backward pass."""

    def run(x):
        hidden = x @ W_1
        on = hidden > 0
        return (on * hidden) @ W_2, lambda g: on * (g @ transposed(W_2)) @ transposed(W_1)

    return run


def self_attention(W_q, W_k, W_v, W_o, num_heads=4):
    """MHA: its output, and its backward pass."""

    def run(x):
        q, k, v = (split_heads(x @ W, num_heads) for W in (W_q, W_k, W_v))
        outputs, weights = attention(q, k, v)

        def back(g):
            heads = split_heads(g @ transposed(W_o), num_heads)
            found = attention_backward(q, k, v, weights, heads)
            pairs = zip(found, (W_q, W_k, W_v), strict=True)
            return sum(join_heads(one) @ transposed(W) for one, W in pairs)

        return join_heads(outputs) @ W_o, back

    return run


def drawn(draw, kind, runs, d):
    """A sublayer of random matrices, Xavier uniform."""
    shapes = [(d, d)] * 4 if kind == "MHA" else [(d, 4 * d), (4 * d, d)]
    bounds = [sqrt(6 / (rows + columns)) for rows, columns in shapes]
    pairs = zip(bounds, shapes, strict=True)
    found = [draw.uniform(-b, b, (runs, *shape)) for b, shape in pairs]
    return (self_attention if kind == "MHA" else network)(*found)


def squared(x):
    """Squared length of all tokens together, for every run."""
    return (x**2).sum(axis=(-2, -1))


def some_runs(N, norm_first, kinds, seed, runs, n, d):
    """Random stacks side by side: r² and ‖g‖² between blocks, u and w of sublayers."""
    draw = np.random.default_rng(seed)
    x, g = draw.normal(size=(2, runs, n, d))  # the loss is the last output times g
    g /= np.sqrt(squared(g))[:, None, None]
    r2, downs, u, w = [squared(x) / (n * d)], [], [], []
    for _ in range(N):
        for kind in kinds:
            below = x
            x, f, down = sublayer(x, drawn(draw, kind, runs, d), norm_first)
            downs.append(down)
            u.append(squared(f) / squared(below))
        r2.append(squared(x) / (n * d))
    g = layer_norm_gradient(x, g) if norm_first else g
    g2 = [squared(g)]
    for i, down in enumerate(reversed(downs), start=1):
        g, through, arrived = down(g)
        w.append(squared(through) / squared(arrived))
        if i % len(kinds) == 0:
            g2.append(squared(g))
    return r2, g2[::-1], u, w[::-1]


def measure(N, norm_first, kinds=("MHA", "FFN"), chunks=3, runs=20, n=16, d=32):
    """The four of `some_runs`, as arrays (place, run)."""
    seeds = range(SEED, SEED + chunks)
    parts = [some_runs(N, norm_first, kinds, seed, runs, n, d) for seed in seeds]
    return [np.concatenate(one, axis=1) for one in zip(*parts, strict=True)]


ORDERS = (
    ("post-norm", False),
    ("pre-norm", True),
)
depths = (3, 6, 12, 24)
measured = {(N, first): measure(N, first, chunks=8) for N in depths for _, first in ORDERS}


def at_depth(place, N):
    """Gradients of both orders; below them u and w of attention in post-norm."""
    lines, band = [], {}
    for name, first in ORDERS:
        g2 = measured[N, first][1]
        lines.append((name, np.sqrt(g2.mean(axis=1))))
        low, high = np.quantile(np.sqrt(g2), (0.1, 0.9), axis=1)
        band[name] = (low, high)
    gradients = line_chart(
        np.arange(N + 1),
        lines,
        band=band,
        band_name="shaded: 8 of 10 runs",
        xlabel="l, blocks before",
        ylabel="‖g‖, size of the gradient",
        spec=".2f",
    )
    u, w = (one[::2].mean(axis=1) for one in measured[N, False][2:])
    likeness = line_chart(
        np.arange(1, N + 1),
        [
            ("u, forward", u),
            ("w, backward", w),
        ],
        xlabel="block",
        ylabel="attention in post-norm",
        spec=".2f",
    )
    low, high = (np.sqrt(measured[N, one][1].mean(axis=1)).min() for one in (False, True))
    caption = f"The smallest ‖g‖ is {low:.2f} in post-norm and {high:.2f} in pre-norm."
    return Frame((str(place),), f"N = {N}", (gradients, likeness), caption)


slider("N", [at_depth(i, N) for i, N in enumerate(depths)], 2, answer="3")
# --8<-- [end:control]

# --8<-- [start:measured]
STUDENT = {16: 2.13, 60: 2.00, 80: 1.99, 160: 1.98}  # 95%, by the number of runs


def half(samples):
    """Half the 95% interval of a mean over runs, the last axis."""
    runs = samples.shape[-1]
    return STUDENT.get(runs, 1.96) * samples.std(axis=-1, ddof=1) / sqrt(runs)


def rms(squares):
    """Root of the mean square, and half its interval."""
    root = np.sqrt(squares.mean(axis=-1))
    return root, half(squares) / (2 * root)


columns = {
    "post ‖g‖": measured[12, False][1],
    "pre ‖g‖": measured[12, True][1],
    "pre r": measured[12, True][0],
    "pre ‖g‖r": measured[12, True][1] * measured[12, True][0],
}
rows = []
for place in (0, 3, 6, 9, 12):
    pairs = [rms(one[place]) for one in columns.values()]
    rows.append([place, *(f"{m:.2f} ± {number(h, '.2f')}" for m, h in pairs)])
level = rms(columns["pre ‖g‖r"])[0]
valley = {N: rms(measured[N, False][1])[0].min() for N in depths}
table(rows, columns=["l", *columns])
# --8<-- [end:measured]

# --8<-- [start:networks-alone] slow
rows = []
for d, chunks, runs in ((32, 4, 20), (128, 4, 4)):
    _, g2, u, w = measure(24, False, ("FFN",), chunks, runs, d=d)
    pairs = [(one.mean(), half(one)) for one in (u.mean(axis=0), w.mean(axis=0))]
    root, error = rms(g2[0] / g2[-1])
    shares = [f"{m:.3f} ± {h:.3f}" for m, h in pairs]
    rows.append([d, *shares, f"{root:.2f} ± {error:.2f}"])
table(rows, columns=["d", "u", "w", "‖g_0‖ / ‖g_24‖"])
# --8<-- [end:networks-alone]

# --8<-- [start:likeness]
draw = np.random.default_rng(SEED)
tokens, g = draw.normal(size=(2, 16, 32)) + draw.normal(size=(2, 1, 32))  # (n, d)
tokens = layer_norm(tokens)
W_v, W_o = draw.normal(0, 1 / sqrt(32), size=(2, 4000, 32, 32))
equal = np.full((16, 16), 1 / 16)  # all weights alike
added = squared(equal @ tokens @ W_v @ W_o) / squared(tokens)
handed = squared(equal.T @ g @ transposed(W_o) @ transposed(W_v)) / squared(g)
rows = []
for share, x in ((added, tokens), (handed, g)):
    rows.append([f"{share.mean():.3f} ± {half(share):.3f}", 1 - spread(x)])
table(
    rows,
    columns=["measured", "1 − D"],
    index=["tokens, r²u", "gradients, r²w"],
    spec=".3f",
)
# --8<-- [end:likeness]

# --8<-- [start:growth]
r2, _, shares, _ = measured[12, True]
added_by_attention = shares[::2] * r2[:-1]
rows = []
for low in (0, 4, 8):
    steps = r2[low + 4] - r2[low]
    own = added_by_attention[low : low + 4].mean(axis=0)
    growth = f"{steps.mean():.1f} ± {half(steps):.1f}"
    rows.append([growth, f"{own.mean():.2f} ± {half(own):.2f}"])
table(
    rows,
    columns=["growth of r²", "attention adds, per block"],
    index=["blocks 1 to 4", "blocks 5 to 8", "blocks 9 to 12"],
)
# --8<-- [end:growth]

# --8<-- [start:direct]
u = measured[12, False][2]  # of all sublayers: (24, runs)
direct = {
    "post-norm": np.exp(-np.log1p(u).sum(axis=0) / 2),
    "pre-norm": 1 / np.sqrt(measured[12, True][0][-1]),
}
table(
    [[f"{one.mean():.3f} ± {half(one):.3f}"] for one in direct.values()],
    columns=["factor of the direct path"],
    index=list(direct),
)
# --8<-- [end:direct]

# --8<-- [start:parameter-gradient]
draw = np.random.default_rng(SEED)
runs, d = 2000, 32
token, g = draw.normal(size=(2, runs, 1, d))
token = layer_norm(token)
W_1 = draw.uniform(-1, 1, (runs, d, 4 * d)) * sqrt(6 / (5 * d))
W_2 = draw.uniform(-1, 1, (runs, 4 * d, d)) * sqrt(6 / (5 * d))
by_hidden = (token @ W_1 > 0) * (g @ transposed(W_2))
by_weights = transposed(token) @ by_hidden
share = squared(by_weights) / squared(g) / d
print(f"{share.mean():.3f} ± {half(share):.3f}")
# --8<-- [end:parameter-gradient]


# --8<-- [start:residual-scale] slow
def grow(N, scale, runs=60, n=16, d=32):
    """r² after N random pre-norm blocks; `scale` multiplies the last matrix of each sublayer."""
    draw = np.random.default_rng(SEED)
    x = draw.normal(size=(runs, n, d))
    for kind in ("MHA", "FFN") * N:
        f, _ = drawn(draw, kind, runs, d)(LN(x))
        x = x + scale * f
    return squared(x) / (n * d)


rows = []
for N in depths:
    both = [grow(N, scale) for scale in (1, 1 / sqrt(2 * N))]
    rows.append([N, *(f"{r2.mean():.2f} ± {number(half(r2), '.2f')}" for r2 in both)])
table(rows, columns=["N", "without the factor", "with the factor"], name="r² after N blocks")
# --8<-- [end:residual-scale]

# --8<-- [start:agreement]
from attention_docs.masking import causal_mask
from attention_docs.nn import TransformerEncoderLayer

torch.manual_seed(SEED)
torch.set_num_threads(1)  # small matrices: more threads only wait
batch, n, d_model, h, d_ff = 2, 5, 12, 3, 20


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
score_mask = torch.randn(n, n, dtype=torch.float64)
cases = {
    "mask=None": {},
    "bias=False": {"bias": False},
    "gelu": {"activation": "gelu"},
    "causal": {"mask": causal, "src_mask": ~causal},
    "float": {"mask": score_mask, "src_mask": score_mask},
    "padding": {"mask": padding, "src_key_padding_mask": ~padding[:, 0, 0]},
    "causal, padding": {
        **{"mask": causal & padding, "src_mask": ~causal},
        "src_key_padding_mask": ~padding[:, 0, 0],
    },
    "float32": {"dtype": torch.float32},
}
print(f"torch {torch.__version__.split('+')[0]}")
agreement, rows = [], []
for norm_first in (False, True):
    for name, case in cases.items():
        bound = 1e-3 if "dtype" in case else 1e-11
        below = [e < bound for e in compare(norm_first=norm_first, **case)]
        agreement += below
        order = "pre-norm" if norm_first else "post-norm"
        rows.append([order, name, bound, *below])

# A stack of three pre-norm blocks with a LayerNorm at its end.
one_layer = nn.TransformerEncoderLayer(
    *(d_model, h, d_ff, 0.0), batch_first=True, norm_first=True, dtype=torch.float64
)
last_norm = nn.LayerNorm(d_model, dtype=torch.float64)
their_stack = nn.TransformerEncoder(one_layer, 3, last_norm, enable_nested_tensor=False)
for p in their_stack.parameters():  # all layers start as copies of one
    nn.init.normal_(p, std=0.5)
stream = start = torch.randn(batch, n, d_model, dtype=torch.float64)
for layer in their_stack.layers:
    stream = TransformerEncoderLayer.from_torch(layer)(stream, causal)
ours = layer_norm(stream, last_norm.weight, last_norm.bias)
below = far([ours], [their_stack(start, mask=~causal)]) < 1e-11
rows.append(["pre-norm", "3 blocks, causal", 1e-11, below, None])
check("all comparisons hold", all(agreement) and below)
table(
    rows,
    columns=["order", "case", "bound", "outputs", "gradients"],
    spec=".0e",
)
# --8<-- [end:agreement]

# --8<-- [start:training-flops]
of_gpt_2 = 124_000_000, 12, 12 * 64, 1024  # parameters, layers, width, tokens
by_parameters = 6 * of_gpt_2[0]
pairs_counted = {"all pairs": 12, "those of a causal mask": 6}
by_attention = [factor * prod(of_gpt_2[1:]) for factor in pairs_counted.values()]
table(
    [[by_parameters / 10**6, one / 10**6, one / (by_parameters + one)] for one in by_attention],
    columns=["6N, in millions", "attention, in millions", "share of attention"],
    index=list(pairs_counted),
    spec=[".0f", ".0f", ".0%"],
)
# --8<-- [end:training-flops]

# --8<-- [start:parts]
d = 512
parts = {
    "MHA": 4 * d**2 + 4 * d,
    "FFN": 8 * d**2 + 5 * d,
    "LN": 2 * 2 * d,
}
counted = block_parameter_count(d, 4 * d)
table(
    [[one] for one in (*parts.values(), sum(parts.values()), counted)],
    columns=["parameters"],
    index=[*parts, "sum", "package"],
    spec=",",
)
# --8<-- [end:parts]

# --8<-- [start:share]
rows = []
for n in (16, 128, 1024, 3072, 8192):
    share = Fraction(4 * n**2 * 512, block_flops(n, 512, 2048))
    rows.append([n, float(share)])
table(rows, columns=["n", "share"], spec=["", ".1%"])
# --8<-- [end:share]

# --8<-- [start:counts]
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


def counted(layer, n, d):
    """What torch counts while the layer runs on one sequence of n tokens."""
    x = torch.zeros(1, n, d, device="meta")  # shapes, no numbers
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        layer(x)
    return counter.get_total_flops()


rows = []
for n, d, h, d_ff in (3, 4, 1, 5), (16, 64, 8, 256), (100, 512, 8, 2048):
    layers = (
        nn.TransformerEncoderLayer(d, h, d_ff, 0.0, batch_first=True, device="meta"),
        TransformerEncoderLayer(d, h, d_ff, 0.0, device="meta"),
    )
    parameters = [sum(p.numel() for p in one.parameters()) for one in layers]
    flops = [counted(one, n, d) for one in layers]
    by_formula = block_parameter_count(d, d_ff), block_flops(n, d, d_ff)
    rows.append([n, d, d_ff, "parameters", by_formula[0], *parameters])
    rows.append([n, d, d_ff, "operations", by_formula[1], *flops])
table(
    rows,
    columns=["n", "d", "d_ff", "counted", "formula", "PyTorch", "package"],
    spec=["", "", "", "", ",", ",", ","],
)
# --8<-- [end:counts]

# --8<-- [start:flops-missing]
layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
with FlopCounterMode(display=False) as counter:  # on the CPU, with PyTorch's own choice
    layer(torch.zeros(1, 100, 512))
missing = block_flops(100, 512, 2048) - counter.get_total_flops()
check("exactly 4n²d operations are left out", missing == 4 * 100**2 * 512)
print(f"torch {torch.__version__.split('+')[0]}")
print(f"Operations left out: {missing:,}")
# --8<-- [end:flops-missing]

# --8<-- [start:one-neuron]
from attention_docs.data import load_neuron, load_neurons

neuron, several = load_neuron(), load_neurons()
raised = ", ".join(one.strip() for one in neuron["raised"])
# --8<-- [end:one-neuron]

# --8<-- [start:neuron]
due = [one for one in neuron["texts"] if one["due"]]
lost = [100 * (1 - one["cut"] / one["months"]) for one in due]  # percent
moved = max(abs(p - one["months"]) for one in due for p in one["others cut"])
table(
    [[one["activity"][-1], one["months"], one["cut"]] for one in neuron["texts"]],
    columns=["active", "a month next", "without the neuron"],
    index=[one["text"] for one in neuron["texts"]],
    spec=[".2f", ".4f", ".4f"],
)
# --8<-- [end:neuron]

# --8<-- [start:exercise-normalise]
token = [3, 1, 1, -1]
mean = Fraction(sum(token), 4)
variance = sum((c - mean) ** 2 for c in token) / 4
print(f"μ = {mean}")
print(f"σ² = {variance}")
print(f"x̂ = {text(layer_norm(np.array(token, dtype=float), eps=0), '.4f')}")
# --8<-- [end:exercise-normalise]

# --8<-- [start:exercise-bert]
tables = (30522 + 512 + 2) * 768  # words, places, two kinds of segment
blocks = 12 * block_parameter_count(768, 3072)
pooler = 768 * 768 + 768
summands = [tables, 2 * 768, blocks, pooler]
table(
    [[one] for one in (*summands, sum(summands))],
    columns=["parameters"],
    index=["tables", "LayerNorm", "12 blocks", "linear map", "sum"],
    spec=",",
)
# --8<-- [end:exercise-bert]

# --8<-- [start:exercise-rms]
zero_mean = np.array([3.0, -1, 1, -3])
rows = []
for token in (zero_mean, zero_mean + 10):
    rows.append([token, token / np.sqrt((token**2).mean())])
    rows.append([token, layer_norm(token, eps=0)])
table(
    rows,
    columns=["token", "result"],
    index=["RMSNorm", "LayerNorm"] * 2,
    spec=[".0f", ".4f"],
)
# --8<-- [end:exercise-rms]

# --8<-- [start:exercise-width]
rows = []
for m in (1, 2, 4, 8):
    hidden = Fraction(2, 1 + m) / 2  # mean square after W_1 and ReLU
    rows.append([m, str(m * hidden * Fraction(2, 1 + m))])
table(rows, columns=["m", "u"])
# --8<-- [end:exercise-width]

# --8<-- [start:exercise-median]
odds = [comb(10, k) / 2**10 for k in range(11)]  # of k layers with 3/2
values = [(1.5**k * 0.5 ** (10 - k)) ** 2 for k in range(11)]
mean = sum(p * one for p, one in zip(odds, values, strict=True))
print(f"Mean: {mean:.2f}")
print(f"Median: {values[5]:.3f}")
print(f"Probability of a factor below 1: {sum(odds[:7]):.3f}")
# --8<-- [end:exercise-median]


# --8<-- [start:exercise-axis]
def norm_of_all(x, eps=1e-5):
    """LayerNorm, says its author."""
    return (x - x.mean()) / np.sqrt(x.var() + eps)  # WRONG: no axis


changed = INPUTS.copy()
changed[2] = 100  # token 3 alone
rows = []
for norm in (norm_of_all, layer_norm):
    moved = np.abs(norm(changed) - norm(INPUTS))[:2].max()
    rows.append([bool(moved < 1e-12)])
table(
    rows,
    columns=["tokens 1 and 2 stay?"],
    index=["norm_of_all", "layer_norm"],
)
# --8<-- [end:exercise-axis]


# --8<-- [start:writing]
def your_norm(x):
    """LayerNorm of each token of x (n, d), with ε = 0, γ = 1 and β = 0."""
    return x  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True))


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, judge

writing = Task(
    model_norm,
    inputs=[
        (np.array([[4.0, 0]]),),
        (np.array([[3.0, 1, 1, -1]]),),
        (np.array([[3.0, 1, 1, -1], [10010, 10030, 10010, 10010]]),),
        (np.array([[3.0, 1, -4], [0, 2, 1]]) / 1000,),
    ],
    mistakes={
        "The variance was divided by d - 1 (ddof=1). LayerNorm divides by d.": (
            lambda x: model_norm(x) * np.sqrt(1 - 1 / x.shape[-1])
        ),
        "No axis: mean and variance run over all tokens, which then see each other.": (
            lambda x: model_norm(x.reshape(1, -1)).reshape(x.shape)
        ),
        "Axis 0: mean and variance run over the tokens, but each token has its own.": (
            lambda x: model_norm(x.T).T
        ),
        "Divided by the variance: take its root.": (
            lambda x: (x - x.mean(-1, keepdims=True)) / x.var(-1, keepdims=True)
        ),
        "The mean was not subtracted: this is RMSNorm.": (
            lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True))
        ),
        "Only the mean was subtracted.": lambda x: x - x.mean(-1, keepdims=True),
    },
    draw=lambda rng: (rng.normal(size=(3, 5)),),
)
judge(your_norm, writing)
# --8<-- [end:writing-checks]
