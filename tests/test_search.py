"""What a search finds: the site's own script on the site's own index, in V8 without a browser.

That the page types into this script, and shows what it ranks, is tested in tests/test_browser.py.
"""

from __future__ import annotations

import atexit
import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from py_mini_racer import MiniRacer

from attention_docs.site.publish.search import find_entries
from tests.conftest import each_language

pytestmark = pytest.mark.site

# What is typed, and the page that explains it. The last of each language is from inside a sentence.
SEARCHES = [
    ("en", "variance", "scaling"),
    ("en", "softmax", "softmax"),
    ("en", "√d_k", "scaling"),
    ("en", "scaled dot product", "score-functions"),
    ("en", "layer normalisation", "transformer-block"),
    ("en", "onion cake", "eight-steps"),
    ("en", "no parameters tied to a position", "sequences"),
    ("zh", "缩放点积", "score-functions"),
    ("zh", "加权平均", "sequences"),
    ("zh", "方差", "scaling"),
    ("zh", "softmax", "softmax"),
    ("zh", "√d_k", "scaling"),
    ("zh", "超出句子两端的地方补零", "sequences"),
]

# What people typed for questions that they had asked elsewhere, and the sections that answer.
SECTIONS = [
    ("en", "complexity of self-attention", "transformer-block/#cost eight-steps/#cost"),
    ("en", "quadratic", "transformer-block/#cost eight-steps/#cost"),
    ("en", "O(n^2)", "transformer-block/#cost eight-steps/#cost"),
    ("en", "number of heads parameters", "multi-head/#parameters"),
    ("en", "decoder training parallel", "masking/#idea language-model/#at-once"),
    ("en", "fully connected layer", "sequences/#window"),
    ("en", "LayerNorm before sublayer", "transformer-block/#post-pre"),
    ("en", "mask query padding", "masking/#padding"),
    ("en", "view transpose heads", "multi-head/#batched multi-head/#mistake-reshape"),
    ("en", "boolean mask True means", "masking/#polarity"),
    ("en", "attn_mask additive", "masking/#polarity-run masking/#polarity"),
    ("en", "finfo min", "masking/#mistake-float16 mistakes/#large-negative-in-float16"),
    ("en", "triu", "masking/#polarity-run"),
    ("en", "average_attn_weights", "mistakes/#averaged-map multi-head/#mistake-average"),
    ("en", "rotate_half", "positions/#pairings"),
    ("en", "flash attention numbers differ", "precision/#two-programs in-pieces/#order"),
    ("en", "interpret attention weights", "maps/#one-map real-models/#pronoun"),
    ("en", "why do all heads attend to first token", "real-models/#first-token"),
    ("en", "bidirectional", "encoders/#both-sides encoders/#kinds"),
    ("en", "decoder-only", "encoders/#kinds"),
    ("en", "BERT masked tokens", "encoders/#masked-words"),
    ("en", "batch norm", "encoders/#batch-norm"),
    ("en", "LayerNorm BatchNorm", "encoders/#batch-norm"),
    ("en", "patch embedding conv2d", "encoders/#patches"),
    ("en", "mean pooling", "encoders/#cls"),
    ("en", "numerical stability", "softmax/#overflow"),
    ("en", "log-sum-exp", "softmax/#overflow"),
    ("en", "batch matrix multiply", "attention-function/#shapes"),
    ("en", "in_proj_weight", "multi-head/#torch"),
    ("en", "attention rollout", "maps/#rollout"),
    ("en", "rollout identity residual", "maps/#rollout"),
    ("zh", "注意力展开", "maps/#rollout"),
    ("zh", "Pre-norm 放在哪里", "transformer-block/#post-pre"),
    ("zh", "交叉注意力 Q 来自", "cross-attention/#idea"),
    ("zh", "多头 切分 512", "multi-head/#join multi-head/#batched"),
    ("zh", "整行 掩码 NaN", "masking/#empty-row-torch masking/#empty-row"),
    ("zh", "KV cache 为什么没有 Q", "generation/#idea"),
    ("zh", "LayerNorm 和 BatchNorm 的区别", "encoders/#batch-norm"),
    ("zh", "[MASK] attention_mask 0", "encoders/#masked-words"),
    ("zh", "大模型为什么只用解码器", "encoders/#kinds"),
    ("zh", "头数怎么选", "multi-head/#how-many"),
    ("zh", "并行计算", "masking/#idea language-model/#at-once"),
    ("zh", "复杂度", "transformer-block/#cost eight-steps/#cost"),
    ("zh", "注意力权重 怎么看", "maps/#one-map real-models/#pronoun"),
    ("zh-hant", "複雜度", "transformer-block/#cost eight-steps/#cost"),
    ("zh-hant", "整行被遮蔽", "masking/#empty-row-torch masking/#empty-row"),
]

