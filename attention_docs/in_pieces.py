"""Attention over keys that come in pieces; and the kind that needs no keys at all afterwards."""

from __future__ import annotations

from math import ceil, inf, sqrt
from typing import Any, NamedTuple

from array_api_compat import array_namespace
from jaxtyping import Bool, Float

from attention_docs.checks import batch_axes, fits, requires
from attention_docs.masking import apply_mask
from attention_docs.score_functions import scaled_dot
from attention_docs.signatures import Array, checked, shape

# --- one piece, and two of them -------------------------------------------------------------------


class Piece(NamedTuple):
    """What attention to some keys leaves behind: enough to go on with others.

    Attributes:
        largest: m (..., n_q), the largest score of each query; -inf where it may look at no key.
        total: ℓ (..., n_q), the sum of e^(s - m) over the keys.
        output: o (..., n_q, d_v), the average of the values with the weights of these keys alone.
    """

    largest: Float[Array, "*batch n_q"]
    total: Float[Array, "*batch n_q"]
    output: Float[Array, "*batch n_q d_v"]


@checked
def piece(
    query: Float[Array, "... n_q d_k"],
    key: Float[Array, "... n_k d_k"],
    value: Float[Array, "... n_k d_v"],
    mask: Any = None,
) -> Piece:
    r"""Attention to some of the keys, with what a merge needs to know.

    $$m = \max_j s_j, \qquad \ell = \sum_j e^{s_j - m}, \qquad
      o = \frac{1}{\ell} \sum_j e^{s_j - m}\, v_j$$

    Args:
        query: (..., n_q, d_k), real floats.
        key: (..., n_k, d_k), same dtype, at least one key.
        value: (..., n_k, d_v), same dtype.
        mask: broadcastable to (..., n_q, n_k), or None. Booleans: True takes part.

    Returns:
        m, ℓ and o. A query that may look at none of these keys has -inf, 0 and zeros.

    Raises:
        TypeError: the mask holds neither booleans nor floats of the scores' dtype.
        ValueError: the mask does not broadcast to the scores' shape.

    Source:
        Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", §3; Rabe and
        Staats 2021, "Self-attention Does Not Need O(n²) Memory", §2.

    Examples:
        Scores ln 1, ln 2 and ln 3: m = ln 3 and ℓ = 1/3 + 2/3 + 1; o = (1·6 + 2·3 + 3·2)/6.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> key, value = np.log(np.array([[1.0], [2], [3]])), np.array([[6.0], [3], [2]])
        >>> one = piece(np.ones((1, 1)), key, value)
        >>> [text(part, ".4f") for part in one]
        ['[1.0986]', '[2.0000]', '[[3.0000]]']
    """
    xp = array_namespace(query)
    scores = scaled_dot(query, key)
    if mask is not None:
        scores = apply_mask(scores, mask)
    largest = xp.max(scores, axis=-1)
    powers = xp.exp(scores - _finite(xp, largest)[..., None])
    total = xp.sum(powers, axis=-1)
    output = powers @ value / _or_one(xp, total)[..., None]
    rows = shape(output)[:-1]  # the values may have axes of their own
    return Piece(xp.broadcast_to(largest, rows), xp.broadcast_to(total, rows), output)


@checked
def merge(first: Piece, second: Piece) -> Piece:
    r"""Attention to the keys of two pieces, from the two pieces alone.

    $$m = \max(m_1, m_2), \qquad \ell = \ell_1 e^{m_1 - m} + \ell_2 e^{m_2 - m}, \qquad
      o = \frac{\ell_1 e^{m_1 - m}\, o_1 + \ell_2 e^{m_2 - m}\, o_2}{\ell}$$

    Args:
        first: m, ℓ and o of the same queries over some keys, as `piece` and `merge` return them.
        second: over other keys, same shapes and dtype.

    Returns:
        m, ℓ and o over all of these keys.

    Source:
        Milakov and Gimelshein 2018, §3.1; Dao et al. 2022, "FlashAttention", §3.1.

    Examples:
        Masses ℓeᵐ = 6 and 14, outputs 3 and 2: (6·3 + 14·2) / 20.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> one = Piece(np.log([3.0]), np.array([2.0]), np.array([[3.0]]))
        >>> two = Piece(np.log([8.0]), np.array([1.75]), np.array([[2.0]]))
        >>> [text(part, ".4f") for part in merge(one, two)]
        ['[2.0794]', '[2.5000]', '[[2.3000]]']
    """
    xp = array_namespace(first.output)
    largest = xp.maximum(first.largest, second.largest)
    common = _finite(xp, largest)
    masses = [one.total * xp.exp(one.largest - common) for one in (first, second)]
    total = masses[0] + masses[1]
    weighted = masses[0][..., None] * first.output + masses[1][..., None] * second.output
    return Piece(largest, total, weighted / _or_one(xp, total)[..., None])


