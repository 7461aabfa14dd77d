"""Linear attention: a state of fixed size in place of keys and values, and features for it."""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

from jaxtyping import Bool, Float

from attention_docs.checks import batch_axes, fits, requires
from attention_docs.signatures import Array, array_namespace, checked, shape


class State(NamedTuple):
    """All that linear attention keeps of the tokens so far.

    Attributes:
        matrix: Σ φ(k)ᵀ v (..., f, d_v).
        total: Σ φ(k) (..., f).
    """

    matrix: Float[Array, "... f d_v"]
    total: Float[Array, "... f"]


@checked
def elu_plus_one(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Positive features: $\varphi(x) = x + 1$ for $x > 0$, else $e^x$, component by component.

    Args:
        x: any shape, real floats.

    Returns:
        The same shape and dtype, above 0 (as far as floating point reaches).

    Source:
        Katharopoulos et al. 2020, "Transformers are RNNs", §3.2.1, equation 7.

    Examples:
        >>> import numpy as np
        >>> elu_plus_one(np.array([-np.inf, 0.0, 2.0]))
        array([0., 1., 3.])
    """
    xp = array_namespace(x)
    return xp.where(x > 0, x + 1, xp.exp(xp.where(x > 0, xp.zeros_like(x), x)))


@requires(
    lambda query, key, mask: (
        "mask must broadcast to the weights' shape, got "
        f"{shape(mask)} for query {shape(query)} and key {shape(key)}"
    ),
    lambda query, key, mask: (
        mask is None or fits(mask, (*batch_axes(query, key), query.shape[-2], key.shape[-2]))
    ),
)
def linear_attention(
    query: Float[Array, "... n_q f"],
    key: Float[Array, "... n_k f"],
    value: Float[Array, "... n_k d_v"],
    mask: Bool[Array, "..."] | None = None,
) -> Float[Array, "... n_q d_v"]:
    r"""Attention whose weights are products of features, all pairs at once.

    $$o_i = \frac{\sum_j m_{ij}\, (\varphi(q_i) \cdot \varphi(k_j))\, v_j}
      {\sum_j m_{ij}\, \varphi(q_i) \cdot \varphi(k_j)}$$

    Args:
        query: φ(Q) (..., n_q, f), real floats, features already computed and not negative.
        key: φ(K) (..., n_k, f), same dtype.
        value: (..., n_k, d_v), same dtype.
        mask: booleans broadcastable to (..., n_q, n_k), True takes part, or None.

    Returns:
        Outputs (..., n_q, d_v), in units of the values.

    Raises:
        ValueError: a query whose weights sum to no positive number, or a mask that does not fit.

    Source:
        Katharopoulos et al. 2020, "Transformers are RNNs", §3.2.

    Examples:
        Weights 1 and 3, values 8 and 4: (8 + 12) / 4.

        >>> import numpy as np
        >>> features = np.array([[1.0], [3.0]])
        >>> linear_attention(np.array([[1.0]]), features, np.array([[8.0], [4]])).tolist()
        [[5.0]]
    """
    xp = array_namespace(query)
    weights = query @ xp.matrix_transpose(key)
    if mask is not None:
        weights = xp.where(mask, weights, xp.zeros_like(weights))
    return _divide(weights @ value, xp.sum(weights, axis=-1, keepdims=True))


@checked
def extended_state(
    key: Float[Array, "... n f"], value: Float[Array, "... n d_v"], state: State | None = None
) -> State:
    r"""The state with some more tokens in it; its size stays.

    $$S \leftarrow S + \sum_j \varphi(k_j)^\top v_j, \qquad z \leftarrow z + \sum_j \varphi(k_j)$$

    Args:
        key: φ(K) of the new tokens (..., n, f), real floats, not negative.
        value: their values (..., n, d_v), same dtype.
        state: of the tokens before, or None before the first.

    Returns:
        A new state; the old one is left alone.

    Source:
        Katharopoulos et al. 2020, §3.4, equations 18 and 19.

    Examples:
        >>> import numpy as np
        >>> extended_state(np.array([[1.0], [3.0]]), np.array([[8.0], [4]])).matrix.tolist()
        [[20.0]]
    """
    xp = array_namespace(key)
    new = State(xp.matrix_transpose(key) @ value, xp.sum(key, axis=-2))
    if state is None:
        return new
    return State(state.matrix + new.matrix, state.total + new.total)


@checked
def read_state(query: Float[Array, "... n_q f"], state: State) -> Float[Array, "... n_q d_v"]:
    r"""What linear attention gives for queries, from the state alone.

    $$o_i = \frac{\varphi(q_i)\, S}{\varphi(q_i) \cdot z}$$

    Args:
        query: φ(Q) (..., n_q, f), real floats, not negative.
        state: of the tokens that these queries may see.

    Returns:
        Outputs (..., n_q, d_v), in units of the values.

    Raises:
        ValueError: a query whose weights sum to no positive number.

    Source:
        Katharopoulos et al. 2020, §3.4, equation 20.

    Examples:
        >>> import numpy as np
        >>> read_state(np.array([[1.0]]), State(np.array([[20.0]]), np.array([4.0]))).tolist()
        [[5.0]]
    """
    return _divide(query @ state.matrix, query @ state.total[..., None])


@requires("rate must be positive and finite", lambda rate: 0 < rate < inf)
def update_by_delta_rule(
    key: Float[Array, "... n f"],
    value: Float[Array, "... n d_v"],
    matrix: Float[Array, "... f d_v"] | None = None,
    rate: float = 1.0,
) -> Float[Array, "... f d_v"]:
    r"""The matrix of a state after one gradient step per token towards recalling its value.

    $$S_i = S_{i-1} - \beta\, k_i^\top (k_i\, S_{i-1} - v_i)$$

    The step goes down the gradient of half the squared error with which the key recalls its value.

    Args:
        key: features of the new tokens (..., n, f), real floats of any sign.
        value: their values (..., n, d_v), same dtype.
        matrix: S before these tokens (..., f, d_v), or None for zeros.
        rate: β, dimensionless; with 1 and a key of length 1 the newest value is recalled exactly.

    Returns:
        S after the last token; a query q reads it as q S, in units of the values.

    Raises:
        ValueError: a rate that is not positive and finite.

    Source:
        Schlag, Irie and Schmidhuber 2021, "Linear Transformers Are Secretly Fast Weight
        Programmers", §4.2, without the normalisation of the features.

    Examples:
        The key (1, 0) stores 3 and then 5, and only the newest value is left.

        >>> import numpy as np
        >>> key, value = np.array([[1.0, 0], [1, 0]]), np.array([[3.0], [5]])
        >>> update_by_delta_rule(key, value).tolist()
        [[5.0], [0.0]]
    """
    xp = array_namespace(key)
    if matrix is None:
        matrix = xp.zeros_like(xp.matrix_transpose(key[..., :1, :]) @ value[..., :1, :])
    for i in range(key.shape[-2]):
        one = key[..., i : i + 1, :]  # (..., 1, f)
        error = one @ matrix - value[..., i : i + 1, :]  # (..., 1, d_v)
        matrix = matrix - rate * (xp.matrix_transpose(one) @ error)
    return matrix


# --- random features of the exponential ----------------------------------------------------------


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


@requires(
    lambda totals: (
        f"the weights of every query must sum to a positive number, got {float(totals.min())}"
    ),
    lambda totals: bool((totals > 0).all()),
)
def _divide(weighted: Array, totals: Array) -> Array:
    return weighted / totals
