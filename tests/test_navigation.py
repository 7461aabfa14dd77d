"""The navigation alone decides numbers, cards, "Builds on" and "Next"; a page has one title."""

from __future__ import annotations

from pathlib import Path

import lxml.html
import pytest
import yaml
from markdown import Markdown

from attention_docs.locales import read_locale
from attention_docs.site.build import Build
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.navigation import find_faults, read_navigation
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Request
from attention_docs.site.read.reader import read_page
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.extension import SiteExtension
from attention_docs.site.render.machine import draw_machine
from attention_docs.site.render.navigation import describe_chapter
from attention_docs.site.render.requests import expand_request
from tests.conftest import (
    BUILT,
    ROOT,
    SETTINGS,
    SLUGS,
    each_language,
    find_page_folder,
    parse_html,
    read_heading,
    read_project,
)
from tests.fixture_project import FixtureProject

NAV = [
    "index.md",
    {"Part 1: Begin": ["one.md", "two.md"]},
    {"Part 2: Go on": ["three.md", "plain.md"]},
    {"Look up": ["table.md"]},
]
LISTED = frozenset({"index", "one", "two", "three"})
NAVIGATION = read_navigation(NAV, LISTED)
TITLES = {"one": "First, one", "two": "Second", "three": "Third", "table": "A table"}
PARTS = {"Part 1: Begin": "第一部分：开始"}


@pytest.fixture
def make_page(tmp_path: Path):
    """A page from its front matter and its body."""

    def make(slug: str, front: str = "", body: str = "", lang: str = "en") -> Page:
        path = tmp_path / "docs" / lang / f"{slug}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        title = TITLES.get(slug, slug)
        text = f"---\nquestion: Which {slug}?\n{front}---\n\n# {title} {{ #{slug} }}\n\n{body}\n"
        path.write_text(text, encoding="utf-8")
        return read_page(path, tmp_path)

    return make


@pytest.fixture
def chapters(make_page) -> Chapters:
    pages = {slug: make_page(slug) for slug in TITLES}
    pages["two"] = make_page("two", "builds_on: [one]\n")
    return Chapters(
        "zh",
        read_locale("zh"),
        ROOT / "docs",
        pages,
        NAVIGATION.chapters,
        lambda page: [],
        NAVIGATION,
        pages,
        PARTS,
        lambda: {"one": 14, "two": 5, "three": 25},
    )


def test_chapters_are_counted_through_all_parts() -> None:
    assert NAVIGATION.chapters == {"one": 1, "two": 2, "three": 3}
    assert list(NAVIGATION.ids) == ["part-1", "part-2", "look-up"]
    assert NAVIGATION.path == ("one", "two")


def test_next_leads_on_through_the_parts_with_chapters() -> None:
    slugs = ("index", "one", "two", "three", "plain", "table")
    assert [NAVIGATION.find_next(slug) for slug in slugs] == [
        *(None, "two", "three", "plain", None, None)
    ]


def test_a_part_becomes_a_heading_and_a_card_for_each_page(chapters: Chapters) -> None:
    assert expand_request(Request(1, "cards", "part-1"), chapters) == (
        "### 第一部分：开始 { #part-1 }\n\n"
        "1. [First, one](one.md){ .card } Which one? *14 分钟*{ .minutes }\n"
        "2. [Second](two.md){ .card } Which two? *5 分钟*{ .minutes }"
    )
    assert expand_request(Request(1, "cards", "look-up"), chapters) == (
        "### Look up { #look-up }\n\n- [A table](table.md){ .card } Which table?"
    )
    with pytest.raises(Failure, match='wanted one of part-1, part-2, look-up, got "part-3"'):
        expand_request(Request(1, "cards", "part-3"), chapters)


def test_next_and_builds_on_follow_the_order(chapters: Chapters) -> None:
    assert expand_request(Request(1, "next", ""), chapters, "two") == (
        "- [接着读：Third](three.md){ .card .next } Which three?"
    )
    assert expand_request(Request(1, "next", ""), chapters, "plain") == ""
    builds_on = expand_request(Request(1, "builds-on", ""), chapters, "two")
    assert builds_on == "**先读：**[1. First, one](one.md)"
    with pytest.raises(Failure, match="wanted builds_on: "):
        expand_request(Request(1, "builds-on", ""), chapters, "one")


def test_the_line_above_a_title(chapters: Chapters) -> None:
    assert describe_chapter("two", 5, chapters) == "第一部分 · 第 2 章 · 5 分钟"
    assert describe_chapter("table", 5, chapters) == ""


