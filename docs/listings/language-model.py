"""A language model: from stories to logits, trained, sampled from, and its heads read."""

# --8<-- [start:hook]
from math import exp, log, sqrt

import numpy as np

from attention_docs.figures import (
    Frame,
    bar_chart,
    beside,
    flow,
    heatmap,
    line_chart,
    numbered,
    slider,
    stepper,
    table,
)
from attention_docs.generation import cached_block
from attention_docs.language_model import (
    LanguageModel,
    convert,
    cross_entropy,
    cross_entropy_gradient,
    from_json,
    generate,
    language_model,
    parameter_arrays,
    sample,
    to_json,
    token_distribution,
    token_ids,
    without_head,
)
from attention_docs.masking import causal_mask
from attention_docs.multi_head import Parameters
from attention_docs.positions import sinusoids
from attention_docs.scaling import mean_interval
from attention_docs.softmax import entropy, softmax
from attention_docs.text import TextFile, check, number
from attention_docs.transformer_block import BlockParameters, embed, encoder_block, layer_norm

SEED = 2017
NAMES = ("ann", "bob", "eve", "kim", "leo", "max", "tom", "zoe")
VERBS = ("sings", "runs", "reads", "sleeps", "cooks", "waits", "draws", "swims")
WORDS = (*NAMES, *VERBS, ".", "and")  # ids 0 to 17
P_NAME = 1 / np.arange(1, 9)
P_NAME /= P_NAME.sum()
P_AND = 1 / 4


def stories(rng, count, sentences=8):
    """Each person does one thing in a story; the next one may do anything."""
    does = rng.integers(8, 16, (count, 8))
    who = rng.choice(8, (count, sentences), p=P_NAME)
    end = 16 + (rng.random((count, sentences)) < P_AND)
    tokens = [who, np.take_along_axis(does, who, axis=1), end]
    return np.stack(tokens, axis=2).reshape(count, -1)


def in_words(ids):
    return " ".join(WORDS[i] for i in ids)


rng = np.random.default_rng(SEED)
corpus = stories(rng, 500 * 32)
fresh = stories(rng, 2000)
known = {one.tobytes() for one in corpus}
held_out = np.array([one for one in fresh if one.tobytes() not in known])
del known, fresh
question = "ann sings . bob sleeps and eve runs . ann sings . bob"  # knob: words WORDS → answer
# Capitals are read too, and a full stop that stands right behind its word.
asked = question.lower().replace(WORDS[16], f" {WORDS[16]} ").split()
ids = token_ids(asked, LanguageModel(None, None, (), None, 1, vocabulary=WORDS))
print(*asked, "…")
followers = corpus[:, 1:][corpus[:, :-1] == ids[-1]]
after_last = np.bincount(followers, minlength=18) / len(followers)
came = np.flatnonzero(after_last)
bar_chart([WORDS[j] for j in came], {"": after_last[came]}, ylabel="share", spec=".2f")
# --8<-- [end:hook]


# --8<-- [start:decoder]
def begin(seed, vocabulary, n_max, depth, whole, d=32):
    """A model with random entries: whole blocks, or attention alone."""
    rng = np.random.default_rng(seed)

    def random(rows, columns):
        return rng.standard_normal((rows, columns)) / sqrt(rows)

    def block():
        attend = Parameters(*(random(d, d) for _ in range(4)))
        if not whole:
            return attend
        return BlockParameters(attend, random(d, 2 * d), random(2 * d, d))

    return LanguageModel(
        table=rng.standard_normal((len(vocabulary), d)),
        # sin² + cos² = 1 for each pair: √2 makes the mean square 1, as in the table
        positions=sqrt(2) * sinusoids(np.arange(float(n_max)), d, base=30),
        blocks=tuple(block() for _ in range(depth)),
        W_u=random(d, len(vocabulary)),
        num_heads=2,
        gamma=np.ones(d) if whole else None,
        vocabulary=tuple(vocabulary),
    )


random_model = begin(SEED, WORDS, n_max=24, depth=2, whole=True)
moves = parameter_arrays(random_model._replace(positions=None))
parameters = sum(a.size for a in moves)  # the positions are not learned
# --8<-- [end:decoder]


# --8<-- [start:machine]
def streams(ids, model):
    """The vectors of all words: before the first block, and after each."""
    found = [embed(ids, model.table, model.positions)]
    for block in model.blocks:
        mask = causal_mask(len(ids))
        found.append(encoder_block(found[-1], block, model.num_heads, mask, norm_first=True))
    return found


