"""Softmax: scores in, positive weights that sum to 1 out; and what a change of the scores does."""

from __future__ import annotations

from math import inf
from typing import Any

from array_api_compat import device
from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.signatures import Array, array_namespace, checked, shape


@requires(
    lambda scores, axis: f"axis must name one of {scores.ndim} axes, got {axis}",
    lambda scores, axis: -scores.ndim <= axis < scores.ndim,
)
@requires(
    lambda scores, axis: f"softmax needs at least one score, got shape {shape(scores)}",
    lambda scores, axis: scores.shape[axis] > 0,
)
def softmax(scores: Float[Array, "..."], axis: int = -1) -> Float[Array, "..."]:
    r"""Turn scores into weights along one axis.

    $$\operatorname{softmax}(s)_i = \frac{e^{s_i}}{\sum_j e^{s_j}}
      = \frac{e^{s_i - m}}{\sum_j e^{s_j - m}}, \qquad m = \max_j s_j$$

    The maximum is subtracted first: the result is the same, and no exponential overflows. The sum
    is made in float32 where the scores have less.

    Args:
        scores: any shape, real floats, dimensionless; -inf is a weight of 0.
        axis: the axis whose weights sum to 1; in attention the keys, the last one.

    Returns:
        Weights of the same shape and dtype, dimensionless, between 0 and 1. A row of -inf alone,
        which has no largest score, gives zeros.

    Raises:
        ValueError: the axis does not exist or is empty.

    Source:
        Bridle 1990, "Probabilistic interpretation of feedforward classification network outputs".

    Examples:
        Step 5 of the eight steps: e² + 2e⁴ = 7.389 + 109.196; the first weight is 7.389 / 116.585.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> text(softmax(np.array([2.0, 4.0, 4.0])), ".4f")
        '[0.0634, 0.4683, 0.4683]'

        The scores that show why we scale: e / (3e + e⁵) and e⁵ / (3e + e⁵).

        >>> text(softmax(np.array([1.0, 1.0, 1.0, 5.0])), ".4f")
        '[0.0174, 0.0174, 0.0174, 0.9479]'
    """
    xp = array_namespace(scores)
    largest = xp.max(scores, axis=axis, keepdims=True)
    # A row of -inf has no finite maximum: -inf - (-inf) would be NaN.
    largest = xp.where(largest == -inf, 0, largest)
    exponentials = xp.exp(scores - largest)
    total = _sum(xp, exponentials, axis)
    weights = exponentials / xp.where(total == 0, 1, total)
    return xp.astype(weights, scores.dtype, copy=False)


def _sum(xp: Any, terms: Array, axis: int) -> Array:
    """Sum along an axis, which stays, in float32 at least: in float16 1 + 1 + … stops at 2048."""
    wide = xp.float32 if xp.finfo(terms.dtype).bits < 32 else terms.dtype
    return xp.sum(terms, axis=axis, keepdims=True, dtype=wide)


@requires("temperature must be positive and finite", lambda temperature: 0 < temperature < inf)
def tempered_softmax(
    scores: Float[Array, "..."], temperature: float, axis: int = -1
) -> Float[Array, "..."]:
    r"""Softmax of the scores divided by a temperature.

    $$a_i = \frac{e^{s_i/\tau}}{\sum_j e^{s_j/\tau}},
      \qquad \frac{a_i}{a_j} = e^{(s_i - s_j)/\tau}$$

    τ = 1 is softmax itself, $\tau = \sqrt{d_k}$ is scaled dot-product attention. A small τ gives
    the largest score nearly everything; a large τ makes the weights nearly equal.

    Args:
        scores: as for `softmax`.
        temperature: τ, positive and finite, in units of the scores.
        axis: as for `softmax`.

    Returns:
        Weights of the same shape and dtype, dimensionless.

    Raises:
        ValueError: the temperature is not positive and finite; and as for `softmax`.

    Source:
        Hinton, Vinyals and Dean 2015, "Distilling the Knowledge in a Neural Network", equation 1.

    Examples:
        With scores ln 1, ln 2, ln 5 and τ = 1/2 the exponentials are the squares 1, 4 and 25.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> scores = np.log(np.array([1.0, 2.0, 5.0]))
        >>> text(tempered_softmax(scores, 1.0), ".4f")
        '[0.1250, 0.2500, 0.6250]'
        >>> text(30 * tempered_softmax(scores, 0.5), ".4f")
        '[1.0000, 4.0000, 25.0000]'
    """
    return softmax(scores / temperature, axis=axis)


