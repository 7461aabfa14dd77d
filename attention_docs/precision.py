"""Precision: what short floating-point formats do to scores, softmax and sums."""

from __future__ import annotations

from math import inf, nan
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from attention_docs.checks import requires
from attention_docs.signatures import Array, array_namespace


class Format(NamedTuple):
    """A floating-point format: how finely and how far it counts.

    Attributes:
        name: as torch calls the dtype.
        p: digits of the significand in base 2, the leading 1 included.
        e_min: exponent of the smallest normal number, 2 to this power.
        largest: the largest finite number.
        infinite: whether it has infinities; without them what is too large becomes NaN.
    """

    name: str
    p: int
    e_min: int
    largest: float
    infinite: bool = True

    @property
    def u(self) -> float:
        """The unit roundoff, a bound on the relative error of rounding a normal number."""
        return 2.0**-self.p


FORMATS = {
    one.name: one
    for one in (
        Format("float64", 53, -1022, float(np.finfo(np.float64).max)),
        Format("float32", 24, -126, float(np.finfo(np.float32).max)),
        Format("float16", 11, -14, 65504.0),
        Format("bfloat16", 8, -126, (2 - 2.0**-7) * 2.0**127),
        Format("float8_e5m2", 3, -14, 57344.0),
        Format("float8_e4m3fn", 4, -6, 448.0, infinite=False),
    )
}
"""The formats of this chapter by name."""


_has_format = requires(
    lambda name: f"format must be one of {', '.join(FORMATS)}, got {name!r}",
    lambda name: name in FORMATS,
)


@_has_format
def round_to(x: Float64[np.ndarray, "..."], name: str) -> Float64[np.ndarray, "..."]:
    r"""Every number to the nearest one of a format; of two equally near, the even one.

    $$\operatorname{fl}(x) = x(1 + \delta), \qquad |\delta| \le u = 2^{-p}$$

    holds where the result is a normal number. Below $2^{e_\text{min}}$ the numbers lie evenly
    spaced down to 0; above the largest the result is infinite, or NaN in a format without infinity
    (some libraries give the largest number there instead).

    Args:
        x: NumPy array of float64, any shape.
        name: a key of `FORMATS`.

    Returns:
        The rounded numbers, as float64.

    Raises:
        ValueError: an unknown format.

    Source:
        IEEE 754-2019, §4.3.1, roundTiesToEven; Micikevicius et al. 2022, "FP8 Formats for Deep
        Learning", table 1.

    Examples:
        From 16 to 32 a float8_e4m3fn counts in steps of 2: 17 and 19 lie half way.

        >>> round_to(np.array([17.0, 17.5, 19.0, 300.0, 1000.0]), "float8_e4m3fn")
        array([ 16.,  18.,  20., 288.,  nan])
    """
    form = FORMATS[name]
    _, exponent = np.frexp(x)  # |x| from 2^(exponent - 1) to 2^exponent
    step = np.maximum(exponent - 1, form.e_min) - (form.p - 1)  # of the grid, as a power of 2
    finite = np.where(np.isfinite(x), x, 0.0)
    rounded = np.ldexp(np.rint(np.ldexp(finite, -step)), step)
    beyond = np.copysign(inf, x) if form.infinite else np.full_like(x, nan)
    result: Float64[np.ndarray, "..."] = np.where(np.abs(rounded) > form.largest, beyond, rounded)
    outside = x if form.infinite else np.full_like(x, nan)
    return np.where(np.isfinite(x), result, outside)


@_has_format
def rounded_sum(x: Float64[np.ndarray, "... n"], name: str) -> Float64[np.ndarray, "..."]:
    r"""The sum over the last axis, from left to right, rounded after every addition.

    $$t_1 = x_1, \qquad t_i = \operatorname{fl}(t_{i-1} + x_i)$$

    Args:
        x: (..., n), NumPy array of float64 that holds numbers of the format.
        name: a key of `FORMATS`.

    Returns:
        (...,), float64.

    Raises:
        ValueError: an unknown format.

    Source:
        Higham 2002, "Accuracy and Stability of Numerical Algorithms", §4.2, recursive summation.

    Examples:
        Five ones in a format with 3 digits that counts 4, 5, 6, 7, 8, 10: nothing is lost yet. But
        8 + 1 lies half way between 8 and 10, and 8 is the even one.

        >>> float(rounded_sum(np.ones(5), "float8_e5m2"))
        5.0
        >>> float(rounded_sum(np.ones(1000), "float8_e5m2"))
        8.0
    """
    total = x[..., 0]
    for i in range(1, x.shape[-1]):
        total = round_to(np.asarray(total + x[..., i]), name)
    return total


