"""Batches: two texts in one array, padded or packed, and what each library makes of them."""

# --8<-- [start:setup]
import numpy as np

from attention_docs.attention_function import attention
from attention_docs.batches import (
    cumulative_lengths,
    loss_rows,
    pack,
    pad,
    segment_mask,
    segment_positions,
)
from attention_docs.data import load_batch, load_beginnings
from attention_docs.figures import Frame, beside, heatmap, numbered, stepper, table
from attention_docs.language_model import LanguageModel, generate
from attention_docs.masking import causal_mask
from attention_docs.positions import rope, sinusoids
from attention_docs.text import check, number

measured = load_batch()
p_france = measured["alone"][0]["next"][0][1]
sizes = [len(one["prompt"]) for one in load_beginnings()["beginnings"]]
filler = 1 - sum(sizes) / (len(sizes) * max(sizes))  # if all were in one batch
rng = np.random.default_rng(0)
d = 8
E = rng.normal(size=(10, d))  # a row for each token id
layers = rng.normal(size=(2, 3, d, d)) / np.sqrt(d)  # W_Q, W_K, W_V of two layers


def outputs(ids, mask, positions, kind):
    """Two layers of attention with residual connections, and the weights of the first."""
    x, places = E[ids], positions.astype(float)
    if kind == "table":
        x = x + sinusoids(places, d)
    first = None
    for W_q, W_k, W_v in layers:
        q, k = x @ W_q, x @ W_k
        if kind == "RoPE":
            q, k = rope(q, places), rope(k, places)
        o, weights = attention(q, k, x @ W_v, mask)
        x, first = x + o, weights if first is None else first
    return x, first


# --8<-- [end:setup]

# --8<-- [start:event]
ways = {
    "on its own": "alone",
    "in the batch, padded on the right": "right",
    "in the batch, padded on the left": "left",
    "padded on the left, with a mask": "left, masked",
}


def show(text):
    """A text with signs for its blanks and ends of lines."""
    return text.replace(" ", "␣").replace("\n", "⏎")


rows = []
for way in ways.values():
    france, _ = measured[way]
    token, p = france["next"][0]
    rows.append([show(token), p, show(france["text"])])
same = all(measured[way][1] == measured["alone"][1] for way in ways.values())
check("the longer text always goes on alike", same)
table(
    rows,
    columns=["likeliest", "probability", "six tokens"],
    index=list(ways),
    spec=["", ".3f", ""],
)
# --8<-- [end:event]

# --8<-- [start:positions]
batch = [np.array([3, 1, 4, 1, 5]), np.array([9, 2])]
ids, segments = pad(batch, "left")
counted_up = segments.cumsum(axis=-1) - 1
same = (counted_up == segment_positions(segments))[segments > 0].all()
check("they are cumsum − 1", same)
table(
    [[ids[i], segments[i], segment_positions(segments)[i]] for i in range(2)],
    columns=["token ids", "mask", "positions"],
    index=numbered("row", 2),
    spec="d",
)
# --8<-- [end:positions]

# --8<-- [start:control]
five = np.array([3, 1, 4, 1, 5])  # token ids
here = np.arange(len(five))
alone = {kind: outputs(five, causal_mask(5), here, kind)[0] for kind in ("table", "RoPE")}
moved = {}


def frame(left, masked, by_token, rotated):
    """Five tokens and three places of padding, and how far the outputs are from those alone."""
    side, kind = ("right", "left")[left], kinds[rotated]
    (ids, _), (segments, _) = pad([five, np.zeros(8, int)], side)
    mask = causal_mask(8) & segment_mask(segments) if masked else causal_mask(8)
    positions = segment_positions(segments) if by_token else np.arange(8)
    y, weights = outputs(ids, mask, positions, kind)
    change = np.abs(y[segments > 0] - alone[kind]).max()
    moved[left, masked, by_token, rotated] = change
    names = [
        f"{t} at {i}" if s else "pad" for t, i, s in zip(ids, positions, segments, strict=True)
    ]
    drawn = heatmap(weights, name="weights", rows=names, columns=names, allowed=mask, scale=(0, 1))
    at = tuple(str(1 + choice) for choice in (left, masked, by_token, rotated))
    label = f"{sides[left]}, mask {off_on[masked]}, {counted[by_token]}, {kinds[rotated]}"
    caption = f"Largest change of an output of the five tokens: {number(change, '.2f')}."
    return Frame(at, label, (drawn,), caption)


