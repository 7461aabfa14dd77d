"""A real model, every weight of it: four trained Llamas that calculate, read and taken apart."""

# --8<-- [start:setup]
import numpy as np

from attention_docs.attention_function import attention
from attention_docs.figures import beside, heatmap, table
from attention_docs.heads import load_measurements
from attention_docs.masking import causal_mask
from attention_docs.positions import rope
from attention_docs.text import check, number

measured = load_measurements()
chosen = measured["chosen"]
losses = {name: np.array(one) for name, one in measured["losses"].items()}
first_copy = np.mean(measured["losses of the first copy"]["whole"])
repeated, control = (
    np.array(measured[f"induction{which}"]) for which in ("", " without repetition")
)
before, unrepeated = (
    np.array(measured[f"previous token{which}"]) for which in ("", " without repetition")
)
on_text = measured["losses on a text"]
guessing = np.log(49_152)
people = measured["names"]  # ten invented names
# --8<-- [end:setup]


# --8<-- [start:scores]
def show_scores(scores, name):
    """One cell for each head: its rows are the heads of a layer, its columns the layers."""
    return heatmap(
        scores.T,
        columns=[str(layer) if layer % 5 == 0 else "" for layer in range(30)],
        rows=[str(head) for head in range(9)],
        row_axis="head",
        column_axis="layer",
        name=name,
        highlight=np.argwhere(scores.T > 0.5).tolist(),
        numbers=False,
        scale=(0, 1),
    )


beside(
    show_scores(repeated, "40 tokens, repeated"),
    show_scores(control, "80 tokens without repetition"),
)
# --8<-- [end:scores]

# --8<-- [start:cuts]
pronouns = measured["pronouns"]
at_pronoun = np.array(pronouns["looks"])
surprise = np.array(pronouns["substituted"])  # (pair, version, noun)
knows = surprise.argmin(axis=-1) == [0, 1]
drawn = np.array([one for name, one in losses.items() if name.startswith("draw")])
means = drawn.mean(axis=1)


def with_mean(losses):
    """The losses of the four texts, and their mean."""
    return [*losses, losses.mean()]


table(
    [
        with_mean(losses["whole"]),
        with_mean(losses["induction"]),
        with_mean(losses["previous token"]),
        with_mean(drawn.mean(axis=0)),
        with_mean(drawn[means.argmax()]),
        with_mean(drawn[means.argmin()]),
    ],
    columns=["text 1", "text 2", "text 3", "text 4", "mean"],
    index=[
        "nothing",
        "3 induction heads",
        "3 previous-token heads",
        "3 random heads, mean of 10 draws",
        "the draw that costs most",
        "the draw that costs least",
    ],
    spec=".2f",
)
# --8<-- [end:cuts]

# --8<-- [start:names]
by_random = np.array([one["draws"] for one in people])  # (name, draw)
with_all, without_three = (
    np.array([one[name] for one in people]) for name in ("whole", "induction")
)
looks = [one["weight"] for one in people]
table(
    [[one["weight"], one["whole"], one["induction"], np.mean(one["draws"])] for one in people],
    columns=["weight in 18.6", "probability", "without the three", "without three others"],
    index=[one["name"] for one in people],
    spec=[".3f", ".2f", ".2f", ".2f"],
)
# --8<-- [end:names]

# --8<-- [start:names-written]
places = np.array([one["place"] for one in people])
table(
    places[:, None],
    columns=["place in what 18.6 writes"],
    index=[one["name"] for one in people],
    spec=",",
)
# --8<-- [end:names-written]

# --8<-- [start:previous]
from attention_docs.figures import ribbons
from attention_docs.heads import load_vectors

opening = [word.strip() for word in measured["words"][:4]]
q_before, k_before = load_vectors(16, 0, rotated=True)
_, looks_back = attention(q_before[:4], k_before[:4], k_before[:4], causal_mask(4))
ribbons(opening, looks_back, first=2)
# --8<-- [end:previous]

# --8<-- [start:pronoun]
check(
    "in all heads, the row of “it” is the same in both versions of each pair, to within 10⁻⁵",
    pronouns["difference"] < 1e-5,
)
table(
    [
        [*(number(one, ".2f") for one in row), *("right" if one else "wrong" for one in known)]
        for row, known in zip(at_pronoun, knows, strict=True)
    ],
    columns=["weight on noun 1", "weight on noun 2", "model, version 1", "model, version 2"],
    index=[f"{one} / {two}" for one, two in measured["nouns"]],
)
# --8<-- [end:pronoun]

