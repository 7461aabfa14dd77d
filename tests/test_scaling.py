"""Scaling: the published numbers by hand, in fractions, with mpmath and with torch."""

import functools
import itertools
import math
import re
import statistics
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_docs import scaling
from attention_docs.heads import load_vectors
from tests.conftest import each_language
from tests.exact import (
    KEYS,
    QUERIES,
    VALUES,
    agrees_within_error,
    assert_printed,
    assert_printed_e,
    attention_weights,
    dot,
    jacobian,
    make_test_of_asked,
    norm,
    parse_plus_minus,
    product,
    softmax,
)

WIDTHS = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
DIVISORS = ["1", "√d_k", "d_k"]
COIN = {-1: Fraction(1, 2), 1: Fraction(1, 2)}
# Typed: largest weight of 8 keys, raw weight, entropy and by √d_k of 240,000 other draws at 64, and
# what others found at 1024, raw, by √d_k and by d_k.
LARGEST = {64: [0.8743, 0.3595, 0.149], 1024: [0.969, 0.361, 0.131]}
ENTROPY_64, JACOBIAN_1024 = 0.3197, [0.043, 0.366]


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


def fractions(chapter, block):
    """The cells of a table of fractions, row by row, without the names of the rows."""
    plain = [[cell.replace("−", "-").replace(",", "") for name, cell in row.items() if name]
             for row in chapter.table(block)]  # fmt: skip
    return [[Fraction(cell) if cell else None for cell in row] for row in plain]


def intervals(chapter, block, name):
    """The `value ± error` in each cell of a column."""
    return [parse_plus_minus(row[name])[0] for row in chapter.table(block)]


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


def test_intervals_by_hand():
    samples = np.array([3.0, 7.0, 7.0, 11.0] * 100)  # mean 7, variance 8, fourth moment 128
    mean, error = scaling.mean_interval(samples)
    assert mean == 7
    assert error == pytest.approx(1.96 * math.sqrt(8 / 400))
    variance, error = scaling.variance_interval(samples)
    assert variance == 8
    assert error == pytest.approx(1.96 * math.sqrt((128 - 64) / 400))


# ------------------------------------------------------------ published numbers


@each_language
def test_example(page, lang):
    chapter = page(lang, "scaling")
    shown, *said = chapter.values("idea")
    assert shown == "[1, 1, 1, 5]"
    by_root = [softmax([1, 1, 1, 5], mpmath.sqrt(d_k)) for d_k in (1, 4, 16, 64)]
    assert said.pop(2) == "64"  # the size itself, within the root
    assert_printed([float(v) for v in said], [by_root[i][3] for i in (0, 1, 3)])
    # Typed from seed 001: softmax of [1, 1, 1, 5].
    assert said[0] == "0.9479"
    described = chapter.figure("example")
    bars = [float(x) for x in re.findall(r"0\.\d{4}", described)]
    assert_printed(bars, [w[i] for i in (0, 3) for w in by_root])
    assert bars[0] == 0.0174


def test_two_coins_and_four(chapter):
    """A product of two coins is a coin: the score has the odds of 2 and of 4 tosses."""
    assert chapter.bars("coins") == {
        "d_k = 2": [0, 1 / 4, 2 / 4, 1 / 4, 0],
        "d_k = 4": [one / 16 for one in (1, 4, 6, 4, 1)],
    }


def test_standardisation(chapter):
    # 0 (4/5), 5 (1/5): mean 1, mean square 5, variance 4.
    names = ["usual value", "rare value", "expectation", "variance"]
    assert chapter.names("standardise") == names
    assert fractions(chapter, "standardise") == [
        [0, Fraction(-1, 2), Fraction(4, 5)],
        [5, 2, Fraction(1, 5)],
        [1, 0, None],
        [4, 1, None],
    ]
    assert Fraction(-1, 2) * Fraction(4, 5) + 2 * Fraction(1, 5) == 0
    assert Fraction(1, 4) * Fraction(4, 5) + 4 * Fraction(1, 5) == 1


def test_enumeration(chapter):
    scores = Counter(a * c + b * d for a, b, c, d in itertools.product((-1, 1), repeat=4))
    wanted = [[value, Fraction(count, 16)] for value, count in sorted(scores.items())]
    assert fractions(chapter, "pairs") == wanted
    assert chapter.output("pairs") == "expectation: 0, variance: 2"
    wanted = []
    for d in (1, 2, 3, 4, 5):
        mean, variance = moments(independent(free(COIN, d), free(COIN, d)))
        assert (mean, variance) == (0, d)
        wanted.append([d, 4**d, mean, variance])
    assert fractions(chapter, "enumeration") == wanted


