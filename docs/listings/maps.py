"""Attention maps: rollout, flow, gradients, exchanged rows, cut heads, and where each misleads."""

# --8<-- [start:setup]
import numpy as np

from attention_docs.data import load_maps
from attention_docs.figures import Frame, bar_chart, heatmap, numbered, slider, table
from attention_docs.maps import (
    attention_flow,
    attention_rollout,
    gradient_times_attention,
    patching_effect,
    value_weighted,
    with_residual,
)
from attention_docs.text import check, number

measured = load_maps()
words = [token.strip() for token in measured.tokens]
after = measured.layers  # after which layers rows were exchanged, from 0
effects = np.array(measured.effect)  # (layer, token from the country on, country)
by_random = np.array(measured.effect_of_random)  # at the country and at the end
rollout_rows = np.array(measured.rollout)  # of the last token, (layer, token)
weight_rows = np.array(measured.last_rows)
country = 4  # where it stands
EARLY = 0  # the first of the layers
p_paris = measured.probabilities[0]
# --8<-- [end:setup]

# --8<-- [start:event]
mean_row = weight_rows.mean(axis=0)
changed = np.zeros(len(words))  # tokens before the country are the same in both texts
changed[country:] = effects[EARLY, :, 0]
said = measured.said[EARLY][0]
heatmap(
    np.column_stack([mean_row, rollout_rows[-1], changed]),
    columns=["mean map", "rollout", "exchange"],
    rows=words,
    scale=(0, 1),
)
# --8<-- [end:event]

# --8<-- [start:pencil]
# Layer 1: token 2 looks at token 1. Layer 2: token 3 looks at token 2.
first = np.array([[1.0, 0, 0], [1, 0, 0], [0, 0, 1]])
second = np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 0]])
both = np.stack([first, second])
rolled, flowed = attention_rollout(both)[-1], attention_flow(both)
check("rows of the rollout sum to 1", np.allclose(rolled.sum(axis=1), 1, rtol=0, atol=1e-12))
table(
    [second[-1], both.mean(axis=0)[-1], rolled[-1], flowed[-1]],
    columns=numbered("token", 3),
    index=["map of layer 2", "mean of both maps", "rollout", "flow"],
    spec=".2f",
)
# --8<-- [end:pencil]

# --8<-- [start:flow]
sources = ["from token 1", "from token 2", "from token 3"]
table(flowed, columns=sources, index=numbered("token", 3), spec=".2f")
# --8<-- [end:flow]

# --8<-- [start:lengths]
shares = np.array([measured.mean_of_all, measured.mean_with_values])  # (2, text, token)
means = shares.mean(axis=1)
table(
    means.T,
    columns=["weight", "weight × ‖value‖"],
    index=[*words[:country], "(country)", *words[country + 1 :]],
    spec=".2f",
)
# --8<-- [end:lengths]

# --8<-- [start:same]
values = np.array([[0.0, 2], [1, 1], [2, 0]])
maps = np.array([[1 / 4, 1 / 2, 1 / 4], [1 / 2, 0, 1 / 2], [0, 1, 0]])
table(
    [[row, row @ values] for row in maps],
    columns=["weights", "output"],
    index=["map A", "map B", "map C"],
    spec=".2f",
)
# --8<-- [end:same]

# --8<-- [start:gradient]
weights = np.array([[0.7, 0.2, 0.1]])
three = np.array([[0.0, 1], [2, 0], [-2, 1]])
w = np.array([[1.0, 0]])  # y reads the first component
parts = gradient_times_attention(weights, three, w)
check("the parts sum to y", np.allclose(parts.sum(), weights @ three @ w.T, rtol=0, atol=1e-12))
table(
    np.concatenate([weights, value_weighted(weights, three), parts]),
    columns=numbered("token", 3),
    index=["weight", "weight × ‖value‖", "gradient × weight"],
    spec=".2f",
)
# --8<-- [end:gradient]


