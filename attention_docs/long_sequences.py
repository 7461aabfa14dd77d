"""Beyond the trained length: slower hands for RoPE, biases on scores, and what they bound."""

from __future__ import annotations

from math import exp, inf

import numpy as np
from array_api_compat import device
from jaxtyping import Float, Int

from attention_docs.checks import requires
from attention_docs.masking import causal_mask
from attention_docs.signatures import Array, array_namespace, checked


@requires("d must be even and at least 4", lambda d: d >= 4 and d % 2 == 0)
@requires("base must be positive", lambda base: base > 0)
@requires("factor must be at least 1", lambda factor: factor >= 1)
def ntk_base(base: float, d: int, factor: float) -> float:
    r"""The base of RoPE that slows the slowest hand by a factor and leaves the fastest alone.

    $$\text{base}' = \text{base} \cdot \lambda^{d/(d-2)}
      \;\Rightarrow\; \omega'_i = \omega_i\, \lambda^{-2i/(d-2)}$$

    Args:
        base: the base with which the model was trained, positive.
        d: the number of components of a query or key, even and at least 4: with one pair the
            fastest hand would be the slowest.
        factor: λ, how many times longer the text is than those of the training; at least 1.

    Returns:
        The new base, for `rope(x, positions, base)`.

    Raises:
        ValueError: d is odd or below 4, base is not positive, or the factor is below 1.

    Source:
        bloc97 2023, "NTK-Aware Scaled RoPE"; Peng et al. 2023, "YaRN", §3.1.

    Examples:
        With d = 4 the exponent is 2: 100·3² = 900, and 900^(-2/4) = 1/30 is a third of 1/10.

        >>> ntk_base(100.0, 4, 3.0)
        900.0
    """
    return float(base * factor ** (d / (d - 2)))


@requires("num_heads must be at least 1", lambda num_heads: num_heads >= 1)
def alibi_slopes(num_heads: int) -> Float[np.ndarray, " h"]:
    r"""One slope for each head.

    $$m_r = 2^{-8r/h}, \qquad r = 1, \ldots, h, \qquad h \text{ a power of 2}$$

    For another h the authors take the slopes of the next lower power of 2, and then every second
    one of the next higher, from the first on.

    Args:
        num_heads: h, at least 1.

    Returns:
        Slopes (h,), float64, per token; they fall if h is a power of 2.

    Raises:
        ValueError: the number of heads is below 1.

    Source:
        Press, Smith and Lewis 2022, "Train Short, Test Long", §3; for other h in its code.

    Examples:
        2⁻² = 1/4, 2⁻⁴ = 1/16, 1/64 and 1/256.

        >>> alibi_slopes(4).tolist()
        [0.25, 0.0625, 0.015625, 0.00390625]
        >>> alibi_slopes(6).tolist()
        [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]
    """
    power = 2 ** (num_heads.bit_length() - 1)  # the largest that is not above the heads
    lower, higher = (2.0 ** (-8 * np.arange(1, h + 1) / h) for h in (power, 2 * power))
    return np.concatenate([lower, higher[::2][: num_heads - power]])


@requires(
    "slopes must be finite and at least 0",
    lambda slopes: bool(((slopes >= 0) & (slopes < inf)).all()),
)
def alibi_bias(
    slopes: Float[Array, " h"], n_query: int, n_key: int | None = None, *, offset: int = 0
) -> Float[Array, "h n_q n_k"]:
    r"""A float mask: every step back costs a head its slope, and the future is forbidden.

    $$b_{tu} = \begin{cases} -m\,(t - u) & u \le t \\ -\infty & u > t \end{cases}$$

    Args:
        slopes: m (h,), real floats, not negative, per token.
        n_query: number of queries, at least 1.
        n_key: number of keys; as many as queries where it is left out.
        offset: tokens that stand before the first query, as in `causal_mask`.

    Returns:
        (h, n_query, n_key) in the library, dtype and device of the slopes, to be added to the
        scores.

    Raises:
        ValueError: a slope is negative or not finite, or a number is below 1.

    Source:
        Press, Smith and Lewis 2022, §3.

    Examples:
        >>> alibi_bias(np.array([0.5]), 3).tolist()
        [[[0.0, -inf, -inf], [-0.5, 0.0, -inf], [-1.0, -0.5, 0.0]]]
    """
    xp = array_namespace(slopes)
    allowed = causal_mask(n_query, n_key, offset=offset, like=slopes)
    kind = {"dtype": slopes.dtype, "device": device(slopes)}
    t = xp.arange(n_query, **kind)[:, None] + offset
    u = xp.arange(allowed.shape[1], **kind)[None, :]
    bias = slopes[:, None, None] * (u - t)
    return xp.where(allowed, bias, xp.full_like(bias, -xp.inf))


