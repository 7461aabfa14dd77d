"""What every chapter has, and why: results, exercises, cards, a control with a guess, a glyph …

All that a chapter lacks is said at once. How long it may be: tests/test_chapters.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block, Box, End, Heading
from attention_docs.site.render.cards import GLYPHS
from tests.judged import count_hints, list_exercises

RESULTS = 2
EXERCISES = range(6, 10)
HINTS = 2  # from two stars on
WRITTEN = "exercise-write"
WRITING = ("writing", "writing-answer", "writing-checks")  # its sections
COMPARED = Path(__file__).with_name("test_write_it.py")  # holds `TORCH`
CARDS = range(3, 6)
CONTROLS = {"eight_steps", "slider", "stepper"}  # the figures that a reader moves
FOLDS = {"answer", "deeper", "fold", "hint"}
SQUARE, SQUARES = "h3.6v3.6h-3.6z", 16  # of a glyph


def find_missing(page: Page, glyphs: Path = GLYPHS, compared: Path = COMPARED) -> list[str]:
    """What a chapter lacks, each with its reason."""
    parts = (_of_results, _of_exercises, _of_control, _of_guesses, _of_cards, _of_first_screen)
    found = [fault for part in parts for fault in part(page)]
    found += [*find_unjudged(page), *find_unwritten(page, compared)]
    return [*found, *find_glyph_faults(page.slug, glyphs)]


def _of_results(page: Page) -> Iterator[str]:
    number = sum(one.kind == "result" for one in page.passages)
    if number < RESULTS:
        yield (
            f"results: {number}, wanted at least {RESULTS}: what a chapter shows stands in "
            "boxes with their conditions (/// result | …), which the page of results lists"
        )


def _of_exercises(page: Page) -> Iterator[str]:
    exercises = [one for one in page.passages if one.kind == "exercise"]
    if len(exercises) not in EXERCISES:
        yield (
            f"exercises: {len(exercises)}, wanted {EXERCISES[0]} to {EXERCISES[-1]}: you "
            "have understood what you can do (//// exercise | …)"
        )
    for stars in sorted({"1", "2", "3"} - {dict(one.options).get("stars") for one in exercises}):
        yield (
            f"no exercise has stars: {stars}: there is one for a first "
            "reading, one for a second and one to think about overnight"
        )
    for one in exercises:
        answers = [
            box
            for box in page.pieces
            if isinstance(box, Box) and box.kind == "answer" and one.line < box.line < one.last_line
        ]
        if len(answers) != 1:
            yield (
                f"line {one.line}: the exercise “{one.title}” has {len(answers)} answers, wanted "
                "1: a reader who works alone has nobody to ask (/// answer)"
            )


def find_unjudged(page: Page) -> Iterator[str]:
    """Exercises whose answer is not judged, and hard ones without hints."""
    for one, _, is_judged in list_exercises(page):
        if not is_judged:
            yield (
                f"line {one.line}: the exercise “{one.title}” is not judged: the page says "
                "whether an answer is right, and what a known mistake was (/// asks)"
            )
        hints = count_hints(page, one)
        if dict(one.options)["stars"] != "1" and hints < HINTS:
            yield (
                f"line {one.line}: the exercise “{one.title}” has {hints} of the {HINTS} hints "
                "wanted from two stars on: they help before the answer is opened, the general one "
                "first (/// hint)"
            )


def find_unwritten(page: Page, compared: Path = COMPARED) -> Iterator[str]:
    """Whether a reader writes a function, and what is missing for it to be judged."""
    if WRITTEN not in {one.id for one, kind, _ in list_exercises(page) if kind == "write"}:
        yield (
            "no exercise asks for a function: you have understood what you can write "
            f"(kind: write, id: {WRITTEN}; copy from softmax)"
        )
        return
    blocks = {one.id for one in page.pieces if isinstance(one, Block)}
    if lacking := [name for name in WRITING if name not in blocks]:
        yield (
            f"the exercise {WRITTEN} shows no section {', '.join(lacking)}: it takes the function "
            "as it begins, the model answer, and the checks that judge it (copy from softmax)"
        )
    if page.slug not in read_compared(compared):
        yield (
            f"say what PyTorch calls the same as its model answer: add {page.slug!r} to TORCH of "
            f"tests/{compared.name}, or the model answer is compared with nothing"
        )


def read_compared(path: Path) -> set[str]:
    """The chapters whose model answer is compared with PyTorch: the keys of `TORCH`."""
    (table,) = (
        node.value
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == "TORCH"
    )
    assert isinstance(table, ast.Dict)
    return {str(ast.literal_eval(key)) for key in table.keys if key is not None}


def _of_control(page: Page) -> Iterator[str]:
    if not any(_calls(block.code) & CONTROLS for block in _main_line(page)):
        yield (
            "its main line has no figure to move: let one section that no box folds end in "
            "slider(…) or stepper(…) of attention_docs.figures, and ask for a guess before it"
        )


def _of_guesses(page: Page) -> Iterator[str]:
    """What a reader moves has a question before it, with nothing but text and code between."""
    asked = False
    for piece in page.pieces:
        if isinstance(piece, Box):
            asked = piece.kind == "guess"
        elif isinstance(piece, Heading):
            asked = False
        elif isinstance(piece, Block) and not asked and _is_control(piece):
            yield (
                f"line {piece.line}: nothing asks for a guess before the control {piece.id!r}: "
                "you look more closely once you have guessed (/// guess | …)"
            )


def _is_control(block: Block) -> bool:
    return bool(_calls(block.code) & CONTROLS or block.knobs)


def _of_cards(page: Page) -> Iterator[str]:
    number = sum(one.kind == "recall" for one in page.passages)
    if number not in CARDS:
        yield (
            f"cards: {number}, wanted {CARDS[0]} to {CARDS[-1]}: “In short” asks what a reader "
            "should be able to answer now (/// recall | …), and the page of all cards asks again"
        )


def _of_first_screen(page: Page) -> Iterator[str]:
    heads = [one.line for one in page.passages if one.level == 2 and not one.kind]
    first = heads[0] if heads else len(page.lines)
    for block in _main_line(page):
        if block.line < first and block.source == "above" and "import " in block.code:
            yield (
                f"line {block.line}: code with an import stands above the second heading, where a "
                'stranger looks for the question: move it below, or hide it (source="none")'
            )
    opening = page.passages[1].text if len(page.passages) > 1 else ""
    if not opening.strip():
        yield "no text stands between the title and the second heading: begin with the question"


def find_glyph_faults(slug: str, folder: Path) -> Iterator[str]:
    path = folder / f"{slug}.svg"
    if not path.is_file():
        yield f"no glyph {path.name}, which marks it in the navigation and on its card"
        return
    svg = path.read_text(encoding="utf-8")
    if svg.count(SQUARE) != SQUARES or "fill=" in svg:
        yield (
            f"its glyph {path.name} is no small matrix like the others: wanted {SQUARES} squares "
            f"({SQUARE}) and no fill=, so that it takes the colour of what it stands in"
        )
    twins = [one.name for one in folder.glob("*.svg") if one.read_text("utf-8") == svg]
    if len(twins) > 1:
        yield f"its glyph looks like another one: {', '.join(sorted(twins))}"


def _main_line(page: Page) -> Iterator[Block]:
    """The blocks that no box folds."""
    kinds: list[str] = []
    for piece in page.pieces:
        if isinstance(piece, Box):
            kinds.append(piece.kind)
        elif isinstance(piece, End):
            kinds[-1:] = []
        elif isinstance(piece, Block) and not FOLDS & {*kinds}:
            yield piece


def _calls(code: str) -> set[str]:
    """The names of the functions that some code calls."""
    calls = (node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    return {one.id for one in calls if isinstance(one, ast.Name)}
