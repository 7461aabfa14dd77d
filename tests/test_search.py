"""What a search finds: the site's own script on the site's own index, in V8 without a browser.

That the page types into this script, and shows what it ranks, is tested in tests/test_browser.py.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from py_mini_racer import MiniRacer

from tests.conftest import each_language

pytestmark = pytest.mark.site

# What is typed, and the page that explains it. The last of each language is from inside a sentence.
SEARCHES = [
    ("en", "variance", "scaling"),
    ("en", "softmax", "softmax"),
    ("en", "√d_k", "scaling"),
    ("en", "scaled dot product", "glossary"),
    ("en", "layer normalisation", "transformer-block"),
    ("en", "keeps no entry for a place", "sequences"),
    ("zh", "缩放点积", "score-functions"),
    ("zh", "加权平均", "glossary"),
    ("zh", "方差", "scaling"),
    ("zh", "softmax", "softmax"),
    ("zh", "√d_k", "scaling"),
    ("zh", "每个词元占多大比重", "sequences"),
]

# A worker's surroundings: what is posted to it goes to its listener, what it posts is kept.
WORKER = """
var listener, posted = [];
function addEventListener(_, heard) { listener = heard; }
function postMessage(message) { posted.push(message); }
function send(message) { listener({ data: message }); return JSON.stringify(posted.pop()); }
"""


@cache
def worker(site: Path, lang: str) -> MiniRacer:
    """The search of a language, set up as the theme does it."""
    folder = site if lang == "en" else site / lang
    engine = MiniRacer()
    engine.eval(WORKER)
    engine.eval((site / "assets" / "search.js").read_text(encoding="utf-8"))
    index = (folder / "search" / "search_index.json").read_text(encoding="utf-8")
    assert json.loads(engine.eval(f"send({{ type: 0, data: {index} }})")) == {"type": 1}
    return engine


def found(site: Path, lang: str, query: str) -> list[list[dict[str, Any]]]:
    """What the script answers: the results of each page, best first."""
    message = json.dumps({"type": 2, "data": query})
    answer = json.loads(worker(site, lang).eval(f"send({message})"))
    assert answer["type"] == 3
    items: list[list[dict[str, Any]]] = answer["data"]["items"]
    return items


@pytest.mark.parametrize(("lang", "query", "slug"), SEARCHES)
def test_a_search_finds_its_page_first(lang: str, query: str, slug: str, site: Path) -> None:
    best = found(site, lang, query)[0]
    assert best[0]["location"].split("#")[0] == f"{slug}/"
    assert any("<mark>" in result["title"] + result["text"] for result in best)


@each_language
def test_nonsense_finds_nothing(lang: str, site: Path) -> None:
    assert found(site, lang, "zzzzqqqq") == []
