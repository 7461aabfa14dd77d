"""The eight steps: the published numbers, by hand, in fractions and with mpmath."""

import contextlib
import io
import itertools
import re
import runpy
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from attention_docs import eight_steps
from attention_docs.eight_steps import column_attention
from tests.exact import (
    KEYS,
    QUERIES,
    SCORES,
    VALUES,
    W_KEY,
    W_QUERY,
    W_VALUE,
    X,
    assert_printed,
    assert_printed_e,
    attention_weights,
    dot,
    make_test_of_asked,
    product,
    softmax,
    transpose,
)
from tests.page import parse_number, vector_of

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


REPEATED = "steps 6 and 7: weighted value, sum"


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
    assert_printed_e(WEIGHTS, exact_weights(), 4)
    assert_printed(np.array(OUTPUTS), product(exact_weights(), VALUES), 4)
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
    for kind in (np.asarray, torch.tensor):
        got = eight_steps.weighted_values(kind(weights), kind(value))
        assert isinstance(got, type(kind(weights)))
        np.testing.assert_array_equal(np.asarray(got), wanted.numpy())


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


def test_round_weights_of_several_rows():
    """Each row lacks a number of units of its own: none, 1 and 2 of 10."""
    weights = np.array([[1.0, 0.0, 0.0], [0.34, 0.33, 0.33], [0.28, 0.36, 0.36]])
    wanted = [[1.0, 0.0, 0.0], [0.4, 0.3, 0.3], [0.3, 0.4, 0.3]]
    np.testing.assert_array_equal(eight_steps.round_weights(weights), wanted)


def test_round_weights_keeps_its_input():
    weights = np.array(WEIGHTS[0])
    weights /= weights.sum()
    before = weights.copy()
    eight_steps.round_weights(weights)
    np.testing.assert_array_equal(weights, before)


# The search: titles as words, contents as minutes and sugar.
CARDS = [[1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]]
WORDS = ["dog", "bites", "man"]
CONTENTS = [[50, 0], [45, 1], [90, 12]]
ONION_SOUP, ONION_CAKE = [1, 0, 1, 0], [1, 0, 0, 1]


@given(scores=st.lists(st.integers(-5, 5), min_size=1, max_size=6))
def test_search_limit(scores):
    """With a gap of 1 and c = 40 the limit is reached up to e to the -40, whatever the scores."""
    best = [score == max(scores) for score in scores]
    limit = [Fraction(one, sum(best)) for one in best]
    near = torch.softmax(40 * torch.tensor(scores, dtype=torch.float64), dim=0)
    np.testing.assert_allclose(near, [float(one) for one in limit], rtol=0, atol=1e-15)
    far = attention_weights([[40]], [[score] for score in scores])[0]
    assert max(abs(a - b) for a, b in zip(far, limit, strict=True)) < 6 * mpmath.exp(-40)


@given(seed=st.integers(0, 10**6))
def test_rounding_bound(seed):
    """Any two rows of weights with the same sum; and a pair for which the bound is reached."""
    random = np.random.default_rng(seed)
    n, d_v = random.integers(2, 7, size=2)
    one, other = random.dirichlet(np.ones(n), 2)
    values = random.normal(size=(n, d_v))
    moved = np.abs((one - other) @ values)
    spread = values.max(axis=0) - values.min(axis=0)
    assert (moved <= np.abs(one - other).sum() / 2 * spread + 1e-12).all()
    ends = np.where(one > other, 2.0, -1.0)
    reached = abs((one - other) @ ends)
    assert reached == pytest.approx(np.abs(one - other).sum() / 2 * 3)


@given(seed=st.integers(0, 10**6))
def test_whole_layer_is_the_loop(seed):
    """softmax(QKᵀ)V of torch against the definition, number by number."""
    random = np.random.default_rng(seed)
    n, d, d_k, d_v = (int(one) for one in random.permutation([2, 3, 4, 5]))
    x, w_q, w_k, w_v = (random.normal(size=s) for s in ((n, d), (d, d_k), (d, d_k), (d, d_v)))
    queries, keys, values = (product(x.tolist(), w.tolist()) for w in (w_q, w_k, w_v))
    tensors = [torch.tensor(np.array(one, dtype=float)) for one in (queries, keys, values)]
    whole = torch.softmax(tensors[0] @ tensors[1].T, dim=-1) @ tensors[2]
    loop = product(attention_weights(queries, keys), values)
    np.testing.assert_allclose(whole, np.array(loop, dtype=float), rtol=1e-9, atol=1e-12)


