"""The check of inline values sees those that a test forgets; see tests/values.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.values import changes, left_over, noticed, slugs


class Toy:
    """A page of two sections with three values."""

    def __init__(self) -> None:
        values = [SimpleNamespace(counted=False)] * 3
        self.source = SimpleNamespace(slug="toy", lang="en", values=values)
        self.inline = [(4, "value-1", "0.25"), (4, "value-2", "[1, 95]"), (9, "value-3", "True")]

    def within(self, section: str) -> list[int]:
        return {"first": [0, 1], "second": [2]}[section]

    def section_of(self, line: int) -> str:
        return "first" if line < 9 else "second"

    def values(self, section: str) -> list[str]:
        return [self.inline[number][2] for number in self.within(section)]


def test_a_change_is_one_in_the_last_digit_of_one_numeral() -> None:
    assert list(changes("[1, 0.95]")) == ["[2, 0.95]", "[1, 0.96]"]
    assert list(changes("0.99 ± 0.01")) == ["0.90 ± 0.01", "0.99 ± 0.02"]
    assert list(changes("True")) == ["not True"]


def some(toy: Any) -> None:
    quarter, both = toy.values("first")
    assert abs(float(quarter) - 1 / 4) < 0.005
    assert both.endswith(", 95]")


def every(toy: Any) -> None:
    assert toy.values("first") == ["0.25", "[1, 95]"]


@pytest.mark.parametrize(("test", "forgotten"), [(some, ["[2, 95]"]), (every, [])])
def test_what_a_test_forgets_is_left_over(test: Any, forgotten: list[str]) -> None:
    toy = Toy()
    found = noticed(lambda: test(toy), [(toy, "first")])
    told = left_over(toy, found)
    assert toy.inline[0][2] == "0.25", "the page is as it was"
    assert told == [
        f"docs/en/toy.md:{line}: {old!r} became {new!r}, and no test failed: "
        f'assert it in tests/test_toy.py, from page.values("{section}")'
        for line, old, new, section in [
            *((4, "[1, 95]", new, "first") for new in forgotten),
            (9, "True", "not True", "second"),
        ]
    ]


def test_every_page_that_holds_values_has_a_test_file() -> None:
    found = slugs(ROOT)
    assert {"scaling", "numbers", "index"} <= set(found)
    for slug in found:
        assert (ROOT / "tests" / f"test_{slug.replace('-', '_')}.py").is_file()
