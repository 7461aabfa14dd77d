"""The first page: two saws look for the word before them, by hand, with mpmath and with torch."""

import re

import mpmath
import numpy as np
import pytest
import torch

from attention_docs.site.read.settings import read_settings
from tests.conftest import ROOT, each_language, find_page_folder, parse_html, read_heading
from tests.exact import assert_printed
from tests.test_minilm import count_in_kept

CHAPTERS = {path.stem for path in (ROOT / "docs" / "listings").glob("*.py")} - {"index"}
# A place fits itself (1), its neighbours not at all (0), and the one opposite the worst (−1). The
# query is 3 times the place before, where before the first place stands the last.
FITS = [[(1, 0, -1, 0)[(j - i + 1) % 4] for j in range(4)] for i in range(4)]
SCORES = [[3 * fit / mpmath.sqrt(2) for fit in row] for row in FITS]
POWERS = [[mpmath.exp(score) for score in row] for row in SCORES]
WEIGHTS = [[power / sum(row) for power in row] for row in POWERS]
OUTPUTS = [[row[0], row[2]] for row in WEIGHTS]  # I speaks for a verb, a for a noun
LABELS = {
    "en": "Weights, a row for each query and a column for each key:",
    "zh": "权重，每个查询一行，每个键一列：",
}


@pytest.mark.site
def test_map(page):
    index = page("en", "index")
    assert_printed(index.array("map"), WEIGHTS)
    assert_printed(index.array("map", 1), OUTPUTS)
    said = [f"{float(x):.4f}" for x in (WEIGHTS[3][2], *OUTPUTS[3], WEIGHTS[1][0])]
    assert index.values("map") == [said[0], f"[{said[1]}, {said[2]}]", said[3]]


def test_torch_agrees_with_the_definition():
    places = torch.tensor([[0, 1], [-1, 0], [0, -1], [1, 0]], dtype=torch.float64)
    queries = 3 * places.roll(1, dims=0)
    values = torch.tensor([[1, 0], [0, 0], [0, 1], [0, 0]], dtype=torch.float64)
    got = torch.nn.functional.scaled_dot_product_attention(queries, places, values)
    np.testing.assert_allclose(got.numpy(), np.array(OUTPUTS, dtype=float), atol=1e-12)
    np.testing.assert_allclose([float(sum(row)) for row in WEIGHTS], 1, atol=1e-12)


@pytest.mark.site
@each_language
def test_one_title(site, lang):
    index = parse_html(find_page_folder(site, lang, "index") / "index.html")
    assert index.xpath("count(//h1)") == 1


def round_numbers(numbers):
    return [f"{float(number):.2f}".replace("-", "−") for number in numbers]


@pytest.mark.site
def test_the_picture_goes_from_each_query_to_its_output(page):
    """Everything stays in sight at each stage, and the caption says what is new."""
    frames = {one["data-at"]: one for one in page("en", "index").article.select("#out-map .frame")}
    assert list(frames) == [f"{n} {stage}" for n in (1, 2) for stage in (1, 2, 3, 4)]
    for n, (i, best) in enumerate(((1, "I"), (3, "a")), start=1):
        columns = [round_numbers(one) for one in (SCORES[i], WEIGHTS[i])]
        output = round_numbers(OUTPUTS[i])
        for stage in (1, 2, 3, 4):
            frame = frames[f"{n} {stage}"]
            query, table, gives = (svg["aria-label"] for svg in frame.select("svg"))
            (found,) = re.findall(r"Row 1: (−?\d), (−?\d)\.", query)
            assert [int(x.replace("−", "-")) for x in found] == [[0, 3], [0, -3]][n - 1]
            for column in columns:
                assert re.search(
                    r"\. ".join(rf"Row {r}: {x}" for r, x in enumerate(column, 1)), table
                )
            assert ", ".join(output) in gives
        said = [frames[f"{n} {stage}"].figcaption.get_text() for stage in (2, 3, 4)]
        scores, weights = (
            max(column, key=lambda one: float(one.replace("−", "-"))) for column in columns
        )
        largest = [f"{best} has {scores}.", f"{best} gets {weights} of all"]
        for caption, words in zip(
            said, [*largest, f"{output[0]} for verb and {output[1]} for noun"], strict=True
        ):
            assert words in caption


def title_on(card):
    return card.select_one("a.card-title").get_text().replace("\u2060", "")


def title_of(site, lang, slug):
    return read_heading(parse_html(find_page_folder(site, lang, slug) / "index.html"))


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
    assert [title_on(card) for card in cards] == [*headings.values()]
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
    assert first.startswith("[[0.0956, 0.0115")


@pytest.mark.site
def test_the_maps_of_a_real_model(page):
    """The text beside a reader's own sentence; test_minilm.py measures it again."""
    looks, values = count_in_kept()
    np.testing.assert_allclose(page("en", "index").grid("own"), looks, rtol=0, atol=0.00501)
    assert page("en", "index").values("own-sentence") == values