def test_table_of_terms(chapter):
    """The expectation of q_i k_i q_j k_j, by visiting all pairs of signs."""
    wanted = []
    signs = list(itertools.product((-1, 1), repeat=4))
    for i, j in itertools.product(range(4), repeat=2):
        total = sum(q[i] * k[i] * q[j] * k[j] for q, k in itertools.product(signs, signs))
        wanted.append(Fraction(total, 256))
    assert wanted == [int(i == j) for i in range(4) for j in range(4)]
    places, *cells = chapter.matrix("terms-of-square", "E[qᵢkᵢ qⱼkⱼ]")
    assert places == [1, 2, 3, 4]
    assert [one for row in cells for one in row] == wanted


def test_general_by_counting(chapter):
    q, k = {0: Fraction(1, 2), 2: Fraction(1, 2)}, {-1: Fraction(1, 2), 3: Fraction(1, 2)}
    wanted = []
    for d in (1, 2, 3, 4):
        variance = moments(independent(free(q, d), free(k, d)))[1]
        within = within_rows(free(q, d), free(k, d))
        wanted.append([d, variance, variance, within])
        # d σ_k² (σ_q² + μ_q²), and the rest d μ_k² σ_q² is what rows share
        assert (within, variance - within) == (d * 4 * (1 + 1), d * 1 * 1)
    assert fractions(chapter, "enumeration-general") == wanted


def within_rows(queries, keys):
    """The variance over keys for a given query, averaged over queries."""
    return sum(p * moments([(q, k, r) for k, r in keys])[1] for q, p in queries)


@given(st.integers(1, 3), component, component)
def test_within_a_row(d, q_values, k_values):
    """Softmax sees d σ_k² (σ_q² + μ_q²); what all keys share leaves its weights alone."""
    q = {v: Fraction(n, len(q_values)) for v, n in Counter(q_values).items()}
    k = {v: Fraction(n, len(k_values)) for v, n in Counter(k_values).items()}
    (m, v), (n, w) = (
        scaling.mean_and_variance(scaling.equally_likely(*x)) for x in (q_values, k_values)
    )
    queries, keys = free(q, d), free(k, d)
    within = within_rows(queries, keys)
    assert within == d * w * (v + m * m)
    assert moments(independent(queries, keys))[1] - within == d * n * n * v
    # The expectation of the keys taken away: every score of a row moves by μ_k Σ q_i.
    one = queries[0][0]
    both = [[float(dot(one, [c - m for c in key])) for key, _ in keys] for m in (0, n)]
    kept, centred = torch.softmax(torch.tensor(both, dtype=torch.float64), -1)
    np.testing.assert_allclose(kept, centred, rtol=1e-7, atol=1e-7)


def test_symbols(chapter):
    assert chapter.column("symbols", "dₖ") == [1, 2, 3, 4]
    for d, row in enumerate(chapter.table("symbols"), start=1):
        terms = {" ".join(sorted(t.split())) for t in row["variance"].split(" + ")}
        wanted = (f"{d} μ_k² σ_q²", f"{d} μ_q² σ_k²", f"{d} σ_k² σ_q²")
        assert terms == {" ".join(sorted(t.split())) for t in wanted}


def test_simulation(chapter):
    assert chapter.column("simulate-table", "dₖ") == WIDTHS
    both = (intervals(chapter, "simulate-table", name) for name in ("expectation", "variance"))
    hits = 0
    for d, mean, variance in zip(WIDTHS, *both, strict=True):
        assert agrees_within_error(mean, 0)
        assert agrees_within_error(variance, d)
        hits += abs(variance[0] - d) <= variance[1]
        # The error itself: the fourth moment of q·k is 3d² + 6d for normal components.
        widths = 1.96 * math.sqrt(d / 10_000), 1.96 * math.sqrt((2 * d * d + 6 * d) / 10_000)
        assert mean[1] == pytest.approx(widths[0], rel=0.15)  # two digits, rounded up
        assert variance[1] == pytest.approx(widths[1], rel=0.15)
    assert chapter.values("simulation") == ["2017", "9", str(hits)]
    assert hits >= 7