sides, off_on = ["on the right", "on the left"], ["off", "on"]
counted, kinds = ["places", "tokens"], ["table", "RoPE"]
stepper(
    "padding",
    [
        ("Padding", sides),
        ("Padding mask", off_on),
        ("Positions count", counted),
        ("Kind of positions", kinds),
    ],
    [
        frame(left, masked, by_token, rotated)
        for left in (0, 1)
        for masked in (0, 1)
        for by_token in (0, 1)
        for rotated in (0, 1)
    ],
    answer="2 2 1 2",
)
# --8<-- [end:control]

# --8<-- [start:padding-index]
right, segments_right = pad(batch, "right")
padding_index = 1
of_roberta = (segments_right > 0).cumsum(axis=-1) * (segments_right > 0) + padding_index
table(
    [[segments_right[i], of_roberta[i]] for i in range(2)],
    columns=["mask", "positions"],
    index=numbered("row", 2),
    spec="d",
)
# --8<-- [end:padding-index]

# --8<-- [start:generate]
PAD = 2
# 1 after 0, 0 after 1
successor = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]])
parts = np.eye(3), np.zeros((9, 3)), (), successor
model = LanguageModel(*parts, num_heads=1)
steps = np.zeros((2, 3))  # three tokens for each text; always the likeliest
texts = [np.array([0]), np.array([1, 0, 1])]
written = {}
for side in ("right", "left"):
    ids, segments = pad(texts, side, PAD)
    written[side] = generate(ids, model, steps, top_k=1)
    try:
        generate(ids, model, steps, top_k=1, segments=segments)
    except ValueError as error:
        refused = str(error)
print(f"padded on the right, with segments: {refused}")
table(
    list(zip(texts, written["right"], written["left"], strict=True)),
    columns=["given", "padded on the right", "padded on the left"],
    index=numbered("row", 2),
    spec="d",
)
# --8<-- [end:generate]


# --8<-- [start:packed]
ann, bob = ["ann", "sings", "."], ["bob", "sleeps", "and", "eve", "runs", "."]
words = [*ann, *bob]
_, segments = pack([np.arange(len(ann)), np.arange(len(bob))])
places_in_text = segment_positions(segments)
enters = loss_rows(segments)
table(
    [
        [words[i], segments[i], places_in_text[i], words[i + 1] if enters[i] else "–"]
        for i in range(len(words))
    ],
    columns=["token", "segment", "position", "has to predict"],
    spec=["", "d", "d", ""],
)
# --8<-- [end:packed]

# --8<-- [start:block-mask]
causal = causal_mask(len(words))
block = causal & segment_mask(segments)


def draw_mask(mask, name):
    """1 where a pair may meet."""
    ones = mask.astype(int)
    return heatmap(
        ones, rows=words, columns=words, name=name, spec="d", role="neutral", allowed=mask
    )


beside(draw_mask(causal, "causal"), draw_mask(block, "causal and block"), columns=1)
# --8<-- [end:block-mask]

# --8<-- [start:leak]
first, second = np.array([3, 1, 4]), np.array([1, 5, 9, 2, 6])
ids, segments = pack([first, second])
changed, _ = pack([first[::-1] + 1, second])  # another text 1
n = len(ids)
block = causal_mask(n) & segment_mask(segments)
neither = causal_mask(n), np.arange(n)
restarted = causal_mask(n), segment_positions(segments)
masked = block, np.arange(n)
isolated = block, segment_positions(segments)
leaks = []
for mask, positions in (neither, restarted, masked, isolated):
    row = []
    for kind in kinds:  # a table, RoPE
        y, z = (outputs(one, mask, positions, kind)[0][3:] for one in (ids, changed))
        own, _ = outputs(second, causal_mask(5), np.arange(5), kind)
        row += [np.abs(y - z).max(), np.abs(y - own).max()]
    leaks.append(row)
