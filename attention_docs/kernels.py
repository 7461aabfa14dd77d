"""Attention as kernel smoothing, and random features whose products are the kernel on average."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from array_api_compat import array_namespace
from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.masking import apply_mask
from attention_docs.signatures import Array, checked
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


@checked
def positive_features(
    x: Float[Array, "... n d"], directions: Float[Array, "f d"]
) -> Float[Array, "... n f"]:
    r"""Random features whose dot product is the exponential of a dot product on average.

    $$\varphi_r(x) = \frac{1}{\sqrt f}\, e^{w_r \cdot x - \lVert x \rVert^2 / 2}$$

    Args:
        x: queries or keys (..., n, d), real floats, already divided by the fourth root of d_k.
        directions: W (f, d), same dtype, rows drawn from the standard normal distribution; the
            same for queries and keys.

    Returns:
        Features (..., n, f), positive and dimensionless: the expectation of φ(q) · φ(k) over the
        directions is e to the power q · k.

    Source:
        Choromanski et al. 2021, "Rethinking Attention with Performers", §2.3, lemma 1.

    Examples:
        One direction along x, and one across: exponents 1 − 1/2 and −1/2.

        >>> import numpy as np
        >>> found = positive_features(np.array([[1.0, 0]]), np.eye(2)) * 2**0.5
        >>> np.allclose(found, [[np.exp(0.5), np.exp(-0.5)]], rtol=1e-12)
        True
    """
    xp = array_namespace(x)
    along = x @ xp.matrix_transpose(directions)
    norms = xp.sum(x * x, axis=-1, keepdims=True)
    return xp.exp(along - norms / 2) / sqrt(directions.shape[-2])


@checked
def trigonometric_features(
    x: Float[Array, "... n d"], directions: Float[Array, "f d"]
) -> Float[Array, "... n 2*f"]:
    r"""The same from cos and sin, which are exact for q = k and may give negative products.

    $$\varphi(x) = \frac{e^{\lVert x \rVert^2 / 2}}{\sqrt f}\,
      [\cos (w_1 \cdot x), \dots, \cos (w_f \cdot x), \sin (w_1 \cdot x), \dots]$$

    Args:
        x: queries or keys (..., n, d), real floats, already divided by the fourth root of d_k.
        directions: W (f, d), same dtype, as in `positive_features`.

    Returns:
        Features (..., n, 2 f), dimensionless, with the same expectation of their products.

    Source:
        Rahimi and Recht 2007, "Random Features for Large-Scale Kernel Machines", §3; Choromanski
        et al. 2021, "Rethinking Attention with Performers", §2.3.

    Examples:
        A direction across x: the cosine is 1 and the sine is 0.

        >>> import numpy as np
        >>> trigonometric_features(np.array([[0.0, 0]]), np.array([[0.0, 1]])).tolist()
        [[1.0, 0.0]]
    """
    xp = array_namespace(x)
    along = x @ xp.matrix_transpose(directions)
    scale = xp.exp(xp.sum(x * x, axis=-1, keepdims=True) / 2) / sqrt(directions.shape[-2])
    return xp.concat([scale * xp.cos(along), scale * xp.sin(along)], axis=-1)


def _exponents(query: Array, key: Array, bandwidth: float) -> Array:
    """Minus the squared distances over 2h²; from differences, so that nothing cancels."""
    xp = array_namespace(query)
    apart = query[..., :, None, :] - key[..., None, :, :]
    return -xp.sum(apart * apart, axis=-1) / (2 * bandwidth**2)
