"""What each of the eight steps shows on the canvas: which rows, and where they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp

from attention_docs.figures.canvas import Block, Line, Plan, Slot
from attention_docs.figures.figure import Wording, make_phrase
from attention_docs.figures.matrix import Matrix, check_matrix
from attention_docs.figures.numbers import format_fixed, format_value
from attention_docs.figures.svg import TEXT, measure_widest
from attention_docs.figures.tensors import DECIMALS, INTEGER, Numbers, Tensors
from attention_docs.text import number

NAMES = ("W_K", "W_Q", "W_V")
PROJECTED = {
    "K": ("keys", "key", "k"),
    "Q": ("queries", "query", "q"),
    "V": ("values", "value", "v"),
}
Scene = tuple[dict[str, Block], list[Line]]


def make_plan(t: Tensors) -> Plan:
    """Where each tensor stands: the parameters above the keys, queries and values that they give.

    Below them a row for each key goes from its score to its weight; the last band sums up. In a
    wide window weighted values stand beside the values, and the outputs below them.
    """
    n, wide = len(t.inputs), len(t.inputs[0])
    whole = _fit(INTEGER, t.inputs, *t.parameters, t.keys, t.queries, t.values)
    powers = [[exp(score) for score in row] for row in t.scores]
    shares = [[format_fixed(one, 4) for one in row] for row in t.weights]
    fixed = _fit(DECIMALS, t.weights, t.outputs, *t.weighted)
    sizes = [len(matrix[0]) for matrix in t.parameters]
    slots = {"X": Slot("inputs", "input", (n, wide), whole, 1, 0, 0)}
    for k, (key, (name, role, _)) in enumerate(PROJECTED.items()):
        slots[NAMES[k]] = Slot(NAMES[k], "neutral", (wide, sizes[k]), whole, 0, k + 1, 0)
        slots[key] = Slot(name, role, (n, sizes[k]), whole, 1, k + 1, 0)
    exponentials = make_phrase("steps", "powers")
    share = 8 + max(measure_widest(row, TEXT) for row in shares)
    slots |= {
        "s": Slot("scores", "score", (n, 1), max(40, _fit(INTEGER, t.scores)), 2, 0, 1),
        "p": Slot(exponentials, "neutral", (n, 1), _fit(DECIMALS, powers), 2, 1, 1),
        "a": Slot("weights", "weight", (n, 1), share, 2, 2, 1),
        "U": Slot("weighted values", "weighted-value", (n, sizes[2]), fixed, 3, 0, 2),
        "A": Slot("weights", "weight", (n, n), fixed, 3, 0, 2),
        "O": Slot("outputs", "output", (n, sizes[2]), fixed, 3, 1, 2),
    }
    return Plan(slots, {"U": "V", "A": "V", "O": "a"})  # each row beside the one that it comes from


def _fit(spec: str, *matrices: Numbers) -> float:
    """The width of a cell in which each number has room."""
    texts = [[format_value(one, spec) for one in row] for matrix in matrices for row in matrix]
    return max(28.0, 8 + max(measure_widest(row, TEXT) for row in texts))


def write_product(a: Sequence[float], b: Sequence[float]) -> str:
    """A dot product, written out."""
    terms = zip(a, b, strict=True)
    return " + ".join(f"{format_value(x, INTEGER)} × {format_value(y, INTEGER)}" for x, y in terms)


def _make_matrix(
    name: Wording, role: str, values: Numbers, letter: str = "", spec: str = INTEGER
) -> Matrix:
    """A matrix; a letter names its rows, "k_1" and so on."""
    rows = [f"{letter}_{i + 1}" for i in range(len(values))] if letter else None
    return check_matrix(values, role, spec, name, rows)


def _make_inputs(t: Tensors) -> Matrix:
    return _make_matrix("inputs", "input", t.inputs, "x")


def _make_projected(t: Tensors) -> dict[str, Matrix]:
    found = zip(PROJECTED.items(), (t.keys, t.queries, t.values), strict=True)
    return {key: _make_matrix(name, role, rows) for (key, (name, role, _)), rows in found}


def _make_columns(t: Tensors, i: int) -> dict[str, Matrix]:
    """Scores, exponentials and weights of a query, with a row for each key."""
    scores = [[one] for one in t.scores[i]]
    weights = _make_matrix("weights", "weight", [[one] for one in t.weights[i]], "", DECIMALS)
    powers = [[exp(one)] for one in t.scores[i]]
    return {
        "s": _make_matrix("scores", "score", scores, "k"),
        "p": _make_matrix(make_phrase("steps", "powers"), "neutral", powers, "", DECIMALS),
        "a": replace(weights, texts=[[format_fixed(one, 4)] for one in t.weights[i]]),
    }


def _keep(t: Tensors, i: int, *keys: str) -> dict[str, Block]:
    """What earlier steps have used and computed, for a query; inputs and parameters always."""
    found = _make_projected(t) | _make_columns(t, i)
    every = range(len(t.keys))
    blocks = _keep_parameters(t) | {"X": Block("x", _make_inputs(t), past=every)}
    return blocks | {
        key: Block(key.lower(), found[key], past=[i] if key == "Q" else every) for key in keys
    }


def _keep_parameters(t: Tensors) -> dict[str, Block]:
    blocks = {}
    for name, matrix in zip(NAMES, t.parameters, strict=True):
        shown = _make_matrix(name, "neutral", matrix)
        blocks[name] = Block(name[-1].lower() + "w", shown, past=range(len(matrix)))
    return blocks


def _mark_input(t: Tensors, i: int) -> Block:
    """The input that a step is about, among the others."""
    others = [j for j in range(len(t.inputs)) if j != i]
    return Block("x", _make_inputs(t), [i], others, [i])


def _show_input(t: Tensors, i: int) -> Scene:
    every = range(len(t.inputs))
    return {"X": Block("x", _make_inputs(t), every, marked=[i])}, []


def _show_parameters(t: Tensors, i: int) -> Scene:
    used = [j for j, component in enumerate(t.inputs[i]) if component]
    blocks = {"X": _mark_input(t, i)}
    for k, (name, matrix) in enumerate(zip(NAMES, t.parameters, strict=True)):
        rows = range(len(matrix))
        shown, turns = _make_matrix(name, "neutral", matrix), [k] * len(rows)
        blocks[name] = Block(name[-1].lower() + "w", shown, rows, marked=used, turns=turns)
    factors = [f"{format_value(component, INTEGER)} ×" for component in t.inputs[i]]
    return blocks, [Line(NAMES[0], j, one, before=True) for j, one in enumerate(factors)]


def _show_projections(t: Tensors, i: int) -> Scene:
    others = [j for j in range(len(t.inputs)) if j != i]
    blocks = _keep_parameters(t) | {"X": _mark_input(t, i)}
    for k, (key, matrix) in enumerate(_make_projected(t).items()):
        letter = PROJECTED[key][2]
        route = f"x{i + 1}>{letter}w{(len(t.inputs[0]) + 1) // 2}"
        blocks[key] = Block(letter, matrix, [i], others, [i], turns=[k + 1], routes=[route])
    return blocks, []


def _show_scores(t: Tensors, i: int) -> Scene:
    every, projected = range(len(t.keys)), _make_projected(t)
    turns = [j + 1 for j in every]
    routes = [f"q{i + 1}>k{j + 1}" for j in every]
    blocks = _keep(t, i, "V") | {
        "K": Block("k", projected["K"], every),
        "Q": Block("q", projected["Q"], [i], marked=[i]),
        "s": Block("s", _make_columns(t, i)["s"], every, turns=turns, routes=routes),
    }
    products = [f"= {write_product(t.queries[i], key)}" for key in t.keys]
    return blocks, [Line("s", j, one, j + 1) for j, one in enumerate(products)]


def _show_softmax(t: Tensors, i: int) -> Scene:
    every, columns = range(len(t.keys)), _make_columns(t, i)
    total = number(sum(exp(score) for score in t.scores[i]), DECIMALS)
    blocks = _keep(t, i, "K", "Q", "V") | {"s": Block("s", columns["s"], every)}
    for turn, (key, before) in enumerate((("p", "s"), ("a", "p")), start=1):
        routes = [f"{before}{j + 1}" for j in every]
        blocks[key] = Block(key, columns[key], every, turns=[turn for _ in every], routes=routes)
    return blocks, [Line("s", None, make_phrase("steps", "divided_told", total=total), 2)]


def _show_weighted_values(t: Tensors, i: int) -> Scene:
    every = range(len(t.keys))
    weighted = _make_matrix("weighted values", "weighted-value", t.weighted[i], "v", DECIMALS)
    routes = [f"a{j + 1}>v{j + 1} v{j + 1}" for j in every]
    blocks = _keep(t, i, "K", "Q", "s", "p") | {
        "V": Block("v", _make_projected(t)["V"], every),
        "a": Block("a", _make_columns(t, i)["a"], every),
        "U": Block("u", weighted, every, turns=[j + 1 for j in every], routes=routes),
    }
    return blocks, []


def _show_sum(t: Tensors, i: int) -> Scene:
    every = range(len(t.keys))
    weighted = _make_matrix("weighted values", "weighted-value", t.weighted[i], "v", DECIMALS)
    outputs = _make_matrix("outputs", "output", t.outputs, "", DECIMALS)
    route = " ".join(f"u{j + 1}" for j in every)
    blocks = _keep(t, i, "K", "Q", "V", "s", "p", "a") | {
        "U": Block("u", weighted, every),
        "O": Block("o", outputs, [i], range(i), [i], turns=[1], routes=[route]),
    }
    return blocks, [Line("U", None, make_phrase("steps", "sum_down"), 1)]


def _show_all(t: Tensors, i: int) -> Scene:
    weights = _make_matrix("weights", "weight", t.weights, "q", DECIMALS)
    outputs = _make_matrix("outputs", "output", t.outputs, "", DECIMALS)
    done = range(i + 1)
    turns, route = [0] * i + [1], " ".join(f"a{j + 1}" for j in range(len(t.keys)))
    blocks = _keep(t, i, "K", "Q", "V", "s", "p", "a") | {
        "A": Block("r", weights, done, marked=[i], turns=turns, routes=[""] * i + [route]),
        "O": Block("o", outputs, done, marked=[i]),
    }
    return blocks, []


SCENES: dict[str, Callable[[Tensors, int], Scene]] = {
    "input": _show_input,
    "parameters": _show_parameters,
    "projected": _show_projections,
    "scored": _show_scores,
    "softmax": _show_softmax,
    "weighted": _show_weighted_values,
    "summed": _show_sum,
    "repeated": _show_all,
}
"""What each step shows."""
