"""The eight steps as figures: one for every step and every input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, isclose
from typing import Any

from attention_docs.figures.figure import Figure, Phrase, Wording, make_phrase, numbered
from attention_docs.figures.matrix import Cell, Matrix, check_matrix
from attention_docs.figures.numbers import as_lists, format_fixed, format_value, format_vector
from attention_docs.figures.rows import Part, Rows, Sheet
from attention_docs.figures.steppers import Frame, stepper
from attention_docs.text import number

Numbers = list[list[float]]
NAMES = ("W_K", "W_Q", "W_V")
INTEGER, DECIMALS = (
    ".0f",
    ".4f",
)  # whole numbers up to the scores, four decimals from the weights on


@dataclass(frozen=True)
class Tensors:
    """All tensors of the eight steps as lists."""

    inputs: Numbers
    parameters: tuple[Numbers, Numbers, Numbers]  # W_K, W_Q, W_V
    keys: Numbers
    queries: Numbers
    values: Numbers
    scores: Numbers
    weights: Numbers
    weighted: list[Numbers]
    outputs: Numbers

    def check(self) -> None:
        """ValueError where a tensor does not follow from those before it."""
        w_key, w_query, w_value = self.parameters
        turned = [list(column) for column in zip(*self.keys, strict=True)]
        powers = [[exp(score - max(row)) for score in row] for row in self.scores]
        weighted = [
            [weight * one for one in value]
            for row in self.weights
            for weight, value in zip(row, self.values, strict=True)
        ]
        _check_tensor("keys", self.keys, _multiply(self.inputs, w_key))
        _check_tensor("queries", self.queries, _multiply(self.inputs, w_query))
        _check_tensor("values", self.values, _multiply(self.inputs, w_value))
        _check_tensor("scores", self.scores, _multiply(self.queries, turned))
        _check_tensor("weights", self.weights, [[x / sum(row) for x in row] for row in powers])
        _check_tensor("weighted", [row for block in self.weighted for row in block], weighted)
        _check_tensor("outputs", self.outputs, _multiply(self.weights, self.values))


def _multiply(a: Numbers, b: Numbers) -> Numbers:
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(row, col, strict=True)) for col in columns] for row in a]


def _check_tensor(name: str, got: Numbers, wanted: Numbers) -> None:
    same = [len(row) for row in got] == [len(row) for row in wanted] and all(
        isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
        for one, other in zip(got, wanted, strict=True)
        for a, b in zip(one, other, strict=True)
    )
    if not same:
        raise ValueError(f"{name} must be {wanted}, got {got}")


def eight_steps(
    *,
    inputs: Any,
    parameters: Sequence[Any],
    keys: Any,
    queries: Any,
    values: Any,
    scores: Any,
    weights: Any,
    weighted: Any,
    outputs: Any,
) -> Figure:
    """A stepper through the eight steps, for every input.

    Args:
        inputs: (n, d_model), whole numbers.
        parameters: W_K, W_Q (d_model, d_k) and W_V (d_model, d_v), whole numbers.
        keys: (n, d_k).
        queries: (n, d_k).
        values: (n, d_v).
        scores: (n, n), not divided by √d_k.
        weights: (n, n), softmax of each row of the scores.
        weighted: (n, n, d_v): output, key, component.
        outputs: (n, d_v).

    Raises:
        ValueError: a tensor that does not follow from those before it.
    """
    w_key, w_query, w_value = map(as_lists, parameters)
    computed = (keys, queries, values, scores, weights, weighted, outputs)
    tensors = Tensors(as_lists(inputs), (w_key, w_query, w_value), *map(as_lists, computed))
    tensors.check()
    n = len(tensors.inputs)
    steps = [[step(tensors, i) for step in STEPS.values()] for i in range(n)]
    sheet = Sheet([step.rows for of_input in steps for step in of_input])
    titles = [make_phrase("steps", title) for title in STEPS]
    frames = [
        Frame(
            (str(i + 1), str(k + 1)),
            make_phrase("steps", "frame", input=i + 1, step=k + 1, title=titles[k]),
            (Rows(step.rows, sheet),),
            step.caption,
        )
        for i, of_input in enumerate(steps)
        for k, step in enumerate(of_input)
    ]
    unnamed: list[Wording] = [None] * n
    controls = ((make_phrase("steps", "inputs"), unnamed), (make_phrase("steps", "steps"), titles))
    return stepper("steps", controls, frames, [ROLES[title] for title in STEPS])


@dataclass(frozen=True)
class Step:
    """What one step shows for one input."""

    rows: list[list[Part]]
    caption: Phrase


def _show_input(t: Tensors, i: int) -> Step:
    inputs = _make_part("inputs", "input", t.inputs, rows=numbered("input", len(t.inputs)))
    row = format_vector(t.inputs[i], INTEGER)
    return Step(
        [[Part(inputs, marked=[(i, None)])]], make_phrase("steps", "on_input", i=i + 1, row=row)
    )


def _show_parameters(t: Tensors, i: int) -> Step:
    used: list[Cell] = [(j, None) for j, component in enumerate(t.inputs[i]) if component]
    factors = [f"{format_value(component, INTEGER)} ×" for component in t.inputs[i]]
    parts = [
        Part(_make_part(name, "neutral", matrix, rows=None if k else factors), k, used)
        for k, (name, matrix) in enumerate(zip(NAMES, t.parameters, strict=True))
    ]
    row = format_vector(t.inputs[i], INTEGER)
    return Step([parts], make_phrase("steps", "on_parameters", i=i + 1, row=row))


def _show_projections(t: Tensors, i: int) -> Step:
    projections = {"key": t.keys[i], "query": t.queries[i], "value": t.values[i]}
    matrices = [_make_part(f"{name} {i + 1}", name, [row]) for name, row in projections.items()]
    source = Part(_make_part(f"input {i + 1}", "input", [t.inputs[i]]))
    arrows = [
        Part(f"↓ × {name}", turn, over=matrix)
        for turn, (name, matrix) in enumerate(zip(NAMES, matrices, strict=True), start=1)
    ]
    parts = [Part(matrix, turn) for turn, matrix in enumerate(matrices, start=1)]
    vectors = {name: format_vector(row, INTEGER) for name, row in projections.items()}
    return Step([[source], arrows, parts], make_phrase("steps", "on_projected", i=i + 1, **vectors))


def _show_scores(t: Tensors, i: int) -> Step:
    query, columns = t.queries[i], [f"k_{j + 1}" for j in range(len(t.keys))]
    turned = [list(column) for column in zip(*t.keys, strict=True)]
    parts = [
        Part(_make_part(f"query {i + 1}", "query", [query])),
        Part("×"),
        Part(_make_part("Kᵀ", "key", turned, columns=columns)),
        Part("="),
        Part(_make_part("scores", "score", [t.scores[i]], columns=columns), len(t.keys) + 1),
    ]
    lines = []
    for j, key in enumerate(t.keys):
        terms = [
            f"{format_value(a, INTEGER)} × {format_value(b, INTEGER)}"
            for a, b in zip(query, key, strict=True)
        ]
        dot = (
            f"q_{i + 1} · k_{j + 1} = {' + '.join(terms)} = {format_value(t.scores[i][j], INTEGER)}"
        )
        lines.append([Part(dot, j + 1, sentence=make_phrase("sentences", "sentence", text=dot))])
    scores = format_vector(t.scores[i], INTEGER)
    return Step([parts, *lines], make_phrase("steps", "on_scored", i=i + 1, scores=scores))


def _show_softmax(t: Tensors, i: int) -> Step:
    powers = [exp(score) for score in t.scores[i]]
    total = number(sum(powers), DECIMALS)
    divided, sentence = (
        make_phrase("steps", key, total=total) for key in ("divided", "divided_told")
    )
    keys = numbered("key", len(t.keys))
    shares = [format_fixed(share, 4) for share in t.weights[i]]
    rows = [
        [Part(_make_part("scores", "score", [t.scores[i]], columns=keys))],
        [Part(make_phrase("steps", "exponential"), 1)],
        [Part(_make_part(make_phrase("steps", "powers"), "neutral", [powers], DECIMALS), 1)],
        [Part(divided, 2, sentence=sentence)],
        [
            Part(
                replace(_make_part("weights", "weight", [t.weights[i]], DECIMALS), texts=[shares]),
                2,
            )
        ],
    ]
    weights = f"[{', '.join(shares)}]"
    return Step(rows, make_phrase("steps", "on_softmax", i=i + 1, weights=weights))


def _show_weighted_values(t: Tensors, i: int) -> Step:
    parts = [
        Part(_make_part("weights", "weight", [[one] for one in t.weights[i]], DECIMALS)),
        Part("×"),
        Part(_make_part("values", "value", t.values)),
        Part("="),
        Part(_make_part("weighted values", "weighted-value", t.weighted[i], DECIMALS), 1),
    ]
    largest = max(t.weights[i])
    most = [j + 1 for j, one in enumerate(t.weights[i]) if isclose(one, largest, rel_tol=1e-9)]
    share = number(largest, DECIMALS)
    which = tuple(
        make_phrase("steps", "value" if k else "value_first", j=j) for k, j in enumerate(most)
    )
    caption = make_phrase("steps", "on_weighted", n=len(most), values=which, share=share)
    return Step([parts], caption)


def _show_sum(t: Tensors, i: int) -> Step:
    rows = [
        [Part(_make_part("weighted values", "weighted-value", t.weighted[i], DECIMALS))],
        [Part(make_phrase("steps", "sum_down"), 1)],
        [Part(_make_part(f"output {i + 1}", "output", [t.outputs[i]], DECIMALS), 1)],
    ]
    output = format_vector(t.outputs[i], DECIMALS)
    return Step(rows, make_phrase("steps", "on_summed", i=i + 1, output=output))


def _show_all(t: Tensors, i: int) -> Step:
    tensors = [("weights", "weight", t.weights), ("outputs", "output", t.outputs)]
    parts = [
        Part(check_matrix(matrix, role, DECIMALS, name, done=i + 1), k, [(i, None)])
        for k, (name, role, matrix) in enumerate(tensors)
    ]
    left = tuple(str(j + 1) for j in range(i + 1, len(t.outputs)))
    if left:
        caption = make_phrase("steps", "on_repeated", i=i + 1, n=len(left), left=left)
    else:
        caption = make_phrase("steps", "on_finished", n=i + 1)
    return Step([parts], caption)


def _make_part(
    name: Wording,
    role: str,
    matrix: Numbers,
    spec: str = INTEGER,
    rows: Sequence[Wording] | None = None,
    columns: Sequence[Wording] | None = None,
) -> Matrix:
    return check_matrix(matrix, role, spec, name, rows, columns)


STEPS: dict[str, Callable[[Tensors, int], Step]] = {
    "input": _show_input,
    "parameters": _show_parameters,
    "projected": _show_projections,
    "scored": _show_scores,
    "softmax": _show_softmax,
    "weighted": _show_weighted_values,
    "summed": _show_sum,
    "repeated": _show_all,
}
"""The name of each step in `[figures.steps]`, and what it shows."""

ROLES: dict[str, Sequence[str]] = {
    "input": ["input"],
    "parameters": ["neutral"],
    "projected": ["key", "query", "value"],
    "scored": ["score"],
    "softmax": ["weight"],
    "weighted": ["weighted-value"],
    "summed": ["output"],
    "repeated": ["neutral"],
}
"""What each step makes."""
