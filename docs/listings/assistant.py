"""From next word to assistant: a chat as text, tuning on answers, preferences, what it invents."""

# --8<-- [start:setup]
import re
from fractions import Fraction
from math import log, sqrt

import numpy as np

from attention_docs.assistant import (
    add_low_rank,
    chat_text,
    dpo_loss,
    load_answers,
    masked_cross_entropy,
    preference_loss,
    preference_probability,
    tilted_policy,
)
from attention_docs.data import load_sizes
from attention_docs.figures import Frame, bar_chart, beside, slider, table, token_lines
from attention_docs.text import check, number
from attention_docs.tokens import cut_text, load_vocabulary, spell_token

measured = load_answers()
said = {country: one["text"] for country, one in measured.greedy.items()}
sizes = load_sizes()
years = 2e12 * 0.75 / 250 / (60 * 24 * 365)  # 3 words for 4 tokens, 250 words a minute
# --8<-- [end:setup]

# --8<-- [start:pretraining]
models = {
    "SmolLM2-135M": (sizes.parameters, 2e12, None),
    "SmolLM2-1.7B": (1.7e9, 11e12, 250_000),
    "DeepSeek-V3": (37e9, 14.8e12, 5_328_000),
    "Llama 3.1 405B": (405e9, 15.6e12, None),
}
table(
    [[float(n), t, 6 * n * t, price] for n, t, price in models.values()],
    columns=["parameters", "tokens read", "operations", "price in dollars"],
    index=list(models),
    spec=[".2e", ".1e", ".1e", ",d"],
)
# --8<-- [end:pretraining]

# --8<-- [start:chat]
first_question = "What is the capital of France?"  # knob
first_chat = chat_text([("user", first_question)])
turns = first_chat.split("<|im_start|>")[1:]
ranks = load_vocabulary()[1]


def cut_turn(turn):
    """The tokens of a turn as text, and which of them are marks."""
    cut = [("<|im_start|>", True)]
    for part in re.split(r"(<\|im_end\|>)", turn):
        is_mark = part == "<|im_end|>"
        tokens = [part] if is_mark else map(spell_token, cut_text(part, ranks))
        cut += [(one.replace(" ", "␣").replace("\n", "⏎"), is_mark) for one in tokens]
    return cut


print(first_chat)
token_lines([cut_turn(turn) for turn in turns], label="marks")
# --8<-- [end:chat]

# --8<-- [start:toy]
import torch

from attention_docs.generation import cached_block
from attention_docs.language_model import (
    LanguageModel,
    convert,
    cross_entropy,
    language_model,
    parameter_arrays,
    sample,
)
from attention_docs.multi_head import Parameters
from attention_docs.positions import sinusoids
from attention_docs.softmax import softmax
from attention_docs.transformer_block import BlockParameters, layer_norm

torch.set_num_threads(1)  # small matrices: more threads only wait
SEED, D = 2017, 32
NAMES = ("ann", "bob", "eve", "kim", "leo", "max", "tom", "zoe")
VERBS = ("sings", "runs", "reads", "sleeps", "cooks", "waits", "draws", "swims")
WORDS = (*NAMES, *VERBS, ".", "and", "⟨ask⟩", "⟨answer⟩")  # ids 0 to 19
STOP, ASK, ANSWER = 16, 18, 19
P_NAME = 1 / np.arange(1, 9)
P_NAME /= P_NAME.sum()


def stories(rng, count, sentences):
    """Each person does one thing in a story; the next one may do anything."""
    does = rng.integers(8, 16, (count, 8))
    who = rng.choice(8, (count, sentences), p=P_NAME)
    end = 16 + (rng.random((count, sentences)) < 1 / 4)
    tokens = [who, np.take_along_axis(does, who, axis=1), end]
    return np.stack(tokens, axis=2).reshape(count, -1)


