"""Whether code may change what outlasts the names of its page: modules, or Python itself.

A copy of the names cannot undo such an edit, so the browser starts a new Python once it is gone.
It is read from the syntax: what is not known to stay in its place counts, and what is published is
known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

TAME_MODULES = {
    *("__future__", "attention_docs", "bisect", "cmath", "collections", "copy", "dataclasses"),
    *("datetime", "decimal", "enum", "fractions", "functools", "heapq", "itertools", "json"),
    *("math", "numbers", "numpy", "operator", "pprint", "random", "re", "statistics", "string"),
    *("textwrap", "time", "torch", "typing"),
}
"""What code may import and use as it is."""
WILD_NAMES = {
    *("breakpoint", "delattr", "eval", "exec", "getattr", "globals", "input", "locals", "open"),
    *("setattr", "vars", "warnings"),
}
"""Names by which code sets what is not its own."""
WILD_PARTS = {
    *("ForwardRef", "as_strided", "attrgetter", "builtins", "contextvars", "ctypes", "delitem"),
    *("gc", "get_type_hints", "getcontext", "importlib", "inspect", "io", "js", "locales"),
    *("memmap", "methodcaller", "os", "pickle", "register", "running", "setattr", "setbufsize"),
    *("setcontext", "seterrcall", "setflags", "setitem", "site", "subprocess", "sys", "threading"),
    *("traceback", "unittest", "update_wrapper", "warnings", "weakref"),
}
"""The same as parts of a module, or of another thing; some of them run a text."""
FRAMES = ("f_", "tb_", "gi_", "cr_", "ag_")  # attributes of frames, and of what holds one
OWN_METHODS = {"__init__", "__name__", "__doc__", "__len__", "__post_init__"}
CHANGING = {
    *("add", "append", "clear", "discard", "extend", "fill", "insert", "pop", "popitem", "put"),
    *("remove", "resize", "reverse", "setdefault", "sort", "update"),
}
VIEWS = {"T", "flat", "imag", "mT", "real"}  # of an array


def reaches_out(code: str, published: str = "") -> bool:
    r"""Whether code may change more than the names of its page, where what is published does not.

    Examples:
        >>> reaches_out("x = np.exp(2)\nx[0] = 1\nrows.append(x)")
        False
        >>> [reaches_out(code) for code in ("np.exp = np.exp2", "import sys", "vars(np)['e'] = 3")]
        [True, True, True]
        >>> reaches_out("from attention_docs.locales import read_locale")
        True
        >>> [reaches_out(code) for code in ("collections._sys.exit()", "typing.get_type_hints(f)")]
        [True, True]
        >>> reaches_out("class A:\n    def f(self):\n        self.x = 1")
        False
        >>> reaches_out("Counter.total = 1", "Counter.total = 0")
        False
    """
    return bool(_find_reaching(code) - _find_reaching(published))


@lru_cache(maxsize=512)
def _find_reaching(code: str) -> frozenset[str]:
    """What reaches out in some code, as words."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # it does not run
        return frozenset()
    own = {id(node) for one in ast.walk(tree) for node in _find_own_stores(one)}
    return frozenset(
        word for node in ast.walk(tree) if id(node) not in own for word in _list_words(node)
    )


def _find_own_stores(node: ast.AST) -> Iterator[ast.AST]:
    """Where the methods of a class set attributes of `self`, and the names of its methods."""
    for method in node.body if isinstance(node, ast.ClassDef) else ():
        if not isinstance(method, ast.FunctionDef):
            continue
        yield method  # __len__, __add__ and so on
        first = [*method.args.posonlyargs, *method.args.args][:1]
        for inner in ast.walk(method):
            if first and _is_attribute_of(inner, first[0].arg):
                yield inner


def _is_attribute_of(node: ast.AST, name: str) -> bool:
    """Whether this is `name.x`, `name.x[0]` or `name.x.append`, and x has no name of Python's."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
            return False
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def _list_words(node: ast.AST) -> Iterator[str]:
    """What of one node of the syntax reaches out."""
    is_part = isinstance(node, ast.Attribute | ast.alias | ast.ImportFrom)
    for name in _list_names(node):
        is_pythons = name.startswith("_" if is_part else "__") and name not in OWN_METHODS
        is_wild = name in (WILD_PARTS if is_part else WILD_NAMES)
        if is_wild or is_pythons or (is_part and name.startswith(FRAMES)):
            yield name
    for module in _list_modules(node):
        if module.split(".")[0] not in TAME_MODULES:
            yield module
    changed = node
    if isinstance(node, ast.Attribute) and node.attr in CHANGING:
        changed = node.value
    elif not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    while isinstance(changed, ast.Subscript):
        changed = changed.value
    if isinstance(changed, ast.Attribute) and changed.attr not in VIEWS:
        yield ast.unparse(changed)


def _list_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield from name.split(".")
            yield other or ""
        case ast.ImportFrom(module=str(name)):
            yield from name.split(".")
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names


def _list_modules(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or "."
