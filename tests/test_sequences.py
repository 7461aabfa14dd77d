"""The chapter "sequences": its functions against torch, its published numbers against hand work."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from attention_docs.attention_function import attention
from attention_docs.sequences import (
    attention_parameters,
    weights_of,
    window_layer,
    window_parameters,
    windows,
)
from attention_docs.softmax import softmax
from tests.conftest import each_language
from tests.exact import printed
from tests.exact import softmax as exact_softmax

seeds = st.integers(0, 2**32 - 1)

# The example, written down once more: nothing below reads it from the package.
PRO, SAW, A = (1, 0, 0), (0, 1, 0), (0, 0, 1)  # "I", "saw", "a"
WORDS = [PRO, SAW, A, SAW]
CIRCLE = [(1, 0), (0, 1), (-1, 0), (0, -1)]
RIGHT = ["pronoun", "verb", "determiner", "noun"]


def content_scores() -> list[list[int]]:
    """I looks for saw (1), saw for I (1), a for saw (2): after the division by 2."""
    looks_for = {PRO: (SAW, 1), SAW: (PRO, 1), A: (SAW, 2)}
    return [[looks_for[w][1] * (other == looks_for[w][0]) for other in WORDS] for w in WORDS]


def placed_scores() -> list[list[int]]:
    """The place before adds 2, the place after takes 2 away, around the circle."""
    by_offset = {3: 2, 1: -2, 0: 0, 2: 0}  # (key - query) mod 4
    return [
        [score + by_offset[(j - i) % 4] for j, score in enumerate(row)]
        for i, row in enumerate(content_scores())
    ]


def mixed(weights: list[float]) -> list[float]:
    """What I, saw and a get in all."""
    return [weights[0], weights[1] + weights[3], weights[2]]


def tag_rows(outputs: list[list[float]]) -> np.ndarray:
    """Pronoun for I, determiner for a, verb and noun for saw; verb after I, noun after a."""
    own = {PRO: [1, 0, 0, 0], SAW: [0, 1, 0, 1], A: [0, 0, 1, 0]}
    fetched = [[0, o[0], 0, o[2]] for o in outputs]
    return np.array([own[w] for w in WORDS]) + np.array(fetched)


# The functions.


@settings(deadline=None)
@given(seeds, st.sampled_from([(5, 3, 1, 2), (7, 2, 3, 4), (3, 2, 7, 5), (1, 4, 5, 3)]))
def test_window_layer_is_a_convolution(seed: int, sizes: tuple[int, int, int, int]) -> None:
    n, d, k, d_out = sizes
    rng = np.random.default_rng(seed)
    inputs, parameters = rng.normal(size=(2, n, d)), rng.normal(size=(k * d, d_out))
    kernel = torch.tensor(parameters).reshape(k, d, d_out).permute(2, 1, 0)  # (d_out, d, k)
    expected = torch.nn.functional.conv1d(
        torch.tensor(inputs).transpose(1, 2), kernel, padding="same"
    ).transpose(1, 2)
    np.testing.assert_allclose(window_layer(inputs, parameters), expected, atol=1e-12)


def test_window_layer_takes_torch_and_its_gradient() -> None:
    inputs = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    parameters = torch.arange(18, dtype=torch.float64).reshape(9, 2).requires_grad_()
    outputs = window_layer(inputs, parameters)
    np.testing.assert_allclose(
        outputs.detach(), window_layer(inputs.numpy(), parameters.detach().numpy()), atol=1e-12
    )
    outputs.sum().backward()
    # Past the left end stands a zero vector, so the left part never sees the last token.
    left = inputs[:-1].sum(0)
    assert parameters.grad is not None
    torch.testing.assert_close(parameters.grad[:3, 0], left)


def test_windows_leave_the_input_alone() -> None:
    inputs = np.arange(6.0).reshape(3, 2)
    result = windows(inputs, 1)
    result[:] = 9
    assert inputs.tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("k", [0, -1, 2])
def test_windows_want_an_odd_size(k: int) -> None:
    with pytest.raises(ValueError, match=f"k must be odd and at least 1, got {k}"):
        windows(np.ones((3, 2)), k)


@pytest.mark.parametrize("rows", [1, 3, 4, 8])
def test_window_layer_wants_whole_odd_windows(rows: int) -> None:
    wanted = rf"parameters must be \(k·2, d_out\) with k odd, got shape \({rows}, 3\)"
    with pytest.raises(ValueError, match=wanted):
        window_layer(np.ones((5, 2)), np.ones((rows, 3)))


def test_window_layer_wants_one_matrix_and_one_dtype() -> None:
    with pytest.raises(ValueError, match=r"got shape \(2, 2, 3\)"):
        window_layer(np.ones((5, 2)), np.ones((2, 2, 3)))
    with pytest.raises(TypeError, match="share a dtype, got float64 and float32"):
        window_layer(np.ones((5, 2)), np.ones((2, 3), dtype=np.float32))
    with pytest.raises(TypeError, match="must hold real floats, got int"):
        windows(np.ones((5, 2), dtype=int), 1)
    with pytest.raises(ValueError, match=r"must not be empty, got shape \(0, 2\)"):
        windows(np.ones((0, 2)), 1)


@settings(deadline=None)
@given(st.integers(1, 15), st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
def test_counts_are_those_of_torch(k: int, d: int, d_k: int, d_v: int) -> None:
    convolution = torch.nn.Conv1d(d, d_v, k, bias=False, device="meta")
    assert window_parameters(k, d, d_v) == convolution.weight.numel()
    assert window_parameters(k, d) == k * d * d
    layers = [torch.nn.Linear(d, out, bias=False, device="meta") for out in (d_k, d_k, d_v)]
    assert attention_parameters(d, d_k, d_v) == sum(layer.weight.numel() for layer in layers)
    attention_of_torch = torch.nn.MultiheadAttention(d, 1, bias=False, device="meta")
    assert attention_of_torch.in_proj_weight is not None
    assert attention_parameters(d) == attention_of_torch.in_proj_weight.numel()


@settings(deadline=None)
@given(seeds, st.integers(1, 5))
def test_weights_of_finds_the_weights(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    corners = np.tril(rng.uniform(1, 2, (d + 1, d)), -1) + rng.integers(-3, 4)
    wanted = rng.dirichlet(np.ones(d + 1))
    point = sum(a * corner for a, corner in zip(wanted, corners, strict=True))
    np.testing.assert_allclose(weights_of(point, corners), wanted, atol=1e-9)


def test_weights_of_says_what_it_wants() -> None:
    with pytest.raises(ValueError, match=r"corners must be \(d \+ 1, d\).*got \(4, 2\) and \(2,\)"):
        weights_of(np.ones(2), np.ones((4, 2)))
    in_one_line = np.array([[0.0, 0], [1, 2], [2, 4]])
    with pytest.raises(ValueError, match=r"must not lie in one line or plane, got \[\[0.0, 0.0\]"):
        weights_of(np.ones(2), in_one_line)


@settings(deadline=None)
@given(seeds)
def test_any_positive_weights_are_reached(seed: int) -> None:
    wanted = np.random.default_rng(seed).dirichlet([1.0] * 7) * 0.99 + 0.01 / 7
    np.testing.assert_allclose(softmax(np.log(wanted)), wanted, atol=1e-12)


@settings(deadline=None)
@given(seeds)
def test_outputs_stay_among_the_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, k, v = rng.normal(0, 2, (5, 3)), rng.normal(0, 2, (7, 3)), rng.normal(0, 2, (7, 4))
    output, weights = attention(q, k, v)
    assert (weights > 0).all()
    directions = rng.normal(size=(4, 50))
    furthest, reached = (v @ directions).max(axis=0), (output @ directions).max(axis=0)
    assert (reached <= furthest + 1e-12).all()
    assert np.linalg.norm(output, axis=1).max() <= np.linalg.norm(v, axis=1).max() + 1e-12


@settings(deadline=None)
@given(seeds, st.lists(st.integers(0, 3), min_size=2, max_size=9))
def test_equal_tokens_have_equal_outputs(seed: int, sentence: list[int]) -> None:
    """torch's own attention, any sentence, any parameters: one output a word."""
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(4, 5, dtype=torch.float64, generator=generator)
    layer = torch.nn.MultiheadAttention(5, 1, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(generator=generator)
        inputs = words[sentence][None]
        output, weights = layer(inputs, inputs, inputs)
    for i, word in enumerate(sentence):
        first = sentence.index(word)
        torch.testing.assert_close(output[0, i], output[0, first], rtol=0, atol=1e-9)
        torch.testing.assert_close(weights[0, i], weights[0, first], rtol=0, atol=1e-9)


# The published numbers.


@pytest.mark.site
@each_language
def test_three_kinds(page, lang):
    chapter = page(lang, "sequences")
    assert chapter.array("inputs").tolist() == [[1, 0], [0, 1], [2, 2]]
    mean = [Fraction(1 + 0 + 2, 3), Fraction(0 + 1 + 2, 3)]
    assert chapter.array("one-label").tolist() == [mean[0], mean[0] + mean[1]] == [1, 2]
    assert chapter.output("one-label").endswith("positive")
    rows = [[2 * a - b, 2 * b - a, a + b] for a, b in ((1, 0), (0, 1), (2, 2))]
    assert [chapter.array("n-labels", i).tolist() for i in range(3)] == rows
    lines = chapter.output("n-labels").splitlines()
    assert [line.split()[-1] for line in lines] == ["pronoun", "verb", "adjective"]
    assert chapter.output("own-length").splitlines() == [
        "This is good -> 不 错 (3, 2)",
        "I saw a saw -> 我 看 见 一 把 锯 子 (4, 7)",
    ]
    assert chapter.values("own-length") == ["3", "2", "4", "7"]


@pytest.mark.site
@each_language
def test_per_token(page, lang):
    chapter = page(lang, "sequences")
    for i, word in enumerate(WORDS):
        assert chapter.array("sentence", i).tolist() == [*word, 0, 0]
    assert chapter.output("sentence").endswith("tokens 2 and 4 differ by 0")
    rows = chapter.output("per-token").splitlines()[5:]
    assert [row.split()[-1] for row in rows] == ["pronoun", "verb/noun", "determiner", "verb/noun"]
    assert rows[1] == rows[3] == "saw  [0, 1, 0, 1] verb/noun"


@pytest.mark.site
@each_language
def test_window_layer(page, lang):
    chapter = page(lang, "sequences")
    nothing = (0, 0, 0)
    padded = [nothing, *WORDS, nothing]
    for i in range(4):
        for side in range(3):
            assert chapter.array("windows", 3 * i + side).tolist() == [*padded[i + side], 0, 0]
    # A hard look at the left neighbour: 1 for I, 1 for a.
    expected = tag_rows([list(word) for word in [nothing, *WORDS[:3]]])
    got = [chapter.array("window-layer", i + 1).tolist() for i in range(4)]
    assert got == expected.tolist()
    assert "right neighbour: all zeros, True" in chapter.output("window-layer")
    rows = chapter.output("window-layer").splitlines()[6:]
    assert [row.split()[-1] for row in rows] == RIGHT
    assert chapter.values("window") == ["[0, 0, 0, 1]", "[0, 1, 0, 1]", "[0, 1, 0, 2]"]


@pytest.mark.site
@each_language
def test_window_parameters(page, lang):
    chapter = page(lang, "sequences")
    printed = chapter.numbers("window-parameters")
    odd = range(1, 16, 2)
    assert printed[:-1] == [number for k in odd for number in (k, k * 64 * 64)]
    assert printed[-1] == 3 * 64 * 64
    rows = [f"n = {n}: {(2 * n - 1) * 4096} {n * n * 4096} {3 * 4096}" for n in (4, 10, 100, 1000)]
    assert chapter.output("whole-sentence").splitlines() == rows
    assert chapter.values("window-cost") == [
        *("60", "12288", "3"),
        *("4,096", "12,288", "815,104", "40,960,000", "12,288"),
    ]


@pytest.mark.site
@each_language
def test_products(page, lang):
    """Every product of numbers, counted as torch multiplies the matrices."""
    n, d = 100, 64
    shapes = [(n, d, d)] * 3 + [(n, d, n), (n, n, d)]  # (rows, inner, columns)
    attention_products = sum(a * b * c for a, b, c in shapes)
    window_products = n * (199 * d) * d
    printed = page(lang, "sequences").numbers("products")
    assert printed == [window_products, attention_products]


@pytest.mark.site
@each_language
def test_any_length(page, lang):
    lines = page(lang, "sequences").output("look").splitlines()
    assert lines[0] == f"parameters: {5 * 4 + 5 * 4 + 5 * 3}"
    assert lines[1:] == [f"({n}, 5) -> ({n}, {n}) -> ({n}, 3)" for n in (1, 2, 4, 9)]


@pytest.mark.site
@each_language
def test_reach(page, lang):
    chapter = page(lang, "sequences")
    # [2, 1] = a·[4, 0] + b·[0, 4] + (1 - a - b)·[0, 0]
    a, b = Fraction(2, 4), Fraction(1, 4)
    assert chapter.array("reach").tolist() == [1 - a - b, a, b]
    printed(chapter.array("reach", 1), [log(1 / 4), log(1 / 2), log(1 / 4)])
    assert chapter.array("reach", 2).tolist() == [2, 1]


@pytest.mark.site
@each_language
def test_outside(page, lang):
    chapter = page(lang, "sequences")
    a, b = Fraction(3, 4), Fraction(3, 4)
    assert chapter.array("outside").tolist() == [1 - a - b, a, b]
    assert min(chapter.array("outside")) < 0
    triples = [chapter.array("exercise-2", i).tolist() for i in (1, 3, 5)]
    points = [(1, 1), (2, 2), (-1, 1)]
    assert triples == [[1 - Fraction(x + y, 4), Fraction(x, 4), Fraction(y, 4)] for x, y in points]


@pytest.mark.site
@each_language
def test_corner(page, lang):
    lines = page(lang, "sequences").output("corner").splitlines()
    distances = []
    for score, line in zip((2, 4, 8, 16), lines, strict=True):
        weight = 1 / (2 + exp(score))  # of each of the two others
        # The output is [4·(1 - 2·weight), 4·weight]: from [4, 0] it is 8 and 4 weights away.
        distances.append(float(line.split(": distance ")[1]))
        assert distances[-1] == pytest.approx(weight * sqrt(8**2 + 4**2), rel=6e-3)
    assert all(distance > 0 for distance in distances)


@pytest.mark.site
@each_language
def test_path(page, lang):
    chapter = page(lang, "sequences")
    for t, row in zip((-4, 0, 4), chapter.array("path"), strict=True):
        total = 1 + exp(2 * t) + exp(t)
        printed(row, [4 * exp(2 * t) / total, 4 * exp(t) / total])
    assert "all below the edge: True" in chapter.output("path")


@pytest.mark.site
@each_language
def test_content_only(page, lang):
    chapter = page(lang, "sequences")
    numbers = np.array(chapter.numbers("parameters"))
    W_q, W_k = numbers[:20].reshape(5, 4), numbers[20:40].reshape(5, 4)
    for i, word in enumerate(WORDS):
        row = word.index(1)
        assert chapter.array("content-queries", 3 * i).tolist() == W_q[row].tolist()
        assert chapter.array("content-queries", 3 * i + 1).tolist() == W_k[row].tolist()
        assert chapter.array("content-queries", 3 * i + 2).tolist() == list(word)
    assert numbers[40:].reshape(5, 3).tolist() == [[*PRO], [*SAW], [*A], [0] * 3, [0] * 3]
    assert chapter.array("content-scores").tolist() == content_scores()
    weights = [exact_softmax(row) for row in content_scores()]
    printed(chapter.array("content-weights"), weights)
    outputs = chapter.array("content-outputs")
    printed(outputs, [mixed(row) for row in weights])
    assert outputs[1].tolist() == outputs[3].tolist()
    printed(outputs[1, 0], exp(1) / (exp(1) + 3))
    assert "rows 2 and 4 are equal: True" in chapter.output("content-outputs")
    lines = chapter.output("content-random").splitlines()
    assert lines == [f"rounds: {n}, rows 2 and 4 equal in 1000 of 1000" for n in (1, 2, 3)]


@pytest.mark.site
@each_language
def test_positions(page, lang):
    chapter = page(lang, "sequences")
    for i in range(4):
        assert chapter.array("positions", i + 1).tolist() == [*WORDS[i], *CIRCLE[i]]
        # The query's place is that before its own, times 4; the key's is its own.
        x, y = CIRCLE[i - 1]
        assert chapter.array("position-queries", 2 * i)[2:].tolist() == [4 * x, 4 * y]
        assert chapter.array("position-queries", 2 * i + 1)[2:].tolist() == list(CIRCLE[i])
    assert chapter.array("position-queries", 8).tolist() == placed_scores()
    weights = [exact_softmax(row) for row in placed_scores()]
    printed(chapter.array("position-weights"), weights)
    outputs = np.array([mixed(row) for row in weights])
    printed(chapter.array("position-outputs"), outputs)
    difference = np.abs(outputs[1] - outputs[3]).max()
    printed(chapter.numbers("position-outputs")[-1], difference)
    assert difference > 0.5


@pytest.mark.site
@each_language
def test_position_random(page, lang):
    lines = page(lang, "sequences").output("position-random").splitlines()
    assert lines == ["rows 2 and 4 differ in 1000 of 1000", "equal again: True"]


@pytest.mark.site
@each_language
def test_alternate(page, lang):
    chapter = page(lang, "sequences")
    expected = tag_rows([mixed(exact_softmax(row)) for row in placed_scores()])
    got = np.array([chapter.array("alternate", i) for i in range(4)])
    printed(got, expected)
    lines = chapter.output("alternate").splitlines()
    assert [line.split()[-1] for line in lines] == RIGHT
    assert expected.argmax(axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.site
@each_language
def test_mistake(page, lang):
    chapter = page(lang, "sequences")
    expected = tag_rows([mixed(exact_softmax(row)) for row in content_scores()])
    got = np.array([chapter.array("mistake-wrong", i) for i in range(4)])
    printed(got, expected)
    wrong = chapter.output("mistake-wrong").splitlines()
    right = chapter.output("mistake-right").splitlines()
    assert wrong[1] == wrong[3]
    assert right[1] != right[3]
    assert [line.split()[-1] for line in wrong[:4]] == ["pronoun", "verb", "determiner", "verb"]
    assert [line.split()[-1] for line in right[:4]] == RIGHT
    assert wrong[4] == "tokens 2 and 4 differ: False"
    assert right[4] == "tokens 2 and 4 differ: True"
    assert chapter.values("mistake-alone") == ["verb", "55"]


@pytest.mark.site
@each_language
def test_exercises(page, lang):
    chapter = page(lang, "sequences")
    sentence = [None, None, *(["I", "saw", "a", "saw"] * 2), None, None]
    for line, side in zip(chapter.output("exercise-1").splitlines(), (0, 1, 2), strict=True):
        two, six = (sentence[i + 2 - side : i + 3 + side] for i in (1, 5))
        assert line == f"k = {2 * side + 1}: the same window for tokens 2 and 6: {two == six}"
    scores = torch.tensor(content_scores(), dtype=torch.float64)
    hidden = torch.ones(4, 4, dtype=torch.bool).triu(1)
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
    printed(chapter.array("exercise-3"), weights.numpy())
    outputs = weights @ torch.tensor(WORDS, dtype=torch.float64)
    difference = (outputs[1] - outputs[3]).abs().max().item()
    printed(chapter.numbers("exercise-3")[-1], difference)
