"""Regression in a prompt: fractions, torch, and all prompts of a small kind, counted."""

from __future__ import annotations

import itertools
import json
import re
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_docs.heads import FOLDER
from attention_docs.in_context import gradient_step, in_context_layer, ridge_regression, step_error
from attention_docs.site.publish.measurements import measure_examples
from attention_docs.smollm2 import encode_text, load_smollm2
from tests.conftest import scale_examples
from tests.exact import assert_printed
from tests.page import parse_number
from tests.test_experiments import run
from tests.test_heads import FILE, in_torch, needs_model, run_in_torch  # noqa: F401

SEEDS = st.integers(0, 10**6)
F = Fraction
N, D, NOISE = 16, 3, F(1, 4)  # of the page
KEPT = json.loads((FOLDER / "examples.json").read_text(encoding="utf-8"))


# --- the package's functions ---------------------------------------------------------------------


def draw_examples(seed, batch=(), n=5, d=3):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=(*batch, n, d))), torch.from_numpy(
        rng.normal(size=(*batch, n))
    )


@scale_examples(20)
@given(seed=SEEDS, batch=st.sampled_from([(), (2,), (2, 3)]), rate=st.sampled_from([0.1, 0.7]))
def test_layer_is_a_gradient_step(seed, batch, rate):
    """Torch's gradient of the squared errors; the layer whose matrices pick out the parts."""
    x, y = draw_examples(seed, batch)
    w = torch.zeros(*batch, 3, dtype=torch.float64, requires_grad=True)
    (((x @ w[..., None])[..., 0] - y) ** 2).sum().div(2).backward()
    wanted = -rate * w.grad
    found = gradient_step(x, y, rate)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
    asked = torch.from_numpy(np.random.default_rng(seed + 1).normal(size=(*batch, 2, 3)))
    tokens = torch.cat([x, y[..., None]], dim=-1)
    query = torch.cat([asked, torch.zeros(*batch, 2, 1)], dim=-1)
    take_x = torch.eye(4, dtype=torch.float64)[:, :3]
    take_y = rate * torch.eye(4, dtype=torch.float64)[:, 3:]
    answers = in_context_layer(query, tokens, take_x, take_x, take_y)
    torch.testing.assert_close(answers, asked @ wanted[..., None], rtol=0, atol=1e-11)


@scale_examples(20)
@given(seed=SEEDS)
def test_layer(seed):
    """Any matrices, in a plain loop; a batch of prompts with one question for all."""
    rng = np.random.default_rng(seed)
    t, e = rng.normal(size=(2, 3)), rng.normal(size=(4, 5, 3))
    w_q, w_k, w_v = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.normal(size=(3, 2))
    found = in_context_layer(t, e, w_q, w_k, w_v)
    for b, i, c in np.ndindex(4, 2, 2):
        terms = [((t[i] @ w_q) @ (one @ w_k)) * (one @ w_v)[c] for one in e[b]]
        assert abs(found[b, i, c] - sum(terms)) < 1e-11


@scale_examples(20)
@given(seed=SEEDS, strength=st.sampled_from([0.25, 2.0]), batch=st.sampled_from([(), (3,)]))
def test_ridge_regression(seed, strength, batch):
    """Least squares of torch with d more examples: √λ times the unit vectors, with the answer 0."""
    x, y = draw_examples(seed, batch)
    more = strength**0.5 * torch.eye(3, dtype=torch.float64).expand(*batch, 3, 3)
    stacked = torch.cat([x, more], dim=-2)
    answers = torch.cat([y, torch.zeros(*batch, 3)], dim=-1)
    wanted = torch.linalg.lstsq(stacked, answers[..., None]).solution[..., 0]
    for found in (
        ridge_regression(x, y, strength),
        ridge_regression(x.numpy(), y.numpy(), strength),
    ):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)


