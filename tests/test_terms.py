"""Hover explanations: the first use of a term or symbol links to its entry, and only there."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from markdown import Markdown

from attention_docs.site.build import Build
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Piece
from attention_docs.site.read.reader import lines_as_pieces, read_page
from attention_docs.site.render.extension import SiteExtension
from attention_docs.site.render.terms import Term, entries
from attention_docs.site.render.weave import Links, Woven
from attention_docs.words import words
from tests.conftest import LANGUAGES, ROOT

WEIGHT = Term("attention weight", "a share", "entry-weight")
SCORE = Term("score", "before softmax", "entry-score")
SYMBOL = Term("d_k", "size of a key", "entry-d-k")
KEY = Term("键", "被比较的向量", "entry-key")
POSITION = Term("位置编码", "位置的向量", "entry-position")


def source(text: str, slug: str = "test") -> Page:
    pieces: list[Piece] = [piece for _, piece in lines_as_pieces(text)]
    return Page(f"docs/en/{slug}.md", text, pieces)


def rendered(text: str, *terms: Term, slug: str = "test") -> BeautifulSoup:
    """Markdown as HTML, with these terms and one symbol."""
    extension = SiteExtension()
    extension.woven = Woven(
        source(text, slug),
        [],
        words("en"),
        glossary=terms,
        notation=[SYMBOL],
        links=Links(glossary="glossary.md", notation="notation.md"),
    )
    extensions = ["tables", "md_in_html", "pymdownx.arithmatex", "pymdownx.superfences", extension]
    md = Markdown(
        extensions=extensions, extension_configs={"pymdownx.arithmatex": {"generic": True}}
    )
    return BeautifulSoup(md.convert(text), "lxml")


def linked(text: str, *terms: Term) -> list[str]:
    links = rendered(text, *terms).find_all("a", class_="term")
    return [f"{link.get_text()}→{link['href']}" for link in links]


def test_the_first_use_is_linked_and_the_second_is_not() -> None:
    text = "Scores, then a score. The Attention weights. Underscores.\n\nA score."
    assert linked(text, SCORE, WEIGHT) == [
        "Scores→glossary.md#entry-score",
        "Attention weights→glossary.md#entry-weight",
    ]
    assert rendered(text, SCORE, WEIGHT).get_text().split() == text.split()  # nothing is lost


@pytest.mark.parametrize(
    "alone",
    [
        "## A score",
        "`score`",
        "```python\nscore = 1\n```",
        "[a score](https://example.org)",
        "| a | b |\n|---|---|\n| score | c |",
        "<figure markdown='block'>\n\nA score.\n\n</figure>",
        "<details markdown='block'><summary markdown='span'>score</summary></details>",
    ],
)
def test_code_headings_links_tables_and_figures_are_left_alone(alone: str) -> None:
    text = f"{alone}\n\na *score*, a score"
    (link,) = rendered(text, SCORE).find_all("a", class_="term")
    assert link.parent.name == "em"


def test_a_symbol_is_linked_around_its_whole_formula() -> None:
    html = rendered("## In $d_k$\n\na $d_k$, $d_k$.")
    links = html.find_all("a", class_="term")
    assert [(link["href"], link["title"]) for link in links] == [
        ("notation.md#entry-d-k", "size of a key")
    ]
    assert links[0].find("math")
    assert links[0].parent.name == "p"
    assert len(html.find_all("math")) == 3


def test_a_displayed_formula_is_left_alone() -> None:
    html = rendered("$$a_\\text{score}$$\n\nscore", SCORE)
    (link,) = html.find_all("a", class_="term")
    assert link.get_text() == "score"
    assert link.parent.name == "p"
    assert html.select_one("div.formula math")


def test_a_single_han_character_needs_its_english_beside_it() -> None:
    assert linked("键盘和关键。查询和键（key）与位置编码。", KEY, POSITION) == [
        "键→glossary.md#entry-key",
        "位置编码→glossary.md#entry-position",
    ]


def test_a_single_han_character_may_be_a_whole_bold_word() -> None:
    assert linked("键盘，**键**（key）", KEY) == ["键→glossary.md#entry-key"]


def test_rows_get_the_ids_that_the_links_use() -> None:
    text = "| English | 中文 | m |\n|---|---|---|\n| dot product | 点积 | a sum |\n"
    (entry,) = entries(source(text), 0)
    assert entry == Term("dot product", "a sum", "entry-dot-product")
    rows = rendered(text, entry, slug="glossary").select("tr")
    assert [row.get("id") for row in rows] == [None, "entry-dot-product"]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("slug", ["glossary", "notation"])
def test_no_term_has_two_rows(lang: str, slug: str) -> None:
    column = 1 if (lang, slug) == ("zh", "glossary") else 0
    page_ = read_page(ROOT / "docs" / lang / f"{slug}.md", ROOT)
    ids = [entry.id for entry in entries(page_, column)]
    assert len(ids) == len(set(ids)) > 30


TABLE = "# x {{ #x }}\n\n| {0} |\n|---|---|\n| {1} |\n| {2} |\n"
EN = TABLE.format("Term | Meaning", "key | compared", "query | asks")
ZH = TABLE.format("词 | Term | 意思", "键 | key | 被比较", "查询 | query | 发问").replace(
    "|---|---|", "|---|---|---|"
)


@pytest.mark.parametrize("row", ["键 | key", "查询 | query"])
def test_a_term_that_one_language_lacks_is_a_fault(row: str, project: Any) -> None:
    project.write("docs/en/glossary.md", EN)
    project.write("docs/zh/glossary.md", ZH)
    project.stamp()
    assert not messages(project)
    lines = [line for line in project.read("docs/zh/glossary.md").split("\n") if row not in line]
    project.write("docs/zh/glossary.md", "\n".join(lines))
    missing = row.split(" | ")[1]
    assert messages(project) == [
        f"docs/zh/glossary.md:1: entries: missing ['entry-{missing}'], too many [] (as in docs/en)"
    ]


def messages(project: Any) -> list[str]:
    build = Build(project.root, print)
    build.read()
    return [str(failure) for failure in build.failures]


@pytest.mark.site
@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_chapter_explains_its_terms(lang: str, page: Any) -> None:
    for slug in ("eight-steps", "scaling"):
        terms = page(lang, slug).article.find_all("a", class_="term")
        assert len(terms) > 5
        assert all(term["title"] for term in terms)
