"""The published numbers of the chapter kernels, by hand."""

from math import e, exp

import pytest

from tests.conftest import Page


@pytest.fixture
def chapter(page) -> Page:
    return page("en", "kernels")


def test_weights(chapter: Page) -> None:
    total = 1 + e + exp(2)
    wanted = [1 / total, e / total, exp(2) / total]
    assert chapter.column("weights", "weight") == [round(one, 4) for one in wanted]
    assert chapter.values("weights") == [f"{wanted[2]:.4f}"]


def test_shift(chapter: Page) -> None:
    """All frames of the control show the weights of the table."""
    frames = [svg["aria-label"] for svg in chapter.article.select("#out-control svg")]
    assert len(frames) == 3
    assert len(set(frames)) == 1


def test_ratio(chapter: Page) -> None:
    assert chapter.table("exercise-ratio") == [{"weight 3 / weight 2": f"{e:.4f}"}]
