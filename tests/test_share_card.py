"""The picture shown where a page is shared: its pixels."""

from __future__ import annotations

import io
import re
from math import exp

import numpy as np
import pytest
from PIL import Image

from attention_docs.colours import read_palette
from attention_docs.figures.share_card import (
    compute_card_weights,
    draw_card,
    draw_chapter_card,
)
from attention_docs.site.build import Build
from attention_docs.site.publish.share_card import find_title
from attention_docs.site.render.cards import read_glyph
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


GLYPH = '<svg><path d="M0 4h3.6v3.6h-3.6z"/><path d="M8 0h3.6v3.6h-3.6z" fill-opacity=".5"/></svg>'


def open_chapter_card(number: str, title: str) -> np.ndarray:
    """Rows of pixels of a chapter's card with two squares."""
    image = Image.open(io.BytesIO(draw_chapter_card(number, title, GLYPH, FONTS)))
    assert (image.format, image.size) == ("PNG", (1200, 630))
    return np.asarray(image.convert("RGB")).astype(int)


def test_a_chapter_shows_its_glyph() -> None:
    """30 px a unit, from 672 and 81: squares of 108 px, one as strong as its opacity says."""
    card = open_chapter_card("5", "Softmax")
    rows, columns = np.nonzero(is_colour(YELLOW, card))
    assert (columns.min(), columns.max(), rows.min(), rows.max()) == (672, 779, 201, 308)
    assert len(rows) == 108 * 108
    yellow = [*bytes.fromhex(YELLOW[1:])]
    half = [(a + b) / 2 for a, b in zip(yellow, PAPER, strict=True)]
    square = card[81 : 81 + 108, 912 : 912 + 108]
    assert (np.abs(square - half) <= 3).all()


def find_ink(card: np.ndarray) -> tuple[int, int, int, int]:
    """Left, right, top and bottom of what is written beside the glyph."""
    rows, columns = np.nonzero((card[:, :660] - PAPER < -90).any(axis=2))
    return columns.min(), columns.max(), rows.min(), rows.max()


def test_a_chapter_shows_its_title() -> None:
    """From its left edge on, in lines that end before the glyph; a longer one has more lines."""
    short = find_ink(open_chapter_card("5", "Softmax"))
    long = find_ink(open_chapter_card("5", "Attention as kernel smoothing: Nadaraya–Watson"))
    assert 60 <= min(short[0], long[0]) <= max(short[0], long[0]) < 66
    assert max(short[1], long[1]) <= 640
    assert short[2] == long[2]  # the number
    assert long[3] - short[3] == pytest.approx(2 * 75, abs=20)  # lines of 1.25 × 60 px


def test_a_root_in_a_title_has_its_line() -> None:
    """A row of ink over d and k, as long as both are wide: 0.52 + 0.7 × 0.52 em of 60 px."""
    card = open_chapter_card("6", "√dₖ")
    line = card[260 - 48 : 260 - 46, 60:200]
    dark = (line - PAPER < -90).any(axis=2).all(axis=0)
    assert dark.sum() == pytest.approx(60 * 0.52 * 1.7, abs=6)


def test_a_chapter_without_a_title_has_a_larger_number() -> None:
    """As where the title is Chinese: 3.4 times as high."""
    high = [
        bottom - top
        for _, _, top, bottom in (
            find_ink(open_chapter_card("5", "")),
            find_ink(open_chapter_card("5", ".")[:200]),
        )
    ]
    assert high[0] / high[1] == pytest.approx(330 / 96, abs=0.1)


def test_which_titles_the_font_can_write() -> None:
    for title, wanted in (("Why divide by √dₖ?", True), ("Nadaraya–Watson", True), ("序", False)):
        assert find_title(ROOT, title) == (title if wanted else "")


def test_every_chapter_has_a_small_card() -> None:
    """At most 12 KB, of which there are three for each chapter."""
    for slug in Build(ROOT, lambda warning: None).numbered:
        page = (ROOT / "docs" / "en" / f"{slug}.md").read_text(encoding="utf-8")
        title = re.search(r"^# (.*) \{", page, re.MULTILINE)[1]
        assert find_title(ROOT, title), title
        card = draw_chapter_card("28", title, read_glyph(slug), FONTS)
        assert len(card) <= 12 * 1024


def test_a_weight_that_moves_by_its_last_digit_moves_its_number() -> None:
    moved = [*WEIGHTS[:2], WEIGHTS[2] + 0.01, WEIGHTS[3]]
    x = LEFT + 2 * PITCH
    changed = (pixels(moved) != CARD).any(axis=2)[150:180, x - 25 : x + 25]
    assert changed[:, 25:].sum() > changed[:, :20].sum()  # the last of the digits