# --8<-- [start:end-head]
half = pronouns["sentences of a half"]
found_right, held_right = pronouns["end right"]
table(
    [[found_right, half], [held_right, half], [number(pronouns["end mean"], ".1f"), half]],
    columns=["right", "sentences"],
    index=[
        "the best head, on the pairs that chose it",
        "the same head, on the other pairs",
        "all heads, mean on the other pairs",
    ],
)
# --8<-- [end:end-head]

# --8<-- [start:prompts]
table(
    [[f"“{token}”", number(p, ".4f")] for _, token, p in measured["prompts"]],
    columns=["likeliest token", "probability"],
    index=[prompt for prompt, _, _ in measured["prompts"]],
)
# --8<-- [end:prompts]

# --8<-- [start:each-head]
by_draw = [loss for name, loss in on_text.items() if name.startswith("draw")]
table(
    [
        [scores[layer, head], other[layer, head], losses[f"{layer}.{head}"].mean()]
        for kind, scores, other in (
            ("induction", repeated, control),
            ("previous token", before, unrepeated),
        )
        for layer, head in chosen[kind]
    ],
    columns=["score, repeated", "score without repetition", "loss without this head"],
    index=[
        f"{name} {layer}.{head}"
        for kind, name in (
            ("induction", "induction head"),
            ("previous token", "previous-token head"),
        )
        for layer, head in chosen[kind]
    ],
    spec=".2f",
)
# --8<-- [end:each-head]

# --8<-- [start:first-token]
sink = np.array(measured["sink"])
layers = sink.mean(axis=1)
evenly = sum(1 / i for i in range(2, 82)) / 80  # all visible tokens alike
table(
    [[sink.mean()], [layers.max()], [layers.min()], [evenly]],
    columns=["weight on the first token"],
    index=[
        "all heads",
        f"layer {layers.argmax()}, the most",
        f"layer {layers.argmin()}, the least",
        "equal weights",
    ],
    spec=".2f",
)
# --8<-- [end:first-token]

# --8<-- [start:vectors]
from attention_docs.heads import load_vectors

words = [word.strip() for word in measured["words"]]
n = len(words)
step = 7


def attend(name, without):
    """The weights of a head of SmolLM2, from its real queries and keys."""
    q, k = load_vectors(*(int(one) for one in name.split(".")))
    pace = {"no_RoPE": 0, "no_order": step}.get(without, 1)
    places = np.arange(n) * pace % n
    q, k = (rope(one, places.astype(float), base=100000.0) for one in (q, k))
    q = q * np.sqrt(64) if without == "no_scale" else q
    mask = None if without == "no_mask" else causal_mask(n)
    return attention(q, k, k, mask)[1]


# --8<-- [end:vectors]

# --8<-- [start:real-head]
from attention_docs.heads import first_token_share, induction_score, previous_token_score

head = "18.6"  # knob
without = "no_RoPE"  # knob: whole | no_scale | no_mask | no_RoPE | no_order
second = n // 2  # where the sentence begins again
heatmap(
    attend(head, without)[second : second + 10],
    rows=words[second : second + 10],
    columns=[str(i) if i % 5 == 0 else "" for i in range(n)],
    name="weights of ten tokens",
    numbers=False,
    scale=(0, 1),
)
# --8<-- [end:real-head]

# --8<-- [start:all-settings]
REAL = ["18.6", "16.0"]
SETTINGS = {
    "whole": "nothing",
    "no_scale": "1/√d_k",
    "no_mask": "the mask",
    "no_RoPE": "RoPE",
    "no_order": "the order",
}


def measure_map(a):
    """How the weights are shared out, on average over the tokens."""
    scores = induction_score(a, second), previous_token_score(a), first_token_share(a)
    return [*scores, np.triu(a, 1).sum(axis=-1).mean(), a.max(axis=-1)[1:].mean()]


table(
    [measure_map(attend(name, taken)) for name in REAL for taken in SETTINGS],
    columns=["after the copy", "token before", "first token", "later tokens", "largest"],
    index=[f"{name} without: {taken}" for name in REAL for taken in SETTINGS.values()],
    spec=".2f",
)
# --8<-- [end:all-settings]

# --8<-- [start:hook]
from attention_docs.real_models import load_arithmetic_model

files = {operation: load_arithmetic_model(operation) for operation in "+-*/"}
numbers = np.concatenate([tensor.ravel() for tensor in files["-"].values()])
heatmap(
    numbers.reshape(37, 40),
    name="the model that subtracts",
    numbers=False,
    role="neutral",
    spec=".1f",
    scale=(numbers.min(), numbers.max()),
)
# --8<-- [end:hook]

# --8<-- [start:models]
from itertools import combinations, takewhile

