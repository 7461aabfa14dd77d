"""Copies of a namespace and of what code may set outside its names."""

from __future__ import annotations

import contextlib
import copy
import decimal
import importlib
import io
import itertools
import operator
import pickle
import random
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from attention_docs.running.imports import find_imports
from attention_docs.site.run.reach import TAME_MODULES

OWN = "attention_docs"
DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)
WATCHED = {OWN, "array_api_compat", "builtins"} | TAME_MODULES - {"torch"}
"""Packages whose modules are noted: what code may import."""
FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__")
_get_function_parts = operator.attrgetter(*FUNCTION_PARTS)
HEAP_TYPE = 1 << 9  # a class that was made in Python, or that can be changed like one

Fixed = dict[int, Any]
"""What every copy shares, by its identity: modules, functions and classes.

Defaults of functions and attributes of classes are copied, and set again with the copy.
"""


class Copier(pickle.Pickler):
    """Copies what has a state, and refuses what would be shared; views stay views."""

    def __init__(self, file: io.BytesIO, fixed: Fixed) -> None:
        super().__init__(file, protocol=5)
        self.fixed = fixed

    def reducer_override(self, obj: Any) -> Any:
        """How one object is copied."""
        if any(obj is one for one in (_Shared, _make_view, _set_defaults, _set_attributes)):
            return NotImplemented
        if isinstance(obj, types.ModuleType | types.BuiltinFunctionType | np.ufunc):
            return self._share(obj)
        if isinstance(obj, types.FunctionType):
            if is_stateless(obj):
                return self._share(obj)
            if is_closed(obj) or vars(obj):
                raise ValueError(f"{obj} has a state")
            self.fixed[id(obj)] = obj
            return _set_defaults, (id(obj), obj.__defaults__, obj.__kwdefaults__)
        if isinstance(obj, type):
            if obj.__module__ != "listing":
                return self._share(obj)
            return self._share_with_attributes(obj)
        if type(obj) is np.ndarray and type(obj.base) is np.ndarray and obj.base.flags.forc:
            start = obj.__array_interface__["data"][0] - obj.base.__array_interface__["data"][0]
            flat = (obj.dtype, obj.shape, start, obj.strides, obj.flags.writeable)
            return _make_view, (obj.base, *flat)
        return NotImplemented

    def _share(self, obj: Any) -> Any:
        self.fixed[id(obj)] = obj
        return _Shared, (id(obj),)

    def _share_with_attributes(self, obj: type) -> Any:
        functions = [one for one in vars(obj).values() if isinstance(one, types.FunctionType)]
        if not all(map(is_stateless, functions)):
            raise ValueError(f"{obj} has a state")
        self.fixed[id(obj)] = obj
        return _set_attributes, (id(obj), read_attributes(obj))


class _Shared:
    """Stands in a copy for what all copies share."""

    fixed: ClassVar[Fixed] = {}

    def __new__(cls, number: int) -> Any:
        """The thing itself."""
        return cls.fixed[number]


def _set_defaults(number: int, defaults: Any, keyword_defaults: Any) -> Any:
    """A function, with the defaults that it had."""
    function = _Shared.fixed[number]
    function.__defaults__, function.__kwdefaults__ = defaults, keyword_defaults
    return function


def _set_attributes(number: int, attributes: dict[str, Any]) -> Any:
    """A class, with the attributes that it had."""
    own = _Shared.fixed[number]
    for name in read_attributes(own).keys() - attributes.keys():
        delattr(own, name)
    for name, value in attributes.items():
        setattr(own, name, value)
    return own


def _make_view(base: Any, dtype: Any, shape: Any, start: int, strides: Any, writable: bool) -> Any:
    """A view of a copied array, as it was of the array."""
    owner = base if base.flags.c_contiguous else base.T
    view = np.ndarray(shape, dtype, owner, start, strides)
    view.flags.writeable = writable
    return view


