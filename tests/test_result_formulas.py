"""The formulas in the boxes of results are computed at sampled points, as displayed lines are.

What the symbols of a box stand for says tests/result_names.py. A box whose formulas are not all
computed says so in its option `uncomputed`, with one of the reasons of `read/syntax.py`, and the
page of results counts those boxes. English pages are enough: the formulas of twins are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from attention_docs.site.read.passage import Passage
from attention_docs.site.read.reader import read_page
from attention_docs.site.read.syntax import CODE_SPAN, DISPLAY, INLINE
from tests.conftest import PAGES, ROOT
from tests.derivations import Names
from tests.result_names import RESULTS
from tests.tex import DROPPED, compute_side, is_satisfied, split_chains, split_lines, split_sides

SEEDS = range(6)
SYMBOL = r"(?:\\(?:bar|hat|tilde|mathbf) *)?(?:d?[A-Za-z]|\\[A-Za-z]+)"
INDEX = r"'*(?:_(?:\w|\{[^{}]*(?:\{[^{}]*\}[^{}]*)?\})|\^[A-Za-z](?![A-Za-z])|\^\{[a-z]'?\})*'*"
DOTS = r"\\l?dots"
NAME = re.compile(rf"{SYMBOL}{INDEX}")
LIST = re.compile(rf"(?:{SYMBOL}{INDEX}|{DOTS}|\d)(?: *, *(?:{SYMBOL}{INDEX}|{DOTS}|\d))+")
TUPLE = re.compile(rf"\((.*{DOTS}.*)\)")


@cache
def boxes() -> dict[str, Passage]:
    """The results of all pages by page and id."""
    pages = (read_page(path, ROOT) for path in sorted(PAGES.glob("*.md")))
    found = [(page.slug, one) for page in pages for one in page.passages if one.kind == "result"]
    return {f"{slug}#{one.id}": one for slug, one in found}


def claims(text: str) -> Iterator[str]:
    """The inline formulas that say more than what something is called."""
    for tex in INLINE.findall(DISPLAY.sub(" ", CODE_SPAN.sub(" ", text))):
        bare = " ".join(DROPPED.sub(" ", tex).split())
        inside = TUPLE.fullmatch(bare)
        if not (NAME.fullmatch(bare) or LIST.fullmatch(inside[1] if inside else bare)):
            yield tex


def check_formulas(text: str, names: Names) -> tuple[list[str], list[str]]:
    """The formulas that could not be computed, and what is wrong with the others."""
    unread, wrong = [], []
    worth, truth = iter(names.get("worth", ())), iter(names.get("truth", ()))
    for tex in claims(text):
        for chain in split_chains(split_lines(tex)[0]):
            parts = split_sides(chain)
            values = [compute_side(tokens, names) for _, tokens in parts]
            known = all(isinstance(one, int | float | np.ndarray | np.number) for one in values)
            wanted: Any = next(truth, True) if len(parts) > 1 else next(worth, None)
            if not known or wanted is None:
                unread.append(tex)
            elif len(parts) == 1 and not same(values[0], wanted):
                wrong.append(f"${tex}$ is {values[0]}, wanted {wanted}")
            elif len(parts) > 1 and stands(parts, values) != wanted:
                wrong.append(f"${tex}$ is {not wanted} of {values}, wanted {wanted}")
    if left := [*worth, *truth]:
        wrong.append(f"there are fewer formulas than values for them, {left} is left over")
    return unread, wrong


def stands(parts: list[tuple[str, list[str]]], values: list[Any]) -> bool:
    """Whether each relation between two sides holds."""
    relations = [relation for relation, _ in parts[1:]]
    return all(map(is_satisfied, relations, values, values[1:], [1e-2] * len(relations)))


def same(got: Any, wanted: Any) -> bool:
    """Whether a formula comes to what it is worth, which may be an approximation."""
    if isinstance(wanted, type(pytest.approx(0))):
        return bool(got == wanted)
    return is_satisfied("=", got, wanted, 0)


@cache
def names_of(box: str, seed: int) -> Names:
    return RESULTS[box](np.random.default_rng(seed)) if box in RESULTS else {}


@pytest.mark.parametrize("box", boxes())
def test_the_formulas_of_a_result_hold(box: str) -> None:
    one = boxes()[box]
    reason = dict(one.options).get("uncomputed")
    words = not [*claims(one.text)] and not DISPLAY.search(one.text)
    for seed in SEEDS:
        unread, wrong = check_formulas(one.text, names_of(box, seed))
        assert not wrong
        described = (
            "is not computed: give it a meaning in tests/result_names.py, or say `uncomputed`"
        )
        assert reason or not unread, f"{unread[0]} {described}"
    assert (reason == "words") is words, f"{box}: without a formula, and only then, say `words`"
    assert not reason or words or unread, f"{box} says `uncomputed`, and all of it is computed"


def test_names_belong_to_results() -> None:
    assert RESULTS.keys() <= boxes().keys()


CHANGES = (
    (r"(?<=[\w})] )\+(?= )", "-"),
    (r"(?<=[\w})] )-(?= )", "+"),
    (r"(?<=\^)2|(?<![\w_.^{\\])2(?=[a-z(\\ ^])", "3"),
    (r"\^(?:2|\\top)", ""),
    (r"\\le(?![a-z])", r"\\ge"),
    (r"\\ge(?![a-z])", r"\\le"),
    (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\\frac{\2}{\1}"),
    (r"_\{t-u\}", "_{u-t}"),
    (r"W_V\^r W_O\^r", "W_O^r W_V^r"),
)


def test_a_changed_formula_is_seen() -> None:
    """Most changes of each kind; the others only weaken a bound or a condition."""
    seen: dict[str, list[bool]] = {pattern: [] for pattern, _ in CHANGES}
    for box, one in boxes().items():
        if "uncomputed" in dict(one.options):
            continue
        for tex in claims(one.text):
            for pattern, other in CHANGES:
                for place in re.finditer(pattern, tex):
                    changed = tex[: place.start()] + place.expand(other) + tex[place.end() :]
                    text = one.text.replace(f"${tex}$", f"${changed}$", 1)
                    assert text != one.text
                    faults = (check_formulas(text, names_of(box, seed)) for seed in SEEDS[:4])
                    seen[pattern].append(any(map(any, faults)))
    found = [one for kind in seen.values() for one in kind]
    assert all(sum(kind) > 0.6 * len(kind) for kind in seen.values()), seen
    assert sum(found) > 0.85 * len(found) > 150
