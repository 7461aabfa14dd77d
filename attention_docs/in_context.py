"""Regression in a prompt: one step of gradient descent, and the attention layer that takes it."""

from __future__ import annotations

from math import inf
from typing import Any

from array_api_compat import device
from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.signatures import Array, array_namespace, checked


@requires("rate must be positive and finite", lambda rate: 0 < rate < inf)
def gradient_step(
    x: Float[Array, "*batch n d"], y: Float[Array, "*batch n"], rate: float
) -> Float[Array, "*batch d"]:
    r"""The coefficients of a linear model after one step of gradient descent from 0.

    $$w = \eta \sum_j y_j\, x_j$$

    Args:
        x: inputs (..., n, d), real floats.
        y: answers (..., n), same dtype.
        rate: η, positive.

    Returns:
        w (..., d), in units of y over x: minus η times the gradient of half the sum of the squared
        errors x_j · w − y_j, at w = 0.

    Raises:
        ValueError: a rate that is not positive and finite.

    Source:
        von Oswald et al. 2023, "Transformers Learn In-Context by Gradient Descent", §2.

    Examples:
        >>> import numpy as np
        >>> gradient_step(np.array([[1.0, 2], [1, 0]]), np.array([3.0, 1]), 0.25).tolist()
        [1.0, 1.5]
    """
    xp = array_namespace(x)
    return rate * xp.sum(y[..., None] * x, axis=-2)


@requires("strength must be positive and finite", lambda strength: 0 < strength < inf)
def ridge_regression(
    x: Float[Array, "*batch n d"], y: Float[Array, "*batch n"], strength: float
) -> Float[Array, "*batch d"]:
    r"""The coefficients that minimise the squared errors plus a penalty on their squares.

    $$w\, (G + \lambda I) = \sum_j y_j\, x_j, \qquad G = \sum_j x_j^\top x_j$$

    Args:
        x: inputs (..., n, d), real floats.
        y: answers (..., n), same dtype.
        strength: λ, positive: the factor of ‖w‖² beside the sum of the squared errors.

    Returns:
        w (..., d). If the components of w and the noise are independent normal variables with
        expectation 0 and the variances 1 and λ, no other answers have a smaller expected error.

    Raises:
        ValueError: a strength that is not positive and finite.

    Source:
        Akyürek et al. 2023, "What learning algorithm is in-context learning?", §2.

    Examples:
        One input 2 with the answer 3: 2 · 3 / (4 + 1).

        >>> import numpy as np
        >>> ridge_regression(np.array([[2.0]]), np.array([3.0]), 1.0).tolist()
        [1.2]
    """
    xp = array_namespace(x)
    identity = xp.eye(x.shape[-1], dtype=x.dtype, device=device(x))
    gram = xp.matrix_transpose(x) @ x + strength * identity
    return xp.linalg.solve(gram, xp.sum(y[..., None] * x, axis=-2)[..., None])[..., 0]


@checked
def in_context_layer(
    query: Float[Array, "... n_q d_in"],
    tokens: Float[Array, "... n d_in"],
    w_query: Float[Array, "d_in d_k"],
    w_key: Float[Array, "d_in d_k"],
    w_value: Float[Array, "d_in d_v"],
) -> Float[Array, "... n_q d_v"]:
    r"""One layer of linear attention without a divisor: the answers to questions about a prompt.

    $$o_i = \sum_j \bigl((t_i W_Q) \cdot (e_j W_K)\bigr)\, e_j W_V$$

    Args:
        query: the tokens that ask, t (..., n_q, d_in), real floats.
        tokens: the examples of the prompt, e (..., n, d_in), same dtype.
        w_query: W_Q (d_in, d_k), same dtype.
        w_key: W_K (d_in, d_k), same dtype.
        w_value: W_V (d_in, d_v), same dtype.

    Returns:
        Outputs (..., n_q, d_v). A token that asks is no key: it does not see itself.

    Source:
        von Oswald et al. 2023, "Transformers Learn In-Context by Gradient Descent", §2,
        proposition 1.

    Examples:
        The prompt says 3 for [1, 2] and 1 for [1, 0]; the rate 1/4 stands in W_V.

        >>> import numpy as np
        >>> tokens, w_x = np.array([[1.0, 2, 3], [1, 0, 1]]), np.eye(3)[:, :2]
        >>> w_v = np.array([[0.0], [0], [0.25]])
        >>> in_context_layer(np.array([[2.0, 1, 0]]), tokens, w_x, w_x, w_v).tolist()
        [[3.5]]
    """
    xp = array_namespace(query)
    keys = xp.matrix_transpose(tokens @ w_key)
    return (query @ w_query) @ (keys @ (tokens @ w_value))


@requires("n and d must be at least 1", lambda n, d: min(n, d) >= 1)
def step_error(n: int, d: int, rate: Any, noise: Any = 0) -> Any:
    r"""The expected squared error of one step of gradient descent, as a share of the answers'.

    $$1 - 2 \eta n + \eta^2 n\, (n + d + 1 + \sigma^2)$$

    Args:
        n: the number of examples.
        d: the number of components of an input.
        rate: η, a number or a fraction.
        noise: σ², the variance of the noise of an answer.

    Returns:
        The error of a new question, dimensionless: 1 is that of the answer 0. Inputs and
        coefficients have independent standard normal components. Best is η = 1 / (n + d + 1 + σ²).

    Raises:
        ValueError: n or d below 1.

    Source:
        Ahn et al. 2023, "Transformers learn to implement preconditioned gradient descent for
        in-context learning", §3.

    Examples:
        >>> from fractions import Fraction
        >>> step_error(2, 1, Fraction(1, 4))
        Fraction(1, 2)
    """
    return 1 - 2 * rate * n + rate * rate * n * (n + d + 1 + noise)
