"""Each judged function with what its model answer gives, made wrong in every way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attention_docs.figures.tasks import detach, find_failure
from tests.test_judge import run_exercise, write
from tests.test_write_it import CHAPTERS

Way = Callable[[np.ndarray], np.ndarray]


def add(*place: Any) -> Way:
    """What stands there is one more; of truth values the opposite."""

    def change(array: np.ndarray) -> np.ndarray:
        array[place] = ~array[place] if array.dtype == bool else array[place] + 1
        return array

    return change


WAYS: dict[str, Way] = {
    "first entry": add(..., 0),
    "last entry": add(..., -1),
    "second row": add(..., 1, slice(None)),
    "one row for all": lambda array: np.broadcast_to(array[..., :1, :], array.shape),
    "one column for all": lambda array: np.broadcast_to(array[..., :1], array.shape),
    "rows in another order": lambda array: array[..., ::-1, :],
    "columns in another order": lambda array: array[..., ::-1],
    "transposed": lambda array: np.swapaxes(array, -1, -2),
    "sign": lambda array: -array,
    "one row": lambda array: array[..., :1, :],
    "flat": np.ravel,
    "an axis more": lambda array: array[None],
    "a sum": np.sum,
    "NaN": lambda array: np.where(array == array, np.nan, array),
}


def spoil(answer: Callable[..., Any], way: Way, changed: list[bool]) -> Callable[..., Any]:
    """The model answer, with a result that is wrong in this way where it can be."""

    def written(*arguments: Any) -> Any:
        right = answer(*arguments)
        try:
            wrong = way(np.array(right))
        except (IndexError, TypeError, ValueError):  # it has no second row, or no sign
            return right
        changed.append(not np.array_equal(right, wrong))
        return wrong

    return written


@pytest.mark.parametrize("slug", CHAPTERS)
def test_a_function_is_refused_in_whatever_way_its_result_is_wrong(slug: str) -> None:
    _, task = run_exercise(slug, write(slug, "pass"))
    answer, tried = detach(task.answer), 0
    assert find_failure(spoil(answer, np.array, []), task) is None
    for name, way in WAYS.items():
        changed: list[bool] = []
        failure = find_failure(spoil(answer, way, changed), task)
        assert failure is not None or not any(changed), f"accepted: {name}"
        tried += any(changed)
    assert tried > 3