# What people type: the search was tuned with most of these, so nearly all must be found.
QUESTIONS = tomllib.loads(Path(__file__).with_name("queries.toml").read_text(encoding="utf-8"))
WANTED = 0.95

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
    index = (folder / "search" / "search_index.json").read_text(encoding="utf-8")
    return start((site / "assets" / "search.js").read_text(encoding="utf-8"), index)


def start(script: str, index: str) -> MiniRacer:
    """The script with an index."""
    engine = MiniRacer()
    atexit.register(engine.close)
    engine.eval(WORKER)
    engine.eval(script)
    assert json.loads(engine.eval(f"send({{ type: 0, data: {index} }})")) == {"type": 1}
    return engine


def search(site: Path, lang: str, query: str) -> list[list[dict[str, Any]]]:
    """What the script answers: the results of each page, best first."""
    items: list[list[dict[str, Any]]] = ask(site, lang, query)["items"]
    return items


def ask(site: Path, lang: str, query: str) -> dict[str, Any]:
    """The whole answer, with the words that are on no page."""
    message = json.dumps({"type": 2, "data": query})
    answer = json.loads(worker(site, lang).eval(f"send({message})"))
    assert answer["type"] == 3
    data: dict[str, Any] = answer["data"]
    return data


@pytest.mark.parametrize(("lang", "query", "slug"), SEARCHES)
def test_a_search_finds_its_page_first(lang: str, query: str, slug: str, site: Path) -> None:
    best = search(site, lang, query)[0]
    assert best[0]["location"].split("#")[0] == f"{slug}/"
    assert any("<mark>" in result["title"] + result["text"] for result in best)


@each_language
def test_the_words_of_the_field_find_the_page_among_the_first_three(lang: str, site: Path) -> None:
    pages = QUESTIONS["pages"][lang]
    asked = [(query, slug) for slug, queries in pages.items() for query in queries]
    assert len(asked) >= 50
    missed = {}
    for query, slug in asked:
        found = [group[0]["location"].split("/")[0] for group in search(site, lang, query)]
        if slug not in found[:3]:
            missed[query] = slug, found[:4]
    assert not missed


@pytest.mark.parametrize(("lang", "query", "places"), SECTIONS)
def test_the_section_that_answers_is_shown(lang: str, query: str, places: str, site: Path) -> None:
    shown = find_shown(site, lang, query)
    assert set(places.split()) & shown, shown


def find_shown(site: Path, lang: str, query: str) -> set[str]:
    """The best sections of the first three pages; a result counts for the section it stands in."""
    groups = search(site, lang, query)[:3]
    best = [
        one["location"] for group in groups for one in group if one["score"] >= group[0]["score"]
    ]
    return {find_holders(site).get(place, place) for place in best}


