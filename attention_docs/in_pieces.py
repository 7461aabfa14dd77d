"""Attention over keys that come in pieces; and the kind that needs no keys at all afterwards."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any, NamedTuple

from array_api_compat import is_array_api_obj
from jaxtyping import Float

from attention_docs.checks import Array, booleans, broadcastable, floats, matrices, shape
from attention_docs.masking import apply_mask
from attention_docs.score_functions import scaled_dot

# --- one piece, and two of them -------------------------------------------------------------------


class Piece(NamedTuple):
    """What attention to some keys leaves behind: enough to go on with others.

    Attributes:
        largest: m (..., n_q), the largest score of each query; -inf where it may look at no key.
        total: ℓ (..., n_q), the sum of e^(s - m) over the keys.
        output: o (..., n_q, d_v), the average of the values with the weights of these keys alone.
    """

    largest: Array
    total: Array
    output: Array


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
        TypeError: not arrays of real floats, two dtypes, or a mask of another type.
        ValueError: an empty piece, or shapes that do not fit.

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
    xp = floats(query=query, key=key, value=value)
    matrices(query=query, key=key, value=value)
    _same_tokens(key, value)
    broadcastable(query=shape(query)[:-2], key=shape(key)[:-2], value=shape(value)[:-2])
    scores = scaled_dot(query, key)
    if mask is not None:
        scores = apply_mask(scores, mask)
    largest = xp.max(scores, axis=-1)
    powers = xp.exp(scores - _finite(xp, largest)[..., None])
    total = xp.sum(powers, axis=-1)
    output = powers @ value / _or_one(xp, total)[..., None]
    rows = shape(output)[:-1]  # the values may have axes of their own
    return Piece(xp.broadcast_to(largest, rows), xp.broadcast_to(total, rows), output)


def merge(first: Piece, second: Piece) -> Piece:
    r"""Attention to the keys of two pieces, from the two pieces alone.

    $$m = \max(m_1, m_2), \qquad \ell = \ell_1 e^{m_1 - m} + \ell_2 e^{m_2 - m}, \qquad
      o = \frac{\ell_1 e^{m_1 - m}\, o_1 + \ell_2 e^{m_2 - m}\, o_2}{\ell}$$

    Args:
        first: m, ℓ and o of the same queries over some keys, as `piece` and `merge` return them.
        second: over other keys, same shapes and dtype.

    Returns:
        m, ℓ and o over all of these keys.

    Raises:
        TypeError: not arrays of real floats, or of two dtypes.
        ValueError: pieces of different shapes, or whose m, ℓ and o do not go together.

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
    names = ("first.{}", "second.{}")
    xp = floats(
        **{
            name.format(k): v
            for name, p in zip(names, (first, second), strict=True)
            for k, v in p._asdict().items()
        }
    )
    _same_queries(first=first, second=second)
    if shape(first.output) != shape(second.output):
        raise ValueError(
            f"both pieces must have the same queries and d_v, "
            f"got outputs {shape(first.output)} and {shape(second.output)}"
        )
    largest = xp.maximum(first.largest, second.largest)
    common = _finite(xp, largest)
    masses = [one.total * xp.exp(one.largest - common) for one in (first, second)]
    total = masses[0] + masses[1]
    weighted = masses[0][..., None] * first.output + masses[1][..., None] * second.output
    return Piece(largest, total, weighted / _or_one(xp, total)[..., None])


