"""The rules for Chinese text, over every Chinese page and every Chinese string of the package."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import (
    Attributes,
    Block,
    Box,
    End,
    Fence,
    Heading,
    Request,
)
from attention_docs.site.read.reader import classify_lines, read_page
from attention_docs.site.read.syntax import CODE_SPAN, COLOUR, FRONT_MATTER, INLINE, VALUE
from attention_docs.site.render.reading_time import walk_main_line
from tests.conftest import ROOT

PAGES = sorted((ROOT / "docs" / "zh").rglob("*.md"))
HAN = "\u3400-\u9fff"
WIDE = "，。；：？！、（）《》“”‘’…"  # full-width punctuation stands without a space
INSERT = "\ue010"  # stands for inline code, an inline formula or an inline value
LATIN = rf"A-Za-z0-9\u0370-\u03ff√{INSERT}"

TEX_TEXT = re.compile(r"\\text\{([^{}]*)\}")
NOT_TEXT = re.compile(r"<!--.*?-->|<[^<>]*>|\{:?\s*[.#][^{}]*\}|\[\^[^\]]*\]|https?://\S+")
LINK = re.compile(r"!?\[(?P<text>[^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
TITLED = re.compile(r'^/{3,} *[\w-]+ *(?:\| *(?P<title>.*?))? *$|^!!! +[\w -]+"(?P<note>.*)" *$')
CARD = re.compile(r"(?<=\))\{ \.card[^}]*\} ")  # between the title of a card and its text
ITALIC = re.compile(r"(?<!\*)\*(?!\*)([^*]+)\*(?!\*)|(?<!\w)_([^_]+)_(?!\w)")
CLASSED = re.compile(r"\*([^*]+)\*\{ ?[.#][^{}]*\}")  # is as its class has it, not slanted
STRUCTURE = re.compile(r"\s*(?:[-*+>|#{$`~</]|\d+\.|!!!|$)")
OTHER_NAMES = re.compile(r"(?m)^((?:\|[^|\n]*){2}\|)[^|\n]*\|(?=[^|\n]*\|[^|\n]*\|$)")
COMPLETE = re.compile(r"\s*(?:[|#]|/{3}|!!!)")

MOST_QUESTIONS = 2  # in a section of a main line: STYLE.md

RULES = (
    (rf"[{HAN}][{LATIN}]|[{LATIN}%][{HAN}]", "a half-width space belongs here"),
    (rf"[{HAN}{LATIN}] {{2,}}[{HAN}{LATIN}]", "one space, not more"),
    (rf"[{HAN}] [{HAN}]", "no space between Chinese characters"),
    (
        rf"[{WIDE}] +[{HAN}{LATIN}]|[{HAN}{LATIN}] +[{WIDE}]",
        "no space beside full-width punctuation",
    ),
    (rf"[{HAN}]\s*[,;:!?]|[,;!?]\s*[{HAN}]|[{HAN}]\.(?!\w)", "full-width punctuation"),
    (rf"[{HAN}]\(|\)[{HAN}]|\([^()]*[{HAN}][^()]*\)", "full-width brackets （）"),
    (rf"[「」『』]|[{HAN}]\s*[\"']|[\"']\s*[{HAN}]", "quotes are “”"),
    (rf"[{HAN}]\.\.\.|\.\.\.[{HAN}]|[{HAN}]--", "…… and ——"),
    (r"[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]", "half-width letters and digits"),
    (r"非常简单|显然|不难看出|让我们|得分|令牌|！", "a phrase that this site does not use"),
    (
        r"数遍所有|换一套字母|散开多少|空行|参加|损失网络|全遮|随机数变量",
        "a word that the field does not use",
    ),
    (r"(?:词元|向量|查询|键|值|输入|输出)的?大小", "a vector has 维数, not 大小"),
    (r"\d %", "a percent sign follows its number"),
    (rf"(?<![\w{INSERT}\]）-])-(?=\d)", "a minus sign is −"),
    (r"进行[^，。；：、]{0,8}操作", "进行……操作"),
    (r"被[^，。；：、]{1,10}所[^以有谓在]", "被……所……"),
)


def find_faults(text: str) -> Iterator[str]:
    """What is wrong with a line of text in which inserts stand for code, formulas and values."""
    for pattern, message in RULES:
        for match in re.finditer(pattern, text):
            around = text[max(0, match.start() - 8) : match.end() + 8]
            yield f"{message}: {around.replace(INSERT, '▯')}"


def strip_markup(line: str) -> str:
    """The line as a reader sees it, with inserts; a boundary of cells is a line break."""
    if titled := TITLED.match(line):
        line = titled["title"] or titled["note"] or ""
    line = CARD.sub("\n", line)
    line = re.sub(r"^(\s*)(?:[-*+]|\d+\.|#{1,6}|>)\s+", r"\1", line)
    line = CLASSED.sub(r"\1", line)
    line = COLOUR.sub("色", line)
    line = CODE_SPAN.sub(INSERT, VALUE.sub(INSERT, line))
    line = INLINE.sub(INSERT, line).replace("|", "\n")
    return NOT_TEXT.sub("", LINK.sub(lambda link: link["text"], line))


def find_line_faults(line: str, after: str) -> Iterator[str]:
    """What is wrong with a line of prose; `after` is the next line of the page."""
    text = strip_markup(line)
    yield from find_faults(re.sub(r"\*\*|__", "", text))
    for slanted in ITALIC.finditer(text.replace("**", "")):
        if re.search(f"[{HAN}]", slanted[0]):
            yield f"Chinese is not slanted: {slanted[0]}"
    goes_on = not (COMPLETE.match(line) or STRUCTURE.match(after))
    if goes_on and re.search(f"[{HAN}{WIDE}]$", line):
        yield "a line break inside a paragraph shows as a space"


def list_prose(markdown: str) -> Iterator[tuple[int, str, str]]:
    """The lines outside of fences, boxes' options and display formulas: number, line, next line."""
    lines = [*markdown.split("\n"), ""]
    front = FRONT_MATTER.match(markdown)
    formula = False
    for line, piece in classify_lines(markdown):
        number = piece.line
        if (front and number <= front[0].count("\n")) or isinstance(piece, Fence):
            continue
        if line.count("$$") == 1:
            formula = not formula
        elif not formula and "$$" not in line:
            yield number, line, lines[number]


