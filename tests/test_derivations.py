"""Derivations and results: each displayed line and each formula of a box is computed from its TeX.

Only this sees a wrong sign that stands on the pages of both languages. Twins are compared
elsewhere, so the English pages are enough. A line that fails says both sides and their values: the
page is wrong, or a name in tests/derivations.py or tests/derivations_model.py does not mean what
the page says. A new chapter takes part with an entry there, a result with a function in
tests/result_names.py. A box whose formulas are not all computed says so in its option `uncomputed`,
with one of the reasons of `read/syntax.py`, and the page of results counts those boxes.
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
from tests import derivations
from tests.conftest import LANGUAGES, PAGES, ROOT
from tests.derivations import Names
from tests.derivations_basics import BASICS
from tests.derivations_model import MODELS
from tests.result_names import find_draw, list_draws
from tests.tex import (
    DROPPED,
    check_display,
    compute_side,
    is_satisfied,
    split_chains,
    split_lines,
    split_sides,
)

NAMES = BASICS | derivations.NAMES | MODELS
UNREAD = {
    **{"attention-function": 4, "eight-steps": 3, "generation": 1, "learning": 1, "masking": 3},
    **{"multi-head": 3, "positions": 3, "scaling": 3, "score-functions": 1},
    **{"sequences": 1, "transformer-block": 9},
}  # how many lines of a page may stay out, if any: a slip in a symbol makes a line unreadable
SIGN = re.compile(r" [+-] ")
REASON = re.compile(r"\\text\{\s*\([^\n]*")


def find_displays(slug: str) -> Iterator[tuple[str, int, str]]:
    for passage in read_page(PAGES / f"{slug}.md", ROOT).passages:
        for number, display in enumerate(DISPLAY.findall(passage.text)):
            yield passage.id, number, display


def draw_names(slug: str, section: str, number: int, seed: int) -> Names:
    known = NAMES[slug]
    draw = known.get(f"{section}[{number}]", known.get(section, known[""]))
    return draw(np.random.default_rng(seed))


@cache
def check_page(slug: str, seed: int) -> tuple[list[tuple[str, bool]], list[str]]:
    """Each line of a page with a relation, and whether it was computed; and what does not hold."""
    lines, wrong = [], []
    for section, number, display in find_displays(slug):
        could, faults = check_display(display, draw_names(slug, section, number, seed))
        lines += could
        wrong += [f"docs/en/{slug}.md#{section}: {fault}" for fault in faults]
    return lines, wrong


@pytest.mark.parametrize("slug", NAMES)
def test_every_line_that_can_be_computed_holds(slug: str) -> None:
    for seed in range(3):
        lines, wrong = check_page(slug, seed)
        assert not wrong
        unread = [line for line, computed in lines if not computed]
        described = "not computed: give their symbols a meaning, or change the number in UNREAD"
        assert len(unread) <= UNREAD.get(slug, 0), f"{unread} {described}"


def test_most_lines_are_computed_and_the_page_of_results_says_how_many() -> None:
    share = 90
    lines = [computed for slug in NAMES for _, computed in check_page(slug, 0)[0]]
    assert 100 * sum(lines) > share * len(lines)
    for lang in LANGUAGES:
        page = read_page(ROOT / "docs" / lang / "results.md", ROOT)
        assert re.search(rf"{share} ?%", page.text), f"{page.path} does not say {share} %"


def test_a_sign_that_is_turned_around_is_seen() -> None:
    """Most signs; the others stand in bounds, which then still hold, or beside a 0."""
    seen, all_signs = 0, 0
    for slug in NAMES:
        for section, number, display in find_displays(slug):
            clean = REASON.sub(lambda reason: " " * len(reason[0]), display)
            for sign in SIGN.finditer(clean):
                other = " - " if "+" in sign[0] else " + "
                turned = display[: sign.start()] + other + display[sign.end() :]
                seen += bool(check_display(turned, draw_names(slug, section, number, 1))[1])
                all_signs += 1
    assert seen > 0.75 * all_signs > 150


@pytest.mark.parametrize(
    ("tex", "could", "holds"),
    [
        (r"a = b + 1", True, True),
        (r"a = b - 1", True, False),
        (r"a &= b + 1 && \text{(why)} \\ &= 3", True, True),
        (r"a \le b", True, False),
        (r"a = z", False, True),  # an unknown name: not computed, and never right
        (r"\sum_{i=1}^{n} v_i = \lVert v \rVert^2", True, False),
        (r"\sum_i v_i^2 = v v^\top", True, True),
        (r"\frac{a}{b} = \tfrac32", True, True),
        (r"v_i = \delta_{ij}", True, False),
        (r"a_i = 3", False, True),  # a number has no index
        (r"\prod_{i=1}^{n} v_i = 8", True, True),
        (r"\prod_{i=1}^{n} v_i = 7", True, False),
        (r"\sum_{i > 1} v_i = \sum_S v_i = 6", True, True),  # indices count from 1 on a page
        (r"\sum_{i \in S} v_i = \sum_{i:\, v_i \ge 2} v_i", True, True),
        (r"\sum_{i \notin S} v_i = 1", True, True),
        (r"\sum_{i \notin S} v_i = 6", True, False),
        (r"\sum_{i \le j} v_i = 1", True, True),
        (r"\sum_{b=1}^{a} b = 6", True, True),
        (r"[i = j] = 0", True, True),
        (r"\min(a, b) = \left\lceil \tfrac{a}{2} \right\rceil", True, True),
        (r"\operatorname{tr} W = v_{t_i}", True, True),
        (r"X^{(a)} = 2a", True, False),
        (r"\Pr(\text{heads}) = \tfrac12", True, True),
        (r"\text{plain:} \quad & 2a", True, True),  # a line without a relation that has a worth
        (r"2a + 1", True, False),
    ],
)
def test_the_reader_of_formulas(tex: str, could: bool, holds: bool) -> None:
    row = np.array([[1.0, 2.0, 4.0]])
    known = {"a": 3.0, "b": 2.0, "n": 3, "v": row, "i": 1, "j": 0, "sizes": {"i": 3, "b": 3}}
    known |= {"W": np.diag([1.0, 3.0]), "tr": np.trace, "t": np.array([[0, 2, 1]])}
    known |= {"X": lambda layer: layer, "sets": {"S": ("i", [1, 2])}, "counting": {"b"}}
    known |= {"worth": [6], "phrases": {r"\Pr({heads})": 0.5}}
    lines, wrong = check_display(tex, known)
    assert [computed for _, computed in lines] == [could] * len(lines)
    assert (not wrong) is holds


# --- the boxes of results

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
    draw = find_draw(box)
    return draw(np.random.default_rng(seed)) if draw else {}


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
    assert list_draws() == {draw for box in boxes() if (draw := find_draw(box))}


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