@checked
def log_total(one: Piece) -> Float[Array, "... n_q"]:
    r"""The logarithm of the sum of all exponentials, $\lambda = m + \ln \ell$.

    Args:
        one: as `piece` and `merge` return it.

    Returns:
        (..., n_q), one number a query; -inf where no key takes part. It gives every weight back:
        $a_j = e^{s_j - \lambda}$.

    Source:
        Dao 2023, "FlashAttention-2", §3.1.1.

    Examples:
        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> text(np.exp(log_total(Piece(np.log([3.0]), np.array([2.0]), np.zeros((1, 1))))), ".1f")
        '[6.0]'
    """
    xp = array_namespace(one.total)
    return xp.where(
        one.total > 0, one.largest + xp.log(_or_one(xp, one.total)), -xp.inf + 0 * one.total
    )


@requires("size must be at least 1 key", lambda size: size >= 1)
@requires(
    lambda n_q, n_k, mask: (
        f"mask must have one column for each of {n_k} keys and 1 or {n_q} rows, got {shape(mask)}"
    ),
    lambda n_q, n_k, mask: mask is None or _has_every_key(mask, n_q, n_k),
)
def attention_in_pieces(
    query: Float[Array, "... n_q d_k"],
    key: Float[Array, "... n_k d_k"],
    value: Float[Array, "... n_k d_v"],
    size: int,
    mask: Any = None,
) -> Piece:
    r"""Attention whose scores are made and forgotten, some keys at a time.

    Args:
        query: (..., n_q, d_k), real floats.
        key: (..., n_k, d_k), same dtype.
        value: (..., n_k, d_v), same dtype.
        size: how many keys come at a time; the last piece may be smaller.
        mask: None, or with all n_k keys on its last axis. Booleans: True takes part.

    Returns:
        m, ℓ and o over all keys; o is what `attention` gives, up to rounding.

    Raises:
        TypeError: the mask holds neither booleans nor floats of the scores' dtype.
        ValueError: a size below 1, or a mask without one column a key.

    Source:
        Rabe and Staats 2021, "Self-attention Does Not Need O(n²) Memory", §2.

    Examples:
        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> key = np.log(np.array([[1.0], [2], [3], [4], [8], [2]]))
        >>> value = np.array([[6.0], [3], [2], [1], [2], [4]])
        >>> text(attention_in_pieces(np.ones((1, 1)), key, value, 4).output, ".4f")
        '[[2.3000]]'
    """
    n = key.shape[-2]
    found = None
    for j in range(0, n, size):
        part = None if mask is None else mask[..., j : j + size]
        new = piece(query, key[..., j : j + size, :], value[..., j : j + size, :], part)
        found = new if found is None else merge(found, new)
    assert found is not None
    return found


