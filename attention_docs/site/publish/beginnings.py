"""How the language model goes on with some beginnings: what the package keeps of it.

    python -m attention_docs.site.publish.measurements .cache/models

measures this too. For each beginning the likeliest next tokens are kept, and again after each of
them, deeper along fewer; what would come next after each layer; and the maps of a few heads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from attention_docs.data import list_ids
from attention_docs.generation import Cache
from attention_docs.heads import FOLDER, load_measurements
from attention_docs.next_word import COUNT, POWERS, guess_by_layer, next_tokens, token_text
from attention_docs.smollm2 import FILE, SHA256, START, Head, SmolLM2, encode_text, run_model

BEGINNINGS = FOLDER / "beginnings.json"
WIDTHS = (COUNT, 2, 1)
"""How many of the likeliest tokens are gone on with, step by step."""

THOUSANDTHS = 1000
"""Logarithms and weights are kept as whole numbers of this part."""

Node = dict[str, Any]


def measure_beginnings(model: SmolLM2) -> dict[str, Any]:
    """All that is kept; a minute of an idle machine."""
    measured = load_measurements()
    heads = [tuple(measured["chosen"][kind][0]) for kind in ("previous token", "induction")]
    heads.append(tuple(measured["pronouns"]["head"]))
    texts = json.loads(BEGINNINGS.read_text(encoding="utf-8"))
    found = [
        {"lang": lang, **measure_beginning(text, heads, model)}
        for lang, listed in texts.items()
        for text in listed
    ]
    used = {i for one in found for i in list_ids(one)}
    return {
        "model": FILE,
        "sha256": SHA256,
        "sizes": {
            "vocabulary": model.table.shape[0],
            "d_model": model.table.shape[1],
            "d_ff": model.blocks[0]["ffn_up"].shape[1],
            "parameters": model.table.size
            + model.norm.size
            + sum(matrix.size for block in model.blocks for matrix in block.values()),
        },
        "powers": POWERS,
        "heads": heads,
        "tokens": {str(i): token_text(i, model) for i in sorted(used)},
        "beginnings": found,
    }


def measure_beginning(text: str, heads: Sequence[Head], model: SmolLM2) -> dict[str, Any]:
    """A beginning, with `START` in front, and what the model makes of it."""
    ids = [START, *encode_text(text, model)]
    run = run_model(np.array(ids), model, watch=heads)
    guesses = [(i, round(THOUSANDTHS * p)) for i, p in guess_by_layer(run, model)]
    root = _make_node(run.logits[-1])
    level: list[tuple[Node, list[Cache]]] = [(root, run.cache)]
    for width in WIDTHS:
        level = _go_on(level, width, model)
    return {
        "text": text,
        "prompt": ids,
        "layers": [[i for i, _ in guesses], [p for _, p in guesses]],
        "weights": [
            np.rint(THOUSANDTHS * run.seen[one].weights[np.tril_indices(len(ids))])
            .astype(int)
            .tolist()
            for one in heads
        ],
        **root,
    }


def _go_on(
    level: list[tuple[Node, list[Cache]]], width: int, model: SmolLM2
) -> list[tuple[Node, list[Cache]]]:
    """The nodes after the likeliest tokens of these, all computed at once."""
    ids = np.array([[i] for node, _ in level for i in node["ids"][:width]])
    caches = [
        Cache(*(np.repeat(np.stack(part), width, axis=0) for part in zip(*layer, strict=True)))
        for layer in zip(*(cache for _, cache in level), strict=True)
    ]
    run = run_model(ids, model, cache=caches)
    found = []
    for n, logits in enumerate(run.logits):
        node = _make_node(logits[-1])
        level[n // width][0].setdefault("then", []).append(node)
        found.append((node, [Cache(one.key[n], one.value[n]) for one in run.cache]))
    return found


def _make_node(logits: Any) -> Node:
    found = next_tokens(logits)
    return {
        "ids": found["ids"],
        "nats": [round(THOUSANDTHS * one) for one in found["nats"]],
        "rest": [round(THOUSANDTHS * one) for one in found["rest"]],
    }


def write_beginnings(measured: dict[str, Any]) -> str:
    """As JSON without spaces, with a line for each beginning."""

    def pack(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    *head, _ = measured.items()
    lines = [f"{json.dumps(name)}:{pack(value)}" for name, value in head]
    listed = ",\n".join(map(pack, measured["beginnings"]))
    return "{" + ",\n".join(lines) + ',\n"beginnings":[\n' + listed + "\n]}\n"
