"""Heads of a language model: scores that say where a head looks, and what it costs to cut one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from attention_docs.checks import requires
from attention_docs.language_model import cross_entropy
from attention_docs.positions import rope
from attention_docs.real_models import DATA, read_safetensors
from attention_docs.signatures import Array

FOLDER = DATA / "smollm2"
BASE = 100_000.0  # of the model's RoPE
RESULTS, VECTORS, SCHEMAS = "heads.json", "vectors.safetensors", "schemas.json"


@requires("weights must be of at least 2 tokens", lambda n: n >= 2)
def previous_token_score(weights: Float[Array, "... n n"]) -> Float[Array, "..."]:
    r"""The mean weight that a token gives to the token before it.

    $$s = \frac{1}{n - 1} \sum_{i=2}^{n} a_{i,\,i-1}$$

    Args:
        weights: (..., n, n), real floats, with at least 2 tokens.

    Returns:
        A number from 0 to 1 for each head.

    Raises:
        ValueError: fewer than 2 tokens.

    Source:
        Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".

    Examples:
        >>> previous_token_score(np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0, 1, 0]])).item()
        0.75
    """
    n = weights.shape[-1]
    return sum(weights[..., i, i - 1] for i in range(1, n)) / (n - 1)


@requires(
    lambda n, period: f"period must be from 1 to {n // 2}, got {period}",
    lambda n, period: 1 <= period <= n // 2,
)
def induction_score(weights: Float[Array, "... n n"], period: int) -> Float[Array, "..."]:
    r"""The mean weight on the token right after an earlier copy, in a text that ends in two copies.

    $$s = \frac{1}{p} \sum_{i=n-p+1}^{n} a_{i,\,i-p+1}$$

    Args:
        weights: (..., n, n), real floats; the last 2p tokens are two copies of p tokens.
        period: p, from 1 to n/2.

    Returns:
        A number from 0 to 1 for each head.

    Raises:
        ValueError: period does not fit twice.

    Source:
        Olsson et al. 2022, "In-context Learning and Induction Heads", "prefix matching".

    Examples:
        Two copies of two tokens: token 3 looks at 2, and token 4 at 3 with half of its weight.

        >>> rows = [[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5]]
        >>> induction_score(np.array(rows), 2).item()
        0.75
    """
    n = weights.shape[-1]
    return sum(weights[..., i, i - period + 1] for i in range(n - period, n)) / period


@requires("weights must be of at least 2 tokens", lambda n: n >= 2)
def first_token_share(weights: Float[Array, "... n n"]) -> Float[Array, "..."]:
    r"""The mean weight that tokens give to the first token; the first itself does not count.

    $$s = \frac{1}{n - 1} \sum_{i=2}^{n} a_{i1}$$

    Args:
        weights: (..., n, n), real floats, with at least 2 tokens.

    Returns:
        A number from 0 to 1 for each head. Equal weights of a causal head give $(H_n - 1)/(n - 1)$,
        where $H_n$ is the sum of 1/i from 1 to n.

    Raises:
        ValueError: fewer than 2 tokens.

    Source:
        Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks", §3.1.

    Examples:
        >>> first_token_share(np.array([[1.0, 0, 0], [0.5, 0.5, 0], [1, 0, 0]])).item()
        0.75
    """
    n = weights.shape[-1]
    return sum(weights[..., i, 0] for i in range(1, n)) / (n - 1)


@requires(
    lambda n, period: f"period must be from 2 to {n // 2}, got {period}",
    lambda n, period: 2 <= period <= n // 2,
)
def copy_loss(
    logits: Float[Array, "... n vocabulary"], ids: Int[Array, "... n"], period: int
) -> Float[Array, "..."]:
    r"""The mean loss within the second of two copies, where each token can be known from the first.

    $$\ell = \frac{1}{p - 1} \sum_{i=n-p+2}^{n} \ell_i, \qquad
      \ell_i = -\ln \operatorname{softmax}(z_{i-1})_{t_i}$$

    Args:
        logits: z (..., n, vocabulary), real floats: those of row i are for token i + 1.
        ids: t (..., n); the last 2p are two copies of p tokens.
        period: p, from 2 to n/2. The first token of the second copy does not count, since nothing
            says that a copy begins.

    Returns:
        The mean losses (...), in nats.

    Raises:
        ValueError: as for `cross_entropy`, or period does not fit twice.

    Source:
        Olsson et al. 2022, "In-context Learning and Induction Heads".

    Examples:
        Two copies of tokens 0 and 1: the last token got 3/4, and ln 4/3 is 0.2877.

        >>> logits = np.log(np.array([[1.0, 1], [1, 1], [1, 3], [1, 1]]))
        >>> round(copy_loss(logits, np.array([0, 1, 0, 1]), 2).item(), 4)
        0.2877
    """
    n = ids.shape[-1]
    losses = cross_entropy(logits[..., n - period : n - 1, :], ids[..., n - period + 1 :])
    return sum(losses[..., i] for i in range(period - 1)) / (period - 1)


# --- what is kept ---------------------------------------------------------------------------------


def load_measurements() -> dict[str, Any]:
    """What was measured on SmolLM2-135M, and what it was found on.

    Source:
        The file data/smollm2/heads.json of this package; the README beside it says how to make it.

    Examples:
        >>> found = load_measurements()
        >>> len(found["induction"]), len(found["induction"][0])
        (30, 9)
    """
    measured: dict[str, Any] = json.loads((FOLDER / RESULTS).read_text(encoding="utf-8"))
    return measured


def kept_heads() -> list[tuple[int, int]]:
    """Layers and heads of SmolLM2-135M whose queries and keys are kept, each counted from 0.

    Examples:
        >>> kept_heads()
        [(11, 1), (13, 8), (16, 0), (17, 4), (18, 6)]
    """
    vectors = read_safetensors((FOLDER / VECTORS).read_bytes())
    return sorted({(int(layer), int(head)) for layer, head, _ in (n.split(".") for n in vectors)})


def load_vectors(
    layer: int, head: int, rotated: bool = False
) -> tuple[Float[np.ndarray, "n d_k"], ...]:
    """Queries and keys of one head of SmolLM2-135M on a sentence and its repetition.

    Args:
        layer: counted from 0.
        head: counted from 0.
        rotated: whether RoPE has turned them by their places, which count from 0.

    Returns:
        Queries and keys (n, 64) in float64; the file has float16. The tokens are
        `load_measurements()["words"]`.

    Raises:
        ValueError: a head whose vectors are not kept.

    Examples:
        >>> query, key = load_vectors(18, 6)
        >>> query.shape == key.shape, query.shape[1]
        (True, 64)
    """
    vectors = read_safetensors((FOLDER / VECTORS).read_bytes())
    if (layer, head) not in kept_heads():
        raise ValueError(f"layer and head must be in {kept_heads()}, got {(layer, head)}")
    pair = (vectors[f"{layer}.{head}.{one}"].astype(np.float64) for one in ("query", "key"))
    return tuple(rope(one, np.arange(float(len(one))), BASE) if rotated else one for one in pair)
