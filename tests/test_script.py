"""A language converted into a second script: Traditional Chinese in the words of Taiwan.

What is right is written here by hand, not by OpenCC; that a row stays a row is read off the English
pages, which no table converts.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from attention_docs.locales import read_locale
from attention_docs.site.build import Build
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.script_converter import (
    AMBIGUOUS,
    ScriptConverter,
    load_opencc,
    read_converter,
)
from attention_docs.site.read.syntax import CODE_SPAN
from tests.conftest import BUILT, ROOT, SLUGS, find_page_folder, read_project
from tests.fixture_project import WEIGHTS, FixtureProject, count_blocks
from tests.test_search import search

HANT = read_converter(ROOT, "zh-hant")


# --- the table, on sentences ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("simplified", "traditional"),
    [
        ("循环神经网络的参数", "循環神經網路的參數"),
        ("掩码把分数换成 −∞", "遮罩把分數換成 −∞"),
        ("先归一化，再求方差", "先正規化，再求變異數"),
        ("可以并行计算", "可以平行計算"),
        ("随机变量的期望", "隨機變數的期望值"),
        ("前馈网络和层归一化", "前饋網路和層正規化"),
        ("“词元”（token）不是‘字’", "「詞元」（token）不是『字』"),
        ("说明了什么", "說明了什麼"),
        ("词元之后的后半句里", "詞元之後的後半句裡"),
        ("互不相干，干脆复制", "互不相干，乾脆複製"),
        ("舍入误差的捷径", "捨入誤差的捷徑"),
        ("一目了然", "一目瞭然"),
        ("The mask is 3 × 4.", "The mask is 3 × 4."),
    ],
)
def test_words_of_the_field(simplified: str, traditional: str) -> None:
    assert HANT(simplified) == traditional
    assert not HANT.find_unconverted(simplified)


@pytest.mark.parametrize(
    ("simplified", "english", "traditional"),
    [
        ("每一行的和为 1", "each row sums to 1", "每一列的和為 1"),
        ("每一列的和为 1", "each column sums to 1", "每一行的和為 1"),
        ("第 3 行第 2 列", "row 3, column 2", "第 3 列第 2 行"),
        ("第 $i$ 行第 $j$ 列", "row $i$, column $j$", "第 $i$ 列第 $j$ 行"),
        ("行向量乘列向量", "a row vector times a column vector", "列向量乘行向量"),
        ("按行还是按列", "by rows or by columns", "按列還是按行"),
        ("全屏蔽行", "fully masked row", "全遮蔽列"),
        ("最后一行是 0", "the last row is 0", "最後一列是 0"),
        ("最后一行是 0", "the last line is 0", "最後一行是 0"),
        ("第一行是每一行的和", "the first line gives the sum of each row", "第一行是每一列的和"),
        ("逐行推导", "", "逐行推導"),
        ("序列的排列在运行时列出", "", "序列的排列在執行時列出"),
        ("3 列的矩阵，`x` 列出 2 行", "3 columns, 2 rows", "3 行的矩陣，`x` 列出 2 列"),
    ],
)
def test_rows_columns_and_lines(simplified: str, english: str, traditional: str) -> None:
    assert HANT.convert_line(simplified, english) == (traditional, [])


def test_code_values_and_addresses_stay() -> None:
    line = "值 {{ 权重[0]:.2f }} 见[掩码](masking.md#掩码)，`掩码 = 1`，https://a.org/掩码"
    assert HANT.convert_line(line, "")[0] == (
        "值 {{ 权重[0]:.2f }} 見[遮罩](masking.md#掩码)，`掩码 = 1`，https://a.org/掩码"
    )


@pytest.mark.parametrize(
    ("text", "english", "message"),
    [
        (
            "最后一行是 0",
            "",
            "“一行” in “最后一行是 0”: a row or a line of text? The English has 0",
        ),
        ("最后一行", "a row on the last line", "1 rows and 1 lines of 1; say so in docs/zh-hant"),
        (
            "我行我素",
            "",
            "“行” in “我行我素”: a row, a column or neither? Say so under [axes], [rows]",
        ),
        (
            "干燥",
            "",
            "“干” in “干燥”: 乾 or another? Say which under [words], or under [characters]",
        ),
        ("打印机和U盘", "", "in Taiwan"),
    ],
)
def test_a_word_without_an_answer_is_reported(text: str, english: str, message: str) -> None:
    (report, *_) = HANT.convert_line(text, english)[1]
    assert message in report
    assert "docs/zh-hant.toml" in report


def test_every_character_with_several_forms_is_known() -> None:
    """Of OpenCC's own dictionary; a later version may know more."""
    assert {"干", "发", "后", "复", "系", "面", "里", "台", "制", "了"} <= AMBIGUOUS
    assert len(AMBIGUOUS) == 276
    assert all(len(char) == 1 for char in HANT.characters)
    assert HANT.characters.keys() <= AMBIGUOUS


