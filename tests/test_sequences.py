"""The chapter "sequences": its functions against torch, its published numbers against hand work."""

from __future__ import annotations

import re
from fractions import Fraction
from math import sqrt

import hypothesis.strategies as st
import numpy as np
import torch
from hypothesis import given

from attention_docs import sequences as package
from attention_docs.attention_function import attention
from attention_docs.sequences import (
    attention_parameters,
    weights_of,
    window_layer,
    window_parameters,
    windows,
)
from tests.exact import assert_printed, assert_printed_e
from tests.page import parse_number, vector_of

seeds = st.integers(0, 2**32 - 1)

# The example, written down once more: nothing below reads it from the package.
WORDS = ["I", "saw", "a", "saw"]
OWN = {"I": [1, 0, 0, 0], "saw": [0, 1, 0, 1], "a": [0, 0, 1, 0]}
SAYS = {"I": (1, 0), "a": (0, 1)}  # for verb, for noun
RIGHT = ["pronoun", "verb", "determiner", "noun"]


def attend_by_hand(
    words: list[str], i: int, places: bool = False
) -> tuple[list[Fraction], list[Fraction]]:
    """Weights and output of token i: saw gives 16 to I and to a; the word before 16 times more."""
    shares = [16 if words[i] == "saw" and word in "Ia" else 1 for word in words]
    if places and i:
        shares[i - 1] *= 16
    weights = [Fraction(one, sum(shares)) for one in shares]
    pairs = [SAYS.get(word, (0, 0)) for word in words]
    sums = [sum(a * pair[c] for a, pair in zip(weights, pairs, strict=True)) for c in (0, 1)]
    return weights, [Fraction(one) for one in sums]


def tag_by_hand(places: bool) -> list[list[Fraction]]:
    """The points of the word itself, and what the average adds for verb and noun."""
    rows = []
    for i, word in enumerate(WORDS):
        verb, noun = attend_by_hand(WORDS, i, places)[1]
        rows.append([a + b for a, b in zip(OWN[word], (0, verb, 0, noun), strict=True)])
    return rows


def barycentric(x: Fraction, y: Fraction) -> list[Fraction]:
    """The numbers that mix [1, 0], [0, 0] and [0, 1] to a point, by hand."""
    return [x, 1 - x - y, y]


# The example by its meaning: what each row and each column of a matrix stands for.


# The functions.


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


