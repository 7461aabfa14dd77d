"""Attention over keys that come in pieces."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any, NamedTuple

from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.masking import apply_mask
from attention_docs.score_functions import scaled_dot
from attention_docs.signatures import Array, array_namespace, checked, shape

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

    $$A = e^{S - \lambda}, \qquad dS = A \odot (dO\, V^\top - \delta), \qquad
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


def _has_every_key(mask: Any, n_q: int, n_k: int) -> bool:
    """Since it is cut along its keys, it may be broadcast along the queries only."""
    rows, columns = (1, 1, *getattr(mask, "shape", (n_q, n_k)))[-2:]
    return columns == n_k and rows in (1, n_q)


def _finite(xp: Any, largest: Array) -> Array:
    """0 in place of -inf: -inf - (-inf) would be NaN."""
    return xp.where(xp.isinf(largest) & (largest < 0), xp.zeros_like(largest), largest)


def _or_one(xp: Any, total: Array) -> Array:
    return xp.where(total == 0, xp.ones_like(total), total)