# The published numbers.


def cells(chapter, block):
    """The rows of a table, without its head."""
    return [list(row.values()) for row in chapter.table(block)]


def numbers(chapter, block):
    """The same without the names of the rows, as numbers; an empty cell is left out."""
    return [[parse_number(cell) for cell in row[1:] if cell] for row in cells(chapter, block)]


def vectors(chapter, block, column):
    """The vectors in a column of a table, without empty cells."""
    return [vector_of(row[column]) for row in chapter.table(block) if row[column]]


def test_search(chapter):
    assert chapter.output("no-such-card") == "None"
    assert ONION_CAKE not in CARDS
    scores = [dot(ONION_CAKE, card) for card in CARDS]
    *cards, answered = numbers(chapter, "search")
    assert [row[0] for row in cards] == scores == [1, 0, 1]
    weights = softmax(scores)
    assert_printed([row[1] for row in cards], weights, 4)
    assert [row[2:] for row in cards] == CONTENTS
    (answer,) = product([weights], CONTENTS)
    assert_printed(answered, answer, 1)
    assert chapter.values("search")[:3] == ["0.4223", "66", "5.2"]
    assert_printed([0.4223, 66, 5.2], [weights[0], round(answer[0]), round(answer[1], 1)], 4)


def mix_minutes(soup):
    """The minutes of a mixed answer, with this number in the place for soup."""
    scores = [dot([1, 0, soup, 1], card) for card in CARDS]
    return mpmath.fsum(a * content[0] for a, content in zip(softmax(scores), CONTENTS, strict=True))


def test_why_soft(chapter):
    """A choice is flat but for one jump, from carrot cake to onion soup; a mixture has a slope."""
    described = chapter.figures["out-slope"].replace("−", "-")
    # For each line: the first minutes, at -2, the last, at 2, the least and the most, and where.
    lines = re.findall(r"(?:choosing the best card|mixing all cards): (.*?)\)\.", described)
    choosing, mixing = ([float(x) for x in re.findall(r"-?[\d.]+", line)] for line in lines)
    assert choosing == [90, -2, 50, 2, 50, 0, 90, -2]
    ends = [mix_minutes(-2), mix_minutes(2)]
    assert_printed(mixing[::2], [*ends, min(ends), max(ends)], 1)
    assert mixing[1::2] == [-2, 2, 2, -2]
    # Σ a_j (v_j − o) over the two soups, whose scores grow by 1 for each unit
    weights = softmax([1, 0, 1])
    answer = mpmath.fsum(a * v[0] for a, v in zip(weights, CONTENTS, strict=True))
    slope = weights[0] * (50 - answer) + weights[1] * (45 - answer)
    assert abs(mpmath.diff(mix_minutes, 0) - slope) < 1e-9
    scarce = f"{1 / (1 + 2 * float(mpmath.exp(3))):.4f}"  # of the scores 3, 0 and 3
    assert chapter.values("soft") == [scarce, f"{float(-slope):.0f}"] == ["0.0243", "10"]


def test_sharper(chapter):
    counts = [dot(ONION_SOUP, card) for card in CARDS]
    assert counts == [2, 1, 0]
    weights = [softmax([c * score for score in counts]) for c in (1, 4, 16)]
    assert_printed(chapter.matrix("sharper", "weights"), weights, 4)
    assert_printed(numbers(chapter, "sharper-answers"), product(weights, CONTENTS), 2)
    assert_printed(numbers(chapter, "tied"), [softmax([16, 0, 16])], 4)


def test_scores_as_weights(chapter):
    """1·50 + 1·90 minutes and 1·12 spoons: beyond every card, so no average."""
    assert numbers(chapter, "scores-as-weights") == [[50 + 90, 0 + 12]]
    assert chapter.values("search")[-1] == "140"
    assert max(minutes for minutes, _ in CONTENTS) < 140


def test_inputs_and_parameters(chapter):
    assert chapter.matrix("inputs", "X") == X
    for i, word in enumerate(WORDS, start=1):
        assert f"input {i} ({word})" in chapter.figures["out-inputs"]
    for name, wanted in (("W_K", W_KEY), ("W_Q", W_QUERY), ("W_V", W_VALUE)):
        assert chapter.matrix("parameters", name) == wanted


