"""The attention function: scores, mask, softmax, weighted sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxtyping import Bool, Float

from attention_docs.checks import fits, requires
from attention_docs.masking import apply_mask
from attention_docs.score_functions import scaled_dot
from attention_docs.signatures import Array, array_namespace, checked, shape
from attention_docs.softmax import softmax


@checked
def attention(
    query: Float[Array, "... n_q d_k"],
    key: Float[Array, "... n_k d_k"],
    value: Float[Array, "... n_k d_v"],
    mask: Any = None,
    dropout: Callable[[Array], Array] | None = None,
) -> tuple[Float[Array, "... n_q d_v"], Float[Array, "... n_q n_k"]]:
    r"""Scaled dot-product attention.

    $$\operatorname{Attention}(Q, K, V) =
      \operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right) V$$

    Args:
        query: (..., n_q, d_k), real floats. Axes before the last two (batch, heads) are free
            and broadcast.
        key: (..., n_k, d_k), same dtype.
        value: (..., n_k, d_v), same dtype; d_v is free.
        mask: broadcastable to (..., n_q, n_k), or None. Booleans: True takes part. Floats: added
            to the scores.
        dropout: a function from weights to weights, or None: `nn.Dropout(p)`, which knows training
            from evaluation, or `drop` with a mask of your own.

    Returns:
        The outputs (..., n_q, d_v), in units of the values, and the weights (..., n_q, n_k),
        dimensionless, whose rows sum to 1: they are those before dropout. A query whose keys are
        all masked out gets weights and output 0.

    Raises:
        TypeError: the mask holds neither booleans nor floats of the scores' dtype.
        ValueError: the mask does not broadcast to the scores' shape.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", §3.2.1, equation 1.

    Examples:
        Output 1 of the eight steps, scaled by √3.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> query = np.array([[1.0, 0, 2]])
        >>> key = np.array([[0.0, 1, 1], [4, 4, 0], [2, 3, 1]])
        >>> value = np.array([[1.0, 2, 3], [2, 8, 0], [2, 6, 3]])
        >>> output, weights = attention(query, key, value)
        >>> text(output, ".4f"), text(weights, ".4f")
        ('[[1.8639, 6.3194, 1.7042]]', '[[0.1361, 0.4319, 0.4319]]')
    """
    scores = scaled_dot(query, key)  # (..., n_q, n_k)
    if mask is not None:
        scores = apply_mask(scores, mask)
    weights = softmax(scores, axis=-1)  # over the keys
    dropped = weights if dropout is None else dropout(weights)
    return dropped @ value, weights


@requires("p must be at least 0 and below 1", lambda p: 0 <= p < 1)
@requires(
    lambda weights, keep: (
        f"keep must broadcast to the weights' shape {shape(weights)}, got {shape(keep)}"
    ),
    lambda weights, keep: fits(keep, shape(weights)),
)
def drop(
    weights: Float[Array, "... n_q n_k"], keep: Bool[Array, "..."], p: float
) -> Float[Array, "... n_q n_k"]:
    r"""Dropout with a given keep mask: some weights become 0, the others grow.

    $$a'_{ij} = \frac{r_{ij}}{1-p}\, a_{ij}, \qquad \operatorname{E}[r_{ij}] = 1 - p
      \;\Rightarrow\; \operatorname{E}[a'_{ij}] = a_{ij}$$

    Args:
        weights: (..., n_q, n_k), real floats, dimensionless.
        keep: broadcastable to the weights, booleans, the r of the formula: True keeps, False drops.
        p: probability that a weight is dropped, at least 0 and below 1.

    Returns:
        Weights of the same shape. Their rows need not sum to 1.

    Raises:
        ValueError: p is not in [0, 1), or keep does not broadcast to the weights' shape.

    Source:
        Srivastava et al. 2014, "Dropout", in the form that scales while training.

    Examples:
        Weights 1/8, 2/8, 5/8, the second dropped with p = 1/4: 1/8·4/3 = 1/6 and 5/8·4/3 = 5/6.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> keep = np.array([[True, False, True]])
        >>> text(drop(np.array([[0.125, 0.25, 0.625]]), keep, 0.25), ".4f")
        '[[0.1667, 0.0000, 0.8333]]'
    """
    xp = array_namespace(weights)
    return xp.where(keep, weights / (1 - p), xp.zeros_like(weights))
