"""Derivations, results and sentences: each formula that says something is computed from its TeX.

Only this sees a wrong sign that stands on the pages of both languages. Twins are compared
elsewhere, so the English pages are enough. What fails says both sides and their values: the page is
wrong, or a name in tests/meanings.py does not mean what the page says. A new chapter takes part
with an entry in one of its tables, a result with a function in tests/result_names.py. A box whose
formulas are not all computed says so in its option `uncomputed`, with one of the reasons of
`read/syntax.py`, and the page of results counts those boxes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import unified_diff
from functools import cache
from typing import Any, NamedTuple

import pytest

from attention_docs.site.read.passage import Passage
from attention_docs.site.read.reader import read_page
from attention_docs.site.read.syntax import CODE_SPAN, DISPLAY, INLINE
from tests.conftest import LANGUAGES, PAGES, ROOT, WRITTEN, report
from tests.derivations import Draw, Names
from tests.meanings import (
    INDEX,
    MEANINGS,
    NAME,
    RESULTS,
    SYMBOL,
    Supposed,
    draw_free,
    draw_names,
    find_draw,
    list_draws,
    name_function,
)
from tests.test_signatures import FUNCTIONS
from tests.tex import DROPPED, RELATIONS, WORTH, Statement, is_satisfied, read_statements

UNCOMPUTED = (ROOT / "tests" / "uncomputed.txt").read_text(encoding="utf-8").splitlines()
LISTED = "give its symbols a meaning in tests/meanings.py; or read it twice, and change its line"
DOTS = r"\\l?dots"
LIST = re.compile(rf"(?:{SYMBOL}{INDEX}|{DOTS}|\d)(?: *, *(?:{SYMBOL}{INDEX}|{DOTS}|\d))+")
TUPLE = re.compile(rf"\((.*{DOTS}.*)\)")


def claims(text: str) -> Iterator[str]:
    """The inline formulas that say more than what something is called."""
    for tex in INLINE.findall(DISPLAY.sub(" ", CODE_SPAN.sub(" ", text))):
        bare = " ".join(DROPPED.sub(" ", tex).split())
        inside = TUPLE.fullmatch(bare)
        if not (NAME.fullmatch(bare) or LIST.fullmatch(inside[1] if inside else bare)):
            yield tex


# --- displays and sentences


def list_formulas(slug: str, passage: Passage) -> Iterator[tuple[str, Draw | None, list[Draw]]]:
    """The formulas of a passage: what gives a display its numbers, and what may; of a result its
    displays alone."""
    for number, display in enumerate(DISPLAY.findall(passage.text)):
        draws = list_draws(slug, passage.id, number)
        yield display, next(iter(draws), None), draws
    if passage.kind != "result":
        for tex in claims(passage.text):
            yield tex, None, list_draws(slug, passage.id)


@cache
def read(tex: str, draw: Draw, seed: int) -> list[Statement]:
    """The statements of a formula, by its own names."""
    return [*read_statements(tex, draw_names(draw, seed))]


def is_true(tex: str, number: int, draw: Draw, supposed: Supposed) -> bool:
    """Whether a statement holds for every draw of its symbols, some of which may be supposed."""
    for seed in range(40 if draw is draw_free else 3):
        one = read(tex, draw, seed)[number]
        if not one.holds() and supposed:
            names = supposed.extend(draw_names(draw, seed))
            one = [*read_statements(tex, names)][number]
        if not one.holds():
            return False
    return True


def is_worth(value: Any, wanted: Any) -> bool:
    """Whether a formula comes to what it is worth, which may be an approximation."""
    if isinstance(wanted, type(pytest.approx(0))):
        return bool(value == wanted)
    return value is None or wanted is None or is_satisfied("=", value, wanted, 0)


def find_wrong(tex: str, draw: Draw) -> Iterator[str]:
    """What does not hold of a display, with its values."""
    for seed in range(3):
        worth = iter(draw_names(draw, seed).get(WORTH, ()))
        for one in read(tex, draw, seed):
            if not all(one.compare()):
                yield f"{one.text}: {one.values}"
            elif not (one.relations or is_worth(one.values[0], wanted := next(worth, None))):
                yield f"{one.text}: {one.values[0]}, and is worth {wanted}"


class Sorted(NamedTuple):
    kind: str
    is_displayed: bool
    text: str


@cache
def sort_statements(slug: str) -> list[Sorted]:
    """A page's statements: those that hold, that suppose something, which holds for what follows
    ("for $d = 64$"), that do not hold in the names of their display, and the others."""
    found: list[Sorted] = []
    for passage in read_page(PAGES / f"{slug}.md", ROOT).passages:
        supposed = Supposed()
        for tex, own, draws in list_formulas(slug, passage):
            is_displayed = "\n" in tex
            wrong = find_wrong(tex, own) if own else ()
            found += (Sorted("wrong", is_displayed, f"#{passage.id}: {one}") for one in wrong)
            for number, statement in enumerate(read_statements(tex, {})):
                if not statement.relations:
                    continue
                if own and read(tex, own, 0)[number].compare():
                    kind = "true"  # or wrong
                elif any(is_true(tex, number, draw, supposed) for draw in (*draws, draw_free)):
                    kind = "true"
                else:
                    kind = "supposed" if supposed.add(statement) else "other"
                found.append(Sorted(kind, is_displayed, f"#{passage.id}: {statement.text}"))
    return found


@pytest.mark.parametrize("slug", WRITTEN)
def test_formulas_hold(slug: str) -> None:
    """Those that suppose something or cannot be computed are listed, and change with their line."""
    found = sort_statements(slug)
    report(f"docs/en/{slug}.md{one.text}" for one in found if one.kind == "wrong")
    compare_list(slug, [one.text for one in found if one.kind in ("supposed", "other")])


def compare_list(name: str, found: Sequence[str]) -> None:
    """Fail where what is not computed of a page, or of a function, is not what is listed."""
    wanted = [one for one in UNCOMPUTED if one.startswith(f"{name}#")]
    got = sorted(f"{name}{one}" for one in found)
    changed = [*unified_diff(wanted, got, "tests/uncomputed.txt", name, lineterm="", n=0)]
    report(changed and [*changed, LISTED])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_formulas_of_a_docstring_hold(name: str) -> None:
    """In some of the meanings of its chapter; those that hold in none are listed."""
    slug = name.partition(".")[0].replace("_", "-")
    draws = [draw for place, draw in MEANINGS.items() if place.partition("#")[0] == slug]
    compare_list(
        name,
        [
            f"#: {statement.text}"
            for tex in DISPLAY.findall(FUNCTIONS[name].__doc__ or "")
            for number, statement in enumerate(read_statements(tex, {}))
            if statement.relations
            and not any(is_true_there(tex, number, draw) for draw in (*draws, draw_free))
        ],
    )


def is_true_there(tex: str, number: int, draw: Draw) -> bool:
    """The same in names that may mean something else there."""
    with suppress(Exception):
        return is_true(tex, number, draw, Supposed())
    return False


def test_most_displays_are_computed_and_the_page_of_results_says_how_many() -> None:
    share = 90
    kinds = [one.kind for slug in WRITTEN for one in sort_statements(slug) if one.is_displayed]
    assert 100 * kinds.count("true") > share * len(kinds)
    for lang in LANGUAGES:
        page = read_page(ROOT / "docs" / lang / "results.md", ROOT)
        assert re.search(rf"{share} ?%", page.text), f"{page.path} does not say {share} %"


# --- the boxes of results


@cache
def boxes() -> dict[str, Passage]:
    """The results of all pages by page and id."""
    pages = (read_page(path, ROOT) for path in sorted(PAGES.glob("*.md")))
    found = [(page.slug, one) for page in pages for one in page.passages if one.kind == "result"]
    return {f"{slug}#{one.id}": one for slug, one in found}


def check_box(text: str, names: Names) -> tuple[list[str], list[str]]:
    """The formulas that could not be computed, and what is wrong with the others."""
    unread, wrong = [], []
    worth, truth = iter(names.get(WORTH, ())), iter(names.get("truth", ()))
    for one in (one for tex in claims(text) for one in read_statements(tex, names)):
        wanted: Any = next(truth, True) if one.relations else next(worth, None)
        if wanted is None or any(value is None for value in one.values):
            unread.append(one.text)
        elif not (one.holds() == wanted if one.relations else is_worth(one.values[0], wanted)):
            wrong.append(f"{one.text} is {one.values}, wanted {wanted}")
    if left := [*worth, *truth]:
        wrong.append(f"there are fewer formulas than values for them, {left} is left over")
    return unread, wrong


def check_draws(box: str) -> tuple[list[str], list[str]]:
    """The same over several draws of the box's own names; without such, of those of a section of
    its page that fit best."""
    own, page = find_draw(box), box.partition("#")[0]
    sections = [draw for place, draw in MEANINGS.items() if place.partition("#")[0] == page]
    found = []
    for draw in [own] if own else [draw_nothing, *sections]:
        checks = [check_box(boxes()[box].text, draw_names(draw, seed)) for seed in range(6)]
        unread, wrong = ([text for one in checks for text in one[part]] for part in (0, 1))
        found.append((unread, wrong))
    return min(found, key=lambda one: (len(one[1]), len(one[0])))


def draw_nothing(_: Any) -> Names:
    return {}


@pytest.mark.parametrize("box", boxes())
def test_the_formulas_of_a_result_hold(box: str) -> None:
    one = boxes()[box]
    reason = dict(one.options).get("uncomputed")
    words = not [*claims(one.text)] and not DISPLAY.search(one.text)
    unread, wrong = check_draws(box)
    assert not wrong
    told = "is not computed: give it a meaning in tests/result_names.py, or say `uncomputed`"
    assert reason or not unread, f"{unread[0]} {told}"
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
        formulas = (*claims(box.text), *DISPLAY.findall(box.text))
        statements = [one for tex in formulas for one in read_statements(tex, {})]
        signs = {sign for one in statements if not is_condition(one) for sign in one.relations}
        relation = dict(box.options)["relation"]
        if relation in RELATIONS.values() and signs and relation not in signs:
            found.add(name)
    assert found == {*UNSIGNED}


def is_condition(statement: Statement) -> bool:
    """Whether a symbol alone is compared with a number alone."""
    sides = ["".join(side) for _, side in statement.sides]
    return any(side.isdigit() for side in sides) and any(map(NAME.fullmatch, sides))


def test_every_meaning_belongs_to_a_place() -> None:
    """To a page, a passage, or a display; a function of a result to its box."""
    places = {*WRITTEN}
    for slug in WRITTEN:
        for one in read_page(PAGES / f"{slug}.md", ROOT).passages:
            displays = enumerate(DISPLAY.findall(one.text))
            places |= {
                f"{slug}#{one.id}",
                *(f"{slug}#{one.id}[{number}]" for number, _ in displays),
            }
    assert not {*MEANINGS} - places
    assert not {*RESULTS} - {name_function(box) for box in boxes()}
