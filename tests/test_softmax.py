"""Softmax: against torch in every float type, by hand in fractions, and with mpmath."""

import json
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_docs import softmax as package
from tests.conftest import each_language
from tests.exact import KEYS, QUERIES, SCORES, VALUES, norm, printed, printed_e, product
from tests.exact import jacobian as jacobian_of
from tests.exact import softmax as softmax_of

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

EXAMPLE = [1, 1, 1, 5]


def frobenius(rows):
    """Root of the sum of the squares."""
    return norm([mpmath.mpmathify(x) for row in rows for x in row])


def line_numbers(text, start):
    """The numbers in the first line that starts like this, after that start."""
    line = next(line for line in text.splitlines() if line.strip().startswith(start))
    rest = line.strip()[len(start) :]
    return [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?", rest)]


# The package's functions


@st.composite
def tensors(draw, dtypes=DTYPES, least=1, spread=8.0):
    """A tensor of 1 to 4 axes and one of its axes; sizes differ from axis to axis."""
    dtype = draw(st.sampled_from(dtypes))
    sizes = draw(st.permutations([2, 3, 5, 7]))[: draw(st.integers(least, 4))]
    seed = draw(st.integers(0, 2**31))
    generator = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(sizes, generator=generator, dtype=torch.float64)
    return scores.to(dtype), draw(st.integers(-len(sizes), len(sizes) - 1))


def tolerance(dtype):
    """A few rounding steps."""
    return 4 * torch.finfo(dtype).eps


@given(tensors())
def test_softmax_like_torch(case):
    scores, axis = case
    kept = scores.clone()
    weights = package.softmax(scores, axis=axis)
    assert weights.dtype == scores.dtype
    assert weights.shape == scores.shape
    assert torch.equal(scores, kept)
    # torch's own function, in float64, so that its rounding does not count
    wanted = torch.softmax(scores.double(), axis)
    error = (weights.double() - wanted).abs().max()
    assert error <= tolerance(scores.dtype)
    sums = weights.double().sum(axis)
    assert (sums - 1).abs().max() <= scores.shape[axis] * tolerance(scores.dtype)
    assert bool((weights >= 0).all())


@pytest.mark.parametrize("dtype", DTYPES)
@given(shift=st.integers(-900, 900), axis=st.sampled_from([-2, -1, 0, 1, 2]), seed=st.integers(0))
def test_shift_invariance(dtype, shift, axis, seed):
    # Multiples of 1/2 below 4 plus this shift are exact in float16 and the wider types; for
    # bfloat16, with 8 bits, the shift is smaller.
    shift = shift % 60 if dtype == torch.bfloat16 else shift
    rng = np.random.default_rng(seed)
    scores = torch.tensor(rng.integers(-8, 8, size=(3, 5, 2)) / 2, dtype=dtype)
    moved = scores + shift
    assert torch.equal((moved - shift), scores)  # nothing was rounded
    assert torch.equal(package.softmax(moved, axis=axis), package.softmax(scores, axis=axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_overflow(dtype):
    large = torch.finfo(dtype).max
    scores = torch.tensor([[large, large, 0.0], [-large, -large, -large]], dtype=dtype)
    weights = package.softmax(scores).double()
    third = [[0.5, 0.5, 0], [1 / 3] * 3]
    np.testing.assert_allclose(weights.numpy(), third, atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_minus_infinity_is_weight_0(dtype):
    low = -torch.inf
    scores = torch.tensor([[low, 2.0, low, 1.0], [low, low, low, low]], dtype=dtype)
    weights = package.softmax(scores)
    wanted = torch.softmax(scores[0].double(), -1)
    assert (weights[0].double() - wanted).abs().max() <= tolerance(dtype)
    assert weights[0, [0, 2]].tolist() == [0, 0]
    assert weights[1].tolist() == [0, 0, 0, 0]  # torch's own gives NaN


@given(tensors(dtypes=[torch.float32, torch.float64]), st.floats(0.25, 8))
def test_tempered_like_torch(case, temperature):
    scores, axis = case
    weights = package.tempered_softmax(scores, temperature, axis=axis)
    wanted = torch.softmax(scores.double() / temperature, axis)
    assert weights.dtype == scores.dtype
    assert (weights.double() - wanted).abs().max() <= 64 * tolerance(scores.dtype)


@given(tensors(spread=3.0))
def test_jacobian_like_autograd(case):
    scores, _ = case
    weights = torch.softmax(scores.double(), -1).to(scores.dtype)
    jacobian = package.softmax_jacobian(weights)
    assert jacobian.dtype == scores.dtype
    assert jacobian.shape == (*scores.shape, scores.shape[-1])
    rows = scores.double().reshape(-1, scores.shape[-1])
    wanted = [
        torch.autograd.functional.jacobian(lambda x: torch.softmax(x, -1), row) for row in rows
    ]
    wanted = torch.stack(wanted).reshape(jacobian.shape)
    assert (jacobian.double() - wanted).abs().max() <= tolerance(scores.dtype)


@given(tensors(dtypes=[torch.float64], spread=3.0), st.integers(0, 2**31))
def test_gradient_like_autograd(case, seed):
    scores, _ = case
    by_weights = torch.randn(
        scores.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    leaf = scores.clone().requires_grad_()
    (torch.softmax(leaf, -1) * by_weights).sum().backward()
    got = package.softmax_gradient(torch.softmax(scores, -1), by_weights)
    torch.testing.assert_close(got, leaf.grad, rtol=1e-10, atol=1e-13)
    assert got.sum(-1).abs().max() < 1e-12


@given(st.integers(1, 6), st.sampled_from([0, 1]), st.integers(0, 2**31))
def test_autograd_through_softmax(n, axis, seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn((n, 4), generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: package.softmax(x, axis=axis), scores)


@given(tensors(dtypes=[torch.float32, torch.float64]))
def test_entropy_like_torch(case):
    scores, _ = case
    weights = torch.softmax(scores.double(), -1).to(scores.dtype)
    if scores.shape[-1] > 1:
        weights[..., 0] = 0  # 0 · ln 0 counts as 0
        weights = weights / weights.sum(-1, keepdim=True)
    wanted = torch.distributions.Categorical(probs=weights.double()).entropy()
    got = package.entropy(weights)
    assert got.dtype == scores.dtype
    assert (got.double() - wanted).abs().max() <= 1e-5


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=7), st.floats(0.2, 4), st.floats(1.01, 3))
def test_entropy_rises(scores, temperature, factor):
    s = np.array(scores)
    cold = package.entropy(package.tempered_softmax(s, temperature))
    warm = package.entropy(package.tempered_softmax(s, temperature * factor))
    assert warm >= cold - 1e-12
    if np.ptp(s) > 0.1:
        # dH/dτ = Var_a(s) / τ³, by central differences
        h = 1e-4 * temperature
        ends = [package.entropy(package.tempered_softmax(s, temperature + d)) for d in (-h, h)]
        a = np.array(softmax_of(scores, temperature), dtype=float)
        variance = a @ (s - a @ s) ** 2
        assert (ends[1] - ends[0]) / (2 * h) == pytest.approx(
            variance / temperature**3, rel=1e-3, abs=1e-6
        )


@given(st.lists(st.floats(-6, 6), min_size=2, max_size=9))
def test_other_weights_bound(scores):
    weights = package.softmax(np.array(scores))
    m = int(np.argmax(scores))
    others = np.delete(weights, m).sum()
    gap = scores[m] - max(np.delete(scores, m))
    n = len(scores)
    assert others <= (n - 1) * np.exp(-gap) * (1 + 1e-12)
    assert weights[m] >= (1 - 1e-12) / (1 + (n - 1) * np.exp(-gap))
    values = np.random.default_rng(n).normal(size=(n, 3))
    distance = np.linalg.norm(weights @ values - values[m])
    assert distance <= others * np.linalg.norm(values - values[m], axis=1).max() + 1e-12


@given(st.lists(st.floats(-6, 6), min_size=2, max_size=9), st.integers(0, 2**31))
def test_jacobian_bounds(scores, seed):
    weights = package.softmax(np.array(scores))
    jacobian = package.softmax_jacobian(weights)
    others = np.delete(weights, np.argmax(scores)).sum()
    assert np.linalg.norm(jacobian) <= 2 * others * (1 + 1e-9) + 1e-15
    v = np.random.default_rng(seed).normal(size=len(scores))
    v -= v.mean()
    smallest = np.exp(-(max(scores) - min(scores))) / len(scores)
    assert weights.min() >= smallest * (1 - 1e-12)
    assert np.linalg.norm(v @ jacobian) >= weights.min() * np.linalg.norm(v) * (1 - 1e-9)


def test_jacobian_on_another_batch_shape():
    weights = np.array([[[0.5, 0.5]], [[0.25, 0.75]], [[1.0, 0.0]]])
    got = package.softmax_jacobian(weights)
    assert got.shape == (3, 1, 2, 2)
    np.testing.assert_array_equal(got[1, 0], [[0.1875, -0.1875], [-0.1875, 0.1875]])
    np.testing.assert_array_equal(got[2, 0], [[0, 0], [0, 0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: package.softmax(np.ones((2, 3)), axis=2), ValueError, "of 2 axes, got 2"),
        (lambda: package.softmax(np.ones((2, 0))), ValueError, r"got shape \(2, 0\)"),
        (lambda: package.softmax(np.ones(3, int)), TypeError, "real floats, got int64"),
        (lambda: package.softmax([1.0]), TypeError, "torch tensor, got list"),
        (
            lambda: package.tempered_softmax(np.ones(3), 0.0),
            ValueError,
            "positive and finite, got 0.0",
        ),
        (lambda: package.tempered_softmax(np.ones(3), -2.0), ValueError, "got -2.0"),
        (lambda: package.tempered_softmax(np.ones(3), float("nan")), ValueError, "got nan"),
        (lambda: package.tempered_softmax(np.ones(3, int), 2.0), TypeError, "got int64"),
        (
            lambda: package.softmax_jacobian(np.array(1.0)),
            ValueError,
            r"at least 1 axis \(..., n\), got shape \(\)",
        ),
        (lambda: package.softmax_jacobian([1.0]), TypeError, "got list"),
        (
            lambda: package.softmax_gradient(np.ones((2, 3)), np.ones((3, 2))),
            ValueError,
            r"share a shape \(..., n\), got \(2, 3\) and \(3, 2\)",
        ),
        (
            lambda: package.softmax_gradient(np.ones(3), np.ones(3, np.float32)),
            TypeError,
            "share a dtype, got float64 and float32",
        ),
        (lambda: package.entropy(np.ones(3, int)), TypeError, "real floats, got int64"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


# The published numbers


@pytest.mark.site
@each_language
def test_definition(page, lang):
    softmax = page(lang, "softmax")
    printed(softmax.array("definition", 0), [mpmath.log(x) for x in (1, 2, 5)], 4)
    assert softmax.numbers("definition")[3:7] == [1, 2, 5, 8]
    eighths = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]
    printed(softmax.array("definition", 2), eighths, 4)
    assert "False" not in softmax.output("definition")


@pytest.mark.site
@each_language
def test_shift(page, lang):
    softmax = page(lang, "softmax")
    for number in range(3):
        eighths = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]
        printed(softmax.array("shift", number), eighths, 4)
    shifts = re.findall(r"^s +([+-]\d+):", softmax.output("shift"), re.M)
    assert shifts == ["-3", "+0", "+100"]
    doubled = [Fraction(1, 30), Fraction(4, 30), Fraction(25, 30)]
    printed(softmax.array("shift", 3), doubled, 4)
    assert softmax.output("shift").count("True") == 3
    assert softmax.values("shift") == ["0.6250", "0.8333"]


@pytest.mark.site
@each_language
def test_limits(page, lang):
    # Largest numbers of IEEE 754 and bfloat16, from their bits.
    largest = [
        (2 - mpmath.mpf(2) ** -fraction) * mpmath.mpf(2) ** exponent
        for fraction, exponent in ((10, 15), (7, 127), (23, 127), (52, 1023))
    ]
    output = page(lang, "softmax").output("limits")
    for line, number in zip(output.splitlines(), largest, strict=True):
        logarithm = line.split("largest number = e^")[1]
        assert logarithm == f"{float(mpmath.log(number)):.2f}"


@pytest.mark.site
@each_language
def test_overflow(page, lang):
    lines = page(lang, "softmax").output("overflow").splitlines()
    assert [line.strip() for line in lines[1::3]] == ["without the shift [0.00, nan]"] * 4
    pairs = [re.findall(r"\d+", line.split(" ", 1)[1]) for line in lines[::3]]
    assert pairs == [["10", "12"], ["88", "90"], ["88", "90"], ["708", "710"]]
    sigmoid = 1 / (1 + mpmath.exp(-2))
    for line in lines[2::3]:
        printed(line_numbers(line, "with the shift"), [1 - sigmoid, sigmoid], 2)
    # torch, without a shift, in float32: the published failure is real
    e = torch.exp(torch.tensor([88.0, 90.0]))
    assert torch.isinf(e[1])
    assert bool(torch.isnan((e / e.sum())[1]))


@pytest.mark.site
@each_language
def test_underflow(page, lang):
    output = page(lang, "softmax").output("underflow")
    assert re.findall("True|False", output) == ["True", "False"]
    least = mpmath.exp(-20)
    assert least < mpmath.mpf(2) ** -25  # below half of float16's smallest positive number
    assert least > mpmath.mpf(2) ** -126  # a normal float32
    assert "[nan, nan]" in output
    sigmoid = 1 / (1 + mpmath.exp(-2))
    printed(line_numbers(output, "with the shift"), [sigmoid, 1 - sigmoid], 2)


HAND = [["7/64", "-1/32", "-5/64"], ["-1/32", "3/16", "-5/32"], ["-5/64", "-5/32", "15/64"]]


@pytest.mark.site
@each_language
def test_jacobian(page, lang):
    softmax = page(lang, "softmax")
    lines = softmax.output("jacobian-by-hand").splitlines()
    assert [line.split() for line in lines] == HAND  # worked out with a pencil
    wanted = [[Fraction(entry) for entry in row] for row in HAND]
    printed(softmax.array("jacobian"), wanted, 6)
    s = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64).log()
    of_torch = torch.autograd.functional.jacobian(lambda x: torch.softmax(x, -1), s)
    printed(softmax.array("jacobian"), of_torch.numpy(), 6)
    assert re.findall("True|False", softmax.output("jacobian")) == ["True"] * 4
    values = [float(v) for v in softmax.values("jacobian")[:3]]
    printed(values, [Fraction(15, 64), Fraction(5, 64), Fraction(10, 64)], 6)


@pytest.mark.site
@each_language
def test_jacobian_properties(page, lang):
    softmax = page(lang, "softmax")
    output = softmax.output("jacobian-properties")
    assert re.findall("True|False", output) == ["True"] * 2
    mean = Fraction(3 + 2 + 5, 8)
    variance = Fraction(9 + 2 + 5, 8) - mean**2
    numbers = [x for x in softmax.numbers("jacobian-properties") if x not in (0,)]
    printed(numbers, [mean, variance, variance], 4)


@pytest.mark.site
@each_language
def test_gradient(page, lang):
    softmax = page(lang, "softmax")
    a = [Fraction(1, 8), Fraction(2, 8), Fraction(5, 8)]
    g = [3, 1, 1]
    wanted = [
        sum(g[i] * Fraction(HAND[i][j]) for i in range(3))
        for j in range(3)  # g J, by hand
    ]
    assert wanted == [x * (y - Fraction(10, 8)) for x, y in zip(a, g, strict=True)]
    printed(softmax.array("gradient"), wanted, 5)
    assert re.findall("True|False", softmax.output("gradient")) == ["True"] * 2


@pytest.mark.site
@each_language
def test_temperature(page, lang):
    softmax = page(lang, "softmax")
    lines = softmax.output("temperature").splitlines()
    seen = {}
    for line in lines[1:-1]:
        tau, largest, entropy = (float(x) for x in line.split())
        weights = softmax_of(EXAMPLE, tau)
        seen[tau] = weights
        printed([largest], [max(weights)], 4)
        printed([entropy], [-mpmath.fsum(a * mpmath.log(a) for a in weights)], 4)
    assert list(seen) == [0.5, 1, 2, 4, 8, 64]
    printed(line_numbers(lines[-1], "ln 4 ="), [mpmath.log(4)], 4)
    share = -mpmath.fsum(a * mpmath.log(a) for a in seen[4]) / mpmath.log(4)
    wanted = [max(seen[1]), max(seen[8]), max(seen[4]), share]
    printed([float(v) for v in softmax.values("temperature")], wanted, 4)
    # Typed from seed 001: largest of softmax([1, 1, 1, 5]).
    assert softmax.values("temperature")[0] == "0.9479"


@pytest.mark.site
@each_language
def test_dominates(page, lang):
    softmax = page(lang, "softmax")
    gaps = [0, 1, 2, 4, 8, 16]
    output = softmax.output("dominates")
    assert line_numbers(output, "gap") == gaps
    for n in (2, 8, 64, 1024):
        wanted = [1 / (1 + (n - 1) * mpmath.exp(-gap)) for gap in gaps]
        printed(line_numbers(output, f"n = {n:4d}"), wanted, 4)

    lines = softmax.output("dominates-output").splitlines()
    for i, (scores, gap, m) in enumerate(zip(SCORES, (0, 4, 2), (1, 1, 1), strict=True)):
        weights = softmax_of(scores)
        rest = mpmath.fsum(a for j, a in enumerate(weights) if j != m)
        output = product([weights], VALUES)[0]
        distance = norm([o - v for o, v in zip(output, VALUES[m], strict=True)])
        spread = max(
            frobenius([[x - y for x, y in zip(v, VALUES[m], strict=True)]]) for v in VALUES
        )
        shown = ", ".join(str(s) for s in scores)
        assert lines[3 * i] == f"query {i + 1}: [{shown}], gap {gap}"
        printed(
            line_numbers(lines[3 * i + 1], "others"),
            [rest, 2 * mpmath.exp(-gap)],
            4,
        )
        printed(line_numbers(lines[3 * i + 2], "|o - v|"), [distance, rest * spread], 4)
        if i == 1:
            said = [1 / (1 + (n - 1) * mpmath.exp(-4)) for n in (2, 1024)]
            said += [gap, rest, distance]
            printed([float(v) for v in softmax.values("dominates")], said, 4)


@pytest.mark.site
@each_language
def test_saturation(page, lang):
    softmax = page(lang, "softmax")
    factors, norms = [], {}
    for line in softmax.output("saturation").splitlines()[1:]:
        c, others, size, bound = (float(x) for x in line.split())
        factors.append(c)
        weights = softmax_of([c * s for s in EXAMPLE])
        exact_others = mpmath.fsum(weights[:3])
        exact_norm = frobenius(jacobian_of(weights))
        printed_e([others, size, bound], [exact_others, exact_norm, 2 * exact_others])
        assert exact_norm <= 2 * exact_others
        norms[c] = exact_norm
    assert factors == [0, 0.25, 0.5, 1, 2, 4]
    assert softmax.values("saturation")[0] == str(EXAMPLE)
    said = [float(v) for v in softmax.values("saturation")[1:4]]  # the last is in the caption
    printed_e(said, [norms[1], norms[4], norms[4]])

    for line in softmax.output("lower-bound").splitlines()[1:]:
        R, low, smallest, stretch = (float(x) for x in line.split())
        weights = softmax_of([R / 4 * s for s in EXAMPLE])
        printed_e([low, smallest], [mpmath.exp(-R) / 4, weights[0]])
        # Two of the three tied keys: v = (1, -1, 0, 0) / √2 gives the smallest ‖v J‖.
        v = [[1 / mpmath.sqrt(2), -1 / mpmath.sqrt(2), 0, 0]]
        printed_e([stretch], [frobenius(product(v, jacobian_of(weights)))])


@pytest.mark.site
@each_language
def test_vanish(page, lang):
    """‖∂a/∂q‖ from a torch model of the same scores, by autograd."""
    softmax = page(lang, "softmax")
    lines = softmax.output("vanish").splitlines()
    found = {}
    for start, ahead in ((0, 16), (3, 2)):
        assert lines[start] == f"q·k = [0, 0, 0, {ahead}]"
        keys = torch.full((4, 64), -1.0, dtype=torch.float64)
        for j, score in enumerate((0, 0, 0, ahead)):
            keys[j, : 32 + score // 2] = 1
            keys[j] = keys[j].roll(5 * j)
        for line, divisor, name in ((1, 1, "raw"), (2, 8, "/ √d_k")):
            weights = softmax_of([0, 0, 0, ahead], divisor)
            by_query = torch.autograd.functional.jacobian(
                lambda q, k=keys, c=divisor: torch.softmax(k @ q / c, -1),
                torch.ones(64, dtype=torch.float64),
            )
            numbers = re.findall(r"‖ (\d\S*?)(?:,|$)", lines[start + line])
            size, slope = (float(x) for x in numbers)
            printed_e([size, slope], [frobenius(jacobian_of(weights)), by_query.norm().item()])
            found[ahead, name] = slope
    assert found[16, "raw"] < 1e-4 * found[16, "/ √d_k"]  # the claim is true here
    assert found[2, "raw"] > 2 * found[2, "/ √d_k"]  # and false here

    said = [float(v) for v in softmax.values("claim-scaling")]
    printed_e(said, [found[16, "raw"], found[16, "/ √d_k"], found[2, "raw"], found[2, "/ √d_k"]])

    grown = softmax_of([0, 0, 0, 16])
    assert softmax.array("vanish-again").tolist() == [0, 0, 0, 16]
    printed_e([softmax.numbers("vanish-again")[-1]], [frobenius(jacobian_of(grown))])


@pytest.mark.site
@each_language
def test_two_keys(page, lang):
    output = page(lang, "softmax").output("two-keys")
    ratio = {
        "exponential": mpmath.exp,
        "normal": lambda x: mpmath.ncdf(x) / mpmath.ncdf(-x),
    }
    for line in output.splitlines():
        h = ratio[line.split()[0]]
        assert line.split(maxsplit=1)[1].startswith("h(1)·h(1) = ")
        got = [float(x) for x in re.findall(r"= (\d+\.\d+)", line)]
        printed(got, [h(1) ** 2, h(2)], 3)
        assert (got[0] == got[1]) == line.startswith("exponential")


@pytest.mark.site
@each_language
def test_alternatives(page, lang):
    rows = [[2, 4, 4], [102, 104, 104], [20, 40, 40], [-1, 2, 1], [-2, -4, -4]]

    def shares(parts):
        total = sum(parts)
        return [Fraction(part, total) for part in parts] if total else None

    softmax = page(lang, "softmax")
    lines = softmax.output("alternatives").splitlines()
    for number, row in enumerate(rows):
        block = lines[6 * number : 6 * number + 6]
        assert block[0].startswith(str(row))
        relu = [max(0, s) for s in row]
        wanted = [
            softmax_of(row),
            shares(row),
            shares([s * s for s in row]),
            shares(relu),
            [Fraction(s, 3) for s in relu],
        ]
        for line, one in zip(block[1:], wanted, strict=True):
            inside = line[line.index("[") :]
            if one is None:
                assert inside == "[nan, nan, nan]"
            else:
                printed(line_numbers(inside, "["), one, 4)

    said = softmax.values("alternatives")
    printed(json.loads(said[0]), shares([-1, 2, 1]), 4)
    printed(json.loads(said[1]), shares([1, 4, 1]), 4)
    assert said[2] == "[nan, nan, nan]"
    printed(json.loads(said[3]), [Fraction(s, 3) for s in (2, 4, 4)], 4)


@pytest.mark.site
@each_language
def test_dead(page, lang):
    output = page(lang, "softmax").output("dead")
    assert line_numbers(output, "ReLU share, by score 1:") == [0, 0, 0]
    column = [row[0] for row in jacobian_of(softmax_of([-1, 2, 1]))]
    printed(line_numbers(output, "softmax, by score 1:"), column, 4)


@pytest.mark.site
@each_language
def test_scale_after(page, lang):
    softmax = page(lang, "softmax")
    root = mpmath.sqrt(3)
    wrong = [[a / root for a in softmax_of(scores)] for scores in SCORES]
    right = [softmax_of(scores, root) for scores in SCORES]
    for start, weights, total in ((0, wrong, 1 / root), (3, right, 1)):
        printed(softmax.array("scale-after", start), weights, 4)
        printed(softmax.array("scale-after", start + 1), [total] * 3, 4)
        printed(softmax.array("scale-after", start + 2), product(weights, VALUES), 4)
    # torch's own attention agrees with the right one and not with seed 004's
    q, k, v = (torch.tensor(x, dtype=torch.float64)[None] for x in (QUERIES, KEYS, VALUES))
    attention = torch.nn.functional.scaled_dot_product_attention(q, k, v)[0].numpy()
    printed(softmax.array("scale-after", 5), attention, 4)
    assert np.abs(softmax.array("scale-after", 2) - attention).min() > 0.2
    printed(softmax.array("scale-after-shrinks"), [1 / root] * 3, 4)
    assert "True" in softmax.output("scale-after-shrinks")
    values = [float(v) for v in softmax.values("mistake-scale-after")]
    printed(values, [softmax_of(SCORES[1])[1], right[1][1], 1 / root], 4)


@pytest.mark.site
@each_language
def test_wrong_axis(page, lang):
    softmax = page(lang, "softmax")
    root = mpmath.sqrt(3)

    def across(scores):
        columns = [softmax_of(column, root) for column in zip(*scores, strict=True)]
        return list(zip(*columns, strict=True))

    wrong = across(SCORES)
    printed(softmax.array("wrong-axis", 0), wrong, 4)
    printed(softmax.array("wrong-axis", 1), [sum(row) for row in wrong], 4)
    printed(softmax.array("wrong-axis", 2), [1, 1, 1], 4)
    outputs = product(wrong, VALUES)
    printed(softmax.array("wrong-axis", 3), outputs, 4)
    assert norm(outputs[1]) > max(norm(v) for v in VALUES)
    right = [softmax_of(scores, root) for scores in SCORES]
    printed(softmax.array("wrong-axis", 4), product(right, VALUES), 4)
    printed([float(softmax.values("mistake-axis")[0])], [sum(wrong[1])], 4)

    # Query 3 becomes 0: so does row 3 of the scores.
    other = [*SCORES[:2], [0, 0, 0]]
    first = product(across(other), VALUES)[0]
    moved = max(abs(x - y) for x, y in zip(first, outputs[0], strict=True))
    # With a causal mask output 1 is its only weight, that of key 1, times value 1.
    before, after = (softmax_of([row[0] for row in scores], root)[0] for scores in (SCORES, other))
    leaked = abs(after - before) * max(VALUES[0])
    numbers = [float(x) for x in re.findall(r": +(\S+)", softmax.output("wrong-axis-leak"))]
    printed(numbers, [moved, 0, leaked], 4)


@pytest.mark.site
@each_language
def test_exercises(page, lang):
    softmax = page(lang, "softmax")
    gained = [[sum(x * y for x, y in zip(q, (2, -1, 5), strict=True))] * 3 for q in QUERIES]
    assert softmax.array("exercise-1").tolist() == gained
    assert "True" in softmax.output("exercise-1")
    for number, tau in enumerate((1, Fraction(1, 2), Fraction(1, 10))):
        assert f"τ = {float(tau):.1f}:" in softmax.output("exercise-2")
        divisor = mpmath.mpf(tau.numerator) / tau.denominator
        printed(softmax.array("exercise-2", number), softmax_of([2, 4, 4], divisor), 4)
    gaps = [float(x) for x in re.findall(r"gap (\S+),", softmax.output("exercise-3"))]
    printed(gaps, [mpmath.log(99 * 7), mpmath.log(99 * 1023)], 2)
    assert re.findall(r"n = (\d+):", softmax.output("exercise-3")) == ["8", "1024"]
    assert re.findall(r"weight (\S+)", softmax.output("exercise-3")) == ["0.9900"] * 2