def begin(seed):
    """The model of the chapter on language models, before its training."""
    rng = np.random.default_rng(seed)

    def random(rows, columns):
        return rng.standard_normal((rows, columns)) / sqrt(rows)

    def block():
        attend = Parameters(*(random(D, D) for _ in range(4)))
        return BlockParameters(attend, random(D, 2 * D), random(2 * D, D))

    return LanguageModel(
        table=rng.standard_normal((18, D)),
        positions=sqrt(2) * sinusoids(np.arange(24.0), D, base=30),
        blocks=(block(), block()),
        W_u=random(D, 18),
        num_heads=2,
        gamma=np.ones(D),
    )


def train(model, batches, loss_of, rate):
    """The model by Adam; `loss_of` takes the model and a batch."""
    leaves = convert(model, lambda a: torch.tensor(a, requires_grad=True))
    leaves = leaves._replace(positions=torch.tensor(model.positions))
    moved = [a for a in parameter_arrays(leaves) if a.requires_grad]
    mean, square = ([torch.zeros_like(p) for p in moved] for _ in range(2))
    for t, batch in enumerate(batches, start=1):
        slopes = torch.autograd.grad(loss_of(leaves, *batch), moved)
        eta = rate * min(1, 2 - 2 * t / len(batches))  # falls in the second half
        with torch.no_grad():
            for p, g, m, v in zip(moved, slopes, mean, square, strict=True):
                m += 0.1 * (g - m)
                v += 0.01 * (g * g - v)
                g = (m / (1 - 0.9**t)) / (torch.sqrt(v / (1 - 0.99**t)) + 1e-8)
                # On a grid, so that every processor finds the same model.
                p.copy_(torch.round((p - eta * g) * 2**16) / 2**16)
    return convert(leaves, lambda a: a.detach().numpy())


def count_all(model, ids):
    """The mean loss of all tokens but the first."""
    logits, _ = language_model(ids[:, :-1], model)
    return cross_entropy(logits, ids[:, 1:]).mean()


def in_batches(ids, size=32):
    return [(torch.from_numpy(one),) for one in ids.reshape(-1, size, ids.shape[1])]


lessons = stories(np.random.default_rng(SEED), 300 * 32, 8)
pretrained = train(begin(SEED), in_batches(lessons), count_all, rate=0.01)
held_out = stories(np.random.default_rng(SEED + 1), 500, 8)


def story_loss(model):
    return float(count_all(model, held_out))


# --8<-- [end:toy]


# --8<-- [start:chats]
def chats(rng, count):
    """A story of four sentences, a question for one of its people, and the answer."""
    story, rows = stories(rng, count, 4), np.arange(count)
    asked = rng.integers(4, size=count)
    name, verb = (story[:, start::3][rows, asked] for start in (0, 1))
    marks = [np.full(count, mark) for mark in (ASK, ANSWER, STOP)]
    return np.column_stack([story, marks[0], name, marks[1], verb, marks[2]])


def in_words(ids):
    return " ".join(WORDS[i] for i in ids)


new_chats = chats(np.random.default_rng(SEED + 2), 1000)
in_order = [WORDS[i] for i in new_chats[0]]
story, asked, answer = in_order[:12], in_order[12:14], in_order[14:]
token_lines(
    [
        *([(word, False) for word in line] for line in (story, asked)),
        [(word, i > 0) for i, word in enumerate(answer)],  # its mark is given
    ],
    label="count in the loss",
)
# --8<-- [end:chats]


# --8<-- [start:answers]
def count_answers(model, ids):
    """The mean loss of the answer's tokens, its end included."""
    logits, _ = language_model(ids[:, :-1], model)
    counted = torch.zeros(ids[:, 1:].shape, dtype=torch.bool)
    counted[:, -2:] = True
    return masked_cross_entropy(logits, ids[:, 1:], counted)


def add_marks(model, rng):
    """Two more tokens: a row of the table and a column of W_U for each."""
    rows, columns = rng.standard_normal((2, D)), rng.standard_normal((D, 2)) / sqrt(D)
    return model._replace(
        table=np.concatenate([model.table, rows]),
        W_u=np.concatenate([model.W_u, columns], axis=1),
    )


def say_answers(model):
    """The likeliest token after each of the new chats."""
    logits, _ = language_model(new_chats[:, :-2], model)
    return logits[:, -1].argmax(axis=-1)