from attention_docs.figures import Frame, bar_chart, stepper
from attention_docs.multi_head import join_heads, split_heads
from attention_docs.real_models import SYMBOLS, encode_symbols
from attention_docs.softmax import softmax
from attention_docs.text import TextFile
from attention_docs.transformer_block import embed, layer_norm, relu, rms_norm, silu, swiglu

DIGITS = range(10)
TASKS = {
    "+": {f"{a}+{b}=": f"{a + b}" for a in DIGITS for b in DIGITS},
    "-": {f"{a}-{b}=": f"{a - b}" for a in DIGITS for b in DIGITS if a >= b},
    "*": {f"{a}*{b}=": f"{a * b}" for a in DIGITS for b in DIGITS},
    "/": {f"{a}/{b}=": f"Q{a // b}R{a % b}" for a in DIGITS for b in DIGITS if b},
}
total = sum(len(tasks) for tasks in TASKS.values())
SIGNS = {"+": "+", "-": "−", "*": "×", "/": "÷"}


def by_module(tensors):
    """The tensors by their modules; PyTorch stores (d_out, d_in), and we want (d_in, d_out)."""
    short = {name.split(".")[-2]: tensor.T for name, tensor in tensors.items()}
    return short | {"embed_tokens": short["embed_tokens"].T}  # a table: one row per token


MODELS = {operation: by_module(tensors) for operation, tensors in files.items()}
# --8<-- [end:models]

# --8<-- [start:file]
tensors = files["-"]
size = sum(tensor.size for tensor in tensors.values())
table(
    [[" × ".join(map(str, tensor.shape)), tensor.size] for tensor in tensors.values()],
    columns=["shape", "numbers"],
    index=[name.removesuffix(".weight") for name in tensors],
)
# --8<-- [end:file]


# --8<-- [start:reader]
def read(ids, W, places=None, mask=None, norm=rms_norm, network=swiglu):
    """Logits of what comes after each token, and the steps to them."""
    n = ids.shape[-1]
    places = np.arange(float(n)) if places is None else places
    x = embed(ids, W["embed_tokens"])
    y = norm(x, W["input_layernorm"])
    q, k, v = (split_heads(y @ W[f"{which}_proj"], 2) for which in "qkv")
    # of the four components of a head, 1 turns with 3, and 2 with 4
    q, k = (rope(one, places, pairing="half-split") for one in (q, k))
    o, a = attention(q, k, v, causal_mask(n) if mask is None else mask)
    z = x + join_heads(o) @ W["o_proj"]
    y = norm(z, W["post_attention_layernorm"])
    out = z + network(y, W["gate_proj"], W["up_proj"], W["down_proj"])
    logits = norm(out, W["norm"]) @ W["lm_head"]
    steps = {"x": x, "q": q, "k": k, "v": v, "a": a, "o": o, "z": z, "out": out}
    return logits, steps


def write(tasks, W, places=None, front="", **parts):
    """What it writes after each task: the likeliest token, until the end."""
    ids = np.array([encode_symbols(front + task) for task in tasks])
    start, places = ids.shape[1], np.arange(32.0) if places is None else places
    for n in range(start, start + 6):
        logits, _ = read(ids, W, places[:n], **parts)
        ids = np.append(ids, logits[:, -1:].argmax(axis=-1), axis=1)
    written = ([SYMBOLS[i] for i in row[start:]] for row in ids)
    return ["".join(takewhile("</s>".__ne__, symbols)) for symbols in written]


# --8<-- [end:reader]


# --8<-- [start:right]
def list_right(operation, W, **settings):
    """Which of an operation's tasks are answered right."""
    tasks = TASKS[operation]
    written = write(list(tasks), W, **settings)
    return [one == right for one, right in zip(written, tasks.values(), strict=True)]


answers = {
    task: written
    for operation, W in MODELS.items()
    for task, written in zip(TASKS[operation], write(list(TASKS[operation]), W), strict=True)
}
published = TextFile("answers.txt", "".join(f"{one}{two}\n" for one, two in answers.items()))
right = [sum(list_right(operation, W)) for operation, W in MODELS.items()]
table(
    [right, [len(tasks) for tasks in TASKS.values()]],
    columns=list(SIGNS.values()),
    index=["right answers", "tasks"],
)
# --8<-- [end:right]


# --8<-- [start:our-parts]
def our_network(y, W_gate, _, W_down):
    """A feed-forward network with ReLU, of two of the three matrices."""
    return relu(y @ W_gate) @ W_down


known_parts = {
    "RMSNorm and SwiGLU": {},
    "LayerNorm instead of RMSNorm": {"norm": layer_norm},
    "ReLU instead of SwiGLU": {"network": our_network},
}
still_right, differences = [], []
for parts in known_parts.values():
    still_right.append([sum(list_right(sign, W, **parts)) for sign, W in MODELS.items()])
    differences += write(["7-3="], MODELS["-"], **parts)