def log_total(one: Piece) -> Float[Array, "... n_q"]:
    r"""The logarithm of the sum of all exponentials, $\lambda = m + \ln \ell$.

    Args:
        one: as `piece` and `merge` return it.

    Returns:
        (..., n_q), one number a query; -inf where no key takes part. It gives every weight back:
        $a_j = e^{s_j - \lambda}$.

    Raises:
        TypeError: not arrays of real floats, or of two dtypes.
        ValueError: m, ℓ and o that do not go together.

    Source:
        Dao 2023, "FlashAttention-2", §3.1.1.

    Examples:
        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> text(np.exp(log_total(Piece(np.log([3.0]), np.array([2.0]), np.zeros((1, 1))))), ".1f")
        '[6.0]'
    """
    xp = floats(largest=one.largest, total=one.total, output=one.output)
    _same_queries(one=one)
    return xp.where(
        one.total > 0, one.largest + xp.log(_or_one(xp, one.total)), -xp.inf + 0 * one.total
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
        TypeError: not arrays of real floats, two dtypes, or a mask of another type.
        ValueError: a size below 1, a mask without one column a key, or shapes that do not fit.

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
    if size < 1:
        raise ValueError(f"size must be at least 1 key, got {size}")
    floats(query=query, key=key, value=value)
    matrices(query=query, key=key, value=value)
    _same_sizes(query, key, value, mask)
    n = key.shape[-2]
    found = None
    for j in range(0, n, size):
        part = None if mask is None else mask[..., j : j + size]
        new = piece(query, key[..., j : j + size, :], value[..., j : j + size, :], part)
        found = new if found is None else merge(found, new)
    assert found is not None
    return found


def backward_in_pieces(
    query: Float[Array, "... n_q d_k"],
    key: Float[Array, "... n_k d_k"],
    value: Float[Array, "... n_k d_v"],
    forward: Piece,
    by_output: Float[Array, "... n_q d_v"],
    size: int,
    mask: Any = None,
) -> tuple[Float[Array, "... n_q d_k"], Float[Array, "... n_k d_k"], Float[Array, "... n_k d_v"]]:
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
        TypeError: not arrays of real floats, two dtypes, or a mask of another type.
        ValueError: a size below 1, a mask without one column a key, or shapes that do not fit;
            nothing but the mask is broadcast here.

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
    if size < 1:
        raise ValueError(f"size must be at least 1 key, got {size}")
    xp = floats(query=query, key=key, value=value, by_output=by_output, output=forward.output)
    matrices(query=query, key=key, value=value)
    _same_sizes(query, key, value, mask)
    if not shape(query)[:-2] == shape(key)[:-2] == shape(value)[:-2]:
        got = ", ".join(str(shape(one)) for one in (query, key, value))
        raise ValueError(f"query, key and value must share their axes before the last 2, got {got}")
    wanted = (*shape(query)[:-1], value.shape[-1])
    if shape(by_output) != wanted or shape(forward.output) != wanted:
        raise ValueError(
            f"by_output and the output must have the shape {wanted}, "
            f"got {shape(by_output)} and {shape(forward.output)}"
        )
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
    if n < 1 or d < 1:
        raise ValueError(f"n and d must be at least 1, got {n} and {d}")
    return 4 * n * d + 4 * n * n


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
    if n < 1 or d < 1 or rows < 1:
        raise ValueError(f"n, d and rows must be at least 1, got {n}, {d} and {rows}")
    return 2 * n * d + 2 * n * d * ceil(n / rows)


# --- linear attention -----------------------------------------------------------------------------


class State(NamedTuple):
    """All that linear attention keeps of the tokens so far.

    Attributes:
        matrix: Σ φ(k)ᵀ v (..., f, d_v).
        total: Σ φ(k) (..., f).
    """

    matrix: Array
    total: Array


def elu_plus_one(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Positive features: $\varphi(x) = x + 1$ for $x > 0$, else $e^x$, component by component.

    Args:
        x: any shape, real floats.

    Returns:
        The same shape and dtype, above 0 (as far as floating point reaches).

    Raises:
        TypeError: x is no array of real floats.

    Source:
        Katharopoulos et al. 2020, "Transformers are RNNs", §3.2.1, equation 7.

    Examples:
        >>> import numpy as np
        >>> elu_plus_one(np.array([-np.inf, 0.0, 2.0]))
        array([0., 1., 3.])
    """
    xp = floats(x=x)
    return xp.where(x > 0, x + 1, xp.exp(xp.where(x > 0, xp.zeros_like(x), x)))


def linear_attention(
    query: Float[Array, "... n_q f"],
    key: Float[Array, "... n_k f"],
    value: Float[Array, "... n_k d_v"],
    mask: Any = None,
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
        TypeError: not arrays of real floats, two dtypes, or a mask that holds no booleans.
        ValueError: shapes that do not fit, or a query whose weights sum to no positive number.

    Source:
        Katharopoulos et al. 2020, "Transformers are RNNs", §3.2.

    Examples:
        Weights 1 and 3, values 8 and 4: (8 + 12) / 4.

        >>> import numpy as np
        >>> features = np.array([[1.0], [3.0]])
        >>> linear_attention(np.array([[1.0]]), features, np.array([[8.0], [4]])).tolist()
        [[5.0]]
    """
    xp = _features(query, key, value)
    weights = query @ xp.matrix_transpose(key)
    if mask is not None:
        booleans(weights, mask=mask)
        weights = xp.where(mask, weights, xp.zeros_like(weights))
    return weights @ value / _positive(xp, xp.sum(weights, axis=-1, keepdims=True))


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

    Raises:
        TypeError: not arrays of real floats, or of two dtypes.
        ValueError: shapes that do not fit.

    Source:
        Katharopoulos et al. 2020, §3.4, equations 18 and 19.

    Examples:
        >>> import numpy as np
        >>> extended_state(np.array([[1.0], [3.0]]), np.array([[8.0], [4]])).matrix.tolist()
        [[20.0]]
    """
    xp = _features(key, key, value)
    new = State(xp.matrix_transpose(key) @ value, xp.sum(key, axis=-2))
    if state is None:
        return new
    floats(key=key, matrix=state.matrix, total=state.total)
    if shape(state.matrix) != shape(new.matrix) or shape(state.total) != shape(new.total):
        raise ValueError(
            f"the state must be {shape(new.matrix)} and {shape(new.total)}, "
            f"got {shape(state.matrix)} and {shape(state.total)}"
        )
    return State(state.matrix + new.matrix, state.total + new.total)


def read_state(query: Float[Array, "... n_q f"], state: State) -> Float[Array, "... n_q d_v"]:
    r"""What linear attention gives for queries, from the state alone.

    $$o_i = \frac{\varphi(q_i)\, S}{\varphi(q_i) \cdot z}$$

    Args:
        query: φ(Q) (..., n_q, f), real floats, not negative.
        state: of the tokens that these queries may see.

    Returns:
        Outputs (..., n_q, d_v), in units of the values.

    Raises:
        TypeError: not arrays of real floats, or of two dtypes.
        ValueError: another number of features, or a query whose weights sum to no positive number.

    Source:
        Katharopoulos et al. 2020, §3.4, equation 20.

    Examples:
        >>> import numpy as np
        >>> read_state(np.array([[1.0]]), State(np.array([[20.0]]), np.array([4.0]))).tolist()
        [[5.0]]
    """
    xp = floats(query=query, matrix=state.matrix, total=state.total)
    matrices(query=query, matrix=state.matrix)
    if query.shape[-1] != state.matrix.shape[-2] or shape(state.total) != shape(state.matrix)[:-1]:
        raise ValueError(
            f"query and state must share their features, "
            f"got {shape(query)}, {shape(state.matrix)} and {shape(state.total)}"
        )
    broadcastable(query=shape(query)[:-2], state=shape(state.total)[:-1])
    return query @ state.matrix / _positive(xp, query @ state.total[..., None])


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
        TypeError: not arrays of real floats, or of two dtypes.
        ValueError: shapes that do not fit, or a rate that is not positive and finite.

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
    xp = floats(key=key, value=value)
    matrices(key=key, value=value)
    _same_tokens(key, value)
    broadcastable(key=shape(key)[:-2], value=shape(value)[:-2])
    if not 0 < rate < float("inf"):
        raise ValueError(f"rate must be positive and finite, got {rate}")
    empty = xp.zeros_like(xp.matrix_transpose(key[..., :1, :]) @ value[..., :1, :])
    if matrix is None:
        matrix = empty
    else:
        floats(key=key, matrix=matrix)
        if shape(matrix) != shape(empty):
            raise ValueError(f"the matrix must be {shape(empty)}, got {shape(matrix)}")
    for i in range(key.shape[-2]):
        one = key[..., i : i + 1, :]  # (..., 1, f)
        error = one @ matrix - value[..., i : i + 1, :]  # (..., 1, d_v)
        matrix = matrix - rate * (xp.matrix_transpose(one) @ error)
    return matrix


def _features(query: Array, key: Array, value: Array) -> Any:
    xp = floats(query=query, key=key, value=value)
    matrices(query=query, key=key, value=value)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"query and key must share their features, got {shape(query)} and {shape(key)}"
        )
    _same_tokens(key, value)
    broadcastable(query=shape(query)[:-2], key=shape(key)[:-2], value=shape(value)[:-2])
    return xp


def _positive(xp: Any, totals: Array) -> Array:
    if not bool(xp.all(totals > 0)):
        raise ValueError(
            f"the weights of every query must sum to a positive number, got {float(xp.min(totals))}"
        )
    return totals


def _same_queries(**pieces: Piece) -> None:
    for name, one in pieces.items():
        if shape(one.largest) != shape(one.total) or shape(one.output)[:-1] != shape(one.total):
            got = " and ".join(str(shape(part)) for part in one)
            raise ValueError(
                f"{name} must have m and ℓ of shape (..., n_q) and o of (..., n_q, d_v), got {got}"
            )


def _same_sizes(query: Array, key: Array, value: Array, mask: Any) -> None:
    """What cannot be said of a piece alone; the rest is said when its scores are made."""
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key must share d_k, got {shape(query)} and {shape(key)}")
    _same_tokens(key, value)
    if mask is None:
        return
    if not is_array_api_obj(mask):
        raise TypeError(f"mask must be an array, got {type(mask).__name__}")
    n_q, n_k = query.shape[-2], key.shape[-2]
    if shape(mask)[-1:] != (n_k,) or shape(mask)[-2:-1] not in ((), (1,), (n_q,)):
        raise ValueError(
            f"mask must have one column for each of {n_k} keys and 1 or {n_q} rows, "
            f"got {shape(mask)}"
        )


def _same_tokens(key: Array, value: Array) -> None:
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"key and value must share their number of tokens, got {shape(key)} and {shape(value)}"
        )


def _finite(xp: Any, largest: Array) -> Array:
    """0 in place of -inf: -inf - (-inf) would be NaN."""
    return xp.where(xp.isinf(largest) & (largest < 0), xp.zeros_like(largest), largest)


def _or_one(xp: Any, total: Array) -> Array:
    return xp.where(total == 0, xp.ones_like(total), total)