table(
    leaks,
    columns=["table: leak", "table: error", "RoPE: leak", "RoPE: error"],
    index=["neither", "positions restart", "block mask", "both"],
    spec=".2f",
)
# --8<-- [end:leak]

# --8<-- [start:cu-seqlens]
starts = cumulative_lengths(segments)
print(f"segments:   {segments}")
print(f"cu_seqlens: {starts}")
# --8<-- [end:cu-seqlens]


# --8<-- [start:length-groups]
def share_of_filler(lengths, size=4):
    """The share of filler in batches of this size, each padded to its longest text."""
    batches = np.reshape(lengths, (-1, size))
    return 1 - batches.sum() / (size * batches.max(axis=1).sum())


draws = np.random.default_rng(0)
by_chance = [share_of_filler(draws.permutation(sizes)) for _ in range(100)]
grouped = share_of_filler(np.sort(sizes))
table(
    [[f"{min(by_chance):.0%} … {max(by_chance):.0%}"], [f"{grouped:.0%}"]],
    columns=["filler"],
    index=["shuffled, 100 times", "sorted by length"],
)
# --8<-- [end:length-groups]

# --8<-- [start:libraries]
import warnings

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

version = torch.__version__.split("+")[0]
torch.manual_seed(0)
double = {"dtype": torch.float64}
x = torch.randn(3, 5, 8, **double)  # 3 sequences, 5 tokens, d_model 8
later = x.clone()
later[:, -1] += 1  # another last token
other = x.clone()
other[2] += 1  # another third sequence
mha = nn.MultiheadAttention(8, 2, batch_first=True, **double)
zeros = torch.zeros(5, 5, **double)


def is_causal(train, **options):
    """Whether outputs 1 to 4 stay when token 5 changes, or the error."""
    mha.train(train)
    try:
        with torch.set_grad_enabled(train):
            a, b = (mha(one, one, one, is_causal=True, **options)[0] for one in (x, later))
    except RuntimeError:
        return "RuntimeError"
    return "causal" if (a - b)[:, :-1].abs().max() < 1e-12 else "not causal"


def leaks_between_sequences():
    """Whether sequences 1 and 2 move when sequence 3 changes."""
    default = nn.MultiheadAttention(8, 2, **double)  # batch_first=False
    a, b = (default(one, one, one)[0] for one in (x, other))
    return "attends over the batch" if (a - b)[:2].abs().max() > 0.01 else "attends over tokens"