table(still_right, columns=list(SIGNS.values()), index=list(known_parts))
# --8<-- [end:our-parts]

# --8<-- [start:torch]
import torch
from torch.nn import functional


def torch_logits(ids, tensors):
    """The same file, read with functions of PyTorch alone."""
    p = {name.split(".")[-2]: torch.from_numpy(one) for name, one in tensors.items()}

    def norm(x, name):
        return functional.rms_norm(x, (8,), p[name], eps=1e-6)

    def turned(x):
        """RoPE as Hugging Face writes it: x cos + rotate_half(x) sin."""
        omega = 10000.0 ** -(torch.arange(2, dtype=torch.float64) / 2)
        angles = torch.outer(torch.arange(x.shape[-2]), omega).repeat(1, 2)
        half = torch.cat([-x[..., 2:], x[..., :2]], dim=-1)
        return x * angles.cos() + half * angles.sin()

    def heads(y, name):
        return functional.linear(y, p[name]).unflatten(-1, (2, 4)).transpose(-2, -3)

    x = functional.embedding(torch.from_numpy(ids), p["embed_tokens"])
    y = norm(x, "input_layernorm")
    q, k, v = (heads(y, name) for name in ("q_proj", "k_proj", "v_proj"))
    seen = functional.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
    x = x + functional.linear(seen.transpose(-2, -3).flatten(-2), p["o_proj"])
    y = norm(x, "post_attention_layernorm")
    gate = functional.silu(functional.linear(y, p["gate_proj"]))
    x = x + functional.linear(gate * functional.linear(y, p["up_proj"]), p["down_proj"])
    return functional.linear(norm(x, "norm"), p["lm_head"]).numpy()


furthest = 0.0
for operation, tasks in TASKS.items():
    whole = [encode_symbols(task + answer) for task, answer in tasks.items()]
    for n in {len(one) for one in whole}:  # those of one length together
        ids = np.array([one for one in whole if len(one) == n])
        ours, _ = read(ids, MODELS[operation])
        furthest = max(furthest, np.abs(ours - torch_logits(ids, files[operation])).max())
check("all logits of all tasks agree to within 10⁻¹⁰", furthest < 1e-10)
# --8<-- [end:torch]


# --8<-- [start:follow]
def is_hill(logits):
    """Whether they fall on both sides of the largest."""
    best = logits.argmax()
    return bool(np.all(np.diff(logits[: best + 1]) > 0) and np.all(np.diff(logits[best:]) < 0))


def neighbours_follow(logits):
    """Whether the neighbours of the likeliest digit come right behind it."""
    best, *others = logits.argsort()[::-1]
    return all(abs(one - best) == 1 for one in others[: 1 if best in (0, 9) else 2])


ids = np.array([encode_symbols(one) for one in TASKS["-"]])
of_digits = read(ids, MODELS["-"])[0][:, -1, encode_symbols("0123456789")]
hills, close = (sum(map(holds, of_digits)) for holds in (is_hill, neighbours_follow))

task = "7-3="  # knob
operation = next((sign for sign in SIGNS if sign in task), "-")
W = MODELS[operation]
answer = write([task], W)[0]
STEPS = ["x", "q, k, v", "RoPE", "scores", "weights", "W_O", "SwiGLU", "logits"]
roles = [
    *(["input"], ["query", "key", "value"], ["query", "key"], ["score"], ["weight"]),
    *(["weighted-value", "output"], ["neutral", "output"], ["output"]),
]