@cache
def find_holders(site: Path) -> dict[str, str]:
    """The section or fold that each result stands in or after."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    holders, last = {}, ""
    for place in (doc["location"] for doc in index["docs"]):
        if "#result-" in place:
            holders[place] = last
        elif not re.search("#(?:exercise|guess|recall)", place):
            last = place
    return holders


def test_what_people_type_finds_the_section(site: Path) -> None:
    cases = QUESTIONS["queries"]
    assert len(cases) >= 300
    found = {query: (set(places), find_shown(site, lang, query)) for lang, query, places in cases}
    missed = {query: shown for query, (places, shown) in found.items() if not places & shown}
    assert len(missed) <= len(cases) * (1 - WANTED), missed


def test_every_section_of_a_chapter_has_a_question_that_it_answers(site: Path) -> None:
    """What docs/search.toml writes for a section that is not there would be lost in silence."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    asked, places = index["config"]["asked"], [doc["location"] for doc in index["docs"]]
    assert set(asked) <= set(places)
    chapters = {place for place in places if re.fullmatch(r"[\w-]+/", place)} & set(asked)
    assert len(chapters) >= 30
    assert len([place for place in asked if "#" in place]) >= 400


@each_language
def test_near_words_lead_to_the_same_section(lang: str, site: Path) -> None:
    """A question in words that the section does not use, in both languages."""
    for query, place in (
        ("how expensive is pretraining", "assistant/#pretraining"),
        ("多少钱 预训练", "assistant/#pretraining"),
        ("picture as input of a transformer", "encoders/#patches"),
        ("照片 切块", "encoders/#patches"),
    ):
        assert place in find_shown(site, lang, query), query


def test_a_word_that_is_on_no_page_is_said(site: Path) -> None:
    answer = ask(site, "en", "attention zzqq")
    assert answer["unknown"] == ["zzqq"]
    assert 1 <= len(answer["items"]) <= 3
    assert ask(site, "en", "attention weights")["unknown"] == []


@each_language
def test_lists_of_other_pages_never_come_first(lang: str, site: Path) -> None:
    for query in (
        "attention",
        "softmax",
        "dropout attention weights or scores",
        "注意力权重 怎么看",
    ):
        if found := search(site, lang, query):
            assert found[0][0]["location"].split("#")[0] not in ("", "review/", "questions/"), query


@each_language
def test_nonsense_finds_nothing(lang: str, site: Path) -> None:
    assert search(site, lang, "zzzzqqqq") == []


def test_english_words_are_found_in_their_forms(site: Path) -> None:
    """Which words count as one, written down by hand."""
    same = {"masking": "masked", "queries": "query", "biases": "bias", "size": "sizes"}
    other = {"sum": "summary", "sin": "single", "key": "keyboard", "position": "positive"}
    stem = "count(WORD, stem(TERM), false)"
    for pairs, times in ((same, 1), (other, 0)):
        for term, word in pairs.items():
            code = stem.replace("WORD", json.dumps(word)).replace("TERM", json.dumps(term))
            assert worker(site, "en").eval(code) == times, (term, word)


def test_a_word_that_is_on_no_page_stands_for_the_nearest(site: Path) -> None:
    """Two words written as one, or a letter too many, too few, changed, or in the wrong place."""
    meant = {
        "kvcache": ["kv cache"],
        "crossattention": ["cross attention"],
        "positonal": ["positional"],
        "attentoin": ["attention"],
        "gradiant": ["gradient"],
        "sofftmax": ["softmax"],
        "zzzzqqqq": ["zzzzqqqq"],
    }
    for query, terms in meant.items():
        code = f"JSON.stringify(readTerms(fold({json.dumps(query)})).map((term) => term.name))"
        assert json.loads(worker(site, "en").eval(code)) == terms, query


