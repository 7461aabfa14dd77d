"""Maps of attention: by hand, by PyTorch, by networkx, and the model measured a second time."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import hypothesis.strategies as st
import networkx
import numpy as np
import torch
from hypothesis import given

from attention_docs.heads import FOLDER
from attention_docs.maps import (
    attention_flow,
    attention_rollout,
    gradient_times_attention,
    patching_effect,
    value_weighted,
    with_residual,
)
from attention_docs.site.publish import patching
from attention_docs.smollm2 import encode_text, load_smollm2, mean_outputs, run_model
from tests.exact import assert_printed, make_test_of_asked
from tests.page import Page
from tests.test_heads import FILE, in_torch, needs_model, run_in_torch  # noqa: F401

KEPT = json.loads((FOLDER / "maps.json").read_text(encoding="utf-8"))
COUNTRY = 4
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-rollout": [[0.4375, 0.5625], [0.75, 0.25], [0.25, 0.75]],
    "exercise-depth": [9, 4, 8],
    "exercise-effect": [0.25, 0.75, 4 / 9],
    "exercise-lengths": [[0.3, 1.5, 1.0], [0.5, 5.0, 10.0]],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
seeds = st.integers(0, 2**32 - 1)


def draw_maps(seed: int, layers: int, n: int, causal: bool = False) -> np.ndarray:
    weights = np.random.default_rng(seed).dirichlet(np.ones(n), size=(layers, n))
    if causal:
        weights = np.tril(weights)
        weights /= weights.sum(axis=-1, keepdims=True)
    return weights


# --- the functions --------------------------------------------------------------------------------


@given(seeds, st.integers(1, 4), st.integers(1, 5))
def test_rollout_against_torch(seed: int, layers: int, n: int) -> None:
    maps = draw_maps(seed, layers, n)
    mixed = [torch.lerp(torch.from_numpy(A), torch.eye(n, dtype=torch.float64), 0.5) for A in maps]
    found = attention_rollout(maps)
    for layer in range(layers):
        wanted = torch.eye(n, dtype=torch.float64)
        for one in mixed[: layer + 1]:
            wanted = one @ wanted
        np.testing.assert_allclose(found[layer], wanted, atol=1e-12)
        np.testing.assert_allclose(found[layer].sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(with_residual(maps), torch.stack(mixed), atol=1e-15)


@given(seeds, st.integers(1, 12), st.integers(2, 5))
def test_rollout_ends_at_the_first_token(seed: int, layers: int, n: int) -> None:
    """The bound of the result, and a case where it is met exactly."""
    maps = draw_maps(seed, layers, n, causal=True)
    least = maps[..., 0].min()
    rolled = attention_rollout(maps)[-1]
    assert rolled[:, 0].min() >= 1 - (1 - least / 2) ** layers - 1e-12
    two = np.array([[1.0, 0], [0.25, 0.75]])
    (share,) = attention_rollout(np.stack([two] * layers))[-1, 1:, 0]
    assert math.isclose(share, 1 - (1 - 0.125) ** layers)


@given(seeds, st.integers(1, 3), st.integers(1, 4))
def test_flow_against_networkx(seed: int, layers: int, n: int) -> None:
    maps = draw_maps(seed, layers, n)
    graph = networkx.DiGraph()
    for layer, i, j in np.ndindex(layers, n, n):
        width = (maps[layer, i, j] + (i == j)) / 2
        graph.add_edge((layer, j), (layer + 1, i), capacity=width)
    found = attention_flow(maps)
    for i, j in np.ndindex(n, n):
        wanted = networkx.maximum_flow_value(graph, (0, j), (layers, i))
        assert math.isclose(found[i, j], wanted, abs_tol=1e-9)


def test_flow_by_hand() -> None:
    """Over both tokens between: ½ and ¼, or ¼ and ½."""
    maps = np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.0, 1], [1, 0]]])
    np.testing.assert_allclose(attention_flow(maps), [[0.75, 0.75], [0.75, 0.75]])


@given(seeds)
def test_value_weighted_by_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, v = rng.dirichlet(np.ones(4), size=(2, 3)), rng.normal(size=(2, 4, 5))
    found = value_weighted(a, v)
    for h, i, j in np.ndindex(2, 3, 4):
        assert math.isclose(found[h, i, j], a[h, i, j] * math.hypot(*v[h, j]))


@given(seeds)
def test_gradient_times_attention_is_that_of_autograd(seed: int) -> None:
    """Of a number that depends on the outputs of two heads through a curve and a norm."""
    rng = np.random.default_rng(seed)
    a, v, W = rng.dirichlet(np.ones(4), size=(2, 3)), rng.normal(size=(2, 4, 5)), rng.normal(size=5)
    weights = torch.from_numpy(a).requires_grad_()
    o = weights @ torch.from_numpy(v)
    o.retain_grad()
    y = torch.tanh(o @ torch.from_numpy(W)).sum() + o.norm()
    y.backward()
    assert o.grad is not None
    found = gradient_times_attention(a, v, o.grad.numpy())
    np.testing.assert_allclose(found, a * weights.grad.numpy(), atol=1e-12)  # type: ignore[union-attr]
    np.testing.assert_allclose(found.sum(axis=-1), (o.grad * o).sum(dim=-1).detach(), atol=1e-12)


@given(seeds)
def test_same_output(seed: int) -> None:
    """Along a direction of the left null space the output stays, along any other it moves."""
    rng = np.random.default_rng(seed)
    V, a = rng.normal(size=(5, 3)), rng.dirichlet(np.ones(5))
    _, _, rows = np.linalg.svd(np.column_stack([V, np.ones(5)]).T)
    null = rows[-1]  # five unknowns, four equations
    b = a + null * 0.5 * a.min() / np.abs(null).max()
    assert (b > 0).all()
    assert math.isclose(b.sum(), 1)
    np.testing.assert_allclose(a @ V, b @ V, atol=1e-12)
    other = rng.dirichlet(np.ones(5))
    assert np.abs((a - other) @ V).max() > 1e-12
    assert np.abs(a @ V - other @ V).max() > 1e-12


def test_effects_by_hand() -> None:
    own, other = np.array([9.0, -1]), np.array([-12.0, 3])
    found = patching_effect(np.array([[9.0, -1], [-12, 3], [-1.5, 1]]), own, other)
    assert found.tolist() == [[0, 0], [1, 1], [0.5, 0.5]]


# --- what the chapter shows -----------------------------------------------------------------------


def column(rows: list[dict[str, str]], name: str) -> list[float]:
    return [float(row[name].replace("−", "-")) for row in rows]


def spread(values: Any) -> list[float]:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return [ordered[0], (ordered[middle - 1] + ordered[middle]) / 2, ordered[-1]]


def numbers(text: str) -> list[float]:
    return [float(one.replace("−", "-")) for one in re.findall(r"[−-]?\d+\.\d+", text)]


def test_event(chapter: Page) -> None:
    names = [one.strip() for one in KEPT["tokens"]]
    assert re.findall(r"(\S+): \d", chapter.figure("event")) == names
    by_mean, by_rollout, by_exchange = zip(*chapter.matrix("event", ""), strict=True)
    assert KEPT["tokens"][COUNTRY] == " France"
    means = [sum(one) / 30 for one in zip(*KEPT["last_rows"], strict=True)]
    assert_printed(by_mean, means, 2)
    assert_printed(by_rollout, KEPT["rollout"][-1], 2)
    effects = [0.0] * COUNTRY + [place[0] for place in KEPT["effect"][0]]
    assert_printed(by_exchange, effects, 2)
    said, p = KEPT["said"][0][0]
    shown = chapter.values("maps")[:6]
    assert KEPT["layers"][0] == 2
    assert shown == [
        f"{KEPT['probabilities'][0]:.2f}",
        f"{KEPT['rollout'][-1][0]:.3f}",
        f"{means[COUNTRY]:.2f}",
        "3",
        said.strip(),
        f"{p:.2f}",
    ]
    assert said == " Tokyo"
    first = sorted(row[0] for row in KEPT["last_rows"])
    assert chapter.values("rollout") == [f"{sum(first[14:16]) / 2:.2f}", f"{first[0]:.3f}"]


def test_pencil(chapter: Page) -> None:
    """By hand, as the page tells it."""
    rows = chapter.table("pencil")
    wanted = [[0, 1, 0], [0, 0.5, 0.5], [0.25, 0.25, 0.5], [0.5, 0.5, 0.5]]
    for row, one in zip(rows, wanted, strict=True):
        assert [float(row[f"token {i}"]) for i in (1, 2, 3)] == one


def test_flow(chapter: Page) -> None:
    """By hand: token 2 has one half from token 1; to each token one half of its own comes up."""
    rows = chapter.table("flow")
    wanted = [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0.5]]
    for row, one in zip(rows, wanted, strict=True):
        assert [float(row[f"from token {i}"]) for i in (1, 2, 3)] == one


def test_lengths(chapter: Page) -> None:
    rows = chapter.table("lengths")
    for name, kept in (("weight", "mean_of_all"), ("weight × ‖value‖", "mean_with_values")):
        means = [sum(one) / 10 for one in zip(*KEPT[kept], strict=True)]
        assert_printed(column(rows, name), means, 2)
    assert chapter.values("values")[:1] == [rows[0]["weight × ‖value‖"]]


def test_same(chapter: Page) -> None:
    """By hand: each of the three is (1, 1)."""
    rows = chapter.table("same")
    assert [row["weights"] for row in rows] == [
        "[0.25, 0.50, 0.25]",
        "[0.50, 0.00, 0.50]",
        "[0.00, 1.00, 0.00]",
    ]
    assert {row["output"] for row in rows} == {"[1.00, 1.00]"}


def test_gradient(chapter: Page) -> None:
    """By hand: lengths 1, 2 and √5; of each value the first component."""
    wanted = [[0.7, 0.2, 0.1], [0.7, 0.4, 0.1 * math.sqrt(5)], [0, 0.4, -0.2]]
    for row, one in zip(chapter.table("gradient"), wanted, strict=True):
        found = [float(row[f"token {i}"].replace("−", "-")) for i in (1, 2, 3)]
        assert_printed(found, one, 2)


def test_control(chapter: Page) -> None:
    frames = chapter.frames("control")
    assert len(frames) == len(KEPT["layers"]) == 10
    for i, (frame, layer) in enumerate(zip(frames, KEPT["layers"], strict=True)):
        said, p = KEPT["said"][i][0]
        assert frame.caption.endswith(f"the likeliest token is {said.strip()}, {p:.2f}.")
        effects = [0.0] * COUNTRY + [place[0] for place in KEPT["effect"][i]]
        wanted = [KEPT["last_rows"][layer], KEPT["rollout"][layer], effects]
        assert_printed(numbers(frame.labels[0]), np.ravel(wanted).tolist(), 3)
    assert KEPT["said"][8][0][0] == " Paris"  # the answer to the guess, after layer 27
    assert KEPT["layers"][8] == 26


def test_patches(chapter: Page) -> None:
    rows = chapter.table("patches")
    assert [row[""] for row in rows] == ["layer 3", "layer 15", "layer 21", "layer 30"] * 2
    for k, row in enumerate(rows):
        kept = KEPT["effect"][[0, 4, 6, 9][k]] if k < 4 else KEPT["effect_of_random"][k - 4]
        assert row["vector from"] == ("next country" if k < 4 else "random text")
        assert_printed(numbers(row["at the country"]), spread(kept[0]), 2)
        assert_printed(numbers(row["at the last token"]), spread(kept[-1]), 2)
    half = spread(KEPT["effect_of_random"][0][0])[1]
    assert chapter.values("patching") == [f"{half:.1f}"]
    assert abs(half - 0.5) < 0.05
    # What the page says of layers 21 and 24: all ten countries, not a mean.
    assert min(KEPT["effect"][6][0]) > 0.9 > 0.1 > max(map(abs, KEPT["effect"][6][-1]))
    assert max(map(abs, KEPT["effect"][7][0])) < 0.1 < 0.7 < min(KEPT["effect"][7][-1])


def test_heads(chapter: Page) -> None:
    rows = chapter.table("heads")
    every = [(layer, head) for layer in range(30) for head in range(9)]
    by_weight, by_cost = (
        sorted(every, key=lambda at: -KEPT[name][at[0]][at[1]])[:3]
        for name in ("on_country", "cost")
    )
    for row, (layer, head) in zip(rows, [*by_weight, *by_cost], strict=True):
        assert row[""] == f"head {layer}.{head}"
        assert_printed(float(row["weight on the country"]), KEPT["on_country"][layer][head], 3)
        cost = float(row["cost of cutting it"].replace("−", "-"))
        assert_printed(cost, KEPT["cost"][layer][head], 3)
        others = [one for i, one in enumerate(KEPT["cost"][layer]) if i != head]
        found = numbers(row["other heads of its layer"])
        assert_printed(found, [min(others), max(others)], 3)
    (layer, head), (top, costly) = by_weight[0], by_cost[0]
    least = KEPT["cost"][layer][head]
    values = [
        *(layer, head, KEPT["on_country"][layer][head], least),
        sum(one > least for one in KEPT["cost"][layer]),
        *(top, costly, KEPT["together"], min(KEPT["drawn"]), max(KEPT["drawn"])),
    ]
    most_on_country = sorted(every, key=lambda at: -KEPT["on_country"][at[0]][at[1]])[:8]
    values.append(sum(KEPT["cost"][layer][head] for layer, head in most_on_country))
    assert values[-1] < KEPT["together"] / 4
    for shown, value in zip(chapter.values("heads")[:11], values, strict=True):
        assert_printed(float(shown.replace("−", "-")), value, 0 if isinstance(value, int) else 2)
    assert KEPT["together"] > 2 * max(KEPT["drawn"])
    assert KEPT["on_country"][top][costly] < 0.01  # it hardly looks there


def test_sinks(chapter: Page) -> None:
    for row, kept in zip(chapter.table("sinks"), KEPT["sinks"], strict=True):
        heads = [one for layer in kept["first"] for one in layer]
        assert_printed(numbers(row["first token"]), spread(heads), 2)
        rest = [kept["first_equal"], *kept["line_ends"], *kept["full_stops"]]
        shown = [float(one) for key, one in row.items() if key not in ("", "first token")]
        assert_printed(shown, rest, 2)
    middle, equal = spread(np.ravel(KEPT["sinks"][0]["first"]))[1], KEPT["sinks"][0]["first_equal"]
    assert_printed([float(one) for one in chapter.values("sinks")], [middle, equal], 2)


def test_misleads(chapter: Page) -> None:
    """By hand: what each method says, the result, and the result after the exchange."""
    wanted = [[0.8, 0.2, 0.2], [0.25, 1, 1], [0.25, 1, -1], [0, 1, 0], [0, 1, 0]]
    names = ("it says", "result", "after the exchange")
    rows = chapter.table("misleads")
    assert [[float(row[one].replace("−", "-")) for one in names] for row in rows] == wanted


def test_exercises(chapter: Page) -> None:
    assert list(chapter.table("exercise-rollout")[0].values()) == ["0.4375", "0.5625"]
    assert chapter.output("exercise-depth").strip() == "9"
    assert 0.75**9 < 0.1 < 0.75**8
    assert list(chapter.table("exercise-lengths")[0].values()) == ["0.3", "1.5", "1.0"]
    assert chapter.output("exercise-effect").strip() == "0.25"
    rows = chapter.table("exercise-bug")
    assert [[float(row[f"token {i}"]) for i in (1, 2, 3)] for row in rows] == [
        [0, 0.5, 0.5],
        [0.25, 0.25, 0.5],
    ]


# --- the model again ------------------------------------------------------------------------------


@needs_model
def test_the_maps_are_measured_again(in_torch: Any) -> None:  # noqa: F811
    """Maps, two layers of exchanges and three heads: by this code, and in PyTorch."""
    model = load_smollm2(FILE)
    ids, capitals, random = patching.list_texts(model)
    assert random.tolist() == KEPT["random"]
    layers: list[torch.Tensor] = []
    logits, weights = run_in_torch(torch.from_numpy(ids), in_torch, layers=layers)
    rows = torch.arange(10)
    p = logits[:, -1].softmax(dim=-1)[rows, torch.from_numpy(capitals)]
    np.testing.assert_allclose(p, KEPT["probabilities"], atol=5e-3)
    last = weights[..., -1, :]  # (layer, head, text, token)
    np.testing.assert_allclose(last[:, :, 0].mean(dim=1), KEPT["last_rows"], atol=2e-3)
    np.testing.assert_allclose(last.mean(dim=(0, 1)), KEPT["mean_of_all"], atol=2e-3)
    np.testing.assert_allclose(last[..., COUNTRY].mean(dim=2), KEPT["on_country"], atol=2e-3)
    mixed = (weights.mean(dim=1) + torch.eye(9)) / 2
    rolled = torch.eye(9).expand(10, 9, 9)
    for layer in range(30):
        rolled = mixed[layer] @ rolled
        np.testing.assert_allclose(rolled[0, -1], KEPT["rollout"][layer], atol=2e-3)
    np.testing.assert_allclose(rolled[:, -1], KEPT["rollout_of_all"], atol=2e-3)

    run, other = run_model(ids, model), run_model(random, model)
    patches = patching.Patches(run, ids, capitals, model)
    from_random: list[torch.Tensor] = []
    run_in_torch(torch.from_numpy(random), in_torch, layers=from_random)
    following = torch.roll(rows, -1)
    own, of_next = (torch.from_numpy(one)[rows] for one in (capitals, capitals[following]))

    def lead(logits: torch.Tensor) -> torch.Tensor:
        return logits[rows, -1, own] - logits[rows, -1, of_next]

    reach = lead(logits) - lead(logits[following])
    for i, token in ((0, COUNTRY), (5, COUNTRY), (5, 8)):
        layer = KEPT["layers"][i]
        kept = KEPT["effect"][i][token - COUNTRY]
        again, said = patches.exchange(layer, token, run.layers[layer][following.numpy(), token])
        np.testing.assert_allclose(again, kept, atol=1e-2)
        patch = {(layer, token): layers[layer][following, token]}
        moved, _ = run_in_torch(torch.from_numpy(ids), in_torch, patch=patch)
        np.testing.assert_allclose((lead(logits) - lead(moved)) / reach, kept, atol=2e-2)
        best = moved[0, -1].softmax(dim=-1).max().item()
        assert said[0] == KEPT["said"][i][token - COUNTRY][0]
        assert abs(best - KEPT["said"][i][token - COUNTRY][1]) <= 1e-2
    layer = KEPT["controlled"][1]
    again, _ = patches.exchange(layer, 8, other.layers[layer][:, 8])
    np.testing.assert_allclose(again, KEPT["effect_of_random"][1][1], atol=1e-2)
    patch = {(layer, 8): from_random[layer][:, 8]}
    moved, _ = run_in_torch(torch.from_numpy(ids), in_torch, patch=patch)
    np.testing.assert_allclose((lead(logits) - lead(moved)) / reach, again, atol=2e-2)

    strongest = np.unravel_index(np.argsort(-np.ravel(KEPT["cost"]))[[0, 1]], (30, 9))
    heads = [(int(a), int(b)) for a, b in zip(*strongest, strict=True)]
    costs = patching.measure_costs(run, ids, capitals, model, [[one] for one in heads]).mean(axis=1)
    means = mean_outputs(np.array([0, *encode_text(patching.REFERENCE, model)]), model)
    for (layer, head), cost in zip(heads, costs, strict=True):
        assert abs(cost - KEPT["cost"][layer][head]) <= 5e-3
        cut = {(layer, head): torch.from_numpy(means[layer, head])}
        logits, _ = run_in_torch(torch.from_numpy(ids), in_torch, cut, cut_at=slice(-1, None))
        less = logits[:, -1].softmax(dim=-1)[rows, own]
        assert abs((p.log() - less.log()).mean().item() - cost) <= 1e-2
    together = patching.measure_together(
        run, ids, capitals, model, np.ravel(KEPT["on_country"]).astype(np.float32)
    )
    assert abs(together["together"] - KEPT["together"]) <= 5e-3
    np.testing.assert_allclose(together["drawn"], KEPT["drawn"], atol=5e-3)


@needs_model
def test_a_patch_from_the_same_run_changes_nothing() -> None:
    model = load_smollm2(FILE)
    ids = np.array([0, 504, 3575, 282])
    run = run_model(ids, model)
    again = run_model(ids, model, patch={(11, 2): run.layers[11][2]})
    np.testing.assert_array_equal(again.logits, run.logits)
    moved = run_model(ids, model, patch={(11, 2): run.layers[11][1]})
    np.testing.assert_array_equal(moved.logits[:2], run.logits[:2])  # it is in their future
    assert np.abs(moved.logits[2:] - run.logits[2:]).max() > 0.1
