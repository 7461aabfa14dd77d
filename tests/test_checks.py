"""Checks made before anything is computed: what they say, and what they let pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_docs.checks import booleans, broadcastable, floats, matrices

WRONG = [
    ([[1.0]], "q must be a NumPy array or a torch tensor, got list"),
    (np.array([[1, 2]]), "q must hold real floats, got int64"),
    (np.array([[1j]]), "q must hold real floats, got complex128"),
    (np.array([[True]]), "q must hold real floats, got bool"),
    (torch.tensor([[1]]), r"q must hold real floats, got torch.int64"),
]


@pytest.mark.parametrize(("array", "message"), WRONG, ids=[message for _, message in WRONG])
def test_floats_says_wanted_and_got(array: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        floats(q=array)


def test_floats_wants_one_dtype_and_one_library() -> None:
    with pytest.raises(TypeError, match="q and k must share a dtype, got float64 and float32"):
        floats(q=np.ones((1, 1)), k=np.ones((1, 1), dtype=np.float32))
    with pytest.raises(TypeError, match="q and k must be of one library, got ndarray and Tensor"):
        floats(q=np.ones((1, 1)), k=torch.ones((1, 1)))


def test_parameters_of_a_torch_module_are_tensors() -> None:
    floats(q=torch.nn.Parameter(torch.ones(2)), k=torch.ones(2))


def test_matrices_says_wanted_and_got() -> None:
    with pytest.raises(ValueError, match=r"q must have at least 2 axes .*, got shape \(3,\)"):
        matrices(q=np.ones(3))
    with pytest.raises(ValueError, match=r"q must not be empty, got shape \(0, 3\)"):
        matrices(q=np.ones((0, 3)))


SHAPES = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@given(SHAPES, SHAPES)
def test_broadcastable_agrees_with_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        wanted = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="a and b must broadcast together, got"):
            broadcastable(a=a, b=b)
    else:
        assert broadcastable(a=a, b=b) == wanted


def test_booleans() -> None:
    """Of the library of the weights, and not larger than they are."""
    weights = np.ones((2, 3))
    for good in ((2, 3), (1, 3), (3,), ()):
        booleans(weights, mask=np.ones(good, dtype=bool), other=np.ones((2, 1), dtype=bool))
    booleans(torch.ones(2, 3), mask=torch.ones(3, dtype=torch.bool))
    for bad in (np.ones(3), np.ones(3, dtype=int), [True] * 3, torch.ones(3, dtype=torch.bool)):
        with pytest.raises(TypeError, match="mask must hold booleans of the weights' library, got"):
            booleans(weights, mask=bad)
    for shape in ((5, 2, 3), (2, 2, 3)):
        with pytest.raises(ValueError, match=r"must broadcast to the weights' shape \(2, 3\), got"):
            booleans(weights, mask=np.ones(shape, dtype=bool))
    with pytest.raises(ValueError, match="mask and weights must broadcast together"):
        booleans(weights, mask=np.ones(4, dtype=bool))
