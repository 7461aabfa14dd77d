"""The matrix form: columns for rows, what a dot product measures, tokens in another order."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np
from array_api_compat import array_namespace
from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.score_functions import cosine, dot
from attention_docs.signatures import Array, checked
from attention_docs.softmax import softmax


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


@requires("query must have no vector of zeros", lambda query: bool((query != 0).any(-1).all()))
@requires("key must have no vector of zeros", lambda key: bool((key != 0).any(-1).all()))
def angles(
    query: Float[Array, "... n_q d_k"], key: Float[Array, "... n_k d_k"]
) -> Float[Array, "... n_q n_k"]:
    r"""The angle between every query and every key.

    $$\theta_{ij} = \arccos \frac{q_i \cdot k_j}{\lVert q_i \rVert\, \lVert k_j \rVert}$$

    Args:
        query: (..., n_q, d_k), real floats, no vector of zeros.
        key: (..., n_k, d_k), same dtype, no vector of zeros.

    Returns:
        Angles (..., n_q, n_k) in degrees, from 0 to 180.

    Raises:
        ValueError: a vector of zeros, which has no direction.

    Examples:
        Query 1 of the eight steps with key 1: 2 / (√5·√2) = 0.6325. Key 1 is the nearest by angle
        and has the lowest score.

        >>> from attention_docs.text import text
        >>> key = np.array([[0.0, 1, 1], [4, 4, 0], [2, 3, 1]])
        >>> text(angles(np.array([[1.0, 0, 2]]), key), ".1f")
        '[[50.8, 71.6, 61.4]]'
    """
    xp = array_namespace(query)
    cosines = cosine(query, key)
    # Rounding can leave a cosine a little outside [-1, 1], where arccos is NaN.
    ones = xp.ones_like(cosines)
    return xp.acos(xp.minimum(xp.maximum(cosines, -ones), ones)) * (180 / pi)


@requires("query must have no vector of zeros", lambda query: bool((query != 0).any(-1).all()))
def projections(
    query: Float[Array, "... n_q d_k"], key: Float[Array, "... n_k d_k"]
) -> Float[Array, "... n_q n_k"]:
    r"""The signed length of every key's projection on every query.

    $$\frac{q_i \cdot k_j}{\lVert q_i \rVert} = \lVert k_j \rVert \cos\theta_{ij}$$

    Args:
        query: (..., n_q, d_k), real floats, no vector of zeros.
        key: (..., n_k, d_k), same dtype.

    Returns:
        Lengths (..., n_q, n_k), in units of the keys; negative where the angle is above 90°.

    Raises:
        ValueError: a query of zeros, which has no direction.

    Examples:
        Projected on [3, 4], whose length is 5: 3/5, 4/5 and -5/5.

        >>> from attention_docs.text import text
        >>> key = np.array([[1.0, 0], [0, 1], [1, -2]])
        >>> text(projections(np.array([[3.0, 4]]), key), ".1f")
        '[[0.6, 0.8, -1.0]]'
    """
    xp = array_namespace(query)
    return dot(query, key) / xp.sqrt(xp.sum(query * query, axis=-1, keepdims=True))


@requires(
    lambda order: f"order must hold every number from 0 to {len(order) - 1}, got {order}",
    lambda order: len(order) > 0 and sorted(order) == list(range(len(order))),
)
def permutation_matrix(order: Sequence[int]) -> Float[np.ndarray, "n n"]:
    r"""The matrix P that puts rows into another order: row i of PX is row order[i] of X.

    $$P_{ij} = \begin{cases} 1 & j = \text{order}_i \\ 0 & \text{otherwise} \end{cases}
      \qquad P^\top P = I$$

    Args:
        order: every number from 0 to n - 1, once.

    Returns:
        P (n, n) of zeros and ones, float64.

    Raises:
        ValueError: the order is empty, leaves a number out, or holds one twice.

    Examples:
        Row 3 first, then rows 1 and 2.

        >>> permutation_matrix([2, 0, 1]) @ np.array([10.0, 20.0, 30.0])
        array([30., 10., 20.])
    """
    return np.eye(len(order))[list(order)]