@requires("size must be at least 1 key", lambda size: size >= 1)
@requires(
    lambda n_q, n_k, mask: (
        f"mask must have one column for each of {n_k} keys and 1 or {n_q} rows, got {shape(mask)}"
    ),
    lambda n_q, n_k, mask: mask is None or _has_every_key(mask, n_q, n_k),
)
def backward_in_pieces(
    query: Float[Array, "*batch n_q d_k"],
    key: Float[Array, "*batch n_k d_k"],
    value: Float[Array, "*batch n_k d_v"],
    forward: Piece,
    by_output: Float[Array, "*batch n_q d_v"],
    size: int,
    mask: Any = None,
) -> tuple[
    Float[Array, "*batch n_q d_k"], Float[Array, "*batch n_k d_k"], Float[Array, "*batch n_k d_v"]
]:
    r"""Gradients by query, key and value, with every weight computed again from one number a row.

    $$A = e^{S - \lambda}, \qquad dS = A \circ (dO\, V^\top - \delta), \qquad
      \delta_i = dO_i \cdot o_i, \qquad dQ = \tfrac{dS\, K}{\sqrt{d_k}}, \quad
      dK = \tfrac{dS^\top Q}{\sqrt{d_k}}, \quad dV = A^\top dO$$

    Args:
        query: (..., n_q, d_k), real floats; all axes before the last two as in key and value.
        key: (..., n_k, d_k), same dtype.
        value: (..., n_k, d_v), same dtype.
        forward: what `attention_in_pieces` returned.
        by_output: dO (..., n_q, d_v), in units of the loss / units of the output.
        size: how many keys come at a time; it need not be the one of the forward pass.
        mask: as in the forward pass.

    Returns:
        dQ, dK and dV, each in the shape of its array.

    Raises:
        TypeError: the mask holds neither booleans nor floats of the scores' dtype.
        ValueError: a size below 1, or a mask without one column a key.

    Source:
        Dao et al. 2022, "FlashAttention", §3.1 and appendix B.

    Examples:
        The numbers of `attention_backward`.

        >>> import numpy as np
        >>> from math import log
        >>> from attention_docs.text import text
        >>> query = np.array([[2.0, 0, 0, 0]])
        >>> key = np.array([[0, 4.0, 0, 0], [log(2), 0, 4, 0], [log(5), 0, 0, 4]])
        >>> value = np.array([[3.0], [1], [1]])
        >>> forward = attention_in_pieces(query, key, value, 2)
        >>> dQ, dK, dV = backward_in_pieces(query, key, value, forward, np.ones((1, 1)), 2)
        >>> text(dQ, ".4f"), text(dV, ".3f")
        ('[[-0.1474, 0.4375, -0.1250, -0.3125]]', '[[0.125],\n [0.250],\n [0.625]]')
    """
    xp = array_namespace(query)
    logs = _finite(xp, log_total(forward))[..., None]
    delta = xp.sum(by_output * forward.output, axis=-1, keepdims=True)
    root = sqrt(query.shape[-1])
    by_query, by_key, by_value = xp.zeros_like(query), [], []
    for j in range(0, key.shape[-2], size):
        k, v = key[..., j : j + size, :], value[..., j : j + size, :]
        scores = scaled_dot(query, k)
        if mask is not None:
            scores = apply_mask(scores, mask[..., j : j + size])
        weights = xp.exp(scores - logs)
        by_scores = weights * (by_output @ xp.matrix_transpose(v) - delta)
        by_query = by_query + by_scores @ k / root
        by_key.append(xp.matrix_transpose(by_scores) @ query / root)
        by_value.append(xp.matrix_transpose(weights) @ by_output)
    return by_query, xp.concat(by_key, axis=-2), xp.concat(by_value, axis=-2)


# --- passes over memory ---------------------------------------------------------------------------


@requires("n and d must be at least 1", lambda n, d: min(n, d) >= 1)
def plain_traffic(n: int, d: int) -> int:
    r"""Numbers that move between slow memory and the processor when S and A are stored.

    $$\underbrace{2nd + n^2}_{S = QK^\top} + \underbrace{2n^2}_{A = \operatorname{softmax} S}
      + \underbrace{n^2 + nd + nd}_{O = AV} = 4nd + 4n^2$$

    Args:
        n: number of tokens.
        d: size of queries, keys and values.

    Returns:
        The count of numbers read and written, each operand once.

    Raises:
        ValueError: a size below 1.

    Source:
        Dao et al. 2022, "FlashAttention", §2.2, algorithm 0.

    Examples:
        >>> plain_traffic(8, 2)
        320
    """
    return 4 * n * d + 4 * n * n


@requires("n, d and rows must be at least 1", lambda n, d, rows: min(n, d, rows) >= 1)
def tiled_traffic(n: int, d: int, rows: int) -> int:
    r"""The same when only tiles of S exist: keys and values pass by once for each block of queries.

    $$\underbrace{nd}_{Q} + \underbrace{2nd \left\lceil \tfrac{n}{r} \right\rceil}_{K, V}
      + \underbrace{nd}_{O}$$

    Args:
        n: number of tokens.
        d: size of queries, keys and values.
        rows: r, queries that are held at a time.

    Returns:
        The count of numbers read and written.

    Raises:
        ValueError: a size below 1.

    Source:
        Dao 2023, "FlashAttention-2", §3.1; the bound of Dao et al. 2022, theorem 2.

    Examples:
        >>> tiled_traffic(8, 2, 4)
        96
    """
    return 2 * n * d + 2 * n * d * ceil(n / rows)


# --- linear attention -----------------------------------------------------------------------------


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


@requires(
    lambda totals: (
        f"the weights of every query must sum to a positive number, got {float(totals.min())}"
    ),
    lambda totals: bool((totals > 0).all()),
)
def _divide(weighted: Array, totals: Array) -> Array:
    return weighted / totals


def _has_every_key(mask: Any, n_q: int, n_k: int) -> bool:
    """Since it is cut along its keys, it may be broadcast along the queries only."""
    rows, columns = (1, 1, *getattr(mask, "shape", (n_q, n_k)))[-2:]
    return columns == n_k and rows in (1, n_q)


def _finite(xp: Any, largest: Array) -> Array:
    """0 in place of -inf: -inf - (-inf) would be NaN."""
    return xp.where(xp.isinf(largest) & (largest < 0), xp.zeros_like(largest), largest)


def _or_one(xp: Any, total: Array) -> Array:
    return xp.where(total == 0, xp.ones_like(total), total)
