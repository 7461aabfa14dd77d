"""The first page: its attention map, with mpmath and with torch."""

import re

import mpmath
import numpy as np
import pytest
import torch

from attention_docs.site.read.settings import read_settings
from tests.conftest import ROOT, each_language, find_page_folder, parse_html
from tests.exact import KEYS, QUERIES, VALUES, assert_printed, attention_weights, product, transpose

CHAPTERS = {path.stem for path in (ROOT / "docs" / "listings").glob("*.py")} - {"index"}
WEIGHTS = attention_weights(QUERIES, KEYS, mpmath.sqrt(3))
OUTPUTS = product(WEIGHTS, VALUES)
LABELS = {
    "en": "Weights, a row for each query and a column for each key:",
    "zh": "权重，每个查询一行，每个键一列：",
}


@pytest.mark.site
def test_map(page):
    index = page("en", "index")
    assert_printed(index.array("map"), WEIGHTS)
    assert_printed(index.array("map", 1), OUTPUTS)
    assert index.values("map") == ["0.1361", "0.4319", "0.4319", "[1.8639, 6.3194, 1.7042]"]


def test_torch_agrees_with_the_definition():
    tensors = [torch.tensor(m, dtype=torch.float64) for m in (QUERIES, KEYS, VALUES)]
    got = torch.nn.functional.scaled_dot_product_attention(*tensors)
    np.testing.assert_allclose(got.numpy(), np.array(OUTPUTS, dtype=float), atol=1e-12)
    np.testing.assert_allclose([float(sum(row)) for row in WEIGHTS], 1, atol=1e-12)


@pytest.mark.site
@each_language
def test_one_title(site, lang):
    index = parse_html(find_page_folder(site, lang, "index") / "index.html")
    assert index.xpath("count(//h1)") == 1


def round_numbers(numbers):
    return [f"{float(number):.2f}" for number in numbers]


@pytest.mark.site
def test_the_picture_goes_from_each_query_to_its_output(page):
    frames = {one["data-at"]: one for one in page("en", "index").article.select("#out-map .frame")}
    assert list(frames) == [f"{i} {stage}" for i in (1, 2, 3) for stage in (1, 2, 3, 4)]
    for i in range(3):
        scores = [score / mpmath.sqrt(3) for score in product([QUERIES[i]], transpose(KEYS))[0]]
        made = [[str(x) for x in QUERIES[i]], *map(round_numbers, (scores, WEIGHTS[i], OUTPUTS[i]))]
        for stage in range(1, 5):
            frame = frames[f"{i + 1} {stage}"]
            steps, weights = (svg["aria-label"] for svg in frame.select("svg"))
            for n, numbers in enumerate(made, start=1):  # later cells are not described
                assert (", ".join(numbers) in steps) == (n <= stage), (i, stage)
            assert all(", ".join(round_numbers(row)) in weights for row in WEIGHTS)
            if stage > 1:
                assert ", ".join(made[stage - 1]) in frame.figcaption.get_text()


def title_of(site, lang, slug):
    return parse_html(find_page_folder(site, lang, slug) / "index.html").find(".//h1").text.strip()


def joined(described):
    return described.replace("、", ", ")


@pytest.mark.site
@each_language
def test_every_chapter_has_its_card_in_reading_order(page, site, lang):
    index = page(lang, "index")
    cards = index.article.select(".chapters > .card")
    linked = [card.select_one("a.card-title")["href"].strip("/") for card in cards]
    assert linked == [slug for slug in read_settings(ROOT).order if slug in CHAPTERS]
    assert [card.select_one(".number").get_text() for card in cards] == [
        str(n) for n in range(1, len(cards) + 1)
    ]
    headings = {slug: title_of(site, lang, slug) for slug in linked}
    assert [card.select_one("a.card-title").get_text() for card in cards] == [*headings.values()]
    glyphs = {str(card.select_one(".glyph svg")) for card in cards}
    assert len(glyphs) == len(cards)
    for card in cards:
        minutes = card.select_one(".said .minutes").extract().get_text()
        assert re.fullmatch(r"\d+ minutes|\d+ 分钟", minutes)
        assert card.select_one(".said").get_text().strip().endswith(("?", "？"))


@pytest.mark.site
@each_language
def test_the_navigation_shows_the_same_glyphs(page, lang):
    for slug in ("index", "masking"):
        whole = page(lang, slug).soup
        links = whole.select(".md-nav--primary .md-nav__link:has(svg path[fill-opacity='.14'])")
        assert len(links) >= len(CHAPTERS)


@pytest.mark.site
@each_language
def test_the_picture_comes_first_and_its_numbers_are_folded_below(page, lang):
    output = page(lang, "index").article.select_one("#out-map")
    figure, tools = output.find_all(recursive=False)
    fold, origin = tools.find_all(recursive=False)
    assert (figure.name, fold["class"], origin["class"]) == ("figure", ["code"], ["origin"])
    assert not fold.has_attr("open")
    label, first, *_ = fold.select_one("pre").get_text().splitlines()
    assert label == LABELS[lang]
    assert first.startswith("[[0.1361, 0.4319")