def show(ids, model, shown=12, few=4):
    """One pass through a decoder with two blocks, part by part."""
    Z, seen = language_model(ids, model)
    x, p = streams(ids, model), softmax(Z[-1])
    words = [WORDS[i] for i in ids]
    last, best = words[-1], int(p.argmax())
    whole = flow(
        [
            [
                (last, "input", model.table[ids[-1], :few], ".1f"),
                ("position", "input", model.positions[len(ids) - 1, :few], ".1f"),
            ],
            ("sum", "input", x[0][-1, :few], ".1f"),
            ("after block 1", "output", x[1][-1, :few], ".1f"),
            ("after block 2", "output", x[2][-1, :few], ".1f"),
            ("logits", "score", Z[-1, 8 : 8 + few], ".1f"),
            (f"next word: {WORDS[best]}", "weight", [p[best]], ".2f"),
        ],
        arrows=[
            (0, 2),
            (1, 2),
            (2, 3, f"attention to {len(ids)} words"),
            (3, 4, f"attention to {len(ids)} words"),
            (4, 5, "W_U"),
            (5, 6, "softmax"),
        ],
        title="from a word to the next word",
    )

    def of_block(b):
        looked = heatmap(
            seen[b][:, -1].T, rows=words, columns=["head 1", "head 2"], scale=(0, 1), name="weights"
        )
        left = heatmap(x[b + 1][:, :shown], role="output", name="vectors", numbers=False)
        return beside(looked, left)

    scored = heatmap(Z[-1][:, None], rows=WORDS, role="score", spec=".1f", name="logits")
    order = np.argsort(-p)
    chances = bar_chart(
        [WORDS[i] for i in order],
        {"": p[order]},
        ylabel="probability",
        roles=["weight"],
        spec=".2f",
        scale=(0, 1),
    )
    parts = [
        ("whole", whole, f"The last word, {last}, all the way: {few} numbers of each vector."),
        (
            "tokens",
            heatmap(ids[:, None], rows=words, spec="d", role="input", name="ids"),
            f"The text is cut into {len(ids)} tokens, and each is replaced by its id.",
        ),
        (
            "vectors",
            heatmap(x[0][:, :shown], rows=words, role="input", name="vectors", numbers=False),
            f"Each id picks a row of a table, and its position is added: {len(ids)} vectors.",
        ),
        ("block 1", of_block(0), f"Where {last} looks, and the vectors after this block."),
        (
            "block 2",
            of_block(1),
            f"The second block: where {last} looks, and the vectors that come out.",
        ),
        ("logits", scored, f"The last vector becomes a score for each of {len(WORDS)} words."),
        (
            "next word",
            chances,
            f"Softmax turns them into probabilities. The likeliest word is {WORDS[best]}.",
        ),
    ]
    names = [name for name, _, _ in parts]
    frames = [
        Frame((str(i),), name, (drawing,), caption)
        for i, (name, drawing, caption) in enumerate(parts, start=1)
    ]
    return stepper(
        "machine",
        [("part", names)],
        frames,
        roles=[
            ["input", "output"],
            ["input"],
            ["input"],
            ["output"],
            ["output"],
            ["score"],
            ["weight"],
        ],
    )


show(ids, random_model)
# --8<-- [end:machine]

# --8<-- [start:tied]
QWEN = {  # tokens, d, layers, d_k times the KV heads, d_ff: config.json
    "0.5B": (151_936, 896, 24, 128, 4_864),
    "1.5B": (151_936, 1_536, 28, 256, 8_960),
    "7B": (152_064, 3_584, 28, 512, 18_944),
    "72B": (152_064, 8_192, 80, 1_024, 29_568),
}
rows, tied_share = [], {}
for size, (known, width, depth, kv, inner) in QWEN.items():
    looking = 2 * width**2 + 2 * width * kv + width + 2 * kv  # biases of Q, K and V
    whole = depth * (looking + 3 * width * inner + 2 * width) + width  # SwiGLU, RMSNorm
    tied_share[size] = 100 * known * width / (known * width + whole)
    is_tied = size in ("0.5B", "1.5B")
    rows.append([whole / 1e6, known * width / 1e6, tied_share[size], is_tied])
table(
    rows,
    columns=["blocks, millions", "one table, millions", "a second adds, %", "tied"],
    index=[f"Qwen2.5 {size}" for size in QWEN],
    spec=[",.0f", ",.0f", ".1f", ""],
)
# --8<-- [end:tied]

# --8<-- [start:loss]
z = np.log([1.0, 2.0, 5.0])  # softmax(z) = 1/8, 2/8, 5/8
each_loss = [cross_entropy(z, np.array(t)).item() for t in range(3)]
gradients = softmax(z) - np.eye(3)  # row t: token t came


def came(t):
    """Guess, target and slopes where token t came."""
    drawn = bar_chart(
        numbered("word", 3),
        {"prediction": softmax(z), "target": np.eye(3)[t], "prediction minus target": gradients[t]},
        ylabel="probability, slope",
        roles=["weight", "neutral", "score"],
        scale=(-1, 1),
        spec=".3f",
    )
    caption = f"The loss is {number(each_loss[t], '.4f')}."
    return Frame((str(t),), str(t + 1), (drawn,), caption)


slider("The word that came", [came(t) for t in range(3)])
# --8<-- [end:loss]

# --8<-- [start:downhill]
z, t, eta = np.log([1.0, 2.0, 5.0]), 0, 1.0  # word 1 came
descent = []
for _ in range(6):
    descent.append([*softmax(z), cross_entropy(z, np.array(t)).item()])
    z = z - eta * cross_entropy_gradient(z, np.array(t))  # a step downhill
table(
    descent,
    columns=[*numbered("word", 3), "loss"],
    index=[f"step {step}" for step in range(6)],
    spec=".3f",
)
# --8<-- [end:downhill]


# --8<-- [start:one-number]
def loss_with(w):
    """The loss of the story, if *sleeps* comes next and w is the number in W_Q."""
    model = convert(random_model, np.copy)
    model.blocks[0].attention.W_q[2, 1] = w
    logits, _ = language_model(ids, model)
    return cross_entropy(logits[-1], np.array(11)).item()