def show_steps(symbols):
    """What each step makes for the last of these tokens, and a caption."""
    ids = np.array(encode_symbols("".join(symbols)))
    logits, s = read(ids, W)
    _, before = read(ids, W, np.zeros(len(ids)))  # turned by nothing
    asks, heads = symbols[-1], ["head 1", "head 2"]
    scores = (s["q"][:, -1:] @ np.swapaxes(s["k"], -1, -2))[:, 0] / np.sqrt(4)
    y = rms_norm(s["z"][-1], W["post_attention_layernorm"])
    gated = silu(y @ W["gate_proj"]) * (y @ W["up_proj"])
    shown = [i for i in range(27) if SYMBOLS[i] in ("</s>", *"0123456789QR")]
    p = softmax(logits[-1])
    looked = [symbols[i] for i in s["a"][:, -1].argmax(axis=-1)]

    def rows(x, role, name):
        return heatmap(x, rows=symbols if len(x) == len(symbols) else [asks], role=role, name=name)

    def by_head(x, role, name, columns=None):
        return heatmap(x, rows=heads, role=role, name=name, columns=columns)

    def query_and_keys(at):
        query = rows(join_heads(at["q"])[-1:], role="query", name="query, head 1 | head 2")
        return query, rows(join_heads(at["k"]), role="key", name="keys, head 1 | head 2")

    values = rows(join_heads(s["v"]), role="value", name="values, head 1 | head 2")
    scored = by_head(scores, role="score", name="scores", columns=symbols)
    weighed = by_head(s["a"][:, -1], role="weight", name="weights", columns=symbols)
    sums = rows(
        join_heads(s["o"])[-1:], role="weighted-value", name="weighted sums, head 1 | head 2"
    )
    z = rows(s["z"][-1:], role="output", name="z")
    hidden = heatmap(gated.reshape(4, 8), role="neutral", name="32 gated components")
    bars = bar_chart(
        [SYMBOLS[i] for i in shown],
        {"": logits[-1, shown]},
        ylabel="logit",
        roles=["output"],
        spec=".1f",
    )
    best, share = SYMBOLS[int(p.argmax())], number(p.max(), ".4f")
    return [
        ([rows(s["x"], role="input", name="x")], f"Each token gets its row of E. “{asks}” asks."),
        (
            [*query_and_keys(before), values],
            "RMSNorm, then the products with W_Q, W_K and W_V, four components for each head.",
        ),
        (
            query_and_keys(s),
            f"RoPE turns them according to their positions; "
            f"“{asks}” is at position {len(ids) - 1}.",
        ),
        (
            [*query_and_keys(s), scored],
            "Query times key, divided by √4.",
        ),
        (
            [scored, weighed],
            f"Head 1 puts most weight on “{looked[0]}”, head 2 on “{looked[1]}”.",
        ),
        (
            [values, sums, z],
            "The heads side by side, times W_O, added to x.",
        ),
        (
            [z, hidden, rows(s["out"][-1:], role="output", name="after the network")],
            "RMSNorm, gate and W_down; the result is added to z.",
        ),
        ([bars], f"The likeliest token is “{best}”, with probability {share}."),
    ]


to_write = [*answer, "</s>"]
frames = [
    Frame((str(t + 1), str(i + 1)), f"“{one}”, {name}", tuple(figures), caption)
    for t, one in enumerate(to_write)
    for i, (name, (figures, caption)) in enumerate(
        zip(STEPS, show_steps([*task, *answer[:t]]), strict=True)
    )
]
controls = [("token to write", [f"“{one}”" for one in to_write]), ("step", STEPS)]
stepper("follow", controls, frames, roles, answer="1 5")
# --8<-- [end:follow]

# --8<-- [start:weights-embedding]
subtracts = MODELS["-"]
COMPONENTS = [str(c) for c in range(1, 9)]


def show_weights(name, title, rows=None, turned=False):
    """A tensor of the model that subtracts, all of it."""
    tensor = subtracts[name].T if turned else subtracts[name]
    return heatmap(tensor, name=title, role="neutral", rows=rows, columns=COMPONENTS)


show_weights("embed_tokens", "E", rows=list(SYMBOLS))
# --8<-- [end:weights-embedding]

# --8<-- [start:weights-attention]
beside(
    show_weights("q_proj", "W_Q", rows=COMPONENTS),
    show_weights("k_proj", "W_K", rows=COMPONENTS),
    show_weights("v_proj", "W_V", rows=COMPONENTS),
    show_weights("o_proj", "W_O", rows=COMPONENTS),
    columns=2,
)
# --8<-- [end:weights-attention]

# --8<-- [start:weights-network]
hidden = [str(c) for c in range(1, 33)]
beside(
    show_weights("gate_proj", "W_gate, transposed", rows=hidden, turned=True),
    show_weights("up_proj", "W_up, transposed", rows=hidden, turned=True),
    show_weights("down_proj", "W_down", rows=hidden),
    columns=2,
)
# --8<-- [end:weights-network]

# --8<-- [start:weights-norms]
names = ["input_layernorm", "post_attention_layernorm", "norm"]
heatmap(
    [subtracts[name] for name in names],
    rows=["before attention", "before the network", "before the logits"],
    columns=COMPONENTS,
    role="neutral",
    name="γ of the three RMSNorm",
)
# --8<-- [end:weights-norms]

# --8<-- [start:weights-logits]
show_weights("lm_head", "W_U, transposed", rows=list(SYMBOLS), turned=True)
# --8<-- [end:weights-logits]


