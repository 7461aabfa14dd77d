"""The chapter "positions": its functions against mpmath, complex numbers and torch."""

from __future__ import annotations

import cmath
import itertools
import re
import statistics
from fractions import Fraction
from math import cos, pi, sin, sqrt
from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from torch.nn.functional import scaled_dot_product_attention

from attention_docs.attention_function import attention
from attention_docs.heads import load_vectors
from attention_docs.positions import (
    Pairing,
    frequencies,
    learned,
    permutation_matrix,
    rope,
    rotation,
    sinusoids,
)
from tests.exact import (
    KEYS,
    QUERIES,
    VALUES,
    W_KEY,
    W_QUERY,
    W_VALUE,
    X,
    assert_printed,
    attention_weights,
    dot,
    product,
    softmax,
)
from tests.page import parse_number, vector_of

seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([2, 4, 6, 10, 16])
PAIRINGS = ("interleaved", "half-split")
AT_OFFSET_2 = ((2, 0), (7, 5), (102, 100))


# The formulas, written down once more: nothing below comes from the package.


def exact(t: float, d: int) -> list[float]:
    """One row of the encoding, in 40 digits."""
    with mpmath.workdps(40):
        row = []
        for i in range(d // 2):
            angle = mpmath.mpf(t) / mpmath.power(10000, mpmath.mpf(2 * i) / d)
            row += [float(mpmath.sin(angle)), float(mpmath.cos(angle))]
        return row


def partner_places(d: int, pairing: str) -> list[tuple[int, int]]:
    half = d // 2
    if pairing == "interleaved":
        return [(2 * i, 2 * i + 1) for i in range(half)]
    return [(i, i + half) for i in range(half)]


def turned(x: list[float], t: float, pairing: str = "interleaved") -> list[float]:
    """RoPE by complex multiplication."""
    out = [0.0] * len(x)
    for i, (a, b) in enumerate(partner_places(len(x), pairing)):
        z = complex(x[a], x[b]) * cmath.exp(1j * t * 10000 ** (-2 * i / len(x)))
        out[a], out[b] = z.real, z.imag
    return out


# The functions.


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=5), sizes)
def test_sinusoids_against_mpmath(positions: list[int], d: int) -> None:
    wanted = np.array([exact(t, d) for t in positions])
    np.testing.assert_allclose(sinusoids(np.array(positions, float), d), wanted, atol=1e-11)
    got = sinusoids(torch.tensor(positions, dtype=torch.float32).reshape(1, -1), d)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got[0], wanted, atol=5e-3)


@given(sizes, st.sampled_from([10.0, 500.0, 10000.0]))
def test_frequencies(d: int, base: float) -> None:
    omega = frequencies(d, base)
    assert omega.shape == (d // 2,)
    for i, one in enumerate(omega):
        with mpmath.workdps(40):
            wanted = float(mpmath.power(base, -mpmath.mpf(2 * i) / d))
        assert one == pytest.approx(wanted, rel=1e-13)


@given(st.integers(-50, 50), st.integers(0, 300), sizes)
def test_shift_is_a_rotation(offset: int, t: int, d: int) -> None:
    shifted = np.array(exact(t, d)) @ rotation(-offset, d)
    np.testing.assert_allclose(shifted, exact(t + offset, d), atol=1e-11)


@given(seeds, sizes, st.sampled_from(PAIRINGS))
def test_rope_against_complex_numbers(seed: int, d: int, pairing: Any) -> None:
    rng = np.random.default_rng(seed)
    x, positions = rng.normal(size=(3, d)), rng.integers(0, 500, 3).astype(float)
    wanted = [turned(list(row), t, pairing) for row, t in zip(x, positions, strict=True)]
    np.testing.assert_allclose(rope(x, positions, pairing=pairing), wanted, atol=1e-10)
    matrices = [row @ rotation(t, d, pairing=pairing) for row, t in zip(x, positions, strict=True)]
    np.testing.assert_allclose(matrices, wanted, atol=1e-10)


@given(seeds, sizes)
def test_rope_against_torch_complex(seed: int, d: int) -> None:
    """The form of the original Llama code, over batch and heads, with its gradient."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, 3, 5, d, dtype=torch.float64, generator=generator).requires_grad_()
    t = torch.arange(5, dtype=torch.float64) + 7
    omega = torch.pow(10000.0, -torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = torch.outer(t, omega)
    z = torch.view_as_complex(x.reshape(2, 3, 5, -1, 2)) * torch.polar(
        torch.ones_like(angles), angles
    )
    wanted = torch.view_as_real(z).flatten(3)
    got = rope(x, t)
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)
    up = torch.randn(wanted.shape, dtype=torch.float64, generator=generator)
    (gradient,) = torch.autograd.grad(got, x, up, retain_graph=True)
    (expected,) = torch.autograd.grad(wanted, x, up)
    torch.testing.assert_close(gradient, expected, rtol=0, atol=1e-12)


def test_rope_computes_angles_in_the_positions_dtype() -> None:
    x = torch.ones(1, 4, dtype=torch.bfloat16)
    t = torch.tensor([257.0])  # bfloat16 would make it 256
    got = rope(x, t)
    assert got.dtype == torch.bfloat16
    np.testing.assert_allclose(got.float()[0], turned([1.0] * 4, 257), atol=2e-2)
    assert abs(turned([1.0] * 4, 257)[0] - turned([1.0] * 4, 256)[0]) > 0.4


def test_rope_leaves_its_input_alone_and_broadcasts() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    one = rope(x, np.array([[5.0]]))
    assert x.tolist() == np.arange(24.0).reshape(2, 3, 4).tolist()
    np.testing.assert_allclose(one, x @ rotation(5, 4), atol=1e-12)


@given(seeds, st.lists(st.integers(0, 6), max_size=9))
def test_learned_is_torch_embedding(seed: int, positions: list[int]) -> None:
    table = torch.randn(7, 3, generator=torch.Generator().manual_seed(seed))
    wanted = torch.nn.functional.embedding(torch.tensor(positions, dtype=torch.int64), table)
    assert torch.equal(learned(table, positions), wanted)
    assert learned(table.numpy(), positions).tolist() == wanted.tolist()


# The published numbers.


def eight_steps(inputs: torch.Tensor) -> torch.Tensor:
    """torch's attention with the parameters of the eight steps."""
    parameters = [torch.tensor(w, dtype=torch.float64) for w in (W_QUERY, W_KEY, W_VALUE)]
    return torch.nn.functional.scaled_dot_product_attention(*(inputs @ w for w in parameters))


THREE = torch.tensor(X, dtype=torch.float64)
COUNT = torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 2]], dtype=torch.float64)
BACK = [2, 1, 0]