w = random_model.blocks[0].attention.W_q[2, 1]
slope = (loss_with(w + 0.01) - loss_with(w)) / 0.01
logits, _ = language_model(ids, random_model)
routes = random_model.W_u[0] * cross_entropy_gradient(logits[-1], np.array(11))  # (18,)
table(
    [[x, loss_with(x)] for x in (w, w + 0.01, w - eta * slope)],
    columns=["w", "loss"],
    index=["as it was drawn", "raised by 0.01", "after one step"],
    spec=".4f",
)
# --8<-- [end:one-number]

# --8<-- [start:two-routes]
start = np.log([1.0, 2.0, 5.0])  # softmax: 1/8, 2/8, 5/8
reaches = np.array([2.0, 0.0, 1.0])  # how far each logit moves with x
at_logits = cross_entropy_gradient(start, np.array(0))  # word 1 came


def loss_at(x):
    """The loss when x has moved this far from where it was."""
    return cross_entropy(start + reaches * x, np.array(0)).item()


measured_slope = (loss_at(0.001) - loss_at(-0.001)) / 0.002
by_route = reaches * at_logits
table(
    [
        *([reaches[i], at_logits[i], by_route[i]] for i in (0, 2)),
        [None, None, by_route.sum()],
        [None, None, measured_slope],
    ],
    columns=["logit for x", "loss for the logit", "loss for x"],
    index=["through word 1", "through word 3", "both routes", "x moved by 0.001"],
    spec=[".0f", ".3f", ".3f"],
)
# --8<-- [end:two-routes]

# --8<-- [start:backward]
import torch

torch.set_num_threads(1)  # small matrices: more threads only wait

leaves = convert(random_model, lambda a: torch.tensor(a, requires_grad=True))
logits, _ = language_model(torch.from_numpy(ids), leaves)
moving = parameter_arrays(leaves._replace(positions=None))
backward = torch.autograd.grad(cross_entropy(logits[-1], torch.tensor(11)), moving)


def raise_one(which, by):
    """The loss when the number in row 3 and column 2 of one array is raised."""
    model = convert(random_model, np.copy)
    parameter_arrays(model._replace(positions=None))[which][2, 1] += by
    logits, _ = language_model(ids, model)
    return cross_entropy(logits[-1], np.array(11)).item()


h = 1e-5
both_ways = [
    [(raise_one(i, h) - raise_one(i, -h)) / (2 * h), backward[i][2, 1].item()] for i in range(7)
]
table(
    both_ways,
    columns=["one number moved", "backward pass"],
    index=["E", *(f"{name}, block 1" for name in ("W_Q", "W_K", "W_V", "W_O", "W_1", "W_2"))],
    spec=".4f",
)
# --8<-- [end:backward]

# --8<-- [start:loss-differences]
rng = np.random.default_rng(SEED)
z, targets = rng.standard_normal((4, 18)), rng.integers(0, 18, 4)
slopes, h = np.zeros((4, 18)), 1e-5
for place in np.ndindex(4, 18):
    step = np.zeros((4, 18))
    step[place] = h
    up, down = (cross_entropy(z + s, targets).sum() for s in (step, -step))
    slopes[place] = (up - down) / (2 * h)
gradient = cross_entropy_gradient(z, targets)
check("all entries agree to within 10⁻⁸", np.abs(slopes - gradient).max() < 1e-8)
check("each row sums to 0 to within 10⁻¹²", np.abs(gradient.sum(axis=-1)).max() < 1e-12)
table(
    [slopes[0, :6], gradient[0, :6]],
    columns=numbered("word", 6),
    index=["central differences", "softmax(z) − y"],
    spec=".4f",
)
# --8<-- [end:loss-differences]

# --8<-- [start:floor]
H_NAME, H_END = entropy(P_NAME), entropy(np.array([P_AND, 1 - P_AND]))
is_new = [(P_NAME * (1 - P_NAME) ** s).sum() for s in range(8)]  # in sentence s + 1
H_verbs = [new * log(8) for new in is_new]
# The first name is given, not predicted.
best = (7 * H_NAME + sum(H_verbs) + 8 * H_END) / 23
by_last = (7 * H_NAME + 8 * log(8) + 8 * H_END) / 23
table(
    [[loss, exp(loss)] for loss in (log(18), by_last, best)],
    columns=["loss", "perplexity"],
    index=["all words alike: ln 18", "from the last word: H₁", "entropy of the source: H"],
    spec=[".3f", ".2f"],
)
# --8<-- [end:floor]


# --8<-- [start:floor-drawn]
def true_losses(ids):
    """Minus the logarithm of what the source gave each token."""
    who, end = ids[:, 0::3], ids[:, 2::3]
    alike = who[:, :, None] == who[:, None, :]
    known = (alike & np.tri(8, k=-1, dtype=bool)).any(axis=-1)
    name = -np.log(P_NAME)[who]
    verb = np.where(known, 0, log(8))
    mark = -np.log(np.where(end == 17, P_AND, 1 - P_AND))
    return np.stack([name, verb, mark], axis=2).reshape(len(ids), -1)


drawn, error = mean_interval(true_losses(held_out)[:, 1:].mean(axis=-1))
table([[f"{drawn:.3f} ± {error:.3f}", best]], columns=["mean of −ln π", "H"], spec=".3f")
# --8<-- [end:floor-drawn]

# --8<-- [start:at-once]
story = held_out[0]
Z, _ = language_model(story[:-1], random_model)
at_once = cross_entropy(Z, story[1:])
one_by_one = []
for i in range(1, len(story)):
    Z, _ = language_model(story[:i], random_model)
    one_by_one.append(cross_entropy(Z[-1], story[i]))
