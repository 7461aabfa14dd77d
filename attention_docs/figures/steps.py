"""The eight steps as figures: one for every step and every input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, isclose
from typing import Any

from attention_docs.figures.canvas import Canvas
from attention_docs.figures.figure import Figure, Phrase, Wording, make_phrase, numbered
from attention_docs.figures.matrix import Cell, Matrix, check_matrix
from attention_docs.figures.numbers import as_lists, format_fixed, format_value, format_vector
from attention_docs.figures.rows import Part, Rows, Sheet
from attention_docs.figures.scenes import NAMES, SCENES, make_plan, write_product
from attention_docs.figures.steppers import Frame, stepper
from attention_docs.figures.tensors import DECIMALS, INTEGER, Numbers, Tensors
from attention_docs.text import number


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
    plan = make_plan(tensors)
    titles = [make_phrase("steps", title) for title in STEPS]
    frames = [
        Frame(
            (str(i + 1), str(k + 1)),
            make_phrase("steps", "frame", input=i + 1, step=k + 1, title=titles[k]),
            (Canvas(plan, *show(tensors, i), Rows(step.rows, Sheet([]))),),
            step.caption,
        )
        for i in range(n)
        for k, (step, show) in enumerate(
            (describe(tensors, i), SCENES[title]) for title, describe in STEPS.items()
        )
    ]
    choices: list[Wording] = [str(i + 1) for i in range(n)]
    controls = ((make_phrase("steps", "inputs"), choices), (make_phrase("steps", "steps"), titles))
    return stepper("steps", controls, frames, [ROLES[title] for title in STEPS], plays=True)


@dataclass(frozen=True)
class Step:
    """What one step says for one input: its tensors, and a caption."""

    rows: list[list[Part]]
    caption: Phrase


def _tell_input(t: Tensors, i: int) -> Step:
    inputs = _make_part("inputs", "input", t.inputs, rows=numbered("input", len(t.inputs)))
    row = format_vector(t.inputs[i], INTEGER)
    return Step(
        [[Part(inputs, marked=[(i, None)])]], make_phrase("steps", "on_input", i=i + 1, row=row)
    )


def _tell_parameters(t: Tensors, i: int) -> Step:
    used: list[Cell] = [(j, None) for j, component in enumerate(t.inputs[i]) if component]
    factors = [f"{format_value(component, INTEGER)} ×" for component in t.inputs[i]]
    parts = [
        Part(_make_part(name, "neutral", matrix, rows=None if k else factors), marked=used)
        for k, (name, matrix) in enumerate(zip(NAMES, t.parameters, strict=True))
    ]
    row = format_vector(t.inputs[i], INTEGER)
    return Step([parts], make_phrase("steps", "on_parameters", i=i + 1, row=row))


def _tell_projections(t: Tensors, i: int) -> Step:
    projections = {"key": t.keys[i], "query": t.queries[i], "value": t.values[i]}
    source = _make_part(f"input {i + 1}", "input", [t.inputs[i]])
    parts = [Part(_make_part(f"{name} {i + 1}", name, [row])) for name, row in projections.items()]
    vectors = {name: format_vector(row, INTEGER) for name, row in projections.items()}
    caption = make_phrase("steps", "on_projected", i=i + 1, **vectors)
    return Step([[Part(source), *parts]], caption)


def _tell_scores(t: Tensors, i: int) -> Step:
    query, columns = t.queries[i], [f"k_{j + 1}" for j in range(len(t.keys))]
    turned = [list(column) for column in zip(*t.keys, strict=True)]
    parts = [
        Part(_make_part(f"query {i + 1}", "query", [query])),
        Part(_make_part("Kᵀ", "key", turned, columns=columns)),
        Part(_make_part("scores", "score", [t.scores[i]], columns=columns)),
    ]
    for j, key in enumerate(t.keys):
        product = f"{write_product(query, key)} = {format_value(t.scores[i][j], INTEGER)}"
        dot = f"q_{i + 1} · k_{j + 1} = {product}"
        parts.append(Part(dot, sentence=make_phrase("sentences", "sentence", text=dot)))
    scores = format_vector(t.scores[i], INTEGER)
    return Step([parts], make_phrase("steps", "on_scored", i=i + 1, scores=scores))


def _tell_softmax(t: Tensors, i: int) -> Step:
    powers = [exp(score) for score in t.scores[i]]
    divided = make_phrase("steps", "divided_told", total=number(sum(powers), DECIMALS))
    keys = numbered("key", len(t.keys))
    shares = [format_fixed(share, 4) for share in t.weights[i]]
    weights = replace(_make_part("weights", "weight", [t.weights[i]], DECIMALS), texts=[shares])
    parts = [
        Part(_make_part("scores", "score", [t.scores[i]], columns=keys)),
        Part(_make_part(make_phrase("steps", "powers"), "neutral", [powers], DECIMALS)),
        Part(divided, sentence=divided),
        Part(weights),
    ]
    caption = make_phrase("steps", "on_softmax", i=i + 1, weights=f"[{', '.join(shares)}]")
    return Step([parts], caption)


def _tell_weighted_values(t: Tensors, i: int) -> Step:
    weights = _make_part("weights", "weight", [[one] for one in t.weights[i]], DECIMALS)
    parts = [
        Part(replace(weights, texts=[[format_fixed(one, 4)] for one in t.weights[i]])),
        Part(_make_part("values", "value", t.values)),
        Part(_make_part("weighted values", "weighted-value", t.weighted[i], DECIMALS)),
    ]
    largest = max(t.weights[i])
    most = [j + 1 for j, one in enumerate(t.weights[i]) if isclose(one, largest, rel_tol=1e-9)]
    share = number(largest, DECIMALS)
    which = tuple(
        make_phrase("steps", "value" if k else "value_first", j=j) for k, j in enumerate(most)
    )
    caption = make_phrase("steps", "on_weighted", n=len(most), values=which, share=share)
    return Step([parts], caption)


def _tell_sum(t: Tensors, i: int) -> Step:
    parts = [
        Part(_make_part("weighted values", "weighted-value", t.weighted[i], DECIMALS)),
        Part(_make_part(f"output {i + 1}", "output", [t.outputs[i]], DECIMALS)),
    ]
    output = format_vector(t.outputs[i], DECIMALS)
    return Step([parts], make_phrase("steps", "on_summed", i=i + 1, output=output))


def _tell_all(t: Tensors, i: int) -> Step:
    tensors = [("weights", "weight", t.weights), ("outputs", "output", t.outputs)]
    parts = [
        Part(check_matrix(matrix, role, DECIMALS, name, done=i + 1), marked=[(i, None)])
        for name, role, matrix in tensors
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
    "input": _tell_input,
    "parameters": _tell_parameters,
    "projected": _tell_projections,
    "scored": _tell_scores,
    "softmax": _tell_softmax,
    "weighted": _tell_weighted_values,
    "summed": _tell_sum,
    "repeated": _tell_all,
}
"""The name of each step in `[figures.steps]`, and what it says."""

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