@_has_format
def rounded_product(
    a: Float64[np.ndarray, "n m"], b: Float64[np.ndarray, "m l"], name: str
) -> Float64[np.ndarray, "n l"]:
    r"""A matrix product in which every product and every sum is rounded, from left to right.

    $$|\hat c_{ij} - c_{ij}| \le \gamma_m \sum_k |a_{ik}|\,|b_{kj}|, \qquad
      \gamma_m = \frac{mu}{1 - mu}$$

    where mu < 1 and nothing over- or underflows.

    Args:
        a: (n, m), NumPy array of float64 that holds numbers of the format.
        b: (m, l), likewise.
        name: a key of `FORMATS`.

    Returns:
        (n, l), float64.

    Raises:
        ValueError: an unknown format.

    Source:
        Higham 2002, "Accuracy and Stability of Numerical Algorithms", §3.1 and §3.5.

    Examples:
        In 3 digits 5·5 = 25 lies between 24 and 28 and becomes 24; 24 + 3 is 28.

        >>> rounded_product(np.array([[5.0, 3]]), np.array([[5.0], [1]]), "float8_e5m2")
        array([[28.]])
    """
    total = round_to(a[:, :1] * b[:1], name)
    for k in range(1, a.shape[1]):
        total = round_to(total + round_to(a[:, k : k + 1] * b[k : k + 1], name), name)
    return total


@_has_format
@requires("n must be at least 0", lambda n: n >= 0)
def gamma(n: int, name: str) -> float:
    r"""The bound on the relative error that n roundings leave.

    $$\Bigl|\prod_{i=1}^{n} (1 + \delta_i)^{\pm 1} - 1\Bigr| \le \gamma_n = \frac{nu}{1 - nu},
      \qquad |\delta_i| \le u,\; nu < 1$$

    Args:
        n: number of roundings, at least 0.
        name: a key of `FORMATS`.

    Returns:
        γ, dimensionless; infinite where nu is 1 or more: the bound says nothing then.

    Raises:
        ValueError: n is below 0, or an unknown format.

    Source:
        Higham 2002, "Accuracy and Stability of Numerical Algorithms", lemma 3.1.

    Examples:
        64 roundings of 2^-8: (1/4) / (3/4).

        >>> round(gamma(64, "bfloat16"), 4), gamma(256, "bfloat16")
        (0.3333, inf)
    """
    u = FORMATS[name].u
    return n * u / (1 - n * u) if n * u < 1 else inf


@requires("cap must be positive and finite", lambda cap: 0 < cap < inf)
def soft_cap(scores: Float[Array, "..."], cap: float) -> Float[Array, "..."]:
    r"""Scores bent so that none is larger than the cap.

    $$\tilde s = c \tanh(s / c), \qquad |\tilde s| \le c, \qquad \tilde s \approx s
      \text{ for } |s| \ll c$$

    Args:
        scores: any shape, real floats, in the library of the caller.
        cap: c, positive and finite.

    Returns:
        The same shape and dtype. A mask is put on after this: -inf would become -c.

    Raises:
        ValueError: the cap is not positive or not finite.

    Source:
        Gemma Team 2024, "Gemma 2", §2: attention logits are capped at 50.

    Examples:
        >>> from attention_docs.text import text
        >>> text(soft_cap(np.array([0.0, 1.0, 10.0, 1000.0]), 10.0), ".3f")
        '[0.000, 0.997, 7.616, 10.000]'
    """
    xp = array_namespace(scores)
    return cap * xp.tanh(scores / cap)