gaps = np.abs(at_once - one_by_one)
check("all 23 losses agree to within 10⁻¹²", gaps.max() < 1e-12)
table(
    [at_once[:6], one_by_one[:6]],
    columns=[f"token {i}" for i in range(2, 8)],
    index=["one pass", "one pass for each"],
    spec=".3f",
    name="loss",
)
# --8<-- [end:at-once]


# --8<-- [start:training]
def train(model, pairs, rate, watched=None):
    """The trained model by Adam, and the losses; `watched` gets the model before its steps."""
    leaves = convert(model, lambda a: torch.tensor(a, requires_grad=True))
    leaves = leaves._replace(positions=torch.tensor(model.positions))
    moved = [a for a in parameter_arrays(leaves) if a.requires_grad]
    mean, square = ([torch.zeros_like(p) for p in moved] for _ in range(2))
    losses = []
    for t, (ids, targets) in enumerate(pairs, start=1):
        if watched is not None and t - 1 in watched:
            watched[t - 1] = convert(leaves, lambda a: a.detach().numpy().copy())
        Z, _ = language_model(torch.from_numpy(ids), leaves)
        loss = cross_entropy(Z, torch.from_numpy(targets)).mean()
        losses.append(loss.item())
        slopes = torch.autograd.grad(loss, moved)
        eta = rate * min(1, 2 - 2 * t / len(pairs))  # falls in the second half
        with torch.no_grad():
            for p, g, m, v in zip(moved, slopes, mean, square, strict=True):
                m += 0.1 * (g - m)
                v += 0.01 * (g * g - v)
                g = (m / (1 - 0.9**t)) / (torch.sqrt(v / (1 - 0.99**t)) + 1e-8)
                # On a grid, so that every processor finds the same model.
                p.copy_(torch.round((p - eta * g) * 2**16) / 2**16)
    return convert(leaves, lambda a: a.detach().numpy()), losses


# 500 batches of 32 stories; each token is to say the next one.
pairs = [(ids[:, :-1], ids[:, 1:]) for ids in corpus.reshape(500, 32, 24)]
watched = dict.fromkeys((0, 20, 60, 100, 140, 160, 180, 200, 300))
trained, losses = train(random_model, pairs, rate=0.01, watched=watched)
watched[500] = trained
# --8<-- [end:training]

# --8<-- [start:steep-and-flat]
curvatures = np.array([1, 1e-4])  # of the loss (x² + 10⁻⁴ y²) / 2, begun at x = y = 1


def descend(steps):
    """Where gradient descent with the rate 1 stops."""
    place = np.ones(2)
    for _ in range(steps):
        place = place - curvatures * place
    return place


def descend_by_adam(steps, rate=0.02):
    """Where Adam stops; its rate falls to 0."""
    place, mean, square = np.ones(2), np.zeros(2), np.zeros(2)
    for t in range(1, steps + 1):
        slope = curvatures * place
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        step = (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.99**t)) + 1e-8)
        place = place - rate * (1 - t / steps) * step
    return place


places = {
    f"{way}, {steps:,} steps": move(steps)
    for way, move in {"gradient descent": descend, "Adam": descend_by_adam}.items()
    for steps in (100, 1000)
}
table(list(places.values()), columns=["x", "y"], index=list(places), spec=".3f")
# --8<-- [end:steep-and-flat]


# --8<-- [start:falling-rate]
def mean_loss(rates):
    """The mean of x²/2 after one step for each rate, down slopes with noise of variance 1."""
    mean, variance = 10.0, 0.0
    for rate in rates:
        mean, variance = (1 - rate) * mean, (1 - rate) ** 2 * variance + rate**2
    return (mean**2 + variance) / 2


rates = {f"{rate:g}": np.full(2000, rate) for rate in (0.1, 0.01, 0.001)}
rates["from 0.02 down to 0"] = np.linspace(0.02, 0, 2000)
constant_best = min(mean_loss(np.full(2000, rate)) for rate in np.geomspace(1e-4, 0.3, 400))
after_rates = [mean_loss(one) for one in rates.values()]
table([[loss] for loss in after_rates], columns=["mean loss"], index=list(rates), spec=".4f")
# --8<-- [end:falling-rate]

# --8<-- [start:trained]
# The numbers alone; the words stand in WORDS, in the reader's language.
published = TextFile("language-model.json", to_json(trained._replace(vocabulary=())))
smooth = np.reshape(losses, (25, 20)).mean(axis=1)  # of 20 steps each
bounds = {
    "all words alike (ln 18)": log(18),
    "last word alone (H₁)": by_last,
    "entropy of the source (H)": best,
}
lines = {"loss in training (L)": smooth} | {name: [one] * 25 for name, one in bounds.items()}
line_chart(np.arange(10, 510, 20), lines, xlabel="steps of training", ylabel="loss", spec=".2f")
# --8<-- [end:trained]

# --8<-- [start:answer]
model = from_json(published.text)._replace(vocabulary=WORDS)
ids = token_ids(asked, model)
Z, seen = language_model(ids, model)
p = softmax(Z[-1])
likeliest = np.argsort(-p)[:8]
looked = np.array([weights[r, -1] for weights in seen for r in range(2)])
beside(
    heatmap(looked.T, rows=asked, columns=["1.1", "1.2", "2.1", "2.2"], scale=(0, 1)),
    heatmap(p[likeliest, None], rows=[WORDS[j] for j in likeliest], scale=(0, 1), name="next word"),
)
# --8<-- [end:answer]

