"""Scaling: the published numbers by hand, in fractions, with mpmath and with torch."""

import functools
import itertools
import math
import re
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_docs import scaling
from tests.conftest import each_language
from tests.exact import dot, holds, pm, printed, softmax

WIDTHS = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
SPREAD = [4, 16, 64, 256, 1024]
DIVISORS = ["1", "√d_k", "d_k"]
COIN = {-1: Fraction(1, 2), 1: Fraction(1, 2)}
# Typed from seed 001: softmax of [1, 1, 1, 5].
SEED_WEIGHTS = [0.0174, 0.0174, 0.0174, 0.9479]
# Typed: largest weight of 8 keys, mean, raw, by √d_k and by d_k.
LARGEST = {64: [0.873, 0.359, 0.149], 1024: [0.969, 0.361, 0.131]}
JACOBIAN_1024 = [0.043, 0.366]


def moments(pairs):
    """Mean and variance of q·k over (q, k, probability), as E[x²] - E[x]²."""
    pairs = [(Fraction(dot(q, k)), p) for q, k, p in pairs]
    assert sum(p for _, p in pairs) == 1
    mean = sum(x * p for x, p in pairs)
    return mean, sum(x * x * p for x, p in pairs) - mean**2


def free(component, d):
    """All vectors of d independent components."""
    found = []
    for chosen in itertools.product(component, repeat=d):
        found.append((chosen, math.prod(component[c] for c in chosen)))
    return found


def independent(queries, keys):
    return [(q, k, p * r) for (q, p), (k, r) in itertools.product(queries, keys)]


def rows(output):
    """The lines `d_k = 64 …` of an output, by d_k."""
    found = [re.match(r"d_k = +(\d+)(.*)", line) for line in output.splitlines()]
    return [(int(match[1]), match[2]) for match in found if match]


# ---------------------------------------------------------------- the package

whole = st.integers(-5, 5)
component = st.lists(whole, min_size=1, max_size=3)


@given(st.integers(1, 3), component, component)
def test_formula_is_the_count(d, q_values, k_values):
    q = {v: Fraction(n, len(q_values)) for v, n in Counter(q_values).items()}
    k = {v: Fraction(n, len(k_values)) for v, n in Counter(k_values).items()}
    mean, variance = moments(independent(free(q, d), free(k, d)))
    package_q = scaling.vectors(scaling.equally_likely(*q_values), d)
    package_k = scaling.vectors(scaling.equally_likely(*k_values), d)
    counted = scaling.mean_and_variance(scaling.dot_distribution(package_q, package_k))
    assert counted == (mean, variance)
    # The formula with σ² = v: only squares of σ come in, so v stands for σ² without a root.
    (m, v), (n, w) = (
        scaling.mean_and_variance(scaling.equally_likely(*x)) for x in (q_values, k_values)
    )
    assert d * (v * w + m * m * w + n * n * v) == variance


@given(st.integers(1, 99), whole, whole, whole, whole)
def test_formula_is_its_polynomial(d, m, n, s, t):
    got = scaling.dot_variance(d, mean_q=m, mean_k=n, sigma_q=s, sigma_k=t)
    # E[(q·k)²] - E[q·k]², with d terms i = j and d(d - 1) terms i ≠ j.
    square = d * (s * s + m * m) * (t * t + n * n) + d * (d - 1) * m * m * n * n
    assert got == square - (d * m * n) ** 2


@given(st.integers(1, 6), whole, whole, whole, whole)
def test_symbols_evaluate_to_the_variance(d, m, n, s, t):
    value = {"μ_q": m, "μ_k": n, "σ_q": s, "σ_k": t}
    got = sum(
        c * math.prod(value[name] for name in symbols)
        for symbols, c in scaling.symbolic_variance(d).items()
    )
    square = d * (s * s + m * m) * (t * t + n * n) + d * (d - 1) * m * m * n * n
    assert got == square - (d * m * n) ** 2


def test_symbols_are_only_squares():
    assert scaling.symbolic_variance(5) == {
        ("μ_k", "μ_k", "σ_q", "σ_q"): 5,
        ("μ_q", "μ_q", "σ_k", "σ_k"): 5,
        ("σ_k", "σ_k", "σ_q", "σ_q"): 5,
    }


