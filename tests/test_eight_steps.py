"""The eight steps: the published numbers, by hand, in fractions and with mpmath."""

import itertools
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_docs import eight_steps
from tests.conftest import each_language
from tests.exact import (
    KEYS,
    QUERIES,
    SCORES,
    VALUES,
    W_KEY,
    W_QUERY,
    W_VALUE,
    X,
    attention_weights,
    printed,
    printed_e,
    product,
    transpose,
)

# Typed from Karim's article (notes 000, 002 and 004).
WEIGHTS = [
    [6.3379e-02, 4.6831e-01, 4.6831e-01],
    [6.0337e-06, 9.8201e-01, 1.7986e-02],
    [2.9539e-04, 8.8054e-01, 1.1917e-01],
]
OUTPUTS = [[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]]
ROUNDED_WEIGHTS = [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.9, 0.1]]
ROUNDED_WEIGHTED = [
    [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    [[1, 4, 0], [2, 8, 0], [1.8, 7.2, 0]],
    [[1, 3, 1.5], [0, 0, 0], [0.2, 0.6, 0.3]],
]
ROUNDED_OUTPUTS = [[2.0, 7.0, 1.5], [2.0, 8.0, 0.0], [2.0, 7.8, 0.3]]
# Typed: the same example divided by the square root of 3.
SCALED_WEIGHTS_1 = [0.1361, 0.4319, 0.4319]
SCALED_OUTPUT_1 = [1.8639, 6.3194, 1.7042]


def exact_weights(divisor=1):
    return attention_weights(QUERIES, KEYS, divisor)


def exact_weighted():
    """Output, key, component."""
    return [
        [[a * v for v in value] for a, value in zip(row, VALUES, strict=True)]
        for row in exact_weights()
    ]


# The sources agree with each other before the site is compared with them.


def test_seed_figures_are_the_exact_ones():
    assert product(X, W_KEY) == KEYS
    assert product(X, W_QUERY) == QUERIES
    assert product(X, W_VALUE) == VALUES
    assert product(QUERIES, transpose(KEYS)) == SCORES
    printed_e(WEIGHTS, exact_weights(), 4)
    printed(np.array(OUTPUTS), product(exact_weights(), VALUES), 4)
    tenths = [[Fraction(round(10 * one), 10) for one in row] for row in ROUNDED_WEIGHTS]
    assert product(tenths, VALUES) == [[Fraction(str(x)) for x in row] for row in ROUNDED_OUTPUTS]


def test_the_example_is_karims():
    for name, wanted in {
        "INPUTS": X,
        "W_KEY": W_KEY,
        "W_QUERY": W_QUERY,
        "W_VALUE": W_VALUE,
    }.items():
        got = getattr(eight_steps, name)
        assert got.tolist() == wanted
        assert got.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            got[0, 0] = 5


# What the package adds for this chapter.


@given(seed=st.integers(0, 10**6), batch=st.sampled_from([(), (2,), (5, 2)]))
def test_weighted_values_agrees_with_einsum(seed, batch):
    random = np.random.default_rng(seed)
    n_q, n_k, d_v = random.permutation([3, 4, 7])
    weights = random.normal(size=(*batch, n_q, n_k))
    value = random.normal(size=(*batch, n_k, d_v))
    wanted = torch.einsum("...ij,...jc->...ijc", torch.tensor(weights), torch.tensor(value))
    before = weights.copy(), value.copy()
    for kind in (np.asarray, torch.tensor):
        got = eight_steps.weighted_values(kind(weights), kind(value))
        assert isinstance(got, type(kind(weights)))
        np.testing.assert_array_equal(np.asarray(got), wanted.numpy())
    np.testing.assert_array_equal(weights, before[0])
    np.testing.assert_array_equal(value, before[1])


@pytest.mark.parametrize(
    ("weights", "value", "error", "message"),
    [
        (
            np.ones((2, 3)),
            np.ones((4, 5)),
            ValueError,
            r"number of keys, got \(2, 3\) and \(4, 5\)",
        ),
        (np.ones(3), np.ones((3, 5)), ValueError, r"weights must have at least 2 axes.*\(3,\)"),
        (np.ones((2, 0)), np.ones((0, 5)), ValueError, r"must not be empty, got shape \(2, 0\)"),
        (np.ones((2, 3)), np.ones((3, 5), int), TypeError, "value must hold real floats, got int"),
        (
            np.ones((2, 4, 3)),
            np.ones((5, 3, 7)),
            ValueError,
            r"weights and value must broadcast together, got \(2,\) and \(5,\)",
        ),
    ],
)
def test_weighted_values_says_what_is_wrong(weights, value, error, message):
    with pytest.raises(error, match=message):
        eight_steps.weighted_values(weights, value)


@given(
    counts=st.lists(st.integers(0, 997), min_size=2, max_size=4).filter(any),
    digits=st.sampled_from([0, 1]),
)
def test_round_weights_is_nearest(counts, digits):
    exact = [Fraction(count, sum(counts)) for count in counts]
    weights = np.array([float(one) for one in exact])
    rounded = eight_steps.round_weights(weights, digits)
    unit = 10**digits
    parts = [Fraction(round(float(one) * unit), unit) for one in rounded]
    np.testing.assert_array_equal(rounded, [float(one) for one in parts])
    assert sum(parts) == 1
    rows = itertools.product(range(unit + 1), repeat=len(counts))
    distances = [
        sum(abs(Fraction(a, unit) - b) for a, b in zip(row, exact, strict=True))
        for row in rows
        if sum(row) == unit
    ]
    assert sum(abs(a - b) for a, b in zip(parts, exact, strict=True)) == min(distances)


def test_round_weights_keeps_its_input():
    weights = np.array(WEIGHTS[0])
    weights /= weights.sum()
    before = weights.copy()
    eight_steps.round_weights(weights)
    np.testing.assert_array_equal(weights, before)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.75], r"each row must sum to 1.*sums of 1\.25"),
        ([-0.25, 1.25], r"at least 0.*smallest weight of -0\.25"),
    ],
)
def test_round_weights_says_what_is_wrong(weights, message):
    with pytest.raises(ValueError, match=message):
        eight_steps.round_weights(np.array(weights))