# --8<-- [start:writes]
first_words = token_ids("bob sleeps . ann", random_model)
uniforms = np.random.default_rng(SEED).random(14)  # the same draws at every step
stages = (0, 20, 60, 300)
table(
    [[in_words(generate(first_words, watched[step], uniforms))] for step in stages],
    columns=["story"],
    index=[f"step {step}" for step in stages],
)
# --8<-- [end:writes]


# --8<-- [start:starts]
def above_source(model):
    """By how much each loss on new stories exceeds that of their source."""
    logits, _ = language_model(held_out[:, :-1], model)
    return cross_entropy(logits, held_out[:, 1:]) - true_losses(held_out)[:, 1:]


gaps = []
for seed in range(SEED, SEED + 5):
    started = begin(seed, WORDS, n_max=24, depth=2, whole=True)
    found = trained if seed == SEED else train(started, pairs, rate=0.01)[0]
    gaps.append(above_source(found).mean())
table([gaps], columns=[f"start {i}" for i in range(1, 6)], spec=".3f", name="loss above the source")
# --8<-- [end:starts]

# --8<-- [start:measured]
above = above_source(model)
gap, error = mean_interval(above.mean(axis=-1))
print(f"All words: {gap:.4f} ± {error:.4f}")
table(
    [above[:, 0::3].mean(axis=0)],
    columns=[f"sentence {s}" for s in range(1, 9)],
    spec=".2f",
    name="verbs alone",
)
# --8<-- [end:measured]


# --8<-- [start:as-torch]
def torch_logits(ids, model):
    """The same parameters in PyTorch's own modules."""
    d, p = model.table.shape[1], convert(model, torch.tensor)
    layers = []
    torch.manual_seed(SEED)  # replaced by ours
    for block in p.blocks:
        layer = torch.nn.TransformerEncoderLayer(
            d, 2, 2 * d, 0.0, batch_first=True, norm_first=True, bias=False, dtype=Z64
        ).eval()
        a = block.attention
        with torch.no_grad():
            layer.self_attn.in_proj_weight.copy_(torch.cat([a.W_q.T, a.W_k.T, a.W_v.T]))
            layer.self_attn.out_proj.weight.copy_(a.W_o.T)
            layer.linear1.weight.copy_(block.W_1.T)
            layer.linear2.weight.copy_(block.W_2.T)
        layers.append(layer)
    n = ids.shape[1]
    ids = torch.from_numpy(ids)
    future = torch.ones(n, n, dtype=torch.bool).triu(1)  # True is masked out here
    x = torch.nn.functional.embedding(ids, p.table) + p.positions[:n]
    with torch.no_grad():
        for layer in layers:
            x = layer(x, src_mask=future)
        return torch.nn.functional.layer_norm(x, (d,), p.gamma) @ p.W_u


Z64 = torch.float64
ours, _ = language_model(held_out[:100], model)
theirs = torch_logits(held_out[:100], model).numpy()
exact, _ = language_model(held_out[:100], trained)
check("logits of 100 stories agree to within 10⁻¹²", np.abs(ours - theirs).max() < 1e-12)
change = np.abs(softmax(ours) - softmax(exact)).max()
check("six digits move the probabilities by less than 10⁻⁴", change < 1e-4)
table(
    [ours[0, -1, :8], theirs[0, -1, :8]],
    columns=NAMES,
    index=["NumPy", "PyTorch"],
    spec=".3f",
    name="logits after the first story",
)
# --8<-- [end:as-torch]

# --8<-- [start:mistake-shift]
same = [(ids, ids) for ids in corpus.reshape(500, 32, 24)[:50]]
copying, falling = train(random_model, same, rate=0.01)
begun = token_ids("ann sings . bob", random_model)
written = [in_words(generate(begun, m, np.zeros(5), top_k=1)) for m in (copying, trained)]
table(
    [[falling[-1], written[0]], [losses[-1], written[1]]],
    columns=["last loss", "written"],
    index=["not shifted (wrong)", "shifted (right)"],
    spec=".2f",
)
# --8<-- [end:mistake-shift]

# --8<-- [start:watch]
heads = ["1.1", "1.2", "2.1", "2.2"]
ids = token_ids(asked, random_model)


def frame(i, step):
    """Where the last word looks before this step, and what comes next."""
    Z, seen = language_model(ids, watched[step])
    p = softmax(Z[-1])
    looked = np.array([weights[r, -1] for weights in seen for r in range(2)])
    near = np.mean(losses[max(0, step - 10) : step + 10])
    caption = f"Loss {number(near, '.2f')}. All verbs together get {number(p[8:16].sum(), '.2f')}."
    drawn = beside(
        heatmap(looked.T, rows=asked, columns=heads, scale=(0, 1), name="weights"),
        heatmap(p[8:16, None], rows=VERBS, scale=(0, 1), name="probabilities"),
    )
    return Frame((str(i),), f"t = {step}", (drawn,), caption)


slider("steps of training", [frame(i, step) for i, step in enumerate(watched)])
# --8<-- [end:watch]

# --8<-- [start:words]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def repeated(rng, count, n=24):
    """Words of 4 to 10 different letters, each repeated to n letters; their periods."""
    letters = rng.permuted(np.tile(np.arange(26), (count, 1)), axis=1)
    period = rng.integers(4, 11, count)
    return np.take_along_axis(letters, np.arange(n) % period[:, None], axis=1), period


