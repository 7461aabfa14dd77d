"""The page on where numbers come from: its example, with mpmath; its counts of the whole site."""

import re

import mpmath
import pytest

from attention_docs.site.publish.review import chapters
from tests.conftest import ROOT, each_language
from tests.exact import KEYS, QUERIES, attention_weights


@pytest.mark.site
@each_language
def test_the_example_of_an_inline_value(page, lang):
    first = attention_weights(QUERIES, KEYS, mpmath.sqrt(3))[0][0]
    assert page(lang, "numbers").values("way") == [f"{float(first):.4f}"]


@pytest.mark.site
@each_language
def test_the_counts_of_the_whole_site(lang, numbers_json):
    """They stand in no reviewed file: the pages' sources and the records are counted here."""
    sources = [path.read_text("utf-8") for path in (ROOT / "docs" / "en").rglob("*.md")]
    blocks = sum(len(re.findall(r"(?m)^ *```python exec", text)) for text in sources)
    records = numbers_json["records"]
    kinds = [one["kind"] for one in records if one["lang"] == "en"]
    counted = [one for one in records if one["lang"] == lang and is_count(one)]
    shown = [one["text"] for one in counted if one["slug"] == "numbers"]
    counts = len(sources), blocks, kinds.count("output"), kinds.count("inline")
    assert shown == [*map(str, counts), "16"]  # the last are steps of rounding: run/block.py


def is_count(record):
    return record.get("expression", "").startswith("site.")


@pytest.mark.site
def test_reviewed_outputs_hold_no_count_of_the_whole_site(numbers_json):
    assert {one["slug"] for one in numbers_json["records"] if is_count(one)} == {"numbers", "index"}
    assert not [slug for slug, text in chapters(numbers_json).items() if "site." in text]
