"""Kernel smoothing: torch, fractions, and all cases of noise."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attention_docs.kernels import gaussian_kernel, kernel_smoothing
from tests.conftest import scale_examples
from tests.exact import agrees_within_error, assert_printed, parse_plus_minus
from tests.page import parse_number

SEEDS = st.integers(0, 10**6)
F = Fraction


# --- the package's functions ---------------------------------------------------------------------


@scale_examples(30)
@given(seed=SEEDS, batch=st.sampled_from([(), (2,), (2, 3)]), d=st.integers(1, 6))
def test_smoothing(seed, batch, d):
    """Torch's attention where all keys have one norm; else each kernel counts exp(‖k‖²/2√d)."""
    rng = np.random.default_rng(seed)
    q, k, v = (rng.normal(size=(*batch, n, d)) for n in (3, 5, 5))
    loud = k.copy()
    k /= np.linalg.norm(k, axis=-1, keepdims=True) / 1.7
    found, _ = kernel_smoothing(q, k, v, d**0.25)
    wanted = sdpa(*map(torch.from_numpy, (q, k, v)))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    kernel = torch.from_numpy(gaussian_kernel(q, loud, d**0.25))
    counted = kernel * torch.exp((torch.from_numpy(loud) ** 2).sum(-1) / (2 * d**0.5))[..., None, :]
    weights = counted / counted.sum(-1, keepdim=True)
    wanted = sdpa(*map(torch.from_numpy, (q, loud, v)))
    torch.testing.assert_close(weights @ torch.from_numpy(v), wanted, rtol=0, atol=1e-11)


@scale_examples(20)
@given(seed=SEEDS, h=st.sampled_from([0.3, 1.0, 4.0]), batch=st.sampled_from([(), (2,)]))
def test_kernel(seed, h, batch):
    """Torch's distances; a mask leaves a key out; both libraries."""
    rng = np.random.default_rng(seed)
    q, k, v = (torch.from_numpy(rng.normal(size=(*batch, n, 2))) for n in (3, 4, 4))
    kernel = torch.exp(-(torch.cdist(q, k) ** 2) / (2 * h**2))
    torch.testing.assert_close(gaussian_kernel(q, k, h), kernel, rtol=1e-9, atol=1e-12)
    mask = torch.tensor([True, False, True, True])
    found, weights = kernel_smoothing(q, k, v, h, mask)
    kept = kernel[..., mask]
    wanted = kept @ v[..., mask, :] / kept.sum(-1, keepdim=True)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-9)
    assert (weights[..., 1] == 0).all()


def test_the_bandwidth_is_1_where_none_is_given():
    """exp(-2) at a distance of 2, against 1 at the key itself."""
    key = np.array([[0.0], [2]])
    assert gaussian_kernel(np.zeros((1, 1)), key).tolist() == [[1.0, math.exp(-2)]]
    found, _ = kernel_smoothing(np.zeros((1, 1)), key, key)
    assert math.isclose(found.item(), 2 * math.exp(-2) / (1 + math.exp(-2)), rel_tol=1e-12)


def test_far_keys_still_share_the_weight():
    """All kernels underflow to 0, and the weights are those of the nearest keys."""
    key = np.array([[1e4], [1e4], [2e4]])
    assert (gaussian_kernel(np.zeros((1, 1)), key) == 0).all()
    _, weights = kernel_smoothing(np.zeros((1, 1)), key, key)
    assert weights.tolist() == [[0.5, 0.5, 0]]
    _, none = kernel_smoothing(np.zeros((1, 1)), key, key, mask=np.zeros((1, 3), bool))
    assert none.tolist() == [[0, 0, 0]]


def test_bias_and_variance():
    """All signs of the noise, in fractions; the weights are a quarter, a half and a quarter."""
    a, heights, sigma = [F(1, 4), F(1, 2), F(1, 4)], [F(0), F(1), F(4)], F(3)
    errors = []
    for signs in itertools.product((-sigma, sigma), repeat=3):
        measured = [g + noise for g, noise in zip(heights, signs, strict=True)]
        errors.append((sum(w * y for w, y in zip(a, measured, strict=True)) - 1) ** 2)
    bias = sum(w * (g - 1) for w, g in zip(a, heights, strict=True))
    assert sum(errors) / 8 == bias**2 + sigma**2 * sum(w * w for w in a)


# --- what the page prints ------------------------------------------------------------------------

PLACES = torch.linspace(0, 10, 40, dtype=torch.float64)
CURVE = torch.sin(PLACES)
BANDWIDTHS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)


def measured():
    drawn = np.random.default_rng(0).normal(size=(40, 1))[:, 0]
    return CURVE + 0.5 * torch.from_numpy(drawn)


def smoother(h, leave_out=False):
    """The weights of all points at all points."""
    exponents = -((PLACES[:, None] - PLACES) ** 2) / (2 * h**2)
    if leave_out:
        exponents = exponents.masked_fill(torch.eye(40, dtype=torch.bool), -torch.inf)
    return torch.softmax(exponents, dim=-1)


