"""An answer of "In short" says no more than the result that it sums up.

Each row marks a line by words of it, names its result, and gives what both must say: a condition,
or how the claim is meant ("multiplied", "squared"). Conditions are words of the page's language.
"""

from __future__ import annotations

import pytest

from attention_docs.site.read.page import Page
from tests.conftest import LANGUAGES, read_project

# language, page, result, words that mark the line, words that the line and the result share.
SUMMARIES = [
    ("en", "masking", "minus-infinity", "forbidden key", ["scores are finite", "at least one key"]),
    ("en", "masking", "no-leak", "later tokens out", ["finite scores and values", "causal mask"]),
    ("en", "language-model", "at-once", "trains all positions", ["causal", "finite"]),
    ("en", "learning", "start", "scaled scores", ["mean square 1", "ndependent entries of mean 0"]),
    ("en", "in-pieces", "recall", "reading all", ["independent components", "expected squared"]),
    ("en", "in-pieces", "recall", "reading all", ["do not depend on them", "at least"]),
    ("en", "generation", "sink", "drop a key", ["a_1 < 1", "is multiplied by"]),
    ("en", "real-models", "shift", "additional token", ["RoPE alone", "no logit"]),
    ("en", "generation", "speculative", "change the speed", ["min(1, p", "is kept with"]),
    ("en", "kernels", "features", "relative error", ["independent standard normal"]),
    (
        "en",
        "multi-head",
        "parameters",
        "any number of heads",
        ["Without biases", "d_k = d_v = d/h"],
    ),
    ("en", "precision", "dot", "in a longer format", ["d_k u < 1", "nothing overflows"]),
    ("zh", "masking", "no-leak", "后面的词元", ["都有限", "因果掩码"]),
    ("zh", "learning", "start", "缩放后分数", ["平方的平均为 1", "元素独立", "期望为 0"]),
    ("zh", "precision", "dot", "更高的精度", ["d_k u < 1", "没有上溢"]),
    ("zh", "real-models", "shift", "多一个词元", ["只通过 RoPE", "logits"]),
    ("zh", "multi-head", "parameters", "不论头数", ["不计偏置", "d_k = d_v = d/h"]),
    ("zh", "generation", "sink", "去掉一个", ["a_1 < 1", "都乘以"]),
]


def summary_line(page: Page, words: str) -> str:
    """The one answer of the summary with these words."""
    answers = [one.text for one in page.passages if one.kind == "recall"]
    found = [line for line in answers if words in line]
    assert len(found) == 1, f"{page.path}: {len(found)} lines of the summary have “{words}”"
    return found[0]


@pytest.mark.parametrize(("lang", "slug", "result", "words", "shared"), SUMMARIES)
def test_a_summary_keeps_the_conditions_of_its_result(
    lang: str, slug: str, result: str, words: str, shared: list[str]
) -> None:
    page = read_project().pages[lang][slug]
    (box,) = [one for one in page.passages if one.id == f"result-{result}"]
    line = summary_line(page, words)
    for word in shared:
        assert word in box.text, f"{page.path}: {box.id} does not say “{word}”"
        assert word in line, f"{page.path}: the summary does not say “{word}”: {line}"


def test_both_languages_are_compared() -> None:
    assert {row[0] for row in SUMMARIES} == set(LANGUAGES)
