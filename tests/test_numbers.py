"""The page on where numbers come from: its example, with mpmath; its counts of the whole site."""

import re

import mpmath
import pytest

from attention_docs.site.publish.review import chapters
from tests.conftest import ROOT
from tests.exact import KEYS, QUERIES, attention_weights


@pytest.mark.site
def test_the_example_of_an_inline_value(page):
    first = attention_weights(QUERIES, KEYS, mpmath.sqrt(3))[0][0]
    assert page("en", "numbers").values("way") == [f"{float(first):.4f}"]


@pytest.mark.site
def test_the_counts_of_the_whole_site(numbers_json):
    """They stand in no reviewed file: the pages' sources and the records are counted here."""
    sources = [path.read_text("utf-8") for path in (ROOT / "docs" / "en").rglob("*.md")]
    blocks = sum(len(re.findall(r"(?m)^ *```python exec", text)) for text in sources)
    english = [one for one in numbers_json["records"] if one["lang"] == "en"]
    kinds = [one["kind"] for one in english]
    shown = [one["text"] for one in english if is_count(one)]
    counts = len(sources), blocks, kinds.count("output"), kinds.count("inline")
    assert shown == [*map(str, counts), "16"]  # the last are steps of rounding: run/block.py


def is_count(record):
    return record.get("expression", "").startswith("site.")


@pytest.mark.site
def test_reviewed_outputs_hold_no_count_of_the_whole_site(numbers_json):
    assert sum(map(is_count, numbers_json["records"])) == 5 * len(numbers_json["languages"])
    assert "site." not in chapters(numbers_json)["numbers"]
