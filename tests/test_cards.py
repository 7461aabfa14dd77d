"""Cards: a list that becomes links with a number, a title and a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import lxml.html
import pytest
from lxml.html import HtmlElement
from markdown import Markdown

from attention_docs.locales import read_locale
from attention_docs.site.read.reader import read_page
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.cards import GLYPHS
from attention_docs.site.render.extension import SiteExtension
from tests.conftest import SETTINGS

CHAPTERS = [*SETTINGS.navigation.chapters]


@pytest.fixture
def shown(tmp_path: Path) -> Callable[..., HtmlElement]:
    """A page's text as HTML."""

    def show(text: str, lang: str = "en", extensions: Sequence[str] = ()) -> HtmlElement:
        path = tmp_path / "docs" / lang / "page.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"# Page {{ #page }}\n\n{text}\n", encoding="utf-8")
        extension = SiteExtension()
        numbers = {"masking": 6, "positions": 8, "softmax": 3}
        page = read_page(path, tmp_path)
        extension.assembled = AssembledPage(page, [], read_locale(lang), numbered=numbers)
        md = Markdown(extensions=["attr_list", *extensions, extension])
        return lxml.html.fragment_fromstring(
            md.convert(extension.assembled.render_markdown()), "article"
        )

    return show


TWO = """1. [Masking](masking.md){ .card } Who may look at *whom*?
2. [Positions](positions.md){ .card } And $n$?

Between.

1. [Softmax](softmax.md){ .card } What does it do? *20 minutes*{ .minutes }

And.

- [API](api.md){ .card } Which functions?

And.

1. [Plain](softmax.md) is no card."""


def test_a_list_becomes_cards(shown: Callable[..., HtmlElement]) -> None:
    article = shown(TWO)
    kinds = [one.get("class") for one in article.iter("ol", "ul")]
    assert kinds == ["cards chapters", "cards chapters", "cards", None]
    cards = article.xpath("//li[contains(@class, 'card')]")
    described = [
        [part.text_content() for part in card if part.get("class") != "glyph"] for card in cards
    ]
    assert described[0] == ["6", "Masking", "Who may look at whom?"]  # the numbers of the chapters
    assert described[1][:2] == ["8", "Positions"]
    assert described[2] == ["3", "Softmax", "What does it do? 20 minutes"]
    assert [one.text for one in cards[2].find_class("minutes")] == ["20 minutes"]
    assert described[3] == ["1", "API", "Which functions?"]  # no chapter: its place in the list
    assert [len(card.xpath(".//svg")) for card in cards] == [1, 1, 1, 0]


def test_a_card_explains_no_terms(shown: Callable[..., HtmlElement]) -> None:
    article = shown("1. [掩码](masking.md){ .card } 谁可以看谁？", "zh")
    assert article.xpath("//a/@class") == ["card-title"]


def test_every_glyph_belongs_to_a_chapter() -> None:
    """That a chapter has one: tests/test_chapters.py."""
    assert {path.stem for path in GLYPHS.glob("*.svg")} == {*CHAPTERS}


def test_rows_of_a_wide_table_know_their_columns(shown: Callable[..., HtmlElement]) -> None:
    """On a phone each is a card; a narrow table stays a table."""
    wide = "| a | b | c | d | e |\n|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 |\n"
    narrow = "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n"
    article = shown(f"{wide}\nAnd.\n\n{narrow}", extensions=["tables"])
    (cards,) = article.find_class("table-cards")
    columns = [cell.get("data-column") for cell in cards.iter("td")]
    assert columns == [None, "b", "c", "d", "e"]
    assert len(article.find_class("md-typeset__table")) == 2
