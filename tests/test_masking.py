"""Masks: their properties, and the numbers that the chapter prints."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attention_docs.attention_function import attention
from attention_docs.heads import load_vectors
from attention_docs.masking import apply_mask, causal_mask, padding_mask, truncate_and_pad
from attention_docs.softmax import softmax
from tests.conftest import ROOT, each_language, scale_examples
from tests.exact import KEYS, QUERIES, VALUES, assert_printed, attention_weights, make_test_of_asked
from tests.page import Page, read_rows, vector_of

seeds = st.integers(0, 2**32 - 1)
few = scale_examples(40)

LOWER = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
ALL = [[1, 1, 1]] * 3
V = np.array(VALUES)


def exact_weights(allowed: list[list[int]], scaled: bool = True) -> np.ndarray:
    """Weights of the eight steps over the allowed keys alone."""
    return np.array(
        attention_weights(QUERIES, KEYS, mpmath.sqrt(3) if scaled else 1, allowed), dtype=float
    )


# ------------------------------------------------------------------ the functions


@few
@given(n=st.integers(2, 9), seed=seeds)
def test_masked_is_absent(n: int, seed: int) -> None:
    """A masked key is as good as removed, for booleans and for floats."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=5, size=(3, n))
    keep = rng.random(n) < 0.6
    keep[rng.integers(n)] = True
    expected = np.zeros((3, n))
    powers = np.exp(scores[:, keep] - scores[:, keep].max(axis=1, keepdims=True))
    expected[:, keep] = powers / powers.sum(axis=1, keepdims=True)
    for mask in (keep, np.where(keep, 0.0, -np.inf)):
        weights = softmax(apply_mask(scores, mask))
        assert np.allclose(weights, expected, rtol=1e-12, atol=1e-14)
        assert (weights[:, ~keep] == 0).all()


@few
@given(n_q=st.integers(1, 6), n_k=st.integers(1, 7), offset=st.integers(-3, 8))
def test_causal_mask_is_tril(n_q: int, n_k: int, offset: int) -> None:
    expected = torch.ones(n_q, n_k, dtype=torch.bool).tril(offset)
    assert np.array_equal(causal_mask(n_q, n_k, offset=offset), expected.numpy())
    tensor = causal_mask(n_q, n_k, offset=offset, like=torch.empty(0))
    assert isinstance(tensor, torch.Tensor)
    assert torch.equal(tensor, expected)
    assert np.array_equal(causal_mask(n_q), np.tril(np.ones((n_q, n_q), bool)))


@few
@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=5))
def test_padding_mask_counts(lengths: list[int]) -> None:
    mask = padding_mask(np.array(lengths), 6)
    assert mask.shape == (len(lengths), 1, 6)
    for marks, length in zip(mask[:, 0], lengths, strict=True):
        assert marks.tolist() == [True] * length + [False] * (6 - length)
    heads = padding_mask(torch.tensor(lengths)[:, None], 6)
    assert heads.shape == (len(lengths), 1, 1, 6)
    assert np.array_equal(heads[:, 0].numpy(), mask)