def test_general_by_simulation(page):
    chapter, block = page("en", "scaling"), "simulate-general"
    assert [chapter.column(block, name) for name in "μσ"] == [[0, 1], [2, 1]]
    assert chapter.column(block, "by the formula") == [1024, 192]  # 64·4·4, 64·(1 + 1 + 1)
    first, second = intervals(chapter, block, "variance, simulated")
    assert agrees_within_error(first, 1024)
    assert agrees_within_error(second, 192)


def test_distributions(chapter):
    names = ["normal", "uniform", "−1 or 1", "Laplace", "exponential − 1"]
    assert chapter.names("distributions") == names
    for interval in intervals(chapter, "distributions", "variance"):
        assert agrees_within_error(interval, 64)
        assert interval[1] < 2.5
    lopsided = {Fraction(-1, 2): Fraction(4, 5), Fraction(2): Fraction(1, 5)}
    wanted = [[d, *moments(independent(free(lopsided, d), free(lopsided, d)))] for d in range(1, 5)]
    assert fractions(chapter, "lopsided") == wanted


def test_dropped(chapter):
    coins = free(COIN, 4)
    copies = [((x,) * 4, p) for x, p in COIN.items()]
    cases = [
        independent(coins, coins),
        [(q, q, p) for q, p in coins],
        independent(*[free({0: Fraction(1, 2), 2: Fraction(1, 2)}, 4)] * 2),
        independent(*[free({-2: Fraction(1, 2), 2: Fraction(1, 2)}, 4)] * 2),
        independent(copies, copies),
        independent(copies, coins),
    ]
    wanted = []
    for pairs in cases:
        on = sum(p * (q[0] * k[0]) ** 2 for q, k, p in pairs)
        beside = sum(p * q[0] * k[0] * q[1] * k[1] for q, k, p in pairs)
        mean, variance = moments(pairs)
        wanted.append([on, beside, mean, variance])
        # The table: 4 cells on the diagonal, 12 beside it, less the squared expectation.
        assert 4 * on + 12 * beside - mean**2 == variance
    assert fractions(chapter, "dropped") == wanted
    known = [[0, 4], [4, 0], [4, 12], [0, 64], [0, 16], [0, 4]]
    assert [one[2:] for one in wanted] == known
    broken = [re.findall("A[1-4]", name) for name in chapter.names("dropped")]
    assert broken == [["A1", "A4"], ["A1"], ["A2"], ["A3"], ["A4"], ["A4"]]
    assert chapter.values("dropped") == ["12"]


def test_initialisation(chapter):
    (row,) = chapter.table("initialisation")
    (mean,), (variance,) = parse_plus_minus(row["expectation"]), parse_plus_minus(row["variance"])
    assert agrees_within_error(mean, 0)
    assert agrees_within_error(variance, 16)
    assert variance[1] < 1


