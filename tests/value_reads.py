"""Which inline values of a page its tests read, found in their source without running them.

`tests/values.py` changes each value and sees whether a test fails, which needs the built site. This
sees in seconds that a sentence has got a value which no test asks for: every `page.values("id")`
reads the values of a section, and often it stands there how many, as in `values("id")[0]` or
`values("id") == [first, second]`. Where it does not, all of them count as read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Value
from tests.values import in_words, test_file

Chosen = Callable[[list[Value]], list[Value]]  # of the values of a section, those that are read


def unread(page: Page, root: Path) -> list[str]:
    """The values of a page that its test file does not read, with what to write."""
    values = [value for value in page.values if not value.is_site_count]
    file = root / test_file(page.slug)
    source = file.read_text(encoding="utf-8") if values and file.is_file() else ""
    found = [value for section, chosen in reads(source, page) for value in chosen(section)]
    faults = [
        (value, f"no test asserts {{{{ {value.expression} }}}}")
        for value in values
        if value not in found
    ]
    return in_words(page, faults, source)


def reads(source: str, page: Page) -> Iterator[tuple[list[Value], Chosen]]:
    """The values of each section that a test file asks for, and which of them it takes."""
    tree = ast.parse(source)
    outer = {inner: node for node in ast.walk(tree) for inner in ast.iter_child_nodes(node)}
    sections = {one.id: (one.line, one.last_line) for one in page.passages if one.id}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr != "values" or len(node.args) != 1:
            continue
        (asked,) = node.args
        wanted = {asked.value} if isinstance(asked, ast.Constant) else _find_texts(asked, tree)
        for first, last in (sections[name] for name in wanted & sections.keys()):
            values = [one for one in page.values if first < one.line <= last]
            yield values, _chosen(node, outer.get(node), outer)


def _find_texts(asked: ast.expr, tree: ast.Module) -> set[str]:
    """The texts that a variable is set to: by a loop, a parametrized test, an assignment.

    Not every text of the file, as the page's name is one and its section is the whole page. Of an
    argument that other tests fill in, each text counts that stands in a list.
    """
    (test,) = (one for one in tree.body if any(inner is asked for inner in ast.walk(one)))
    names = {node.id for node in ast.walk(asked) if isinstance(node, ast.Name)}
    found = [one for target, one in _bindings(test) if names & target]
    named = {node.id for one in found for node in ast.walk(one) if isinstance(node, ast.Name)}
    found += [one for target, one in _bindings(tree) if (named | names) & target]
    found = found or [one for _, one in _bindings(tree)]
    return {text for one in found for text in _members(one)}


def _bindings(tree: ast.AST) -> Iterator[tuple[set[str], ast.expr]]:
    """Which names are set, and what they are set to or run through."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[target], value=value):
                yield _names(target), value
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield _names(target), value
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[target, value]):
                yield _names(target), value


def _names(target: ast.expr) -> set[str]:
    """The names in what is assigned to, or in the first argument of `parametrize`."""
    parts = [part for node in ast.walk(target) for part in _texts_or_names(node)]
    return {name.strip() for part in parts for name in part.split(",")}


def _texts_or_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _members(node: ast.AST) -> Iterator[str]:
    """The texts in a list, its rows, and the keys of a dictionary, which a call may stand around:
    `enumerate(…)`, `{…}.items()`.
    """
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.List(elts=inner) | ast.Tuple(elts=inner) | ast.Set(elts=inner):
            yield from (text for one in inner for text in _members(one))
        case ast.Dict(keys=keys):
            yield from (text for one in keys if one is not None for text in _members(one))
        case ast.Call(func=function, args=inner):
            yield from (text for one in [function, *inner] for text in _members(one))
        case ast.Attribute(value=inner):
            yield from _members(inner)


def _chosen(call: ast.expr, around: ast.AST | None, outer: dict[ast.AST, ast.AST]) -> Chosen:
    """Which values of a section an expression takes, as what stands around it says."""
    if isinstance(around, ast.Subscript) and (index := _index(around.slice)) is not None:
        return lambda values: values[index]
    if isinstance(around, ast.Compare) and len(around.comparators) == 1:
        other = around.left if call is around.comparators[0] else around.comparators[0]
        return _first(other)
    if isinstance(around, ast.Assign):
        return _first(around.targets[0])
    return list


def _first(names: ast.AST) -> Chosen:
    """As many values as a list or a tuple in the source has elements."""
    if not isinstance(names, ast.List | ast.Tuple):
        return list
    if any(isinstance(one, ast.Starred) for one in names.elts):
        return list
    return lambda values: values[: len(names.elts)]


def _index(node: ast.expr) -> slice | None:
    """The slice that an index or a slice of constants stands for."""
    if isinstance(node, ast.Slice):
        if node.step is None:
            ends = [None if end is None else _integer(end) for end in (node.lower, node.upper)]
            return slice(*ends)
        return None
    number = _integer(node)
    return None if number is None else slice(number, number + 1 or None)


def _integer(node: ast.expr) -> int | None:
    """The number that a literal stands for."""
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return found if isinstance(found, int) else None
