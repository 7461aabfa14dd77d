"""A real model goes on with a beginning: what comes next, and the whole machine in one drawing."""

# --8<-- [start:setup]
from math import exp

from attention_docs.data import load_beginnings
from attention_docs.figures import bar_chart, machine, table
from attention_docs.smollm2 import HEADS, KEY_HEADS, LAYERS
from attention_docs.text import check

kept = load_beginnings()
sizes = kept["sizes"]
beginnings = {one["text"]: one for one in kept["beginnings"]}


def token(i):
    """The text of a token, without the space in front."""
    return kept["tokens"][str(i)].strip()


def likeliest(beginning):
    """The ten likeliest next tokens and their probabilities."""
    node = beginnings[beginning]
    return [
        (token(i), exp(-nats / 1000)) for i, nats in zip(node["ids"], node["nats"], strict=True)
    ]


cat = likeliest("The cat sat on the")
mat = cat[0][1]
ten = sum(share for _, share in cat)
parameters, vocabulary = sizes["parameters"], sizes["vocabulary"]
check("the likeliest stand first", cat == sorted(cat, key=lambda one: -one[1]))
# --8<-- [end:setup]

# --8<-- [start:sure]
france = likeliest("The capital of France is")
zubrowka = likeliest("The capital of Zubrowka is")
check("the model is surer of a real capital", france[0][1] > zubrowka[0][1])
SHOWN = 5
tokens = [[word for word, _ in one[:SHOWN]] for one in (france, zubrowka)]
shares = [[share for _, share in one[:SHOWN]] for one in (france, zubrowka)]
bar_chart(
    [str(place) for place in range(1, SHOWN + 1)],
    {"France": shares[0], "Zubrowka": shares[1]},
    ylabel="probability",
    xlabel="place",
    roles=["weight", "weight"],
    spec=".3f",
    names=tokens,
)
# --8<-- [end:sure]

# --8<-- [start:machine]
d_model, d_ff = sizes["d_model"], sizes["d_ff"]
keys = d_model // HEADS * KEY_HEADS
block = 2 * d_model**2 + 2 * d_model * keys + 3 * d_model * d_ff + 2 * d_model
check("the parts add up", vocabulary * d_model + LAYERS * block + d_model == parameters)
machine(
    kept,
    layers=LAYERS,
    heads=HEADS,
    kv_heads=KEY_HEADS,
    title="SmolLM2-135M-Instruct",
)
# --8<-- [end:machine]

# --8<-- [start:layers]
CARPENTER = "I saw a saw. The carpenter picked up the"
guesses, thousandths = beginnings[CARPENTER]["layers"]
check("after the last layer, the saw wins", token(guesses[-1]) == CARPENTER.split()[1])
shown = [0, 20, 26, 27, 28, LAYERS - 1]
first_ahead = []  # the layer from which on the answer stays ahead, for each beginning
for one in kept["beginnings"]:
    after_layer = one["layers"][0]
    others = [layer for layer, i in enumerate(after_layer) if i != after_layer[-1]]
    first_ahead.append(others[-1] + 1)
table(
    [[layer, token(guesses[layer]) or "␣", thousandths[layer] / 1000] for layer in shown],
    columns=["layer", "likeliest token", "probability"],
    spec=["d", "s", ".3f"],
)
# --8<-- [end:layers]