@requires("slope must be positive", lambda slope: slope > 0)
@requires(
    "spread and window must be at least 0", lambda spread, window: spread >= 0 and window >= 0
)
def far_share(slope: float, spread: float, window: int) -> float:
    r"""A bound on all the weight that ALiBi gives to keys at least so far back.

    $$\sum_{u \le t - w} a_{tu} \le e^{c - m w}$$

    Args:
        slope: m, positive, per token.
        spread: c, the largest difference of two scores before the bias, at least 0.
        window: w, in tokens, at least 0.

    Returns:
        The bound, at most 1; it does not depend on how long the text is.

    Raises:
        ValueError: a slope that is not positive, or a negative spread or window.

    Source:
        Derived in the chapter.

    Examples:
        With equal scores and m = ln 2 a step halves the weight: 2⁻³ beyond three tokens.

        >>> from math import log
        >>> round(far_share(log(2), 0, 3), 12)
        0.125
    """
    return exp(min(0.0, spread - slope * window))


@requires(
    "num_buckets must be even and at least 2",
    lambda num_buckets: num_buckets >= 2 and num_buckets % 2 == 0,
)
@requires(
    lambda num_buckets, max_distance: (
        f"max_distance must be above {num_buckets // 2}, got {max_distance}"
    ),
    lambda num_buckets, max_distance: max_distance > num_buckets // 2,
)
def t5_buckets(
    offsets: Int[np.ndarray, "..."], num_buckets: int = 32, max_distance: int = 128
) -> Int[np.ndarray, "..."]:
    r"""T5's buckets for a decoder: small offsets alone, large ones in ranges that grow.

    With $e$ = num_buckets / 2, offset Δ below $e$ has bucket Δ, and

    $$e + \Bigl\lfloor (\text{num\_buckets} - e)\, \frac{\ln(\Delta/e)}
      {\ln(\text{max\_distance}/e)} \Bigr\rfloor$$

    from there on, at most num_buckets - 1. The future, with negative offsets, has bucket 0; a mask
    forbids it. Computed in whole numbers, so that no edge is lost to rounding.

    Args:
        offsets: t - u, integers, in tokens.
        num_buckets: even, at least 2.
        max_distance: from here on all offsets share the last bucket; above num_buckets / 2.

    Returns:
        Buckets in the shape of the offsets, from 0 to num_buckets - 1.

    Raises:
        ValueError: num_buckets is odd or below 2, or max_distance is too small.

    Source:
        Raffel et al. 2020, "T5", §2.1, and its code.

    Examples:
        Eight buckets up to 16: 0 to 3 alone, then 4 and 5, 6 and 7, 8 to 11, 12 and beyond.

        >>> t5_buckets(np.arange(14), 8, 16).tolist()
        [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7]
    """
    alone = num_buckets // 2
    shared = num_buckets - alone
    # Bucket alone + j begins at the first Δ with Δ^shared ≥ max_distance^j · alone^(shared - j).
    starts = [max_distance**j * alone ** (shared - j) for j in range(1, shared)]
    of = [
        d if d < alone else alone + sum(d**shared >= s for s in starts) for d in range(max_distance)
    ]
    table = np.array([*of, num_buckets - 1])
    buckets: Int[np.ndarray, "..."] = table[np.clip(offsets, 0, max_distance)]
    return buckets


@checked
def t5_bias(
    table: Float[Array, "... buckets"],
    n_query: int,
    n_key: int | None = None,
    *,
    max_distance: int = 128,
    offset: int = 0,
) -> Float[Array, "... n_q n_k"]:
    r"""A float mask: a learned number for the bucket of the offset, and the future is forbidden.

    $$b_{tu} = \begin{cases} E_{\text{bucket}(t - u)} & u \le t \\ -\infty & u > t \end{cases}$$

    Args:
        table: E (..., num_buckets), real floats, a row for each head.
        n_query: number of queries, at least 1.
        n_key: number of keys; as many as queries where it is left out.
        max_distance: as in `t5_buckets`.
        offset: tokens that stand before the first query, as in `causal_mask`.

    Returns:
        (..., n_query, n_key) in the library and dtype of the table, to be added to the scores.

    Raises:
        ValueError: a number of tokens is below 1, and as for `t5_buckets`.

    Source:
        Raffel et al. 2020, "T5", §2.1.

    Examples:
        >>> t5_bias(np.array([[5.0, 7.0]]), 3, max_distance=2).tolist()
        [[[5.0, -inf, -inf], [7.0, 5.0, -inf], [7.0, 7.0, 5.0]]]
    """
    xp = array_namespace(table)
    allowed = causal_mask(n_query, n_key, offset=offset, like=table)
    offsets = np.arange(n_query)[:, None] + offset - np.arange(allowed.shape[1])
    buckets = t5_buckets(offsets, table.shape[-1], max_distance)
    index = xp.asarray(buckets.ravel(), device=device(table))
    bias = xp.reshape(xp.take(table, index, axis=-1), (*table.shape[:-1], *buckets.shape))
    return xp.where(allowed, bias, xp.full_like(bias, -xp.inf))