PRODUCTS = {  # the figures of the steps: their matrices, the notes' and by hand
    "words": {"": [[1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]]},
    "keys": {"inputs": X, "W_K": W_KEY, "keys": KEYS},
    "queries": {"inputs": X, "W_Q": W_QUERY, "queries": QUERIES},
    "values": {"inputs": X, "W_V": W_VALUE, "values": VALUES},
    "scores-1": {"Kᵀ": transpose(KEYS), "scores": SCORES[:1]},
    "output-product": {"values": VALUES},
    "whole": dict(
        zip(
            ("inputs", "queries", "keys", "values", "scores", "weights", "outputs"),
            (X, QUERIES, KEYS, VALUES, SCORES, exact_weights(), OUTPUTS),
            strict=True,
        )
    ),
}


@pytest.mark.parametrize("block", PRODUCTS)
def test_figures_of_products(chapter, block):
    for name, wanted in PRODUCTS[block].items():
        assert_printed(np.array(chapter.matrix(block, name)), wanted, 4)


def test_output_as_a_product(chapter):
    described = chapter.figure("output-product")
    row, output = re.findall(r"Vector [\w ]+: ([\d., ]+)\. ", described)
    assert_printed([float(one) for one in row.split(", ")], exact_weights()[0], 4)
    assert [float(one) for one in output.split(", ")] == OUTPUTS[0]


def test_projections(chapter):
    lines = re.findall(r"([kqv])1\[(\d)\] = (.*) = (\d+)", chapter.output("by-hand"))
    assert len(lines) == 9
    matrices = {"k": W_KEY, "q": W_QUERY, "v": W_VALUE}
    for name, component, products, result in lines:
        column = [row[int(component) - 1] for row in matrices[name]]
        assert products == " + ".join(f"{a}·{b}" for a, b in zip(X[0], column, strict=True))
        assert int(result) == sum(a * b for a, b in zip(X[0], column, strict=True))
    assert numbers(chapter, "key-by-key") == KEYS
    made = {"key": KEYS, "query": QUERIES, "value": VALUES, "scores": SCORES}
    for name, wanted in made.items():
        assert chapter.vectors("tensors", name) == wanted


def test_values_in_the_text(chapter):
    """Those of formulas too: a row of the product as a sum of weighted rows of W_K."""
    weighted_rows = [str(one) for pair in zip(X[0], W_KEY, strict=True) for one in pair]
    by_rows = [str([a + b for a, b in zip(W_KEY[0], W_KEY[2], strict=True)])]
    assert by_rows == [str(KEYS[0])]
    assert chapter.values("step-3")[:1] == by_rows
    assert chapter.values("projections") == [str(KEYS[0][1]), *weighted_rows, str(KEYS[0])]
    assert chapter.values("scores-product") == [str(SCORES[0][1])]
    for fold in ("step-5", "first-weight"):
        assert {*chapter.values(fold)[:]} == {f"{WEIGHTS[0][0]:.4f}"}
    second = [str(row[1]) for row in VALUES]
    assert chapter.values("step-6")[:4] == [str(OUTPUTS[0][1]), *second]
    assert chapter.values("step-7") == [str(OUTPUTS[0][1])]
    given = [str(row) for matrix in (W_KEY, W_QUERY, W_VALUE) for row in matrix]
    assert chapter.values("exercise-fourth")[:13] == [*given, str(QUERIES[0])]
    assert chapter.values("exercise-zero")[:3] == [str(row) for row in VALUES]
    assert chapter.values("exercise-own")[:3] == [str(row) for row in X]


