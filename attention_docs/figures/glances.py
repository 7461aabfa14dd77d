"""Attention at a glance: query, scores, weights, output, for one token after another."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, isclose, sqrt
from typing import Any

from attention_docs.figures.figure import Figure, Phrase, Wording, make_phrase, numbered
from attention_docs.figures.heatmaps import heatmap
from attention_docs.figures.matrix import Matrix, check_matrix
from attention_docs.figures.numbers import as_lists, format_vector
from attention_docs.figures.rows import Part, Rows, Sheet
from attention_docs.figures.steppers import Frame, stepper

Numbers = list[list[float]]
STAGES = {"query": "query", "scores": "score", "weights": "weight", "output": "output"}
"""The stages, and the role of what each of them makes."""


def glance(
    *, queries: Any, keys: Any, scores: Any, weights: Any, outputs: Any, spec: str = ".2f"
) -> Figure:
    """A stepper from a query to its output, beside the map of all weights.

    Args:
        queries: (n, d_k), whole numbers.
        keys: (n, d_k).
        scores: (n, n), divided by √d_k.
        weights: (n, n), softmax of each row of the scores.
        outputs: (n, d_v).
        spec: the format of a number after the queries.

    Raises:
        ValueError: scores or weights that do not follow from what stands before them.
    """
    q, k, s, a, o = map(as_lists, (queries, keys, scores, weights, outputs))
    root = sqrt(len(q[0]))
    dots = [[sum(x * y for x, y in zip(one, key, strict=True)) / root for key in k] for one in q]
    powers = [[exp(score) for score in row] for row in s]
    _check_shape("scores", s, dots)
    _check_shape("weights", a, [[power / sum(row) for power in row] for row in powers])
    n = len(q)
    rows = [
        [_list_rows(q, s, a, o, i, stage, spec) for stage in range(len(STAGES))] for i in range(n)
    ]
    sheet = Sheet([drawing for of_token in rows for drawing in of_token])
    titles: list[Wording] = [make_phrase("glance", stage) for stage in STAGES]
    maps = [
        heatmap(
            a,
            rows=numbered("query", n),
            columns=numbered("key", n),
            spec=spec,
            name="attention weights",
            highlight=[(i, None)],
        )
        for i in range(n)
    ]
    frames = [
        Frame(
            (str(i + 1), str(stage + 1)),
            make_phrase("glance", "frame", token=i + 1, title=title),
            (Rows(rows[i][stage], sheet), maps[i]),
            _format_caption(s, a, o, i, stage, spec),
        )
        for i in range(n)
        for stage, title in enumerate(titles)
    ]
    unnamed: list[Wording] = [None] * n
    controls = (
        (make_phrase("glance", "tokens"), unnamed),
        (make_phrase("glance", "stages"), titles),
    )
    return stepper("glance", controls, frames, [[role] for role in STAGES.values()])


def _check_shape(name: str, got: Numbers, wanted: Numbers) -> None:
    pairs = zip(got, wanted, strict=True)
    if not all(isclose(a, b, rel_tol=1e-9) for x, y in pairs for a, b in zip(x, y, strict=True)):
        raise ValueError(f"{name} must be {wanted}, got {got}")


def _list_rows(
    q: Numbers, s: Numbers, a: Numbers, o: Numbers, i: int, stage: int, spec: str
) -> list[list[Part]]:
    """What one token has up to a stage; the cells of later stages are empty."""
    keys = numbered("key", len(s))
    stages: list[tuple[Wording, str, Numbers, str, Sequence[Wording] | None]] = [
        (f"query {i + 1}", "query", q, ".0f", None),
        ("scores", "score", s, spec, keys),
        ("weights", "weight", a, spec, keys),
        (f"output {i + 1}", "output", o, spec, None),
    ]
    parts: list[list[Part]] = []
    for place, (name, role, values, form, columns) in enumerate(stages):
        done, last = place <= stage, place == stage
        if place:
            step = make_phrase("glance", f"to_{list(STAGES)[place]}")
            sentence = make_phrase("sentences", "sentence", text=step) if done else None
            parts.append([Part(step, sentence=sentence)])
        matrix: Matrix = check_matrix([values[i]], role, form, name, None, columns, done=int(done))
        parts.append([Part(matrix, int(last and stage > 0), [(0, None)] if last else [])])
    return parts


def _format_caption(s: Numbers, a: Numbers, o: Numbers, i: int, stage: int, spec: str) -> Phrase:
    return (
        make_phrase("glance", "on_query", i=i + 1),
        make_phrase("glance", "on_scores", i=i + 1, scores=format_vector(s[i], spec)),
        make_phrase("glance", "on_weights", weights=format_vector(a[i], spec)),
        make_phrase("glance", "on_output", i=i + 1, output=format_vector(o[i], spec)),
    )[stage]
