"""The tensors of the eight steps, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isclose

Numbers = list[list[float]]
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