def right_answers(model):
    """The share of new chats whose answer the model finds likeliest."""
    return (say_answers(model) == new_chats[:, -2]).mean()


STARTS = range(3)
BEST, ALL = "pre-trained, answers count", "pre-trained, all tokens count"
ways = {
    BEST: (True, count_answers),
    ALL: (True, count_all),
    "not pre-trained, answers count": (False, count_answers),
}
right, stories_after = {name: [] for name in ways}, {name: [] for name in ways}
shown = {name: [] for name in ways}
for start in STARTS:
    examples = in_batches(chats(np.random.default_rng(start), 80 * 32))
    for name, (is_pretrained, loss_of) in ways.items():
        model = pretrained if is_pretrained else begin(SEED + 1 + start)
        model = add_marks(model, np.random.default_rng(start))
        tuned = train(model, examples, loss_of, rate=0.005)
        right[name].append(right_answers(tuned))
        stories_after[name].append(story_loss(tuned))
        shown[name].append(say_answers(tuned)[0])
untuned = [add_marks(pretrained, np.random.default_rng(start)) for start in STARTS]
before = [right_answers(model) for model in untuned], [story_loss(model) for model in untuned]
said_before = in_words(say_answers(model)[0] for model in untuned)
by_chance = (new_chats[:, 1:12:3] == new_chats[:, -2:-1]).mean()
table(
    [
        [said_before, *before],
        *([in_words(shown[name]), right[name], stories_after[name]] for name in ways),
    ],
    columns=["in the chat above", "right answers", "loss on new stories"],
    index=["only pre-trained", *ways],
    spec=".2f",
)
# --8<-- [end:answers]

# --8<-- [start:invents]
real, made_up = ([*measured.capitals[kind].values()] for kind in ("real", "made up"))
known = [one["name"].startswith(one["likeliest"][0][0].strip()) for one in real]
hesitates = [[one["perplexity"] for one in asked] for asked in (real, made_up)]
most, least = max(hesitates[0]), min(hesitates[1])
check("after each made-up country it hesitates more", most < least)
spoken = measured.greedy["Zubrowka"]["tokens"]
gap = [token for token, _ in spoken].index(" is") + 1  # the name of the capital is due
least_around = min(p for _, p in spoken[1:gap])
put_off = sum(one["likeliest"][0][0].strip() in ("a", "the") for one in made_up)


def draw_perplexity(kind, values):
    """A bar for each country, and the token that is likeliest after it."""
    likeliest = [one["likeliest"][0][0].strip() for one in measured.capitals[kind].values()]
    return bar_chart(
        list(measured.capitals[kind]),
        {"": values},
        ylabel="perplexity of the next token",
        scale=(0, max(hesitates[1])),
        spec=".1f",
        names=[likeliest],
    )


beside(
    draw_perplexity("real", hesitates[0]),
    draw_perplexity("made up", hesitates[1]),
    columns=1,
)
# --8<-- [end:invents]

# --8<-- [start:countries]
asked_for = {**measured.capitals["real"], **measured.capitals["made up"]}
table(
    [[one["likeliest"][0][0].strip(), one["likeliest"][0][1]] for one in asked_for.values()],
    columns=["likeliest token", "probability"],
    index=list(asked_for),
    spec=["", ".2f"],
)
# --8<-- [end:countries]

# --8<-- [start:bradley-terry]
leads = np.array([0.0, log(3), 2.0, 5.0])
preferred = preference_probability(leads, np.zeros(4))
check(
    "as softmax of both rewards",
    np.allclose(preferred, 1 / (1 + np.exp(-leads)), rtol=0, atol=1e-12),
)
table(
    np.column_stack([preferred, preference_loss(leads, np.zeros(4))]),
    columns=["probability of being preferred", "loss"],
    index=["lead 0", "lead ln 3", "lead 2", "lead 5"],
    spec=".3f",
)
# --8<-- [end:bradley-terry]

# --8<-- [start:tilt]
before_all = np.full(8, 1 / 8)  # the eight verbs after a new name
rewards = np.array([2.0] + 7 * [0.0])  # for sings