def read_ambient_state() -> dict[str, Any]:
    """What code may set outside its names."""
    return {
        "numpy": np.random.get_state(),
        "random": random.getstate(),
        "errors": np.geterr(),
        "print": np.get_printoptions(),
        "decimal": _get_decimal_context(),
    }


def _get_decimal_context() -> Any:
    """How decimals are rounded; what they were rounded for is no part of it."""
    context = decimal.getcontext().copy()
    context.clear_flags()
    return context


def restore_ambient_state(around: dict[str, Any]) -> None:
    np.random.set_state(around["numpy"])
    random.setstate(around["random"])
    np.seterr(**around["errors"])
    np.set_printoptions(**around["print"])
    decimal.setcontext(around["decimal"].copy())


def copy_namespace(space: Any, fixed: Fixed) -> bytes:
    """A copy of a namespace; an error where the copy would share a state with it."""
    file = io.BytesIO()
    Copier(file, fixed).dump(space)
    return file.getvalue()


def restore_namespace(state: bytes, fixed: Fixed) -> Any:
    _Shared.fixed = fixed
    return pickle.loads(state)


def read_attributes(obj: type) -> dict[str, Any]:
    """What a class holds besides its functions and what Python itself has put there."""
    made = (types.FunctionType, property, staticmethod, classmethod, *DESCRIPTORS)
    return {
        name: value
        for name, value in vars(obj).items()
        if not isinstance(value, made) and not (name.startswith("__") and name.endswith("__"))
    }


def is_stateless(obj: types.FunctionType) -> bool:
    """Whether a function holds nothing that could change."""
    defaults = [*(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()]
    if obj.__module__ != "listing" and not is_closed(obj):
        return True  # of a library
    if getattr(sys.modules.get(obj.__module__), obj.__qualname__, None) is obj:
        return True  # of a library too, which has wrapped it: @checked
    return not is_closed(obj) and not vars(obj) and all(map(_is_fixed, defaults))


def is_closed(function: types.FunctionType) -> bool:
    """Whether a function has variables of another function; that of super() never changes."""
    return function.__code__.co_freevars not in ((), ("__class__",))


def _is_fixed(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_is_fixed, value))
    return isinstance(value, int | float | str | bytes | type(None) | type)


def _list_parts(holder: Any) -> Mapping[str, Any]:
    """What can be set in a module, a class or a function that stays the same object."""
    if isinstance(holder, types.FunctionType):
        return dict(zip(FUNCTION_PARTS, _get_function_parts(holder), strict=True))
    parts: Mapping[str, Any] = vars(holder)
    return parts


def _copy_table(table: Any) -> Any:
    """A copy that equals a table of constants: of all in it, or of the table alone."""
    with contextlib.suppress(TypeError, ValueError):  # a module or an array in it
        copied = copy.deepcopy(table)
        if copied == table:
            return copied
    return copy.copy(table)


def _fill_table(table: Any, wanted: Any) -> None:
    """Make a table hold what its copy holds."""
    table.clear()
    add = table.extend if isinstance(table, list) else table.update
    add(copy.deepcopy(wanted))


class Noted:
    """A module or a class, with what it held when it was noted."""

    def __init__(self, holder: Any) -> None:
        self.holder = holder
        self.parts = tuple(_list_parts(holder).items())  # no code can change it, as a dictionary
        self.marks = [id(value) for _, value in self.parts]

    def find_changes(self) -> Iterator[tuple[Any, str, Any]]:
        """The holder, the name and the value that it had, of each part that is another one."""
        now = _list_parts(self.holder)
        if [*map(id, now.values())] == self.marks:
            return
        for key, value in self.parts:
            if now.get(key, self) is not value:
                yield self.holder, key, value


