"""The string literals of a listing: where they stand, and the code with other texts in their place.

Names of roles, formats and options are code: they are left out. An f-string is a template, with
"{}" for each place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from string import Formatter

from attention_docs.colours import ROLES

OPTIONS = {"role", "roles", "spec", "dtype"}
"""Arguments and variables whose strings are names that the package knows, not words."""

Replacement = tuple[int, int, int, str]
"""A line, where something begins and ends in it, and what stands there instead."""


@dataclass(frozen=True)
class Literal:
    """A string or an f-string of some code.

    Attributes:
        text: what it says; of an f-string its template.
        line: its first line, counted from 1.
        start: where it begins in its first line, in characters.
        end_line: its last line.
        end: where it ends in its last line.
        places: the source of what stands in each place of a template, braces included.
        formatted: whether it is an f-string.
        inner: whether it stands within a place of an f-string, whose position it then has.
    """

    text: str
    line: int
    start: int
    end_line: int
    end: int
    places: tuple[str, ...] = ()
    formatted: bool = False
    inner: bool = False


@lru_cache(maxsize=4096)
def find_literals(code: str) -> Sequence[Literal]:
    """The string literals of some code, in its order; none where it is not Python."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # reported where the code runs
        return []
    finder = _Finder(code)
    finder.visit(tree)
    return finder.found


