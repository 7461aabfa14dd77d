"""What an experiment says of itself: what is held out, how many starts, what is drawn.

What it measured the tests of its chapter assert; these see that it was measured fairly.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np
import pytest

from attention_docs.site.read.listing import read_listing
from tests.conftest import ROOT

LISTINGS = sorted((ROOT / "docs" / "listings").glob("*.py"))
Namespace = dict[str, Any]
Rows = set[bytes]


def run(slug: str, *sections: str, given: Namespace | None = None) -> Namespace:
    """What sections of a listing set; what is `given` is not computed, and nothing is shown."""
    path, found = ROOT / "docs" / "listings" / f"{slug}.py", dict(given or {})
    for section in sections:
        for statement in ast.parse(read_listing(path)[section].code).body:
            names = {n.id for n in ast.walk(statement) if is_set(n)}
            names |= {getattr(statement, "name", "")}
            if not isinstance(statement, ast.Expr) and not names & {*(given or {})}:
                exec(compile(ast.Module([statement], []), str(path), "exec"), found)
    return found


def is_set(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def rows(array: Any) -> Rows:
    """The sequences of an array, each as one word."""
    return {np.ascontiguousarray(one).tobytes() for one in array}


# --- what is held out

LETTERS = ("decoder", "words", "induction", "longer")


def of_language_model() -> tuple[Rows, Rows]:
    """Stories; then letters, where three models of each depth are trained on the same batches."""
    taught: list[Any] = []

    def train(model: Any, pairs: Any, rate: float) -> tuple[Any, list[float]]:
        taught.extend(np.hstack([ids, targets[:, -1:]]) for ids, targets in pairs)
        return model, []

    found = run("language-model", "hook", *LETTERS, given={"train": train})
    assert len(found["corpus"]) == 500 * 32
    assert len(found["held_out"]) > 1900
    assert len(found["examples"]) > 900
    training = rows(found["corpus"]) | rows(np.concatenate(taught))
    return training, rows(found["held_out"]) | rows(found["examples"])


def of_learning() -> tuple[Rows, Rows]:
    found = run("learning", "task")
    assert (len(found["training"]), len(found["validation"])) == (48, 200)
    return rows(found["training"]), rows(found["validation"])


def of_long_sequences() -> tuple[Rows, Rows]:
    """An exam is four times as long as a lesson, and begins with none."""
    given: Namespace = {"trained": {}, "plain": {}}
    found = run("long-sequences", "task", "model", "train", "exam", given=given)
    length = found["L"]
    lessons = np.concatenate([x.reshape(-1, *x.shape[-2:]) for x, _ in found["material"]])
    assert lessons.shape[:2] == (300 * 5 * 16, length)
    return rows(lessons), rows(found["exam"][:, :length])


def of_cross_attention() -> tuple[Rows, Rows]:
    """The model is trained on short lists and asked for longer ones."""
    found = run("cross-attention", "written", given={"sorter": None, "written": None})
    lists, drawn = found["lists"], set[bytes]()

    def noted(*arguments: Any) -> Any:
        made = lists(*arguments)
        drawn.update(rows(one[one < 10] for one in made[0]))  # without what ends a list
        return made

    found["lists"] = noted
    found["train"](1)
    training = set(drawn)
    drawn.clear()
    found |= {"train": lambda *_: (None, []), "write": lambda _, source, *__: (source, None)}
    run("cross-attention", "experiment", given=found)
    assert len(training) > 4000  # different ones, of 200 steps with 32
    assert len(drawn) > 900  # 500 of each length
    return training, drawn


def of_in_context() -> tuple[Rows, Rows]:
    """All prompts that a start is trained on, with their questions; then those of the exam."""
    found = run("in-context", "task", "train", given={"trained": []})
    draw, taught = found["draw"], list[Any]()

    def noted(*arguments: Any) -> Any:
        made = draw(*arguments)
        taught.append(made[0][:, :16])
        return made

    found["draw"] = noted
    for seed in range(2):
        found["train"](seed)
    found |= {"draw": draw, "gradient_step": None, "table": None}
    exam = run("in-context", "rates", given=found | {"rows": [], "share": None, "factor": 0})
    assert len(np.concatenate(taught)) == 2 * 500 * 256
    return rows(np.concatenate(taught)), rows(exam["exam"][16][0])


def of_assistant() -> tuple[Rows, Rows]:
    """Stories. Chats are short: of those that a model is asked, very few were tuned on too."""
    found = run("assistant", "setup", "toy", "chats", given={"pretrained": None})
    asked = rows(found["new_chats"])
    for start in range(3):
        tuned = rows(found["chats"](np.random.default_rng(start), 80 * 32))
        assert len(tuned & asked) < 0.02 * len(asked)
    assert len(found["lessons"]) == 300 * 32
    return rows(found["lessons"]), rows(found["held_out"])


def of_encoders() -> tuple[Rows, Rows]:
    """All stories that three starts read, with words hidden or not."""
    drawn = list[Any]()
    found = run(
        *("encoders", "setup", "toy"), given={"trained": None, "lessons": None, "encoder": None}
    )
    write = found["write_stories"]

    def noted(numbers: Any) -> Any:
        drawn.append(write(numbers))
        return drawn[-1]

    found["write_stories"] = noted
    for start in range(3):
        found["hidden_stories"](start)
    training = np.concatenate(drawn)
    assert len(training) == 3 * 300 * 64
    assert len(found["new"]) == 500
    return rows(training), rows(found["new"])


HELD_OUT: dict[str, Callable[[], tuple[Rows, Rows]]] = {
    "language-model": of_language_model,
    "learning": of_learning,
    "long-sequences": of_long_sequences,
    "cross-attention": of_cross_attention,
    "in-context": of_in_context,
    "assistant": of_assistant,
    "encoders": of_encoders,
}
ALL = {"precision": "a symbol is asked for the symbols that it was trained on, and no others"}


@pytest.mark.parametrize("slug", HELD_OUT)
def test_what_is_held_out_is_not_trained_on(slug: str) -> None:
    training, held_out = HELD_OUT[slug]()
    both = training & held_out
    assert not both, f"docs/listings/{slug}.py: {len(both)} of {len(held_out)} are trained on too"


def test_every_listing_that_trains_says_what_is_held_out() -> None:
    trains = {
        path.stem for path in LISTINGS if re.search(r"^def (train|step)\b", path.read_text(), re.M)
    }
    assert trains == {*HELD_OUT, *ALL}, "add it to HELD_OUT, or to ALL with the reason"


# --- how many starts

# Of the blocks that seed several generators: how many starts the page names, how many generators
# each of them seeds, and how many others there are.
STARTS = {
    ("assistant", "answers"): (3, 2, 0),  # chats with marks; parameters without pre-training
    ("assistant", "preferences"): (3, 1, 1),  # what all of them write
    ("positions", "real-head"): (100, 1, 0),  # orders of a sentence
    ("cross-attention", "experiment"): (5, 1, 2),  # a set of lists for each length
    ("encoders", "cls"): (3, 2, 0),  # lessons; parameters without pre-training
    ("encoders", "next"): (3, 1, 0),
    ("encoders", "toy"): (3, 1, 0),
    ("in-context", "rates"): (0, 0, 5),  # prompts of each number of examples
    ("in-context", "stuck"): (20, 1, 1),  # the prompts of the exam
    ("in-context", "task"): (5, 1, 1),
    ("language-model", "induction"): (3, 2, 0),  # parameters and letters
    ("language-model", "longer"): (0, 0, 2),  # one start, with two models; its letters
    ("language-model", "starts"): (5, 1, 0),
    ("learning", "exercise-value"): (30, 1, 0),
    ("learning", "no-scale"): (60, 1, 1),  # the sequences
    ("learning", "passes-back"): (200, 1, 0),
    ("memory", "notebook"): (21, 5, 0),  # for each number of facts
    ("memory", "returning"): (21, 5, 0),  # for each number of facts
    ("memory", "overlap"): (0, 0, 5),  # names of each size
    ("memory", "recall"): (21, 6, 0),  # for each number of values
    ("memory", "delta-recall"): (21, 5, 0),
    ("memory", "attention"): (21, 4, 1),  # for each number of features; queries and keys
    ("learning", "rates"): (30, 1, 1),
    ("learning", "starts"): (30, 1, 0),
    ("long-sequences", "gradient"): (5, 1, 1),
    ("long-sequences", "long"): (20, 2, 0),
    ("long-sequences", "task"): (5, 2, 1),  # parameters and lessons; the exam
    ("precision", "dot"): (0, 0, 6),  # one for each size
    ("precision", "train"): (5, 1, 0),
    ("precision", "train-far"): (20, 1, 0),
    ("precision", "where"): (3, 1, 0),
    ("transformer-block", "control"): (8, 1, 0),  # of 20 runs each
    ("transformer-block", "networks-alone"): (3, 1, 1),
}


def test_so_many_starts_have_so_many_seeds(numbers_json: dict[str, Any]) -> None:
    seeds = {
        (one["slug"], one["id"].removeprefix("out-")): set(one["seeds"])
        for one in numbers_json["records"]
        if one["lang"] == "en" and one["kind"] == "output" and len(set(one["seeds"])) > 1
    }
    assert {*seeds} == {*STARTS}, "a block that seeds several generators stands in STARTS"
    for (slug, block), (starts, each, others) in STARTS.items():
        found = seeds[slug, block]
        message = f"{slug}#{block}: wanted {starts} starts with {each} seeds, and {others} others"
        assert len(found) == starts * each + others, f"{message}, got {sorted(found)}"


# --- what is drawn

# Third and fourth moments of the shapes in scaling, by integration, and where they end.
SHAPES = {
    "normal": (0, 3, -math.inf, math.inf),
    "uniform": (0, 9 / 5, -math.sqrt(3), math.sqrt(3)),
    "−1 or 1": (0, 1, -1, 1),
    "Laplace": (0, 6, -math.inf, math.inf),
    "exponential − 1": (2, 9, -1, math.inf),
}


def test_a_distribution_is_drawn_under_its_name() -> None:
    given: Namespace = {"np": np, "sqrt": math.sqrt, "SEED": 5, "draw": None}
    draws = run("scaling", "distributions", given=given)["draws"]
    assert {*draws} == {*SHAPES}
    for name, (third, fourth, low, high) in SHAPES.items():
        x = draws[name](400_000)
        found = [(x**power).mean() for power in (1, 2, 3, 4)]
        np.testing.assert_allclose(found, [0, 1, third, fourth], rtol=0.1, atol=0.1, err_msg=name)
        assert low <= x.min() < x.max() <= high, name