def test_intervals_by_hand():
    samples = np.array([3.0, 7.0, 7.0, 11.0] * 100)  # mean 7, variance 8, fourth moment 128
    mean, error = scaling.mean_interval(samples)
    assert mean == 7
    assert error == pytest.approx(1.96 * math.sqrt(8 / 400))
    variance, error = scaling.variance_interval(samples)
    assert variance == 8
    assert error == pytest.approx(1.96 * math.sqrt((128 - 64) / 400))


@pytest.mark.parametrize("interval", [scaling.mean_interval, scaling.variance_interval])
def test_intervals_cover_as_often_as_they_say(interval):
    rng = np.random.default_rng(7)
    truth = {scaling.mean_interval: 0, scaling.variance_interval: 1}[interval]
    draws = rng.exponential(1, (2000, 1000)) - 1  # lopsided, mean 0, variance 1
    inside = sum(abs(m - truth) <= e for m, e in map(interval, draws))
    assert 0.92 * 2000 < inside < 0.97 * 2000


def test_errors_say_wanted_and_got():
    with pytest.raises(ValueError, match="d_k must be at least 1, got 0"):
        scaling.vectors(COIN, 0)
    with pytest.raises(ValueError, match="probabilities must sum to 1, got 3/4"):
        scaling.vectors({0: Fraction(1, 4), 1: Fraction(1, 2)}, 2)
    with pytest.raises(ValueError, match="query and key must share d_k, got 2 and 3"):
        scaling.dot_distribution(scaling.vectors(COIN, 2), scaling.vectors(COIN, 3))
    for interval in (scaling.mean_interval, scaling.variance_interval):
        with pytest.raises(ValueError, match=r"at least 2, got shape \(1,\)"):
            interval(np.array([1.0]))


# ------------------------------------------------------------ published numbers


@pytest.mark.site
@each_language
def test_example(page, lang):
    chapter = page(lang, "scaling")
    raw = chapter.array("example")
    np.testing.assert_allclose(raw, SEED_WEIGHTS, rtol=0, atol=1e-12)
    printed(raw, softmax([1, 1, 1, 5]))
    for number, d_k in enumerate([4, 16, 64], start=1):
        exact = softmax([1, 1, 1, 5], mpmath.sqrt(d_k))
        printed(chapter.array("example", number), exact)
    assert chapter.values("idea")[:3] == ["0.9479", "0.7112", "0.3547"]
    for weight in ("0.0963", "0.7112", "0.1749", "0.4754", "0.2151", "0.3547"):
        assert weight in chapter.output("example")


@pytest.mark.site
@each_language
def test_standardisation(page, lang):
    chapter = page(lang, "scaling")
    assert chapter.numbers("signs") == [0, 1]
    # 0 (4/5), 5 (1/5): mean 1, mean square 5, variance 4.
    first, zero, five, after = chapter.output("standardise").splitlines()
    assert first == "mean 1 variance 4 standard deviation 2"
    assert zero == "0 becomes -1/2, probability 4/5"
    assert five == "5 becomes 2, probability 1/5"
    assert after.split()[-2:] == ["0", "1"]
    assert Fraction(-1, 2) * Fraction(4, 5) + 2 * Fraction(1, 5) == 0
    assert Fraction(1, 4) * Fraction(4, 5) + 4 * Fraction(1, 5) == 1


@pytest.mark.site
@each_language
def test_enumeration(page, lang):
    chapter = page(lang, "scaling")
    scores = Counter(a * c + b * d for a, b, c, d in itertools.product((-1, 1), repeat=4))
    for value, count in scores.items():
        assert f"q·k = {value}: probability {Fraction(count, 16)}" in chapter.output("pairs")
    assert chapter.output("pairs").endswith("mean 0 variance 2")
    wanted = []
    for d in (1, 2, 3, 4, 5):
        mean, variance = moments(independent(free(COIN, d), free(COIN, d)))
        assert (mean, variance) == (0, d)
        wanted.append(f"d_k = {d}: {4**d} pairs, mean {mean}, variance {variance}")
    assert chapter.output("enumeration").splitlines() == wanted
    lopsided = {Fraction(-1, 2): Fraction(4, 5), Fraction(2): Fraction(1, 5)}
    for d, rest in rows(chapter.output("lopsided")):
        mean, variance = moments(independent(free(lopsided, d), free(lopsided, d)))
        assert rest == f": mean {mean}, variance {variance}"
    assert len(rows(chapter.output("lopsided"))) == 4