class _Finder(ast.NodeVisitor):
    """Goes through code, past docstrings, annotations and options."""

    def __init__(self, code: str) -> None:
        self.lines = code.split("\n")
        self.found: list[Literal] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        """A string by itself is a docstring."""
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        """An annotation holds names of shapes."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Without the annotation of what it returns."""
        for part in (*node.decorator_list, node.args, *node.body):
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Without the annotation."""
        if node.value:
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        """The first argument of a stepper names its buttons for the browser alone."""
        name = isinstance(node.func, ast.Name) and node.func.id == "stepper"
        for part in (node.func, *node.args[name:], *node.keywords):
            self.visit(part)

    def visit_keyword(self, node: ast.keyword) -> None:
        """An option is code."""
        if node.arg not in OPTIONS:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """A variable that is named after an option holds options."""
        for target in node.targets:
            self.visit(target)
        for target, value in _pairs(node.targets[0], node.value):
            if not (isinstance(target, ast.Name) and target.id in OPTIONS):
                self.visit(value)

    def visit_Dict(self, node: ast.Dict) -> None:
        """A key that is named after an option belongs to one."""
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                self.visit(key)
            if not (isinstance(key, ast.Constant) and key.value in OPTIONS):
                self.visit(value)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        """What a figure shows is a label, a role and values: a role is no word."""
        match node.elts:
            case [label, ast.Constant(value=role), values, *rest] if role in ROLES:
                if not (isinstance(values, ast.Constant) and isinstance(values.value, str)):
                    for part in (label, values, *rest):
                        self.visit(part)
                    return
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._add(node, node.value, (), False)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """An f-string, then the strings within its places."""
        places = tuple(_find_places(self._read_source(node)))
        texts = [
            str(piece.value).replace("{", "{{").replace("}", "}}")
            if isinstance(piece, ast.Constant)
            else "{}"
            for piece in node.values
        ]
        self._add(node, "".join(texts), places, True)
        whole = self.found[-1]
        for place in places:
            for literal in find_literals(_split_place(place)[0]):
                here = replace(whole, text=literal.text, places=literal.places, inner=True)
                self.found.append(replace(here, formatted=literal.formatted))

    def _add(self, node: ast.expr, text: str, places: tuple[str, ...], formatted: bool) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._count_characters(node.lineno, node.col_offset)
        end = self._count_characters(node.end_lineno, node.end_col_offset)
        self.found.append(
            Literal(text, node.lineno, start, node.end_lineno, end, places, formatted)
        )

    def _count_characters(self, line: int, offset: int) -> int:
        """A place in a line, counted in characters; `ast` counts bytes."""
        return len(self.lines[line - 1].encode()[:offset].decode())

    def _read_source(self, node: ast.expr) -> str:
        return ast.get_source_segment("\n".join(self.lines), node) or ""


def _pairs(target: ast.expr, value: ast.expr) -> Iterable[tuple[ast.expr, ast.expr]]:
    """What is assigned to what; `a, b = 1, 2` assigns twice."""
    match target, value:
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            return zip(names, values, strict=True)
    return [(target, value)]


def _find_places(source: str) -> Iterator[str]:
    """What stands in each place of an f-string, from its opening to its closing brace."""
    position = 0
    while position < len(source):
        if source.startswith(("{{", "}}"), position):
            position += 2
        elif source[position] == "{":
            end = _find_closing_brace(source, position)
            yield source[position : end + 1]
            position = end + 1
        else:
            position += 1


def _find_closing_brace(source: str, start: int) -> int:
    """Where the brace that opens at `start` closes; quotes within may hold braces."""
    for position, depth in _depths(source, start):
        if not depth:
            return position
    raise ValueError(f"a place of an f-string is not closed: {source!r}")


def _depths(source: str, start: int) -> Iterator[tuple[int, int]]:
    """Every position from an opening bracket on that no quotes hold, and how deep it lies."""
    depth, quote = 0, ""
    for position in range(start, len(source)):
        character = source[position]
        if quote:
            quote = "" if character == quote else quote
            continue
        if character in "\"'":
            quote = character
        depth += (character in "{[(") - (character in "}])")
        yield position, depth


def _split_place(place: str) -> tuple[str, str]:
    """The expression in a place of an f-string, and what follows it: conversion and format.

    Examples:
        >>> _split_place("{x!r}"), _split_place("{d['a:b'] != 1:>8}")
        (('x', '!r}'), ("d['a:b'] != 1", ':>8}'))
    """
    end = next(
        position
        for position, depth in _depths(place, 0)
        if position == len(place) - 1
        or (depth == 1 and place[position] == ":")
        or (depth == 1 and place[position] == "!" and place[position + 1] != "=")
    )
    return place[1:end].strip(), place[end:]


def translate_literals(
    code: str, texts: Mapping[str, str], replacements: Iterable[Replacement] = ()
) -> str:
    """Code in which strings have other texts, and what else is to be replaced in its lines.

    Examples:
        >>> translate_literals('print(f"Sum: {x:.2f}", "a")', {"Sum: {}": "和：{}"})
        'print(f"和：{x:.2f}", "a")'
    """
    edits = [(line, start, line, end, text) for line, start, end, text in replacements]
    changed = {old for old, new in texts.items() if new != old}
    literals = find_literals(code)
    touched = {_position(found) for found in literals if found.text in changed}
    edits += [
        (*_position(found), _format_literal(found, texts))
        for found in literals
        if not found.inner and _position(found) in touched
    ]
    lines = code.split("\n")
    for line, start, end_line, end, text in sorted(edits, reverse=True):
        after = lines[end_line - 1][end:]
        lines[line - 1 : end_line] = [lines[line - 1][:start] + text + after]
    return "\n".join(lines)


def _position(literal: Literal) -> tuple[int, int, int, int]:
    return literal.line, literal.start, literal.end_line, literal.end


def _format_literal(literal: Literal, texts: Mapping[str, str], quote: str = '"') -> str:
    """A literal with its other text, as Python source."""
    text = texts.get(literal.text, literal.text)
    if not literal.formatted:
        return quote + _escape(text, quote) + quote
    pieces, count = "", 0
    for before, place, _, _ in Formatter().parse(text):
        pieces += _escape(before.replace("{", "{{").replace("}", "}}"), quote)
        if place is not None:
            pieces += _translated_place(literal.places[int(place) if place else count], texts)
            count += 1
    return f"f{quote}{pieces}{quote}"


def _translated_place(place: str, texts: Mapping[str, str]) -> str:
    """A place of an f-string with the strings in it; those have the other kind of quotes."""
    expression, rest = _split_place(place)
    edits = [(found.start, found.end, _format_literal(found, texts, "'"))
             for found in find_literals(expression)
             if not found.inner and texts.get(found.text, found.text) != found.text]  # fmt: skip
    for start, end, text in sorted(edits, reverse=True):
        expression = expression[:start] + text + expression[end:]
    return f"{{{expression}{rest}" if edits else place


def _escape(text: str, quote: str) -> str:
    return text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n")