# --8<-- [start:take-out]
def take_out(part, W):
    """The parameters and settings of `write`, without one part of the model."""
    head_1 = np.arange(8)[:, None] < 4  # its rows of W_O
    match part:
        case "RoPE":
            return W, {"places": np.zeros(32)}
        case "head 1":
            return W | {"o_proj": np.where(head_1, 0.0, W["o_proj"])}, {}
        case "head 2":
            return W | {"o_proj": np.where(head_1, W["o_proj"], 0.0)}, {}
        case "1/√d_k":
            return W | {"q_proj": 2 * W["q_proj"]}, {}  # √4 times the query
        case "SwiGLU":
            return W | {"down_proj": 0 * W["down_proj"]}, {}
        case "one token too many":
            return W, {"front": "<s>"}
    return W, {}


# --8<-- [end:take-out]

# --8<-- [start:control]
PARTS = ["nothing", "RoPE", "head 1", "head 2", "1/√d_k", "SwiGLU", "one token too many"]
solved = {}
for part in PARTS:
    changed = [(sign, *take_out(part, W)) for sign, W in MODELS.items()]
    solved[part] = [list_right(sign, W, **settings) for sign, W, settings in changed]


def without(i, part):
    """The share of right answers without a part, and where the last token looks."""
    W, settings = take_out(part, MODELS[operation])
    front = settings.get("front", "")
    ids = np.array(encode_symbols(front + task))
    _, s = read(ids, W, settings.get("places", np.arange(32.0))[: len(ids)])
    shares = [100 * np.mean(one) for one in solved[part]]
    bars = bar_chart(
        list(SIGNS.values()),
        {"": shares},
        ylabel="right answers in percent",
        scale=(0, 100),
        spec=".0f",
    )
    symbols = [front, *task] if front else list(task)
    seen = heatmap(s["a"][:, -1], rows=["head 1", "head 2"], columns=symbols, name="weights")
    said = write([task], W, **settings)[0] or "</s>"
    added = {"nothing": "Nothing taken out", PARTS[-1]: "With one token too many"}
    label = added.get(part, f"Without: {part}")
    return Frame((str(i),), label, (bars, seen), f"{task} gives “{said}”.")


stepper(
    "ablation",
    [("Take out", PARTS)],
    [without(i, part) for i, part in enumerate(PARTS, start=1)],
    answer="4",
)
# --8<-- [end:control]

# --8<-- [start:ablation]
counts = {part: [sum(one) for one in found] for part, found in solved.items()}
table(list(counts.values()), columns=list(SIGNS.values()), index=PARTS)
# --8<-- [end:ablation]


# --8<-- [start:mean-ablation]
def count_with_mean(sign, r):
    """Tasks solved when head r gives its mean over all tasks instead of its output."""
    W = MODELS[sign]
    texts = [np.array(encode_symbols(f"{one}{right}</s>")) for one, right in TASKS[sign].items()]
    steps = [read(ids[:-1], W)[1] for ids in texts]
    mean = np.mean([o for s in steps for o in s["o"][r, 3:]], axis=0)  # from "=" on
    solved = 0
    for ids, s in zip(texts, steps, strict=True):
        z = s["z"] + (mean - s["o"][r]) @ W["o_proj"][4 * r : 4 * r + 4]
        y = rms_norm(z, W["post_attention_layernorm"])
        out = z + swiglu(y, W["gate_proj"], W["up_proj"], W["down_proj"])
        logits = rms_norm(out, W["norm"]) @ W["lm_head"]
        solved += np.array_equal(logits.argmax(axis=-1)[3:], ids[4:])
    return solved


with_mean_output = [[count_with_mean(sign, r) for sign in MODELS] for r in range(2)]
table(
    [counts["nothing"], *with_mean_output],
    columns=list(SIGNS.values()),
    index=["whole model", "mean of head 1", "mean of head 2"],
)
# --8<-- [end:mean-ablation]


# --8<-- [start:order]
def look(sign, places=None):
    """The weights of "=" in all tasks of an operation: (task, head, token)."""
    ids = np.array([encode_symbols(task) for task in TASKS[sign]])
    return read(ids, MODELS[sign], places)[1]["a"][:, :, -1]


ORDERS = [(a, b) for a, b in combinations(DIGITS, 2)]
still = np.zeros(32)
gap = 0.0
for sign, W in MODELS.items():
    both = [
        np.array([encode_symbols(f"{x}{sign}{y}=") for x, y in pairs])
        for pairs in (ORDERS, [(b, a) for a, b in ORDERS])
    ]
    one, other = (read(ids, W, still[:4])[0][:, -1] for ids in both)
    gap = max(gap, np.abs(one - other).max())
check("without RoPE, both orders of all pairs of digits get the same logits", gap < 1e-9)
# mean weight of head 1 on the second number, and of head 2 on the first
on_number = [[a[:, 0, 2].mean(), a[:, 1, 0].mean()] for a in (look("-"), look("-", still[:4]))]
table(
    [
        [one or "</s>" for one in write([f"7{sign}3=", f"3{sign}7="], W, still)]
        for sign, W in MODELS.items()
    ],
    columns=["7 first", "3 first"],
    index=list(SIGNS.values()),
)
# --8<-- [end:order]


