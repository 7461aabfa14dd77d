"""The first page: two saws look for the word before them, by hand, with mpmath and with torch."""

import re

import mpmath
import numpy as np
import torch

from tests.conftest import ROOT, SETTINGS, each_language, find_page_folder, parse_html, read_heading
from tests.exact import assert_printed
from tests.test_minilm import count_in_kept

CHAPTERS = {path.stem for path in (ROOT / "docs" / "listings").glob("*.py")} - {"index"}
# A word asks for the place before its own: 6 there and 0 elsewhere, divided by √4. Nothing stands
# before the first word.
SCORES = [[mpmath.mpf(6 * (j == i - 1)) / 2 for j in range(4)] for i in range(4)]
POWERS = [[mpmath.exp(score) for score in row] for row in SCORES]
WEIGHTS = [[power / sum(row) for power in row] for row in POWERS]
OUTPUTS = [[row[0], row[2]] for row in WEIGHTS]  # I speaks for a verb, a for a noun
LABELS = {
    "en": "Weights, a row for each query and a column for each key:",
    "zh": "权重，每个查询一行，每个键一列：",
}


def test_map(chapter):
    assert_printed(chapter.array("map"), WEIGHTS)
    assert_printed(chapter.array("map", 1), OUTPUTS)
    said = [f"{float(x):.4f}" for x in (WEIGHTS[3][2], *OUTPUTS[3], WEIGHTS[1][0])]
    query = [str(2 * int(SCORES[3][2])), str(int(SCORES[3][2]))]  # its length and its score
    vector = f"[{said[1]}, {said[2]}]"
    assert chapter.values("map") == [*query, said[0], vector, said[3], f"{1 / 4:.2f}"]


def test_torch_agrees_with_the_definition():
    places = torch.eye(4, dtype=torch.float64)
    queries = 6 * places.roll(1, dims=0)
    queries[0] = 0
    values = torch.tensor([[1, 0], [0, 0], [0, 1], [0, 0]], dtype=torch.float64)
    got = torch.nn.functional.scaled_dot_product_attention(queries, places, values)
    np.testing.assert_allclose(got.numpy(), np.array(OUTPUTS, dtype=float), atol=1e-12)
    np.testing.assert_allclose([float(sum(row)) for row in WEIGHTS], 1, atol=1e-12)


@each_language
def test_one_title(site, lang):
    index = parse_html(find_page_folder(site, lang, "index") / "index.html")
    assert index.xpath("count(//h1)") == 1


def round_numbers(numbers):
    return [f"{float(number):.2f}" for number in numbers]


def test_the_picture_tells_every_word_from_its_scores_to_its_output(chapter):
    frames = chapter.frames("map")
    assert [frame.at for frame in frames] == ["1", "2", "3", "4"]
    words = ["I", "saw", "a", "saw"]
    for i, frame in enumerate(frames):
        (label,) = frame.labels
        for numbers in (WEIGHTS[i], SCORES[i]):
            pairs = zip(words, round_numbers(numbers), strict=True)
            assert ": " + ", ".join(f"{word} {number}" for word, number in pairs) + "." in label
        verb, noun = round_numbers(OUTPUTS[i])
        assert label.endswith(f"Output: {verb} for verb and {noun} for noun.")
        assert f"is {verb} for verb and {noun} for noun." in frame.caption
    for i, best in ((1, "“I” (word 1)"), (2, "“saw” (word 2)"), (3, "“a” (word 3)")):
        largest = round_numbers([max(WEIGHTS[i])])[0]
        wanted = f"It gives {best} the largest weight, {largest}."
        assert wanted in frames[i].caption
    assert "every word the same weight, 0.25." in frames[0].caption


def title_on(card):
    return card.select_one("a.card-title").get_text()


def title_of(site, lang, slug):
    return read_heading(parse_html(find_page_folder(site, lang, slug) / "index.html"))


def joined(described):
    return described.replace("、", ", ")


@each_language
def test_every_chapter_has_its_card_in_reading_order(soup, site, lang):
    cards = soup(lang, "index").article.select(".chapters > .card")
    linked = [card.select_one("a.card-title")["href"].strip("/") for card in cards]
    assert linked == [slug for slug in SETTINGS.order if slug in CHAPTERS]
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


@each_language
def test_the_navigation_shows_the_same_glyphs(soup, lang):
    for slug in ("index", "masking"):
        links = soup(lang, slug).select(
            ".md-nav--primary .md-nav__link:has(svg path[fill-opacity='.14'])"
        )
        assert len(links) >= len(CHAPTERS)


@each_language
def test_the_picture_comes_first_and_its_numbers_are_folded_below(soup, lang):
    output = soup(lang, "index").article.select_one("#out-map")
    figure, tools = output.find_all(recursive=False)
    fold, origin = tools.find_all(recursive=False)
    assert (figure.name, fold["class"], origin["class"]) == ("figure", ["code"], ["origin"])
    assert not fold.has_attr("open")
    label, first, *_ = fold.select_one("pre").get_text().splitlines()
    assert label == LABELS[lang]
    assert first.startswith("[[0.2500, 0.2500")


def test_the_maps_of_a_real_model(chapter):
    """The text beside a reader's own sentence; test_minilm.py measures it again."""
    looks, values = count_in_kept()
    np.testing.assert_allclose(chapter.grid("own"), looks, rtol=0, atol=0.00501)
    head, layer, many, switched, cosine, more, similarity = values
    said = [head, layer, switched, many, similarity, cosine, more]  # in the order of this page
    assert chapter.values("own-sentence") == said