@pytest.mark.site
@each_language
def test_general_by_counting(page, lang):
    found = rows(page(lang, "scaling").output("enumeration-general"))
    q, k = {0: Fraction(1, 2), 2: Fraction(1, 2)}, {-1: Fraction(1, 2), 3: Fraction(1, 2)}
    assert [d for d, _ in found] == [1, 2, 3, 4]
    for d, rest in found:
        variance = moments(independent(free(q, d), free(k, d)))[1]
        assert rest == f": counted {variance}, formula {variance}"


@pytest.mark.site
@each_language
def test_symbols(page, lang):
    found = rows(page(lang, "scaling").output("symbols"))
    assert [d for d, _ in found] == [1, 2, 3, 4]
    for d, rest in found:
        terms = {" ".join(sorted(t.split())) for t in rest.lstrip(": ").split(" + ")}
        wanted = (f"{d} μ_k² σ_q²", f"{d} μ_q² σ_k²", f"{d} σ_k² σ_q²")
        assert terms == {" ".join(sorted(t.split())) for t in wanted}


@pytest.mark.site
@each_language
def test_simulation(page, lang):
    chapter = page(lang, "scaling")
    found = rows(chapter.output("simulate"))
    assert [d for d, _ in found] == WIDTHS
    hits = [0, 0]
    for d, rest in found:
        mean, variance = pm(rest)
        assert holds(mean, 0)
        assert holds(variance, d)
        hits[0] += abs(mean[0]) <= mean[1]
        hits[1] += abs(variance[0] - d) <= variance[1]
        # The error itself: the fourth moment of q·k is 3d² + 6d for normal components.
        assert mean[1] == pytest.approx(1.96 * math.sqrt(d / 10_000), rel=0.05)
        assert variance[1] == pytest.approx(1.96 * math.sqrt((2 * d * d + 6 * d) / 10_000), rel=0.1)
    for line, hit in zip(chapter.output("simulate").splitlines()[-2:], hits, strict=True):
        assert line.startswith(f"{hit} of 9 ")
    assert hits[1] >= 7


@pytest.mark.site
@each_language
def test_general_by_simulation(page, lang):
    output = page(lang, "scaling").output("simulate-general")
    for interval, theory, line in zip(pm(output), (1024, 192), output.splitlines(), strict=True):
        assert holds(interval, theory)
        assert line.endswith(f"formula {theory}")


@pytest.mark.site
@each_language
def test_distributions(page, lang):
    found = pm(page(lang, "scaling").output("distributions"))
    assert len(found) == 5
    assert all(holds(interval, 64) and interval[1] < 2.5 for interval in found)


@pytest.mark.site
@each_language
def test_dropped(page, lang):
    chapter = page(lang, "scaling")
    coins = free(COIN, 4)
    copies = [((x,) * 4, p) for x, p in COIN.items()]
    wanted = [
        moments(independent(coins, coins)),
        moments([(q, q, p) for q, p in coins]),
        moments(independent(*[free({0: Fraction(1, 2), 2: Fraction(1, 2)}, 4)] * 2)),
        moments(independent(*[free({-2: Fraction(1, 2), 2: Fraction(1, 2)}, 4)] * 2)),
        moments(independent(copies, copies)),
        moments(independent(copies, coins)),
    ]
    lines = chapter.output("dropped").splitlines()
    got = [re.search(r"mean (\d+), variance (\d+)$", line).groups() for line in lines]
    assert [(int(a), int(b)) for a, b in got] == wanted
    assert wanted == [(0, 4), (4, 0), (4, 12), (0, 64), (0, 16), (0, 4)]


@pytest.mark.site
@each_language
def test_initialisation(page, lang):
    mean, variance = pm(page(lang, "scaling").output("initialisation"))
    assert holds(mean, 0)
    assert holds(variance, 16)
    assert variance[1] < 1


@pytest.mark.site
@each_language
def test_fixed_query(page, lang):
    *lines, average = page(lang, "scaling").output("fixed-query").splitlines()
    for q, line in zip(([1, 0, 2], [2, 2, 2], [2, 1, 3]), lines, strict=True):
        assert line == f"q = {q}: mean 0, variance {sum(c * c for c in q)}"
    assert average.endswith(": 3")