rng = np.random.default_rng(SEED)
examples, periods = repeated(rng, 1000)
table(
    [[" ".join(LETTERS[i] for i in examples[r]), periods[r]] for r in range(3)],
    columns=["letters", "period"],
)
# --8<-- [end:words]


# --8<-- [start:induction]
def examined(model):
    """Share right once a letter came before; weights on the target and the letter before."""
    Z, seen = language_model(examples[:, :-1], model)
    i, p = np.arange(23), periods[:, None]
    known = i >= p
    right = (Z.argmax(axis=-1) == examples[:, 1:])[known].mean()
    # keys that stand right after an earlier i-th letter: j = i + 1 - p, i + 1 - 2p, …
    after = ((i[:, None] + 1 - i) % p[..., None] == 0) & (i <= i[:, None])
    on_target, before = [], []
    for weights in seen:
        hit = (weights * after[:, None]).sum(axis=-1)
        on_target += [hit[:, r][known].mean() for r in range(2)]
        before += [weights[:, r, i[1:], i[:-1]].mean() for r in range(2)]
    return right, on_target, before


SEEDS = (SEED, SEED + 1, SEED + 2)
two, one, taught = [], [], set()
for seed in SEEDS:
    rng = np.random.default_rng(seed + 100)
    batches = [repeated(rng, 32)[0] for _ in range(250)]
    taught |= {row.tobytes() for ids in batches for row in ids}
    pairs = [(ids[:, :-1], ids[:, 1:]) for ids in batches]
    for depth, d, found in ((2, 32, two), (1, 44, one)):
        started = begin(seed, LETTERS, 24, depth, whole=False, d=d)
        found.append(train(started, pairs, 0.02)[0])
new = [row.tobytes() not in taught for row in examples]
examples, periods = examples[new], periods[new]
two_layers = TextFile("two-layers.json", to_json(two[0]))
one_layer = TextFile("one-layer.json", to_json(one[0]))
sizes = [
    sum(a.size for a in parameter_arrays(m._replace(positions=None))) for m in (two[0], one[0])
]
check("two layers have 9,856 parameters", sizes[0] == 9856)
results = {depth: [examined(m) for m in found] for depth, found in ((2, two), (1, one))}
ablated = []  # without each head, without both of layer 1
for m in two:
    cut = [without_head(m, layer, r) for layer in (0, 1) for r in (0, 1)]
    cut.append(without_head(cut[0], 0, 1))
    ablated.append([examined(without)[0] for without in cut])
starts = [f"start {i}" for i in range(1, 4)]
# A guess by counts alone: a letter that came once less than the others, or any but the last one.
i = np.arange(23)
left = (i + 1) % periods[:, None]
chance = 1 / np.where(left > 0, periods[:, None] - left, periods[:, None] - 1)
by_counts = chance[i >= periods[:, None]].mean()
table(
    [[sizes[k], *(right for right, _, _ in results[depth])] for k, depth in enumerate((2, 1))],
    columns=["parameters", *starts],
    index=["two layers", "one layer"],
    spec=[",", ".3f", ".3f", ".3f"],
    name="share of right letters",
)
# --8<-- [end:induction]

# --8<-- [start:look]
letters = "horsehorsehorse"  # knob
reader = from_json(two_layers.text)
ids = token_ids(list(letters), reader)
Z, seen = language_model(ids, reader)
maps = np.concatenate(seen)  # (4, n, n)
says = softmax(Z)
word = [*letters]


def frame(i):
    """What the four heads see from letter i, and the letter that the model expects."""
    targets = [j for j in range(1, i + 1) if letters[j - 1] == letters[i]]
    best = int(Z[i].argmax())
    shown = heatmap(
        maps[:, i],
        rows=["1.1", "1.2", "2.1", "2.2"],
        columns=word,
        highlight=[(r, j) for r in (2, 3) for j in targets],
        scale=(0, 1),
        numbers=False,
        allowed=np.tile(np.arange(len(word)) <= i, (4, 1)),
    )
    guess = f"{LETTERS[best]} ({says[i, best]:.2f})"
    caption = f"The model expects {guess}."
    return Frame((str(i),), f"{letters[: i + 1]} …", (shown,), caption)


slider("letters read", [frame(i) for i in range(len(word))], 7, answer="5")
# --8<-- [end:look]

# --8<-- [start:longer]
two_more = []
for steps, d, num_heads, rate in ((1000, 44, 2, 0.02), (600, 128, 8, 0.01)):
    rng = np.random.default_rng(SEED + 100)
    batches = [repeated(rng, 32)[0] for _ in range(steps)]
    taught |= {row.tobytes() for ids in batches for row in ids}
    pairs = [(ids[:, :-1], ids[:, 1:]) for ids in batches]
    started = begin(SEED, LETTERS, 24, 1, whole=False, d=d)._replace(num_heads=num_heads)
    two_more.append([steps, train(started, pairs, rate)[0]])
new = [row.tobytes() not in taught for row in examples]
examples, periods = examples[new], periods[new]
rows = []
for steps, found in two_more:
    Z, _ = language_model(examples[:, :-1], found)
    known = np.arange(23) >= periods[:, None]
    size = sum(a.size for a in parameter_arrays(found._replace(positions=None)))
    rows.append([size, steps, (Z.argmax(axis=-1) == examples[:, 1:])[known].mean()])