def test_words_to_scrub(chapter):
    """Two words two positions apart; from hand to hand the frequency falls by √10."""
    angles = [2 / mpmath.sqrt(10) ** i for i in range(4)]
    cosines = [mpmath.cos(angle) for angle in angles]
    said = chapter.figure("scrub")
    shown = [f"{float(one):.2f}".replace("-", "−") for one in (*cosines, sum(cosines))]
    assert f"between them: {', '.join(shown[:4])}." in said
    assert said.endswith(f"2.0 apart: the dot product is {shown[4]}.")


def test_order(chapter):
    """The two boxes of the figure, cell by cell."""
    there = eight_steps(THREE).numpy()
    said = chapter.figure("order")
    drawn = np.reshape([float(one) for one in re.findall(r"\d+\.\d{2}", said)], (2, 3, 3))
    assert_printed(drawn, [there, there[BACK]], 2)
    assert drawn[1].tolist() == drawn[0].tolist()[::-1]
    assert_printed(float(chapter.values("positions")[0]), there[1, 0], 2)


def test_broken(chapter):
    there = eight_steps(THREE + COUNT).numpy()
    turned_round = eight_steps(THREE[BACK] + COUNT).numpy()
    rows = chapter.table("broken")
    assert_printed([vector_of(row["dog bites man"]) for row in rows], there)
    assert_printed([vector_of(row["man bites dog"]) for row in rows], turned_round[BACK])
    difference = abs(there[1] - turned_round[1]).max()
    assert_printed(chapter.numbers("broken")[-1], difference)
    assert difference > 1


def test_count(chapter):
    """By torch's softmax: a position written as a number takes all of the weight."""
    rows = chapter.table("count")
    w_q, w_k = (torch.tensor(w, dtype=torch.float64) for w in (W_QUERY, W_KEY))
    ones = torch.tensor([0, 0, 0, 1], dtype=torch.float64)
    for row, start in zip(rows, (0, 10, 100, 1000), strict=True):
        assert row[""] == f"starts at {start}"
        placed = THREE + COUNT + start * ones
        weights = torch.softmax(placed[1] @ w_q @ (placed @ w_k).T / sqrt(3), dim=-1)
        found = [parse_number(row[word]) for word in ("dog", "bites", "man")]
        assert_printed(found, weights.numpy())
    assert found == [0, 0, 1]


def test_counter(chapter):
    """Python's own binary numbers, the ones first; how many digits flip in a step."""
    said = chapter.figure("counter")
    wanted = [[int(digit) for digit in f"{t:04b}"[::-1]] for t in range(16)]
    rows = re.findall(r"(\d+): ([01]), ([01]), ([01]), ([01])\.", said)
    assert [[int(one) for one in row] for row in rows] == [[t, *wanted[t]] for t in range(16)]
    flips = [sum(a != b for a, b in zip(wanted[t], wanted[t + 1], strict=True)) for t in range(15)]
    assert (flips[7], flips[8]) == (4, 1)  # from 7 to 8 and from 8 to 9
    changes = [
        sum(row[c] != after[c] for row, after in itertools.pairwise(wanted)) for c in range(4)
    ]
    assert changes == [15, 7, 3, 1]


