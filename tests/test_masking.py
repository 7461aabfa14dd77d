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
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attention_docs.attention_function import attention
from attention_docs.masking import apply_mask, causal_mask, padding_mask, truncate_and_pad
from attention_docs.softmax import softmax
from tests.conftest import each_language, row, rows
from tests.exact import KEYS, QUERIES, VALUES, attention_weights, printed

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=40, deadline=None)

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
    sizes=st.lists(st.integers(0, 7), min_size=1, max_size=4),
    longest=st.integers(1, 8),
    seed=seeds,
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


def test_errors_say_wanted_and_got() -> None:
    scores = np.zeros((2, 3))
    with pytest.raises(TypeError, match=r"booleans or float64 like the scores, got int64"):
        apply_mask(scores, np.array([1, 0, 1]))
    with pytest.raises(TypeError, match="must be of one library, got ndarray and Tensor"):
        apply_mask(scores, torch.tensor([True, False, True]))
    with pytest.raises(ValueError, match=r"shape \(2, 3\), got \(4, 2, 3\)"):
        apply_mask(scores, np.ones((4, 2, 3), bool))
    with pytest.raises(ValueError, match=r"at least 1, got 0 and 3"):
        causal_mask(0, 3)
    with pytest.raises(ValueError, match=r"at least 1, got 2 and 0"):
        causal_mask(2, 0)
    with pytest.raises(TypeError, match=r"array of integers, got list"):
        padding_mask([1, 2], 3)
    with pytest.raises(TypeError, match=r"array of integers, got float64"):
        padding_mask(np.array([1.0]), 3)
    with pytest.raises(ValueError, match=r"from 0 to 3, got \[1, 4\]"):
        padding_mask(np.array([1, 4]), 3)
    with pytest.raises(ValueError, match=r"from 0 to 3, got \[-1\]"):
        padding_mask(np.array([-1]), 3)
    with pytest.raises(ValueError, match=r"at least 1, got 0 and 2"):
        truncate_and_pad([], 2)
    with pytest.raises(ValueError, match=r"at least 1, got 1 and 0"):
        truncate_and_pad([np.array([1])], 0)
    with pytest.raises(ValueError, match=r"\(2, 3\) of float64 and \(2, 4\) of float64"):
        truncate_and_pad([np.zeros((2, 3)), np.zeros((2, 4))], 5)


def test_apply_mask_leaves_its_arguments_alone() -> None:
    scores, mask = np.array([[2.0, 4, 4]]), np.array([True, True, False])
    apply_mask(scores, mask)
    assert scores.tolist() == [[2, 4, 4]]


# ------------------------------------------------------------ the published numbers


@pytest.mark.site
@each_language
def test_minus_infinity(page: Callable[[str, str], Any], lang: str) -> None:
    first, second, third = rows(page(lang, "masking"), "minus-infinity")
    assert row(first) == [2, 4, float("-inf")]
    wanted = exact_weights([[1, 1, 0]] * 3, scaled=False)[0]
    printed(row(second), wanted)
    printed(row(third), wanted)