@given(seeds, st.integers(1, 5))
def test_weights_of_finds_the_weights(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    corners = np.tril(rng.uniform(1, 2, (d + 1, d)), -1) + rng.integers(-3, 4)
    wanted = rng.dirichlet(np.ones(d + 1))
    point = sum(a * corner for a, corner in zip(wanted, corners, strict=True))
    np.testing.assert_allclose(weights_of(point, corners), wanted, atol=1e-9)


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

FRENCH, ENGLISH = "J' ai vu une scie", "the picture that he painted"  # 5 tokens each


def cells(chapter, block: str) -> list[list[str]]:
    """The rows of a table, without its head."""
    return [list(row.values()) for row in chapter.table(block)]


def vectors(chapter, block: str, column: str) -> list[list[float]]:
    """The vectors in a column of a table."""
    return [vector_of(row[column]) for row in chapter.table(block)]


def check_averages(
    chapter, block: str, wanted: list[tuple[list[Fraction], list[Fraction]]]
) -> None:
    """Each row of a table holds the weights that a token gives, and its output."""
    columns = (vectors(chapter, block, name) for name in ("weights", "output (verb, noun)"))
    for (weights, output), *got in zip(wanted, *columns, strict=True):
        assert_printed(got[0], weights, 2)
        assert_printed(got[1], output, 2)


def check_ribbons(
    chapter, wanted: list[tuple[list[Fraction], list[Fraction]]], block: str = "positions"
) -> None:
    """The drawing of each word tells the weights that it gives, and its output."""
    frames = chapter.frames(block)
    for frame, (weights, output) in zip(frames, wanted, strict=True):
        weighed, said = re.split(r" I says verb(?:; a says noun)?\. ", frame.labels[0])
        assert_printed([float(one) for one in re.findall(r"\d\.\d\d", weighed)], weights, 2)
        assert_printed([float(one) for one in re.findall(r"\d\.\d\d", said)], output, 2)


def check_tags(chapter, block: str, points: list[list[Fraction]], tags: list[str]) -> None:
    """Each row of a table holds the points of a token, and its tag."""
    rows = cells(chapter, block)
    assert [row[0] for row in rows] == ["I 1", "saw 2", "a 3", "saw 4"]
    assert_printed([[parse_number(cell) for cell in row[1:5]] for row in rows], points, 2)
    assert [row[5] for row in rows] == tags


def check_mixtures(chapter, block: str, points: list[tuple[Fraction, Fraction]]) -> None:
    """Each row of a table holds a point and the numbers that mix the corners to it."""
    assert vectors(chapter, block, "point") == [[float(one) for one in point] for point in points]
    got = [[parse_number(cell) for cell in row[1:]] for row in cells(chapter, block)]
    assert got == [barycentric(*point) for point in points]


def test_three_kinds(chapter):
    assert chapter.grid("inputs") == [[1, 0], [0, 1], [2, 2]]
    assert chapter.names("inputs") == ["This", "is", "good"]
    mean = [Fraction(1 + 0 + 2, 3), Fraction(0 + 1 + 2, 3)]
    (points,) = cells(chapter, "one-label")
    assert [float(one) for one in points[:2]] == [mean[0], mean[0] + mean[1]] == [1, 2]
    assert points[2] == "positive"
    rows = [[2 * a - b, 2 * b - a, a + b] for a, b in ((1, 0), (0, 1), (2, 2))]
    labelled = cells(chapter, "n-labels")
    assert [[parse_number(one) for one in row[1:4]] for row in labelled] == rows
    words = [("This", "pronoun"), ("is", "verb"), ("good", "adjective")]
    assert [(row[0], row[-1]) for row in labelled] == words
    translated = [["This is good", "C'est bien", "3", "2"], ["I saw a saw", FRENCH, "4", "5"]]
    assert cells(chapter, "own-length") == translated
    for sentence in (FRENCH, ENGLISH):
        assert len(sentence.split()) == 5
    assert chapter.values("three-kinds") == ["3", "2", "4", "5"]


def test_the_words_of_the_three_kinds_in_chinese(page):
    chapter = page("zh", "sequences")
    assert [row[2] for row in cells(chapter, "one-label")] == ["正面"]
    words = [("这", "代词"), ("是", "动词"), ("好事", "名词")]
    assert [(row[0], row[-1]) for row in cells(chapter, "n-labels")] == words
    translated = [["这 是 好事", "That's good", "3", "2"], ["他 画 的 画", ENGLISH, "4", "5"]]
    assert cells(chapter, "own-length") == translated


def test_window_layer(chapter):
    # A hard look at the left neighbour: 1 for I, 1 for a.
    expected = [list(OWN[word]) for word in WORDS]
    for i in (1, 2, 3):
        expected[i][1] += WORDS[i - 1] == "I"
        expected[i][3] += WORDS[i - 1] == "a"
    check_tags(chapter, "window-layer", expected, RIGHT)
    one_hot = {word: [float(word == one) for one in ("I", "saw", "a")] + [0, 0] for word in WORDS}
    padded = [[0] * 5, *(one_hot[word] for word in WORDS), [0] * 5]
    for side, name in enumerate(("left neighbour", "the token", "right neighbour")):
        assert vectors(chapter, "windows", name) == padded[side : side + 4]
    left = [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    parts = [left + [[0] * 4] * 2, list(OWN.values()) + [[0] * 4] * 2]
    got = [[parse_number(cell) for cell in row[1:]] for row in cells(chapter, "window-matrix")]
    assert got == parts[0] + parts[1]
    assert not package.W_TAG[10:].any()
    assert chapter.values("window-run") == [
        *("[0, 0, 0, 1]", "[0, 1, 0, 1]", "[0, 1, 0, 2]"),
        *(str(3 * 5 * 4), f"{3 * 64 * 64:,}"),
    ]


def test_what_a_window_of_three_sees(chapter):
    """Itself and a neighbour on each side: three in a row, two at the ends."""
    seen = [{9, 10} if i == 10 else {i - 1, i, i + 1} - {0} for i in range(1, 11)]
    wanted = [[float(j in row) for j in range(1, 11)] for row in seen]
    assert chapter.matrix("sees", "") == [[*range(1, 11)], *wanted]  # the names of the columns
    assert "Outlined: token 10 and 1." in chapter.figure("sees")


def test_window_parameters(chapter):
    drawn = re.findall(r"(\d+) at (\d+)", chapter.figures["out-window-parameters"])
    assert [(int(k), int(count)) for count, k in drawn] == [
        (k, k * 64 * 64) for k in range(1, 16, 2)
    ]
    rows = [[n, (2 * n - 1) * 4096, n * n * 4096] for n in (4, 10, 100, 1000)]
    assert cells(chapter, "whole-sentence") == [[f"{one:,}" for one in row] for row in rows]
    assert chapter.values("window")[5:] == ["4,096", "12,288", "815,104", "40,960,000"]


def test_average(chapter):
    sentences = ["I also often saw", "a big old saw"]
    assert [row[0] for row in cells(chapter, "average")] == sentences
    check_averages(chapter, "average", [attend_by_hand(one.split(), 3) for one in sentences])
    assert chapter.values("self-attention") == [f"{16 / 19:.2f}"]
    farther = ["I", "also", "often", "saw"]
    check_ribbons(chapter, [attend_by_hand(farther, i) for i in range(4)], "first-row")
    rows = [(n, Fraction(1, n), Fraction(16, 15 + n)) for n in (4, 20, 100)]
    assert chapter.column("mean", "n") == [row[0] for row in rows]
    assert_printed(chapter.column("mean", "weight in the mean"), [row[1] for row in rows], 2)
    assert_printed(chapter.column("mean", "weight with a share of 16"), [row[2] for row in rows], 2)


def test_per_token(chapter):
    """The categories of each word; saw may be two of them, wherever it stands."""
    kinds = {"I": [1, 0, 0, 0], "saw": [0, 1, 0, 1], "a": [0, 0, 1, 0]}
    assert chapter.matrix("per-token", "") == [kinds[word] for word in ("I", "saw", "a", "saw")]


def test_the_output_to_drag(chapter):
    """It begins at a quarter of two corners and one half of the third."""
    shares = barycentric(Fraction(1, 4), Fraction(1, 2))
    assert shares == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    said = chapter.figure("turn")
    assert "Weights: I 0.25, saw 0.25, a 0.50. Output [0.25, 0.50]." in said
    assert "I [1, 0], saw [0, 0], a [0, 1]" in said


def test_outside(chapter):
    beyond, inside = (Fraction(3, 4), Fraction(3, 4)), (Fraction(1, 2), Fraction(1, 4))
    check_mixtures(chapter, "outside", [beyond])
    assert min(barycentric(*beyond)) < 0
    check_mixtures(chapter, "reach", [inside])
    assert min(barycentric(*inside)) > 0
    shares = [4**power for power in (1, 4, 7, 10)]
    assert chapter.column("corner", "share of I") == shares
    # Each of the two others has the weight w = 1 / (share + 2), and the output is [1 - 2w, w].
    distances = [sqrt(5) / (share + 2) for share in shares]
    assert_printed_e(chapter.column("corner", "distance"), distances, 2)


def test_content_only(chapter):
    check_averages(chapter, "content-only", [attend_by_hand(WORDS, i) for i in (1, 3)])
    check_ribbons(chapter, [attend_by_hand(WORDS, i, places=True) for i in range(4)])
    assert attend_by_hand(WORDS, 1) == attend_by_hand(WORDS, 3)
    assert cells(chapter, "content-random") == [[count, "1000"] for count in "123"]
    assert cells(chapter, "position-random") == [["rules, of 1000", "1000", "1000"]]


def test_mistake(chapter):
    tie = "verb/noun"
    check_tags(chapter, "mistake-wrong", tag_by_hand(False), ["pronoun", tie, "determiner", tie])
    check_tags(chapter, "mistake-right", tag_by_hand(True), RIGHT)
    wrong = cells(chapter, "mistake-wrong")
    assert wrong[1][1:] == wrong[3][1:]


def test_exercises(chapter):
    assert cells(chapter, "exercise-count") == [["5", str(5 * 8 * 3)], ["11", str(11 * 8 * 3)]]
    (weights,) = vectors(chapter, "exercise-shares", "weights")
    assert_printed(weights, [Fraction(3, 6), Fraction(1, 6), Fraction(2, 6)], 4)
    assert vectors(chapter, "exercise-shares", "output") == [[3 + 0 + 1, 0 + 1 + 1]]
    assert chapter.values("exercise-count") == [str(n * 8 * 3) for n in (5, 11, 6)]
    shares = chapter.values("exercise-shares")
    assert shares == ["[0.5000, 0.1667, 0.3333]", "[4.0, 2.0]", "[24.0, 12.0]"]  # 6·(4, 2)
    assert chapter.values("exercise-window") == ["5", "3"]
    sentence = [None, None, *WORDS, *WORDS, None, None]
    for row, side in zip(cells(chapter, "exercise-window"), (0, 1, 2), strict=True):
        two, six = (sentence[i + 2 - side : i + 3 + side] for i in (1, 5))
        assert row == [str(2 * side + 1), "✓" if two == six else "✗"]
    quarters = [(1, 1), (2, 2), (-1, 2)]
    points = [(Fraction(x, 4), Fraction(y, 4)) for x, y in quarters]
    check_mixtures(chapter, "exercise-inside", points)


def test_wrong_axis(chapter):
    shares = torch.tensor([[1.0, 1, 1], [16, 1, 1], [1, 1, 1]], dtype=torch.float64)
    says = torch.tensor([[1.0, 0], [0, 0], [1, 0]], dtype=torch.float64)
    sums = vectors(chapter, "exercise-bug", "sums of the rows")
    outputs = vectors(chapter, "exercise-bug", "output 2")
    for axis in (0, 1):
        weights = torch.nn.functional.normalize(shares, p=1, dim=axis)
        assert_printed(sums[axis], weights.sum(1).tolist(), 2)
        assert_printed(outputs[axis], (weights @ says)[1].tolist(), 2)
    # 16/18 + 1/3 of the columns' sums, and (16 + 1)/18 of the row's.
    assert chapter.values("exercise-bug") == ["[1.22, 0.00]", "[0.94, 0.00]"]
    assert outputs[0][0] > 1  # beyond every vector that is averaged


def test_only_what_stands_before(chapter):
    check_averages(chapter, "exercise-before", [attend_by_hand(WORDS[: i + 1], i) for i in (1, 3)])
    assert attend_by_hand(WORDS[:2], 1)[1] != attend_by_hand(WORDS, 3)[1]