def frame(i, beta):
    """The best policy at one β."""
    policy = tilted_policy(before_all, rewards, float(beta))
    drawn = bar_chart(
        VERBS,
        {"reference": before_all, "best policy": policy},
        ylabel="probability",
        roles=["neutral", "weight"],
        scale=(0, 1),
        spec=".3f",
    )
    caption = f"The best policy lets Ann sing with probability {number(policy[0], '.3f')}."
    return Frame((str(i),), f"β = {beta}", (drawn,), caption)


betas = [Fraction(8) / 2**i for i in range(6)]
slider("β", [frame(i, beta) for i, beta in enumerate(betas)], 3)
# --8<-- [end:tilt]

# --8<-- [start:three-texts]
given, earned = np.array([1 / 2, 1 / 3, 1 / 6]), np.log([1.0, 3.0, 3.0])
policies = {
    "reference": given,
    "best policy": tilted_policy(given, earned, 1.0),
    "only text 2": np.array([0.0, 1.0, 0.0]),
}
kept = []
for policy in policies.values():
    written = policy > 0
    ratios = np.log(policy[written] / given[written])
    mean_reward, divergence = policy @ earned, policy[written] @ ratios
    kept.append([*policy, mean_reward, divergence, mean_reward - divergence])
table(
    kept,
    columns=["text 1", "text 2", "text 3", "mean reward", "divergence", "what is left"],
    index=list(policies),
    spec=3 * [".2f"] + 3 * [".3f"],
)
# --8<-- [end:three-texts]


# --8<-- [start:policy-drawn]
third = np.array([1 / 2, 1 / 4, 1 / 4])
ln_rewards = np.log([1.0, 2.0, 4.0])
candidates = np.random.default_rng(SEED).dirichlet(np.ones(3), 1000)


def worth(policy, beta):
    """Mean reward minus β times the divergence from the reference."""
    charge = (policy * np.log(policy / third)).sum(axis=-1)
    return policy @ ln_rewards - beta * charge


compared = []
for beta in (2.0, 1.0, 0.5):
    best_value = worth(tilted_policy(third, ln_rewards, beta), beta)
    formula = beta * log(third @ np.exp(ln_rewards / beta))
    check("the best policy is worth β ln C", abs(best_value - formula) < 1e-12)
    others = worth(candidates, beta)
    check("no other policy is worth more", others.max() < best_value)
    compared.append([formula, best_value, others.max()])
table(
    compared,
    columns=["β ln C", "best policy", "best of the others"],
    index=["β = 2", "β = 1", "β = 1/2"],
    spec=".3f",
)
# --8<-- [end:policy-drawn]


# --8<-- [start:pairs]
def write_stories(model, rng, count, n=12):
    """Stories of four sentences that a model writes, with a cache."""
    ids, caches = [rng.choice(8, count, p=P_NAME)], [None, None]
    for t in range(n - 1):
        x = (model.table[ids[t]] + model.positions[t])[:, None]
        for b, block in enumerate(model.blocks):
            x, caches[b] = cached_block(x, block, model.num_heads, caches[b])
        chances = softmax(layer_norm(x[:, 0], model.gamma) @ model.W_u)
        ids.append(sample(chances, rng.random(count)))
    return np.stack(ids, axis=1)


def ann_sings(ids):
    return ((ids[:, 0::3] == 0) & (ids[:, 1::3] == 8)).any(axis=1)


def log_probability(model, ids):
    """ln of the probability of each story, its first word given."""
    logits, _ = language_model(ids[:, :-1], model)
    return -cross_entropy(logits, ids[:, 1:]).sum(axis=-1)


REWARD, STEPS, SIZE = 2.0, 50, 16
drawn = write_stories(pretrained, np.random.default_rng(SEED), 8000)
sings = ann_sings(drawn)
reference = convert(pretrained, torch.tensor)