def find_in(asked: dict[str, list[str]], query: str) -> list[list[str]]:
    """The sections shown of each page, in an index of sections that have questions and no words."""
    pages = dict.fromkeys(place.split("#")[0] for place in asked)
    docs = [
        {"location": place, "title": "–", "text": "–"} for place in dict.fromkeys([*pages, *asked])
    ]
    lines = {place: "\n".join(questions) for place, questions in asked.items()}
    config = {"names": [], "forms": [], "asked": lines, "near": [], "empty": ["how", "is"]}
    script = Path("docs/assets/search.js").read_text(encoding="utf-8")
    engine = start(script, json.dumps({"config": config, "docs": docs}))
    groups = json.loads(engine.eval(f"send({{ type: 2, data: {json.dumps(query)} }})"))
    found = [(group, group[0]["score"]) for group in groups["data"]["items"]]
    return [[one["location"] for one in group if one["score"] >= best] for group, best in found]


def test_what_answers_best_is_shown_on_whichever_page() -> None:
    """Three sections come first, even of one page; a worse page begins with one."""
    asked = {
        "a/#one": ["red apple"],
        "a/#two": ["red apple pie"],
        "a/#three": ["a red apple tree"],
        "b/#four": ["red wine and cheese and bread"],
        "b/#five": ["red wine and cheese and bread and butter and jam"],
    }
    first, second = find_in(asked, "red apple")
    assert set(first) == {"a/#one", "a/#two", "a/#three"}
    assert second == ["b/#four"]


def test_where_a_page_is_found_so_is_its_best_section() -> None:
    asked = {"a/": ["red apple"], "a/#one": ["green pear"], "a/#two": ["red plum"]}
    asked |= {f"{page}/#best": ["red apple"] for page in "bc"}
    assert ["a/", "a/#two"] in find_in(asked, "red apple")


def test_the_page_that_is_about_it_decides_between_equal_questions() -> None:
    """Both ask for the third word as well, but one page asks for little else."""
    asked = {"a/#best": ["slow oven"], "b/#best": ["slow oven"]}
    asked |= {"a/#rest": ["red bread", "old cherry pie"]}
    asked |= {"b/#rest": ["warm sour bread", "old sour bread"]}
    assert find_in(asked, "slow oven bread")[0][0] == "b/#best"


@pytest.mark.parametrize(("typed", "meant"), [("8gb", "gb"), ("77k", ""), ("kv_rope", "kv rope")])
def test_a_unit_or_a_name_of_several_words_is_read_by_its_words(
    typed: str, meant: str, site: Path
) -> None:
    assert worker(site, "en").eval(f"mend({json.dumps(typed)})") == meant


@pytest.mark.parametrize("query", ["why √dk", "why divide by sqrt dk", "sqrt(d_k)", "根号dk"])
def test_a_root_is_found_however_it_is_typed(query: str, site: Path) -> None:
    for lang in ("en", "zh"):
        assert search(site, lang, query)[0][0]["location"].startswith("scaling/")


@each_language
def test_a_query_is_cut_into_what_says_something(lang: str, site: Path) -> None:
    """Names stay whole, and words that say nothing go."""
    cuts = {
        "en": {
            "Why don't rows sum to 1?": ["rows", "sum"],
            "How does the KV cache work?": ["kv cache"],
            "torch.triu diagonal=1": ["torch", "triu", "diagonal"],
            "how": ["how"],
        },
        "zh": {
            "多头有什么用": ["多头"],
            "位置编码为什么是相加？": ["位置编码", "相加"],
            "bert 和 gpt 有什么区别": ["bert", "gpt"],
        },
        "zh-hant": {"位置編碼為什麼是相加？": ["位置编码", "相加"]},
    }[lang]
    for query, terms in cuts.items():
        code = f"JSON.stringify(readTerms(fold({json.dumps(query)})).map((term) => term.name))"
        found = json.loads(worker(site, lang).eval(code))
        folded = [worker(site, lang).eval(f"fold({json.dumps(term)})") for term in terms]
        assert found == folded, query


def test_cells_that_stand_side_by_side_are_words_apart() -> None:
    html = '<h1 id="a">A</h1><table><tr><td>key</td><td>1</td></tr><tr><td>all</td></tr></table>'
    assert find_entries("a/", html)[0]["text"] == "key 1\nall"