def test_a_sentence_with_meanings(chapter):
    """By hand: two of three scores are 3 or none, so every weight has e³ and 1 in it alone."""
    assert chapter.matrix("components", "inputs") == [[1, 0, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]]
    e3 = mpmath.e**3
    noun = [1 / (e3 + 2), e3 / (e3 + 2), 1 / (e3 + 2)]  # dog and man: only bites is an action
    verb = [e3 / (2 * e3 + 1), 1 / (2 * e3 + 1), e3 / (2 * e3 + 1)]  # both nouns are living
    outputs = [[row[2], row[1]] for row in (noun, verb, noun)]  # man is human, bites painful
    assert_printed(chapter.grid("sentence-outputs"), outputs, 4)
    wanted = [verb[0], verb[2], noun[1], noun[1]]
    assert chapter.values("film") == [f"{float(one):.2f}" for one in wanted]
    assert chapter.values("result-positive") == [f"{float(verb[1]):.4f}"]
    # One vector for all three parts: bites shares 2 components with itself and none with others,
    # dog one with itself and one with man.
    e = mpmath.e
    alone = [e**2 / (e**2 + 2), e / (2 * e + 1), 1 / (2 * e + 1)]
    assert chapter.values("stepper")[-3:] == [f"{float(one):.2f}" for one in alone]
    w_k, w_q, w_v = (chapter.matrix("stepper", f"W_{one}") for one in "KQV")
    assert w_k == [[1, 0], [0, 0], [0, 1], [0, 0]]
    assert w_q == [[0, 3], [0, 0], [3, 0], [0, 0]]
    assert w_v == [[0, 0], [1, 0], [0, 0], [0, 1]]
    for role, vector in (("key", "0, 1"), ("query", "3, 0"), ("value", "0, 1")):
        assert f"Vector {role} 2: {vector}." in chapter.figure("stepper")
    assert chapter.matrix("film-3", "keys") == [[1, 0], [0, 1], [1, 0]]
    assert chapter.matrix("film-3", "queries") == [[0, 3], [3, 0], [0, 3]]
    assert chapter.matrix("film-3", "values") == [[0, 0], [0, 1], [1, 0]]
    assert chapter.matrix("film-4", "scores") == [[3, 0, 3]]
    verb_row = ", ".join(f"{float(one):.4f}" for one in verb)
    powers = ", ".join(f"{float(one):.4f}" for one in (e3, 1, e3))
    assert f"exponentials: {powers}. Divided by their sum, {float(2 * e3 + 1):.4f}." in (
        chapter.figure("film-5")
    )
    assert f"Vector weights: {verb_row}." in chapter.figure("film-5")
    layers = [[0, 0], [0, verb[1]], [verb[2], 0]]  # dog gives nothing, bites pain, man a human
    for block in ("film-6", "film-7"):
        assert_printed(chapter.matrix(block, "weighted values"), layers, 4)
    output = ", ".join(f"{float(one):.4f}" for one in outputs[1])
    assert f"Vector output 2: {output}." in chapter.figure("film-7")
    assert_printed(chapter.matrix("film-8", "weights"), [noun, verb, noun], 4)
    assert_printed(chapter.matrix("film-8", "outputs"), outputs, 4)


def test_scores(chapter):
    by_hand = ""
    for j, row in enumerate(cells(chapter, "scores-by-hand")):
        assert row[0] == f"key {j + 1} ({WORDS[j]})"
        by_hand += f"\nq1·k{j + 1} = {row[1]}"
    for row in cells(chapter, "repeat"):
        by_hand += "\n" + re.sub(r"query (\d), key (\d)", r"q\1·k\2 = ", row[0]) + row[1]
    lines = re.findall(r"q(\d)·k(\d) = (.*) = (\d+)", by_hand)
    assert len(lines) == 9
    for i, j, products, result in lines:
        query, key = QUERIES[int(i) - 1], KEYS[int(j) - 1]
        assert products == " + ".join(f"{a}·{b}" for a, b in zip(query, key, strict=True))
        assert int(result) == SCORES[int(i) - 1][int(j) - 1]


def test_weights(chapter):
    assert chapter.vectors("tensors", "weights") == WEIGHTS
    e2, e4 = mpmath.e**2, mpmath.e**4
    *keys, sums = numbers(chapter, "weights-1")
    assert [row[0] for row in keys] == SCORES[0]
    assert_printed([row[1] for row in keys], [e2, e4, e4], 4)
    assert_printed(sums, [e2 + 2 * e4, 1], 4)
    assert_printed([row[2] for row in keys], exact_weights()[0], 4)
    assert abs(exact_weights()[0][0] - 1 / (1 + 2 * e2)) < mpmath.mpf(10) ** -30
    fifth = [parse_number(row[2]) for row in cells(chapter, "repeat") if row[2]]
    assert fifth == WEIGHTS[1] + WEIGHTS[2]


def test_weighted_values(chapter):
    exact = exact_weighted()
    rows = numbers(chapter, "weighted")
    assert_printed(np.array(rows[:9]).reshape(3, 3, 3), exact, 4)
    assert rows[9:] == OUTPUTS
    names = [f"value {j} for output {i}" for i in (1, 2, 3) for j in (1, 2, 3)]
    assert [row[0] for row in cells(chapter, "weighted")][:9] == names
    assert_printed(numbers(chapter, "output-1")[:3], exact[0], 4)
    for j, line in enumerate(chapter.output("weighted-1").splitlines()[:3]):
        weight, value, result = re.fullmatch(r"(.*) · \[(.*)\] = \[(.*)\]", line).groups()
        assert_printed(np.array(float(weight)), exact_weights()[0][j], 4)
        assert [int(one) for one in value.split(",")] == VALUES[j]
        assert_printed(np.array([float(one) for one in result.split(",")]), exact[0][j], 4)
    steps = vectors(chapter, "repeat", REPEATED)
    assert_printed([steps[:3], steps[4:7]], exact[1:], 4)


