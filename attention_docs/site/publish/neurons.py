"""When neurons of the language model are active, what they write, and what it costs to cut them.

    python -m attention_docs.site.publish.measurements .cache/models

measures this too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from attention_docs.next_word import token_text
from attention_docs.smollm2 import (
    FILE,
    SHA256,
    START,
    Run,
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
    active: Float[np.ndarray, " n"] = -neuron_activity(run_model(ids, model), model, NEURON)
    return active


def _measure_months(text: str, model: SmolLM2) -> float:
    """The probability that the next token is a month."""
    logits = run_model(np.array(encode_text(text, model)), model).logits[-1]
    months = [model.ids[f"Ġ{one}"] for one in MONTHS]
    return round(float(softmax(logits.astype(np.float64))[months].sum()), 4)


# --- several neurons on a corpus ------------------------------------------------------------------

CORPUS = Path(__file__).parent / "wordnet" / "glosses.txt"
"""Definitions of a dictionary, one a line; the README beside it says which."""

CHOSEN = (NEURON, (25, 722), (29, 21), (29, 357))
"""Neurons of layers 12 to 29 whose most raised words are alike.

They were picked by hand from the 28 clearest, so that their words differ, and among those that are
most active with the sign that raises these words.
"""

LAST_LAYERS = range(12, 30)
"""From which two more are drawn at random."""

SHOWN, LONGEST, TOGETHER = 5, 64, 16
"""Texts that are kept of each neuron, tokens that are read of a text, and texts in a row."""

Neuron = tuple[int, int]


def measure_neurons(model: SmolLM2) -> dict[str, Any]:
    """What some neurons do on the corpus, for the file that the package keeps."""
    lines = CORPUS.read_text(encoding="utf-8").splitlines()
    texts = [[START, *encode_text(line, model)][:LONGEST] for line in lines]
    width = len(model.blocks[0]["ffn_down"])
    random = np.random.default_rng(0)
    drawn = [(int(random.choice(LAST_LAYERS)), int(random.integers(width))) for _ in range(2)]
    found = scan_texts(texts, [*CHOSEN, *drawn], model)
    measured = {}
    for n, neuron in enumerate([*CHOSEN, *drawn]):
        activity = [one[n] for one in found]
        strongest = max((one for text in activity for one in text[1:]), key=abs)
        named = _describe(neuron, int(np.sign(strongest)), texts, activity, model)
        measured["{}.{}".format(*neuron)] = {"drawn": neuron in drawn, **named}
    tokens = sum(len(ids) - 1 for ids in texts)
    sizes = {"texts": len(texts), "tokens": tokens, "neurons": measured}
    return {"model": FILE, "sha256": SHA256, **sizes}


def scan_texts(
    texts: Sequence[Sequence[int]], neurons: Sequence[Neuron], model: SmolLM2
) -> list[Float[np.ndarray, "neurons n"]]:
    found: list[Float[np.ndarray, "neurons n"]] = []
    for first in range(0, len(texts), TOGETHER):
        packed = texts[first : first + TOGETHER]
        run = _run_packed(packed, model, last=True)
        active = np.stack([neuron_activity(run, model, one) for one in neurons])
        found += np.split(active, _find_ends(packed)[:-1], axis=1)
    return found


def _run_packed(texts: Sequence[Sequence[int]], model: SmolLM2, last: bool = False) -> Run:
    """All texts in one row, in which none sees another: one large product is faster than many."""
    ids = np.array([i for one in texts for i in one])
    segments = np.repeat(np.arange(len(texts)) + 1, list(map(len, texts)))
    return run_model(ids, model, segments=segments, last=last)


def _find_ends(texts: Sequence[Sequence[int]]) -> Int[np.ndarray, " texts"]:
    return np.cumsum(list(map(len, texts)))


def _describe(
    neuron: Neuron,
    sign: int,
    texts: Sequence[Sequence[int]],
    activity: Sequence[Float[np.ndarray, " n"]],
    model: SmolLM2,
) -> dict[str, Any]:
    """What a neuron writes, the texts that make it most active, and what cutting it costs there."""
    raised = np.argsort(-sign * neuron_writes(neuron, model), kind="stable")[:RAISED]
    peaks = [int(np.argmax(sign * one[1:])) + 1 for one in activity]
    heights = np.array([sign * one[at] for one, at in zip(activity, peaks, strict=True)])
    best = np.argsort(-heights, kind="stable")[:SHOWN].tolist()
    prompts = [texts[i][: peaks[i] + 1] for i in best]
    drawn = _draw_others(neuron, model)
    whole, cut, *others = [
        _measure_next(prompts, raised, cut_neurons(out, model))
        for out in ([], [neuron], *([(neuron[0], one)] for one in drawn))
    ]
    all_tokens = np.concatenate([sign * one[1:] for one in activity])
    return {
        "sign": sign,
        "raised": [token_text(int(i), model) for i in raised],
        "active": int((all_tokens > heights.max() / 2).sum()),
        "others": drawn,
        "strongest": [
            {
                "text": i,
                "tokens": [token_text(t, model) for t in texts[i][1:]],
                "activity": np.round(activity[i][1:].astype(float), 2).tolist(),
                "at": peaks[i] - 1,
                "next": [whole[n], cut[n], *(one[n] for one in others)],
            }
            for n, i in enumerate(best)
        ],
    }


def _draw_others(neuron: Neuron, model: SmolLM2) -> list[int]:
    """Other neurons of the layer, for the control."""
    layer, c = neuron
    width = len(model.blocks[layer]["ffn_down"])
    others = np.random.default_rng(0).permutation(np.delete(np.arange(width), c))
    drawn: list[int] = others[:DRAWN].tolist()
    return drawn


def _measure_next(
    prompts: Sequence[Sequence[int]], raised: Int[np.ndarray, " k"], model: SmolLM2
) -> list[float]:
    """The probability that one of the raised tokens comes next, after each prompt."""
    last = _run_packed(prompts, model).logits[_find_ends(prompts) - 1]
    chances = softmax(last.astype(np.float64))[:, raised].sum(axis=-1)
    return [round(one, 4) for one in chances.tolist()]