# The published numbers.


@pytest.mark.site
@each_language
def test_inputs_and_parameters(page, lang):
    chapter = page(lang, "eight-steps")
    assert chapter.array("inputs").tolist() == X
    for number, wanted in enumerate((W_KEY, W_QUERY, W_VALUE)):
        assert chapter.array("parameters", number).tolist() == wanted


@pytest.mark.site
@each_language
def test_projections(page, lang):
    chapter = page(lang, "eight-steps")
    lines = re.findall(r"([kqv])1\[(\d)\] = (.*) = (\d+)", chapter.output("by-hand"))
    assert len(lines) == 9
    matrices = {"k": W_KEY, "q": W_QUERY, "v": W_VALUE}
    for name, component, products, result in lines:
        column = [row[int(component) - 1] for row in matrices[name]]
        assert products == " + ".join(f"{a}·{b}" for a, b in zip(X[0], column, strict=True))
        assert int(result) == sum(a * b for a, b in zip(X[0], column, strict=True))
    for number, wanted in enumerate(KEYS):
        assert chapter.array("key-by-key", number).tolist() == wanted
    assert chapter.array("keys").tolist() == KEYS
    assert chapter.array("queries").tolist() == QUERIES
    assert chapter.array("values").tolist() == VALUES


@pytest.mark.site
@each_language
def test_values_in_the_text(page, lang):
    """Those of formulas too: a row of the product as a sum of weighted rows of W_K."""
    chapter = page(lang, "eight-steps")
    weighted_rows = [str(one) for pair in zip(X[0], W_KEY, strict=True) for one in pair]
    seconds = [str(one[0][1]) for one in (KEYS, QUERIES, VALUES)]
    assert chapter.values("step-3") == [*weighted_rows, str(KEYS[0]), *seconds]
    assert chapter.values("step-5") == [f"{WEIGHTS[0][0]:.4f}", "1"]


@pytest.mark.site
@each_language
def test_scores(page, lang):
    chapter = page(lang, "eight-steps")
    by_hand = chapter.output("scores-by-hand") + "\n" + chapter.output("repeat")
    lines = re.findall(r"q(\d)·k(\d) = (.*) = (\d+)", by_hand)
    assert len(lines) == 9
    for i, j, products, result in lines:
        query, key = QUERIES[int(i) - 1], KEYS[int(j) - 1]
        assert products == " + ".join(f"{a}·{b}" for a, b in zip(query, key, strict=True))
        assert int(result) == SCORES[int(i) - 1][int(j) - 1]
    assert chapter.array("scores-1").tolist() == SCORES[0]
    assert chapter.array("scores").tolist() == SCORES