def test_numbers_and_titles_stand_in_sentences(make_page) -> None:
    page = make_page("one", body='Chapter {{ site.chapter["two"] }} is [](two.md), [](two.md#x).')
    assembled = AssembledPage(
        page, [], read_locale("en"), numbered={"two": 7}, titles=TITLES, opening="Part 9 · <b>"
    )
    assert "Chapter 7 is [Second](two.md), [Second](two.md#x)." in assembled.render_markdown()
    assert not page.failures
    assert not assembled.failures
    extension = SiteExtension()
    extension.assembled = assembled
    html = Markdown(extensions=["attr_list", extension]).convert(assembled.render_markdown())
    first, title = lxml.html.fragment_fromstring(html, "article")[:2]
    assert (first.get("class"), first.text_content()) == ("opening", "Part 9 · <b>")
    assert title.tag == "h1"


def test_a_strip_shows_the_whole_machine_and_marks_the_parts_of_a_chapter(make_page) -> None:
    """Frame and order are those of the drawing in the first chapter, typed here."""
    page = make_page("two", "part_of_machine: [vectors, attention]\n")
    assert page.part_of_machine == ["vectors", "attention"]
    strip = draw_machine(page.part_of_machine, read_locale("en"))
    assert [one.tag for one in strip] == ["i", "i", "i", "b", "i", "i"]
    told = "text, tokens, vectors, attention, feed-forward, logits, next token"
    assert ", ".join(one.text or "" for one in strip.iter("i")) == told
    assert [one.text for one in strip.iter("i") if one.get("class")] == ["vectors", "attention"]
    assert strip.get("role") == "img"
    name = f"The whole machine: {told}. This chapter: vectors, attention."
    assert strip.get("aria-label") == name
    link = draw_machine(page.part_of_machine, read_locale("en"), "../next-word/")
    assert (link.tag, link.get("href")) == ("a", "../next-word/#machine-attention")
    assert (link.get("aria-label"), link.get("role")) == (name, None)


@each_language
def test_every_chapter_of_the_path_has_a_strip_of_a_kilobyte_at_most(soup, lang: str) -> None:
    for slug in read_project().settings.navigation.path:
        (strip,) = soup(lang, slug).article.select(".you-are-here")
        assert strip.select(".here"), slug
        assert len(str(strip).encode()) <= 1024
        assert strip.parent.find_next_sibling("p")["class"] == ["opening"]
    assert not soup(lang, "learning").article.select(".you-are-here")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{{ site.chapter["none"] }}', "none is not a chapter of the navigation"),
        ("[](none.md)", "there is no page none"),
    ],
)
def test_a_chapter_or_a_page_that_is_not_there_is_a_fault(make_page, body, message) -> None:
    assembled = AssembledPage(make_page("one", body=body), [], read_locale("en"), titles=TITLES)
    assembled.render_markdown()
    assert [str(one) for one in assembled.failures] == [f"docs/en/one.md:7: {message}"]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"one": "builds_on: [two]\n"}, "docs/en/one.md:3: builds_on: two is chapter 2 and this"),
        ({"two": "builds_on: [table]\n"}, "docs/en/two.md:3: builds_on: table is not a chapter"),
        ({"table": "builds_on: [two]\n"}, "docs/en/table.md:3: builds_on: table is not a chapter"),
        (
            {"two": "part_of_machine: [wheel]\n"},
            "docs/en/two.md:3: part_of_machine: wanted some of",
        ),
    ],
)
def test_front_matter_names_earlier_chapters_and_known_parts(make_page, changes, fault) -> None:
    pages = {slug: make_page(slug, changes.get(slug, "")) for slug in TITLES}
    (found,) = find_faults(NAVIGATION, pages, [])
    assert str(found).startswith(fault)


