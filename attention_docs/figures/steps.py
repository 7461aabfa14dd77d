"""The eight steps as figures: one for every step and every input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, isclose
from typing import Any

from attention_docs.figures.boxes import Box, make_box
from attention_docs.figures.drawings import Drawing, Part, drawn, size_of
from attention_docs.figures.parts import Figure, Label, both, numbered, plain, shown
from attention_docs.figures.stepper import Frame, stepper
from attention_docs.text import number
from attention_docs.text import text as vector

Matrix = list[list[float]]

TITLES: tuple[dict[str, str], ...] = (
    {"en": "input", "zh": "输入"},
    {"en": "parameters", "zh": "参数"},
    {"en": "key, query, value", "zh": "键、查询、值"},
    {"en": "scores", "zh": "分数"},
    {"en": "softmax", "zh": "softmax"},
    {"en": "weighted values", "zh": "加权后的值"},
    {"en": "output", "zh": "输出"},
    {"en": "repeat", "zh": "重复"},
)


@dataclass(frozen=True)
class Tensors:
    """All tensors of the eight steps as lists."""

    inputs: Matrix
    parameters: tuple[Matrix, Matrix, Matrix]  # W_K, W_Q, W_V
    keys: Matrix
    queries: Matrix
    values: Matrix
    scores: Matrix
    weights: Matrix
    weighted: list[Matrix]
    outputs: Matrix

    def check(self) -> None:
        """ValueError where a tensor does not follow from those before it."""
        w_key, w_query, w_value = self.parameters
        turned = [list(column) for column in zip(*self.keys, strict=True)]
        exponentials = [[exp(score - max(row)) for score in row] for row in self.scores]
        for name, got, wanted in (
            ("keys", self.keys, _product(self.inputs, w_key)),
            ("queries", self.queries, _product(self.inputs, w_query)),
            ("values", self.values, _product(self.inputs, w_value)),
            ("scores", self.scores, _product(self.queries, turned)),
            ("weights", self.weights, [[x / sum(row) for x in row] for row in exponentials]),
            (
                "weighted",
                [row for block in self.weighted for row in block],
                [
                    [weight * one for one in value]
                    for row in self.weights
                    for weight, value in zip(row, self.values, strict=True)
                ],
            ),
            ("outputs", self.outputs, _product(self.weights, self.values)),
        ):
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
    w_key, w_query, w_value = map(plain, parameters)
    given = (keys, queries, values, scores, weights, weighted, outputs)
    tensors = Tensors(plain(inputs), (w_key, w_query, w_value), *map(plain, given))
    tensors.check()
    n = len(tensors.inputs)
    steps = (_input, _parameters, _projected, _scored, _softmax, _weighted, _summed, _repeated)
    drawings = [[step(tensors, i) for step in steps] for i in range(n)]
    size = size_of([drawing for of_input in drawings for drawing in of_input])
    frames = []
    for i, of_input in enumerate(drawings):
        for step, drawing in enumerate(of_input):
            title = TITLES[step]
            label = {
                "en": f"Input {i + 1}, step {step + 1}: {title['en']}",
                "zh": f"输入 {i + 1}，第 {step + 1} 步：{title['zh']}",
            }
            at = str(i + 1), str(step + 1)
            frames.append(Frame(at, label, (drawn(drawing, size),), drawing.caption))
    choices: tuple[Label, ...] = tuple({"en": "", "zh": ""} for _ in range(n))
    controls = [({"en": "Input", "zh": "输入"}, choices), ({"en": "Step", "zh": "步骤"}, TITLES)]
    return stepper("steps", controls, frames)


def _product(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(row, col, strict=True)) for col in columns] for row in a]


# What the steps show. Whole numbers up to the scores, four decimals from the weights on.


def _input(t: Tensors, i: int) -> Drawing:
    box = _box("inputs", "input", t.inputs, rows=numbered("input", len(t.inputs)))
    row = vector(t.inputs[i], ".0f")
    caption = {
        "en": f"Input {i + 1} is row {i + 1} of the matrix: {row}.",
        "zh": f"输入 {i + 1} 是矩阵的第 {i + 1} 行：{row}。",
    }
    return Drawing([[Part(box, 0, ((i, None),))]], caption)


def _parameters(t: Tensors, i: int) -> Drawing:
    used = tuple((j, None) for j, component in enumerate(t.inputs[i]) if component)
    factors = [f"{shown(component, '.0f')} ×" for component in t.inputs[i]]
    boxes = [
        _box(name, "neutral", matrix, rows=None if k else factors)
        for k, (name, matrix) in enumerate(zip(("W_K", "W_Q", "W_V"), t.parameters, strict=True))
    ]
    row = vector(t.inputs[i], ".0f")
    caption = {
        "en": f"All inputs share the three parameter matrices. Input {i + 1} multiplies their rows "
        f"by its components, {row}; the rows that count are outlined.",
        "zh": f"三个参数矩阵由所有输入共用。输入 {i + 1} 用自己的分量 {row} "
        "去乘它们的各行，起作用的行用框标出。",
    }
    return Drawing([[Part(box, k, used) for k, box in enumerate(boxes)]], caption)


def _projected(t: Tensors, i: int) -> Drawing:
    made = [("key", t.keys), ("query", t.queries), ("value", t.values)]
    boxes = [
        Part(_box(f"{name} {i + 1}", name, [matrix[i]]), turn)
        for turn, (name, matrix) in enumerate(made, start=1)
    ]
    arrows = [
        Part(both(f"↓ × {name}"), box.turn, (), box.width)
        for name, box in zip(("W_K", "W_Q", "W_V"), boxes, strict=True)
    ]
    key, query, value = (vector(matrix[i], ".0f") for _, matrix in made)
    caption = {
        "en": f"Input {i + 1} times each parameter matrix gives key {key}, query {query} "
        f"and value {value}.",
        "zh": f"输入 {i + 1} 分别乘以三个参数矩阵，得到键 {key}、查询 {query} 和值 {value}。",
    }
    source = Part(_box(f"input {i + 1}", "input", [t.inputs[i]]))
    return Drawing([[source], arrows, boxes], caption)


def _scored(t: Tensors, i: int) -> Drawing:
    n, query, scores = len(t.keys), t.queries[i], vector(t.scores[i], ".0f")
    columns = [f"k_{j + 1}" for j in range(n)]
    turned = [list(column) for column in zip(*t.keys, strict=True)]
    parts = [
        Part(_box(f"query {i + 1}", "query", [query])),
        Part(both("×")),
        Part(_box("Kᵀ", "key", turned, columns=columns)),
        Part(both("=")),
        Part(_box("scores", "score", [t.scores[i]], columns=columns), n + 1),
    ]
    lines = []
    for j, key in enumerate(t.keys):
        terms = [f"{shown(a, '.0f')} × {shown(b, '.0f')}" for a, b in zip(query, key, strict=True)]
        dot = f"q_{i + 1} · k_{j + 1} = {' + '.join(terms)} = {shown(t.scores[i][j], '.0f')}"
        lines.append([Part(both(dot), j + 1)])
    caption = {
        "en": f"Query {i + 1} is compared with every key: the scores are {scores}.",
        "zh": f"查询 {i + 1} 与每个键比较，分数为 {scores}。",
    }
    return Drawing([parts, *lines], caption)


def _softmax(t: Tensors, i: int) -> Drawing:
    exponentials = [exp(score) for score in t.scores[i]]
    total, weights = number(sum(exponentials), ".4f"), vector(t.weights[i], ".4e")
    powers = {"en": "exponentials", "zh": "取指数"}
    rows = [
        [Part(_box("scores", "score", [t.scores[i]], columns=numbered("key", len(t.keys))))],
        [Part({"en": "↓ exponential", "zh": "↓ 取指数"}, 1)],
        [Part(_box(powers, "neutral", [exponentials], ".4f"), 1)],
        [Part({"en": f"↓ divided by their sum, {total}", "zh": f"↓ 除以它们的和 {total}"}, 2)],
        [Part(_box("weights", "weight", [t.weights[i]], ".4e"), 2)],
    ]
    caption = {
        "en": f"The weights of query {i + 1}: {weights}. They sum to 1.",
        "zh": f"查询 {i + 1} 的权重：{weights}，和为 1。",
    }
    return Drawing(rows, caption)


def _weighted(t: Tensors, i: int) -> Drawing:
    largest = max(t.weights[i])
    most = [j + 1 for j, one in enumerate(t.weights[i]) if isclose(one, largest, rel_tol=1e-9)]
    parts = [
        Part(_box("weights", "weight", [[one] for one in t.weights[i]], ".4f")),
        Part(both("×")),
        Part(_box("values", "value", t.values)),
        Part(both("=")),
        Part(_box("weighted values", "weighted-value", t.weighted[i], ".4f"), 1),
    ]
    english = " and ".join(f"value {j}" for j in most)
    share = number(largest, ".4f")
    caption = {
        "en": f"Row by row, each value times its weight. {english[:1].upper()}{english[1:]} "
        f"{'get' if len(most) > 1 else 'gets'} most: {share}.",
        "zh": f"逐行相乘：每个值乘以自己的权重。{'和'.join(f'值 {j} ' for j in most)}"
        f"{'的权重并列最大' if len(most) > 1 else '的权重最大'}：{share}。",
    }
    return Drawing([parts], caption)


def _summed(t: Tensors, i: int) -> Drawing:
    output = vector(t.outputs[i], ".4f")
    rows = [
        [Part(_box("weighted values", "weighted-value", t.weighted[i], ".4f"))],
        [Part({"en": "↓ sum of each column", "zh": "↓ 每列相加"}, 1)],
        [Part(_box(f"output {i + 1}", "output", [t.outputs[i]], ".4f"), 1)],
    ]
    caption = {
        "en": f"The weighted values, added column by column, are output {i + 1}: {output}.",
        "zh": f"加权后的值逐列相加，就是输出 {i + 1}：{output}。",
    }
    return Drawing(rows, caption)


def _repeated(t: Tensors, i: int) -> Drawing:
    n = len(t.outputs)
    parts = [
        Part(_until(_box(name, role, matrix, ".4f"), i + 1), k, ((i, None),))
        for k, (name, role, matrix) in enumerate(
            [("weights", "weight", t.weights), ("outputs", "output", t.outputs)]
        )
    ]
    done, left = ([str(j + 1) for j in group] for group in (range(i + 1), range(i + 1, n)))
    if left:
        caption = {
            "en": f"Row {i + 1} is done. Input{'s' * (len(left) > 1)} {' and '.join(left)} still "
            f"{'go' if len(left) > 1 else 'goes'} through steps 4 to 7; keys and values stay.",
            "zh": f"第 {i + 1} 行完成。输入 {'、'.join(left)} 还要走第 4 步到第 7 步，键和值不变。",
        }
    else:
        caption = {
            "en": f"All {len(done)} rows are done: the weights sum to 1 in each, "
            "and each has its output.",
            "zh": f"{len(done)} 行全部完成：每行的权重和为 1，每行都有自己的输出。",
        }
    return Drawing([parts], caption)


def _box(
    name: Label,
    role: str,
    matrix: Matrix,
    spec: str = ".0f",
    rows: Sequence[Label] | None = None,
    columns: Sequence[Label] | None = None,
) -> Box:
    return make_box(matrix, role, spec, name, rows, columns)


def _until(box: Box, done: int) -> Box:
    """The box with its first rows alone; what is still to come stays blank."""
    texts = [row if i < done else [""] * len(row) for i, row in enumerate(box.texts)]
    shades = [row if i < done else [0.0] * len(row) for i, row in enumerate(box.shades)]
    return replace(box, texts=texts, shades=shades)