def test_outputs(chapter):
    assert chapter.grid("outputs") == OUTPUTS
    named = [f"output {i} ({word})" for i, word in enumerate(WORDS, start=1)]
    assert chapter.names("outputs") == named
    assert numbers(chapter, "output-1")[3] == OUTPUTS[0]
    lines = re.findall(r"^o1\[(\d)\] = (.*) = (\S+)$", chapter.output("weighted-1"), re.M)
    assert [float(result) for _, _, result in lines] == OUTPUTS[0]
    for c, terms, _ in lines:
        pairs = [term.split("·") for term in terms.split(" + ")]
        assert_printed([float(a) for a, _ in pairs], exact_weights()[0], 4)
        assert [int(v) for _, v in pairs] == [row[int(c) - 1] for row in VALUES]
    assert vectors(chapter, "repeat", REPEATED)[3::4] == OUTPUTS[1:]


def test_rounded(chapter):
    assert chapter.vectors("rounded", "rounded weights") == ROUNDED_WEIGHTS
    assert chapter.vectors("rounded", "output") == ROUNDED_OUTPUTS
    by_key = np.array(numbers(chapter, "rounded-weighted")).reshape(3, 3, 3)
    assert by_key.tolist() == ROUNDED_WEIGHTED


def test_scaled(chapter):
    root = mpmath.sqrt(3)
    weights = exact_weights(root)
    scaled = [[s / root for s in row] for row in SCORES]
    assert_printed(chapter.vectors("scaled", "scaled scores"), scaled, 4)
    assert_printed(chapter.vectors("scaled", "weights"), weights, 4)
    outputs = chapter.vectors("scaled", "output")
    assert_printed(outputs, product(weights, VALUES), 4)
    assert chapter.vectors("scaled", "weights")[0] == SCALED_WEIGHTS_1
    assert outputs[0] == SCALED_OUTPUT_1
    tensors = [torch.tensor(m, dtype=torch.float64) for m in (QUERIES, KEYS, VALUES)]
    wanted = torch.nn.functional.scaled_dot_product_attention(*tensors)
    assert_printed(outputs, wanted.tolist(), 4)


def test_side_by_side(chapter):
    values = chapter.values("side-by-side")
    table = [re.findall(r"[\d.]+", one) for one in values[:9]]
    exact, rounded, scaled = ([[float(x) for x in one] for one in table[k::3]] for k in range(3))
    assert exact == OUTPUTS
    assert rounded == ROUNDED_OUTPUTS
    assert scaled[0] == SCALED_OUTPUT_1
    assert scaled == chapter.vectors("scaled", "output")
    weights = f"[{', '.join(f'{float(x):.4f}' for x in exact_weights()[0])}]"
    assert chapter.values("mistakes")[:4] == [str(ROUNDED_WEIGHTS[0]), weights, "3", "1"]
    assert chapter.values("mistake-scale") == [values[6], values[8]]


def test_rounding_error(chapter):
    exact = product(exact_weights(), VALUES)
    moved = [
        [abs(mpmath.mpf(str(a)) - b) for a, b in zip(*rows, strict=True)]
        for rows in zip(ROUNDED_OUTPUTS, exact, strict=True)
    ]
    lost = [
        sum(abs(mpmath.mpf(str(a)) - b) for a, b in zip(*rows, strict=True))
        for rows in zip(ROUNDED_WEIGHTS, exact_weights(), strict=True)
    ]
    spread = [max(column) - min(column) for column in transpose(VALUES)]
    bound = [[one / 2 * width for width in spread] for one in lost]
    assert_printed(vectors(chapter, "rounding-error", "change of each component"), moved, 4)
    assert_printed(vectors(chapter, "rounding-error", "bound"), bound, 4)
    assert abs(moved[0][0] - bound[0][0]) < mpmath.mpf(10) ** -15


def test_claimed_softmax_is_wrong(chapter):
    assert chapter.values("mistakes")[0] == "[0.0, 0.5, 0.5]"
    errors = [abs(a - b) for a, b in zip([0, 0.5, 0.5], exact_weights()[0], strict=True)]
    assert max(errors) > 0.06
    assert min(min(row) for row in exact_weights()) > 0