def test_a_page_without_question_and_a_translation_with_an_order(make_page) -> None:
    pages = {slug: make_page(slug) for slug in TITLES}
    bare = Page("docs/zh/one.md", "# One { #one }\n")
    ordered = make_page("two", "builds_on: [one]\n", lang="zh")
    found = [str(one) for one in find_faults(NAVIGATION, pages, [{"one": bare, "two": ordered}])]
    assert found == [
        "docs/zh/one.md:1: the front matter has no question: the card of the page asks it",
        "docs/zh/two.md:3: builds_on stands in the original alone: delete it here",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("---\ntitle: T\n---\n\n# T { #t }\n", ":2: the title of a page is its heading"),
        ("## T { #t }\n", ":1: wanted a heading of the first level"),
        ("---\n- a\n---\n\n# T { #t }\n", ":1: the front matter must be YAML"),
    ],
)
def test_the_title_is_the_heading(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "t.md"
    path.write_text(text, encoding="utf-8")
    (failure,) = read_page(path, tmp_path).failures
    assert fault in str(failure)


# --- of this project


def test_the_path_is_the_first_part() -> None:
    """From a beginning that the reader chooses to a model that others trained."""
    navigation = SETTINGS.navigation
    assert navigation.path[0] == "next-word"
    assert navigation.path[-1] == "assistant"
    assert len(navigation.path) == 13
    on_path = {*navigation.path}
    for slug in navigation.path:
        page = read_project().pages["en"][slug]
        assert {*page.builds_on} <= on_path


def test_nothing_is_built_on_what_comes_later(project: FixtureProject) -> None:
    """The build says so, with the line of the front matter."""
    project.edit("docs/en/weights.md", "question:", "builds_on: [weights]\nquestion:")
    (fault,) = (one for one in project.find_faults() if "builds_on" in one)
    assert fault == (
        "docs/en/weights.md:2: builds_on: weights is chapter 1 and this one is 1: "
        "a chapter builds on earlier ones"
    )


@pytest.mark.parametrize("lang", BUILT)
def test_every_page_has_one_title(site: Path, lang: str) -> None:
    """The heading, the browser's title, the navigation, the card: the same words."""
    build = Build(ROOT, lambda warning: None)
    numbers = build.numbered
    trees = {slug: parse_html(find_page_folder(site, lang, slug) / "index.html") for slug in SLUGS}
    titles = {slug: read_heading(tree) for slug, tree in trees.items()}
    listed = [slug for slug in build.settings.order if slug != "index"]
    for slug, tree in trees.items():
        name = tree.find(".//title").text.strip().replace("√dₖ", "dk")  # a formula in the heading
        assert name == titles[slug] or name.startswith(f"{titles[slug]} - "), slug
    for slug in ("index", "scaling", "results"):
        links = trees[slug].xpath(
            '//nav[contains(@class, "md-nav--primary")]//a[contains(@class, "md-nav__link")]'
        )
        texts = [" ".join(one.text_content().split()) for one in links]
        for one in listed:
            number = f"{numbers[one]}. " if one in numbers else ""
            assert f"{number}{titles[one]}" in texts, (slug, one)
        linked = trees["index"].xpath('//a[@class="card-title"]')
        cards = {one.text_content(): one.get("href") for one in linked}
        assert all(titles[one] in cards for one in listed)


@each_language
def test_next_leads_from_chapter_to_chapter(site: Path, lang: str) -> None:
    """The order is read from mkdocs.yml here, without the code that makes the cards."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = yaml.safe_load(text[text.index("\nnav:") :].split("\n\n")[0])["nav"]
    names = [name for part in nav[1:4] for names in part.values() for name in names]
    order = [name.removesuffix(".md") for name in names]
    ends = [slug for slug in order if slug.startswith("after-")]
    assert ends == [next(iter(part.values()))[-1].removesuffix(".md") for part in nav[1:4]]
    number = 0
    for slug, following in zip(order, [*order[1:], None], strict=True):
        tree = parse_html(find_page_folder(site, lang, slug) / "index.html")
        openings = [one.text_content().split(" · ")[1] for one in tree.find_class("opening")]
        number += slug not in ends
        assert openings in ([], [f"Chapter {number}"], [f"第 {number} 章"])
        assert (openings == []) == (slug in ends)
        cards = tree.xpath('//li[contains(@class, "next")]//a/@href')
        assert cards == ([f"../{following}/"] if following else [])


@pytest.mark.site
@pytest.mark.parametrize(
    ("lang", "home", "title", "chapter"),
    [
        ("en", "Home", "I saw a saw: which one cuts?", ("5 · Softmax", ": from scores to weights")),
        (
            "zh",
            "首页",
            "注意力机制：“他画的画”，哪个挂在墙上？",
            ("5 · softmax", "：把分数变成权重"),
        ),
        (
            "zh-hant",
            "首頁",
            "注意力機制：「他畫的畫」，哪個掛在牆上？",
            ("5 · softmax", "：把分數變成權重"),
        ),
    ],
)
def test_the_navigation_begins_at_home_and_the_bar_can_be_short(
    site: Path, lang: str, home: str, title: str, chapter: tuple[str, str]
) -> None:
    first, page = (
        parse_html(find_page_folder(site, lang, slug) / "index.html")
        for slug in ("index", "softmax")
    )
    assert read_heading(first) == title
    for tree in (first, page):
        entries = tree.find_class("md-nav--primary")[0].find_class("md-nav__link")
        names = [" ".join(one.text_content().split()) for one in entries if one.tag == "a"]
        assert names[0] == home
    _, topic = page.find_class("md-header__topic")
    (rest,) = topic.find_class("rest")
    whole = " ".join(topic.text_content().split())
    assert (whole.removesuffix(rest.text_content()), rest.text_content()) == chapter