def padding_comes_back_as(nested):
    """The outputs of padding in an encoder that does not train."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **double)
    padded = torch.arange(5) >= torch.tensor([[5], [3], [4]])  # True is padding here
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # nested tensors are in prototype stage
        encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested).eval()
        y = encoder(x, src_key_padding_mask=padded)
    return "padding comes back as 0" if (y[padded] == 0).all() else "padding comes back as numbers"


def attends_over():
    """Over what `sdpa` attends when it gets (batch, tokens, heads, d)."""
    tokens_first, moved_token = x[..., None, :].expand(3, 5, 2, 8), later[..., None, :]
    moved_token = moved_token.expand(3, 5, 2, 8)
    a, b = (sdpa(one, one, one) for one in (tokens_first, moved_token))
    return "attends over the heads" if (a - b)[:, :-1].abs().max() == 0 else "attends over tokens"


def shape_of(**options):
    """The shape of the weights of `mha`."""
    weights = mha(x, x, x, **options)[1]
    return "None" if weights is None else f"weights {tuple(weights.shape)}"


facts = {
    "MHA, is_causal=True, training": is_causal(True),
    "MHA, is_causal=True, evaluation": is_causal(False),
    "MHA, is_causal=True, mask of zeros, need_weights=False": is_causal(
        True, attn_mask=zeros, need_weights=False
    ),
    "MHA, is_causal=True, mask of zeros, need_weights=True": is_causal(True, attn_mask=zeros),
    "MHA, input (batch, tokens, d), batch_first not given": leaks_between_sequences(),
    "MHA, need_weights=True": shape_of(),
    "MHA, average_attn_weights=False": shape_of(average_attn_weights=False),
    "MHA, need_weights=False": shape_of(need_weights=False),
    "encoder in evaluation, src_key_padding_mask": padding_comes_back_as(True),
    "the same, enable_nested_tensor=False": padding_comes_back_as(False),
    "SDPA, input (batch, tokens, heads, d)": attends_over(),
}
table([[fact] for fact in facts.values()], columns=["what happens"], index=list(facts))
# --8<-- [end:libraries]

# --8<-- [start:identity]
q, k = x[:, :, :4], x[:, :, 4:]
weights = sdpa(q, k, torch.eye(5, **double).expand(3, 5, 5))
every_one = np.broadcast_to(np.eye(5), (3, 5, 5))
wanted, _ = attention(q.numpy(), k.numpy(), every_one)
far = np.abs(weights.numpy() - wanted).max()
check("these are the weights", far < 1e-12)
# --8<-- [end:identity]

# --8<-- [start:double-minimum]
doubled = {}
for dtype in (torch.float16, torch.bfloat16, torch.float32):
    lowest = torch.finfo(dtype).min
    # Keys 1 and 2 are padding; query 1 looks back alone.
    padding = torch.tensor([lowest, lowest, 0], dtype=dtype)
    future = torch.tensor([0, lowest, lowest], dtype=dtype)
    both = padding + future
    scores = ["−∞" if score.isinf() else "min" for score in both]
    doubled[str(dtype)] = [*scores, both.softmax(dim=-1).float().numpy()]
table(
    list(doubled.values()),
    columns=["key 1", "key 2", "key 3", "weights"],
    index=list(doubled),
    spec=["", "", "", ".1f"],
)
# --8<-- [end:double-minimum]

# --8<-- [start:exercise-positions]
row = np.array([[0, 0, 1, 1, 1, 1]])
last = segment_positions(row)[0, -1]
print(segment_positions(row)[0])
# --8<-- [end:exercise-positions]

# --8<-- [start:exercise-rows]
lengths = [7, 5, 4]
_, of_three = pack([np.zeros(one, int) for one in lengths])
of_three = np.append(of_three, [0, 0])  # two places of padding at the end
compared = loss_rows(of_three).sum()
print(compared)
# --8<-- [end:exercise-rows]

# --8<-- [start:exercise-pairs]
_, three = pack([np.zeros(one, int) for one in (3, 4, 5)])
pairs = (segment_mask(three) & causal_mask(12)).sum()
print(pairs)
# --8<-- [end:exercise-pairs]

# --8<-- [start:exercise-bug]
from attention_docs.masking import padding_mask

lengths_of_three = np.array([1, 2, 3])
as_given = padding_mask(lengths_of_three, 3)[:, 0]  # (batch, n_k)
is_the_causal_mask = (as_given == causal_mask(3)).all()
print(as_given.astype(int))
print(f"the causal mask: {is_the_causal_mask}")
# --8<-- [end:exercise-bug]


# --8<-- [start:writing]
def your_mask(segments):
    """Which keys each query may see, (n, n), by segments (n,)."""
    n = len(segments)
    return np.ones((n, n), dtype=bool)  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_mask(segments):
    same = segments[:, None] == segments[None, :]
    return np.tril(same & (segments > 0))


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, judge

writing = Task(
    model_mask,
    inputs=[
        (np.array([1, 1]),),
        (np.array([1, 2]),),
        (np.array([0, 1, 1]),),
        (np.array([2, 2, 2, 2]),),
        (np.array([1, 1, 2, 2, 2, 0]),),
        (np.array([7, 3, 3, 0, 5]),),
    ],
    mistakes={
        "Padding looks at padding: 0 is no text.": (lambda s: np.tril(s[:, None] == s[None, :])),
        "A token sees later tokens: a decoder needs the causal mask as well.": (
            lambda s: (s[:, None] == s[None, :]) & (s > 0)
        ),
        "A token sees the text before its own: forbidding padding is not enough.": (
            lambda s: np.tril(np.ones((len(s), 1), dtype=bool) & (s > 0))
        ),
    },
    draw=lambda rng: (np.repeat(rng.permutation([0, 3, 41, 8]), rng.integers(2, 6, 4, np.intp)),),
)
judge(your_mask, writing)
# --8<-- [end:writing-checks]
