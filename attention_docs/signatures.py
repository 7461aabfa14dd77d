"""Shapes and dtypes of arguments: checked by the annotations of a function, and nowhere else.

`@checked` reads annotations such as `Float[Array, "... n_q d_k"]` once, and at every call demands:

- An array holds numbers of the kind that is asked for, and all arrays are of one library.
- A name of an axis means one size in the whole call, and no axis with a name is empty.
- The axes of `...` broadcast together; those of a name with a star, as in `*batch n`, are equal.
- Floats share a dtype. An annotation of `...` alone takes any shape, and any dtype of its kind.
- Of an argument that is a NamedTuple the fields are checked, but for those that are None.

Arrays within other containers are not checked. Any other annotation with axes that cannot be read
is refused when the function is defined.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import array_api_compat
import numpy as np
from array_api_compat import is_array_api_obj

EMPTY = inspect.Parameter.empty  # stands for an argument that is missing
Array = Any  # a NumPy array or a torch tensor; a function gives back the kind that it was given
First = tuple[str, Array, Any]  # the array that set a size or a dtype: its name, itself, the size
Function = TypeVar("Function", bound=Callable[..., Any])

KINDS = {"Float": "real floats", "Float64": "float64", "Int": "integers", "Bool": "booleans"}
CATEGORIES = {"Float": "real floating", "Int": "integral", "Bool": "bool"}  # of the array API
AXES = {"n_k": "their number of tokens"}  # in messages, where the name of an axis says too little
ANNOTATION = re.compile(r"""(\w+)\[([\w.]+), ['"](\.\.\.|\*\w+)?((?: ?\w+)*)['"]\]( \| None)?""")
CONTAINERS = ("Callable[", "Collection[", "Mapping[", "Sequence[", "dict[", "list[", "tuple[")


class Demand(NamedTuple):
    """What an annotation says of one array."""

    name: str  # in messages
    argument: str
    field: str  # of the argument, a NamedTuple; "" where it is the array itself
    kind: str
    is_numpy: bool
    batch: str  # "...", "*name" or ""
    axes: tuple[str, ...]
    is_optional: bool


def array_namespace(*arrays: Array) -> Any:
    """The functions of the array API for these arrays: those of NumPy are NumPy's own.

    array_api_compat would copy them, and to do so load all modules of NumPy.
    """
    if all(isinstance(one, np.ndarray | np.generic) for one in arrays):
        return np
    return array_api_compat.array_namespace(*arrays)


def shape(array: Array) -> tuple[int, ...]:
    """The shape as a plain tuple, so that messages read the same for NumPy and torch."""
    return tuple(map(int, array.shape))


def checked(function: Function) -> Function:
    """Compare the arguments with the annotations, then with the conditions of `requires`."""
    parameters = inspect.signature(function).parameters
    names = tuple(parameters)
    rest = tuple(one.default for one in parameters.values())
    demands = [demand for name in names for demand in _read_demands(function, name)]
    places = [names.index(demand.argument) for demand in demands]
    fields = [demand.field for demand in demands]
    has_fields = any(fields)
    conditions = [
        ([names.index(name) if name in names else name for name in needed], condition)
        for needed, condition in getattr(function, "_conditions", ())
    ]
    passed: dict[Any, dict[str, Any]] = {}  # sizes of axes, by shapes and dtypes once found right

    @wraps(function)
    def check_and_call(*args: Any, **kwargs: Any) -> Any:
        given = args + rest[len(args) :]
        if kwargs:
            given = tuple([kwargs.get(name, one) for name, one in zip(names, given, strict=False)])
        arrays = [given[place] for place in places]
        if has_fields:
            pairs = zip(arrays, fields, strict=True)
            arrays = [getattr(one, field, None) if field else one for one, field in pairs]
        key = tuple([(type(a), getattr(a, "dtype", 0), getattr(a, "shape", 0)) for a in arrays])
        if (sizes := passed.get(key)) is None:
            sizes = passed[key] = _check_arrays(demands, arrays)
        for needed, condition in conditions:  # of arguments by their places, of sizes by names
            known = [
                given[one] if isinstance(one, int) else sizes.get(one, EMPTY) for one in needed
            ]
            if all([one is not EMPTY for one in known]):  # noqa: C419 - a generator is slower
                condition(*known)
        return function(*args, **kwargs)

    return check_and_call  # type: ignore[return-value]


def _read_demands(function: Any, argument: str) -> Iterator[Demand]:
    """What is demanded of an array, or of each field of a NamedTuple."""
    annotation = str(function.__annotations__.get(argument, ""))
    owner = function.__globals__.get(annotation.removesuffix(" | None"))
    texts = {field: owner.__annotations__[field] for field in getattr(owner, "_fields", ())}
    for field, text in (texts or {"": annotation}).items():
        said = str(getattr(text, "__forward_arg__", text))
        name, match = f"{argument}.{field}".rstrip("."), ANNOTATION.fullmatch(said)
        if match and match[1] in KINDS:
            axes = tuple(match[4].split())
            options = (
                match[1],
                match[2] == "np.ndarray",
                match[3] or "",
                axes,
                bool(match[5] or field),
            )
            yield Demand(name, argument, field, *options)
        elif re.search(r"(?:Array|ndarray|Tensor), \W", said) and not said.startswith(CONTAINERS):
            wanted = "wanted an annotation such as Float[Array, '... n d'] | None"
            raise TypeError(f"{name} of {function.__qualname__}: {wanted}, got {said}")


def _check_arrays(demands: Sequence[Demand], arrays: Sequence[Any]) -> dict[str, Any]:
    """Raise at the first array that is not as demanded; return the sizes of all axes."""
    firsts: dict[str, First] = {}
    for demand, array in zip(demands, arrays, strict=True):
        if array is EMPTY or (array is None and demand.is_optional):
            continue  # of an argument that is missing Python tells when the function is called
        _check_kind(demand, array, firsts)
        _check_axes(demand, array, firsts)
    return {axis: size for axis, (_, _, size) in firsts.items()}


def _check_kind(demand: Demand, array: Any, firsts: dict[str, First]) -> None:
    """Kind of numbers, library and dtype."""
    name, article = demand.name, "a NumPy" if demand.is_numpy else "an"
    kind = f"{article} array of {KINDS[demand.kind]}"
    if not isinstance(array, np.ndarray) if demand.is_numpy else not is_array_api_obj(array):
        raise TypeError(f"{name} must be {kind}, got {type(array).__name__}")
    xp = array_namespace(array)
    if not xp.isdtype(array.dtype, CATEGORIES.get(demand.kind, xp.float64)):
        raise TypeError(f"{name} must be {kind}, got {array.dtype}")
    first = firsts.setdefault("library", (name, array, None))
    if array_namespace(first[1]) is not xp:
        raise TypeError(_tell(first, name, array, "be of one library", lambda a: type(a).__name__))
    shares = demand.kind == "Float" and (demand.axes or demand.batch != "...")
    if shares and array.dtype != firsts.setdefault("dtype", (name, array, None))[1].dtype:
        raise TypeError(_tell(firsts["dtype"], name, array, "share a dtype", lambda a: a.dtype))


def _check_axes(demand: Demand, array: Array, firsts: dict[str, First]) -> None:
    """Number of axes, and sizes that are those of the arrays before."""
    name, batch, axes, lengths = demand.name, demand.batch, demand.axes, shape(array)
    split = len(lengths) - len(axes)
    fits = split == 0 or (split > 0 and batch != "")
    sizes: Any = zip(axes, lengths[split:], strict=True) if fits else ()
    for axis, size in (*sizes, *[(batch, lengths[:split])] * batch.startswith("*")):
        if size == 0:
            raise ValueError(f"{name} must not be empty, got shape {lengths}")
        first = firsts.setdefault(axis, (name, array, int(axis) if axis.isdigit() else size))
        if size != first[2] and name != first[0]:
            what = "their batch axes" if axis == batch else AXES.get(axis, axis)
            raise ValueError(_tell(first, name, array, f"share {what}"))
        fits = fits and size == first[2]
    if not fits:
        wanted = ", ".join(filter(None, (batch, *axes)))
        raise ValueError(f"{name} must have axes ({wanted}), got shape {lengths}")
    if batch == "..." and axes:
        first = firsts.setdefault(batch, (name, array, lengths[:split]))
        try:
            both = np.broadcast_shapes(lengths[:split], first[2])
        except ValueError:
            raise ValueError(_tell(first, name, array, "broadcast together")) from None
        if both != first[2]:
            firsts[batch] = name, array, both


def _tell(first: First, name: str, array: Array, wanted: str, of: Any = shape) -> str:
    return f"{first[0]} and {name} must {wanted}, got {of(first[1])} and {of(array)}"