# --8<-- [start:control]
def frame(i, layer):
    """The last token's map after one layer, the rollout so far, and what an exchange does there."""
    change = np.zeros(len(words))
    change[country:] = effects[i, :, 0]
    drawn = bar_chart(
        words,
        {
            "weight, mean of 9 heads": weight_rows[layer],
            "rollout so far": rollout_rows[layer],
            "effect of the exchange": change,
        },
        ylabel="share",
        roles=["weight", "neutral", "output"],
        scale=(LOW, 1.2),
        spec=".4f",
    )
    token, p = measured.said[i][0]
    caption = (
        f"With the vector at France exchanged here, the likeliest token is {token.strip()}, "
        f"{number(p, '.2f')}."
    )
    return Frame((str(i),), f"layer {layer + 1}", (drawn,), caption)


LOW = min(0.0, effects[:, :, 0].min() - 0.05)
slider("after layer", [frame(i, layer) for i, layer in enumerate(after)], answer="8")
# --8<-- [end:control]

# --8<-- [start:patches]
controlled = measured.controlled
of_next = effects[[after.index(layer) for layer in controlled]][:, [0, -1]]
at_half = float(np.median(by_random[0, 0]))
table(
    [
        [name, *([f(one) for f in (min, np.median, max)] for one in at_layer)]
        for name, source in (("next country", of_next), ("random text", by_random))
        for at_layer in source
    ],
    columns=["vector from", "at the country", "at the last token"],
    index=[f"layer {layer + 1}" for layer in controlled] * 2,
    spec=".2f",
)
# --8<-- [end:patches]

# --8<-- [start:heads]
looks, costs = (np.array(one) for one in (measured.on_country, measured.cost))  # (layer, head)


def strongest(scores, count=3):
    """The heads with the highest scores, as (layer, head)."""
    order = np.argsort(-scores.ravel())[:count]
    return [divmod(int(i), scores.shape[1]) for i in order]


by_weight, by_cost = strongest(looks), strongest(costs)
together, drawn = measured.together, measured.drawn
singly = sum(costs[head] for head in strongest(looks, 8))
most = costs[by_weight[0][0]]  # of the layer of the head that looks at the country most
beaten = int((np.delete(most, by_weight[0][1]) > most[by_weight[0][1]]).sum())
rows, names = [], []
for layer, head in [*by_weight, *by_cost]:
    others = np.delete(costs[layer], head)
    rows.append([looks[layer, head], costs[layer, head], [min(others), max(others)]])
    names.append(f"head {layer}.{head}")
table(
    rows,
    columns=["weight on the country", "cost of cutting it", "other heads of its layer"],
    index=names,
    spec=".4f",
)
# --8<-- [end:heads]

# --8<-- [start:sinks]
sinks = [float(np.median(one.first)) for one in measured.sinks]
equal_first = measured.sinks[0].first_equal
rows = [
    [
        [f(np.array(one.first)) for f in (np.min, np.median, np.max)],
        one.first_equal,
        *one.line_ends,
        *one.full_stops,
    ]
    for one in measured.sinks
]
table(
    rows,
    columns=["first token", "equal", "line ends", "equal ", "full stops", "equal  "],
    index=["<|endoftext|> first", "The first"],
    spec=".2f",
)
# --8<-- [end:sinks]


# --8<-- [start:misleads]
def saturated(x):
    """1 from 1 on: two heads that find the same thing, and either is enough."""
    return 1 - max(0.0, 1 - x)


def heavy(token):
    """Weight 0.8 on token 1; W_V reads the second component alone."""
    tokens = np.array([token, [0, 1], [0, 1]])
    return np.array([0.8, 0.1, 0.1]) @ tokens[:, 1]


def stacked(one, two):
    """Two layers of equal weights; W_V reads the second component alone. Output of token 3."""
    x = np.array([one, two, [0.0, 0]])
    for _ in range(2):
        x = x + np.stack([np.zeros(3), np.full((3, 3), 1 / 3) @ x[:, 1]], axis=1)
    return x[2, 1]