def test_rounded_alone(chapter):
    tenths = [Fraction(int(mpmath.nint(10 * one)), 10) for one in exact_weights()[0]]
    assert tenths == [Fraction(1, 10), Fraction(1, 2), Fraction(1, 2)]
    assert cells(chapter, "rounded-alone") == [["[0.1, 0.5, 0.5]", "1.1", "[2.1, 7.2, 1.8]", "✗"]]
    assert product([tenths], VALUES) == [[Fraction(21, 10), Fraction(36, 5), Fraction(9, 5)]]
    assert chapter.values("mistake-rounding") == ["1.1", "2.1"]
    assert max(row[0] for row in VALUES) < 2.1


def test_forgetting_the_scale(chapter):
    plain, scaled = exact_weights(), exact_weights(mpmath.sqrt(3))
    largest = [[max(row) for row in rows] for rows in (plain, scaled)]
    pairs = zip(product(plain, VALUES), product(scaled, VALUES), strict=True)
    errors = [max(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in pairs]
    assert min(errors) > 0.2
    assert_printed(numbers(chapter, "unscaled"), [*largest, errors], 4)


def test_itself(chapter):
    weights = exact_weights()
    assert [row.index(max(row)) for row in weights] == [1, 1, 1]  # all attend most to input 2
    assert min(weights[0]) == weights[0][0]
    assert_printed(vectors(chapter, "itself", "weights"), weights, 4)
    assert_printed(
        chapter.column("itself", "weight of itself"), [weights[i][i] for i in range(3)], 4
    )
    assert [row["the largest?"] for row in chapter.table("itself")] == ["✗", "✓", "✗"]


def test_any_length(chapter):
    assert cells(chapter, "any-length") == [
        [f"({n}, 4)", f"({n}, {n})", f"({n}, 3)", str(3 * 4 * 3)] for n in (1, 2, 4, 9)
    ]


def test_cost(chapter):
    """Parameters as torch has them; every product of numbers, counted matrix by matrix."""
    n, d = 100, 64
    shapes = [(n, d, d)] * 3 + [(n, d, n), (n, n, d)]  # (rows, inner, columns)
    attention_layer = torch.nn.MultiheadAttention(d, 1, bias=False, device="meta")
    convolution = torch.nn.Conv1d(d, d, 2 * n - 1, bias=False, device="meta")
    assert numbers(chapter, "cost") == [
        [attention_layer.in_proj_weight.numel(), sum(a * b * c for a, b, c in shapes)],
        [convolution.weight.numel(), n * (199 * d) * d],
    ]
    projections, pairs = (sum(a * b * c for a, b, c in part) for part in (shapes[:3], shapes[3:]))
    assert chapter.values("cost") == [f"{projections / (projections + pairs):.0%}"]


def test_exercises(chapter):
    fourth = [[1, 0, 0, 1]]
    made = [product(fourth, one)[0] for one in (W_KEY, W_QUERY, W_VALUE)]
    assert made == [[1, 1, 1], [1, 1, 2], [1, 3, 0]]  # rows 1 and 4, added by hand
    (row,) = cells(chapter, "exercise-fourth")
    assert row == [*map(str, made), str(dot(QUERIES[0], made[0]))]
    third = Fraction(1, 3)
    assert_printed(vectors(chapter, "exercise-zero", "weights"), [[third] * 3], 4)
    assert_printed(vectors(chapter, "exercise-zero", "output"), product([[third] * 3], VALUES), 4)
    quarter, half = mpmath.mpf(1) / 4, mpmath.mpf(1) / 2
    logs = [mpmath.log(quarter), mpmath.log(half), mpmath.log(quarter)]
    scores = vectors(chapter, "exercise-logarithm", "scores")
    assert_printed(scores, [logs, [0, mpmath.log(2), 0], [5, 5 + mpmath.log(2), 5]], 4)
    assert vectors(chapter, "exercise-logarithm", "weights") == [[0.25, 0.5, 0.25]] * 3
    assert_printed(softmax([0, mpmath.log(2), 0]), [quarter, half, quarter], 12)
    assert chapter.grid("exercise-own") == product(X, transpose(X))
    own = product(X, transpose(X))
    described = [own[0][0], own[0][2], own[2][2], own[2][1]]
    assert chapter.values("exercise-own")[3:7] == [str(one) for one in described]


def test_swapped_product(chapter):
    swapped = product(VALUES, exact_weights())
    assert_printed(vectors(chapter, "exercise-bug", "wrong output"), swapped, 4)
    marks = [row["among the values?"] for row in chapter.table("exercise-bug")]
    assert marks == ["✗", "✗", "✗"]  # each first component is below 1, the smallest of the values
    assert all(row[0] < 1 for row in swapped)


def test_another_order(chapter):
    order = [0, 2, 1]
    queries, keys, values = ([matrix[i] for i in order] for matrix in (QUERIES, KEYS, VALUES))
    moved = product(attention_weights(queries, keys), values)
    got = chapter.grid("exercise-order")
    assert_printed(got, moved, 4)
    assert got == [OUTPUTS[i] for i in order]
    assert chapter.names("exercise-order") == [f"input {i + 1}" for i in order]


ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-fourth": [[1, 1, 1], [1, 1, 2], [1, 1, 2], [1, 1, 1], [1, 3, 0], 3, 4],
    "exercise-zero": [[1 / 3] * 3, [0] * 3, [5 / 3, 16 / 3, 2], [5, 16, 6]],
    "exercise-logarithm": [
        [0, mpmath.log(2), 0],
        [0, 1 / 4, 0],
        [5, 5 + mpmath.log(2), 5],
        [5, 10, 5],
    ],
    "exercise-own": [[2, 0, 2], [2, 4, 4]],
}
test_what_exercises_ask = make_test_of_asked(ASKED)