@pytest.mark.parametrize("t", [-3, 0, 1, 7])
def test_powers(t):
    """RoPE as a matrix: at every position a power of the one at position 1."""
    first, later = (rope(np.eye(6), np.full(6, float(u))) for u in (1, t))
    np.testing.assert_allclose(later, np.linalg.matrix_power(first, t), atol=1e-12)


def test_forced(chapter):
    """A cyclic shift of five components: the fifth roots of unity are its eigenvalues."""
    shift = np.roll(np.eye(5), 1, axis=1)
    roots = np.exp(2j * np.pi * np.arange(5) / 5)
    waves = roots[:, None] ** np.arange(5)  # one eigenvector per root, as a row
    np.testing.assert_allclose(waves @ shift, waves / roots[:, None], atol=1e-12)
    assert chapter.column("forced", "angle in degrees") == [360 / 5, 2 * 360 / 5]


def test_sinusoids(chapter):
    wanted = np.array([exact(t, 4) for t in range(4)])
    columns = ("sin t", "cos t", "sin t/100", "cos t/100")
    found = np.transpose([chapter.column("by-hand", name) for name in columns])
    assert found == pytest.approx(wanted, abs=6e-7)
    assert chapter.column("frequencies", "frequency") == [1, 0.1, 0.01, 0.001]
    waves = [2 * pi * 10**i for i in range(4)]
    assert chapter.column("frequencies", "wavelength") == pytest.approx(waves, abs=6e-3)
    longest = float(chapter.output("frequencies").split(": ")[1].replace(",", ""))
    assert longest == round(float(2 * mpmath.pi * mpmath.power(10000, mpmath.mpf(510) / 512)))
    assert longest < 2 * pi * 10000


def test_turn(chapter):
    """Every frame: where the hands stand, the cosines below them, their sum."""
    frames = chapter.frames("turn")
    settings = [(m, b) for m in (1, 3, 6, 44) for b in (10000, 100, 500000)]
    for frame, (offset, base) in zip(frames, settings, strict=True):
        (said,) = frame.labels
        omega = [mpmath.power(base, -mpmath.mpf(2 * i) / 8) for i in range(4)]
        angles = re.findall(r"(\d+)°[^\d°]+(\d+)°", said)
        for (start, end), (t, i) in zip(
            angles, [(t, i) for t in (0, 9) for i in range(4)], strict=True
        ):
            for shown, at in ((start, t), (end, t + offset)):
                error = (mpmath.mpf(int(shown)) - mpmath.degrees(omega[i] * at)) % 360
                assert min(error, 360 - error) <= 0.5001
        cosines = [mpmath.cos(one * offset) for one in omega]
        assert_printed(
            [parse_number(one) for one in re.findall(r"cos = (−?\d\.\d{3})", said)], cosines, 3
        )
        total = re.search(r"−?\d\.\d{3}", frame.caption)
        assert total
        assert_printed(parse_number(total[0]), sum(cosines), 3)
        assert frame.caption.startswith(f"Δ = {offset}, {base}. ")


def test_spacing(chapter):
    """Distances by chords: 2 sin(a/2) between two points of a circle at angle a."""

    def distance(t: int, omega: list[float]) -> float:
        return sqrt(sum((2 * sin(one * t / 2)) ** 2 for one in omega))

    equal = [1 - 2 * i / 16 for i in range(8)]
    geometric = [10000 ** (-2 * i / 16) for i in range(8)]
    assert equal[-1] == 2 / 16
    values = [float(one) for one in chapter.values("base")[:3]]
    assert_printed(values[0], distance(50, equal), 2)
    assert values[1] == 160
    assert_printed(values[2], min(distance(t, geometric) for t in range(1, 161)), 2)
    assert all(distance(t, geometric) > 2 * distance(50, equal) for t in range(1, 161))
    # All hands are back after πd tokens, as the page says: no whole number, but near 50.
    period = pi * 16
    assert distance(period, equal) == pytest.approx(0, abs=1e-12)  # type: ignore[arg-type]
    assert round(period) == 50


