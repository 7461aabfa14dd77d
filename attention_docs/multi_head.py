"""Several heads: split the projections, attend in every head, join, mix with W_O."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from attention_docs.attention_function import attention
from attention_docs.checks import requires
from attention_docs.signatures import Array, array_namespace, checked, shape

HAS_BLAS = sys.platform != "emscripten"
"""Whether a fast library stands behind `@`: NumPy for browsers comes without one."""

MOST = 2**31 - 1
"""The products that `einsum` makes at once: addresses have 32 bits there."""


class Parameters(NamedTuple):
    """The parameters of multi-head attention, the heads side by side: W_Q = [W_Q^1 … W_Q^h].

    Attributes:
        W_q: (d_query, h · d_k): columns (r - 1)·d_k + 1 to r·d_k belong to head r.
        W_k: (d_key, h · d_k).
        W_v: (d_value, h · d_v).
        W_o: (h · d_v, d_out): rows (r - 1)·d_v + 1 to r·d_v belong to head r.
        b_q: bias (h · d_k,), or None for no bias; so are b_k, b_v (h · d_v,) and b_o (d_out,).
        b_k: bias of the keys.
        b_v: bias of the values.
        b_o: bias of the outputs.
    """

    W_q: Float[Array, "d_query h_d_k"]
    W_k: Float[Array, "d_key g_d_k"]
    W_v: Float[Array, "d_value g_d_v"]
    W_o: Float[Array, "h_d_v d_out"]
    b_q: Float[Array, " h_d_k"] | None = None
    b_k: Float[Array, " g_d_k"] | None = None
    b_v: Float[Array, " g_d_v"] | None = None
    b_o: Float[Array, " d_out"] | None = None


@requires(
    lambda d, x, num_heads: (
        f"num_heads must divide the last axis, got {num_heads} heads and shape {shape(x)}"
    ),
    lambda d, x, num_heads: num_heads >= 1 and d % num_heads == 0,
)
def split_heads(x: Float[Array, "... n d"], num_heads: int) -> Float[Array, "... h n d_head"]:
    r"""Cut every row into one piece a head.

    $$(X_r)_{ic} = X_{i,\,(r-1)\,d_\text{head} + c}, \qquad d_\text{head} = d / h$$

    Args:
        x: (..., n, d), real floats: queries, keys or values of all heads side by side.
        num_heads: h, which must divide d.

    Returns:
        (..., h, n, d / h), same dtype and units: the axis of the heads stands where `attention`
        takes it for a batch axis.

    Raises:
        ValueError: a number of heads that does not divide d.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", §3.2.2.

    Examples:
        Token 1 holds 11 to 14, token 2 holds 21 to 24: each head gets half of every token.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> print(text(split_heads(np.array([[11.0, 12, 13, 14], [21, 22, 23, 24]]), 2), ".0f"))
        [[[11, 12],
          [21, 22]],
        <BLANKLINE>
         [[13, 14],
          [23, 24]]]
    """
    xp = array_namespace(x)
    pieces = xp.reshape(x, (*shape(x)[:-1], num_heads, -1))  # (..., n, h, d_head)
    return pieces.swapaxes(-2, -3)  # reshape cuts rows; only this brings the heads forward


@checked
def join_heads(x: Float[Array, "... h n d_head"]) -> Float[Array, "... n d"]:
    r"""Put the pieces of every token side by side again: the inverse of `split_heads`.

    $$X = [X_1 \; X_2 \; \dots \; X_h]$$

    Args:
        x: (..., h, n, d_head), real floats.

    Returns:
        (..., n, h · d_head), same dtype and units.

    Source:
        Vaswani et al. 2017, §3.2.2, "Concat".

    Examples:
        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> heads = np.array([[[11.0, 12], [21, 22]], [[13, 14], [23, 24]]])
        >>> print(text(join_heads(heads), ".0f"))
        [[11, 12, 13, 14],
         [21, 22, 23, 24]]
    """
    xp = array_namespace(x)
    tokens = x.swapaxes(-3, -2)  # (..., n, h, d_head)
    return xp.reshape(tokens, (*shape(tokens)[:-2], -1))


@requires(
    lambda query, mask: (
        f"mask must have 2 axes (n_q, n_k) or {query.ndim + 1} (..., heads, n_q, n_k), "
        f"got shape {shape(mask)}"
    ),
    lambda query, mask: getattr(mask, "ndim", 0) in (0, 1, 2, query.ndim + 1),
)
@requires(
    lambda query, mask: (
        f"mask of shape {shape(mask)} has as many rows as there are sequences and queries, and "
        "hides a token from itself: give a padding mask the shape (batch, 1, 1, n_k), or a mask "
        "for all sequences (1, 1, n_q, n_k)"
    ),
    lambda query, mask: not _looks_like_padding(query, mask),
)
def multi_head_attention(
    query: Float[Array, "... n_q d_query"],
    key: Float[Array, "... n_k d_key"],
    value: Float[Array, "... n_k d_value"],
    parameters: Parameters,
    num_heads: int,
    mask: Any = None,
    dropout: Callable[[Array], Array] | None = None,
) -> tuple[Float[Array, "... n_q d_out"], Float[Array, "... h n_q n_k"]]:
    r"""Multi-head attention, all heads at once.

    $$O_r = \operatorname{Attention}(X_Q W_Q^r,\; X_K W_K^r,\; X_V W_V^r), \qquad
      Y = [O_1 \; \dots \; O_h]\, W_O$$

    Args:
        query: (..., n_q, d_query), real floats: what the queries are made of.
        key: (..., n_k, d_key), same dtype; in self-attention the same as query.
        value: (..., n_k, d_value), same dtype; in self-attention the same as query.
        parameters: matrices and biases, same dtype.
        num_heads: h, which must divide the columns of W_q, W_k and W_v.
        mask: None, or (n_q, n_k) for all heads, or with all the axes of the weights, such as
            (batch, 1, n_q, n_k) for one mask a sequence. Booleans: True takes part. Floats: added
            to the scores.
        dropout: a function from weights to weights, or None, as for `attention`.

    Returns:
        The outputs (..., n_q, d_out) and the weights (..., h, n_q, n_k), one map a head, before
        dropout, dimensionless. A query whose keys are all masked out gets weights 0.

    Raises:
        TypeError: the mask holds neither booleans nor floats of the scores' dtype.
        ValueError: a number of heads that does not divide, or a mask with another number of axes:
            with (batch, n_q, n_k) it would be unclear what the first is. A mask (n_q, n_k) that
            may be a padding mask (batch, n_k), since it has as many rows as there are sequences,
            n_q = n_k and hides a token from itself.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", §3.2.2.

    Examples:
        Two heads of size 1 and two tokens whose queries and keys are 0: every weight is 1/2. Head 1
        averages the first components, (2 + 4)/2, head 2 the second ones, (10 + 30)/2, and W_O
        takes head 2 minus head 1: 20 - 3.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> x, zero, one = np.array([[2.0, 10], [4, 30]]), np.zeros((2, 2)), np.eye(2)
        >>> parameters = Parameters(zero, zero, one, np.array([[-1.0], [1]]))
        >>> output, weights = multi_head_attention(x, x, x, parameters, num_heads=2)
        >>> text(output, ".0f").split(), weights.shape
        (['[[17],', '[17]]'], (2, 2, 2))
    """
    p = parameters
    q = split_heads(linear(query, p.W_q, p.b_q), num_heads)  # (..., h, n_q, d_k)
    k = split_heads(linear(key, p.W_k, p.b_k), num_heads)  # (..., h, n_k, d_k)
    v = split_heads(linear(value, p.W_v, p.b_v), num_heads)  # (..., h, n_k, d_v)
    heads, weights = attention(q, k, v, mask, dropout)  # (..., h, n_q, d_v)
    return linear(join_heads(heads), p.W_o, p.b_o), weights


def _looks_like_padding(query: Array, mask: Any) -> bool:
    """A mask for all sequences that may be one row for each: it would broadcast over the queries.

    A padding mask of the lengths 1, 2, … n is the causal mask, so not every one can be seen.
    """
    if getattr(mask, "ndim", 0) != 2 or shape(query)[-3:-1] != shape(mask):
        return False
    is_bool = array_namespace(mask).isdtype(mask.dtype, "bool")
    return is_bool and not all(bool(mask[i, i]) for i in range(len(mask)))


@checked
def linear(
    x: Float[Array, "... n d_in"],
    W: Float[Array, "d_in d_out"],
    b: Float[Array, " d_out"] | None = None,
) -> Float[Array, "... n d_out"]:
    r"""A linear map with a bias: $XW + b$.

    Args:
        x: (..., n, d_in), real floats.
        W: (d_in, d_out), parameters.
        b: (d_out,), parameters, or None for none.

    Returns:
        (..., n, d_out).

    Source:
        Vaswani et al. 2017, §3.2.2: the projections of multi-head attention.

    Examples:
        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> W = np.array([[1.0, 0], [2, 1]])
        >>> text(linear(np.array([[1.0, 1]]), W, np.array([5.0, 7])), ".0f")
        '[[8, 8]]'
    """
    y = _product(x, W)
    return y if b is None else y + b


def _product(x: Array, W: Array) -> Array:
    """XW, by the faster of two ways where NumPy has no BLAS, as in a browser.

    There `einsum` is four times as fast as `@` for a matrix whose columns are contiguous, such as
    one that a file holds by its outputs, since it goes along both of them with SIMD instructions.
    The two ways differ in the order of a sum.
    """
    if HAS_BLAS or not (isinstance(W, np.ndarray) and W.T.flags.c_contiguous):
        return x @ W
    rows = np.ascontiguousarray(x).reshape(-1, W.shape[0])
    y = np.empty((len(rows), W.shape[1]), x.dtype)
    most = max(1, MOST // W.size)
    for i in range(0, len(rows), most):
        np.einsum("ij,kj->ik", rows[i : i + most], W.T, out=y[i : i + most])
    return y.reshape(*x.shape[:-1], W.shape[1])


@requires(
    lambda num_heads, d_model, d_head: (
        f"num_heads must divide d_model, got {num_heads} and {d_model}"
    ),
    lambda num_heads, d_model, d_head: (
        min(num_heads, d_model) >= 1 and (d_head is not None or d_model % num_heads == 0)
    ),
)
@requires("d_head must be at least 1", lambda d_head: d_head is None or d_head >= 1)
@requires(
    "kv_heads must divide num_heads",
    lambda kv_heads, num_heads: kv_heads is None or (kv_heads >= 1 and num_heads % kv_heads == 0),
)
def parameter_count(
    d_model: int,
    num_heads: int,
    bias: bool = True,
    *,
    d_head: int | None = None,
    kv_heads: int | None = None,
) -> int:
    r"""Numbers that multi-head attention learns, with d_k = d_v = d_head.

    $$\underbrace{h\, d_\text{head}\,(d + 1)}_{\text{queries}}
      + \underbrace{2 g\, d_\text{head}\,(d + 1)}_{\text{keys, values}}
      + \underbrace{(h\, d_\text{head} + 1)\, d}_{\text{output}}$$

    Without biases it is $2\, d\, d_\text{head}\,(h + g)$. With $g = h$ and $h\, d_\text{head} = d$
    it is $4d^2 + 4d$, and $4d^2$ without biases.

    Args:
        d_model: d, the dimension of inputs and outputs.
        num_heads: h, the number of heads.
        bias: whether the four maps have biases.
        d_head: the dimension of a head; d_model / h where it is left out.
        kv_heads: g, the number of heads of keys and of values, which must divide h; h where it is
            left out, 1 for multi-query attention.

    Returns:
        The count, dimensionless.

    Raises:
        ValueError: a size below 1, h does not divide d_model although d_head is left out, or g does
            not divide h.

    Source:
        Vaswani et al. 2017, §3.2.2; Shazeer 2019, "Fast Transformer Decoding", §3 (g = 1);
        Ainslie et al. 2023, "GQA", §2.2.

    Examples:
        4·64² + 4·64 = 16384 + 256.

        >>> [parameter_count(64, heads) for heads in (1, 8, 64)]
        [16640, 16640, 16640]

        2 heads of dimension 3, one head of keys and values: 2·4·3·(2 + 1).

        >>> parameter_count(4, 2, bias=False, d_head=3, kv_heads=1)
        72
    """
    size = d_model // num_heads if d_head is None else d_head
    groups = num_heads if kv_heads is None else kv_heads
    made = (num_heads + 2 * groups) * size  # queries, keys, values of a token
    return made * (d_model + bias) + (num_heads * size + bias) * d_model
