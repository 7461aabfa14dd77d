"""The picture shown where a page is shared: its pixels."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from attention_docs.figures.card import draw_card
from tests.conftest import ROOT

FONTS = ROOT / "docs" / "assets" / "fonts" / "attention-math.woff2"
WEIGHTS = [[0.1361, 0.4319, 0.432], [0.0009, 0.9088, 0.0903], [0.0074, 0.7547, 0.2379]]
CELL, LEFT, TOP = 150, 695, 115


def pixels(weights: list[list[float]]) -> np.ndarray:
    """Rows of pixels; red, green, blue."""
    image = Image.open(io.BytesIO(draw_card(weights, FONTS)))
    assert (image.format, image.mode, image.size) == ("PNG", "RGB", (1200, 630))
    return np.asarray(image).astype(int)


CARD = pixels(WEIGHTS)
DARK = CARD.sum(axis=2) < 200  # ink: #23272d and what is nearly as dark


def cell(i: int, j: int) -> tuple[slice, slice]:
    """The pixels of a cell inside its frame."""
    y, x = TOP + i * CELL, LEFT + j * CELL
    return slice(y + 4, y + CELL - 4), slice(x + 4, x + CELL - 4)


@pytest.mark.parametrize("i", range(3))
@pytest.mark.parametrize("j", range(3))
def test_a_cell_has_the_shade_and_the_digits_of_its_weight(i: int, j: int) -> None:
    # The yellow of weights, #f7d046, over the paper, #fbfaf5: 6 % for 0, 100 % for 1.
    share = 0.06 + 0.94 * WEIGHTS[i][j]
    pairs = zip((0xF7, 0xD0, 0x46), (0xFB, 0xFA, 0xF5), strict=True)
    wanted = [round(share * part + (1 - share) * page) for part, page in pairs]
    inside = CARD[cell(i, j)]
    assert np.abs(inside[5, 5] - wanted).max() <= 1
    assert 200 < DARK[cell(i, j)].sum() < 3000


def test_a_weight_that_moves_by_its_last_digit_moves_its_own_digits_alone() -> None:
    moved = [list(row) for row in WEIGHTS]
    moved[1][2] += 0.0001
    changed = (pixels(moved) != CARD).any(axis=2)
    rows, columns = cell(1, 2)
    inside = changed[rows, columns]
    assert inside.any()
    outside = changed.copy()
    outside[rows, columns] = False
    assert not outside.any()
    # The last of the digits, on the right of the middle.
    assert inside[:, CELL // 2 :].sum() > inside[:, : CELL // 2].sum()


def test_equal_digits_look_equal() -> None:
    same = [list(row) for row in WEIGHTS]
    same[2][0] = same[0][2]
    drawn = pixels(same)
    assert (drawn[cell(2, 0)] == drawn[cell(0, 2)]).all()
    assert not (drawn[cell(2, 0)] == drawn[cell(0, 1)]).all()  # 0.4320 and 0.4319


def test_formula_and_indices_stand_beside_the_map() -> None:
    formula = DARK[:, :600]
    rows, columns = np.nonzero(formula)
    assert rows.size > 3000
    assert columns.min() > 30
    assert rows.min() > 200
    assert rows.max() < 450
    for i in range(3):
        along = slice(i * CELL + 40, i * CELL + CELL - 40)
        assert DARK[TOP:, LEFT - 90 : LEFT - 5][along].sum() > 100
        assert DARK[: TOP - 5, LEFT:][:, along].sum() > 100
    edge = np.ones_like(DARK)
    edge[20:-20, 20:-20] = False
    assert not DARK[edge].any()


def test_the_paper_is_squared():
    """Lines every 30 pixels, in line with the frame of the map, and paper between them."""
    row = CARD[TOP - 90 + 3]
    lines = [x for x in range(1200) if (row[x] != row[LEFT - 15]).any()]
    assert lines == [x for x in range(1200) if (x - LEFT) % 30 == 0]
    assert row[LEFT - 15].tolist() == [0xFB, 0xFA, 0xF5]