@pytest.mark.site
@each_language
def test_layernorm(page, lang):
    chapter = page(lang, "scaling")
    found = rows(chapter.output("layernorm"))
    assert [d for d, _ in found] == [2, 4, 6]
    for d, rest in found:
        assert (
            rest == f": E[q₁q₂] = {Fraction(-1, d - 1)}, mean 0, variance {Fraction(d * d, d - 1)}"
        )
    lines = chapter.output("layernorm-simulation").splitlines()
    cases = [(d, name) for d in (4, 16) for name in ("both", "q alone")]
    for (d, name), line in zip(cases, lines, strict=True):
        truth = d * d / (d - 1) if name == "both" else d
        assert line.startswith(f"d_k = {d}, {name}: ")
        assert holds(pm(line)[0], truth)
        assert line.endswith(f"formula {truth:.3f}" if name == "both" else f"formula {d}")
    # At d_k = 4 the simulation tells d²/(d - 1) from d.
    assert not holds(pm(lines[0])[0], 4)


@functools.cache
def torch_measures(d, scale, queries=20_000):
    """The same experiment with torch: its generator, its softmax, its derivative."""
    generator = torch.Generator().manual_seed(1)
    # A χ² length and normal scores have the law of q·k for normal q and k.
    length = torch.zeros(queries, dtype=torch.float64)
    for _ in range(d):
        length += torch.randn(queries, generator=generator, dtype=torch.float64) ** 2
    normal = torch.randn(queries, 8, generator=generator, dtype=torch.float64)
    weights = torch.softmax(length.sqrt()[:, None] * normal / scale, -1)
    j = torch.diag_embed(weights) - weights[:, :, None] * weights[:, None, :]
    entropy = torch.distributions.Categorical(probs=weights).entropy()
    measures = (weights.amax(-1), entropy, torch.linalg.matrix_norm(j))
    return [(m.mean().item(), 1.96 * m.std().item() / math.sqrt(queries)) for m in measures]


def published(chapter, name):
    """(d_k, divisor) to what an output's row holds."""
    found = {}
    for d, rest in rows(chapter.output(name)):
        divisor, values = rest.split(maxsplit=1)
        found[d, divisor] = values
    assert list(found) == list(itertools.product(SPREAD, DIVISORS))
    return found


@pytest.mark.site
@each_language
def test_saturation(page, lang):
    found = published(page(lang, "scaling"), "saturation")
    for (d, divisor), values in found.items():
        scale = {"1": 1, "√d_k": math.sqrt(d), "d_k": d}[divisor]
        for (value, error), (mean, own) in zip(pm(values), torch_measures(d, scale), strict=True):
            assert abs(value - mean) <= 2 * (error + own), (d, divisor)
    for d, golden in LARGEST.items():
        for divisor, wanted in zip(DIVISORS, golden, strict=True):
            assert pm(found[d, divisor])[0][0] == pytest.approx(wanted, abs=0.01)
    for divisor, wanted in zip(DIVISORS, JACOBIAN_1024, strict=False):
        assert pm(found[1024, divisor])[2][0] == pytest.approx(wanted, abs=0.002)
    # Equal weights: 1/8, ln 8, and √7/8 for the norm of the Jacobian.
    limit = [pm(found[1024, "d_k"])[i][0] for i in range(3)]
    np.testing.assert_allclose(limit, [1 / 8, math.log(8), math.sqrt(7) / 8], rtol=0, atol=0.006)


@pytest.mark.site
@each_language
def test_widths(page, lang):
    chapter = page(lang, "scaling")
    found = dict(rows(chapter.output("widths")))
    assert list(found) == WIDTHS
    for d in (8, 32, 128, 512):  # what the table of test_saturation lacks
        for part, scale in ((0, 1), (1, math.sqrt(d))):
            both = pm(found[d])[part::2]  # largest weight, entropy
            for (value, error), (mean, own) in zip(both, torch_measures(d, scale), strict=False):
                assert abs(value - mean) <= 2 * (error + own), (d, scale)
    table = published(chapter, "saturation")
    for d in SPREAD:
        raw, scaled = (pm(table[d, divisor]) for divisor in ("1", "√d_k"))
        assert pm(found[d]) == [raw[0], scaled[0], raw[1], scaled[1]]


