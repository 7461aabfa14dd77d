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
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from attention_docs.site.read.passage import Passage
from attention_docs.site.read.reader import read_page
from attention_docs.site.read.syntax import CODE_SPAN, DISPLAY, INLINE
from tests import derivations
from tests.conftest import LANGUAGES, PAGES, ROOT, SLUGS
from tests.derivations import Draw, Names
from tests.derivations_basics import BASICS
from tests.derivations_model import MODELS
from tests.result_names import find_draw, list_draws
from tests.tex import (
    DROPPED,
    RELATIONS,
    check_display,
    compute_side,
    is_satisfied,
    split_chains,
    split_lines,
    split_sides,
)

NAMES = BASICS | derivations.NAMES | MODELS
LIMITS = tomllib.loads((ROOT / "tests" / "unread.toml").read_text(encoding="utf-8"))["formulas"]
LIMITED = "give its symbols a meaning in tests/derivations.py, or change tests/unread.toml"


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
        assert len(unread) == LIMITS[slug][0], f"not computed: {unread}, {LIMITED}"


def test_most_lines_are_computed_and_the_page_of_results_says_how_many() -> None:
    share = 90
    lines = [computed for slug in NAMES for _, computed in check_page(slug, 0)[0]]
    assert 100 * sum(lines) > share * len(lines)
    for lang in LANGUAGES:
        page = read_page(ROOT / "docs" / lang / "results.md", ROOT)
        assert re.search(rf"{share} ?%", page.text), f"{page.path} does not say {share} %"


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
            known = all(map(is_number, values))
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


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.ndarray | np.number)


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


UNSIGNED = {
    "language-model#result-cut": "the equation is in words, p(S) > 0 a condition",
    "masking#result-padding": "the equation is in words, j > i is of another proof",
    "multi-head#result-trade": "“at most” is in words",
    "sequences#result-window": "the number of parameters is in words",
}


def test_the_relation_of_a_result_stands_in_its_formulas() -> None:
    """Where they have any beside conditions, such as 0 ≤ p < 1."""
    found = set()
    for name, box in boxes().items():
        displays = DISPLAY.findall(box.text)
        chains = [
            c
            for tex in (*claims(box.text), *displays)
            for line in split_lines(tex)
            for c in split_chains(line)
        ]
        signs = {
            sign
            for parts in map(split_sides, chains)
            if not is_condition(parts)
            for sign, _ in parts[1:]
        }
        relation = dict(box.options)["relation"]
        if relation in RELATIONS.values() and signs and relation not in signs:
            found.add(name)
    assert found == {*UNSIGNED}


def is_condition(parts: list[tuple[str, list[str]]]) -> bool:
    """Whether a symbol alone is compared with a number alone."""
    sides = ["".join(tokens) for _, tokens in parts]
    return any(side.isdigit() for side in sides) and any(map(NAME.fullmatch, sides))


def test_names_belong_to_results() -> None:
    assert list_draws() == {draw for box in boxes() if (draw := find_draw(box))}


# --- formulas in sentences


class Free(dict[str, Any]):
    """A positive number for every symbol: an equation that holds for any needs no names."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self.seed = int(rng.integers(99))

    def __contains__(self, name: object) -> bool:
        return bool(NAME.fullmatch(str(name))) and name not in ("e", r"\pi", r"\delta")

    def __getitem__(self, name: str) -> float:
        return float(np.random.default_rng([self.seed, *name.encode()]).uniform(0.5, 2))


@cache
def make_names(draw: Draw, seed: int) -> Names:
    return draw(np.random.default_rng(seed))


def list_meanings(slug: str, section: str) -> list[Draw]:
    """What may give a formula its numbers: its section, its page, a result of the page, or all."""
    known = NAMES.get(slug, {})
    near = [known.get(name) for name in (section, f"{section}[0]", "")]
    results = [find_draw(box) for box in boxes() if box.startswith(f"{slug}#")]
    return [*filter(None, [*near, *results]), Free]


def is_true(parts: list[tuple[str, list[str]]], draw: Draw, given: Names) -> bool:
    """Whether a statement holds for every draw of its symbols, some of which may be given."""
    if draw is Free and "=" not in dict(parts):
        return False
    for seed in SEEDS[:3]:
        names = make_names(draw, seed)
        for known in (names, names | given):
            values = [compute_side(tokens, known) for _, tokens in parts]
            if all(map(is_number, values)) and stands(parts, values):
                break
        else:
            return False
    return True


def supposes(name: str, sides: list[tuple[str, list[str]]], values: list[Any]) -> bool:
    """Whether a symbol is set to a number, which may be written in more ways than one."""
    is_set = NAME.fullmatch(name) and {relation for relation, _ in sides} == {"="}
    return bool(is_set) and all(map(is_number, values)) and stands(sides, values)


@cache
def sort_sentences(slug: str) -> dict[str, list[str]]:
    """The formulas with a relation in a page's sentences: those that hold, and suppose something
    ("for $d = 64$", which holds for what follows), and the others."""
    found: dict[str, list[str]] = {"true": [], "supposed": [], "other": []}
    for passage in read_page(PAGES / f"{slug}.md", ROOT).passages:
        if passage.kind == "result":
            continue
        meanings, given = list_meanings(slug, passage.id), Names()
        chains = [one for tex in claims(passage.text) for one in split_chains(split_lines(tex)[0])]
        for chain in chains:
            parts = split_sides(chain)
            if len(parts) < 2:
                continue
            name, (_, *sides) = "".join(parts[0][1]), parts
            values = [compute_side(tokens, given) for _, tokens in sides]
            if any(is_true(parts, draw, given) for draw in meanings):
                kind = "true"
            elif supposes(name, sides, values):
                kind, given[re.sub("[{}]", "", name)] = "supposed", values[-1]
            else:
                kind = "other"
            found[kind].append(f"#{passage.id}: {' '.join(chain)}")
    return found


@pytest.mark.parametrize("slug", SLUGS)
def test_formulas_in_sentences_hold(slug: str) -> None:
    found = sort_sentences(slug)
    limits = dict(zip(("supposed", "other"), LIMITS.get(slug, (0, 0, 0))[1:], strict=True))
    for kind, limit in limits.items():
        got = "\n".join(found[kind])
        told = f"docs/en/{slug}.md: wanted {limit} formulas of kind {kind!r}, got these; {LIMITED}"
        assert len(found[kind]) == limit, f"{told}\n{got}"
