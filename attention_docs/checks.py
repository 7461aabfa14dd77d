"""What a signature cannot say of arguments: conditions on their values, told before it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from attention_docs.signatures import Array, Function, array_namespace, checked, shape


def requires(
    wanted: str | Callable[..., str], holds: Callable[..., Any]
) -> Callable[[Function], Function]:
    """Refuse arguments for which a condition does not hold, after `checked` has seen them.

    Args:
        wanted: the message, to which ", got" and the values are added; or a function that makes
            the whole message from what `holds` takes.
        holds: a function of arguments, and of sizes of axes, by their names. Where an axis has no
            size, since its array is left out, the condition is not asked for.

    Examples:
        >>> @requires("n must be at least 1", lambda n: n >= 1)
        ... def halve(n: int) -> float:
        ...     return n / 2
        >>> halve(0)
        Traceback (most recent call last):
        ValueError: n must be at least 1, got 0
    """
    needed = tuple(inspect.signature(holds).parameters)

    def condition(*known: Any) -> None:
        if not holds(*known):
            named = dict(zip(needed, known, strict=True))
            raise ValueError(wanted(**named) if callable(wanted) else _describe(wanted, named))

    def decorate(function: Function) -> Function:
        plain: Any = inspect.unwrap(function)
        plain._conditions = ((needed, condition), *getattr(plain, "_conditions", ()))
        checking: Function = checked(plain)
        return checking

    return decorate


def _describe(wanted: str, values: Mapping[str, Any]) -> str:
    shown = (one.tolist() if is_array_api_obj(one) else one for one in values.values())
    return f"{wanted}, got {' and '.join(map(repr, shown))}"


def batch_axes(*arrays: Array) -> tuple[int, ...]:
    """What all axes but the last two broadcast to."""
    return np.broadcast_shapes(*(shape(array)[:-2] for array in arrays))


def fits(array: Array, wanted: tuple[int, ...]) -> bool:
    """Whether an array broadcasts to a shape."""
    axes = shape(array)
    pairs = zip(axes[::-1], wanted[::-1], strict=False)
    return len(axes) <= len(wanted) and all(size in (1, full) for size, full in pairs)


def in_range(ids: Array, size: int) -> bool:
    """Whether every integer is at least 0 and below the size."""
    return bool(((ids >= 0) & (ids < size)).all())


def check_mask(scores: Array, mask: Any) -> None:
    """Raise unless a mask holds booleans or the scores' dtype, and broadcasts to their shape."""
    if not is_array_api_obj(mask) or mask.dtype not in (array_namespace(mask).bool, scores.dtype):
        got = getattr(mask, "dtype", type(mask).__name__)
        raise TypeError(f"mask must hold booleans or {scores.dtype} like the scores, got {got}")
    if array_namespace(mask) is not array_namespace(scores):
        got = f"{type(scores).__name__} and {type(mask).__name__}"
        raise TypeError(f"scores and mask must be of one library, got {got}")
    if not fits(mask, shape(scores)):
        raise ValueError(
            f"mask must broadcast to the scores' shape {shape(scores)}, got {shape(mask)}"
        )