# The layer as products.

SIZES = st.tuples(*[st.integers(1, 6)] * 4)  # n_q, n_k, d_k, d_v
SEEDS = st.integers(0, 2**32 - 1)
LISTING = Path(__file__).parents[1] / "docs" / "listings" / "eight-steps.py"


def softmax_rows(scores):
    return [softmax(row) for row in scores]


def exact_outputs():
    return product(exact_weights(), VALUES)


def scaled_outputs():
    return product(exact_weights(mpmath.sqrt(3)), VALUES)


def random(sizes, seed):
    """Query, key and value of these sizes."""
    n_q, n_k, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    return [rng.normal(size=size) for size in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]


def attend_by_torch(query, key, value):
    tensors = [torch.from_numpy(np.ascontiguousarray(a)) for a in (query, key, value)]
    return scaled_dot_product_attention(*tensors).numpy()


@pytest.fixture(scope="module")
def listing():
    """The names of the listing, run from top to bottom."""
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(LISTING))


@given(SIZES, SEEDS)
def test_loop_agrees_with_torch(listing, sizes, seed):
    arrays = random(sizes, seed)
    outputs, weights = listing["attention_loop"](*arrays)
    np.testing.assert_allclose(outputs, attend_by_torch(*arrays), rtol=0, atol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-12)


@given(SIZES, SEEDS)
def test_column_attention_agrees_with_torch(sizes, seed):
    query, key, value = random(sizes, seed)
    outputs, weights = column_attention(query.T, key.T, value.T)
    np.testing.assert_allclose(outputs.T, attend_by_torch(query, key, value), rtol=0, atol=1e-12)
    # With the identity as values, the outputs of attention are its weights.
    identity = attend_by_torch(query, key, np.eye(len(key)))
    np.testing.assert_allclose(weights.T, identity, rtol=0, atol=1e-12)


def test_wrong_width(chapter):
    says = "mat1 and mat2 shapes cannot be multiplied (3x4 and 3x3)"
    assert chapter.output("wrong-width") == says


def test_four(chapter):
    """The four candidates for output 1, each from its own definition."""
    features = product(transpose(QUERIES), KEYS)
    found = []
    for table in (SCORES, features):
        along = softmax_rows(table)
        down = transpose(softmax_rows(transpose(table)))
        found += [product(weights, VALUES)[0] for weights in (along, down)]
    drawn = re.findall(r"\d+\.\d{4}", chapter.figure("four"))
    assert_printed([float(one) for one in drawn], [x for row in found for x in row], 4)
    assert len({drawn[i] for i in (0, 3, 6, 9)}) == 4
    wrong = transpose(softmax_rows(transpose(SCORES)))
    assert chapter.values("four-formulas") == [f"{float(sum(row)):.4f}" for row in wrong[:2]]


def test_loop(chapter):
    assert_printed(chapter.grid("loop"), scaled_outputs(), 4)
    assert_printed(chapter.grid("torch"), scaled_outputs(), 4)
    assert chapter.grid("loop")[0] == SCALED_OUTPUT_1
    assert chapter.names("loop") == ["output 1", "output 2", "output 3"]
    assert chapter.output("sizes").split("\n") == [
        "shape of the weights: (2, 5)",
        "shape of the outputs: (2, 7)",
    ]
    assert chapter.values("loop") == ["12"]


