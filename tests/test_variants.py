"""Exercises with other numbers in the question banks.

What is wanted is worked out here from the sentences of each question, without the code of the page.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from math import log, prod
from pathlib import Path
from typing import Any

import pytest

from attention_docs.site.publish.questions import Question
from attention_docs.site.publish.variants import vary
from attention_docs.site.read.failure import Failure
from attention_docs.site.render.judged import list_asks
from attention_docs.site.store import Store
from tests.conftest import LANGUAGES, ROOT, make_questions
from tests.conftest import read_project as read_build

ENTRIES = tomllib.loads((ROOT / "docs" / "variants.toml").read_text("utf-8"))["entry"]
CHAPTERS = sorted({one["exercise"].partition("#")[0] for one in ENTRIES})


def list_variants(lang: str, slug: str) -> dict[str, Question]:
    found = make_questions(lang, slug)
    return {name: one for name, one in found.items() if one.kind == "variant"}


def read_numbers(question: Question) -> list[float]:
    """The numbers of a question's text, in their order."""
    text = html.unescape(re.sub(r"<[^>]+>", " ", question.text))
    found = re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])", re.sub(r"\\t?frac", " ", text))
    return [float(one.rstrip(",").replace(",", "")) for one in found if one.rstrip(",")]


def softmax(logarithms: list[float]) -> list[float]:
    """Weights of scores that are logarithms of these numbers."""
    return [one / sum(logarithms) for one in logarithms]


def pack(lengths: list[float]) -> float:
    return sum(n * (n + 1) / 2 for n in lengths)


Work = Callable[[list[float]], Any]
WANTED: dict[str, Work] = {
    "softmax-exercise-weights-1": lambda x: softmax([x[0], 1, x[2]]),
    "softmax-exercise-weights-2": lambda x: softmax([x[0], 1, x[2]]),
    "softmax-exercise-weights-3": lambda x: softmax([x[0] ** 2, 1, x[2] ** 2]),
    "masking-exercise-pencil-1": lambda x: [x[0] / (x[0] + x[2]), 0, x[2] / (x[0] + x[2])],
    "masking-exercise-pencil-2": lambda x: (x[0] + x[2]) / sum(x[:3]),
    "batches-exercise-rows-1": lambda x: sum(x[:3]) - 3,
    "batches-exercise-pairs-1": lambda x: pack(x[:3]),
    "encoders-exercise-chosen-1": lambda x: x[0] * 0.15 * 0.8,
    "memory-exercise-hand-1": lambda x: [x[2] * (1 - 0.5**n) for n in (1, 2, 3)],
    "memory-exercise-size-1": lambda x: x[0] ** 2,
    "memory-exercise-size-2": lambda x: x[0] / 2,
    "language-model-exercise-pencil-1": lambda x: log(sum(x[:3]) / x[1]),
    "language-model-exercise-perplexity-1": lambda x: prod(x[1:6:2]) ** (1 / 3),
    "language-model-exercise-perplexity-2": lambda x: 2 * prod(x[1:6:2]) ** (1 / 3),
    "sequences-exercise-count-1": lambda x: 5 * x[0] * x[1],
    "sequences-exercise-count-2": lambda x: 11 * x[0] * x[1],
    "sequences-exercise-shares-1": softmax,
    "assistant-exercise-rank-1": lambda x: x[2] * (x[0] + x[1]),
    "cross-attention-exercise-pencil-2": lambda x: (3 * x[4] + x[5]) / 4,
}
"""What a question wants, by the numbers in its text; of English, where the order is as written."""


@pytest.mark.parametrize("name", WANTED)
def test_what_is_wanted_follows_from_the_text(name: str) -> None:
    slug = name.partition("-exercise-")[0]
    found = list_variants("en", slug)
    own = [one for key, one in found.items() if re.fullmatch(rf"{name}-variant-\d", key)]
    assert len(own) == 4
    for question in own:
        assert question.ask
        assert question.ask.wanted
        numbers = read_numbers(question)
        wanted = WANTED[name](numbers[:3] if WANTED[name] is softmax else numbers)
        assert question.ask.wanted.exact == pytest.approx(wanted, rel=1e-9), numbers


@pytest.mark.parametrize("slug", CHAPTERS)
def test_each_exercise_has_four_variants_with_the_same_numbers_in_all_languages(slug: str) -> None:
    english = list_variants("en", slug)
    for entry in (one for one in ENTRIES if one["exercise"].startswith(f"{slug}#")):
        name = entry["exercise"].replace("#", "-")
        own = [key for key in english if key.startswith(f"{name}-")]
        counts = Counter(key.rpartition("-variant-")[0] for key in own)
        assert counts
        assert {*counts.values()} == {4}
        assert len(counts) == len(entry.get("asks", counts))
        for question in counts:
            texts = [read_numbers(english[f"{question}-variant-{n}"]) for n in (1, 2, 3, 4)]
            assert len({*map(tuple, texts)}) == 4
    for lang in LANGUAGES:
        found = list_variants(lang, slug)
        assert found.keys() == english.keys()
        for key, one in found.items():
            assert one.ask
            assert one.ask.wanted
            other = english[key].ask
            assert other
            assert other.wanted
            assert one.ask.wanted.exact == other.wanted.exact
            assert one.ask.wanted.exact not in [trap.exact for trap in one.ask.traps]
            assert sorted(read_numbers(one)) == sorted(read_numbers(english[key]))


def test_a_mistake_comes_along_with_its_own_number() -> None:
    """The published question wants 50,000; who takes the whole matrix is told so."""
    question = list_variants("en", "assistant")["assistant-exercise-rank-1-variant-1"]
    assert question.ask
    assert [one.exact for one in question.ask.traps] == [1000 * 2000]
    assert "2,000 columns" in question.text
    assert question.text.count("4,000") == 0


def test_a_variant_with_the_published_answer_is_a_fault(tmp_path: Path) -> None:
    page = read_build().pages["en"]["assistant"]
    asks = [*list_asks(read_build().assemble(page))]
    (tmp_path / "docs").mkdir()
    path = tmp_path / "docs" / "variants.toml"
    store = Store(tmp_path / "store", print)

    def write(exercise: str, change: str) -> None:
        path.write_text(f'[[entry]]\nexercise = "assistant#{exercise}"\n{change}\n', "utf-8")

    write("exercise-rank", '4000 = ["4100"]')
    ((_, (ask,)),) = vary(page, asks, tmp_path, store)
    assert ask.wanted
    assert ask.wanted.exact == 10 * (1000 + 4100)
    for exercise, change, fault in (
        ("exercise-rank", '7 = ["8"]', "has its answer"),
        ("exercise-shift", '5 = ["6"]', "asks for no number"),
    ):
        write(exercise, change)
        with pytest.raises(Failure, match=fault):
            vary(page, asks, tmp_path, store)