@few
@given(
    sizes=st.lists(st.integers(0, 7), min_size=1, max_size=4), longest=st.integers(1, 8), seed=seeds
)
def test_truncate_and_pad_keeps_the_beginning(sizes: list[int], longest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sequences = [rng.normal(size=(n, 3)) for n in sizes]
    batch, lengths = truncate_and_pad(sequences, longest, padding=-5)
    assert lengths.tolist() == [min(n, longest) for n in sizes]
    assert batch.shape == (len(sizes), max(lengths), 3)
    for padded, sequence, n in zip(batch, sequences, lengths, strict=True):
        assert np.array_equal(padded[:n], sequence[:n])
        assert (padded[n:] == -5).all()


@few
@given(seed=seeds, t=st.integers(1, 10), dtype=st.sampled_from([np.float32, np.float64]))
def test_future_never_leaks(seed: int, t: int, dtype: type) -> None:
    """Whatever a later token becomes, no bit of an earlier output changes."""
    rng = np.random.default_rng(seed)
    q, k, v = (rng.normal(size=(2, 11, d)).astype(dtype) for d in (5, 5, 3))
    before, _ = attention(q, k, v, causal_mask(11))
    for array in (q, k, v):
        array[:, t] = 100 * rng.normal(size=array.shape[-1])
    after, _ = attention(q, k, v, causal_mask(11))
    assert after[:, :t].tobytes() == before[:, :t].tobytes()
    assert not np.array_equal(after[:, t], before[:, t])


@few
@given(n=st.integers(1, 7), data=st.data())
def test_fully_masked_rows(n: int, data: Any) -> None:
    """A row has no key where every place up to its own is padding, and only there."""
    real = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    both = causal_mask(n) & np.array(real)
    assert [not row.any() for row in both] == [not any(real[: i + 1]) for i in range(n)]
    length = data.draw(st.integers(1, n))
    both = causal_mask(n) & padding_mask(np.array([length]), n)[0]
    assert both.any(axis=1).all()
    # On the right, the causal mask alone hides the padding from every real token.
    assert np.array_equal(both[:length], causal_mask(n)[:length])


@few
@given(seed=seeds, length=st.integers(1, 6))
def test_padding_does_not_matter(seed: int, length: int) -> None:
    rng = np.random.default_rng(seed)
    q, k, v = (rng.normal(size=(1, 7, d)) for d in (4, 4, 2))
    mask = padding_mask(np.array([length]), 7)
    before, _ = attention(q, k, v, mask)
    alone, _ = attention(q, k[:, :length], v[:, :length])
    assert np.allclose(before, alone, rtol=0, atol=1e-12)
    k[:, length:], v[:, length:] = 1e3, -1e3
    assert attention(q, k, v, mask)[0].tobytes() == before.tobytes()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_empty_row_is_zero_in_every_dtype(dtype: torch.dtype, kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(2, n, d, generator=generator).to(dtype) for n, d in ((3, 4), (5, 4), (5, 6))
    )
    keep = torch.ones(3, 5, dtype=torch.bool)
    keep[1] = False
    mask = keep if kind == "bool" else torch.zeros(3, 5, dtype=dtype).masked_fill(~keep, -torch.inf)
    output, weights = attention(q, k, v, mask)
    assert (output[:, 1] == 0).all()
    assert (weights[:, 1] == 0).all()
    assert (output[:, 0] != 0).any()
    steps = {torch.float16: 2e-2, torch.bfloat16: 2e-1, torch.float32: 1e-5, torch.float64: 1e-12}
    assert (output - sdpa(q, k, v, attn_mask=mask)).abs().max() < steps[dtype]


def test_a_mask_may_be_a_parameter_and_must_be_of_the_scores_library() -> None:
    scores = torch.tensor([[2.0, 4.0, 1.0]], dtype=torch.float64)
    added = torch.nn.Parameter(torch.tensor([0.0, -1.5, 3.0], dtype=torch.float64))
    assert apply_mask(scores, added).tolist() == [[2.0, 2.5, 4.0]]
    with pytest.raises(TypeError, match="scores and mask must be of one library, got Tensor and"):
        apply_mask(scores, np.array([True, False, True]))


def test_apply_mask_leaves_its_arguments_alone() -> None:
    scores, mask = np.array([[2.0, 4, 4]]), np.array([True, True, False])
    apply_mask(scores, mask)
    assert scores.tolist() == [[2, 4, 4]]


# ------------------------------------------------------------ the published numbers


def test_coins(chapter: Page) -> None:
    tosses = np.random.default_rng(0).integers(0, 2, size=(20_000, 6))
    wanted, named, share = read_rows(chapter, "coins")
    assert vector_of(wanted.split(":")[1]) == tosses[0, 1:].tolist()
    assert vector_of(named.split(":")[1]) == tosses[0, 1:].tolist()
    assert share == "right, of all guesses: 100%"
    power = mpmath.exp(40 / mpmath.sqrt(6))  # one score is 40/√6, five are 0
    assert chapter.values("masking")[0] == f"{float(power / (power + 5)):.2f}"
    # With the mask: one half, since the next toss is independent of the past. The hits of one
    # sequence are uncorrelated, so the share of 100,000 spreads by 0.0016.
    past = np.cumsum(tosses, axis=1)[:, :-1]
    majority = 2 * past > np.arange(1, 6)  # 0 where as many fell on one side as on the other
    counted = (majority == tosses[:, 1:]).mean()
    assert abs(counted - 0.5) < 4 * 0.0016
    assert read_rows(chapter, "coins-causal") == [f"right, of all guesses: {counted:.0%}"]
    assert chapter.values("no-leak")[0] == f"{counted:.0%}"


def test_minus_infinity(chapter: Page) -> None:
    scores = [line["masked score"] for line in chapter.table("minus-infinity")]
    assert scores == ["2", "4", "−∞"]
    wanted = exact_weights([[1, 1, 0]] * 3, scaled=False)[0]
    assert_printed(chapter.column("minus-infinity", "weight"), wanted)
    assert_printed(chapter.column("minus-infinity", "fraction"), wanted)


def test_masks(chapter: Page) -> None:
    """The figures show one mask and then three, forbidden pairs hatched."""
    assert np.array_equal(np.nan_to_num(chapter.matrix("setup", "mask")), np.tri(4))
    found = [chapter.matrix("masks", name) for name in ("causal", "padding", "both")]
    tri, pad = np.tri(4), np.array([[1, 1, 1, 0]] * 4)
    assert np.array_equal(np.nan_to_num(found), [tri, pad, tri * pad])


def control(causal: bool, padded: bool, left: bool) -> tuple[np.ndarray, np.ndarray]:
    """Which pairs are allowed, and weights of three tokens and a zero vector, by the sums."""
    places = [3, 0, 1, 2] if left else [0, 1, 2, 3]  # 3 is the padding
    queries, keys = [*QUERIES, [0] * 3], [*KEYS, [0] * 3]
    allowed = np.ones((4, 4), bool)
    weights = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            forbidden = (causal and j > i) or (padded and places[j] == 3)
            allowed[i, j] = not forbidden
            score = np.dot(queries[places[i]], keys[places[j]]) / np.sqrt(3)
            weights[i, j] = 0 if forbidden else np.exp(score)
        weights[i] /= weights[i].sum() or 1
    return allowed, weights


def test_control(chapter: Page) -> None:
    """Every frame of the toggles: its numbers and its caption."""
    found = chapter.frames("control")
    assert len(found) == 8
    for frame in found:
        causal, padded, left = (one == "2" for one in frame.at.split())
        allowed, weights = control(causal, padded, left)
        caption = frame.caption
        one, place = (1, 0) if left else (0, 3)
        given = f"{weights[one, place]:.2f}" if allowed[one, place] else "0"
        numbers = re.findall(r"(?<![\d.x_])\d+(?:\.\d+)?", caption.replace("x1", ""))
        empty = 4 - allowed.any(axis=1).sum()
        assert numbers == [str((~allowed).sum()), "16", given, str(empty)]
        table, outputs = frame.labels[0].split("Matrix outputs")
        words = re.findall(r"\d\.\d\d|forbidden", table)
        assert [word[0].isdecimal() for word in words] == allowed.ravel().tolist()
        digits = [float(word) for word in words if word[0].isdecimal()]
        assert np.allclose(digits, weights[allowed], rtol=0, atol=0.005 + 1e-9)
        values = np.array([[0] * 3, *VALUES] if left else [*VALUES, [0] * 3])
        shown = np.reshape([float(x) for x in re.findall(r"\d\.\d\d", outputs)], (4, 3))
        assert np.allclose(shown, weights @ values, rtol=0, atol=0.005 + 1e-9)


def test_renormalise(chapter: Page) -> None:
    everything = exact_weights(ALL, scaled=False)[0]
    total = everything[:2].sum()
    kept = chapter.column("renormalise", "masked after softmax")
    assert_printed(kept, [*everything[:2], 0, total])
    assert_printed(chapter.column("renormalise", "renormalised"), [*(everything[:2] / total), 0, 1])
    for key, before in (("key 1", "0.5"), ("key 2", "0.5"), ("key 3", "0.0")):
        assert [line[key] for line in chapter.table("underflow")] == [before, "NaN"]


def words_under_a_causal_mask() -> tuple[np.ndarray, np.ndarray]:
    """By hand: what fits scores 3/√2, the rest 0; man is human, and bites hurts."""
    e = float(mpmath.exp(3 / mpmath.sqrt(2)))
    weights = np.array([[1, 0, 0], [e / (e + 1), 1 / (e + 1), 0], [1, e, 1] / np.array(e + 2)])
    return weights, weights @ [[0, 0], [0, 1], [1, 0]]


def test_causal(chapter: Page) -> None:
    wanted, outputs = words_under_a_causal_mask()
    assert_printed(chapter.matrix("causal", "outputs"), outputs, 3)
    weights = np.array(chapter.matrix("causal", "weights"))
    assert np.array_equal(np.isnan(weights), np.tri(3) == 0)
    assert_printed(weights[np.tril_indices(3)], wanted[np.tril_indices(3)], 3)
    e = float(mpmath.exp(3 / mpmath.sqrt(2)))
    assert chapter.values("causal")[:5] == [
        "1",
        *(f"{x:.3f}" for x in wanted[1, :2]),
        f"{e / (2 * e + 1):.2f}",  # of bites, if it sees all three
        "0",
    ]


def test_all_at_once(chapter: Page) -> None:
    """One masked pass and three passes over beginnings, against the sums written out."""
    _, wanted = words_under_a_causal_mask()
    table = chapter.table("all-at-once")
    assert [line["tokens"] for line in table] == ["1", "2", "3"]
    for name in ("last output alone", "output of the masked pass"):
        assert_printed([vector_of(line[name]) for line in table], wanted, 3)


def test_truncate_and_pad(chapter: Page) -> None:
    table = chapter.table("truncate")
    ids = [vector_of(line["token ids"]) for line in table]
    assert ids == [[3, 1, 4, 1], [2, 7, 0, 0], [1, 6, 1, 0]]
    assert chapter.column("truncate", "length") == [4, 2, 3]
    masks = [vector_of(line["mask"]) for line in table]
    assert masks == [[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]]
    assert chapter.output("truncate") == "shape of the mask: (3, 1, 4)"
    answers = [line["do outputs 1 to 4 stay?"] for line in chapter.table("truncation")]
    assert answers == ["✗", "✓"]


PADDED = np.array([[2.0, 4], [4, 16], [0, 0]])  # scores of the second sequence, keys 1 and 2


def test_padding(chapter: Page) -> None:
    powers = np.exp(np.column_stack([PADDED, [0, 0, 0]]) / np.sqrt(3))  # the padding scores 0
    open_weights = powers / powers.sum(axis=1, keepdims=True)
    assert_printed(chapter.matrix("padding", "without a mask"), open_weights)
    powers[:, 2] = 0
    wanted = powers / powers.sum(axis=1, keepdims=True)
    assert_printed(chapter.matrix("padding", "with the mask"), wanted)
    padding_weight = np.exp([2, 4, 0] / np.sqrt(3))
    assert chapter.values("padding") == [f"{padding_weight[2] / padding_weight.sum():.4f}"]


def test_both(chapter: Page) -> None:
    assert chapter.output("both") == "shape of both masks together: (2, 3, 3)"
    table = chapter.table("both")
    assert [vector_of(line["booleans"]) for line in table] == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    powers = np.exp(PADDED / np.sqrt(3)) * [[1, 0], [1, 1], [1, 1]]
    wanted = np.column_stack([powers / powers.sum(axis=1, keepdims=True), [0, 0, 0]])
    assert_printed([vector_of(line["weights"]) for line in table], wanted)
    added = [line["floats, added"] for line in table]
    assert added == ["[0, −∞, −∞]", "[0, 0, −∞]", "[0, 0, −∞]"]


def test_leak_counts(chapter: Page) -> None:
    compared = sum(3 * t for t in range(1, 32))  # earlier outputs of size 3
    assert chapter.column("no-leak", "earlier numbers changed") == [compared, 0]
    assert chapter.column("no-leak", "of") == [compared, compared]
    later = [line["do later ones change?"] for line in chapter.table("no-leak")]
    assert later == ["✓", "✓"]
    assert chapter.values("bits") == [str(compared), "0"]


def test_padding_never_leaks(chapter: Page) -> None:
    table = chapter.table("padding-no-leak")
    assert [line["do the real outputs stay?"] for line in table] == ["✓", "✓", "✗"]


def test_nan(chapter: Page) -> None:
    wanted = exact_weights([[1, 1, 0]] * 3)
    spoiled, clean = chapter.table("nan")[:3], chapter.table("nan")[3:]
    for lines in (spoiled, clean):
        assert_printed([vector_of(line["weights"]) for line in lines], wanted)
    assert [line["output"] for line in spoiled] == ["[NaN, NaN, NaN]"] * 3
    assert_printed([vector_of(line["output"]) for line in clean], wanted @ V)
    found = {
        (line["NaN in the"], line["mask of"]): (line["package gives"], line["SDPA gives"])
        for line in chapter.table("nan-table")
    }
    assert found == {
        ("key", "booleans"): ("numbers", "NaN"),
        ("key", "floats"): ("NaN", "NaN"),
        ("value", "booleans"): ("NaN", "NaN"),
        ("value", "floats"): ("NaN", "NaN"),
    }


def test_empty_rows(chapter: Page) -> None:
    plain, finite, package = chapter.table("empty-row")
    assert plain["weights"] == plain["output 1"] == "[NaN, NaN, NaN]"
    assert_printed(vector_of(finite["weights"]), [1 / 3] * 3)
    assert_printed(vector_of(finite["output 1"]), [Fraction(int(x), 3) for x in V.sum(axis=0)])
    assert vector_of(package["weights"]) == vector_of(package["output 1"]) == [0, 0, 0]
    assert chapter.output("empty-table") == f"torch {torch.__version__.split('+')[0]}"
    found = {line[""]: line["weights of query 1"] for line in chapter.table("empty-table")}
    third, zero = "[0.3333, 0.3333, 0.3333]", "[0.0000, 0.0000, 0.0000]"
    no_mask = found.pop("s + -1e9, float64")
    assert_printed(vector_of(no_mask), exact_weights(ALL)[0])
    assert found == {
        "-inf, float32": "NaN",
        "-inf, float64": "NaN",
        "s := -1e9, float32": third,
        "s := -1e9, float64": third,
        "s + -1e9, float32": third,
        "package, bool": zero,
        "package, float": zero,
        "SDPA attn_mask, bool": zero,
        "SDPA attn_mask, float": zero,
        "MHA attn_mask, bool": "NaN",
        "MHA attn_mask, float": "NaN",
        "MHA key_padding_mask, bool": "NaN",
        "MHA key_padding_mask, float": "NaN",
    }


def mha_on_empty(argument: str, mask: torch.Tensor, need_weights: bool, training: bool) -> str:
    """What MHA makes of all keys masked out, with parameters of its own."""
    torch.manual_seed(7)
    mha = nn.MultiheadAttention(6, 2, batch_first=True).train(training)
    x = torch.randn(1, mask.shape[-1], 6)
    with torch.set_grad_enabled(training):
        output, _ = mha(x, x, x, need_weights=need_weights, **{argument: mask})
    return "NaN" if output.isnan().any() else f"{output.abs().max():.0f}"


def test_empty_mha(chapter: Page) -> None:
    assert chapter.output("empty-mha") == f"torch {torch.__version__.split('+')[0]}"
    table = chapter.table("empty-mha")
    assert len(table) == 8
    for line in table:
        argument, kind, wants = line[""].replace(",", "").split()
        found = [line["train()"], line["eval()"]]
        size = (4, 4) if argument == "attn_mask" else (1, 4)
        mask = torch.full(size, True) if kind == "bool" else torch.full(size, -torch.inf)
        need_weights = wants.endswith("True")
        wanted = [mha_on_empty(argument, mask, need_weights, mode) for mode in (True, False)]
        assert found == wanted, line
        assert found[0] == ("NaN" if need_weights else "0")


def test_empty_gradient(chapter: Page) -> None:
    entries = [3 * 4 * 4, 3 * 4 * 4, 3 * 4]  # parameters, and inputs of the package
    assert chapter.column("empty-gradient", "of") == entries
    assert chapter.column("empty-gradient", "NaN in the gradient") == [48, 0, 0]
    assert chapter.values("empty-row-torch") == ["48"]


def test_empty_recipes(chapter: Page) -> None:
    """By hand: softmax hands back NaN, a filled place hands back 0, a sum hands on what it gets."""
    found = chapter.table("empty-recipes")
    assert [[line[f"key {key}"] for key in (1, 2, 3)] for line in found] == [["0", "0", "0"]] * 4
    assert [line["NaN in the gradient"] for line in found] == ["0", "3", "3", "0"]


def polarity_of(weights: str) -> str:
    """What a mark in the middle does, read off the weights."""
    if weights.endswith("Error"):
        return weights
    a, b, c = vector_of(weights)
    if b == 0 and a > 0 and c > 0:
        return "masked out"
    return "takes part" if a == c == 0 and b == 1 else "added"


def test_polarity(chapter: Page) -> None:
    assert chapter.output("polarity") == f"torch {torch.__version__.split('+')[0]}"
    found: dict[str, list[str]] = {}
    for line in chapter.table("polarity"):
        found.setdefault(line["mask"], []).append(line["weights of query 1"])
    assert {kind: [*map(polarity_of, weights)] for kind, weights in found.items()} == {
        "booleans 0 1 0": ["takes part", "takes part", "masked out", "masked out"],
        "floats 0 −∞ 0": ["masked out"] * 4,
        "floats 0 1 0": ["added"] * 4,
        "integers 0 1 0": ["TypeError", "RuntimeError", "AssertionError", "AssertionError"],
    }
    functions = [line["function"] for line in chapter.table("polarity")]
    assert functions[:4] * 4 == functions
    powers = np.exp(np.array([2, 4, 4]) / np.sqrt(3))
    for weights in found["floats 0 −∞ 0"]:
        assert_printed(vector_of(weights), powers * [1, 0, 1] / (powers[0] + powers[2]))
    powers[1] *= np.e  # 1 is added to the score of key 2
    for weights in found["floats 0 1 0"]:
        assert_printed(vector_of(weights), powers / powers.sum())
    free = exact_weights(ALL)[0]
    assert chapter.values("polarity-run") == [f"[{', '.join(f'{x:.4f}' for x in free)}]"]


@each_language
def test_polarity_in_words(soup: Callable[[str, str], Any], lang: str) -> None:
    """The table of the text says what the run of test_polarity shows."""
    heading = soup(lang, "masking").article.find(id="polarity")
    cells = [td.get_text() for td in heading.find_next("table").find_all("td")]
    out, part = {"en": ("masked out", "takes part"), "zh": ("屏蔽", "可见")}[lang]
    booleans = [part, part, out, out]
    assert [w in cell for w, cell in zip(booleans, cells[1:5], strict=True)] == [True] * 4


def test_layers(chapter: Page) -> None:
    assert chapter.output("polarity-layers") == f"torch {torch.__version__.split('+')[0]}"
    table = chapter.table("polarity-layers")
    assert {line[""] for line in table} == {
        f"{what}_{end}" for what in ("src", "tgt", "memory") for end in ("mask", "key_padding_mask")
    }
    assert {line[kind] for line in table for kind in ("booleans 0 1 0", "floats 0 −∞ 0")} == {"[3]"}


def test_corners(chapter: Page) -> None:
    upper, lower = chapter.table("is-causal")
    assert vector_of(upper["weights in PyTorch"]) == [1, 0, 0, 0, 0]
    assert vector_of(upper["mask of the package"]) == [1, 0, 0, 0, 0]
    assert vector_of(lower["weights in PyTorch"]) == [0.2] * 5
    assert vector_of(lower["mask of the package"]) == [1] * 5
    for block, n_q, n_k in (("corners", 2, 5), ("corners-more-queries", 5, 2)):
        left, right = np.tri(n_q, n_k, 0, int), np.tri(n_q, n_k, n_k - n_q, int)
        for offset, wanted in ((0, left), (n_k - n_q, right)):
            name = f"n_q = {n_q}, n_k = {n_k}, offset = {offset}".replace("-", "−")
            shown = chapter.matrix(block, name)
            assert np.array_equal(np.nan_to_num(shown), wanted)
        # PyTorch's is_causal is the left one: with equal scores weights are shared evenly.
        seen = sdpa(
            torch.zeros(1, n_q, 3), torch.zeros(1, n_k, 3), torch.eye(n_k)[None], is_causal=True
        )
        assert np.array_equal(seen[0].numpy() > 0, left)
    # PyTorch warns of NaN and gives 0. The module brings its compiler, which is slow to load.
    from torch.nn.attention.bias import causal_lower_right

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bias = causal_lower_right(5, 2)
        output = sdpa(torch.zeros(1, 5, 3), torch.zeros(1, 2, 3), torch.ones(1, 2, 3), bias)
    assert any("NaN" in str(w.message) for w in caught)
    assert (output[0, :3] == 0).all()


def test_upside_down(chapter: Page) -> None:
    columns = [chapter.column("mistake-polarity", f"key {j}") for j in (1, 2, 3)]
    wrong, right = np.split(np.transpose(columns), 2)
    assert_printed(wrong, exact_weights([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))
    assert_printed(right, exact_weights(LOWER))
    assert (wrong[np.tril_indices(3)] == 0).all()
    assert chapter.values("mistake-polarity") == ["[0, 0, 0]"]


def test_float16(chapter: Page) -> None:
    largest = (2 - Fraction(1, 2**10)) * 2**15  # the format's definition
    assert chapter.output("mistake-float16") == f"largest float16 number: {largest}"
    for line in chapter.table("mistake-float16"):
        assert line["masked scores"] == "[−∞, −∞, −∞]"
        assert line["weights"] == "[NaN, NaN, NaN]"
    half = torch.tensor([[2.0, 4.0, 4.0]], dtype=torch.float16)
    with pytest.raises(RuntimeError, match="without overflow"):
        half.masked_fill(torch.ones(1, 3, dtype=torch.bool), -1e9)
    assert chapter.values("mistake-float16") == ["65504"]


def test_multiplied(chapter: Page) -> None:
    lines = chapter.table("mistake-multiply")
    for sign, (bad, good) in ((1, lines[:2]), (-1, lines[2:])):
        assert (bad[""], good[""]) == ("wrong", "correct")
        wrong, right = np.exp([2.0 * sign, 4.0 * sign, 0]), np.exp([2.0 * sign, 4.0 * sign])
        assert vector_of(bad["scores"]) == [2 * sign, 4 * sign, 4 * sign]
        assert bad["scores"] == good["scores"]
        assert vector_of(bad["masked scores"]) == [2 * sign, 4 * sign, 0]
        assert vector_of(good["masked scores"]) == [2 * sign, 4 * sign, -np.inf]
        assert_printed(vector_of(bad["weights"]), wrong / wrong.sum())
        assert_printed(vector_of(good["weights"]), [*(right / right.sum()), 0])
    positive, negative = (vector_of(line["weights"]) for line in lines[::2])
    assert negative[2] == max(negative)
    assert chapter.values("mistake-multiply") == [f"{positive[2]:.4f}", f"{negative[2]:.4f}"]


def test_after_softmax(chapter: Page) -> None:
    powers = np.exp([2.0, 4, 4])
    short = powers[:2] / powers.sum()
    full = powers[:2] / powers[:2].sum()
    leaked = powers[:2] / (powers[:2].sum() + np.exp(6.0))
    table = chapter.table("mistake-after")
    scores = [(which, s) for s in (4, 6) for which in ("wrong", "correct")]
    assert [line[""] for line in table] == [f"{which}, score 3 is {s}" for which, s in scores]
    for line, weights in zip(table, (short, full, leaked, full), strict=True):
        assert_printed(vector_of(line["weights"]), [*weights, 0])
        assert_printed(float(line["sum"]), weights.sum())
        assert_printed(vector_of(line["output"]), weights @ V[:2])
    assert chapter.values("mistake-after-softmax") == [f"{short.sum():.4f}", f"{leaked.sum():.4f}"]


def test_four_mistakes(chapter: Page) -> None:
    """The table of mistakes, from the sums."""
    negative = np.exp([-2.0, -4, 0])
    short = np.exp([2.0, 4, 4])
    upside, right = exact_weights([[0, 1, 1], [0, 0, 1], [0, 0, 0]])[1], exact_weights(LOWER)[1]
    assert chapter.values("mistakes") == [
        f"{negative[2] / negative.sum():.4f}",
        f"{short[:2].sum() / short.sum():.4f}",
        f"[{', '.join(f'{x:.2f}' for x in upside)}]",
        f"[{', '.join(f'{x:.2f}' for x in right)}]",
        "-inf",
    ]


def test_exercises(chapter: Page) -> None:

    def columns(block: str) -> list[list[float]]:
        """The rows of a table with a number for each of three keys."""
        return [[float(line[f"key {j}"]) for j in (1, 2, 3)] for line in chapter.table(block)]

    first, second, short = columns("exercise-pencil")
    assert_printed(first, [2 / 7, 0, 5 / 7])
    assert second == first
    assert_printed(short, [0.2, 0, 0.5])
    assert chapter.values("exercise-pencil") == [
        *("[0.2857, 0.0000, 0.7143]", "[0.2000, 0.0000, 0.5000]"),  # 2/7, 0, 5/7
        "0.7000",
    ]
    window = np.nan_to_num(chapter.matrix("exercise-1", "mask"))
    assert np.array_equal(window, np.eye(5) + np.eye(5, k=-1))
    lacking = [line["queries without a key"] for line in chapter.table("exercise-3")]
    assert lacking == ["none", "1, 2"]
    hidden, free, repaired = columns("exercise-float")
    raised = np.exp(np.array([2, 4, 4]) / np.sqrt(3)) * [np.e, 1, 1]  # 1 added to score 1
    assert_printed(hidden, raised / raised.sum())
    assert_printed(free, exact_weights(ALL)[0])
    assert repaired == [1, 0, 0]
    asked = chapter.values("exercise-float-mask")
    assert asked == [f"{x:.4f}" for x in ((raised / raised.sum())[2], exact_weights(ALL)[0][2], 0)]
    moved = [list(line.values())[1:] for line in chapter.table("exercise-2")]
    assert [[{"✓": 1, "✗": 0}[cell] for cell in line] for line in moved] == LOWER
    free, exact, rounded = columns("exercise-added")
    assert_printed(free, exact_weights(ALL)[0])
    assert exact == free
    assert_printed(rounded, [1 / 3] * 3)
    for layers, line in enumerate(chapter.table("exercise-window"), start=1):
        count = layers * (3 - 1) + 1
        assert line["layers"] == str(layers)
        assert line["reached"] == str(count)
        reached = vector_of(line["tokens 1 to 9, reached or not"])
        assert reached == [0] * (9 - count) + [1] * count
    assert chapter.values("exercise-window") == ["7"]


ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-window-2": [5 + 4, 5 + 4 + 3 + 2 + 1, 5 + 4 + 4],
    "exercise-derivative": [3, 6],
    "exercise-minus-1e9": [[1 / 3] * 3, exact_weights(ALL)[0]],
}
test_what_exercises_ask = make_test_of_asked(ASKED)


def test_a_trained_head_without_its_mask(chapter: Page) -> None:
    """The weight on later tokens, from dot products by complex numbers, in each kept head."""
    ahead = {}
    for place in [(18, 6), (11, 1), (13, 8), (16, 0), (17, 4)]:
        q, k = (torch.from_numpy(one).reshape(-1, 32, 2) for one in load_vectors(*place))
        frequencies = 1e5 ** (-torch.arange(32).double() / 32)
        angles = torch.outer(torch.arange(len(q)).double(), frequencies)
        turn = torch.polar(torch.ones_like(angles), angles)
        turned_q, turned_k = (torch.view_as_complex(one) * turn for one in (q, k))
        products = (turned_q @ turned_k.conj().T).real
        ahead[place] = (products / 8).softmax(dim=-1).triu(1).sum(dim=-1).mean().item()
    own = ahead.pop((18, 6))
    wanted = [own, min(ahead.values()), max(ahead.values())]
    assert chapter.values("real-head") == [f"{share:.0%}" for share in wanted]


def test_at_inference(chapter: Page) -> None:
    """In PyTorch: one layer does not need its mask for the last output, two do."""
    six = torch.tensor(np.random.default_rng(0).normal(size=(1, 6, 4)))
    moved = []
    for layers in (1, 2):
        masked = unmasked = six
        for _ in range(layers):
            masked = sdpa(masked, masked, masked, is_causal=True)
            unmasked = sdpa(unmasked, unmasked, unmasked)
        moved.append((masked - unmasked)[0, -1].abs().max().item())
    assert_printed(chapter.column("at-inference", "largest change of the last output"), moved, 2)
    assert moved[0] < 1e-12 < 0.01 < moved[1]


@each_language
def test_the_mask_in_code_gives_the_weights_of_the_causal_mask(lang: str) -> None:
    """What the text quotes, run from the text."""
    text = (ROOT / "docs" / lang / "masking.md").read_text("utf-8")
    filled = re.search(r"`(scores\.masked[^`]*)`", text)[1]
    scores = torch.randn(5, 5, dtype=torch.float64)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    masked = eval(filled, {"torch": torch, "scores": scores, "mask": mask})
    wanted = softmax(apply_mask(scores.numpy(), causal_mask(5)))
    np.testing.assert_allclose(masked.softmax(-1).numpy(), wanted, atol=1e-15)