@pytest.mark.site
@each_language
def test_gradient(page, lang):
    found = published(page(lang, "scaling"), "gradient")
    # torch differentiates softmax(qKᵀ / divisor) by q for 1,500 queries of its own.
    for d, divisor in ((64, "1"), (64, "√d_k"), (64, "d_k"), (256, "√d_k")):
        scale = {"1": 1, "√d_k": math.sqrt(d), "d_k": d}[divisor]
        generator = torch.Generator().manual_seed(2)
        q = torch.randn(1500, d, generator=generator, dtype=torch.float64)
        k = torch.randn(1500, 8, d, generator=generator, dtype=torch.float64)

        def weights(one, keys, scale=scale):
            return torch.softmax(keys @ one / scale, -1)

        derivative = torch.func.vmap(torch.func.jacrev(weights))(q, k)  # (queries, keys, d)
        norms = torch.linalg.matrix_norm(derivative)
        value, error = pm(found[d, divisor])[0]
        own = 1.96 * norms.std().item() / math.sqrt(1500)
        assert abs(value - norms.mean().item()) <= 2 * (error + own), (d, divisor)
        stuck = int(re.search(r"(\d+) of 4000", found[d, divisor])[1])
        assert stuck / 4000 == pytest.approx((norms < 0.01).double().mean().item(), abs=0.05)
    # The claim that the gradient vanishes: not on average, but for more and more queries.
    stuck = {key: int(re.search(r"(\d+) of 4000", row)[1]) for key, row in found.items()}
    assert stuck[1024, "1"] > 2000 > stuck[64, "1"] > stuck[4, "1"]
    assert pm(found[1024, "1"])[0][0] > 1
    assert {stuck[d, "√d_k"] for d in SPREAD} == {0}


@pytest.mark.site
@each_language
def test_claimed_sigma_is_wrong(page, lang):
    lines = page(lang, "scaling").output("mistake-sigma").splitlines()
    assert lines == [
        "d_k = 1: variance 1, σ = 1, claimed σ = 1",
        "d_k = 4: variance 4, σ = 2, claimed σ = 4",
    ]


@pytest.mark.site
@each_language
def test_divisors(page, lang):
    blocks = page(lang, "scaling").output("mistake-divisor").split("\n    divided by ")
    left = [Fraction(re.search(r"variance (\S+)", block)[1]) for block in blocks[1:]]
    wanted = []
    for d_model, heads in ((512, 8), (1024, 16), (768, 12)):
        d = Fraction(d_model, heads)
        wanted += [d / d, d / d**2, d / d_model, d / d_model**2, d / heads**2]
    assert left == wanted
    assert left[4] == 1  # the accident of the base model


@pytest.mark.site
@each_language
def test_terms(page, lang):
    lines = page(lang, "scaling").output("mistake-terms").splitlines()
    assert lines[0].endswith(": 4")  # 1·4 + 0·4 + 2·0
    assert "4 terms" in lines[1]
    assert lines[2].startswith("IndexError")
    assert moments(independent(free(COIN, 4), free(COIN, 4)))[1] == 3 + 1


@pytest.mark.site
@each_language
def test_claimed_split_is_wrong(page, lang):
    numbers = [
        Fraction(line.split()[-1])
        for line in page(lang, "scaling").output("mistake-split").splitlines()
        if line.startswith(" ")
    ]
    coins, twos = numbers[:4], numbers[4:]
    assert coins == [1, 1, 1, 1]
    # The product of two numbers that are 0 or 2 is 0, 0, 0 or 4.
    truth = Fraction(16, 4) - Fraction(4, 4) ** 2
    assert twos[:2] == [truth, truth] == [3, 3]
    assert truth not in twos[2:]
    assert twos[2:] == [0, 1]


@pytest.mark.site
@each_language
def test_t5(page, lang):
    first, second = page(lang, "scaling").output("t5").splitlines()
    assert first == "variance of q_i: 1/64 of k_i: 1 of q·k: 1"
    assert holds(pm(second)[0], 1)
    assert pm(second)[0][1] < 0.1


@pytest.mark.site
@each_language
def test_exercises(page, lang):
    chapter = page(lang, "scaling")
    assert chapter.numbers("exercise-1") == [144, 12]
    bits = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    mean, variance = moments(independent(free(bits, 3), free(bits, 3)))
    assert chapter.output("exercise-2").splitlines() == [
        f"counted: mean {mean} variance {variance}",
        f"formula: {variance}",
    ]
    copies = [((x,) * 5, p) for x, p in COIN.items()]
    for line, queries in zip(
        chapter.output("exercise-3").splitlines(), (copies, free(COIN, 5)), strict=True
    ):
        assert line.endswith(f"variance {moments(independent(queries, copies))[1]}")