@pytest.mark.site
@each_language
def test_weights(page, lang):
    chapter = page(lang, "eight-steps")
    assert chapter.array("weights").tolist() == WEIGHTS
    assert chapter.array("weights-1").tolist() == WEIGHTS[0]
    e2, e4 = mpmath.e**2, mpmath.e**4
    printed(chapter.array("softmax-by-hand"), [e2, e4, e4], 4)
    total = float(chapter.output("softmax-by-hand").splitlines()[1])
    printed(np.array(total), e2 + 2 * e4, 4)
    printed(chapter.array("softmax-by-hand", 1), exact_weights()[0], 4)
    assert chapter.output("weights-1").splitlines()[-2:] == ["True", "True"]
    for i in (1, 2):
        fifth = re.findall(r"^ *5 +\[(.*)\]", chapter.output("repeat"), re.M)[i - 1]
        assert [float(one) for one in fifth.split(",")] == WEIGHTS[i]


@pytest.mark.site
@each_language
def test_weighted_values(page, lang):
    chapter = page(lang, "eight-steps")
    exact = exact_weighted()
    printed(chapter.array("weighted"), exact, 4)
    printed(chapter.array("weighted-1-matrix"), exact[0], 4)
    for j, line in enumerate(chapter.output("weighted-1").splitlines()):
        weight, value, result = re.fullmatch(r"(.*) · \[(.*)\] = \[(.*)\]", line).groups()
        printed(np.array(float(weight)), exact_weights()[0][j], 4)
        assert [int(one) for one in value.split(",")] == VALUES[j]
        printed(np.array([float(one) for one in result.split(",")]), exact[0][j], 4)
    sixth = re.findall(r"^ *6 +\[(.*)\]", chapter.output("repeat"), re.M)
    rows = np.array([[float(one) for one in row.split(",")] for row in sixth])
    printed(rows.reshape(2, 3, 3), exact[1:], 4)


@pytest.mark.site
@each_language
def test_outputs(page, lang):
    chapter = page(lang, "eight-steps")
    assert chapter.array("outputs").tolist() == OUTPUTS
    assert chapter.output("outputs").splitlines()[-2:] == ["True", "True"]
    assert chapter.array("output-1").tolist() == OUTPUTS[0]
    results = re.findall(r"= (\S+)$", chapter.output("output-by-hand"), re.M)
    assert [float(one) for one in results] == OUTPUTS[0]
    seventh = re.findall(r"^ *7 +\[(.*)\]", chapter.output("repeat"), re.M)
    assert [[float(one) for one in row.split(",")] for row in seventh] == OUTPUTS[1:]
    low, high = np.min(VALUES, axis=0), np.max(VALUES, axis=0)
    assert ((low <= OUTPUTS[0]) & (OUTPUTS[0] <= high)).all()
    assert chapter.output("output-1").splitlines()[-1] == "True"


@pytest.mark.site
@each_language
def test_rounded(page, lang):
    chapter = page(lang, "eight-steps")
    assert chapter.array("rounded").tolist() == ROUNDED_WEIGHTS
    assert chapter.array("rounded", 1).tolist() == ROUNDED_OUTPUTS
    assert chapter.array("rounded-weighted").tolist() == ROUNDED_WEIGHTED


@pytest.mark.site
@each_language
def test_scaled(page, lang):
    chapter = page(lang, "eight-steps")
    root = mpmath.sqrt(3)
    weights = exact_weights(root)
    printed(chapter.array("scaled", 0), [[s / root for s in row] for row in SCORES], 4)
    printed(chapter.array("scaled", 1), weights, 4)
    printed(chapter.array("scaled", 2), product(weights, VALUES), 4)
    assert chapter.array("scaled", 1)[0].tolist() == SCALED_WEIGHTS_1
    assert chapter.array("scaled", 2)[0].tolist() == SCALED_OUTPUT_1
    tensors = [torch.tensor(m, dtype=torch.float64) for m in (QUERIES, KEYS, VALUES)]
    wanted = torch.nn.functional.scaled_dot_product_attention(*tensors)
    printed(chapter.array("scaled", 2), wanted.tolist(), 4)


