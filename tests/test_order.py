"""Nothing is used before it is defined: the chapters in reading order, beside glossary and notation.

A sentence may look ahead if it says so ("ahead", “后面”); a link leads to where a word is defined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from attention_docs.site.build import Build
from attention_docs.site.read.page import CODE_SPAN, DISPLAY, INLINE, VALUE, Page
from attention_docs.site.render.terms import Term
from tests.conftest import LANGUAGES, ROOT, each_language

AHEAD = {"en": re.compile(r"\bahead\b"), "zh": re.compile("后面")}
HAN = "\u4e00-\u9fff"
LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")
# A full stop within a number or a name ends no sentence; a cell of a table is one.
SENTENCE = re.compile(r"(?:[^.?!。？！|\n]|[.?!](?=\w))+")
WORDS = re.compile(r"\\text\w*\{([^{}]*)\}")
# In a formula: what is no symbol, and what is one, with its bar and its index.
NOTHING = re.compile(rf"\\\\\[[^\]]*\]|\\(?:begin|end|tag)\{{[^{{}}]*\}}|(?<!_){WORDS.pattern}")
INDEX = r"_(?:\\text\{[^{}]*\}|\{[^{}]*\}|\w)"
NAME = r"\\(?:operatorname|mathrm|mathbf)\{[^{}]*\}|\\[a-zA-Z]+|[a-zA-Z]"
SYMBOL = re.compile(rf"(?:\\(?:bar|hat|tilde)\s*)?(?:{NAME})(?:{INDEX})?")
# What a reader knows before the first chapter.
KNOWN = {"dimension", "dot-product", "linear-combination", "mean", "transpose"}
# A Chinese character is also a part of other words; these are the words that it is not.
CHARACTER = {
    "值": "(?<![数均取最大小])(?<!绝对)(?<!特征)值(?!得)",
    "头": "(?<![开从回到里两源外])头(?!来)",
    "熵": "(?<!交叉)熵",
    "秩": "秩(?!序)",
    "键": "(?<!关)键(?!盘)",
}


@cache
def build() -> Build:
    found = Build(ROOT, lambda warning: None)
    found.read()
    return found


@cache
def pattern(term: str) -> re.Pattern[str]:
    """A term in running text, in the plural too."""
    if re.search(f"[{HAN}]", term):
        return re.compile(CHARACTER.get(term, re.escape(term.partition("（")[0])))
    for end, plural in (("matrix", "matri(?:x|ces)"), ("y", "(?:y|ies)"), ("", "(?:e?s)?")):
        if term.endswith(end):
            stem = re.escape(term.removesuffix(end))
            return re.compile(rf"(?<![\w-]){stem}{plural}(?![\w-])", re.I)
    raise AssertionError(term)


def passages(page: Page) -> Iterator[tuple[str, str]]:
    """Title and text of what stands under each heading and in each box, without code."""
    for passage in page.passages:
        if passage.id != "sources":
            yield passage.title, VALUE.sub(" ", CODE_SPAN.sub(" ", passage.text))


def sentences(title: str, text: str) -> list[str]:
    """The sentences of a passage in its words, those beside formulas too."""
    formulas = DISPLAY.findall(text) + INLINE.findall(DISPLAY.sub(" ", text))
    beside = [words for tex in formulas for words in WORDS.findall(tex)]
    prose = INLINE.sub(" ", DISPLAY.sub("\n", text))
    found = [title, *beside, *SENTENCE.findall(prose)]
    return [sentence.replace("*", "").strip() for sentence in found]


def used(page: Page, terms: list[Term]) -> list[tuple[str, str]]:
    """The terms that a page uses, each with its sentence.

    A passage that looks ahead to a term in one sentence may use it in the others.
    """
    found = []
    for passage in passages(page):
        told = [
            (LINK.sub(" ", words), bool(AHEAD[page.lang].search(words)))
            for words in sentences(*passage)
        ]
        later = " ".join(words for words, ahead in told if ahead)
        for one in terms:
            if not pattern(one.term).search(later):
                found += [(one.term, words) for words, _ in told if pattern(one.term).search(words)]
    return found


def symbols(page: Page) -> set[str]:
    """The symbols in the formulas of a page, each with its index, but those that look ahead."""
    found = set()
    for _, text in passages(page):
        formulas = DISPLAY.findall(text)
        for sentence in SENTENCE.findall(DISPLAY.sub("\n", text)):
            if not AHEAD[page.lang].search(sentence):
                formulas += INLINE.findall(sentence)
        found |= {token for tex in formulas for token in SYMBOL.findall(NOTHING.sub(" ", tex))}
    return found
