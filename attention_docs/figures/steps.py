"""What the eight steps say: for each of them a figure that is read out and not drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp

from attention_docs.figures.figure import Figure, Wording, make_phrase, numbered
from attention_docs.figures.matrix import Cell, Matrix, check_matrix
from attention_docs.figures.numbers import format_fixed, format_value
from attention_docs.figures.rows import Part, Rows, Sheet
from attention_docs.figures.tensors import DECIMALS, INTEGER, Numbers, Tensors
from attention_docs.text import number

NAMES = ("W_K", "W_Q", "W_V")


def write_product(a: Sequence[float], b: Sequence[float]) -> str:
    """A dot product, written out."""
    terms = zip(a, b, strict=True)
    return " + ".join(f"{format_value(x, INTEGER)} × {format_value(y, INTEGER)}" for x, y in terms)


def tell_inputs(inputs: Numbers, i: int) -> Figure:
    """Step 1: all inputs, and the one that searches."""
    matrix = _make_part("inputs", "input", inputs, rows=numbered("input", len(inputs)))
    return _join([Part(matrix, marked=[(i, None)])])


def _join(parts: list[Part]) -> Figure:
    return Rows([parts], Sheet([]))


def _tell_parameters(t: Tensors, i: int) -> Figure:
    used: list[Cell] = [(j, None) for j, component in enumerate(t.inputs[i]) if component]
    factors = [f"{format_value(component, INTEGER)} ×" for component in t.inputs[i]]
    parameters = [
        Part(_make_part(name, "neutral", matrix, rows=None if k else factors), marked=used)
        for k, (name, matrix) in enumerate(zip(NAMES, t.parameters, strict=True))
    ]
    projections = {"key": t.keys[i], "query": t.queries[i], "value": t.values[i]}
    found = [Part(_make_part(f"{name} {i + 1}", name, [row])) for name, row in projections.items()]
    return _join([*parameters, *found])


def _tell_projections(t: Tensors, _: int) -> Figure:
    projections = {"key": t.keys, "query": t.queries, "value": t.values}
    names = {"key": "keys", "query": "queries", "value": "values"}
    return _join([Part(_make_part(names[role], role, rows)) for role, rows in projections.items()])


def _tell_scores(t: Tensors, i: int) -> Figure:
    query, columns = t.queries[i], [f"k_{j + 1}" for j in range(len(t.keys))]
    parts = [Part(_make_part(f"query {i + 1}", "query", [query]))]
    for j, key in enumerate(t.keys):
        product = f"{write_product(query, key)} = {format_value(t.scores[i][j], INTEGER)}"
        dot = f"q_{i + 1} · k_{j + 1} = {product}"
        parts.append(Part(dot, sentence=make_phrase("sentences", "sentence", text=dot)))
    return _join([*parts, Part(_make_part("scores", "score", [t.scores[i]], columns=columns))])


def _tell_softmax(t: Tensors, i: int) -> Figure:
    powers = [exp(score) for score in t.scores[i]]
    divided = make_phrase("steps", "divided_told", total=number(sum(powers), DECIMALS))
    keys = numbered("key", len(t.keys))
    return _join(
        [
            Part(_make_part("scores", "score", [t.scores[i]], columns=keys)),
            Part(_make_part(make_phrase("steps", "powers"), "neutral", [powers], DECIMALS)),
            Part(divided, sentence=divided),
            Part(_make_weights(t, i)),
        ]
    )


def _make_weights(t: Tensors, i: int) -> Matrix:
    weights = _make_part("weights", "weight", [t.weights[i]], DECIMALS)
    return replace(weights, texts=[[format_fixed(one, 4) for one in t.weights[i]]])


def _tell_weighted_values(t: Tensors, i: int) -> Figure:
    weighted = _make_part("weighted values", "weighted-value", t.weighted[i], DECIMALS)
    return _join([Part(_make_weights(t, i)), Part(weighted)])


def _tell_sum(t: Tensors, i: int) -> Figure:
    weighted = _make_part("weighted values", "weighted-value", t.weighted[i], DECIMALS)
    output = _make_part(f"output {i + 1}", "output", [t.outputs[i]], DECIMALS)
    return _join([Part(weighted), Part(output)])


def _tell_all(t: Tensors, _: int) -> Figure:
    tensors = [("weights", "weight", t.weights), ("outputs", "output", t.outputs)]
    return _join([Part(_make_part(name, role, rows, DECIMALS)) for name, role, rows in tensors])


def _make_part(
    name: Wording,
    role: str,
    matrix: Numbers,
    spec: str = INTEGER,
    rows: Sequence[Wording] | None = None,
    columns: Sequence[Wording] | None = None,
) -> Matrix:
    return check_matrix(matrix, role, spec, name, rows, columns)


STEPS: dict[str, Callable[[Tensors, int], Figure]] = {
    "parameters": _tell_parameters,
    "projected": _tell_projections,
    "scored": _tell_scores,
    "softmax": _tell_softmax,
    "weighted": _tell_weighted_values,
    "summed": _tell_sum,
    "repeated": _tell_all,
}
"""What each step after the first one says of a word."""
