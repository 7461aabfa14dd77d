"""Attention as kernel smoothing."""

from __future__ import annotations

from math import inf
from typing import Any

from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.masking import apply_mask
from attention_docs.signatures import Array, array_namespace
from attention_docs.softmax import softmax


@requires("bandwidth must be positive and finite", lambda bandwidth: 0 < bandwidth < inf)
def gaussian_kernel(
    query: Float[Array, "... n_q d"], key: Float[Array, "... n_k d"], bandwidth: float = 1.0
) -> Float[Array, "... n_q n_k"]:
    r"""How near each query is to each key: 1 where they are equal, and nearly 0 far away.

    $$\kappa(q, k) = e^{-\lVert q - k \rVert^2 / (2 h^2)}$$

    Args:
        query: (..., n_q, d), real floats.
        key: (..., n_k, d), same dtype.
        bandwidth: h, in units of the vectors.

    Returns:
        The kernel of all pairs (..., n_q, n_k), dimensionless.

    Raises:
        ValueError: a bandwidth that is not positive and finite.

    Source:
        Nadaraya 1964, "On Estimating Regression"; Watson 1964, "Smooth Regression Analysis".

    Examples:
        Distances 0 and 2, with 2h² = 4:

        >>> import numpy as np
        >>> near = gaussian_kernel(np.array([[1.0]]), np.array([[1.0], [3]]), 2**0.5)
        >>> near.round(4).tolist()
        [[1.0, 0.3679]]
    """
    xp = array_namespace(query)
    return xp.exp(_exponents(query, key, bandwidth))


@requires("bandwidth must be positive and finite", lambda bandwidth: 0 < bandwidth < inf)
def kernel_smoothing(
    query: Float[Array, "... n_q d"],
    key: Float[Array, "... n_k d"],
    value: Float[Array, "... n_k d_v"],
    bandwidth: float = 1.0,
    mask: Any = None,
) -> tuple[Float[Array, "... n_q d_v"], Float[Array, "... n_q n_k"]]:
    r"""The Nadaraya-Watson estimate: the average of the values, weighted by a Gaussian kernel.

    $$o_i = \frac{\sum_j \kappa(q_i, k_j)\, v_j}{\sum_j \kappa(q_i, k_j)}, \qquad
      \kappa(q, k) = e^{-\lVert q - k \rVert^2 / (2 h^2)}$$

    Args:
        query: (..., n_q, d), real floats: where the curve is wanted.
        key: (..., n_k, d), same dtype: where it was measured.
        value: (..., n_k, d_v), same dtype: what was measured there.
        bandwidth: h, in units of the queries and keys.
        mask: as in `masking.apply_mask`: True takes part, or None.

    Returns:
        The estimates (..., n_q, d_v), in units of the values, and the weights (..., n_q, n_k).
        However far away the keys are, the weights sum to 1, and to 0 where all keys are masked.

    Raises:
        TypeError: the mask holds neither booleans nor floats of the scores' dtype.
        ValueError: a bandwidth that is not positive and finite.

    Source:
        Nadaraya 1964, "On Estimating Regression"; Watson 1964, "Smooth Regression Analysis".

    Examples:
        Two keys at the same distance share the weight.

        >>> import numpy as np
        >>> key, value = np.array([[0.0], [2]]), np.array([[3.0], [5]])
        >>> kernel_smoothing(np.array([[1.0]]), key, value)[0].tolist()
        [[4.0]]
    """
    exponents = _exponents(query, key, bandwidth)
    if mask is not None:
        exponents = apply_mask(exponents, mask)
    weights = softmax(exponents)
    return weights @ value, weights


def _exponents(query: Array, key: Array, bandwidth: float) -> Array:
    """Minus the squared distances over 2h²; from differences, so that nothing cancels."""
    xp = array_namespace(query)
    apart = query[..., :, None, :] - key[..., None, :, :]
    return -xp.sum(apart * apart, axis=-1) / (2 * bandwidth**2)