# --- the pages of the site, before they are made into HTML ----------------------------------------


@pytest.fixture(scope="module")
def pages() -> dict[str, dict[str, Page]]:
    assert not read_project().failures, "\n".join(map(str, read_project().failures))
    return read_project().pages


def list_texts(value: Any) -> Iterator[str]:
    """The texts of a table of TOML."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from list_texts(one)


def convert_everything(converter: ScriptConverter) -> None:
    """All that docs/zh, its listings' words and the locale say, line by line."""
    tables = [ROOT / "attention_docs/locales/zh.toml", *(ROOT / "docs/listings").glob("*.zh.toml")]
    tables += [one for one in (ROOT / "docs").glob("*.toml") if one.stem != "zh-hant"]
    for path in tables:
        for text in list_texts(tomllib.loads(path.read_text(encoding="utf-8"))):
            converter(text)
    for path in (ROOT / "docs" / "zh").rglob("*.md"):
        for line in path.read_text(encoding="utf-8").splitlines():
            converter.convert_line(line, "row")


def test_every_entry_of_the_table_is_used(pages: dict[str, dict[str, Page]]) -> None:
    """Cells of the glossary and front matter are converted when the project is read: `pages`."""
    assert pages["zh-hant"]
    convert_everything(HANT)
    assert not HANT.find_unmatched(), "\n".join(HANT.find_unmatched())


def test_an_entry_that_is_in_no_text_is_named() -> None:
    converter = replace(
        HANT, answers={**HANT.answers, "words": {"长颈鹿": "長頸鹿"}}, matched=set()
    )
    assert "docs/zh-hant.toml: [words] “长颈鹿” is in no text: remove it" in (
        converter.find_unmatched()
    )
    converter("一头长颈鹿")
    assert not [one for one in converter.find_unmatched() if "长颈鹿" in one]


ROW = {"列": re.compile(r"\brows?\b", re.I), "行": re.compile(r"\b(?:columns?|lines?)\b", re.I)}
# Words with 列 that are no rows, and with 行 that are neither columns nor lines.
NEITHER = re.compile(
    "序列|數列|排列|並列|陣列|列出|列在|列成表|列一張|所列|[執平進可]行|行不行|[不就才也都自放通]行|命令列"
    "|行程|行為|行號|Part|行[的之]事"
)


def list_axis_words(text: str) -> Iterator[tuple[str, str]]:
    """Every word for a row, a column or a line in a Traditional text, with what is around it."""
    text = NEITHER.sub(lambda word: "〇" * len(word[0]), CODE_SPAN.sub("", text))
    for sign in re.finditer("[行列]", text):
        yield sign[0], text[max(0, sign.start() - 8) : sign.end() + 8]


# Lines of an output that the English calls otherwise, beside rows that it calls rows; and columns.
READ = ("每行先是一個輸入給自", "最後一行是有幾個輸入", "每種詞性一行")
READ += ("列依次是字母", "四行依次是", "列依次是可學習", "最後一行問", "每個詞準備了一行")


@pytest.mark.long
def test_every_row_is_a_row_in_english(pages: dict[str, dict[str, Page]]) -> None:
    """The English twin of a passage that speaks of rows in Taiwan's words speaks of rows, too, and
    of columns or lines where that one does. Passages, not sentences: the converter decides by
    sentences, so this sees what a sentence hides."""
    wrong = []
    for slug, page in pages["zh-hant"].items():
        for ours, theirs in zip(page.passages, pages["en"][slug].passages, strict=True):
            english = f"{theirs.title} {CODE_SPAN.sub('', theirs.text)}"
            for sign, around in list_axis_words(f"{ours.title} {ours.text}"):
                said = ROW[sign].search(english)
                other = ROW["行" if sign == "列" else "列"].search(english)
                if other and not said and not any(one in around for one in READ):
                    wrong.append(f"{slug}#{ours.id}: {around}")
    assert not wrong, "\n".join(wrong)