table(
    rows,
    columns=["parameters", "steps", "share of right letters"],
    index=["one layer, longer", "one layer, wider"],
    spec=[",", ",", ".3f"],
)
# --8<-- [end:longer]

# --8<-- [start:by-head]
table([found[1] for found in results[2]], columns=heads, index=starts, spec=".2f")
# --8<-- [end:by-head]

# --8<-- [start:letter-before]
table([found[2] for found in results[2]], columns=heads, index=starts, spec=".2f")
# --8<-- [end:letter-before]

# --8<-- [start:ablation]
table(ablated, columns=[*heads, "1.1, 1.2"], index=starts, spec=".3f")
# --8<-- [end:ablation]

# --8<-- [start:one-layer]
single = from_json(one_layer.text)
same = []
for m in (m._replace(positions=np.zeros_like(m.positions)) for m in (single, reader)):
    ends = [language_model(token_ids(list(s), m), m)[0][-1] for s in ("abcda", "acbda")]
    same.append([np.abs(ends[0] - ends[1]).max() < 1e-12])
table(same, columns=["the same row?"], index=["one layer", "two layers"])
# --8<-- [end:one-layer]

# --8<-- [start:write]
begun = token_ids("ann sings . bob sleeps . ann", model)
rng = np.random.default_rng(SEED)
ways = {"greedy": {"top_k": 1}, "τ = 1": {}, "τ = 3": {"temperature": 3}}
drawn = [generate(begun, model, rng.random(11), **way) for way in ways.values()]
table([[in_words(one)] for one in drawn], columns=["story"], index=list(ways))
# --8<-- [end:write]

# --8<-- [start:cut]
z = np.log([0.4, 0.3, 0.2, 0.1])
ways = {"τ = 0.5": {"temperature": 0.5}, "k = 2": {"top_k": 2}, "c = 0.8": {"top_p": 0.8}}
table(
    [token_distribution(z, **options) for options in ways.values()],
    columns=numbered("word", 4),
    index=list(ways),
    spec=".3f",
)
# --8<-- [end:cut]

# --8<-- [start:min-p]
shapes = {  # of 1,000 words
    "sure: one word 0.9": np.r_[0.9, np.full(999, 0.1 / 999)],
    "unsure: 20 words alike": np.r_[np.full(20, 0.99 / 20), np.full(980, 0.01 / 980)],
}
kept_words = [
    [int((np.cumsum(p) - p < 0.95 - 1e-12).sum()), int((p >= 0.05 * p.max()).sum())]
    for p in shapes.values()
]
table(kept_words, columns=["top-p, c = 0.95", "min-p 0.05"], index=list(shapes))
# --8<-- [end:min-p]