def count_error(n, d, rate, noise):
    """The error over all prompts: three values in place of a normal one have its first moments."""
    values = [(F(2, 3), 0), (F(1, 6), 1), (F(1, 6), -1)]  # times √3, so squares count three times
    total = F(0)
    for drawn in itertools.product(values, repeat=n * d):
        chance = F(1)
        for p, _ in drawn:
            chance *= p
        x = [[one for _, one in drawn[j * d : (j + 1) * d]] for j in range(n)]
        gram = [[3 * sum(x[j][a] * x[j][b] for j in range(n)) for b in range(d)] for a in range(d)]
        off = [[rate * gram[a][b] - (a == b) for b in range(d)] for a in range(d)]
        squares = sum(one * one for line in off for one in line)
        trace = sum(gram[a][a] for a in range(d))
        total += chance * (squares + rate * rate * noise * trace)
    return total / d


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2)])
def test_step_error(n, d):
    for rate, noise in ((F(1, 5), F(0)), (F(1, 3), F(1, 4))):
        assert step_error(n, d, rate, noise) == count_error(n, d, rate, noise)
    best = F(1) / (n + d + 1 + NOISE)
    errors = [step_error(n, d, best + shift, NOISE) for shift in (-F(1, 100), 0, F(1, 100))]
    assert errors[1] == (d + 1 + NOISE) / (n + d + 1 + NOISE) < min(errors[0], errors[2])


def test_more_examples():
    """The rate for n: least near n + (d + 1 + σ²)/2, and the error 1 at 2n + d + 1 + σ²."""
    for n, d, noise in itertools.product((1, 4, 16), (1, 3), (F(0), F(1))):
        more = d + 1 + noise
        rate = 1 / (n + more)
        errors = [step_error(m, d, rate, noise) for m in range(1, 100)]
        least = min(errors)
        assert all(
            abs(m - (n + more / 2)) <= F(1, 2) for m, e in enumerate(errors, 1) if e == least
        )
        back = 2 * n + more
        assert step_error(int(back), d, rate, noise) == 1
        assert (
            step_error(int(back) + 1, d, rate, noise)
            > 1
            > step_error(int(back) - 1, d, rate, noise)
        )


@scale_examples(15)
@given(seed=SEEDS)
def test_layers_are_steps(seed):
    """In whole numbers and fractions: three layers with residual connections, and three steps."""
    rng = np.random.default_rng(seed)
    x = [[F(int(one)) for one in row] for row in rng.integers(-3, 4, size=(4, 2))]
    y = [F(int(one)) for one in rng.integers(-5, 6, size=4)]
    asked, rate, w = [F(2), F(-1)], F(1, 16), [F(0), F(0)]
    left, collected = list(y), F(0)
    for _ in range(3):
        w = [
            w[c]
            - rate * sum((a[0] * w[0] + a[1] * w[1] - b) * a[c] for a, b in zip(x, y, strict=True))
            for c in (0, 1)
        ]
        seen = list(left)
        dot = lambda a, b: a[0] * b[0] + a[1] * b[1]  # noqa: E731
        left = [
            r - rate * sum(dot(a, b) * s for b, s in zip(x, seen, strict=True))
            for a, r in zip(x, left, strict=True)
        ]
        collected -= rate * sum(dot(asked, b) * s for b, s in zip(x, seen, strict=True))
        assert -collected == dot(asked, w)
        assert left == [b - dot(a, w) for a, b in zip(x, y, strict=True)]


# --- what the page prints ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    """The listing's trained layers."""
    return run("in-context", "task", "train")["trained"]


def prompts(seed, count, n, d=D):
    """As the page draws them."""
    rng = np.random.default_rng(seed)
    w, x = rng.normal(size=(count, d)), rng.normal(size=(count, n, d))
    y = (x @ w[..., None])[..., 0] + 0.5 * rng.normal(size=(count, n))
    return (torch.from_numpy(one) for one in (x, y, w))


def estimate(parameters, x, y):
    """The coefficients of a layer: x and y are moments; its matrices make a bilinear form."""
    W_Q, W_K, W_V = map(torch.from_numpy, parameters)
    e = torch.cat([x, y[..., None]], dim=-1)
    moments = torch.einsum("bni,bnj->bij", e, e)
    return torch.einsum("ai,bij,j->ba", (W_Q @ W_K.T)[:-1], moments, W_V[:, 0])


def share(found, w):
    return ((found - w) ** 2).sum(-1).mean().item() / w.shape[-1]


def step(x, y, rate):
    return rate * torch.einsum("bn,bni->bi", y, x)