# --8<-- [start:first-symbol]
def count_begun(sign, W, **settings):
    """How many answers begin with the right symbol, and how many with the whole right answer."""
    tasks = TASKS[sign]
    pairs = [*zip(write(list(tasks), W, **settings), tasks.values(), strict=True)]
    return [
        sum(one[:1] == right[0] for one, right in pairs),
        sum(one.startswith(right) for one, right in pairs),
    ]


begun = [count_begun(sign, W, places=still) for sign, W in MODELS.items()]
firsts, wholes = (list(each) for each in zip(*begun, strict=True))
table(
    [firsts, wholes, counts["RoPE"], counts["nothing"]],
    columns=list(SIGNS.values()),
    index=[
        "first symbol right",
        "begins with the whole right answer",
        "whole answer right",
        "whole answer right, with RoPE",
    ],
)
# --8<-- [end:first-symbol]


# --8<-- [start:heads]
seen = look("-")
table(
    [row for r in range(2) for row in (seen[:, r].mean(axis=0), seen[:, r].std(axis=0))],
    columns=["first number", "−", "second number", "="],
    index=["head 1, mean", "head 1, spread", "head 2, mean", "head 2, spread"],
    spec=".2f",
)
# --8<-- [end:heads]


# --8<-- [start:heads-cut]
def count_equal(written, place):
    """Of the pairs of tasks with the same number at this place: the share of equal answers."""
    pairs = [
        (written[one], written[other])
        for one, other in combinations(written, 2)
        if one[place] == other[place]
    ]
    return sum(one == other for one, other in pairs) / len(pairs)


shared = []
for part in PARTS[:1] + PARTS[2:4]:
    W, settings = take_out(part, MODELS["-"])
    written = dict(zip(TASKS["-"], write(list(TASKS["-"]), W, **settings), strict=True))
    shared.append([count_equal(written, place) for place in (0, 2)])
table(
    shared,
    columns=["same first number", "same second number"],
    index=["whole model", "without head 1", "without head 2"],
    spec=".2f",
)
# --8<-- [end:heads-cut]

# --8<-- [start:averaging]
averaging = [W | {"q_proj": 0 * W["q_proj"]} for W in MODELS.values()]
even = [sum(list_right(sign, W)) for sign, W in zip(MODELS, averaging, strict=True)]
table([even], columns=list(SIGNS.values()), index=["right answers"])
# --8<-- [end:averaging]

# --8<-- [start:whole-turn]
whole_turn = (1 + 2 * np.pi) * np.arange(32.0)
turned_on = [sum(list_right(sign, W, places=whole_turn)) for sign, W in MODELS.items()]
table([turned_on], columns=list(SIGNS.values()), index=["right answers"])
# --8<-- [end:whole-turn]

# --8<-- [start:shift]
moved = {
    "as it is": {},
    "all places + 5": {"places": np.arange(32.0) + 5},
    "<s> in front": {"front": "<s>"},
}
table(
    [[sum(list_right(sign, W, **how)) for sign, W in MODELS.items()] for how in moved.values()],
    columns=list(SIGNS.values()),
    index=list(moved),
)
# --8<-- [end:shift]

# --8<-- [start:exercise-count]
d, vocabulary, d_ff = 8, 27, 32
parts = [2 * vocabulary * d, 4 * d * d, 3 * d * d_ff, 3 * d]
table(
    [[*parts, sum(parts)]],
    columns=["E and W_U", "attention", "SwiGLU", "RMSNorm", "sum"],
)
# --8<-- [end:exercise-count]

# --8<-- [start:exercise-pencil]
W = MODELS["-"]
ids = np.array(encode_symbols("9-2="))
_, s = read(ids, W)
scores = (s["q"][:, -1:] @ np.swapaxes(s["k"], -1, -2))[1, 0] / np.sqrt(4)
powers = np.exp(scores)
table(
    [scores, powers, s["a"][1, -1]],
    columns=list("9-2="),
    index=["scores of head 2", "exponentials", "weights"],
    spec=".2f",
)
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-addition]
added = look("+")
table(
    [row for r in range(2) for row in (added[:, r].mean(axis=0), added[:, r].std(axis=0))],
    columns=["first number", "+", "second number", "="],
    index=["head 1, mean", "head 1, spread", "head 2, mean", "head 2, spread"],
    spec=".3f",
)
# --8<-- [end:exercise-addition]