def pairs(rng, reward):
    """Batches of preferred and rejected stories, and how probable the reference finds them."""
    count = STEPS * SIZE
    with_ann, without = (rng.permutation(np.flatnonzero(one))[:count] for one in (sings, ~sings))
    is_liked = rng.random(count) < preference_probability(np.array(reward), np.array(0.0))
    chosen = drawn[np.where(is_liked, with_ann, without)]
    rejected = drawn[np.where(is_liked, without, with_ann)]
    both = torch.from_numpy(np.stack([chosen, rejected], axis=1)).reshape(STEPS, SIZE, 2, 12)
    flat = both.swapaxes(1, 2).reshape(STEPS, 2 * SIZE, 12)
    return [(ids, log_probability(reference, ids)) for ids in flat]


# --8<-- [end:pairs]


# --8<-- [start:preferences]
def prefer(beta):
    """The loss of DPO, of a batch whose first half is preferred."""

    def loss_of(model, ids, known):
        now = log_probability(model, ids)
        return dpo_loss(now[:SIZE], now[SIZE:], known[:SIZE], known[SIZE:], beta).mean()

    return loss_of


def observe(model):
    """What a model writes: Ann sings, others sing; how far it went; its loss on stories."""
    written = write_stories(model, np.random.default_rng(SEED + 3), 1000)
    others = written[:, 0::3] != 0
    ratios = log_probability(model, written) - log_probability(pretrained, written)
    return (
        ann_sings(written).mean(),
        (written[:, 1::3] == 8)[others].mean(),
        ratios.mean(),
        story_loss(model),
    )


settings = {"β = 1": (1.0, REWARD), "β = 1/2": (0.5, REWARD), "β = 1/2, coin": (0.5, 0.0)}
share = sings.mean()
parts = np.array([share, 1 - share])
others_before = observe(pretrained)[1]
rows = [[[share], None, [others_before], [story_loss(pretrained)]]]
seen, distances, detours = {}, [], []
for name, (beta, reward) in settings.items():
    found = []
    for start in STARTS:
        batches = pairs(np.random.default_rng(start), reward)
        found.append(observe(train(pretrained, batches, prefer(beta), rate=0.003)))
    seen[name] = np.array(found).T
    best = tilted_policy(parts, np.array([reward, 0.0]), beta)
    least = (best * np.log(best / parts)).sum()
    rows.append([seen[name][0], best[0], seen[name][1], seen[name][3]])
    distances.append([seen[name][2], least])
    if reward:
        detours += [*(seen[name][2] / least)]
table(
    rows,
    columns=[
        "stories in which Ann sings",
        "with the best policy",
        "others' sentences with “sings”",
        "loss on ordinary stories",
    ],
    index=["before", *settings],
    spec=".2f",
)
# --8<-- [end:preferences]

# --8<-- [start:noise]
table(
    distances,
    columns=["divergence from the reference", "that of the best policy"],
    index=list(settings),
    spec=".2f",
)
# --8<-- [end:noise]

# --8<-- [start:mistake-still]
lead = torch.zeros(1, dtype=torch.float64, requires_grad=True)
by_size = torch.where(lead < 0, -lead, 0 * lead) + torch.log1p(torch.exp(-lead.abs()))
by_sum = torch.logaddexp(torch.zeros_like(lead), -lead)
slopes = [torch.autograd.grad(one.sum(), lead)[0].item() for one in (by_size, by_sum)]
table(
    [[by_size.item(), slopes[0]], [by_sum.item(), slopes[1]]],
    columns=["loss", "slope"],
    index=["by the absolute value (wrong)", "by logaddexp (right)"],
    spec=".4f",
)
# --8<-- [end:mistake-still]

# --8<-- [start:rank]
rank, d_model, d_ff = 8, sizes.d_model, sizes.d_ff
whole = {"W_Q of one layer": d_model * d_model, "W_down of one layer": d_ff * d_model}
low = {
    "W_Q of one layer": rank * (d_model + d_model),
    "W_down of one layer": rank * (d_ff + d_model),
}
W = np.arange(12.0).reshape(4, 3)
changed = add_low_rank(W, np.ones((4, 1)), np.array([[1.0, 0, 2]])) - W
check("the change has rank 1", np.linalg.matrix_rank(changed) == 1)
table(
    [[whole[name], low[name], whole[name] / low[name]] for name in whole],
    columns=["entries of the matrix", "trained at rank 8", "as many times fewer"],
    index=list(whole),
    spec=[",d", ",d", ".0f"],
)
# --8<-- [end:rank]