equal = np.full((2, 3, 3), 1 / 3)
rolled_equal = attention_rollout(equal)[-1, 2]
slope = np.zeros((1, 1))  # of saturated() at 2
through = gradient_times_attention(np.ones((1, 1)), np.ones((1, 1)), slope).item()
cost = saturated(2) - saturated(1)
rows = [
    [0.8, heavy([5, 0]), heavy([-5, 0])],
    [rolled_equal[0], stacked([1, 0], [0, 1]), stacked([-1, 0], [0, 1])],
    [rolled_equal[1], stacked([1, 0], [0, 1]), stacked([1, 0], [0, -1])],
    [through, saturated(2), saturated(0)],
    [cost, saturated(2), saturated(0)],
]
table(
    rows,
    columns=["it says", "result", "after the exchange"],
    index=[
        "weight of token 1, whose value is 0",
        "rollout of token 1",
        "rollout of token 2",
        "gradient × weight where saturated",
        "cost of cutting one head of two",
    ],
    spec=".2f",
)
# --8<-- [end:misleads]

# --8<-- [start:exercise-rollout]
A = np.array([[1.0, 0], [1 / 2, 1 / 2]])
twice = attention_rollout(np.stack([A, A]))[-1, 1]
table([twice], columns=numbered("token", 2), spec=".4f")
# --8<-- [end:exercise-rollout]

# --8<-- [start:exercise-depth]
deep = attention_rollout(np.stack([A] * 20))[:, 1, 0]
layers_needed = int(np.argmax(deep > 0.9)) + 1
bare = int(np.argmax(0.5 ** np.arange(9) < 0.1))  # without the residual connection
print(layers_needed)
# --8<-- [end:exercise-depth]

# --8<-- [start:exercise-lengths]
looked = np.array([[0.6, 0.3, 0.1]])
given = np.array([[0.0, 0.5], [3, 4], [-6, 8]])
long = value_weighted(looked, given)
table(long, columns=numbered("token", 3), spec=".1f")
# --8<-- [end:exercise-lengths]

# --8<-- [start:exercise-effect]
own_lead, other_lead = np.array(9.0), np.array(-7.0)
effect = patching_effect(np.array(5.0), own_lead, other_lead)
print(f"{effect:.2f}")
# --8<-- [end:exercise-effect]

# --8<-- [start:exercise-bug]
turned = with_residual(both)[0] @ with_residual(both)[1]
table([turned[2], rolled[2]], columns=numbered("token", 3), index=["wrong", "right"], spec=".2f")
# --8<-- [end:exercise-bug]


# --8<-- [start:writing]
def your_rollout(maps):
    """Rollout (n, n) of maps (layers, n, n), the first first."""
    return maps[-1]  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_rollout(maps):
    rolled = np.eye(maps.shape[1])
    for A in maps:
        rolled = (A + np.eye(len(A))) / 2 @ rolled
    return rolled


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, judge

writing = Task(
    model_rollout,
    inputs=[
        (np.array([[[1.0, 0], [0.5, 0.5]]]),),
        (np.array([[[1.0, 0], [1, 0]], [[1, 0], [0.25, 0.75]]]),),
        (
            np.array(
                [[[0.0, 1, 0], [0, 0, 1], [0.5, 0, 0.5]], [[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0]]]
            ),
        ),
    ],
    mistakes={
        "The skip connection is missing: mix each map with the identity matrix.": (
            lambda maps: np.linalg.multi_dot([*maps[::-1], np.eye(maps.shape[1])])
        ),
        "The layers are multiplied in the wrong order: a later one stands on the left.": (
            lambda maps: model_rollout(maps[::-1])
        ),
        "Rows sum to more than 1: divide A + I by 2.": (
            lambda maps: model_rollout(maps) * 2 ** len(maps)
        ),
        "This is the mean of the maps, not their product.": (lambda maps: maps.mean(axis=0)),
    },
    draw=lambda rng: (rng.dirichlet(np.ones(4), size=(int(rng.integers(4, 8)), 4)),),
)
judge(your_rollout, writing)
# --8<-- [end:writing-checks]