# --8<-- [start:exercise-addition-start]
def add_behind_start(blind):
    """Sums solved with <s> in front, which these heads do not see."""
    solved = 0
    for one, right in TASKS["+"].items():
        ids = np.array(encode_symbols(f"<s>{one}{right}</s>"))
        mask = np.stack([causal_mask(len(ids) - 1)] * 2)  # one for each head
        mask[blind, 1:, 0] = False
        logits, _ = read(ids[:-1], MODELS["+"], mask=mask)
        solved += np.array_equal(logits.argmax(axis=-1)[4:], ids[5:])
    return solved


behind_start = [add_behind_start(blind) for blind in ([], [0], [1])]
table(
    [[one] for one in behind_start],
    columns=["right sums of 100"],
    index=["both heads see <s>", "head 1 does not see <s>", "head 2 does not see <s>"],
)
# --8<-- [end:exercise-addition-start]

# --8<-- [start:exercise-bound]
pairs = [(a, b) for a, b in combinations(range(1, 10), 2)]
differ = sum(TASKS["/"][f"{a}/{b}="] != TASKS["/"][f"{b}/{a}="] for a, b in pairs)
most = len(TASKS["/"]) - differ
table([[len(TASKS["/"]), differ, most]], columns=["tasks", "pairs that differ", "at most right"])
# --8<-- [end:exercise-bound]

# --8<-- [start:exercise-outside]
outside = ["12-5=", "18-9=", "3-7=", "20-5=", "7-3"]
written = [one or "</s>" for (one,) in (write([task], MODELS["-"]) for task in outside)]
table([[one] for one in written], columns=["written"], index=outside)
# --8<-- [end:exercise-outside]

# --8<-- [start:exercise-transpose]
forgotten = {
    f"W_{which.upper()}": [
        sum(list_right(sign, W | {f"{which}_proj": W[f"{which}_proj"].T}))
        for sign, W in MODELS.items()
    ]
    for which in "qkvo"
}
table(list(forgotten.values()), columns=list(SIGNS.values()), index=list(forgotten))
# --8<-- [end:exercise-transpose]

# --8<-- [start:exercise-score]
small = np.array(
    [
        [1.0, 0, 0, 0, 0, 0],
        [0.5, 0.5, 0, 0, 0, 0],
        [0.2, 0.2, 0.6, 0, 0, 0],
        [0.1, 0.8, 0, 0.1, 0, 0],
        [0.4, 0, 0.5, 0, 0.1, 0],
        [0.5, 0, 0, 0.2, 0.3, 0],
    ]
)
table(
    [[induction_score(small, 3), previous_token_score(small)]],
    columns=["induction score", "previous-token score"],
    index=["head"],
    spec=".2f",
)
# --8<-- [end:exercise-score]

# --8<-- [start:exercise-impostor]
impostor = np.zeros((81, 81))
for i in range(81):
    impostor[i, max(i - 39, 0)] = 1  # whatever the tokens are
fooled = induction_score(impostor, 40)
other_period = np.mean([induction_score(impostor, p) for p in (20, 30)])
table(
    [[fooled, fooled, other_period]],
    columns=["40 tokens, repeated", "80 without repetition", "20 or 30 tokens, repeated"],
    index=["induction score"],
    spec=".2f",
)
# --8<-- [end:exercise-impostor]


# --8<-- [start:writing]
def your_rms_norm(x, scale):
    """RMSNorm of each token of x (n, d), with ε = 0, times scale (d,)."""
    return x * scale  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_rms_norm(x, scale):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True)) * scale


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

writing = Task(
    model_rms_norm,
    inputs=[
        (np.array([[3.0, 3]]), np.ones(2)),
        (np.array([[1.0, 7]]), np.array([2.0, 1])),
        (np.array([[1.0, 7], [-6, 8]]), np.array([2.0, 1])),
        (np.arange(1.0, 13).reshape(3, 4) / 1000, np.array([1.0, -1, 2, 0.5])),
    ],
    mistakes={
        "The mean was subtracted: this is LayerNorm.": (
            lambda x, scale: (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) * scale
        ),
        "The scale is missing.": lambda x, scale: model_rms_norm(x, 1),
        "Divided by the length: RMSNorm takes the mean of the squares, not their sum.": (
            lambda x, scale: x / np.linalg.norm(x, axis=-1, keepdims=True) * scale
        ),
        "Divided by the mean square: take its root.": (
            lambda x, scale: x / (x**2).mean(-1, keepdims=True) * scale
        ),
        "No axis: the mean square runs over all tokens, which then see each other.": (
            lambda x, scale: x / np.sqrt((x**2).mean()) * scale
        ),
    },
    draw=lambda rng: (halves(rng, 4, 5) + 0.25, halves(rng, 5)),
)
judge(your_rms_norm, writing)
# --8<-- [end:writing-checks]