def test_a_converted_page_is_its_origin_but_for_words(pages: dict[str, dict[str, Page]]) -> None:
    for slug, page in pages["zh-hant"].items():
        origin = pages["zh"][slug]
        assert page.origin == origin.path
        assert len(page.lines) == len(origin.lines)
        assert [block.code for block in page.blocks] == [block.code for block in origin.blocks]
        assert [v.expression for v in page.values] == [v.expression for v in origin.values]
        for ours, theirs in zip(page.passages, origin.passages, strict=True):
            assert (ours.id, ours.options, ours.line) == (theirs.id, theirs.options, theirs.line)
            assert ours.find_displays() == theirs.find_displays()
            assert ours.count_numerals() == theirs.count_numerals()


# --- the built site -------------------------------------------------------------------------------

# What the mainland says; the glossary has some of it as other names, for the search.
MAINLAND = re.compile(
    "歸一化|方差|並行|迴圈神經|概率|數據|信息|網絡|代碼|程序|運行|默認|內存|字符串|(?<!改)變量|隨機數|打印|屏幕"
    "|鼠標|軟件|硬件|文檔|模塊|數組(?!成)|調用|腳本語言|鏈接|文件夾|正態|置信|激活函數|優化器|掩碼|隨機變量|循環中"
    "|字節|似然|當且僅當|二進制|緩存|貪心|投機|信源|伯努利|期望值損失|分區塊"
)
ALLOWED = ("glossary",)


def find_simplified(text: str) -> list[str]:
    """What is written in characters that only the mainland has."""

    chars = set(re.findall("[\u3400-\u9fff]", text)) - AMBIGUOUS
    known = "".join(sorted(chars))
    made = load_opencc("s2tw")("\n".join(known)).splitlines()
    other = [char for char, one in zip(known, made, strict=True) if char != one]
    return [text[max(0, (at := text.find(c)) - 5) : at + 5] for c in other]


def read_all_text(path: Path) -> str:
    """All that a file says, code included."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        return text.replace("简体中文", "")  # the language switch
    if path.suffix == ".ipynb":
        return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


def test_nothing_of_the_third_language_is_in_the_first_script(site: Path) -> None:
    """Neither prose nor navigation, captions, alternative texts, comments, buttons, copies."""
    files = [find_page_folder(site, "zh-hant", slug) / "index.html" for slug in SLUGS]
    for path in [
        *files,
        *site.glob("zh-hant/**/*.md"),
        *site.glob("notebooks/zh-hant/*"),
        *site.glob("listings/zh-hant/*"),
        *site.glob("live/zh-hant/*"),
    ]:
        text = read_all_text(path)
        assert not find_simplified(text), path
        if path.suffix == ".md" and path.parent.name not in ALLOWED:
            assert not MAINLAND.findall(text), path


def test_a_page_says_what_it_is_and_where_its_twins_are(site: Path) -> None:
    page = BeautifulSoup((site / "zh-hant/masking/index.html").read_text(encoding="utf-8"), "lxml")
    assert page.html
    assert page.html["lang"] == "zh-Hant"
    assert page.title
    assert page.title.get_text() == "不許看未來：因果遮罩 - 注意力：推導與執行"
    nav = page.select_one(".md-nav--primary")
    assert nav
    assert "第一部分：GPT 怎麼讀，怎麼寫" in nav.get_text()
    skip = page.select_one(".md-skip")
    assert skip
    assert skip.get_text(strip=True) == "跳轉到"
    figure = page.select_one("#out-both svg, .figure svg, .drawing svg")
    assert figure
    assert re.search("[一-鿿]", str(figure["aria-label"]))
    comments = page.select("pre .c1")
    assert any("個序列" in one.get_text() for one in comments)
    assert (site / "notebooks/zh-hant/masking.ipynb").is_file()


@pytest.mark.parametrize(
    ("lang", "query", "slug"),
    [
        ("zh-hant", "變異數", "scaling"),
        ("zh-hant", "标准差", "scaling"),  # in the other script
        ("zh-hant", "方差", "scaling"),  # and in its words
        ("zh-hant", "掩码", "masking"),
        ("zh-hant", "循环神经网络", "sequences"),
        ("zh-hant", "每個參數只管一個位置", "sequences"),
        ("zh-hant", "每个参数只管一个位置", "sequences"),
        ("zh-hant", "層正規化", "transformer-block"),
        ("zh-hant", "layer norm", "transformer-block"),
        ("zh-hant", "高斯分佈", "scaling"),  # as most people there type it
        ("zh-hant", "跳接", "transformer-block"),
        ("zh-hant", "符記", "tokens"),
        ("zh-hant", "倒傳遞", "learning"),
        ("zh", "遮罩", "masking"),
        ("zh", "變異數", "scaling"),
        ("zh", "循環神經網路", "sequences"),
        ("zh", "每個參數只管一個位置", "sequences"),
        ("en", "正規化", "transformer-block"),
    ],
)
def test_either_script_finds_the_page(lang: str, query: str, slug: str, site: Path) -> None:
    pages = [group[0]["location"].split("/")[0] for group in search(site, lang, query)]
    assert slug in pages[:3]


def test_the_first_chapter_says_which_way_a_row_lies(site: Path) -> None:
    title = "h1 + .script-note"
    for slug, place, count in (
        ("sequences", title, 1),
        ("notation", title, 1),
        ("eight-steps", title, 1),
        ("batches", title, 1),
        ("softmax", title, 1),
        ("generation", title, 1),
        ("encoders", title, 1),
        ("maps", title, 1),
        ("glossary", title, 1),
        ("masking", title, 0),
        ("", ".script-note:has(+ h2)", 1),  # the home page has its maps below
    ):
        html = (site / "zh-hant" / slug / "index.html").read_text(encoding="utf-8")
        notes = BeautifulSoup(html, "lxml").select(place)
        assert len(notes) == count
        assert all("列（row）" in note.get_text() for note in notes)


def test_what_stands_beside_the_pages(site: Path) -> None:
    document = json.loads((site / "numbers.json").read_text(encoding="utf-8"))
    assert document["languages"] == list(BUILT)
    assert document["locales"]["zh-hant"]["terms"]["mask"] == "遮罩"
    assert document["strings"]["eight-steps"]["zh-hant"]["onion soup"] == "番茄 湯"
    lost = BeautifulSoup((site / "404.html").read_text(encoding="utf-8"), "lxml")
    assert [one.get_text() for one in lost.select('[lang="zh-Hant"] h2')] == ["沒有這個頁面"]


# --- a project that goes wrong --------------------------------------------------------------------

FIGURE = """
# --8<-- [start:figure]
from attention_docs.figures import heatmap

