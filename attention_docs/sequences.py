"""Sequences in, labels out: the window layer, what it costs, and the sentence "I saw a saw"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.signatures import Array, array_namespace


def _constant(rows: Sequence[Sequence[float]]) -> Float[np.ndarray, "n d"]:
    array = np.array(rows, dtype=np.float64)
    array.setflags(write=False)  # shared by every chapter that uses the sentence
    return array


EMBEDDINGS = _constant([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0]])
"""The tokens of "I saw a saw" (4, 5): components for "I", "saw" and "a", and two free ones."""

POSITIONS = _constant([[0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, -1, 0], [0, 0, 0, 0, -1]])
"""One vector a place (4, 5), in the two free components: quarter turns of a circle."""

W_TAG = _constant(
    [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]  # left neighbour
    + [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]  # the token itself
    + [[0, 0, 0, 0]] * 5  # right neighbour
)
"""Parameters (3·5, 4) of a window layer that tags the sentence right.

Its columns are pronoun, verb, determiner and noun.
"""

W_QUERY = _constant([[0, 2, 0, 0], [2, 0, 0, 0], [0, 4, 0, 0], [0, 0, 0, -4], [0, 0, 4, 0]])
"""Parameters (5, 4): "saw" looks for "I", the others for "saw"; every place for the one before."""

W_KEY = _constant([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
"""Parameters (5, 4): a key says whether it is "I", whether it is "saw", and its place."""

W_VALUE = _constant([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
"""Parameters (5, 3): a value says which word it is."""


@requires("k must be odd and at least 1", lambda k: k >= 1 and k % 2 == 1)
def windows(inputs: Float[Array, "... n d"], k: int) -> Float[Array, "... n kd"]:
    r"""For every token, the k vectors around it in one row, with zeros past the ends.

    $$z_i = [x_{i-r}, \ldots, x_i, \ldots, x_{i+r}], \qquad k = 2r + 1$$

    Args:
        inputs: (..., n, d), real floats.
        k: the window's size in tokens, odd.

    Returns:
        Windows (..., n, k·d), in units of the inputs.

    Raises:
        ValueError: k is even or below 1.

    Source:
        Collobert et al. 2011, "Natural Language Processing (Almost) from Scratch", the window
        approach.

    Examples:
        Three tokens of size 2, each between its neighbours.

        >>> from attention_docs.text import text
        >>> print(text(windows(np.array([[1.0, 2], [3, 4], [5, 6]]), 3), ".0f"))
        [[0, 0, 1, 2, 3, 4],
         [1, 2, 3, 4, 5, 6],
         [3, 4, 5, 6, 0, 0]]
    """
    xp = array_namespace(inputs)
    n, side = inputs.shape[-2], k // 2
    # Zeros of the inputs' own kind, dtype and device.
    empty = xp.zeros_like(inputs[..., :1, :])
    padded = xp.concat([empty] * side + [inputs] + [empty] * side, axis=-2)
    return xp.concat([padded[..., i : i + n, :] for i in range(k)], axis=-1)


@requires(
    lambda d, kd: f"parameters must have k·{d} rows with k odd, got {kd}",
    lambda d, kd: kd % d == 0 and kd // d % 2 == 1,
)
def window_layer(
    inputs: Float[Array, "... n d"], parameters: Float[Array, "kd d_out"]
) -> Float[Array, "... n d_out"]:
    r"""One linear layer on the window of every token, the same parameters at every place.

    $$y_i = [x_{i-r}, \ldots, x_{i+r}]\,W, \qquad W \in \mathbb{R}^{kd \times d_\text{out}}$$

    Args:
        inputs: (..., n, d), real floats.
        parameters: (k·d, d_out), same dtype; k is read from it. With k = 1 it is a per-token layer.

    Returns:
        Outputs (..., n, d_out), in units of inputs times parameters.

    Raises:
        ValueError: parameters whose rows are no odd multiple of d.

    Source:
        Collobert et al. 2011, the window approach, without its nonlinearity and bias.

    Examples:
        "I saw a saw": the pronoun, the verb after "I", the determiner, the noun after "a".

        >>> from attention_docs.text import text
        >>> print(text(window_layer(EMBEDDINGS, W_TAG), ".0f"))
        [[1, 0, 0, 0],
         [0, 2, 0, 1],
         [0, 0, 1, 0],
         [0, 1, 0, 2]]
    """
    return windows(inputs, parameters.shape[0] // inputs.shape[-1]) @ parameters


def window_parameters(k: int, d: int, d_out: int | None = None) -> int:
    r"""Number of parameters of a window layer without bias: $k\,d\,d_\text{out}$.

    Args:
        k: the window's size in tokens.
        d: size of an input.
        d_out: size of an output; d where it is left out.

    Returns:
        The number of entries of its matrix, dimensionless.

    Source:
        The shape of W in `window_layer`.

    Examples:
        3·64·64, and the 15·4 entries of `W_TAG`.

        >>> window_parameters(3, 64), window_parameters(3, 5, 4)
        (12288, 60)
    """
    return k * d * (d if d_out is None else d_out)


def attention_parameters(d: int, d_k: int | None = None, d_v: int | None = None) -> int:
    r"""Number of parameters of one self-attention without bias: $2\,d\,d_k + d\,d_v$.

    Args:
        d: size of an input.
        d_k: size of a query and of a key; d where it is left out.
        d_v: size of a value; d where it is left out.

    Returns:
        The number of entries of W_Q, W_K and W_V, dimensionless. The number of tokens is not in it.

    Source:
        Vaswani et al. 2017, §3.2.2: the shapes of one head's projections.

    Examples:
        3·64·64, and 20 + 20 + 15 for this chapter's matrices.

        >>> attention_parameters(64), attention_parameters(5, 4, 3)
        (12288, 55)
    """
    return 2 * d * (d if d_k is None else d_k) + d * (d if d_v is None else d_v)


@requires(
    lambda d, m: f"corners must be (d + 1, d) for a point (d,), got {(m, d)} and {(d,)}",
    lambda d, m: m == d + 1,
)
@requires(
    "corners must not lie in one line or plane",
    lambda corners: np.linalg.matrix_rank(corners[1:] - corners[0]) == corners.shape[1],
)
def weights_of(
    point: Float[np.ndarray, " d"], corners: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, " m"]:
    r"""The only numbers that sum to 1 and mix the corners to the point.

    $$\sum_j a_j v_j = p, \qquad \sum_j a_j = 1$$

    The point is a convex combination of the corners exactly if none of the numbers is negative.

    Args:
        point: (d,), real floats.
        corners: (d + 1, d): a triangle in the plane, a tetrahedron in space.

    Returns:
        (d + 1,), dimensionless; negative where the point lies beyond the opposite side.

    Raises:
        ValueError: not d + 1 corners of size d, or corners that span no triangle.

    Source:
        Boyd and Vandenberghe 2004, "Convex Optimization", §2.2.4: simplexes.

    Examples:
        [2, 1] = 1/4·[0, 0] + 1/2·[4, 0] + 1/4·[0, 4].

        >>> from attention_docs.text import text
        >>> corners = np.array([[0.0, 0], [4, 0], [0, 4]])
        >>> text(weights_of(np.array([2.0, 1]), corners), ".2f")
        '[0.25, 0.50, 0.25]'
    """
    edges = (corners[1:] - corners[0]).T
    others: Float[np.ndarray, " d"] = np.linalg.solve(edges, point - corners[0])
    return np.concatenate([[1 - others.sum()], others])
