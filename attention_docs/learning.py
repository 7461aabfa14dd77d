"""Learning W_Q, W_K and W_V: where they start, and the gradients that move them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import sqrt

import numpy as np
from jaxtyping import Float

from attention_docs.checks import batch_axes, requires
from attention_docs.signatures import Array, array_namespace, checked, shape
from attention_docs.softmax import softmax_gradient


@requires("d_in and d_out must be at least 1", lambda d_in, d_out: min(d_in, d_out) >= 1)
@requires(
    "rule must be 'lecun', 'kaiming' or 'xavier'",
    lambda rule: rule in ("lecun", "kaiming", "xavier"),
)
def entry_variance(rule: str, d_in: int, d_out: int) -> Fraction:
    r"""Variance of the random entries of a parameter matrix before training.

    $$\text{lecun: } \frac{1}{d_\text{in}}, \qquad \text{kaiming: } \frac{2}{d_\text{in}}, \qquad
      \text{xavier: } \frac{2}{d_\text{in} + d_\text{out}}$$

    Args:
        rule: "lecun", "kaiming" or "xavier".
        d_in: size of the vectors that the matrix takes, its rows.
        d_out: size of the vectors that it gives, its columns.

    Returns:
        The variance, exact, in units of (output / input)²; the mean of the entries is 0.

    Raises:
        ValueError: an unknown rule, or a size below 1.

    Source:
        LeCun et al. 1998, "Efficient BackProp", §4.6; He et al. 2015, "Delving Deep into
        Rectifiers", equation 10; Glorot and Bengio 2010, equation 12.

    Examples:
        1/512, 2/512 and 2/(512 + 64).

        >>> [str(entry_variance(rule, 512, 64)) for rule in ("lecun", "kaiming", "xavier")]
        ['1/512', '1/256', '1/288']
    """
    if rule == "lecun":
        return Fraction(1, d_in)
    if rule == "kaiming":
        return Fraction(2, d_in)
    return Fraction(2, d_in + d_out)


_has_shapes_of_attention = requires(
    lambda query, key, value, weights, by_output: (
        "weights and by_output must have the batch axes that query, key and value broadcast to, "
        f"{batch_axes(query, key)} and {batch_axes(query, key, value)}, "
        f"got {shape(weights)} and {shape(by_output)}"
    ),
    lambda query, key, value, weights, by_output: (
        shape(weights)[:-2] == batch_axes(query, key)
        and shape(by_output)[:-2] == batch_axes(query, key, value)
    ),
)


@_has_shapes_of_attention
def attention_backward(
    query: Float[Array, "... n_q d_k"],
    key: Float[Array, "... n_k d_k"],
    value: Float[Array, "... n_k d_v"],
    weights: Float[Array, "... n_q n_k"],
    by_output: Float[Array, "... n_q d_v"],
) -> tuple[Float[Array, "... n_q d_k"], Float[Array, "... n_k d_k"], Float[Array, "... n_k d_v"]]:
    r"""Gradients of a loss by query, key and value, from its gradient by the output.

    $$\begin{aligned}
      dV &= A^\top dO, \qquad dA = dO\, V^\top \\
      dS &= A \odot (dA - \operatorname{rowsum}(dA \odot A)) \\
      dQ &= \tfrac{1}{\sqrt{d_k}}\, dS\, K, \qquad dK = \tfrac{1}{\sqrt{d_k}}\, dS^\top Q
      \end{aligned}$$

    A mask needs no line of its own: where a weight is 0, so is the gradient by its score.

    Args:
        query: Q (..., n_q, d_k), real floats, as `attention` was given it.
        key: K (..., n_k, d_k), same dtype.
        value: V (..., n_k, d_v), same dtype.
        weights: A (..., n_q, n_k), as `attention` returned them, without dropout; dimensionless.
        by_output: dO (..., n_q, d_v), in units of the loss / units of the output.

    Returns:
        dQ, dK and dV, each in the shape of its array and in units of the loss / units of that
        array. An axis that was broadcast is summed over.

    Raises:
        ValueError: weights or by_output with other batch axes than `attention` gives.

    Source:
        Dao et al. 2022, "FlashAttention", appendix B.2.

    Examples:
        Scores ln 1, ln 2 and ln 5 (√d_k = 2) give the weights 1/8, 2/8 and 5/8, and dA = 3, 1, 1
        has the mean 10/8. So dS = 1/8·14/8 = 7/32, then 2/8·(-2/8) = -2/32 and 5/8·(-2/8) = -5/32.

        >>> from math import log
        >>> from attention_docs.attention_function import attention
        >>> from attention_docs.text import text
        >>> query = np.array([[2.0, 0, 0, 0]])
        >>> key = np.array([[0, 4.0, 0, 0], [log(2), 0, 4, 0], [log(5), 0, 0, 4]])
        >>> value = np.array([[3.0], [1], [1]])
        >>> _, weights = attention(query, key, value)
        >>> dQ, dK, dV = attention_backward(query, key, value, weights, np.array([[1.0]]))
        >>> text(dQ, ".4f"), text(dV, ".3f")
        ('[[-0.1474, 0.4375, -0.1250, -0.3125]]', '[[0.125],\n [0.250],\n [0.625]]')
        >>> text(32 * dK, ".0f")
        '[[ 7, 0, 0, 0],\n [-2, 0, 0, 0],\n [-5, 0, 0, 0]]'
    """
    xp = array_namespace(query)
    by_value = xp.matrix_transpose(weights) @ by_output
    by_weights = _sum_to(by_output @ xp.matrix_transpose(value), weights)
    by_scores = softmax_gradient(weights, by_weights)
    by_products = by_scores / sqrt(query.shape[-1])  # the scores are QKᵀ / √d_k
    by_query = by_products @ key
    by_key = xp.matrix_transpose(by_products) @ query
    return _sum_to(by_query, query), _sum_to(by_key, key), _sum_to(by_value, value)


def _sum_to(gradient: Array, like: Array) -> Array:
    """Sum over the axes along which an array was broadcast: its copies all had the same cause."""
    xp = array_namespace(gradient)
    padded = (1,) * (gradient.ndim - like.ndim) + shape(like)
    axes = tuple(i for i, n in enumerate(padded) if n == 1 and gradient.shape[i] != 1)
    summed = xp.sum(gradient, axis=axes) if axes else gradient
    return xp.reshape(summed, shape(like))


@checked
def self_attention_backward(
    x: Float[Array, "... n d_model"],
    w_query: Float[Array, "... d_model d_k"],
    w_key: Float[Array, "... d_model d_k"],
    w_value: Float[Array, "... d_model d_v"],
    weights: Float[Array, "... n n"],
    by_output: Float[Array, "... n d_v"],
) -> tuple[Array, Array, Array, Array]:
    r"""Gradients of a loss by the inputs and the three parameter matrices of self-attention.

    $$dW_Q = X^\top dQ, \quad dW_K = X^\top dK, \quad dW_V = X^\top dV, \quad
      dX = dQ\, W_Q^\top + dK\, W_K^\top + dV\, W_V^\top$$

    Args:
        x: X (..., n, d_model), real floats.
        w_query: W_Q (d_model, d_k), same dtype; axes before the last two broadcast.
        w_key: W_K (d_model, d_k), same dtype.
        w_value: W_V (d_model, d_v), same dtype.
        weights: A (..., n, n) of `attention(x @ w_query, x @ w_key, x @ w_value)`, masked or not.
        by_output: dO (..., n, d_v), in units of the loss / units of the output.

    Returns:
        dX, dW_Q, dW_K and dW_V, each in the shape of its array. A matrix that serves many
        sequences gets the sum of their gradients.

    Raises:
        ValueError: as for `attention_backward`.

    Source:
        The chain rule for Vaswani et al. 2017, §3.2.

    Examples:
        With X = I every parameter matrix gets the gradient of its own product. Scores of 0 give
        weights of 1/2: dV = Aᵀ dO = [(1 + 3)/2, (1 + 3)/2].

        >>> zero, value = np.zeros((2, 1)), np.array([[1.0], [5.0]])
        >>> half = np.full((2, 2), 0.5)
        >>> dO = np.array([[1.0], [3.0]])
        >>> _, dW_Q, _, dW_V = self_attention_backward(np.eye(2), zero, zero, value, half, dO)
        >>> dW_V
        array([[2.],
               [2.]])

        Zeros in W_K leave W_Q without a gradient: it could not start to learn.

        >>> bool(np.all(dW_Q == 0))
        True
    """
    xp = array_namespace(x)
    projections = attention_backward(x @ w_query, x @ w_key, x @ w_value, weights, by_output)
    by_x, by_w = xp.zeros_like(x), []
    for w, gradient in zip((w_query, w_key, w_value), projections, strict=True):
        by_x = by_x + _sum_to(gradient @ xp.matrix_transpose(w), x)
        by_w.append(_sum_to(xp.matrix_transpose(x) @ gradient, w))
    return by_x, by_w[0], by_w[1], by_w[2]


@requires("step must be positive", lambda step: step > 0)
def finite_differences(
    function: Callable[[Float[np.ndarray, "..."]], float],
    at: Float[np.ndarray, "..."],
    step: float = 1e-5,
) -> Float[np.ndarray, "..."]:
    r"""Gradient by trying: every entry is moved a little up and a little down.

    $$\frac{\partial L}{\partial x_i} \approx \frac{L(x + h e_i) - L(x - h e_i)}{2h}$$

    Args:
        function: L, from an array to a number.
        at: x, floats of any shape; it is left alone.
        step: h, positive, in units of x. The error falls like h² until rounding takes over.

    Returns:
        The approximate gradient, in the shape of x and in units of L / units of x.

    Raises:
        ValueError: the step is not positive.

    Source:
        Griewank and Walther 2008, "Evaluating Derivatives", §1.

    Examples:
        For x² the differences are exact; for x³ at 2 with h = 1/2 they give 12 + h².

        >>> finite_differences(lambda x: float((x**2).sum()), np.array([1.0, 2.0]), step=0.5)
        array([2., 4.])
        >>> finite_differences(lambda x: float((x**3).sum()), np.array([2.0]), step=0.5)
        array([12.25])
    """
    gradient = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        up, down = at.astype(np.float64), at.astype(np.float64)
        up[place] += step
        down[place] -= step
        gradient[place] = (function(up) - function(down)) / (2 * step)
    return gradient
