"""Checks made before anything is computed: each says what was wanted and what was got."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace, is_array_api_obj

Array = Any
"""A NumPy array or a torch tensor; a function gives back the kind that it was given."""


def shape(array: Array) -> tuple[int, ...]:
    """The shape as a plain tuple, so that messages read the same for NumPy and torch."""
    return tuple(map(int, array.shape))


def floats(**arrays: Array) -> Any:
    """Return the array namespace that the named arrays share.

    Raises:
        TypeError: one is no array, holds no real floats, or differs from the first in library
            or dtype.
    """
    for name, array in arrays.items():
        if not is_array_api_obj(array):
            raise TypeError(
                f"{name} must be a NumPy array or a torch tensor, got {type(array).__name__}"
            )
    first_name, first = next(iter(arrays.items()))
    xp = array_namespace(first)
    for name, array in arrays.items():
        if type(array) is not type(first) and array_namespace(array) is not xp:
            got = f"{type(first).__name__} and {type(array).__name__}"
            raise TypeError(f"{first_name} and {name} must be of one library, got {got}")
    for name, array in arrays.items():
        if not xp.isdtype(array.dtype, "real floating"):
            raise TypeError(f"{name} must hold real floats, got {array.dtype}")
        if array.dtype != first.dtype:
            raise TypeError(
                f"{first_name} and {name} must share a dtype, got {first.dtype} and {array.dtype}"
            )
    return xp


def matrices(**arrays: Array) -> None:
    """Raise ValueError unless every named array is at least a matrix and has no empty axis."""
    for name, array in arrays.items():
        if array.ndim < 2:
            raise ValueError(
                f"{name} must have at least 2 axes (..., n, d), got shape {shape(array)}"
            )
        if 0 in shape(array):
            raise ValueError(f"{name} must not be empty, got shape {shape(array)}")


def broadcastable(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that the named shapes broadcast to; ValueError where they do not."""
    result: tuple[int, ...] = ()
    for one in shapes.values():
        long, short = (one, result) if len(one) >= len(result) else (result, one)
        padded = (1,) * (len(long) - len(short)) + short
        if any(a != b and 1 not in (a, b) for a, b in zip(long, padded, strict=True)):
            got = " and ".join(str(s) for s in shapes.values())
            raise ValueError(f"{' and '.join(shapes)} must broadcast together, got {got}")
        result = tuple(b if a == 1 else a for a, b in zip(long, padded, strict=True))
    return result


def booleans(weights: Array, **masks: Array) -> None:
    """Raise unless every named mask holds booleans that broadcast to the weights.

    Raises:
        TypeError: a mask holds no booleans, or is of another library.
        ValueError: its shape does not broadcast to that of the weights.
    """
    xp = array_namespace(weights)
    for name, mask in masks.items():
        if type(mask) is not type(weights) or not xp.isdtype(mask.dtype, "bool"):
            got = getattr(mask, "dtype", type(mask).__name__)
            raise TypeError(f"{name} must hold booleans of the weights' library, got {got}")
        if broadcastable(**{name: shape(mask)}, weights=shape(weights)) != shape(weights):
            raise ValueError(
                f"{name} must broadcast to the weights' shape {shape(weights)}, got {shape(mask)}"
            )
