"""What the symbols of each formula stand for: one table of all places, and symbols that stand free.

A place is a page, a passage of it, or a display of a passage: "softmax", "softmax#jacobian" and
"softmax#jacobian[0]". What a passage supposes, such as $d = 64$ or $k = 2r + 1$, holds in what
follows there.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from tests import derivations, result_names
from tests.derivations import Draw, Names
from tests.derivations_basics import BASICS
from tests.derivations_model import MODELS
from tests.tex import Statement, compute_side, is_number

SYMBOL = r"(?:\\(?:bar|hat|tilde|mathbf) *)?(?:d?[A-Za-z]|\\[A-Za-z]+)"
INDEX = r"'*(?:_(?:\w|\{[^{}]*(?:\{[^{}]*\}[^{}]*)?\})|\^[A-Za-z](?![A-Za-z])|\^\{[a-z]'?\})*'*"
NAME = re.compile(rf"{SYMBOL}{INDEX}")
FREE = re.compile(
    rf"(?:{NAME.pattern}|{SYMBOL}_\w+|[a-z]{{2,}})'*"
)  # as the reader knows names; a word, too
PLACES = re.compile(r"_(?!\{?in\b)\{?(?:[ijklmnctusprb0-9]{1,2}|[^{}]*[-+,][^{}]*)\}?'*$")
MEANINGS = {
    f"{page}#{place}" if place else page: draw
    for page, draws in (BASICS | derivations.NAMES | MODELS).items()
    for place, draw in draws.items()
} | result_names.OTHERS
BRACES = str.maketrans("", "", "{}")
RESULTS = result_names.list_draws()


def name_function(place: str) -> str:
    """`softmax_gap` for "softmax#result-gap"."""
    return place.replace("#result-", "_").replace("-", "_")


def find_draw(place: str) -> Draw | None:
    return MEANINGS.get(place, RESULTS.get(name_function(place)))


def list_draws(page: str, passage: str, number: int = 0) -> list[Draw]:
    """What may give a formula its numbers, the nearest first; last the results of its page."""
    near = (f"{page}#{passage}[{number}]", f"{page}#{passage}", page)
    result = f"{page}#result-"
    results = [draw for name, draw in MEANINGS.items() if name.startswith(result)]
    results += [draw for name, draw in RESULTS.items() if name.startswith(name_function(result))]
    return [*filter(None, map(find_draw, near)), *results]


@cache
def draw_names(draw: Draw, seed: int) -> Names:
    return draw(np.random.default_rng(seed))


class FreeNumber(float):
    """A number that has a number of its own for each index, too."""

    def __new__(cls, name: str, seed: int) -> FreeNumber:
        one = super().__new__(cls, np.exp(np.random.default_rng([seed, *name.encode()]).normal()))
        one.of = lambda *places: FreeNumber(f"{name}_{places}", seed)
        return one

    def __call__(self, *places: float) -> float:
        return self.of(*places)


class Free(dict[str, Any]):
    """A positive number for every symbol: what holds for any needs no names."""

    def __init__(self, seed: int, names: Names) -> None:
        super().__init__(names)
        self.seed = seed

    def __contains__(self, name: object) -> bool:
        free = FREE.fullmatch(str(name)) and not PLACES.search(str(name))
        return super().__contains__(name) or (bool(free) and name not in ("e", r"\pi", r"\delta"))

    def __missing__(self, name: str) -> float:
        return FreeNumber(name, self.seed)

    def __or__(self, names: Names) -> Free:
        return Free(self.seed, {**self, **names})


def draw_free(rng: np.random.Generator) -> Names:
    return Free(int(rng.integers(1 << 30)), {"sizes": dict.fromkeys("ijlm", 3)})


class Supposed(dict[str, list[str]]):
    """What a passage supposes so far: symbols, and the side that says what each stands for."""

    def extend(self, names: Names) -> Names:
        """The names, with what is supposed; a symbol may be said before those that it needs."""
        for _ in range(3):
            values = {name: compute_side(side, names) for name, side in self.items()}
            names = names | {name: one for name, one in values.items() if is_number(one)}
        return names

    def add(self, statement: Statement) -> bool:
        """Whether a statement says what symbols stand for; only a number may be said anew."""
        names, sides = [], [side for _, side in statement.sides]
        while len(sides) > 1 and NAME.fullmatch("".join(sides[0])):
            names.append(sides.pop(0))
        if not names or not {*statement.relations} <= {"=", "≈"}:
            return False
        free = self.extend(draw_names(draw_free, 0))
        values = [compute_side(side, free) for side in sides]
        alike = Statement([("=", side) for side in sides], values, statement.near)
        if not all(map(is_number, values)) or not all(alike.compare()):
            return False
        keys = ["".join(name).translate(BRACES) for name in names]
        is_new = compute_side(sides[-1], {}) is not None or not {*keys} & {*self}
        if not is_new or any(is_within(name, sides[-1]) for name in names):
            return False
        self.update(dict.fromkeys(keys, sides[-1]))
        return True


def is_within(part: list[str], tokens: list[str]) -> bool:
    return any(tokens[n : n + len(part)] == part for n in range(len(tokens)))
