"""The matrix form: columns for rows, what a dot product measures, tokens in another order."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_docs.checks import Array, floats, shape
from attention_docs.score_functions import cosine, dot
from attention_docs.softmax import softmax


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

    Raises:
        TypeError: not arrays of real floats, or of two dtypes.
        ValueError: not exactly 2 axes, an empty axis, different d_k, or different numbers of keys
            and values.

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
    xp = floats(query=query, key=key, value=value)
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim != 2 or 0 in shape(array):
            raise ValueError(f"{name} must have 2 axes (d, n), none empty, got {shape(array)}")
    if query.shape[0] != key.shape[0]:
        raise ValueError(f"query and key must share d_k, got {shape(query)} and {shape(key)}")
    if key.shape[1] != value.shape[1]:
        raise ValueError(
            f"key and value must share their number of tokens, got {shape(key)} and {shape(value)}"
        )
    scores = xp.matrix_transpose(key) @ query / sqrt(query.shape[0])  # (n_k, n_q)
    weights = softmax(scores, axis=0)  # the keys run down a column
    return value @ weights, weights


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
        TypeError: as for `dot`.
        ValueError: as for `dot`, or a vector of zeros, which has no direction.

    Examples:
        Query 1 of the eight steps with key 1: 2 / (√5·√2) = 0.6325. Key 1 is the nearest by angle
        and has the lowest score.

        >>> from attention_docs.text import text
        >>> key = np.array([[0.0, 1, 1], [4, 4, 0], [2, 3, 1]])
        >>> text(angles(np.array([[1.0, 0, 2]]), key), ".1f")
        '[[50.8, 71.6, 61.4]]'
    """
    cosines = cosine(query, key)
    xp = _with_directions(query=query, key=key)
    # Rounding can leave a cosine a little outside [-1, 1], where arccos is NaN.
    ones = xp.ones_like(cosines)
    return xp.acos(xp.minimum(xp.maximum(cosines, -ones), ones)) * (180 / pi)


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
        TypeError: as for `dot`.
        ValueError: as for `dot`, or a query of zeros, which has no direction.

    Examples:
        Projected on [3, 4], whose length is 5: 3/5, 4/5 and -5/5.

        >>> from attention_docs.text import text
        >>> key = np.array([[1.0, 0], [0, 1], [1, -2]])
        >>> text(projections(np.array([[3.0, 4]]), key), ".1f")
        '[[0.6, 0.8, -1.0]]'
    """
    scores = dot(query, key)
    xp = _with_directions(query=query)
    return scores / xp.sqrt(xp.sum(query * query, axis=-1, keepdims=True))


def _with_directions(**arrays: Array) -> Any:
    """The namespace of the arrays, or ValueError where one of their vectors is all zeros."""
    xp = floats(**arrays)
    for name, vectors in arrays.items():
        zeros = xp.all(vectors == 0, axis=-1)
        if xp.any(zeros):
            got = int(xp.sum(xp.astype(zeros, xp.int64)))
            raise ValueError(f"{name} must have no vector of zeros, got {got} of them")
    return xp


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
    n = len(order)
    if not n or sorted(order) != list(range(n)):
        raise ValueError(f"order must hold every number from 0 to {max(n - 1, 0)}, got {order}")
    return np.eye(n)[list(order)]
