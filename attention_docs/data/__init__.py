"""Models that other people trained: the names of their files and what these must hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

BEGINNINGS = "next-word.json"  # how the model goes on with some
BATCH = "batches.json"  # two texts alone and in one batch

SMOLLM2 = {
    "SmolLM2-135M-Instruct.Q4_1.gguf": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    )
}
"""A file and its SHA-256."""

MINILM = {
    "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def load_beginnings() -> dict[str, Any]:
    """How SmolLM2-135M-Instruct goes on with some beginnings, as measured.

    Source:
        The file data/smollm2/next-word.json of this package; the README beside it says how to make
        it.

    Examples:
        >>> found = load_beginnings()
        >>> found["beginnings"][0]["text"]
        'The cat sat on the'
    """
    kept: dict[str, Any] = json.loads(
        (Path(__file__).parent / "smollm2" / BEGINNINGS).read_text(encoding="utf-8")
    )
    return kept


class Sizes(NamedTuple):
    """What SmolLM2-135M consists of.

    Attributes:
        vocabulary: its tokens.
        d_model: the components of a token's vector.
        d_ff: the width of a feed-forward network.
        parameters: all numbers that were learned.
    """

    vocabulary: int
    d_model: int
    d_ff: int
    parameters: int


def load_sizes() -> Sizes:
    """The sizes of SmolLM2-135M, as its file holds them.

    Examples:
        >>> load_sizes().parameters
        134515008
    """
    return Sizes(**load_beginnings()["sizes"])


def load_batch() -> dict[str, Any]:
    """How SmolLM2-135M-Instruct goes on with two texts, alone and in one batch that is padded.

    Source:
        The file data/smollm2/batches.json of this package; the README beside it says how to make
        it.

    Examples:
        >>> load_batch()["alone"][0]["next"][0]
        [' Paris', 0.806]
    """
    kept: dict[str, Any] = json.loads(
        (Path(__file__).parent / "smollm2" / BATCH).read_text(encoding="utf-8")
    )
    return kept


def list_ids(node: Mapping[str, Any]) -> set[int]:
    """The tokens that a kept beginning names, or one of its branches.

    Args:
        node: of `load_beginnings`.

    Examples:
        >>> sorted(list_ids({"ids": [3, 1], "layers": [[7], [990]], "then": [{"ids": [4]}]}))
        [1, 3, 4, 7]
    """
    own = {*node["ids"], *node.get("prompt", ()), *node.get("layers", [()])[0]}
    return own.union(*(list_ids(one) for one in node.get("then", ())))