def test_product(chapter):
    assert chapter.matrix("product", "queries") == QUERIES
    assert chapter.matrix("product", "keys") == transpose(KEYS)
    assert chapter.matrix("product", "scores") == SCORES


def test_columns(chapter):
    assert product(QUERIES, transpose(KEYS)) == SCORES
    assert_printed(chapter.matrix("columns", "queries"), transpose(QUERIES[:2]), 0)
    assert_printed(
        chapter.matrix("columns", "dot products"), product(KEYS, transpose(QUERIES[:2])), 0
    )
    assert_printed(chapter.matrix("columns", "dot products"), transpose(SCORES[:2]), 0)
    assert_printed(
        chapter.matrix("columns-whole", "weights"), transpose(exact_weights(mpmath.sqrt(3))[:2]), 4
    )
    assert_printed(chapter.matrix("columns-whole", "outputs"), transpose(scaled_outputs()[:2]), 4)


def test_one_column(chapter):
    weights = softmax_rows(SCORES[:1])
    assert_printed(chapter.column("b-1", "score α"), [2, 4, 4], 0)
    assert_printed(chapter.column("b-1", "weight α′"), weights[0], 4)
    # Notes 000 and 004 print this output.
    assert_printed(OUTPUTS[0], product(weights, VALUES)[0], 4)
    assert chapter.values("one-column") == ["[1.9366, 6.6831, 1.5951]", "[1.8639, 6.3194, 1.7042]"]
    assert chapter.values("columns-run") == [str(SCORES[1][2])]


def test_linear(chapter):
    layer = torch.nn.Linear(4, 3, bias=False)
    stored = chapter.output("linear")
    assert stored == f"shape of the stored parameters: {tuple(layer.weight.shape)}"
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(W_QUERY).T)
        assert layer(torch.tensor(X, dtype=torch.float)).tolist() == QUERIES


def test_wrong_axis(chapter):
    wrong = transpose(softmax_rows(transpose(SCORES)))
    shown = chapter.table("wrong-axis")
    assert_printed([vector_of(line["weights"]) for line in shown], wrong, 4)
    assert_printed([vector_of(line["output"]) for line in shown], product(wrong, VALUES), 4)
    sums = [sum(weights) for weights in wrong]
    for i in range(3):
        assert_printed(chapter.column("row-sums", f"query {i + 1}"), [sums[i], 1], 4)
    described = product(wrong, VALUES)
    assert chapter.values("mistake-axis") == [
        *(
            f"[{', '.join(f'{float(x):.4f}' for x in rows[0])}]"
            for rows in (described, exact_outputs())
        ),
        f"{float(described[1][1]):.4f}",
        "8",
    ]
    assert chapter.column("row-sums", "all queries") == [3, 3]
    assert product(wrong, VALUES)[1][1] > 8  # the largest second component of a value
    assert all(abs(s - 1) > 0.2 for s in sums)


def test_one_query(chapter):
    for j in range(3):
        assert_printed(chapter.column("one-query", f"key {j + 1}"), [1, exact_weights()[0][j]], 4)


def test_brackets(chapter):
    """Multiplications of n × m times m × p: n·m·p. Without softmax the brackets may move."""
    n, d = 1000, 64
    counts = [n * d * n + n * n * d, d * n * d + n * d * d]
    assert chapter.column("exercise-brackets", "multiplications") == counts
    assert chapter.values("exercise-brackets") == [str(count) for count in counts]
    left = product(product(QUERIES, transpose(KEYS)), VALUES)
    assert left == product(QUERIES, product(transpose(KEYS), VALUES))
    inner = product(QUERIES, softmax_rows(product(transpose(KEYS), VALUES)))
    outer = product(softmax_rows(SCORES), VALUES)
    assert abs(inner[0][0] - outer[0][0]) > 1e-3


def test_products_of_the_exercises(chapter):
    by_hand = product([[1, 2], [0, 1]], transpose([[1, 0], [2, 1], [0, 1]]))
    assert by_hand == [[1, 4, 2], [0, 1, 1]]
    assert_printed(chapter.grid("exercise-pencil"), by_hand, 0)
    assert chapter.values("exercise-pencil") == ["[[1, 4, 2],\n [0, 1, 1]]", "0", "4"]