def test_fixed_query(page):
    chapter, block = page("en", "scaling"), "fixed-query"
    queries = [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
    assert chapter.vectors(block, "components") == queries
    for q, mean, variance in zip(
        queries,
        chapter.column(block, "expectation of q·k"),
        chapter.column(block, "variance of q·k"),
        strict=True,
    ):
        assert (mean, variance) == moments([(q, k, p) for k, p in free(COIN, 3)])
        assert (mean, variance) == (0, sum(c * c for c in q))


def test_layernorm(chapter):
    wanted = [[d, Fraction(-1, d - 1), 0, Fraction(d * d, d - 1)] for d in (2, 4, 6)]
    assert fractions(chapter, "layernorm") == wanted
    block = "layernorm-simulation"
    assert chapter.column(block, "dₖ") == [4, 16]
    assert_printed(chapter.column(block, "dₖ² / (dₖ − 1)"), [d * d / (d - 1) for d in (4, 16)], 3)
    one = intervals(chapter, block, "q after LayerNorm")
    both = intervals(chapter, block, "q and k after LayerNorm")
    for d, of_one, of_both in zip((4, 16), one, both, strict=True):
        assert agrees_within_error(of_both, d * d / (d - 1))
        assert agrees_within_error(of_one, d)
        # At d_k = 4 the simulation tells d²/(d - 1) from d.
        assert d > 4 or not agrees_within_error(of_both, d)


# --- what the division does to the weights: every interval against integrals

# Nearer to the mean than 1,000,000 draws: over eight scramblings the means scatter by 0.05 (in the
# median) and 0.5 (at most) standard errors of so many draws.
POINTS = 2**15


def measures(weights):
    """Largest weight, entropy and ‖J‖ of rows of 8 weights, by torch."""
    square = weights**2
    entropy = torch.special.entr(weights).sum(-1)
    on = (square * (1 - weights) ** 2).sum(-1)  # the diagonal, then the rest
    beside = (square.sum(-1) ** 2 - (square**2).sum(-1)).clamp(min=0)
    return weights.amax(-1), entropy, (on + beside).sqrt()


@functools.cache
def points(columns):
    """Points of Sobol that fill a cube evenly, for integrals; none lies on a side with a 0."""
    engine = torch.quasirandom.SobolEngine(columns, scramble=True, seed=9)
    return engine.draw(POINTS, dtype=torch.float64).clamp(min=2**-40)


def lengths(d, shares):
    """What the length of d normal numbers is below with these probabilities."""
    grid = torch.linspace(max(0, math.sqrt(d) - 7), math.sqrt(d) + 7, 4001, dtype=torch.float64)
    below = torch.special.gammainc(torch.tensor(d / 2, dtype=torch.float64), grid**2 / 2)
    return torch.from_numpy(np.interp(shares, below, grid))


def largest_first(shares):
    """8 normal numbers: the largest, which has the distribution Φ⁸, then 7 that are below it.

    All that is integrated is the same in any order, and is smooth where the largest does not change
    its place.
    """
    top = shares[:, :1] ** (1 / 8)
    return torch.special.ndtri(top * torch.cat([torch.ones_like(top), shares[:, 1:]], -1))


def measure_weights(scores, divisor=1):
    """The measures of the weights, a few rows at a time: they stay in the processor's cache."""
    parts = (measures(torch.softmax(part / divisor, -1)) for part in scores.split(20_000))
    return [torch.cat(each) for each in zip(*parts, strict=True)]


@functools.cache
def integrals(d):
    """For each divisor the mean of each measure, and its standard deviation."""
    shares = points(9)
    scores = lengths(d, shares[:, :1]) * largest_first(shares[:, 1:])
    found = {}
    for name, divisor in zip(DIVISORS, (1, math.sqrt(d), d), strict=True):
        found[name] = [(m.mean().item(), m.std().item()) for m in measure_weights(scores, divisor)]
    return found


def saturation_table(chapter):
    """Largest weight, entropy and ‖J‖, each with its error, by d_k and divisor."""
    found = {}
    for row in chapter.table("saturation-table"):
        cells = [row[name] for name in ("largest weight", "entropy", "norm of the Jacobian")]
        found[int(row["dₖ"].replace(",", "")), row["divisor"]] = parse_plus_minus(" ".join(cells))
    assert list(found) == list(itertools.product(WIDTHS, DIVISORS))
    return found


def test_saturation(chapter):
    found = saturation_table(chapter)
    hits = []
    for (d, name), intervals in found.items():
        for (value, error), (mean, deviation) in zip(intervals, integrals(d)[name], strict=True):
            assert abs(value - mean) <= 2 * error, (d, name)  # four standard errors
            hits.append(abs(value - mean) <= error)
            # The width is that of 95 % for 100,000 draws, rounded up by one digit at most.
            width = 1.96 * deviation / math.sqrt(100_000)
            assert 0.95 * width <= error <= 1.1 * width + 0.0001, (d, name)
    assert len(hits) == 81
    assert sum(hits) / len(hits) >= 0.9
    for d, golden in LARGEST.items():
        for name, wanted in zip(DIVISORS, golden, strict=True):
            assert found[d, name][0][0] == pytest.approx(wanted, abs=0.002)
    assert abs(found[64, "1"][1][0] - ENTROPY_64) <= 2 * found[64, "1"][1][1]
    for name, wanted in zip(DIVISORS, JACOBIAN_1024, strict=False):
        assert found[1024, name][2][0] == pytest.approx(wanted, abs=0.002)
    # Equal weights: 1/8, ln 8, and √7/8 for the norm of the Jacobian.
    limit = [found[1024, "d_k"][i][0] for i in range(3)]
    np.testing.assert_allclose(limit, [1 / 8, math.log(8), math.sqrt(7) / 8], rtol=0, atol=0.006)
    # At every width the same: only √d_k.
    by_root = [found[d, "√d_k"][0][0] for d in WIDTHS]
    assert max(by_root) - min(by_root) < 0.02
    assert [found[d, "1"][0][0] for d in WIDTHS] == sorted(found[d, "1"][0][0] for d in WIDTHS)

    # What sentences say is what the table says.
    said = [parse_plus_minus(v)[0] for v in chapter.values("result-weights")]
    named = [(4, "√d_k"), *((d, name) for name in ("√d_k", "1") for d in (64, 1024))]
    assert said == [found[one][0] for one in named]
    rounded = [f"{found[one][0][0]:.2f}" for one in named[1:]]
    assert chapter.values("saturation") == [rounded[1]]
    assert rounded[0] == rounded[1]
    assert chapter.values("scaling")[0] == f"{integrals(512)['1'][0][0]:.2f}"
    jacobians = [found[1024, name][2] for name in DIVISORS]
    assert [parse_plus_minus(v)[0] for v in chapter.values("saturation-table")[6:]] == jacobians
    assert chapter.values("saturation-table")[5] == "2017"


@each_language
def test_slider(page, lang):
    """Each frame says the means of the table, and its rows of weights are of the same draw."""
    chapter = page(lang, "scaling")
    table = saturation_table(page("en", "scaling"))
    frames = chapter.frames("slider")
    assert len(frames) == 9
    for frame, d in zip(frames, WIDTHS, strict=True):
        described = re.findall(r"\d\.\d\d", frame.caption)
        described = [float(mean) for mean in described]
        means = [table[d, name][0][0] for name in DIVISORS]
        assert described == pytest.approx(means, abs=0.00501)
        *weights, spread = frame.labels
        assert spread.count("32008") == 2
        for text, mean in zip(weights, described, strict=True):
            row = [float(x) for x in re.findall(r"\d\.\d\d", text)]
            assert len(row) == 8
            assert row == sorted(row, reverse=True)
            assert sum(row) == pytest.approx(1, abs=0.041)
            assert row[0] == mean


def slopes_of(scores, keys, divisor):
    """‖∂a/∂q‖ = ‖JK‖ / divisor."""
    weights = torch.softmax(scores / divisor, -1)[:, :, None]
    by_query = weights * (keys - (weights * keys).sum(1, keepdim=True)) / divisor
    return by_query.square().sum((1, 2)).sqrt()


@functools.cache
def slopes(d):
    """For each divisor the norms, at points for an integral, with the query turned into an axis.

    The first column of K is then the scores over ‖q‖. Of the other d - 1 columns only the products
    of rows count, and those are Wishart: at most 8 columns of a triangle do in their place
    (Bartlett). In standard errors of 200,000 draws, over eight scramblings, means scatter by 0.4 at
    most and the shares below 0.01 by 0.5, but by 2.3 where they are rare; the page's own by 4.5.
    """
    columns = min(8, d - 1)
    below = torch.tril_indices(8, columns)
    shares = points(9 + 36)
    length, first = lengths(d, shares[:, :1]), largest_first(shares[:, 1:9])
    at = torch.zeros(POINTS, 8, columns, dtype=torch.float64)
    at[:, *below] = shares[:, 9 : 9 + below.shape[1]]
    rest = torch.special.ndtri(at).tril(-1)
    for i in range(columns):
        rest[:, i, i] = lengths(d - 1 - i, at[:, i, i])
    keys = torch.cat([first[:, :, None], rest], -1)
    divisors = zip(DIVISORS, (1, math.sqrt(d), d), strict=True)
    return {name: slopes_of(length * first, keys, divisor) for name, divisor in divisors}


def test_gradient(chapter):
    found, hits = {}, []
    names = ("largest weight", "norm of ∂a/∂q", "share below 0.01")
    keys = itertools.product((4, 64, 1024), DIVISORS)
    for row, (d, name) in zip(chapter.table("gradient"), keys, strict=True):
        assert (row["dₖ"].replace(",", ""), row["divisor"]) == (str(d), name)
        cells = [row[one] for one in names]
        found[d, name] = parse_plus_minus(" ".join(cells)) + [(0.0, 0.0)] * (cells[2] == "0")
        # Whole vectors give the largest weights of the table; the rest are integrals, too.
        norms = slopes(d)[name]
        largest, below = integrals(d)[name][0][0], (norms < 0.01).double()
        truths = [largest, norms.mean().item(), below.mean().item()]
        for (value, error), truth in zip(found[d, name], truths, strict=True):
            assert abs(value - truth) <= 2 * error + 1e-4 * (error == 0), (d, name)
            hits.append(abs(value - truth) <= error)
    assert len(hits) == 27
    assert sum(hits) >= 24
    # The claim that the gradient vanishes: not on average, but for more and more queries.
    stuck = [found[d, "1"][2][0] for d in (4, 64, 1024)]
    assert stuck == sorted(stuck)
    assert stuck[2] > 0.5
    assert found[1024, "1"][1][0] > 1
    assert {found[d, "√d_k"][2] for d in (4, 64, 1024)} == {(0.0, 0.0)}
    said = [parse_plus_minus(v)[0] for v in chapter.values("gradient")]
    keys = [(1024, "1", 1), (1024, "1", 2), (1024, "√d_k", 1), (64, "d_k", 1), (1024, "d_k", 1)]
    assert said == [found[d, name][which] for d, name, which in keys]


def test_vanish(page):
    """‖∂a/∂q‖ from a torch model of the same scores, by autograd."""
    chapter, block = page("en", "scaling"), "vanish"
    rows = [([0, 0, 0, ahead], divisor) for ahead in (16, 2) for divisor in (1, 8)]
    assert chapter.vectors(block, "q·k") == [scores for scores, _ in rows]
    assert [row["divisor"] for row in chapter.table(block)] == ["1", "√d_k"] * 2
    sizes, slopes = chapter.column(block, "‖J‖"), chapter.column(block, "‖∂a/∂q‖")
    for (scores, divisor), size, slope in zip(rows, sizes, slopes, strict=True):
        keys = torch.full((4, 64), -1.0, dtype=torch.float64)
        for j, score in enumerate(scores):
            keys[j, : 32 + score // 2] = 1
            keys[j] = keys[j].roll(5 * j)
        by_query = torch.autograd.functional.jacobian(
            lambda q, k=keys, c=divisor: torch.softmax(k @ q / c, -1),
            torch.ones(64, dtype=torch.float64),
        )
        exact = norm([x for row in jacobian(softmax(scores, divisor)) for x in row])
        assert_printed_e([size, slope], [exact, by_query.norm().item()])
    raw_16, by_root_16, raw_2, by_root_2 = slopes
    assert raw_16 < 1e-4 * by_root_16  # the claim is true here
    assert raw_2 > 2 * by_root_2  # and false here

    said = [float(v) for v in chapter.values("claim-scaling")]
    assert said == pytest.approx([raw_16 * 1e6, by_root_16, raw_2, by_root_2], rel=1e-12)

    grown = [x for row in jacobian(softmax([0, 0, 0, 16])) for x in row]
    assert chapter.vectors("vanish-again", "scores after the division") == [[0, 0, 0, 16]]
    assert_printed_e(chapter.column("vanish-again", "norm of the Jacobian"), [norm(grown)])


def test_versions(chapter):
    """The eight steps with and without √3, by mpmath and by PyTorch; rounded by hand."""
    plain, scaled = attention_weights(QUERIES, KEYS), attention_weights(QUERIES, KEYS, math.sqrt(3))
    tenths = [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.9, 0.1]]  # typed from notes 000 and 002
    assert_printed(chapter.vectors("versions", "not divided"), product(plain, VALUES), 4)
    assert_printed(chapter.vectors("versions", "weights rounded"), product(tenths, VALUES), 1)
    assert_printed(chapter.vectors("versions", "divided by √3"), product(scaled, VALUES), 4)
    Q, K, V = (torch.tensor(one, dtype=torch.float64)[None] for one in (QUERIES, KEYS, VALUES))
    by_torch = torch.nn.functional.scaled_dot_product_attention(Q, K, V)[0]
    assert_printed(chapter.vectors("versions", "divided by √3"), by_torch.tolist(), 4)
    fallen = [max(float(a) for a in weights[1]) for weights in (plain, scaled)]
    assert chapter.values("versions") == [f"{one:.4f}" for one in fallen]


def test_forgetting_the_scale(chapter):
    plain, scaled = attention_weights(QUERIES, KEYS), attention_weights(QUERIES, KEYS, math.sqrt(3))
    largest = [[max(row) for row in rows] for rows in (plain, scaled)]
    both = zip(product(plain, VALUES), product(scaled, VALUES), strict=True)
    moved = [max(abs(a - b) for a, b in zip(*outputs, strict=True)) for outputs in both]
    assert min(moved) > 0.2
    assert_printed(chapter.grid("unscaled"), [*largest, moved], 4)
    assert all(a > b for a, b in zip(*largest, strict=True))  # every row is sharper


def test_claimed_sigma_is_wrong(chapter):
    head = ["dₖ", "variance", "standard deviation", "claimed"]
    assert [list(row) for row in chapter.table("mistake-sigma")] == [head] * 2
    assert chapter.grid("mistake-sigma") == [[1, 1, 1, 1], [4, 4, 2, 4]]


def test_divisors(chapter):
    wanted = []
    for d_model, heads in ((512, 8), (1024, 16)):
        d = Fraction(d_model, heads)
        squares = {"√d_k": d, "d_k": d**2, "√d_model": d_model, "heads": heads**2}
        wanted += [[d_model, heads, d, name, d / square] for name, square in squares.items()]
    assert chapter.names("mistake-divisor") == ["base"] * 4 + ["big"] * 4
    sizes = chapter.table("mistake-divisor")
    found = [[row["divisor"], Fraction(row["variance"])] for row in sizes]
    assert found == [row[3:] for row in wanted]
    assert found[3] == ["heads", 1]  # the accident of the base model
    shown = [[row[name].replace(",", "") for name in ("d_model", "heads", "d_k")] for row in sizes]
    assert shown == [[str(one) for one in row[:3]] for row in wanted]
    assert chapter.values("mistake-divisor")[:2] == ["1", "1/4"]


def test_terms(chapter):
    lines = chapter.output("mistake-terms").splitlines()
    assert lines[0] == "i = 1 … d_k: 4"  # 1·4 + 0·4 + 2·0
    assert lines[1] == "i = 0 … d_k: 4 terms"
    assert lines[2].startswith("IndexError")
    assert moments(independent(free(COIN, 4), free(COIN, 4)))[1] == 3 + 1


def test_claimed_split_is_wrong(chapter):
    assert chapter.column("mistake-split", "μ = 0, σ² = 1") == [1, 1, 1, 1]
    twos = chapter.column("mistake-split", "μ = 1, σ² = 1")
    # The product of two numbers that are 0 or 2 is 0, 0, 0 or 4.
    truth = Fraction(16, 4) - Fraction(4, 4) ** 2
    assert twos[:2] == [truth, truth] == [3, 3]
    assert truth not in twos[2:]
    assert twos[2:] == [0, 1]
    assert chapter.values("mistake-split") == ["3", "0", "1"]


def test_t5(chapter):
    exact, simulated = chapter.table("t5")
    assert list(exact.values()) == ["exact, dₖ = 64", "1/64", "1", "1"]
    (interval,) = parse_plus_minus(simulated["Var(q·k)"])
    assert agrees_within_error(interval, 1)
    assert interval[1] < 0.1
    assert 64 * Fraction(512, 512 * 64) * Fraction(512, 512) == 1

    # torch's own optimisers take the first step.
    W = np.cos(np.arange(12.0)).reshape(3, 4)
    gradient = torch.tensor(np.arange(12) % 5 - 1.5).reshape(3, 4)
    assert chapter.names("t5-steps") == ["Adam", "Adafactor"]
    for name, divisor in (("W", 1), ("W / √64", 8)):
        adam, adafactor = chapter.column("t5-steps", name)
        start = torch.tensor(W / divisor)
        leaf = torch.nn.Parameter(start.clone())
        leaf.grad = torch.sign(gradient)
        torch.optim.Adam([leaf], lr=0.01, eps=1e-12).step()
        moved = (leaf.detach() - start).norm() / start.norm()
        assert adam == pytest.approx(moved.item(), abs=0.00005)
        # Adafactor, §8: the step is the rate times RMS(W), of root mean square 1 before that.
        assert adafactor == 0.01
        leaf = torch.nn.Parameter(start.clone())
        leaf.grad = torch.sign(gradient)
        torch.optim.Adafactor([leaf], lr=0.01, eps=(1e-12, 1e-12)).step()
        moved = (leaf.detach() - start).norm() / start.norm()
        assert moved.item() == pytest.approx(0.01, rel=0.01)


def test_exercises(chapter):
    sums = Counter(map(sum, itertools.product((-1, 1), repeat=3)))
    wanted = [[value, Fraction(count, 8)] for value, count in sorted(sums.items())]
    assert fractions(chapter, "exercise-three") == wanted
    assert chapter.output("exercise-three") == "expectation: 0, variance: 3"
    assert Fraction(9 + 3 + 3 + 9, 8) == 3

    assert chapter.grid("exercise-divisor") == [[25 * 9 * 4, 5 * 3 * 2]]

    bits = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    mean, variance = moments(independent(free(bits, 3), free(bits, 3)))
    within = within_rows(free(bits, 3), free(bits, 3))
    assert fractions(chapter, "exercise-switches") == [[mean, variance, within]]
    assert within / variance == Fraction(2, 3)

    copies = [((x,) * 6, p) for x, p in COIN.items()]
    pairs = [((x, x, y, y, z, z), p) for (x, y, z), p in free(COIN, 3)]
    cases = ((copies, copies), (free(COIN, 6), copies), (pairs, pairs))
    known = [36, 6, 12]
    assert [moments(independent(q, k))[1] for q, k in cases] == known
    assert chapter.column("exercise-copies", "variance") == known

    wanted = [[n, Fraction(64, n)] for n in (16, 64, 256)]
    assert fractions(chapter, "exercise-bug-run") == wanted

    assert chapter.column("exercise-unit", "dₖ") == [4, 64]
    for interval in intervals(chapter, "exercise-unit", "dₖ · Var(q·k)"):
        assert agrees_within_error(interval, 1)
        assert interval[1] < 0.05

    # q = (a, a + b, c) and k = (d, e, 2d + f) for six coins.
    coins = list(itertools.product((-1, 1), repeat=6))
    scores = [a * d + (a + b) * e + c * (2 * d + f) for a, b, c, d, e, f in coins]
    assert sum(scores) == 0
    variance = Fraction(sum(s * s for s in scores), len(coins))
    assert fractions(chapter, "exercise-trace") == [[variance, variance]]


@pytest.mark.parametrize(("power", "raised"), [(1, ""), (2, "²"), (3, "³"), (4, "⁴")])
def test_powers_as_text(power, raised):
    assert scaling.polynomial_text({("μ",) * power: 5}) == f"5 μ{raised}"


def test_two_samples_are_enough():
    """-1 and 3: mean 1, s = 2, and the variance is certain, for m₄ = s⁴."""
    mean, error = scaling.mean_interval(np.array([-1.0, 3.0]))
    assert (mean, round(error, 12)) == (1, round(1.96 * 2 / math.sqrt(2), 12))
    assert scaling.variance_interval(np.array([-1.0, 3.0])) == (4, 0)


ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-three": [0, 3, math.sqrt(3), 9],
    "exercise-divisor": [30, 900, 5, 150],
    "exercise-switches": [3 / 4, 9 / 16, 3 / 16, 3 / 4, 3 / 8, 3 / 16],
    "exercise-copies": [36, 6, 6, 36, 12, 6],
    "exercise-bug": [1 / 4, 4, 1 / 2],
}
test_what_exercises_ask = make_test_of_asked(ASKED)


