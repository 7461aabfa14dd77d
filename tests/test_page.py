"""The record as tests read it: what no test of a chapter has read is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attention_docs.site.read.reader import read_page
from attention_docs.site.record import Recorder, RecordError, format_document
from tests.conftest import ROOT, read_project
from tests.page import READ, Page, find_unread, name_test_file

TEXT = """---
title: Toy
description: A toy.
---

# Toy { #toy }

## First { #first }

It is {{ a }} or {{ b:.2f }}.

## Second { #second }

It is {{ c }} of {{ site.pages }} pages.
"""
OUTPUT = {"kind": "output", "id": "out-block", "listing": "docs/listings/toy.py", "line": 3}


@pytest.fixture
def toy(tmp_path: Path) -> Page:
    """A page with an output and four values, one of them a count of the site."""
    path = tmp_path / "docs" / "en" / "toy.md"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT, encoding="utf-8")
    source = read_page(path, tmp_path)
    values = [
        {"kind": "inline", "id": f"value-{n}", "source": "docs/en/toy.md", "line": value.line}
        | {"text": text, "expression": value.expression}
        | {"section": source.find_section(value.line)}
        for n, (value, text) in enumerate(zip(source.values, "1234", strict=True), start=1)
    ]
    shown = {"text": "", "table": [["", "x"], ["row", "5"]], "figure": "x: 5"}
    shown |= {"labels": [], "frames": []}
    return Page(source, [OUTPUT | shown, *values], {})


@pytest.mark.parametrize(
    ("read", "unread"),
    [
        (lambda page: page.values("first") == ["1", "2"], "block value-3"),
        (lambda page: page.values("first")[1], "block value-1 value-3"),
        (lambda page: page.values("first")[-1:], "block value-1 value-3"),
        (lambda page: [*page.values("toy")], "block"),
        (lambda page: len(page.values("toy")), "block value-1 value-2 value-3"),
        (lambda page: page.grid("block"), "value-1 value-2 value-3"),
        (lambda page: page.figures["out-block"], "value-1 value-2 value-3"),
    ],
)
def test_what_is_not_read_is_named(read: Callable[[Page], Any], unread: str, toy: Page) -> None:
    READ.clear()
    read(toy)
    messages = "\n".join(find_unread(toy, READ))
    READ.clear()
    names = {'.table("block")': "block", '.values("first")[0]': "value-1"}
    names |= {'.values("first")[1]': "value-2", '.values("second")[0]': "value-3"}
    assert [name for call, name in names.items() if call in messages] == unread.split()
    assert len(messages.splitlines()) == len(unread.split())


def test_an_excuse_that_is_not_needed_is_named(toy: Page) -> None:
    others = ["docs/en/toy.md:10", "docs/en/toy.md:10", "docs/en/toy.md:14"]
    for read, named in (([], []), ([("toy", "out-block")], ["tests/unread.toml"])):
        messages = find_unread(toy, read, ["block"])
        assert [text.partition(": ")[0] for text in messages] == [*named, *others]


def test_what_to_write_is_said(toy: Page) -> None:
    output, first, *_ = find_unread(toy, [])
    assert output == (
        'docs/listings/toy.py:3: no test reads what this block gave: chapter.table("block")'
    )
    assert first == (
        "docs/en/toy.md:10: no test reads {{ a }} = 1: "
        'chapter.values("first")[0]'
    )  # fmt: skip


def test_a_page_that_computes_has_a_file_of_tests() -> None:
    pages = [page for page in read_project().pages["en"].values() if page.blocks]
    files = {page.slug: ROOT / name_test_file(page.slug) for page in pages}
    assert len(files) > 20
    assert not [slug for slug, file in files.items() if not file.is_file()]


def test_a_record_is_of_the_pages_that_were_asked_for(built: Any) -> None:
    recorder = Recorder(built.root)
    document = recorder.make_document(["weights"])
    assert {record["slug"] for record in document["records"]} == {"weights"}
    assert [*recorder.build.pages["en"]] == ["weights"]


def test_a_record_of_all_pages_is_the_published_one(built: Any) -> None:
    assert format_document(Recorder(built.root).make_document()) == built.read("site/numbers.json")


def test_a_page_with_a_fault_has_no_record(project: Any) -> None:
    project.edit("docs/listings/weights.py", "weights = softmax(scores)", "weights = 1 / 0")
    with pytest.raises(RecordError, match="weights"):
        Recorder(project.root).make_document(["weights"])
    with pytest.raises(RecordError, match="there is no page wieghts in en"):
        Recorder(project.root).make_records("en", "wieghts")
