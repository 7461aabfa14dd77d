"""Encoders: words hidden and guessed from both sides, what norms a batch needs, and patches."""

# --8<-- [start:setup]
from math import log, sqrt

import numpy as np

from attention_docs.assistant import masked_cross_entropy
from attention_docs.attention_function import attention
from attention_docs.encoders import (
    batch_norm,
    cut_patches,
    encode,
    mask_words,
    resize_positions,
    visible_word,
)
from attention_docs.figures import Frame, bar_chart, beside, heatmap, stepper, table
from attention_docs.language_model import LanguageModel, convert, cross_entropy, parameter_arrays
from attention_docs.masking import causal_mask
from attention_docs.minilm import find_pronoun_head, load_pronoun
from attention_docs.multi_head import Parameters, multi_head_attention
from attention_docs.positions import sinusoids
from attention_docs.softmax import softmax
from attention_docs.text import check, number
from attention_docs.transformer_block import BlockParameters, embed, layer_norm

SENTENCES = 3
NAMES = ("ann", "bob", "eve", "kim", "leo", "max", "tom", "zoe")
# Ann, Eve, Leo and Tom do the first of each pair, the others the second.
VERBS = ("writes", "reads", "bakes", "eats", "builds", "sails", "grows", "sells")
THINGS = ("letters", "cakes", "boats", "plums")
WORDS = (*NAMES, *VERBS, *THINGS, ".", "[MASK]", "[CLS]", "yes", "no")  # ids 0 to 24
STOP, MASK, CLS, YES, NO = range(20, 25)
N = 1 + 4 * SENTENCES