def test_points(chapter):
    """The extremes of the measured points, as the figure is described."""
    y = measured()
    described = chapter.figures["out-points"]
    (low, high) = re.findall(r"(?:smallest|largest) (−?\d\.\d\d)", described)[:2]
    assert_printed([parse_number(low), parse_number(high)], [y.min(), y.max()], 2)
    flat = re.search(r"mean of all: (−?\d\.\d\d)", described)
    assert flat
    assert_printed([parse_number(flat[1])], [y.mean()], 2)


def test_three_points(chapter):
    kernels = [F(1), F(1, 2), F(1, 16)]
    weights = [one / sum(kernels) for one in kernels]
    heights = [4, 1, 3]
    for i, name in enumerate(["place", "height", "kernel", "weight"]):
        wanted = [[0, 1, 2], heights, kernels, weights][i]
        assert chapter.column("three", name) == [float(one) for one in wanted]
    estimate = sum(w * y for w, y in zip(weights, heights, strict=True))
    assert chapter.values("idea") == [str(estimate)] == ["3"]


def spread_out(scores):
    powers = [mpmath.exp(one) for one in scores]
    return [one / sum(powers) for one in powers]


def test_same_weights(chapter):
    """Scores 1, 0 and −1; then 2, 0 and −1, and squared distances 10, 6 and 10 over 4."""
    scores = [[1, 0, -1], [1, 0, -1], [2, 0, -1], [-2.5, -1.5, -2.5]]
    assert_printed(chapter.grid("same"), [spread_out(one) for one in scores])


def test_control(chapter):
    captions = (frame.caption for frame in chapter.frames("control"))
    shown = [float(re.findall(r"\d\.\d{3}", caption)[-1]) for caption in captions]
    wanted = [((smoother(h) @ measured() - CURVE) ** 2).mean() for h in BANDWIDTHS]
    assert_printed(shown, wanted, 3)


def parts_of_the_error(h):
    a = smoother(h)
    return ((a @ CURVE - CURVE) ** 2).mean().item(), 0.25 * (a**2).sum(1).mean().item()


def test_repeats(chapter):
    noise = torch.from_numpy(np.random.default_rng(0).normal(size=(200, 40)))
    sums = []
    for line, h in zip(chapter.table("repeats"), BANDWIDTHS, strict=True):
        bias, variance = parts_of_the_error(h)
        sums.append(bias + variance)
        shown = [float(line[name]) for name in ("h", "bias²", "variance", "sum")]
        assert_printed(shown, [h, bias, variance, bias + variance], 3)
        errors = (((CURVE + 0.5 * noise) @ smoother(h).T - CURVE) ** 2).mean(1)
        ((mean, half),) = parse_plus_minus(line["measured"])
        assert_printed([mean, half], [errors.mean(), 1.972 * errors.std() / 200**0.5], 3)
        assert agrees_within_error((mean, half), bias + variance)
    smallest = sums.index(min(sums))
    assert sums[smallest - 1] > sums[smallest] < sums[smallest + 1]
    assert chapter.values("bandwidth") == [f"{BANDWIDTHS[smallest]}", f"{sums[smallest]:.3f}"]


def test_exercises(chapter):
    weights = [F(1, 4), F(1, 2), F(1, 4)]
    estimate = sum(w * y for w, y in zip(weights, [4, 1, 3], strict=True))
    assert chapter.grid("exercise-middle") == [[*map(float, weights), float(estimate)]]
    shown = [float(weights[1]), float(estimate), 2 * float(estimate)]
    assert chapter.values("exercise-middle") == [f"{one:.4f}" for one in shown]
    for line, h in zip(chapter.grid("exercise-limits"), (F(1, 100), 100), strict=True):
        distances = [F(1, 10), F(-9, 10), F(-19, 10)]
        scores = [mpmath.mpf(-one * one / (2 * h * h)) for one in map(float, distances)]
        assert_printed(line, spread_out(scores))
    scores = [[1, 0, -1], [4, 0, -4], [4, 0, -4]]
    assert_printed(chapter.grid("exercise-four"), [spread_out(one) for one in scores])
    assert chapter.values("exercise-four") == ["0.5", "0.25", "2"]
    bias = sum(w * y for w, y in zip(weights, [0, 1, 4], strict=True)) - 1
    noise = 8 * sum(w * w for w in weights)
    assert (bias, noise, bias**2 + noise) == (F(1, 2), 3, F(13, 4))
    assert chapter.grid("exercise-error") == [[0.5, 3, 3.25]]
    shown = [float(one) for one in (bias, noise, 8, bias**2 + noise, bias + noise)]
    assert [float(one) for one in chapter.values("exercise-error")] == shown


def test_exercise_leave(chapter):
    y, wanted = measured(), []
    for h in BANDWIDTHS:
        row = [((smoother(h, out) @ y - y) ** 2).mean().item() for out in (False, True)]
        wanted.append([h, *row])
    assert_printed(chapter.grid("exercise-leave"), wanted, 3)
    assert min(wanted, key=lambda row: row[1])[0] == BANDWIDTHS[0]
    chosen = min(wanted, key=lambda row: row[2])[0]
    excess = [
        left_out - ((smoother(h, True) @ y - CURVE) ** 2).mean().item() for h, _, left_out in wanted
    ]
    said = [f"{chosen:.1f}", f"{min(excess):.2f}", f"{max(excess):.2f}"]
    assert chapter.values("exercise-leave") == said
    assert chosen == 0.4
