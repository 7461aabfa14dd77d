"""Positions: sinusoids, learned tables, and rotated queries and keys (RoPE)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from attention_docs.checks import fits, requires
from attention_docs.signatures import Array, array_namespace, checked, shape

Pairing = Literal["interleaved", "half-split"]
"""Which components make pair i (both counted from 0): 2i and 2i + 1, or i and i + d/2."""


_has_pairs = requires(
    "d must be even and at least 2, since components come in pairs",
    lambda d: d >= 2 and d % 2 == 0,
)


@_has_pairs
@requires("base must be positive", lambda base: base > 0)
def frequencies(d: int, base: float = 10000.0) -> Float[np.ndarray, " d_half"]:
    r"""One frequency for each pair of components.

    $$\omega_i = \text{base}^{-2i/d}, \qquad i = 0, \ldots, d/2 - 1$$

    Args:
        d: the number of components, even: i counts pairs, and 2i is the first component of pair i.
        base: sets the lowest frequency, which is just above 1/base.

    Returns:
        Frequencies (d/2,), float64, in radians per position; the first is 1.

    Raises:
        ValueError: d is odd or below 2, or base is not positive.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", §3.5.

    Examples:
        10000^0 and 10000^(-2/4) = 1/100.

        >>> from attention_docs.text import text
        >>> text(frequencies(4), ".2f")
        '[1.00, 0.01]'
    """
    omega: Float[np.ndarray, " d_half"] = base ** (-2 * np.arange(d // 2) / d)
    return omega


@checked
def sinusoids(
    positions: Float[Array, "..."], d: int, base: float = 10000.0
) -> Float[Array, "... d"]:
    r"""The sinusoidal encoding: a sine and a cosine for each frequency.

    $$p_{t,\,2i} = \sin(\omega_i t), \qquad p_{t,\,2i+1} = \cos(\omega_i t)$$

    Args:
        positions: (...), real floats, counted in tokens; they need be neither whole nor in order.
            float16 cannot tell 2048 from 2049.
        d: the size of the encoding, even.
        base: as in `frequencies`.

    Returns:
        Encodings (..., d), dimensionless, in the dtype of the positions.

    Raises:
        ValueError: d is odd or below 2, or base is not positive.

    Source:
        Vaswani et al. 2017, §3.5.

    Examples:
        sin 0, cos 0, and then sin 1, cos 1, sin 0.01, cos 0.01.

        >>> from attention_docs.text import text
        >>> print(text(sinusoids(np.array([0.0, 1.0]), 4), ".6f"))
        [[0.000000, 1.000000, 0.000000, 1.000000],
         [0.841471, 0.540302, 0.010000, 0.999950]]
    """
    xp = array_namespace(positions)
    angles = _angles(xp, positions, d, base)
    return _joined(xp, xp.sin(angles), xp.cos(angles), "interleaved")


@_has_pairs
def rotation(
    offset: float, d: int, base: float = 10000.0, pairing: Pairing = "interleaved"
) -> Float[np.ndarray, "d d"]:
    r"""The matrix R_s that turns pair i of a row counterclockwise by the angle ω_i s.

    $$R_s = \begin{bmatrix} R(\omega_0 s) & & \\ & R(\omega_1 s) & \\ & & \ddots \end{bmatrix},
      \qquad R(\alpha) = \begin{bmatrix} \cos\alpha & \sin\alpha \\
      -\sin\alpha & \cos\alpha \end{bmatrix}$$

    Args:
        offset: s, in tokens; negative turns clockwise.
        d: the number of components, even.
        base: as in `frequencies`.
        pairing: which components make a pair.

    Returns:
        A matrix (d, d), float64, dimensionless. Its transpose is its inverse.

    Raises:
        ValueError: d is odd or below 2, base is not positive, or an unknown pairing.

    Source:
        Su et al. 2021, "RoFormer", §3.2.2, equation 15, transposed: rows instead of columns.

    Examples:
        One pair, turned by one radian: cos 1 and sin 1 above, -sin 1 and cos 1 below.

        >>> from attention_docs.text import text
        >>> print(text(rotation(1, 2), ".4f"))
        [[ 0.5403, 0.8415],
         [-0.8415, 0.5403]]
    """
    matrix: Float[np.ndarray, "d d"] = rope(np.eye(d), np.array(float(offset)), base, pairing)
    return matrix


@requires(
    lambda x, positions: f"positions must broadcast to {shape(x)[:-1]}, got {shape(positions)}",
    lambda x, positions: fits(positions, shape(x)[:-1]),
)
@requires(
    "pairing must be 'interleaved' or 'half-split'",
    lambda pairing: pairing in ("interleaved", "half-split"),
)
def rope(
    x: Float[Array, "... n d"],
    positions: Float[Array, "..."],
    base: float = 10000.0,
    pairing: Pairing = "interleaved",
) -> Float[Array, "... n d"]:
    r"""Rotary position embedding: turn each pair of a query or key by its position's angle.

    $$\tilde x_t = x_t\, R_t, \qquad \tilde q_t \cdot \tilde k_u = q\, R_{t-u}\, k^\top$$

    $R_t$ is the matrix `rotation(t, d)`.

    Args:
        x: (..., n, d), queries or keys, real floats, d even.
        positions: broadcastable to (..., n), real floats of the same library, counted in tokens;
            the angles are computed in their dtype. Give float32 or more even where x has less.
        base: as in `frequencies`.
        pairing: which components make a pair; the same for queries and keys, and the one with
            which the parameters were trained.

    Returns:
        Rows (..., n, d) of the same lengths, in the units and dtype of x.

    Raises:
        ValueError: d is odd, positions that do not broadcast to (..., n), base not positive, or an
            unknown pairing.

    Source:
        Su et al. 2021, "RoFormer", §3.4.2, equation 34 (interleaved); Black et al. 2022,
        "GPT-NeoX-20B", in its code (half-split).

    Examples:
        Position 1 turns the first pair by 1 and the second by 0.01 radian.

        >>> from attention_docs.text import text
        >>> x = np.array([[1.0, 0, 0, 1]])
        >>> text(rope(x, np.array([1.0])), ".6f")
        '[[0.540302, 0.841471, -0.010000, 0.999950]]'
    """
    xp = array_namespace(x)
    angles = _angles(xp, positions, x.shape[-1], base)
    cos, sin = (xp.astype(function(angles), x.dtype) for function in (xp.cos, xp.sin))
    first, second = _pairs(x, pairing)
    return _joined(xp, first * cos - second * sin, first * sin + second * cos, pairing)


@requires(
    lambda n_max, positions: (
        f"positions must be from 0 to {n_max - 1}, one for each row of the table, "
        f"got {next(one for one in positions if not 0 <= one < n_max)}"
    ),
    lambda n_max, positions: all(0 <= one < n_max for one in positions),
)
def learned(table: Float[Array, "n_max d"], positions: Sequence[int]) -> Float[Array, "n d"]:
    r"""Learned encodings: position t gets row t of a table of parameters.

    $$p_t = E_t, \qquad E \in \mathbb{R}^{n_\text{max} \times d}$$

    Args:
        table: (n_max, d), real floats, n_max·d parameters.
        positions: whole numbers from 0 to n_max - 1.

    Returns:
        Encodings (n, d), in units of the table.

    Raises:
        ValueError: a position has no row. NumPy and torch would take a negative one from the end.

    Source:
        Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", §3.1; Devlin et al.
        2019, "BERT", §3.

    Examples:
        >>> from attention_docs.text import text
        >>> text(learned(np.array([[1.0, 2], [3, 4], [5, 6]]), [2, 0]), ".0f")
        '[[5, 6],\n [1, 2]]'
    """
    return table[list(positions)]


def _angles(xp: Any, positions: Array, d: int, base: float) -> Array:
    """Position times frequency, (..., n, d/2), in the positions' dtype."""
    return positions[..., None] * _omega(xp, d, base, positions.dtype, positions.device)


@lru_cache(maxsize=8)  # a model asks for the same ones in every layer
def _omega(xp: Any, d: int, base: float, dtype: Any, device: Any) -> Array:
    return xp.asarray(frequencies(d, base), dtype=dtype, device=device)


def _pairs(x: Array, pairing: str) -> tuple[Array, Array]:
    """The first and the second components of all pairs, (..., d/2) each."""
    if pairing == "interleaved":
        return x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def _joined(xp: Any, first: Array, second: Array, pairing: str) -> Array:
    """The components back in their places, (..., d)."""
    if pairing == "half-split":
        return xp.concat([first, second], axis=-1)
    return xp.reshape(xp.stack([first, second], axis=-1), (*first.shape[:-1], -1))


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