def test_scores_of_a_trained_head(chapter):
    """Dot products by complex numbers: their spread in a row, and the largest weights."""
    n = 16

    def multiply(layer, head):
        q, k = (torch.from_numpy(one).reshape(-1, 32, 2)[:n] for one in load_vectors(layer, head))
        frequencies = 1e5 ** (-torch.arange(32).double() / 32)
        angles = torch.outer(torch.arange(n).double(), frequencies)
        turn = torch.polar(torch.ones_like(angles), angles)
        turned_q, turned_k = (torch.view_as_complex(one) * turn for one in (q, k))
        return (turned_q @ turned_k.conj().T).real

    def spread_of(products):
        rows = (statistics.pstdev(products[i, : i + 1].tolist()) for i in range(1, n))
        return statistics.mean(rows)

    products = multiply(11, 1)
    places = [(11, 1), (13, 8), (16, 0), (17, 4), (18, 6)]
    spread, *others = spreads = [spread_of(multiply(*place)) for place in places]
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
    largest = [
        statistics.mean(
            (products / divisor)
            .masked_fill(hidden, -torch.inf)
            .softmax(dim=-1)
            .amax(dim=-1)[1:]
            .tolist()
        )
        for divisor in (1, 8)
    ]
    said = chapter.values("real-head")
    range_of_heads = [f"{min(spreads):.0f}", f"{max(spreads):.0f}"]
    assert said == [f"{spread:.0f}", *range_of_heads, *(f"{one:.2f}" for one in largest)]
    assert min(others) < spread < max(others)