def ridge(x, y):
    """With the solution of the normal equations by torch."""
    gram = x.mT @ x + 0.25 * torch.eye(x.shape[-1], dtype=torch.float64)
    return torch.linalg.solve(gram, torch.einsum("bn,bni->bi", y, x))


BEST = float(1 / (N + D + 1 + NOISE))


def formula(n, rate, d=D):
    return float(1 - 2 * rate * n + rate**2 * n * (n + d + 1 + float(NOISE)))


def test_event(chapter):
    """The last line is the same; the words that follow are opposites, comparatives, neither."""
    assert [text.split("\n")[-1] for text in KEPT["texts"]] == ["fast →"] * 3
    rows = chapter.table("event")
    for row, text, answer in zip(rows, KEPT["texts"], KEPT["answers"], strict=True):
        lines = text.split("\n")
        token, p = answer["next"][0]
        assert row["before fast →"] == (", ".join(lines[:-1]) or "nothing")
        assert row["likeliest"] == token.replace(" ", "␣")
        assert float(row["probability"]) == p
    assert [row["likeliest"] for row in rows] == ["␣slow", "␣faster", "␣"]


@needs_model
def test_the_examples_are_measured_again(in_torch: Any) -> None:  # noqa: F811
    """By this code, and by a second implementation, in PyTorch."""
    model = load_smollm2(FILE)
    assert json.loads(json.dumps(measure_examples(model))) == KEPT
    for text, answer in zip(KEPT["texts"], KEPT["answers"], strict=True):
        ids = torch.tensor([[0, *encode_text(text, model)]])
        logits, _ = run_in_torch(ids, in_torch)
        p = logits[0, -1].softmax(dim=-1)
        for token, kept_p in answer["next"]:
            (i,) = encode_text(token, model)
            assert abs(p[i].item() - kept_p) <= 5e-3, (text, token)


def test_first_table(chapter, trained):
    x, _, _ = prompts([0, 5], 3, N)
    hidden = torch.tensor([[1.0, 1, 1], [1, 0, -1], [-2, -1, 0]]).double()
    y = (x @ hidden[..., None])[..., 0]
    answers = estimate(trained[0], x, y).sum(-1)
    assert_printed(chapter.vectors("task", "hidden coefficients"), hidden, 0)
    assert_printed(chapter.column("task", "right answer"), hidden.sum(-1), 0)
    assert_printed(chapter.column("task", "answer of the layer"), answers, 2)
    assert (answers.diff() < 0).all()  # as the right answers fall
    assert (hidden.sum(-1).diff() < 0).all()
    assert ((answers - hidden.sum(-1)).abs() < hidden.sum(-1).abs().max()).all()


def test_hand(chapter):
    x, y, eta, asked = [[F(1), F(2)], [F(1), F(0)]], [F(3), F(1)], F(1, 4), [F(2), F(1)]
    slope = [sum(-b * a[c] for a, b in zip(x, y, strict=True)) for c in (0, 1)]
    w = [-eta * one for one in slope]
    answer = w[0] * asked[0] + w[1] * asked[1]
    (line,) = chapter.table("hand")
    assert [*line.values()][1:] == [str(one) for one in (*w, answer)] == ["1", "3/2", "7/2"]
    rows = []
    for a, b in zip(x, y, strict=True):
        score = a[0] * asked[0] + a[1] * asked[1]
        rows.append([f"[{a[0]}, {a[1]}]", *map(str, (score, eta * b, score * eta * b))])
    assert [[*one.values()][1:] for one in chapter.table("layer")] == rows
    assert chapter.values("layer") == [str(answer)]


def test_layers(chapter):
    x, y, _ = prompts([0, 1000], 4, N)
    w, wanted = torch.zeros(4, 3, dtype=torch.float64), []
    for layers in (1, 2, 3):
        leaf = w.clone().requires_grad_()
        (((x @ leaf[..., None])[..., 0] - y) ** 2).sum().div(2).backward()
        w = w - leaf.grad / 40
        wanted.append([layers, *[w[1].sum().item()] * 2])
    assert_printed(chapter.grid("layers"), wanted)


