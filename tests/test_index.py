"""The first page: a dial on which two saws look for the word before them, by hand, with mpmath and
with torch."""

import mpmath

from tests.conftest import each_language
from tests.exact import assert_printed

# A query of length 6 points one place back, and a place is 60° wide: cosines of 0° to 240°.
COSINES = {0: 1, 1: mpmath.mpf(1) / 2, 2: -mpmath.mpf(1) / 2, 3: -1, 4: -mpmath.mpf(1) / 2}
SCORES = [[6 * COSINES[abs(j - (i - 1))] for j in range(4)] for i in range(4)]
POWERS = [[mpmath.exp(score) for score in row] for row in SCORES]
WEIGHTS = [[power / sum(row) for power in row] for row in POWERS]
OUTPUTS = [[row[0], row[2]] for row in WEIGHTS]  # I speaks for a verb, a for a noun
LABELS = {
    "en": "Weights, a row for each query and a column for each key:",
    "zh": "权重，每个查询一行，每个键一列：",
}


def test_map(chapter):
    assert_printed(chapter.array("map"), SCORES)
    assert_printed(chapter.array("map", 1), WEIGHTS)
    assert_printed(chapter.array("map", 2), OUTPUTS)
    said = [f"{float(x):.4f}" for x in (WEIGHTS[3][2], *OUTPUTS[3], WEIGHTS[1][0])]
    scores = [str(int(SCORES[3][j])) for j in (2, 1, 0)]
    vector = f"[{said[1]}, {said[2]}]"
    assert chapter.values("map") == ["6", *scores, said[0], vector, said[3]]


def test_the_picture_tells_scores_weights_and_output(chapter):
    label = chapter.figure("map")
    words = ["“I”", "“saw 2”", "“a”", "“saw 4”"]
    scores = ", ".join(map(" ".join, zip(words, ["−3.0", "3.0", "6.0", "3.0"], strict=True)))
    weights = ", ".join(map(" ".join, zip(words, ["0.00", "0.05", "0.91", "0.05"], strict=True)))
    assert f"Its scores: {scores}. Weights: {weights}." in label
    assert label.endswith("Output: verb 0.00, noun 0.91: a noun, it cuts.")


def test_the_machine_is_that_of_the_first_chapter(chapter, page):
    """There its numbers are counted by hand."""
    assert chapter.figure("machine") == page("en", "next-word").figure("machine")


@each_language
def test_the_last_card_of_a_part_is_its_end(soup, lang):
    parts = soup(lang, "index").article.select(".chapters")
    ends = [part.select(".card:not(:has(.glyph))") for part in parts]
    linked = [[card.select_one("a.card-title")["href"].strip("/") for card in end] for end in ends]
    assert linked == [[f"after-part-{number}"] for number in (1, 2, 3)]
    for part, (end,) in zip(parts, ends, strict=True):
        assert part.select(".card")[-1] == end
        assert end.select_one(".number").get_text() == ""


@each_language
def test_the_picture_comes_first_and_its_numbers_are_folded_below(soup, lang):
    output = soup(lang, "index").article.select_one("#out-map")
    figure, tools = output.find_all(recursive=False)
    fold, origin = tools.find_all(recursive=False)
    assert (figure.name, fold["class"], origin["class"]) == ("figure", ["code"], ["origin"])
    assert not fold.has_attr("open")
    lines = fold.select_one("pre").get_text().splitlines()
    assert lines[lines.index(LABELS[lang]) + 2].startswith(" [0.9525, 0.0474")