class PackageState:
    """The modules that code may use as they were: a reader's code may change them."""

    def __init__(self, codes: Iterable[str] = ()) -> None:
        """Load and note what these blocks import, before a reader's code can change any of it."""
        self.loaded = 0
        self.names: set[str] = set()
        self.seen: list[Noted] = []
        self.functions: list[types.FunctionType] = []  # thousands: compared without a loop
        self.parts: list[tuple[Any, ...]] = []  # of each of them
        self.arrays: dict[int, tuple[Any, Any]] = {}
        self.tables: dict[int, tuple[Any, Any]] = {}
        self.caches: list[Callable[[], None]] = []  # what empties them
        for name in set[str]().union(*map(find_imports, codes)):
            if name.split(".")[0] in WATCHED:
                with contextlib.suppress(ImportError):  # a name of a module, and no module
                    importlib.import_module(name)
        self.note_loaded_modules()

    def note_loaded_modules(self) -> None:
        """Note what has been loaded since."""
        if len(sys.modules) == self.loaded:
            return
        self.loaded = len(sys.modules)
        for name, module in list(sys.modules.items()):
            is_watched = name.split(".")[0] in WATCHED and type(module) is types.ModuleType
            if is_watched and name not in self.names and not name.startswith(f"{OWN}.site"):
                self.names.add(name)
                self._note_module(name, module)

    def _note_module(self, name: str, module: types.ModuleType) -> None:
        self.seen.append(Noted(module))
        parts = [*vars(module).values()]
        made = [one for one in parts if getattr(one, "__module__", "") == name]
        self.seen += [
            Noted(one) for one in made if isinstance(one, type) and one.__flags__ & HEAP_TYPE
        ]
        made += [part for one in made if isinstance(one, type) for part in vars(one).values()]
        made += [one.__wrapped__ for one in made if hasattr(one, "__wrapped__")]
        functions = [one for one in made if isinstance(one, types.FunctionType)]
        self.functions += functions
        self.parts += map(_get_function_parts, functions)
        if not name.startswith(OWN):
            return
        self.caches += [one.cache_clear for one in made if hasattr(one, "cache_clear")]
        arrays = [one for one in parts if isinstance(one, np.ndarray)]
        self.arrays.update({id(one): (one, one.copy()) for one in arrays})
        for key, one in vars(module).items():
            if key.isupper() and isinstance(one, dict | list | set):  # a constant
                self.tables[id(one)] = (one, _copy_table(one))

    def is_unchanged(self) -> bool:
        """Whether nothing has been changed."""
        return (
            not any(self._find_changes())
            and all(now == then for now, then in self.tables.values())
            and all(np.array_equal(now, then, equal_nan=True) for now, then in self.arrays.values())
        )

    def restore(self) -> None:
        """Make good what has been changed, and forget what was computed with it."""
        changes = list(self._find_changes())
        for holder, key, value in changes:
            setattr(holder, key, value)
        if changes:
            for forget in self.caches:
                forget()
        for table, as_noted in self.tables.values():
            if table != as_noted:
                _fill_table(table, as_noted)
        for now, then in self.arrays.values():
            if not np.array_equal(now, then, equal_nan=True):
                now[...] = then

    @contextlib.contextmanager
    def as_loaded(self) -> Iterator[None]:
        """What holds for a while: the modules as they were. What was changed comes back."""
        changed = [(one, key, _list_parts(one).get(key)) for one, key, _ in self._find_changes()]
        self.restore()
        try:
            yield
        finally:
            for holder, key, value in changed:
                setattr(holder, key, value)

    def _find_changes(self) -> Iterator[tuple[Any, str, Any]]:
        yield from itertools.chain.from_iterable(one.find_changes() for one in self.seen)
        flat = itertools.chain.from_iterable
        now = [*map(_get_function_parts, self.functions)]
        if not any(map(operator.is_not, flat(now), flat(self.parts))):
            return
        for function, parts, others in zip(self.functions, self.parts, now, strict=True):
            for key, value, other in zip(FUNCTION_PARTS, parts, others, strict=True):
                if value is not other:
                    yield function, key, value