def test_rates(chapter):
    x, y, w = prompts([0, 5, N], 20_000, N)
    rows = chapter.grid("rates")
    for line, factor in zip(rows, (0.5, 1, 1.5, 2), strict=True):
        rate = factor * BEST
        assert_printed(line[:2], [factor, rate])
        assert_printed(line[2:], [formula(N, rate), share(step(x, y, rate), w)], 2)
    assert rows[0][2] == rows[2][2]
    assert rows[3][2] == 1


def test_trained(chapter, trained):
    W_Q, W_K, W_V = map(torch.from_numpy, trained[0])
    shown = chapter.matrix("matrix", "the matrix between x and x_j")
    assert_printed(shown, W_V[-1, 0] * (W_Q @ W_K.T)[:D, :D])
    np.testing.assert_allclose(shown, BEST * np.eye(D), rtol=0, atol=0.002)
    assert chapter.values("trained")[:3] == ["500", "256", f"{BEST:.4f}"]
    x, y, w = prompts([0, 5, N], 20_000, N)
    errors = sorted(share(estimate(one, x, y), w) for one in trained)
    table = chapter.table("compared")
    wanted = [1.0, share(step(x, y, BEST), w), None, share(ridge(x, y), w)]
    for line, one in zip(table, wanted, strict=True):
        if one is not None:
            assert_printed([float(line["error"])], [one], 3)
    ends = [float(one) for one in re.findall(r"\d\.\d+", table[2]["error"])]
    assert_printed(ends, [errors[0], errors[-1]], 3)
    assert max(errors) - formula(N, BEST) < 0.005
    np.testing.assert_allclose(errors, 1 / 5, rtol=0, atol=0.02)  # "about a fifth"


def test_control(chapter, trained):
    for frame, m in zip(chapter.frames("control"), (4, 8, 16, 32, 64), strict=True):
        (chart,) = frame.labels
        x, y, w = prompts([0, 5, m], 20_000, m)
        errors = sorted(share(estimate(one, x, y), w) for one in trained)
        shown = [float(one) for one in re.findall(r"\d\.\d{3}", frame.caption)]
        assert_printed(shown, [errors[0], errors[-1]], 3)
        own = 1 / (m + D + 1 + float(NOISE))
        steps = [share(step(x, y, rate), w) for rate in (BEST, own)]
        described = [float(one) for one in re.findall(r"(\d\.\d\d) for", chart)]
        assert_printed(described, [errors[2], *steps, share(ridge(x, y), w)], 2)
        assert (errors[0] > 1) == (m == 64)


def test_parabola(chapter):
    described = chapter.figures["out-parabola"]
    fixed = [formula(m, BEST) for m in range(1, 65)]
    own = [formula(m, 1 / (m + D + 1 + float(NOISE))) for m in range(1, 65)]
    numbers = re.findall(r"(?:: |, |smallest |largest )(\d\.\d\d) (?:at|\()", described)
    wanted = [one for line in (fixed, own) for one in (line[0], line[-1], min(line), max(line))]
    assert_printed([float(one) for one in numbers], wanted, 2)


@cache
def train_two_components():
    """Layers from twenty starts: once, though the test is called again for each printed number."""
    found = run("in-context", "task", "train", given={"trained": []})
    return [found["train"](seed, 2) for seed in range(20)]


def test_stuck(chapter):
    """The errors of the twenty starts with two components, by the moments of their prompts."""
    x, y, w = prompts([0, 5, 2], 20_000, N, 2)
    layers = train_two_components()
    errors = sorted(share(estimate(layer, x, y), w) for layer in layers)
    arrived = [one for one in errors if one < 0.2]
    stuck = errors[len(arrived) :]
    for line, some in zip(chapter.table("stuck"), (arrived, stuck), strict=True):
        assert line["runs"] == str(len(some))
        ends = [float(one) for one in re.findall(r"\d\.\d+", [*line.values()][-1])]
        assert_printed(ends, [some[0], some[-1]], 3)
    assert chapter.values("stuck") == [str(len(stuck)), "20"]
    least = formula(N, 1 / (N + 2 + 1 + float(NOISE)), 2)
    assert arrived[0] > least - 0.005
    for W_Q, W_K, W_V in layers:
        if share(estimate((W_Q, W_K, W_V), x, y), w) >= 0.2:
            check_stuck(W_Q @ W_K.T, W_V, least, (x, y, w))