@pytest.mark.site
@each_language
def test_side_by_side(page, lang):
    values = page(lang, "eight-steps").values("side-by-side")
    table = [re.findall(r"[\d.]+", one) for one in values[:9]]
    exact, rounded, scaled = ([[float(x) for x in one] for one in table[k::3]] for k in range(3))
    assert exact == OUTPUTS
    assert rounded == ROUNDED_OUTPUTS
    assert scaled[0] == SCALED_OUTPUT_1
    assert values[9:] == ["0.0634", "0.3169"]


@pytest.mark.site
@each_language
def test_rounding_error(page, lang):
    chapter = page(lang, "eight-steps")
    exact = product(exact_weights(), VALUES)
    errors = [
        max(abs(mpmath.mpf(str(a)) - b) for a, b in zip(*rows, strict=True))
        for rows in zip(ROUNDED_OUTPUTS, exact, strict=True)
    ]
    printed(chapter.array("rounding-error"), errors, 4)
    assert max(errors) == errors[0]


@pytest.mark.site
@each_language
def test_claimed_softmax_is_wrong(page, lang):
    chapter = page(lang, "eight-steps")
    errors = [abs(a - b) for a, b in zip([0, 0.5, 0.5], exact_weights()[0], strict=True)]
    assert max(errors) > 0.06
    printed(np.array(chapter.numbers("wrong-softmax")), [max(errors)], 4)


@pytest.mark.site
@each_language
def test_rounded_alone(page, lang):
    chapter = page(lang, "eight-steps")
    tenths = [Fraction(int(mpmath.nint(10 * one)), 10) for one in exact_weights()[0]]
    assert tenths == [Fraction(1, 10), Fraction(1, 2), Fraction(1, 2)]
    assert chapter.numbers("rounded-alone") == [0.1, 0.5, 0.5, 1.1, 2.1, 7.2, 1.8]
    assert product([tenths], VALUES) == [[Fraction(21, 10), Fraction(36, 5), Fraction(9, 5)]]
    assert chapter.output("rounded-alone").splitlines()[-1] == "False"
    assert chapter.values("mistake-rounding")[1:] == ["0.1", "1.1", "2.1", "2", "[0.0, 0.5, 0.5]"]


@pytest.mark.site
@each_language
def test_forgetting_the_scale(page, lang):
    chapter = page(lang, "eight-steps")
    plain, scaled = exact_weights(), exact_weights(mpmath.sqrt(3))
    printed(chapter.array("unscaled", 0), [max(row) for row in plain], 4)
    printed(chapter.array("unscaled", 1), [max(row) for row in scaled], 4)
    pairs = zip(product(plain, VALUES), product(scaled, VALUES), strict=True)
    errors = [max(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in pairs]
    assert min(errors) > 0.2
    printed(chapter.array("unscaled", 2), errors, 4)


@pytest.mark.site
@each_language
def test_itself(page, lang):
    chapter = page(lang, "eight-steps")
    weights = exact_weights()
    assert [row.index(max(row)) for row in weights] == [1, 1, 1]  # all attend most to input 2
    assert min(weights[0]) == weights[0][0]
    lines = chapter.output("itself").splitlines()
    assert lines[-1] == "1 of 3"
    for i, line in enumerate(lines[:-1]):
        number, own, *row = (float(one) for one in re.findall(r"\d+(?:\.\d+)?", line))
        assert number == i + 1
        printed(np.array(own), weights[i][i], 4)
        printed(np.array(row), weights[i], 4)


@pytest.mark.site
@each_language
def test_exercises(page, lang):
    chapter = page(lang, "eight-steps")
    third = Fraction(1, 3)
    printed(chapter.array("exercise-1", 0), [[third] * 3], 4)
    printed(chapter.array("exercise-1", 1), product([[third] * 3], VALUES), 4)
    assert chapter.output("exercise-1").splitlines()[-1] == "True"
    assert chapter.output("exercise-2").splitlines()[0] == "(3, 2)"
    assert chapter.array("exercise-2").tolist() == [row[:2] for row in OUTPUTS]
    assert chapter.array("exercise-3").tolist() == product(X, transpose(X))
