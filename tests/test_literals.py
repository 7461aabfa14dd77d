"""The strings of a listing: which are found, and that code in another language is the same code."""

from __future__ import annotations

import ast

import pytest

from attention_docs.site.read.literals import find_literals, translate_literals

CODE = """\
sums = {"onion": 1}
sums["carrot"] = sums["onion"] + 1
label = f"sum of {sums['carrot']:>4d}, {'even' if sums['carrot'] % 2 == 0 else 'odd'!s:>6}"
plain = f"{'onion' * 2} and {sums['onion'] != 2}"
nested = f"{', '.join(f'{name}: {count}' for name, count in sums.items())}"
"""
TEXTS = {
    "onion": "洋葱",
    "carrot": "胡萝卜",
    "even": "偶数",
    "odd": "奇数",
    "sum of {}, {}": "{1}：和为 {0}",
    "{} and {}": "{} 和 {}",
    "{}: {}": "{}：{}",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_string_is_found_in_subscripts_and_in_places_of_f_strings(text: str) -> None:
    assert text in {literal.text for literal in find_literals(CODE)}


def test_code_in_another_language_computes_the_same() -> None:
    names: dict[str, dict[str, object]] = {"en": {}, "other": {}}
    exec(CODE, names["en"])
    exec(translate_literals(CODE, TEXTS), names["other"])
    assert names["en"]["label"] == "sum of    2,   even"
    assert names["other"]["sums"] == {"洋葱": 1, "胡萝卜": 2}
    assert names["other"]["label"] == "    偶数：和为    2"
    assert names["other"]["plain"] == "洋葱洋葱 和 True"
    assert names["other"]["nested"] == "洋葱：1, 胡萝卜：2"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('heatmap(x, role="key", name="keys")', ["keys"]),
        ('roles = ["key", "query"]', []),
        ('names, roles = ("key 1", "score"), ("key", "score")', ["key 1", "score"]),
        ('options = {"role": "weight", "name": "weights"}', ["role", "name", "weights"]),
        ('flow([("keys", "key", k, ".0f"), [(f"key {j}", "key", k)]])', ["keys", ".0f", "key {}"]),
        ('names = ("query", "key", "value")', ["query", "key", "value"]),
        ('for place in ("key", "value"): pass', ["key", "value"]),
    ],
)
def test_names_of_roles_are_no_words(code: str, words: list[str]) -> None:
    assert [literal.text for literal in find_literals(code)] == words


def test_code_without_translations_stays_as_it_is() -> None:
    assert translate_literals(CODE, {}) == CODE
    assert translate_literals(CODE, {text: text for text in TEXTS}) == CODE
    assert ast.dump(ast.parse(translate_literals(CODE, TEXTS))) != ast.dump(ast.parse(CODE))