def write_stories(numbers):
    """[CLS] and three sentences; who and what are digits, and the verb follows from both."""
    who, what = np.divmod(numbers[:, None] // 32 ** np.arange(SENTENCES) % 32, 4)
    verb, end = 8 + 2 * what + who % 2, np.full_like(who, STOP)
    words = np.stack([who, verb, 16 + what, end], axis=2).reshape(len(numbers), -1)
    return np.column_stack([np.full(len(numbers), CLS), words])


shuffled = np.random.default_rng(99).permutation(32**SENTENCES)  # all stories that there are
new, taught = write_stories(shuffled[:500]), shuffled[500:]


def stories(rng, count):
    return write_stories(rng.choice(taught, count))


written = "bob eats cakes . ann writes letters . eve bakes cakes ."
whole = np.array([CLS, *map(WORDS.index, written.split())])
# --8<-- [end:setup]

# --8<-- [start:toy]
import torch

torch.set_num_threads(1)  # small matrices: more threads only wait
D, SIZE, STEPS = 32, 64, 300


def begin(seed):
    """One block of two heads, with random entries."""
    rng = np.random.default_rng(seed)

    def random(rows, columns):
        return rng.standard_normal((rows, columns)) / sqrt(rows)

    attend = Parameters(*(random(D, D) for _ in range(4)))
    return LanguageModel(
        table=rng.standard_normal((len(WORDS), D)),
        positions=sqrt(2) * sinusoids(np.arange(float(N)), D, base=30),
        blocks=(BlockParameters(attend, random(D, 2 * D), random(2 * D, D)),),
        W_u=random(D, len(WORDS)),
        num_heads=2,
        gamma=np.ones(D),
    )


def logits_of(ids, model, mask=None):
    return encode(ids, model, mask) @ model.W_u


def train(model, batches, loss_of, rate=0.01):
    """The model by Adam, and the losses; `loss_of` takes the model and a batch."""
    leaves = convert(model, lambda a: torch.tensor(a, requires_grad=True))
    leaves = leaves._replace(positions=torch.tensor(model.positions))
    moved = [a for a in parameter_arrays(leaves) if a.requires_grad]
    mean, square = ([torch.zeros_like(p) for p in moved] for _ in range(2))
    losses = []
    for t, batch in enumerate(batches, start=1):
        loss = loss_of(leaves, *batch)
        losses.append(loss.item())
        slopes = torch.autograd.grad(loss, moved)
        eta = rate * min(1, 2 - 2 * t / len(batches))  # falls in the second half
        with torch.no_grad():
            for p, g, m, v in zip(moved, slopes, mean, square, strict=True):
                m += 0.1 * (g - m)
                v += 0.01 * (g * g - v)
                g = (m / (1 - 0.9**t)) / (torch.sqrt(v / (1 - 0.99**t)) + 1e-8)
                # On a grid, so that every processor finds the same model.
                p.copy_(torch.round((p - eta * g) * 2**16) / 2**16)
    return convert(leaves, lambda a: a.detach().numpy()), losses


def hidden_stories(seed):
    """Batches of what is shown, what was written, and which places are chosen."""
    rng, batches = np.random.default_rng(seed), []
    for _ in range(STEPS):
        ids = stories(rng, SIZE)
        lots = rng.random(ids.shape)
        lots[:, 0] = 0.99  # [CLS] is never chosen
        shown, chosen = mask_words(ids, lots, MASK, STOP + 1)
        batches.append([torch.from_numpy(one) for one in (shown, ids, chosen)])
    return batches


LEFT = torch.from_numpy(causal_mask(N))


def chosen_both(model, shown, ids, chosen):
    return masked_cross_entropy(logits_of(shown, model), ids, chosen)


def chosen_left(model, shown, ids, chosen):
    return masked_cross_entropy(logits_of(shown, model, LEFT), ids, chosen)


def all_both(model, shown, ids, chosen):
    return cross_entropy(logits_of(shown, model), ids).mean()


ENCODER = "both sides, chosen count"
DECODER = "left side, chosen count"
ALL = "both sides, all count"
losses_of = {ENCODER: chosen_both, DECODER: chosen_left, ALL: all_both}
trained = {way: [] for way in losses_of}
for start in range(3):
    lessons = hidden_stories(start)
    for way, loss_of in losses_of.items():
        trained[way].append(train(begin(start), lessons, loss_of))
encoder, decoder = trained[ENCODER][0][0], trained[DECODER][0][0]
# --8<-- [end:toy]

# --8<-- [start:event]
at = 6  # the verb of Ann
ids = np.where(np.arange(N) == at, MASK, whole)
p_left = softmax(logits_of(ids, decoder, causal_mask(N))[at])
p_both = softmax(logits_of(ids, encoder)[at])
print(*(WORDS[i] for i in ids[1:]))
bar_chart(
    VERBS,
    {"reads the left side": p_left[8:16], "reads both sides": p_both[8:16]},
    ylabel="probability",
    scale=(0, 1),
    spec=".2f",
)
# --8<-- [end:event]

# --8<-- [start:control]
kinds = ["name", "verb", "thing", "end"]
sides = ["left", "both"]


def frame(i, side):
    """One word of the second sentence hidden: where its place looks, and what it expects."""
    model, mask = ((decoder, causal_mask(N)), (encoder, None))[side]
    place = 5 + i
    shown = np.where(np.arange(N) == place, MASK, whole)
    p = softmax(logits_of(shown, model, mask)[place])
    block = model.blocks[0]
    x = layer_norm(embed(shown, model.table, model.positions), block.gamma_1, block.beta_1)
    _, weights = multi_head_attention(x, x, x, block.attention, 2, mask)
    names = [WORDS[j] for j in shown]
    likeliest = np.argsort(-p)[:4]
    seen = np.repeat(LEFT.numpy()[place][:, None], 2, axis=1) if side == 0 else None
    drawn = beside(
        heatmap(
            weights[:, place].T,
            rows=names,
            columns=["head 1", "head 2"],
            scale=(0, 1),
            name="weights",
            allowed=seen,
        ),
        heatmap(
            p[likeliest, None],
            rows=[WORDS[j] for j in likeliest],
            scale=(0, 1),
            name="hidden word",
        ),
    )
    right = number(p[whole[place]], ".2f")
    caption = f"The word that was hidden, {WORDS[whole[place]]}, gets {right}."
    return Frame((str(1 + i), str(1 + side)), f"{kinds[i]}, {sides[side]}", (drawn,), caption)


stepper(
    "hidden",
    [("Hidden", kinds), ("It may see", sides)],
    [frame(i, side) for i in range(4) for side in range(2)],
    answer="1 2",
)
# --8<-- [end:control]


# --8<-- [start:next]
def next_both(model, ids):
    return cross_entropy(logits_of(ids, model)[:, :-1], ids[:, 1:]).mean()


def next_left(model, ids):
    return cross_entropy(logits_of(ids, model, LEFT)[:, :-1], ids[:, 1:]).mean()


def writing_loss(model, is_causal):
    """Each beginning by itself, so that its next word is not there to be seen."""
    found = []
    for n in range(1, N):
        mask = causal_mask(n) if is_causal else None
        logits = logits_of(new[:, :n], model, mask)[:, -1]
        found.append(cross_entropy(logits, new[:, n]).mean())
    return np.mean(found)


rows = []
for loss_of, is_causal in ((next_left, True), (next_both, False)):
    in_training, in_writing = [], []
    for start in range(3):
        rng = np.random.default_rng(start)
        batches = [[torch.from_numpy(stories(rng, SIZE))] for _ in range(150)]
        model, losses = train(begin(start), batches, loss_of)
        in_training.append(np.mean(losses[-10:]))
        in_writing.append(writing_loss(model, is_causal))
    rows.append([in_training, in_writing])
best = (log(8) + log(4)) / 4  # the name, and the verb; thing and end follow
table(
    rows,
    columns=["loss in training", "loss when it writes"],
    index=["with the causal mask", "without a mask"],
    spec=".2f",
)
# --8<-- [end:next]

# --8<-- [start:masked]
lots = np.full(N, 0.5)
lots[[2, 5, 11]] = 0.03, 0.126, 0.14  # r = 0.2, 0.84, 0.93
shown, chosen = mask_words(whole, lots, MASK, STOP + 1)
table(
    [
        [
            " ".join(WORDS[i] for i in whole[1:]),
            " ".join(WORDS[i] for i in shown[1:]),
            " ".join(WORDS[i] if c else "–" for i, c in zip(whole, chosen, strict=True))[2:],
        ]
    ],
    columns=["written", "shown to the model", "to be guessed"],
)
# --8<-- [end:masked]

# --8<-- [start:visible]
four = np.zeros(21)
four[[0, 2, 4, 6]] = 1 / 4  # ann, eve, leo or tom, by the rest of the sentence
by_chosen = visible_word(four, 0)[0]
by_all = visible_word(four, 0, keep=0.85 + 0.015, swap=0.015)[0]
unswapped = visible_word(four, 0, keep=0.2, swap=1e-12)[0]
table(
    [[by_chosen, by_all, unswapped]],
    columns=["chosen count, 80/10/10", "all count", "chosen count, 80/0/20"],
    index=["ann"],
    spec=".3f",
)
# --8<-- [end:visible]

# --8<-- [start:results]
hidden = new.copy()
hidden[:, 6] = MASK  # the verb of the second sentence
rows_of = np.arange(len(new))


def measure(model, mask):
    """The mean probability of a hidden verb, and of a visible name."""
    verb = softmax(logits_of(hidden, model, mask)[:, 6])[rows_of, new[:, 6]]
    name = softmax(logits_of(new, model, mask)[:, 5])[rows_of, new[:, 5]]
    return verb.mean(), name.mean()


compared = {}
for way, models in trained.items():
    mask = causal_mask(N) if way == DECODER else None
    found = np.array([measure(model, mask) for model, _ in models])
    last = [np.mean(losses[-30:]) for _, losses in models]
    compared[way] = [last, found[:, 0], found[:, 1]]
table(
    list(compared.values()),
    columns=["loss in training", "hidden verb gets", "visible name gets"],
    index=list(compared),
    spec=".2f",
)
# --8<-- [end:results]


# --8<-- [start:cls]
def label(ids):
    """Whether at least two of the three people make something."""
    makers = (ids[:, 1::4] % 2 == 0).sum(axis=1)
    return np.where(makers >= 2, YES, NO)


def read_first(model, ids):
    return encode(ids, model)[:, 0] @ model.W_u


def read_mean(model, ids):
    return encode(ids, model)[:, 1:].mean(axis=1) @ model.W_u


ways = {
    "[CLS], pre-trained": (read_first, True),
    "mean, pre-trained": (read_mean, True),
    "[CLS], from the start": (read_first, False),
    "mean, from the start": (read_mean, False),
}
right = {}
for way, (read, is_pretrained) in ways.items():
    right[way] = []
    for start in range(3):
        rng = np.random.default_rng(50 + start)
        lessons = [stories(rng, 16) for _ in range(40)]
        batches = [[torch.from_numpy(a) for a in (ids, label(ids))] for ids in lessons]
        model = trained[ENCODER][start][0] if is_pretrained else begin(start)

        def label_loss(model, ids, labels, read=read):
            return cross_entropy(read(model, ids), labels).mean()

        tuned, _ = train(model, batches, label_loss, rate=0.005)
        z = read(tuned, new)
        right[way].append(np.mean((z[:, YES] > z[:, NO]) == (label(new) == YES)))
table([[one] for one in right.values()], columns=["right"], index=list(right), spec=".2f")
# --8<-- [end:cls]

# --8<-- [start:mean-padding]
vectors = np.array([[1, 0], [1, 0], [0, 2], [0, 2]])
is_real = np.array([1, 1, 0, 0])
table(
    [vectors.mean(axis=0), is_real @ vectors / is_real.sum()],
    columns=["component 1", "component 2"],
    index=["over all places", "over the real tokens"],
    spec=".1f",
)
# --8<-- [end:mean-padding]

# --8<-- [start:norms]
first = np.array([[2.0, 0, 4], [1, 1, 4], [3, 5, 1]])  # three tokens of three components
second = np.array([[0.0, 2, 2], [4, 2, 6], [2, 2, 1]])
padding = np.zeros((3, 3))
batches = {
    "with text 2": [first, second],
    "with text 2 and a row of padding": [first, second, padding],
    "alone": [first],
}
kept = torch.nn.BatchNorm1d(3, affine=False, dtype=torch.float64)
normed = {}
for name, texts in batches.items():
    x = np.stack(texts)
    own = torch.nn.BatchNorm1d(3, affine=False, dtype=torch.float64)
    theirs = own(torch.from_numpy(x).reshape(-1, 3)).reshape(x.shape).numpy()
    gap = np.abs(batch_norm(x) - theirs).max()
    check("BatchNorm is that of PyTorch", gap < 1e-12)
    normed[name] = [batch_norm(x)[0, 0], layer_norm(x)[0, 0]]
x = torch.from_numpy(np.stack([first, second]).reshape(-1, 3))
for count in range(1, 101):
    kept.train()(x)  # keeps a tenth of each batch
    if count in (1, 100):
        statistics = [a.numpy().copy() for a in (kept.running_mean, kept.running_var)]
        ours = batch_norm(first, *statistics)
        check("so it is in evaluation", np.abs(kept.eval()(x)[:3].numpy() - ours).max() < 1e-12)
        named = f"in evaluation, after {count} {'batch' if count == 1 else 'batches'}"
        normed[named] = [ours[0], layer_norm(first)[0]]
table(
    list(normed.values()),
    columns=["BatchNorm", "LayerNorm"],
    index=list(normed),
    spec=".2f",
)
# --8<-- [end:norms]

# --8<-- [start:picture]
picture = np.zeros((12, 12))
picture[:, 4] = 1  # an upright bar
picture[7, :] = 1  # and one across
x = cut_patches(picture, 3)
beside(
    heatmap(picture, role="input", name="picture", spec=".0f", numbers=False),
    heatmap(x, role="input", name="patches", numbers=False, column_axis="pixel", row_axis="patch"),
)
# --8<-- [end:picture]

# --8<-- [start:convolution]
rng = np.random.default_rng(0)
W = rng.standard_normal((9, 8))
as_layer = x @ W  # (16, 8)
kernels = torch.from_numpy(W.T.reshape(8, 1, 3, 3))
image = torch.from_numpy(picture)[None, None]
moved = torch.nn.functional.conv2d(image, kernels, stride=3)
as_convolution = moved[0].numpy().reshape(8, 16).T
gap = np.abs(as_layer - as_convolution).max()
check("all 128 numbers agree to within 10⁻¹²", gap < 1e-12)
table(
    [as_layer[1, :4], as_convolution[1, :4]],
    columns=[f"kernel {c}" for c in range(1, 5)],
    index=["patch times W", "conv2d"],
    spec=".3f",
)
# --8<-- [end:convolution]

# --8<-- [start:patch-attention]
row, column = np.divmod(np.arange(16.0), 4)
places = np.concatenate([sinusoids(row, 4, base=8), sinusoids(column, 4, base=8)], axis=1)
content = x - x.mean(axis=0)
asker = 1  # the second patch of the first line
maps = {}
for name, q in (
    ("content", content),
    ("place", places),
    ("content and place", np.hstack([content, places])),
):
    _, weights = attention(3 * q, q, x)
    maps[name] = weights[asker].reshape(4, 4)
beside(
    *(heatmap(weights, name=name, scale=(0, 1)) for name, weights in maps.items()),
)
# --8<-- [end:patch-attention]

# --8<-- [start:interpolate]
grid = places.reshape(4, 4, 8)
larger = resize_positions(grid, 6, 6)
of_torch = torch.nn.functional.interpolate(
    torch.from_numpy(grid).permute(2, 0, 1)[None], size=(6, 6), mode="bilinear"
)
gap = np.abs(of_torch[0].permute(1, 2, 0).numpy() - larger).max()
check("it is that of PyTorch", gap < 1e-12)
centres = np.clip((np.arange(6) + 0.5) * 4 / 6 - 0.5, 0, 3)
norms = np.linalg.norm(larger, axis=-1)
table(
    [centres, norms[0]],
    columns=[f"column {i}" for i in range(6)],
    index=["place in the old grid", "norm of the vector"],
    spec=".2f",
)
# --8<-- [end:interpolate]


# --8<-- [start:offsets]
def offset_index(side):
    """The index of the offset between each two patches of a square window."""
    row, column = np.divmod(np.arange(side**2), side)
    down, across = (place[:, None] - place for place in (row, column))
    return (down + side - 1) * (2 * side - 1) + across + side - 1


small, usual = offset_index(2), offset_index(7)
patches = ["0, 0", "0, 1", "1, 0", "1, 1"]
table(small, columns=patches, index=patches)
# --8<-- [end:offsets]

# --8<-- [start:own]
measured = load_pronoun()
to_nouns, without = measured["looks"], measured["cut"]  # of all heads
famous, switched, missed_more = find_pronoun_head(to_nouns, without)
# --8<-- [end:own]

# --8<-- [start:own-table]
table(
    to_nouns[:, famous[0], famous[1]].tolist(),
    columns=["trophy", "suitcase"],
    index=["it is too big", "it is too small"],
    spec=".2f",
)
# --8<-- [end:own-table]

# --8<-- [start:exercise-chosen]
tokens = 400
chosen_tokens = tokens * 15 // 100
masked_tokens = chosen_tokens * 80 // 100
print(f"{chosen_tokens} chosen, {masked_tokens} masked, {chosen_tokens // 10} swapped")
# --8<-- [end:exercise-chosen]

# --8<-- [start:exercise-visible]
from fractions import Fraction

half, tenth = Fraction(1, 2), Fraction(1, 10)
posterior = half * (tenth + tenth / 20) / (half * tenth + tenth / 20)
print(posterior)
# --8<-- [end:exercise-visible]

# --8<-- [start:exercise-norm]
component = np.array([1.0, 3, 5, 7])
of_four = batch_norm(component[:, None], eps=0.0)[0, 0]
padded = batch_norm(np.append(component, [0, 0, 0, 0])[:, None], eps=0.0)[0, 0]
no_root = (1 - component.mean()) / component.var()
print(f"{of_four:.3f} {padded:.3f}")
# --8<-- [end:exercise-norm]

# --8<-- [start:exercise-patches]
small, large = (224 // 16) ** 2, (448 // 16) ** 2
times = (large // small) ** 2
print(small, large, times)
# --8<-- [end:exercise-patches]

# --8<-- [start:exercise-bug]
pixels = np.arange(144.0).reshape(12, 12)
wrong, proper = pixels.reshape(9, 16), cut_patches(pixels, 4)
shared = len(set(wrong[0]) & set(proper[0]))
print(wrong[0].astype(int), proper[0].astype(int), sep="\n")
# --8<-- [end:exercise-bug]


# --8<-- [start:writing]
def your_norm(x, real):
    """BatchNorm without ε: tokens x (n, d), real (n,) or not."""
    return x  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_norm(x, real):
    tokens = x[real]
    return (x - tokens.mean(axis=0)) / np.sqrt(tokens.var(axis=0))


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge


def draw_tokens(rng):
    x = halves(rng, 6, 3) + 10 * np.arange(6.0)[:, None]  # no two tokens are alike
    return x, rng.permutation(6) < rng.integers(3, 6)


writing = Task(
    model_norm,
    inputs=[
        (np.array([[1.0], [3.0]]), np.array([True, True])),
        (np.array([[1.0], [3.0], [0.0]]), np.array([True, True, False])),
        (np.array([[1.0, 0], [3, 4], [9, 9]]), np.array([True, True, False])),
        (np.array([[1.0, 0], [3, 4], [9, 9]]) / 1000, np.array([True, True, False])),
    ],
    mistakes={
        "Padding counts: the mean and the variance are those of the real tokens alone.": (
            lambda x, real: (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0))
        ),
        "This divides by the variance: take its root.": (
            lambda x, real: (x - x[real].mean(axis=0)) / x[real].var(axis=0)
        ),
        "Each token is normalised over its components: that is LayerNorm.": (
            lambda x, real: (
                (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-9)
            )
        ),
        "The variance is divided by one less than the number of tokens.": (
            lambda x, real: (x - x[real].mean(axis=0)) / x[real].std(axis=0, ddof=1)
        ),
    },
    draw=draw_tokens,
)
judge(your_norm, writing)
# --8<-- [end:writing-checks]
