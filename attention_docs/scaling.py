"""Why scores are divided by √d_k: the variance of a dot product, exactly, in symbols, by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import prod, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_docs.checks import requires

Distribution = dict[Fraction, Fraction]
"""A value and its probability."""

Vectors = list[tuple[tuple[Fraction, ...], Fraction]]
"""A vector and its probability."""

Polynomial = dict[tuple[str, ...], int]
"""A product of symbols, such as ("μ_k", "μ_k", "σ_q", "σ_q"), and its whole-number coefficient."""


def dot_variance(
    d_k: Any, *, mean_q: Any = 0, mean_k: Any = 0, sigma_q: Any = 1, sigma_k: Any = 1
) -> Any:
    r"""Variance of q·k for independent q and k with uncorrelated components.

    $$\operatorname{Var}(q \cdot k)
      = d_k\,(\sigma_q^2\sigma_k^2 + \mu_q^2\sigma_k^2 + \mu_k^2\sigma_q^2)$$

    Args:
        d_k: number of components, dimensionless.
        mean_q: mean μ_q of every component of q.
        mean_k: mean μ_k of every component of k.
        sigma_q: standard deviation σ_q of every component of q.
        sigma_k: standard deviation σ_k of every component of k.

    Returns:
        The variance, in units of (query · key)²; exact when the arguments are integers or
        Fractions.

    Source:
        Vaswani et al. 2017, §3.2.1, footnote 4, is the case μ = 0, σ = 1. Goodman 1960, "On the
        Exact Variance of Products", is one component.

    Examples:
        64·(1·1) = 64;  64·(2²·2²) = 1024;  64·(1 + 1 + 1) = 192.

        >>> dot_variance(64)
        64
        >>> dot_variance(64, sigma_q=2, sigma_k=2)
        1024
        >>> dot_variance(64, mean_q=1, mean_k=1)
        192
    """
    return d_k * (sigma_q**2 * sigma_k**2 + mean_q**2 * sigma_k**2 + mean_k**2 * sigma_q**2)


def equally_likely(*values: Any) -> Distribution:
    """The distribution of a draw from the values, each with the same probability.

    Examples:
        >>> {str(x): str(p) for x, p in equally_likely(0, 0, 0, 0, 5).items()}
        {'0': '4/5', '5': '1/5'}
    """
    counts = Counter(Fraction(value) for value in values)
    return {value: Fraction(count, len(values)) for value, count in counts.items()}


@requires("d_k must be at least 1", lambda d_k: d_k >= 1)
@requires(
    lambda component: f"probabilities must sum to 1, got {sum(component.values())}",
    lambda component: sum(component.values()) == 1,
)
def vectors(component: Mapping[Any, Fraction], d_k: int) -> Vectors:
    """Every vector of d_k independent components, with its probability.

    Raises:
        ValueError: d_k is below 1, or the probabilities do not sum to 1.

    Examples:
        >>> [[int(c) for c in vector] for vector, p in vectors(equally_likely(-1, 1), 2)]
        [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    """
    return [
        (
            tuple(Fraction(value) for value, _ in chosen),
            prod((p for _, p in chosen), start=Fraction(1)),
        )
        for chosen in product(component.items(), repeat=d_k)
    ]


@requires(
    lambda queries, keys: (
        f"query and key must share d_k, got {len(queries[0][0])} and {len(keys[0][0])}"
    ),
    lambda queries, keys: len({len(vector) for vector, _ in (*queries, *keys)}) == 1,
)
def dot_distribution(queries: Vectors, keys: Vectors) -> Distribution:
    """The exact distribution of q·k for independent q and k: every pair is visited.

    Raises:
        ValueError: q and k differ in their number of components.

    Examples:
        Of the 16 pairs with d_k = 2, 4 give -2, 8 give 0 and 4 give 2.

        >>> signs = vectors(equally_likely(-1, 1), 2)
        >>> {str(value): str(p) for value, p in dot_distribution(signs, signs).items()}
        {'-2': '1/4', '0': '1/2', '2': '1/4'}
    """
    distribution: Distribution = {}
    for (q, p_q), (k, p_k) in product(queries, keys):
        value = Fraction(sum(a * b for a, b in zip(q, k, strict=True)))
        # q and k are independent: the probability of the pair is a product.
        distribution[value] = distribution.get(value, Fraction(0)) + p_q * p_k
    return dict(sorted(distribution.items()))


def mean_and_variance(distribution: Mapping[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    r"""Exact mean and variance, $\mu = \sum_x x\,p(x)$ and $\sigma^2 = \sum_x (x-\mu)^2 p(x)$.

    Examples:
        >>> signs = vectors(equally_likely(-1, 1), 3)
        >>> [str(moment) for moment in mean_and_variance(dot_distribution(signs, signs))]
        ['0', '3']
    """
    mean = sum((x * p for x, p in distribution.items()), Fraction(0))
    return mean, sum(((x - mean) ** 2 * p for x, p in distribution.items()), Fraction(0))


def symbolic_variance(d_k: int) -> Polynomial:
    r"""Var(q·k) in the symbols μ_q, σ_q, μ_k, σ_k, from the d_k² terms of the square, one by one.

    $$\operatorname{Var}(q \cdot k) = \sum_{i,j} \operatorname{E}[q_i q_j]\operatorname{E}[k_i k_j]
      - \Bigl(\sum_i \operatorname{E}[q_i]\operatorname{E}[k_i]\Bigr)^2$$

    with E[q_i] = μ_q, E[q_i q_i] = μ_q² + σ_q², and E[q_i q_j] = μ_q² for uncorrelated components.
    No moment above the second is asked for, so no shape of the distribution comes in.

    Examples:
        >>> polynomial_text(symbolic_variance(3))
        '3 μ_k² σ_q² + 3 μ_q² σ_k² + 3 σ_k² σ_q²'
    """
    mean: Counter[tuple[str, ...]] = Counter()
    square: Counter[tuple[str, ...]] = Counter()
    for i in range(d_k):
        mean.update(_times({("μ_q",): 1}, {("μ_k",): 1}))
        for j in range(d_k):
            square.update(_times(_second_moment("q", i == j), _second_moment("k", i == j)))
    square.subtract(_times(mean, mean))
    return {symbols: square[symbols] for symbols in sorted(square) if square[symbols]}


def _second_moment(vector: str, same: bool) -> Polynomial:
    mean, sigma = f"μ_{vector}", f"σ_{vector}"
    return {(mean, mean): 1, (sigma, sigma): 1} if same else {(mean, mean): 1}


def _times(a: Mapping[tuple[str, ...], int], b: Mapping[tuple[str, ...], int]) -> Polynomial:
    result: Counter[tuple[str, ...]] = Counter()
    for (left, m), (right, n) in product(a.items(), b.items()):
        result[tuple(sorted(left + right))] += m * n
    return dict(result)


def polynomial_text(polynomial: Polynomial) -> str:
    """A polynomial as text.

    Examples:
        >>> polynomial_text({("σ_k", "σ_k", "σ_q", "σ_q"): 2, ("μ_q",): 1})
        '2 σ_k² σ_q² + 1 μ_q'
    """
    powers = {1: "", 2: "²", 3: "³", 4: "⁴"}
    return " + ".join(
        f"{n} " + " ".join(name + powers[count] for name, count in Counter(symbols).items())
        for symbols, n in polynomial.items()
    )


@requires("samples must be a vector of at least 2", lambda n: n >= 2)
def mean_interval(samples: Float[np.ndarray, " n"]) -> tuple[float, float]:
    r"""Mean of independent samples, and half the width of its 95 % confidence interval.

    $$\bar x \pm 1.96\, s / \sqrt{N}$$

    Raises:
        ValueError: fewer than 2 samples.

    Examples:
        The standard deviation of ±1 is 1: 1.96·1/√100 = 0.196.

        >>> mean, error = mean_interval(np.array([-1.0, 1.0] * 50))
        >>> f"{mean:.3f} ± {error:.3f}"
        '0.000 ± 0.196'
    """
    return float(np.mean(samples)), float(1.96 * np.std(samples) / sqrt(samples.size))


@requires("samples must be a vector of at least 2", lambda n: n >= 2)
def variance_interval(samples: Float[np.ndarray, " n"]) -> tuple[float, float]:
    r"""Variance of independent samples, and half the width of its 95 % confidence interval.

    $$s^2 \pm 1.96 \sqrt{(m_4 - s^4)/N}, \qquad m_4 = \tfrac1N \sum_i (x_i - \bar x)^4$$

    The fourth moment comes from the samples, so the interval asks for no normality.

    Raises:
        ValueError: fewer than 2 samples.

    Source:
        Cramér 1946, "Mathematical Methods of Statistics", §27.4: the variance of s² is
        (μ₄ - σ⁴)/N up to terms of order 1/N².

    Examples:
        Of -2, 0, 0, 2 the variance is 2 and m₄ = 8: 1.96·√((8 - 4)/100) = 0.392.

        >>> variance, error = variance_interval(np.array([-2.0, 0, 0, 2] * 25))
        >>> f"{variance:.3f} ± {error:.3f}"
        '2.000 ± 0.392'
    """
    centred = samples - np.mean(samples)
    variance = np.mean(centred**2)
    spread = np.mean(centred**4) - variance**2
    return float(variance), float(1.96 * sqrt(spread / samples.size))