# --8<-- [start:alpha]
rng = np.random.default_rng(SEED)
slope = rng.normal(size=(256, 256))  # of a matrix W, at the start of tuning
down = rng.normal(size=(256, 32)) / 16


def first_drops(rank, alpha):
    """How far the first step lowers the loss, to first order and for rate 1: plain, and by Adam."""
    c, D = alpha / rank, down[:, :rank]
    of_U = c * D.T @ slope  # U is 0, so D has no slope yet
    moved = [add_low_rank(np.zeros_like(slope), D, -U, c) for U in (of_U, np.sign(of_U))]
    return [-float((slope * one).sum()) for one in moved]


settings = {"r = 8, α = 8": (8, 8), "r = 8, α = 16": (8, 16), "r = 32, α = 16": (32, 16)}
drops = np.array([first_drops(*one) for one in settings.values()])
table(
    [
        [alpha / rank, *drop]
        for (rank, alpha), drop in zip(settings.values(), drops / drops[0], strict=True)
    ],
    columns=["α / r", "gradient descent", "Adam"],
    index=list(settings),
    spec=["g", ".1f", ".1f"],
)
# --8<-- [end:alpha]

# --8<-- [start:exercise-pencil]
powers = np.exp(ln_rewards)
best_of_three = tilted_policy(third, ln_rewards, 1.0)
table([best_of_three], columns=["first", "second", "third"], spec=".2f")
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-masked]
given = np.array([1 / 2, 1 / 8, 1 / 2, 1 / 4, 1 / 2])
two = np.log(np.stack([given, 1 - given], axis=1))  # the right token, any other
counts = np.array([False, False, False, True, True])
masked_bits, all_bits = (
    (masked_cross_entropy(two, np.zeros(5, dtype=int), which) / log(2)).item()
    for which in (counts, np.ones(5, dtype=bool))
)
table([[masked_bits, all_bits]], columns=["answer alone", "all tokens"], spec=".1f")
# --8<-- [end:exercise-masked]

# --8<-- [start:exercise-rank]
factors, entries = 1000 * 10 + 10 * 4000, 1000 * 4000
table([[factors, entries]], columns=["two factors", "whole matrix"], spec=",d")
# --8<-- [end:exercise-rank]


# --8<-- [start:writing]
def your_policy(reference, rewards, beta):
    """The best policy: reference and rewards (n,), beta positive."""
    return reference  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_policy(reference, rewards, beta):
    products = reference * np.exp(rewards / beta)
    return products / products.sum()


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

writing = Task(
    model_policy,
    inputs=[
        (np.array([0.5, 0.5]), np.array([0.0, 1.0]), 1.0),
        (np.array([0.5, 0.25, 0.25]), np.log([1.0, 2.0, 4.0]), 1.0),
        (np.array([0.125, 0.625, 0.25]), np.array([1.0, 0.0, 2.0]), 2.0),
        (np.array([0.2499, 0.0001, 0.75]), np.array([0.0, 12.0, 9.0]), 0.5),
        (np.array([0.5, 0.25, 0.25]), np.array([0.0, 4.0, 8.0]), 8.0),
    ],
    mistakes={
        "The reference is missing: this is softmax of the rewards over β.": (
            lambda p, r, beta: model_policy(np.ones(len(p)), r, beta)
        ),
        "The probabilities do not sum to 1: divide by the sum.": (
            lambda p, r, beta: p * np.exp(r / beta)
        ),
        "The rewards were multiplied by β: divide by it, as by a temperature.": (
            lambda p, r, beta: model_policy(p, r * beta, 1.0)
        ),
        "β is missing.": (lambda p, r, beta: model_policy(p, r, 1.0)),
        "The reference was added to the rewards: add its logarithm, or multiply.": (
            lambda p, r, beta: model_policy(np.ones(len(p)), r / beta + p, 1.0)
        ),
    },
    draw=lambda rng: (rng.dirichlet(np.ones(5)), halves(rng, 5), rng.uniform(0.25, 4)),
)
judge(your_policy, writing)
# --8<-- [end:writing-checks]
