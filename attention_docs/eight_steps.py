"""The worked example of the eight steps: three inputs of size 4, projected to size 3.

The numbers are those of Raimi Karim's "Illustrated: Self-Attention" (2019): small integers, so
that every product up to the scores can be checked with a pencil.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.signatures import Array, array_namespace, checked
from attention_docs.softmax import softmax


def _constant(rows: list[list[int]]) -> Float[np.ndarray, "n d"]:
    array = np.array(rows, dtype=np.float64)
    array.setflags(write=False)  # shared by every chapter that uses the example
    return array


INPUTS = _constant([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
"""Three inputs of size 4, one a row."""

W_KEY = _constant([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]])
"""Parameters (4, 3) that turn an input into its key."""

W_QUERY = _constant([[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
"""Parameters (4, 3) that turn an input into its query."""

W_VALUE = _constant([[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]])
"""Parameters (4, 3) that turn an input into its value."""


@checked
def weighted_values(
    weights: Float[Array, "... n_q n_k"], value: Float[Array, "... n_k d_v"]
) -> Float[Array, "... n_q n_k d_v"]:
    r"""Every value times every weight that it gets: step 6, before the sum of step 7.

    $$u_{ij} = a_{ij}\, v_j, \qquad o_i = \sum_j u_{ij}$$

    Args:
        weights: (..., n_q, n_k), real floats, dimensionless; row i holds the weights of query i.
        value: (..., n_k, d_v), same dtype.

    Returns:
        Weighted values (..., n_q, n_k, d_v), in units of the values. Their sum over the keys, the
        axis before the last, is the output.

    Source:
        Bahdanau et al. 2015, §3.1, equation 5, the terms of its sum.

    Examples:
        Step 6 with weights in tenths: 0.0 · [1, 2, 3], 0.5 · [2, 8, 0] and 0.5 · [2, 6, 3].

        >>> from attention_docs.text import text
        >>> weights = np.array([[0.0, 0.5, 0.5]])
        >>> value = np.array([[1.0, 2, 3], [2, 8, 0], [2, 6, 3]])
        >>> print(text(weighted_values(weights, value), ".1f"))
        [[[0.0, 0.0, 0.0],
          [1.0, 4.0, 0.0],
          [1.0, 3.0, 1.5]]]
    """
    return weights[..., :, :, None] * value[..., None, :, :]


@requires(
    lambda weights: (
        "weights must be at least 0 and each row must sum to 1, got a smallest weight of "
        f"{weights.min()} and sums of {weights.sum(axis=-1)}"
    ),
    lambda weights: (weights >= 0).all() and np.allclose(weights.sum(axis=-1), 1),
)
def round_weights(
    weights: Float[np.ndarray, "... n_k"], digits: int = 1
) -> Float[np.ndarray, "... n_k"]:
    r"""Round weights to some decimals so that every row still sums to 1 (largest remainder).

    Every weight is cut to its decimals; the units that are then missing from the sum go to the
    weights that lost most. Of all rows in those decimals that sum to 1, the result is the nearest.

    Args:
        weights: (..., n_k), dimensionless, not negative; every row sums to 1.
        digits: decimals that are kept.

    Returns:
        Weights of the same shape, dimensionless.

    Raises:
        ValueError: a weight is negative, or a row does not sum to 1.

    Source:
        Balinski and Young 1982, "Fair Representation", Hamilton's method.

    Examples:
        Row 1 of the eight steps. Each weight on its own would become 0.1, 0.5 and 0.5, and those
        sum to 1.1.

        >>> from attention_docs.text import text
        >>> text(round_weights(np.array([0.0634, 0.4683, 0.4683])), ".1f")
        '[0.0, 0.5, 0.5]'
    """
    units = weights * 10**digits
    whole = np.floor(units)
    missing = 10**digits - whole.sum(axis=-1, keepdims=True)
    rank = np.argsort(np.argsort(whole - units, axis=-1, kind="stable"), axis=-1)
    rounded: Float[np.ndarray, "... n_k"] = (whole + (rank < missing)) / 10**digits
    return rounded


@checked
def column_attention(
    query: Float[Array, "d_k n_q"],
    key: Float[Array, "d_k n_k"],
    value: Float[Array, "d_v n_k"],
) -> tuple[Float[Array, "d_v n_q"], Float[Array, "n_k n_q"]]:
    r"""Scaled dot-product attention in the column convention: every token is a column.

    $$\hat S = \frac{\hat K^\top \hat Q}{\sqrt{d_k}}, \qquad
      \hat A = \operatorname{softmax}(\hat S) \text{ down every column}, \qquad
      \hat O = \hat V \hat A$$

    Args:
        query: (d_k, n_q), real floats, one query a column.
        key: (d_k, n_k), same dtype.
        value: (d_v, n_k), same dtype; d_v is free.

    Returns:
        The outputs (d_v, n_q), in units of the values, and the weights (n_k, n_q), dimensionless,
        whose columns sum to 1: the transposes of what `attention` gives for the transposes.

    Source:
        Hung-yi Lee 2021, "Machine Learning", lecture on self-attention, which leaves out √d_k.

    Examples:
        Query 1 of the eight steps as a column, scaled by √3.

        >>> from attention_docs.text import text
        >>> query = np.array([[1.0], [0], [2]])
        >>> key = np.array([[0.0, 4, 2], [1, 4, 3], [1, 0, 1]])
        >>> value = np.array([[1.0, 2, 2], [2, 8, 6], [3, 0, 3]])
        >>> output, weights = column_attention(query, key, value)
        >>> text(output[:, 0], ".4f"), text(weights[:, 0], ".4f")
        ('[1.8639, 6.3194, 1.7042]', '[0.1361, 0.4319, 0.4319]')
    """
    xp = array_namespace(query)
    scores = xp.matrix_transpose(key) @ query / sqrt(query.shape[0])  # (n_k, n_q)
    weights = softmax(scores, axis=0)  # the keys run down a column
    return value @ weights, weights
