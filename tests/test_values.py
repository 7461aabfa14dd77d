"""The check of inline values sees those that a test forgets; see tests/values.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from attention_docs.site.read.page import Page
from attention_docs.site.read.reader import read_page
from tests.conftest import ROOT, read_project, report
from tests.value_reads import unread
from tests.values import find_noticed_changes, find_unasserted, in_words, list_changes, list_slugs

PAGE = """---
title: Toy
description: A toy.
---

# Toy { #toy }

## First { #first }

It is {{ a }} or {{ b:.2f }}.

## Second { #second }

It is {{ c }} of {{ site.pages }} pages.
"""


@pytest.fixture
def source(tmp_path: Path) -> Page:
    """This page, read."""
    path = tmp_path / "docs" / "en" / "toy.md"
    path.parent.mkdir(parents=True)
    path.write_text(PAGE, encoding="utf-8")
    return read_page(path, tmp_path)


class Toy:
    """What tests see of it, with its values."""

    def __init__(self, source: Page) -> None:
        self.source = source
        texts = ["0.25", "[1, 95]", "True", "47"]
        self.inline = [
            (value.line, f"value-{number}", text)
            for number, (value, text) in enumerate(zip(source.values, texts, strict=True), start=1)
        ]

    def within(self, section: str) -> list[int]:
        return {"first": [0, 1], "second": [2, 3]}[section]

    def values(self, section: str) -> list[str]:
        return [self.inline[number][2] for number in self.within(section)]


def test_a_change_is_one_in_the_last_digit_of_one_numeral() -> None:
    assert list(list_changes("[1, 0.95]")) == ["[2, 0.95]", "[1, 0.96]"]
    assert list(list_changes("0.99 ± 0.01")) == ["0.90 ± 0.01", "0.99 ± 0.02"]
    assert list(list_changes("True")) == ["not True"]


def some(toy: Any) -> None:
    quarter, both = toy.values("first")
    assert abs(float(quarter) - 1 / 4) < 0.005
    assert both.endswith(", 95]")


def every(toy: Any) -> None:
    assert toy.values("first") == ["0.25", "[1, 95]"]


@pytest.mark.parametrize(("test", "forgotten"), [(some, ["[2, 95]"]), (every, [])])
def test_what_a_test_forgets_is_left_over(test: Any, forgotten: list[str], source: Page) -> None:
    toy = Toy(source)
    found = find_noticed_changes(lambda: test(toy), [(toy, "first")])
    described = find_unasserted(toy, found)
    assert toy.inline[0][2] == "0.25", "the page is as it was"
    lines = [line for text in described for line in text.splitlines() if line.startswith("docs")]
    assert lines == [
        f"docs/en/toy.md:{line}: {old!r} became {new!r}, and no test failed"
        for line, old, new in [
            *((10, "[1, 95]", new) for new in forgotten),
            (14, "True", "not True"),
        ]
    ]


def test_what_to_write_is_said(source: Page) -> None:
    _, b, c, _ = source.values
    first, second = in_words(source, [(b, "one"), (b, "two"), (c, "three")])
    assert first.splitlines()[:3] == [
        "docs/en/toy.md:10: one",
        "docs/en/toy.md:10: two",
        "Extend tests/test_toy.py, for example:",
    ]
    read = 'assert page("en", "toy").values("first")[1] == f"{wanted:.2f}"'
    assert first.count("assert") == first.count(read) == 1
    assert 'assert page("en", "toy").values("second")[0] == f"{wanted}"' in second


def test_a_suggested_test_has_a_name_of_its_own(source: Page) -> None:
    (_, _, c, _) = source.values
    taken = "def test_second(page):\n    pass\n\n\ndef test_second_2():\n    pass\n"
    for tests, name in (("", "second"), ("def test_second(", "second_2"), (taken, "second_3")):
        (described,) = in_words(source, [(c, "one")], tests)
        assert f"    def test_{name}(page):" in described.splitlines()


ASKED = 'ASKED = {"first": {"second": 1}}\n@pytest.mark.parametrize("one", ASKED)'


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
        ('page = read("toy")\nfor one in ("first",):\n    check(page.values(one))', "c"),
        (f"{ASKED}\ndef test(page, one):\n    check(page('toy').values(one))", "c"),
        (f"SEEN = ['toy']\n{ASKED}\ndef test(page, one):\n    check(page.values(one))", "c"),
        ("SEEN = ['second']\ndef check(page, one):\n    return page.values(one)", "ab"),
        ('check(page.table("toy"))', "abc"),
    ],
)
def test_a_value_that_no_test_reads_is_seen_without_a_run(
    test: str, unasserted: str, source: Page, tmp_path: Path
) -> None:
    file = tmp_path / "tests" / "test_toy.py"
    file.parent.mkdir()
    file.write_text(test, encoding="utf-8")
    described = "\n".join(unread(source, tmp_path))
    assert re.findall(r"no test asserts {{ (\w) }}", described) == [*unasserted]
    assert ("Extend tests/test_toy.py" in described) == bool(unasserted)


def test_every_value_in_a_sentence_is_asserted() -> None:
    """As far as the source of the tests shows it; a whole run changes each of them: see above."""
    pages = read_project().pages["en"].values()
    report(text for page in pages for text in unread(page, ROOT))


def test_the_pages_that_hold_values_are_found() -> None:
    """That each has a file of tests is seen above."""
    assert {"scaling", "numbers", "index"} <= set(list_slugs(ROOT))
