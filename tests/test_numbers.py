"""The page on where numbers come from: its example, with mpmath; its counts of the whole site."""

import re

from attention_docs.site.snapshots import format_chapters
from tests.conftest import read_project
from tests.test_index import WEIGHTS


def test_the_example_of_an_inline_value(page):
    weight = WEIGHTS[3][2]  # of the picture on the home page
    assert page("en", "numbers").values("way") == [f"{float(weight):.4f}"]


def test_the_counts_of_the_whole_site(numbers_json):
    """They stand in no reviewed file: the pages' sources and the records are counted here."""
    sources = [page.text for page in read_project().pages["en"].values()]
    blocks = sum(len(re.findall(r"(?m)^ *```python exec", text)) for text in sources)
    records = numbers_json["records"]
    kinds = [one["kind"] for one in records if one["lang"] == "en"]
    shown = {one.get("expression", ""): one["text"] for one in records if one["lang"] == "en"}
    boxes = [box for text in sources for box in re.findall(r"(?ms)^/// result \|.*?\n\n", text)]
    counts = {
        **{"pages": len(sources), "blocks": blocks},
        **{"outputs": kinds.count("output"), "values": kinds.count("inline")},
        "steps": 16,  # of rounding: running/result.py
        **{"results": len(boxes), "computed": sum("uncomputed:" not in box for box in boxes)},
        "proved": sum(" proved:" in box for box in boxes),
    }
    got = {name: shown[f"site.{name}"] for name in counts}
    assert got == {name: str(number) for name, number in counts.items()}


def is_site_count(record):
    return record.get("expression", "").startswith("site.")


def test_reviewed_outputs_hold_no_count_of_the_whole_site(numbers_json):
    counted = {one["slug"] for one in numbers_json["records"] if is_site_count(one)}
    assert counted == {"numbers", "results", "index"}
    assert not [slug for slug, text in format_chapters(numbers_json).items() if "site." in text]