def check_stuck(pairs, values, least, exam):
    """Each of the two ways alone serves one direction, and both together disturb each other."""
    x, y, w = exam
    one = torch.from_numpy(values[:2, 0] / np.linalg.norm(values[:2, 0]))
    other = torch.stack([-one[1], one[0]])
    keys, taken = np.diag([1, 1, 0]), np.diag([0, 0, 1])  # input and answer of a token

    def errors(key, value):
        """Along both directions, if keys and values take only these parts of a token."""
        off = estimate((pairs @ key, np.eye(3), value @ values), x, y) - w
        return [(off @ way).square().mean().item() for way in (one, other)]

    by_input, by_answer = errors(keys, taken), errors(taken, keys)
    both = errors(np.eye(3), np.eye(3))
    assert by_answer[0] < 0.5 < 0.95 < by_input[0]
    assert by_input[1] < 0.6 < 0.95 < by_answer[1]
    assert both[0] > by_answer[0]
    assert both[1] > by_input[1]
    assert min(both) > 2 * least


def test_exercises(chapter):
    w = [F(1, 4) * (2 * 1 + 6 * 0), F(1, 4) * (2 * 1 + 6 * 2)]
    answer = 2 * w[0] + w[1]
    assert chapter.grid("exercise-hand") == [[float(one) for one in (*w, answer)]]
    shown = [*w, answer, 4 * answer]
    assert [parse_number(one) for one in chapter.values("exercise-hand")] == [*map(float, shown)]
    best, left = F(1, 4 + 1 + 1), F(1 + 1, 4 + 1 + 1)
    assert count_error(4, 1, best, F(0)) == left
    (line,) = chapter.table("exercise-rate")
    assert [*line.values()] == [str(best), str(left)]
    assert chapter.values("exercise-rate") == [str(best), "1/4", str(left)]
    c = BEST * N
    rows = [[m, formula(m, BEST), formula(m, c / m)] for m in (16, 64, 256, 1024)]
    assert_printed(chapter.grid("exercise-mean"), rows, 3)
    limit = (1 - c) ** 2
    assert all(a[2] > b[2] > limit for a, b in itertools.pairwise(rows))


def test_exercise_order(chapter, trained):
    x, y, _ = prompts([0, 5, 8], 20_000, 8)
    found = estimate(trained[0], x[:1], y[:1])[0]
    assert_printed(chapter.grid("exercise-order"), torch.stack([found, found, 2 * found]))


def test_exercise_self(chapter):
    x, y, _ = prompts([0, 5, N], 20_000, N)
    scores = x[..., 0] / D**0.5  # of the question [1, 0, 0]
    alone = (torch.softmax(scores, -1) * y).sum(-1)
    own = torch.cat([scores, torch.full((20_000, 1), 1 / D**0.5)], dim=-1)
    with_itself = (torch.softmax(own, -1)[:, :-1] * y).sum(-1)
    moved = (with_itself - alone).abs().mean()
    assert_printed(chapter.column("exercise-self", "mean change"), [0, moved], 3)


def test_exercise_precondition(chapter):
    """The best rate for these prompts, by a fit of one number."""
    x, _, w = prompts([0, 5, N], 20_000, N)
    x = x * torch.tensor([1.0, 1, 3])
    y = (x @ w[..., None])[..., 0]
    size = torch.tensor([1.0, 1, 3]).double()
    wanted = []
    for matrix in (torch.ones(3).double(), torch.tensor([1.0, 1, 1 / 9]).double()):
        guess = (step(x, y, 1.0) * matrix * size).reshape(-1, 1)
        right = (w * size).reshape(-1, 1)
        rate = torch.linalg.lstsq(guess, right).solution
        off = ((rate * guess - right) ** 2).sum() / (right**2).sum()
        wanted.append([rate.item(), off.item()])
    shown = np.array(chapter.grid("exercise-precondition"))
    assert_printed(shown[:, 0], [one for one, _ in wanted])
    assert_printed(shown[:, 1], [one for _, one in wanted], 2)
    assert wanted[1][1] < wanted[0][1]