heatmap([[0.25, 0.75]], rows=["query 1"], name="shares of the mask")
# --8<-- [end:figure]
"""
SHOWN = '\n```python exec="1"\n--8<-- "weights.py:figure"\n```\n\nThe shares.\n{ .caption }\n'


@pytest.fixture
def hant(project: FixtureProject) -> FixtureProject:
    """The small project with the third language, a figure, and prose that differs in it."""
    project.add_traditional_chinese()
    listing = project.read(WEIGHTS).replace("scores =", "# of a row\nscores =", 1)
    project.write(WEIGHTS, listing + FIGURE)
    strings = '[strings]\n"shares of the mask" = "掩码的份额"\n'
    table = f'[comments]\n"of a row" = "一行的掩码"\n\n{strings}'
    project.write("docs/listings/weights.zh.toml", table)
    for lang, said in (("en", "In a row the"), ("zh", "“掩码”之后，一行里")):
        path = f"docs/{lang}/weights.md"
        project.write(path, project.read(path).replace("The first", f"{said} first") + SHOWN)
    project.stamp()
    return project


def test_the_third_language_comes_from_the_same_run(hant: FixtureProject) -> None:
    done = hant.build(SITE_URL="https://example.org/a/", REPO_URL="https://example.org/r")
    assert done.returncode == 0, done.stderr
    assert count_blocks(done) == (4, 0)  # every block once
    page = BeautifulSoup(hant.read_html("zh-hant/weights"), "lxml")
    article = page.select_one("article")
    assert article
    assert "「遮罩」之後，一列裡 first weight is 0.0634" in " ".join(article.get_text().split())
    figure = page.select_one("#out-figure svg")
    assert figure
    assert "遮罩的份額" in str(figure["aria-label"])
    assert "第 1 列" not in str(figure["aria-label"])
    assert "# 一列的遮罩" in article.get_text()
    hrefs = {str(a["hreflang"]): a["href"] for a in page.select("link[hreflang]")}
    prefixes = {"en": "", "zh-Hans": "zh/", "zh-Hant": "zh-hant/", "x-default": ""}
    assert hrefs == {tag: f"https://example.org/a/{one}weights/" for tag, one in prefixes.items()}
    assert [m["content"] for m in page.select('meta[property="og:locale"]')] == ["zh_TW"]
    edit = page.select_one('a[rel="edit"]')  # what somebody can edit
    assert edit
    assert str(edit["href"]).endswith("docs/zh/weights.md")
    (foot,) = page.select("article .script-note a")  # and the table of words
    assert foot["href"] == "https://example.org/r/edit/main/docs/zh-hant.toml"
    for copy in ("zh-hant/weights/index.html.md", "notebooks/zh-hant/weights.ipynb"):
        assert "「遮罩」之後" in hant.read(f"site/{copy}")
    hant.edit("docs/zh-hant.toml", '"掩码" = "遮罩"', '"掩码" = "掩罩"')
    done = hant.build()
    assert done.returncode == 0, done.stderr
    assert "「掩罩」之後" in hant.read_html("zh-hant/weights")
    assert "掩罩的份額" in hant.read_html("zh-hant/weights")


def test_a_stale_page_is_not_asked_about_rows(hant: FixtureProject) -> None:
    for lang, text in (("en", "A row on the last line."), ("zh", "最后一行。")):
        path = f"docs/{lang}/weights.md"
        hant.write(path, f"{hant.read(path)}\n{text}\n")
    asked = "a row or a line of text?"
    assert not [one for one in hant.find_faults() if asked in one]
    hant.stamp()
    assert [one for one in hant.find_faults() if asked in one]


def test_what_has_no_answer_is_reported_with_file_and_line(hant: FixtureProject) -> None:
    assert hant.find_faults() == []
    hant.edit("docs/zh/weights.md", "之后，", "之后，干燥，")
    hant.edit("docs/listings/weights.zh.toml", "一行的", "我行我素的一行的")
    hant.edit("attention_docs/locales/zh.toml", 'hint = "提示"', 'hint = "曲子"')
    head = "| 中文 | English | 又称 | 章 | 含义 |\n|---|---|---|---|---|\n"
    row = "| 池化 | pooling | – | – | 取值。 |\n"
    hant.write("docs/zh/glossary.md", f"---\ndefines: terms\n---\n# t {{ #t }}\n\n{head}{row}")
    read_locale.cache_clear()
    report = "\n".join(hant.find_faults())
    assert "docs/zh/weights.md:23: “干” in" in report
    assert "docs/listings/weights.zh.toml:2: “行” in “我行我素" in report
    assert "docs/zh/glossary.md:8: “池化”: what is it called? Add a line to docs/zh-hant" in report


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[terms]\n", '[terms]\n"掩码" = "掩膜"\n', r"must be TOML: Cannot overwrite a value"),
        ("[words]\n", '[words]\n"掩码" = "掩膜"\n', "“掩码” has an answer already: 遮罩"),
        ('"掩码" = "遮罩"', '"掩码" = ""', "“掩码” has no answer, got ''"),
        (
            '"按列" = "按行"',
            '"按列" = "按列"',
            "“按列” must turn 行 into 列 and 列 into 行 or 欄, got",
        ),
        ('"掩码" = "遮罩"', '"掩碼" = "遮罩"', "“掩碼” must be in the script of the pages: “掩码”"),
        ("[marks]", "[signs]", "must hold aliases, axes, characters, forms, from"),
        ('from = "zh"', 'from = "de"', "from is a language of mkdocs.yml, got 'de'"),
    ],
)
def test_a_table_with_a_fault_is_reported(
    hant: FixtureProject, old: str, new: str, message: str
) -> None:
    hant.edit("docs/zh-hant.toml", old, new)
    with pytest.raises(Failure, match=rf"^docs/zh-hant\.toml:\d+: {message}"):
        Build(hant.root, print)


def test_a_simplified_page_that_fails_publishes_nothing(hant: FixtureProject) -> None:
    hant.edit("docs/zh/weights.md", "{{ name }}", "{{ nothing }}")
    hant.edit("docs/en/weights.md", "{{ name }}", "{{ nothing }}")
    hant.stamp()
    done = hant.build("-q")
    assert done.returncode == 1
    assert "docs/zh/weights.md:" in done.stderr
    assert "docs/zh-hant/" not in done.stderr  # nobody can mend that
    assert not (hant.root / "site").exists()
