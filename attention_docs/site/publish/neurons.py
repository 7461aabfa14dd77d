"""When one neuron of the language model is active, what it writes, and what it costs to cut it.

    python -m attention_docs.site.publish.measurements .cache/models

measures this too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_docs.next_word import token_text
from attention_docs.smollm2 import (
    FILE,
    SHA256,
    SmolLM2,
    cut_neurons,
    encode_text,
    neuron_activity,
    neuron_writes,
    run_model,
)
from attention_docs.softmax import softmax

NEURON = (19, 209)
"""A layer and a neuron in it, both counted from 0.

Of the neurons of layers 12 to 29 it is the one whose twelve most raised tokens, among words, have
the most similar directions in the embedding table. Its sign is turned round here: the negative of
its activity times the negative of its row, which is the same product.
"""

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)

TEXTS = (
    ("The conference will be held on", True),
    ("She was born on 4", True),
    ("The report was published on", True),
    ("The meeting is on the third of", True),
    ("The first snow fell in early", True),
    ("He paid 4", False),
    ("The cup stands on", False),
    ("The book lies on the third of", False),
    ("The bus came early", False),
    ("Spring and summer are", False),
)
"""Beginnings, and whether a month may come next."""

RAISED, DRAWN = 12, 10
"""How many of the tokens that it raises most are kept, and how many other neurons are cut."""


def measure_neuron(model: SmolLM2) -> dict[str, Any]:
    """All of it, for the file that the package keeps."""
    layer, neuron = NEURON
    raised = np.argsort(neuron_writes(NEURON, model))[:RAISED]  # with the sign turned round
    width = len(model.blocks[layer]["ffn_down"])
    drawn = np.random.default_rng(0).permutation(np.delete(np.arange(width), neuron))[:DRAWN]
    texts = [_measure_text(text, due, drawn.tolist(), model) for text, due in TEXTS]
    return {
        "model": FILE,
        "sha256": SHA256,
        "neuron": list(NEURON),
        "width": width,
        "raised": [token_text(int(i), model) for i in raised],
        "drawn": drawn.tolist(),
        "texts": texts,
    }


def _measure_text(text: str, due: bool, drawn: Sequence[int], model: SmolLM2) -> dict[str, Any]:
    """What the neuron does at each token, and the probability of a month next."""
    ids = np.array(encode_text(text, model))
    measured = {
        "text": text,
        "due": due,
        "tokens": [token_text(int(i), model) for i in ids],
        "activity": np.round(_measure_activity(text, model).astype(float), 2).tolist(),
        "months": _measure_months(text, model),
    }
    cuts = [NEURON[1], *(drawn if due else ())]
    models = (cut_neurons([(NEURON[0], one)], model) for one in cuts)
    measured["cut"], *others = [_measure_months(text, one) for one in models]
    return measured | {"others cut": others}


def _measure_activity(text: str, model: SmolLM2) -> Float[np.ndarray, " n"]:
    """The negative of what the neuron puts out at each token."""
    ids = np.array(encode_text(text, model))
    run = run_model(ids, model, skip=[(NEURON[0], "feed-forward")])
    active: Float[np.ndarray, " n"] = -neuron_activity(run, model, NEURON)
    return active


def _measure_months(text: str, model: SmolLM2) -> float:
    """The probability that the next token is a month."""
    logits = run_model(np.array(encode_text(text, model)), model).logits[-1]
    months = [model.ids[f"Ġ{one}"] for one in MONTHS]
    return round(float(softmax(logits.astype(np.float64))[months].sum()), 4)