def check_page(markdown: str, path: str) -> list[str]:
    """Every fault of a page as `path:line: what is wrong`."""
    found: list[tuple[int, str]] = []
    for number, line in enumerate(markdown.split("\n"), start=1):
        words = TEX_TEXT.findall(line) + re.findall(r"^(?:description|question): *(.*)", line)
        for text in words:
            found += [(number, fault) for fault in find_faults(INLINE.sub(INSERT, text.strip('"')))]
    for number, line, after in list_prose(markdown):
        found += [(number, fault) for fault in find_line_faults(line, after)]
    return [f"{path}:{number}: {fault}" for number, fault in sorted(set(found))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_chinese_page_keeps_the_rules(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.stem == "glossary":  # what readers type need not be what this site writes
        text = OTHER_NAMES.sub(r"\1 – |", text)
    faults = check_page(text, page.relative_to(ROOT).as_posix())
    assert not faults, "\n" + "\n".join(faults)


def list_strings(path: Path) -> Iterator[tuple[int, str]]:
    """The Chinese strings of a module, examples left out; placeholders are inserts."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and re.search(f"[{HAN}]", str(node.value)):
            text = re.sub(r"(?m)^ *>>> .*\n(?: *\S.*\n)*", "", str(node.value))
            yield node.lineno, re.sub(r"\{[^{}]*\}", INSERT, text)


def list_locale_strings(table: dict[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """The strings of a locale file, with their paths."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from list_locale_strings(value, f"{place}{name}.")
        else:
            for text in value if isinstance(value, list) else [value]:
                # Figures set the spaces around what they put in themselves.
                own = place.startswith("figures.")
                filled = re.sub(r" ?\{[^{}]*\} ?", "字", str(text)) if own else str(text)
                yield f"{place}{name}", re.sub(r"\{[^{}]*\}", INSERT, filled)


def test_chinese_words_of_the_package_keep_the_rules() -> None:
    found = []
    for path in sorted((ROOT / "attention_docs").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        found += [(f"{name}:{number}", text) for number, text in list_strings(path)]
    table = tomllib.loads((ROOT / "attention_docs/locales/zh.toml").read_text(encoding="utf-8"))
    in_tables = [(f"zh.toml: {place}", text) for place, text in list_locale_strings(table)]
    assert in_tables
    faults = [
        f"{place}: {fault}" for place, text in found + in_tables for fault in find_faults(text)
    ]
    assert not faults, "\n" + "\n".join(faults)


@pytest.mark.parametrize(
    "line",
    [
        "自注意力（self-attention）有 $n$ 个输入，每个是 `d_model` 维。",
        "第 1 步：除以 $\\sqrt{d_k}$，得到 {{ scores[0]:.4f }}。",
        "- **查询**（query）$q_i$：用来打量别的输入；",
        "[自注意力八步](eight-steps.md#step-1)把“得到的数”算一遍[^1]。",
        "| 章 | `softmax` 的问题 |",
        "/// deeper | 练习 1：缩放",
        "误差为 −0.5，占 95%，一共 12 个。",
        "$$ a = b && \\text{（第 3 步：查询、键、值）} $$",
        "Vaswani, A. 等（2017）：*Attention Is All You Need*，第 3.2 节。",
        "```text\n自注意力is fine here,因为这是代码\n```",
        "一句。\n\n另一句。",
        "softmax(2, 4, 4) 什么时候等于 (0, 0.5, 0.5)？",
        "图一共 2 张。\n{ .caption }",
    ],
)
def test_what_is_right_passes(line: str) -> None:
    assert check_page(line, "p.md") == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("注意力attention", "half-width space"),
        ("除以$d_k$", "half-width space"),
        ("`softmax`之前", "half-width space"),
        ("得到 {{ x:.2f }}个数", "half-width space"),
        ("第1步", "half-width space"),
        ("**softmax**之前", "half-width space"),
        ("注意力  attention", "one space"),
        ("注意 力", "no space between"),
        ("注意力， softmax", "no space beside"),
        ("注意力,分数", "full-width punctuation"),
        ("这是分数.", "full-width punctuation"),
        ("分数:softmax 之前", "full-width punctuation"),
        ("分数(score)", "full-width brackets"),
        ("「分数」", "quotes"),
        ('这叫"分数"', "quotes"),
        ("分数...", "……"),
        ("共有３个", "half-width letters and digits"),
        ("键的大小", "维数"),
        ("空行的权重", "the field does not use"),
        ("占 95 %", "percent"),
        ("误差为 -0.5", "minus"),
        ("显然如此", "does not use"),
        ("让我们看看", "does not use"),
        ("进行缩放操作", "进行……操作"),
        ("被分数所决定", "被……所……"),
        ("这是*重点*。", "not slanted"),
        ("$$ a && \\text{得分} $$", "does not use"),
        ("---\ndescription: 分数(score)\n---\n", "full-width brackets"),
        ("一句话断在\n这里。", "line break"),
    ],
)
def test_what_is_wrong_is_found(line: str, message: str) -> None:
    faults = check_page(line, "p.md")
    assert any(message in fault for fault in faults), faults
    assert all(re.match(r"p\.md:\d+: ", fault) for fault in faults)


def count_questions(page: Page) -> dict[str, int]:
    """The questions of each section's main line, without formulas and tables."""
    asked: dict[str, int] = {}
    section = ""
    for piece, _ in walk_main_line(page):
        if isinstance(piece, Heading):
            section = piece.id
        elif not isinstance(piece, Block | Fence | Attributes | Request | End | Box):
            line = INLINE.sub("", TEX_TEXT.sub("", page.lines[piece.line - 1]))  # type: ignore[attr-defined]
            if not line.lstrip().startswith("|"):
                asked[section] = asked.get(section, 0) + line.count("？")
    return asked


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "zh").glob("*.md")), ids=lambda one: one.stem
)
def test_a_section_asks_at_most_twice(path: Path) -> None:
    asked = count_questions(read_page(path, ROOT))
    many = {section: n for section, n in asked.items() if n > MOST_QUESTIONS}
    assert not many, f"turn questions into statements: {many}"


@pytest.mark.parametrize(("lang", "words"), [("zh", "当且仅当 推出"), ("zh-hant", "若且唯若 推出")])
def test_the_kind_of_a_result_is_said_in_chinese(lang: str, words: str, site: Path) -> None:
    html = (site / lang / "results" / "index.html").read_text(encoding="utf-8")
    kinds = {unescape(one) for one in re.findall(r"<code>([^<]*)</code></summary>", html)}
    assert kinds >= {"=", "≤", *words.split()}
    assert not [kind for kind in kinds if re.search("[a-z]", kind)]
