"""Hover explanations: the first use of a term or symbol links to its entry, and only there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from attention_docs.site.terms import Entry, link, name_rows, read
from tests.conftest import LANGUAGES, ROOT

WEIGHT = Entry("attention weight", "a share", "entry-weight")
SCORE = Entry("score", "before softmax", "entry-score")
SYMBOL = Entry("d_k", "size of a key", "entry-d-k")
KEY = Entry("键", "被比较的向量", "entry-key")
POSITION = Entry("位置编码", "位置的向量", "entry-position")


def linked(content: str, *terms: Entry, symbols: tuple[Entry, ...] = (SYMBOL,)) -> list[str]:
    html = link(content, list(terms), list(symbols), lambda page: f"../{page}/")
    soup = BeautifulSoup(html, "lxml")
    text = BeautifulSoup(content, "lxml").get_text()
    assert soup.get_text() == text  # nothing is lost
    return [f"{a.get_text()}→{a['href']}" for a in soup.find_all("a", class_="term")]


def test_the_first_use_is_linked_and_the_second_is_not() -> None:
    content = "<p>Scores, then a score. The Attention weights. Underscores.</p>"
    assert linked(content, SCORE, WEIGHT) == [
        "Scores→../glossary/#entry-score",
        "Attention weights→../glossary/#entry-weight",
    ]


@pytest.mark.parametrize("tag", ["h2", "code", "pre", "a", "table", "figure", "summary"])
def test_code_headings_links_tables_and_figures_are_left_alone(tag: str) -> None:
    assert linked(f"<{tag}>score</{tag}><p>a <em>score</em><br>score</p>", SCORE) == [
        "score→../glossary/#entry-score"
    ]


def test_a_symbol_is_linked_around_its_whole_formula() -> None:
    formula = r'<span class="arithmatex">\(d_k\)</span>'
    html = link(f"<h2>{formula}</h2><p>a {formula}, {formula}.</p>", [], [SYMBOL], str)
    first = f'<a class="term" href="notation#entry-d-k" title="size of a key">{formula}</a>'
    assert html == f"<h2>{formula}</h2><p>a {first}, {formula}.</p>"


def test_a_displayed_formula_is_left_alone() -> None:
    formula = r'<div class="arithmatex">\[a_\text{score}\]</div>'
    assert linked(f"{formula}<p>score</p>", SCORE) == ["score→../glossary/#entry-score"]
    assert formula in link(f"{formula}<p>score</p>", [SCORE], [], str)


def test_a_single_han_character_needs_its_english_beside_it() -> None:
    content = "<p>键盘和关键。查询和键（key）与位置编码。</p>"
    assert linked(content, KEY, POSITION) == [
        "键→../glossary/#entry-key",
        "位置编码→../glossary/#entry-position",
    ]


def test_a_single_han_character_may_be_a_whole_bold_word() -> None:
    assert linked("<p>键盘，<strong>键</strong>（key）</p>", KEY) == ["键→../glossary/#entry-key"]


def test_rows_get_the_ids_that_the_links_use(tmp_path: Path) -> None:
    page = tmp_path / "glossary.md"
    page.write_text("| English | 中文 | m |\n|---|---|---|\n| dot product | 点积 | a sum |\n")
    entries = read(page, 0)
    assert entries == [Entry("dot product", "a sum", "entry-dot-product")]
    rows = name_rows("<tr>\n<th>x</th></tr><tr>\n<td>dot product</td></tr>", entries)
    assert rows.count('<tr id="entry-dot-product">') == 1


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("slug", ["glossary", "notation"])
def test_no_term_has_two_rows(lang: str, slug: str) -> None:
    column = 1 if (lang, slug) == ("zh", "glossary") else 0
    ids = [entry.id for entry in read(ROOT / "docs" / lang / f"{slug}.md", column)]
    assert len(ids) == len(set(ids)) > 30


@pytest.mark.site
@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_chapter_explains_its_terms(lang: str, page: Any) -> None:
    for slug in ("eight-steps", "scaling"):
        terms = page(lang, slug).article.find_all("a", class_="term")
        assert len(terms) > 5
        assert all(term["title"] for term in terms)