@checked
def softmax_jacobian(weights: Float[Array, "... n"]) -> Float[Array, "... n n"]:
    r"""Derivatives of softmax by its scores, from the weights that it gave.

    $$J = \frac{\partial a}{\partial s} = \operatorname{diag}(a) - a^\top a,
      \qquad J_{ij} = a_i (\delta_{ij} - a_j)$$

    Args:
        weights: (..., n), the row vectors a, dimensionless; each sums to 1.

    Returns:
        (..., n, n), same dtype, in 1 / units of the scores: row i holds the derivatives of
        weight i. It is symmetric, and every row sums to 0.

    Source:
        Gao and Pavel 2017, "On the Properties of the Softmax Function with Application in Game
        Theory and Reinforcement Learning".

    Examples:
        Two equal weights: 0.5·0.5 = 0.25 everywhere, negative off the diagonal.

        >>> import numpy as np
        >>> softmax_jacobian(np.array([0.5, 0.5]))
        array([[ 0.25, -0.25],
               [-0.25,  0.25]])

        Weights in eighths give 64ths: 1·(8 - 1), -1·2, -1·5 and so on.

        >>> (64 * softmax_jacobian(np.array([0.125, 0.25, 0.625]))).astype(int)
        array([[  7,  -2,  -5],
               [ -2,  12, -10],
               [ -5, -10,  15]])
    """
    xp = array_namespace(weights)
    identity = xp.eye(shape(weights)[-1], dtype=weights.dtype, device=device(weights))
    return weights[..., :, None] * (identity - weights[..., None, :])


@checked
def softmax_gradient(
    weights: Float[Array, "*batch n"], by_weights: Float[Array, "*batch n"]
) -> Float[Array, "*batch n"]:
    r"""Gradient of a loss by the scores, from its gradient by the weights: g J without J.

    $$\frac{\partial L}{\partial s_j} = \sum_i g_i J_{ij}
      = a_j \Bigl(g_j - \sum_i a_i g_i\Bigr), \qquad g_i = \frac{\partial L}{\partial a_i}$$

    Args:
        weights: (..., n), what softmax gave along the last axis, dimensionless.
        by_weights: g, the same shape and dtype, in units of the loss.

    Returns:
        The same shape and dtype, in units of the loss / units of the scores; each row sums to 0.

    Source:
        Gao and Pavel 2017, "On the Properties of the Softmax Function with Application in Game
        Theory and Reinforcement Learning".

    Examples:
        The mean of g is (1·3 + 2·1 + 5·1) / 8 = 1.25; (1/8)·(3 - 1.25) = 0.21875 and so on.

        >>> import numpy as np
        >>> softmax_gradient(np.array([0.125, 0.25, 0.625]), np.array([3.0, 1.0, 1.0]))
        array([ 0.21875, -0.0625 , -0.15625])
    """
    xp = array_namespace(weights)
    gradient = weights * (by_weights - _sum(xp, weights * by_weights, -1))
    return xp.astype(gradient, weights.dtype)


@checked
def entropy(weights: Float[Array, "... n"]) -> Float[Array, "..."]:
    r"""Entropy of the weights along the last axis, $-\sum_i a_i \ln a_i$, in nats.

    0 where one weight is 1, ln n where all n weights are 1/n; 0 · ln 0 counts as 0.

    Args:
        weights: (..., n), dimensionless, not negative; each row sums to 1.

    Returns:
        (...), same dtype, in nats.

    Source:
        Shannon 1948, "A Mathematical Theory of Communication", §6.

    Examples:
        ln 2 = 0.6931 for two equal weights.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> text(entropy(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])), ".4f")
        '[0.6931, 0.0000]'
    """
    xp = array_namespace(weights)
    positive = weights > 0
    logarithms = xp.log(xp.where(positive, weights, xp.ones_like(weights)))
    return -xp.astype(_sum(xp, weights * logarithms, -1)[..., 0], weights.dtype)