@pytest.mark.site
@each_language
def test_renormalise(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    kept, renormalised, agree = rows(masking, "renormalise")
    everything = exact_weights(ALL, scaled=False)[0]
    printed(row(kept), [*everything[:2], 0])
    printed(float(kept.split()[-1]), everything[:2].sum())
    printed(row(renormalised), [*(everything[:2] / everything[:2].sum()), 0])
    assert agree == "True"
    before, after = rows(masking, "underflow")
    assert row(before) == [0.5, 0.5, 0]
    assert np.isnan(row(after)).all()


@pytest.mark.site
@each_language
def test_causal(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    wanted = exact_weights(LOWER)
    assert masking.array("causal").tolist() == LOWER
    printed(masking.array("causal", 1), wanted)
    printed(masking.array("causal", 2), wanted @ V)


@pytest.mark.site
@each_language
def test_truncate_and_pad(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    assert masking.array("truncate").tolist() == [[3, 1, 4, 1], [2, 7, 0, 0], [1, 6, 1, 0]]
    assert masking.array("truncate", 1).tolist() == [4, 2, 3]
    assert masking.array("truncate", 2).tolist() == [[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]]
    free, causal = rows(masking, "truncation")
    assert free.endswith("False")
    assert causal.endswith("True")


PADDED = np.array([[2.0, 4], [4, 16], [0, 0]])  # scores of the second sequence, keys 1 and 2


@pytest.mark.site
@each_language
def test_padding(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    powers = np.exp(np.column_stack([PADDED, [0, 0, 0]]) / np.sqrt(3))  # the padding scores 0
    printed(masking.array("padding"), powers / powers.sum(axis=1, keepdims=True))
    powers[:, 2] = 0
    wanted = powers / powers.sum(axis=1, keepdims=True)
    printed(masking.array("padding", 1), wanted)
    padding_weight = np.exp([2, 4, 0] / np.sqrt(3))
    assert masking.values("padding") == [f"{padding_weight[2] / padding_weight.sum():.4f}"]


@pytest.mark.site
@each_language
def test_both(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    assert masking.array("both").tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    powers = np.exp(PADDED / np.sqrt(3)) * [[1, 0], [1, 1], [1, 1]]
    wanted = np.column_stack([powers / powers.sum(axis=1, keepdims=True), [0, 0, 0]])
    printed(masking.array("both", 1), wanted)
    assert rows(masking, "both")[-1] == "True"
    assert masking.output("both").count("-inf") == 4


@pytest.mark.site
@each_language
def test_leak_counts(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    compared = sum(3 * t for t in range(1, 32))  # earlier outputs of size 3
    none, *others = rows(masking, "no-leak")
    assert f"{compared} of {compared} changed, own and later: True" in none
    assert len(others) == 3
    for line in others:
        assert f" 0 of {compared} changed, own and later: True" in line
    assert masking.values("no-leak") == [str(compared), "0"]


@pytest.mark.site
@each_language
def test_padding_never_leaks(page: Callable[[str, str], Any], lang: str) -> None:
    assert rows(page(lang, "masking"), "padding-no-leak") == ["True", "True", "False"]


@pytest.mark.site
@each_language
def test_nan(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    wanted = exact_weights([[1, 1, 0]] * 3)
    printed(masking.array("nan"), wanted)
    assert masking.output("nan").count("nan") == 9
    lines = rows(masking, "nan")
    clean = np.array([row(line) for line in lines[-3:]])
    printed(clean, wanted @ V)
    table = [line.split() for line in rows(masking, "nan-table")]
    found = {(words[3], words[4]): (words[7], words[9]) for words in table}
    assert found == {
        ("key", "bool"): ("False", "True"),
        ("key", "float"): ("True", "True"),
        ("value", "bool"): ("True", "True"),
        ("value", "float"): ("True", "True"),
    }


@pytest.mark.site
@each_language
def test_empty_rows(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    plain, finite, package, output = rows(masking, "empty-row")
    assert plain.count("nan") == 3
    printed(row(finite), [1 / 3] * 3)
    assert row(package) == [0, 0, 0]
    assert row(output) == [0, 0, 0]
    version, *table = rows(masking, "empty-table")
    assert version == f"torch {torch.__version__.split('+')[0]}"
    found = {line[:27].strip(): line[27:].strip() for line in table}
    third, zero = "[0.3333, 0.3333, 0.3333]", "[0.0000, 0.0000, 0.0000]"
    no_mask = found.pop("-1e9 added, float64")
    printed(row(no_mask), exact_weights(ALL)[0])
    assert found == {
        "softmax of -inf, float32": "NaN",
        "softmax of -inf, float64": "NaN",
        "-1e9 put in, float32": third,
        "-1e9 put in, float64": third,
        "-1e9 added, float32": third,
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


@pytest.mark.site
@each_language
def test_empty_mha(page: Callable[[str, str], Any], lang: str) -> None:
    version, *table = rows(page(lang, "masking"), "empty-mha")
    assert version.split()[1] == torch.__version__.split("+")[0]
    assert len(table) == 8
    for line in table:
        argument, kind, wants, *found = line.split()
        size = (4, 4) if argument == "attn_mask" else (1, 4)
        mask = torch.full(size, True) if kind == "bool" else torch.full(size, -torch.inf)
        need_weights = wants.endswith("True")
        wanted = [mha_on_empty(argument, mask, need_weights, mode) for mode in (True, False)]
        assert found == wanted, line
        assert found[0] == ("NaN" if need_weights else "0")


@pytest.mark.site
@each_language
def test_empty_gradient(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    assert rows(masking, "empty-gradient") == [
        "MHA need_weights=True  NaN in the gradient: 48 of 48",  # 3 · 4 · 4 parameters
        "MHA need_weights=False NaN in the gradient: 0 of 48",
        "package                NaN in the gradient: 0 of 12",
    ]
    assert masking.values("empty-row")[0] == "48"


def polarity_of(line: str) -> str:
    """What a mark in the middle does, read off the weights."""
    if line.endswith("Error"):
        return line.split()[-1]
    a, b, c = row(line)
    if b == 0 and a > 0 and c > 0:
        return "masked out"
    return "takes part" if a == c == 0 and b == 1 else "added"


@pytest.mark.site
@each_language
def test_polarity(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    version, *table = rows(masking, "polarity")
    assert version == f"torch {torch.__version__.split('+')[0]}"
    assert len(table) == 16
    kinds = {
        "bool  0 1 0": ["takes part", "takes part", "masked out", "masked out"],
        "float 0 -inf 0": ["masked out"] * 4,
        "float 0 1 0": ["added"] * 4,
        "int   0 1 0": ["TypeError", "RuntimeError", "AssertionError", "AssertionError"],
    }
    for number, (kind, wanted) in enumerate(kinds.items()):
        lines = table[4 * number : 4 * number + 4]
        assert all(line.startswith(kind) for line in lines)
        assert [polarity_of(line) for line in lines] == wanted
    powers = np.exp(np.array([2, 4, 4]) / np.sqrt(3))
    for line in table[4:8]:
        printed(row(line), powers * [1, 0, 1] / (powers[0] + powers[2]))
    powers[1] *= np.e  # 1 is added to the score of key 2
    for line in table[8:12]:
        printed(row(line), powers / powers.sum())
    # The table in words says the same.
    heading = masking.article.find(id="polarity")
    cells = [td.get_text() for td in heading.find_next("table").find_all("td")]
    out, part = {"en": ("masked out", "takes part"), "zh": ("挡住", "参加")}[lang]
    booleans = [part, part, out, out]
    assert [w in cell for w, cell in zip(booleans, cells[1:5], strict=True)] == [True] * 4


@pytest.mark.site
@each_language
def test_layers(page: Callable[[str, str], Any], lang: str) -> None:
    version, *table = rows(page(lang, "masking"), "polarity-layers")
    assert version == f"torch {torch.__version__.split('+')[0]}"
    assert {line.split()[0] for line in table} == {
        f"{what}_{end}" for what in ("src", "tgt", "memory") for end in ("mask", "key_padding_mask")
    }
    assert all(line.count("sees [3]") == 2 for line in table)


@pytest.mark.site
@each_language
def test_corners(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    upper, lower, zero, four = (row(line) for line in rows(masking, "is-causal"))
    assert upper == zero == [1, 0, 0, 0, 0]
    assert lower == [0.2] * 5
    assert four == [1] * 5
    lines = rows(masking, "corners")
    shown = [[int(x) for x in re.findall(r"\d", line)] for line in lines if "[" in line]
    wanted = []
    for n_q, n_k in ((2, 5), (5, 2)):
        left, right = np.tri(n_q, n_k, 0, int), np.tri(n_q, n_k, n_k - n_q, int)
        wanted += np.hstack([left, right]).tolist()
    assert shown == wanted
    assert [line for line in lines if "same" in line] == [
        "   the same keys as in torch: True True"
    ] * 2
    # PyTorch warns of NaN and gives 0. The module brings its compiler, which is slow to load.
    from torch.nn.attention.bias import causal_lower_right

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bias = causal_lower_right(5, 2)
        output = sdpa(torch.zeros(1, 5, 3), torch.zeros(1, 2, 3), torch.ones(1, 2, 3), bias)
    assert any("NaN" in str(w.message) for w in caught)
    assert (output[0, :3] == 0).all()


@pytest.mark.site
@each_language
def test_upside_down(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    wrong, right = masking.array("mistake-polarity"), masking.array("mistake-polarity", 1)
    printed(wrong, exact_weights([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))
    printed(right, exact_weights(LOWER))
    assert (wrong[np.tril_indices(3)] == 0).all()


@pytest.mark.site
@each_language
def test_float16(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    lines = rows(masking, "mistake-float16")
    assert "without overflow" in lines[0]
    assert lines[1].endswith(f" {(2 - Fraction(1, 2**10)) * 2**15}")  # the format's definition
    assert lines[2].endswith("-inf")
    assert lines[3].count("nan") == 3
    assert lines[4].count("-inf") == 3
    assert lines[5].count("nan") == 3
    assert masking.values("mistake-float16") == ["65504"]


@pytest.mark.site
@each_language
def test_multiplied(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    lines = rows(masking, "mistake-multiply")
    for sign, part in ((1, lines[:3]), (-1, lines[3:])):
        wrong, right = np.exp([2.0 * sign, 4.0 * sign, 0]), np.exp([2.0 * sign, 4.0 * sign])
        scores, masked = re.findall(r"\[[^\]]*\]", part[0])
        assert row(scores) == [2 * sign, 4 * sign, 4 * sign]
        assert row(masked) == [2 * sign, 4 * sign, 0]
        printed(row(part[1]), wrong / wrong.sum())
        printed(row(part[2]), [*(right / right.sum()), 0])
    assert row(lines[4])[2] == max(row(lines[4]))
    assert masking.values("mistake-multiply") == [f"{row(lines[k])[2]:.4f}" for k in (1, 4)]


@pytest.mark.site
@each_language
def test_after_softmax(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    wrong, right, bad, good, raised, steady = rows(masking, "mistake-after")
    powers = np.exp([2.0, 4, 4])
    short = powers[:2] / powers.sum()
    full = powers[:2] / powers[:2].sum()
    printed(row(wrong), [*short, 0])
    printed(float(wrong.split()[-1]), short.sum())
    assert right.endswith("sum 1.0000")
    printed(row(right), [*full, 0])
    printed(row(bad), short @ V[:2])
    printed(row(good), full @ V[:2])
    leaked = powers[:2] / (powers[:2].sum() + np.exp(6.0))
    printed(row(raised), [*leaked, 0])
    printed(float(raised.split()[-1]), leaked.sum())
    assert row(steady) == row(right)
    assert masking.values("mistake-after-softmax") == [f"{short.sum():.4f}", f"{leaked.sum():.4f}"]


@pytest.mark.site
@each_language
def test_exercises(page: Callable[[str, str], Any], lang: str) -> None:
    masking = page(lang, "masking")
    window = masking.array("exercise-1")
    assert np.array_equal(window, np.eye(5) + np.eye(5, k=-1))
    assert "[3, 3, 3, 4]" in masking.output("exercise-2")
    assert masking.array("exercise-2", 1).tolist() == LOWER
    right, left = rows(masking, "exercise-3")
    assert right.endswith("empty rows []")
    assert left.endswith("empty rows [1, 2]")
