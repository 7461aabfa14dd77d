"""Hover explanations: the first use of a term or symbol links to its entry, and only there."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from markdown import Markdown

from attention_docs.locales import read_locale
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Piece
from attention_docs.site.read.reader import classify_lines, read_page
from attention_docs.site.render.assembled_page import AssembledPage, Links
from attention_docs.site.render.extension import SiteExtension
from attention_docs.site.render.terms import Term, read_entries
from tests.conftest import LANGUAGES, ROOT, read_project

WEIGHT = Term("attention weight", "a share", "entry-weight")
SCORE = Term("score", "before softmax", "entry-score")
SYMBOL = Term("d_k", "size of a key", "entry-d-k")
KEY = Term("键", "被比较的向量", "entry-key")
POSITION = Term("位置编码", "位置的向量", "entry-position")


DEFINES = "---\ndefines: terms\n---\n\n"


def source(text: str) -> Page:
    pieces: list[Piece] = [piece for _, piece in classify_lines(text)]
    return Page("docs/en/test.md", text, pieces)


def render_markdown(text: str, *terms: Term, front: str = "") -> BeautifulSoup:
    """Markdown as HTML, with these terms and one symbol; `front` is its front matter."""
    extension = SiteExtension()
    extension.assembled = AssembledPage(
        source(front + text),
        [],
        read_locale("en"),
        glossary=terms,
        notation=[SYMBOL],
        links=Links(glossary="glossary.md", notation="notation.md"),
    )
    extensions = ["tables", "md_in_html", "pymdownx.arithmatex", "pymdownx.superfences", extension]
    md = Markdown(
        extensions=extensions, extension_configs={"pymdownx.arithmatex": {"generic": True}}
    )
    return BeautifulSoup(md.convert(text), "lxml")


def list_links(text: str, *terms: Term) -> list[str]:
    links = render_markdown(text, *terms).find_all("a", class_="term")
    return [f"{link.get_text()}→{link['href']}" for link in links]


def test_a_link_knows_the_name_in_the_other_language() -> None:
    text = "| a | b | c | d | e |\n|---|---|---|---|---|\n| score | 分数 | – | scaling | a sum |\n"
    (entry,) = read_entries(source(text), 0)
    (link,) = render_markdown("A score.", entry).find_all("a", class_="term")
    assert (link["data-other"], link["title"]) == ("分数", "a sum")
    (symbol,) = render_markdown("$d_k$").find_all("a", class_="term")
    assert not symbol.has_attr("data-other")


def test_the_first_use_is_linked_and_the_second_is_not() -> None:
    text = "Scores, then a score. The Attention weights. Underscores.\n\nA score."
    assert list_links(text, SCORE, WEIGHT) == [
        "Scores→glossary.md#entry-score",
        "Attention weights→glossary.md#entry-weight",
    ]
    assert (
        render_markdown(text, SCORE, WEIGHT).get_text().split() == text.split()
    )  # nothing is lost


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
    (link,) = render_markdown(text, SCORE).find_all("a", class_="term")
    assert link.parent.name == "em"


def test_a_symbol_is_linked_around_its_whole_formula() -> None:
    html = render_markdown("## In $d_k$\n\na $d_k$, $d_k$.")
    links = html.find_all("a", class_="term")
    assert [(link["href"], link["title"]) for link in links] == [
        ("notation.md#entry-d-k", "size of a key")
    ]
    assert links[0].find("math")
    assert links[0].find_parent("p")
    assert len(html.find_all("math")) == 3


def test_a_displayed_formula_is_left_alone() -> None:
    html = render_markdown("$$a_\\text{score}$$\n\nscore", SCORE)
    (link,) = html.find_all("a", class_="term")
    assert link.get_text() == "score"
    assert link.parent.name == "p"
    assert html.select_one("div.formula math")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("place values grow", ["values"]),
        ("图里是百分数", ["分数"]),
        ("圖裡是百分數", ["分數"]),
        ("在框里输入一个词", ["输入"]),
        ("It shares no code", ["share"]),
    ],
)
def test_a_word_that_means_something_else_is_no_term(text: str, terms: list[str]) -> None:
    entries = [Term(one.removesuffix("s"), "m", "entry-x") for one in terms]
    assert list_links(text, *entries) == []
    assert len(list_links(f"{text}：{terms[0]}", *entries)) == 1  # the word alone, after it


def test_a_single_han_character_needs_its_english_beside_it() -> None:
    assert list_links("键盘和关键。查询和键（key）与位置编码。", KEY, POSITION) == [
        "键→glossary.md#entry-key",
        "位置编码→glossary.md#entry-position",
    ]


def test_a_single_han_character_may_be_a_whole_bold_word() -> None:
    assert list_links("键盘，**键**（key）", KEY) == ["键→glossary.md#entry-key"]


def test_rows_get_the_ids_that_the_links_use() -> None:
    text = "| English | 中文 | m |\n|---|---|---|\n| dot product | 点积 | a sum |\n"
    (entry,) = read_entries(source(text), 0)
    assert entry == Term("dot product", "a sum", "entry-dot-product")
    assert entry.other == ""  # a row of five cells names it
    rows = render_markdown(text, entry, front=DEFINES).select("tr")
    assert [row.get("id") for row in rows] == [None, "entry-dot-product"]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("slug", ["glossary", "notation"])
def test_no_term_has_two_rows(lang: str, slug: str) -> None:
    column = 1 if (lang, slug) == ("zh", "glossary") else 0
    page_ = read_page(ROOT / "docs" / lang / f"{slug}.md", ROOT)
    ids = [entry.id for entry in read_entries(page_, column)]
    assert len(ids) == len(set(ids)) > 30


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_meaning_names_chapters_by_their_numbers(lang: str) -> None:
    build = read_project()
    files = [slug for slug in build.numbered if "-" in slug]
    entries = build.entries[lang]["symbols"]
    assert not [one.term for one in entries if any(f"in {slug}" in one.meaning for slug in files)]
    (count,) = [one.meaning for one in entries if one.term == "n"]
    number = str(build.numbered["softmax"])
    assert (
        count
        == {
            "en": f"number of tokens; in chapter {number} the number of keys",
            "zh": f"词元的个数；在第 {number} 章是键的个数",
        }[lang]
    )


TABLE = f"{DEFINES}# x {{{{ #x }}}}\n\n| {{0}} |\n|---|---|\n| {{1}} |\n| {{2}} |\n"
EN = TABLE.format("Term | Meaning", "key | compared", "query | asks")
ZH = TABLE.format("词 | Term | 意思", "键 | key | 被比较", "查询 | query | 发问").replace(
    "|---|---|", "|---|---|---|"
)


@pytest.mark.parametrize(
    ("row", "missing"),
    [("键 | key", "“key” after the head of the table"), ("查询 | query", "“query” after “key”")],
)
def test_a_term_that_one_language_lacks_is_a_fault(row: str, missing: str, project: Any) -> None:
    project.write("docs/en/glossary.md", EN)
    project.write("docs/zh/glossary.md", ZH)
    project.stamp()
    assert not project.find_faults()
    lines = [line for line in project.read("docs/zh/glossary.md").split("\n") if row not in line]
    project.write("docs/zh/glossary.md", "\n".join(lines))
    assert project.find_faults() == [
        f"docs/zh/glossary.md:1: rows: missing {missing} (as in docs/en)"
    ]
    project.write("docs/zh/glossary.md", ZH + "| 值 | value | 相加 |\n")
    assert project.find_faults()[-1] == "docs/zh/glossary.md:1: rows: too many “值” (as in docs/en)"


# --- the card of a term, in a browser

PATHS = {"en": "/scaling/", "zh": "/zh/scaling/"}


def find_card(tab: Any) -> Any:
    return tab.locator(".term-card")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_finger_opens_a_card_and_stays_in_the_chapter(lang: str, visit: Any) -> None:
    tab = visit(PATHS[lang], width=390, has_touch=True)
    here = tab.url
    term = tab.locator("article a.term[data-other]").first
    name, other, meaning, href = (
        term.evaluate(f"one => one.{field}")
        for field in ("textContent", "dataset.other", "title", "href")
    )
    term.tap()
    card = find_card(tab)
    assert card.is_visible()
    assert [card.locator(one).text_content() for one in ("strong", ".other", "span >> nth=1")] == [
        *(name, other, meaning)
    ]
    box = card.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert tab.url == here
    assert card.locator("a").evaluate("one => one.href") == href
    tab.touchscreen.tap(2, 300)  # in the margin
    assert not card.is_visible()
    term.tap()
    card.locator("a").tap()
    tab.wait_for_url(href)


def test_a_mouse_opens_a_card_that_it_can_enter(visit: Any) -> None:
    tab = visit(PATHS["en"])
    term = tab.locator("article a.term").first
    term.hover()
    find_card(tab).wait_for()
    find_card(tab).hover()
    tab.wait_for_timeout(400)
    assert find_card(tab).is_visible()
    tab.mouse.move(2, 2)
    find_card(tab).wait_for(state="hidden")


def test_the_keyboard_opens_a_card_and_closes_it(visit: Any) -> None:
    """The term itself leads to the entry, so the card has no stop of its own."""
    tab = visit(PATHS["en"])
    term = tab.locator("article a.term").first
    term.focus()
    tab.keyboard.press("Shift+Tab")
    assert not find_card(tab).is_visible()
    tab.keyboard.press("Tab")
    assert find_card(tab).is_visible()
    assert term.get_attribute("aria-describedby") == find_card(tab).get_attribute("id")
    tab.keyboard.press("Escape")
    assert not find_card(tab).is_visible()
    tab.wait_for_function("!document.querySelector('article a.term[aria-describedby]')")
    tab.keyboard.press("Tab")
    assert not tab.evaluate("document.activeElement.closest('.term-card') !== null")


def test_without_scripts_a_term_is_a_link_that_says_what_it_means(visit: Any) -> None:
    tab = visit(PATHS["en"], java_script_enabled=False)
    term = tab.locator("article a.term").first
    assert term.get_attribute("title")
    term.click()
    assert "entry-" in tab.url
