"""The picture shown where a page is shared: its pixels."""

from __future__ import annotations

import io
from math import exp

import numpy as np
import pytest
from PIL import Image

from attention_docs.colours import read_palette
from attention_docs.figures.share_card import compute_card_weights, draw_card
from tests.conftest import ROOT

FONTS = ROOT / "docs" / "assets" / "fonts" / "attention-math.woff2"
WEIGHTS = [0.125, 0.0625, 0.6875, 0.125]
COLOURS = read_palette("light")
YELLOW, GREEN = COLOURS["role-weight-fill"], COLOURS["role-output-fill"]
RED = COLOURS["role-query"]
LEFT, PITCH, WIDE = 655, 140, 112  # of the words: first column, columns, width of a box


def pixels(weights: list[float]) -> np.ndarray:
    """Rows of pixels; red, green, blue."""
    image = Image.open(io.BytesIO(draw_card(weights, FONTS)))
    assert (image.format, image.mode, image.size) == ("PNG", "RGB", (1200, 630))
    return np.asarray(image).astype(int)


CARD = pixels(WEIGHTS)
PAPER = [*bytes.fromhex(COLOURS["figure-page"][1:])]
DRAWN = (CARD - PAPER < -40).any(axis=2)  # all but paper and its squares


def is_colour(colour: str, card: np.ndarray = CARD) -> np.ndarray:
    """Where the card has this very colour, as a table of true and false."""
    return (np.abs(card - [*bytes.fromhex(colour[1:])]) <= 2).all(axis=2)


def test_the_weights_are_those_of_the_second_saw() -> None:
    """6 times the cosine of 60° a step from the word before: −1/2, 1/2, 1, 1/2."""
    powers = [exp(score) for score in (-3, 3, 6, 3)]
    assert compute_card_weights() == pytest.approx([p / sum(powers) for p in powers], abs=1e-12)


@pytest.mark.parametrize("j", range(4))
def test_a_ribbon_is_as_wide_as_its_weight(j: int) -> None:
    """Where it leaves its word, above its number, with half of its edges, which are 1 px wide."""
    x = LEFT + j * PITCH
    row = DRAWN[140, x - PITCH // 2 : x + PITCH // 2]
    assert row.sum() == pytest.approx(WEIGHTS[j] * WIDE + 1, abs=1.5)


def test_the_ribbons_fill_the_word_that_asks() -> None:
    columns = np.flatnonzero(DRAWN[366])
    assert columns.min() == pytest.approx(LEFT + 3 * PITCH - WIDE / 2, abs=2)
    assert columns.max() == pytest.approx(LEFT + 3 * PITCH + WIDE / 2, abs=2)
    assert columns.size > 0.98 * WIDE
    assert is_colour(YELLOW)[366].sum() > 0.8 * WIDE


def test_the_bars_are_as_long_as_what_the_words_say() -> None:
    """I, the first word, says verb, and a, the third, says noun."""
    for y, weight in ((497, WEIGHTS[0]), (549, WEIGHTS[2])):
        assert DRAWN[y, 720 : 725 + int(370 * weight) + 8].sum() == pytest.approx(
            370 * weight, abs=2
        )
        assert is_colour(GREEN)[y].sum() > 370 * weight - 9


def test_the_word_that_asks_is_framed_in_red() -> None:
    rows, columns = np.nonzero(is_colour(RED))
    middle = LEFT + 3 * PITCH
    assert (columns.min() + columns.max()) / 2 == pytest.approx(middle, abs=1)
    assert rows.min() > 365
    assert rows.max() < 440


def test_a_weight_that_moves_by_its_last_digit_moves_its_number() -> None:
    moved = [*WEIGHTS[:2], WEIGHTS[2] + 0.01, WEIGHTS[3]]
    x = LEFT + 2 * PITCH
    changed = (pixels(moved) != CARD).any(axis=2)[150:180, x - 25 : x + 25]
    assert changed[:, 25:].sum() > changed[:, :20].sum()  # the last of the digits