# --8<-- [start:settings]
def allowed(ids):
    """Which words may come after each word of a story but the last."""
    words = np.zeros((*ids.shape, 18), dtype=bool)
    words[:, 0::3, :8] = words[:, 2::3, 16:] = True
    who = ids[:, 0::3]
    alike = who[:, :, None] == who[:, None, :]
    known = (alike & np.tri(8, k=-1, dtype=bool)).any(axis=-1)
    own = np.eye(18, dtype=bool)[ids[:, 1::3]]
    words[:, 1::3] = np.where(known[..., None], own, (np.arange(18) // 8) == 1)
    return words[:, 1:]


of_stories = language_model(held_out[:500, :-1], model)[0]
may_come = allowed(held_out[:500])
settings = {
    "τ = 0.5": {"temperature": 0.5},
    "τ = 1": {},
    "τ = 2": {"temperature": 2},
    "k = 4": {"top_k": 4},
    "c = 0.8": {"top_p": 0.8},
}
shares = []
for options in settings.values():
    chances = token_distribution(of_stories, **options)
    right = (chances * may_come).sum(axis=-1).mean()
    ann = chances[:, 2::3, 0].mean()  # where a name comes
    wanted = token_distribution(np.log(P_NAME), **options)[0]
    shares.append([right, ann, wanted])
table(
    shares,
    columns=["right words", "ann, model", "ann, formula"],
    index=list(settings),
    spec=".2f",
)
# --8<-- [end:settings]

# --8<-- [start:mistake-sum]
four = np.array([0.4, 0.3, 0.2, 0.1])
cut = np.where(four >= 0.3, four, 0)  # top 2, not divided by their sum
u = (np.arange(1000) + 0.5) / 1000
drawn = np.minimum(np.searchsorted(np.cumsum(cut), u), 3)
rows = np.tile(token_distribution(np.log(four), top_k=2), (1000, 1))
try:
    sample(cut, np.array(0.5))
    refused = False
except ValueError:
    refused = True
check("the package refuses to draw from what does not sum to 1", refused)
table(
    [np.bincount(ids, minlength=4) / 1000 for ids in (drawn, sample(rows, u))],
    columns=numbered("word", 4),
    index=["not divided (wrong)", "divided (right)"],
    spec=".3f",
)
# --8<-- [end:mistake-sum]

# --8<-- [start:cache]
ids = token_ids(asked, model)
whole = language_model(ids, model)[0][-1]  # without a cache
caches = [None, None]  # the keys and values of each block
for t in range(len(ids)):
    x = model.table[ids[t : t + 1]] + model.positions[t : t + 1]  # the new word
    for b, block in enumerate(model.blocks):
        x, caches[b] = cached_block(x, block, model.num_heads, caches[b])
by_cache = layer_norm(x[-1], model.gamma) @ model.W_u
gap = np.abs(by_cache - whole).max()
check("both ways give the same logits to within 10⁻¹²", gap < 1e-12)
n = len(ids)
table(
    [[n * (n + 1) // 2, softmax(whole).max()], [n, softmax(by_cache).max()]],
    columns=["vectors through each block", "largest probability"],
    index=["the whole text for each word", "one word and a cache"],
    spec=["d", ".3f"],
)
# --8<-- [end:cache]

# --8<-- [start:exercise-pencil]
z = np.log([1.0, 3.0, 4.0])
gradient = cross_entropy_gradient(z, np.array(1))
table(
    [[cross_entropy(z, np.array(1)).item(), log(8 / 3), gradient]],
    columns=["loss", "ln(8/3)", "gradient"],
    spec=[".4f", ".4f", ".3f"],
)
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-perplexity]
given = np.array([1 / 2, 1 / 4, 1 / 8])
table(
    [[exp(-np.log(given).mean())], [exp(-np.log(given / 2).mean())]],
    columns=["perplexity"],
    index=["1/2, 1/4, 1/8", "half of each"],
    spec=".2f",
)
# --8<-- [end:exercise-perplexity]

# --8<-- [start:exercise-price]
z = np.log([0.5, 0.3, 0.15, 0.05])
kept = token_distribution(z, top_p=0.9)
p, inside = softmax(z), kept > 0
price = (kept[inside] * np.log(kept[inside] / p[inside])).sum()
table(
    [[*kept, price, -log(0.95)]],
    columns=[*numbered("word", 4), "D(r ‖ p)", "−ln 0.95"],
    spec=".4f",
)
# --8<-- [end:exercise-price]

# --8<-- [start:exercise-order]
z = np.log([0.5, 0.3, 0.2])
warm = token_distribution(z, temperature=2, top_p=0.75)
kept = token_distribution(z, top_p=0.75)
table(
    [warm, np.sqrt(kept) / np.sqrt(kept).sum()],
    columns=numbered("word", 3),
    index=["temperature first", "temperature last"],
    spec=".3f",
)
# --8<-- [end:exercise-order]

# --8<-- [start:exercise-zero]
z = np.array([-1.0, -2.0, -3.0, -4.0])
wrong = softmax(np.where(z >= -2, z, 0))
right = token_distribution(z, top_k=2)
table(
    [wrong, right],
    columns=numbered("word", 4),
    index=["cut with 0 (wrong)", "cut with −∞ (right)"],
    spec=".3f",
)
# --8<-- [end:exercise-zero]

# --8<-- [start:exercise-new]
who = corpus[:, 0::3]
found = []
for s in (1, 7):
    counted = (who[:, s, None] != who[:, :s]).all(axis=1).mean()
    found.append([s + 1, is_new[s], counted, is_new[s] * log(8)])
table(
    found,
    columns=["sentence", "new, formula", "new, counted", "loss of the verb"],
    spec=["d", ".2f", ".2f", ".2f"],
)
# --8<-- [end:exercise-new]

# --8<-- [start:exercise-copy]
ids = token_ids([*"frogfrogf"], reader)
after = [softmax(language_model(ids, m)[0][-1]) for m in (reader, single)]
of_word = np.array([[p[LETTERS.index(c)] for c in "frog"] for p in after])
table(
    np.column_stack([of_word, 1 - of_word.sum(axis=1)]),
    columns=[*"frog", "all other letters"],
    index=["two layers", "one layer"],
    spec=".2f",
)
# --8<-- [end:exercise-copy]


# --8<-- [start:writing]
def your_loss(logits, targets):
    """Mean cross-entropy of logits (n, vocabulary) for targets (n,)."""
    return 0.0  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_loss(logits, targets):
    probabilities = softmax(logits)
    of_targets = probabilities[np.arange(len(targets)), targets]
    return -np.log(of_targets).mean()


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

three_logits = np.log([[1.0, 3, 4], [2, 2, 4], [5, 1, 2]])
writing = Task(
    model_loss,
    inputs=[
        (np.zeros((1, 2)), np.array([0])),
        (np.log([[1.0, 3]]), np.array([1])),
        (three_logits, np.array([1, 0, 2])),
        (np.arange(20.0).reshape(4, 5) % 3 * 15, np.array([4, 0, 2, 2])),
    ],
    mistakes={
        "The losses were added up: take their mean.": (lambda z, t: model_loss(z, t) * len(t)),
        "This is the mean probability: the loss is minus its logarithm.": (
            lambda z, t: softmax(z)[np.arange(len(t)), t].mean()
        ),
        "The mean of the probabilities was taken before the logarithm.": (
            lambda z, t: -np.log(softmax(z)[np.arange(len(t)), t].mean())
        ),
        "The minus is missing: a logarithm of a probability is negative.": (
            lambda z, t: -model_loss(z, t)
        ),
        "Softmax is missing: the logits themselves were taken.": (
            lambda z, t: -z[np.arange(len(t)), t].mean()
        ),
        "The mean runs over all words, but only the word that came counts.": (
            lambda z, t: -np.log(softmax(z)).mean()
        ),
    },
    # an eighth more: logits that were taken as they are never have the mean 0
    draw=lambda rng: (halves(rng, 3, 6) + 1 / 8, rng.integers(6, size=3)),
)
judge(your_loss, writing)
# --8<-- [end:writing-checks]
