"""The check of inline values sees those that a test forgets; see tests/values.py."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attention_docs.site.read.reader import read_page
from tests.conftest import ROOT, written
from tests.value_reads import unread
from tests.values import changes, left_over, noticed, slugs


class Toy:
    """A page of two sections with three values."""

    def __init__(self) -> None:
        values = [SimpleNamespace(counted=False)] * 3
        self.source = SimpleNamespace(
            slug="toy", lang="en", values=values, section=lambda n: "first" if n < 9 else "second"
        )
        self.inline = [(4, "value-1", "0.25"), (4, "value-2", "[1, 95]"), (9, "value-3", "True")]

    def within(self, section: str) -> list[int]:
        return {"first": [0, 1], "second": [2]}[section]

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
    lines = [line for text in told for line in text.splitlines() if line.startswith("docs")]
    assert lines == [
        f"docs/en/toy.md:{line}: {old!r} became {new!r}, and no test failed"
        for line, old, new in [
            *((4, "[1, 95]", new) for new in forgotten),
            (9, "True", "not True"),
        ]
    ]
    assert 'assert page("en", "toy").values("second") == ' in told[-1]


PAGE = """---
title: Toy
description: A toy.
---

# Toy { #toy }

## First { #first }

It is {{ a }} or {{ b }}.

## Second { #second }

It is {{ c }} of {{ site.pages }} pages.
"""


@pytest.mark.parametrize(
    ("test", "unasserted"),
    [
        ('assert page.values("first") == [x, y]', "c"),
        ('assert page.values("second") == [x]', "ab"),
        ('assert [x] == page.values("toy")', "bc"),
        ('assert page.values("toy")[1:] == wanted', "a"),
        ('assert page.values("first")[-1] == wanted', "ac"),
        ('x, y = page.values("toy")', "c"),
        ('x, *others = page.values("toy")', ""),
        ('for one in ("first", "second"):\n    check(page.values(one))', ""),
        ('check(page.table("toy"))', "abc"),
    ],
)
def test_a_value_that_no_test_reads_is_seen_without_a_run(
    test: str, unasserted: str, tmp_path: Path
) -> None:
    for name, text in (("docs/en/toy.md", PAGE), ("tests/test_toy.py", test)):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    page = read_page(tmp_path / "docs" / "en" / "toy.md", tmp_path)
    told = "\n".join(unread(page, tmp_path))
    assert re.findall(r"no test asserts {{ (\w) }}", told) == [*unasserted]
    assert ("Extend tests/test_toy.py:" in told) == bool(unasserted)


def test_every_value_in_a_sentence_is_asserted() -> None:
    """As far as the source of the tests shows it; a whole run changes each of them: see above."""
    pages = written().pages["en"].values()
    if told := [text for page in pages for text in unread(page, ROOT)]:
        pytest.fail("\n".join(told), pytrace=False)


def test_every_page_that_holds_values_has_a_test_file() -> None:
    found = slugs(ROOT)
    assert {"scaling", "numbers", "index"} <= set(found)
    for slug in found:
        assert (ROOT / "tests" / f"test_{slug.replace('-', '_')}.py").is_file()