def test_bases(chapter):
    """Hands counted in whole turns, with 40 digits."""
    reached = {}
    with mpmath.workdps(40):
        names = ("base", "longest wavelength", "full turns", "by formula", "hands")
        rows = zip(*(chapter.column("bases", name) for name in names), strict=True)
        for base, longest, counted, formula, pairs in rows:
            omega = [mpmath.power(base, -mpmath.mpf(2 * i) / 64) for i in range(32)]
            assert pairs == len(omega)
            assert longest == int(mpmath.nint(2 * mpmath.pi / omega[-1]))
            reached[base] = sum(int(512 * one / (2 * mpmath.pi)) >= 1 for one in omega)
            assert counted == formula == reached[base]
    assert list(reached) == [100, 10000, 500000]
    assert chapter.values("compared") == [str(32 - reached[10000])]


def test_distinct(chapter):
    distances = chapter.column("distinct", "distance")
    assert chapter.column("distinct", "d") == [2, 4, 8]
    for d, distance in zip((2, 4, 8), distances, strict=True):
        chords = [2 * sin(44 * 10000 ** (-2 * i / d) / 2) for i in range(d // 2)]
        assert_printed(distance, sqrt(dot(chords, chords)))


def test_shift(chapter):
    wanted = np.zeros((4, 4))
    for i, angle in enumerate((3, 3 / 100)):
        wanted[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [
            [cos(angle), -sin(angle)],
            [sin(angle), cos(angle)],
        ]
    assert_printed(chapter.matrix("shift", "R"), wanted)


def test_gram(chapter):
    rows = [exact(t, 4) for t in range(4)]
    wanted = np.array([[dot(a, b) for b in rows] for a in rows])
    gram = np.array(chapter.grid("gram"))
    assert chapter.names("gram") == [f"position {t}" for t in range(4)]
    assert_printed(gram, wanted)
    assert gram[0, 0] == 4 / 2
    assert_printed(gram[0], [cos(m) + cos(m / 100) for m in range(4)])
    for step in range(4):
        assert len(set(np.diag(gram, step))) == 1


def test_gram_lines(chapter):
    shares = {}
    assert chapter.column("gram-lines", "offset Δ") == list(range(7))
    for d in (2, 8, 64):
        shares[d] = [dot(exact(0, d), exact(t, d)) / (d / 2) for t in range(7)]
        assert chapter.column("gram-lines", f"d = {d}") == pytest.approx(shares[d], abs=6e-4)
    far, near = (float(value) for value in chapter.values("nearness"))
    assert far == pytest.approx(shares[8][6], abs=6e-4)
    assert near == pytest.approx(shares[8][2], abs=6e-4)
    assert far > near


def test_projections(chapter):
    rows = [tuple(row.values()) for row in chapter.table("projections")]
    assert rows == [("identity I", "✓", "✓"), ("R", "✓", "✓"), ("S", "✗", "✗")]
    squares = [sin(t) ** 2 for t in range(3)]
    assert_printed(chapter.array("projections"), squares)


def test_learned(chapter):
    assert chapter.grid("learned") == [[5, 1], [2, 0], [1, 4]]
    assert chapter.output("learned").endswith("one for each row of the table, got 4")
    sizes = chapter.table("learned-size")
    for (n_max, d), row in zip(((512, 768), (1024, 768)), sizes, strict=True):
        weight = torch.nn.Embedding(n_max, d, device="meta").weight
        assert [row["n_max"], row["d"]] == [str(n_max), str(d)]
        assert row["parameters"] == f"{weight.numel():,}"
    # The gradient of an unused row is 0, as the page says.
    rows = torch.tensor([[5.0, 1], [2, 0], [1, 4], [0, 2]], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([[1.0, 0], [0, 1], [1, 1]]) + rows[:3]
    outputs = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    for name in ("output before", "output after"):
        found = [vector_of(row[name]) for row in chapter.table("untrained")]
        assert_printed(found, outputs.detach().numpy())
    outputs.square().sum().backward()
    assert rows.grad is not None
    assert rows.grad[3].tolist() == [0, 0]
    assert (rows.grad[:3] != 0).any()


def test_bias(chapter):
    """e^(-m) is 1/2: the weights of the fifth token are 1, 2, 4, 8, 16 in 31."""
    halves = [Fraction(1, 2) ** (4 - u) for u in range(5)]
    wanted = [31 * one / sum(halves) for one in halves]
    assert chapter.grid("bias") == [wanted] == [[1, 2, 4, 8, 16]]


def test_causal_only(chapter):
    """By torch's own causal attention; and 1/(t + 1)."""
    parameters = [torch.tensor(w, dtype=torch.float64) for w in (W_QUERY, W_KEY, W_VALUE)]
    for i, inputs in enumerate((THREE, THREE[BACK])):
        out = torch.nn.functional.scaled_dot_product_attention(
            *(inputs @ w for w in parameters), is_causal=True
        )
        assert_printed(chapter.array("causal-only", i), out[1].numpy())
    bites, turned_round = (chapter.array("causal-only", i) for i in (0, 1))
    assert abs(bites - turned_round).max() > 0.1
    wanted = [Fraction(1, t + 1) for t in range(6)]
    assert_printed(chapter.array("causal-only", 2), wanted)
    zeros, values = torch.zeros(1, 6, 1), torch.tensor([[[1.0]] + [[0.0]] * 5])
    ours = torch.nn.functional.scaled_dot_product_attention(zeros, zeros, values, is_causal=True)
    assert ours.flatten().tolist() == pytest.approx([float(one) for one in wanted])


Q, K = [1.0, 2, 3, 4], [2.0, 0, 1, 1]


def test_rope(chapter):
    values = chapter.column("rope", "product")
    places = zip(*(chapter.column("rope", name) for name in ("t", "u", "t − u")), strict=True)
    pairs = ((0, 0), *AT_OFFSET_2, (0, 2))
    assert list(places) == [(t, u, t - u) for t, u in pairs]
    for (t, u), value in zip(pairs, values, strict=True):
        assert_printed(value, dot(turned(Q, t), turned(K, u)))
    assert values[0] == dot(Q, K) == 9
    assert values[1] == values[2] == values[3] != values[4]
    first, second, total = chapter.column("rope-by-hand", "product")
    assert_printed(first, 2 * cos(2) - 4 * sin(2))
    assert_printed(second, 7 * cos(2 / 100) - sin(2 / 100))
    assert total == values[1]
    assert chapter.numbers("rope-by-hand")[-1] == 1 + 4 + 9 + 16


def test_pairings(chapter):
    for i, pairing in enumerate(PAIRINGS):
        wanted = turned(Q, 1, pairing)
        row = chapter.table("pairings")[i]
        assert_printed([parse_number(row[f"component {c}"]) for c in range(4)], wanted)


CONTENT = {"I": ("saw", 1), "saw": ("I", 1), "a": ("saw", 2)}  # who looks for whom
WORDS = ["I", "saw", "a", "saw"]
KINDS = ["I", "saw", "a"]


def received(weights: list[float]) -> list[float]:
    """What I, saw and a get in all."""
    return [sum(w for w, word in zip(weights, WORDS, strict=True) if word == k) for k in KINDS]


def test_saw(chapter):
    kinds = ["pronoun", "verb", "determiner", "noun"]
    # In the slow pair a query of length 2s stands at 0° or 90°, and the key of its word, too.
    query = {"I": [4, 0, 0, 2], "saw": [4, 0, 2, 0], "a": [4, 0, 0, 4]}
    side = {"I": [1, 0], "saw": [0, 1], "a": [0, 0]}
    key = {kind: [cos(1), sin(1), *side[kind]] for kind in KINDS}
    scores = [
        [dot(turned(query[word], t), turned(key[other], u)) / 2 for u, other in enumerate(WORDS)]
        for t, word in enumerate(WORDS)
    ]
    weights = [softmax(row) for row in scores]
    content = chapter.table("saw-content")
    for shown, wanted in zip(list(content[0])[1:], (query, key), strict=True):
        assert_printed([vector_of(row[shown]) for row in content], [wanted[k] for k in KINDS])
    for word, (to, strength) in CONTENT.items():
        products = [dot(query[word][2:], side[kind]) / 2 for kind in KINDS]
        assert products == [strength * (kind == to) for kind in KINDS]
    # The sentences: 3, 2 and 1 + 2 cos 2, but for the turn of the slow pair.
    for found, said in ((scores[1][0], 3), (scores[3][2], 2), (scores[3][0], 1 + 2 * cos(2))):
        assert abs(found - said) < 1e-3
    found = [list(row.values()) for row in chapter.table("saw-scores")]
    assert_printed([[parse_number(one) for one in row[1:]] for row in found], scores)
    assert [row[0] for row in found] == [f"{word} {i + 1}" for i, word in enumerate(WORDS)]
    said = [frame.labels[0] for frame in chapter.frames("saw-weights")]
    first = [re.split(r"[.。](?!\d)", one)[0] for one in said]  # the scores come after
    drawn = [[float(one) for one in re.findall(r"\d\.\d{2}(?!\d)", row)] for row in first]
    assert_printed(np.reshape(drawn, (4, 4)), weights, 2)
    tags = {"I": [1, 0, 0, 0], "saw": [0, 1, 0, 1], "a": [0, 0, 1, 0]}
    rows = [list(row.items())[1:] for row in chapter.table("saw-tags")]
    assert [name for name, _ in rows[0][:4]] == kinds
    for i, (word, row) in enumerate(zip(WORDS, weights, strict=True)):
        got_i, _, got_a = received(row)
        wanted = np.array(tags[word]) + np.array([0, got_i, 0, got_a])
        *found, (_, largest) = rows[i]
        assert_printed([parse_number(cell) for _, cell in found], wanted)
        assert largest == kinds[i]
    assert_printed(
        [float(value) for value in chapter.values("saw")[:3]],
        [weights[1][0], weights[3][2], scores[3][0]],
        2,
    )


def test_the_words_of_the_sentence_in_chinese(page):
    chapter = page("zh", "positions")
    assert [row[""] for row in chapter.table("saw-scores")] == ["他 1", "画 2", "的 3", "画 4"]
    rows = [list(row.items())[1:] for row in chapter.table("saw-tags")]
    kinds = ["代词", "动词", "助词", "名词"]
    assert [name for name, _ in rows[0][:4]] == [row[-1][1] for row in rows] == kinds


def test_saw_hands(chapter):
    wanted = [
        [
            CONTENT[word][1] * (other == CONTENT[word][0]) + 2 * cos(t - 1 - u)
            for u, other in enumerate(WORDS)
        ]
        for t, word in enumerate(WORDS)
    ]
    rows = [list(row.values())[1:] for row in chapter.table("saw-hands")]
    assert_printed([[parse_number(one) for one in row] for row in rows], wanted)


def test_mistake_exponent(chapter):
    exponents = {
        "2i/d": [0, 0, 2 / 4, 2 / 4],
        "2c/d": [0, 2 / 4, 4 / 4, 6 / 4],
        "c/d": [0, 1 / 4, 2 / 4, 3 / 4],
        "i/d": [0, 0, 1 / 4, 1 / 4],
    }
    found = {one[""]: one for one in chapter.table("mistake-exponent")}
    assert list(found) == list(exponents)
    circle = {}
    for name, row in exponents.items():
        squares = [
            sum((cos if c % 2 else sin)(t / 10000**e) ** 2 for c, e in enumerate(row))
            for t in range(4)
        ]
        assert_printed(vector_of(found[name]["squared norms"]), squares)
        circle[name] = found[name]["offset only?"]
    assert circle == {"2i/d": "✓", "2c/d": "✗", "c/d": "✗", "i/d": "✓"}
    assert chapter.values("exponents-compared") == ["0.10", "0.01"]
    (right,) = chapter.table("mistake-exponent-right")
    assert vector_of(right["squared norms"]) == [2, 2, 2, 2]
    assert right["offset only?"] == "✓"


def test_mistake_odd(chapter):
    alone = [2 + sin(t / 10000 ** (4 / 5)) ** 2 for t in (0, 1000, 2000, 3000)]
    (wrong,) = chapter.table("mistake-odd")
    assert_printed(vector_of(wrong["squared norms"]), alone)
    assert wrong["offset only?"] == "✗"
    error = chapter.output("mistake-odd-right").splitlines()[0]
    assert error.startswith("ValueError: d must be even")
    assert error.endswith("got 5")
    assert chapter.array("mistake-odd-right").tolist() == [3, 3, 3, 3]


def mixed(x: list[float], t: float) -> list[float]:
    """Partners (0, 2) and (1, 3); each component turns by the angle of its place in pairs."""
    angles = [t, t, t / 100, t / 100]
    partners = [-x[2], -x[3], x[0], x[1]]
    return [a * cos(g) + b * sin(g) for a, b, g in zip(x, partners, angles, strict=True)]


def test_mistake_pairing(chapter):
    wanted = [dot(mixed(Q, t), mixed(K, u)) for t, u in AT_OFFSET_2]
    assert_printed(chapter.column("mistake-pairing", "score"), wanted)
    assert len({round(value, 1) for value in wanted}) == 3
    squares = chapter.column("mistake-pairing", "squared norm of q")
    assert_printed(squares, [dot(mixed(Q, t), mixed(Q, t)) for t, _ in AT_OFFSET_2])
    assert min(abs(square - dot(Q, Q)) for square in squares) > 0.5
    right = [
        dot(turned(Q, t, pairing), turned(K, u, pairing))
        for pairing in PAIRINGS
        for t, u in AT_OFFSET_2
    ]
    got = chapter.column("mistake-pairing-right", "score")
    assert_printed(got, right)
    assert len(set(got[:3])) == len(set(got[3:])) == 1
    two = [dot(turned(Q, t), turned(K, u, "half-split")) for t, u in AT_OFFSET_2]
    found = chapter.column("mistake-two", "score")
    assert_printed(found, two)
    assert found[0] == got[0]
    for block in ("mistake-pairing", "mistake-two"):
        places = zip(chapter.column(block, "t"), chapter.column(block, "u"), strict=True)
        assert list(places) == list(AT_OFFSET_2)


def test_exercises(chapter):
    row = [sin(10), cos(10), sin(1), cos(1)]
    later = [sin(12), cos(12), sin(6 / 5), cos(6 / 5)]
    assert_printed(chapter.array("exercise-row"), row)
    assert_printed(chapter.numbers("exercise-row")[-1], dot(row, later))
    products = [dot(row, later), cos(2) + cos(1 / 50), cos(2) + cos(2)]
    assert_printed([float(one) for one in chapter.values("exercise-row")], products)
    names = ("base", "bound", "full turns")
    rows = zip(*(chapter.column("exercise-turn", name) for name in names), strict=True)
    for (base, bound, reached), wanted in zip(rows, (10000, 500000), strict=True):
        assert base == wanted
        assert_printed(bound, 32 * mpmath.log(50 / mpmath.pi) / mpmath.log(base), 2)
        waves = [2 * pi * base ** (i / 32) for i in range(32)]
        assert reached == sum(wave <= 100 for wave in waves)
    counts = [sum(2 * pi * base ** (i / 32) <= 100 for i in range(32)) for base in (10000, 500000)]
    wanted = [str(one) for count in counts for one in (count, count - 1)]
    assert chapter.values("exercise-turn") == wanted
    found = chapter.column("exercise-before", "score")
    assert_printed(found, [dot(turned(Q, t), turned(K, u)) for t, u in ((1, 0), (0, 1))])
    rows = [exact(t, 8) for t in range(12)]
    aims = [[dot(exact(t + 2, 8), row) for row in rows] for t in range(12)]
    best = [row.index(max(row)) for row in aims]
    assert chapter.column("exercise-ahead", "t") == list(range(12))
    assert chapter.column("exercise-ahead", "position of the largest product") == best
    assert best[:10] == list(range(2, 12))
    assert chapter.values("exercise-ahead") == [str(best[0]), str(best[11]), "11"]
    scores = [dot(Q, turned(K, u)) for _, u in AT_OFFSET_2]
    assert_printed(chapter.column("exercise-keys", "score"), scores)
    assert len({round(one, 1) for one in scores}) == 3
    assert torch.tensor(2049.0).half() == torch.tensor(2048.0).half()
    assert torch.tensor(2047.0).half() != torch.tensor(2048.0).half()
    assert chapter.values("exercise-half") == ["2048", "2049"]
    same = [tuple(row.values()) for row in chapter.table("exercise-half")]
    assert same == [("float16", "✓"), ("float32", "✗")]
    length, angle = chapter.numbers("exercise-commute")
    assert_printed(length, 5)  # 3² + 4² = 5²
    assert_printed(angle, mpmath.acos(mpmath.mpf(3) / 5))


@pytest.mark.parametrize("pairing", ["interleaved", "half-split"])
def test_a_batch_is_turned_as_complex_numbers(pairing: Pairing) -> None:
    """With sizes of which none is another: an axis counted from the wrong end is seen."""
    x, t = np.random.default_rng(3).normal(size=(2, 7, 3, 4)), np.arange(3.0)
    first, second = {"interleaved": ([0, 2], [1, 3]), "half-split": ([0, 1], [2, 3])}[pairing]
    z = (x[..., first] + 1j * x[..., second]) * np.exp(1j * t[:, None] * np.array([1, 0.01]))
    got = rope(x, t, pairing=pairing)
    np.testing.assert_allclose(got[..., first], z.real, rtol=0, atol=1e-12)
    np.testing.assert_allclose(got[..., second], z.imag, rtol=0, atol=1e-12)


def test_a_base_below_one_is_a_base() -> None:
    """(1/2)^0 and (1/2)^(-1/2) = √2: the second pair turns faster."""
    np.testing.assert_allclose(frequencies(4, 0.5), [1, 2**0.5], rtol=1e-15)


def test_the_base_is_10000_where_none_is_given() -> None:
    """10000^(-1/2) = 1/100 in a double, for all that take a base."""
    assert frequencies(4).tolist() == [1, 0.01]
    np.testing.assert_array_equal(sinusoids(np.array([1.0]), 4)[0, 2], np.sin(0.01))
    assert rotation(1, 4)[2, 3] == np.sin(0.01)
    assert rope(np.array([[0, 0, 1.0, 0]]), np.array([1.0]))[0, 3] == np.sin(0.01)


def test_a_trained_head_that_looks_one_back(chapter):
    """The weights next to the diagonal, with RoPE by complex numbers, and without it."""
    q, k = (torch.from_numpy(one).reshape(-1, 32, 2) for one in load_vectors(16, 0))
    angles = torch.outer(torch.arange(len(q)).double(), 1e5 ** (-torch.arange(32).double() / 32))
    turn = torch.polar(torch.ones_like(angles), angles)
    products = ((torch.view_as_complex(q) * turn) @ (torch.view_as_complex(k) * turn).conj().T).real
    plain = (q.flatten(1) @ k.flatten(1).T)[:16, :16]
    hidden = torch.ones(16, 16, dtype=torch.bool).triu(1)
    maps = [
        (one / 8).masked_fill(hidden, -torch.inf).softmax(dim=-1)
        for one in (products[:16, :16], plain)
    ]
    wanted = [f"{one.diagonal(-1).mean().item():.2f}" for one in maps]
    # The same vectors in other orders, the first token kept first: other orders than the page's.
    generator, turn, shares = torch.Generator().manual_seed(7), turn[:16], []
    for _ in range(400):
        order = [0, *(1 + torch.randperm(15, generator=generator)).tolist()]
        turned_q, turned_k = (torch.view_as_complex(one[order]) * turn for one in (q, k))
        products = (turned_q @ turned_k.conj().T).real / 8
        weights = products.masked_fill(hidden, -torch.inf).softmax(dim=-1)
        shares.append(weights.diagonal(-1).mean().item())
    *said, count, mean, deviation = chapter.values("real-head")
    assert (said, count) == (wanted, "100")
    assert float(mean) == pytest.approx(statistics.mean(shares), abs=0.011)
    assert float(deviation) == pytest.approx(statistics.pstdev(shares), abs=0.011)


# The order of the tokens.


def scaled_weights() -> list[list[Any]]:
    """The weights of the eight steps, divided by √3."""
    return attention_weights(QUERIES, KEYS, mpmath.sqrt(3))


def attend_by_torch(query: Any, key: Any, value: Any) -> Any:
    tensors = [torch.from_numpy(np.ascontiguousarray(a)) for a in (query, key, value)]
    return scaled_dot_product_attention(*tensors).numpy()


@given(st.tuples(*[st.integers(1, 6)] * 4), seeds, st.randoms(use_true_random=False))
def test_permutation_equivariance(sizes: Any, seed: int, chance: Any) -> None:
    n, d_model, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d_model))
    w_q, w_k, w_v = (rng.normal(size=(d_model, d)) for d in (d_k, d_k, d_v))
    order = chance.sample(range(n), n)
    P = permutation_matrix(order)
    np.testing.assert_array_equal(P @ x, x[order])
    np.testing.assert_array_equal(P.T @ P, np.eye(n))
    outputs, weights = attention(x @ w_q, x @ w_k, x @ w_v)
    moved = x[order]
    moved_outputs, moved_weights = attention(moved @ w_q, moved @ w_k, moved @ w_v)
    np.testing.assert_allclose(moved_outputs, outputs[order], rtol=0, atol=1e-10)
    np.testing.assert_allclose(moved_weights, weights[order][:, order], rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        attend_by_torch(moved @ w_q, moved @ w_k, moved @ w_v), outputs[order], rtol=0, atol=1e-10
    )


def test_permuted(chapter: Any) -> None:
    order = [2, 0, 1]
    moved = chapter.table("permuted")
    assert [line[""] for line in moved] == ["token 3", "token 1", "token 2"]
    assert_printed([vector_of(line["input"]) for line in moved], [X[i] for i in order], 0)
    assert_printed(
        [vector_of(line["output"]) for line in moved],
        [product(scaled_weights(), VALUES)[i] for i in order],
        4,
    )
    drawn = [float(one) for one in re.findall(r"\d\.\d{4}", chapter.figure("permuted-figure"))]
    assert_printed(drawn, [scaled_weights()[i][j] for i in order for j in order], 4)
    assert chapter.values("order-run") == [f"{float(scaled_weights()[2][1]):.4f}"]


def test_keys_are_a_set() -> None:
    order = [2, 0, 1]
    query, key, value = (np.array(a, dtype=float) for a in (QUERIES, KEYS, VALUES))
    plain = attend_by_torch(query, key, value)
    both = attend_by_torch(query, key[order], value[order])
    np.testing.assert_allclose(both, plain, atol=1e-12)
    assert np.abs(attend_by_torch(query, key[order], value) - plain).max() > 1


def test_a_causal_mask_breaks_equivariance(chapter: Any) -> None:
    """What the exercise on a mask prints, with torch's own function: True takes part there too."""
    order = [2, 0, 1]
    query, key, value = (torch.tensor(a, dtype=torch.float64) for a in (QUERIES, KEYS, VALUES))
    causal = torch.ones(3, 3, dtype=torch.bool).tril()
    wanted = scaled_dot_product_attention(query, key, value, causal)[order]
    moved = query[order], key[order], value[order]
    stays = scaled_dot_product_attention(*moved, causal)
    moves = scaled_dot_product_attention(*moved, causal[order][:, order])
    assert (stays - wanted).abs().max() > 1
    torch.testing.assert_close(moves, wanted)
    answers = [line["outputs permuted alike?"] for line in chapter.table("exercise-mask")]
    assert answers == ["✗", "✓"]
